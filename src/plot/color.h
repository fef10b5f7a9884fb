/* Colours: the two themes, the palette of lines, the maps of numbers. */
#ifndef PLOT_COLOR_H
#define PLOT_COLOR_H

#include "heed/plot.h"
#include "plot/ticks.h"

#define PALETTE 8

struct rgb {
    double r, g, b; /* sRGB, 0 to 1 */
};

struct theme {
    bool dark;
    struct rgb background, ink, soft, axis, grid; /* soft: small text; axis: lines and grey layers */
    struct rgb palette[PALETTE];
};

const struct theme *theme_of(heed_theme theme);
struct rgb theme_color(const struct theme *t, heed_color color);         /* color is not NEXT */
struct rgb map_color(heed_map map, const struct theme *theme, double t); /* t in [0, 1]; beyond is cut */
struct rgb missing_color(const struct theme *theme);                     /* of cells that hold no number */
struct rgb mix(struct rgb a, struct rgb b, double t);
/* Of a class, counted from 0: the palette, then lighter and darker kin of it. */
struct rgb class_color(const struct theme *t, int class);
struct rgb readable_on(struct rgb background); /* black or white */

/* The ends of a map's colours: as given, or (both 0) from the values; 0 in the middle of a diverging one. */
struct range map_scale(heed_map map, double low, double high, const float *values, int64_t n);
static inline double scale_place(struct range r, double v) { return (v - r.low) / (r.high - r.low); }
bool map_check(heed_ctx *cx, const char *op, heed_map map, double low, double high); /* fails the context */

#endif
