/* Additive scores (Bahdanau et al. 2015).   s_ij = sum_c w_c tanh(q_ic + k_jc)       q (…,Tq,h), k (…,Tk,h), w (h)
 * Neither forward nor backward holds (…,Tq,Tk,h); see kernel/additive.h. */
#include "kernel/additive.h"
#include "attention/attention_ops.h"
#include "attention/pairs.h"

static struct additive additive_of(const heed_op_call *c) {
    const struct pairs p = pairs_of(c->in[0], c->in[1]);
    return (struct additive){p.batch, p.queries, p.keys, p.d, f32_of(c->in[0]), f32_of(c->in[1]), f32_of(c->in[2])};
}

static bool additive_infer(heed_op_call *c) {
    const heed_tensor *q = c->in[0], *w = c->in[2];
    if (!pairs_infer(c) || !heed_op_want(c, 2, HEED_F32)) return false;
    if (w->rank != 1 || w->shape[0] != cols_of(q))
        return heed_op_fail(c, HEED_ERR_SHAPE, "w of shape %s does not fit queries of shape %s: (h) and (…,Tq,h)",
                            heed_shape_text(w).s, heed_shape_text(q).s);
    const struct additive a = additive_of(c);
    c->work_forward = kernel_additive_work(&a);
    c->work_backward = kernel_additive_grad_work(&a);
    return true;
}

static bool additive_forward(heed_op_call *c) {
    const struct additive a = additive_of(c);
    kernel_additive(pool_of(c), &a, heed_op_f32(c, 0), c->work);
    return true;
}

static bool additive_backward(heed_op_call *c) {
    const struct additive a = additive_of(c);
    const struct additive_grad g = {c->dout[0], c->din[0], c->din[1], c->din[2], c->add[0], c->add[1], c->add[2]};
    kernel_additive_grad(pool_of(c), &a, &g, c->work);
    return true;
}

const heed_op op_additive_score = {.name = "additive_score",
                                   .infer = additive_infer,
                                   .forward = additive_forward,
                                   .backward = additive_backward,
                                   .flags = HEED_OP_ADDS,
                                   .save_in = 7};

heed_tensor *additive_score(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *w) {
    return apply1(cx, &op_additive_score, NULL, (heed_tensor *[]){q, k, w}, 3);
}
