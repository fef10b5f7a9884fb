/* A parameter set from the inside. */
#ifndef NN_PARAMS_H
#define NN_PARAMS_H

#include "heed/nn.h"

struct heed_params {
    heed_param **list;
    int n, cap;
    float *block;
    int64_t numbers;
    char **ignored; /* names in files that are not read */
    int n_ignored;
    void *rooms; /* memory of layers, which goes with the set */
};

/* Names, as many as fit into a sentence. */
struct name_list {
    char text[800];
    size_t used;
    int n;
};

/* How a file's names meet those of a set, and what came of it. */
struct params_file {
    const char *base; /* "bert": a file may have "bert." before the body's names or not, whatever the set has */
    const char *const *ignored; /* patterns of names that are not read */
    bool fresh_head;            /* what is missing or of another shape outside the body stays as it was drawn */
    struct name_list fresh, unused;
};
bool params_load(heed_ctx *cx, heed_params *set, const char *path, struct params_file *file);

#endif
