/* heed/diffusion.h: schedulers of diffusion models: which noise is added in training, and how it is taken away again.
 *
 * A scheduler is what scheduler_config.json says, with the classes, keys and numbers of diffusers: DDPMScheduler (Ho et
 * al. 2020), DDIMScheduler (Song et al. 2021), DPMSolverMultistepScheduler (Lu et al. 2022), EulerDiscreteScheduler
 * (Karras et al. 2022) and FlowMatchEulerDiscreteScheduler (Lipman et al. 2023, Esser et al. 2024). Its tables are f32
 * and its steps are computed in f32, as there.
 *
 * Samples are blocks of floats: batch x channels x what follows. A scheduler belongs to the context that opened it. */
#ifndef HEED_DIFFUSION_H
#define HEED_DIFFUSION_H

#include "heed/io.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_scheduler heed_scheduler;

/* The scheduler of a directory with scheduler_config.json, or of a pipeline's, where it is in scheduler/. as: a class
 * to use in place of the one that "_class_name" names, with the same keys as far as it has them; NULL: that one. */
HEED_API heed_scheduler *heed_scheduler_open(heed_ctx *cx, const char *dir, const char *as);
/* One of a class by its name, with "key=value" settings over the defaults. */
HEED_API heed_scheduler *heed_scheduler_new(heed_ctx *cx, const char *name, const char *const *settings, int n);
/* Writes scheduler_config.json into dir, which is made when missing. */
HEED_API bool heed_scheduler_save(heed_ctx *cx, const heed_scheduler *s, const char *dir);
HEED_API void heed_scheduler_free(heed_ctx *cx, heed_scheduler *s);
HEED_API const char *heed_scheduler_class(const heed_scheduler *s); /* "DDIMScheduler" */
HEED_API const char *heed_scheduler_class_at(int i);                /* the classes there are; NULL after the last */
HEED_API heed_json heed_scheduler_config(const heed_scheduler *s);
/* What the model's output is: "epsilon" (the noise), "sample", "v_prediction", or "flow_prediction" (noise minus
 * sample). */
HEED_API const char *heed_scheduler_prediction(const heed_scheduler *s);

/* ---- training ---- timesteps from 0, hardly any noise, to heed_scheduler_train_steps - 1, nearly nothing else */

HEED_API int64_t heed_scheduler_train_steps(const heed_scheduler *s);
/* The timestep as the model is given it: the same number, but of flow matching its shifted noise level times the number
 * of timesteps. */
HEED_API double heed_scheduler_model_timestep(heed_ctx *cx, const heed_scheduler *s, int64_t timestep);
/* The share of the sample that is left, alpha_bar (train_steps); NULL: of flow matching, which has none. */
HEED_API const float *heed_scheduler_alphas(const heed_scheduler *s);
/* out = signal x + spread noise for each of `batch` samples of `each` numbers, at its own timestep. In place will do.
 */
HEED_API bool heed_scheduler_add_noise(heed_ctx *cx, const heed_scheduler *s, const float *x, const float *noise,
                                       const int32_t *timesteps, int64_t batch, int64_t each, float *out);
/* What a model that predicts the velocity is trained for (Salimans & Ho 2022): sqrt(alpha_bar) noise -
 * sqrt(1 - alpha_bar) x; of flow matching noise - x. */
HEED_API bool heed_scheduler_velocity(heed_ctx *cx, const heed_scheduler *s, const float *x, const float *noise,
                                      const int32_t *timesteps, int64_t batch, int64_t each, float *out);

/* ---- sampling ---- */

/* Chooses the timesteps of a run of so many steps, and forgets the last one. There can be one more or fewer than asked
 * for, by rounding of trailing spacing, or where lambda_min_clipped leaves the noisiest out. */
HEED_API bool heed_scheduler_set_timesteps(heed_ctx *cx, heed_scheduler *s, int64_t steps);
HEED_API int64_t heed_scheduler_steps(const heed_scheduler *s);           /* 0: none are chosen yet */
HEED_API const double *heed_scheduler_timesteps(const heed_scheduler *s); /* (steps), from the noisiest on */
HEED_API bool heed_scheduler_whole_timesteps(const heed_scheduler *s);    /* are they integers? else f32 */
/* What normal noise is multiplied by to start from. */
HEED_API double heed_scheduler_start_deviation(const heed_scheduler *s);
/* The model's input at step i, from the sample, in place: Euler's is divided by sqrt(sigma^2 + 1). */
HEED_API bool heed_scheduler_scale_model_input(heed_ctx *cx, const heed_scheduler *s, int64_t i, float *x, int64_t n);

typedef struct heed_denoising {
    int64_t batch, channels, each; /* shape of sample, noise, previous and original; each: what follows the channels */
    int64_t output_channels;       /* of model_output: twice as many where it has the variance, too */
    const float *sample, *model_output;
    const float *noise; /* normal; NULL: there is none, which fails in steps that need it */
    double eta;         /* of DDIM: 0 takes no noise, 1 as much as DDPM */
    float *previous;    /* out: the sample with less noise; may be `sample` */
    float *original;    /* out: what the model thinks is behind the noise, clipped; NULL: not asked */
} heed_denoising;
/* Step i. Those of DPM-Solver look back on the ones before, so that they must be taken in order; the first may be any.
 */
HEED_API bool heed_scheduler_step(heed_ctx *cx, heed_scheduler *s, int64_t i, const heed_denoising *d);
/* Is there noise to add in step i, with this eta? */
HEED_API bool heed_scheduler_needs_noise(const heed_scheduler *s, int64_t i, double eta);

#ifdef __cplusplus
}
#endif
#endif
