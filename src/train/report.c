/* How good predictions are, class by class and output by output; the figures of scikit-learn's classification_report,
 * r2_score, mean_absolute_error and root_mean_squared_error. Sums are in double and in the order of the examples. */
#include "base/checked.h"
#include "heed/loop.h"

#include <math.h>
#include <string.h>

#define MAX_CONFUSED 4096 /* classes of a confusion matrix: 128 MB */

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static bool count(heed_ctx *cx, heed_class_report *r, const int32_t *label, const int32_t *predicted, int64_t *right) {
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t t = label[i], p = predicted[i];
        if (t < 0 || t >= r->classes || p < 0 || p >= r->classes)
            return heed_fail(cx, HEED_ERR_RANGE, "class_report: example %lld: class %lld, said to be %lld, of %lld",
                             (long long)i, (long long)t, (long long)p, (long long)r->classes);
        r->score[t].support++;
        r->score[p].predicted++;
        right[t] += t == p;
        if (r->confusion) r->confusion[t * r->classes + p]++;
    }
    return true;
}

/* Classes that neither occur nor are predicted do not count. */
static void average(heed_class_report *r, const int64_t *right) {
    double all = 0;
    int64_t present = 0;
    for (int64_t k = 0; k < r->classes; k++) {
        heed_class_score *s = &r->score[k];
        const double hits = (double)right[k], support = (double)s->support, predicted = (double)s->predicted;
        s->precision = ratio(hits, predicted);
        s->recall = ratio(hits, support);
        s->f1 = ratio(2 * hits, support + predicted);
        all += hits;
        if (s->support == 0 && s->predicted == 0) continue;
        present++;
        r->macro.precision += s->precision;
        r->macro.recall += s->recall;
        r->macro.f1 += s->f1;
        r->weighted.precision += support * s->precision;
        r->weighted.recall += support * s->recall;
        r->weighted.f1 += support * s->f1;
    }
    heed_class_score *const means[] = {&r->macro, &r->weighted};
    for (int i = 0; i < 2; i++) {
        const double over = i == 0 ? (double)present : (double)r->n;
        means[i]->precision = ratio(means[i]->precision, over);
        means[i]->recall = ratio(means[i]->recall, over);
        means[i]->f1 = ratio(means[i]->f1, over);
        means[i]->support = means[i]->predicted = r->n;
    }
    r->accuracy = ratio(all, (double)r->n);
}

static void *zeros(heed_ctx *cx, int64_t n, size_t size) {
    size_t bytes;
    if (!size_mul((size_t)n, size, &bytes)) bytes = SIZE_MAX; /* which is refused */
    void *block = heed_mem_new(cx, bytes);
    if (block) memset(block, 0, bytes);
    return block;
}

heed_class_report *heed_class_report_new(heed_ctx *cx, const int32_t *label, const int32_t *predicted, int64_t n,
                                         int64_t classes) {
    if (heed_failed(cx)) return NULL;
    if (!label || !predicted || n < 1 || classes < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "class_report: %lld examples of %lld classes, or no classes are given",
                         (long long)n, (long long)classes),
               NULL;
    heed_class_report *r = zeros(cx, 1, sizeof *r);
    int64_t *right = zeros(cx, classes, sizeof *right);
    if (r) {
        r->n = n;
        r->classes = classes;
        r->score = zeros(cx, classes, sizeof *r->score);
        if (classes <= MAX_CONFUSED) r->confusion = zeros(cx, classes * classes, sizeof *r->confusion);
    }
    const bool ok = !heed_failed(cx) && count(cx, r, label, predicted, right);
    if (ok) average(r, right);
    heed_mem_free(cx, right);
    if (ok) return r;
    heed_class_report_free(cx, r);
    return NULL;
}

void heed_class_report_free(heed_ctx *cx, heed_class_report *r) {
    if (!r) return;
    heed_mem_free(cx, r->confusion);
    heed_mem_free(cx, r->score);
    heed_mem_free(cx, r);
}

/* ---- numbers ---- */

/* R^2 of an output that is constant is 1 when it is met exactly and 0 when not. */
static heed_output_score score_output(const float *y, const float *predicted, int64_t n, int64_t stride) {
    double mean = 0, spread = 0, squares = 0, distance = 0;
    for (int64_t i = 0; i < n; i++) mean += (double)y[i * stride];
    mean /= (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double away = (double)y[i * stride] - mean, miss = (double)predicted[i * stride] - (double)y[i * stride];
        spread += away * away;
        squares += miss * miss;
        distance += fabs(miss);
    }
    return (heed_output_score){.r2 = spread > 0    ? 1 - squares / spread
                                     : squares > 0 ? 0
                                                   : 1,
                               .mae = distance / (double)n,
                               .rmse = sqrt(squares / (double)n)};
}

bool heed_output_scores(heed_ctx *cx, const float *y, const float *predicted, int64_t n, int64_t outputs,
                        heed_output_score *scores) {
    if (heed_failed(cx)) return false;
    if (!y || !predicted || !scores || n < 1 || outputs < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "output_scores: %lld examples of %lld outputs, or none are given",
                         (long long)n, (long long)outputs);
    for (int64_t j = 0; j < outputs; j++) scores[j] = score_output(y + j, predicted + j, n, outputs);
    return true;
}
