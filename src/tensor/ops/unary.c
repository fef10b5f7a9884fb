/* Functions of one number, y = f(x), dx = dy f'(x): every line of kernel/functions.def. What the gradient reads, x or
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
#include "kernel/functions.def"

heed_tensor *heed_activate(heed_ctx *cx, heed_tensor *x, heed_activation act) {
    static const heed_op *const of[ACT_COUNT] = {
#define ACTIVATION(name, NAME, ...) [ACT_##NAME] = &op_##name,
#include "kernel/functions.def"
    };
    if (act == HEED_ACT_NONE || heed_failed(cx)) return x;
    if ((int)act < 0 || (int)act >= ACT_COUNT) {
        heed_fail(cx, HEED_ERR_USAGE, "activate: there is no activation %d", (int)act);
        return NULL;
    }
    const struct activation_fn f = kernel_activation((enum activation)act);
    return apply1(cx, of[act], &(struct unary_attr){f.fn, f.a, f.b}, &x, 1);
}
