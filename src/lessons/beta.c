/* What beta does in a variational autoencoder (Higgins et al. 2017): how well pictures come back against how much their
 * codes say, and how the codes collapse where saying anything costs too much (Bowman et al. 2016). */
#include "lessons/autoencoders.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 1400, TESTS = DIGIT_TESTS, LATENT = 8, BETAS = 6, SHOWN = 12, STREAM_SAMPLES = 921 };
static const double betas[BETAS] = {0.0001, 0.003, 0.03, 0.1, 0.3, 3};
#define USED 0.05 /* nats that a number of the code says at least, to count as used */

struct scene {
    struct digit_set train, test;
    struct judge judge;
    float *mu, *log_sigma, *z, *x;
    double mean_error; /* of the mean picture, whatever is given */
};

struct outcome {
    double error;    /* of a picture, from z = mu + sigma eps */
    double kl, elbo; /* nats */
    int used;        /* numbers of the code */
    struct verdict rebuilt, sampled;
    float shown[SHOWN * DIGIT_PIXELS];
};

/* ---- what is measured ---- */

static double error_of_mean(struct lesson_run *r, const struct scene *s) {
    float *const mean = lesson_room(r, DIGIT_PIXELS, sizeof *mean);
    double sum = 0;
    if (!mean) return 0;
    for (int64_t i = 0; i < s->train.n * DIGIT_PIXELS; i++) mean[i % DIGIT_PIXELS] += s->train.x[i] / (float)s->train.n;
    for (int64_t i = 0; i < TESTS; i++) sum += autoencoder_error(s->test.x + i * DIGIT_PIXELS, mean, 1);
    return sum / TESTS;
}

/* The divergence of the codes from N(0, 1), number by number: half of mu^2 + sigma^2 - log sigma^2 - 1. */
static void measure_kl(const struct scene *s, struct outcome *o) {
    for (int k = 0; k < LATENT; k++) {
        double kl = 0;
        for (int64_t i = k; i < (int64_t)TESTS * LATENT; i += LATENT) {
            const double mu = (double)s->mu[i], log_sigma = (double)s->log_sigma[i];
            kl += (mu * mu + exp(2 * log_sigma) - 2 * log_sigma - 1) / 2 / TESTS;
        }
        o->kl += kl;
        o->used += kl > USED;
    }
}

static bool examine(struct lesson_run *r, struct scene *s, const heed_model *m, double beta, struct outcome *o) {
    const int64_t n = (int64_t)TESTS * LATENT;
    if (!heed_encode_pixels(r->cx, m, s->test.x, TESTS, s->mu, s->log_sigma)) return false;
    measure_kl(s, o);
    heed_random_normal(r->seed, STREAM_SAMPLES, 0, s->z, n);
    for (int64_t i = 0; i < n; i++) s->z[i] = s->mu[i] + expf(s->log_sigma[i]) * s->z[i];
    if (!heed_decode_codes(r->cx, m, s->z, TESTS, s->x) || !judge_ask(r, &s->judge, s->x, TESTS, NULL, &o->rebuilt))
        return false;
    o->error = autoencoder_error(s->x, s->test.x, TESTS);
    o->elbo = -o->error / (2 * beta) - DIGIT_PIXELS / 2.0 * log(2 * M_PI * beta) - o->kl;
    heed_random_normal(r->seed, STREAM_SAMPLES + 1, 0, s->z, n);
    if (!heed_decode_codes(r->cx, m, s->z, TESTS, s->x) || !judge_ask(r, &s->judge, s->x, TESTS, NULL, &o->sampled))
        return false;
    memcpy(o->shown, s->x, sizeof o->shown);
    return true;
}

static bool learn(struct lesson_run *r, struct scene *s, double beta, struct outcome *o) {
    char what[48];
    snprintf(what, sizeof what, "beta = %g", beta);
    heed_model *const m = autoencoder_new(r, &(struct autoencoder_opts){true, LATENT, beta});
    const struct autoencoder_course course = {.x = s->train.x, .n = s->train.n, .steps = r->steps, .what = what};
    const bool ok = m && autoencoder_learn(r, m, &course) && examine(r, s, m, beta, o);
    heed_model_free(r->cx, m);
    return ok;
}

/* ---- words and pictures ---- */

static void print_outcome(struct lesson_run *r, int b, const struct outcome *o) {
    const struct {
        const char *what;
        double value;
    } results[] = {{"error", o->error},
                   {"kl", o->kl},
                   {"elbo", o->elbo},
                   {"used", o->used},
                   {"rebuilt", o->rebuilt.legible},
                   {"sampled", o->sampled.legible}};
    char name[32];
    if (b == 0) {
        lesson_line(r, "%24s %7s %7s %10s %12s %12s", "error of", "", "", "numbers", "legible,", "legible,");
        lesson_line(r, "%7s %8s %7s %7s %7s %10s %12s %12s", "beta", "picture", "pixel", "KL", "ELBO", "used", "back",
                    "N(0, 1)");
    }
    lesson_line(r, "%7g %8.1f %7.4f %7.1f %7.0f %10d %10.0f %% %10.0f %%", betas[b], o->error, o->error / DIGIT_PIXELS,
                o->kl, o->elbo, o->used, 100 * o->rebuilt.legible, 100 * o->sampled.legible);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        snprintf(name, sizeof name, "%s_%d", results[i].what, b);
        lesson_result(r, name, results[i].value);
    }
}

static void draw_curves(struct lesson_run *r, const struct scene *s, const struct outcome *o) {
    float beta[BETAS], error[BETAS], kl[BETAS], used[BETAS], rebuilt[BETAS], sampled[BETAS];
    char text[BETAS][24];
    const char *names[BETAS];
    for (int b = 0; b < BETAS; b++) {
        beta[b] = (float)betas[b], error[b] = (float)o[b].error, kl[b] = (float)o[b].kl, used[b] = (float)o[b].used;
        rebuilt[b] = (float)(100 * o[b].rebuilt.legible), sampled[b] = (float)(100 * o[b].sampled.legible);
        snprintf(text[b], sizeof text[b], "%g", betas[b]);
        names[b] = text[b];
    }
    heed_figure *const f = lesson_figure(r, 900, 330);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "What codes say, and what comes back");
    heed_panel_labels(p, "KL divergence from N(0, 1), nats", "squared error of a picture");
    heed_panel_limits_y(p, 0, 1.12 * s->mean_error);
    heed_panel_hline(p, s->mean_error,
                     &(heed_style){.label = "the mean picture", .color = HEED_COLOR_GREY, .dash = HEED_DASH_LONG});
    heed_panel_curve(p, kl, error, BETAS,
                     &(heed_style){.label = "by beta", .color = HEED_COLOR_BLUE, .marker = HEED_MARKER_DISC});
    for (int b = 0; b < BETAS; b++)
        heed_panel_text(p, (double)kl[b] + 1, (double)error[b] + 0.035 * s->mean_error, names[b],
                        &(heed_style){.color = HEED_COLOR_BLUE});
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "Pictures that show a digit");
    heed_panel_labels(p, "beta", "legible, %");
    heed_panel_log(p, true, false);
    heed_panel_limits_y(p, 0, 104);
    heed_panel_curve(
        p, beta, rebuilt, BETAS,
        &(heed_style){.label = "through a code and back", .color = HEED_COLOR_GREY, .marker = HEED_MARKER_DISC});
    heed_panel_curve(p, beta, sampled, BETAS,
                     &(heed_style){.label = "from N(0, 1)", .color = HEED_COLOR_BLUE, .marker = HEED_MARKER_DISC});
    lesson_picture(r, f, "beta");
    heed_terminal how = r->terminal;
    how.title = "squared error of a picture";
    lesson_show(r, heed_terminal_curves(r->cx, &(heed_series){.label = "by beta", .x = kl, .y = error, .n = BETAS}, 1,
                                        &(heed_axes){.x_label = "KL, nats"}, &how));
    lesson_table(r, "beta",
                 (heed_table_column[]){{.name = "beta", .f32 = beta},
                                       {.name = "error", .f32 = error},
                                       {.name = "kl", .f32 = kl},
                                       {.name = "used", .f32 = used},
                                       {.name = "legible_back", .f32 = rebuilt},
                                       {.name = "legible_sampled", .f32 = sampled}},
                 6, BETAS);
}

static void draw_samples(struct lesson_run *r, const struct outcome *o) {
    heed_figure *const f = lesson_figure(r, 640, 560);
    heed_figure_grid(f, BETAS, 1);
    for (int b = 0; b < BETAS; b++) {
        char title[48];
        heed_panel *const p = heed_figure_panel(f, b, 0);
        snprintf(title, sizeof title, b ? "%g" : "Samples from N(0, 1): beta = %g", betas[b]);
        heed_panel_title(p, title);
        heed_panel_images(p, o[b].shown, SHOWN, DIGIT_SIDE, DIGIT_SIDE,
                          &(heed_images){.columns = SHOWN, .map = HEED_MAP_INK, .low = 0, .high = 1});
    }
    lesson_picture(r, f, "beta-samples");
}

static void conclude(struct lesson_run *r, const struct scene *s, const struct outcome *o) {
    const struct outcome *const low = &o[0], *const high = &o[BETAS - 1];
    int best = 0, bound = 0;
    for (int b = 1; b < BETAS; b++) {
        if (o[b].sampled.legible > o[best].sampled.legible) best = b;
        if (o[b].elbo > o[bound].elbo) bound = b;
    }
    if (high->used == 0 && high->error > 0.9 * s->mean_error)
        lesson_say(
            r,
            "At beta = %g none of the %d numbers says anything (%.2f nats in all): whatever it is given, it draws "
            "the same grey mean, with the error %.1f, that of the mean picture being %.1f. This is posterior "
            "collapse: what a number of the code would save in error is less than it costs.",
            betas[BETAS - 1], LATENT, high->kl, high->error, s->mean_error);
    if (low->error < o[best].error && low->sampled.legible < o[best].sampled.legible - 0.05)
        lesson_say(
            r,
            "At beta = %g pictures come back with an error of %.1f from codes of %.0f nats, but these lie far from "
            "N(0, 1): %.0f %% of what is drawn from there is legible. Best for that is %g here, with %.0f %%, "
            "though the error is %.1f.",
            betas[0], low->error, low->kl, 100 * low->sampled.legible, betas[best], 100 * o[best].sampled.legible,
            o[best].error);
    else
        lesson_say(r, "The smallest beta does not bring pictures back better and sample worse, as it should: they "
                      "have learnt too little. --steps says how long to go on.");
    lesson_say(
        r,
        "What is beta? Divided by 2 beta, the loss is -log p(x|z) of normal pixels of variance beta, but for a "
        "constant, and the KL divergence: so beta is how far off a pixel may be. The evidence lower bound on log "
        "p(x) of that model, in nats, is largest at beta = %g, where the error of a pixel is %.4f. A beta near the "
        "error that remains is the one that fits (Rybkin et al. 2021).",
        betas[bound], o[bound].error / DIGIT_PIXELS);
    lesson_result(r, "best_elbo", betas[bound]);
    lesson_result(r, "best_samples", betas[best]);
    lesson_result(r, "mean_error", s->mean_error);
}

static void study(struct lesson_run *r, struct scene *s, struct outcome *o) {
    s->mean_error = error_of_mean(r, s);
    lesson_say(r, "The loss of a variational autoencoder has two sums, and beta says what the second weighs:");
    lesson_line(r, "    m/n sum (x - x')^2 + beta sum (mu^2 + sigma^2 - log sigma^2 - 1)\n");
    lesson_say(
        r,
        "The first wants pictures to come back. The second, twice the KL divergence of N(mu, sigma) from N(0, 1), "
        "wants all pictures to have the same code. With m = 1 and codes of %d numbers, each learns heed's digits in "
        "%lld steps. The error is a sum over 784 pixels, from z = mu + sigma eps; a number of the code is used if "
        "it says more than %.2f nats; a judge says what is legible. The mean picture has an error of %.1f.",
        LATENT, (long long)r->steps, USED, s->mean_error);
    for (int b = 0; b < BETAS; b++) {
        if (!learn(r, s, betas[b], &o[b])) return;
        print_outcome(r, b, &o[b]);
    }
    lesson_line(r, "%s", "");
    draw_curves(r, s, o);
    draw_samples(r, o);
    conclude(r, s, o);
}

static void run(struct lesson_run *r) {
    struct scene *const s = lesson_room(r, 1, sizeof *s);
    struct outcome *const o = lesson_room(r, BETAS, sizeof *o);
    if (!s || !o) return;
    s->mu = lesson_room(r, (int64_t)TESTS * LATENT, sizeof *s->mu);
    s->log_sigma = lesson_room(r, (int64_t)TESTS * LATENT, sizeof *s->log_sigma);
    s->z = lesson_room(r, (int64_t)TESTS * LATENT, sizeof *s->z);
    s->x = lesson_room(r, (int64_t)TESTS * DIGIT_PIXELS, sizeof *s->x);
    if (!heed_failed(r->cx) && digits_open(r, &s->train, &s->test, &s->judge)) study(r, s, o);
    judge_close(r, &s->judge);
}

const struct lesson beta_lesson = {
    .name = "beta",
    .summary = "what beta does in a variational autoencoder: error against KL, and posterior collapse",
    .steps = STEPS,
    .run = run,
};
