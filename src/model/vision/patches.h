/* What models of pictures share: pixels that become patches, and positions of patches.
 *
 *     pixel_values (B,C,H,W) -> patches (B,h w,E),  h = H / P, w = W / P: a patch is one row of a product
 *
 * The weight is that of a convolution (E,C,P,P) whose kernels do not overlap; patches go row by row. */
#ifndef MODEL_VISION_PATCHES_H
#define MODEL_VISION_PATCHES_H

#include "model/core/families.h"
#include "model/core/place.h"
#include "model/parts/parts.h"

#define MAX_SIDE 65536 /* of a picture */

/* A picture that is no whole number of patches: refused; padded with zeros; cut, when it is of the model's own size; or
 * cut whatever its size. */
enum patches_rest { PATCHES_REFUSE, PATCHES_PAD, PATCHES_CUT, PATCHES_CUT_ALL };

struct patches {
    int64_t channels, image[2], patch[2], grid[2]; /* height and width: of pictures, of patches, and in patches */
    heed_linear_layer projection;                  /* weight (E,C,P,P) */
    enum patches_rest rest;
    bool any_size; /* other pictures than image are taken too */
};

/* A number or two of config: height and width. */
bool config_sides(heed_ctx *cx, heed_json config, const char *key, int64_t high, int64_t sides[2]);
/* Channels, image and patch, by these keys and patch_size. */
bool patches_read(heed_ctx *cx, heed_json config, const char *channels, const char *image, struct patches *p);
/* image and patch are given; works out the grid and declares the weight and bias under `name`. */
bool patches_make(heed_ctx *cx, heed_params *set, const char *name, int64_t width, bool bias, heed_init init,
                  struct patches *p);
/* pixel_values as they must be; grid: of these pictures. */
heed_tensor *patches_pixels(heed_ctx *cx, const struct patches *p, const heed_io *in, int64_t grid[2]);
/* (B,C,H,W) -> (B,h w,E) */
heed_tensor *patches_run(heed_ctx *cx, const struct patches *p, heed_tensor *pixels, const int64_t grid[2]);
/* Pictures of zeros, for plans. */
bool patches_sample(heed_ctx *cx, const struct patches *p, int64_t batch, heed_io *in);

/* A parameter (1,n,E) of tokens or positions, which weight decay leaves alone. */
heed_param *patches_tokens(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t n,
                           int64_t width, heed_init init);
/* Positions (1,first + h w,E) for another grid: the first as they are, the others by bicubic interpolation, as
 * torch.nn.functional.interpolate has it without aligned corners. smooth: with antialias, as timm's. */
heed_tensor *positions_resized(heed_ctx *cx, heed_tensor *table, int64_t first, const int64_t from[2],
                               const int64_t to[2], bool smooth);

/* The patches of a picture of this size. */
void patches_place(const struct patches *p, const int64_t size[2], struct picture_place *to);

/* The functions of a head: MODEL_forward_NAME and so on. */
#define VISION_RUN(model, name)                                                                                        \
    .forward = model##_forward_##name, .sample = model##_sample_##name, .name_key = model##_name_key,                  \
    .place = model##_place

/* What token i is called in maps of attention: the names before the patches, then "row,column". */
void patches_name(const int64_t grid[2], const char *const *first, int64_t n, int64_t i, char *name, size_t size);

#endif
