/* Resizing of pictures as torch.nn.functional.interpolate: each output is a weighted sum of the inputs around its
 * place, along rows and then along columns.   x (B,C,H,W), y (B,C,OH,OW);   dx: the shares of dy, the other way round
 * Places: (i + 1/2) scale - 1/2 with scale = H / OH, or i (H - 1) / (OH - 1) with corners aligned. Antialiasing widens
 * the weights by the scale where it is above 1. */
#include "kernel/planes.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include <math.h>

#define MOST ((int64_t)1 << 30)

/* Tables of an axis, and what is between the two passes, lie in the workspace. */
struct layout {
    struct resize r;
    double scale[2];
    int64_t numbers; /* of the workspace, 4 bytes each */
};

/* From places to places before. A scale that is given is followed, but where PyTorch looks at the sizes instead: the
 * nearest of as many or of twice as many places, and bilinear interpolation to as many. */
static double scale_of(const heed_interpolate_opts *o, int i, int64_t in, int64_t out) {
    if (o->align_corners) return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
    const bool same = out == in && (o->kind == HEED_NEAREST || (o->kind == HEED_BILINEAR && !o->antialias)),
               twice = out == 2 * in && o->kind == HEED_NEAREST;
    return o->size[i] == 0 && !same && !twice ? 1 / o->scale[i] : (double)in / (double)out;
}

static struct layout layout_of(const heed_op_call *c, const int64_t out[2]) {
    const heed_interpolate_opts *const o = c->attr;
    const heed_tensor *const x = c->in[0];
    struct layout l = {.r = {.planes = x->shape[0] * x->shape[1]}};
    for (int i = 0; i < 2; i++) {
        struct resize_axis *const a = i ? &l.r.x : &l.r.y;
        a->in = x->shape[2 + i];
        a->out = out[i];
        l.scale[i] = scale_of(o, i, a->in, a->out);
        a->taps = kernel_resize_taps((enum resize_kind)o->kind, a->in, l.scale[i], o->antialias);
        l.numbers += a->out * (1 + a->taps);
    }
    l.numbers += kernel_resize_work(&l.r);
    return l;
}

static bool interpolate_infer(heed_op_call *c) {
    const heed_interpolate_opts *const o = c->attr;
    const heed_tensor *const x = c->in[0];
    const bool smooth = o->kind == HEED_BILINEAR || o->kind == HEED_BICUBIC;
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if ((unsigned)o->kind > HEED_BICUBIC)
        return heed_op_fail(c, HEED_ERR_USAGE, "%d is not a kind of interpolation", (int)o->kind);
    if (!smooth && (o->align_corners || o->antialias))
        return heed_op_fail(c, HEED_ERR_USAGE,
                            "corners are aligned, and antialiasing is done, only with bilinear and "
                            "bicubic interpolation");
    if (x->rank != 4 || x->shape[2] < 1 || x->shape[3] < 1 || x->shape[2] > MOST || x->shape[3] > MOST)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s is not (B,C,H,W) with at least a row and a column",
                            heed_shape_text(x).s);
    int64_t shape[4] = {x->shape[0], x->shape[1]};
    for (int i = 0; i < 2; i++) {
        const double places = o->size[i] ? (double)o->size[i] : floor((double)x->shape[2 + i] * o->scale[i]);
        if (!(places >= 1 && places <= (double)MOST) || o->size[i] < 0)
            return heed_op_fail(c, HEED_ERR_RANGE, "x of shape %s to a size of (%lld,%lld), or by a factor of (%g,%g)",
                                heed_shape_text(x).s, (long long)o->size[0], (long long)o->size[1], o->scale[0],
                                o->scale[1]);
        shape[2 + i] = (int64_t)places;
    }
    if (!heed_op_out(c, 0, HEED_F32, 4, shape)) return false;
    c->work_forward = (size_t)layout_of(c, shape + 2).numbers * sizeof(float);
    c->work_backward = c->work_forward;
    return true;
}

/* Fills the tables; returns what is left of the workspace. */
static float *tables(const heed_op_call *c, struct layout *l) {
    const heed_interpolate_opts *const o = c->attr;
    float *work = c->work;
    for (int i = 0; i < 2; i++) {
        struct resize_axis *const a = i ? &l->r.x : &l->r.y;
        a->first = (int32_t *)(void *)work;
        a->weight = work + a->out;
        kernel_resize_weights(a, (enum resize_kind)o->kind, l->scale[i], o->align_corners, o->antialias);
        work += a->out * (1 + a->taps);
    }
    return work;
}

static bool interpolate_forward(heed_op_call *c) {
    struct layout l = layout_of(c, c->out[0]->shape + 2);
    float *const rest = tables(c, &l);
    kernel_resize(pool_of(c), &l.r, heed_op_f32(c, 0), f32_of(c->in[0]), rest);
    return true;
}

static bool interpolate_backward(heed_op_call *c) {
    struct layout l = layout_of(c, c->out[0]->shape + 2);
    float *const rest = tables(c, &l);
    kernel_resize_grad(pool_of(c), &l.r, c->din[0], c->add[0], c->dout[0], rest);
    return true;
}

const heed_op op_interpolate = {.name = "interpolate",
                                .infer = interpolate_infer,
                                .forward = interpolate_forward,
                                .backward = interpolate_backward,
                                .flags = HEED_OP_ADDS,
                                .attr_size = sizeof(heed_interpolate_opts)};

heed_tensor *heed_interpolate(heed_ctx *cx, heed_tensor *x, const heed_interpolate_opts *opts) {
    return apply1(cx, &op_interpolate, opts ? opts : &(heed_interpolate_opts){0}, &x, 1);
}
