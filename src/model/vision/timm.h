/* Models in timm's layout: the architecture's name says what a model is, and model_args of config.json overrides it. */
#ifndef MODEL_VISION_TIMM_H
#define MODEL_VISION_TIMM_H

#include "model/vision/patches.h"

struct timm_row {
    const char *name, *arguments; /* "depth=12 num_heads=3" */
};

/* The kind of a family of timm's. */
struct timm_kind {
    const struct timm_row *rows; /* the last has no name */
    /* args: every argument of the config's architecture; classes: 0 for features */
    bool (*make)(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own);
};

/* Every argument of the architecture of this name in a config, which may lack them all; to be freed. */
heed_json timm_arguments(heed_ctx *cx, const heed_family *family, heed_json config, const char *name);

#define TIMM_BASE "timm_model"
bool timm_build_classify(heed_ctx *cx, const heed_build *b, void *own);
bool timm_build_bare(heed_ctx *cx, const heed_build *b, void *own);
/* The heads, as transformers' wrapper calls them. RUN(classify), RUN(bare): their functions. */
#define TIMM_HEADS(RUN)                                                                                                \
    {"TimmWrapperForImageClassification", "classify", "pixel_values labels", .build = timm_build_classify,             \
     RUN(classify)},                                                                                                   \
        {"TimmWrapperModel", "embed", "pixel_values", .build = timm_build_bare, RUN(bare)}, {                          \
        .architecture = NULL                                                                                           \
    }

/* Channels and sizes. Pictures that are no whole number of patches are refused where the config gives img_size. */
bool timm_patches(heed_ctx *cx, heed_json config, heed_json args, struct patches *p);
/* The last layer, to so many classes; none where there are 0. */
bool timm_classifier(heed_ctx *cx, heed_params *set, const char *name, int64_t width, int64_t classes, heed_init init,
                     heed_linear_layer *layer);
/* Is it the config, not the architecture, that says so? */
bool timm_given(heed_ctx *cx, heed_json config, const char *argument);
/* An activation by timm's name; `standard` where it is null. */
heed_activation timm_activation(heed_ctx *cx, heed_json args, const char *key, heed_activation standard);
/* false: the norm of layers; true: RMS. Fails on any other than layernorm and rmsnorm. */
bool timm_rms(heed_ctx *cx, heed_json args, const char *key);
/* Fails unless the argument has the only value that heed computes. */
bool timm_only(heed_ctx *cx, heed_json args, const char *key, const char *value);

#endif
