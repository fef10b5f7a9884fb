/* Text to text: loss curves of transformers' T5 on the same batches; spans that are whole, drawn anew and of the
 * lengths that were promised. */
#include "heed/train.h"
#include "task/task_test.h"

/* ---- loss curves ---- */

static heed_tensor *ints(heed_ctx *cx, heed_json step, const char *name, int64_t rows, int64_t n) {
    int32_t value[256];
    int64_t at = 0;
    const heed_json list = heed_json_array(cx, step, name);
    for (EACH(v, list)) value[at++] = (int32_t)heed_json_int(cx, v, NULL);
    assert_int_equal(at, rows * n);
    return heed_from_i32(cx, value, 2, (int64_t[]){rows, n});
}

static void follow(heed_ctx *cx, heed_json curve) {
    char dir[1024];
    const char *root = getenv("HEED_GOLDEN");
    snprintf(dir, sizeof dir, "%s/model/%s", root ? root : HEED_SOURCE_DIR "/tests/golden",
             heed_json_text(cx, curve, "model"));
    const char *const still[] = {"dropout_rate=0"};
    heed_model *m = heed_model_load_as(cx, dir, &(heed_load_opts){.settings = still, .n_settings = 1});
    if (!m) fail_msg("%s", heed_message(cx));
    heed_trainer *t = heed_trainer_new(cx, heed_model_params(m),
                                       &(heed_trainer_opts){.optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.1},
                                                            .schedule = {.lr = 0.01},
                                                            .clip = 1});
    const int64_t rows = heed_json_int(cx, curve, "rows"), source = heed_json_int(cx, curve, "source"),
                  target = heed_json_int(cx, curve, "target");
    const heed_json steps = heed_json_array(cx, curve, "steps");
    int n = 0;
    for (EACH(step, steps)) {
        heed_io in = {.loss_only = true}, out;
        heed_trainer_begin(cx, t);
        heed_io_put(cx, &in, "input_ids", ints(cx, step, "input_ids", rows, source));
        heed_io_put(cx, &in, "attention_mask", ints(cx, step, "attention_mask", rows, source));
        heed_io_put(cx, &in, "labels", ints(cx, step, "labels", rows, target));
        assert_true(heed_model_forward(cx, m, &in, &out));
        heed_tensor *loss = heed_io_get(&out, "loss");
        assert_true(heed_backward(cx, loss));
        const double found = (double)heed_item(cx, loss), wanted = heed_json_number(cx, step, "loss");
        if (!(fabs(found - wanted) <= 2e-4 * fabs(wanted))) fail_msg("%s: step %d: %g, not %g", dir, n, found, wanted);
        assert_true(heed_trainer_step(cx, t, NULL));
        heed_reset(cx);
        n++;
    }
    assert_int_equal(n, 8);
    heed_trainer_free(cx, t);
    heed_model_free(cx, m);
}

static void test_curves(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    const heed_json curves = open_golden(cx, "task/text2text.json");
    for (EACH(curve, curves)) follow(cx, curve);
    heed_json_free(curves);
    assert_false(heed_failed(cx));
    heed_close(cx);
}

/* ---- spans ---- */

enum { LONGEST = 300, SENTINELS = 20, FIRST = 10000, END = 9999 };

/* Input and target together are the tokens again, and the sentinels come in their order. */
static void check_spans(const heed_spans *how, int64_t n, uint64_t seed, uint64_t stream) {
    int32_t ids[LONGEST], input[2 * LONGEST + 2], target[2 * LONGEST + 2];
    int64_t inputs, targets, k = 0, at = 0, t = 0;
    for (int64_t i = 0; i < n; i++) ids[i] = (int32_t)i;
    heed_span_lengths(how, n, &inputs, &targets);
    input[inputs] = target[targets] = -7;
    heed_span_corrupt(how, ids, n, seed, stream, input, target);
    assert_true(input[inputs] == -7 && target[targets] == -7);
    assert_true(input[inputs - 1] == END && target[targets - 1] == END);
    assert_true(input[0] == 0); /* what stays comes first */
    for (int64_t i = 0; i < inputs - 1; i++) {
        if (input[i] < FIRST) {
            assert_int_equal(input[i], ids[at++]);
            continue;
        }
        assert_int_equal(input[i], FIRST + k);
        assert_int_equal(target[t++], FIRST + k++);
        assert_true(target[t] < FIRST && target[t] != END);
        while (target[t] < FIRST && target[t] != END) assert_int_equal(target[t++], ids[at++]);
    }
    assert_true(at == n && t == targets - 1 && inputs + targets == n + 2 * k + 2);
}

static void test_spans(void **state) {
    (void)state;
    int32_t sentinels[SENTINELS];
    for (int i = 0; i < SENTINELS; i++) sentinels[i] = FIRST + i;
    const double shares[] = {0, 0.01, 0.15, 0.5, 0.9}, means[] = {0, 1, 3, 50};
    for (int s = 0; s < 5; s++)
        for (int m = 0; m < 4; m++) {
            const heed_spans how = {shares[s], means[m], sentinels, SENTINELS, END};
            for (int64_t n = 2; n <= LONGEST; n += n < 40 ? 1 : 37)
                for (uint64_t stream = 0; stream < 5; stream++) check_spans(&how, n, 3, stream);
        }
    /* 15 % of 100 tokens in 5 spans; every token but the first and the last ones goes about equally often */
    const heed_spans how = {0, 0, sentinels, SENTINELS, END};
    int32_t ids[100], input[101], target[101], first[101];
    int gone[100] = {0};
    int64_t inputs, targets;
    for (int i = 0; i < 100; i++) ids[i] = i;
    heed_span_lengths(&how, 100, &inputs, &targets);
    assert_true(inputs == 85 + 5 + 1 && targets == 15 + 5 + 1);
    for (uint64_t draw = 0; draw < 4000; draw++) {
        heed_span_corrupt(&how, ids, 100, 1, draw, input, target);
        for (int64_t i = 0; i < targets; i++)
            if (target[i] < 100) gone[target[i]]++;
    }
    for (int i = 30; i < 70; i++) assert_true(gone[i] > 400 && gone[i] < 800);
    heed_span_corrupt(&how, ids, 100, 1, 7, first, target);
    heed_span_corrupt(&how, ids, 100, 1, 7, input, target);
    assert_memory_equal(input, first, (size_t)inputs * sizeof *input);
    heed_span_corrupt(&how, ids, 100, 1, 8, input, target);
    assert_true(memcmp(input, first, (size_t)inputs * sizeof *input) != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_curves), cmocka_unit_test(test_spans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
