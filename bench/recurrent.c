/* Recurrent layers. */
#include "bench.h"

/* k: the cell's kind; n units and as many inputs. */
static heed_rnn rnn;

static void make(struct bench *b, int kind) {
    const heed_rnn_opts opts = {.kind = (heed_cell_kind)kind, .inputs = b->n, .units = b->n, .layers = 1, .bias = true};
    b->params = heed_params_new(b->cx);
    heed_rnn_make(b->cx, b->params, "", &opts, &rnn);
    heed_params_allocate(b->cx, b->params);
    heed_params_init(b->cx, b->params, 1);
}

/* m rows of 50 steps: forward and backward, of x and of all weights. */
enum { STEPS = 50 };

static void both_setup(struct bench *b) {
    make(b, (int)b->k);
    b->x = numbers(b->cx, b->m * STEPS * b->n, 0);
    b->dy = numbers(b->cx, b->m * STEPS * b->n, 1);
    b->grad = numbers(b->cx, heed_params_numbers(b->params) + b->m * STEPS * b->n, 2);
    float *at = b->grad;
    for (int i = 0; i < heed_params_count(b->params); i++) {
        b->slot[i].data = at;
        at += heed_params_at(b->params, i)->count;
    }
    b->slot[7].data = at;
    heed_bind(b->cx, b->params, b->slot);
}
static void both(struct bench *b) {
    const int64_t shape[] = {b->m, STEPS, b->n};
    for (int i = 0; i < 8; i++) b->slot[i].filled = false;
    heed_tensor *x = heed_borrow(b->cx, HEED_F32, b->x, 3, shape, &b->slot[7]);
    heed_backward_from(b->cx, heed_rnn_run(b->cx, &rnn, x, NULL, NULL, NULL),
                       heed_borrow(b->cx, HEED_F32, b->dy, 3, shape, NULL));
}

/* One step of m rows, states going in and out. */
static void step_setup(struct bench *b) {
    make(b, (int)b->k);
    b->x = numbers(b->cx, b->m * b->n, 0);
    b->w = numbers(b->cx, 2 * b->m * b->n, 1);
}
static void step(struct bench *b) {
    const int64_t shape[] = {1, b->m, b->n}, count = b->m * b->n;
    heed_rnn_state first = {.h = heed_borrow(b->cx, HEED_F32, b->w, 3, shape, NULL)}, last;
    if (rnn.opts.kind == HEED_LSTM) first.c = heed_borrow(b->cx, HEED_F32, b->w + count, 3, shape, NULL);
    heed_tensor *x = heed_borrow(b->cx, HEED_F32, b->x, 3, (int64_t[]){b->m, 1, b->n}, NULL);
    heed_rnn_run(b->cx, &rnn, x, NULL, &first, &last);
    heed_copy_f32(b->cx, last.h, b->w, count);
    if (last.c) heed_copy_f32(b->cx, last.c, b->w + count, count);
}

const struct workload recurrent_workloads[] = {
    {"recurrent_both", both_setup, both, false},
    {"recurrent_step", step_setup, step, true},
    {0},
};
