/* The kernel alone, on arrays of the caller's, for programs that want nothing else of heed. */
#include "attention/attention.h"
#include "base/ctx.h"
#include <math.h>

static bool fail(heed_ctx *cx, const char *why) { return heed_fail(cx, HEED_ERR_USAGE, "attention_run: %s", why); }

static bool check_lengths(heed_ctx *cx, const int32_t *lengths, int64_t batch, int64_t most, const char *what) {
    for (int64_t b = 0; lengths && b < batch; b++)
        if (lengths[b] < 0 || lengths[b] > most)
            return heed_fail(cx, HEED_ERR_RANGE,
                             "attention_run: %s length %d of sequence %lld is not within 0 and %lld", what,
                             (int)lengths[b], (long long)b, (long long)most);
    return true;
}

static bool check(heed_ctx *cx, const heed_attention_arrays *a) {
    const bool empty = a->batch == 0 || a->heads == 0 || a->queries == 0;
    if (a->batch < 0 || a->heads < 0 || a->queries < 0 || a->keys < 0) return fail(cx, "a size is negative");
    if (a->kv_heads < 1 || a->heads % a->kv_heads != 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "attention_run: %lld query heads cannot share %lld key heads evenly",
                         (long long)a->heads, (long long)a->kv_heads);
    if (a->key_size < 1 || a->key_size > ATTENTION_HEAD || a->value_size < 1 || a->value_size > ATTENTION_HEAD)
        return heed_fail(cx, HEED_ERR_SHAPE, "attention_run: heads of %lld and %lld numbers: 1 to %d are possible",
                         (long long)a->key_size, (long long)a->value_size, ATTENTION_HEAD);
    if (!empty && (!a->q || !a->y || (a->keys > 0 && (!a->k || !a->v)))) return fail(cx, "q, k, v or y is NULL");
    if (a->offset < 0) return fail(cx, "the query offset is negative");
    if (a->offset > ((int64_t)1 << 30)) return fail(cx, "the query offset is beyond 2^30");
    if (a->window < 0) return fail(cx, "the window is negative");
    if (!isfinite(a->scale)) return fail(cx, "the scale is not a number");
    if (!(a->cap >= 0 && isfinite(a->cap))) return fail(cx, "the cap of scores is negative or not a number");
    return check_lengths(cx, a->key_lengths, a->batch, a->keys, "key") &&
           check_lengths(cx, a->query_lengths, a->batch, a->queries, "query");
}

static struct attention_at at_of(heed_strides s) { return (struct attention_at){s.batch, s.time, s.head}; }

bool heed_attention_run(heed_ctx *cx, const heed_attention_arrays *a) {
    if (heed_failed(cx)) return false;
    if (!a) return fail(cx, "the arrays are NULL");
    if (!check(cx, a)) return false;
    const int64_t rows = a->batch * a->queries;
    float *const statistics = a->lse ? heed_mem_new(cx, (size_t)(2 * rows * a->heads) * sizeof(float)) : NULL;
    if (a->lse && !statistics) return false;
    const struct attention call = {
        .batch = a->batch,
        .heads = a->heads,
        .kv_heads = a->kv_heads,
        .queries = a->queries,
        .keys = a->keys,
        .d = a->key_size,
        .e = a->value_size,
        .q = a->q,
        .k = a->k,
        .v = a->v,
        .q_at = at_of(a->q_at),
        .k_at = at_of(a->k_at),
        .v_at = at_of(a->v_at),
        .q_lengths = a->query_lengths,
        .k_lengths = a->key_lengths,
        .scale = a->scale != 0 ? a->scale : 1 / sqrtf((float)a->key_size),
        .cap = a->cap,
        .offset = a->offset,
        .causal = a->causal,
        .window = a->window,
        .keep = a->keep,
        .keep_at = {a->keep_batch, a->keep_head, a->keep_query},
        .add = a->add,
        .add_at = {a->add_batch, a->add_head, a->add_query},
        .slopes = a->slopes,
    };
    float *const top = statistics, *const sum = statistics ? statistics + rows * a->heads : NULL;
    if (!cx->config.dry) kernel_attention(cx->pool, &call, a->y, at_of(a->y_at), top, sum);
    for (int64_t h = 0; a->lse && !cx->config.dry && h < a->heads; h++)
        for (int64_t b = 0; b < a->batch; b++)
            for (int64_t i = 0; i < a->queries; i++) {
                const int64_t from = h * rows + b * a->queries + i;
                a->lse[(b * a->heads + h) * a->queries + i] = top[from] + logf(sum[from]); /* log 0 is -inf */
            }
    heed_mem_free(cx, statistics);
    return true;
}
