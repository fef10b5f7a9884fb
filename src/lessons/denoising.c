/* A denoising autoencoder (Vincent et al. 2008): given a picture with noise, it is to find the clean one. In the plane
 * it points back to the data (Alain & Bengio 2014), as attention pooling over all examples does, which is the best
 * answer; with pictures, what it restores, and what comes of restoring again and again. */
#include "lessons/autoencoders.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 1300, TESTS = DIGIT_TESTS, LATENT = 64, SHOWN = 10 };
enum { CURVE = 1500, TRIED = 500, GRID = 21, AGAIN = 4, STREAM_CURVE = 931, STREAM_TRIED };
enum { AS_IS, NOISY, MASKED, MODELS };
enum { GIVEN, MEAN, RESTORED, WAYS = RESTORED + MODELS };
#define NEARBY 0.05 /* the noise in the plane */
#define NOISE  0.5  /* of pixels */
#define MASK   0.6  /* the part of the pixels that become 0 */

/* ---- in the plane ---- a spiral of points within (0, 1) x (0, 1) */

static void draw_spiral(uint64_t seed, float *x, int64_t n) {
    heed_random_uniform(seed, STREAM_CURVE, 0, x, n);
    for (int64_t i = n; i-- > 0;) {
        const double t = (double)x[i], angle = 2.6 * M_PI * sqrt(t) + 0.5, radius = 0.07 + 0.3 * sqrt(t);
        x[2 * i] = (float)(0.5 + radius * cos(angle));
        x[2 * i + 1] = (float)(0.44 + radius * sin(angle));
    }
}

/* The mean of the data that a noisy point may have been: softmax(-|y - x_i|^2 / (2 sigma^2)) x_i. */
static void pool(const float *data, const float *y, float *out) {
    double weight = 0, sum[2] = {0}, least = (double)INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < CURVE; i++) {
            const double dx = (double)(data[2 * i] - y[0]), dy = (double)(data[2 * i + 1] - y[1]);
            const double away = dx * dx + dy * dy;
            if (pass == 0) {
                least = fmin(least, away);
                continue;
            }
            const double w = exp((least - away) / (2 * NEARBY * NEARBY));
            weight += w, sum[0] += w * (double)data[2 * i], sum[1] += w * (double)data[2 * i + 1];
        }
    for (int k = 0; k < 2; k++) out[k] = (float)(sum[k] / weight);
}

/* The mean distance of points (n, 2) to the nearest of the data. */
static double mean_distance(const float *data, const float *y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double least = (double)INFINITY;
        for (int64_t k = 0; k < CURVE; k++)
            least = fmin(least, hypot((double)(data[2 * k] - y[2 * i]), (double)(data[2 * k + 1] - y[2 * i + 1])));
        sum += least / (double)n;
    }
    return sum;
}

static bool restore(struct lesson_run *r, const heed_model *m, int64_t latent, const float *x, int64_t n, float *y) {
    float *const codes = heed_mem_new(r->cx, (size_t)(n * latent) * sizeof *codes);
    const bool ok =
        codes && heed_encode_pixels(r->cx, m, x, n, codes, NULL) && heed_decode_codes(r->cx, m, codes, n, y);
    heed_mem_free(r->cx, codes);
    return ok;
}

/* Arrows (n) from x a part of the way to y, in one curve with gaps. */
static void draw_arrows(struct lesson_run *r, heed_panel *p, const float *x, const float *y, int64_t n) {
    enum { POINTS = 6 };
    const double part = 0.35, head = 0.012;
    float *const at = lesson_room(r, 2 * POINTS * n, sizeof *at);
    for (int64_t i = 0; at && i < n; i++) {
        const double dx = part * (double)(y[2 * i] - x[2 * i]), dy = part * (double)(y[2 * i + 1] - x[2 * i + 1]);
        const double length = hypot(dx, dy), back = fmin(head, length / 2) / fmax(length, 1e-9);
        const double tip[2] = {(double)x[2 * i] + dx, (double)x[2 * i + 1] + dy};
        const double points[POINTS][2] = {{(double)x[2 * i], (double)x[2 * i + 1]},
                                          {tip[0], tip[1]},
                                          {tip[0] - back * (dx + dy / 2), tip[1] - back * (dy - dx / 2)},
                                          {tip[0], tip[1]},
                                          {tip[0] - back * (dx - dy / 2), tip[1] - back * (dy + dx / 2)},
                                          {(double)NAN, (double)NAN}};
        for (int k = 0; k < POINTS; k++) {
            at[i * POINTS + k] = (float)points[k][0];
            at[POINTS * n + i * POINTS + k] = (float)points[k][1];
        }
    }
    if (at) heed_panel_curve(p, at, at + POINTS * n, POINTS * n, &(heed_style){.color = HEED_COLOR_BLUE, .width = 1});
}

static void draw_data(struct lesson_run *r, heed_panel *p, const float *data, const char *title) {
    float *const x = lesson_room(r, 2 * CURVE, sizeof *x);
    for (int64_t i = 0; x && i < CURVE; i++) x[i] = data[2 * i], x[CURVE + i] = data[2 * i + 1];
    heed_panel_title(p, title);
    heed_panel_limits_x(p, 0, 1);
    heed_panel_limits_y(p, 0, 1);
    if (x)
        heed_panel_scatter(p, x, x + CURVE, CURVE, &(heed_style){.color = HEED_COLOR_ORANGE, .size = 3, .alpha = 0.5});
}

struct plane {
    float data[2 * CURVE], tried[2 * TRIED], moved[2 * TRIED], grid[2 * GRID * GRID], ends[2 * GRID * GRID];
};

static void put_points(struct lesson_run *r, struct plane *p) {
    draw_spiral(r->seed, p->data, CURVE);
    draw_spiral(r->seed + 1, p->tried, TRIED);
    const heed_corruption noise = {.noise = NEARBY};
    heed_corrupt(&noise, r->seed, STREAM_TRIED, 0, 2 * TRIED, p->tried, p->tried);
    for (int i = 0; i < GRID * GRID; i++) {
        p->grid[2 * i] = 0.04f + 0.92f * (float)(i % GRID) / (GRID - 1);
        p->grid[2 * i + 1] = 0.04f + 0.92f * (float)(i - i % GRID) / GRID / (GRID - 1);
    }
}

/* How far the model's moves are from the best ones, as a share of these. */
static double compare(const struct plane *p) {
    double wrong = 0, all = 0;
    for (int i = 0; i < TRIED; i++) {
        float best[2];
        pool(p->data, p->tried + 2 * i, best);
        for (int k = 0; k < 2; k++) {
            wrong += pow((double)(p->moved[2 * i + k] - best[k]), 2);
            all += pow((double)(p->tried[2 * i + k] - best[k]), 2);
        }
    }
    return sqrt(wrong / all);
}

static bool study_plane(struct lesson_run *r, const heed_model *m, struct plane *p) {
    double away[AGAIN + 1], change = 0;
    if (!restore(r, m, LATENT, p->tried, TRIED, p->moved)) return false;
    change = compare(p);
    away[0] = mean_distance(p->data, p->tried, TRIED);
    for (int k = 1; k <= AGAIN; k++) {
        if (k > 1 && !restore(r, m, LATENT, p->moved, TRIED, p->moved)) return false;
        away[k] = mean_distance(p->data, p->moved, TRIED);
    }
    heed_figure *const f = lesson_figure(r, 900, 440);
    heed_figure_grid(f, 1, 2);
    heed_panel *panel = heed_figure_panel(f, 0, 0);
    draw_data(r, panel, p->data, "Where the autoencoder moves a point");
    if (!restore(r, m, LATENT, p->grid, GRID * GRID, p->ends)) return false;
    draw_arrows(r, panel, p->grid, p->ends, GRID * GRID);
    panel = heed_figure_panel(f, 0, 1);
    draw_data(r, panel, p->data, "Where attention over all examples moves it");
    float *const best = lesson_room(r, 2 * GRID * GRID, sizeof *best);
    for (int i = 0; best && i < GRID * GRID; i++) pool(p->data, p->grid + 2 * i, best + 2 * i);
    if (best) draw_arrows(r, panel, p->grid, best, GRID * GRID);
    lesson_picture(r, f, "denoising-plane");
    lesson_line(r, "%-34s %8s", "mean distance to the data", "");
    char name[32];
    for (int k = 0; k <= AGAIN; k++) {
        char label[48];
        snprintf(label, sizeof label, k == 0 ? "  with noise" : "  restored, %d time%s", k, k == 1 ? "" : "s");
        lesson_line(r, "%-34s %8.4f", label, away[k]);
        snprintf(name, sizeof name, "away_%d", k);
        lesson_result(r, name, away[k]);
    }
    lesson_line(r, "%s", "");
    lesson_say(r,
               "The best answer, in the mean square, is the mean of the data that the noisy point y may have been. "
               "For normal noise and %d examples that is attention pooling, softmax(-|y - x_i|^2 / (2 sigma^2)) "
               "x_i. The network, which keeps no example, moves points as this does but for %.0f %% of the way%s",
               CURVE, 100 * change,
               change < 0.4 ? ": it has learnt where the data lie, and points there, so that what it adds is sigma^2 "
                              "times the slope of log p(y) (Alain & Bengio 2014)."
                            : ": it has not learnt this yet. --steps says how long to go on.");
    lesson_result(r, "difference", change);
    return true;
}

static bool show_plane(struct lesson_run *r) {
    static const char *const settings[] = {"image_size=1,2",           "num_channels=1",    "hidden_sizes=128,128",
                                           "latent_size=64",           "output_act=linear", "hidden_act=relu",
                                           "reconstruction_weight=400"};
    struct plane *const p = lesson_room(r, 1, sizeof *p);
    if (!p) return false;
    put_points(r, p);
    lesson_say(
        r,
        "An autoencoder whose code is wide enough could hand its input through and learn nothing. A denoising one "
        "(Vincent et al. 2008) is given x + noise and asked for x. First in the plane: %d points on a spiral, noise "
        "of deviation sigma = %.2f, and a code of %d numbers, which is no bottleneck. %d other points:",
        CURVE, NEARBY, LATENT, TRIED);
    heed_model *const m =
        heed_model_new(r->cx, heed_family_find("autoencoder"), settings, sizeof settings / sizeof *settings, r->seed);
    const struct autoencoder_course course = {.x = p->data,
                                              .n = CURVE,
                                              .steps = 3 * r->steps,
                                              .lr = 4e-3,
                                              .corruption = {.noise = NEARBY},
                                              .what = "in the plane"};
    const bool ok = m && autoencoder_learn(r, m, &course) && study_plane(r, m, p);
    heed_model_free(r->cx, m);
    return ok;
}

/* ---- pictures ---- */

static const struct {
    const char *name, *key;
    heed_corruption corruption;
} models[MODELS] = {
    [AS_IS] = {"autoencoder, learnt without", "plain", {.noise = 0}},
    [NOISY] = {"learnt with noise", "noise", {.noise = NOISE}},
    [MASKED] = {"learnt with missing pixels", "mask", {.mask = MASK}},
};

struct scene {
    struct digit_set train, test;
    struct judge judge;
    heed_model *model[MODELS];
    float *given[MODELS], *y; /* tests with nothing, noise, missing pixels (TESTS, DIGIT_PIXELS) */
    int32_t *answers;
};

struct result {
    double error, right;
    float shown[SHOWN * DIGIT_PIXELS];
};

static void mean_of_9(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n * DIGIT_PIXELS; i++) {
        const int64_t row = i % DIGIT_PIXELS / DIGIT_SIDE, column = i % DIGIT_SIDE;
        float sum = 0;
        for (int64_t k = 0; k < 9; k++) {
            const int64_t dy = k / 3 - 1, dx = k % 3 - 1;
            if (row + dy >= 0 && row + dy < DIGIT_SIDE && column + dx >= 0 && column + dx < DIGIT_SIDE)
                sum += x[i + dy * DIGIT_SIDE + dx];
        }
        y[i] = sum / 9;
    }
}

static bool judge_restored(struct lesson_run *r, struct scene *s, const float *x, struct result *out) {
    struct verdict v;
    int64_t right = 0;
    if (!judge_ask(r, &s->judge, x, TESTS, s->answers, &v)) return false;
    for (int64_t i = 0; i < TESTS; i++) right += s->answers[i] == s->test.label[i];
    out->error = autoencoder_error(x, s->test.x, TESTS);
    out->right = (double)right / TESTS;
    memcpy(out->shown, x, sizeof out->shown);
    return true;
}

static bool measure_ways(struct lesson_run *r, struct scene *s, struct result o[MODELS][WAYS]) {
    for (int kind = 0; kind < MODELS; kind++)
        for (int way = 0; way < WAYS; way++) {
            if (way == GIVEN) memcpy(s->y, s->given[kind], (size_t)TESTS * DIGIT_PIXELS * sizeof *s->y);
            if (way == MEAN) mean_of_9(s->given[kind], s->y, TESTS);
            if (way >= RESTORED && !restore(r, s->model[way - RESTORED], LATENT, s->given[kind], TESTS, s->y))
                return false;
            if (!judge_restored(r, s, s->y, &o[kind][way])) return false;
        }
    return true;
}

static const char *way_name(int way) {
    return way == GIVEN ? "as it is given" : way == MEAN ? "mean of 3 x 3 pixels" : models[way - RESTORED].name;
}

static void print_ways(struct lesson_run *r, struct result o[MODELS][WAYS]) {
    static const char *const keys[WAYS] = {"given", "mean", "plain", "noise", "mask"};
    char name[48];
    lesson_line(r, "%-28s %16s %16s %16s", "", "clean", "noise", "missing pixels");
    lesson_line(r, "%-28s %8s %7s %8s %7s %8s %7s", "", "error", "right", "error", "right", "error", "right");
    for (int way = 0; way < WAYS; way++) {
        lesson_line(r, "%-28s %8.1f %5.0f %% %8.1f %5.0f %% %8.1f %5.0f %%", way_name(way), o[0][way].error,
                    100 * o[0][way].right, o[1][way].error, 100 * o[1][way].right, o[2][way].error,
                    100 * o[2][way].right);
        for (int kind = 0; kind < MODELS; kind++) {
            static const char *const kinds[MODELS] = {"clean", "noisy", "masked"};
            snprintf(name, sizeof name, "%s_error_%s", kinds[kind], keys[way]);
            lesson_result(r, name, o[kind][way].error);
            snprintf(name, sizeof name, "%s_right_%s", kinds[kind], keys[way]);
            lesson_result(r, name, o[kind][way].right);
        }
    }
    lesson_line(r, "%s", "");
}

static void draw_ways(struct lesson_run *r, const struct scene *s, struct result o[MODELS][WAYS]) {
    static const int rows[] = {GIVEN, MEAN, RESTORED + AS_IS, RESTORED + NOISY, RESTORED + MASKED};
    heed_figure *const f = lesson_figure(r, 1000, 480);
    heed_figure_grid(f, 6, 2);
    for (int side = 0; side < 2; side++)
        for (int row = 0; row < 6; row++) {
            heed_panel *const p = heed_figure_panel(f, row, side);
            const int kind = side == 0 ? NOISY : MASKED;
            heed_panel_title(p, row == 0 ? "clean" : way_name(rows[row - 1]));
            heed_panel_images(p, row == 0 ? s->test.x : o[kind][rows[row - 1]].shown, SHOWN, DIGIT_SIDE, DIGIT_SIDE,
                              &(heed_images){.columns = SHOWN, .map = HEED_MAP_INK, .low = 0, .high = 1});
        }
    lesson_picture(r, f, "denoising");
    float shown[2 * DIGIT_PIXELS];
    memcpy(shown, o[NOISY][GIVEN].shown, DIGIT_PIXELS * sizeof *shown);
    memcpy(shown + DIGIT_PIXELS, o[NOISY][RESTORED + NOISY].shown, DIGIT_PIXELS * sizeof *shown);
    lesson_show(
        r, heed_terminal_images(
               r->cx, shown, 2, DIGIT_SIDE, DIGIT_SIDE,
               &(heed_images){.columns = 2, .low = 0, .high = 1, .titles = (const char *const[]){"given", "restored"}},
               &r->terminal));
}

static void write_ways(struct lesson_run *r, struct result o[MODELS][WAYS]) {
    const char *names[WAYS];
    float columns[2 * MODELS][WAYS];
    for (int way = 0; way < WAYS; way++) {
        names[way] = way_name(way);
        for (int kind = 0; kind < MODELS; kind++) {
            columns[2 * kind][way] = (float)o[kind][way].error;
            columns[2 * kind + 1][way] = (float)o[kind][way].right;
        }
    }
    lesson_table(r, "denoising",
                 (heed_table_column[]){{.name = "way", .text = names},
                                       {.name = "clean_error", .f32 = columns[0]},
                                       {.name = "clean_right", .f32 = columns[1]},
                                       {.name = "noise_error", .f32 = columns[2]},
                                       {.name = "noise_right", .f32 = columns[3]},
                                       {.name = "missing_error", .f32 = columns[4]},
                                       {.name = "missing_right", .f32 = columns[5]}},
                 7, WAYS);
}

static void conclude(struct lesson_run *r, struct result o[MODELS][WAYS]) {
    const struct result *const noisy = o[NOISY], *const masked = o[MASKED];
    const bool best = noisy[RESTORED + NOISY].error < fmin(noisy[MEAN].error, noisy[RESTORED + AS_IS].error) &&
                      masked[RESTORED + MASKED].error < fmin(masked[MEAN].error, masked[RESTORED + AS_IS].error);
    if (best)
        lesson_say(
            r,
            "What has learnt with noise takes it away: of an error of %.0f %.0f is left, and %.0f %% of the digits "
            "are read right instead of %.0f %%; of missing pixels, %.0f of %.0f, and %.0f %% instead of %.0f %%. "
            "The same network, learnt on clean pictures, has seen no noise, and leaves %.0f and %.0f.",
            noisy[GIVEN].error, noisy[RESTORED + NOISY].error, 100 * noisy[RESTORED + NOISY].right,
            100 * noisy[GIVEN].right, masked[RESTORED + MASKED].error, masked[GIVEN].error,
            100 * masked[RESTORED + MASKED].right, 100 * masked[GIVEN].right, noisy[RESTORED + AS_IS].error,
            masked[RESTORED + AS_IS].error);
    else
        lesson_say(
            r, "What has learnt with noise does not restore best yet, as it should: --steps says how long to go on.");
    if (masked[RESTORED + NOISY].error > 1.2 * masked[RESTORED + MASKED].error)
        lesson_say(r,
                   "It restores the damage that it knows: with missing pixels, what has learnt with noise leaves "
                   "%.0f instead of %.0f.",
                   masked[RESTORED + NOISY].error, masked[RESTORED + MASKED].error);
}

/* ---- restored again and again: pictures with noise, and noise alone ---- */

enum { TIMES = 6, ROWS = 4, HALF = TESTS / 2 };
static const int times[TIMES] = {0, 1, 2, 4, 8, 16};

struct rounds {
    double moved[TIMES]; /* by the last time */
    double legible[TIMES], right[TIMES];
    float shown[2 * ROWS * TIMES * DIGIT_PIXELS];
};

/* The numbers given to the models are not needed any more: half of them are noise from here on. */
static bool repeat(struct lesson_run *r, struct scene *s, struct rounds *o) {
    float *const x = s->given[NOISY], *const before = s->given[MASKED];
    heed_random_uniform(r->seed, STREAM_TRIED + 1, 0, x + HALF * DIGIT_PIXELS, HALF * DIGIT_PIXELS);
    for (int t = 0, done = 0; t < TIMES; t++) {
        struct verdict v;
        for (; done < times[t]; done++) {
            memcpy(before, x, (size_t)TESTS * DIGIT_PIXELS * sizeof *x);
            if (!restore(r, s->model[NOISY], LATENT, before, TESTS, x)) return false;
            o->moved[t] = autoencoder_error(x, before, HALF);
        }
        if (!judge_ask(r, &s->judge, x, HALF, s->answers, &v)) return false;
        o->legible[t] = v.legible;
        for (int64_t i = 0; i < HALF; i++) o->right[t] += s->answers[i] == s->test.label[i] ? 1.0 / HALF : 0;
        for (int row = 0; row < 2 * ROWS; row++)
            memcpy(o->shown + (row * TIMES + t) * DIGIT_PIXELS,
                   x + ((row < ROWS ? 0 : HALF) + row % ROWS) * DIGIT_PIXELS, DIGIT_PIXELS * sizeof *x);
    }
    return true;
}

static void show_rounds(struct lesson_run *r, struct scene *s) {
    struct rounds *const o = lesson_room(r, 1, sizeof *o);
    if (!o || !repeat(r, s, o)) return;
    lesson_say(r, "Restored again and again by what has learnt with noise:");
    lesson_line(r, "%-28s %7s %7s %7s %7s %7s", "times", "1", "2", "4", "8", "16");
    lesson_line(r, "%-28s %7.2f %7.2f %7.2f %7.2f %7.2f", "squared change by the last", o->moved[1], o->moved[2],
                o->moved[3], o->moved[4], o->moved[5]);
    lesson_line(r, "%-28s %5.0f %% %5.0f %% %5.0f %% %5.0f %% %5.0f %%", "legible", 100 * o->legible[1],
                100 * o->legible[2], 100 * o->legible[3], 100 * o->legible[4], 100 * o->legible[5]);
    lesson_line(r, "%-28s %5.0f %% %5.0f %% %5.0f %% %5.0f %% %5.0f %%\n", "read right", 100 * o->right[1],
                100 * o->right[2], 100 * o->right[3], 100 * o->right[4], 100 * o->right[5]);
    if (o->moved[TIMES - 1] < 0.1 * o->moved[2])
        lesson_say(
            r, "They come to rest: the change falls to %.2f.%s", o->moved[TIMES - 1],
            o->right[TIMES - 1] < o->right[1] - 0.1
                ? " But what is drawn to the data in large steps goes on to where they are densest, a few shapes "
                  "that are legible and no longer the picture: once is enough. Diffusion takes small steps, each "
                  "for the noise that is left."
                : "");
    lesson_result(r, "moved_first", o->moved[1]);
    lesson_result(r, "moved_last", o->moved[TIMES - 1]);
    heed_figure *const f = lesson_figure(r, 760, 300);
    heed_figure_grid(f, 1, 2);
    for (int side = 0; side < 2; side++) {
        heed_panel *const p = heed_figure_panel(f, 0, side);
        heed_panel_title(p, side ? "From noise alone" : "Given, and restored 1, 2, 4, 8 and 16 times");
        heed_panel_images(p, o->shown + side * ROWS * TIMES * DIGIT_PIXELS, ROWS * TIMES, DIGIT_SIDE, DIGIT_SIDE,
                          &(heed_images){.columns = TIMES, .map = HEED_MAP_INK, .low = 0, .high = 1});
    }
    lesson_picture(r, f, "denoising-steps");
}

static bool study_pictures(struct lesson_run *r, struct scene *s, struct result o[MODELS][WAYS]) {
    for (int k = 0; k < MODELS; k++) {
        for (int64_t i = 0; i < TESTS; i++)
            heed_corrupt(&models[k].corruption, r->seed, STREAM_TRIED, i, DIGIT_PIXELS, s->test.x + i * DIGIT_PIXELS,
                         s->given[k] + i * DIGIT_PIXELS);
        s->model[k] = autoencoder_new(r, &(struct autoencoder_opts){.latent = LATENT});
        const struct autoencoder_course course = {.x = s->train.x,
                                                  .n = s->train.n,
                                                  .steps = r->steps,
                                                  .corruption = models[k].corruption,
                                                  .what = models[k].name};
        if (!s->model[k] || !autoencoder_learn(r, s->model[k], &course)) return false;
    }
    return measure_ways(r, s, o);
}

static void show_pictures(struct lesson_run *r, struct scene *s, struct result o[MODELS][WAYS]) {
    lesson_say(
        r,
        "Now heed's digits, with noise of deviation %.1f, cut off at 0 and 1, or with %.0f %% of the pixels "
        "missing. Three autoencoders, codes of %d numbers, learn in %lld steps: one on pictures as they are, one "
        "with noise, one with missing pixels. The squared error of a picture, and how many of %d the judge reads "
        "right, a classifier that may also say that there is no digit:",
        NOISE, 100 * MASK, LATENT, (long long)r->steps, TESTS);
    if (!study_pictures(r, s, o)) return;
    print_ways(r, o);
    draw_ways(r, s, o);
    write_ways(r, o);
    conclude(r, o);
    show_rounds(r, s);
}

static void run(struct lesson_run *r) {
    struct scene *const s = lesson_room(r, 1, sizeof *s);
    struct result(*const o)[WAYS] = lesson_room(r, MODELS, sizeof *o);
    if (!s || !o || !show_plane(r)) return;
    for (int k = 0; k < MODELS; k++) s->given[k] = lesson_room(r, (int64_t)TESTS * DIGIT_PIXELS, sizeof *s->y);
    s->y = lesson_room(r, (int64_t)TESTS * DIGIT_PIXELS, sizeof *s->y);
    s->answers = lesson_room(r, TESTS, sizeof *s->answers);
    if (!heed_failed(r->cx) && digits_open(r, &s->train, &s->test, &s->judge)) show_pictures(r, s, o);
    for (int k = 0; k < MODELS; k++) heed_model_free(r->cx, s->model[k]);
    judge_close(r, &s->judge);
}

const struct lesson denoising_lesson = {
    .name = "denoising",
    .summary = "an autoencoder that takes noise away, and where it moves points: back to the data",
    .steps = STEPS,
    .run = run,
};
