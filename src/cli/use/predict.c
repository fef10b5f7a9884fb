/* heed predict: per line of a table, a line of output: the class and its probability, or numbers. */
#include "base/file.h"
#include "cli/core/input_lines.h"
#include "cli/core/options.h"
#include "cli/core/table_out.h"
#include "cli/core/table_usage.h"
#include "cli/use/predict_graphs.h"
#include "data/recognise.h"
#include "heed/loop.h"
#include "io/array.h"
#include "io/text.h"
#include "task/nodes/graph_fields.h"
#include "task/tables/table_data.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "read a table, an npy or IDX file or a directory of MNIST's files instead of standard input"},
    {.name = "tables", .kind = HEED_FIELD_TABLE, .table = table_fields},
    {.name = "graph-tables", .kind = HEED_FIELD_TABLE, .table = graph_fields},
    TABLE_OUT_OPTION,
    STRICT_OPTION,
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

#define AT_ONCE 256 /* examples */

struct predictor {
    const struct options *o;
    heed_ctx *cx;
    const heed_model *model;
    heed_data *like;
    const char *name; /* of the input, for messages */
    heed_data_opts opts;
    bool json;
    struct table_out *out; /* NULL: standard output */
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

static void print_class(const struct predictor *p, const double *probability, int64_t at) {
    const int64_t n = p->like->classes;
    int64_t best = 0;
    for (int64_t j = 1; j < n; j++)
        if (probability[j] > probability[best]) best = j;
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)best);
    const char *name = p->like->class_names ? p->like->class_names[best] : number;
    char share[24];
    snprintf(share, sizeof share, "%.4f", probability[best]);
    if (p->out) {
        table_out_put(p->out, at, (const char *const[]){name, share});
        return;
    }
    if (!p->json) {
        cli_print_text(stdout, name);
        printf("\t%s\n", share);
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

/* n numbers as texts, for a row of the table. */
static void put_numbers(const struct predictor *p, const float *y, int64_t n, int64_t line) {
    char(*text)[24] = heed_mem_new(p->cx, (size_t)n * sizeof *text);
    const char **cells = heed_mem_new(p->cx, (size_t)n * sizeof *cells);
    for (int64_t j = 0; text && cells && j < n; j++) {
        snprintf(text[j], sizeof *text, "%.9g", (double)y[j]);
        cells[j] = text[j];
    }
    if (text && cells) table_out_put(p->out, line, cells);
    heed_mem_free(p->cx, cells);
    heed_mem_free(p->cx, text);
}

static void print_numbers(const struct predictor *p, const float *y, int64_t n, int64_t line) {
    if (p->out) {
        put_numbers(p, y, n, line);
        return;
    }
    if (p->json) putchar('[');
    for (int64_t j = 0; j < n; j++) printf("%s%.9g", j == 0 ? "" : p->json ? ", " : "\t", (double)y[j]);
    puts(p->json ? "]" : "");
}

/* Where example i stands: `line` (lines of the input) is NULL where there are none. */
static bool not_finite(const struct predictor *p, const int64_t *line, int64_t from, int64_t i) {
    return heed_fail(p->cx, HEED_ERR_RANGE, "%s: %s %lld: the model's output is not a finite number", p->name,
                     line ? "line" : "example", (long long)(line ? line[i] : from + i + 1));
}

static bool all_finite(const float *y, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(y[j])) return false;
    return true;
}

/* n examples, numbers `from` and on, one line each. */
static bool predict(const struct predictor *p, const float *x, int64_t n, const int64_t *line, int64_t from) {
    heed_io in = {0}, out;
    heed_io_put(p->cx, &in, "x", heed_borrow(p->cx, HEED_F32, x, 2, (int64_t[]){n, p->like->width}, NULL));
    heed_tensor *logits = NULL;
    if (heed_model_forward(p->cx, p->model, &in, &out)) logits = heed_contiguous(p->cx, heed_io_get(&out, "logits"));
    const float *y = heed_f32(logits);
    const int64_t width = heed_count(logits) / (n > 0 ? n : 1);
    double *probability = y && p->like->classes ? heed_mem_new(p->cx, (size_t)p->like->classes * sizeof(double)) : NULL;
    for (int64_t i = 0; y && i < n && !heed_failed(p->cx); i++) {
        if (!all_finite(y + i * width, width)) {
            not_finite(p, line, from, i);
        } else if (p->like->classes) {
            softmax(y + i * width, width, probability);
            print_class(p, probability, line ? line[i] : 0);
        } else {
            print_numbers(p, y + i * width, width, line ? line[i] : 0);
        }
    }
    heed_mem_free(p->cx, probability);
    fflush(stdout);
    if (!heed_failed(p->cx)) heed_reset(p->cx);
    return !heed_failed(p->cx);
}

/* ---- lines of input ---- */

/* A line is a table of one row, below the header where the first line is one. */
struct input {
    struct cli_lines lines;
    char *header;  /* and its new line, or NULL */
    char *text;    /* header and line */
    float *x;      /* AT_ONCE examples */
    int64_t *line; /* of each */
    int64_t n, all, skipped;
};

static bool answer(const struct predictor *p, struct input *in) {
    const int64_t n = in->n;
    in->n = 0;
    in->all += n;
    return n == 0 || predict(p, in->x, n, in->line, 0);
}

/* A bad line that is skipped is answered by an empty one. */
static bool answer_bad(const struct predictor *p, struct input *in) {
    if (!answer(p, in)) return false;
    if (p->json) {
        const heed_json line = heed_json_new(p->cx, "prediction");
        heed_json_put_text(p->cx, line, "error", in->lines.complaint);
        json_answer(p->cx, stdout, line, 0);
        heed_json_free(line);
    } else {
        puts("");
    }
    return !heed_failed(p->cx);
}

/* Whether the first line names the columns; others may stand among them. */
static bool is_header(const struct predictor *p, struct input *in) {
    heed_table_options how = p->opts.table;
    how.header = HEED_HEADER_YES;
    if (!p->like->x_names) return false;
    heed_table *t = heed_table_parse(p->cx, p->name, in->text, strlen(in->text), &how);
    bool all = t;
    for (char **name = p->like->x_names; all && *name; name++) all = heed_table_find(p->cx, t, *name) >= 0;
    heed_table_close(t);
    if (!t && heed_error(p->cx) == HEED_ERR_FORMAT) heed_clear(p->cx);
    return all;
}

/* in->text: the header and the line, each with a new line. */
static bool set_text(const struct predictor *p, struct input *in) {
    const size_t before = in->header ? strlen(in->header) : 0;
    char *text = heed_mem_resize(p->cx, in->text, before + in->lines.size + 2);
    if (!text) return false;
    in->text = text;
    if (before) memcpy(text, in->header, before);
    memcpy(text + before, in->lines.text, in->lines.size);
    memcpy(text + before + in->lines.size, "\n", 2);
    return true;
}

static heed_data *read_row(const struct predictor *p, const struct input *in) {
    heed_data_opts opts = p->opts;
    opts.table.header = in->header ? HEED_HEADER_YES : HEED_HEADER_NO;
    opts.table.line = in->lines.number - (in->header ? 1 : 0);
    return heed_data_parse(p->cx, p->name, in->text, strlen(in->text), &opts);
}

/* Another example, or the header. */
static bool read_line(const struct predictor *p, struct input *in) {
    if (text_is_blank(in->lines.text)) {
        in->skipped += p->opts.skip_missing;
        return p->opts.skip_missing || (cli_lines_reject(&in->lines, "an empty line") && answer_bad(p, in));
    }
    if (!set_text(p, in)) return false;
    if (in->lines.number == 1 && is_header(p, in)) {
        in->header = in->text;
        in->text = NULL;
        return true;
    }
    heed_data *row = heed_failed(p->cx) ? NULL : read_row(p, in);
    if (!row) return cli_lines_recover(&in->lines) && answer_bad(p, in);
    if (row->n == 1) {
        memcpy(in->x + in->n * row->width, row->x, (size_t)row->width * sizeof *in->x);
        in->line[in->n++] = in->lines.number;
    }
    in->skipped += row->skipped;
    heed_data_free(p->cx, row);
    return in->n < AT_ONCE || answer(p, in);
}

/* An IDX file begins with two bytes 0, an npy file with "\x93NUMPY", a gzipped one with "\x1F\x8B"; the first byte of a
 * bad line is gone. */
static void check_binary(const struct predictor *p, const struct input *in) {
    const unsigned char *bytes = (const unsigned char *)in->lines.block;
    if (in->lines.number == 1 && in->lines.bad && in->lines.used >= 8 &&
        (memcmp(bytes + 1, "NUMPY", 5) == 0 || bytes[1] == 0x8B || (bytes[0] == 0 && bytes[1] == 0)))
        heed_fail(p->cx, HEED_ERR_FORMAT,
                  "%s: an npy, IDX or gzipped file instead of lines of text: give its path to --data", p->name);
}

static bool predict_lines(const struct predictor *p) {
    struct input in = {.x = heed_mem_new(p->cx, AT_ONCE * (size_t)p->like->width * sizeof *in.x),
                       .line = heed_mem_new(p->cx, AT_ONCE * sizeof *in.line)};
    bool ok = in.line && cli_lines_open(&in.lines, p->cx, "-");
    while (ok && cli_lines_next(&in.lines)) { /* a first line that is not text ends the lines: the input is no table */
        in.lines.skip_bad = !option_flag(p->o, "strict");
        ok = in.lines.bad ? answer_bad(p, &in) : read_line(p, &in);
        if (ok && !cli_lines_ready(&in.lines)) ok = answer(p, &in); /* before waiting for more */
    }
    if (!heed_failed(p->cx)) check_binary(p, &in);
    if (!heed_failed(p->cx)) answer(p, &in);
    table_say_skipped(p->cx, "-", in.skipped, in.all);
    heed_mem_free(p->cx, in.header);
    heed_mem_free(p->cx, in.text);
    heed_mem_free(p->cx, in.x);
    heed_mem_free(p->cx, in.line);
    return cli_lines_close(&in.lines);
}

/* ---- a data set ---- */

static bool predict_data(const struct predictor *p, heed_data *data) {
    const int64_t n = data ? data->n : 0, batch = n < AT_ONCE ? n : AT_ONCE;
    heed_dataset set = {0};
    if (n > 0) heed_data_columns(p->cx, data, &set);
    heed_batches *batches = n > 0 ? heed_batches_open(p->cx, &set, &(heed_batches_opts){.batch = batch}) : NULL;
    for (int64_t done = 0; batches && done < n && !heed_cancelled(p->cx);) {
        const heed_batch *b = heed_batches_next(p->cx, batches);
        if (!b || !predict(p, heed_batch_f32(b, "x"), b->n, data->line ? data->line + done : NULL, done)) break;
        done += b->n;
    }
    if (data) table_say_skipped(p->cx, p->name, data->skipped, n);
    heed_batches_close(p->cx, batches);
    return !heed_failed(p->cx);
}

/* ---- --out ---- */

/* The columns that are added. */
static struct table_out *open_out(const struct predictor *p, heed_table *table) {
    const heed_data *like = p->like;
    const int64_t n = like->classes ? 2 : like->outputs;
    char(*text)[128] = heed_mem_new(p->cx, (size_t)n * sizeof *text);
    const char **names = heed_mem_new(p->cx, ((size_t)n + 1) * sizeof *names);
    for (int64_t j = 0; text && names && j < n; j++) {
        const char *of = like->y_names && !like->classes ? like->y_names[j] : NULL;
        if (n == 1 || like->classes)
            snprintf(text[j], sizeof *text, "%s", j == 0 ? "prediction" : "probability");
        else if (of)
            snprintf(text[j], sizeof *text, "prediction_%.100s", of);
        else
            snprintf(text[j], sizeof *text, "prediction_%lld", (long long)j + 1);
        names[j] = text[j];
        names[j + 1] = NULL;
    }
    struct table_out *out = NULL;
    if (text && names)
        out = table_out_open(p->cx, option_text(p->o, "out"), table, names);
    else
        heed_table_close(table);
    heed_mem_free(p->cx, names);
    heed_mem_free(p->cx, text);
    return out;
}

/* The data, and the table that they are of: NULL where there is none. Standard input can be read only once. */
static heed_data *load_with_table(const struct predictor *p, bool lines, heed_table **table) {
    char file[FOUND_PATH];
    *table = NULL;
    if (!lines) {
        heed_data *data = table_data_load(p->cx, p->name, &p->opts);
        const bool part = data_is_folder(p->name) && data_part_file(p->name, "test", data_table_endings, file);
        if (data && data->line) *table = heed_table_open(p->cx, part ? file : p->name, &p->opts.table);
        return data;
    }
    size_t size;
    char *text = (char *)file_read(p->cx, "-", IO_READ_LIMIT, &size);
    heed_data *data = text ? heed_data_parse(p->cx, p->name, text, size, &p->opts) : NULL;
    if (data) *table = heed_table_parse(p->cx, p->name, text, size, &p->opts.table);
    heed_mem_free(p->cx, text);
    return data;
}

static bool predict_to_file(struct predictor *p, bool lines) {
    heed_table *table;
    heed_data *data = load_with_table(p, lines, &table);
    if (data && !heed_failed(p->cx)) p->out = open_out(p, table); /* which takes the table over */
    const bool said = p->out && predict_data(p, data), good = table_out_close(p->out, p->o, said);
    heed_data_free(p->cx, data);
    return good;
}

static bool predict_to_standard(const struct predictor *p, bool lines) {
    if (lines) return predict_lines(p);
    heed_data *data = table_data_load(p->cx, p->name, &p->opts);
    const bool good = data && predict_data(p, data);
    heed_data_free(p->cx, data);
    return good;
}

static bool predict_all(struct predictor *p) {
    const char *path = option_text(p->o, "data");
    const bool lines = !path || strcmp(path, "-") == 0;
    struct table_columns columns;
    p->name = lines ? "standard input" : path;
    p->opts = (heed_data_opts){
        .task = HEED_DATA_INPUTS, .like = p->like, .part = !lines && table_data_has_parts(path) ? "test" : NULL};
    const bool good = table_ask(options_values(p->o), p->cx, &columns, &p->opts) &&
                      (option_given(p->o, "out") ? predict_to_file(p, lines) : predict_to_standard(p, lines));
    table_columns_free(p->cx, &columns);
    return good;
}

static int predict_tables(struct options *o) {
    const bool usage = table_usage(o) && options_either(o, "json", "out");
    heed_ctx *cx = usage ? options_open(o) : NULL;
    int status = usage ? EXIT_FAILED : EXIT_USAGE;
    if (cx) {
        heed_model *model = heed_model_load_as(cx, options_word(o, 0), &(heed_load_opts){.map = true});
        struct predictor p = {.o = o, .cx = cx, .model = model, .json = option_flag(o, "json")};
        p.like = heed_model_data(cx, model);
        heed_set_grad(cx, false);
        const bool good = p.like && predict_all(&p);
        heed_data_free(cx, p.like);
        heed_model_free(cx, model);
        status = options_close(o, cx, good ? EXIT_DONE : EXIT_FAILED);
    }
    return status;
}

static int run(int argc, char **argv) {
    struct options *o = options_read("predict", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    const bool graphs = graphs_are_given(o) || graphs_are_classified(options_word(o, 0));
    const int status = graphs ? predict_graphs(o) : predict_tables(o);
    options_free(o);
    return status;
}

const struct command predict_command = {
    .name = "predict",
    .summary = "what a model predicts for each line of a table, or each node of a graph",
    .words = "DIR",
    .about =
        "Reads lines from standard input and answers each with a line: the class and its probability, or the predicted "
        "numbers, separated by tabs. A line is a row of a table: values separated by commas, semicolons, tabs or "
        "spaces, as they were in the training data; pictures are values from 0 to 1, row by row. Where the first line "
        "names the columns of the training data, columns are found by name, in any order. A line that "
        "cannot be read is reported on standard error and answered with an empty line, and the exit status is 1 at the "
        "end; --strict stops there.\n\n"
        "With --data the rows of a file: a table, an npy or IDX file of inputs, or a directory of MNIST's files.\n\n"
        "With --out FILE.csv the table is written with further columns: prediction and, of classes, probability; of "
        "several numbers prediction_NAME. Rows that --skip-missing leaves out keep their place, with nothing in "
        "them.\n\n"
        "A model of 'heed train nodes' takes a graph, --nodes FILE --edges FILE or --data PATH, which may be another "
        "than "
        "that it was trained on, and prints for each node its name, class and probability, between tabs; one of 'heed "
        "train graphs' does so for each graph. Columns of features are found by their names.",
    .options = options,
    .examples = "echo 5.1,3.5,1.4,0.2 | heed predict iris\nheed predict houses --data new.csv > prices.txt\n"
                "heed predict houses --data new.csv --skip-missing --out prices.csv\n"
                "heed predict cora-gcn --data cora > classes.tsv\n"
                "heed predict clubs --nodes new.csv --edges friends.csv --json\n"
                "heed predict mnist --data t10k-images-idx3-ubyte.gz --json\n",
    .run = run,
};
