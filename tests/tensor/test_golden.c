/* Every op against PyTorch: results and gradients, with gradients going to leaves, to parameters, and added up. */
#include "tensor/engine.h"
#include "tensor/golden.h"
#include "tensor/ops.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void each_case(bool (*check)(const struct golden_case *c), bool only_with_gradient) {
    const struct golden *g = golden_open();
    for (int i = 0; i < g->n; i++) {
        heed_clear(cx);
        if (only_with_gradient && !golden_has_gradient(&g->cases[i])) continue;
        check(&g->cases[i]);
    }
    heed_clear(cx);
    assert_int_equal(golden_wrongs(), 0);
}

static bool grads_match(const struct golden_case *c, heed_tensor *const *in, double times, const char *what) {
    for (int i = 0; i < c->n_in; i++) {
        if (!c->din[i]) continue;
        const heed_tensor *g = heed_grad_of(cx, in[i]);
        if (!g) return golden_wrong(c->name, "%s: no gradient for input %d", what, i);
        if (!golden_close_to(c, what, heed_f32(g), c->din[i], times)) return false;
    }
    return true;
}

static bool slots_match(const struct golden_case *c, const struct golden_slots *s, double times, const char *what) {
    for (int i = 0; i < c->n_in; i++) {
        if (!c->din[i]) continue;
        if (!s->slot[i].filled) return golden_wrong(c->name, "%s: parameter %d got no gradient", what, i);
        if (!golden_close_to(c, what, s->slot[i].data, c->din[i], times)) return false;
    }
    return true;
}

/* ---- results ---- */

static bool check_forward(const struct golden_case *c) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    const bool was = heed_set_grad(cx, false);
    bool ok = golden_leaves(cx, c, in) && golden_run(cx, c, in, out);
    for (int j = 0; ok && j < c->n_out; j++) {
        ok = golden_matches(cx, c, "output", out[j], c->out[j]);
        if (ok && heed_wants_grad(out[j])) ok = golden_wrong(c->name, "wants a gradient while none is recorded");
    }
    heed_set_grad(cx, was);
    return ok;
}

static void forward(void **state) {
    (void)state;
    each_case(check_forward, false);
}

/* ---- gradients ---- */

static bool check_leaves(const struct golden_case *c) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    if (!golden_leaves(cx, c, in) || !golden_run(cx, c, in, out)) return false;
    for (int j = 0; j < c->n_out; j++)
        if (!golden_matches(cx, c, "output while recording", out[j], c->out[j])) return false;
    return golden_back(cx, c, out) && grads_match(c, in, 1, "gradient");
}

static void gradients(void **state) {
    (void)state;
    each_case(check_leaves, true);
}

/* Only one input wants its gradient: what the others need may not be saved, and need not be. */
static bool check_alone(const struct golden_case *all) {
    for (int i = 0; i < all->n_in; i++) {
        if (!all->din[i]) continue;
        struct golden_case c = *all;
        for (int k = 0; k < c.n_in; k++)
            if (k != i) c.din[k] = NULL;
        heed_clear(cx);
        heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
        if (!golden_leaves(cx, &c, in) || !golden_run(cx, &c, in, out) || !golden_back(cx, &c, out) ||
            !grads_match(&c, in, 1, "gradient of one input alone"))
            return false;
    }
    return true;
}

static void gradients_alone(void **state) {
    (void)state;
    each_case(check_alone, true);
}

/* Outputs that nobody used have no gradient: each output alone goes back. The golden gradients are of all outputs
 * together, so those of the parts must add up to them. */
static bool check_outputs_alone(const struct golden_case *all) {
    if (all->n_out == 1) return true;
    struct golden_slots s;
    golden_slots_new(all, &s);
    bool ok = true;
    for (int j = 0; ok && j < all->n_out; j++) {
        if (!all->dout[j]) continue;
        heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
        heed_clear(cx);
        ok = golden_parameters(cx, all, &s, in) && golden_run(cx, all, in, out) &&
             (heed_backward_from(cx, out[j], golden_leaf(cx, all->dout[j], false)) ||
              golden_wrong(all->name, "output %d alone: %s", j, heed_message(cx)));
    }
    ok = ok && slots_match(all, &s, 1, "gradients of single outputs, added up");
    golden_slots_free(&s);
    return ok;
}

static void outputs_alone(void **state) {
    (void)state;
    each_case(check_outputs_alone, true);
}

/* The first pass stores, the second adds. */
static bool check_parameters(const struct golden_case *c) {
    struct golden_slots s;
    golden_slots_new(c, &s);
    bool ok = true;
    for (int pass = 1; ok && pass <= 2; pass++) {
        heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
        ok = golden_parameters(cx, c, &s, in) && golden_run(cx, c, in, out) && golden_back(cx, c, out) &&
             slots_match(c, &s, pass, pass == 1 ? "parameter's gradient" : "gradient after two passes");
        heed_reset(cx);
    }
    golden_slots_free(&s);
    return ok;
}

static void parameters(void **state) {
    (void)state;
    each_case(check_parameters, true);
}

/* Every input is used by two ops: the second contribution adds to the first. */
static bool run_twice(const struct golden_case *c, heed_tensor *const *in) {
    heed_tensor *first[MAX_OP_OUT], *second[MAX_OP_OUT], *sum[MAX_OP_OUT];
    if (!golden_run(cx, c, in, first) || !golden_run(cx, c, in, second)) return false;
    for (int j = 0; j < c->n_out; j++) sum[j] = c->dout[j] ? heed_add(cx, first[j], second[j]) : NULL;
    return golden_back(cx, c, sum);
}

static bool check_twice(const struct golden_case *c) {
    heed_tensor *in[MAX_CASE_IN];
    if (!golden_leaves(cx, c, in) || !run_twice(c, in) || !grads_match(c, in, 2, "gradient of inputs used twice"))
        return false;
    heed_clear(cx);
    struct golden_slots s;
    golden_slots_new(c, &s);
    const bool ok = golden_parameters(cx, c, &s, in) && run_twice(c, in) &&
                    slots_match(c, &s, 2, "gradient of parameters used twice");
    golden_slots_free(&s);
    return ok;
}

static void used_twice(void **state) {
    (void)state;
    each_case(check_twice, true);
}

/* One tensor as two inputs of one op: its gradient is the sum of what two equal tensors get. */
static bool check_same(const struct golden_case *c) {
    int i = 0, k;
    while (i < c->n_in && !c->din[i]) i++;
    for (k = i + 1; k < c->n_in; k++)
        if (c->din[k] && c->in[k]->rank == c->in[i]->rank &&
            memcmp(c->in[k]->shape, c->in[i]->shape, (size_t)c->in[i]->rank * sizeof(int64_t)) == 0)
            break;
    if (k >= c->n_in) return true;
    const int64_t n = heed_array_count(c->in[i]);
    float *want = calloc((size_t)n + 1, sizeof *want);
    struct golden_case equal = *c;
    equal.in[k] = c->in[i];
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    bool ok = golden_leaves(cx, &equal, in) && golden_run(cx, &equal, in, out) && golden_back(cx, &equal, out);
    const heed_tensor *gi = ok ? heed_grad_of(cx, in[i]) : NULL, *gk = ok ? heed_grad_of(cx, in[k]) : NULL;
    for (int64_t e = 0; gi && gk && e < n; e++) want[e] = heed_f32(gi)[e] + heed_f32(gk)[e];
    ok = ok && ((gi && gk) || golden_wrong(c->name, "no gradient for one of two equal inputs"));

    heed_clear(cx);
    heed_array expected = *c->in[i];
    expected.data = want;
    ok = ok && golden_leaves(cx, &equal, in);
    in[k] = in[i];
    ok = ok && golden_run(cx, &equal, in, out) && golden_back(cx, &equal, out) &&
         golden_matches(cx, c, "gradient of one tensor as two inputs", heed_grad_of(cx, in[i]), &expected);
    free(want);
    return ok;
}

static void same_input_twice(void **state) {
    (void)state;
    each_case(check_same, true);
}

/* ---- dropout: no golden mask, but what it must be ---- */

static void dropout_is_a_mask(void **state) {
    (void)state;
    enum { N = 20011 };
    static float x[N], dy[N], first[N];
    heed_random_normal(7, 0, 0, x, N);
    heed_random_normal(7, 1, 0, dy, N);
    const float p = 0.3f;
    heed_clear(cx);
    heed_tensor *t = heed_from_f32(cx, x, 1, &(int64_t){N});
    assert_ptr_equal(heed_dropout(cx, t, p), t); /* not training */
    heed_set_training(cx, true);
    for (int round = 0; round < 3; round++) { /* step 5, step 5 again, step 6 */
        heed_set_step(cx, round < 2 ? 5 : 6);
        t = heed_want_grad(cx, heed_from_f32(cx, x, 1, &(int64_t){N}));
        heed_tensor *y = heed_dropout(cx, t, p);
        assert_non_null(y);
        int kept = 0, changed = 0;
        for (int i = 0; i < N; i++) {
            const float v = heed_f32(y)[i], scaled = x[i] / (1 - p);
            if (v != 0) assert_true(fabsf(v - scaled) <= 1e-6f * fabsf(scaled));
            kept += v != 0;
            changed += memcmp(&v, &first[i], sizeof v) != 0;
            first[i] = v;
        }
        assert_true(abs(kept - (int)(0.7 * N)) < 400); /* six standard deviations */
        if (round == 1) assert_int_equal(changed, 0);
        if (round == 2) assert_true(changed > N / 4);
        assert_true(heed_backward_from(cx, y, heed_from_f32(cx, dy, 1, &(int64_t){N})));
        const float *dx = heed_f32(heed_grad_of(cx, t));
        assert_non_null(dx);
        for (int i = 0; i < N; i++) {
            const float want = first[i] != 0 ? dy[i] / (1 - p) : 0;
            assert_true(fabsf(dx[i] - want) <= 1e-6f * fabsf(want));
        }
        engine_reset(cx);
    }
    /* two dropouts of one step have different masks; p = 0 changes nothing */
    t = heed_from_f32(cx, x, 1, &(int64_t){N});
    const float *a = heed_f32(heed_dropout(cx, t, 0.5f)), *b = heed_f32(heed_dropout(cx, t, 0.5f));
    const float *same = heed_f32(heed_dropout(cx, t, 0));
    assert_true(a && b && same);
    assert_int_not_equal(memcmp(a, b, sizeof x), 0);
    assert_memory_equal(same, x, sizeof x);
    heed_set_training(cx, false);
    heed_clear(cx);
}

/* ---- registration ---- */

/* Ops that no golden case can reach, and why. */
static const char *const without_golden[] = {"dropout", /* its mask is ours: dropout_is_a_mask */
                                             NULL};

/* Marks the ops that a case ran: those on the tape, and the one of the case's name. */
static void mark_reached(const struct golden_case *c, bool *reached) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    heed_clear(cx);
    if (!golden_leaves(cx, c, in) || !golden_run(cx, c, in, out)) return;
    const struct engine *e = engine_of(cx);
    for (int k = 0; all_ops[k]; k++) {
        reached[k] |= strcmp(all_ops[k]->name, c->op) == 0;
        for (int64_t n = 0; n < e->n_nodes; n++) reached[k] |= e->nodes[n]->call.op == all_ops[k];
    }
}

static void every_op_is_reached(void **state) {
    (void)state;
    if (!golden_is_whole()) {
        print_message("skipped: whether every op has its cases, with HEED_OP\n");
        skip();
    }
    bool reached[512] = {false};
    const struct golden *g = golden_open();
    for (int i = 0; i < g->n; i++) mark_reached(&g->cases[i], reached);
    golden_wrongs(); /* failing cases are the other tests' business */
    for (int k = 0; all_ops[k]; k++) {
        bool excused = false;
        for (int e = 0; without_golden[e]; e++) excused |= strcmp(without_golden[e], all_ops[k]->name) == 0;
        if (!reached[k] && !excused) golden_wrong(all_ops[k]->name, "no golden case reaches this op");
        if (golden_op(all_ops[k]->name) != all_ops[k]) golden_wrong(all_ops[k]->name, "two ops of this name");
    }
    assert_int_equal(golden_wrongs(), 0);
}

/* heed_activate is what linear applies: compared through a weight of 1, with the gradients. */
static void activations_alone(void **state) {
    (void)state;
    static const float xs[] = {-3.5f, -1, -0.25f, 0, 0.5f, 1, 2.75f, 7}, one = 1;
    const int64_t shape[] = {8, 1}, square[] = {1, 1};
    heed_ctx *own = heed_open(NULL);
    for (int act = HEED_ACT_NONE; act <= HEED_ACT_SQRTSOFTPLUS; act++) {
        float y[2][8], dx[2][8];
        for (int k = 0; k < 2; k++) {
            heed_tensor *x = heed_want_grad(own, heed_from_f32(own, xs, 2, shape));
            heed_tensor *z =
                k ? heed_activate(own, x, (heed_activation)act)
                  : heed_linear_act(own, x, heed_from_f32(own, &one, 2, square), NULL, (heed_activation)act);
            assert_true(heed_copy_f32(own, z, y[k], 8));
            heed_tensor *loss = heed_sum(own, heed_mul(own, z, heed_from_f32(own, xs, 2, shape)), NULL, 0, false);
            assert_true(heed_backward(own, loss) && heed_copy_f32(own, heed_grad_of(own, x), dx[k], 8));
            heed_reset(own);
        }
        for (int i = 0; i < 8; i++) {
            assert_float_equal(y[0][i], y[1][i], 1e-6);
            assert_float_equal(dx[0][i], dx[1][i], 1e-5);
        }
    }
    assert_null(heed_activate(own, heed_from_f32(own, xs, 2, shape), (heed_activation)99));
    assert_non_null(strstr(heed_message(own), "activate: there is no activation 99"));
    heed_close(own);
}

/* Every name of an activation is found and has a golden case of linear_act; nothing else is found. */
static void every_activation_is_reached(void **state) {
    (void)state;
    if (!golden_is_whole()) {
        print_message("skipped: whether every op has its cases, with HEED_OP\n");
        skip();
    }
    const struct golden *g = golden_open();
    char name[40];
    int names = 0;
    for (const char *at = heed_activation_names(); *at; names++) {
        const size_t length = strcspn(at, ",");
        assert_true(length > 0 && length < sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length;
        at += strspn(at, ", ");
        if (!heed_activation_find(name, NULL)) golden_wrong(name, "is not found");
        bool reached = false;
        for (int i = 0; i < g->n && !reached; i++)
            reached = strcmp(g->cases[i].op, "linear_act") == 0 &&
                      strcmp(heed_json_text(g->cases[i].attrs.cx, g->cases[i].attrs.at, "act"), name) == 0;
        if (!reached) golden_wrong(name, "no golden case of linear_act has this activation");
    }
    assert_true(names > HEED_ACT_SQRTSOFTPLUS); /* each has one at least, and some have several */
    static const char *const others[] = {"", "gel", "gelu,", "gelu, gelu_python", "Relu", "prelu", NULL};
    for (int i = 0; i == 0 || others[i - 1]; i++)
        if (heed_activation_find(others[i], NULL)) golden_wrong(others[i], "is found, but is no activation");
    heed_activation act = HEED_ACT_RELU;
    assert_true(heed_activation_find("gelu_new", &act) && act == HEED_ACT_GELU_TANH);
    assert_true(heed_activation_find("linear", &act) && act == HEED_ACT_NONE);
    assert_int_equal(golden_wrongs(), 0);
}

/* Does every input that wants a gradient get it without backward? */
static bool passes_all(const struct node *n) {
    for (int i = 0; i < n->call.n_in; i++)
        if (n->call.in[i] && n->call.wants[i] && n->pass[i] < 0) return false;
    return true;
}

/* No gradient is missing by oversight: an op has a backward, passes every gradient on, or says that it has none. */
static void gradients_are_declared(void **state) {
    (void)state;
    for (int k = 0; all_ops[k]; k++) {
        const heed_op *op = all_ops[k];
        if (!op->infer) golden_wrong(op->name, "no infer");
        if ((op->flags & HEED_OP_NONDIFF) && op->backward) golden_wrong(op->name, "a backward that is never called");
    }
    const struct golden *g = golden_open();
    for (int i = 0; i < g->n; i++) {
        struct golden_case c = g->cases[i];
        heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
        heed_clear(cx);
        for (int k = 0; k < c.n_in; k++) /* ask for every gradient, also where the case does not */
            in[k] = c.in[k] ? golden_leaf(cx, c.in[k], c.in[k]->dtype == HEED_F32) : NULL;
        if (!golden_run(cx, &c, in, out)) continue;
        const heed_op *op = golden_op(c.op);
        for (int j = 0; op && (op->flags & HEED_OP_NONDIFF) && j < c.n_out; j++)
            if (heed_wants_grad(out[j])) golden_wrong(c.name, "wants a gradient though its op has none");
        const struct engine *e = engine_of(cx);
        for (int64_t n = 0; n < e->n_nodes; n++)
            if (!e->nodes[n]->call.op->backward && !passes_all(e->nodes[n]))
                golden_wrong(c.name, "op %s has neither backward nor pass", e->nodes[n]->call.op->name);
    }
    assert_int_equal(golden_wrongs(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(gradients),
        cmocka_unit_test(gradients_alone),
        cmocka_unit_test(outputs_alone),
        cmocka_unit_test(parameters),
        cmocka_unit_test(used_twice),
        cmocka_unit_test(same_input_twice),
        cmocka_unit_test(dropout_is_a_mask),
        cmocka_unit_test(every_op_is_reached),
        cmocka_unit_test(activations_alone),
        cmocka_unit_test(every_activation_is_reached),
        cmocka_unit_test(gradients_are_declared),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
