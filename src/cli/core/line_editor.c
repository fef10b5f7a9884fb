/* A line typed at a terminal: see the header. Keys change the line, and all of it is then drawn again: the rows of
 * prompt and line, wrapped here and not by the terminal, and the suggestions below them. */
#include "cli/core/line_editor.h"
#include "base/text.h"
#include "cli/core/raw_terminal.h"
#include "plot/terminal.h"
#include "text/unicode/unicode.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STANDARD_SUGGESTIONS = 5, ESCAPE_MILLISECONDS = 50, LONGEST_CHARACTER = 4 };

/* ---- the line ---- */

/* Bytes and columns of the character at s, which is not at its end. */
static size_t character(const char *s, const char *end, int *columns) {
    char one[LONGEST_CHARACTER + 1] = {0};
    size_t n = utf8_sequence(s, (size_t)(end - s));
    if (n == 0) n = 1;
    memcpy(one, s, n);
    *columns = text_columns(one);
    return n;
}

/* A character is one place of the cursor with the marks that follow it, which take no column. */
static size_t after(const struct line_editor *e, size_t at) {
    const char *s = e->line.s, *end = s + e->line.size;
    int columns;
    if (at >= e->line.size) return e->line.size;
    at += character(s + at, end, &columns);
    while (at < e->line.size) {
        const size_t n = character(s + at, end, &columns);
        if (columns > 0) break;
        at += n;
    }
    return at;
}

static size_t before(const struct line_editor *e, size_t at) {
    const char *s = e->line.s, *end = s + e->line.size;
    int columns = 0;
    while (at > 0 && columns == 0) {
        do at--;
        while (at > 0 && ((unsigned char)s[at] & 0xC0) == 0x80);
        character(s + at, end, &columns);
    }
    return at;
}

static bool is_word(const struct line_editor *e, size_t at) {
    const char *s = e->line.s + at;
    const int32_t c = utf8_next(&s, e->line.s + e->line.size);
    return unicode_is_letter(c) || unicode_is_number(c);
}
static bool is_solid(const struct line_editor *e, size_t at) { return e->line.s[at] != ' '; }

/* Past what is no word, and then past the word. */
static size_t word_after(const struct line_editor *e, size_t at) {
    while (at < e->line.size && !is_word(e, at)) at = after(e, at);
    while (at < e->line.size && is_word(e, at)) at = after(e, at);
    return at;
}
static size_t word_before(const struct line_editor *e, size_t at, bool (*is)(const struct line_editor *, size_t)) {
    while (at > 0 && !is(e, before(e, at))) at = before(e, at);
    while (at > 0 && is(e, before(e, at))) at = before(e, at);
    return at;
}

static void set(struct line_editor *e, heed_string *to, const char *text, size_t size) {
    to->size = 0;
    heed_string_put(e->cx, to, text ? text : "", size);
}

static void set_line(struct line_editor *e, const heed_string *from) {
    set(e, &e->line, from->s, from->size);
    e->cursor = e->line.size;
}

/* The bytes from `first` to `last` are deleted, and kept for Ctrl-Y where `keep`. */
static void erase(struct line_editor *e, size_t first, size_t last, bool keep) {
    if (first >= last) return;
    if (keep) set(e, &e->killed, e->line.s + first, last - first);
    memmove(e->line.s + first, e->line.s + last, e->line.size - last + 1);
    e->line.size -= last - first;
    e->cursor = first;
}

/* Text at the cursor; what could steer the terminal becomes a space or is left out. */
static void insert(struct line_editor *e, const char *text, size_t size) {
    heed_string *line = &e->line;
    for (size_t i = 0, n; i < size; i += n) {
        char shown[16];
        n = utf8_sequence(text + i, size - i);
        const bool good = n > 0 && text_printable(shown, sizeof shown, text + i, n) == n;
        const bool blank = n == 1 && strchr("\t\r\n", text[i]);
        if (n == 0) n = 1;
        if (!good && !blank) continue;
        const size_t tail = line->size - e->cursor;
        if (!heed_string_put(e->cx, line, text + i, n)) return;
        memmove(line->s + e->cursor + n, line->s + e->cursor, tail);
        memcpy(line->s + e->cursor, blank ? " " : text + i, n);
        e->cursor += n;
    }
}

/* ---- suggestions ---- */

static void suggest(struct line_editor *e) {
    const struct line_editor_opts *o = &e->opts;
    const int most = o->most <= 0 ? STANDARD_SUGGESTIONS : o->most > LINE_SUGGESTIONS ? LINE_SUGGESTIONS : o->most;
    e->chosen = -1;
    e->suggestions = 0;
    if (o->suggest && !e->dismissed && !heed_failed(e->cx))
        e->suggestions = o->suggest(o->user, e->line.s, e->cursor, e->suggestion, most);
}

static void take_suggestion(struct line_editor *e) {
    if (e->suggestions == 0) return;
    const struct line_suggestion *s = &e->suggestion[e->chosen < 0 ? 0 : e->chosen];
    const size_t replaces = s->replaces < e->cursor ? s->replaces : e->cursor;
    erase(e, e->cursor - replaces, e->cursor, false);
    insert(e, s->text, strlen(s->text));
}

/* ---- drawing ---- */

static void put(struct line_editor *e, const char *bytes, size_t size) {
    heed_string_put(e->cx, &e->frame, bytes, size);
}
static void put_text(struct line_editor *e, const char *text) { put(e, text, strlen(text)); }
static void put_move(struct line_editor *e, int n, char direction) {
    char move[24];
    const int size = snprintf(move, sizeof move, "\x1B[%d%c", n, direction);
    if (n > 0) put(e, move, (size_t)size);
}

/* Prompt and line in rows of the terminal's width. */
struct rows {
    int row, column;               /* where the next character comes */
    int cursor_row, cursor_column; /* where the cursor stands */
    int top, bottom;               /* the rows that are drawn; bottom 0: all are only counted */
};

static void lay_out(struct line_editor *e, struct rows *r, const char *text, size_t size, bool line) {
    for (size_t at = 0, n; at <= size; at += n) {
        int columns = 0;
        n = at < size ? character(text + at, text + size, &columns) : 1;
        if (r->column + columns > e->width || (at == size && line && r->column == e->width)) {
            if (r->row >= r->top && r->row + 1 < r->bottom) put_text(e, "\r\n");
            r->row++;
            r->column = 0;
        }
        if (line && at == e->cursor) r->cursor_row = r->row, r->cursor_column = r->column;
        if (at < size && r->row >= r->top && r->row < r->bottom) put(e, text + at, n);
        r->column += columns;
    }
}

static struct rows lay_out_all(struct line_editor *e, int top, int bottom) {
    struct rows r = {.top = top, .bottom = bottom};
    const char *prompt = e->opts.prompt ? e->opts.prompt : "";
    lay_out(e, &r, prompt, strlen(prompt), false);
    lay_out(e, &r, e->line.s, e->line.size, true);
    return r;
}

static void put_suggestion(struct line_editor *e, int i) {
    const char *s = e->suggestion[i].text, *end = s + strlen(s);
    int used = 2, columns;
    put_text(e, i == e->chosen ? "\r\n\x1B[7m  " : "\r\n\x1B[2m  ");
    for (size_t n; s < end; s += n) {
        char shown[16];
        n = character(s, end, &columns);
        if (used + columns >= e->width) break;
        if (text_printable(shown, sizeof shown, s, n) != n) continue;
        put(e, s, n);
        used += columns;
    }
    put_text(e, "\x1B[0m");
}

static bool draw(struct line_editor *e) {
    const struct rows counted = lay_out_all(e, 0, 0);
    const int rows = counted.row + 1, fit = rows < e->height ? rows : e->height;
    int top = counted.cursor_row - fit + 1; /* the cursor is always seen */
    top = top < 0 ? 0 : top;
    int below = e->height - fit;
    below = below < e->suggestions ? below : e->suggestions;
    e->frame.size = 0;
    put_text(e, "\x1B[?25l");
    put_move(e, e->drawn_row, 'A');
    put_text(e, "\r\x1B[J");
    lay_out_all(e, top, top + fit);
    for (int i = 0; i < below; i++) put_suggestion(e, i);
    e->drawn_row = counted.cursor_row - top;
    e->drawn_column = counted.cursor_column;
    put_move(e, fit - 1 + below - e->drawn_row, 'A');
    put_text(e, "\r");
    put_move(e, e->drawn_column, 'C');
    put_text(e, "\x1B[?25h");
    return !heed_failed(e->cx) && raw_terminal_write(e->frame.s, e->frame.size);
}

/* The last look of a line: without suggestions, the cursor in the row below. */
static void leave_line(struct line_editor *e, const char *mark) {
    e->suggestions = 0;
    e->cursor = e->line.size;
    draw(e);
    raw_terminal_write(mark, strlen(mark));
    raw_terminal_write("\r\n", 2);
    e->drawn_row = e->drawn_column = 0;
}

/* Rows that were as wide as the terminal was take more rows when it has become narrower. */
static void resize(struct line_editor *e) {
    const int was = e->width;
    raw_terminal_size(&e->width, &e->height);
    e->drawn_row = e->drawn_row * ((was + e->width - 1) / e->width) + e->drawn_column / e->width;
    if (e->drawn_row >= e->height) e->drawn_row = e->height - 1;
    draw(e);
}

/* ---- keys ---- */

enum key {
    KEY_TIMEOUT = -3, /* nothing came in time */
    KEY_SIGNAL,
    KEY_GONE, /* the terminal has closed */
    KEY_END_OF_FILE =
        0, /* what Linux makes of a Ctrl-D that was typed between two lines, when the terminal was not raw */
    /* bytes stand for themselves, Ctrl-A being 1 */
    KEY_ESCAPE = 27,
    KEY_BACKSPACE = 127,
    KEY_UP = 256,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_DELETE,
    KEY_WORD_LEFT,
    KEY_WORD_RIGHT,
    KEY_WORD_DELETE,
    KEY_WORD_BACKSPACE,
    KEY_PASTE,
    KEY_UNKNOWN
};
#define CTRL(letter) ((letter)-64)

static int next_byte(struct line_editor *e, int milliseconds) {
    if (e->over) return e->over;
    while (e->taken == e->read) {
        switch (raw_terminal_wait(milliseconds)) {
        case RAW_TIMEOUT:
            return KEY_TIMEOUT;
        case RAW_SIGNAL:
            return e->over = KEY_SIGNAL;
        case RAW_RESIZED:
            resize(e);
            continue;
        case RAW_RESUMED:
            e->drawn_row = e->drawn_column = 0;
            resize(e);
            continue;
        case RAW_BYTES:
            break;
        }
        const ssize_t n = read(STDIN_FILENO, e->bytes, sizeof e->bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return e->over = KEY_GONE;
        e->taken = 0;
        e->read = (size_t)n;
    }
    return e->bytes[e->taken++];
}

static int letter_key(int letter, bool by_word) {
    switch (letter) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case 'C':
        return by_word ? KEY_WORD_RIGHT : KEY_RIGHT;
    case 'D':
        return by_word ? KEY_WORD_LEFT : KEY_LEFT;
    case 'H':
        return KEY_HOME;
    case 'F':
        return KEY_END;
    default:
        return KEY_UNKNOWN;
    }
}

static int number_key(int number, bool by_word) {
    switch (number) {
    case 1:
    case 7:
        return KEY_HOME;
    case 4:
    case 8:
        return KEY_END;
    case 3:
        return by_word ? KEY_WORD_DELETE : KEY_DELETE;
    case 200:
        return KEY_PASTE;
    default:
        return KEY_UNKNOWN;
    }
}

/* What follows "ESC [": numbers with ';' between them, and a letter or '~'. The second number is the modifier. */
static int control_sequence(struct line_editor *e) {
    int number[2] = {0}, at = 0, c;
    while ((c = next_byte(e, ESCAPE_MILLISECONDS)) >= 0x20 && c < 0x40) {
        if (c == ';') at++;
        if (c >= '0' && c <= '9' && at < 2 && number[at] < 1000) number[at] = 10 * number[at] + c - '0';
    }
    if (c < 0) return c == KEY_TIMEOUT ? KEY_UNKNOWN : c;
    const bool by_word = number[1] == 5 || number[1] == 3; /* with Ctrl or Alt */
    return c == '~' ? number_key(number[0], by_word) : letter_key(c, by_word);
}

static int next_key(struct line_editor *e) {
    int c = next_byte(e, -1);
    if (c != KEY_ESCAPE) return c;
    c = next_byte(e, ESCAPE_MILLISECONDS);
    switch (c) {
    case KEY_TIMEOUT:
        return KEY_ESCAPE;
    case '[':
        return control_sequence(e);
    case 'O':
        c = next_byte(e, ESCAPE_MILLISECONDS);
        return c < 0 ? (c == KEY_TIMEOUT ? KEY_UNKNOWN : c) : letter_key(c, false);
    case 'b':
        return KEY_WORD_LEFT;
    case 'f':
        return KEY_WORD_RIGHT;
    case 'd':
        return KEY_WORD_DELETE;
    case KEY_BACKSPACE:
        return KEY_WORD_BACKSPACE;
    default:
        return c < 0 ? c : KEY_UNKNOWN;
    }
}

/* A character whose first byte has come. */
static void type(struct line_editor *e, int first) {
    char bytes[LONGEST_CHARACTER] = {(char)first};
    const size_t size = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    for (size_t n = 1; n < size; n++) {
        const int c = next_byte(e, ESCAPE_MILLISECONDS);
        if (c >= 0 && (c & 0xC0) != 0x80) e->taken--; /* it begins something else */
        if (c < 0 || (c & 0xC0) != 0x80) return;
        bytes[n] = (char)c;
    }
    insert(e, bytes, size);
}

/* Returns the key that ended it before its end, Ctrl-C or none at all, or KEY_PASTE. */
static int paste(struct line_editor *e) {
    static const char end[] = "\x1B[201~";
    const size_t mark = sizeof end - 1;
    heed_string text = {0};
    int c;
    while ((c = next_byte(e, 1000)) >= 0 && c != CTRL('C')) {
        if (!heed_string_put(e->cx, &text, &(char){(char)c}, 1)) break;
        if (text.size >= mark && memcmp(text.s + text.size - mark, end, mark) == 0) {
            text.size -= mark;
            break;
        }
    }
    while (text.size > 0 && strchr("\r\n", text.s[text.size - 1])) text.size--;
    insert(e, text.s, text.size);
    heed_string_free(e->cx, &text);
    return c < 0 || c == CTRL('C') ? c : KEY_PASTE;
}

/* ---- history ---- */

static void go(struct line_editor *e, size_t to) {
    if (e->at == e->lines) set(e, &e->draft, e->line.s, e->line.size);
    e->at = to;
    set_line(e, to == e->lines ? &e->draft : &e->history[to]);
}

static void go_up(struct line_editor *e) {
    if (e->chosen >= 0)
        e->chosen--;
    else if (e->at > 0)
        go(e, e->at - 1);
}
static void go_down(struct line_editor *e) {
    if (e->at < e->lines)
        go(e, e->at + 1);
    else if (e->chosen + 1 < e->suggestions)
        e->chosen++;
}

static void remember(struct line_editor *e) {
    const heed_string *last = e->lines > 0 ? &e->history[e->lines - 1] : NULL;
    if (e->line.size == 0 || (last && strcmp(last->s, e->line.s) == 0)) return;
    if (e->lines == e->room) {
        const size_t room = 2 * e->room + 16;
        heed_string *more = heed_mem_resize(e->cx, e->history, room * sizeof *more);
        if (!more) return;
        e->history = more;
        e->room = room;
    }
    heed_string copy = {0};
    if (heed_string_put(e->cx, &copy, e->line.s, e->line.size)) e->history[e->lines++] = copy;
}

/* ---- reading ---- */

static void clear_screen(struct line_editor *e) {
    static const char clear[] = "\x1B[H\x1B[2J";
    raw_terminal_write(clear, sizeof clear - 1);
    e->drawn_row = 0;
}

/* What a key does that neither ends the line nor the reading. */
static void edit(struct line_editor *e, int key) {
    const size_t at = e->cursor, end = e->line.size;
    switch (key) {
    case KEY_LEFT:
    case CTRL('B'):
        e->cursor = before(e, at);
        break;
    case KEY_RIGHT:
    case CTRL('F'):
        at < end ? (void)(e->cursor = after(e, at)) : take_suggestion(e);
        break;
    case CTRL('I'):
        take_suggestion(e);
        break;
    case KEY_HOME:
    case CTRL('A'):
        e->cursor = 0;
        break;
    case KEY_END:
    case CTRL('E'):
        e->cursor = end;
        break;
    case KEY_WORD_LEFT:
        e->cursor = word_before(e, at, is_word);
        break;
    case KEY_WORD_RIGHT:
        e->cursor = word_after(e, at);
        break;
    case KEY_UP:
    case CTRL('P'):
        go_up(e);
        break;
    case KEY_DOWN:
    case CTRL('N'):
        go_down(e);
        break;
    case KEY_BACKSPACE:
    case CTRL('H'):
        erase(e, before(e, at), at, false);
        break;
    case KEY_DELETE:
    case CTRL('D'):
        erase(e, at, after(e, at), false);
        break;
    case CTRL('K'):
        erase(e, at, end, true);
        break;
    case CTRL('U'):
        erase(e, 0, at, true);
        break;
    case CTRL('W'):
        erase(e, word_before(e, at, is_solid), at, true);
        break;
    case KEY_WORD_BACKSPACE:
        erase(e, word_before(e, at, is_word), at, true);
        break;
    case KEY_WORD_DELETE:
        erase(e, at, word_after(e, at), true);
        break;
    case CTRL('Y'):
        insert(e, e->killed.s, e->killed.size);
        break;
    case CTRL('L'):
        clear_screen(e);
        break;
    case CTRL('Z'):
        raw_terminal_stop();
        break;
    case KEY_ESCAPE:
        e->dismissed = true;
        break;
    default:
        if (key >= ' ' && key < 256) type(e, key);
    }
}

static enum line_result take_line(struct line_editor *e) {
    if (e->chosen >= 0) take_suggestion(e);
    leave_line(e, "");
    remember(e);
    return heed_failed(e->cx) ? LINE_FAILED : LINE_TYPED;
}

static void clear_line(struct line_editor *e) {
    leave_line(e, "^C");
    set(e, &e->line, "", 0);
    e->cursor = 0;
    e->at = e->lines;
}

static enum line_result read_keys(struct line_editor *e) {
    for (bool stale = true;;) {
        if (stale) suggest(e);
        if (e->taken == e->read && !draw(e)) return heed_failed(e->cx) ? LINE_FAILED : LINE_ENDED;
        const int chosen = e->chosen;
        int key = next_key(e);
        if (key == KEY_PASTE) key = paste(e);
        switch (key) {
        case KEY_SIGNAL:
            return LINE_INTERRUPTED;
        case KEY_GONE:
            return LINE_ENDED;
        case CTRL('J'):
        case CTRL('M'):
            return take_line(e);
        case CTRL('C'):
            if (e->line.size == 0) return leave_line(e, "^C"), LINE_INTERRUPTED;
            clear_line(e);
            break;
        case CTRL('D'):
        case KEY_END_OF_FILE:
            if (e->line.size == 0) return leave_line(e, ""), LINE_ENDED;
            edit(e, key);
            break;
        default:
            edit(e, key);
        }
        if (key != KEY_ESCAPE) e->dismissed = false;
        stale = e->chosen == chosen;
    }
}

/* Bytes up to a newline, as a terminal without keys, a pipe or a file gives them. */
static enum line_result read_plainly(struct line_editor *e) {
    if (e->opts.prompt && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1)
        raw_terminal_write(e->opts.prompt, strlen(e->opts.prompt));
    for (;;) {
        const unsigned char *from = e->bytes + e->taken;
        const unsigned char *end = memchr(from, '\n', e->read - e->taken);
        const size_t n = end ? (size_t)(end - from) : e->read - e->taken;
        if (!heed_string_put(e->cx, &e->line, (const char *)from, n)) return LINE_FAILED;
        e->taken += n + (end != NULL);
        if (end) return LINE_TYPED;
        const ssize_t read_now = read(STDIN_FILENO, e->bytes, sizeof e->bytes);
        if (read_now < 0 && errno == EINTR) return LINE_INTERRUPTED;
        if (read_now < 0) return heed_fail(e->cx, HEED_ERR_FILE, "standard input: %s", strerror(errno)), LINE_FAILED;
        e->taken = 0;
        e->read = (size_t)read_now;
        if (read_now == 0) return e->line.size > 0 ? LINE_TYPED : LINE_ENDED;
    }
}

enum line_result line_editor_read(struct line_editor *e) {
    set(e, &e->line, "", 0);
    if (heed_failed(e->cx)) return LINE_FAILED;
    if (e->plain || !raw_terminal_begin()) return read_plainly(e);
    e->cursor = 0;
    e->at = e->lines;
    e->drawn_row = e->drawn_column = 0;
    e->dismissed = false;
    e->over = 0;
    raw_terminal_size(&e->width, &e->height);
    const enum line_result result = read_keys(e);
    raw_terminal_end();
    return result;
}

struct line_editor *line_editor_new(heed_ctx *cx, const struct line_editor_opts *opts) {
    struct line_editor *e = heed_mem_new(cx, sizeof *e);
    if (e) *e = (struct line_editor){.cx = cx, .opts = *opts, .plain = !raw_terminal_possible()};
    return e;
}

void line_editor_free(struct line_editor *e) {
    if (!e) return;
    for (size_t i = 0; i < e->lines; i++) heed_string_free(e->cx, &e->history[i]);
    heed_mem_free(e->cx, e->history);
    heed_string_free(e->cx, &e->line);
    heed_string_free(e->cx, &e->killed);
    heed_string_free(e->cx, &e->draft);
    heed_string_free(e->cx, &e->frame);
    heed_mem_free(e->cx, e);
}
