/* Colours: the two themes, the palette of lines, the maps of numbers. */
#ifndef PLOT_COLOR_H
#define PLOT_COLOR_H

#include "heed/plot.h"

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
struct rgb readable_on(struct rgb background); /* black or white */

#endif
