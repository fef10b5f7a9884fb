/* The variational autoencoder (Kingma & Welling 2014; beta: Higgins et al. 2017).
 *
 *     mu, log sigma = f(x),   z = mu + sigma * eps,  eps ~ N(0, 1),   x' = f^-1(z)
 *     loss = 1/B ( weight sum (x - x')^2 + beta sum (mu^2 + sigma^2 - log sigma^2 - 1) )
 *
 * Half of the second sum is the KL divergence of q(z|x) = N(mu, sigma) from N(0, 1). With all of it and beta = 1 the
 * loss is twice the negative evidence lower bound, up to a constant, for a normal likelihood of variance 1 / weight;
 * with half of it that bound itself, of variance 1 / (2 weight), or of a Bernoulli likelihood. */
#include "model/autoencoders/coder.h"
#include "tensor/engine.h"
#include <math.h>

enum sigma { SIGMA_INPUT, SIGMA_LEARNT, SIGMA_FIXED };

struct vae {
    struct coder coder;
    heed_linear_layer mu, log_sigma; /* log_sigma: of each input */
    heed_param *one;                 /* log sigma (Z) of all, learnt */
    enum sigma sigma;
    float first;       /* log sigma that all have at first, or always */
    double beta, part; /* part of the second sum: 0.5 or 1 */
};

static bool read_keys(heed_ctx *cx, heed_json config, struct vae *m) {
    static const char *const kinds[] = {"input", "learnt", "fixed", NULL};
    const heed_json half = heed_json_find(cx, config, "half_kl");
    const bool said = heed_json_kind_of(half) != HEED_JSON_NULL;
    m->sigma = (enum sigma)config_choice(cx, config, "sigma", kinds);
    m->first = (float)log(config_number(cx, config, "sigma_value", 1e-6, 1e6));
    m->beta = config_number(cx, config, "beta", 0, 1e12);
    m->part = (said ? heed_json_bool(cx, config, "half_kl") : m->coder.bernoulli) ? 0.5 : 1;
    return !heed_failed(cx);
}

static bool build(heed_ctx *cx, const heed_build *b, void *own) {
    struct vae *const m = own;
    struct coder *const c = &m->coder;
    if (!coder_make_encoder(cx, b, c) || !read_keys(cx, b->config, m) ||
        !heed_linear_make(cx, b->params, "mu", c->width, c->latent, true, &m->mu))
        return false;
    if (m->sigma == SIGMA_INPUT) heed_linear_make(cx, b->params, "log_sigma", c->width, c->latent, true, &m->log_sigma);
    if (m->sigma == SIGMA_LEARNT)
        m->one = heed_param_add(cx, b->params, NULL, "log_sigma", 1, &c->latent,
                                (heed_init){HEED_INIT_CONSTANT, m->first, 0});
    return coder_make_decoder(cx, b, c);
}

/* eps (n,Z) of a step of training: numbers of (seed, step, random ops before it), as dropout's masks are. */
static heed_tensor *draw(heed_ctx *cx, int64_t n, int64_t latent) {
    const uint64_t stream = engine_next_stream(cx);
    heed_tensor *const eps = heed_zeros(cx, HEED_F32, 2, (int64_t[]){n, latent});
    if (eps && !cx->config.dry) heed_random_normal(heed_seed(cx), stream, 0, (float *)(void *)eps->data, eps->count);
    return eps;
}

/* log sigma (n,Z) */
static heed_tensor *deviation(heed_ctx *cx, const struct vae *m, heed_tensor *h, int64_t n) {
    const int64_t shape[] = {n, m->coder.latent};
    if (m->sigma == SIGMA_INPUT) return heed_linear_run(cx, &m->log_sigma, h, HEED_ACT_NONE);
    if (m->sigma == SIGMA_FIXED) return heed_full(cx, m->first, 2, shape);
    return heed_expand(cx, heed_param_tensor(cx, m->one), 2, shape);
}

struct encoded {
    heed_tensor *mu, *log_sigma, *sigma, *z;
};

static bool encode(heed_ctx *cx, const struct vae *m, const heed_io *in, const struct coder_input *given,
                   struct encoded *e) {
    const struct engine *const engine = engine_of(cx);
    heed_tensor *const h = coder_encode(cx, &m->coder, given->pixels);
    heed_tensor *eps = coder_codes(cx, &m->coder, in, "noise", given->n);
    if (!engine || heed_failed(cx)) return false;
    e->mu = heed_linear_run(cx, &m->mu, h, HEED_ACT_NONE);
    e->log_sigma = deviation(cx, m, h, given->n);
    e->sigma = heed_exp(cx, e->log_sigma);
    if (!e->z && !eps && engine->training) eps = draw(cx, given->n, m->coder.latent);
    if (!e->z) e->z = eps ? heed_add(cx, e->mu, heed_mul(cx, e->sigma, eps)) : e->mu;
    return e->z;
}

/* mu^2 + sigma^2 - log sigma^2 - 1, half of it (n,Z): the divergence in nats */
static heed_tensor *divergence(heed_ctx *cx, const struct encoded *e) {
    heed_tensor *const squares = heed_add(cx, heed_square(cx, e->mu), heed_square(cx, e->sigma));
    return heed_affine(cx, heed_sub(cx, squares, heed_affine(cx, e->log_sigma, 2, 1)), 0.5f, 0);
}

/* log p(target | z) (n) in nats. Where the likelihood is normal, the loss says its variance. */
static heed_tensor *log_likelihood(heed_ctx *cx, const struct vae *m, const struct coder_input *given, heed_tensor *y) {
    const struct coder *const c = &m->coder;
    const int64_t *const image = c->pictures.image;
    const double numbers = (double)(c->pictures.channels * image[0] * image[1]), precision = c->weight / m->part;
    heed_tensor *const errors = coder_errors(cx, c, given, y);
    if (c->bernoulli) return heed_neg(cx, errors);
    return heed_affine(cx, errors, (float)(-precision / 2),
                       (float)(numbers / 2 * log(precision / (2 * 3.14159265358979323846))));
}

static bool put_loss(heed_ctx *cx, const struct vae *m, const struct coder_input *given, const struct encoded *e,
                     heed_tensor *y, heed_io *out) {
    heed_tensor *const error = coder_error(cx, &m->coder, given, y);
    heed_tensor *const kl =
        heed_affine(cx, heed_sum(cx, divergence(cx, e), NULL, 0, false), given->n > 0 ? 1.0f / (float)given->n : 0, 0);
    heed_tensor *const loss = heed_add(cx, heed_affine(cx, error, (float)m->coder.weight, 0),
                                       heed_affine(cx, kl, (float)(2 * m->part * m->beta), 0));
    return heed_io_put(cx, out, "loss", loss) && heed_io_put(cx, out, "loss_dict.reconstruction", error) &&
           heed_io_put(cx, out, "loss_dict.kl", kl);
}

static bool forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct vae *const m = own;
    struct coder_input given;
    if (!coder_read(cx, &m->coder, in, &given)) return false;
    struct encoded e = {.z = given.latents};
    if (given.pixels && !encode(cx, m, in, &given, &e)) return false;
    heed_tensor *const y = coder_decode(cx, &m->coder, e.z);
    if (!in->loss_only) {
        if (!coder_put(cx, &m->coder, y, out)) return false;
        if (given.target && !heed_io_put(cx, out, "log_likelihood", log_likelihood(cx, m, &given, y))) return false;
    }
    if (!given.pixels) return y;
    if (!heed_io_put(cx, out, "mu", e.mu) || !heed_io_put(cx, out, "log_sigma", e.log_sigma)) return false;
    return put_loss(cx, m, &given, &e, y, out);
}

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return coder_sample(cx, &((const struct vae *)own)->coder, batch, in);
}

static const heed_key keys[] = {
    CODER_KEYS,
    {"beta", HEED_KEY_NUMBER, "1", "what the KL term is multiplied by in the loss"},
    {"half_kl", HEED_KEY_BOOL_OR_NULL, "null",
     "the KL term is half of sum (mu^2 + sigma^2 - log sigma^2 - 1), as in the evidence lower bound, not all of it; "
     "null: with a Bernoulli likelihood"},
    {"sigma", HEED_KEY_TEXT, "input", "deviations of codes: input: of each picture; learnt: one vector for all; fixed"},
    {"sigma_value", HEED_KEY_NUMBER, "1", "those of all pictures where they are fixed, or at first where learnt"},
    END_OF_KEYS,
};

static const heed_head heads[] = {
    {"HeedVae", "autoencode", "pixel_values target latents noise", .build = build, .forward = forward,
     .sample = sample},
    {.architecture = NULL},
};

const heed_family family_vae = {
    .name = "vae",
    .type = "heed-vae",
    .paper = "Kingma & Welling 2014",
    .summary = "pictures through normal distributions of codes, which can be sampled from",
    .notes = "Parameters: encoder.0.weight, ..., mu.weight, log_sigma.weight, decoder.0.weight, ... as torch.nn.Linear "
             "and Sequential name them; where one sigma is learnt, log_sigma (Z). Outputs: mu and log_sigma (B,Z), the "
             "reconstruction from z = mu + sigma noise and, of each picture, log_likelihood, log p(target | z) in "
             "nats. noise (B,Z) is eps; without it a training step draws one, and otherwise z is mu. " CODER_NOTES,
    .keys = keys,
    .heads = heads,
    .size = sizeof(struct vae),
};
