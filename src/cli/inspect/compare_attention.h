/* What heed compare-attention measures: one layer of each kind at each length. */
#ifndef CLI_INSPECT_COMPARE_ATTENTION_H
#define CLI_INSPECT_COMPARE_ATTENTION_H

#include "heed/plot.h"

enum { MAX_KINDS = 16, MAX_LENGTHS = 24, MAX_SETTINGS = 16 };
enum { FORWARD, STEP, PASSES }; /* forward without gradients; forward, backward and the update */
enum { TIME, MEMORY, COSTS };

/* A model of one layer. In a setting %W stands for the width, %H for the number of heads, %D for the width of a head,
 * %F for the feed-forward layer's, %L for the number of layers, %N for the length, %R and %C for rows and columns whose
 * product is the length. */
struct kind {
    const char *name;   /* on the command line, and in the picture */
    const char *family; /* a kind whose family this build lacks is left out */
    const char *task;   /* the head */
    heed_color color;
    heed_dash dash;
    const char *settings[MAX_SETTINGS];
};

struct comparison {
    int kinds, lengths;
    const struct kind *kind[MAX_KINDS]; /* the exact one first, where it is there */
    int64_t length[MAX_LENGTHS];
    double cost[MAX_KINDS][PASSES][COSTS][MAX_LENGTHS]; /* seconds and bytes; NaN: left out */
};

/* The power of the length that a cost grows with: least squares between EXPONENT_FROM and the largest length, or, where
 * that is fewer than two, of the last two lengths measured; NaN where there are no two. */
#define EXPONENT_FROM 4096
double compare_exponent(const struct comparison *c, int kind, int pass, int cost);
/* Two rows, forward and training step; two columns, time and memory. */
heed_figure *compare_draw(heed_ctx *cx, const struct comparison *c, const char *title);

#endif
