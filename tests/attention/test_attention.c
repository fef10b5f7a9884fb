/* Exact attention: PyTorch's float64 in every golden case, forward and all gradients; finite differences; strided
 * inputs and fused projections; dropout; plans, refused memory and wrong use. Masks, capture, cache and the call on
 * arrays have tests of their own. */
#include "attention/attention_ops.h"
#include "attention/attention_test.h"
#include "tensor/engine.h"

/* ---- the golden cases ---- */

static bool grads_match(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *in, const char *what) {
    bool ok = true;
    for (int i = 0; ok && i < c->n_in; i++)
        if (c->din[i]) ok = golden_matches(cx, c, what, heed_grad_of(cx, in[i]), c->din[i]);
    return ok;
}

/* Without recording, and recording: the result is the same, bit for bit, and every gradient right. */
static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++) {
        const struct golden_case *c = &cases[n];
        heed_tensor *in[MAX_CASE_IN];
        assert_true(golden_leaves(cx, c, in));
        heed_set_grad(cx, false);
        heed_tensor *plain = run_case(cx, c, in);
        heed_set_grad(cx, true);
        heed_tensor *y = run_case(cx, c, in);
        if (!y) fail_msg("%s: %s", c->name, heed_message(cx));
        if (!same_bits(cx, plain, y)) golden_wrong(c->name, "other bits when recording");
        golden_matches(cx, c, "result", y, c->out[0]);
        if (golden_has_gradient(c) && golden_back(cx, c, &y)) grads_match(cx, c, in, "gradient");
        heed_reset(cx);
    }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* Only one input wants its gradient. */
static void test_alone(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++)
        for (int i = 0; i < cases[n].n_in; i++) {
            if (!cases[n].din[i]) continue;
            struct golden_case c = cases[n];
            for (int k = 0; k < c.n_in; k++)
                if (k != i) c.din[k] = NULL;
            heed_tensor *in[MAX_CASE_IN], *y;
            assert_true(golden_leaves(cx, &c, in));
            y = run_case(cx, &c, in);
            if (golden_back(cx, &c, &y)) grads_match(cx, &c, in, "gradient of one input alone");
            heed_reset(cx);
        }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* Gradients of parameters, of inputs used twice in one pass, over two passes: stored once, then added. */
static void test_parameters(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++) {
        const struct golden_case *c = &cases[n];
        struct golden_slots s;
        golden_slots_new(c, &s);
        for (int pass = 1; pass <= 2; pass++) {
            heed_tensor *in[MAX_CASE_IN];
            assert_true(golden_parameters(cx, c, &s, in));
            heed_tensor *y = heed_add(cx, run_case(cx, c, in), run_case(cx, c, in));
            const bool went = golden_back(cx, c, &y);
            for (int i = 0; went && i < c->n_in; i++)
                if (c->din[i]) golden_close_to(c, "parameter's gradient", s.slot[i].data, c->din[i], 2 * pass);
            heed_reset(cx);
        }
        golden_slots_free(&s);
    }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* Every f32 input is a part of something wider: the same bits, and gradients that end where they began. */
static heed_tensor *widened(heed_ctx *cx, const heed_array *a, bool wants, heed_tensor **whole) {
    const int last = a->rank - 1;
    int64_t shape[HEED_MAX_RANK];
    heed_tensor *t = golden_leaf(cx, a, false), *parts[3];
    memcpy(shape, a->shape, sizeof shape);
    shape[last] = 3;
    parts[0] = parts[2] = heed_full(cx, NAN, a->rank, shape);
    parts[1] = t;
    *whole = heed_contiguous(cx, heed_concat(cx, parts, 3, last));
    if (wants) heed_want_grad(cx, *whole);
    return heed_slice(cx, *whole, last, 3, a->shape[last]);
}

static void test_strided(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++) {
        const struct golden_case *c = &cases[n];
        heed_tensor *in[MAX_CASE_IN], *whole[MAX_CASE_IN] = {NULL}, *plain[MAX_CASE_IN], *y, *z;
        assert_true(golden_leaves(cx, c, plain));
        for (int i = 0; i < c->n_in; i++)
            in[i] = c->in[i] && c->in[i]->dtype == HEED_F32 ? widened(cx, c->in[i], c->din[i] != NULL, &whole[i])
                                                            : plain[i];
        y = heed_keep(cx, run_case(cx, c, in));
        assert_true(golden_back(cx, c, &y));
        z = heed_keep(cx, run_case(cx, c, plain));
        assert_true(golden_back(cx, c, &z));
        if (!same_bits(cx, y, z)) golden_wrong(c->name, "other bits from strided inputs");
        for (int i = 0; i < c->n_in; i++) {
            if (!c->din[i]) continue;
            heed_tensor *g = heed_slice(cx, heed_grad_of(cx, whole[i]), -1, 3, heed_dim(plain[i], -1));
            if (!same_bits(cx, g, heed_grad_of(cx, plain[i])))
                golden_wrong(c->name, "other bits in the gradient of strided input %d", i);
        }
        heed_reset(cx);
    }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* ---- finite differences ---- as tests/tensor/test_gradcheck.c */

static float step_of(uint64_t stream, int64_t k) {
    static const float steps[] = {-1, -0.5f, 0.5f, 1};
    return steps[heed_random_bits(5, stream, (uint64_t)k) % 4];
}

/* The loss at input i + h times the steps; *size: what it is a sum of. Dropout is that of step 3. */
static double loss_along(heed_ctx *cx, const struct golden_case *c, int i, uint64_t stream, double h, double *size,
                         heed_tensor *(*run)(heed_ctx *, const struct golden_case *, heed_tensor *const *)) {
    struct golden_case moved = *c;
    heed_array with = *c->in[i];
    const int64_t n = heed_array_count(&with);
    float *x = malloc((size_t)n * sizeof(float) + 1);
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)((double)((const float *)with.data)[k] + h * (double)step_of(stream, k));
    with.data = x;
    moved.in[i] = &with;
    heed_tensor *in[MAX_CASE_IN];
    heed_set_step(cx, 3);
    heed_set_grad(cx, false);
    assert_true(golden_leaves(cx, &moved, in));
    const heed_tensor *y = run(cx, &moved, in);
    double loss = 0;
    *size = 0;
    for (int64_t k = 0; k < heed_count(y); k++) {
        const double term = (double)heed_f32(y)[k] * (double)((const float *)c->dout[0]->data)[k];
        loss += term, *size += fabs(term);
    }
    heed_set_grad(cx, true);
    heed_reset(cx);
    free(x);
    return loss;
}

static void check_differences(heed_ctx *cx, const struct golden_case *c, int i, const float *gradient, uint64_t stream,
                              heed_tensor *(*run)(heed_ctx *, const struct golden_case *, heed_tensor *const *)) {
    const double h = 1.0 / 64;
    double slope = 0, parts = 0, size, d[2];
    for (int64_t k = 0; k < heed_array_count(c->in[i]); k++) {
        const double part = (double)gradient[k] * (double)step_of(stream, k);
        slope += part, parts += fabs(part);
    }
    for (int m = 0; m < 2; m++)
        d[m] = (loss_along(cx, c, i, stream, h / (m + 1), &size, run) -
                loss_along(cx, c, i, stream, -h / (m + 1), &size, run)) /
               (2 * h / (m + 1));
    const double found = (4 * d[1] - d[0]) / 3, tolerance = 2e-4 * parts + 2e-7 * (size + 3) / h;
    if (!(fabs(found - slope) <= tolerance))
        golden_wrong(c->name, "input %d: differences give %.7g, the gradient %.7g (within %.2g)", i, found, slope,
                     tolerance);
}

static void test_differences(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++)
        for (int i = 0; !cases[n].kink && i < cases[n].n_in; i++)
            if (cases[n].din[i])
                check_differences(cx, &cases[n], i, cases[n].din[i]->data, (uint64_t)(16 * n + i), run_case);
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* ---- dropout ---- */

static heed_tensor *dropped(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *in) {
    const heed_attention_opts o = {.mask = case_mask(c, in), .dropout = 0.4f};
    return heed_attention(cx, in[Q], in[K], in[V], &o);
}

/* In a fixed step the mask is fixed, and the gradient that of what was computed. */
static void test_dropout_gradient(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_set_training(cx, true);
    for (int n = 0; n < 24; n++) {
        const struct golden_case *c = &cases[n];
        heed_tensor *in[MAX_CASE_IN];
        float *gradient[3];
        heed_set_step(cx, 3);
        assert_true(golden_leaves(cx, c, in));
        heed_tensor *y = dropped(cx, c, in);
        assert_true(golden_back(cx, c, &y));
        for (int i = Q; i <= V; i++) assert_non_null(gradient[i] = copy_of(cx, heed_grad_of(cx, in[i])));
        heed_reset(cx);
        for (int i = Q; i <= V; i++) {
            check_differences(cx, c, i, gradient[i], (uint64_t)(16 * n + i), dropped);
            free(gradient[i]);
        }
    }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* Queries of zero make every weight 1 / 64, values of one make y the sum of those that were kept. */
static void test_dropout_is_counted(void **state) {
    (void)state;
    enum { B = 4, T = 64, H = 4 };
    heed_ctx *cx = open_context();
    heed_tensor *zero = heed_zeros(cx, HEED_F32, 4, SHAPE(B, T, H, 3)), *one = heed_full(cx, 1, 4, SHAPE(B, T, H, 1));
    const heed_attention_opts o = {.dropout = 0.3f}, none = {0};
    heed_tensor *plain = heed_attention(cx, zero, zero, one, &none);
    assert_true(same_bits(cx, plain, heed_attention(cx, zero, zero, one, &o))); /* not training */
    heed_set_training(cx, true);
    heed_set_step(cx, 5);
    heed_tensor *y = heed_attention(cx, zero, zero, one, &o), *other = heed_attention(cx, zero, zero, one, &o);
    double mean = 0;
    for (int64_t i = 0; i < B * T * H; i++) mean += (double)heed_f32(y)[i] / (B * T * H);
    assert_true(fabs(mean - 1) < 0.016); /* six standard deviations */
    assert_false(same_bits(cx, y, other));
    float *first = copy_of(cx, y);
    for (int round = 0; round < 4; round++) { /* the same step, another step, another seed, the same again */
        heed_reset(cx);
        heed_set_step(cx, round == 1 ? 6 : 5);
        heed_set_seed(cx, round == 2 ? 9 : 0);
        zero = heed_zeros(cx, HEED_F32, 4, SHAPE(B, T, H, 3)), one = heed_full(cx, 1, 4, SHAPE(B, T, H, 1));
        y = heed_attention(cx, zero, zero, one, &o);
        const bool same = memcmp(first, heed_f32(y), B * T * H * sizeof(float)) == 0;
        assert_int_equal(same, round == 0 || round == 3);
    }
    free(first);
    one = heed_want_grad(cx, heed_full(cx, 1, 4, SHAPE(B, T, H, 1)));
    y = heed_keep(cx, heed_attention(cx, zero, zero, one, &(heed_attention_opts){.dropout = 1}));
    assert_true(heed_backward_from(cx, y, one));
    heed_tensor *nothing = heed_zeros(cx, HEED_F32, 4, SHAPE(B, T, H, 1));
    assert_true(apart(cx, y, nothing) == 0);
    assert_true(apart(cx, heed_grad_of(cx, one), nothing) == 0);
    heed_reset(cx);
    close_context(cx);
}

/* ---- fused projections ---- slices of (B,T,3C) are taken as they lie */

static void test_fused(void **state) {
    (void)state;
    enum { B = 2, T = 37, H = 3, D = 8, C = H * D };
    heed_ctx *cx = open_context();
    heed_tensor *fused = heed_want_grad(cx, heed_reshape(cx, normals(cx, 1, B, T, 3, C), 3, SHAPE(B, T, 3 * C)));
    heed_tensor *part[3], *whole[3];
    assert_true(heed_split(cx, fused, 2, SHAPE(C, C, C), 3, part));
    for (int i = 0; i < 3; i++) {
        part[i] = heed_reshape(cx, part[i], 4, SHAPE(B, T, H, D));
        assert_null(heed_f32(part[i])); /* a view, not a copy */
        whole[i] = heed_want_grad(cx, heed_contiguous(cx, heed_detach(cx, part[i])));
    }
    const heed_attention_opts o = {.mask = heed_mask_causal(0)};
    heed_tensor *dy = normals(cx, 2, B, T, H, D), *y[2];
    for (int i = 0; i < 2; i++) {
        const size_t before = heed_memory_use(cx).step;
        heed_tensor **x = i == 0 ? part : whole;
        y[i] = heed_keep(cx, heed_attention(cx, x[0], x[1], x[2], &o));
        /* y and two numbers a row: no copies */
        assert_true(heed_memory_use(cx).step - before < 2 * B * T * C * sizeof(float));
        assert_true(heed_backward_from(cx, y[i], dy));
    }
    assert_true(same_bits(cx, y[0], y[1]));
    heed_tensor *grad = heed_grad_of(cx, fused);
    for (int i = 0; i < 3; i++)
        assert_true(same_bits(cx, heed_slice(cx, grad, 2, i * C, C), heed_grad_of(cx, whole[i])));
    heed_reset(cx);
    close_context(cx);
}

/* (…,T,heads,size) as rows of heads * size numbers. */
static heed_tensor *as_rows(heed_ctx *cx, heed_tensor *t) {
    const int64_t *n = heed_shape(t);
    return heed_rank(t) == 4 ? heed_reshape(cx, t, 3, SHAPE(n[0], n[1], n[2] * n[3]))
                             : heed_reshape(cx, t, 2, SHAPE(n[0], n[1] * n[2]));
}

static bool is_self(const struct golden_case *c) {
    const heed_array *q = c->in[Q], *k = c->in[K], *v = c->in[V], *a = c->in[QUERY_OFFSETS], *b = c->in[KEY_OFFSETS];
    if (a && memcmp(a->data, b->data, (size_t)heed_array_count(a) * sizeof(int32_t)) != 0) return false;
    return q->shape[q->rank - 3] == k->shape[k->rank - 3] && q->shape[q->rank - 1] == v->shape[v->rank - 1];
}

/* heed_self_attention takes the three side by side, gaps around them or not: the bits of heed_attention, and one
 * gradient in three parts. */
static void test_self_attention(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    int tried = 0;
    for (int n = 0; n < 2 * n_cases; n++) {
        const struct golden_case *c = &cases[n / 2];
        if (!is_self(c)) continue;
        heed_tensor *in[MAX_CASE_IN], *flat[3];
        heed_rotary_opts rotary;
        assert_true(golden_leaves(cx, c, in));
        heed_tensor *y = heed_keep(cx, run_case(cx, c, in));
        assert_true(golden_back(cx, c, &y));
        int64_t width = 0;
        for (int i = Q; i <= V; i++) flat[i] = as_rows(cx, heed_detach(cx, in[i])), width += heed_dim(flat[i], -1);
        heed_tensor *fused = heed_want_grad(cx, heed_contiguous(cx, heed_concat(cx, flat, 3, -1))), *whole = fused;
        if (n % 2) {
            whole = heed_want_grad(cx, heed_concat(cx, (heed_tensor *[]){flat[0], heed_detach(cx, fused)}, 2, -1));
            fused = heed_slice(cx, whole, -1, heed_dim(flat[0], -1), width);
        }
        const heed_attention_opts o = case_opts(cx, c, in, &rotary);
        heed_tensor *z = heed_self_attention(cx, fused, heed_dim(in[Q], -2), heed_dim(in[K], -2), &o);
        if (!z) fail_msg("%s: %s", c->name, heed_message(cx));
        if (!same_bits(cx, y, heed_keep(cx, z))) golden_wrong(c->name, "other bits from a fused projection");
        assert_true(golden_back(cx, c, &z));
        heed_tensor *grad = heed_grad_of(cx, whole);
        int64_t at = n % 2 ? heed_dim(flat[0], -1) : 0;
        for (int i = Q; i <= V; at += heed_dim(flat[i++], -1))
            if (!same_bits(cx, heed_slice(cx, grad, -1, at, heed_dim(flat[i], -1)), heed_grad_of(cx, in[i])))
                golden_wrong(c->name, "other bits in part %d of a fused gradient", i);
        /* used twice: the second gradient is added to the first */
        heed_tensor *twice = heed_want_grad(cx, heed_contiguous(cx, heed_concat(cx, flat, 3, -1)));
        const int64_t heads = heed_dim(in[Q], -2), kv_heads = heed_dim(in[K], -2);
        z = heed_add(cx, heed_self_attention(cx, twice, heads, kv_heads, &o),
                     heed_self_attention(cx, twice, heads, kv_heads, &o));
        assert_true(golden_back(cx, c, &z));
        grad = heed_slice(cx, grad, -1, n % 2 ? heed_dim(flat[0], -1) : 0, width);
        if (!(apart(cx, heed_grad_of(cx, twice), heed_affine(cx, grad, 2, 0)) <= 1e-6))
            golden_wrong(c->name, "the gradient of a fused projection used twice");
        tried++;
        heed_reset(cx);
    }
    assert_true(tried >= 18);
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* ---- plans and memory ---- */

static size_t peak_of(heed_ctx *cx, const struct golden_case *c, struct golden_slots *slots) {
    heed_tensor *in[MAX_CASE_IN];
    heed_memory_reset_peak(cx);
    assert_true(slots ? golden_parameters(cx, c, slots, in) : golden_leaves(cx, c, in));
    heed_tensor *y = run_case(cx, c, in);
    if (y) golden_back(cx, c, &y);
    if (heed_failed(cx)) fail_msg("%s: %s", c->name, heed_message(cx));
    const size_t peak = heed_memory_use(cx).step_peak;
    heed_reset(cx);
    return peak;
}

/* Planned = used; of packed sequences a plan knows no lengths, and takes them for one. The third step takes nothing
 * from the system. */
static void test_plan(void **state) {
    (void)state;
    heed_ctx *wet = heed_open(&(heed_config){.threads = 2}),
             *dry = heed_open(&(heed_config){.threads = 2, .dry = true});
    for (int n = 0; n < n_cases; n++) {
        const struct golden_case *c = &cases[n];
        struct golden_slots real, made_up = {0};
        golden_slots_new(c, &real);
        for (int parameters = 0; parameters < 2; parameters++) {
            if (c->in[QUERY_OFFSETS] && c->in[KEEP]) continue; /* of the longest sequence, which a plan cannot know */
            if (c->in[QUERY_OFFSETS] && c->in[ADD]) continue;
            const size_t used = peak_of(wet, c, parameters ? &real : NULL);
            const size_t planned = peak_of(dry, c, parameters ? &made_up : NULL);
            if (c->in[QUERY_OFFSETS] ? planned < used : planned != used)
                golden_wrong(c->name, "%zu bytes planned, %zu used", planned, used);
        }
        peak_of(wet, c, NULL);
        const int64_t calls = heed_memory_use(wet).system_calls;
        peak_of(wet, c, NULL);
        assert_int_equal(heed_memory_use(wet).system_calls, calls);
        golden_slots_free(&real);
    }
    heed_close(wet);
    heed_close(dry);
    assert_int_equal(golden_wrongs(), 0);
}

static bool whole_step(heed_ctx *cx) {
    enum { B = 2, T = 130, H = 4, D = 24 };
    heed_tensor *q = heed_want_grad(cx, normals(cx, 1, B, T, H, D));
    heed_tensor *k = heed_want_grad(cx, normals(cx, 2, B, T, 1, D)),
                *v = heed_want_grad(cx, normals(cx, 3, B, T, 1, D));
    heed_tensor *table = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 2, SHAPE(32, H)));
    heed_mask m =
        heed_mask_both(cx, heed_mask_causal(0), heed_mask_add(heed_want_grad(cx, normals(cx, 4, 1, H, T, T))));
    m.key_lengths = heed_from_i32(cx, (int32_t[]){T, 90}, 1, SHAPE(B));
    const heed_attention_opts o = {.mask = m,
                                   .dropout = 0.1f,
                                   .rotary = &(heed_rotary_opts){.interleaved = true},
                                   .distance_bias = heed_t5_bias(cx, table, T, T, 0, true, 128)};
    heed_tensor *y = heed_attention(cx, q, k, v, &o);
    return heed_backward_from(cx, y, q) && heed_grad_of(cx, table) && heed_grad_of(cx, m.add);
}

static bool training_step(heed_ctx *cx) {
    heed_set_training(cx, true);
    return whole_step(cx);
}

static void test_no_memory(void **state) {
    (void)state;
    starve_step(training_step, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_strided),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_dropout_gradient),
        cmocka_unit_test(test_dropout_is_counted),
        cmocka_unit_test(test_fused),
        cmocka_unit_test(test_self_attention),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
