/* heed eval: loss and metric of a model on a data set. */
#include "base/text.h"
#include "cli/classical/hmm_use.h"
#include "cli/classical/ngram_use.h"
#include "cli/core/figure_options.h"
#include "cli/core/table_usage.h"
#include "cli/eval/eval_report.h"
#include "task/run.h"
#include "task/tables/table_fields.h"
#include "train/loop.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "PATH", .help = "as for heed train"},
    {.name = "part", .kind = HEED_FIELD_CHOICE, .standard = "test", .value = "PART", .choices = EVALUATE_PARTS,
     .help = "of a directory, digits or series over time, one of"},
    {.name = "measuring", .kind = HEED_FIELD_TABLE, .table = evaluate_fields},
    {.name = "tables", .kind = HEED_FIELD_TABLE, .table = table_fields},
    {.name = "against", .kind = HEED_FIELD_LIST, .value = "DIR",
     .help = "for --frequencies: another model, measured on the same pictures, beside the first in tables and curves"},
    {.name = "log", .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "write that as one JSON object per line, for 'heed plot --x words'"},
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

void report_score(const struct options *o, heed_ctx *cx, const heed_evaluation *e) {
    char text[512], examples[48];
    if (!option_flag(o, "json")) {
        score_text(text, sizeof text, e->metrics.list, &e->score);
        printf("%s (%s)\n", text, text_count(e->n, e->one, e->many, examples));
        return;
    }
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_int(cx, result, e->many, e->n);
    heed_json_put_number(cx, result, "loss", e->score.loss);
    for (int i = 0; e->metrics.list[i]; i++)
        heed_json_put_number(cx, result, e->metrics.list[i]->name, heed_score_value(&e->score, i));
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

/* By what was found. */
static void print(const struct options *o, heed_ctx *cx, const heed_evaluation *e) {
    const struct heed_evaluated *const more = e->more;
    if (e->truth)
        report_predictions(o, cx, e);
    else if (e->series)
        report_series(o, cx, e);
    else if (more && more->translation)
        report_translation(o, cx, e);
    else if (more && more->objects)
        report_objects(o, cx, e);
    else if (more && more->codes)
        report_codes(o, cx, e);
    else if (more && more->ngram)
        ngram_report(o, cx, more->ngram, more->ngram_order);
    else if (more && more->hmm)
        hmm_report(o, cx, more->hmm);
    else
        report_score(o, cx, e);
}

static void evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    heed_evaluation e;
    if (run_evaluate(cx, dir, path, option_text(o, "part"), options_values(o), &e)) print(o, cx, &e);
    heed_evaluation_free(cx, &e);
}

static void evaluate_frequencies(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    heed_evaluation e[MEASURED_MODELS] = {0};
    struct measured_model model[MEASURED_MODELS] = {{dir, &e[0]}};
    const char *const *others;
    const int n = 1 + option_list(o, "against", &others);
    bool ok = true;
    for (int i = 0; ok && i < n; i++) {
        if (i > 0) model[i] = (struct measured_model){others[i - 1], &e[i]};
        ok = run_evaluate(cx, model[i].dir, path, option_text(o, "part"), options_values(o), &e[i]);
    }
    if (ok) report_frequencies(o, cx, model, n);
    for (int i = n; i-- > 0;) heed_evaluation_free(cx, &e[i]);
}

/* Options that make sense beside another one alone. */
static bool options_fit(const struct options *o) {
    static const char *const pairs[][2] = {{"log", "by-length"}, {"radii", "frequencies"}, {"against", "frequencies"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (option_given(o, pairs[i][0]) && !option_given(o, pairs[i][1])) {
            cli_error(EXIT_USAGE, "eval: --%s goes with --%s", pairs[i][0], pairs[i][1]);
            return false;
        }
    const char *const *others;
    if (option_list(o, "against", &others) >= MEASURED_MODELS) {
        cli_error(EXIT_USAGE, "eval: --against: at most %d models are compared", MEASURED_MODELS);
        return false;
    }
    if (option_given(o, "detections") && pictures_asked(o)) {
        cli_error(EXIT_USAGE, "eval: --detections are measured without the pictures, so they cannot be drawn");
        return false;
    }
    if (options_words(o) == 0 && (!option_given(o, "detections") || option_flag(o, "frequencies"))) {
        cli_error(EXIT_USAGE, "eval: expected: DIR");
        return false;
    }
    return true;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("eval", options, argc, argv, 0, 1, "DIR");
    if (!o) return EXIT_USAGE;
    const char *const nodes = option_text(o, "nodes"), *path = nodes ? nodes : option_need(o, "data");
    const char *const dir = options_words(o) > 0 ? options_word(o, 0) : NULL;
    const bool usage = path && table_usage(o) && pictures_fit(o) && options_fit(o);
    int status = usage ? EXIT_FAILED : EXIT_USAGE;
    heed_ctx *cx = usage ? options_open(o) : NULL;
    if (cx) {
        (option_flag(o, "frequencies") ? evaluate_frequencies : evaluate)(o, cx, dir, path);
        status = options_close(o, cx, EXIT_DONE);
    }
    options_free(o);
    return status;
}

const struct command eval_command = {
    .name = "eval",
    .summary = "loss and the task's metrics on a data set",
    .words = "[DIR]",
    .about =
        "Measures a model on a data set. For classes: accuracy and cross entropy, precision, recall and F1 of each "
        "class with their averages, as scikit-learn's classification_report has them, and the confusion matrix; of "
        "pictures with more than 5 classes the top-5 accuracy too, and with --frequencies how accuracy depends on "
        "the frequencies that are left in them, of one model or of several. For numbers: R^2, the mean squared error, "
        "and R^2, mean absolute error (MAE) and root mean squared error (RMSE) of each output. For tagged words: as "
        "for classes, over words, and F1 over chunks where the tags are those of chunks. For questions about a text: "
        "F1 and exact match as SQuAD's official script computes them. For multiple choice: accuracy. For series over "
        "time: MAE and MSE of the forecasts, MASE, and those of repeating the last season; of quantiles the pinball "
        "loss and how often the band holds. For masked words: their perplexity and accuracy, with a fixed masking. "
        "For language models: perplexity and bits per byte of the text. For text to text: perplexity and, of pairs, "
        "ROUGE-L. For translation: BLEU and the cross entropy of a token. For objects in pictures: COCO's twelve "
        "figures, as pycocotools has them, and the average precision of each class; with --detections those of a "
        "file, for which no model is needed. For graphs: as for classes, of the nodes or graphs of a part. For "
        "autoencoders: the evidence lower bound (ELBO) in nats a picture, reconstruction error and KL divergence, and "
        "with --samples an estimate of log p(x). --png, --svg and --pdf "
        "draw the confusion matrix, predicted against true numbers, of series over time the errors by steps ahead, of "
        "objects the first pictures with what was found or, of autoencoders, the codes of the first 2000 pictures by "
        "class. The columns of a table with a header are found by the names of those it was trained on.",
    .options = options,
    .examples = "heed eval out --data test.csv\nheed eval mnist-mlp --data mnist --png confusion.png\n"
                "heed eval photos-vit --data photos.tar.gz --part val\n"
                "heed eval mnist-mlp --data mnist --json\nheed eval en-de --data multi30k --beam 5\n"
                "heed eval en-de --data multi30k --by-length 5 --log lengths.log\n"
                "heed eval photos-vit --data photos.tar.gz --frequencies --against photos-hat --png curves.png\n"
                "heed eval encoder --data other.txt\n"
                "heed eval cora-gcn --data cora\n"
                "heed eval shapes --data shapes --save-detections found.json\n"
                "heed eval mnist-vae --data mnist --samples 500 --png codes.png\n"
                "heed eval --data instances_val.json --detections found.json\n",
    .run = run,
};
