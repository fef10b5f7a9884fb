/* Every op with its inputs as strided views of larger tensors, whose other numbers are NaN or ids out of every range:
 * the same bits as with contiguous inputs, and no gradient outside the view. */
#include "tensor/golden.h"
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static heed_ctx *cx;

/* Which view: numbers 3 apart (any shape), rows 3 longer than needed (rank 2 up), or part of axis 1 (rank 3 up). */
enum view { SINGLES, ROWS, BLOCKS, VIEWS };

struct strided {
    heed_tensor *base, *view;
    int64_t run, gap; /* numbers of the view in a row, and around them in the base; the first lies at number 1 */
    int64_t lead;
};

/* The base's numbers: runs of the array's numbers, `lead` others before each run and gap - lead after it. */
static heed_tensor *make_base(const heed_array *a, const struct strided *s, int rank, const int64_t *shape, bool want) {
    const int64_t n = heed_array_count(a), runs = n / s->run, size = (int64_t)heed_dtype_size(a->dtype);
    const int64_t total = runs * (s->run + s->gap);
    char *numbers = malloc((size_t)(total * size));
    for (int64_t k = 0; k < total; k++) {
        const float nan = NAN;
        const int32_t huge = INT32_MAX;
        memcpy(numbers + k * size, a->dtype == HEED_F32 ? (const void *)&nan : (const void *)&huge, (size_t)size);
    }
    for (int64_t r = 0; r < runs; r++)
        memcpy(numbers + (r * (s->run + s->gap) + s->lead) * size, (const char *)a->data + r * s->run * size,
               (size_t)(s->run * size));
    heed_array base = {.dtype = a->dtype, .rank = rank, .data = numbers};
    memcpy(base.shape, shape, (size_t)rank * sizeof *shape);
    heed_tensor *t = golden_leaf(cx, &base, want);
    free(numbers);
    return t;
}

/* A view of the kind asked for that holds the array's numbers, or a contiguous leaf where there can be none. */
static struct strided make_view(const heed_array *a, enum view kind, bool want) {
    const int64_t n = heed_array_count(a);
    const int axis = kind == ROWS ? a->rank - 1 : 1;
    struct strided s = {0};
    if (n == 0 || (kind == ROWS && a->rank < 2) || (kind == BLOCKS && a->rank < 3)) {
        s.base = s.view = golden_leaf(cx, a, want);
        s.run = n;
        return s;
    }
    if (kind == SINGLES) {
        s.run = 1, s.gap = 2, s.lead = 1;
        s.base = make_base(a, &s, 2, (int64_t[]){n, 3}, want);
        s.view = heed_reshape(cx, heed_slice(cx, s.base, 1, 1, 1), a->rank, a->shape);
    } else {
        int64_t shape[HEED_MAX_RANK], inner = 1;
        memcpy(shape, a->shape, sizeof shape);
        for (int i = axis + 1; i < a->rank; i++) inner *= shape[i];
        s.run = shape[axis] * inner, s.gap = 3 * inner, s.lead = 2 * inner;
        shape[axis] += 3;
        s.base = make_base(a, &s, a->rank, shape, want);
        s.view = heed_slice(cx, s.base, axis, 2, a->shape[axis]);
    }
    if (want) heed_keep_grad(cx, s.view);
    return s;
}

struct results { /* of a step, one after another */
    char *bytes;
    size_t size;
};

static void note(struct results *r, const void *data, size_t size) {
    r->bytes = realloc(r->bytes, r->size + size + 1);
    if (size) memcpy(r->bytes + r->size, data, size);
    r->size += size;
}

static bool note_outputs(const struct golden_case *c, heed_tensor *const *out, struct results *r) {
    for (int j = 0; j < c->n_out; j++) {
        const size_t bytes = (size_t)heed_count(out[j]) * heed_dtype_size(heed_type(out[j]));
        const heed_tensor *y = heed_contiguous(cx, heed_detach(cx, out[j]));
        const void *data = heed_type(y) == HEED_F32   ? (const void *)heed_f32(y)
                           : heed_type(y) == HEED_I32 ? (const void *)heed_i32(y)
                                                      : (const void *)heed_u8(y);
        if (bytes && !data) return golden_wrong(c->name, "output %d cannot be read: %s", j, heed_message(cx));
        note(r, data, bytes);
    }
    return true;
}

static bool note_gradients(const struct golden_case *c, heed_tensor *const *in, struct results *r) {
    for (int i = 0; i < c->n_in; i++) {
        if (!c->din[i]) continue;
        const heed_tensor *g = heed_grad_of(cx, in[i]);
        if (!g) return golden_wrong(c->name, "no gradient for input %d", i);
        note(r, heed_f32(g), (size_t)heed_count(g) * sizeof(float));
    }
    return true;
}

/* The gradient of the base: that of the view where the view lies, and exactly zero elsewhere. */
static bool base_gradient_is_right(const struct golden_case *c, const struct strided *s) {
    if (s->base == s->view) return true;
    const heed_tensor *whole = heed_grad_of(cx, s->base), *part = heed_grad_of(cx, s->view);
    if (!whole || !part) return golden_wrong(c->name, "no gradient for a view or its base");
    const float *x = heed_f32(whole), *y = heed_f32(part);
    for (int64_t k = 0, at = 0; k < heed_count(whole); k++) {
        const int64_t place = k % (s->run + s->gap) - s->lead;
        const bool inside = place >= 0 && place < s->run;
        const float zero = 0;
        if (memcmp(&x[k], inside ? &y[at] : &zero, sizeof zero) != 0 && !(inside && x[k] == y[at]))
            return golden_wrong(c->name, "gradient %g at place %lld of the base of a view", (double)x[k], (long long)k);
        at += inside;
    }
    return true;
}

static bool run_case(const struct golden_case *c, int kind, struct results *r) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    struct strided views[MAX_CASE_IN];
    heed_clear(cx);
    for (int i = 0; i < c->n_in; i++) {
        in[i] = NULL;
        if (!c->in[i]) continue;
        if (kind < 0)
            in[i] = golden_leaf(cx, c->in[i], c->din[i] != NULL);
        else
            in[i] = (views[i] = make_view(c->in[i], (enum view)kind, c->din[i] != NULL)).view;
    }
    if (heed_failed(cx)) return golden_wrong(c->name, "the views failed: %s", heed_message(cx));
    if (!golden_run(cx, c, in, out) || !note_outputs(c, out, r)) return false;
    if (!golden_has_gradient(c)) return true;
    if (!golden_back(cx, c, out) || !note_gradients(c, in, r)) return false;
    for (int i = 0; kind >= 0 && i < c->n_in; i++)
        if (c->din[i] && !base_gradient_is_right(c, &views[i])) return false;
    return true;
}

static void views_give_the_same_bits(void **state) {
    (void)state;
    static const char *const kinds[] = {"single numbers", "rows", "blocks"};
    cx = heed_open(&(heed_config){.threads = 2});
    const struct golden *g = golden_open();
    for (int i = 0; i < g->n; i++) {
        const struct golden_case *c = &g->cases[i];
        struct results plain = {0};
        const bool ok = run_case(c, -1, &plain);
        for (int kind = 0; ok && kind < VIEWS; kind++) {
            struct results strided = {0};
            if (run_case(c, kind, &strided) &&
                (plain.size != strided.size || memcmp(plain.bytes, strided.bytes, plain.size) != 0))
                golden_wrong(c->name, "other bits when its inputs are %s of larger tensors", kinds[kind]);
            free(strided.bytes);
        }
        free(plain.bytes);
    }
    heed_close(cx);
    golden_close();
    assert_int_equal(golden_wrongs(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(views_give_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
