/* The engine: lives of tensors, scopes, the tape, gradients, ops of one's own, wrong use. */
#include "small_step.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static heed_ctx *open_with(int threads) { return heed_open(&(heed_config){.threads = threads, .seed = 3}); }

static heed_tensor *vec(heed_ctx *cx, int64_t n, float from) {
    float x[64];
    for (int64_t i = 0; i < n; i++) x[i] = from + (float)i;
    return heed_from_f32(cx, x, 1, &n);
}

static void assert_floats(const heed_tensor *t, int n, const float *want) {
    assert_non_null(t);
    const float *x = heed_f32(t);
    assert_non_null(x);
    assert_int_equal(heed_count(t), n);
    for (int i = 0; i < n; i++)
        if (!(fabsf(x[i] - want[i]) <= 1e-5f)) fail_msg("number %d is %g, not %g", i, (double)x[i], (double)want[i]);
}

static void assert_failed(heed_ctx *cx, heed_status status, const char *part) {
    if (!heed_failed(cx)) fail_msg("no error, but '%s' was expected", part);
    if (!strstr(heed_message(cx), part)) fail_msg("'%s' does not say '%s'", heed_message(cx), part);
    assert_int_equal(heed_error(cx), status);
    heed_clear(cx);
    assert_false(heed_failed(cx));
}

static void gradients_of_a_product_with_itself(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    heed_tensor *x = heed_want_grad(cx, vec(cx, 3, 1));
    heed_tensor *y = heed_add(cx, heed_mul(cx, x, x), x); /* x^2 + x, x taken three times */
    assert_true(heed_backward_from(cx, y, vec(cx, 3, 1)));
    assert_floats(heed_grad_of(cx, x), 3, (float[]){3, 10, 21}); /* (2x + 1) dy */
    assert_floats(x, 3, (float[]){1, 2, 3});
    assert_true(heed_readable(y));
    heed_close(cx);
}

static void passed_gradients_are_not_mixed_up(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    heed_tensor *a = heed_want_grad(cx, vec(cx, 2, 1)), *b = heed_want_grad(cx, vec(cx, 2, 5));
    heed_tensor *s = heed_keep_grad(cx, heed_add(cx, a, b)); /* da and db share ds ... */
    heed_tensor *t = heed_add(cx, s, heed_mul(cx, a, s));    /* ... until a gets more */
    heed_backward_from(cx, t, vec(cx, 2, 1));
    /* t = s + a s: ds = dy (1 + a), da = ds + dy s, db = ds */
    assert_floats(heed_grad_of(cx, s), 2, (float[]){2, 6});
    assert_floats(heed_grad_of(cx, b), 2, (float[]){2, 6});
    assert_floats(heed_grad_of(cx, a), 2, (float[]){2 + 6, 6 + 2 * 8});
    heed_close(cx);
}

static void parameters_store_then_add(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    float w[2] = {3, 4}, g[2] = {99, 99};
    heed_grad slot = {.data = g};
    for (int round = 1; round <= 2; round++) {
        heed_tensor *p = heed_borrow(cx, HEED_F32, w, 1, (int64_t[]){2}, &slot);
        heed_tensor *q =
            heed_borrow(cx, HEED_F32, w, 1, (int64_t[]){2}, &slot); /* tied: the same slot twice in one op */
        assert_true(heed_backward(cx, heed_sum(cx, heed_mul(cx, p, q), NULL, 0, false)));
        assert_true(slot.filled);
        assert_float_equal(g[0], (float)round * 6, 1e-6);
        assert_float_equal(g[1], (float)round * 8, 1e-6);
        heed_reset(cx);
    }
    slot.filled = false;
    heed_tensor *p = heed_borrow(cx, HEED_F32, w, 1, (int64_t[]){2}, &slot);
    heed_backward(cx, heed_sum(cx, p, NULL, 0, false));
    assert_float_equal(g[1], 1, 0);
    heed_close(cx);
}

/* The head's weight is tied to an embedding used before and to a product used after it, and the upstream gradient is
 * not 1. */
static void claimed_gradients_meet_others(void **state) {
    (void)state;
    float w[12], x[8], g[3][12], dx[3][8];
    heed_random_normal(1, 0, 0, w, 12);
    heed_random_normal(1, 1, 0, x, 8);
    for (int how = 0; how < 3; how++) { /* 0: claimed; 1: not claimed, filled before; 2: logits held */
        heed_ctx *cx = open_with(2);
        memset(g[how], 0, sizeof g[how]);
        heed_grad slot = {.data = g[how], .filled = how == 1};
        heed_tensor *W = heed_borrow(cx, HEED_F32, w, 2, (int64_t[]){3, 4}, &slot);
        heed_tensor *X = heed_want_grad(cx, heed_from_f32(cx, x, 2, (int64_t[]){2, 4}));
        heed_tensor *ids = heed_from_i32(cx, (int32_t[]){2, 0}, 1, (int64_t[]){2});
        heed_tensor *h = heed_add(cx, X, heed_embedding(cx, W, ids));
        heed_tensor *loss = how < 2 ? heed_linear_cross_entropy(cx, h, W, NULL, ids, NULL)
                                    : heed_cross_entropy(cx, heed_linear(cx, h, W, NULL), ids, NULL);
        heed_tensor *after = heed_sum(cx, heed_square(cx, W), NULL, 0, false);
        heed_tensor *all = heed_add(cx, heed_affine(cx, loss, 2.5f, 0), after);
        assert_true(heed_backward(cx, all));
        heed_copy_f32(cx, heed_grad_of(cx, X), dx[how], 8);
        assert_false(heed_failed(cx));
        assert_false(slot.claimed);
        assert_null(slot.aside);
        heed_close(cx);
    }
    for (int how = 0; how < 2; how++) {
        for (int i = 0; i < 12; i++)
            if (!(fabsf(g[how][i] - g[2][i]) <= 1e-5f)) fail_msg("way %d: dW %d", how, i);
        for (int i = 0; i < 8; i++)
            if (!(fabsf(dx[how][i] - dx[2][i]) <= 1e-5f)) fail_msg("way %d: dx %d", how, i);
    }
}

/* A claimed gradient whose loss is never walked back must not count. */
static void unused_claims_are_undone(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    float w[12] = {1}, g[12] = {0};
    heed_grad slot = {.data = g};
    heed_tensor *W = heed_borrow(cx, HEED_F32, w, 2, (int64_t[]){3, 4}, &slot);
    heed_tensor *X = heed_zeros(cx, HEED_F32, 2, (int64_t[]){2, 4});
    heed_tensor *ids = heed_from_i32(cx, (int32_t[]){2, 0}, 1, (int64_t[]){2});
    heed_tensor *unused = heed_linear_cross_entropy(cx, X, W, NULL, ids, NULL);
    assert_non_null(unused);
    assert_true(slot.claimed);
    heed_backward(cx, heed_sum(cx, W, NULL, 0, false));
    assert_false(slot.claimed);
    assert_true(slot.filled);
    for (int i = 0; i < 12; i++) assert_float_equal(g[i], 1, 0);
    slot.filled = false;
    heed_reset(cx);
    W = heed_borrow(cx, HEED_F32, w, 2, (int64_t[]){3, 4}, &slot);
    X = heed_zeros(cx, HEED_F32, 2, (int64_t[]){2, 4});
    ids = heed_from_i32(cx, (int32_t[]){2, 0}, 1, (int64_t[]){2});
    heed_linear_cross_entropy(cx, X, W, NULL, ids, NULL);
    heed_reset(cx); /* the step ends without backward */
    assert_false(slot.claimed);
    assert_false(slot.filled);
    heed_close(cx);
}

static void views_share_and_their_gradients_return(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    heed_tensor *x = heed_want_grad(cx, vec(cx, 12, 0));
    heed_tensor *m = heed_reshape(cx, x, 2, (int64_t[]){3, -1});
    heed_tensor *mid = heed_slice(cx, m, 1, 1, 2); /* columns 1, 2: strided */
    assert_null(heed_f32(mid));
    float out[6];
    assert_true(heed_copy_f32(cx, mid, out, 6));
    assert_float_equal(out[0], 1, 0);
    assert_float_equal(out[5], 10, 0);
    heed_tensor *one = heed_slice(cx, mid, 1, 1, 1), *flat = heed_reshape(cx, mid, 1, (int64_t[]){6});
    heed_tensor *y =
        heed_add(cx, heed_sum(cx, heed_square(cx, flat), NULL, 0, false), heed_sum(cx, one, NULL, 0, false));
    assert_float_equal(heed_item(cx, y), 1 + 4 + 25 + 36 + 81 + 100 + 2 + 6 + 10, 1e-4);
    assert_true(heed_backward(cx, y));
    assert_floats(heed_grad_of(cx, x), 12, (float[]){0, 2, 5, 0, 0, 10, 13, 0, 0, 18, 21, 0});
    heed_close(cx);
}

static void split_gradients_fill_what_was_not_used(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    heed_tensor *x = heed_want_grad(cx, heed_reshape(cx, heed_detach(cx, vec(cx, 6, 0)), 2, (int64_t[]){2, 3}));
    heed_tensor *part[2];
    assert_true(heed_split(cx, x, 1, (int64_t[]){1, 2}, 2, part));
    heed_tensor *y = heed_sum(cx, heed_square(cx, part[1]), NULL, 0, false);
    assert_true(heed_backward(cx, y));
    assert_floats(heed_grad_of(cx, x), 6, (float[]){0, 2, 4, 0, 8, 10});
    heed_close(cx);
}

static heed_tensor *layer(heed_ctx *cx, heed_tensor *x) {
    heed_scope_begin(cx);
    return heed_scope_end(cx, heed_tanh(cx, heed_add(cx, x, heed_exp(cx, x))));
}

/* Run without gradients, a stack of any depth holds two layers' temporaries. */
static void a_deep_stack_holds_two_layers(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    const int64_t n = 1024;
    heed_set_grad(cx, false);
    size_t peak[2];
    for (int deep = 0; deep < 2; deep++) {
        heed_memory_reset_peak(cx);
        heed_tensor *x = heed_full(cx, 1, 1, &n);
        const size_t one = heed_memory_use(cx).step;
        heed_scope_begin(cx);
        for (int i = 0; i < (deep ? 100 : 3); i++) x = heed_scope_keep(cx, layer(cx, x));
        x = heed_scope_end(cx, x);
        assert_true(heed_readable(x));
        assert_int_equal(heed_memory_use(cx).step, 2 * one); /* what went in and what came out */
        peak[deep] = heed_memory_use(cx).step_peak;
        assert_true(peak[deep] <= 5 * one);
        heed_reset(cx);
    }
    assert_int_equal(peak[0], peak[1]);
    heed_close(cx);
}

static void scopes_keep_many(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    heed_scope_begin(cx);
    heed_tensor *pair[2] = {vec(cx, 2, 1), vec(cx, 2, 5)}, *lost = vec(cx, 64, 0);
    heed_tensor *view = heed_slice(cx, lost, 0, 3, 2); /* a kept view keeps what it looks at */
    heed_scope_end_many(cx, (heed_tensor *[]){pair[0], pair[1], view}, 3);
    assert_floats(pair[1], 2, (float[]){5, 6});
    assert_floats(view, 2, (float[]){3, 4});
    heed_close(cx);
}

static void a_warm_step_asks_for_nothing(void **state) {
    (void)state;
    heed_ctx *cx = open_with(2);
    heed_set_training(cx, true);
    struct small_net *net = malloc(sizeof *net);
    small_net_init(net);
    int64_t calls = 0;
    for (int step = 0; step < 5; step++) {
        if (step == 2) calls = heed_memory_use(cx).system_calls;
        for (int i = 0; i < STEP_PARAMS; i++) net->slot[i].filled = false;
        heed_tensor *loss = small_step(cx, net);
        assert_true(heed_backward(cx, loss));
        assert_true(isfinite(heed_item(cx, loss)));
        heed_reset(cx);
        assert_int_equal(heed_memory_use(cx).step, 0);
    }
    assert_int_equal(heed_memory_use(cx).system_calls, calls);
    free(net);
    heed_close(cx);
}

static void planned_is_used(void **state) {
    (void)state;
    struct small_net *net = malloc(sizeof *net);
    heed_memory memory[2];
    for (int dry = 0; dry < 2; dry++) {
        small_net_init(net);
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry});
        heed_set_training(cx, true);
        assert_true(heed_backward(cx, small_step(cx, net)));
        memory[dry] = heed_memory_use(cx);
        heed_reset(cx);
        for (int i = 0; i < STEP_PARAMS; i++) assert_int_equal(net->slot[i].filled, !dry);
        heed_close(cx);
    }
    assert_int_equal(memory[0].step_peak, memory[1].step_peak);
    assert_int_equal(memory[0].held_peak, memory[1].held_peak);
    assert_true(memory[0].step_peak > 0);
    /* a budget that is too small fails the dry run where it fails the real one */
    char message[2][256];
    for (int dry = 0; dry < 2; dry++) {
        small_net_init(net);
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry, .byte_budget = memory[0].held_peak - 1});
        heed_set_training(cx, true);
        heed_backward(cx, small_step(cx, net));
        assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
        snprintf(message[dry], sizeof message[dry], "%s", heed_message(cx));
        heed_close(cx);
    }
    assert_string_equal(message[0], message[1]);
    free(net);
}

/* A chain of n ops that save their outputs: backward must give back as it goes. */
static void backward_frees_as_it_goes(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    const int64_t n = 1024;
    const size_t block = (size_t)n * sizeof(float);
    heed_tensor *x = heed_want_grad(cx, heed_full(cx, 0.1f, 1, &n));
    heed_tensor *y = x;
    for (int i = 0; i < 20; i++) y = heed_tanh(cx, y);
    y = heed_sum(cx, y, NULL, 0, false);
    const size_t before = heed_memory_use(cx).step;
    assert_true(before >= 21 * block);
    heed_memory_reset_peak(cx);
    assert_true(heed_backward(cx, y));
    const heed_memory m = heed_memory_use(cx);
    assert_true(m.step_peak <= before + 2 * block + 256); /* two gradients beside the values */
    assert_true(m.step <= 2 * block + 256);               /* x, its gradient, the loss */
    heed_close(cx);
}

static void dropout_is_counted(void **state) {
    (void)state;
    float first[2][512], again[512];
    for (int threads = 1; threads <= 2; threads++) {
        heed_ctx *cx = open_with(threads);
        heed_tensor *x = heed_full(cx, 1, 1, (int64_t[]){512});
        assert_ptr_equal(heed_dropout(cx, x, 0.5f), x); /* not training */
        heed_set_training(cx, true);
        heed_copy_f32(cx, heed_dropout(cx, x, 0.5f), first[threads - 1], 512);
        heed_copy_f32(cx, heed_dropout(cx, x, 0.5f), again, 512);
        assert_memory_not_equal(first[threads - 1], again, sizeof again);
        int kept = 0;
        for (int i = 0; i < 512; i++) kept += again[i] == 2;
        assert_in_range(kept, 180, 332);
        heed_reset(cx);
        assert_int_equal(heed_step(cx), 1);
        heed_set_step(cx, 0);
        x = heed_full(cx, 1, 1, (int64_t[]){512});
        heed_copy_f32(cx, heed_dropout(cx, x, 0.5f), again, 512);
        assert_memory_equal(first[threads - 1], again, sizeof again);
        heed_close(cx);
    }
    assert_memory_equal(first[0], first[1], sizeof again);
}

/* ---- an op of one's own: y = x^3 ---- */

static bool cube_infer(heed_op_call *c) { return heed_op_want(c, 0, HEED_F32) && heed_op_like(c, 0, 0); }
static bool cube_forward(heed_op_call *c) {
    const float *x = heed_f32(c->in[0]);
    for (int64_t i = 0; i < heed_count(c->in[0]); i++) {
        if (x[i] > 1e6f)
            return heed_op_fail(c, HEED_ERR_RANGE, "%g at place %lld is too large", (double)x[i], (long long)i);
        heed_op_f32(c, 0)[i] = x[i] * x[i] * x[i];
    }
    return true;
}
static bool cube_backward(heed_op_call *c) {
    const float *x = heed_f32(c->in[0]);
    for (int64_t i = 0; i < heed_count(c->in[0]); i++) c->din[0][i] = 3 * x[i] * x[i] * c->dout[0][i];
    return true;
}
static const heed_op cube = {
    .name = "cube", .infer = cube_infer, .forward = cube_forward, .backward = cube_backward, .save_in = 1};

static void a_program_adds_its_own_op(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    heed_tensor *x = heed_want_grad(cx, vec(cx, 3, 1)), *y;
    assert_true(heed_apply(cx, &cube, NULL, &x, 1, &y, 1));
    assert_floats(y, 3, (float[]){1, 8, 27});
    y = heed_add(cx, y, x); /* two contributions: the engine adds for an op that only stores */
    assert_true(heed_backward_from(cx, y, heed_full(cx, 1, 1, (int64_t[]){3})));
    assert_floats(heed_grad_of(cx, x), 3, (float[]){4, 13, 28});
    heed_reset(cx);
    x = heed_full(cx, 1e7f, 1, (int64_t[]){2});
    assert_false(heed_apply(cx, &cube, NULL, &x, 1, &y, 1));
    assert_null(y);
    assert_failed(cx, HEED_ERR_RANGE, "cube: 1e+07 at place 0 is too large");
    heed_close(cx);
}

/* ---- wrong use ---- */

static void errors_stick_and_clear(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    heed_tensor *a = vec(cx, 3, 0), *b = vec(cx, 4, 0);
    heed_tensor *y = heed_add(cx, heed_mul(cx, a, b), a); /* the first error is the one that is kept */
    assert_null(y);
    assert_null(heed_exp(cx, y));
    assert_null(heed_zeros(cx, HEED_F32, 0, NULL));
    assert_failed(cx, HEED_ERR_SHAPE, "mul: (3) and (4) do not broadcast");
    assert_floats(heed_neg(cx, vec(cx, 2, 1)), 2, (float[]){-1, -2}); /* as new */
    heed_close(cx);
    assert_null(heed_add(NULL, NULL, NULL));
    assert_false(heed_backward(NULL, NULL));
    assert_null(heed_grad_of(NULL, NULL));
    heed_reset(NULL);
    heed_scope_begin(NULL);
    assert_null(heed_scope_end(NULL, NULL));
}

static void wrong_tensors_are_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1), *other = open_with(1);
    assert_null(heed_add(cx, vec(cx, 2, 0), NULL));
    assert_failed(cx, HEED_ERR_USAGE, "add: input 1 is NULL");
    heed_add(cx, vec(cx, 2, 0), vec(other, 2, 0));
    assert_failed(cx, HEED_ERR_USAGE, "add: input 1 belongs to another context");
    heed_exp(cx, heed_from_i32(cx, (int32_t[]){1}, 0, NULL));
    assert_failed(cx, HEED_ERR_TYPE, "exp: input 0 is i32, not f32");
    heed_zeros(cx, HEED_F32, 2, (int64_t[]){2, -3});
    assert_failed(cx, HEED_ERR_SHAPE, "zeros: shape (2,-3) has a negative size");
    heed_zeros(cx, HEED_F32, 3, (int64_t[]){INT64_MAX / 4, 8, 2});
    assert_failed(cx, HEED_ERR_RANGE, "is too large");
    heed_zeros(cx, HEED_F32, 3, (int64_t[]){INT64_MAX / 2, INT64_MAX / 2, 0});
    assert_failed(cx, HEED_ERR_RANGE, "is too large");
    heed_zeros(cx, HEED_F32, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
    assert_failed(cx, HEED_ERR_SHAPE, "zeros: rank 9 is not between 0 and 8");
    heed_zeros(cx, (heed_dtype)77, 0, NULL);
    assert_failed(cx, HEED_ERR_TYPE, "77 is not a type");
    heed_from_f32(cx, NULL, 1, (int64_t[]){2});
    assert_failed(cx, HEED_ERR_USAGE, "from_f32: the data is NULL");
    heed_from_f32(cx, (float[]){1}, 1, NULL);
    assert_failed(cx, HEED_ERR_USAGE, "from_f32: the shape is NULL");
    heed_from_i64(cx, (int64_t[]){1, (int64_t)1 << 40}, 1, (int64_t[]){2});
    assert_failed(cx, HEED_ERR_RANGE, "from_i64: 1099511627776 at place 1 does not fit in 32 bits");
    heed_grad slot = {0};
    heed_borrow(cx, HEED_I32, &slot, 0, NULL, &slot);
    assert_failed(cx, HEED_ERR_TYPE, "borrow: only f32 can have a gradient, not i32");
    heed_borrow(cx, HEED_F32, &slot, 0, NULL, &slot);
    assert_failed(cx, HEED_ERR_USAGE, "borrow: the gradient's data is NULL");
    heed_apply(cx, NULL, NULL, NULL, 0, NULL, 0);
    assert_failed(cx, HEED_ERR_USAGE, "op: apply needs");
    heed_item(cx, vec(cx, 2, 0));
    assert_failed(cx, HEED_ERR_SHAPE, "item: shape (2) is not one number");
    heed_copy_f32(cx, vec(cx, 2, 0), (float[3]){0}, 3);
    assert_failed(cx, HEED_ERR_SHAPE, "copy_f32: 3 numbers asked of shape (2)");
    int64_t stride;
    assert_false(heed_row_stride(NULL, &stride));
    assert_false(heed_row_stride(vec(cx, 2, 0), NULL));
    assert_true(heed_row_stride(vec(cx, 2, 0), &stride) && stride == 2);
    heed_close(other);
    heed_close(cx);
}

static void wrong_steps_are_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_with(1);
    heed_scope_end(cx, NULL);
    assert_failed(cx, HEED_ERR_USAGE, "scope_end: no scope is open");
    heed_scope_begin(cx);
    heed_tensor *x = heed_want_grad(cx, vec(cx, 2, 0));
    heed_tensor *lost = heed_exp(cx, x);
    heed_tensor *y = heed_scope_end(cx, heed_square(cx, lost));
    assert_false(heed_backward(cx, y));
    assert_failed(cx, HEED_ERR_SHAPE, "backward: shape (2) is not one number");
    heed_backward(cx, vec(cx, 1, 0));
    assert_failed(cx, HEED_ERR_USAGE, "backward: nothing recorded leads here");
    x = heed_want_grad(cx, vec(cx, 2, 0));
    y = heed_sum(cx, heed_exp(cx, x), NULL, 0, false);
    heed_backward_from(cx, y, vec(cx, 2, 0));
    assert_failed(cx, HEED_ERR_SHAPE, "backward_from: a gradient of shape () is needed, not (2)");
    x = heed_want_grad(cx, vec(cx, 2, 0));
    heed_tensor *h = heed_exp(cx, x);
    y = heed_sum(cx, h, NULL, 0, false);
    assert_true(heed_backward(cx, y));
    assert_false(heed_readable(h)); /* backward has passed it */
    assert_false(heed_backward(cx, y));
    assert_failed(cx, HEED_ERR_USAGE, "backward ran already");
    x = heed_want_grad(cx, vec(cx, 2, 0));
    h = heed_keep(cx, heed_exp(cx, x));
    heed_tensor *gone = heed_neg(cx, h);
    heed_backward(cx, heed_sum(cx, gone, NULL, 0, false));
    assert_true(heed_readable(h));
    assert_null(heed_neg(cx, gone));
    assert_failed(cx, HEED_ERR_USAGE, "neg: input 0 is no longer readable");
    heed_want_grad(cx, heed_neg(cx, heed_want_grad(cx, vec(cx, 2, 0))));
    assert_failed(cx, HEED_ERR_USAGE, "an op made this tensor");
    heed_close(cx);
}

/* Kept across heed_reset, a tensor is not taken for the one that has its place since. */
static void a_tensor_ends_with_its_step(void **state) {
    (void)state;
    for (int resets = 1; resets <= 2; resets++)
        for (int use = 0; use < 5; use++) {
            heed_ctx *cx = open_with(1);
            heed_tensor *x = heed_want_grad(cx, vec(cx, 2, 1)), *loss = heed_sum(cx, heed_exp(cx, x), NULL, 0, false);
            for (int i = 0; i < resets; i++) heed_reset(cx);
            for (int i = 0; i < 8; i++) assert_non_null(vec(cx, 2, 7));
            assert_int_equal(heed_dim(x, 0), 2);
            assert_false(heed_readable(x) || heed_f32(x) || heed_wants_grad(x));
            float numbers[2];
            if (use == 0) heed_neg(cx, x);
            if (use == 1) heed_copy_f32(cx, x, numbers, 2);
            if (use == 2) heed_grad_of(cx, x);
            if (use == 3) heed_backward(cx, loss);
            if (use == 4) heed_want_grad(cx, x);
            assert_failed(cx, HEED_ERR_USAGE, "step has ended");
            heed_close(cx);
        }
}

static bool stop(void *user) { return --*(int *)user <= 0; }

static void cancel_stops_forward_and_backward(void **state) {
    (void)state;
    for (int after = 1; after < 8; after++) {
        int left = after;
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .cancel = stop, .user = &left});
        heed_tensor *x = heed_want_grad(cx, vec(cx, 2, 1));
        heed_tensor *y = heed_exp(cx, heed_neg(cx, heed_sin(cx, x)));
        heed_backward_from(cx, y, vec(cx, 2, 1));
        if (after <= 6)
            assert_failed(cx, HEED_ERR_CANCELLED, "");
        else
            assert_false(heed_failed(cx));
        heed_close(cx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_a_product_with_itself),
        cmocka_unit_test(passed_gradients_are_not_mixed_up),
        cmocka_unit_test(parameters_store_then_add),
        cmocka_unit_test(claimed_gradients_meet_others),
        cmocka_unit_test(unused_claims_are_undone),
        cmocka_unit_test(views_share_and_their_gradients_return),
        cmocka_unit_test(split_gradients_fill_what_was_not_used),
        cmocka_unit_test(a_deep_stack_holds_two_layers),
        cmocka_unit_test(scopes_keep_many),
        cmocka_unit_test(a_warm_step_asks_for_nothing),
        cmocka_unit_test(planned_is_used),
        cmocka_unit_test(backward_frees_as_it_goes),
        cmocka_unit_test(dropout_is_counted),
        cmocka_unit_test(a_program_adds_its_own_op),
        cmocka_unit_test(errors_stick_and_clear),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(wrong_steps_are_refused),
        cmocka_unit_test(a_tensor_ends_with_its_step),
        cmocka_unit_test(cancel_stops_forward_and_backward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
