/* Variational autoencoders of pictures of 28 x 28, as bench/autoencoders.py has them: a training step with Adam and a
 * Bernoulli likelihood. m: pictures, n: which. */
#include "bench.h"

static const struct kind {
    const char *settings[6];
    int count;
} kinds[] = {{{"likelihood=bernoulli", "latent_size=50", "hidden_sizes=200,200"}, 3},
             {{"likelihood=bernoulli", "latent_size=32", "hidden_sizes=256", "conv_channels=32,64"}, 4}};

static void step_setup(struct bench *b) {
    const struct kind *const k = &kinds[b->n];
    b->x = numbers(b->cx, b->m * 784, 0);
    for (int64_t i = 0; b->x && i < b->m * 784; i++) b->x[i] = b->x[i] > 0 ? 1 : 0;
    b->model = heed_model_new(b->cx, heed_family_find("vae"), k->settings, k->count, 1);
    if (!b->model) return;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM}, .schedule = {.lr = 1e-3}};
    b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    heed_set_training(b->cx, true);
}

static void step(struct bench *b) {
    const int64_t shape[] = {b->m, 1, 28, 28};
    heed_io in = {.loss_only = true}, out = {0};
    heed_trainer_begin(b->cx, b->trainer);
    heed_io_put(b->cx, &in, "pixel_values", heed_borrow(b->cx, HEED_F32, b->x, 4, shape, NULL));
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_backward(b->cx, heed_io_get(&out, "loss"));
    heed_trainer_step(b->cx, b->trainer, NULL);
}

const struct workload autoencoders_workloads[] = {{"vae_step", step_setup, step, false}, {0}};
