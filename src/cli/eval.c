/* heed eval: loss and metric of a model on a data set. */
#include "cli/decoding.h"
#include "cli/parallel.h"
#include "cli/report.h"
#include "cli/tables.h"
#include "cli/task.h"
#include "cli/texts.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct option options[] = {
    {.name = "data", .letter = 'd', .kind = OPTION_FILE, .value = "PATH", .help = "as for heed train"},
    {.name = "part", .kind = OPTION_CHOICE, .standard = "test", .value = "PART", .choices = "test val train",
     .help = "of a directory or digits, one of"},
    {.name = "target", .letter = 't', .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "the column of a table to predict, as in training: name or number, several as a,b"},
    {.name = "text", .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "of a table of texts, the column of the text: name or number; by default the first"},
    {.name = "pair", .kind = OPTION_TEXT, .value = "COLUMN",
     .help = "the column of a second text; by default the second of three"},
    {.name = "tables", .kind = OPTION_TABLE, .table = table_options},
    {.name = "batch", .letter = 'b', .kind = OPTION_INT, .standard = "500", .value = "N", .low = 1, .high = 1e9,
     .help = "examples at a time"},
    {.name = "beam", .kind = OPTION_INT, .standard = "5", .value = "N", .low = 1, .high = 1024,
     .help = "beam width of translation; 1: greedy decoding"},
    LENGTH_PENALTY_OPTION,
    {.name = "pictures", .kind = OPTION_TABLE, .table = report_options},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* ---- translation ---- */

static void print_bleu(const struct options *o, heed_ctx *cx, int64_t n, int64_t beams, const heed_score *score,
                       const heed_bleu *bleu) {
    if (!option_flag(o, "json")) {
        char decoding[48], sentences[48];
        printf("BLEU %.2f (%s), loss %.4f (%s, %s)\n", score->metric, decoding_name(beams, decoding), score->loss,
               cli_count(n, "sentence", "sentences", sentences), bleu->signature);
        return;
    }
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_int(cx, result, "sentences", n);
    heed_json_put_number(cx, result, "loss", score->loss);
    heed_json_put_number(cx, result, "bleu", score->metric);
    heed_json_put_int(cx, result, "beam", beams);
    heed_json_put_text(cx, result, "signature", bleu->signature);
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

static void evaluate_translation(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    heed_translator *t = heed_translator_open(cx, dir);
    heed_lines lines[2] = {{0}};
    heed_pairs pairs = {0};
    heed_score score;
    heed_bleu bleu;
    if (t && parallel_read(cx, path, option_text(o, "part"), &t->preprocessing, lines) &&
        heed_pairs_encode(cx, &(heed_parallel_text){&lines[0], &lines[1], t->tokens[0], t->tokens[1]}, NULL, &pairs)) {
        const heed_translation_set set = {&pairs, &lines[1]};
        heed_generate_opts decode = {.beams = option_int(o, "beam"),
                                     .length_penalty = (float)option_number(o, "length-penalty")};
        heed_generate_config(cx, t->model, &decode);
        if (option_given(o, "beam")) decode.beams = option_int(o, "beam");
        if (option_given(o, "length-penalty")) decode.length_penalty = (float)option_number(o, "length-penalty");
        decode.n_best = 1, decode.sample = false;
        const heed_bleu_opts opts = {.tokens = t->preprocessing.moses ? HEED_BLEU_NONE : HEED_BLEU_13A};
        if (heed_translation_measure(cx, t->model, &set, t->tokens[1], &decode, &opts, &score, &bleu))
            print_bleu(o, cx, pairs.n, decode.beams, &score, &bleu);
    }
    heed_pairs_free(cx, &pairs);
    parallel_free(cx, lines);
    heed_translator_free(cx, t);
}

/* ---- vectors ---- */

static void evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    heed_model *model = heed_model_load_as(cx, dir, &(heed_load_opts){.map = true});
    if (model && heed_head_for(heed_model_family(model), "translate") == heed_model_head(model)) {
        heed_model_free(cx, model);
        evaluate_translation(o, cx, dir, path);
        return;
    }
    if (model && cli_among(heed_model_head(model)->inputs, "input_ids")) {
        heed_model_free(cx, model);
        texts_evaluate(o, cx, dir, path);
        return;
    }
    heed_data *like = heed_model_data(cx, model);
    heed_data *data = NULL;
    if (like) {
        struct table_columns columns;
        heed_data_opts opts = {.task = like->classes ? HEED_DATA_CLASSIFY : HEED_DATA_REGRESS,
                               .target = option_text(o, "target"),
                               .part = task_has_test_part(path) ? option_text(o, "part") : NULL,
                               .like = like};
        if (table_ask(o, cx, &columns, &opts)) data = task_load(cx, path, &opts);
        table_columns_free(cx, &columns);
    }
    if (data) table_say_skipped(o, path, data->skipped, data->n);
    if (data) report_data(o, cx, model, path, data, like);
    heed_data_free(cx, data);
    heed_data_free(cx, like);
    heed_model_free(cx, model);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("eval", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    const char *path = option_need(o, "data");
    const bool usage = path && table_usage(o) && report_usage(o);
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
        "class with their averages, as scikit-learn's classification_report has them, and the confusion matrix. For "
        "numbers: R^2, the mean squared error, and R^2, mean absolute error (MAE) and root mean squared error (RMSE) "
        "of each output. For translation: BLEU and the cross entropy of a token. The columns of a table with a header "
        "are found by the names of those it was trained on.",
    .options = options,
    .examples = "heed eval out --data test.csv\nheed eval mnist-mlp --data mnist --png confusion.png\n"
                "heed eval mnist-mlp --data mnist --json\nheed eval en-de --data multi30k --beam 5\n",
    .run = run,
};
