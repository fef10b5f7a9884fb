/* What the networks of diffusers are made of: residual blocks, attention between the places of a map, and the embedding
 * of a step. Names of parameters are those of diffusers; maps are (B,C,H,W).
 *
 *     residual block (Ho et al. 2020; Dhariwal & Nichol 2021 for scale and shift)
 *         h = conv1(act(norm1(x)));  t = W act(time)
 *         h = conv2(dropout(act(norm2(h + t))))   or   conv2(dropout(act(norm2(h) (1 + t_1) + t_2)))
 *         y = (shortcut(x) + h) / scale */
#ifndef MODEL_DIFFUSION_BLOCKS_H
#define MODEL_DIFFUSION_BLOCKS_H

#include "model/core/families.h"
#include "model/parts/parts.h"

/* ---- inputs ---- */

/* f32 (B,channels,H,W), which must be there. */
heed_tensor *map_input(heed_ctx *cx, const heed_io *in, const char *name, int64_t channels);
/* An input that is one number or one for each of the batch: f32 (B). */
heed_tensor *step_input(heed_ctx *cx, const heed_io *in, const char *name, int64_t batch);
/* sample_size of a config, height first. */
bool sample_sides(heed_ctx *cx, heed_json config, int64_t sides[2]);
/* What older files call the products of attention. */
extern const char *const attention_renamed[];

/* ---- steps ---- */

/* cos and sin (flip) or sin and cos of t / 10000^(i / (width / 2 - shift)), Ho et al. 2020 */
struct step_waves {
    int64_t width;
    bool flip;
    double shift;
};
/* flip_sin_to_cos and freq_shift of a config; fails where the width is too small for the shift. */
bool step_waves_read(heed_ctx *cx, heed_json config, int64_t width, struct step_waves *waves);
/* t (n), whole numbers or others -> (n,width) */
heed_tensor *step_waves_run(heed_ctx *cx, const struct step_waves *waves, heed_tensor *t);

/* linear_2(act(linear_1(x + cond_proj(more)))), and an activation behind it */
struct step_embedding {
    heed_linear_layer linear_1, linear_2, cond_proj; /* cond_proj.weight NULL: none */
    heed_activation act, post;
};
/* more: the width of the condition; 0: none */
bool step_embedding_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, int64_t more,
                         struct step_embedding *e);
heed_tensor *step_embedding_run(heed_ctx *cx, const struct step_embedding *e, heed_tensor *x, heed_tensor *more);

/* What all blocks of a network are given beside the map. */
struct condition {
    heed_tensor *time, *active; /* (B,T), as it is and after the activation; NULL: blocks without time */
    heed_tensor *text;          /* (B,L,E) or NULL */
    heed_tensor *hidden;        /* (B,1,1,L), added to the scores of the text's tokens; NULL: all are seen */
};

/* ---- residual blocks ---- */

struct residual_plan {
    int64_t time;   /* T; 0: none */
    int64_t groups; /* of the norms */
    float eps, dropout, scale;
    heed_activation act;
    bool scale_shift;
    bool skip_act; /* time as it is, without the activation */
};
enum resampling { RESAMPLE_NOT, RESAMPLE_UP, RESAMPLE_DOWN };
struct residual {
    struct residual_plan plan;
    heed_group_norm_layer norm1, norm2;
    heed_conv_layer conv1, conv2, shortcut; /* shortcut.weight NULL: none */
    heed_linear_layer time;
    enum resampling resampling; /* of x and of h behind the first activation */
};
bool residual_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct residual_plan *plan, int64_t in,
                   int64_t out, enum resampling resampling, struct residual *r);
heed_tensor *residual_run(heed_ctx *cx, const struct residual *r, heed_tensor *x, const struct condition *given);

/* A convolution of 3 x 3 and its variants with another kernel; no border is lost. */
bool block_conv(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, int64_t kernel,
                heed_conv_layer *conv);
/* norm, checked: do the groups divide the channels? */
bool block_norm(heed_ctx *cx, heed_params *set, const char *prefix, int64_t groups, int64_t channels, float eps,
                heed_group_norm_layer *norm);
/* A convolution that halves a map, prefix.conv; padding 0 is a row and a column of zeros behind. */
bool downsample_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, int64_t padding,
                     heed_conv_layer *conv);
bool upsample_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, heed_conv_layer *conv);
/* To the nearest places of a map twice as large, or of `size` (NULL: that), then the convolution. */
heed_tensor *upsample_run(heed_ctx *cx, const heed_conv_layer *conv, heed_tensor *x, const int64_t *size);

/* ---- attention between places ---- */

/* (B,C,H,W) -> (B,H W,C), and back to the shape of a map */
heed_tensor *places_of_map(heed_ctx *cx, heed_tensor *map);
heed_tensor *map_of_places(heed_ctx *cx, heed_tensor *places, const heed_tensor *like);

struct head_sizes {
    int64_t heads, size;
};
/* to_q, to_k, to_v and to_out.0 of diffusers' Attention under prefix; text: the width of keys and values, 0 for
 * attention of places to places. */
bool attend_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width, struct head_sizes heads,
                 int64_t text, bool bias, heed_multihead *m);

/* Places to places: y = (x + out(attention(norm(x)))) / scale */
struct place_attention {
    heed_group_norm_layer norm; /* weight NULL: none */
    heed_multihead attend;
    float scale;
    int layer; /* for capture, counted through the network */
};
/* groups 0: no norm */
bool place_attention_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, struct head_sizes heads,
                          int64_t groups, float eps, struct place_attention *a);
heed_tensor *place_attention_run(heed_ctx *cx, const struct place_attention *a, heed_tensor *x);

/* Places to the tokens of a text and, unless text_only, to places, in one softmax (Saharia et al. 2022):
 * y = x + out(attention(q(norm(x)), [k_text(text), k(norm(x))], [v_text(text), v(norm(x))])) */
struct joined_attention {
    heed_group_norm_layer norm;
    heed_group_norm_layer text_groups; /* of the text's channels; weight NULL: none, */
    heed_norm_layer text_norm;         /* or this one, or none */
    heed_linear_layer q, k, v, text_k, text_v, out;
    struct head_sizes heads;
    bool text_only;
    int layer;
};
struct joined_plan {
    int64_t text, groups;
    bool text_only;
    const char *text_norm; /* "layer_norm", "group_norm" or NULL */
};
bool joined_attention_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels,
                           struct head_sizes heads, const struct joined_plan *plan, struct joined_attention *a);
heed_tensor *joined_attention_run(heed_ctx *cx, const struct joined_attention *a, heed_tensor *x,
                                  const struct condition *given);

/* Blocks of the Transformer over the places of a map (Rombach et al. 2022):
 *     h = in(norm(x));   h += attention(norm1(h));   h += attention(norm2(h), text);   h += ff(norm3(h));   y = x +
 * out(h)
 */
struct transformer_block {
    heed_norm_layer norm1, norm2, norm3;
    heed_multihead attn1, attn2;
    heed_feed_forward ff;
    int layer;
};
struct transformer_map {
    heed_group_norm_layer norm;
    heed_linear_layer in, out; /* (out,in) or (out,in,1,1) */
    int layers;
    struct transformer_block *block; /* memory of the parameter set */
    bool text_only;                  /* the first attention is to the text, too */
};
struct transformer_plan {
    int64_t text, groups;
    bool linear;    /* in and out are products, not convolutions of 1 x 1 */
    bool text_only; /* only_cross_attention */
};
/* *count: the layers so far, which grows by those made here */
bool transformer_map_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, struct head_sizes heads,
                          int layers, const struct transformer_plan *plan, int *count, struct transformer_map *t);
heed_tensor *transformer_map_run(heed_ctx *cx, const struct transformer_map *t, heed_tensor *x,
                                 const struct condition *given);

#endif
