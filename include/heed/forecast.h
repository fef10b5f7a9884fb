/* heed/forecast.h: forecasts of series over time: training, measuring, using a model.
 *
 *     heed_model *model = heed_model_load(cx, "load");
 *     heed_history *like = heed_forecast_columns(cx, model);
 *     heed_history *past = heed_history_load(cx, "past.csv", &(heed_history_opts){.like = like, .future = true});
 *     heed_forecast *next = heed_forecast_new(cx, model, past);
 *
 * A model sees numbers that are standardised by the mean and deviation that their series had in the training data; they
 * are kept in config.json under "history", with names of columns, the step and the times that part the data. */
#ifndef HEED_FORECAST_H
#define HEED_FORECAST_H

#include "heed/history.h"
#include "heed/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- training ---- */

/* Time is parted from its beginning on: so many steps, or, where none is above 1, shares of it. What is left over is
 * not used; of shares, rounding leaves nothing. A window belongs to a part when all that it forecasts does. */
typedef struct heed_forecast_split {
    double train, valid, test;
} heed_forecast_split;
typedef struct heed_forecasting_opts {
    int64_t context, horizon;  /* steps that are read, and that are forecast */
    heed_forecast_split split; /* all 0: 0.7, 0.1, 0.2 */
    int64_t season;            /* the comparison repeats the last so many steps; 0: the last value alone */
    int64_t batch, micro_batch;
    uint64_t seed;
    const char *metrics; /* the first chooses the best model: "mse mae mase", "pinball mae mase coverage" */
} heed_forecasting_opts;
typedef struct heed_forecasting heed_forecasting;
/* The history must stay. Means and deviations are those of its training part. */
HEED_API heed_forecasting *heed_forecasting_new(heed_ctx *cx, const heed_history *history,
                                                const heed_forecasting_opts *opts);
/* The same for a model that was trained: its sizes, means, deviations and parts. Without a source. */
HEED_API heed_forecasting *heed_forecasting_like(heed_ctx *cx, const heed_history *history, const heed_model *model);
HEED_API void heed_forecasting_free(heed_ctx *cx, heed_forecasting *f);
/* Puts what a model must know of the history into its config. */
HEED_API bool heed_forecasting_describe(heed_ctx *cx, const heed_forecasting *f, heed_model *model);
HEED_API const heed_loop_source *heed_forecasting_source(heed_ctx *cx, heed_forecasting *f); /* metrics are needed */
typedef enum heed_forecast_part { HEED_FORECAST_TRAIN, HEED_FORECAST_VALID, HEED_FORECAST_TEST } heed_forecast_part;
HEED_API int64_t heed_forecasting_windows(const heed_forecasting *f, heed_forecast_part part);

/* ---- measuring ---- */

/* mae and mse are in the units of the data, the scaled ones in standard deviations of the training data, as published
 * figures are. mase (Hyndman & Koehler 2006): in units of the mean absolute error that repeating the season has in the
 * training data; NaN where that is 0. */
typedef struct heed_forecast_errors {
    double mae, mse, scaled_mae, scaled_mse, mase;
} heed_forecast_errors;
typedef struct heed_forecast_score {
    int64_t windows, targets, horizon;
    double loss;
    heed_forecast_errors all, repeated;             /* of the model, and of repeating the last season */
    heed_forecast_errors *target, *repeated_target; /* (targets) */
    float *by_step, *repeated_by_step;              /* (horizon): scaled mean absolute errors */
    int64_t quantiles;                              /* 0: the figures below are not there */
    double pinball;                                 /* mean over quantiles, scaled */
    double coverage, nominal; /* share of values within the outer quantiles, and what it should be */
    double width;             /* of that band, scaled */
} heed_forecast_score;
/* batch 0: a good one. Free the score's lists with heed_forecast_score_free. */
HEED_API bool heed_forecasting_measure(heed_ctx *cx, const heed_forecasting *f, const heed_model *model,
                                       heed_forecast_part part, int64_t batch, heed_forecast_score *score);
HEED_API void heed_forecast_score_free(heed_ctx *cx, heed_forecast_score *score);

/* ---- using a model ---- */

/* What config.json says of the columns, the step and the calendar, as a history without rows, for heed_history_opts. */
HEED_API heed_history *heed_forecast_columns(heed_ctx *cx, const heed_model *model);

typedef struct heed_forecast {
    int64_t series, steps, targets;
    int64_t outputs; /* quantiles, or 1 */
    float *quantile; /* (outputs); NULL: one number, the mean or, trained by the absolute error, the median */
    int64_t middle;  /* the output next to the median */
    double *time;    /* (series, steps) */
    float *value;    /* (series, steps, targets, outputs), in the units of the data; quantiles rise */
} heed_forecast;
/* What follows the last row of each series that has targets. A series that the training data did not have is
 * standardised by its own mean and deviation. Columns that are known for the future must be there for all steps. */
HEED_API heed_forecast *heed_forecast_new(heed_ctx *cx, const heed_model *model, const heed_history *history);
HEED_API void heed_forecast_free(heed_ctx *cx, heed_forecast *forecast);

#ifdef __cplusplus
}
#endif
#endif
