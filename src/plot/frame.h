/* A panel on its way to the picture: its axes, where its plot lies, and how much room its words take around it. */
#ifndef PLOT_FRAME_H
#define PLOT_FRAME_H

#include "plot/canvas.h"
#include "plot/figure.h"
#include "plot/ticks.h"

struct axis {
    struct range range;
    bool log, flipped;         /* flipped: the low end is on top */
    bool whole;                /* all that is drawn lies at integers: ticks do too */
    bool counts;               /* of things that are numbered: ticks at integers, no lines across */
    const struct names *names; /* written instead of numbers, name i at i */
    int64_t every;             /* ... of which every so-manieth has room */
    double angle;              /* ... turned by so much */
    struct ticks ticks;
};

/* A colour bar: the map's colours from bottom to top, with ticks and a label at its right. */
struct bar {
    heed_map map;
    struct range scale;
    struct ticks ticks;
    const char *label; /* NULL: none */
};

struct frame {
    cairo_t *cr;
    const heed_panel *panel;
    const struct theme *theme;
    const struct layer *map; /* the heat map, images, network, graph or writing, if any */
    struct range scale;      /* of the map's colours */
    struct bar bar;
    bool has_bar;
    double font;        /* size of what is written at ticks */
    bool axes;          /* there are any */
    bool empty;         /* nothing to show */
    bool legend_beside; /* not within the plot */
    struct axis x, y;
    struct rect plot;
    double left, right, top, bottom; /* room for words around the plot */
};

/* frame_begin finds axes and scales from the data; frame_measure chooses ticks for a plot of this size and sets the
 * room around it; frame_place puts it into its final rectangle. */
bool frame_begin(struct frame *f, cairo_t *cr, const heed_panel *panel, const struct theme *theme);
void frame_measure(struct frame *f, double width, double height);
void frame_place(struct frame *f, struct rect plot);
void frame_draw(struct frame *f);

double frame_x(const struct frame *f, double v); /* NaN for what the axis cannot show */
double frame_y(const struct frame *f, double v);

/* Bars that stand side by side: layer l is number *index of *count. */
void bar_group(const heed_panel *p, const struct layer *l, int *index, int *count);

void draw_axes_below(struct frame *f);
void draw_axes_above(struct frame *f);
void draw_layer(struct frame *f, const struct layer *l); /* all but maps */
void draw_names(struct frame *f, const struct layer *l);
/* Names of points (x, y) of the picture, (n), one after the other, each where it hides no point and no name before it;
 * those for which there is no room are left out. */
struct naming {
    struct frame *f;
    const struct names *names;
    const int *colors; /* (n) heed_color of each; NULL: all `color` */
    heed_color color;
    const double *x, *y;
    int64_t n;
    double radius; /* of the points */
    double size;   /* of the text */
    int rings;     /* of places to try, from next to the point to further away with a line to it */
    bool backed;   /* in front of a patch of the background */
};
void place_names(const struct naming *of);
void draw_boxes(struct frame *f, const struct layer *l);
void draw_heatmap(struct frame *f);
void draw_images(struct frame *f);
void draw_network(struct frame *f);
void draw_graph(struct frame *f);
void draw_writing(struct frame *f);
void draw_legend(struct frame *f);
double legend_beside(struct frame *f); /* the room it needs at the right of a plot of this size; 0: none */
/* A line's or marker's look, for layers and legend alike. */
void set_stroke(struct frame *f, const heed_style *s);
void draw_marker(struct frame *f, const heed_style *s, double x, double y);

/* Chooses its ticks for this height, and gives the room that it needs at the right of a plot. */
double bar_measure(struct bar *b, cairo_t *cr, double height, double font);
void bar_draw(const struct bar *b, cairo_t *cr, heed_ctx *cx, const struct theme *theme, struct rect plot, double font);

#define BAR_WIDE 8.0 /* of a colour bar */
#define BAR_GAP  9.0 /* from the plot */
/* Ticks, from them to their labels, from those to the label of the axis. */
#define TICK_LENGTH 3.0
#define TICK_GAP    2.5
#define LABEL_GAP   5.0

#endif
