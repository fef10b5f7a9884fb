/* Recurrent networks over whole sequences: one layer, one direction. The equations are in kernel/recurrent.h.
 *   inputs   x (B,T,C), W_ih (GH,C), W_hh (GH,P), b_ih, b_hh (GH), h0 (B,P), lengths (B); of an LSTM also c0 (B,H),
 * W_hr (P,H) outputs  y (B,T,P), h_n (B,P); of an LSTM also c_n (B,H) */
#include "kernel/recurrent.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include "tensor/stored.h"

enum { X, W_IH, W_HH, B_IH, B_HH, H0, LENGTHS, C0, W_HR, INPUTS };

struct recurrent_attr {
    enum cell cell;
    bool reverse;
};

static const heed_tensor *input(const heed_op_call *c, int i) { return i < c->n_in ? c->in[i] : NULL; }
static const float *numbers(const heed_op_call *c, int i) { return input(c, i) ? f32_of(input(c, i)) : NULL; }
static enum stored type_of(const heed_op_call *c, int i) {
    return input(c, i) ? stored_of(input(c, i)->dtype) : STORED_F32;
}

static struct recurrent describe(const heed_op_call *c) {
    const struct recurrent_attr *a = c->attr;
    const heed_tensor *x = c->in[X], *hh = c->in[W_HH], *hr = input(c, W_HR);
    return (struct recurrent){.cell = a->cell,
                              .reverse = a->reverse,
                              .batch = x->shape[0],
                              .steps = x->shape[1],
                              .inputs = x->shape[2],
                              .units = hh->shape[0] / cell_gates(a->cell),
                              .outputs = hh->shape[1],
                              .x = f32_of(x),
                              .lengths = c->in[LENGTHS] ? i32_of(c->in[LENGTHS]) : NULL,
                              .h0 = numbers(c, H0),
                              .c0 = numbers(c, C0),
                              .w_ih = c->in[W_IH]->data,
                              .w_hh = hh->data,
                              .w_hr = hr ? hr->data : NULL,
                              .ih_type = type_of(c, W_IH),
                              .hh_type = type_of(c, W_HH),
                              .hr_type = type_of(c, W_HR),
                              .b_ih = numbers(c, B_IH),
                              .b_hh = numbers(c, B_HH)};
}

static bool has_shape(const heed_tensor *t, int rank, int64_t rows, int64_t cols) {
    return t->rank == rank && t->shape[0] == rows && (rank == 1 || t->shape[1] == cols);
}

/* An input that may be left out: f32 of this shape. */
static bool want_shape(heed_op_call *c, int i, const char *what, int rank, int64_t rows, int64_t cols) {
    const heed_tensor *t = input(c, i);
    if (!t) return true;
    if (!heed_op_want(c, i, HEED_F32)) return false;
    if (has_shape(t, rank, rows, cols)) return true;
    if (rank == 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "%s has shape %s, not (%lld)", what, heed_shape_text(t).s,
                            (long long)rows);
    return heed_op_fail(c, HEED_ERR_SHAPE, "%s has shape %s, not (%lld,%lld)", what, heed_shape_text(t).s,
                        (long long)rows, (long long)cols);
}

static bool check_inputs(heed_op_call *c) {
    const struct recurrent_attr *a = c->attr;
    const heed_tensor *x = c->in[X], *ih = c->in[W_IH], *hh = c->in[W_HH], *hr = input(c, W_HR);
    const int64_t gates = cell_gates(a->cell);
    if (!heed_op_want(c, X, HEED_F32) || !want_real(c, W_IH) || !want_real(c, W_HH) || (hr && !want_real(c, W_HR)) ||
        (c->in[LENGTHS] && !heed_op_want(c, LENGTHS, HEED_I32)))
        return false;
    if (x->rank != 3)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x has shape %s, not (batch,steps,inputs)", heed_shape_text(x).s);
    if (hh->rank != 2 || hh->count == 0 || hh->shape[0] % gates != 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "W_hh has shape %s, not (%lld units,outputs)", heed_shape_text(hh).s,
                            (long long)gates);
    const int64_t batch = x->shape[0], units = hh->shape[0] / gates, outputs = hh->shape[1];
    if (ih->rank != 2 || !has_shape(ih, 2, gates * units, x->shape[2]))
        return heed_op_fail(c, HEED_ERR_SHAPE, "W_ih of shape %s does not fit x of shape %s and W_hh of shape %s",
                            heed_shape_text(ih).s, heed_shape_text(x).s, heed_shape_text(hh).s);
    if (hr ? !has_shape(hr, 2, outputs, units) : outputs != units)
        return heed_op_fail(c, HEED_ERR_SHAPE, "W_hh of shape %s gives %lld units, which %s to %lld outputs",
                            heed_shape_text(hh).s, (long long)units,
                            hr ? "W_hr does not take" : "need a projection W_hr", (long long)outputs);
    if (c->in[LENGTHS] && !has_shape(c->in[LENGTHS], 1, batch, 0))
        return heed_op_fail(c, HEED_ERR_SHAPE, "lengths of shape %s do not fit x of shape %s",
                            heed_shape_text(c->in[LENGTHS]).s, heed_shape_text(x).s);
    return want_shape(c, B_IH, "b_ih", 1, gates * units, 0) && want_shape(c, B_HH, "b_hh", 1, gates * units, 0) &&
           want_shape(c, H0, "h0", 2, batch, outputs) && want_shape(c, C0, "c0", 2, batch, units);
}

static bool recurrent_infer(heed_op_call *c) {
    if (!check_inputs(c)) return false;
    const struct recurrent r = describe(c);
    if (!heed_op_out(c, 0, HEED_F32, 3, (int64_t[]){r.batch, r.steps, r.outputs}) ||
        !heed_op_out(c, 1, HEED_F32, 2, (int64_t[]){r.batch, r.outputs}) ||
        (c->n_out > 2 && !heed_op_out(c, 2, HEED_F32, 2, (int64_t[]){r.batch, r.units})))
        return false;
    c->save_in =
        1u << W_HH | 1u << LENGTHS | 1u << W_HR | (c->wants[W_IH] ? 1u << X : 0) | (c->wants[X] ? 1u << W_IH : 0);
    c->state_size = c->recording ? kernel_recurrent_state(&r) : 0;
    c->work_forward = kernel_recurrent_work(&r) + (c->recording ? 0 : kernel_recurrent_state(&r));
    c->work_backward = kernel_recurrent_grad_work(&r);
    return true;
}

static bool recurrent_forward(heed_op_call *c) {
    struct recurrent r = describe(c);
    for (int64_t b = 0; r.lengths && b < r.batch; b++)
        if (r.lengths[b] < 0 || r.lengths[b] > r.steps)
            return heed_op_fail(c, HEED_ERR_RANGE, "length %d of row %lld is not between 0 and %lld", r.lengths[b],
                                (long long)b, (long long)r.steps);
    r.y = heed_op_f32(c, 0);
    r.hn = heed_op_f32(c, 1);
    r.cn = c->n_out > 2 ? heed_op_f32(c, 2) : NULL;
    r.work = c->work;
    r.state = c->recording ? c->state : (char *)c->work + kernel_recurrent_work(&r);
    kernel_recurrent(pool_of(c), &r);
    return true;
}

static struct recurrent_out goes(const heed_op_call *c, int i) {
    return i < c->n_in ? (struct recurrent_out){c->din[i], c->add[i]} : (struct recurrent_out){0};
}

static bool recurrent_backward(heed_op_call *c) {
    struct recurrent r = describe(c);
    r.state = c->state;
    r.work = c->work;
    const struct recurrent_grad grad = {.dy = c->dout[0],
                                        .dhn = c->dout[1],
                                        .dcn = c->n_out > 2 ? c->dout[2] : NULL,
                                        .dx = goes(c, X),
                                        .dw_ih = goes(c, W_IH),
                                        .dw_hh = goes(c, W_HH),
                                        .dw_hr = goes(c, W_HR),
                                        .db_ih = goes(c, B_IH),
                                        .db_hh = goes(c, B_HH),
                                        .dh0 = goes(c, H0),
                                        .dc0 = goes(c, C0)};
    kernel_recurrent_backward(pool_of(c), &r, &grad);
    return true;
}

#define RECURRENT_OP(name_)                                                                                            \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = recurrent_infer,                                                              \
                                .forward = recurrent_forward,                                                          \
                                .backward = recurrent_backward,                                                        \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .optional =                                                                            \
                                    1u << B_IH | 1u << B_HH | 1u << H0 | 1u << LENGTHS | 1u << C0 | 1u << W_HR,        \
                                .attr_size = sizeof(struct recurrent_attr)};
RECURRENT_OP(rnn)
RECURRENT_OP(gru)
RECURRENT_OP(lstm)

heed_tensor *heed_recurrent(heed_ctx *cx, heed_cell_kind kind, heed_tensor *x, const heed_cell_weights *cell,
                            const heed_recurrent_opts *opts, heed_tensor **hn, heed_tensor **cn) {
    static const struct {
        const heed_op *op;
        enum cell cell;
    } kinds[] = {[HEED_RNN_TANH] = {&op_rnn, CELL_TANH},
                 [HEED_RNN_RELU] = {&op_rnn, CELL_RELU},
                 [HEED_GRU] = {&op_gru, CELL_GRU},
                 [HEED_LSTM] = {&op_lstm, CELL_LSTM}};
    const heed_recurrent_opts o = opts ? *opts : (heed_recurrent_opts){0};
    heed_tensor *out[3] = {NULL};
    if (hn) *hn = NULL;
    if (cn) *cn = NULL;
    if (heed_failed(cx)) return NULL;
    if ((int)kind < 0 || (int)kind > HEED_LSTM || !cell || (kind != HEED_LSTM && (o.c0 || cell->w_hr || cn))) {
        heed_fail(cx, HEED_ERR_USAGE, "recurrent: a kind and a cell are needed; c0, c_n and w_hr are an LSTM's alone");
        return NULL;
    }
    const bool lstm = kind == HEED_LSTM;
    heed_apply(cx, kinds[kind].op, &(struct recurrent_attr){kinds[kind].cell, o.reverse},
               (heed_tensor *[]){x, cell->w_ih, cell->w_hh, cell->b_ih, cell->b_hh, o.h0, o.lengths, o.c0, cell->w_hr},
               lstm ? INPUTS : C0, out, lstm ? 3 : 2);
    if (hn) *hn = out[1];
    if (cn) *cn = out[2];
    return out[0];
}
