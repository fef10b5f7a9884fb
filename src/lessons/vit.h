/* What the lessons on pictures share: sets of small pictures, shapes to draw, and a small ViT (Dosovitskiy et al. 2021)
 * that learns to classify them. */
#ifndef LESSONS_VIT_H
#define LESSONS_VIT_H

#include "heed/augment.h"
#include "heed/model.h"
#include "lessons/lesson.h"

/* ---- pictures ---- bytes (n, side, side, channels), row by row */

struct pictures {
    int64_t n, side;
    int channels, classes;
    uint8_t *bytes;
    int32_t *label;
};

bool pictures_make(struct lesson_run *r, int64_t n, int64_t side, int channels, int classes, struct pictures *p);
/* heed's own digits, grey, 28 x 28. */
bool pictures_digits(struct lesson_run *r, uint64_t seed, int64_t n, struct pictures *p);
uint8_t *pictures_at(const struct pictures *p, int64_t i);
/* As red, green and blue within 0 and 1, (side, side, 3); as grey, (side, side). */
void pictures_rgb(const struct pictures *p, int64_t i, float *out);
void pictures_grey(const struct pictures *p, int64_t i, float *out);

enum shape { SHAPE_DISC, SHAPE_SQUARE, SHAPE_TRIANGLE, SHAPE_CROSS, SHAPE_RING, SHAPE_STAR, SHAPES };
extern const char *const shape_names[SHAPES];

/* Draws a shape into picture i, its edges smoothed: centre and radius in pixels, angle in radians. */
void shape_draw(const struct pictures *p, int64_t i, enum shape shape, double x, double y, double radius, double angle,
                const uint8_t color[3]);

/* ---- the network ---- */

struct vit {
    heed_model *model;
    int64_t patch, width, grid; /* grid: patches along a side */
    int layers, heads;          /* 0 layers: no ViT but one hidden layer of this width on the pixels */
};

/* Sizes first, then its model for such pictures. */
bool vit_open(struct lesson_run *r, const struct pictures *p, uint64_t seed, struct vit *v);
void vit_close(struct lesson_run *r, struct vit *v);

struct vit_course {
    int64_t n; /* the first so many pictures of the set */
    int64_t steps, batch;
    double lr;
    const heed_augment *augment; /* NULL: pictures as they are */
    uint64_t seed;
    float *loss;          /* (steps) or NULL */
    const char *progress; /* what is said meanwhile; NULL: nothing */
};
bool vit_learn(struct lesson_run *r, struct vit *v, const struct pictures *p, const struct vit_course *c);
/* The share of pictures that are classified right. answers: (n) or NULL. */
double vit_accuracy(struct lesson_run *r, const struct vit *v, const struct pictures *p, int32_t *answers);
/* maps (layers, tokens, tokens): attention of picture i, the mean of the heads; the class token is first. */
bool vit_attention(struct lesson_run *r, const struct vit *v, const struct pictures *p, int64_t i, float *maps);

#endif
