/* Pictures as the loop's source: batches, losses and measures.
 *
 * The loss of labels is cross entropy with smoothed or mixed targets, of the class token's logits where the
 * distillation token has its own; heed/picture_training.h has that of a teacher. */
#include "heed/picture_training.h"
#include "base/ctx.h"
#include "kernel/reduce.h"
#include "task/vision/hat.h"
#include "task/vision/picture_batches.h"
#include "tensor/engine.h"
#include "train/loop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EVALUATION_BATCH 100 /* pictures at a time, unless asked otherwise */
#define TOP              5

struct heed_picture_training {
    heed_picture_training_opts opts;
    heed_metrics metrics;
    heed_loop_source loop;
    struct picture_batches *batches;
    const struct picture_part *part; /* under way */
    struct hat hat;
    int64_t update; /* the next */
    char train[NOTES_DATA], valid[NOTES_DATA];
};

static struct picture_batches_opts batches_of(const heed_picture_training *t, int64_t step) {
    const heed_picture_training_opts *o = &t->opts;
    return (struct picture_batches_opts){.set = o->train,
                                         .rows = o->train_rows,
                                         .n = o->n_train,
                                         .input = o->input,
                                         .augment = o->augment,
                                         .batch = o->batch,
                                         .micro = o->micro_batch,
                                         .repeats = o->repeats,
                                         .shuffle = true,
                                         .seed = o->seed,
                                         .step = step,
                                         .workers = o->workers};
}

static heed_tensor *pixels_of(heed_ctx *cx, const struct picture_part *p, const heed_picture_input *input) {
    const int64_t shape[] = {p->n, input->channels, input->height, input->width};
    return cx->config.dry ? heed_zeros(cx, HEED_F32, 4, shape) : heed_borrow(cx, HEED_F32, p->pixels, 4, shape, NULL);
}

static heed_tensor *labels_of(heed_ctx *cx, const struct picture_part *p) {
    return cx->config.dry ? heed_zeros(cx, HEED_I32, 1, &p->n) : heed_borrow(cx, HEED_I32, p->label, 1, &p->n, NULL);
}

/* ---- what the loop asks for ---- */

static int64_t seen(const void *own, int64_t step) {
    const heed_picture_training *t = own;
    const int64_t whole = step / t->loop.per_epoch, rest = step % t->loop.per_epoch, some = rest * t->opts.batch;
    return whole * t->opts.n_train + (some < t->opts.n_train ? some : t->opts.n_train);
}

static void close(heed_ctx *cx, void *own) {
    heed_picture_training *t = own;
    picture_batches_close(cx, t->batches);
    t->batches = NULL;
    t->part = NULL;
    hat_close(cx, &t->hat);
}

static bool seek(heed_ctx *cx, void *own, int64_t step) {
    heed_picture_training *t = own;
    const struct picture_batches_opts opts = batches_of(t, step);
    const heed_picture_input *const in = opts.input;
    const int64_t n = opts.micro > 0 && opts.micro < opts.batch ? opts.micro : opts.batch;
    close(cx, own);
    t->update = step;
    if (!hat_open(cx, &t->hat, &t->opts.hat, n * in->channels * in->height * in->width,
                  n * heed_picture_set_data(opts.set)->classes))
        return false;
    t->batches = picture_batches_open(cx, &opts);
    return t->batches;
}

static int64_t next(heed_ctx *cx, void *own) {
    heed_picture_training *t = own;
    t->part = heed_failed(cx) ? NULL : picture_batches_next(cx, t->batches);
    return t->part ? t->part->parts * hat_passes(cx, &t->hat, t->update++) : 0;
}

static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    heed_picture_training *t = own;
    const int64_t of_part = pass % t->hat.passes;
    if (pass > 0 && of_part == 0) t->part = picture_batches_next(cx, t->batches);
    const struct picture_part *const p = t->part;
    if (!p) return false;
    *share = p->n == p->total ? 1.0f : (float)p->n / (float)p->total;
    *in = (heed_io){0};
    if (!heed_io_put(cx, in, "pixel_values", hat_pixels(cx, &t->hat, of_part, pixels_of(cx, p, t->opts.input))))
        return false;
    if (!p->targets) return heed_io_put(cx, in, "labels", labels_of(cx, p));
    const int64_t shape[] = {p->n, heed_picture_set_data(t->opts.train)->classes};
    return heed_io_put(cx, in, "targets",
                       cx->config.dry ? heed_zeros(cx, HEED_F32, 2, shape)
                                      : heed_borrow(cx, HEED_F32, p->targets, 2, shape, NULL));
}

/* ---- the loss ---- */

/* Pictures as the teacher takes them: its normalisation and its size. */
static heed_tensor *teacher_pixels(heed_ctx *cx, const heed_picture_training_opts *o, heed_tensor *x) {
    const heed_picture_input *own = o->input, *its = o->teacher_input;
    float factor[4], term[4];
    bool same = true;
    for (int c = 0; c < own->channels; c++) {
        factor[c] = own->processor.std[c] / its->processor.std[c];
        term[c] = (own->processor.mean[c] - its->processor.mean[c]) / its->processor.std[c];
        same &= factor[c] == 1 && term[c] == 0;
    }
    if (!same) {
        const int64_t shape[] = {1, own->channels, 1, 1};
        heed_tensor *const by = heed_zeros(cx, HEED_F32, 4, shape), *const plus = heed_zeros(cx, HEED_F32, 4, shape);
        for (int c = 0; by && plus && !cx->config.dry && c < own->channels; c++) {
            ((float *)(void *)by->data)[c] = factor[c];
            ((float *)(void *)plus->data)[c] = term[c];
        }
        x = heed_add(cx, heed_mul(cx, x, by), plus);
    }
    if (own->height == its->height && own->width == its->width) return x;
    return heed_interpolate(
        cx, x, &(heed_interpolate_opts){.kind = HEED_BICUBIC, .size = {its->height, its->width}, .antialias = true});
}

/* The teacher's logits (B, classes), without gradient. */
static heed_tensor *teach(heed_ctx *cx, const heed_picture_training_opts *o, heed_tensor *pixels) {
    heed_io in = {0}, out;
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    heed_tensor *logits = NULL;
    if (heed_io_put(cx, &in, "pixel_values", teacher_pixels(cx, o, pixels)) &&
        heed_model_forward(cx, o->teacher, &in, &out))
        logits = heed_contiguous(cx, heed_io_get(&out, "logits"));
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    return logits;
}

/* The class with the largest of each row; the first of equals. */
static heed_tensor *classes_of(heed_ctx *cx, const heed_tensor *logits) {
    if (heed_failed(cx) || !logits) return NULL;
    const int64_t B = logits->shape[0], L = logits->shape[1];
    heed_tensor *const t = heed_zeros(cx, HEED_I32, 1, &B);
    for (int64_t i = 0; t && !cx->config.dry && i < B; i++)
        ((int32_t *)(void *)t->data)[i] = (int32_t)kernel_best(heed_f32(logits) + i * L, L);
    return t;
}

/* T^2 KL(softmax(teacher / T), softmax(student / T)), the mean over examples: cross entropy less the teacher's entropy.
 */
static heed_tensor *soft_loss(heed_ctx *cx, heed_tensor *student, heed_tensor *teacher, float temperature) {
    const float by = 1 / temperature;
    if (heed_failed(cx) || !student || !teacher) return NULL;
    const bool recording = heed_set_grad(cx, false);
    heed_tensor *const cold = heed_affine(cx, teacher, by, 0), *const p = heed_softmax(cx, cold, -1);
    heed_tensor *const entropy = heed_cross_entropy_soft(cx, cold, p, NULL);
    heed_set_grad(cx, recording);
    heed_tensor *const loss = heed_cross_entropy_soft(cx, heed_affine(cx, student, by, 0), p, NULL);
    return heed_affine(cx, heed_sub(cx, loss, entropy), temperature * temperature, 0);
}

static heed_tensor *label_loss(heed_ctx *cx, const heed_picture_training_opts *o, heed_tensor *logits,
                               const heed_io *in) {
    const heed_cross_entropy_opts opts = {.smoothing = (float)o->smoothing};
    heed_tensor *const targets = heed_io_get(in, "targets");
    return targets ? heed_cross_entropy_soft(cx, logits, targets, &opts)
                   : heed_cross_entropy(cx, logits, heed_io_get(in, "labels"), &opts);
}

/* The loss of a model's outputs. */
static heed_tensor *loss_of(heed_ctx *cx, const heed_picture_training_opts *o, const heed_io *in, const heed_io *out,
                            heed_tensor *taught) {
    heed_tensor *const logits = heed_io_get(out, "logits"), *const distilled = heed_io_get(out, "distillation_logits");
    if (!o->teacher) return label_loss(cx, o, logits, in);
    heed_tensor *const student = distilled ? distilled : logits;
    heed_tensor *const labels = label_loss(cx, o, hat_logits(out), in);
    heed_tensor *const teacher = o->distillation == HEED_DISTIL_SOFT
                                     ? soft_loss(cx, student, taught, (float)o->temperature)
                                     : heed_cross_entropy(cx, student, classes_of(cx, taught), NULL);
    const float alpha = (float)o->alpha;
    return heed_add(cx, heed_affine(cx, labels, 1 - alpha, 0), heed_affine(cx, teacher, alpha, 0));
}

/* Passes of HAT beyond the first have no share in the loss that is reported, which is that of the pictures as they are.
 */
static bool forward(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out) {
    const heed_picture_training *const t = own;
    const heed_picture_training_opts *o = &t->opts;
    heed_tensor *const pixels = heed_io_get(in, "pixel_values");
    heed_tensor *const taught = o->teacher ? teach(cx, o, pixels) : NULL;
    heed_io inputs = {0};
    if (!hat_look(cx, &t->hat, model, pixels) || !heed_io_put(cx, &inputs, "pixel_values", pixels) ||
        !heed_model_forward(cx, model, &inputs, out))
        return false;
    heed_tensor *const loss = loss_of(cx, o, in, out, taught);
    if (!t->hat.opts) return heed_io_put(cx, out, "loss", loss);
    return heed_io_put(cx, out, "training_loss", hat_goal(cx, &t->hat, loss, hat_logits(out))) &&
           heed_io_put(cx, out, "loss", t->hat.pass == 0 ? loss : heed_affine(cx, loss, 0, 0));
}

/* ---- measuring ---- */

const char *heed_picture_metrics(int64_t classes) { return classes > TOP ? "accuracy top5_accuracy" : "accuracy"; }

struct tally {
    double loss;
    int64_t right, among; /* the first TOP */
};

static bool count(heed_ctx *cx, const struct picture_part *p, const heed_tensor *logits, int32_t *predicted,
                  struct tally *t) {
    const int64_t L = logits->shape[1];
    for (int64_t i = 0; !cx->config.dry && i < p->n; i++) {
        const float *row = heed_f32(logits) + i * L, own = row[p->label[i]];
        const int64_t best = kernel_best(row, L);
        int64_t before = 0;
        for (int64_t j = 0; j < L; j++) {
            if (!isfinite(row[j]))
                return heed_fail(cx, HEED_ERR_RANGE, "picture %lld: the model's output is not a finite number",
                                 (long long)p->row[i] + 1);
            before += row[j] > own || (row[j] == own && j < p->label[i]);
        }
        t->right += best == p->label[i];
        t->among += before < TOP;
        if (predicted) predicted[i] = (int32_t)best;
    }
    return true;
}

static bool measure_part(heed_ctx *cx, const heed_model *model, const heed_picture_input *input,
                         const struct picture_part *p, const float *band, int32_t *predicted, struct tally *t) {
    heed_io in = {0}, out;
    heed_tensor *const x = p ? pixels_of(cx, p, input) : NULL;
    if (!x || !heed_io_put(cx, &in, "pixel_values", band ? heed_fourier_band(cx, x, band[0], band[1]) : x) ||
        !heed_model_forward(cx, model, &in, &out))
        return false;
    heed_tensor *const logits = heed_contiguous(cx, heed_io_get(&out, "logits"));
    heed_tensor *const loss = heed_cross_entropy(cx, logits, labels_of(cx, p), NULL);
    if (!loss) return heed_failed(cx) ? false : heed_fail(cx, HEED_ERR_USAGE, "pictures: the model gives no logits");
    t->loss += (double)heed_item(cx, loss) * (double)p->n;
    if (heed_failed(cx) || !count(cx, p, logits, predicted, t)) return false;
    heed_reset(cx);
    return true;
}

bool heed_picture_measure(heed_ctx *cx, const heed_model *model, const heed_picture_set *set,
                          const heed_picture_input *input, const heed_picture_measure_opts *opts, heed_score *score) {
    if (heed_failed(cx)) return false;
    if (!model || !set || !input || !opts || !score)
        return heed_fail(cx, HEED_ERR_USAGE, "pictures: a model, pictures and a place for the score are needed");
    const int64_t n = opts->rows ? opts->n : heed_picture_set_data(set)->n;
    const int64_t batch = opts->batch > 0 ? opts->batch : EVALUATION_BATCH;
    const struct picture_batches_opts with = {.set = set,
                                              .rows = opts->rows,
                                              .n = n,
                                              .input = input,
                                              .batch = batch < n ? batch : n,
                                              .repeats = 1,
                                              .workers = opts->workers};
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    struct picture_batches *b = picture_batches_open(cx, &with);
    struct tally t = {0};
    for (int64_t done = 0; b && done < n && !heed_cancelled(cx);) {
        const struct picture_part *p = picture_batches_next(cx, b);
        if (!measure_part(cx, model, input, p, opts->band, opts->predicted ? opts->predicted + done : NULL, &t)) break;
        done += p->n;
    }
    picture_batches_close(cx, b);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    *score = (heed_score){t.loss / (double)n, (double)t.right / (double)n, {(double)t.among / (double)n}};
    return !heed_failed(cx);
}

static bool measure_rows(heed_ctx *cx, const heed_picture_training_opts *o, const heed_model *model,
                         const heed_picture_set *set, const int64_t *rows, int64_t n, heed_score *score) {
    const int64_t batch = o->micro_batch > 0 ? o->micro_batch : EVALUATION_BATCH;
    const heed_picture_measure_opts opts = {.rows = rows, .n = n, .batch = batch, .workers = o->workers};
    return heed_picture_measure(cx, model, set, o->input, &opts, score);
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const heed_picture_training_opts *o = &((const heed_picture_training *)own)->opts;
    return test ? measure_rows(cx, o, model, o->test, NULL, 0, score)
                : measure_rows(cx, o, model, o->valid, o->valid_rows, o->n_valid, score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score) {
    const heed_picture_training_opts *o = &((const heed_picture_training *)own)->opts;
    int64_t *const rows = loop_rows(cx, o->valid_rows, some, n);
    const bool ok = rows && measure_rows(cx, o, model, o->valid, rows, n, score);
    heed_mem_free(cx, rows);
    return ok;
}

static int64_t pictures_in(const heed_picture_set *set) { return set ? heed_picture_set_data(set)->n : 0; }

/* ---- what a checkpoint must agree with ---- */

static void put_augment(heed_ctx *cx, heed_json at, const heed_augment *a) {
    const struct {
        const char *name;
        double value;
    } fields[] = {{"crop area", a->area_low},
                  {"crop padding", (double)a->padding},
                  {"padding kind", a->padding > 0 ? (double)a->padding_kind : 0},
                  {"flip", a->flip},
                  {"vertical flip", a->flip_vertical},
                  {"RandAugment operations", a->rand_operations},
                  {"RandAugment magnitude", a->rand_operations > 0 ? a->rand_magnitude : 0},
                  {"RandAugment deviation", a->rand_operations > 0 ? a->rand_std : 0},
                  {"RandAugment kind", a->rand_operations > 0 ? (double)a->rand_kind : 0},
                  {"brightness", a->brightness},
                  {"contrast", a->contrast},
                  {"saturation", a->saturation},
                  {"hue", a->hue},
                  {"erase", a->erase},
                  {"erase noise", a->erase_noise},
                  {"cutout", (double)a->cutout},
                  {"mixup", a->mixup},
                  {"CutMix", a->cutmix},
                  {"mix", a->mix},
                  {"mix cut", a->mix_cut}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value != 0) notes_put_number(cx, at, fields[i].name, fields[i].value);
}

static void put_hat(heed_ctx *cx, heed_json at, const heed_hat *h) {
    if (h->iterations == 0) return;
    notes_put_number(cx, at, "HAT iterations", (double)h->iterations);
    notes_put_number(cx, at, "HAT updates", (double)h->updates);
    notes_put_number(cx, at, "HAT step", h->step);
    notes_put_number(cx, at, "HAT radius", h->radius);
    notes_put_number(cx, at, "HAT KL weight", h->kl_weight);
    notes_put_number(cx, at, "HAT cross-entropy weight", h->ce_weight);
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    heed_picture_training *t = own;
    const heed_picture_training_opts *o = &t->opts;
    picture_batches_name(t->train, o->train, o->train_rows, o->n_train);
    picture_batches_name(t->valid, o->valid, o->valid_rows, o->n_valid);
    notes_put_source(cx, at, t->train, t->valid, o->batch, o->micro_batch);
    if (o->augment) put_augment(cx, at, o->augment);
    if (o->repeats > 1) notes_put_number(cx, at, "repeats", (double)o->repeats);
    if (o->smoothing > 0) notes_put_number(cx, at, "label smoothing", o->smoothing);
    put_hat(cx, at, &o->hat);
    if (!o->teacher) return;
    heed_json_put_text(cx, at, "distillation", o->distillation == HEED_DISTIL_SOFT ? "soft" : "hard");
    notes_put_number(cx, at, "distillation alpha", o->alpha);
    notes_put_number(cx, at, "temperature", o->temperature);
}

/* ---- making ---- */

static bool opts_ok(heed_ctx *cx, const heed_picture_training_opts *o) {
    if (heed_failed(cx)) return false;
    if (!o || !o->train || !o->input || o->batch < 1 || o->micro_batch < 0 || o->repeats < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "pictures: data and a positive batch are needed");
    if (!(o->smoothing >= 0 && o->smoothing < 1))
        return heed_fail(cx, HEED_ERR_RANGE, "pictures: label smoothing %g: should be at least 0 and less than 1",
                         o->smoothing);
    if (o->teacher && (!o->teacher_input || !(o->alpha >= 0 && o->alpha <= 1) || !(o->temperature > 0)))
        return heed_fail(cx, HEED_ERR_RANGE,
                         "pictures: a teacher needs an alpha from 0 to 1 and a temperature above 0");
    if (o->teacher && o->teacher_input->channels != o->input->channels)
        return heed_fail(cx, HEED_ERR_SHAPE, "pictures: the teacher takes %d channels, the model %d",
                         o->teacher_input->channels, o->input->channels);
    return hat_check(cx, &o->hat) && (!o->augment || heed_augment_check(cx, o->augment));
}

heed_picture_training *heed_picture_training_new(heed_ctx *cx, const heed_picture_training_opts *opts) {
    if (!opts_ok(cx, opts)) return NULL;
    heed_picture_training *t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (heed_picture_training){.opts = *opts, .hat = {.passes = 1}};
    heed_picture_training_opts *o = &t->opts;
    if (!o->train_rows) o->n_train = heed_picture_set_data(o->train)->n;
    if (o->repeats < 1) o->repeats = 1;
    if (o->batch > o->n_train) {
        heed_fail(cx, HEED_ERR_RANGE, "train: a batch of %lld pictures is larger than the data, which has %lld",
                  (long long)o->batch, (long long)o->n_train);
        heed_mem_free(cx, t);
        return NULL;
    }
    const struct picture_batches_opts batches = batches_of(t, 0);
    const int64_t per_epoch = picture_batches_per_epoch(&batches);
    t->loop =
        (heed_loop_source){.own = t,
                           .unit = "examples",
                           .metrics = t->metrics.list,
                           .per_epoch = per_epoch,
                           .passes = picture_batches_parts(&batches) * (o->hat.iterations > 1 ? o->hat.iterations : 1),
                           .valid = o->valid != NULL,
                           .test = o->test != NULL,
                           .n_train = o->n_train,
                           .n_valid = o->valid_rows ? o->n_valid : pictures_in(o->valid),
                           .n_test = pictures_in(o->test),
                           .plan_from = per_epoch > 1 ? per_epoch - 2 : 0,
                           .n_plan = 3,
                           .seen = seen,
                           .seek = seek,
                           .next = next,
                           .feed = feed,
                           .forward = forward,
                           .measure = measure,
                           .measure_some = measure_some,
                           .settings = settings,
                           .close = close};
    if (heed_metrics_find(cx, heed_picture_metrics(heed_picture_set_data(o->train)->classes), &t->metrics)) return t;
    heed_mem_free(cx, t);
    return NULL;
}

void heed_picture_training_free(heed_ctx *cx, heed_picture_training *t) {
    if (!t) return;
    close(cx, t);
    heed_mem_free(cx, t);
}

const heed_loop_source *heed_picture_training_source(const heed_picture_training *t) { return t ? &t->loop : NULL; }

/* ---- a sheet ---- */

/* Floats back to the bytes that one can look at. */
static bool unprocess(heed_ctx *cx, const heed_picture_input *in, const float *x, heed_image *out) {
    const heed_image_processor *p = &in->processor;
    const int64_t pixels = in->height * in->width;
    if (!heed_image_new(cx, in->width, in->height, in->channels, out)) return false;
    for (int c = 0; c < in->channels; c++)
        for (int64_t i = 0; i < pixels; i++) {
            const double v = p->normalize ? (double)x[c * pixels + i] * (double)p->std[c] + (double)p->mean[c]
                                          : (double)x[c * pixels + i];
            out->data[i * in->channels + c] = (uint8_t)fmax(0, fmin(255, rint(v / (p->rescale ? p->scale : 1))));
        }
    return true;
}

bool heed_picture_training_sheet(heed_ctx *cx, const heed_picture_training *t, int64_t most, int64_t columns,
                                 heed_image *out) {
    if (heed_failed(cx)) return false;
    if (!t || !out) return heed_fail(cx, HEED_ERR_USAGE, "pictures: the %s is NULL", t ? "sheet" : "training");
    struct picture_batches_opts opts = batches_of(t, 0);
    opts.workers = 0;
    struct picture_batches *b = picture_batches_open(cx, &opts);
    const struct picture_part *p = b ? picture_batches_next(cx, b) : NULL;
    const int64_t n = p && p->n < most ? p->n : most,
                  each = (int64_t)t->opts.input->channels * t->opts.input->height * t->opts.input->width;
    heed_image *cells = p ? heed_mem_new(cx, (size_t)n * sizeof *cells) : NULL;
    if (cells) memset(cells, 0, (size_t)n * sizeof *cells);
    for (int64_t i = 0; cells && i < n; i++)
        if (!unprocess(cx, t->opts.input, p->pixels + i * each, &cells[i])) break;
    const bool ok = cells && !heed_failed(cx) && heed_image_grid(cx, cells, n, columns < n ? columns : n, 2, out);
    for (int64_t i = 0; cells && i < n; i++) heed_image_free(cx, &cells[i]);
    heed_mem_free(cx, cells);
    picture_batches_close(cx, b);
    return ok;
}
