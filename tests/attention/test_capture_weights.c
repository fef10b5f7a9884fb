/* Capture of attention that is made of ops: pooled attention, weights handed over, the steps of a recurrent decoder. */
#include "heed/attention.h"
#include "io/io_test.h"

enum { B = 2, H = 3, TQ = 4, TK = 5 };

#define SHAPE(...)                                                                                                     \
    (int64_t[]) { __VA_ARGS__ }

static heed_tensor *normals(heed_ctx *cx, uint64_t stream, int rank, const int64_t *shape) {
    float x[512];
    heed_random_normal(3, stream, 0, x, 512);
    return heed_from_f32(cx, x, rank, shape);
}

static heed_tensor *some_weights(heed_ctx *cx, uint64_t stream, int rank, const int64_t *shape) {
    heed_tensor *t = heed_softmax(cx, normals(cx, stream, rank, shape), -1);
    assert_non_null(t);
    return t;
}

static void check_map(const heed_ctx *cx, int i, const char *site, int layer, int64_t batch, int64_t heads,
                      int64_t rows, const heed_tensor *want) {
    const heed_capture_map *m = heed_capture_at(cx, i);
    assert_non_null(m);
    assert_string_equal(m->site, site);
    assert_int_equal(m->layer, layer);
    assert_true(m->batch == batch && m->heads == heads && m->rows == rows && m->keys == TK);
    if (want) assert_memory_equal(m->weights, heed_f32(want), (size_t)heed_count(want) * sizeof(float));
}

static void test_ranks(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *four = some_weights(cx, 1, 4, SHAPE(B, H, TQ, TK)), *three = some_weights(cx, 2, 3, SHAPE(B, TQ, TK)),
                *two = some_weights(cx, 3, 2, SHAPE(TQ, TK));
    assert_true(heed_capture_weights(cx, "none", 0, 0, two)); /* nobody asks */
    assert_int_equal(heed_capture_count(cx), 0);
    assert_true(heed_capture_begin(cx, NULL));
    assert_true(heed_capture_weights(cx, "cross", 7, 0, four));
    assert_true(heed_capture_weights(cx, NULL, 1, 0, three));
    assert_true(heed_capture_weights(cx, "pool", 0, 0, two));
    assert_int_equal(heed_capture_count(cx), 3);
    check_map(cx, 0, "cross", 7, B, H, TQ, four);
    check_map(cx, 1, "attention", 1, B, 1, TQ, three);
    check_map(cx, 2, "pool", 0, 1, 1, TQ, two);
    heed_capture_end(cx);
    /* what was asked for, and nothing else */
    assert_true(heed_capture_begin(
        cx, &(heed_capture_opts){
                .site = "cross", .heads = (int64_t[]){2}, .n_heads = 1, .rows = (int64_t[]){3, 0}, .n_rows = 2}));
    assert_true(heed_capture_weights(cx, "cross", 0, 0, four));
    assert_true(heed_capture_weights(cx, "pool", 0, 0, two));
    assert_int_equal(heed_capture_count(cx), 1);
    check_map(cx, 0, "cross", 0, B, 1, 2, NULL);
    const float *w = heed_capture_at(cx, 0)->weights, *all = heed_f32(four);
    for (int b = 0; b < B; b++) {
        assert_memory_equal(w + 2 * b * TK, all + ((b * H + 2) * TQ + 3) * TK, TK * sizeof(float));
        assert_memory_equal(w + (2 * b + 1) * TK, all + (b * H + 2) * TQ * TK, TK * sizeof(float));
    }
    assert_false(heed_capture_weights(cx, "cross", 1, 0, some_weights(cx, 4, 3, SHAPE(B, TQ, TK))));
    EXPECT_SENTENCE(cx, "capture: head 2: cross layer 1 has heads 0 to 0");
    assert_false(heed_capture_weights(cx, "cross", 1, 0, heed_zeros(cx, HEED_F32, 1, SHAPE(TK))));
    EXPECT_SENTENCE(cx, "capture: weights of f32 and of shape (B,H,Tq,Tk) are needed, not (5)");
    assert_false(heed_capture_weights(cx, "cross", 1, 0, NULL));
    EXPECT_SENTENCE(cx, "are needed, not NULL");
    heed_capture_end(cx);
    close_context(cx);
}

/* Rows that come one by one are one map; another attention, or another size, begins a new one. */
static void test_steps(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *whole = some_weights(cx, 1, 4, SHAPE(B, H, TQ, TK));
    assert_true(heed_capture_begin(cx, NULL));
    for (int t = 0; t < TQ; t++) {
        assert_true(heed_capture_weights(cx, "cross", 0, t, heed_slice(cx, whole, 2, t, 1)));
        assert_true(heed_capture_weights(cx, "cross", 1, t, heed_slice(cx, whole, 2, t, 1)));
    }
    assert_int_equal(heed_capture_count(cx), 2);
    for (int layer = 0; layer < 2; layer++) check_map(cx, layer, "cross", layer, B, H, TQ, whole);
    assert_true(heed_capture_weights(cx, "cross", 0, 0, heed_slice(cx, whole, 2, 0, 1))); /* a new sentence */
    assert_true(heed_capture_weights(cx, "cross", 0, 1, heed_slice(cx, whole, 2, 1, 2)));
    check_map(cx, 2, "cross", 0, B, H, 3, NULL);
    assert_true(heed_capture_weights(cx, "cross", 0, 3, some_weights(cx, 9, 3, SHAPE(B, 1, TK)))); /* other heads */
    assert_int_equal(heed_capture_count(cx), 4);
    heed_capture_end(cx);
    /* under the cap, and with the memory there is */
    const size_t row = B * H * TK * sizeof(float);
    assert_true(heed_capture_begin(cx, &(heed_capture_opts){.byte_cap = 2 * row}));
    for (int t = 0; t < 2; t++) assert_true(heed_capture_weights(cx, NULL, 0, t, heed_slice(cx, whole, 2, t, 1)));
    assert_false(heed_capture_weights(cx, NULL, 0, 2, heed_slice(cx, whole, 2, 2, 1)));
    EXPECT_SENTENCE(cx, "capture: attention layer 0 would make it 360 bytes, the cap is 240");
    heed_capture_end(cx);
    close_context(cx);
}

struct seen {
    int n;
    int64_t row[8];
};

static void see(void *user, const heed_captured *row) {
    struct seen *s = user;
    assert_string_equal(row->site, "cross");
    s->row[s->n++] = row->row;
}

static void test_streamed(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct seen s = {0};
    heed_tensor *w = some_weights(cx, 1, 2, SHAPE(2, TK));
    assert_true(heed_capture_begin(cx, &(heed_capture_opts){.fn = see, .user = &s}));
    assert_true(heed_capture_weights(cx, "cross", 0, 0, w) && heed_capture_weights(cx, "cross", 0, 2, w));
    assert_int_equal(s.n, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(s.row[i], i);
    heed_capture_end(cx);
    close_context(cx);
}

/* Pooled attention of any score is captured, with its site, and its output does not change. */
static void test_pooled(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *q = normals(cx, 1, 4, SHAPE(B, H, TQ, 6)), *k = normals(cx, 2, 4, SHAPE(B, H, TK, 6)),
                *v = normals(cx, 3, 4, SHAPE(B, H, TK, 2)), *weights;
    heed_score_opts score = {.kind = HEED_SCORE_SCALED_DOT, .site = "pool", .layer = 2};
    const heed_tensor *want = heed_attention_pool(cx, q, k, v, &score, HEED_NORMALISE_SIGMOID, NULL, &weights);
    assert_true(heed_capture_begin(cx, NULL));
    const heed_tensor *y = heed_attention_pool(cx, q, k, v, &score, HEED_NORMALISE_SIGMOID, NULL, NULL);
    assert_memory_equal(heed_f32(y), heed_f32(want), (size_t)heed_count(y) * sizeof(float));
    assert_int_equal(heed_capture_count(cx), 1);
    check_map(cx, 0, "pool", 2, B, H, TQ, weights);
    heed_capture_end(cx);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_streamed),
        cmocka_unit_test(test_pooled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
