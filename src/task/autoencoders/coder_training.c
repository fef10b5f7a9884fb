/* Pictures as the loop's source, for autoencoders: what goes in is what is to come out, or a noisy copy of it. */
#include "task/autoencoders/coder_training.h"
#include "base/ctx.h"
#include "heed/autoencode.h"
#include "task/vision/picture_batches.h"
#include "tensor/engine.h"
#include "train/loop.h"
#include <string.h>

struct heed_coder_training {
    heed_coder_training_opts opts;
    struct picture_batches_opts batches_opts;
    heed_metrics metrics;
    heed_loop_source loop;
    struct picture_batches *batches;
    const struct picture_part *part; /* under way */
    int64_t numbers;                 /* of a picture */
    char train[NOTES_DATA], valid[NOTES_DATA];
};

static bool corrupts(const heed_corruption *c) { return c->noise > 0 || c->mask > 0; }

/* Static binarisation is of the stream that validation has, too. */
static void alter(const void *own, int64_t epoch, int64_t row, const float *pixels, float *altered) {
    const heed_coder_training *const t = own;
    const bool anew = t->opts.corruption.binarize != HEED_BINARIZE_STATIC;
    heed_corrupt(&t->opts.corruption, t->opts.seed, CODER_STREAM_TRAIN + (anew ? 1 + (uint64_t)epoch : 0), row,
                 t->numbers, pixels, altered);
}

/* ---- what the loop asks for ---- */

static int64_t seen(const void *own, int64_t step) {
    const heed_coder_training *const t = own;
    const int64_t some = step % t->loop.per_epoch * t->opts.batch, n = t->opts.n_train;
    return step / t->loop.per_epoch * n + (some < n ? some : n);
}

static void close(heed_ctx *cx, void *own) {
    heed_coder_training *const t = own;
    picture_batches_close(cx, t->batches);
    t->batches = NULL;
    t->part = NULL;
}

static bool seek(heed_ctx *cx, void *own, int64_t step) {
    heed_coder_training *const t = own;
    struct picture_batches_opts opts = t->batches_opts;
    opts.step = step;
    close(cx, own);
    t->batches = picture_batches_open(cx, &opts);
    return t->batches;
}

static int64_t next(heed_ctx *cx, void *own) {
    heed_coder_training *const t = own;
    t->part = heed_failed(cx) ? NULL : picture_batches_next(cx, t->batches);
    return t->part ? t->part->parts : 0;
}

static heed_tensor *pixels_of(heed_ctx *cx, const heed_coder_training *t, const float *at) {
    const heed_picture_input *const in = t->opts.input;
    const int64_t shape[] = {t->part->n, in->channels, in->height, in->width};
    return cx->config.dry ? heed_zeros(cx, HEED_F32, 4, shape) : heed_borrow(cx, HEED_F32, at, 4, shape, NULL);
}

static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    heed_coder_training *const t = own;
    if (pass > 0) t->part = picture_batches_next(cx, t->batches);
    const struct picture_part *const p = t->part;
    if (!p) return false;
    *share = p->n == p->total ? 1.0f : (float)p->n / (float)p->total;
    *in = (heed_io){.loss_only = true};
    return heed_io_put(cx, in, "pixel_values", pixels_of(cx, t, p->altered ? p->altered : p->pixels)) &&
           (!p->altered || heed_io_put(cx, in, "target", pixels_of(cx, t, p->pixels)));
}

/* ---- measuring ---- */

const char *coder_metrics(bool variational, bool estimated) {
    if (!variational) return "reconstruction";
    return estimated ? "elbo reconstruction kl log_likelihood" : "elbo reconstruction kl";
}

void coder_score(const heed_coder_score *from, bool variational, heed_score *to) {
    *to = (heed_score){.loss = from->loss, .metric = variational ? from->elbo : from->reconstruction};
    if (variational) {
        to->more[0] = from->reconstruction;
        to->more[1] = from->kl;
        to->more[2] = from->log_likelihood;
    }
}

static bool measure_rows(heed_ctx *cx, const heed_coder_training *t, const heed_model *model, bool test,
                         const int64_t *rows, int64_t n, heed_score *score) {
    const heed_coder_training_opts *const o = &t->opts;
    const uint64_t stream = test ? CODER_STREAM_TEST : o->valid != o->train ? CODER_STREAM_VALID : CODER_STREAM_TRAIN;
    const heed_coder_measure_opts opts = {
        .rows = rows, .n = n, .batch = o->micro_batch, .seed = o->seed, .stream = stream, .workers = o->workers};
    heed_coder_score found;
    if (!heed_coder_measure(cx, model, test ? o->test : o->valid, o->input, &opts, &found)) return false;
    coder_score(&found, o->variational, score);
    return true;
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const heed_coder_training *const t = own;
    return measure_rows(cx, t, model, test, test ? NULL : t->opts.valid_rows, t->opts.n_valid, score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score) {
    const heed_coder_training *const t = own;
    int64_t *const rows = loop_rows(cx, t->opts.valid_rows, some, n);
    const bool ok = rows && measure_rows(cx, t, model, false, rows, n, score);
    heed_mem_free(cx, rows);
    return ok;
}

/* ---- what a checkpoint must agree with ---- the model's config says how pictures are corrupted */

static void settings(heed_ctx *cx, void *own, heed_json at) {
    heed_coder_training *const t = own;
    const heed_coder_training_opts *const o = &t->opts;
    picture_batches_name(t->train, o->train, o->train_rows, o->n_train);
    picture_batches_name(t->valid, o->valid, o->valid_rows, o->n_valid);
    notes_put_source(cx, at, t->train, t->valid, o->batch, o->micro_batch);
}

/* ---- making ---- */

static bool opts_ok(heed_ctx *cx, const heed_coder_training_opts *o) {
    if (heed_failed(cx)) return false;
    if (!o || !o->train || !o->input || o->batch < 1 || o->micro_batch < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "autoencode: pictures and a positive batch are needed");
    return true;
}

static int64_t pictures_in(const heed_picture_set *set) { return set ? heed_picture_set_data(set)->n : 0; }

heed_coder_training *heed_coder_training_new(heed_ctx *cx, const heed_coder_training_opts *opts) {
    if (!opts_ok(cx, opts)) return NULL;
    heed_coder_training *const t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (heed_coder_training){.opts = *opts};
    heed_coder_training_opts *const o = &t->opts;
    if (!o->train_rows) o->n_train = pictures_in(o->train);
    if (!o->valid_rows) o->n_valid = pictures_in(o->valid);
    t->numbers = o->input->channels * o->input->height * o->input->width;
    const bool draws = corrupts(&o->corruption) || o->corruption.binarize != HEED_BINARIZE_NONE;
    t->batches_opts = (struct picture_batches_opts){.set = o->train,
                                                    .rows = o->train_rows,
                                                    .n = o->n_train,
                                                    .input = o->input,
                                                    .batch = o->batch,
                                                    .micro = o->micro_batch,
                                                    .repeats = 1,
                                                    .shuffle = true,
                                                    .alter = draws ? alter : NULL,
                                                    .own = t,
                                                    .both = corrupts(&o->corruption),
                                                    .seed = o->seed,
                                                    .workers = o->workers};
    const int64_t per_epoch = picture_batches_per_epoch(&t->batches_opts);
    t->loop = (heed_loop_source){.own = t,
                                 .unit = "examples",
                                 .metrics = t->metrics.list,
                                 .per_epoch = per_epoch,
                                 .passes = picture_batches_parts(&t->batches_opts),
                                 .valid = o->valid != NULL,
                                 .test = o->test != NULL,
                                 .n_train = o->n_train,
                                 .n_valid = o->n_valid,
                                 .n_test = pictures_in(o->test),
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
    if (heed_metrics_find(cx, coder_metrics(o->variational, false), &t->metrics)) return t;
    heed_mem_free(cx, t);
    return NULL;
}

void heed_coder_training_free(heed_ctx *cx, heed_coder_training *t) {
    if (!t) return;
    close(cx, t);
    heed_mem_free(cx, t);
}

const heed_loop_source *heed_coder_training_source(const heed_coder_training *t) { return t ? &t->loop : NULL; }
