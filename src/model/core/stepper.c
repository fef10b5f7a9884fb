/* Steppers: what all of them share, and the states of attention. */
#include "model/core/stepper.h"
#include "attention/cache.h"
#include "tensor/engine.h"
#include <string.h>

const struct heed_stepper *stepper_of(heed_ctx *cx, const heed_model *model, const char *who) {
    const struct heed_stepper *const stepper = heed_model_head(model)->stepper;
    if (!stepper)
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s of %s cannot decode", who, heed_model_head(model)->architecture,
                  heed_model_family(model)->name);
    return stepper;
}

bool stepper_check_ids(heed_ctx *cx, const char *what, int64_t i, const heed_ids *ids, int64_t vocabulary,
                       int64_t most) {
    if (ids->count < 1 || !ids->id) return heed_fail(cx, HEED_ERR_USAGE, "%s %lld is empty", what, (long long)i);
    if (ids->count > most)
        return heed_fail(cx, HEED_ERR_RANGE, "%s %lld has %lld tokens: the model has positions for %lld", what,
                         (long long)i, (long long)ids->count, (long long)most);
    for (int64_t t = 0; t < ids->count; t++)
        if (ids->id[t] < 0 || ids->id[t] >= vocabulary)
            return heed_fail(cx, HEED_ERR_RANGE,
                             "%s %lld: token %d at position %lld is not below the vocabulary size, %lld", what,
                             (long long)i, ids->id[t], (long long)t, (long long)vocabulary);
    return true;
}

bool stepper_crosses(const struct heed_stepper *stepper, const void *own, int64_t held, int64_t end) {
    const int64_t border = stepper->border ? stepper->border(own) : 0;
    return held > 0 && held <= border && end > border;
}

struct inference inference_begin(heed_ctx *cx) {
    struct engine *const e = engine_of(cx);
    const struct inference was = {e, e && e->recording, e && e->training};
    if (e) e->recording = e->training = false;
    return was;
}

void inference_end(struct inference was) {
    if (was.engine) was.engine->recording = was.recording, was.engine->training = was.training;
}

/* ---- states of attention ---- */

static heed_cache *cache_like(heed_ctx *cx, const heed_multihead *like, int layers, int64_t sequences,
                              heed_cache_kind kind, int64_t capacity) {
    const int64_t size = like->head_size > 0 ? like->head_size : like->width / like->heads;
    return heed_cache_new(cx, &(heed_cache_opts){.layers = layers,
                                                 .batch = sequences,
                                                 .kv_heads = like->kv_heads > 0 ? like->kv_heads : like->heads,
                                                 .key_size = size,
                                                 .value_size = size,
                                                 .kind = kind,
                                                 .capacity = capacity});
}

/* Do the caches of the last begin fit, and are not far too long? */
static bool fits(const struct attention_state *s, const struct stepper_begin *b, int64_t span) {
    if (!s->self || b->rows > s->rows) return false;
    return span == 0 || (b->sequences <= heed_cache_batch(s->cross) && span <= s->span && 2 * span >= s->span);
}

bool attention_begin(heed_ctx *cx, struct attention_state *s, const heed_multihead *like, int layers,
                     const struct stepper_begin *b, int64_t span, int64_t window) {
    if (heed_failed(cx)) return false;
    heed_cache_reset(s->self);
    heed_cache_reset(s->cross);
    if (!fits(s, b, span)) {
        attention_end(cx, s);
        s->rows = b->rows, s->span = span;
        s->index = heed_mem_new(cx, (size_t)b->rows * sizeof *s->index);
        s->self = cache_like(cx, like, layers, b->rows, window > 0 ? HEED_CACHE_SLIDING : HEED_CACHE_GROWING,
                             window > 0 ? window : b->room);
        if (span > 0) s->cross = cache_like(cx, like, layers, b->sequences, HEED_CACHE_FIXED, span);
        if (heed_failed(cx)) return attention_end(cx, s), false;
    }
    s->per = 1;
    for (int64_t i = 0; i < b->n; i++) s->index[i] = (int32_t)i;
    return heed_cache_reorder(cx, s->self, s->index, b->n) &&
           (!s->cross || heed_cache_reorder(cx, s->cross, s->index, b->n));
}

bool attention_reorder(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per) {
    struct attention_state *const s = state;
    if (!heed_cache_reorder(cx, s->self, order, n)) return false;
    const int64_t sequences = n / per;
    bool moved = s->cross && sequences != heed_cache_batch(s->cross);
    for (int64_t a = 0; s->cross && a < sequences; a++) {
        s->index[a] = (int32_t)(order[a * per] / s->per);
        moved |= s->index[a] != a;
    }
    s->per = per;
    return !moved || heed_cache_reorder(cx, s->cross, s->index, sequences);
}

bool attention_copy(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows) {
    const struct attention_state *const from = state;
    struct attention_state *const s = to;
    attention_end(cx, s);
    s->rows = rows, s->span = from->span, s->per = 1;
    s->index = heed_mem_new(cx, (size_t)rows * sizeof *s->index);
    s->self = heed_cache_copy(cx, from->self, order, n, rows);
    for (int64_t i = 0; s->index && i < n; i++) s->index[i] = (int32_t)(order[i] / from->per);
    if (from->cross) s->cross = heed_cache_copy(cx, from->cross, s->index, n, rows);
    if (heed_failed(cx)) attention_end(cx, s);
    return !heed_failed(cx);
}

bool attention_rewind(heed_ctx *cx, void *state, int64_t rows) {
    struct attention_state *const s = state;
    for (int64_t i = 0; i < rows; i++) s->index[i] = (int32_t)i;
    heed_cache_reset(s->self);
    return heed_cache_reorder(cx, s->self, s->index, rows);
}

void attention_forget(void *state, int64_t row) { cache_forget(((struct attention_state *)state)->self, row); }

void attention_end(heed_ctx *cx, void *state) {
    struct attention_state *const s = state;
    heed_cache_free(cx, s->self);
    heed_cache_free(cx, s->cross);
    heed_mem_free(cx, s->index);
    *s = (struct attention_state){0};
}

/* ---- rows of different lengths ---- */

bool attention_positions(heed_ctx *cx, const struct attention_state *s, const heed_tensor *ids, const int32_t *counts,
                         int64_t most, int64_t *start, heed_tensor **positions) {
    if (heed_failed(cx) || !ids) return false;
    const int64_t R = ids->shape[0], T = ids->shape[1];
    *start = R > 0 && !counts ? heed_cache_length(s->self, 0, 0) : -1;
    for (int64_t r = 0; r < R; r++) {
        const int64_t held = heed_cache_length(s->self, 0, r), end = held + (counts ? counts[r] : T);
        if (held != *start) *start = -1;
        if (end > most)
            return heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld",
                             (long long)end, (long long)most);
    }
    if (*start >= 0) return true;
    *positions = heed_zeros(cx, HEED_I32, 2, ids->shape);
    if (!*positions || cx->config.dry) return *positions != NULL;
    int32_t *at = (int32_t *)(void *)(*positions)->data;
    for (int64_t r = 0; r < R; r++) {
        const int64_t held = heed_cache_length(s->self, 0, r);
        for (int64_t t = 0; t < T; t++) *at++ = (int32_t)(held + t < most ? held + t : most - 1); /* of padding */
    }
    return true;
}

int64_t attention_longest(const struct attention_state *s, const heed_tensor *ids, const int32_t *counts) {
    int64_t max_length = 0;
    for (int64_t r = 0; ids && r < ids->shape[0]; r++) {
        const int64_t end = heed_cache_length(s->self, 0, r) + (counts ? counts[r] : ids->shape[1]);
        if (end > max_length) max_length = end;
    }
    return max_length;
}

heed_tensor *attention_last(heed_ctx *cx, heed_tensor *x, const int32_t *counts) {
    if (heed_failed(cx) || !x) return NULL;
    const int64_t R = x->shape[0], T = x->shape[1], C = x->shape[2];
    if (!counts || T == 1) {
        if (T > 1) x = heed_slice(cx, x, 1, T - 1, 1);
        return heed_reshape(cx, heed_contiguous(cx, x), 2, (int64_t[]){R, C});
    }
    heed_tensor *const last = heed_zeros(cx, HEED_I32, 1, &R);
    for (int64_t r = 0; last && !cx->config.dry && r < R; r++)
        ((int32_t *)(void *)last->data)[r] = (int32_t)(r * T + (counts[r] > 0 ? counts[r] - 1 : 0));
    return heed_index_select(cx, heed_reshape(cx, x, 2, (int64_t[]){R * T, C}), 0, last);
}
