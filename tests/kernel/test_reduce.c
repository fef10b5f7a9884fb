/* Reductions, cumulative sums, arg-max and top-k against plain double loops, and the same bits for any number of
 * threads. */
#include "kernel/reduce.h"
#include "math_test.h"

static struct shape whole_of(const struct reduce *r) {
    struct shape s = {.rank = r->rank};
    memcpy(s.size, r->shape, sizeof s.size);
    return s;
}
static struct shape kept_of(const struct reduce *r) {
    struct shape s = whole_of(r);
    for (int i = 0; i < s.rank; i++)
        if (r->axes >> i & 1) s.size[i] = 1;
    return s;
}

struct twin {
    double *y, *mean, *count, *magnitude;
    int64_t *result; /* of each element */
    int64_t results, elements, n;
};

static double *doubles(int64_t n, double value) {
    double *p = malloc(((size_t)n + 1) * sizeof *p);
    assert_non_null(p);
    for (int64_t i = 0; i < n; i++) p[i] = value;
    return p;
}

static double largest(double a, double b) { return isnan(a) || a > b ? a : b; }

/* Sums first, then what the kind makes of them. */
static struct twin twin_of(const struct reduce *r, const float *x) {
    const struct shape whole = whole_of(r), kept = kept_of(r);
    struct twin t = {.results = numel(&kept), .elements = numel(&whole)};
    t.n = 1;
    for (int i = 0; i < r->rank; i++)
        if (r->axes >> i & 1) t.n *= r->shape[i];
    t.y = doubles(t.results, r->kind == REDUCE_MIN ? HUGE_VAL : r->kind == REDUCE_MAX ? -HUGE_VAL : 0.0);
    t.mean = doubles(t.results, 0.0);
    t.count = doubles(t.results, 0.0);
    t.magnitude = doubles(t.results, 0.0);
    double *top = doubles(t.results, -HUGE_VAL);
    t.result = malloc(((size_t)t.elements + 1) * sizeof *t.result);
    assert_non_null(t.result);
    const double p = (double)r->p;
    for (int64_t i = 0; i < t.elements; i++) {
        const int64_t o = t.result[i] = source_of(&whole, &kept, i);
        t.mean[o] += (double)x[i] / (double)t.n;
        t.magnitude[o] += fabs((double)x[i]);
        top[o] = largest((double)x[i], top[o]);
    }
    for (int64_t i = 0; i < t.elements; i++) {
        const int64_t o = t.result[i];
        const double v = (double)x[i], shift = isfinite(top[o]) ? top[o] : 0.0;
        switch (r->kind) {
        case REDUCE_SUM:
        case REDUCE_MEAN:
            t.y[o] += v;
            break;
        case REDUCE_MAX:
            t.y[o] = largest(v, t.y[o]);
            break;
        case REDUCE_MIN:
            t.y[o] = -largest(-v, -t.y[o]);
            break;
        case REDUCE_VAR:
            t.y[o] += (v - t.mean[o]) * (v - t.mean[o]);
            break;
        case REDUCE_LOGSUMEXP:
            t.y[o] += exp(v - shift);
            break;
        default:
            t.y[o] = isinf(r->p) ? largest(fabs(v), t.y[o]) : t.y[o] + pow(fabs(v), p);
        }
    }
    for (int64_t o = 0; o < t.results; o++) {
        const double shift = isfinite(top[o]) ? top[o] : 0.0;
        if (r->kind == REDUCE_MEAN) t.y[o] /= (double)t.n;
        if (r->kind == REDUCE_VAR) t.y[o] /= t.n > r->correction ? (double)(t.n - r->correction) : 0.0;
        if (r->kind == REDUCE_LOGSUMEXP) t.y[o] = log(t.y[o]) + shift;
        if (r->kind == REDUCE_NORM && !isinf(r->p)) t.y[o] = pow(t.y[o], 1.0 / p);
        if (t.n == 0) t.mean[o] = (double)NAN;
    }
    free(top);
    for (int64_t i = 0; i < t.elements; i++)
        t.count[t.result[i]] += (r->kind == REDUCE_NORM ? fabs((double)x[i]) : (double)x[i]) == t.y[t.result[i]];
    return t;
}

static void twin_free(struct twin *t) {
    free(t->y), free(t->mean), free(t->count), free(t->magnitude), free(t->result);
}

/* d result / d x_i */
static double slope_of(const struct reduce *r, const struct twin *t, double x, int64_t o) {
    const double y = t->y[o], sign = (x > 0) - (x < 0);
    switch (r->kind) {
    case REDUCE_SUM:
        return 1;
    case REDUCE_MEAN:
        return 1 / (double)t->n;
    case REDUCE_MAX:
    case REDUCE_MIN:
        return (x == y) / t->count[o];
    case REDUCE_VAR:
        return 2 * (x - t->mean[o]) / (t->n > r->correction ? (double)(t->n - r->correction) : 0.0);
    case REDUCE_LOGSUMEXP:
        return isinf(y) && y < 0 ? 0 : exp(x - y);
    default:
        if (isinf(r->p)) return sign * (fabs(x) == y) / t->count[o];
        return x == 0 ? 0 : sign * pow(fabs(x) / y, (double)r->p - 1);
    }
}

static void check_reduce(struct pool *pool, const struct reduce *r, const float *x) {
    char what[80];
    snprintf(what, sizeof what, "reduction %d (p = %g) of rank %d, axes %x", (int)r->kind, (double)r->p, r->rank,
             r->axes);
    struct twin t = twin_of(r, x);
    assert_int_equal(kernel_reduce_outputs(r), t.results);
    float *y = floats(t.results), *mean = floats(t.results), *dy = normals(t.results), *work = floats(t.results);
    kernel_reduce(pool, r, y, r->kind == REDUCE_VAR ? mean : NULL, x);
    for (int64_t o = 0; o < t.results; o++) {
        const double noise = r->kind == REDUCE_SUM    ? 1e-7 * t.magnitude[o]
                             : r->kind == REDUCE_MEAN ? 1e-7 * t.magnitude[o] / (double)(t.n + 1)
                                                      : 0;
        check_close(what, o, y[o], t.y[o], 2e-6, 1e-7 + noise);
        if (r->kind == REDUCE_VAR) check_close(what, o, mean[o], t.mean[o], 2e-6, 1e-6);
    }
    float *dx = normals(t.elements), *twice = normals(t.elements), *before = copy_of(twice, t.elements);
    const bool reads = r->kind != REDUCE_SUM && r->kind != REDUCE_MEAN;
    const float *saved = !reads ? NULL : r->kind == REDUCE_VAR ? mean : y;
    float *w = kernel_reduce_needs_work(r) ? work : NULL;
    kernel_reduce_grad(pool, r, dx, dy, reads ? x : NULL, saved, w, false);
    kernel_reduce_grad(pool, r, twice, dy, reads ? x : NULL, saved, w, true);
    for (int64_t i = 0; i < t.elements; i++) {
        const int64_t o = t.result[i];
        const double want = (double)dy[o] * slope_of(r, &t, (double)x[i], o);
        check_close(what, i, dx[i], want, 1e-5, 1e-6);
        check_close(what, i, twice[i], want + (double)before[i], 1e-5, 3e-6);
    }
    free(y), free(mean), free(dy), free(work), free(dx), free(twice), free(before);
    twin_free(&t);
}

/* Every kind, with both corrections and several p. */
static void check_all(struct pool *pool, struct reduce r) {
    static const float powers[] = {1, 2, INFINITY, 3, 1.5f};
    int64_t n = 1;
    for (int i = 0; i < r.rank; i++) n *= r.shape[i];
    float *x = normals(n);
    for (int kind = 0; kind < REDUCE_COUNT; kind++) {
        const int variants = kind == REDUCE_NORM ? LENGTH(powers) : kind == REDUCE_VAR ? 2 : 1;
        for (int v = 0; v < variants; v++) {
            r.kind = (enum reduction)kind;
            r.correction = v;
            r.p = powers[v % LENGTH(powers)];
            check_reduce(pool, &r, x);
        }
        for (int64_t i = 0; kind + 1 == REDUCE_MAX && i < n; i++) x[i] = rintf(x[i] * 2); /* ties */
    }
    free(x);
}

static struct reduce random_reduce(void) {
    const struct shape s = random_shape(0, 5);
    struct reduce r = {.rank = s.rank, .axes = draw(1u << s.rank)};
    memcpy(r.shape, s.size, sizeof r.shape);
    return r;
}

static void test_reduce(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) check_all(NULL, random_reduce());
}

static const struct reduce large[] = {
    {.rank = 2, .shape = {301, 403}, .axes = 1},       {.rank = 2, .shape = {151, 303}, .axes = 2},
    {.rank = 2, .shape = {151, 303}, .axes = 3},       {.rank = 2, .shape = {15001, 3}, .axes = 1},
    {.rank = 2, .shape = {15001, 3}, .axes = 2},       {.rank = 2, .shape = {2, 20021}, .axes = 2},
    {.rank = 3, .shape = {7, 83, 77}, .axes = 2},      {.rank = 3, .shape = {7, 83, 77}, .axes = 5},
    {.rank = 4, .shape = {5, 17, 31, 19}, .axes = 10}, {.rank = 4, .shape = {5, 17, 31, 19}, .axes = 5},
    {.rank = 2, .shape = {9, 5003}, .axes = 1},        {.rank = 1, .shape = {131072}, .axes = 1},
    {.rank = 3, .shape = {401, 67, 2}, .axes = 4}};

static void test_reduce_large(void **state) {
    (void)state;
    for (int i = 0; i < LENGTH(large); i++) check_all(math_pool[i % POOLS], large[i]);
}

static void test_reduce_threads(void **state) {
    (void)state;
    for (int i = 0; i < LENGTH(large); i++) {
        struct reduce r = large[i];
        const struct shape whole = whole_of(&r), kept = kept_of(&r);
        const int64_t n = numel(&whole), m = numel(&kept);
        float *x = normals(n), *dy = normals(m), *y0 = NULL, *dx0 = NULL, *to0 = NULL;
        for (int kind = 0; kind < REDUCE_COUNT; kind++) {
            r.kind = (enum reduction)kind;
            r.p = 3;
            for (int p = 0; p < POOLS; p++) {
                float *y = floats(m), *mean = floats(m), *work = floats(m), *dx = copy_of(x, n), *to = copy_of(dy, m);
                kernel_reduce(math_pool[p], &r, y, mean, x);
                kernel_reduce_grad(math_pool[p], &r, dx, dy, x, kind == REDUCE_VAR ? mean : y, work, true);
                kernel_reduce_to(math_pool[p], to, operand_of(&kept), x, operand_of(&whole), true);
                same_bits("reduction", p, &y0, y, m);
                same_bits("reduction's gradient", p, &dx0, dx, n);
                same_bits("reduce_to", p, &to0, to, m);
                free(mean), free(work);
            }
        }
        free(x), free(dy);
    }
}

static void test_reduce_to(void **state) {
    (void)state;
    for (int round = 0; round < 120; round++) {
        const struct shape whole = random_shape(0, 5), part = random_operand(&whole);
        const int64_t n = numel(&whole), m = numel(&part);
        float *x = normals(n), *y = normals(m), *sum = copy_of(y, m);
        double *want = doubles(m, 0.0);
        for (int64_t i = 0; i < n; i++) want[source_of(&whole, &part, i)] += (double)x[i];
        kernel_reduce_to(NULL, sum, operand_of(&part), x, operand_of(&whole), true);
        for (int64_t o = 0; o < m; o++) check_close("reduce_to, added", o, sum[o], want[o] + (double)y[o], 1e-6, 1e-5);
        kernel_reduce_to(NULL, y, operand_of(&part), x, operand_of(&whole), false);
        for (int64_t o = 0; o < m; o++) check_close("reduce_to", o, y[o], want[o], 1e-6, 1e-5);
        free(x), free(y), free(sum), free(want);
    }
}

/* A sum of a million equal numbers keeps its digits. */
static void test_accuracy(void **state) {
    (void)state;
    const int64_t n = 1 << 20;
    float *x = floats(n), y[4];
    for (int64_t i = 0; i < n; i++) x[i] = 0.1f;
    struct reduce all = {.kind = REDUCE_SUM, .rank = 1, .shape = {n}, .axes = 1};
    kernel_reduce(math_pool[1], &all, y, NULL, x);
    check_close("sum", 0, y[0], (double)0.1f * (double)n, 3e-7, 0);
    struct reduce columns = {.kind = REDUCE_SUM, .rank = 2, .shape = {n / 4, 4}, .axes = 1};
    kernel_reduce(math_pool[1], &columns, y, NULL, x);
    for (int i = 0; i < 4; i++) check_close("column sum", i, y[i], (double)0.1f * (double)n / 4, 3e-6, 0);
    for (int64_t i = 0; i < n; i++) x[i] = 1000.0f + (float)(i % 2);
    float mean;
    all.kind = REDUCE_VAR;
    kernel_reduce(math_pool[1], &all, y, &mean, x);
    check_close("variance", 0, y[0], 0.25, 1e-5, 0);
    free(x);
}

static float reduce_one(enum reduction kind, const float *x, int64_t n, float p) {
    const struct reduce r = {.kind = kind, .rank = 1, .shape = {n}, .axes = 1, .p = p};
    float y, mean;
    kernel_reduce(NULL, &r, &y, &mean, x);
    return y;
}

static void test_special(void **state) {
    (void)state;
    const float none[1] = {0}, low[3] = {-INFINITY, -INFINITY, -INFINITY}, high[3] = {1, INFINITY, 2};
    assert_true(reduce_one(REDUCE_SUM, none, 0, 0) == 0.0f);
    assert_true(isnan(reduce_one(REDUCE_MEAN, none, 0, 0)));
    assert_true(isnan(reduce_one(REDUCE_VAR, none, 0, 0)));
    assert_true(reduce_one(REDUCE_LOGSUMEXP, none, 0, 0) == -INFINITY);
    assert_true(reduce_one(REDUCE_NORM, none, 0, 2) == 0.0f);
    assert_true(reduce_one(REDUCE_NORM, none, 0, INFINITY) == 0.0f);
    assert_true(reduce_one(REDUCE_LOGSUMEXP, low, 3, 0) == -INFINITY);
    assert_true(reduce_one(REDUCE_LOGSUMEXP, high, 3, 0) == INFINITY);
    for (int64_t n = 1; n < 70; n++) /* wherever it lies */
        for (int64_t at = 0; at < n; at++) {
            float *x = normals(n);
            x[at] = NAN;
            assert_true(isnan(reduce_one(REDUCE_MAX, x, n, 0)) && isnan(reduce_one(REDUCE_MIN, x, n, 0)));
            assert_true(isnan(reduce_one(REDUCE_SUM, x, n, 0)) && isnan(reduce_one(REDUCE_NORM, x, n, INFINITY)));
            assert_true(isnan(reduce_one(REDUCE_LOGSUMEXP, x, n, 0)));
            free(x);
        }
    /* Norm and log-sum-exp where their gradient is not defined. */
    const float zero[3] = {0}, dy = 2;
    float y, dx[3], work;
    static const float powers[] = {1, 2, INFINITY, 3, 1.5f, 0.5f};
    for (int i = 0; i < LENGTH(powers); i++) {
        const struct reduce r = {.kind = REDUCE_NORM, .rank = 1, .shape = {3}, .axes = 1, .p = powers[i]};
        kernel_reduce(NULL, &r, &y, NULL, zero);
        kernel_reduce_grad(NULL, &r, dx, &dy, zero, &y, &work, false);
        assert_true(y == 0.0f && dx[0] == 0.0f && dx[1] == 0.0f && dx[2] == 0.0f);
    }
    const struct reduce r = {.kind = REDUCE_LOGSUMEXP, .rank = 1, .shape = {3}, .axes = 1};
    kernel_reduce(NULL, &r, &y, NULL, low);
    kernel_reduce_grad(NULL, &r, dx, &dy, low, &y, NULL, false);
    assert_true(dx[0] == 0.0f && dx[1] == 0.0f && dx[2] == 0.0f);
}

/* ---- Along one axis ---- */

static const int64_t lines[][3] = {{1, 1, 1},  {3, 5, 1},    {2, 7, 3},     {4, 0, 3},    {0, 4, 2},   {1, 9, 70},
                                   {5, 33, 9}, {1, 1000, 1}, {30, 2000, 1}, {3, 40, 500}, {700, 7, 13}};

static void check_cumsum(const int64_t *s, bool reverse) {
    const int64_t n = s[0] * s[1] * s[2];
    float *x = normals(n), *y0 = NULL;
    double *want = doubles(n, 0.0);
    for (int64_t o = 0; o < s[0] * s[2]; o++)
        for (int64_t i = 0, base = o / s[2] * s[1] * s[2] + o % s[2]; i < s[1]; i++) {
            const int64_t at = base + (reverse ? s[1] - 1 - i : i) * s[2], last = reverse ? at + s[2] : at - s[2];
            want[at] = (double)x[at] + (i ? want[last] : 0.0);
        }
    for (int p = 0; p < POOLS; p++) {
        float *y = floats(n), *twice = copy_of(x, n);
        kernel_cumsum(math_pool[p], y, x, s[0], s[1], s[2], reverse, false);
        kernel_cumsum(math_pool[p], twice, x, s[0], s[1], s[2], reverse, true);
        for (int64_t i = 0; i < n; i++) {
            check_close("cumsum", i, y[i], want[i], 1e-6, 1e-6);
            check_close("cumsum, added", i, twice[i], want[i] + (double)x[i], 1e-6, 1e-5);
        }
        free(twice);
        same_bits("cumsum", p, &y0, y, n);
    }
    free(x), free(want);
}

static void test_cumsum(void **state) {
    (void)state;
    for (int i = 0; i < LENGTH(lines); i++) {
        check_cumsum(lines[i], false);
        check_cumsum(lines[i], true);
    }
}

static bool above(float a, float b) { return a > b || (isnan(a) && !isnan(b)); }

static void test_argmax(void **state) {
    (void)state;
    for (int k = 0; k < LENGTH(lines); k++)
        for (int nan = 0; nan < 2; nan++) {
            const int64_t *s = lines[k], n = s[0] * s[1] * s[2], m = s[0] * s[2];
            if (s[1] == 0) continue;
            float *x = normals(n);
            for (int64_t i = 0; i < n; i++) x[i] = nan && draw(9) == 0 ? NAN : rintf(2 * x[i]);
            int32_t *index = malloc(((size_t)m + 1) * sizeof *index);
            for (int smallest = 0; smallest < 2; smallest++) {
                kernel_argmax(math_pool[k % POOLS], index, x, s[0], s[1], s[2], smallest);
                for (int64_t o = 0; o < m; o++) {
                    const float *line = x + o / s[2] * s[1] * s[2] + o % s[2];
                    int64_t best = 0;
                    for (int64_t i = 1; i < s[1]; i++) {
                        const float v = line[i * s[2]], b = line[best * s[2]];
                        if (isnan(v) ? !isnan(b) : smallest ? v < b : v > b) best = i;
                    }
                    assert_int_equal(index[o], best);
                }
            }
            free(x), free(index);
        }
}

static void check_topk(int64_t rows, int64_t n, int64_t k, bool nan) {
    float *x = normals(rows * n), *value = floats(rows * k);
    for (int64_t i = 0; i < rows * n; i++) x[i] = nan && draw(7) == 0 ? NAN : rintf(3 * x[i]);
    int32_t *index = malloc(((size_t)(rows * k) + 1) * sizeof *index);
    kernel_topk(math_pool[1], value, index, x, rows, n, k);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < k; i++) {
            const float *row = x + r * n, v = value[r * k + i];
            const int32_t at = index[r * k + i];
            assert_true(at >= 0 && at < n && memcmp(&row[at], &v, sizeof v) == 0);
            int64_t before = 0; /* those that must come first: larger, or equal with a lower index */
            for (int64_t j = 0; j < n; j++) before += above(row[j], v) || (!above(v, row[j]) && j < at);
            assert_int_equal(before, i);
        }
    free(x), free(value), free(index);
}

static void test_topk(void **state) {
    (void)state;
    for (int64_t n = 0; n < 12; n++)
        for (int64_t k = 0; k <= n; k++) {
            check_topk(3, n, k, false);
            check_topk(3, n, k, true);
        }
    check_topk(50, 1000, 40, true);
    check_topk(2, 20000, 5, false);
    check_topk(1, 300, 300, false);
}

static int tests(void) {
    const struct CMUnitTest list[] = {
        cmocka_unit_test(test_reduce),    cmocka_unit_test(test_reduce_large), cmocka_unit_test(test_reduce_threads),
        cmocka_unit_test(test_reduce_to), cmocka_unit_test(test_accuracy),     cmocka_unit_test(test_special),
        cmocka_unit_test(test_cumsum),    cmocka_unit_test(test_argmax),       cmocka_unit_test(test_topk)};
    return cmocka_run_group_tests(list, open_pools, close_pools);
}

int main(void) { return run_each_set(tests); }
