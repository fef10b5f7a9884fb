/* Class weights: torch's loss and gradient, scikit-learn's balance. */
#include "task/task.h"
#include "task/task_test.h"

static int64_t numbers(heed_ctx *cx, heed_json list, float *out) {
    int64_t n = 0;
    for (EACH(v, list)) out[n++] = (float)heed_json_number(cx, v, NULL);
    return n;
}

static void test_losses(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "task/weights.json");
    for (EACH(c, heed_json_find(cx, doc, "losses"))) {
        float x[64], given[64], weight[8], want[64];
        int32_t label[64];
        int64_t shape[4];
        int rank = 0;
        for (EACH(v, heed_json_find(cx, c, "shape"))) shape[rank++] = heed_json_int(cx, v, NULL);
        numbers(cx, heed_json_find(cx, c, "logits"), x);
        const int64_t n = numbers(cx, heed_json_find(cx, c, "labels"), given);
        for (int64_t i = 0; i < n; i++) label[i] = (int32_t)given[i];
        const int64_t classes = numbers(cx, heed_json_find(cx, c, "weights"), weight),
                      all = numbers(cx, heed_json_find(cx, c, "gradient"), want);
        heed_grad grad = {.data = given};
        heed_set_training(cx, true);
        heed_tensor *logits = heed_borrow(cx, HEED_F32, x, rank, shape, &grad);
        heed_tensor *loss = task_weighted_loss(cx, logits, heed_from_i32(cx, label, rank - 1, shape), weight, classes);
        assert_non_null(loss);
        assert_true(fabs((double)heed_item(cx, loss) / heed_json_number(cx, c, "loss") - 1) < 1e-5);
        assert_true(heed_backward(cx, loss));
        for (int64_t i = 0; i < all; i++)
            if (!(fabsf(given[i] - want[i]) <= 1e-6f)) fail_msg("gradient %d differs", (int)i);
        heed_reset(cx);
    }
    heed_json_free(doc);
    close_context(cx);
}

static heed_task_data *read_labels(heed_ctx *cx, heed_json labels, const char *weights) {
    heed_string s = {0};
    for (EACH(v, labels)) {
        char line[32];
        const int n = snprintf(line, sizeof line, "text\tc%d\n", (int)heed_json_int(cx, v, NULL));
        assert_true(heed_string_put(cx, &s, line, (size_t)n));
    }
    write_bytes(in_folder("labels.tsv"), s.s, s.size);
    heed_string_free(cx, &s);
    return heed_task_read(cx, heed_text_task_find("classify"), in_folder("labels.tsv"),
                          &(heed_task_opts){.class_weights = weights});
}

static void test_balanced(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "task/weights.json");
    for (EACH(c, heed_json_find(cx, doc, "balanced"))) {
        heed_task_data *d = read_labels(cx, heed_json_find(cx, c, "labels"), "balanced");
        float want[8];
        const int64_t classes = numbers(cx, heed_json_find(cx, c, "weights"), want);
        assert_non_null(d);
        assert_int_equal(d->classes, classes);
        for (int64_t i = 0; i < classes; i++) assert_true(fabsf(d->weight[i] / want[i] - 1) < 1e-6f);
        assert_non_null(heed_task_forward(d, NULL));
        heed_task_free(cx, d);
    }
    heed_json_free(doc);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "task/weights.json");
    const heed_json labels = heed_json_find(cx, heed_json_first(heed_json_find(cx, doc, "balanced")), "labels");
    static const char *const wrong[] = {"", "balance", "1,", "1,x", "0,1", "-1,1", "nan,1", "inf,1", "1;2", "0x1,2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(read_labels(cx, labels, wrong[i]));
        EXPECT_SENTENCE(cx, "must be balanced, or positive numbers as a,b,c");
    }
    assert_null(read_labels(cx, labels, "1,2,3"));
    EXPECT_SENTENCE(cx, "class weights '1,2,3': 3 for 2 classes, of which the first is 'c0'");
    heed_task_data *d = read_labels(cx, labels, "0.5,2");
    assert_true(d && d->weight[0] == 0.5f && d->weight[1] == 2);
    heed_task_free(cx, d);
    unlink(in_folder("labels.tsv"));
    heed_json_free(doc);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_balanced),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
