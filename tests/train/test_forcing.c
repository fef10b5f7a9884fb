/* Teacher forcing and scheduled sampling: the probabilities of Bengio et al. 2015, draws that depend on their place
 * alone, and free running as one would write it by hand. tests/model/test_golden.c compares the gradients with
 * PyTorch's (tests/golden/model/NAME-free and NAME-sampled). */
#include "heed/generate.h"
#include "io/io_test.h"
#include "train/forcing.h"
#include <math.h>

static void near(double got, double want) {
    if (!(fabs(got - want) <= 1e-12 + 1e-9 * fabs(want))) fail_msg("%.12g, not %.12g", got, want);
}

static void test_schedules(void **state) {
    (void)state;
    const heed_forcing always = {.probability = 0.75}, linear = {HEED_FORCING_LINEAR, 0.25, 0.125},
                       exponential = {HEED_FORCING_EXPONENTIAL, 0, 0.5},
                       sigmoid = {HEED_FORCING_INVERSE_SIGMOID, 0.1, 5};
    near(heed_forcing_at(&always, 0), 0.75);
    near(heed_forcing_at(&always, 1000), 0.75);
    near(heed_forcing_at(&linear, 0), 1);
    near(heed_forcing_at(&linear, 4), 0.5);
    near(heed_forcing_at(&linear, 100), 0.25);
    near(heed_forcing_at(&exponential, 3), 0.125);
    near(heed_forcing_at(&sigmoid, 10), 5 / (5 + exp(2)));
    near(heed_forcing_at(&sigmoid, 10000), 0.1);
    near(heed_forcing_decay(HEED_FORCING_LINEAR, 200), 0.005);
    for (int64_t steps = 1; steps < 100000; steps = 3 * steps + 1) {
        const heed_forcing e = {HEED_FORCING_EXPONENTIAL, 0, heed_forcing_decay(HEED_FORCING_EXPONENTIAL, steps)},
                           s = {HEED_FORCING_INVERSE_SIGMOID, 0,
                                heed_forcing_decay(HEED_FORCING_INVERSE_SIGMOID, steps)};
        near(heed_forcing_at(&e, steps), 0.01);
        if (steps % 2 == 0) near(heed_forcing_at(&s, steps / 2), 0.5);
    }
}

static void test_draws(void **state) {
    (void)state;
    const heed_forcing half = {.probability = 0.3}, all = {.probability = 1}, none = {.probability = 0};
    int given = 0, moved = 0;
    for (int64_t i = 0; i < 10000; i++) {
        const int64_t row = i / 100, place = i % 100;
        given += forcing_given(&half, 7, 5, row, place);
        moved += forcing_given(&half, 7, 5, row, place) != forcing_given(&half, 7, 6, row, place);
        assert_true(forcing_given(&all, 7, 5, row, place) && !forcing_given(&none, 7, 5, row, place));
    }
    assert_in_range(given, 2850, 3150);
    assert_in_range(moved, 3900, 4500); /* 2 0.3 0.7 */
}

/* ---- free running by hand ---- */

static heed_model *open_model(heed_ctx *cx, const char *name) {
    char path[800];
    snprintf(path, sizeof path, "%s/model/%s", getenv("HEED_GOLDEN"), name);
    heed_model *m = heed_model_load(cx, path);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static double loss_of(heed_ctx *cx, const heed_model *m, const heed_io *in) {
    heed_io out;
    if (!heed_model_forward(cx, m, in, &out)) fail_msg("%s", heed_message(cx));
    const double loss = (double)heed_item(cx, heed_io_get(&out, "loss"));
    heed_reset(cx);
    return loss;
}

static int32_t best_of(const float *x, int64_t n, int32_t label, double *loss) {
    int32_t best = 0;
    double sum = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    for (int32_t i = 0; i < n; i++) sum += exp((double)x[i] - (double)x[best]);
    *loss += log(sum) + (double)x[best] - (double)x[label];
    return best;
}

enum { T = 8 };

/* One sequence: what is read next is what was predicted. source NULL: of a language model. */
static double by_hand(heed_ctx *cx, const heed_model *m, const heed_ids *source, int32_t first, const int32_t *labels) {
    heed_session *s = heed_session_open(cx, m, source, 1);
    int32_t token = first;
    double loss = 0;
    for (int t = 0; t < T; t++) {
        assert_true(heed_session_append(cx, s, &(heed_ids){.id = &token, .count = 1}));
        token = best_of(heed_session_logits(s, 0), heed_session_vocabulary(s), labels[t], &loss);
    }
    heed_session_close(cx, s);
    return loss / T;
}

static void test_free_running(void **state) {
    (void)state;
    static const char *const names[] = {"rnn-lm",    "gru-lm",   "lstm-lm",       "lstm-lm-state", "sutskever",
                                        "cho-plain", "bahdanau", "luong-general", "luong-concat"};
    int32_t tokens[T + 1] = {3, 5, 2, 7, 4, 9, 8, 2, 6}, source[] = {2, 9, 4, 3, 8}, given[T] = {0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_model *m = open_model(cx, names[i]);
        const bool lm = i < 4;
        const int32_t first = lm ? tokens[0] : 1; /* decoder_start_token_id */
        const double want = by_hand(cx, m, lm ? NULL : &(heed_ids){.id = source, .count = 5}, first, tokens + 1);
        double losses[3];
        for (int kind = 0; kind < 3; kind++) { /* free running; all is given; nothing is said */
            heed_io in = {0};
            heed_set_grad(cx, false);
            heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, lm ? tokens : source, 2, (int64_t[]){1, lm ? T : 5}));
            heed_io_put(cx, &in, lm ? "shift_labels" : "labels", heed_from_i32(cx, tokens + 1, 2, (int64_t[]){1, T}));
            for (int t = 0; t < T; t++) given[t] = kind;
            if (kind < 2) heed_io_put(cx, &in, "teacher_forcing", heed_from_i32(cx, given, 2, (int64_t[]){1, T}));
            losses[kind] = loss_of(cx, m, &in);
        }
        if (!(fabs(losses[0] - want) <= 2e-6 * fabs(want))) fail_msg("%s: %.9g, not %.9g", names[i], losses[0], want);
        assert_true(losses[1] == losses[2]); /* the same bits */
        heed_model_free(cx, m);
    }
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_schedules), cmocka_unit_test(test_draws),
                                       cmocka_unit_test(test_free_running)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
