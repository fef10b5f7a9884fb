/* Curves in a terminal: in braille, 2 x 4 dots to a letter, or with a letter for each series where colours cannot tell
 * them apart. */
#include "plot/terminal.h"

#include <math.h>
#include <string.h>

struct spot {
    unsigned char dots;   /* braille */
    unsigned char series; /* 1 + the last that was drawn here */
};

struct chart {
    struct screen s;
    struct spot *spots; /* (lines, columns) */
    int lines, columns;
    int dots_across, dots_down; /* to a letter */
    struct range x, y;
    bool log_x, log_y;
    struct ticks y_ticks;
    int label; /* columns of their labels */
};

static double place(struct range r, bool log, double v) {
    if (log) return v > 0 ? log10(v / r.low) / log10(r.high / r.low) : (double)NAN;
    return isfinite(v) ? (v - r.low) / (r.high - r.low) : (double)NAN;
}

static void put_dot(struct chart *c, int x, int y, int series) {
    /* Bits of a braille letter: U+2800 + these (Unicode, braille patterns). */
    static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const int column = x / c->dots_across, line = y / c->dots_down;
    if (x < 0 || y < 0 || column >= c->columns || line >= c->lines) return;
    struct spot *spot = &c->spots[(size_t)line * (size_t)c->columns + (size_t)column];
    spot->dots |= bits[y % c->dots_down][x % c->dots_across];
    spot->series = (unsigned char)(series % 255 + 1);
}

static void put_line(struct chart *c, int x0, int y0, int x1, int y1, int series) {
    const int dx = x1 - x0, dy = y1 - y0;
    const int wide = dx < 0 ? -dx : dx, tall = dy < 0 ? -dy : dy, steps = wide > tall ? wide : tall;
    for (int i = 0; i <= steps; i++)
        put_dot(c, x0 + (int)lround((double)dx * i / (steps ? steps : 1)),
                y0 + (int)lround((double)dy * i / (steps ? steps : 1)), series);
}

static void put_series(struct chart *c, const heed_series *series, int index) {
    const int across = c->columns * c->dots_across - 1, down = c->lines * c->dots_down - 1;
    int last_x = 0, last_y = 0;
    bool open = false;
    for (int64_t i = 0; i < series->n; i++) {
        const double u = place(c->x, c->log_x, series->x ? (double)series->x[i] : (double)i);
        const double v = place(c->y, c->log_y, (double)series->y[i]);
        const bool good = !isnan(u) && !isnan(v);
        if (good) {
            const int x = (int)lround(u * across), y = (int)lround((1 - v) * down);
            put_line(c, open ? last_x : x, open ? last_y : y, x, y, index);
            last_x = x;
            last_y = y;
        }
        open = good && !series->points;
    }
}

static char mark_of(int series) { return "*+ox#@%&"[series & 7]; }

static void put_spots(struct chart *c, int line) {
    for (int i = 0; i < c->columns; i++) {
        const struct spot *spot = &c->spots[(size_t)line * (size_t)c->columns + (size_t)i];
        if (!spot->dots) {
            screen_put(&c->s, " ");
            continue;
        }
        screen_ink(&c->s, series_color(spot->series - 1));
        if (c->dots_across == 1)
            buffer_put(&c->s.b, &(char){mark_of(spot->series - 1)}, 1);
        else
            buffer_put(&c->s.b,
                       (char[]){(char)0xE2, (char)(0xA0 | spot->dots >> 6), (char)(0x80 | (spot->dots & 0x3F))}, 3);
    }
    screen_line(&c->s);
}

static void put_legend(struct chart *c, const heed_series *series, int n, int left) {
    int used = left;
    buffer_repeat(&c->s.b, " ", left);
    for (int i = 0; i < n; i++) {
        if (!series[i].label) continue;
        const int columns = text_columns(series[i].label), most = c->s.width - left - 6;
        const int label = columns < most ? columns : most;
        if (used + label + 5 > c->s.width && used > left) {
            screen_line(&c->s);
            buffer_repeat(&c->s.b, " ", used = left);
        }
        screen_ink(&c->s, series_color(i));
        if (c->dots_across == 1)
            buffer_put(&c->s.b, &(char){mark_of(i)}, 1);
        else
            screen_put(&c->s, series[i].points ? "\u2022" : "\u2500\u2500");
        screen_plain(&c->s);
        screen_put(&c->s, " ");
        screen_cell(&c->s, series[i].label, label, 0);
        screen_put(&c->s, "   ");
        used += label + (c->dots_across == 1 || series[i].points ? 5 : 6);
    }
    screen_line(&c->s);
}

static void put_centred(struct chart *c, const char *text, int left) {
    buffer_repeat(&c->s.b, " ", left);
    screen_cell(&c->s, text, c->columns, 0.5);
    screen_line(&c->s);
}

/* Rows of the plot with the labels of the upright axis, then the axis below. */
static void put_chart(struct chart *c) {
    struct screen *s = &c->s;
    const struct ticks *y = &c->y_ticks;
    struct ticks x;
    int x_at[MAX_TICKS];
    for (int line = 0; line < c->lines; line++) {
        const char *text = NULL;
        for (int i = 0; i < y->n; i++)
            if ((int)lround((1 - place(c->y, c->log_y, y->at[i])) * (c->lines - 1)) == line) text = y->label[i];
        screen_cell(s, text, c->label, 1);
        screen_put(s, s->ascii ? (text ? " +" : " |") : text ? " \u2524" : " \u2502");
        put_spots(c, line);
    }
    screen_ticks(s, &x, c->x, c->log_x, false, c->columns, x_at);
    screen_cell(s, NULL, c->label + 1, 0);
    screen_put(s, s->ascii ? "+" : "\u2514");
    for (int i = 0, k = 0; i < c->columns; i++) {
        const bool tick = k < x.n && x_at[k] == i;
        k += tick;
        screen_put(s, s->ascii ? (tick ? "+" : "-") : tick ? "\u252c" : "\u2500");
    }
    screen_line(s);
    screen_labels(s, c->label + 2, c->columns, &x, x_at);
}

static bool check_series(heed_ctx *cx, const char *op, const heed_series *series, int n, const heed_axes *axes) {
    if (n < 0 || (n > 0 && !series)) return heed_fail(cx, HEED_ERR_USAGE, "%s: %d series, but no array", op, n);
    for (int i = 0; i < n; i++) {
        if (series[i].n < 0 || (series[i].n > 0 && !series[i].y))
            return heed_fail(cx, HEED_ERR_USAGE, "%s: series %d: %lld points without y", op, i, (long long)series[i].n);
        if (!check_labels(cx, op, &series[i].label, 1)) return false;
    }
    return check_labels(cx, op, &axes->x_label, 1) && check_labels(cx, op, &axes->y_label, 1);
}

static void find_ranges(struct chart *c, const heed_series *series, int n) {
    c->x = c->y = range_none();
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < series[i].n; k++) {
            const double x = series[i].x ? (double)series[i].x[k] : (double)k, y = (double)series[i].y[k];
            if (!isfinite(x) || !isfinite(y) || (c->log_x && !(x > 0)) || (c->log_y && !(y > 0))) continue;
            range_add(&c->x, x, c->log_x);
            range_add(&c->y, y, c->log_y);
        }
}

/* Ticks of the upright axis first, for the plot has the columns that their labels leave. */
static void measure(struct chart *c) {
    struct ticks *t = &c->y_ticks;
    c->lines = c->s.height ? c->s.height : c->s.width < 60 ? 10 : 16;
    if (c->log_y)
        ticks_log(t, c->y.low, c->y.high, c->lines / 3 + 2, c->s.ascii);
    else
        ticks_linear(t, c->y.low, c->y.high, c->lines / 3 + 2, false, c->s.ascii);
    for (int i = 0; i < t->n; i++)
        c->label = text_columns(t->label[i]) > c->label ? text_columns(t->label[i]) : c->label;
    c->columns = c->s.width - c->label - 2 > 4 ? c->s.width - c->label - 2 : 4;
}

char *heed_terminal_curves(heed_ctx *cx, const heed_series *series, int n, const heed_axes *axes,
                           const heed_terminal *how) {
    static const char op[] = "terminal_curves";
    const heed_axes none = {0};
    axes = axes ? axes : &none;
    struct chart c = {.log_x = axes->log_x, .log_y = axes->log_y};
    if (!screen_open(&c.s, cx, op, how) || !check_series(cx, op, series, n, axes)) return buffer_free(&c.s.b), NULL;
    find_ranges(&c, series, n);
    if (range_empty(c.x)) {
        screen_put(&c.s, "(no data)\n");
        return screen_take(&c.s);
    }
    c.x = range_axis(c.x, 0, c.log_x);
    c.y = range_axis(c.y, 0, c.log_y);
    measure(&c);
    const int left = c.label + 2;
    const bool marks = c.s.ascii || (n > 1 && c.s.colors == HEED_TERMINAL_PLAIN);
    c.dots_across = marks ? 1 : 2;
    c.dots_down = marks ? 1 : 4;
    const size_t bytes = (size_t)c.lines * (size_t)c.columns * sizeof *c.spots; /* both at most 10,000 */
    if (!(c.spots = heed_mem_new(cx, bytes))) return buffer_free(&c.s.b), NULL;
    memset(c.spots, 0, bytes);
    for (int i = 0; i < n; i++) put_series(&c, &series[i], i);
    if (axes->y_label) {
        screen_cell(&c.s, axes->y_label,
                    text_columns(axes->y_label) < c.s.width ? text_columns(axes->y_label) : c.s.width, 0);
        screen_line(&c.s);
    }
    put_chart(&c);
    if (axes->x_label) put_centred(&c, axes->x_label, left);
    bool labels = false;
    for (int i = 0; i < n; i++) labels = labels || series[i].label;
    if (labels) put_legend(&c, series, n, left);
    heed_mem_free(cx, c.spots);
    return screen_take(&c.s);
}
