/* Attention pooling with a parameter: softmax(-|(x - x_i) w|^2 / 2), w learnt by stochastic gradient descent on heed's
 * kernel-pooling model, each query leaving its own point out. Follows Schönhuth, Bielefeld 2023. */
#include "heed/model.h"
#include "lessons/points.h"
#include <math.h>
#include <stdio.h>

enum { GRID = 201, EPOCHS = 60, BATCH = 10, ROWS = 6, LEARNT = 3, MAX_MAP = 200 };
#define RATE 0.8

/* ---- learning ---- */

struct learning {
    int64_t steps;
    double *w;    /* (width): the result */
    float *path;  /* (width, steps + 1) */
    float *epoch; /* (EPOCHS) mean loss of its batches */
};

static heed_model *open_model(struct lesson_run *r, const struct points *keys) {
    char points[40], inputs[40];
    snprintf(points, sizeof points, "points=%lld", (long long)keys->n);
    snprintf(inputs, sizeof inputs, "input_size=%lld", (long long)keys->width);
    heed_model *model = heed_model_new(r->cx, heed_family_find("kernel-pooling"),
                                       (const char *[]){points, inputs, "learnable=true"}, 3, r->seed);
    if (!model) return NULL;
    const heed_params *params = heed_model_params(model);
    float *key = heed_params_find(params, "keys")->value, *value = heed_params_find(params, "values")->value;
    for (int64_t i = 0; i < keys->n * keys->width; i++) key[i] = (float)keys->x[i];
    for (int64_t i = 0; i < keys->n; i++) value[i] = (float)keys->y[i];
    return model;
}

struct batch {
    float *x, *y, *mask; /* (n, width), (n), (n, keys): 0 at the query's own point */
};

static void fill_batch(const struct points *keys, const int64_t *rows, int64_t n, const struct batch *b) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < keys->width; c++) b->x[i * keys->width + c] = (float)keys->x[rows[i] * keys->width + c];
        b->y[i] = (float)keys->y[rows[i]];
        for (int64_t k = 0; k < keys->n; k++) b->mask[i * keys->n + k] = k != rows[i];
    }
}

static float train_step(heed_ctx *cx, const heed_model *model, heed_trainer *trainer, const struct points *keys,
                        const struct batch *b, int64_t n) {
    heed_io in = {.n = 0}, out = {.n = 0};
    heed_trainer_begin(cx, trainer);
    heed_io_put(cx, &in, "x", heed_borrow(cx, HEED_F32, b->x, 2, (int64_t[]){n, keys->width}, NULL));
    heed_io_put(cx, &in, "y", heed_borrow(cx, HEED_F32, b->y, 2, (int64_t[]){n, 1}, NULL));
    heed_io_put(cx, &in, "attention_mask", heed_borrow(cx, HEED_F32, b->mask, 2, (int64_t[]){n, keys->n}, NULL));
    heed_model_forward(cx, model, &in, &out);
    return lesson_learn(cx, trainer, heed_io_get(&out, "loss"));
}

/* The same points with values of mean 0 and deviation 1, so that one learning rate suits any data. */
static bool standard_values(struct lesson_run *r, const struct points *p, struct points *out, double *variance) {
    double mean = 0;
    *out = *p;
    *variance = 0;
    out->y = lesson_room(r, p->n, sizeof *out->y);
    for (int64_t i = 0; i < p->n; i++) mean += p->y[i] / (double)p->n;
    for (int64_t i = 0; i < p->n; i++) *variance += (p->y[i] - mean) * (p->y[i] - mean) / (double)p->n;
    if (!(*variance > 0)) return heed_fail(r->cx, HEED_ERR_RANGE, "%s: all y are equal", r->data ? r->data : "points");
    for (int64_t i = 0; out->y && i < p->n; i++) out->y[i] = (p->y[i] - mean) / sqrt(*variance);
    return out->y;
}

static bool learn(struct lesson_run *r, const struct points *given, struct learning *l) {
    heed_ctx *cx = r->cx;
    struct points standard, *keys = &standard;
    double variance;
    if (!standard_values(r, given, &standard, &variance)) return false;
    const int64_t size = keys->n < BATCH ? keys->n : BATCH, per_epoch = keys->n / size;
    l->steps = EPOCHS * per_epoch;
    l->w = lesson_room(r, keys->width, sizeof *l->w);
    l->path = lesson_room(r, (l->steps + 1) * keys->width, sizeof *l->path);
    l->epoch = lesson_room(r, EPOCHS, sizeof *l->epoch);
    int64_t *order = lesson_room(r, keys->n, sizeof *order);
    const struct batch b = {.x = lesson_room(r, size * keys->width, sizeof(float)),
                            .y = lesson_room(r, size, sizeof(float)),
                            .mask = lesson_room(r, size * keys->n, sizeof(float))};
    if (heed_failed(cx)) return false;
    heed_model *model = open_model(r, keys);
    /* a step is at most 1: one batch must not throw w off */
    const heed_trainer_opts opts = {
        .optimizer = {.kind = HEED_SGD}, .schedule = {.kind = HEED_LINEAR, .lr = RATE, .steps = l->steps}, .clip = 1};
    heed_trainer *trainer = model ? heed_trainer_new(cx, heed_model_params(model), &opts) : NULL;
    const float *w = model ? heed_params_find(heed_model_params(model), "w")->value : NULL;
    for (int64_t step = 0; !heed_failed(cx) && step <= l->steps; step++) {
        const int64_t epoch = step / per_epoch, at = step % per_epoch;
        for (int64_t c = 0; c < keys->width; c++) l->path[c * (l->steps + 1) + step] = w[c];
        if (step == l->steps) break;
        if (at == 0) heed_random_permutation(r->seed, 100 + (uint64_t)epoch, order, keys->n);
        fill_batch(keys, order + at * size, size, &b);
        l->epoch[epoch] += (float)variance * train_step(cx, model, trainer, keys, &b, size) / (float)per_epoch;
        if (at == 0) lesson_progress(r, "learning, epoch", epoch, EPOCHS);
    }
    lesson_progress(r, "", EPOCHS, EPOCHS);
    for (int64_t c = 0; !heed_failed(cx) && c < keys->width; c++) l->w[c] = (double)w[c];
    heed_trainer_free(cx, trainer);
    heed_model_free(cx, model);
    return !heed_failed(cx);
}

/* ---- what w does ---- */

/* The keys as the kernel sees them, x w: then the width is 1. */
static bool stretched(struct lesson_run *r, const struct points *p, const double *w, double factor,
                      struct points *out) {
    *out = *p;
    out->x = lesson_room(r, p->n * p->width, sizeof *out->x);
    for (int64_t i = 0; out->x && i < p->n * p->width; i++) out->x[i] = p->x[i] * (w ? w[i % p->width] : 1) * factor;
    return out->x;
}

struct effect {
    double factor;       /* of the learnt w; 0: the plain w = 1 */
    double *curve, *map; /* on the grid, when x is one number; queries by keys */
    double left_out, truth, attended, travel;
};

struct scene {
    struct points keys, queries, grid;
    const double *truth; /* on the grid; NULL: unknown */
    double *grid_x;      /* as in the file */
    struct learning learning;
    struct effect effects[ROWS];
};

static bool measure(struct lesson_run *r, const struct scene *s, struct effect *e) {
    const int64_t n = s->keys.n, m = s->queries.n;
    struct points keys, queries, grid;
    const double *w = e->factor > 0 ? s->learning.w : NULL;
    const double factor = e->factor > 0 ? e->factor : 1;
    double *answers = lesson_room(r, n > m ? n : m, sizeof *answers);
    e->map = lesson_room(r, n * m, sizeof *e->map);
    if (!e->map || !answers || !stretched(r, &s->keys, w, factor, &keys) ||
        !stretched(r, &s->queries, w, factor, &queries))
        return false;
    kernel_pool(r, KERNEL_GAUSSIAN, 1, &keys, &keys, true, answers, NULL);
    e->left_out = root_mean_square(answers, s->keys.y, n);
    kernel_pool(r, KERNEL_GAUSSIAN, 1, &queries, &keys, false, answers, e->map);
    e->attended = keys_attended(e->map, m, n);
    if (s->keys.width > 1) return true;
    e->curve = lesson_room(r, GRID, sizeof *e->curve);
    if (!e->curve || !stretched(r, &s->grid, w, factor, &grid)) return false;
    kernel_pool(r, KERNEL_GAUSSIAN, 1, &grid, &keys, false, e->curve, NULL);
    for (int i = 1; i < GRID; i++) e->travel += fabs(e->curve[i] - e->curve[i - 1]);
    if (s->truth) e->truth = root_mean_square(e->curve, s->truth, GRID);
    return true;
}

static void print_effects(struct lesson_run *r, const struct scene *s) {
    const bool one = s->keys.width == 1;
    lesson_line(r, "%-16s %8s %14s %13s %14s %8s", "", one ? "w" : "times w", "keys attended", "left one out",
                s->truth ? "error of truth" : "", one ? "travel" : "");
    for (int k = 0; k < ROWS; k++) {
        const struct effect *e = &s->effects[k];
        char truth[32] = "", travel[32] = "";
        char name[32] = "learnt";
        if (e->factor == 0) snprintf(name, sizeof name, "plain, w = 1");
        if (e->factor > 1) snprintf(name, sizeof name, "learnt x %g", e->factor);
        if (e->factor > 0 && e->factor < 1) snprintf(name, sizeof name, "learnt / %g", 1 / e->factor);
        const double w = e->factor == 0 ? 1 : e->factor * (one ? s->learning.w[0] : 1);
        if (s->truth) snprintf(truth, sizeof truth, "%.4f", e->truth);
        if (one) snprintf(travel, sizeof travel, "%.2f", e->travel);
        lesson_line(r, "%-16s %8.3f %14.1f %13.4f %14s %8s", name, w, e->attended, e->left_out, truth, travel);
    }
    lesson_line(r, "%s", "");
}

/* ---- pictures and tables ---- */

static void draw_maps(struct lesson_run *r, const struct scene *s) {
    const int64_t n = s->keys.n, m = s->queries.n;
    heed_figure *f = m <= MAX_MAP ? lesson_figure(r, 680, 310) : NULL;
    heed_figure_grid(f, 1, 2);
    for (int k = 0; f && k < 2; k++) {
        const struct effect *e = &s->effects[k ? LEARNT : 0];
        heed_panel *p = heed_figure_panel(f, 0, k);
        char title[64];
        if (k == 0 || s->keys.width > 1)
            snprintf(title, sizeof title, "%s", k ? "w learnt: sharper" : "Plain: w = 1");
        else
            snprintf(title, sizeof title, "Learnt: w = %.2f", fabs(s->learning.w[0]));
        heed_panel_title(p, title);
        char keys[96] = "keys", queries[96] = "queries";
        if (s->keys.width == 1) {
            snprintf(keys, sizeof keys, "keys, sorted by %s", s->keys.x_name);
            snprintf(queries, sizeof queries, "queries, sorted by %s", s->keys.x_name);
        }
        heed_panel_labels(p, keys, k ? NULL : queries);
        heed_panel_heatmap(p, lesson_floats(r, e->map, n * m), m, n, &(heed_heatmap){.scale_label = "weight"});
    }
    lesson_picture(r, f, "parametric-pooling-attention");
}

static void draw_path(struct lesson_run *r, const struct scene *s) {
    const struct learning *l = &s->learning;
    heed_figure *f = lesson_figure(r, 680, 280);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "The path of w");
    heed_panel_labels(p, "step", "w");
    for (int64_t c = 0; c < s->keys.width && c < 8; c++) {
        char name[24];
        snprintf(name, sizeof name, "w%lld", (long long)c + 1);
        heed_panel_curve(p, NULL, l->path + c * (l->steps + 1), l->steps + 1,
                         &(heed_style){.label = s->keys.width > 1 ? name : NULL,
                                       .color = s->keys.width > 1 ? HEED_COLOR_NEXT : HEED_COLOR_PINK,
                                       .width = 1.5});
    }
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "The error, each query without its own point");
    heed_panel_labels(p, "epoch", "mean squared error");
    heed_panel_curve(p, NULL, l->epoch, EPOCHS, &(heed_style){.color = HEED_COLOR_PINK, .width = 1.5});
    lesson_picture(r, f, "parametric-pooling-path");
}

static void draw_curves(struct lesson_run *r, const struct scene *s) {
    float *x = lesson_floats(r, s->keys.x, s->keys.n), *y = lesson_floats(r, s->keys.y, s->keys.n);
    float *gx = lesson_floats(r, s->grid_x, GRID), *plain = lesson_floats(r, s->effects[0].curve, GRID);
    float *learnt = lesson_floats(r, s->effects[LEARNT].curve, GRID),
          *most = lesson_floats(r, s->effects[5].curve, GRID);
    float *truth = s->truth ? lesson_floats(r, s->truth, GRID) : NULL;
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i < s->keys.n; i++) x[i] *= (float)s->keys.unit[0];
    const heed_series series[] = {{"data", x, y, s->keys.n, true},
                                  {"plain, w = 1", gx, plain, GRID, false},
                                  {"w learnt", gx, learnt, GRID, false}};
    lesson_show(r,
                heed_terminal_curves(r->cx, series, 3,
                                     &(heed_axes){.x_label = s->keys.x_name, .y_label = s->keys.y_name}, &r->terminal));
    heed_figure *f = lesson_figure(r, 680, 300);
    heed_figure_grid(f, 1, 2);
    for (int k = 0; k < 2; k++) {
        heed_panel *p = heed_figure_panel(f, 0, k);
        heed_panel_title(p, k ? "Four times the learnt w: follows every point" : "Plain and learnt");
        heed_panel_labels(p, s->keys.x_name, k ? NULL : s->keys.y_name);
        if (truth)
            heed_panel_curve(p, gx, truth, GRID, &(heed_style){.label = "truth", .color = HEED_COLOR_BLUE, .width = 2});
        heed_panel_scatter(p, x, y, s->keys.n, &(heed_style){.label = "data", .color = HEED_COLOR_ORANGE});
        if (k == 0)
            heed_panel_curve(
                p, gx, plain, GRID,
                &(heed_style){.label = "plain", .color = HEED_COLOR_GREEN, .dash = HEED_DASH_LONG, .width = 2});
        heed_panel_curve(p, gx, k ? most : learnt, GRID,
                         &(heed_style){.label = k ? "4 w" : "learnt", .color = HEED_COLOR_PINK, .width = 2});
    }
    lesson_picture(r, f, "parametric-pooling");
}

static void show_maps(struct lesson_run *r, const struct scene *s) {
    const int64_t n = s->keys.n, m = s->queries.n;
    heed_terminal how = r->terminal;
    for (int k = 0; k < 2; k++) {
        float *map = lesson_floats(r, s->effects[k ? LEARNT : 0].map, n * m);
        if (!map) return;
        how.title = k ? "Attention weights with the learnt w: sharper" : "Attention weights with w = 1";
        how.height = 14;
        lesson_show(r, heed_terminal_heatmap(r->cx, map, m, n, NULL, &how));
    }
}

static void write(struct lesson_run *r, const struct scene *s) {
    const struct learning *l = &s->learning;
    const int64_t n = s->keys.n, m = s->queries.n, width = s->keys.width < 8 ? s->keys.width : 8;
    float *step = lesson_room(r, l->steps + 1, sizeof *step);
    const int64_t cells = m <= MAX_MAP ? n * m : 0;
    double *row = lesson_room(r, cells, sizeof *row), *column = lesson_room(r, cells, sizeof *column);
    heed_table_column path[9];
    static const char *const names[] = {"w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"};
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i <= l->steps; i++) step[i] = (float)i;
    for (int64_t i = 0; i < cells; i++) row[i] = (double)(i / n), column[i] = (double)(i % n);
    path[0] = (heed_table_column){.name = "step", .f32 = step};
    for (int64_t c = 0; c < width; c++)
        path[c + 1] = (heed_table_column){.name = width > 1 ? names[c] : "w", .f32 = l->path + c * (l->steps + 1)};
    lesson_table(r, "parametric-pooling-path", path, (int)width + 1, l->steps + 1);
    if (cells)
        lesson_table(r, "parametric-pooling-attention",
                     (heed_table_column[]){{.name = "query", .f64 = row},
                                           {.name = "key", .f64 = column},
                                           {.name = "plain", .f64 = s->effects[0].map},
                                           {.name = "learnt", .f64 = s->effects[LEARNT].map}},
                     4, cells);
    if (s->keys.width == 1)
        lesson_table(r, "parametric-pooling",
                     (heed_table_column[]){{.name = "x", .f64 = s->grid_x},
                                           {.name = "plain", .f64 = s->effects[0].curve},
                                           {.name = "learnt", .f64 = s->effects[LEARNT].curve},
                                           {.name = "four_times", .f64 = s->effects[5].curve},
                                           {.name = "truth", .f64 = s->truth}},
                     s->truth ? 5 : 4, GRID);
}

/* ---- the lesson ---- */

static bool open_scene(struct lesson_run *r, struct scene *s) {
    enum { N = 50 };
    if (r->data) {
        if (!points_load(r, &s->keys)) return false;
        s->queries = s->keys;
    } else if (!points_draw(r, POINTS_FIRST, N, 0, &s->keys) || !points_draw(r, POINTS_FIRST, N, 1, &s->queries)) {
        return false;
    }
    if (s->keys.width > 1) return true;
    const double low = r->data ? s->keys.x[0] : 0, high = r->data ? s->keys.x[s->keys.n - 1] : 5;
    double *truth = r->data ? NULL : lesson_room(r, GRID, sizeof *truth);
    s->grid_x = lesson_room(r, GRID, sizeof *s->grid_x);
    if (!s->grid_x || !points_grid(r, low, high, GRID, &s->grid)) return false;
    for (int i = 0; i < GRID; i++) {
        s->grid_x[i] = s->grid.x[i] * s->keys.unit[0];
        if (truth) truth[i] = points_truth(POINTS_FIRST, s->grid.x[i]);
    }
    s->truth = truth;
    return !heed_failed(r->cx);
}

static void print_learning(struct lesson_run *r, const struct scene *s) {
    const struct learning *l = &s->learning;
    lesson_line(r, "%8s %10s %20s", "epoch", s->keys.width > 1 ? "first w" : "w", "mean squared error");
    for (int epoch = 0; epoch < EPOCHS; epoch = epoch < 2 ? epoch + 1 : epoch < 4 ? 4 : 2 * epoch)
        lesson_line(r, "%8d %10.4f %20.4f", epoch, (double)l->path[epoch * (l->steps / EPOCHS)],
                    (double)l->epoch[epoch]);
    lesson_line(r, "%8d %10.4f %20.4f\n", EPOCHS, l->w[0], s->effects[LEARNT].left_out * s->effects[LEARNT].left_out);
    if (s->keys.width == 1) return;
    lesson_line(r, "%8s %10s", "column", "w");
    for (int64_t c = 0; c < s->keys.width; c++) lesson_line(r, "%8lld %10.4f", (long long)c + 1, l->w[c]);
    lesson_line(r, "%s", "");
}

static void run(struct lesson_run *r) {
    static const double factors[ROWS] = {0, 0.25, 0.5, 1, 2, 4};
    struct scene *s = lesson_room(r, 1, sizeof *s);
    if (!s || !open_scene(r, s)) return;
    lesson_say(r,
               "Attention with one thing to learn: the weights are softmax(-((x - x_i) w)^2 / 2), and w says how far a "
               "key's influence reaches: 1/w is the width of the kernel. It is learnt by stochastic gradient descent, "
               "%d points at a time, each predicted from all the others: a point that might attend to itself would "
               "make w grow without end.",
               BATCH);
    if (!learn(r, &s->keys, &s->learning)) return;
    if (r->data)
        lesson_line(r, "%s: %lld keys of %lld number%s. Each column of x was divided by its deviation.\n", r->data,
                    (long long)s->keys.n, (long long)s->keys.width, s->keys.width == 1 ? "" : "s");
    for (int k = 0; k < ROWS; k++) {
        s->effects[k].factor = factors[k];
        if (!measure(r, s, &s->effects[k])) return;
    }
    print_learning(r, s);
    lesson_result(r, "w", s->learning.w[0]);
    lesson_result(r, "plain_left_out", s->effects[0].left_out);
    lesson_result(r, "learnt_left_out", s->effects[LEARNT].left_out);
    lesson_result(r, "plain_attended", s->effects[0].attended);
    lesson_result(r, "learnt_attended", s->effects[LEARNT].attended);
    if (s->keys.width == 1) draw_curves(r, s);
    if (s->queries.n <= MAX_MAP) show_maps(r, s);
    lesson_say(r, "What w does. Keys attended: how many a query attends to, exp of the entropy of its weights.%s",
               s->keys.width > 1 ? ""
                                 : " Travel: how far the curve goes up and down in all; a rough curve travels far.");
    print_effects(r, s);
    draw_maps(r, s);
    draw_path(r, s);
    write(r, s);
    double best = s->effects[0].left_out;
    for (int k = 1; k < ROWS; k++) best = fmin(best, s->effects[k].left_out);
    lesson_say(
        r,
        "Larger w: fewer influential keys, and a curve that is less smooth. Learning moves w to where the points "
        "that are left out are predicted best%s.",
        best < 0.99 * s->effects[LEARNT].left_out ? "; with these it is still on its way" : "");
}

const struct lesson parametric_lesson = {
    .name = "parametric-pooling",
    .summary = "the width learnt: the path of w, a sharper map, a less smooth curve",
    .data = "a table of numbers, any columns x and the last one y",
    .run = run,
};
