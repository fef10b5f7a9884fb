/* From composite photographs (Galton 1878) to attention. A party of five guests, pictures of digits, is remembered as
 * one picture, the weighted sum of theirs; four kinds of weights, side by side on one party. A linear layer then
 * predicts who was there: for each digit yes or no, one of them, the star, with a larger weight in the loss. Noise is
 * added to the memory before it is read. Follows CISC 7026, University of Macau. */
#include "heed/data.h"
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIXELS = 784, SIDE = 28, GUESTS = 5, DIGITS = 10, MEMORIES = 4 };
enum { PICTURES = 3000, PARTIES = 1000, BATCH = 64, STEPS = 800, STAR = 0, GALTON = 200, NOISES = 100 };
#define GAMMA  0.6f
#define NOISE  1.0f
#define MATTER 12.0f /* how much the star matters, beside 1 for each other */

enum memory { COMPOSITE, FORGETTING, SIGMOID, SOFTMAX };
static const char *const names[MEMORIES] = {"composite", "forgetting", "sigmoid", "softmax"};
static const char *const formulas[MEMORIES] = {"1, for everyone", "gamma^(n-i), gamma = 0.6", "sigmoid(theta'x)",
                                               "softmax(theta'x)"};

/* ---- parties ---- */

struct parties {
    int64_t n;
    float *guests; /* (n, GUESTS, PIXELS + 1): a picture and a 1, so that theta has a bias */
    float *there;  /* (n, DIGITS) */
    int *digit;    /* (n, GUESTS) */
};

static const float *picture(const heed_data *d, int64_t i, float *out) {
    for (int k = 0; k < PIXELS; k++) out[k] = (float)d->bytes[i * PIXELS + k] * d->scale + d->shift;
    return out;
}

/* A picture of this digit, the first from a random place on. */
static int64_t find_picture(const heed_data *d, int digit, uint32_t lot) {
    for (int64_t k = 0; k < d->n; k++)
        if (d->label[(lot + (uint64_t)k) % (uint64_t)d->n] == digit)
            return (int64_t)((lot + (uint64_t)k) % (uint64_t)d->n);
    return 0;
}

/* Party number `at` of a stream: five different random digits. With `star_first` the star is met first. */
static void draw_party(const heed_data *d, uint64_t seed, uint64_t stream, int64_t at, bool star_first,
                       const struct parties *p, int64_t to) {
    int64_t order[DIGITS];
    heed_random_permutation(seed, stream * 1000003 + (uint64_t)at, order, DIGITS);
    for (int i = 0; star_first && i < DIGITS; i++)
        if (order[i] == STAR) order[i] = order[0], order[0] = STAR;
    for (int g = 0; g < GUESTS; g++) {
        const int digit = (int)order[g];
        const uint32_t lot = heed_random_bits(seed, stream, (uint64_t)(at * GUESTS + g));
        float *guest = p->guests + (to * GUESTS + g) * (PIXELS + 1);
        picture(d, find_picture(d, digit, lot), guest);
        guest[PIXELS] = 1;
        p->there[to * DIGITS + digit] = 1;
        p->digit[to * GUESTS + g] = digit;
    }
}

static bool parties_room(struct lesson_run *r, int64_t n, struct parties *p) {
    p->n = n;
    p->guests = lesson_room(r, n * GUESTS * (PIXELS + 1), sizeof *p->guests);
    p->there = lesson_room(r, n * DIGITS, sizeof *p->there);
    p->digit = lesson_room(r, n * GUESTS, sizeof *p->digit);
    return !heed_failed(r->cx);
}

/* ---- the four memories ---- */

struct mind {
    enum memory kind;
    heed_params *params;
    heed_param *theta;         /* (1, PIXELS + 1): who is worth attention */
    heed_linear_layer readout; /* who was there */
    heed_trainer *trainer;
};

struct outcome {
    float *loss;                          /* of every step */
    float weights[GUESTS], image[PIXELS]; /* on the party that is shown */
    double star, star_first, others;      /* how often right about them */
    double star_weight, least_weight;     /* means over parties where the star comes first: its own, the smallest */
};

/* guests (n, GUESTS, PIXELS + 1) -> memory (n, 1, PIXELS), and its weights (n, 1, GUESTS) */
static heed_tensor *remember(heed_ctx *cx, const struct mind *m, heed_tensor *guests, heed_tensor **weights) {
    const int64_t n = heed_dim(guests, 0);
    heed_tensor *pictures = heed_slice(cx, guests, 2, 0, PIXELS);
    if (m->kind == COMPOSITE || m->kind == FORGETTING) {
        float fixed[GUESTS];
        for (int i = 0; i < GUESTS; i++) fixed[i] = m->kind == COMPOSITE ? 1 : powf(GAMMA, (float)(GUESTS - 1 - i));
        *weights =
            heed_expand(cx, heed_from_f32(cx, fixed, 3, (int64_t[]){1, 1, GUESTS}), 3, (int64_t[]){n, 1, GUESTS});
        return heed_matmul(cx, *weights, pictures);
    }
    heed_tensor *theta = heed_expand(cx, heed_param_tensor(cx, m->theta), 3, (int64_t[]){n, 1, PIXELS + 1});
    return heed_attention_pool(cx, theta, guests, pictures, &(heed_score_opts){.kind = HEED_SCORE_DOT},
                               m->kind == SIGMOID ? HEED_NORMALISE_SIGMOID : HEED_NORMALISE_SOFTMAX, NULL, weights);
}

static heed_tensor *recall(heed_ctx *cx, const struct mind *m, const struct parties *p, int64_t n, const float *noise,
                           heed_tensor **weights) {
    heed_tensor *guests = heed_from_f32(cx, p->guests, 3, (int64_t[]){n, GUESTS, PIXELS + 1});
    heed_tensor *vague = heed_from_f32(cx, noise, 3, (int64_t[]){n, 1, PIXELS});
    heed_tensor *memory = heed_add(cx, remember(cx, m, guests, weights), heed_affine(cx, vague, NOISE, 0));
    return heed_reshape(cx, heed_linear_run(cx, &m->readout, memory, HEED_ACT_NONE), 2, (int64_t[]){n, DIGITS});
}

static bool open_mind(struct lesson_run *r, enum memory kind, struct mind *m) {
    heed_ctx *cx = r->cx;
    m->kind = kind;
    m->params = heed_params_new(cx);
    m->theta =
        heed_param_add(cx, m->params, "", "theta", 2, (int64_t[]){1, PIXELS + 1}, (heed_init){HEED_INIT_ZEROS, 0, 0});
    if (!m->theta || !heed_linear_make(cx, m->params, "readout", PIXELS, DIGITS, true, &m->readout) ||
        !heed_params_allocate(cx, m->params) || !heed_params_init(cx, m->params, r->seed))
        return false;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.002, .steps = r->steps}};
    m->trainer = heed_trainer_new(cx, m->params, &opts);
    return m->trainer;
}

static bool learn(struct lesson_run *r, const heed_data *d, struct mind *m, float *loss) {
    heed_ctx *cx = r->cx;
    struct parties p;
    float matter[DIGITS], *noises = lesson_room(r, NOISES * BATCH * PIXELS, sizeof *noises);
    if (!noises || !parties_room(r, BATCH, &p)) return false;
    heed_random_normal(r->seed, 2, 0, noises, NOISES * BATCH * PIXELS);
    for (int i = 0; i < DIGITS; i++) matter[i] = (i == STAR ? MATTER : 1) / (MATTER + DIGITS - 1);
    for (int64_t step = 0; step < r->steps && !heed_failed(cx); step++) {
        memset(p.there, 0, BATCH * DIGITS * sizeof *p.there);
        for (int64_t i = 0; i < BATCH; i++) draw_party(d, r->seed, 1, step * BATCH + i, false, &p, i);
        const float *noise = noises + step % NOISES * BATCH * PIXELS;
        heed_trainer_begin(cx, m->trainer);
        heed_tensor *there = heed_from_f32(cx, p.there, 2, (int64_t[]){BATCH, DIGITS});
        heed_tensor *weights;
        heed_tensor *each = heed_bce_loss(cx, recall(cx, m, &p, BATCH, noise, &weights), there, HEED_REDUCE_NONE);
        each = heed_mul(cx, each, heed_from_f32(cx, matter, 1, (int64_t[]){DIGITS}));
        heed_tensor *sum = heed_affine(cx, heed_sum(cx, each, NULL, 0, false), 1.0f / BATCH, 0);
        loss[step] = lesson_learn(cx, m->trainer, sum);
        if (step % 16 == 0) lesson_progress(r, names[m->kind], step, r->steps);
    }
    lesson_progress(r, "", 1, 1);
    return !heed_failed(cx);
}

/* Weights (PARTIES, GUESTS) of parties at which the star comes first. */
static void weigh(const float *weights, struct outcome *o) {
    for (int64_t i = 0; weights && i < PARTIES; i++) {
        float least = weights[i * GUESTS];
        for (int g = 1; g < GUESTS; g++) least = fminf(least, weights[i * GUESTS + g]);
        o->star_weight += (double)weights[i * GUESTS] / PARTIES;
        o->least_weight += (double)least / PARTIES;
    }
}

/* How often it is right about the star and about the others, on parties it has not seen; whom it attends to. */
static bool examine(struct lesson_run *r, const heed_data *d, const struct mind *m, bool star_first,
                    struct outcome *o) {
    double *star = star_first ? &o->star_first : &o->star, others = 0;
    heed_ctx *cx = r->cx;
    struct parties p;
    float *noise = lesson_room(r, (int64_t)PARTIES * PIXELS, sizeof *noise);
    if (!noise || !parties_room(r, PARTIES, &p)) return false;
    for (int64_t i = 0; i < PARTIES; i++) draw_party(d, r->seed, 3, i, star_first, &p, i);
    heed_random_normal(r->seed, 4, 0, noise, (int64_t)PARTIES * PIXELS);
    heed_set_grad(cx, false);
    heed_tensor *weights = NULL;
    const float *logits = heed_f32(recall(cx, m, &p, PARTIES, noise, &weights));
    *star = 0;
    for (int64_t i = 0; logits && i < PARTIES * DIGITS; i++) {
        const bool right = (logits[i] > 0) == (p.there[i] > 0);
        *(i % DIGITS == STAR ? star : &others) += right;
    }
    *star /= PARTIES;
    if (star_first)
        weigh(heed_f32(heed_contiguous(cx, weights)), o);
    else
        o->others = others / (PARTIES * (DIGITS - 1));
    heed_reset(cx);
    heed_set_grad(cx, true);
    return !heed_failed(cx);
}

static bool try_memory(struct lesson_run *r, const heed_data *train, const heed_data *test, const struct parties *shown,
                       enum memory kind, struct outcome *o) {
    heed_ctx *cx = r->cx;
    struct mind m = {.params = NULL};
    o->loss = lesson_room(r, r->steps, sizeof *o->loss);
    bool ok = o->loss && open_mind(r, kind, &m) && learn(r, train, &m, o->loss) && examine(r, test, &m, false, o) &&
              examine(r, test, &m, true, o);
    if (ok) {
        heed_tensor *weights, *guests = heed_from_f32(cx, shown->guests, 3, (int64_t[]){1, GUESTS, PIXELS + 1});
        heed_tensor *memory = remember(cx, &m, guests, &weights);
        ok = heed_copy_f32(cx, memory, o->image, PIXELS) && heed_copy_f32(cx, weights, o->weights, GUESTS);
        heed_reset(cx);
    }
    heed_trainer_free(cx, m.trainer);
    heed_params_free(cx, m.params);
    return ok;
}

/* ---- Galton ---- */

/* Composite photographs: the mean of many pictures of the same digit. */
static void composites(struct lesson_run *r, const heed_data *d) {
    float *images = lesson_room(r, DIGITS * PIXELS, sizeof *images), one[PIXELS];
    static const char *const titles[DIGITS] = {"digit 0", "digit 1", "digit 2", "digit 3", "digit 4",
                                               "digit 5", "digit 6", "digit 7", "digit 8", "digit 9"};
    if (!images) return;
    for (int digit = 0; digit < DIGITS; digit++) {
        int count = 0;
        for (int64_t i = 0; i < d->n && count < GALTON; i++) {
            if (d->label[i] != digit) continue;
            picture(d, i, one);
            for (int k = 0; k < PIXELS; k++) images[digit * PIXELS + k] += one[k] / GALTON;
            count++;
        }
    }
    lesson_say(r,
               "Francis Galton (1878) superimposed portraits: a composite photograph keeps what all have in common. "
               "%d threes, and %d sevens, as one picture each:",
               GALTON, GALTON);
    const float pair[2] = {3, 7};
    float *two = lesson_room(r, 2 * PIXELS, sizeof *two);
    if (!two) return;
    for (int k = 0; k < 2; k++) memcpy(two + k * PIXELS, images + (int)pair[k] * PIXELS, PIXELS * sizeof *two);
    lesson_show(r, heed_terminal_images(r->cx, two, 2, SIDE, SIDE, &(heed_images){.map = HEED_MAP_GREY}, &r->terminal));
    heed_figure *f = lesson_figure(r, 560, 250);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Composite photographs: 200 pictures of each digit");
    heed_panel_images(p, images, DIGITS, SIDE, SIDE,
                      &(heed_images){.columns = 5, .map = HEED_MAP_INK, .titles = titles});
    lesson_picture(r, f, "memory-composites");
    heed_table_column columns[DIGITS]; /* a row for each pixel */
    for (int k = 0; k < DIGITS; k++) columns[k] = (heed_table_column){.name = titles[k], .f32 = images + k * PIXELS};
    lesson_table(r, "memory-composites", columns, DIGITS, PIXELS);
}

/* ---- words and pictures ---- */

static void print_outcomes(struct lesson_run *r, const struct parties *shown, const struct outcome *o) {
    char text[GUESTS * 10 + 1];
    int at = 0;
    for (int g = 0; g < GUESTS; g++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%6d%s", shown->digit[g],
                       shown->digit[g] == STAR ? "*" : " ");
    lesson_line(r, "%-10s %-24s %s %6s", "memory", "weight of guest i", text, "sum");
    for (int k = 0; k < MEMORIES; k++) {
        double sum = 0;
        at = 0;
        for (int g = 0; g < GUESTS; g++) {
            at += snprintf(text + at, sizeof text - (size_t)at, "%6.2f ", (double)o[k].weights[g]);
            sum += (double)o[k].weights[g];
        }
        lesson_line(r, "%-10s %-24s %s %6.2f", names[k], formulas[k], text, sum);
    }
    lesson_line(r, "\n%-11s %20s %20s %20s", "right about", "the star", "the star, met first", "the others");
    lesson_line(r, "%-11s %18.1f %% %18.1f %% %18.1f %%", "by chance", 50.0, 50.0, 50.0);
    for (int k = 0; k < MEMORIES; k++) {
        char name[40];
        lesson_line(r, "%-11s %18.1f %% %18.1f %% %18.1f %%", names[k], 100 * o[k].star, 100 * o[k].star_first,
                    100 * o[k].others);
        snprintf(name, sizeof name, "%s_star", names[k]);
        lesson_result(r, name, o[k].star);
        snprintf(name, sizeof name, "%s_star_first", names[k]);
        lesson_result(r, name, o[k].star_first);
        snprintf(name, sizeof name, "%s_others", names[k]);
        lesson_result(r, name, o[k].others);
        snprintf(name, sizeof name, "%s_weight_of_star", names[k]);
        lesson_result(r, name, (double)o[k].weights[0]);
        double least = HUGE_VAL, sum = 0;
        for (int g = 0; g < GUESTS; g++) least = fmin(least, (double)o[k].weights[g]), sum += (double)o[k].weights[g];
        snprintf(name, sizeof name, "%s_least_weight", names[k]);
        lesson_result(r, name, least);
        snprintf(name, sizeof name, "%s_sum", names[k]);
        lesson_result(r, name, sum);
    }
    lesson_line(r, "%s", "");
}

static void draw(struct lesson_run *r, const struct parties *shown, const struct outcome *o) {
    enum { SHOWN = GUESTS + 1 };
    float *images = lesson_room(r, SHOWN * PIXELS, sizeof *images),
          *last = lesson_room(r, MEMORIES * PIXELS, sizeof *last);
    if (!images || !last) return;
    heed_figure *f = lesson_figure(r, 620, 560);
    heed_figure_grid(f, MEMORIES, 1);
    for (int k = 0; k < MEMORIES; k++) { /* the guests, each as bright as it is remembered, and what is left of them */
        char text[SHOWN][32], title[64];
        const char *titles[SHOWN];
        float brightest = 0, most = 0;
        for (int g = 0; g < GUESTS; g++) brightest = fmaxf(brightest, o[k].weights[g]);
        for (int i = 0; i < PIXELS; i++) most = fmaxf(most, o[k].image[i]);
        for (int g = 0; g < GUESTS; g++) {
            for (int i = 0; i < PIXELS; i++)
                images[g * PIXELS + i] =
                    shown->guests[g * (PIXELS + 1) + i] * o[k].weights[g] / fmaxf(brightest, 1e-9f);
            snprintf(text[g], sizeof text[g], "%.2f%s", (double)o[k].weights[g],
                     shown->digit[g] == STAR ? " (star)" : "");
        }
        for (int i = 0; i < PIXELS; i++) {
            images[GUESTS * PIXELS + i] = o[k].image[i] / fmaxf(most, 1e-9f);
            last[k * PIXELS + i] = o[k].image[i] / fmaxf(most, 1e-9f);
        }
        snprintf(text[GUESTS], sizeof text[GUESTS], "the memory");
        for (int g = 0; g < SHOWN; g++) titles[g] = text[g];
        snprintf(title, sizeof title, "%s: %s", names[k], formulas[k]);
        heed_panel *p = heed_figure_panel(f, k, 0);
        heed_panel_title(p, title);
        heed_panel_images(p, images, SHOWN, SIDE, SIDE,
                          &(heed_images){.columns = SHOWN, .map = HEED_MAP_INK, .high = 1, .titles = titles});
    }
    lesson_picture(r, f, "memory");
    lesson_show(r, heed_terminal_images(r->cx, last, MEMORIES, SIDE, SIDE,
                                        &(heed_images){.columns = 2, .map = HEED_MAP_GREY, .high = 1, .titles = names},
                                        &r->terminal));
    float *step = lesson_room(r, r->steps, sizeof *step);
    if (!step) return;
    for (int64_t i = 0; i < r->steps; i++) step[i] = (float)i;
    float guest[GUESTS], digit[GUESTS];
    for (int g = 0; g < GUESTS; g++) guest[g] = (float)(g + 1), digit[g] = (float)shown->digit[g];
    heed_table_column weights[2 + MEMORIES] = {{.name = "guest", .f32 = guest}, {.name = "digit", .f32 = digit}};
    heed_table_column losses[1 + MEMORIES] = {{.name = "step", .f32 = step}};
    for (int k = 0; k < MEMORIES; k++) {
        weights[2 + k] = (heed_table_column){.name = names[k], .f32 = o[k].weights};
        losses[1 + k] = (heed_table_column){.name = names[k], .f32 = o[k].loss};
    }
    lesson_table(r, "memory", weights, 2 + MEMORIES, GUESTS);
    lesson_table(r, "memory-loss", losses, 1 + MEMORIES, r->steps);
}

static void conclude(struct lesson_run *r, const struct outcome *o) {
    const struct outcome *all = &o[COMPOSITE], *fading = &o[FORGETTING], *open = &o[SIGMOID], *finite = &o[SOFTMAX];
    const bool everyone = open->least_weight > 0.7, star = finite->star_weight > 0.4;
    lesson_say(r,
               "Each digit comes to half of the parties, so that a coin is right half of the time. Composite: all "
               "weights are equal. Forgetting: the first guests fade, even the star: met first, it is remembered %.0f "
               "%% of the time, where the composite remembers it %.0f %%.",
               100 * fading->star_first, 100 * all->star_first);
    lesson_say(r,
               "Sigmoid: a weight is learnt for each guest, and attention costs nothing. The guest with the least "
               "attention at a party still has a weight of %.2f on average%s.",
               open->least_weight,
               everyone ? ": with so much noise more is always better, and it learns to attend to everyone, the "
                          "composite again"
                        : ", less than everyone's in the composite");
    lesson_say(r,
               "Softmax: the weights sum to 1, so attention is finite. The star has %.2f of it on average, an equal "
               "share being %.2f%s. It is right about the star %.0f %% of the time and about the others %.0f %%; the "
               "composite %.0f %% and %.0f %%. All later lessons use this attention.",
               finite->star_weight, 1.0 / GUESTS,
               star ? ": it goes to the guest that matters, at the price of the others" : ": it has not found it yet",
               100 * finite->star, 100 * finite->others, 100 * all->star, 100 * all->others);
    lesson_result(r, "softmax_mean_weight_of_star", finite->star_weight);
    lesson_result(r, "sigmoid_mean_least_weight", open->least_weight);
}

static void study(struct lesson_run *r, const heed_data *train, const heed_data *test) {
    struct parties shown;
    struct outcome *o = lesson_room(r, MEMORIES, sizeof *o);
    if (!o || !parties_room(r, 1, &shown)) return;
    draw_party(test, r->seed, 5, 0, true, &shown, 0);
    composites(r, train);
    lesson_say(
        r,
        "Memory as such a photograph: you meet guests x_1 ... x_n at a party and keep one picture, the weighted sum of "
        "theirs, with noise added. Asked afterwards, for each digit: was it there? One digit, the %d, is a star and "
        "counts %.0f times as much in the loss as any other. Four kinds of weights; the readout, and theta where there "
        "is one, are learnt.",
        STAR, (double)MATTER);
    for (int k = 0; k < MEMORIES; k++)
        if (!try_memory(r, train, test, &shown, (enum memory)k, &o[k])) return;
    lesson_line(r, "A party at which the star (*) is met first:\n");
    print_outcomes(r, &shown, o);
    draw(r, &shown, o);
    conclude(r, o);
    lesson_say(r,
               "Here theta is always the same. When it depends on the question, it becomes a query: '%s lesson "
               "keys-and-queries'.",
               r->program);
}

static void run(struct lesson_run *r) {
    heed_data *train = heed_data_digits(r->cx, r->seed, PICTURES),
              *test = heed_data_digits(r->cx, r->seed + 1000003, PICTURES);
    if (train && test) study(r, train, test);
    heed_data_free(r->cx, train);
    heed_data_free(r->cx, test);
}

const struct lesson memory_lesson = {
    .name = "memory",
    .summary = "a party remembered: composite, forgetting, sigmoid that attends to everyone, softmax",
    .steps = STEPS,
    .run = run,
};
