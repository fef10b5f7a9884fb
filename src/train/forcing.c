/* Teacher forcing and scheduled sampling: the probabilities, and the draws. */
#include "train/forcing.h"
#include "base/ctx.h"
#include "tensor/engine.h"
#include <math.h>

#define FORCING_SEED 0xD1B54A32D192ED03u /* draws and shuffles take different numbers */

double heed_forcing_at(const heed_forcing *f, int64_t step) {
    if (!f) return 1; /* teacher forcing */
    const double i = (double)step, k = f->decay;
    double p = f->probability;
    if (f->kind == HEED_FORCING_LINEAR) p = 1 - k * i;
    if (f->kind == HEED_FORCING_EXPONENTIAL) p = pow(k, i);
    if (f->kind == HEED_FORCING_INVERSE_SIGMOID) p = k / (k + exp(i / k));
    return p > f->probability ? p : f->probability;
}

double heed_forcing_decay(heed_forcing_kind kind, int64_t steps) {
    const double n = steps > 1 ? (double)steps : 1;
    if (kind == HEED_FORCING_LINEAR) return 1 / n;
    if (kind == HEED_FORCING_EXPONENTIAL) return pow(0.01, 1 / n);
    double low = 1, high = n + 3; /* k ln k = n / 2 */
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (middle * log(middle) < n / 2)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Whether some update may not give the true token. */
static bool frees(const heed_forcing *f) { return f && (f->kind != HEED_FORCING_CONSTANT || f->probability < 1); }

bool forcing_given(const heed_forcing *f, uint64_t seed, int64_t step, int64_t row, int64_t place) {
    const double p = heed_forcing_at(f, step);
    const uint64_t stream = (uint64_t)step << 28 ^ (uint64_t)row;
    return (double)heed_random_bits(seed ^ FORCING_SEED, stream, (uint64_t)place) < p * 4294967296.0;
}

bool forcing_put(heed_ctx *cx, const heed_forcing *f, uint64_t seed, int64_t step, const int64_t *row, int64_t n,
                 int64_t T, const int32_t *label, heed_io *in) {
    if (heed_failed(cx)) return false;
    if (!frees(f) || (!cx->config.dry && heed_forcing_at(f, step) >= 1)) return true; /* a plan is for all updates */
    heed_tensor *const given = heed_zeros(cx, HEED_I32, 2, (int64_t[]){n, T});
    for (int64_t i = 0; given && !cx->config.dry && i < n * T; i++)
        ((int32_t *)(void *)given->data)[i] =
            (label && label[i] == HEED_NO_LABEL) || forcing_given(f, seed, step, row ? row[i / T] : i / T, i % T);
    return given && heed_io_put(cx, in, "teacher_forcing", given);
}

bool forcing_put_batch(heed_ctx *cx, const heed_forcing *f, uint64_t seed, int64_t step, const heed_batch *b,
                       heed_io *in) {
    const char *const name = heed_io_get(in, "labels") ? "labels" : "shift_labels";
    const heed_tensor *const labels = heed_io_get(in, name);
    if (heed_failed(cx)) return false;
    if (!frees(f)) return true;
    if (!labels || heed_rank(labels) != 2)
        return heed_fail(cx, HEED_ERR_USAGE, "train: teacher forcing: the batches hold no tokens to predict");
    return forcing_put(cx, f, seed, step, b->row, b->n, heed_dim(labels, 1), heed_batch_i32(b, name), in);
}

void forcing_settings(heed_ctx *cx, const heed_forcing *f, heed_json at) {
    static const char *const names[] = {"constant", "linear", "exponential", "inverse-sigmoid"};
    if (f->kind != HEED_FORCING_CONSTANT) {
        heed_json_put_text(cx, at, "scheduled-sampling", names[f->kind]);
        notes_put_number(cx, at, "sampling-decay", f->decay);
    }
    if (frees(f)) notes_put_number(cx, at, "teacher-forcing", f->probability);
}
