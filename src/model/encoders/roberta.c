/* RoBERTa (Liu et al. 2019), XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et al. 2020): BERT whose positions
 * count from the padding token, p + 1, p + 2, …, with p for padding tokens, and without next sentences. The three
 * differ in their vocabularies only. Names and config keys are those of transformers; encoder.h says what they compute,
 * with pooled = tanh(W_d h_0 + b_d)                          W_d of the classifier's own, for classes */
#include "model/encoders/encoder.h"

const struct encoder_layout roberta_layout = {
    .from = &bert_layout,
    .masked = {.dense = "lm_head.dense",
               .norm = "lm_head.layer_norm",
               .decoder = "lm_head.decoder",
               .bias = "lm_head.bias"},
    .classify = {.dense = "classifier.dense", .out = "classifier.out_proj"},
    .choose = {.dropout = "hidden_dropout_prob"},
};

static const struct encoder_kind roberta_kind = {.layout = &roberta_layout,
                                                 .segments = true,
                                                 .from_padding = true,
                                                 .masked_gelu = true,
                                                 .dense_act = HEED_ACT_TANH,
                                                 .drops_first = true};
#define HEADS(Name)                                                                                                    \
    ENCODER_HEADS(Name, ENCODER_INPUTS, bert_classify_keys, bert_tag_keys, num_labels_keys, NULL), {                   \
        .architecture = NULL                                                                                           \
    }

#define NOTES                                                                                                          \
    "Parameters have the names of transformers' classes, with roberta. at the beginning except in the bare model: "    \
    "roberta.encoder.layer.N.attention.self.query.weight. A sequence may have max_position_embeddings - pad_token_id " \
    "- 1 tokens."

/* ---- RoBERTa ---- */

static const heed_key roberta_keys[] = {BERT_KEYS("50265", "768", "12", "3072", "gelu", "0.1", "1"), SEGMENT_KEYS,
                                        END_OF_KEYS};
static const heed_head roberta_heads[] = {HEADS("Roberta")};

const heed_family family_roberta = {
    .name = "roberta",
    .type = "roberta",
    .base = "roberta",
    .paper = "Liu et al. 2019",
    .summary = "BERT pre-trained longer, on masked words alone",
    .notes = NOTES,
    .keys = roberta_keys,
    .heads = roberta_heads,
    .ignored = encoder_ignored,
    .kind = &roberta_kind,
    .size = sizeof(struct encoder),
};

/* ---- XLM-RoBERTa, CamemBERT ---- */

static const heed_key other_keys[] = {BERT_KEYS("30522", "768", "12", "3072", "gelu", "0.1", "1"), SEGMENT_KEYS,
                                      END_OF_KEYS};
static const heed_head xlm_roberta_heads[] = {HEADS("XLMRoberta")};
static const heed_head camembert_heads[] = {HEADS("Camembert")};

const heed_family family_xlm_roberta = {
    .name = "xlm-roberta",
    .type = "xlm-roberta",
    .base = "roberta",
    .paper = "Conneau et al. 2020",
    .summary = "RoBERTa for a hundred languages",
    .notes = NOTES,
    .keys = other_keys,
    .heads = xlm_roberta_heads,
    .ignored = encoder_ignored,
    .kind = &roberta_kind,
    .size = sizeof(struct encoder),
};

const heed_family family_camembert = {
    .name = "camembert",
    .type = "camembert",
    .base = "roberta",
    .paper = "Martin et al. 2020",
    .summary = "RoBERTa for French",
    .notes = NOTES,
    .keys = other_keys,
    .heads = camembert_heads,
    .ignored = encoder_ignored,
    .kind = &roberta_kind,
    .size = sizeof(struct encoder),
};
