/* The Performer's attention (Choromanski et al. 2021) beside the exact one: softmax's kernel by random features, whose
 * error falls as 1 / sqrt(m). Positive and trigonometric features (Rahimi and Recht 2007), orthogonal or not, on a soft
 * and on a sharp attention; and what the map becomes. */
#include "heed/attention.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 64, D = 16, SIZES = 8, KINDS = 5, DRAWS = 25, SHARPNESSES = 2, MAPS = 6, LEAST = 8 };

static const struct kind {
    const char *name, *key;
    heed_favor_kind kind;
    bool orthogonal;
    heed_color color;
    heed_dash dash;
} kinds[KINDS] = {
    {"positive, orthogonal", "positive_orthogonal", HEED_FAVOR_POSITIVE, true, HEED_COLOR_BLUE, HEED_DASH_NONE},
    {"positive", "positive", HEED_FAVOR_POSITIVE, false, HEED_COLOR_BLUE, HEED_DASH_LONG},
    {"hyperbolic, orthogonal", "hyperbolic_orthogonal", HEED_FAVOR_HYPERBOLIC, true, HEED_COLOR_GREEN, HEED_DASH_NONE},
    {"trigonometric, orthogonal", "trigonometric_orthogonal", HEED_FAVOR_TRIGONOMETRIC, true, HEED_COLOR_ORANGE,
     HEED_DASH_NONE},
    {"trigonometric", "trigonometric", HEED_FAVOR_TRIGONOMETRIC, false, HEED_COLOR_ORANGE, HEED_DASH_LONG},
};
static const struct sharpness {
    const char *name, *key;
    double square; /* |x|^2 of queries and keys, as the kernel sees them: the largest score */
} sharpnesses[SHARPNESSES] = {{"soft", "soft", 0.5}, {"sharp", "sharp", 2}};

struct study {
    float q[T * D], k[T * D], values[T * T], exact[T * T];
    double error[KINDS][SIZES];    /* median over the draws, relative */
    double negative[KINDS][SIZES]; /* share of weights below 0, over all draws */
    double exponent[KINDS];
};

static int64_t features_of(int size) { return (int64_t)LEAST << size; }

/* Positions as sines and cosines, so that near ones are alike, with some noise; a query asks for the key five before
 * it. */
static void make_tokens(struct study *s, uint64_t seed, double square) {
    const double unit = sqrt(square * sqrt((double)D) / D); /* of |x|^2 / sqrt(D) = square */
    float noise[D];
    for (int64_t t = 0; t < T; t++) {
        heed_random_normal(seed, 11, (uint64_t)(t * D), noise, D);
        for (int64_t c = 0; c < D; c++) {
            const double speed = 1.1 * pow(0.62, (double)(c / 2)), turn = c % 2 ? 1.5707963267948966 : 0;
            const double here = sqrt(2) * sin((double)t * speed + turn);
            const double asked = sqrt(2) * sin((double)(t - 5) * speed + turn);
            s->k[t * D + c] = (float)(unit * (0.97 * here + 0.25 * (double)noise[c]));
            s->q[t * D + c] = (float)(unit * asked);
        }
    }
    memset(s->values, 0, sizeof s->values);
    for (int64_t t = 0; t < T; t++) s->values[t * T + t] = 1; /* values that are the identity show the weights */
}

static heed_tensor *tokens(struct lesson_run *r, const float *x, int64_t width) {
    return heed_from_f32(r->cx, x, 4, (int64_t[]){1, T, 1, width});
}

static bool exact_map(struct lesson_run *r, struct study *s) {
    heed_tensor *y = heed_attention(r->cx, tokens(r, s->q, D), tokens(r, s->k, D), tokens(r, s->values, T), NULL);
    const bool made = y && heed_copy_f32(r->cx, y, s->exact, (int64_t)T * T);
    heed_reset(r->cx);
    return made;
}

/* The weights that m features stand for. */
static bool feature_map(struct lesson_run *r, const struct study *s, const struct kind *kind, int64_t m, int64_t draw,
                        float *map) {
    heed_ctx *cx = r->cx;
    const int64_t rows = kind->kind == HEED_FAVOR_POSITIVE ? m : m / 2;
    float *drawn = malloc((size_t)(rows * D) * sizeof *drawn);
    if (!drawn) return heed_fail(cx, HEED_ERR_MEMORY, "performer: no memory for %lld features", (long long)m);
    heed_favor_draw(cx, r->seed, (uint64_t)(m << 16 | draw), kind->orthogonal, rows, D, drawn);
    heed_tensor *w = heed_from_f32(cx, drawn, 2, (int64_t[]){rows, D}), *shift = NULL;
    free(drawn);
    const heed_favor_opts how = {.kind = kind->kind};
    heed_tensor *q = heed_favor_features(cx, tokens(r, s->q, D), w, &how, NULL);
    heed_tensor *k = heed_favor_features(cx, tokens(r, s->k, D), w, &how, &shift);
    const heed_linear_attention_opts o = {.key_shift = shift};
    heed_tensor *y = heed_linear_attention(cx, q, k, tokens(r, s->values, T), &o);
    const bool made = y && heed_copy_f32(cx, y, map, (int64_t)T * T);
    heed_reset(cx);
    return made;
}

static double relative_error(const float *map, const float *exact) {
    double wrong = 0, size = 0;
    for (int64_t i = 0; i < (int64_t)T * T; i++) {
        const double e = (double)exact[i], d = (double)map[i] - e;
        wrong += d * d, size += e * e;
    }
    return sqrt(wrong / size);
}

static double share_below_0(const float *map) {
    double n = 0;
    for (int64_t i = 0; i < (int64_t)T * T; i++) n += map[i] < 0;
    return n / (T * T);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The slope of log error against log m. */
static double exponent_of(const double *error) {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < SIZES; i++) {
        const double a = log((double)features_of(i)), b = log(error[i]);
        x += a / SIZES, y += b / SIZES, xx += a * a / SIZES, xy += a * b / SIZES;
    }
    return (xy - x * y) / (xx - x * x);
}

static bool measure(struct lesson_run *r, struct study *s) {
    float *map = lesson_room(r, (int64_t)T * T, sizeof *map);
    double all[DRAWS];
    if (!map || !exact_map(r, s)) return false;
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < SIZES; i++) {
            for (int draw = 0; draw < DRAWS; draw++) {
                if (!feature_map(r, s, &kinds[k], features_of(i), draw, map)) return false;
                all[draw] = relative_error(map, s->exact);
                s->negative[k][i] += share_below_0(map) / DRAWS;
            }
            qsort(all, DRAWS, sizeof *all, by_size);
            s->error[k][i] = all[DRAWS / 2];
            lesson_progress(r, "draws", k * SIZES + i + 1, KINDS * SIZES);
        }
        s->exponent[k] = exponent_of(s->error[k]);
    }
    return true;
}

/* ---- what is shown ---- */

static void print_errors(struct lesson_run *r, const struct study *s, const struct sharpness *how) {
    lesson_line(r, "%-26s %7s %7s %7s %7s %9s %10s", how->name, "m = 8", "64", "256", "1024", "exponent", "below 0");
    for (int k = 0; k < KINDS; k++) {
        char name[64];
        lesson_line(r, "%-26s %7.3f %7.3f %7.3f %7.3f %9.2f %8.1f %%", kinds[k].name, s->error[k][0], s->error[k][3],
                    s->error[k][5], s->error[k][7], s->exponent[k], 100 * s->negative[k][3]);
        snprintf(name, sizeof name, "exponent_%s_%s", how->key, kinds[k].key);
        lesson_result(r, name, s->exponent[k]);
        snprintf(name, sizeof name, "error_%s_%s_256", how->key, kinds[k].key);
        lesson_result(r, name, s->error[k][5]);
        snprintf(name, sizeof name, "negative_%s_%s_64", how->key, kinds[k].key);
        lesson_result(r, name, s->negative[k][3]);
    }
    lesson_line(r, "%s", "");
}

static void draw_errors(struct lesson_run *r, struct study *const *s) {
    float x[SIZES], root[SIZES], y[KINDS][SIZES];
    heed_figure *f = lesson_figure(r, 760, 320);
    heed_figure_grid(f, 1, SHARPNESSES);
    for (int i = 0; i < SIZES; i++) x[i] = (float)features_of(i);
    for (int h = 0; h < SHARPNESSES; h++) {
        char title[96];
        heed_panel *p = heed_figure_panel(f, 0, h);
        snprintf(title, sizeof title, "%s attention: scores up to %g", h ? "Sharp" : "Soft", sharpnesses[h].square);
        heed_panel_title(p, title);
        heed_panel_log(p, true, true);
        heed_panel_labels(p, "random features, m", h ? NULL : "relative error of the weights");
        heed_panel_limits_y(p, 0.006, 12);
        heed_panel_legend(p, h == 1);
        for (int i = 0; i < SIZES; i++)
            root[i] = (float)(1.3 * s[h]->error[0][SIZES - 1] * sqrt(1024.0 / (double)x[i]) / 2);
        heed_panel_curve(
            p, x, root, SIZES,
            &(heed_style){.label = "1 / sqrt(m)", .color = HEED_COLOR_GREY, .dash = HEED_DASH_DOTS, .width = 1});
        for (int k = 0; k < KINDS; k++) {
            for (int i = 0; i < SIZES; i++) y[k][i] = (float)s[h]->error[k][i];
            heed_panel_curve(p, x, y[k], SIZES,
                             &(heed_style){.label = kinds[k].name,
                                           .color = kinds[k].color,
                                           .dash = kinds[k].dash,
                                           .width = kinds[k].dash == HEED_DASH_NONE ? 2 : 1.5});
        }
    }
    lesson_picture(r, f, "performer-error");
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < SIZES; i++) y[k][i] = (float)s[1]->error[k][i];
    const heed_series series[] = {{kinds[0].name, x, y[0], SIZES, false},
                                  {kinds[1].name, x, y[1], SIZES, false},
                                  {kinds[3].name, x, y[3], SIZES, false}};
    lesson_show(
        r, heed_terminal_curves(
               r->cx, series, 3,
               &(heed_axes){.x_label = "features, m", .y_label = "relative error, sharp", .log_x = true, .log_y = true},
               &r->terminal));
}

static void write_errors(struct lesson_run *r, struct study *const *s) {
    const int64_t n = (int64_t)SHARPNESSES * KINDS * SIZES;
    const char **attention = lesson_room(r, n, sizeof *attention), **features = lesson_room(r, n, sizeof *features);
    double *m = lesson_room(r, n, sizeof *m), *error = lesson_room(r, n, sizeof *error);
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i < n; i++) {
        const int h = (int)(i / (KINDS * SIZES)), k = (int)(i / SIZES % KINDS);
        attention[i] = sharpnesses[h].name, features[i] = kinds[k].name;
        m[i] = (double)features_of((int)(i % SIZES)), error[i] = s[h]->error[k][i % SIZES];
    }
    lesson_table(r, "performer-error",
                 (heed_table_column[]){{.name = "attention", .text = attention},
                                       {.name = "features", .text = features},
                                       {.name = "m", .f64 = m},
                                       {.name = "error", .f64 = error}},
                 4, n);
}

/* The exact map, two of positive features and three of trigonometric ones, on one scale. */
static void draw_maps(struct lesson_run *r, const struct study *s) {
    static const int64_t features[MAPS] = {0, 64, 1024, 16, 64, 1024};
    float *map = lesson_room(r, (int64_t)MAPS * T * T, sizeof *map);
    float most = 0;
    char name[MAPS][48];
    if (!map) return;
    for (int i = 0; i < MAPS; i++) {
        const struct kind *const kind = &kinds[i < MAPS / 2 ? 0 : 3];
        if (i == 0)
            memcpy(map, s->exact, sizeof s->exact);
        else if (!feature_map(r, s, kind, features[i], 0, map + (int64_t)i * T * T))
            return;
        snprintf(name[i], sizeof name[i],
                 i == 0         ? "exact"
                 : i < MAPS / 2 ? "%lld positive features"
                                : "%lld trigonometric features",
                 (long long)features[i]);
    }
    for (int64_t i = 0; i < (int64_t)T * T; i++) most = s->exact[i] > most ? s->exact[i] : most;
    heed_figure *f = lesson_figure(r, 760, 500);
    heed_figure_grid(f, 2, MAPS / 2);
    heed_figure_title(f, "The attention that random features stand for");
    heed_figure_bar(f, "weight");
    for (int i = 0; i < MAPS; i++) {
        heed_panel *p = heed_figure_panel(f, i / 3, i % 3);
        heed_panel_title(p, name[i]);
        heed_panel_labels(p, i >= 3 ? "keys" : NULL, i % 3 == 0 ? "queries" : NULL);
        heed_panel_heatmap(p, map + (int64_t)i * T * T, T, T, &(heed_heatmap){.high = (double)most, .weights = true});
    }
    lesson_picture(r, f, "performer-maps");
    const int64_t n = (int64_t)MAPS * T * T;
    const char **which = lesson_room(r, n, sizeof *which);
    double *query = lesson_room(r, n, sizeof *query), *key = lesson_room(r, n, sizeof *key);
    double *weight = lesson_room(r, n, sizeof *weight);
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i < n; i++) {
        which[i] = name[i / (T * T)];
        query[i] = (double)(i / T % T), key[i] = (double)(i % T), weight[i] = (double)map[i];
    }
    lesson_table(r, "performer-maps",
                 (heed_table_column[]){{.name = "attention", .text = which},
                                       {.name = "query", .f64 = query},
                                       {.name = "key", .f64 = key},
                                       {.name = "weight", .f64 = weight}},
                 4, n);
}

static void conclude(struct lesson_run *r, struct study *const *s) {
    enum { POSITIVE = 1, SINES = 4 }; /* each with its orthogonal kind before it */
    int less = 0;
    for (int h = 0; h < SHARPNESSES; h++)
        for (int i = 0; i < SIZES; i++)
            less += (s[h]->error[POSITIVE - 1][i] < s[h]->error[POSITIVE][i]) +
                    (s[h]->error[SINES - 1][i] < s[h]->error[SINES][i]);
    lesson_say(
        r,
        "Independent features are a mean of m draws, whose error falls as 1 / sqrt(m), an exponent of -0.5, once "
        "there are enough of them: half of it costs four times the features. For soft attention positive "
        "features have %.2f here, sines and cosines %.2f; for sharp attention %.2f and %.2f, for how many are "
        "enough grows with the exponential of the scores.",
        s[0]->exponent[POSITIVE], s[0]->exponent[SINES], s[1]->exponent[POSITIVE], s[1]->exponent[SINES]);
    lesson_say(
        r,
        "Sines and cosines (Rahimi and Recht 2007) have the same mean. With 1024 of them the sharp map errs by "
        "%.2f, with as many positive features by %.2f; with 8 it is %.1f and %.1f. Their products may be "
        "negative, and a sum of them may come near 0, by which all is divided. Weights of positive features are "
        "weights, however few there are: that is why networks can be trained with them. Rows w that are "
        "orthogonal to each other err less than rows that are drawn independently in %d of these %d comparisons.",
        s[1]->error[SINES][SIZES - 1], s[1]->error[POSITIVE][SIZES - 1], s[1]->error[SINES][0],
        s[1]->error[POSITIVE][0], less, 2 * SHARPNESSES * SIZES);
}

static void run(struct lesson_run *r) {
    struct study *s[SHARPNESSES];
    lesson_say(r,
               "Exact attention costs T x T. The Performer (Choromanski et al. 2021) writes softmax's exp(q'k) as a "
               "mean over random vectors w, of f(q) f(k) with f(x) = exp(w'x - |x|^2 / 2). With m such features the "
               "sums over keys are made once, for all queries: the cost is T x m, and the map is never made. Here it "
               "is made, to see what it has become: %d queries and keys of %d numbers, each figure the median of %d "
               "draws, |A' - A| / |A| for weights A' in place of A. Below 0: the share of the weights that are "
               "negative with 64 features.",
               T, D, DRAWS);
    heed_set_grad(r->cx, false);
    for (int h = 0; h < SHARPNESSES; h++) {
        s[h] = lesson_room(r, 1, sizeof *s[h]);
        if (!s[h]) return;
        make_tokens(s[h], r->seed, sharpnesses[h].square);
        if (!measure(r, s[h])) return;
        print_errors(r, s[h], &sharpnesses[h]);
    }
    conclude(r, s);
    draw_errors(r, s);
    draw_maps(r, s[1]);
    write_errors(r, s);
    heed_set_grad(r->cx, true);
    lesson_say(
        r,
        "What a Performer leaves out is sharpness: with as many features as keys, %d, positive features leave an "
        "error of %.2f where attention is sharp, %.2f where it is soft. '%s new performer DIR' makes a model of "
        "this kind.",
        T, s[1]->error[1][3], s[0]->error[1][3], r->program);
}

const struct lesson performer_lesson = {
    .name = "performer",
    .summary = "attention in linear time: random features against exact softmax, error against their number",
    .run = run,
};
