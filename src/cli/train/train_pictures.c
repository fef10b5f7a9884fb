/* heed train classify with a model of pictures, and heed eval. */
#include "base/ctx.h"
#include "cli/core/data_options.h"
#include "cli/core/picture_data.h"
#include "cli/eval/eval_report.h"
#include "cli/train/train_picture_sizes.h"
#include "heed/picture_training.h"
#include "heed/vision.h"
#include "model/core/directory.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP    ((size_t)1 << 30) /* bytes of pictures that are kept decoded, without a budget */
#define MOMENTS 5000              /* pictures whose mean and deviation are taken */

enum part { TRAIN, VALID, TEST, PARTS };

struct pictures {
    heed_picture_set *set[PARTS];
    int64_t *train_rows, *valid_rows, n_train, n_valid, batch;
    heed_picture_input input, teacher_input;
    heed_augment augment;
    heed_model *teacher;
    heed_picture_training *training;
    struct picture_settings settings; /* of the model, from the data */
    bool kept;
};

static struct pictures *pictures_of(const struct train_run *r) { return r->own; }
static const heed_data *classes_of(const struct pictures *p) { return heed_picture_set_data(p->set[TRAIN]); }

/* clang-format off */
const heed_field augment_options[] = {
    {.name = "head", .kind = HEED_FIELD_TEXT, .value = "NAME",
     .help = "the head, of a family with several for pictures: learned, fourier or conv of perceiver"},
    {.name = "normalize", .kind = HEED_FIELD_CHOICE, .standard = "data", .value = "KIND", .choices = "data half imagenet",
     .help = "mean and deviation that pictures are normalised with: of the training data, 0.5 and 0.5, or ImageNet's; "
             "with --init those of DIR"},
    {.name = "crop-area", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 1,
     .help = "random resized crop of at least this part of the area, such as 0.08; 0: none"},
    {.name = "crop-padding", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 1024,
     .help = "random crop after padding every side by N pixels; 0: none"},
    {.name = "padding-kind", .kind = HEED_FIELD_CHOICE, .standard = "constant", .value = "KIND",
     .choices = "constant edge reflect",
     .help = "what is padded with: black (of colour pictures with RandAugment the mean), the edge, or the picture mirrored"},
    {.name = "flip", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "probability of a horizontal flip"},
    {.name = "vertical-flip", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "probability of a vertical flip"},
    {.name = "rand-augment", .kind = HEED_FIELD_INT, .standard = "0", .value = "N", .high = 100,
     .help = "RandAugment: number of operations on a picture; 0: none"},
    {.name = "rand-magnitude", .kind = HEED_FIELD_NUMBER, .standard = "9", .value = "M", .high = 30,
     .help = "RandAugment: magnitude of the operations, 0 to 10, of torchvision's kind 0 to 30"},
    {.name = "rand-deviation", .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "X", .high = 100,
     .help = "RandAugment: standard deviation of the magnitude, of timm's kind"},
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
     .help = "repeated augmentation: how often a picture is in a batch, each time augmented differently"},
    {.name = "label-smoothing", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 0.999,
     .help = "label smoothing, of pictures"},
    {.name = "teacher", .kind = HEED_FIELD_FILE, .value = "DIR",
     .help = "distillation: a model of the same classes to learn from, through the distillation token where the model "
             "has one"},
    {.name = "distillation", .kind = HEED_FIELD_CHOICE, .standard = "hard", .value = "KIND", .choices = "hard soft",
     .help = "what is learnt from the teacher: the class that it predicts, or its probabilities"},
    {.name = "distillation-alpha", .kind = HEED_FIELD_NUMBER, .standard = "0.5", .value = "X", .high = 1,
     .help = "the teacher's share of the loss"},
    {.name = "temperature", .kind = HEED_FIELD_NUMBER, .standard = "3", .value = "T", .low = 0.01, .high = 1000,
     .help = "what logits are divided by in soft distillation"},
    {.name = "sheet", .kind = HEED_FIELD_FILE, .value = "FILE.png",
     .help = "write a sheet of the first batch's pictures, as the model gets them"},
    {.name = NULL},
};
/* clang-format on */

bool train_augment_unused(const struct train_run *r) { return train_options_unused(r, augment_options, "pictures"); }

/* ---- the data ---- */

/* Threads that prepare pictures: none where memory is to be counted, or there is one thread for all. */
static int workers_of(const struct options *o, const heed_ctx *cx) {
    return option_bytes(o, "memory") > 0 || heed_threads(cx) < 2 ? 0 : heed_threads(cx) - 1;
}

static bool load_sets(struct train_run *r) {
    struct pictures *p = pictures_of(r);
    const char *const test = option_text(r->o, "test");
    p->set[TRAIN] = picture_data_load(r->cx, r->path, "train", NULL);
    if (!p->set[TRAIN]) return false;
    heed_picture_set_opts other = {.like = classes_of(p), .beside = p->set[TRAIN], .optional = true};
    if (!option_given(r->o, "valid")) p->set[VALID] = picture_data_load(r->cx, r->path, "val", &other);
    other.optional = !test;
    p->set[TEST] = picture_data_load(r->cx, test ? test : r->path, "test", &other);
    if (!heed_failed(r->cx) && classes_of(p)->classes < 2)
        heed_fail(r->cx, HEED_ERR_USAGE, "%s: all pictures are of one class", r->path);
    return !heed_failed(r->cx);
}

static bool split(struct train_run *r) {
    struct pictures *p = pictures_of(r);
    const int64_t n = classes_of(p)->n;
    double fraction = p->set[VALID] || n < 10 ? 0 : 0.1;
    if (option_given(r->o, "valid")) fraction = option_number(r->o, "valid");
    if (p->set[VALID]) p->n_valid = heed_picture_set_data(p->set[VALID])->n;
    if (fraction == 0) {
        p->n_train = n;
        return true;
    }
    return heed_rows_split(r->cx, n, fraction, heed_seed(r->cx), &p->train_rows, &p->n_train, &p->valid_rows,
                           &p->n_valid);
}

/* ---- the model ---- */

static heed_model *new_model(const struct train_run *r, heed_ctx *cx) {
    const struct pictures *p = pictures_of(r);
    struct train_settings fresh = {.n = 0}, kept = {.n = 0};
    for (int i = 0; i < p->settings.n; i++) fresh.text[fresh.n++] = p->settings.text[i];
    fresh.text[fresh.n++] = kept.text[kept.n++] = p->settings.labels;
    heed_model *model = train_make_model(r, cx, &fresh, &kept);
    if (model && p->input.channels > 0) heed_picture_describe(cx, model, classes_of(p), &p->input.processor);
    return model;
}

/* What the model takes, found without its weights. */
static bool find_input(struct train_run *r) {
    struct pictures *p = pictures_of(r);
    heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_model *model = new_model(r, dry);
    heed_picture_input input;
    if (!model || !heed_picture_input_of(dry, model, &input))
        heed_fail(r->cx, heed_error(dry), "%s", heed_message(dry));
    else
        p->input = input;
    heed_model_free(dry, model);
    heed_close(dry);
    return !heed_failed(r->cx);
}

/* ---- pictures as the model takes them ---- */

/* Does a file of the directory say how pictures are prepared? */
static bool is_prepared(heed_ctx *cx, const char *dir) {
    char path[PATH_MAX];
    if (directory_has(dir, "preprocessor_config.json")) return true;
    if (snprintf(path, sizeof path, "%s/config.json", dir) >= (int)sizeof path) return false;
    const heed_json root = heed_json_open(cx, path);
    const bool is = heed_json_kind_of(heed_json_find(cx, root, "pretrained_cfg")) == HEED_JSON_OBJECT;
    heed_json_free(root);
    return is;
}

/* Of a model directory, for the size that the model takes; where it has none, as `heed classify` assumes. */
static bool processor_of(heed_ctx *cx, const char *dir, heed_picture_input *input) {
    const bool said = is_prepared(cx, dir);
    if (heed_failed(cx)) return false;
    if (!said) {
        static const float half[4] = {0.5F, 0.5F, 0.5F, 0.5F};
        input->processor = heed_picture_processor_for(input, half, half);
        input->processor.filter = HEED_FILTER_BILINEAR;
        heed_note(cx, HEED_LOG_WARN,
                  "%s: no preprocessor_config.json: pictures are resized to %lld x %lld, with mean and deviation 0.5",
                  dir, (long long)input->height, (long long)input->width);
        return true;
    }
    if (!heed_image_processor_open(cx, dir, &input->processor)) return false;
    heed_picture_processor_fit(&input->processor, input->channels, input->height, input->width);
    return true;
}

static size_t keep_limit(const struct train_run *r) {
    const size_t budget = option_bytes(r->o, "memory");
    return budget > 0 ? budget / 3 : KEEP;
}

static bool keep(struct train_run *r) {
    struct pictures *p = pictures_of(r);
    const heed_image_processor *const size = p->augment.area_high > 0 ? NULL : &p->input.processor;
    for (int i = 0; i < PARTS; i++) {
        bool kept = false;
        if (p->set[i] && !heed_picture_set_keep(r->cx, p->set[i], p->input.channels, size, keep_limit(r), &kept))
            return false;
        if (i == TRAIN) p->kept = kept;
    }
    p->input.kept_sized = size != NULL;
    return true;
}

static bool set_processor(struct train_run *r) {
    struct pictures *p = pictures_of(r);
    const char *const kind = option_text(r->o, "normalize");
    static const float half[4] = {0.5F, 0.5F, 0.5F, 0.5F}, mean_of[] = {0.485F, 0.456F, 0.406F, 0},
                       deviation_of[] = {0.229F, 0.224F, 0.225F, 1};
    float mean[4], deviation[4];
    if (option_given(r->o, "init")) return processor_of(r->cx, option_text(r->o, "init"), &p->input) && keep(r);
    if (strcmp(kind, "imagenet") == 0 && p->input.channels != 3)
        return heed_fail(r->cx, HEED_ERR_USAGE, "train: --normalize imagenet is for pictures of 3 channels, not %d",
                         p->input.channels);
    p->input.processor = strcmp(kind, "imagenet") == 0 ? heed_picture_processor_for(&p->input, mean_of, deviation_of)
                                                       : heed_picture_processor_for(&p->input, half, half);
    if (!keep(r) || strcmp(kind, "data") != 0) return !heed_failed(r->cx);
    if (!heed_picture_set_moments(r->cx, p->set[TRAIN], p->train_rows, p->n_train, p->input.channels, MOMENTS, mean,
                                  deviation))
        return false;
    p->input.processor = heed_picture_processor_for(&p->input, mean, deviation);
    return true;
}

static void set_augment(struct train_run *r) {
    const struct options *o = r->o;
    heed_augment *const a = &pictures_of(r)->augment;
    const char *const padding = option_text(o, "padding-kind");
    *a = (heed_augment){.area_low = option_number(o, "crop-area"),
                        .filter = HEED_FILTER_BICUBIC,
                        .padding = option_int(o, "crop-padding"),
                        .padding_kind = strcmp(padding, "edge") == 0      ? HEED_PADDING_EDGE
                                        : strcmp(padding, "reflect") == 0 ? HEED_PADDING_REFLECT
                                                                          : HEED_PADDING_CONSTANT,
                        .flip = option_number(o, "flip"),
                        .flip_vertical = option_number(o, "vertical-flip"),
                        .rand_operations = (int)option_int(o, "rand-augment"),
                        .rand_kind =
                            strcmp(option_text(o, "rand-kind"), "timm") == 0 ? HEED_RAND_TIMM : HEED_RAND_TORCHVISION,
                        .rand_magnitude = option_number(o, "rand-magnitude"),
                        .rand_deviation = option_number(o, "rand-deviation"),
                        .brightness = option_number(o, "jitter"),
                        .contrast = option_number(o, "jitter"),
                        .saturation = option_number(o, "jitter"),
                        .hue = option_number(o, "hue"),
                        .erase = option_number(o, "erase"),
                        .erase_noise = true,
                        .cutout = option_int(o, "cutout"),
                        .mixup = option_number(o, "mixup"),
                        .cutmix = option_number(o, "cutmix"),
                        .mix_cut = option_number(o, "mix-cut")};
    if (a->area_low > 0) a->area_high = 1;
    if (a->mixup > 0 || a->cutmix > 0) a->mix = option_number(o, "mix");
}

/* What RandAugment's operations uncover in colour pictures is the mean, as timm has it; grey ones have a background. */
static void set_fill(struct pictures *p) {
    if (p->augment.rand_operations == 0 || p->input.channels < 3) return;
    for (int c = 0; c < 3; c++) p->augment.fill[c] = (uint8_t)(p->input.processor.mean[c] * 255 + 0.5F);
}

/* ---- the teacher ---- */

static bool load_teacher(struct train_run *r) {
    struct pictures *p = pictures_of(r);
    const char *const dir = option_text(r->o, "teacher");
    if (!dir) return true;
    p->teacher = heed_model_load_as(r->cx, dir, &(heed_load_opts){.map = true});
    if (!p->teacher || !heed_picture_input_of(r->cx, p->teacher, &p->teacher_input) ||
        !processor_of(r->cx, dir, &p->teacher_input))
        return false;
    const int64_t its = heed_picture_classes(p->teacher), ours = classes_of(p)->classes;
    return its == ours || heed_fail(r->cx, HEED_ERR_SHAPE, "%s: a teacher of %lld classes, but the data have %lld", dir,
                                    (long long)its, (long long)ours);
}

/* ---- the run ---- */

static bool usage(struct train_run *r) {
    static const char *const of_tables[] = {"target",  "use",  "drop", "separator",
                                            "decimal", "text", "pair", "class-weights"};
    for (size_t i = 0; i < sizeof of_tables / sizeof *of_tables; i++)
        if (option_known(r->o, of_tables[i]) && option_given(r->o, of_tables[i])) {
            cli_error(EXIT_USAGE, "train: --%s is for tables, and %s takes pictures", of_tables[i], r->family->name);
            return false;
        }
    static const char *const of_teacher[] = {"distillation", "distillation-alpha", "temperature"};
    for (size_t i = 0; i < sizeof of_teacher / sizeof *of_teacher; i++)
        if (option_given(r->o, of_teacher[i]) && !option_given(r->o, "teacher")) {
            cli_error(EXIT_USAGE, "train: --%s needs a --teacher", of_teacher[i]);
            return false;
        }
    if (option_given(r->o, "crop-area") && option_given(r->o, "crop-padding")) {
        cli_error(EXIT_USAGE, "train: --crop-area and --crop-padding: one kind of crop at a time");
        return false;
    }
    if (option_given(r->o, "teacher") && heed_head_for(r->family, "distil")) r->head = "distil";
    return true;
}

static bool load(struct train_run *r) {
    struct pictures *p = heed_mem_new(r->cx, sizeof *p);
    if (!p) return false;
    memset(p, 0, sizeof *p);
    r->own = p;
    set_augment(r);
    if (!heed_augment_check(r->cx, &p->augment) || !load_sets(r) || !split(r) ||
        !train_picture_sizes(r, p->set[TRAIN], &p->settings) || !find_input(r) || !set_processor(r) || !load_teacher(r))
        return false;
    set_fill(p);
    return true;
}

static int64_t good_batch(const struct pictures *p) {
    int64_t batch = 128;
    while (batch > 8 && batch * 20 > p->n_train) batch /= 2;
    return batch < p->n_train ? batch : p->n_train;
}

static bool set(struct train_run *r) {
    struct pictures *p = pictures_of(r);
    heed_loop_opts *l = &r->loop;
    const int64_t accumulate = option_given(r->o, "accumulate") ? option_int(r->o, "accumulate") : 1;
    char count[48];
    p->batch = option_given(r->o, "batch") ? option_int(r->o, "batch") : good_batch(p);
    heed_picture_training_opts opts = {
        .train = p->set[TRAIN],
        .train_rows = p->train_rows,
        .n_train = p->n_train,
        .valid = p->n_valid > 0 ? (p->set[VALID] ? p->set[VALID] : p->set[TRAIN]) : NULL,
        .valid_rows = p->valid_rows,
        .n_valid = p->n_valid,
        .test = p->set[TEST],
        .input = &p->input,
        .augment = &p->augment,
        .repeats = option_int(r->o, "repeats"),
        .smoothing = option_number(r->o, "label-smoothing"),
        .batch = p->batch,
        .micro_batch = option_int(r->o, "micro-batch"),
        .seed = heed_seed(r->cx),
        .workers = workers_of(r->o, r->cx),
        .teacher = p->teacher,
        .teacher_input = &p->teacher_input,
        .distillation = strcmp(option_text(r->o, "distillation"), "soft") == 0 ? HEED_DISTIL_SOFT : HEED_DISTIL_HARD,
        .alpha = option_number(r->o, "distillation-alpha"),
        .temperature = option_number(r->o, "temperature")};
    if (accumulate > 1) {
        opts.micro_batch = p->batch;
        opts.batch = p->batch *= accumulate;
    }
    if (p->batch > p->n_train)
        return heed_fail(r->cx, HEED_ERR_RANGE, "train: --batch: %lld is larger than the data, %s to train on",
                         (long long)p->batch, cli_count(p->n_train, "picture", "pictures", count));
    if (!option_given(r->o, "lr")) l->trainer.schedule.lr = option_given(r->o, "init") ? 1e-4 : 1e-3;
    l->epochs = option_given(r->o, "epochs") ? option_int(r->o, "epochs") : 10;
    p->training = heed_picture_training_new(r->cx, &opts);
    l->source = heed_picture_training_source(p->training);
    return l->source;
}

static bool write_sheet(struct train_run *r) {
    const char *const path = option_text(r->o, "sheet");
    heed_image sheet;
    if (!path) return true;
    if (!heed_picture_training_sheet(r->cx, pictures_of(r)->training, 64, 8, &sheet)) return false;
    const bool ok = heed_image_write(r->cx, path, &sheet, 90);
    heed_image_free(r->cx, &sheet);
    return ok;
}

static bool begin(struct train_run *r) {
    const struct pictures *p = pictures_of(r);
    const heed_picture_input *in = &p->input;
    char text[2][48];
    if (!heed_picture_processor_write(r->cx, r->model, r->dir, &in->processor) || !write_sheet(r)) return false;
    if (option_flag(r->o, "quiet")) return true;
    fprintf(stderr, "%s: %s of %lld classes to train on, %lld to validate, %lld to test; %s with %s\n", r->path,
            cli_count(p->n_train, "picture", "pictures", text[0]), (long long)classes_of(p)->classes,
            (long long)p->n_valid, (long long)(p->set[TEST] ? heed_picture_set_data(p->set[TEST])->n : 0),
            r->family->name,
            cli_count(heed_params_numbers(heed_model_params(r->model)), "parameter", "parameters", text[1]));
    fprintf(stderr, "pictures: %d x %lld x %lld, mean", in->channels, (long long)in->height, (long long)in->width);
    for (int c = 0; c < in->channels; c++) fprintf(stderr, " %.4g", (double)in->processor.mean[c]);
    fputs(", deviation", stderr);
    for (int c = 0; c < in->channels; c++) fprintf(stderr, " %.4g", (double)in->processor.deviation[c]);
    fputs(p->kept ? "; kept decoded\n" : "; decoded each time\n", stderr);
    return true;
}

static void free_pictures(struct train_run *r) {
    struct pictures *p = pictures_of(r);
    if (!p) return;
    heed_picture_training_free(r->cx, p->training);
    heed_model_free(r->cx, p->teacher);
    for (int i = PARTS - 1; i >= 0; i--) heed_picture_set_free(r->cx, p->set[i]);
    heed_mem_free(r->cx, p->train_rows);
    heed_mem_free(r->cx, p->valid_rows);
    heed_mem_free(r->cx, p);
}

/* ---- heed eval ---- */

static void evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path) {
    heed_model *model = heed_model_load_as(cx, dir, &(heed_load_opts){.map = true});
    heed_picture_input input;
    if (!model || !heed_picture_input_of(cx, model, &input) || !processor_of(cx, dir, &input)) {
        heed_model_free(cx, model);
        return;
    }
    const int64_t classes = heed_picture_classes(model);
    char **names = classes > 0 ? heed_model_labels(cx, model, classes) : NULL;
    const heed_data like = {.classes = classes, .class_names = names};
    heed_picture_set *set =
        picture_data_load(cx, path, option_text(o, "part"), &(heed_picture_set_opts){.like = &like});
    const heed_data *const data = heed_picture_set_data(set);
    int32_t *predicted = data ? heed_mem_new(cx, (size_t)data->n * sizeof *predicted) : NULL;
    heed_metrics metrics;
    heed_score score;
    if (predicted && heed_metrics_find(cx, heed_picture_metrics(classes), &metrics) &&
        heed_picture_measure(
            cx, model, set, &input,
            &(heed_picture_measure_opts){.batch = option_given(o, "batch") ? option_int(o, "batch") : 0,
                                         .workers = workers_of(o, cx),
                                         .predicted = predicted},
            &score))
        report_classes(o, cx, data, predicted, &metrics, &score, false);
    heed_mem_free(cx, predicted);
    heed_picture_set_free(cx, set);
    heed_mem_free(cx, names);
    heed_model_free(cx, model);
}

const struct train_task train_pictures = {
    .page = {.name = "classify"},
    .next = "eval",
    .next_how = " --data PATH",
    .usage = usage,
    .load = load,
    .set = set,
    .model = new_model,
    .begin = begin,
    .free = free_pictures,
    .evaluate = evaluate,
};
