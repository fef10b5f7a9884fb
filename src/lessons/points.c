/* Points and attention pooling over them, in double: these figures are compared with NumPy's. */
#include "lessons/points.h"
#include "heed/data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const kernel_names[KERNELS] = {"gaussian", "boxcar", "triangular", "epanechnikov"};

/* ---- points ---- */

static bool points_room(struct lesson_run *r, int64_t n, int64_t width, struct points *p) {
    *p = (struct points){.n = n, .width = width, .x_name = "x", .y_name = "y"};
    p->x = lesson_room(r, n * width, sizeof *p->x);
    p->y = lesson_room(r, n, sizeof *p->y);
    p->unit = lesson_room(r, width, sizeof *p->unit);
    for (int64_t c = 0; p->unit && c < width; c++) p->unit[c] = 1;
    return !heed_failed(r->cx);
}

double points_truth(enum points_set set, double x) { return 2 * sin(x) + (set == POINTS_FIRST ? pow(x, 0.8) : x); }

static double single(double v) { return (double)(float)v; }

struct pair {
    double x, y;
};

static int by_x(const void *a, const void *b) {
    const double x = ((const struct pair *)a)->x, y = ((const struct pair *)b)->x;
    return (x > y) - (x < y);
}

static bool sort_points(struct lesson_run *r, struct points *p) {
    struct pair *pairs = lesson_room(r, p->n, sizeof *pairs);
    if (!pairs) return false;
    for (int64_t i = 0; i < p->n; i++) pairs[i] = (struct pair){p->x[i], p->y[i]};
    qsort(pairs, (size_t)p->n, sizeof *pairs, by_x);
    for (int64_t i = 0; i < p->n; i++) p->x[i] = pairs[i].x, p->y[i] = pairs[i].y;
    return true;
}

bool points_draw(struct lesson_run *r, enum points_set set, int64_t n, uint64_t part, struct points *p) {
    const double most = set == POINTS_FIRST ? 5 : 4, deviation = set == POINTS_FIRST ? 0.5 : 1;
    const uint64_t stream = 8 * (uint64_t)set + 2 * part;
    float *uniform = lesson_room(r, n, sizeof *uniform), *normal = lesson_room(r, n, sizeof *normal);
    if (!uniform || !normal || !points_room(r, n, 1, p)) return false;
    heed_random_uniform(r->seed, stream, 0, uniform, n);
    heed_random_normal(r->seed, stream + 1, 0, normal, n);
    for (int64_t i = 0; i < n; i++) {
        p->x[i] = single(most * (double)uniform[i]);
        p->y[i] = single(points_truth(set, p->x[i]) + deviation * (double)normal[i]);
    }
    return sort_points(r, p);
}

/* Divides column c by its deviation, and keeps that as the column's unit. */
static bool scale_column(struct lesson_run *r, struct points *p, int64_t c) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < p->n; i++) mean += p->x[i * p->width + c] / (double)p->n;
    for (int64_t i = 0; i < p->n; i++) {
        const double d = p->x[i * p->width + c] - mean;
        square += d * d / (double)p->n;
    }
    if (!(square > 0)) {
        if (p->width > 1) return true; /* the others tell the points apart */
        return heed_fail(r->cx, HEED_ERR_RANGE, "%s: all x are equal", r->data);
    }
    p->unit[c] = sqrt(square);
    for (int64_t i = 0; i < p->n; i++) p->x[i * p->width + c] = single(p->x[i * p->width + c] / p->unit[c]);
    return true;
}

static void name_axes(struct lesson_run *r, const heed_data *data, struct points *p) {
    enum { LONGEST = 60 };
    if (data->x_names && data->columns == 1) p->x_name = lesson_text(r, data->x_names[0], LONGEST);
    if (data->y_names) p->y_name = lesson_text(r, data->y_names[0], LONGEST);
}

bool points_load(struct lesson_run *r, struct points *p) {
    enum { MOST = 2000 }; /* maps have as many rows and columns */
    heed_data_opts opts = r->opts;
    opts.task = HEED_DATA_REGRESS;
    heed_data *data = heed_data_load(r->cx, r->data, &opts);
    if (!data) return false;
    bool ok = true;
    lesson_skipped(r, data);
    if (data->n < 3 || data->n > MOST)
        ok = heed_fail(r->cx, HEED_ERR_RANGE, "%s: %lld points, the lesson takes 3 to %d", r->data, (long long)data->n,
                       MOST);
    else if (!data->x || !data->y || data->outputs != 1)
        ok = heed_fail(r->cx, HEED_ERR_FORMAT, "%s: not a table of numbers whose last column is y", r->data);
    ok = ok && points_room(r, data->n, data->width, p);
    for (int64_t i = 0; ok && i < p->n * p->width; i++) p->x[i] = (double)data->x[i];
    for (int64_t i = 0; ok && i < p->n; i++) p->y[i] = (double)data->y[i];
    if (ok) name_axes(r, data, p);
    heed_data_free(r->cx, data);
    for (int64_t c = 0; ok && c < p->width; c++) ok = scale_column(r, p, c);
    return ok && (p->width > 1 || sort_points(r, p));
}

bool points_grid(struct lesson_run *r, double low, double high, int64_t n, struct points *p) {
    if (!points_room(r, n, 1, p)) return false;
    for (int64_t i = 0; i < n; i++) p->x[i] = low + (high - low) * (double)i / (double)(n - 1);
    return true;
}

/* ---- pooling ---- */

static double kernel_of(enum kernel kernel, double u2) {
    switch (kernel) {
    case KERNEL_BOXCAR:
        return u2 <= 1 ? 1 : 0;
    case KERNEL_TRIANGULAR:
        return fmax(0, 1 - sqrt(u2));
    case KERNEL_EPANECHNIKOV:
        return fmax(0, 1 - u2);
    default:
        return exp(-u2 / 2);
    }
}

void kernel_weights(enum kernel kernel, double h, const double *query, const struct points *keys, int64_t without,
                    double *weights) {
    double nearest = HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < keys->n; i++) {
        double u2 = 0;
        for (int64_t c = 0; c < keys->width; c++) {
            const double u = (query[c] - keys->x[i * keys->width + c]) / h;
            u2 += u * u;
        }
        weights[i] = i == without ? HUGE_VAL : u2;
        nearest = fmin(nearest, weights[i]);
    }
    /* The gaussian reaches everywhere, but its numbers do not: all are divided by the largest. */
    const double least = kernel == KERNEL_GAUSSIAN ? nearest : 0;
    const bool reached = kernel_of(kernel, nearest - least) > 0;
    for (int64_t i = 0; i < keys->n; i++) {
        weights[i] = i == without ? 0 : reached ? kernel_of(kernel, weights[i] - least) : weights[i] == nearest;
        sum += weights[i];
    }
    for (int64_t i = 0; i < keys->n; i++) weights[i] /= sum;
}

bool kernel_pool(struct lesson_run *r, enum kernel kernel, double h, const struct points *queries,
                 const struct points *keys, bool own, double *answers, double *weights) {
    double *row = weights ? weights : lesson_room(r, keys->n, sizeof *row);
    if (!row || !answers) return false;
    for (int64_t q = 0; q < queries->n; q++) {
        kernel_weights(kernel, h, queries->x + q * queries->width, keys, own ? q : -1, row);
        answers[q] = 0;
        for (int64_t i = 0; i < keys->n; i++) answers[q] += row[i] * keys->y[i];
        if (weights) row += keys->n;
    }
    return true;
}

double root_mean_square(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / (double)n);
}

double keys_attended(const double *weights, int64_t queries, int64_t keys) {
    double sum = 0;
    for (int64_t q = 0; q < queries; q++, weights += keys) {
        double entropy = 0;
        for (int64_t i = 0; i < keys; i++)
            if (weights[i] > 0) entropy -= weights[i] * log(weights[i]);
        sum += exp(entropy);
    }
    return sum / (double)queries;
}
