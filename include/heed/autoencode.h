/* heed/autoencode.h: autoencoders in use: pictures to codes and back, the way from one code to another, sheets of
 * pictures, and how well a model does.
 *
 *     heed_picture_model *m = heed_picture_model_open(cx, "mnist-vae", "autoencode");
 *     heed_coder coder;
 *     heed_coder_of(cx, m->model, &coder);
 *     heed_random_normal(seed, 0, 0, z, n * coder.latent);
 *     heed_decode_codes(cx, m->model, z, n, pixels);           (n, channels, height, width), from 0 to 1
 *
 * Plain autoencoders and variational ones (Kingma & Welling 2014) alike; src/model/autoencoders/ has the networks. */
#ifndef HEED_AUTOENCODE_H
#define HEED_AUTOENCODE_H

#include "heed/picture_training.h"
#include "heed/vision.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_coder {
    int channels;
    int64_t height, width;
    int64_t numbers; /* of a picture: their product */
    int64_t latent;  /* numbers in a code */
    bool variational;
} heed_coder;
/* Fails for a model that is no autoencoder. */
HEED_API bool heed_coder_of(heed_ctx *cx, const heed_model *model, heed_coder *coder);

/* pixels (n, channels, height, width) -> codes (n, latent): of a variational autoencoder mu; log_sigma (n, latent) may
 * be NULL, and is left alone by a plain one. */
HEED_API bool heed_encode_pixels(heed_ctx *cx, const heed_model *model, const float *pixels, int64_t n, float *mu,
                                 float *log_sigma);
/* codes (n, latent) -> pixels (n, channels, height, width): of a Bernoulli likelihood probabilities. */
HEED_API bool heed_decode_codes(heed_ctx *cx, const heed_model *model, const float *codes, int64_t n, float *pixels);
/* Pictures as the directory's processor makes them, (n, channels, height, width); to be freed with heed_mem_free. */
HEED_API float *heed_coder_pixels(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n);

/* Codes (steps, latent) on the way from a to b, both included: on a straight line, or on a great circle where the
 * length changes evenly too (Shoemake 1985), which between normal codes of many numbers stays where codes are. */
HEED_API void heed_codes_between(const float *a, const float *b, int64_t latent, int64_t steps, bool spherical,
                                 float *out);

/* Pixels back to bytes, each picture enlarged `zoom` times, in rows of `columns`, `gap` white pixels apart. */
HEED_API bool heed_pixels_sheet(heed_ctx *cx, const heed_coder *coder, const float *pixels, int64_t n, int64_t columns,
                                int64_t gap, int64_t zoom, heed_image *out);

/* ---- what is learnt from, and measuring ---- */

/* What happens to pictures before a model sees them, drawn by seed, epoch and row; config.json keeps it. */
typedef enum heed_binarize { HEED_BINARIZE_NONE, HEED_BINARIZE_STATIC, HEED_BINARIZE_DYNAMIC } heed_binarize;
typedef struct heed_corruption {
    heed_binarize binarize; /* pixels become 0 or 1, 1 with the probability that they say: once, or in each epoch */
    double noise;           /* deviation of normal noise, of which the model is to find the clean picture */
    double mask;            /* the part of the pixels that become 0, likewise */
} heed_corruption;
HEED_API bool heed_corruption_of(heed_ctx *cx, const heed_model *model, heed_corruption *to);
/* That of one picture: `numbers` pixels; stream: of what is drawn, such as an epoch. `to` may be `pixels`. */
HEED_API void heed_corrupt(const heed_corruption *c, uint64_t seed, uint64_t stream, int64_t row, int64_t numbers,
                           const float *pixels, float *to);

/* Means over pictures. */
typedef struct heed_coder_score {
    double loss;
    double reconstruction; /* the sum of squared errors, or of cross entropies, over the pixels of a picture */
    double kl;             /* of a variational autoencoder, in nats: the divergence of its codes from N(0, 1), */
    double elbo;           /* the evidence lower bound, log p(x | z) - kl with one z of each picture, */
    double log_likelihood; /* and an estimate of log p(x), with `samples` of each, importance weighted (Burda et al.
                              2016) */
} heed_coder_score;
typedef struct heed_coder_measure_opts {
    const int64_t *rows;   /* which pictures; NULL: all */
    int64_t n, batch;      /* batch 0: a good one */
    uint64_t seed, stream; /* of corruption and of z */
    int64_t samples;       /* 0: log p(x) is not estimated */
    int workers;
} heed_coder_measure_opts;
HEED_API bool heed_coder_measure(heed_ctx *cx, const heed_model *model, const heed_picture_set *set,
                                 const heed_picture_input *input, const heed_coder_measure_opts *opts,
                                 heed_coder_score *score);

/* As the loop's source. What opts points to must stay until it is freed. */
typedef struct heed_coder_training_opts {
    const heed_picture_set *train, *valid, *test; /* valid, test: NULL for none */
    const int64_t *train_rows, *valid_rows;       /* which pictures; NULL: all */
    int64_t n_train, n_valid;
    const heed_picture_input *input;
    heed_corruption corruption;
    bool variational;
    int64_t batch, micro_batch; /* micro 0: the whole batch */
    uint64_t seed;
    int workers;
} heed_coder_training_opts;
typedef struct heed_coder_training heed_coder_training;
HEED_API heed_coder_training *heed_coder_training_new(heed_ctx *cx, const heed_coder_training_opts *opts);
HEED_API void heed_coder_training_free(heed_ctx *cx, heed_coder_training *t);
HEED_API const heed_loop_source *heed_coder_training_source(const heed_coder_training *t);

#ifdef __cplusplus
}
#endif
#endif
