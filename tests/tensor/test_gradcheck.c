/* Gradients against finite differences along random directions, for every input of every golden case.
 *
 * L(x) = sum_j sum(out_j * dout_j), added up in double. Along v, L'(0) is taken from central differences at h and h/2
 * (Richardson: the error falls with h^4) and held against <dL/dx, v>. The results that L is made of are f32: each is
 * off by some 1e-7 of itself, and the difference divides that by h. */
#include "tensor/golden.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define H          (1.0 / 64)
#define DIRECTIONS 2

static heed_ctx *cx;

/* L, and in *size the sum of its terms' absolute values. The case's input i is replaced by x. */
static double loss_at(const struct golden_case *c, int i, const float *x, double *size) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    struct golden_case moved = *c;
    heed_array with = *c->in[i];
    with.data = x;
    moved.in[i] = &with;
    double loss = 0;
    *size = 0;
    heed_clear(cx);
    heed_set_grad(cx, false);
    if (!golden_leaves(cx, &moved, in) || !golden_run(cx, &moved, in, out)) loss = (double)NAN;
    for (int j = 0; !isnan(loss) && j < c->n_out; j++) {
        if (!c->dout[j]) continue;
        const int64_t n = heed_count(out[j]);
        const float *dy = c->dout[j]->data;
        float *y = malloc(((size_t)n + 1) * sizeof *y);
        heed_copy_f32(cx, out[j], y, n);
        for (int64_t k = 0; k < n; k++) {
            loss += (double)y[k] * (double)dy[k];
            *size += fabs((double)y[k] * (double)dy[k]);
        }
        free(y);
    }
    heed_set_grad(cx, true);
    return loss;
}

static double central(const struct golden_case *c, int i, const float *v, double h, double *size) {
    const int64_t n = heed_array_count(c->in[i]);
    const float *x = c->in[i]->data;
    float *moved = malloc(((size_t)n + 1) * sizeof *moved);
    for (int64_t k = 0; k < n; k++) moved[k] = (float)((double)x[k] + h * (double)v[k]);
    const double up = loss_at(c, i, moved, size);
    for (int64_t k = 0; k < n; k++) moved[k] = (float)((double)x[k] - h * (double)v[k]);
    const double down = loss_at(c, i, moved, size);
    free(moved);
    return (up - down) / (2 * h);
}

/* Directions are of -1, -1/2, 1/2 and 1, so that x + h v is nearly exact in f32. */
static bool check_direction(const struct golden_case *c, int i, const float *gradient, uint64_t stream) {
    static const float steps[] = {-1, -0.5f, 0.5f, 1};
    const int64_t n = heed_array_count(c->in[i]);
    float *v = malloc(((size_t)n + 1) * sizeof *v);
    double slope = 0, parts = 0, size = 0;
    for (int64_t k = 0; k < n; k++) {
        v[k] = steps[heed_random_bits(11, stream, (uint64_t)k) % 4];
        slope += (double)gradient[k] * (double)v[k];
        parts += fabs((double)gradient[k] * (double)v[k]);
    }
    const double wide = central(c, i, v, H, &size), narrow = central(c, i, v, H / 2, &size);
    const double found = (4 * narrow - wide) / 3;
    /* 2e-4 of what is added up for the gradient itself. 2e-7 of L's terms, over h, for the rounding of results; the 3
     * stands for results near 0 that are differences of numbers of that order. */
    const double tolerance = 2e-4 * parts + 2e-7 * (size + 3) / H;
    free(v);
    if (!(fabs(found - slope) <= tolerance))
        return golden_wrong(c->name, "input %d: finite differences give %.7g, the gradient %.7g (within %.2g)", i,
                            found, slope, tolerance);
    return true;
}

static void check_case(const struct golden_case *c, uint64_t stream) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    float *gradient[MAX_CASE_IN] = {NULL};
    heed_clear(cx);
    bool ok = golden_leaves(cx, c, in) && golden_run(cx, c, in, out) && golden_back(cx, c, out);
    for (int i = 0; ok && i < c->n_in; i++) {
        if (!c->din[i]) continue;
        const int64_t n = heed_array_count(c->in[i]);
        gradient[i] = calloc((size_t)n + 1, sizeof(float));
        const heed_tensor *g = heed_grad_of(cx, in[i]);
        ok = g ? heed_copy_f32(cx, g, gradient[i], n) : golden_wrong(c->name, "no gradient for input %d", i);
    }
    for (int i = 0; ok && i < c->n_in; i++)
        for (uint64_t d = 0; gradient[i] && d < DIRECTIONS; d++) check_direction(c, i, gradient[i], stream * 64 + d);
    for (int i = 0; i < c->n_in; i++) free(gradient[i]);
}

static void finite_differences(void **state) {
    (void)state;
    cx = heed_open(&(heed_config){.threads = 1});
    const struct golden *g = golden_open();
    for (int i = 0; i < g->n; i++)
        if (golden_has_gradient(&g->cases[i]) && !g->cases[i].kink) check_case(&g->cases[i], (uint64_t)i);
    heed_close(cx);
    golden_close();
    assert_int_equal(golden_wrongs(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finite_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
