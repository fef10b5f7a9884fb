/* Masks mean one thing: as typed values, as the bitmap of them, joined; what they hide does no harm, and a row to which
 * they leave nothing is zero. */
#include "attention/attention_test.h"

static uint64_t drawn;
static int64_t draw(int64_t below) { return (int64_t)(heed_random_bits(53, 0, drawn++) % (uint32_t)below); }
static bool one_in(int64_t n) { return draw(n) == 0; }

static heed_tensor *random_lengths(heed_ctx *cx, int64_t batch, int64_t most) {
    int32_t n[8];
    for (int64_t b = 0; b < batch; b++) n[b] = (int32_t)draw(most + 1);
    return heed_from_i32(cx, n, 1, &batch);
}

static heed_tensor *random_keep(heed_ctx *cx, int64_t b, int64_t h, int64_t i, int64_t j) {
    const int64_t shape[] = {one_in(2) ? b : 1, one_in(2) ? h : 1, one_in(2) ? i : 1, j};
    const int64_t n = shape[0] * shape[1] * shape[2] * shape[3];
    uint8_t *bits = malloc((size_t)n + 1);
    for (int64_t k = 0; k < n; k++) bits[k] = !one_in(3);
    heed_tensor *t = heed_from_u8(cx, bits, 4, shape);
    free(bits);
    return t;
}

struct shape {
    int64_t b, h, i, j;
};

static heed_mask random_mask(heed_ctx *cx, struct shape s) {
    heed_mask m = {
        .causal = one_in(2), .windowed = one_in(3), .blocked = one_in(4), .offset = one_in(2) ? draw(s.j) : 0};
    m.window = 1 + draw(s.j + 2);
    m.block = 1 + draw(s.j + 2);
    if (one_in(3)) m.key_lengths = random_lengths(cx, s.b, s.j);
    if (one_in(4)) m.query_lengths = random_lengths(cx, s.b, s.i);
    if (one_in(3)) m.keep = random_keep(cx, s.b, s.h, s.i, s.j);
    return m;
}

/* As the header says it. */
static bool allowed(const heed_mask *m, int64_t b, int64_t h, int64_t i, int64_t j) {
    const int64_t at = i + m->offset;
    bool yes = (!m->causal || j <= at) && (!m->windowed || llabs((long long)(at - j)) < m->window) &&
               (!m->blocked || at / m->block == j / m->block) && (!m->key_lengths || j < heed_i32(m->key_lengths)[b]) &&
               (!m->query_lengths || i < heed_i32(m->query_lengths)[b]);
    if (m->keep) {
        const int64_t *n = heed_shape(m->keep);
        yes = yes && heed_u8(m->keep)[((b % n[0] * n[1] + h % n[1]) * n[2] + i % n[2]) * n[3] + j];
    }
    return yes;
}

static void check_bitmap(heed_ctx *cx, const heed_mask *m, struct shape s) {
    heed_tensor *bits = heed_mask_bitmap(cx, m, s.b, s.h, s.i, s.j);
    if (!bits) fail_msg("%s", heed_message(cx));
    const int64_t *n = heed_shape(bits), *k = m->keep ? heed_shape(m->keep) : NULL;
    const bool placed = m->causal || m->windowed || m->blocked, lengths = m->key_lengths || m->query_lengths;
    assert_int_equal(n[0], lengths || (k && k[0] > 1) ? s.b : 1);
    assert_int_equal(n[1], k && k[1] > 1 ? s.h : 1);
    assert_int_equal(n[2], placed || m->query_lengths || (k && k[2] > 1) ? s.i : 1);
    assert_int_equal(n[3], s.j);
    for (int64_t b = 0; b < s.b; b++)
        for (int64_t h = 0; h < s.h; h++)
            for (int64_t i = 0; i < s.i; i++)
                for (int64_t j = 0; j < s.j; j++)
                    assert_int_equal(heed_u8(bits)[((b % n[0] * n[1] + h % n[1]) * n[2] + i % n[2]) * n[3] + j],
                                     allowed(m, b, h, i, j));
}

/* y and the gradients of q, k and v. */
struct results {
    heed_tensor *of[4];
};

static struct results attend(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v, heed_mask m) {
    heed_tensor *in[] = {heed_want_grad(cx, heed_detach(cx, q)), heed_want_grad(cx, heed_detach(cx, k)),
                         heed_want_grad(cx, heed_detach(cx, v))};
    struct results r = {{heed_keep(cx, heed_attention(cx, in[0], in[1], in[2], &(heed_attention_opts){.mask = m}))}};
    if (!r.of[0]) fail_msg("%s", heed_message(cx));
    const int64_t *n = heed_shape(r.of[0]);
    assert_true(heed_backward_from(cx, r.of[0], normals(cx, 9, n[0], n[1], n[2], n[3])));
    for (int i = 0; i < 3; i++) assert_non_null(r.of[i + 1] = heed_grad_of(cx, in[i]));
    return r;
}

/* The typed mask and the bitmap of it: the same bits, except where few queries go row by row, from the first key that
 * is seen on. */
static void test_one_meaning(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    drawn = 0;
    for (int n = 0; n < 300; n++) {
        const struct shape s = {1 + draw(3), 1 + draw(2), 1 + draw(n % 10 ? 20 : 150), 1 + draw(n % 10 ? 20 : 300)};
        heed_tensor *q = normals(cx, 1, s.b, s.i, s.h, 4), *k = normals(cx, 2, s.b, s.j, s.h, 4);
        heed_tensor *v = normals(cx, 3, s.b, s.j, s.h, 5);
        const heed_mask m = random_mask(cx, s);
        check_bitmap(cx, &m, s);
        const struct results typed = attend(cx, q, k, v, m);
        const struct results bits = attend(cx, q, k, v, heed_mask_keep(heed_mask_bitmap(cx, &m, s.b, s.h, s.i, s.j)));
        for (int r = 0; r < 4; r++) {
            assert_true(apart(cx, typed.of[r], bits.of[r]) <= 1e-6);
            if (s.i > 4 && !m.query_lengths) assert_true(same_bits(cx, typed.of[r], bits.of[r]));
        }
        heed_reset(cx);
    }
    close_context(cx);
}

/* ---- joined ---- */

static void test_both(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    drawn = 1000;
    const struct shape s = {2, 2, 7, 9};
    for (int n = 0; n < 200; n++) {
        heed_mask a = random_mask(cx, s), b = random_mask(cx, s);
        const bool a_placed = a.causal || a.windowed || a.blocked, b_placed = b.causal || b.windowed || b.blocked;
        if (a_placed && b_placed) b.offset = a.offset;
        if (!a_placed) a.offset = 0;
        if (!b_placed) b.offset = 0;
        if (a.key_lengths) b.key_lengths = NULL;
        if (a.query_lengths) b.query_lengths = NULL;
        if (a.blocked) b.block = a.block;
        const heed_mask both = heed_mask_both(cx, a, b);
        assert_false(heed_failed(cx));
        check_bitmap(cx, &both, s);
        for (int64_t e = 0; e < s.b * s.h * s.i * s.j; e++) {
            const int64_t j = e % s.j, i = e / s.j % s.i, h = e / s.j / s.i % s.h, at = e / s.j / s.i / s.h;
            assert_int_equal(allowed(&both, at, h, i, j), allowed(&a, at, h, i, j) && allowed(&b, at, h, i, j));
        }
        heed_reset(cx);
    }
    const heed_mask none = heed_mask_none(), zero = {0};
    assert_memory_equal(&none, &zero, sizeof none);
    close_context(cx);
}

/* Two biases are added, each repeated as it is, and both get their gradients. */
static void test_two_biases(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *q = normals(cx, 1, 2, 5, 3, 4), *k = normals(cx, 2, 2, 6, 3, 4), *dy = normals(cx, 5, 2, 5, 3, 4);
    heed_tensor *a = heed_want_grad(cx, normals(cx, 3, 2, 1, 5, 6)),
                *b = heed_want_grad(cx, normals(cx, 4, 1, 3, 1, 6));
    const heed_mask both = heed_mask_both(cx, heed_mask_add(a), heed_mask_add(b));
    heed_tensor *y = heed_attention(cx, q, k, k, &(heed_attention_opts){.mask = both});
    assert_true(heed_backward_from(cx, y, dy));
    heed_tensor *sum = heed_want_grad(cx, heed_add(cx, heed_detach(cx, a), heed_detach(cx, b)));
    y = heed_attention(cx, q, k, k, &(heed_attention_opts){.mask = heed_mask_add(sum)});
    assert_true(heed_backward_from(cx, y, dy));
    heed_tensor *g = heed_grad_of(cx, sum);
    assert_true(apart(cx, heed_grad_of(cx, a), heed_sum(cx, g, (int[]){1}, 1, true)) <= 1e-5);
    assert_true(apart(cx, heed_grad_of(cx, b), heed_sum(cx, g, (int[]){0, 2}, 2, true)) <= 1e-5);
    heed_reset(cx);
    close_context(cx);
}

/* An attention_mask of any type says which keys are there; lengths do where there are no holes. */
static void test_padding(void **state) {
    (void)state;
    enum { B = 3, T = 5 };
    static const int32_t whole[B * T] = {1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0},
                                   holes[B * T] = {1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    heed_ctx *cx = open_context();
    for (int kind = 0; kind < 4; kind++) {
        const int32_t *want = kind % 2 ? holes : whole;
        float numbers[B * T];
        for (int i = 0; i < B * T; i++) numbers[i] = (float)want[i] * 0.25f;
        const heed_mask m = heed_mask_padding(cx, kind < 2 ? heed_from_i32(cx, want, 2, SHAPE(B, T))
                                                           : heed_from_f32(cx, numbers, 2, SHAPE(B, T)));
        assert_int_equal(m.key_lengths != NULL, kind % 2 == 0);
        assert_int_equal(m.keep != NULL, kind % 2 == 1);
        assert_null(m.query_lengths);
        const heed_tensor *bits = heed_mask_bitmap(cx, &m, B, 2, 4, T);
        if (!bits) fail_msg("%s", heed_message(cx));
        assert_int_equal(heed_count(bits), B * T);
        for (int i = 0; i < B * T; i++) assert_int_equal(heed_u8(bits)[i], want[i]);
        heed_reset(cx);
    }
    heed_mask_padding(cx, heed_zeros(cx, HEED_I32, 1, SHAPE(T)));
    EXPECT_SENTENCE(cx, "mask: an attention_mask of shape (5) is not (B,T)");
    heed_mask_padding(cx, NULL);
    EXPECT_SENTENCE(cx, "mask: an attention_mask that is NULL is not (B,T)");
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
#define LENGTHS    heed_zeros(cx, HEED_I32, 1, SHAPE(2))
#define BOTH(a, b) (heed_mask_both(cx, a, b), heed_failed(cx) ? NULL : cx)
    REFUSED(BOTH(heed_mask_causal(1), heed_mask_window(3, 2)), "mask: query offsets 1 and 2 differ");
    REFUSED(BOTH(heed_mask_lengths(LENGTHS, NULL), heed_mask_lengths(LENGTHS, NULL)),
            "mask: both masks have key lengths");
    REFUSED(BOTH(heed_mask_lengths(NULL, LENGTHS), heed_mask_lengths(NULL, LENGTHS)),
            "mask: both masks have query lengths");
    REFUSED(BOTH(heed_mask_blocks(2, 0), heed_mask_blocks(3, 0)), "mask: block sizes 2 and 3 differ");
    REFUSED(BOTH(heed_mask_keep(heed_zeros(cx, HEED_U8, 4, SHAPE(1, 1, 2, 3))),
                 heed_mask_keep(heed_zeros(cx, HEED_U8, 4, SHAPE(1, 1, 2, 4)))),
            "(1,1,2,3)");
    heed_mask m = heed_mask_window(0, 0);
    REFUSED(heed_mask_bitmap(cx, &m, 1, 1, 2, 3), "mask: a window of 0 positions");
    m = heed_mask_causal(-1);
    REFUSED(heed_mask_bitmap(cx, &m, 1, 1, 2, 3), "mask: query offset -1 is negative");
    m = heed_mask_lengths(heed_from_i32(cx, (int32_t[]){4}, 1, SHAPE(1)), NULL);
    REFUSED(heed_mask_bitmap(cx, &m, 1, 1, 2, 3), "mask: key length 4 of sequence 0 is not within 0 and 3");
    m = heed_mask_keep(heed_zeros(cx, HEED_U8, 4, SHAPE(1, 1, 2, 4)));
    REFUSED(heed_mask_bitmap(cx, &m, 1, 1, 2, 3), "mask: a bitmap of shape (1,1,2,4) does not fit (1,1,2,3)");
    REFUSED(heed_mask_bitmap(cx, NULL, -1, 1, 2, -3), "-3");
    assert_int_equal(heed_count(heed_mask_bitmap(cx, NULL, 2, 2, 2, 3)), 3);
    heed_reset(cx);
    assert_null(heed_mask_bitmap(NULL, NULL, 1, 1, 1, 1));
    close_context(cx);
}

/* ---- nothing to see ---- */

static void test_rows_that_see_nothing(void **state) {
    (void)state;
    enum { B = 2, H = 2, T = 7 };
    heed_ctx *cx = open_context();
    float holes[B * H * T * T];
    for (int i = 0; i < B * H * T * T; i++) holes[i] = i / T % T == 3 ? -INFINITY : 0;
    uint8_t keep[T * T];
    for (int i = 0; i < T * T; i++) keep[i] = i / T != 3;
    for (int kind = 0; kind < 6; kind++) {
        heed_tensor *q = heed_want_grad(cx, normals(cx, 1, B, T, H, 4)),
                    *k = heed_want_grad(cx, normals(cx, 2, B, T, H, 4));
        heed_tensor *add = heed_want_grad(cx, heed_from_f32(cx, holes, 4, SHAPE(B, H, T, T)));
        heed_tensor *few = heed_from_i32(cx, (int32_t[]){0, T}, 1, SHAPE(B));
        const heed_mask masks[] = {
            heed_mask_add(add),           heed_mask_keep(heed_from_u8(cx, keep, 4, SHAPE(1, 1, T, T))),
            heed_mask_lengths(few, NULL), heed_mask_lengths(NULL, few),
            heed_mask_window(2, 2 * T),   heed_mask_blocks(T, T)};
        heed_tensor *y = heed_keep(cx, heed_attention(cx, q, k, k, &(heed_attention_opts){.mask = masks[kind]}));
        assert_true(heed_backward_from(cx, y, normals(cx, 3, B, T, H, 4)));
        const float *dq = heed_f32(heed_grad_of(cx, q)), *dk = heed_f32(heed_grad_of(cx, k));
        for (int i = 0; i < B * T * H * 4; i++) {
            const int row = i / (H * 4) % T, b = i / (H * 4 * T);
            const bool sees = kind < 2 ? row != 3 : kind < 4 ? b == 1 : false;
            assert_int_equal(heed_f32(y)[i] != 0, sees);
            assert_int_equal(dq[i] != 0, sees);
            assert_int_equal(dk[i] != 0, kind < 2 || sees);
        }
        const float *da = kind == 0 ? heed_f32(heed_grad_of(cx, add)) : NULL;
        for (int i = 0; da && i < B * H * T * T; i++) assert_int_equal(da[i] != 0, i / T % T != 3);
        heed_reset(cx);
    }
    close_context(cx);
}

/* ---- what is hidden ---- */

/* x with the rows (T) of both sequences from `first` on set to value. */
static heed_tensor *spoiled(heed_ctx *cx, heed_tensor *x, int64_t first, int64_t last, float value) {
    const int64_t *n = heed_shape(x), row = n[2] * n[3];
    float *numbers = copy_of(cx, x);
    for (int64_t i = 0; i < heed_count(x); i++)
        if (i / row % n[1] >= first && i / row % n[1] <= last) numbers[i] = value;
    heed_tensor *t = heed_from_f32(cx, numbers, 4, n);
    free(numbers);
    return t;
}

/* Keys and values 5 and 6, which nobody sees, hold NaN or infinity; so do queries that are padding. The same bits. */
static void test_hidden_keys(void **state) {
    (void)state;
    enum { B = 2, H = 2, T = 9, N = T * T };
    const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f};
    heed_ctx *cx = open_context();
    float holes[T];
    uint8_t keep[T];
    for (int j = 0; j < T; j++) holes[j] = j == 5 || j == 6 ? -INFINITY : 0.5f, keep[j] = j != 5 && j != 6;
    for (int n = 0; n < 24; n++) {
        const int64_t Tq = n < 12 ? T : 3; /* by strips, and row by row */
        const float value = bad[n % 4];
        const int kind = n / 4 % 3;
        heed_tensor *q = normals(cx, 1, B, Tq, H, 4), *k = normals(cx, 2, B, T, H, 4), *v = normals(cx, 3, B, T, H, 5);
        heed_mask m = kind == 0   ? heed_mask_add(heed_from_f32(cx, holes, 4, SHAPE(1, 1, 1, T)))
                      : kind == 1 ? heed_mask_keep(heed_from_u8(cx, keep, 4, SHAPE(1, 1, 1, T)))
                                  : heed_mask_lengths(heed_from_i32(cx, (int32_t[]){5, 5}, 1, SHAPE(B)),
                                                      heed_from_i32(cx, (int32_t[]){2, 2}, 1, SHAPE(B)));
        const int64_t last = kind == 2 ? T - 1 : 6;
        const struct results clean = attend(cx, q, k, v, m);
        const struct results dirty = attend(cx, kind == 2 ? spoiled(cx, q, 2, Tq, value) : q,
                                            spoiled(cx, k, 5, last, value), spoiled(cx, v, 5, last, value), m);
        for (int r = 0; r < 4; r++) assert_true(same_bits(cx, clean.of[r], dirty.of[r]));
        heed_reset(cx);
    }
    close_context(cx);
}

/* ---- causality ---- */

static heed_tensor *causal(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v, int kind) {
    heed_attention_opts o = {.mask = heed_mask_causal(0)};
    const heed_rotary_opts turn = {0};
    if (kind == 1) o.mask = heed_mask_both(cx, o.mask, heed_mask_window(7, 0)), o.rotary = &turn;
    if (kind == 2) o.alibi = true;
    return heed_keep(cx, heed_attention(cx, q, k, v, &o));
}

/* Another future, NaN even, changes no bit of the past, nor of its queries' gradients. */
static void test_future(void **state) {
    (void)state;
    enum { B = 2, H = 2, T = 170, D = 8 };
    heed_ctx *cx = open_context();
    for (int kind = 0; kind < 3; kind++)
        for (int64_t now = 0; now < T; now = now * 3 / 2 + 17) {
            heed_tensor *x[3], *z[3], *dy = spoiled(cx, normals(cx, 4, B, T, H, D), now + 1, T, 0);
            for (int i = 0; i < 3; i++) {
                heed_tensor *made = normals(cx, (uint64_t)i + 1, B, T, H, D);
                x[i] = heed_want_grad(cx, made);
                z[i] = heed_want_grad(cx, spoiled(cx, made, now + 1, T, i ? NAN : 100));
            }
            heed_tensor *y = causal(cx, x[0], x[1], x[2], kind);
            assert_true(heed_backward_from(cx, y, dy));
            heed_tensor *w = causal(cx, z[0], z[1], z[2], kind);
            assert_true(heed_backward_from(cx, w, dy));
            heed_tensor *pairs[][2] = {{y, w}, {heed_grad_of(cx, x[0]), heed_grad_of(cx, z[0])}};
            for (int i = 0; i < 2; i++)
                assert_true(same_bits(cx, heed_slice(cx, pairs[i][0], 1, 0, now + 1),
                                      heed_slice(cx, pairs[i][1], 1, 0, now + 1)));
            heed_reset(cx);
        }
    close_context(cx);
}

/* ---- large scores ---- */

/* Scores of up to 1e4 and beyond, exact in float: the row's largest decides, and ties share. */
static void test_large_scores(void **state) {
    (void)state;
    enum { T = 40, D = 4 };
    heed_ctx *cx = open_context();
    for (int Tq = 3; Tq <= 20; Tq += 17) {
        float q[20 * D], k[T * D], v[T];
        for (int i = 0; i < Tq * D; i++) q[i] = 64 * (float)(heed_random_bits(3, 0, (uint64_t)i) % 3);
        for (int i = 0; i < T * D; i++) k[i] = 32 * (float)((int)(heed_random_bits(3, 1, (uint64_t)i) % 3) - 1);
        for (int i = 0; i < T; i++) v[i] = (float)(i % 7);
        heed_tensor *in[] = {heed_want_grad(cx, heed_from_f32(cx, q, 4, SHAPE(1, Tq, 1, D))),
                             heed_want_grad(cx, heed_from_f32(cx, k, 4, SHAPE(1, T, 1, D))),
                             heed_want_grad(cx, heed_from_f32(cx, v, 4, SHAPE(1, T, 1, 1)))};
        heed_tensor *y = heed_keep(cx, heed_attention(cx, in[0], in[1], in[2], &(heed_attention_opts){.scale = 1}));
        assert_true(heed_backward_from(cx, y, heed_full(cx, 1, 4, SHAPE(1, Tq, 1, 1))));
        double largest = 0, all = 0;
        for (int i = 0; i < Tq; i++) {
            double s[T], top = -HUGE_VAL, sum = 0, mean = 0;
            for (int j = 0; j < T; j++) {
                s[j] = 0;
                for (int c = 0; c < D; c++) s[j] += (double)q[i * D + c] * (double)k[j * D + c];
                top = s[j] > top ? s[j] : top;
            }
            for (int j = 0; j < T; j++) sum += exp(s[j] - top), mean += exp(s[j] - top) * (double)v[j];
            assert_true(fabs((double)heed_f32(y)[i] - mean / sum) <= 1e-5);
            largest = top > largest ? top : largest;
        }
        assert_true(largest >= 1e4);
        for (int i = 0; i < 3; i++)
            for (int64_t e = 0; e < heed_count(in[i]); e++) assert_true(isfinite(heed_f32(heed_grad_of(cx, in[i]))[e]));
        for (int j = 0; j < T; j++) all += (double)heed_f32(heed_grad_of(cx, in[2]))[j];
        assert_true(fabs(all - Tq) <= 1e-4); /* every row's weights sum to 1 */
        heed_reset(cx);
    }
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_meaning),  cmocka_unit_test(test_both),
        cmocka_unit_test(test_two_biases),   cmocka_unit_test(test_padding),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_rows_that_see_nothing),
        cmocka_unit_test(test_hidden_keys),  cmocka_unit_test(test_future),
        cmocka_unit_test(test_large_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
