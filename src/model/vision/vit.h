/* Vision Transformers (Dosovitskiy et al. 2021) of any layout: what they compute. A family's file reads a config into
 * this struct and declares the parameters under its names: vit.c for those that transformers has, of which a family is
 * a record, and vit_timm.c.
 *
 *     x = [tokens; W_p patches] + positions                          tokens: class, distillation, registers
 *     x = x + s_1 attention(norm(x));  x = x + s_2 W_2 a(W_1 norm(x))     in each layer; s: LayerScale, where it is
 *     h = norm(x)                                                    pooled: the class token's, a mean, … */
#ifndef MODEL_VISION_VIT_H
#define MODEL_VISION_VIT_H

#include "model/core/inputs.h"
#include "model/vision/patches.h"

/* VIT_REFINED: all tokens look at all once more, without weights; then the class token, or the mean where there is
 * none. VIT_CLASS_AND_MEAN: the two, one after the other. */
enum vit_pool { VIT_CLASS, VIT_MEAN, VIT_MEANMAX, VIT_MAX, VIT_LATENT, VIT_REFINED, VIT_ALL, VIT_CLASS_AND_MEAN };
enum { VIT_TOKENS = 3 };

/* Attention pooling (Lee et al. 2019; Zhai et al. 2022): one learned query looks at all, then x + mlp(norm(x)). */
struct vit_latent {
    heed_param *query;
    heed_linear_layer q, kv, out;
    heed_norm_layer q_norm, k_norm, norm;
    heed_feed_forward feed_forward;
    int64_t heads;
};

struct vit {
    struct patches patches;
    heed_norm_layer patch_norm;         /* of embedded patches; weight NULL: none */
    heed_param *tokens[VIT_TOKENS];     /* (1,n,E) before the patches; NULL at the end */
    heed_param *mask_token, *positions; /* (1,1,E) or (1,E), (1,P + h w,E); or NULL */
    int64_t first;                      /* tokens before the patches */
    int64_t placed;                     /* P: the first of those, which have positions */
    bool smooth;                        /* positions are resized with antialias */
    heed_norm_layer before;             /* the layers; weight NULL: none */
    float dropout;                      /* of what enters the layers */
    float patch_dropout;                /* patches that are left out while training; heed does not train so */
    heed_encoder stack;
    /* heads */
    enum vit_pool pool;
    bool pools_tokens;          /* a mean is over the tokens before the patches too */
    bool has_class;             /* the first token is the class token */
    struct vit_latent latent;   /* VIT_LATENT */
    heed_norm_layer pool_norm;  /* of the pooled vector; weight NULL: none */
    heed_linear_layer pooler;   /* of the bare model; weight NULL: none */
    heed_activation pooler_act; /* after it */
    bool averages;              /* the pooled vector is the mean of class token and distillation token */
    float head_dropout;
    heed_linear_layer output, distilled; /* W of the class token and of the distillation token; weight NULL: none */
    enum problem problem;
    int64_t stride; /* of masked pictures: a patch becomes stride x stride pixels */
};

/* The rate of stochastic depth in layer i of n: from 0 to `rate` in equal steps. */
float vit_drop_path(double rate, int64_t i, int64_t n);

/* ---- in transformers' layout (vit.c) ---- */

/* How a family calls what not all have: config keys, and names of parameters. A field that is NULL is looked up in
 * `from`; "" is what the family does not have. */
struct vit_layout {
    const struct vit_layout *from;
    struct {
        const char *hidden;  /* of the feed-forward layer, or */
        const char *ratio;   /* that by the width */
        const char *swiglu;  /* it is gated */
        const char *dropout; /* of the sublayers' outputs */
        const char *scale;   /* LayerScale's beginning */
        const char *mask;    /* the kind has its mask token where this says so; NULL: in any case */
    } key;
    const char *distillation, *registers; /* tokens beside the class token */
    struct {
        const char *norm1, *norm2, *up, *down, *gated_up, *gated_down, *scale1, *scale2;
    } layer;
};
extern const struct vit_layout vit_layout;

/* A family's kind: its names and what it computes otherwise than ViT. */
struct vit_kind {
    const struct vit_layout *layout;
    enum patches_rest rest;
    enum vit_pool pool;  /* of its classifier */
    bool masks;          /* has a mask token under every head, and no pooler */
    bool even_drop_path; /* stochastic depth has the same rate in every layer */
    bool norms_first;    /* are declared before the feed-forward layer */
};

/* Layer i, whose names begin with base.encoder.layer: for other models made of them, too. */
bool vit_make_layer(heed_ctx *cx, const heed_build *b, const struct vit_kind *kind, const char *base, int i,
                    heed_encoder_layer *l);
bool vit_build_bare(heed_ctx *cx, const heed_build *b, void *own);
bool vit_build_classify(heed_ctx *cx, const heed_build *b, void *own);

/* ---- heads (vit_body.c) ---- */

bool vit_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool vit_forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool vit_forward_teacher(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool vit_forward_masked(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool vit_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool vit_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool vit_sample_masked(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
void vit_name_key(const void *own, int64_t i, char *name, size_t size);
bool vit_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to);
#define VIT_RUN(name) VISION_RUN(vit, name)
#define VIT(name)     .build = vit_build_##name, VIT_RUN(name)

#endif
