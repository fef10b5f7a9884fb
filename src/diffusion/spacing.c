/* Which timesteps a run takes, and their noise levels sigma = sqrt((1 - alpha) / alpha), in double and then in f32 as
 * numpy and PyTorch have them in diffusers. */
#include "diffusion/scheduler.h"
#include <math.h>

double linspace_at(double from, double to, int64_t n, int64_t i) {
    if (n > 1 && i == n - 1) return to;
    return n > 1 ? (double)i * ((to - from) / (double)(n - 1)) + from : from;
}

bool scheduler_room(heed_ctx *cx, heed_scheduler *s, int64_t steps) {
    heed_mem_free(cx, s->timesteps);
    heed_mem_free(cx, s->sigmas);
    s->timesteps = heed_mem_new(cx, (size_t)(steps + 1) * sizeof *s->timesteps);
    s->sigmas = heed_mem_new(cx, (size_t)(steps + 2) * sizeof *s->sigmas);
    return s->timesteps && s->sigmas;
}

bool scheduler_space(heed_ctx *cx, heed_scheduler *s, int64_t steps, int64_t end, bool extra, bool rounded) {
    if (s->spacing == SPACING_TRAILING) { /* numpy.arange(end, 0, -ratio).round() - 1 */
        const double ratio = (double)s->train_steps / (double)steps, delta = ((double)end - ratio) - (double)end;
        s->count = (int64_t)ceil((0.0 - (double)end) / -ratio);
        if (s->count > steps + 1) s->count = steps + 1;
        for (int64_t i = 0; i < s->count; i++) s->timesteps[i] = rint((double)end + (double)i * delta) - 1;
        return true;
    }
    s->count = steps;
    const int64_t places = steps + extra, ratio = end / places;
    for (int64_t i = 0; i < steps; i++) {
        const int64_t place = places - 1 - i;
        if (s->spacing == SPACING_LEADING) {
            s->timesteps[i] = (double)(place * ratio + s->offset);
            continue;
        }
        const double t = linspace_at(0, (double)(end - 1), places, place);
        s->timesteps[i] = rounded ? rint(t) : (double)(float)t;
    }
    return !heed_failed(cx);
}

bool scheduler_within(heed_ctx *cx, const heed_scheduler *s) {
    for (int64_t i = 0; i < s->count; i++)
        if (s->timesteps[i] >= (double)s->train_steps || s->timesteps[i] < -(double)s->train_steps)
            return heed_fail(cx, HEED_ERR_RANGE,
                             "%s: timestep %.0f is not one of the %lld of training; steps_offset is %lld",
                             s->kind->name, s->timesteps[i], (long long)s->train_steps, (long long)s->offset);
    return true;
}

float scheduler_sigma(const heed_scheduler *s, int64_t timestep) {
    return sqrtf((1.0f - s->alphas[timestep]) / s->alphas[timestep]);
}

double scheduler_sigma_between(const heed_scheduler *s, double timestep) {
    const int64_t last = s->train_steps - 1;
    if (!(timestep > 0)) return (double)scheduler_sigma(s, 0);
    if (timestep >= (double)last) return (double)scheduler_sigma(s, last);
    const int64_t below = (int64_t)timestep;
    const double low = (double)scheduler_sigma(s, below), high = (double)scheduler_sigma(s, below + 1);
    return (high - low) * (timestep - (double)below) + low;
}

double scheduler_ramp_at(const heed_scheduler *s, double high, double low, int64_t n, int64_t i) {
    const double rho = 7; /* Karras et al. 2022 */
    if (s->ramp == RAMP_EXPONENTIAL) return exp(linspace_at(log(high), log(low), n, i));
    const double at = linspace_at(0, 1, n, i);
    if (s->ramp == RAMP_LU) {
        const double from = (double)logf((float)high), to = (double)logf((float)low);
        return exp(from + at * (to - from));
    }
    const double from = pow(high, 1 / rho), to = pow(low, 1 / rho);
    return pow(from + at * (to - from), rho);
}

static float log_sigma(const heed_scheduler *s, int64_t timestep) { return logf(scheduler_sigma(s, timestep)); }

double scheduler_timestep_of(const heed_scheduler *s, double sigma) {
    const double at = log(fmax(sigma, 1e-10));
    int64_t below = 0, above = s->train_steps; /* levels rise: the last one that is not above `at` */
    while (above - below > 1) {
        const int64_t middle = (below + above) / 2;
        if ((double)log_sigma(s, middle) <= at)
            below = middle;
        else
            above = middle;
    }
    if (below > s->train_steps - 2) below = s->train_steps - 2;
    if (below < 0) return 0; /* a single timestep */
    const float low = log_sigma(s, below), high = log_sigma(s, below + 1);
    const double w = fmin(fmax(((double)low - at) / (double)(low - high), 0), 1);
    return (1 - w) * (double)below + w * (double)(below + 1);
}

float scheduler_alpha(const heed_scheduler *s, double timestep) {
    const int64_t t = (int64_t)timestep;
    return s->alphas[t < 0 ? t + s->train_steps : t];
}
