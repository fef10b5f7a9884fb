/* Histories: which columns of a table are times, series, targets and covariates. */
#include "data/recognise.h"
#include "data/tables/history_columns.h"
#include "data/tables/times.h"
#include "io/text.h"
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- the column of times ---- */

static bool holds_dates(const struct sheet *s, int64_t column) {
    heed_clock clock;
    double time;
    const char *text = heed_table_cell(s->cx, s->table, 0, column);
    return times_order(text) || (heed_time_read(text, &clock, &time) && clock.dates);
}

static bool is_called_time(const struct sheet *s, int64_t column) {
    static const char *const names[] = {"time", "date", "datetime", "timestamp", "ds", "month", "year", "t"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(heed_table_name(s->cx, s->table, column), names[i]) == 0) return true;
    return false;
}

static int64_t find_time(const struct sheet *s) {
    for (int64_t i = 0; i < s->columns; i++)
        if (!s->taken[i] && holds_dates(s, i)) return i;
    for (int64_t i = 0; i < s->columns; i++)
        if (!s->taken[i] && is_called_time(s, i)) return i;
    return -1;
}

static bool choose_time(struct reading *r) {
    struct sheet *s = &r->s;
    const char *name = r->o->time;
    int64_t found[1], n = 0;
    if (!name && r->o->like) name = r->o->like->time_name ? r->o->like->time_name : "none";
    if (name && strcmp(name, "none") == 0 && sheet_find_column(s, name, 4) < 0) return true;
    if (name) {
        if (!sheet_claim_each(s, (const char *const[]){name, NULL}, found, &n)) return false;
        r->time = found[0];
        return true;
    }
    r->time = find_time(s);
    if (r->time < 0)
        return heed_fail(
            s->cx, HEED_ERR_USAGE,
            "%s: no column of times: none holds dates; --time COLUMN names one, --time none counts the rows", s->path);
    s->taken[r->time] = SHEET_CHOSEN;
    return true;
}

/* ---- the others ---- */

static bool choose_series(struct reading *r) {
    const char *name = r->o->series ? r->o->series : r->o->like ? r->o->like->series_column : NULL;
    int64_t n = 0;
    return !name || sheet_claim_each(&r->s, (const char *const[]){name, NULL}, &r->series, &n);
}

/* The columns that are asked for, or those of `like`. */
static bool choose_listed(struct reading *r, const char *asked, char **like, int64_t *list, int64_t *n) {
    if (asked) return sheet_claim(&r->s, asked, list, n);
    return !like || sheet_claim_each(&r->s, (const char *const *)like, list, n);
}

/* Of `like` the columns must be as many. */
static bool same_widths(const struct reading *r) {
    const heed_history *like = r->o->like;
    const int64_t calendar = like ? heed_calendar_width(r->s.cx, like->calendar) : 0;
    if (!like || heed_failed(r->s.cx)) return !heed_failed(r->s.cx);
    if (r->targets == like->targets && r->covariates == like->covariates && r->knowns + calendar == like->known)
        return true;
    return heed_fail(r->s.cx, HEED_ERR_SHAPE,
                     "%s: %lld targets, %lld covariates and %lld known columns, not %lld, %lld and %lld", r->s.path,
                     (long long)r->targets, (long long)r->covariates, (long long)r->knowns, (long long)like->targets,
                     (long long)like->covariates, (long long)(like->known - calendar));
}

static bool choose_columns(struct reading *r) {
    struct sheet *s = &r->s;
    const heed_history *like = r->o->like;
    if (!choose_series(r) ||
        !choose_listed(r, r->o->target, like ? like->target_names : NULL, r->target, &r->targets) ||
        !choose_listed(r, r->o->covariates, like ? like->covariate_names : NULL, r->covariate, &r->covariates) ||
        !choose_listed(r, r->o->known, like ? like->known_names : NULL, r->known, &r->knowns) || !choose_time(r))
        return false;
    for (int64_t i = s->columns - 1; i >= 0 && r->targets == 0; i--)
        if (!s->taken[i]) {
            s->taken[i] = SHEET_CHOSEN;
            r->target[r->targets++] = i;
        }
    if (r->targets == 0) return heed_fail(s->cx, HEED_ERR_USAGE, "%s: no column is left for the target", s->path);
    return same_widths(r);
}

static bool keep_name(const struct sheet *s, int64_t column, char **out) {
    if (column < 0) return true;
    const char *name = heed_table_name(s->cx, s->table, column);
    *out = heed_mem_new(s->cx, strlen(name) + 1);
    if (*out) strcpy(*out, name);
    return *out;
}

static bool keep_names(const struct reading *r) {
    heed_history *h = r->h;
    h->targets = r->targets;
    h->covariates = r->covariates;
    h->known = r->knowns;
    return keep_name(&r->s, r->time, &h->time_name) && keep_name(&r->s, r->series, &h->series_column) &&
           (h->target_names = sheet_names(&r->s, r->target, r->targets)) &&
           (r->covariates == 0 || (h->covariate_names = sheet_names(&r->s, r->covariate, r->covariates))) &&
           (r->knowns == 0 || (h->known_names = sheet_names(&r->s, r->known, r->knowns)));
}

/* ---- series ---- */

/* r->group, and s.row in the order of the series; rows of a series keep theirs. */
static bool sort_rows(struct reading *r, const struct vocabulary *v) {
    struct sheet *s = &r->s;
    int64_t *of = data_room(s->cx, s->rows, 1, sizeof *of);
    r->group = data_room(s->cx, v->n + 2, 1, sizeof *r->group);
    if (!of || !r->group) return heed_mem_free(s->cx, of), false;
    memset(r->group, 0, ((size_t)v->n + 2) * sizeof *r->group);
    for (int64_t i = 0; i < s->rows; i++) {
        of[i] = r->series < 0 ? 0 : vocabulary_find(v, heed_table_cell(s->cx, s->table, i, r->series));
        r->group[of[i] + 2]++;
    }
    for (int64_t g = 2; g <= v->n + 1; g++) r->group[g] += r->group[g - 1];
    for (int64_t i = 0; i < s->rows; i++) s->row[r->group[of[i] + 1]++] = i;
    heed_mem_free(s->cx, of);
    return true;
}

static bool group_rows(struct reading *r) {
    struct sheet *s = &r->s;
    struct vocabulary v = {.n = 1};
    if (r->series >= 0 && vocabulary_of(s, r->series, &v)) r->h->series_names = vocabulary_names(s->cx, &v);
    r->h->series = v.n;
    const bool ok = !heed_failed(s->cx) && sort_rows(r, &v);
    heed_mem_free(s->cx, v.list);
    return ok;
}

/* ---- all of it ---- */

static bool open_sheet(struct reading *r) {
    struct sheet *s = &r->s;
    if (!s->table) return false;
    s->columns = heed_table_columns(s->table);
    s->rows = heed_table_rows(s->table);
    if (s->rows == 0) return heed_fail(s->cx, HEED_ERR_FORMAT, "%s: no row holds numbers", s->path);
    s->taken = data_room(s->cx, s->columns, 1, 1);
    s->row = data_room(s->cx, s->rows, 1, sizeof *s->row);
    r->target = data_room(s->cx, s->columns, 3, sizeof *r->target);
    r->at = data_room(s->cx, s->rows, 1, sizeof *r->at);
    r->place = data_room(s->cx, s->rows, 1, sizeof *r->place);
    if (heed_failed(s->cx)) return false;
    r->covariate = r->target + s->columns;
    r->known = r->covariate + s->columns;
    memset(s->taken, SHEET_FREE, (size_t)s->columns);
    for (int64_t i = 0; i < s->rows; i++) s->row[i] = i;
    return true;
}

static void close_reading(struct reading *r) {
    heed_ctx *cx = r->s.cx;
    void *const parts[] = {r->s.taken, r->s.row, r->target, r->at, r->place, r->group};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) heed_mem_free(cx, parts[i]);
    heed_table_close(r->s.table);
}

/* Takes over the table. */
static heed_history *read_history(heed_ctx *cx, const char *path, heed_table *table, const heed_history_opts *opts) {
    struct reading r = {.s = {.cx = cx, .path = path, .table = table}, .o = opts, .time = -1, .series = -1};
    r.h = table ? heed_mem_new(cx, sizeof *r.h) : NULL;
    if (r.h) *r.h = (heed_history){0};
    const bool ok = r.h && open_sheet(&r) && choose_columns(&r) && keep_names(&r) && group_rows(&r) &&
                    reading_times(&r) && reading_numbers(&r);
    close_reading(&r);
    if (ok) return r.h;
    heed_history_free(cx, r.h);
    return NULL;
}

heed_history *heed_history_load(heed_ctx *cx, const char *path, const heed_history_opts *opts) {
    const heed_history_opts none = {0};
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "history: the path is NULL"), NULL;
    if (!opts) opts = &none;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (data_is_folder(path)) return data_refuse(cx, path, "a directory; a table is needed"), NULL;
    return read_history(cx, name, heed_table_open(cx, path, &opts->table), opts);
}

heed_history *heed_history_parse(heed_ctx *cx, const char *name, const char *text, size_t size,
                                 const heed_history_opts *opts) {
    const heed_history_opts none = {0};
    if (heed_failed(cx)) return NULL;
    if (!name || !text) return heed_fail(cx, HEED_ERR_USAGE, "history: a name and a text are needed"), NULL;
    if (!opts) opts = &none;
    return read_history(cx, name, heed_table_parse(cx, name, text, size, &opts->table), opts);
}

void heed_history_free(heed_ctx *cx, heed_history *h) {
    if (!h) return;
    void *const parts[] = {h->series_names, h->start,         h->future,       h->first,           h->target,
                           h->covariate,    h->knowns,        h->target_names, h->covariate_names, h->known_names,
                           h->time_name,    h->series_column, h->calendar};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) heed_mem_free(cx, parts[i]);
    heed_mem_free(cx, h);
}

double heed_history_time(const heed_history *h, int64_t series, int64_t row) {
    return h && series >= 0 && series < h->series ? heed_interval_add(&h->step, h->first[series], row) : (double)NAN;
}
