/* Pictures with shapes, as data: what stands where, how large, in which colour, and on what ground. A scene is made
 * from numbers and then drawn, so that others can say in words what it shows, or change a part of it. scene_make makes
 * those of detection; data/captions makes smaller ones, and draws them by the same calls.
 *
 * Scene i of a part draws its random numbers from a stream of its own. Only +, -, *, / and square roots are used,
 * rounded each, so that the bytes are the same on every machine. */
#ifndef DATA_OBJECTS_SCENE_H
#define DATA_OBJECTS_SCENE_H

#include "data/synthetic/hand.h"

#include <stdbool.h>

enum { SCENE_SIDE = 96, SCENE_PIXELS = SCENE_SIDE * SCENE_SIDE, MAX_SHAPES = 4, SCENE_MIN_SIDE = 14 };
#define SCENE_VISIBLE 0.6f /* of each shape, at least */

/* In the order of the alphabet, which is that of classes. */
enum scene_shape { SCENE_CIRCLE, SCENE_CROSS, SCENE_RING, SCENE_SQUARE, SCENE_STAR, SCENE_TRIANGLE, SCENE_SHAPES };
enum { SCENE_COLOURS = 8, SCENE_SIZES = 3 };
enum scene_part { SCENE_TRAIN, SCENE_VAL, SCENE_TEST, SCENE_PARTS };

extern const char *const scene_shape_names[SCENE_SHAPES + 1]; /* "circle" ..., then NULL */
extern const char *const scene_colour_names[SCENE_COLOURS];   /* "red" ... */
extern const char *const scene_size_names[SCENE_SIZES];       /* "small", "medium", "large" */
extern const float scene_colours[SCENE_COLOURS][3];           /* 0 to 255 */

struct scene_object {
    enum scene_shape shape;
    int colour, size;  /* numbers of their names */
    float x, y;        /* where the middle of its outline lies, in pixels */
    float radius;      /* of the circle around its outline */
    struct point turn; /* cosine and sine */
    float box[4];      /* left, top, right, bottom of the whole shape */
    float rgb[3];      /* its own shade of the colour, 0 to 255 */
};

struct scene {
    int side; /* of the picture, at most SCENE_SIDE */
    int objects;
    struct scene_object object[MAX_SHAPES]; /* a later one covers those before it */
    /* The ground: from one colour to another in a direction, with clouds and grain. */
    float ground[2][3];
    struct point slope;
    float cloud, cell; /* how strong clouds are, and how many pixels wide */
    float grain;
    uint64_t seed, stream; /* of clouds and grain */
};

/* i: any number from 0 on. */
void scene_make(uint64_t seed, enum scene_part part, int64_t i, struct scene *out);
/* Where the middle and the box of an object lie, from its shape, turn, and radius, when (x,y) has been set. */
void scene_place(struct scene_object *o, float x, float y);
/* Draws a radius such that the shorter (longer) side of an object's box is from side[0] to side[1] pixels; the box is
 * then that of an object whose middle is (0,0). */
void scene_scale(struct draws *d, const float side[2], bool longer, struct scene_object *o);
/* Draws its own shade of its colour, each channel at most `most` away. */
void scene_shade(struct draws *d, float most, struct scene_object *o);
/* The area of a shape whose radius is 1. */
float scene_area(enum scene_shape shape);
/* How much of each pixel of a picture of side x side an object covers, 255 being all of it. */
void scene_cover(const struct scene_object *o, int side, uint8_t *cover);
/* (side, side, 3) */
void scene_draw(const struct scene *s, uint8_t *rgb);

#endif
