/* The two halves of the lesson on frequencies: a picture's own, and what mixing does to them. */
#ifndef LESSONS_FREQUENCIES_H
#define LESSONS_FREQUENCIES_H

#include "lessons/lesson.h"

#define PICTURE_SIDE   64
#define PICTURE_PIXELS (PICTURE_SIDE * PICTURE_SIDE)
#define FINE_FROM      8 /* waves: what is called fine in the figures */

double picture_variance(const float *x);
/* The waves of a picture (PICTURE_PIXELS) with low < frequency <= high. */
bool picture_band(struct lesson_run *r, const float *x, float low, float high, float *out);
void picture_draw(heed_panel *p, const char *title, const float *x, bool signed_values);

/* Mixing as a filter: gains by formula, what is left after many layers, and four kinds of it on the picture. */
bool mixing_study(struct lesson_run *r, const float *x);

#endif
