/* Ops on pictures: what they say to shapes and options that do not fit, running statistics, empty batches. */
#include "io/io_test.h"
#include "tensor/engine.h"

static heed_tensor *zeros(heed_ctx *cx, int64_t a, int64_t b, int64_t c, int64_t d) {
    return heed_zeros(cx, HEED_F32, 4, (int64_t[]){a, b, c, d});
}

#define REFUSED(call, sentence)                                                                                        \
    do {                                                                                                               \
        assert_null(call);                                                                                             \
        EXPECT_SENTENCE(cx, sentence);                                                                                 \
    } while (0)

static void test_conv(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    REFUSED(heed_conv2d(cx, zeros(cx, 1, 3, 5, 5), zeros(cx, 2, 4, 3, 3), NULL, NULL),
            "does not fit a weight of shape");
    REFUSED(heed_conv2d(cx, zeros(cx, 1, 3, 5, 5), zeros(cx, 2, 3, 7, 3), NULL, NULL),
            "has 5 rows, fewer than the 7 of the kernel");
    REFUSED(heed_conv2d(cx, zeros(cx, 1, 3, 5, 5), zeros(cx, 2, 3, 3, 3), zeros(cx, 1, 1, 1, 2), NULL),
            "a bias of shape");
    REFUSED(heed_conv2d(cx, zeros(cx, 1, 3, 5, 5), zeros(cx, 2, 3, 3, 3), NULL, &(heed_conv_opts){.stride = {-1, 1}}),
            "a stride of -1");
    REFUSED(heed_conv2d(cx, zeros(cx, 1, 3, 5, 5), zeros(cx, 2, 3, 3, 3), NULL, &(heed_conv_opts){.padding = {0, -1}}),
            "a padding of -1");
    REFUSED(heed_conv2d(cx, zeros(cx, 1, 4, 5, 5), zeros(cx, 3, 2, 3, 3), NULL, &(heed_conv_opts){.groups = 2}),
            "in 2 groups");
    REFUSED(heed_conv2d(cx, zeros(cx, 1, 4, 5, 5), zeros(cx, 3, 4, 3, 0), NULL, NULL), "a kernel of 0 columns");
    REFUSED(heed_conv1d(cx, zeros(cx, 1, 4, 5, 5), zeros(cx, 3, 4, 3, 3), NULL, NULL), "(B,C,T)");
    REFUSED(heed_conv_transpose2d(cx, zeros(cx, 1, 4, 5, 5), zeros(cx, 4, 4, 3, 3), NULL,
                                  &(heed_conv_opts){.output_padding = {1, 0}}),
            "an output padding of 1");
    REFUSED(heed_conv_transpose2d(cx, zeros(cx, 1, 4, 1, 1), zeros(cx, 4, 4, 1, 1), NULL,
                                  &(heed_conv_opts){.padding = {1, 1}}),
            "gives no rows");
    close_context(cx);
}

static void test_others(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    REFUSED(heed_max_pool2d(cx, zeros(cx, 1, 1, 2, 2), &(heed_pool_opts){.kernel = {3, 3}}),
            "is smaller than a window of 3");
    REFUSED(heed_max_pool2d(cx, zeros(cx, 1, 1, 2, 2), NULL), "a window of 0 places");
    REFUSED(heed_avg_pool2d(cx, zeros(cx, 1, 1, 4, 4), &(heed_pool_opts){.kernel = {2, 2}, .padding = {2, 0}}),
            "no more padding than half a window");
    REFUSED(heed_adaptive_avg_pool2d(cx, zeros(cx, 1, 1, 2, 2), 0, 1), "into (0,1)");
    REFUSED(heed_avg_pool1d(cx, zeros(cx, 1, 1, 2, 2), NULL), "is not (B,C,T)");
    REFUSED(heed_group_norm(cx, zeros(cx, 1, 4, 2, 2), 3, NULL, NULL, 1e-5f), "3 groups do not divide the 4 channels");
    REFUSED(heed_group_norm(cx, zeros(cx, 1, 4, 2, 2), 0, NULL, NULL, 1e-5f), "groups do not divide");
    REFUSED(heed_batch_norm(cx, zeros(cx, 1, 4, 1, 1), NULL, NULL, NULL, NULL, 1e-5f), "which has no variance");
    REFUSED(heed_batch_norm(cx, zeros(cx, 2, 4, 1, 1), heed_full(cx, 1, 1, (int64_t[]){3}), NULL, NULL, NULL, 1e-5f),
            "gamma of shape (3)");
    REFUSED(heed_batch_norm(cx, zeros(cx, 2, 4, 1, 1), NULL, NULL, heed_full(cx, 1, 1, (int64_t[]){4}), NULL, 1e-5f),
            "together or not at all");
    REFUSED(heed_interpolate(cx, zeros(cx, 1, 1, 2, 2), NULL), "to a size of (0,0)");
    REFUSED(heed_interpolate(cx, zeros(cx, 1, 1, 2, 2), &(heed_interpolate_opts){.size = {2, 2}, .antialias = true}),
            "only with bilinear and bicubic");
    REFUSED(heed_interpolate(cx, zeros(cx, 1, 1, 0, 2), &(heed_interpolate_opts){.size = {2, 2}}), "at least a row");
    REFUSED(heed_unfold(cx, zeros(cx, 1, 1, 2, 2), (int64_t[]){3, 1}, NULL), "fewer than the 3 of a patch");
    REFUSED(heed_unfold(cx, zeros(cx, 1, 1, 2, 2), NULL, NULL), "patches of 0 places");
    REFUSED(
        heed_fold(cx, heed_zeros(cx, HEED_F32, 3, (int64_t[]){1, 4, 5}), (int64_t[]){3, 3}, (int64_t[]){2, 2}, NULL),
        "is not (B, C 2 2, 2 2)");
    close_context(cx);
}

/* The mean and the unbiased variance of batches, as torch keeps them. */
static void test_running(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const float x[2][6] = {{1, 2, 3, 4, 5, 6}, {0, 1, 0, 3, 0, 8}}; /* (3,2) */
    float mean[2] = {0, 0}, variance[2] = {1, 1}, count = 0;
    double want_mean[2] = {0, 0}, want_variance[2] = {1, 1};
    for (int average = 0; average < 2; average++)
        for (int step = 0; step < 2; step++) {
            const heed_running r = {mean, variance, &count, average ? 0 : 0.1f};
            heed_tensor *y =
                heed_batch_norm_running(cx, heed_from_f32(cx, x[step], 2, (int64_t[]){3, 2}), NULL, NULL, &r, 1e-5f);
            assert_non_null(y);
            const double rate = average ? 1.0 / (2 * average + step + 1) : 0.1;
            for (int c = 0; c < 2; c++) {
                double m = 0, v = 0;
                for (int b = 0; b < 3; b++) m += (double)x[step][2 * b + c] / 3;
                for (int b = 0; b < 3; b++) v += pow((double)x[step][2 * b + c] - m, 2) / 2;
                want_mean[c] += rate * (m - want_mean[c]);
                want_variance[c] += rate * (v - want_variance[c]);
                assert_true(fabs((double)mean[c] - want_mean[c]) <= 1e-6);
                assert_true(fabs((double)variance[c] - want_variance[c]) <= 1e-5);
            }
        }
    assert_true(count == 4);
    heed_reset(cx);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conv), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_running)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
