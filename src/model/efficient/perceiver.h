/* Perceiver (Jaegle et al. 2021) and Perceiver IO (Jaegle et al. 2022): attention through a few latent vectors.
 *
 *     x = inputs with positions                    T vectors: tokens, pixels, or anything
 *     z = layer(latents, x)                        N latents look at the T inputs: O(N T)
 *     z = layer(z, z)                              L layers, `blocks` times with the same weights: O(L N^2)
 *     y = layer(queries, z)                        one query, or one for each position: O(N) or O(N T)
 *
 *     layer(q, c): a = W_o attention(norm(q), norm(c), norm(c)) [+ q];  y = a + W_2 f(W_1 norm(a))
 *
 * Nothing is quadratic in T. latents and queries are parameters. */
#ifndef MODEL_EFFICIENT_PERCEIVER_H
#define MODEL_EFFICIENT_PERCEIVER_H

#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/parts/parts.h"

#define PERCEIVER_EPS 1e-5F /* of norms, whatever layer_norm_eps says, as in transformers */

struct perceiver_layer {
    heed_norm_layer norm_q, norm_c, norm; /* norm_c.weight NULL: q and c are the same */
    heed_linear_layer q, kv;              /* kv: keys, then values; without q, queries before them */
    heed_linear_layer out, up, down;
    int64_t heads, key_width, value_width; /* of all heads */
    bool residual;                         /* q is added to what attention gives */
    heed_activation act;
    float dropout; /* of the weights */
};

enum perceiver_prep { PREP_NONE, PREP_TOKENS, PREP_PIXELS, PREP_CONV1X1, PREP_CONV };

/* What becomes of pictures before they are looked at: see perceiver_pictures.c. */
struct perceiver_pictures {
    int64_t channels, image[2], out; /* of pictures; of the convolution */
    int64_t bands;                   /* Fourier positions: frequencies of each axis, */
    int64_t resolution[2];           /* up to half of these */
    heed_conv_layer conv;
    heed_batch_norm_layer norm;
    heed_param *positions; /* (H W,out), learned */
    heed_linear_layer projection;
};

struct perceiver {
    heed_param *latents; /* (N,C) */
    struct perceiver_layer cross, *layer, decoder;
    int layers, blocks;
    enum perceiver_prep prep;
    int64_t width; /* of inputs: D */
    heed_embedding_layer word, position;
    struct perceiver_pictures pictures;
    heed_param *queries; /* (Q,C or D) of the decoder */
    heed_linear_layer output;
    heed_param *bias; /* of masked tokens' logits */
    heed_init init;
    enum problem problem;
};

/* ---- the body (perceiver_body.c) ---- */

/* The latents and the encoder over inputs of m->width numbers. */
bool perceiver_make_encoder(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct perceiver *m);
/* The decoder's queries and its layer, under `prefix`; 0 for key_width: that of the queries. */
bool perceiver_make_decoder(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, int64_t queries,
                            int64_t width, int64_t heads, int64_t key_width, bool residual, struct perceiver *m);
/* x (B,T,D), mask over the T -> z (B,N,C) */
heed_tensor *perceiver_encode(heed_ctx *cx, const struct perceiver *m, heed_tensor *x, const heed_mask *mask);
/* z -> (B,n,width): what the first n queries find. */
heed_tensor *perceiver_decode(heed_ctx *cx, const struct perceiver *m, heed_tensor *z, int64_t n);

/* ---- pictures (perceiver_pictures.c) ---- */

/* Declares what prep needs, and says how wide it makes inputs. */
bool perceiver_make_pictures(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct perceiver *m);
/* pixel_values (B,C,H,W) -> (B,T,D) */
heed_tensor *perceiver_see(heed_ctx *cx, const struct perceiver *m, const heed_io *in);
/* Where the inputs lie that the latents look at. Latents themselves lie nowhere. */
bool perceiver_place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to);

#endif
