/* What diffusion Transformers share (Peebles & Xie 2023): patches of a map with sine positions, blocks whose norms and
 * residuals are modulated by the step and whatever else is known of the picture, and a map from what comes out.
 *
 *     x = x + gate_1 attention(norm(x) (1 + scale_1) + shift_1)
 *     x = x + attention(x, text)                                              PixArt alone
 *     x = x + gate_2 ff(norm(x) (1 + scale_2) + shift_2) */
#ifndef MODEL_DIFFUSION_DIT_H
#define MODEL_DIFFUSION_DIT_H

#include "model/diffusion/blocks.h"
#include "model/vision/patches.h"

enum { DIT_WAVES = 256, DIT_CHUNKS = 6 };

struct dit_block {
    heed_norm_layer norm1, norm2; /* weight NULL: without weights */
    heed_multihead attn1, attn2;  /* attn2.out.weight NULL: none */
    heed_feed_forward ff;
    float dropout;
    int layer;
};
struct dit {
    struct patches patches;
    double stretch; /* positions are divided by it: interpolation_scale */
    int64_t width, out_channels;
    struct head_sizes heads;
    int layers;
    struct dit_block *block; /* memory of the parameter set */
};
/* shift, scale and gate of the first residual, then of the second: (B,1,C) each */
struct dit_modulation {
    heed_tensor *part[DIT_CHUNKS];
};

/* The keys that both classes have; where the defaults differ they are given. */
#define DIT_KEYS(sample_size, norm_type)                                                                               \
    {"num_attention_heads", HEED_KEY_INT, "16", "number of attention heads"},                                          \
        {"attention_head_dim", HEED_KEY_INT, "72", "width of a head; heads times this is the network's"},              \
        {"in_channels", HEED_KEY_INT, "4", "of the maps"}, {"num_layers", HEED_KEY_INT, "28", "number of blocks"},     \
        {"dropout", HEED_KEY_NUMBER, "0.0", "dropout behind attention and within the feed-forward layers"},            \
        {"attention_bias", HEED_KEY_BOOL, "true", "queries, keys and values have biases"},                             \
        {"sample_size", HEED_KEY_INT, sample_size, "side of the maps that positions are made for"},                    \
        {"patch_size", HEED_KEY_INT, "2", "side of a patch, which becomes a token"},                                   \
        {"activation_fn", HEED_KEY_TEXT, "gelu-approximate",                                                           \
         "of the feed-forward layers: gelu, gelu-approximate, geglu, geglu-approximate, swiglu or linear-silu"},       \
        {"norm_type", HEED_KEY_TEXT, norm_type, "how the step modulates the blocks: " norm_type},                      \
        {"norm_elementwise_affine", HEED_KEY_BOOL, "false", "norms have weights of their own, too"},                   \
        {"norm_num_groups", HEED_KEY_INT, "32", "kept for diffusers: not used"}, {                                     \
        "upcast_attention", HEED_KEY_BOOL, "false", "kept for diffusers: heed computes in f32"                         \
    }

/* Width, heads and layers, then the parameters of the patches. norm_type: the one that the class has. */
bool dit_make(heed_ctx *cx, const heed_build *b, const char *norm_type, double stretch, struct dit *m);
/* Attention and feed-forward layer of a block; text: the width of the text, 0 without. */
bool dit_block_make(heed_ctx *cx, const heed_build *b, const char *prefix, const struct dit *m, int64_t text,
                    struct dit_block *block);
bool dit_norm_make(heed_ctx *cx, const heed_build *b, const char *prefix, const char *name, const struct dit *m,
                   heed_norm_layer *norm);

/* sample (B,C,H,W) -> (B,h w,E); grid: h and w */
heed_tensor *dit_tokens(heed_ctx *cx, const struct dit *m, const heed_io *in, int64_t grid[2]);
heed_tensor *dit_block_run(heed_ctx *cx, const struct dit_block *block, heed_tensor *x, const struct dit_modulation *by,
                           const struct condition *given);
/* norm(x) (1 + scale) + shift, without weights of the norm where it has none */
heed_tensor *dit_modulated(heed_ctx *cx, const heed_norm_layer *norm, heed_tensor *x, heed_tensor *shift,
                           heed_tensor *scale);
/* The last norm, modulated, and the map that `out` makes of the tokens: (B,C,H,W). */
heed_tensor *dit_map(heed_ctx *cx, const struct dit *m, const heed_linear_layer *out, heed_tensor *x,
                     heed_tensor *shift, heed_tensor *scale, const int64_t grid[2]);
/* sample and timestep, for plans. */
bool dit_sample(heed_ctx *cx, const struct dit *m, int64_t batch, heed_io *in);

#endif
