/* The linear assignment problem, as bench/assignment.py has it. */
#include "bench.h"
#include "heed/assign.h"
#include <stdlib.h>

/* k matrices of m rows and n columns, and behind them the indices */
static void assign_setup(struct bench *b) {
    const int64_t count = b->m * b->n * b->k;
    b->x = numbers(b->cx, count, 0);
    double *const cost = heed_mem_new(b->cx, (size_t)(count + 2 * b->m) * sizeof *cost);
    if (!cost) exit(1);
    for (int64_t i = 0; i < count; i++) cost[i] = (double)b->x[i];
    b->w = (float *)(void *)cost;
}
static void assign(struct bench *b) {
    double *const cost = (double *)(void *)b->w;
    int64_t *const row = (int64_t *)(void *)(cost + b->m * b->n * b->k);
    for (int64_t k = 0; k < b->k; k++) heed_assign(b->cx, cost + k * b->m * b->n, b->m, b->n, row, row + b->m);
}

const struct workload assignment_workloads[] = {
    {"assign", assign_setup, assign, true},
    {0},
};
