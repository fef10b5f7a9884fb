/* FNet's mixing, as bench/fourier.py has it: forward, and forward and backward. */
#include "bench.h"

/* m: sequences of n tokens, k wide */
static void mix_setup(struct bench *b) {
    const int64_t n = b->m * b->n * b->k;
    b->x = numbers(b->cx, n, 0);
    b->dy = numbers(b->cx, n, 1);
    b->grad = numbers(b->cx, n, 2);
    b->slot[0].data = b->grad;
}
static heed_tensor *lent(struct bench *b, float *data, heed_grad *slot) {
    return heed_borrow(b->cx, HEED_F32, data, 3, (int64_t[]){b->m, b->n, b->k}, slot);
}
static void mix(struct bench *b) { heed_fourier_mix(b->cx, lent(b, b->x, NULL)); }
static void mix_both(struct bench *b) {
    b->slot[0].filled = false;
    heed_backward_from(b->cx, heed_fourier_mix(b->cx, lent(b, b->x, &b->slot[0])), lent(b, b->dy, NULL));
}

const struct workload fourier_workloads[] = {
    {"fourier_mix", mix_setup, mix, true},
    {"fourier_mix_both", mix_setup, mix_both, false},
    {0},
};
