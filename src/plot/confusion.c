/* Confusion matrices: a heat map of shares with counts in its cells. */
#include "base/checked.h"
#include "plot/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Points to a cell, more where there are few, and of a side of the whole map. */
#define CELL       34.0
#define MAX_CELL   80.0
#define LEAST_CELL 1.0
#define LEAST_MAP  225.0
#define MAX_MAP    720.0

enum { DIGITS = 24 };

/* The share of its row that a cell holds, as its square root: a hundredth can still be seen. Blue is below 0. */
static float shade(int64_t count, int64_t row_sum, bool right) {
    const double depth = row_sum > 0 ? sqrt((double)count / (double)row_sum) : 0;
    return (float)(right ? -depth : depth);
}

struct confusion {
    float *values;
    const char **texts;
    char (*digits)[DIGITS];
};

static bool fill(heed_ctx *cx, const int64_t *counts, int64_t classes, struct confusion *c) {
    for (int64_t i = 0; i < classes; i++) {
        int64_t sum = 0;
        for (int64_t j = 0; j < classes; j++) {
            const int64_t count = counts[i * classes + j];
            if (count < 0 || !i64_add(sum, count, &sum))
                return heed_fail(cx, HEED_ERR_RANGE, "confusion: row %lld: the counts make no sense", (long long)i);
        }
        for (int64_t j = 0; j < classes; j++) {
            const int64_t at = i * classes + j;
            c->values[at] = shade(counts[at], sum, i == j);
            c->texts[at] = c->digits[at];
            c->digits[at][0] = 0;
            if (counts[at]) snprintf(c->digits[at], DIGITS, "%lld", (long long)counts[at]);
        }
    }
    return true;
}

bool heed_plot_confusion(heed_panel *p, const int64_t *counts, int64_t classes, const char *const *names) {
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    int64_t n;
    if (!counts || classes < 1 || !i64_mul(classes, classes, &n) || n > INT64_MAX / DIGITS)
        return heed_fail(cx, HEED_ERR_SHAPE, "confusion: no matrix can be (%lld,%lld)", (long long)classes,
                         (long long)classes);
    struct confusion c = {.values = heed_mem_new(cx, (size_t)n * sizeof *c.values),
                          .texts = heed_mem_new(cx, (size_t)n * sizeof *c.texts),
                          .digits = heed_mem_new(cx, (size_t)n * sizeof *c.digits)};
    const heed_heatmap how = {.map = HEED_MAP_DIVERGING,
                              .low = -1,
                              .high = 1,
                              .row_names = names,
                              .col_names = names,
                              .texts = c.texts,
                              .no_bar = true};
    const bool ok = !heed_failed(cx) && fill(cx, counts, classes, &c) &&
                    heed_panel_heatmap(p, c.values, classes, classes, &how) &&
                    heed_panel_labels(p, "predicted class", "true class");
    heed_mem_free(cx, c.digits);
    heed_mem_free(cx, c.texts);
    heed_mem_free(cx, c.values);
    const double usual = fmax(CELL, fmin(MAX_CELL, LEAST_MAP / (double)classes));
    if (ok && p->figure->rows * p->figure->cols == 1)
        p->figure->cell = fmax(LEAST_CELL, fmin(usual, MAX_MAP / (double)classes));
    return ok;
}
