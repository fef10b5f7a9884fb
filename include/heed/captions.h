/* heed/captions.h: pictures with captions, from a folder or drawn; and of drawn ones the words, what they ask for, and
 * a judge who looks whether a picture shows it.
 *
 *     heed_caption asked;
 *     heed_verdict verdict;
 *     heed_caption_parse(cx, "a red circle above a small blue square", &asked);
 *     heed_caption_judge(cx, &picture, &asked, &verdict);
 *     puts(verdict.right ? "right" : verdict.reason);    "colour: the circle is green, asked red" */
#ifndef HEED_CAPTIONS_H
#define HEED_CAPTIONS_H

#include "heed/image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a caption asks for ---- */

typedef enum heed_caption_property {
    HEED_CAPTION_SHAPE,    /* circle, cross, square, triangle; the judge also knows ring and star */
    HEED_CAPTION_COLOUR,   /* black, blue, green, purple, red, yellow; the judge also knows orange and white */
    HEED_CAPTION_SIZE,     /* small, large */
    HEED_CAPTION_COLUMN,   /* left, middle, right: in which third of the picture a thing has its middle */
    HEED_CAPTION_ROW,      /* top, middle, bottom */
    HEED_CAPTION_RELATION, /* above, below, left of, right of: where the first thing is, seen from the second */
    HEED_CAPTION_PROPERTIES,
} heed_caption_property;
/* The name of a value, counted from 0 in the order above, shapes and colours as the judge knows them, sorted by name.
 * NULL: there is no such value. */
HEED_API const char *heed_caption_name(heed_caption_property property, int value);

enum { HEED_CAPTION_THINGS = 2, HEED_CAPTION_UNSAID = -1 };
typedef struct heed_caption_thing {
    int shape, colour, size, column, row; /* values of the properties; or HEED_CAPTION_UNSAID */
} heed_caption_thing;
typedef struct heed_caption {
    int things; /* 1 or 2; a picture must have no others */
    heed_caption_thing thing[HEED_CAPTION_THINGS];
    int relation; /* of the first thing to the second; or HEED_CAPTION_UNSAID */
} heed_caption;

/* From words to what they ask for: one thing or two with shape, size, colour and place ("in the middle", "on the left",
 * "in the top left corner"), and how they lie ("above", "to the left of", "and"). Case and punctuation do not count.
 * Words that are not of this grammar fail the context, and its sentence names them all. */
HEED_API bool heed_caption_parse(heed_ctx *cx, const char *text, heed_caption *out);
/* And back: 0 is the plainest way to say it, other numbers choose among several. heed_mem_free gives it back. */
HEED_API char *heed_caption_say(heed_ctx *cx, const heed_caption *caption, uint64_t way);

/* Combinations that no picture of the training part shows: one of the 24 of shape and colour, and 3 of the 72 of
 * the colour above (left of) and the colour below (right of). Those of the test part show them in a fifth of all cases.
 */
typedef enum heed_caption_kind {
    HEED_CAPTION_SEEN,
    HEED_CAPTION_UNSEEN_THING,    /* of such a shape and colour */
    HEED_CAPTION_UNSEEN_RELATION, /* two things of such colours */
} heed_caption_kind;
HEED_API heed_caption_kind heed_caption_kind_of(const heed_caption *caption);

/* ---- the judge ---- nothing is learnt: the ground is the median along the border; what differs from it is taken apart
 * into connected regions; the colour of each is the nearest of the palette, its shape that outline of the same
 * area and middle which overlaps most, its size what that outline then measures. */

typedef struct heed_seen_thing {
    int shape, colour, size; /* as in a caption; HEED_CAPTION_UNSAID: none that is known */
    int column, row;         /* as in a caption */
    double x, y, side;       /* middle and longer side, as shares of the picture's side */
    double fit;              /* what it shares with the outline of its shape: intersection over union */
    double red, green, blue; /* 0 to 255 */
} heed_seen_thing;
enum { HEED_SEEN_THINGS = 8 };
typedef struct heed_seen {
    int things; /* all of them; the first ones are described, from the top */
    heed_seen_thing thing[HEED_SEEN_THINGS];
    double stray; /* the share of pixels that differ from the ground and belong to no thing */
} heed_seen;
/* RGB, square, with a side of 16 to 96 pixels. */
HEED_API bool heed_caption_see(heed_ctx *cx, const heed_image *picture, heed_seen *out);

#define HEED_VERDICT_REASON 512
typedef struct heed_verdict {
    bool right;
    /* Each alone; what is not asked for is right. */
    bool count, ground, shape, colour, size, place, relation;
    char reason[HEED_VERDICT_REASON]; /* what is wrong, "" if nothing is */
} heed_verdict;
HEED_API bool heed_caption_judge(heed_ctx *cx, const heed_image *picture, const heed_caption *caption,
                                 heed_verdict *out);

/* ---- pictures with captions ---- */

typedef struct heed_caption_set heed_caption_set;
typedef struct heed_caption_set_opts {
    int64_t count; /* of drawn pictures: how many make an epoch; 0: 10,000, and 200 of the test part */
    uint64_t seed; /* of drawn pictures */
    int64_t side;  /* of drawn pictures: 32 (0) or 16, which is the same picture, each pixel the mean of four */
    bool optional; /* where there is no such part, NULL without an error */
} heed_caption_set_opts;
/* What was left out. */
typedef struct heed_caption_notes {
    int64_t missing;  /* captions whose file is not there */
    int64_t empty;    /* files whose caption is empty */
    int64_t unlisted; /* pictures beside the list that it does not name */
} heed_caption_notes;

/* The pictures of a part ("train", "val", "test") with their captions, listed, not decoded. path is one of:
 *
 * - a folder with captions.tsv (file, tab, caption; a line with titles first is allowed), captions.csv, metadata.csv
 *   (columns file_name and text, or their kin) or metadata.jsonl ({"file_name": ..., "text": ...}), as the imagefolder
 *   of Hugging Face's datasets has it; file names are relative to it. Or with such a folder for each part, called so
 * (val may be valid, validation or dev). Without parts all pictures are of the training part, and of any other that is
 * not optional.
 * - such a file itself.
 * - "captions": pictures of 32 x 32 pixels that heed draws, on a plain ground, with one thing or, in every second
 *   picture, two. Picture i depends on (seed, part, i) alone; no picture is in two parts. */
HEED_API heed_caption_set *heed_caption_set_open(heed_ctx *cx, const char *path, const char *part,
                                                 const heed_caption_set_opts *opts);
HEED_API void heed_caption_set_free(heed_ctx *cx, heed_caption_set *set);
HEED_API int64_t heed_caption_set_count(const heed_caption_set *set);
HEED_API heed_caption_notes heed_caption_set_notes(const heed_caption_set *set);
HEED_API uint64_t heed_caption_set_hash(const heed_caption_set *set); /* changes with the pictures and captions */
/* Pictures are drawn, so that there is one for every number from 0 on. */
HEED_API bool heed_caption_set_endless(const heed_caption_set *set);
HEED_API const char *heed_caption_set_path(const heed_caption_set *set, int64_t i); /* NULL: it is drawn */
/* The caption of picture i; heed_mem_free gives it back. */
HEED_API char *heed_caption_set_text(heed_ctx *cx, const heed_caption_set *set, int64_t i);
/* All that is to be seen in a drawn picture, also what its caption does not say. */
HEED_API bool heed_caption_set_shown(heed_ctx *cx, const heed_caption_set *set, int64_t i, heed_caption *out);
/* Decodes or draws picture i in RGB. Contexts of several threads may do so at once. */
HEED_API bool heed_caption_set_read(heed_ctx *cx, const heed_caption_set *set, int64_t i, heed_image *out);

#ifdef __cplusplus
}
#endif
#endif
