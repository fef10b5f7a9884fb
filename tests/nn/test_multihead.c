/* Multi-head attention against torch.nn.MultiheadAttention, and what it promises beyond: one product for what is made
 * of one tensor and no copies, packed sequences, decoding over a cache, rotary positions, dropout. */
#include "base/profile.h"
#include "nn/block_test.h"

/* ---- torch ---- */

static heed_tensor *run_golden(heed_ctx *cx, const struct golden *g, heed_json attr, const heed_multihead *layer,
                               heed_tensor **in, int *n_in, heed_tensor **add) {
    static const char *const number[] = {"0", "1", "2"};
    heed_tensor *x[3];
    for (*n_in = 0; *n_in < 3 && (in[*n_in] = golden_tensor(cx, g, "in", number[*n_in])); ++*n_in) {}
    for (int i = 0; i < 3; i++)
        x[i] = in[heed_json_int(g->cx, heed_json_item(g->cx, heed_json_array(g->cx, attr, "sources"), i), NULL)];
    *add = golden_tensor(cx, g, "mask.", "add");
    const heed_attention_opts opts = {.mask = {.causal = heed_json_bool(g->cx, attr, "causal"),
                                               .key_lengths = golden_tensor(cx, g, "mask.", "lengths"),
                                               .keep = golden_tensor(cx, g, "mask.", "keep"),
                                               .add = *add}};
    return heed_multihead_run(cx, layer, x[0], x[1], x[2], &opts);
}

static void golden_case(const struct golden *g, heed_json attr) {
    heed_ctx *cx = open_context();
    struct weights w = {.set = heed_params_new(cx)};
    heed_multihead layer;
    heed_multihead_make(cx, w.set, "",
                        &(heed_multihead_opts){.width = heed_json_int(g->cx, attr, "width"),
                                               .heads = heed_json_int(g->cx, attr, "heads"),
                                               .key_width = heed_json_int(g->cx, attr, "key_width"),
                                               .value_width = heed_json_int(g->cx, attr, "value_width"),
                                               .bias = heed_json_bool(g->cx, attr, "bias"),
                                               .dropout = 0.5f}, /* no training: no dropout */
                        &layer);
    weights_ready(cx, &w);
    weights_from_golden(g, &w);
    heed_tensor *in[3], *add;
    int n_in;
    heed_tensor *y = run_golden(cx, g, attr, &layer, in, &n_in, &add);
    golden_check(cx, g, &w, y, in, n_in, add);
    weights_free(cx, &w);
    close_context(cx);
}

static void test_golden(void **state) {
    (void)state;
    struct golden g;
    golden_open(&g, "multihead.safetensors", 14);
    for (heed_json v = heed_json_first(g.cases); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        g.name = heed_json_text(g.cx, v, "name");
        golden_case(&g, heed_json_object(g.cx, v, "attr"));
    }
    golden_close(&g);
}

/* ---- names and first numbers ---- */

static void test_names(void **state) {
    (void)state;
    static const char *const fused[] = {"a.in_proj_weight", "a.in_proj_bias", "a.out_proj.weight", "a.out_proj.bias"};
    static const char *const separate[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"};
    heed_ctx *cx = open_context();
    heed_multihead layer;
    for (int kind = 0; kind < 2; kind++) {
        heed_params *set = heed_params_new(cx);
        const heed_multihead_opts opts = {.width = 64, .heads = 4, .key_width = kind ? 32 : 64, .bias = !kind};
        assert_true(heed_multihead_make(cx, set, kind ? NULL : "a", &opts, &layer));
        assert_int_equal(heed_params_count(set), 4);
        for (int i = 0; i < 4; i++) assert_string_equal(heed_params_at(set, i)->name, kind ? separate[i] : fused[i]);
        heed_params_allocate(cx, set);
        heed_params_init(cx, set, 3);
        /* xavier uniform over (192,64), or (64,32); torch's linear over (64,64) */
        const heed_param *in = kind ? layer.k.weight : layer.in.weight;
        float most = 0, most_out = 0;
        for (int64_t i = 0; i < in->count; i++) most = fmaxf(most, fabsf(in->value[i]));
        for (int64_t i = 0; i < 64 * 64; i++) most_out = fmaxf(most_out, fabsf(layer.out.weight->value[i]));
        const float side = sqrtf(6.f / (kind ? 96.f : 256.f));
        assert_true(most <= side && most > 0.99f * side);
        assert_true(most_out <= 0.125f && most_out > 0.123f);
        for (int64_t i = 0; !kind && i < 192; i++) assert_true(layer.in.bias->value[i] == 0);
        for (int64_t i = 0; !kind && i < 64; i++) assert_true(layer.out.bias->value[i] == 0);
        heed_params_free(cx, set);
    }
    close_context(cx);
}

/* ---- fused ---- */

static struct weights make_layer(heed_ctx *cx, int64_t width, int64_t heads, float dropout, heed_multihead *layer) {
    struct weights w = {.set = heed_params_new(cx)};
    heed_multihead_make(cx, w.set, "", &(heed_multihead_opts){width, heads, 0, 0, true, dropout}, layer);
    weights_ready(cx, &w);
    weights_random(&w, 5);
    return w;
}

static int64_t times(const heed_ctx *cx, const char *op, int pass) {
    const struct profile_line *lines;
    const int n = profile_lines(cx, &lines);
    for (int i = 0; i < n; i++)
        if (strcmp(lines[i].name, op) == 0) return lines[i].count[pass];
    return 0;
}

static void test_products(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_multihead layer;
    struct weights w = make_layer(cx, 12, 3, 0, &layer);
    for (int other = 0; other < 3; other++) { /* self; cross; three different tensors */
        heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){2, 5, 12});
        heed_tensor *y = other > 0 ? random_tensor(cx, 1, 3, (int64_t[]){2, 5, 12}) : x;
        heed_tensor *z = other > 1 ? random_tensor(cx, 2, 3, (int64_t[]){2, 5, 12}) : y;
        assert_true(profile_set(cx, true));
        heed_tensor *out = heed_multihead_run(cx, &layer, x, y, z, NULL);
        assert_true(heed_backward_from(cx, out, random_tensor(cx, 3, 3, (int64_t[]){2, 5, 12})));
        assert_int_equal(times(cx, "linear", PROFILE_FORWARD), 2 + other); /* with out_proj */
        assert_int_equal(times(cx, "linear", PROFILE_BACKWARD), 2 + other);
        assert_int_equal(times(cx, "attention", PROFILE_FORWARD), 1);
        assert_int_equal(times(cx, "contiguous", PROFILE_FORWARD), 0);
        assert_int_equal(times(cx, "contiguous", PROFILE_BACKWARD), 0);
        profile_set(cx, false);
        heed_reset(cx);
    }
    weights_free(cx, &w);
    close_context(cx);
}

/* The fused products give the bits of separate products: contents that are equal, in tensors that are not. */
static void test_fused_is_apart(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_multihead layer;
    struct weights w = make_layer(cx, 20, 4, 0, &layer);
    heed_tensor *x[3];
    for (int i = 0; i < 3; i++) x[i] = random_tensor(cx, 0, 3, (int64_t[]){2, 9, 20});
    const heed_attention_opts opts = {.mask = heed_mask_causal(0)};
    heed_tensor *separate = heed_multihead_run(cx, &layer, x[0], x[1], x[2], &opts);
    heed_tensor *cross = heed_multihead_run(cx, &layer, x[0], x[1], x[1], &opts);
    heed_tensor *self = heed_multihead_run(cx, &layer, x[0], x[0], x[0], &opts);
    assert_non_null(self);
    assert_memory_equal(heed_f32(separate), heed_f32(cross), sizeof(float) * 360);
    assert_memory_equal(heed_f32(separate), heed_f32(self), sizeof(float) * 360);
    weights_free(cx, &w);
    close_context(cx);
}

/* ---- shapes ---- */

/* Sequences of 3, 0 and 5 rows, packed and padded. */
static void test_packed(void **state) {
    (void)state;
    enum { C = 8 };
    static const int32_t offsets[] = {0, 3, 3, 8}, lengths[] = {3, 0, 5};
    heed_ctx *cx = open_context();
    heed_multihead layer;
    struct weights w = make_layer(cx, C, 2, 0, &layer);
    heed_tensor *rows = heed_want_grad(cx, random_tensor(cx, 0, 2, (int64_t[]){8, C}));
    float padded[3 * 5 * C];
    for (int i = 0; i < 3 * 5 * C; i++) padded[i] = NAN; /* never looked at */
    memcpy(padded, heed_f32(rows), 3 * C * sizeof(float));
    memcpy(padded + 10 * C, heed_f32(rows) + 3 * C, 5 * C * sizeof(float));
    heed_tensor *at = heed_from_i32(cx, offsets, 1, (int64_t[]){4}), *n = heed_from_i32(cx, lengths, 1, (int64_t[]){3});
    heed_tensor *x = heed_from_f32(cx, padded, 3, (int64_t[]){3, 5, C});
    heed_tensor *y = heed_multihead_run(cx, &layer, rows, rows, rows,
                                        &(heed_attention_opts){.query_offsets = at, .key_offsets = at});
    heed_tensor *z = heed_multihead_run(cx, &layer, x, x, x, &(heed_attention_opts){.mask = heed_mask_lengths(n, n)});
    assert_true(y && z);
    assert_int_equal(heed_rank(y), 2);
    expect_near(heed_f32(y), heed_f32(z), 3 * C, 1e-6f);
    expect_near(heed_f32(y) + 3 * C, heed_f32(z) + 10 * C, 5 * C, 1e-6f);
    assert_true(heed_backward_from(cx, y, random_tensor(cx, 1, 2, (int64_t[]){8, C})));
    assert_non_null(heed_grad_of(cx, rows));
    weights_free(cx, &w);
    close_context(cx);
}

static void test_empty(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_multihead layer;
    struct weights w = make_layer(cx, 8, 2, 0, &layer);
    static const int64_t shapes[][3] = {{0, 4, 8}, {2, 0, 8}};
    for (int i = 0; i < 2; i++) {
        heed_tensor *x = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 3, shapes[i]));
        heed_tensor *y = heed_multihead_run(cx, &layer, x, x, x, NULL);
        assert_non_null(y);
        assert_int_equal(heed_count(y), 0);
        assert_true(heed_backward_from(cx, y, heed_zeros(cx, HEED_F32, 3, shapes[i])));
        heed_reset(cx);
    }
    /* queries without a key: what is left is the bias */
    heed_tensor *q = random_tensor(cx, 0, 3, (int64_t[]){2, 3, 8}), *k = heed_zeros(cx, HEED_F32, 3, shapes[1]);
    heed_tensor *y = heed_multihead_run(cx, &layer, q, k, k, NULL);
    assert_non_null(y);
    for (int i = 0; i < 48; i++) assert_true(heed_f32(y)[i] == layer.out.bias->value[i % 8]);
    weights_free(cx, &w);
    close_context(cx);
}

/* Slices of something larger, as strided views. */
static void test_strided(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_multihead layer;
    struct weights w = make_layer(cx, 8, 2, 0, &layer);
    heed_tensor *wide = random_tensor(cx, 0, 3, (int64_t[]){3, 7, 20});
    heed_tensor *view = heed_slice(cx, wide, 2, 5, 8), *later = heed_slice(cx, heed_contiguous(cx, view), 1, 2, 5);
    heed_tensor *y = heed_multihead_run(cx, &layer, view, later, later, NULL);
    heed_tensor *k = heed_contiguous(cx, later);
    heed_tensor *z = heed_multihead_run(cx, &layer, heed_contiguous(cx, view), k, k, NULL);
    assert_true(y && z);
    assert_memory_equal(heed_f32(y), heed_f32(z), sizeof(float) * 3 * 7 * 8);
    weights_free(cx, &w);
    close_context(cx);
}

/* ---- cache ---- */

/* The whole at once against steps of 3, 1, 1, 2 positions, and with rotary positions too. */
static void steps_are_the_whole(heed_cache_kind kind, int64_t capacity, bool rotary, bool window) {
    enum { B = 2, T = 7, C = 12, H = 3 };
    static const int64_t steps[] = {3, 1, 1, 2};
    heed_ctx *cx = open_context();
    heed_multihead layer;
    struct weights w = make_layer(cx, C, H, 0.5f, &layer);
    heed_set_grad(cx, false);
    const heed_rotary_opts turn = {.base = 100};
    heed_attention_opts opts = {.mask = heed_mask_causal(0), .rotary = rotary ? &turn : NULL, .layer = 1};
    heed_cache *cache = heed_cache_new(cx, &(heed_cache_opts){2, B, H, C / H, C / H, kind, capacity});
    if (window) opts.mask = heed_mask_both(cx, opts.mask, heed_mask_window(capacity, 0));
    heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){B, T, C});
    heed_tensor *whole = heed_multihead_run(cx, &layer, x, x, x, &opts);
    assert_non_null(whole);
    for (int64_t i = 0, t = 0; i < 4; t += steps[i++]) {
        heed_tensor *part = heed_multihead_step(cx, &layer, heed_slice(cx, x, 1, t, steps[i]), cache, NULL, &opts);
        if (!part) fail_msg("%s", heed_message(cx));
        for (int64_t b = 0; b < B; b++)
            expect_near(heed_f32(part) + b * steps[i] * C, heed_f32(whole) + (b * T + t) * C, steps[i] * C, 2e-6f);
    }
    assert_int_equal(heed_cache_length(cache, 1, 1), T);
    assert_int_equal(heed_cache_length(cache, 0, 1), 0);
    heed_cache_free(cx, cache);
    weights_free(cx, &w);
    close_context(cx);
}

static void test_steps(void **state) {
    (void)state;
    for (int rotary = 0; rotary < 2; rotary++) {
        steps_are_the_whole(HEED_CACHE_FIXED, 7, rotary, false);
        steps_are_the_whole(HEED_CACHE_GROWING, 1, rotary, false);
        steps_are_the_whole(HEED_CACHE_SLIDING, 3, rotary, true);
    }
}

/* Sequences of their own lengths: prompts of 4 and 2 positions, padded to 4, then one more each. */
static void test_ragged_steps(void **state) {
    (void)state;
    enum { C = 8 };
    heed_ctx *cx = open_context();
    heed_multihead layer;
    struct weights w = make_layer(cx, C, 2, 0, &layer);
    heed_set_grad(cx, false);
    const heed_rotary_opts turn = {.interleaved = true};
    const heed_attention_opts opts = {.mask = heed_mask_causal(0), .rotary = &turn};
    heed_cache *cache = heed_cache_new(cx, &(heed_cache_opts){1, 2, 2, 4, 4, HEED_CACHE_GROWING, 2});
    heed_tensor *prompt = random_tensor(cx, 0, 3, (int64_t[]){2, 4, C}),
                *more = random_tensor(cx, 1, 3, (int64_t[]){2, 1, C});
    assert_non_null(heed_multihead_step(cx, &layer, prompt, cache, (int32_t[]){4, 2}, &opts));
    heed_tensor *y = heed_multihead_step(cx, &layer, more, cache, NULL, &opts);
    assert_non_null(y);
    for (int64_t b = 0; b < 2; b++) { /* each on its own, all at once */
        const int64_t n = b ? 2 : 4;
        heed_tensor *parts[] = {heed_slice(cx, heed_slice(cx, prompt, 0, b, 1), 1, 0, n),
                                heed_slice(cx, more, 0, b, 1)};
        heed_tensor *x = heed_concat(cx, parts, 2, 1), *whole = heed_multihead_run(cx, &layer, x, x, x, &opts);
        assert_non_null(whole);
        expect_near(heed_f32(y) + b * C, heed_f32(whole) + n * C, C, 2e-6f);
    }
    heed_cache_free(cx, cache);
    weights_free(cx, &w);
    close_context(cx);
}

/* Cross attention: remembered once, with lengths, and recalled twice; also with widths of their own. */
static void test_recall(void **state) {
    (void)state;
    enum { C = 12, H = 3, S = 6 };
    static const int32_t lengths[] = {6, 2};
    for (int wide = 0; wide < 2; wide++) {
        heed_ctx *cx = open_context();
        struct weights w = {.set = heed_params_new(cx)};
        heed_multihead layer;
        const int64_t Ck = wide ? 5 : C, Cv = wide ? 7 : C;
        heed_multihead_make(cx, w.set, "", &(heed_multihead_opts){C, H, Ck, Cv, true, 0}, &layer);
        weights_ready(cx, &w);
        weights_random(&w, 6);
        heed_set_grad(cx, false);
        heed_cache *cache = heed_cache_new(cx, &(heed_cache_opts){3, 2, H, C / H, C / H, HEED_CACHE_FIXED, S});
        heed_tensor *k = random_tensor(cx, 0, 3, (int64_t[]){2, S, Ck});
        heed_tensor *v = wide ? random_tensor(cx, 1, 3, (int64_t[]){2, S, Cv}) : k;
        assert_true(heed_multihead_remember(cx, &layer, k, v, cache, 2, lengths));
        heed_tensor *n = heed_from_i32(cx, lengths, 1, (int64_t[]){2});
        for (uint64_t i = 0; i < 2; i++) {
            heed_tensor *q = random_tensor(cx, 2 + i, 3, (int64_t[]){2, 1 + (int64_t)i, C});
            heed_tensor *y = heed_multihead_recall(cx, &layer, q, cache, &(heed_attention_opts){.layer = 2});
            heed_tensor *z =
                heed_multihead_run(cx, &layer, q, k, v, &(heed_attention_opts){.mask = heed_mask_lengths(n, NULL)});
            assert_true(y && z);
            expect_near(heed_f32(y), heed_f32(z), heed_count(z), 2e-6f);
        }
        heed_cache_free(cx, cache);
        weights_free(cx, &w);
        close_context(cx);
    }
}

/* ---- dropout ---- */

/* All weights dropped: the bias is left. Some dropped: finite differences still agree with the gradient. */
static void test_dropout(void **state) {
    (void)state;
    enum { N = 2 * 5 * 8 };
    heed_ctx *cx = open_context();
    heed_multihead layer;
    struct weights w = make_layer(cx, 8, 2, 1, &layer);
    heed_set_training(cx, true);
    heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){2, 5, 8});
    heed_tensor *y = heed_multihead_run(cx, &layer, x, x, x, NULL);
    for (int i = 0; i < N; i++) assert_true(heed_f32(y)[i] == layer.out.bias->value[i % 8]);
    layer.dropout = 0.4f;
    float numbers[N], towards[N], ahead[N];
    heed_random_normal(1, 0, 0, numbers, N);
    heed_random_normal(2, 0, 0, towards, N);
    heed_random_normal(3, 0, 0, ahead, N);
    double at[2], slope = 0;
    const float h = 1e-2f;
    for (int side = 0; side < 3; side++) {
        heed_reset(cx);
        heed_set_step(cx, 7); /* the same mask every time */
        float moved[N];
        for (int i = 0; i < N; i++) moved[i] = numbers[i] + (side == 2 ? 0 : side ? h : -h) * ahead[i];
        x = heed_want_grad(cx, heed_from_f32(cx, moved, 3, (int64_t[]){2, 5, 8}));
        y = heed_multihead_run(cx, &layer, x, x, x, NULL);
        double sum = 0;
        for (int i = 0; i < N; i++) sum += (double)heed_f32(y)[i] * (double)towards[i];
        if (side < 2) at[side] = sum;
        if (side < 2) continue;
        assert_true(heed_backward_from(cx, y, heed_from_f32(cx, towards, 3, (int64_t[]){2, 5, 8})));
        const float *dx = heed_f32(heed_grad_of(cx, x));
        for (int i = 0; i < N; i++) slope += (double)dx[i] * (double)ahead[i];
    }
    const double difference = (at[1] - at[0]) / (2 * (double)h);
    if (!(fabs(difference - slope) <= 2e-3 * (1 + fabs(slope)))) fail_msg("slope %g, difference %g", slope, difference);
    weights_free(cx, &w);
    close_context(cx);
}

/* ---- wrong use ---- */

static void test_wrong_make(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_multihead l;
#define WRONG(sentence, ...)                                                                                           \
    assert_false(heed_multihead_make(cx, set, "m", &(heed_multihead_opts){__VA_ARGS__}, &l));                          \
    EXPECT_SENTENCE(cx, sentence)
    WRONG("multihead: 3 heads do not divide a width of 8", .width = 8, .heads = 3);
    WRONG("multihead: 0 heads do not divide a width of 8", .width = 8);
    WRONG("multihead: 2 heads do not divide a width of 0", .heads = 2);
    WRONG("multihead: widths 8, -1 and 0 cannot be", .width = 8, .heads = 2, .key_width = -1);
    WRONG("multihead: dropout 1.5 is not between 0 and 1", .width = 8, .heads = 2, .dropout = 1.5f);
    WRONG("multihead: dropout ", .width = 8, .heads = 2, .dropout = NAN);
#undef WRONG
    assert_false(heed_multihead_make(cx, set, "m", NULL, &l));
    EXPECT_SENTENCE(cx, "multihead: the options are NULL");
    assert_false(heed_multihead_make(cx, set, "m", &(heed_multihead_opts){.width = 8, .heads = 2}, NULL));
    EXPECT_SENTENCE(cx, "multihead: the layer is NULL");
    assert_int_equal(heed_params_count(set), 0);
    heed_params_free(cx, set);
    close_context(cx);
}

static void test_wrong_run(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_multihead l;
    struct weights w = make_layer(cx, 8, 2, 0, &l);
#define X random_tensor(cx, 0, 3, (int64_t[]){2, 3, 8})
#define WRONG(sentence, call)                                                                                          \
    assert_false(call);                                                                                                \
    EXPECT_SENTENCE(cx, sentence)
    WRONG("multihead: the layer is NULL", heed_multihead_run(cx, NULL, X, X, X, NULL));
    WRONG("multihead: q is NULL", heed_multihead_run(cx, &l, NULL, X, X, NULL));
    WRONG("multihead: v is NULL", heed_multihead_run(cx, &l, X, X, NULL, NULL));
    heed_tensor *thin = random_tensor(cx, 0, 3, (int64_t[]){2, 3, 6}),
                *flat = random_tensor(cx, 0, 2, (int64_t[]){3, 8});
    WRONG("multihead: k of shape (2,3,6) is not (B,T,8)", heed_multihead_run(cx, &l, X, thin, thin, NULL));
    flat = random_tensor(cx, 0, 2, (int64_t[]){3, 8});
    WRONG("multihead: q of shape (3,8) is not (B,T,8)", heed_multihead_run(cx, &l, flat, flat, flat, NULL));
    heed_tensor *at = heed_from_i32(cx, (int32_t[]){0, 3}, 1, (int64_t[]){2});
    WRONG("multihead: q of shape (2,3,8) is not (N,8)",
          heed_multihead_run(cx, &l, X, X, X, &(heed_attention_opts){.query_offsets = at, .key_offsets = at}));
    heed_tensor *x = X, *other = random_tensor(cx, 0, 3, (int64_t[]){3, 3, 8});
    WRONG("attention: q (2,3,2,4), k (3,3,2,4) and v (3,3,2,4) do not fit",
          heed_multihead_run(cx, &l, x, other, other, NULL));
    WRONG("attention: a window of 0 positions",
          heed_multihead_run(cx, &l, X, X, X, &(heed_attention_opts){.mask = heed_mask_window(0, 0)}));
    WRONG("cache_append: the cache is NULL", heed_multihead_step(cx, &l, X, NULL, NULL, NULL));
    WRONG("cache_append: the cache is NULL", heed_multihead_remember(cx, &l, X, X, NULL, 0, NULL));
    WRONG("cache_attention: the cache is NULL", heed_multihead_recall(cx, &l, X, NULL, NULL));
    heed_cache *cache = heed_cache_new(cx, &(heed_cache_opts){1, 2, 2, 4, 4, HEED_CACHE_FIXED, 2});
    WRONG("cache_append: layer 0, sequence 0: 3 positions more", heed_multihead_step(cx, &l, X, cache, NULL, NULL));
    WRONG("cache_append: layer 1 of a cache of 1",
          heed_multihead_step(cx, &l, X, cache, NULL, &(heed_attention_opts){.layer = 1}));
    assert_int_equal(heed_cache_length(cache, 0, 0), 0);
    WRONG("multihead: k is NULL", heed_multihead_remember(cx, &l, NULL, X, cache, 0, NULL));
    WRONG("multihead: q is NULL", heed_multihead_recall(cx, &l, NULL, cache, NULL));
    WRONG("cache_append: k of shape (1,2,2,4) is not (2,T,2,4)",
          heed_multihead_step(cx, &l, random_tensor(cx, 0, 3, (int64_t[]){1, 2, 8}), cache, NULL, NULL));
#undef WRONG
#undef X
    heed_cache_free(cx, cache);
    weights_free(cx, &w);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),         cmocka_unit_test(test_names),   cmocka_unit_test(test_products),
        cmocka_unit_test(test_fused_is_apart), cmocka_unit_test(test_packed),  cmocka_unit_test(test_empty),
        cmocka_unit_test(test_strided),        cmocka_unit_test(test_steps),   cmocka_unit_test(test_ragged_steps),
        cmocka_unit_test(test_recall),         cmocka_unit_test(test_dropout), cmocka_unit_test(test_wrong_make),
        cmocka_unit_test(test_wrong_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
