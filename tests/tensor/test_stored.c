/* Weights in bf16 and f16: the ops that read them give the bits that they give with the same weights as f32; all other
 * ops that compute refuse them. The values themselves are compared with PyTorch's in test_golden. */
#include "tensor/engine.h"
#include "tensor/golden.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"

static heed_ctx *cx;

static int start(void **state) {
    (void)state;
    cx = heed_open(&(heed_config){.threads = 2, .seed = 1});
    golden_open();
    return heed_failed(cx) || golden_wrongs();
}

static int stop(void **state) {
    (void)state;
    heed_close(cx);
    golden_close();
    return 0;
}

static bool in_16_bits(heed_dtype dtype) { return dtype == HEED_BF16 || dtype == HEED_F16; }

struct bits { /* of a step, one after another */
    char *at;
    size_t size;
};

static void note(struct bits *b, const heed_tensor *t) {
    const size_t size = (size_t)t->count * sizeof(float);
    b->at = realloc(b->at, b->size + size + 1);
    if (size) memcpy(b->at + b->size, t->data, size);
    b->size += size;
}

/* Results and gradients of a case, whose weights are stored as they are or cast to f32 first. */
static bool step(const struct golden_case *c, bool as_f32, struct bits *b) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    heed_clear(cx);
    *b = (struct bits){0};
    if (!golden_leaves(cx, c, in)) return false;
    for (int i = 0; i < c->n_in; i++)
        if (as_f32 && in[i] && in_16_bits(in[i]->dtype)) in[i] = heed_cast(cx, in[i], HEED_F32);
    if (!golden_run(cx, c, in, out)) return false;
    for (int j = 0; j < c->n_out; j++) note(b, out[j]);
    if (!golden_has_gradient(c)) return true;
    if (!golden_back(cx, c, out)) return false;
    for (int i = 0; i < c->n_in; i++)
        if (c->din[i]) note(b, heed_grad_of(cx, in[i]));
    return true;
}

static void same_bits_as_f32(void **state) {
    (void)state;
    const struct golden *g = golden_open();
    int cases = 0;
    for (int i = 0; i < g->n; i++) {
        const struct golden_case *c = &g->cases[i];
        bool any = false;
        for (int k = 0; k < c->n_in; k++) any |= c->in[k] && in_16_bits(c->in[k]->dtype);
        if (!any || strcmp(c->op, "cast") == 0) continue;
        struct bits stored, wide;
        if (step(c, false, &stored) && step(c, true, &wide)) {
            if (stored.size != wide.size || memcmp(stored.at, wide.at, stored.size) != 0)
                golden_wrong(c->name, "other bits than with the weights as f32");
            free(wide.at);
        }
        free(stored.at);
        cases++;
    }
    heed_clear(cx);
    assert_int_equal(golden_wrongs(), 0);
    assert_true(cases >= 40 || !golden_is_whole());
}

/* Ops that only move numbers take any type. */
static bool takes_any_type(const char *op) {
    static const char *const names[] = {"reshape", "slice",        "split",  "contiguous", "detach", "concat",
                                        "stack",   "permute",      "expand", "transpose",  "roll",   "flip",
                                        "gather",  "index_select", "pad",    NULL};
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], op) == 0) return true;
    return false;
}

/* Does op read input i in 16 bits? */
static bool reads(const char *op, int i) {
    if (strcmp(op, "cast") == 0 || strcmp(op, "embedding") == 0) return i == 0;
    if (strcmp(op, "rnn") == 0 || strcmp(op, "gru") == 0 || strcmp(op, "lstm") == 0) return i == 1 || i == 2 || i == 8;
    return strncmp(op, "linear", 6) == 0 && i == 1;
}

/* Every f32 input of every case, one after the other, in 16 bits: an op reads it, moves it, or says that it cannot. */
static void others_refuse(void **state) {
    (void)state;
    const struct golden *g = golden_open();
    for (int i = 0; i < g->n; i++) {
        const struct golden_case *c = &g->cases[i];
        for (int k = 0; k < c->n_in; k++) {
            if (!c->in[k] || c->in[k]->dtype != HEED_F32 || takes_any_type(c->op)) continue;
            heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
            /* what is cast may be more than f16 can hold */
            const heed_dtype to = i & 1 || strcmp(c->op, "cast") == 0 ? HEED_BF16 : HEED_F16;
            int n;
            heed_clear(cx);
            for (int q = 0; q < c->n_in; q++) in[q] = c->in[q] ? golden_leaf(cx, c->in[q], false) : NULL;
            in[k] = heed_cast(cx, in[k], to);
            const bool done = run_op(cx, c->op, c->attrs, in, c->n_in, out, &n);
            if (done != reads(c->op, k))
                golden_wrong(c->name, "input %d in 16 bits is %s", k, done ? "taken" : heed_message(cx));
            if (!done && (heed_error(cx) != HEED_ERR_TYPE || !strstr(heed_message(cx), heed_dtype_name(to))))
                golden_wrong(c->name, "input %d in 16 bits: %s", k, heed_message(cx));
        }
    }
    heed_clear(cx);
    assert_int_equal(golden_wrongs(), 0);
}

/* Moving keeps the bits. */
static void moves(void **state) {
    (void)state;
    const uint16_t w[6] = {1, 2, 0xfffe, 4, 5, 6}, want[4] = {2, 0xfffe, 5, 6};
    heed_clear(cx);
    heed_tensor *t = heed_borrow(cx, HEED_BF16, w, 2, (int64_t[]){2, 3}, NULL);
    const heed_tensor *part = heed_contiguous(cx, heed_slice(cx, t, 1, 1, 2));
    assert_false(heed_failed(cx));
    assert_int_equal(heed_type(part), HEED_BF16);
    assert_memory_equal(part->data, want, sizeof want);
    const heed_tensor *turned = heed_transpose(cx, t, 0, 1);
    assert_memory_equal(turned->data, ((const uint16_t[]){1, 4, 2, 5, 0xfffe, 6}), sizeof w);
}

/* A part of a fused projection, rows apart, needs no copy. */
static void strided_weight(void **state) {
    (void)state;
    enum { OUT = 20, IN = 33, WIDE = 70 };
    float w[OUT * WIDE], x[5 * IN];
    heed_random_normal(1, 1, 0, w, OUT * WIDE);
    heed_random_normal(1, 2, 0, x, 5 * IN);
    heed_clear(cx);
    heed_tensor *whole = heed_cast(cx, heed_from_f32(cx, w, 2, (int64_t[]){OUT, WIDE}), HEED_F16);
    heed_tensor *part = heed_slice(cx, whole, 1, 7, IN), *in = heed_from_f32(cx, x, 2, (int64_t[]){5, IN});
    const heed_tensor *y = heed_linear(cx, in, part, NULL);
    const heed_tensor *want = heed_linear(cx, in, heed_cast(cx, part, HEED_F32), NULL);
    assert_false(heed_failed(cx));
    assert_memory_equal(heed_f32(y), heed_f32(want), 5 * OUT * sizeof(float));
}

#define REFUSED(call, sentence)                                                                                        \
    do {                                                                                                               \
        call;                                                                                                          \
        assert_string_equal(heed_message(cx), sentence);                                                               \
        heed_clear(cx);                                                                                                \
    } while (0)

/* They are frozen: no gradient goes to them, through them it does. */
static void no_gradient(void **state) {
    (void)state;
    const uint16_t w[6] = {0x3f80, 0, 0, 0, 0x3f80, 0}; /* bf16: 1 is 0x3f80 */
    const float x[3] = {5, 6, 7};
    float room[6];
    heed_grad slot = {.data = room};
    heed_clear(cx);
    REFUSED(heed_borrow(cx, HEED_BF16, w, 2, (int64_t[]){2, 3}, &slot),
            "borrow: only f32 can have a gradient, not bf16");
    REFUSED(heed_want_grad(cx, heed_borrow(cx, HEED_BF16, w, 2, (int64_t[]){2, 3}, NULL)),
            "want_grad: only f32 can have a gradient; weights of 16 bits are frozen");
    float out;
    REFUSED(heed_copy_f32(cx, heed_borrow(cx, HEED_BF16, w, 0, NULL, NULL), &out, 1),
            "copy_f32: the tensor is not f32 (cast it)");
    heed_tensor *weight = heed_borrow(cx, HEED_BF16, w, 2, (int64_t[]){2, 3}, NULL);
    heed_tensor *in = heed_want_grad(cx, heed_from_f32(cx, x, 1, (int64_t[]){3}));
    heed_tensor *y = heed_linear(cx, in, weight, NULL);
    assert_memory_equal(heed_f32(y), ((const float[]){5, 6}), 2 * sizeof(float));
    assert_true(heed_backward(cx, heed_sum(cx, y, NULL, 0, false)));
    assert_memory_equal(heed_f32(heed_grad_of(cx, in)), ((const float[]){1, 1, 0}), sizeof x);
    assert_null(heed_grad_of(cx, weight));
    assert_null(heed_f32(weight));
}

/* A tensor of a safetensors file, as it lies there. */
static void borrowed_from_a_file(void **state) {
    (void)state;
    assert_int_equal(make_folder(NULL), 0);
    const char *const path = in_folder("stored.safetensors");
    const uint16_t bf16[4] = {0x3f80, 0x4000, 0x4040, 0xc080}, f16[4] = {0x3c00, 0x4000, 0x4200, 0xc400};
    const heed_array arrays[] = {{.name = "b", .dtype = HEED_BF16, .rank = 2, .shape = {2, 2}, .data = bf16},
                                 {.name = "h", .dtype = HEED_F16, .rank = 2, .shape = {2, 2}, .data = f16}};
    const float x[2] = {1, 10}, want[2] = {21, -37};
    heed_clear(cx);
    assert_true(heed_safetensors_write(cx, path, arrays, 2, NULL, 0));
    heed_safetensors *st = heed_safetensors_open(cx, path);
    for (int i = 0; i < 2; i++) {
        const heed_array *a = heed_safetensors_get(cx, st, heed_safetensors_find(cx, st, i ? "h" : "b"));
        heed_tensor *w = heed_borrow(cx, a->dtype, a->data, a->rank, a->shape, NULL);
        const heed_tensor *y = heed_linear(cx, heed_from_f32(cx, x, 1, (int64_t[]){2}), w, NULL);
        assert_false(heed_failed(cx));
        assert_memory_equal(heed_f32(y), want, sizeof want);
    }
    heed_safetensors_close(st);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(remove_folder(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_f32), cmocka_unit_test(others_refuse), cmocka_unit_test(moves),
        cmocka_unit_test(strided_weight),   cmocka_unit_test(no_gradient),   cmocka_unit_test(borrowed_from_a_file),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
