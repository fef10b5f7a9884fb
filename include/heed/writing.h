/* heed/writing.h: handwriting as the way of a pen: pieces of writing, numbers written by drawn-up writers, and strokes
 * of one's own. heed/handwriting.h has the network that learns them. */
#ifndef HEED_WRITING_H
#define HEED_WRITING_H

#include "heed/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pieces of writing ---- */

#define HEED_WRITING_LONGEST 100000 /* points of a piece */

/* A point is (dx, dy, up): where the pen went from the point before, x to the right and y downwards, and 1 where it is
 * lifted behind the point, else 0. The first point of a piece is (0, 0, up). Starts as {0}. */
typedef struct heed_writings {
    int64_t n;
    int64_t *start;      /* (n + 1): piece i is points start[i] up to start[i + 1] */
    float *point;        /* (start[n], 3) */
    int64_t *text_start; /* (n + 1): it says text + text_start[i], ended by 0; "": not known */
    char *text;
    int64_t room, point_room, text_room; /* of the arrays */
} heed_writings;

/* Adds a piece; what is given is copied. Numbers that are not finite, or a pen that is neither 0 nor 1, are refused.
 * text may be NULL. */
HEED_API bool heed_writings_add(heed_ctx *cx, heed_writings *w, const float *points, int64_t n, const char *text);
HEED_API void heed_writings_free(heed_ctx *cx, heed_writings *w);
HEED_API const float *heed_writing_points(const heed_writings *w, int64_t i, int64_t *n); /* NULL: no such piece */
HEED_API const char *heed_writing_text(const heed_writings *w, int64_t i);                /* "": none */

/* Adds the pieces of a file of JSON lines (.gz as it is, "-" standard input), a piece a line:
 *     {"strokes": [[[x, y], [x, y], ...], ...], "text": "2026"}     a list of strokes, a stroke a list of points
 *     {"drawing": [[[x, x, ...], [y, y, ...]], ...], "word": "cat"} as Quick, Draw! has them; times are not read
 *     [[[x, y], ...], ...]                                          the strokes alone
 * Places are absolute, x to the right and y downwards; what a point has behind x and y is not read. */
HEED_API bool heed_writings_read(heed_ctx *cx, const char *path, heed_writings *w);
/* The strokes of a piece as they are in such a file, put into `at` as a list named `key`. */
HEED_API bool heed_writing_put(heed_ctx *cx, const float *points, int64_t n, heed_json at, const char *key);

/* ---- writers ---- whose digits have the shapes of heed_data_digits. Writer i depends on (seed, i) alone. */

typedef struct heed_writer {
    float slant;         /* dx / -dy of an upright stroke: positive leans to the right */
    float height, width; /* of a digit's square */
    float gap;           /* between digits */
    float step;          /* of the pen between two points */
    float tremble;       /* of the points that it passes through, by the square */
    float line;          /* how the line falls: dy / dx */
    int form[10];        /* which form each digit has */
} heed_writer;
HEED_API heed_writer heed_writer_of(uint64_t seed, int64_t writer);
/* Adds what the writer writes when asked for these digits; `take`: which time of writing it is, no two are alike. */
HEED_API bool heed_writings_digits(heed_ctx *cx, uint64_t seed, int64_t writer, int64_t take, const char *digits,
                                   heed_writings *w);
/* Adds numbers of `least` to `most` digits, one of each of n writers from number `first` on. */
HEED_API bool heed_writings_numbers(heed_ctx *cx, uint64_t seed, int64_t first, int64_t n, int least, int most,
                                    heed_writings *w);

/* ---- measuring a style ---- of pieces by anybody */

typedef struct heed_writing_style {
    double slant;  /* as above: of the strokes that go down or up rather than across */
    double height; /* of the writing, its line taken out */
    double step;   /* the mean way of the pen between two points */
} heed_writing_style;
HEED_API heed_writing_style heed_writing_style_of(const float *points, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
