/* The profile of a context: a short list of names, looked through from the front. A name that finds no place any more
 * (a program with more ops of its own than fit) is not counted. */
#include "base/profile.h"
#include "base/clock.h"
#include "base/ctx.h"
#include <string.h>

#define LINES 256

struct profile {
    int n;
    int64_t inner; /* nanoseconds of marks that ended within the one that is open */
    struct profile_line line[LINES];
};

bool profile_set(heed_ctx *cx, bool on) {
    if (heed_failed(cx)) return false;
    if (!on) {
        heed_mem_free(cx, cx->profile);
        cx->profile = NULL;
        return true;
    }
    if (!cx->profile) cx->profile = heed_mem_new(cx, sizeof *cx->profile);
    if (cx->profile) memset(cx->profile, 0, sizeof *cx->profile);
    return cx->profile != NULL;
}

int profile_lines(const heed_ctx *cx, const struct profile_line **lines) {
    *lines = cx && cx->profile ? cx->profile->line : NULL;
    return *lines ? cx->profile->n : 0;
}

struct profile_mark profile_begin(heed_ctx *cx) {
    struct profile *p = cx ? cx->profile : NULL;
    if (!p) return (struct profile_mark){0, 0};
    const struct profile_mark mark = {clock_nanoseconds(), p->inner};
    p->inner = 0;
    return mark;
}

/* Most names are found by their address; the same text may have several. */
static struct profile_line *line_of(struct profile *p, const char *name) {
    for (int i = 0; i < p->n; i++)
        if (p->line[i].name == name) return &p->line[i];
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->line[i].name, name) == 0) return &p->line[i];
    if (p->n == LINES) return NULL;
    p->line[p->n].name = name;
    return &p->line[p->n++];
}

void profile_end(heed_ctx *cx, struct profile_mark mark, const char *name, enum profile_pass pass) {
    struct profile *p = cx ? cx->profile : NULL;
    if (!p || mark.began == 0) return; /* not on, or not yet when the mark began */
    const int64_t took = clock_nanoseconds() - mark.began;
    struct profile_line *line = line_of(p, name);
    if (line) {
        line->count[pass]++;
        line->nanoseconds[pass] += took - p->inner;
    }
    p->inner = mark.inner + took;
}
