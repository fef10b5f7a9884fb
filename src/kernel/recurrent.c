/* Recurrent networks: forward, and where everything lies. */
#include "kernel/recurrent.h"
#include "kernel/recurrent_parts.h"
#include <string.h>

#define WAKE_WORK   ((int64_t)1 << 17) /* multiply-adds of a step that are worth two threads */
#define WAKE_COPIES ((int64_t)1 << 16) /* numbers to be copied that are */

/* ---- where things lie ---- */

void *piece(struct pieces *p, int64_t count, size_t size) {
    char *const at = p->from ? p->from + p->used : NULL;
    p->used += ((size_t)count * size + 63) & ~(size_t)63;
    return at;
}

/* Rows of a multiple of 64 floats would share a few sets of the caches. */
static int64_t apart(int64_t n) { return n % 64 == 0 ? n + 16 : n; }

struct kept recurrent_kept(const struct recurrent *r, size_t *bytes) {
    struct pieces p = {.from = r->state};
    struct kept k = {.gates_ld = apart(kept_gates(r) * r->units), .h_ld = apart(r->outputs)};
    const int64_t rows = r->batch * r->steps;
    k.first = piece(&p, r->steps + 1, sizeof *k.first);
    k.row = piece(&p, r->batch, sizeof *k.row);
    k.gates = piece(&p, rows * k.gates_ld, sizeof(float));
    k.h = piece(&p, rows * k.h_ld, sizeof(float));
    if (is_lstm(r)) k.c = piece(&p, rows * r->units, sizeof(float));
    if (r->w_hr) k.raw = piece(&p, rows * r->units, sizeof(float));
    if (bytes) *bytes = p.used;
    return k;
}

size_t kernel_recurrent_state(const struct recurrent *r) {
    struct recurrent counted = *r;
    size_t bytes;
    counted.state = NULL;
    recurrent_kept(&counted, &bytes);
    return bytes;
}

struct forward {
    const struct recurrent *r;
    struct kept k;
    float *xs, *bias;      /* (N,C), (GH) */
    float *projected;      /* (B,P), with a projection */
    struct packed hh[4];   /* h_ -> H, of each gate */
    struct packed hr;      /* H -> P */
    int64_t s, units, cut; /* the step, and columns of a task: units, or outputs of the projection */
};

static struct forward lay(const struct recurrent *r, size_t *bytes) {
    struct pieces p = {.from = bytes ? NULL : r->work};
    struct forward f = {.r = r};
    const int64_t gates = cell_gates(r->cell), units = r->units, outputs = r->outputs;
    f.xs = piece(&p, r->batch * r->steps * r->inputs, sizeof(float));
    f.bias = piece(&p, gates * units, sizeof(float));
    for (int64_t g = 0; g < gates; g++) {
        const int64_t from = g * units * outputs * stored_size(r->hh_type);
        f.hh[g] = (struct packed){.n = units, .k = outputs, .b = r->w_hh ? (const char *)r->w_hh + from : NULL};
        f.hh[g].type = r->hh_type, f.hh[g].ldb = outputs, f.hh[g].trans_b = true;
        if (packs(r)) f.hh[g].strips = piece(&p, 1, kernel_gemm_packed_size(units, outputs));
    }
    if (r->w_hr) {
        f.projected = piece(&p, r->batch * outputs, sizeof(float));
        f.hr = (struct packed){.n = outputs, .k = units, .b = r->w_hr, .type = r->hr_type, .ldb = units};
        f.hr.trans_b = true;
        if (packs(r)) f.hr.strips = piece(&p, 1, kernel_gemm_packed_size(outputs, units));
    }
    if (bytes) *bytes = p.used;
    return f;
}

size_t kernel_recurrent_work(const struct recurrent *r) {
    size_t bytes;
    lay(r, &bytes);
    return bytes;
}

int64_t recurrent_cut(struct pool *pool, const struct recurrent *r, int64_t columns, int64_t k) {
    const int64_t tasks = r->batch * columns * k < WAKE_WORK ? 1 : pool_threads(pool);
    return round_up(ceil_div(columns, tasks), PACKED_UNIT);
}

/* ---- rows in order of falling length ---- */

static void sort_rows(const struct recurrent *r, struct kept *k) {
    int64_t *const first = k->first, steps = r->steps;
    for (int64_t s = 0; s <= steps; s++) first[s] = 0;
    for (int64_t b = 0; b < r->batch; b++) first[length_of(r, b)]++;
    int64_t longer = 0;
    for (int64_t s = steps; s >= 0; s--) { /* rows of length s come after those that are longer */
        const int64_t count = first[s];
        first[s] = longer;
        longer += count;
    }
    for (int64_t b = 0; b < r->batch; b++) k->row[first[length_of(r, b)]++] = b;
    int64_t before = 0; /* first[s + 1] is now how many are longer than s */
    for (int64_t s = 0; s < steps; s++) {
        const int64_t count = first[s + 1];
        first[s] = before;
        before += count;
    }
    first[steps] = before;
}

struct gather {
    const struct recurrent *r;
    const struct kept *k;
    float *xs;
};

static void gather_step(void *arg, int64_t s, void *scratch) {
    const struct gather *g = arg;
    const int64_t inputs = g->r->inputs;
    (void)scratch;
    for (int64_t i = g->k->first[s]; i < g->k->first[s + 1]; i++)
        memcpy(g->xs + i * inputs, g->r->x + place(g->r, g->k->row[i - g->k->first[s]], s) * inputs,
               (size_t)inputs * sizeof(float));
}

void recurrent_gather(struct pool *pool, const struct recurrent *r, const struct kept *k, float *xs) {
    struct gather g = {r, k, xs};
    pool_run_if(k->first[r->steps] * r->inputs >= WAKE_COPIES, pool, r->steps, gather_step, &g);
}

/* ---- before the first step ---- */

static void copy_row(float *to, const float *from, int64_t n) {
    if (from)
        memcpy(to, from, (size_t)n * sizeof(float));
    else
        memset(to, 0, (size_t)n * sizeof(float));
}

/* The first step's states; rows of no steps keep them. What is behind the ends of rows becomes zero. */
static void start_rows(const struct recurrent *r, const struct kept *k) {
    const int64_t outputs = r->outputs, units = r->units, begun = active(k, r->steps, 0);
    for (int64_t i = 0; i < r->batch; i++) {
        const int64_t b = k->row[i], length = length_of(r, b);
        copy_row(i < begun ? k->h + i * k->h_ld : r->hn + b * outputs, r->h0 ? r->h0 + b * outputs : NULL, outputs);
        if (is_lstm(r))
            copy_row(i < begun ? k->c + i * units : r->cn + b * units, r->c0 ? r->c0 + b * units : NULL, units);
        copy_row(r->y + (b * r->steps + length) * outputs, NULL, (r->steps - length) * outputs);
    }
}

/* The input product of all steps, with whatever bias can be added at once: of a GRU's n, b_hh is inside r's brackets.
 */
static void input_product(struct pool *pool, const struct forward *f) {
    const struct recurrent *r = f->r;
    const int64_t n = cell_gates(r->cell) * r->units, both = r->cell == CELL_GRU ? 2 * r->units : n;
    for (int64_t i = 0; i < n; i++) f->bias[i] = (r->b_ih ? r->b_ih[i] : 0) + (r->b_hh && i < both ? r->b_hh[i] : 0);
    kernel_gemm(pool, &(struct gemm){.m = f->k.first[r->steps],
                                     .n = n,
                                     .k = r->inputs,
                                     .a = f->xs,
                                     .lda = r->inputs,
                                     .b = r->w_ih,
                                     .b_type = r->ih_type,
                                     .ldb = r->inputs,
                                     .trans_b = true,
                                     .c = f->k.gates,
                                     .ldc = f->k.gates_ld,
                                     .alpha = 1,
                                     .bias = f->bias});
}

static void pack_gate(void *arg, int64_t task, void *scratch) {
    const struct forward *f = arg;
    (void)scratch;
    kernel_pack(task < cell_gates(f->r->cell) ? &f->hh[task] : &f->hr);
}

/* ---- a step ---- */

static void gate_products(const struct forward *f, int64_t u0, int64_t n, float *scratch) {
    const struct recurrent *r = f->r;
    const struct kept *k = &f->k;
    const int64_t rows = active(k, r->steps, f->s), units = r->units;
    float *const gates = k->gates + k->first[f->s] * k->gates_ld + u0;
    for (int64_t g = 0; g < cell_gates(r->cell); g++) {
        const bool inner = r->cell == CELL_GRU && g == 2; /* what r multiplies stays apart */
        const float *const bias = inner && r->b_hh ? r->b_hh + 2 * units + u0 : NULL;
        float *const c = gates + (inner ? 3 : g) * units;
        if (f->s > 0 || r->h0)
            kernel_packed_product(&f->hh[g], rows, u0, n, k->h + k->first[f->s] * k->h_ld, k->h_ld, c, k->gates_ld,
                                  !inner, bias, scratch);
        else if (inner) /* h_ is zero */
            for (int64_t i = 0; i < rows; i++) copy_row(c + i * k->gates_ld, bias, n);
    }
}

/* Where the i-th row of a step leaves its output: where the next step starts from, or in the final states. */
static float *next_h(const struct forward *f, int64_t i) {
    const struct recurrent *r = f->r;
    return i < active(&f->k, r->steps, f->s + 1) ? f->k.h + (f->k.first[f->s + 1] + i) * f->k.h_ld
                                                 : r->hn + f->k.row[i] * r->outputs;
}

static void run_units(void *arg, int64_t task, void *scratch) {
    const struct forward *f = arg;
    const struct recurrent *r = f->r;
    const struct kept *k = &f->k;
    const struct isa *isa = isa_get();
    const int64_t units = r->units, s = f->s, u0 = task * f->cut, n = min64(f->cut, units - u0);
    const int64_t next = active(k, r->steps, s + 1);
    gate_products(f, u0, n, scratch);
    for (int64_t i = 0; i < active(k, r->steps, s); i++) {
        const int64_t at = k->first[s] + i;
        float *const gates = k->gates + at * k->gates_ld + u0;
        float *const h = k->raw ? k->raw + at * units + u0 : next_h(f, i) + u0;
        if (is_lstm(r))
            isa->lstm_row(gates, units, k->c + at * units + u0,
                          (i < next ? k->c + (k->first[s + 1] + i) * units : r->cn + k->row[i] * units) + u0, h, n);
        else if (r->cell == CELL_GRU)
            isa->gru_row(gates, units, k->h + at * k->h_ld + u0, h, n);
        else
            isa->rnn_row(gates, h, r->cell == CELL_RELU, n);
        if (!k->raw) copy_row(r->y + place(r, k->row[i], s) * units + u0, h, n);
    }
}

/* h = raw W_hr', some outputs of it. */
static void run_projection(void *arg, int64_t task, void *scratch) {
    const struct forward *f = arg;
    const struct recurrent *r = f->r;
    const struct kept *k = &f->k;
    const int64_t outputs = r->outputs, rows = active(k, r->steps, f->s), p0 = task * f->cut;
    const int64_t n = min64(f->cut, outputs - p0);
    kernel_packed_product(&f->hr, rows, p0, n, k->raw + k->first[f->s] * r->units, r->units, f->projected + p0, outputs,
                          false, NULL, scratch);
    for (int64_t i = 0; i < rows; i++) {
        copy_row(next_h(f, i) + p0, f->projected + i * outputs + p0, n);
        copy_row(r->y + place(r, k->row[i], f->s) * outputs + p0, f->projected + i * outputs + p0, n);
    }
}

void kernel_recurrent(struct pool *pool, const struct recurrent *r) {
    struct forward f = lay(r, NULL);
    f.k = recurrent_kept(r, NULL);
    sort_rows(r, &f.k);
    start_rows(r, &f.k);
    recurrent_gather(pool, r, &f.k, f.xs);
    input_product(pool, &f);
    const int64_t gates = cell_gates(r->cell);
    if (packs(r))
        pool_run_if(gates * r->units * r->outputs >= WAKE_COPIES, pool, gates + (r->w_hr ? 1 : 0), pack_gate, &f);
    const int64_t by_units = recurrent_cut(pool, r, r->units, gates * r->outputs);
    const int64_t by_outputs = recurrent_cut(pool, r, r->outputs, r->units);
    for (f.s = 0; f.s < r->steps && active(&f.k, r->steps, f.s) > 0; f.s++) {
        f.cut = by_units;
        pool_run(pool, ceil_div(r->units, by_units), run_units, &f);
        f.cut = by_outputs;
        if (r->w_hr) pool_run(pool, ceil_div(r->outputs, by_outputs), run_projection, &f);
    }
}
