/* The list of all ops. */
#include "tensor/ops.h"

const heed_op *const all_ops[] = {
#define OP(name, ...) &op_##name,
#include "tensor/ops.def"
    NULL};
