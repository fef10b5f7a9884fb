/* A session as generate sees it. */
#ifndef DECODE_SESSION_H
#define DECODE_SESSION_H

#include "heed/generate.h"
#include "model/core/stepper.h"

struct heed_session {
    const heed_model *model;
    const struct heed_stepper *stepper;
    struct stepper_sizes sizes;
    int64_t n, most; /* sequences, now and when it was opened */
    heed_ids *ids;   /* (most) */
    float *logits;   /* (most, V) */
    int32_t *counts; /* (most) */
    bool broken;     /* a step failed half way */
    void *state;
};

bool session_check(heed_ctx *cx, const heed_session *s, const char *who);

#endif
