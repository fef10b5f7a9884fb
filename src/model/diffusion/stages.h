/* Stages of the networks of diffusers, one for each size of the map: residual blocks, attention behind each of them,
 * and what changes the size.
 *
 *     down:   x = attention(block(x)), layers times;   x = smaller(x)          each result is kept for the way up
 *     mid:    x = block(x);   x = block(attention(x))
 *     up:     x = attention(block([x, kept])), layers times;   x = larger(x) */
#ifndef MODEL_DIFFUSION_STAGES_H
#define MODEL_DIFFUSION_STAGES_H

#include "model/diffusion/blocks.h"

enum { MAX_STAGES = 16, MAX_STAGE_LAYERS = 64, MAX_SKIPS = 1 + MAX_STAGES * (MAX_STAGE_LAYERS + 1) };

/* What stands behind each residual block. */
enum mixing { MIX_NOTHING, MIX_PLACES, MIX_JOINED, MIX_TRANSFORMER };
struct stage_kind {
    const char *name; /* in down_block_types or up_block_types */
    enum mixing mixing;
    bool residual_sampler; /* the size is changed by a residual block, not by a convolution */
};
/* The kinds of stages that a network may have, NULL at the end: of an autoencoder, of a U-Net, and of one that reads
 * text. */
struct stage_kinds {
    const struct stage_kind *down, *up;
};
extern const struct stage_kinds autoencoder_stages, unet_stages, text_unet_stages;

/* What one stage is made by. */
struct stage_plan {
    struct residual_plan residual;
    int64_t in, out; /* channels */
    int64_t skip;    /* of the way up: channels of the last kept map; 0: none are kept */
    int layers;
    struct head_sizes heads;
    int64_t place_groups; /* of the norm before attention of places; 0: none */
    float place_scale;    /* what that attention and its residual are divided by */
    struct joined_plan joined;
    struct transformer_plan transformer;
    int64_t transformer_layers[MAX_STAGE_LAYERS];
    enum resampling resampling;
    bool residual_sampler; /* as of the kind, unless the network says otherwise */
    int64_t padding;       /* of the convolution that makes maps smaller */
    int *count;            /* of attention layers so far */
};

struct mixer {
    enum mixing mixing;
    struct place_attention places;
    struct joined_attention joined;
    struct transformer_map transformer;
};
struct stage {
    int layers;
    struct residual *block;
    struct mixer *mixer; /* both (layers), memory of the parameter set; the mid stage has one block more */
    enum resampling resampling;
    struct residual sampler;     /* norm1.weight NULL: */
    heed_conv_layer convolution; /* weight NULL: the size stays */
};

/* Maps that are kept on the way down. */
struct skips {
    heed_tensor *map[MAX_SKIPS];
    int n;
};

/* The kind of this name, which may begin with UNetRes as in old files; NULL with a sentence that lists those there are.
 */
const struct stage_kind *stage_kind_of(heed_ctx *cx, heed_json name, const struct stage_kind *kinds);
/* A list of block types, one for each of block_out_channels. */
heed_json stage_types(heed_ctx *cx, heed_json config, const char *key, int stages);

bool down_stage_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct stage_kind *kind,
                     const struct stage_plan *plan, struct stage *s);
bool up_stage_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct stage_kind *kind,
                   const struct stage_plan *plan, struct stage *s);
/* plan->layers: how often attention, which may be none, and a block follow the first block. */
bool mid_stage_make(heed_ctx *cx, heed_params *set, const char *prefix, enum mixing mixing,
                    const struct stage_plan *plan, struct stage *s);

/* skips NULL: nothing is kept, and nothing added on the way up. */
heed_tensor *down_stage_run(heed_ctx *cx, const struct stage *s, heed_tensor *x, const struct condition *given,
                            struct skips *skips);
heed_tensor *mid_stage_run(heed_ctx *cx, const struct stage *s, heed_tensor *x, const struct condition *given);
heed_tensor *up_stage_run(heed_ctx *cx, const struct stage *s, heed_tensor *x, const struct condition *given,
                          struct skips *skips);

#endif
