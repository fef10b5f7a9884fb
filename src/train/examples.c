/* Tables and pictures as the loop's source. */
#include "train/loop.h"

#define LEAST_MEASURE 256 /* examples to evaluate at a time, unless micro-batches say otherwise */

struct heed_examples {
    heed_examples_opts opts;
    heed_dataset train, valid, test;
    heed_source *source;
};

static int64_t measured_at_once(const heed_examples_opts *o) {
    return o->micro_batch > 0 ? o->micro_batch : o->batch > LEAST_MEASURE ? o->batch : LEAST_MEASURE;
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const heed_examples_opts *o = &((const heed_examples *)own)->opts;
    if (test) return heed_loop_evaluate(cx, model, o->test, NULL, 0, measured_at_once(o), score);
    return heed_loop_evaluate(cx, model, o->valid, o->valid_rows, o->n_valid, measured_at_once(o), score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *rows, int64_t n,
                         heed_score *score) {
    const heed_examples_opts *o = &((const heed_examples *)own)->opts;
    return heed_loop_evaluate(cx, model, o->valid, rows, n, measured_at_once(o), score);
}

heed_examples *heed_examples_new(heed_ctx *cx, const heed_examples_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!opts || !opts->train) return heed_fail(cx, HEED_ERR_USAGE, "train: data are needed"), NULL;
    if (!opts->train->label && !opts->train->y)
        return heed_fail(cx, HEED_ERR_USAGE, "train: the data set has no targets"), NULL;
    heed_examples *e = heed_mem_new(cx, sizeof *e);
    if (!e) return NULL;
    *e = (heed_examples){.opts = *opts};
    heed_data_columns(cx, opts->train, &e->train);
    if (opts->valid) heed_data_columns(cx, opts->valid, &e->valid);
    if (opts->test) heed_data_columns(cx, opts->test, &e->test);
    e->source = heed_source_new(cx, &(heed_source_opts){.train = &e->train,
                                                        .valid = opts->valid ? &e->valid : NULL,
                                                        .test = opts->test ? &e->test : NULL,
                                                        .train_rows = opts->train_rows,
                                                        .n_train = opts->n_train,
                                                        .valid_rows = opts->valid_rows,
                                                        .n_valid = opts->n_valid,
                                                        .batch = opts->batch,
                                                        .micro_batch = opts->micro_batch,
                                                        .seed = opts->seed,
                                                        .own = e,
                                                        .measure = measure,
                                                        .measure_some = measure_some,
                                                        .metrics = heed_loop_metric(opts->train)});
    if (e->source) return e;
    heed_examples_free(cx, e);
    return NULL;
}

void heed_examples_free(heed_ctx *cx, heed_examples *e) {
    if (!e) return;
    heed_source_free(cx, e->source);
    heed_mem_free(cx, e);
}

const heed_loop_source *heed_examples_source(const heed_examples *e) { return e ? heed_source_loop(e->source) : NULL; }
