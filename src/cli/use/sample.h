/* heed sample: what draws new pictures, by the task of the model's head. */
#ifndef CLI_USE_SAMPLE_H
#define CLI_USE_SAMPLE_H

#include "cli/use/picture_sheet.h"
#include "heed/pipeline.h"

struct sampling {
    const struct options *o;
    heed_ctx *cx;
    heed_picture_model *m;   /* of autoencoders, */
    heed_pipeline *pipeline; /* of diffusion */
    heed_coder shape;        /* of a picture; latent is an autoencoder's */
    int64_t count;
    float *pixels;   /* (1 + count, ...): first the picture that the others are near to */
    bool near;       /* there is one */
    int64_t columns; /* of the sheet; 0: a good number */
};

struct sampler {
    const char *task;                      /* of heads that it draws from */
    const char *what;                      /* such models, for sentences */
    const heed_field *own;                 /* options that only it knows */
    bool (*fits)(const struct options *o); /* false after saying which options contradict each other */
    bool (*open)(struct sampling *s);      /* the model, and the shape and number of its pictures */
    bool (*draw)(struct sampling *s);      /* fills pixels from the second picture on */
};

extern const heed_field code_options[], diffusion_options[];
extern const struct sampler code_sampler;      /* autoencoders: sample_codes.c */
extern const struct sampler diffusion_sampler; /* sample_diffusion.c */

#endif
