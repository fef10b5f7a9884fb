/* Cross entropy from hidden states that never holds the rows x vocabulary logits.
 *   loss = cross_entropy(x W' + b, target)        x (…,C), W (V,C), b (V) or NULL, target (…)
 * Rows are taken in chunks: logits of a chunk, their loss, and at once their gradient p - onehot, from which
 *   dx = dlogits W,  dW += dlogits' x,  db += sum of dlogits' rows
 * follow while the chunk is in cache: three products instead of the four that coming back later would take. That needs
 * a place for dW before backward begins: the parameter's own gradient, claimed while it is empty. Backward then only
 * scales by the upstream gradient (nearly always 1). Where that cannot be, backward computes the chunks again.
 * Where rows are ignored, those that count are gathered first, so that of masked words only the 15 % cost something. */
#include "kernel/gemm.h"
#include "kernel/move.h"
#include "kernel/reduce.h"
#include "kernel/rows.h"
#include "tensor/ops.h"
#include "tensor/ops/cross_entropy.h"
#include "tensor/stored.h"
#include <string.h>

enum { X, W, B, TARGET };

struct linear_ce_attr {
    heed_cross_entropy_opts opts;
};

#define CHUNK_ROWS  ((int64_t)256)
#define CHUNK_BYTES ((int64_t)26 << 20)

static int64_t chunk_rows(const heed_op_call *c) {
    const int64_t rows = rows_of(c->in[X]), fit = CHUNK_BYTES / ((c->in[W]->shape[0] + 1) * (int64_t)sizeof(float));
    int64_t chunk = fit < 16 ? 16 : fit < CHUNK_ROWS ? fit / 16 * 16 : CHUNK_ROWS;
    return chunk < rows ? chunk : rows;
}

/* Are the gradients taken in forward? Known once infer has claimed dW, which in a dry context may have no address. */
static bool is_early(const heed_op_call *c) {
    const struct linear_ce_attr *a = c->attr;
    return c->recording && a->opts.reduction != HEED_REDUCE_NONE && (!c->wants[W] || heed_op_claimed(c, W));
}

/* May there be rows to leave out? How many is known once the targets are: plans assume that all count. */
static bool gathers(const heed_op_call *c) {
    const struct linear_ce_attr *a = c->attr;
    return a->opts.ignore && rows_of(c->in[X]) <= INT32_MAX;
}

/* What gathering takes beside: the chunk's rows of x, the places and targets of all that count, and where each row has
 * a gradient of its own, these. */
static size_t gather_work(const heed_op_call *c, bool each) {
    const size_t rows = (size_t)rows_of(c->in[X]);
    if (!gathers(c)) return 0;
    return (size_t)(chunk_rows(c) * cols_of(c->in[X])) * sizeof(float) + 2 * rows * sizeof(int32_t) +
           (each ? rows * sizeof(float) : 0);
}

/* State of an early call: dx (rows,C), then db (V); else the log-sum-exp of each row that counts. */
static float *early_db(const heed_op_call *c) { return (float *)c->state + (c->wants[X] ? c->in[X]->count : 0); }

static bool linear_ce_infer(heed_op_call *c) {
    const struct linear_ce_attr *a = c->attr;
    const heed_tensor *x = c->in[X], *w = c->in[W], *b = c->in[B];
    if (!heed_op_want(c, X, HEED_F32) || !want_real(c, W) || (b && !heed_op_want(c, B, HEED_F32)) ||
        !cross_entropy_opts_ok(c, &a->opts))
        return false;
    if (x->rank < 1 || w->rank != 2 || cols_of(x) != cols_of(w) || w->shape[0] == 0)
        return heed_op_fail(c, HEED_ERR_SHAPE,
                            "x of shape %s does not fit a weight of shape %s: (…,in) and (classes,in)",
                            heed_shape_text(x).s, heed_shape_text(w).s);
    if (b && (b->rank != 1 || b->shape[0] != w->shape[0]))
        return heed_op_fail(c, HEED_ERR_SHAPE, "a bias of shape %s does not fit a weight of shape %s",
                            heed_shape_text(b).s, heed_shape_text(w).s);
    if (!cross_entropy_target_ok(c, TARGET, x)) return false;
    const size_t rows = (size_t)rows_of(x), v = (size_t)w->shape[0], chunk = (size_t)chunk_rows(c);
    const bool each = a->opts.reduction == HEED_REDUCE_NONE;
    if (!each && c->wants[W]) heed_op_claim(c, W);
    const bool early = is_early(c);
    c->work_forward = (chunk * v + 2 * rows) * sizeof(float) + gather_work(c, false);
    if (early) {
        c->save_in = 0;
        c->state_size = ((c->wants[X] ? (size_t)x->count : 0) + (c->wants[B] ? v : 0)) * sizeof(float);
    } else {
        c->save_in = 1u << X | 1u << W | 1u << TARGET | (b ? 1u << B : 0);
        c->state_size = rows * sizeof(float);
        c->work_backward = chunk * v * sizeof(float) + gather_work(c, each);
    }
    return each ? heed_op_out(c, 0, HEED_F32, x->rank - 1, x->shape) : heed_op_out(c, 0, HEED_F32, 0, NULL);
}

/* ---- the rows that count ---- */

struct counted {
    struct cross_entropy ce; /* of them, without their logits */
    const int32_t *place;    /* (ce.rows) which rows of x they are; NULL: all, as they lie */
    float *x;                /* (chunk,C) gathered, and later their gradients */
    void *rest;              /* of the workspace */
};

static struct cross_entropy all_rows(const heed_op_call *c) {
    const heed_cross_entropy_opts *o = &((const struct linear_ce_attr *)c->attr)->opts;
    return (struct cross_entropy){.rows = rows_of(c->in[X]),
                                  .n = c->in[W]->shape[0],
                                  .target = i32_of(c->in[TARGET]),
                                  .smoothing = o->smoothing,
                                  .ignore = o->ignore,
                                  .ignore_index = o->ignore_index};
}

static struct counted rows_that_count(const heed_op_call *c, int64_t counted, void *work) {
    struct counted r = {.ce = all_rows(c), .rest = work};
    if (!gathers(c) || counted == r.ce.rows) return r;
    const int32_t *const target = r.ce.target;
    r.x = work;
    int32_t *const place = (int32_t *)(void *)(r.x + chunk_rows(c) * cols_of(c->in[X])), *const kept =
                                                                                             place + r.ce.rows;
    r.rest = kept + r.ce.rows;
    int64_t n = 0;
    for (int64_t i = 0; i < r.ce.rows; i++)
        if (target[i] != r.ce.ignore_index) place[n] = (int32_t)i, kept[n++] = target[i];
    r.place = place;
    r.ce.target = kept;
    r.ce.rows = n;
    return r;
}

/* Before the first chunk: gradients that no row of it may reach become zero. */
static void clear_grads(heed_op_call *c, const struct counted *r, float *dx, float *dw, float *db) {
    if (dx && r->place) kernel_clear(pool_of(c), dx, c->in[X]->count);
    if (dw && r->ce.rows == 0) kernel_clear(pool_of(c), dw, c->in[W]->count);
    if (db && r->ce.rows == 0) kernel_clear(pool_of(c), db, r->ce.n);
}

/* ---- a chunk: rows [first, first + rows) of those that count ---- */

struct chunk {
    int64_t first, rows;
    const float *x;       /* (rows,C) */
    float *logits;        /* (rows,V) */
    const int32_t *place; /* (rows) of x; NULL: as they lie */
    float *dx;            /* (rows,C) where the gradient of gathered rows has room */
    struct cross_entropy ce;
};

static struct chunk take_chunk(heed_op_call *c, const struct counted *r, int64_t first, float *logits) {
    const heed_tensor *x = c->in[X], *w = c->in[W];
    const int64_t left = r->ce.rows - first, most = chunk_rows(c), k = cols_of(x), v = w->shape[0];
    struct chunk ch = {.first = first,
                       .rows = left < most ? left : most,
                       .x = r->place ? r->x : f32_of(x) + first * k,
                       .logits = logits,
                       .place = r->place ? r->place + first : NULL,
                       .dx = r->x,
                       .ce = r->ce};
    ch.ce.rows = ch.rows;
    ch.ce.x = logits;
    ch.ce.ldx = v;
    ch.ce.target += first;
    for (int64_t i = 0; ch.place && i < ch.rows; i++)
        memcpy(r->x + i * k, f32_of(x) + ch.place[i] * k, (size_t)k * sizeof(float));
    const struct gemm g = {.m = ch.rows,
                           .n = v,
                           .k = k,
                           .a = ch.x,
                           .lda = k,
                           .b = w->data,
                           .b_type = stored_of(w->dtype),
                           .ldb = k,
                           .trans_b = true,
                           .c = logits,
                           .ldc = v,
                           .alpha = 1,
                           .bias = c->in[B] ? f32_of(c->in[B]) : NULL};
    kernel_gemm(pool_of(c), &g);
    return ch;
}

/* The gradients of gathered rows to their places. */
static void put_rows(const struct chunk *ch, int64_t k, float *dx, bool add) {
    for (int64_t i = 0; i < ch->rows; i++) {
        float *const to = dx + ch->place[i] * k;
        const float *const from = ch->dx + i * k;
        if (!add) memcpy(to, from, (size_t)k * sizeof(float));
        for (int64_t j = 0; add && j < k; j++) to[j] += from[j];
    }
}

/* From dlogits, which now lie where the logits were. */
static void chunk_grads(heed_op_call *c, const struct chunk *ch, float *dx, bool add_x, float *dw, bool add_w,
                        float *db, bool add_b) {
    const int64_t k = cols_of(c->in[X]), v = c->in[W]->shape[0];
    if (dw) {
        const struct gemm g = {.m = v,
                               .n = k,
                               .k = ch->rows,
                               .a = ch->logits,
                               .lda = v,
                               .trans_a = true,
                               .b = ch->x,
                               .ldb = k,
                               .c = dw,
                               .ldc = k,
                               .add = add_w || ch->first > 0,
                               .alpha = 1};
        kernel_gemm(pool_of(c), &g);
    }
    if (dx) {
        const struct gemm g = {.m = ch->rows,
                               .n = k,
                               .k = v,
                               .a = ch->logits,
                               .lda = v,
                               .b = c->in[W]->data,
                               .b_type = stored_of(c->in[W]->dtype),
                               .ldb = k,
                               .c = ch->place ? ch->dx : dx + ch->first * k,
                               .ldc = k,
                               .add = add_x && !ch->place,
                               .alpha = 1};
        kernel_gemm(pool_of(c), &g);
        if (ch->place) put_rows(ch, k, dx, add_x);
    }
    if (db)
        kernel_reduce_to(pool_of(c), db, (struct bcast_operand){1, (int64_t[]){v}}, ch->logits,
                         (struct bcast_operand){2, (int64_t[]){ch->rows, v}}, add_b || ch->first > 0);
}

static bool linear_ce_forward(heed_op_call *c) {
    const heed_cross_entropy_opts *o = &((const struct linear_ce_attr *)c->attr)->opts;
    const struct cross_entropy all = all_rows(c);
    const int64_t most = chunk_rows(c);
    const bool early = is_early(c), each = o->reduction == HEED_REDUCE_NONE;
    int64_t counted;
    if (!cross_entropy_counted(c, &all, &counted)) return false;
    float *logits = c->work, *spare = logits + most * all.n;
    const struct counted r = rows_that_count(c, counted, spare + 2 * all.rows);
    float *lse = early ? spare : c->state, *loss = each && !r.place ? heed_op_f32(c, 0) : spare + all.rows;
    float *dw = heed_op_claimed(c, W), *dx = c->wants[X] ? c->state : NULL, *db = c->wants[B] ? early_db(c) : NULL;
    if (early) clear_grads(c, &r, dx, dw, db);
    for (int64_t first = 0; first < r.ce.rows; first += most) {
        const struct chunk ch = take_chunk(c, &r, first, logits);
        if (!early) {
            kernel_cross_entropy(pool_of(c), &ch.ce, lse + first, loss + first);
            continue;
        }
        kernel_cross_entropy_both(pool_of(c), &ch.ce, lse + first, loss + first, logits, all.n,
                                  cross_entropy_scale(o, counted));
        chunk_grads(c, &ch, dx, false, dw, false, db, false);
    }
    if (!each) {
        cross_entropy_reduce(o, heed_op_f32(c, 0), loss, r.ce.rows, counted);
    } else if (r.place) {
        kernel_clear(pool_of(c), heed_op_f32(c, 0), all.rows);
        for (int64_t i = 0; i < r.ce.rows; i++) heed_op_f32(c, 0)[r.place[i]] = loss[i];
    }
    return true;
}

/* to = or += s from */
static void scaled(heed_op_call *c, float *to, const float *from, float s, int64_t n, bool add) {
    if (add)
        kernel_axpy(pool_of(c), to, s, from, n);
    else
        kernel_scale(pool_of(c), to, s, from, n);
}

static bool linear_ce_backward(heed_op_call *c) {
    const heed_cross_entropy_opts *o = &((const struct linear_ce_attr *)c->attr)->opts;
    const struct cross_entropy all = all_rows(c);
    if (is_early(c)) {
        const float up = c->dout[0][0];
        if (c->din[X]) scaled(c, c->din[X], c->state, up, c->in[X]->count, c->add[X]);
        if (c->din[B]) scaled(c, c->din[B], early_db(c), up, all.n, c->add[B]);
        if (c->din[W] && up != 1) kernel_scale(pool_of(c), c->din[W], up, c->din[W], c->in[W]->count);
        return true;
    }
    int64_t bad;
    const int64_t counted = kernel_cross_entropy_count(&all, &bad);
    const float scale = cross_entropy_scale(o, counted);
    const bool each = o->reduction == HEED_REDUCE_NONE;
    float *const logits = c->work;
    const struct counted r = rows_that_count(c, counted, logits + chunk_rows(c) * all.n);
    const float *dy = c->dout[0];
    if (each && r.place) {
        float *const kept = r.rest;
        for (int64_t i = 0; i < r.ce.rows; i++) kept[i] = dy[r.place[i]];
        dy = kept;
    }
    clear_grads(c, &r, c->add[X] ? NULL : c->din[X], c->add[W] ? NULL : c->din[W], c->add[B] ? NULL : c->din[B]);
    for (int64_t first = 0; first < r.ce.rows; first += chunk_rows(c)) {
        const struct chunk ch = take_chunk(c, &r, first, logits);
        kernel_cross_entropy_grad(pool_of(c), &ch.ce, (const float *)c->state + first, ch.logits, all.n,
                                  dy + (each ? first : 0), each, scale, false);
        chunk_grads(c, &ch, c->din[X], c->add[X], c->din[W], c->add[W], c->din[B], c->add[B]);
    }
    return true;
}

const heed_op op_linear_cross_entropy = {.name = "linear_cross_entropy",
                                         .infer = linear_ce_infer,
                                         .forward = linear_ce_forward,
                                         .backward = linear_ce_backward,
                                         .flags = HEED_OP_ADDS,
                                         .optional = 1u << B,
                                         .attr_size = sizeof(struct linear_ce_attr)};

heed_tensor *heed_linear_cross_entropy(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                       heed_tensor *target, const heed_cross_entropy_opts *opts) {
    struct linear_ce_attr a = {.opts = {.smoothing = 0}};
    if (opts) a.opts = *opts;
    return apply1(cx, &op_linear_cross_entropy, &a, (heed_tensor *[]){x, weight, bias, target}, 4);
}
