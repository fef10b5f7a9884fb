/* The life of figures and panels, and what is said about them before anything is drawn. */
#include "plot/figure.h"
#include "base/checked.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

#define MAX_PANELS 16384

/* ---- copies ---- */

static bool check_text(heed_ctx *cx, const char *op, const char *text) {
    const size_t n = strlen(text), bad = utf8_bad(text, n);
    return bad == n || heed_fail(cx, HEED_ERR_USAGE, "%s: '%s' is not UTF-8 at byte %zu", op, escaped(text).s, bad);
}

/* Copies with control characters (C0, DEL, C1) made spaces: they have no picture, and steer terminals. */
static char *copy_printable(char *out, const char *text) {
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool c1 = c == 0xC2 && (unsigned char)text[1] < 0xA0;
        *out++ = c < 0x20 || c == 0x7F || c1 ? ' ' : (char)c;
        if (c1) text++;
    }
    *out++ = '\0';
    return out;
}

bool copy_text(heed_ctx *cx, const char *op, const char *text, char **out) {
    *out = NULL;
    if (!text) return true;
    if (!check_text(cx, op, text) || !(*out = heed_mem_new(cx, strlen(text) + 1))) return false;
    copy_printable(*out, text);
    return true;
}

bool copy_names(heed_ctx *cx, const char *op, const char *const *names, int64_t n, struct names *out) {
    *out = (struct names){0};
    if (!names || n <= 0) return true;
    size_t bytes = 0;
    if (!size_mul((size_t)n, sizeof *out->at, &bytes)) return heed_fail(cx, HEED_ERR_RANGE, "%s: too many names", op);
    for (int64_t i = 0; i < n; i++)
        if (names[i] && (!check_text(cx, op, names[i]) || !size_add(bytes, strlen(names[i]), &bytes))) return false;
    if (!size_add(bytes, (size_t)n, &bytes) || !(out->at = heed_mem_new(cx, bytes))) return false;
    char *text = (char *)(out->at + n);
    for (int64_t i = 0; i < n; i++) {
        out->at[i] = text;
        text = copy_printable(text, names[i] ? names[i] : "");
    }
    out->n = n;
    return true;
}

bool copy_floats(heed_ctx *cx, const char *op, const float *values, int64_t n, float **out) {
    *out = NULL;
    size_t bytes;
    if (n < 0) return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld numbers", op, (long long)n);
    if (n == 0) return true;
    if (!values) return heed_fail(cx, HEED_ERR_USAGE, "%s: %lld numbers, but no array", op, (long long)n);
    if (!size_mul((size_t)n, sizeof **out, &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld numbers are too many", op, (long long)n);
    if (!(*out = heed_mem_new(cx, bytes))) return false;
    memcpy(*out, values, bytes);
    return true;
}

/* ---- figures ---- */

heed_figure *heed_figure_new(heed_ctx *cx, double width, double height) {
    if (heed_failed(cx)) return NULL;
    if (!(width >= 0 && width <= MAX_POINTS && height >= 0 && height <= MAX_POINTS)) {
        heed_fail(cx, HEED_ERR_RANGE, "figure: %g x %g points: each must be 0 (by default) to %g", width, height,
                  MAX_POINTS);
        return NULL;
    }
    heed_figure *f = heed_mem_new(cx, sizeof *f);
    if (!f) return NULL;
    *f = (heed_figure){.cx = cx, .width = width, .height = height, .pixels = 2, .rows = 1, .cols = 1};
    return f;
}

static void panel_free(heed_ctx *cx, heed_panel *p) {
    if (!p) return;
    for (int i = 0; i < p->n; i++) layer_free(cx, &p->layers[i]);
    heed_mem_free(cx, p->layers);
    heed_mem_free(cx, p->title);
    heed_mem_free(cx, p->x_label);
    heed_mem_free(cx, p->y_label);
    heed_mem_free(cx, p->tick_at);
    heed_mem_free(cx, p->tick_names.at);
    heed_mem_free(cx, p);
}

void heed_figure_free(heed_figure *f) {
    if (!f) return;
    for (int i = 0; f->panels && i < f->rows * f->cols; i++) panel_free(f->cx, f->panels[i]);
    heed_mem_free(f->cx, f->panels);
    heed_mem_free(f->cx, f->title);
    heed_mem_free(f->cx, f->bar_label);
    heed_mem_free(f->cx, f);
}

static bool figure_ready(const heed_figure *f) { return f && !heed_failed(f->cx); }

bool heed_figure_grid(heed_figure *f, int rows, int columns) {
    if (!figure_ready(f)) return false;
    if (f->panels) return heed_fail(f->cx, HEED_ERR_USAGE, "figure_grid: the figure has panels already");
    if (rows < 1 || columns < 1 || rows > MAX_PANELS / columns)
        return heed_fail(f->cx, HEED_ERR_RANGE, "figure_grid: %d x %d panels: must be 1 to %d in all", rows, columns,
                         MAX_PANELS);
    f->rows = rows;
    f->cols = columns;
    return true;
}

bool heed_figure_theme(heed_figure *f, heed_theme theme) {
    if (!figure_ready(f)) return false;
    if (theme != HEED_THEME_LIGHT && theme != HEED_THEME_DARK)
        return heed_fail(f->cx, HEED_ERR_USAGE, "figure_theme: no theme %d", (int)theme);
    f->theme = theme;
    return true;
}

/* Puts a copy in the place of an older text, which stays when it fails. */
static bool set_text(heed_ctx *cx, const char *op, const char *text, char **at) {
    char *copy;
    if (!copy_text(cx, op, text, &copy)) return false;
    heed_mem_free(cx, *at);
    *at = copy;
    return true;
}

bool heed_figure_title(heed_figure *f, const char *text) {
    return figure_ready(f) && set_text(f->cx, "figure_title", text, &f->title);
}

bool heed_figure_scale(heed_figure *f, double pixels) {
    if (!figure_ready(f)) return false;
    if (!(pixels >= 0.25 && pixels <= 16))
        return heed_fail(f->cx, HEED_ERR_RANGE, "figure_scale: %g pixels to the point: must be 0.25 to 16", pixels);
    f->pixels = pixels;
    return true;
}

bool heed_figure_bar(heed_figure *f, const char *label) {
    if (!figure_ready(f) || !set_text(f->cx, "figure_bar", label, &f->bar_label)) return false;
    f->bar = true;
    return true;
}

heed_panel *heed_figure_panel(heed_figure *f, int row, int column) {
    if (!figure_ready(f)) return NULL;
    if (row < 0 || row >= f->rows || column < 0 || column >= f->cols) {
        heed_fail(f->cx, HEED_ERR_RANGE, "figure_panel: no panel (%d, %d) in a grid of %d x %d", row, column, f->rows,
                  f->cols);
        return NULL;
    }
    if (!f->panels) {
        const size_t bytes = (size_t)f->rows * (size_t)f->cols * sizeof *f->panels;
        if (!(f->panels = heed_mem_new(f->cx, bytes))) return NULL;
        memset(f->panels, 0, bytes);
    }
    const double unset = (double)NAN;
    heed_panel **at = &f->panels[row * f->cols + column];
    if (!*at && (*at = heed_mem_new(f->cx, sizeof **at)))
        **at = (heed_panel){.figure = f, .x_low = unset, .x_high = unset, .y_low = unset, .y_high = unset};
    return *at;
}

/* ---- panels ---- */

bool heed_panel_title(heed_panel *p, const char *text) {
    return panel_ready(p) && set_text(p->figure->cx, "panel_title", text, &p->title);
}

bool heed_panel_labels(heed_panel *p, const char *x, const char *y) {
    return panel_ready(p) && set_text(p->figure->cx, "panel_labels", x, &p->x_label) &&
           set_text(p->figure->cx, "panel_labels", y, &p->y_label);
}

static bool set_limits(heed_panel *p, const char *op, double low, double high, double *at_low, double *at_high) {
    if (!panel_ready(p)) return false;
    if (isinf(low) || isinf(high) || low >= high)
        return heed_fail(p->figure->cx, HEED_ERR_RANGE, "%s: from %g to %g: the first must be the smaller", op, low,
                         high);
    *at_low = low;
    *at_high = high;
    return true;
}

bool heed_panel_limits_x(heed_panel *p, double low, double high) {
    return p && set_limits(p, "panel_limits_x", low, high, &p->x_low, &p->x_high);
}

bool heed_panel_limits_y(heed_panel *p, double low, double high) {
    return p && set_limits(p, "panel_limits_y", low, high, &p->y_low, &p->y_high);
}

bool heed_panel_ticks_x(heed_panel *p, const float *at, const char *const *names, int64_t n) {
    static const char op[] = "panel_ticks_x";
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    if (!at || !names || n < 1) return heed_fail(cx, HEED_ERR_USAGE, "%s: places and names are needed", op);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(at[i]) || (i > 0 && !(at[i] > at[i - 1])))
            return heed_fail(cx, HEED_ERR_RANGE, "%s: %g: places must be finite and rise", op, (double)at[i]);
    float *places = NULL;
    struct names copies = {0};
    if (!copy_floats(cx, op, at, n, &places) || !copy_names(cx, op, names, n, &copies)) {
        heed_mem_free(cx, places);
        return false;
    }
    heed_mem_free(cx, p->tick_at);
    heed_mem_free(cx, p->tick_names.at);
    p->tick_at = places;
    p->tick_names = copies;
    return true;
}

bool heed_panel_log(heed_panel *p, bool x, bool y) {
    if (!panel_ready(p)) return false;
    p->log_x = x;
    p->log_y = y;
    return true;
}

bool heed_panel_legend(heed_panel *p, bool shown_or_not) {
    if (!panel_ready(p)) return false;
    p->no_legend = !shown_or_not;
    return true;
}
