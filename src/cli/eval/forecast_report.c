/* heed eval of forecasters: errors beside those of repeating the last season, as text, JSON and a picture. */
#include "base/text.h"
#include "cli/core/figure_options.h"
#include "cli/eval/eval_report.h"
#include "heed/forecast.h"
#include "heed/plot.h"
#include "plot/terminal.h"
#include "task/series/series_fields.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *part_of(const struct options *o) {
    const char *const part = option_text(o, "part");
    return strcmp(part, "train") == 0 ? "training" : strcmp(part, "val") == 0 ? "validation" : part;
}

/* ---- text ---- */

static void print_errors(const char *name, int wide, const heed_forecast_errors *e, bool units) {
    cli_print_cell(stdout, name, wide);
    printf("  %12.4f  %12.4f", e->scaled_mae, e->scaled_mse);
    if (units)
        printf("  %12.6g  %12.6g", e->mae, e->mse);
    else
        printf("  %12s  %12s", "", "");
    if (isnan(e->mase))
        puts("         -");
    else
        printf("  %8.4f\n", e->mase);
}

static void print_text(const heed_evaluation *e, const char *part) {
    const heed_forecast_score *const s = e->series;
    const int64_t season = e->season;
    char text[80], windows[48];
    const double share = s->repeated.scaled_mae > 0 ? 100 * (1 - s->all.scaled_mae / s->repeated.scaled_mae) : 0;
    int wide = 24;
    printf("%s, %s: MAE %.4f, MSE %.4f in standard deviations of the training data\n", part,
           text_count(s->windows, "window", "windows", windows), s->all.scaled_mae, s->all.scaled_mse);
    snprintf(text, sizeof text, season > 1 ? "repeating the last %lld" : "repeating the last value", (long long)season);
    printf("MAE %.1f %% %s that of %s%s\n\n", fabs(share), share >= 0 ? "below" : "above", text,
           season > 1 ? " steps" : "");
    cli_print_cell(stdout, "", wide);
    puts("    scaled MAE    scaled MSE           MAE           MSE      MASE");
    print_errors("model", wide, &s->all, s->targets == 1);
    print_errors(text, wide, &s->repeated, s->targets == 1);
    for (int64_t k = 0; s->targets > 1 && k < s->targets; k++) {
        char name[SERIES_NAME];
        text_printable(name, sizeof name, e->target_names[k], strlen(e->target_names[k]));
        putchar('\n');
        print_errors(name, wide, &s->target[k], true);
        print_errors("  repeating", wide, &s->repeated_target[k], true);
    }
    if (s->quantiles > 0)
        printf("\npinball loss %.4f; %.1f %% of the values lie within the outer quantiles (nominally %.1f %%), whose "
               "band is %.4f wide on average\n",
               s->pinball, 100 * s->coverage, 100 * s->nominal, s->width);
}

/* ---- JSON ---- */

static void put_errors(heed_ctx *cx, heed_json at, const heed_forecast_errors *e) {
    heed_json_put_number(cx, at, "mae", e->mae);
    heed_json_put_number(cx, at, "mse", e->mse);
    heed_json_put_number(cx, at, "scaled_mae", e->scaled_mae);
    heed_json_put_number(cx, at, "scaled_mse", e->scaled_mse);
    if (!isnan(e->mase)) heed_json_put_number(cx, at, "mase", e->mase);
}

static void put_steps(heed_ctx *cx, heed_json at, const float *values, int64_t n) {
    const heed_json list = heed_json_put_array(cx, at, "scaled_mae_by_step");
    for (int64_t i = 0; i < n; i++) heed_json_put_number(cx, list, NULL, (double)values[i]);
}

static void print_json(heed_ctx *cx, const heed_evaluation *e, const char *part) {
    const heed_forecast_score *const s = e->series;
    const heed_json result = heed_json_new(cx, "result");
    heed_json_put_text(cx, result, "part", part);
    heed_json_put_int(cx, result, "windows", s->windows);
    heed_json_put_number(cx, result, "loss", s->loss);
    put_errors(cx, result, &s->all);
    put_steps(cx, result, s->by_step, s->horizon);
    if (s->quantiles > 0) {
        heed_json_put_number(cx, result, "pinball", s->pinball);
        heed_json_put_number(cx, result, "coverage", s->coverage);
        heed_json_put_number(cx, result, "nominal_coverage", s->nominal);
        heed_json_put_number(cx, result, "band_width", s->width);
    }
    const heed_json repeated = heed_json_put_object(cx, result, "repeated");
    heed_json_put_int(cx, repeated, "season", e->season);
    put_errors(cx, repeated, &s->repeated);
    put_steps(cx, repeated, s->repeated_by_step, s->horizon);
    const heed_json list = heed_json_put_array(cx, result, "targets");
    for (int64_t k = 0; k < s->targets; k++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        heed_json_put_text(cx, one, "name", e->target_names[k]);
        put_errors(cx, one, &s->target[k]);
        put_errors(cx, heed_json_put_object(cx, one, "repeated"), &s->repeated_target[k]);
    }
    json_answer(cx, stdout, result, 2);
    heed_json_free(result);
}

/* ---- the picture ---- */

static bool write_pictures(const struct options *o, heed_ctx *cx, const heed_forecast_score *s) {
    float *x = pictures_asked(o) ? heed_mem_new(cx, (size_t)s->horizon * sizeof *x) : NULL;
    if (!x) return !heed_failed(cx);
    heed_figure *f = heed_figure_new(cx, 460, 290);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    for (int64_t i = 0; i < s->horizon; i++) x[i] = (float)(i + 1);
    heed_panel_curve(p, x, s->repeated_by_step, s->horizon,
                     &(heed_style){.label = "repeating the last season", .color = HEED_COLOR_GREY, .width = 1.4});
    heed_panel_curve(p, x, s->by_step, s->horizon,
                     &(heed_style){.label = "model", .color = HEED_COLOR_BLUE, .width = 1.8});
    heed_panel_labels(p, "steps ahead", "mean absolute error, in deviations");
    heed_panel_limits_y(p, 0, (double)NAN);
    heed_panel_title(p, "How errors grow with the horizon");
    pictures_write(o, f, "errors by steps ahead");
    heed_figure_free(f);
    heed_mem_free(cx, x);
    return !heed_failed(cx);
}

/* ---- all of it ---- */

void report_series(const struct options *o, heed_ctx *cx, const heed_evaluation *e) {
    if (!write_pictures(o, cx, e->series) || pictures_take_standard(o)) return;
    if (option_flag(o, "json"))
        print_json(cx, e, part_of(o));
    else
        print_text(e, part_of(o));
}
