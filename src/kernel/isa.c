/* Which instruction set the kernels run on: chosen once, at the first use. */
#include "kernel/isa.h"
#include "heed/base.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
extern const struct isa isa_baseline, isa_avx2, isa_avx512;
#    if defined(HEED_TEST_WIDE) /* AVX-512's vectors on AVX2's instructions, to test them on any CPU */
extern const struct isa isa_wide;
#    endif
#else
extern const struct isa isa_portable;
#endif

int isa_all(const struct isa *out[4]) {
    int n = 0;
#if defined(__x86_64__)
    out[n++] = &isa_baseline;
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#    if defined(HEED_TEST_WIDE)
    if (avx2) out[n++] = &isa_wide;
#    endif
    if (avx2) out[n++] = &isa_avx2;
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        out[n++] = &isa_avx512;
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
