/* The trainer from the inside. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "heed/train.h"

struct heed_trainer {
    heed_params *params;
    heed_trainer_opts opts;
    heed_grad *grads; /* `count`, one per parameter */
    int64_t *place;   /* `count`: where a parameter lies in the blocks; -1: it is frozen, or another's */
    int64_t numbers;  /* of each block: of the parameters that are trained, one after another */
    float *grad;
    float *moment[2]; /* (n_moments) velocity, Adam's first and second, or Adafactor's; NULL when not needed */
    int64_t n_moments;
    float *average; /* NULL without one */
    float *carried; /* (n_carried) what else belongs to a checkpoint, the loop's source's; NULL: nothing */
    int64_t n_carried;
    int count;
    int64_t steps, passes;
    double norm;
    bool swapped;
};

const char *optimizer_name(heed_optimizer_kind kind);
void trainer_clear(heed_trainer *t); /* forgets the gradients of an update under way */

#endif
