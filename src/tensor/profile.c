/* The profile of a context: a short list of ops, looked through from the front. An op that finds no place any more (a
 * program with more ops of its own than fit) is not counted. */
#include "tensor/profile.h"
#include "base/clock.h"
#include <string.h>

#define LINES 256

struct profile {
    int n;
    struct profile_line line[LINES];
};

bool engine_profile(heed_ctx *cx, bool on) {
    struct engine *e = engine_of(cx);
    if (!e) return false;
    if (!on) {
        heed_mem_free(cx, e->profile);
        e->profile = NULL;
        return true;
    }
    if (!e->profile) e->profile = heed_mem_new(cx, sizeof *e->profile);
    if (e->profile) memset(e->profile, 0, sizeof *e->profile);
    return e->profile != NULL;
}

int engine_profile_lines(const heed_ctx *cx, const struct profile_line **lines) {
    const struct engine *e = cx ? cx->engine : NULL;
    *lines = e && e->profile ? e->profile->line : NULL;
    return *lines ? e->profile->n : 0;
}

int64_t profile_now(const struct engine *e) { return e->profile ? clock_nanoseconds() : 0; }

void profile_note(struct engine *e, const heed_op *op, enum profile_pass pass, int64_t began) {
    struct profile *p = e->profile;
    if (!p) return;
    const int64_t took = profile_now(e) - began;
    int i = 0;
    while (i < p->n && p->line[i].op != op) i++;
    if (i == LINES) return;
    if (i == p->n) p->line[p->n++].op = op;
    p->line[i].count[pass]++;
    p->line[i].nanoseconds[pass] += took;
}
