/* Feeding a model with vectors, and measuring it. Sums are in double and in the order of the examples. */
#include "base/ctx.h"
#include "heed/loop.h"
#include "kernel/reduce.h"
#include <math.h>
#include <string.h>

#define EVALUATION_BATCH  500 /* examples */
#define EVALUATION_TOKENS 4096

const char *heed_loop_metric(const heed_data *data) { return data && data->label ? "accuracy" : "r2"; }

bool heed_loop_feed(heed_ctx *cx, const heed_batch *b, heed_io *in) {
    if (heed_failed(cx)) return false;
    if (!b || !in || b->n < 1) return heed_fail(cx, HEED_ERR_USAGE, "feed: a batch and a place for inputs are needed");
    *in = (heed_io){0};
    for (int k = 0; k < b->columns; k++)
        heed_io_put(cx, in, b->column[k].name, heed_batch_tensor(cx, b, b->column[k].name));
    return !heed_failed(cx);
}

/* ---- running over a data set ---- */

static bool is_ragged(const heed_dataset *set) {
    for (int k = 0; k < set->columns; k++)
        if (set->column[k].ragged) return true;
    return false;
}

static bool run_batch(heed_ctx *cx, const heed_model *model, const heed_batch *b, const heed_over_opts *o,
                      double *sum) {
    heed_io in, out;
    if (!b || !heed_loop_feed(cx, b, &in)) return false;
    in.loss_only = o->loss_only;
    if (!(o->forward ? o->forward(cx, o->data, model, &in, &out) : heed_model_forward(cx, model, &in, &out)))
        return false;
    if (sum && !heed_io_get(&out, "loss"))
        return heed_fail(cx, HEED_ERR_USAGE, "evaluate: the model gives no loss for these targets");
    if (sum) *sum += (double)heed_item(cx, heed_io_get(&out, "loss")) * (double)b->weight;
    if (heed_failed(cx) || (o->take && !o->take(cx, o->own, b, &out))) return false;
    heed_reset(cx);
    return true;
}

bool heed_loop_over(heed_ctx *cx, const heed_model *model, const heed_dataset *set, const heed_over_opts *opts,
                    double *loss) {
    const heed_over_opts o = opts ? *opts : (heed_over_opts){0};
    if (heed_failed(cx)) return false;
    if (!model || !set) return heed_fail(cx, HEED_ERR_USAGE, "evaluate: a model and data are needed");
    const int64_t all = o.rows ? o.n_rows : set->n, batch = o.batch > 0 ? o.batch : EVALUATION_BATCH;
    heed_batches_opts with = {.batch = batch < all ? batch : all, .rows = o.rows, .n_rows = o.n_rows};
    heed_groups groups = {0};
    if (is_ragged(set)) {
        const heed_groups_opts by = {.tokens = o.batch > 0    ? 0
                                               : o.tokens > 0 ? o.tokens
                                                              : EVALUATION_TOKENS,
                                     .examples = o.batch,
                                     .rows = o.rows,
                                     .n_rows = o.n_rows};
        if (!heed_dataset_group(cx, set, &by, &groups)) return false;
        with = (heed_batches_opts){.groups = &groups};
    }
    with.transform = o.transform;
    with.own = o.data;
    with.seed = o.seed;
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    heed_batches *batches = heed_batches_open(cx, set, &with);
    double sum = 0, weight = 0;
    for (int64_t done = 0; batches && done < all && !heed_cancelled(cx);) {
        const heed_batch *b = heed_batches_next(cx, batches);
        if (!run_batch(cx, model, b, &o, loss ? &sum : NULL)) break;
        weight += (double)b->weight;
        done += b->n;
    }
    heed_batches_close(cx, batches);
    heed_groups_free(cx, &groups);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    if (loss) *loss = sum / weight;
    return !heed_failed(cx);
}

/* ---- what is counted ---- */

struct tally {
    const heed_data *data;
    int64_t done; /* examples so far */
    int64_t right;
    double *missed; /* (outputs): sum of (y - prediction)^2 */
    int32_t *label; /* predictions of all examples, or NULL */
    float *y;
};

/* The class of a row of logits: the first of the largest, or of a single one whether it is positive. */
static int64_t class_of(const float *logits, int64_t n) { return n == 1 ? logits[0] > 0.0f : kernel_best(logits, n); }

/* Example number i of the data. */
static bool all_finite(heed_ctx *cx, const heed_data *data, int64_t i, const float *y, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(y[j]))
            return heed_fail(cx, HEED_ERR_RANGE, "%s %lld: the model's output is not a finite number",
                             data->line ? "line" : "example", (long long)(data->line ? data->line[i] : i + 1));
    return true;
}

/* Keeps the predictions of n examples from number `from` on. */
static bool keep_predictions(heed_ctx *cx, struct tally *t, const float *value, int64_t from, int64_t n,
                             int64_t width) {
    if (!t->label && !t->y) return true;
    for (int64_t i = 0; i < n; i++) {
        if (!all_finite(cx, t->data, from + i, value + i * width, width)) return false;
        if (t->label) t->label[from + i] = (int32_t)class_of(value + i * width, width);
    }
    if (t->y) memcpy(t->y + from * width, value, (size_t)(n * width) * sizeof *value);
    return true;
}

static bool count_batch(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out) {
    struct tally *t = own;
    const int32_t *label = heed_batch_i32(b, "labels");
    const float *y = heed_batch_f32(b, "y");
    heed_tensor *logits = heed_contiguous(cx, heed_io_get(out, "logits"));
    if (!heed_failed(cx) && !logits)
        return heed_fail(cx, HEED_ERR_USAGE, "evaluate: the model gives no logits for these targets");
    const float *value = heed_f32(logits);
    const int64_t width = heed_count(logits) / b->n, outputs = t->data->outputs;
    if (heed_failed(cx)) return false;
    if (cx->config.dry) return true; /* there is nothing to count */
    if (!value || (y && width != outputs))
        return heed_fail(cx, HEED_ERR_SHAPE, "evaluate: logits of %s for %lld examples of %lld outputs",
                         heed_shape_text(logits).s, (long long)b->n, (long long)outputs);
    if (!keep_predictions(cx, t, value, t->done, b->n, width)) return false;
    for (int64_t i = 0; label && i < b->n; i++) t->right += class_of(value + i * width, width) == label[i];
    for (int64_t i = 0; y && i < b->n * outputs; i++) {
        const double miss = (double)y[i] - (double)value[i];
        t->missed[i % outputs] += miss * miss;
    }
    t->done += b->n;
    return true;
}

/* 1 - sum of squared misses / sum of squared distances from the mean. Of an output that is constant, R^2 is 1 when it
 * is met exactly and 0 when not, as scikit-learn has it. */
static double r_squared(const struct tally *t, const int64_t *rows, int64_t n) {
    const heed_data *d = t->data;
    double sum = 0.0;
    for (int64_t j = 0; j < d->outputs; j++) {
        double mean = 0.0, spread = 0.0;
        for (int64_t i = 0; i < n; i++) mean += (double)d->y[(rows ? rows[i] : i) * d->outputs + j];
        mean /= (double)n;
        for (int64_t i = 0; i < n; i++) {
            const double away = (double)d->y[(rows ? rows[i] : i) * d->outputs + j] - mean;
            spread += away * away;
        }
        sum += spread > 0.0 ? 1.0 - t->missed[j] / spread : t->missed[j] > 0.0 ? 0.0 : 1.0;
    }
    return sum / (double)d->outputs;
}

static bool evaluate(heed_ctx *cx, const heed_model *model, struct tally *t, const int64_t *rows, int64_t n,
                     int64_t batch, heed_score *score) {
    const heed_data *data = t->data;
    if (heed_failed(cx)) return false;
    if (!model || !data || !score)
        return heed_fail(cx, HEED_ERR_USAGE, "evaluate: a model, data and a place for the score are needed");
    if (!data->label && !data->y) return heed_fail(cx, HEED_ERR_USAGE, "evaluate: the data set has no targets");
    if (!rows) n = data->n;
    if (batch <= 0) batch = EVALUATION_BATCH;
    if (data->y) {
        t->missed = heed_mem_new(cx, (size_t)data->outputs * sizeof *t->missed);
        if (!t->missed) return false;
        memset(t->missed, 0, (size_t)data->outputs * sizeof *t->missed);
    }
    heed_dataset set;
    const heed_over_opts opts = {
        .rows = rows, .n_rows = rows ? n : 0, .batch = batch < n ? batch : n, .take = count_batch, .own = t};
    double loss = 0;
    const bool ok = heed_data_columns(cx, data, &set) && heed_loop_over(cx, model, &set, &opts, &loss);
    if (ok) *score = (heed_score){loss, data->label ? (double)t->right / (double)n : 0.0, {0}};
    if (ok && data->y) score->metric = r_squared(t, rows, n);
    heed_mem_free(cx, t->missed);
    return ok;
}

bool heed_loop_evaluate(heed_ctx *cx, const heed_model *model, const heed_data *data, const int64_t *rows, int64_t n,
                        int64_t batch, heed_score *score) {
    return evaluate(cx, model, &(struct tally){.data = data}, rows, n, batch, score);
}

bool heed_loop_predict(heed_ctx *cx, const heed_model *model, const heed_data *data, int64_t batch, heed_score *score,
                       int32_t *label, float *y) {
    if (!heed_failed(cx) && data && (data->label ? !label : !y))
        return heed_fail(cx, HEED_ERR_USAGE, "predict: a place for the predictions is needed");
    struct tally t = {.data = data, .label = data && data->label ? label : NULL, .y = data && data->label ? NULL : y};
    return evaluate(cx, model, &t, NULL, 0, batch, score);
}
