/* Exact attention, its cache and capture with 1, 2, 3 and 8 threads: the same bits, forward and backward; and a
 * sequence gives the same bits alone as in a batch. */
#include "attention/attention_test.h"
#include "brief.h"

#if BRIEF
static const int threads[] = {1, 3};
enum { T = 150 };
#else
static const int threads[] = {1, 2, 3, 8};
enum { T = 300 };
#endif
enum { B = 3, H = 4, D = 24, KINDS = 6 };

struct bytes { /* of all results, one after another */
    float *numbers;
    int64_t n;
};

static void note(struct bytes *all, const float *x, int64_t n) {
    assert_non_null(x);
    all->numbers = realloc(all->numbers, (size_t)(all->n + n) * sizeof(float));
    memcpy(all->numbers + all->n, x, (size_t)n * sizeof(float));
    all->n += n;
}

static void note_tensor(heed_ctx *cx, struct bytes *all, const heed_tensor *t) {
    float *x = copy_of(cx, t);
    if (!x) fail_msg("%s", heed_message(cx));
    note(all, x, heed_count(t));
    free(x);
}

/* Options of sequences first .. first + batch; biases are the same for all of them. */
static heed_attention_opts options(heed_ctx *cx, int kind, int64_t first, int64_t batch, heed_tensor **bias) {
    static const heed_rotary_opts turn = {0};
    const int32_t lengths[] = {T, T / 3, 2};
    heed_attention_opts o = {.mask = heed_mask_causal(0)};
    if (kind == 1) o.mask = heed_mask_lengths(heed_from_i32(cx, lengths + first, 1, &batch), NULL);
    if (kind == 2) o.mask = heed_mask_both(cx, o.mask, heed_mask_window(40, 0)), o.rotary = &turn;
    if (kind == 3) o.mask.add = *bias = heed_want_grad(cx, normals(cx, 5, 1, H, T, T));
    if (kind == 4) o.distance_bias = *bias = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 2, SHAPE(H, 2 * T - 1)));
    if (kind == 5) o.dropout = 0.2f, o.alibi = true;
    return o;
}

/* y and the gradients of q, k, v and the bias. One key head for all when kind is odd. */
static void run(heed_ctx *cx, int kind, int64_t first, int64_t batch, struct bytes *all) {
    const int64_t G = kind % 2 ? 1 : H;
    heed_tensor *bias = NULL;
    heed_set_step(cx, 1);
    const heed_attention_opts o = options(cx, kind, first, batch, &bias);
    heed_tensor *in[3];
    for (int i = 0; i < 3; i++)
        in[i] = heed_want_grad(
            cx, heed_contiguous(cx, heed_slice(cx, normals(cx, (uint64_t)i, B, T, i ? G : H, D), 0, first, batch)));
    heed_tensor *y = heed_keep(cx, heed_attention(cx, in[0], in[1], in[2], &o));
    if (!y) fail_msg("kind %d: %s", kind, heed_message(cx));
    assert_true(heed_backward_from(cx, y, heed_slice(cx, normals(cx, 4, B, T, H, D), 0, first, batch)));
    note_tensor(cx, all, y);
    for (int i = 0; i < 3; i++) note_tensor(cx, all, heed_grad_of(cx, in[i]));
    if (bias && batch == B) note_tensor(cx, all, heed_grad_of(cx, bias));
    heed_reset(cx);
}

static void run_decoding(heed_ctx *cx, struct bytes *all) {
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){1, B, H, D, D, HEED_CACHE_GROWING, 16});
    assert_true(heed_capture_begin(cx, NULL));
    for (int t = 0; t < 3; t++) {
        const int64_t time = t == 0 ? T : 1;
        heed_tensor *k = normals(cx, (uint64_t)t, B, time, H, D);
        assert_true(heed_cache_append(cx, c, 0, k, k, NULL));
        note_tensor(cx, all, heed_cache_attend(cx, c, 0, k, &(heed_attention_opts){.mask = heed_mask_causal(0)}));
        const heed_capture_map *m = heed_capture_at(cx, t);
        note(all, m->weights, m->batch * m->heads * m->rows * m->keys);
        heed_reset(cx);
    }
    heed_capture_end(cx);
    heed_cache_free(cx, c);
}

static void test_threads(void **state) {
    (void)state;
    struct bytes first = {0};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = threads[i], .seed = 3});
        struct bytes all = {0};
        heed_set_training(cx, true);
        for (int kind = 0; kind < KINDS; kind++) run(cx, kind, 0, B, &all);
        run_decoding(cx, &all);
        if (i == 0) {
            first = all;
        } else {
            assert_int_equal(first.n, all.n);
            assert_memory_equal(first.numbers, all.numbers, (size_t)all.n * sizeof(float));
            free(all.numbers);
        }
        heed_close(cx);
    }
    free(first.numbers);
}

static void test_alone_or_in_a_batch(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    for (int kind = 0; kind < KINDS - 1; kind++) { /* dropout counts the sequences of the batch */
        struct bytes whole = {0}, parts[B] = {{0}};
        run(cx, kind, 0, B, &whole);
        int64_t at = 0;
        const int64_t rows = (int64_t)T * D, G = kind % 2 ? 1 : H, sizes[] = {H * rows, H * rows, G * rows, G * rows};
        for (int64_t b = 0; b < B; b++) run(cx, kind, b, 1, &parts[b]);
        for (int r = 0, from = 0; r < 4; from += (int)sizes[r++])
            for (int64_t b = 0; b < B; b++, at += sizes[r])
                assert_memory_equal(whole.numbers + at, parts[b].numbers + from, (size_t)sizes[r] * sizeof(float));
        free(whole.numbers);
        for (int64_t b = 0; b < B; b++) free(parts[b].numbers);
    }
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads), cmocka_unit_test(test_alone_or_in_a_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
