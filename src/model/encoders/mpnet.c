/* MPNet (Song et al. 2020): RoBERTa's encoder without segments, with T5's bias of scores by distance, the same in all
 * layers. Names and config keys are those of transformers, and two of its constants: the padding token is 1 and there
 * are 32 buckets of distances, whatever the config says. encoder.h says what it computes. */
#include "model/encoders/encoder.h"

static bool make_stack(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct encoder *m) {
    if (!encoder_make_stack(cx, config, set, base, m)) return false;
    const int64_t buckets = config_int(cx, config, "relative_attention_num_buckets", DISTANCE_BUCKETS, MAX_SIZE),
                  heads = config_int(cx, config, "num_attention_heads", 1, MAX_SIZE);
    heed_embedding_layer table = {0};
    if (heed_failed(cx) || !part_embedding(cx, set, part_under(cx, base, "encoder").s, "relative_attention_bias",
                                           buckets, heads, m->init, &table))
        return false;
    m->distance = table.weight;
    return true;
}

static const struct encoder_layout mpnet_layout = {
    .from = &roberta_layout,
    .layer = {.qkv = {"attention.attn.q", "attention.attn.k", "attention.attn.v"},
              .out = "attention.attn.o",
              .norm1 = "attention.LayerNorm"},
    .classify = {.dropout = "hidden_dropout_prob"},
    .tag = {.dropout = "hidden_dropout_prob"},
};
static const struct encoder_kind mpnet_kind = {.layout = &mpnet_layout,
                                               .make_stack = make_stack,
                                               .from_padding = true,
                                               .padding = 1,
                                               .masked_gelu = true,
                                               .dense_act = HEED_ACT_TANH,
                                               .drops_first = true};

static const heed_key mpnet_keys[] = {
    BERT_KEYS("30527", "768", "12", "3072", "gelu", "0.1", "1"),
    {"relative_attention_num_buckets", HEED_KEY_INT, "32", "rows of the table of biases, of which 32 are used"},
    END_OF_KEYS,
};
static const heed_head mpnet_heads[] = {
    ENCODER_HEADS("MPNet", PLAIN_INPUTS, label_keys, num_labels_keys, num_labels_keys, NULL), {.architecture = NULL}};

const heed_family family_mpnet = {
    .name = "mpnet",
    .type = "mpnet",
    .base = "mpnet",
    .paper = "Song et al. 2020",
    .summary = "an encoder with biases by distance, pre-trained on masked and permuted words",
    .notes =
        "Parameters have the names of transformers' classes, with mpnet. at the beginning except in the bare model: "
        "mpnet.encoder.layer.N.attention.attn.q.weight. As in transformers the padding token is 1, whatever "
        "pad_token_id is, and a sequence may have max_position_embeddings - 2 tokens. There are no segments.",
    .keys = mpnet_keys,
    .heads = mpnet_heads,
    .ignored = encoder_ignored,
    .kind = &mpnet_kind,
    .size = sizeof(struct encoder),
};
