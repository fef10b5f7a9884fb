/* Forecasting: a history in three parts as the loop's source. */
#include "data/data.h"
#include "task/series/forecasting.h"
#include "train/loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const part_names[] = {"training", "validation", "test"};

/* ---- parts ---- */

/* Steps from the first row of all series to the last that has targets. */
static int64_t steps_of(const heed_history *h, double *first) {
    double last = -(double)INFINITY;
    bool exact;
    *first = (double)INFINITY;
    for (int64_t g = 0; g < h->series; g++) {
        const int64_t rows = h->start[g + 1] - h->start[g] - h->future[g];
        if (rows == 0) continue;
        *first = fmin(*first, h->first[g]);
        last = fmax(last, heed_history_time(h, g, rows - 1));
    }
    return *first <= last ? heed_interval_count(&h->step, *first, last, &exact) + 1 : 0;
}

static bool split(heed_ctx *cx, struct heed_forecasting *f) {
    heed_forecast_split s = f->opts.split;
    double first, used = 0;
    const int64_t all = steps_of(f->history, &first);
    if (s.train == 0 && s.valid == 0 && s.test == 0) s = (heed_forecast_split){0.7, 0.1, 0.2};
    const bool shares = s.train <= 1 && s.valid <= 1 && s.test <= 1;
    const double part[] = {s.train, s.valid, s.test}, whole = shares ? 1 : (double)all;
    if (!(s.train > 0 && s.valid >= 0 && s.test >= 0) || part[0] + part[1] + part[2] > whole + 1e-9)
        return heed_fail(cx, HEED_ERR_RANGE, "forecast: parts of %g, %g and %g do not fit into %s", s.train, s.valid,
                         s.test, shares ? "1" : "the steps that there are");
    for (int i = 0; i < 3; i++) {
        used += part[i];
        const int64_t steps = (int64_t)(shares ? used * (double)all + 1e-6 : used);
        f->parts.end[i] = used >= whole - 1e-9 && part[i] > 0 ? (double)INFINITY
                                                              : heed_interval_add(&f->history->step, first, steps - 1);
        if (i > 0 && part[i] == 0) f->parts.end[i] = f->parts.end[i - 1];
    }
    return true;
}

static bool has_windows(heed_ctx *cx, const struct heed_forecasting *f, heed_forecast_part part, bool asked) {
    if (f->windows[part].n > 0 || !asked) return true;
    double first;
    return heed_fail(cx, HEED_ERR_RANGE,
                     "forecast: the %s part holds no window: %lld steps are read and %lld forecast, of %lld in all",
                     part_names[part], (long long)f->opts.context, (long long)f->opts.horizon,
                     (long long)steps_of(f->history, &first));
}

/* ---- making ---- */

static heed_forecasting *new_forecasting(heed_ctx *cx, const heed_history *h, const heed_forecasting_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!h || !opts || opts->context < 1 || opts->horizon < 1 || opts->season < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "forecast: a history, a context and a horizon are needed"), NULL;
    heed_forecasting *f = heed_mem_new(cx, sizeof *f);
    if (!f) return NULL;
    *f = (heed_forecasting){.history = h, .opts = *opts};
    scales_new(cx, h, &f->scales);
    return f;
}

static heed_forecasting *finished(heed_ctx *cx, heed_forecasting *f) {
    if (!heed_failed(cx)) return f;
    heed_forecasting_free(cx, f);
    return NULL;
}

heed_forecasting *heed_forecasting_new(heed_ctx *cx, const heed_history *h, const heed_forecasting_opts *opts) {
    heed_forecasting *f = new_forecasting(cx, h, opts);
    if (!f || heed_failed(cx) || !split(cx, f)) return finished(cx, f);
    scales_measure(h, f->parts.end[0], opts->season, &f->scales);
    for (int i = 0; i < 3 && !heed_failed(cx); i++) cuts_make(cx, f, (heed_forecast_part)i);
    const heed_forecast_split *s = &opts->split;
    const bool standard = s->train == 0 && s->valid == 0 && s->test == 0;
    if (!heed_failed(cx) && has_windows(cx, f, HEED_FORECAST_TRAIN, true) &&
        has_windows(cx, f, HEED_FORECAST_VALID, standard || s->valid > 0))
        has_windows(cx, f, HEED_FORECAST_TEST, standard || s->test > 0);
    return finished(cx, f);
}

heed_forecasting *heed_forecasting_like(heed_ctx *cx, const heed_history *h, const heed_model *model) {
    if (heed_failed(cx)) return NULL;
    if (!model) return heed_fail(cx, HEED_ERR_USAGE, "forecast: the model is NULL"), NULL;
    const heed_json config = heed_model_config(model);
    heed_forecasting_opts opts = {.context = heed_json_int(cx, config, "context_length"),
                                  .horizon = heed_json_int(cx, config, "prediction_length")};
    heed_forecasting *f = new_forecasting(cx, h, &opts);
    if (!f || heed_failed(cx) || !describe_get(cx, config, h, &f->scales, &f->opts.season, &f->parts))
        return finished(cx, f);
    for (int i = 0; i < 3 && !heed_failed(cx); i++) cuts_make(cx, f, (heed_forecast_part)i);
    return finished(cx, f);
}

void heed_forecasting_free(heed_ctx *cx, heed_forecasting *f) {
    if (!f) return;
    heed_source_free(cx, f->source);
    for (int i = 0; i < 3; i++) cuts_free(cx, &f->windows[i]);
    scales_free(cx, &f->scales);
    heed_mem_free(cx, f);
}

bool heed_forecasting_describe(heed_ctx *cx, const heed_forecasting *f, heed_model *model) {
    return !heed_failed(cx) && f && model && describe_put(cx, heed_model_config(model), f);
}

int64_t heed_forecasting_windows(const heed_forecasting *f, heed_forecast_part part) {
    return f ? f->windows[part].n : 0;
}

/* ---- the source ---- */

static void copy_train(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells) {
    cuts_copy(&((const struct heed_forecasting *)own)->windows[HEED_FORECAST_TRAIN], seed, epoch, row, cells);
}

static double value_of(const heed_forecast_score *s, const char *name) {
    return strcmp(name, "mse") == 0       ? s->all.scaled_mse
           : strcmp(name, "mae") == 0     ? s->all.scaled_mae
           : strcmp(name, "mase") == 0    ? s->all.mase
           : strcmp(name, "pinball") == 0 ? s->pinball
                                          : s->coverage;
}

bool forecasting_score(heed_ctx *cx, const heed_forecast_score *found, const char *names, heed_metrics *metrics,
                       heed_score *score) {
    if (!heed_metrics_find(cx, names, metrics)) return false;
    *score = (heed_score){.loss = found->loss};
    for (int i = 0; metrics->list[i]; i++)
        *(i == 0 ? &score->metric : &score->more[i - 1]) = value_of(found, metrics->list[i]->name);
    return true;
}

static bool measure_rows(heed_ctx *cx, const struct heed_forecasting *f, const heed_model *model,
                         heed_forecast_part part, const int64_t *rows, int64_t n, heed_score *score) {
    heed_forecast_score found;
    heed_metrics metrics;
    if (!forecasting_measure(cx, f, model, part, rows, n, f->opts.micro_batch, &found)) return false;
    const bool ok = forecasting_score(cx, &found, f->opts.metrics, &metrics, score);
    heed_forecast_score_free(cx, &found);
    return ok;
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    return measure_rows(cx, own, model, test ? HEED_FORECAST_TEST : HEED_FORECAST_VALID, NULL, 0, score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *rows, int64_t n,
                         heed_score *score) {
    return measure_rows(cx, own, model, HEED_FORECAST_VALID, rows, n, score);
}

/* Batches are cut out of the history, whose numbers the notes of a checkpoint would not see. */
static void settings(heed_ctx *cx, void *own, heed_json at) {
    struct heed_forecasting *f = own;
    const heed_history *h = f->history;
    if (!*f->data) {
        uint64_t hash = notes_mix(0, h->start, (size_t)(h->series + 1) * sizeof *h->start);
        hash = notes_mix(hash, h->target, (size_t)(h->rows * h->targets) * sizeof *h->target);
        hash = notes_mix(hash, h->covariate, (size_t)(h->rows * h->covariates) * sizeof *h->covariate);
        hash = notes_mix(hash, h->knowns, (size_t)(h->rows * h->known) * sizeof *h->knowns);
        notes_name_data(f->data, h->rows, "rows", hash);
    }
    heed_json_put_text(cx, at, "history", f->data);
}

const heed_loop_source *heed_forecasting_source(heed_ctx *cx, heed_forecasting *f) {
    const struct cuts *w = f ? f->windows : NULL;
    if (heed_failed(cx) || !f) return NULL;
    if (!f->source)
        f->source = heed_source_new(cx, &(heed_source_opts){.train = &w[HEED_FORECAST_TRAIN].set,
                                                            .valid = w[HEED_FORECAST_VALID].n > 0 ? &w[1].set : NULL,
                                                            .test = w[HEED_FORECAST_TEST].n > 0 ? &w[2].set : NULL,
                                                            .batch = f->opts.batch,
                                                            .micro_batch = f->opts.micro_batch,
                                                            .seed = f->opts.seed,
                                                            .own = f,
                                                            .transform = copy_train,
                                                            .measure = measure,
                                                            .measure_some = measure_some,
                                                            .metrics = f->opts.metrics,
                                                            .settings = settings,
                                                            .examples = "windows"});
    return heed_source_loop(f->source);
}
