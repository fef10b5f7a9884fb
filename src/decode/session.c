/* Sessions: tokens in, logits out, for loops of one's own and for prompts that are used again. */
#include "decode/session.h"
#include "base/checked.h"
#include "model/core/families.h"
#include "tensor/engine.h"
#include <string.h>

bool session_check(heed_ctx *cx, const heed_session *s, const char *who) {
    if (heed_failed(cx)) return false;
    if (!s) return heed_fail(cx, HEED_ERR_USAGE, "%s: the session is NULL", who);
    if (s->broken) return heed_fail(cx, HEED_ERR_USAGE, "%s: the session is of no use after a failed step", who);
    return true;
}

/* ---- opening and closing ---- */

static heed_session *session_new(heed_ctx *cx, const heed_model *model, const struct heed_stepper *stepper, int64_t n) {
    const struct stepper_sizes sizes = stepper->sizes(model_own(model));
    size_t numbers;
    if (n < 1 || n > INT32_MAX || !size_mul((size_t)n, (size_t)sizes.vocabulary * sizeof(float), &numbers)) {
        heed_fail(cx, HEED_ERR_RANGE, "session: %lld sequences are none, or too many", (long long)n);
        return NULL;
    }
    heed_session *s = heed_mem_new(cx, sizeof *s);
    if (!s) return NULL;
    *s = (heed_session){.model = model, .stepper = stepper, .sizes = sizes, .n = n, .most = n};
    if ((s->ids = heed_mem_new(cx, (size_t)n * sizeof *s->ids))) memset(s->ids, 0, (size_t)n * sizeof *s->ids);
    if ((s->state = heed_mem_new(cx, stepper->size))) memset(s->state, 0, stepper->size);
    s->logits = heed_mem_new(cx, numbers);
    s->counts = heed_mem_new(cx, (size_t)n * sizeof *s->counts);
    if (!heed_failed(cx)) return s;
    heed_session_close(cx, s);
    return NULL;
}

void heed_session_close(heed_ctx *cx, heed_session *s) {
    if (!cx || !s) return;
    for (int64_t i = 0; s->ids && i < s->most; i++) heed_ids_free(cx, &s->ids[i]);
    if (s->state) s->stepper->end(cx, s->state);
    heed_mem_free(cx, s->state);
    heed_mem_free(cx, s->ids);
    heed_mem_free(cx, s->logits);
    heed_mem_free(cx, s->counts);
    heed_mem_free(cx, s);
}

static bool begin(heed_ctx *cx, heed_session *s, const heed_ids *source) {
    const heed_ids **list = heed_mem_new(cx, (size_t)s->n * sizeof *list);
    for (int64_t i = 0; list && source && i < s->n; i++) list[i] = &source[i];
    const int64_t n = s->n, room = s->sizes.positions < 16 ? s->sizes.positions : 16;
    const struct stepper_begin b = {source ? list : NULL, n, n, n, room};
    const struct inference was = inference_begin(cx);
    const bool good = list && s->stepper->begin(cx, model_own(s->model), s->state, &b);
    inference_end(was);
    heed_mem_free(cx, list);
    return good;
}

heed_session *heed_session_open(heed_ctx *cx, const heed_model *model, const heed_ids *source, int64_t n) {
    if (heed_failed(cx)) return NULL;
    if (!model) {
        heed_fail(cx, HEED_ERR_USAGE, "session: the model is NULL");
        return NULL;
    }
    const struct heed_stepper *const stepper = stepper_of(cx, model, "session");
    if (!stepper) return NULL;
    if (stepper->encodes != (source != NULL)) {
        heed_fail(cx, HEED_ERR_USAGE, "session: %s %s", heed_model_family(model)->name,
                  source ? "encodes no sources: append them" : "needs sources to encode");
        return NULL;
    }
    const struct stepper_sizes sizes = stepper->sizes(model_own(model));
    for (int64_t i = 0; source && i < n; i++)
        if (!stepper_check_ids(cx, "session: source", i, &source[i], sizes.source_vocabulary, sizes.source_positions))
            return NULL;
    heed_session *const s = session_new(cx, model, stepper, n);
    if (!s || begin(cx, s, source)) return s;
    heed_session_close(cx, s);
    return NULL;
}

/* ---- tokens ---- */

/* The new tokens, padded: (n,T); those of different number are counted. */
static heed_tensor *padded(heed_ctx *cx, heed_session *s, const heed_ids *tokens, bool *counted) {
    int64_t T = 0;
    for (int64_t i = 0; i < s->n; i++) {
        s->counts[i] = (int32_t)tokens[i].count;
        if (tokens[i].count > T) T = tokens[i].count;
    }
    *counted = false;
    for (int64_t i = 0; i < s->n; i++) *counted |= tokens[i].count != T;
    heed_tensor *const ids = heed_zeros(cx, HEED_I32, 2, (int64_t[]){s->n, T});
    for (int64_t i = 0; ids && !cx->config.dry && i < s->n; i++)
        if (tokens[i].count > 0)
            memcpy((int32_t *)(void *)ids->data + i * T, tokens[i].id, (size_t)tokens[i].count * sizeof(int32_t));
    return ids;
}

/* Is everything decoded anew, without what the cache holds? The new tokens are among s->ids already. */
static bool is_anew(const heed_session *s, const heed_ids *tokens) {
    bool anew = false;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t end = s->ids[i].count;
        anew |= stepper_crosses(s->stepper, model_own(s->model), end - tokens[i].count, end);
    }
    return anew;
}

static bool step(heed_ctx *cx, heed_session *s, const heed_ids *tokens) {
    const int64_t V = s->sizes.vocabulary;
    const bool anew = is_anew(s, tokens);
    bool counted;
    heed_scope_begin(cx);
    if (anew) s->stepper->rewind(cx, s->state, s->n);
    heed_tensor *ids = padded(cx, s, anew ? s->ids : tokens, &counted);
    const heed_tensor *logits =
        ids ? s->stepper->step(cx, model_own(s->model), s->state, ids, counted ? s->counts : NULL) : NULL;
    for (int64_t i = 0; logits && !cx->config.dry && i < s->n; i++)
        if (tokens[i].count > 0)
            memcpy(s->logits + i * V, (const float *)(const void *)logits->data + i * V, (size_t)V * sizeof(float));
    heed_scope_end(cx, NULL);
    return logits != NULL;
}

static bool check_tokens(heed_ctx *cx, const heed_session *s, int64_t i, const heed_ids *tokens) {
    const int64_t held = s->ids[i].count;
    if (tokens->count > s->sizes.positions - held)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "session: sequence %lld of %lld tokens and %lld more: the model has positions for %lld",
                         (long long)i, (long long)held, (long long)tokens->count, (long long)s->sizes.positions);
    return stepper_check_ids(cx, "session: sequence", i, tokens, s->sizes.vocabulary, s->sizes.positions);
}

bool heed_session_append(heed_ctx *cx, heed_session *s, const heed_ids *tokens) {
    if (!session_check(cx, s, "session")) return false;
    if (!tokens) return heed_fail(cx, HEED_ERR_USAGE, "session: the tokens are NULL");
    int64_t all = 0;
    for (int64_t i = 0; i < s->n; all += tokens[i++].count)
        if (tokens[i].count != 0 && !check_tokens(cx, s, i, &tokens[i])) return false;
    if (all == 0) return true;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t t = 0; t < tokens[i].count; t++)
            if (!heed_ids_put(cx, &s->ids[i], tokens[i].id[t])) return s->broken = true, false;
    const struct inference was = inference_begin(cx);
    s->broken = !step(cx, s, tokens);
    inference_end(was);
    return !s->broken;
}

const float *heed_session_logits(const heed_session *s, int64_t sequence) {
    if (!s || sequence < 0 || sequence >= s->n || s->ids[sequence].count == 0) return NULL;
    return s->logits + sequence * s->sizes.vocabulary;
}

int64_t heed_session_vocabulary(const heed_session *s) { return s ? s->sizes.vocabulary : 0; }
int64_t heed_session_count(const heed_session *s) { return s ? s->n : 0; }

heed_ids heed_session_ids(const heed_session *s, int64_t sequence) {
    return s && sequence >= 0 && sequence < s->n ? s->ids[sequence] : (heed_ids){0};
}

/* ---- other sequences ---- */

static bool check_index(heed_ctx *cx, const heed_session *s, const int32_t *index, int64_t n, int64_t most) {
    if (!session_check(cx, s, "session")) return false;
    if (!index || n < 1 || n > most)
        return heed_fail(cx, HEED_ERR_RANGE, "session: %lld sequences are not between 1 and %lld", (long long)n,
                         (long long)most);
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= s->n)
            return heed_fail(cx, HEED_ERR_RANGE, "session: index %d at place %lld is not between 0 and %lld", index[i],
                             (long long)i, (long long)s->n - 1);
    return true;
}

/* Tokens and logits; the state is the stepper's. */
static bool copy_tokens(heed_ctx *cx, const heed_session *from, heed_session *to, const int32_t *index) {
    const size_t row = (size_t)from->sizes.vocabulary;
    for (int64_t i = 0; i < to->n; i++) {
        const heed_ids *ids = &from->ids[index[i]];
        for (int64_t t = 0; t < ids->count; t++)
            if (!heed_ids_put(cx, &to->ids[i], ids->id[t])) return false;
        if (ids->count > 0 && !cx->config.dry)
            memcpy(to->logits + (size_t)i * row, from->logits + (size_t)index[i] * row, row * sizeof(float));
    }
    return true;
}

heed_session *heed_session_fork(heed_ctx *cx, const heed_session *s, const int32_t *index, int64_t n) {
    if (!check_index(cx, s, index, n, INT32_MAX)) return NULL;
    heed_session *const to = session_new(cx, s->model, s->stepper, n);
    if (to && copy_tokens(cx, s, to, index) && s->stepper->copy(cx, s->state, to->state, index, n, n)) return to;
    heed_session_close(cx, to);
    return NULL;
}

bool heed_session_reorder(heed_ctx *cx, heed_session *s, const int32_t *index, int64_t n) {
    if (!check_index(cx, s, index, n, s ? s->most : 0)) return false;
    heed_session *const to = session_new(cx, s->model, s->stepper, s->most);
    if (!to) return false;
    to->n = n;
    const bool copied = copy_tokens(cx, s, to, index);
    if (copied && !(s->broken = !s->stepper->reorder(cx, s->state, index, n, 1))) {
        void *const state = s->state;
        const heed_session old = *s;
        *s = *to, *to = old;
        to->state = s->state, s->state = state; /* which stays in its place */
    }
    heed_session_close(cx, to);
    return copied && !s->broken;
}
