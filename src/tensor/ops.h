/* The ops that heed has: each is a record in src/tensor/ops/, named once in ops.def. */
#ifndef TENSOR_OPS_H
#define TENSOR_OPS_H

#include "heed/ops.h"

#define OP(name, ...) extern const heed_op op_##name;
#include "tensor/ops.def"

extern const heed_op *const all_ops[]; /* ends with NULL; for the tests */

/* A convolution of pictures with a batch norm, more to be added (or NULL) and an activation behind it, as one product;
 * without gradients. */
struct conv_norm {
    heed_tensor *weight, *bias, *gamma, *beta, *mean, *variance, *more;
    const heed_conv_opts *opts;
    float eps;
    heed_activation act;
};
heed_tensor *op_conv_normed(heed_ctx *cx, heed_tensor *x, const struct conv_norm *n);

#endif
