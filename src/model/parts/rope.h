/* Rotary positions of a config (Su et al. 2021) and their published scalings, worked out as transformers does.
 *
 *     default       speed_i = theta^(-2i/R)                                   R: channels of a head that are turned
 *     linear        speed_i / factor                                          Chen et al. 2023
 *     dynamic       theta grows with the sequence beyond max_position_embeddings
 *     yarn          slow channels as linear, fast ones as they are, a ramp between        Peng et al. 2023
 *     longrope      speed_i / short_factor_i, or long_factor_i beyond original_max_position_embeddings
 *                                                                                         Ding et al. 2024
 *     llama3        slow channels as linear, fast ones as they are                        Dubey et al. 2024
 *     proportional  as linear, of the first channels alone
 *
 * Configs of transformers 5 have rope_parameters, those of 4 rope_theta and rope_scaling, whose kind is rope_type or
 * type; where both are there, rope_scaling holds. */
#ifndef MODEL_PARTS_ROPE_H
#define MODEL_PARTS_ROPE_H

#include "heed/model.h"

enum rope_scaling { ROPE_DEFAULT, ROPE_LINEAR, ROPE_DYNAMIC, ROPE_YARN, ROPE_LONG, ROPE_LLAMA3, ROPE_PROPORTIONAL };

struct rope {
    enum rope_scaling scaling;
    int64_t pairs;                     /* R / 2, rounded up; 0: nothing is turned */
    int64_t dim;                       /* R, or one less where that is odd */
    int64_t positions, original;       /* max_position_embeddings, and what it was before a scaling */
    int64_t border;                    /* beyond it all is turned anew, as in transformers' Phi-3; 0: there is none */
    double theta, factor;              /* factor: of linear, dynamic, yarn, llama3, proportional */
    float attention;                   /* what cosines and sines are multiplied by */
    const float *speeds, *long_speeds; /* (pairs), memory of the parameter set */
};

/* What families call it. */
struct rope_keys {
    const char *theta;   /* "rope_theta", null or missing: 10000 */
    const char *partial; /* "partial_rotary_factor": which part of a head is turned; NULL: all of it, always */
    double part;         /* where neither says it */
    bool phi;            /* longrope alone is scaling, also under the names su and yarn */
};

/* Heads have `size` numbers. The keys theta and partial, where null, are filled in with what they turn out to be. */
bool rope_read(heed_ctx *cx, heed_json config, heed_params *set, const struct rope_keys *keys, int64_t size,
               struct rope *rope);
/* Do the speeds depend on the length? */
bool rope_grows(const struct rope *rope);
/* How long sequences may become where they are continued. */
int64_t rope_longest(const struct rope *rope);
/* For heed_rotary_opts.angles: of positions start, start + 1, …, or those given, (B,T). end: the largest of them, and
 * one; dynamic and longrope depend on it. NULL also where nothing is turned. */
heed_tensor *rope_angles(heed_ctx *cx, const struct rope *rope, int64_t start, int64_t length, heed_tensor *positions,
                         int64_t end);
/* The largest position of a tensor (B,T), and one; in a dry context T. */
int64_t rope_end(heed_ctx *cx, const heed_tensor *positions);

#endif
