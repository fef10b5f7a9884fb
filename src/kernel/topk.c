/* The k largest numbers of a row: see the header. */
#include "kernel/topk.h"
#include "kernel/isa.h"
#include <math.h>

/* ---- blocks ---- */

int64_t topk_blocks(int64_t n) { return (n + LSE_RUN - 1) / LSE_RUN; }

float topk_log_sum_exp(const struct topk_row *row) { return isa_get()->lse_row(row->x, row->n, row->tops); }

void topk_set(const struct topk_row *row, int64_t i, float value) {
    const int64_t block = i / LSE_RUN, end = (block + 1) * LSE_RUN;
    float top = -INFINITY;
    row->x[i] = value;
    for (int64_t j = block * LSE_RUN; j < end && j < row->n; j++)
        if (row->x[j] > top) top = row->x[j];
    row->tops[block] = top;
}

/* ---- the heap ---- */

static void sink(struct candidate *heap, int64_t n, struct candidate c) {
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && candidate_worse(heap[child + 1], heap[child])) child++;
        if (!candidate_worse(heap[child], c)) break;
        heap[at] = heap[child];
    }
    heap[at] = c;
}

static void rise(struct candidate *heap, int64_t at, struct candidate c) {
    for (int64_t up; at > 0 && candidate_worse(c, heap[up = (at - 1) / 2]); at = up) heap[at] = heap[up];
    heap[at] = c;
}

static void offer(struct topk_heap *h, struct candidate c) {
    if (h->held < h->k)
        rise(h->best, h->held++, c);
    else
        sink(h->best, h->k, c);
    if (h->held == h->k) h->least = h->best[0].score;
}

int64_t topk_sort(struct topk_heap *h) {
    for (int64_t left = h->held; left > 1; left--) {
        const struct candidate worst = h->best[0];
        sink(h->best, left - 1, h->best[left - 1]);
        h->best[left - 1] = worst;
    }
    return h->held;
}

/* ---- selection ---- */

int64_t topk_after(const float *x, int64_t n, int64_t k, struct candidate after, struct candidate *best) {
    struct topk_heap h = {best, k, 0, -INFINITY};
    for (int64_t i = 0; i < n; i++) {
        const struct candidate c = {(int32_t)i, x[i]};
        if (c.score > h.least && candidate_worse(c, after)) offer(&h, c);
    }
    return topk_sort(&h);
}

/* Few are above the least once the heap is full: runs without one are passed over at the speed of a maximum. */
void topk_take(struct topk_heap *h, const float *x, int64_t n, int64_t first) {
    enum { RUN = 64 };
    for (int64_t at = 0; at < n; at += RUN) {
        const int64_t end = at + RUN < n ? at + RUN : n;
        bool above = false;
        for (int64_t i = at; i < end; i++) above |= x[i] > h->least;
        for (int64_t i = at; above && i < end; i++)
            if (x[i] > h->least) offer(h, (struct candidate){(int32_t)(first + i), x[i]});
    }
}

/* Where there are k blocks, the top of the k-th best of them is a bound that few numbers reach. */
int64_t topk_best(const struct topk_row *row, int64_t k, struct candidate *best) {
    const int64_t blocks = topk_blocks(row->n);
    struct topk_heap h = {best, k, 0, -INFINITY};
    if (topk_after(row->tops, blocks, k, (struct candidate){-1, INFINITY}, best) == k)
        h.least = nextafterf(best[k - 1].score, -INFINITY);
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t i = b * LSE_RUN; row->tops[b] > h.least && i < row->n && i < (b + 1) * LSE_RUN; i++)
            if (row->x[i] > h.least) offer(&h, (struct candidate){(int32_t)i, row->x[i]});
    return topk_sort(&h);
}
