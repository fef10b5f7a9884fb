/* The hand that draws digits: how it bends, slants, scales and trembles, and the way of its pen along a stroke.
 * Pictures of digits (digits.c) and handwriting (writing.c) share it.
 *
 * Only +, -, *, / and square roots are used, rounded each, so that the numbers are the same on every machine: no sines,
 * no powers. */
#ifndef DATA_SYNTHETIC_HAND_H
#define DATA_SYNTHETIC_HAND_H

#include "base/philox.h"
#include "data/synthetic/strokes.h"

struct point {
    float x, y;
};

/* ---- random numbers, one after the other ---- */

struct draws {
    uint64_t seed, stream, position;
    uint32_t words[4];
};

static inline uint32_t draw_bits(struct draws *d) {
    if (d->position % 4 == 0) philox_block(d->seed, d->stream, d->position / 4, d->words);
    return d->words[d->position++ % 4];
}
static inline float draw(struct draws *d, float low, float high) {
    return low + (high - low) * philox_uniform(draw_bits(d));
}
/* The mean of three uniforms: most in the middle, never beyond the bounds. */
float draw_middling(struct draws *d, float low, float high);
static inline int draw_index(struct draws *d, int n) { return (int)((uint64_t)draw_bits(d) * (uint64_t)n >> 32); }

/* ---- the hand ---- */

#define GRID        3 /* the bending field: displacements at GRID x GRID places of the square, linear in between */
#define PIECES      6 /* straight ones between two points of a curve */
#define PATH_POINTS ((STROKE_POINTS - 1) * PIECES + 1)

struct hand {
    struct point bend[GRID][GRID];
    float xx, xy, yx, yy, x, y; /* paper = matrix (point - centre) + place */
    float radius, tremble;
};

void hand_bend(struct hand *h, struct draws *d, float x, float y); /* by at most so much of the square */
/* The matrix: first slanted, (x - slant y, y), then scaled, then turned by twice the angle of tangent `half`. */
void hand_shape(struct hand *h, float width, float height, float slant, float half);
/* The way of the pen along a stroke, as points on paper (how many), and the radii of the pen at its beginning and end.
 */
int hand_path(const struct hand *h, const struct stroke *s, struct draws *d, struct point path[PATH_POINTS],
              float radius[2]);

#endif
