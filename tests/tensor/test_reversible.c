/* Reversible layers: the gradients of an ordinary tape, the same dropout, and memory that does not grow with layers. */
#include "heed/attention.h"
#include "io/io_test.h"
#include <math.h>

enum { ROWS = 50, WIDTH = 16, MOST = 12, SIZE = WIDTH * WIDTH };

struct net {
    float value[MOST][2][SIZE], grad[MOST][2][SIZE], x[ROWS * WIDTH];
    heed_grad slot[MOST][2];
    int calls[2]; /* of f that were given what it kept, and not */
};

static heed_tensor *half(heed_ctx *cx, const void *own, int layer, int which, heed_tensor *x, heed_tensor *scale) {
    struct net *net = *(struct net *const *)own;
    heed_tensor *w =
        heed_borrow(cx, HEED_F32, net->value[layer][which], 2, (int64_t[]){WIDTH, WIDTH}, &net->slot[layer][which]);
    return heed_mul(cx, heed_dropout(cx, heed_tanh(cx, heed_linear(cx, x, w, NULL)), 0.3f), scale);
}

static heed_tensor *f(heed_ctx *cx, const void *own, int layer, heed_tensor *x, heed_tensor *const *also,
                      heed_tensor **kept) {
    struct net *net = *(struct net *const *)own;
    net->calls[*kept != NULL]++;
    if (!*kept) *kept = heed_full(cx, (float)layer, 1, (int64_t[]){1});
    heed_tensor *given = *kept;
    if (heed_f32(given) && heed_f32(given)[0] != (float)layer) return NULL;
    return half(cx, own, layer, 0, x, also[0]);
}

static heed_tensor *g(heed_ctx *cx, const void *own, int layer, heed_tensor *x, heed_tensor *const *also,
                      heed_tensor **kept) {
    (void)kept;
    return half(cx, own, layer, 1, x, also[0]);
}

static void fill(struct net *net) {
    memset(net, 0, sizeof *net);
    heed_random_normal(1, 0, 0, net->x, ROWS * WIDTH);
    for (int i = 0; i < MOST; i++)
        for (int k = 0; k < 2; k++) {
            heed_random_normal(2, (uint64_t)(2 * i + k), 0, net->value[i][k], SIZE);
            for (int n = 0; n < SIZE; n++) net->value[i][k][n] *= 0.2f;
            net->slot[i][k].data = net->grad[i][k];
        }
}

/* A step; the gradient of x goes to dx. Its peak of memory. plain: with an ordinary tape, as under capture. */
static size_t step(struct net *net, int layers, bool plain, bool dry, float *y, float *dx) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry});
    heed_set_training(cx, true);
    heed_tensor *x = heed_want_grad(cx, heed_from_f32(cx, net->x, 2, (int64_t[]){ROWS, WIDTH}));
    heed_tensor *also[] = {heed_full(cx, 0.5f, 1, (int64_t[]){1})}, *both[] = {x, x};
    struct net *const own = net;
    const heed_reversible_opts o = {
        .f = f, .g = g, .layers = layers, .own = &own, .own_size = sizeof own, .also = also, .n_also = 1};
    if (plain) assert_true(heed_capture_begin(cx, NULL));
    if (!heed_reversible(cx, &o, both)) fail_msg("%s", heed_message(cx));
    heed_tensor *out = heed_concat(cx, both, 2, -1);
    heed_copy_f32(cx, out, y, 2 * ROWS * WIDTH);
    assert_true(heed_backward(cx, heed_sum(cx, heed_mul(cx, out, out), NULL, 0, false)));
    if (!dry) assert_true(heed_copy_f32(cx, heed_grad_of(cx, x), dx, ROWS * WIDTH));
    const size_t peak = heed_memory_use(cx).step_peak;
    if (plain) heed_capture_end(cx);
    assert_false(heed_failed(cx));
    heed_close(cx);
    return peak;
}

static void near(const float *a, const float *b, int n, const char *what) {
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs((double)b[i]));
    for (int i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 2e-5 * most))
            fail_msg("%s[%d] is %g, not %g", what, i, (double)a[i], (double)b[i]);
}

static void test_same(void **state) {
    (void)state;
    static struct net net[2];
    static float y[2][2 * ROWS * WIDTH], dx[2][ROWS * WIDTH];
    for (int plain = 0; plain < 2; plain++) {
        fill(&net[plain]);
        step(&net[plain], MOST, plain, false, y[plain], dx[plain]);
    }
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    near(dx[0], dx[1], ROWS * WIDTH, "dx");
    for (int i = 0; i < MOST; i++)
        for (int k = 0; k < 2; k++) near(net[0].grad[i][k], net[1].grad[i][k], SIZE, "dw");
    assert_true(net[0].calls[0] == MOST && net[0].calls[1] == MOST); /* once each way */
    assert_true(net[1].calls[0] == MOST && net[1].calls[1] == 0);
}

static void test_memory(void **state) {
    (void)state;
    static struct net net;
    static float y[2 * ROWS * WIDTH], dx[ROWS * WIDTH];
    size_t peak[2][2][2]; /* dry, plain, layers */
    for (int dry = 0; dry < 2; dry++)
        for (int plain = 0; plain < 2; plain++)
            for (int deep = 0; deep < 2; deep++) {
                fill(&net);
                peak[dry][plain][deep] = step(&net, deep ? MOST : 2, plain, dry, y, dx);
            }
    assert_memory_equal(peak[0], peak[1], sizeof peak[0]);
    /* of ten layers more: what f keeps, 64 bytes each with the arena's rounding, and no array */
    assert_true(peak[0][0][1] - peak[0][0][0] <= 10 * 128);
    assert_true(peak[0][1][1] > 2 * peak[0][1][0]);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *x[] = {heed_zeros(cx, HEED_F32, 1, (int64_t[]){3}), heed_zeros(cx, HEED_F32, 1, (int64_t[]){4})};
    assert_false(heed_reversible(cx, &(heed_reversible_opts){.f = f, .g = g, .layers = 1}, x));
    EXPECT_SENTENCE(cx, "two inputs of one shape");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
