/* VOLO (Yuan et al. 2021) in timm's layout: outlook attention within small windows, then a Transformer on a coarser
 * grid, then class attention.
 *
 *     x = W_p a(norm(conv(a(norm(conv(a(norm(conv(pixels)))))))))             (B,h,w,C), C the first stage's width
 *     x = x + P outlook(norm(x));  x = x + mlp(norm(x))                       in each block of an outlook stage
 *     x = W_d x                                                               2 x 2 places become one
 *     x = x + positions                                                       after the network's first two parts
 *     x = x + attention(norm(x));  x = x + mlp(norm(x))                       in each block of the other stages
 *     c = c + attention(c; norm([c; x]));  c = c + mlp(norm(c))               in each class block
 *     h = norm([c; x]);  logits = W_h pooled(h) + max over tokens of W_a h / 2
 *
 * Outlook attention asks no keys: the average of 2 x 2 places gives 9 x 9 weights to each head, by a product and a
 * softmax over the last 9. Each of the 3 x 3 places around it gets a sum of their values v = W_v x, and what several
 * windows give a place adds up. W_a is trained to label every token (token labelling, Jiang et al. 2021). */
#ifndef MODEL_VISION_VOLO_H
#define MODEL_VISION_VOLO_H

#include "model/vision/class_attention.h"
#include "model/vision/patches.h"

enum { VOLO_STAGES = 16, VOLO_STEM = 3, VOLO_SIDE = 3, VOLO_STRIDE = 2, VOLO_TAPS = VOLO_SIDE * VOLO_SIDE };

struct outlooker {
    heed_norm_layer norm1, norm2;
    heed_linear_layer values, weights, proj; /* C -> C, C -> 81 H, C -> C */
    heed_feed_forward feed_forward;
};

struct class_block {
    heed_norm_layer norm1, norm2;
    struct class_attention attention;
    heed_feed_forward feed_forward;
};

struct volo_stage {
    int64_t width, heads;
    int first, blocks;       /* the number of its first block among those of its kind, for capture */
    struct outlooker *block; /* memory of the parameter set; NULL: a Transformer's layers */
    heed_encoder stack;
    heed_conv_layer merging; /* to the next stage's width; weight NULL: none */
};

enum volo_pool { VOLO_ALL, VOLO_TOKEN, VOLO_MEAN };

struct volo {
    struct patches patches; /* of pixels */
    struct patches places;  /* of what the stem gives, half as many pixels a side: these become tokens */
    heed_conv_layer stem[VOLO_STEM];
    heed_batch_norm_layer stem_norm[VOLO_STEM];
    int stages;
    struct volo_stage stage[VOLO_STAGES];
    heed_param *positions, *token; /* (1,h,w,C), (1,1,C) */
    int class_blocks;
    struct class_block *class_block;
    heed_norm_layer norm;
    enum volo_pool pool;
    float position_dropout, attention_dropout, head_dropout;
    bool labels_tokens;                  /* tokens are classified, too */
    heed_linear_layer output, labelling; /* of what is pooled, and of tokens; weight NULL: features */
};

/* ---- heads (volo_body.c) ---- */

bool volo_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool volo_forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool volo_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool volo_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool volo_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to);

#endif
