/* Feeding a model with vectors, and measuring it. Sums are in double and in the order of the examples. */
#include "base/ctx.h"
#include "heed/loop.h"
#include <math.h>
#include <string.h>

#define EVALUATION_BATCH 500

const char *heed_loop_metric(const heed_data *data) { return data && data->label ? "accuracy" : "r2"; }

bool heed_loop_feed(heed_ctx *cx, const heed_data *data, const heed_batch *b, int64_t from, int64_t n, heed_io *in) {
    if (heed_failed(cx)) return false;
    if (!data || !b || !in || from < 0 || n < 1 || n > b->n - from)
        return heed_fail(cx, HEED_ERR_USAGE, "feed: examples of a batch are needed");
    *in = (heed_io){0};
    const int64_t x[] = {n, data->width}, y[] = {n, data->outputs};
    heed_io_put(cx, in, "x", heed_borrow(cx, HEED_F32, b->x + from * data->width, 2, x, NULL));
    if (b->label) heed_io_put(cx, in, "labels", heed_borrow(cx, HEED_I32, b->label + from, 1, &n, NULL));
    if (b->y) heed_io_put(cx, in, "y", heed_borrow(cx, HEED_F32, b->y + from * data->outputs, 2, y, NULL));
    return !heed_failed(cx);
}

/* ---- what is counted ---- */

struct tally {
    const heed_data *data;
    double loss;
    int64_t right;
    double *missed; /* (outputs): sum of (y - prediction)^2 */
    int32_t *label; /* predictions of all examples, or NULL */
    float *y;
};

/* The class of a row of logits: the first of the largest, or of a single one whether it is positive. */
static int64_t class_of(const float *logits, int64_t n) {
    int64_t best = 0;
    if (n == 1) return logits[0] > 0.0f;
    for (int64_t j = 1; j < n; j++)
        if (logits[j] > logits[best]) best = j;
    return best;
}

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

static bool count_batch(heed_ctx *cx, struct tally *t, const heed_batch *b, const heed_io *out, int64_t done) {
    heed_tensor *logits = heed_contiguous(cx, heed_io_get(out, "logits")), *loss = heed_io_get(out, "loss");
    if (!heed_failed(cx) && (!logits || !loss))
        return heed_fail(cx, HEED_ERR_USAGE, "evaluate: the model gives no logits or no loss for these targets");
    const float *value = heed_f32(logits);
    t->loss += (double)heed_item(cx, loss) * (double)b->n;
    const int64_t width = heed_count(logits) / b->n, outputs = t->data->outputs;
    if (heed_failed(cx)) return false;
    if (cx->config.dry) return true; /* there is nothing to count */
    if (!value || (b->y && width != outputs))
        return heed_fail(cx, HEED_ERR_SHAPE, "evaluate: logits of %s for %lld examples of %lld outputs",
                         heed_shape_text(logits).s, (long long)b->n, (long long)outputs);
    if (!keep_predictions(cx, t, value, done, b->n, width)) return false;
    for (int64_t i = 0; b->label && i < b->n; i++) t->right += class_of(value + i * width, width) == b->label[i];
    for (int64_t i = 0; b->y && i < b->n * outputs; i++) {
        const double miss = (double)b->y[i] - (double)value[i];
        t->missed[i % outputs] += miss * miss;
    }
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

static bool measure(heed_ctx *cx, const heed_model *model, struct tally *t, const heed_batches_opts *opts, int64_t n) {
    heed_batches *batches = heed_batches_open(cx, t->data, opts);
    for (int64_t done = 0; batches && done < n && !heed_cancelled(cx);) {
        const heed_batch *b = heed_batches_next(cx, batches);
        heed_io in, out;
        if (!b || !heed_loop_feed(cx, t->data, b, 0, b->n, &in)) break;
        if (!heed_model_forward(cx, model, &in, &out) || !count_batch(cx, t, b, &out, done)) break;
        done += b->n;
        heed_reset(cx);
    }
    heed_batches_close(cx, batches);
    return !heed_failed(cx);
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
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    const heed_batches_opts opts = {.batch = batch < n ? batch : n, .rows = rows, .n_rows = rows ? n : 0};
    const bool ok = measure(cx, model, t, &opts, n);
    if (ok) *score = (heed_score){t->loss / (double)n, data->label ? (double)t->right / (double)n : 0.0};
    if (ok && data->y) score->metric = r_squared(t, rows, n);
    heed_mem_free(cx, t->missed);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
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
