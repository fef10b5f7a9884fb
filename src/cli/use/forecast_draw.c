/* The picture of forecasts: a panel for each series, its past and what follows, with bands between the quantiles. */
#include "cli/use/forecast.h"
#include "data/tables/times.h"
#include "io/text.h"
#include "task/series/series_fields.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PANELS = 12, TICKS = 9 };

struct drawing {
    heed_ctx *cx;
    const heed_history *h;
    const heed_forecast *f;
    int64_t past;
    double height;    /* of a panel, in points */
    float *x, *y, *z; /* (past + steps + 1) each */
};

/* x: steps from the last value, which is 0. */
static double time_at(const struct drawing *d, int64_t g, int64_t x) {
    const int64_t rows = d->h->start[g + 1] - d->h->start[g] - d->h->future[g];
    return heed_history_time(d->h, g, rows - 1 + x);
}

static void draw_ticks(const struct drawing *d, heed_panel *p, int64_t g, int64_t past) {
    struct time_tick tick[TICKS];
    const double from = time_at(d, g, 1 - past), to = time_at(d, g, d->f->steps), now = time_at(d, g, 0);
    const int n = times_ticks(&d->h->clock, from, to, TICKS, tick);
    const char *name[TICKS];
    float at[TICKS];
    for (int i = 0; i < n; i++) {
        name[i] = tick[i].text;
        at[i] = (float)((tick[i].at - now) / d->h->step.size);
    }
    if (n > 0)
        heed_panel_ticks_x(p, at, name, n);
    else
        heed_panel_labels(p, "steps from the last value", NULL);
}

/* The forecast of output q, beginning at the last value, so that it hangs on. */
static int64_t forecast_line(const struct drawing *d, int64_t g, int64_t k, int64_t q, float last, float *out) {
    const heed_forecast *f = d->f;
    out[0] = last;
    for (int64_t i = 0; i < f->steps; i++)
        out[i + 1] = f->value[((g * f->steps + i) * f->targets + k) * f->outputs + q];
    return f->steps + 1;
}

static void band_label(const heed_forecast *f, int64_t q, char out[64]) {
    const double share = (double)f->quantile[f->outputs - 1 - q] - (double)f->quantile[q];
    snprintf(out, 64, "%.0f %% band", 100 * share);
}

/* Room above the curves for the legend, whose rows are `rows`: 12 points each, of what is not title and ticks. */
static void leave_room(const struct drawing *d, heed_panel *p, int64_t g, int64_t k, int64_t past, int64_t rows) {
    const heed_forecast *f = d->f;
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < past; i++) low = fminf(low, d->y[i]), high = fmaxf(high, d->y[i]);
    for (int64_t i = 0; i < f->steps; i++) {
        const float *value = f->value + ((g * f->steps + i) * f->targets + k) * f->outputs;
        low = fminf(low, value[0]);
        high = fmaxf(high, value[f->outputs - 1]);
    }
    const double range = high > low ? (double)(high - low) : 1,
                 share = fmin(0.5, (12 * (double)rows + 14) / (d->height - 46));
    heed_panel_limits_y(p, (double)low - 0.05 * range, (double)high + 1.05 * range * share / (1 - share));
}

/* Pairs of quantiles from the outside in, each darker. */
static void draw_forecast(const struct drawing *d, heed_panel *p, int64_t g, int64_t k, float last) {
    const heed_forecast *f = d->f;
    char label[64];
    int64_t n = 0;
    for (int64_t i = 0; i <= f->steps; i++) d->x[i] = (float)i;
    for (int64_t q = 0; q < f->outputs / 2; q++) {
        forecast_line(d, g, k, q, last, d->y);
        n = forecast_line(d, g, k, f->outputs - 1 - q, last, d->z);
        band_label(f, q, label);
        heed_panel_band(p, d->x, d->y, d->z, n,
                        &(heed_style){.label = label, .color = HEED_COLOR_ORANGE, .alpha = 0.18 + 0.1 * (double)q});
    }
    n = forecast_line(d, g, k, f->middle, last, d->y);
    heed_panel_curve(p, d->x, d->y, n, &(heed_style){.label = "forecast", .color = HEED_COLOR_ORANGE, .width = 1.8});
}

static void draw_series(const struct drawing *d, heed_panel *p, int64_t g, int64_t k, bool legend) {
    const heed_history *h = d->h;
    const int64_t rows = h->start[g + 1] - h->start[g] - h->future[g], past = rows < d->past ? rows : d->past;
    char name[SERIES_NAME];
    for (int64_t i = 0; i < past; i++) {
        d->x[i] = (float)(i - past + 1);
        d->y[i] = h->target[(h->start[g] + rows - past + i) * h->targets + k];
    }
    if (legend) leave_room(d, p, g, k, past, 2 + d->f->outputs / 2);
    heed_panel_curve(p, d->x, d->y, past, &(heed_style){.label = "past", .color = HEED_COLOR_BLUE, .width = 1.4});
    heed_panel_vline(p, 0, &(heed_style){.color = HEED_COLOR_GREY, .dash = HEED_DASH_DOTS, .width = 0.9});
    draw_forecast(d, p, g, k, d->y[past - 1]);
    series_name(h, g, k, name);
    heed_panel_title(p, name);
    heed_panel_limits_x(p, (double)(1 - past), (double)d->f->steps);
    draw_ticks(d, p, g, past);
    heed_panel_legend(p, legend);
}

heed_figure *forecast_draw(heed_ctx *cx, const heed_history *h, const heed_forecast *f, int64_t past) {
    const int64_t all = h->series * h->targets, shown_ones = all < MAX_PANELS ? all : MAX_PANELS;
    const int across = shown_ones > 6 ? 3 : shown_ones > 2 ? 2 : 1, down = ((int)shown_ones - 1) / across + 1;
    const size_t room = (size_t)(past + f->steps + 1) * sizeof(float);
    struct drawing d = {.cx = cx,
                        .h = h,
                        .f = f,
                        .past = past,
                        .height = across == 1 ? 270 : 190,
                        .x = heed_mem_new(cx, room),
                        .y = heed_mem_new(cx, room),
                        .z = heed_mem_new(cx, room)};
    heed_figure *figure = heed_figure_new(cx, across == 1 ? 620 : 330 * across, d.height * down);
    heed_figure_grid(figure, down, across);
    for (int64_t i = 0; !heed_failed(cx) && i < shown_ones; i++)
        draw_series(&d, heed_figure_panel(figure, (int)i / across, (int)i % across), i / h->targets, i % h->targets,
                    i == 0);
    if (shown_ones < all)
        heed_note(cx, HEED_LOG_INFO, "the picture shows the first %lld of %lld series", (long long)shown_ones,
                  (long long)all);
    heed_mem_free(cx, d.x);
    heed_mem_free(cx, d.y);
    heed_mem_free(cx, d.z);
    return figure;
}
