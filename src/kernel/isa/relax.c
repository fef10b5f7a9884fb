/* One step of the search for a shortest augmenting path. Lanes hold the least that they have met and where; only equal
 * numbers, of which other rules choose, make a second look necessary. */
#include "kernel/isa/simd.h"
#include <math.h>

#define DW (VW / 2) /* doubles in a vector */

typedef double vd __attribute__((vector_size(DW * 8)));
typedef int64_t vl __attribute__((vector_size(DW * 8)));

INLINE vd d_load(const double *p) {
    vd v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE vl l_load(const int64_t *p) {
    vl v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE vl l_pick(vl mask, vl a, vl b) { return (mask & a) | (~mask & b); }
INLINE vd d_pick(vl mask, vd a, vd b) { return (vd)l_pick(mask, (vl)a, (vl)b); }

INLINE int64_t relax(double *far, int64_t *from, const double *cost, const double *v, double base, double u,
                     int64_t row, const bool fresh, int64_t n, double *least) {
    const vd first = base - (vd){0}, height = u - (vd){0}, never = HUGE_VAL - (vd){0};
    const vl rows = row - (vl){0};
    vd best = never;
    vl where = {0}, equal = {0}, at = {0};
    UNROLL for (int i = 0; i < DW; i++) at[i] = i;
    for (int64_t j = 0; j < n; j += DW) {
        const vd reach = first + d_load(cost + j) - height - d_load(v + j), old = fresh ? never : d_load(far + j);
        const vl nearer = reach < old;
        const vd now = d_pick(nearer, reach, old);
        const vl from_now = fresh ? rows : l_pick(nearer, rows, l_load(from + j));
        memcpy(far + j, &now, sizeof now);
        memcpy(from + j, &from_now, sizeof from_now);
        const vl less = now < best, same = now == best;
        equal = (equal & ~less) | same;
        where = l_pick(less, at, where);
        best = d_pick(less, now, best);
        at += DW;
    }
    double most = best[0];
    int64_t found = where[0], ties = equal[0];
    UNROLL for (int i = 1; i < DW; i++) {
        const bool less = best[i] < most, same = best[i] == most;
        ties = less ? equal[i] : ties | (same ? -1 : 0);
        found = less ? where[i] : found;
        most = less ? best[i] : most;
    }
    *least = most;
    return ties ? -1 : found;
}

int64_t ISA_NAME(relax_columns)(double *far, int64_t *from, const double *cost, const double *v, double base, double u,
                                int64_t row, bool fresh, int64_t n, double *least) {
    return fresh ? relax(far, from, cost, v, base, u, row, true, n, least)
                 : relax(far, from, cost, v, base, u, row, false, n, least);
}
