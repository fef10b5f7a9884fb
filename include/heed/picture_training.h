/* heed/picture_training.h: models of pictures learn to classify them: augmentation, mixed targets, distillation from a
 * teacher; and are measured. */
#ifndef HEED_PICTURE_TRAINING_H
#define HEED_PICTURE_TRAINING_H

#include "heed/augment.h"
#include "heed/loop.h"
#include "heed/picture_set.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a model takes: floats (channels, height, width), and how pictures become these. */
typedef struct heed_picture_input {
    int channels;
    int64_t height, width;
    heed_image_processor processor;
    bool kept_sized; /* pictures that sets keep are of this size already (heed_picture_set_keep with the processor) */
} heed_picture_input;
/* The sizes that a model takes. */
HEED_API bool heed_picture_input_of(heed_ctx *cx, const heed_model *model, heed_picture_input *input);
/* A processor for these sizes: pictures are resized to them, and normalised. */
HEED_API heed_image_processor heed_picture_processor_for(const heed_picture_input *input, const float *mean,
                                                         const float *std);
/* The same processor for another size: what it resizes and crops to is in proportion. */
HEED_API void heed_picture_processor_fit(heed_image_processor *p, int channels, int64_t height, int64_t width);

/* Puts what a model knows of its data into its config: names of classes and, in timm's layout, the processor. */
HEED_API bool heed_picture_describe(heed_ctx *cx, heed_model *model, const heed_data *classes,
                                    const heed_image_processor *p);
/* In transformers' layout the processor is a file beside it: preprocessor_config.json. In timm's, nothing is written.
 */
HEED_API bool heed_picture_processor_write(heed_ctx *cx, const heed_model *model, const char *dir,
                                           const heed_image_processor *p);

/* Distillation (Hinton et al. 2015; Touvron et al. 2021). The loss is (1 - alpha) of the labels' and alpha of the
 * teacher's: hard, cross entropy with the class that it predicts; soft, T^2 KL(softmax(teacher / T), softmax(model /
 * T)). It goes through the distillation token where the model has one, else through the logits. */
typedef enum heed_distillation { HEED_DISTIL_HARD, HEED_DISTIL_SOFT } heed_distillation;

/* Adversarial training on high frequencies, HAT (Bai et al. 2022), as its authors' code has it. An update makes
 * `iterations` passes over its pictures x + delta and adds up their gradients. delta is 0 in the first pass; each pass
 * moves it by step * sign(d loss / d delta) and clips it to within +-radius, in units of normalised pixels. With the
 * classes' logits z of the pass and z0 of the pictures as they are (without gradient; p, p0 their softmax), C the loss
 * that training has anyway, and S = mean over pictures of sum((p - p0) (z - z0)) / 2, the symmetric KL divergence, the
 * first pass has the loss C + kl_weight S, and each later one (ce_weight C + kl_weight S) / (iterations - 1). */
typedef struct heed_hat {
    int64_t iterations; /* 0: no HAT */
    int64_t updates;    /* from this update on there is the first pass alone */
    double step, radius, kl_weight, ce_weight;
} heed_hat;

typedef struct heed_picture_training_opts {
    const heed_picture_set *train, *valid, *test; /* valid, test: NULL for none. test is measured once, at the end */
    const int64_t *train_rows, *valid_rows;       /* which pictures; NULL: all */
    int64_t n_train, n_valid;
    const heed_picture_input *input;
    const heed_augment *augment; /* NULL: none */
    int64_t repeats;             /* repeated augmentation: how often a picture is in a batch; 0 and 1: once */
    double smoothing;            /* of labels */
    int64_t batch, micro_batch;  /* micro 0: the whole batch */
    uint64_t seed;
    int workers;               /* threads that prepare pictures ahead; 0: none, and all memory is the context's */
    const heed_model *teacher; /* NULL: none */
    const heed_picture_input *teacher_input;
    heed_distillation distillation;
    double alpha, temperature;
    heed_hat hat;
} heed_picture_training_opts;
typedef struct heed_picture_training heed_picture_training;
/* What opts points to must stay until it is freed. */
HEED_API heed_picture_training *heed_picture_training_new(heed_ctx *cx, const heed_picture_training_opts *opts);
HEED_API void heed_picture_training_free(heed_ctx *cx, heed_picture_training *t);
HEED_API const heed_loop_source *heed_picture_training_source(const heed_picture_training *t);

/* Mean loss, accuracy and, with more than 5 classes, top-5 accuracy of a model on pictures (rows NULL: all). predicted
 * (n) may be NULL. batch 0: a good one. */
typedef struct heed_picture_measure_opts {
    const int64_t *rows;
    int64_t n, batch;
    int workers;
    int32_t *predicted;
    const float *band; /* (2): of the pictures, as the model takes them, only the frequencies of heed_fourier_band with
                          this low and high are left; NULL: all */
} heed_picture_measure_opts;
HEED_API bool heed_picture_measure(heed_ctx *cx, const heed_model *model, const heed_picture_set *set,
                                   const heed_picture_input *input, const heed_picture_measure_opts *opts,
                                   heed_score *score);
HEED_API const char *heed_picture_metrics(int64_t classes); /* their names: "accuracy", "accuracy top5_accuracy" */

/* A sheet of the first pictures that a run trains on, as the model gets them, in rows of `columns`. */
HEED_API bool heed_picture_training_sheet(heed_ctx *cx, const heed_picture_training *t, int64_t most, int64_t columns,
                                          heed_image *out);

#ifdef __cplusplus
}
#endif
#endif
