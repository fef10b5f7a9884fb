/* Lines as they come: see the header. */
#include "cli/lines.h"
#include "base/file.h"
#include "io/array.h"
#include "text/unicode.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cli_lines_open(struct cli_lines *l, heed_ctx *cx, const char *path) {
    const bool standard = strcmp(path, "-") == 0;
    *l = (struct cli_lines){.cx = cx, .name = standard ? "standard input" : path, .room = 1 << 16};
    if (standard) {
        l->block = heed_mem_new(cx, l->room + 1);
    } else {
        l->block = (char *)file_read(cx, path, IO_READ_LIMIT, &l->used);
        l->ended = true;
    }
    return l->block != NULL;
}

/* The new line that ends the next line, or NULL when it is not there yet. */
static char *next_end(struct cli_lines *l) {
    char *const end = memchr(l->block + l->seen, '\n', l->used - l->seen);
    l->seen = end ? (size_t)(end - l->block) : l->used;
    return end;
}

static bool make_room(struct cli_lines *l) {
    if (l->start > 0) {
        memmove(l->block, l->block + l->start, l->used - l->start);
        l->used -= l->start;
        l->seen -= l->start;
        l->start = 0;
    }
    if (l->used < l->room) return true;
    char *const larger = heed_mem_resize(l->cx, l->block, 2 * l->room + 1);
    if (!larger) return false;
    l->block = larger;
    l->room *= 2;
    return true;
}

/* Waits for more of standard input. */
static bool read_more(struct cli_lines *l) {
    if (heed_cancelled(l->cx) || !make_room(l)) return false;
    const ssize_t n = read(STDIN_FILENO, l->block + l->used, l->room - l->used);
    if (n < 0 && errno == EINTR) return true; /* perhaps to be cancelled */
    if (n < 0) l->error = errno;
    if (n <= 0) l->ended = true;
    if (n > 0) l->used += (size_t)n;
    return n >= 0;
}

bool cli_lines_next(struct cli_lines *l) {
    char *end;
    if (l->flaw || l->error || heed_cancelled(l->cx)) return false;
    while (!(end = next_end(l)) && !l->ended)
        if (!read_more(l)) return false;
    if (!end && l->start == l->used) return false;
    l->whole = end != NULL;
    l->text = l->block + l->start;
    l->size = l->seen - l->start;
    l->text[l->size] = 0;
    l->start = l->seen = l->seen + l->whole;
    l->number++;
    l->flaw = utf8_flaw(l->text, l->size, &l->flaw_at);
    return !l->flaw;
}

bool cli_lines_ready(struct cli_lines *l) { return next_end(l) || l->ended; }

bool cli_lines_fail(const struct cli_lines *l, const char *format, ...) {
    char why[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return heed_fail(l->cx, HEED_ERR_FORMAT, "%s: line %lld: %s", l->name, (long long)l->number, why);
}

bool cli_lines_close(struct cli_lines *l) {
    if (!l->cx) return true;
    if (l->flaw) cli_lines_fail(l, "byte %zu is %s", l->flaw_at + 1, l->flaw);
    if (l->error) heed_fail(l->cx, HEED_ERR_FILE, "%s: %s", l->name, strerror(l->error));
    heed_mem_free(l->cx, l->block);
    const bool ok = !heed_failed(l->cx);
    *l = (struct cli_lines){0};
    return ok;
}
