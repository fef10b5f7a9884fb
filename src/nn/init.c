/* Fresh numbers, by the formulas of torch.nn.init (He et al. 2015; Glorot & Bengio 2010). */
#include "attention/linear_attention.h"
#include "nn/params.h"
#include <math.h>

/* A weight is (out, in, receptive field…). */
static void fans(const heed_param *p, double *in, double *out) {
    double field = 1;
    for (int i = 2; i < p->rank; i++) field *= (double)p->shape[i];
    *in = (p->rank > 1 ? (double)p->shape[1] : p->rank ? (double)p->shape[0] : 1) * field;
    *out = (p->rank ? (double)p->shape[0] : 1) * field;
}

static void uniform(heed_param *p, uint64_t seed, double low, double high) {
    heed_random_uniform(seed, (uint64_t)p->index, 0, p->value, p->count);
    for (int64_t i = 0; i < p->count; i++) p->value[i] = (float)(low + (high - low) * (double)p->value[i]);
}

static void normal(heed_param *p, uint64_t seed, double mean, double deviation, bool truncated) {
    if (truncated)
        heed_random_truncated(seed, (uint64_t)p->index, 0, -2, 2, p->value, p->count);
    else
        heed_random_normal(seed, (uint64_t)p->index, 0, p->value, p->count);
    for (int64_t i = 0; i < p->count; i++) p->value[i] = (float)(mean + deviation * (double)p->value[i]);
}

static void fill(heed_param *p, float value) {
    for (int64_t i = 0; i < p->count; i++) p->value[i] = value;
}

void params_draw(heed_param *p, uint64_t seed) {
    const double a = (double)p->init.a, b = (double)p->init.b;
    double in, out;
    fans(p, &in, &out);
    const double kaiming = sqrt(2 / (1 + a * a)) / sqrt(in > 0 ? in : 1);
    const double xavier = a * sqrt(2 / (in + out > 0 ? in + out : 1));
    const double side = a > 0 ? 1 / sqrt(a) : 0;
    switch (p->init.kind) {
    case HEED_INIT_ZEROS:
        fill(p, 0);
        break;
    case HEED_INIT_ONES:
        fill(p, 1);
        break;
    case HEED_INIT_CONSTANT:
        fill(p, p->init.a);
        break;
    case HEED_INIT_UNIFORM:
        uniform(p, seed, a, b);
        break;
    case HEED_INIT_NORMAL:
        normal(p, seed, a, b, false);
        break;
    case HEED_INIT_TRUNCATED:
        normal(p, seed, a, b, true);
        break;
    case HEED_INIT_KAIMING_UNIFORM:
        uniform(p, seed, -sqrt(3) * kaiming, sqrt(3) * kaiming);
        break;
    case HEED_INIT_KAIMING_NORMAL:
        normal(p, seed, 0, kaiming, false);
        break;
    case HEED_INIT_XAVIER_UNIFORM:
        uniform(p, seed, -sqrt(3) * xavier, sqrt(3) * xavier);
        break;
    case HEED_INIT_XAVIER_NORMAL:
        normal(p, seed, 0, xavier, false);
        break;
    case HEED_INIT_FAN_IN_UNIFORM:
        uniform(p, seed, -side, side);
        break;
    case HEED_INIT_LSTM_BIAS:
        uniform(p, seed, -side, side);
        for (int64_t i = p->count / 4; i < p->count / 2; i++) p->value[i] += p->init.b;
        break;
    case HEED_INIT_ORTHOGONAL:
        if (p->count > 0) favor_draw(seed, (uint64_t)p->index, true, p->shape[0], p->count / p->shape[0], p->value);
        break;
    }
}

static bool same_init(heed_init x, heed_init y) { return x.kind == y.kind && x.a == y.a && x.b == y.b; }

bool heed_params_init(heed_ctx *cx, heed_params *set, uint64_t seed) {
    if (heed_failed(cx)) return false;
    if (!set || !set->block) return heed_fail(cx, HEED_ERR_USAGE, "params: the set is not allocated");
    for (int i = 0; i < set->n; i++)
        if (!set->list[i]->target) params_draw(set->list[i], seed);
    for (int i = 0; i < set->n; i++) { /* slices that are drawn otherwise than what they are slices of */
        heed_param *const p = set->list[i];
        if (p->kind == HEED_PARAM_SLICE && !same_init(p->init, p->target->init)) params_draw(p, seed);
    }
    return true;
}
