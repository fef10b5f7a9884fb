/* Walking over several arrays at once: an odometer over axes, each with a step for every array. */
#ifndef KERNEL_WALK_H
#define KERNEL_WALK_H

#include <stdint.h>

#define WALK_AXES   12
#define WALK_ARRAYS 3

struct walk {
    int axes; /* the last one turns fastest */
    struct walk_axis {
        int64_t n, step[WALK_ARRAYS];
    } axis[WALK_AXES];
};

struct walker {
    int64_t at[WALK_AXES], offset[WALK_ARRAYS];
};

static inline int64_t walk_length(const struct walk *w) {
    int64_t n = 1;
    for (int k = 0; k < w->axes; k++) n *= w->axis[k].n;
    return n;
}

static inline struct walker walk_from(const struct walk *w, int64_t place) {
    struct walker here = {0};
    for (int k = w->axes; k-- > 0;) {
        const struct walk_axis *a = &w->axis[k];
        here.at[k] = place % a->n;
        place /= a->n;
        for (int i = 0; i < WALK_ARRAYS; i++) here.offset[i] += here.at[k] * a->step[i];
    }
    return here;
}

static inline void walk_on(const struct walk *w, struct walker *here) {
    for (int k = w->axes; k-- > 0;) {
        const struct walk_axis *a = &w->axis[k];
        for (int i = 0; i < WALK_ARRAYS; i++) here->offset[i] += a->step[i];
        if (++here->at[k] < a->n) return;
        for (int i = 0; i < WALK_ARRAYS; i++) here->offset[i] -= a->n * a->step[i];
        here->at[k] = 0;
    }
}

#endif
