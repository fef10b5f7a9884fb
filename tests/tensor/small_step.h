/* One training step of a small network that touches every kind of op record: views, passes, folds, claims, state,
 * dropout. */
#ifndef TESTS_SMALL_STEP_H
#define TESTS_SMALL_STEP_H

#include "heed/ops.h"

enum { STEP_ROWS = 6, STEP_WIDTH = 8, STEP_CLASSES = 11, STEP_PARAMS = 5 };

struct small_net {
    float value[STEP_PARAMS][STEP_CLASSES * STEP_WIDTH + 4 * STEP_WIDTH * STEP_WIDTH];
    float grad[STEP_PARAMS][STEP_CLASSES * STEP_WIDTH + 4 * STEP_WIDTH * STEP_WIDTH];
    heed_grad slot[STEP_PARAMS];
    float input[STEP_ROWS * STEP_WIDTH];
    int32_t target[STEP_ROWS];
};

static inline void small_net_init(struct small_net *net) {
    const int64_t most = sizeof net->value[0] / sizeof(float);
    for (int i = 0; i < STEP_PARAMS; i++) {
        heed_random_normal(7, (uint64_t)i, 0, net->value[i], most);
        for (int64_t k = 0; k < most; k++) net->grad[i][k] = 0;
        net->slot[i] = (heed_grad){.data = net->grad[i]};
    }
    heed_random_normal(8, 0, 0, net->input, STEP_ROWS * STEP_WIDTH);
    for (int i = 0; i < STEP_ROWS; i++) net->target[i] = (i * 5) % STEP_CLASSES;
}

static inline heed_tensor *small_param(heed_ctx *cx, struct small_net *net, int i, int rank, int64_t a, int64_t b) {
    return heed_borrow(cx, HEED_F32, net->value[i], rank, (int64_t[]){a, b}, &net->slot[i]);
}

/* Returns the loss, or NULL; gradients are in the slots. */
static inline heed_tensor *small_step(heed_ctx *cx, struct small_net *net) {
    const int64_t C = STEP_WIDTH;
    heed_tensor *x = heed_from_f32(cx, net->input, 2, (int64_t[]){STEP_ROWS, C});
    heed_tensor *target = heed_from_i32(cx, net->target, 1, (int64_t[]){STEP_ROWS});
    heed_scope_begin(cx);
    heed_tensor *part[2] = {NULL, NULL};
    heed_tensor *h = heed_linear_act(cx, x, small_param(cx, net, 0, 2, 2 * C, C), small_param(cx, net, 1, 1, 2 * C, 0),
                                     HEED_ACT_GELU);
    heed_split(cx, h, -1, (int64_t[]){C, C}, 2, part);
    h = heed_mul(cx, part[0], heed_sigmoid(cx, part[1]));
    h = heed_dropout(cx, h, 0.25f);
    heed_tensor *sum = NULL;
    h = heed_add_layer_norm(cx, h, x, small_param(cx, net, 2, 1, C, 0), small_param(cx, net, 3, 1, C, 0), 1e-5f, &sum);
    h = heed_scope_end(cx, heed_add(cx, h, sum));
    return heed_linear_cross_entropy(cx, h, small_param(cx, net, 4, 2, STEP_CLASSES, C), NULL, target, NULL);
}

#endif
