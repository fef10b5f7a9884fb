/* Pictures with objects as the loop's source: batches with their targets, and measures. */
#include "task/vision/object_training.h"
#include "base/ctx.h"
#include "tensor/engine.h"
#include "train/loop.h"
#include <stdio.h>
#include <string.h>

#define EVALUATION_BATCH 32 /* pictures at a time, unless asked otherwise, of at most */
#define EVALUATION_SIZE  (EVALUATION_BATCH * 128 * 128)

struct object_training {
    struct object_training_opts opts;
    heed_metrics metrics;
    heed_loop_source loop;
    struct object_batches *batches;
    const struct object_part *part; /* under way */
    char train[NOTES_DATA], valid[NOTES_DATA];
};

/* ---- inputs ---- */

static heed_tensor *numbers(heed_ctx *cx, heed_dtype type, const void *at, int rank, const int64_t *shape) {
    return cx->config.dry ? heed_zeros(cx, type, rank, shape) : heed_borrow(cx, type, at, rank, shape, NULL);
}

static bool put_targets(heed_ctx *cx, const struct object_part *p, heed_io *in) {
    for (int64_t i = 0; i < p->n; i++) {
        char name[48];
        const int64_t n = cx->config.dry ? p->most : p->objects[i], shape[] = {n, 4};
        snprintf(name, sizeof name, "labels.%lld.class_labels", (long long)i);
        if (!heed_io_put(cx, in, name, numbers(cx, HEED_I32, p->label + i * p->most, 1, shape))) return false;
        snprintf(name, sizeof name, "labels.%lld.boxes", (long long)i);
        if (!heed_io_put(cx, in, name, numbers(cx, HEED_F32, p->box + i * p->most * 4, 2, shape))) return false;
    }
    return true;
}

static bool put_part(heed_ctx *cx, const struct object_part *p, int64_t groups, heed_io *in) {
    const int64_t pixels[] = {p->n, 3, p->height, p->width}, mask[] = {p->n, p->height, p->width};
    const int64_t noise[] = {p->n, groups, p->most, 4};
    *in = (heed_io){0};
    return heed_io_put(cx, in, "pixel_values", numbers(cx, HEED_F32, p->pixels, 4, pixels)) &&
           (!p->mask || heed_io_put(cx, in, "pixel_mask", numbers(cx, HEED_I32, p->mask, 3, mask))) &&
           put_targets(cx, p, in) &&
           (groups == 0 || (heed_io_put(cx, in, "denoising.boxes", numbers(cx, HEED_F32, p->noised_box, 4, noise)) &&
                            heed_io_put(cx, in, "denoising.labels", numbers(cx, HEED_I32, p->noised_label, 3, noise))));
}

/* ---- what the loop asks for ---- */

static int64_t seen(const void *own, int64_t step) {
    const struct object_training *const t = own;
    const int64_t n = t->opts.batches.n, whole = step / t->loop.per_epoch,
                  some = step % t->loop.per_epoch * t->opts.batches.batch;
    return whole * n + (some < n ? some : n);
}

static bool seek(heed_ctx *cx, void *own, int64_t step) {
    struct object_training *const t = own;
    struct object_batches_opts opts = t->opts.batches;
    opts.step = step;
    object_batches_close(cx, t->batches);
    t->batches = object_batches_open(cx, &opts);
    return t->batches;
}

static int64_t next(heed_ctx *cx, void *own) {
    struct object_training *const t = own;
    t->part = heed_failed(cx) ? NULL : object_batches_next(cx, t->batches);
    return t->part ? t->part->parts : 0;
}

static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    struct object_training *const t = own;
    if (pass > 0) t->part = object_batches_next(cx, t->batches);
    const struct object_part *const p = t->part;
    if (!p) return false;
    *share = p->n == p->total ? 1.0F : (float)p->n / (float)p->total;
    return put_part(cx, p, t->opts.batches.noise.groups, in);
}

static void close(heed_ctx *cx, void *own) {
    struct object_training *const t = own;
    object_batches_close(cx, t->batches);
    t->batches = NULL;
    t->part = NULL;
}

/* ---- measuring ---- */

enum { LOSSES = 3 };
static const char *const losses[LOSSES] = {"loss_dict.loss_ce", "loss_dict.loss_bbox", "loss_dict.loss_giou"};

struct tally {
    double loss, part[LOSSES];
};

static bool add_losses(heed_ctx *cx, const heed_io *out, int64_t n, struct tally *t) {
    const heed_tensor *const loss = heed_io_get(out, "loss");
    if (!loss) return heed_fail(cx, HEED_ERR_USAGE, "detect: the model gives no loss for these targets");
    t->loss += (double)heed_item(cx, loss) * (double)n;
    for (int i = 0; i < LOSSES; i++) {
        const heed_tensor *const part = heed_io_get(out, losses[i]);
        if (part) t->part[i] += (double)heed_item(cx, part) * (double)n;
    }
    return !heed_failed(cx);
}

static bool measure_part(heed_ctx *cx, const heed_model *model, const struct object_measure_opts *o,
                         const struct object_part *p, struct tally *t, struct detections *found) {
    static const heed_detect_opts all = {.threshold = -1};
    heed_io in, out;
    if (!p || !put_part(cx, p, 0, &in) || !heed_model_forward(cx, model, &in, &out) || !add_losses(cx, &out, p->n, t))
        return false;
    for (int64_t i = 0; !cx->config.dry && i < p->n; i++)
        if (!detections_add(cx, found, &out, i, heed_object_set_classes(o->set), p->size[i], p->row[i], &all))
            return false;
    heed_reset(cx);
    return true;
}

/* Pictures of several sizes go one by one: padding would change what the model says of them. */
static int64_t good_batch(const struct object_measure_opts *o) {
    if (!heed_object_set_endless(o->set)) return 1;
    const int64_t fit = EVALUATION_SIZE / (o->height * o->width);
    return fit < 1 ? 1 : fit < EVALUATION_BATCH ? fit : EVALUATION_BATCH;
}

static bool run_all(heed_ctx *cx, const heed_model *model, const struct object_measure_opts *o, struct tally *t,
                    struct detections *found) {
    const int64_t batch = o->batch > 0 ? o->batch : good_batch(o);
    const struct object_batches_opts with = {.set = o->set,
                                             .rows = o->rows,
                                             .n = o->n,
                                             .processor = o->processor,
                                             .padded_boxes = o->padded_boxes,
                                             .masks = o->masks,
                                             .height = o->height,
                                             .width = o->width,
                                             .objects = o->objects,
                                             .batch = batch < o->n ? batch : o->n,
                                             .workers = o->workers};
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    struct object_batches *const b = object_batches_open(cx, &with);
    for (int64_t done = 0; b && done < o->n && !heed_cancelled(cx);) {
        const struct object_part *const p = object_batches_next(cx, b);
        if (!measure_part(cx, model, o, p, t, found)) break;
        done += p->n;
    }
    object_batches_close(cx, b);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    return !heed_failed(cx);
}

bool object_measure(heed_ctx *cx, const heed_model *model, const struct object_measure_opts *opts, heed_score *score,
                    heed_coco_score *figures, struct detections *found) {
    struct detections own = {0}, *const to = found ? found : &own;
    struct tally t = {0};
    heed_coco_score coco = {{0}, NULL};
    bool ok = run_all(cx, model, opts, &t, to);
    if (ok && !cx->config.dry) ok = heed_coco_measure(cx, opts->set, opts->rows, opts->n, to->at, to->n, &coco);
    const double n = (double)opts->n;
    *score = (heed_score){t.loss / n, coco.figure[0], {coco.figure[1], coco.figure[2]}};
    for (int i = 0; i < LOSSES; i++) score->more[2 + i] = t.part[i] / n;
    heed_mem_free(cx, own.at);
    if (figures && ok)
        *figures = coco;
    else
        heed_coco_score_free(cx, &coco);
    return ok;
}

static bool measure_rows(heed_ctx *cx, const struct object_training *t, const heed_model *model,
                         const heed_object_set *set, const int64_t *rows, int64_t n, heed_score *score) {
    const struct object_batches_opts *const b = &t->opts.batches;
    const struct object_measure_opts opts = {.set = set,
                                             .rows = rows,
                                             .n = n,
                                             .processor = b->processor,
                                             .padded_boxes = b->padded_boxes,
                                             .masks = b->masks,
                                             .height = b->height,
                                             .width = b->width,
                                             .objects = b->objects,
                                             .workers = b->workers};
    return object_measure(cx, model, &opts, score, NULL, NULL);
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const struct object_training *const t = own;
    const struct object_training_opts *const o = &t->opts;
    return test ? measure_rows(cx, t, model, o->test, NULL, heed_object_set_count(o->test), score)
                : measure_rows(cx, t, model, o->valid, o->valid_rows, o->n_valid, score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score) {
    const struct object_training *const t = own;
    int64_t *const rows = loop_rows(cx, t->opts.valid_rows, some, n);
    const bool ok = rows && measure_rows(cx, t, model, t->opts.valid, rows, n, score);
    heed_mem_free(cx, rows);
    return ok;
}

/* ---- what a checkpoint must agree with ---- */

static void describe(char text[NOTES_DATA], const heed_object_set *set, const int64_t *rows, int64_t n) {
    if (!set || *text) return;
    uint64_t hash = heed_object_set_hash(set);
    if (rows) hash = notes_mix(hash, rows, (size_t)n * sizeof *rows);
    notes_name_data(text, n, "pictures", hash);
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    struct object_training *const t = own;
    const struct object_training_opts *const o = &t->opts;
    describe(t->train, o->batches.set, o->batches.rows, o->batches.n);
    describe(t->valid, o->valid, o->valid_rows, o->n_valid);
    notes_put_source(cx, at, t->train, t->valid, o->batches.batch, o->batches.micro);
    for (int i = 0; i < o->n_settings; i++)
        if (o->settings[i].value != 0) notes_put_number(cx, at, o->settings[i].key, o->settings[i].value);
}

/* ---- making ---- */

struct object_training *object_training_new(heed_ctx *cx, const struct object_training_opts *opts) {
    struct object_training *const t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (struct object_training){.opts = *opts};
    const struct object_batches_opts *const b = &t->opts.batches;
    const int64_t per_epoch = object_batches_per_epoch(b);
    t->loop = (heed_loop_source){.own = t,
                                 .unit = "examples",
                                 .metrics = t->metrics.list,
                                 .per_epoch = per_epoch,
                                 .passes = object_batches_parts(b),
                                 .valid = opts->valid != NULL,
                                 .test = opts->test != NULL,
                                 .n_train = b->n,
                                 .n_valid = opts->valid ? opts->n_valid : 0,
                                 .n_test = opts->test ? heed_object_set_count(opts->test) : 0,
                                 .plan_from = per_epoch > 1 ? per_epoch - 2 : 0,
                                 .n_plan = 3,
                                 .seen = seen,
                                 .seek = seek,
                                 .next = next,
                                 .feed = feed,
                                 .measure = measure,
                                 .measure_some = measure_some,
                                 .settings = settings,
                                 .close = close};
    if (heed_metrics_find(cx, OBJECT_METRICS, &t->metrics)) return t;
    heed_mem_free(cx, t);
    return NULL;
}

void object_training_free(heed_ctx *cx, struct object_training *t) {
    if (!t) return;
    close(cx, t);
    heed_mem_free(cx, t);
}

const heed_loop_source *object_training_source(const struct object_training *t) { return t ? &t->loop : NULL; }
