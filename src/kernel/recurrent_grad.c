/* Recurrent networks: back through time.
 *
 * A step turns the gates that forward kept into their gradients, where they lie. Afterwards the gradients of weights
 * and inputs are products over all steps at once. */
#include "kernel/recurrent.h"
#include "kernel/recurrent_parts.h"
#include "kernel/rows.h"
#include <string.h>

#define WAKE_COPIES ((int64_t)1 << 16)

/* Gates whose gradients lie side by side: those of a GRU that h_ reached are r, z and, apart, what r multiplies. */
struct group {
    int64_t gate, count, column; /* in W_hh, and in the state; in units of H */
};

struct backward {
    const struct recurrent *r;
    const struct recurrent_grad *grad;
    struct kept k;
    float *xs, *ones;      /* (N,C), (N) */
    float *dh, *dc, *draw; /* (B,P) rows h_ld apart, (B,H), (B,H), in the order of kept rows */
    float *dhs;            /* (N,P), with a projection */
    struct group group[2];
    struct packed hh[2]; /* G H -> P, of each group */
    struct packed hr;    /* P -> H */
    int groups;
    int64_t s, cut;
};

static struct backward lay(const struct recurrent *r, size_t *bytes) {
    struct pieces p = {.from = bytes ? NULL : r->work};
    struct backward f = {.r = r, .groups = r->cell == CELL_GRU ? 2 : 1};
    const int64_t rows = r->batch * r->steps, units = r->units, outputs = r->outputs, gates = cell_gates(r->cell);
    f.k = recurrent_kept(r, NULL);
    f.group[0] = (struct group){0, r->cell == CELL_GRU ? 2 : gates, 0};
    f.group[1] = (struct group){2, 1, 3};
    f.xs = piece(&p, rows * r->inputs, sizeof(float));
    f.ones = piece(&p, rows, sizeof(float));
    f.dh = piece(&p, r->batch * f.k.h_ld, sizeof(float));
    if (is_lstm(r)) f.dc = piece(&p, r->batch * units, sizeof(float));
    for (int i = 0; i < f.groups; i++) {
        const struct group *g = &f.group[i];
        const int64_t from = g->gate * units * outputs * stored_size(r->hh_type);
        f.hh[i] = (struct packed){.n = outputs, .k = g->count * units, .type = r->hh_type, .ldb = outputs};
        f.hh[i].b = r->w_hh ? (const char *)r->w_hh + from : NULL;
        if (packs(r)) f.hh[i].strips = piece(&p, 1, kernel_gemm_packed_size(outputs, g->count * units));
    }
    if (r->w_hr) {
        f.draw = piece(&p, r->batch * units, sizeof(float));
        f.dhs = piece(&p, rows * outputs, sizeof(float));
        f.hr = (struct packed){.n = units, .k = outputs, .b = r->w_hr, .type = r->hr_type, .ldb = units};
        if (packs(r)) f.hr.strips = piece(&p, 1, kernel_gemm_packed_size(units, outputs));
    }
    if (bytes) *bytes = p.used;
    return f;
}

size_t kernel_recurrent_grad_work(const struct recurrent *r) {
    size_t bytes;
    lay(r, &bytes);
    return bytes;
}

static void put_row(float *to, const float *from, int64_t n, bool add) {
    if (from && add)
        isa_get()->add_part(to, to, from, n);
    else if (from)
        memcpy(to, from, (size_t)n * sizeof(float));
    else if (!add)
        memset(to, 0, (size_t)n * sizeof(float));
}

static void pack_one(void *arg, int64_t task, void *scratch) {
    const struct backward *f = arg;
    (void)scratch;
    kernel_pack(task < f->groups ? &f->hh[task] : &f->hr);
}

/* ---- a step ---- */

/* dh, columns p0 .. p0 + n, of what the gates of step s hand to the step before. */
static void hand_back(const struct backward *f, int64_t s, int64_t p0, int64_t n, float *scratch) {
    const struct kept *k = &f->k;
    for (int i = 0; i < f->groups; i++)
        kernel_packed_product(&f->hh[i], active(k, f->r->steps, s), p0, n,
                              k->gates + k->first[s] * k->gates_ld + f->group[i].column * f->r->units, k->gates_ld,
                              f->dh + p0, k->h_ld, f->r->cell == CELL_GRU || i > 0, NULL, scratch);
}

/* Row i of the step, units u0 .. u0 + n: the gates' gradients, and dc. */
static void cell_back(const struct backward *f, int64_t i, int64_t u0, int64_t n, float *dh) {
    const struct recurrent *r = f->r;
    const struct kept *k = &f->k;
    const struct isa *isa = isa_get();
    const int64_t at = k->first[f->s] + i, units = r->units;
    float *const gates = k->gates + at * k->gates_ld + u0;
    if (is_lstm(r)) {
        float *const dc = f->dc + i * units + u0;
        if (i >= active(k, r->steps, f->s + 1)) /* the row's last step */
            put_row(dc, f->grad->dcn ? f->grad->dcn + k->row[i] * units + u0 : NULL, n, false);
        isa->lstm_grad_row(gates, units, k->c + at * units + u0, dc, dh, n);
    } else if (r->cell == CELL_GRU) {
        isa->gru_grad_row(gates, units, k->h + at * k->h_ld + u0, dh, n);
    } else {
        isa->rnn_grad_row(gates, dh, r->cell == CELL_RELU, n);
    }
}

/* Some columns of dh and, where there is no projection, of the gates. */
static void back_outputs(void *arg, int64_t task, void *scratch) {
    const struct backward *f = arg;
    const struct recurrent *r = f->r;
    const struct recurrent_grad *grad = f->grad;
    const struct kept *k = &f->k;
    const int64_t outputs = r->outputs, s = f->s, p0 = task * f->cut, n = min64(f->cut, outputs - p0);
    const int64_t next = active(k, r->steps, s + 1);
    if (next > 0) hand_back(f, s + 1, p0, n, scratch);
    for (int64_t i = 0; i < active(k, r->steps, s); i++) {
        float *const dh = f->dh + i * k->h_ld + p0;
        if (i >= next) put_row(dh, grad->dhn ? grad->dhn + k->row[i] * outputs + p0 : NULL, n, false);
        put_row(dh, grad->dy ? grad->dy + place(r, k->row[i], s) * outputs + p0 : NULL, n, true);
        if (r->w_hr)
            put_row(f->dhs + (k->first[s] + i) * outputs + p0, dh, n, false);
        else
            cell_back(f, i, p0, n, dh);
    }
}

/* With a projection: some units of the gates. */
static void back_units(void *arg, int64_t task, void *scratch) {
    const struct backward *f = arg;
    const int64_t units = f->r->units, rows = active(&f->k, f->r->steps, f->s), u0 = task * f->cut;
    const int64_t n = min64(f->cut, units - u0);
    kernel_packed_product(&f->hr, rows, u0, n, f->dh, f->k.h_ld, f->draw + u0, units, false, NULL, scratch);
    for (int64_t i = 0; i < rows; i++) cell_back(f, i, u0, n, f->draw + i * units + u0);
}

static void back_first(void *arg, int64_t task, void *scratch) {
    const struct backward *f = arg;
    hand_back(f, 0, task * f->cut, min64(f->cut, f->r->outputs - task * f->cut), scratch);
}

/* ---- after the first step ---- */

/* What reaches the initial states; rows of no steps hand on what their final states got. */
static void initial_states(const struct backward *f) {
    const struct recurrent *r = f->r;
    const struct recurrent_grad *grad = f->grad;
    const int64_t begun = active(&f->k, r->steps, 0), outputs = r->outputs, units = r->units;
    for (int64_t i = 0; i < r->batch; i++) {
        const int64_t b = f->k.row[i];
        const float *const dh = i < begun ? f->dh + i * f->k.h_ld : grad->dhn ? grad->dhn + b * outputs : NULL;
        const float *const dc = i < begun && f->dc ? f->dc + i * units : grad->dcn ? grad->dcn + b * units : NULL;
        if (grad->dh0.to) put_row(grad->dh0.to + b * outputs, dh, outputs, grad->dh0.add);
        if (grad->dc0.to) put_row(grad->dc0.to + b * units, dc, units, grad->dc0.add);
    }
}

/* dx of one row of the batch: zero behind its end. */
static void scatter_row(void *arg, int64_t i, void *scratch) {
    const struct backward *f = arg;
    const struct recurrent *r = f->r;
    const int64_t b = f->k.row[i], inputs = r->inputs, length = length_of(r, b);
    const struct recurrent_out dx = f->grad->dx;
    (void)scratch;
    for (int64_t s = 0; s < length; s++)
        put_row(dx.to + place(r, b, s) * inputs, f->xs + (f->k.first[s] + i) * inputs, inputs, dx.add);
    put_row(dx.to + (b * r->steps + length) * inputs, NULL, (r->steps - length) * inputs, dx.add);
}

/* to (rows, cols) = or += the gates' gradients from `column` on, transposed, times b (N, cols). */
static void weight_grad(struct pool *pool, const struct backward *f, struct recurrent_out out, int64_t row,
                        int64_t rows, int64_t column, const float *b, int64_t ldb, int64_t cols) {
    if (!out.to) return;
    kernel_gemm(pool, &(struct gemm){.m = rows,
                                     .n = cols,
                                     .k = f->k.first[f->r->steps],
                                     .a = f->k.gates + column,
                                     .lda = f->k.gates_ld,
                                     .trans_a = true,
                                     .b = b,
                                     .ldb = ldb,
                                     .c = out.to + row * cols,
                                     .ldc = cols,
                                     .add = out.add,
                                     .alpha = 1});
}

/* Sums over all steps of columns of the gates' gradients: a row of ones times them. */
static void bias_grad(struct pool *pool, const struct backward *f, struct recurrent_out out, int64_t row, int64_t rows,
                      int64_t column) {
    if (!out.to) return;
    const int64_t n = f->k.first[f->r->steps];
    for (int64_t i = 0; i < n; i++) f->ones[i] = 1;
    kernel_gemm(pool, &(struct gemm){.m = 1,
                                     .n = rows,
                                     .k = n,
                                     .a = f->ones,
                                     .lda = n,
                                     .b = f->k.gates + column,
                                     .ldb = f->k.gates_ld,
                                     .c = out.to + row,
                                     .ldc = rows,
                                     .add = out.add,
                                     .alpha = 1});
}

static void all_steps(struct pool *pool, struct backward *f) {
    const struct recurrent *r = f->r;
    const struct recurrent_grad *grad = f->grad;
    const int64_t units = r->units, inputs = r->inputs, outputs = r->outputs, rows = f->k.first[r->steps];
    const int64_t all = cell_gates(r->cell) * units;
    for (int i = 0; i < f->groups; i++) {
        const int64_t first = f->group[i].gate * units, count = f->group[i].count * units;
        const int64_t column = f->group[i].column * units;
        weight_grad(pool, f, grad->dw_hh, first, count, column, f->k.h, f->k.h_ld, outputs);
        bias_grad(pool, f, grad->db_hh, first, count, column);
    }
    bias_grad(pool, f, grad->db_ih, 0, all, 0);
    if (grad->dw_hr.to)
        kernel_gemm(pool, &(struct gemm){.m = outputs,
                                         .n = units,
                                         .k = rows,
                                         .a = f->dhs,
                                         .lda = outputs,
                                         .trans_a = true,
                                         .b = f->k.raw,
                                         .ldb = units,
                                         .c = grad->dw_hr.to,
                                         .ldc = units,
                                         .add = grad->dw_hr.add,
                                         .alpha = 1});
    if (grad->dw_ih.to) {
        recurrent_gather(pool, r, &f->k, f->xs);
        weight_grad(pool, f, grad->dw_ih, 0, all, 0, f->xs, inputs, inputs);
    }
    if (!grad->dx.to) return;
    kernel_gemm(pool, &(struct gemm){.m = rows,
                                     .n = inputs,
                                     .k = all,
                                     .a = f->k.gates,
                                     .lda = f->k.gates_ld,
                                     .b = r->w_ih,
                                     .b_type = r->ih_type,
                                     .ldb = inputs,
                                     .c = f->xs,
                                     .ldc = inputs,
                                     .alpha = 1});
    pool_run_if(rows * inputs >= WAKE_COPIES, pool, r->batch, scatter_row, f);
}

void kernel_recurrent_backward(struct pool *pool, const struct recurrent *r, const struct recurrent_grad *grad) {
    struct backward f = lay(r, NULL);
    f.grad = grad;
    const int64_t gates = cell_gates(r->cell);
    if (packs(r))
        pool_run_if(gates * r->units * r->outputs >= WAKE_COPIES, pool, f.groups + (r->w_hr ? 1 : 0), pack_one, &f);
    const int64_t by_outputs = recurrent_cut(pool, r, r->outputs, gates * r->units);
    const int64_t by_units = recurrent_cut(pool, r, r->units, r->outputs);
    f.s = r->steps - 1;
    while (f.s >= 0 && active(&f.k, r->steps, f.s) == 0) f.s--;
    for (; f.s >= 0; f.s--) {
        f.cut = by_outputs;
        pool_run(pool, ceil_div(r->outputs, by_outputs), back_outputs, &f);
        f.cut = by_units;
        if (r->w_hr) pool_run(pool, ceil_div(r->units, by_units), back_units, &f);
    }
    f.cut = by_outputs;
    if (grad->dh0.to && active(&f.k, r->steps, 0) > 0) pool_run(pool, ceil_div(r->outputs, by_outputs), back_first, &f);
    if (grad->dh0.to || grad->dc0.to) initial_states(&f);
    all_steps(pool, &f);
}
