/* Distance and dot product: -|q - k|^2 / 2 = q'k - |k|^2 / 2 - |q|^2 / 2. The last term is the same for all keys and
 * drops out of the softmax; the middle one does so when all keys have the same norm. Follows Martínez-Ramón, Ajith and
 * Kurup. */
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>

enum { KEYS = 8, SPREADS = 21 };

struct pair {
    float *dot, *distance, *mended; /* (n): weights by either score; by the dot with -|k|^2 / 2 added */
    double apart, mended_apart;     /* largest difference from those by distance */
};

/* The dot product with what is missing given as a mask that adds. */
static bool mended_weights(struct lesson_run *r, const struct store *s, float *weights) {
    heed_ctx *cx = r->cx;
    float *half = lesson_room(r, s->n, sizeof *half);
    if (!half) return false;
    for (int64_t i = 0; i < s->n; i++) {
        const float norm = store_norm(s->keys + i * s->width, s->width);
        half[i] = -norm * norm / 2;
    }
    heed_tensor *q = heed_from_f32(cx, s->query, 3, (int64_t[]){1, 1, s->width});
    heed_tensor *k = heed_from_f32(cx, s->keys, 3, (int64_t[]){1, s->n, s->width});
    const heed_mask mask = heed_mask_add(heed_from_f32(cx, half, 4, (int64_t[]){1, 1, 1, s->n}));
    heed_tensor *w = heed_normalise(cx, heed_scores(cx, q, k, &(heed_score_opts){.kind = HEED_SCORE_DOT}),
                                    HEED_NORMALISE_SOFTMAX, &mask);
    const bool ok = w && heed_copy_f32(cx, w, weights, s->n);
    heed_reset(cx);
    return ok;
}

static bool compare(struct lesson_run *r, const struct store *s, struct pair *p) {
    p->dot = lesson_room(r, s->n, sizeof *p->dot);
    p->distance = lesson_room(r, s->n, sizeof *p->distance);
    p->mended = lesson_room(r, s->n, sizeof *p->mended);
    if (heed_failed(r->cx) ||
        !store_weights(r, s, &(heed_score_opts){.kind = HEED_SCORE_DOT}, HEED_NORMALISE_SOFTMAX, p->dot) ||
        !store_weights(r, s, &(heed_score_opts){.kind = HEED_SCORE_DISTANCE}, HEED_NORMALISE_SOFTMAX, p->distance) ||
        !mended_weights(r, s, p->mended))
        return false;
    p->apart = numbers_apart(p->dot, p->distance, s->n);
    p->mended_apart = numbers_apart(p->mended, p->distance, s->n);
    return true;
}

/* The same keys, each stretched to the norm `mean`, then towards its own by `spread`: 0 all alike, 1 as they were. */
static bool spread_keys(struct lesson_run *r, const struct store *s, float mean, float spread, struct store *out) {
    if (!store_make(r, s->n, s->width, s->query, s->keys, s->names, out)) return false;
    for (int64_t i = 0; i < s->n; i++) {
        const float norm = store_norm(s->keys + i * s->width, s->width);
        for (int64_t c = 0; c < s->width && norm > 0; c++)
            out->keys[i * s->width + c] *= (mean + spread * (norm - mean)) / norm;
    }
    return true;
}

/* ---- words and pictures ---- */

static void print_pair(struct lesson_run *r, const struct store *s, const struct pair *p) {
    lesson_line(r, "%-14s %8s %12s %16s %22s", "key", "norm", "by q'k", "by -|q-k|^2/2", "by q'k - |k|^2/2");
    for (int64_t i = 0; i < s->n; i++)
        lesson_line(r, "%-14s %8.3f %12.6f %16.6f %22.6f", s->names[i],
                    (double)store_norm(s->keys + i * s->width, s->width), (double)p->dot[i], (double)p->distance[i],
                    (double)p->mended[i]);
    lesson_line(r, "\nlargest difference from those by distance:");
    lesson_line(r, "by q'k %.2g, by q'k - |k|^2/2 %.2g\n", p->apart, p->mended_apart);
}

static void draw_keys(const struct store *s, const struct pair *w, heed_panel *p, const char *title) {
    float x[2], y[2];
    heed_panel_title(p, title);
    for (int64_t i = 0; i < s->n; i++) {
        x[0] = y[0] = 0, x[1] = s->keys[2 * i], y[1] = s->keys[2 * i + 1];
        heed_panel_curve(p, x, y, 2, &(heed_style){.color = HEED_COLOR_GREY, .width = 1});
        heed_panel_scatter(
            p, x + 1, y + 1, 1,
            &(heed_style){.color = HEED_COLOR_BLUE, .size = 5 + 16 * sqrt((double)w->dot[i]), .alpha = 0.8});
        heed_panel_scatter(
            p, x + 1, y + 1, 1,
            &(heed_style){.color = HEED_COLOR_ORANGE, .size = 3 + 10 * sqrt((double)w->distance[i]), .alpha = 0.9});
    }
    heed_panel_scatter(
        p, &s->query[0], &s->query[1], 1,
        &(heed_style){.label = "query", .color = HEED_COLOR_RED, .marker = HEED_MARKER_DIAMOND, .size = 10});
    heed_panel_limits_x(p, -2.6, 2.6);
    heed_panel_limits_y(p, -2.6, 2.6);
}

static void draw_bars(const struct store *s, const struct pair *w, heed_panel *p, const char *title, bool legend) {
    heed_panel_title(p, title);
    heed_panel_legend(p, legend);
    heed_panel_labels(p, NULL, "weight");
    heed_panel_bars(p, s->names, w->dot, s->n, &(heed_style){.label = "by q'k", .color = HEED_COLOR_BLUE});
    heed_panel_bars(p, s->names, w->distance, s->n,
                    &(heed_style){.label = "by -|q - k|\u00b2 / 2", .color = HEED_COLOR_ORANGE});
}

static void draw(struct lesson_run *r, const struct store stores[2], const struct pair pairs[2]) {
    static const char *const titles[] = {"Equal norms: weights by q'k, within them by distance", "Unequal norms"};
    const bool plane = stores[0].width == 2 && !r->data;
    heed_figure *f = lesson_figure(r, 720, plane ? 520 : 280);
    heed_figure_grid(f, plane ? 2 : 1, 2);
    for (int k = 0; k < 2; k++) {
        if (plane) draw_keys(&stores[k], &pairs[k], heed_figure_panel(f, 0, k), titles[k]);
        draw_bars(&stores[k], &pairs[k], heed_figure_panel(f, plane, k), k ? "The weights differ" : "The same weights",
                  k == 0);
    }
    lesson_picture(r, f, "distance-and-dot");
}

static void sweep(struct lesson_run *r, const struct store *s, float mean) {
    float spread[SPREADS], most[SPREADS];
    for (int k = 0; k < SPREADS; k++) {
        struct store at;
        struct pair p;
        spread[k] = (float)k / (SPREADS - 1);
        if (!spread_keys(r, s, mean, spread[k], &at) || !compare(r, &at, &p)) return;
        most[k] = (float)p.apart;
    }
    const heed_series series = {"largest difference of the weights", spread, most, SPREADS, false};
    heed_terminal how = r->terminal;
    how.height = 10;
    lesson_show(r, heed_terminal_curves(r->cx, &series, 1,
                                        &(heed_axes){.x_label = "from equal norms (0) to their own (1)"}, &how));
    heed_figure *f = lesson_figure(r, 430, 250);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "The more the norms differ, the more the weights do");
    heed_panel_labels(p, "from equal norms (0) to their own (1)", "largest difference");
    heed_panel_curve(p, spread, most, SPREADS, &(heed_style){.marker = HEED_MARKER_DISC, .width = 2});
    lesson_picture(r, f, "distance-and-dot-spread");
    lesson_table(r, "distance-and-dot-spread",
                 (heed_table_column[]){{.name = "spread", .f32 = spread}, {.name = "difference", .f32 = most}}, 2,
                 SPREADS);
}

static void write(struct lesson_run *r, const struct store *s, const struct pair pairs[2]) {
    float *norm = lesson_room(r, s->n, sizeof *norm);
    if (!norm) return;
    for (int64_t i = 0; i < s->n; i++) norm[i] = store_norm(s->keys + i * s->width, s->width);
    lesson_table(r, "distance-and-dot",
                 (heed_table_column[]){{.name = "key", .text = s->names},
                                       {.name = "norm", .f32 = norm},
                                       {.name = "equal_dot", .f32 = pairs[0].dot},
                                       {.name = "equal_distance", .f32 = pairs[0].distance},
                                       {.name = "unequal_dot", .f32 = pairs[1].dot},
                                       {.name = "unequal_distance", .f32 = pairs[1].distance},
                                       {.name = "unequal_mended", .f32 = pairs[1].mended}},
                 7, s->n);
}

/* ---- keys of a Transformer ---- */

/* Inputs that layer normalisation has brought to one norm, and their keys W_K x: the least and the largest norm. */
static void normalised_keys(struct lesson_run *r, float *norm, float *least, float *largest) {
    enum { N = 64, D = 64 };
    heed_ctx *cx = r->cx;
    float *drawn = lesson_room(r, 2 * N * D, sizeof *drawn);
    if (!drawn) return;
    heed_random_normal(r->seed, 0, 0, drawn, 2 * N * D);
    heed_tensor *w = heed_affine(cx, heed_from_f32(cx, drawn + N * D, 2, (int64_t[]){D, D}), 0.125f, 0);
    heed_tensor *x = heed_layer_norm(cx, heed_from_f32(cx, drawn, 2, (int64_t[]){N, D}), NULL, NULL, 0);
    const float *inputs = numbers_of(r, x), *keys = numbers_of(r, heed_matmul(cx, x, w));
    heed_reset(cx);
    for (int i = 0; inputs && keys && i < N; i++) {
        const float size = store_norm(keys + i * D, D);
        *norm = store_norm(inputs + i * D, D);
        *least = i ? fminf(*least, size) : size;
        *largest = i ? fmaxf(*largest, size) : size;
    }
}

/* ---- the lesson ---- */

/* Eight directions of the wind, with norms that differ. */
static bool own_store(struct lesson_run *r, struct store *s) {
    static const char *const names[KEYS] = {"E", "NE", "N", "NW", "W", "SW", "S", "SE"};
    static const float query[] = {1.1f, 0.5f}, norm[KEYS] = {1, 1.4f, 0.7f, 1.8f, 1.3f, 0.9f, 1.6f, 2.3f};
    float keys[2 * KEYS];
    for (int i = 0; i < KEYS; i++) {
        keys[2 * i] = norm[i] * cosf((float)i * 0.785398163f);
        keys[2 * i + 1] = norm[i] * sinf((float)i * 0.785398163f);
    }
    return store_make(r, KEYS, 2, query, keys, names, s);
}

static void run(struct lesson_run *r) {
    struct store given, stores[2];
    struct pair pairs[2];
    if (!(r->data ? store_load(r, &given) : own_store(r, &given))) return;
    float mean = 0;
    for (int64_t i = 0; i < given.n; i++)
        mean += store_norm(given.keys + i * given.width, given.width) / (float)given.n;
    for (int k = 0; k < 2; k++)
        if (!spread_keys(r, &given, mean, (float)k, &stores[k]) || !compare(r, &stores[k], &pairs[k])) return;
    lesson_say(
        r,
        "Attention by distance and attention by dot product have the same weights when all keys have the same "
        "norm. Expand the square: -|q - k|^2 / 2 = q'k - |k|^2 / 2 - |q|^2 / 2. The query's norm is the "
        "same for every key, and softmax does not change when the same number is added to all scores; the keys' "
        "norms drop out only if they are equal. (In the lecture that this follows, by Mart\u00ednez-Ram\u00f3n, Ajith "
        "and Kurup, the identity lacks a sign and a square.)");
    if (r->data)
        lesson_line(r, "%s: a query and %lld keys of %lld number%s.\n", r->data, (long long)given.n,
                    (long long)given.width, given.width == 1 ? "" : "s");
    lesson_line(r, "Keys of equal norm, %.3f:\n", (double)mean);
    print_pair(r, &stores[0], &pairs[0]);
    lesson_line(r, "The same directions, each with a norm of its own:\n");
    print_pair(r, &stores[1], &pairs[1]);
    lesson_result(r, "equal_difference", pairs[0].apart);
    lesson_result(r, "unequal_difference", pairs[1].apart);
    lesson_result(r, "mended_difference", pairs[1].mended_apart);
    draw(r, stores, pairs);
    sweep(r, &given, mean);
    write(r, &given, pairs);
    float norm = 0, least = 0, largest = 0;
    normalised_keys(r, &norm, &least, &largest);
    lesson_result(r, "key_norm_least", (double)least);
    lesson_result(r, "key_norm_largest", (double)largest);
    lesson_say(
        r,
        "The dot product prefers long keys, the distance near ones. Adding -|k|^2 / 2 to the dot product, a "
        "bias of each key, makes them equal again whatever the norms. Layer normalisation does not make the norms "
        "of a Transformer's keys equal, for it acts on x, and k = W_K x: 64 random inputs of norm %.2f have "
        "keys of norm %.2f to %.2f with a random W_K. Where queries and keys themselves are normalised (Henry "
        "et al. 2020), both scores give the same weights.",
        (double)norm, (double)least, (double)largest);
}

const struct lesson equivalence_lesson = {
    .name = "distance-and-dot",
    .summary = "distance and dot product give the same weights when all keys have one norm",
    .data = "a table of numbers: the query, then the keys; a first column of words names them",
    .run = run,
};
