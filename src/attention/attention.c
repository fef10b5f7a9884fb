/* Exact attention.   y = softmax(scale q k' + bias) v       Vaswani et al. 2017; by tiles, Dao et al. 2022
 *
 * q (B,Tq,H,D), k (B,Tk,G,D), v (B,Tk,G,E) -> y (B,Tq,H,E); packed: (Nq,H,D), (Nk,G,D), (Nk,G,E) -> (Nq,H,E). Saved for
 * backward: inputs, y, and of each row the largest score and the sum of exponentials, both (H, rows). The kernel is
 * kernel/attention.c. */
#include "attention/attention.h"
#include "attention/attention_ops.h"
#include "attention/strides.h"
#include <math.h>
#include <string.h>

enum { Q, K, V, ADD, DISTANCE, KEEP, KEY_LENGTHS, QUERY_LENGTHS, QUERY_OFFSETS, KEY_OFFSETS, INPUTS };
enum { Y, TOP, SUM, OUTPUTS };

struct attention_attr {
    int64_t queries, keys;         /* of the longest sequence */
    int64_t heads, kv_heads, size; /* fused: how a row of q, k and v together is made up; else 0 */
    float scale, cap, dropout;
    int64_t offset, window, block;
    bool causal, alibi;
    uint64_t stream;
    float slopes[ALIBI_HEADS];
};

/* Where q, k and v lie, apart or as the parts of each row of one tensor. */
static void place(heed_tensor *const *in, const struct attention_attr *at, struct attention *a) {
    const heed_tensor *q = in[Q], *k = in[K], *v = in[V];
    if (at->size) {
        const int64_t wide = at->heads * at->size, part = at->kv_heads * at->size;
        int64_t ld = 0;
        heed_row_stride(q, &ld);
        *a = (struct attention){.heads = at->heads, .kv_heads = at->kv_heads, .d = at->size, .e = at->size};
        a->q = f32_of(q), a->k = a->q + wide, a->v = a->k + part;
        a->q_at = a->k_at = a->v_at = (struct attention_at){at->queries * ld, ld, at->size};
        return;
    }
    *a = (struct attention){.heads = q->shape[q->rank - 2],
                            .kv_heads = k->shape[k->rank - 2],
                            .d = cols_of(q),
                            .e = cols_of(v),
                            .q = f32_of(q),
                            .k = f32_of(k),
                            .v = f32_of(v)};
    strides_of(q, &a->q_at);
    strides_of(k, &a->k_at);
    strides_of(v, &a->v_at);
}

/* The call as the kernel takes it. */
static struct attention describe(heed_tensor *const *in, const struct attention_attr *at, uint64_t seed) {
    const bool packed = in[QUERY_OFFSETS] != NULL;
    struct attention a;
    place(in, at, &a);
    a.batch = packed ? in[QUERY_OFFSETS]->shape[0] - 1 : in[Q]->shape[0];
    a.queries = at->queries, a.keys = at->keys;
    a.scale = at->scale, a.cap = at->cap;
    a.offset = at->offset, a.causal = at->causal, a.window = at->window, a.block = at->block;
    a.slopes = at->alibi ? at->slopes : NULL;
    a.dropout = at->dropout, a.seed = seed, a.stream = at->stream;
    if (packed) {
        a.q_offsets = i32_of(in[QUERY_OFFSETS]), a.q_rows = in[Q]->shape[0];
        a.k_offsets = i32_of(in[KEY_OFFSETS]), a.k_rows = (in[K] ? in[K] : in[Q])->shape[0];
    }
    if (in[KEY_LENGTHS]) a.k_lengths = i32_of(in[KEY_LENGTHS]);
    if (in[QUERY_LENGTHS]) a.q_lengths = i32_of(in[QUERY_LENGTHS]);
    set_biases(&a, in[KEEP], in[ADD], in[DISTANCE]);
    if (in[DISTANCE]) a.distance_zero = at->queries - 1 + at->offset;
    return a;
}

/* ---- the op ---- */

static bool check_fused(heed_op_call *c, const struct attention_attr *at) {
    const heed_tensor *x = c->in[Q];
    const bool packed = c->in[QUERY_OFFSETS] != NULL;
    if (!heed_op_want(c, Q, HEED_F32)) return false;
    if (x->rank != (packed ? 2 : 3) || cols_of(x) != (at->heads + 2 * at->kv_heads) * at->size)
        return heed_op_fail(c, HEED_ERR_SHAPE,
                            "rows of %s are not %lld query heads and twice %lld key heads of one size",
                            heed_shape_text(x).s, (long long)at->heads, (long long)at->kv_heads);
    if (at->size > ATTENTION_HEAD)
        return heed_op_fail(c, HEED_ERR_SHAPE, "heads of %lld numbers: 1 to %d are possible", (long long)at->size,
                            ATTENTION_HEAD);
    return true;
}

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
    const int64_t both = at->queries + at->keys, distances = both > 0 ? both - 1 : 0;
    if (!t) return true;
    if (t->dtype != HEED_F32 || t->rank != 2 || (t->shape[0] != heads && t->shape[0] != 1) || t->shape[1] != distances)
        return heed_op_fail(c, HEED_ERR_SHAPE, "a distance bias of shape %s does not fit (%lld,%lld): heads, distances",
                            heed_shape_text(t).s, (long long)heads, (long long)distances);
    return true;
}

static bool attention_infer(heed_op_call *c) {
    const struct attention_attr *at = c->attr;
    if (!(at->size ? check_fused(c, at) : check_shapes(c))) return false;
    struct attention a;
    place(c->in, at, &a);
    const heed_tensor *q = c->in[Q];
    const bool packed = c->in[QUERY_OFFSETS] != NULL;
    const int64_t rows = packed ? q->shape[0] : q->shape[0] * q->shape[1];
    if (!check_distance(c, at, a.heads)) return false;
    const int64_t shape[] = {q->shape[0], q->shape[1], a.heads, a.e}, flat[] = {q->shape[0], a.heads, a.e};
    if (!heed_op_out(c, Y, HEED_F32, packed ? 3 : 4, packed ? flat : shape) ||
        !heed_op_out(c, TOP, HEED_F32, 2, (int64_t[]){a.heads, rows}) ||
        !heed_op_out(c, SUM, HEED_F32, 2, (int64_t[]){a.heads, rows}))
        return false;
    for (int i = 0; i < INPUTS; i++)
        if (!c->in[i]) c->save_in &= ~(1u << i);
    if (c->recording) {
        float something[1]; /* only whether they are wanted counts */
        const bool dk = c->wants[at->size ? Q : K], dv = c->wants[at->size ? Q : V];
        const struct attention_grad g = {.dk = dk ? something : NULL, .dv = dv ? something : NULL};
        a = describe(c->in, at, 0);
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
        !check_offsets(c, KEY_OFFSETS, c->in[c->in[K] ? K : Q]->shape[0], "key"))
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
    const struct attention_attr *at = c->attr;
    const struct attention a = describe(c->in, at, c->cx->seed);
    struct attention_grad g = {.y = f32_of(c->out[Y]),
                               .dy = c->dout[Y],
                               .top = f32_of(c->out[TOP]),
                               .sum = f32_of(c->out[SUM]),
                               .work = c->work};
    g.dq = c->din[Q], g.add_q = c->add[Q], g.ldq = a.heads * a.d;
    if (!at->size) {
        g.dk = c->din[K], g.add_k = c->add[K], g.ldk = a.kv_heads * a.d;
        g.dv = c->din[V], g.add_v = c->add[V], g.ldv = a.kv_heads * a.e;
    } else if (g.dq) {
        g.ldq = g.ldk = g.ldv = cols_of(c->in[Q]);
        g.dk = g.dq + a.heads * a.d, g.dv = g.dk + a.kv_heads * a.d;
        g.add_k = g.add_v = g.add_q;
    }
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
                              .optional = ((1u << INPUTS) - 1) & ~1u,
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

static bool check_opts(heed_ctx *cx, int64_t heads, const heed_attention_opts *o) {
    const bool packed = o->query_offsets || o->key_offsets;
    if (!(o->dropout >= 0 && o->dropout <= 1)) return fail(cx, HEED_ERR_RANGE, "dropout is not within 0 and 1");
    if (!isfinite(o->scale)) return fail(cx, HEED_ERR_RANGE, "the scale is not a number");
    if (!(o->cap >= 0 && isfinite(o->cap)))
        return fail(cx, HEED_ERR_RANGE, "the cap of scores is negative or not a number");
    if (packed && (!o->query_offsets || !o->key_offsets || !is_offsets(o->query_offsets) ||
                   !is_offsets(o->key_offsets) || o->query_offsets->count != o->key_offsets->count))
        return fail(cx, HEED_ERR_SHAPE, "packed sequences need query and key offsets, i32 of equal length");
    if (packed && (o->mask.key_lengths || o->mask.query_lengths))
        return fail(cx, HEED_ERR_USAGE, "packed sequences take no lengths");
    if (o->alibi && heads > ALIBI_HEADS)
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

/* Everything of the attribute but how a fused row is made up. nq, nk: rows of a sequence, or of all when packed. */
static bool fill_attr(heed_ctx *cx, int64_t batch, int64_t heads, int64_t size, int64_t nq, int64_t nk,
                      const heed_attention_opts *o, struct attention_attr *at) {
    const bool packed = o->query_offsets != NULL;
    at->queries = packed ? longest(cx, o->query_offsets, nq) : nq;
    at->keys = packed ? longest(cx, o->key_offsets, nk) : nk;
    at->scale = o->scale != 0 ? o->scale : size > 0 ? 1 / sqrtf((float)size) : 1;
    at->cap = o->cap;
    at->dropout = engine_of(cx)->training ? o->dropout : 0;
    at->offset = o->mask.offset;
    at->window = o->mask.windowed ? o->mask.window : 0;
    at->block = o->mask.blocked ? o->mask.block : 0;
    at->causal = o->mask.causal;
    at->alibi = o->alibi;
    if (at->dropout > 0) at->stream = engine_next_stream(cx);
    if (o->alibi && !heed_alibi_slopes(cx, heads, at->slopes)) return false;
    return mask_check(cx, "attention", &o->mask, packed ? o->query_offsets->count - 1 : batch, heads, at->queries,
                      at->keys);
}

/* k and v are NULL when q is the fused one. */
static heed_tensor *run(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v, const heed_attention_opts *o,
                        const struct attention_attr *at) {
    heed_tensor *const in[INPUTS] = {[Q] = q,
                                     [K] = k,
                                     [V] = v,
                                     [ADD] = o->mask.add ? heed_contiguous(cx, o->mask.add) : NULL,
                                     [DISTANCE] = o->distance_bias ? heed_contiguous(cx, o->distance_bias) : NULL,
                                     [KEEP] = o->mask.keep ? heed_contiguous(cx, o->mask.keep) : NULL,
                                     [KEY_LENGTHS] = o->mask.key_lengths,
                                     [QUERY_LENGTHS] = o->mask.query_lengths,
                                     [QUERY_OFFSETS] = o->query_offsets,
                                     [KEY_OFFSETS] = o->key_offsets};
    heed_tensor *out[OUTPUTS] = {NULL};
    if (!heed_apply(cx, &op_attention, at, in, INPUTS, out, OUTPUTS)) return NULL;
    const char *const site = o->site ? o->site : "attention";
    if (capture_wants(cx, site, o->layer) && !cx->config.dry) {
        const struct attention a = describe(in, at, cx->seed);
        if (!capture_attention(cx, &a, f32_of(out[TOP]), f32_of(out[SUM]), site, o->layer)) return NULL;
    }
    return out[Y];
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
    const int rank = o->query_offsets ? 3 : 4;
    if (!check_opts(cx, q->rank == rank ? q->shape[rank - 2] : 0, o)) return NULL;
    if (q->rank == rank && k->rank == rank && /* else infer reports it */
        !fill_attr(cx, q->shape[0], q->shape[rank - 2], cols_of(q), q->shape[rank - 3], k->shape[rank - 3], o, &at))
        return NULL;
    if (o->rotary && o->query_offsets && !o->rotary->positions && !o->rotary->angles) {
        fail(cx, HEED_ERR_USAGE, "rotary of packed sequences needs the positions of the rows");
        return NULL;
    }
    if (o->rotary) q = turned(cx, q, o, o->mask.offset), k = turned(cx, k, o, 0);
    return run(cx, as_strides(cx, q), as_strides(cx, k), as_strides(cx, v), o, &at);
}

/* Rotary needs q and k apart: views of the parts, as heads. */
static heed_tensor *part_heads(heed_ctx *cx, heed_tensor *x, int64_t from, int64_t heads, int64_t size) {
    heed_tensor *t = heed_slice(cx, x, -1, from * size, heads * size);
    if (!t) return NULL;
    const int64_t *n = t->shape;
    return t->rank == 3 ? heed_reshape(cx, t, 4, (int64_t[]){n[0], n[1], heads, size})
                        : heed_reshape(cx, t, 3, (int64_t[]){n[0], heads, size});
}

heed_tensor *heed_self_attention(heed_ctx *cx, heed_tensor *qkv, int64_t heads, int64_t kv_heads,
                                 const heed_attention_opts *opts) {
    static const heed_attention_opts plain;
    const heed_attention_opts *const o = opts ? opts : &plain;
    if (heed_failed(cx) || !engine_of(cx)) return NULL;
    const int rank = o->query_offsets ? 2 : 3;
    if (!qkv || heads < 1 || kv_heads < 1 || heads % kv_heads != 0 || qkv->rank != rank || heads > cols_of(qkv) ||
        cols_of(qkv) % (heads + 2 * kv_heads) != 0) {
        heed_fail(cx, HEED_ERR_SHAPE,
                  "self_attention: rows of %s do not hold %lld query heads and twice %lld key heads",
                  qkv ? heed_shape_text(qkv).s : "NULL", (long long)heads, (long long)kv_heads);
        return NULL;
    }
    const int64_t size = cols_of(qkv) / (heads + 2 * kv_heads), rows = qkv->shape[rank - 2];
    if (o->rotary)
        return heed_attention(cx, part_heads(cx, qkv, 0, heads, size), part_heads(cx, qkv, heads, kv_heads, size),
                              part_heads(cx, qkv, heads + kv_heads, kv_heads, size), o);
    struct attention_attr at = {.heads = heads, .kv_heads = kv_heads, .size = size};
    int64_t ld;
    if (!check_opts(cx, heads, o) || !fill_attr(cx, qkv->shape[0], heads, size, rows, rows, o, &at)) return NULL;
    return run(cx, heed_row_stride(qkv, &ld) ? qkv : heed_contiguous(cx, qkv), NULL, NULL, o, &at);
}
