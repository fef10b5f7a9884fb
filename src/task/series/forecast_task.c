/* Forecast: the next steps of series over time. */
#include "base/text.h"
#include "heed/forecast.h"
#include "io/text.h"
#include "model/vectors/vectors.h"
#include "task/run.h"
#include "task/series/forecasting.h"
#include "task/series/series_fields.h"
#include "task/tables/table_fields.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct forecasts {
    heed_history *history;
    heed_forecasting *f;
};

static struct forecasts *forecasts_of(const heed_run *r) { return r->user; }

/* ---- options ---- */

/* Numbers separated by commas; their count, -1: one is none. */
static int numbers_of(const char *text, double *out, int most) {
    int n = 0;
    while (text && *text) {
        const size_t length = strcspn(text, ",");
        char item[64];
        bool range;
        if (n == most || length >= sizeof item) return -1;
        memcpy(item, text, length);
        item[length] = 0;
        if (!number_read(item, &out[n++], &range)) return -1;
        text += length + (text[length] == ',');
    }
    return n;
}

static bool kind_fits(const heed_run *r) {
    const char *const model = run_text(r, "model");
    char list[128] = "";
    for (int i = 0; forecaster_kinds[i]; i++) {
        const size_t used = strlen(list);
        if (strcmp(model, forecaster_kinds[i]) == 0) return true;
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", forecaster_kinds[i]);
    }
    return run_misused(r, "--model: '%s' cannot be trained to forecast; one of: %s", model, list);
}

static bool check(heed_run *r) {
    const char *const split = run_text(r, "split");
    char why[FIELD_WHY];
    double part[3];
    if (!kind_fits(r)) return false;
    if (strcmp(split, "ett") != 0 && numbers_of(split, part, 3) != 3)
        return run_misused(r, "--split: '%s' is not three numbers, as 0.7,0.1,0.2 or 8640,2880,2880, nor ett", split);
    if (run_given(r, "quantiles") && run_given(r, "loss"))
        return run_misused(r, "--quantiles and --loss: quantiles are trained by the pinball loss");
    return table_fields_fit(r->values, why) || run_option_misused(r, "%s", why);
}

/* ---- the data ---- */

static bool set_split(heed_run *r, heed_forecast_split *split) {
    const heed_history *const h = forecasts_of(r)->history;
    const char *const text = run_text(r, "split");
    double part[3];
    if (strcmp(text, "ett") == 0) { /* 12, 4 and 4 months of 30 days */
        const double day = 86400000 / h->step.size;
        if (!h->clock.dates || h->step.months > 0)
            return run_misused(r, "--split ett: times must be dates, in steps of up to a day");
        part[0] = 360 * day;
        part[1] = part[2] = 120 * day;
    } else {
        numbers_of(text, part, 3);
    }
    *split = (heed_forecast_split){part[0], part[1], part[2]};
    return true;
}

static const char *metrics_of(bool quantiles, const char *loss) {
    return quantiles ? "pinball mae coverage" : strcmp(loss, "mae") == 0 ? "mae mse" : "mse mae";
}

static bool load(heed_run *r) {
    struct forecasts *const d = heed_mem_new(r->cx, sizeof *d);
    if (!d) return false;
    *d = (struct forecasts){.history = NULL};
    r->user = d;
    d->history = series_load(r->cx, r->values, r->path, NULL, false);
    const heed_history *const h = d->history;
    if (!h) return false;
    heed_forecasting_opts opts = {.context = run_int(r, "context"),
                                  .horizon = run_int(r, "horizon"),
                                  .season = run_given(r, "season") ? run_int(r, "season")
                                                                   : heed_interval_season(&h->step, h->clock.dates),
                                  .seed = heed_seed(r->cx),
                                  .metrics = metrics_of(run_given(r, "quantiles"), run_text(r, "loss"))};
    if (!set_split(r, &opts.split)) return false;
    d->f = heed_forecasting_new(r->cx, h, &opts);
    return d->f || heed_fail_in(r->cx, "%s", r->path);
}

static bool plan(heed_run *r) {
    heed_forecasting *const f = forecasts_of(r)->f;
    struct run_batch b;
    if (!run_batch(r, run_int(r, "batch"), heed_forecasting_windows(f, HEED_FORECAST_TRAIN), "window", "windows", &b))
        return false;
    f->opts.batch = b.batch;
    f->opts.micro_batch = b.micro_batch;
    r->loop.source = heed_forecasting_source(r->cx, f);
    return r->loop.source;
}

/* ---- the model ---- */

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct forecasts *const d = forecasts_of(r);
    const heed_history *const h = d->history;
    const char *const quantiles = run_text(r, "quantiles");
    struct settings s = {.n = 0};
    char text[9][1200];
    snprintf(text[0], sizeof text[0], "context_length=%lld", (long long)d->f->opts.context);
    snprintf(text[1], sizeof text[1], "prediction_length=%lld", (long long)d->f->opts.horizon);
    snprintf(text[2], sizeof text[2], "num_targets=%lld", (long long)h->targets);
    snprintf(text[3], sizeof text[3], "num_features=%lld", (long long)h->covariates);
    snprintf(text[4], sizeof text[4], "num_time_features=%lld", (long long)h->known);
    snprintf(text[5], sizeof text[5], "loss=%s", run_text(r, "loss"));
    snprintf(text[6], sizeof text[6], "normalize=%s", run_text(r, "normalize"));
    snprintf(text[7], sizeof text[7], "quantiles=%s", quantiles ? quantiles : "");
    snprintf(text[8], sizeof text[8], "kind=%s", run_text(r, "model"));
    for (; s.n < 8; s.n++) s.text[s.n] = text[s.n];
    struct settings kept = s; /* of --init: its kind stays */
    s.text[s.n++] = text[8];
    heed_model *const model = run_make_model(r, cx, &s, &kept);
    if (!model || heed_forecasting_describe(cx, d->f, model)) return model;
    heed_model_free(cx, model);
    return NULL;
}

static bool begin(heed_run *r) {
    const struct forecasts *const d = forecasts_of(r);
    const heed_history *const h = d->history;
    char rows[48], series[48], step[HEED_TIME_ROOM], windows[48], numbers[48];
    heed_note(r->cx, HEED_LOG_INFO,
              "%s: %s of %s, %s apart; %s to train on, %lld to validate, %lld to test; %s with %s",
              RUN_STANDARD_INPUT(r->path), text_count(h->rows, "row", "rows", rows),
              text_count(h->series, "series", "series", series), heed_interval_text(&h->step, h->clock.dates, step),
              text_count(heed_forecasting_windows(d->f, HEED_FORECAST_TRAIN), "window", "windows", windows),
              (long long)heed_forecasting_windows(d->f, HEED_FORECAST_VALID),
              (long long)heed_forecasting_windows(d->f, HEED_FORECAST_TEST),
              heed_json_text(r->cx, heed_model_config(r->model), "kind"),
              text_count(heed_params_size(heed_model_params(r->model)), "parameter", "parameters", numbers));
    return !heed_failed(r->cx);
}

/* ---- what came out, beside repeating the last season ---- */

static bool test_again(heed_run *r, heed_forecast_score *score) {
    const heed_forecasting *const f = forecasts_of(r)->f;
    return r->state.tested &&
           heed_forecasting_measure(r->cx, f, r->model, HEED_FORECAST_TEST, f->opts.micro_batch, score);
}

static bool remarks(heed_run *r, heed_string *text) {
    const int64_t season = forecasts_of(r)->f->opts.season;
    heed_forecast_score s;
    char steps[48], line[256];
    if (!test_again(r, &s)) return !heed_failed(r->cx);
    const double share = s.repeated.scaled_mae > 0 ? 100 * (1 - s.all.scaled_mae / s.repeated.scaled_mae) : 0;
    const int n =
        snprintf(line, sizeof line, "test, repeating the last %s: MSE %.4f, MAE %.4f: the model's MAE is %.1f %% %s\n",
                 season > 1 ? text_count(season, "step", "steps", steps) : "value", s.repeated.scaled_mse,
                 s.repeated.scaled_mae, fabs(share), share >= 0 ? "below" : "above");
    heed_forecast_score_free(r->cx, &s);
    return heed_string_put(r->cx, text, line, (size_t)n);
}

static void put(heed_run *r, heed_json result) {
    heed_forecast_score score;
    if (!test_again(r, &score)) return;
    heed_json_put_number(r->cx, result, "test_repeated_mse", score.repeated.scaled_mse);
    heed_json_put_number(r->cx, result, "test_repeated_mae", score.repeated.scaled_mae);
    heed_forecast_score_free(r->cx, &score);
}

static void free_forecasts(heed_run *r) {
    struct forecasts *const d = forecasts_of(r);
    heed_forecasting_free(r->cx, d->f);
    heed_history_free(r->cx, d->history);
    heed_mem_free(r->cx, d);
}

/* ---- measuring ---- */

struct measured {
    heed_history *history;
    heed_forecast_score score;
};

static void free_measured(heed_ctx *cx, void *own) {
    struct measured *const m = own;
    heed_forecast_score_free(cx, &m->score);
    heed_history_free(cx, m->history);
    heed_mem_free(cx, m);
}

static bool measure(heed_run *r, const heed_model *model, heed_forecast_part part, struct measured *m,
                    heed_evaluation *to) {
    heed_forecasting *const f = heed_forecasting_like(r->cx, m->history, model);
    const char *const loss = heed_json_text_or(r->cx, heed_model_config(model), "loss", "mse");
    const bool ok =
        f && loss && heed_forecasting_measure(r->cx, f, model, part, run_int(r, "batch"), &m->score) &&
        forecasting_score(r->cx, &m->score, metrics_of(m->score.quantiles > 0, loss), &to->metrics, &to->score);
    if (ok) {
        to->n = m->score.windows;
        to->one = "window";
        to->many = "windows";
        to->series = &m->score;
        to->season = f->opts.season;
        to->target_names = m->history->target_names;
    }
    heed_forecasting_free(r->cx, f);
    return ok;
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    static const char *const parts[] = {"train", "val", "test"};
    int k = 0;
    while (k < 3 && strcmp(part, parts[k]) != 0) k++;
    if (k == 3) return heed_fail(r->cx, HEED_ERR_USAGE, "evaluate: part '%s' is not train, val or test", part);
    struct measured *const m = evaluation_room(r->cx, to, sizeof *m, free_measured);
    if (!m) return false;
    heed_model *const model = heed_directory_model(r->cx, r->measured, &(heed_load_opts){.map = true});
    heed_history *const like = model ? heed_forecast_columns(r->cx, model) : NULL;
    if (like) m->history = series_load(r->cx, r->values, r->path, like, false);
    const bool ok =
        m->history && (measure(r, model, (heed_forecast_part)k, m, to) || heed_fail_in(r->cx, "%s", r->path));
    heed_history_free(r->cx, like);
    heed_model_free(r->cx, model);
    return ok;
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field forecast_fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .value = "FILE",
     .help = "a table, csv or tsv (also .gz), with a row for each time, in their order"},
    {.name = "time", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of times, dates (2016-07-01, 2016-07-01 00:00:00) or numbers: name or number; none: rows are "
             "counted; by default the first column of dates"},
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column to forecast: name or number, several as a,b; by default the last"},
    {.name = "series", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "of a long table with many series: the column that names the series of a row"},
    {.name = "covariates", .kind = HEED_FIELD_TEXT, .value = "COLUMNS",
     .help = "columns that are known up to now, as a,b"},
    {.name = "known", .kind = HEED_FIELD_TEXT, .value = "COLUMNS",
     .help = "columns that are known for the future too, such as holidays and prices, as a,b"},
    {.name = "calendar", .kind = HEED_FIELD_TEXT, .value = "FEATURES",
     .help = "features of dates, which are known for the future too: some of minute, hour, weekday, monthday, yearday, month, "
             "as hour,weekday; auto: those that the step suggests"},
    FILL_FIELD,
    TABLE_FORMAT_FIELDS,
    {.name = "split", .kind = HEED_FIELD_TEXT, .standard = "0.7,0.1,0.2", .value = "A,B,C",
     .help = "the parts of time to train on, to validate and to test: shares, or numbers of steps; ett: 12, 4 and 4 "
             "months of 30 days"},
    {.name = "forecasts", .kind = HEED_FIELD_GROUP},
    {.name = "context", .kind = HEED_FIELD_INT, .standard = "96", .value = "N", .low = 1, .high = 1048576,
     .help = "steps of the past that are read"},
    {.name = "horizon", .kind = HEED_FIELD_INT, .standard = "24", .value = "N", .low = 1, .high = 1048576,
     .help = "steps to forecast"},
    {.name = "quantiles", .kind = HEED_FIELD_TEXT, .value = "Q,Q",
     .help = "forecast these quantiles, such as 0.1,0.5,0.9, trained by the pinball loss, instead of one number"},
    {.name = "loss", .kind = HEED_FIELD_CHOICE, .standard = "mse", .value = "NAME", .choices = "mse mae",
     .help = "loss of forecasts of one number, one of"},
    {.name = "normalize", .kind = HEED_FIELD_CHOICE, .standard = "last", .value = "HOW", .choices = "last window none",
     .help = "subtract from the past its last value (last), or subtract its mean and divide by its deviation (window), one of"},
    {.name = "season", .kind = HEED_FIELD_INT, .value = "N", .high = 1048576,
     .help = "steps of the season that the comparison repeats; by default a day of hours, a week of days, a year of "
             "months"},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = "lstm", .value = "KIND",
     .help = "the kind of forecaster, as mlp; 'heed list forecaster' shows all"},
    EPOCHS_FIELD("10", NULL, ""),
    BATCH_FIELD("32", "windows per update"),
    {.name = NULL},
};
/* clang-format on */

static const struct task_way way_series = {.what = "series",
                                           .check = check,
                                           .load = load,
                                           .plan = plan,
                                           .model_of = new_model,
                                           .begin = begin,
                                           .put = put,
                                           .remarks = remarks,
                                           .evaluate = evaluate,
                                           .free = free_forecasts};
static const struct task_way *const forecast_ways[] = {&way_series, NULL};

const heed_task task_of_forecast = {
    .name = "forecast",
    .summary = "the next steps of series over time",
    .about = "Trains a model to forecast series: it reads the last --context steps and gives the next --horizon, "
             "all at once. A table has a column of times in equal steps and one or several targets; a long table "
             "has many series, told apart by a column, and one model learns them all. Gaps, times that occur "
             "twice or out of step, and missing values are refused with line and time, or filled with --fill.\n\n"
             "Series are standardised by their means and deviations in the training part, which config.json keeps. "
             "The parts follow each other in time. The metrics are errors in standard deviations, as published; "
             "heed eval also gives them in the units of the data, beside repeating the last season.",
    .examples = "heed train forecast --data load.csv --target load --horizon 24 --context 168 --out load\n"
                "heed train forecast --data load.csv --calendar auto --quantiles 0.1,0.5,0.9 --out load\n"
                "heed train forecast --data sales.csv --series store --target sold --known price --out sales\n"
                "heed train forecast --data ETTh1.csv --recipe recipes/etth1.recipe --out etth1\n",
    .fields = forecast_fields,
    .family = "forecaster",
    .next = "forecast",
    .next_how = " --data FILE --png FILE   (or a table on standard input)",
    .ways = forecast_ways,
};
