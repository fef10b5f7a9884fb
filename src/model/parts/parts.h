/* Layers of a family under its published names, drawn as transformers draws them: weights from `init`, biases zero. A
 * name is prefix.name, or name alone when the prefix is empty. */
#ifndef MODEL_PARTS_PARTS_H
#define MODEL_PARTS_PARTS_H

#include "heed/model.h"

struct part_name {
    char s[256];
};
/* "prefix.name"; a name that does not fit fails the context. */
struct part_name part_under(heed_ctx *cx, const char *prefix, const char *name);
/* "prefix.name.3", of layer 3 */
struct part_name part_numbered(heed_ctx *cx, const char *prefix, const char *name, int number);

bool part_linear(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                 bool bias, heed_init init, heed_linear_layer *layer);
/* The same with the weight stored (in,out), as GPT-2's Conv1D. */
bool part_conv1d(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                 heed_init init, heed_linear_layer *layer);
bool part_norm(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t width, float eps,
               heed_norm_layer *layer);
bool part_embedding(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t rows, int64_t width,
                    heed_init init, heed_embedding_layer *layer);
/* The projections of q, k and v, C -> C each, which files hold apart under these names, as rows of one weight: one
 * product. */
bool part_qkv(heed_ctx *cx, heed_params *set, const char *prefix, const char *const names[3], int64_t width,
              heed_init init, heed_linear_layer *layer);

/* n linear layers of one input, which files hold apart under these names: rows[i] rows each of one weight, which has
 * the name `whole` and is one product. */
bool part_slices(heed_ctx *cx, heed_params *set, const char *prefix, const char *whole, const char *const *names,
                 const int64_t *rows, int n, int64_t width, bool bias, heed_init init, heed_linear_layer *layer);
bool part_rms_norm(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t width, float eps,
                   heed_norm_layer *layer);

/* What the config's layer_types says of a layer of `layers`; -1 where it has no such list, or when that is wrong. */
enum { LAYER_FULL, LAYER_SLIDING };
int part_layer_type(heed_ctx *cx, heed_json config, int layers, int layer);

/* The width of a feed-forward layer: the key of config, a ratio, times `width`; 0 after saying that it makes none. */
int64_t part_hidden(heed_ctx *cx, heed_json config, const char *key, int64_t width);

/* C and H of a config: fails when the heads do not divide the width. */
bool part_heads(heed_ctx *cx, heed_json config, const char *width_key, const char *heads_key, heed_multihead *layer);

/* Names of parameters: a record whose first field points to the record that it extends and whose other fields are
 * texts, `size` bytes in all -> the complete one. A field that is NULL is looked up in what the record extends; "" is
 * what the family does not have, and becomes NULL. */
void part_layout(const void *layout, void *complete, size_t size);

#endif
