/* heed/history.h: series over time: tables with a column of times, read, checked and made even.
 *
 * A history is one series or many, each a matrix of rows in equal steps. Its targets are what is to be forecast;
 * covariates are known up to now; known columns, and what the calendar gives, are known for the future too. */
#ifndef HEED_HISTORY_H
#define HEED_HISTORY_H

#include "heed/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- times ---- dates as ISO 8601 writes them (2016-07-01, 2016-07-01 00:00:00, 2016-07-01T00:00Z, 2016-07), with the
 * day first (1.7.2016, 01.07.2016 00:00), or with slashes (7/13/2016, 13/07/2016); as milliseconds since 1970 (UTC),
 * which a double holds exactly; or plain numbers. */
typedef struct heed_clock { /* how times are written */
    bool dates;             /* else numbers */
    int precision;          /* HEED_CLOCK_…, of dates */
    char dash, between;     /* 2016-07-01, 2016/07/01; a space or T before the hour */
    char order;             /* 'd': day, month, year; 'm': month, day, year; 0: year, month, day */
    bool zone;              /* with an offset from UTC; an offset of 0 is written Z */
    int offset;             /* minutes, of what is written without a zone 0 */
} heed_clock;
enum { HEED_CLOCK_MONTH, HEED_CLOCK_DAY, HEED_CLOCK_MINUTE, HEED_CLOCK_SECOND, HEED_CLOCK_MILLISECOND };
#define HEED_TIME_ROOM 48
/* False: neither a date nor a finite number, or a date such as 1/2/2016, which may be meant either way; in a table the
 * others of its column tell. clock (may be NULL): how it is written. */
HEED_API bool heed_time_read(const char *text, heed_clock *clock, double *time);
HEED_API const char *heed_time_text(const heed_clock *clock, double time, char out[HEED_TIME_ROOM]);

typedef struct heed_interval {
    double size;     /* milliseconds, or units of the numbers; where months is not 0, roughly */
    int64_t months;  /* so many months; 0: steps of equal length */
    bool month_ends; /* every time is the last day of its month */
} heed_interval;
HEED_API double heed_interval_add(const heed_interval *step, double time, int64_t n);
/* Steps from one time to another, rounded; *exact: they are whole. */
HEED_API int64_t heed_interval_count(const heed_interval *step, double from, double to, bool *exact);
HEED_API bool heed_interval_equal(const heed_interval *a, const heed_interval *b);
HEED_API const char *heed_interval_text(const heed_interval *step, bool dates, char out[HEED_TIME_ROOM]); /* "1 hour" */

/* Steps of a season: of hours and shorter ones a day, of days a week, of weeks and months a year; 1: none is known. */
HEED_API int64_t heed_interval_season(const heed_interval *step, bool dates);

/* Features of the calendar: two numbers each, the sine and cosine of where a date stands in a minute's hour, an hour's
 * day, a day's week, month or year, a month's year. */
#define HEED_CALENDAR_NAMES "minute hour weekday monthday yearday month"
HEED_API int64_t heed_calendar_width(heed_ctx *cx, const char *names); /* of "hour,weekday"; -1: one is none of them */

/* ---- histories ---- */

typedef struct heed_history {
    int64_t series;      /* how many */
    char **series_names; /* (series); NULL: one without a name */
    int64_t rows;        /* of all series, one after the other */
    int64_t *start;      /* (series + 1): series s is rows start[s] to start[s + 1] */
    int64_t *future;     /* (series): rows at its end that are yet to come: their targets are unknown, NaN */
    double *first;       /* (series): time of its first row; others follow in steps */
    heed_clock clock;    /* of the first time of the file */
    heed_interval step;  /* size 0: there are no two rows */
    int64_t targets, covariates, known; /* numbers of a row; known with those of the calendar, which come last */
    float *target, *covariate, *knowns; /* (rows, targets), (rows, covariates), (rows, known) */
    char **target_names, **covariate_names, **known_names; /* of columns; lists end in NULL; NULL: none */
    char *time_name, *series_column;                       /* NULL: none */
    char *calendar;                                        /* "hour,weekday", or NULL */
    int64_t filled, rows_added; /* values that were missing, and rows that a gap had left out */
} heed_history;

typedef enum heed_filling { HEED_FILL_NONE, HEED_FILL_FORWARD, HEED_FILL_LINEAR } heed_filling;

/* Columns are names or numbers from 1, several as "a,b". */
typedef struct heed_history_opts {
    const char *time;   /* NULL: the first column of dates, else one called time, date, ds or the like; "none": rows are
                           counted */
    const char *target; /* NULL: the last column that is nothing else */
    const char *series; /* of a long table: which series a row is of; NULL: one series */
    const char *covariates, *known; /* NULL: none */
    const char *calendar;           /* "hour,weekday", "auto" (by the step), or NULL */
    heed_filling fill;              /* of missing values and gaps; none: they are refused */
    bool future;                    /* rows at the end of a series without targets are yet to come */
    const heed_history *like;       /* columns, calendar and step as in this one; the fields above say what differs */
    heed_table_options table;
} heed_history_opts;
/* A sentence with line and time for a gap, a time that occurs twice, goes back or is out of step, a missing value. */
HEED_API heed_history *heed_history_load(heed_ctx *cx, const char *path, const heed_history_opts *opts);
HEED_API heed_history *heed_history_parse(heed_ctx *cx, const char *name, const char *text, size_t size,
                                          const heed_history_opts *opts);
HEED_API void heed_history_free(heed_ctx *cx, heed_history *history);
HEED_API double heed_history_time(const heed_history *history, int64_t series, int64_t row); /* row of that series */

#ifdef __cplusplus
}
#endif
#endif
