/* Additive scores and squared distances against their formulas in double: odd and empty shapes, numbers beyond the
 * calm, infinities and NaN, pairs whose gradient is 0; and the same bits for 1, 2, 3 and 8 threads. For every set. */
#include "kernel/additive.h"
#include "kernel/distance.h"
#include "math_test.h"

struct sizes {
    int64_t batch, queries, keys, width;
};

static struct sizes random_sizes(bool large) {
    static const int64_t widths[] = {1, 2, 7, 31, 32, 33, 64, 100, 3, 0};
    struct sizes s = {1 + draw(3), draw(large ? 60 : 9), draw(large ? 150 : 70), widths[draw(draw(9) ? 9 : 10)]};
    if (large) s.queries += 20, s.keys += 20;
    return s;
}

static void *room(size_t bytes) {
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, 64, bytes + 1), 0);
    return p;
}

/* Gradients are stored over NaN, or added to 1. */
static float *target(int64_t n, bool add) {
    float *p = floats(n);
    for (int64_t i = 0; i < n; i++) p[i] = add ? 1.0f : NAN;
    return p;
}
static void check_all(const char *what, const float *got, const double *want, int64_t n, bool add, double scale) {
    for (int64_t i = 0; i < n; i++) check_close(what, i, got[i], want[i] + (add ? 1.0 : 0.0), 1e-5, scale);
}
static double *zeros(int64_t n) { return calloc((size_t)n + 1, sizeof(double)); }

/* ---- additive ---- */

struct additive_case {
    struct sizes n;
    float *q, *k, *w, *ds;
};

static struct additive_case make_additive(struct sizes n, float scale) {
    struct additive_case c = {n, normals(n.batch * n.queries * n.width), normals(n.batch * n.keys * n.width),
                              normals(n.width), normals(n.batch * n.queries * n.keys)};
    for (int64_t i = 0; i < n.batch * n.queries * n.width; i++) c.q[i] *= scale;
    for (int64_t i = 0; i < n.batch * n.keys * n.width; i++) c.k[i] *= i % 5 ? 1.0f : scale;
    for (int64_t i = 0; i < n.batch * n.queries * n.keys; i++)
        if (draw(4) == 0) c.ds[i] = 0.0f;
    return c;
}
static void free_additive(struct additive_case *c) { free(c->q), free(c->k), free(c->w), free(c->ds); }

static struct additive additive_of(const struct additive_case *c) {
    return (struct additive){c->n.batch, c->n.queries, c->n.keys, c->n.width, c->q, c->k, c->w};
}

static void check_additive(const struct additive_case *c, bool add) {
    const struct sizes n = c->n;
    const int64_t nq = n.batch * n.queries * n.width, nk = n.batch * n.keys * n.width,
                  ns = n.batch * n.queries * n.keys;
    const struct additive a = additive_of(c);
    void *work = room(kernel_additive_work(&a)), *back = room(kernel_additive_grad_work(&a));
    float *s = target(ns, false), *dq = target(nq, add), *dk = target(nk, add), *dw = target(n.width, add);
    double *want_q = zeros(nq), *want_k = zeros(nk), *want_w = zeros(n.width);
    kernel_additive(math_pool[1], &a, s, work);
    const struct additive_grad g = {c->ds, dq, dk, dw, add, add, add};
    kernel_additive_grad(math_pool[1], &a, &g, back);
    for (int64_t i = 0; i < n.batch * n.queries; i++)
        for (int64_t j = 0; j < n.keys; j++) {
            const int64_t key = i / n.queries * n.keys + j, at = i * n.keys + j;
            double sum = 0;
            for (int64_t h = 0; h < n.width; h++) {
                const double t = tanh((double)c->q[i * n.width + h] + (double)c->k[key * n.width + h]);
                const double g_w = (double)c->ds[at] * (double)c->w[h] * (1 - t * t);
                sum += (double)c->w[h] * t;
                want_q[i * n.width + h] += g_w, want_k[key * n.width + h] += g_w;
                want_w[h] += (double)c->ds[at] * t;
            }
            check_close("score", at, s[at], sum, 1e-5, 1e-6 + 5e-7 * (double)n.width);
        }
    check_all("dq", dq, want_q, nq, add, 4e-6);
    check_all("dk", dk, want_k, nk, add, 4e-6);
    check_all("dw", dw, want_w, n.width, add, 2e-5);
    free(work), free(back), free(s), free(dq), free(dk), free(dw), free(want_q), free(want_k), free(want_w);
}

static void test_additive(void **state) {
    (void)state;
    static const float scales[] = {1.0f, 1e-3f, 8.0f, 30.0f, 1e6f};
    for (int round = 0; round < 60; round++) {
        struct additive_case c = make_additive(random_sizes(false), scales[round % 5]);
        check_additive(&c, round % 2);
        free_additive(&c);
    }
}

/* tanh itself, by one channel with w = 1, over and beyond the calm. */
static void test_tanh(void **state) {
    (void)state;
    enum { N = 4001 };
    float q[N], k[1] = {0.0f}, w[1] = {1.0f}, s[N];
    const struct additive a = {1, N, 1, 1, q, k, w};
    void *work = room(kernel_additive_work(&a));
    static const float shifts[] = {0.0f, 7.0f, -19.5f, 40.0f};
    for (int shift = 0; shift < LENGTH(shifts); shift++) {
        k[0] = shifts[shift];
        for (int i = 0; i < N; i++) q[i] = (float)(i - N / 2) * 0.011f - k[0];
        kernel_additive(NULL, &a, s, work);
        for (int i = 0; i < N; i++) {
            const double want = tanh((double)q[i] + (double)k[0]);
            if (!(fabs((double)s[i] - want) <= 4e-7)) fail_msg("tanh %g: %.9g", (double)(q[i] + k[0]), (double)s[i]);
        }
    }
    free(work);
}

/* NaN and infinities stay in their pairs, and out of every gradient where ds is 0. */
static void test_additive_special(void **state) {
    (void)state;
    struct additive_case c = make_additive((struct sizes){1, 3, 5, 40}, 1.0f);
    c.k[2 * 40 + 39] = NAN, c.k[4 * 40] = INFINITY;
    for (int i = 0; i < 3; i++) c.ds[i * 5 + 2] = 0.0f;
    const struct additive a = additive_of(&c);
    void *work = room(kernel_additive_grad_work(&a));
    float s[15], dq[120], dk[200], dw[40];
    kernel_additive(NULL, &a, s, work);
    for (int i = 0; i < 15; i++) assert_true(i % 5 == 2 ? isnan(s[i]) : isfinite(s[i]));
    const struct additive_grad g = {c.ds, dq, dk, dw, false, false, false};
    kernel_additive_grad(NULL, &a, &g, work);
    for (int i = 0; i < 120; i++) assert_true(isfinite(dq[i]));
    for (int i = 0; i < 200; i++) assert_true(isfinite(dk[i]) && (i / 40 != 2 || dk[i] == 0.0f));
    for (int i = 0; i < 40; i++) assert_true(isfinite(dw[i]));
    assert_true(dk[4 * 40] == 0.0f);
    const struct additive_grad none = {c.ds, NULL, NULL, NULL, false, false, false};
    kernel_additive_grad(NULL, &a, &none, work);
    free(work);
    free_additive(&c);
}

static void test_additive_threads(void **state) {
    (void)state;
    for (int round = 0; round < 6; round++) {
        struct additive_case c = make_additive(random_sizes(true), round % 2 ? 1.0f : 12.0f);
        const struct sizes n = c.n;
        const int64_t ns = n.batch * n.queries * n.keys, nq = n.batch * n.queries * n.width,
                      nk = n.batch * n.keys * n.width;
        const struct additive a = additive_of(&c);
        void *work = room(kernel_additive_grad_work(&a));
        float *first = NULL;
        for (int t = 0; t < POOLS; t++) {
            float *all = floats(ns + nq + nk + n.width);
            kernel_additive(math_pool[t], &a, all, work);
            const struct additive_grad g = {c.ds, all + ns, all + ns + nq, all + ns + nq + nk, false, false, false};
            kernel_additive_grad(math_pool[t], &a, &g, work);
            same_bits("additive", t, &first, all, ns + nq + nk + n.width);
        }
        free(work);
        free_additive(&c);
    }
}

/* ---- distances ---- */

static void check_distance(struct sizes n, int64_t sharps, bool add) {
    const int64_t nq = n.batch * n.queries * n.width, nk = n.batch * n.keys * n.width,
                  ns = n.batch * n.queries * n.keys;
    float *q = normals(nq), *k = normals(nk), *s = normals(sharps), *g = normals(ns);
    const struct distance p = {n.batch, n.queries, n.keys, n.width, q, k, sharps ? s : NULL, sharps};
    void *work = room(kernel_distance_work(&p)), *back = room(kernel_distance_grad_work(&p));
    float *out = target(ns, false), *dq = target(nq, add), *dk = target(nk, add), *ds = target(sharps, add);
    double *want_q = zeros(nq), *want_k = zeros(nk), *want_s = zeros(sharps);
    kernel_distance(math_pool[1], &p, out, work);
    const struct distance_grad grad = {g, dq, dk, sharps ? ds : NULL, add, add, add};
    kernel_distance_grad(math_pool[1], &p, &grad, back);
    for (int64_t i = 0; i < n.batch * n.queries; i++)
        for (int64_t j = 0; j < n.keys; j++) {
            const int64_t key = i / n.queries * n.keys + j, at = i * n.keys + j;
            double sum = 0;
            for (int64_t c = 0; c < n.width; c++) {
                const double sharp = sharps ? (double)s[sharps > 1 ? c : 0] : 1.0;
                const double x = (double)q[i * n.width + c] - (double)k[key * n.width + c];
                sum += sharp * x * sharp * x;
                want_q[i * n.width + c] += 2 * sharp * sharp * x * (double)g[at];
                want_k[key * n.width + c] -= 2 * sharp * sharp * x * (double)g[at];
                if (sharps) want_s[sharps > 1 ? c : 0] += 2 * sharp * x * x * (double)g[at];
            }
            check_close("distance", at, out[at], sum, 2e-6, 1e-7);
        }
    check_all("dq", dq, want_q, nq, add, 5e-5);
    check_all("dk", dk, want_k, nk, add, 5e-5);
    check_all("dsharpness", ds, want_s, sharps, add, 1e-3);
    free(q), free(k), free(s), free(g), free(work), free(back), free(out), free(dq), free(dk), free(ds);
    free(want_q), free(want_k), free(want_s);
}

static void test_distance(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        const struct sizes n = random_sizes(false);
        check_distance(n, round % 3 == 0 ? 0 : round % 3 == 1 ? 1 : n.width, round % 2);
    }
}

/* What is near keeps its digits, far from 0; a pair without a gradient is not read. */
static void test_distance_special(void **state) {
    (void)state;
    float q[2] = {1000.0f, NAN}, k[3] = {1000.0f + 0x1p-10f, 1000.0f, INFINITY}, out[6], dq[2], dk[3];
    const float g[6] = {1, 1, 0, 0, 0, 0};
    const struct distance p = {1, 2, 3, 1, q, k, NULL, 0};
    void *work = room(kernel_distance_work(&p)), *back = room(kernel_distance_grad_work(&p));
    kernel_distance(NULL, &p, out, work);
    assert_true(out[0] == 0x1p-20f && out[1] == 0.0f && isinf(out[2]) && isnan(out[3]) && isnan(out[5]));
    kernel_distance_grad(NULL, &p, &(struct distance_grad){g, dq, dk, NULL, false, false, false}, back);
    assert_true(dq[0] == -0x1p-9f && dq[1] == 0.0f && dk[0] == 0x1p-9f && dk[1] == 0.0f && dk[2] == 0.0f);
    free(work), free(back);
}

static void test_distance_threads(void **state) {
    (void)state;
    for (int round = 0; round < 6; round++) {
        const struct sizes n = random_sizes(true);
        const int64_t nq = n.batch * n.queries * n.width, nk = n.batch * n.keys * n.width,
                      ns = n.batch * n.queries * n.keys;
        float *q = normals(nq), *k = normals(nk), *s = normals(n.width), *first = NULL;
        const struct distance p = {n.batch, n.queries, n.keys, n.width, q, k, s, n.width};
        void *work = room(kernel_distance_work(&p) + kernel_distance_grad_work(&p));
        for (int t = 0; t < POOLS; t++) {
            float *all = floats(ns + nq + nk + n.width);
            kernel_distance(math_pool[t], &p, all, work);
            const struct distance_grad g = {all, all + ns, all + ns + nq, all + ns + nq + nk, false, false, false};
            kernel_distance_grad(math_pool[t], &p, &g, work);
            same_bits("distance", t, &first, all, ns + nq + nk + n.width);
        }
        free(q), free(k), free(s), free(work);
    }
}

static int tests(void) {
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_additive),         cmocka_unit_test(test_tanh),
        cmocka_unit_test(test_additive_special), cmocka_unit_test(test_additive_threads),
        cmocka_unit_test(test_distance),         cmocka_unit_test(test_distance_special),
        cmocka_unit_test(test_distance_threads),
    };
    return cmocka_run_group_tests(all, open_pools, close_pools);
}

int main(void) { return run_each_set(tests); }
