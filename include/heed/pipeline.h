/* heed/pipeline.h: diffusion models in use: a network that finds the noise in a picture, and the scheduler by which it
 * is taken away.
 *
 *     heed_pipeline *p = heed_pipeline_open(cx, "digits-diffusion", NULL);
 *     heed_diffuse(cx, p, &(heed_diffuse_opts){.count = 16, .steps = 50}, pixels);
 *                                                          (16, channels, height, width), from 0 to 1
 *
 * A pipeline is a directory in diffusers' layout: model_index.json, the network in unet/ or transformer/, and
 * scheduler/. */
#ifndef HEED_PIPELINE_H
#define HEED_PIPELINE_H

#include "heed/diffusion.h"
#include "heed/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a network of diffusion takes and gives. */
typedef struct heed_denoiser {
    int channels, output_channels; /* twice as many come out where it has learnt the variance, too */
    int64_t height, width;
    int64_t numbers; /* of a picture: channels x height x width */
    int64_t labels;  /* rows of its table of classes; 0: it takes no class_labels */
} heed_denoiser;
/* Fails for a model that is no such network. */
HEED_API bool heed_denoiser_of(heed_ctx *cx, const heed_model *model, heed_denoiser *denoiser);

typedef struct heed_pipeline {
    heed_model *model;
    heed_scheduler *scheduler;
    heed_denoiser denoiser;
    int64_t classes;  /* that can be asked for; 0: none */
    int64_t no_class; /* the label of no class in particular, which guidance needs; -1: there is none */
    char **names;     /* (classes); NULL: unknown */
} heed_pipeline;
/* scheduler: a class to use in place of that of the directory (heed_scheduler_open); NULL: that one. */
HEED_API heed_pipeline *heed_pipeline_open(heed_ctx *cx, const char *dir, const char *scheduler);
HEED_API void heed_pipeline_free(heed_ctx *cx, heed_pipeline *p);
/* The number of a class by its name or, where no name is the same, by its number in digits; -1 with a sentence. */
HEED_API int64_t heed_pipeline_class(heed_ctx *cx, const heed_pipeline *p, const char *name);

/* Makes dir the directory of a pipeline: model_index.json, with the names of so many classes (NULL: their
 * numbers), and scheduler/. The network itself is saved by heed_model_save into the directory of heed_pipeline_network.
 */
HEED_API bool heed_pipeline_describe(heed_ctx *cx, const char *dir, const heed_model *model,
                                     const heed_scheduler *scheduler, char *const *names, int64_t classes);
/* "unet" or "transformer"; NULL: the model is no network of diffusion. */
HEED_API const char *heed_pipeline_network(const heed_model *model);

/* What a picture looks like on its way, step after step: numbers from -1 to 1, (n, channels, height, width). */
typedef struct heed_diffusing {
    int64_t first, n;       /* which pictures */
    int64_t step, steps;    /* steps done, of so many */
    const float *sample;    /* with the noise that is left */
    const float *predicted; /* what the network takes to be behind the noise */
} heed_diffusing;

typedef struct heed_diffuse_opts {
    int64_t count, first; /* how many pictures, the first of which has this number */
    int64_t steps;        /* 0: 50 */
    uint64_t seed;        /* a picture is a function of seed, number and class: the same in any company */
    double eta;           /* of DDIM: 0 adds no noise on the way, 1 as much as DDPM */
    const int64_t *label; /* (count) classes; NULL: no class in particular */
    double
        guidance;  /* without a classifier (Ho & Salimans 2021): none + guidance (class - none); 0 and 1: no guidance */
    int64_t batch; /* pictures at a time; 0: 16 */
    void (*show)(void *user, const heed_diffusing *at); /* called after every step; NULL: none */
    void *user;
} heed_diffuse_opts;
/* New pictures: pixels (count, channels, height, width), from 0 to 1. The context's progress counts steps. */
HEED_API bool heed_diffuse(heed_ctx *cx, const heed_pipeline *p, const heed_diffuse_opts *opts, float *pixels);

#ifdef __cplusplus
}
#endif
#endif
