/* The N-th request for memory refused, for every N, over a training step: a clean error each time, no leak, and a
 * context that works again after heed_clear. */
#include "base/counting.h"
#include "small_step.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static bool step(heed_ctx *cx, struct small_net *net, float *loss) {
    heed_set_training(cx, true);
    heed_tensor *t = small_step(cx, net);
    if (!heed_backward(cx, t)) return false;
    *loss = heed_item(cx, t);
    heed_reset(cx);
    return true;
}

static void every_request_may_fail(void **state) {
    (void)state;
    struct small_net *net = malloc(sizeof *net);
    struct counting books = {0};
    float want = NAN, loss = NAN;
    small_net_init(net);
    heed_config config = {.threads = 2, .alloc = counting_alloc, .user = &books};
    heed_ctx *cx = heed_open(&config);
    assert_true(step(cx, net, &want));
    heed_close(cx);
    const int64_t requests = books.requests;
    assert_true(requests > 5);
    int failures = 0;
    for (int64_t n = 1; n <= requests; n++) {
        books = (struct counting){.fail_at = n};
        small_net_init(net);
        cx = heed_open(&config);
        if (cx && !step(cx, net, &loss)) {
            failures++;
            assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
            assert_true(heed_message(cx)[0] != 0);
            heed_clear(cx);
            small_net_init(net);
            heed_set_step(cx, 0);
            if (!step(cx, net, &loss)) fail_msg("request %d: after clear: %s", (int)n, heed_message(cx));
            assert_true(memcmp(&loss, &want, sizeof loss) == 0);
        }
        heed_close(cx);
        assert_int_equal(books.blocks, 0);
        assert_int_equal(books.live, 0);
        assert_int_equal(books.mistakes, 0);
    }
    assert_true(failures > 3);
    free(net);
}

/* Every budget from nothing to enough: a sentence or success, never anything else. */
static void every_budget(void **state) {
    (void)state;
    struct small_net *net = malloc(sizeof *net);
    float loss;
    small_net_init(net);
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    assert_true(step(cx, net, &loss));
    const size_t peak = heed_memory_use(cx).held_peak;
    heed_close(cx);
    int refused = 0;
    for (size_t budget = peak / 64; budget <= peak; budget += peak / 64) {
        small_net_init(net);
        cx = heed_open(&(heed_config){.threads = 1, .byte_budget = budget});
        if (!cx) continue;
        if (!step(cx, net, &loss)) {
            refused++;
            assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
        }
        assert_true(heed_memory_use(cx).held_peak <= budget);
        heed_close(cx);
    }
    assert_true(refused > 3);
    free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_request_may_fail), cmocka_unit_test(every_budget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
