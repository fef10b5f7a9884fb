/* The plane through points in which they differ most: principal components. */
#ifndef KERNEL_PRINCIPAL_H
#define KERNEL_PRINCIPAL_H

#include <stdint.h>

/* x (n, width), which loses its mean and both components; axes: room for 2 width numbers. px, py (n): the places in the
 * plane, the first point to the right of the middle; share: of the variance, of both. */
void kernel_principal_plane(double *x, int64_t n, int64_t width, double *axes, float *px, float *py, double share[2]);

#endif
