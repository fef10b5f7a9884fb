/* Classify, with a model of pictures. */
#include "task/vision/pictures_way.h"
#include "base/text.h"
#include "heed/picture_training.h"
#include "heed/vision.h"
#include "task/answers.h"
#include "task/vision/ahead.h"
#include "task/vision/picture_data.h"
#include "task/vision/picture_files.h"
#include <stdio.h>
#include <string.h>

#define KEEP    ((size_t)1 << 30) /* bytes of pictures that are kept decoded, without a budget */
#define MOMENTS 5000              /* pictures whose mean and deviation are taken */

enum part { TRAIN, VALID, TEST, PARTS };

struct pictures {
    heed_picture_set *set[PARTS];
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_picture_input input, teacher_input;
    heed_augment augment;
    heed_model *teacher;
    heed_picture_training *training;
    struct picture_settings settings; /* of the model, from the data */
    bool kept;
    heed_picture_model *answering; /* the trained directory, once something is asked of it */
};

static struct pictures *pictures_of(const heed_run *r) { return r->user; }
static const heed_data *classes_of(const struct pictures *p) { return heed_picture_set_data(p->set[TRAIN]); }

/* ---- the data ---- */

static bool load_sets(heed_run *r) {
    struct pictures *p = pictures_of(r);
    const char *const test = run_text(r, "test");
    p->set[TRAIN] = picture_data_load(r->cx, r->path, "train", NULL);
    if (!p->set[TRAIN]) return false;
    heed_picture_set_opts other = {.like = classes_of(p), .beside = p->set[TRAIN], .optional = true};
    if (!run_given(r, "valid")) p->set[VALID] = picture_data_load(r->cx, r->path, "val", &other);
    other.optional = !test;
    p->set[TEST] = picture_data_load(r->cx, test ? test : r->path, "test", &other);
    if (!heed_failed(r->cx) && classes_of(p)->classes < 2)
        heed_fail(r->cx, HEED_ERR_USAGE, "%s: all pictures are of one class", r->path);
    return !heed_failed(r->cx);
}

static bool split(heed_run *r) {
    struct pictures *p = pictures_of(r);
    const int64_t n = classes_of(p)->n;
    const double fraction = p->set[VALID] ? 0 : run_held_out(r, n);
    if (p->set[VALID]) p->n_valid = heed_picture_set_data(p->set[VALID])->n;
    if (fraction == 0) {
        p->n_train = n;
        return true;
    }
    return heed_rows_split(r->cx, n, fraction, heed_seed(r->cx), &p->train_rows, &p->n_train, &p->valid_rows,
                           &p->n_valid);
}

/* ---- the model ---- */

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct pictures *p = pictures_of(r);
    struct settings fresh = {.n = 0}, kept = {.n = 0};
    for (int i = 0; i < p->settings.n; i++) fresh.text[fresh.n++] = p->settings.text[i];
    fresh.text[fresh.n++] = kept.text[kept.n++] = p->settings.labels;
    heed_model *model = run_make_model(r, cx, &fresh, &kept);
    if (model && p->input.channels > 0) heed_picture_describe(cx, model, classes_of(p), &p->input.processor);
    return model;
}

/* What the model takes, found without its weights. */
static bool find_input(heed_run *r) {
    heed_picture_input *const input = &pictures_of(r)->input;
    heed_model *const model = run_draft(r);
    if (!model) return false;
    if (!heed_picture_input_of(r->dry, model, input)) return run_drafted(r);
    return !run_init(r) || picture_files_fitted(r->cx, model, run_init(r), input);
}

/* ---- pictures as the model takes them ---- */

static size_t keep_limit(const heed_run *r) { return r->budget > 0 ? r->budget / 3 : KEEP; }

static bool keep(heed_run *r) {
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

static bool set_processor(heed_run *r) {
    struct pictures *p = pictures_of(r);
    const char *const kind = run_text(r, "normalize");
    static const float half[4] = {0.5F, 0.5F, 0.5F, 0.5F}, mean_of[] = {0.485F, 0.456F, 0.406F, 0},
                       deviation_of[] = {0.229F, 0.224F, 0.225F, 1};
    float mean[4], std[4];
    if (run_init(r)) return keep(r);
    if (strcmp(kind, "imagenet") == 0 && p->input.channels != 3)
        return heed_fail(r->cx, HEED_ERR_USAGE, "train: --normalize imagenet is for pictures of 3 channels, not %d",
                         p->input.channels);
    p->input.processor = strcmp(kind, "imagenet") == 0 ? heed_picture_processor_for(&p->input, mean_of, deviation_of)
                                                       : heed_picture_processor_for(&p->input, half, half);
    if (!keep(r) || strcmp(kind, "data") != 0) return !heed_failed(r->cx);
    if (!heed_picture_set_moments(r->cx, p->set[TRAIN], p->train_rows, p->n_train, p->input.channels, MOMENTS, mean,
                                  std))
        return false;
    p->input.processor = heed_picture_processor_for(&p->input, mean, std);
    return true;
}

/* What RandAugment's operations uncover in colour pictures is the mean, as timm has it; grey ones have a background. */
static void set_fill(struct pictures *p) {
    if (p->augment.rand_operations == 0 || p->input.channels < 3) return;
    for (int c = 0; c < 3; c++) p->augment.fill[c] = (uint8_t)(p->input.processor.mean[c] * 255 + 0.5F);
}

/* ---- the teacher ---- */

static bool load_teacher(heed_run *r) {
    struct pictures *p = pictures_of(r);
    const char *const dir = run_text(r, "teacher");
    if (!dir) return true;
    p->teacher = heed_model_load_as(r->cx, dir, &(heed_load_opts){.map = true});
    if (!p->teacher || !heed_picture_input_of(r->cx, p->teacher, &p->teacher_input) ||
        !picture_files_fitted(r->cx, p->teacher, dir, &p->teacher_input))
        return false;
    const int64_t its = heed_picture_classes(p->teacher), ours = classes_of(p)->classes;
    return its == ours || heed_fail(r->cx, HEED_ERR_SHAPE, "%s: a teacher of %lld classes, but the data have %lld", dir,
                                    (long long)its, (long long)ours);
}

/* ---- the run ---- */

static bool check(heed_run *r) {
    static const char *const of_tables[] = {"target",  "use",  "drop", "separator",
                                            "decimal", "text", "pair", "class-weights"};
    static const char *const of_teacher[] = {"distillation", "distillation-alpha", "temperature"};
    for (size_t i = 0; i < sizeof of_tables / sizeof *of_tables; i++)
        if (run_given(r, of_tables[i]))
            return run_misused(r, "--%s is for tables, and %s takes pictures", of_tables[i], r->family->name);
    for (size_t i = 0; i < sizeof of_teacher / sizeof *of_teacher; i++)
        if (run_given(r, of_teacher[i]) && !run_given(r, "teacher"))
            return run_misused(r, "--%s needs a --teacher", of_teacher[i]);
    if (run_given(r, "crop-area") && run_given(r, "crop-padding"))
        return run_misused(r, "--crop-area and --crop-padding: one kind of crop at a time");
    if (!picture_hat_fits(r)) return false;
    if (run_given(r, "teacher") && heed_head_for(r->family, "distil")) r->head = "distil";
    return true;
}

static bool load(heed_run *r) {
    struct pictures *p = heed_mem_new(r->cx, sizeof *p);
    if (!p) return false;
    *p = (struct pictures){.kept = false};
    r->user = p;
    if (!picture_augment(r, &p->augment) || !load_sets(r) || !split(r) ||
        !picture_sizes(r, p->set[TRAIN], &p->settings) || !find_input(r) || !set_processor(r) || !load_teacher(r))
        return false;
    set_fill(p);
    heed_picture_describe(r->dry, r->draft, classes_of(p), &p->input.processor); /* as the model will be */
    return run_drafted(r);
}

static int64_t good_batch(const struct pictures *p) {
    int64_t batch = 128;
    while (batch > 8 && batch * 20 > p->n_train) batch /= 2;
    return batch;
}

static bool plan(heed_run *r) {
    struct pictures *p = pictures_of(r);
    struct run_batch b;
    if (!run_batch(r, good_batch(p), p->n_train, "picture", "pictures", &b)) return false;
    const bool soft = strcmp(run_text(r, "distillation"), "soft") == 0;
    const heed_picture_training_opts opts = {.train = p->set[TRAIN],
                                             .train_rows = p->train_rows,
                                             .n_train = p->n_train,
                                             .valid = p->n_valid == 0 ? NULL
                                                      : p->set[VALID] ? p->set[VALID]
                                                                      : p->set[TRAIN],
                                             .valid_rows = p->valid_rows,
                                             .n_valid = p->n_valid,
                                             .test = p->set[TEST],
                                             .input = &p->input,
                                             .augment = &p->augment,
                                             .repeats = run_int(r, "repeats"),
                                             .smoothing = run_number(r, "label-smoothing"),
                                             .batch = b.batch,
                                             .micro_batch = b.micro_batch,
                                             .seed = heed_seed(r->cx),
                                             .workers = ahead_workers(r->cx, r->budget),
                                             .teacher = p->teacher,
                                             .teacher_input = &p->teacher_input,
                                             .distillation = soft ? HEED_DISTIL_SOFT : HEED_DISTIL_HARD,
                                             .alpha = run_number(r, "distillation-alpha"),
                                             .temperature = run_number(r, "temperature"),
                                             .hat = picture_hat(r, (p->n_train + b.batch - 1) / b.batch)};
    p->training = heed_picture_training_new(r->cx, &opts);
    r->loop.source = heed_picture_training_source(p->training);
    return r->loop.source;
}

static bool write_sheet(heed_run *r) {
    const char *const path = run_text(r, "sheet");
    heed_image sheet;
    if (!path) return true;
    if (!heed_picture_training_sheet(r->cx, pictures_of(r)->training, 64, 8, &sheet)) return false;
    const bool ok = heed_image_write(r->cx, path, &sheet, 90);
    heed_image_free(r->cx, &sheet);
    return ok;
}

/* "pictures: 1 x 8 x 8, mean 0.13, deviation 0.3; kept decoded" */
static void say_input(const heed_run *r) {
    const struct pictures *p = pictures_of(r);
    const heed_picture_input *const in = &p->input;
    const float *const numbers[] = {in->processor.mean, in->processor.std};
    static const char *const names[] = {", mean", ", deviation"};
    char text[160];
    int at = 0;
    for (int i = 0; i < 2; i++) {
        at += text_format(text + at, sizeof text - (size_t)at, "%s", names[i]);
        for (int c = 0; c < in->channels; c++)
            at += text_format(text + at, sizeof text - (size_t)at, " %.4g", (double)numbers[i][c]);
    }
    heed_note(r->cx, HEED_LOG_INFO, "pictures: %d x %lld x %lld%s; %s", in->channels, (long long)in->height,
              (long long)in->width, text, p->kept ? "kept decoded" : "decoded each time");
}

static bool begin(heed_run *r) {
    const struct pictures *p = pictures_of(r);
    char count[48], examples[96];
    if (!heed_picture_processor_write(r->cx, r->model, r->dir, &p->input.processor) || !write_sheet(r)) return false;
    snprintf(examples, sizeof examples, "%s of %lld classes", text_count(p->n_train, "picture", "pictures", count),
             (long long)classes_of(p)->classes);
    run_say_sets(r, examples, p->n_valid, p->set[TEST] ? heed_picture_set_data(p->set[TEST])->n : 0, "");
    say_input(r);
    return true;
}

static void free_pictures(heed_run *r) {
    struct pictures *p = pictures_of(r);
    heed_picture_model_free(r->cx, p->answering);
    heed_picture_training_free(r->cx, p->training);
    heed_model_free(r->cx, p->teacher);
    for (int i = PARTS - 1; i >= 0; i--) heed_picture_set_free(r->cx, p->set[i]);
    heed_mem_free(r->cx, p->train_rows);
    heed_mem_free(r->cx, p->valid_rows);
    heed_mem_free(r->cx, p);
}

/* ---- measuring ---- */

struct measured {
    heed_picture_set *set;
    char **names; /* of the classes, as the model has them */
    int32_t *label;
    struct evaluated_frequencies frequencies;
    struct heed_evaluated more;
};

static void free_measured(heed_ctx *cx, void *own) {
    struct measured *const m = own;
    picture_frequencies_free(cx, &m->frequencies);
    heed_mem_free(cx, m->label);
    heed_picture_set_free(cx, m->set);
    heed_mem_free(cx, m->names);
    heed_mem_free(cx, m);
}

static bool predict(heed_run *r, const heed_model *model, const heed_picture_input *input, struct measured *m,
                    heed_evaluation *to) {
    const heed_data *const d = heed_picture_set_data(m->set);
    const heed_picture_measure_opts opts = {.batch = run_given(r, "batch") ? run_int(r, "batch") : 0,
                                            .workers = ahead_workers(r->cx, r->budget),
                                            .predicted = m->label};
    to->n = d->n;
    to->truth = d;
    to->label = m->label;
    to->more = &m->more;
    return heed_metrics_find(r->cx, heed_picture_metrics(heed_picture_classes(model)), &to->metrics) &&
           heed_picture_measure(r->cx, model, m->set, input, &opts, &to->score);
}

static bool asks_frequencies(const heed_run *r) { return run_knows(r, "frequencies") && run_flag(r, "frequencies"); }

/* Pictures that are gone through many times are decoded once. */
static bool ready_frequencies(heed_run *r, heed_picture_input *input, struct measured *m) {
    if (!asks_frequencies(r)) return true;
    m->more.frequencies = &m->frequencies;
    return picture_radii(r->cx, run_text(r, "radii"), input, &m->frequencies) &&
           heed_picture_set_keep(r->cx, m->set, input->channels, &input->processor, keep_limit(r), &input->kept_sized);
}

static bool find_frequencies(heed_run *r, const heed_model *model, const heed_picture_input *input,
                             struct measured *m) {
    const heed_picture_measure_opts opts = {.batch = run_given(r, "batch") ? run_int(r, "batch") : 0,
                                            .workers = ahead_workers(r->cx, r->budget)};
    return !asks_frequencies(r) || picture_frequencies(r->cx, model, m->set, input, &opts, &m->frequencies);
}

/* The classes are those of the model. */
static bool load_measured(heed_run *r, const heed_model *model, const char *part, struct measured *m) {
    const int64_t classes = heed_picture_classes(model);
    m->names = classes > 0 ? heed_model_labels(r->cx, model, classes) : NULL;
    const heed_data like = {.classes = classes, .class_names = m->names};
    m->set = picture_data_load(r->cx, r->path, part, &(heed_picture_set_opts){.like = &like});
    if (m->set) m->label = heed_mem_new(r->cx, (size_t)heed_picture_set_data(m->set)->n * sizeof *m->label);
    return m->label;
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    heed_ctx *const cx = r->cx;
    struct measured *const m = evaluation_room(cx, to, sizeof *m, free_measured);
    if (!m) return false;
    heed_model *const model = heed_directory_model(cx, r->measured, &(heed_load_opts){.map = true});
    heed_picture_input input;
    const bool ok = model && heed_picture_input_of(cx, model, &input) &&
                    picture_files_fitted(cx, model, r->dir, &input) && load_measured(r, model, part, m) &&
                    ready_frequencies(r, &input, m) && predict(r, model, &input, m, to) &&
                    find_frequencies(r, model, &input, m);
    heed_model_free(cx, model);
    return ok;
}

static const struct task_default defaults[] = {{"epochs", "10", NULL}, {"lr", ADAM_LR, "1e-4"}, {NULL, NULL, NULL}};

/* ---- answers ---- */

static bool answer(heed_run *r, const char *example, heed_json at) {
    heed_ctx *const cx = r->cx;
    struct pictures *const own = pictures_of(r);
    if (!own->answering) own->answering = heed_picture_model_open(cx, r->dir, r->task->name);
    const heed_picture_model *const m = own->answering;
    heed_image picture = {0};
    float *const p = m ? heed_mem_new(cx, (size_t)(m->labels > 0 ? m->labels : 1) * sizeof *p) : NULL;
    if (p && heed_picture_read(cx, m, example, &picture) && heed_classify_pictures(cx, m, &picture, 1, p)) {
        answer_put_best(cx, at, m->label, p, m->labels);
        answer_put_scores(cx, at, m->label, p, m->labels);
    }
    heed_image_free(cx, &picture);
    heed_mem_free(cx, p);
    return !heed_failed(cx);
}

const struct task_way way_pictures = {.what = "pictures",
                                      .input = "pixel_values",
                                      .own = augment_fields,
                                      .defaults = defaults,
                                      .next = "eval",
                                      .next_how = " --data PATH",
                                      .check = check,
                                      .load = load,
                                      .plan = plan,
                                      .model_of = new_model,
                                      .begin = begin,
                                      .answer = answer,
                                      .evaluate = evaluate,
                                      .free = free_pictures};
