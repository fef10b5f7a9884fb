/* Models in timm's layout: the architecture's name says what a model is, and model_args of config.json overrides it. */
#ifndef MODEL_VISION_TIMM_H
#define MODEL_VISION_TIMM_H

#include "model/core/families.h"

struct timm_row {
    const char *name, *arguments; /* "depth=12 num_heads=3" */
};

/* Heads of every family of timm's, as transformers' wrapper calls them. */
#define TIMM_CLASSIFY "TimmWrapperForImageClassification"
#define TIMM_BARE     "TimmWrapperModel"
#define TIMM_BASE     "timm_model"

/* Every argument of the config's architecture, which is one of `rows` (the last has no name); to be freed. */
heed_json timm_arguments(heed_ctx *cx, const heed_family *family, heed_json config, const struct timm_row *rows);
/* Is it the config, not the architecture, that says so? */
bool timm_given(heed_ctx *cx, heed_json config, const char *argument);
/* An activation by timm's name; `standard` where it is null. */
heed_activation timm_activation(heed_ctx *cx, heed_json args, const char *key, heed_activation standard);
/* false: the norm of layers; true: RMS. Fails on any other than layernorm and rmsnorm. */
bool timm_rms(heed_ctx *cx, heed_json args, const char *key);
/* Fails unless the argument has the only value that heed computes. */
bool timm_only(heed_ctx *cx, heed_json args, const char *key, const char *value);

#endif
