/* BERT (Devlin et al. 2019), and ERNIE (Sun et al. 2020), which may add an embedding of the task: names and config keys
 * are those of transformers. encoder.h says what they compute. */
#include "model/encoders/encoder.h"

/* The heads that these two have beside those of all encoders. */
#define BERT_HEADS(Name, inputs_)                                                                                      \
    ENCODER_HEADS(Name, inputs_, bert_classify_keys, bert_tag_keys, num_labels_keys, bert_choose_keys),                \
        {Name "ForPreTraining", "pretrain", inputs_ " labels next_sentence_label", .keys = encoder_masked_keys,        \
         ENCODER(pretrain)},                                                                                           \
        {Name "ForNextSentencePrediction", "nsp", inputs_ " labels", ENCODER(sentence)}, {                             \
        .architecture = NULL                                                                                           \
    }

/* ---- BERT ---- */

static const struct encoder_kind bert_kind = {.layout = &bert_layout, .segments = true};
static const heed_key bert_keys[] = {BERT_KEYS("30522", "768", "12", "3072", "gelu", "0.1", "0"), SEGMENT_KEYS,
                                     END_OF_KEYS};
static const heed_head bert_heads[] = {BERT_HEADS("Bert", ENCODER_INPUTS)};

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
    .kind = &bert_kind,
    .size = sizeof(struct encoder),
};

/* ---- ERNIE ---- */

static const struct encoder_kind ernie_kind = {.layout = &bert_layout, .segments = true, .tasks = true};
static const heed_key ernie_keys[] = {
    BERT_KEYS("30522", "768", "12", "3072", "gelu", "0.1", "0"),
    SEGMENT_KEYS,
    {"use_task_id", HEED_KEY_BOOL, "false", "an embedding of task_type_ids is added too"},
    {"task_type_vocab_size", HEED_KEY_INT, "3", "number of tasks (task_type_ids)"},
    END_OF_KEYS,
};
static const heed_head ernie_heads[] = {BERT_HEADS("Ernie", ENCODER_INPUTS " task_type_ids")};

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
    .kind = &ernie_kind,
    .size = sizeof(struct encoder),
};
