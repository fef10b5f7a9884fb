/* heed train qa: questions about a text. train_text.c does the work. */
#include "cli/train/train.h"

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "JSON in the form of SQuAD 1.1 or 2.0 (also .gz), or a directory with train and dev files"},
    TEXT_PART_OPTIONS("questions"),
    {.name = "stride", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens that two windows over a long context share"},
    {.name = "max-answer", .kind = HEED_FIELD_INT, .standard = "30", .value = "N", .low = 1, .high = 1e9,
     .help = "maximum tokens of an answer that is predicted"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "384", .value = "N", .low = 1, .high = 1e9,
     .help = "tokens of a window, question and special tokens included; at most as many as the model has positions"},
    TEXT_TRAIN_OPTIONS("windows"),
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_qa = {
    .page = {.name = "qa",
             .summary = "answers to questions, as parts of a text",
             .about =
                 "Trains an encoder to find the answer to a question in a context: its first and its last token. A "
                 "context that is too long is read in windows that overlap by --stride tokens, as in transformers' "
                 "run_qa example; a window that does not hold the answer has none. Data have the form of SQuAD "
                 "(Rajpurkar et al. 2016); with questions that have no answer, that of version 2.0. The metrics are F1 "
                 "and exact match as SQuAD's official script computes them.",
             .options = options,
             .examples = "heed train qa --data squad --init bert-base-uncased --epochs 2 --out reader\n"
                         "heed train qa --data train-v2.0.json --test dev-v2.0.json --init all-MiniLM-L6-v2 "
                         "--out reader\n"},
    .next = "answer",
    .next_how = "   (question TAB context on standard input)",
    .text = &train_text,
};
