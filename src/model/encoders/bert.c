/* BERT (Devlin et al. 2019), and ERNIE (Sun et al. 2020), which may add an embedding of the task: names and config keys
 * are those of transformers. encoder.h says what they compute. */
#include "model/encoders/encoder.h"

#define BERT_KIND(base_, tasks_)                                                                                       \
    {                                                                                                                  \
        .base = base_, .key = {BERT_CONFIG}, .stack = "encoder.layer", .layer = {BERT_LAYER},                          \
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

static const heed_key bert_classify_keys[] = {LABEL_KEYS, CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};
static const heed_key bert_tag_keys[] = {NUM_LABELS_KEY, CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};
static const heed_key bert_answer_keys[] = {NUM_LABELS_KEY, END_OF_KEYS};
static const heed_key bert_choose_keys[] = {CLASSIFIER_DROPOUT_KEY, END_OF_KEYS};

/* The heads that these two have beside those of all encoders. */
#define BERT_HEADS(family, Name, inputs_)                                                                              \
    {Name "ForPreTraining", "pretrain", inputs_ " labels next_sentence_label", .keys = encoder_masked_keys,            \
     ENCODER_RUN(family, pretrain)},                                                                                   \
        {Name "ForNextSentencePrediction", "nsp", inputs_ " labels", ENCODER_RUN(family, sentence)}, {                 \
        .architecture = NULL                                                                                           \
    }

/* ---- BERT ---- */

static const struct encoder_kind bert_kind = BERT_KIND("bert", false);
static const heed_key bert_keys[] = {BERT_KEYS("30522", "768", "12", "3072", "gelu", "0.1", "0"), SEGMENT_KEYS,
                                     END_OF_KEYS};
ENCODER_BUILDS(bert)
ENCODER_BUILD(bert, pretrain)
ENCODER_BUILD(bert, sentence)
static const heed_head bert_heads[] = {ENCODER_HEADS(bert, "Bert", ENCODER_INPUTS),
                                       BERT_HEADS(bert, "Bert", ENCODER_INPUTS)};

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

#define ernie_classify_keys bert_classify_keys
#define ernie_tag_keys      bert_tag_keys
#define ernie_answer_keys   bert_answer_keys
#define ernie_choose_keys   bert_choose_keys
static const struct encoder_kind ernie_kind = BERT_KIND("ernie", true);
static const heed_key ernie_keys[] = {
    BERT_KEYS("30522", "768", "12", "3072", "gelu", "0.1", "0"),
    SEGMENT_KEYS,
    {"use_task_id", HEED_KEY_BOOL, "false", "an embedding of task_type_ids is added too"},
    {"task_type_vocab_size", HEED_KEY_INT, "3", "number of tasks (task_type_ids)"},
    END_OF_KEYS,
};
ENCODER_BUILDS(ernie)
ENCODER_BUILD(ernie, pretrain)
ENCODER_BUILD(ernie, sentence)
static const heed_head ernie_heads[] = {ENCODER_HEADS(ernie, "Ernie", ENCODER_INPUTS " task_type_ids"),
                                        BERT_HEADS(ernie, "Ernie", ENCODER_INPUTS " task_type_ids")};

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
