/* What the files of forecasting share. */
#ifndef TASK_SERIES_FORECASTING_H
#define TASK_SERIES_FORECASTING_H

#include "heed/forecast.h"

/* How the numbers of a history are standardised; rows as its series. */
struct scales {
    float *mean, *deviation, *error; /* (series, targets); error: of repeating the season in the training data */
    float *feature_mean, *feature_deviation; /* (covariates + known) */
};
/* Times that end the parts; +-INFINITY: open. A step is within when it is after `from` and not after `to`. */
struct parts {
    double end[3]; /* of train, valid, test */
};

/* Windows of a part: window i forecasts rows row[i] and those that follow, of series[i]. */
struct cuts {
    const struct heed_forecasting *f;
    int64_t n, *row, *series;
    heed_dataset set; /* whose rows cuts_copy makes */
};

struct heed_forecasting {
    const heed_history *history;
    heed_forecasting_opts opts;
    struct scales scales;
    struct parts parts;
    struct cuts windows[3]; /* by heed_forecast_part */
    heed_source *source;
    char data[64]; /* which, for checkpoints */
};

bool scales_new(heed_ctx *cx, const heed_history *h, struct scales *s); /* rooms for all; means 0, deviations 1 */
void scales_free(heed_ctx *cx, struct scales *s);
/* Of the rows up to `until`; error: of a season. */
void scales_measure(const heed_history *h, double until, int64_t season, struct scales *s);
void scales_measure_series(const heed_history *h, int64_t series, double until, int64_t season, struct scales *s);

/* config.json's "history". */
bool describe_put(heed_ctx *cx, heed_json config, const struct heed_forecasting *f);
/* Means and deviations by the names of series, those of unknown ones by themselves; season and parts where they are
 * asked for. */
bool describe_get(heed_ctx *cx, heed_json config, const heed_history *h, struct scales *s, int64_t *season,
                  struct parts *parts);

/* The inputs of a window that forecasts from `row` on; future: the targets to come, or NULL. Rows of knowns that the
 * history does not have are those of the calendar. */
struct window_room {
    float *values, *features, *past_known, *future_known, *future;
};
void window_fill(const heed_history *h, const struct scales *s, int64_t context, int64_t horizon, int64_t series,
                 int64_t row, const struct window_room *to);

bool cuts_make(heed_ctx *cx, struct heed_forecasting *f, heed_forecast_part part);
void cuts_free(heed_ctx *cx, struct cuts *w);
/* heed_forecasting_measure on these windows of a part; rows NULL: all. */
bool forecasting_measure(heed_ctx *cx, const heed_forecasting *f, const heed_model *model, heed_forecast_part part,
                         const int64_t *rows, int64_t n, int64_t batch, heed_forecast_score *score);
/* What was found, by the metrics of these names. */
bool forecasting_score(heed_ctx *cx, const heed_forecast_score *found, const char *names, heed_metrics *metrics,
                       heed_score *score);
/* A transform; own: the windows. */
void cuts_copy(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells);

/* The config's quantiles, to out (most); their number. */
int64_t config_quantiles(heed_ctx *cx, heed_json config, float *out, int64_t most);
int64_t quantile_middle(const float *quantile, int64_t n);
void quantiles_sort(float *values, int64_t n); /* where they cross (Chernozhukov et al. 2010) */
enum { MAX_QUANTILES = 64 };

#endif
