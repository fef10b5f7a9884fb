/* The sizes of fresh networks of diffusion, which follow from the pictures and from what --set says. */
#ifndef TASK_DIFFUSION_DIFFUSION_SIZES_H
#define TASK_DIFFUSION_DIFFUSION_SIZES_H

#include "task/run.h"

#define DIFFUSION_SETTINGS 12
struct diffusion_sizes {
    char text[DIFFUSION_SETTINGS][256]; /* KEY=VALUE */
    int n;
};
/* Whether the family's maps are squares. */
bool diffusion_sizes_square(const heed_run *r);
/* Settings of a network for pictures of these channels and sides, with a table of `labels` classes (0: none). */
bool diffusion_sizes_of(const heed_run *r, int channels, int64_t height, int64_t width, int64_t labels,
                        struct diffusion_sizes *to);
/* What sides of about this length must be a multiple of. */
int64_t diffusion_sizes_multiple(const heed_run *r, int64_t side);

#endif
