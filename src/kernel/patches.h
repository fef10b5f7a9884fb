/* Patches of pictures, tile by tile: what correlations read. See kernel/patches.c. */
#ifndef KERNEL_PATCHES_H
#define KERNEL_PATCHES_H

#include "kernel/conv.h"

#define PATCH_COLS  256               /* outputs of a tile, at most: a chain of the weights' gradient */
#define PATCH_LD    (PATCH_COLS + 16) /* floats between rows, which else share a few sets of a cache */
#define PATCH_ROWS  576               /* rows of k that are laid out at a time, at most */
#define PATCH_SLACK 16                /* floats read behind the last of a stage */

struct part { /* rows of one picture within a tile */
    int64_t image, y, rows;
    int64_t column; /* of the tile, the first */
    int64_t at;     /* of a stage, the first float */
};
struct tile {
    int64_t columns, x0, width;
    int64_t line; /* floats between columns of a stage that belong to neighbouring phases of the stride, */
    int64_t row;  /* between its rows, */
    int64_t size; /* and of a channel */
    int parts;
    struct part part[PATCH_COLS];
};
struct patches {
    const struct isa *isa;
    const struct correlation *c;
    int64_t taps, k;             /* of a channel, and of all channels of a group */
    int64_t rows, chunks, width; /* a tile: so many rows, or one of so many chunks of one row */
    int64_t tiles;
};

void patches_cut(struct patches *j); /* fills in rows to tiles */
void patches_tile(const struct patches *j, int64_t index, struct tile *t);
/* One channel of the tile's rows, at `plane` for the first picture, with its margins. */
void patches_stage(const struct patches *j, const struct tile *t, float *to, const float *plane);
/* Where each row of k begins in a stage whose first channel is `channel`. */
void patches_starts(const struct patches *j, const struct tile *t, const float *staged, int64_t channel, int64_t k0,
                    int64_t k, const float **from);
/* Rows k0 .. k0 + k of the patches of a tile: in strips, or (strip: PATCH_COLS) as rows PATCH_LD apart. group: the
 * first picture's channels of the group; room: `size` floats for the stage. */
void patches_lay(const struct patches *j, const struct tile *t, const float *group, int64_t k0, int64_t k, float *to,
                 int64_t strip, float *room, int64_t size);

/* Correlations of one channel each, without products; false where that cannot be done. */
bool kernel_depthwise(struct pool *pool, const struct patches *j, float *out, bool add, const float *in,
                      const float *weight, const float *bias);
bool kernel_depthwise_weight(struct pool *pool, const struct patches *j, float *dweight, bool add, const float *in,
                             const float *dout);

#endif
