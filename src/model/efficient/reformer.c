/* The Reformer (Kitaev et al. 2020): reversible layers whose attention is local or by hashes. reformer.h says what its
 * body computes, of width 2 C. Names and config keys are those of transformers.
 *
 *     bare      input_ids, attention_mask, position_ids (B,T) -> last_hidden_state (B,T,2 C)
 *     lm        labels (B,T)             logits (B,T,V) = h W', loss of the next token; is_decoder
 *     masked    labels (B,T)             the same, loss of the tokens themselves
 *     classify  labels (B), or (B,L)     logits (B,L) = W_2 tanh(W_1 h_0)
 *     answer    start and end positions  start_logits, end_logits (B,T) */
#include "model/efficient/reformer.h"
#include "model/encoders/encoder.h"
#include "model/parts/prefix.h"

#define DECODER_KEY(standard, help)                                                                                    \
    { "is_decoder", HEED_KEY_BOOL, standard, help }
#define TIES_KEY                                                                                                       \
    { "tie_word_embeddings", HEED_KEY_BOOL, "false", "without effect: the output layer is twice as wide" }
#define MAY_DECODE "tokens see none after them"
static const heed_key bare_keys[] = {DECODER_KEY("false", MAY_DECODE), END_OF_KEYS};
static const heed_key lm_keys[] = {DECODER_KEY("true", "must be true"), TIES_KEY, END_OF_KEYS};
static const heed_key masked_keys[] = {DECODER_KEY("false", "must be false"), TIES_KEY, END_OF_KEYS};
static const heed_key classify_keys[] = {DECODER_KEY("false", MAY_DECODE), LABEL_KEYS, CLASSIFIER_DROPOUT_KEY,
                                         END_OF_KEYS};
static const heed_key answer_keys[] = {DECODER_KEY("false", MAY_DECODE), NUM_LABELS_KEY, END_OF_KEYS};
static const char *const reformer_ignored[] = {"lm_head.decoder.bias", /* of older releases: lm_head.bias again */
                                               "*self_mask_value*", "*mask_value_float*", NULL};

/* ---- ReformerModel ---- */

static bool bare_build(heed_ctx *cx, const heed_build *b, void *own) {
    return reformer_make(cx, b->config, b->params, "", own);
}

static bool bare_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    heed_tensor *const h = reformer_run(cx, own, in);
    return h && heed_io_put(cx, out, "last_hidden_state", h);
}

static bool bare_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct reformer *m = own;
    return input_sample(cx, batch, length < m->max_length ? length : m->max_length, in);
}

/* ---- ReformerModelWithLMHead, ReformerForMaskedLM ---- */

static bool build_tokens(heed_ctx *cx, heed_json config, heed_params *set, struct reformer *m, bool causal) {
    if (heed_json_bool(cx, config, "is_decoder") != causal)
        return heed_json_fail(cx, heed_json_find(cx, config, "is_decoder"), "this head needs it to be %s",
                              causal ? "true" : "false");
    if (!reformer_make(cx, config, set, "reformer", m)) return false;
    const int64_t words = m->word.weight->shape[0];
    heed_param *const bias =
        heed_param_add(cx, set, "lm_head", "bias", 1, &words, (heed_init){.kind = HEED_INIT_ZEROS});
    if (!bias) return false;
    bias->frozen = bias->optional = true; /* the Python class has it, and does not use it */
    return part_linear(cx, set, "lm_head", "decoder", 2 * m->width, words, false, m->init, &m->output);
}

static bool lm_build(heed_ctx *cx, const heed_build *b, void *own) {
    return build_tokens(cx, b->config, b->params, own, true);
}

static bool masked_build(heed_ctx *cx, const heed_build *b, void *own) {
    return build_tokens(cx, b->config, b->params, own, false);
}

static bool lm_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct reformer *m = own;
    heed_tensor *const h = reformer_run(cx, m, in), *const next = input_next(cx, in, heed_io_get(in, "input_ids"));
    return head_tokens(cx, in, h, heed_param_weight(cx, m->output.weight), NULL, next, out);
}

static bool masked_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct reformer *m = own;
    heed_tensor *const h = reformer_run(cx, m, in);
    return head_tokens(cx, in, h, heed_param_weight(cx, m->output.weight), NULL,
                       input_like(cx, in, "labels", heed_io_get(in, "input_ids")), out);
}

static bool tokens_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return bare_sample(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, heed_shape(heed_io_get(in, "input_ids"))));
}

/* ---- ReformerForSequenceClassification ---- */

static bool classify_build(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    heed_params *const set = b->params;
    struct reformer *m = own;
    const int64_t labels = config_labels(cx, config);
    m->problem = config_problem(cx, config);
    if (!reformer_make(cx, config, set, "reformer", m)) return false;
    m->head_dropout = (float)config_number_or(cx, config, "classifier_dropout", 0, 1, (double)m->dropout);
    return part_linear(cx, set, "classifier", "dense", 2 * m->width, m->width, true, m->init, &m->dense) &&
           part_linear(cx, set, "classifier", "out_proj", m->width, labels, true, m->init, &m->output);
}

static bool classify_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct reformer *m = own;
    heed_tensor *const h = reformer_run(cx, m, in);
    if (!h) return false;
    if (heed_dim(h, 1) < 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "input_ids: sequences without a token have no first one");
    const int64_t shape[] = {heed_dim(h, 0), heed_dim(h, 2)};
    heed_tensor *x = heed_dropout(cx, heed_reshape(cx, heed_slice(cx, h, 1, 0, 1), 2, shape), m->head_dropout);
    x = heed_dropout(cx, heed_linear_run(cx, &m->dense, x, HEED_ACT_TANH), m->head_dropout);
    return head_classify(cx, m->problem, in, heed_linear_run(cx, &m->output, x, HEED_ACT_NONE), out);
}

static bool classify_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct reformer *m = own;
    return bare_sample(cx, own, batch, length, in) &&
           head_sample_labels(cx, m->problem, batch, m->output.weight->shape[0], in);
}

/* ---- ReformerForQuestionAnswering ---- */

static bool answer_build(heed_ctx *cx, const heed_build *b, void *own) {
    struct reformer *m = own;
    return head_has_span(cx, b->config) && reformer_make(cx, b->config, b->params, "reformer", m) &&
           part_linear(cx, b->params, "", "qa_outputs", 2 * m->width, 2, true, m->init, &m->output);
}

static bool answer_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct reformer *m = own;
    return head_span(cx, in, heed_linear_run(cx, &m->output, reformer_run(cx, m, in), HEED_ACT_NONE), out);
}

static bool answer_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return bare_sample(cx, own, batch, length, in) && head_span_sample(cx, batch, in);
}

/* ---- the family ---- */

#define INPUTS "input_ids attention_mask position_ids"
/* A new token changes how the tokens before it are sorted, and so what they see. */
static struct stepper_sizes sizes(const void *own) {
    const struct reformer *m = own;
    return (struct stepper_sizes){.vocabulary = m->output.weight->shape[0], .positions = m->max_length};
}

static bool step_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    return prefix_begin(cx, sizes(own), state, b);
}

static heed_tensor *next_logits(heed_ctx *cx, const void *own, const heed_io *in) {
    const struct reformer *m = own;
    return heed_linear_run(cx, &m->output, attention_last(cx, reformer_run(cx, m, in), NULL), HEED_ACT_NONE);
}

static heed_tensor *step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    return prefix_step(cx, own, sizes(own), state, ids, counts, next_logits);
}

static const struct heed_stepper stepper = {PREFIX_STATE, .sizes = sizes, .begin = step_begin, .step = step};

static const heed_head reformer_heads[] = {
    {"ReformerModelWithLMHead", "lm", INPUTS " labels shift_labels", .keys = lm_keys, .build = lm_build,
     .forward = lm_forward, .sample = tokens_sample, .stepper = &stepper},
    {"ReformerForMaskedLM", "mlm", INPUTS " labels", .keys = masked_keys, .build = masked_build,
     .forward = masked_forward, .sample = tokens_sample},
    {"ReformerForSequenceClassification", "classify regress", INPUTS " labels", .keys = classify_keys,
     .build = classify_build, .forward = classify_forward, .sample = classify_sample},
    {"ReformerForQuestionAnswering", "qa", INPUTS " start_positions end_positions", .keys = answer_keys,
     .build = answer_build, .forward = answer_forward, .sample = answer_sample},
    {"ReformerModel", "embed", INPUTS, .bare = true, .keys = bare_keys, .build = bare_build, .forward = bare_forward,
     .sample = bare_sample},
    {.architecture = NULL},
};

const heed_family family_reformer = {
    .name = "reformer",
    .type = "reformer",
    .base = "reformer",
    .paper = "Kitaev et al. 2020",
    .summary = "reversible layers with attention within chunks, local or sorted by hashes",
    .notes =
        "Parameters have the names of transformers' classes: "
        "reformer.encoder.layers.N.attention.self_attention.query_key.weight, and so on; ReformerModel's without "
        "reformer. at the beginning. With a hash_seed the hashes are those of PyTorch in float32; without one they "
        "are heed's own, anew in each step of training and always the same otherwise. Sequences longer than a chunk "
        "are padded to a multiple of the chunks, while training too, and may have fewer tokens than there are axial "
        "positions. Decoding computes everything before a token anew. Attention maps of several chunks have a row "
        "for each sorted position.",
    .keys = reformer_keys,
    .heads = reformer_heads,
    .ignored = reformer_ignored,
    .size = sizeof(struct reformer),
};
