/* The body that the U-Nets of diffusers share (Ronneberger et al. 2015; Ho et al. 2020).
 *
 *     time = embedding(step) + embedding(class)
 *     x = in(x);   down stages;   mid;   up stages, which take what was kept on the way down;   y = out(act(norm(x)))
 */
#ifndef MODEL_DIFFUSION_UNET_H
#define MODEL_DIFFUSION_UNET_H

#include "model/diffusion/stages.h"

/* ---- steps and classes ---- */

enum class_embedding { CLASS_NONE, CLASS_TABLE, CLASS_STEP, CLASS_IDENTITY, CLASS_MLP, CLASS_LINEAR };
struct unet_time {
    int64_t width; /* of the embedding, T */
    struct step_waves waves;
    heed_embedding_layer steps; /* a learned table instead of waves; weight NULL: none */
    struct step_embedding embedding;
    enum class_embedding kind;
    int64_t class_width; /* of class_labels where they are vectors */
    heed_embedding_layer classes;
    struct step_embedding class_mlp;
    heed_linear_layer class_linear;
    bool concatenates; /* the class stands beside the step, (B,2T), and is not added */
};
/* By class_embed_type and num_class_embeds; act: of the embedding of a class that is a step. projects: the types
 * projection and simple_projection are there, too. */
bool unet_class_make(heed_ctx *cx, const heed_build *b, bool projects, heed_activation act, struct unet_time *t);
/* more: timestep_cond, or NULL. (B,T), before any activation behind it. */
heed_tensor *unet_time_run(heed_ctx *cx, const struct unet_time *t, const heed_io *in, int64_t batch,
                           heed_tensor *more);
/* timestep and class_labels, for plans. */
bool unet_time_sample(heed_ctx *cx, const struct unet_time *t, int64_t batch, heed_io *in);

/* ---- the body ---- */

struct unet_plan {
    const struct stage_kinds *kinds;
    int stages;
    int64_t channels[MAX_STAGES], layers[MAX_STAGES];
    int64_t heads[MAX_STAGES]; /* attention_head_dim: the width of a head, or, of Transformers, their number; 0: C */
    int64_t text[MAX_STAGES];  /* E */
    bool text_only[MAX_STAGES];
    int64_t down_transformers[MAX_STAGES][MAX_STAGE_LAYERS], up_transformers[MAX_STAGES][MAX_STAGE_LAYERS];
    struct residual_plan residual;
    float block_scale;         /* of stages whose size is changed by residual blocks: resnet_out_scale_factor, */
    bool block_skips;          /* and resnet_skip_time_act */
    bool block_down, block_up; /* stages with attention of places, too, have residual blocks for that */
    int64_t padding;           /* downsample_padding */
    bool transformer_linear;
    const char *text_norm; /* cross_attention_norm, or NULL */
    struct {
        bool none;
        enum mixing mixing;
        int attentions;
        float scale;
        int64_t groups; /* of attention's norm; 0: none */
        bool skips, text_only;
    } mid;
    int64_t in_kernel, out_kernel;
    heed_activation out_act;
};
struct unet {
    int64_t in_channels, sides[2];
    bool centers;   /* pictures from 0 to 1 become those from -1 to 1 */
    bool reads;     /* text, in some stage */
    int64_t factor; /* how often, at most, maps are halved: 2 to that power */
    heed_conv_layer in, out;
    int stages;
    struct stage down[MAX_STAGES], up[MAX_STAGES], mid;
    bool has_mid;
    heed_group_norm_layer norm;
    heed_activation act, out_act;
    struct unet_time time;
};

/* What both U-Nets call alike: sizes, block types, norms, residual blocks. The rest of the plan is the caller's. */
bool unet_plan_read(heed_ctx *cx, heed_json config, const struct stage_kinds *kinds, struct unet_plan *plan,
                    struct unet *u);
/* A number for all stages, or a list of one for each. */
bool unet_each(heed_ctx *cx, heed_json config, const char *key, int64_t low, int64_t high, int n, int64_t *out);
/* plan->residual.time is the width of what the blocks are given. */
bool unet_make(heed_ctx *cx, const heed_build *b, const struct unet_plan *plan, struct unet *u);
/* given: the text and its mask; time (B,T) is put in. */
heed_tensor *unet_run(heed_ctx *cx, const struct unet *u, heed_tensor *sample, heed_tensor *time,
                      struct condition *given);
bool unet_sample(heed_ctx *cx, const struct unet *u, int64_t batch, heed_io *in);

#endif
