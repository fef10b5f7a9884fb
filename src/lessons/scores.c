/* Scoring functions: dot product and bilinear (Luong et al. 2015), scaled (Vaswani et al. 2017), additive (Bahdanau et
 * al. 2015), distance and kernels, on the same query and keys; what a scale and a temperature do. Follows
 * Martínez-Ramón, Ajith and Kurup. */
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>

enum { KINDS = 9, HIDDEN = 16, TEMPERATURES = 5, SIZES = 5, DRAWN_KEYS = 16, DRAWN_QUERIES = 64 };

static const struct kind {
    const char *name, *formula;
    heed_score_kind kind;
    heed_normaliser how;
} kinds[KINDS] = {
    {"dot", "q'k", HEED_SCORE_DOT, HEED_NORMALISE_SOFTMAX},
    {"scaled dot", "q'k / sqrt(d)", HEED_SCORE_SCALED_DOT, HEED_NORMALISE_SOFTMAX},
    {"bilinear", "q'M k", HEED_SCORE_BILINEAR, HEED_NORMALISE_SOFTMAX},
    {"additive", "w' tanh(W_q q + W_k k)", HEED_SCORE_ADDITIVE, HEED_NORMALISE_SOFTMAX},
    {"distance", "-|q - k|^2 / 2", HEED_SCORE_DISTANCE, HEED_NORMALISE_SOFTMAX},
    {"gaussian", "exp(-|q - k|^2 / 2)", HEED_SCORE_GAUSSIAN, HEED_NORMALISE_SUM},
    {"boxcar", "1 if |q - k| <= 1", HEED_SCORE_BOXCAR, HEED_NORMALISE_SUM},
    {"triangular", "max(0, 1 - |q - k|)", HEED_SCORE_TRIANGULAR, HEED_NORMALISE_SUM},
    {"epanechnikov", "max(0, 1 - |q - k|^2)", HEED_SCORE_EPANECHNIKOV, HEED_NORMALISE_SUM},
};

/* ---- the functions ---- */

/* The score's own parameters. M moves every channel of the query on by one, the last one with its sign changed: in the
 * plane, a quarter turn. Those of the additive score are random: training would find them. */
static bool make_parameters(struct lesson_run *r, int64_t width, heed_score_opts *o) {
    float *m = lesson_room(r, width * width, sizeof *m), *drawn = lesson_room(r, HIDDEN * (2 * width + 1), sizeof *m);
    if (!m || !drawn) return false;
    for (int64_t i = 0; i < width; i++) m[i * width + (i + 1) % width] = i + 1 < width ? 1 : -1;
    heed_random_normal(r->seed, 0, 0, drawn, HIDDEN * (2 * width + 1));
    for (int64_t i = 0; i < HIDDEN * 2 * width; i++) drawn[i] /= sqrtf((float)width);
    o->m = heed_from_f32(r->cx, m, 2, (int64_t[]){width, width});
    o->wq = heed_from_f32(r->cx, drawn, 2, (int64_t[]){HIDDEN, width});
    o->wk = heed_from_f32(r->cx, drawn + HIDDEN * width, 2, (int64_t[]){HIDDEN, width});
    o->w = heed_from_f32(r->cx, drawn + 2 * HIDDEN * width, 1, (int64_t[]){HIDDEN});
    return !heed_failed(r->cx);
}

/* (KINDS, keys) */
static bool compare(struct lesson_run *r, const struct store *s, float *weights) {
    for (int k = 0; k < KINDS; k++) {
        heed_score_opts all = {.kind = HEED_SCORE_DOT};
        if (!make_parameters(r, s->width, &all)) return false;
        heed_score_opts own = {.kind = kinds[k].kind};
        if (own.kind == HEED_SCORE_BILINEAR) own.m = all.m;
        if (own.kind == HEED_SCORE_ADDITIVE) own.wq = all.wq, own.wk = all.wk, own.w = all.w;
        if (!store_weights(r, s, &own, kinds[k].how, weights + k * s->n)) return false;
    }
    return true;
}

static void print_kinds(struct lesson_run *r, const struct store *s, const float *weights) {
    lesson_line(r, "%-14s %-24s %-12s %8s %10s", "score", "formula", "attends to", "weight", "keys");
    for (int k = 0; k < KINDS; k++) {
        const float *w = weights + k * s->n;
        const int64_t best = lesson_winner(w, s->n);
        char name[48];
        const bool none = !(w[best] > 0);
        lesson_line(r, "%-14s %-24s %-12s %8.4f %10.1f", kinds[k].name, kinds[k].formula,
                    none ? "no key" : s->names[best], (double)w[best], none ? 0 : map_attended(w, 1, s->n));
        snprintf(name, sizeof name, "weight_%s", kinds[k].name);
        for (char *c = name; *c; c++)
            if (*c == ' ') *c = '_';
        lesson_result(r, name, (double)w[best]);
    }
    lesson_line(r, "%s", "");
}

static void draw_plane(struct lesson_run *r, const struct store *s, heed_panel *p) {
    float x[64], y[64];
    for (int64_t i = 0; i < s->n; i++) x[i] = s->keys[2 * i], y[i] = s->keys[2 * i + 1];
    heed_panel_title(p, "The keys and the query");
    heed_panel_scatter(p, x, y, s->n, &(heed_style){.label = "keys", .color = HEED_COLOR_BLUE, .size = 7});
    heed_panel_scatter(
        p, &s->query[0], &s->query[1], 1,
        &(heed_style){.label = "query", .color = HEED_COLOR_RED, .marker = HEED_MARKER_DIAMOND, .size = 10});
    for (int64_t i = 0; i < s->n; i++) heed_panel_text(p, (double)x[i], (double)y[i] + 0.16, s->names[i], NULL);
    heed_panel_limits_x(p, -1.9, 3.2);
    heed_panel_limits_y(p, -1.9, 2.1);
    (void)r;
}

static void draw_kinds(struct lesson_run *r, const struct store *s, const float *weights) {
    const char *rows[KINDS];
    for (int k = 0; k < KINDS; k++) rows[k] = kinds[k].name;
    const heed_heatmap how = {.high = 1, .row_names = rows, .col_names = s->names, .numbers = true};
    heed_terminal terminal = r->terminal;
    terminal.title = "Weights: a row for each score, a column for each key";
    lesson_show(r, heed_terminal_heatmap(r->cx, weights, KINDS, s->n, &how, &terminal));
    const bool plane = s->width == 2 && !r->data;
    heed_figure *f = lesson_figure(r, plane ? 760 : 200 + 45 * (double)s->n, 330);
    heed_figure_grid(f, 1, plane ? 2 : 1);
    if (plane) draw_plane(r, s, heed_figure_panel(f, 0, 0));
    heed_panel *p = heed_figure_panel(f, 0, plane);
    heed_panel_title(p, "Whom each score attends to");
    heed_panel_heatmap(p, weights, KINDS, s->n,
                       &(heed_heatmap){.high = 1,
                                       .row_names = rows,
                                       .col_names = s->names,
                                       .numbers = s->n <= 16,
                                       .scale_label = "weight",
                                       .stretch = true});
    lesson_picture(r, f, "scoring");
    map_table(r, "scoring", rows, s->names, "weight", weights, KINDS, s->n);
}

/* ---- the temperature ---- */

static const float temperatures[TEMPERATURES] = {0.1f, 0.5f, 1, 2, 10};

static bool cool(struct lesson_run *r, const struct store *s, float *weights) {
    heed_ctx *cx = r->cx;
    for (int k = 0; k < TEMPERATURES; k++) {
        heed_tensor *q = heed_from_f32(cx, s->query, 3, (int64_t[]){1, 1, s->width});
        heed_tensor *keys = heed_from_f32(cx, s->keys, 3, (int64_t[]){1, s->n, s->width});
        heed_tensor *scores = heed_scores(cx, q, keys, &(heed_score_opts){.kind = HEED_SCORE_SCALED_DOT});
        scores = heed_affine(cx, scores, 1 / temperatures[k], 0);
        heed_tensor *w = heed_normalise(cx, scores, HEED_NORMALISE_SOFTMAX, NULL);
        if (!w || !heed_copy_f32(cx, w, weights + k * s->n, s->n)) return false;
        heed_reset(cx);
    }
    return true;
}

static void show_temperatures(struct lesson_run *r, const struct store *s, const float *weights) {
    static const char *const rows[TEMPERATURES] = {"t = 0.1", "t = 0.5", "t = 1", "t = 2", "t = 10"};
    float *rounded = lesson_room(r, TEMPERATURES * s->n, sizeof *rounded);
    if (!rounded) return;
    for (int64_t i = 0; i < TEMPERATURES * s->n; i++) rounded[i] = roundf(weights[i] * 100) / 100;
    lesson_show(
        r, heed_terminal_heatmap(r->cx, rounded, TEMPERATURES, s->n,
                                 &(heed_heatmap){.high = 1, .row_names = rows, .col_names = s->names, .numbers = true},
                                 &r->terminal));
    map_table(r, "scoring-temperature", rows, s->names, "weight", weights, TEMPERATURES, s->n);
}

/* ---- the scale ---- */

struct scale {
    float size[SIZES], deviation[SIZES], dot[SIZES], scaled[SIZES]; /* of scores; largest weights */
};

/* The mean over the queries of the largest weight. */
static float largest_weight(struct lesson_run *r, heed_tensor *scores) {
    heed_ctx *cx = r->cx;
    heed_tensor *w = heed_normalise(cx, scores, HEED_NORMALISE_SOFTMAX, NULL);
    return heed_item(cx, heed_mean(cx, heed_max(cx, w, (int[]){2}, 1, false), NULL, 0, false));
}

static bool measure_scale(struct lesson_run *r, struct scale *s) {
    heed_ctx *cx = r->cx;
    for (int k = 0; k < SIZES; k++) {
        const int64_t d = (int64_t)4 << (2 * k), n = (DRAWN_KEYS + DRAWN_QUERIES) * d;
        float *drawn = lesson_room(r, n, sizeof *drawn);
        if (!drawn) return false;
        heed_random_normal(r->seed, 1 + (uint64_t)k, 0, drawn, n);
        heed_tensor *q = heed_from_f32(cx, drawn, 3, (int64_t[]){1, DRAWN_QUERIES, d});
        heed_tensor *keys = heed_from_f32(cx, drawn + DRAWN_QUERIES * d, 3, (int64_t[]){1, DRAWN_KEYS, d});
        heed_tensor *dot = heed_scores(cx, q, keys, &(heed_score_opts){.kind = HEED_SCORE_DOT});
        heed_tensor *scaled = heed_scores(cx, q, keys, &(heed_score_opts){.kind = HEED_SCORE_SCALED_DOT});
        s->size[k] = (float)d;
        s->deviation[k] = heed_item(cx, heed_sqrt(cx, heed_variance(cx, dot, NULL, 0, false, 0)));
        s->dot[k] = largest_weight(r, dot);
        s->scaled[k] = largest_weight(r, scaled);
        heed_reset(cx);
        if (heed_failed(cx)) return false;
    }
    return true;
}

static void show_scale(struct lesson_run *r, const struct scale *s, const struct store *store, const float *warm) {
    lesson_line(r, "%8s %10s %18s %22s %12s", "size d", "sqrt(d)", "deviation of q'k", "largest weight by q'k",
                "scaled");
    for (int k = 0; k < SIZES; k++)
        lesson_line(r, "%8.0f %10.0f %18.2f %22.3f %12.3f", (double)s->size[k], sqrt((double)s->size[k]),
                    (double)s->deviation[k], (double)s->dot[k], (double)s->scaled[k]);
    lesson_line(r, "%s", "");
    lesson_result(r, "largest_dot", (double)s->dot[SIZES - 1]);
    lesson_result(r, "largest_scaled", (double)s->scaled[SIZES - 1]);
    heed_figure *f = lesson_figure(r, 720, 280);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "The scale: 16 random keys");
    heed_panel_labels(p, "numbers in a key, d", "largest of 16 weights");
    heed_panel_log(p, true, false);
    heed_panel_limits_y(p, 0, 1.05);
    heed_panel_curve(p, s->size, s->dot, SIZES,
                     &(heed_style){.label = "q'k", .color = HEED_COLOR_RED, .marker = HEED_MARKER_DISC, .width = 2});
    heed_panel_curve(
        p, s->size, s->scaled, SIZES,
        &(heed_style){.label = "q'k / sqrt(d)", .color = HEED_COLOR_BLUE, .marker = HEED_MARKER_SQUARE, .width = 2});
    heed_panel_hline(p, 1.0 / DRAWN_KEYS,
                     &(heed_style){.label = "all alike", .color = HEED_COLOR_GREY, .dash = HEED_DASH_DOTS});
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "The temperature: softmax(score / t)");
    heed_panel_labels(p, NULL, "weight");
    static const int shown[] = {0, 2, 4};
    static const char *const labels[] = {"t = 0.1", "t = 1", "t = 10"};
    for (int k = 0; k < 3; k++)
        heed_panel_bars(p, store->names, warm + shown[k] * store->n, store->n, &(heed_style){.label = labels[k]});
    lesson_picture(r, f, "scoring-scale");
    lesson_table(r, "scoring-scale",
                 (heed_table_column[]){{.name = "d", .f32 = s->size},
                                       {.name = "deviation", .f32 = s->deviation},
                                       {.name = "largest_dot", .f32 = s->dot},
                                       {.name = "largest_scaled", .f32 = s->scaled}},
                 4, SIZES);
}

/* ---- the lesson ---- */

static bool own_store(struct lesson_run *r, struct store *s) {
    static const char *const names[] = {"east", "far east", "north-east", "north", "west", "south"};
    static const float query[] = {1.2f, 0.4f};
    static const float keys[] = {1, 0, 2.6f, 0.2f, 1, 1, 0.1f, 1.5f, -1.4f, 0.2f, -0.1f, -1.4f};
    return store_make(r, 6, 2, query, keys, names, s);
}

static void run(struct lesson_run *r) {
    struct store s;
    struct scale scale;
    if (!(r->data ? store_load(r, &s) : own_store(r, &s))) return;
    float *weights = lesson_room(r, KINDS * s.n, sizeof *weights),
          *warm = lesson_room(r, TEMPERATURES * s.n, sizeof *warm);
    if (!weights || !warm || !compare(r, &s, weights) || !cool(r, &s, warm) || !measure_scale(r, &scale)) return;
    lesson_say(r,
               "A score says how well a key fits the query; the scores are normalised to weights. Here are heed's nine "
               "scoring functions on one query and the same keys: dot product and bilinear (Luong et al. 2015), scaled "
               "dot product (Vaswani et al. 2017), additive (Bahdanau et al. 2015), distance, and the kernels of "
               "Nadaraya and Watson. The first five are normalised by softmax, the kernels by their sum.");
    if (r->data)
        lesson_line(r, "%s: a query and %lld keys of %lld number%s.\n", r->data, (long long)s.n, (long long)s.width,
                    s.width == 1 ? "" : "s");
    print_kinds(r, &s, weights);
    draw_kinds(r, &s, weights);
    double same = 0;
    for (int64_t i = 0; i < s.n; i++)
        same = fmax(same, fabs((double)weights[4 * s.n + i] - (double)weights[5 * s.n + i]));
    lesson_result(r, "distance_and_gaussian", same);
    lesson_say(
        r,
        "The dot product favours long keys, the distance near ones. M maps the query before it is compared "
        "(here it moves the channels on by one, in the plane a quarter turn); it need not be square, so queries "
        "and keys may differ in size. The additive score is a small network, here with random weights. Softmax "
        "of the distance is the Gaussian kernel: the two rows differ by %.0e. Kernels of finite width are exactly "
        "0 beyond it.",
        same);
    lesson_say(r,
               "The temperature t in softmax(score / t): at a low one the best key gets all the weight, at a high one "
               "all keys get the same. With the scaled dot product:");
    show_temperatures(r, &s, warm);
    lesson_say(r,
               "Why divide by sqrt(d)? The dot product of two random vectors of d numbers has a standard deviation of "
               "sqrt(d). Without the division a large d saturates the softmax before anything is learnt: one key gets "
               "all the weight, and hardly any gradient is left. 64 queries, 16 keys:");
    show_scale(r, &scale, &s, warm);
    double least = 1, most = 0;
    for (int k = 0; k < SIZES; k++)
        least = fmin(least, (double)scale.scaled[k]), most = fmax(most, (double)scale.scaled[k]);
    lesson_say(
        r,
        "Divided by sqrt(d), the largest weight is between %.2f and %.2f whatever d is; without, it goes from %.2f "
        "to %.2f. When distance and dot product give the same weights: '%s lesson distance-and-dot'.",
        least, most, (double)scale.dot[0], (double)scale.dot[SIZES - 1], r->program);
}

const struct lesson scores_lesson = {
    .name = "scoring",
    .summary = "nine scoring functions on the same query and keys; scale and temperature",
    .data = "a table of numbers: the query, then the keys; a first column of words names them",
    .run = run,
};
