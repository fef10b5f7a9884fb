/* Heat maps and images in a terminal. A letter holds one cell, or two cells one above the other as a half block; where
 * there is no colour, letters of rising darkness stand for them. */
#include "plot/terminal.h"

#include <math.h>
#include <stdio.h>

#define WEIGHT_SEEN 0.02 /* of the scale: a weight below it is left blank where there is no colour */

/* Numbers (rows, cols) shown as blocks of `down` x `across` cells. */
struct sheet {
    const float *values;
    int64_t rows, cols, down, across;
    heed_map map;
    struct range scale;
    bool weights; /* of attention: most are near 0, and the few that are not must be seen */
};

static int64_t blocks(int64_t n, int64_t block) { return (n + block - 1) / block; }

/* The mean of the numbers in a block, of weights the largest; NaN when there are none. */
static double block_value(const struct sheet *h, int64_t row, int64_t col) {
    double sum = 0, largest = -HUGE_VAL;
    int64_t count = 0;
    for (int64_t r = row * h->down; r < (row + 1) * h->down && r < h->rows; r++)
        for (int64_t c = col * h->across; c < (col + 1) * h->across && c < h->cols; c++) {
            const double v = (double)h->values[r * h->cols + c];
            if (!isfinite(v)) continue;
            sum += v;
            largest = fmax(largest, v);
            count++;
        }
    return !count ? (double)NAN : h->weights ? largest : sum / (double)count;
}

static struct rgb sheet_color(const struct sheet *h, double v) {
    const struct theme *theme = theme_of(HEED_THEME_DARK);
    return isnan(v) ? missing_color(theme) : map_color(h->map, theme, scale_place(h->scale, v));
}

/* Of weights only what is next to nothing is left blank; the other letters share the scale. */
static const char *shade(const struct screen *s, double t, bool weights) {
    static const char *const unicode[] = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
    const int n = s->ascii ? 10 : 5;
    const int k = !weights ? (int)(t * n) : t < WEIGHT_SEEN ? 0 : 1 + (int)(t * (n - 1));
    return (s->ascii ? ascii : unicode)[k < 0 ? 0 : k >= n ? n - 1 : k];
}

static void put_shade(struct screen *s, const struct sheet *h, double v, int wide) {
    const char *letter = isnan(v) ? (s->ascii ? "?" : "\u00b7") : shade(s, scale_place(h->scale, v), h->weights);
    buffer_repeat(&s->b, letter, wide);
}

/* One line of text with one row of cells, each `wide` columns. */
static void put_row(struct screen *s, const struct sheet *h, int64_t row, int wide) {
    for (int64_t c = 0; c < blocks(h->cols, h->across); c++) {
        const double v = block_value(h, row, c);
        if (s->colors == HEED_TERMINAL_PLAIN) {
            put_shade(s, h, v, wide);
            continue;
        }
        screen_paper(s, sheet_color(h, v));
        buffer_repeat(&s->b, " ", wide);
    }
    screen_plain(s);
}

/* One line of text with two rows of cells, each one column: the letter is the upper one, its background the lower. */
static void put_half_rows(struct screen *s, const struct sheet *h, int64_t row) {
    const bool lower = row + 1 < blocks(h->rows, h->down);
    for (int64_t c = 0; c < blocks(h->cols, h->across); c++) {
        const double up = block_value(h, row, c), down = lower ? block_value(h, row + 1, c) : (double)NAN;
        if (s->colors == HEED_TERMINAL_PLAIN || s->ascii) {
            const double both = isnan(up) ? down : isnan(down) ? up : h->weights ? fmax(up, down) : (up + down) / 2;
            if (s->colors == HEED_TERMINAL_PLAIN) {
                put_shade(s, h, both, 1);
            } else {
                screen_paper(s, sheet_color(h, both));
                screen_put(s, " ");
            }
            continue;
        }
        screen_ink(s, sheet_color(h, up));
        if (lower) screen_paper(s, sheet_color(h, down));
        screen_put(s, "\u2580");
    }
    screen_plain(s);
}

/* ---- heat maps ---- */

struct layout {
    int label;    /* columns of the rows' names */
    int wide;     /* columns of a cell */
    bool halves;  /* two rows of cells to a line */
    bool numbers; /* written into the cells */
    struct cells cells;
    struct ticks rows; /* labels where there are no names */
};

static int number_columns(const struct screen *s, const struct sheet *h, struct cells cells) {
    int widest = 0;
    char text[LABEL_SIZE];
    for (int64_t i = 0; i < h->rows * h->cols; i++) {
        cell_label(text, (double)h->values[i], cells, s->ascii);
        const int columns = text_columns(text);
        widest = columns > widest ? columns : widest;
    }
    return widest;
}

/* Rows that have names get a line each as long as there are no more than NAMED_LINES. */
static struct layout lay_out(struct screen *s, struct sheet *h, const heed_heatmap *o) {
    enum { LINES = 60, NAMED_LINES = 150 };
    struct layout l = {.wide = 2};
    ticks_linear(&l.rows, -0.5, (double)h->rows - 0.5, (int)fmin(9, (double)h->rows / 2 + 1), true, s->ascii);
    l.label = widest_columns(o->row_names, h->rows);
    for (int i = 0; !o->row_names && i < l.rows.n; i++)
        l.label = text_columns(l.rows.label[i]) > l.label ? text_columns(l.rows.label[i]) : l.label;
    if (l.label > s->width / 3) l.label = s->width / 3;
    const int64_t columns = s->width - l.label - 1, lines = s->height ? s->height : o->row_names ? NAMED_LINES : LINES;
    h->down = h->across = 1;
    if (2 * h->cols > columns || h->rows > lines) {
        l.wide = 1;
        l.halves = !o->row_names || h->rows > lines;
        h->across = blocks(h->cols, columns);
        h->down = blocks(h->rows, l.halves ? 2 * lines : lines);
        if (!o->row_names && !o->col_names) h->down = h->across = h->down > h->across ? h->down : h->across;
        return l;
    }
    if (o->numbers) {
        l.cells = cells_of(h->values, h->rows * h->cols, h->weights);
        const int need = number_columns(s, h, l.cells) + 2;
        l.numbers = need * h->cols <= columns;
        if (l.numbers) l.wide = need;
    }
    const int name = widest_columns(o->col_names, h->cols) + 1;
    if (o->col_names && name > l.wide && name <= 14 && name * h->cols <= columns) l.wide = name;
    return l;
}

static void put_row_label(struct screen *s, const struct layout *l, const heed_heatmap *o, int64_t row) {
    const char *text = NULL;
    for (int i = 0; !o->row_names && i < l->rows.n; i++)
        if ((int64_t)l->rows.at[i] == row) text = l->rows.label[i];
    screen_cell(s, o->row_names ? o->row_names[row] : text, l->label, 1);
    screen_put(s, " ");
}

static void put_number_row(struct screen *s, const struct sheet *h, int64_t row, const struct layout *l) {
    for (int64_t c = 0; c < h->cols; c++) {
        char text[LABEL_SIZE];
        const double v = (double)h->values[row * h->cols + c];
        cell_label(text, v, l->cells, s->ascii);
        const struct rgb color = sheet_color(h, v);
        screen_paper(s, color);
        screen_ink(s, readable_on(color));
        screen_cell(s, text, l->wide - 1, 1);
        screen_put(s, " ");
    }
    screen_plain(s);
}

/* Names below the columns: level where they fit, else letter under letter. A block has the name of its first column. */
static void put_names_below(struct screen *s, const struct layout *l, const struct sheet *h, const char *const *names) {
    enum { DEEPEST = 12 };
    const int64_t cols = blocks(h->cols, h->across);
    const int widest = widest_columns(names, h->cols);
    const bool level = widest < l->wide;
    const char *at[512];
    if (!level && cols > 512) return;
    for (int64_t c = 0; !level && c < cols; c++) at[c] = names[c * h->across];
    for (int line = 0; line < (level ? 1 : widest < DEEPEST ? widest : DEEPEST); line++) {
        buffer_repeat(&s->b, " ", l->label + 1);
        for (int64_t c = 0; c < cols; c++) {
            if (level) {
                screen_cell(s, names[c], l->wide, 0.5);
                continue;
            }
            char letter[5] = "";
            for (int i = 0; at[c] && *at[c] && i < 4 && (i == 0 || ((unsigned char)*at[c] & 0xC0) == 0x80); i++)
                letter[i] = *at[c]++;
            screen_cell(s, letter, l->wide, l->numbers ? 0.5 : 0);
        }
        screen_line(s);
    }
}

/* The colours, or the letters, from the low to the high end. */
static void put_ramp(struct screen *s, const struct sheet *h, int columns) {
    if (s->colors == HEED_TERMINAL_PLAIN) {
        const int n = s->ascii ? 10 : 5, wide = s->ascii || columns < 12 ? 1 : 2;
        screen_put(s, s->ascii ? "[" : "\u2595");
        for (int i = 0; i < n; i++) buffer_repeat(&s->b, shade(s, (i + 0.5) / n, false), wide);
        screen_put(s, s->ascii ? "]" : "\u258f");
        return;
    }
    for (int i = 0; i < columns; i++) {
        screen_paper(s, map_color(h->map, theme_of(HEED_THEME_DARK), i / (double)(columns > 1 ? columns - 1 : 1)));
        screen_put(s, " ");
    }
    screen_plain(s);
}

static void put_scale(struct screen *s, const struct sheet *h, const heed_heatmap *o, int left) {
    char low[LABEL_SIZE], high[LABEL_SIZE];
    const double size = fmax(fabs(h->scale.low), fabs(h->scale.high)), nothing = 1e-3 * size;
    const double span = h->scale.high - h->scale.low;
    const int decimals = number_decimals(span < size / 4 ? span : size); /* both ends differ */
    number_label(low, fabs(h->scale.low) < nothing ? 0 : h->scale.low, decimals, s->ascii);
    number_label(high, fabs(h->scale.high) < nothing ? 0 : h->scale.high, decimals, s->ascii);
    const int numbers = text_columns(low) + text_columns(high) + 2;
    if (left + numbers + 12 > s->width) left = 0;
    const int rest = s->width - left - numbers;
    buffer_repeat(&s->b, " ", left);
    screen_put(s, low);
    screen_put(s, rest >= 12 ? " " : "..");
    if (rest >= 12) {
        const int label = text_columns(o->scale_label), ramp = rest - label - 2 >= 12 ? rest - label - 2 : rest;
        const int columns = s->colors == HEED_TERMINAL_PLAIN ? 12 : ramp < 24 ? ramp : 24;
        put_ramp(s, h, columns);
        screen_put(s, " ");
        screen_put(s, high);
        if (label > 0 && rest - columns > 3) {
            screen_put(s, "  ");
            screen_cell(s, o->scale_label, label < rest - columns - 2 ? label : rest - columns - 2, 0);
        }
    } else
        screen_put(s, high);
    screen_line(s);
    if (h->down > 1 || h->across > 1) {
        char note[96];
        snprintf(note, sizeof note, "blocks: %s of %lld %s %lld", h->weights ? "largest" : "mean", (long long)h->down,
                 s->ascii ? "x" : "\u00d7", (long long)h->across);
        const int columns = text_columns(note), most = s->width - left;
        buffer_repeat(&s->b, " ", left);
        screen_cell(s, note, columns < most ? columns : most, 0);
        screen_line(s);
    }
}

static void put_heatmap(struct screen *s, struct sheet *h, const heed_heatmap *o) {
    const struct layout l = lay_out(s, h, o);
    const int64_t rows = blocks(h->rows, h->down), cols = blocks(h->cols, h->across);
    for (int64_t row = 0; row < rows && !heed_failed(s->b.cx); row += 1 + l.halves) {
        int64_t named = row * h->down; /* the label of the line: the first row that has one */
        for (int64_t k = named; !o->row_names && k < (row + 1 + l.halves) * h->down && k < h->rows; k++)
            for (int i = 0; i < l.rows.n; i++)
                if ((int64_t)l.rows.at[i] == k) named = k;
        put_row_label(s, &l, o, named);
        if (l.numbers)
            put_number_row(s, h, row, &l);
        else if (l.halves)
            put_half_rows(s, h, row);
        else
            put_row(s, h, row, l.wide);
        screen_line(s);
    }
    if (o->col_names)
        put_names_below(s, &l, h, o->col_names);
    else {
        struct ticks t;
        int at[MAX_TICKS];
        const struct range r = {0, (double)h->cols - 1};
        if (h->cols > 1) {
            screen_ticks(s, &t, r, false, true, (int)cols * l.wide, at);
            screen_labels(s, l.label + 1, (int)cols * l.wide, &t, at);
        }
    }
    if (o->no_bar) return;
    if (!l.numbers || s->colors != HEED_TERMINAL_PLAIN) {
        put_scale(s, h, o, l.label + 1);
    } else if (o->scale_label) { /* there are no shades to be explained */
        buffer_repeat(&s->b, " ", l.label + 1);
        screen_cell(s, o->scale_label, s->width - l.label - 1, 0);
        screen_line(s);
    }
}

/* Whether values of (n, rows, cols) can be counted and are there. */
static bool check_shape(heed_ctx *cx, const char *op, const float *values, int64_t n, int64_t rows, int64_t cols) {
    int64_t all;
    if (n < 0 || rows < 0 || cols < 0 || __builtin_mul_overflow(rows, cols, &all) ||
        __builtin_mul_overflow(all, n, &all))
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: (%lld,%lld,%lld) is no shape", op, (long long)n, (long long)rows,
                         (long long)cols);
    return all == 0 || values || heed_fail(cx, HEED_ERR_USAGE, "%s: there are no values", op);
}

char *heed_terminal_heatmap(heed_ctx *cx, const float *values, int64_t rows, int64_t cols, const heed_heatmap *options,
                            const heed_terminal *how) {
    static const char op[] = "terminal_heatmap";
    const heed_heatmap o = options ? *options : (heed_heatmap){0};
    struct screen s;
    if (!screen_open(&s, cx, op, how) || !check_shape(cx, op, values, 1, rows, cols) ||
        !map_check(cx, op, o.map, o.low, o.high) || !check_labels(cx, op, o.row_names, rows) ||
        !check_labels(cx, op, o.col_names, cols) || !check_labels(cx, op, &o.scale_label, 1))
        return buffer_free(&s.b), NULL;
    struct sheet h = {.values = values,
                      .rows = rows,
                      .cols = cols,
                      .map = o.map,
                      .scale = map_scale(o.map, o.low, o.high, values, rows * cols),
                      .weights = o.weights};
    if (rows == 0 || cols == 0)
        screen_put(&s, "(no data)\n");
    else
        put_heatmap(&s, &h, &o);
    return screen_take(&s);
}

/* ---- images ---- */

char *heed_terminal_images(heed_ctx *cx, const float *images, int64_t n, int64_t height, int64_t width,
                           const heed_images *options, const heed_terminal *how) {
    static const char op[] = "terminal_images";
    enum { GAP = 2 };
    const heed_images o = options ? *options : (heed_images){0};
    struct screen s;
    if (o.rgb) {
        heed_fail(cx, HEED_ERR_USAGE, "terminal_images: of red, green and blue only files are made");
        return NULL;
    }
    if (!screen_open(&s, cx, op, how) || !check_shape(cx, op, images, n, height, width) ||
        !map_check(cx, op, o.map, o.low, o.high) || !check_labels(cx, op, o.titles, n))
        return buffer_free(&s.b), NULL;
    const int64_t size = height * width;
    if (n == 0 || size == 0) {
        screen_put(&s, "(no data)\n");
        return screen_take(&s);
    }
    const int64_t block = blocks(width, s.width);
    struct sheet h = {
        .values = images, .rows = height, .cols = width, .down = block, .across = block, .map = o.map, .scale = {0, 1}};
    const struct range all = map_scale(o.map, o.low, o.high, images, n * size);
    const int wide = (int)blocks(width, block);
    int64_t in_row = (s.width + GAP) / (wide + GAP);
    if (in_row < 1) in_row = 1;
    if (o.columns > 0 && o.columns < in_row) in_row = o.columns;
    for (int64_t first = 0; first < n && !heed_failed(cx); first += in_row) {
        const int64_t last = first + in_row < n ? first + in_row : n;
        for (int64_t i = first; o.titles && i < last; i++) {
            screen_cell(&s, o.titles[i], wide, 0.5);
            screen_put(&s, i + 1 < last ? "  " : "");
        }
        if (o.titles) screen_line(&s);
        for (int64_t row = 0; row < blocks(height, block); row += 2) {
            for (int64_t i = first; i < last; i++) {
                h.values = images + i * size;
                h.scale = o.own_scales ? map_scale(o.map, 0, 0, h.values, size) : all;
                put_half_rows(&s, &h, row);
                screen_put(&s, i + 1 < last ? "  " : "");
            }
            screen_line(&s);
        }
        if (last < n) screen_line(&s);
    }
    return screen_take(&s);
}
