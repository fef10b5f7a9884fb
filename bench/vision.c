/* Pictures, as bench/vision.py has them: the 3 x 3 convolutions of ResNet-50, forward and backward. */
#include "bench.h"

/* m: pictures of n x n, k: channels in and out; the first of a stage halves a picture of twice the side. */
struct side {
    int64_t in, out;
};
static struct side side_of(const struct bench *b, bool halves) {
    return halves ? (struct side){2 * b->n, b->n} : (struct side){b->n, b->n};
}

static void conv_setup(struct bench *b, bool halves) {
    const struct side s = side_of(b, halves);
    const int64_t x = b->m * b->k * s.in * s.in, w = b->k * b->k * 9;
    b->x = numbers(b->cx, x, 0);
    b->w = numbers(b->cx, w, 1);
    b->dy = numbers(b->cx, b->m * b->k * s.out * s.out, 2);
    b->grad = numbers(b->cx, x + w, 3);
    b->slot[0].data = b->grad;
    b->slot[1].data = b->grad + x;
}
static void conv_run(struct bench *b, bool halves) {
    const struct side s = side_of(b, halves);
    for (int i = 0; i < 2; i++) b->slot[i].filled = false;
    heed_tensor *const x = heed_borrow(b->cx, HEED_F32, b->x, 4, (int64_t[]){b->m, b->k, s.in, s.in}, &b->slot[0]);
    heed_tensor *const w = heed_borrow(b->cx, HEED_F32, b->w, 4, (int64_t[]){b->k, b->k, 3, 3}, &b->slot[1]);
    const heed_conv_opts opts = {.stride = {halves ? 2 : 1, halves ? 2 : 1}, .padding = {1, 1}};
    heed_backward_from(b->cx, heed_conv2d(b->cx, x, w, NULL, &opts),
                       heed_borrow(b->cx, HEED_F32, b->dy, 4, (int64_t[]){b->m, b->k, s.out, s.out}, NULL));
}

static void same_setup(struct bench *b) { conv_setup(b, false); }
static void same_run(struct bench *b) { conv_run(b, false); }
static void half_setup(struct bench *b) { conv_setup(b, true); }
static void half_run(struct bench *b) { conv_run(b, true); }

const struct workload vision_workloads[] = {
    {"conv_both", same_setup, same_run, false},
    {"conv_half_both", half_setup, half_run, false},
    {0},
};
