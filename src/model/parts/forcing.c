/* Own tokens in place of true ones: a decoder goes through the rows step by step, without a tape; what it read is then
 * given to the network as if it had been the text, all steps at once where the family can. */
#include "model/parts/forcing.h"
#include "model/core/stepper.h"
#include "tensor/engine.h"
#include <string.h>

static int32_t *numbers(heed_tensor *t) { return (int32_t *)(void *)t->data; }

heed_tensor *forcing_best(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias) {
    heed_scope_begin(cx);
    return heed_scope_end(cx, heed_argmax(cx, heed_linear(cx, x, weight, bias), -1, false));
}

/* The last place that is not given; 0: all are. A dry run supposes that none is. */
static int64_t last_own(const heed_ctx *cx, const heed_tensor *given) {
    const int64_t B = given->shape[0], T = given->shape[1];
    for (int64_t t = T - 1; t > 0; t--)
        for (int64_t b = 0; b < B; b++)
            if (cx->config.dry || i32_of(given)[b * T + t] == 0) return t;
    return 0;
}

static heed_tensor *column(heed_ctx *cx, heed_tensor *ids, int64_t t) {
    const int64_t B = ids->shape[0], T = ids->shape[1];
    heed_tensor *const one = heed_zeros(cx, HEED_I32, 2, (int64_t[]){B, 1});
    for (int64_t b = 0; one && !cx->config.dry && b < B; b++) numbers(one)[b] = i32_of(ids)[b * T + t];
    return one;
}

heed_tensor *forcing_tokens(heed_ctx *cx, forcing_step step, void *own, heed_tensor *ids, heed_tensor *given) {
    if (heed_failed(cx) || !ids || !given) return ids;
    ids = heed_contiguous(cx, ids);
    given = heed_contiguous(cx, given);
    if (heed_failed(cx)) return NULL;
    const int64_t B = ids->shape[0], T = ids->shape[1], last = last_own(cx, given);
    if (last == 0) return ids;
    heed_tensor *const read = heed_zeros(cx, HEED_I32, 2, ids->shape);
    if (read && !cx->config.dry) memcpy(read->data, ids->data, (size_t)ids->count * sizeof(int32_t));
    const struct inference was = inference_begin(cx);
    void *const capture = cx->capture; /* weights are captured when what was read is read again */
    cx->capture = NULL;
    heed_scope_begin(cx);
    for (int64_t t = 0; read && t < last; t++) {
        heed_tensor *const next = step(cx, own, column(cx, read, t));
        if (!next) break;
        for (int64_t b = 0; !cx->config.dry && b < B; b++)
            if (i32_of(given)[b * T + t + 1] == 0) numbers(read)[b * T + t + 1] = i32_of(next)[b];
    }
    heed_scope_end(cx, NULL);
    cx->capture = capture;
    inference_end(was);
    return heed_failed(cx) ? NULL : read;
}
