/* Evaluations of a run: which examples they take, what is measured at the end, and what they count in the times. */
#include "train/train_test.h"
#include <time.h>

enum { SOME = 17, STEPS = 24 };

/* A data set's source that notes what it is asked to measure, and takes its time. */
struct watched {
    heed_loop_source from, loop;
    int64_t some[SOME], n; /* of the first evaluation */
    int evaluations, wholes, tests;
    double seconds; /* of each measurement */
};

static void pause_for(double seconds) { nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL); }

static int64_t seen(const void *own, int64_t step) {
    const struct watched *w = own;
    return w->from.seen(w->from.own, step);
}
static bool seek(heed_ctx *cx, void *own, int64_t step) {
    struct watched *w = own;
    return w->from.seek(cx, w->from.own, step);
}
static int64_t next(heed_ctx *cx, void *own) {
    struct watched *w = own;
    return w->from.next(cx, w->from.own);
}
static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    struct watched *w = own;
    return w->from.feed(cx, w->from.own, pass, in, share);
}
static void settings(heed_ctx *cx, void *own, heed_json at) {
    struct watched *w = own;
    w->from.settings(cx, w->from.own, at);
}
static void close_source(heed_ctx *cx, void *own) {
    struct watched *w = own;
    w->from.close(cx, w->from.own);
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    struct watched *w = own;
    *(test ? &w->tests : &w->wholes) += 1;
    pause_for(w->seconds);
    return w->from.measure(cx, w->from.own, model, test, score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score) {
    struct watched *w = own;
    assert_in_range(n, 1, SOME);
    if (w->evaluations++ == 0) memcpy(w->some, some, (size_t)(w->n = n) * sizeof *some);
    assert_int_equal(w->n, n);
    assert_memory_equal(w->some, some, (size_t)n * sizeof *some); /* the same ones each time */
    pause_for(w->seconds);
    return w->from.measure_some(cx, w->from.own, model, some, n, score);
}

struct scene {
    heed_ctx *cx;
    struct points train, valid;
    heed_data data, other;
    heed_examples *examples;
    struct watched watched;
    heed_model *model;
    heed_loop_opts opts;
};

static void set_scene(struct scene *s, bool test) {
    *s = (struct scene){.cx = heed_open(&(heed_config){.threads = 1})};
    draw_points(&s->train, 1);
    draw_points(&s->valid, 2);
    s->data = classes_of(&s->train);
    s->other = classes_of(&s->valid);
    s->examples = heed_examples_new(
        s->cx, &(heed_examples_opts){
                   .train = &s->data, .valid = &s->other, .test = test ? &s->other : NULL, .batch = 25, .seed = 5});
    struct watched *w = &s->watched;
    w->from = w->loop = *heed_examples_source(s->examples);
    w->loop.own = w;
    w->loop.seen = seen;
    w->loop.seek = seek;
    w->loop.next = next;
    w->loop.feed = feed;
    w->loop.measure = measure;
    w->loop.measure_some = measure_some;
    w->loop.settings = settings;
    w->loop.close = close_source;
    s->model = new_model(s->cx, &s->data, NULL);
    s->opts = (heed_loop_opts){.dir = in_folder("run"),
                               .trainer = {.schedule = {.lr = 0.05}},
                               .steps = STEPS,
                               .seed = 5,
                               .source = &w->loop,
                               .evaluate_every = 6,
                               .valid_examples = SOME};
}

static void leave(struct scene *s) {
    heed_model_free(s->cx, s->model);
    heed_examples_free(s->cx, s->examples);
    heed_close(s->cx);
}

static void test_some(void **state) {
    (void)state;
    struct scene s;
    heed_loop_state end;
    heed_score all, some;
    set_scene(&s, true);
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, &end), HEED_LOOP_DONE);
    const struct watched *w = &s.watched;
    assert_true(w->n == SOME && w->evaluations == 4 && w->wholes == 1 && w->tests == 1);
    for (int i = 0; i < SOME; i++) assert_in_range(w->some[i], i > 0 ? w->some[i - 1] + 1 : 0, EXAMPLES - 1);
    assert_true(w->some[SOME - 1] >= SOME); /* not just the first ones */
    /* the model is the one that was kept: of all examples `whole`, of some the best of the evaluations */
    assert_true(heed_loop_evaluate(s.cx, s.model, &s.other, NULL, 0, 256, &all));
    assert_true(heed_loop_evaluate(s.cx, s.model, &s.other, w->some, SOME, 256, &some));
    assert_true(end.validated && end.whole.loss == all.loss && end.whole.metric == all.metric);
    assert_true(end.best.loss == some.loss && end.best.metric == some.metric);
    assert_true(end.best.loss != end.whole.loss);
    assert_int_equal(access(file_in(s.opts.dir, "checkpoint.safetensors"), F_OK), 0);

    /* a run that had ended is measured again; with nothing left to do its checkpoint may go */
    s.opts.resume = s.opts.drop_checkpoint = true;
    heed_loop_state again;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, &again), HEED_LOOP_DONE);
    assert_true(again.validated && again.whole.loss == all.loss && w->wholes == 2 && w->evaluations == 4);
    assert_int_not_equal(access(file_in(s.opts.dir, "checkpoint.safetensors"), F_OK), 0);
    assert_int_equal(access(file_in(s.opts.dir, "model.safetensors"), F_OK), 0);
    remove_model(s.opts.dir);
    leave(&s);
}

static bool stop_at_seven(void *user, const heed_loop_state *state) {
    (void)user;
    return state->step < 7;
}

/* A run that is stopped keeps what it can go on from. */
static void test_stopped(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, false);
    s.opts.drop_checkpoint = true;
    s.opts.report = stop_at_seven;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, NULL), HEED_LOOP_STOPPED);
    assert_int_equal(access(file_in(s.opts.dir, "checkpoint.safetensors"), F_OK), 0);
    s.opts.report = NULL;
    s.opts.resume = true;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, NULL), HEED_LOOP_DONE);
    assert_int_not_equal(access(file_in(s.opts.dir, "checkpoint.safetensors"), F_OK), 0);
    assert_int_equal(s.watched.evaluations, 4);
    remove_model(s.opts.dir);
    leave(&s);
}

/* What is left is at least the pauses of the measurements to come; none of them counts in examples per second. */
static bool check_times(void *user, const heed_loop_state *at) {
    const struct watched *w = user;
    const int left = w->loop.test - w->tests + w->loop.valid - w->wholes + 4 - w->evaluations;
    const double paused = w->seconds * (w->evaluations + w->wholes + w->tests);
    if (w->evaluations > 0) assert_true(at->seconds_left >= 0.9 * w->seconds * left);
    if (w->evaluations == 0) assert_true(at->seconds_left > 0);
    assert_true(at->seen_per_second * (at->seconds - paused) > 0.999 * (double)at->seen);
    return true;
}

static void test_times(void **state) {
    (void)state;
    struct scene s;
    heed_loop_state end;
    set_scene(&s, true);
    s.watched.seconds = 0.03;
    s.opts.report = check_times;
    s.opts.user = &s.watched;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, &end), HEED_LOOP_DONE);
    assert_true(end.seconds_left == 0);
    remove_model(s.opts.dir);
    leave(&s);
}

static void test_refused(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, false);
    s.watched.loop.measure_some = NULL;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, NULL), HEED_LOOP_FAILED);
    assert_non_null(strstr(heed_message(s.cx), "cannot be evaluated on some examples"));
    heed_clear(s.cx);
    s.watched.loop.valid = false;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, NULL), HEED_LOOP_FAILED);
    assert_non_null(strstr(heed_message(s.cx), "needs validation data"));
    heed_clear(s.cx);
    s.opts.valid_examples = -1;
    assert_int_equal(heed_loop_run(s.cx, s.model, &s.opts, NULL), HEED_LOOP_FAILED);
    leave(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_some), cmocka_unit_test(test_stopped),
                                       cmocka_unit_test(test_times), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
