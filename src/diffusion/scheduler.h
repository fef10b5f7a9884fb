/* What the schedulers share: their settings, the tables of training, the timesteps of a run, and what a model's output
 * says about the sample. */
#ifndef DIFFUSION_SCHEDULER_H
#define DIFFUSION_SCHEDULER_H

#include "heed/diffusion.h"
#include "heed/model.h"

enum prediction { PREDICTS_NOISE, PREDICTS_SAMPLE, PREDICTS_VELOCITY, PREDICTS_FLOW };
enum spacing { SPACING_LEADING, SPACING_LINEAR, SPACING_TRAILING };
enum ramp { RAMP_NONE, RAMP_KARRAS, RAMP_EXPONENTIAL, RAMP_LU, RAMP_FLOW }; /* of noise levels in a run */
enum clipping { CLIP_NONE, CLIP_RANGE, CLIP_DYNAMIC };

#define MAX_ORDER       3
#define MAX_TRAIN_STEPS 1000000

struct scheduler_kind {
    const char *name; /* "_class_name" */
    const heed_key *keys;
    bool whole; /* timesteps are integers */
    /* Reads the config, and makes the tables of training. */
    bool (*open)(heed_ctx *cx, heed_scheduler *s);
    /* Fills timesteps, count and, of those that compute with them, sigmas. */
    bool (*space)(heed_ctx *cx, heed_scheduler *s, int64_t steps);
    /* original is a block to work with, of the sample's size. */
    bool (*step)(heed_ctx *cx, heed_scheduler *s, int64_t i, const heed_denoising *d, float *original);
    bool (*needs_noise)(const heed_scheduler *s, int64_t i, double eta); /* NULL: never */
};

#define SCHEDULER(name) extern const struct scheduler_kind scheduler_##name;
#include "diffusion/schedulers.def"
#undef SCHEDULER

struct heed_scheduler {
    heed_ctx *cx;
    const struct scheduler_kind *kind;
    heed_json config;
    int64_t train_steps;
    float *alphas; /* (train_steps) cumulated products of 1 - beta; NULL: of flow matching */
    float *levels; /* (train_steps) of flow matching: the share of noise; else NULL */
    enum prediction prediction;
    enum spacing spacing;
    int64_t offset; /* of the timesteps, with leading spacing */
    enum clipping clipping;
    double clip, quantile, most; /* clip_sample_range; dynamic_thresholding_ratio, sample_max_value */
    enum ramp ramp;
    double sigma_min, sigma_max; /* of the ramp; NAN: those of the schedule */
    bool ends_at_zero;           /* final_sigmas_type */
    bool rescaled;               /* rescale_betas_zero_snr */
    bool smooth;                 /* squaredcos_cap_v2: its timesteps on a ramp are not rounded */
    int variance;                /* of DDPM, as its file numbers them; of DPM-Solver: does the output have one? */
    bool final_alpha_one;        /* of DDIM: set_alpha_to_one */
    bool log_linear, continuous; /* of Euler: interpolation_type, timestep_type */
    double shift, terminal;      /* of flow matching; terminal 0: none */
    bool inverted, stochastic;   /* of flow matching */
    struct {                     /* of DPM-Solver */
        int order, algorithm;
        bool heun, lower_order_final, euler_at_final;
        bool flow; /* use_flow_sigmas: levels are shares of noise, also those of another ramp */
        double lambda_min;
    } solver;

    int64_t steps;     /* asked for; 0: not yet */
    int64_t count;     /* of timesteps */
    double *timesteps; /* (count) */
    float *sigmas;     /* (count + 1) the noise level of each, and the last; of Euler's log_linear one more */
    int64_t next;      /* of DPM-Solver: the step that `taken` steps lead to */
    int taken;
    float *history[MAX_ORDER]; /* what the model said of the sample behind the noise, the newest first */
    int64_t history_size;
};

/* ---- settings ---- each reads keys that are in the kind's table */
bool scheduler_read_betas(heed_ctx *cx, heed_scheduler *s, bool more); /* more: DDPM's schedules, laplace and sigmoid */
bool scheduler_read_prediction(heed_ctx *cx, heed_scheduler *s, const char *const *names);
bool scheduler_read_spacing(heed_ctx *cx, heed_scheduler *s);
bool scheduler_read_clipping(heed_ctx *cx, heed_scheduler *s); /* clip_sample where the kind has it; thresholding */
bool scheduler_read_ramp(heed_ctx *cx, heed_scheduler *s);     /* use_karras_sigmas and the like */
bool scheduler_read_final(heed_ctx *cx, heed_scheduler *s);    /* final_sigmas_type */
bool scheduler_flow_levels(heed_ctx *cx, heed_scheduler *s);   /* levels, by train_steps and shift */

#define BETA_KEYS                                                                                                      \
    {"num_train_timesteps", HEED_KEY_INT, "1000", "timesteps of training"},                                            \
        {"beta_start", HEED_KEY_NUMBER, "0.0001", "variance of the noise added at the first of them"},                 \
        {"beta_end", HEED_KEY_NUMBER, "0.02", "and at the last"},                                                      \
        {"beta_schedule", HEED_KEY_TEXT, "linear", "linear, scaled_linear or squaredcos_cap_v2"},                      \
        {"trained_betas", HEED_KEY_NUMBERS, "", "all of them, in place of a schedule"}, {                              \
        "rescale_betas_zero_snr", HEED_KEY_BOOL, "false", "nothing of the sample is left at the last timestep"         \
    }
#define SPACING_KEYS(standard)                                                                                         \
    {"timestep_spacing", HEED_KEY_TEXT, standard, "leading, linspace or trailing"},                                    \
        {"steps_offset", HEED_KEY_INT, "0", "added to timesteps with leading spacing"}, {                              \
        "prediction_type", HEED_KEY_TEXT, "epsilon", "what the model's output is"                                      \
    }
#define THRESHOLD_KEYS                                                                                                 \
    {"thresholding", HEED_KEY_BOOL, "false", "dynamic thresholding (Saharia et al. 2022)"},                            \
        {"dynamic_thresholding_ratio", HEED_KEY_NUMBER, "0.995", "its quantile of a sample's magnitudes"}, {           \
        "sample_max_value", HEED_KEY_NUMBER, "1.0", "its largest threshold"                                            \
    }
#define CLIP_KEYS                                                                                                      \
    {"clip_sample", HEED_KEY_BOOL, "true", "the predicted sample is clipped"}, {                                       \
        "clip_sample_range", HEED_KEY_NUMBER, "1.0", "to this magnitude"                                               \
    }
#define RAMP_KEYS                                                                                                      \
    {"use_karras_sigmas", HEED_KEY_BOOL, "false", "noise levels of Karras et al. 2022"},                               \
        {"use_exponential_sigmas", HEED_KEY_BOOL, "false", "noise levels that fall exponentially"},                    \
        {"use_beta_sigmas", HEED_KEY_BOOL, "false", "refused when true"},                                              \
        {"sigma_min", HEED_KEY_NUMBER_OR_NULL, "null", "the least of those levels; null: that of training"}, {         \
        "sigma_max", HEED_KEY_NUMBER_OR_NULL, "null", "and the largest"                                                \
    }

/* ---- timesteps ---- */

/* Number i of n, as numpy.linspace has it, and as torch.linspace has it in f32: that fills from both ends. */
double linspace_at(double from, double to, int64_t n, int64_t i);
float torch_linspace_at(float from, float to, int64_t n, int64_t i);
/* Timesteps below `end`, evenly spaced, from the noisiest on. extra: as if there were one more step, whose timestep,
 * 0, is left out; rounded: to integers. */
bool scheduler_space(heed_ctx *cx, heed_scheduler *s, int64_t steps, int64_t end, bool extra, bool rounded);
/* Refuses timesteps that training does not have. As in Python those below 0, which trailing spacing can round to, count
 * from the end. */
bool scheduler_within(heed_ctx *cx, const heed_scheduler *s);
/* Room for timesteps and noise levels of so many steps. */
bool scheduler_room(heed_ctx *cx, heed_scheduler *s, int64_t steps);
float scheduler_sigma(const heed_scheduler *s, int64_t timestep);         /* sqrt((1 - alpha) / alpha) */
double scheduler_sigma_between(const heed_scheduler *s, double timestep); /* linearly interpolated */
/* Level i of n on the ramp from high down to low. */
double scheduler_ramp_at(const heed_scheduler *s, double high, double low, int64_t n, int64_t i);
double scheduler_timestep_of(const heed_scheduler *s, double sigma); /* where training has this level */
/* The share of the sample at a timestep; those below 0 count from the end. */
float scheduler_alpha(const heed_scheduler *s, double timestep);

/* ---- steps ---- */

int64_t denoising_size(const heed_denoising *d); /* numbers of the sample */
/* Refuses a model's output with other channels than the sample's. */
bool scheduler_plain_output(heed_ctx *cx, const heed_scheduler *s, const heed_denoising *d);
/* Where sample b's output begins. */
static inline const float *output_of(const heed_denoising *d, int64_t b) {
    return d->model_output + b * d->output_channels * d->each;
}
/* The sample behind the noise, where it is sqrt(alpha) of it. */
void scheduler_original(const heed_scheduler *s, const heed_denoising *d, float signal, float spread, float *original);
/* Clips it as the settings say. */
bool scheduler_clip(heed_ctx *cx, const heed_scheduler *s, const heed_denoising *d, float *original);

/* Does it use the variance that a network has learnt? DDPM alone can. */
bool scheduler_learns_variance(const heed_scheduler *s);

#endif
