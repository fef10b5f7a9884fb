/* Data sets of vectors as the loop's source. */
#include "train/loop.h"

#define LEAST_MEASURE 256 /* examples to evaluate at a time, unless micro-batches say otherwise */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t examples_of(const heed_loop_opts *o) { return o->train_rows ? o->n_train : o->train->n; }

static int64_t seen(const void *own, int64_t step) {
    const struct vectors *v = own;
    const int64_t n = examples_of(&v->opts), per_epoch = (n - 1) / v->opts.batch + 1;
    return step / per_epoch * n + smaller(step % per_epoch * v->opts.batch, n);
}

static bool seek(heed_ctx *cx, void *own, int64_t step) {
    struct vectors *v = own;
    const heed_loop_opts *o = &v->opts;
    heed_batches_close(cx, v->batches);
    v->batches = heed_batches_open(cx, o->train,
                                   &(heed_batches_opts){.batch = o->batch,
                                                        .shuffle = true,
                                                        .seed = o->seed,
                                                        .rows = o->train_rows,
                                                        .n_rows = o->train_rows ? o->n_train : 0,
                                                        .index = step});
    return v->batches != NULL;
}

static int64_t most_at_once(const struct vectors *v) {
    return v->opts.micro_batch > 0 ? v->opts.micro_batch : v->opts.batch;
}

static int64_t next(heed_ctx *cx, void *own) {
    struct vectors *v = own;
    v->batch = heed_batches_next(cx, v->batches);
    return v->batch ? (v->batch->n - 1) / most_at_once(v) + 1 : 0;
}

static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    const struct vectors *v = own;
    const int64_t from = pass * most_at_once(v), n = smaller(most_at_once(v), v->batch->n - from);
    *share = (float)n / (float)v->batch->n;
    return heed_loop_feed(cx, v->opts.train, v->batch, from, n, in);
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const heed_loop_opts *o = &((const struct vectors *)own)->opts;
    const int64_t batch = o->micro_batch > 0 ? o->micro_batch : larger(o->batch, LEAST_MEASURE);
    if (test) return heed_loop_evaluate(cx, model, o->test, NULL, 0, batch, score);
    return heed_loop_evaluate(cx, model, o->valid, o->valid_rows, o->n_valid, batch, score);
}

/* Which examples: a number that changes when any of them does, or their order. */
static void describe(char text[NOTES_DATA], const heed_data *d, const int64_t *rows, int64_t n) {
    if (!d || *text) return;
    const size_t all = (size_t)d->n, inputs = all * (size_t)d->width;
    uint64_t hash = notes_mix((uint64_t)d->n, &d->width, sizeof d->width);
    if (d->x) hash = notes_mix(hash, d->x, inputs * sizeof *d->x);
    if (!d->x && d->bytes) hash = notes_mix(hash, d->bytes, inputs);
    if (d->label) hash = notes_mix(hash, d->label, all * sizeof *d->label);
    if (d->y) hash = notes_mix(hash, d->y, all * (size_t)d->outputs * sizeof *d->y);
    if (rows) hash = notes_mix(hash, rows, (size_t)n * sizeof *rows);
    notes_name_data(text, rows ? n : d->n, "examples", hash);
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    struct vectors *v = own;
    const heed_loop_opts *o = &v->opts;
    describe(v->train, o->train, o->train_rows, o->n_train);
    describe(v->valid, o->valid, o->valid_rows, o->n_valid);
    notes_put_source(cx, at, v->train, v->valid, o->batch, o->micro_batch);
}

static void close(heed_ctx *cx, void *own) {
    struct vectors *v = own;
    heed_batches_close(cx, v->batches);
    v->batches = NULL;
}

heed_loop_source vectors_source(struct vectors *v, const heed_loop_opts *opts) {
    *v = (struct vectors){.opts = *opts};
    const int64_t n = examples_of(opts), per_epoch = (n - 1) / opts->batch + 1;
    return (heed_loop_source){
        .own = v,
        .unit = "examples",
        .metric = heed_loop_metric(opts->train),
        .per_epoch = n > 0 ? per_epoch : 0,
        .passes = opts->micro_batch > 0 ? (opts->batch - 1) / opts->micro_batch + 1 : 1,
        .valid = opts->valid != NULL,
        .test = opts->test != NULL,
        .plan_from = per_epoch > 1 ? per_epoch - 2 : 0,
        .n_plan = 3, /* a whole batch, the last of an epoch, which may be smaller, and a whole one again */
        .seen = seen,
        .seek = seek,
        .next = next,
        .feed = feed,
        .measure = measure,
        .settings = settings,
        .close = close,
    };
}
