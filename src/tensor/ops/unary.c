/* Functions of one number, y = f(x), dx = dy f'(x): every line of kernel/elementwise.def. What the gradient reads, x or
 * y, is all that is saved. */
#include "kernel/elementwise.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct unary_attr {
    enum unary fn;
    float a, b;
};

static bool unary_infer(heed_op_call *c) {
    const struct unary_attr *u = c->attr;
    const enum unary_reads reads = kernel_unary_reads(u->fn);
    c->save_in = reads == READS_X;
    c->save_out = reads == READS_Y;
    return heed_op_want(c, 0, HEED_F32) && heed_op_like(c, 0, 0);
}
static bool unary_forward(heed_op_call *c) {
    const struct unary_attr *u = c->attr;
    kernel_unary(pool_of(c), u->fn, heed_op_f32(c, 0), f32_of(c->in[0]), c->in[0]->count, u->a, u->b);
    return true;
}
static bool unary_backward(heed_op_call *c) {
    const struct unary_attr *u = c->attr;
    const enum unary_reads reads = kernel_unary_reads(u->fn);
    const float *saved = reads == READS_X ? f32_of(c->in[0]) : reads == READS_Y ? f32_of(c->out[0]) : NULL;
    kernel_unary_grad(pool_of(c), u->fn, c->din[0], c->dout[0], saved, c->in[0]->count, u->a, u->b, c->add[0]);
    return true;
}

/* The function of each op, with as many parameters as its line of the table says. */
#define FUNCTION_0(name, NAME)                                                                                         \
    heed_tensor *heed_##name(heed_ctx *cx, heed_tensor *x) {                                                           \
        return apply1(cx, &op_##name, &(struct unary_attr){UNARY_##NAME, 0, 0}, &x, 1);                                \
    }
#define FUNCTION_1(name, NAME)                                                                                         \
    heed_tensor *heed_##name(heed_ctx *cx, heed_tensor *x, float a) {                                                  \
        return apply1(cx, &op_##name, &(struct unary_attr){UNARY_##NAME, a, 0}, &x, 1);                                \
    }
#define FUNCTION_2(name, NAME)                                                                                         \
    heed_tensor *heed_##name(heed_ctx *cx, heed_tensor *x, float a, float b) {                                         \
        return apply1(cx, &op_##name, &(struct unary_attr){UNARY_##NAME, a, b}, &x, 1);                                \
    }
#define UNARY(name_, NAME, parameters, ...)                                                                            \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = unary_infer,                                                                  \
                                .forward = unary_forward,                                                              \
                                .backward = unary_backward,                                                            \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .attr_size = sizeof(struct unary_attr)};                                               \
    FUNCTION_##parameters(name_, NAME)
#include "kernel/elementwise.def"

/* ---- cast: f32, i32, u8 among each other ---- towards zero; to u8: is it not 0? */

struct cast_attr {
    heed_dtype to;
};

static bool cast_infer(heed_op_call *c) {
    const heed_dtype from = c->in[0]->dtype, to = ((const struct cast_attr *)c->attr)->to;
    const bool known[2] = {from == HEED_F32 || from == HEED_I32 || from == HEED_U8,
                           to == HEED_F32 || to == HEED_I32 || to == HEED_U8};
    if (!known[0] || !known[1])
        return heed_op_fail(c, HEED_ERR_TYPE, "%s to %s is not among f32, i32 and u8", heed_dtype_name(from),
                            heed_dtype_name(to));
    return heed_op_out(c, 0, to, c->in[0]->rank, c->in[0]->shape);
}

static double number_at(const heed_tensor *t, int64_t i) {
    if (t->dtype == HEED_F32) return (double)f32_of(t)[i];
    return t->dtype == HEED_I32 ? (double)i32_of(t)[i] : (double)u8_of(t)[i];
}

static bool cast_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    for (int64_t i = 0; i < x->count; i++) {
        const double v = number_at(x, i);
        if (c->out[0]->dtype == HEED_F32)
            heed_op_f32(c, 0)[i] = (float)v;
        else if (c->out[0]->dtype == HEED_U8)
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
