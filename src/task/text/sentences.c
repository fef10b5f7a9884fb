/* Sentences, or pairs of them, and their classes or numbers, from a table. */
#include "base/ctx.h"
#include "io/csv.h"
#include "io/text.h"
#include "kernel/reduce.h"
#include "task/answers.h"
#include "task/task.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

struct columns {
    int64_t text, pair, target; /* pair -1: none */
};

static bool choose_columns(heed_ctx *cx, const heed_task_data *d, const heed_table *t, struct columns *c) {
    const heed_task_opts *o = &d->opts;
    const int64_t n = heed_table_columns(t);
    if (n < 2)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: one column: a text and its label are needed, separated by a tab",
                         d->name);
    c->text = task_column(cx, d, t, o->text, 0);
    c->target = task_column(cx, d, t, o->target, c->text == n - 1 ? n - 2 : n - 1);
    c->pair = task_column(cx, d, t, o->pair, n > 2 && !o->text ? 1 : -1);
    if (heed_failed(cx)) return false;
    if (c->text == c->target || c->pair == c->target || c->text == c->pair)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: text, pair and target are the same column", d->name);
    return true;
}

bool task_read_texts(heed_ctx *cx, const heed_table *t, int64_t column, heed_lines *to) {
    heed_string text = {0};
    for (int64_t i = 0; i < heed_table_rows(t) && !heed_cancelled(cx); i++)
        if (!task_put_line(cx, &text, heed_table_cell(cx, t, i, column))) break;
    const bool ok = !heed_failed(cx) && heed_lines_cut(cx, &text, to);
    heed_string_free(cx, &text);
    return ok;
}

static bool read_classes(heed_ctx *cx, heed_task_data *d, const heed_table *t, int64_t column) {
    const int64_t n = heed_table_rows(t);
    char **known = task_known_labels(&d->opts);
    const char **cells = heed_mem_new(cx, (size_t)n * sizeof *cells);
    d->label = heed_mem_new(cx, (size_t)n * sizeof *d->label);
    for (int64_t i = 0; d->label && cells && i < n; i++) {
        cells[i] = heed_table_cell(cx, t, i, column);
        if (cells[i] && !*cells[i])
            heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: the label is empty", d->name,
                      (long long)heed_table_line(t, i));
    }
    if (!heed_failed(cx))
        d->names = known ? task_copy_names(cx, known, &d->classes) : task_names(cx, cells, n, &d->classes);
    for (int64_t i = 0; d->names && i < n; i++) {
        d->label[i] = task_label(d->names, d->classes, cells[i]);
        if (d->label[i] >= 0) continue;
        heed_fail(cx, HEED_ERR_RANGE, "%s: line %lld: label '%s' is not one of the model's %lld", d->name,
                  (long long)heed_table_line(t, i), escaped(cells[i]).s, (long long)d->classes);
        break;
    }
    heed_mem_free(cx, cells);
    if (!heed_failed(cx) && !known && d->classes > 2 && d->classes * 2 > n && table_is_prose(t, column))
        heed_fail(cx, HEED_ERR_FORMAT,
                  "%s: column '%s' holds texts, not labels; --text and --target name the columns of both", d->name,
                  escaped(heed_table_name(cx, t, column)).s);
    if (!heed_failed(cx) && d->classes < 2)
        heed_fail(cx, HEED_ERR_USAGE, "%s: all examples are of one class, '%s'", d->name, escaped(d->names[0]).s);
    return !heed_failed(cx);
}

static bool read_numbers(heed_ctx *cx, heed_task_data *d, const heed_table *t, int64_t column) {
    const int64_t n = heed_table_rows(t);
    d->y = heed_mem_new(cx, (size_t)n * sizeof *d->y);
    for (int64_t i = 0; d->y && i < n; i++) {
        double value;
        if (!heed_table_number(t, i, column, &value) || !isfinite(value))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: '%s' is not a number to regress on", d->name,
                             (long long)heed_table_line(t, i), escaped(heed_table_cell(cx, t, i, column)).s);
        d->y[i] = (float)value;
    }
    return d->y;
}

bool task_read_lines(heed_ctx *cx, const heed_table *t, heed_task_data *d) {
    d->line = heed_mem_new(cx, (size_t)heed_table_rows(t) * sizeof *d->line);
    for (int64_t i = 0; d->line && i < heed_table_rows(t); i++) d->line[i] = heed_table_line(t, i);
    return d->line;
}

static bool read_table(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d) {
    heed_table *t = task_table(cx, path, opts);
    struct columns c = {.pair = -1};
    bool ok = t && choose_columns(cx, d, t, &c);
    if (ok && heed_table_rows(t) == 0) ok = heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no examples", d->name);
    ok = ok && task_read_texts(cx, t, c.text, &d->text) && (c.pair < 0 || task_read_texts(cx, t, c.pair, &d->pair));
    if (ok) ok = d->task == &task_classify ? read_classes(cx, d, t, c.target) : read_numbers(cx, d, t, c.target);
    ok = ok && task_read_lines(cx, t, d);
    heed_table_close(t);
    return ok && !heed_failed(cx);
}

/* ---- encoding ---- */

static heed_text_input text_of(const heed_task_data *d, int64_t i) {
    heed_text_input t = {.text = heed_line_text(&d->text, i), .size = heed_line_size(&d->text, i)};
    if (d->pair.count) t.pair = heed_line_text(&d->pair, i), t.pair_size = heed_line_size(&d->pair, i);
    return t;
}

static bool encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d) {
    heed_encoding room = {0};
    heed_ids ids = {0};
    heed_text_columns(reader, &d->set);
    const int labels = d->set.columns++;
    d->set.column[labels] = (heed_column){.name = "labels", .type = d->label ? HEED_I32 : HEED_F32};
    for (int64_t i = 0; i < d->text.count && !heed_cancelled(cx); i++) {
        const heed_text_input text = text_of(d, i);
        heed_cell cells[HEED_COLUMNS_MAX];
        bool cut = false;
        cells[labels] = (heed_cell){d->label ? (void *)(d->label + i) : (void *)(d->y + i), 1};
        if (!heed_text_cells(cx, reader, &text, &room, &ids, cells, &cut)) {
            heed_fail_in(cx, "%s: line %lld", d->name, (long long)d->line[i]);
            break;
        }
        if (!heed_dataset_add(cx, &d->set, cells)) break;
        d->cut += cut;
    }
    heed_encoding_free(cx, &room);
    heed_ids_free(cx, &ids);
    return !heed_failed(cx);
}

/* ---- measuring ---- */

/* All logits; those of rows that were not run are not touched. */
static float *run(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                  int64_t width, double *loss) {
    struct task_logits t = {.width = width, .n = d->set.n};
    t.value = heed_mem_new(cx, (size_t)(d->set.n * width) * sizeof *t.value);
    const heed_over_opts opts = {.rows = rows, .n_rows = rows ? n : 0, .take = task_take_logits, .own = &t};
    if (t.value && heed_loop_over(cx, model, &d->set, &opts, loss)) return t.value;
    heed_mem_free(cx, t.value);
    return NULL;
}

/* The correlation of the confusion matrix (Matthews 1975; of several classes Gorodkin 2004). */
static double matthews(const heed_class_report *r) {
    double right = 0, all = (double)r->n, cross = 0, truth = 0, said = 0;
    if (!r->confusion) return 0;
    for (int64_t k = 0; k < r->classes; k++) {
        const double t = (double)r->score[k].support, p = (double)r->score[k].predicted;
        right += (double)r->confusion[k * r->classes + k];
        cross += t * p;
        truth += t * t;
        said += p * p;
    }
    const double under = sqrt(all * all - said) * sqrt(all * all - truth);
    return under > 0 ? (right * all - cross) / under : 0;
}

static bool measure_classes(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows,
                            int64_t n, heed_score *score, int32_t *predicted) {
    float *logits = run(cx, model, d, rows, n, d->classes, &score->loss);
    int32_t *truth = heed_mem_new(cx, 2 * (size_t)n * sizeof *truth), *said = truth ? truth + n : NULL;
    for (int64_t i = 0; logits && truth && i < n && !cx->config.dry; i++) {
        const int64_t row = rows ? rows[i] : i;
        truth[i] = d->label[row];
        said[i] = (int32_t)kernel_best(logits + row * d->classes, d->classes);
        if (predicted) predicted[i] = said[i];
    }
    if (cx->config.dry && truth) memset(truth, 0, 2 * (size_t)n * sizeof *truth);
    heed_class_report *r = heed_failed(cx) ? NULL : heed_class_report_new(cx, truth, said, n, d->classes);
    if (r) {
        score->metric = r->accuracy;
        score->more[0] = r->macro.f1;
        score->more[1] = matthews(r);
    }
    heed_class_report_free(cx, r);
    heed_mem_free(cx, truth);
    heed_mem_free(cx, logits);
    return !heed_failed(cx);
}

static double pearson(const double *x, const double *y, int64_t n) {
    double mx = 0, my = 0, xy = 0, xx = 0, yy = 0;
    for (int64_t i = 0; i < n; i++) mx += x[i], my += y[i];
    mx /= (double)n, my /= (double)n;
    for (int64_t i = 0; i < n; i++) {
        xy += (x[i] - mx) * (y[i] - my);
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

struct ranked {
    double value;
    int64_t at;
};

static int by_value(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Ranks from 1; of equal values their mean. */
static void rank(struct ranked *room, double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) room[i] = (struct ranked){x[i], i};
    qsort(room, (size_t)n, sizeof *room, by_value);
    for (int64_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && room[j].value == room[i].value; j++) {}
        for (int64_t k = i; k < j; k++) x[room[k].at] = (double)(i + j + 1) / 2;
    }
}

static bool measure_numbers(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows,
                            int64_t n, heed_score *score, int32_t *predicted) {
    (void)predicted;
    float *said = run(cx, model, d, rows, n, 1, &score->loss);
    double *x = heed_mem_new(cx, 2 * (size_t)n * sizeof *x), *y = x ? x + n : NULL;
    struct ranked *room = heed_mem_new(cx, (size_t)n * sizeof *room);
    if (!heed_failed(cx) && !cx->config.dry) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t row = rows ? rows[i] : i;
            x[i] = (double)d->y[row];
            y[i] = (double)said[row];
        }
        score->metric = pearson(x, y, n);
        rank(room, x, n);
        rank(room, y, n);
        score->more[0] = pearson(x, y, n);
    }
    heed_mem_free(cx, room);
    heed_mem_free(cx, x);
    heed_mem_free(cx, said);
    return !heed_failed(cx);
}

/* ---- the tasks ---- */

const heed_text_task task_classify = {.name = "classify",
                                      .metrics = "accuracy f1_macro matthews",
                                      .read = read_table,
                                      .encode = encode,
                                      .measure = measure_classes,
                                      .problem = "problem_type=single_label_classification",
                                      .answer = answer_classes};
const heed_text_task task_regress = {.name = "regress",
                                     .metrics = "pearson spearman",
                                     .read = read_table,
                                     .encode = encode,
                                     .measure = measure_numbers,
                                     .labels = 1,
                                     .problem = "problem_type=regression",
                                     .answer = answer_classes};
