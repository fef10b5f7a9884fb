/* Positions: against the oracle's formulas, and what must hold of rotary ones whatever the numbers are. */
#include "attention/refused.h"
#include "attention/rotary.h"
#include "attention/strides.h"
#include "heed/attention.h"

/* ---- against the golden file ---- */

struct golden_file {
    heed_ctx *cx;
    heed_safetensors *st;
};

static const heed_array *golden(struct golden_file f, const char *name, const char *part) {
    char key[200];
    snprintf(key, sizeof key, "%s.%s", name, part);
    const int64_t at = heed_safetensors_find(f.cx, f.st, key);
    return at < 0 ? NULL : heed_safetensors_get(f.cx, f.st, at);
}

static void compare(const char *name, const char *what, const float *got, const heed_array *want, double atol,
                    double times) {
    const int64_t n = heed_array_count(want);
    const float *numbers = want->data;
    for (int64_t i = 0; i < n; i++) {
        const double w = times * (double)numbers[i], error = fabs((double)got[i] - w);
        if (!(error <= atol * times + 1e-6 * fabs(w)))
            fail_msg("%s: %s: %.9g at place %lld, not %.9g", name, what, (double)got[i], (long long)i, w);
    }
}

static void compare_tensor(heed_ctx *cx, const char *name, const char *what, heed_tensor *got, const heed_array *want,
                           double atol) {
    if (!got) fail_msg("%s: %s: %s", name, what, heed_message(cx));
    assert_int_equal(heed_rank(got), want->rank);
    for (int i = 0; i < want->rank; i++) assert_int_equal(heed_dim(got, i), want->shape[i]);
    float *numbers = malloc((size_t)heed_count(got) * sizeof(float) + 1);
    assert_true(heed_copy_f32(cx, got, numbers, heed_count(got)));
    compare(name, what, numbers, want, atol, 1);
    free(numbers);
}

static heed_tensor *from_array(heed_ctx *cx, const heed_array *a) {
    return a->dtype == HEED_F32 ? heed_from_f32(cx, a->data, a->rank, a->shape)
                                : heed_from_i32(cx, a->data, a->rank, a->shape);
}

static heed_tensor *run_case(heed_ctx *cx, heed_ctx *files, const char *op, heed_json at, heed_tensor *a,
                             heed_tensor *b) {
    if (strcmp(op, "sine_positions") == 0)
        return heed_sine_positions(cx, heed_json_int(files, at, "start"), heed_json_int(files, at, "length"),
                                   heed_json_int(files, at, "width"), heed_json_bool(files, at, "halved"));
    if (strcmp(op, "t5_bias") == 0)
        return heed_t5_bias(cx, a, heed_json_int(files, at, "queries"), heed_json_int(files, at, "keys"),
                            heed_json_int(files, at, "offset"), heed_json_bool(files, at, "bidirectional"),
                            heed_json_int(files, at, "max_distance"));
    return heed_rotary(cx, a,
                       &(heed_rotary_opts){.base = (float)heed_json_number_or(files, at, "base", 0),
                                           .channels = heed_json_int_or(files, at, "channels", 0),
                                           .interleaved = heed_json_bool_or(files, at, "interleaved", false),
                                           .start = heed_json_int_or(files, at, "start", 0),
                                           .positions = b});
}

static void check_buckets(struct golden_file f, const char *name, heed_json at) {
    const heed_array *want = golden(f, name, "out0");
    const bool both = heed_json_bool(f.cx, at, "bidirectional");
    const int64_t buckets = heed_json_int(f.cx, at, "buckets"), most = heed_json_int(f.cx, at, "max_distance");
    assert_int_equal(heed_array_count(want), 6001);
    for (int64_t i = 0; i < 6001; i++)
        if (heed_t5_bucket(i - 3000, both, buckets, most) != ((const uint8_t *)want->data)[i])
            fail_msg("%s: distance %lld is in bucket %lld, not %d", name, (long long)i - 3000,
                     (long long)heed_t5_bucket(i - 3000, both, buckets, most), ((const uint8_t *)want->data)[i]);
}

/* The input as a leaf, then as a parameter used twice: gradients are stored, and then added to. */
static void check_tensors(struct golden_file f, const char *op, const char *name, heed_json at) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    const heed_array *in0 = golden(f, name, "in0"), *in1 = golden(f, name, "in1"), *dout = golden(f, name, "dout0");
    heed_tensor *x = in0 ? heed_want_grad(cx, from_array(cx, in0)) : NULL;
    heed_tensor *y = run_case(cx, f.cx, op, at, x, in1 ? from_array(cx, in1) : NULL);
    compare_tensor(cx, name, "output", y, golden(f, name, "out0"), 1e-6);
    if (dout) {
        assert_true(heed_backward_from(cx, y, from_array(cx, dout)));
        compare_tensor(cx, name, "gradient", heed_grad_of(cx, x), golden(f, name, "din0"), 2e-6);
        heed_reset(cx);
        float *numbers = malloc((size_t)heed_array_count(in0) * sizeof(float) + 1);
        heed_grad slot = {.data = numbers};
        heed_tensor *p = heed_borrow(cx, HEED_F32, in0->data, in0->rank, in0->shape, &slot);
        heed_tensor *positions = in1 ? from_array(cx, in1) : NULL;
        y = heed_add(cx, run_case(cx, f.cx, op, at, p, positions), run_case(cx, f.cx, op, at, p, positions));
        assert_true(heed_backward_from(cx, y, from_array(cx, dout)));
        assert_true(slot.filled);
        compare(name, "gradient of two uses", numbers, golden(f, name, "din0"), 2e-6, 2);
        heed_reset(cx);
        free(numbers);
    }
    assert_false(heed_failed(cx));
    heed_close(cx);
}

static void check_case(struct golden_file f, heed_json c) {
    const char *name = heed_json_text(f.cx, c, "name"), *op = heed_json_text(f.cx, c, "op");
    const heed_json at = heed_json_object(f.cx, c, "attr");
    if (strcmp(op, "t5_bucket") == 0) {
        check_buckets(f, name, at);
    } else if (strcmp(op, "alibi_slopes") == 0) {
        float slopes[128];
        assert_true(heed_alibi_slopes(f.cx, heed_json_int(f.cx, at, "heads"), slopes));
        compare(name, "slopes", slopes, golden(f, name, "out0"), 0, 1);
    } else {
        check_tensors(f, op, name, at);
    }
}

static void test_golden(void **state) {
    (void)state;
    struct golden_file f = {.cx = heed_open(&(heed_config){.threads = 1})};
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/attention/positions.safetensors", root ? root : HEED_SOURCE_DIR "/tests/golden");
    f.st = heed_safetensors_open(f.cx, path);
    if (!f.st) fail_msg("%s", heed_message(f.cx));
    const char *text = heed_safetensors_metadata(f.cx, f.st, "list");
    const heed_json list = heed_json_parse(f.cx, path, text, strlen(text)),
                    cases = heed_json_array(f.cx, list, "cases");
    assert_true(heed_json_count(cases) >= 60);
    for (heed_json v = heed_json_first(cases); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        check_case(f, v);
    assert_false(heed_failed(f.cx));
    heed_json_free(list);
    heed_safetensors_close(f.st);
    heed_close(f.cx);
}

/* ---- rotary: what must hold ---- */

static heed_tensor *normals(heed_ctx *cx, uint64_t stream, int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    float *x = malloc((size_t)n * sizeof(float) + 1);
    heed_random_normal(11, stream, 0, x, n);
    heed_tensor *t = heed_from_f32(cx, x, rank, shape);
    free(x);
    return t;
}

static bool same_bits(heed_ctx *cx, heed_tensor *a, heed_tensor *b) {
    const size_t n = (size_t)heed_count(a);
    if (!a || !b || heed_count(b) != (int64_t)n) return false;
    float *x = malloc(2 * n * sizeof(float) + 1);
    const bool same = heed_copy_f32(cx, a, x, (int64_t)n) && heed_copy_f32(cx, b, x + n, (int64_t)n) &&
                      memcmp(x, x + n, n * sizeof(float)) == 0;
    free(x);
    return same;
}

/* Far from the beginning, against long double. */
static void test_far_positions(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const int32_t at[] = {0, 1, 31, 32, 99999, 100000, 100001, 1000000, -100000, -33};
    const int64_t n = sizeof at / sizeof *at, D = 128;
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        heed_tensor *x = normals(cx, 1, 4, (int64_t[]){1, n, 1, D});
        heed_tensor *y = heed_rotary(
            cx, x, &(heed_rotary_opts){.interleaved = interleaved != 0, .positions = heed_from_i32(cx, at, 1, &n)});
        assert_non_null(y);
        for (int64_t r = 0; r < n; r++)
            for (int64_t i = 0; i < D / 2; i++) {
                const int64_t a = r * D + (interleaved ? 2 * i : i), b = a + (interleaved ? 1 : D / 2);
                const long double angle = (long double)at[r] * powl(10000, -2 * (long double)i / (long double)D);
                const long double xa = (long double)heed_f32(x)[a], xb = (long double)heed_f32(x)[b];
                const double ya = (double)(xa * cosl(angle) - xb * sinl(angle));
                const double yb = (double)(xa * sinl(angle) + xb * cosl(angle));
                assert_true(fabs(ya - (double)heed_f32(y)[a]) <= 1e-6);
                assert_true(fabs(yb - (double)heed_f32(y)[b]) <= 1e-6);
            }
        heed_reset(cx);
    }
    close_context(cx);
}

/* A dot product of turned heads depends on the distance alone: what rotary positions are for. */
static void test_relative(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const int64_t shape[] = {1, 1, 1, 16};
    heed_tensor *q = normals(cx, 2, 4, shape), *k = normals(cx, 3, 4, shape);
    double first = 0;
    for (int64_t shift = 0; shift < 5; shift++) {
        heed_tensor *a = heed_rotary(cx, q, &(heed_rotary_opts){.start = 40 + 777 * shift});
        heed_tensor *b = heed_rotary(cx, k, &(heed_rotary_opts){.start = 27 + 777 * shift});
        double dot = 0;
        for (int i = 0; i < 16; i++) dot += (double)heed_f32(a)[i] * (double)heed_f32(b)[i];
        if (shift == 0) first = dot;
        assert_true(fabs(dot - first) <= 1e-5);
    }
    heed_reset(cx);
    close_context(cx);
}

/* A sequence in pieces, a batch row by row, positions given or counted: the same bits. */
static void test_pieces(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    enum { B = 2, T = 75, H = 3, D = 20 };
    int32_t given[T];
    for (int32_t t = 0; t < T; t++) given[t] = 90 + t;
    heed_tensor *x = normals(cx, 4, 4, (int64_t[]){B, T, H, D});
    heed_tensor *y = heed_rotary(cx, x, &(heed_rotary_opts){.start = 90, .channels = 12});
    assert_true(same_bits(
        cx, y,
        heed_rotary(cx, x,
                    &(heed_rotary_opts){.channels = 12, .positions = heed_from_i32(cx, given, 1, (int64_t[]){T})})));
    for (int64_t t = 0, n = 1; t < T; t += n, n = T - t < 2 * n ? T - t : 2 * n) {
        heed_tensor *piece = heed_rotary(cx, heed_contiguous(cx, heed_slice(cx, x, 1, t, n)),
                                         &(heed_rotary_opts){.start = 90 + t, .channels = 12});
        assert_true(same_bits(cx, piece, heed_slice(cx, y, 1, t, n)));
    }
    for (int64_t b = 0; b < B; b++)
        assert_true(
            same_bits(cx, heed_rotary(cx, heed_slice(cx, x, 0, b, 1), &(heed_rotary_opts){.start = 90, .channels = 12}),
                      heed_slice(cx, y, 0, b, 1)));
    heed_reset(cx);
    close_context(cx);
}

/* Views of every kind, and one that no strides can describe. */
static void test_strided(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    enum { B = 2, T = 5, H = 3, D = 8 };
    const heed_rotary_opts opts = {.start = 3, .interleaved = true, .channels = 6};
    heed_tensor *fused = heed_want_grad(cx, normals(cx, 5, 3, (int64_t[]){B, T, 3 * H * D})), *parts[3];
    assert_true(heed_split(cx, fused, -1, (int64_t[]){H * D, H * D, H * D}, 3, parts));
    heed_tensor *views[] = {
        heed_reshape(cx, parts[1], 4, (int64_t[]){B, T, H, D}),
        heed_slice(cx, normals(cx, 6, 4, (int64_t[]){B, T, H, 2 * D}), 3, 5, D),
        heed_slice(cx, normals(cx, 7, 4, (int64_t[]){B, T, 2 * H, D}), 2, 1, H),
        heed_slice(cx, normals(cx, 8, 4, (int64_t[]){B, 3 * T, H, D}), 1, T, T),
        heed_slice(cx, normals(cx, 9, 4, (int64_t[]){3 * B, T, H, D}), 0, 2, B),
        heed_reshape(cx, heed_slice(cx, normals(cx, 10, 2, (int64_t[]){B * T * 4, 10}), 1, 2, 6), 4,
                     (int64_t[]){B, T, H, D}),
    };
    const bool described[] = {true, true, true, true, true, false};
    for (int i = 0; i < 6; i++) {
        struct attention_at at;
        assert_int_equal(strides_of(views[i], &at), described[i]);
        heed_tensor *whole = heed_contiguous(cx, heed_detach(cx, views[i]));
        assert_true(same_bits(cx, heed_rotary(cx, views[i], &opts), heed_rotary(cx, whole, &opts)));
    }
    /* the gradient reaches the part of the projection that was turned, and only it */
    heed_tensor *dy = normals(cx, 12, 4, (int64_t[]){B, T, H, D});
    assert_true(heed_backward_from(cx, heed_rotary(cx, views[0], &opts), dy));
    const float *g = heed_f32(heed_grad_of(cx, fused));
    assert_non_null(g);
    for (int64_t i = 0; i < B * T * 3 * H * D; i++) {
        const int64_t part = i / (H * D) % 3;
        if (part != 1) assert_true(g[i] == 0);
    }
    heed_reset(cx);
    close_context(cx);
}

/* (f(x + h u) - f(x - h u)) / 2h = grad . u, with f = sum of y dy; f is linear, so h may be large. */
static void test_finite_differences(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const int64_t shape[] = {2, 6, 2, 10}, n = 240;
    float *x = malloc(4 * 240 * sizeof(float)), *u = x + n, *dy = u + n, *moved = dy + n;
    heed_random_normal(21, 0, 0, x, 3 * n);
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        const heed_rotary_opts opts = {.start = 9, .channels = 8, .interleaved = interleaved != 0};
        double f[2] = {0}, slope = 0;
        for (int side = 0; side < 2; side++) {
            for (int64_t i = 0; i < n; i++) moved[i] = x[i] + (side ? -0.5f : 0.5f) * u[i];
            const float *y = heed_f32(heed_rotary(cx, heed_from_f32(cx, moved, 4, shape), &opts));
            for (int64_t i = 0; i < n; i++) f[side] += (double)y[i] * (double)dy[i];
        }
        heed_tensor *leaf = heed_want_grad(cx, heed_from_f32(cx, x, 4, shape));
        assert_true(heed_backward_from(cx, heed_rotary(cx, leaf, &opts), heed_from_f32(cx, dy, 4, shape)));
        const float *g = heed_f32(heed_grad_of(cx, leaf));
        for (int64_t i = 0; i < n; i++) slope += (double)g[i] * (double)u[i];
        assert_true(fabs(f[0] - f[1] - slope) <= 1e-4);
        heed_reset(cx);
    }
    free(x);
    close_context(cx);
}

/* On arrays: in place, with gaps between heads, there and back. Gaps are not written. */
static void test_arrays(void **state) {
    (void)state;
    enum { B = 2, T = 40, H = 3, D = 12, GAP = 5 };
    enum { COUNT = B * T * H * (D + GAP) };
    const struct attention_at at = {T * H * (D + GAP), H * (D + GAP), D + GAP};
    float *x = malloc(2 * COUNT * sizeof(float)), *y = x + COUNT;
    heed_random_normal(31, 0, 0, x, COUNT);
    struct rotary r = {.batch = B, .time = T, .heads = H, .size = D, .channels = 10, .base = 10000, .start = 5};
    void *work = malloc(kernel_rotary_work(&r));
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        r.interleaved = interleaved != 0;
        r.inverse = false;
        memcpy(y, x, COUNT * sizeof(float));
        kernel_rotary(NULL, &r, y, at, y, at, work);
        float *apart = malloc(COUNT * sizeof(float));
        memcpy(apart, x, COUNT * sizeof(float));
        kernel_rotary(NULL, &r, apart, at, x, at, work);
        assert_memory_equal(apart, y, COUNT * sizeof(float));
        for (int i = 0; i < COUNT; i++)
            if (i % (D + GAP) >= 10) assert_memory_equal(&y[i], &x[i], sizeof(float));
        free(apart);
        r.inverse = true;
        kernel_rotary(NULL, &r, y, at, y, at, work);
        for (int i = 0; i < COUNT; i++) assert_true(fabsf(y[i] - x[i]) <= 2e-6f);
    }
    free(work);
    free(x);
}

/* ---- bits, plans, memory ---- */

static void test_threads(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 8};
    enum { B = 3, T = 1100, H = 4, D = 24, N = B * T * H * D, SINES = 3000 * 34 };
    float *all = malloc((size_t)(2 * N + SINES) * sizeof(float)),
          *first = malloc((size_t)(2 * N + SINES) * sizeof(float));
    for (int k = 0; k < 4; k++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = threads[k]});
        heed_tensor *x = heed_want_grad(cx, normals(cx, 40, 4, (int64_t[]){B, T, H, D}));
        heed_tensor *y = heed_rotary(cx, x, &(heed_rotary_opts){.start = 77, .channels = 20});
        assert_true(heed_copy_f32(cx, y, all, N));
        assert_true(heed_backward_from(cx, y, normals(cx, 41, 4, (int64_t[]){B, T, H, D})));
        assert_true(heed_copy_f32(cx, heed_grad_of(cx, x), all + N, N));
        assert_true(heed_copy_f32(cx, heed_sine_positions(cx, 3, 3000, 34, k % 2 == 0), all + 2 * N, SINES));
        if (k % 2 == 1) /* interleaved columns, put where the halved ones are */
            assert_true(
                heed_copy_f32(cx,
                              heed_reshape(cx,
                                           heed_transpose(cx,
                                                          heed_reshape(cx, heed_sine_positions(cx, 3, 3000, 34, false),
                                                                       3, (int64_t[]){3000, 17, 2}),
                                                          1, 2),
                                           2, (int64_t[]){3000, 34}),
                              all + 2 * N, SINES));
        if (k == 0)
            memcpy(first, all, (size_t)(2 * N + SINES) * sizeof(float));
        else
            assert_memory_equal(first, all, (size_t)(2 * N + SINES) * sizeof(float));
        assert_false(heed_failed(cx));
        heed_close(cx);
    }
    free(all);
    free(first);
}

static size_t step_peak(bool dry) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry});
    heed_tensor *table = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 2, (int64_t[]){32, 4}));
    heed_tensor *x = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 4, (int64_t[]){2, 50, 4, 16}));
    heed_tensor *ids = heed_zeros(cx, HEED_I32, 2, (int64_t[]){2, 50});
    heed_tensor *y = heed_rotary(cx, x, &(heed_rotary_opts){.positions = ids});
    y = heed_add(cx, heed_reshape(cx, y, 2, (int64_t[]){-1, 16}), heed_sine_positions(cx, 0, 400, 16, true));
    heed_tensor *bias = heed_t5_bias(cx, table, 50, 50, 0, true, 128);
    heed_tensor *loss = heed_add(cx, heed_sum(cx, y, NULL, 0, false), heed_sum(cx, bias, NULL, 0, false));
    assert_true(heed_backward(cx, loss));
    const size_t peak = heed_memory_use(cx).step_peak;
    heed_close(cx);
    return peak;
}

static void test_dry(void **state) {
    (void)state;
    assert_true(step_peak(true) > 2 * 50 * 4 * 16 * sizeof(float));
    assert_int_equal(step_peak(true), step_peak(false));
}

static bool all_positions(heed_ctx *cx) {
    heed_tensor *x = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 4, (int64_t[]){2, 200, 8, 64}));
    heed_tensor *y = heed_rotary(cx, x, &(heed_rotary_opts){.start = 1});
    heed_tensor *sines = heed_sine_positions(cx, 0, 4000, 64, true);
    heed_tensor *table = heed_t5_bias(cx, sines, 3000, 4000, 0, true, 4001);
    return heed_backward_from(cx, y, x) && sines && table;
}

static void test_no_memory(void **state) {
    (void)state;
    starve_step(all_positions, 4);
}

/* ---- bad input ---- */

static void test_wrong_rotary(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_rotary_opts plain = {0};
#define X normals(cx, 50, 4, (int64_t[]){2, 3, 2, 6})
    REFUSED(heed_rotary(cx, NULL, &plain), "rotary: input 0 is NULL");
    REFUSED(heed_rotary(cx, X, NULL), "rotary: the options are NULL");
    REFUSED(heed_rotary(cx, normals(cx, 50, 4, (int64_t[]){2, 3, 2, 7}), &plain),
            "rotary: 7 channels of a head of 7 cannot be rotated in pairs");
    REFUSED(heed_rotary(cx, normals(cx, 50, 2, (int64_t[]){3, 6}), &plain), "rotary: x of shape (3,6) is neither");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.channels = 8}), "rotary: 8 channels of a head of 6");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.channels = 3}), "rotary: 3 channels");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.channels = -2}), "rotary: -2 channels");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.base = -1}), "rotary: rotary base -1 is not a positive number");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.base = NAN}), "is not a positive number");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.start = INT64_MAX}), "rotary: positions from 92233");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.positions = heed_zeros(cx, HEED_I32, 1, (int64_t[]){4})}),
            "rotary: positions of shape (4) do not fit x of shape (2,3,2,6)");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.positions = heed_zeros(cx, HEED_I32, 2, (int64_t[]){3, 3})}),
            "rotary: positions of shape (3,3)");
    REFUSED(heed_rotary(cx, normals(cx, 50, 3, (int64_t[]){3, 2, 6}),
                        &(heed_rotary_opts){.positions = heed_zeros(cx, HEED_I32, 2, (int64_t[]){1, 3})}),
            "rotary: positions of shape (1,3)");
    REFUSED(heed_rotary(cx, X, &(heed_rotary_opts){.positions = heed_zeros(cx, HEED_F32, 1, (int64_t[]){3})}),
            "rotary: input 1 is f32, not i32");
    REFUSED(heed_rotary(cx, heed_zeros(cx, HEED_I32, 4, (int64_t[]){2, 3, 2, 6}), &plain),
            "rotary: input 0 is i32, not f32");
    assert_null(heed_rotary(NULL, NULL, &plain));
    close_context(cx);
}

static void test_wrong_others(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    float slopes[4];
    REFUSED(heed_sine_positions(cx, 0, 4, 7, false), "sine_positions: 4 positions of width 7");
    REFUSED(heed_sine_positions(cx, 0, -1, 8, false), "sine_positions: -1 positions");
    REFUSED(heed_sine_positions(cx, 0, 4, -8, true), "sine_positions: 4 positions of width -8");
    REFUSED(heed_sine_positions(cx, INT64_MAX, 4, 8, true), "sine_positions: 4 positions of width 8 from 92233");
    REFUSED(heed_sine_positions(cx, 0, (int64_t)1 << 40, (int64_t)1 << 40, true), "is too large");
    REFUSED(heed_alibi_slopes(cx, 0, slopes), "alibi_slopes: 0 heads: there must be one at least");
    REFUSED(heed_alibi_slopes(cx, -3, slopes), "alibi_slopes: -3 heads");
    REFUSED(heed_alibi_slopes(cx, 4, NULL), "alibi_slopes: 4 heads and no array");
#define TABLE normals(cx, 51, 2, (int64_t[]){32, 4})
    REFUSED(heed_t5_bias(cx, NULL, 4, 4, 0, true, 128), "t5_bias: the table is NULL");
    REFUSED(heed_t5_bias(cx, normals(cx, 51, 1, (int64_t[]){32}), 4, 4, 0, true, 128),
            "t5_bias: a table of shape (32) is not (buckets,H)");
    REFUSED(heed_t5_bias(cx, normals(cx, 51, 2, (int64_t[]){0, 4}), 4, 4, 0, false, 128), "t5_bias: a table of shape");
    REFUSED(heed_t5_bias(cx, TABLE, -1, 4, 0, true, 128), "t5_bias: -1 queries and 4 keys with offset 0");
    REFUSED(heed_t5_bias(cx, TABLE, 4, -1, 0, true, 128), "t5_bias: 4 queries and -1 keys");
    REFUSED(heed_t5_bias(cx, TABLE, 4, 4, -2, true, 128), "with offset -2");
    REFUSED(heed_t5_bias(cx, TABLE, 4, 4, 0, true, 8), "t5_bias: a largest distance of 8 is not beyond the 8");
    REFUSED(heed_t5_bias(cx, heed_zeros(cx, HEED_I32, 2, (int64_t[]){32, 4}), 4, 4, 0, true, 128), "is i32, not f32");
    heed_tensor *none = heed_t5_bias(cx, TABLE, 0, 0, 0, true, 128);
    assert_int_equal(heed_dim(none, 0), 4);
    assert_int_equal(heed_dim(none, 1), 0);
    heed_reset(cx);
    close_context(cx);
    assert_null(heed_sine_positions(NULL, 0, 4, 8, true));
    assert_null(heed_t5_bias(NULL, NULL, 4, 4, 0, true, 128));
    assert_false(heed_alibi_slopes(NULL, 4, slopes));
}

/* No context to complain to: whatever is asked, the bucket lies within the table. */
static void test_bucket_is_a_bucket(void **state) {
    (void)state;
    static const int64_t relative[] = {INT64_MIN, -5000000000, -9, -1, 0, 1, 9, 5000000000, INT64_MAX};
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 32, 33, 1000000007, INT64_MAX};
    static const int64_t distances[] = {INT64_MIN, -1, 0, 1, 2, 17, 128, INT64_MAX};
    for (int r = 0; r < 9; r++)
        for (int s = 0; s < 9; s++)
            for (int d = 0; d < 8; d++)
                for (int both = 0; both < 2; both++) {
                    const int64_t bucket = heed_t5_bucket(relative[r], both != 0, sizes[s], distances[d]);
                    assert_true(bucket >= 0 && bucket < sizes[s]);
                }
    assert_int_equal(heed_t5_bucket(3, true, 0, 128), 0);
    assert_int_equal(heed_t5_bucket(3, false, -7, 128), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_far_positions),
        cmocka_unit_test(test_relative),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_strided),
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_dry),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_wrong_rotary),
        cmocka_unit_test(test_wrong_others),
        cmocka_unit_test(test_bucket_is_a_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
