/* Using a forecaster: what follows the end of each series. */
#include "data/data.h"
#include "io/text.h"
#include "task/series/forecasting.h"
#include <math.h>
#include <string.h>

enum { AT_ONCE = 256 }; /* series in a batch */

struct use {
    heed_ctx *cx;
    const heed_model *model;
    const heed_history *h;
    int64_t context, horizon;
    struct scales scales;
    heed_forecast *to;
};

/* ---- whether it can be done ---- */

static bool long_enough(const struct use *u, int64_t g) {
    const heed_history *h = u->h;
    const int64_t rows = h->start[g + 1] - h->start[g] - h->future[g], columns = h->known_names != NULL;
    const struct escaped kept = escaped(h->series_names ? h->series_names[g] : "the series");
    if (rows < u->context)
        return heed_fail(u->cx, HEED_ERR_RANGE, "forecast: %s has %lld steps with values; the model reads %lld", kept.s,
                         (long long)rows, (long long)u->context);
    if (columns && h->future[g] < u->horizon)
        return heed_fail(u->cx, HEED_ERR_RANGE,
                         "forecast: %s has %lld rows behind its last value; %lld are needed, with the columns that are "
                         "known for the future and without a target",
                         kept.s, (long long)h->future[g], (long long)u->horizon);
    return true;
}

static bool fits(const struct use *u) {
    const heed_json config = heed_model_config(u->model);
    const int64_t targets = heed_json_int(u->cx, config, "num_targets");
    const int64_t features = heed_json_int(u->cx, config, "num_features");
    const int64_t known = heed_json_int(u->cx, config, "num_time_features");
    if (heed_failed(u->cx)) return false;
    if (u->h->targets != targets || u->h->covariates != features || u->h->known != known)
        return heed_fail(u->cx, HEED_ERR_SHAPE,
                         "forecast: a history of %lld targets, %lld covariates and %lld known numbers; the model has "
                         "%lld, %lld and %lld",
                         (long long)u->h->targets, (long long)u->h->covariates, (long long)u->h->known,
                         (long long)targets, (long long)features, (long long)known);
    for (int64_t g = 0; g < u->h->series; g++)
        if (!long_enough(u, g)) return false;
    return true;
}

/* ---- running ---- */

static bool put_input(const struct use *u, heed_io *in, const char *name, const float *x, int64_t n, int64_t steps,
                      int64_t width) {
    return width == 0 || heed_io_put(u->cx, in, name, heed_from_f32(u->cx, x, 3, (int64_t[]){n, steps, width}));
}

/* Series from `first` on, n of them: rooms for all of their inputs in one block. */
static bool run_model(const struct use *u, int64_t first, int64_t n, heed_io *out) {
    const heed_history *h = u->h;
    const int64_t l = u->context, k = u->horizon;
    const int64_t size = l * (h->targets + h->covariates + h->known) + k * h->known;
    float *x = data_room(u->cx, n, size, sizeof *x);
    if (!x) return false;
    float *features = x + n * l * h->targets, *past = features + n * l * h->covariates,
          *future = past + n * l * h->known;
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = first + i;
        const struct window_room to = {.values = x + i * l * h->targets,
                                       .features = h->covariates ? features + i * l * h->covariates : NULL,
                                       .past_known = h->known ? past + i * l * h->known : NULL,
                                       .future_known = h->known ? future + i * k * h->known : NULL};
        window_fill(h, &u->scales, l, k, g, h->start[g + 1] - h->future[g], &to);
    }
    heed_io in = {0};
    const bool ok = put_input(u, &in, "past_values", x, n, l, h->targets) &&
                    put_input(u, &in, "past_features", features, n, l, h->covariates) &&
                    put_input(u, &in, "past_time_features", past, n, l, h->known) &&
                    put_input(u, &in, "future_time_features", future, n, k, h->known) &&
                    heed_model_forward(u->cx, u->model, &in, out);
    heed_mem_free(u->cx, x);
    return ok;
}

static bool keep_values(const struct use *u, int64_t first, int64_t n, heed_tensor *logits) {
    const heed_forecast *to = u->to;
    const int64_t targets = to->targets, outputs = to->outputs, all = to->steps * targets * outputs;
    const float *y = heed_f32(logits);
    if (!y || heed_count(logits) != n * all)
        return heed_fail(u->cx, HEED_ERR_SHAPE, "forecast: the model's outputs do not fit its config");
    for (int64_t i = 0; i < n * all; i += outputs) {
        const int64_t g = first + i / all, k = i / outputs % targets;
        float *value = to->value + first * all + i;
        for (int64_t q = 0; q < outputs; q++) {
            value[q] = y[i + q] * u->scales.deviation[g * targets + k] + u->scales.mean[g * targets + k];
            if (!isfinite(value[q]))
                return heed_fail(u->cx, HEED_ERR_RANGE, "forecast: the model's output is not a finite number");
        }
        quantiles_sort(value, outputs);
    }
    return true;
}

static bool run_all(const struct use *u) {
    const bool recording = heed_set_grad(u->cx, false), training = heed_set_training(u->cx, false);
    bool ok = true;
    for (int64_t first = 0; ok && first < u->h->series; first += AT_ONCE) {
        const int64_t n = u->h->series - first < AT_ONCE ? u->h->series - first : AT_ONCE;
        heed_io out = {0};
        ok = !heed_cancelled(u->cx) && run_model(u, first, n, &out) &&
             keep_values(u, first, n, heed_contiguous(u->cx, heed_io_get(&out, "logits")));
        if (ok) heed_reset(u->cx);
    }
    heed_set_grad(u->cx, recording);
    heed_set_training(u->cx, training);
    return ok;
}

/* ---- the forecast ---- */

static heed_forecast *new_forecast(const struct use *u) {
    const heed_history *h = u->h;
    float quantile[MAX_QUANTILES];
    const int64_t quantiles = config_quantiles(u->cx, heed_model_config(u->model), quantile, MAX_QUANTILES);
    heed_forecast *f = heed_mem_new(u->cx, sizeof *f);
    if (!f) return NULL;
    *f = (heed_forecast){.series = h->series, .steps = u->horizon, .targets = h->targets, .outputs = 1};
    if (quantiles > 0) {
        f->outputs = quantiles;
        f->middle = quantile_middle(quantile, quantiles);
        f->quantile = heed_mem_new(u->cx, (size_t)quantiles * sizeof *f->quantile);
        if (f->quantile) memcpy(f->quantile, quantile, (size_t)quantiles * sizeof *quantile);
    }
    f->time = data_room(u->cx, h->series, u->horizon, sizeof *f->time);
    f->value = data_room(u->cx, h->series * u->horizon, h->targets * f->outputs, sizeof *f->value);
    for (int64_t i = 0; f->time && i < h->series * u->horizon; i++) {
        const int64_t g = i / u->horizon, rows = h->start[g + 1] - h->start[g] - h->future[g];
        f->time[i] = heed_history_time(h, g, rows + i % u->horizon);
    }
    return f;
}

heed_forecast *heed_forecast_new(heed_ctx *cx, const heed_model *model, const heed_history *h) {
    if (heed_failed(cx)) return NULL;
    if (!model || !h) return heed_fail(cx, HEED_ERR_USAGE, "forecast: a model and a history are needed"), NULL;
    const heed_json config = heed_model_config(model);
    struct use u = {.cx = cx,
                    .model = model,
                    .h = h,
                    .context = heed_json_int(cx, config, "context_length"),
                    .horizon = heed_json_int(cx, config, "prediction_length")};
    if (!heed_failed(cx) && fits(&u) && scales_new(cx, h, &u.scales) &&
        describe_get(cx, config, h, &u.scales, NULL, NULL)) {
        u.to = new_forecast(&u);
        if (!heed_failed(cx)) run_all(&u);
    }
    scales_free(cx, &u.scales);
    if (!heed_failed(cx)) return u.to;
    heed_forecast_free(cx, u.to);
    return NULL;
}

void heed_forecast_free(heed_ctx *cx, heed_forecast *f) {
    if (!f) return;
    void *const parts[] = {f->quantile, f->time, f->value};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
    heed_mem_free(cx, f);
}
