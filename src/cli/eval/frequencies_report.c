/* heed eval --frequencies: accuracy against the frequencies that are left in the pictures, of one model or of several,
 * as text, JSON and a picture. */
#include "cli/core/figure_options.h"
#include "cli/eval/eval_report.h"
#include "heed/plot.h"
#include "task/run.h"
#include "train/loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMN = 10, NAME = 64 };

/* The last part of a path, for a column or a legend. */
static void name_model(const char *dir, char out[NAME]) {
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && dir[from - 1] != '/') from--;
    text_printable(out, NAME, dir + from, n - from);
}

static const struct evaluated_frequencies *found(const struct measured_model *m) { return m->e->more->frequencies; }

/* ---- text ---- */

static void print_text(const struct measured_model *m, int n) {
    char text[512], count[48], name[MEASURED_MODELS][NAME];
    const struct evaluated_frequencies *const f = found(m);
    for (int i = 0; i < n; i++) {
        name_model(m[i].dir, name[i]);
        score_text(text, sizeof text, m[i].e->metrics.list, &m[i].e->score);
        printf("%s%s%s (%s)\n", n > 1 ? name[i] : "", n > 1 ? ": " : "", text,
               text_count(m[i].e->n, "picture", "pictures", count));
    }
    puts("\nAccuracy where frequencies up to a radius are left, and where those beyond it are:\n");
    cli_print_cell(stdout, n > 1 ? "" : "radius", 6);
    printf("  %*s", -(n * (COLUMN + 2)), n > 1 ? "   low-pass" : "  low-pass");
    printf("%s\n", n > 1 ? " high-pass" : " high-pass");
    if (n > 1) {
        cli_print_cell(stdout, "radius", 6);
        for (int i = 0; i < 2 * n; i++) {
            fputs("  ", stdout);
            cli_print_cell(stdout, name[i % n], -COLUMN);
        }
        putchar('\n');
    }
    for (int k = 0; k < f->n; k++) {
        printf("%6g", f->radius[k]);
        for (int i = 0; i < 2 * n; i++) {
            const struct evaluated_frequencies *const of = found(&m[i % n]);
            printf("  %*.2f %%", COLUMN - 2, 100 * (i < n ? of->low : of->high)[k].metric);
        }
        putchar('\n');
    }
}

/* ---- JSON ---- */

static void put_score(heed_ctx *cx, heed_json at, const char *key, const struct measured_model *m,
                      const heed_score *score) {
    const heed_json one = key ? heed_json_put_object(cx, at, key) : at;
    heed_json_put_number(cx, one, "loss", score->loss);
    for (int i = 0; m->e->metrics.list[i]; i++)
        heed_json_put_number(cx, one, m->e->metrics.list[i]->name, heed_score_value(score, i));
}

static void put_model(heed_ctx *cx, heed_json at, const struct measured_model *m) {
    const struct evaluated_frequencies *const f = found(m);
    heed_json_put_text(cx, at, "model", m->dir);
    heed_json_put_int(cx, at, "examples", m->e->n);
    put_score(cx, at, NULL, m, &m->e->score);
    const heed_json list = heed_json_put_array(cx, at, "frequencies");
    for (int k = 0; k < f->n; k++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_number(cx, one, "radius", f->radius[k]);
        put_score(cx, one, "low_pass", m, &f->low[k]);
        put_score(cx, one, "high_pass", m, &f->high[k]);
    }
}

static void print_json(heed_ctx *cx, const struct measured_model *m, int n) {
    const heed_json result = heed_json_new(cx, "result");
    put_model(cx, result, &m[0]);
    const heed_json others = n > 1 ? heed_json_put_array(cx, result, "against") : (heed_json){0};
    for (int i = 1; i < n; i++) put_model(cx, heed_json_put_object(cx, others, NULL), &m[i]);
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

/* ---- the picture ---- */

/* The highest accuracy, in percent: of all frequencies, or of some. */
static double highest(const struct measured_model *m, int n) {
    double most = 0;
    for (int i = 0; i < n; i++) {
        const struct evaluated_frequencies *const f = found(&m[i]);
        most = fmax(most, 100 * m[i].e->score.metric);
        for (int k = 0; k < f->n; k++) most = fmax(most, 100 * fmax(f->low[k].metric, f->high[k].metric));
    }
    return most > 0 ? most : 1;
}

/* A panel for what is left within the radius, and one for what is left outside it. */
static void draw(heed_ctx *cx, heed_panel *p, const struct measured_model *m, int n, bool low) {
    static const heed_color color[] = {HEED_COLOR_BLUE, HEED_COLOR_ORANGE, HEED_COLOR_GREEN, HEED_COLOR_PINK,
                                       HEED_COLOR_SKY};
    static const heed_marker marker[] = {HEED_MARKER_DISC, HEED_MARKER_SQUARE, HEED_MARKER_TRIANGLE,
                                         HEED_MARKER_DIAMOND, HEED_MARKER_CROSS};
    const struct evaluated_frequencies *const f = found(m);
    float *x = heed_mem_new(cx, (size_t)f->n * sizeof *x), *y = heed_mem_new(cx, (size_t)f->n * sizeof *y);
    for (int i = 0; y && i < n; i++) {
        char name[NAME];
        name_model(m[i].dir, name);
        for (int k = 0; k < f->n; k++) {
            x[k] = (float)f->radius[k];
            y[k] = (float)(100 * (low ? found(&m[i])->low : found(&m[i])->high)[k].metric);
        }
        heed_panel_hline(p, 100 * m[i].e->score.metric,
                         &(heed_style){.label = i == 0 && low ? "with all frequencies" : NULL,
                                       .color = n > 1 ? color[i] : HEED_COLOR_GREY,
                                       .dash = HEED_DASH_LONG,
                                       .width = 1});
        heed_panel_curve(
            p, x, y, f->n,
            &(heed_style){
                .label = n > 1 ? name : NULL, .color = color[i], .width = 1.8, .marker = marker[i], .size = 4.5});
    }
    heed_panel_limits_y(p, 0, 1.06 * highest(m, n));
    heed_panel_title(p, low ? "Low-pass: frequencies up to the radius" : "High-pass: frequencies beyond the radius");
    heed_panel_labels(p, "radius, in waves to the shorter side", low ? "accuracy, %" : NULL);
    heed_mem_free(cx, x);
    heed_mem_free(cx, y);
}

static bool write_pictures(const struct options *o, heed_ctx *cx, const struct measured_model *m, int n) {
    if (!pictures_asked(o)) return true;
    heed_figure *const f = heed_figure_new(cx, 760, 300);
    heed_figure_grid(f, 1, 2);
    for (int i = 0; i < 2; i++) draw(cx, heed_figure_panel(f, 0, i), m, n, i == 0);
    const bool ok = pictures_write(o, f, "accuracy against frequencies");
    heed_figure_free(f);
    return ok;
}

/* ---- all of it ---- */

static bool same_radii(const struct evaluated_frequencies *a, const struct evaluated_frequencies *b) {
    return a->n == b->n && memcmp(a->radius, b->radius, (size_t)a->n * sizeof *a->radius) == 0;
}

void report_frequencies(const struct options *o, heed_ctx *cx, const struct measured_model *models, int n) {
    for (int i = 1; i < n; i++)
        if (!same_radii(found(&models[0]), found(&models[i]))) {
            heed_fail(cx, HEED_ERR_SHAPE,
                      "eval: the models take pictures of other sizes; --radii says where to compare them");
            return;
        }
    if (!write_pictures(o, cx, models, n) || pictures_take_standard(o)) return;
    if (option_flag(o, "json"))
        print_json(cx, models, n);
    else
        print_text(models, n);
}
