/* An index of vectors: what it is made of. */
#ifndef TASK_SIMILAR_SIMILAR_H
#define TASK_SIMILAR_SIMILAR_H

#include "heed/similar.h"

struct similar_source {
    const char *what;     /* "texts", "pictures": also the key of their hash in the file */
    const char *changed;  /* "the texts have changed" */
    const char *path;     /* what they were read from, for names and sentences */
    uint64_t rows, model; /* hashes of all that vectors are of, and of all that makes them */
    int64_t width;        /* of vectors; 0: the first ones say it */
    int64_t at_once;      /* lines that are embedded together */
    /* Vectors of these lines, (n, *width), to be freed; NULL when something failed. *cut: how many were too long. */
    float *(*embed)(heed_ctx *cx, const void *own, const heed_lines *lines, const int64_t *line, int64_t n,
                    int64_t *width, int64_t *cut);
    const void *own;
};

/* Takes the lines over, whatever happens. */
heed_similar *similar_open(heed_ctx *cx, heed_lines *lines, const struct similar_source *source,
                           const heed_similar_opts *opts);

uint64_t similar_hash(uint64_t h, const void *bytes, size_t size);
/* Of the configuration, and of the weights but those whose names hold `but` (NULL: all) and those drawn fresh. */
bool similar_hash_config(heed_ctx *cx, const heed_model *model, uint64_t *h);
uint64_t similar_hash_weights(uint64_t h, const heed_model *model, const char *but);

#endif
