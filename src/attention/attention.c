/* Exact attention.   y = softmax(scale q k' + bias) v       Vaswani et al. 2017; by tiles, Dao et al. 2022
 *
 * q (B,Tq,H,D), k (B,Tk,G,D), v (B,Tk,G,E) -> y (B,Tq,H,E); packed: (Nq,H,D), (Nk,G,D), (Nk,G,E) -> (Nq,H,E). Saved for
 * backward: inputs, y, and of each row the largest score and the sum of exponentials, both (H, rows). The kernel is
 * kernel/attention.c. */
#include "attention/attention.h"
#include "attention/ops.h"
#include "attention/strides.h"
#include <math.h>
#include <string.h>

enum { Q, K, V, ADD, DISTANCE, KEEP, KEY_LENGTHS, QUERY_LENGTHS, QUERY_OFFSETS, KEY_OFFSETS, INPUTS };
enum { Y, TOP, SUM, OUTPUTS };

struct attention_attr {
    int64_t queries, keys; /* of the longest sequence */
    float scale, dropout;
    int64_t offset, window, block;
    bool causal, alibi;
    uint64_t stream;
    float slopes[ALIBI_HEADS];
};

/* The call as the kernel takes it. */
static struct attention describe(heed_tensor *const *in, const struct attention_attr *at, uint64_t seed) {
    const heed_tensor *q = in[Q], *k = in[K], *v = in[V];
    const bool packed = q->rank == 3;
    const int64_t *nq = q->shape + !packed, *nk = k->shape + !packed;
    struct attention a = {.batch = packed ? in[QUERY_OFFSETS]->shape[0] - 1 : q->shape[0],
                          .heads = nq[1],
                          .kv_heads = nk[1],
                          .queries = at->queries,
                          .keys = at->keys,
                          .d = nq[2],
                          .e = cols_of(v),
                          .q = f32_of(q),
                          .k = f32_of(k),
                          .v = f32_of(v),
                          .scale = at->scale,
                          .offset = at->offset,
                          .causal = at->causal,
                          .window = at->window,
                          .block = at->block,
                          .slopes = at->alibi ? at->slopes : NULL,
                          .dropout = at->dropout,
                          .seed = seed,
                          .stream = at->stream};
    strides_of(q, &a.q_at);
    strides_of(k, &a.k_at);
    strides_of(v, &a.v_at);
    if (packed) {
        a.q_offsets = i32_of(in[QUERY_OFFSETS]), a.q_rows = q->shape[0];
        a.k_offsets = i32_of(in[KEY_OFFSETS]), a.k_rows = k->shape[0];
    }
    if (in[KEY_LENGTHS]) a.k_lengths = i32_of(in[KEY_LENGTHS]);
    if (in[QUERY_LENGTHS]) a.q_lengths = i32_of(in[QUERY_LENGTHS]);
    if (in[KEEP]) a.keep = u8_of(in[KEEP]), a.keep_at = plane_of(in[KEEP]);
    if (in[ADD]) a.add = f32_of(in[ADD]), a.add_at = plane_of(in[ADD]);
    if (in[DISTANCE]) {
        a.distance = f32_of(in[DISTANCE]);
        a.distance_head = in[DISTANCE]->shape[0] > 1 ? cols_of(in[DISTANCE]) : 0;
        a.distance_zero = at->queries - 1 + at->offset;
    }
    return a;
}

/* ---- the op ---- */

static bool check_shapes(heed_op_call *c) {
    const heed_tensor *q = c->in[Q], *k = c->in[K], *v = c->in[V];
    for (int i = Q; i <= V; i++)
        if (!heed_op_want(c, i, HEED_F32)) return false;
    const bool packed = c->in[QUERY_OFFSETS] != NULL;
    const int rank = packed ? 3 : 4;
    if (q->rank != rank || k->rank != rank || v->rank != rank)
        return heed_op_fail(c, HEED_ERR_SHAPE, "q %s, k %s, v %s: %s is needed", heed_shape_text(q).s,
                            heed_shape_text(k).s, heed_shape_text(v).s,
                            packed ? "(rows, heads, size), with offsets," : "(batch, time, heads, size)");
    const int64_t *nq = q->shape + !packed, *nk = k->shape + !packed, *nv = v->shape + !packed;
    if (nk[0] != nv[0] || nk[1] != nv[1] || nq[2] != nk[2] ||
        (!packed && (q->shape[0] != k->shape[0] || q->shape[0] != v->shape[0])))
        return heed_op_fail(c, HEED_ERR_SHAPE, "q %s, k %s and v %s do not fit", heed_shape_text(q).s,
                            heed_shape_text(k).s, heed_shape_text(v).s);
    if (nk[1] == 0 ? nq[1] != 0 : nq[1] % nk[1] != 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "%lld query heads cannot share %lld key heads evenly", (long long)nq[1],
                            (long long)nk[1]);
    if (nq[2] < 1 || nq[2] > ATTENTION_HEAD || nv[2] < 1 || nv[2] > ATTENTION_HEAD)
        return heed_op_fail(c, HEED_ERR_SHAPE, "heads of %lld and %lld numbers: 1 to %d are possible", (long long)nq[2],
                            (long long)nv[2], ATTENTION_HEAD);
    return true;
}

static bool check_distance(heed_op_call *c, const struct attention_attr *at, int64_t heads) {
    const heed_tensor *t = c->in[DISTANCE];
    if (!t) return true;
    if (t->dtype != HEED_F32 || t->rank != 2 || (t->shape[0] != heads && t->shape[0] != 1) ||
        t->shape[1] != at->queries + at->keys - 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "a distance bias of shape %s does not fit (%lld,%lld): heads, distances",
                            heed_shape_text(t).s, (long long)heads, (long long)(at->queries + at->keys - 1));
    return true;
}

static bool attention_infer(heed_op_call *c) {
    const struct attention_attr *at = c->attr;
    if (!check_shapes(c)) return false;
    const heed_tensor *q = c->in[Q];
    const int64_t heads = q->shape[q->rank - 2], rows = q->rank == 3 ? q->shape[0] : q->shape[0] * q->shape[1];
    if (!check_distance(c, at, heads)) return false;
    int64_t shape[4];
    memcpy(shape, q->shape, sizeof shape);
    shape[q->rank - 1] = cols_of(c->in[V]);
    if (!heed_op_out(c, Y, HEED_F32, q->rank, shape) || !heed_op_out(c, TOP, HEED_F32, 2, (int64_t[]){heads, rows}) ||
        !heed_op_out(c, SUM, HEED_F32, 2, (int64_t[]){heads, rows}))
        return false;
    for (int i = 0; i < INPUTS; i++)
        if (!c->in[i]) c->save_in &= ~(1u << i);
    if (c->recording) {
        float something[1]; /* only whether they are wanted counts */
        const struct attention_grad g = {.dk = c->wants[K] ? something : NULL, .dv = c->wants[V] ? something : NULL};
        const struct attention a = describe(c->in, at, 0);
        c->work_backward = kernel_attention_grad_work(&a, &g);
    }
    return true;
}

static bool check_offsets(heed_op_call *c, int which, int64_t rows, const char *what) {
    const heed_tensor *t = c->in[which];
    if (!t) return true;
    const int32_t *at = i32_of(t);
    bool good = at[0] == 0 && at[t->count - 1] == rows;
    for (int64_t b = 1; good && b < t->count; b++) good = at[b - 1] <= at[b];
    return good || heed_op_fail(c, HEED_ERR_RANGE, "%s offsets do not rise from 0 to %lld, the number of rows", what,
                                (long long)rows);
}

static bool attention_forward(heed_op_call *c) {
    if (!check_offsets(c, QUERY_OFFSETS, c->in[Q]->shape[0], "query") ||
        !check_offsets(c, KEY_OFFSETS, c->in[K]->shape[0], "key"))
        return false;
    const struct attention a = describe(c->in, c->attr, c->cx->seed);
    if (!mask_check_lengths(c->cx, c->op->name, c->in[KEY_LENGTHS], a.keys, "key") ||
        !mask_check_lengths(c->cx, c->op->name, c->in[QUERY_LENGTHS], a.queries, "query"))
        return false;
    struct attention_at y_at;
    strides_of(c->out[Y], &y_at);
    kernel_attention(pool_of(c), &a, heed_op_f32(c, Y), y_at, heed_op_f32(c, TOP), heed_op_f32(c, SUM));
    return true;
}

static bool attention_backward(heed_op_call *c) {
    const struct attention a = describe(c->in, c->attr, c->cx->seed);
    struct attention_grad g = {.y = f32_of(c->out[Y]),
                               .dy = c->dout[Y],
                               .top = f32_of(c->out[TOP]),
                               .sum = f32_of(c->out[SUM]),
                               .dq = c->din[Q],
                               .dk = c->din[K],
                               .dv = c->din[V],
                               .add_q = c->add[Q],
                               .add_k = c->add[K],
                               .add_v = c->add[V],
                               .work = c->work};
    if (c->in[ADD] && c->din[ADD]) g.dadd = c->din[ADD], g.add_count = c->in[ADD]->count, g.add_add = c->add[ADD];
    if (c->in[DISTANCE] && c->din[DISTANCE]) {
        g.ddistance = c->din[DISTANCE];
        g.add_distance = c->add[DISTANCE];
        g.distance_rows = c->in[DISTANCE]->shape[0];
        g.distance_count = cols_of(c->in[DISTANCE]);
    }
    kernel_attention_grad(pool_of(c), &a, &g);
    return true;
}

const heed_op op_attention = {.name = "attention",
                              .infer = attention_infer,
                              .forward = attention_forward,
                              .backward = attention_backward,
                              .flags = HEED_OP_ADDS | HEED_OP_STRIDED,
                              .save_in = (1u << INPUTS) - 1,
                              .save_out = (1u << OUTPUTS) - 1,
                              .optional = ((1u << INPUTS) - 1) & ~7u,
                              .attr_size = sizeof(struct attention_attr)};

/* ---- the call ---- */

static bool fail(heed_ctx *cx, heed_status status, const char *why) {
    return heed_fail(cx, status, "attention: %s", why);
}

/* The longest sequence of packed rows; in a dry context, all of them. */
static int64_t longest(const heed_ctx *cx, const heed_tensor *offsets, int64_t rows) {
    int64_t most = 0;
    if (cx->config.dry) return rows;
    for (int64_t b = 1; b < offsets->count; b++) {
        const int64_t n = (int64_t)i32_of(offsets)[b] - i32_of(offsets)[b - 1];
        most = n > most ? n : most;
    }
    return most;
}

static bool is_offsets(const heed_tensor *t) {
    return t->dtype == HEED_I32 && t->rank == 1 && t->count >= 1 && is_contiguous(t);
}

/* What does not depend on the shapes of q, k and v being right. */
static bool check_opts(heed_ctx *cx, const heed_tensor *q, const heed_attention_opts *o) {
    const bool packed = o->query_offsets || o->key_offsets;
    if (!(o->dropout >= 0 && o->dropout <= 1)) return fail(cx, HEED_ERR_RANGE, "dropout is not within 0 and 1");
    if (!isfinite(o->scale)) return fail(cx, HEED_ERR_RANGE, "the scale is not a number");
    if (packed && (!o->query_offsets || !o->key_offsets || !is_offsets(o->query_offsets) ||
                   !is_offsets(o->key_offsets) || o->query_offsets->count != o->key_offsets->count))
        return fail(cx, HEED_ERR_SHAPE, "packed sequences need query and key offsets, i32 of equal length");
    if (packed && (o->mask.key_lengths || o->mask.query_lengths))
        return fail(cx, HEED_ERR_USAGE, "packed sequences have no padding, and lengths no place");
    if (o->alibi && q->rank >= 2 && q->shape[q->rank - 2] > ALIBI_HEADS)
        return heed_fail(cx, HEED_ERR_RANGE, "attention: ALiBi for more than %d heads", ALIBI_HEADS);
    return true;
}

static heed_tensor *as_strides(heed_ctx *cx, heed_tensor *t) {
    struct attention_at at;
    return t && strides_of(t, &at) ? t : heed_contiguous(cx, t);
}

static heed_tensor *turned(heed_ctx *cx, heed_tensor *x, const heed_attention_opts *o, int64_t start) {
    heed_rotary_opts rotary = *o->rotary;
    rotary.start += start;
    return heed_rotary(cx, x, &rotary);
}

static bool fill_attr(heed_ctx *cx, heed_tensor *q, heed_tensor *k, const heed_attention_opts *o,
                      struct attention_attr *at) {
    const bool packed = o->query_offsets != NULL;
    const int64_t size = cols_of(q);
    if (q->rank != (packed ? 3 : 4) || k->rank != q->rank) return true; /* infer has the sentence */
    const int64_t batch = packed ? o->query_offsets->count - 1 : q->shape[0], heads = q->shape[q->rank - 2];
    *at = (struct attention_attr){.queries = packed ? longest(cx, o->query_offsets, q->shape[0]) : q->shape[1],
                                  .keys = packed ? longest(cx, o->key_offsets, k->shape[0]) : k->shape[1],
                                  .scale = o->scale != 0 ? o->scale
                                           : size > 0    ? 1 / sqrtf((float)size)
                                                         : 1,
                                  .dropout = engine_of(cx)->training ? o->dropout : 0,
                                  .offset = o->mask.offset,
                                  .window = o->mask.windowed ? o->mask.window : 0,
                                  .block = o->mask.blocked ? o->mask.block : 0,
                                  .causal = o->mask.causal,
                                  .alibi = o->alibi};
    if (at->dropout > 0) at->stream = engine_next_stream(cx);
    if (o->alibi && !heed_alibi_slopes(cx, heads, at->slopes)) return false;
    return mask_check(cx, "attention", &o->mask, batch, heads, at->queries, at->keys);
}

heed_tensor *heed_attention(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v,
                            const heed_attention_opts *opts) {
    static const heed_attention_opts plain;
    const heed_attention_opts *const o = opts ? opts : &plain;
    struct attention_attr at = {0};
    if (heed_failed(cx) || !engine_of(cx)) return NULL;
    if (!q || !k || !v) {
        fail(cx, HEED_ERR_USAGE, "q, k or v is NULL");
        return NULL;
    }
    if (!check_opts(cx, q, o) || !fill_attr(cx, q, k, o, &at)) return NULL;
    if (o->rotary) {
        if (o->query_offsets && !o->rotary->positions) {
            fail(cx, HEED_ERR_USAGE, "rotary of packed sequences needs the positions of the rows");
            return NULL;
        }
        q = turned(cx, q, o, o->mask.offset);
        k = turned(cx, k, o, 0);
    }
    heed_tensor *const in[INPUTS] = {[Q] = as_strides(cx, q),
                                     [K] = as_strides(cx, k),
                                     [V] = as_strides(cx, v),
                                     [ADD] = o->mask.add ? heed_contiguous(cx, o->mask.add) : NULL,
                                     [DISTANCE] = o->distance_bias ? heed_contiguous(cx, o->distance_bias) : NULL,
                                     [KEEP] = o->mask.keep ? heed_contiguous(cx, o->mask.keep) : NULL,
                                     [KEY_LENGTHS] = o->mask.key_lengths,
                                     [QUERY_LENGTHS] = o->mask.query_lengths,
                                     [QUERY_OFFSETS] = o->query_offsets,
                                     [KEY_OFFSETS] = o->key_offsets};
    heed_tensor *out[OUTPUTS] = {NULL};
    if (!heed_apply(cx, &op_attention, &at, in, INPUTS, out, OUTPUTS)) return NULL;
    const char *const site = o->site ? o->site : "attention";
    if (capture_wants(cx, site, o->layer) && !cx->config.dry) {
        const struct attention a = describe(in, &at, cx->seed);
        if (!capture_attention(cx, &a, f32_of(out[TOP]), f32_of(out[SUM]), site, o->layer)) return NULL;
    }
    return out[Y];
}
