/* Hidden Markov models against the plain formula: sums and maxima over all paths. */
#include "heed/hmm.h"
#include "io/io_test.h"

#include <math.h>

enum { STATES = 3, SYMBOLS = 4, LENGTH = 7, PATHS = 2187 };

static double path_probability(const heed_hmm *h, const int32_t *x, int path, int *states) {
    double p = 1;
    for (int t = 0; t < LENGTH; t++, path /= STATES) {
        states[t] = path % STATES;
        p *= t == 0 ? h->initial[states[0]] : h->transition[states[t - 1] * STATES + states[t]];
        p *= h->emission[states[t] * SYMBOLS + x[t]];
    }
    return p;
}

static void test_formula(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (uint64_t seed = 1; seed <= 20; seed++) {
        heed_hmm *h = heed_hmm_new(cx, STATES, SYMBOLS);
        int32_t x[LENGTH], path[LENGTH];
        int states[LENGTH], best_states[LENGTH];
        double all = 0, best = 0, wanted[LENGTH * STATES] = {0}, posterior[LENGTH * STATES], got;
        double initial[STATES] = {0}, transition[STATES * STATES] = {0}, emission[STATES * SYMBOLS] = {0};
        heed_hmm_draw(h, seed);
        for (int t = 0; t < LENGTH; t++) x[t] = (int32_t)(heed_random_bits(seed, 9, (uint64_t)t) % SYMBOLS);
        for (int k = 0; k < PATHS; k++) {
            const double p = path_probability(h, x, k, states);
            all += p;
            for (int t = 0; t < LENGTH; t++) {
                wanted[t * STATES + states[t]] += p;
                emission[states[t] * SYMBOLS + x[t]] += p;
                if (t > 0) transition[states[t - 1] * STATES + states[t]] += p;
            }
            initial[states[0]] += p;
            if (p > best) best = p, memcpy(best_states, states, sizeof states);
        }
        assert_true(fabs(heed_hmm_forward(cx, h, x, LENGTH, posterior) - log(all)) <= 1e-12);
        for (int k = 0; k < LENGTH * STATES; k++) assert_true(fabs(posterior[k] - wanted[k] / all) <= 1e-12);
        assert_true(heed_hmm_viterbi(cx, h, x, LENGTH, path, &got));
        assert_true(fabs(got - log(best)) <= 1e-12);
        for (int t = 0; t < LENGTH; t++) assert_int_equal(path[t], best_states[t]);
        /* one step of Baum-Welch: the expected counts, normalised */
        assert_true(heed_hmm_baum_welch(cx, h, x, (int64_t[]){0, LENGTH}, 1, &got));
        assert_true(fabs(got - log(all)) <= 1e-12);
        for (int i = 0; i < STATES; i++) {
            double row = 0, emitted = 0;
            for (int j = 0; j < STATES; j++) row += transition[i * STATES + j];
            for (int v = 0; v < SYMBOLS; v++) emitted += emission[i * SYMBOLS + v];
            assert_true(fabs(h->initial[i] - initial[i] / all) <= 1e-12);
            for (int j = 0; j < STATES; j++)
                assert_true(fabs(h->transition[i * STATES + j] - transition[i * STATES + j] / row) <= 1e-12);
            for (int v = 0; v < SYMBOLS; v++)
                assert_true(fabs(h->emission[i * SYMBOLS + v] - emission[i * SYMBOLS + v] / emitted) <= 1e-12);
        }
        heed_hmm_free(cx, h);
    }
    close_context(cx);
}

/* Learning never makes the data less likely, and long sequences do not underflow. */
static void test_learning(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    enum { LONG = 3000 };
    int32_t x[LONG], path[LONG];
    for (int t = 0; t < LONG; t++) x[t] = (t / 5) % 2 * 2 + (int32_t)(heed_random_bits(3, 0, (uint64_t)t) % 2);
    heed_hmm *h = heed_hmm_new(cx, 2, 4);
    heed_hmm_draw(h, 7);
    double before = -HUGE_VAL, now = 0;
    for (int i = 0; i < 60; i++, before = now) {
        assert_true(heed_hmm_baum_welch(cx, h, x, (int64_t[]){0, 1000, LONG}, 2, &now));
        assert_true(isfinite(now) && now >= before - 1e-9 * fabs(now));
    }
    assert_true(heed_hmm_viterbi(cx, h, x, LONG, path, NULL));
    int same = 0;
    for (int t = 0; t < LONG; t++) same += path[t] == (t / 5) % 2;
    assert_true(same > LONG * 9 / 10 || same < LONG / 10); /* the two kinds of runs are found */
    assert_true(isnan(heed_hmm_forward(cx, h, (int32_t[]){9}, 1, NULL)));
    EXPECT_SENTENCE(cx, "hmm: symbol 9 at place 0");
    assert_null(heed_hmm_new(cx, 0, 4));
    EXPECT_SENTENCE(cx, "hmm: 0 states");
    heed_hmm_free(cx, h);
    heed_hmm_free(cx, NULL);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formula), cmocka_unit_test(test_learning)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
