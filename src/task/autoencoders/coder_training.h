/* What training and measuring autoencoders share. */
#ifndef TASK_AUTOENCODERS_CODER_TRAINING_H
#define TASK_AUTOENCODERS_CODER_TRAINING_H

#include "heed/autoencode.h"

/* Streams of what is drawn for the pictures of a set; dynamic binarisation draws anew in each epoch, from the next
 * stream on, and is measured as it was drawn first. */
#define CODER_STREAM_TRAIN 0
#define CODER_STREAM_VALID ((uint64_t)1 << 40)
#define CODER_STREAM_TEST  ((uint64_t)2 << 40)

/* The names of what is found; estimated: log p(x) too. */
const char *coder_metrics(bool variational, bool estimated);
void coder_score(const heed_coder_score *from, bool variational, heed_score *to); /* in that order */

#endif
