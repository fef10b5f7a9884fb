/* Attention between the places of a map, and from places to a text. blocks.h says what it computes. */
#include "model/diffusion/blocks.h"
#include "tensor/engine.h"
#include <math.h>

heed_tensor *places_of_map(heed_ctx *cx, heed_tensor *map) {
    if (!map) return NULL;
    const int64_t *const n = map->shape;
    heed_tensor *const flat = heed_reshape(cx, map, 3, (int64_t[]){n[0], n[1], n[2] * n[3]});
    return heed_contiguous(cx, heed_transpose(cx, flat, 1, 2));
}

heed_tensor *map_of_places(heed_ctx *cx, heed_tensor *places, const heed_tensor *like) {
    if (!places) return NULL;
    heed_tensor *const turned = heed_contiguous(cx, heed_transpose(cx, places, 1, 2));
    return heed_reshape(cx, turned, 4, (int64_t[]){like->shape[0], places->shape[2], like->shape[2], like->shape[3]});
}

/* ---- places to places ---- */

/* Products of one input that files hold apart, drawn as torch.nn.Linear draws each. */
static bool fused_make(heed_ctx *cx, heed_params *set, const char *prefix, const char *const *names, int n,
                       int64_t width, int64_t rows, bool bias, heed_linear_layer *layer) {
    const int64_t each[] = {rows, rows, rows};
    if (!part_slices(cx, set, prefix, "qkv", names, each, n, width, bias,
                     (heed_init){HEED_INIT_KAIMING_UNIFORM, sqrtf(5), 0}, layer))
        return false;
    if (bias) layer->bias->init = (heed_init){HEED_INIT_FAN_IN_UNIFORM, (float)width, 0};
    return true;
}

bool attend_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width, struct head_sizes heads,
                 int64_t text, bool bias, heed_multihead *m) {
    static const char *const names[] = {"to_q", "to_k", "to_v"};
    const int64_t inner = heads.heads * heads.size, keys = text ? text : width;
    *m = (heed_multihead){
        .width = width, .heads = heads.heads, .head_size = heads.size, .key_width = keys, .value_width = keys};
    heed_linear_layer *const part[] = {&m->q, &m->k, &m->v};
    if (!text && !fused_make(cx, set, prefix, names, 3, width, inner, bias, &m->in)) return false;
    for (int i = 0; text && i < 3; i++)
        if (!heed_linear_make(cx, set, part_under(cx, prefix, names[i]).s, i ? keys : width, inner, bias, part[i]))
            return false;
    return heed_linear_make(cx, set, part_under(cx, prefix, "to_out.0").s, inner, width, true, &m->out);
}

bool place_attention_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, struct head_sizes heads,
                          int64_t groups, float eps, struct place_attention *a) {
    a->scale = 1;
    return (!groups || block_norm(cx, set, part_under(cx, prefix, "group_norm").s, groups, channels, eps, &a->norm)) &&
           attend_make(cx, set, prefix, channels, heads, 0, true, &a->attend);
}

heed_tensor *place_attention_run(heed_ctx *cx, const struct place_attention *a, heed_tensor *x) {
    if (!x) return NULL;
    heed_scope_begin(cx);
    heed_tensor *const places = places_of_map(cx, a->norm.weight ? heed_group_norm_run(cx, &a->norm, x) : x);
    heed_tensor *const seen =
        heed_multihead_run(cx, &a->attend, places, places, places, &(heed_attention_opts){.layer = a->layer});
    heed_tensor *const y = heed_add(cx, x, map_of_places(cx, seen, x));
    return heed_scope_end(cx, a->scale == 1 ? y : heed_affine(cx, y, 1 / a->scale, 0));
}

/* ---- places to a text and to places, in one softmax ---- */

static bool text_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels,
                           const struct joined_plan *plan, struct joined_attention *a) {
    const struct part_name name = part_under(cx, prefix, "norm_cross");
    if (!plan->text_norm) return true;
    if (plan->text_norm[0] == 'g') return block_norm(cx, set, name.s, 32, plan->text, 1e-5F, &a->text_groups);
    if (plan->text != channels)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a layer norm of %lld channels does not fit a text of %lld", name.s,
                         (long long)channels, (long long)plan->text);
    return heed_norm_make(cx, set, name.s, channels, false, 1e-5F, &a->text_norm);
}

bool joined_attention_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels,
                           struct head_sizes heads, const struct joined_plan *plan, struct joined_attention *a) {
    const int64_t inner = heads.heads * heads.size;
    const struct {
        const char *name;
        int64_t in, out;
        heed_linear_layer *layer;
    } parts[] = {{"to_q", channels, inner, &a->q},
                 {"to_k", channels, inner, &a->k},
                 {"to_v", channels, inner, &a->v},
                 {"add_k_proj", plan->text, inner, &a->text_k},
                 {"add_v_proj", plan->text, inner, &a->text_v},
                 {"to_out.0", inner, channels, &a->out}};
    a->heads = heads;
    a->text_only = plan->text_only;
    if (!block_norm(cx, set, part_under(cx, prefix, "group_norm").s, plan->groups, channels, 1e-5F, &a->norm) ||
        !text_norm_make(cx, set, prefix, channels, plan, a))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (plan->text_only && (parts[i].layer == &a->k || parts[i].layer == &a->v)) continue;
        if (!heed_linear_make(cx, set, part_under(cx, prefix, parts[i].name).s, parts[i].in, parts[i].out, true,
                              parts[i].layer))
            return false;
    }
    return true;
}

static heed_tensor *text_normed(heed_ctx *cx, const struct joined_attention *a, heed_tensor *text) {
    if (a->text_norm.weight) return heed_norm_run(cx, &a->text_norm, text);
    if (!a->text_groups.weight) return text;
    heed_tensor *const channels = heed_contiguous(cx, heed_transpose(cx, text, 1, 2));
    return heed_contiguous(cx, heed_transpose(cx, heed_group_norm_run(cx, &a->text_groups, channels), 1, 2));
}

/* x (B,T,C) -> (B,T,H,D) */
static heed_tensor *heads_of(heed_ctx *cx, const struct joined_attention *a, const heed_linear_layer *layer,
                             heed_tensor *x) {
    heed_tensor *const y = heed_linear_run(cx, layer, x, HEED_ACT_NONE);
    return y ? heed_reshape(cx, y, 4, (int64_t[]){y->shape[0], y->shape[1], a->heads.heads, a->heads.size}) : NULL;
}

/* The text's keys or values, and behind them those of the places. */
static heed_tensor *joined(heed_ctx *cx, const struct joined_attention *a, const heed_linear_layer *of_text,
                           heed_tensor *text, const heed_linear_layer *of_places, heed_tensor *places) {
    heed_tensor *const first = heads_of(cx, a, of_text, text);
    if (a->text_only) return first;
    return heed_concat(cx, (heed_tensor *[]){first, heads_of(cx, a, of_places, places)}, 2, 1);
}

heed_tensor *joined_attention_run(heed_ctx *cx, const struct joined_attention *a, heed_tensor *x,
                                  const struct condition *given) {
    if (!x || !given->text) return NULL;
    heed_attention_opts opts = {.site = "cross", .layer = a->layer};
    heed_scope_begin(cx);
    heed_tensor *const places = places_of_map(cx, heed_group_norm_run(cx, &a->norm, x)), *const text = text_normed(
                                                                                             cx, a, given->text);
    if (given->hidden && places) /* places are all seen */
        opts.mask.add = a->text_only ? given->hidden
                                     : heed_pad(cx, given->hidden, (int64_t[]){0, 0, 0, 0},
                                                (int64_t[]){0, 0, 0, places->shape[1]}, 0);
    heed_tensor *const q = heads_of(cx, a, &a->q, places), *const k = joined(cx, a, &a->text_k, text, &a->k, places),
                       *const v = joined(cx, a, &a->text_v, text, &a->v, places);
    heed_tensor *seen = heed_attention(cx, q, k, v, &opts);
    if (seen)
        seen = heed_reshape(cx, seen, 3, (int64_t[]){seen->shape[0], seen->shape[1], a->heads.heads * a->heads.size});
    seen = heed_linear_run(cx, &a->out, seen, HEED_ACT_NONE);
    return heed_scope_end(cx, heed_add(cx, x, map_of_places(cx, seen, x)));
}

/* ---- blocks of the Transformer ---- */

static bool projection_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, bool linear,
                            heed_linear_layer *layer) {
    if (linear) return heed_linear_make(cx, set, prefix, in, out, true, layer);
    heed_conv_layer conv;
    if (!block_conv(cx, set, prefix, in, out, 1, &conv)) return false;
    *layer = (heed_linear_layer){.weight = conv.weight, .bias = conv.bias};
    return true;
}

static bool block_make(heed_ctx *cx, heed_params *set, const char *prefix, struct head_sizes heads,
                       const struct transformer_plan *plan, struct transformer_block *b) {
    const int64_t inner = heads.heads * heads.size, hidden = 4 * inner;
    b->ff = (heed_feed_forward){.fused = true, .gate_last = true, .act = HEED_ACT_GELU};
    return part_norm(cx, set, prefix, "norm1", inner, 1e-5F, &b->norm1) &&
           attend_make(cx, set, part_under(cx, prefix, "attn1").s, inner, heads, plan->text_only ? plan->text : 0,
                       false, &b->attn1) &&
           part_norm(cx, set, prefix, "norm2", inner, 1e-5F, &b->norm2) &&
           attend_make(cx, set, part_under(cx, prefix, "attn2").s, inner, heads, plan->text, false, &b->attn2) &&
           part_norm(cx, set, prefix, "norm3", inner, 1e-5F, &b->norm3) &&
           heed_linear_make(cx, set, part_under(cx, prefix, "ff.net.0.proj").s, inner, 2 * hidden, true,
                            &b->ff.linear1) &&
           heed_linear_make(cx, set, part_under(cx, prefix, "ff.net.2").s, hidden, inner, true, &b->ff.linear2);
}

bool transformer_map_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, struct head_sizes heads,
                          int layers, const struct transformer_plan *plan, int *count, struct transformer_map *t) {
    const int64_t inner = heads.heads * heads.size;
    *t = (struct transformer_map){.layers = layers, .text_only = plan->text_only};
    t->block = heed_params_alloc(cx, set, (size_t)layers + 1, sizeof *t->block);
    if (!t->block || !block_norm(cx, set, part_under(cx, prefix, "norm").s, plan->groups, channels, 1e-6F, &t->norm) ||
        !projection_make(cx, set, part_under(cx, prefix, "proj_in").s, channels, inner, plan->linear, &t->in))
        return false;
    for (int i = 0; i < layers; i++) {
        t->block[i].layer = (*count)++;
        if (!block_make(cx, set, part_numbered(cx, prefix, "transformer_blocks", i).s, heads, plan, &t->block[i]))
            return false;
    }
    return projection_make(cx, set, part_under(cx, prefix, "proj_out").s, inner, channels, plan->linear, &t->out);
}

static heed_tensor *block_run(heed_ctx *cx, const struct transformer_map *t, const struct transformer_block *b,
                              heed_tensor *x, const struct condition *given) {
    heed_scope_begin(cx);
    const heed_attention_opts cross = {.mask.add = given->hidden, .site = "cross", .layer = b->layer};
    heed_tensor *h = heed_norm_run(cx, &b->norm1, x), *const memory = t->text_only ? given->text : h;
    h = heed_multihead_run(cx, &b->attn1, h, memory, memory, &(heed_attention_opts){.layer = b->layer});
    h = heed_add_norm_run(cx, &b->norm2, h, x, &x);
    h = heed_multihead_run(cx, &b->attn2, h, given->text, given->text, &cross);
    h = heed_add_norm_run(cx, &b->norm3, h, x, &x);
    return heed_scope_end(cx, heed_add(cx, x, heed_feed_forward_run(cx, &b->ff, h)));
}

heed_tensor *transformer_map_run(heed_ctx *cx, const struct transformer_map *t, heed_tensor *x,
                                 const struct condition *given) {
    if (!x || !given->text) return NULL;
    heed_scope_begin(cx);
    heed_tensor *h = places_of_map(cx, heed_group_norm_run(cx, &t->norm, x));
    h = heed_linear_run(cx, &t->in, h, HEED_ACT_NONE);
    for (int i = 0; i < t->layers; i++) h = block_run(cx, t, &t->block[i], h, given);
    h = heed_linear_run(cx, &t->out, h, HEED_ACT_NONE);
    return heed_scope_end(cx, heed_add(cx, x, map_of_places(cx, h, x)));
}
