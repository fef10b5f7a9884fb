/* Every op on large tensors, forward and backward, with 1, 2, 3 and 8 threads: the same bits.
 *
 * The shapes are the "large" tables of the golden files; the numbers are made here. Gradients go to leaves and, over
 * two passes, to parameters, so that stored, added and claimed gradients are all compared. */
#include "brief.h"
#include "tensor/golden.h"
#include "tensor/ops.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_NUMBERS ((int64_t)1 << 21) /* numbers made once, of which inputs take pieces */

/* Under a sanitizer one case per op, and fewer runs. The bits are compared in full without one. */
#if BRIEF
static const int threads[] = {1, 3};
#    define PASSES 2
#else
static const int threads[] = {1, 2, 3, 8};
#    define PASSES 3
#endif

static float *normals, *uniforms;

static int make_numbers(void **state) {
    (void)state;
    normals = malloc((size_t)MAX_NUMBERS * sizeof *normals);
    uniforms = malloc((size_t)MAX_NUMBERS * sizeof *uniforms);
    if (!normals || !uniforms) return 1;
    heed_random_normal(3, 0, 0, normals, MAX_NUMBERS);
    heed_random_uniform(3, 1, 0, uniforms, MAX_NUMBERS);
    return 0;
}

static int free_numbers(void **state) {
    (void)state;
    free(normals);
    free(uniforms);
    golden_close();
    return 0;
}

/* Input i of a case: 4 bytes a number at most. */
static heed_array make_input(const struct large_input *x, int i) {
    heed_array a = {.dtype = HEED_F32, .rank = x->rank};
    memcpy(a.shape, x->shape, sizeof a.shape);
    const int64_t n = heed_array_count(&a), shift = 7919 * i, cols = x->rank ? x->shape[x->rank - 1] : 1;
    float *numbers = malloc(((size_t)n + 1) * sizeof *numbers);
    int32_t *whole = (int32_t *)(void *)numbers;
    a.data = numbers;
    if (strcmp(x->kind, "flags") == 0) {
        a.dtype = HEED_U8;
        for (int64_t k = 0; k < n; k++) ((uint8_t *)numbers)[k] = uniforms[k + shift] < 0.5f;
    } else if (strcmp(x->kind, "ids") == 0) {
        a.dtype = HEED_I32;
        for (int64_t k = 0; k < n; k++) whole[k] = (int32_t)(uniforms[k + shift] * (float)x->below) % (int32_t)x->below;
    } else if (strcmp(x->kind, "bf16") == 0 || strcmp(x->kind, "f16") == 0) {
        a.dtype = *x->kind == 'b' ? HEED_BF16 : HEED_F16;
        for (int64_t k = 0; k < n; k++)
            ((uint16_t *)(void *)numbers)[k] =
                *x->kind == 'b' ? heed_f32_to_bf16(normals[k + shift]) : heed_f32_to_f16(normals[k + shift]);
    } else if (strcmp(x->kind, "normal") == 0) {
        memcpy(numbers, normals + shift, (size_t)n * sizeof *numbers);
    } else {
        const float least = strcmp(x->kind, "uniform") == 0 ? 0 : 0.5f;
        for (int64_t k = 0; k < n; k++) numbers[k] = least + uniforms[k + shift];
    }
    for (int64_t r = 0; strcmp(x->kind, "probabilities") == 0 && r < n / cols; r++) {
        float sum = 0;
        for (int64_t k = 0; k < cols; k++) sum += numbers[r * cols + k];
        for (int64_t k = 0; k < cols; k++) numbers[r * cols + k] /= sum;
    }
    return a;
}

struct results { /* of all that a case computes, one after another */
    char *bytes;
    size_t size, room;
};

static void note(struct results *r, const void *data, size_t size) {
    if (r->size + size > r->room) {
        r->room = 2 * (r->size + size);
        r->bytes = realloc(r->bytes, r->room);
    }
    memcpy(r->bytes + r->size, data, size);
    r->size += size;
}

static bool note_tensor(heed_ctx *cx, heed_tensor *t, struct results *r) {
    const heed_tensor *whole = heed_contiguous(cx, heed_detach(cx, t));
    const void *data = heed_type(t) == HEED_F32   ? (const void *)heed_f32(whole)
                       : heed_type(t) == HEED_I32 ? (const void *)heed_i32(whole)
                                                  : (const void *)heed_u8(whole);
    if (data) note(r, data, (size_t)heed_count(t) * heed_dtype_size(heed_type(t)));
    return data != NULL;
}

/* dL/dout_j is a piece of the normals; several outputs are combined into one loss. */
static bool go_back(heed_ctx *cx, heed_tensor *const *out, int n_out) {
    heed_tensor *loss = NULL;
    for (int j = 0; j < n_out; j++) {
        if (!heed_wants_grad(out[j])) continue;
        heed_tensor *dy =
            heed_borrow(cx, HEED_F32, normals + 31 * (j + 1), heed_rank(out[j]), heed_shape(out[j]), NULL);
        if (n_out == 1) return heed_backward_from(cx, out[j], dy);
        heed_tensor *part = heed_sum(cx, heed_mul(cx, out[j], dy), NULL, 0, false);
        loss = loss ? heed_add(cx, loss, part) : part;
    }
    return heed_backward(cx, loss);
}

static bool step(heed_ctx *cx, const struct large_case *l, const heed_array *a, heed_grad *slots, bool back,
                 struct results *r) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    int n_out = 0;
    for (int i = 0; i < l->n_in; i++) {
        const bool wanted = back && a[i].dtype == HEED_F32;
        in[i] = NULL;
        if (!a[i].data) continue;
        in[i] = heed_borrow(cx, a[i].dtype, a[i].data, a[i].rank, a[i].shape, wanted && slots ? &slots[i] : NULL);
        if (wanted && !slots) heed_want_grad(cx, in[i]);
    }
    if (!run_op(cx, l->op, l->attrs, in, l->n_in, out, &n_out)) return false;
    for (int j = 0; j < n_out; j++)
        if (!note_tensor(cx, out[j], r)) return false;
    if (!back) return true;
    if (!go_back(cx, out, n_out)) return false;
    for (int i = 0; !slots && i < l->n_in; i++) {
        heed_tensor *g = in[i] && heed_wants_grad(in[i]) ? heed_grad_of(cx, in[i]) : NULL;
        if (g && !note_tensor(cx, g, r)) return false;
    }
    return true;
}

static bool run_large(heed_ctx *cx, const struct large_case *l, const heed_array *a, struct results *r) {
    const heed_op *op = golden_op(l->op);
    bool back = false; /* where there is an input that can have a gradient */
    for (int i = 0; i < l->n_in; i++) back |= a[i].data && a[i].dtype == HEED_F32;
    back = back && (!op || !(op->flags & HEED_OP_NONDIFF));
    heed_grad slots[MAX_CASE_IN] = {{0}};
    for (int i = 0; i < l->n_in; i++)
        if (a[i].data) slots[i].data = malloc((size_t)heed_array_count(&a[i]) * sizeof(float));
    bool ok = true;
    for (int pass = 0; ok && pass < (back ? PASSES : 1); pass++) {
        heed_set_step(cx, (uint64_t)pass);
        ok = step(cx, l, a, pass ? slots : NULL, back, r);
        if (!ok) golden_wrong(l->name, "failed: %s%s", heed_message(cx), heed_message(l->attrs.cx));
        heed_reset(cx);
    }
    for (int i = 0; i < l->n_in; i++) {
        if (ok && slots[i].filled) note(r, slots[i].data, (size_t)heed_array_count(&a[i]) * sizeof(float));
        free(slots[i].data);
    }
    heed_clear(cx);
    return ok;
}

static void threads_give_the_same_bits(void **state) {
    (void)state;
    enum { KINDS = sizeof threads / sizeof *threads };
    heed_ctx *cx[KINDS];
    for (int k = 0; k < KINDS; k++) {
        cx[k] = heed_open(&(heed_config){.threads = threads[k], .seed = 9});
        heed_set_training(cx[k], true);
    }
    const struct golden *g = golden_open();
    for (int i = 0; i < g->n_large; i++) {
        const struct large_case *l = &g->larges[i];
        if (BRIEF && i > 0 && strcmp(l->op, l[-1].op) == 0) continue;
        heed_array a[MAX_CASE_IN] = {{0}};
        for (int k = 0; k < l->n_in; k++)
            if (*l->in[k].kind) a[k] = make_input(&l->in[k], k);
        struct results one = {0};
        bool ok = run_large(cx[0], l, a, &one);
        for (int k = 1; ok && k < KINDS; k++) {
            struct results many = {0};
            ok = run_large(cx[k], l, a, &many);
            if (ok && (one.size != many.size || memcmp(one.bytes, many.bytes, one.size) != 0))
                golden_wrong(l->name, "other bits with %d threads than with one", threads[k]);
            free(many.bytes);
        }
        free(one.bytes);
        for (int k = 0; k < l->n_in; k++) free((void *)(uintptr_t)a[k].data);
    }
    for (int k = 0; k < KINDS; k++) heed_close(cx[k]);
    assert_int_equal(golden_wrongs(), 0);
}

static void every_op_has_a_large_case(void **state) {
    (void)state;
    if (!golden_is_whole()) {
        print_message("skipped: whether every op has its cases, with HEED_OP\n");
        skip();
    }
    const struct golden *g = golden_open();
    for (int k = 0; all_ops[k]; k++) {
        bool found = false;
        for (int i = 0; i < g->n_large; i++) found |= strcmp(g->larges[i].op, all_ops[k]->name) == 0;
        if (!found) golden_wrong(all_ops[k]->name, "no large case");
    }
    assert_int_equal(golden_wrongs(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_a_large_case),
                                       cmocka_unit_test(threads_give_the_same_bits)};
    return cmocka_run_group_tests(tests, make_numbers, free_numbers);
}
