/* The table of one instruction set. */
#include "kernel/isa/simd.h"

#define ISA_STRING_(x) #x
#define ISA_STRING(x)  ISA_STRING_(x)

extern const struct isa ISA_NAME(isa);
const struct isa ISA_NAME(isa) = {
    .name = ISA_STRING(ISA_SUFFIX),
#define ISA(ret, name, args) .name = ISA_NAME(name),
#include "kernel/isa_additive.def"
#include "kernel/isa_assign.def"
#include "kernel/isa_attention.def"
#include "kernel/isa_conv.def"
#include "kernel/isa_fft.def"
#include "kernel/isa_gemm.def"
#include "kernel/isa_graph.def"
#include "kernel/isa_image.def"
#include "kernel/isa_loss.def"
#include "kernel/isa_math.def"
#include "kernel/isa_recurrent.def"
#include "kernel/isa_rows.def"
#undef ISA
};
