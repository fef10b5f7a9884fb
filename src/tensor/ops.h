/* The ops that heed has: each is a record in src/tensor/ops/, named once in ops.def. */
#ifndef TENSOR_OPS_H
#define TENSOR_OPS_H

#include "heed/ops.h"

#define OP(name, ...) extern const heed_op op_##name;
#include "tensor/ops.def"

extern const heed_op *const all_ops[]; /* ends with NULL; for the tests */

#endif
