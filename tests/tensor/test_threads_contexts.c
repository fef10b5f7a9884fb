/* Several contexts in several threads, each with threads of its own, reading the same parameters: no races, and the
 * same bits. */
#include "small_step.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORKERS = 4, STEPS = 8, SIDE = 160 };

struct worker {
    pthread_t thread;
    int threads;
    const float *matrix;   /* large enough to be cut into tasks */
    struct small_net *own; /* gradients */
    float loss[STEPS], trace;
    bool ok;
};

static void *train(void *arg) {
    struct worker *w = arg;
    heed_ctx *cx = heed_open(&(heed_config){.threads = w->threads, .seed = 5});
    heed_set_training(cx, true);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < STEP_PARAMS; i++) w->own->slot[i].filled = false;
        heed_tensor *loss = small_step(cx, w->own);
        heed_backward(cx, loss);
        w->loss[step] = heed_item(cx, loss);
        heed_reset(cx);
        heed_tensor *m = heed_borrow(cx, HEED_F32, w->matrix, 2, (int64_t[]){SIDE, SIDE}, NULL);
        m = heed_softmax(cx, heed_gelu(cx, heed_matmul(cx, m, m)), -1);
        w->trace = heed_item(cx, heed_sum(cx, heed_square(cx, m), NULL, 0, false));
        heed_reset(cx);
    }
    w->ok = !heed_failed(cx);
    heed_close(cx);
    return NULL;
}

static void contexts_do_not_disturb_each_other(void **state) {
    (void)state;
    static struct worker worker[WORKERS];
    struct small_net *nets = malloc(sizeof *nets * WORKERS);
    float *matrix = malloc(sizeof(float) * SIDE * SIDE);
    heed_random_normal(2, 2, 0, matrix, SIDE * SIDE);
    for (int i = 0; i < WORKERS; i++) {
        small_net_init(&nets[i]);
        worker[i] = (struct worker){.threads = i % 3 + 1, .own = &nets[i], .matrix = matrix};
        assert_int_equal(pthread_create(&worker[i].thread, NULL, train, &worker[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(worker[i].thread, NULL);
    for (int i = 0; i < WORKERS; i++) {
        assert_true(worker[i].ok);
        assert_memory_equal(worker[i].loss, worker[0].loss, sizeof worker[0].loss);
        assert_memory_equal(&worker[i].trace, &worker[0].trace, sizeof(float));
        for (int p = 0; p < STEP_PARAMS; p++)
            assert_memory_equal(nets[i].grad[p], nets[0].grad[p], sizeof nets[0].grad[p]);
    }
    free(nets);
    free(matrix);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(contexts_do_not_disturb_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
