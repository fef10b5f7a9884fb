/* Whether a picture shows what a caption asks for. */
#include "data/captions/caption.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_STRAY 0.02 /* of the pixels */
#define LEAST_STEP 0.125 /* between the middles of two things, as a share of the side */

static const char *name_or(heed_caption_property property, int value, const char *otherwise) {
    const char *const name = heed_caption_name(property, value);
    return name ? name : otherwise;
}

/* Adds a clause to what is wrong; false, to be stored. */
static bool wrong(heed_verdict *v, const char *format, ...) HEED_PRINTF(2, 3);
static bool wrong(heed_verdict *v, const char *format, ...) {
    const size_t n = strlen(v->reason);
    va_list args;
    if (n > 0) snprintf(v->reason + n, HEED_VERDICT_REASON - n, "; ");
    const size_t at = strlen(v->reason);
    va_start(args, format);
    vsnprintf(v->reason + at, HEED_VERDICT_REASON - at, format, args);
    va_end(args);
    v->right = false;
    return false;
}

/* ---- each thing ---- */

static bool agrees(int asked, int seen) { return asked == UNSAID || asked == seen; }

static void judge_thing(const heed_caption_thing *asked, const heed_seen_thing *seen, heed_verdict *v) {
    const char *const what = name_or(HEED_CAPTION_SHAPE, seen->shape, "shape");
    if (!agrees(asked->shape, seen->shape))
        v->shape = wrong(v, "shape: %s, asked %s", name_or(HEED_CAPTION_SHAPE, seen->shape, "none that is known"),
                         heed_caption_name(HEED_CAPTION_SHAPE, asked->shape));
    if (!agrees(asked->colour, seen->colour))
        v->colour = wrong(v, "colour: the %s is %s, asked %s", what,
                          name_or(HEED_CAPTION_COLOUR, seen->colour, "of no known colour"),
                          heed_caption_name(HEED_CAPTION_COLOUR, asked->colour));
    if (!agrees(asked->size, seen->size))
        v->size = wrong(v, "size: the %s is %s, asked %s", what, heed_caption_name(HEED_CAPTION_SIZE, seen->size),
                        heed_caption_name(HEED_CAPTION_SIZE, asked->size));
    if (!agrees(asked->column, seen->column))
        v->place = wrong(v, "place: the %s is in the %s column, asked %s", what,
                         heed_caption_name(HEED_CAPTION_COLUMN, seen->column),
                         heed_caption_name(HEED_CAPTION_COLUMN, asked->column));
    if (!agrees(asked->row, seen->row))
        v->place = wrong(v, "place: the %s is in the %s row, asked %s", what,
                         heed_caption_name(HEED_CAPTION_ROW, seen->row),
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

static void judge_things(const heed_caption *asked, const heed_seen *seen, const int *which, heed_verdict *v) {
    for (int k = 0; k < asked->things; k++)
        if (which[k] < seen->things) judge_thing(&asked->thing[k], &seen->thing[which[k]], v);
    if (asked->things < 2 || seen->things < 2 || asked->relation == UNSAID) return;
    const int relation = relation_of(&seen->thing[which[0]], &seen->thing[which[1]]);
    if (relation != asked->relation)
        v->relation = wrong(v, "relation: the first thing is %s the second, asked %s",
                            name_or(HEED_CAPTION_RELATION, relation, "at"),
                            heed_caption_name(HEED_CAPTION_RELATION, asked->relation));
}

/* What is right about all there is, before what is asked of which thing. */
static heed_verdict judge_whole(const heed_caption *asked, const heed_seen *seen) {
    heed_verdict v = {true, true, true, true, true, true, true, true, ""};
    if (seen->things != asked->things) v.count = wrong(&v, "things: %d, asked %d", seen->things, asked->things);
    if (seen->stray > MOST_STRAY) v.ground = wrong(&v, "ground: %.0f %% of it is not plain", 100 * seen->stray);
    if (seen->things == 0) v.shape = v.colour = v.size = v.place = v.relation = false;
    if (seen->things < 2 && asked->relation != UNSAID) v.relation = false;
    return v;
}

static int mistakes(const heed_verdict *v) { return !v->shape + !v->colour + !v->size + !v->place + !v->relation; }

bool heed_caption_judge(heed_ctx *cx, const heed_image *picture, const heed_caption *caption, heed_verdict *out) {
    heed_seen seen;
    if (out) *out = (heed_verdict){0};
    if (heed_failed(cx)) return false;
    if (!caption || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "caption: the caption or the place for the verdict is NULL");
    if (!caption_check(cx, "caption", caption) || !heed_caption_see(cx, picture, &seen)) return false;
    const int n = seen.things < HEED_SEEN_THINGS ? seen.things : HEED_SEEN_THINGS, most = n > 0 ? n : 1;
    /* Of all ways to say which thing is meant, the best. */
    bool any = false;
    for (int a = 0; a < most; a++)
        for (int b = 0; b < (caption->things == 2 ? most : 1); b++) {
            if (caption->things == 2 && a == b && most > 1) continue;
            heed_verdict v = judge_whole(caption, &seen);
            judge_things(caption, &seen, (int[]){a, caption->things == 2 && n < 2 ? n : b}, &v);
            if (any && mistakes(&v) >= mistakes(out)) continue;
            *out = v;
            any = true;
        }
    return true;
}
