/* Recurrent networks over whole sequences, one layer and one direction, batch first.
 *
 *   Elman 1990        h = act(x W_ih' + b_ih + h_ W_hh' + b_hh),  act tanh or relu
 *   GRU (Cho et al. 2014, as torch has it)
 *                     r, z = sigmoid(x W_ih' + b_ih + h_ W_hh' + b_hh);  n = tanh(x W_in' + b_in + r (h_ W_hn' + b_hn))
 *                     h = (1 - z) n + z h_
 *   LSTM (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000)
 *                     i, f, o = sigmoid(...),  g = tanh(...);   c = f c_ + i g;   h = o tanh(c)
 *                     with a projection (Sak et al. 2014)  h = (o tanh(c)) W_hr'
 *
 * h_ and c_ are those of the step before. B rows, T steps, C inputs, H units, P outputs (H without a projection), G
 * gates (1, 3, 4), stored as torch stores them: r, z, n and i, f, g, o.
 *
 * Rows may have lengths: what lies behind a row's end is not read, gives zeros and gets no gradient, the final states
 * are those of its own last step, and the reverse direction begins there. Rows are taken in order of falling length, so
 * that a step works on the first rows of the one before; everything that is kept is packed, step by step, without
 * padding.
 *
 * The input product is taken for all steps at once, as are the gradients of the weights. Left for a step are the
 * product with h_, whose right side is packed once, and the gates; a thread has all gates of some units, so that a step
 * has one barrier (two with a projection). */
#ifndef KERNEL_RECURRENT_H
#define KERNEL_RECURRENT_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

enum cell { CELL_TANH, CELL_RELU, CELL_GRU, CELL_LSTM };
static inline int64_t cell_gates(enum cell cell) { return cell == CELL_LSTM ? 4 : cell == CELL_GRU ? 3 : 1; }

struct recurrent {
    enum cell cell;
    bool reverse;
    int64_t batch, steps, inputs, units, outputs; /* B, T, C, H, P */
    const float *x;                               /* (B,T,C) */
    const int32_t *lengths;                       /* (B), 0 .. T; NULL: T each */
    const float *h0, *c0;                         /* (B,P), (B,H); NULL: zeros */
    const void *w_ih, *w_hh, *w_hr;               /* (GH,C), (GH,P), (P,H); w_hr NULL: P = H */
    enum stored ih_type, hh_type, hr_type;
    const float *b_ih, *b_hh; /* (GH) or NULL */
    float *y, *hn, *cn;       /* (B,T,P), (B,P), (B,H) of an LSTM */
    void *state; /* kernel_recurrent_state bytes, aligned to 64: from forward to backward, which destroys it */
    void *work;  /* kernel_recurrent_work or _grad_work bytes, aligned to 64 */
};

/* Where gradients go; each may be NULL. add: to what is there. */
struct recurrent_out {
    float *to;
    bool add;
};
struct recurrent_grad {
    const float *dy, *dhn, *dcn; /* each may be NULL: zeros */
    struct recurrent_out dx, dw_ih, dw_hh, dw_hr, db_ih, db_hh, dh0, dc0;
};

/* From the shapes alone. */
size_t kernel_recurrent_state(const struct recurrent *r);
size_t kernel_recurrent_work(const struct recurrent *r);
size_t kernel_recurrent_grad_work(const struct recurrent *r);
void kernel_recurrent(struct pool *pool, const struct recurrent *r);
void kernel_recurrent_backward(struct pool *pool, const struct recurrent *r, const struct recurrent_grad *grad);

#endif
