/* Hidden Markov models: see the header. Forward and backward variables are scaled to sum to 1 at each place, as in
 * section V.A of Rabiner (1989); Viterbi adds logarithms. */
#include "heed/hmm.h"
#include "base/checked.h"
#include <math.h>
#include <string.h>

static void fill(double *row, int64_t n) {
    for (int64_t i = 0; i < n; i++) row[i] = 1.0 / (double)n;
}

heed_hmm *heed_hmm_new(heed_ctx *cx, int64_t states, int64_t symbols) {
    size_t numbers;
    if (heed_failed(cx)) return NULL;
    if (states < 1 || symbols < 1 || !size_add((size_t)states, (size_t)symbols, &numbers) ||
        !size_add(numbers, 1, &numbers) || !size_mul(numbers, (size_t)states, &numbers) || numbers > SIZE_MAX / 16)
        return heed_fail(cx, HEED_ERR_RANGE, "hmm: %lld states and %lld symbols make no model", (long long)states,
                         (long long)symbols),
               NULL;
    heed_hmm *h = heed_mem_new(cx, sizeof *h);
    double *all = heed_mem_new(cx, numbers * sizeof *all);
    if (!h || !all) {
        heed_mem_free(cx, h);
        heed_mem_free(cx, all);
        return NULL;
    }
    *h = (heed_hmm){states, symbols, all, all + states, all + states + states * states};
    fill(h->initial, states);
    for (int64_t i = 0; i < states; i++) {
        fill(h->transition + i * states, states);
        fill(h->emission + i * symbols, symbols);
    }
    return h;
}

void heed_hmm_free(heed_ctx *cx, heed_hmm *h) {
    if (!h) return;
    heed_mem_free(cx, h->initial);
    heed_mem_free(cx, h);
}

static void normalise(double *row, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += row[i];
    if (!(sum > 0)) {
        fill(row, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) row[i] /= sum;
}

void heed_hmm_normalise(heed_hmm *h) {
    if (!h) return;
    normalise(h->initial, h->states);
    for (int64_t i = 0; i < h->states; i++) {
        normalise(h->transition + i * h->states, h->states);
        normalise(h->emission + i * h->symbols, h->symbols);
    }
}

void heed_hmm_draw(heed_hmm *h, uint64_t seed) {
    if (!h) return;
    const int64_t n = h->states * (1 + h->states + h->symbols);
    for (int64_t i = 0; i < n; i++) {
        float u;
        heed_random_uniform(seed, 0, (uint64_t)i, &u, 1);
        h->initial[i] = 0.5 + (double)u;
    }
    heed_hmm_normalise(h);
}

static bool check(heed_ctx *cx, const heed_hmm *h, const int32_t *symbol, int64_t n) {
    if (heed_failed(cx)) return false;
    if (!h || (!symbol && n > 0))
        return heed_fail(cx, HEED_ERR_USAGE, "hmm: the %s NULL", h ? "symbols are" : "model is");
    for (int64_t t = 0; t < n; t++)
        if (symbol[t] < 0 || symbol[t] >= h->symbols)
            return heed_fail(cx, HEED_ERR_RANGE, "hmm: symbol %d at place %lld is not one of the model's %lld",
                             symbol[t], (long long)t, (long long)h->symbols);
    return true;
}

static double emits(const heed_hmm *h, int64_t state, int32_t symbol) {
    return h->emission[state * h->symbols + symbol];
}

/* alpha (n, states): P(state | symbols so far); scale (n): P(symbol | symbols before it). False: some have no way. */
static bool go_forward(const heed_hmm *h, const int32_t *symbol, int64_t n, double *alpha, double *scale) {
    const int64_t s = h->states;
    for (int64_t t = 0; t < n; t++) {
        double *now = alpha + t * s, sum = 0;
        const double *before = now - s;
        for (int64_t j = 0; j < s; j++) {
            double reach = t == 0 ? h->initial[j] : 0;
            for (int64_t i = 0; t > 0 && i < s; i++) reach += before[i] * h->transition[i * s + j];
            sum += now[j] = reach * emits(h, j, symbol[t]);
        }
        if (!(sum > 0)) return false;
        for (int64_t j = 0; j < s; j++) now[j] /= sum;
        scale[t] = sum;
    }
    return true;
}

/* beta (n, states): P(symbols behind | state), divided by their scales. */
static void go_backward(const heed_hmm *h, const int32_t *symbol, int64_t n, const double *scale, double *beta) {
    const int64_t s = h->states;
    for (int64_t t = n - 1; t >= 0; t--)
        for (int64_t i = 0; i < s; i++) {
            double sum = t == n - 1 ? 1 : 0;
            for (int64_t j = 0; t < n - 1 && j < s; j++)
                sum += h->transition[i * s + j] * emits(h, j, symbol[t + 1]) * beta[(t + 1) * s + j];
            beta[t * s + i] = t == n - 1 ? 1 : sum / scale[t + 1];
        }
}

double heed_hmm_forward(heed_ctx *cx, const heed_hmm *h, const int32_t *symbol, int64_t n, double *posterior) {
    double sum = 0;
    if (!check(cx, h, symbol, n)) return (double)NAN;
    const int64_t s = h->states;
    double *alpha = heed_mem_new(cx, (size_t)(n * s + 1) * sizeof *alpha);
    double *beta = heed_mem_new(cx, (size_t)(n * s + 1) * sizeof *beta);
    double *scale = heed_mem_new(cx, (size_t)(n + 1) * sizeof *scale);
    if (heed_failed(cx)) {
        sum = (double)NAN;
    } else if (!go_forward(h, symbol, n, alpha, scale)) {
        sum = -(double)INFINITY;
        for (int64_t t = 0; posterior && t < n; t++) fill(posterior + t * s, s);
    } else {
        for (int64_t t = 0; t < n; t++) sum += log(scale[t]);
        if (posterior) go_backward(h, symbol, n, scale, beta);
        for (int64_t k = 0; posterior && k < n * s; k++) posterior[k] = alpha[k] * beta[k];
    }
    heed_mem_free(cx, alpha);
    heed_mem_free(cx, beta);
    heed_mem_free(cx, scale);
    return sum;
}

bool heed_hmm_viterbi(heed_ctx *cx, const heed_hmm *h, const int32_t *symbol, int64_t n, int32_t *path,
                      double *log_probability) {
    if (!check(cx, h, symbol, n)) return false;
    if (!path && n > 0) return heed_fail(cx, HEED_ERR_USAGE, "hmm: the path is NULL");
    const int64_t s = h->states;
    double *best = heed_mem_new(cx, (size_t)(2 * s) * sizeof *best);
    double *logs = heed_mem_new(cx, (size_t)(s * s) * sizeof *logs);
    int32_t *from = heed_mem_new(cx, (size_t)(n * s + 1) * sizeof *from);
    if (!heed_failed(cx)) {
        for (int64_t k = 0; k < s * s; k++) logs[k] = log(h->transition[k]);
        double *before = best, *now = best + s;
        for (int64_t t = 0; t < n; t++) {
            for (int64_t j = 0; j < s; j++) {
                int64_t chosen = 0;
                double most = t == 0 ? log(h->initial[j]) : before[0] + logs[j];
                for (int64_t i = 1; t > 0 && i < s; i++)
                    if (before[i] + logs[i * s + j] > most) most = before[chosen = i] + logs[i * s + j];
                from[t * s + j] = (int32_t)chosen;
                now[j] = most + log(emits(h, j, symbol[t]));
            }
            double *swap = before;
            before = now;
            now = swap;
        }
        int64_t last = 0;
        for (int64_t j = 1; n > 0 && j < s; j++)
            if (before[j] > before[last]) last = j;
        if (log_probability) *log_probability = n > 0 ? before[last] : 0;
        for (int64_t t = n - 1; t >= 0; t--) {
            path[t] = (int32_t)last;
            last = from[t * s + last];
        }
    }
    heed_mem_free(cx, best);
    heed_mem_free(cx, logs);
    heed_mem_free(cx, from);
    return !heed_failed(cx);
}

/* ---- Baum-Welch ---- */

/* Adds what one sequence is expected to have had of each state, transition and emission. */
static void expect(const heed_hmm *h, heed_hmm *to, const int32_t *symbol, int64_t n, const double *alpha,
                   const double *beta, const double *scale) {
    const int64_t s = h->states;
    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i < s; i++) {
            const double is = alpha[t * s + i] * beta[t * s + i];
            if (t == 0) to->initial[i] += is;
            to->emission[i * h->symbols + symbol[t]] += is;
            for (int64_t j = 0; t + 1 < n && j < s; j++)
                to->transition[i * s + j] += alpha[t * s + i] * h->transition[i * s + j] * emits(h, j, symbol[t + 1]) *
                                             beta[(t + 1) * s + j] / scale[t + 1];
        }
}

bool heed_hmm_baum_welch(heed_ctx *cx, heed_hmm *h, const int32_t *symbol, const int64_t *start, int64_t n,
                         double *log_probability) {
    int64_t longest = 0;
    double sum = 0;
    if (heed_failed(cx)) return false;
    if (!h || !symbol || !start) return heed_fail(cx, HEED_ERR_USAGE, "hmm: the model, symbols or starts are NULL");
    const int64_t s = h->states;
    for (int64_t i = 0; i < n; i++) longest = start[i + 1] - start[i] > longest ? start[i + 1] - start[i] : longest;
    if (!check(cx, h, symbol + start[0], start[n] - start[0])) return false;
    heed_hmm *to = heed_hmm_new(cx, s, h->symbols);
    double *alpha = heed_mem_new(cx, (size_t)(longest * s + 1) * sizeof *alpha);
    double *beta = heed_mem_new(cx, (size_t)(longest * s + 1) * sizeof *beta);
    double *scale = heed_mem_new(cx, (size_t)(longest + 1) * sizeof *scale);
    const size_t bytes = (size_t)(s * (1 + s + h->symbols)) * sizeof *to->initial;
    if (!heed_failed(cx)) memset(to->initial, 0, bytes);
    for (int64_t i = 0; i < n && !heed_cancelled(cx); i++) {
        const int64_t length = start[i + 1] - start[i];
        const int32_t *x = symbol + start[i];
        if (!go_forward(h, x, length, alpha, scale)) {
            sum = -(double)INFINITY; /* impossible: nothing is learnt of it */
            continue;
        }
        go_backward(h, x, length, scale, beta);
        for (int64_t t = 0; t < length; t++) sum += log(scale[t]);
        expect(h, to, x, length, alpha, beta, scale);
    }
    if (!heed_failed(cx)) {
        heed_hmm_normalise(to);
        memcpy(h->initial, to->initial, bytes);
        if (log_probability) *log_probability = sum;
    }
    heed_hmm_free(cx, to);
    heed_mem_free(cx, alpha);
    heed_mem_free(cx, beta);
    heed_mem_free(cx, scale);
    return !heed_failed(cx);
}
