/* Forward and decoding of encoder-decoders. */
#include "model/encdec/seq2seq.h"
#include "model/core/inputs.h"
#include "tensor/engine.h"
#include <string.h>

/* ---- embeddings and logits ---- */

/* (length,C) from position `start` on; NULL where there are only distances */
static heed_tensor *position_rows(heed_ctx *cx, const struct seq2seq *m, const struct seq2seq_entry *entry,
                                  int64_t start, int64_t length) {
    if (entry->distance) return NULL;
    return entry->positions ? heed_param_rows(cx, entry->positions, SEQ2SEQ_FIRST_POSITION + start, length)
                            : heed_sine_positions(cx, start, length, m->width, true);
}

/* ids (B,T), positions (T,C) or (B,T,C) -> (B,T,C) */
static heed_tensor *embed(heed_ctx *cx, const struct seq2seq *m, const struct seq2seq_entry *entry, heed_tensor *ids,
                          heed_tensor *positions) {
    heed_tensor *x = heed_affine(cx, heed_embedding_run(cx, &entry->tokens, ids), m->scale, 0);
    if (!entry->distance) x = heed_add(cx, x, positions);
    if (entry->norm.weight) x = heed_norm_run(cx, &entry->norm, x);
    return heed_dropout(cx, x, m->dropout);
}

/* ids (B,T), at positions 0, 1, … */
static heed_tensor *embed_all(heed_ctx *cx, const struct seq2seq *m, const struct seq2seq_entry *entry,
                              heed_tensor *ids) {
    if (heed_failed(cx) || !ids) return NULL;
    const int64_t length = heed_dim(ids, -1);
    if (length <= m->max_length) return embed(cx, m, entry, ids, position_rows(cx, m, entry, 0, length));
    heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld", (long long)length,
              (long long)m->max_length);
    return NULL;
}

/* What stacks share of attention to themselves: a mask and, of T5, the bias by distance. The decoder looks back only.
 */
static heed_attention_opts looking(heed_ctx *cx, const struct seq2seq *m, const struct seq2seq_entry *entry,
                                   heed_mask mask, int64_t queries, int64_t keys) {
    heed_attention_opts o = {.mask = mask};
    if (entry->distance && !heed_failed(cx))
        o.distance_bias = heed_t5_bias(cx, heed_param_tensor(cx, entry->distance), queries, keys, 0,
                                       entry == &m->source, m->max_distance);
    return o;
}

/* ids (B,S) -> (B,S,C) */
static heed_tensor *run_encoder(heed_ctx *cx, const struct seq2seq *m, heed_tensor *ids, const heed_mask *seen) {
    if (heed_failed(cx) || !ids) return NULL;
    const int64_t length = heed_dim(ids, -1);
    const heed_attention_opts self = looking(cx, m, &m->source, *seen, length, length);
    heed_tensor *const h = heed_encoder_attend(cx, &m->encoder, embed_all(cx, m, &m->source, ids), &self);
    return heed_dropout(cx, h, m->last_dropout);
}

heed_tensor *seq2seq_encode(heed_ctx *cx, const struct seq2seq *m, const heed_io *in) {
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true);
    const heed_mask seen = input_padding(cx, in, ids);
    return run_encoder(cx, m, ids, &seen);
}

heed_tensor *seq2seq_decode(heed_ctx *cx, const struct seq2seq *m, const heed_io *in, heed_tensor *target,
                            heed_tensor *memory) {
    if (heed_failed(cx) || !target) return NULL;
    const int64_t length = heed_dim(target, -1);
    const heed_mask seen = input_padding(cx, in, heed_io_get(in, "input_ids")),
                    before = heed_mask_both(cx, heed_mask_causal(0), input_decoder_padding(cx, in, target));
    const heed_attention_opts self = looking(cx, m, &m->target, before, length, length);
    heed_tensor *const h =
        heed_decoder_attend(cx, &m->decoder, embed_all(cx, m, &m->target, target), memory, &self, &seen);
    return heed_dropout(cx, h, m->last_dropout);
}

static heed_tensor *bias_of(heed_ctx *cx, const struct seq2seq *m) {
    return m->logits_bias ? heed_reshape(cx, heed_param_tensor(cx, m->logits_bias), 1, &m->target_size) : NULL;
}

static heed_tensor *scaled(heed_ctx *cx, const struct seq2seq *m, heed_tensor *hidden) {
    return m->output_scale != 0 ? heed_affine(cx, hidden, m->output_scale, 0) : hidden;
}

heed_tensor *seq2seq_logits(heed_ctx *cx, const struct seq2seq *m, heed_tensor *hidden) {
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

heed_tensor *seq2seq_shifted(heed_ctx *cx, const struct seq2seq *m, heed_tensor *labels) {
    if (!m->wraps && m->start < 0) {
        heed_fail(cx, HEED_ERR_USAGE, "decoder_input_ids: needed, since decoder_start_token_id is null");
        return NULL;
    }
    labels = heed_contiguous(cx, labels);
    heed_tensor *t = labels ? heed_zeros(cx, HEED_I32, 2, labels->shape) : NULL;
    if (!t || cx->config.dry) return t;
    const int64_t B = labels->shape[0], T = labels->shape[1];
    int32_t *to = (int32_t *)(void *)t->data;
    for (int64_t i = 0; i < B * T; i++) {
        const int32_t before = i % T ? i32_of(labels)[i - 1] : first_of(m, i32_of(labels) + i, T);
        to[i] = before == -100 ? m->pad : before;
    }
    return t;
}

heed_tensor *seq2seq_target(heed_ctx *cx, const struct seq2seq *m, const heed_io *in) {
    heed_tensor *const labels = input_ids(cx, in, "labels", false);
    heed_tensor *target = input_ids(cx, in, "decoder_input_ids", false);
    if (!target && labels) target = seq2seq_shifted(cx, m, labels);
    if (!target && !heed_failed(cx)) heed_fail(cx, HEED_ERR_USAGE, "decoder_input_ids: these or labels are needed");
    return target;
}

bool seq2seq_output(heed_ctx *cx, const struct seq2seq *m, const heed_io *in, const heed_tensor *target,
                    heed_tensor *hidden, heed_io *out) {
    heed_tensor *labels = input_ids(cx, in, "labels", false);
    if (heed_failed(cx)) return false;
    if (labels && !same_shape(labels, target))
        return heed_fail(cx, HEED_ERR_SHAPE, "labels: shape %s is not that of decoder_input_ids, %s",
                         heed_shape_text(labels).s, heed_shape_text(target).s);
    if (labels) labels = heed_contiguous(cx, labels);
    const heed_cross_entropy_opts loss = {
        .smoothing = engine_of(cx)->training ? m->smoothing : 0, .ignore = true, .ignore_index = -100};
    if (in->loss_only && labels)
        return heed_io_put(
            cx, out, "loss",
            heed_linear_cross_entropy(cx, hidden, heed_param_weight(cx, m->output), bias_of(cx, m), labels, &loss));
    heed_tensor *logits = seq2seq_logits(cx, m, hidden);
    if (!heed_io_put(cx, out, "logits", logits)) return false;
    return !labels || heed_io_put(cx, out, "loss", heed_cross_entropy(cx, logits, labels, &loss));
}

bool seq2seq_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct seq2seq *m = own;
    heed_tensor *const target = seq2seq_target(cx, m, in);
    heed_tensor *const hidden = seq2seq_decode(cx, m, in, target, seq2seq_encode(cx, m, in));
    return !heed_failed(cx) && seq2seq_output(cx, m, in, target, scaled(cx, m, hidden), out);
}

bool seq2seq_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct seq2seq *m = own;
    const int64_t shape[] = {batch, length < m->max_length ? length : m->max_length};
    return heed_io_put(cx, in, "input_ids", heed_zeros(cx, HEED_I32, 2, shape)) &&
           heed_io_put(cx, in, "attention_mask", heed_cast(cx, heed_full(cx, 1, 2, shape), HEED_I32)) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, shape));
}

/* ---- decoding ---- keys and values of the target are cached by row; those of the source once for each sentence, whose
 * beams are queries of one cross attention */

struct stepper_sizes seq2seq_sizes(const void *own) {
    const struct seq2seq *m = own;
    return (struct stepper_sizes){m->target_size, m->max_length, m->source_size, m->max_length};
}

int64_t seq2seq_longest(const struct stepper_begin *b) {
    int64_t max_length = 0;
    for (int64_t i = 0; i < b->n; i++)
        if (b->source[i]->count > max_length) max_length = b->source[i]->count;
    return max_length;
}

bool seq2seq_sources(heed_ctx *cx, const struct seq2seq *m, const struct stepper_begin *b, heed_tensor **ids,
                     heed_tensor **lengths) {
    const int64_t n = b->n, max_length = seq2seq_longest(b);
    *ids = heed_zeros(cx, HEED_I32, 2, (int64_t[]){n, max_length});
    *lengths = heed_zeros(cx, HEED_I32, 1, &n);
    if (!*ids || !*lengths) return false;
    int32_t *to = (int32_t *)(void *)(*ids)->data, *length = (int32_t *)(void *)(*lengths)->data;
    for (int64_t i = 0; i < n && !cx->config.dry; i++, to += max_length) {
        memcpy(to, b->source[i]->id, (size_t)b->source[i]->count * sizeof *to);
        for (int64_t t = b->source[i]->count; t < max_length; t++) to[t] = m->pad;
        length[i] = (int32_t)b->source[i]->count;
    }
    return true;
}

/* The sources, padded, through the encoder into the cross cache. */
static bool encode(heed_ctx *cx, const struct seq2seq *m, struct attention_state *state,
                   const struct stepper_begin *b) {
    heed_tensor *ids, *lengths;
    if (!seq2seq_sources(cx, m, b, &ids, &lengths)) return false;
    const heed_mask seen = heed_mask_lengths(lengths, lengths); /* with both, no bit depends on the others' lengths */
    return heed_decoder_remember(cx, &m->decoder, run_encoder(cx, m, ids, &seen), state->cross,
                                 cx->config.dry ? NULL : i32_of(lengths));
}

static bool seq2seq_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    const struct seq2seq *m = own;
    if (!attention_begin(cx, state, &m->decoder.layer[0].self_attn, m->decoder.layers, b, seq2seq_longest(b), 0))
        return false;
    heed_scope_begin(cx);
    const bool good = encode(cx, m, state, b);
    heed_scope_end(cx, NULL);
    return good;
}

static heed_tensor *seq2seq_step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    const struct seq2seq *m = own;
    const struct attention_state *s = state;
    int64_t start;
    heed_tensor *at = NULL;
    if (!attention_positions(cx, s, ids, counts, m->max_length, &start, &at)) return NULL;
    heed_tensor *positions = NULL;
    if (!m->target.distance)
        positions = at ? heed_embedding(cx, position_rows(cx, m, &m->target, 0, m->max_length), at)
                       : position_rows(cx, m, &m->target, start, heed_dim(ids, -1));
    const heed_attention_opts self =
        looking(cx, m, &m->target, heed_mask_none(), attention_longest(s, ids, counts), heed_dim(ids, -1));
    heed_tensor *const x = heed_decoder_step_attend(cx, &m->decoder, embed(cx, m, &m->target, ids, positions), s->self,
                                                    s->cross, counts, &self);
    return seq2seq_logits(cx, m, scaled(cx, m, attention_last(cx, x, counts)));
}

const struct heed_stepper seq2seq_stepper = {
    .encodes = true, ATTENTION_STATE, .sizes = seq2seq_sizes, .begin = seq2seq_begin, .step = seq2seq_step};
