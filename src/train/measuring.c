/* Evaluations of a run: on which examples, and how long they take. They count in the time that is left, and not in the
 * examples per second of training. */
#include "base/clock.h"
#include "base/profile.h"
#include "train/loop.h"
#include <stdlib.h>

#define CHOICE_SEED                                                                                                    \
    0xD1B54A32D192ED03u         /* which examples are chosen and how data are shuffled have nothing in common          \
                                 */
#define FORWARD_SHARE (1.0 / 3) /* of the work of an update: the backward pass is twice the forward one */

/* ---- which examples ---- */

static int by_number(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

bool loop_choose(struct loop *l) {
    const heed_loop_source *from = &l->source;
    const int64_t n = l->opts.valid_examples;
    if (n == 0) return true;
    if (!from->valid)
        return heed_fail(l->cx, HEED_ERR_USAGE, "train: evaluating on %lld examples needs validation data",
                         (long long)n);
    if (!from->measure_some || from->n_valid < 1)
        return heed_fail(l->cx, HEED_ERR_USAGE, "train: these data cannot be evaluated on some examples alone");
    if (n >= from->n_valid) return true;
    l->some = heed_mem_new(l->cx, (size_t)from->n_valid * sizeof *l->some);
    if (!l->some) return false;
    heed_random_permutation(l->opts.seed ^ CHOICE_SEED, 0, l->some, from->n_valid);
    qsort(l->some, (size_t)n, sizeof *l->some, by_number);
    l->n_some = n;
    return true;
}

int64_t *loop_rows(heed_ctx *cx, const int64_t *rows, const int64_t *some, int64_t n) {
    int64_t *const chosen = heed_mem_new(cx, (size_t)n * sizeof *chosen);
    for (int64_t i = 0; chosen && i < n; i++) chosen[i] = rows ? rows[some[i]] : some[i];
    return chosen;
}

/* ---- measuring ---- */

/* Examples, where the source counts them; one measurement counts as one otherwise. */
static double examples_of(const struct loop *l, enum loop_part what) {
    const int64_t n = what == MEASURE_TEST ? l->source.n_test : what == MEASURE_SOME ? l->n_some : l->source.n_valid;
    return n > 0 ? (double)n : 1;
}

bool loop_measure(struct loop *l, enum loop_part what, heed_score *score) {
    const heed_loop_source *from = &l->source;
    const struct profile_mark mark = profile_begin(l->cx);
    const double began = clock_seconds();
    const bool ok = what == MEASURE_SOME ? from->measure_some(l->cx, from->own, l->model, l->some, l->n_some, score)
                                         : from->measure(l->cx, from->own, l->model, what == MEASURE_TEST, score);
    l->measuring += clock_seconds() - began;
    l->measured += examples_of(l, what);
    profile_end(l->cx, mark, "evaluate", PROFILE_FORWARD);
    return ok;
}

/* ---- how long that takes ---- */

int64_t loop_evaluate_every(const struct loop *l) {
    return l->opts.evaluate_every > 0 ? l->opts.evaluate_every : l->source.per_epoch;
}

/* Evaluations after this step, or at it where that is still to come. */
static int64_t evaluations_left(const struct loop *l) {
    const int64_t every = loop_evaluate_every(l), steps = l->state->steps, done = l->evaluated;
    const int64_t at = l->state->step, from = done < at ? at - 1 : at;
    return l->source.valid && from < steps ? steps / every - from / every + (steps % every != 0) : 0;
}

double loop_measuring_left(const struct loop *l, double update) {
    const heed_loop_source *from = &l->source;
    const double guess =
        from->n_train > 0 ? FORWARD_SHARE * update * (double)from->per_epoch / (double)from->n_train : 0;
    const double each = l->measured > 0 ? l->measuring / l->measured : guess;
    double left = (double)evaluations_left(l) * examples_of(l, l->some ? MEASURE_SOME : MEASURE_VALID);
    if (l->some && !l->state->validated) left += examples_of(l, MEASURE_VALID);
    if (from->test && !l->state->tested) left += examples_of(l, MEASURE_TEST);
    return each * left;
}
