/* heed/plot.h: pictures from plain arrays of numbers: files (PNG, SVG, PDF), terminal text, and the data beside them.
 *
 * A figure is a grid of panels; a panel is layers drawn over each other in the order they were added. Arrays and texts
 * are copied, so they may go as soon as a call returns. Every option may be left 0 or NULL: that is the default. Errors
 * stick in the context, as everywhere: calls given a NULL figure or panel do nothing, and heed_figure_write says at the
 * end whether all went well.
 *
 *     heed_figure *f = heed_figure_new(cx, 0, 0);
 *     heed_panel *p = heed_figure_panel(f, 0, 0);
 *     heed_panel_scatter(p, x, y, 50, &(heed_style){.label = "data"});
 *     heed_panel_curve(p, grid, fit, 200, &(heed_style){.label = "fit"});
 *     heed_figure_write(f, "fit.svg");
 *     heed_figure_free(f);
 *
 * Numbers that are not finite leave gaps, and so do numbers <= 0 on a logarithmic axis. Texts are UTF-8. cairo draws,
 * with memory of its own that the allocator hook and the byte budget do not see; writing fails beforehand where the
 * system does not have more than it can need: 24 MB, and for each square point of the figure 32 bytes (PNG), or 128
 * (SVG and PDF with heat maps or images). */
#ifndef HEED_PLOT_H
#define HEED_PLOT_H

#include "heed/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_figure heed_figure;
typedef struct heed_panel heed_panel;

/* ---- figures ---- */

typedef enum heed_theme { HEED_THEME_LIGHT, HEED_THEME_DARK } heed_theme;

/* Sizes are in points, 72 to the inch; 0: what suits the number of panels. */
HEED_API heed_figure *heed_figure_new(heed_ctx *cx, double width, double height);
HEED_API void heed_figure_free(heed_figure *f); /* NULL is allowed */
HEED_API bool heed_figure_grid(heed_figure *f, int rows,
                               int columns); /* before the first panel; 1 x 1 when not called */
HEED_API bool heed_figure_theme(heed_figure *f, heed_theme theme);
HEED_API bool heed_figure_title(heed_figure *f, const char *text);
HEED_API bool heed_figure_scale(heed_figure *f, double pixels); /* of a PNG, to the point; 2 when not called */
/* One colour bar at the right, for all heat maps of the figure: they get one scale, which holds those of all, and no
 * bar of their own. label (NULL: none) is written beside it. */
HEED_API bool heed_figure_bar(heed_figure *f, const char *label);
/* The panel at a place of the grid: made by the first call, the same for every later one. Belongs to the figure. */
HEED_API heed_panel *heed_figure_panel(heed_figure *f, int row, int column);
/* Draws the figure into a file, in the format that its name ends in: .png, .svg or .pdf. Written beside and renamed.
 * The same figure gives the same bytes (with the same cairo and fonts). May be called several times. */
HEED_API bool heed_figure_write(heed_figure *f, const char *path);
/* The same in this format, "png", "svg" or "pdf", whatever the name ends in; "-" is standard output. */
HEED_API bool heed_figure_write_as(heed_figure *f, const char *path, const char *format);

/* ---- panels ---- */

HEED_API bool heed_panel_title(heed_panel *p, const char *text);
HEED_API bool heed_panel_labels(heed_panel *p, const char *x, const char *y); /* of the axes; NULL: none */
HEED_API bool heed_panel_limits_x(heed_panel *p, double low, double high);    /* NaN: from the data */
HEED_API bool heed_panel_limits_y(heed_panel *p, double low, double high);
/* Ticks of the x axis where they are wanted, rising, with what is written at them (dates, say); n at least 1. Those for
 * which there is no room are left out. */
HEED_API bool heed_panel_ticks_x(heed_panel *p, const float *at, const char *const *names, int64_t n);
HEED_API bool heed_panel_log(heed_panel *p, bool x, bool y);
HEED_API bool heed_panel_legend(heed_panel *p, bool shown); /* shown when any layer has a label, unless told not to */

/* Colours that are told apart by colour-blind readers too, and that change with the theme. */
typedef enum heed_color {
    HEED_COLOR_NEXT, /* the panel's next of the eight below */
    HEED_COLOR_BLUE,
    HEED_COLOR_ORANGE,
    HEED_COLOR_GREEN,
    HEED_COLOR_PINK,
    HEED_COLOR_SKY,
    HEED_COLOR_RED,
    HEED_COLOR_GOLD,
    HEED_COLOR_VIOLET,
    HEED_COLOR_INK, /* of the text */
    HEED_COLOR_GREY,
} heed_color;

typedef enum heed_dash { HEED_DASH_NONE, HEED_DASH_LONG, HEED_DASH_DOTS, HEED_DASH_BOTH } heed_dash;

typedef enum heed_marker {
    HEED_MARKER_DEFAULT, /* none on curves, discs for scatter */
    HEED_MARKER_DISC,
    HEED_MARKER_SQUARE,
    HEED_MARKER_TRIANGLE,
    HEED_MARKER_DIAMOND,
    HEED_MARKER_CROSS,
} heed_marker;

typedef struct heed_style {
    const char *label; /* in the legend */
    heed_color color;
    heed_dash dash;
    double width; /* of lines, in points */
    heed_marker marker;
    double size;  /* of markers, across, in points */
    double alpha; /* opacity; 0: as suits the layer */
    bool steps;   /* a curve that keeps its value until the next point */
    bool numbers; /* bars with their values written at their ends */
} heed_style;

/* Points (x[i], y[i]); x NULL: 0, 1, 2, ... style NULL: all defaults. */
HEED_API bool heed_panel_curve(heed_panel *p, const float *x, const float *y, int64_t n, const heed_style *style);
HEED_API bool heed_panel_scatter(heed_panel *p, const float *x, const float *y, int64_t n, const heed_style *style);
/* The area between two curves. */
HEED_API bool heed_panel_band(heed_panel *p, const float *x, const float *low, const float *high, int64_t n,
                              const heed_style *style);
/* Bars from 0, upright or lying (the first on top), named by n texts or, when NULL, numbered. Several layers of bars in
 * a panel stand side by side, named by the first. */
HEED_API bool heed_panel_bars(heed_panel *p, const char *const *names, const float *values, int64_t n,
                              const heed_style *style);
HEED_API bool heed_panel_hbars(heed_panel *p, const char *const *names, const float *values, int64_t n,
                               const heed_style *style);
/* Reference lines across the panel, and words at a point of it. */
HEED_API bool heed_panel_vline(heed_panel *p, double x, const heed_style *style);
HEED_API bool heed_panel_hline(heed_panel *p, double y, const heed_style *style);
HEED_API bool heed_panel_text(heed_panel *p, double x, double y, const char *text, const heed_style *style);

/* Names of the points (x[i], y[i]), in this order, each where it hides neither a point nor a name before it; those for
 * which there is no room are left out. colors (n): of each name; NULL: all that of the style. style's size: of the
 * text. */
HEED_API bool heed_panel_names(heed_panel *p, const float *x, const float *y, const char *const *names,
                               const heed_color *colors, int64_t n, const heed_style *style);

typedef enum heed_map {
    HEED_MAP_SEQUENTIAL, /* dark to bright, equal steps of lightness */
    HEED_MAP_DIVERGING,  /* blue below 0, red above, the background's tone at 0 */
    HEED_MAP_GREY,       /* black to white */
    HEED_MAP_INK,        /* the background's tone to the text's */
} heed_map;

typedef struct heed_heatmap {
    heed_map map;
    double low, high;                                /* ends of the colour scale; both 0: from the data */
    const char *const *row_names, *const *col_names; /* as many as rows and columns */
    const char *scale_label;                         /* beside the colour bar */
    bool numbers;                                    /* the values, written into the cells */
    const char *const *texts;                        /* rows * cols texts to write there instead; "": nothing */
    bool no_bar;                                     /* no colour bar */
    bool stretch;                                    /* fills the panel instead of keeping cells square */
    bool weights; /* of attention: numbers as ".02", none below 0.005; in the terminal a block shows its largest cell */
    const struct heed_image *under; /* grey or RGB: the map lies over this picture, which keeps its shape and shows
                                     * through, all of it where a number is not finite; not in the terminal */
    bool smooth;                    /* ... with values between the middles of cells, not boxes */
} heed_heatmap;

/* values (rows, cols), row 0 on top. One to a panel; curves, lines and text may lie over it, in units of cells, the
 * middle of the first cell being (0, 0); on an axis with both limits set, the map spans them and units are theirs. */
HEED_API bool heed_panel_heatmap(heed_panel *p, const float *values, int64_t rows, int64_t cols,
                                 const heed_heatmap *options);

typedef struct heed_images {
    int columns; /* 0: what fills the panel best */
    heed_map map;
    double low, high;          /* of the colour scale; both 0: from the data */
    bool own_scales;           /* each image from its own least to its own largest number */
    const char *const *titles; /* one for each image */
    bool rgb; /* images are (n, height, width, 3): red, green and blue within 0 and 1, and no map; in files only */
} heed_images;

/* images (n, height, width), side by side in rows. Fills the panel, which has no axes. */
HEED_API bool heed_panel_images(heed_panel *p, const float *images, int64_t n, int64_t height, int64_t width,
                                const heed_images *options);

typedef struct heed_network {
    const char *const *layer_names;  /* one for each layer, below it */
    const char *const *input_names;  /* one for each node of the first layer */
    const char *const *output_names; /* one for each node of the last */
    const float *const *values;      /* values[l]: one for each node of layer l, shown as its fill; NULL: plain */
    int most;                        /* nodes drawn of a layer before the middle is left out; 0: 16 */
} heed_network;

/* Layers of nodes from left to right. weights[l] is (sizes[l + 1], sizes[l]), as a linear layer keeps it: thick edges
 * are large weights, red positive and blue negative. weights NULL: plain edges. Fills the panel, which has no axes. */
HEED_API bool heed_panel_network(heed_panel *p, const int *sizes, int layers, const float *const *weights,
                                 const heed_network *options);

/* A line of handwriting (heed/writing.h): points (n, 3) of (dx, dy, up), of which the first `given` are a beginning, in
 * a colour of its own. */
typedef struct heed_writing_line {
    const float *points;
    int64_t n, given;
    const char *title; /* at its left; NULL: none */
} heed_writing_line;

/* Lines of handwriting below each other, all on one scale. Fills the panel, which has no axes. */
HEED_API bool heed_panel_writing(heed_panel *p, const heed_writing_line *lines, int n);

/* ---- graphs ---- */

/* Places for the nodes of a graph whose edges go from from[e] to to[e]: x and y (nodes), by springs (Kamada and Kawai
 * 1989), so that two nodes are as far apart as the shortest path between them is long, as nearly as a plane allows.
 * What is not connected is packed side by side; at most 4,096 nodes may be connected. The same graph and seed give the
 * same bits everywhere. */
HEED_API bool heed_graph_layout(heed_ctx *cx, int64_t nodes, const int32_t *from, const int32_t *to, int64_t edges,
                                uint64_t seed, float *x, float *y);

typedef struct heed_graph_look {
    int64_t nodes, edges;
    const int32_t *from, *to; /* (edges) */
    const float *x, *y;       /* (nodes) their places, y upwards; NULL: those of heed_graph_layout */
    uint64_t seed;            /* ... from this seed */
    const float *weights;     /* (edges) from 0 on, shown by width and opacity; NULL: all alike */
    double high;              /* the weight of the widest line; 0: the largest */
    bool directed;            /* with arrows */
    const int32_t *classes;   /* (nodes) colours; -1: grey; NULL: all of one */
    const int32_t *truth;     /* (nodes) a ring shows the true class where it is another; -1: unknown; NULL: no rings */
    const bool *marked;       /* (nodes) with a dark edge; NULL: none */
    const char *mark_label;   /* of these in the legend; NULL: none */
    const char *const *class_names; /* (n_classes) in the legend; NULL: there is none */
    int64_t n_classes;
    const char *const *names; /* (nodes) in the nodes, or beside those where there is room; NULL: none */
} heed_graph_look;

/* An edge from a node to itself is a small loop, and one that has another the other way is a bow where there are
 * arrows. Fills the panel, which has no axes. */
HEED_API bool heed_panel_graph(heed_panel *p, const heed_graph_look *look);

/* ---- in the terminal ---- each returns UTF-8 text whose lines all end in a new line, to be freed by heed_mem_free.
 * Nothing is printed. Lines are at most `width` columns wide, counted as a terminal shows them. */

typedef enum heed_terminal_colors { HEED_TERMINAL_PLAIN, HEED_TERMINAL_256, HEED_TERMINAL_TRUE } heed_terminal_colors;

/* What the terminal can show, by the values of the environment variables NO_COLOR, COLORTERM and TERM (NULL: not set)
 * and by whether the output is a terminal. */
HEED_API heed_terminal_colors heed_terminal_choose(const char *no_color, const char *colorterm, const char *term,
                                                   bool is_terminal);

typedef struct heed_terminal {
    int width;  /* columns of text; 0: 80 */
    int height; /* lines of a picture without its labels; 0: what suits it */
    heed_terminal_colors colors;
    bool ascii; /* nothing beyond ASCII, but for the caller's own texts */
    const char *title;
} heed_terminal;

typedef struct heed_series {
    const char *label;
    const float *x; /* NULL: 0, 1, 2, ... */
    const float *y;
    int64_t n;
    bool points; /* not joined by lines */
} heed_series;

typedef struct heed_axes {
    const char *x_label, *y_label;
    bool log_x, log_y;
} heed_axes;

HEED_API char *heed_terminal_curves(heed_ctx *cx, const heed_series *series, int n, const heed_axes *axes,
                                    const heed_terminal *how);
HEED_API char *heed_terminal_bars(heed_ctx *cx, const char *const *names, const float *values, int64_t n,
                                  const heed_terminal *how);
/* A map too large for the width is shown in blocks, each the mean of its cells, or with `weights` the largest of them;
 * the scale below says so. */
HEED_API char *heed_terminal_heatmap(heed_ctx *cx, const float *values, int64_t rows, int64_t cols,
                                     const heed_heatmap *options, const heed_terminal *how);
HEED_API char *heed_terminal_images(heed_ctx *cx, const float *images, int64_t n, int64_t height, int64_t width,
                                    const heed_images *options, const heed_terminal *how);

/* ---- confusion ---- */

/* counts (classes, classes), true class by predicted class, with the counts written into the cells. The diagonal is
 * blue and mistakes are red; the more of a true class a cell holds, the deeper it is. names: of the classes; NULL:
 * numbered. A figure of one panel and no size gets one that suits the classes. */
HEED_API bool heed_plot_confusion(heed_panel *p, const int64_t *counts, int64_t classes, const char *const *names);

/* ---- piano rolls ---- */

typedef struct heed_roll_note {
    int voice;         /* from 0: its colour */
    double start, end; /* in beats */
    int pitch;         /* MIDI number */
} heed_roll_note;

/* Time across, pitch upwards: a bar for each note, a colour for each of at most 8 voices, named in the legend. Lines
 * stand at every `bar` beats (0: none) and lie at every C. */
HEED_API bool heed_plot_roll(heed_panel *p, const heed_roll_note *notes, int64_t n, const char *const *names,
                             int voices, double bar);

/* ---- attention ---- maps of weights, as heed_capture_at gives them or as filled in by hand (heed/attention.h). */

struct heed_capture_map;

typedef struct heed_attention_look {
    int64_t batch;                                     /* which sequence of the batch */
    const char *const *query_names, *const *key_names; /* tokens, as many as rows and keys; NULL: numbered */
    double high;                                       /* end of the colour scale, which begins at 0; 0: the largest
                                                          weight shown */
    heed_map map;
    bool numbers;                  /* the weights, written into the cells: ".02", and nothing below 0.005 */
    int64_t first_head;            /* number of the maps' first head, in the titles of a sheet */
    const char *const *next_names; /* the token that a decoder predicts at each row, which is then labelled "es \u2192
                                      zu"; NULL or "": none */
} heed_attention_look;

/* One head, large: queries down, keys across, tokens along both axes. A figure of one panel and no size gets the size
 * of its cells, tokens and title. */
HEED_API bool heed_plot_attention_map(heed_panel *p, const struct heed_capture_map *map, int64_t head,
                                      const heed_attention_look *look);
/* All heads of n maps: a small heat map for each, a row or more of them to a layer, on one colour scale with one bar.
 * Tokens stand at the left and at the bottom. The figure must have no panels yet; without a size it gets that of its
 * cells, tokens and title, which is "SITE attention" unless it has one. */
HEED_API bool heed_plot_attention_sheet(heed_figure *f, const struct heed_capture_map *maps, int n,
                                        const heed_attention_look *look);
/* One head in the terminal. */
HEED_API char *heed_terminal_attention(heed_ctx *cx, const struct heed_capture_map *map, int64_t head,
                                       const heed_attention_look *look, const heed_terminal *how);

/* ---- attention over a picture ---- */

typedef struct heed_picture_look {
    const struct heed_image *picture; /* what the patches cover; it is drawn pixel by pixel, two to the point */
    int64_t rows, columns;            /* of patches */
    bool smooth;                      /* weights between patches are interpolated */
    int64_t row, column;              /* the patch whose attention it is, outlined; -1: none */
    const char *given;                /* what stands above the picture alone; NULL: "what the model is given" */
} heed_picture_look;

/* The picture and, beside it, the weights (rows, columns) of its patches over it, coloured from 0, or from the smallest
 * where all are nearly equal (none below half of the largest). The figure must have no panels yet. */
HEED_API bool heed_plot_picture_attention(heed_figure *f, const float *weights, const char *title,
                                          const heed_picture_look *look);
/* Many of them: weights (layers, heads, rows, columns), a row or more to a layer, each on a scale of its own, whose end
 * (or both, where it does not begin at 0) is written above it. numbers: of the first layer and of the first head; mean:
 * the last head is the mean of the others. */
typedef struct heed_picture_sheet {
    int layers;
    int64_t heads;
    int first_layer;
    int64_t first_head;
    bool mean;
} heed_picture_sheet;
HEED_API bool heed_plot_picture_sheet(heed_figure *f, const float *weights, const heed_picture_sheet *sheet,
                                      const heed_picture_look *look);

/* ---- objects over a picture ---- */

struct heed_detection;
typedef struct heed_detections_look {
    const struct heed_image *picture;   /* grey or RGB */
    const struct heed_detection *found; /* the highest score first (heed/objects.h), boxes in pixels of the picture */
    int64_t n;
    const char *const *names; /* of the classes; NULL: numbered */
    const char *title;        /* NULL: none */
} heed_detections_look;

/* Pictures with the boxes of their objects, a colour for each class, and a label at each with class and score; labels
 * do not hide each other: one for which there is no room is left out. The figure must have no panels yet. */
HEED_API bool heed_plot_detections(heed_figure *f, const heed_detections_look *looks, int n);

/* What found objects in the picture, and where it looked: first the picture with all boxes, numbered from 1, then the
 * map of each over it, with its box, a colour for each. */
typedef struct heed_picture_object {
    double box[4];        /* x, y, width, height, as parts of the picture */
    const float *weights; /* (rows, columns) */
    const char *title;    /* above its map, behind its number; NULL: none */
} heed_picture_object;
HEED_API bool heed_plot_picture_objects(heed_figure *f, const heed_picture_object *objects, int n,
                                        const heed_picture_look *look);

/* ---- the page of attention ---- one HTML file that loads nothing: lines between words, heat maps with their numbers,
 * all layers and heads at a glance, by pointer and keyboard, on narrow and wide screens, light and dark. */

struct heed_attended_site;
typedef struct heed_attention_page_opts {
    const char *title;
    const char *const *lines; /* sentences below the title */
    int n_lines;
    int64_t batch;   /* which sequence of the batch */
    int site, layer; /* open at first, by place: the mean of all heads, or with `single` one head */
    int64_t head;
    bool single;
} heed_attention_page_opts;

/* Up to nine sites, as heed_attend gives them or as filled in by hand (heed/attend.h): queries and keys NULL, or their
 * tokens, are numbered. A leading U+2581, which begins a word, is not shown; where tokens have another mark they are
 * shown by their labels. The second text has a colour of its own, and tokens can be joined to words, which never fall,
 * where queries and keys are one axis that has segments and words. Weights are kept to 1/65535, or to 1/255 from 16
 * million of them on, which the page says; what is not between 0 and 1 becomes the nearer of them. Written beside and
 * renamed; "-" is standard output. */
HEED_API bool heed_attention_page(heed_ctx *cx, const char *path, const struct heed_attended_site *sites, int n,
                                  const heed_attention_page_opts *opts);

/* The same for attention over a picture, as heed_attend finds it (heed/attend.h): a click on a patch shows what it
 * looks at, in every layer and head, and rollout. */
struct heed_attended;
typedef struct heed_picture_page_opts {
    const char *title;
    const char *line; /* below it: the picture's name; NULL: none */
    int site, layer;  /* open at first */
    int64_t head;     /* -1: the mean of all */
    int64_t query;    /* a token or learned query of that site; -1: who reads the picture */
    bool rollout, smooth;
    double threshold; /* of models that find objects: boxes of those with a higher score are shown */
} heed_picture_page_opts;
HEED_API bool heed_picture_page(heed_ctx *cx, const char *path, const struct heed_attended *a,
                                const heed_picture_page_opts *opts);

/* The same for attention over a graph, of which the page draws what lies within so many edges of a node: a node under
 * the pointer shows what it attends to, in every layer and head. */
typedef struct heed_graph_page_opts {
    const char *title;
    const char *line; /* below it; NULL: none */
    int site, layer;  /* open at first */
    int64_t head;     /* -1: the mean of all */
    int64_t node;     /* chosen at first; -1: none, and all of the graph is drawn */
    int64_t hops;
    uint64_t seed; /* of the layout */
} heed_graph_page_opts;
HEED_API bool heed_graph_page(heed_ctx *cx, const char *path, const struct heed_attended *a,
                              const heed_graph_page_opts *opts);

/* ---- the data beside a picture ---- */

/* A column of numbers or of text: exactly one of the three arrays is given. */
typedef struct heed_table_column {
    const char *name;
    const float *f32;
    const double *f64;
    const char *const *text;
} heed_table_column;

/* Columns of equal length as a CSV file (RFC 4180, but lines end in LF), in a form that heed_table_open reads back to
 * the same bits; the first line holds the names. Written beside and renamed; "-" is standard output. */
HEED_API bool heed_table_write(heed_ctx *cx, const char *path, const heed_table_column *columns, int n, int64_t rows);

#ifdef __cplusplus
}
#endif
#endif
