/* The Transformer's layers and stacks (Vaswani et al. 2017), as torch.nn has them.
 *
 * A layer is two or three sublayers f, each with a residual around it:
 *     post-norm   x = norm(x + f(x))
 *     pre-norm    x = x + f(norm(x))                   Xiong et al. 2020
 * Every sum but the last of pre-norm is followed by a norm of the same layer, and the two are one op. */
#include "attention/attention.h"
#include "nn/params.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool check_dropout(heed_ctx *cx, const char *who, float p) {
    return (p >= 0 && p <= 1) || heed_fail(cx, HEED_ERR_RANGE, "%s: dropout %g is not between 0 and 1", who, (double)p);
}

/* ---- names ---- */

struct name {
    char s[256];
};

/* prefix.part; too long a name is an error of its own, not another name. */
static bool name_under(heed_ctx *cx, const char *prefix, const char *part, struct name *name) {
    const bool dotted = prefix && *prefix;
    const int length = snprintf(name->s, sizeof name->s, "%s%s%s", dotted ? prefix : "", dotted ? "." : "", part);
    return (length >= 0 && length < (int)sizeof name->s) ||
           heed_fail(cx, HEED_ERR_USAGE, "param: a name of more than %d letters ends in '%s'", (int)sizeof name->s - 1,
                     part);
}

/* ---- feed-forward ---- */

static bool linear_under(heed_ctx *cx, heed_params *set, const char *prefix, const char *part, int64_t in, int64_t out,
                         bool bias, heed_linear_layer *layer) {
    struct name name;
    return name_under(cx, prefix, part, &name) && heed_linear_make(cx, set, name.s, in, out, bias, layer);
}

bool heed_feed_forward_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width, int64_t hidden,
                            bool bias, heed_activation act, float dropout, heed_feed_forward *layer) {
    if (heed_failed(cx)) return false;
    if (!layer) return heed_fail(cx, HEED_ERR_USAGE, "feed_forward: the layer is NULL");
    if (width < 1 || hidden < 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "feed_forward: widths %lld and %lld: at least 1 is needed",
                         (long long)width, (long long)hidden);
    if (!check_dropout(cx, "feed_forward", dropout)) return false;
    *layer = (heed_feed_forward){.act = act, .dropout = dropout};
    return linear_under(cx, set, prefix, "linear1", width, hidden, bias, &layer->linear1) &&
           linear_under(cx, set, prefix, "linear2", hidden, width, bias, &layer->linear2);
}

/* act(gate x) (W x) of one weight, whose halves are read where they lie */
static heed_tensor *gated(heed_ctx *cx, const heed_feed_forward *l, heed_tensor *x) {
    heed_tensor *weight[2], *bias[2] = {NULL, NULL};
    const int64_t half = l->linear1.weight->shape[0] / 2, halves[] = {half, half};
    if (!heed_split(cx, params_linear(cx, l->linear1.weight), 0, halves, 2, weight)) return NULL;
    if (l->linear1.bias && !heed_split(cx, heed_param_tensor(cx, l->linear1.bias), 0, halves, 2, bias)) return NULL;
    const int g = l->gate_last, u = !g; /* the halves of the gate and of what it is for */
    heed_tensor *const up =
        params_adapted(cx, l->linear1.weight, x, heed_linear(cx, x, weight[u], bias[u]), u * half, half);
    if (!l->linear1.weight->adapters) return heed_mul(cx, heed_linear_act(cx, x, weight[g], bias[g], l->act), up);
    heed_tensor *const gate =
        params_adapted(cx, l->linear1.weight, x, heed_linear(cx, x, weight[g], bias[g]), g * half, half);
    return heed_mul(cx, heed_activate(cx, gate, l->act), up);
}

heed_tensor *heed_feed_forward_run(heed_ctx *cx, const heed_feed_forward *layer, heed_tensor *x) {
    if (!layer) return heed_linear_run(cx, NULL, x, HEED_ACT_NONE);
    if (layer->fused)
        x = gated(cx, layer, x);
    else if (layer->gate.weight)
        x = heed_mul(cx, heed_linear_run(cx, &layer->gate, x, layer->act),
                     heed_linear_run(cx, &layer->linear1, x, HEED_ACT_NONE));
    else
        x = heed_linear_run(cx, &layer->linear1, x, layer->act);
    x = heed_dropout(cx, x, layer->dropout);
    if (layer->norm.weight) x = heed_norm_run(cx, &layer->norm, x);
    return heed_linear_run(cx, &layer->linear2, x, HEED_ACT_NONE);
}

/* ---- parts of a layer ---- */

static bool check_opts(heed_ctx *cx, const char *who, const heed_transformer_opts *o, const void *made) {
    if (heed_failed(cx)) return false;
    if (!o || !made) return heed_fail(cx, HEED_ERR_USAGE, "%s: the options or the place for the layer is NULL", who);
    if (!(o->eps >= 0 && isfinite(o->eps)))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: eps = %g is negative or not a number", who, (double)o->eps);
    return check_dropout(cx, who, o->dropout);
}

static bool attention_make(heed_ctx *cx, heed_params *set, const char *prefix, const char *part,
                           const heed_transformer_opts *o, heed_multihead *layer) {
    struct name name;
    const heed_multihead_opts opts = {.width = o->width, .heads = o->heads, .bias = o->bias, .dropout = o->dropout};
    return name_under(cx, prefix, part, &name) && heed_multihead_make(cx, set, name.s, &opts, layer);
}

static bool feed_forward_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_transformer_opts *o,
                              heed_feed_forward *layer) {
    return heed_feed_forward_make(cx, set, prefix, o->width, o->hidden, o->bias, o->act, o->dropout, layer);
}

static bool norm_make(heed_ctx *cx, heed_params *set, const char *prefix, const char *part,
                      const heed_transformer_opts *o, heed_norm_layer *layer) {
    struct name name;
    const float eps = o->eps > 0 ? o->eps : 1e-5f;
    if (!name_under(cx, prefix, part, &name)) return false;
    if (o->bias) return heed_norm_make(cx, set, name.s, o->width, false, eps, layer);
    *layer = (heed_norm_layer){.eps = eps};
    layer->weight = heed_param_add(cx, set, name.s, "weight", 1, &o->width, (heed_init){.kind = HEED_INIT_ONES});
    return layer->weight != NULL;
}

static heed_attention_opts attention_opts(const char *site, int number, const heed_mask *mask) {
    return (heed_attention_opts){.mask = mask ? *mask : heed_mask_none(), .site = site, .layer = number};
}

/* Options that all layers share, of one of them. */
static heed_attention_opts shared_opts(const heed_attention_opts *opts, const char *site, int number) {
    heed_attention_opts o = *opts;
    o.site = site;
    o.layer = number;
    return o;
}

static heed_tensor *feed_forward(heed_ctx *cx, const heed_feed_forward *layer, heed_tensor *x, float dropout) {
    return heed_dropout(cx, heed_feed_forward_run(cx, layer, x), dropout);
}

/* ---- encoder layer ---- */

bool heed_encoder_layer_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_transformer_opts *opts,
                             heed_encoder_layer *layer) {
    if (!check_opts(cx, "encoder_layer", opts, layer)) return false;
    *layer = (heed_encoder_layer){.dropout = opts->dropout, .norm_first = opts->norm_first};
    return attention_make(cx, set, prefix, "self_attn", opts, &layer->self_attn) &&
           feed_forward_make(cx, set, prefix, opts, &layer->feed_forward) &&
           norm_make(cx, set, prefix, "norm1", opts, &layer->norm1) &&
           norm_make(cx, set, prefix, "norm2", opts, &layer->norm2);
}

/* What an encoder looks at: x itself, or what a cache holds. */
struct span {
    const heed_mask *mask;
    const heed_attention_opts *opts; /* instead of the mask, or NULL */
    heed_cache *cache;
    const int32_t *counts;
    bool first; /* of the last layer only the first position is wanted */
};

static const char *site_of(const heed_encoder_layer *l) { return l->site ? l->site : "encoder"; }

/* q: x, or some positions of it */
static heed_tensor *encoder_self_attention(heed_ctx *cx, const heed_encoder_layer *l, heed_tensor *q, heed_tensor *x,
                                           const struct span *s) {
    heed_attention_opts o = attention_opts(site_of(l), l->number, s->mask);
    if (s->opts) o = shared_opts(s->opts, o.site, l->number);
    if (l->window > 0) o.mask = heed_mask_both(cx, heed_mask_window(l->window, o.mask.offset), o.mask);
    x = s->cache ? heed_multihead_step(cx, &l->self_attn, x, s->cache, s->counts, &o)
                 : heed_multihead_run(cx, &l->self_attn, q, x, x, &o);
    return l->keeps_attention ? x : heed_dropout(cx, x, l->dropout);
}

static heed_tensor *encoder_feed_forward(heed_ctx *cx, const heed_encoder_layer *l, heed_tensor *x) {
    return feed_forward(cx, &l->feed_forward, x, l->keeps_hidden ? 0 : l->dropout);
}

/* (B,T,C) -> (B,1,C) where only the first position is wanted */
static heed_tensor *queries(heed_ctx *cx, heed_tensor *x, bool first) { return first ? heed_slice(cx, x, 1, 0, 1) : x; }

static heed_tensor *encoder_post(heed_ctx *cx, const heed_encoder_layer *l, heed_tensor *x, const struct span *s,
                                 bool first) {
    heed_tensor *const q = queries(cx, x, first);
    x = heed_add_norm_run(cx, &l->norm1, encoder_self_attention(cx, l, q, x, s), q, NULL);
    return heed_add_norm_run(cx, &l->norm2, encoder_feed_forward(cx, l, x), x, NULL);
}

/* What follows a sublayer, before it is added. */
static heed_tensor *post(heed_ctx *cx, const heed_encoder_layer *l, const heed_norm_layer *norm,
                         const heed_param *scale, heed_tensor *y) {
    if (norm->weight) y = heed_norm_run(cx, norm, y);
    if (scale) y = heed_mul(cx, y, heed_param_tensor(cx, scale));
    return l->drop_path > 0 ? heed_drop_path(cx, y, l->drop_path) : y;
}

static heed_tensor *encoder_pre(heed_ctx *cx, const heed_encoder_layer *l, heed_tensor *x, const struct span *s,
                                bool first) {
    heed_tensor *n = l->norm1.weight ? heed_norm_run(cx, &l->norm1, x) : x;
    heed_tensor *const y =
        post(cx, l, &l->post1, l->scale1, encoder_self_attention(cx, l, queries(cx, n, first), n, s));
    x = queries(cx, x, first);
    if (l->parallel) {
        n = post(cx, l, &l->post2, l->scale2, encoder_feed_forward(cx, l, heed_norm_run(cx, &l->norm2, x)));
        return heed_add(cx, heed_add(cx, n, y), x);
    }
    if (l->norm2.weight)
        n = heed_add_norm_run(cx, &l->norm2, y, x, &x);
    else
        n = x = heed_add(cx, x, y);
    return heed_add(cx, x, post(cx, l, &l->post2, l->scale2, encoder_feed_forward(cx, l, n)));
}

static heed_tensor *encoder_once(heed_ctx *cx, const heed_encoder_layer *l, heed_tensor *x, const struct span *s,
                                 bool first) {
    return l->norm_first ? encoder_pre(cx, l, x, s, first) : encoder_post(cx, l, x, s, first);
}

/* What a layer needs to be computed again: its tensors are inputs, the rest is kept by value. */
struct again_opts {
    heed_attention_opts opts;
    heed_rotary_opts rotary;
};
enum { MASK_TENSORS = 4, OPTS_TENSORS = MASK_TENSORS + 5 };

static void mask_out(const heed_mask *m, heed_tensor **to) {
    to[0] = m->key_lengths, to[1] = m->query_lengths, to[2] = m->keep, to[3] = m->add;
}

static void mask_in(heed_mask *m, heed_tensor *const *from) {
    m->key_lengths = from[0], m->query_lengths = from[1], m->keep = from[2], m->add = from[3];
}

/* Options, or a mask alone; either may be NULL. */
static void opts_out(struct again_opts *a, const heed_attention_opts *opts, const heed_mask *mask, heed_tensor **to) {
    a->opts = opts ? *opts : attention_opts(NULL, 0, mask);
    if (a->opts.rotary) a->rotary = *a->opts.rotary;
    mask_out(&a->opts.mask, to);
    to += MASK_TENSORS;
    to[0] = a->opts.distance_bias, to[1] = a->opts.query_offsets, to[2] = a->opts.key_offsets;
    to[3] = a->rotary.positions, to[4] = a->rotary.angles;
}

static void opts_in(struct again_opts *a, heed_tensor *const *from) {
    mask_in(&a->opts.mask, from);
    from += MASK_TENSORS;
    a->opts.distance_bias = from[0], a->opts.query_offsets = from[1], a->opts.key_offsets = from[2];
    a->rotary.positions = from[3], a->rotary.angles = from[4];
    if (a->opts.rotary) a->opts.rotary = &a->rotary;
}

static bool recomputes(const heed_ctx *cx) {
    const struct engine *const e = cx ? cx->engine : NULL;
    return e && e->recompute && e->recording && !cx->capture;
}

struct encoder_again {
    const heed_encoder_layer *layer;
    struct again_opts self;
    bool first;
};

static heed_tensor *encoder_again(heed_ctx *cx, const void *own, heed_tensor *const *in) {
    struct encoder_again a = *(const struct encoder_again *)own;
    opts_in(&a.self, in + 1);
    return encoder_once(cx, a.layer, in[0], &(struct span){.opts = &a.self.opts}, a.first);
}

static heed_tensor *encoder_layer(heed_ctx *cx, const heed_encoder_layer *l, heed_tensor *x, const struct span *s,
                                  bool first) {
    if (s->cache || !recomputes(cx)) return encoder_once(cx, l, x, s, first);
    struct encoder_again a;
    heed_tensor *in[1 + OPTS_TENSORS] = {x};
    memset(&a, 0, sizeof a);
    a.layer = l, a.first = first;
    opts_out(&a.self, s->opts, s->mask, in + 1);
    return heed_recompute(cx, encoder_again, &a, sizeof a, in, 1 + OPTS_TENSORS);
}

heed_tensor *heed_encoder_layer_run(heed_ctx *cx, const heed_encoder_layer *layer, heed_tensor *x,
                                    const heed_mask *mask) {
    if (heed_failed(cx)) return NULL;
    if (!layer || !x) {
        heed_fail(cx, HEED_ERR_USAGE, "encoder_layer: the layer or x is NULL");
        return NULL;
    }
    return encoder_layer(cx, layer, x, &(struct span){.mask = mask}, false);
}

/* ---- decoder layer ---- */

bool heed_decoder_layer_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_transformer_opts *opts,
                             heed_decoder_layer *layer) {
    if (!check_opts(cx, "decoder_layer", opts, layer)) return false;
    *layer = (heed_decoder_layer){.dropout = opts->dropout, .norm_first = opts->norm_first};
    return attention_make(cx, set, prefix, "self_attn", opts, &layer->self_attn) &&
           attention_make(cx, set, prefix, "multihead_attn", opts, &layer->multihead_attn) &&
           feed_forward_make(cx, set, prefix, opts, &layer->feed_forward) &&
           norm_make(cx, set, prefix, "norm1", opts, &layer->norm1) &&
           norm_make(cx, set, prefix, "norm2", opts, &layer->norm2) &&
           norm_make(cx, set, prefix, "norm3", opts, &layer->norm3);
}

/* What a decoder attends to: itself and the memory, or the cached keys and values of both. */
struct attended {
    heed_tensor *memory;
    const heed_mask *self, *cross;
    const heed_attention_opts *opts; /* of attention to itself, instead of the mask; or NULL */
    heed_cache *self_cache;
    const heed_cache *cross_cache;
    const int32_t *counts;
};

static heed_tensor *decoder_self_attention(heed_ctx *cx, const heed_decoder_layer *l, heed_tensor *x,
                                           const struct attended *v) {
    heed_attention_opts o = attention_opts("decoder", l->number, v->self);
    if (v->opts) o = shared_opts(v->opts, "decoder", l->number);
    x = v->self_cache ? heed_multihead_step(cx, &l->self_attn, x, v->self_cache, v->counts, &o)
                      : heed_multihead_run(cx, &l->self_attn, x, x, x, &o);
    return heed_dropout(cx, x, l->dropout);
}

static heed_tensor *cross_attention(heed_ctx *cx, const heed_decoder_layer *l, heed_tensor *x,
                                    const struct attended *v) {
    const heed_attention_opts o = attention_opts("cross", l->number, v->cross);
    x = v->cross_cache ? heed_multihead_recall(cx, &l->multihead_attn, x, v->cross_cache, &o)
                       : heed_multihead_run(cx, &l->multihead_attn, x, v->memory, v->memory, &o);
    return heed_dropout(cx, x, l->dropout);
}

static heed_tensor *decoder_post(heed_ctx *cx, const heed_decoder_layer *l, heed_tensor *x, const struct attended *v) {
    x = heed_add_norm_run(cx, &l->norm1, decoder_self_attention(cx, l, x, v), x, NULL);
    x = heed_add_norm_run(cx, &l->norm2, cross_attention(cx, l, x, v), x, NULL);
    return heed_add_norm_run(cx, &l->norm3, feed_forward(cx, &l->feed_forward, x, l->dropout), x, NULL);
}

static heed_tensor *decoder_pre(heed_ctx *cx, const heed_decoder_layer *l, heed_tensor *x, const struct attended *v) {
    heed_tensor *n = heed_norm_run(cx, &l->norm1, x);
    n = heed_add_norm_run(cx, &l->norm2, decoder_self_attention(cx, l, n, v), x, &x);
    n = heed_add_norm_run(cx, &l->norm3, cross_attention(cx, l, n, v), x, &x);
    return heed_add(cx, x, feed_forward(cx, &l->feed_forward, n, l->dropout));
}

static heed_tensor *decoder_once(heed_ctx *cx, const heed_decoder_layer *l, heed_tensor *x, const struct attended *v) {
    return l->norm_first ? decoder_pre(cx, l, x, v) : decoder_post(cx, l, x, v);
}

struct decoder_again {
    const heed_decoder_layer *layer;
    struct again_opts self;
    heed_mask cross;
    bool has_cross;
};
enum { DECODER_TENSORS = 2 + OPTS_TENSORS + MASK_TENSORS };

static heed_tensor *decoder_again(heed_ctx *cx, const void *own, heed_tensor *const *in) {
    struct decoder_again a = *(const struct decoder_again *)own;
    opts_in(&a.self, in + 2);
    mask_in(&a.cross, in + 2 + OPTS_TENSORS);
    return decoder_once(
        cx, a.layer, in[0],
        &(struct attended){.memory = in[1], .opts = &a.self.opts, .cross = a.has_cross ? &a.cross : NULL});
}

static heed_tensor *decoder_layer(heed_ctx *cx, const heed_decoder_layer *l, heed_tensor *x, const struct attended *v) {
    if (v->self_cache || v->cross_cache || !recomputes(cx)) return decoder_once(cx, l, x, v);
    struct decoder_again a;
    heed_tensor *in[DECODER_TENSORS] = {x, v->memory};
    memset(&a, 0, sizeof a);
    a.layer = l, a.has_cross = v->cross != NULL;
    if (v->cross) a.cross = *v->cross;
    opts_out(&a.self, v->opts, v->self, in + 2);
    mask_out(&a.cross, in + 2 + OPTS_TENSORS);
    return heed_recompute(cx, decoder_again, &a, sizeof a, in, DECODER_TENSORS);
}

heed_tensor *heed_decoder_layer_run(heed_ctx *cx, const heed_decoder_layer *layer, heed_tensor *x, heed_tensor *memory,
                                    const heed_mask *self, const heed_mask *cross) {
    if (heed_failed(cx)) return NULL;
    if (!layer || !x || !memory) {
        heed_fail(cx, HEED_ERR_USAGE, "decoder_layer: the layer, x or memory is NULL");
        return NULL;
    }
    return decoder_layer(cx, layer, x, &(struct attended){.memory = memory, .self = self, .cross = cross});
}

/* ---- stacks ---- */

static bool check_stack(heed_ctx *cx, const char *who, const heed_transformer_opts *o, const void *made) {
    if (!check_opts(cx, who, o, made)) return false;
    if (o->layers < 1) return heed_fail(cx, HEED_ERR_RANGE, "%s: %d layers: at least 1 is needed", who, o->layers);
    if (!(o->layer_drop >= 0 && o->layer_drop <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: a layer_drop of %g is not between 0 and 1", who,
                         (double)o->layer_drop);
    return true;
}

static bool name_layer(heed_ctx *cx, const char *prefix, int number, struct name *name) {
    char part[32];
    snprintf(part, sizeof part, "layers.%d", number);
    return name_under(cx, prefix, part, name);
}

/* LayerDrop. One counted random number a layer: dry contexts draw the same. */
static bool drop_layer(heed_ctx *cx, float p) {
    const struct engine *e = engine_of(cx);
    if (!e || !e->training || p == 0) return false;
    float u = 0;
    heed_random_uniform(cx->seed, engine_next_stream(cx), 0, &u, 1);
    return u < p;
}

bool heed_encoder_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_transformer_opts *opts,
                       heed_encoder *encoder) {
    struct name name;
    if (!check_stack(cx, "encoder", opts, encoder)) return false;
    encoder->layers = opts->layers;
    encoder->layer_drop = opts->layer_drop;
    encoder->norm = (heed_norm_layer){0};
    encoder->layer = heed_params_alloc(cx, set, (size_t)opts->layers, sizeof *encoder->layer);
    for (int i = 0; encoder->layer && i < opts->layers; i++) {
        if (!name_layer(cx, prefix, i, &name) || !heed_encoder_layer_make(cx, set, name.s, opts, &encoder->layer[i]))
            return false;
        encoder->layer[i].number = i;
    }
    if (heed_failed(cx)) return false;
    return !opts->final_norm || norm_make(cx, set, prefix, "norm", opts, &encoder->norm);
}

/* The class token's state depends on one query of the last layer: training leaves the others out, unless capture shows
 * them or the options have something for each of them. Elsewhere all are computed: a query alone is summed in another
 * order than one of many, and capture changes no bits. */
static bool only_first(heed_ctx *cx, const heed_encoder_layer *l, const struct span *s) {
    const struct engine *const e = engine_of(cx);
    return s->first && e && e->training && !s->opts->distance_bias && !s->opts->rotary &&
           !capture_wants(cx, site_of(l), l->number);
}

static heed_tensor *encoder_stack(heed_ctx *cx, const heed_encoder *e, heed_tensor *x, const struct span *s) {
    heed_scope_begin(cx);
    for (int i = 0; i < e->layers; i++) {
        const bool first = i + 1 == e->layers && only_first(cx, &e->layer[i], s);
        if (!drop_layer(cx, e->layer_drop)) x = heed_scope_keep(cx, encoder_layer(cx, &e->layer[i], x, s, first));
    }
    if (s->first && x && heed_dim(x, 1) > 1) x = queries(cx, x, true);
    if (e->norm.weight) x = heed_norm_run(cx, &e->norm, x);
    return heed_scope_end(cx, x);
}

static bool check_run(heed_ctx *cx, const heed_encoder *encoder, const heed_tensor *x) {
    if (heed_failed(cx)) return false;
    return (encoder && x) || heed_fail(cx, HEED_ERR_USAGE, "encoder: the stack or x is NULL");
}

heed_tensor *heed_encoder_run(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x, const heed_mask *mask) {
    return check_run(cx, encoder, x) ? encoder_stack(cx, encoder, x, &(struct span){.mask = mask}) : NULL;
}

heed_tensor *heed_encoder_attend(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x,
                                 const heed_attention_opts *opts) {
    return check_run(cx, encoder, x) ? encoder_stack(cx, encoder, x, &(struct span){.opts = opts}) : NULL;
}

heed_tensor *heed_encoder_attend_first(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x,
                                       const heed_attention_opts *opts) {
    const heed_attention_opts none = {0};
    const struct span s = {.opts = opts ? opts : &none, .first = true};
    return check_run(cx, encoder, x) ? encoder_stack(cx, encoder, x, &s) : NULL;
}

heed_tensor *heed_encoder_step_attend(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x, heed_cache *cache,
                                      const int32_t *counts, const heed_attention_opts *opts) {
    if (!check_run(cx, encoder, x)) return NULL;
    if (!cache) {
        heed_fail(cx, HEED_ERR_USAGE, "encoder: the cache is NULL");
        return NULL;
    }
    heed_attention_opts causal = opts ? *opts : (heed_attention_opts){0};
    causal.mask = heed_mask_both(cx, heed_mask_causal(0), causal.mask);
    return encoder_stack(cx, encoder, x, &(struct span){.opts = &causal, .cache = cache, .counts = counts});
}

heed_tensor *heed_encoder_step(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x, heed_cache *cache,
                               const int32_t *counts, const heed_mask *mask) {
    const heed_attention_opts opts = {.mask = mask ? *mask : heed_mask_none()};
    return heed_encoder_step_attend(cx, encoder, x, cache, counts, &opts);
}

bool heed_decoder_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_transformer_opts *opts,
                       heed_decoder *decoder) {
    struct name name;
    if (!check_stack(cx, "decoder", opts, decoder)) return false;
    decoder->layers = opts->layers;
    decoder->layer_drop = opts->layer_drop;
    decoder->norm = (heed_norm_layer){0};
    decoder->layer = heed_params_alloc(cx, set, (size_t)opts->layers, sizeof *decoder->layer);
    for (int i = 0; decoder->layer && i < opts->layers; i++) {
        if (!name_layer(cx, prefix, i, &name) || !heed_decoder_layer_make(cx, set, name.s, opts, &decoder->layer[i]))
            return false;
        decoder->layer[i].number = i;
    }
    if (heed_failed(cx)) return false;
    return !opts->final_norm || norm_make(cx, set, prefix, "norm", opts, &decoder->norm);
}

static heed_tensor *decoder_stack(heed_ctx *cx, const heed_decoder *d, heed_tensor *x, const struct attended *v) {
    heed_scope_begin(cx);
    for (int i = 0; i < d->layers; i++)
        if (!drop_layer(cx, d->layer_drop)) x = heed_scope_keep(cx, decoder_layer(cx, &d->layer[i], x, v));
    if (d->norm.weight) x = heed_norm_run(cx, &d->norm, x);
    return heed_scope_end(cx, x);
}

static heed_tensor *decoder_run(heed_ctx *cx, const heed_decoder *d, heed_tensor *x, const struct attended *v) {
    if (heed_failed(cx)) return NULL;
    if (d && x && v->memory) return decoder_stack(cx, d, x, v);
    heed_fail(cx, HEED_ERR_USAGE, "decoder: the stack, x or memory is NULL");
    return NULL;
}

heed_tensor *heed_decoder_run(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *x, heed_tensor *memory,
                              const heed_mask *self, const heed_mask *cross) {
    return decoder_run(cx, decoder, x, &(struct attended){.memory = memory, .self = self, .cross = cross});
}

heed_tensor *heed_decoder_attend(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *x, heed_tensor *memory,
                                 const heed_attention_opts *self, const heed_mask *cross) {
    return decoder_run(cx, decoder, x, &(struct attended){.memory = memory, .opts = self, .cross = cross});
}

bool heed_decoder_remember(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *memory, heed_cache *cross,
                           const int32_t *lengths) {
    if (heed_failed(cx)) return false;
    if (!decoder) return heed_fail(cx, HEED_ERR_USAGE, "decoder: the stack is NULL");
    for (int i = 0; i < decoder->layers; i++)
        if (!heed_multihead_remember(cx, &decoder->layer[i].multihead_attn, memory, memory, cross, i, lengths))
            return false;
    return true;
}

heed_tensor *heed_decoder_step_attend(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *x, heed_cache *self,
                                      const heed_cache *cross, const int32_t *counts, const heed_attention_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!decoder || !x || !self || !cross) {
        heed_fail(cx, HEED_ERR_USAGE, "decoder: the stack, x or a cache is NULL");
        return NULL;
    }
    heed_attention_opts o = opts ? *opts : (heed_attention_opts){0};
    o.mask = heed_mask_both(cx, heed_mask_causal(0), o.mask);
    return decoder_stack(cx, decoder, x,
                         &(struct attended){.opts = &o, .self_cache = self, .cross_cache = cross, .counts = counts});
}

heed_tensor *heed_decoder_step(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *x, heed_cache *self,
                               const heed_cache *cross, const int32_t *counts) {
    return heed_decoder_step_attend(cx, decoder, x, self, cross, counts, NULL);
}
