/* The class token's states in the plane: principal components (Pearson 1901; Hotelling 1933) of what a BERT has at its
 * first token for each sentence, before and after it is fine-tuned to classify. */
#include "lessons/encoder.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 3000, KNOWN = 512, TESTS = 300, SWEEPS = 2000 };
enum { BEFORE, AFTER, TIMES };

static const struct time {
    const char *title, *key;
} times[TIMES] = {[BEFORE] = {"Pre-trained", "before"}, [AFTER] = {"Fine-tuned", "after"}};

/* Where each sentence lies, and what share of the variance the two directions have. */
struct plane {
    float x[TESTS], y[TESTS];
    double share[2];
    double nearest; /* sentences that are nearest to the mean of their own class, in the plane */
    double right;   /* of the classifier */
};

/* ---- principal components ---- */

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Makes v (width) orthogonal to `other`, unless that is NULL, and of length 1. */
static void orthonormalise(double *v, const double *other, int64_t width) {
    const double along = other ? dot(v, other, width) : 0;
    for (int64_t i = 0; other && i < width; i++) v[i] -= along * other[i];
    const double length = sqrt(dot(v, v, width));
    for (int64_t i = 0; i < width; i++) v[i] = length > 0 ? v[i] / length : 0;
}

/* Orthogonal iteration: both directions are multiplied by the covariance again and again. A direction's sign is that
 * which makes its largest entry positive. Returns the total variance; the directions' own go to `variance`. */
static double principal(const double *covariance, int64_t width, double *axis[2], double *room, double variance[2]) {
    double trace = 0;
    for (int64_t i = 0; i < width; i++) {
        trace += covariance[i * width + i];
        axis[0][i] = 1 + (double)(i % 7);
        axis[1][i] = i % 2 ? 1 : -1 + (double)(i % 5);
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double moved = 0;
        for (int k = 0; k < 2; k++) {
            for (int64_t i = 0; i < width; i++) room[i] = dot(covariance + i * width, axis[k], width);
            variance[k] = dot(room, axis[k], width);
            orthonormalise(room, k ? axis[0] : NULL, width);
            for (int64_t i = 0; i < width; i++) moved = fmax(moved, fabs(room[i] - axis[k][i]));
            memcpy(axis[k], room, (size_t)width * sizeof *room);
        }
        if (moved < 1e-12) break;
    }
    for (int k = 0; k < 2; k++) {
        int64_t most = 0;
        for (int64_t i = 1; i < width; i++)
            if (fabs(axis[k][i]) > fabs(axis[k][most])) most = i;
        for (int64_t i = 0; axis[k][most] < 0 && i < width; i++) room[i] = -axis[k][i];
        if (axis[k][most] < 0) memcpy(axis[k], room, (size_t)width * sizeof *room);
    }
    return trace;
}

/* states (TESTS, width), as seen from their mean along the two directions in which they vary most. */
static bool project(struct lesson_run *r, const float *states, int64_t width, struct plane *p) {
    double *covariance = lesson_room(r, width * width, sizeof *covariance);
    double *room = lesson_room(r, 4 * width, sizeof *room), *mean = room, variance[2] = {0};
    double *centred = lesson_room(r, TESTS * width, sizeof *centred);
    if (!covariance || !room || !centred) return false;
    double *axis[2] = {room + width, room + 2 * width};
    for (int64_t i = 0; i < TESTS * width; i++) mean[i % width] += (double)states[i] / TESTS;
    for (int64_t i = 0; i < TESTS * width; i++) centred[i] = (double)states[i] - mean[i % width];
    for (int64_t n = 0; n < TESTS; n++)
        for (int64_t i = 0; i < width; i++)
            for (int64_t j = 0; j < width; j++)
                covariance[i * width + j] += centred[n * width + i] * centred[n * width + j] / (TESTS - 1);
    const double total = principal(covariance, width, axis, room + 3 * width, variance);
    for (int k = 0; k < 2; k++) p->share[k] = total > 0 ? variance[k] / total : 0;
    for (int64_t n = 0; n < TESTS; n++) {
        p->x[n] = (float)dot(centred + n * width, axis[0], width);
        p->y[n] = (float)dot(centred + n * width, axis[1], width);
    }
    return true;
}

static double nearest_mean(const struct plane *p, const int32_t *label) {
    double mean[ENCODER_CLASSES][2] = {{0}};
    int64_t count[ENCODER_CLASSES] = {0}, right = 0;
    for (int i = 0; i < TESTS; i++) {
        mean[label[i]][0] += (double)p->x[i];
        mean[label[i]][1] += (double)p->y[i];
        count[label[i]]++;
    }
    for (int i = 0; i < TESTS; i++) {
        double away[ENCODER_CLASSES];
        for (int c = 0; c < ENCODER_CLASSES; c++)
            away[c] =
                hypot((double)p->x[i] - mean[c][0] / (double)count[c], (double)p->y[i] - mean[c][1] / (double)count[c]);
        int nearest = 0;
        for (int c = 1; c < ENCODER_CLASSES; c++)
            if (away[c] < away[nearest]) nearest = c;
        right += nearest == label[i];
    }
    return (double)right / TESTS;
}

/* ---- what is said and drawn ---- */

static void print_table(struct lesson_run *r, const struct plane plane[TIMES]) {
    char name[64];
    lesson_line(r, "%-12s %22s %22s %18s", "", "variance in the plane", "nearest to its class", "classifier right");
    for (int t = 0; t < TIMES; t++) {
        const struct plane *p = &plane[t];
        lesson_line(r, "%-12s %14.0f %% + %.0f %% %20.1f %% %16.1f %%", times[t].title, 100 * p->share[0],
                    100 * p->share[1], 100 * p->nearest, 100 * p->right);
        const struct {
            const char *what;
            double value;
        } results[] = {
            {"first", p->share[0]}, {"second", p->share[1]}, {"nearest", p->nearest}, {"accuracy", p->right}};
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "%s_%s", times[t].key, results[i].what);
            lesson_result(r, name, results[i].value);
        }
    }
    lesson_line(r, "%s", "");
}

/* The points of each class, as both pictures take them. */
struct points {
    float x[TESTS], y[TESTS];
    int64_t n;
};
static struct points points_of(const struct plane *p, const int32_t *label, int class) {
    struct points out = {.n = 0};
    for (int i = 0; i < TESTS; i++)
        if (label[i] == class) {
            out.x[out.n] = p->x[i];
            out.y[out.n++] = p->y[i];
        }
    return out;
}

static void draw(struct lesson_run *r, const struct plane plane[TIMES], const int32_t *label) {
    heed_figure *f = lesson_figure(r, 860, 400);
    heed_figure_grid(f, 1, TIMES);
    for (int t = 0; t < TIMES; t++) {
        struct points of[ENCODER_CLASSES];
        heed_series series[ENCODER_CLASSES];
        char axes[2][64], title[64];
        heed_panel *p = heed_figure_panel(f, 0, t);
        for (int k = 0; k < 2; k++)
            snprintf(axes[k], sizeof axes[k], "%s component (%.0f %%)", k ? "second" : "first",
                     100 * plane[t].share[k]);
        heed_panel_title(p, times[t].title);
        heed_panel_labels(p, axes[0], axes[1]);
        for (int c = 0; c < ENCODER_CLASSES; c++) {
            of[c] = points_of(&plane[t], label, c);
            series[c] = (heed_series){
                .label = encoder_class_names[c], .x = of[c].x, .y = of[c].y, .n = of[c].n, .points = true};
            heed_panel_scatter(p, of[c].x, of[c].y, of[c].n,
                               &(heed_style){.label = encoder_class_names[c],
                                             .color = encoder_class_colors[c],
                                             .marker = (heed_marker)((int)HEED_MARKER_DISC + c),
                                             .size = 5,
                                             .alpha = 0.7});
        }
        heed_terminal how = r->terminal;
        snprintf(title, sizeof title, "%s: the class token's states in the plane", times[t].title);
        how.title = title;
        lesson_show(r, heed_terminal_curves(r->cx, series, ENCODER_CLASSES, &(heed_axes){.x_label = axes[0]}, &how));
    }
    lesson_picture(r, f, "class-token");
}

static void write_table(struct lesson_run *r, const struct plane plane[TIMES], const struct sentences *s) {
    const char *text[TESTS], *class[TESTS];
    for (int i = 0; i < TESTS; i++) {
        text[i] = s->input[i].text;
        class[i] = encoder_class_names[s->label[i]];
    }
    lesson_table(r, "class-token",
                 (heed_table_column[]){{.name = "sentence", .text = text},
                                       {.name = "class", .text = class},
                                       {.name = "before_x", .f32 = plane[BEFORE].x},
                                       {.name = "before_y", .f32 = plane[BEFORE].y},
                                       {.name = "after_x", .f32 = plane[AFTER].x},
                                       {.name = "after_y", .f32 = plane[AFTER].y}},
                 6, TESTS);
}

static bool measure(struct lesson_run *r, const struct encoder *e, const struct sentences *tests, struct plane *p) {
    int64_t width = 0;
    const float *states = encoder_states(r, e, tests, &width);
    if (!states || !project(r, states, width, p)) return false;
    p->nearest = nearest_mean(p, tests->label);
    p->right = encoder_accuracy(r, e, tests);
    return !heed_failed(r->cx);
}

static void show(struct lesson_run *r, struct encoder *e, const struct sentences *known,
                 const struct sentences *tests) {
    struct plane *plane = lesson_room(r, TIMES, sizeof *plane);
    if (!plane || !encoder_restart(r, e, true, r->seed) || !measure(r, e, tests, &plane[BEFORE])) return;
    if (!encoder_fine_tune(r, e, known, NULL, KNOWN, r->seed) || !measure(r, e, tests, &plane[AFTER])) return;
    lesson_say(r,
               "The class token stands before every sentence and means nothing by itself. Fine-tuning on %d sentences "
               "teaches it what they speak of, something to eat, to read or to turn on. Its states for %d other "
               "sentences are seen along the "
               "two directions in which they vary most (principal components), before and after:",
               KNOWN, TESTS);
    print_table(r, plane);
    draw(r, plane, tests->label);
    write_table(r, plane, tests);
    const struct plane *before = &plane[BEFORE], *after = &plane[AFTER];
    lesson_say(
        r,
        "Before, %.0f %% of the sentences lie nearest to the mean of their own class, where guessing has %.0f %%: "
        "%s. After, it is %.0f %%, and one plane has %.0f %% of the variance%s.",
        100 * before->nearest, 100.0 / ENCODER_CLASSES,
        before->nearest < 0.6 ? "the classes lie mixed, and the states vary with other things"
                              : "the classes can be told apart already",
        100 * after->nearest, 100 * (after->share[0] + after->share[1]),
        after->nearest > 0.9 ? ", which holds the answer" : "; --steps says how long it learns");
}

static void run(struct lesson_run *r) {
    struct encoder e;
    struct sentences known = {.input = NULL}, tests = {.input = NULL};
    lesson_say(r, "How does one vector stand for a whole sentence? BERT (Devlin et al. 2019) reads it off the class "
                  "token. What fine-tuning does to that vector can be seen in the plane.");
    if (encoder_open(r, false, &e) && encoder_draw(r, &e, false, KNOWN, &known) &&
        encoder_draw(r, &e, true, TESTS, &tests))
        show(r, &e, &known, &tests);
    encoder_free(r, &known);
    encoder_free(r, &tests);
    encoder_close(r, &e);
}

const struct lesson class_token_lesson = {
    .name = "class-token",
    .summary = "the class token's states in the plane, before and after fine-tuning",
    .steps = STEPS,
    .model = true,
    .run = run,
};
