/* The fields of pictures: their head, augmentation, distillation from a teacher, and HAT. */
#include "task/vision/pictures_way.h"
#include <string.h>

/* clang-format off */
const heed_field augment_fields[] = {
    {.name = "head", .kind = HEED_FIELD_TEXT, .value = "NAME",
     .help = "the head, where a family has several for pictures: learned, fourier or conv of perceiver"},
    {.name = "normalize", .kind = HEED_FIELD_CHOICE, .standard = "data", .value = "KIND", .choices = "data half imagenet",
     .help = "mean and deviation by which pictures are normalised: those of the training data, 0.5 and 0.5, or ImageNet's; "
             "with --init those of DIR"},
    {.name = "crop-area", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "random resized crop of at least this part of the area, such as 0.08; 0: none"},
    {.name = "crop-padding", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1024,
     .help = "random crop after padding every side by N pixels; 0: none"},
    {.name = "padding-kind", .kind = HEED_FIELD_CHOICE, .standard = "constant", .value = "KIND",
     .choices = "constant edge reflect",
     .help = "how to pad: with black (colour pictures with RandAugment: with the mean), with the edge, or with the picture mirrored"},
    {.name = "flip", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "probability of a horizontal flip"},
    {.name = "vertical-flip", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "probability of a vertical flip"},
    {.name = "rand-augment", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 100,
     .help = "RandAugment: number of operations on a picture; 0: none"},
    {.name = "rand-magnitude", .kind = HEED_FIELD_NUMBER, .standard = "9", .value = "M", .high = 30,
     .help = "RandAugment: magnitude of the operations, 0 to 10, for torchvision's kind 0 to 30"},
    {.name = "rand-deviation", .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "X", .high = 100,
     .help = "RandAugment: standard deviation of the magnitude, for timm's kind"},
    {.name = "rand-kind", .kind = HEED_FIELD_CHOICE, .standard = "timm", .value = "KIND", .choices = "timm torchvision",
     .help = "RandAugment: whose operations and magnitudes"},
    {.name = "jitter", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "colour jitter: brightness, contrast and saturation change by a factor within 1 - X and 1 + X"},
    {.name = "hue", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 0.5,
     .help = "colour jitter: hue changes by at most this part of the circle"},
    {.name = "erase", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "probability of random erasing, with normal noise"},
    {.name = "cutout", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 65536,
     .help = "cutout: side of the square that is set to the mean; 0: none"},
    {.name = "mixup", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "A", .high = 100,
     .help = "mixup with another picture of the batch: parameter of the beta distribution, such as 0.8; 0: none"},
    {.name = "cutmix", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "A", .high = 100,
     .help = "CutMix with another picture of the batch: parameter of the beta distribution, such as 1; 0: none"},
    {.name = "mix", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "P", .high = 1,
     .help = "probability of mixup or CutMix, where they are asked for"},
    {.name = "mix-cut", .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "P", .low = 1e-6, .high = 1,
     .help = "probability of CutMix instead of mixup, where both are asked for"},
    {.name = "repeats", .kind = HEED_FIELD_INT, .standard = "1", .value = "N", .low = 1, .high = 1000,
     .help = "repeated augmentation: how often a batch holds each picture, augmented differently each time"},
    {.name = "label-smoothing", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 0.999,
     .help = "label smoothing, for pictures"},
    {.name = "teacher", .kind = HEED_FIELD_FILE, .value = "DIR",
     .help = "distillation: a model of the same classes to learn from, through the distillation token where the model "
             "has one"},
    {.name = "distillation", .kind = HEED_FIELD_CHOICE, .standard = "hard", .value = "KIND", .choices = "hard soft",
     .help = "what is learnt from the teacher: the class that it predicts, or its probabilities"},
    {.name = "distillation-alpha", .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "X", .high = 1,
     .help = "the teacher's share of the loss"},
    {.name = "temperature", .kind = HEED_FIELD_NUMBER, .standard = "3", .value = "T", .low = 0.01, .high = 1000,
     .help = "what logits are divided by in soft distillation"},
    {.name = "hat",
     .help = "adversarial training on high frequencies, HAT (Bai et al. 2022): three passes over each batch, whose pictures "
             "move a little to where the loss is higher"},
    {.name = "adv-iters", .kind = HEED_FIELD_INT, .standard = "3", .value = "N", .low = 1, .high = 100,
     .help = "HAT: passes over each batch, whose gradients add up"},
    {.name = "adv-lr", .kind = HEED_FIELD_NUMBER, .standard = "0.00392157", .value = "X", .low = 1e-9, .high = 1000,
     .help = "HAT: by how much a pass moves each normalised pixel"},
    {.name = "adv-eps", .kind = HEED_FIELD_NUMBER, .standard = "0.00784314", .value = "X", .low = 1e-9, .high = 1000,
     .help = "HAT: by how much a normalised pixel moves at most"},
    {.name = "adv-kl-weight", .kind = HEED_FIELD_NUMBER, .standard = "0.01", .value = "X", .high = 1000,
     .help = "HAT: weight of the symmetric KL divergence from what the model says of the picture as it is; 0: none, which "
             "saves a forward pass"},
    {.name = "adv-ce-weight", .kind = HEED_FIELD_NUMBER, .standard = "3", .value = "X", .high = 1000,
     .help = "HAT: weight of the loss in passes after the first"},
    {.name = "adv-epochs", .kind = HEED_FIELD_INT, .value = "N", .high = 1e9,
     .help = "HAT: epochs until only the first pass is left; by default two thirds of the run"},
    {.name = "sheet", .kind = HEED_FIELD_FILE, .value = "FILE.png",
     .help = "write a sheet of the first batch's pictures, as the model gets them"},
    {.name = NULL},
};
/* clang-format on */

static heed_padding padding_of(const char *name) {
    if (strcmp(name, "edge") == 0) return HEED_PADDING_EDGE;
    return strcmp(name, "reflect") == 0 ? HEED_PADDING_REFLECT : HEED_PADDING_CONSTANT;
}

bool picture_augment(const heed_run *r, heed_augment *to) {
    const bool timm = strcmp(run_text(r, "rand-kind"), "timm") == 0;
    const double jitter = run_number(r, "jitter");
    *to = (heed_augment){.area_low = run_number(r, "crop-area"),
                         .filter = HEED_FILTER_BICUBIC,
                         .padding = run_int(r, "crop-padding"),
                         .padding_kind = padding_of(run_text(r, "padding-kind")),
                         .flip = run_number(r, "flip"),
                         .flip_vertical = run_number(r, "vertical-flip"),
                         .rand_operations = (int)run_int(r, "rand-augment"),
                         .rand_kind = timm ? HEED_RAND_TIMM : HEED_RAND_TORCHVISION,
                         .rand_magnitude = run_number(r, "rand-magnitude"),
                         .rand_std = run_number(r, "rand-deviation"),
                         .brightness = jitter,
                         .contrast = jitter,
                         .saturation = jitter,
                         .hue = run_number(r, "hue"),
                         .erase = run_number(r, "erase"),
                         .erase_noise = true,
                         .cutout = run_int(r, "cutout"),
                         .mixup = run_number(r, "mixup"),
                         .cutmix = run_number(r, "cutmix"),
                         .mix_cut = run_number(r, "mix-cut")};
    if (to->area_low > 0) to->area_high = 1;
    if (to->mixup > 0 || to->cutmix > 0) to->mix = run_number(r, "mix");
    return heed_augment_check(r->cx, to);
}

bool picture_hat_fits(const heed_run *r) {
    static const char *const more[] = {"adv-iters",     "adv-lr",        "adv-eps",
                                       "adv-kl-weight", "adv-ce-weight", "adv-epochs"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (run_given(r, more[i]) && !run_flag(r, "hat")) return run_misused(r, "--%s needs --hat", more[i]);
    return true;
}

heed_hat picture_hat(const heed_run *r, int64_t per_epoch) {
    const int64_t steps = run_int(r, "steps"), epochs = run_int(r, "epochs");
    const int64_t all = steps > 0 ? steps : epochs * per_epoch;
    if (!run_flag(r, "hat")) return (heed_hat){.iterations = 0};
    return (heed_hat){.iterations = run_int(r, "adv-iters"),
                      .updates = run_given(r, "adv-epochs") ? run_int(r, "adv-epochs") * per_epoch : all - all / 3,
                      .step = run_number(r, "adv-lr"),
                      .radius = run_number(r, "adv-eps"),
                      .kl_weight = run_number(r, "adv-kl-weight"),
                      .ce_weight = run_number(r, "adv-ce-weight")};
}
