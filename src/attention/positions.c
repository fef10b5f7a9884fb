/* Positions that are added or looked up: sines and cosines, T5's buckets, ALiBi's slopes. Learned ones are an
 * embedding; rotary ones are in rotary.c. */
#include "base/checked.h"
#include "heed/attention.h"
#include "kernel/rotary.h"
#include "tensor/engine.h"
#include <math.h>

/* ---- sines and cosines ---- y[t,i] of sin and cos of (start + t) / 10000^(2i/C)        Vaswani et al. 2017 */

heed_tensor *heed_sine_positions(heed_ctx *cx, int64_t start, int64_t length, int64_t width, bool halved) {
    int64_t end;
    if (heed_failed(cx)) return NULL;
    if (length < 0 || width < 0 || width % 2 != 0 || !i64_add(start, length, &end)) {
        heed_fail(cx, HEED_ERR_RANGE,
                  "sine_positions: %lld positions of width %lld from %lld on: the length must not be negative, the "
                  "width even",
                  (long long)length, (long long)width, (long long)start);
        return NULL;
    }
    heed_tensor *y = heed_zeros(cx, HEED_F32, 2, (int64_t[]){length, width});
    if (!y || cx->config.dry || y->count == 0) return y;
    float *out = (float *)(void *)y->data;
    kernel_angles(cx->pool, &(struct angles){.rows = length,
                                             .pairs = width / 2,
                                             .base = 10000,
                                             .start = start,
                                             .sines = out,
                                             .cosines = out + (halved ? width / 2 : 1),
                                             .row = width,
                                             .step = halved ? 1 : 2});
    return y;
}

/* ---- T5's buckets ---- half of a side's buckets are for one distance each, the others for distances growing by equal
 * factors up to max_distance, the last also for all beyond. Raffel et al. 2020. T5 computes in float, and so does this:
 * a distance at the edge of two buckets belongs where rounding puts it. Only there can the last bit of a library's
 * logarithm matter. */

int64_t heed_t5_bucket(int64_t relative, bool bidirectional, int64_t buckets, int64_t max_distance) {
    const int64_t side = bidirectional ? buckets / 2 : buckets, single = side / 2;
    const int64_t base = bidirectional && relative > 0 ? side : 0;
    int64_t distance = bidirectional && relative > 0 ? relative : 0;
    if (side < 1) return 0;
    if (relative < 0) distance = relative == INT64_MIN ? INT64_MAX : -relative;
    if (distance < single) return base + distance;
    if (single == 0 || max_distance <= single) return base + side - 1;
    const float range = (float)log((double)max_distance / (double)single);
    const float place = logf((float)distance / (float)single) / range * (float)(side - single);
    if (place >= (float)(side - single)) return base + side - 1;
    const int64_t bucket = single + (int64_t)place;
    return base + (bucket < side ? bucket : side - 1);
}

static bool t5_bias_ok(heed_ctx *cx, const heed_tensor *table, int64_t queries, int64_t keys, int64_t offset,
                       bool bidirectional, int64_t max_distance) {
    int64_t sum;
    if (!table) return heed_fail(cx, HEED_ERR_USAGE, "t5_bias: the table is NULL");
    if (table->rank != 2 || table->shape[0] < (bidirectional ? 2 : 1))
        return heed_fail(cx, HEED_ERR_SHAPE, "t5_bias: a table of shape %s is not (buckets,H)",
                         heed_shape_text(table).s);
    if (queries < 0 || keys < 0 || offset < 0 || !i64_add(queries, keys, &sum) || !i64_add(sum, offset, &sum))
        return heed_fail(cx, HEED_ERR_RANGE,
                         "t5_bias: %lld queries and %lld keys with offset %lld: none may be negative",
                         (long long)queries, (long long)keys, (long long)offset);
    const int64_t single = table->shape[0] / (bidirectional ? 4 : 2);
    if (max_distance <= single)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "t5_bias: a largest distance of %lld is not beyond the %lld that have buckets of their own",
                         (long long)max_distance, (long long)single);
    return true;
}

heed_tensor *heed_t5_bias(heed_ctx *cx, heed_tensor *table, int64_t queries, int64_t keys, int64_t offset,
                          bool bidirectional, int64_t max_distance) {
    if (heed_failed(cx) || !t5_bias_ok(cx, table, queries, keys, offset, bidirectional, max_distance)) return NULL;
    const int64_t columns = queries + keys > 0 ? queries + keys - 1 : 0;
    heed_tensor *ids = heed_zeros(cx, HEED_I32, 1, &columns);
    if (!ids) return NULL;
    int32_t *id = (int32_t *)(void *)ids->data;
    for (int64_t c = 0; c < columns && !cx->config.dry; c++)
        id[c] = (int32_t)heed_t5_bucket(c - (queries - 1) - offset, bidirectional, table->shape[0], max_distance);
    return heed_transpose(cx, heed_embedding(cx, table, ids), 0, 1);
}

/* ---- ALiBi's slopes ---- 2^(-8/n), 2^(-16/n), ... for n heads when n is a power of two; else those of the largest
 * power below, and then every other one of the next power.        Press et al. 2022 */

bool heed_alibi_slopes(heed_ctx *cx, int64_t heads, float *slopes) {
    if (heed_failed(cx)) return false;
    if (heads < 1 || !slopes)
        return heed_fail(cx, HEED_ERR_USAGE, "alibi_slopes: %lld heads%s", (long long)heads,
                         slopes ? ": there must be one at least" : " and no array for their slopes");
    int64_t power = 1;
    while (power <= heads / 2) power *= 2;
    for (int64_t h = 0; h < heads; h++) {
        const double step = h < power ? (double)(h + 1) / (double)power : ((double)(h - power) + 0.5) / (double)power;
        slopes[h] = (float)exp2(-8 * step);
    }
    return true;
}
