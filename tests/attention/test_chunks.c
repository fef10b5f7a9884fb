/* Attention within chunks and LSH's order, against plain formulas in double. The order of hashing is given to the
 * formula as it is: what it is worth is measured by how many of the nearest keys are seen. */
#include "attention/refused.h"
#include "base/mersenne.h"
#include "heed/attention.h"
#include <math.h>

#define SHAPE(...)                                                                                                     \
    (int64_t[]) { __VA_ARGS__ }

struct problem {
    int64_t B, T, H, D, R, chunk, before, after;
    bool causal, shared, masked;
};
static const struct problem problems[] = {
    {2, 12, 2, 3, 1, 4, 1, 0, false, false, false}, {2, 12, 3, 5, 1, 4, 1, 1, false, false, true},
    {1, 12, 1, 4, 1, 3, 2, 0, true, false, true},   {2, 12, 2, 3, 2, 4, 1, 0, false, true, false},
    {1, 16, 2, 6, 3, 4, 1, 1, false, true, true},   {2, 12, 1, 5, 2, 2, 1, 0, true, true, true},
    {1, 7, 2, 4, 1, 7, 0, 0, true, true, false},    {1, 300, 1, 7, 2, 150, 1, 0, true, true, true},
    {1, 8, 1, 3, 1, 4, 3, 2, false, true, false}, /* more neighbours than there are chunks */
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static int64_t width(const struct problem *p) { return (p->shared ? 2 : 3) * p->H * p->D; }

/* ---- the formula ---- */

static int64_t neighbour(int64_t n, int64_t at, int64_t step) {
    return step >= n || -step >= n ? at : (at + step + n) % n;
}

/* log(sum of exp), and of scores that stand for none in f32, as the kernel and transformers have it. */
static double log_sum(const double *s, int64_t n) {
    double top = (double)-INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, s[i]);
    for (int64_t i = 0; i < n; i++) sum += exp(s[i] - top);
    return top < -5e4 ? (double)((float)top + (float)log(sum)) : top + log(sum);
}

/* y (B,T,H,D) of x (B,T,…): the softmax over the keys of each round, and of the rounds. */
static void formula(const struct problem *p, const double *x, const int32_t *order, const uint8_t *keep, double *y) {
    const int64_t n = p->R * p->T / p->chunk, W = p->chunk * (1 + p->before + p->after), ld = width(p);
    const int64_t key = p->shared ? 0 : p->H * p->D, value = key + p->H * p->D;
    double *s = malloc((size_t)(p->R * W) * sizeof *s);
    int64_t *of = malloc((size_t)(p->R * W) * sizeof *of);
    for (int64_t bh = 0; bh < p->B * p->H; bh++)
        for (int64_t t = 0; t < p->T; t++) {
            const double *head = x + bh / p->H * p->T * ld + bh % p->H * p->D, *q = head + t * ld;
            const int32_t *at = order + bh * p->R * p->T;
            int64_t seen = 0, all = 0;
            for (int64_t slot = 0; slot < p->R * p->T; slot++) {
                if (at[slot] != t) continue;
                for (int64_t i = 0; i < W; i++) {
                    const int64_t from = neighbour(n, slot / p->chunk, i / p->chunk - p->before) * p->chunk;
                    const int64_t j = at[from + i % p->chunk];
                    double dot = 0, square = 0;
                    for (int64_t d = 0; d < p->D; d++) {
                        const double k = head[j * ld + key + d];
                        dot += q[d] * k;
                        square += k * k;
                    }
                    if (p->shared) dot /= sqrt(square / (double)p->D + 1e-6);
                    const bool hidden = (keep && !keep[bh / p->H * p->T + j]) || (p->causal && j > t);
                    s[all] = p->shared && j == t ? -1e5 : hidden ? -1e9 : dot / sqrt((double)p->D);
                    of[all++] = j;
                }
                seen++;
            }
            assert_true(seen == p->R);
            double round[8], *out = y + ((bh / p->H * p->T + t) * p->H + bh % p->H) * p->D;
            for (int64_t r = 0; r < p->R; r++) round[r] = log_sum(s + r * W, W);
            const double lse = log_sum(round, p->R);
            for (int64_t d = 0; d < p->D; d++) out[d] = 0;
            for (int64_t i = 0; i < all; i++) {
                const double weight = exp(s[i] - round[i / W]) * exp(round[i / W] - lse);
                for (int64_t d = 0; d < p->D; d++) out[d] += weight * head[of[i] * ld + value + d];
            }
        }
    free(s);
    free(of);
}

/* ---- a call ---- */

static heed_tensor *normals(heed_ctx *cx, uint64_t stream, int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    float *x = malloc((size_t)n * sizeof *x);
    heed_random_normal(3, stream, 0, x, n);
    heed_tensor *t = heed_from_f32(cx, x, rank, shape);
    free(x);
    return t;
}

static heed_tensor *mask_of(heed_ctx *cx, const struct problem *p) {
    uint8_t *keep = malloc((size_t)(p->B * p->T));
    for (int64_t i = 0; i < p->B * p->T; i++) keep[i] = i % p->T < p->T - 2 && i % 5 != 1 && i % p->T != 0;
    heed_tensor *t = heed_from_u8(cx, keep, 2, SHAPE(p->B, p->T));
    free(keep);
    return t;
}

/* Positions by hashes, or as they are. */
static heed_tensor *order_of(heed_ctx *cx, const struct problem *p, heed_tensor *x, heed_tensor *keep) {
    if (p->shared && p->T > p->chunk)
        return heed_lsh_order(cx, x, normals(cx, 9, 4, SHAPE(p->H, p->D, p->R, 3)),
                              &(heed_lsh_opts){.factors = 2, .factor = {2, 4}, .keep = keep}, NULL);
    int32_t *at = malloc((size_t)(p->B * p->H * p->T) * sizeof *at);
    for (int64_t i = 0; i < p->B * p->H * p->T; i++) at[i] = (int32_t)(i % p->T);
    heed_tensor *t = heed_from_i32(cx, at, 4, SHAPE(p->B, p->H, 1, p->T));
    free(at);
    return t;
}

static heed_chunk_opts opts_of(const struct problem *p, heed_tensor *order, heed_tensor *keep) {
    return (heed_chunk_opts){.heads = p->H,
                             .chunk = p->chunk,
                             .before = p->before,
                             .after = p->after,
                             .causal = p->causal,
                             .shared = p->shared,
                             .order = order,
                             .keep = keep};
}

static double *wide(const heed_tensor *t) {
    double *x = malloc((size_t)heed_count(t) * sizeof *x);
    for (int64_t i = 0; i < heed_count(t); i++) x[i] = (double)heed_f32(t)[i];
    return x;
}

/* Results against the formula; the gradient against its slope in three directions. */
static void test_formula(void **state) {
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const struct problem *p = &problems[i];
        heed_ctx *cx = open_context();
        heed_tensor *x = heed_want_grad(cx, normals(cx, 1, 3, SHAPE(p->B, p->T, width(p))));
        heed_tensor *keep = p->masked ? mask_of(cx, p) : NULL, *order = order_of(cx, p, x, keep);
        const heed_chunk_opts o = opts_of(p, p->shared ? order : NULL, keep);
        heed_tensor *y = heed_keep(cx, heed_chunk_attention(cx, x, &o));
        if (!y) fail_msg("%d: %s", i, heed_message(cx));
        const int64_t n = heed_count(y), m = heed_count(x);
        double *at = wide(x), *want = malloc((size_t)n * sizeof *want), *less = malloc((size_t)n * sizeof *less);
        formula(p, at, heed_i32(order), keep ? heed_u8(keep) : NULL, want);
        for (int64_t k = 0; k < n; k++)
            if (!(fabs((double)heed_f32(y)[k] - want[k]) <= 2e-5)) fail_msg("%d: y[%d]", i, (int)k);
        heed_tensor *dy = normals(cx, 2, 4, heed_shape(y));
        assert_true(heed_backward_from(cx, y, dy));
        const float *dx = heed_f32(heed_grad_of(cx, x)), *up = heed_f32(dy);
        for (uint64_t way = 0; way < 3; way++) {
            float *to = malloc((size_t)m * sizeof *to);
            double slope = 0, got = 0, scale = 0;
            heed_random_normal(4, way, 0, to, m);
            for (int64_t k = 0; k < m; k++) at[k] = (double)heed_f32(x)[k] + 1e-5 * (double)to[k];
            formula(p, at, heed_i32(order), keep ? heed_u8(keep) : NULL, want);
            for (int64_t k = 0; k < m; k++) at[k] = (double)heed_f32(x)[k] - 1e-5 * (double)to[k];
            formula(p, at, heed_i32(order), keep ? heed_u8(keep) : NULL, less);
            for (int64_t k = 0; k < n; k++) slope += (double)up[k] * (want[k] - less[k]) / 2e-5;
            for (int64_t k = 0; k < m; k++) {
                got += (double)dx[k] * (double)to[k];
                scale += fabs((double)dx[k] * (double)to[k]);
            }
            if (!(fabs(got - slope) <= 1e-5 * scale + 1e-5)) fail_msg("%d: slope %g, not %g", i, got, slope);
            free(to);
        }
        free(at), free(want), free(less);
        close_context(cx);
    }
}

/* What capture says: each row's weights add up to 1, and with one round make y. */
static void test_weights(void **state) {
    (void)state;
    const struct problem *p = &problems[1];
    heed_ctx *cx = open_context();
    heed_tensor *x = normals(cx, 1, 3, SHAPE(p->B, p->T, width(p)));
    const heed_chunk_opts o = opts_of(p, NULL, mask_of(cx, p));
    assert_true(heed_capture_begin(cx, NULL));
    const heed_tensor *y = heed_chunk_attention(cx, x, &o);
    const heed_capture_map *m = heed_capture_at(cx, 0);
    assert_non_null(y);
    assert_true(m->rows == p->T && m->keys == 3 * p->chunk && m->chunk == p->chunk && m->heads == p->H);
    for (int64_t r = 0; r < m->batch * m->heads * m->rows; r++) {
        const int64_t bh = r / p->T, t = r % p->T;
        double sum = 0, first = 0;
        for (int64_t k = 0; k < m->keys; k++) {
            const int64_t j = (t / p->chunk - 1 + k / p->chunk + 3) % 3 * p->chunk + k % p->chunk;
            const float w = m->weights[r * m->keys + k];
            sum += (double)w;
            first += (double)(w * heed_f32(x)[(bh / p->H * p->T + j) * width(p) + 2 * p->H * p->D + bh % p->H * p->D]);
        }
        assert_true(fabs(sum - 1) < 1e-5);
        assert_true(fabs(first - (double)heed_f32(y)[((bh / p->H * p->T + t) * p->H + bh % p->H) * p->D]) < 1e-5);
    }
    heed_capture_end(cx);
    close_context(cx);
}

/* y is linear in v, dropout or not: sum dy y = sum dv v. And dropout drops. */
static void test_dropout(void **state) {
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const struct problem *p = &problems[i];
        heed_ctx *cx = open_context();
        heed_set_training(cx, true);
        heed_tensor *x = heed_want_grad(cx, normals(cx, 1, 3, SHAPE(p->B, p->T, width(p))));
        heed_tensor *keep = p->masked ? mask_of(cx, p) : NULL;
        heed_chunk_opts o = opts_of(p, p->shared ? order_of(cx, p, x, keep) : NULL, keep);
        const heed_tensor *without = heed_chunk_attention(cx, x, &o);
        o.dropout = 0.4f;
        heed_tensor *y = heed_keep(cx, heed_chunk_attention(cx, x, &o));
        assert_non_null(y);
        assert_memory_not_equal(heed_f32(y), heed_f32(without), (size_t)heed_count(y) * sizeof(float));
        heed_tensor *dy = normals(cx, 2, 4, heed_shape(y));
        assert_true(heed_backward_from(cx, y, dy));
        const float *dx = heed_f32(heed_grad_of(cx, x));
        double left = 0, right = 0, scale = 0;
        for (int64_t k = 0; k < heed_count(y); k++) {
            left += (double)heed_f32(y)[k] * (double)heed_f32(dy)[k];
            scale += fabs((double)heed_f32(y)[k] * (double)heed_f32(dy)[k]);
        }
        for (int64_t k = 0; k < heed_count(x); k++)
            if (k % width(p) >= width(p) - p->H * p->D) right += (double)dx[k] * (double)heed_f32(x)[k];
        if (!(fabs(left - right) <= 1e-5 * scale)) fail_msg("%d: %g is not %g", i, left, right);
        close_context(cx);
    }
}

/* The same bits for any number of threads, of order, result and gradient. */
static void test_threads(void **state) {
    (void)state;
    static const int counts[] = {1, 2, 3, 8};
    const struct problem p = {2, 512, 3, 16, 2, 32, 1, 1, true, true, true};
    float *first = NULL;
    const int64_t n = p.B * p.T * p.H * p.D, all = n + p.B * p.T * width(&p);
    for (int i = 0; i < 4; i++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = counts[i]});
        heed_set_training(cx, true);
        heed_tensor *x = heed_want_grad(cx, normals(cx, 1, 3, SHAPE(p.B, p.T, width(&p)))), *keep = mask_of(cx, &p);
        heed_chunk_opts o = opts_of(&p, order_of(cx, &p, x, keep), keep);
        o.dropout = 0.1f;
        heed_tensor *y = heed_keep(cx, heed_chunk_attention(cx, x, &o));
        assert_non_null(y);
        assert_true(heed_backward_from(cx, y, normals(cx, 2, 4, heed_shape(y))));
        float *bits = malloc((size_t)all * sizeof *bits);
        memcpy(bits, heed_f32(y), (size_t)n * sizeof *bits);
        memcpy(bits + n, heed_f32(heed_grad_of(cx, x)), (size_t)(all - n) * sizeof *bits);
        if (first) assert_memory_equal(first, bits, (size_t)all * sizeof *bits);
        if (first)
            free(bits);
        else
            first = bits;
        heed_close(cx);
    }
    free(first);
}

/* ---- hashing ---- */

/* Buckets as the paper has them, sorted, equal ones in order, masked ones last. */
static void test_order(void **state) {
    (void)state;
    const struct problem p = {2, 700, 2, 5, 3, 0, 0, 0, false, true, true};
    static const int64_t factors[3][2] = {{6, 0}, {4, 6}, {2, 1024}};
    for (int f = 0; f < 3; f++) {
        heed_ctx *cx = open_context();
        heed_lsh_opts o = {.factors = factors[f][1] ? 2 : 1, .factor = {factors[f][0], factors[f][1]}};
        const int64_t K = (factors[f][0] + factors[f][1]) / 2,
                      most = factors[f][0] * (factors[f][1] ? factors[f][1] : 1);
        heed_tensor *x = normals(cx, 1, 3, SHAPE(p.B, p.T, width(&p))), *buckets = NULL;
        heed_tensor *rotations = normals(cx, 5, 4, SHAPE(p.H, p.D, p.R, K));
        o.keep = mask_of(cx, &p);
        const heed_tensor *order = heed_lsh_order(cx, x, rotations, &o, &buckets);
        assert_non_null(order);
        int wrong = 0;
        for (int64_t i = 0; i < p.B * p.H * p.R; i++) {
            const int64_t b = i / p.R / p.H, h = i / p.R % p.H, r = i % p.R;
            const int32_t *at = heed_i32(order) + i * p.T, *bucket = heed_i32(buckets) + i * p.T;
            for (int64_t t = 0; t < p.T; t++) {
                int64_t want = 0, times = 1, from = 0;
                for (int k = 0; k < o.factors; k++) {
                    double best = (double)-INFINITY;
                    int64_t place = 0;
                    for (int64_t c = 0; c < o.factor[k]; c++) {
                        double dot = 0;
                        for (int64_t d = 0; d < p.D; d++)
                            dot += (double)heed_f32(x)[(b * p.T + t) * width(&p) + h * p.D + d] *
                                   (double)heed_f32(
                                       rotations)[((h * p.D + d) * p.R + r) * K + from + c % (o.factor[k] / 2)];
                        if (c >= o.factor[k] / 2) dot = -dot;
                        if (dot > best) best = dot, place = c;
                    }
                    want += times * place;
                    times *= o.factor[k];
                    from += o.factor[k] / 2;
                }
                if (!heed_u8(o.keep)[b * p.T + t]) want = most;
                wrong += bucket[t] != want; /* one may be as near to two */
                if (t > 0) {
                    assert_true(bucket[at[t - 1]] <= bucket[at[t]]);
                    assert_true(bucket[at[t - 1]] < bucket[at[t]] || at[t - 1] < at[t]);
                }
            }
        }
        assert_true(wrong <= 3);
        close_context(cx);
    }
}

/* Of each query's nearest keys, how many share a bucket with it in some round: more with more rounds. */
static void test_recall(void **state) {
    (void)state;
    enum { T = 256, D = 16, NEAREST = 4, ROUNDS = 8 };
    heed_ctx *cx = open_context();
    heed_tensor *x = normals(cx, 1, 3, SHAPE(1, T, 2 * D)), *buckets = NULL;
    assert_non_null(heed_lsh_order(cx, x, normals(cx, 5, 4, SHAPE(1, D, ROUNDS, 4)),
                                   &(heed_lsh_opts){.factors = 1, .factor = {8}}, &buckets));
    const float *v = heed_f32(x);
    double recall[ROUNDS + 1] = {0};
    for (int i = 0; i < T; i++) {
        bool taken[T] = {false};
        taken[i] = true;
        for (int k = 0; k < NEAREST; k++) {
            int best = -1;
            double most = (double)-INFINITY;
            for (int j = 0; j < T; j++) {
                double dot = 0, square = 0;
                for (int d = 0; d < D; d++) {
                    dot += (double)(v[i * 2 * D + d] * v[j * 2 * D + d]);
                    square += (double)(v[j * 2 * D + d] * v[j * 2 * D + d]);
                }
                if (!taken[j] && dot / sqrt(square) > most) most = dot / sqrt(square), best = j;
            }
            taken[best] = true;
            bool met = false;
            for (int r = 0; r < ROUNDS; r++) {
                met |= heed_i32(buckets)[r * T + i] == heed_i32(buckets)[r * T + best];
                recall[r + 1] += met ? 1.0 / (T * NEAREST) : 0;
            }
        }
    }
    /* a pair by chance: 1/8 in a round */
    assert_true(recall[1] > 0.3);
    assert_true(recall[2] > recall[1] + 0.1 && recall[4] > recall[2] + 0.1 && recall[8] > recall[4]);
    assert_true(recall[8] > 0.9);
    close_context(cx);
}

/* torch.manual_seed(seed); torch.randn(n) */
static void test_torch_normals(void **state) {
    (void)state;
    static const float five[] = {1.540996f, -0.293429f, -2.178789f, 0.568431f, -1.084522f},
                       sixteen[] = {-0.820135f, 0.395631f,  0.898908f, -1.388404f, -0.166996f, 0.285150f,
                                    -0.641092f, -0.893655f, 0.926543f, -0.535512f, -1.159720f, -0.460157f,
                                    0.708539f,  1.012755f,  0.230397f, 1.090165f},
                       twenty[] = {-0.312222f, -0.496579f, 0.111823f, 1.677742f,  0.669075f,  1.528932f,  1.819490f,
                                   -0.839518f, -1.024734f, 1.323752f, -1.170460f, -0.706278f, -0.013718f, -1.200123f,
                                   1.552353f,  -3.689439f, 0.652631f, 0.101756f,  1.313008f,  -1.206486f};
    static const struct {
        int64_t seed, n;
        const float *want;
    } cases[] = {{0, 5, five}, {7, 16, sixteen}, {-3, 20, twenty}};
    for (int i = 0; i < 3; i++) {
        float x[20];
        mersenne_normal((uint64_t)cases[i].seed, x, cases[i].n);
        for (int64_t k = 0; k < cases[i].n; k++) assert_true(fabsf(x[k] - cases[i].want[k]) <= 2e-6f);
    }
}

/* Without a seed: the same each time, and other ones in each step of training. */
static void test_rotations(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const size_t bytes = 2 * 3 * 4 * 5 * sizeof(float);
    const int64_t seed = 7;
    float first[120];
    memcpy(first, heed_f32(heed_lsh_rotations(cx, 2, 3, 4, 5, NULL, 1)), bytes);
    heed_reset(cx);
    assert_memory_equal(first, heed_f32(heed_lsh_rotations(cx, 2, 3, 4, 5, NULL, 1)), bytes);
    assert_memory_not_equal(first, heed_f32(heed_lsh_rotations(cx, 2, 3, 4, 5, NULL, 2)), bytes);
    heed_set_training(cx, true);
    memcpy(first, heed_f32(heed_lsh_rotations(cx, 2, 3, 4, 5, NULL, 1)), bytes);
    heed_reset(cx);
    assert_memory_not_equal(first, heed_f32(heed_lsh_rotations(cx, 2, 3, 4, 5, NULL, 1)), bytes);
    memcpy(first, heed_f32(heed_lsh_rotations(cx, 2, 3, 4, 5, &seed, 1)), bytes);
    assert_memory_equal(first, heed_f32(heed_lsh_rotations(cx, 2, 3, 4, 5, &seed, 2)), bytes);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *x;
#define X (x = normals(cx, 1, 3, SHAPE(1, 12, 18)))
    REFUSED(heed_chunk_attention(cx, NULL, NULL), "NULL");
    REFUSED(heed_chunk_attention(cx, X, &(heed_chunk_opts){.heads = 4, .chunk = 4}), "do not hold 3 parts of 4 heads");
    REFUSED(heed_chunk_attention(cx, X, &(heed_chunk_opts){.heads = 2, .chunk = 5}), "cut into chunks of 5");
    REFUSED(heed_chunk_attention(cx, X, &(heed_chunk_opts){.heads = 2, .chunk = 4, .before = -1}), "chunks before");
    REFUSED(heed_chunk_attention(cx, X, &(heed_chunk_opts){.heads = 2, .chunk = 4, .dropout = 2}), "dropout");
    REFUSED(heed_chunk_attention(
                cx, X, &(heed_chunk_opts){.heads = 2, .chunk = 4, .keep = heed_zeros(cx, HEED_U8, 2, SHAPE(1, 11))}),
            "a mask of shape (1,11)");
    REFUSED(
        heed_chunk_attention(
            cx, X, &(heed_chunk_opts){.heads = 2, .chunk = 4, .order = heed_zeros(cx, HEED_I32, 3, SHAPE(1, 2, 12))}),
        "an order of shape (1,2,12)");
    int32_t wrong[24] = {[3] = 12};
    REFUSED(heed_chunk_attention(
                cx, X,
                &(heed_chunk_opts){.heads = 2, .chunk = 4, .order = heed_from_i32(cx, wrong, 4, SHAPE(1, 2, 1, 12))}),
            "place 3 of the order is 12");
    REFUSED(heed_lsh_order(cx, X, normals(cx, 2, 4, SHAPE(2, 3, 1, 2)), &(heed_lsh_opts){.factors = 1, .factor = {5}},
                           NULL),
            "5 buckets: an even number");
    REFUSED(heed_lsh_order(cx, X, normals(cx, 2, 4, SHAPE(2, 3, 1, 2)), &(heed_lsh_opts){.factors = 0}, NULL),
            "1 to 8 factors");
    REFUSED(heed_lsh_order(cx, X, normals(cx, 2, 4, SHAPE(2, 3, 1, 2)), &(heed_lsh_opts){.factors = 1, .factor = {6}},
                           NULL),
            "3 directions");
    (void)x;
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formula),       cmocka_unit_test(test_weights),   cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_order),     cmocka_unit_test(test_recall),
        cmocka_unit_test(test_torch_normals), cmocka_unit_test(test_rotations), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
