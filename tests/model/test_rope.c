/* Rotary positions of configs against transformers': tests/golden/model/rope.json, which tests/oracle/rope.py writes.
 */
#include "io/io_test.h"
#include "model/parts/rope.h"
#include <math.h>

static const struct rope_keys keys = {.theta = "rope_theta", .part = 1};

static heed_json open_cases(heed_ctx *cx) {
    char path[600];
    snprintf(path, sizeof path, "%s/model/rope.json", getenv("HEED_GOLDEN"));
    const heed_json all = heed_json_open(cx, path);
    if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
    return all;
}

static void close_to(double got, double want, const char *what, int number) {
    if (!(fabs(got - want) <= 3e-7 * fabs(want))) fail_msg("case %d: %s is %.9g, not %.9g", number, what, got, want);
}

/* Cosines and sines of a position by the speeds of the file. */
static void check_angles(heed_ctx *cx, const heed_tensor *angles, heed_json speeds, double attention, int64_t position,
                         int number) {
    heed_json at = heed_json_first(speeds);
    const int64_t pairs = heed_dim(angles, -1) / 2;
    for (int64_t i = 0; i < pairs; i++, at = heed_json_next(at)) {
        const double angle = (double)((float)position * (float)heed_json_number(cx, at, NULL));
        const double got[] = {(double)heed_f32(angles)[i], (double)heed_f32(angles)[pairs + i]},
                     want[] = {attention * cos(angle), attention * sin(angle)};
        for (int k = 0; k < 2; k++)
            if (!(fabs(got[k] - want[k]) <= 1e-6))
                fail_msg("case %d: position %d, pair %d: %g, not %g", number, (int)position, (int)i, got[k], want[k]);
    }
}

static void test_golden(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const heed_json all = open_cases(cx);
    int number = 0;
    for (heed_json c = heed_json_first(all); heed_json_kind_of(c) != HEED_JSON_NONE; c = heed_json_next(c), number++) {
        heed_params *set = heed_params_new(cx);
        struct rope rope;
        const heed_json speeds = heed_json_array(cx, c, "speeds");
        const int64_t length = heed_json_int(cx, c, "length"), size = heed_json_int(cx, c, "size");
        const double attention = heed_json_number(cx, c, "attention");
        if (!rope_read(cx, heed_json_object(cx, c, "config"), set, &keys, size, &rope))
            fail_msg("case %d: %s", number, heed_message(cx));
        assert_int_equal(rope.pairs, heed_json_count(speeds));
        close_to((double)rope.attention, attention, "the factor of attention", number);
        heed_json at = heed_json_first(speeds);
        for (int64_t i = 0; !rope_grows(&rope) && i < rope.pairs; i++, at = heed_json_next(at))
            close_to((double)rope.speeds[i], heed_json_number(cx, at, NULL), "a speed", number);
        heed_scope_begin(cx);
        check_angles(cx, rope_angles(cx, &rope, length - 1, 1, NULL, length), speeds, attention, length - 1, number);
        heed_scope_end(cx, NULL);
        heed_params_free(cx, set);
    }
    assert_false(heed_failed(cx));
    assert_true(number >= 70);
    heed_json_free(all);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
