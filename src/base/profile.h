/* Where the time goes, by op and by other work: counted while a profile is on, at no cost while it is off.
 *
 *     const struct profile_mark mark = profile_begin(cx);
 *     ...
 *     profile_end(cx, mark, "parse csv", PROFILE_FORWARD);
 *
 * Marks may nest: a line has the time of its own work, without that of marks within. */
#ifndef BASE_PROFILE_H
#define BASE_PROFILE_H

#include "heed/base.h"

enum profile_pass { PROFILE_FORWARD, PROFILE_BACKWARD }; /* work that is no op is all forward */

struct profile_line {
    const char *name;                 /* static text */
    int64_t count[2], nanoseconds[2]; /* by pass */
};

struct profile_mark {
    int64_t began, inner;
};

/* On: begins to count, from nothing. Off: forgets. False when the context has failed. */
bool profile_set(heed_ctx *cx, bool on);
/* What was done, in the order of first use; 0 lines when no profile is on. */
int profile_lines(const heed_ctx *cx, const struct profile_line **lines);

struct profile_mark profile_begin(heed_ctx *cx);
void profile_end(heed_ctx *cx, struct profile_mark mark, const char *name, enum profile_pass pass);

#endif
