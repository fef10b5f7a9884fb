/* Encoder and decoder in use: decoding over caches is what the whole forward pass gives, with beams and with memories
 * of different lengths; and what capture sees of each layer. */
#include "nn/transformer_test.h"

/* ---- decoding ---- */

static heed_cache *cache_for(heed_ctx *cx, heed_cache_kind kind, int64_t capacity) {
    return heed_cache_new(cx, &(heed_cache_opts){middling.layers, B, middling.heads, C / middling.heads,
                                                 C / middling.heads, kind, capacity});
}

/* A prompt of five, then one by one, over a memory with lengths: what the whole forward gives. */
static void test_decoding(void **state) {
    (void)state;
    static const int32_t lengths[B] = {S, 1, 9};
    enum { LONG = 11 };
    for (int pre = 0; pre < 2; pre++) {
        heed_ctx *cx = open_context();
        struct block *b = middling_new(cx, DECODER, pre, middling.dropout);
        heed_set_grad(cx, false);
        heed_cache *self = cache_for(cx, HEED_CACHE_GROWING, 2), *cross = cache_for(cx, HEED_CACHE_FIXED, S);
        heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){B, LONG, C});
        heed_tensor *m = random_tensor(cx, 1, 3, (int64_t[]){B, S, C});
        const heed_mask causal = heed_mask_causal(0);
        const heed_mask known = heed_mask_lengths(heed_from_i32(cx, lengths, 1, (int64_t[]){B}), NULL);
        heed_tensor *whole = heed_decoder_run(cx, &b->decoder, x, m, &causal, &known);
        assert_true(heed_decoder_remember(cx, &b->decoder, m, cross, lengths));
        for (int64_t t = 0, n = 5; t < LONG; t += n, n = 1) {
            heed_tensor *y = heed_decoder_step(cx, &b->decoder, heed_slice(cx, x, 1, t, n), self, cross, NULL);
            if (!y) fail_msg("%s", heed_message(cx));
            for (int64_t i = 0; i < B; i++)
                expect_near(heed_f32(y) + i * n * C, heed_f32(whole) + (i * LONG + t) * C, n * C, 1e-5f);
        }
        for (int l = 0; l < middling.layers; l++) {
            assert_int_equal(heed_cache_length(self, l, 0), LONG);
            assert_int_equal(heed_cache_length(cross, l, 2), 9);
        }
        heed_cache_free(cx, self);
        heed_cache_free(cx, cross);
        block_free(cx, b);
        close_context(cx);
    }
}

/* Beams of one sentence look at one memory, and get what each would get with a memory of its own. */
static void test_beams(void **state) {
    (void)state;
    static const int32_t lengths[B] = {S, 1, 9};
    enum { BEAMS = 4 };
    const int64_t heads = middling.heads, D = C / heads;
    for (int pre = 0; pre < 2; pre++) {
        heed_ctx *cx = open_context();
        struct block *b = middling_new(cx, DECODER, pre, middling.dropout);
        heed_set_grad(cx, false);
        const heed_cache_opts many = {middling.layers, B * BEAMS, heads, D, D, HEED_CACHE_GROWING, S};
        heed_cache *cross = cache_for(cx, HEED_CACHE_FIXED, S), *self = heed_cache_new(cx, &many),
                   *own_self = heed_cache_new(cx, &many), *own_cross = heed_cache_new(cx, &many);
        heed_tensor *m = random_tensor(cx, 1, 3, (int64_t[]){B, S, C});
        int32_t each[B * BEAMS], length_of[B * BEAMS];
        for (int i = 0; i < B * BEAMS; i++) each[i] = i / BEAMS, length_of[i] = lengths[i / BEAMS];
        heed_tensor *memories = heed_embedding(cx, heed_reshape(cx, m, 2, (int64_t[]){B, S * C}),
                                               heed_from_i32(cx, each, 1, (int64_t[]){B * BEAMS}));
        memories = heed_reshape(cx, memories, 3, (int64_t[]){B * BEAMS, S, C});
        assert_true(heed_decoder_remember(cx, &b->decoder, m, cross, lengths));
        assert_true(heed_decoder_remember(cx, &b->decoder, memories, own_cross, length_of));
        for (int64_t t = 0; t < 3; t++) {
            heed_tensor *x = random_tensor(cx, 2 + (uint64_t)t, 3, (int64_t[]){B * BEAMS, 1 + t, C});
            heed_tensor *y = heed_decoder_step(cx, &b->decoder, x, self, cross, NULL),
                        *want = heed_decoder_step(cx, &b->decoder, x, own_self, own_cross, NULL);
            if (!y || !want) fail_msg("%s", heed_message(cx));
            assert_int_equal(heed_dim(y, 0), B * BEAMS);
            assert_int_equal(heed_dim(y, 1), 1 + t);
            expect_near(heed_f32(y), heed_f32(want), B * BEAMS * (1 + t) * C, 1e-5f);
        }
        /* rows that are no beams of the sentences there are */
        assert_null(heed_multihead_recall(cx, &b->decoder.layer[0].multihead_attn,
                                          random_tensor(cx, 9, 3, (int64_t[]){B + 1, 1, C}), cross, NULL));
        EXPECT_SENTENCE(cx, "does not fit a cache of 3 sequences");
        heed_cache_free(cx, self), heed_cache_free(cx, cross);
        heed_cache_free(cx, own_self), heed_cache_free(cx, own_cross);
        block_free(cx, b);
        close_context(cx);
    }
}

/* Prompts of different lengths, padded on the right, and the planned memory of a step. */
static size_t ragged(bool dry) {
    static const int32_t counts[B] = {4, 1, 3};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2, .dry = dry});
    struct block *b = block_new(cx, DECODER, &middling);
    heed_set_grad(cx, false);
    heed_cache *self = cache_for(cx, HEED_CACHE_GROWING, 2), *cross = cache_for(cx, HEED_CACHE_FIXED, S);
    heed_tensor *prompt = random_tensor(cx, 0, 3, (int64_t[]){B, 4, C});
    heed_tensor *next = random_tensor(cx, 1, 3, (int64_t[]){B, 1, C});
    heed_tensor *m = random_tensor(cx, 2, 3, (int64_t[]){B, S, C});
    heed_decoder_remember(cx, &b->decoder, m, cross, NULL);
    heed_decoder_step(cx, &b->decoder, prompt, self, cross, counts);
    heed_tensor *y = heed_decoder_step(cx, &b->decoder, next, self, cross, NULL);
    if (!y) fail_msg("%s", heed_message(cx));
    const size_t peak = heed_memory_use(cx).step_peak;
    const heed_mask causal = heed_mask_causal(0);
    for (int64_t i = 0; !dry && i < B; i++) {
        heed_tensor *parts[] = {heed_slice(cx, heed_slice(cx, prompt, 0, i, 1), 1, 0, counts[i]),
                                heed_slice(cx, next, 0, i, 1)};
        heed_tensor *alone =
            heed_decoder_run(cx, &b->decoder, heed_concat(cx, parts, 2, 1), heed_slice(cx, m, 0, i, 1), &causal, NULL);
        assert_non_null(alone);
        expect_near(heed_f32(y) + i * C, heed_f32(alone) + counts[i] * C, C, 1e-5f);
    }
    heed_cache_free(cx, self);
    heed_cache_free(cx, cross);
    block_free(cx, b);
    heed_close(cx);
    return peak;
}

static void test_ragged(void **state) {
    (void)state;
    assert_int_equal(ragged(false), ragged(true));
}

/* ---- capture ---- */

static void expect_map(const heed_ctx *cx, int i, const char *site, int layer, int64_t rows, int64_t keys,
                       bool causal) {
    const heed_capture_map *map = heed_capture_at(cx, i);
    assert_non_null(map);
    assert_string_equal(map->site, site);
    assert_int_equal(map->layer, layer);
    assert_int_equal(map->batch, 2);
    assert_int_equal(map->heads, middling.heads);
    assert_int_equal(map->rows, rows);
    assert_int_equal(map->keys, keys);
    for (int64_t r = 0; r < 2 * middling.heads * rows; r++) {
        double sum = 0;
        for (int64_t j = 0; j < keys; j++) {
            const float p = map->weights[r * keys + j];
            if (causal && j > r % rows + keys - rows) assert_true(p == 0);
            sum += (double)p;
        }
        assert_true(fabs(sum - 1) <= 1e-5);
    }
}

static void test_capture(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct block *e = block_new(cx, ENCODER, &middling), *d = block_new(cx, DECODER, &middling);
    heed_set_grad(cx, false);
    const heed_mask causal = heed_mask_causal(0);
    heed_tensor *s = random_tensor(cx, 0, 3, (int64_t[]){2, 7, C}), *x = random_tensor(cx, 1, 3, (int64_t[]){2, 5, C});
    heed_tensor *without =
        heed_decoder_run(cx, &d->decoder, x, heed_encoder_run(cx, &e->encoder, s, NULL), &causal, NULL);
    assert_true(heed_capture_begin(cx, NULL));
    heed_tensor *memory = heed_encoder_run(cx, &e->encoder, s, NULL);
    heed_tensor *with = heed_decoder_run(cx, &d->decoder, x, memory, &causal, NULL);
    assert_non_null(with);
    assert_memory_equal(heed_f32(with), heed_f32(without), 10 * C * sizeof(float));
    assert_int_equal(heed_capture_count(cx), 6);
    for (int l = 0; l < 2; l++) {
        expect_map(cx, l, "encoder", l, 7, 7, false);
        expect_map(cx, 2 + 2 * l, "decoder", l, 5, 5, true);
        expect_map(cx, 3 + 2 * l, "cross", l, 5, 7, false);
    }
    heed_capture_end(cx);

    /* one site of one layer, while decoding */
    heed_cache_opts opts = {2, 2, middling.heads, C / middling.heads, C / middling.heads, HEED_CACHE_FIXED, 7};
    heed_cache *self = heed_cache_new(cx, &opts), *cross = heed_cache_new(cx, &opts);
    heed_decoder_remember(cx, &d->decoder, memory, cross, NULL);
    assert_true(heed_capture_begin(cx, &(heed_capture_opts){.site = "decoder", .layers = (int[]){1}, .n_layers = 1}));
    heed_decoder_step(cx, &d->decoder, heed_slice(cx, x, 1, 0, 3), self, cross, NULL);
    heed_decoder_step(cx, &d->decoder, heed_slice(cx, x, 1, 3, 2), self, cross, NULL);
    assert_int_equal(heed_capture_count(cx), 2);
    expect_map(cx, 0, "decoder", 1, 3, 3, true);
    expect_map(cx, 1, "decoder", 1, 2, 5, true);
    heed_capture_end(cx);
    heed_cache_free(cx, self);
    heed_cache_free(cx, cross);
    heed_reset(cx);
    block_free(cx, e);
    block_free(cx, d);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoding),
        cmocka_unit_test(test_beams),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
