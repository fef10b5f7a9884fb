/* Which instruction set the kernels run on: chosen once, at the first use. */
#include "kernel/isa.h"
#include "heed/base.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* HEED_ISA_name: in this build (cmake/kernels.cmake) */
extern const struct isa isa_portable, isa_baseline, isa_wide, isa_avx2, isa_avx512;

int isa_all(const struct isa *out[4]) {
    int n = 0;
#if defined(__x86_64__)
    out[n++] = &isa_baseline;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) return n;
#    if defined(HEED_ISA_wide) /* AVX-512's vectors on AVX2's instructions, to test them on any CPU */
    out[n++] = &isa_wide;
#    endif
#    if defined(HEED_ISA_avx2)
    out[n++] = &isa_avx2;
#    endif
#    if defined(HEED_ISA_avx512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        out[n++] = &isa_avx512;
#    endif
#else
    out[n++] = &isa_portable;
#endif
    return n;
}

static const struct isa *chosen;

static void choose(void) {
    const struct isa *sets[4];
    const int n = isa_all(sets);
    chosen = sets[n - 1];
    const char *wish = getenv("HEED_ISA");
    for (int i = 0; wish && i < n; i++)
        if (strcmp(sets[i]->name, wish) == 0) chosen = sets[i];
}

const struct isa *isa_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}

const char *heed_isa(void) { return isa_get()->name; }
