/* Forecasting: parts, windows, means, errors by hand, the way through config.json, and forecasts. */
#include "figure.h"
#include "heed/forecast.h"
#include "io/io_test.h"
#include <math.h>

enum { ROWS = 60, CONTEXT = 6, HORIZON = 4, SEASON = 5 };

static double value_at(int series, int64_t t) {
    return (series ? 100 : 3) * sin(0.7 * (double)t) + (double)(t * t % 11) + 5 * series;
}

/* Two series, the second of which begins 10 steps later. */
static heed_history *two_series(heed_ctx *cx) {
    static char text[16384];
    size_t n = (size_t)snprintf(text, sizeof text, "t,who,k,v\n");
    for (int64_t t = 0; t < ROWS; t++)
        for (int s = 0; s < 2; s++)
            if (s == 0 || t >= 10)
                n += (size_t)snprintf(text + n, sizeof text - n, "%d,%s,%d,%.9g\n", (int)t, s ? "b" : "a", (int)(t % 3),
                                      (double)(float)value_at(s, t));
    heed_history *h = heed_history_parse(cx, "t", text, n, &(heed_history_opts){.series = "who", .known = "k"});
    assert_non_null(h);
    return h;
}

static const heed_forecasting_opts some = {
    .context = CONTEXT, .horizon = HORIZON, .split = {30, 14, 10}, .season = SEASON, .batch = 8, .metrics = "mse mae"};

/* A linear model that says the last value, plus `bias` for each output. */
static heed_model *last_value(heed_ctx *cx, const char *quantiles, const float *bias, int outputs) {
    const char *settings[] = {"kind=linear", "context_length=6", "prediction_length=4", "num_time_features=1",
                              quantiles};
    heed_model *m = heed_model_new(cx, heed_family_find("forecaster"), settings, quantiles ? 5 : 4, 1);
    assert_non_null(m);
    heed_param *w = heed_params_find(heed_model_params(m), "linear.weight"),
               *b = heed_params_find(heed_model_params(m), "linear.bias");
    memset(w->value, 0, (size_t)w->count * sizeof(float));
    for (int64_t i = 0; i < b->count; i++) b->value[i] = bias ? bias[i % outputs] : 0;
    return m;
}

static void test_parts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_history *h = two_series(cx);
    heed_forecasting *f = heed_forecasting_new(cx, h, &some);
    assert_non_null(f);
    /* forecasts within steps 0..29, 30..43, 44..53; 6 steps before, of series b from step 10 on */
    assert_int_equal(heed_forecasting_windows(f, HEED_FORECAST_TRAIN), (27 - 6) + (27 - 16));
    assert_int_equal(heed_forecasting_windows(f, HEED_FORECAST_VALID), 2 * 11);
    assert_int_equal(heed_forecasting_windows(f, HEED_FORECAST_TEST), 2 * 7);
    heed_forecasting_free(cx, f);
    heed_forecasting_opts shares = some;
    shares.split = (heed_forecast_split){0.5, 0, 0.5};
    f = heed_forecasting_new(cx, h, &shares);
    assert_non_null(f);
    assert_int_equal(heed_forecasting_windows(f, HEED_FORECAST_VALID), 0);
    assert_int_equal(heed_forecasting_windows(f, HEED_FORECAST_TEST), 2 * 27);
    heed_forecasting_free(cx, f);
    static const struct {
        heed_forecast_split split;
        const char *why;
    } bad[] = {
        {{0.9, 0.1, 0.1}, "forecast: parts of 0.9, 0.1 and 0.1 do not fit into 1"},
        {{50, 10, 10}, "forecast: parts of 50, 10 and 10 do not fit into the steps that there are"},
        {{40, 2, 10}, "forecast: the validation part holds no window: 6 steps are read and 4 forecast, of 60 in all"},
        {{8, 10, 10}, "forecast: the training part holds no window: 6 steps are read and 4 forecast, of 60 in all"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        shares.split = bad[i].split;
        assert_null(heed_forecasting_new(cx, h, &shares));
        assert_string_equal(heed_message(cx), bad[i].why);
        heed_clear(cx);
    }
    heed_history_free(cx, h);
    close_context(cx);
}

static double moments(int series, double *mean) {
    double sum = 0, squares = 0;
    int64_t n = 0;
    for (int64_t t = series ? 10 : 0; t < 30; t++, n++) sum += (double)(float)value_at(series, t);
    *mean = sum / (double)n;
    for (int64_t t = series ? 10 : 0; t < 30; t++) squares += pow((double)(float)value_at(series, t) - *mean, 2);
    return sqrt(squares / (double)n);
}

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-4 * (1e-3 + fabs(expected)))) fail_msg("%.9g is not %.9g", found, expected);
}

/* Everything that is measured, by hand: the model says the last value. */
static void test_measure(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_history *h = two_series(cx);
    heed_forecasting *f = heed_forecasting_new(cx, h, &some);
    heed_model *m = last_value(cx, NULL, NULL, 1);
    heed_forecast_score score, again;
    assert_true(heed_forecasting_measure(cx, f, m, HEED_FORECAST_TEST, 5, &score));
    double mae = 0, scaled = 0, square = 0, other = 0, mase = 0, first = 0;
    for (int s = 0; s < 2; s++) {
        double mean, unit = 0;
        const double std = moments(s, &mean);
        for (int64_t t = (s ? 10 : 0) + SEASON; t < 30; t++)
            unit += fabs(value_at(s, t) - value_at(s, t - SEASON)) / (double)(30 - (s ? 10 : 0) - SEASON);
        for (int64_t t = 44; t < 51; t++)
            for (int64_t k = 0; k < HORIZON; k++) {
                const double error = fabs(value_at(s, t - 1) - value_at(s, t + k));
                mae += error;
                mase += error / unit;
                scaled += error / std;
                square += pow(error / std, 2);
                other += fabs(value_at(s, t + k - SEASON) - value_at(s, t + k)) / std;
                if (k == 0) first += error / std;
            }
    }
    const double n = 2 * 7 * HORIZON;
    near(score.all.mae, mae / n);
    near(score.all.scaled_mae, scaled / n);
    near(score.all.scaled_mse, square / n);
    near(score.loss, square / n);
    near(score.all.mase, mase / n);
    near(score.repeated.scaled_mae, other / n);
    near((double)score.by_step[0], first / 14);
    assert_true(score.windows == 14 && score.quantiles == 0);

    /* through config.json */
    assert_true(heed_forecasting_describe(cx, f, m) && heed_model_save(cx, m, in_folder("model")));
    heed_model *loaded = heed_model_load(cx, in_folder("model"));
    heed_history *like = heed_forecast_columns(cx, loaded);
    assert_true(like && like->known == 1 && like->step.size == 1);
    assert_string_equal(like->series_column, "who");
    heed_forecasting *second = heed_forecasting_like(cx, h, loaded);
    assert_true(second && heed_forecasting_measure(cx, second, loaded, HEED_FORECAST_TEST, 0, &again));
    assert_true(again.all.mae == score.all.mae && again.repeated.mase == score.repeated.mase);
    heed_forecast_score_free(cx, &again);
    heed_forecast_score_free(cx, &score);
    heed_forecasting_free(cx, second);
    heed_history_free(cx, like);
    heed_model_free(cx, loaded);
    heed_model_free(cx, m);
    heed_forecasting_free(cx, f);
    heed_history_free(cx, h);
    assert_int_equal(unlink(in_folder("model/config.json")), 0);
    assert_int_equal(unlink(in_folder("model/model.safetensors")), 0);
    assert_int_equal(rmdir(in_folder("model")), 0);
    close_context(cx);
}

static void test_quantiles(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_history *h = two_series(cx);
    heed_forecasting *f = heed_forecasting_new(cx, h, &some);
    heed_model *m = last_value(cx, "quantiles=0.1,0.5,0.9", (float[]){9, 0, -9}, 3); /* they cross */
    heed_forecast_score score;
    assert_true(heed_forecasting_measure(cx, f, m, HEED_FORECAST_VALID, 0, &score));
    assert_true(score.quantiles == 3 && score.coverage == 1);
    near(score.nominal, 0.8);
    near(score.width, 18);
    near(score.pinball, (0.1 * 9 * 2 + 0.5 * score.all.scaled_mae) / 3); /* the misses of the outer ones cancel */
    heed_forecast_score_free(cx, &score);
    heed_model_free(cx, m);
    heed_forecasting_free(cx, f);
    heed_history_free(cx, h);
    close_context(cx);
}

static void test_forecast(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_history *h = two_series(cx);
    heed_forecasting *f = heed_forecasting_new(cx, h, &some);
    heed_model *m = last_value(cx, "quantiles=0.2,0.8", (float[]){1, -1}, 2);
    assert_true(heed_forecasting_describe(cx, f, m));
    heed_history *like = heed_forecast_columns(cx, m);
    const heed_history_opts opts = {.like = like, .future = true};
    /* series b is known, c is not; what comes has known columns and no targets */
    const char *text =
        "t,who,k,v\n1,b,0,7\n2,b,0,7\n3,b,0,7\n4,b,0,7\n5,b,0,7\n6,b,0,8\n7,b,1,\n8,b,1,\n9,b,1,\n10,b,1,\n"
        "1,c,0,1\n2,c,0,3\n3,c,0,1\n4,c,0,3\n5,c,0,1\n6,c,0,3\n7,c,1,\n8,c,1,\n9,c,1,\n10,c,1,\n";
    heed_history *past = heed_history_parse(cx, "t", text, strlen(text), &opts);
    assert_non_null(past);
    heed_forecast *next = heed_forecast_new(cx, m, past);
    assert_non_null(next);
    assert_true(next->series == 2 && next->steps == HORIZON && next->outputs == 2);
    double mean;
    const double std = moments(1, &mean);
    near((double)next->value[0], 8 - std);
    near((double)next->value[1], 8 + std);
    near((double)next->value[2 * HORIZON], 3 - 1); /* c's own deviation is 1 */
    assert_true(next->time[0] == 7 && next->time[2 * HORIZON - 1] == 10);
    heed_forecast_free(cx, next);
    heed_history_free(cx, past);

    const char *few = "t,who,k,v\n1,b,0,7\n2,b,0,7\n3,b,0,\n";
    past = heed_history_parse(cx, "t", few, strlen(few), &opts);
    assert_null(heed_forecast_new(cx, m, past));
    assert_string_equal(heed_message(cx), "forecast: b has 2 steps with values; the model reads 6");
    heed_clear(cx);
    heed_history_free(cx, past);
    assert_null(heed_forecast_new(cx, m, h)); /* nothing is known of the future */
    assert_non_null(strstr(heed_message(cx), "a has 0 rows behind its last value; 4 are needed"));
    heed_clear(cx);
    heed_history_free(cx, like);
    heed_model_free(cx, m);
    heed_forecasting_free(cx, f);
    heed_history_free(cx, h);
    close_context(cx);
}

/* The loop on windows: a linear model learns a wave, and the same bits come of any number of threads. */
static void test_training(void **state) {
    (void)state;
    double last[2];
    for (int i = 0; i < 2; i++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = i ? 3 : 1});
        heed_history *h = two_series(cx);
        heed_forecasting *f = heed_forecasting_new(cx, h, &some);
        heed_model *m = last_value(cx, NULL, NULL, 1);
        heed_loop_state at;
        const heed_loop_opts opts = {
            .dir = in_folder("run"),
            .trainer = {.optimizer = {.kind = HEED_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
                        .schedule = {.lr = 0.01}},
            .steps = 60,
            .seed = test_seed(0),
            .source = heed_forecasting_source(cx, f)};
        assert_int_equal(heed_loop_run(cx, m, &opts, &at), HEED_LOOP_DONE);
        assert_true(at.tested && at.best_step > 0);
        last[i] = at.loss;
        heed_model_free(cx, m);
        heed_forecasting_free(cx, f);
        heed_history_free(cx, h);
        heed_close(cx);
        assert_int_equal(unlink(in_folder("run/model.safetensors")), 0);
        assert_int_equal(unlink(in_folder("run/config.json")), 0);
        assert_int_equal(unlink(in_folder("run/checkpoint.safetensors")), 0);
        assert_int_equal(rmdir(in_folder("run")), 0);
    }
    assert_true(last[0] == last[1]);
    at_most("squared error, in variances", last[0], 1); /* before: 2.7 */
}

static bool use_it(heed_ctx *cx, const void *bytes, size_t size) {
    heed_history *h = heed_history_parse(cx, "t", bytes, size, &(heed_history_opts){0});
    heed_forecasting *f = heed_forecasting_new(
        cx, h, &(heed_forecasting_opts){.context = 2, .horizon = 1, .split = {5, 0, 3}, .batch = 1, .metrics = "mae"});
    const bool made = heed_forecasting_source(cx, f) != NULL;
    heed_forecasting_free(cx, f);
    heed_history_free(cx, h);
    return made;
}

static void test_no_memory(void **state) {
    (void)state;
    const char *text = "t,v\n1,3\n2,1\n3,4\n4,1\n5,5\n6,9\n7,2\n8,6\n";
    starve(use_it, text, strlen(text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_measure),  cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_forecast), cmocka_unit_test(test_training), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
