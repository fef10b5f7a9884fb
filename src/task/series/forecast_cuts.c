/* Windows: what a forecaster reads and what it should say, cut out of a history, standardised. */
#include "base/ctx.h"
#include "data/data.h"
#include "data/tables/times.h"
#include "task/series/forecasting.h"
#include <math.h>
#include <string.h>

/* ---- one window ---- */

/* n rows from `row` on of columns (rows, width), into out (n, width). */
static void copy_scaled(const float *x, int64_t width, int64_t row, int64_t n, const float *mean,
                        const float *deviation, float *out) {
    const float *from = x + row * width;
    for (int64_t i = 0; i < n; i++, from += width, out += width)
        for (int64_t k = 0; k < width; k++) out[k] = (from[k] - mean[k]) / deviation[k];
}

/* What is known of the steps from `row` on. Behind the end of the history there is the calendar alone. */
static void copy_known(const heed_history *h, const struct scales *s, int64_t g, int64_t row, int64_t n, float *out) {
    const int64_t there = h->start[g + 1] - row, columns = h->known_names ? data_names_count(h->known_names) : 0;
    const float *mean = s->feature_mean + h->covariates, *deviation = s->feature_deviation + h->covariates;
    copy_scaled(h->knowns, h->known, row, there < n ? there : n, mean, deviation, out);
    for (int64_t i = there > 0 ? there : 0; i < n; i++) {
        float *to = out + i * h->known;
        for (int64_t k = 0; k < columns; k++) to[k] = 0;
        if (h->calendar)
            times_calendar(h->calendar, &h->clock, heed_history_time(h, g, row + i - h->start[g]), to + columns);
    }
}

void window_fill(const heed_history *h, const struct scales *s, int64_t context, int64_t horizon, int64_t g,
                 int64_t row, const struct window_room *to) {
    const float *mean = s->mean + g * h->targets, *deviation = s->deviation + g * h->targets;
    copy_scaled(h->target, h->targets, row - context, context, mean, deviation, to->values);
    if (to->features)
        copy_scaled(h->covariate, h->covariates, row - context, context, s->feature_mean, s->feature_deviation,
                    to->features);
    if (to->past_known) copy_known(h, s, g, row - context, context, to->past_known);
    if (to->future_known) copy_known(h, s, g, row, horizon, to->future_known);
    if (to->future) copy_scaled(h->target, h->targets, row, horizon, mean, deviation, to->future);
}

/* ---- as a data set ---- */

static void add_column(heed_dataset *set, const char *name, int64_t steps, int64_t width) {
    if (width > 0)
        set->column[set->columns++] = (heed_column){.name = name, .type = HEED_F32, .rank = 2, .shape = {steps, width}};
}

void cuts_copy(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    const struct cuts *w = own;
    const struct heed_forecasting *f = w->f;
    const heed_history *h = f->history;
    struct window_room to = {.values = (cells++)->data};
    (void)seed, (void)epoch;
    if (h->covariates > 0) to.features = (cells++)->data;
    if (h->known > 0) to.past_known = (cells++)->data;
    if (h->known > 0) to.future_known = (cells++)->data;
    to.future = cells->data;
    window_fill(h, &f->scales, f->opts.context, f->opts.horizon, w->series[row], w->row[row], &to);
}

/* ---- which ---- */

/* Rows of series g that windows of a part may forecast from: *low up to *high. */
static void range_of(const struct heed_forecasting *f, heed_forecast_part part, int64_t g, int64_t *low,
                     int64_t *high) {
    const heed_history *h = f->history;
    const int64_t before = f->opts.season > f->opts.context ? f->opts.season : f->opts.context;
    const int64_t n = h->start[g + 1] - h->start[g] - h->future[g], last = n - f->opts.horizon + 1;
    const double from = part == HEED_FORECAST_TRAIN ? -(double)INFINITY : f->parts.end[part - 1];
    const double to = f->parts.end[part], near = 0.25 * h->step.size;
    *low = before;
    while (*low < last && !(heed_history_time(h, g, *low) > from + near)) ++*low;
    *high = last;
    while (*high > *low && !(heed_history_time(h, g, *high - 1 + f->opts.horizon - 1) <= to + near)) --*high;
    if (*high < *low) *high = *low;
}

bool cuts_make(heed_ctx *cx, struct heed_forecasting *f, heed_forecast_part part) {
    const heed_history *h = f->history;
    struct cuts *w = &f->windows[part];
    int64_t low, high, n = 0;
    *w = (struct cuts){.f = f};
    for (int64_t g = 0; g < h->series; g++) {
        range_of(f, part, g, &low, &high);
        w->n += high - low;
    }
    w->row = data_room(cx, w->n, 1, sizeof *w->row);
    w->series = data_room(cx, w->n, 1, sizeof *w->series);
    for (int64_t g = 0; !heed_failed(cx) && g < h->series; g++) {
        range_of(f, part, g, &low, &high);
        for (int64_t row = low; row < high; row++, n++) {
            w->row[n] = h->start[g] + row;
            w->series[n] = g;
        }
    }
    w->set.n = w->n;
    add_column(&w->set, "past_values", f->opts.context, h->targets);
    add_column(&w->set, "past_features", f->opts.context, h->covariates);
    add_column(&w->set, "past_time_features", f->opts.context, h->known);
    add_column(&w->set, "future_time_features", f->opts.horizon, h->known);
    add_column(&w->set, "future_values", f->opts.horizon, h->targets);
    return !heed_failed(cx);
}

void cuts_free(heed_ctx *cx, struct cuts *w) {
    heed_mem_free(cx, w->row);
    heed_mem_free(cx, w->series);
}
