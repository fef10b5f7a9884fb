/* Handwriting (Graves 2013): a network learns the next step of a pen from numbers of many writers, by teacher forcing.
 * Then it runs free: it reads a beginning by a writer that it has never seen and goes on from its own steps. Slant,
 * size and speed of what it writes are held against those of the beginning. */
#include "heed/handwriting.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 900, BATCH = 24, LEAST = 4, MOST = 7, WRITERS = 80, DIGITS = 4, NEW = 80, SHOWN = 7, POINTS = 20 };
enum { HELD_OUT = 64, STYLES = 3 };
#define SEED_OTHERS 0x0741E25u /* the writers that it has never seen */
#define BIAS        1.0
static const char *const names[STYLES] = {"slant", "height", "step"};

struct styles {
    float of[STYLES][WRITERS];
};

struct lesson_state {
    struct lesson_run *r;
    heed_model *model;
    heed_trainer *trainer;
    float *strokes; /* of a batch */
    int32_t *labels;
    int64_t room;
};

static bool open_state(struct lesson_state *s) {
    struct lesson_run *const r = s->r;
    static const char *const settings[] = {"hidden_size=112", "num_layers=2", "num_mixtures=8"};
    s->model = heed_model_new(r->cx, heed_family_find("handwriting"), settings, 3, r->seed);
    const heed_trainer_opts opts = {
        .optimizer = {.kind = HEED_ADAMW, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8},
        .schedule = {.kind = HEED_COSINE, .lr = 0.006, .warmup = r->steps / 20, .steps = r->steps},
        .clip = 5};
    s->trainer = s->model ? heed_trainer_new(r->cx, heed_model_params(s->model), &opts) : NULL;
    return s->trainer;
}

static void close_state(struct lesson_state *s) {
    heed_trainer_free(s->r->cx, s->trainer);
    heed_model_free(s->r->cx, s->model);
    heed_mem_free(s->r->cx, s->strokes);
    heed_mem_free(s->r->cx, s->labels);
}

/* The steps of the pen, standardised by those of some writers. */
static bool standardise(struct lesson_state *s) {
    heed_ctx *const cx = s->r->cx;
    const heed_params *const params = heed_model_params(s->model);
    heed_writings w = {0};
    heed_handwriting_set set = {0};
    const bool ok = heed_writings_numbers(cx, s->r->seed, 0, 100, LEAST, MOST, &w) &&
                    heed_handwriting_columns(cx, &w, NULL, 0, &set);
    if (ok)
        heed_handwriting_moments(&set, NULL, 0, heed_params_find(params, "offset_mean")->value,
                                 heed_params_find(params, "offset_deviation")->value);
    heed_handwriting_free(cx, &set);
    heed_writings_free(cx, &w);
    return ok;
}

/* ---- learning ---- */

/* Pieces side by side, padded: strokes (n,T,3), labels (n,T). */
static bool pad(struct lesson_state *s, const heed_writings *w, int64_t *max_length) {
    heed_ctx *const cx = s->r->cx;
    int64_t T = 1;
    for (int64_t i = 0; i < w->n; i++) T = w->start[i + 1] - w->start[i] > T ? w->start[i + 1] - w->start[i] : T;
    if (w->n * T > s->room) {
        float *const strokes = heed_mem_resize(cx, s->strokes, (size_t)(6 * w->n * T) * sizeof *strokes);
        if (strokes) s->strokes = strokes;
        int32_t *const labels = heed_mem_resize(cx, s->labels, (size_t)(2 * w->n * T) * sizeof *labels);
        if (labels) s->labels = labels;
        if (!strokes || !labels) return false;
        s->room = 2 * w->n * T;
    }
    memset(s->strokes, 0, (size_t)(3 * w->n * T) * sizeof *s->strokes);
    for (int64_t i = 0; i < w->n; i++) {
        int64_t n;
        const float *const p = heed_writing_points(w, i, &n);
        memcpy(s->strokes + 3 * i * T, p, (size_t)(3 * n) * sizeof *p);
        for (int64_t t = 0; t < T; t++) s->labels[i * T + t] = t > 0 && t < n ? p[3 * t + 2] != 0 : HEED_NO_LABEL;
    }
    *max_length = T;
    return true;
}

static heed_tensor *loss_of(struct lesson_state *s, const heed_writings *w) {
    heed_ctx *const cx = s->r->cx;
    heed_io in = {.loss_only = true}, out = {0};
    int64_t T;
    if (!pad(s, w, &T)) return NULL;
    heed_io_put(cx, &in, "strokes", heed_from_f32(cx, s->strokes, 3, (int64_t[]){w->n, T, 3}));
    heed_io_put(cx, &in, "labels", heed_from_i32(cx, s->labels, 2, (int64_t[]){w->n, T}));
    return heed_model_forward(cx, s->model, &in, &out) ? heed_io_get(&out, "loss") : NULL;
}

/* Every batch is of other writers. */
static float learn(struct lesson_state *s, int64_t step) {
    heed_writings w = {0};
    float loss = NAN;
    if (heed_writings_numbers(s->r->cx, s->r->seed, step * BATCH, BATCH, LEAST, MOST, &w)) {
        heed_trainer_begin(s->r->cx, s->trainer);
        heed_tensor *const t = loss_of(s, &w);
        if (t) loss = lesson_learn(s->r->cx, s->trainer, t);
    }
    heed_writings_free(s->r->cx, &w);
    return loss;
}

static float measure(struct lesson_state *s) {
    heed_ctx *const cx = s->r->cx;
    heed_writings w = {0};
    float loss = NAN;
    const bool was = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    if (heed_writings_numbers(cx, s->r->seed + SEED_OTHERS, WRITERS, HELD_OUT, LEAST, MOST, &w)) {
        heed_tensor *const t = loss_of(s, &w);
        if (t) loss = heed_item(cx, t);
        heed_reset(cx);
    }
    heed_writings_free(cx, &w);
    heed_set_grad(cx, was);
    heed_set_training(cx, training);
    return loss;
}

static bool follow(struct lesson_state *s, float *step, float *held_out) {
    const int64_t steps = s->r->steps;
    lesson_line(s->r, "%6s %9s %9s", "step", "loss", "others");
    for (int k = 0; k <= POINTS && !heed_failed(s->r->cx); k++) {
        const int64_t from = k ? steps * (k - 1) / POINTS : 0, to = steps * k / POINTS;
        double sum = 0;
        for (int64_t i = from; i < to && !heed_failed(s->r->cx); i++) {
            sum += (double)learn(s, i);
            lesson_progress(s->r, "learning", i, steps);
        }
        lesson_progress(s->r, "", 1, 1);
        step[k] = (float)to;
        held_out[k] = measure(s);
        if (k > 0 && (k <= 2 || k % 4 == 0))
            lesson_line(s->r, "%6lld %9.3f %9.3f", (long long)to, sum / (double)(to > from ? to - from : 1),
                        (double)held_out[k]);
    }
    lesson_line(s->r, "%s", "");
    return !heed_failed(s->r->cx);
}

/* ---- running free ---- */

struct pieces {
    heed_writings begun, written, own; /* beginnings; with what follows; what the writers themselves go on with */
    int64_t given[WRITERS];
    struct styles before, after, truth;
};

static void put_style(struct styles *to, int i, const float *points, int64_t n) {
    const heed_writing_style s = heed_writing_style_of(points, n);
    to->of[0][i] = (float)s.slant;
    to->of[1][i] = (float)s.height;
    to->of[2][i] = (float)s.step;
}

static bool write_all(struct lesson_state *s, struct pieces *p) {
    heed_ctx *const cx = s->r->cx;
    const uint64_t seed = s->r->seed + SEED_OTHERS;
    for (int i = 0; i < WRITERS; i++) {
        char digits[2][DIGITS + 1] = {{0}};
        for (int k = 0; k < 2 * DIGITS; k++)
            digits[k / DIGITS][k % DIGITS] =
                (char)('0' + heed_random_bits(seed, 1, (uint64_t)(i * 2 * DIGITS + k)) % 10);
        heed_handwrite_opts opts = {.seed = s->r->seed, .number = i, .bias = BIAS, .points = NEW};
        int64_t n;
        if (!heed_writings_digits(cx, seed, i, 1, digits[0], &p->begun) ||
            !heed_writings_digits(cx, seed, i, 2, digits[1], &p->own))
            return false;
        opts.beginning = heed_writing_points(&p->begun, i, &opts.given);
        if (!heed_handwrite(cx, s->model, &opts, &p->written)) return false;
        p->given[i] = opts.given;
        put_style(&p->before, i, opts.beginning, opts.given);
        const float *points = heed_writing_points(&p->written, i, &n);
        put_style(&p->after, i, points + 3 * opts.given, n - opts.given);
        points = heed_writing_points(&p->own, i, &n);
        put_style(&p->truth, i, points, n);
        lesson_progress(s->r, "writing", i, WRITERS);
    }
    lesson_progress(s->r, "", 1, 1);
    return true;
}

/* Pearson's, of x and y moved on by `shift` writers. */
static double correlation(const float *x, const float *y, int shift) {
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < WRITERS; i++) mx += (double)x[i] / WRITERS, my += (double)y[i] / WRITERS;
    for (int i = 0; i < WRITERS; i++) {
        const double dx = (double)x[i] - mx, dy = (double)y[(i + shift) % WRITERS] - my;
        xx += dx * dx, yy += dy * dy, xy += dx * dy;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* ---- what is shown ---- */

static void draw_scatter(struct lesson_run *r, const struct pieces *p) {
    static const char *const labels[STYLES] = {"slant", "height", "step of the pen"};
    heed_figure *const f = lesson_figure(r, 840, 290);
    heed_figure_grid(f, 1, STYLES);
    for (int k = 0; k < STYLES; k++) {
        const float *const x = p->before.of[k], *const y = p->after.of[k];
        float low = x[0], high = x[0];
        char title[64];
        for (int i = 0; i < WRITERS; i++) {
            low = fminf(low, fminf(x[i], y[i]));
            high = fmaxf(high, fmaxf(x[i], y[i]));
        }
        heed_panel *const panel = heed_figure_panel(f, 0, k);
        snprintf(title, sizeof title, "%s: r = %.2f", labels[k], correlation(x, y, 0));
        heed_panel_title(panel, title);
        heed_panel_labels(panel, "of the beginning", k == 0 ? "of what the network writes" : NULL);
        heed_panel_curve(panel, (float[]){low, high}, (float[]){low, high}, 2,
                         &(heed_style){.color = HEED_COLOR_GREY, .dash = HEED_DASH_LONG});
        heed_panel_scatter(panel, x, y, WRITERS, &(heed_style){.color = HEED_COLOR_ORANGE, .size = 5});
    }
    lesson_picture(r, f, "handwriting-style");
}

static void draw_writing(struct lesson_run *r, const struct pieces *p) {
    heed_writing_line line[SHOWN];
    heed_figure *const f = lesson_figure(r, 560, 600);
    heed_panel *const panel = heed_figure_panel(f, 0, 0);
    for (int i = 0; i < SHOWN; i++) {
        line[i] = (heed_writing_line){.given = p->given[i]};
        line[i].points = heed_writing_points(&p->written, i, &line[i].n);
    }
    heed_panel_title(panel, "Four digits by writers never seen (blue), and how the network goes on");
    heed_panel_writing(panel, line, SHOWN);
    lesson_picture(r, f, "handwriting");
}

static void write_tables(struct lesson_run *r, const struct pieces *p, const float *step, const float *held_out) {
    lesson_table(r, "handwriting-style",
                 (heed_table_column[]){{.name = "slant_before", .f32 = p->before.of[0]},
                                       {.name = "slant_after", .f32 = p->after.of[0]},
                                       {.name = "height_before", .f32 = p->before.of[1]},
                                       {.name = "height_after", .f32 = p->after.of[1]},
                                       {.name = "step_before", .f32 = p->before.of[2]},
                                       {.name = "step_after", .f32 = p->after.of[2]}},
                 6, WRITERS);
    lesson_table(r, "handwriting-loss",
                 (heed_table_column[]){{.name = "step", .f32 = step}, {.name = "held_out", .f32 = held_out}}, 2,
                 POINTS + 1);
}

static void show(struct lesson_run *r, const struct pieces *p) {
    heed_terminal how = r->terminal;
    how.height = 14;
    const heed_series points = {"writers", p->before.of[0], p->after.of[0], WRITERS, true};
    lesson_show(r, heed_terminal_curves(
                       r->cx, &points, 1,
                       &(heed_axes){.x_label = "slant of the beginning", .y_label = "slant of what the network writes"},
                       &how));
    lesson_line(r, "%-8s %22s %24s %22s", "", "beginning, network", "beginning, another's", "beginning, writer");
    for (int k = 0; k < STYLES; k++) {
        const double same = correlation(p->before.of[k], p->after.of[k], 0);
        const double other = correlation(p->before.of[k], p->after.of[k], WRITERS / 2);
        const double own = correlation(p->before.of[k], p->truth.of[k], 0);
        char name[32];
        lesson_line(r, "%-8s %22.2f %24.2f %22.2f", names[k], same, other, own);
        snprintf(name, sizeof name, "%s_correlation", names[k]);
        lesson_result(r, name, same);
        snprintf(name, sizeof name, "%s_of_another", names[k]);
        lesson_result(r, name, other);
        snprintf(name, sizeof name, "%s_of_the_writer", names[k]);
        lesson_result(r, name, own);
    }
    lesson_line(r, "%s", "");
}

static void teach(struct lesson_state *s) {
    struct lesson_run *const r = s->r;
    struct pieces *const p = lesson_room(r, 1, sizeof *p);
    float step[POINTS + 1], held_out[POINTS + 1];
    if (!p || !open_state(s) || !standardise(s)) return;
    lesson_say(r,
               "A pen goes from point to point: dx, dy, and whether it is lifted. The network, two layers of LSTMs, "
               "reads the points of a number one by one and says where the next one lies: not a place but a density, "
               "a mixture of 8 normal ones, and the probability that the stroke ends (Graves 2013). It learns by "
               "teacher forcing, which always shows it the pen's true way, from numbers of %d to %d digits. Each of "
               "the %d in a batch is by another writer, with a slant, a size, a width, a speed, a tremble and forms of "
               "digits of its own. Loss, in nats per point: here, and for writers that are held out.",
               LEAST, MOST, BATCH);
    if (!follow(s, step, held_out)) return;
    lesson_say(r,
               "Now it runs free. It reads %d digits by each of %d writers that it has never seen, and goes on for %d "
               "points, drawing each from its own density (with a bias of %.1f towards likelier ones) and reading it "
               "as if the writer had written it. Nobody tells it the style: whatever it keeps of it is in the states "
               "of its LSTMs.",
               DIGITS, WRITERS, NEW, BIAS);
    if (write_all(s, p)) {
        show(r, p);
        draw_scatter(r, p);
        draw_writing(r, p);
        write_tables(r, p, step, held_out);
        lesson_result(r, "held_out", (double)held_out[POINTS]);
        lesson_say(r, "Left: correlation of the beginning's slant, height and step of the pen with those of what the "
                      "network wrote behind it. Middle: with what it wrote behind another writer's beginning; that is "
                      "chance. Right: with four other digits by the same writer, which differ for being other digits; "
                      "more cannot be expected.");
        lesson_say(r,
                   "'%s train handwriting' trains a larger one, also on strokes of your own and, with --text, on what "
                   "they say; '%s generate DIR --prompt 2026 --svg F.svg' writes.",
                   r->program, r->program);
    }
    heed_writings_free(r->cx, &p->begun);
    heed_writings_free(r->cx, &p->written);
    heed_writings_free(r->cx, &p->own);
}

static void run(struct lesson_run *r) {
    struct lesson_state *const s = lesson_room(r, 1, sizeof *s);
    if (!s) return;
    s->r = r;
    teach(s);
    close_state(s);
}

const struct lesson handwriting_lesson = {
    .name = "handwriting",
    .summary = "a network goes on writing by hand, in the style of writers that it has never seen",
    .steps = STEPS,
    .run = run,
};
