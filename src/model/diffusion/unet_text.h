/* What a U-Net that reads text makes of it: keys and values for its attention, and a part of the embedding of the step.
 */
#ifndef MODEL_DIFFUSION_UNET_TEXT_H
#define MODEL_DIFFUSION_UNET_TEXT_H

#include "model/diffusion/blocks.h"

enum text_addition { ADD_NOTHING, ADD_TEXT, ADD_TEXT_TIME };

/* The text pooled by attention of its mean to itself (Saharia et al. 2022):
 *     norm2(proj(attention(q(c), k([c, x]), v([c, x])))),   x = norm1(text),  c = mean(x) + position */
struct text_pooling {
    heed_norm_layer norm1, norm2;
    heed_param *position; /* (1,E) */
    heed_linear_layer q, k, v, proj;
    int64_t heads;
};

struct unet_text {
    int64_t width;                /* of encoder_hidden_states; 0: any, since no stage reads it */
    heed_linear_layer projection; /* encoder_hid_proj; weight NULL: none */
    enum text_addition addition;
    struct text_pooling pooling;     /* ADD_TEXT */
    struct step_waves waves;         /* ADD_TEXT_TIME (Podell et al. 2023): of time_ids, */
    struct step_embedding embedding; /* of text_embeds beside those */
    int64_t embedding_in;
};

/* encoder_hid_dim and addition_embed_type; text: E of the first stage, time: the width of a step's embedding. */
bool unet_text_make(heed_ctx *cx, const heed_build *b, int64_t text, int64_t time, struct unet_text *t);
/* encoder_hidden_states (B,L,E) and encoder_attention_mask, as the blocks take them. needed: some stage reads it. */
bool unet_text_run(heed_ctx *cx, const struct unet_text *t, const heed_io *in, int64_t batch, bool needed,
                   struct condition *given);
/* What is added to the embedding of a step; *added NULL: nothing. */
bool unet_text_added(heed_ctx *cx, const struct unet_text *t, const heed_io *in, int64_t batch, heed_tensor **added);
bool unet_text_sample(heed_ctx *cx, const struct unet_text *t, int64_t batch, int64_t length, heed_io *in);

#endif
