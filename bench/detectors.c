/* Models that find objects, as bench/detectors.py has them: DETR with ResNet-50 on pictures of n x n; a training step
 * of the small Conditional DETR of `heed train detect`, matching and losses included. */
#include "bench.h"
#include <stdio.h>

/* ---- DETR-R50, m pictures of n x n, as it is opened for use ---- */

static void detr_setup(struct bench *b) {
    static const char *const settings[] = {"backbone_config.layer_type=bottleneck"}; /* transformers' ResNet-50 */
    char dir[4096];
    heed_model *const fresh = heed_model_new(b->cx, heed_family_find("detr"), settings, 1, 1);
    snprintf(dir, sizeof dir, "%s/heed-detr", b->folder);
    heed_model_save(b->cx, fresh, dir);
    heed_model_free(b->cx, fresh);
    b->x = numbers(b->cx, b->m * 3 * b->n * b->n, 0);
    b->model = heed_model_load_as(b->cx, dir, &(heed_load_opts){.map = true, .pack = true});
}
static void detr_forward(struct bench *b) {
    heed_io in = {0}, out = {0};
    heed_io_put(b->cx, &in, "pixel_values",
                heed_borrow(b->cx, HEED_F32, b->x, 4, (int64_t[]){b->m, 3, b->n, b->n}, NULL));
    heed_model_forward(b->cx, b->model, &in, &out);
}

/* ---- a training step: m pictures with a few objects each ---- */

enum { SIDE = 96, OBJECTS = 3, CLASSES = 4 };

static void detector_setup(struct bench *b) {
    static const char *const settings[] = {"backbone_config.layer_type=basic",
                                           "backbone_config.hidden_sizes=64,128",
                                           "backbone_config.depths=2,2",
                                           "d_model=128",
                                           "encoder_layers=3",
                                           "decoder_layers=3",
                                           "encoder_ffn_dim=512",
                                           "decoder_ffn_dim=512",
                                           "num_queries=20",
                                           "dropout=0",
                                           "auxiliary_loss=true",
                                           "num_labels=4"};
    b->model =
        heed_model_new(b->cx, heed_family_find("conditional_detr"), settings, sizeof settings / sizeof *settings, 1);
    if (!b->model || !heed_batch_norms_train(b->cx, heed_model_params(b->model), true)) return;
    b->x = numbers(b->cx, b->m * 3 * SIDE * SIDE, 0);
    b->w = numbers(b->cx, b->m * OBJECTS * 4, 1);
    b->ids = class_ids(b->cx, b->m * OBJECTS, CLASSES);
    for (int64_t i = 0; i < b->m * OBJECTS; i++) {
        float *const box = b->w + 4 * i;
        box[0] = 0.2F + 0.6F * (float)(i * 7 % 11) / 11;
        box[1] = 0.2F + 0.6F * (float)(i * 5 % 13) / 13;
        box[2] = box[3] = 0.25F;
    }
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 3e-4}};
    b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    heed_set_training(b->cx, true);
}
static void detector_step(struct bench *b) {
    heed_io in = {.loss_only = true}, out = {0};
    heed_trainer_begin(b->cx, b->trainer);
    heed_io_put(b->cx, &in, "pixel_values",
                heed_borrow(b->cx, HEED_F32, b->x, 4, (int64_t[]){b->m, 3, SIDE, SIDE}, NULL));
    for (int64_t i = 0; i < b->m; i++) {
        char classes[64], boxes[64];
        snprintf(classes, sizeof classes, "labels.%d.class_labels", (int)i);
        snprintf(boxes, sizeof boxes, "labels.%d.boxes", (int)i);
        heed_io_put(b->cx, &in, classes,
                    heed_borrow(b->cx, HEED_I32, b->ids + OBJECTS * i, 1, (int64_t[]){OBJECTS}, NULL));
        heed_io_put(b->cx, &in, boxes,
                    heed_borrow(b->cx, HEED_F32, b->w + 4 * OBJECTS * i, 2, (int64_t[]){OBJECTS, 4}, NULL));
    }
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_backward(b->cx, heed_io_get(&out, "loss"));
    heed_trainer_step(b->cx, b->trainer, NULL);
}

const struct workload detectors_workloads[] = {
    {"detr_forward", detr_setup, detr_forward, true},
    {"detector_step", detector_setup, detector_step, false},
    {0},
};
