/* heed train forecast: series over time. */
#include "cli/core/series_options.h"
#include "cli/core/table_options.h"
#include "cli/train/train.h"
#include "cli/use/forecast.h"
#include "io/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    heed_history *history;
    heed_forecasting *f;
    heed_forecasting_opts opts;
};

static struct run *run_of(const struct train_run *r) { return r->own; }

/* ---- what is asked for ---- */

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

static bool usage(struct train_run *r) {
    static const char *const kinds[] = {"rnn", "gru", "lstm", "linear", "mlp"};
    const char *model = option_text(r->o, "model"), *split = option_text(r->o, "split");
    double part[3];
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) known |= strcmp(model, kinds[i]) == 0;
    if (!known)
        cli_error(EXIT_USAGE, "train: --model: '%s' cannot be trained to forecast; one of: rnn, gru, lstm, linear, mlp",
                  model);
    else if (split && strcmp(split, "ett") != 0 && numbers_of(split, part, 3) != 3)
        cli_error(EXIT_USAGE, "train: --split: '%s' is not three numbers, as 0.7,0.1,0.2 or 8640,2880,2880, nor ett",
                  split);
    else if (option_given(r->o, "quantiles") && option_given(r->o, "loss"))
        cli_error(EXIT_USAGE, "train: --quantiles and --loss: quantiles are trained by the pinball loss");
    else
        return table_usage(r->o);
    return false;
}

/* ---- the data ---- */

static bool set_split(struct train_run *r, heed_forecast_split *split) {
    const heed_history *h = run_of(r)->history;
    const char *text = option_text(r->o, "split");
    double part[3] = {0.7, 0.1, 0.2};
    if (text && strcmp(text, "ett") == 0) { /* 12, 4 and 4 months of 30 days */
        const double day = 86400000 / h->step.size;
        if (!h->clock.dates || h->step.months > 0)
            return heed_fail(r->cx, HEED_ERR_USAGE, "train: --split ett: times must be dates, in steps of up to a day");
        part[0] = 360 * day;
        part[1] = part[2] = 120 * day;
    } else if (text) {
        numbers_of(text, part, 3);
    }
    *split = (heed_forecast_split){part[0], part[1], part[2]};
    return true;
}

static const char *metrics_of(const struct train_run *r) {
    if (option_given(r->o, "quantiles")) return "pinball mae coverage";
    return strcmp(option_text(r->o, "loss"), "mae") == 0 ? "mae mse" : "mse mae";
}

static bool load(struct train_run *r) {
    struct run *own = heed_mem_new(r->cx, sizeof *own);
    if (!own) return false;
    *own = (struct run){0};
    r->own = own;
    own->history = series_load(r->o, r->cx, r->path, NULL, false);
    if (!own->history || !set_split(r, &own->opts.split)) return false;
    const heed_history *h = own->history;
    own->opts.context = option_int(r->o, "context");
    own->opts.horizon = option_int(r->o, "horizon");
    own->opts.season =
        option_given(r->o, "season") ? option_int(r->o, "season") : heed_interval_season(&h->step, h->clock.dates);
    own->opts.seed = heed_seed(r->cx);
    own->opts.metrics = metrics_of(r);
    own->opts.batch = option_int(r->o, "batch");
    own->opts.micro_batch = option_int(r->o, "micro-batch");
    if (option_given(r->o, "accumulate")) {
        own->opts.micro_batch = own->opts.batch;
        own->opts.batch *= option_int(r->o, "accumulate");
    }
    own->f = heed_forecasting_new(r->cx, h, &own->opts);
    return own->f || heed_fail_in(r->cx, "%s", r->path);
}

static bool set(struct train_run *r) {
    const struct run *own = run_of(r);
    const int64_t windows = heed_forecasting_windows(own->f, HEED_FORECAST_TRAIN);
    char count[48];
    r->loop.epochs = option_int(r->o, "epochs");
    if (own->opts.batch > windows)
        return heed_fail(r->cx, HEED_ERR_RANGE, "train: --batch: %lld is larger than the data, %s to train on",
                         (long long)own->opts.batch, cli_count(windows, "window", "windows", count));
    r->loop.source = heed_forecasting_source(r->cx, own->f);
    return r->loop.source;
}

/* ---- the model ---- */

static heed_model *new_model(const struct train_run *r, heed_ctx *cx) {
    const struct run *own = run_of(r);
    const heed_history *h = own->history;
    const char *quantiles = option_text(r->o, "quantiles");
    struct train_settings s = {.n = 0};
    char text[9][1200];
    snprintf(text[0], sizeof text[0], "kind=%s", option_text(r->o, "model"));
    snprintf(text[1], sizeof text[1], "context_length=%lld", (long long)own->opts.context);
    snprintf(text[2], sizeof text[2], "prediction_length=%lld", (long long)own->opts.horizon);
    snprintf(text[3], sizeof text[3], "num_targets=%lld", (long long)h->targets);
    snprintf(text[4], sizeof text[4], "num_features=%lld", (long long)h->covariates);
    snprintf(text[5], sizeof text[5], "num_time_features=%lld", (long long)h->known);
    snprintf(text[6], sizeof text[6], "loss=%s", option_text(r->o, "loss"));
    snprintf(text[7], sizeof text[7], "normalize=%s", option_text(r->o, "normalize"));
    snprintf(text[8], sizeof text[8], "quantiles=%s", quantiles ? quantiles : "");
    for (; s.n < 9; s.n++) s.text[s.n] = text[s.n];
    struct train_settings kept = s; /* of --init: its kind stays */
    kept.text[0] = text[1];
    heed_model *model = train_make_model(r, cx, &s, &kept);
    if (!model || heed_forecasting_describe(cx, own->f, model)) return model;
    heed_model_free(cx, model);
    return NULL;
}

static bool begin(struct train_run *r) {
    const struct run *own = run_of(r);
    const heed_history *h = own->history;
    char rows[48], series[48], step[HEED_TIME_ROOM], windows[48], numbers[48];
    if (option_flag(r->o, "quiet")) return true;
    fprintf(stderr, "%s: %s of %s, %s apart; %s to train on, %lld to validate, %lld to test; %s with %s\n",
            strcmp(r->path, "-") == 0 ? "standard input" : r->path, cli_count(h->rows, "row", "rows", rows),
            cli_count(h->series, "series", "series", series), heed_interval_text(&h->step, h->clock.dates, step),
            cli_count(heed_forecasting_windows(own->f, HEED_FORECAST_TRAIN), "window", "windows", windows),
            (long long)heed_forecasting_windows(own->f, HEED_FORECAST_VALID),
            (long long)heed_forecasting_windows(own->f, HEED_FORECAST_TEST),
            heed_json_text(r->cx, heed_model_config(r->model), "kind"),
            cli_count(heed_params_numbers(heed_model_params(r->model)), "parameter", "parameters", numbers));
    return !heed_failed(r->cx);
}

/* ---- what is said at the end ---- */

static bool test_again(struct train_run *r, heed_forecast_score *score) {
    const struct run *own = run_of(r);
    return r->state.tested &&
           heed_forecasting_measure(r->cx, own->f, r->model, HEED_FORECAST_TEST, own->opts.micro_batch, score);
}

static void print_comparison(struct train_run *r, FILE *to) {
    heed_forecast_score score;
    if (!test_again(r, &score)) return;
    forecast_print_comparison(&score, run_of(r)->opts.season, to);
    heed_forecast_score_free(r->cx, &score);
}

static void put_comparison(struct train_run *r, heed_json result) {
    heed_forecast_score score;
    if (!test_again(r, &score)) return;
    heed_json_put_number(r->cx, result, "test_repeated_mse", score.repeated.scaled_mse);
    heed_json_put_number(r->cx, result, "test_repeated_mae", score.repeated.scaled_mae);
    heed_forecast_score_free(r->cx, &score);
}

static void free_run(struct train_run *r) {
    struct run *own = run_of(r);
    if (!own) return;
    heed_forecasting_free(r->cx, own->f);
    heed_history_free(r->cx, own->history);
    heed_mem_free(r->cx, own);
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field options[] = {
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
     .help = "what dates say, known for the future: some of minute, hour, weekday, monthday, yearday, month, as "
             "hour,weekday; auto: by the step"},
    FILL_OPTION,
    TABLE_FORMAT_OPTIONS,
    {.name = "split", .kind = HEED_FIELD_TEXT, .standard = "0.7,0.1,0.2", .value = "A,B,C",
     .help = "the parts of time to train on, to validate and to test: shares, or numbers of steps; ett: 12, 4 and 4 "
             "months of 30 days"},
    {.name = "forecasts", .kind = HEED_FIELD_GROUP},
    {.name = "context", .kind = HEED_FIELD_INT, .standard = "96", .value = "N", .low = 1, .high = 1048576,
     .help = "steps of the past that are read"},
    {.name = "horizon", .kind = HEED_FIELD_INT, .standard = "24", .value = "N", .low = 1, .high = 1048576,
     .help = "steps to forecast"},
    {.name = "quantiles", .kind = HEED_FIELD_TEXT, .value = "Q,Q",
     .help = "forecast quantiles, as 0.1,0.5,0.9, by the pinball loss, instead of one number"},
    {.name = "loss", .kind = HEED_FIELD_CHOICE, .standard = "mse", .value = "NAME", .choices = "mse mae",
     .help = "what one number is trained by, one of"},
    {.name = "normalize", .kind = HEED_FIELD_CHOICE, .standard = "last", .value = "HOW", .choices = "last window none",
     .help = "subtract from what is read its last value, or its mean, over its deviation (window), one of"},
    {.name = "season", .kind = HEED_FIELD_INT, .value = "N", .high = 1048576,
     .help = "steps of the season that the comparison repeats; by default a day of hours, a week of days, a year of "
             "months"},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = train_options},
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = "lstm", .value = "KIND",
     .help = "rnn, gru, lstm, linear or mlp: kinds of the family forecaster"},
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .standard = "10", .value = "N", .low = 1, .high = 1e9,
     .help = "number of passes over the training data"},
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .standard = "32", .value = "N", .low = 1, .high = 1e9,
     .help = "windows per update"},
    {.name = NULL},
};
/* clang-format on */

const struct train_task train_forecast = {
    .page = {.name = "forecast",
             .summary = "the next steps of series over time",
             .about =
                 "Trains a model to forecast series: it reads the last --context steps and gives the next --horizon, "
                 "all at once. A table has a column of times in equal steps and one or several targets; a long table "
                 "has many series, told apart by a column, and one model learns them all. Gaps, times that occur "
                 "twice or out of step, and missing values are refused with line and time, or filled with --fill.\n\n"
                 "Series are standardised by their means and deviations in the training part, which config.json keeps. "
                 "The parts follow each other in time. The metrics are errors in standard deviations, as published; "
                 "heed eval also gives them in the units of the data, beside repeating the last season.",
             .options = options,
             .examples = "heed train forecast --data load.csv --target load --horizon 24 --context 168 --out load\n"
                         "heed train forecast --data load.csv --calendar auto --quantiles 0.1,0.5,0.9 --out load\n"
                         "heed train forecast --data sales.csv --series store --target sold --known price --out sales\n"
                         "heed train forecast --data ETTh1.csv --recipe recipes/etth1.recipe --out etth1\n"},
    .family = "forecaster",
    .next = "forecast",
    .next_how = " --data FILE --png FILE   (or a table on standard input)",
    .usage = usage,
    .load = load,
    .set = set,
    .model = new_model,
    .begin = begin,
    .print = print_comparison,
    .put = put_comparison,
    .free = free_run,
    .evaluate = forecast_evaluate,
};
