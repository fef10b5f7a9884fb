/* ALBERT (Lan et al. 2020): BERT whose layers share their parameters, with narrow embeddings and a head that tells the
 * order of two sentences. The num_hidden_layers are cut into num_hidden_groups, each of inner_group_num layers that run
 * again and again. Names and config keys are those of transformers; encoder.h says what they compute. */
#include "model/encoders/encoder.h"

/* base.encoder.albert_layer_groups.G.albert_layers.I once, then the stack of layers that refer to them. */
static bool make_groups(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct encoder *m) {
    const int layers = m->stack.layers, groups = (int)config_int(cx, config, "num_hidden_groups", 1, MAX_LAYERS),
              inner = (int)config_int(cx, config, "inner_group_num", 1, MAX_LAYERS);
    if (heed_failed(cx)) return false;
    if ((layers > groups ? layers : groups) * (int64_t)inner > MAX_LAYERS)
        return heed_json_fail(cx, heed_json_find(cx, config, "inner_group_num"), "more than %d layers in all",
                              MAX_LAYERS);
    heed_encoder_layer *const own = heed_params_alloc(cx, set, (size_t)groups * (size_t)inner, sizeof *own);
    m->stack.layer = heed_params_alloc(cx, set, (size_t)layers * (size_t)inner, sizeof *m->stack.layer);
    for (int i = 0; own && i < groups * inner; i++) {
        const struct part_name group = part_numbered(cx, base, encoder_names(m->kind).stack, i / inner),
                               name = part_numbered(cx, group.s, "albert_layers", i % inner);
        if (!encoder_make_layer(cx, config, set, name.s, m, &own[i])) return false;
        own[i].keeps_hidden = true;
    }
    if (heed_failed(cx)) return false;
    m->stack.layers = layers * inner;
    for (int i = 0; i < m->stack.layers; i++) {
        const int group = (int)(i / inner / ((double)layers / groups));
        m->stack.layer[i] = own[group * inner + i % inner];
        m->stack.layer[i].number = i;
    }
    return true;
}

static const struct encoder_layout albert_layout = {
    .from = &bert_layout,
    .key = {.embedding = "embedding_size"},
    .stack = "encoder.albert_layer_groups",
    .layer = {.qkv = {"attention.query", "attention.key", "attention.value"},
              .out = "attention.dense",
              .norm1 = "attention.LayerNorm",
              .up = "ffn",
              .down = "ffn_output",
              .norm2 = "full_layer_layer_norm"},
    .project = "encoder.embedding_hidden_mapping_in",
    .pooler = "pooler",
    .masked = {.dense = "predictions.dense",
               .norm = "predictions.LayerNorm",
               .decoder = "predictions.decoder",
               .bias = "predictions.bias"},
    .sentence = {.dropout = "classifier_dropout_prob", .out = "sop_classifier.classifier"},
    .sentence_logits = "sop_logits",
    .sentence_label = "sentence_order_label",
    .classify = {.dropout = "classifier_dropout_prob"},
    .choose = {.dropout = "classifier_dropout_prob"},
    .tag = {.dropout = "classifier_dropout_prob"},
};
static const struct encoder_kind albert_kind = {
    .layout = &albert_layout, .make_stack = make_groups, .projects = true, .segments = true};

static const heed_key albert_keys[] = {
    {"embedding_size", HEED_KEY_INT, "128", "width of embeddings"},
    BERT_KEYS("30000", "4096", "64", "16384", "gelu_new", "0", "0"),
    {"num_hidden_groups", HEED_KEY_INT, "1", "number of groups of layers; those of a group share their parameters"},
    {"inner_group_num", HEED_KEY_INT, "1", "number of layers in a group"},
    SEGMENT_KEYS,
    END_OF_KEYS,
};
#define DROPOUT_KEY                                                                                                    \
    {                                                                                                                  \
        "classifier_dropout_prob", HEED_KEY_NUMBER_OR_NULL, "0.1",                                                     \
            "dropout before the classifier; null: hidden_dropout_prob"                                                 \
    }
static const heed_key albert_pretrain_keys[] = {TIED_KEY, DROPOUT_KEY, NUM_LABELS_KEY, END_OF_KEYS};
static const heed_key albert_classify_keys[] = {LABEL_KEYS, DROPOUT_KEY, END_OF_KEYS};
static const heed_key albert_tag_keys[] = {NUM_LABELS_KEY, DROPOUT_KEY, END_OF_KEYS};
static const heed_key albert_choose_keys[] = {DROPOUT_KEY, END_OF_KEYS};

/* transformers makes the head of the order as wide as there are labels, and its loss wants 2. */
static bool albert_pretrain(heed_ctx *cx, const heed_build *b, void *own) {
    const int64_t labels = config_labels(cx, b->config);
    if (!heed_failed(cx) && labels != 2)
        return heed_fail(cx, HEED_ERR_FORMAT, "num_labels: the order of sentences has 2, not %lld", (long long)labels);
    return encoder_build_pretrain(cx, b, own);
}

static const heed_head albert_heads[] = {
    ENCODER_HEADS("Albert", ENCODER_INPUTS, albert_classify_keys, albert_tag_keys, num_labels_keys, albert_choose_keys),
    {"AlbertForPreTraining", "pretrain", ENCODER_INPUTS " labels sentence_order_label", .keys = albert_pretrain_keys,
     .build = albert_pretrain, ENCODER_RUN(pretrain)},
    {.architecture = NULL},
};

const heed_family family_albert = {
    .name = "albert",
    .type = "albert",
    .base = "albert",
    .paper = "Lan et al. 2020",
    .summary = "BERT whose layers share their parameters, with narrow embeddings",
    .notes =
        "Parameters have the names of transformers' classes, with albert. at the beginning except in the bare model: "
        "albert.encoder.albert_layer_groups.G.albert_layers.I.attention.query.weight.",
    .keys = albert_keys,
    .heads = albert_heads,
    .ignored = encoder_ignored,
    .kind = &albert_kind,
    .size = sizeof(struct encoder),
};
