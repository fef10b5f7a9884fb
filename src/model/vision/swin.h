/* Swin Transformers (Liu et al. 2021) and their second version (Liu et al. 2022) of any layout: what they compute.
 * Tokens stay in their grid, (B,h,w,C).
 *
 *     x = norm(W_p patches)
 *     x = merge(x)                       but in the first stage: 2 x 2 neighbours become one, W_m norm([x; x; x; x])
 *     x = x + attention(norm(x))         within windows; in every other block windows are shifted by half of one,
 *     x = x + W_2 a(W_1 norm(x))         around the borders, and tokens that are no neighbours do not see each other
 *     h = norm(x);  pooled: the mean
 *
 * Attention adds a bias for the distance of row and column, of a table ((2a - 1)(2b - 1),H) for windows of a x b.
 *
 * The second version has its norms after the sublayers (res-post-norm), x = x + norm(attention(x)), and after the
 * product that merges; scores are cosines times a learned number of each head, 100 at most; and the bias is 16
 * sigmoid(W_2 relu(W_1 d + b_1)), d the distances on a logarithmic scale, so that other windows than those it was
 * trained with are possible. */
#ifndef MODEL_VISION_SWIN_H
#define MODEL_VISION_SWIN_H

#include "model/core/inputs.h"
#include "model/vision/patches.h"

enum { SWIN_STAGES = 16 };
#define SWIN_EPS 1e-5F /* of norms that no key is for: torch's own */

/* Attention of the second version. */
struct swin_cosine {
    heed_param *logit_scale; /* (H,1,1); NULL: it is the first version */
    heed_linear_layer qkv[3];
    heed_linear_layer whole;       /* instead, the rows of all three, without a bias; weight NULL: there is none */
    heed_param *q_bias, *v_bias;   /* then (C) or NULL */
    heed_linear_layer distance[2]; /* 2 -> 512 -> H */
    int64_t trained;               /* side of the windows that the bias was trained for */
};

struct swin_block {
    heed_norm_layer norm1, norm2;
    heed_multihead attention;
    heed_param *bias; /* of distances; NULL: the second version's */
    struct swin_cosine cosine;
    heed_feed_forward feed_forward;
    int64_t window[2], shift[2], table[2]; /* table: the windows that `bias` is for */
    float attention_dropout, dropout;      /* of the outputs of attention and of the feed-forward layer */
    float drop_path;
    const char *site; /* of capture, and the number there */
    int number;
};

struct swin_stage {
    heed_norm_layer norm; /* of merging; weight NULL: the first stage, which does not */
    heed_linear_layer reduction;
    int blocks;
    struct swin_block *block; /* memory of the parameter set */
};

struct swin {
    struct patches patches;
    heed_norm_layer patch_norm;
    heed_param *mask_token, *positions; /* (1,1,C), (1,h w,C) or NULL */
    float dropout;
    int stages;
    struct swin_stage stage[SWIN_STAGES];
    heed_norm_layer norm;
    bool shrinks;   /* windows shrink to pictures that are smaller, and do not shift then; else they are as they are */
    bool pads_last; /* windows are shifted before the grid is padded to whole ones */
    bool flat;      /* last_hidden_state is (B,h w,C) */
    bool second;    /* version */
    /* heads */
    bool pools;
    float head_dropout;
    heed_linear_layer output; /* weight NULL: features */
    enum problem problem;
    int64_t stride; /* of masked pictures: a place of the last grid becomes stride x stride pixels */
};

/* ---- blocks and stages under their names (swin_make.c) ---- */

/* Names of parameters, those of a block without its prefix. */
struct swin_layout {
    const char *stage, *bias; /* what the names of a stage begin with, and those of the bias of distances */
    const char *distance;     /* the layers that work that out */
    const char *whole;        /* the product of queries, keys and values, */
    const char *qkv[3];       /* and what files hold apart; NULL: nothing */
    const char *out, *norm1, *norm2, *up, *down;
    const char *norm;  /* the last */
    bool merges_first; /* a stage's merging has its name, not that of the stage before */
};

/* What a config says of them. */
struct swin_plan {
    const struct swin_layout *names;
    heed_json config; /* of mlp_ratio, qkv_bias and drop_path_rate */
    heed_params *set;
    const char *base;
    int64_t width;                                                           /* of the first stage */
    int64_t depths[SWIN_STAGES], heads[SWIN_STAGES], head_size[SWIN_STAGES]; /* 0: the stage's width by its heads */
    int64_t window[SWIN_STAGES][2], trained[SWIN_STAGES];                    /* trained: see swin_cosine */
    bool fits;          /* windows are no larger than the grid that the stage was made for, and do not shift then */
    bool by_height;     /* whose height alone decides */
    bool drawn_by_timm; /* the second version: fresh norms of blocks are zero, and the layers behind the bias of
                           distances do not decay */
    float eps;
    float weights_dropout, attention_dropout; /* of attention's weights, and of its outputs */
    float hidden_dropout, dropout;            /* within the feed-forward layer, and of its outputs */
    heed_activation act;
    heed_init init;
};

/* pretrained_window_sizes: the sides of the windows that each stage's bias was trained for; 0: its own. */
bool swin_read_trained(heed_ctx *cx, heed_json config, int stages, int64_t trained[SWIN_STAGES]);

/* Declares the stages and the last norm; version, stages and patches of m are given. */
bool swin_make(heed_ctx *cx, const struct swin_plan *p, struct swin *m);

/* ---- heads (swin_body.c) ---- */

bool swin_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool swin_forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool swin_forward_masked(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool swin_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool swin_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool swin_sample_masked(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
void swin_name_key(const void *own, int64_t i, char *name, size_t size);
bool swin_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to);
#define SWIN_RUN(name) VISION_RUN(swin, name)

#endif
