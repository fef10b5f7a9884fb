/* Nadaraya-Watson regression (Nadaraya 1964; Watson 1964), attention pooling without parameters:
 *
 *     f(x) = sum_i K((x - x_i) / h) y_i / sum_j K((x - x_j) / h)
 *
 * with four kernels and several widths h, on the data sets of two lectures (Schönhuth, Bielefeld 2023; Martínez-Ramón,
 * Ajith and Kurup) or on the user's. */
#include "heed/model.h"
#include "lessons/points.h"
#include <math.h>
#include <stdio.h>

enum { GRID = 101, VARIANTS = 4, MAX_MAP = 200, ACROSS = 880 };

struct variant {
    char name[24];
    enum kernel kernel;
    double h;
    double *curve, *left_out, *map; /* answers on the grid; at each key without it; weights (keys, keys) */
    double error, left_out_error, attended;
};

struct study {
    struct points keys, grid; /* grid: of keys of one number */
    const double *truth;      /* on the grid; NULL: unknown */
    double *grid_x;           /* as in the file */
    struct variant kernels[VARIANTS], widths[VARIANTS];
};

/* ---- the first data set: the curve and its attention map ---- */

/* heed's own model of this kind, on the same keys: the largest difference of its answers. */
static double model_difference(struct lesson_run *r, const struct points *keys, const struct points *queries,
                               const double *answers) {
    char points[40];
    snprintf(points, sizeof points, "points=%lld", (long long)keys->n);
    heed_model *model = heed_model_new(r->cx, heed_family_find("kernel-pooling"), (const char *[]){points}, 1, r->seed);
    float *x = lesson_floats(r, queries->x, queries->n), *y = lesson_room(r, queries->n, sizeof *y);
    double most = 0;
    if (model && x && y) {
        const heed_params *params = heed_model_params(model);
        for (int64_t i = 0; i < keys->n; i++) {
            heed_params_find(params, "keys")->value[i] = (float)keys->x[i];
            heed_params_find(params, "values")->value[i] = (float)keys->y[i];
        }
        heed_io in = {.n = 0}, out = {.n = 0};
        heed_set_grad(r->cx, false);
        heed_io_put(r->cx, &in, "x", heed_borrow(r->cx, HEED_F32, x, 2, (int64_t[]){queries->n, 1}, NULL));
        if (heed_model_forward(r->cx, model, &in, &out))
            heed_copy_f32(r->cx, heed_io_get(&out, "logits"), y, queries->n);
        heed_reset(r->cx);
        heed_set_grad(r->cx, true);
        for (int64_t i = 0; i < queries->n; i++) most = fmax(most, fabs((double)y[i] - answers[i]));
    }
    heed_model_free(r->cx, model);
    return most;
}

static void draw_first(struct lesson_run *r, const struct points *keys, const struct points *grid, const double *truth,
                       const double *curve, const double *map, int64_t queries) {
    float *x = lesson_floats(r, keys->x, keys->n), *y = lesson_floats(r, keys->y, keys->n);
    float *gx = lesson_floats(r, grid->x, GRID), *gt = lesson_floats(r, truth, GRID);
    float *gf = lesson_floats(r, curve, GRID), *weights = lesson_floats(r, map, queries * keys->n);
    if (heed_failed(r->cx)) return;
    const heed_series series[] = {
        {"data", x, y, keys->n, true}, {"f(x)", gx, gf, GRID, false}, {"the truth", gx, gt, GRID, false}};
    lesson_show(r, heed_terminal_curves(r->cx, series, 3, &(heed_axes){.x_label = "x", .y_label = "y"}, &r->terminal));
    heed_terminal how = r->terminal;
    how.title = "Attention weights: queries down, keys across, both sorted by x";
    lesson_show(r, heed_terminal_heatmap(r->cx, weights, queries, keys->n, NULL, &how));

    heed_figure *f = lesson_figure(r, 680, 300);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Nadaraya-Watson regression, Gaussian kernel");
    heed_panel_labels(p, "x", "y");
    heed_panel_curve(p, gx, gt, GRID, &(heed_style){.label = "truth", .color = HEED_COLOR_BLUE, .width = 2});
    heed_panel_scatter(p, x, y, keys->n, &(heed_style){.label = "data", .color = HEED_COLOR_ORANGE});
    heed_panel_curve(p, gx, gf, GRID,
                     &(heed_style){.label = "f(x)", .color = HEED_COLOR_PINK, .dash = HEED_DASH_LONG, .width = 2});
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "Its attention weights");
    heed_panel_labels(p, "keys, sorted by x", "queries, sorted by x");
    heed_panel_heatmap(p, weights, queries, keys->n, &(heed_heatmap){.scale_label = "weight"});
    lesson_picture(r, f, "nadaraya-watson");
}

static void write_first(struct lesson_run *r, const struct points *keys, const struct points *valid,
                        const struct points *grid, const double *truth, const double *curve, const double *map) {
    const int64_t n = keys->n * valid->n;
    double *query = lesson_room(r, n, sizeof *query), *key = lesson_room(r, n, sizeof *key);
    if (!query || !key) return;
    for (int64_t i = 0; i < n; i++) query[i] = valid->x[i / keys->n], key[i] = keys->x[i % keys->n];
    lesson_table(r, "nadaraya-watson-data",
                 (heed_table_column[]){{.name = "x", .f64 = keys->x}, {.name = "y", .f64 = keys->y}}, 2, keys->n);
    lesson_table(r, "nadaraya-watson-curve",
                 (heed_table_column[]){
                     {.name = "x", .f64 = grid->x}, {.name = "truth", .f64 = truth}, {.name = "f", .f64 = curve}},
                 3, GRID);
    lesson_table(r, "nadaraya-watson-attention",
                 (heed_table_column[]){
                     {.name = "query", .f64 = query}, {.name = "key", .f64 = key}, {.name = "weight", .f64 = map}},
                 3, n);
}

static void first_set(struct lesson_run *r) {
    enum { N = 50 };
    struct points keys, valid, grid;
    if (!points_draw(r, POINTS_FIRST, N, 0, &keys) || !points_draw(r, POINTS_FIRST, N, 1, &valid) ||
        !points_grid(r, 0, 5, GRID, &grid))
        return;
    double *curve = lesson_room(r, GRID, sizeof *curve), *truth = lesson_room(r, GRID, sizeof *truth);
    double *answers = lesson_room(r, N, sizeof *answers), *map = lesson_room(r, (int64_t)N * N, sizeof *map);
    double *wanted = lesson_room(r, N, sizeof *wanted), *flat = lesson_room(r, N, sizeof *flat);
    if (heed_failed(r->cx)) return;
    double mean = 0;
    for (int i = 0; i < GRID; i++) truth[i] = points_truth(POINTS_FIRST, grid.x[i]);
    for (int i = 0; i < N; i++) wanted[i] = points_truth(POINTS_FIRST, valid.x[i]), mean += keys.y[i] / N;
    for (int i = 0; i < N; i++) flat[i] = mean;
    if (!kernel_pool(r, KERNEL_GAUSSIAN, 1, &grid, &keys, false, curve, NULL) ||
        !kernel_pool(r, KERNEL_GAUSSIAN, 1, &valid, &keys, false, answers, map))
        return;
    const double error = root_mean_square(answers, wanted, N), average = root_mean_square(flat, wanted, N);
    const double attended = keys_attended(map, N, N), difference = model_difference(r, &keys, &grid, curve);
    lesson_say(r, "y = 2 sin x + x^0.8 + N(0, 0.5^2), 50 keys and 50 queries on [0, 5), Gaussian kernel of width 1:");
    lesson_line(r, "root mean square error, Nadaraya-Watson  %.4f", error);
    lesson_line(r, "                        average pooling  %.4f", average);
    lesson_line(r, "keys that a query attends to (exp of the entropy of its weights)  %.1f of 50", attended);
    lesson_line(r, "largest difference from heed's kernel-pooling model in f32  %.0e\n", difference);
    lesson_result(r, "error", error);
    lesson_result(r, "average_pooling_error", average);
    lesson_result(r, "keys_attended", attended);
    lesson_result(r, "model_difference", difference);
    draw_first(r, &keys, &grid, truth, curve, map, N);
    write_first(r, &keys, &valid, &grid, truth, curve, map);
}

/* ---- kernels and widths, on the second data set or on one's own ---- */

static bool compute_variant(struct lesson_run *r, const struct study *s, struct variant *v) {
    const int64_t n = s->keys.n;
    v->left_out = lesson_room(r, n, sizeof *v->left_out);
    double *answers = lesson_room(r, n, sizeof *answers);
    if (n <= MAX_MAP) v->map = lesson_room(r, n * n, sizeof *v->map);
    if (s->keys.width == 1) v->curve = lesson_room(r, GRID, sizeof *v->curve);
    if (heed_failed(r->cx)) return false;
    if (v->curve) kernel_pool(r, v->kernel, v->h, &s->grid, &s->keys, false, v->curve, NULL);
    if (v->map) kernel_pool(r, v->kernel, v->h, &s->keys, &s->keys, false, answers, v->map);
    kernel_pool(r, v->kernel, v->h, &s->keys, &s->keys, true, v->left_out, NULL);
    v->left_out_error = root_mean_square(v->left_out, s->keys.y, n);
    if (s->truth && v->curve) v->error = root_mean_square(v->curve, s->truth, GRID);
    if (v->map) v->attended = keys_attended(v->map, n, n);
    return !heed_failed(r->cx);
}

static void print_variants(struct lesson_run *r, const struct study *s, const char *what, const struct variant *v) {
    static const char *const formulas[] = {"exp(-u^2/2)", "1 if |u| <= 1", "max(0, 1-|u|)", "max(0, 1-u^2)"};
    const bool maps = v[0].map != NULL;
    lesson_line(r, "%-14s %-14s %14s %14s%s", what, "K(u)", s->truth ? "error of truth" : "", "left one out",
                maps ? "  keys attended" : "");
    for (int k = 0; k < VARIANTS; k++) {
        char error[32] = "", attended[32] = "", name[48];
        if (s->truth) snprintf(error, sizeof error, "%.4f", v[k].error);
        if (maps) snprintf(attended, sizeof attended, "%15.1f", v[k].attended);
        lesson_line(r, "%-14s %-14s %14s %14.4f%s", v[k].name, formulas[v[k].kernel], error, v[k].left_out_error,
                    attended);
        snprintf(name, sizeof name, "left_out_%s", v[k].name);
        lesson_result(r, name, v[k].left_out_error);
        if (!s->truth) continue;
        snprintf(name, sizeof name, "error_%s", v[k].name);
        lesson_result(r, name, v[k].error);
    }
    lesson_line(r, "%s", "");
}

/* One number in x: the curve through the data. More: the answer at each point, left out, against its y. */
static void draw_answers(struct lesson_run *r, const struct study *s, const struct variant *v, heed_panel *p,
                         bool legend) {
    float *y = lesson_floats(r, s->keys.y, s->keys.n);
    if (!y) return;
    heed_panel_title(p, v->name);
    heed_panel_legend(p, legend);
    if (s->keys.width > 1) {
        heed_panel_labels(p, s->keys.y_name, "f(x), left one out");
        heed_panel_scatter(p, y, lesson_floats(r, v->left_out, s->keys.n), s->keys.n,
                           &(heed_style){.size = 3.5, .alpha = 0.7});
        heed_panel_curve(p, y, y, s->keys.n, &(heed_style){.color = HEED_COLOR_GREY, .width = 1});
        return;
    }
    float *x = lesson_floats(r, s->keys.x, s->keys.n), *gx = lesson_floats(r, s->grid_x, GRID);
    if (!x || !gx) return;
    if (r->data) heed_panel_labels(p, s->keys.x_name, legend ? s->keys.y_name : NULL);
    for (int64_t i = 0; i < s->keys.n; i++) x[i] *= (float)s->keys.unit[0];
    heed_panel_scatter(p, x, y, s->keys.n,
                       &(heed_style){.label = "data", .color = HEED_COLOR_ORANGE, .size = 3.5, .alpha = 0.55});
    if (s->truth)
        heed_panel_curve(p, gx, lesson_floats(r, s->truth, GRID), GRID,
                         &(heed_style){.label = "truth", .color = HEED_COLOR_BLUE, .width = 1.5});
    heed_panel_curve(p, gx, lesson_floats(r, v->curve, GRID), GRID,
                     &(heed_style){.label = "f(x)", .color = HEED_COLOR_PINK, .width = 2});
}

/* The maps share one scale and its bar, unless their weights are too different for that: then each has its own. */
static void draw_variants(struct lesson_run *r, const struct study *s, const char *title, const struct variant *v,
                          bool own_scales, const char *file) {
    const int64_t n = s->keys.n;
    heed_figure *f = r->out ? lesson_figure(r, ACROSS, v[0].map ? 430 : 230) : NULL;
    if (!f) return;
    heed_figure_grid(f, v[0].map ? 2 : 1, VARIANTS);
    heed_figure_title(f, title);
    if (!own_scales) heed_figure_bar(f, "weight");
    for (int k = 0; k < VARIANTS; k++) {
        draw_answers(r, s, &v[k], heed_figure_panel(f, 0, k), k == 0);
        heed_panel *p = v[k].map ? heed_figure_panel(f, 1, k) : NULL;
        if (!p) continue;
        heed_panel_labels(p, "keys", k == 0 ? "queries" : NULL);
        double high = 0;
        for (int64_t i = 0; i < n * n; i++) high = fmax(high, v[k].map[i]);
        heed_panel_heatmap(p, lesson_floats(r, v[k].map, n * n), n, n,
                           &(heed_heatmap){.high = high, .scale_label = k == VARIANTS - 1 ? "weight" : NULL});
    }
    lesson_picture(r, f, file);
}

static void show_curves(struct lesson_run *r, const struct study *s, const struct variant *v) {
    if (s->keys.width > 1) return;
    float *x = lesson_floats(r, s->keys.x, s->keys.n), *y = lesson_floats(r, s->keys.y, s->keys.n);
    float *gx = lesson_floats(r, s->grid_x, GRID), *curve[VARIANTS];
    for (int k = 0; k < VARIANTS; k++) curve[k] = lesson_floats(r, v[k].curve, GRID);
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i < s->keys.n; i++) x[i] *= (float)s->keys.unit[0];
    const heed_series series[] = {{"data", x, y, s->keys.n, true},
                                  {v[0].name, gx, curve[0], GRID, false},
                                  {v[VARIANTS - 1].name, gx, curve[VARIANTS - 1], GRID, false}};
    lesson_show(r,
                heed_terminal_curves(r->cx, series, 3,
                                     &(heed_axes){.x_label = s->keys.x_name, .y_label = s->keys.y_name}, &r->terminal));
}

static void write_curves(struct lesson_run *r, const struct study *s, const struct variant *v, const char *file) {
    heed_table_column columns[2 + VARIANTS] = {{.name = "x", .f64 = s->grid_x}};
    int n = 1;
    if (s->keys.width > 1) return;
    if (s->truth) columns[n++] = (heed_table_column){.name = "truth", .f64 = s->truth};
    for (int k = 0; k < VARIANTS; k++) columns[n++] = (heed_table_column){.name = v[k].name, .f64 = v[k].curve};
    lesson_table(r, file, columns, n, GRID);
}

/* Every point with the answers that it gets when it is left out. */
static void write_points(struct lesson_run *r, const struct study *s) {
    const int64_t n = s->keys.n, width = s->keys.width, all = width + 1 + 2 * VARIANTS;
    heed_table_column *columns = lesson_room(r, all, sizeof *columns);
    char(*names)[32] = lesson_room(r, width, sizeof *names);
    if (!columns || !names || !r->out) return;
    for (int64_t c = 0; c < width; c++) {
        double *x = lesson_room(r, n, sizeof *x);
        for (int64_t i = 0; x && i < n; i++) x[i] = s->keys.x[i * width + c] * s->keys.unit[c];
        snprintf(names[c], sizeof names[c], width > 1 ? "x%lld" : "x", (long long)c + 1);
        columns[c] = (heed_table_column){.name = names[c], .f64 = x};
    }
    columns[width] = (heed_table_column){.name = "y", .f64 = s->keys.y};
    for (int k = 0; k < VARIANTS; k++) {
        columns[width + 1 + k] = (heed_table_column){.name = s->kernels[k].name, .f64 = s->kernels[k].left_out};
        columns[width + 1 + VARIANTS + k] =
            (heed_table_column){.name = s->widths[k].name, .f64 = s->widths[k].left_out};
    }
    if (!heed_failed(r->cx)) lesson_table(r, "nadaraya-watson-left-out", columns, (int)all, n);
}

/* Boxcar and the Gaussian kernel that attends to about as many keys differ in form, the widths in reach. */
static void compare_forms(struct lesson_run *r, const struct study *s) {
    const struct variant *boxcar = &s->kernels[KERNEL_BOXCAR], *same = &s->widths[0];
    double least = HUGE_VAL, most = 0;
    for (int k = 0; k < VARIANTS; k++) {
        const struct variant *v = &s->widths[k];
        const double error = s->truth ? v->error : v->left_out_error;
        if (fabs(v->attended - boxcar->attended) < fabs(same->attended - boxcar->attended)) same = v;
        least = fmin(least, error), most = fmax(most, error);
    }
    const double form = fabs(s->truth ? boxcar->error - same->error : boxcar->left_out_error - same->left_out_error);
    lesson_say(r,
               "How far a kernel reaches, and its form: the Gaussian of %s and the boxcar attend to about as many "
               "keys, %.0f and %.0f, and their errors differ by %.2f; over these widths the Gaussian's differs by "
               "%.2f. %s",
               same->name, same->attended, boxcar->attended, form, most - least,
               most - least > form ? "The reach matters more." : "Here the form matters as much.");
}

static void study(struct lesson_run *r, struct study *s) {
    static const double widths[VARIANTS] = {0.1, 0.2, 0.5, 1};
    for (int k = 0; k < VARIANTS; k++) {
        struct variant *kernel = &s->kernels[k], *width = &s->widths[k];
        *kernel = (struct variant){.kernel = (enum kernel)k, .h = 1};
        *width = (struct variant){.kernel = KERNEL_GAUSSIAN, .h = widths[k]};
        snprintf(kernel->name, sizeof kernel->name, "%s", kernel_names[k]);
        snprintf(width->name, sizeof width->name, "width %g", widths[k]);
        if (!compute_variant(r, s, kernel) || !compute_variant(r, s, width)) return;
    }
    lesson_say(
        r, "Four kernels of width 1. (One of the lectures that this follows, by Mart\u00ednez-Ram\u00f3n, Ajith and "
           "Kurup, prints the triangular kernel under Epanechnikov's name; the Epanechnikov kernel is a parabola.) "
           "'Left one out' is the error at each point when it may not attend to itself.");
    print_variants(r, s, "kernel", s->kernels);
    show_curves(r, s, s->kernels);
    lesson_say(
        r, "The Gaussian kernel with other widths, from a curve that follows the points to one that smooths most of "
           "its shape away:");
    print_variants(r, s, "gaussian", s->widths);
    compare_forms(r, s);
    show_curves(r, s, s->widths);
    draw_variants(r, s, "Four kernels of width 1, and their attention on one scale", s->kernels, false,
                  "nadaraya-watson-kernels");
    draw_variants(r, s, "The Gaussian kernel, narrow to wide; each map on its own scale", s->widths, true,
                  "nadaraya-watson-widths");
    write_curves(r, s, s->kernels, "nadaraya-watson-kernels");
    write_curves(r, s, s->widths, "nadaraya-watson-widths");
    write_points(r, s);
}

static void unreached(struct lesson_run *r, const struct points *keys) {
    const struct points far = {.n = 1, .width = 1, .x = (double[]){10}};
    double answer = 0;
    if (!kernel_pool(r, KERNEL_BOXCAR, 1, &far, keys, false, &answer, NULL)) return;
    lesson_say(r,
               "A query that no kernel reaches, say x = 10 with the boxcar, would be 0/0. heed defines its answer: the "
               "value of the nearest key (the mean when several are equally near), here y = %.4f at x = %.4f.",
               answer, keys->x[keys->n - 1]);
    lesson_result(r, "unreached", answer);
}

static void second_set(struct lesson_run *r, struct study *s) {
    double *truth = lesson_room(r, GRID, sizeof *truth);
    if (!truth || !points_draw(r, POINTS_SECOND, 100, 0, &s->keys) || !points_grid(r, 0, 4, GRID, &s->grid)) return;
    for (int i = 0; i < GRID; i++) truth[i] = points_truth(POINTS_SECOND, s->grid.x[i]);
    s->truth = truth;
    s->grid_x = s->grid.x;
    lesson_say(r, "The other data set: y = 2 sin x + x + N(0, 1), 100 keys on [0, 4].");
    study(r, s);
    unreached(r, &s->keys);
}

static void own_set(struct lesson_run *r, struct study *s) {
    if (s->keys.width == 1) {
        s->grid_x = lesson_room(r, GRID, sizeof *s->grid_x);
        if (!s->grid_x || !points_grid(r, s->keys.x[0], s->keys.x[s->keys.n - 1], GRID, &s->grid)) return;
        for (int i = 0; i < GRID; i++) s->grid_x[i] = s->grid.x[i] * s->keys.unit[0];
    }
    lesson_line(r, "%s: %lld keys of %lld number%s. Widths are in deviations of each column.\n", r->data,
                (long long)s->keys.n, (long long)s->keys.width, s->keys.width == 1 ? "" : "s");
    study(r, s);
}

static void run(struct lesson_run *r) {
    struct study *s = lesson_room(r, 1, sizeof *s);
    if (!s || (r->data && !points_load(r, &s->keys))) return;
    lesson_say(
        r, "Nadaraya-Watson regression (Nadaraya 1964; Watson 1964) is attention without parameters: the answer to "
           "a query x is the mean of the values y_i, weighted by how near their keys x_i are, K(x - x_i) divided by "
           "the sum over all keys. With a Gaussian kernel the weights are a softmax of -(x - x_i)^2 / 2.");
    if (r->data) {
        own_set(r, s);
        return;
    }
    first_set(r);
    if (!heed_failed(r->cx)) second_set(r, s);
    lesson_say(r, "What width is right? It can be learnt: '%s lesson parametric-pooling'.", r->program);
}

const struct lesson kernels_lesson = {
    .name = "nadaraya-watson",
    .summary = "attention by distance: four kernels, several widths, the map of the weights",
    .data = "a table of numbers, any columns x and the last one y",
    .run = run,
};
