/* What the files about captions share. */
#ifndef DATA_CAPTIONS_CAPTION_H
#define DATA_CAPTIONS_CAPTION_H

#include "data/objects/scene.h"
#include "heed/captions.h"

enum { UNSAID = HEED_CAPTION_UNSAID, CAPTION_SIDE = 32, CAPTION_SHAPES = 4, CAPTION_COLOURS = 6 };
enum caption_size { CAPTION_SMALL, CAPTION_LARGE };
enum caption_relation { CAPTION_ABOVE, CAPTION_BELOW, CAPTION_LEFT, CAPTION_RIGHT, CAPTION_RELATIONS };
enum caption_third { CAPTION_LOW, CAPTION_MIDDLE, CAPTION_HIGH }; /* left or top, middle, right or bottom */

/* Those that are drawn, by their numbers among all. */
extern const enum scene_shape caption_shapes[CAPTION_SHAPES];
extern const int caption_colours[CAPTION_COLOURS];

/* The words for a value, those that captions use first; n: how many they use; NULL at the end. */
struct caption_words {
    int n;
    const char *word[5];
};
extern const struct caption_words caption_shape_words[SCENE_SHAPES], caption_size_words[2],
    caption_relation_words[CAPTION_RELATIONS];

/* Whether all of its numbers are some that a caption can have; fails with a sentence that begins with `op`. */
bool caption_check(heed_ctx *cx, const char *op, const heed_caption *c);

/* Where the middle of a thing in each third lies at most and the line between two thirds, as shares of the side. */
#define CAPTION_NEAR   0.375f
#define CAPTION_BORDER 0.4f
/* Between small and large: the longer side of a thing, as a share of the picture's. */
#define CAPTION_SIZES 0.359375f

/* What picture i of a part shows, and what its caption says of it; returns in which way. */
uint64_t caption_scene(uint64_t seed, enum scene_part part, int64_t i, struct scene *scene, heed_caption *shown,
                       heed_caption *said);

#endif
