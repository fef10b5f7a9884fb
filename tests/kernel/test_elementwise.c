/* Elementwise functions against plain double loops: every function and its gradient, broadcasting, special values, and
 * the same bits for any number of threads. */
#include "math_test.h"
#include "twin.h"

/* ---- One operand ---- */

static void check_unary(enum unary fn, int64_t n, float a, float b) {
    char what[64];
    snprintf(what, sizeof what, "%s of %lld, a = %g", twin_unary_name(fn), (long long)n, (double)a);
    float *x = normals(n), *dy = normals(n), *y = floats(n), *dx = floats(n);
    for (int64_t i = 0; i < n; i++) {
        x[i] *= i % 3 ? 1.0f : 5.0f;
        if (isnan(twin_unary(fn, (double)x[i], (double)a, (double)b))) x[i] = fabsf(x[i]); /* of logarithms and roots */
    }
    kernel_unary(NULL, fn, y, x, n, a, b);
    for (int64_t i = 0; i < n; i++)
        check_close(what, i, y[i], twin_unary(fn, (double)x[i], (double)a, (double)b), 2e-6, 1e-6);
    const enum unary_reads reads = kernel_unary_reads(fn);
    const float *saved = reads == READS_X ? x : reads == READS_Y ? y : NULL;
    kernel_unary_grad(NULL, fn, dx, dy, saved, n, a, b, false);
    float *sum = copy_of(dx, n);
    kernel_unary_grad(NULL, fn, sum, dy, saved, n, a, b, true);
    for (int64_t i = 0; i < n; i++) {
        const double want = (double)dy[i] * twin_unary_slope(fn, (double)x[i], (double)y[i], (double)a, (double)b);
        check_close(what, i, dx[i], want, 5e-6, 2e-6);
        check_close(what, i, sum[i], 2 * want, 5e-6, 4e-6);
    }
    /* In place. */
    kernel_unary(NULL, fn, x, x, n, a, b);
    if (n) assert_memory_equal(x, y, (size_t)n * sizeof(float));
    free(x), free(dy), free(y), free(dx), free(sum);
}

static void test_unary(void **state) {
    (void)state;
    static const int64_t lengths[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 100, 1023};
    static const float powers[] = {0, 1, 2, 3, -1, -2, 0.5f, -0.5f, 4, 1.7f, -0.3f};
    for (int i = 0; i < LENGTH(lengths); i++) {
        for (int fn = 0; fn < UNARY_COUNT; fn++) check_unary((enum unary)fn, lengths[i], 0.75f, 1.5f);
        check_unary(UNARY_CLAMP, lengths[i], -0.5f, 0.5f);
        for (int k = 0; k < LENGTH(powers); k++) check_unary(UNARY_POW, lengths[i], powers[k], 0.0f);
    }
}

/* Besides the kernel's error, that of one rounding of x counts: exp(88) has no more digits than that leaves. */
static void check_special(const char *what, enum unary fn, float x, float y, float a) {
    const double want = twin_unary(fn, (double)x, (double)a, 1.0);
    const double slope = twin_unary_slope(fn, (double)x, want, (double)a, 1.0), moved = fabs((double)x * slope);
    check_close(what, 0, y, want, 3e-6, 1e-37 + (isfinite(moved) ? 0x1p-22 * moved : 0));
}

static void test_unary_special(void **state) {
    (void)state;
    static const float specials[] = {0.0f,  -0.0f,  1.0f,  -1.0f,  INFINITY, -INFINITY, NAN,         1e-30f,    -1e-30f,
                                     1e30f, -1e30f, 88.0f, -88.0f, 90.0f,    -90.0f,    20.0f,       -20.0f,    0.5f,
                                     -0.5f, 1.5f,   2.5f,  -2.5f,  1e-5f,    -1e-5f,    0.49999997f, 8388609.0f};
    const int64_t n = LENGTH(specials);
    for (int fn = 0; fn < UNARY_COUNT; fn++) {
        char what[64];
        snprintf(what, sizeof what, "%s, special values", twin_unary_name((enum unary)fn));
        float *x = copy_of(specials, n), *y = floats(n);
        const float a = fn == UNARY_POW ? 2.3f : 0.25f;
        kernel_unary(NULL, (enum unary)fn, y, x, n, a, 1.0f);
        for (int64_t i = 0; i < n; i++) check_special(what, (enum unary)fn, x[i], y[i], a);
        free(x), free(y);
    }
    /* Small numbers keep their digits where the function goes through 0. */
    static const enum unary odd[] = {UNARY_EXPM1, UNARY_LOG1P, UNARY_TANH, UNARY_SIN, UNARY_ERF};
    for (int k = 0; k < LENGTH(odd); k++)
        for (int e = -20; e < 0; e++) {
            const float x = ldexpf(1.1f, e);
            float y;
            kernel_unary(NULL, odd[k], &y, &x, 1, 0, 0);
            check_close("near 0", e, y, twin_unary(odd[k], (double)x, 0, 0), 1e-6, 0);
        }
}

static float slope_at(enum unary fn, float x, float a, float b) {
    float y, dx;
    const float one = 1.0f;
    kernel_unary(NULL, fn, &y, &x, 1, a, b);
    kernel_unary_grad(NULL, fn, &dx, &one, kernel_unary_reads(fn) == READS_Y ? &y : &x, 1, a, b, false);
    return dx;
}

static void test_kinks(void **state) {
    (void)state;
    assert_true(slope_at(UNARY_RELU, 0, 0, 0) == 0.0f);
    assert_true(slope_at(UNARY_ABS, 0, 0, 0) == 0.0f);
    assert_true(slope_at(UNARY_CLAMP, -1, -1, 2) == 1.0f);
    assert_true(slope_at(UNARY_CLAMP, 2, -1, 2) == 1.0f);
    assert_true(slope_at(UNARY_CLAMP, 2.1f, -1, 2) == 0.0f);
    assert_true(slope_at(UNARY_SIGN, 3, 0, 0) == 0.0f);
    assert_true(slope_at(UNARY_FLOOR, 3.5f, 0, 0) == 0.0f);
    assert_true(slope_at(UNARY_LEAKY_RELU, 0, 0.1f, 0) == 0.1f);
    assert_true(slope_at(UNARY_POW, 0, 2, 0) == 0.0f);
    assert_true(isnan(slope_at(UNARY_EXP, NAN, 0, 0)));
    assert_true(slope_at(UNARY_GELU, INFINITY, 0, 0) == 1.0f && slope_at(UNARY_GELU, -INFINITY, 0, 0) == 0.0f);
    assert_true(slope_at(UNARY_SILU, INFINITY, 0, 0) == 1.0f && slope_at(UNARY_SILU, -INFINITY, 0, 0) == 0.0f);
}

static void test_unary_threads(void **state) {
    (void)state;
    const int64_t n = 100003;
    float *x = normals(n), *dy = normals(n), *y0 = NULL, *dx0 = NULL;
    static const enum unary some[] = {UNARY_GELU, UNARY_RELU, UNARY_EXP, UNARY_SIN};
    for (int k = 0; k < LENGTH(some); k++)
        for (int p = 0; p < POOLS; p++) {
            float *y = floats(n), *dx = copy_of(x, n);
            kernel_unary(math_pool[p], some[k], y, x, n, 0, 0);
            kernel_unary_grad(math_pool[p], some[k], dx, dy, kernel_unary_reads(some[k]) == READS_Y ? y : x, n, 0, 0,
                              true);
            for (int64_t i = 0; p == 0 && i < n; i++)
                check_close("large", i, y[i], twin_unary(some[k], (double)x[i], 0, 0), 2e-6, 1e-6);
            same_bits("unary gradient", p, &dx0, dx, n);
            same_bits("unary", p, &y0, y, n);
        }
    free(x), free(dy);
}

/* ---- Two operands ---- */

static double binary_twin(enum binary op, double a, double b) {
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
        return pow(a, b);
    case BINARY_MAX:
        return isnan(a) || a > b ? a : b;
    default:
        return isnan(a) || a < b ? a : b;
    }
}

static double binary_slope(enum binary op, bool second, double a, double b) {
    const double sign = op == BINARY_MAX ? 1 : -1;
    switch (op) {
    case BINARY_ADD:
        return 1;
    case BINARY_SUB:
        return second ? -1 : 1;
    case BINARY_MUL:
        return second ? a : b;
    case BINARY_DIV:
        return second ? -a / (b * b) : 1 / b;
    case BINARY_POW:
        if (second) return a == 0 && b >= 0 ? 0 : pow(a, b) * log(a);
        return b == 0 ? 0 : b * pow(a, b - 1);
    default:
        return a == b ? 0.5 : sign * (second ? b - a : a - b) > 0;
    }
}

/* Gradient of one operand by a loop over the whole; magnitude: the sum of absolute values, for the tolerance. */
static void grad_twin(enum binary op, bool second, const struct shape *whole, const struct shape *sa,
                      const struct shape *sb, const float *dy, const float *a, const float *b, double *sum,
                      double *magnitude) {
    for (int64_t i = 0; i < numel(whole); i++) {
        const int64_t ia = source_of(whole, sa, i), ib = source_of(whole, sb, i), at = second ? ib : ia;
        const double g = (double)dy[i] * binary_slope(op, second, (double)a[ia], (double)b[ib]);
        sum[at] += g;
        magnitude[at] += fabs(g);
    }
}

/* Numbers among which some are equal, so that maxima have ties; powers and quotients stay tame. */
static float *operands(enum binary op, int64_t n, bool second) {
    float *p = normals(n);
    for (int64_t i = 0; i < n; i++) {
        if (op == BINARY_POW && !second) p[i] = 0.3f + fabsf(p[i]);
        if (op == BINARY_DIV && second) p[i] += p[i] < 0 ? -0.5f : 0.5f;
        if (op == BINARY_MAX || op == BINARY_MIN) p[i] = rintf(p[i]);
    }
    return p;
}

static void check_binary_grad(struct pool *pool, const char *what, enum binary op, bool second,
                              const struct shape *whole, const struct shape *sa, const struct shape *sb,
                              const float *dy, const float *a, const float *b, const struct bcast *bc) {
    const int64_t n = numel(second ? sb : sa);
    double *sum = calloc((size_t)n + 1, sizeof *sum), *magnitude = calloc((size_t)n + 1, sizeof *magnitude);
    grad_twin(op, second, whole, sa, sb, dy, a, b, sum, magnitude);
    float *dx = normals(n), *twice = normals(n), *before = copy_of(twice, n);
    kernel_binary_grad(pool, op, second, dx, dy, a, b, bc, false);
    kernel_binary_grad(pool, op, second, twice, dy, a, b, bc, true);
    for (int64_t i = 0; i < n; i++) {
        check_close(what, i, dx[i], sum[i], 1e-6, 2e-6 * magnitude[i] + 1e-7);
        check_close(what, i, twice[i], sum[i] + (double)before[i], 1e-6, 2e-6 * magnitude[i] + 1e-6);
    }
    if (op ==
        BINARY_ADD) { /* the same sum by kernel_reduce_to's twin in test_reduce; here: NULL operands are allowed */
        kernel_binary_grad(pool, op, second, twice, dy, NULL, NULL, bc, false);
        if (n) assert_memory_equal(twice, dx, (size_t)n * sizeof(float));
    }
    free(sum), free(magnitude), free(dx), free(twice), free(before);
}

static void check_binary(struct pool *pool, enum binary op, const struct shape *sa, const struct shape *sb) {
    char what[80];
    snprintf(what, sizeof what, "binary %d of ranks %d and %d", (int)op, sa->rank, sb->rank);
    struct shape whole;
    assert_true(kernel_bcast_shape(operand_of(sa), operand_of(sb), &whole.rank, whole.size));
    struct bcast bc;
    kernel_bcast(&bc, operand_of(&whole), (const struct bcast_operand[]){operand_of(sa), operand_of(sb)}, 2);
    const int64_t n = numel(&whole);
    assert_int_equal(bc.total, n);
    float *a = operands(op, numel(sa), false), *b = operands(op, numel(sb), true), *dy = normals(n), *y = floats(n);
    kernel_binary(pool, op, y, a, b, &bc);
    for (int64_t i = 0; i < n; i++)
        check_close(what, i, y[i],
                    binary_twin(op, (double)a[source_of(&whole, sa, i)], (double)b[source_of(&whole, sb, i)]), 1e-6, 0);
    check_binary_grad(pool, what, op, false, &whole, sa, sb, dy, a, b, &bc);
    check_binary_grad(pool, what, op, true, &whole, sa, sb, dy, a, b, &bc);
    free(a), free(b), free(dy), free(y);
}

static void test_binary(void **state) {
    (void)state;
    for (int round = 0; round < 120; round++) {
        const struct shape whole = random_shape(0, 5), sa = random_operand(&whole), sb = random_operand(&whole);
        for (int op = 0; op < BINARY_COUNT; op++) check_binary(NULL, (enum binary)op, &sa, &sb);
    }
}

static const struct shape large[][2] = {
    {{2, {300, 401}}, {2, {300, 401}}}, {{2, {300, 401}}, {1, {401}}},         {{2, {300, 401}}, {2, {300, 1}}},
    {{2, {300, 401}}, {0, {0}}},        {{1, {401}}, {2, {300, 1}}},           {{2, {40000, 3}}, {1, {3}}},
    {{2, {3, 40000}}, {2, {3, 1}}},     {{3, {7, 1, 6001}}, {2, {5, 6001}}},   {{3, {30, 40, 50}}, {2, {40, 1}}},
    {{1, {100000}}, {0, {0}}},          {{4, {9, 1, 70, 65}}, {3, {5, 70, 1}}}};

static void test_binary_large(void **state) {
    (void)state;
    for (int i = 0; i < LENGTH(large); i++)
        for (int swap = 0; swap < 2; swap++) {
            check_binary(math_pool[1], BINARY_MUL, &large[i][swap], &large[i][1 - swap]);
            check_binary(math_pool[2], BINARY_SUB, &large[i][swap], &large[i][1 - swap]);
        }
    check_binary(math_pool[1], BINARY_MAX, &large[1][0], &large[1][1]);
    check_binary(math_pool[1], BINARY_DIV, &large[1][0], &large[2][1]);
}

static void test_binary_threads(void **state) {
    (void)state;
    for (int i = 0; i < LENGTH(large); i++) {
        const struct shape *sa = &large[i][0], *sb = &large[i][1];
        struct shape whole;
        assert_true(kernel_bcast_shape(operand_of(sa), operand_of(sb), &whole.rank, whole.size));
        struct bcast bc;
        kernel_bcast(&bc, operand_of(&whole), (const struct bcast_operand[]){operand_of(sa), operand_of(sb)}, 2);
        const int64_t n = numel(&whole), na = numel(sa), nb = numel(sb);
        float *a = normals(na), *b = normals(nb), *dy = normals(n), *y0 = NULL, *da0 = NULL, *db0 = NULL;
        for (int p = 0; p < POOLS; p++) {
            float *y = floats(n), *da = floats(na), *db = copy_of(b, nb);
            kernel_binary(math_pool[p], BINARY_MUL, y, a, b, &bc);
            kernel_binary_grad(math_pool[p], BINARY_MUL, false, da, dy, a, b, &bc, false);
            kernel_binary_grad(math_pool[p], BINARY_MUL, true, db, dy, a, b, &bc, true);
            same_bits("mul", p, &y0, y, n);
            same_bits("mul's a", p, &da0, da, na);
            same_bits("mul's b", p, &db0, db, nb);
        }
        free(a), free(b), free(dy);
    }
}

static void test_binary_special(void **state) {
    (void)state;
    static const float v[] = {0.0f, -0.0f, 1.0f, -2.0f, INFINITY, -INFINITY, NAN, 1e30f, 1e-30f, 0.5f};
    const struct shape column = {2, {LENGTH(v), 1}}, row = {1, {LENGTH(v)}}, whole = {2, {LENGTH(v), LENGTH(v)}};
    struct bcast bc;
    kernel_bcast(&bc, operand_of(&whole), (const struct bcast_operand[]){operand_of(&column), operand_of(&row)}, 2);
    float y[LENGTH(v) * LENGTH(v)];
    uint8_t flag[LENGTH(v) * LENGTH(v)];
    for (int op = 0; op < BINARY_COUNT; op++) {
        kernel_binary(NULL, (enum binary)op, y, v, v, &bc);
        for (int i = 0; i < LENGTH(y); i++)
            check_close("special", i, y[i],
                        binary_twin((enum binary)op, (double)v[i / LENGTH(v)], (double)v[i % LENGTH(v)]), 1e-6, 1e-44);
    }
    for (int op = 0; op < COMPARE_COUNT; op++) {
        kernel_compare(NULL, (enum comparison)op, flag, v, v, &bc);
        for (int i = 0; i < LENGTH(flag); i++) {
            const float a = v[i / LENGTH(v)], b = v[i % LENGTH(v)];
            const bool want[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
            assert_int_equal(flag[i], want[op]);
        }
    }
}

static void test_unfit_shapes(void **state) {
    (void)state;
    const struct shape a = {2, {3, 4}}, b = {1, {3}}, c = {1, {0}}, d = {2, {3, 1}};
    struct shape whole;
    assert_false(kernel_bcast_shape(operand_of(&a), operand_of(&b), &whole.rank, whole.size));
    assert_false(kernel_bcast_shape(operand_of(&a), operand_of(&c), &whole.rank, whole.size));
    assert_true(kernel_bcast_shape(operand_of(&c), operand_of(&d), &whole.rank, whole.size));
    assert_true(whole.rank == 2 && whole.size[0] == 3 && whole.size[1] == 0);
    /* The usual cases are one or two loops. */
    struct bcast bc;
    const struct shape row = {1, {4}}, cube = {3, {2, 3, 4}};
    kernel_bcast(&bc, operand_of(&cube), (const struct bcast_operand[]){operand_of(&cube), operand_of(&row)}, 2);
    assert_true(bc.axes == 2 && bc.size[0] == 4 && bc.size[1] == 6 && bc.step[1][0] == 1 && bc.step[1][1] == 0);
    kernel_bcast(&bc, operand_of(&cube), (const struct bcast_operand[]){operand_of(&cube), operand_of(&cube)}, 2);
    assert_true(bc.axes == 1 && bc.size[0] == 24);
}

/* ---- Booleans and where ---- */

static void check_flags(const struct shape *sa, const struct shape *sb) {
    struct shape whole;
    assert_true(kernel_bcast_shape(operand_of(sa), operand_of(sb), &whole.rank, whole.size));
    struct bcast bc;
    kernel_bcast(&bc, operand_of(&whole), (const struct bcast_operand[]){operand_of(sa), operand_of(sb)}, 2);
    const int64_t n = numel(&whole), na = numel(sa), nb = numel(sb);
    uint8_t *y = malloc((size_t)n + 1), *fa = malloc((size_t)na + 1), *fb = malloc((size_t)nb + 1);
    float *a = floats(na), *b = floats(nb);
    int32_t *ia = malloc((size_t)(na + 1) * 4), *ib = malloc((size_t)(nb + 1) * 4);
    for (int64_t i = 0; i < na; i++) a[i] = (float)(ia[i] = (int32_t)draw(3) - 1), fa[i] = (uint8_t)(draw(2) * 7);
    for (int64_t i = 0; i < nb; i++) b[i] = (float)(ib[i] = (int32_t)draw(3) - 1), fb[i] = (uint8_t)draw(2);
    for (int op = 0; op < COMPARE_COUNT; op++)
        for (int type = 0; type < 2; type++) {
            if (type)
                kernel_compare_i32(math_pool[1], (enum comparison)op, y, ia, ib, &bc);
            else
                kernel_compare(math_pool[1], (enum comparison)op, y, a, b, &bc);
            for (int64_t i = 0; i < n; i++) {
                const int32_t va = ia[source_of(&whole, sa, i)], vb = ib[source_of(&whole, sb, i)];
                const bool want[] = {va == vb, va != vb, va<vb, va <= vb, va> vb, va >= vb};
                assert_int_equal(y[i], want[op]);
            }
        }
    for (int op = 0; op < LOGIC_COUNT; op++) {
        kernel_logic(math_pool[1], (enum logic)op, y, fa, fb, &bc);
        for (int64_t i = 0; i < n; i++) {
            const bool va = fa[source_of(&whole, sa, i)], vb = fb[source_of(&whole, sb, i)];
            const bool want[] = {va && vb, va || vb, va != vb};
            assert_int_equal(y[i], want[op]);
        }
    }
    kernel_not(math_pool[1], fa, fa, na);
    for (int64_t i = 0; i < na; i++) assert_true(fa[i] <= 1);
    free(y), free(fa), free(fb), free(a), free(b), free(ia), free(ib);
}

static void check_where(struct pool *pool, const struct shape *sc, const struct shape *sa, const struct shape *sb) {
    struct shape pair, whole;
    assert_true(kernel_bcast_shape(operand_of(sa), operand_of(sb), &pair.rank, pair.size));
    assert_true(kernel_bcast_shape(operand_of(&pair), operand_of(sc), &whole.rank, whole.size));
    struct bcast bc;
    kernel_bcast(&bc, operand_of(&whole),
                 (const struct bcast_operand[]){operand_of(sc), operand_of(sa), operand_of(sb)}, 3);
    const int64_t n = numel(&whole), na = numel(sa), nb = numel(sb), nc = numel(sc);
    uint8_t *cond = malloc((size_t)nc + 1);
    for (int64_t i = 0; i < nc; i++) cond[i] = (uint8_t)(draw(2) * 3);
    float *a = normals(na), *b = normals(nb), *y = floats(n), *dy = normals(n);
    kernel_where(pool, y, cond, a, b, &bc);
    double *sum[2] = {calloc((size_t)na + 1, sizeof(double)), calloc((size_t)nb + 1, sizeof(double))};
    for (int64_t i = 0; i < n; i++) {
        const int64_t ia = source_of(&whole, sa, i), ib = source_of(&whole, sb, i);
        const bool c = cond[source_of(&whole, sc, i)];
        assert_true(y[i] == (c ? a[ia] : b[ib]));
        if (c)
            sum[0][ia] += (double)dy[i];
        else
            sum[1][ib] += (double)dy[i];
    }
    for (int second = 0; second < 2; second++) {
        const int64_t m = second ? nb : na;
        float *dx = floats(m);
        kernel_where_grad(pool, second, dx, dy, cond, &bc, false);
        kernel_where_grad(pool, second, dx, dy, cond, &bc, true);
        for (int64_t i = 0; i < m; i++) check_close("where", i, dx[i], 2 * sum[second][i], 1e-5, 1e-4);
        free(dx), free(sum[second]);
    }
    free(cond), free(a), free(b), free(y), free(dy);
}

static void test_flags(void **state) {
    (void)state;
    for (int round = 0; round < 120; round++) {
        const struct shape whole = random_shape(0, 5), sa = random_operand(&whole), sb = random_operand(&whole),
                           sc = random_operand(&whole);
        check_flags(&sa, &sb);
        check_where(NULL, &sc, &sa, &sb);
    }
    check_flags(&large[1][0], &large[1][1]);
    check_where(math_pool[1], &large[1][0], &large[1][1], &large[2][1]);
    check_where(math_pool[2], &large[1][1], &large[1][0], &large[3][1]);
}

static int tests(void) {
    const struct CMUnitTest list[] = {cmocka_unit_test(test_unary),          cmocka_unit_test(test_unary_special),
                                      cmocka_unit_test(test_kinks),          cmocka_unit_test(test_unary_threads),
                                      cmocka_unit_test(test_binary),         cmocka_unit_test(test_binary_large),
                                      cmocka_unit_test(test_binary_threads), cmocka_unit_test(test_binary_special),
                                      cmocka_unit_test(test_unfit_shapes),   cmocka_unit_test(test_flags)};
    return cmocka_run_group_tests(list, open_pools, close_pools);
}

int main(void) { return run_each_set(tests); }
