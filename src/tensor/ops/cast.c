/* Between types: f32, i32, u8, bf16 and f16. To i32 towards zero; to u8: is it not 0? To bf16 and f16 to the nearest,
 * ties to even. No gradient. */
#include "kernel/stored.h"
#include "tensor/ops.h"
#include "tensor/stored.h"

struct cast_attr {
    heed_dtype to;
};

static bool is_known(heed_dtype dtype) { return is_real(dtype) || dtype == HEED_I32 || dtype == HEED_U8; }

static bool cast_infer(heed_op_call *c) {
    const heed_dtype from = c->in[0]->dtype, to = ((const struct cast_attr *)c->attr)->to;
    if (!is_known(from) || !is_known(to))
        return heed_op_fail(c, HEED_ERR_TYPE, "%s to %s is not among f32, i32, u8, bf16 and f16", heed_dtype_name(from),
                            heed_dtype_name(to));
    return heed_op_out(c, 0, to, c->in[0]->rank, c->in[0]->shape);
}

static uint16_t bits_at(const heed_tensor *t, int64_t i) { return ((const uint16_t *)(const void *)t->data)[i]; }

static double number_at(const heed_tensor *t, int64_t i) {
    switch (t->dtype) {
    case HEED_F32:
        return (double)f32_of(t)[i];
    case HEED_I32:
        return (double)i32_of(t)[i];
    case HEED_BF16:
        return (double)heed_bf16_to_f32(bits_at(t, i));
    case HEED_F16:
        return (double)heed_f16_to_f32(bits_at(t, i));
    default:
        return (double)u8_of(t)[i];
    }
}

static bool cast_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    const heed_dtype to = c->out[0]->dtype;
    uint16_t *const bits = (uint16_t *)(void *)c->out[0]->data;
    if (is_real(x->dtype) && to == HEED_F32) {
        kernel_widen(pool_of(c), stored_of(x->dtype), heed_op_f32(c, 0), x->data, x->count);
        return true;
    }
    if (x->dtype == HEED_F32 && is_real(to)) {
        kernel_narrow(pool_of(c), stored_of(to), bits, f32_of(x), x->count);
        return true;
    }
    for (int64_t i = 0; i < x->count; i++) {
        const double v = number_at(x, i);
        if (to == HEED_F32)
            heed_op_f32(c, 0)[i] = (float)v;
        else if (to == HEED_BF16)
            bits[i] = heed_f32_to_bf16((float)v);
        else if (to == HEED_F16)
            bits[i] = heed_f32_to_f16((float)v);
        else if (to == HEED_U8)
            heed_op_u8(c, 0)[i] = v != 0;
        else if (v > -2147483649.0 && v < 2147483648.0)
            heed_op_i32(c, 0)[i] = (int32_t)v;
        else
            return heed_op_fail(c, HEED_ERR_RANGE, "%g at place %lld does not fit in 32 bits", v, (long long)i);
    }
    return true;
}

const heed_op op_cast = {.name = "cast",
                         .infer = cast_infer,
                         .forward = cast_forward,
                         .flags = HEED_OP_NONDIFF,
                         .attr_size = sizeof(struct cast_attr)};

heed_tensor *heed_cast(heed_ctx *cx, heed_tensor *x, heed_dtype to) {
    return apply1(cx, &op_cast, &(struct cast_attr){to}, &x, 1);
}
