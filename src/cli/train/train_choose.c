/* heed train choose: multiple choice. train_text.c does the work. */
#include "cli/core/table_options.h"
#include "cli/train/train.h"

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "a table of texts, choices and the right one (tsv or csv, also .gz), or a directory with train, dev and "
             "test files"},
    TEXT_PART_OPTIONS("questions"),
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of the right choice's number (from 0 where there is a 0, else from 1) or letter: name or "
             "number; by default the last"},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of the text or question: name or number; by default the first"},
    {.name = "choices", .kind = HEED_FIELD_TEXT, .value = "COLUMNS",
     .help = "the columns of the choices as a,b; by default all but text and target"},
    {.name = "separator", .kind = HEED_FIELD_TEXT, .value = "CHARACTER",
     .help = "what separates the columns: a character, or the word tab or space; by default found in the first lines"},
    TEXT_TRAIN_OPTIONS("questions"),
    {.name = NULL},
};
/* clang-format on */

static bool separator_ok(struct train_run *r) { return table_separator_ok(r->o); }

const struct train_task train_choose = {
    .page = {.name = "choose",
             .summary = "multiple choice",
             .about =
                 "Trains an encoder to choose one of several texts that belongs to a first one, as an answer to its "
                 "question: each choice is read together with the text, as in transformers' run_swag example, and has "
                 "one score. All lines of a table have as many choices. The metric is the accuracy.",
             .options = options,
             .examples = "heed train choose --data swag --init bert-base-uncased --out chooser\n"
                         "heed train choose --data quiz.csv --text question --choices a,b,c,d --target answer "
                         "--init all-MiniLM-L6-v2 --out quiz\n"},
    .next = "choose",
    .usage = separator_ok,
    .next_how = "   (question and choices on standard input, separated by tabs)",
    .text = &train_text,
};
