/* Where the time goes, by op: counted while a profile is on, at no cost while it is off. */
#ifndef TENSOR_PROFILE_H
#define TENSOR_PROFILE_H

#include "tensor/engine.h"

enum profile_pass { PROFILE_FORWARD, PROFILE_BACKWARD };

struct profile_line {
    const heed_op *op;
    int64_t count[2], nanoseconds[2]; /* by pass */
};

/* On: begins to count, from nothing. Off: forgets. False when the context has failed. */
bool engine_profile(heed_ctx *cx, bool on);
/* The ops that ran, in the order of their first use; 0 lines when no profile is on. */
int engine_profile_lines(const heed_ctx *cx, const struct profile_line **lines);

/* For the engine. */
struct profile;
int64_t profile_now(const struct engine *e); /* 0 when no profile is on */
void profile_note(struct engine *e, const heed_op *op, enum profile_pass pass, int64_t began);

#endif
