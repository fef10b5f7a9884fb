/* Attention over a key-value cache: q (B,Tq,H,D) against what a layer holds -> (B,Tq,H,E). No gradient.
 *
 * The positions of the queries follow from what the last append brought: first counts, then positions. */
#include "attention/attention.h"
#include "attention/attention_ops.h"
#include "attention/cache.h"
#include "attention/strides.h"
#include <math.h>
#include <string.h>

enum { Q, ADD, DISTANCE, KEEP, INPUTS };
enum { Y, TOP, SUM, OUTPUTS };

struct cache_attr {
    struct cache_view view;
    bool causal, placed; /* placed: the mask depends on positions */
    int64_t window, block;
    float scale, cap;
    bool alibi;
    float slopes[ALIBI_HEADS];
};

static bool check_distance(heed_op_call *c, const struct cache_view *view) {
    const heed_tensor *q = c->in[Q], *bias = c->in[DISTANCE];
    const int64_t both = q->shape[1] + view->longest, distances = both > 0 ? both - 1 : 0;
    if (bias->dtype != HEED_F32 || bias->rank != 2 || (bias->shape[0] != 1 && bias->shape[0] != q->shape[2]) ||
        bias->shape[1] != distances)
        return heed_op_fail(c, HEED_ERR_SHAPE, "a distance bias of shape %s does not fit (%lld,%lld): heads, distances",
                            heed_shape_text(bias).s, (long long)q->shape[2], (long long)distances);
    for (int64_t b = 0; b < view->batch; b++) /* query 0 would be further back than the bias reaches */
        if (view->added[b] > q->shape[1])
            return heed_op_fail(c, HEED_ERR_SHAPE, "a distance bias for %lld queries, while %d positions were appended",
                                (long long)q->shape[1], (int)view->added[b]);
    return true;
}

static bool cache_infer(heed_op_call *c) {
    const struct cache_attr *at = c->attr;
    const struct cache_view *view = &at->view;
    const heed_tensor *q = c->in[Q];
    if (!heed_op_want(c, Q, HEED_F32)) return false;
    if (q->rank != 4 || q->shape[0] != view->batch || q->shape[3] != view->key_size ||
        q->shape[2] % view->kv_heads != 0)
        return heed_op_fail(c, HEED_ERR_SHAPE,
                            "q of shape %s does not fit a cache of %lld sequences and %lld key heads of %lld numbers",
                            heed_shape_text(q).s, (long long)view->batch, (long long)view->kv_heads,
                            (long long)view->key_size);
    if (view->key_size > ATTENTION_HEAD || view->value_size > ATTENTION_HEAD)
        return heed_op_fail(c, HEED_ERR_SHAPE, "heads of %lld and %lld numbers: 1 to %d are possible",
                            (long long)view->key_size, (long long)view->value_size, ATTENTION_HEAD);
    if (c->in[DISTANCE] && !check_distance(c, view)) return false;
    c->work_forward = (size_t)view->batch * 2 * sizeof(int32_t);
    const int64_t rows[] = {q->shape[2], q->shape[0] * q->shape[1]};
    return heed_op_out(c, Y, HEED_F32, 4, (int64_t[]){q->shape[0], q->shape[1], q->shape[2], view->value_size}) &&
           heed_op_out(c, TOP, HEED_F32, 2, rows) && heed_op_out(c, SUM, HEED_F32, 2, rows);
}

/* places and queries: room for a number per sequence each. */
static struct attention describe(heed_tensor *const *in, const struct cache_attr *at, int32_t *places,
                                 int32_t *queries) {
    const struct cache_view *view = &at->view;
    const heed_tensor *q = in[Q];
    struct attention a = {.batch = view->batch,
                          .heads = q->shape[2],
                          .kv_heads = view->kv_heads,
                          .queries = q->shape[1],
                          .keys = view->longest,
                          .d = view->key_size,
                          .e = view->value_size,
                          .q = f32_of(q),
                          .k = view->k,
                          .v = view->v,
                          .k_at = view->k_at,
                          .v_at = view->v_at,
                          .k_lengths = view->held,
                          .scale = at->scale,
                          .cap = at->cap,
                          .causal = at->causal,
                          .window = at->window,
                          .block = at->block,
                          .slopes = at->alibi ? at->slopes : NULL,
                          .distance_zero = view->longest - 1};
    strides_of(q, &a.q_at);
    for (int64_t b = 0; b < view->batch; b++) {
        const int32_t n = at->placed ? view->added[b] : (int32_t)a.queries, before = view->held[b] - n;
        queries[b] = n < (int32_t)a.queries ? n : (int32_t)a.queries;
        places[b] = before > 0 ? before : 0;
    }
    a.places = places, a.q_lengths = queries, a.forgotten = view->first;
    set_biases(&a, in[KEEP], in[ADD], in[DISTANCE]);
    return a;
}

static bool cache_forward(heed_op_call *c) {
    const struct cache_attr *at = c->attr;
    int32_t *const places = c->work;
    const struct attention a = describe(c->in, at, places, places + at->view.batch);
    struct attention_at y_at;
    strides_of(c->out[Y], &y_at);
    kernel_attention(pool_of(c), &a, heed_op_f32(c, Y), y_at, heed_op_f32(c, TOP), heed_op_f32(c, SUM));
    return true;
}

const heed_op op_cache_attention = {.name = "cache_attention",
                                    .infer = cache_infer,
                                    .forward = cache_forward,
                                    .flags = HEED_OP_NONDIFF | HEED_OP_STRIDED,
                                    .optional = (1u << ADD) | (1u << DISTANCE) | (1u << KEEP),
                                    .attr_size = sizeof(struct cache_attr)};

static bool check_opts(heed_ctx *cx, const heed_tensor *q, const heed_attention_opts *o) {
    const heed_mask *m = &o->mask;
    if (!q) return heed_fail(cx, HEED_ERR_USAGE, "cache_attention: q is NULL");
    if (m->offset != 0 || m->key_lengths || m->query_lengths || o->query_offsets || o->key_offsets)
        return heed_fail(cx, HEED_ERR_USAGE, "cache_attention: the cache sets offset and lengths: leave them out");
    if (o->dropout != 0) return heed_fail(cx, HEED_ERR_USAGE, "cache_attention: there is no dropout in decoding");
    if (o->alibi && q->rank == 4 && q->shape[2] > ALIBI_HEADS)
        return heed_fail(cx, HEED_ERR_RANGE, "cache_attention: ALiBi for more than %d heads", ALIBI_HEADS);
    if (!(o->cap >= 0 && isfinite(o->cap)))
        return heed_fail(cx, HEED_ERR_RANGE, "cache_attention: the cap of scores is negative or not a number");
    return isfinite(o->scale) || heed_fail(cx, HEED_ERR_RANGE, "cache_attention: the scale is not a number");
}

heed_tensor *heed_cache_attend(heed_ctx *cx, const heed_cache *cache, int layer, heed_tensor *q,
                               const heed_attention_opts *opts) {
    static const heed_attention_opts plain;
    const heed_attention_opts *const o = opts ? opts : &plain;
    struct cache_attr at = {.causal = o->mask.causal,
                            .placed =
                                o->mask.causal || o->mask.windowed || o->mask.blocked || o->alibi || o->distance_bias,
                            .window = o->mask.windowed ? o->mask.window : 0,
                            .block = o->mask.blocked ? o->mask.block : 0,
                            .cap = o->cap,
                            .alibi = o->alibi};
    if (heed_failed(cx) || !cache_view(cx, "cache_attention", cache, layer, &at.view) || !check_opts(cx, q, o))
        return NULL;
    const struct cache_view *const view = &at.view;
    if (view->window && o->mask.blocked) {
        heed_fail(cx, HEED_ERR_USAGE, "cache_attention: a sliding cache takes no block mask");
        return NULL;
    }
    if (view->window && (!at.window || view->window < at.window)) at.window = view->window, at.placed = true;
    at.scale = o->scale != 0 ? o->scale : 1 / sqrtf((float)view->key_size);
    if (q->rank == 4 &&
        (!mask_check(cx, "cache_attention", &o->mask, view->batch, q->shape[2], q->shape[1], view->longest) ||
         (o->alibi && !heed_alibi_slopes(cx, q->shape[2], at.slopes))))
        return NULL;
    if (o->rotary && !(q = cache_turned(cx, cache, layer, q, true, o->rotary))) return NULL;
    struct attention_at unused;
    heed_tensor *const in[INPUTS] = {[Q] = strides_of(q, &unused) ? q : heed_contiguous(cx, q),
                                     [ADD] = o->mask.add ? heed_contiguous(cx, o->mask.add) : NULL,
                                     [DISTANCE] = o->distance_bias ? heed_contiguous(cx, o->distance_bias) : NULL,
                                     [KEEP] = o->mask.keep ? heed_contiguous(cx, o->mask.keep) : NULL};
    heed_tensor *out[OUTPUTS] = {NULL};
    if (!heed_apply(cx, &op_cache_attention, &at, in, INPUTS, out, OUTPUTS)) return NULL;
    const char *const site = o->site ? o->site : "attention";
    if (capture_wants(cx, site, o->layer) && !cx->config.dry) {
        int32_t *const places = heed_mem_new(cx, (size_t)view->batch * 2 * sizeof *places);
        if (!places) return NULL;
        const struct attention a = describe(in, &at, places, places + view->batch);
        const bool good = capture_attention(cx, &a, f32_of(out[TOP]), f32_of(out[SUM]), site, o->layer);
        heed_mem_free(cx, places);
        if (!good) return NULL;
    }
    return out[Y];
}
