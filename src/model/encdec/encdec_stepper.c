/* Decoding with recurrent encoder-decoders. A row has its states; what was encoded is kept once for each sentence,
 * whose beams are queries of one memory. */
#include "model/encdec/encdec.h"
#include "model/parts/recurrent_state.h"
#include "tensor/engine.h"
#include <string.h>

struct encdec_state {
    struct recurrent_state row; /* h of all layers, c of an LSTM, what is fed, the number of the step */
    /* where the decoder starts, as a row has it; the length; hidden, memory and keys */
    struct recurrent_state sentence;
    int64_t sentences, per, span;
    int32_t *index; /* for reorder */
};

static int64_t states_of(const struct encdec *m) { return m->layers * m->units; }
static bool has_cells(const struct encdec *m) { return m->decoder.opts.kind == HEED_LSTM; }
static int64_t fed_at(const struct encdec *m) { return states_of(m) * (has_cells(m) ? 2 : 1); }
static int64_t place_at(const struct encdec *m) { return fed_at(m) + m->fed_width; }
static int64_t row_width(const struct encdec *m) { return place_at(m) + m->counts_steps; }
static int64_t memory_steps(const struct encdec *m, int64_t span) { return m->kind->one_context ? 1 : span; }

/* ---- between rows and tensors ---- */

static bool put_row(heed_ctx *cx, const struct encdec *m, struct recurrent_state *to, const struct encdec_steps *s) {
    const int64_t n = states_of(m);
    if (!recurrent_put(cx, to, 0, s->state.h)) return false;
    if (has_cells(m) && !recurrent_put(cx, to, n, s->state.c)) return false;
    if (m->fed_width > 0 && !recurrent_put(cx, to, fed_at(m), s->fed)) return false;
    return !m->counts_steps || recurrent_put(cx, to, place_at(m), s->place);
}

static struct encdec_steps get_row(heed_ctx *cx, const struct encdec *m, const struct recurrent_state *from,
                                   int64_t rows) {
    const int64_t n = states_of(m);
    struct encdec_steps s = {.state.h = recurrent_get(cx, from, 0, m->layers, rows, m->units)};
    if (has_cells(m)) s.state.c = recurrent_get(cx, from, n, m->layers, rows, m->units);
    if (m->fed_width > 0) s.fed = recurrent_get(cx, from, fed_at(m), 1, rows, m->fed_width);
    if (m->counts_steps) s.place = recurrent_get(cx, from, place_at(m), 1, rows, 1);
    return s;
}

/* (B,S,C) or NULL, from number *at of each sentence on, which goes on */
static bool put_sentence(heed_ctx *cx, struct encdec_state *s, int64_t *at, int64_t steps, int64_t width,
                         heed_tensor *t) {
    if (width == 0) return true;
    heed_tensor *const flat =
        t ? heed_reshape(cx, heed_contiguous(cx, t), 3, (int64_t[]){1, s->sentences, steps * width}) : NULL;
    const bool good = flat && recurrent_put(cx, &s->sentence, *at, flat);
    *at += steps * width;
    return good;
}

static heed_tensor *get_sentence(heed_ctx *cx, const struct encdec_state *s, int64_t *at, int64_t steps,
                                 int64_t width) {
    if (width == 0) return NULL;
    heed_tensor *const flat = recurrent_get(cx, &s->sentence, *at, 1, s->sentences, steps * width);
    *at += steps * width;
    return heed_reshape(cx, flat, 3, (int64_t[]){s->sentences, steps, width});
}

static struct encdec_source get_source(heed_ctx *cx, const struct encdec *m, const struct encdec_state *s) {
    int64_t at = row_width(m);
    struct encdec_source from = {0};
    from.sizes = get_sentence(cx, s, &at, 1, 1);
    from.hidden = get_sentence(cx, s, &at, 1, s->span);
    from.memory = get_sentence(cx, s, &at, memory_steps(m, s->span), m->memory_width);
    from.keys = get_sentence(cx, s, &at, s->span, m->keys_width);
    return from;
}

/* ---- the stepper ---- */

static bool rewind_rows(heed_ctx *cx, void *state, int64_t rows) {
    struct encdec_state *const s = state;
    if (heed_failed(cx)) return false;
    for (int64_t i = 0; i < rows; i++)
        memcpy(s->row.now + i * s->row.width, s->sentence.now + i * s->sentence.width,
               (size_t)s->row.width * sizeof(float));
    s->per = 1;
    return true;
}

static void end(heed_ctx *cx, void *state) {
    struct encdec_state *const s = state;
    recurrent_end(cx, &s->row);
    recurrent_end(cx, &s->sentence);
    heed_mem_free(cx, s->index);
    *s = (struct encdec_state){0};
}

static bool take_room(heed_ctx *cx, struct encdec_state *s, int64_t rows, int64_t row, int64_t sentences,
                      int64_t sentence) {
    if (!recurrent_room(cx, &s->row, rows, row) || !recurrent_room(cx, &s->sentence, sentences, sentence)) return false;
    heed_mem_free(cx, s->index);
    s->index = heed_mem_new(cx, (size_t)rows * sizeof *s->index);
    return s->index != NULL;
}

static bool encode(heed_ctx *cx, const struct encdec *m, struct encdec_state *s, const struct stepper_begin *b) {
    struct encdec_source from;
    heed_tensor *ids, *lengths;
    if (!seq2seq_sources(cx, &m->base, b, &ids, &lengths) || !encdec_encode(cx, m, ids, lengths, &from)) return false;
    const struct encdec_steps first = encdec_first(cx, m, &from, b->n);
    int64_t at = row_width(m);
    return put_row(cx, m, &s->sentence, &first) && put_sentence(cx, s, &at, 1, 1, from.sizes) &&
           put_sentence(cx, s, &at, 1, s->span, from.hidden) &&
           put_sentence(cx, s, &at, memory_steps(m, s->span), m->memory_width, from.memory) &&
           put_sentence(cx, s, &at, s->span, m->keys_width, from.keys);
}

static bool begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    const struct encdec *m = own;
    struct encdec_state *const s = state;
    const int64_t span = seq2seq_longest(b), row = row_width(m);
    const int64_t width = row + 1 + span + memory_steps(m, span) * m->memory_width + span * m->keys_width;
    if (heed_failed(cx) || !take_room(cx, s, b->rows, row, b->sequences, width)) return false;
    s->span = span, s->sentences = b->n;
    heed_scope_begin(cx);
    const bool good = encode(cx, m, s, b);
    heed_scope_end(cx, NULL);
    return good && rewind_rows(cx, s, b->n);
}

static heed_tensor *step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    const struct encdec *m = own;
    struct encdec_state *const s = state;
    if (heed_failed(cx) || !ids) return NULL;
    const int64_t R = ids->shape[0];
    const struct encdec_source source = get_source(cx, m, s);
    struct encdec_steps steps = get_row(cx, m, &s->row, R);
    if (counts) steps.counts = heed_from_i32(cx, counts, 1, &R);
    heed_tensor *const read = encdec_decode(cx, m, &source, ids, &steps);
    if (!read || !put_row(cx, m, &s->row, &steps)) return NULL;
    return seq2seq_logits(cx, &m->base, attention_last(cx, read, counts));
}

static bool reorder(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per) {
    struct encdec_state *const s = state;
    if (!recurrent_reorder(cx, &s->row, order, n, per)) return false;
    const int64_t sentences = n / per;
    bool moved = sentences != s->sentences;
    for (int64_t a = 0; a < sentences; a++) {
        s->index[a] = (int32_t)(order[a * per] / s->per);
        moved |= s->index[a] != a;
    }
    s->per = per;
    s->sentences = sentences;
    return !moved || recurrent_reorder(cx, &s->sentence, s->index, sentences, 1);
}

static bool copy(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows) {
    const struct encdec_state *const from = state;
    struct encdec_state *const s = to;
    end(cx, s);
    if (heed_failed(cx) || !take_room(cx, s, rows, from->row.width, rows, from->sentence.width))
        return end(cx, s), false;
    s->span = from->span, s->sentences = n, s->per = 1;
    for (int64_t i = 0; i < n; i++) s->index[i] = (int32_t)(order[i] / from->per);
    if (recurrent_copy(cx, &from->row, &s->row, order, n, rows) &&
        recurrent_copy(cx, &from->sentence, &s->sentence, s->index, n, rows))
        return true;
    return end(cx, s), false;
}

const struct heed_stepper encdec_stepper = {.encodes = true,
                                            .size = sizeof(struct encdec_state),
                                            .sizes = seq2seq_sizes,
                                            .begin = begin,
                                            .step = step,
                                            .reorder = reorder,
                                            .copy = copy,
                                            .rewind = rewind_rows,
                                            .end = end};
