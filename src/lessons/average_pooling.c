/* Average pooling: attention whose weights do not depend on the query, f(x) = mean of y. Follows Schönhuth, Bielefeld
 * 2023. */
#include "lessons/points.h"
#include <math.h>

enum { KEYS = 50, GRID = 101 };

static void draw(struct lesson_run *r, const struct points *keys, const struct points *grid, const double *truth,
                 double mean) {
    float *x = lesson_floats(r, keys->x, keys->n), *y = lesson_floats(r, keys->y, keys->n);
    float *gx = lesson_floats(r, grid->x, grid->n), *gt = truth ? lesson_floats(r, truth, grid->n) : NULL;
    float *flat = lesson_room(r, grid->n, sizeof *flat);
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i < grid->n; i++) flat[i] = (float)mean;
    for (int64_t i = 0; i < keys->n; i++) x[i] *= (float)keys->unit[0];
    for (int64_t i = 0; i < grid->n; i++) gx[i] *= (float)keys->unit[0];
    const heed_series series[] = {{"data", x, y, keys->n, true},
                                  {"average pooling", gx, flat, grid->n, false},
                                  {"the truth", gx, gt, grid->n, false}};
    lesson_show(r, heed_terminal_curves(r->cx, series, gt ? 3 : 2,
                                        &(heed_axes){.x_label = keys->x_name, .y_label = keys->y_name}, &r->terminal));
    heed_figure *f = lesson_figure(r, 430, 300);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Average pooling: the same answer everywhere");
    heed_panel_labels(p, keys->x_name, keys->y_name);
    if (gt) heed_panel_curve(p, gx, gt, grid->n, &(heed_style){.label = "truth", .color = HEED_COLOR_BLUE, .width = 2});
    heed_panel_scatter(p, x, y, keys->n, &(heed_style){.label = "data", .color = HEED_COLOR_ORANGE});
    heed_panel_curve(p, gx, flat, grid->n,
                     &(heed_style){.label = "f(x)", .color = HEED_COLOR_PINK, .dash = HEED_DASH_LONG, .width = 2});
    lesson_picture(r, f, "average-pooling");
}

static void write(struct lesson_run *r, const struct points *keys, const double *truth, double mean) {
    double *x = lesson_room(r, keys->n, sizeof *x), *f = lesson_room(r, keys->n, sizeof *f);
    if (!x || !f) return;
    for (int64_t i = 0; i < keys->n; i++) x[i] = keys->x[i] * keys->unit[0], f[i] = mean;
    lesson_table(r, "average-pooling",
                 (heed_table_column[]){{.name = "x", .f64 = x},
                                       {.name = "y", .f64 = keys->y},
                                       {.name = "f", .f64 = f},
                                       {.name = "truth", .f64 = truth}},
                 truth ? 4 : 3, keys->n);
}

static void run(struct lesson_run *r) {
    struct points keys, grid;
    if (!(r->data ? points_load(r, &keys) : points_draw(r, POINTS_FIRST, KEYS, 0, &keys))) return;
    if (keys.width != 1) {
        heed_fail(r->cx, HEED_ERR_FORMAT, "%s: %lld columns, the lesson takes two (x, y)", r->data,
                  (long long)keys.width + 1);
        return;
    }
    lesson_say(r, "Attention pooling answers a query x by a weighted mean of the values y, the weights saying how much "
                  "each key x_i matters for this query. The simplest weights are all the same, 1/n: f(x) = mean of y. "
                  "They do not depend on the query, so the answer is a flat line.");
    const double low = r->data ? keys.x[0] : 0, high = r->data ? keys.x[keys.n - 1] : 5;
    if (!points_grid(r, low, high, GRID, &grid)) return;
    double mean = 0, spread = 0, error = 0;
    double *curve = r->data ? NULL : lesson_room(r, GRID, sizeof *curve);
    double *truth = r->data ? NULL : lesson_room(r, keys.n, sizeof *truth);
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i < keys.n; i++) mean += keys.y[i] / (double)keys.n;
    for (int64_t i = 0; i < keys.n; i++) spread += (keys.y[i] - mean) * (keys.y[i] - mean) / (double)keys.n;
    for (int64_t i = 0; curve && i < GRID; i++) {
        curve[i] = points_truth(POINTS_FIRST, grid.x[i]);
        error += (curve[i] - mean) * (curve[i] - mean) / GRID;
    }
    for (int64_t i = 0; truth && i < keys.n; i++) truth[i] = points_truth(POINTS_FIRST, keys.x[i]);
    lesson_line(r, "keys                               %lld", (long long)keys.n);
    lesson_line(r, "weight of each                     %.4f", 1 / (double)keys.n);
    lesson_line(r, "f(x), for every x                  %.4f", mean);
    lesson_line(r, "root mean square error on the data %.4f", sqrt(spread));
    if (curve) lesson_line(r, "                     on the truth  %.4f", sqrt(error));
    lesson_line(r, "%s", "");
    lesson_result(r, "f", mean);
    lesson_result(r, "error", sqrt(spread));
    if (curve) lesson_result(r, "error_of_truth", sqrt(error));
    draw(r, &keys, &grid, curve, mean);
    write(r, &keys, truth, mean);
    lesson_say(r,
               "Of all constants this is the best one, and still wrong almost everywhere. The remedy is to let the "
               "weights depend on the query: '%s lesson nadaraya-watson'.",
               r->program);
}

const struct lesson average_lesson = {
    .name = "average-pooling",
    .summary = "attention that does not depend on the query: the flat line",
    .data = "a table of x, y",
    .run = run,
};
