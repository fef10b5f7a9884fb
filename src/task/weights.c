/* Class weights: the cross entropy of an example, or a word, counts as much as its class. As torch's cross_entropy with
 * `weight`: sum w_y loss / sum w_y over what counts. */
#include "base/ctx.h"
#include "io/text.h"
#include "task/task.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

/* n / (k n_c), as scikit-learn's "balanced". */
static bool balance(heed_ctx *cx, heed_task_data *d) {
    int64_t n, counted = 0;
    const int32_t *label = heed_task_truth(d, &n);
    for (int64_t c = 0; c < d->classes; c++) d->weight[c] = 0;
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0) d->weight[label[i]]++, counted++;
    for (int64_t c = 0; c < d->classes; c++) {
        if (d->weight[c] == 0)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: class '%s' has no examples to balance", d->name,
                             escaped(d->names[c]).s);
        d->weight[c] = (float)((double)counted / ((double)d->classes * (double)d->weight[c]));
    }
    return true;
}

static bool read_list(heed_ctx *cx, heed_task_data *d) {
    const char *at = d->opts.class_weights;
    int64_t n = 0;
    for (bool more = true; more; n++) {
        char one[NUMBER_ROOM] = "";
        double weight = 0;
        bool range;
        const size_t size = strcspn(at, ",");
        if (size < sizeof one) memcpy(one, at, size);
        more = at[size] == ',';
        if (!number_read(one, &weight, &range) || !(weight > 0) || !isfinite((float)weight))
            return heed_fail(cx, HEED_ERR_USAGE, "class weights '%s': must be balanced, or positive numbers as a,b,c",
                             escaped(d->opts.class_weights).s);
        if (n < d->classes) d->weight[n] = (float)weight;
        at += size + more;
    }
    if (n == d->classes) return true;
    return heed_fail(cx, HEED_ERR_USAGE, "class weights '%s': %lld for %lld classes, of which the first is '%s'",
                     escaped(d->opts.class_weights).s, (long long)n, (long long)d->classes, escaped(d->names[0]).s);
}

bool task_weigh(heed_ctx *cx, heed_task_data *d) {
    if (!d->opts.class_weights) return true;
    if (d->classes < 1) return heed_fail(cx, HEED_ERR_USAGE, "%s: there are no classes to weigh", d->name);
    d->weight = heed_mem_new(cx, (size_t)d->classes * sizeof *d->weight);
    if (!d->weight) return false;
    return strcmp(d->opts.class_weights, "balanced") == 0 ? balance(cx, d) : read_list(cx, d);
}

/* The share of each label in the loss, which sum to 1; 0 where it does not count. */
static heed_tensor *shares(heed_ctx *cx, const heed_tensor *labels, const float *weight, int64_t classes) {
    heed_tensor *const t = heed_zeros(cx, HEED_F32, heed_rank(labels), heed_shape(labels));
    if (!t || cx->config.dry) return t;
    const int32_t *const label = heed_i32(labels);
    const int64_t n = heed_count(labels);
    float *const share = (float *)(void *)t->data;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0 && label[i] < classes) sum += (double)weight[label[i]];
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0 && label[i] < classes) share[i] = (float)((double)weight[label[i]] / sum);
    return t;
}

heed_tensor *task_weighted_loss(heed_ctx *cx, heed_tensor *logits, heed_tensor *labels, const float *weight,
                                int64_t classes) {
    const heed_cross_entropy_opts opts = {.ignore = true, .ignore_index = HEED_NO_LABEL, .reduction = HEED_REDUCE_NONE};
    if (!logits || !labels) return NULL;
    heed_tensor *const each = heed_cross_entropy(cx, logits, labels, &opts);
    return each ? heed_sum(cx, heed_mul(cx, each, shares(cx, labels, weight, classes)), NULL, 0, false) : NULL;
}

bool task_weighted_forward(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out) {
    const heed_task_data *const d = own;
    heed_tensor *const labels = heed_io_get(in, "labels");
    heed_io rest = {0};
    if (!labels) return heed_model_forward(cx, model, in, out);
    for (int i = 0; i < in->n; i++)
        if (in->tensor[i] != labels && !heed_io_put(cx, &rest, in->name[i], in->tensor[i])) return false;
    if (!heed_model_forward(cx, model, &rest, out)) return false;
    heed_tensor *const loss = task_weighted_loss(cx, heed_io_get(out, "logits"), labels, d->weight, d->classes);
    return loss && heed_io_put(cx, out, "loss", loss);
}
