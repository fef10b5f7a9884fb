/* From compression to generation: what an autoencoder draws from codes that no picture has. The codes of a plain one
 * lie anywhere; those of a variational one (Kingma & Welling 2014; Rezende et al. 2014) are made to lie where N(0, 1)
 * does. Follows CISC 7026, Macau. */
#include "lessons/autoencoders.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 2500, PLANE_STEPS = 900, TESTS = DIGIT_TESTS, LATENT = 8, SHOWN = 32, NOISES = 4, GRID = 13 };
enum { PLAIN, VARIATIONAL, KINDS };
enum { STREAM_SAMPLES = 901, STREAM_NOISE };
#define BETA   0.03
#define WITHIN 3.0 /* between -3 and 3 lie 99.7 % of the numbers of N(0, 1) */
#define RADIUS 2.0 /* of a circle, within which lie 86.5 % of the points of N(0, 1) in the plane */
#define EDGE   8.0

static const struct { const char *name, *key; } kinds[KINDS] = {{"plain", "plain"}, {"variational", "variational"}};
static const double noises[NOISES] = {0.25, 0.5, 1, 2};

struct scene {
    struct digit_set train, test;
    struct judge judge;
    float *codes, *z, *x; /* (TESTS, LATENT), (TESTS, LATENT), (TESTS, DIGIT_PIXELS) */
    int32_t *answers, *first;
    struct verdict baseline;
};

struct outcome {
    double error, rms, within, circle;
    struct verdict rebuilt, sampled;
    double legible[NOISES], same[NOISES]; /* of z_k + eps: shows a digit; the digit that z_k shows */
    float rebuilt_shown[SHOWN * DIGIT_PIXELS], shown[SHOWN * DIGIT_PIXELS];
};

/* ---- what is measured ---- */

/* The share of all numbers of the codes (n, width) that lie within [-WITHIN, WITHIN]. */
static double share_within(const float *codes, int64_t n, int64_t width) {
    int64_t count = 0;
    for (int64_t i = 0; i < n * width; i++) count += fabs((double)codes[i]) <= WITHIN;
    return (double)count / (double)(n * width);
}

/* The share of codes of two numbers that lie within the circle of radius RADIUS. */
static double share_within_circle(const float *codes, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += hypot((double)codes[2 * i], (double)codes[2 * i + 1]) <= RADIUS;
    return (double)count / (double)n;
}

/* z_k + eps, where eps has so many times the deviation that the codes have, number by number. */
static bool disturb(struct lesson_run *r, struct scene *s, const heed_model *model, struct outcome *o) {
    float deviation[LATENT];
    for (int k = 0; k < LATENT; k++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < TESTS; i++) {
            const double z = (double)s->codes[i * LATENT + k];
            sum += z / TESTS, squares += z * z / TESTS;
        }
        deviation[k] = (float)sqrt(fmax(squares - sum * sum, 0));
    }
    for (int e = 0; e < NOISES; e++) {
        struct verdict v;
        heed_random_normal(r->seed, STREAM_NOISE, (uint64_t)e * TESTS * LATENT, s->z, (int64_t)TESTS * LATENT);
        for (int64_t i = 0; i < (int64_t)TESTS * LATENT; i++)
            s->z[i] = s->codes[i] + (float)noises[e] * deviation[i % LATENT] * s->z[i];
        if (!heed_decode_codes(r->cx, model, s->z, TESTS, s->x) ||
            !judge_ask(r, &s->judge, s->x, TESTS, s->answers, &v))
            return false;
        int64_t same = 0, legible = 0;
        for (int64_t i = 0; i < TESTS; i++) {
            same += s->first[i] != NO_DIGIT && s->answers[i] == s->first[i];
            legible += s->first[i] != NO_DIGIT;
        }
        o->legible[e] = v.legible;
        o->same[e] = legible > 0 ? (double)same / (double)legible : 0;
    }
    return true;
}

static bool examine(struct lesson_run *r, struct scene *s, const heed_model *model, struct outcome *o) {
    double squares = 0;
    if (!heed_encode_pixels(r->cx, model, s->test.x, TESTS, s->codes, NULL) ||
        !heed_decode_codes(r->cx, model, s->codes, TESTS, s->x) ||
        !judge_ask(r, &s->judge, s->x, TESTS, s->first, &o->rebuilt))
        return false;
    for (int64_t i = 0; i < (int64_t)TESTS * LATENT; i++) squares += (double)s->codes[i] * (double)s->codes[i];
    o->rms = sqrt(squares / (TESTS * LATENT));
    o->within = share_within(s->codes, TESTS, LATENT);
    o->error = autoencoder_error(s->x, s->test.x, TESTS);
    memcpy(o->rebuilt_shown, s->x, sizeof o->rebuilt_shown);
    heed_random_normal(r->seed, STREAM_SAMPLES, 0, s->z, (int64_t)TESTS * LATENT);
    if (!heed_decode_codes(r->cx, model, s->z, TESTS, s->x) || !judge_ask(r, &s->judge, s->x, TESTS, NULL, &o->sampled))
        return false;
    memcpy(o->shown, s->x, sizeof o->shown);
    return disturb(r, s, model, o);
}

static heed_model *learn(struct lesson_run *r, const struct scene *s, int kind, int64_t latent, int64_t steps) {
    heed_model *const m = autoencoder_new(r, &(struct autoencoder_opts){kind == VARIATIONAL, latent, BETA});
    if (m)
        autoencoder_learn(
            r, m,
            &(struct autoencoder_course){.x = s->train.x, .n = s->train.n, .steps = steps, .what = kinds[kind].name});
    return m;
}

/* ---- the plane ---- codes of two numbers */

static void draw_codes(heed_panel *p, const struct scene *s, const float *codes, int kind) {
    static const heed_color colors[] = {HEED_COLOR_BLUE, HEED_COLOR_ORANGE, HEED_COLOR_GREEN, HEED_COLOR_PINK,
                                        HEED_COLOR_SKY};
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    float x[TESTS], y[TESTS], circle[2][129];
    heed_panel_title(p, kind == PLAIN ? "Codes of a plain autoencoder" : "Codes of a variational autoencoder");
    heed_panel_labels(p, "z1", "z2");
    heed_panel_limits_x(p, -EDGE, EDGE);
    heed_panel_limits_y(p, -EDGE, EDGE);
    for (int digit = 0; digit < DIGIT_KINDS; digit++) {
        int64_t n = 0;
        for (int64_t i = 0; i < TESTS; i++)
            if (s->test.label[i] == digit) x[n] = codes[2 * i], y[n++] = codes[2 * i + 1];
        heed_panel_scatter(p, x, y, n,
                           &(heed_style){.label = names[digit],
                                         .color = colors[digit % 5],
                                         .marker = digit < 5 ? HEED_MARKER_DISC : HEED_MARKER_TRIANGLE,
                                         .size = 4,
                                         .alpha = 0.8});
    }
    for (int i = 0; i < 129; i++) {
        circle[0][i] = (float)(RADIUS * cos(i * M_PI / 64));
        circle[1][i] = (float)(RADIUS * sin(i * M_PI / 64));
    }
    heed_panel_curve(p, circle[0], circle[1], 129, &(heed_style){.color = HEED_COLOR_INK, .width = 1.4});
}

/* Of each kind: its codes, and what it decodes from points of the square [-2.4, 2.4] x [-2.4, 2.4]. */
static bool show_plane(struct lesson_run *r, struct scene *s, struct outcome *o) {
    float *const codes = lesson_room(r, 2 * TESTS, sizeof *codes), *const label = lesson_room(r, TESTS, sizeof *label),
                 *const two = lesson_room(r, (int64_t)KINDS * 2 * TESTS, sizeof *two);
    float grid[2 * GRID * GRID], *const pictures =
                                     lesson_room(r, (int64_t)GRID * GRID * DIGIT_PIXELS, sizeof *pictures);
    if (!codes || !label || !two || !pictures) return false;
    for (int i = 0; i < GRID * GRID; i++) {
        grid[2 * i] = 4.8f * ((float)(i % GRID) / (GRID - 1) - 0.5f);
        grid[2 * i + 1] = -4.8f * ((float)(i - i % GRID) / GRID / (GRID - 1) - 0.5f);
    }
    heed_figure *const f = lesson_figure(r, 900, 900);
    heed_figure_grid(f, 2, 2);
    for (int kind = 0; kind < KINDS; kind++) {
        heed_model *const m = learn(r, s, kind, 2, r->steps < PLANE_STEPS ? r->steps : PLANE_STEPS);
        if (m && heed_encode_pixels(r->cx, m, s->test.x, TESTS, codes, NULL) &&
            heed_decode_codes(r->cx, m, grid, GRID * GRID, pictures)) {
            heed_panel *const right = heed_figure_panel(f, kind, 1);
            o[kind].circle = share_within_circle(codes, TESTS);
            draw_codes(heed_figure_panel(f, kind, 0), s, codes, kind);
            heed_panel_title(right, "What it decodes from the square around the circle");
            heed_panel_images(right, pictures, GRID * GRID, DIGIT_SIDE, DIGIT_SIDE,
                              &(heed_images){.columns = GRID, .map = HEED_MAP_INK, .low = 0, .high = 1});
            for (int64_t i = 0; i < TESTS; i++)
                for (int k = 0; k < 2; k++) two[(2 * kind + k) * TESTS + i] = codes[2 * i + k];
        }
        heed_model_free(r->cx, m);
    }
    lesson_picture(r, f, "generation-plane");
    for (int64_t i = 0; i < TESTS; i++) label[i] = (float)s->test.label[i];
    lesson_table(r, "generation-plane",
                 (heed_table_column[]){{.name = "digit", .f32 = label},
                                       {.name = "plain_z1", .f32 = two},
                                       {.name = "plain_z2", .f32 = two + TESTS},
                                       {.name = "variational_z1", .f32 = two + 2 * TESTS},
                                       {.name = "variational_z2", .f32 = two + 3 * TESTS}},
                 5, TESTS);
    return !heed_failed(r->cx);
}

/* ---- words and pictures ---- */

static void show_samples(struct lesson_run *r, const struct outcome *o) {
    heed_figure *const f = lesson_figure(r, 980, 560);
    heed_figure_grid(f, 2, 2);
    for (int kind = 0; kind < KINDS; kind++)
        for (int part = 0; part < 2; part++) {
            char title[96];
            heed_panel *const p = heed_figure_panel(f, kind, part);
            snprintf(title, sizeof title,
                     part ? "... and from codes drawn from N(0, 1)" : "%s: pictures, through a code and back",
                     kind == PLAIN ? "Plain" : "Variational");
            heed_panel_title(p, title);
            heed_panel_images(p, part ? o[kind].shown : o[kind].rebuilt_shown, SHOWN, DIGIT_SIDE, DIGIT_SIDE,
                              &(heed_images){.columns = 8, .map = HEED_MAP_INK, .low = 0, .high = 1});
        }
    lesson_picture(r, f, "generation");
    for (int kind = 0; kind < KINDS; kind++) {
        heed_terminal how = r->terminal;
        how.title = kind == PLAIN ? "from N(0, 1), plain" : "from N(0, 1), variational";
        lesson_show(r, heed_terminal_images(r->cx, o[kind].shown, 2, DIGIT_SIDE, DIGIT_SIDE,
                                            &(heed_images){.columns = 2, .low = 0, .high = 1}, &how));
    }
}

static void print_outcomes(struct lesson_run *r, const struct outcome *o) {
    char name[64];
    lesson_line(r, "%-40s %12s %14s", "", "plain", "variational");
    lesson_line(r, "%-40s %12.1f %14.1f", "squared error of a picture", o[0].error, o[1].error);
    lesson_line(r, "%-40s %12.2f %14.2f", "root mean square of the codes' numbers", o[0].rms, o[1].rms);
    lesson_line(r, "%-40s %10.1f %% %12.1f %%", "... within [-3, 3]; N(0, 1): 99.7 %", 100 * o[0].within,
                100 * o[1].within);
    lesson_line(r, "%-40s %10.1f %% %12.1f %%", "legible: pictures through code and back", 100 * o[0].rebuilt.legible,
                100 * o[1].rebuilt.legible);
    lesson_line(r, "%-40s %10.1f %% %12.1f %%", "legible: codes from N(0, 1)", 100 * o[0].sampled.legible,
                100 * o[1].sampled.legible);
    lesson_line(r, "%-40s %12.1f %14.1f\n", "... kinds of digits among them, of 10", o[0].sampled.kinds,
                o[1].sampled.kinds);
    for (int kind = 0; kind < KINDS; kind++) {
        const struct {
            const char *what;
            double value;
        } results[] = {{"error", o[kind].error},
                       {"within", o[kind].within},
                       {"rebuilt", o[kind].rebuilt.legible},
                       {"sampled", o[kind].sampled.legible},
                       {"kinds", o[kind].sampled.kinds},
                       {"circle", o[kind].circle}};
        for (int i = 0; i < 6; i++) {
            snprintf(name, sizeof name, "%s_%s", kinds[kind].key, results[i].what);
            lesson_result(r, name, results[i].value);
        }
    }
}

static void print_noises(struct lesson_run *r, const struct outcome *o) {
    float columns[1 + 2 * KINDS][NOISES];
    char name[64];
    lesson_line(r, "%-26s %24s %26s", "", "plain", "variational");
    lesson_line(r, "%-26s %11s %12s %13s %12s", "size of eps", "legible", "same digit", "legible", "same digit");
    for (int e = 0; e < NOISES; e++) {
        lesson_line(r, "%-26.2f %9.1f %% %10.1f %% %11.1f %% %10.1f %%", noises[e], 100 * o[0].legible[e],
                    100 * o[0].same[e], 100 * o[1].legible[e], 100 * o[1].same[e]);
        columns[0][e] = (float)noises[e];
        for (int kind = 0; kind < KINDS; kind++) {
            columns[1 + 2 * kind][e] = (float)o[kind].legible[e];
            columns[2 + 2 * kind][e] = (float)o[kind].same[e];
            snprintf(name, sizeof name, "%s_noise_%d", kinds[kind].key, e);
            lesson_result(r, name, o[kind].legible[e]);
        }
    }
    lesson_line(r, "%s", "");
    lesson_table(r, "generation",
                 (heed_table_column[]){{.name = "noise", .f32 = columns[0]},
                                       {.name = "plain_legible", .f32 = columns[1]},
                                       {.name = "plain_same", .f32 = columns[2]},
                                       {.name = "variational_legible", .f32 = columns[3]},
                                       {.name = "variational_same", .f32 = columns[4]}},
                 5, NOISES);
}

static void conclude(struct lesson_run *r, const struct outcome *o) {
    const struct outcome *const a = &o[PLAIN], *const b = &o[VARIATIONAL];
    if (b->sampled.legible > a->sampled.legible + 0.1)
        lesson_say(
            r,
            "The plain one draws a digit from %.0f %% of the codes from N(0, 1), the variational one from %.0f %%. "
            "The former has no reason to put its codes there: the loss asks that pictures come back, and nothing of "
            "what lies beside their codes. In the latter the second sum pulls mu to 0 and sigma to 1, and eps moves "
            "z about in learning, so that all that is near a code must decode to its picture.",
            100 * a->sampled.legible, 100 * b->sampled.legible);
    else
        lesson_say(r, "The variational one does not draw more digits than the plain one, as it should: it has "
                      "learnt too little. --steps says how long to go on.");
    if (b->error > a->error)
        lesson_say(r,
                   "The price is the error of what comes back, %.1f instead of %.1f: a code that is a cloud holds "
                   "less than a point does. '%s lesson beta' has the whole trade.",
                   b->error, a->error, r->program);
}

static void study(struct lesson_run *r, struct scene *s, struct outcome *o) {
    lesson_say(r, "An autoencoder learns to bring pictures back through a narrow code: z = f(x), x' = f^-1(z). That is "
                  "compression. Can it make new pictures, if f^-1 is given a z that belongs to none? A plain one "
                  "learns from sum (x - x')^2 alone. A variational one gives a mean and a deviation for each number of "
                  "the code, draws z = mu + sigma eps, and learns from");
    lesson_line(r, "    m/n sum (x - x')^2 + beta sum (mu^2 + sigma^2 - log sigma^2 - 1)\n");
    lesson_say(
        r,
        "with m = 1 here and beta = %.2f. Both have layers of 784, 256, 128 and back, codes of %d numbers, and "
        "learn for %lld steps of 128 digits that heed draws. A judge, a classifier that has also seen what is no "
        "digit, says what is legible: %.0f %% of %d true digits are, and %.0f %% of two digits laid over each other.",
        BETA, LATENT, (long long)r->steps, 100 * s->baseline.legible, TESTS,
        100 * judge_blends(r, &s->judge, &s->test));
    for (int kind = 0; kind < KINDS; kind++) {
        heed_model *const m = learn(r, s, kind, LATENT, r->steps);
        const bool ok = m && examine(r, s, m, &o[kind]);
        heed_model_free(r->cx, m);
        if (!ok) return;
    }
    if (!show_plane(r, s, o)) return;
    print_outcomes(r, o);
    show_samples(r, o);
    conclude(r, o);
    lesson_say(r,
               "Codes of two numbers can be drawn (generation-plane.png with --out). Within the circle of radius "
               "%.0f around 0, where 86.5 %% of N(0, 1) lie, are %.0f %% of the codes of the plain one and %.0f %% "
               "of the variational one's.",
               RADIUS, 100 * o[PLAIN].circle, 100 * o[VARIATIONAL].circle);
    lesson_say(r, "Another way to a new z is a picture's own, moved a little: z_k + eps. The size of eps is in "
                  "deviations of the codes, number by number; same digit: of pictures whose own code is legible.");
    print_noises(r, o);
    if (o[PLAIN].same[0] > 2 * o[PLAIN].same[NOISES - 1] &&
        o[VARIATIONAL].same[0] > 2 * o[VARIATIONAL].same[NOISES - 1])
        lesson_say(
            r,
            "The smallest eps leaves %.0f %% and %.0f %% of the pictures the digit that they were, the largest %.0f %% "
            "and %.0f %%, where chance is 10 %%: near z_k one gets z_k's picture, and further away another, which is "
            "legible in %.0f %% and %.0f %%. '%s lesson curse-of-dimensionality' shows what becomes of this in longer "
            "codes.",
            100 * o[PLAIN].same[0], 100 * o[VARIATIONAL].same[0], 100 * o[PLAIN].same[NOISES - 1],
            100 * o[VARIATIONAL].same[NOISES - 1], 100 * o[PLAIN].legible[NOISES - 1],
            100 * o[VARIATIONAL].legible[NOISES - 1], r->program);
}

static void run(struct lesson_run *r) {
    struct scene *const s = lesson_room(r, 1, sizeof *s);
    struct outcome *const o = lesson_room(r, KINDS, sizeof *o);
    if (!s || !o) return;
    s->codes = lesson_room(r, (int64_t)TESTS * LATENT, sizeof *s->codes);
    s->z = lesson_room(r, (int64_t)TESTS * LATENT, sizeof *s->z);
    s->x = lesson_room(r, (int64_t)TESTS * DIGIT_PIXELS, sizeof *s->x);
    s->answers = lesson_room(r, TESTS, sizeof *s->answers);
    s->first = lesson_room(r, TESTS, sizeof *s->first);
    if (!heed_failed(r->cx) && digits_open(r, &s->train, &s->test, &s->judge) &&
        judge_ask(r, &s->judge, s->test.x, TESTS, NULL, &s->baseline))
        study(r, s, o);
    judge_close(r, &s->judge);
}

const struct lesson generation_lesson = {
    .name = "generation",
    .summary = "from compression to generation: what codes decode to that no picture has",
    .steps = STEPS,
    .run = run,
};
