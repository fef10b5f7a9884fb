/* The kernels that are compiled once per instruction set, as one table of functions chosen at start.
 *
 * Every file of src/kernel/isa/ is compiled once for each set with ISA_SUFFIX, VW (floats in a vector) and the
 * compiler's flags for that set; isa_*.def list the functions, from which this table,
 * the declarations and the definitions' names come. HEED_ISA=baseline|avx2|avx512 (portable off x86) overrides the
 * choice; a set that is unknown or that the CPU lacks is ignored in favour of the best one. */
#ifndef KERNEL_ISA_H
#define KERNEL_ISA_H

#include <stdbool.h>
#include <stdint.h>

/* Activations that linear applies to its result: those of kernel/functions.def. */
enum activation {
    ACT_NONE,
#define ACTIVATION(name, NAME, ...) ACT_##NAME,
#include "kernel/functions.def"
    ACT_COUNT
};

/* How numbers are stored that are computed with as floats: weights may take 16 bits each. */
enum stored { STORED_F32, STORED_BF16, STORED_F16, STORED_COUNT };
static inline int64_t stored_size(enum stored type) { return type == STORED_F32 ? 4 : 2; }

/* What a product does with the strips that it packs: uses them once, keeps them for more rows, or has kept them. */
enum gemm_strips { STRIPS_PASS, STRIPS_KEEP, STRIPS_KEPT };

#define LSE_RUN 64 /* numbers of which lse_row tells the largest */

#define WORDS_MORE 32 /* numbers that random_words may write beyond those asked for, at most */
#define SAMPLE_RUN 16 /* sample_rows: the width, and the room of arrays of n, are whole multiples of it */
#define ASSIGN_RUN 8  /* relax_columns: n is a whole multiple of it */

struct additive_rows;
struct additive_block;
struct attention_strip;
struct attention_row;
struct attention_back;
struct neighbours;
struct edge_attention;

struct conv_run { /* numbers of a row that lie in a row both in a picture and among patches */
    int32_t to, from, length;
};

struct isa {
    const char *name;
#define ISA(ret, name, args) ret(*name) args;
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

const struct isa *isa_get(void);
/* All sets in this build that this CPU can run, best last; for tests. */
int isa_all(const struct isa *out[4]);

#endif
