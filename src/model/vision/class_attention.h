/* Class attention (Touvron et al. 2021, Going deeper): the class token alone looks, at itself and at all patches. */
#ifndef MODEL_VISION_CLASS_ATTENTION_H
#define MODEL_VISION_CLASS_ATTENTION_H

#include "heed/nn.h"

struct class_attention {
    heed_linear_layer q, kv, proj; /* C -> H D, C -> 2 H D, H D -> C */
    int64_t heads;
    float dropout; /* of the weights */
};

/* u (B,1 + T,C), the class token first -> (B,1,C). Capture knows it as "class", by this number. */
heed_tensor *class_attention_run(heed_ctx *cx, const struct class_attention *a, heed_tensor *u, int number);

#endif
