/* The curse of dimensionality: the more numbers points have, the further apart they are, all about equally far; and
 * what an autoencoder draws from codes between those of its pictures, in codes of few numbers and of many. Follows
 * CISC 7026, Macau. */
#include "lessons/autoencoders.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 400, SIZES = 10, STREAM_POINTS = 911 };
enum { STEPS = 1300, TESTS = DIGIT_TESTS, CODES = 3, LONGEST = 64, WALK = 8 };
enum { PLAIN, VARIATIONAL, KINDS };
enum { REBUILT, MIXED, MIDDLE, CIRCLE, PLACES };
#define BETA 0.03

static const char *const kind_names[KINDS] = {"plain", "variational"};
static const char *const place_keys[PLACES] = {"rebuilt", "mixed", "middle", "circle"};
static const char *const place_names[PLACES] = {"codes of pictures", "each number another picture's",
                                                "halfway between two codes", "halfway on a great circle"};
static const int64_t code_sizes[CODES] = {4, 16, LONGEST};

/* ---- random points ---- */

struct distances {
    float size[SIZES], mean[SIZES], nearest[SIZES], ratio[SIZES], near[SIZES];
};

static double distance(const float *a, const float *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return sqrt(sum);
}

/* Of points from N(0, 1) with so many numbers: how far apart two are, and how far each is from its nearest. */
static void measure_points(struct lesson_run *r, float *x, int64_t size, int at, struct distances *d) {
    double mean = 0, nearest = 0;
    int64_t near = 0;
    heed_random_normal(r->seed, STREAM_POINTS, 0, x, POINTS * size);
    for (int64_t i = 0; i < POINTS; i++) {
        double least = (double)INFINITY;
        for (int64_t k = 0; k < POINTS; k++) {
            if (k == i) continue;
            const double away = distance(x + i * size, x + k * size, size);
            mean += away / (POINTS * (POINTS - 1.0));
            least = fmin(least, away);
        }
        nearest += least / POINTS;
        near += least < 1;
    }
    d->size[at] = (float)size;
    d->mean[at] = (float)mean;
    d->nearest[at] = (float)nearest;
    d->ratio[at] = (float)(nearest / mean);
    d->near[at] = (float)near / POINTS;
}

static void draw_distances(struct lesson_run *r, const struct distances *d) {
    float root[SIZES];
    heed_figure *const f = lesson_figure(r, 860, 300);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    for (int i = 0; i < SIZES; i++) root[i] = (float)sqrt(2 * (double)d->size[i]);
    heed_panel_title(p, "Points move apart");
    heed_panel_labels(p, "numbers of a point", "distance");
    heed_panel_log(p, true, true);
    heed_panel_curve(p, d->size, root, SIZES,
                     &(heed_style){.label = "sqrt(2 d)", .color = HEED_COLOR_GREY, .dash = HEED_DASH_LONG});
    heed_panel_curve(
        p, d->size, d->mean, SIZES,
        &(heed_style){.label = "mean of two points", .color = HEED_COLOR_BLUE, .marker = HEED_MARKER_DISC});
    heed_panel_curve(
        p, d->size, d->nearest, SIZES,
        &(heed_style){.label = "to the nearest point", .color = HEED_COLOR_ORANGE, .marker = HEED_MARKER_DISC});
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "The nearest is as far away as any");
    heed_panel_labels(p, "numbers of a point", "share");
    heed_panel_log(p, true, false);
    heed_panel_limits_y(p, 0, 1.05);
    heed_panel_curve(
        p, d->size, d->ratio, SIZES,
        &(heed_style){.label = "nearest / mean distance", .color = HEED_COLOR_BLUE, .marker = HEED_MARKER_DISC});
    heed_panel_curve(
        p, d->size, d->near, SIZES,
        &(heed_style){.label = "have another within 1", .color = HEED_COLOR_ORANGE, .marker = HEED_MARKER_DISC});
    lesson_picture(r, f, "curse-of-dimensionality");
    lesson_table(r, "curse-of-dimensionality",
                 (heed_table_column[]){{.name = "numbers", .f32 = d->size},
                                       {.name = "mean", .f32 = d->mean},
                                       {.name = "nearest", .f32 = d->nearest},
                                       {.name = "ratio", .f32 = d->ratio},
                                       {.name = "within_1", .f32 = d->near}},
                 5, SIZES);
}

static bool show_points(struct lesson_run *r) {
    struct distances *const d = lesson_room(r, 1, sizeof *d);
    float *const x = lesson_room(r, (int64_t)POINTS << (SIZES - 1), sizeof *x);
    char name[32];
    if (!d || !x) return false;
    lesson_say(
        r,
        "To make a new picture one may take the code z of a picture and move it a little. But the more numbers a "
        "code has, the emptier is the space around it. %d points from N(0, 1) in d numbers; the root mean square "
        "distance of two is sqrt(2 d):",
        POINTS);
    lesson_line(r, "%6s %12s %10s %12s %16s %16s", "d", "mean", "sqrt(2 d)", "nearest", "nearest / mean",
                "another within 1");
    for (int i = 0; i < SIZES; i++) {
        const int64_t size = (int64_t)1 << i;
        measure_points(r, x, size, i, d);
        lesson_line(r, "%6lld %12.2f %10.2f %12.3f %16.2f %14.0f %%", (long long)size, (double)d->mean[i],
                    sqrt(2 * (double)size), (double)d->nearest[i], (double)d->ratio[i], 100 * (double)d->near[i]);
        snprintf(name, sizeof name, "mean_%lld", (long long)size);
        lesson_result(r, name, (double)d->mean[i]);
        snprintf(name, sizeof name, "nearest_%lld", (long long)size);
        lesson_result(r, name, (double)d->nearest[i]);
    }
    lesson_line(r, "%s", "");
    draw_distances(r, d);
    lesson_say(
        r,
        "In one dimension every point has others beside it. In %.0f dimensions the nearest is %.0f %% as far away "
        "as the mean: no point is near any other, and almost all of the space is far from all of them.",
        (double)d->size[SIZES - 1], 100 * (double)d->ratio[SIZES - 1]);
    return !heed_failed(r->cx);
}

/* ---- codes ---- */

struct scene {
    struct digit_set train, test;
    struct judge judge;
    float *codes, *z, *x;
    int64_t from, to; /* two pictures, and what lies between their codes */
};

struct outcome {
    double legible[PLACES];
    double length;  /* of codes halfway, as a share of that of the codes */
    double shorter; /* the share of codes that are no longer than those halfway */
    float walk[2][WALK * DIGIT_PIXELS], mixed[WALK * DIGIT_PIXELS];
};

/* Codes of a place, in s->z: of the tests; with each number from the code of another test; between two tests. */
static void put_codes(struct scene *s, int64_t size, int place) {
    float way[3 * LONGEST];
    for (int64_t i = 0; i < TESTS; i++) {
        const float *const a = s->codes + i * size, *const b = s->codes + (i + 1) % TESTS * size;
        float *const z = s->z + i * size;
        if (place == MIDDLE || place == CIRCLE) {
            heed_codes_between(a, b, size, 3, place == CIRCLE, way);
            memcpy(z, way + size, (size_t)size * sizeof *z);
        } else
            for (int64_t k = 0; k < size; k++) z[k] = s->codes[(i + (place == MIXED ? 7 * k : 0)) % TESTS * size + k];
    }
}

static double length_of(const float *z, int64_t size) {
    static const float zero[LONGEST] = {0};
    return distance(z, zero, size);
}

/* Of the codes halfway, in s->z, compared with the codes. */
static void measure_lengths(const struct scene *s, int64_t size, struct outcome *o) {
    double halfway = 0, all = 0;
    int64_t shorter = 0;
    for (int64_t i = 0; i < TESTS; i++) {
        halfway += length_of(s->z + i * size, size) / TESTS;
        all += length_of(s->codes + i * size, size) / TESTS;
    }
    for (int64_t i = 0; i < TESTS; i++) shorter += length_of(s->codes + i * size, size) <= halfway;
    o->length = halfway / all;
    o->shorter = (double)shorter / TESTS;
}

static bool examine(struct lesson_run *r, struct scene *s, const heed_model *m, int64_t size, struct outcome *o) {
    if (!heed_encode_pixels(r->cx, m, s->test.x, TESTS, s->codes, NULL)) return false;
    for (int place = 0; place < PLACES; place++) {
        struct verdict v;
        put_codes(s, size, place);
        if (!heed_decode_codes(r->cx, m, s->z, TESTS, s->x) || !judge_ask(r, &s->judge, s->x, TESTS, NULL, &v))
            return false;
        o->legible[place] = v.legible;
        if (place == MIXED) memcpy(o->mixed, s->x, sizeof o->mixed);
        if (place == MIDDLE) measure_lengths(s, size, o);
    }
    for (int round = 0; round < 2; round++) {
        float way[WALK * LONGEST];
        heed_codes_between(s->codes + s->from * size, s->codes + s->to * size, size, WALK, round == 1, way);
        if (!heed_decode_codes(r->cx, m, way, WALK, o->walk[round])) return false;
    }
    return true;
}

static bool learn(struct lesson_run *r, struct scene *s, int kind, int64_t size, struct outcome *o) {
    char what[64];
    snprintf(what, sizeof what, "%s, codes of %lld numbers", kind_names[kind], (long long)size);
    heed_model *const m = autoencoder_new(r, &(struct autoencoder_opts){kind == VARIATIONAL, size, BETA});
    const struct autoencoder_course course = {.x = s->train.x, .n = s->train.n, .steps = r->steps, .what = what};
    const bool ok = m && autoencoder_learn(r, m, &course) && examine(r, s, m, size, o);
    heed_model_free(r->cx, m);
    return ok;
}

/* ---- words and pictures ---- */

static void print_outcomes(struct lesson_run *r, struct outcome o[CODES][KINDS]) {
    char line[160], name[64];
    int n = snprintf(line, sizeof line, "%-32s", "legible, %, by numbers of a code");
    for (int c = 0; c < CODES; c++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %9lld", (long long)code_sizes[c]);
    lesson_line(r, "%s", line);
    for (int kind = 0; kind < KINDS; kind++)
        for (int place = 0; place < PLACES; place++) {
            if (place == 0) lesson_line(r, "%s", kind_names[kind]);
            n = snprintf(line, sizeof line, "  %-30s", place_names[place]);
            for (int c = 0; c < CODES; c++) {
                n += snprintf(line + n, sizeof line - (size_t)n, " %9.1f", 100 * o[c][kind].legible[place]);
                snprintf(name, sizeof name, "%s_%s_%lld", kind_names[kind], place_keys[place],
                         (long long)code_sizes[c]);
                lesson_result(r, name, o[c][kind].legible[place]);
            }
            lesson_line(r, "%s", line);
        }
    lesson_line(r, "%s", "");
}

static void draw_legible(struct lesson_run *r, struct outcome o[CODES][KINDS]) {
    static const heed_color colors[PLACES] = {HEED_COLOR_GREY, HEED_COLOR_BLUE, HEED_COLOR_ORANGE, HEED_COLOR_GREEN};
    float x[CODES], y[KINDS * PLACES][CODES];
    char names[KINDS * PLACES][40];
    heed_table_column columns[1 + KINDS * PLACES] = {{.name = "numbers", .f32 = x}};
    heed_figure *const f = lesson_figure(r, 860, 320);
    heed_figure_grid(f, 1, 2);
    for (int c = 0; c < CODES; c++) x[c] = (float)code_sizes[c];
    for (int kind = 0; kind < KINDS; kind++) {
        heed_panel *const p = heed_figure_panel(f, 0, kind);
        heed_panel_title(p, kind == PLAIN ? "What a plain one draws" : "What a variational one draws");
        heed_panel_labels(p, "numbers of a code", "legible, %");
        heed_panel_log(p, true, false);
        heed_panel_limits_y(p, 0, 104);
        for (int place = 0; place < PLACES; place++) {
            const int at = kind * PLACES + place;
            for (int c = 0; c < CODES; c++) y[at][c] = (float)(100 * o[c][kind].legible[place]);
            snprintf(names[at], sizeof names[at], "%s_%s", kind_names[kind], place_keys[place]);
            columns[1 + at] = (heed_table_column){.name = names[at], .f32 = y[at]};
            heed_panel_curve(
                p, x, y[at], CODES,
                &(heed_style){.label = place_names[place], .color = colors[place], .marker = HEED_MARKER_DISC});
        }
    }
    lesson_picture(r, f, "curse-of-dimensionality-codes");
    lesson_table(r, "curse-of-dimensionality-codes", columns, 1 + KINDS * PLACES, CODES);
}

static void draw_walks(struct lesson_run *r, const struct outcome o[KINDS]) {
    static const char *const titles[3] = {"codes on a line from one picture to another", "... on a great circle",
                                          "each number from another picture's code"};
    heed_figure *const f = lesson_figure(r, 980, 340);
    heed_figure_grid(f, 3, KINDS);
    for (int kind = 0; kind < KINDS; kind++)
        for (int row = 0; row < 3; row++) {
            char title[96];
            heed_panel *const p = heed_figure_panel(f, row, kind);
            snprintf(title, sizeof title, "%s%s%s", row ? "" : kind_names[kind], row ? "" : ": ", titles[row]);
            heed_panel_title(p, title);
            heed_panel_images(p, row < 2 ? o[kind].walk[row] : o[kind].mixed, WALK, DIGIT_SIDE, DIGIT_SIDE,
                              &(heed_images){.columns = WALK, .map = HEED_MAP_INK, .low = 0, .high = 1});
        }
    lesson_picture(r, f, "curse-of-dimensionality-walks");
}

static void conclude(struct lesson_run *r, struct outcome o[CODES][KINDS]) {
    const struct outcome *const few = o[0], *const many = o[CODES - 1], *const a = &many[PLAIN],
                                *const b = &many[VARIATIONAL];
    const double fall = few[PLAIN].legible[MIXED] - a->legible[MIXED];
    lesson_result(r, "length", b->length);
    lesson_result(r, "shorter", b->shorter);
    if (fall > 0.05 && b->legible[MIXED] > a->legible[MIXED] + 0.05)
        lesson_say(
            r,
            "A code whose numbers come from many pictures lies where codes lie, number by number, but near none. "
            "From such codes the plain one draws fewer digits the longer they are, %.0f %% and then %.0f %%: "
            "garbage lies between its codes. Of the variational one's %.0f %% are legible at %d numbers.",
            100 * few[PLAIN].legible[MIXED], 100 * a->legible[MIXED], 100 * b->legible[MIXED], LONGEST);
    else {
        lesson_say(r, "The plain one does not draw fewer digits from mixed codes than the variational one, as it "
                      "should: they have learnt too little. --steps says how long to go on.");
        return;
    }
    if (a->legible[MIDDLE] > a->legible[MIXED])
        lesson_say(
            r,
            "On the straight line between two codes it matters less: halfway %.0f %% of the plain one's pictures are "
            "legible, and %.0f %% of the variational one's. There the curse shows in another way: halfway between two "
            "codes of the variational one the length is %.2f of theirs, where sqrt(1/2) = 0.71 is that of independent "
            "normal numbers; %.0f %% of its codes are as short. On a great circle, which keeps the length, %.0f %% are "
            "legible.",
            100 * a->legible[MIDDLE], 100 * b->legible[MIDDLE], b->length, 100 * b->shorter, 100 * b->legible[CIRCLE]);
}

static void study(struct lesson_run *r, struct scene *s, struct outcome o[CODES][KINDS]) {
    struct verdict v;
    if (!judge_ask(r, &s->judge, s->test.x, TESTS, NULL, &v)) return;
    lesson_say(
        r,
        "What is there between the codes of an autoencoder? A plain and a variational one (beta = %.2f), with codes "
        "of 4, 16 and %d numbers, learn heed's digits in %lld steps. A judge says what is legible: %.0f %% of true "
        "digits, %.0f %% of two digits laid over each other. Legible, at four kinds of places:",
        BETA, LONGEST, (long long)r->steps, 100 * v.legible, 100 * judge_blends(r, &s->judge, &s->test));
    while (s->to + 1 < TESTS && s->test.label[s->to] == s->test.label[s->from]) s->to++;
    for (int c = 0; c < CODES; c++)
        for (int kind = 0; kind < KINDS; kind++)
            if (!learn(r, s, kind, code_sizes[c], &o[c][kind])) return;
    print_outcomes(r, o);
    draw_legible(r, o);
    draw_walks(r, o[CODES - 1]);
    conclude(r, o);
}

static void run(struct lesson_run *r) {
    struct scene *const s = lesson_room(r, 1, sizeof *s);
    struct outcome(*const o)[KINDS] = lesson_room(r, CODES, sizeof *o);
    if (!s || !o || !show_points(r)) return;
    s->codes = lesson_room(r, (int64_t)TESTS * LONGEST, sizeof *s->codes);
    s->z = lesson_room(r, (int64_t)TESTS * LONGEST, sizeof *s->z);
    s->x = lesson_room(r, (int64_t)TESTS * DIGIT_PIXELS, sizeof *s->x);
    if (!heed_failed(r->cx) && digits_open(r, &s->train, &s->test, &s->judge)) study(r, s, o);
    judge_close(r, &s->judge);
}

const struct lesson curse_lesson = {
    .name = "curse-of-dimensionality",
    .summary = "long codes are far apart: what lies between those of a plain and of a variational autoencoder",
    .steps = STEPS,
    .run = run,
};
