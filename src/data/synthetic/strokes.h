/* The shapes of the drawn digits: every digit in a few forms, a form in a few strokes, a stroke through a few points.
 */
#ifndef DATA_SYNTHETIC_STROKES_H
#define DATA_SYNTHETIC_STROKES_H

#include <stdint.h>

#define STROKE_POINTS 12
#define FORM_STROKES  4
#define DIGIT_FORMS   4

/* Points are hundredths of a square, x to the right and y downwards. A curve passes smoothly through its points; else
 * the stroke goes straight from each to the next. */
struct stroke {
    int points; /* 0: no stroke */
    int curve;
    uint8_t at[STROKE_POINTS][2];
};
struct form {
    struct stroke stroke[FORM_STROKES];
};
struct digit {
    int forms;
    struct form form[DIGIT_FORMS];
};
extern const struct digit strokes_of_digit[10];

#endif
