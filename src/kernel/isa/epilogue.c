/* Epilogue of linear: bias and activation. */
#include "kernel/isa/vmath.h"

/* One loop for each activation; VALUE is an expression of x, a and b. */
#define ROWS(NAME, VALUE, A, B)                                                                                        \
    static void rows_##NAME(float *c, int64_t ldc, int64_t rows, int64_t cols, const float *bias, float *pre) {        \
        const float a = A, b = B;                                                                                      \
        (void)a, (void)b;                                                                                              \
        for (int64_t row = 0; row < rows; row++, c += ldc) {                                                           \
            V_EACH(i, n, cols, {                                                                                       \
                vf x = v_get(c + i, n, 0.0f);                                                                          \
                if (bias) x += v_get(bias + i, n, 0.0f);                                                               \
                if (pre) v_put(pre + row * ldc + i, x, n);                                                             \
                v_put(c + i, VALUE, n);                                                                                \
            });                                                                                                        \
        }                                                                                                              \
    }
ROWS(NONE, x, 0, 0)
#define ACTIVATION(NAME, value, gradient, twin, slope, a, b) ROWS(NAME, value, a, b)
#include "kernel/elementwise.def"

void ISA_NAME(bias_act)(float *c, int64_t ldc, int64_t rows, int64_t cols, const float *bias, enum activation act,
                        float *pre) {
    static void (*const rows_of[ACT_COUNT])(float *, int64_t, int64_t, int64_t, const float *, float *) = {
        [ACT_NONE] = rows_NONE,
#define ACTIVATION(name, NAME, ...) [ACT_##NAME] = rows_##NAME,
#include "kernel/functions.def"
    };
    rows_of[act](c, ldc, rows, cols, bias, pre);
}
