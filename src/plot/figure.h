/* A figure as it is kept until it is drawn: panels of layers, with copies of all that the caller gave. */
#ifndef PLOT_FIGURE_H
#define PLOT_FIGURE_H

#include "heed/plot.h"

enum layer_kind {
    LAYER_CURVE,
    LAYER_SCATTER,
    LAYER_BAND,
    LAYER_BARS,
    LAYER_HBARS,
    LAYER_VLINE,
    LAYER_HLINE,
    LAYER_TEXT,
    LAYER_NAMES,
    LAYER_BOXES,
    LAYER_HEATMAP,
    LAYER_IMAGES,
    LAYER_NETWORK,
    LAYER_GRAPH,
    LAYER_WRITING,
};

/* Texts in one block: at[0 .. n - 1] point into it. No block: at is NULL. */
struct names {
    char **at;
    int64_t n;
};

struct layer {
    enum layer_kind kind;
    heed_style style; /* label is `text`, colour is settled, alpha is settled */
    char *text;       /* label, words, or the colour bar's label */
    float *x, *y, *z; /* points; bands: y to z; boxes: corners x, four to each; maps and images: y; networks: weights y,
                       * node values z; graphs: places x and y, weights z; writing: points y */
    int64_t n;        /* points, bars, images or nodes */
    double at_x, at_y;  /* of lines and words */
    int64_t rows, cols; /* of a map, of an image; edges and classes of a graph */
    heed_map map;       /* ... and their colours */
    double low, high;   /* ... and scale, both 0: from the data; the strongest edge of a graph */
    bool numbers, no_bar, stretch, weights, own_scales, rgb, directed;
    uint8_t *under; /* RGB, (under_rows, under_cols), below a map; NULL: none */
    int64_t under_rows, under_cols;
    bool smooth;
    int columns;          /* of a grid of images */
    int *sizes, sizes_n;  /* of a network; colours of names; classes of boxes; of writing: points, and how many of them
                             are given; of a graph: from and to (rows), then class, true class and mark (n) */
    int most;             /* nodes drawn of one layer */
    struct names names;   /* bars; points; boxes; nodes; rows of a map; titles of images; layers of a network; lines
                           * of writing */
    struct names names_2; /* columns of a map; inputs of a network; classes of a graph */
    struct names names_3; /* cells of a map; outputs of a network */
};

struct heed_panel {
    heed_figure *figure;
    char *title, *x_label, *y_label;
    double x_low, x_high, y_low, y_high; /* NaN: from the data */
    bool log_x, log_y, no_legend;
    bool open_bands; /* the legend must hide none of them: they are notes */
    float *tick_at;  /* ticks of the x axis that the caller has chosen; NULL: by the range */
    struct names tick_names;
    bool small;          /* small text: one of many */
    bool bare_x, bare_y; /* no ticks: those of a neighbour do for it */
    struct layer *layers;
    int n, room;
    int colors_used;
};

struct heed_figure {
    heed_ctx *cx;
    double width, height; /* 0: by default */
    double cell;          /* without a size: heat maps get cells of so many points, and the figure what they need */
    bool bar;             /* one colour bar for all heat maps */
    char *bar_label;
    double pixels; /* to the point */
    heed_theme theme;
    char *title;
    int rows, cols;
    heed_panel **panels; /* rows * cols, NULL where none was asked for; NULL before the first */
};

#define MAX_POINTS 14400.0 /* width or height of a figure: 200 inches, the most that a PDF page may have */

/* How much wider than tall a cell of a map is: where there is a picture below, that keeps its shape. */
static inline double cell_shape(const struct layer *l) {
    return l->under ? (double)l->under_cols * (double)l->rows / ((double)l->under_rows * (double)l->cols) : 1;
}

/* Whether a call on the panel may do something. */
static inline bool panel_ready(const heed_panel *p) { return p && !heed_failed(p->figure->cx); }

/* Copies: into memory of heed's own, false and a sentence that begins with `op` when it cannot be done. Control
 * characters become spaces. NULL gives NULL, which is no failure. */
bool copy_text(heed_ctx *cx, const char *op, const char *text, char **out);
bool copy_names(heed_ctx *cx, const char *op, const char *const *names, int64_t n, struct names *out);
bool copy_floats(heed_ctx *cx, const char *op, const float *values, int64_t n, float **out);
/* Takes over what the layer holds, also when it fails. */
bool panel_add(heed_panel *p, struct layer *l);
void layer_free(heed_ctx *cx, struct layer *l);

#endif
