/* cairo, as the other files of this room see it: text with its extents, and a picture that becomes a file. */
#ifndef PLOT_CANVAS_H
#define PLOT_CANVAS_H

#include "plot/color.h"

#include <cairo.h>

struct rect {
    double x, y, w, h;
};

/* Sizes of text, in points. */
#define FONT_SMALL  6.5 /* ticks of a panel that is one of many */
#define FONT_TICK   8.0
#define FONT_LABEL  9.0
#define FONT_TITLE  10.0
#define FONT_FIGURE 12.0
#define CAP_HEIGHT  0.73 /* of capitals and digits, to the size of the font */

/* How a text lies at its point: 0 begins there (or hangs below), 0.5 has its middle there, 1 ends there (or stands). */
struct words {
    double size;
    bool bold;
    struct rgb color;
    double across, down;
    double angle; /* turned about the point, counter-clockwise, in degrees */
};

double text_width(cairo_t *cr, const char *text, double size, bool bold);
void text_draw(cairo_t *cr, const char *text, double x, double y, struct words how);
/* The text, or as much of it as is no wider than `most` with an ellipsis behind. */
struct fitted {
    char text[160];
};
struct fitted text_fit(cairo_t *cr, const char *text, double size, bool bold, double most);

void set_color(cairo_t *cr, struct rgb c, double alpha);
/* A box whose corners are rounded. */
void rounded(cairo_t *cr, struct rect r, double radius);
/* r moved and resized to whole device pixels, for lines that would blur and images that would shift. */
struct rect snapped(cairo_t *cr, struct rect r);

/* Pixels (r, g, b) of colours (rows, cols) as an image that fills r, each a box with sharp edges. color(arg, row, col)
 * gives them. False when cairo has no memory. */
typedef struct rgb (*pixel_fn)(const void *arg, int64_t row, int64_t col);
bool paint_pixels(cairo_t *cr, struct rect r, int64_t rows, int64_t cols, pixel_fn color, const void *arg);

/* A cairo that measures text as the picture `path` will, and draws nothing that is kept; cairo_destroy frees it. */
cairo_t *canvas_scratch(heed_ctx *cx, const char *path);

enum canvas_format { CANVAS_PNG, CANVAS_SVG, CANVAS_PDF };
/* Of "png", "svg" or "pdf". */
bool canvas_format(heed_ctx *cx, const char *name, enum canvas_format *out);

/* A picture of width x height points, with images or without; canvas_commit draws it into the file, canvas_abort drops
 * it; each frees it. All fail the context with a sentence. */
struct canvas;
struct canvas *canvas_open(heed_ctx *cx, const char *path, enum canvas_format format, double width, double height,
                           double pixels, bool images);
cairo_t *canvas_cairo(struct canvas *c);
bool canvas_commit(struct canvas *c);
void canvas_abort(struct canvas *c);

#endif
