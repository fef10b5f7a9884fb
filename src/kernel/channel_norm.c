/* Batch norm (Ioffe & Szegedy 2015) and group norm (Wu & He 2018): sums of planes first, on several threads, which are
 * then added up for each statistic in order, in double. */
#include "kernel/planes.h"
#include "kernel/rows.h"
#include <math.h>

/* Plane (b, c) and its statistic. */
static int64_t statistic_of(const struct channel_norm *n, int64_t plane) {
    const int64_t c = plane % n->channels, b = plane / n->channels;
    return n->groups ? b * n->groups + c / (n->channels / n->groups) : c;
}

int64_t kernel_channel_norm_statistics(const struct channel_norm *n) {
    return n->groups ? n->batch * n->groups : n->channels;
}

int64_t kernel_channel_norm_work(const struct channel_norm *n) {
    return 2 * (n->batch * n->channels + kernel_channel_norm_statistics(n));
}

struct job {
    const struct channel_norm *n;
    bool means; /* sums of x; else of squares */
    float *y;
    const float *dy;
    float *dx;
    bool add;
};

static void moments(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct channel_norm *const n = j->n;
    for (int64_t p = first; p < first + planes; p++) {
        const float *const x = n->x + p * n->n, m = j->means ? 0 : n->mean[statistic_of(n, p)];
        double *const sum = n->work + 2 * p;
        sum[0] = sum[1] = 0;
        isa_get()->plane_sums(sum, x, m, x, m, n->n);
    }
}

static void find_statistics(struct pool *pool, const struct channel_norm *n) {
    const int64_t planes = n->batch * n->channels, count = kernel_channel_norm_statistics(n);
    const double numbers = (double)(planes / count * n->n);
    for (int pass = 0; pass < 2; pass++) {
        const struct job j = {.n = n, .means = pass == 0};
        kernel_rows(pool, planes, n->n, moments, &j);
        for (int64_t s = 0; s < count; s++) {
            /* planes of a statistic: s, s + channels, ... or neighbours */
            const int64_t first = n->groups ? s * (n->channels / n->groups) : s, step = n->groups ? 1 : n->channels;
            double sum = 0;
            for (int64_t i = 0; i < planes / count; i++) sum += n->work[2 * (first + i * step) + pass];
            if (pass == 0) {
                n->mean[s] = (float)(sum / numbers);
                continue;
            }
            n->rstd[s] = (float)(1 / sqrt(sum / numbers + (double)n->eps));
            if (n->variance) n->variance[s] = (float)(sum / numbers);
        }
    }
}

static void forward_planes(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct channel_norm *const n = j->n;
    for (int64_t p = first; p < first + planes; p++) {
        const int64_t c = p % n->channels, s = statistic_of(n, p);
        const float scale = n->rstd[s] * (n->gamma ? n->gamma[c] : 1);
        const float *const x = n->x + p * n->n;
        isa_get()->plane_mix(j->y + p * n->n, 0, NULL, scale, x, n->mean[s], n->beta ? n->beta[c] : 0, n->n, false);
    }
}

void kernel_channel_norm(struct pool *pool, const struct channel_norm *n, float *y) {
    if (n->batch * n->channels * n->n == 0) return;
    if (!n->given) find_statistics(pool, n);
    const struct job j = {.n = n, .y = y};
    kernel_rows(pool, n->batch * n->channels, n->n, forward_planes, &j);
}

/* ---- backward ---- with z = (x - mean) rstd, g = dy gamma:   dx = rstd (g - avg(g) - z avg(g z)) */

static void grad_sums(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct channel_norm *const n = j->n;
    for (int64_t p = first; p < first + planes; p++) {
        double *const sum = n->work + 2 * p;
        sum[0] = sum[1] = 0;
        isa_get()->plane_sums(sum, j->dy + p * n->n, 0, n->x + p * n->n, n->mean[statistic_of(n, p)], n->n);
        sum[1] *= (double)n->rstd[statistic_of(n, p)];
    }
}

/* sum g and sum g z of every statistic, behind the sums of the planes */
static void statistics_sums(const struct channel_norm *n) {
    const int64_t planes = n->batch * n->channels, count = kernel_channel_norm_statistics(n);
    double *const sum = n->work + 2 * planes;
    for (int64_t i = 0; i < 2 * count; i++) sum[i] = 0;
    for (int64_t p = 0; p < planes; p++) {
        const double weight = n->gamma ? (double)n->gamma[p % n->channels] : 1;
        for (int i = 0; i < 2; i++) sum[2 * statistic_of(n, p) + i] += weight * n->work[2 * p + i];
    }
}

static void grad_planes(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct channel_norm *const n = j->n;
    const double numbers = (double)((n->groups ? n->channels / n->groups : n->batch) * n->n);
    for (int64_t p = first; p < first + planes; p++) {
        const int64_t s = statistic_of(n, p);
        const double rstd = (double)n->rstd[s], *const sum = n->work + 2 * (n->batch * n->channels + s);
        const float scale = n->rstd[s] * (n->gamma ? n->gamma[p % n->channels] : 1);
        const float r = n->given ? 0 : (float)(-rstd * sum[0] / numbers);
        const float q = n->given ? 0 : (float)(-rstd * rstd * sum[1] / numbers);
        isa_get()->plane_mix(j->dx + p * n->n, scale, j->dy + p * n->n, q, n->given ? NULL : n->x + p * n->n,
                             n->mean[s], r, n->n, j->add);
    }
}

void kernel_channel_norm_grad(struct pool *pool, const struct channel_norm *n, float *dx, bool add, float *dgamma,
                              float *dbeta, const float *dy) {
    const int64_t planes = n->batch * n->channels;
    const struct job j = {.n = n, .dx = dx, .add = add, .dy = dy};
    if (n->n > 0) kernel_rows(pool, planes, n->n, grad_sums, &j);
    for (int64_t c = 0; c < n->channels; c++) {
        double plain = 0, product = 0;
        for (int64_t b = 0; b < n->batch && n->n > 0; b++) {
            plain += n->work[2 * (b * n->channels + c)];
            product += n->work[2 * (b * n->channels + c) + 1];
        }
        if (dbeta) dbeta[c] = (float)plain;
        if (dgamma) dgamma[c] = (float)product;
    }
    if (!dx || n->n == 0) return;
    if (!n->given) statistics_sums(n);
    kernel_rows(pool, planes, n->n, grad_planes, &j);
}
