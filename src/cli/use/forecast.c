/* heed forecast: what follows the end of each series of a table. */
#include "cli/use/forecast.h"
#include "cli/core/figure_options.h"
#include "cli/core/table_usage.h"
#include "io/text.h"
#include "task/series/series_fields.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const heed_field options[] = {
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .standard = "-", .value = "FILE",
     .help = "the past: a table as in training, at least as long as the model's context; by default standard input"},
    {.name = "time", .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the column of times; by default the one of the training data"},
    {.name = "target", .letter = 't', .kind = HEED_FIELD_TEXT, .value = "COLUMN",
     .help = "the columns of the targets as a,b; by default those of the training data"},
    FILL_FIELD,
    TABLE_FORMAT_FIELDS,
    {.name = "past", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1e7,
     .help = "steps of the past in the picture; 0: the model's context"},
    {.name = "pictures", .kind = HEED_FIELD_TABLE, .table = picture_options},
    JSON_OPTION,
    {.name = NULL},
};
/* clang-format on */

/* ---- the result as text ---- */

/* A cell of a csv file. */
static void print_cell(const char *text) {
    const bool quoted = strpbrk(text, ",\"") != NULL;
    if (quoted) putchar('"');
    for (; *text; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    if (quoted) putchar('"');
}

/* What one number is. */
static const char *number_name(heed_ctx *cx, const heed_model *model) {
    const char *loss = heed_json_text_or(cx, heed_model_config(model), "loss", "mse");
    return loss && strcmp(loss, "mae") == 0 ? "median" : "mean";
}

static void print_number(double value) {
    char text[NUMBER_ROOM];
    number_shortest(text, value, true);
    fputs(text, stdout);
}

static void print_csv(heed_ctx *cx, const heed_model *model, const heed_history *h, const heed_forecast *f) {
    char time[HEED_TIME_ROOM], name[SERIES_NAME];
    fputs("time,series", stdout);
    for (int64_t q = 0; q < f->outputs; q++) {
        putchar(',');
        if (f->quantile)
            print_number((double)f->quantile[q]);
        else
            fputs(number_name(cx, model), stdout);
    }
    putchar('\n');
    for (int64_t i = 0; i < f->series * f->targets * f->steps; i++) {
        const int64_t g = i / (f->targets * f->steps), k = i / f->steps % f->targets, step = i % f->steps;
        const float *value = f->value + ((g * f->steps + step) * f->targets + k) * f->outputs;
        series_name(h, g, k, name);
        print_cell(heed_time_text(&h->clock, f->time[g * f->steps + step], time));
        putchar(',');
        print_cell(name);
        for (int64_t q = 0; q < f->outputs; q++) {
            putchar(',');
            print_number((double)value[q]);
        }
        putchar('\n');
    }
}

/* A float in as few digits as it needs, not in those of the double that it becomes. */
static double shortest(float value) {
    char text[NUMBER_ROOM];
    double number = (double)value;
    bool range;
    number_shortest(text, number, true);
    number_read(text, &number, &range);
    return number;
}

static void put_values(heed_ctx *cx, heed_json list, const heed_forecast *f, int64_t g, int64_t k, int64_t q) {
    for (int64_t i = 0; i < f->steps && !heed_failed(cx); i++)
        heed_json_put_number(cx, list, NULL,
                             shortest(f->value[((g * f->steps + i) * f->targets + k) * f->outputs + q]));
}

static void put_outputs(heed_ctx *cx, heed_json one, const heed_model *model, const heed_forecast *f, int64_t g,
                        int64_t k) {
    if (!f->quantile) {
        put_values(cx, heed_json_put_array(cx, one, number_name(cx, model)), f, g, k, 0);
        return;
    }
    const heed_json all = heed_json_put_object(cx, one, "quantiles");
    for (int64_t q = 0; q < f->outputs; q++) {
        char text[NUMBER_ROOM];
        number_shortest(text, (double)f->quantile[q], true);
        put_values(cx, heed_json_put_array(cx, all, text), f, g, k, q);
    }
}

static void print_json(heed_ctx *cx, const heed_model *model, const heed_history *h, const heed_forecast *f) {
    const heed_json result = heed_json_new(cx, "result");
    const heed_json list = heed_json_put_array(cx, result, "forecasts");
    for (int64_t i = 0; i < f->series * f->targets && !heed_failed(cx); i++) {
        const int64_t g = i / f->targets, k = i % f->targets;
        const heed_json one = heed_json_put_object(cx, list, NULL);
        char time[HEED_TIME_ROOM];
        if (h->series_names) heed_json_put_text(cx, one, "series", h->series_names[g]);
        heed_json_put_text(cx, one, "target", h->target_names[k]);
        const heed_json times = heed_json_put_array(cx, one, "time");
        for (int64_t step = 0; step < f->steps; step++)
            if (h->clock.dates)
                heed_json_put_text(cx, times, NULL, heed_time_text(&h->clock, f->time[g * f->steps + step], time));
            else
                heed_json_put_number(cx, times, NULL, f->time[g * f->steps + step]);
        put_outputs(cx, one, model, f, g, k);
    }
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

/* ---- the command ---- */

static bool draw(const struct options *o, heed_ctx *cx, const heed_model *model, const heed_history *h,
                 const heed_forecast *f) {
    int64_t past = option_int(o, "past");
    if (!pictures_asked(o)) return true;
    if (past == 0) past = heed_json_int(cx, heed_model_config(model), "context_length");
    heed_figure *figure = forecast_draw(cx, h, f, past);
    const bool drawn = !heed_failed(cx) && pictures_write(o, figure, "the past and the forecast");
    heed_figure_free(figure);
    return drawn;
}

static void answer(const struct options *o, heed_ctx *cx, const heed_model *model, const heed_history *h) {
    heed_forecast *f = heed_forecast_new(cx, model, h);
    const char *path = option_text(o, "data");
    if (!f) heed_fail_in(cx, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
    if (f && draw(o, cx, model, h, f) && !pictures_take_standard(o))
        (option_flag(o, "json") ? print_json : print_csv)(cx, model, h, f);
    heed_forecast_free(cx, f);
}

static int run(int argc, char **argv) {
    struct options *o = options_read("forecast", options, argc, argv, 1, 1, "DIR");
    if (!o) return EXIT_USAGE;
    const bool usage = table_usage(o) && pictures_fit(o);
    heed_ctx *cx = usage ? options_open(o) : NULL;
    int status = usage ? EXIT_FAILED : EXIT_USAGE;
    if (cx) {
        heed_model *model = heed_model_load_as(cx, options_word(o, 0), &(heed_load_opts){.map = true});
        heed_history *like = model ? heed_forecast_columns(cx, model) : NULL;
        heed_history *h = like ? series_load(cx, options_values(o), option_text(o, "data"), like, true) : NULL;
        if (h) answer(o, cx, model, h);
        heed_history_free(cx, h);
        heed_history_free(cx, like);
        heed_model_free(cx, model);
        status = options_close(o, cx, EXIT_DONE);
    }
    options_free(o);
    return status;
}

const struct command forecast_command = {
    .name = "forecast",
    .summary = "the next steps of series over time",
    .words = "DIR",
    .about =
        "Reads the past of one or many series, a table as in training, and prints what follows as csv: time, series, "
        "and "
        "the mean, or the quantiles that the model was trained for. The last rows of each series count, as many as the "
        "model reads; columns are found by the names of the training data. Columns that are known for the future stand "
        "in further rows, whose targets are empty.\n\n"
        "--png, --svg and --pdf draw the past and the forecast, with bands between the quantiles. A series that was "
        "not "
        "in the training data is standardised by its own mean and deviation.",
    .options = options,
    .examples = "heed forecast load < load.csv\nheed forecast load --data load.csv --png load.png --past 200\n"
                "tail -n 200 sales.csv | heed forecast sales --json\n",
    .run = run,
};
