/* Scenes for captions: what they show is drawn first, then where it fits. */
#include "data/captions/caption.h"

#define STREAMS ((uint64_t)0x74 << 56) /* apart from those of the other generators */
#define MARGIN  1.0f                   /* pixels between a shape and the border */
#define GAP     3.0f                   /* between two */
#define SHIFT   5.0f                   /* how far two that lie above each other are out of line, at most */

/* The longer side of the box: a triangle's shorter one is 8 pixels or more. */
static const float sides[2][2] = {{9.25f, 10.25f}, {12.75f, 13.5f}};

/* ---- what is shown ---- */

static void draw_thing(struct draws *d, heed_caption_thing *t) {
    *t = (heed_caption_thing){.shape = (int)caption_shapes[draw_index(d, CAPTION_SHAPES)],
                              .colour = caption_colours[draw_index(d, CAPTION_COLOURS)],
                              .size = draw_index(d, 2),
                              .column = UNSAID,
                              .row = UNSAID};
}

static void draw_content(struct draws *d, int things, heed_caption *c) {
    *c = (heed_caption){.things = things, .relation = UNSAID};
    for (int k = 0; k < things; k++) draw_thing(d, &c->thing[k]);
    if (things == 2) {
        c->relation = draw_index(d, CAPTION_RELATIONS);
    } else {
        c->thing[0].column = draw_index(d, 3);
        c->thing[0].row = draw_index(d, 3);
    }
}

/* Two of the same shape and colour could not be told apart by words. */
static bool is_clear(const heed_caption *c) {
    return c->things < 2 || c->thing[0].shape != c->thing[1].shape || c->thing[0].colour != c->thing[1].colour;
}

/* ---- where it is ---- */

/* An axis is 0 for columns and 1 for rows. */
static float low_end(const struct scene_object *o, int axis) { return MARGIN - o->box[axis]; }
static float high_end(const struct scene_object *o, int axis) {
    return (float)CAPTION_SIDE - MARGIN - o->box[2 + axis];
}

static float draw_in_third(struct draws *d, const struct scene_object *o, int axis, int third) {
    const float near = CAPTION_NEAR * (float)CAPTION_SIDE, middle = 0.5f * (float)CAPTION_SIDE;
    if (third == CAPTION_LOW) return draw(d, low_end(o, axis), near);
    if (third == CAPTION_HIGH) return draw(d, (float)CAPTION_SIDE - near, high_end(o, axis));
    return draw(d, middle - 1.5f, middle + 1.5f);
}

static void put_one(struct draws *d, const heed_caption_thing *t, struct scene_object *o) {
    const float x = draw_in_third(d, o, 0, t->column);
    scene_place(o, x, draw_in_third(d, o, 1, t->row));
}

static float larger(float a, float b) { return a > b ? a : b; }
static float smaller(float a, float b) { return a < b ? a : b; }

/* The room that is left along the axis is cut at two random places: before the first, between them, after the second.
 * Across it both lie about in line. */
static void put_two(struct draws *d, int relation, struct scene_object *o) {
    const bool turned = relation == CAPTION_BELOW || relation == CAPTION_RIGHT;
    const int along = relation == CAPTION_ABOVE || relation == CAPTION_BELOW, across = !along;
    struct scene_object *first = &o[turned], *second = &o[!turned];
    float at[2][2];
    const float end = low_end(second, along) + first->box[2 + along] - first->box[along] + GAP;
    const float room = high_end(second, along) - end, u = draw(d, 0.0f, room), v = draw(d, 0.0f, room);
    at[0][along] = low_end(first, along) + smaller(u, v);
    at[1][along] = end + larger(u, v);
    at[0][across] = draw(d, low_end(first, across), high_end(first, across));
    at[1][across] = draw(d, larger(low_end(second, across), at[0][across] - SHIFT),
                         smaller(high_end(second, across), at[0][across] + SHIFT));
    scene_place(first, at[0][0], at[0][1]);
    scene_place(second, at[1][0], at[1][1]);
}

/* The ground is plain, and its grey tells parts apart: no picture can be in two of them. */
static void make_scene(struct draws *d, const heed_caption *c, enum scene_part part, struct scene *s) {
    const float grey = (float)(198 + SCENE_PARTS * draw_index(d, 14) + (int)part);
    *s = (struct scene){.side = CAPTION_SIDE,
                        .seed = d->seed,
                        .stream = d->stream + ((uint64_t)1 << 55),
                        .objects = c->things,
                        .ground = {{grey, grey, grey}, {grey, grey, grey}},
                        .cell = (float)CAPTION_SIDE};
    for (int k = 0; k < c->things; k++) {
        struct scene_object *o = &s->object[k];
        *o = (struct scene_object){
            .shape = (enum scene_shape)c->thing[k].shape, .colour = c->thing[k].colour, .turn = {1.0f, 0.0f}};
        scene_scale(d, sides[c->thing[k].size], true, o);
        scene_shade(d, 10.0f, o);
    }
    if (c->things == 2)
        put_two(d, c->relation, s->object);
    else
        put_one(d, &c->thing[0], s->object);
}

/* ---- what is said ---- */

static void draw_said(struct draws *d, const heed_caption *shown, heed_caption_kind kind, heed_caption *said) {
    *said = *shown;
    for (int k = 0; k < shown->things; k++)
        if (draw_index(d, 2) == 0) said->thing[k].size = UNSAID;
    /* What makes a caption one of a kind that was never trained on must be said. */
    if (shown->things == 2) {
        if (draw_index(d, 5) == 0 && kind != HEED_CAPTION_UNSEEN_RELATION) said->relation = UNSAID;
        return;
    }
    heed_caption_thing *t = &said->thing[0];
    const bool middle[2] = {t->column == CAPTION_MIDDLE, t->row == CAPTION_MIDDLE};
    const int part = draw_index(d, 5);
    if (draw_index(d, 10) < 3)
        t->column = t->row = UNSAID;
    else if (middle[0] != middle[1])
        *(middle[0] ? &t->column : &t->row) = UNSAID;
    else if (!middle[0] && part < 2)
        *(part == 0 ? &t->column : &t->row) = UNSAID;
}

/* Every second picture has two things; of the test part two in ten are of kinds that are never trained on. */
uint64_t caption_scene(uint64_t seed, enum scene_part part, int64_t i, struct scene *scene, heed_caption *shown,
                       heed_caption *said) {
    struct draws d = {.seed = seed, .stream = STREAMS + ((uint64_t)part << 56) + (uint64_t)i};
    const bool unseen = part == SCENE_TEST && i % 10 >= 8;
    const heed_caption_kind kind = !unseen                    ? HEED_CAPTION_SEEN
                                   : i % 2 == 1 && i / 10 % 2 ? HEED_CAPTION_UNSEEN_RELATION
                                                              : HEED_CAPTION_UNSEEN_THING;
    do draw_content(&d, 1 + (int)(i % 2), shown);
    while (!is_clear(shown) || heed_caption_kind_of(shown) != kind);
    make_scene(&d, shown, part, scene);
    draw_said(&d, shown, kind, said);
    return 1 + (uint64_t)draw_bits(&d);
}
