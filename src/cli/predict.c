/* heed predict: per line of numbers, a line of output: the class and its probability, or numbers. */
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/task.h"
#include "io/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct option options[] = {
    {.name = "data", .letter = 'd', .kind = OPTION_FILE, .value = "FILE",
     .help = "read a table, x.npy or a directory instead of standard input"},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

#define AT_ONCE 256 /* examples */

struct predictor {
    heed_ctx *cx;
    const heed_model *model;
    heed_data *like;
    bool json;
};

/* ---- a line of output ---- */

/* Probabilities in place of logits. A single logit is that of class 1 beside 0. */
static void softmax(const float *logits, int64_t n, double *p) {
    double most = n == 1 ? 0.0 : (double)logits[0], sum = 0.0;
    for (int64_t j = 0; j < n; j++) most = fmax(most, (double)logits[j]);
    if (n == 1) p[0] = exp(-most), p[1] = exp((double)logits[0] - most);
    for (int64_t j = 0; n > 1 && j < n; j++) p[j] = exp((double)logits[j] - most);
    const int64_t classes = n == 1 ? 2 : n;
    for (int64_t j = 0; j < classes; j++) sum += p[j];
    for (int64_t j = 0; j < classes; j++) p[j] /= sum;
}

static void print_class(const struct predictor *p, const double *probability) {
    const int64_t n = p->like->classes;
    int64_t best = 0;
    for (int64_t j = 1; j < n; j++)
        if (probability[j] > probability[best]) best = j;
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)best);
    const char *name = p->like->class_names ? p->like->class_names[best] : number;
    if (!p->json) {
        printf("%s\t%.4f\n", name, probability[best]);
        return;
    }
    const heed_json line = heed_json_new(p->cx, "prediction");
    heed_json_put_text(p->cx, line, "class", name);
    heed_json_put_number(p->cx, line, "probability", probability[best]);
    const heed_json all = heed_json_put_array(p->cx, line, "probabilities");
    for (int64_t j = 0; j < n; j++) heed_json_put_number(p->cx, all, NULL, probability[j]);
    json_answer(p->cx, stdout, line, 0);
    heed_json_free(line);
}

static void print_numbers(const struct predictor *p, const float *y, int64_t n) {
    if (p->json) putchar('[');
    for (int64_t j = 0; j < n; j++) printf("%s%.9g", j == 0 ? "" : p->json ? ", " : "\t", (double)y[j]);
    puts(p->json ? "]" : "");
}

/* n examples, one line each. */
static bool predict(const struct predictor *p, const float *x, int64_t n) {
    heed_io in = {0}, out;
    heed_io_put(p->cx, &in, "x", heed_borrow(p->cx, HEED_F32, x, 2, (int64_t[]){n, p->like->width}, NULL));
    heed_tensor *logits = NULL;
    if (heed_model_forward(p->cx, p->model, &in, &out)) logits = heed_contiguous(p->cx, heed_io_get(&out, "logits"));
    const float *y = heed_f32(logits);
    const int64_t width = heed_count(logits) / (n > 0 ? n : 1);
    double *probability = y && p->like->classes ? heed_mem_new(p->cx, (size_t)p->like->classes * sizeof(double)) : NULL;
    for (int64_t i = 0; y && i < n && !heed_failed(p->cx); i++) {
        if (!p->like->classes) {
            print_numbers(p, y + i * width, width);
            continue;
        }
        softmax(y + i * width, width, probability);
        print_class(p, probability);
    }
    heed_mem_free(p->cx, probability);
    heed_reset(p->cx);
    fflush(stdout);
    return !heed_failed(p->cx);
}

/* ---- lines of input ---- */

struct input {
    struct cli_lines lines;
    float *x; /* AT_ONCE examples */
    int64_t n;
};

static char *next_number(char **at) {
    char *start = *at + strspn(*at, " \t,;\r");
    char *end = start + strcspn(start, " \t,;\r");
    *at = *end ? end + 1 : end;
    *end = 0;
    return *start ? start : NULL;
}

/* The names of the columns, as the first line of a table. */
static bool is_header(const struct predictor *p, const char *line) {
    char **names = p->like->x_names;
    for (int64_t i = 0; names && names[i]; i++) {
        const size_t length = strlen(names[i]);
        line += strspn(line, " \t\"");
        if (strncmp(line, names[i], length) != 0) return false;
        line += length;
        line += strspn(line, " \t\",;\r");
    }
    return names && !*line;
}

static bool answer(const struct predictor *p, struct input *in) {
    const int64_t n = in->n;
    in->n = 0;
    return n == 0 || predict(p, in->x, n);
}

/* Another example; a mistake is told after the answers to the lines before it. */
static bool read_line(const struct predictor *p, struct input *in) {
    const int64_t width = p->like->width;
    int64_t n = 0;
    char *at = in->lines.text;
    if (in->lines.number == 1 && is_header(p, at)) return true;
    for (char *word; (word = next_number(&at)); n++) {
        double value;
        bool range = false;
        if (!number_read(word, &value, &range) || !isfinite(value))
            return answer(p, in) && cli_lines_fail(&in->lines, "'%s' is not a number", shown(word).text);
        if (n < width) in->x[in->n * width + n] = (float)value;
    }
    if (n != width)
        return answer(p, in) &&
               cli_lines_fail(&in->lines, "%lld numbers, should be %lld", (long long)n, (long long)width);
    return ++in->n < AT_ONCE || answer(p, in);
}

static bool predict_lines(const struct predictor *p) {
    struct input in = {.x = heed_mem_new(p->cx, AT_ONCE * (size_t)p->like->width * sizeof *in.x)};
    bool ok = in.x && cli_lines_open(&in.lines, p->cx, "-");
    while (ok && cli_lines_next(&in.lines)) {
        ok = read_line(p, &in);
        if (ok && !cli_lines_ready(&in.lines)) ok = answer(p, &in); /* before waiting for more */
    }
    if (ok) answer(p, &in);
    heed_mem_free(p->cx, in.x);
    return cli_lines_close(&in.lines);
}

/* ---- a data set ---- */

static bool predict_data(const struct predictor *p, const char *path) {
    const heed_data_opts opts = {
        .task = HEED_DATA_INPUTS, .like = p->like, .part = task_has_test_part(path) ? "test" : NULL};
    heed_data *data = task_load(p->cx, path, &opts);
    const int64_t batch = data && data->n < AT_ONCE ? data->n : AT_ONCE;
    heed_batches *batches = data ? heed_batches_open(p->cx, data, &(heed_batches_opts){.batch = batch}) : NULL;
    for (int64_t done = 0; batches && done < data->n && !heed_cancelled(p->cx);) {
        const heed_batch *b = heed_batches_next(p->cx, batches);
        if (!b || !predict(p, b->x, b->n)) break;
        done += b->n;
    }
    heed_batches_close(p->cx, batches);
    heed_data_free(p->cx, data);
    return !heed_failed(p->cx);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("predict", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    heed_ctx *cx = options_open(o);
    int status = EXIT_FAILED;
    if (cx) {
        heed_model *model = heed_model_load(cx, options_word(o, 0));
        const struct predictor p = {cx, model, heed_model_data(cx, model), option_flag(o, "json")};
        const char *path = option_text(o, "data");
        heed_set_grad(cx, false);
        if (p.like && path && strcmp(path, "-") != 0)
            predict_data(&p, path);
        else if (p.like)
            predict_lines(&p);
        heed_data_free(cx, p.like);
        heed_model_free(cx, model);
        status = options_close(o, cx, EXIT_DONE);
    }
    options_free(o);
    return status;
}

const struct command predict_command = {
    .name = "predict",
    .summary = "what a model says of each line of numbers",
    .words = "DIR",
    .about =
        "Reads lines of numbers, separated by commas, tabs or spaces, from standard input, and answers each with a "
        "line: the class and its probability, or the predicted numbers, separated by tabs. Numbers are taken as "
        "they were in the training data; pictures as values from 0 to 1, row by row.",
    .options = options,
    .examples = "echo 5.1,3.5,1.4,0.2 | heed predict iris\nheed predict houses --data new.csv > prices.txt\n",
    .run = run,
};
