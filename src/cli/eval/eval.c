/* heed eval: loss and metric of a model on a data set. */
#include "base/text.h"
#include "cli/classical/hmm.h"
#include "cli/classical/ngram.h"
#include "cli/core/data_options.h"
#include "cli/core/decoding_options.h"
#include "cli/core/figure_options.h"
#include "cli/core/series_options.h"
#include "cli/core/table_options.h"
#include "cli/train/train.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH", .help = "as for heed train"},
    {.name = "part", .kind = HEED_FIELD_CHOICE, .standard = "test", .value = "PART", .choices = "test val train",
     .help = "of a directory, digits or series over time, one of"},
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of a table to predict, as in training: name or number, several as a,b"},
    {.name = "text", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "of a table of texts, the column of the text: name or number; by default the first"},
    {.name = "pair", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of a second text; by default the second of three"},
    {.name = "max-length", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "truncate texts to N tokens; 0: to as many as the model has positions. Of masked words: tokens of a "
             "sequence; 0: 128. Of language models: of a window; 0: 256"},
    {.name = "choices", .kind = HEED_FIELD_TEXT, .value = "COLUMNS",
     .help = "of multiple choice: the columns of the choices as a,b; by default all but text and target"},
    {.name = "stride", .kind = HEED_FIELD_INT, .standard = "128", .value = "N", .low = 1, .high = 1e9,
     .help = "of questions: tokens that two windows over a long context share"},
    {.name = "max-answer", .kind = HEED_FIELD_INT, .standard = "30", .value = "N", .low = 1, .high = 1e9,
     .help = "of questions: maximum tokens of an answer"},
    {.name = "masked", .kind = HEED_FIELD_NUMBER, .standard = "0.15", .value = "X", .low = 0.001, .high = 1,
     .help = "fraction of the words to mask"},
    {.name = "span", .kind = HEED_FIELD_NUMBER, .standard = "3", .value = "X", .low = 1, .high = 1e6,
     .help = "of text to text: mean length of the spans to predict, in tokens"},
    {.name = "prefix", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "of text to text: before every source; by default what config.json says"},
    {.name = "max-target", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e9,
     .help = "of text to text: truncate targets to N tokens; 0: as sources"},
    {.name = "decode", .kind = HEED_FIELD_INT, .standard = "100", .value = "N", .high = 1e9,
     .help = "of text to text: number of pairs that are decoded to measure ROUGE-L"},
    {.name = "whole-words", .help = "mask all tokens of a word or none"},
    {.name = "carry-state", .help = "of recurrent language models: start each window of the text from the state in which "
                                    "the last one ended"},
    {.name = "documents", .help = "of language models: the text is documents, separated by blank lines, each read alone"},
    {.name = "document-separator", .kind = HEED_FIELD_TEXT, .value = "TEXT",
     .help = "of language models: the line that separates documents, instead of blank lines"},
    FILL_OPTION,
    {.name = "tables", .kind = HEED_FIELD_TABLE, .table = table_options},
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .standard = "500", .value = "N", .low = 1, .high = 1e9,
     .help = "examples at a time"},
    {.name = "beam", .kind = HEED_FIELD_INT, .standard = "5", .value = "N", .low = 1, .high = 1024,
     .help = "beam width of translation; 1: greedy decoding"},
    LENGTH_PENALTY_OPTION,
    {.name = "by-length", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e6,
     .help = "of translation: BLEU by the number of words of the source, too, N lengths together"},
    {.name = "log", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "write that as one JSON object per line, for 'heed plot --x words'"},
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* By the first task that the model's head is for. */
static void evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    if (ngram_is(dir)) {
        ngram_evaluate(o, cx, dir, path);
        return;
    }
    if (hmm_is(dir)) {
        hmm_evaluate(o, cx, dir, path);
        return;
    }
    const heed_head *head = heed_head_of(cx, dir);
    const struct train_task *task = NULL;
    for (const char *at = head ? head->tasks : ""; *at && !task; at += strcspn(at, " "), at += strspn(at, " ")) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        task = train_find_task(strcmp(name, "pretrain") == 0 ? "mlm" : strcmp(name, "distil") == 0 ? "classify" : name);
    }
    if (task && task->text && text_among(head->inputs, "input_ids")) task = task->text;
    if (task && task->pictures && text_among(head->inputs, "pixel_values")) task = task->pictures;
    if (task)
        task->evaluate(o, cx, dir, path);
    else if (head)
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s is for no task that heed measures", dir, head->architecture);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("eval", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    const char *path = option_need(o, "data");
    bool usage = path && table_usage(o) && pictures_fit(o);
    if (usage && option_given(o, "log") && !option_given(o, "by-length")) {
        cli_error(EXIT_USAGE, "eval: --log goes with --by-length");
        usage = false;
    }
    int status = usage ? EXIT_FAILED : EXIT_USAGE;
    heed_ctx *cx = usage ? options_open(o) : NULL;
    if (cx) {
        evaluate(o, cx, options_word(o, 0), path);
        status = options_close(o, cx, EXIT_DONE);
    }
    options_free(o);
    return status;
}

const struct command eval_command = {
    .name = "eval",
    .summary = "loss and the task's metrics on a data set",
    .words = "DIR",
    .about =
        "Measures a model on a data set. For classes: accuracy and cross entropy, precision, recall and F1 of each "
        "class with their averages, as scikit-learn's classification_report has them, and the confusion matrix; of "
        "pictures with more than 5 classes the top-5 accuracy too. For "
        "numbers: R^2, the mean squared error, and R^2, mean absolute error (MAE) and root mean squared error (RMSE) "
        "of each output. For tagged words: as for classes, over words, and F1 over chunks where the tags are those of "
        "chunks. For questions about a text: F1 and exact match as SQuAD's official script computes them. For multiple "
        "choice: accuracy. For series over time: MAE and MSE of the forecasts, MASE, and those of repeating the last "
        "season; of quantiles the pinball loss and how often the band holds. For masked words: their perplexity and "
        "accuracy, with a fixed masking. For language models: "
        "perplexity and bits per byte of the text. For text to text: perplexity and, of pairs, ROUGE-L. For "
        "translation: "
        "BLEU "
        "and the cross entropy of a token. --png, --svg and --pdf draw the confusion matrix, predicted against true "
        "numbers or, of series over time, the errors by steps ahead. The columns of a table with a header are found by "
        "the names of those it was "
        "trained on.",
    .options = options,
    .examples = "heed eval out --data test.csv\nheed eval mnist-mlp --data mnist --png confusion.png\n"
                "heed eval photos-vit --data photos.tar.gz --part val\n"
                "heed eval mnist-mlp --data mnist --json\nheed eval en-de --data multi30k --beam 5\n"
                "heed eval en-de --data multi30k --by-length 5 --log lengths.log\n"
                "heed eval encoder --data other.txt\n",
    .run = run,
};
