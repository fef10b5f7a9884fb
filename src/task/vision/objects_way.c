/* Detect: from pictures with objects to a model that finds them. */
#include "task/vision/objects_way.h"
#include "base/text.h"
#include "heed/attend.h"
#include "heed/picture_training.h"
#include "model/core/config.h"
#include "model/core/inputs.h"
#include "model/core/opened.h"
#include "task/answers.h"
#include "task/vision/ahead.h"
#include "task/vision/object_training.h"
#include "task/vision/objects_found.h"
#include <stdio.h>

#define COUNTED 64 /* drawn pictures whose objects are counted, for plans */

enum part { TRAIN, VALID, TEST, PARTS };

struct objects {
    heed_object_set *set[PARTS];
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_image_processor processor;
    heed_object_augment augment;
    struct object_batches_opts batches;
    struct object_settings settings; /* of the model, from the data */
    struct object_training_setting noted[16];
    int n_noted;
    struct object_training *training;
    heed_picture_model *answering; /* the trained directory, once something is asked of it */
};

static struct objects *objects_of(const heed_run *r) { return r->user; }

/* ---- the data ---- */

/* The names of the classes of --init, where all of the data's are among them: those are numbered so. NULL: fresh ones.
 */
static char **known_classes(const heed_run *r, const heed_object_set *set) {
    const char *const *const own = heed_object_set_names(set);
    const heed_json config = r->init ? heed_directory_config(r->init) : (heed_json){0};
    const bool named = r->init && heed_json_count(heed_json_find(r->cx, config, "id2label")) > 0;
    char **const names = named ? config_label_names(r->cx, config, config_labels(r->cx, config)) : NULL;
    for (int64_t i = 0; names && own[i]; i++) {
        bool known = false;
        for (int64_t k = 0; names[k] && !known; k++) known = strcmp(names[k], own[i]) == 0;
        if (known) continue;
        heed_mem_free(r->cx, names);
        return NULL;
    }
    return names;
}

static bool load_train(heed_run *r) {
    struct objects *const o = objects_of(r);
    heed_object_set_opts opts = {
        .pictures = run_text(r, "picture-dir"), .count = run_int(r, "count"), .seed = heed_seed(r->cx)};
    o->set[TRAIN] = heed_object_set_open(r->cx, r->path, "train", &opts);
    char **const names = o->set[TRAIN] ? known_classes(r, o->set[TRAIN]) : NULL;
    if (names) {
        heed_object_set_free(r->cx, o->set[TRAIN]);
        opts.classes = (const char *const *)names;
        o->set[TRAIN] = heed_object_set_open(r->cx, r->path, "train", &opts);
    }
    heed_mem_free(r->cx, names);
    if (o->set[TRAIN]) objects_say_notes(r->cx, r->path, o->set[TRAIN], true);
    return o->set[TRAIN];
}

static bool load_sets(heed_run *r) {
    struct objects *const o = objects_of(r);
    const char *const test = run_text(r, "test");
    if (!load_train(r)) return false;
    const bool drawn = heed_object_set_endless(o->set[TRAIN]);
    const double share = run_number(r, "valid");
    const int64_t some =
        drawn && run_given(r, "valid") ? (int64_t)(share * (double)run_int(r, "count") + 0.5) : OBJECTS_MEASURED;
    heed_object_set_opts other = {.classes = heed_object_set_names(o->set[TRAIN]),
                                  .pictures = run_text(r, "picture-dir"),
                                  .count = some,
                                  .seed = heed_seed(r->cx),
                                  .optional = true};
    if (drawn ? some > 0 : !run_given(r, "valid")) o->set[VALID] = heed_object_set_open(r->cx, r->path, "val", &other);
    other.count = OBJECTS_MEASURED;
    other.optional = !test;
    if (!heed_failed(r->cx) && (test || !drawn))
        o->set[TEST] = heed_object_set_open(r->cx, test ? test : r->path, "test", &other);
    if (o->set[VALID]) objects_say_notes(r->cx, "validation", o->set[VALID], false);
    if (o->set[TEST]) objects_say_notes(r->cx, "test", o->set[TEST], false);
    return !heed_failed(r->cx);
}

static bool split(heed_run *r) {
    struct objects *const o = objects_of(r);
    const int64_t n = heed_object_set_count(o->set[TRAIN]);
    const double fraction = o->set[VALID] || heed_object_set_endless(o->set[TRAIN]) ? 0 : run_held_out(r, n);
    if (o->set[VALID]) o->n_valid = heed_object_set_count(o->set[VALID]);
    o->n_train = n;
    return fraction == 0 || heed_rows_split(r->cx, n, fraction, heed_seed(r->cx), &o->train_rows, &o->n_train,
                                            &o->valid_rows, &o->n_valid);
}

/* Most objects of a picture. */
static bool count_objects(heed_run *r, const heed_object_set *set, int64_t *most) {
    const int64_t n = heed_object_set_endless(set) ? COUNTED : heed_object_set_count(set);
    for (int64_t i = 0; i < n; i++) {
        heed_object *objects;
        int64_t count;
        if (!heed_object_set_read(r->cx, set, i, NULL, &objects, &count)) return false;
        heed_mem_free(r->cx, objects);
        if (count > *most) *most = count;
    }
    return true;
}

/* ---- the model ---- */

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct objects *const o = objects_of(r);
    struct settings fresh = {.n = 0}, kept = {.n = 0};
    for (int i = 0; i < o->settings.n; i++) fresh.text[fresh.n++] = o->settings.text[i];
    fresh.text[fresh.n++] = kept.text[kept.n++] = o->settings.labels;
    heed_model *const model = run_make_model(r, cx, &fresh, &kept);
    const heed_data classes = {.label = (int32_t[]){0},
                               .classes = heed_object_set_classes(o->set[TRAIN]),
                               .class_names = (char **)heed_object_set_names(o->set[TRAIN])};
    if (model && heed_model_describe(cx, model, &classes) && object_backbone(r, cx, model)) return model;
    heed_model_free(cx, model);
    return NULL;
}

/* ---- options ---- */

static void set_augment(const heed_run *r, heed_object_augment *to) {
    const double scale = run_number(r, "scale"), jitter = run_number(r, "jitter");
    *to = (heed_object_augment){.flip = run_number(r, "flip"),
                                .crop = run_number(r, "crop"),
                                .crop_low = run_number(r, "crop-min-scale"),
                                .scale_low = scale > 0 ? 1 - scale : 0,
                                .scale_high = scale > 0 ? 1 + scale : 0,
                                .brightness = jitter,
                                .contrast = jitter,
                                .saturation = jitter,
                                .hue = run_number(r, "hue")};
}

static bool check(heed_run *r) {
    static const char *const of_noise[] = {"box-noise-scale", "label-noise-ratio"};
    for (int i = 0; i < 2; i++)
        if (run_given(r, of_noise[i]) && run_int(r, "denoising-groups") == 0)
            return run_misused(r, "--%s needs --denoising-groups", of_noise[i]);
    if (run_given(r, "crop-min-scale") && run_number(r, "crop") == 0)
        return run_misused(r, "--crop-min-scale needs --crop");
    if (run_init(r) && run_given(r, "init-backbone"))
        return run_misused(r, "--init and --init-backbone: only one of them makes sense");
    return true;
}

/* What a checkpoint must agree with. */
static void note_settings(const heed_run *r, struct objects *o) {
    static const char *const fields[] = {"flip",
                                         "crop",
                                         "scale",
                                         "jitter",
                                         "hue",
                                         "shortest-edge",
                                         "longest-edge",
                                         "denoising-groups",
                                         "box-noise-scale",
                                         "label-noise-ratio",
                                         "backbone-lr",
                                         "padded-boxes"};
    const bool noise = o->batches.noise.groups > 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const bool flag = strcmp(fields[i], "padded-boxes") == 0;
        double value = flag ? (double)run_flag(r, fields[i]) : run_number(r, fields[i]);
        if (!noise && strstr(fields[i], "noise")) value = 0;
        o->noted[o->n_noted++] = (struct object_training_setting){fields[i], value};
    }
    if (run_number(r, "crop") > 0)
        o->noted[o->n_noted++] = (struct object_training_setting){"crop-min-scale", run_number(r, "crop-min-scale")};
}

static void set_batches(const heed_run *r, struct objects *o) {
    const heed_object_augment *const a = &o->augment;
    const bool augments = a->flip > 0 || a->crop > 0 || a->scale_high > 0 || a->brightness > 0 || a->hue > 0;
    struct object_batches_opts *const b = &o->batches;
    b->set = o->set[TRAIN];
    b->rows = o->train_rows;
    b->n = o->n_train;
    b->processor = &o->processor;
    b->augment = augments ? a : NULL;
    b->noise = (struct object_noise){run_int(r, "denoising-groups"), run_number(r, "box-noise-scale"),
                                     run_number(r, "label-noise-ratio")};
    b->padded_boxes = run_flag(r, "padded-boxes");
    b->shuffle = true;
    b->seed = heed_seed(r->cx);
    b->workers = ahead_workers(r->cx, r->budget);
}

/* ---- the run ---- */

static bool look_at_model(heed_run *r) {
    struct objects *const o = objects_of(r);
    const heed_model *const model = run_draft(r);
    if (!model) return false;
    heed_picture_input input;
    o->batches.masks = heed_model_takes(model, "pixel_mask");
    if (!heed_picture_input_of(r->dry, model, &input)) return run_drafted(r);
    if (input.channels != 3)
        return run_misused(r, "%s takes pictures of %d channel%s: objects are learnt from 3", r->family->name,
                           input.channels, input.channels == 1 ? "" : "s");
    return o->batches.noise.groups == 0 || heed_model_takes(model, "denoising.boxes") ||
           run_misused(r, "--denoising-groups: %s has no denoising queries", r->family->name);
}

static bool load(heed_run *r) {
    struct objects *const o = heed_mem_new(r->cx, sizeof *o);
    if (!o) return false;
    *o = (struct objects){.n_train = 0};
    r->user = o;
    set_augment(r, &o->augment);
    if ((r->init && !directory_head(r->cx, r->init)) || /* such as one that segments pictures */
        !heed_object_augment_check(r->cx, &o->augment) || !load_sets(r) || !split(r) ||
        !object_processor(r, o->set[TRAIN], &o->processor) ||
        !object_settings(r, o->set[TRAIN], o->processor.shorter, &o->settings))
        return false;
    set_batches(r, o);
    note_settings(r, o);
    struct object_batches_opts *const b = &o->batches;
    if (!object_bounds(r->cx, o->set[TRAIN], &o->processor, &b->height, &b->width)) return false;
    for (int i = 0; i < PARTS; i++) /* drawn pictures are of one kind */
        if (o->set[i] && (i == TRAIN || !heed_object_set_endless(o->set[i])) &&
            !count_objects(r, o->set[i], &b->objects))
            return false;
    return look_at_model(r) && run_drafted(r);
}

static bool plan(heed_run *r) {
    struct objects *const o = objects_of(r);
    struct run_batch b;
    if (!run_batch(r, run_int(r, "batch"), o->n_train, "picture", "pictures", &b)) return false;
    o->batches.batch = b.batch;
    o->batches.micro = b.micro_batch;
    const struct object_training_opts opts = {.batches = o->batches,
                                              .valid = o->n_valid == 0 ? NULL
                                                       : o->set[VALID] ? o->set[VALID]
                                                                       : o->set[TRAIN],
                                              .valid_rows = o->valid_rows,
                                              .n_valid = o->n_valid,
                                              .test = o->set[TEST],
                                              .settings = o->noted,
                                              .n_settings = o->n_noted};
    o->training = object_training_new(r->cx, &opts);
    r->loop.source = object_training_source(o->training);
    return r->loop.source;
}

static bool begin(heed_run *r) {
    const struct objects *const o = objects_of(r);
    const heed_image_processor *const p = &o->processor;
    char count[48], examples[96];
    if (!heed_picture_processor_write(r->cx, r->model, r->dir, p)) return false;
    const bool drawn = heed_object_set_endless(o->set[TRAIN]);
    snprintf(examples, sizeof examples, "%s of %lld classes%s", text_count(o->n_train, "picture", "pictures", count),
             (long long)heed_object_set_classes(o->set[TRAIN]), drawn ? " an epoch, drawn anew" : "");
    run_say_sets(r, examples, o->n_valid, heed_object_set_count(o->set[TEST]), "");
    if (p->resize == HEED_RESIZE_SHORTER)
        heed_note(r->cx, HEED_LOG_INFO, "pictures: shorter side %lld, longer at most %lld", (long long)p->shorter,
                  (long long)p->longer);
    return !heed_failed(r->cx);
}

static void free_objects(heed_run *r) {
    struct objects *const o = objects_of(r);
    heed_picture_model_free(r->cx, o->answering);
    object_training_free(r->cx, o->training);
    for (int i = PARTS - 1; i >= 0; i--) heed_object_set_free(r->cx, o->set[i]);
    heed_mem_free(r->cx, o->train_rows);
    heed_mem_free(r->cx, o->valid_rows);
    heed_mem_free(r->cx, o);
}

static bool answer(heed_run *r, const char *example, heed_json at) {
    heed_ctx *const cx = r->cx;
    struct objects *const own = objects_of(r);
    if (!own->answering) own->answering = heed_picture_model_open(cx, r->dir, r->task->name);
    const heed_picture_model *const m = own->answering;
    heed_image picture = {0};
    int64_t n = 0;
    heed_detection *const found =
        m && heed_picture_read(cx, m, example, &picture) ? heed_detect_pictures(cx, m, &picture, 1, NULL, &n) : NULL;
    if (found) answer_put_objects(cx, at, m->label, found, n);
    heed_image_free(cx, &picture);
    heed_mem_free(cx, found);
    return !heed_failed(cx);
}

const struct task_way way_objects = {.what = "pictures with objects",
                                     .input = "pixel_values",
                                     .own = object_fields,
                                     .check = check,
                                     .load = load,
                                     .plan = plan,
                                     .model_of = new_model,
                                     .begin = begin,
                                     .answer = answer,
                                     .evaluate = objects_evaluate,
                                     .free = free_objects};
