/* Reports of predictions against scikit-learn's (tests/oracle/report.py), and predictions of a model. */
#include "train_test.h"

static heed_json golden(heed_ctx *cx) {
    char path[600];
    const char *base = getenv("HEED_GOLDEN");
    snprintf(path, sizeof path, "%s/train/report.json", base ? base : HEED_SOURCE_DIR "/tests/golden");
    const heed_json all = heed_json_open(cx, path);
    assert_false(heed_failed(cx));
    return all;
}

#define EACH(v, list)                                                                                                  \
    heed_json v = heed_json_first(list);                                                                               \
    heed_json_kind_of(v) != HEED_JSON_NONE;                                                                            \
    v = heed_json_next(v)

static int64_t ints_of(heed_ctx *cx, heed_json list, int32_t *out) {
    int64_t n = 0;
    for (EACH(v, list)) out[n++] = (int32_t)heed_json_int(cx, v, NULL);
    return n;
}

static int64_t floats_of(heed_ctx *cx, heed_json list, float *out) {
    int64_t n = 0;
    for (EACH(v, list)) out[n++] = (float)heed_json_number(cx, v, NULL);
    return n;
}

static void expect_near(double found, double expected, const char *what) {
    if (!(fabs(found - expected) <= 1e-12 * fmax(1, fabs(expected))))
        fail_msg("%s: %.17g, expected %.17g", what, found, expected);
}

static void expect_score(heed_ctx *cx, const heed_class_score *found, heed_json expected, const char *what) {
    expect_near(found->precision, heed_json_number(cx, expected, "precision"), what);
    expect_near(found->recall, heed_json_number(cx, expected, "recall"), what);
    expect_near(found->f1, heed_json_number(cx, expected, "f1"), what);
    assert_int_equal(found->support, heed_json_int(cx, expected, "support"));
}

static void test_classes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json all = golden(cx);
    int32_t truth[200], predicted[200];
    for (EACH(c, heed_json_array(cx, all, "classes"))) {
        const char *name = heed_json_text(cx, c, "name");
        const int64_t n = ints_of(cx, heed_json_array(cx, c, "truth"), truth);
        ints_of(cx, heed_json_array(cx, c, "predicted"), predicted);
        const int64_t classes = heed_json_int(cx, c, "classes");
        heed_class_report *r = heed_class_report_new(cx, truth, predicted, n, classes);
        assert_non_null(r);
        expect_near(r->accuracy, heed_json_number(cx, c, "accuracy"), name);
        expect_score(cx, &r->macro, heed_json_object(cx, c, "macro"), name);
        expect_score(cx, &r->weighted, heed_json_object(cx, c, "weighted"), name);
        const heed_json scores = heed_json_object(cx, c, "scores");
        for (int64_t k = 0; k < classes; k++) {
            char number[24];
            snprintf(number, sizeof number, "%lld", (long long)k);
            const heed_json one = heed_json_find(cx, scores, number);
            if (heed_json_kind_of(one) == HEED_JSON_NONE)
                assert_true(r->score[k].support == 0 && r->score[k].predicted == 0);
            else
                expect_score(cx, &r->score[k], one, name);
        }
        int64_t at = 0;
        for (EACH(row, heed_json_array(cx, c, "confusion")))
            for (EACH(cell, row)) assert_int_equal(r->confusion[at++], heed_json_int(cx, cell, NULL));
        assert_int_equal(at, classes * classes);
        heed_class_report_free(cx, r);
    }
    heed_json_free(all);
    close_context(cx);
}

static void test_outputs(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json all = golden(cx);
    static const char *const keys[] = {"r2", "mae", "rmse"};
    float truth[200], predicted[200];
    for (EACH(c, heed_json_array(cx, all, "outputs"))) {
        heed_output_score scores[4];
        const int64_t outputs = heed_json_int(cx, c, "outputs");
        const int64_t n = floats_of(cx, heed_json_array(cx, c, "truth"), truth) / outputs;
        floats_of(cx, heed_json_array(cx, c, "predicted"), predicted);
        assert_true(heed_output_scores(cx, truth, predicted, n, outputs, scores));
        for (int64_t j = 0; j < outputs; j++)
            for (int k = 0; k < 3; k++)
                expect_near((const double[]){scores[j].r2, scores[j].mae, scores[j].rmse}[k],
                            heed_json_number(cx, heed_json_item(cx, heed_json_array(cx, c, keys[k]), j), NULL),
                            keys[k]);
    }
    heed_json_free(all);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const int32_t good[] = {0, 1}, low[] = {0, -1}, high[] = {2, 0};
    assert_null(heed_class_report_new(cx, good, low, 2, 2));
    EXPECT_SENTENCE(cx, "class_report: example 1: class 1, said to be -1, of 2");
    assert_null(heed_class_report_new(cx, high, good, 2, 2));
    EXPECT_SENTENCE(cx, "class_report: example 0: class 2, said to be 0, of 2");
    assert_null(heed_class_report_new(cx, good, NULL, 2, 2));
    EXPECT_SENTENCE(cx, "class_report: 2 examples");
    assert_false(heed_output_scores(cx, NULL, NULL, 1, 1, NULL));
    EXPECT_SENTENCE(cx, "output_scores: 1 examples");
    heed_class_report *r = heed_class_report_new(cx, good, good, 2, 5000); /* too many for a matrix */
    assert_null(r->confusion);
    expect_near(r->accuracy, 1, "accuracy");
    expect_near(r->macro.f1, 1, "macro");
    heed_class_report_free(cx, r);
    heed_class_report_free(cx, NULL);
    close_context(cx);
}

/* Predictions agree with the score, whatever the batch; one that is not finite is named. */
static void test_predict(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct points p;
    draw_points(&p, 3);
    heed_data classes = classes_of(&p), numbers = numbers_of(&p);
    heed_model *m = new_model(cx, &classes, NULL), *line = new_model(cx, &numbers, NULL);
    heed_score score, again;
    int32_t label[EXAMPLES];
    float y[2 * EXAMPLES];
    for (int64_t batch = 7; batch <= 500; batch += 493) {
        assert_true(heed_loop_predict(cx, m, &classes, batch, &score, label, NULL));
        assert_true(heed_loop_evaluate(cx, m, &classes, NULL, 0, batch, &again));
        assert_true(score.loss == again.loss && score.metric == again.metric);
        heed_class_report *r = heed_class_report_new(cx, p.label, label, EXAMPLES, CLASSES);
        expect_near(r->accuracy, score.metric, "accuracy");
        heed_class_report_free(cx, r);
        assert_true(heed_loop_predict(cx, line, &numbers, batch, &score, NULL, y));
        heed_output_score outputs[2];
        assert_true(heed_output_scores(cx, p.y[0], y, EXAMPLES, 2, outputs));
        expect_near((outputs[0].r2 + outputs[1].r2) / 2, score.metric, "R^2");
    }
    assert_false(heed_loop_predict(cx, m, &classes, 0, &score, NULL, y));
    EXPECT_SENTENCE(cx, "predict: a place for the predictions is needed");
    p.x[40][0] = INFINITY;
    assert_false(heed_loop_predict(cx, line, &numbers, 7, &score, NULL, y));
    EXPECT_SENTENCE(cx, "example 41: the model's output is not a finite number");
    int64_t lines[EXAMPLES];
    for (int i = 0; i < EXAMPLES; i++) lines[i] = 2 * i + 3;
    classes.line = lines;
    assert_false(heed_loop_predict(cx, m, &classes, 0, &score, label, NULL));
    EXPECT_SENTENCE(cx, "line 83: the model's output is not a finite number");
    heed_model_free(cx, m);
    heed_model_free(cx, line);
    close_context(cx);
}

static bool report(heed_ctx *cx, const void *bytes, size_t size) {
    (void)size;
    heed_class_report *r = heed_class_report_new(cx, bytes, bytes, 2, 3);
    heed_class_report_free(cx, r);
    return r;
}

static void test_starved(void **state) {
    (void)state;
    starve(report, (const int32_t[]){0, 2}, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classes), cmocka_unit_test(test_outputs),
                                       cmocka_unit_test(test_refusals), cmocka_unit_test(test_predict),
                                       cmocka_unit_test(test_starved)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
