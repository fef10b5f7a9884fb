/* Pictures in a terminal: colours, columns, axes; and bars. */
#include "plot/terminal.h"
#include "io/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the terminal can do ---- */

heed_terminal_colors heed_terminal_choose(const char *no_color, const char *colorterm, const char *term,
                                          bool is_terminal) {
    const bool dumb = !term || !*term || strcmp(term, "dumb") == 0;
    if (!is_terminal || dumb || (no_color && *no_color)) return HEED_TERMINAL_PLAIN;
    if (colorterm && (strstr(colorterm, "truecolor") || strstr(colorterm, "24bit"))) return HEED_TERMINAL_TRUE;
    if (strstr(term, "direct") || strstr(term, "kitty") || strstr(term, "alacritty")) return HEED_TERMINAL_TRUE;
    if (strstr(term, "256color") || (colorterm && *colorterm)) return HEED_TERMINAL_256;
    return HEED_TERMINAL_PLAIN;
}

#define MAX_COLUMNS 10000

bool screen_open(struct screen *s, heed_ctx *cx, const char *op, const heed_terminal *how) {
    const heed_terminal h = how ? *how : (heed_terminal){0};
    *s = (struct screen){.b = {.cx = cx}, .width = h.width ? h.width : 80, .height = h.height, .colors = h.colors};
    s->ascii = h.ascii;
    s->ink = s->paper = NO_COLOR;
    if (heed_failed(cx)) return false;
    if (s->width < 20 || s->width > MAX_COLUMNS || h.height < 0 || h.height > MAX_COLUMNS)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %d columns, %d lines: must be 20 to %d columns", op, s->width,
                         h.height, MAX_COLUMNS);
    if ((unsigned)h.colors > HEED_TERMINAL_TRUE)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: no colours %d", op, (int)h.colors);
    if (!check_labels(cx, op, &h.title, 1)) return false;
    if (h.title) {
        const int columns = text_columns(h.title);
        screen_cell(s, h.title, columns < s->width ? columns : s->width, 0);
        screen_line(s);
    }
    return true;
}

char *screen_take(struct screen *s) { return buffer_take(&s->b); }

/* ---- colours ---- */

struct rgb series_color(int i) {
    static const uint32_t colors[] = {0x4A7FE0, 0xD98A2B, 0x1FA97C, 0xD062AA, 0x45ADE0, 0xC8503A, 0xA89B25, 0x8B66C0};
    const uint32_t c = colors[i & 7];
    return (struct rgb){(c >> 16 & 255) / 255.0, (c >> 8 & 255) / 255.0, (c & 255) / 255.0};
}

/* Nearest of the 6 x 6 x 6 cube (16 to 231) and of the 24 greys (232 to 255). */
static unsigned nearest_256(const int c[3]) {
    static const int levels[] = {0, 95, 135, 175, 215, 255};
    unsigned index = 16;
    int cube = 0, grey_off = 0;
    for (int i = 0; i < 3; i++) {
        int k = 0;
        for (int j = 1; j < 6; j++)
            if (abs(levels[j] - c[i]) < abs(levels[k] - c[i])) k = j;
        index += (unsigned)(k * (int[]){36, 6, 1}[i]);
        cube += (levels[k] - c[i]) * (levels[k] - c[i]);
    }
    const int mean = (c[0] + c[1] + c[2]) / 3;
    const int grey = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10;
    for (int i = 0; i < 3; i++) grey_off += (8 + 10 * grey - c[i]) * (8 + 10 * grey - c[i]);
    return grey_off < cube ? 232 + (unsigned)grey : index;
}

static void set_to(struct screen *s, uint32_t *last, int code, struct rgb c) {
    if (s->colors == HEED_TERMINAL_PLAIN) return;
    const int v[3] = {(int)lround(c.r * 255), (int)lround(c.g * 255), (int)lround(c.b * 255)};
    const uint32_t packed = (uint32_t)(v[0] << 16 | v[1] << 8 | v[2]);
    if (packed == *last) return;
    *last = packed;
    if (s->colors == HEED_TERMINAL_TRUE)
        buffer_format(&s->b, "\033[%d;2;%d;%d;%dm", code, v[0], v[1], v[2]);
    else
        buffer_format(&s->b, "\033[%d;5;%um", code, nearest_256(v));
}

void screen_ink(struct screen *s, struct rgb c) { set_to(s, &s->ink, 38, c); }
void screen_paper(struct screen *s, struct rgb c) { set_to(s, &s->paper, 48, c); }

void screen_plain(struct screen *s) {
    if (s->ink != NO_COLOR || s->paper != NO_COLOR) buffer_text(&s->b, "\033[0m");
    s->ink = s->paper = NO_COLOR;
}

void screen_put(struct screen *s, const char *text) { buffer_text(&s->b, text); }

void screen_line(struct screen *s) {
    screen_plain(s);
    while (s->b.size > 0 && s->b.data[s->b.size - 1] == ' ') s->b.data[--s->b.size] = '\0';
    screen_put(s, "\n");
}

/* ---- columns ---- */

/* The character at *text, which is valid UTF-8, and moves behind it. */
static uint32_t next_character(const char **text) {
    const unsigned char *s = (const unsigned char *)*text;
    const int more = s[0] < 0x80 ? 0 : s[0] < 0xE0 ? 1 : s[0] < 0xF0 ? 2 : 3;
    uint32_t c = more ? s[0] & (0x3Fu >> more) : s[0];
    for (int i = 1; i <= more; i++) c = c << 6 | (s[i] & 0x3F);
    *text += 1 + more;
    return c;
}

/* 0 for marks that lie over the letter before, 2 for East Asian wide letters and pictures, else 1 (UAX 11, by block).
 */
static int character_columns(uint32_t c) {
    static const uint32_t none[][2] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x0610, 0x061A},
                                       {0x064B, 0x065F}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF},
                                       {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},   {0xFE00, 0xFE0F},
                                       {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF}};
    static const uint32_t wide[][2] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97F},
                                       {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
                                       {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
                                       {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (c >= none[i][0] && c <= none[i][1]) return 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (c >= wide[i][0] && c <= wide[i][1]) return 2;
    return 1;
}

int text_columns(const char *text) {
    int columns = 0;
    while (text && *text && columns < MAX_COLUMNS) columns += character_columns(next_character(&text));
    return columns;
}

int widest_columns(const char *const *names, int64_t n) {
    int widest = 0;
    for (int64_t i = 0; names && i < n; i++) {
        const int columns = text_columns(names[i]);
        widest = columns > widest ? columns : widest;
    }
    return widest;
}

bool check_labels(heed_ctx *cx, const char *op, const char *const *names, int64_t n) {
    for (int64_t i = 0; names && i < n; i++) {
        if (!names[i]) continue;
        const size_t size = strlen(names[i]), bad = utf8_bad(names[i], size);
        if (bad != size)
            return heed_fail(cx, HEED_ERR_USAGE, "%s: '%s' is not UTF-8 at byte %zu", op, escaped(names[i]).s, bad);
    }
    return true;
}

void screen_cell(struct screen *s, const char *text, int columns, double across) {
    const int have = text_columns(text);
    const bool cut = have > columns;
    const int dots = !cut || columns < 1 ? 0 : s->ascii && columns > 4 ? 2 : 1;
    const int spare = cut ? 0 : columns - have, before = (int)(across * spare);
    int used = 0;
    buffer_repeat(&s->b, " ", before);
    while (text && *text) {
        const char *start = text;
        const uint32_t c = next_character(&text);
        const int wide = character_columns(c);
        if (cut && used + wide > columns - dots) break;
        used += wide;
        /* Control characters steer the terminal: a space instead. */
        if (c < 0x20 || (c >= 0x7F && c < 0xA0))
            screen_put(s, " ");
        else
            buffer_put(&s->b, start, (size_t)(text - start));
    }
    if (dots) screen_put(s, s->ascii ? &".."[2 - dots] : "\u2026");
    buffer_repeat(&s->b, " ", cut ? columns - used - dots : spare - before);
}

/* ---- axes ---- */

static int label_start(const struct ticks *t, const int *at, int i, int columns) {
    const int wide = text_columns(t->label[i]);
    const int start = at[i] - wide / 2;
    return start + wide > columns ? columns - wide : start < 0 ? 0 : start;
}

void screen_ticks(const struct screen *s, struct ticks *t, struct range r, bool log, bool whole, int columns, int *at) {
    t->n = 0;
    for (int most = columns / 8 + 2; most >= 2; most--) {
        if (log)
            ticks_log(t, r.low, r.high, most, s->ascii);
        else
            ticks_linear(t, r.low, r.high, most, whole, s->ascii);
        bool clear = true;
        for (int i = 0; i < t->n; i++) {
            const double place =
                log ? log10(t->at[i] / r.low) / log10(r.high / r.low) : (t->at[i] - r.low) / (r.high - r.low);
            at[i] = (int)lround(place * (columns - 1));
            if (i > 0 && label_start(t, at, i - 1, columns) + text_columns(t->label[i - 1]) + 1 >=
                             label_start(t, at, i, columns))
                clear = false;
        }
        if (clear) return;
    }
    t->n = t->n > 0 ? 1 : 0; /* not even two have room */
}

void screen_labels(struct screen *s, int left, int columns, const struct ticks *t, const int *at) {
    int column = -left;
    if (t->n == 0) return;
    for (int i = 0; i < t->n; i++) {
        const int start = label_start(t, at, i, columns);
        buffer_repeat(&s->b, " ", start - column);
        screen_put(s, t->label[i]);
        column = start + text_columns(t->label[i]);
    }
    screen_line(s);
}

/* ---- bars ---- */

/* The part of a bar between two places in eighths of a column, on a line of so many columns. */
static void put_bar(struct screen *s, int from, int to, int columns) {
    static const char *const eighths[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
    int used = from / 8;
    buffer_repeat(&s->b, " ", used);
    if (from % 8 >= 4 && !s->ascii && to >= from + 4) { /* a bar to the left ends in half a column */
        screen_put(s, "\u2590");
        used++;
    } else if (from % 8)
        used++, screen_put(s, s->ascii ? "#" : "\u2588");
    for (; used < to / 8; used++) screen_put(s, s->ascii ? "#" : "\u2588");
    if (to % 8 && used * 8 < to) {
        screen_put(s, s->ascii ? (to % 8 >= 4 ? "#" : " ") : eighths[to % 8]);
        used++;
    }
    screen_plain(s);
    buffer_repeat(&s->b, " ", columns - used);
}

char *heed_terminal_bars(heed_ctx *cx, const char *const *names, const float *values, int64_t n,
                         const heed_terminal *how) {
    static const char op[] = "terminal_bars";
    struct screen s;
    if (!screen_open(&s, cx, op, how)) return buffer_free(&s.b), NULL;
    if (n < 0 || (n > 0 && !values))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: %lld bars, no values", op, (long long)n), screen_take(&s);
    if (!check_labels(cx, op, names, n)) return screen_take(&s);
    struct range r = {0, 0};
    for (int64_t i = 0; i < n; i++) range_add(&r, (double)values[i], false);
    const int decimals = values_decimals(values, n);
    int numbers = 0, label = widest_columns(names, n);
    for (int64_t i = 0; i < n; i++) {
        char text[LABEL_SIZE];
        number_label(text, (double)values[i], decimals, s.ascii);
        numbers = text_columns(text) > numbers ? text_columns(text) : numbers;
    }
    if (label > s.width / 2) label = s.width / 2;
    if (label > s.width - numbers - 7) label = s.width - numbers - 7; /* some of the bars, too */
    if (label < 0) label = 0;
    const int columns = s.width - label - numbers - 3;
    const double unit = r.high > r.low ? 8.0 * columns / (r.high - r.low) : 0;
    const int zero = (int)lround(-r.low * unit / 8) * 8;
    if (n == 0) screen_put(&s, "(no data)\n");
    for (int64_t i = 0; i < n && !heed_failed(cx); i++) {
        char text[LABEL_SIZE];
        const double v = (double)values[i];
        int end = isfinite(v) ? zero + (int)lround(v * unit) : zero;
        end = end < 0 ? 0 : end > 8 * columns ? 8 * columns : end;
        screen_cell(&s, names ? names[i] : NULL, label, 1);
        screen_put(&s, s.ascii ? " |" : " \u2502");
        screen_ink(&s, series_color(v < 0 ? 5 : 0));
        put_bar(&s, end < zero ? end : zero, end < zero ? zero : end, columns);
        number_label(text, v, decimals, s.ascii);
        screen_put(&s, " ");
        screen_cell(&s, text, numbers, 1);
        screen_line(&s);
    }
    return screen_take(&s);
}
