/* Tokens first, padding behind them. */
#include "model/parts/packed_tokens.h"
#include "model/core/inputs.h"
#include "tensor/engine.h"

/* Both in order. */
static void order_row(const struct packed_tokens *t, const heed_tensor *ids, const float *mask, int64_t row) {
    const int64_t T = ids->shape[1];
    int64_t at = row * T;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = row * T; i < (row + 1) * T; i++) {
            if ((mask[i] == 0) != (pass == 1)) continue;
            ((int32_t *)(void *)t->ids->data)[at] = i32_of(ids)[i];
            ((uint8_t *)t->seen->data)[at] = pass == 0;
            ((int32_t *)(void *)t->lengths->data)[row] += pass == 0;
            ((int32_t *)(void *)t->back->data)[i] = (int32_t)at++;
        }
    ((float *)(void *)t->counts->data)[row] = (float)i32_of(t->lengths)[row];
}

bool packed_find(heed_ctx *cx, const heed_io *in, struct packed_tokens *t) {
    heed_tensor *ids = input_ids(cx, in, "input_ids", true), *mask = input_mask(cx, in, ids);
    *t = (struct packed_tokens){.ids = ids};
    if (!mask) return !heed_failed(cx) && ids;
    const int64_t B = ids->shape[0], T = ids->shape[1], all = B * T;
    if (all > INT32_MAX)
        return heed_fail(cx, HEED_ERR_RANGE, "input_ids: shape %s has too many tokens", heed_shape_text(ids).s);
    ids = heed_contiguous(cx, ids);
    mask = heed_contiguous(cx, mask);
    t->ids = heed_zeros(cx, HEED_I32, 2, ids->shape);
    t->lengths = heed_zeros(cx, HEED_I32, 1, &B);
    t->counts = heed_zeros(cx, HEED_F32, 2, (int64_t[]){B, 1});
    t->seen = heed_zeros(cx, HEED_U8, 3, (int64_t[]){B, T, 1});
    t->back = heed_zeros(cx, HEED_I32, 1, &all);
    if (heed_failed(cx)) return false;
    for (int64_t row = 0; !cx->config.dry && row < B; row++) order_row(t, ids, f32_of(mask), row);
    return true;
}

heed_tensor *packed_order(heed_ctx *cx, heed_tensor *h, heed_tensor *order) {
    if (!h || !order) return h;
    const int64_t B = h->shape[0], T = h->shape[1], C = h->shape[2];
    h = heed_index_select(cx, heed_reshape(cx, h, 2, (int64_t[]){B * T, C}), 0, order);
    return heed_reshape(cx, h, 3, (int64_t[]){B, T, C});
}
