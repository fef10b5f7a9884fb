/* Rotary positions (Su et al. 2021).   (x_a, x_b) -> (x_a cos - x_b sin, x_a sin + x_b cos) for each pair i, the angle
 * position * base^(-2i/R), or from a table;   dx: dy rotated back        x, y: (B,T,H,D) or packed (N,H,D) */
#include "attention/rotary.h"
#include "attention/attention_ops.h"
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

enum { X, POSITIONS, ANGLES, INPUTS };

/* x and y are (B,T,H,D), or packed, as one sequence. */
static struct rotary rotary_of(const heed_op_call *c) {
    const heed_tensor *x = c->in[X], *positions = c->in[POSITIONS], *angles = c->in[ANGLES];
    const int64_t *shape = x->shape + x->rank - 3;
    struct rotary r = {0};
    rotary_options(c->cx, c->op->name, c->attr, shape[2], &r);
    r.batch = x->rank == 4 ? x->shape[0] : 1;
    r.time = shape[0];
    r.heads = shape[1];
    r.positions = positions ? i32_of(positions) : NULL;
    r.own_positions = positions && positions->rank == 2;
    if (angles) r.angles = f32_of(angles), r.channels = cols_of(angles), r.own_positions = angles->rank == 3;
    return r;
}

static bool angles_ok(heed_op_call *c) {
    const heed_tensor *x = c->in[X], *a = c->in[ANGLES];
    const int64_t time = x->shape[x->rank - 3];
    const bool one = a->rank == 2 && a->shape[0] == time;
    const bool each = a->rank == 3 && x->rank == 4 && a->shape[0] == x->shape[0] && a->shape[1] == time;
    return ((one || each) && cols_of(a) % 2 == 0 && cols_of(a) <= cols_of(x)) ||
           heed_op_fail(c, HEED_ERR_SHAPE, "angles of shape %s do not fit x of shape %s: (T,R) or (B,T,R)",
                        heed_shape_text(a).s, heed_shape_text(x).s);
}

static bool positions_ok(heed_op_call *c) {
    const heed_tensor *x = c->in[X], *p = c->in[POSITIONS];
    const int64_t time = x->shape[x->rank - 3];
    const bool one = p->rank == 1 && p->shape[0] == time;
    const bool each = p->rank == 2 && x->rank == 4 && p->shape[0] == x->shape[0] && p->shape[1] == time;
    return one || each ||
           heed_op_fail(c, HEED_ERR_SHAPE, "positions of shape %s do not fit x of shape %s: (T) or (B,T)",
                        heed_shape_text(p).s, heed_shape_text(x).s);
}

static bool rotary_infer(heed_op_call *c) {
    const heed_rotary_opts *opts = c->attr;
    const heed_tensor *x = c->in[X];
    struct rotary r;
    int64_t last;
    if (!heed_op_want(c, X, HEED_F32) || (c->in[POSITIONS] && !heed_op_want(c, POSITIONS, HEED_I32)) ||
        (c->in[ANGLES] && !heed_op_want(c, ANGLES, HEED_F32)))
        return false;
    if (x->rank != 3 && x->rank != 4)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s is neither (B,T,H,D) nor (N,H,D)", heed_shape_text(x).s);
    if (!rotary_options(c->cx, c->op->name, opts, cols_of(x), &r) || (c->in[POSITIONS] && !positions_ok(c)) ||
        (c->in[ANGLES] && !angles_ok(c)))
        return false;
    if (!i64_add(opts->start, x->shape[x->rank - 3], &last))
        return heed_op_fail(c, HEED_ERR_RANGE, "positions from %lld on are too large", (long long)opts->start);
    r = rotary_of(c);
    c->save_in = (c->in[POSITIONS] ? 1u << POSITIONS : 0) | (c->in[ANGLES] ? 1u << ANGLES : 0);
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
                           .optional = 1u << POSITIONS | 1u << ANGLES,
                           .attr_size = sizeof(heed_rotary_opts)};

heed_tensor *heed_rotary(heed_ctx *cx, heed_tensor *x, const heed_rotary_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!opts) {
        heed_fail(cx, HEED_ERR_USAGE, "rotary: the options are NULL");
        return NULL;
    }
    struct attention_at at;
    heed_tensor *const angles = opts->angles ? heed_contiguous(cx, opts->angles) : NULL;
    heed_tensor *const positions = opts->positions && !angles ? heed_contiguous(cx, opts->positions) : NULL;
    heed_rotary_opts o = *opts;
    if (angles) o = (heed_rotary_opts){.channels = cols_of(angles), .interleaved = opts->interleaved};
    if (x && !strides_of(x, &at)) x = heed_contiguous(cx, x);
    return apply1(cx, &op_rotary, &o, (heed_tensor *[INPUTS]){x, positions, angles}, INPUTS);
}

heed_tensor *heed_rotary_angles(heed_ctx *cx, const float *speeds, int64_t pairs, float factor, int64_t start,
                                int64_t length, heed_tensor *positions) {
    if (heed_failed(cx)) return NULL;
    const int rank = positions ? positions->rank : 1;
    int64_t shape[HEED_MAX_RANK] = {length}, last;
    if (!speeds || pairs < 0 || pairs > INT64_MAX / 2 || length < 0 || !i64_add(start, length, &last)) {
        heed_fail(cx, HEED_ERR_USAGE, "rotary_angles: %lld speeds of %lld positions from %lld on cannot be",
                  (long long)pairs, (long long)length, (long long)start);
        return NULL;
    }
    if (positions && (positions->dtype != HEED_I32 || rank < 1 || rank > 2)) {
        heed_fail(cx, HEED_ERR_SHAPE, "rotary_angles: positions are whole numbers, (T) or (B,T), not %s %s",
                  heed_dtype_name(positions->dtype), heed_shape_text(positions).s);
        return NULL;
    }
    if (positions) positions = heed_contiguous(cx, positions);
    for (int i = 0; positions && i < rank; i++) shape[i] = positions->shape[i];
    shape[rank] = 2 * pairs;
    heed_tensor *const t = heed_zeros(cx, HEED_F32, rank + 1, shape);
    if (!t || cx->config.dry || t->count == 0) return t;
    float *const at = (float *)(void *)t->data;
    kernel_angles(cx->pool, &(struct angles){.rows = t->count / (2 * pairs),
                                             .pairs = pairs,
                                             .speeds = speeds,
                                             .factor = factor,
                                             .start = start,
                                             .positions = positions ? i32_of(positions) : NULL,
                                             .cosines = at,
                                             .sines = at + pairs,
                                             .row = 2 * pairs,
                                             .step = 1});
    return t;
}
