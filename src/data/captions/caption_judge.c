/* Whether a picture shows what a caption asks for. */
#include "data/captions/caption.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_STRAY 0.02  /* of the pixels */
#define LEAST_STEP 0.125 /* between the middles of two things, as a share of the side */

static const char *name_or(heed_caption_property property, int value, const char *otherwise) {
    const char *const name = heed_caption_name(property, value);
    return name ? name : otherwise;
}

struct judging {
    heed_verdict v;
    int mistakes; /* in what is said of single things and of two */
};

/* Adds a clause to what is wrong; false, to be stored. */
static bool wrong(struct judging *j, const char *format, ...) HEED_PRINTF(2, 3);
static bool wrong(struct judging *j, const char *format, ...) {
    char *const reason = j->v.reason;
    size_t n = strlen(reason);
    va_list args;
    if (n > 0) n += (size_t)snprintf(reason + n, HEED_VERDICT_REASON - n, "; ");
    va_start(args, format);
    if (n < HEED_VERDICT_REASON) vsnprintf(reason + n, HEED_VERDICT_REASON - n, format, args);
    va_end(args);
    j->mistakes++;
    return j->v.right = false;
}

/* ---- each thing ---- */

static bool agrees(int asked, int seen) { return asked == UNSAID || asked == seen; }

static void judge_thing(const heed_caption_thing *asked, const heed_seen_thing *seen, struct judging *j) {
    const char *const what = name_or(HEED_CAPTION_SHAPE, seen->shape, "shape");
    if (!agrees(asked->shape, seen->shape))
        j->v.shape = wrong(j, "shape: %s, asked %s", name_or(HEED_CAPTION_SHAPE, seen->shape, "none that is known"),
                           heed_caption_name(HEED_CAPTION_SHAPE, asked->shape));
    if (!agrees(asked->colour, seen->colour))
        j->v.colour = wrong(j, "colour: the %s is %s, asked %s", what,
                            name_or(HEED_CAPTION_COLOUR, seen->colour, "of no known colour"),
                            heed_caption_name(HEED_CAPTION_COLOUR, asked->colour));
    if (!agrees(asked->size, seen->size))
        j->v.size = wrong(j, "size: the %s is %s, asked %s", what, heed_caption_name(HEED_CAPTION_SIZE, seen->size),
                          heed_caption_name(HEED_CAPTION_SIZE, asked->size));
    if (!agrees(asked->column, seen->column))
        j->v.place = wrong(j, "place: the %s is in the %s column, asked %s", what,
                           heed_caption_name(HEED_CAPTION_COLUMN, seen->column),
                           heed_caption_name(HEED_CAPTION_COLUMN, asked->column));
    if (!agrees(asked->row, seen->row))
        j->v.place =
            wrong(j, "place: the %s is in the %s row, asked %s", what, heed_caption_name(HEED_CAPTION_ROW, seen->row),
                  heed_caption_name(HEED_CAPTION_ROW, asked->row));
}

/* ---- two of them ---- */

/* The direction in which the first lies from the second, the longer one where it is oblique; UNSAID: too close. */
static int relation_of(const heed_seen_thing *a, const heed_seen_thing *b) {
    const double x = a->x - b->x, y = a->y - b->y;
    if (fmax(fabs(x), fabs(y)) < LEAST_STEP) return UNSAID;
    if (fabs(y) >= fabs(x)) return y < 0 ? CAPTION_ABOVE : CAPTION_BELOW;
    return x < 0 ? CAPTION_LEFT : CAPTION_RIGHT;
}

/* which: the thing that is meant by each of those asked for, of the n that are described. */
static void judge_things(const heed_caption *asked, const heed_seen *seen, const int *which, int n, struct judging *j) {
    for (int k = 0; k < asked->things; k++)
        if (which[k] < n) judge_thing(&asked->thing[k], &seen->thing[which[k]], j);
    if (asked->things < 2 || n < 2 || asked->relation == UNSAID) return;
    const int relation = relation_of(&seen->thing[which[0]], &seen->thing[which[1]]);
    if (relation != asked->relation)
        j->v.relation = wrong(j, "relation: the first thing is %s the second, asked %s",
                              name_or(HEED_CAPTION_RELATION, relation, "too close to"),
                              heed_caption_name(HEED_CAPTION_RELATION, asked->relation));
}

/* What is right about all there is, before what is asked of which thing. */
static struct judging judge_whole(const heed_caption *asked, const heed_seen *seen) {
    struct judging j = {.v = {true, true, true, true, true, true, true, true, ""}};
    if (seen->things != asked->things) j.v.count = wrong(&j, "things: %d, asked %d", seen->things, asked->things);
    if (seen->stray > MOST_STRAY) j.v.ground = wrong(&j, "ground: %.0f %% of it is not plain", 100 * seen->stray);
    if (seen->things == 0) j.v.shape = j.v.colour = j.v.size = j.v.place = false;
    if (seen->things < 2 && asked->relation != UNSAID) j.v.relation = false;
    return j;
}

bool heed_caption_judge(heed_ctx *cx, const heed_image *picture, const heed_caption *caption, heed_verdict *out) {
    heed_seen seen;
    if (out) *out = (heed_verdict){0};
    if (heed_failed(cx)) return false;
    if (!caption || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "caption: the caption or the place for the verdict is NULL");
    if (!caption_check(cx, "caption", caption) || !heed_caption_see(cx, picture, &seen)) return false;
    /* Of all ways to say which thing is meant by each that is asked for, the best. n: none is. */
    const int n = seen.things < HEED_SEEN_THINGS ? seen.things : HEED_SEEN_THINGS;
    const int absent = caption->things > n ? caption->things - n : 0;
    struct judging best = {.mistakes = INT_MAX};
    for (int a = 0; a <= n; a++)
        for (int b = caption->things == 1 ? n : 0; b <= n; b++) {
            if ((a == n) + (b == n && caption->things == 2) != absent || (a == b && a < n)) continue;
            struct judging j = judge_whole(caption, &seen);
            judge_things(caption, &seen, (int[]){a, b}, n, &j);
            if (j.mistakes < best.mistakes) best = j;
        }
    *out = best.v;
    return true;
}
