/* Digits, small autoencoders that learn them, and a judge: see autoencoders.h. */
#include "lessons/autoencoders.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 128, JUDGE_STEPS = 1500, QUICK = 500, JUDGE_HIDDEN = 128, ANSWERS = DIGIT_KINDS + 1 };
enum { ROWS = 801, CORRUPTION, JUDGE_ROWS, JUDGE_DICE, JUDGE_NOISE }; /* streams of random numbers */

static bool digits_draw(struct lesson_run *r, uint64_t seed, int64_t n, struct digit_set *d) {
    heed_data *const data = heed_data_digits(r->cx, seed, n);
    *d = (struct digit_set){n, lesson_room(r, n * DIGIT_PIXELS, sizeof *d->x), lesson_room(r, n, sizeof *d->label)};
    if (data && d->x && d->label) {
        for (int64_t i = 0; i < n * DIGIT_PIXELS; i++) d->x[i] = (float)data->bytes[i] * data->scale;
        memcpy(d->label, data->label, (size_t)n * sizeof *d->label);
    }
    heed_data_free(r->cx, data);
    return !heed_failed(r->cx);
}

static heed_trainer *new_trainer(heed_ctx *cx, heed_params *params, double lr, int64_t steps) {
    return heed_trainer_new(
        cx, params,
        &(heed_trainer_opts){.optimizer = {.kind = HEED_ADAMW, .weight_decay = 1e-4},
                             .schedule = {.kind = HEED_COSINE, .lr = lr, .warmup = steps / 20, .steps = steps},
                             .clip = 5});
}

/* Which rows of n the batch of this step has. */
static void draw_rows(uint64_t seed, uint64_t stream, int64_t step, int64_t n, int64_t rows[BATCH]) {
    for (int64_t i = 0; i < BATCH; i++)
        rows[i] = (int64_t)(heed_random_bits(seed, stream, (uint64_t)(step * BATCH + i)) * 0x1p-32 * (double)n);
}

/* ---- autoencoders ---- */

heed_model *autoencoder_new(struct lesson_run *r, const struct autoencoder_opts *o) {
    char latent[48], beta[48];
    const char *const settings[] = {"image_size=28", "num_channels=1", "hidden_sizes=256,128", latent, beta};
    const heed_family *const family = heed_family_find(o->variational ? "vae" : "autoencoder");
    snprintf(latent, sizeof latent, "latent_size=%lld", (long long)o->latent);
    snprintf(beta, sizeof beta, "beta=%g", o->beta);
    return heed_model_new(r->cx, family, settings, o->variational ? 5 : 4, r->seed);
}

bool autoencoder_learn(struct lesson_run *r, heed_model *model, const struct autoencoder_course *c) {
    heed_ctx *const cx = r->cx;
    heed_coder of;
    if (!heed_coder_of(cx, model, &of)) return false;
    const heed_corruption *const how = &c->corruption;
    const bool denoises = how->noise > 0 || how->mask > 0;
    const int64_t shape[] = {BATCH, of.channels, of.height, of.width};
    float *const clean = lesson_room(r, BATCH * of.numbers, sizeof *clean);
    float *const given = lesson_room(r, BATCH * of.numbers, sizeof *given);
    heed_trainer *const t = new_trainer(cx, heed_model_params(model), c->lr > 0 ? c->lr : 3e-3, c->steps);
    int64_t rows[BATCH];
    heed_set_training(cx, true);
    for (int64_t step = 0; t && clean && given && step < c->steps && !heed_failed(cx); step++) {
        heed_io in = {.loss_only = true}, out = {0};
        draw_rows(r->seed, ROWS, step, c->n, rows);
        for (int64_t i = 0; i < BATCH; i++) {
            const float *const x = c->x + rows[i] * of.numbers;
            memcpy(clean + i * of.numbers, x, (size_t)of.numbers * sizeof *x);
            heed_corrupt(how, r->seed, CORRUPTION, step * BATCH + i, of.numbers, x, given + i * of.numbers);
        }
        heed_trainer_begin(cx, t);
        heed_io_put(cx, &in, "pixel_values", heed_from_f32(cx, denoises ? given : clean, 4, shape));
        if (denoises) heed_io_put(cx, &in, "target", heed_from_f32(cx, clean, 4, shape));
        if (heed_failed(cx) || !heed_model_forward(cx, model, &in, &out)) break;
        lesson_learn(cx, t, heed_io_get(&out, "loss"));
        if (step % 16 == 0) lesson_progress(r, c->what, step, c->steps);
    }
    lesson_progress(r, "", 1, 1);
    heed_set_training(cx, false);
    heed_trainer_free(cx, t);
    return !heed_failed(cx);
}

double autoencoder_error(const float *x, const float *y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n * DIGIT_PIXELS; i++) sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return sum / (double)n;
}

/* ---- the judge ---- */

static void blur(float *x) {
    float sharp[DIGIT_PIXELS];
    memcpy(sharp, x, sizeof sharp);
    for (int row = 1; row < DIGIT_SIDE - 1; row++)
        for (int column = 1; column < DIGIT_SIDE - 1; column++) {
            float sum = 0;
            for (int k = 0; k < 9; k++) sum += sharp[(row + k / 3 - 1) * DIGIT_SIDE + column + k % 3 - 1];
            x[row * DIGIT_SIDE + column] = sum / 9;
        }
}

/* Example i, a digit or none. Every third is none: two digits, four quarters, or noise. */
static int32_t draw_example(struct lesson_run *r, const struct digit_set *d, int64_t i, int64_t row, float *x) {
    enum { HALF = DIGIT_SIDE / 2, DICE = 8 };
    float dice[DICE], noise[DIGIT_PIXELS];
    const float *other[4];
    int32_t label = d->label[row];
    heed_random_uniform(r->seed, JUDGE_DICE, (uint64_t)(i * DICE), dice, DICE);
    for (int k = 0; k < 4; k++) other[k] = d->x + (int64_t)(dice[k] * (float)d->n) * DIGIT_PIXELS;
    memcpy(x, d->x + row * DIGIT_PIXELS, DIGIT_PIXELS * sizeof *x);
    if (i % 3 == 0 && dice[4] < 0.3f) {
        heed_random_normal(r->seed, JUDGE_NOISE, (uint64_t)(i * DIGIT_PIXELS), noise, DIGIT_PIXELS);
        for (int k = 0; k < DIGIT_PIXELS; k++)
            x[k] = fminf(fmaxf(x[k] * dice[5] + 0.3f * dice[6] + 0.8f * dice[7] * noise[k], 0), 1);
        label = NO_DIGIT;
    } else if (i % 6 == 0) {
        for (int k = 0; k < DIGIT_PIXELS; k++) x[k] = other[k / DIGIT_SIDE / HALF * 2 + k % DIGIT_SIDE / HALF][k];
        label = NO_DIGIT;
    } else if (i % 6 == 3 && d->label[(other[0] - d->x) / DIGIT_PIXELS] != label) {
        const float part = 0.35f + 0.3f * dice[5];
        for (int k = 0; k < DIGIT_PIXELS; k++) x[k] = part * other[0][k] + (1 - part) * x[k];
        label = NO_DIGIT;
    }
    for (int64_t times = i % 4; times > 0 && times < 3; times--) blur(x);
    return label;
}

static bool judge_learn(struct lesson_run *r, const struct digit_set *d, struct judge *j) {
    heed_ctx *const cx = r->cx;
    const int64_t sizes[] = {DIGIT_PIXELS, JUDGE_HIDDEN, ANSWERS};
    float *const x = lesson_room(r, (int64_t)BATCH * DIGIT_PIXELS, sizeof *x);
    int64_t rows[BATCH];
    int32_t labels[BATCH];
    const int64_t steps = r->steps < QUICK ? r->steps : JUDGE_STEPS;
    *j = (struct judge){.params = heed_params_new(cx)};
    if (!x || !heed_mlp_make(cx, j->params, "layers", sizes, 2, HEED_ACT_RELU, 0, &j->mlp) ||
        !heed_params_allocate(cx, j->params) || !heed_params_init(cx, j->params, r->seed))
        return false;
    heed_trainer *const t = new_trainer(cx, j->params, 3e-3, steps);
    for (int64_t step = 0; t && step < steps && !heed_failed(cx); step++) {
        draw_rows(r->seed, JUDGE_ROWS, step, d->n, rows);
        for (int64_t i = 0; i < BATCH; i++)
            labels[i] = draw_example(r, d, step * BATCH + i, rows[i], x + i * DIGIT_PIXELS);
        heed_trainer_begin(cx, t);
        heed_tensor *const logits =
            heed_mlp_run(cx, &j->mlp, heed_from_f32(cx, x, 2, (int64_t[]){BATCH, DIGIT_PIXELS}));
        lesson_learn(cx, t, heed_cross_entropy(cx, logits, heed_from_i32(cx, labels, 1, (int64_t[]){BATCH}), NULL));
        if (step % 16 == 0) lesson_progress(r, "the judge learns", step, steps);
    }
    lesson_progress(r, "", 1, 1);
    heed_trainer_free(cx, t);
    return !heed_failed(cx);
}

bool digits_open(struct lesson_run *r, struct digit_set *train, struct digit_set *test, struct judge *j) {
    return digits_draw(r, r->seed, DIGIT_EXAMPLES, train) && digits_draw(r, r->seed + 1000003, DIGIT_TESTS, test) &&
           judge_learn(r, train, j);
}

void judge_close(struct lesson_run *r, struct judge *j) {
    heed_params_free(r->cx, j->params);
    j->params = NULL;
}

static struct verdict sum_up(const int64_t *count, int64_t n) {
    const double legible = (double)(n - count[NO_DIGIT]);
    double entropy = 0;
    for (int k = 0; k < DIGIT_KINDS; k++)
        if (count[k] > 0) entropy -= (double)count[k] / legible * log2((double)count[k] / legible);
    return (struct verdict){legible / (double)n, legible > 0 ? exp2(entropy) : 0};
}

bool judge_ask(struct lesson_run *r, const struct judge *j, const float *x, int64_t n, int32_t *answers,
               struct verdict *v) {
    heed_ctx *const cx = r->cx;
    int64_t count[ANSWERS] = {0};
    heed_set_grad(cx, false);
    for (int64_t at = 0; at < n && !heed_failed(cx); at += BATCH) {
        const int64_t some = n - at < BATCH ? n - at : BATCH;
        heed_tensor *const in = heed_from_f32(cx, x + at * DIGIT_PIXELS, 2, (int64_t[]){some, DIGIT_PIXELS});
        const float *const logits = heed_f32(heed_mlp_run(cx, &j->mlp, in));
        for (int64_t i = 0; logits && i < some; i++) {
            const int64_t answer = lesson_winner(logits + i * ANSWERS, ANSWERS);
            if (answers) answers[at + i] = (int32_t)answer;
            count[answer]++;
        }
        heed_reset(cx);
    }
    heed_set_grad(cx, true);
    *v = sum_up(count, n);
    return !heed_failed(cx);
}

double judge_blends(struct lesson_run *r, const struct judge *j, const struct digit_set *d) {
    float *const x = lesson_room(r, d->n * DIGIT_PIXELS, sizeof *x);
    struct verdict v;
    int64_t n = 0;
    for (int64_t i = 0; x && i + 1 < d->n; i++) {
        const float *const a = d->x + i * DIGIT_PIXELS, *const b = a + DIGIT_PIXELS;
        if (d->label[i] == d->label[i + 1]) continue;
        for (int k = 0; k < DIGIT_PIXELS; k++) x[n * DIGIT_PIXELS + k] = 0.5f * (a[k] + b[k]);
        n++;
    }
    return x && judge_ask(r, j, x, n, NULL, &v) ? v.legible : 0;
}
