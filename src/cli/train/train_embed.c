/* heed train embed: encoders whose vectors of texts that belong together are alike. train_text.c does the work. */
#include "cli/train/train.h"

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "a table of pairs of texts (tsv or csv, also .gz), or a directory with train, dev and test files"},
    TEXT_PART_OPTIONS("pairs"),
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of the first text: name or number; by default 1"},
    {.name = "pair", .kind = HEED_FIELD_TEXT, .value = "COLUMN", .help = "the column of the second text; by default 2"},
    {.name = "temperature", .kind = HEED_FIELD_NUMBER, .standard = "0.05", .value = "X", .low = 0.0001, .high = 1000,
     .help = "the cosine similarities are divided by it"},
    TEXT_TRAIN_OPTIONS("pairs"),
    {.name = "micro-batch", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "pairs per backward pass, to save memory; only these are compared with each other"},
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_embed = {
    .page = {.name = "embed",
             .summary = "vectors of texts from pairs that belong together",
             .about =
                 "Trains an encoder so that the vectors of two texts that belong together (a question and its answer, "
                 "a sentence and its paraphrase) are alike, and unlike those of the other pairs in the batch: the "
                 "contrastive loss with in-batch negatives, MultipleNegativesRankingLoss in sentence-transformers. The "
                 "vector of a text is the mean of its last hidden states, normalised. The metric is how often the "
                 "right one of 64 second texts is the most similar. The result opens in SentenceTransformer(DIR).",
             .options = options,
             .examples = "heed train embed --data pairs.tsv --init all-MiniLM-L6-v2 --out vectors\n"
                         "heed train embed --data questions.csv --text question --pair answer --init bert-base-uncased "
                         "--batch 64 --out vectors\n"
                         "heed embed vectors < texts.txt\n"},
    .text = &train_text,
};
