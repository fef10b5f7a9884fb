/* Data sets of pictures that are drawn, in grey: what each kind has in common. */
#ifndef DATA_SYNTHETIC_DRAWN_PICTURES_H
#define DATA_SYNTHETIC_DRAWN_PICTURES_H

#include "data/data.h"

struct drawn_pictures {
    const char *name, *work; /* in errors, and in profiles */
    int64_t side, classes;
    const struct word *names; /* (classes), or NULL */
    /* Draws picture i, side x side bytes, from a stream of its own, and says its class. */
    int32_t (*draw)(uint64_t seed, int64_t i, uint8_t *out);
};
heed_data *drawn_pictures(heed_ctx *cx, const struct drawn_pictures *kind, uint64_t seed, int64_t n);

#endif
