/* pad: `before[i]` and `after[i]` places of one value around axis i of x.   dx: what of dy lies inside. Any type. */
#include "base/checked.h"
#include "tensor/moves.h"
#include "tensor/ops.h"
#include <math.h>
#include <string.h>

struct pad_attr {
    int64_t before[HEED_MAX_RANK], after[HEED_MAX_RANK];
    float value;
};

/* The value in x's own type; types other than f32, i32 and u8 have no value but zero. */
static bool pad_value(heed_op_call *c, char out[8]) {
    const struct pad_attr *a = c->attr;
    const heed_dtype dtype = c->in[0]->dtype;
    const float low = dtype == HEED_I32 ? -0x1p31f : 0, high = dtype == HEED_I32 ? 0x1p31f : dtype == HEED_U8 ? 256 : 1;
    memset(out, 0, 8);
    if (dtype == HEED_F32) {
        memcpy(out, &a->value, sizeof a->value);
        return true;
    }
    if (!(a->value >= low && a->value < high && a->value == truncf(a->value)))
        return heed_op_fail(c, HEED_ERR_RANGE, "%g is not a value to pad %s with", (double)a->value,
                            heed_dtype_name(dtype));
    const int32_t whole = (int32_t)a->value; /* little-endian, so u8 finds its byte first */
    memcpy(out, &whole, sizeof whole);
    return true;
}

static bool pad_infer(heed_op_call *c) {
    const struct pad_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    int64_t shape[HEED_MAX_RANK];
    char value[8];
    for (int i = 0; i < x->rank; i++) {
        if (a->before[i] < 0 || a->after[i] < 0)
            return heed_op_fail(c, HEED_ERR_RANGE, "%lld before and %lld after axis %d of shape %s: negative",
                                (long long)a->before[i], (long long)a->after[i], i, heed_shape_text(x).s);
        if (!i64_add(a->before[i], a->after[i], &shape[i]) || !i64_add(shape[i], x->shape[i], &shape[i]))
            return heed_op_fail(c, HEED_ERR_RANGE, "%lld before and %lld after axis %d of shape %s: too large",
                                (long long)a->before[i], (long long)a->after[i], i, heed_shape_text(x).s);
    }
    return pad_value(c, value) && heed_op_out(c, 0, x->dtype, x->rank, shape);
}

static struct box pad_box(const heed_op_call *c) {
    const struct pad_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    struct box b = {.size = heed_dtype_size(x->dtype), .rank = x->rank};
    for (int i = 0; i < x->rank; i++) {
        b.whole[i] = c->out[0]->shape[i];
        b.before[i] = a->before[i];
        b.shape[i] = x->shape[i];
    }
    return b;
}

static bool pad_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    const struct box b = pad_box(c);
    _Alignas(8) char value[8];
    pad_value(c, value);
    box_fill_around(pool_of(c), &b, c->out[0]->data, value);
    box_put(pool_of(c), &b, c->out[0]->data, x->data, x, false);
    return true;
}

static bool pad_backward(heed_op_call *c) {
    const struct box b = pad_box(c);
    box_get(pool_of(c), &b, c->din[0], c->dout[0], c->add[0]);
    return true;
}

const heed_op op_pad = {.name = "pad",
                        .infer = pad_infer,
                        .forward = pad_forward,
                        .backward = pad_backward,
                        .flags = HEED_OP_STRIDED | HEED_OP_ADDS,
                        .attr_size = sizeof(struct pad_attr)};

heed_tensor *heed_pad(heed_ctx *cx, heed_tensor *x, const int64_t *before, const int64_t *after, float value) {
    struct pad_attr a = {.value = value};
    if (x && x->rank > 0 && (!before || !after)) {
        heed_fail(cx, HEED_ERR_USAGE, "pad: the amounts %s are NULL", before ? "after" : "before");
        return NULL;
    }
    for (int i = 0; x && i < x->rank; i++) {
        a.before[i] = before[i];
        a.after[i] = after[i];
    }
    x = movable(cx, x);
    return apply1(cx, &op_pad, &a, &x, 1);
}
