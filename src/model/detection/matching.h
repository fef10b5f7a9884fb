/* Which query is to find which object: by least cost (detection.h), or as denoising queries know. */
#ifndef MODEL_DETECTION_MATCHING_H
#define MODEL_DETECTION_MATCHING_H

#include "model/detection/detection.h"

/* Are there targets? Fails where they are not those of `batch` pictures. *objects: how many they have. */
bool targets_given(heed_ctx *cx, const struct detection *d, const heed_io *in, int64_t batch, int64_t *objects);
/* How many of picture i. */
int64_t targets_of(const heed_io *in, int64_t i);

struct pairs {
    int64_t n;
    heed_tensor *query; /* i32 (n): b Q + q, ascending */
    heed_tensor *label; /* i32 (n) */
    heed_tensor *box;   /* (n,4) */
};
/* In a dry context the pairs are as many, and none of them is known. */
bool pairs_match(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *logits, heed_tensor *boxes,
                 struct pairs *pairs);
/* Of denoising queries (B,G N); labels: denoising.labels (B,G,N). */
bool pairs_fixed(heed_ctx *cx, const heed_io *in, const heed_tensor *labels, struct pairs *pairs);

#endif
