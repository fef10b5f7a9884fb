/* Rotary positions (Su et al. 2021).   (x_a, x_b) -> (x_a cos - x_b sin, x_a sin + x_b cos) for each pair i, the angle
 * position * base^(-2i/R);   dx: dy rotated back        x, y: (B,T,H,D) or packed (N,H,D) */
#include "attention/rotary.h"
#include "attention/ops.h"
#include "attention/strides.h"
#include "base/checked.h"
#include <math.h>

bool rotary_options(heed_ctx *cx, const char *who, const heed_rotary_opts *opts, int64_t size, struct rotary *r) {
    const float base = opts->base == 0 ? 10000 : opts->base;
    const int64_t channels = opts->channels == 0 ? size : opts->channels;
    if (!(base > 0 && isfinite(base)))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: rotary base %g is not a positive number", who, (double)base);
    if (channels < 0 || channels > size || channels % 2 != 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: %lld channels of a head of %lld cannot be rotated in pairs", who,
                         (long long)channels, (long long)size);
    *r = (struct rotary){.size = size,
                         .channels = channels,
                         .base = (double)base,
                         .interleaved = opts->interleaved,
                         .start = opts->start};
    return true;
}

/* x and y are (B,T,H,D), or packed, as one sequence. */
static struct rotary rotary_of(const heed_op_call *c) {
    const heed_tensor *x = c->in[0], *positions = c->in[1];
    const int64_t *shape = x->shape + x->rank - 3;
    struct rotary r = {0};
    rotary_options(c->cx, c->op->name, c->attr, shape[2], &r);
    r.batch = x->rank == 4 ? x->shape[0] : 1;
    r.time = shape[0];
    r.heads = shape[1];
    r.positions = positions ? i32_of(positions) : NULL;
    r.own_positions = positions && positions->rank == 2;
    return r;
}

static bool positions_ok(heed_op_call *c) {
    const heed_tensor *x = c->in[0], *p = c->in[1];
    const int64_t time = x->shape[x->rank - 3];
    const bool one = p->rank == 1 && p->shape[0] == time;
    const bool each = p->rank == 2 && x->rank == 4 && p->shape[0] == x->shape[0] && p->shape[1] == time;
    return one || each ||
           heed_op_fail(c, HEED_ERR_SHAPE, "positions of shape %s do not fit x of shape %s: (T) or (B,T)",
                        heed_shape_text(p).s, heed_shape_text(x).s);
}

static bool rotary_infer(heed_op_call *c) {
    const heed_rotary_opts *opts = c->attr;
    const heed_tensor *x = c->in[0];
    struct rotary r;
    int64_t last;
    if (!heed_op_want(c, 0, HEED_F32) || (c->in[1] && !heed_op_want(c, 1, HEED_I32))) return false;
    if (x->rank != 3 && x->rank != 4)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s is neither (B,T,H,D) nor (N,H,D)", heed_shape_text(x).s);
    if (!rotary_options(c->cx, c->op->name, opts, cols_of(x), &r) || (c->in[1] && !positions_ok(c))) return false;
    if (!i64_add(opts->start, x->shape[x->rank - 3], &last))
        return heed_op_fail(c, HEED_ERR_RANGE, "positions from %lld on are too large", (long long)opts->start);
    r = rotary_of(c);
    c->save_in = c->in[1] ? 2 : 0;
    c->work_forward = c->work_backward = kernel_rotary_work(&r);
    return heed_op_like(c, 0, 0);
}

static bool rotary_forward(heed_op_call *c) {
    const struct rotary r = rotary_of(c);
    struct attention_at x_at, y_at;
    strides_of(c->in[0], &x_at);
    strides_of(c->out[0], &y_at);
    kernel_rotary(pool_of(c), &r, heed_op_f32(c, 0), y_at, f32_of(c->in[0]), x_at, c->work);
    return true;
}

static bool rotary_backward(heed_op_call *c) {
    struct rotary r = rotary_of(c);
    struct attention_at at; /* gradients are contiguous, as the output is */
    strides_of(c->out[0], &at);
    r.inverse = true;
    r.add = c->add[0];
    kernel_rotary(pool_of(c), &r, c->din[0], at, c->dout[0], at, c->work);
    return true;
}

const heed_op op_rotary = {.name = "rotary",
                           .infer = rotary_infer,
                           .forward = rotary_forward,
                           .backward = rotary_backward,
                           .flags = HEED_OP_ADDS | HEED_OP_STRIDED,
                           .optional = 2,
                           .attr_size = sizeof(heed_rotary_opts)};

heed_tensor *heed_rotary(heed_ctx *cx, heed_tensor *x, const heed_rotary_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!opts) {
        heed_fail(cx, HEED_ERR_USAGE, "rotary: the options are NULL");
        return NULL;
    }
    struct attention_at at;
    heed_tensor *positions = opts->positions ? heed_contiguous(cx, opts->positions) : NULL;
    if (x && !strides_of(x, &at)) x = heed_contiguous(cx, x);
    return apply1(cx, &op_rotary, opts, (heed_tensor *[]){x, positions}, 2);
}
