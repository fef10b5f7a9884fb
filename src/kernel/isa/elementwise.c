/* Elementwise loops of one instruction set.
 *
 * Functions of one number and their gradients are expressions of vectors in kernel/elementwise.def. Each is compiled
 * into one loop over whole vectors; a remainder goes through the same loop in a padded buffer, so that an element's
 * bits do not depend on where it lies. */
#include "kernel/elementwise.h"
#include "kernel/isa/vmath.h"

/* ---- One operand ---- */

/* n is a multiple of VW. A gradient that reads nothing gets dy for s, so that there is something to load. */
#define UNARY(NAME, VALUE, GRADIENT, ...)                                                                              \
    static void map_##NAME(float *y, const float *px, int64_t n, float a, float b) {                                   \
        (void)a, (void)b;                                                                                              \
        for (int64_t i = 0; i < n; i += VW) {                                                                          \
            const vf x = v_load(px + i);                                                                               \
            v_store(y + i, VALUE);                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void grad_##NAME(float *dx, const float *pdy, const float *ps, int64_t n, float a, float b, bool add) {     \
        (void)a, (void)b;                                                                                              \
        for (int64_t i = 0; i < n; i += VW) {                                                                          \
            const vf dy = v_load(pdy + i), s = v_load(ps + i);                                                         \
            (void)dy, (void)s;                                                                                         \
            const vf g = GRADIENT;                                                                                     \
            v_store(dx + i, add ? v_load(dx + i) + g : g);                                                             \
        }                                                                                                              \
    }
#include "kernel/elementwise.def"

void ISA_NAME(unary_map)(int fn, float *y, const float *x, int64_t n, float a, float b) {
    static void (*const map[UNARY_COUNT])(float *, const float *, int64_t, float, float) = {
#define UNARY(name, NAME, ...) [UNARY_##NAME] = map_##NAME,
#include "kernel/functions.def"
    };
    const int64_t rest = n % VW, body = n - rest;
    map[fn](y, x, body, a, b);
    if (rest) {
        float buffer[VW] = {0};
        memcpy(buffer, x + body, (size_t)rest * sizeof(float));
        map[fn](buffer, buffer, VW, a, b);
        memcpy(y + body, buffer, (size_t)rest * sizeof(float));
    }
}

void ISA_NAME(unary_grad_map)(int fn, float *dx, const float *dy, const float *saved, int64_t n, float a, float b,
                              bool add) {
    static void (*const grad[UNARY_COUNT])(float *, const float *, const float *, int64_t, float, float, bool) = {
#define UNARY(name, NAME, ...) [UNARY_##NAME] = grad_##NAME,
#include "kernel/functions.def"
    };
    const float *s = saved ? saved : dy;
    const int64_t rest = n % VW, body = n - rest;
    const size_t bytes = (size_t)rest * sizeof(float);
    grad[fn](dx, dy, s, body, a, b, add);
    if (rest) {
        float bdx[VW] = {0}, bdy[VW] = {0}, bs[VW] = {0};
        if (add) memcpy(bdx, dx + body, bytes);
        memcpy(bdy, dy + body, bytes);
        memcpy(bs, s + body, bytes);
        grad[fn](bdx, bdy, bs, VW, a, b, add);
        memcpy(dx + body, bdx, bytes);
    }
}

/* ---- Two operands. The op is a constant wherever these are inlined. ---- */

INLINE vf binary(int op, vf a, vf b) {
    switch (op) {
    case BINARY_ADD:
        return a + b;
    case BINARY_SUB:
        return a - b;
    case BINARY_MUL:
        return a * b;
    case BINARY_DIV:
        return a / b;
    case BINARY_POW:
        return v_pow(a, b);
    case BINARY_MAX:
        return v_where((a > b) | (a != a), a, b);
    default:
        return v_where((a < b) | (a != a), a, b);
    }
}

INLINE void binary_row(int op, float *y, const float *a, bool a0, const float *b, bool b0, int64_t n) {
    const vf fixed_a = v_set(*a), fixed_b = v_set(*b);
    int64_t i = 0;
    for (; i + VW <= n; i += VW) v_store(y + i, binary(op, a0 ? v_load(a + i) : fixed_a, b0 ? v_load(b + i) : fixed_b));
    if (i < n) {
        const vf va = a0 ? v_load_part(a + i, n - i, 1.0f) : fixed_a;
        const vf vb = b0 ? v_load_part(b + i, n - i, 1.0f) : fixed_b;
        v_store_part(y + i, binary(op, va, vb), n - i);
    }
}

#define OPERANDS a, a1, a0, b, b1, b0, rows, n
INLINE void binary_rows(int op, float *y, const float *a, int64_t a1, bool a0, const float *b, int64_t b1, bool b0,
                        int64_t rows, int64_t n) {
    if (n == 0) return;
    for (int64_t r = 0; r < rows; r++, y += n, a += a1, b += b1)
        if (a0 && b0)
            binary_row(op, y, a, true, b, true, n);
        else if (a0)
            binary_row(op, y, a, true, b, false, n);
        else
            binary_row(op, y, a, false, b, b0, n);
}

void ISA_NAME(binary_tile)(int op, float *y, const float *a, int64_t a1, bool a0, const float *b, int64_t b1, bool b0,
                           int64_t rows, int64_t n) {
#define CASE(op)                                                                                                       \
    case op:                                                                                                           \
        binary_rows(op, y, OPERANDS);                                                                                  \
        break;
    switch (op) {
        CASE(BINARY_ADD)
        CASE(BINARY_SUB)
        CASE(BINARY_MUL)
        CASE(BINARY_DIV)
        CASE(BINARY_POW)
        CASE(BINARY_MAX)
        CASE(BINARY_MIN)
    }
#undef CASE
}

/* Gradients by operand: of a at op, of b at op + BINARY_COUNT. */
INLINE vf binary_grad(int op, vf dy, vf a, vf b) {
    const vf none = v_set(0.0f);
    switch (op) {
    case BINARY_ADD:
    case BINARY_SUB:
    case BINARY_COUNT + BINARY_ADD:
        return dy;
    case BINARY_COUNT + BINARY_SUB:
        return -dy;
    case BINARY_MUL:
        return dy * b;
    case BINARY_COUNT + BINARY_MUL:
        return dy * a;
    case BINARY_DIV:
        return dy / b;
    case BINARY_COUNT + BINARY_DIV:
        return -dy * ((a / b) / b);
    case BINARY_POW:
        return v_where(b == 0.0f, none, dy * (b * v_pow(a, b - 1.0f)));
    case BINARY_COUNT + BINARY_POW:
        return v_where((a == 0.0f) & (b >= 0.0f), none, dy * (v_pow(a, b) * v_log(a)));
    case BINARY_MAX:
    case BINARY_COUNT + BINARY_MIN:
        return v_where(a == b, 0.5f * dy, v_where(a < b, none, dy));
    default:
        return v_where(a == b, 0.5f * dy, v_where(a > b, none, dy));
    }
}

INLINE void grad_row(int op, float *dx, const float *dy, const float *a, bool a0, const float *b, bool b0, int64_t n,
                     bool add) {
    const vf fixed_a = v_set(*a), fixed_b = v_set(*b);
    int64_t i = 0;
    for (; i + VW <= n; i += VW) {
        const vf g = binary_grad(op, v_load(dy + i), a0 ? v_load(a + i) : fixed_a, b0 ? v_load(b + i) : fixed_b);
        v_store(dx + i, add ? v_load(dx + i) + g : g);
    }
    if (i < n) {
        const vf va = a0 ? v_load_part(a + i, n - i, 1.0f) : fixed_a;
        const vf vb = b0 ? v_load_part(b + i, n - i, 1.0f) : fixed_b;
        const vf g = binary_grad(op, v_load_part(dy + i, n - i, 0.0f), va, vb);
        v_store_part(dx + i, add ? v_load_part(dx + i, n - i, 0.0f) + g : g, n - i);
    }
}

void ISA_NAME(binary_grad_tile)(int op, bool second, float *dx, const float *dy, int64_t dy1, const float *a,
                                int64_t a1, bool a0, const float *b, int64_t b1, bool b0, int64_t rows, int64_t n,
                                bool add) {
    if (n == 0) return;
    if (!a) a = dy, a1 = dy1, a0 = true;
    if (!b) b = dy, b1 = dy1, b0 = true;
#define CASE(op)                                                                                                       \
    case op:                                                                                                           \
        grad_row(op, dx, dy, a, a0, b, b0, n, add);                                                                    \
        break;
#define CASES(op) CASE(op) CASE(BINARY_COUNT + (op))
    for (int64_t r = 0; r < rows; r++, dx += n, dy += dy1, a += a1, b += b1) switch (second ? BINARY_COUNT + op : op) {
            CASES(BINARY_ADD)
            CASES(BINARY_SUB)
            CASES(BINARY_MUL)
            CASES(BINARY_DIV)
            CASES(BINARY_POW)
            CASES(BINARY_MAX)
            CASES(BINARY_MIN)
        }
#undef CASE
}

/* ---- Booleans: plain loops, which compilers vectorise well ---- */

#define FLAG_ROW(EXPRESSION)                                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const __typeof__(*pa) a = pa[a0 ? i : 0], b = pb[b0 ? i : 0];                                                  \
        y[i] = (uint8_t)(EXPRESSION);                                                                                  \
    }
#define FLAG_CASE(OP, EXPRESSION)                                                                                      \
    case OP:                                                                                                           \
        for (int64_t r = 0; r < rows; r++, y += n, pa += a1, pb += b1) {                                               \
            if (a0 && b0)                                                                                              \
                FLAG_ROW(EXPRESSION)                                                                                   \
            else if (a0)                                                                                               \
                FLAG_ROW(EXPRESSION)                                                                                   \
            else                                                                                                       \
                FLAG_ROW(EXPRESSION)                                                                                   \
        }                                                                                                              \
        break;
#define COMPARE_TILE(NAME, TYPE)                                                                                       \
    void ISA_NAME(NAME)(int op, uint8_t *y, const TYPE *pa, int64_t a1, bool a0, const TYPE *pb, int64_t b1, bool b0,  \
                        int64_t rows, int64_t n) {                                                                     \
        switch (op) {                                                                                                  \
            FLAG_CASE(COMPARE_EQ, a == b)                                                                              \
            FLAG_CASE(COMPARE_NE, a != b)                                                                              \
            FLAG_CASE(COMPARE_LT, a < b)                                                                               \
            FLAG_CASE(COMPARE_LE, a <= b)                                                                              \
            FLAG_CASE(COMPARE_GT, a > b)                                                                               \
            FLAG_CASE(COMPARE_GE, a >= b)                                                                              \
        }                                                                                                              \
    }
COMPARE_TILE(compare_tile, float)
COMPARE_TILE(compare_i32_tile, int32_t)

void ISA_NAME(logic_tile)(int op, uint8_t *y, const uint8_t *pa, int64_t a1, bool a0, const uint8_t *pb, int64_t b1,
                          bool b0, int64_t rows, int64_t n) {
    switch (op) {
        FLAG_CASE(LOGIC_AND, (a != 0) & (b != 0))
        FLAG_CASE(LOGIC_OR, (a != 0) | (b != 0))
        FLAG_CASE(LOGIC_XOR, (a != 0) ^ (b != 0))
    }
}

INLINE void where_row(float *y, const uint8_t *cond, bool c0, const float *a, bool a0, const float *b, bool b0,
                      int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const float va = a[a0 ? i : 0], vb = b[b0 ? i : 0]; /* both are read, so that the loop needs no branch */
        y[i] = cond[c0 ? i : 0] ? va : vb;
    }
}

void ISA_NAME(where_tile)(float *y, const uint8_t *cond, int64_t c1, bool c0, const float *a, int64_t a1, bool a0,
                          const float *b, int64_t b1, bool b0, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r++, y += n, cond += c1, a += a1, b += b1)
        if (!c0)
            where_row(y, cond, false, a, a0, b, b0, n);
        else if (a0 && b0)
            where_row(y, cond, true, a, true, b, true, n);
        else if (a0)
            where_row(y, cond, true, a, true, b, false, n);
        else
            where_row(y, cond, true, a, false, b, b0, n);
}

void ISA_NAME(where_grad_tile)(bool second, float *dx, const float *dy, int64_t dy1, const uint8_t *cond, int64_t c1,
                               bool c0, int64_t rows, int64_t n, bool add) {
    for (int64_t r = 0; r < rows; r++, dx += n, dy += dy1, cond += c1)
        for (int64_t i = 0; i < n; i++) {
            const float d = dy[i], g = (cond[c0 ? i : 0] != 0) != second ? d : 0.0f;
            dx[i] = add ? dx[i] + g : g;
        }
}
