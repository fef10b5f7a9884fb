/* How well an autoencoder does: reconstruction, the evidence lower bound, and log p(x) by importance sampling,
 *
 *     log p(x) ~ log 1/N sum over N of p(x | z) p(z) / q(z | x),   z ~ q(z | x)      (Burda et al. 2016) */
#include "base/ctx.h"
#include "heed/autoencode.h"
#include "task/vision/picture_batches.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

#define BATCH    500 /* pictures at a time, unless asked otherwise */
#define AT_ONCE  500 /* codes that are decoded together */
#define SEED     0xE1B0E1B0E1B00000u
#define ESTIMATE 0x0800000000000000u /* streams of the codes to estimate from */

struct measure {
    heed_ctx *cx;
    const heed_model *model;
    const heed_coder_measure_opts *opts;
    heed_coder coder;
    heed_corruption corruption;
    bool corrupts;                            /* the model sees other pictures than it is to give */
    float *noise, *mu, *log_sigma;            /* (batch, latent) */
    float *codes, *eps, *target, *likelihood; /* of the estimate, (AT_ONCE, ...) */
    double *most, *sum;                       /* (batch) the largest weight, and the sum relative to it */
    heed_coder_score total;
};

static heed_tensor *numbers(heed_ctx *cx, const float *at, int rank, const int64_t *shape) {
    return cx->config.dry ? heed_zeros(cx, HEED_F32, rank, shape) : heed_borrow(cx, HEED_F32, at, rank, shape, NULL);
}

static bool put_picture(heed_ctx *cx, const struct measure *m, const char *name, const float *at, int64_t n,
                        heed_io *in) {
    const int64_t shape[] = {n, m->coder.channels, m->coder.height, m->coder.width};
    return heed_io_put(cx, in, name, numbers(cx, at, 4, shape));
}

static bool put_codes(heed_ctx *cx, const struct measure *m, const char *name, const float *at, int64_t n,
                      heed_io *in) {
    return heed_io_put(cx, in, name, numbers(cx, at, 2, (int64_t[]){n, m->coder.latent}));
}

/* Pixels as the model sees them, and as it is to give them. */
static bool put_pictures(heed_ctx *cx, const struct measure *m, const struct picture_part *p, heed_io *in) {
    if (!put_picture(cx, m, "pixel_values", p->altered ? p->altered : p->pixels, p->n, in)) return false;
    return !p->altered || put_picture(cx, m, "target", p->pixels, p->n, in);
}

static double item(heed_ctx *cx, const heed_io *out, const char *name) {
    const heed_tensor *const t = heed_io_get(out, name);
    return t ? (double)heed_item(cx, t) : 0;
}

/* The bound of each picture, with one z. */
static bool bound(struct measure *m, const struct picture_part *p) {
    heed_ctx *const cx = m->cx;
    heed_io in = {0}, out = {0};
    for (int64_t i = 0; !cx->config.dry && i < p->n; i++)
        heed_random_normal(m->opts->seed ^ SEED, m->opts->stream, (uint64_t)(p->row[i] * m->coder.latent),
                           m->noise + i * m->coder.latent, m->coder.latent);
    if (!put_pictures(cx, m, p, &in) || !put_codes(cx, m, "noise", m->noise, p->n, &in) ||
        !heed_model_forward(cx, m->model, &in, &out))
        return false;
    const double n = (double)p->n, kl = item(cx, &out, "loss_dict.kl");
    const heed_tensor *const likelihood = heed_io_get(&out, "log_likelihood");
    double sum = 0;
    for (int64_t i = 0; !cx->config.dry && i < p->n; i++) sum += (double)heed_f32(likelihood)[i];
    m->total.loss += n * item(cx, &out, "loss");
    m->total.reconstruction += n * item(cx, &out, "loss_dict.reconstruction");
    m->total.kl += n * kl;
    m->total.elbo += sum - n * kl;
    if (m->opts->samples > 0 && !heed_copy_f32(cx, heed_io_get(&out, "mu"), m->mu, p->n * m->coder.latent))
        return false;
    return m->opts->samples == 0 ||
           heed_copy_f32(cx, heed_io_get(&out, "log_sigma"), m->log_sigma, p->n * m->coder.latent);
}

/* Of a plain autoencoder. */
static bool error(struct measure *m, const struct picture_part *p) {
    heed_ctx *const cx = m->cx;
    heed_io in = {.loss_only = true}, out = {0};
    if (!put_pictures(cx, m, p, &in) || !heed_model_forward(cx, m->model, &in, &out)) return false;
    const double loss = item(cx, &out, "loss"),
                 weight = heed_json_number(cx, heed_model_config(m->model), "reconstruction_weight");
    m->total.loss += (double)p->n * loss;
    m->total.reconstruction += (double)p->n * loss / weight;
    return !heed_failed(cx);
}

/* ---- log p(x) ---- */

/* Adds exp(w) to a sum that is kept relative to its largest member. */
static void add(double *most, double *sum, double w) {
    if (w > *most) {
        *sum = *sum * exp(*most - w) + 1;
        *most = w;
    } else {
        *sum += exp(w - *most);
    }
}

/* Codes of picture i of the part, n of them from sample `from` on; log p(z) - log q(z | x) of each goes to *ratio. */
static void draw(struct measure *m, const struct picture_part *p, int64_t i, int64_t from, int64_t n, double *ratio) {
    const int64_t latent = m->coder.latent;
    const float *const mu = m->mu + i * latent, *const log_sigma = m->log_sigma + i * latent;
    heed_random_normal(m->opts->seed ^ SEED, m->opts->stream ^ ESTIMATE,
                       (uint64_t)((p->row[i] * m->opts->samples + from) * latent), m->eps, n * latent);
    for (int64_t s = 0; s < n; s++) {
        ratio[s] = 0;
        for (int64_t k = 0; k < latent; k++) {
            const double e = (double)m->eps[s * latent + k], l = (double)log_sigma[k], z = (double)mu[k] + exp(l) * e;
            m->codes[s * latent + k] = (float)z;
            ratio[s] += 0.5 * (e * e - z * z) + l;
        }
    }
}

static bool estimate_some(struct measure *m, const struct picture_part *p, int64_t i, int64_t from, int64_t n) {
    heed_ctx *const cx = m->cx;
    double ratio[AT_ONCE];
    heed_io in = {0}, out = {0};
    draw(m, p, i, from, n, ratio);
    if (!put_codes(cx, m, "latents", m->codes, n, &in) || !put_picture(cx, m, "target", m->target, n, &in) ||
        !heed_model_forward(cx, m->model, &in, &out) ||
        !heed_copy_f32(cx, heed_io_get(&out, "log_likelihood"), m->likelihood, n))
        return false;
    for (int64_t s = 0; s < n; s++) add(&m->most[i], &m->sum[i], (double)m->likelihood[s] + ratio[s]);
    heed_reset(cx);
    return true;
}

static bool estimate(struct measure *m, const struct picture_part *p) {
    const int64_t N = m->opts->samples, each = m->coder.numbers;
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t rows = N < AT_ONCE ? N : AT_ONCE;
        m->most[i] = -(double)INFINITY;
        m->sum[i] = 0;
        for (int64_t s = 0; s < rows; s++)
            memcpy(m->target + s * each, p->pixels + i * each, (size_t)each * sizeof *m->target);
        for (int64_t s = 0; s < N; s += AT_ONCE)
            if (heed_cancelled(m->cx) || !estimate_some(m, p, i, s, N - s < AT_ONCE ? N - s : AT_ONCE)) return false;
        m->total.log_likelihood += m->most[i] + log(m->sum[i]) - log((double)N);
    }
    return true;
}

/* ---- all ---- */

static void alter(const void *own, int64_t epoch, int64_t row, const float *pixels, float *altered) {
    const struct measure *const m = own;
    (void)epoch;
    heed_corrupt(&m->corruption, m->opts->seed, m->opts->stream, row, m->coder.numbers, pixels, altered);
}

static bool take_room(struct measure *m, int64_t batch) {
    heed_ctx *const cx = m->cx;
    const size_t codes = (size_t)(batch * m->coder.latent), some = (size_t)(AT_ONCE * m->coder.latent);
    m->noise = heed_mem_new(cx, codes * sizeof *m->noise);
    if (m->opts->samples == 0) return m->noise;
    m->mu = heed_mem_new(cx, codes * sizeof *m->mu);
    m->log_sigma = heed_mem_new(cx, codes * sizeof *m->log_sigma);
    m->codes = heed_mem_new(cx, some * sizeof *m->codes);
    m->eps = heed_mem_new(cx, some * sizeof *m->eps);
    m->target = heed_mem_new(cx, (size_t)(AT_ONCE * m->coder.numbers) * sizeof *m->target);
    m->likelihood = heed_mem_new(cx, AT_ONCE * sizeof *m->likelihood);
    m->most = heed_mem_new(cx, (size_t)batch * sizeof *m->most);
    m->sum = heed_mem_new(cx, (size_t)batch * sizeof *m->sum);
    return !heed_failed(cx);
}

static void give_room(struct measure *m) {
    void *const all[] = {m->sum, m->most, m->likelihood, m->target, m->eps, m->codes, m->log_sigma, m->mu, m->noise};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) heed_mem_free(m->cx, all[i]);
}

static bool run(struct measure *m, const struct picture_batches_opts *with) {
    heed_ctx *const cx = m->cx;
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    struct picture_batches *const b = picture_batches_open(cx, with);
    for (int64_t done = 0; b && done < with->n && !heed_cancelled(cx);) {
        const struct picture_part *const p = picture_batches_next(cx, b);
        if (!p || !(m->coder.variational ? bound : error)(m, p)) break;
        heed_reset(cx);
        if (m->opts->samples > 0 && !estimate(m, p)) break;
        done += p->n;
        if (m->opts->samples > 0) heed_progress(cx, "pictures", done, with->n);
    }
    picture_batches_close(cx, b);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    return !heed_failed(cx);
}

bool heed_coder_measure(heed_ctx *cx, const heed_model *model, const heed_picture_set *set,
                        const heed_picture_input *input, const heed_coder_measure_opts *opts, heed_coder_score *score) {
    struct measure m = {.cx = cx, .model = model, .opts = opts};
    if (heed_failed(cx)) return false;
    if (!model || !set || !input || !opts || !score)
        return heed_fail(cx, HEED_ERR_USAGE, "autoencode: a model, pictures and a place for the score are needed");
    if (!heed_coder_of(cx, model, &m.coder) || !heed_corruption_of(cx, model, &m.corruption)) return false;
    if (opts->samples < 0 || (opts->samples > 0 && !m.coder.variational))
        return heed_fail(cx, HEED_ERR_USAGE, "log p(x) is estimated from samples of a variational autoencoder's codes");
    const int64_t n = opts->rows ? opts->n : heed_picture_set_data(set)->n;
    int64_t batch = opts->batch > 0 ? opts->batch : opts->samples > 0 ? BATCH / 10 : BATCH;
    if (batch > n) batch = n;
    m.corrupts = m.corruption.noise > 0 || m.corruption.mask > 0;
    const struct picture_batches_opts with = {.set = set,
                                              .rows = opts->rows,
                                              .n = n,
                                              .input = input,
                                              .batch = batch,
                                              .repeats = 1,
                                              .alter = m.corrupts || m.corruption.binarize ? alter : NULL,
                                              .own = &m,
                                              .both = m.corrupts,
                                              .workers = opts->workers};
    if (take_room(&m, batch)) run(&m, &with);
    give_room(&m);
    const double all = (double)n;
    *score = (heed_coder_score){m.total.loss / all, m.total.reconstruction / all, m.total.kl / all, m.total.elbo / all,
                                m.total.log_likelihood / all};
    return !heed_failed(cx);
}
