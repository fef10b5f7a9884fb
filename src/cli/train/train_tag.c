/* heed train tag: tags of words. train_text.c does the work. */
#include "cli/classical/hmm.h"
#include "cli/core/table_options.h"
#include "cli/train/train.h"
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "words and tags, one word a line and a blank line between sentences (also .gz), or a directory with "
             "train, dev and test files"},
    TEXT_PART_OPTIONS("sentences"),
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the number of the column of the tag; by default the last"},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the number of the column of the word; by default 1"},
    {.name = "separator", .kind = HEED_FIELD_TEXT, .value = "CHARACTER",
     .help = "what separates the columns: a character, or the word tab or space; by default tabs, or blanks where "
             "there are none"},
    SPLIT_OPTION(SPLIT_MARKS, "for 'heed tag', the data being words already; "),
    CLASS_WEIGHTS_OPTION,
    TEXT_TRAIN_OPTIONS("sentences"),
    {.name = "hidden Markov models (--model hmm)", .kind = HEED_FIELD_GROUP},
    {.name = "baum-welch", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e6,
     .help = "after counting, N steps of Baum-Welch over the words without their tags"},
    {.name = "unsupervised", .help = "begin Baum-Welch with chance instead of counts; states are then named by the tag "
                                     "that most of their words have"},
    {.name = NULL},
};
/* clang-format on */

static bool counts(struct options *o, int *status) {
    if (strcmp(option_text(o, "model"), "hmm") != 0) return false;
    *status = table_separator_ok(o) ? hmm_train(o) : EXIT_USAGE;
    return true;
}

static bool separator_ok(struct train_run *r) { return table_separator_ok(r->o); }

const struct train_task train_tag = {
    .page = {.name = "tag",
             .summary = "a tag for each word",
             .about =
                 "Trains an encoder to tag words (parts of speech, names). Words are encoded one by one with the "
                 "model's tokenizer, and the first token of each word is classified, as transformers' run_ner example "
                 "does. The metric is the accuracy over words; where the tags are those of chunks (O, B-PER, I-PER, "
                 "also E- and S-) it is the F1 score over chunks, as seqeval and conlleval compute it.\n\n"
                 "--model hmm counts a hidden Markov model instead (Rabiner 1989), which takes a second: tags follow "
                 "tags, words follow from tags, and unknown words are known by their capital and last letters.",
             .options = options,
             .examples = "heed train tag --data conll --init bert-base-cased --out ner\n"
                         "heed train tag --data ud-ewt --target 2 --init all-MiniLM-L6-v2 --out tagger\n"
                         "heed train tag --data train.tsv --test test.tsv --model distilbert --out tagger\n"
                         "heed train tag --data ud-ewt --target 2 --model hmm --out tagger\n"},
    .next = "tag",
    .usage = separator_ok,
    .next_how = "   (sentences on standard input)",
    .other = counts,
    .text = &train_text,
};
