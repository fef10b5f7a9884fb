/* The Reformer's body (Kitaev et al. 2020), and how it decodes.
 *
 *     h = word(ids) + position;   x1 = x2 = h
 *     x1 = x1 + attention(norm(x2));   x2 = x2 + W_2 a(W_1 norm(x1))           in each layer
 *     h = norm((x1, x2))                                                       2 C wide
 *
 * Layers are reversible, so that training holds one of them, whatever their number. Attention is local, within chunks
 * of positions, or by hashes: within chunks of positions that are sorted by what their queries, which are keys too, are
 * near to. O(T) of both. */
#ifndef MODEL_EFFICIENT_REFORMER_H
#define MODEL_EFFICIENT_REFORMER_H

#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/core/stepper.h"
#include "model/parts/parts.h"

struct reformer_chunks {
    int64_t length, before, after;
    float dropout; /* of weights */
};

struct reformer_layer {
    bool lsh; /* or local */
    heed_norm_layer norm1, norm2;
    heed_linear_layer in, out; /* q, k and v, or q and v, in one */
    heed_linear_layer up, down;
};

struct reformer {
    heed_embedding_layer word, position; /* position: of learned ones */
    heed_param *axial[2];                /* (rows,1,C1), (1,columns,C2); NULL: positions are learned one by one */
    int layers;
    struct reformer_layer *layer;
    heed_norm_layer norm;
    struct reformer_chunks local, lsh;
    int64_t multiple, shortest; /* sequences beyond `shortest` tokens are padded to a multiple */
    int64_t width, heads, size;
    int64_t allowed, positions,
        max_length; /* max_position_embeddings, what there are, tokens that leave room for padding */
    int64_t hashes, seed;
    bool seeded, causal;
    heed_lsh_opts buckets; /* without factors: by the length */
    heed_activation act;
    int64_t piece; /* of the feed-forward layer: positions at a time; 0: all */
    float dropout;
    int32_t padding;
    heed_init init;
    /* heads */
    heed_linear_layer dense, output;
    float head_dropout;
    enum problem problem;
};

extern const heed_key reformer_keys[];
/* Declares the parameters under `base`, and reads what the config says of them. */
bool reformer_make(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct reformer *m);
/* -> h (B,T,2 C) */
heed_tensor *reformer_run(heed_ctx *cx, const struct reformer *m, const heed_io *in);

#endif
