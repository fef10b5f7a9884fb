/* BERT (Devlin et al. 2019): the encoder of the Transformer, post-norm, with learned positions and segments.
 *
 *     h = norm(word(ids) + segment(types) + position)
 *     h = norm(h + attention(h, h, h));  h = norm(h + W_2 a(W_1 h))                                  in each layer
 *     pooled = tanh(W_p h_0 + b_p)                                                                   h_0: [CLS]
 *
 * Heads:  BertModel                      h and pooled
 *         BertForMaskedLM                logits = norm(a(W h + b)) E' + c                            E: word
 *         BertForSequenceClassification  logits = W pooled + b
 *
 * Names and config keys are those of transformers. The weights of q, k and v are published apart and kept as one, for
 * one product.
 *     input_ids, attention_mask, token_type_ids, position_ids, labels (B,T); labels of classes (B) */
#include "model/families.h"
#include "model/inputs.h"
#include "model/parts.h"

struct bert {
    heed_embedding_layer word, position, segment;
    heed_norm_layer norm;
    heed_encoder encoder;
    heed_linear_layer pooler; /* weight NULL: none */
    float dropout;
    heed_activation act;
    heed_init init;
    int64_t width, longest;
    /* masked LM */
    heed_linear_layer transform;
    heed_norm_layer transform_norm;
    heed_param *output_bias;
    heed_param *output;
    /* classification */
    heed_linear_layer classifier;
    float classifier_dropout;
    enum problem problem;
};

static const heed_key bert_keys[] = {
    {"vocab_size", HEED_KEY_INT, "30522", "number of tokens"},
    {"hidden_size", HEED_KEY_INT, "768", "width"},
    {"num_hidden_layers", HEED_KEY_INT, "12", "number of layers"},
    {"num_attention_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},
    {"intermediate_size", HEED_KEY_INT, "3072", "width of the feed-forward layer"},
    {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},
    {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.1", "dropout of embeddings and of the sublayers' outputs"},
    {"attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.1", "dropout of attention weights"},
    {"max_position_embeddings", HEED_KEY_INT, "512", "maximum sequence length"},
    {"type_vocab_size", HEED_KEY_INT, "2", "number of segments (token_type_ids)"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-12", "epsilon of layer norms"},
    {"pad_token_id", HEED_KEY_INT_OR_NULL, "0", "padding token"},
    {"is_decoder", HEED_KEY_BOOL, "false", "must be false"},
    {"add_cross_attention", HEED_KEY_BOOL, "false", "must be false"},
    {"position_embedding_type", HEED_KEY_TEXT, "absolute", "must be absolute"},
    {NULL, HEED_KEY_INT, NULL, NULL},
};
static const heed_key classify_keys[] = {
    LABEL_KEYS,
    {"classifier_dropout", HEED_KEY_NUMBER_OR_NULL, "null", "dropout before the classifier; null: hidden_dropout_prob"},
    {NULL, HEED_KEY_INT, NULL, NULL},
};
static const heed_key masked_keys[] = {
    {"tie_word_embeddings", HEED_KEY_BOOL, "true", "the output layer shares the table of word embeddings"},
    {NULL, HEED_KEY_INT, NULL, NULL},
};
static const char *const bert_ignored[] = {"embeddings.position_ids", NULL}; /* a buffer of older releases */

/* ---- the body ---- */

static bool is_supported(heed_ctx *cx, heed_json config) {
    static const char *const only[] = {"absolute", NULL}, *const off[] = {"is_decoder", "add_cross_attention"};
    config_choice(cx, config, "position_embedding_type", only);
    for (int i = 0; i < 2 && !heed_failed(cx); i++)
        if (heed_json_bool(cx, config, off[i]))
            heed_json_fail(cx, heed_json_find(cx, config, off[i]), "heed's BERT is an encoder");
    return !heed_failed(cx);
}

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct bert *m,
                       heed_encoder_layer *l) {
    static const char *const qkv[] = {"query", "key", "value"};
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    const int64_t hidden = config_int(cx, config, "intermediate_size", 1, (int64_t)1 << 30);
    l->dropout = m->dropout;
    l->site = "attention";
    l->feed_forward.act = m->act;
    l->self_attn.dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    return part_heads(cx, config, "hidden_size", "num_attention_heads", &l->self_attn) &&
           part_qkv(cx, set, part_under(cx, prefix, "attention.self").s, qkv, m->width, m->init, &l->self_attn.in) &&
           part_linear(cx, set, prefix, "attention.output.dense", m->width, m->width, true, m->init,
                       &l->self_attn.out) &&
           part_norm(cx, set, prefix, "attention.output.LayerNorm", m->width, eps, &l->norm1) &&
           part_linear(cx, set, prefix, "intermediate.dense", m->width, hidden, true, m->init,
                       &l->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "output.dense", hidden, m->width, true, m->init, &l->feed_forward.linear2) &&
           part_norm(cx, set, prefix, "output.LayerNorm", m->width, eps, &l->norm2);
}

static bool make_body(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool pooled, struct bert *m) {
    const int64_t most = (int64_t)1 << 30, words = config_int(cx, config, "vocab_size", 1, most),
                  types = config_int(cx, config, "type_vocab_size", 1, most);
    m->width = config_int(cx, config, "hidden_size", 1, most);
    m->longest = config_int(cx, config, "max_position_embeddings", 1, most);
    m->dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1);
    m->act = config_activation(cx, config, "hidden_act");
    m->init = (heed_init){HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 1e6)};
    m->encoder.layers = (int)config_int(cx, config, "num_hidden_layers", 0, MOST_LAYERS);
    m->encoder.layer = heed_params_room(cx, set, (size_t)m->encoder.layers, sizeof *m->encoder.layer);
    if (heed_failed(cx) || !is_supported(cx, config)) return false;
    const struct part_name in = part_under(cx, base, "embeddings"), stack = part_under(cx, base, "encoder");
    if (!part_embedding(cx, set, in.s, "word_embeddings", words, m->width, m->init, &m->word) ||
        !part_embedding(cx, set, in.s, "position_embeddings", m->longest, m->width, m->init, &m->position) ||
        !part_embedding(cx, set, in.s, "token_type_embeddings", types, m->width, m->init, &m->segment) ||
        !part_norm(cx, set, in.s, "LayerNorm", m->width, (float)config_number(cx, config, "layer_norm_eps", 0, 1),
                   &m->norm))
        return false;
    m->word.padding = config_token(cx, config, "pad_token_id", words);
    for (int i = 0; i < m->encoder.layers; i++) {
        m->encoder.layer[i].number = i;
        if (!make_layer(cx, config, set, part_numbered(cx, stack.s, "layer", i).s, m, &m->encoder.layer[i]))
            return false;
    }
    if (!pooled) return !heed_failed(cx);
    if (!part_linear(cx, set, part_under(cx, base, "pooler").s, "dense", m->width, m->width, true, m->init, &m->pooler))
        return false;
    m->pooler.weight->head = m->pooler.bias->head = true; /* models that were trained without it lack it */
    return true;
}

/* -> h (B,T,C) */
static heed_tensor *run_body(heed_ctx *cx, const struct bert *m, const heed_io *in) {
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true), *const types =
                                                                       input_like(cx, in, "token_type_ids", ids);
    const heed_mask mask = input_padding(cx, in, ids);
    heed_tensor *x = heed_embedding_run(cx, &m->word, ids);
    x = heed_add(cx, x,
                 types ? heed_embedding_run(cx, &m->segment, types)
                       : heed_slice(cx, heed_param_tensor(cx, m->segment.weight), 0, 0, 1));
    x = heed_add(cx, x, input_positions(cx, in, m->position.weight, ids, 0));
    x = heed_dropout(cx, heed_norm_run(cx, &m->norm, x), m->dropout);
    return heed_encoder_run(cx, &m->encoder, x, &mask);
}

/* h (B,T,C) -> tanh(W h_0 + b) (B,C) */
static heed_tensor *run_pooler(heed_ctx *cx, const struct bert *m, heed_tensor *h) {
    if (!h) return NULL;
    h = heed_slice(cx, h, 1, 0, 1);
    return heed_linear_run(cx, &m->pooler, heed_reshape(cx, h, 2, (int64_t[]){heed_dim(h, 0), m->width}),
                           HEED_ACT_TANH);
}

/* ---- BertModel ---- */

static bool bare_build(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    return make_body(cx, config, set, "", true, own);
}

static bool bare_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    heed_tensor *const h = run_body(cx, own, in), *const pooled = run_pooler(cx, own, h);
    return pooled && heed_io_put(cx, out, "last_hidden_state", h) && heed_io_put(cx, out, "pooler_output", pooled);
}

static bool bare_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct bert *m = own;
    return input_sample(cx, batch, length < m->longest ? length : m->longest, in);
}

/* ---- BertForMaskedLM ---- */

static bool masked_build(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    struct bert *m = own;
    if (!make_body(cx, config, set, "bert", false, m)) return false;
    const int64_t words = m->word.weight->shape[0];
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    if (!part_linear(cx, set, "cls.predictions.transform", "dense", m->width, m->width, true, m->init, &m->transform) ||
        !part_norm(cx, set, "cls.predictions.transform", "LayerNorm", m->width, eps, &m->transform_norm))
        return false;
    heed_param *const bias =
        heed_param_add(cx, set, "cls.predictions", "bias", 1, &words, (heed_init){.kind = HEED_INIT_ZEROS});
    if (!bias) return false;
    if (heed_json_bool(cx, config, "tie_word_embeddings")) {
        m->output = m->word.weight;
        m->output_bias = bias;
        heed_param_tie(cx, set, "cls.predictions.decoder", "weight", m->output);
        heed_param_tie(cx, set, "cls.predictions.decoder", "bias", bias);
        return !heed_failed(cx);
    }
    heed_linear_layer decoder = {0};
    bias->frozen = bias->optional = true; /* the Python class has it, and does not use it */
    if (!part_linear(cx, set, "cls.predictions", "decoder", m->width, words, true, m->init, &decoder)) return false;
    m->output = decoder.weight;
    m->output_bias = decoder.bias;
    return true;
}

static bool masked_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct bert *m = own;
    heed_tensor *h = run_body(cx, m, in);
    h = heed_norm_run(cx, &m->transform_norm, heed_linear_run(cx, &m->transform, h, m->act));
    return head_tokens(cx, in, h, heed_param_tensor(cx, m->output), heed_param_tensor(cx, m->output_bias),
                       input_like(cx, in, "labels", heed_io_get(in, "input_ids")), out);
}

static bool masked_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return bare_sample(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 2, heed_shape(heed_io_get(in, "input_ids"))));
}

/* ---- BertForSequenceClassification ---- */

static bool classify_build(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    struct bert *m = own;
    if (!make_body(cx, config, set, "bert", true, m)) return false;
    m->problem = config_problem(cx, config);
    m->classifier_dropout = (float)config_number_or(cx, config, "classifier_dropout", 0, 1, (double)m->dropout);
    return part_linear(cx, set, "", "classifier", m->width, config_labels(cx, config), true, m->init, &m->classifier);
}

static bool classify_forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct bert *m = own;
    heed_tensor *const pooled = heed_dropout(cx, run_pooler(cx, m, run_body(cx, m, in)), m->classifier_dropout);
    return head_classify(cx, m->problem, in, heed_linear_run(cx, &m->classifier, pooled, HEED_ACT_NONE), out);
}

static bool classify_sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    return bare_sample(cx, own, batch, length, in) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 1, &batch));
}

/* ---- the family ---- */

#define INPUTS "input_ids attention_mask token_type_ids position_ids"
static const heed_head bert_heads[] = {
    {"BertForMaskedLM", "mlm", INPUTS " labels", .keys = masked_keys, .build = masked_build, .forward = masked_forward,
     .sample = masked_sample},
    {"BertForSequenceClassification", "classify regress", INPUTS " labels", .keys = classify_keys,
     .build = classify_build, .forward = classify_forward, .sample = classify_sample},
    {"BertModel", "embed", INPUTS, .bare = true, .build = bare_build, .forward = bare_forward, .sample = bare_sample},
    {.architecture = NULL},
};

const heed_family family_bert = {
    .name = "bert",
    .type = "bert",
    .base = "bert",
    .paper = "Devlin et al. 2019",
    .summary = "the Transformer's encoder, pre-trained on masked words",
    .notes =
        "Parameters have the names of transformers' classes: bert.embeddings.word_embeddings.weight, "
        "bert.encoder.layer.N.attention.self.query.weight and so on; BertModel's without bert. at the beginning. "
        "Files of either kind are read by all heads, with LayerNorm.gamma and beta as older ones have them. Labels "
        "of -100 do not count.",
    .keys = bert_keys,
    .heads = bert_heads,
    .ignored = bert_ignored,
    .size = sizeof(struct bert),
};
