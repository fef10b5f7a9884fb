/* ModernBERT (Warner et al. 2024): a pre-norm encoder with rotary positions, gated feed-forward layers and, in most
 * layers, attention to near positions only.
 *
 *     h = norm(word(ids))
 *     h = h + W_o attention(norm(h));  h = h + W_2 (a(W_g norm(h)) W_1 norm(h))        in each layer; the first: no
 * norm h = norm(h)
 *
 * Local layers see positions at most local_attention / 2 away and turn queries and keys by another base. Heads put
 * norm(a(W h + b)) before their last layer; encoder.h says what they give. Names and config keys are those of
 * transformers, of release 4 (global_attn_every_n_layers, global_rope_theta) and of release 5 (layer_types,
 * rope_parameters), which override them. */
#include "model/encoders/encoder.h"
#include <math.h>
#include <string.h>

/* ---- layers that are local or global ---- */

enum { GLOBAL = LAYER_FULL, LOCAL = LAYER_SLIDING };

static int layer_type(heed_ctx *cx, heed_json config, int layers, int layer) {
    const int type = part_layer_type(cx, config, layers, layer);
    if (heed_failed(cx) || type >= 0) return type;
    const int every = (int)config_int(cx, config, "global_attn_every_n_layers", 1, MAX_LAYERS);
    return heed_failed(cx) || layer % every == 0 ? GLOBAL : LOCAL;
}

/* Only plain rotary positions: a scaling of them is refused. */
static bool check_scaling(heed_ctx *cx, heed_json at) {
    static const char *const names[] = {"rope_type", "type"};
    for (int i = 0; i < 2; i++) {
        const heed_json type = heed_json_find(cx, at, names[i]);
        if (heed_json_kind_of(type) == HEED_JSON_TEXT && strcmp(heed_json_text(cx, type, NULL), "default") != 0)
            return heed_json_fail(cx, type, "scaled rotary positions are not supported, only 'default'");
    }
    return !heed_failed(cx);
}

static double rotary_base(heed_ctx *cx, heed_json config, int type) {
    static const char *const types[] = {"full_attention", "sliding_attention"};
    const heed_json all = heed_json_find(cx, config, "rope_parameters"),
                    scaling = heed_json_find(cx, config, "rope_scaling");
    if (heed_json_kind_of(scaling) == HEED_JSON_OBJECT && !check_scaling(cx, scaling)) return 0;
    if (heed_json_kind_of(all) == HEED_JSON_OBJECT) {
        const heed_json own = heed_json_find(cx, all, types[type]);
        if (heed_json_kind_of(own) == HEED_JSON_OBJECT) {
            if (!check_scaling(cx, own)) return 0;
            if (heed_json_kind_of(heed_json_find(cx, own, "rope_theta")) > HEED_JSON_NULL)
                return config_number(cx, own, "rope_theta", 1e-6, 1e30);
        }
    }
    const double global = config_number(cx, config, "global_rope_theta", 1e-6, 1e30);
    return type == GLOBAL ? global : config_number_or(cx, config, "local_rope_theta", 1e-6, 1e30, global);
}

/* ---- the body ---- */

static heed_init truncated(float deviation) { return (heed_init){HEED_INIT_TRUNCATED, 0, deviation}; }

static bool make_norm(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const char *name,
                      const struct encoder *m, heed_norm_layer *norm) {
    const struct part_name path = part_under(cx, prefix, name);
    if (heed_json_bool(cx, config, "norm_bias")) return heed_norm_make(cx, set, path.s, m->width, false, m->eps, norm);
    *norm = (heed_norm_layer){.eps = m->eps};
    norm->weight = heed_param_add(cx, set, path.s, "weight", 1, &m->width, (heed_init){.kind = HEED_INIT_ONES});
    return norm->weight != NULL;
}

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct encoder *m,
                       heed_encoder_layer *l) {
    const int64_t C = m->width, hidden = config_int(cx, config, "intermediate_size", 1, MAX_SIZE);
    const bool attention_bias = heed_json_bool(cx, config, "attention_bias"),
               mlp_bias = heed_json_bool(cx, config, "mlp_bias");
    const heed_init in = truncated(m->init.b), out = truncated(m->init.b / sqrtf(2 * (float)m->stack.layers));
    l->norm_first = true;
    l->site = "attention";
    l->dropout = l->self_attn.dropout = (float)config_number(cx, config, "attention_dropout", 0, 1);
    l->keeps_hidden = true;
    l->feed_forward.act = m->act;
    l->feed_forward.fused = true;
    l->feed_forward.dropout = (float)config_number(cx, config, "mlp_dropout", 0, 1);
    if (!part_heads(cx, config, "hidden_size", "num_attention_heads", &l->self_attn)) return false;
    if (C / l->self_attn.heads % 2)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_attention_heads"),
                              "rotary positions need heads of an even size, not %lld",
                              (long long)(C / l->self_attn.heads));
    return (l->number == 0 || make_norm(cx, config, set, prefix, "attn_norm", m, &l->norm1)) &&
           part_linear(cx, set, prefix, "attn.Wqkv", C, 3 * C, attention_bias, in, &l->self_attn.in) &&
           part_linear(cx, set, prefix, "attn.Wo", C, C, attention_bias, out, &l->self_attn.out) &&
           make_norm(cx, config, set, prefix, "mlp_norm", m, &l->norm2) &&
           part_linear(cx, set, prefix, "mlp.Wi", C, 2 * hidden, mlp_bias, in, &l->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "mlp.Wo", hidden, C, mlp_bias, out, &l->feed_forward.linear2);
}

/* Its heads have no pooler. */
static bool make_body(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool pooled,
                      struct encoder *m) {
    (void)pooled;
    const int64_t words = config_int(cx, config, "vocab_size", 1, MAX_SIZE),
                  near = config_int(cx, config, "local_attention", 0, MAX_SIZE) / 2;
    const struct part_name in = part_under(cx, base, "embeddings");
    m->max_length = config_int(cx, config, "max_position_embeddings", 1, MAX_SIZE);
    m->init.kind = HEED_INIT_TRUNCATED;
    m->stack.layer = heed_params_alloc(cx, set, (size_t)m->stack.layers, sizeof *m->stack.layer);
    heed_rotary_opts *const rotary = heed_params_alloc(cx, set, 2, sizeof *rotary);
    if (!rotary || !part_embedding(cx, set, in.s, "tok_embeddings", words, m->width, m->init, &m->word) ||
        !make_norm(cx, config, set, in.s, "norm", m, &m->norm))
        return false;
    m->word.padding = config_token(cx, config, "pad_token_id", words);
    for (int i = 0; i < 2; i++) rotary[i].base = (float)rotary_base(cx, config, i);
    for (int i = 0; i < m->stack.layers && !heed_failed(cx); i++) {
        heed_encoder_layer *const l = &m->stack.layer[i];
        const int type = layer_type(cx, config, m->stack.layers, i);
        if (heed_failed(cx)) return false;
        l->number = i;
        l->self_attn.rotary = &rotary[type];
        l->window = type == LOCAL ? near + 1 : 0;
        if (!make_layer(cx, config, set, part_numbered(cx, base, "layers", i).s, m, l)) return false;
    }
    return !heed_failed(cx) && make_norm(cx, config, set, base, "final_norm", m, &m->stack.norm);
}

static const struct encoder_layout modernbert_layout = {.key = {.width = "hidden_size",
                                                                .layers = "num_hidden_layers",
                                                                .act = "hidden_activation",
                                                                .dropout = "embedding_dropout",
                                                                .eps = "norm_eps"}};
static const struct encoder_kind modernbert_kind = {.layout = &modernbert_layout, .make = make_body};

/* ---- heads ---- */

/* The body, and norm(a(W x + b)) before the last layer. */
static bool make_head(heed_ctx *cx, const heed_build *b, struct encoder *m, struct transform *t) {
    if (!encoder_build_body(cx, b, false, m)) return false;
    const heed_init out = truncated(m->init.b / sqrtf(2 * (float)(m->stack.layers ? m->stack.layers : 1)));
    const bool bias = heed_json_bool(cx, b->config, "classifier_bias");
    t->act = config_activation(cx, b->config, "classifier_activation");
    return part_linear(cx, b->params, "head", "dense", m->width, m->width, bias, out, &t->dense) &&
           make_norm(cx, b->config, b->params, "head", "norm", m, &t->norm);
}

static bool make_classifier(heed_ctx *cx, const heed_build *b, int64_t labels, struct encoder *m) {
    m->head_dropout = (float)config_number(cx, b->config, "classifier_dropout", 0, 1);
    return part_linear(cx, b->params, "", "classifier", m->width, labels, true, truncated(1 / sqrtf((float)m->width)),
                       &m->output);
}

static bool build_masked(heed_ctx *cx, const heed_build *b, void *own) {
    struct encoder *m = own;
    if (heed_json_bool(cx, b->config, "sparse_prediction"))
        return heed_json_fail(cx, heed_json_find(cx, b->config, "sparse_prediction"),
                              "logits of all tokens are given, not of masked ones alone");
    return make_head(cx, b, m, &m->transform) && head_make_decoder(cx, b->config, b->params, "decoder", NULL, m->width,
                                                                   heed_json_bool(cx, b->config, "decoder_bias"), m);
}

/* first: what stands for a sequence that is pooled by "cls" */
static bool make_pooled(heed_ctx *cx, const heed_build *b, enum pooling first, int64_t labels, struct encoder *m) {
    static const char *const poolings[] = {"cls", "mean", NULL};
    if (!make_head(cx, b, m, &m->pool)) return false;
    m->pooling = config_choice(cx, b->config, "classifier_pooling", poolings) == 0 ? first : POOL_UNMASKED_MEAN;
    return !heed_failed(cx) && make_classifier(cx, b, labels, m);
}

static bool build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    struct encoder *m = own;
    m->problem = config_problem(cx, b->config);
    return make_pooled(cx, b, POOL_FIRST, config_labels(cx, b->config), m);
}

static bool build_choose(heed_ctx *cx, const heed_build *b, void *own) {
    return make_pooled(cx, b, POOL_UNMASKED_FIRST, 1, own);
}

static bool build_tag(heed_ctx *cx, const heed_build *b, void *own) {
    struct encoder *m = own;
    return make_head(cx, b, m, &m->transform) && make_classifier(cx, b, config_labels(cx, b->config), m);
}

static bool build_answer(heed_ctx *cx, const heed_build *b, void *own) {
    return head_has_span(cx, b->config) && build_tag(cx, b, own);
}

/* ---- the family ---- */

static const heed_key modernbert_keys[] = {
    {"vocab_size", HEED_KEY_INT, "50368", "number of tokens"},
    {"hidden_size", HEED_KEY_INT, "768", "width"},
    {"intermediate_size", HEED_KEY_INT, "1152", "width of the feed-forward layer"},
    {"num_hidden_layers", HEED_KEY_INT, "22", "number of layers"},
    {"num_attention_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},
    {"hidden_activation", HEED_KEY_TEXT, "gelu", "activation of the gate, by transformers' name"},
    {"max_position_embeddings", HEED_KEY_INT, "8192", "length that it is made for; longer sequences are not refused"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"norm_eps", HEED_KEY_NUMBER, "1e-05", "epsilon of layer norms"},
    {"norm_bias", HEED_KEY_BOOL, "false", "layer norms have biases"},
    {"pad_token_id", HEED_KEY_INT_OR_NULL, "50283", "padding token"},
    {"attention_bias", HEED_KEY_BOOL, "false", "linear layers of attention have biases"},
    {"attention_dropout", HEED_KEY_NUMBER, "0", "dropout of attention weights and of attention's output"},
    {"mlp_bias", HEED_KEY_BOOL, "false", "linear layers of the feed-forward layer have biases"},
    {"mlp_dropout", HEED_KEY_NUMBER, "0", "dropout inside the feed-forward layer"},
    {"embedding_dropout", HEED_KEY_NUMBER, "0", "dropout of embeddings"},
    {"global_attn_every_n_layers", HEED_KEY_INT, "3", "every so many layers attention sees all; layer_types overrides"},
    {"local_attention", HEED_KEY_INT, "128", "in other layers, half of this in either direction"},
    {"global_rope_theta", HEED_KEY_NUMBER, "160000", "base of rotary positions; rope_parameters overrides"},
    {"local_rope_theta", HEED_KEY_NUMBER_OR_NULL, "10000", "the same in local layers; null: global_rope_theta"},
    END_OF_KEYS,
};
#define HEAD_KEYS                                                                                                      \
    {"classifier_bias", HEED_KEY_BOOL, "false", "the head's first linear layer has a bias"}, {                         \
        "classifier_activation", HEED_KEY_TEXT, "gelu", "and this activation"                                          \
    }
#define DROPOUT_KEY                                                                                                    \
    { "classifier_dropout", HEED_KEY_NUMBER, "0", "dropout before the classifier" }
#define POOLING_KEY                                                                                                    \
    { "classifier_pooling", HEED_KEY_TEXT, "cls", "cls or mean: what stands for a sequence" }
static const heed_key modernbert_masked_keys[] = {
    TIED_KEY,
    HEAD_KEYS,
    {"decoder_bias", HEED_KEY_BOOL, "true", "the output layer has a bias"},
    {"sparse_prediction", HEED_KEY_BOOL, "false", "must be false"},
    END_OF_KEYS,
};
static const heed_key modernbert_classify_keys[] = {LABEL_KEYS, HEAD_KEYS, DROPOUT_KEY, POOLING_KEY, END_OF_KEYS};
static const heed_key modernbert_choose_keys[] = {HEAD_KEYS, DROPOUT_KEY, POOLING_KEY, END_OF_KEYS};
static const heed_key modernbert_tag_keys[] = {NUM_LABELS_KEY, HEAD_KEYS, DROPOUT_KEY, END_OF_KEYS};

static const heed_head modernbert_heads[] = {
    {"ModernBertForMaskedLM", "mlm", PLAIN_INPUTS " labels", .keys = modernbert_masked_keys, .build = build_masked,
     ENCODER_RUN(masked)},
    {"ModernBertForSequenceClassification", "classify regress", PLAIN_INPUTS " labels",
     .keys = modernbert_classify_keys, .build = build_classify, ENCODER_RUN(classify)},
    {"ModernBertForTokenClassification", "tag", PLAIN_INPUTS " labels", .keys = modernbert_tag_keys, .build = build_tag,
     ENCODER_RUN(tag)},
    {"ModernBertForQuestionAnswering", "qa", PLAIN_INPUTS " start_positions end_positions", .keys = modernbert_tag_keys,
     .build = build_answer, ENCODER_RUN(answer)},
    {"ModernBertForMultipleChoice", "choose", PLAIN_INPUTS " labels", .keys = modernbert_choose_keys,
     .build = build_choose, ENCODER_RUN(choose)},
    {"ModernBertModel", "embed", PLAIN_INPUTS, .bare = true, ENCODER(bare)},
    {.architecture = NULL},
};

const heed_family family_modernbert = {
    .name = "modernbert",
    .type = "modernbert",
    .base = "model",
    .paper = "Warner et al. 2024",
    .summary = "a pre-norm encoder with rotary positions, gated layers and mostly local attention",
    .notes =
        "Parameters have the names of transformers' classes, with model. at the beginning except in the bare model: "
        "model.layers.N.attn.Wqkv.weight. layer_types and rope_parameters are read where a config has them. In local "
        "layers a padding token with no token near it sees nothing, as with transformers' default attention.",
    .keys = modernbert_keys,
    .heads = modernbert_heads,
    .kind = &modernbert_kind,
    .size = sizeof(struct encoder),
};
