/* What heed forecast draws. */
#ifndef CLI_USE_FORECAST_H
#define CLI_USE_FORECAST_H

#include "heed/forecast.h"
#include "heed/plot.h"

/* The last `past` steps of each series and its forecast, with bands between the quantiles; series that are left out
 * for want of room are said. */
heed_figure *forecast_draw(heed_ctx *cx, const heed_history *history, const heed_forecast *forecast, int64_t past);

#endif
