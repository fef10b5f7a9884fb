/* Decoding with recurrent networks: states are a few vectors a row, whatever was read. */
#include "model/parts/recurrent_state.h"
#include "base/checked.h"
#include "tensor/engine.h"
#include <string.h>

static int64_t cells_of(const heed_rnn *rnn) { return rnn->opts.layers * (rnn->opts.bidirectional ? 2 : 1); }
static int64_t outputs_of(const heed_rnn *rnn) {
    return rnn->opts.projection > 0 ? rnn->opts.projection : rnn->opts.units;
}

bool recurrent_room(heed_ctx *cx, struct recurrent_state *s, int64_t rows, int64_t width) {
    size_t bytes;
    if (s->rows >= rows && s->width == width) return true;
    recurrent_end(cx, s);
    if (!size_mul((size_t)rows, (size_t)width * sizeof(float), &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "%lld rows of states are too many", (long long)rows);
    s->rows = rows, s->width = width;
    s->now = heed_mem_new(cx, bytes);
    s->next = heed_mem_new(cx, bytes);
    if (heed_failed(cx)) recurrent_end(cx, s);
    return !heed_failed(cx);
}

static void clear(struct recurrent_state *s, int64_t rows) {
    memset(s->now, 0, (size_t)(rows * s->width) * sizeof *s->now);
}

static void gather(float *to, const struct recurrent_state *s, const int32_t *order, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * s->width, s->now + order[i] * s->width, (size_t)s->width * sizeof *to);
}

bool recurrent_begin(heed_ctx *cx, struct recurrent_state *s, const heed_rnn *rnn, const struct stepper_begin *b) {
    if (heed_failed(cx)) return false;
    const int64_t width = cells_of(rnn) * (outputs_of(rnn) + (rnn->opts.kind == HEED_LSTM ? rnn->opts.units : 0));
    if (!recurrent_room(cx, s, b->rows, width)) return false;
    clear(s, b->n);
    return true;
}

bool recurrent_reorder(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per) {
    struct recurrent_state *const s = state;
    (void)per;
    if (heed_failed(cx)) return false;
    gather(s->next, s, order, n);
    float *const now = s->next;
    s->next = s->now;
    s->now = now;
    return true;
}

bool recurrent_copy(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows) {
    const struct recurrent_state *const from = state;
    struct recurrent_state *const s = to;
    if (heed_failed(cx) || !recurrent_room(cx, s, rows, from->width)) return false;
    gather(s->now, from, order, n);
    return true;
}

bool recurrent_rewind(heed_ctx *cx, void *state, int64_t rows) {
    if (heed_failed(cx)) return false;
    clear(state, rows);
    return true;
}

void recurrent_end(heed_ctx *cx, void *state) {
    struct recurrent_state *const s = state;
    heed_mem_free(cx, s->now);
    heed_mem_free(cx, s->next);
    *s = (struct recurrent_state){0};
}

/* Between rows of the state, from number `at` of each on, and a tensor (cells,R,n). */
static void exchange(const struct recurrent_state *s, heed_tensor *t, int64_t at, bool out) {
    const int64_t cells = t->shape[0], R = t->shape[1], n = t->shape[2];
    for (int64_t i = 0; i < cells; i++)
        for (int64_t r = 0; r < R; r++) {
            float *const mine = s->now + r * s->width + at + i * n;
            float *const theirs = (float *)(void *)t->data + (i * R + r) * n;
            memcpy(out ? theirs : mine, out ? mine : theirs, (size_t)n * sizeof *mine);
        }
}

heed_tensor *recurrent_get(heed_ctx *cx, const struct recurrent_state *s, int64_t at, int64_t cells, int64_t rows,
                           int64_t n) {
    heed_tensor *const t = heed_zeros(cx, HEED_F32, 3, (int64_t[]){cells, rows, n});
    if (t && !cx->config.dry) exchange(s, t, at, true);
    return t;
}

bool recurrent_put(heed_ctx *cx, struct recurrent_state *s, int64_t at, heed_tensor *t) {
    t = heed_contiguous(cx, t);
    if (t && !cx->config.dry) exchange(s, t, at, false);
    return t != NULL;
}

heed_tensor *recurrent_step(heed_ctx *cx, const heed_rnn *rnn, struct recurrent_state *s, heed_tensor *x,
                            const int32_t *counts) {
    if (heed_failed(cx) || !x) return NULL;
    const int64_t cells = cells_of(rnn), R = x->shape[0], P = outputs_of(rnn);
    heed_rnn_state first = {.h = recurrent_get(cx, s, 0, cells, R, P)}, last;
    if (rnn->opts.kind == HEED_LSTM) first.c = recurrent_get(cx, s, cells * P, cells, R, rnn->opts.units);
    heed_tensor *const lengths = counts ? heed_from_i32(cx, counts, 1, &R) : NULL;
    heed_tensor *const y = heed_rnn_run(cx, rnn, x, lengths, &first, &last);
    if (!y || !recurrent_put(cx, s, 0, last.h) || (last.c && !recurrent_put(cx, s, cells * P, last.c))) return NULL;
    return y;
}
