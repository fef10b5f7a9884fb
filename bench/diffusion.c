/* Diffusion, as bench/diffusion.py has it: training steps of a U-Net. m: pictures of n x n. */
#include "bench.h"

static const char *const unet[] = {"block_out_channels=32,64,128",
                                   "down_block_types=DownBlock2D,AttnDownBlock2D,AttnDownBlock2D",
                                   "up_block_types=AttnUpBlock2D,AttnUpBlock2D,UpBlock2D", "norm_num_groups=8"};

static void unet_step_setup(struct bench *b) {
    b->x = numbers(b->cx, b->m * 3 * b->n * b->n, 0);
    b->dy = numbers(b->cx, b->m * 3 * b->n * b->n, 1);
    b->model = heed_model_new(b->cx, heed_family_find("unet2d"), unet, 4, 1);
    if (!b->model) return;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 1e-4}};
    b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    heed_set_training(b->cx, true);
}
static void unet_step_run(struct bench *b) {
    const int64_t shape[] = {b->m, 3, b->n, b->n};
    heed_io in = {0}, out = {0};
    heed_trainer_begin(b->cx, b->trainer);
    heed_io_put(b->cx, &in, "sample", heed_borrow(b->cx, HEED_F32, b->x, 4, shape, NULL));
    heed_io_put(b->cx, &in, "timestep", heed_full(b->cx, 500, 1, &b->m));
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_tensor *const noise = heed_borrow(b->cx, HEED_F32, b->dy, 4, shape, NULL);
    heed_backward(b->cx, heed_mse_loss(b->cx, heed_io_get(&out, "sample"), noise, HEED_REDUCE_MEAN));
    heed_trainer_step(b->cx, b->trainer, NULL);
}

const struct workload diffusion_workloads[] = {{"unet_step", unet_step_setup, unet_step_run, false}, {0}};
