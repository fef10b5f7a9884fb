/* Writing with a network: each point is drawn from what it says of the next one, and given to it in turn. A beginning
 * is read first, so that its states know the style to go on in. */
#include "base/ctx.h"
#include "heed/attend.h"
#include "task/handwriting/handwriting.h"
#include <math.h>
#include <string.h>

#define STANDARD_POINTS 400
#define FARTHEST        1e9 /* of a step; beyond the network has lost its way */

/* A network at work: the states that it carries from point to point. */
struct hand {
    heed_ctx *cx;
    const heed_model *model;
    const heed_handwrite_opts *o;
    int64_t layers, units, mixtures;
    heed_ids text; /* with the 0 of its end; none: the model takes no text */
    int64_t windows, characters;
    float *state, *cell, *kappa, *window; /* zeros at first */
    float *logits;                        /* (6 M + 1) of the point that follows */
    bool passed;                          /* the window is behind the text */
    float mean[2], deviation[2];          /* of the steps */
};

const char *heed_handwriting_text(heed_ctx *cx, const heed_model *model) {
    const heed_json config = heed_model_config(model);
    return model && heed_model_takes(model, "text") ? heed_json_text(cx, config, "characters") : NULL;
}

/* ---- states ---- */

static bool take_text(struct hand *h) {
    heed_ctx *const cx = h->cx;
    const char *const characters = heed_handwriting_text(cx, h->model);
    if (!characters)
        return !heed_failed(cx) &&
               (!h->o->text || heed_fail(cx, HEED_ERR_USAGE, "the model has not learnt texts, only to go on writing"));
    if (!h->o->text || !*h->o->text) return heed_fail(cx, HEED_ERR_USAGE, "the model writes a text, and needs one");
    if (h->o->given > 0 && !(h->o->beginning_text && *h->o->beginning_text))
        return heed_fail(cx, HEED_ERR_USAGE, "the model needs to know what the beginning says, its \"text\"");
    h->windows = heed_json_int(cx, heed_model_config(h->model), "num_windows");
    h->characters = heed_params_find(heed_model_params(h->model), "rnn.0.weight_ih_l0")->shape[1] - 3;
    return !heed_failed(cx) &&
           (h->o->given == 0 || handwriting_encode(cx, characters, h->o->beginning_text, &h->text)) &&
           handwriting_encode(cx, characters, h->o->text, &h->text) && heed_ids_put(cx, &h->text, 0);
}

static bool begin(struct hand *h) {
    heed_ctx *const cx = h->cx;
    const heed_json config = heed_model_config(h->model);
    const heed_params *const params = heed_model_params(h->model);
    h->layers = heed_json_int(cx, config, "num_layers");
    h->units = heed_json_int(cx, config, "hidden_size");
    h->mixtures = heed_json_int(cx, config, "num_mixtures");
    const heed_tensor *const mean = heed_param_tensor(cx, heed_params_find(params, "offset_mean"));
    const heed_tensor *const deviation = heed_param_tensor(cx, heed_params_find(params, "offset_deviation"));
    if (heed_failed(cx) || !take_text(h)) return false;
    memcpy(h->mean, heed_f32(mean), sizeof h->mean);
    memcpy(h->deviation, heed_f32(deviation), sizeof h->deviation);
    const int64_t sizes[] = {h->layers * h->units, h->layers * h->units, h->windows, h->characters,
                             6 * h->mixtures + 1};
    int64_t total = 0;
    for (int i = 0; i < 5; i++) total += sizes[i];
    float *const block = heed_mem_new(cx, (size_t)total * sizeof *block);
    if (!block) return false;
    memset(block, 0, (size_t)total * sizeof *block);
    h->state = block;
    h->cell = h->state + sizes[0];
    h->kappa = h->cell + sizes[1];
    h->window = h->kappa + sizes[2];
    h->logits = h->window + sizes[3];
    return true;
}

static void end(struct hand *h) {
    heed_mem_free(h->cx, h->state);
    heed_ids_free(h->cx, &h->text);
}

/* ---- reading points ---- */

static void keep(float *to, const heed_io *out, const char *name, int64_t n) {
    const heed_tensor *const t = heed_io_get(out, name);
    if (t && n > 0) memcpy(to, heed_f32(t), (size_t)n * sizeof *to);
}

/* Whether the end of the text is seen more than any character of it (section 5.3). */
static bool passed(const struct hand *h, const heed_io *out, int64_t n) {
    const heed_tensor *const t = heed_io_get(out, "window_weights");
    if (!t) return false;
    const int64_t U = h->text.count;
    const float *const phi = heed_f32(t) + (n - 1) * U;
    for (int64_t u = 0; u < U - 1; u++)
        if (phi[u] >= phi[U - 1]) return false;
    return true;
}

/* n points, one after the other; afterwards logits are of the one behind them. */
static bool read_points(struct hand *h, const float *points, int64_t n) {
    heed_ctx *const cx = h->cx;
    heed_io in = {0}, out = {0};
    const int64_t states[] = {h->layers, 1, h->units}, width = 6 * h->mixtures + 1;
    heed_io_put(cx, &in, "strokes", heed_from_f32(cx, points, 3, (int64_t[]){1, n, 3}));
    heed_io_put(cx, &in, "state", heed_from_f32(cx, h->state, 3, states));
    heed_io_put(cx, &in, "cell", heed_from_f32(cx, h->cell, 3, states));
    if (h->text.count > 0) {
        heed_io_put(cx, &in, "text", heed_from_i32(cx, h->text.id, 2, (int64_t[]){1, h->text.count}));
        heed_io_put(cx, &in, "kappa", heed_from_f32(cx, h->kappa, 2, (int64_t[]){1, h->windows}));
        heed_io_put(cx, &in, "window", heed_from_f32(cx, h->window, 2, (int64_t[]){1, h->characters}));
    }
    if (heed_failed(cx) || !heed_model_forward(cx, h->model, &in, &out)) return false;
    keep(h->state, &out, "state", h->layers * h->units);
    keep(h->cell, &out, "cell", h->layers * h->units);
    keep(h->kappa, &out, "kappa", h->windows);
    keep(h->window, &out, "window", h->characters);
    memcpy(h->logits, heed_f32(heed_io_get(&out, "logits")) + (n - 1) * width, (size_t)width * sizeof *h->logits);
    h->passed = passed(h, &out, n);
    heed_reset(cx);
    return !heed_cancelled(cx);
}

/* ---- drawing a point ---- */

static double held(double v, double most) { return v < -most ? -most : v > most ? most : v; }

/* One of the densities, by its weight: softmax of w (1 + bias), with u uniform. */
static int64_t choose(const struct hand *h, double u) {
    const float *const w = h->logits + 1;
    double most = (double)w[0], sum = 0;
    for (int64_t j = 1; j < h->mixtures; j++) most = fmax(most, (double)w[j]);
    for (int64_t j = 0; j < h->mixtures; j++) sum += exp(((double)w[j] - most) * (1 + h->o->bias));
    for (int64_t j = 0; j < h->mixtures; j++)
        if ((u -= exp(((double)w[j] - most) * (1 + h->o->bias)) / sum) < 0) return j;
    return h->mixtures - 1;
}

/* Point `t` of the sample, by the densities of mixture_loss, deviations exp(s - bias). */
static bool draw_point(const struct hand *h, int64_t t, float *point) {
    const int64_t m = h->mixtures;
    const uint64_t stream = 2 * (uint64_t)h->o->number;
    float uniform[2], normal[2];
    heed_random_uniform(h->o->seed, stream, 2 * (uint64_t)t, uniform, 2);
    heed_random_normal(h->o->seed, stream + 1, 2 * (uint64_t)t, normal, 2);
    const float *const y = h->logits + 1 + choose(h, (double)uniform[0]);
    const double r = held((double)y[5 * m], 6), z1 = (double)normal[0], z2 = (double)normal[1];
    const double step[2] = {(double)y[m] + exp(held((double)y[3 * m], 10) - h->o->bias) * z1,
                            (double)y[2 * m] +
                                exp(held((double)y[4 * m], 10) - h->o->bias) * (tanh(r) * z1 + z2 / cosh(r))};
    for (int k = 0; k < 2; k++) {
        const double v = step[k] * (double)h->deviation[k] + (double)h->mean[k];
        if (!(fabs(v) <= FARTHEST))
            return heed_fail(h->cx, HEED_ERR_RANGE, "point %lld: the model gives no step of a pen", (long long)t + 1);
        point[k] = (float)v;
    }
    point[2] = (double)uniform[1] < 1 / (1 + exp((double)h->logits[0]));
    return true;
}

/* Where it stops the pen is lifted, so that a piece ends as all do. */
static bool go_on(struct hand *h, float *points, int64_t *n, int64_t most) {
    while (*n < most) {
        float *const to = points + 3 * *n;
        if (!draw_point(h, *n, to) || !read_points(h, to, 1)) return false;
        ++*n;
        if (h->passed) break;
    }
    points[3 * *n - 1] = 1;
    return true;
}

bool heed_handwrite(heed_ctx *cx, const heed_model *model, const heed_handwrite_opts *opts, heed_writings *to) {
    if (heed_failed(cx)) return false;
    if (!model || !opts || !to || !heed_model_takes(model, "strokes"))
        return heed_fail(cx, HEED_ERR_USAGE, "handwrite: a model of handwriting is needed");
    const int64_t given = opts->given > 0 ? opts->given : 1, more = opts->points > 0 ? opts->points : STANDARD_POINTS;
    if (!(opts->bias >= 0 && opts->bias <= 100) || given > HEED_WRITING_LONGEST || more > HEED_WRITING_LONGEST - given)
        return heed_fail(cx, HEED_ERR_RANGE, "handwrite: a bias of %g, %lld points after %lld: out of range",
                         opts->bias, (long long)more, (long long)given);
    struct hand h = {.cx = cx, .model = model, .o = opts};
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    float *const points = heed_mem_new(cx, (size_t)(3 * (given + more)) * sizeof *points);
    bool ok = points && begin(&h);
    if (ok) {
        int64_t n = given;
        memset(points, 0, 3 * sizeof *points);
        if (opts->given > 0) memcpy(points, opts->beginning, (size_t)(3 * given) * sizeof *points);
        ok = read_points(&h, points, given) && go_on(&h, points, &n, given + more);
        ok = ok && heed_writings_add(cx, to, points, n, opts->text);
    }
    end(&h);
    heed_mem_free(cx, points);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    return ok;
}
