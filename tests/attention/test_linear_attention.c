/* Linear attention and random features: against dense formulas of PyTorch in float64 with every gradient; chunks
 * against the plain sums on random shapes; causality to the bit; the same bits for 1, 2, 3 and 8 threads; NaN in what
 * is hidden; steps against the whole; orthogonality and means of drawn features; sentences. */
#include "attention/linear_attention.h"
#include "brief.h"
#include "heed/attention.h"
#include "tensor/golden.h"

#include "attention/refused.h"

#define MAX_CASES 64
#define SHAPE(...)                                                                                                     \
    (int64_t[]) { __VA_ARGS__ }

/* ---- the golden cases ---- */

static heed_ctx *files;
static heed_safetensors *store;
static heed_json list;
static struct golden_case cases[MAX_CASES];
static int n_cases;

static const heed_array *array_of(const char *name, const char *part, int i) {
    char key[160];
    snprintf(key, sizeof key, "%s.%s%d", name, part, i);
    const int64_t at = heed_safetensors_find(files, store, key);
    return at < 0 ? NULL : heed_safetensors_get(files, store, at);
}

static int open_cases(void **state) {
    (void)state;
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/attention/linear.safetensors", root ? root : HEED_SOURCE_DIR "/tests/golden");
    files = heed_open(&(heed_config){.threads = 1});
    store = heed_safetensors_open(files, path);
    const char *text = store ? heed_safetensors_metadata(files, store, "list") : NULL;
    if (!text) return -1;
    list = heed_json_parse(files, path, text, strlen(text));
    const heed_json all = heed_json_array(files, list, "cases");
    for (heed_json v = heed_json_first(all); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        if (n_cases == MAX_CASES) return -1;
        struct golden_case *c = &cases[n_cases++];
        const char *name = heed_json_text(files, v, "name");
        *c = (struct golden_case){.op = heed_json_text(files, v, "op"),
                                  .attrs = {files, heed_json_object(files, v, "attr")},
                                  .n_in = (int)heed_json_int(files, v, "in"),
                                  .n_out = (int)heed_json_int(files, v, "out"),
                                  .rtol = heed_json_number_or(files, v, "rtol", 2e-5),
                                  .atol = heed_json_number_or(files, v, "atol", 2e-6)};
        snprintf(c->name, sizeof c->name, "%s", name);
        for (int i = 0; i < c->n_in; i++) c->in[i] = array_of(name, "in", i), c->din[i] = array_of(name, "din", i);
        for (int j = 0; j < c->n_out; j++) c->out[j] = array_of(name, "out", j), c->dout[j] = array_of(name, "dout", j);
    }
    return heed_failed(files) || n_cases < 40 ? -1 : 0;
}

static int close_cases(void **state) {
    (void)state;
    heed_json_free(list);
    heed_safetensors_close(store);
    heed_close(files);
    return 0;
}

static bool run_case(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *in, heed_tensor **out) {
    const heed_json at = c->attrs.at;
    if (strcmp(c->op, "favor_features") == 0) {
        const char *kind = heed_json_text(files, at, "kind");
        const heed_favor_opts o = {.kind = kind[0] == 'p'   ? HEED_FAVOR_POSITIVE
                                           : kind[0] == 'h' ? HEED_FAVOR_HYPERBOLIC
                                                            : HEED_FAVOR_TRIGONOMETRIC,
                                   .scale = (float)heed_json_number_or(files, at, "scale", 0)};
        out[0] = heed_favor_features(cx, in[0], in[1], &o, &out[1]);
        return out[0] != NULL;
    }
    const heed_linear_attention_opts o = {.mask = {.causal = heed_json_bool_or(files, at, "causal", false),
                                                   .keep = in[4],
                                                   .key_lengths = in[5],
                                                   .query_lengths = in[6]},
                                          .key_shift = in[3]};
    out[0] = heed_linear_attention(cx, in[0], in[1], in[2], &o);
    return out[0] != NULL;
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++) {
        const struct golden_case *c = &cases[n];
        heed_tensor *in[MAX_CASE_IN], *out[2];
        if (!golden_leaves(cx, c, in) || !run_case(cx, c, in, out)) fail_msg("%s: %s", c->name, heed_message(cx));
        for (int j = 0; j < c->n_out; j++) golden_matches(cx, c, "result", out[j], c->out[j]);
        if (golden_has_gradient(c) && golden_back(cx, c, out))
            for (int i = 0; i < c->n_in; i++) {
                char what[32];
                snprintf(what, sizeof what, "gradient of input %d", i);
                if (c->din[i]) golden_matches(cx, c, what, heed_grad_of(cx, in[i]), c->din[i]);
            }
        heed_reset(cx);
    }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* Each gradient alone is what it is among all; and inputs that are used twice add up. */
static void test_gradients_alone(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++) {
        const struct golden_case *c = &cases[n];
        if (!golden_has_gradient(c)) continue;
        for (int i = 0; i < c->n_in; i++) {
            if (!c->din[i]) continue;
            struct golden_case one = *c;
            heed_tensor *in[MAX_CASE_IN], *out[2];
            for (int k = 0; k < c->n_in; k++)
                if (k != i) one.din[k] = NULL;
            assert_true(golden_leaves(cx, &one, in) && run_case(cx, &one, in, out) && golden_back(cx, &one, out));
            golden_matches(cx, c, "a gradient alone", heed_grad_of(cx, in[i]), c->din[i]);
            heed_reset(cx);
        }
    }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* ---- random tensors ---- */

static heed_tensor *numbers(heed_ctx *cx, uint64_t stream, bool positive, int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    float *x = malloc((size_t)n * sizeof(float) + 1);
    if (positive)
        heed_random_uniform(17, stream, 0, x, n);
    else
        heed_random_normal(17, stream, 0, x, n);
    heed_tensor *t = heed_from_f32(cx, x, rank, shape);
    free(x);
    return t;
}

struct sizes {
    int64_t B, Tq, Tk, H, M, E;
    bool causal;
};

/* q, k, v, shift, wanting gradients but for the last. */
static void inputs_of(heed_ctx *cx, const struct sizes *n, float spread, heed_tensor *in[4]) {
    in[0] = heed_want_grad(cx, numbers(cx, 1, true, 4, SHAPE(n->B, n->Tq, n->H, n->M)));
    in[1] = heed_want_grad(cx, numbers(cx, 2, true, 4, SHAPE(n->B, n->Tk, n->H, n->M)));
    in[2] = heed_want_grad(cx, numbers(cx, 3, false, 4, SHAPE(n->B, n->Tk, n->H, n->E)));
    in[3] = heed_affine(cx, numbers(cx, 4, false, 3, SHAPE(n->B, n->Tk, n->H)), spread, 0);
}

static const float *floats_of(const heed_tensor *t) { return heed_f32(t); }

/* The plain sums in double. */
static void check_sums(heed_ctx *cx, const struct sizes *n, heed_tensor *const in[4], const heed_tensor *y) {
    const float *q = floats_of(in[0]), *k = floats_of(in[1]), *v = floats_of(in[2]), *s = floats_of(in[3]);
    const float *got = floats_of(y);
    (void)cx;
    for (int64_t b = 0; b < n->B; b++)
        for (int64_t h = 0; h < n->H; h++)
            for (int64_t i = 0; i < n->Tq; i++) {
                double total = 0, sum[256] = {0}, size = 0;
                const int64_t keys = n->causal ? i + 1 : n->Tk;
                for (int64_t j = 0; j < keys; j++) {
                    const int64_t at = (b * n->Tk + j) * n->H + h;
                    double a = 0;
                    for (int64_t m = 0; m < n->M; m++)
                        a += (double)q[((b * n->Tq + i) * n->H + h) * n->M + m] * (double)k[at * n->M + m];
                    a *= exp((double)s[at]);
                    total += a;
                    for (int64_t e = 0; e < n->E; e++) sum[e] += a * (double)v[at * n->E + e];
                }
                for (int64_t e = 0; e < n->E; e++) {
                    const double want = sum[e] / total,
                                 error = fabs((double)got[((b * n->Tq + i) * n->H + h) * n->E + e] - want);
                    size = error > size ? error : size;
                }
                if (!(size <= 2e-5)) fail_msg("row %lld: wrong by %g", (long long)i, size);
            }
}

static void test_chunks(void **state) {
    static const struct sizes all[] = {
        {1, 64, 64, 2, 7, 5, true},     {2, 65, 65, 1, 16, 8, true},   {1, 200, 200, 1, 33, 17, true},
        {1, 130, 130, 1, 800, 3, true}, {1, 40, 40, 1, 2048, 2, true}, {1, 70, 150, 2, 40, 9, false},
        {1, 40, 40, 1, 300, 256, true},
    };
    (void)state;
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int wide = 0; wide < 2; wide++) {
            heed_tensor *in[4];
            inputs_of(cx, &all[i], wide ? 8.0f : 1.0f, in);
            const heed_linear_attention_opts o = {.mask = {.causal = all[i].causal}, .key_shift = in[3]};
            heed_tensor *y = heed_linear_attention(cx, in[0], in[1], in[2], &o);
            if (!y) fail_msg("%s", heed_message(cx));
            check_sums(cx, &all[i], in, y);
            heed_reset(cx);
        }
    close_context(cx);
}

/* Numbers that an exponential of their own would not hold: 3,000 and -3,000 among the shifts. */
static void test_extreme_shifts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct sizes n = {1, 150, 150, 1, 8, 4, true};
    heed_tensor *in[4];
    inputs_of(cx, &n, 1, in);
    float s[150];
    for (int i = 0; i < 150; i++) s[i] = i < 70 ? -3000 : i < 100 ? (float)i : 3000;
    const heed_linear_attention_opts o = {.mask = heed_mask_causal(0),
                                          .key_shift = heed_from_f32(cx, s, 3, SHAPE(1, 150, 1))};
    heed_tensor *y = heed_linear_attention(cx, in[0], in[1], in[2], &o);
    const float *got = floats_of(y), *v = floats_of(in[2]);
    for (int64_t i = 0; i < 150 * 4; i++)
        if (!isfinite(got[i])) fail_msg("number %lld is not finite", (long long)i);
    for (int e = 0; e < 4; e++) /* each of these sees one key that counts */
        assert_true(fabsf(got[e] - v[e]) < 1e-6f && fabsf(got[100 * 4 + e] - v[100 * 4 + e]) < 1e-6f &&
                    fabsf(got[70 * 4 + e] - v[70 * 4 + e]) < 1e-6f);
    assert_true(heed_backward_from(cx, y, numbers(cx, 9, false, 4, SHAPE(1, 150, 1, 4))));
    for (int i = 0; i < 3; i++) {
        const heed_tensor *g = heed_grad_of(cx, in[i]);
        for (int64_t k = 0; k < heed_count(g); k++) assert_true(isfinite(floats_of(g)[k]));
    }
    close_context(cx);
}

/* ---- the future, and threads ---- */

/* Changes q, k, v and shift from position `from` on; NaN where asked. */
static void disturb(heed_tensor *const in[4], const struct sizes *n, int64_t from, bool nan) {
    for (int i = 0; i < 4; i++) {
        const int64_t row = heed_count(in[i]) / n->Tk;
        float *x = (float *)(uintptr_t)floats_of(in[i]);
        for (int64_t k = from * row; k < heed_count(in[i]); k++) x[k] = nan ? NAN : x[k] * 1.7f + (i == 3 ? 30 : 0.1f);
    }
}

static void test_causal_bits(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct sizes n = {1, 150, 150, 2, 24, 16, true};
    float *first = malloc(sizeof(float) * 150 * 32);
    for (int64_t from = 150; from >= 1; from -= 13)
        for (int nan = 0; nan < 2; nan++) {
            heed_tensor *in[4];
            inputs_of(cx, &n, 2, in);
            disturb(in, &n, from, nan);
            const heed_linear_attention_opts o = {.mask = heed_mask_causal(0), .key_shift = in[3]};
            heed_tensor *y = heed_linear_attention(cx, in[0], in[1], in[2], &o);
            if (from == 150)
                memcpy(first, floats_of(y), sizeof(float) * 150 * 32);
            else if (memcmp(first, floats_of(y), sizeof(float) * 32 * (size_t)from) != 0)
                fail_msg("what comes from %lld on changes what was before", (long long)from);
            heed_reset(cx);
        }
    free(first);
    close_context(cx);
}

/* y and all gradients through features, one after another. */
static float *all_numbers(int threads, bool causal, int64_t *count) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads});
    const int64_t T = BRIEF ? 130 : 300, H = 3, D = 20, m = 48;
    float *all = malloc(1 << 20);
    int64_t at = 0;
    heed_tensor *x[3], *f[2], *shift, *w = heed_want_grad(cx, numbers(cx, 8, false, 2, SHAPE(m, D)));
    for (int i = 0; i < 3; i++) x[i] = heed_want_grad(cx, numbers(cx, (uint64_t)i, false, 4, SHAPE(2, T, H, D)));
    f[0] = heed_favor_features(cx, x[0], w, NULL, NULL);
    f[1] = heed_favor_features(cx, x[1], w, NULL, &shift);
    const heed_linear_attention_opts o = {.mask = {.causal = causal}, .key_shift = shift};
    heed_tensor *y = heed_keep(cx, heed_linear_attention(cx, f[0], f[1], x[2], &o));
    if (!y || !heed_backward_from(cx, y, numbers(cx, 7, false, 4, SHAPE(2, T, H, D)))) fail_msg("%s", heed_message(cx));
    const heed_tensor *out[] = {y, heed_grad_of(cx, x[0]), heed_grad_of(cx, x[1]), heed_grad_of(cx, x[2]),
                                heed_grad_of(cx, w)};
    for (int i = 0; i < 5; i++) {
        assert_true(at + heed_count(out[i]) <= 1 << 18);
        assert_true(heed_copy_f32(cx, out[i], all + at, heed_count(out[i])));
        at += heed_count(out[i]);
    }
    heed_close(cx);
    *count = at;
    return all;
}

static void test_threads(void **state) {
    static const int threads[] = {2, 3, 8};
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        int64_t n, m;
        float *first = all_numbers(1, causal, &n);
        for (int i = 0; i < 3; i++) {
            float *again = all_numbers(threads[i], causal, &m);
            assert_int_equal(n, m);
            assert_memory_equal(first, again, (size_t)n * sizeof(float));
            free(again);
        }
        free(first);
    }
}

/* What padding holds does no harm, forward and backward. */
static void test_hidden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct sizes n = {1, 80, 80, 1, 6, 3, true};
    for (int causal = 0; causal < 2; causal++) {
        float *first = NULL;
        for (int nan = 0; nan < 2; nan++) {
            heed_tensor *in[4];
            const int32_t length = 70;
            inputs_of(cx, &n, 1, in);
            if (nan) disturb(in, &n, 70, true);
            heed_tensor *lengths = heed_from_i32(cx, &length, 1, SHAPE(1));
            heed_mask mask = heed_mask_lengths(lengths, lengths);
            mask.causal = causal;
            heed_tensor *y = heed_keep(cx, heed_linear_attention(cx, in[0], in[1], in[2],
                                                                 &(heed_linear_attention_opts){mask, in[3], NULL, 0}));
            assert_true(heed_backward_from(cx, y, numbers(cx, 9, false, 4, SHAPE(1, 80, 1, 3))));
            float *all = malloc(sizeof(float) * 80 * (3 + 6 + 6 + 3));
            const heed_tensor *out[] = {y, heed_grad_of(cx, in[0]), heed_grad_of(cx, in[1]), heed_grad_of(cx, in[2])};
            for (int64_t i = 0, at = 0; i < 4; at += heed_count(out[i++]))
                assert_true(heed_copy_f32(cx, out[i], all + at, heed_count(out[i])));
            if (first) assert_memory_equal(first, all, sizeof(float) * 80 * 18);
            free(first);
            first = all;
            heed_reset(cx);
        }
        free(first);
    }
    close_context(cx);
}

/* ---- steps ---- of any lengths, rows of different lengths among them */

static void test_steps(void **state) {
    static const int64_t lengths[] = {1, 1, 90, 3, 1, 54};
    (void)state;
    heed_ctx *cx = open_context();
    const struct sizes n = {2, 150, 150, 2, 12, 5, true};
    const int64_t size = linear_attention_state(n.M, n.E);
    float *sums = malloc((size_t)(4 * size) * sizeof(float));
    for (int i = 0; i < 4; i++) linear_attention_clear(sums + i * size, n.M, n.E);
    heed_tensor *in[4];
    heed_set_grad(cx, false);
    inputs_of(cx, &n, 3, in);
    const heed_linear_attention_opts o = {.mask = heed_mask_causal(0), .key_shift = in[3]};
    const float *whole = floats_of(heed_linear_attention(cx, in[0], in[1], in[2], &o));
    for (int64_t s = 0, at = 0; s < 6; at += lengths[s++])
        for (int part = 0; part < 2; part++) { /* first row 0 alone, then row 1: a count of 0 leaves a row as it was */
            const int32_t counts[] = {part ? 0 : (int32_t)lengths[s], part ? (int32_t)lengths[s] : 0};
            heed_tensor *now[4];
            for (int i = 0; i < 4; i++) now[i] = heed_slice(cx, in[i], 1, at, lengths[s]);
            const heed_tensor *y = linear_attention_step(cx, now[0], now[1], now[2], now[3], counts, sums);
            if (!y) fail_msg("%s", heed_message(cx));
            for (int64_t i = 0; i < lengths[s] * n.H * n.E; i++) {
                const float got = floats_of(y)[part * lengths[s] * n.H * n.E + i];
                const float want = whole[(part * n.Tq + at) * n.H * n.E + i];
                if (!(fabsf(got - want) <= 1e-5f))
                    fail_msg("step %lld: %g, not %g", (long long)s, (double)got, (double)want);
            }
        }
    free(sums);
    close_context(cx);
}

/* ---- features ---- */

static double dot(const float *a, const float *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static void test_drawn(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    enum { M = 150, D = 64 };
    static float w[M * D], again[M * D];
    assert_true(heed_favor_draw(cx, 5, 9, true, M, D, w));
    double lengths = 0;
    for (int64_t i = 0; i < M; i++) {
        lengths += dot(w + i * D, w + i * D, D) / M;
        for (int64_t j = i / D * D; j < i; j++) assert_true(fabs(dot(w + i * D, w + j * D, D)) < 1e-5 * D);
    }
    assert_true(fabs(lengths - D) < 4 * sqrt(2.0 * D / M)); /* |w|^2 is chi-squared: mean D, variance 2 D */
    assert_true(heed_favor_draw(cx, 5, 9, true, M, D, again));
    assert_memory_equal(w, again, sizeof w);
    assert_true(heed_favor_draw(cx, 5, 10, true, M, D, again));
    assert_true(memcmp(w, again, sizeof w) != 0);
    assert_true(heed_favor_draw(cx, 6, 9, true, M, D, again));
    assert_true(memcmp(w, again, sizeof w) != 0);
    close_context(cx);
}

/* The mean of f(x)'f(y) over many draws is exp(x'y); orthogonal rows vary less. */
static void test_unbiased(void **state) {
    enum { D = 8, M = 16, DRAWS = BRIEF ? 500 : 4000 };
    (void)state;
    heed_ctx *cx = open_context();
    float x[2 * D], w[M * D];
    for (int i = 0; i < D; i++) x[i] = 0.1f * (float)(i - 3), x[D + i] = 0.15f * (float)(i % 3) - 0.1f;
    const double want = exp(dot(x, x + D, D));
    double spread[2][3] = {{0}};
    heed_set_grad(cx, false);
    for (int orthogonal = 0; orthogonal < 2; orthogonal++)
        for (int kind = 0; kind < 3; kind++) {
            double sum = 0, squares = 0;
            for (int draw = 0; draw < DRAWS; draw++) {
                heed_tensor *shift;
                assert_true(heed_favor_draw(cx, 3, (uint64_t)draw, orthogonal, M, D, w));
                heed_tensor *f =
                    heed_favor_features(cx, heed_from_f32(cx, x, 2, SHAPE(2, D)), heed_from_f32(cx, w, 2, SHAPE(M, D)),
                                        &(heed_favor_opts){(heed_favor_kind)kind, 1}, &shift);
                const int64_t width = heed_dim(f, 1);
                const double product = dot(floats_of(f), floats_of(f) + width, width) *
                                       exp((double)floats_of(shift)[0] + (double)floats_of(shift)[1]);
                sum += product, squares += (product - want) * (product - want);
                heed_reset(cx);
            }
            spread[orthogonal][kind] = squares / DRAWS;
            const double error = fabs(sum / DRAWS - want), expected = sqrt(squares / DRAWS / DRAWS);
            if (!(error < 4 * expected)) fail_msg("kind %d: mean wrong by %g, expected %g", kind, error, expected);
        }
    for (int kind = 0; kind < 3; kind++) assert_true(spread[1][kind] < spread[0][kind]);
    close_context(cx);
}

/* The weights that capture shows are those that make y. */
static void test_capture(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct sizes n = {2, 9, 9, 2, 6, 4, true};
    const int32_t lengths[] = {9, 4};
    heed_tensor *in[4];
    inputs_of(cx, &n, 1, in);
    heed_linear_attention_opts o = {
        .mask = heed_mask_lengths(heed_from_i32(cx, lengths, 1, SHAPE(2)), NULL), .key_shift = in[3], .layer = 3};
    o.mask.causal = true;
    assert_true(heed_capture_begin(cx, NULL));
    const float *y = floats_of(heed_linear_attention(cx, in[0], in[1], in[2], &o));
    assert_int_equal(heed_capture_count(cx), 1);
    const heed_capture_map *map = heed_capture_at(cx, 0);
    assert_string_equal(map->site, "attention");
    assert_int_equal(map->layer, 3);
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 2; h++)
            for (int64_t i = 0; i < 9; i++)
                for (int64_t e = 0; e < 4; e++) {
                    double sum = 0;
                    for (int64_t j = 0; j < 9; j++) {
                        const float weight = map->weights[((b * 2 + h) * 9 + i) * 9 + j];
                        assert_true(weight >= 0 && (weight == 0) == (j > i || j >= lengths[b]));
                        sum += (double)weight * (double)floats_of(in[2])[((b * 9 + j) * 2 + h) * 4 + e];
                    }
                    assert_true(fabs(sum - (double)y[((b * 9 + i) * 2 + h) * 4 + e]) < 1e-5);
                }
    heed_capture_end(cx);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *in[4];
#define AGAIN                inputs_of(cx, &(struct sizes){1, 4, 4, 2, 6, 3, true}, 1, in)
#define LINEAR(q, k, v, ...) heed_linear_attention(cx, q, k, v, &(heed_linear_attention_opts){__VA_ARGS__})
    AGAIN;
    REFUSED(LINEAR(in[0], in[1], in[2], .mask = heed_mask_window(2, 0)), "whole keys, nothing else");
    AGAIN;
    REFUSED(LINEAR(in[0], in[1], in[2], .mask = heed_mask_causal(1)), "from position 0");
    AGAIN;
    REFUSED(LINEAR(in[0], in[1], in[1], .key_shift = in[2]), "does not fit");
    AGAIN;
    REFUSED(LINEAR(in[0], in[2], in[2], .key_shift = in[3]), "do not fit");
    AGAIN;
    REFUSED(LINEAR(in[0], in[3], in[2], .key_shift = in[3]), "is needed");
    REFUSED(LINEAR(numbers(cx, 1, true, 4, SHAPE(1, 2, 1, 0)), numbers(cx, 1, true, 4, SHAPE(1, 2, 1, 0)),
                   numbers(cx, 1, true, 4, SHAPE(1, 2, 1, 3)), .layer = 0),
            "0 features");
    AGAIN;
    REFUSED(heed_favor_features(cx, in[0], in[1], NULL, NULL), "do not fit");
    AGAIN;
    REFUSED(heed_favor_features(cx, in[0], numbers(cx, 1, true, 2, SHAPE(0, 6)), NULL, NULL), "sizes of 1");
    float w[4];
    REFUSED(heed_favor_draw(cx, 1, 1, true, 0, 4, w), "0 features");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),         cmocka_unit_test(test_gradients_alone), cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_extreme_shifts), cmocka_unit_test(test_causal_bits),     cmocka_unit_test(test_threads),
        cmocka_unit_test(test_hidden),         cmocka_unit_test(test_steps),           cmocka_unit_test(test_drawn),
        cmocka_unit_test(test_unbiased),       cmocka_unit_test(test_capture),         cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
