/* Lines as they come: see the header. */
#include "cli/core/input_lines.h"
#include "base/file.h"
#include "io/array.h"
#include "text/unicode/unicode.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ---- */

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

bool cli_lines_open_words(struct cli_lines *l, heed_ctx *cx, const struct options *o, int first) {
    const int n = options_words(o);
    if (n <= first) return cli_lines_open(l, cx, "-");
    *l = (struct cli_lines){.cx = cx, .ended = true};
    for (int i = first; i < n; i++) l->used += strlen(options_word(o, i)) + 1;
    l->block = heed_mem_new(cx, l->used + 1);
    if (!l->block) return false;
    char *to = l->block;
    for (int i = first; i < n; i++) {
        const char *word = options_word(o, i);
        for (; *word; word++) *to++ = *word == '\n' ? ' ' : *word;
        *to++ = '\n';
    }
    return true;
}

/* ---- bad lines ---- */

struct place {
    char text[600];
};

static struct place place_of(const struct cli_lines *l) {
    struct place p;
    if (l->name)
        snprintf(p.text, sizeof p.text, "%s: line %lld", l->name, (long long)l->number);
    else
        snprintf(p.text, sizeof p.text, "text %lld", (long long)l->number);
    return p;
}

/* A reader of tables says the place itself. */
static bool says_place(const struct cli_lines *l) {
    const size_t n = l->name ? strlen(l->name) : 0;
    return n > 0 && strncmp(l->complaint, l->name, n) == 0 && l->complaint[n] == ':';
}

/* The complaint is about the current line. */
static bool reject(struct cli_lines *l) {
    l->bad = true;
    l->text[l->size = 0] = 0;
    if (!l->skip_bad) {
        l->stopped = true;
        return false;
    }
    l->bad_lines++;
    if (says_place(l))
        cli_error(EXIT_FAILED, "%s", l->complaint);
    else
        cli_error(EXIT_FAILED, "%s: %s", place_of(l).text, l->complaint);
    return true;
}

bool cli_lines_reject(struct cli_lines *l, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(l->complaint, sizeof l->complaint, format, args);
    va_end(args);
    return reject(l);
}

bool cli_lines_recover(struct cli_lines *l) {
    const heed_status status = heed_error(l->cx);
    if (status != HEED_ERR_FORMAT && status != HEED_ERR_RANGE && status != HEED_ERR_SHAPE) return false;
    snprintf(l->complaint, sizeof l->complaint, "%s", heed_message(l->cx));
    heed_clear(l->cx);
    return reject(l);
}

char *cli_lines_complaint(const struct cli_lines *l) {
    const size_t size = strlen(l->complaint) + 1;
    char *copy = heed_mem_new(l->cx, size);
    if (copy) memcpy(copy, l->complaint, size);
    return copy;
}

bool cli_lines_fail(const struct cli_lines *l, const char *format, ...) {
    char why[sizeof l->complaint];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return heed_fail(l->cx, HEED_ERR_FORMAT, "%s: %s", place_of(l).text, why);
}

/* ---- reading ---- */

/* The newline that ends the next line, or NULL when it is not there yet. */
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
    size_t at;
    if (l->stopped || l->error || heed_cancelled(l->cx)) return false;
    while (!(end = next_end(l)) && !l->ended)
        if (!read_more(l)) return false;
    if (!end && l->start == l->used) return false;
    l->bad = false;
    l->whole = end != NULL;
    l->text = l->block + l->start;
    l->size = l->seen - l->start;
    l->text[l->size] = 0;
    l->start = l->seen = l->seen + l->whole;
    l->number++;
    const char *flaw = utf8_flaw(l->text, l->size, &at);
    return !flaw || cli_lines_reject(l, "byte %zu is %s", at + 1, flaw);
}

bool cli_lines_ready(struct cli_lines *l) { return next_end(l) || l->ended; }

bool cli_lines_close(struct cli_lines *l) {
    if (!l->cx) return true;
    if (l->stopped && says_place(l)) heed_fail(l->cx, HEED_ERR_FORMAT, "%s", l->complaint);
    if (l->stopped) cli_lines_fail(l, "%s", l->complaint);
    if (l->error) heed_fail(l->cx, HEED_ERR_FILE, "%s: %s", l->name, strerror(l->error));
    heed_mem_free(l->cx, l->block);
    const bool good = !heed_failed(l->cx) && l->bad_lines == 0;
    *l = (struct cli_lines){0};
    return good;
}

/* ---- writing ---- */

/* The bytes of a control character (U+0000 to U+001F, U+007F to U+009F) or of U+2028 or U+2029 at s; 0: none. */
static size_t control_at(const char *s, size_t n) {
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] < 0x20 || u[0] == 0x7F) return 1;
    if (n >= 2 && u[0] == 0xC2 && u[1] >= 0x80 && u[1] <= 0x9F) return 2;
    return n >= 3 && u[0] == 0xE2 && u[1] == 0x80 && (u[2] == 0xA8 || u[2] == 0xA9) ? 3 : 0;
}

static size_t plain(char *text, size_t size, const char *kept) {
    size_t to = 0;
    for (size_t at = 0; at < size;) {
        const size_t control = text[at] && strchr(kept, text[at]) ? 0 : control_at(text + at, size - at);
        text[to++] = control ? ' ' : text[at];
        at += control ? control : 1;
    }
    text[to] = 0;
    return to;
}

size_t cli_plain_line(char *text, size_t size) { return plain(text, size, ""); }
size_t cli_plain_text(char *text, size_t size) { return plain(text, size, "\n\t"); }
