/* Functions of two or three numbers, broadcast as PyTorch does. Gradients of repeated operands are summed. */
#include "kernel/elementwise.h"
#include "kernel/reduce.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

static struct bcast_operand operand(const heed_tensor *t) { return (struct bcast_operand){t->rank, t->shape}; }

/* Output 0 has the shape that all inputs broadcast to. */
static bool broadcast_out(heed_op_call *c, heed_dtype dtype) {
    int rank = c->in[0]->rank;
    int64_t shape[BCAST_AXES] = {0};
    for (int k = 0; k < rank; k++) shape[k] = c->in[0]->shape[k];
    for (int i = 1; i < c->n_in; i++) {
        int64_t joined[BCAST_AXES];
        if (!kernel_bcast_shape((struct bcast_operand){rank, shape}, operand(c->in[i]), &rank, joined))
            return c->n_in == 2
                       ? heed_op_fail(c, HEED_ERR_SHAPE, "%s and %s do not broadcast", heed_shape_text(c->in[0]).s,
                                      heed_shape_text(c->in[1]).s)
                       : heed_op_fail(c, HEED_ERR_SHAPE, "%s, %s and %s do not broadcast", heed_shape_text(c->in[0]).s,
                                      heed_shape_text(c->in[1]).s, heed_shape_text(c->in[2]).s);
        for (int k = 0; k < rank; k++) shape[k] = joined[k];
    }
    return heed_op_out(c, 0, dtype, rank, shape);
}

static struct bcast layout(const heed_op_call *c) {
    struct bcast bc;
    if (c->n_in == 2 && same_shape(c->in[0], c->in[1])) {
        bc = (struct bcast){.axes = 1, .total = c->out[0]->count, .size = {c->out[0]->count}};
        bc.step[0][0] = bc.step[1][0] = 1;
        return bc;
    }
    struct bcast_operand operands[3];
    for (int i = 0; i < c->n_in; i++) operands[i] = operand(c->in[i]);
    kernel_bcast(&bc, operand(c->out[0]), operands, c->n_in);
    return bc;
}

/* ---- arithmetic ---- */

struct binary_attr {
    enum binary fn;
};

static enum binary binary_of(const heed_op_call *c) { return ((const struct binary_attr *)c->attr)->fn; }

static bool binary_infer(heed_op_call *c) {
    const enum binary fn = binary_of(c);
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32) || !broadcast_out(c, HEED_F32)) return false;
    const bool sum = fn == BINARY_ADD || fn == BINARY_SUB;
    if (sum)
        c->save_in = 0;
    else if (fn == BINARY_MUL)
        c->save_in = (c->wants[1] ? 1u : 0) | (c->wants[0] ? 2u : 0);
    else if (fn == BINARY_DIV)
        c->save_in = (c->wants[1] ? 1u : 0) | 2u;
    else
        c->save_in = 3;
    for (int i = 0; sum && i < 2; i++)
        if (same_shape(c->in[i], c->out[0]) && (i == 0 || fn == BINARY_ADD)) heed_op_pass(c, i, 0);
    return true;
}
static bool binary_forward(heed_op_call *c) {
    const struct bcast bc = layout(c);
    kernel_binary(pool_of(c), binary_of(c), heed_op_f32(c, 0), f32_of(c->in[0]), f32_of(c->in[1]), &bc);
    return true;
}
static bool binary_backward(heed_op_call *c) {
    const struct bcast bc = layout(c);
    for (int i = 0; i < 2; i++)
        if (c->din[i])
            kernel_binary_grad(pool_of(c), binary_of(c), i == 1, c->din[i], c->dout[0], f32_of(c->in[0]),
                               f32_of(c->in[1]), &bc, c->add[i]);
    return true;
}

#define BINARY(name_, fn_)                                                                                             \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = binary_infer,                                                                 \
                                .forward = binary_forward,                                                             \
                                .backward = binary_backward,                                                           \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .attr_size = sizeof(struct binary_attr)};                                              \
    heed_tensor *heed_##name_(heed_ctx *cx, heed_tensor *a, heed_tensor *b) {                                          \
        return apply1(cx, &op_##name_, &(struct binary_attr){fn_}, (heed_tensor *[]){a, b}, 2);                        \
    }

BINARY(add, BINARY_ADD)
BINARY(sub, BINARY_SUB)
BINARY(mul, BINARY_MUL)
BINARY(div, BINARY_DIV)
BINARY(pow, BINARY_POW)
BINARY(maximum, BINARY_MAX)
BINARY(minimum, BINARY_MIN)

/* ---- comparisons and logic: u8 out, no gradient ---- */

struct compare_attr {
    enum comparison fn;
};

static bool compare_infer(heed_op_call *c) {
    const heed_dtype type = c->in[0]->dtype;
    if (type != HEED_I32 && !heed_op_want(c, 0, HEED_F32)) return false;
    return heed_op_want(c, 1, type) && broadcast_out(c, HEED_U8);
}
static bool compare_forward(heed_op_call *c) {
    const struct bcast bc = layout(c);
    const enum comparison fn = ((const struct compare_attr *)c->attr)->fn;
    if (c->in[0]->dtype == HEED_F32)
        kernel_compare(pool_of(c), fn, heed_op_u8(c, 0), f32_of(c->in[0]), f32_of(c->in[1]), &bc);
    else
        kernel_compare_i32(pool_of(c), fn, heed_op_u8(c, 0), i32_of(c->in[0]), i32_of(c->in[1]), &bc);
    return true;
}

struct logic_attr {
    enum logic fn;
};

static bool logic_infer(heed_op_call *c) {
    return heed_op_want(c, 0, HEED_U8) && heed_op_want(c, 1, HEED_U8) && broadcast_out(c, HEED_U8);
}
static bool logic_forward(heed_op_call *c) {
    const struct bcast bc = layout(c);
    kernel_logic(pool_of(c), ((const struct logic_attr *)c->attr)->fn, heed_op_u8(c, 0), u8_of(c->in[0]),
                 u8_of(c->in[1]), &bc);
    return true;
}

#define U8_OP(name_, kind, fn_)                                                                                        \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = kind##_infer,                                                                 \
                                .forward = kind##_forward,                                                             \
                                .flags = HEED_OP_NONDIFF,                                                              \
                                .attr_size = sizeof(struct kind##_attr)};                                              \
    heed_tensor *heed_##name_(heed_ctx *cx, heed_tensor *a, heed_tensor *b) {                                          \
        return apply1(cx, &op_##name_, &(struct kind##_attr){fn_}, (heed_tensor *[]){a, b}, 2);                        \
    }

U8_OP(equal, compare, COMPARE_EQ)
U8_OP(not_equal, compare, COMPARE_NE)
U8_OP(less, compare, COMPARE_LT)
U8_OP(less_equal, compare, COMPARE_LE)
U8_OP(greater, compare, COMPARE_GT)
U8_OP(greater_equal, compare, COMPARE_GE)
U8_OP(and, logic, LOGIC_AND)
U8_OP(or, logic, LOGIC_OR)
U8_OP(xor, logic, LOGIC_XOR)

static bool not_infer(heed_op_call *c) { return heed_op_want(c, 0, HEED_U8) && heed_op_like(c, 0, 0); }
static bool not_forward(heed_op_call *c) {
    kernel_not(pool_of(c), heed_op_u8(c, 0), u8_of(c->in[0]), c->in[0]->count);
    return true;
}
const heed_op op_not = {.name = "not", .infer = not_infer, .forward = not_forward, .flags = HEED_OP_NONDIFF};

heed_tensor *heed_not(heed_ctx *cx, heed_tensor *a) { return apply1(cx, &op_not, NULL, &a, 1); }

/* ---- where: y = cond ? a : b ---- */

static bool where_infer(heed_op_call *c) {
    return heed_op_want(c, 0, HEED_U8) && heed_op_want(c, 1, HEED_F32) && heed_op_want(c, 2, HEED_F32) &&
           broadcast_out(c, HEED_F32);
}
static bool where_forward(heed_op_call *c) {
    const struct bcast bc = layout(c);
    kernel_where(pool_of(c), heed_op_f32(c, 0), u8_of(c->in[0]), f32_of(c->in[1]), f32_of(c->in[2]), &bc);
    return true;
}
static bool where_backward(heed_op_call *c) {
    const struct bcast bc = layout(c);
    for (int i = 1; i < 3; i++)
        if (c->din[i]) kernel_where_grad(pool_of(c), i == 2, c->din[i], c->dout[0], u8_of(c->in[0]), &bc, c->add[i]);
    return true;
}
const heed_op op_where = {.name = "where",
                          .infer = where_infer,
                          .forward = where_forward,
                          .backward = where_backward,
                          .flags = HEED_OP_ADDS,
                          .save_in = 1};

heed_tensor *heed_where(heed_ctx *cx, heed_tensor *cond, heed_tensor *a, heed_tensor *b) {
    return apply1(cx, &op_where, NULL, (heed_tensor *[]){cond, a, b}, 3);
}
