/* GPT-2 (Radford et al. 2019): the decoder of the Transformer alone, pre-norm, with learned positions.
 *
 *     h = word(ids) + position
 *     h = h + causal attention(norm(h));  h = h + W_2 a(W_1 norm(h))                                 in each layer
 *     h = norm(h);  logits = h E'                                                                    E: word
 *
 * Names and config keys are those of transformers, whose Conv1D stores weights (in,out).
 *     input_ids, attention_mask, position_ids, labels (B,T) -> logits (B,T,V), loss: of the next token
 * Classification: labels (B), or (B,L) -> logits (B,L) of the last token that is not padding. */
#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/core/stepper.h"
#include "model/parts/parts.h"
#include <math.h>

struct gpt2 {
    heed_embedding_layer word, position;
    heed_encoder stack;
    heed_param *output; /* (V,C) */
    float dropout;      /* of embeddings */
    int64_t width, max_length;
    heed_init init;
    heed_linear_layer score; /* of classification */
    enum problem problem;
    int32_t padding; /* token, -1 or NO_TOKEN_PADS */
};

static const heed_key gpt2_keys[] = {
    {"vocab_size", HEED_KEY_INT, "50257", "number of tokens"},
    {"n_positions", HEED_KEY_INT, "1024", "maximum sequence length"},
    {"n_embd", HEED_KEY_INT, "768", "width"},
    {"n_layer", HEED_KEY_INT, "12", "number of layers"},
    {"n_head", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},
    {"n_inner", HEED_KEY_INT_OR_NULL, "null", "width of the feed-forward layer; null: 4 n_embd"},
    {"activation_function", HEED_KEY_TEXT, "gelu_new", "activation, by transformers' name"},
    {"resid_pdrop", HEED_KEY_NUMBER, "0.1", "dropout of the sublayers' outputs"},
    {"embd_pdrop", HEED_KEY_NUMBER, "0.1", "dropout of embeddings"},
    {"attn_pdrop", HEED_KEY_NUMBER, "0.1", "dropout of attention weights"},
    {"layer_norm_epsilon", HEED_KEY_NUMBER, "1e-05", "epsilon of layer norms"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"scale_attn_weights", HEED_KEY_BOOL, "true", "scores are divided by the root of the head size"},
    {"scale_attn_by_inverse_layer_idx", HEED_KEY_BOOL, "false", "scores of layer L are divided by L + 1 too"},
    {"add_cross_attention", HEED_KEY_BOOL, "false", "must be false"},
    {"bos_token_id", HEED_KEY_INT_OR_NULL, "50256", "token that text begins with"},
    {"eos_token_id", HEED_KEY_INT_OR_NULL, "50256", "token that text ends with"},
    END_OF_KEYS,
};
static const heed_key lm_keys[] = {
    {"tie_word_embeddings", HEED_KEY_BOOL, "true", "the output layer shares the table of word embeddings"},
    END_OF_KEYS,
};
static const heed_key classify_keys[] = {
    LABEL_KEYS,
    {"pad_token_id", HEED_KEY_INT_OR_NULL, "null", "padding token; null: one sequence at a time"},
    END_OF_KEYS,
};
static const char *const gpt2_ignored[] = {"h.*.attn.bias", "h.*.attn.masked_bias", NULL}; /* the causal mask */

/* ---- the body ---- */

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct gpt2 *m,
                       heed_encoder_layer *l) {
    const float eps = (float)config_number(cx, config, "layer_norm_epsilon", 0, 1);
    const int64_t C = m->width, inner = config_int_or(cx, config, "n_inner", 1, (int64_t)1 << 30, 4 * C);
    heed_init last = m->init; /* of what is added to the residual stream: less with every layer */
    last.b /= sqrtf(2 * (float)m->stack.layers);
    if (!part_heads(cx, config, "n_embd", "n_head", &l->self_attn)) return false;
    const float scale =
        heed_json_bool(cx, config, "scale_attn_weights") ? 1 / sqrtf((float)C / (float)l->self_attn.heads) : 1;
    l->norm_first = true;
    l->site = "attention";
    l->dropout = (float)config_number(cx, config, "resid_pdrop", 0, 1);
    l->feed_forward.act = config_activation(cx, config, "activation_function");
    l->self_attn.dropout = (float)config_number(cx, config, "attn_pdrop", 0, 1);
    l->self_attn.scale =
        heed_json_bool(cx, config, "scale_attn_by_inverse_layer_idx") ? scale / (float)(l->number + 1) : scale;
    return part_norm(cx, set, prefix, "ln_1", C, eps, &l->norm1) &&
           part_conv1d(cx, set, prefix, "attn.c_attn", C, 3 * C, m->init, &l->self_attn.in) &&
           part_conv1d(cx, set, prefix, "attn.c_proj", C, C, last, &l->self_attn.out) &&
           part_norm(cx, set, prefix, "ln_2", C, eps, &l->norm2) &&
           part_conv1d(cx, set, prefix, "mlp.c_fc", C, inner, m->init, &l->feed_forward.linear1) &&
           part_conv1d(cx, set, prefix, "mlp.c_proj", inner, C, last, &l->feed_forward.linear2);
}

static bool make_body(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct gpt2 *m) {
    const int64_t most = (int64_t)1 << 30, words = config_int(cx, config, "vocab_size", 1, most);
    m->width = config_int(cx, config, "n_embd", 1, most);
    m->max_length = config_int(cx, config, "n_positions", 1, most);
    m->dropout = (float)config_number(cx, config, "embd_pdrop", 0, 1);
    m->init = (heed_init){HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 1e6)};
    m->stack.layers = (int)config_int(cx, config, "n_layer", 0, MAX_LAYERS);
    m->stack.layer = heed_params_alloc(cx, set, (size_t)m->stack.layers, sizeof *m->stack.layer);
    if (!heed_failed(cx) && heed_json_bool(cx, config, "add_cross_attention"))
        heed_json_fail(cx, heed_json_find(cx, config, "add_cross_attention"), "heed's GPT-2 has no encoder to look at");
    if (heed_failed(cx) || !part_embedding(cx, set, base, "wte", words, m->width, m->init, &m->word) ||
        !part_embedding(cx, set, base, "wpe", m->max_length, m->width, m->init, &m->position))
        return false;
    for (int i = 0; i < m->stack.layers; i++) {
        m->stack.layer[i].number = i;
        if (!make_layer(cx, config, set, part_numbered(cx, base, "h", i).s, m, &m->stack.layer[i])) return false;
    }
    return part_norm(cx, set, base, "ln_f", m->width, (float)config_number(cx, config, "layer_norm_epsilon", 0, 1),
                     &m->stack.norm);
}

/* -> h (B,T,C) */
static heed_tensor *run_body(heed_ctx *cx, const struct gpt2 *m, const heed_io *in) {
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true);
    const heed_mask mask = input_causal(cx, in, ids);
    heed_tensor *x =
        heed_add(cx, heed_embedding_run(cx, &m->word, ids), input_positions(cx, in, m->position.weight, ids, 0));
    return heed_encoder_run(cx, &m->stack, heed_dropout(cx, x, m->dropout), &mask);
}

/* ---- GPT2Model ---- */

static bool bare_build(heed_ctx *cx, const heed_build *b, void *own) {
    return make_body(cx, b->config, b->params, "", own);
}

static bool bare_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    heed_tensor *const h = run_body(cx, own, in);
    return h && heed_io_put(cx, out, "last_hidden_state", h);
}

static bool bare_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct gpt2 *m = own;
    return input_sample(cx, batch, length < m->max_length ? length : m->max_length, in);
}

/* ---- GPT2LMHeadModel ---- */

static bool lm_build(heed_ctx *cx, const heed_build *b, void *own) {
    heed_params *const set = b->params;
    struct gpt2 *m = own;
    if (!make_body(cx, b->config, set, "transformer", m)) return false;
    if (heed_json_bool(cx, b->config, "tie_word_embeddings"))
        m->output = heed_param_tie_loosely(cx, set, "lm_head", "weight", m->word.weight, true, m->init);
    else
        m->output = heed_param_add(cx, set, "lm_head", "weight", 2, m->word.weight->shape, m->init);
    return !heed_failed(cx);
}

static bool lm_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct gpt2 *m = own;
    heed_tensor *const h = run_body(cx, m, in), *const next = input_next(cx, in, heed_io_get(in, "input_ids"));
    return head_tokens(cx, in, h, heed_param_weight(cx, m->output), NULL, next, out);
}

static bool lm_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return bare_sample(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, heed_shape(heed_io_get(in, "input_ids"))));
}

/* ---- GPT2ForSequenceClassification ---- */

static bool classify_build(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    struct gpt2 *m = own;
    const int64_t labels = config_labels(cx, config);
    m->problem = config_problem(cx, config);
    if (!make_body(cx, config, b->params, "transformer", m)) return false;
    m->padding = config_padding(cx, config, m->word.weight->shape[0], NULL);
    return part_linear(cx, b->params, "", "score", m->width, labels, false, m->init, &m->score);
}

static bool classify_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct gpt2 *m = own;
    heed_tensor *const last = head_last(cx, run_body(cx, m, in), heed_io_get(in, "input_ids"), m->padding);
    return head_classify(cx, m->problem, in, heed_linear_run(cx, &m->score, last, HEED_ACT_NONE), out);
}

static bool classify_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct gpt2 *m = own;
    return bare_sample(cx, own, batch, length, in) &&
           head_sample_labels(cx, m->problem, batch, m->score.weight->shape[0], in);
}

/* ---- decoding ---- */

static struct stepper_sizes lm_sizes(const void *own) {
    const struct gpt2 *m = own;
    return (struct stepper_sizes){.vocabulary = m->output->shape[0], .positions = m->max_length};
}

static bool lm_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    const struct gpt2 *m = own;
    if (m->stack.layers < 1) return heed_fail(cx, HEED_ERR_USAGE, "gpt2: a model without layers cannot decode");
    return attention_begin(cx, state, &m->stack.layer[0].self_attn, m->stack.layers, b, 0, 0);
}

static heed_tensor *lm_step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    const struct gpt2 *m = own;
    const struct attention_state *s = state;
    int64_t start;
    heed_tensor *at = NULL;
    if (!attention_positions(cx, s, ids, counts, m->max_length, &start, &at)) return NULL;
    heed_tensor *const positions = at ? heed_embedding_run(cx, &m->position, at)
                                      : heed_param_rows(cx, m->position.weight, start, heed_dim(ids, -1));
    heed_tensor *x = heed_add(cx, heed_embedding_run(cx, &m->word, ids), positions);
    x = attention_last(cx, heed_encoder_step(cx, &m->stack, x, s->self, counts, NULL), counts);
    return heed_linear(cx, x, heed_param_weight(cx, m->output), NULL);
}

static const struct heed_stepper lm_stepper = {ATTENTION_STATE, .sizes = lm_sizes, .begin = lm_begin, .step = lm_step};

/* ---- the family ---- */

#define INPUTS "input_ids attention_mask position_ids segment_ids"
static const heed_head gpt2_heads[] = {
    {"GPT2LMHeadModel", "lm", INPUTS " labels shift_labels", .keys = lm_keys, .build = lm_build, .forward = lm_forward,
     .sample = lm_sample, .stepper = &lm_stepper},
    {"GPT2ForSequenceClassification", "classify regress", INPUTS " labels", .keys = classify_keys,
     .build = classify_build, .forward = classify_forward, .sample = classify_sample},
    {"GPT2Model", "embed", INPUTS, .bare = true, .build = bare_build, .forward = bare_forward, .sample = bare_sample},
    {.architecture = NULL},
};

const heed_family family_gpt2 = {
    .name = "gpt2",
    .type = "gpt2",
    .base = "transformer",
    .paper = "Radford et al. 2019",
    .summary = "the Transformer's decoder alone: predicts the next token",
    .notes = "Parameters have the names of transformers' classes: transformer.wte.weight, "
             "transformer.h.N.attn.c_attn.weight, stored (in,out), and so on; GPT2Model's without transformer. at the "
             "beginning. Files of either kind are read by all heads. The label of a position is the token after it, so "
             "labels are given as input_ids are, or shifted already as shift_labels; those of -100 do not count. "
             "Where segment_ids are given, tokens see those of their own segment alone.",
    .keys = gpt2_keys,
    .heads = gpt2_heads,
    .ignored = gpt2_ignored,
    .size = sizeof(struct gpt2),
};
