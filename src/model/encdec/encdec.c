/* Building and forward of recurrent encoder-decoders, and the parts that their papers share. */
#include "model/encdec/encdec.h"
#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/parts/forcing.h"
#include "model/parts/packed_tokens.h"
#include "model/parts/parts.h"
#include "tensor/engine.h"
#include <math.h>

/* ---- building ---- */

bool encdec_begin(heed_ctx *cx, heed_json config, heed_params *set, const struct encdec_kind *kind, int layers,
                  struct encdec *m) {
    static const char *const others[] = {"bos_token_id", "eos_token_id", "forced_bos_token_id", "forced_eos_token_id"};
    const int64_t most = (int64_t)1 << 24, tokens = (int64_t)1 << 30;
    const float range = (float)config_number(cx, config, "initializer_range", 0, 1e6);
    const heed_init init = {HEED_INIT_UNIFORM, -range, range};
    struct seq2seq *const b = &m->base;
    m->kind = kind;
    b->source_size = config_int(cx, config, "vocab_size", 1, tokens);
    b->target_size = config_int(cx, config, "decoder_vocab_size", 0, tokens);
    if (b->target_size == 0) b->target_size = b->source_size;
    b->max_length = config_int(cx, config, "max_position_embeddings", 1, tokens);
    b->dropout = (float)config_number(cx, config, "dropout", 0, 1);
    b->smoothing = (float)config_number(cx, config, "label_smoothing", 0, 1);
    b->pad = config_token(cx, config, "pad_token_id", b->source_size);
    b->start = config_token(cx, config, "decoder_start_token_id", b->target_size);
    for (int i = 0; i < 4; i++) config_token(cx, config, others[i], b->target_size);
    m->reverse = heed_json_bool(cx, config, "reverse_source");
    m->embedding = config_int(cx, config, "embedding_size", 1, most);
    m->units = config_int(cx, config, "hidden_size", 1, most);
    m->layers = layers > 0 ? layers : (int)config_int(cx, config, "num_layers", 1, MAX_LAYERS);
    if (heed_failed(cx) ||
        !part_embedding(cx, set, "encoder", "embedding", b->source_size, m->embedding, init, &b->source.tokens) ||
        !part_embedding(cx, set, "decoder", "embedding", b->target_size, m->embedding, init, &b->target.tokens))
        return false;
    b->source.tokens.padding = b->pad; /* the target's often is its start token, which is learnt */
    return true;
}

bool encdec_networks(heed_ctx *cx, heed_params *set, heed_cell_kind cell, bool bidirectional, int64_t inputs,
                     struct encdec *m) {
    heed_rnn_opts o = {.kind = cell,
                       .inputs = m->embedding,
                       .units = m->units,
                       .layers = m->layers,
                       .bias = true,
                       .bidirectional = bidirectional,
                       .dropout = m->base.dropout,
                       .forget_bias = 1}; /* what was read first must reach the decoder */
    if (!heed_rnn_make(cx, set, "encoder.rnn", &o, &m->encoder)) return false;
    o.bidirectional = false;
    o.inputs = inputs;
    return heed_rnn_make(cx, set, "decoder.rnn", &o, &m->decoder);
}

bool encdec_output(heed_ctx *cx, heed_params *set, int64_t inputs, struct encdec *m) {
    heed_linear_layer output;
    if (!heed_linear_make(cx, set, "output", inputs, m->base.target_size, true, &output)) return false;
    m->base.output = output.weight;
    m->base.logits_bias = output.bias;
    return true;
}

/* ---- the output of Cho et al. and Bahdanau et al. ---- */

bool encdec_readout(heed_ctx *cx, heed_json config, heed_params *set, struct encdec *m, struct encdec_readout *r) {
    const int64_t units = config_int(cx, config, "maxout_size", 0, (int64_t)1 << 24),
                  inputs = m->units + m->embedding + m->memory_width;
    if (heed_failed(cx)) return false;
    if (units == 0) return encdec_output(cx, set, inputs, m);
    return heed_linear_make(cx, set, "readout", inputs, 2 * units, true, &r->layer) && encdec_output(cx, set, units, m);
}

heed_tensor *encdec_read(heed_ctx *cx, const struct encdec_readout *r, heed_tensor *state, heed_tensor *y,
                         heed_tensor *context) {
    heed_tensor *const all = heed_concat(cx, (heed_tensor *[]){state, y, context}, 3, 2);
    if (!all || !r->layer.weight) return all;
    const int64_t R = all->shape[0], T = all->shape[1], units = r->layer.weight->shape[0] / 2;
    heed_tensor *const pairs = heed_linear_run(cx, &r->layer, all, HEED_ACT_NONE);
    return heed_max(cx, heed_reshape(cx, pairs, 4, (int64_t[]){R, T, units, 2}), (int[]){3}, 1, false);
}

/* ---- attention ---- */

bool encdec_alignment(heed_ctx *cx, heed_params *set, int64_t query, int64_t key, int64_t units,
                      struct encdec_alignment *a) {
    return heed_linear_make(cx, set, "alignment.query", query, units, false, &a->query) &&
           heed_linear_make(cx, set, "alignment.key", key, units, false, &a->key) &&
           heed_linear_make(cx, set, "alignment.energy", units, 1, false, &a->energy);
}

heed_tensor *encdec_by_source(heed_ctx *cx, const struct encdec_source *source, heed_tensor *q) {
    if (!q) return NULL;
    const int64_t B = source->memory->shape[0], *n = q->shape;
    return heed_reshape(cx, q, 3, (int64_t[]){B, n[0] / B * n[1], n[2]});
}

heed_tensor *encdec_by_row(heed_ctx *cx, heed_tensor *x, int64_t rows) {
    if (!x) return NULL;
    const int64_t *n = x->shape;
    return heed_reshape(cx, x, 3, (int64_t[]){rows, n[0] * n[1] / rows, n[2]});
}

heed_tensor *encdec_additive(heed_ctx *cx, const struct encdec_alignment *a, const struct encdec_source *source,
                             heed_tensor *q) {
    const int64_t units = a->query.weight->shape[0];
    const heed_score_opts score = {.kind = HEED_SCORE_ADDITIVE,
                                   .w = heed_reshape(cx, heed_param_tensor(cx, a->energy.weight), 1, &units)};
    q = encdec_by_source(cx, source, heed_linear_run(cx, &a->query, q, HEED_ACT_NONE));
    return heed_scores(cx, q, source->keys, &score);
}

heed_tensor *encdec_weights(heed_ctx *cx, const struct encdec_source *source, heed_tensor *scores) {
    if (source->hidden) scores = heed_add(cx, scores, source->hidden);
    return heed_softmax(cx, scores, -1);
}

heed_tensor *encdec_context(heed_ctx *cx, const struct encdec_source *source, heed_tensor *weights, int64_t row,
                            int64_t rows) {
    if (!weights || !heed_capture_weights(cx, "cross", 0, row, weights)) return NULL;
    return encdec_by_row(cx, heed_matmul(cx, weights, source->memory), rows);
}

/* ---- rows ---- */

heed_tensor *encdec_in_order(heed_ctx *cx, const struct encdec_source *source, heed_tensor *h) {
    return packed_order(cx, h, source->order);
}

struct encdec_steps encdec_first(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source,
                                 int64_t rows) {
    struct encdec_steps s = {.state = source->first};
    if (m->fed_width > 0) s.fed = heed_zeros(cx, HEED_F32, 3, (int64_t[]){1, rows, m->fed_width});
    if (m->counts_steps) s.place = heed_zeros(cx, HEED_F32, 3, (int64_t[]){1, rows, 1});
    return s;
}

heed_tensor *encdec_goes_on(heed_ctx *cx, const struct encdec_steps *steps, int64_t t) {
    if (!steps->counts) return NULL;
    heed_tensor *const on = heed_zeros(cx, HEED_I32, 1, steps->counts->shape);
    for (int64_t r = 0; on && !cx->config.dry && r < on->count; r++)
        ((int32_t *)(void *)on->data)[r] = t < i32_of(steps->counts)[r];
    return on;
}

/* ---- the source ---- */

/* The tokens of each row backwards, and where they went. */
static heed_tensor *reversed(heed_ctx *cx, heed_tensor *ids, struct encdec_source *source) {
    const int64_t B = ids->shape[0], S = ids->shape[1], all = B * S;
    if (all > INT32_MAX) {
        heed_fail(cx, HEED_ERR_RANGE, "input_ids: shape %s has too many tokens", heed_shape_text(ids).s);
        return NULL;
    }
    heed_tensor *const to = heed_zeros(cx, HEED_I32, 2, ids->shape);
    source->order = heed_zeros(cx, HEED_I32, 1, &all);
    ids = heed_contiguous(cx, ids);
    if (heed_failed(cx) || cx->config.dry) return to;
    for (int64_t i = 0; i < all; i++) {
        const int64_t row = i / S, at = i % S, n = source->lengths ? i32_of(source->lengths)[row] : S;
        const int64_t from = at < n ? row * S + n - 1 - at : i;
        ((int32_t *)(void *)to->data)[i] = i32_of(ids)[from];
        ((int32_t *)(void *)source->order->data)[i] = (int32_t)from;
    }
    return to;
}

bool encdec_encode(heed_ctx *cx, const struct encdec *m, heed_tensor *ids, heed_tensor *lengths,
                   struct encdec_source *source) {
    *source = (struct encdec_source){.lengths = lengths};
    if (heed_failed(cx) || !ids) return false;
    const int64_t B = ids->shape[0], S = ids->shape[1];
    source->sizes = heed_full(cx, (float)S, 3, (int64_t[]){B, 1, 1});
    if (lengths) source->hidden = heed_zeros(cx, HEED_F32, 3, (int64_t[]){B, 1, S});
    if (m->reverse) ids = reversed(cx, ids, source);
    if (heed_failed(cx)) return false;
    for (int64_t b = 0; lengths && !cx->config.dry && b < B; b++) {
        const int64_t n = i32_of(lengths)[b];
        ((float *)(void *)source->sizes->data)[b] = (float)n;
        for (int64_t s = n; s < S; s++) ((float *)(void *)source->hidden->data)[b * S + s] = -INFINITY;
    }
    heed_tensor *const x = heed_dropout(cx, heed_embedding_run(cx, &m->base.source.tokens, ids), m->base.dropout);
    return m->kind->encode(cx, m, x, source);
}

heed_tensor *encdec_decode(heed_ctx *cx, const struct encdec *m, const struct encdec_source *source,
                           heed_tensor *target, struct encdec_steps *steps) {
    if (heed_failed(cx) || !target) return NULL;
    heed_tensor *const y = heed_dropout(cx, heed_embedding_run(cx, &m->base.target.tokens, target), m->base.dropout);
    return heed_dropout(cx, m->kind->decode(cx, m, source, y, steps), m->base.dropout);
}

/* ---- forward ---- teacher forcing: the decoder is given the target itself, unless teacher_forcing says where not */

static bool check_length(heed_ctx *cx, const struct encdec *m, const heed_tensor *ids) {
    if (heed_failed(cx) || !ids) return false;
    return ids->shape[1] <= m->base.max_length ||
           heed_fail(cx, HEED_ERR_RANGE, "a sequence of %lld tokens: the model has positions for %lld",
                     (long long)ids->shape[1], (long long)m->base.max_length);
}

struct decoding {
    const struct encdec *m;
    const struct encdec_source *source;
    struct encdec_steps steps;
};

static heed_tensor *decode_on(heed_ctx *cx, void *own, heed_tensor *ids) {
    struct decoding *const d = own;
    const struct seq2seq *const b = &d->m->base;
    heed_tensor *const h = encdec_decode(cx, d->m, d->source, ids, &d->steps);
    return forcing_best(cx, h, heed_param_weight(cx, b->output), heed_param_tensor(cx, b->logits_bias));
}

bool encdec_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct encdec *m = own;
    struct packed_tokens t;
    struct encdec_source source;
    heed_tensor *target = seq2seq_target(cx, &m->base, in);
    if (!packed_find(cx, in, &t) || !check_length(cx, m, t.ids) || !check_length(cx, m, target)) return false;
    if (target->shape[0] != t.ids->shape[0])
        return heed_fail(cx, HEED_ERR_SHAPE, "decoder_input_ids: %lld rows, not those of input_ids, %lld",
                         (long long)target->shape[0], (long long)t.ids->shape[0]);
    if (target->shape[1] < 1 || t.ids->shape[1] < 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "sequences without a token: input_ids of shape %s, targets of shape %s",
                         heed_shape_text(t.ids).s, heed_shape_text(target).s);
    if (!encdec_encode(cx, m, t.ids, t.lengths, &source)) return false;
    struct encdec_steps steps = encdec_first(cx, m, &source, target->shape[0]);
    struct decoding d = {m, &source, steps};
    target = forcing_tokens(cx, decode_on, &d, target, input_like(cx, in, "teacher_forcing", target));
    return seq2seq_output(cx, &m->base, in, target, encdec_decode(cx, m, &source, target, &steps), out);
}
