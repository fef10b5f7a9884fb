/* Pictures, as bench/vision.py has them: the 3 x 3 convolutions of ResNet-50, forward and backward; training steps of
 * DeiT-Ti and of a small ViT; forward of DeiT-Ti, Swin-T, LeViT-128S, VOLO-D1 and ResNet-50; JPEG files read and
 * augmented. */
#include "bench.h"
#include "heed/augment.h"
#include <stdio.h>

/* m: pictures of n x n, k: channels in and out; the first of a stage halves a picture of twice the side. */
struct side {
    int64_t in, out;
};
static struct side side_of(const struct bench *b, bool halves) {
    return halves ? (struct side){2 * b->n, b->n} : (struct side){b->n, b->n};
}

static void conv_setup(struct bench *b, bool halves) {
    const struct side s = side_of(b, halves);
    const int64_t x = b->m * b->k * s.in * s.in, w = b->k * b->k * 9;
    b->x = numbers(b->cx, x, 0);
    b->w = numbers(b->cx, w, 1);
    b->dy = numbers(b->cx, b->m * b->k * s.out * s.out, 2);
    b->grad = numbers(b->cx, x + w, 3);
    b->slot[0].data = b->grad;
    b->slot[1].data = b->grad + x;
}
static void conv_run(struct bench *b, bool halves) {
    const struct side s = side_of(b, halves);
    for (int i = 0; i < 2; i++) b->slot[i].filled = false;
    heed_tensor *const x = heed_borrow(b->cx, HEED_F32, b->x, 4, (int64_t[]){b->m, b->k, s.in, s.in}, &b->slot[0]);
    heed_tensor *const w = heed_borrow(b->cx, HEED_F32, b->w, 4, (int64_t[]){b->k, b->k, 3, 3}, &b->slot[1]);
    const heed_conv_opts opts = {.stride = {halves ? 2 : 1, halves ? 2 : 1}, .padding = {1, 1}};
    heed_backward_from(b->cx, heed_conv2d(b->cx, x, w, NULL, &opts),
                       heed_borrow(b->cx, HEED_F32, b->dy, 4, (int64_t[]){b->m, b->k, s.out, s.out}, NULL));
}

static void same_setup(struct bench *b) { conv_setup(b, false); }
static void same_run(struct bench *b) { conv_run(b, false); }
static void half_setup(struct bench *b) { conv_setup(b, true); }
static void half_run(struct bench *b) { conv_run(b, true); }

/* ---- models ---- timm's, by name. m: pictures, n: which */

static const struct kind {
    const char *family, *settings[8];
    int count;
    int64_t channels, side;
} kinds[] = {{"timm-vit", {"architecture=deit_tiny_patch16_224"}, 1, 3, 224},
             {"timm-vit",
              {"architecture=vit_tiny_patch16_224", "img_size=28", "patch_size=4", "in_chans=1", "embed_dim=64",
               "depth=6", "num_heads=4", "num_classes=10"},
              8,
              1,
              28},
             {"timm-swin", {"architecture=swin_tiny_patch4_window7_224"}, 1, 3, 224},
             {"timm-levit", {"architecture=levit_128s"}, 1, 3, 224},
             {"volo", {"architecture=volo_d1_224"}, 1, 3, 224},
             {"timm-resnet", {"architecture=resnet50"}, 1, 3, 224}};

static heed_model *fresh_model(struct bench *b) {
    const struct kind *const k = &kinds[b->n];
    b->x = numbers(b->cx, b->m * k->channels * k->side * k->side, 0);
    return heed_model_new(b->cx, heed_family_find(k->family), k->settings, k->count, 1);
}
static void put_pixels(struct bench *b, heed_io *in) {
    const struct kind *const k = &kinds[b->n];
    const int64_t shape[] = {b->m, k->channels, k->side, k->side};
    heed_io_put(b->cx, in, "pixel_values", heed_borrow(b->cx, HEED_F32, b->x, 4, shape, NULL));
}

static void step_setup(struct bench *b) {
    b->model = fresh_model(b);
    if (!b->model) return;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 1e-4}};
    b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    heed_set_training(b->cx, true);
}
static void step(struct bench *b) {
    heed_io in = {.loss_only = true}, out = {0};
    heed_trainer_begin(b->cx, b->trainer);
    put_pixels(b, &in);
    heed_io_put(b->cx, &in, "labels", heed_zeros(b->cx, HEED_I32, 1, &b->m));
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_backward(b->cx, heed_io_get(&out, "loss"));
    heed_trainer_step(b->cx, b->trainer, NULL);
}

/* As it is opened for use. */
static void forward_setup(struct bench *b) {
    char dir[4096];
    heed_model *const fresh = fresh_model(b);
    snprintf(dir, sizeof dir, "%s/heed-vision-%d", b->folder, (int)b->n);
    heed_model_save(b->cx, fresh, dir);
    heed_model_free(b->cx, fresh);
    b->model = heed_model_load_as(b->cx, dir, &(heed_load_opts){.map = true, .pack = true});
}
static void forward(struct bench *b) {
    heed_io in = {0}, out = {0};
    put_pixels(b, &in);
    heed_model_forward(b->cx, b->model, &in, &out);
}

/* ---- files ---- m pictures of the folder pictures-N, to N x N pixels: small ones are padded and cropped, photographs
 * cropped and resized; flips, RandAugment, floats */
static void load_setup(struct bench *b) { b->x = numbers(b->cx, 3 * b->n * b->n, 0); }
static void load(struct bench *b) {
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
    heed_augment a = {.flip = 0.5, .rand_operations = 2, .rand_magnitude = 9};
    if (b->n == 32)
        a.padding = 4;
    else
        a.area_low = 0.08, a.area_high = 1, a.filter = HEED_FILTER_BICUBIC;
    for (int64_t i = 0; i < b->m; i++) {
        char path[4096];
        heed_image file, made;
        snprintf(path, sizeof path, "%s/pictures-%d/%d.jpg", b->folder, (int)b->n, (int)i);
        if (!heed_image_read(b->cx, path, &(heed_image_opts){.mode = HEED_IMAGE_RGB}, &file)) return;
        if (heed_image_augment(b->cx, &a, &file, b->n, b->n, 1, b->step, i, &made))
            heed_image_to_floats(&made, 1.0 / 255, mean, deviation, b->x);
        heed_image_free(b->cx, &file);
        heed_image_free(b->cx, &made);
    }
    b->step++;
}

const struct workload vision_workloads[] = {
    {"conv_both", same_setup, same_run, false}, {"conv_half_both", half_setup, half_run, false},
    {"vision_step", step_setup, step, false},   {"vision_forward", forward_setup, forward, true},
    {"load_pictures", load_setup, load, true},  {0},
};
