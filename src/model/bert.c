/* BERT (Devlin et al. 2019), and ERNIE (Sun et al. 2020), which may add an embedding of the task: names and config keys
 * are those of transformers. encoder.h says what they compute. */
#include "model/encoder.h"

#define BERT_KIND(base_, tasks_)                                                                                       \
    {                                                                                                                  \
        .base = base_,                                                                                                 \
        .key = {.width = "hidden_size",                                                                                \
                .layers = "num_hidden_layers",                                                                         \
                .heads = "num_attention_heads",                                                                        \
                .hidden = "intermediate_size",                                                                         \
                .act = "hidden_act",                                                                                   \
                .dropout = "hidden_dropout_prob",                                                                      \
                .attention_dropout = "attention_probs_dropout_prob",                                                   \
                .eps = "layer_norm_eps"},                                                                              \
        .stack = "encoder.layer",                                                                                      \
        .layer = {.qkv = {"attention.self.query", "attention.self.key", "attention.self.value"},                       \
                  .out = "attention.output.dense",                                                                     \
                  .norm1 = "attention.output.LayerNorm",                                                               \
                  .up = "intermediate.dense",                                                                          \
                  .down = "output.dense",                                                                              \
                  .norm2 = "output.LayerNorm"},                                                                        \
        .pooler = "pooler.dense", .segments = true, .tasks = tasks_,                                                   \
        .masked = {.dense = "cls.predictions.transform.dense",                                                         \
                   .norm = "cls.predictions.transform.LayerNorm",                                                      \
                   .decoder = "cls.predictions.decoder",                                                               \
                   .bias = "cls.predictions.bias"},                                                                    \
        .sentence = {.out = "cls.seq_relationship"}, .sentence_logits = "seq_relationship_logits",                     \
        .sentence_label = "next_sentence_label", .classify = {.dropout = "classifier_dropout", .out = "classifier"},   \
        .choose = {.dropout = "classifier_dropout", .out = "classifier"},                                              \
        .tag = {.dropout = "classifier_dropout", .out = "classifier"}, .answer = {.out = "qa_outputs"},                \
    }

#define BERT_KEYS                                                                                                      \
    {"vocab_size", HEED_KEY_INT, "30522", "number of tokens"}, {"hidden_size", HEED_KEY_INT, "768", "width"},          \
        {"num_hidden_layers", HEED_KEY_INT, "12", "number of layers"},                                                 \
        {"num_attention_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},             \
        {"intermediate_size", HEED_KEY_INT, "3072", "width of the feed-forward layer"},                                \
        {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},                                    \
        {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.1", "dropout of embeddings and of the sublayers' outputs"},        \
        {"attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.1", "dropout of attention weights"},                      \
        {"max_position_embeddings", HEED_KEY_INT, "512", "maximum sequence length"},                                   \
        {"type_vocab_size", HEED_KEY_INT, "2", "number of segments (token_type_ids)"},                                 \
        {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},                         \
        {"layer_norm_eps", HEED_KEY_NUMBER, "1e-12", "epsilon of layer norms"},                                        \
        {"pad_token_id", HEED_KEY_INT_OR_NULL, "0", "padding token"},                                                  \
        {"is_decoder", HEED_KEY_BOOL, "false", "must be false"},                                                       \
        {"add_cross_attention", HEED_KEY_BOOL, "false", "must be false"}, {                                            \
        "position_embedding_type", HEED_KEY_TEXT, "absolute", "must be absolute"                                       \
    }

/* The heads of both: the class names begin alike. */
#define BERT_HEADS(family, Name, inputs_)                                                                              \
    {Name "ForMaskedLM", "mlm", inputs_ " labels", .keys = encoder_masked_keys, ENCODER_RUN(family, masked)},          \
        {Name "ForPreTraining", "pretrain", inputs_ " labels next_sentence_label", .keys = encoder_masked_keys,        \
         ENCODER_RUN(family, pretrain)},                                                                               \
        {Name "ForNextSentencePrediction", "nsp", inputs_ " labels", ENCODER_RUN(family, sentence)},                   \
        {Name "ForSequenceClassification", "classify regress", inputs_ " labels", .keys = encoder_classify_keys,       \
         ENCODER_RUN(family, classify)},                                                                               \
        {Name "ForTokenClassification", "tag", inputs_ " labels", .keys = encoder_tag_keys, ENCODER_RUN(family, tag)}, \
        {Name "ForQuestionAnswering", "qa", inputs_ " start_positions end_positions", .keys = encoder_number_keys,     \
         ENCODER_RUN(family, answer)},                                                                                 \
        {Name "ForMultipleChoice", "choose", inputs_ " labels", .keys = encoder_choose_keys,                           \
         ENCODER_RUN(family, choose)},                                                                                 \
        {Name "Model", "embed", inputs_, .bare = true, ENCODER_RUN(family, bare)}, {                                   \
        .architecture = NULL                                                                                           \
    }
#define BERT_BUILDS(family)                                                                                            \
    ENCODER_BUILD(family, bare)                                                                                        \
    ENCODER_BUILD(family, masked)                                                                                      \
    ENCODER_BUILD(family, pretrain)                                                                                    \
    ENCODER_BUILD(family, sentence)                                                                                    \
    ENCODER_BUILD(family, classify)                                                                                    \
    ENCODER_BUILD(family, choose)                                                                                      \
    ENCODER_BUILD(family, tag)                                                                                         \
    ENCODER_BUILD(family, answer)

/* ---- BERT ---- */

static const struct encoder_kind bert_kind = BERT_KIND("bert", false);
static const heed_key bert_keys[] = {BERT_KEYS, END_OF_KEYS};
BERT_BUILDS(bert)
static const heed_head bert_heads[] = {BERT_HEADS(bert, "Bert", ENCODER_INPUTS)};

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
        "of -100 do not count. Multiple choice takes inputs of shape (batch, choices, length).",
    .keys = bert_keys,
    .heads = bert_heads,
    .ignored = encoder_ignored,
    .size = sizeof(struct encoder),
};

/* ---- ERNIE ---- */

static const struct encoder_kind ernie_kind = BERT_KIND("ernie", true);
static const heed_key ernie_keys[] = {
    BERT_KEYS,
    {"use_task_id", HEED_KEY_BOOL, "false", "an embedding of task_type_ids is added too"},
    {"task_type_vocab_size", HEED_KEY_INT, "3", "number of tasks (task_type_ids)"},
    END_OF_KEYS,
};
BERT_BUILDS(ernie)
static const heed_head ernie_heads[] = {BERT_HEADS(ernie, "Ernie", ENCODER_INPUTS " task_type_ids")};

const heed_family family_ernie = {
    .name = "ernie",
    .type = "ernie",
    .base = "ernie",
    .paper = "Sun et al. 2020",
    .summary = "BERT with an embedding of the task, pre-trained on masked words and phrases",
    .notes =
        "Parameters are BERT's with ernie. at the beginning, and ernie.embeddings.task_type_embeddings.weight where "
        "use_task_id is true: task_type_ids are then added, task 0 where they are not given.",
    .keys = ernie_keys,
    .heads = ernie_heads,
    .ignored = encoder_ignored,
    .size = sizeof(struct encoder),
};
