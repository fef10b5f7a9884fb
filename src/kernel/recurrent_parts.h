/* What forward and backward of recurrent networks share: where things lie, and who does which units. */
#ifndef KERNEL_RECURRENT_PARTS_H
#define KERNEL_RECURRENT_PARTS_H

#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/packed.h"
#include "kernel/recurrent.h"

/* The state. N = sum of lengths: rows first[s] .. first[s + 1] are those of step s, of which the r-th is row[r] of the
 * batch. h and c are what the step starts from. */
struct kept {
    int64_t *first; /* (T + 1) */
    int64_t *row;   /* (B) */
    float *gates;   /* (N, G'H) rows gates_ld apart; G' is G, or 4 of a GRU: r, z, n and what r multiplies */
    float *h;       /* (N, P) rows h_ld apart */
    float *c;       /* (N, H), of an LSTM */
    float *raw;     /* (N, H), with a projection: o tanh(c) */
    int64_t gates_ld, h_ld;
};

/* Memory in pieces, each aligned to 64; from NULL it only counts. */
struct pieces {
    char *from;
    size_t used;
};
void *piece(struct pieces *p, int64_t count, size_t size);

struct kept recurrent_kept(const struct recurrent *r, size_t *bytes);

static inline bool is_lstm(const struct recurrent *r) { return r->cell == CELL_LSTM; }
static inline int64_t kept_gates(const struct recurrent *r) { return r->cell == CELL_GRU ? 4 : cell_gates(r->cell); }
static inline int64_t active(const struct kept *k, int64_t steps, int64_t s) { /* rows of step s, 0 behind the last */
    return s < steps ? k->first[s + 1] - k->first[s] : 0;
}
static inline int64_t length_of(const struct recurrent *r, int64_t row) {
    return r->lengths ? r->lengths[row] : r->steps;
}
/* Where in (B,T) step s of a row lies. */
static inline int64_t place(const struct recurrent *r, int64_t row, int64_t s) {
    return row * r->steps + (r->reverse ? length_of(r, row) - 1 - s : s);
}

/* Few steps do not pay for packing. */
static inline bool packs(const struct recurrent *r) { return r->steps >= 4; }
/* Units of a task: all of them unless there is work for several threads. */
int64_t recurrent_cut(struct pool *pool, const struct recurrent *r, int64_t columns, int64_t k);
/* xs (N,C): what x holds for each step. */
void recurrent_gather(struct pool *pool, const struct recurrent *r, const struct kept *k, float *xs);

#endif
