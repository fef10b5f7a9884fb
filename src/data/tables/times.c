/* Times: dates and numbers, the steps between them, and what the calendar says of them. */
#include "data/tables/times.h"
#include "base/text.h"
#include "io/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MINUTE      60000.0 /* milliseconds */
#define HOUR        (60 * MINUTE)
#define DAY         (24 * HOUR)
#define OUT_OF_STEP 1e-3 /* of a step: what is closer to a whole number of them is one */

/* ---- the calendar ---- Gregorian, also before 1582, as ISO 8601 has it */

struct date {
    int64_t year;
    int month, day; /* from 1 */
};

/* Days from 1970-01-01. Years are counted from March, so that a leap day ends one. */
static int64_t days_of(struct date d) {
    const int64_t year = d.year - (d.month <= 2), era = (year >= 0 ? year : year - 399) / 400,
                  of_era = year - era * 400;
    const int64_t day = (153 * (d.month + (d.month > 2 ? -3 : 9)) + 2) / 5 + d.day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day - 719468;
}

static struct date date_of(int64_t days) {
    days += 719468;
    const int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100), shifted = (5 * of_year + 2) / 153;
    const int month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    return (struct date){year + era * 400 + (month <= 2), month, (int)(of_year - (153 * shifted + 2) / 5 + 1)};
}

static int month_days(int64_t year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* ---- reading ---- */

/* `count` digits; -1: there are fewer. */
static int digits(const char **s, int count) {
    int value = 0;
    for (int i = 0; i < count; i++, (*s)++) {
        if (**s < '0' || **s > '9') return -1;
        value = value * 10 + (**s - '0');
    }
    return value;
}

static bool skip(const char **s, char c) {
    const bool there = **s == c;
    *s += there;
    return there;
}

/* Z, +hh:mm, +hhmm or +hh. */
static bool read_zone(const char **s, heed_clock *clock) {
    if (skip(s, 'Z') || skip(s, 'z')) return clock->zone = true;
    if (**s != '+' && **s != '-') return true;
    const int sign = *(*s)++ == '-' ? -1 : 1, hours = digits(s, 2);
    const bool more = skip(s, ':') || (**s >= '0' && **s <= '9');
    const int minutes = more ? digits(s, 2) : 0;
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
    clock->zone = true;
    clock->offset = sign * (hours * 60 + minutes);
    return true;
}

/* hh:mm[:ss[.fff]]; also h:mm, as spreadsheets write it. */
static bool read_hour(const char **s, heed_clock *clock, double *time) {
    const int hour = digits(s, **s && (*s)[1] == ':' ? 1 : 2), minute = skip(s, ':') ? digits(s, 2) : -1;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
    clock->precision = HEED_CLOCK_MINUTE;
    *time += hour * HOUR + minute * MINUTE;
    if (!skip(s, ':')) return true;
    const int second = digits(s, 2);
    if (second < 0 || second > 59) return false;
    clock->precision = HEED_CLOCK_SECOND;
    *time += second * 1000.0;
    if (!skip(s, '.') && !skip(s, ',')) return true;
    double unit = 100;
    int n = 0;
    for (; **s >= '0' && **s <= '9'; (*s)++, n++, unit /= 10)
        if (n < 3) *time += (**s - '0') * unit;
    clock->precision = HEED_CLOCK_MILLISECOND;
    return n > 0;
}

/* 2016-07-01, 2016/07 */
static bool read_year_first(const char **s, heed_clock *clock, struct date *d) {
    const int year = digits(s, 4);
    if (year < 1 || (**s != '-' && **s != '/')) return false;
    clock->dash = *(*s)++;
    d->year = year;
    d->month = digits(s, 2);
    if (skip(s, clock->dash)) {
        d->day = digits(s, 2);
        clock->precision = HEED_CLOCK_DAY;
    }
    return true;
}

/* 1.7.2016, 01/07/2016: the first number and the second, a digit or two each, and the year. */
static bool read_year_last(const char **s, heed_clock *clock, int first[2], int64_t *year) {
    for (int i = 0; i < 2; i++) {
        first[i] = digits(s, (*s)[0] && (*s)[1] >= '0' && (*s)[1] <= '9' ? 2 : 1);
        const char mark = **s;
        if (first[i] < 1 || !mark || !strchr("./-", mark) || (i == 1 && mark != clock->dash)) return false;
        clock->dash = mark;
        (*s)++;
    }
    clock->precision = HEED_CLOCK_DAY;
    return (*year = digits(s, 4)) >= 1;
}

/* Points and dashes stand behind a day; before slashes the month comes first in America. */
static char order_of(char dash, const int first[2]) {
    if (dash != '/' || first[0] > 12) return 'd';
    return first[1] > 12 ? 'm' : '?';
}

static bool is_year_first(const char *s) { return strlen(s) > 4 && strcspn(s, "./-") == 4; }

static bool read_date(const char *s, char order, heed_clock *clock, double *time) {
    struct date d = {.day = 1};
    int first[2];
    *clock = (heed_clock){.dates = true, .dash = '-', .between = ' ', .precision = HEED_CLOCK_MONTH};
    if (is_year_first(s)) {
        if (!read_year_first(&s, clock, &d)) return false;
    } else {
        if (!read_year_last(&s, clock, first, &d.year)) return false;
        const char found = order_of(clock->dash, first);
        clock->order = found == '?' && first[0] == first[1] && !order ? 'd' : found == '?' ? order : found;
        if (!clock->order) return false;
        d.day = first[clock->order == 'm'];
        d.month = first[clock->order == 'd'];
    }
    if (d.month < 1 || d.month > 12) return false;
    if (d.day < 1 || d.day > month_days(d.year, d.month)) return false;
    *time = (double)days_of(d) * DAY;
    if (clock->precision == HEED_CLOCK_DAY && (*s == 'T' || (*s == ' ' && s[1] >= '0' && s[1] <= '9'))) {
        clock->between = *s++;
        if (!read_hour(&s, clock, time) || !read_zone(&s, clock)) return false;
        *time -= clock->offset * MINUTE;
    }
    while (*s == ' ' || *s == '\t') s++;
    return !*s;
}

static const char *skip_blanks(const char *s) { return s + strspn(s, " \t"); }

bool times_read(const char *text, char order, heed_clock *clock, double *time) {
    heed_clock found;
    bool range;
    if (!text || !time) return false;
    text = skip_blanks(text);
    if (!read_date(text, order, &found, time)) {
        found = (heed_clock){0};
        if (!number_read(text, time, &range) || !isfinite(*time)) return false;
    }
    if (clock) *clock = found;
    return true;
}

bool heed_time_read(const char *text, heed_clock *clock, double *time) { return times_read(text, 0, clock, time); }

char times_order(const char *text) {
    heed_clock clock, found;
    int first[2];
    double time;
    int64_t year;
    const char *s = skip_blanks(text);
    if (is_year_first(s) || !read_year_last(&s, &found, first, &year)) return 0;
    const char order = order_of(found.dash, first);
    return read_date(skip_blanks(text), order == '?' ? 'd' : order, &clock, &time) ? order : 0;
}

/* ---- writing ---- */

/* A year of more than four digits, or none, is beyond what a file can say; the number stands for it. */
static bool shows(double time) { return time >= -62135596800000.0 && time < 253402300800000.0; }

const char *heed_time_text(const heed_clock *clock, double time, char out[HEED_TIME_ROOM]) {
    if (!clock || !out) return "";
    const double local = time + clock->offset * MINUTE;
    if (!clock->dates || !shows(local)) {
        char text[NUMBER_ROOM];
        number_shortest(text, time, false);
        snprintf(out, HEED_TIME_ROOM, "%s", text);
        return out;
    }
    const int64_t days = (int64_t)floor(local / DAY), rest = (int64_t)(local - (double)days * DAY);
    const struct date d = date_of(days);
    const int precision = clock->precision;
    int n = clock->order ? snprintf(out, HEED_TIME_ROOM, "%02d%c%02d%c%04d", clock->order == 'd' ? d.day : d.month,
                                    clock->dash, clock->order == 'd' ? d.month : d.day, clock->dash, (int)d.year)
                         : snprintf(out, HEED_TIME_ROOM, "%04d%c%02d", (int)d.year, clock->dash, d.month);
    if (precision >= HEED_CLOCK_DAY && !clock->order)
        n += snprintf(out + n, HEED_TIME_ROOM - (size_t)n, "%c%02d", clock->dash, d.day);
    if (precision >= HEED_CLOCK_MINUTE)
        n += snprintf(out + n, HEED_TIME_ROOM - (size_t)n, "%c%02d:%02d", clock->between, (int)(rest / 3600000),
                      (int)(rest / 60000 % 60));
    if (precision >= HEED_CLOCK_SECOND)
        n += snprintf(out + n, HEED_TIME_ROOM - (size_t)n, ":%02d", (int)(rest / 1000 % 60));
    if (precision >= HEED_CLOCK_MILLISECOND)
        n += snprintf(out + n, HEED_TIME_ROOM - (size_t)n, ".%03d", (int)(rest % 1000));
    if (clock->zone && clock->offset == 0) n += snprintf(out + n, HEED_TIME_ROOM - (size_t)n, "Z");
    if (clock->zone && clock->offset != 0) {
        const int size = clock->offset < 0 ? -clock->offset : clock->offset;
        snprintf(out + n, HEED_TIME_ROOM - (size_t)n, "%c%02d:%02d", clock->offset < 0 ? '-' : '+', size / 60 % 24,
                 size % 60);
    }
    return out;
}

/* ---- steps ---- */

static double split_day(double time, struct date *d) {
    const double days = floor(time / DAY);
    *d = shows(time) ? date_of((int64_t)days) : (struct date){1970, 1, 1};
    return time - days * DAY;
}

double heed_interval_add(const heed_interval *step, double time, int64_t n) {
    struct date d;
    if (!step) return time;
    if (step->months == 0) return time + (double)n * step->size;
    const double rest = split_day(time, &d);
    const int64_t month = d.year * 12 + d.month - 1 + n * step->months;
    d.year = month / 12;
    d.month = (int)(month % 12) + 1;
    if (d.year < 1 || d.year > 9999) return time + (double)n * step->size;
    const int last = month_days(d.year, d.month);
    if (step->month_ends || d.day > last) d.day = last;
    return (double)days_of(d) * DAY + rest;
}

int64_t heed_interval_count(const heed_interval *step, double from, double to, bool *exact) {
    double n;
    bool ignored;
    if (!exact) exact = &ignored;
    if (!step) return *exact = false;
    if (step->months > 0) {
        struct date a, b;
        split_day(from, &a);
        split_day(to, &b);
        n = round((double)((b.year - a.year) * 12 + b.month - a.month) / (double)step->months);
        *exact = heed_interval_add(step, from, (int64_t)n) == to;
        return (int64_t)n;
    }
    n = step->size > 0 ? round((to - from) / step->size) : 0;
    if (!(fabs(n) < 1e15)) return *exact = false; /* beyond what can be counted */
    *exact = fabs(to - from - n * step->size) <= OUT_OF_STEP * step->size;
    return (int64_t)n;
}

bool heed_interval_equal(const heed_interval *a, const heed_interval *b) {
    if (!a || !b) return a == b;
    if (a->months || b->months) return a->months == b->months;
    return fabs(a->size - b->size) <= OUT_OF_STEP * a->size;
}

const char *heed_interval_text(const heed_interval *step, bool dates, char out[HEED_TIME_ROOM]) {
    static const struct {
        double size;
        const char *name;
    } units[] = {{7 * DAY, "week"},  {DAY, "day"},     {HOUR, "hour"},
                 {MINUTE, "minute"}, {1000, "second"}, {1, "millisecond"}};
    const char *unit = "";
    if (!step || !out) return "";
    double n = step->size;
    if (dates && step->months > 0) {
        n = (double)step->months;
        unit = "month";
    }
    for (size_t i = 0; dates && !*unit && i < sizeof units / sizeof *units; i++)
        if (fmod(step->size, units[i].size) == 0 || units[i].size == 1) {
            n = step->size / units[i].size;
            unit = units[i].name;
        }
    text_format(out, HEED_TIME_ROOM, "%.10g%s%s%s", n, *unit ? " " : "", unit, *unit && n != 1 ? "s" : "");
    return out;
}

int64_t heed_interval_season(const heed_interval *step, bool dates) {
    if (!step || !dates || !(step->size > 0)) return 1;
    if (step->months > 0) return step->months < 12 && 12 % step->months == 0 ? 12 / step->months : 1;
    if (step->size == 7 * DAY) return 52;
    if (step->size == DAY) return 7;
    return step->size < DAY && fmod(DAY, step->size) == 0 ? (int64_t)(DAY / step->size) : 1;
}

bool times_are_months(const double *time, int64_t n, double median, heed_interval *step) {
    const int64_t months = (int64_t)round(median / (30.4375 * DAY));
    if (months < 1 || median < 27 * DAY) return false;
    int64_t most = 0;
    for (int ends = 0; ends < 2; ends++) {
        const heed_interval tried = {median, months, ends};
        int64_t fit = 0;
        for (int64_t i = 1; i < n; i++) fit += heed_interval_add(&tried, time[i - 1], 1) == time[i];
        if (fit > most) *step = tried;
        if (fit > most) most = fit;
    }
    return most * 2 > n - 1;
}

/* ---- ticks ---- */

/* Days and hours begin at multiples of their length, months at their first days. */
static double next_tick(double local, double size, int months) {
    struct date d;
    if (months == 0) return ceil(local / size) * size;
    split_day(local, &d);
    int64_t month = (d.year * 12 + d.month - 1 + months - 1) / months * months;
    double at = (double)days_of((struct date){month / 12, (int)(month % 12) + 1, 1}) * DAY;
    if (at >= local) return at;
    month += months;
    return (double)days_of((struct date){month / 12, (int)(month % 12) + 1, 1}) * DAY;
}

static void tick_text(double local, double size, int months, char out[TIME_TICK_ROOM]) {
    static const char *const names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct date d;
    const int64_t rest = (int64_t)split_day(local, &d);
    if (months >= 12)
        snprintf(out, TIME_TICK_ROOM, "%d", (int)d.year);
    else if (months > 0)
        snprintf(out, TIME_TICK_ROOM, "%s %d", names[d.month - 1], (int)d.year);
    else if (size >= DAY || rest == 0)
        snprintf(out, TIME_TICK_ROOM, "%d %s", d.day, names[d.month - 1]);
    else
        snprintf(out, TIME_TICK_ROOM, size < MINUTE ? "%d:%02d:%02d" : "%d:%02d", (int)(rest / 3600000),
                 (int)(rest / 60000 % 60), (int)(rest / 1000 % 60));
}

int times_ticks(const heed_clock *clock, double from, double to, int most, struct time_tick *out) {
    static const struct {
        double size;
        int months;
    } units[] = {{1000, 0},     {10000, 0},    {MINUTE, 0},     {5 * MINUTE, 0},  {15 * MINUTE, 0}, {HOUR, 0},
                 {3 * HOUR, 0}, {6 * HOUR, 0}, {12 * HOUR, 0},  {DAY, 0},         {2 * DAY, 0},     {7 * DAY, 0},
                 {30 * DAY, 1}, {91 * DAY, 3}, {365 * DAY, 12}, {1826 * DAY, 60}, {7305 * DAY, 240}};
    const double offset = clock->offset * MINUTE;
    size_t u = 0;
    int n = 0;
    if (!clock->dates || !shows(from + offset) || !shows(to + offset)) return 0;
    if (most > TIME_TICKS) most = TIME_TICKS;
    while (u + 1 < sizeof units / sizeof *units && (to - from) / units[u].size > most) u++;
    for (double local = from + offset; n < most;) {
        local = next_tick(local, units[u].size, units[u].months);
        if (local > to + offset) break;
        out[n].at = local - offset;
        tick_text(local, units[u].size, units[u].months, out[n++].text);
        local += 1;
    }
    return n;
}

/* ---- features ---- */

enum feature { MINUTE_OF_HOUR, HOUR_OF_DAY, DAY_OF_WEEK, DAY_OF_MONTH, DAY_OF_YEAR, MONTH_OF_YEAR, FEATURES };

static int feature_of(const char *name, size_t length) {
    static const char *const names[FEATURES] = {"minute", "hour", "weekday", "monthday", "yearday", "month"};
    for (int i = 0; i < FEATURES; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return i;
    return -1;
}

/* Where it stands, from 0 up to 1. */
static double phase(enum feature f, double local) {
    struct date d;
    const double rest = split_day(local, &d), days = floor(local / DAY);
    const double of_week = days + 3 - 7 * floor((days + 3) / 7); /* from Monday */
    switch (f) {
    case MINUTE_OF_HOUR:
        return fmod(rest, HOUR) / HOUR;
    case HOUR_OF_DAY:
        return rest / DAY;
    case DAY_OF_WEEK:
        return of_week / 7;
    case DAY_OF_MONTH:
        return (d.day - 1) / (double)month_days(d.year, d.month);
    case DAY_OF_YEAR:
        return (days - (double)days_of((struct date){d.year, 1, 1})) / 365.25;
    default:
        return (d.month - 1) / 12.0;
    }
}

int64_t heed_calendar_width(heed_ctx *cx, const char *names) {
    int64_t width = 0;
    for (const char *at = names; at && *at; width += 2) {
        const size_t length = strcspn(at, ",");
        if (feature_of(at, length) < 0) {
            heed_fail(cx, HEED_ERR_USAGE, "calendar: '%s' is not one of: %s", escaped_bytes(at, length).s,
                      HEED_CALENDAR_NAMES);
            return -1;
        }
        at += length + (at[length] == ',');
    }
    return width;
}

void times_calendar(const char *names, const heed_clock *clock, double time, float *out) {
    const double turn = 2 * acos(-1.0), local = time + clock->offset * MINUTE;
    for (const char *at = names; *at;) {
        const size_t length = strcspn(at, ",");
        const double where = phase((enum feature)feature_of(at, length), local);
        *out++ = (float)sin(turn * where);
        *out++ = (float)cos(turn * where);
        at += length + (at[length] == ',');
    }
}

const char *times_calendar_auto(const heed_interval *step) {
    if (step->months > 0) return step->months % 12 == 0 ? "" : "month";
    if (step->size >= 7 * DAY) return "yearday";
    if (step->size >= DAY) return "weekday,yearday";
    return step->size < HOUR ? "minute,hour,weekday,yearday" : "hour,weekday,yearday";
}
