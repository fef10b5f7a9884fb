/* See kernel/principal.h. */
#include "kernel/principal.h"
#include <math.h>
#include <string.h>

#define TURNS 300  /* of the power method, at most */
#define NEAR  1e-9 /* a change of direction below this ends it */

static void centre(double *x, int64_t n, int64_t width) {
    for (int64_t k = 0; k < width; k++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) mean += x[i * width + k];
        for (int64_t i = 0; i < n; i++) x[i * width + k] -= mean / (double)n;
    }
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

/* axis = X' X axis, of length 1; returns the length that it had. */
static double turn(const double *x, int64_t n, int64_t width, const double *from, double *axis) {
    memset(axis, 0, (size_t)width * sizeof *axis);
    for (int64_t i = 0; i < n; i++) {
        const double along = dot(x + i * width, from, width);
        for (int64_t k = 0; k < width; k++) axis[k] += along * x[i * width + k];
    }
    const double length = sqrt(dot(axis, axis, width));
    for (int64_t k = 0; k < width && length > 0; k++) axis[k] /= length;
    return length;
}

/* The direction of the largest variance, which is returned, by the power method; x loses it. */
static double take_axis(double *x, int64_t n, int64_t width, double *axis, double *next, float *place) {
    double variance = 0, most = -1;
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++) { /* begins at the row furthest out */
        const double length = dot(x + i * width, x + i * width, width);
        if (length > most) most = length, longest = i;
    }
    memcpy(axis, x + longest * width, (size_t)width * sizeof *axis);
    for (int t = 0; t < TURNS && most > 0; t++) {
        variance = turn(x, n, width, axis, next);
        const double along = dot(axis, next, width) / sqrt(dot(axis, axis, width));
        memcpy(axis, next, (size_t)width * sizeof *axis);
        if (1 - along < NEAR) break;
    }
    double sign = 0; /* the first point lies to the right */
    for (int64_t i = 0; i < n; i++) {
        const double along = most > 0 ? dot(x + i * width, axis, width) : 0;
        for (int64_t k = 0; k < width; k++) x[i * width + k] -= along * axis[k];
        if (sign == 0) sign = along < 0 ? -1 : 1;
        place[i] = (float)(sign * along);
    }
    return variance;
}

void kernel_principal_plane(double *x, int64_t n, int64_t width, double *axes, float *px, float *py, double share[2]) {
    centre(x, n, width);
    const double all = dot(x, x, n * width);
    const double first = take_axis(x, n, width, axes, axes + width, px);
    const double second = take_axis(x, n, width, axes, axes + width, py);
    share[0] = all > 0 ? first / all : 0;
    share[1] = all > 0 ? second / all : 0;
}
