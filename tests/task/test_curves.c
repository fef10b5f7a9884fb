/* Training given the same batches: the losses before each update are PyTorch's. */
#include "heed/train.h"
#include "task/task_test.h"

static heed_model *open_model(heed_ctx *cx, heed_json at) {
    const char *settings[2];
    int n = 0;
    for (EACH(v, heed_json_find(cx, at, "settings"))) {
        assert_true(n < 2);
        settings[n++] = heed_json_text(cx, v, NULL);
    }
    const char *path = golden_path(heed_json_text(cx, at, "model"));
    heed_model *m = heed_model_load_as(
        cx, path, &(heed_load_opts){.task = heed_json_text(cx, at, "task"), .settings = settings, .n_settings = n});
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static void put_batch(heed_ctx *cx, heed_json batch, heed_io *in) {
    for (EACH(t, batch)) {
        int32_t value[64];
        int64_t shape[2], n = 0;
        int rank = 0;
        for (EACH(v, heed_json_find(cx, t, "shape"))) shape[rank++] = heed_json_int(cx, v, NULL);
        for (EACH(v, heed_json_find(cx, t, "values"))) {
            assert_true(n < 64);
            value[n++] = (int32_t)heed_json_int(cx, v, NULL);
        }
        assert_true(heed_io_put(cx, in, heed_json_key(t), heed_from_i32(cx, value, rank, shape)));
    }
}

static void test_curves(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json cases = open_golden(cx, "task/curves.json");
    for (EACH(c, cases)) {
        heed_model *m = open_model(cx, c);
        const bool adafactor = strcmp(heed_json_text(cx, c, "optimizer"), "adafactor") == 0;
        const heed_trainer_opts opts = {
            .optimizer = {.kind = adafactor ? HEED_ADAFACTOR : HEED_ADAMW,
                          .weight_decay = heed_json_number(cx, c, "weight_decay")},
            .schedule = {.lr = heed_json_number(cx, c, "lr")},
            .clip = heed_json_number(cx, c, "clip"),
        };
        heed_trainer *t = heed_trainer_new(cx, heed_model_params(m), &opts);
        heed_json batch = heed_json_first(heed_json_find(cx, c, "batches"));
        int step = 0;
        for (EACH(v, heed_json_find(cx, c, "losses"))) {
            heed_io in = {0}, out = {0};
            const double want = heed_json_number(cx, v, NULL);
            heed_trainer_begin(cx, t);
            put_batch(cx, batch, &in);
            assert_true(heed_model_forward(cx, m, &in, &out));
            heed_tensor *loss = heed_io_get(&out, "loss");
            const double got = (double)heed_item(cx, loss);
            if (!(fabs(got - want) <= 2e-5 * fabs(want)))
                fail_msg("%s: step %d: %.9g, not %.9g", heed_json_text(cx, c, "model"), step, got, want);
            assert_true(heed_backward(cx, loss) && heed_trainer_step(cx, t, NULL));
            batch = heed_json_next(batch);
            step++;
        }
        assert_true(step > 4);
        heed_trainer_free(cx, t);
        heed_model_free(cx, m);
    }
    heed_json_free(cases);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_curves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
