/* Captured weights as an npy file: one sequence, the maps of a site in order; and what is refused. */
#include "heed/attention.h"
#include "io/io_test.h"

enum { B = 2, T = 5, H = 3, D = 4, N = B * T * H * D };

static void run(heed_ctx *cx, const char *site, int layer, int64_t time) {
    float x[N];
    heed_random_normal(5, (uint64_t)layer, 0, x, N);
    heed_tensor *q = heed_from_f32(cx, x, 4, (int64_t[]){B, time, H, D});
    assert_non_null(heed_attention(cx, q, q, q, &(heed_attention_opts){.site = site, .layer = layer}));
}

static void refused(heed_ctx *cx, const char *path, const char *site, int64_t batch, const char *words) {
    assert_false(heed_capture_write(cx, path, site, batch));
    if (!strstr(heed_message(cx), words)) fail_msg("'%s' lacks '%s'", heed_message(cx), words);
    heed_clear(cx);
}

static void test_write(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("weights.npy"));
    heed_ctx *cx = open_context();
    refused(cx, path, NULL, 0, "nothing of any attention was kept");
    assert_true(heed_capture_begin(cx, NULL));
    run(cx, "encoder", 0, T);
    run(cx, "decoder", 0, T - 1);
    run(cx, "encoder", 1, T);
    refused(cx, path, "cross", 0, "nothing of cross was kept");
    refused(cx, path, "encoder", B, "sequence 2");
    refused(cx, path, NULL, 0, "decoder layer 0");
    assert_true(heed_capture_write(cx, path, "encoder", 1));
    heed_array *a = heed_npy_read(cx, path);
    assert_non_null(a);
    const int64_t shape[] = {2, H, T, T};
    assert_int_equal(a->rank, 4);
    assert_memory_equal(a->shape, shape, sizeof shape);
    const float *w = a->data;
    for (int i = 0; i < 2; i++)
        assert_memory_equal(w + i * H * T * T, heed_capture_at(cx, 2 * i)->weights + H * T * T,
                            sizeof(float) * H * T * T);
    heed_mem_free(cx, a);
    remove(path);
    heed_capture_end(cx);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
