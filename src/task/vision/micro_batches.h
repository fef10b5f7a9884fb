/* How epochs of n examples are cut: into batches, of which the last is as small as it must be, and these into
 * micro-batches. They are numbered through all epochs. */
#ifndef TASK_VISION_MICRO_BATCHES_H
#define TASK_VISION_MICRO_BATCHES_H

#include <stdint.h>

struct micro_batches {
    int64_t n, batch, micro;
    int64_t batches, parts; /* of an epoch, and of a whole batch */
    int64_t per_epoch;
};
/* micro 0: the whole batch. */
struct micro_batches micro_batches_of(int64_t n, int64_t batch, int64_t micro);
/* The first of a batch, counted from the beginning of the run. */
int64_t micro_batches_from(const struct micro_batches *m, int64_t batch);

struct micro_batch {
    int64_t epoch, batch_at, at, n; /* where its batch and itself begin in the epoch, and its examples */
    int64_t part, parts, total;     /* of its batch: which, of how many, and the examples of all */
};
struct micro_batch micro_batches_at(const struct micro_batches *m, int64_t number);

#endif
