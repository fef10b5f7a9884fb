/* heed train tag: tags of words. train_text.c does the work. */
#include "cli/tables.h"
#include "cli/train.h"

/* clang-format off */
static const struct option options[] = {
    {.name = "data", .kind = OPTION_GROUP},
    {.name = "data", .letter = 'd', .kind = OPTION_FILE, .value = "PATH",
     .help = "words and tags, one word a line and a blank line between sentences (also .gz), or a directory with "
             "train, dev and test files"},
    TEXT_PART_OPTIONS("sentences"),
    {.name = "target", .letter = 't', .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "the number of the column of the tag; by default the last"},
    {.name = "text", .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "the number of the column of the word; by default 1"},
    {.name = "separator", .kind = OPTION_TEXT, .value = "CHARACTER",
     .help = "what separates the columns: a character, or the word tab or space; by default tabs, or blanks where "
             "there are none"},
    TEXT_TRAIN_OPTIONS("sentences"),
    {.name = NULL},
};
/* clang-format on */

static bool separator_ok(struct train_run *r) { return table_separator_ok(r->o); }

const struct train_task train_tag = {
    .page = {.name = "tag",
             .summary = "a tag for each word",
             .about =
                 "Trains an encoder to tag words (parts of speech, names). Words are encoded one by one with the "
                 "model's tokenizer, and the first token of each word is classified, as transformers' run_ner example "
                 "does. The metric is the accuracy over words; where the tags are those of chunks (O, B-PER, I-PER, "
                 "also E- and S-) it is the F1 score over chunks, as seqeval and conlleval compute it.",
             .options = options,
             .examples = "heed train tag --data conll --init bert-base-cased --out ner\n"
                         "heed train tag --data ud-ewt --target 2 --init all-MiniLM-L6-v2 --out tagger\n"
                         "heed train tag --data train.tsv --test test.tsv --model distilbert --out tagger\n"},
    .next = "tag",
    .usage = separator_ok,
    .next_how = "   (sentences on standard input)",
    .text = &train_text,
};
