/* HAT: adversarial passes over the pictures of a batch. */
#include "task/vision/hat.h"
#include "base/ctx.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

bool hat_check(heed_ctx *cx, const heed_hat *o) {
    if (o->iterations == 0) return true;
    if (o->iterations < 1 || o->updates < 0 || !(o->step > 0) || !(o->radius > 0) || !(o->kl_weight >= 0) ||
        !(o->ce_weight >= 0) || !isfinite(o->step + o->radius + o->kl_weight + o->ce_weight))
        return heed_fail(
            cx, HEED_ERR_RANGE,
            "pictures: HAT needs at least one pass, a step and a radius above 0, and weights of at least 0");
    return true;
}

bool hat_open(heed_ctx *cx, struct hat *h, const heed_hat *opts, int64_t pixels, int64_t logits) {
    *h = (struct hat){.passes = 1};
    if (opts->iterations == 0) return true;
    h->opts = opts;
    if (opts->iterations > 1) {
        h->delta = heed_mem_new(cx, (size_t)pixels * sizeof *h->delta);
        h->slope = heed_mem_new(cx, (size_t)pixels * sizeof *h->slope);
    }
    if (opts->kl_weight > 0) h->clean = heed_mem_new(cx, (size_t)logits * sizeof *h->clean);
    h->grad.data = h->slope;
    return !heed_failed(cx);
}

void hat_close(heed_ctx *cx, struct hat *h) {
    engine_forget_slots(cx, &h->grad, 1);
    heed_mem_free(cx, h->clean);
    heed_mem_free(cx, h->slope);
    heed_mem_free(cx, h->delta);
    *h = (struct hat){.passes = 1};
}

/* A plan counts all passes, wherever in the run its updates are. */
int64_t hat_passes(heed_ctx *cx, struct hat *h, int64_t update) {
    const bool moves = h->opts && (update < h->opts->updates || cx->config.dry);
    return h->passes = moves ? h->opts->iterations : 1;
}

/* Uphill, by the sign of the slope alone. */
static void move(struct hat *h, int64_t n) {
    const float step = (float)h->opts->step, most = (float)h->opts->radius;
    for (int64_t i = 0; i < n; i++) {
        const float by = h->slope[i] > 0 ? step : h->slope[i] < 0 ? -step : 0;
        h->delta[i] = fmaxf(-most, fminf(most, h->delta[i] + by));
    }
}

heed_tensor *hat_pixels(heed_ctx *cx, struct hat *h, int64_t pass, heed_tensor *x) {
    h->pass = pass;
    if (h->passes == 1 || !x) return x;
    if (!cx->config.dry && pass == 0)
        memset(h->delta, 0, (size_t)x->count * sizeof *h->delta);
    else if (!cx->config.dry && h->grad.filled)
        move(h, x->count);
    h->grad.filled = false;
    heed_grad *const grad = pass + 1 < h->passes ? &h->grad : NULL; /* after the last pass nothing moves */
    return heed_add(cx, x, heed_borrow(cx, HEED_F32, h->delta, x->rank, x->shape, grad));
}

heed_tensor *hat_logits(const heed_io *out) {
    heed_tensor *const of_class_token = heed_io_get(out, "cls_logits");
    return of_class_token ? of_class_token : heed_io_get(out, "logits");
}

bool hat_look(heed_ctx *cx, const struct hat *h, const heed_model *model, heed_tensor *x) {
    if (!h->clean || h->pass > 0) return !heed_failed(cx);
    heed_io in = {0}, out;
    const bool recording = heed_set_grad(cx, false);
    heed_scope_begin(cx);
    if (heed_io_put(cx, &in, "pixel_values", x) && heed_model_forward(cx, model, &in, &out)) {
        const heed_tensor *const z = hat_logits(&out);
        if (!z)
            heed_fail(cx, HEED_ERR_USAGE, "pictures: the model gives no logits");
        else if (!cx->config.dry)
            heed_copy_f32(cx, z, h->clean, z->count);
    }
    heed_scope_end(cx, NULL);
    heed_set_grad(cx, recording);
    return !heed_failed(cx);
}

/* Logarithms of softmax differ from logits by a constant of the row, which sum(p - p0) = 0 takes away. */
static heed_tensor *divergence(heed_ctx *cx, const struct hat *h, heed_tensor *z) {
    heed_tensor *const z0 = z ? heed_borrow(cx, HEED_F32, h->clean, z->rank, z->shape, NULL) : NULL;
    if (!z0) return NULL;
    heed_tensor *const apart =
        heed_mul(cx, heed_sub(cx, heed_softmax(cx, z, -1), heed_softmax(cx, z0, -1)), heed_sub(cx, z, z0));
    return heed_affine(cx, heed_sum(cx, apart, NULL, 0, false), 0.5F / (float)z->shape[0], 0);
}

heed_tensor *hat_goal(heed_ctx *cx, const struct hat *h, heed_tensor *loss, heed_tensor *logits) {
    if (!h->opts) return loss;
    const bool first = h->pass == 0;
    const double part = first ? 1 : 1 / (double)(h->opts->iterations - 1);
    heed_tensor *const own = first ? loss : heed_affine(cx, loss, (float)(h->opts->ce_weight * part), 0);
    if (!h->clean) return own;
    return heed_add(cx, own, heed_affine(cx, divergence(cx, h, logits), (float)(h->opts->kl_weight * part), 0));
}
