/* The way back through a fused activation. */
#ifndef KERNEL_ACTIVATION_H
#define KERNEL_ACTIVATION_H

#include "base/pool.h"
#include "kernel/isa.h"

/* Does the gradient read act's argument (else it reads its result)? */
static inline bool act_reads_argument(enum activation act) {
    return act == ACT_GELU || act == ACT_GELU_TANH || act == ACT_SILU || act == ACT_SOFTPLUS;
}
/* dpre = dy act'(pre), n numbers; saved as act_reads_argument says. */
void kernel_act_grad(struct pool *pool, float *dpre, const float *dy, const float *saved, int64_t n,
                     enum activation act);

#endif
