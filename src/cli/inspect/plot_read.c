/* Reading training logs. */
#include "cli/inspect/plot.h"
#include "io/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers of a line that count something and are no curves. */
static bool is_axis(const char *key) {
    static const char *const axes[] = {"step", "epoch", "seconds", "tokens", "examples", "words", "sentences"};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (strcmp(key, axes[i]) == 0) return true;
    return false;
}

const struct log_curve *log_find(const struct training_log *log, const char *name) {
    for (int i = 0; i < log->curves; i++)
        if (strcmp(log->curve[i].name, name) == 0) return &log->curve[i];
    return NULL;
}

static bool add_point(heed_ctx *cx, struct log_curve *c, double x, double y) {
    if (c->n == c->room) {
        const int64_t room = 2 * c->room + 256;
        float *xs = heed_mem_resize(cx, c->x, (size_t)room * sizeof *xs);
        if (xs) c->x = xs;
        float *ys = xs ? heed_mem_resize(cx, c->y, (size_t)room * sizeof *ys) : NULL;
        if (!ys) return false;
        c->y = ys;
        c->room = room;
    }
    c->x[c->n] = (float)x;
    c->y[c->n++] = (float)y;
    return true;
}

static bool add_number(heed_ctx *cx, struct training_log *log, const char *key, double x, double y) {
    struct log_curve *c = (struct log_curve *)log_find(log, key);
    if (!c) {
        if (log->curves == LOG_CURVES)
            return heed_fail(cx, HEED_ERR_FORMAT, "more than %d different numbers", LOG_CURVES);
        c = &log->curve[log->curves++];
        snprintf(c->name, sizeof c->name, "%s", key);
    }
    return add_point(cx, c, x, y);
}

static bool is_number(heed_json v) {
    return heed_json_kind_of(v) == HEED_JSON_INT || heed_json_kind_of(v) == HEED_JSON_REAL;
}

static bool need_number(heed_ctx *cx, heed_json line, const char *key, double *out) {
    const heed_json v = heed_json_find(cx, line, key);
    if (heed_json_kind_of(v) == HEED_JSON_NONE) return heed_fail(cx, HEED_ERR_FORMAT, "there is no '%s'", key);
    if (!is_number(v)) return heed_fail(cx, HEED_ERR_FORMAT, "'%s' is not a number", key);
    *out = heed_json_number(cx, v, NULL);
    return !heed_failed(cx);
}

static bool read_object(heed_ctx *cx, struct training_log *log, const char *x_key, heed_json line) {
    double x = 0;
    if (heed_json_kind_of(line) != HEED_JSON_OBJECT) return heed_fail(cx, HEED_ERR_FORMAT, "not a JSON object");
    const bool trains = strcmp(x_key, "words") != 0; /* an evaluation by length has no steps */
    if ((trains && !need_number(cx, line, "step", &log->last_step)) || !need_number(cx, line, x_key, &x)) return false;
    log->last_x = x;
    for (heed_json v = heed_json_first(line); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *key = heed_json_key(v);
        const bool null = heed_json_kind_of(v) == HEED_JSON_NULL;
        if ((!null && !is_number(v)) || is_axis(key)) continue; /* texts and lists are no curves */
        if (strlen(key) >= LOG_NAME)
            return heed_fail(cx, HEED_ERR_FORMAT, "a name of %zu bytes: must be fewer than %d", strlen(key), LOG_NAME);
        if (!add_number(cx, log, key, x, null ? (double)NAN : heed_json_number(cx, v, NULL))) return false;
    }
    return !heed_failed(cx);
}

/* Of "line: line 1, column 7: why" what stands behind the line, which is known better here. */
static bool not_json(heed_ctx *cx) {
    char why[256];
    const char *column = strstr(heed_message(cx), "column ");
    snprintf(why, sizeof why, "%s", column ? column : "not JSON");
    if (heed_error(cx) != HEED_ERR_FORMAT) return false;
    heed_clear(cx);
    return heed_fail(cx, HEED_ERR_FORMAT, "%s", why);
}

static bool read_line(heed_ctx *cx, struct training_log *log, const char *x, const heed_lines *lines, int64_t i) {
    const char *text = heed_line_text(lines, i);
    const size_t size = heed_line_size(lines, i);
    if (text[strspn(text, " \t\r")] == 0) return true;
    const heed_json line = heed_json_parse(cx, "line", text, size);
    const bool ok = heed_json_kind_of(line) == HEED_JSON_NONE ? not_json(cx) : read_object(cx, log, x, line);
    heed_json_free(line);
    log->lines += ok;
    return ok || heed_fail_in(cx, "%s: line %lld", escaped(log->path).s, (long long)i + 1);
}

/* An object that does not end: the run may still be writing it. */
static bool is_begun(const char *text) {
    const size_t n = strlen(text);
    return text[0] == '{' && text[n - 1] != '}';
}

bool log_read(heed_ctx *cx, const char *path, const char *x, struct training_log *log) {
    heed_lines lines = {0};
    *log = (struct training_log){.path = path};
    bool ok = heed_lines_read(cx, path, &lines);
    for (int64_t i = 0; ok && i < lines.count && !heed_cancelled(cx); i++) {
        if (i > 0 && i + 1 == lines.count && is_begun(heed_line_text(&lines, i))) break;
        ok = read_line(cx, log, x, &lines, i);
    }
    heed_lines_free(cx, &lines);
    if (ok && !heed_failed(cx) && log->lines == 0)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: the log is empty", escaped(path).s);
    return !heed_failed(cx);
}

void log_free(heed_ctx *cx, struct training_log *log) {
    for (int i = 0; i < log->curves; i++) {
        heed_mem_free(cx, log->curve[i].x);
        heed_mem_free(cx, log->curve[i].y);
    }
}
