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
    void *packed; /* the packed matrices of a mapped set; NULL: none */
    int64_t numbers;
    char **ignored; /* names in files that are not read */
    int n_ignored;
    const char *beside; /* "generator": parameters named generator.… are those of another model, in files of the
                         * directory of that name, without it; NULL: there are none */
    void *rooms;        /* memory of layers, which goes with the set */
    const char *const *renamed; /* of params_file, where the file that was read has the other names; or NULL */
};

/* Names, as many as fit into a sentence. */
struct name_list {
    char text[800];
    size_t used;
    int n;
};

/* How a file's names meet those of a set, and what came of it. */
/* How a table over a grid is interpolated from a file's of another size, when a model is opened to be fine-tuned. */
struct param_resize {
    /* from NULL: only whether it can. `shape`: of the file's, of the same rank as p. */
    bool (*run)(heed_ctx *cx, const heed_param *p, const int64_t *shape, const float *from, float *to);
    int64_t first, grid[2]; /* rows that are of no grid, which come first; rows and columns of the grid */
    bool smooth;            /* antialias */
    bool trained;           /* beside adapters, too: a table of tokens of which some are new */
};

struct params_file {
    const char *base; /* "bert": a file may have "bert." before the body's names or not, whatever the set has */
    const char *const *ignored; /* patterns of names that are not read */
    const char *const *renamed; /* parts of names, and what the file may have instead, in pairs; NULL at the end */
    bool fresh_head;            /* what is missing or of another shape outside the body stays as it was drawn */
    uint64_t seed;              /* of what a mapped set draws */
    bool beside;                /* the file is that of the model beside; params_load's own */
    bool mapped;                /* params_map's own */
    struct name_list fresh, unused, resized;
};
bool params_load(heed_ctx *cx, heed_params *set, const char *path, struct params_file *file);
/* What the file that was read calls a parameter, up to the base. */
void params_file_name(const heed_params *set, const heed_param *p, char *out, size_t size);
/* Loose ties as the file has them. The set is neither allocated nor mapped yet. */
bool params_resolve_ties(heed_ctx *cx, heed_params *set, const char *path, const struct params_file *file);
void params_part(heed_params *set, heed_param *p, bool tied); /* one of them */
/* The set is not allocated: see heed_params_map. What is drawn fresh comes from `seed`. */
bool params_map(heed_ctx *cx, heed_params *set, const char *path, struct params_file *file);
/* Does it belong to the model beside? What its own file calls it. */
bool params_is_beside(const heed_params *set, const heed_param *p);
const char *params_own_name(const heed_params *set, const heed_param *p);
static inline bool params_narrow(heed_dtype dtype) { return dtype == HEED_BF16 || dtype == HEED_F16; }
static inline size_t params_bytes(const heed_param *p, heed_dtype dtype) {
    return (size_t)p->count * heed_dtype_size(dtype);
}
/* Would heed_params_save write the types of the file that the set came from? Is any of them not f32? */
bool params_as_stored(const heed_params *set, bool *narrow);

/* Shows slices and ties where their targets' numbers are. */
void params_share(heed_params *set);
void params_draw(heed_param *p, uint64_t seed); /* fresh numbers for one */

/* heed_param_weight for a linear layer, whose adapters the caller adds: to y, rows `first` to first + rows of what the
 * weight makes of x. y itself where there are none. */
heed_tensor *params_linear(heed_ctx *cx, const heed_param *weight);
heed_tensor *params_adapted(heed_ctx *cx, const heed_param *weight, heed_tensor *x, heed_tensor *y, int64_t first,
                            int64_t rows);
int64_t params_outputs(const heed_param *weight); /* of a linear layer */

#endif
