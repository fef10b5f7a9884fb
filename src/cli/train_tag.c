/* heed train tag: tags of words. train_text.c does the work. */
#include "cli/tables.h"
#include "cli/train.h"

/* clang-format off */
static const struct option options[] = {
    {.name = "data", .kind = OPTION_GROUP},
    {.name = "data", .letter = 'd', .kind = OPTION_FILE, .value = "PATH",
     .help = "words and tags, one word a line and a blank line between sentences (also .gz), or a directory with "
             "train, dev and test files"},
    {.name = "test", .kind = OPTION_FILE, .value = "PATH",
     .help = "test data, measured once at the end; by default a directory's own test file"},
    {.name = "valid", .kind = OPTION_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "fraction of the sentences held out for validation; by default 0.1, where no file holds them"},
    {.name = "target", .letter = 't', .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "the number of the column of the tag; by default the last"},
    {.name = "text", .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "the number of the column of the word; by default 1"},
    {.name = "separator", .kind = OPTION_TEXT, .value = "CHARACTER",
     .help = "what separates the columns: a character, or the word tab or space; by default tabs, or blanks where "
             "there are none"},
    {.name = "texts", .kind = OPTION_TABLE, .table = text_options},
    {.name = "shared", .kind = OPTION_TABLE, .table = train_options},
    {.name = "model", .letter = 'm', .kind = OPTION_TEXT, .standard = "bert", .value = "FAMILY",
     .help = "model family; 'heed list' shows them"},
    {.name = "epochs", .letter = 'e', .kind = OPTION_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "number of passes over the training data; by default 10, with --init 3"},
    {.name = "batch", .letter = 'b', .kind = OPTION_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "sentences per update; by default 32"},
    {.name = "lr", .letter = 'l', .kind = OPTION_NUMBER, .value = "X", .high = 1e6,
     .help = "peak learning rate; by default 5e-4, with --init 5e-5"},
    {.name = NULL},
};
/* clang-format on */

static bool separator_ok(struct train_run *r) {
    const char *given = option_text(r->o, "separator");
    if (!given || table_separator(r->o)) return true;
    cli_error(EXIT_USAGE, "train tag: --separator: '%s' is not a character, tab or space", given);
    return false;
}

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
