/* DistilBERT (Sanh et al. 2019): BERT with half the layers, without segments and pooler, trained to predict what BERT
 * predicts. Names and config keys are those of transformers; encoder.h says what it computes, with
 *     pooled = relu(W_d h_0 + b_d) */
#include "model/encoders/encoder.h"

static const struct encoder_layout distilbert_layout = {
    .from = &bert_layout,
    .key = {.width = "dim",
            .layers = "n_layers",
            .heads = "n_heads",
            .hidden = "hidden_dim",
            .act = "activation",
            .dropout = "dropout",
            .attention_dropout = "attention_dropout",
            .eps = ""},
    .stack = "transformer.layer",
    .layer = {.qkv = {"attention.q_lin", "attention.k_lin", "attention.v_lin"},
              .out = "attention.out_lin",
              .norm1 = "sa_layer_norm",
              .up = "ffn.lin1",
              .down = "ffn.lin2",
              .norm2 = "output_layer_norm"},
    .pooler = "",
    .masked = {.dense = "vocab_transform", .norm = "vocab_layer_norm", .decoder = "vocab_projector", .bias = ""},
    .classify = {.dense = "pre_classifier", .dropout = "seq_classif_dropout"},
    .choose = {.dense = "pre_classifier", .dropout = "seq_classif_dropout"},
    .tag = {.dropout = "dropout"},
    .answer = {.dropout = "qa_dropout"},
};
static const struct encoder_kind distilbert_kind = {
    .layout = &distilbert_layout, .keeps_attention = true, .dense_act = HEED_ACT_RELU};

static const heed_key distilbert_keys[] = {
    {"vocab_size", HEED_KEY_INT, "30522", "number of tokens"},
    {"max_position_embeddings", HEED_KEY_INT, "512", "number of positions"},
    {"sinusoidal_pos_embds", HEED_KEY_BOOL, "false", "no effect: files hold the positions, whatever they began as"},
    {"n_layers", HEED_KEY_INT, "6", "number of layers"},
    {"n_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},
    {"dim", HEED_KEY_INT, "768", "width"},
    {"hidden_dim", HEED_KEY_INT, "3072", "width of the feed-forward layer"},
    {"dropout", HEED_KEY_NUMBER, "0.1", "dropout of embeddings and of the feed-forward layer's output"},
    {"attention_dropout", HEED_KEY_NUMBER, "0.1", "dropout of attention weights"},
    {"activation", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"pad_token_id", HEED_KEY_INT_OR_NULL, "0", "padding token"},
    END_OF_KEYS,
};
#define DROPOUT_KEY                                                                                                    \
    { "seq_classif_dropout", HEED_KEY_NUMBER, "0.2", "dropout before the classifier" }
static const heed_key distilbert_classify_keys[] = {LABEL_KEYS, DROPOUT_KEY, END_OF_KEYS};
static const heed_key distilbert_answer_keys[] = {
    NUM_LABELS_KEY, {"qa_dropout", HEED_KEY_NUMBER, "0.1", "dropout before the last layer"}, END_OF_KEYS};
static const heed_key distilbert_choose_keys[] = {DROPOUT_KEY, END_OF_KEYS};

static const heed_head distilbert_heads[] = {
    ENCODER_HEADS("DistilBert", PLAIN_INPUTS, distilbert_classify_keys, num_labels_keys, distilbert_answer_keys,
                  distilbert_choose_keys),
    {.architecture = NULL},
};

const heed_family family_distilbert = {
    .name = "distilbert",
    .type = "distilbert",
    .base = "distilbert",
    .paper = "Sanh et al. 2019",
    .summary = "BERT with half the layers, distilled",
    .notes = "Parameters have the names of transformers' classes, with distilbert. at the beginning except in the bare "
             "model: distilbert.transformer.layer.N.attention.q_lin.weight. There are no segments.",
    .keys = distilbert_keys,
    .heads = distilbert_heads,
    .ignored = encoder_ignored,
    .kind = &distilbert_kind,
    .size = sizeof(struct encoder),
};
