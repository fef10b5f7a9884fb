/* What a model keeps of its history: means and deviations of series, names of columns, the step, the parts. */
#include "data/data.h"
#include "heed/attend.h"
#include "io/text.h"
#include "task/series/forecasting.h"
#include "train/loop.h"
#include <math.h>
#include <string.h>

/* ---- means and deviations ---- */

static int64_t features_of(const heed_history *h) { return h->covariates + h->known; }

bool scales_new(heed_ctx *cx, const heed_history *h, struct scales *s) {
    const int64_t n = h->series * h->targets, features = features_of(h);
    *s = (struct scales){.mean = data_room(cx, h->series, h->targets, sizeof *s->mean),
                         .deviation = data_room(cx, h->series, h->targets, sizeof *s->deviation),
                         .error = data_room(cx, h->series, h->targets, sizeof *s->error),
                         .feature_mean = data_room(cx, features, 1, sizeof *s->feature_mean),
                         .feature_deviation = data_room(cx, features, 1, sizeof *s->feature_deviation)};
    for (int64_t i = 0; !heed_failed(cx) && i < n; i++) s->mean[i] = 0, s->deviation[i] = 1, s->error[i] = 0;
    for (int64_t i = 0; !heed_failed(cx) && i < features; i++) s->feature_mean[i] = 0, s->feature_deviation[i] = 1;
    return !heed_failed(cx);
}

void scales_free(heed_ctx *cx, struct scales *s) {
    void *const parts[] = {s->mean, s->deviation, s->error, s->feature_mean, s->feature_deviation};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
}

/* Rows of a series up to a time, without those to come. */
static int64_t rows_until(const heed_history *h, int64_t g, double until) {
    int64_t low = 0, high = h->start[g + 1] - h->start[g] - h->future[g];
    while (low < high) { /* times rise */
        const int64_t middle = (low + high) / 2;
        if (heed_history_time(h, g, middle) - until <= 0.25 * h->step.size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct moments {
    double n, sum, squares;
};
static void moments_add(struct moments *m, const float *x, int64_t stride, int64_t n) {
    for (int64_t i = 0; i < n; i++) m->sum += (double)x[i * stride];
    m->n += (double)n;
}
static void moments_spread(struct moments *m, const float *x, int64_t stride, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double away = (double)x[i * stride] - m->sum / m->n;
        m->squares += away * away;
    }
}
/* A deviation of 0 would divide by it. */
static void moments_put(const struct moments *m, float *mean, float *deviation) {
    const double spread = m->n > 0 ? sqrt(m->squares / m->n) : 0;
    *mean = m->n > 0 ? (float)(m->sum / m->n) : 0;
    *deviation = (float)spread > 0 ? (float)spread : 1;
}

void scales_measure_series(const heed_history *h, int64_t g, double until, int64_t season, struct scales *s) {
    const int64_t width = h->targets, n = rows_until(h, g, until), lag = season > 0 ? season : 1;
    for (int64_t k = 0; k < width; k++) {
        const float *x = h->target + h->start[g] * width + k;
        struct moments m = {0};
        double error = 0;
        moments_add(&m, x, width, n);
        moments_spread(&m, x, width, n);
        moments_put(&m, &s->mean[g * width + k], &s->deviation[g * width + k]);
        for (int64_t i = lag; i < n; i++) error += fabs((double)x[i * width] - (double)x[(i - lag) * width]);
        s->error[g * width + k] = n > lag ? (float)(error / (double)(n - lag)) : 0;
    }
}

/* Covariates are standardised over all series; what the calendar gives is so by itself. */
static void measure_features(const heed_history *h, double until, struct scales *s) {
    const int64_t columns = h->known_names ? data_names_count(h->known_names) : 0;
    for (int64_t k = 0; k < h->covariates + columns; k++) {
        const bool known = k >= h->covariates;
        const int64_t width = known ? h->known : h->covariates;
        const float *x = known ? h->knowns + (k - h->covariates) : h->covariate + k;
        struct moments m = {0};
        for (int64_t g = 0; g < h->series; g++)
            moments_add(&m, x + h->start[g] * width, width, rows_until(h, g, until));
        for (int64_t g = 0; g < h->series; g++)
            moments_spread(&m, x + h->start[g] * width, width, rows_until(h, g, until));
        moments_put(&m, &s->feature_mean[k], &s->feature_deviation[k]);
    }
}

void scales_measure(const heed_history *h, double until, int64_t season, struct scales *s) {
    for (int64_t g = 0; g < h->series; g++) scales_measure_series(h, g, until, season, s);
    measure_features(h, until, s);
}

/* ---- into the config ---- */

static void put_floats(heed_ctx *cx, heed_json at, const char *key, const float *x, int64_t n) {
    const heed_json list = heed_json_put_array(cx, at, key);
    for (int64_t i = 0; i < n && !heed_failed(cx); i++) heed_json_put_number(cx, list, NULL, (double)x[i]);
}

static void put_text(heed_ctx *cx, heed_json at, const char *key, const char *text) {
    if (text)
        heed_json_put_text(cx, at, key, text);
    else
        heed_json_put_null(cx, at, key);
}

static void put_columns(heed_ctx *cx, heed_json at, const heed_history *h) {
    put_text(cx, at, "time", h->time_name);
    put_text(cx, at, "series", h->series_column);
    schema_put_names(cx, at, "targets", h->target_names);
    schema_put_names(cx, at, "covariates", h->covariate_names);
    schema_put_names(cx, at, "known", h->known_names);
    put_text(cx, at, "calendar", h->calendar);
    heed_json_put_bool(cx, at, "dates", h->clock.dates);
    const heed_json step = heed_json_put_object(cx, at, "step");
    heed_json_put_number(cx, step, "size", h->step.size);
    heed_json_put_int(cx, step, "months", h->step.months);
    heed_json_put_bool(cx, step, "month_ends", h->step.month_ends);
}

static const char *const part_keys[] = {"train_until", "valid_until", "test_until"};

static void put_parts(heed_ctx *cx, heed_json at, const struct heed_forecasting *f) {
    char text[HEED_TIME_ROOM];
    for (int i = 0; i < 3; i++)
        put_text(cx, at, part_keys[i],
                 isfinite(f->parts.end[i]) ? heed_time_text(&f->history->clock, f->parts.end[i], text) : NULL);
}

static void put_scales(heed_ctx *cx, heed_json at, const heed_history *h, const struct scales *s) {
    const heed_json list = heed_json_put_array(cx, at, "scales");
    for (int64_t g = 0; g < h->series && !heed_failed(cx); g++) {
        const heed_json one = heed_json_put_object(cx, list, NULL);
        put_text(cx, one, "series", h->series_names ? h->series_names[g] : NULL);
        put_floats(cx, one, "mean", s->mean + g * h->targets, h->targets);
        put_floats(cx, one, "deviation", s->deviation + g * h->targets, h->targets);
        put_floats(cx, one, "season_error", s->error + g * h->targets, h->targets);
    }
    put_floats(cx, at, "feature_mean", s->feature_mean, features_of(h));
    put_floats(cx, at, "feature_deviation", s->feature_deviation, features_of(h));
}

bool describe_put(heed_ctx *cx, heed_json config, const struct heed_forecasting *f) {
    const heed_json at = heed_json_put_object(cx, config, "history");
    put_columns(cx, at, f->history);
    heed_json_put_int(cx, at, "season", f->opts.season);
    put_parts(cx, at, f);
    put_scales(cx, at, f->history, &f->scales);
    return !heed_failed(cx);
}

/* ---- out of it ---- */

/* n finite numbers, deviations positive. */
static bool get_floats(heed_ctx *cx, heed_json at, const char *key, float *out, int64_t n, bool positive) {
    const heed_json list = heed_json_array(cx, at, key);
    int64_t i = 0;
    if (!heed_failed(cx) && heed_json_count(list) != n)
        return heed_json_fail(cx, list, "%lld numbers, not %lld", (long long)heed_json_count(list), (long long)n);
    for (heed_json v = heed_json_first(list); i < n && !heed_failed(cx); v = heed_json_next(v), i++) {
        out[i] = (float)heed_json_number(cx, v, NULL);
        if (!isfinite(out[i]) || (positive && !(out[i] > 0)))
            return heed_json_fail(cx, v, "%g is no %s", (double)out[i], positive ? "deviation" : "finite number");
    }
    return !heed_failed(cx);
}

static char *get_text(heed_ctx *cx, heed_json at, const char *key) {
    const char *text = heed_json_text_or(cx, at, key, NULL);
    char *copy = text ? heed_mem_new(cx, strlen(text) + 1) : NULL;
    if (copy) strcpy(copy, text);
    return copy;
}

static void get_columns(heed_ctx *cx, heed_json at, heed_history *h) {
    const heed_json step = heed_json_object(cx, at, "step");
    h->time_name = get_text(cx, at, "time");
    h->series_column = get_text(cx, at, "series");
    h->target_names = schema_names(cx, heed_json_array(cx, at, "targets"), -1);
    h->covariate_names = schema_names(cx, heed_json_array(cx, at, "covariates"), -1);
    h->known_names = schema_names(cx, heed_json_array(cx, at, "known"), -1);
    h->calendar = get_text(cx, at, "calendar");
    h->clock.dates = heed_json_bool(cx, at, "dates");
    h->step = (heed_interval){heed_json_number(cx, step, "size"), heed_json_int(cx, step, "months"),
                              heed_json_bool(cx, step, "month_ends")};
    if (!heed_failed(cx) && (!(h->step.size >= 0) || h->step.months < 0 || h->step.months > 12000))
        heed_json_fail(cx, step, "no step of time");
}

heed_history *heed_forecast_columns(heed_ctx *cx, const heed_model *model) {
    if (heed_failed(cx)) return NULL;
    if (!model) return heed_fail(cx, HEED_ERR_USAGE, "forecast: the model is NULL"), NULL;
    const heed_json config = heed_model_config(model);
    if (!heed_model_takes(model, "past_values"))
        return heed_fail(cx, HEED_ERR_USAGE, "forecast: %s is no forecaster", heed_model_family(model)->name), NULL;
    const heed_json at = heed_json_object(cx, config, "history");
    heed_history *h = heed_failed(cx) ? NULL : heed_mem_new(cx, sizeof *h);
    if (!h) return NULL;
    *h = (heed_history){.targets = heed_json_int(cx, config, "num_targets"),
                        .covariates = heed_json_int(cx, config, "num_features"),
                        .known = heed_json_int(cx, config, "num_time_features")};
    get_columns(cx, at, h);
    if (!heed_failed(cx)) return h;
    heed_history_free(cx, h);
    return NULL;
}

static bool get_parts(heed_ctx *cx, heed_json at, struct parts *parts) {
    for (int i = 0; i < 3 && !heed_failed(cx); i++) {
        const char *text = heed_json_text_or(cx, at, part_keys[i], NULL);
        parts->end[i] = (double)INFINITY;
        if (text && !heed_time_read(text, NULL, &parts->end[i]))
            return heed_json_fail(cx, heed_json_find(cx, at, part_keys[i]), "'%s' is no time", escaped(text).s);
    }
    return !heed_failed(cx);
}

/* The entry of series g; a table without series has one without a name. */
static heed_json find_scale(heed_ctx *cx, heed_json list, const heed_history *h, int64_t g) {
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *name = heed_json_text_or(cx, v, "series", NULL);
        if (!h->series_names ? !name : name && strcmp(name, h->series_names[g]) == 0) return v;
    }
    return (heed_json){0};
}

bool describe_get(heed_ctx *cx, heed_json config, const heed_history *h, struct scales *s, int64_t *season,
                  struct parts *parts) {
    const heed_json at = heed_json_object(cx, config, "history"), list = heed_json_array(cx, at, "scales");
    const int64_t n = h->targets, features = features_of(h), repeats = heed_json_int(cx, at, "season");
    if (!heed_failed(cx) && (repeats < 0 || repeats > 1 << 20)) heed_json_fail(cx, at, "season: out of range");
    for (int64_t g = 0; g < h->series && !heed_failed(cx); g++) {
        const heed_json one = find_scale(cx, list, h, g);
        if (heed_json_kind_of(one) == HEED_JSON_NONE)
            scales_measure_series(h, g, (double)INFINITY, repeats, s);
        else if (get_floats(cx, one, "mean", s->mean + g * n, n, false) &&
                 get_floats(cx, one, "deviation", s->deviation + g * n, n, true))
            get_floats(cx, one, "season_error", s->error + g * n, n, false);
    }
    get_floats(cx, at, "feature_mean", s->feature_mean, features, false);
    get_floats(cx, at, "feature_deviation", s->feature_deviation, features, true);
    if (season) *season = repeats;
    return !heed_failed(cx) && (!parts || get_parts(cx, at, parts));
}
