/* What the cross entropies share. */
#ifndef TENSOR_OPS_CROSS_ENTROPY_H
#define TENSOR_OPS_CROSS_ENTROPY_H

#include "kernel/loss.h"
#include "tensor/engine.h"

bool cross_entropy_opts_ok(heed_op_call *c, const heed_cross_entropy_opts *o);
bool cross_entropy_target_ok(heed_op_call *c, int i,
                             const heed_tensor *x); /* input i: i32, x's shape less its last axis */
bool cross_entropy_counted(heed_op_call *c, const struct cross_entropy *ce, int64_t *counted); /* false: a bad target */
float cross_entropy_scale(const heed_cross_entropy_opts *o, int64_t counted);
void cross_entropy_reduce(const heed_cross_entropy_opts *o, float *y, const float *loss, int64_t rows, int64_t counted);

#endif
