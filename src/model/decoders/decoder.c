/* Decoders alone: the body, the heads and decoding. */
#include "model/decoders/decoder.h"
#include "tensor/engine.h"

/* ---- the body ---- */

static heed_tensor *embed(heed_ctx *cx, const struct decoder *m, heed_tensor *ids) {
    heed_tensor *const x = heed_embedding_run(cx, &m->word, ids);
    return heed_dropout(cx, m->scale != 0 ? heed_affine(cx, x, m->scale, 0) : x, m->dropout);
}

/* -> h (B,T,C) */
static heed_tensor *run_body(heed_ctx *cx, const struct decoder *m, const heed_io *in) {
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true);
    heed_tensor *const positions = input_like(cx, in, "position_ids", ids);
    if (heed_failed(cx)) return NULL;
    const int64_t T = ids->shape[1], end = positions ? rope_end(cx, positions) : T;
    const heed_rotary_opts rotary = {.angles = rope_angles(cx, &m->rope, 0, T, positions, end)};
    const heed_attention_opts o = {.mask = input_causal(cx, in, ids), .rotary = rotary.angles ? &rotary : NULL};
    return heed_encoder_attend(cx, &m->stack, embed(cx, m, ids), &o);
}

/* ---- bare ---- */

static bool make_body(heed_ctx *cx, const heed_build *b, struct decoder *m) {
    const struct decoder_kind *const kind = b->family->kind;
    return kind->make(cx, b, b->head->bare ? "" : b->family->base, m);
}

bool decoder_build_bare(heed_ctx *cx, const heed_build *b, void *own) { return make_body(cx, b, own); }

bool decoder_run_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    heed_tensor *const h = run_body(cx, own, in);
    return h && heed_io_put(cx, out, "last_hidden_state", h);
}

bool decoder_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const int64_t max_length = rope_longest(&((const struct decoder *)own)->rope);
    return input_sample(cx, batch, length < max_length ? length : max_length, in);
}

/* ---- the language model ---- */

bool decoder_build_lm(heed_ctx *cx, const heed_build *b, void *own) {
    const struct decoder_kind *const kind = b->family->kind;
    heed_params *const set = b->params;
    struct decoder *m = own;
    if (!make_body(cx, b, m)) return false;
    if (heed_json_bool(cx, b->config, "tie_word_embeddings"))
        m->output = heed_param_tie_loosely(cx, set, kind->output, "weight", m->word.weight, true, m->init);
    else
        m->output = heed_param_add(cx, set, kind->output, "weight", 2, m->word.weight->shape, m->init);
    if (kind->alias) heed_param_tie(cx, set, kind->alias, "weight", m->output);
    return !heed_failed(cx);
}

/* Logits of h, below the cap where there is one. */
static heed_tensor *logits_of(heed_ctx *cx, const struct decoder *m, heed_tensor *h) {
    heed_tensor *const x = heed_linear(cx, h, heed_param_weight(cx, m->output), NULL);
    return m->cap == 0 ? x : heed_affine(cx, heed_tanh(cx, heed_affine(cx, x, 1 / m->cap, 0)), m->cap, 0);
}

bool decoder_run_lm(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct decoder *m = own;
    heed_tensor *const h = run_body(cx, m, in), *labels = input_next(cx, in, heed_io_get(in, "input_ids"));
    return m->cap == 0 ? head_tokens(cx, in, h, heed_param_weight(cx, m->output), NULL, labels, out)
                       : head_logits(cx, logits_of(cx, m, h), labels, out);
}

bool decoder_sample_lm(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return decoder_sample_bare(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, heed_shape(heed_io_get(in, "input_ids"))));
}

/* ---- classification ---- */

bool decoder_build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    struct decoder *m = own;
    m->problem = config_problem(cx, b->config);
    const int64_t labels = config_labels(cx, b->config);
    return make_body(cx, b, m) && part_linear(cx, b->params, "", "score", m->width, labels, false, m->init, &m->score);
}

bool decoder_run_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct decoder *m = own;
    heed_tensor *const last = head_last(cx, run_body(cx, m, in), heed_io_get(in, "input_ids"), m->padding);
    return head_classify(cx, m->problem, in, heed_linear_run(cx, &m->score, last, HEED_ACT_NONE), out);
}

bool decoder_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct decoder *m = own;
    return decoder_sample_bare(cx, own, batch, length, in) &&
           head_sample_labels(cx, m->problem, batch, m->score.weight->shape[0], in);
}

/* ---- decoding ---- */

static struct stepper_sizes lm_sizes(const void *own) {
    const struct decoder *m = own;
    return (struct stepper_sizes){.vocabulary = m->output->shape[0], .positions = rope_longest(&m->rope)};
}

static int64_t lm_border(const void *own) { return ((const struct decoder *)own)->rope.border; }

static bool lm_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    const struct decoder *m = own;
    if (m->stack.layers < 1) return heed_fail(cx, HEED_ERR_USAGE, "a model without layers cannot decode");
    return attention_begin(cx, state, &m->stack.layer[0].self_attn, m->stack.layers, b, 0, 0);
}

/* Angles of ids (R,T). Scalings that depend on the length go by each row's own, whoever it is decoded with. */
static heed_tensor *step_angles(heed_ctx *cx, const struct decoder *m, const struct attention_state *s,
                                const heed_tensor *ids, const int32_t *counts) {
    const int64_t R = ids->shape[0], T = ids->shape[1];
    int64_t start;
    heed_tensor *at = NULL;
    if (!attention_positions(cx, s, ids, counts, rope_longest(&m->rope), &start, &at)) return NULL;
    if (start >= 0 || !rope_grows(&m->rope)) return rope_angles(cx, &m->rope, start, T, at, start + T);
    heed_tensor **const rows = heed_mem_new(cx, (size_t)R * sizeof *rows);
    for (int64_t r = 0; rows && r < R; r++) {
        const int64_t held = heed_cache_length(s->self, 0, r);
        rows[r] = rope_angles(cx, &m->rope, held, T, NULL, held + (counts ? counts[r] : T));
    }
    heed_tensor *const all = rows && m->rope.pairs > 0 ? heed_stack(cx, rows, (int)R, 0) : NULL;
    heed_mem_free(cx, rows);
    return all;
}

static heed_tensor *lm_step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    const struct decoder *m = own;
    const struct attention_state *s = state;
    if (heed_failed(cx) || !ids) return NULL;
    const heed_rotary_opts rotary = {.angles = step_angles(cx, m, s, ids, counts)};
    const heed_attention_opts o = {.rotary = rotary.angles ? &rotary : NULL};
    heed_tensor *const h = heed_encoder_step_attend(cx, &m->stack, embed(cx, m, ids), s->self, counts, &o);
    return logits_of(cx, m, attention_last(cx, h, counts));
}

const struct heed_stepper decoder_stepper = {ATTENTION_STATE, .sizes = lm_sizes, .begin = lm_begin, .step = lm_step,
                                             .border = lm_border};
