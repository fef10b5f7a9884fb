/* A parameter set from the inside. */
#ifndef NN_PARAMS_H
#define NN_PARAMS_H

#include "heed/nn.h"

struct heed_params {
    heed_param **list;
    int n, cap;
    int *slots;   /* a hash table of 2 cap places by name: 0, or a place in the list and 1 */
    float *block; /* of all values; NULL while the set is not allocated, or mapped: */
    heed_safetensors *file;
    void *copied; /* what of a mapped set is not read from the file */
    size_t copied_size, mapped;
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
    uint64_t seed;              /* of what a mapped set draws */
    struct name_list fresh, unused;
};
bool params_load(heed_ctx *cx, heed_params *set, const char *path, struct params_file *file);
/* The set is not allocated: see heed_params_map. What is drawn fresh comes from `seed`. */
bool params_map(heed_ctx *cx, heed_params *set, const char *path, struct params_file *file);
/* Would heed_params_save write the types of the file that the set came from? Is any of them not f32? */
bool params_as_stored(const heed_params *set, bool *narrow);

/* Shows slices and ties where their targets' numbers are. */
void params_share(heed_params *set);
void params_draw(heed_param *p, uint64_t seed); /* fresh numbers for one */

#endif
