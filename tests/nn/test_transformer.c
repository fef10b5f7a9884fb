/* Encoder and decoder, layers and stacks, against torch.nn; and what they promise beyond: the same bits for any number
 * of threads and any batch, a plan that is what is used, little memory without gradients. */
#include "nn/transformer_test.h"
#include "tensor/engine.h"

/* ---- torch ---- */

static heed_transformer_opts golden_opts(const struct golden *g, heed_json attr) {
    return (heed_transformer_opts){.width = heed_json_int(g->cx, attr, "width"),
                                   .heads = heed_json_int(g->cx, attr, "heads"),
                                   .hidden = heed_json_int(g->cx, attr, "hidden"),
                                   .act = strcmp(heed_json_text(g->cx, attr, "act"), "gelu") == 0 ? HEED_ACT_GELU
                                                                                                  : HEED_ACT_RELU,
                                   .dropout = 0.5f, /* no training: no dropout */
                                   .eps = (float)heed_json_number(g->cx, attr, "eps"),
                                   .bias = heed_json_bool(g->cx, attr, "bias"),
                                   .norm_first = heed_json_bool(g->cx, attr, "norm_first"),
                                   .layers = (int)heed_json_int(g->cx, attr, "layers"),
                                   .final_norm = heed_json_bool(g->cx, attr, "final_norm")};
}

static void golden_case(const struct golden *g, const char *kind, heed_json attr) {
    heed_ctx *cx = open_context();
    int k = 0;
    while (k < KINDS && strcmp(kind, kind_names[k]) != 0) k++;
    assert_true(k < KINDS);
    const heed_transformer_opts opts = golden_opts(g, attr);
    struct block *b = block_new(cx, (enum kind)k, &opts);
    weights_from_golden(g, &b->w);
    heed_tensor *in[] = {golden_tensor(cx, g, "in", "0"), golden_tensor(cx, g, "in", "1")};
    const heed_mask self = {.causal = heed_json_bool(g->cx, attr, "causal"),
                            .key_lengths = golden_tensor(cx, g, "mask.", "lengths")};
    const heed_mask cross = {.key_lengths = golden_tensor(cx, g, "mask.", "memory_lengths")};
    const bool any = self.causal || self.key_lengths;
    heed_tensor *y = block_run(cx, b, in[0], in[1], any ? &self : NULL, cross.key_lengths ? &cross : NULL);
    golden_check(cx, g, &b->w, y, in, in[1] ? 2 : 1, NULL);
    block_free(cx, b);
    close_context(cx);
}

static void test_golden(void **state) {
    (void)state;
    struct golden g;
    golden_open(&g, "transformer.safetensors", 20);
    for (heed_json v = heed_json_first(g.cases); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        g.name = heed_json_text(g.cx, v, "name");
        golden_case(&g, heed_json_text(g.cx, v, "kind"), heed_json_object(g.cx, v, "attr"));
    }
    golden_close(&g);
}

/* ---- names ---- */

static void test_names(void **state) {
    (void)state;
    static const char *const names[] = {"self_attn.in_proj_weight",
                                        "self_attn.in_proj_bias",
                                        "self_attn.out_proj.weight",
                                        "self_attn.out_proj.bias",
                                        "multihead_attn.in_proj_weight",
                                        "multihead_attn.in_proj_bias",
                                        "multihead_attn.out_proj.weight",
                                        "multihead_attn.out_proj.bias",
                                        "linear1.weight",
                                        "linear1.bias",
                                        "linear2.weight",
                                        "linear2.bias",
                                        "norm1.weight",
                                        "norm1.bias",
                                        "norm2.weight",
                                        "norm2.bias",
                                        "norm3.weight",
                                        "norm3.bias"};
    enum { N = sizeof names / sizeof *names };
    heed_ctx *cx = open_context();
    const heed_transformer_opts opts = {
        .width = 8, .heads = 2, .hidden = 5, .bias = true, .layers = 11, .final_norm = true};
    heed_params *set = heed_params_new(cx);
    heed_decoder decoder;
    assert_true(heed_decoder_make(cx, set, "model.decoder", &opts, &decoder));
    assert_int_equal(heed_params_count(set), 11 * N + 2);
    for (int i = 0; i < 11 * N; i++) {
        char want[128];
        snprintf(want, sizeof want, "model.decoder.layers.%d.%s", i / N, names[i % N]);
        assert_string_equal(heed_params_at(set, i)->name, want);
    }
    assert_string_equal(heed_params_at(set, 11 * N)->name, "model.decoder.norm.weight");
    assert_string_equal(heed_params_at(set, 11 * N + 1)->name, "model.decoder.norm.bias");
    for (int i = 0; i < 11; i++) assert_int_equal(decoder.layer[i].number, i);
    assert_true(decoder.norm.eps == 1e-5f);
    heed_params_free(cx, set);
    close_context(cx);
}

/* ---- bits ---- */

/* A training step: output, gradients of the inputs, and those of all parameters, in one row. */
static float *step_bits(int threads, enum kind kind, bool norm_first, int64_t *count) {
    enum { LONG = 257 }; /* enough work for every op to be cut */
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads});
    struct block *b = middling_new(cx, kind, norm_first, middling.dropout);
    heed_set_training(cx, true);
    const heed_mask causal = heed_mask_causal(0);
    heed_tensor *x = heed_want_grad(cx, random_tensor(cx, 0, 3, (int64_t[]){B, LONG, C}));
    heed_tensor *m = heed_want_grad(cx, random_tensor(cx, 1, 3, (int64_t[]){B, S, C}));
    heed_tensor *y = heed_keep(cx, block_run(cx, b, x, m, &causal, NULL));
    if (!heed_backward_from(cx, y, random_tensor(cx, 2, 3, (int64_t[]){B, LONG, C}))) fail_msg("%s", heed_message(cx));
    const bool decodes = kind == DECODER_LAYER || kind == DECODER;
    *count = 2 * heed_count(x) + (decodes ? heed_count(m) : 0) + heed_params_size(b->w.set);
    float *all = malloc((size_t)*count * sizeof(float)), *at = all;
    const heed_tensor *parts[] = {y, heed_grad_of(cx, x), decodes ? heed_grad_of(cx, m) : NULL};
    for (int i = 0; i < 3; i++) {
        if (!parts[i]) continue;
        heed_copy_f32(cx, parts[i], at, heed_count(parts[i]));
        at += heed_count(parts[i]);
    }
    for (int i = 0; i < heed_params_count(b->w.set); i++) {
        const int64_t n = heed_params_at(b->w.set, i)->count;
        memcpy(at, b->w.grads[i].data, (size_t)n * sizeof(float));
        at += n;
    }
    assert_int_equal(at - all, *count);
    block_free(cx, b);
    assert_false(heed_failed(cx));
    heed_close(cx);
    return all;
}

static void test_threads(void **state) {
    (void)state;
    for (int pre = 0; pre < 2; pre++)
        for (int kind = ENCODER; kind < KINDS; kind++) {
            int64_t n, again;
            float *one = step_bits(1, (enum kind)kind, pre, &n);
            for (int i = 0; i < 3; i++) {
                float *other = step_bits((int[]){2, 3, 8}[i], (enum kind)kind, pre, &again);
                assert_int_equal(again, n);
                assert_memory_equal(one, other, (size_t)n * sizeof(float));
                free(other);
            }
            for (int64_t i = 0; i < n; i++) assert_true(isfinite(one[i]));
            free(one);
        }
}

/* Each sequence alone gives the bits it gives among others. */
static void test_batches(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct block *b = block_new(cx, DECODER, &middling);
    heed_set_grad(cx, false);
    const heed_mask causal = heed_mask_causal(0);
    heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){B, T, C}), *m = random_tensor(cx, 1, 3, (int64_t[]){B, S, C});
    heed_tensor *all = block_run(cx, b, x, m, &causal, NULL);
    for (int64_t i = 0; i < B; i++) {
        heed_tensor *one = block_run(cx, b, heed_slice(cx, x, 0, i, 1), heed_slice(cx, m, 0, i, 1), &causal, NULL);
        assert_non_null(one);
        assert_memory_equal(heed_f32(one), heed_f32(all) + i * T * C, T * C * sizeof(float));
    }
    block_free(cx, b);
    close_context(cx);
}

/* The first position alone is what it is among all, with its gradients; without training to the bit, with capture or
 * not. */
static float *first_bits(bool alone, bool pre, bool training, bool captured, int64_t length, int64_t *n) {
    heed_ctx *cx = open_context();
    struct block *b = middling_new(cx, ENCODER, pre, 0);
    const heed_attention_opts opts = {
        .mask = heed_mask_lengths(heed_from_i32(cx, (int32_t[]){1, 3}, 1, (int64_t[]){2}), NULL)};
    heed_tensor *x = heed_want_grad(cx, random_tensor(cx, 0, 3, (int64_t[]){2, length, C}));
    heed_set_training(cx, training);
    if (captured) assert_true(heed_capture_begin(cx, NULL));
    heed_tensor *y = alone ? heed_encoder_attend_first(cx, &b->encoder, x, &opts)
                           : heed_slice(cx, heed_encoder_attend(cx, &b->encoder, x, &opts), 1, 0, 1);
    y = heed_keep(cx, heed_contiguous(cx, y));
    if (captured) assert_int_equal(heed_capture_at(cx, middling.layers - 1)->rows, length);
    heed_backward_from(cx, y, random_tensor(cx, 2, 3, (int64_t[]){2, 1, C}));
    if (!y || heed_failed(cx)) fail_msg("%s", heed_message(cx));
    *n = 2 * C + heed_count(x);
    float *bits = malloc((size_t)*n * sizeof *bits);
    memcpy(bits, heed_f32(y), 2 * C * sizeof *bits);
    memcpy(bits + 2 * C, heed_f32(heed_grad_of(cx, x)), (size_t)heed_count(x) * sizeof *bits);
    block_free(cx, b);
    close_context(cx);
    return bits;
}

static void test_first(void **state) {
    (void)state;
    for (int pre = 0; pre < 2; pre++)
        for (int64_t length = 3; length <= 300; length *= 10) {
            int64_t n;
            float *all = first_bits(false, pre, false, false, length, &n);
            for (int way = 0; way < 3; way++) {
                float *first = first_bits(true, pre, way > 0, way == 1, length, &n);
                if (way < 2) assert_memory_equal(first, all, 2 * C * sizeof *all);
                for (int64_t i = 0; i < n; i++) assert_true(fabsf(first[i] - all[i]) <= 2e-5f);
                free(first);
            }
            free(all);
        }
}

/* ---- memory ---- */

static size_t step_peak(bool dry, enum kind kind, bool norm_first, bool gradients) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2, .dry = dry});
    struct block *b = middling_new(cx, kind, norm_first, middling.dropout);
    heed_set_training(cx, gradients);
    heed_set_grad(cx, gradients);
    heed_memory_reset_peak(cx);
    const heed_mask causal = heed_mask_causal(0);
    heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){B, T, C}), *m = random_tensor(cx, 1, 3, (int64_t[]){B, S, C});
    if (gradients) heed_want_grad(cx, x);
    heed_tensor *y = block_run(cx, b, x, m, &causal, NULL);
    if (gradients) heed_backward_from(cx, y, random_tensor(cx, 2, 3, (int64_t[]){B, T, C}));
    if (!y || heed_failed(cx)) fail_msg("%s", heed_message(cx));
    const size_t peak = heed_memory_use(cx).step_peak;
    block_free(cx, b);
    heed_close(cx);
    return peak;
}

static void test_plan(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int pre = 0; pre < 2; pre++)
            for (int gradients = 0; gradients < 2; gradients++) {
                const size_t used = step_peak(false, (enum kind)kind, pre, gradients);
                assert_true(used > 0);
                assert_int_equal(step_peak(true, (enum kind)kind, pre, gradients), used);
            }
}

/* Eight layers take no more than two when there are no gradients. */
static void test_deep(void **state) {
    (void)state;
    for (int kind = ENCODER; kind < KINDS; kind++) {
        size_t peak[2];
        for (int deep = 0; deep < 2; deep++) {
            heed_ctx *cx = open_context();
            heed_transformer_opts opts = middling;
            opts.layers = deep ? 8 : 2;
            struct block *b = block_new(cx, (enum kind)kind, &opts);
            heed_set_grad(cx, false);
            heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){B, T, C});
            assert_non_null(block_run(cx, b, x, x, NULL, NULL));
            peak[deep] = heed_memory_use(cx).step_peak;
            block_free(cx, b);
            close_context(cx);
        }
        assert_int_equal(peak[0], peak[1]);
    }
}

/* ---- dropout ---- */

/* Everything dropped: only residuals and norms are left; and it is drawn as often as torch draws. */
static void test_dropout(void **state) {
    (void)state;
    for (int kind = ENCODER_LAYER; kind <= DECODER_LAYER; kind++)
        for (int pre = 0; pre < 2; pre++) {
            heed_ctx *cx = open_context();
            struct block *b = middling_new(cx, (enum kind)kind, pre, 1);
            heed_set_training(cx, true);
            heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){2, 5, C});
            heed_tensor *y = block_run(cx, b, x, x, NULL, NULL), *want = x;
            assert_int_equal(engine_of(cx)->random_ops, kind == ENCODER_LAYER ? 4 : 6);
            const heed_norm_layer *norms[] = {kind == ENCODER_LAYER ? &b->encoder_layer.norm1 : &b->decoder_layer.norm1,
                                              kind == ENCODER_LAYER ? &b->encoder_layer.norm2 : &b->decoder_layer.norm2,
                                              &b->decoder_layer.norm3};
            for (int i = 0; !pre && i < (kind == ENCODER_LAYER ? 2 : 3); i++) want = heed_norm_run(cx, norms[i], want);
            expect_near(heed_f32(y), heed_f32(want), 10 * C, 1e-6f);
            block_free(cx, b);
            close_context(cx);
        }
    /* the feed-forward's own: what is left is its last bias */
    heed_ctx *cx = open_context();
    struct weights w = {.set = heed_params_new(cx)};
    heed_feed_forward feed;
    heed_feed_forward_make(cx, w.set, "ff", 6, 9, true, HEED_ACT_SILU, 1, &feed);
    weights_ready(cx, &w);
    weights_random(&w, 1);
    assert_non_null(heed_params_find(w.set, "ff.linear2.bias"));
    heed_set_training(cx, true);
    heed_tensor *y = heed_feed_forward_run(cx, &feed, random_tensor(cx, 0, 2, (int64_t[]){4, 6}));
    for (int i = 0; i < 24; i++) assert_true(heed_f32(y)[i] == feed.linear2.bias->value[i % 6]);
    weights_free(cx, &w);
    close_context(cx);
}

/* With dropout at work the gradient is still the slope: a directional difference through a whole layer, of the fourth
 * order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h. */
static void check_slope(enum kind kind, bool norm_first) {
    enum { N = 2 * 5 * C };
    static const double weights[] = {1, -8, 8, -1, 0}, steps[] = {-2, -1, 1, 2, 0};
    heed_ctx *cx = open_context();
    struct block *b = middling_new(cx, kind, norm_first, 0.3f);
    float numbers[N], towards[N], ahead[N];
    heed_random_normal(1, 0, 0, numbers, N);
    heed_random_normal(2, 0, 0, towards, N);
    heed_random_normal(3, 0, 0, ahead, N);
    const double h = 1.0 / 128;
    double difference = 0, slope = 0;
    heed_set_training(cx, true);
    for (int side = 0; side < 5; side++) {
        heed_reset(cx);
        heed_set_step(cx, 7); /* the same masks every time */
        float moved[N];
        for (int i = 0; i < N; i++) moved[i] = numbers[i] + (float)(steps[side] * h) * ahead[i];
        heed_tensor *x = heed_want_grad(cx, heed_from_f32(cx, moved, 3, (int64_t[]){2, 5, C}));
        heed_tensor *y = block_run(cx, b, x, x, NULL, NULL);
        for (int i = 0; i < N; i++)
            difference += weights[side] * (double)heed_f32(y)[i] * (double)towards[i] / (12 * h);
        if (steps[side] != 0) continue;
        assert_true(heed_backward_from(cx, y, heed_from_f32(cx, towards, 3, (int64_t[]){2, 5, C})));
        const float *dx = heed_f32(heed_grad_of(cx, x));
        for (int i = 0; i < N; i++) slope += (double)dx[i] * (double)ahead[i];
    }
    if (!(fabs(difference - slope) <= 1e-3 * (1 + fabs(slope)))) fail_msg("slope %g, difference %g", slope, difference);
    block_free(cx, b);
    close_context(cx);
}

static void test_slopes(void **state) {
    (void)state;
    for (int kind = ENCODER_LAYER; kind <= DECODER_LAYER; kind++)
        for (int pre = 0; pre < 2; pre++) check_slope((enum kind)kind, pre);
}

/* ---- LayerDrop ---- */

/* Layers of a stack that ran in one training step, and the memory of it. */
static int layers_run(bool decoder, float p, bool training, bool dry, uint64_t step, size_t *peak) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry, .seed = 5 + step});
    const heed_transformer_opts opts = {
        .width = 8, .heads = 2, .hidden = 5, .bias = true, .norm_first = true, .layers = 4, .layer_drop = p};
    struct block *b = block_new(cx, decoder ? DECODER : ENCODER, &opts);
    heed_set_training(cx, training);
    heed_tensor *x = random_tensor(cx, 0, 3, (int64_t[]){2, 3, opts.width});
    heed_capture_begin(cx, &(heed_capture_opts){.site = decoder ? "decoder" : "encoder"});
    heed_tensor *y = block_run(cx, b, x, x, NULL, NULL);
    if (!y) fail_msg("%s", heed_message(cx));
    const int n = heed_capture_count(cx);
    if (n == 0 && !dry) assert_ptr_equal(x, y);
    heed_capture_end(cx);
    *peak = heed_memory_use(cx).step_peak;
    heed_reset(cx);
    block_free(cx, b);
    heed_close(cx);
    return n;
}

static void test_layer_drop(void **state) {
    (void)state;
    for (int decoder = 0; decoder < 2; decoder++) {
        size_t peak, planned;
        assert_int_equal(layers_run(decoder, 0.9f, false, false, 0, &peak), 4);
        assert_int_equal(layers_run(decoder, 0, true, false, 0, &peak), 4);
        assert_int_equal(layers_run(decoder, 1, true, false, 0, &peak), 0);
        int run = 0;
        bool seen[5] = {false};
        for (uint64_t step = 0; step < 200; step++) {
            const int n = layers_run(decoder, 0.25f, true, false, step, &peak);
            run += n, seen[n] = true;
            if (step % 10) continue;
            layers_run(decoder, 0.25f, true, true, step, &planned);
            assert_int_equal(planned, peak);
        }
        assert_true(fabs(run - 800 * 0.75) <= 5 * sqrt(800 * 0.75 * 0.25)); /* five deviations of a binomial */
        assert_true(seen[2] && seen[3] && seen[4]);
    }
}

/* ---- wrong use ---- */

static void test_wrong_make(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    struct block *b = calloc(1, sizeof *b);
    char wide[300];
    memset(wide, 'a', 299), wide[299] = 0;
#define OPTS(...) (&(heed_transformer_opts){.width = 8, .heads = 2, .hidden = 4, .layers = 2, __VA_ARGS__})
#define WRONG(sentence, call)                                                                                          \
    assert_false(call);                                                                                                \
    EXPECT_SENTENCE(cx, sentence)
    WRONG("encoder_layer: the options or", heed_encoder_layer_make(cx, set, "", NULL, &b->encoder_layer));
    WRONG("decoder_layer: the options or", heed_decoder_layer_make(cx, set, "", OPTS(.bias = true), NULL));
    WRONG("encoder: the options or", heed_encoder_make(cx, set, "", OPTS(.bias = true), NULL));
    WRONG("decoder: 0 layers: at least 1 is needed",
          heed_decoder_make(cx, set, "", &(heed_transformer_opts){.width = 8, .heads = 2, .hidden = 4}, &b->decoder));
    WRONG("encoder: a layer_drop of 2 is not between 0 and 1",
          heed_encoder_make(cx, set, "", OPTS(.layer_drop = 2), &b->encoder));
    WRONG("encoder: dropout -1 is not", heed_encoder_make(cx, set, "", OPTS(.dropout = -1), &b->encoder));
    WRONG("encoder: eps = nan is negative or", heed_encoder_make(cx, set, "", OPTS(.eps = NAN), &b->encoder));
    heed_transformer_opts many = *OPTS(.bias = true);
    many.heads = 3;
    WRONG("multihead: 3 heads do not divide a width of 8", heed_decoder_make(cx, set, "", &many, &b->decoder));
    WRONG("param: a name of more than 255 letters ends in 'layers.0'",
          heed_encoder_make(cx, set, wide, OPTS(.bias = true), &b->encoder));
    WRONG("feed_forward: the layer is NULL", heed_feed_forward_make(cx, set, "", 1, 1, true, HEED_ACT_RELU, 0, NULL));
    WRONG("feed_forward: widths 8 and 0: at least 1",
          heed_feed_forward_make(cx, set, "", 8, 0, true, HEED_ACT_RELU, 0, &b->encoder_layer.feed_forward));
    WRONG("feed_forward: dropout 2 is not",
          heed_feed_forward_make(cx, set, "", 8, 8, true, HEED_ACT_RELU, 2, &b->encoder_layer.feed_forward));
    assert_int_equal(heed_params_count(set), 0);
    heed_params_free(cx, set);
    free(b);
    close_context(cx);
}

static void test_wrong_run(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct block *e = block_new(cx, ENCODER, &middling), *d = block_new(cx, DECODER, &middling);
#define X random_tensor(cx, 0, 3, (int64_t[]){2, 5, C})
    WRONG("encoder: the stack or x is NULL", heed_encoder_run(cx, NULL, X, NULL));
    WRONG("encoder_layer: the layer or x is NULL", heed_encoder_layer_run(cx, &e->encoder.layer[0], NULL, NULL));
    WRONG("decoder: the stack, x or memory is NULL", heed_decoder_run(cx, &d->decoder, X, NULL, NULL, NULL));
    WRONG("decoder_layer: the layer, x or memory is NULL", heed_decoder_layer_run(cx, NULL, X, X, NULL, NULL));
    WRONG("decoder: the stack, x or a cache is NULL", heed_decoder_step(cx, &d->decoder, X, NULL, NULL, NULL));
    WRONG("decoder: the stack is NULL", heed_decoder_remember(cx, NULL, X, NULL, NULL));
    WRONG("multihead: k is NULL", heed_decoder_remember(cx, &d->decoder, NULL, NULL, NULL));
    WRONG("cache_append: the cache is NULL", heed_decoder_remember(cx, &d->decoder, X, NULL, NULL));
    WRONG("param: the parameter is NULL", heed_feed_forward_run(cx, NULL, X));
    WRONG("multihead: q of shape (2,5,7) is not (B,T,48)",
          heed_encoder_run(cx, &e->encoder, random_tensor(cx, 0, 3, (int64_t[]){2, 5, 7}), NULL));
    WRONG("attention: q (2,5,3,16), k (3,5,3,16) and v",
          heed_decoder_run(cx, &d->decoder, X, random_tensor(cx, 0, 3, (int64_t[]){3, 5, C}), NULL, NULL));
    const heed_mask lengths = {.key_lengths = heed_from_i32(cx, (int32_t[]){5, 6}, 1, (int64_t[]){2})};
    WRONG("attention: key length 6 of sequence 1 is not within 0 and 5",
          heed_encoder_run(cx, &e->encoder, X, &lengths));
    heed_cache *one = heed_cache_new(cx, &(heed_cache_opts){1, 2, 3, 16, 16, HEED_CACHE_FIXED, 8});
    WRONG("cache_append: layer 1 of a cache of 1", heed_decoder_remember(cx, &d->decoder, X, one, NULL));
    heed_cache_free(cx, one);
#undef WRONG
#undef OPTS
#undef X
    block_free(cx, e);
    block_free(cx, d);
    close_context(cx);
}

/* Memory refused anywhere: a failed context, nothing lost, nothing broken. */
static void test_refused_memory(void **state) {
    (void)state;
    const heed_transformer_opts opts = {.width = 8, .heads = 2, .hidden = 4, .bias = true, .layers = 2};
    heed_encoder *encoder = calloc(1, sizeof *encoder);
    int failures = 0;
    for (int64_t n = 1;; n++) {
        heed_ctx *cx = open_context();
        books.fail_at = books.requests + n;
        heed_params *set = heed_params_new(cx);
        heed_tensor *y = NULL;
        if (set && heed_encoder_make(cx, set, "e", &opts, encoder) && heed_params_allocate(cx, set) &&
            heed_params_init(cx, set, 1))
            y = heed_encoder_run(cx, encoder, heed_full(cx, 1, 3, (int64_t[]){2, 3, 8}), NULL);
        const bool refused = books.requests >= books.fail_at;
        assert_int_equal(heed_error(cx), y ? HEED_OK : HEED_ERR_MEMORY);
        assert_true(y || refused); /* both: the arena did with a smaller chunk */
        failures += !y;
        heed_clear(cx);
        heed_params_free(cx, set);
        close_context(cx);
        if (!refused) break;
        assert_true(n < 1000);
    }
    assert_true(failures > 30);
    free(encoder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),         cmocka_unit_test(test_names),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_batches),        cmocka_unit_test(test_first),      cmocka_unit_test(test_plan),
        cmocka_unit_test(test_deep),           cmocka_unit_test(test_dropout),    cmocka_unit_test(test_slopes),
        cmocka_unit_test(test_layer_drop),     cmocka_unit_test(test_wrong_make), cmocka_unit_test(test_wrong_run),
        cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
