/* Planned = used: a dry context goes through the same forward and backward with the same peak of memory; and a step
 * that has been done before asks the system for nothing. */
#include "tensor/golden.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One step of a case; false when something failed. */
static bool step(heed_ctx *cx, const struct golden_case *c, struct golden_slots *slots) {
    heed_tensor *in[MAX_CASE_IN], *out[MAX_OP_OUT];
    const bool ready = slots ? golden_parameters(cx, c, slots, in) : golden_leaves(cx, c, in);
    return ready && golden_run(cx, c, in, out) && (!golden_has_gradient(c) || golden_back(cx, c, out));
}

/* The peak of a step with its gradients in slots or in leaves. */
static size_t peak(heed_ctx *cx, const struct golden_case *c, struct golden_slots *slots, bool *ok) {
    heed_clear(cx);
    heed_memory_reset_peak(cx);
    *ok = step(cx, c, slots);
    const size_t bytes = heed_memory_use(cx).step_peak;
    heed_reset(cx);
    return bytes;
}

static void planned_is_used(void **state) {
    (void)state;
    const struct golden *g = golden_open();
    heed_ctx *wet = heed_open(&(heed_config){.threads = 2}),
             *dry = heed_open(&(heed_config){.threads = 2, .dry = true});
    size_t all = 0;
    for (int i = 0; i < g->n; i++) {
        const struct golden_case *c = &g->cases[i];
        for (int parameters = 0; parameters < 2; parameters++) {
            struct golden_slots real, made_up = {0}; /* a plan needs no memory for gradients */
            golden_slots_new(c, &real);
            bool wet_ok, dry_ok;
            const size_t used = peak(wet, c, parameters ? &real : NULL, &wet_ok);
            const size_t planned = peak(dry, c, parameters ? &made_up : NULL, &dry_ok);
            if (wet_ok && dry_ok && used != planned)
                golden_wrong(c->name, "%zu bytes planned, %zu used%s", planned, used,
                             parameters ? " (parameters)" : "");
            all += used;
            for (int k = 0; k < MAX_CASE_IN; k++)
                if (made_up.slot[k].filled || made_up.slot[k].claimed)
                    golden_wrong(c->name, "a plan left gradient %d filled or claimed", k);
            golden_slots_free(&real);
        }
    }
    heed_close(wet);
    heed_close(dry);
    assert_true(all > (size_t)g->n); /* something was counted */
    assert_int_equal(golden_wrongs(), 0);
}

static void a_warm_step_takes_nothing(void **state) {
    (void)state;
    const struct golden *g = golden_open();
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    for (int i = 0; i < g->n; i++) {
        const struct golden_case *c = &g->cases[i];
        bool ok;
        peak(cx, c, NULL, &ok);
        if (ok) peak(cx, c, NULL, &ok);
        const int64_t calls = heed_memory_use(cx).system_calls;
        if (ok) peak(cx, c, NULL, &ok);
        if (ok && heed_memory_use(cx).system_calls != calls)
            golden_wrong(c->name, "asked the system for memory %lld times in its third step",
                         (long long)(heed_memory_use(cx).system_calls - calls));
    }
    heed_close(cx);
    assert_int_equal(golden_wrongs(), 0);
}

static int close_golden(void **state) {
    (void)state;
    golden_close();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(planned_is_used), cmocka_unit_test(a_warm_step_takes_nothing)};
    return cmocka_run_group_tests(tests, NULL, close_golden);
}
