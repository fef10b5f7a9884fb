/* heed eval on vectors: each class or output, as text, JSON and pictures. */
#include "cli/eval/eval_report.h"
#include "base/text.h"
#include "cli/core/figure_options.h"
#include "heed/plot.h"
#include "plot/terminal.h"
#include "train/loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = 128, NAME_WIDEST = 32 };

struct report {
    const struct options *o;
    heed_ctx *cx;
    const heed_data *data, *like;
    heed_metrics metrics;
    heed_score score;
    /* classes: those that occur or are predicted, by number */
    heed_class_report *all;
    int64_t *class, n; /* (n) */
    char (*name)[NAME_ROOM];
    /* numbers */
    const float *predicted; /* (examples, outputs) */
    bool words;             /* examples are words */
    const char *one, *many; /* what they are called */
    heed_output_score *output;
};

/* Fit for a line of a terminal. */
static void name_class(const struct report *r, int64_t k, char out[NAME_ROOM]) {
    if (r->like->class_names)
        text_printable(out, NAME_ROOM, r->like->class_names[k], strlen(r->like->class_names[k]));
    else
        snprintf(out, NAME_ROOM, "%lld", (long long)k);
}

static void name_output(const struct report *r, int64_t k, char out[NAME_ROOM]) {
    char **names = r->like->y_names;
    if (names)
        text_printable(out, NAME_ROOM, names[k], strlen(names[k]));
    else
        snprintf(out, NAME_ROOM, "%lld", (long long)k + 1);
}

/* ---- text ---- */

static int widest_name(const struct report *r, int least) {
    int wide = least;
    for (int64_t i = 0; i < r->n; i++) {
        const int has = text_columns(r->name[i]);
        if (has > wide) wide = has;
    }
    return wide < NAME_WIDEST ? wide : NAME_WIDEST;
}

static void print_class_score(const char *name, int wide, const heed_class_score *s) {
    cli_print_cell(stdout, name, wide);
    printf("  %9.4f  %7.4f  %7.4f  %8lld\n", s->precision, s->recall, s->f1, (long long)s->support);
}

static int digits_of(int64_t n) { return snprintf(NULL, 0, "%lld", (long long)n); }

/* Aligned, as wide as the terminal at most; names of columns are cut where they must be. */
static void print_confusion(const struct report *r) {
    const heed_class_report *c = r->all;
    const int room = cli_terminal(200).width, wide = widest_name(r, 4);
    int64_t most = 0;
    for (int64_t i = 0; i < c->classes * c->classes; i++)
        if (c->confusion[i] > most) most = c->confusion[i];
    const int least = digits_of(most) > 2 ? digits_of(most) : 2, left = (int)((room - wide) / r->n) - 2;
    if (left < least) {
        printf("\nThe confusion matrix of %lld classes is too wide for %d columns; --png and --svg draw it, --json has "
               "it.\n",
               (long long)r->n, room);
        return;
    }
    int column = widest_name(r, least);
    if (column > left) column = left;
    puts("\nConfusion matrix: rows are true classes, columns predicted classes\n");
    cli_print_cell(stdout, "", wide);
    for (int64_t j = 0; j < r->n; j++) {
        fputs("  ", stdout);
        cli_print_cell(stdout, r->name[j], -column);
    }
    putchar('\n');
    for (int64_t i = 0; i < r->n; i++) {
        cli_print_cell(stdout, r->name[i], wide);
        for (int64_t j = 0; j < r->n; j++)
            printf("  %*lld", column, (long long)c->confusion[r->class[i] * c -> classes + r -> class[j]]);
        putchar('\n');
    }
}

static void print_classes(const struct report *r) {
    static const char average[] = "weighted average";
    const int wide = widest_name(r, (int)sizeof average - 1);
    cli_print_cell(stdout, "class", wide);
    puts("  precision   recall       F1   support");
    for (int64_t i = 0; i < r->n; i++) print_class_score(r->name[i], wide, &r->all->score[r->class[i]]);
    putchar('\n');
    print_class_score("macro average", wide, &r->all->macro);
    print_class_score(average, wide, &r->all->weighted);
    if (r->all->confusion) print_confusion(r);
}

static void print_outputs(const struct report *r) {
    char name[NAME_ROOM];
    int wide = (int)strlen("output");
    for (int64_t k = 0; k < r->data->outputs; k++) {
        name_output(r, k, name);
        const int has = text_columns(name);
        if (has > wide) wide = has < NAME_WIDEST ? has : NAME_WIDEST;
    }
    cli_print_cell(stdout, "output", wide);
    puts("           R^2           MAE          RMSE");
    for (int64_t k = 0; k < r->data->outputs; k++) {
        const heed_output_score *s = &r->output[k];
        name_output(r, k, name);
        cli_print_cell(stdout, name, wide);
        printf("  %12.6g  %12.6g  %12.6g\n", s->r2, s->mae, s->rmse);
    }
}

static void print_text(const struct report *r) {
    char text[512], examples[48];
    score_text(text, sizeof text, r->metrics.list, &r->score);
    printf("%s (%s)\n\n", text, text_count(r->data->n, r->one, r->many, examples));
    (r->all ? print_classes : print_outputs)(r);
}

/* ---- JSON ---- */

static void put_class_score(heed_ctx *cx, heed_json at, const heed_class_score *s) {
    heed_json_put_number(cx, at, "precision", s->precision);
    heed_json_put_number(cx, at, "recall", s->recall);
    heed_json_put_number(cx, at, "f1", s->f1);
    heed_json_put_int(cx, at, "support", s->support);
}

static const char *plain_name(const struct report *r, int64_t i) {
    return r->like->class_names ? r->like->class_names[r->class[i]] : r->name[i];
}

static void put_classes(const struct report *r, heed_json result) {
    heed_ctx *cx = r->cx;
    const heed_class_report *c = r->all;
    const heed_json list = heed_json_put_array(cx, result, "classes");
    for (int64_t i = 0; i < r->n; i++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, one, "name", plain_name(r, i));
        put_class_score(cx, one, &c->score[r->class[i]]);
    }
    put_class_score(cx, heed_json_put_object(cx, result, "macro_average"), &c->macro);
    put_class_score(cx, heed_json_put_object(cx, result, "weighted_average"), &c->weighted);
    if (!c->confusion) return;
    const heed_json confusion = heed_json_put_object(cx, result, "confusion_matrix");
    const heed_json names = heed_json_put_array(cx, confusion, "classes");
    for (int64_t i = 0; i < r->n; i++) heed_json_put_text(cx, names, NULL, plain_name(r, i));
    const heed_json rows = heed_json_put_array(cx, confusion, "counts");
    for (int64_t i = 0; i < r->n; i++) {
        const heed_json row = heed_json_put_array(cx, rows, NULL);
        for (int64_t j = 0; j < r->n; j++)
            heed_json_put_int(cx, row, NULL, c->confusion[r->class[i] * c -> classes + r -> class[j]]);
    }
}

static void put_outputs(const struct report *r, heed_json result) {
    heed_ctx *cx = r->cx;
    const heed_json list = heed_json_put_array(cx, result, "outputs");
    for (int64_t k = 0; k < r->data->outputs; k++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)k + 1);
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, one, "name", r->like->y_names ? r->like->y_names[k] : number);
        heed_json_put_number(cx, one, "r2", r->output[k].r2);
        heed_json_put_number(cx, one, "mae", r->output[k].mae);
        heed_json_put_number(cx, one, "rmse", r->output[k].rmse);
    }
}

static void print_json(const struct report *r) {
    const heed_json result = heed_json_new(r->cx, "result");
    heed_json_put_int(r->cx, result, r->words ? "words" : "examples", r->data->n);
    heed_json_put_number(r->cx, result, "loss", r->score.loss);
    for (int i = 0; r->metrics.list[i]; i++)
        heed_json_put_number(r->cx, result, r->metrics.list[i]->name, heed_score_value(&r->score, i));
    (r->all ? put_classes : put_outputs)(r, result);
    json_answer(r->cx, stdout, result, 2);
    heed_json_free(result);
}

/* ---- pictures ---- */

static heed_figure *draw_confusion(const struct report *r) {
    const heed_class_report *c = r->all;
    if (!c->confusion) {
        heed_fail(r->cx, HEED_ERR_RANGE, "eval: %lld classes are too many for a picture", (long long)c->classes);
        return NULL;
    }
    heed_figure *f = heed_figure_new(r->cx, 0, 0);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    int64_t *counts = heed_mem_new(r->cx, (size_t)(r->n * r->n) * sizeof *counts);
    const char **names = heed_mem_new(r->cx, (size_t)r->n * sizeof *names);
    char title[96], examples[48];
    snprintf(title, sizeof title, "Accuracy %.2f %% (%s)", 100 * c->accuracy,
             text_count(r->data->n, r->one, r->many, examples));
    for (int64_t i = 0; names && i < r->n; i++) {
        names[i] = r->name[i];
        for (int64_t j = 0; j < r->n; j++)
            counts[i * r->n + j] = c->confusion[r->class[i] * c -> classes + r -> class[j]];
    }
    if (names) heed_plot_confusion(p, counts, r->n, names);
    heed_panel_title(p, title);
    heed_mem_free(r->cx, names);
    heed_mem_free(r->cx, counts);
    return f;
}

static void draw_output(const struct report *r, heed_panel *p, int64_t k) {
    const int64_t n = r->data->n, outputs = r->data->outputs;
    float *x = heed_mem_new(r->cx, (size_t)n * sizeof *x), *y = heed_mem_new(r->cx, (size_t)n * sizeof *y);
    float line[2] = {INFINITY, -INFINITY};
    char title[NAME_ROOM + 32];
    name_output(r, k, title);
    snprintf(title + strlen(title), 32, ": R\u00b2 %.4g", r->output[k].r2);
    for (int64_t i = 0; y && i < n; i++) {
        x[i] = r->data->y[i * outputs + k];
        y[i] = r->predicted[i * outputs + k];
        line[0] = fminf(line[0], x[i]);
        line[1] = fmaxf(line[1], x[i]);
    }
    heed_panel_title(p, title);
    heed_panel_labels(p, "true", k % 3 == 0 ? "predicted" : NULL);
    heed_panel_curve(p, line, line, 2, &(heed_style){.color = HEED_COLOR_GREY, .width = 1});
    heed_panel_scatter(p, x, y, n, &(heed_style){.color = HEED_COLOR_BLUE, .size = 4, .alpha = n > 500 ? 0.3 : 0.6});
    heed_mem_free(r->cx, x);
    heed_mem_free(r->cx, y);
}

static heed_figure *draw_outputs(const struct report *r) {
    enum { ACROSS = 3, MOST = 30 };
    const int64_t outputs = r->data->outputs;
    if (outputs > MOST) {
        heed_fail(r->cx, HEED_ERR_RANGE, "eval: %lld outputs are too many for a picture", (long long)outputs);
        return NULL;
    }
    heed_figure *f = heed_figure_new(r->cx, 0, 0);
    const int columns = outputs < ACROSS ? (int)outputs : ACROSS;
    heed_figure_grid(f, ((int)outputs - 1) / ACROSS + 1, columns);
    for (int k = 0; k < (int)outputs; k++) draw_output(r, heed_figure_panel(f, k / ACROSS, k % ACROSS), k);
    return f;
}

static bool write_pictures(const struct report *r) {
    if (!pictures_asked(r->o)) return true;
    heed_figure *const f = (r->all ? draw_confusion : draw_outputs)(r);
    const bool ok = f && pictures_write(r->o, f, r->all ? "the confusion matrix" : "predicted against true numbers");
    heed_figure_free(f);
    return ok;
}

/* ---- all of it ---- */

/* The classes that occur or are predicted, and their names. */
static bool find_classes(struct report *r) {
    const heed_class_report *c = r->all;
    for (int64_t k = 0; k < c->classes; k++) r->n += c->score[k].support > 0 || c->score[k].predicted > 0;
    r->class = heed_mem_new(r->cx, (size_t)r->n * sizeof *r->class);
    r->name = heed_mem_new(r->cx, (size_t)r->n * sizeof *r->name);
    for (int64_t k = 0, i = 0; r->name && k < c->classes; k++)
        if (c->score[k].support > 0 || c->score[k].predicted > 0) {
            r->class[i] = k;
            name_class(r, k, r->name[i++]);
        }
    return r->name;
}

static bool report_on_classes(struct report *r, const int32_t *label) {
    const heed_data *d = r->data;
    r->all = heed_class_report_new(r->cx, d->label, label, d->n, d->classes);
    return r->all && find_classes(r);
}

static bool report_on_numbers(struct report *r) {
    const heed_data *d = r->data;
    r->output = heed_mem_new(r->cx, (size_t)d->outputs * sizeof *r->output);
    return r->output && heed_output_scores(r->cx, d->y, r->predicted, d->n, d->outputs, r->output);
}

static void publish(struct report *r, bool ok) {
    if (ok && write_pictures(r) && !pictures_take_standard(r->o))
        (option_flag(r->o, "json") ? print_json : print_text)(r);
    heed_class_report_free(r->cx, r->all);
    heed_mem_free(r->cx, r->class);
    heed_mem_free(r->cx, r->name);
    heed_mem_free(r->cx, r->output);
}

void report_predictions(const struct options *o, heed_ctx *cx, const heed_evaluation *e) {
    struct report r = {.o = o,
                       .cx = cx,
                       .data = e->truth,
                       .like = e->like ? e->like : e->truth,
                       .metrics = e->metrics,
                       .score = e->score,
                       .predicted = e->y,
                       .words = e->words,
                       .one = e->words ? "word" : e->one,
                       .many = e->words ? "words" : e->many};
    publish(&r, e->label ? report_on_classes(&r, e->label) : report_on_numbers(&r));
}
