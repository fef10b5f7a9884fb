/* Locality-sensitive hashing of queries (Andoni et al. 2015; Kitaev et al. 2020).
 *
 *     bucket(x) = argmax of (x R, -x R),  R (D, buckets / 2) of normal numbers
 *
 * A vector goes where the random directions, or their opposites, that it is nearest to are, so that near vectors often
 * share a bucket. Several rounds miss less. Where the number of buckets is a product, each factor has directions of its
 * own, so that O(T D sum of factors) tells their product apart. Positions are then sorted by bucket, equal ones in
 * order. No gradient. */
#include "attention/attention_ops.h"
#include "base/mersenne.h"
#include "kernel/chunks.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/rows.h"
#include "tensor/engine.h"

enum { X, ROTATIONS, KEEP, INPUTS };
enum { ORDER, BUCKETS, OUTPUTS };

#define HASH_ROWS 1024 /* rows that are turned at once */

struct lsh_attr {
    int factors;
    int32_t factor[HEED_LSH_FACTORS], buckets; /* buckets: their product; beyond it is that of masked positions */
};

/* x (B,T,…), of whose rows the first H D numbers count; rotations (H,D,R,K), K half the sum of the factors */
static bool lsh_infer(heed_op_call *c) {
    const struct lsh_attr *const at = c->attr;
    const heed_tensor *const x = c->in[X], *const w = c->in[ROTATIONS], *const keep = c->in[KEEP];
    int64_t half = 0;
    if (!heed_op_want(c, X, HEED_F32) || !heed_op_want(c, ROTATIONS, HEED_F32)) return false;
    for (int i = 0; i < at->factors; i++) half += at->factor[i] / 2;
    if (x->rank != 3 || w->rank != 4 || w->shape[2] < 1 || w->shape[3] != half ||
        w->shape[0] * w->shape[1] > x->shape[2])
        return heed_op_fail(c, HEED_ERR_SHAPE, "rotations of shape %s do not fit x of shape %s and %lld directions",
                            heed_shape_text(w).s, heed_shape_text(x).s, (long long)half);
    if (keep &&
        (keep->dtype != HEED_U8 || keep->rank != 2 || keep->shape[0] != x->shape[0] || keep->shape[1] != x->shape[1]))
        return heed_op_fail(c, HEED_ERR_SHAPE, "a mask of shape %s does not fit x of shape %s: u8 (B,T)",
                            heed_shape_text(keep).s, heed_shape_text(x).s);
    const int64_t shape[] = {x->shape[0], w->shape[0], w->shape[2], x->shape[1]};
    if (!heed_op_out(c, ORDER, HEED_I32, 4, shape) || !heed_op_out(c, BUCKETS, HEED_I32, 4, shape)) return false;
    const int64_t turned = min64(HASH_ROWS, x->shape[1]) * w->shape[2] * half;
    c->work_forward = (size_t)turned * sizeof(float) > (size_t)c->out[ORDER]->count * sizeof(int32_t)
                          ? (size_t)turned * sizeof(float)
                          : (size_t)c->out[ORDER]->count * sizeof(int32_t);
    return true;
}

struct hashing {
    const struct lsh_attr *at;
    const float *turned; /* (rows, R, K) */
    int64_t half, rounds, time;
    int32_t *bucket;     /* of the first row: rounds lie `time` apart */
    const uint8_t *keep; /* of the first row, or NULL */
    int32_t *order;      /* of all heads */
    const int32_t *buckets;
    int32_t *room;
};

/* The first of the largest of x and -x. */
static int32_t nearest(const float *x, int32_t half) {
    int32_t best = 0;
    float most = x[0];
    for (int32_t i = 1; i < half; i++)
        if (x[i] > most) most = x[i], best = i;
    for (int32_t i = 0; i < half; i++)
        if (-x[i] > most) most = -x[i], best = half + i;
    return best;
}

static void run_buckets(const void *arg, int64_t first, int64_t rows) {
    const struct hashing *const h = arg;
    for (int64_t i = first; i < first + rows; i++)
        for (int64_t r = 0; r < h->rounds; r++) {
            const float *x = h->turned + (i * h->rounds + r) * h->half;
            int32_t bucket = 0, times = 1;
            for (int f = 0; f < h->at->factors; f++) {
                bucket += times * nearest(x, h->at->factor[f] / 2);
                times *= h->at->factor[f];
                x += h->at->factor[f] / 2;
            }
            h->bucket[r * h->time + i] = h->keep && !h->keep[i] ? h->at->buckets : bucket;
        }
}

static void run_sort(void *arg, int64_t task, void *scratch) {
    const struct hashing *const h = arg;
    const int64_t at = task * h->time;
    (void)scratch;
    kernel_sort_buckets(h->order + at, h->buckets + at, h->time, h->at->buckets, h->room + at);
}

static bool lsh_forward(heed_op_call *c) {
    const heed_tensor *const x = c->in[X], *const w = c->in[ROTATIONS], *const keep = c->in[KEEP];
    const int64_t B = x->shape[0], T = x->shape[1], H = w->shape[0], D = w->shape[1], R = w->shape[2], K = w->shape[3];
    struct hashing h = {.at = c->attr, .turned = c->work, .half = K, .rounds = R, .time = T};
    int32_t *const buckets = heed_op_i32(c, BUCKETS);
    for (int64_t bh = 0; bh < B * H; bh++)
        for (int64_t t = 0; t < T; t += HASH_ROWS) {
            const int64_t rows = min64(HASH_ROWS, T - t);
            kernel_gemm(pool_of(c), &(struct gemm){.m = rows,
                                                   .n = R * K,
                                                   .k = D,
                                                   .a = f32_of(x) + (bh / H * T + t) * x->shape[2] + bh % H * D,
                                                   .lda = x->shape[2],
                                                   .b = f32_of(w) + bh % H * D * R * K,
                                                   .ldb = R * K,
                                                   .c = c->work,
                                                   .ldc = R * K,
                                                   .alpha = 1});
            h.bucket = buckets + bh * R * T + t;
            h.keep = keep ? u8_of(keep) + bh / H * T + t : NULL;
            kernel_rows(pool_of(c), rows, R * K, run_buckets, &h);
        }
    h.order = heed_op_i32(c, ORDER), h.buckets = buckets, h.room = c->work;
    pool_run_if(B * H * R * T > 4096, pool_of(c), B * H * R, run_sort, &h);
    return true;
}

const heed_op op_lsh_order = {.name = "lsh_order",
                              .infer = lsh_infer,
                              .forward = lsh_forward,
                              .flags = HEED_OP_NONDIFF,
                              .optional = 1u << KEEP,
                              .attr_size = sizeof(struct lsh_attr)};

heed_tensor *heed_lsh_order(heed_ctx *cx, heed_tensor *x, heed_tensor *rotations, const heed_lsh_opts *o,
                            heed_tensor **buckets) {
    if (heed_failed(cx) || !engine_of(cx)) return NULL;
    struct lsh_attr at = {.factors = o ? o->factors : 0};
    int64_t all = 1;
    for (int i = 0; i < at.factors && at.factors <= HEED_LSH_FACTORS; i++) {
        if (o->factor[i] < 2 || o->factor[i] % 2 || o->factor[i] > HEED_LSH_BUCKETS || all > HEED_LSH_BUCKETS) {
            heed_fail(cx, HEED_ERR_RANGE, "lsh_order: %lld buckets: an even number from 2 to %d is needed",
                      (long long)o->factor[i], HEED_LSH_BUCKETS);
            return NULL;
        }
        at.factor[i] = (int32_t)o->factor[i];
        all *= o->factor[i];
    }
    if (at.factors < 1 || at.factors > HEED_LSH_FACTORS || all > HEED_LSH_BUCKETS) {
        heed_fail(cx, HEED_ERR_RANGE, "lsh_order: 1 to %d factors of at most %d buckets in all are needed",
                  HEED_LSH_FACTORS, HEED_LSH_BUCKETS);
        return NULL;
    }
    at.buckets = (int32_t)all;
    heed_tensor *const in[INPUTS] = {x, rotations, o->keep};
    heed_tensor *out[OUTPUTS] = {NULL};
    if (!heed_apply(cx, &op_lsh_order, &at, in, INPUTS, out, OUTPUTS)) return NULL;
    if (buckets) *buckets = out[BUCKETS];
    return out[ORDER];
}

heed_tensor *heed_lsh_rotations(heed_ctx *cx, int64_t heads, int64_t size, int64_t rounds, int64_t directions,
                                const int64_t *seed, int layer) {
    const int64_t shape[] = {heads, size, rounds, directions};
    struct engine *const e = engine_of(cx);
    heed_tensor *const t = heed_zeros(cx, HEED_F32, 4, shape);
    if (!t) return NULL;
    float *const out = (float *)(void *)t->data;
    const uint64_t stream = e->training && !seed ? engine_next_stream(cx) : UINT64_MAX - (uint64_t)layer;
    if (cx->config.dry) return t;
    if (seed)
        mersenne_normal((uint64_t)*seed, out, t->count);
    else
        heed_random_normal(cx->seed, stream, 0, out, t->count);
    return t;
}
