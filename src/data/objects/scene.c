/* What a scene holds; scene_draw.c draws it. */
#include "data/objects/scene.h"

#include <math.h>

#define STREAMS ((uint64_t)7 << 60) /* apart from those of the other generators */
#define MARGIN  1.0f                /* pixels between a shape and the border */
#define TRIES   40

const char *const scene_shape_names[SCENE_SHAPES + 1] = {"circle", "cross", "ring", "square", "star", "triangle", 0};
const char *const scene_colour_names[SCENE_COLOURS] = {"black",  "blue", "green", "orange",
                                                       "purple", "red",  "white", "yellow"};
const char *const scene_size_names[SCENE_SIZES] = {"small", "medium", "large"};

const float scene_colours[SCENE_COLOURS][3] = {{24, 24, 24},   {45, 80, 205}, {35, 150, 60},   {238, 128, 25},
                                               {135, 50, 165}, {205, 35, 40}, {240, 240, 240}, {238, 215, 50}};
/* The shorter side of the box. Between two sizes is a gap, so that their names mean something. */
static const float sides[SCENE_SIZES][2] = {{SCENE_MIN_SIDE, 20}, {23, 30}, {33, 44}};

static float channel(float v) { return v < 0.0f ? 0.0f : v > 255.0f ? 255.0f : v; }

/* ---- one object ---- */

/* A square or a cross keeps about upright, or one would be taken for a diamond or the letter x. */
static struct point draw_turn(struct draws *d, enum scene_shape shape) {
    const float most = shape == SCENE_SQUARE || shape == SCENE_CROSS ? 0.15f : 1.0f;
    const float half = draw(d, -most, most); /* the tangent of half the angle */
    struct point turn = {(1.0f - half * half) / (1.0f + half * half), 2.0f * half / (1.0f + half * half)};
    if (draw_index(d, 2) == 1 && most == 1.0f) turn = (struct point){-turn.x, -turn.y};
    return turn;
}

void scene_scale(struct draws *d, const float side[2], bool longer, struct scene_object *o) {
    o->radius = 1.0f;
    scene_place(o, 0.0f, 0.0f);
    const float width = o->box[2] - o->box[0], height = o->box[3] - o->box[1];
    o->radius = draw(d, side[0], side[1]) / ((width < height) != longer ? width : height);
    scene_place(o, 0.0f, 0.0f);
}

void scene_shade(struct draws *d, float most, struct scene_object *o) {
    for (int c = 0; c < 3; c++) o->rgb[c] = channel(scene_colours[o->colour][c] + draw(d, -most, most));
}

static void draw_object(struct draws *d, struct scene_object *o) {
    *o = (struct scene_object){.shape = (enum scene_shape)draw_index(d, SCENE_SHAPES),
                               .colour = draw_index(d, SCENE_COLOURS)};
    o->size = draw_index(d, SCENE_SIZES);
    o->turn = draw_turn(d, o->shape);
    scene_scale(d, sides[o->size], false, o);
    const float left = MARGIN - o->box[0], right = SCENE_SIDE - MARGIN - o->box[2];
    const float top = MARGIN - o->box[1], bottom = SCENE_SIDE - MARGIN - o->box[3];
    const float x = draw(d, left, right);
    scene_place(o, x, draw(d, top, bottom));
    scene_shade(d, 14.0f, o);
}

/* ---- all of them ---- */

/* The share of object k that those above it leave to be seen; cover: of each object. */
static float visible(uint8_t (*cover)[SCENE_PIXELS], int k, int n) {
    float all = 0.0f, seen = 0.0f;
    for (int i = 0; i < SCENE_PIXELS; i++) {
        if (cover[k][i] == 0) continue;
        float left = (float)cover[k][i];
        all += left;
        for (int j = k + 1; j < n; j++) left *= (float)(255 - cover[j][i]) * (1.0f / 255.0f);
        seen += left;
    }
    return seen / all;
}

static bool touch(const uint8_t *a, const uint8_t *b) {
    for (int i = 0; i < SCENE_PIXELS; i++)
        if (a[i] > 0 && b[i] > 0) return true;
    return false;
}

/* Whether the last of n objects leaves enough of the others, and differs in colour from those that it touches. */
static bool fits(const struct scene *s, uint8_t (*cover)[SCENE_PIXELS], int n) {
    for (int k = 0; k < n - 1; k++)
        if (touch(cover[k], cover[n - 1]) &&
            (s->object[k].colour == s->object[n - 1].colour || visible(cover, k, n) < SCENE_VISIBLE))
            return false;
    return true;
}

static void draw_ground(struct draws *d, struct scene *s) {
    for (int k = 0; k < 2; k++) {
        const float grey = draw(d, 85.0f, 165.0f);
        for (int c = 0; c < 3; c++) s->ground[k][c] = grey + draw(d, -20.0f, 20.0f);
    }
    const float half = draw(d, -1.0f, 1.0f);
    s->slope = (struct point){(1.0f - half * half) / (1.0f + half * half), 2.0f * half / (1.0f + half * half)};
    s->cloud = draw(d, 0.0f, 22.0f);
    s->cell = draw(d, 5.0f, 24.0f);
    s->grain = draw(d, 2.0f, 14.0f);
}

void scene_make(uint64_t seed, enum scene_part part, int64_t i, struct scene *out) {
    struct draws d = {.seed = seed, .stream = STREAMS + ((uint64_t)part << 56) + 2 * (uint64_t)i};
    uint8_t cover[MAX_SHAPES][SCENE_PIXELS];
    *out = (struct scene){.side = SCENE_SIDE, .seed = seed, .stream = d.stream + 1};
    draw_ground(&d, out);
    const int wanted = 1 + draw_index(&d, MAX_SHAPES);
    for (int tries = 0; out->objects < wanted && tries < TRIES; tries++) {
        const int k = out->objects;
        draw_object(&d, &out->object[k]);
        scene_cover(&out->object[k], SCENE_SIDE, cover[k]);
        if (fits(out, cover, k + 1)) out->objects++;
    }
}
