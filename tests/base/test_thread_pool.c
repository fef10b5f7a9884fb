/* The thread pool: every task once, whatever the number of threads; several pools at once; asleep and awake. */
#include "base/thread_pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define TASKS 1000

struct sums {
    int64_t squares[TASKS];
    _Atomic int visits;
};

/* Uses all of its scratch's ends and leaves a plain write per task, for TSan to judge. */
static void square(void *arg, int64_t task, void *scratch) {
    struct sums *const s = arg;
    unsigned char *const bytes = scratch;
    bytes[0] = bytes[HEED_SCRATCH - 1] = (unsigned char)task;
    s->squares[task] += task * task + (bytes[0] != bytes[HEED_SCRATCH - 1]) + (int64_t)((uintptr_t)scratch % 64);
    atomic_fetch_add_explicit(&s->visits, 1, memory_order_relaxed);
}

/* Returns the number of mistakes; used from several threads, where cmocka's asserts may not be. */
static int mistakes_in_jobs(heed_ctx *cx, int jobs) {
    static const int64_t counts[] = {0, 1, 2, 3, 7, 100, TASKS};
    int mistakes = 0;
    for (int job = 0; job < jobs; job++) {
        struct sums s = {0};
        const int64_t tasks = counts[job % 7];
        heed_parallel(cx, tasks, square, &s);
        mistakes += s.visits != tasks;
        for (int64_t i = 0; i < TASKS; i++) mistakes += s.squares[i] != (i < tasks ? i * i : 0);
    }
    return mistakes + heed_failed(cx);
}

static void test_every_task_once(void **state) {
    (void)state;
    const int threads[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = threads[i]});
        assert_int_equal(heed_threads(cx), threads[i]);
        assert_int_equal(mistakes_in_jobs(cx, 700), 0);
        heed_close(cx);
    }
}

static void test_after_sleep(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 4});
    for (int i = 0; i < 20; i++) {
        usleep(i % 2 ? 2000 : 60); /* asleep for sure, or just falling asleep */
        assert_int_equal(mistakes_in_jobs(cx, 7), 0);
    }
    heed_close(cx);
    for (int i = 0; i < 50; i++) heed_close(heed_open(&(heed_config){.threads = 3})); /* closed before it is awake */
}

static void *own_context(void *arg) {
    int *const mistakes = arg;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 3});
    *mistakes = mistakes_in_jobs(cx, 350);
    heed_close(cx);
    return NULL;
}

static void test_contexts_in_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    int mistakes[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, own_context, &mistakes[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(mistakes[i], 0);
    }
}

/* Tasks that wait for one another: only if really two threads work at once do both get through. */
struct meeting {
    _Atomic int here;
    _Atomic int met;
};
static void meet(void *arg, int64_t task, void *scratch) {
    (void)task;
    (void)scratch;
    struct meeting *const m = arg;
    atomic_fetch_add(&m->here, 1);
    for (int i = 0; i < 20000 && atomic_load(&m->here) < 2; i++) usleep(100);
    if (atomic_load(&m->here) >= 2) atomic_fetch_add(&m->met, 1);
}

static void test_threads_work_at_once(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    for (int i = 0; i < 5; i++) {
        struct meeting m = {0};
        usleep((unsigned)i * 500);
        heed_parallel(cx, 2, meet, &m);
        assert_int_equal(m.met, 2);
    }
    heed_close(cx);
}

static void test_no_pool(void **state) {
    (void)state;
    struct sums s = {0};
    pool_run(NULL, 10, square, &s);
    pool_run(NULL, 0, square, &s);
    pool_run(NULL, -3, square, &s);
    assert_int_equal(s.visits, 10);
    assert_int_equal(pool_threads(NULL), 1);
    pool_close(NULL, NULL);
}

static void test_bad_calls(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    struct sums s = {0};
    heed_parallel(cx, -1, square, &s);
    assert_int_equal(heed_error(cx), HEED_ERR_USAGE);
    heed_parallel(cx, 5, square, &s); /* a failed context does nothing */
    heed_clear(cx);
    heed_parallel(cx, 5, NULL, &s);
    assert_int_equal(heed_error(cx), HEED_ERR_USAGE);
    assert_int_equal(s.visits, 0);
    heed_close(cx);
    cx = heed_open(&(heed_config){.threads = 2, .dry = true});
    heed_parallel(cx, 5, square, &s);
    assert_int_equal(s.visits, 0);
    heed_close(cx);
}

static void hear_log(void *user, heed_log_level level, const char *sentence) {
    *(bool *)user = level == HEED_LOG_WARN && strstr(sentence, "threads") != NULL;
}

/* The system gives no more threads: a warning, and the work is done by those there are. */
static void test_fewer_threads(void **state) {
    (void)state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    bool warned = false;
    heed_ctx *probe = heed_open(&(heed_config){.threads = 1});
    /* Room for the scratch of 64 threads, not for their stacks. Sanitizers own the address space: nothing to see then.
     */
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%zu", &pages) != 1) pages = 0;
    if (f) fclose(f);
    const size_t used = pages * (size_t)sysconf(_SC_PAGESIZE);
    heed_close(probe);
    if (used == 0 || used > (size_t)1 << 40) {
        print_message("skipped: the address space is a sanitizer's, or its size not known\n");
        skip();
    }
    none.rlim_cur = used + ((size_t)200 << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    heed_ctx *cx = heed_open(&(heed_config){.threads = 64, .log = hear_log, .user = &warned});
    setrlimit(RLIMIT_AS, &before);
    assert_non_null(cx);
    assert_false(heed_failed(cx));
    assert_in_range(heed_threads(cx), 1, 63);
    assert_true(warned);
    assert_int_equal(mistakes_in_jobs(cx, 70), 0);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_task_once),
        cmocka_unit_test(test_after_sleep),
        cmocka_unit_test(test_contexts_in_threads),
        cmocka_unit_test(test_threads_work_at_once),
        cmocka_unit_test(test_no_pool),
        cmocka_unit_test(test_bad_calls),
        cmocka_unit_test(test_fewer_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
