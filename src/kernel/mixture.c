/* See kernel/mixture.h. The gradients are those of the paper, equations 27 to 37. */
#include "kernel/mixture.h"
#include "kernel/rows.h"
#include <float.h>
#include <math.h>

#define LOG_2PI 1.83787706640934548356

/* A component of a row: what the step is to it. */
struct component {
    double u1, u2;   /* (x - mean) / deviation */
    double rho, one; /* and 1 - rho^2 */
    double s1, s2, d1, d2;
    double log_density;
    bool s1_held, s2_held, r_held;
};

static double held(double v, double most, bool *beyond) {
    *beyond = v < -most || v > most;
    return v < -most ? -most : v > most ? most : v;
}

/* y points at w_j. */
static struct component component_of(const float *y, int64_t m, const float *x) {
    struct component c;
    c.s1 = held((double)y[3 * m], MIXTURE_S, &c.s1_held);
    c.s2 = held((double)y[4 * m], MIXTURE_S, &c.s2_held);
    const double r = held((double)y[5 * m], MIXTURE_R, &c.r_held), cosine = cosh(r);
    c.rho = tanh(r);
    c.one = 1 / (cosine * cosine); /* 1 - tanh^2 without its cancellation */
    c.d1 = exp(c.s1), c.d2 = exp(c.s2);
    c.u1 = ((double)x[0] - (double)y[m]) / c.d1;
    c.u2 = ((double)x[1] - (double)y[2 * m]) / c.d2;
    /* u1^2 + u2^2 - 2 rho u1 u2 as a sum of squares */
    const double across = c.u1 - c.rho * c.u2, z = (across * across + c.one * c.u2 * c.u2) / c.one;
    c.log_density = -LOG_2PI - c.s1 - c.s2 + log(cosine) - 0.5 * z;
    return c;
}

static double softplus(double v) { return v > 0 ? v + log1p(exp(-v)) : log1p(exp(v)); }

static float fitted(double v) {
    return (float)(v > (double)FLT_MAX ? (double)FLT_MAX : v < -(double)FLT_MAX ? -(double)FLT_MAX : v);
}

/* A sum of exponentials that grows, by its largest term. */
struct sum {
    double most, sum;
};
static void sum_add(struct sum *s, double v) {
    if (v > s->most) {
        s->sum = s->sum * exp(s->most - v) + 1;
        s->most = v;
    } else {
        s->sum += v == -HUGE_VAL ? 0 : exp(v - s->most); /* NaN stays */
    }
}
static double sum_log(const struct sum *s) { return s->most + log(s->sum); }

/* log sum exp(w), and log sum exp(w + log N). */
static void sums_of(const struct mixture *mix, int64_t row, double *weights, double *both) {
    const int64_t m = mix->m;
    const float *const y = mix->y + row * (6 * m + 1) + 1, *const x = mix->x + 2 * row;
    struct sum w = {-HUGE_VAL, 0}, all = {-HUGE_VAL, 0};
    for (int64_t j = 0; j < m; j++) {
        sum_add(&w, (double)y[j]);
        sum_add(&all, (double)y[j] + component_of(y + j, m, x).log_density);
    }
    *weights = sum_log(&w);
    *both = sum_log(&all);
}

/* ---- the loss ---- */

struct job {
    const struct mixture *mix;
    float *loss;
    const float *dloss;
    bool each;
    float scale, *dy, *dx;
};

static void loss_rows(const void *arg, int64_t first, int64_t rows) {
    const struct job *job = arg;
    const struct mixture *mix = job->mix;
    for (int64_t row = first; row < first + rows; row++) {
        double weights, both;
        if (mix->pen[row] < 0) {
            job->loss[row] = 0;
            continue;
        }
        const double e = (double)mix->y[row * (6 * mix->m + 1)];
        sums_of(mix, row, &weights, &both);
        job->loss[row] = fitted(weights - both + softplus(mix->pen[row] ? e : -e));
    }
}

void kernel_mixture(struct pool *pool, const struct mixture *mix, float *loss) {
    const struct job job = {.mix = mix, .loss = loss};
    kernel_rows(pool, mix->rows, 32 * (6 * mix->m + 1), loss_rows, &job); /* exponentials cost more than numbers */
}

/* ---- its gradient ---- */

static void grad_row(const struct job *job, int64_t row, double scale, float *dy, float *dx) {
    const struct mixture *mix = job->mix;
    const int64_t m = mix->m;
    const float *const y = mix->y + row * (6 * m + 1), *const x = mix->x + 2 * row;
    double weights, both, along[2] = {0, 0};
    sums_of(mix, row, &weights, &both);
    if (dy) dy[0] = fitted(scale * (mix->pen[row] - 1 / (1 + exp((double)y[0]))));
    for (int64_t j = 0; j < m; j++) {
        const struct component c = component_of(y + 1 + j, m, x);
        const double pi = exp((double)y[1 + j] - weights);
        const double g = scale * exp((double)y[1 + j] + c.log_density - both); /* responsible for the step */
        const double a1 = (c.u1 - c.rho * c.u2) / c.one, a2 = (c.u2 - c.rho * c.u1) / c.one;
        along[0] += g * (a1 / c.d1);
        along[1] += g * (a2 / c.d2);
        if (!dy) continue;
        float *const d = dy + 1 + j;
        d[0] = fitted(scale * pi - g);
        d[m] = fitted(-g * (a1 / c.d1));
        d[2 * m] = fitted(-g * (a2 / c.d2));
        d[3 * m] = c.s1_held ? 0 : fitted(-g * (c.u1 * a1 - 1));
        d[4 * m] = c.s2_held ? 0 : fitted(-g * (c.u2 * a2 - 1));
        /* u1 u2 + rho (1 - Z / (1 - rho^2)) */
        d[5 * m] = c.r_held ? 0 : fitted(-g * (c.u1 * c.u2 + c.rho * (1 - c.u1 * a1 - c.u2 * a2)));
    }
    if (dx) dx[0] = fitted(along[0]), dx[1] = fitted(along[1]);
}

static void grad_rows(const void *arg, int64_t first, int64_t rows) {
    const struct job *job = arg;
    const int64_t width = 6 * job->mix->m + 1;
    for (int64_t row = first; row < first + rows; row++) {
        float *const dy = job->dy ? job->dy + row * width : NULL, *const dx = job->dx ? job->dx + 2 * row : NULL;
        if (job->mix->pen[row] >= 0) {
            grad_row(job, row, (double)job->scale * (double)job->dloss[job->each ? row : 0], dy, dx);
            continue;
        }
        for (int64_t i = 0; dy && i < width; i++) dy[i] = 0;
        if (dx) dx[0] = dx[1] = 0;
    }
}

void kernel_mixture_grad(struct pool *pool, const struct mixture *mix, const float *dloss, bool each, float scale,
                         float *dy, float *dx) {
    const struct job job = {.mix = mix, .dloss = dloss, .each = each, .scale = scale, .dy = dy, .dx = dx};
    kernel_rows(pool, mix->rows, 32 * (6 * mix->m + 1), grad_rows, &job);
}
