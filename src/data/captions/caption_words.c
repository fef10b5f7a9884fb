/* The words of captions: names of what they ask for, and captions from it. */
#include "data/captions/caption.h"

#include <stdio.h>
#include <string.h>

const enum scene_shape caption_shapes[CAPTION_SHAPES] = {SCENE_CIRCLE, SCENE_CROSS, SCENE_SQUARE, SCENE_TRIANGLE};
const int caption_colours[CAPTION_COLOURS] = {0, 1, 2, 4, 5, 7}; /* without orange and white */

const struct caption_words caption_shape_words[SCENE_SHAPES] = {[SCENE_CIRCLE] = {2, {"circle", "disc", "disk"}},
                                                                [SCENE_CROSS] = {2, {"cross", "plus"}},
                                                                [SCENE_SQUARE] = {2, {"square", "box"}},
                                                                [SCENE_TRIANGLE] = {1, {"triangle"}}};
const struct caption_words caption_size_words[2] = {{2, {"small", "little", "tiny"}}, {2, {"large", "big", "huge"}}};
const struct caption_words caption_relation_words[CAPTION_RELATIONS] = {
    {2, {"above", "over"}},
    {2, {"below", "under", "beneath", "underneath"}},
    {2, {"left of", "to the left of"}},
    {2, {"right of", "to the right of"}}};

static const char *const thirds[2][3] = {{"left", "middle", "right"}, {"top", "middle", "bottom"}};

const char *heed_caption_name(heed_caption_property property, int value) {
    static const int values[] = {SCENE_SHAPES, SCENE_COLOURS, 2, 3, 3, CAPTION_RELATIONS};
    if ((unsigned)property >= HEED_CAPTION_PROPERTIES || value < 0 || value >= values[property]) return NULL;
    switch (property) {
    case HEED_CAPTION_SHAPE:
        return scene_shape_names[value];
    case HEED_CAPTION_COLOUR:
        return scene_colour_names[value];
    case HEED_CAPTION_SIZE:
        return caption_size_words[value].word[0];
    case HEED_CAPTION_RELATION:
        return caption_relation_words[value].word[0];
    default:
        return thirds[property == HEED_CAPTION_ROW][value];
    }
}

/* ---- what can be asked for ---- */

static bool fits(heed_ctx *cx, const char *op, heed_caption_property property, int value) {
    return value == UNSAID || heed_caption_name(property, value) ||
           heed_fail(cx, HEED_ERR_RANGE, "%s: property %d of a thing is %d: there is no such value", op, (int)property,
                     value);
}

bool caption_check(heed_ctx *cx, const char *op, const heed_caption *c) {
    if (c->things < 1 || c->things > HEED_CAPTION_THINGS)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %d things: a caption has one or two", op, c->things);
    for (int k = 0; k < c->things; k++) {
        const heed_caption_thing *t = &c->thing[k];
        if (!fits(cx, op, HEED_CAPTION_SHAPE, t->shape) || !fits(cx, op, HEED_CAPTION_COLOUR, t->colour) ||
            !fits(cx, op, HEED_CAPTION_SIZE, t->size) || !fits(cx, op, HEED_CAPTION_COLUMN, t->column) ||
            !fits(cx, op, HEED_CAPTION_ROW, t->row))
            return false;
    }
    if (c->relation != UNSAID && c->things < 2)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: a relation of one thing: it takes two", op);
    return fits(cx, op, HEED_CAPTION_RELATION, c->relation);
}

/* ---- what is never trained on ---- */

enum { WITHHELD = 3 };
static const struct {
    int first, vertical, second;                          /* colours: above and below, or left and right */
} withheld[WITHHELD] = {{5, 1, 1}, {2, 0, 7}, {0, 1, 4}}; /* red above blue, green left of yellow, black above purple */

static bool is_withheld_thing(const heed_caption_thing *t) { return t->shape == SCENE_TRIANGLE && t->colour == 4; }

heed_caption_kind heed_caption_kind_of(const heed_caption *c) {
    if (!c) return HEED_CAPTION_SEEN;
    for (int k = 0; k < c->things && k < HEED_CAPTION_THINGS; k++)
        if (is_withheld_thing(&c->thing[k])) return HEED_CAPTION_UNSEEN_THING;
    if (c->things != 2 || c->relation == UNSAID) return HEED_CAPTION_SEEN;
    const bool turned = c->relation == CAPTION_BELOW || c->relation == CAPTION_RIGHT;
    const int vertical = c->relation == CAPTION_ABOVE || c->relation == CAPTION_BELOW;
    for (int i = 0; i < WITHHELD; i++)
        if (withheld[i].vertical == vertical && withheld[i].first == c->thing[turned].colour &&
            withheld[i].second == c->thing[!turned].colour)
            return HEED_CAPTION_UNSEEN_RELATION;
    return HEED_CAPTION_SEEN;
}

/* ---- captions ---- */

#define LONGEST 256

/* A text as it grows, and which of several words the next choice takes: the first, where `way` is 0. */
struct saying {
    char text[LONGEST];
    struct draws draws;
    bool plain;
};

static void put(struct saying *s, const char *word) {
    const size_t n = strlen(s->text);
    snprintf(s->text + n, LONGEST - n, "%s%s", n > 0 ? " " : "", word);
}

static int choose(struct saying *s, int n) { return s->plain ? 0 : draw_index(&s->draws, n); }
static void put_one(struct saying *s, const struct caption_words *w) { put(s, w->word[choose(s, w->n)]); }

static void put_thing(struct saying *s, const heed_caption_thing *t) {
    put(s, "a");
    if (t->size != UNSAID) put_one(s, &caption_size_words[t->size]);
    if (t->colour != UNSAID) put(s, scene_colour_names[t->colour]);
    if (t->shape == UNSAID)
        put(s, "shape");
    else
        put_one(s, &caption_shape_words[t->shape]);
}

static void put_place(struct saying *s, const heed_caption_thing *t) {
    static const char *const middles[] = {"in the middle", "in the center"}, *const corners[] = {"in the %s %s corner",
                                                                                                 "at the %s %s",
                                                                                                 "on the %s %s"};
    const bool middle[2] = {t->column == CAPTION_MIDDLE, t->row == CAPTION_MIDDLE};
    char place[64];
    if (t->column == UNSAID && t->row == UNSAID) return;
    if (middle[0] && middle[1])
        snprintf(place, sizeof place, "%s", middles[choose(s, 2)]);
    else if (t->column == UNSAID)
        snprintf(place, sizeof place, "at the %s", thirds[1][t->row]);
    else if (t->row == UNSAID)
        snprintf(place, sizeof place, choose(s, 2) == 0 ? "on the %s" : "on the %s side", thirds[0][t->column]);
    else
        snprintf(place, sizeof place, corners[middle[0] || middle[1] ? 1 : choose(s, 3)], thirds[1][t->row],
                 thirds[0][t->column]);
    put(s, place);
}

/* After a place "left of" would be read on: "on the left left of". */
static void put_relation(struct saying *s, const heed_caption *c) {
    if (c->relation == UNSAID)
        put(s, "and");
    else if (c->relation >= CAPTION_LEFT && (c->thing[0].column != UNSAID || c->thing[0].row != UNSAID))
        put(s, caption_relation_words[c->relation].word[1]);
    else
        put_one(s, &caption_relation_words[c->relation]);
}

/* "In the middle" is of both directions, so that there are no words for the middle of one of them alone. */
static bool has_words(heed_ctx *cx, const heed_caption *c) {
    for (int k = 0; k < c->things; k++) {
        const heed_caption_thing *t = &c->thing[k];
        if ((t->column == UNSAID && t->row == CAPTION_MIDDLE) || (t->row == UNSAID && t->column == CAPTION_MIDDLE))
            return heed_fail(cx, HEED_ERR_USAGE, "caption: a row or a column in the middle and the other unsaid");
        if (t->shape == SCENE_RING || t->shape == SCENE_STAR)
            return heed_fail(cx, HEED_ERR_USAGE, "caption: a %s is nothing that captions name",
                             scene_shape_names[t->shape]);
        if (t->colour != UNSAID && (t->colour == 3 || t->colour == 6))
            return heed_fail(cx, HEED_ERR_USAGE, "caption: %s is no colour that captions name",
                             scene_colour_names[t->colour]);
    }
    return true;
}

char *heed_caption_say(heed_ctx *cx, const heed_caption *c, uint64_t way) {
    if (heed_failed(cx)) return NULL;
    if (!c) return heed_fail(cx, HEED_ERR_USAGE, "caption: it is NULL"), NULL;
    if (!caption_check(cx, "caption", c) || !has_words(cx, c)) return NULL;
    struct saying s = {.draws = {.seed = way}, .plain = way == 0};
    const int lead = choose(&s, 6);
    if (lead == 4) put(&s, "there is");
    if (lead == 5) put(&s, "a picture of");
    put_thing(&s, &c->thing[0]);
    put_place(&s, &c->thing[0]);
    if (c->things == 2) {
        put_relation(&s, c);
        put_thing(&s, &c->thing[1]);
        put_place(&s, &c->thing[1]);
    }
    char *const out = heed_mem_new(cx, strlen(s.text) + 1);
    return out ? strcpy(out, s.text) : NULL;
}
