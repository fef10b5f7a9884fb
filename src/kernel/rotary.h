/* Rotary positions: pairs of channels rotated by an angle that grows with the position.        Su et al. 2021
 *
 * Angles are worked out in double: cosines and sines are right to the last bit or two of a float at any position. They
 * depend on the position alone, not on its place in an array, so a sequence given whole and one given in pieces
 * have the same bits. */
#ifndef KERNEL_ROTARY_H
#define KERNEL_ROTARY_H

#include "base/thread_pool.h"
#include "kernel/attention.h"

/* Row r has position start + r, or positions[r]; pair i of the row the angle position * base^(-i / pairs), or, where
 * speeds are given, position * speeds[i] as f32 has it, and then cosines and sines are multiplied by factor. */
struct angles {
    int64_t rows, pairs;
    double base;
    const float *speeds; /* (pairs) or NULL */
    float factor;
    int64_t start;
    const int32_t *positions; /* or NULL */
    float *cosines, *sines;   /* number i of row r at r * row + i * step */
    int64_t row, step;
    bool inverse; /* of the angles below zero */
};
void kernel_angles(struct pool *pool, const struct angles *a);

struct rotary {
    int64_t batch, time, heads, size; /* B T H D */
    int64_t channels;                 /* R, even, at most D: the channels that are rotated; the others are copied */
    double base;
    bool interleaved; /* pairs (2i, 2i + 1), not (i, i + R/2) */
    bool inverse, add;
    int64_t start;
    const int32_t *positions; /* (T), or (B,T) when own_positions; NULL: start + t */
    bool own_positions;
    const float *angles; /* (T,R), or (B,T,R) when own_positions: cosines, then sines; NULL: of base and positions */
};

/* x (B,T,H,D) -> y, which may be x itself at the same strides. work: kernel_rotary_work bytes. */
size_t kernel_rotary_work(const struct rotary *r);
void kernel_rotary(struct pool *pool, const struct rotary *r, float *y, struct attention_at y_at, const float *x,
                   struct attention_at x_at, void *work);

#endif
