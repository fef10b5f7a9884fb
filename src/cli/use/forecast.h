/* Forecasts: what train, eval and forecast print and draw. */
#ifndef CLI_USE_FORECAST_H
#define CLI_USE_FORECAST_H

#include "cli/core/options.h"
#include "heed/forecast.h"
#include "heed/plot.h"

/* heed eval of a forecaster. */
void forecast_evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path);

/* "repeating the last 24 steps: MSE 0.0457, MAE 0.1623; the model's MAE is 20.1 % below" */
void forecast_print_comparison(const heed_forecast_score *score, int64_t season, FILE *to);

/* The last `past` steps of each series and its forecast, with bands between the quantiles; series that are left out
 * for want of room are said. */
heed_figure *forecast_draw(heed_ctx *cx, const heed_history *history, const heed_forecast *forecast, int64_t past);

#endif
