/* The log of a run: one JSON object a line. A run that is resumed drops what came after its checkpoint, so that no step
 * appears twice; half a line, left by a run that was killed while it wrote, goes with it. */
#include "base/ctx.h"
#include "base/file.h"
#include "train/loop.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LOG      ((size_t)1 << 32) /* bytes */
#define LINES_OF_RUN 2000

static bool refused(struct loop *l) { return heed_fail(l->cx, HEED_ERR_FILE, "%s: %s", l->opts.log, strerror(errno)); }

/* Lines of ours begin with their step, which is enough to know them by. */
static bool is_kept(const char *line, const char *end, int64_t step) {
    static const char head[] = "{\"step\":";
    const size_t length = sizeof head - 1;
    int64_t at = 0;
    if ((size_t)(end - line) <= length || memcmp(line, head, length) != 0) return false;
    const char *digit = line + length;
    while (digit < end && *digit == ' ') digit++;
    for (; digit < end && *digit >= '0' && *digit <= '9' && at < INT64_MAX / 16; digit++) at = 10 * at + (*digit - '0');
    return at <= step;
}

static bool drop_later_lines(struct loop *l, int64_t step) {
    size_t size = 0;
    char *text = (char *)file_read(l->cx, l->opts.log, MAX_LOG, &size);
    struct file_writer *w = text ? file_write_open(l->cx, l->opts.log) : NULL;
    for (char *line = text, *end; w && line < text + size; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + size - line));
        if (!end) break;
        if (is_kept(line, end, step)) file_write(w, line, (size_t)(end + 1 - line));
    }
    if (w) file_write_commit(w);
    heed_mem_free(l->cx, text);
    return !heed_failed(l->cx);
}

bool log_open(struct loop *l, int64_t step) {
    struct stat what;
    l->log = -1;
    if (!l->opts.log || heed_failed(l->cx)) return !heed_failed(l->cx);
    if (strcmp(l->opts.log, "-") == 0) {
        l->log = STDOUT_FILENO;
        return true;
    }
    const bool file = stat(l->opts.log, &what) == 0 && S_ISREG(what.st_mode);
    if (file && step > 0 && what.st_size > 0 && !drop_later_lines(l, step)) return false;
    const int fresh = step > 0 ? 0 : O_TRUNC;
    do l->log = open(l->opts.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | fresh, 0666);
    while (l->log < 0 && errno == EINTR && !heed_cancelled(l->cx));
    return l->log >= 0 || refused(l);
}

void log_close(struct loop *l) {
    const bool standard = l->opts.log && strcmp(l->opts.log, "-") == 0;
    if (l->log >= 0 && !standard && close(l->log) != 0 && errno != EINTR) refused(l);
    l->log = -1;
}

/* ---- a line ---- */

static void put(heed_ctx *cx, heed_json line, const char *key, double value) {
    if (isfinite(value))
        heed_json_put_number(cx, line, key, value);
    else
        heed_json_put_null(cx, line, key);
}

void score_text(char *out, size_t size, const heed_metric *const *metrics, const heed_score *score) {
    size_t used = 0;
    for (int i = 0; metrics[i] && used < size; i++) {
        const heed_metric *m = metrics[i];
        used += (size_t)snprintf(out + used, size - used, m->text,
                                 (m->scale != 0 ? m->scale : 1) * heed_score_value(score, i));
        if (used < size) used += (size_t)snprintf(out + used, size - used, ", ");
    }
    if (used < size) snprintf(out + used, size - used, metrics[0]->loss, score->loss);
}

void log_score(heed_ctx *cx, heed_json line, const char *set, const heed_metric *const *metrics,
               const heed_score *score) {
    char key[64];
    snprintf(key, sizeof key, "%s_loss", set);
    put(cx, line, key, score->loss);
    for (int i = 0; metrics && metrics[i]; i++) {
        snprintf(key, sizeof key, "%s_%s", set, metrics[i]->name);
        put(cx, line, key, heed_score_value(score, i));
    }
}

static bool is_due(const struct loop *l) {
    const heed_loop_state *s = l->state;
    const int64_t fewer = s->steps / LINES_OF_RUN + 1;
    const int64_t every = l->opts.log_every > 0 ? l->opts.log_every : fewer;
    return s->evaluated || s->validated || s->tested || s->step == s->steps || s->step % every == 0;
}

static bool write_line(struct loop *l, char *text, size_t size) {
    text[size++] = '\n'; /* in the place of the final 0: one call writes the whole line */
    for (size_t at = 0; at < size;) {
        const ssize_t n = write(l->log, text + at, size - at);
        if (n < 0 && errno != EINTR) return refused(l);
        if (n > 0) at += (size_t)n;
    }
    return true;
}

bool log_state(struct loop *l) {
    heed_ctx *cx = l->cx;
    const heed_loop_state *s = l->state;
    if (heed_failed(cx)) return false;
    if (l->log < 0 || !is_due(l)) return true;
    const heed_json line = heed_json_new(cx, "log");
    heed_json_put_int(cx, line, "step", s->step);
    put(cx, line, "loss", s->loss);
    for (int i = 0; i < s->parts; i++) put(cx, line, s->part[i].name, s->part[i].value);
    put(cx, line, "lr", s->lr);
    put(cx, line, "seconds", round(s->seconds * 1000) / 1000);
    heed_json_put_int(cx, line, l->source.unit, s->seen);
    if (l->source.per_epoch > 0)
        put(cx, line, "epoch", round((double)s->step / (double)l->source.per_epoch * 1e4) / 1e4);
    if (s->evaluated) log_score(cx, line, "valid", l->source.metrics, &s->valid);
    if (s->validated) log_score(cx, line, "whole_valid", l->source.metrics, &s->whole);
    if (s->tested) log_score(cx, line, "test", l->source.metrics, &s->test);
    size_t size = 0;
    char *text = heed_json_print(cx, line, 0, &size);
    const bool ok = text && write_line(l, text, size);
    heed_mem_free(cx, text);
    heed_json_free(line);
    return ok;
}
