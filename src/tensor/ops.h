/* The ops that heed has: each is a record in src/tensor/ops/, named once in ops.def. */
#ifndef TENSOR_OPS_H
#define TENSOR_OPS_H

#include "heed/ops.h"

#define OP(name, ...) extern const heed_op op_##name;
#include "tensor/ops.def"

extern const heed_op *const all_ops[]; /* ends with NULL; for the tests */

/* A convolution of pictures with a batch norm, more to be added (or NULL) and an activation behind it, as one product,
 * and a linear layer with a batch norm behind it (the weight may be 16 bits; opts, more and act are not read); without
 * gradients. */
struct normed {
    heed_tensor *weight, *bias, *gamma, *beta, *mean, *variance, *more;
    const heed_conv_opts *opts;
    float eps;
    heed_activation act;
};
heed_tensor *op_conv_normed(heed_ctx *cx, heed_tensor *x, const struct normed *n);
heed_tensor *op_linear_normed(heed_ctx *cx, heed_tensor *x, const struct normed *n);
/* What of a given norm numbers of channel c are multiplied by, and what is added. In: bias, gamma, beta, mean,
 * variance, of which the first three may be NULL. */
void norm_fold(int64_t channels, const float *const in[5], float eps, float *scale, float *shift);

#endif
