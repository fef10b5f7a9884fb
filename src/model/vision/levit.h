/* LeViT (Graham et al. 2021) of any layout: what it computes, for files that read a config into a plan.
 *
 *     x = conv(a(conv(a(… pixels))))             each halves the size: a grid of tokens, without a class token
 *     x = x + W_o a(softmax(q k' / sqrt(D) + b[|dy|, |dx|]) v)         b: a number for each head and distance
 *     x = x + W_2 a(W_1 x)
 *
 * Between stages attention shrinks the grid: queries are the tokens at multiples of the stride, and x is not added.
 * A batch norm follows every product; there is no other norm and no bias. The mean of all tokens is classified, once
 * or, as by a teacher's student, twice: then the mean of both is the answer. */
#ifndef MODEL_VISION_LEVIT_H
#define MODEL_VISION_LEVIT_H

#include "model/core/inputs.h"
#include "model/vision/patches.h"

enum { LEVIT_STAGES = 16, LEVIT_CONVS = 4 };

/* A product and its norm. */
struct levit_unit {
    heed_linear_layer linear; /* weight (out,in) or (out,in,1,1) */
    heed_batch_norm_layer norm;
};

/* Attention, and the feed-forward layer behind it. */
struct levit_block {
    struct levit_unit all; /* queries, keys and values of each head in turn; keys and values where query has its own */
    struct levit_unit query; /* weight NULL: the grid stays as it is */
    struct levit_unit out;
    heed_param *bias; /* (H,h w) of distances within the grid */
    int64_t heads, key, value;
    int64_t grid[2], stride;    /* of the tokens that go in, and of the queries among them */
    struct levit_unit up, down; /* weight NULL: none */
    int stage;                  /* of the tokens that go in */
    int number;                 /* among the blocks that keep the grid, or among those that shrink it */
};

/* Of the mean: a norm, and a product. */
struct levit_head {
    heed_batch_norm_layer norm;
    heed_linear_layer output; /* weight NULL: there is none */
};

struct levit {
    struct patches pictures; /* channels and size alone */
    int convs;
    heed_conv_layer conv[LEVIT_CONVS];
    heed_batch_norm_layer conv_norm[LEVIT_CONVS];
    heed_activation act, attention_act;
    int64_t grid[2], patch; /* of the first stage, and a token's side in pixels */
    int blocks;
    struct levit_block *block; /* memory of the parameter set */
    float drop_path, head_dropout;
    bool maps;  /* last_hidden_state is (B,C,h,w) */
    bool pools; /* the mean of the tokens is what is pooled; else all of them */
    struct levit_head head[2];
    enum problem problem;
};

/* Names of parameters, those of a layer without its prefix. */
struct levit_layout {
    const char *linear, *norm;
    const char *all, *keys_values, *query, *out, *up, *down;
};

/* What a config says, while it is read: the blocks follow each other. */
struct levit_plan {
    heed_ctx *cx;
    heed_params *set;
    const struct levit_layout *names;
    heed_init init;
    bool maps;       /* weights are those of convolutions */
    bool quiet;      /* what is added to x starts as zeros */
    int64_t width;   /* of the tokens so far, */
    int64_t grid[2]; /* their grid, */
    int stage;       /* and their stage */
};

/* Convolutions that halve the size and double the channels, up to width, under these names; the pictures' channels and
 * size are given. The grid is what they make of a picture of that size. */
bool levit_stem(struct levit_plan *p, const char *const *names, int n, const heed_conv_opts *opts, int64_t kernel,
                const char *conv, struct levit *m);
/* Room for so many blocks. */
bool levit_room(struct levit_plan *p, int blocks, struct levit *m);

struct levit_sizes {
    int64_t heads, key, value; /* numbers in a head */
    int64_t width, stride;     /* of what comes out, of a block that shrinks the grid; stride 0: it does not */
};
/* The next block's attention, and its feed-forward layer of so many hidden numbers: 0: it has none. */
bool levit_attention(struct levit_plan *p, const char *prefix, const struct levit_sizes *sizes, struct levit *m);
bool levit_feed_forward(struct levit_plan *p, const char *prefix, int64_t hidden, struct levit *m);
/* Head i, to so many classes; 0: none. */
bool levit_classifier(struct levit_plan *p, const char *name, int i, int64_t classes, heed_init init, struct levit *m);

/* ---- heads (levit_body.c) ---- */

bool levit_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool levit_forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool levit_forward_teacher(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool levit_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool levit_sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool levit_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to);
#define LEVIT_RUN(name) .forward = levit_forward_##name, .sample = levit_sample_##name, .place = levit_place

#endif
