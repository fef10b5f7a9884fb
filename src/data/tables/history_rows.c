/* The rows of a history: times in step, gaps and missing values filled or refused, features of the calendar. */
#include "data/tables/history_columns.h"
#include "data/tables/times.h"
#include "io/csv.h"
#include "io/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 1 << 14 }; /* between looks at whether to stop */

/* ---- times ---- */

/* What comes first in dates with slashes: the rows that can be meant in one way only tell it of all. */
static bool find_order(struct reading *r, char *order) {
    *order = 0;
    for (int64_t i = 0; i < r->s.rows; i++) {
        const char found = times_order(sheet_cell(&r->s, i, r->time));
        if (found == 'd' || found == 'm') *order = found;
        if (found != '?') return true;
    }
    const char *first = sheet_cell(&r->s, 0, r->time);
    return sheet_fail(&r->s, HEED_ERR_FORMAT, 0, r->time,
                      "'%s' and all others may have the day or the month first; write dates as 2016-07-01",
                      escaped(first).s);
}

static bool read_time(struct reading *r, char order, int64_t i) {
    heed_clock clock, *all = &r->h->clock;
    const char *text = r->time >= 0 ? sheet_cell(&r->s, i, r->time) : "";
    if (r->time < 0) {
        r->at[i] = (double)(r->s.row[i] + 1);
        return true;
    }
    if (!times_read(text, order, &clock, &r->at[i]))
        return sheet_fail(&r->s, HEED_ERR_FORMAT, i, r->time,
                          "'%s' is neither a date, as 2016-07-01, 01.07.2016 or 2016-07-01 00:00:00, nor a number",
                          escaped(text).s);
    if (i == 0) *all = clock;
    if (clock.dates != all->dates)
        return sheet_fail(&r->s, HEED_ERR_FORMAT, i, r->time, "'%s' is a %s among %s", escaped(text).s,
                          clock.dates ? "date" : "number", clock.dates ? "numbers" : "dates");
    if (clock.precision > all->precision) { /* the finest, since 12:00 may stand for 12:00:00 */
        all->precision = clock.precision;
        all->between = clock.between;
    }
    return true;
}

/* Without a column of times the rows of each series are counted. */
static bool read_times(struct reading *r) {
    char order = 0;
    if (r->time >= 0 && !find_order(r, &order)) return false;
    for (int64_t i = 0; i < r->s.rows; i++) {
        if (i % ROWS_AT_ONCE == 0 && heed_cancelled(r->s.cx)) return false;
        if (!read_time(r, order, i)) return false;
    }
    for (int64_t g = 0; r->time < 0 && g < r->h->series; g++)
        for (int64_t i = r->group[g]; i < r->group[g + 1]; i++) r->at[i] = (double)(i - r->group[g] + 1);
    return true;
}

static bool in_order(const struct reading *r, int64_t i) {
    char text[2][HEED_TIME_ROOM];
    if (r->at[i] > r->at[i - 1]) return true;
    heed_time_text(&r->h->clock, r->at[i], text[0]);
    heed_time_text(&r->h->clock, r->at[i - 1], text[1]);
    const long long before = heed_table_line(r->s.table, r->s.row[i - 1]);
    if (r->at[i] == r->at[i - 1])
        return sheet_fail(
            &r->s, HEED_ERR_FORMAT, i, r->time, "%s stands on line %lld already%s", text[0], before,
            r->series < 0 ? "; of a table with several series --series names the column that tells them apart" : "");
    return sheet_fail(&r->s, HEED_ERR_FORMAT, i, r->time,
                      "%s comes after %s of line %lld: rows must be in order of time", text[0], text[1], before);
}

/* ---- the step ---- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median distance of two rows; 0: no series has two. */
static double median_distance(const struct reading *r) {
    double *all = data_room(r->s.cx, r->s.rows, 1, sizeof *all), median = 0;
    int64_t n = 0;
    for (int64_t g = 0; all && g < r->h->series; g++)
        for (int64_t i = r->group[g] + 1; i < r->group[g + 1]; i++) all[n++] = r->at[i] - r->at[i - 1];
    if (n > 0) {
        qsort(all, (size_t)n, sizeof *all, by_size);
        median = all[n / 2];
    }
    heed_mem_free(r->s.cx, all);
    return median;
}

/* The series with the most rows tells whether steps are months. */
static heed_interval step_of(const struct reading *r, double median) {
    heed_interval step = {.size = median};
    int64_t max_length = 0;
    for (int64_t g = 1; g < r->h->series; g++)
        if (r->group[g + 1] - r->group[g] > r->group[max_length + 1] - r->group[max_length]) max_length = g;
    if (r->h->clock.dates)
        times_are_months(r->at + r->group[max_length], r->group[max_length + 1] - r->group[max_length], median, &step);
    return step;
}

static bool find_step(struct reading *r) {
    const heed_history *like = r->o->like;
    const double median = median_distance(r);
    char text[2][HEED_TIME_ROOM];
    if (heed_failed(r->s.cx)) return false;
    r->h->step = median > 0 ? step_of(r, median) : like ? like->step : (heed_interval){0};
    if (!like || like->step.size <= 0 || heed_interval_equal(&r->h->step, &like->step)) return true;
    heed_interval_text(&r->h->step, r->h->clock.dates, text[0]);
    heed_interval_text(&like->step, r->h->clock.dates, text[1]);
    return heed_fail(r->s.cx, HEED_ERR_FORMAT, "%s: rows are %s apart, those of the training data were %s apart",
                     r->s.path, text[0], text[1]);
}

/* ---- gaps ---- */

static bool out_of_step(const struct reading *r, int64_t i) {
    char time[HEED_TIME_ROOM], step[HEED_TIME_ROOM], away[HEED_TIME_ROOM];
    const heed_interval distance = {.size = r->at[i] - r->at[i - 1]};
    return sheet_fail(
        &r->s, HEED_ERR_FORMAT, i, r->time, "%s is %s after the row before, out of step: rows are %s apart",
        heed_time_text(&r->h->clock, r->at[i], time), heed_interval_text(&distance, r->h->clock.dates, away),
        heed_interval_text(&r->h->step, r->h->clock.dates, step));
}

static bool gap(const struct reading *r, int64_t i, int64_t missing, const char *how) {
    char from[HEED_TIME_ROOM], to[HEED_TIME_ROOM];
    return sheet_fail(&r->s, HEED_ERR_FORMAT, i, r->time, "a gap: %lld row%s missing between %s and %s%s",
                      (long long)missing, missing == 1 ? " is" : "s are",
                      heed_time_text(&r->h->clock, r->at[i - 1], from), heed_time_text(&r->h->clock, r->at[i], to),
                      how);
}

/* Where row i belongs, the one before it being there. */
static bool place(struct reading *r, int64_t i) {
    const int64_t most = 10 * r->s.rows + 1000; /* rows that may be added */
    bool exact;
    const int64_t n = heed_interval_count(&r->h->step, r->at[i - 1], r->at[i], &exact);
    if (!exact || n < 1) return out_of_step(r, i);
    if (n > 1 && r->o->fill == HEED_FILL_NONE) return gap(r, i, n - 1, "; --fill forward or --fill linear fills it");
    if (n - 1 > most - r->h->rows_added) return gap(r, i, n - 1, ", too many to fill");
    r->h->rows_added += n - 1;
    r->place[i] = r->place[i - 1] + n;
    return true;
}

bool reading_times(struct reading *r) {
    heed_history *h = r->h;
    heed_ctx *cx = r->s.cx;
    h->start = data_room(cx, h->series + 1, 1, sizeof *h->start);
    h->future = data_room(cx, h->series, 1, sizeof *h->future);
    h->first = data_room(cx, h->series, 1, sizeof *h->first);
    if (!h->first || !h->future || !h->start || !read_times(r)) return false;
    for (int64_t g = 0; g < h->series; g++)
        for (int64_t i = r->group[g] + 1; i < r->group[g + 1]; i++)
            if (!in_order(r, i)) return false;
    if (!find_step(r)) return false;
    h->start[0] = 0;
    for (int64_t g = 0; g < h->series; g++) {
        const int64_t first = r->group[g];
        h->first[g] = r->at[first];
        h->future[g] = 0;
        r->place[first] = h->start[g];
        for (int64_t i = first + 1; i < r->group[g + 1]; i++)
            if (!place(r, i)) return false;
        h->start[g + 1] = r->place[r->group[g + 1] - 1] + 1;
    }
    h->rows = h->start[h->series];
    return true;
}

/* ---- numbers ---- */

/* Columns into out (rows, width); what is missing, and rows of gaps, NaN. */
static bool read_columns(const struct reading *r, const int64_t *column, int64_t n, float *out, int64_t width) {
    for (int64_t i = 0; i < r->h->rows * width; i++) out[i] = NAN;
    for (int64_t i = 0; i < r->s.rows; i++)
        for (int64_t k = 0; k < n; k++) {
            float *to = &out[r->place[i] * width + k];
            double number;
            if (i % ROWS_AT_ONCE == 0 && k == 0 && heed_cancelled(r->s.cx)) return false;
            if (heed_table_missing(r->s.table, r->s.row[i], column[k])) continue;
            if (!heed_table_number(r->s.table, r->s.row[i], column[k], &number))
                return sheet_fail(&r->s, HEED_ERR_FORMAT, i, column[k], "'%s' is %s",
                                  escaped(sheet_cell(&r->s, i, column[k])).s,
                                  table_instead(r->s.table, r->s.row[i], column[k]));
            *to = (float)number;
            if (!isfinite(*to))
                return sheet_fail(&r->s, HEED_ERR_FORMAT, i, column[k], "'%s' is %s",
                                  escaped(sheet_cell(&r->s, i, column[k])).s,
                                  isfinite(number) ? "too large a number" : "not a finite number");
        }
    return true;
}

/* Rows at the end of a series that have no target at all. */
static int64_t rows_to_come(const heed_history *h, int64_t g) {
    int64_t n = 0;
    for (int64_t row = h->start[g + 1] - 1; row >= h->start[g]; row--, n++)
        for (int64_t k = 0; k < h->targets; k++)
            if (!isnan(h->target[row * h->targets + k])) return n;
    return n;
}

/* The line on which a value is missing, of row `row` of the history. */
static bool refuse_missing(const struct reading *r, int64_t row, int64_t column) {
    char time[HEED_TIME_ROOM];
    int64_t i = 0;
    while (i < r->s.rows - 1 && r->place[i] != row) i++;
    return sheet_fail(&r->s, HEED_ERR_FORMAT, i, column,
                      "a missing value ('%s') at %s; --fill forward or --fill linear fills it",
                      escaped(sheet_cell(&r->s, i, column)).s, heed_time_text(&r->h->clock, r->at[i], time));
}

static bool nothing_before(const struct reading *r, int64_t column, int64_t g) {
    char time[HEED_TIME_ROOM];
    const char *name = r->h->series_names ? r->h->series_names[g] : NULL;
    return heed_fail(r->s.cx, HEED_ERR_FORMAT, "%s: column '%s'%s%s%s: the first value, at %s, is missing", r->s.path,
                     escaped(heed_table_name(r->s.cx, r->s.table, column)).s, name ? " of series '" : "",
                     name ? escaped(name).s : "", name ? "'" : "", heed_time_text(&r->h->clock, r->h->first[g], time));
}

/* Fills a column of a series up to `end`. */
static bool fill_column(struct reading *r, int64_t column, float *x, int64_t width, int64_t g, int64_t end) {
    int64_t last = -1; /* row with a value */
    for (int64_t row = r->h->start[g]; row < end; row++) {
        if (!isnan(x[row * width])) {
            last = row;
            continue;
        }
        if (r->o->fill == HEED_FILL_NONE) return refuse_missing(r, row, column);
        if (last < 0) return nothing_before(r, column, g);
        int64_t next = row;
        while (next < end && isnan(x[next * width])) next++;
        const double from = (double)x[last * width], to = next < end ? (double)x[next * width] : from;
        for (; row < next; row++, r->h->filled++) {
            const double share = r->o->fill == HEED_FILL_LINEAR ? (double)(row - last) / (double)(next - last) : 0;
            x[row * width] = (float)(from + share * (to - from));
        }
        row--;
    }
    return true;
}

/* to_come: what is known of the future must be there, other columns need not. */
static bool fill_columns(struct reading *r, const int64_t *column, int64_t n, float *x, int64_t width, bool to_come) {
    for (int64_t g = 0; g < r->h->series; g++) {
        const int64_t end = r->h->start[g + 1] - (to_come ? 0 : r->h->future[g]);
        for (int64_t k = 0; k < n; k++)
            if (!fill_column(r, column[k], x + k, width, g, end)) return false;
        for (int64_t row = end; row < r->h->start[g + 1] && x != r->h->target; row++)
            for (int64_t k = 0; k < n; k++) x[row * width + k] = 0; /* nobody reads it */
    }
    return true;
}

/* ---- the calendar ---- */

static bool choose_calendar(struct reading *r) {
    heed_history *h = r->h;
    const char *names = r->o->calendar ? r->o->calendar : r->o->like ? r->o->like->calendar : NULL;
    if (!names || !*names) return true;
    if (!h->clock.dates)
        return heed_fail(r->s.cx, HEED_ERR_USAGE, "%s: features of the calendar need dates, and times are numbers",
                         r->s.path);
    if (strcmp(names, "auto") == 0) names = times_calendar_auto(&h->step);
    const int64_t width = heed_calendar_width(r->s.cx, names);
    h->calendar = width < 0 ? NULL : heed_mem_new(r->s.cx, strlen(names) + 1);
    if (!h->calendar) return false;
    strcpy(h->calendar, names);
    h->known += width;
    return true;
}

static void put_calendar(const struct reading *r) {
    const heed_history *h = r->h;
    for (int64_t g = 0; h->calendar && g < h->series; g++)
        for (int64_t row = h->start[g]; row < h->start[g + 1]; row++)
            times_calendar(h->calendar, &h->clock, heed_history_time(h, g, row - h->start[g]),
                           h->knowns + row * h->known + r->knowns);
}

bool reading_numbers(struct reading *r) {
    heed_history *h = r->h;
    heed_ctx *cx = r->s.cx;
    if (!choose_calendar(r)) return false;
    h->target = data_room(cx, h->rows, h->targets, sizeof *h->target);
    h->covariate = data_room(cx, h->rows, h->covariates, sizeof *h->covariate);
    h->knowns = data_room(cx, h->rows, h->known, sizeof *h->knowns);
    if (!h->knowns || !h->covariate || !h->target || !read_columns(r, r->target, r->targets, h->target, h->targets) ||
        !read_columns(r, r->covariate, r->covariates, h->covariate, h->covariates) ||
        !read_columns(r, r->known, r->knowns, h->knowns, h->known))
        return false;
    for (int64_t g = 0; r->o->future && g < h->series; g++) h->future[g] = rows_to_come(h, g);
    if (!fill_columns(r, r->target, r->targets, h->target, h->targets, false) ||
        !fill_columns(r, r->covariate, r->covariates, h->covariate, h->covariates, false) ||
        !fill_columns(r, r->known, r->knowns, h->knowns, h->known, true))
        return false;
    put_calendar(r);
    return true;
}
