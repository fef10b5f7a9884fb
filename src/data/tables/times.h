/* Times of series, as the reader of histories needs them. */
#ifndef DATA_TABLES_TIMES_H
#define DATA_TABLES_TIMES_H

#include "heed/history.h"

/* heed_time_read, with the order that slashes are known to mean: 'd', 'm', or 0 where that is not known. */
bool times_read(const char *text, char order, heed_clock *clock, double *time);
/* Of a date with the year last: 'd' or 'm', which comes first; '?': it may be either; 0: it is no such date. */
char times_order(const char *text);

/* Whether most of n dates are whole months apart, the median distance being `median` milliseconds. */
bool times_are_months(const double *time, int64_t n, double median, heed_interval *step);

/* The features of a time, two numbers for each of `names`, which heed_calendar_width has accepted. */
void times_calendar(const char *names, const heed_clock *clock, double time, float *out);
/* At most `most` (up to TIME_TICKS) round dates or hours from one time to another, rising: "6:00", "1 Jul", "Jul 2016".
 * Returns how many. */
enum { TIME_TICKS = 12, TIME_TICK_ROOM = 24 };
struct time_tick {
    double at;
    char text[TIME_TICK_ROOM];
};
int times_ticks(const heed_clock *clock, double from, double to, int most, struct time_tick *out);

/* What suits a step: of hours the hour, the day of the week and that of the year. */
const char *times_calendar_auto(const heed_interval *step);

#endif
