/* The linear assignment problem by shortest augmenting paths: the modified Jonker-Volgenant algorithm (Crouse 2016).
 *
 * Rows are assigned one by one. Potentials u of rows and v of columns keep cost[i][j] - u[i] - v[j] at or above 0, and
 * at 0 for pairs. From a new row Dijkstra's algorithm finds the nearest free column, along pairs that are given up on
 * the way; then the pairs are exchanged along the path, and the potentials move so that all of this holds again.
 *
 * Of columns at the same distance a free one goes first, and among those the last in the list of open columns, which
 * starts in reverse and fills gaps from its end: scipy's rule, which decides between assignments of the same cost. */
#include "kernel/assign.h"
#include "base/checked.h"
#include "heed/assign.h"
#include "kernel/isa.h"
#include <math.h>
#include <string.h>

struct closed { /* a column whose distance is known */
    int64_t column;
    double far, v;
};

struct problem {
    int64_t n, m, room; /* rows, at most as many columns, and columns with those that fill the last run */
    double *cost;       /* (n, room) */
    double *u, *v;      /* (n), (room); v of closed columns is -inf, so that nothing reaches them */
    double *far;        /* (room): of open columns */
    int64_t *from;      /* (room): the row before it on the path */
    struct closed *closed;
    int64_t *row_of, *column_of; /* pairs; -1: free */
    int64_t *open, *place;       /* (m): open columns, and where in the list each of them is */
};

static int64_t room_of(int64_t columns) { return (columns + ASSIGN_RUN - 1) / ASSIGN_RUN * ASSIGN_RUN; }

/* Where the arrays lie in `work`, which may be NULL: only their size is asked then. */
static bool lay_out(struct problem *p, char *work, size_t *bytes) {
    size_t total = 0, n = (size_t)p->n, room = (size_t)p->room;
    size_t costs;
    if (!size_mul(n, room, &costs)) return false;
    const struct {
        void *to;
        size_t count, size;
    } arrays[] = {
        {&p->cost, costs, sizeof *p->cost},    {&p->u, n, sizeof *p->u},
        {&p->v, room, sizeof *p->v},           {&p->far, room, sizeof *p->far},
        {&p->from, room, sizeof *p->from},     {&p->closed, room, sizeof *p->closed},
        {&p->row_of, room, sizeof *p->row_of}, {&p->column_of, n, sizeof *p->column_of},
        {&p->open, room, sizeof *p->open},     {&p->place, room, sizeof *p->place},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        size_t size;
        void *const at = work ? work + total : NULL;
        memcpy(arrays[i].to, &at, sizeof at);
        if (!size_mul(arrays[i].count, arrays[i].size, &size) || !size_add(size, 63, &size) ||
            !size_add(total, size / 64 * 64, &total))
            return false;
    }
    *bytes = total;
    return true;
}

static struct problem problem_of(int64_t rows, int64_t columns) {
    const int64_t most = rows < columns ? columns : rows;
    return (struct problem){.n = rows < columns ? rows : columns, .m = most, .room = room_of(most)};
}

bool kernel_assign_work(int64_t rows, int64_t columns, size_t *bytes) {
    if ((rows < columns ? columns : rows) > INT64_MAX - ASSIGN_RUN) return false;
    struct problem p = problem_of(rows, columns);
    return lay_out(&p, NULL, bytes);
}

/* Rows of whole runs, of a tall matrix its columns; false: a number is none, or -inf. */
static bool take_costs(struct problem *p, const double *cost, bool tall) {
    int invalid = 0;
    for (int64_t i = 0; i < p->n; i++) {
        double *const to = p->cost + i * p->room;
        if (tall)
            for (int64_t j = 0; j < p->m; j++) to[j] = cost[j * p->n + i];
        else
            memcpy(to, cost + i * p->m, (size_t)p->m * sizeof *to);
        for (int64_t j = 0; j < p->m; j++) invalid |= !(to[j] > -HUGE_VAL);
        for (int64_t j = p->m; j < p->room; j++) to[j] = HUGE_VAL;
    }
    return !invalid;
}

/* Of several open columns that are `least` far the one to take; -1 where that is not finite. */
static int64_t choose(const struct problem *p, double least) {
    int64_t chosen = -1, at = 0;
    if (least == HUGE_VAL) return -1;
    for (int64_t j = 0; j < p->m; j++) {
        if (p->far[j] != least) continue;
        const bool free = p->row_of[j] < 0, was_free = chosen >= 0 && p->row_of[chosen] < 0;
        /* the last of those that are free, else the first */
        if (chosen < 0 || (free && (!was_free || p->place[j] > at)) || (!free && !was_free && p->place[j] < at))
            chosen = j, at = p->place[j];
    }
    return chosen;
}

static void close_column(struct problem *p, int64_t j, double far, int64_t closed) {
    const int64_t last = p->open[p->m - 1 - closed], gap = p->place[j];
    p->closed[closed] = (struct closed){j, far, p->v[j]};
    p->v[j] = -HUGE_VAL;
    p->far[j] = HUGE_VAL;
    p->open[gap] = last;
    p->place[last] = gap;
}

/* All columns are open again, in the order in which they were. */
static void open_columns(struct problem *p, int64_t closed) {
    while (closed-- > 0) {
        const int64_t j = p->closed[closed].column, gap = p->place[j], last = p->open[gap], end = p->m - 1 - closed;
        p->open[end] = last;
        p->place[last] = end;
        p->open[gap] = j;
        p->place[j] = gap;
    }
}

/* Gives row `start` a column; false: there is none that it may have. */
static bool assign_row(struct problem *p, int64_t start, const struct isa *isa) {
    int64_t closed = 0, row = start, j;
    double least = 0;
    do {
        j = isa->relax_columns(p->far, p->from, p->cost + row * p->room, p->v, least, p->u[row], row, closed == 0,
                               p->room, &least);
        if (j < 0) j = choose(p, least);
        if (j < 0) return false;
        close_column(p, j, least, closed++);
        row = p->row_of[j];
    } while (row >= 0);
    p->u[start] += least;
    for (int64_t k = 0; k < closed; k++) {
        const struct closed *const c = p->closed + k;
        if (p->row_of[c->column] >= 0) p->u[p->row_of[c->column]] += least - c->far;
        p->v[c->column] = c->v - (least - c->far);
    }
    open_columns(p, closed);
    do { /* back along the path */
        row = p->from[j];
        p->row_of[j] = row;
        const int64_t given_up = p->column_of[row];
        p->column_of[row] = j;
        j = given_up;
    } while (row != start);
    return true;
}

enum assigned kernel_assign(const double *cost, int64_t rows, int64_t columns, int64_t *row, int64_t *column,
                            void *work) {
    const bool tall = rows > columns;
    struct problem p = problem_of(rows, columns);
    size_t bytes;
    lay_out(&p, work, &bytes);
    if (!take_costs(&p, cost, tall)) return ASSIGN_INVALID;
    for (int64_t i = 0; i < p.n; i++) p.u[i] = 0, p.column_of[i] = -1;
    for (int64_t j = 0; j < p.room; j++) p.v[j] = 0, p.row_of[j] = -1;
    for (int64_t j = 0; j < p.m; j++) p.open[j] = p.place[j] = p.m - 1 - j;
    const struct isa *const isa = isa_get();
    for (int64_t i = 0; i < p.n; i++)
        if (!assign_row(&p, i, isa)) return ASSIGN_IMPOSSIBLE;
    for (int64_t i = 0, k = 0; k < p.n; i++) {
        const int64_t j = tall ? p.row_of[i] : p.column_of[i];
        if (j >= 0) row[k] = i, column[k++] = j;
    }
    return ASSIGNED;
}

bool heed_assign(heed_ctx *cx, const double *cost, int64_t rows, int64_t columns, int64_t *row, int64_t *column) {
    size_t bytes;
    if (heed_failed(cx)) return false;
    if (rows < 0 || columns < 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "assign: (%lld,%lld) is not the shape of a matrix", (long long)rows,
                         (long long)columns);
    if (!rows || !columns) return true;
    if (!cost || !row || !column) return heed_fail(cx, HEED_ERR_USAGE, "assign: the costs or the indices are NULL");
    if (!kernel_assign_work(rows, columns, &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "assign: (%lld,%lld) costs are too many", (long long)rows,
                         (long long)columns);
    void *const work = heed_mem_new(cx, bytes);
    if (!work) return false;
    const enum assigned done = kernel_assign(cost, rows, columns, row, column, work);
    heed_mem_free(cx, work);
    if (done == ASSIGN_IMPOSSIBLE)
        return heed_fail(cx, HEED_ERR_RANGE, "assign: costs of infinity leave no assignment of (%lld,%lld)",
                         (long long)rows, (long long)columns);
    for (int64_t i = 0; done == ASSIGN_INVALID && i < rows * columns; i++)
        if (!(cost[i] > -HUGE_VAL))
            return heed_fail(cx, HEED_ERR_RANGE, "assign: the cost of row %lld and column %lld is %s",
                             (long long)(i / columns), (long long)(i % columns),
                             cost[i] == -HUGE_VAL ? "-infinity" : "not a number");
    return true;
}
