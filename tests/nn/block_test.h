/* What the tests of the attention blocks share: golden cases of tests/oracle/blocks.py, a parameter set with its
 * gradients, and steps whose bits are compared. */
#ifndef TESTS_BLOCK_TEST_H
#define TESTS_BLOCK_TEST_H

#include "heed/nn.h"
#include "io/io_test.h"

/* ---- golden files ---- */

struct golden {
    heed_ctx *cx;
    heed_safetensors *st;
    heed_json list, cases;
    const char *name; /* of the case under way */
};

static UNUSED void golden_open(struct golden *g, const char *file, int least) {
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/nn/%s", root ? root : HEED_SOURCE_DIR "/tests/golden", file);
    *g = (struct golden){.cx = heed_open(&(heed_config){.threads = 1})};
    g->st = heed_safetensors_open(g->cx, path);
    if (!g->st) fail_msg("%s", heed_message(g->cx));
    const char *text = heed_safetensors_metadata(g->cx, g->st, "list");
    g->list = heed_json_parse(g->cx, path, text, strlen(text));
    g->cases = heed_json_array(g->cx, g->list, "cases");
    assert_true(heed_json_count(g->cases) >= least);
}

static UNUSED void golden_close(struct golden *g) {
    assert_false(heed_failed(g->cx));
    heed_json_free(g->list);
    heed_safetensors_close(g->st);
    heed_close(g->cx);
}

/* CASE.partmore; NULL when the case has none. */
static UNUSED const heed_array *golden_find(const struct golden *g, const char *part, const char *more) {
    char key[200];
    snprintf(key, sizeof key, "%s.%s%s", g->name, part, more);
    const int64_t at = heed_safetensors_find(g->cx, g->st, key);
    return at < 0 ? NULL : heed_safetensors_get(g->cx, g->st, at);
}

static UNUSED heed_tensor *golden_tensor(heed_ctx *cx, const struct golden *g, const char *part, const char *more) {
    const heed_array *a = golden_find(g, part, more);
    if (!a) return NULL;
    heed_tensor *t = a->dtype == HEED_F32   ? heed_from_f32(cx, a->data, a->rank, a->shape)
                     : a->dtype == HEED_I32 ? heed_from_i32(cx, a->data, a->rank, a->shape)
                                            : heed_from_u8(cx, a->data, a->rank, a->shape);
    assert_non_null(t);
    return a->dtype == HEED_F32 ? heed_want_grad(cx, t) : t;
}

/* Within a hundred thousandth of the largest number of its kind, or of 1: sums of float32 err by what they add up. */
static UNUSED void golden_compare(const struct golden *g, const char *what, const float *got, const heed_array *want,
                                  int64_t n) {
    assert_non_null(want);
    assert_non_null(got);
    assert_int_equal(heed_array_count(want), n);
    const float *numbers = want->data;
    double most = 1;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)numbers[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)numbers[i]) <= 1e-5 * most))
            fail_msg("%s: %s: %.9g at place %lld, not %.9g", g->name, what, (double)got[i], (long long)i,
                     (double)numbers[i]);
}

/* ---- parameters ---- */

struct weights {
    heed_params *set;
    heed_grad *grads;
};

static UNUSED void weights_ready(heed_ctx *cx, struct weights *w) {
    if (heed_failed(cx) || !heed_params_allocate(cx, w->set)) fail_msg("%s", heed_message(cx));
    const int n = heed_params_count(w->set);
    w->grads = calloc((size_t)n, sizeof *w->grads);
    for (int i = 0; i < n; i++) w->grads[i].data = calloc((size_t)heed_params_at(w->set, i)->count + 1, sizeof(float));
    heed_bind(cx, w->set, w->grads);
}

static UNUSED void weights_free(heed_ctx *cx, struct weights *w) {
    heed_reset(cx);
    for (int i = 0; i < heed_params_count(w->set); i++) free(w->grads[i].data);
    free(w->grads);
    heed_params_free(cx, w->set);
}

static UNUSED void weights_from_golden(const struct golden *g, const struct weights *w) {
    for (int i = 0; i < heed_params_count(w->set); i++) {
        const heed_param *p = heed_params_at(w->set, i);
        const heed_array *a = golden_find(g, "param.", p->name);
        if (!a) fail_msg("%s: torch has no parameter %s", g->name, p->name);
        assert_int_equal(a->rank, p->rank);
        for (int k = 0; k < p->rank; k++) assert_int_equal(a->shape[k], p->shape[k]);
        memcpy(p->value, a->data, (size_t)p->count * sizeof(float));
    }
    char prefix[100];
    snprintf(prefix, sizeof prefix, "%s.param.", g->name);
    int named = 0;
    for (int64_t i = 0; i < heed_safetensors_count(g->st); i++)
        named += strncmp(heed_safetensors_info(g->cx, g->st, i)->name, prefix, strlen(prefix)) == 0;
    assert_int_equal(named, heed_params_count(w->set));
}

/* Numbers of some size everywhere, also in biases and norms. */
static UNUSED void weights_random(const struct weights *w, uint64_t seed) {
    float *block = heed_params_block(w->set);
    const int64_t n = heed_params_size(w->set);
    heed_random_normal(seed, 0, 0, block, n);
    for (int64_t i = 0; i < n; i++) block[i] *= 0.3f;
}

/* y and every gradient against torch; in: the inputs, add: a bias, or NULL. */
static UNUSED void golden_check(heed_ctx *cx, const struct golden *g, const struct weights *w, heed_tensor *y,
                                heed_tensor *const *in, int n_in, heed_tensor *add) {
    static const char *const number[] = {"0", "1", "2"};
    if (!y) fail_msg("%s: %s", g->name, heed_message(cx));
    const heed_array *out = golden_find(g, "out0", ""), *dout = golden_find(g, "dout0", "");
    assert_int_equal(heed_rank(y), out->rank);
    for (int i = 0; i < out->rank; i++) assert_int_equal(heed_shape(y)[i], out->shape[i]);
    golden_compare(g, "output", heed_f32(y), out, heed_count(y));
    assert_true(heed_backward_from(cx, y, heed_from_f32(cx, dout->data, dout->rank, dout->shape)));
    for (int i = 0; i < n_in; i++)
        golden_compare(g, "an input's gradient", heed_f32(heed_grad_of(cx, in[i])), golden_find(g, "din", number[i]),
                       heed_count(in[i]));
    if (add)
        golden_compare(g, "the bias's gradient", heed_f32(heed_grad_of(cx, add)), golden_find(g, "dadd", ""),
                       heed_count(add));
    for (int i = 0; i < heed_params_count(w->set); i++) {
        const heed_param *p = heed_params_at(w->set, i);
        assert_true(w->grads[i].filled);
        golden_compare(g, p->name, w->grads[i].data, golden_find(g, "grad.", p->name), p->count);
    }
}

/* ---- steps ---- */

static UNUSED heed_tensor *random_tensor(heed_ctx *cx, uint64_t stream, int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    float *numbers = malloc((size_t)n * sizeof(float) + 1);
    heed_random_normal(99, stream, 0, numbers, n);
    heed_tensor *t = heed_from_f32(cx, numbers, rank, shape);
    free(numbers);
    return t;
}

static UNUSED void expect_near(const float *got, const float *want, int64_t n, float tolerance) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= tolerance))
            fail_msg("%.9g at place %lld, not %.9g", (double)got[i], (long long)i, (double)want[i]);
}

#endif
