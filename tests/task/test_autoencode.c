/* Autoencoders in use: log p(x) against a sum over all codes, the bound below it, ways between codes, what is drawn for
 * pictures, and what is refused. */
#include "heed/autoencode.h"
#include "task/task_test.h"

enum { SIDE = 4, PIXELS = SIDE * SIDE, PICTURES = 6, GRID = 4001 };

static heed_model *small(heed_ctx *cx, const char *family, const char *more) {
    const char *const settings[] = {"image_size=4", "hidden_sizes=5", "latent_size=1", "likelihood=bernoulli", more};
    heed_model *const m = heed_model_new(cx, heed_family_find(family), settings, more ? 5 : 4, 3);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

/* Grey pictures of half black and white, as bytes. */
static heed_picture_set *pictures(heed_ctx *cx, float pixels[PICTURES * PIXELS]) {
    heed_data *const d = heed_data_digits(cx, 1, PICTURES);
    assert_non_null(d);
    d->image_height = d->image_width = SIDE;
    d->width = PIXELS;
    for (int64_t i = 0; i < PICTURES * PIXELS; i++) {
        d->bytes[i] = heed_random_bits(5, 0, (uint64_t)i) % 2 ? 255 : 0;
        pixels[i] = d->bytes[i] ? 1 : 0;
    }
    return heed_picture_set_of(cx, d);
}

static heed_picture_input input_of(heed_ctx *cx, const heed_model *m) {
    heed_picture_input input;
    assert_true(heed_picture_input_of(cx, m, &input));
    input.processor = heed_picture_processor_for(&input, (float[4]){0}, (float[4]){1, 1, 1, 1});
    return input;
}

/* log of the sum over a fine grid of p(z) p(x | z), the mean over pictures */
static double summed(heed_ctx *cx, const heed_model *m, const float *x) {
    const double step = 16.0 / (GRID - 1);
    float *const z = heed_mem_new(cx, GRID * sizeof *z), *const y = heed_mem_new(cx, GRID * PIXELS * sizeof *y);
    double all = 0;
    for (int i = 0; i < GRID; i++) z[i] = (float)(-8 + i * step);
    assert_true(heed_decode_codes(cx, m, z, GRID, y));
    for (int p = 0; p < PICTURES; p++) {
        double sum = 0;
        for (int i = 0; i < GRID; i++) {
            double log_p = -0.5 * (double)z[i] * (double)z[i] - 0.5 * log(2 * 3.14159265358979);
            for (int k = 0; k < PIXELS; k++)
                log_p += log(x[p * PIXELS + k] > 0 ? (double)y[i * PIXELS + k] : 1 - (double)y[i * PIXELS + k]);
            sum += exp(log_p) * step;
        }
        all += log(sum) / PICTURES;
    }
    heed_mem_free(cx, z);
    heed_mem_free(cx, y);
    return all;
}

static void test_estimate(void **state) {
    (void)state;
    heed_ctx *const cx = open_context();
    float x[PICTURES * PIXELS];
    heed_model *const m = small(cx, "vae", "sigma=fixed");
    heed_picture_set *const set = pictures(cx, x);
    const heed_picture_input input = input_of(cx, m);
    heed_coder_score score;
    const heed_coder_measure_opts opts = {.seed = 1, .samples = 3000};
    if (!heed_coder_measure(cx, m, set, &input, &opts, &score)) fail_msg("%s", heed_message(cx));
    const double wanted = summed(cx, m, x);
    if (!(fabs(score.log_likelihood - wanted) < 0.02))
        fail_msg("log p(x) is estimated as %g, and is %g", score.log_likelihood, wanted);
    assert_true(score.elbo < wanted);
    assert_true(fabs(score.loss + score.elbo) < 1e-4); /* of a Bernoulli likelihood the loss is the bound */
    assert_true(fabs(score.elbo + score.reconstruction + score.kl) < 1e-4);
    heed_picture_set_free(cx, set);
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_ways(void **state) {
    (void)state;
    const float a[] = {3, 0, 0}, b[] = {0, 4, 0}, c[] = {6, 0, 0};
    float way[5 * 3];
    heed_codes_between(a, b, 3, 5, false, way);
    assert_true(way[0] == 3 && way[12] == 0 && way[13] == 4);
    assert_true(fabsf(way[6] - 1.5f) < 1e-6f && fabsf(way[7] - 2) < 1e-6f);
    heed_codes_between(a, b, 3, 5, true, way);
    for (int s = 0; s < 5; s++) {
        const float *const z = way + 3 * s;
        assert_true(fabsf(sqrtf(z[0] * z[0] + z[1] * z[1]) - (3 + 0.25f * (float)s)) < 1e-5f);
    }
    heed_codes_between(a, c, 3, 5, true, way); /* no angle between them: a straight line */
    assert_true(fabsf(way[6] - 4.5f) < 1e-5f);
}

static void test_corruption(void **state) {
    (void)state;
    enum { N = 20000 };
    static float x[N], y[N], z[N];
    for (int i = 0; i < N; i++) x[i] = 0.3f;
    heed_corruption c = {.binarize = HEED_BINARIZE_DYNAMIC};
    heed_corrupt(&c, 1, 0, 0, N, x, y);
    heed_corrupt(&c, 1, 1, 0, N, x, z);
    int ones = 0, same = 0;
    for (int i = 0; i < N; i++) {
        assert_true(y[i] == 0 || y[i] == 1);
        ones += y[i] > 0;
        same += (y[i] > 0) == (z[i] > 0);
    }
    assert_true(ones > 0.28 * N && ones < 0.32 * N);
    assert_true(same > 0.55 * N && same < 0.61 * N); /* 0.3^2 + 0.7^2 */
    heed_corrupt(&c, 1, 0, 0, N, x, z);
    assert_memory_equal(y, z, sizeof y);
    c = (heed_corruption){.noise = 0.1, .mask = 0.25};
    heed_corrupt(&c, 1, 0, 3, N, x, y);
    int gone = 0;
    for (int i = 0; i < N; i++) {
        assert_true(y[i] >= 0 && y[i] <= 1);
        gone += y[i] == 0;
    }
    assert_true(gone > 0.24 * N && gone < 0.27 * N);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *const cx = open_context();
    float x[PICTURES * PIXELS], out[PIXELS];
    heed_model *const plain = small(cx, "autoencoder", NULL), *const m = small(cx, "vae", NULL);
    heed_picture_set *const set = pictures(cx, x);
    const heed_picture_input input = input_of(cx, plain);
    heed_coder_score score;
    heed_coder coder;
    assert_true(heed_coder_of(cx, m, &coder) && coder.variational && coder.latent == 1 && coder.numbers == PIXELS);
    assert_false(heed_coder_measure(cx, plain, set, &input, &(heed_coder_measure_opts){.samples = 2}, &score));
    EXPECT_SENTENCE(cx, "variational autoencoder's codes");
    x[3] = 1.5f;
    assert_false(heed_encode_pixels(cx, m, x, 1, out, NULL));
    EXPECT_SENTENCE(cx, "a pixel of 1.5: a Bernoulli likelihood takes numbers from 0 to 1");
    assert_false(heed_decode_codes(cx, m, NULL, 1, out));
    EXPECT_SENTENCE(cx, "decode: codes");
    heed_picture_set_free(cx, set);
    heed_model_free(cx, m);
    heed_model_free(cx, plain);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_corruption),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
