/* A set of pictures with captions. */
#ifndef DATA_CAPTIONS_CAPTION_SET_H
#define DATA_CAPTIONS_CAPTION_SET_H

#include "data/captions/caption.h"
#include "data/recognise.h"

struct captioned {
    char *path, *text; /* heed's own */
};

struct heed_caption_set {
    bool drawn;
    enum scene_part part;
    uint64_t seed, hash;
    int64_t side, n, room;
    struct captioned *list; /* of a folder */
    heed_caption_notes notes;
};

void captioned_free(heed_ctx *cx, struct captioned *one);
/* Adds one; both are copied. */
bool caption_add(heed_ctx *cx, heed_caption_set *set, const char *path, const char *text);
/* What a file lists, with paths relative to it. */
bool caption_read(heed_ctx *cx, const char *file, heed_caption_set *set);
/* The file with the captions of a folder; false: it has none. */
bool caption_file(const char *folder, char out[FOUND_PATH]);

#endif
