/* Forward and decoding of encoder-decoders. */
#include "model/seq2seq.h"
#include "model/inputs.h"
#include "tensor/engine.h"
#include <string.h>

/* ---- embeddings and logits ---- */

/* (length,C) from position `start` on */
static heed_tensor *position_rows(heed_ctx *cx, const struct seq2seq *m, const struct seq2seq_entry *entry,
                                  int64_t start, int64_t length) {
    return entry->positions ? heed_param_rows(cx, entry->positions, SEQ2SEQ_FIRST_POSITION + start, length)
                            : heed_sine_positions(cx, start, length, m->width, true);
}

/* ids (B,T), positions (T,C) or (B,T,C) -> (B,T,C) */
static heed_tensor *embed(heed_ctx *cx, const struct seq2seq *m, const struct seq2seq_entry *entry, heed_tensor *ids,
                          heed_tensor *positions) {
    heed_tensor *x = heed_affine(cx, heed_embedding_run(cx, &entry->tokens, ids), m->scale, 0);
    x = heed_add(cx, x, positions);
    if (entry->norm.weight) x = heed_norm_run(cx, &entry->norm, x);
    return heed_dropout(cx, x, m->dropout);
}

/* ids (B,T), at positions 0, 1, … */
static heed_tensor *embed_all(heed_ctx *cx, const struct seq2seq *m, const struct seq2seq_entry *entry,
                              heed_tensor *ids) {
    if (heed_failed(cx) || !ids) return NULL;
    const int64_t length = heed_dim(ids, -1);
    if (length <= m->longest) return embed(cx, m, entry, ids, position_rows(cx, m, entry, 0, length));
    heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld", (long long)length,
              (long long)m->longest);
    return NULL;
}

static heed_tensor *bias_of(heed_ctx *cx, const struct seq2seq *m) {
    return m->logits_bias ? heed_reshape(cx, heed_param_tensor(cx, m->logits_bias), 1, &m->target_size) : NULL;
}

static heed_tensor *logits_of(heed_ctx *cx, const struct seq2seq *m, heed_tensor *hidden) {
    return heed_linear(cx, hidden, heed_param_weight(cx, m->output), bias_of(cx, m));
}

/* ---- inputs ---- */

/* The first token of the shifted labels: the start token, or for mBART the last token before the padding. */
static int32_t first_of(const struct seq2seq *m, const int32_t *labels, int64_t T) {
    if (!m->wraps) return m->start;
    int64_t tokens = 0;
    for (int64_t t = 0; t < T; t++) tokens += labels[t] != -100 && labels[t] != m->pad;
    return tokens > 0 ? labels[tokens - 1] : m->pad;
}

/* The labels one place on; what does not count becomes padding. */
static heed_tensor *shifted(heed_ctx *cx, const struct seq2seq *m, const heed_tensor *labels) {
    if (!m->wraps && m->start < 0) {
        heed_fail(cx, HEED_ERR_USAGE, "decoder_input_ids: needed, since decoder_start_token_id is null");
        return NULL;
    }
    heed_tensor *t = heed_zeros(cx, HEED_I32, 2, labels->shape);
    if (!t || cx->config.dry) return t;
    const int64_t B = labels->shape[0], T = labels->shape[1];
    int32_t *to = (int32_t *)(void *)t->data;
    for (int64_t i = 0; i < B * T; i++) {
        const int32_t before = i % T ? i32_of(labels)[i - 1] : first_of(m, i32_of(labels) + i, T);
        to[i] = before == -100 ? m->pad : before;
    }
    return t;
}

bool seq2seq_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct seq2seq *m = own;
    heed_tensor *source = input_ids(cx, in, "input_ids", true), *labels = input_ids(cx, in, "labels", false);
    heed_tensor *target = input_ids(cx, in, "decoder_input_ids", false);
    if (labels) labels = heed_contiguous(cx, labels);
    if (!target && labels) target = shifted(cx, m, labels);
    if (!target && !heed_failed(cx)) heed_fail(cx, HEED_ERR_USAGE, "decoder_input_ids: these or labels are needed");
    const heed_mask seen = input_padding(cx, in, source), causal = heed_mask_causal(0);
    heed_tensor *memory = heed_encoder_run(cx, &m->encoder, embed_all(cx, m, &m->source, source), &seen);
    heed_tensor *hidden =
        heed_decoder_run(cx, &m->decoder, embed_all(cx, m, &m->target, target), memory, &causal, &seen);
    if (heed_failed(cx)) return false;
    if (labels && !same_shape(labels, target))
        return heed_fail(cx, HEED_ERR_SHAPE, "labels: shape %s is not that of decoder_input_ids, %s",
                         heed_shape_text(labels).s, heed_shape_text(target).s);
    const heed_cross_entropy_opts loss = {
        .smoothing = engine_of(cx)->training ? m->smoothing : 0, .ignore = true, .ignore_index = -100};
    if (in->loss_only && labels)
        return heed_io_put(
            cx, out, "loss",
            heed_linear_cross_entropy(cx, hidden, heed_param_weight(cx, m->output), bias_of(cx, m), labels, &loss));
    heed_tensor *logits = logits_of(cx, m, hidden);
    if (!heed_io_put(cx, out, "logits", logits)) return false;
    return !labels || heed_io_put(cx, out, "loss", heed_cross_entropy(cx, logits, labels, &loss));
}

bool seq2seq_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct seq2seq *m = own;
    const int64_t shape[] = {batch, length < m->longest ? length : m->longest};
    return heed_io_put(cx, in, "input_ids", heed_zeros(cx, HEED_I32, 2, shape)) &&
           heed_io_put(cx, in, "attention_mask", heed_cast(cx, heed_full(cx, 1, 2, shape), HEED_I32)) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, shape));
}

/* ---- decoding ---- keys and values of the target are cached by row; those of the source once for each sentence, whose
 * beams are queries of one cross attention */

static struct stepper_sizes seq2seq_sizes(const void *own) {
    const struct seq2seq *m = own;
    return (struct stepper_sizes){m->target_size, m->longest, m->source_size, m->longest};
}

/* The sources, padded, through the encoder into the cross cache. */
static bool encode(heed_ctx *cx, const struct seq2seq *m, struct attention_state *state, const heed_ids *const *source,
                   int64_t n, int64_t longest) {
    heed_tensor *ids = heed_zeros(cx, HEED_I32, 2, (int64_t[]){n, longest}), *lengths = heed_zeros(cx, HEED_I32, 1, &n);
    if (!ids || !lengths) return false;
    int32_t *to = (int32_t *)(void *)ids->data, *length = (int32_t *)(void *)lengths->data;
    for (int64_t i = 0; i < n && !cx->config.dry; i++, to += longest) {
        memcpy(to, source[i]->id, (size_t)source[i]->count * sizeof *to);
        for (int64_t t = source[i]->count; t < longest; t++) to[t] = m->pad;
        length[i] = (int32_t)source[i]->count;
    }
    const heed_mask seen = heed_mask_lengths(lengths, lengths); /* with both, no bit depends on the others' lengths */
    heed_tensor *memory = heed_encoder_run(cx, &m->encoder, embed_all(cx, m, &m->source, ids), &seen);
    return heed_decoder_remember(cx, &m->decoder, memory, state->cross, cx->config.dry ? NULL : length);
}

static bool seq2seq_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    const struct seq2seq *m = own;
    int64_t longest = 0;
    for (int64_t i = 0; i < b->n; i++)
        if (b->source[i]->count > longest) longest = b->source[i]->count;
    if (!attention_begin(cx, state, &m->decoder.layer[0].self_attn, m->decoder.layers, b, longest)) return false;
    heed_scope_begin(cx);
    const bool good = encode(cx, m, state, b->source, b->n, longest);
    heed_scope_end(cx, NULL);
    return good;
}

static heed_tensor *seq2seq_step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    const struct seq2seq *m = own;
    const struct attention_state *s = state;
    int64_t start;
    heed_tensor *at = NULL;
    if (!attention_positions(cx, s, ids, counts, m->longest, &start, &at)) return NULL;
    heed_tensor *const positions = at ? heed_embedding(cx, position_rows(cx, m, &m->target, 0, m->longest), at)
                                      : position_rows(cx, m, &m->target, start, heed_dim(ids, -1));
    heed_tensor *const x = embed(cx, m, &m->target, ids, positions);
    return logits_of(cx, m,
                     attention_last(cx, heed_decoder_step(cx, &m->decoder, x, s->self, s->cross, counts), counts));
}

const struct heed_stepper seq2seq_stepper = {
    .encodes = true, ATTENTION_STATE, .sizes = seq2seq_sizes, .begin = seq2seq_begin, .step = seq2seq_step};
