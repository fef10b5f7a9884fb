/* Weights stored in 16 bits, which linear, linear_cross_entropy, embedding and cast read; they have no gradient. */
#ifndef TENSOR_STORED_H
#define TENSOR_STORED_H

#include "kernel/isa.h"
#include "tensor/engine.h"

static inline bool is_real(heed_dtype dtype) { return dtype == HEED_F32 || dtype == HEED_BF16 || dtype == HEED_F16; }

/* For infer: input i must be f32, bf16 or f16. */
static inline bool want_real(heed_op_call *c, int i) {
    if (is_real(c->in[i]->dtype)) return true;
    return heed_op_fail(c, HEED_ERR_TYPE, "input %d is %s, not f32, bf16 or f16", i, heed_dtype_name(c->in[i]->dtype));
}

static inline enum stored stored_of(heed_dtype dtype) {
    return dtype == HEED_BF16 ? STORED_BF16 : dtype == HEED_F16 ? STORED_F16 : STORED_F32;
}

#endif
