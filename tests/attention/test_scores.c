/* Scores, normalisers and pooling: against PyTorch's float64, finite differences, strided inputs and other numbers of
 * threads for every golden case; and against the plain formula in double on random shapes. */
#include "attention/score_test.h"
#include "tensor/golden.h"

#include "io/io_test.h"

#define MAX_CASES 128

static const char *const KINDS[] = {"dot",      "scaled", "bilinear",   "additive",     "distance",
                                    "gaussian", "boxcar", "triangular", "epanechnikov", NULL};
static const char *const HOWS[] = {"softmax", "sum", "sigmoid", "none", NULL};

static int place_of(const char *const *names, const char *name) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return i;
    fail_msg("no %s", name);
    return 0;
}

/* ---- the golden cases ---- */

static heed_ctx *files;
static heed_safetensors *stores[2];
static heed_json lists[2];
static struct golden_case cases[MAX_CASES];
static int n_cases;

static const heed_array *array_of(heed_safetensors *st, const char *name, const char *part, int i) {
    char key[160];
    snprintf(key, sizeof key, "%s.%s%d", name, part, i);
    const int64_t at = heed_safetensors_find(files, st, key);
    return at < 0 ? NULL : heed_safetensors_get(files, st, at);
}

static void read_case(heed_safetensors *st, heed_json at, struct golden_case *c) {
    const char *name = heed_json_text(files, at, "name");
    *c = (struct golden_case){.op = heed_json_text(files, at, "op"),
                              .attrs = {files, heed_json_object(files, at, "attr")},
                              .n_in = (int)heed_json_int(files, at, "in"),
                              .n_out = (int)heed_json_int(files, at, "out"),
                              .kink = heed_json_bool_or(files, at, "kink", false),
                              .rtol = 2e-5,
                              .atol = 4e-6};
    snprintf(c->name, sizeof c->name, "%s", name);
    for (int i = 0; i < c->n_in; i++) c->in[i] = array_of(st, name, "in", i), c->din[i] = array_of(st, name, "din", i);
    for (int j = 0; j < c->n_out; j++)
        c->out[j] = array_of(st, name, "out", j), c->dout[j] = array_of(st, name, "dout", j);
}

static int open_cases(void **state) {
    static const char *const names[] = {"scores", "weights"};
    (void)state;
    files = heed_open(&(heed_config){.threads = 1});
    const char *root = getenv("HEED_GOLDEN");
    for (int f = 0; f < 2; f++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/attention/%s.safetensors", root ? root : HEED_SOURCE_DIR "/tests/golden",
                 names[f]);
        stores[f] = heed_safetensors_open(files, path);
        const char *text = stores[f] ? heed_safetensors_metadata(files, stores[f], "list") : NULL;
        if (!text) return -1;
        lists[f] = heed_json_parse(files, path, text, strlen(text));
        const heed_json all = heed_json_array(files, lists[f], "cases");
        for (heed_json v = heed_json_first(all); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
            if (n_cases < MAX_CASES) read_case(stores[f], v, &cases[n_cases++]);
    }
    return heed_failed(files) || n_cases < 60 ? -1 : 0;
}

static int close_cases(void **state) {
    (void)state;
    for (int f = 0; f < 2; f++) heed_json_free(lists[f]), heed_safetensors_close(stores[f]);
    heed_close(files);
    return 0;
}

static heed_mask mask_of(const struct golden_case *c, heed_tensor *const *in) {
    const heed_json at = c->attrs.at;
    heed_mask m = {.keep = in[0], .add = in[1], .key_lengths = in[2], .query_lengths = in[3]};
    m.causal = heed_json_bool_or(files, at, "causal", false);
    m.offset = heed_json_int_or(files, at, "offset", 0);
    m.window = heed_json_int_or(files, at, "window", 0);
    m.windowed = m.window > 0;
    return m;
}

/* q, k, p0..p2 | scores, mask | q, k, v, p0..p2, mask; a mask is keep, add, key lengths, query lengths */
static bool run_case(heed_ctx *cx, const struct golden_case *c, heed_tensor *const *in, heed_tensor **out) {
    const heed_json at = c->attrs.at;
    if (strcmp(c->op, "normalise") == 0) {
        const heed_mask m = mask_of(c, in + 1);
        out[0] = heed_normalise(cx, in[0], (heed_normaliser)place_of(HOWS, heed_json_text(files, at, "how")), &m);
        return out[0] != NULL;
    }
    const bool pool = strcmp(c->op, "pool") == 0;
    const heed_score_opts o =
        score_opts((heed_score_kind)place_of(KINDS, heed_json_text(files, at, "kind")), in + (pool ? 3 : 2));
    if (pool) {
        const heed_mask m = mask_of(c, in + 6);
        out[0] = heed_attention_pool(cx, in[0], in[1], in[2], &o,
                                     (heed_normaliser)place_of(HOWS, heed_json_text(files, at, "how")), &m, &out[1]);
    } else
        out[0] = heed_scores(cx, in[0], in[1], &o);
    return out[0] != NULL;
}

static void check_gradient(heed_ctx *cx, const struct golden_case *c, int i, heed_tensor *leaf) {
    char what[32];
    snprintf(what, sizeof what, "gradient of input %d", i);
    golden_matches(cx, c, what, heed_grad_of(cx, leaf), c->din[i]);
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
            for (int i = 0; i < c->n_in; i++)
                if (c->din[i]) check_gradient(cx, c, i, in[i]);
        heed_reset(cx);
    }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* Results and gradients, one after another. wide: every f32 input with an axis is a part of something wider. */
static float *numbers_of(heed_ctx *cx, const struct golden_case *c, bool wide, int64_t *count) {
    heed_tensor *in[MAX_CASE_IN], *leaf[MAX_CASE_IN], *out[2];
    float *all = malloc(1 << 20);
    int64_t at = 0;
    for (int i = 0; i < c->n_in; i++) {
        in[i] = leaf[i] = NULL;
        const heed_array *a = c->in[i];
        if (!a) continue;
        if (!wide || a->dtype != HEED_F32 || a->rank == 0) {
            in[i] = leaf[i] = golden_leaf(cx, a, c->din[i] != NULL);
            continue;
        }
        heed_tensor *t = heed_from_f32(cx, a->data, a->rank, a->shape);
        int64_t before[HEED_MAX_RANK] = {0}, after[HEED_MAX_RANK] = {0};
        before[a->rank - 1] = 2, after[a->rank - 1] = 3;
        leaf[i] = heed_detach(cx, heed_pad(cx, t, before, after, NAN));
        if (c->din[i]) heed_want_grad(cx, leaf[i]);
        in[i] = heed_slice(cx, leaf[i], -1, 2, a->shape[a->rank - 1]);
    }
    if (!run_case(cx, c, in, out)) fail_msg("%s: %s", c->name, heed_message(cx));
    for (int j = 0; j < c->n_out; j++) {
        assert_true(heed_copy_f32(cx, out[j], all + at, heed_count(out[j])));
        at += heed_count(out[j]);
    }
    if (golden_has_gradient(c)) assert_true(golden_back(cx, c, out));
    for (int i = 0; i < c->n_in; i++) {
        if (!c->din[i]) continue;
        heed_tensor *g = heed_grad_of(cx, leaf[i]);
        if (in[i] != leaf[i]) g = heed_slice(cx, g, -1, 2, c->in[i]->shape[c->in[i]->rank - 1]);
        assert_true(heed_copy_f32(cx, g, all + at, heed_count(g)));
        at += heed_count(g);
    }
    heed_reset(cx);
    *count = at;
    return all;
}

static void test_strided(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++) {
        int64_t a, b;
        float *plain = numbers_of(cx, &cases[n], false, &a), *strided = numbers_of(cx, &cases[n], true, &b);
        assert_int_equal(a, b);
        if (memcmp(plain, strided, (size_t)a * sizeof(float)) != 0) fail_msg("%s: other bits", cases[n].name);
        free(plain), free(strided);
    }
    close_context(cx);
}

/* ---- finite differences ---- as tests/tensor/test_gradcheck.c */

static double loss_along(heed_ctx *cx, const struct golden_case *c, int i, uint64_t stream, double h, double *size) {
    static const float steps[] = {-1, -0.5f, 0.5f, 1};
    struct golden_case moved = *c;
    heed_array with = *c->in[i];
    const int64_t n = heed_array_count(&with);
    float *x = malloc((size_t)n * sizeof(float));
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)((double)((const float *)with.data)[k] +
                       h * (double)steps[heed_random_bits(5, stream, (uint64_t)k) % 4]);
    with.data = x;
    moved.in[i] = &with;
    heed_tensor *in[MAX_CASE_IN], *out[2];
    heed_set_grad(cx, false);
    assert_true(golden_leaves(cx, &moved, in) && run_case(cx, &moved, in, out));
    double loss = 0;
    *size = 0;
    for (int j = 0; j < c->n_out; j++)
        for (int64_t k = 0; k < heed_count(out[j]); k++) {
            const double term = (double)heed_f32(out[j])[k] * (double)((const float *)c->dout[j]->data)[k];
            loss += term, *size += fabs(term);
        }
    heed_set_grad(cx, true);
    heed_reset(cx);
    free(x);
    return loss;
}

static void test_differences(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const double h = 1.0 / 64;
    static const float steps[] = {-1, -0.5f, 0.5f, 1};
    for (int n = 0; n < n_cases; n++) {
        const struct golden_case *c = &cases[n];
        if (c->kink || !golden_has_gradient(c)) continue;
        if (strcmp(c->op, "pool") == 0 && strcmp(heed_json_text(files, c->attrs.at, "kind"), "epanechnikov") == 0)
            continue;
        for (int i = 0; i < c->n_in; i++) {
            if (!c->din[i]) continue;
            const uint64_t stream = (uint64_t)(n * 16 + i);
            double slope = 0, parts = 0, size, d[2];
            for (int64_t k = 0; k < heed_array_count(c->din[i]); k++) {
                const double part = (double)((const float *)c->din[i]->data)[k] *
                                    (double)steps[heed_random_bits(5, stream, (uint64_t)k) % 4];
                slope += part, parts += fabs(part);
            }
            for (int m = 0; m < 2; m++)
                d[m] = (loss_along(cx, c, i, stream, h / (m + 1), &size) -
                        loss_along(cx, c, i, stream, -h / (m + 1), &size)) /
                       (2 * h / (m + 1));
            const double found = (4 * d[1] - d[0]) / 3;
            const double tolerance = 2e-4 * parts + 2e-7 * (size + 3) / h;
            if (!(fabs(found - slope) <= tolerance))
                golden_wrong(c->name, "input %d: differences give %.7g, the gradient %.7g (within %.2g)", i, found,
                             slope, tolerance);
        }
    }
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* ---- random shapes ---- against the formula in double, and the same bits for any number of threads */

static uint64_t drawn;
static int64_t draw(int64_t below) { return (int64_t)(heed_random_bits(9, 1, drawn++) % (uint32_t)below); }

struct shapes {
    int64_t batch, heads, queries, keys, dq, dk, h, e;
    heed_score_kind kind;
    heed_normaliser how;
    bool causal, lengths, keep;
};

static struct shapes random_shapes(bool large) {
    struct shapes s = {.batch = 1 + draw(3), .heads = 1 + draw(3), .dq = 1 + draw(large ? 40 : 9)};
    s.queries = draw(large ? 90 : 7), s.keys = draw(large ? 90 : 9);
    s.dk = s.dq, s.h = 1 + draw(large ? 70 : 9), s.e = draw(7);
    s.kind = (heed_score_kind)draw(9);
    if (s.kind == HEED_SCORE_BILINEAR || s.kind == HEED_SCORE_ADDITIVE) s.dk = 1 + draw(9);
    s.how = (heed_normaliser)draw(4);
    if (s.how == HEED_NORMALISE_SUM && s.kind < HEED_SCORE_GAUSSIAN) s.how = HEED_NORMALISE_SOFTMAX;
    s.causal = draw(3) == 0, s.lengths = draw(3) == 0, s.keep = draw(3) == 0;
    return s;
}

struct arrays {
    float *q, *k, *v, *p[3];
    int64_t n_p[3];
    int32_t lengths[4];
    uint8_t *keep;
};

static float *normals(int64_t n, float scale) {
    float *x = malloc((size_t)n * sizeof(float) + 1);
    heed_random_normal(9, 2, drawn, x, n);
    drawn += (uint64_t)n;
    for (int64_t i = 0; i < n; i++) x[i] *= scale;
    return x;
}

static void make_arrays(const struct shapes *s, struct arrays *a) {
    const int64_t b = s->batch * s->heads;
    *a = (struct arrays){.q = normals(b * s->queries * s->dq, 0.6f),
                         .k = normals(b * s->keys * s->dk, 0.6f),
                         .v = normals(b * s->keys * s->e, 1)};
    if (s->kind == HEED_SCORE_BILINEAR) a->n_p[0] = s->dq * s->dk;
    if (s->kind == HEED_SCORE_ADDITIVE) a->n_p[0] = s->h, a->n_p[1] = s->h * s->dq, a->n_p[2] = s->h * s->dk;
    if (s->kind >= HEED_SCORE_DISTANCE) a->n_p[0] = draw(2) ? s->dq : 1;
    for (int i = 0; i < 3; i++) a->p[i] = normals(a->n_p[i], 0.7f);
    for (int64_t i = 0; i < s->batch; i++) a->lengths[i] = (int32_t)draw(s->keys + 1);
    a->keep = malloc((size_t)(s->batch * s->queries * s->keys) + 1);
    for (int64_t i = 0; i < s->batch * s->queries * s->keys; i++) a->keep[i] = draw(3) > 0;
}

static void free_arrays(struct arrays *a) {
    free(a->q), free(a->k), free(a->v), free(a->keep);
    for (int i = 0; i < 3; i++) free(a->p[i]);
}

static double twin_score(const struct shapes *s, const struct arrays *a, const float *q, const float *k) {
    double sum = 0;
    if (s->kind <= HEED_SCORE_SCALED_DOT) {
        for (int64_t c = 0; c < s->dq; c++) sum += (double)q[c] * (double)k[c];
        return s->kind == HEED_SCORE_DOT ? sum : sum / sqrt((double)s->dq);
    }
    if (s->kind == HEED_SCORE_BILINEAR) {
        for (int64_t c = 0; c < s->dq; c++)
            for (int64_t d = 0; d < s->dk; d++) sum += (double)q[c] * (double)a->p[0][c * s->dk + d] * (double)k[d];
        return sum;
    }
    if (s->kind == HEED_SCORE_ADDITIVE) {
        for (int64_t m = 0; m < s->h; m++) {
            double x = 0;
            for (int64_t c = 0; c < s->dq; c++) x += (double)q[c] * (double)a->p[1][m * s->dq + c];
            for (int64_t c = 0; c < s->dk; c++) x += (double)k[c] * (double)a->p[2][m * s->dk + c];
            sum += (double)a->p[0][m] * tanh(x);
        }
        return sum;
    }
    for (int64_t c = 0; c < s->dq; c++) {
        const double u = ((double)q[c] - (double)k[c]) * (double)a->p[0][a->n_p[0] > 1 ? c : 0];
        sum += u * u;
    }
    switch (s->kind) {
    case HEED_SCORE_GAUSSIAN:
        return exp(-sum / 2);
    case HEED_SCORE_BOXCAR:
        return sum <= 1;
    case HEED_SCORE_TRIANGULAR:
        return fmax(0, 1 - sqrt(sum));
    case HEED_SCORE_EPANECHNIKOV:
        return fmax(0, 1 - sum);
    default:
        return -sum / 2;
    }
}

static bool twin_sees(const struct shapes *s, const struct arrays *a, int64_t b, int64_t i, int64_t j) {
    const int64_t sequence = b / s->heads;
    return !(s->causal && j > i) && !(s->lengths && j >= a->lengths[sequence]) &&
           !(s->keep && !a->keep[(sequence * s->queries + i) * s->keys + j]);
}

/* One row of weights, and the row of the result. */
static void twin_row(const struct shapes *s, const struct arrays *a, int64_t b, int64_t i, double *w, double *y) {
    double top = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < s->keys; j++) {
        w[j] = twin_score(s, a, a->q + (b * s->queries + i) * s->dq, a->k + (b * s->keys + j) * s->dk);
        if (twin_sees(s, a, b, i, j) && w[j] > top) top = w[j];
    }
    for (int64_t j = 0; j < s->keys; j++) {
        if (s->how == HEED_NORMALISE_SOFTMAX) w[j] = exp(w[j] - top);
        if (s->how == HEED_NORMALISE_SIGMOID) w[j] = 1 / (1 + exp(-w[j]));
        if (!twin_sees(s, a, b, i, j)) w[j] = 0;
        sum += w[j];
    }
    const bool divide = s->how == HEED_NORMALISE_SOFTMAX || s->how == HEED_NORMALISE_SUM;
    for (int64_t c = 0; c < s->e; c++) y[c] = 0;
    for (int64_t j = 0; j < s->keys; j++) {
        if (divide) w[j] = sum == 0 ? 0 : w[j] / sum;
        for (int64_t c = 0; c < s->e; c++) y[c] += w[j] * (double)a->v[(b * s->keys + j) * s->e + c];
    }
}

struct made {
    heed_tensor *q, *k, *v, *p[3], *y, *w;
};

static struct made run_shapes(heed_ctx *cx, const struct shapes *s, const struct arrays *a) {
    struct made m = {0};
    const int64_t B = s->batch, H = s->heads;
    m.q = heed_want_grad(cx, heed_from_f32(cx, a->q, 4, (int64_t[]){B, H, s->queries, s->dq}));
    m.k = heed_want_grad(cx, heed_from_f32(cx, a->k, 4, (int64_t[]){B, H, s->keys, s->dk}));
    m.v = heed_want_grad(cx, heed_from_f32(cx, a->v, 4, (int64_t[]){B, H, s->keys, s->e}));
    const int64_t matrices[3][2] = {{s->dq, s->dk}, {s->h, s->dq}, {s->h, s->dk}};
    for (int i = 0; i < 3; i++) {
        const bool matrix = i > 0 || s->kind == HEED_SCORE_BILINEAR;
        if (a->n_p[i])
            m.p[i] = heed_want_grad(cx, heed_from_f32(cx, a->p[i], matrix ? 2 : 1, matrix ? matrices[i] : &a->n_p[i]));
    }
    heed_mask mask = {.causal = s->causal};
    if (s->lengths) mask.key_lengths = heed_from_i32(cx, a->lengths, 1, &B);
    if (s->keep) mask.keep = heed_from_u8(cx, a->keep, 4, (int64_t[]){B, 1, s->queries, s->keys});
    const heed_score_opts o = score_opts(s->kind, m.p);
    m.y = heed_attention_pool(cx, m.q, m.k, m.v, &o, s->how, s->causal || s->lengths || s->keep ? &mask : NULL, &m.w);
    if (!m.y) fail_msg("%s", heed_message(cx));
    return m;
}

static void near(const char *what, const struct shapes *s, float got, double want) {
    if (!(fabs((double)got - want) <= 2e-5 + 2e-5 * fabs(want)))
        fail_msg("%s, %s: %s %.9g, not %.9g", KINDS[s->kind], HOWS[s->how], what, (double)got, want);
}

static void test_random_shapes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int round = 0; round < 400; round++) {
        const struct shapes s = random_shapes(false);
        struct arrays a;
        make_arrays(&s, &a);
        const struct made m = run_shapes(cx, &s, &a);
        for (int64_t b = 0; b < s.batch * s.heads; b++)
            for (int64_t i = 0; i < s.queries; i++) {
                double w[16], y[16];
                twin_row(&s, &a, b, i, w, y);
                const int64_t row = b * s.queries + i;
                /* a boxcar's edge may fall either way */
                for (int64_t j = 0; j < s.keys; j++) near("weight", &s, heed_f32(m.w)[row * s.keys + j], w[j]);
                for (int64_t c = 0; c < s.e; c++) near("result", &s, heed_f32(m.y)[row * s.e + c], y[c]);
            }
        free_arrays(&a);
        heed_reset(cx);
    }
    close_context(cx);
}

static uint64_t digest(uint64_t sum, const heed_tensor *t) {
    const float *x = t ? heed_f32(t) : NULL;
    for (int64_t i = 0; x && i < heed_count(t); i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        sum = (sum ^ bits) * 0x100000001b3u;
    }
    return sum;
}

static void test_thread_counts(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 8};
    heed_ctx *cx[4];
    for (int t = 0; t < 4; t++) cx[t] = heed_open(&(heed_config){.threads = threads[t]});
    for (int round = 0; round < 18; round++) {
        struct shapes s = random_shapes(true);
        s.kind = (heed_score_kind)(round % 9), s.queries += 40, s.keys += 40, s.e += 1;
        if (s.kind != HEED_SCORE_BILINEAR && s.kind != HEED_SCORE_ADDITIVE) s.dk = s.dq;
        s.how = s.kind < HEED_SCORE_GAUSSIAN ? HEED_NORMALISE_SOFTMAX : HEED_NORMALISE_SUM;
        struct arrays a;
        make_arrays(&s, &a);
        uint64_t first = 0;
        for (int t = 0; t < 4; t++) {
            const struct made m = run_shapes(cx[t], &s, &a);
            uint64_t sum = digest(digest(7, m.y), m.w);
            heed_tensor *dy = heed_from_f32(cx[t], heed_f32(m.y), 4, heed_shape(m.y));
            assert_true(heed_backward_from(cx[t], m.y, dy));
            sum = digest(digest(digest(sum, heed_grad_of(cx[t], m.q)), heed_grad_of(cx[t], m.k)),
                         heed_grad_of(cx[t], m.v));
            for (int i = 0; i < 3; i++)
                if (m.p[i]) sum = digest(sum, heed_grad_of(cx[t], m.p[i]));
            if (t == 0) first = sum;
            if (sum != first) fail_msg("%s: bits differ with %d threads", KINDS[s.kind], threads[t]);
            heed_reset(cx[t]);
        }
        free_arrays(&a);
    }
    for (int t = 0; t < 4; t++) heed_close(cx[t]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),        cmocka_unit_test(test_strided),       cmocka_unit_test(test_differences),
        cmocka_unit_test(test_random_shapes), cmocka_unit_test(test_thread_counts),
    };
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
