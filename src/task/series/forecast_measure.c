/* How good forecasts are: errors beside those of repeating the last season, quantiles and the band between them. */
#include "base/ctx.h"
#include "data/data.h"
#include "task/series/forecasting.h"
#include <math.h>
#include <string.h>

int64_t config_quantiles(heed_ctx *cx, heed_json config, float *out, int64_t most) {
    const heed_json list = heed_json_array(cx, config, "quantiles");
    int64_t n = 0;
    for (heed_json v = heed_json_first(list); n < most && heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        out[n++] = (float)heed_json_number(cx, v, NULL);
    return heed_failed(cx) ? 0 : n;
}

int64_t quantile_middle(const float *quantile, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabsf(quantile[i] - 0.5f) < fabsf(quantile[best] - 0.5f)) best = i;
    return best;
}

void quantiles_sort(float *values, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const float value = values[i];
        int64_t k = i;
        for (; k > 0 && values[k - 1] > value; k--) values[k] = values[k - 1];
        values[k] = value;
    }
}

/* ---- sums ---- */

struct sums {
    double n, absolute, square, scaled_absolute, scaled_square;
    double ratio, ratios; /* of mase, and how many series and targets have one */
};

struct tally {
    const struct heed_forecasting *f;
    const struct cuts *windows;
    struct sums *model, *repeated;      /* (targets) */
    double *by_step, *repeated_by_step; /* (horizon) */
    int64_t quantiles, middle;
    float quantile[MAX_QUANTILES], sorted[MAX_QUANTILES];
    double pinball, inside, width;
};

/* An error in standard deviations, `deviation` in the units of the data. */
static void add_error(struct sums *s, double error, double deviation, double unit) {
    const double size = fabs(error);
    s->n++;
    s->absolute += size * deviation;
    s->square += size * deviation * size * deviation;
    s->scaled_absolute += size;
    s->scaled_square += size * size;
    if (unit > 0) {
        s->ratio += size * deviation / unit;
        s->ratios++;
    }
}

/* The forecast of one number: its outputs at y. Returns its error. */
static double take_outputs(struct tally *t, const float *y, double wanted) {
    const int64_t n = t->quantiles;
    if (n == 0) return (double)*y - wanted;
    memcpy(t->sorted, y, (size_t)n * sizeof *y);
    quantiles_sort(t->sorted, n);
    for (int64_t i = 0; i < n; i++) {
        const double miss = wanted - (double)t->sorted[i], q = (double)t->quantile[i];
        t->pinball += fmax(q * miss, (q - 1) * miss);
    }
    t->inside += wanted >= (double)t->sorted[0] && wanted <= (double)t->sorted[n - 1];
    t->width += (double)t->sorted[n - 1] - (double)t->sorted[0];
    return (double)t->sorted[t->middle] - wanted;
}

static void take_window(struct tally *t, int64_t window, const float *y, const float *wanted) {
    const heed_history *h = t->f->history;
    const struct scales *s = &t->f->scales;
    const int64_t width = h->targets, row = t->windows->row[window], g = t->windows->series[window];
    const int64_t lag = t->f->opts.season > 0 ? t->f->opts.season : 1, outputs = t->quantiles > 0 ? t->quantiles : 1;
    for (int64_t step = 0; step < t->f->opts.horizon; step++)
        for (int64_t k = 0; k < width; k++, y += outputs, wanted++) {
            const int64_t from = (row + step - lag * (step / lag + 1)) * width + k; /* the last season's */
            const double mean = (double)s->mean[g * width + k], deviation = (double)s->deviation[g * width + k];
            const double error = take_outputs(t, y, (double)*wanted);
            const double other = ((double)h->target[from] - mean) / deviation - (double)*wanted;
            add_error(&t->model[k], error, deviation, (double)s->error[g * width + k]);
            add_error(&t->repeated[k], other, deviation, (double)s->error[g * width + k]);
            t->by_step[step] += fabs(error);
            t->repeated_by_step[step] += fabs(other);
        }
}

static bool take_batch(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    struct tally *t = own;
    heed_tensor *logits = heed_contiguous(cx, heed_io_get(out, "logits"));
    const float *wanted = heed_batch_f32(b, "future_values");
    const int64_t all = t->f->opts.horizon * t->f->history->targets, outputs = t->quantiles > 0 ? t->quantiles : 1;
    if (!logits) return false;
    if (cx->config.dry) return true;
    if (heed_count(logits) != b->n * all * outputs || !wanted)
        return heed_fail(cx, HEED_ERR_SHAPE, "forecast: the model's outputs %s do not fit the data",
                         heed_shape_text(logits).s);
    const float *y = heed_f32(logits);
    for (int64_t i = 0; i < b->n * all * outputs; i++)
        if (!isfinite(y[i]))
            return heed_fail(cx, HEED_ERR_RANGE, "forecast: the model's output is not a finite number");
    for (int64_t i = 0; i < b->n; i++) take_window(t, b->row[i], y + i * all * outputs, wanted + i * all);
    return true;
}

/* ---- figures ---- */

static heed_forecast_errors errors_of(const struct sums *s) {
    return (heed_forecast_errors){s->absolute / s->n, s->square / s->n, s->scaled_absolute / s->n,
                                  s->scaled_square / s->n, s->ratios > 0 ? s->ratio / s->ratios : (double)NAN};
}

static heed_forecast_errors all_of(const struct sums *s, int64_t n) {
    struct sums all = {0};
    for (int64_t k = 0; k < n; k++) {
        all.n += s[k].n;
        all.absolute += s[k].absolute;
        all.square += s[k].square;
        all.scaled_absolute += s[k].scaled_absolute;
        all.scaled_square += s[k].scaled_square;
        all.ratio += s[k].ratio;
        all.ratios += s[k].ratios;
    }
    return errors_of(&all);
}

static void finish(const struct tally *t, heed_forecast_score *score) {
    const int64_t targets = score->targets;
    double n = 0;
    score->all = all_of(t->model, targets);
    score->repeated = all_of(t->repeated, targets);
    for (int64_t k = 0; k < targets; k++) {
        score->target[k] = errors_of(&t->model[k]);
        score->repeated_target[k] = errors_of(&t->repeated[k]);
        n += t->model[k].n;
    }
    for (int64_t i = 0; i < score->horizon; i++) {
        score->by_step[i] = (float)(t->by_step[i] * (double)score->horizon / n);
        score->repeated_by_step[i] = (float)(t->repeated_by_step[i] * (double)score->horizon / n);
    }
    if (t->quantiles == 0) return;
    score->quantiles = t->quantiles;
    score->pinball = t->pinball / (n * (double)t->quantiles);
    score->coverage = t->inside / n;
    score->width = t->width / n;
    score->nominal = (double)t->quantile[t->quantiles - 1] - (double)t->quantile[0];
}

static void *zeros(heed_ctx *cx, int64_t n, size_t size) {
    void *room = data_room(cx, n, 1, size);
    if (room) memset(room, 0, (size_t)n * size);
    return room;
}

bool heed_forecasting_measure(heed_ctx *cx, const heed_forecasting *f, const heed_model *model, heed_forecast_part part,
                              int64_t batch, heed_forecast_score *score) {
    return forecasting_measure(cx, f, model, part, NULL, 0, batch, score);
}

bool forecasting_measure(heed_ctx *cx, const heed_forecasting *f, const heed_model *model, heed_forecast_part part,
                         const int64_t *rows, int64_t n, int64_t batch, heed_forecast_score *score) {
    if (heed_failed(cx)) return false;
    if (!f || !model || !score) return heed_fail(cx, HEED_ERR_USAGE, "forecast: data, a model and a score are needed");
    const int64_t targets = f->history->targets, horizon = f->opts.horizon;
    const struct cuts *w = &f->windows[part];
    *score = (heed_forecast_score){.windows = rows ? n : w->n, .targets = targets, .horizon = horizon};
    if (w->n == 0) return heed_fail(cx, HEED_ERR_RANGE, "forecast: no window of the data lies in this part");
    struct tally t = {.f = f,
                      .windows = w,
                      .model = zeros(cx, targets, sizeof *t.model),
                      .repeated = zeros(cx, targets, sizeof *t.repeated),
                      .by_step = zeros(cx, horizon, sizeof *t.by_step),
                      .repeated_by_step = zeros(cx, horizon, sizeof *t.repeated_by_step)};
    t.quantiles = config_quantiles(cx, heed_model_config(model), t.quantile, MAX_QUANTILES);
    t.middle = quantile_middle(t.quantile, t.quantiles);
    score->target = zeros(cx, targets, sizeof *score->target);
    score->repeated_target = zeros(cx, targets, sizeof *score->repeated_target);
    score->by_step = zeros(cx, horizon, sizeof *score->by_step);
    score->repeated_by_step = zeros(cx, horizon, sizeof *score->repeated_by_step);
    const heed_over_opts run = {.rows = rows,
                                .n_rows = rows ? n : 0,
                                .batch = batch,
                                .take = take_batch,
                                .own = &t,
                                .transform = cuts_copy,
                                .data = w};
    const bool ok = !heed_failed(cx) && heed_loop_over(cx, model, &w->set, &run, &score->loss);
    if (ok && !cx->config.dry) finish(&t, score);
    void *const parts[] = {t.model, t.repeated, t.by_step, t.repeated_by_step};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
    if (!ok) heed_forecast_score_free(cx, score);
    return ok;
}

void heed_forecast_score_free(heed_ctx *cx, heed_forecast_score *s) {
    if (!s) return;
    void *const parts[] = {s->target, s->repeated_target, s->by_step, s->repeated_by_step};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
    *s = (heed_forecast_score){0};
}
