/* Taking elements out by index, and adding them back. */
#include "kernel/index.h"
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/move.h"
#include <stdatomic.h>
#include <string.h>

/* ---- checking ---- */

struct check_job {
    const int32_t *index;
    int64_t n, limit;
    _Atomic int64_t bad; /* the lowest bad place so far */
};

static int64_t first_bad(const struct check_job *j, int64_t from, int64_t end) {
    for (int64_t i = from; i < end; i++)
        if (j->index[i] < 0 || j->index[i] >= j->limit) return i;
    return j->n;
}

static void check_task(void *arg, int64_t task, void *scratch) {
    struct check_job *j = arg;
    const int64_t from = task * 2 * TASK_ELEMENTS;
    int64_t bad = first_bad(j, from, min64(from + 2 * TASK_ELEMENTS, j->n)), lowest = atomic_load(&j->bad);
    (void)scratch;
    while (bad < lowest && !atomic_compare_exchange_weak(&j->bad, &lowest, bad)) {}
}

int64_t kernel_index_bad(struct pool *pool, const int32_t *index, int64_t n, int64_t limit) {
    struct check_job job = {.index = index, .n = n, .limit = limit, .bad = n};
    if (kernel_is_small(n))
        job.bad = first_bad(&job, 0, n);
    else
        pool_run(pool, ceil_div(n, 2 * TASK_ELEMENTS), check_task, &job);
    return job.bad < n ? job.bad : -1;
}

/* ---- whole rows ---- */

#define ROW_PART (2 * TASK_ELEMENTS) /* longer rows are cut */

struct select_job {
    const struct select *s;
    size_t size;      /* of an element of x */
    enum stored type; /* F32: elements are copied, whatever they are; else they become floats */
    char *y;
    const char *x;
    int64_t pieces, units, per_task; /* pieces of a row; a unit is one of them */
};

#define SELECT_SINGLES(type)                                                                                           \
    for (int64_t u = from, row = from / s->m, at = from % s->m; u < end; row++, at = 0) {                              \
        const type *x = (const type *)(const void *)j->x + row * s->n;                                                 \
        for (; at < s->m && u < end; at++, u++) ((type *)(void *)j->y)[u] = x[s->index[at]];                           \
    }

/* Rows of one element. */
static void select_singles(const struct select_job *j, int64_t from, int64_t end) {
    const struct select *s = j->s;
    if (j->size == 1) {
        SELECT_SINGLES(uint8_t)
    } else if (j->size == 2) {
        SELECT_SINGLES(uint16_t)
    } else if (j->size == 4) {
        SELECT_SINGLES(uint32_t)
    } else {
        SELECT_SINGLES(uint64_t)
    }
}

static void select_units(const struct select_job *j, int64_t from, int64_t end) {
    const struct select *s = j->s;
    const size_t to = j->type == STORED_F32 ? j->size : sizeof(float);
    if (s->inner == 1 && j->type == STORED_F32) {
        select_singles(j, from, end);
        return;
    }
    for (int64_t u = from; u < end; u++) {
        const int64_t row = u / j->pieces, at = u % j->pieces * ROW_PART;
        const int64_t source = row / s->m * s->n + s->index[row % s->m];
        char *const y = j->y + (size_t)(row * s->inner + at) * to;
        const char *const x = j->x + (size_t)(source * s->inner + at) * j->size;
        const int64_t n = min64(ROW_PART, s->inner - at);
        if (j->type == STORED_F32)
            memcpy(y, x, (size_t)n * j->size);
        else
            isa_get()->widen((float *)(void *)y, x, n, j->type);
    }
}

static void select_task(void *arg, int64_t task, void *scratch) {
    const struct select_job *j = arg;
    (void)scratch;
    select_units(j, task * j->per_task, min64((task + 1) * j->per_task, j->units));
}

static void select_all(struct pool *pool, const struct select *s, size_t size, enum stored type, void *y,
                       const void *x) {
    const int64_t rows = s->outer * s->m;
    if (rows == 0 || s->inner == 0) return;
    struct select_job job = {
        .s = s, .size = size, .type = type, .y = y, .x = x, .pieces = ceil_div(s->inner, ROW_PART)};
    job.units = rows * job.pieces;
    job.per_task = ceil_div(ROW_PART, min64(s->inner, ROW_PART));
    if (kernel_is_small(rows * s->inner))
        select_units(&job, 0, job.units);
    else
        pool_run(pool, ceil_div(job.units, job.per_task), select_task, &job);
}

void kernel_select(struct pool *pool, const struct select *s, size_t size, void *y, const void *x) {
    select_all(pool, s, size, STORED_F32, y, x);
}
void kernel_select_floats(struct pool *pool, const struct select *s, enum stored type, float *y, const void *x) {
    select_all(pool, s, (size_t)stored_size(type), type, y, x);
}

/* ---- rows added back ----
 *
 * With many `outer` each is added by one task, position by position. With few, the positions are sorted by index,
 * equals in order of position, and a task takes some of the rows of dx that are hit, and a strip of their columns: so
 * even many positions with the same index keep several threads busy. The order of the sums is the same. */

#define STRIP      128 /* columns */
#define MANY_OUTER 16

struct select_grad_job {
    const struct isa *isa;
    const struct select *s;
    const int64_t *order; /* NULL: as they come */
    float *dx;
    const float *dy;
    int64_t strips, chunk, chunks; /* a chunk of positions begins and ends where the index changes */
    int64_t units, per_task;       /* a unit: one strip of one chunk */
};

/* A stable sort by digits of 8 bits; returns which of the two buffers holds the order. */
static int64_t *sort_positions(const int32_t *index, int64_t m, int64_t n, int64_t *order, int64_t *other) {
    for (int64_t i = 0; i < m; i++) order[i] = i;
    for (int shift = 0; shift < 32 && (n - 1) >> shift > 0; shift += 8) {
        int64_t place[257] = {0};
        for (int64_t i = 0; i < m; i++) place[(index[i] >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++) place[d + 1] += place[d];
        for (int64_t i = 0; i < m; i++) other[place[index[order[i]] >> shift & 255]++] = order[i];
        int64_t *sorted = other;
        other = order;
        order = sorted;
    }
    return order;
}

static void add_row(const struct isa *isa, float *to, const float *from, int64_t n) {
    if (n >= 16)
        isa->add_part(to, to, from, n);
    else
        for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

static void add_unit(const struct select_grad_job *j, int64_t unit) {
    const struct select *s = j->s;
    const int64_t strip = unit % j->strips * STRIP, n = min64(STRIP, s->inner - strip);
    const int64_t chunk = unit / j->strips % j->chunks, outer = unit / j->strips / j->chunks;
    float *dx = j->dx + outer * s->n * s->inner + strip;
    const float *dy = j->dy + outer * s->m * s->inner + strip;
    const int64_t end = min64((chunk + 1) * j->chunk, s->m);
    int64_t i = chunk * j->chunk;
    if (!j->order && s->inner == 1) {
        for (; i < end; i++) dx[s->index[i]] += dy[i];
        return;
    }
    if (!j->order) {
        for (; i < end; i++) add_row(j->isa, dx + s->index[i] * s->inner, dy + i * s->inner, n);
        return;
    }
    while (i > 0 && i < end && s->index[j->order[i]] == s->index[j->order[i - 1]]) i++;
    while (i < end) {
        const int32_t row = s->index[j->order[i]];
        do add_row(j->isa, dx + row * s->inner, dy + j->order[i++] * s->inner, n);
        while (i < s->m && s->index[j->order[i]] == row);
    }
}

static void select_grad_task(void *arg, int64_t task, void *scratch) {
    const struct select_grad_job *j = arg;
    const int64_t end = min64((task + 1) * j->per_task, j->units);
    (void)scratch;
    for (int64_t u = task * j->per_task; u < end; u++) add_unit(j, u);
}

size_t kernel_select_grad_work(int64_t m) { return 2 * (size_t)m * sizeof(int64_t); }

void kernel_select_grad(struct pool *pool, const struct select *s, float *dx, const float *dy, bool add, void *work) {
    if (!add) kernel_clear(pool, dx, s->outer * s->n * s->inner);
    if (s->outer * s->m * s->inner == 0) return;
    int64_t *buffer = work;
    struct select_grad_job job = {.isa = isa_get(), .s = s, .dx = dx, .dy = dy, .strips = ceil_div(s->inner, STRIP)};
    job.chunk = s->m;
    if (s->outer < MANY_OUTER) {
        job.order = sort_positions(s->index, s->m, s->n, buffer, buffer + s->m);
        job.chunk = ceil_div(TASK_ELEMENTS, min64(s->inner, STRIP));
    }
    job.chunks = ceil_div(s->m, job.chunk);
    job.units = s->outer * job.chunks * job.strips;
    job.per_task = ceil_div(TASK_ELEMENTS, min64(s->inner, STRIP) * min64(s->m, job.chunk));
    if (kernel_is_small(s->outer * s->m * s->inner)) job.per_task = job.units;
    pool_run(pool, ceil_div(job.units, job.per_task), select_grad_task, &job);
}

/* ---- single elements ---- */

enum { IN_X, IN_Y, IN_INDEX };

void kernel_lines(struct lines *l, int rank, int axis, const int64_t *x, const int64_t *y, const int64_t *index) {
    struct walk_axis all[8] = {0};
    int64_t step[WALK_ARRAYS] = {1, 1, 1};
    for (int k = rank; k-- > 0;) {
        all[k] = (struct walk_axis){index[k], {step[IN_X], step[IN_Y], step[IN_INDEX]}};
        step[IN_X] *= x[k];
        step[IN_Y] *= y[k];
        step[IN_INDEX] *= index[k];
    }
    struct walk *w = &l->across;
    *l = (struct lines){.along = all[axis]};
    for (int k = 0; k < rank; k++) {
        if (k == axis || all[k].n == 1) continue;
        struct walk_axis *last = w->axes > 0 ? &w->axis[w->axes - 1] : NULL;
        bool even = last != NULL;
        for (int i = 0; i < WALK_ARRAYS && even; i++) even = last->step[i] == all[k].n * all[k].step[i];
        if (even) {
            const int64_t n = last->n * all[k].n;
            *last = all[k];
            last->n = n;
        } else {
            w->axis[w->axes++] = all[k];
        }
    }
    if (w->axes == 0) w->axis[w->axes++] = (struct walk_axis){1, {0, 0, 0}};
}

/* A sheet: a piece of the innermost of the axes across, by a piece of the lines. */
struct lines_job {
    const struct lines *l;
    struct walk walk; /* over sheets; the last two axes are those along and across */
    int64_t na, nb;   /* of a sheet: along, across */
    int64_t sheets, per_task;
    size_t size;
    bool scatter, add;
    char *x, *y;
    const int32_t *index;
};

/* Along the lines or across them, whichever y is laid out by; either way a line is walked from its beginning. */
#define EACH_IN_SHEET(type, ...)                                                                                       \
    do {                                                                                                               \
        type *x = (type *)(void *)j->x + at[IN_X], *y = (type *)(void *)j->y + at[IN_Y];                               \
        const int32_t *index = j->index + at[IN_INDEX];                                                                \
        for (int64_t p = 0; p < outer.n; p++)                                                                          \
            for (int64_t q = 0; q < inner.n; q++) {                                                                    \
                const int64_t i = index[p * outer.step[IN_INDEX] + q * inner.step[IN_INDEX]];                          \
                type *const px = x + i * picked + p * outer.step[IN_X] + q * inner.step[IN_X];                         \
                type *const py = y + p * outer.step[IN_Y] + q * inner.step[IN_Y];                                      \
                __VA_ARGS__;                                                                                           \
            }                                                                                                          \
    } while (0)

static void do_sheet(const struct lines_job *j, const int64_t *at, int64_t na, int64_t nb) {
    const struct lines *l = j->l;
    const int64_t picked = l->along.step[IN_X];
    struct walk_axis along = l->along, across = l->across.axis[l->across.axes - 1];
    along.n = na;
    across.n = nb;
    along.step[IN_X] = 0; /* where in the line of x: the index says */
    const bool by_lines = nb == 1 || along.step[IN_Y] < across.step[IN_Y];
    const struct walk_axis outer = by_lines ? across : along, inner = by_lines ? along : across;
    if (j->scatter)
        EACH_IN_SHEET(float, *px += *py);
    else if (j->add)
        EACH_IN_SHEET(float, *py += *px);
    else if (j->size == 1)
        EACH_IN_SHEET(uint8_t, *py = *px);
    else if (j->size == 2)
        EACH_IN_SHEET(uint16_t, *py = *px);
    else if (j->size == 4)
        EACH_IN_SHEET(uint32_t, *py = *px);
    else
        EACH_IN_SHEET(uint64_t, *py = *px);
}

static void do_sheets(const struct lines_job *j, int64_t sheet, int64_t end) {
    const struct walk *w = &j->walk;
    const struct lines *l = j->l;
    struct walker here = walk_from(w, sheet);
    for (; sheet < end; sheet++, walk_on(w, &here))
        do_sheet(j, here.offset, min64(j->na, l->along.n - here.at[w->axes - 2] * j->na),
                 min64(j->nb, l->across.axis[l->across.axes - 1].n - here.at[w->axes - 1] * j->nb));
}

static void sheets_task(void *arg, int64_t task, void *scratch) {
    const struct lines_job *j = arg;
    (void)scratch;
    do_sheets(j, task * j->per_task, min64((task + 1) * j->per_task, j->sheets));
}

static struct walk_axis cut(struct walk_axis a, int64_t piece) {
    a.n = ceil_div(a.n, piece);
    for (int i = 0; i < WALK_ARRAYS; i++) a.step[i] *= piece;
    return a;
}

static void run_lines(struct pool *pool, struct lines_job *j) {
    const struct lines *l = j->l;
    const int last = l->across.axes - 1;
    const struct walk_axis across = l->across.axis[last];
    const int64_t count = walk_length(&l->across) * l->along.n;
    if (count == 0) return;
    /* Lines that are added to are not cut; where they lie side by side, pieces of at least a cache line are. */
    j->na = j->scatter ? l->along.n : min64(l->along.n, TASK_ELEMENTS);
    j->nb = ceil_div(TASK_ELEMENTS, j->na);
    if (across.step[IN_Y] == 1 && j->nb < 16) j->nb = 16;
    j->nb = min64(j->nb, across.n);
    j->walk = l->across;
    j->walk.axis[last] = cut(l->along, j->na);
    j->walk.axis[last].step[IN_X] = 0;
    j->walk.axis[last + 1] = cut(across, j->nb);
    j->walk.axes = last + 2;
    j->sheets = walk_length(&j->walk);
    j->per_task = ceil_div(TASK_ELEMENTS, j->na * j->nb);
    if (kernel_is_small(count))
        do_sheets(j, 0, j->sheets);
    else
        pool_run(pool, ceil_div(j->sheets, j->per_task), sheets_task, j);
}

void kernel_gather(struct pool *pool, const struct lines *l, size_t size, void *y, const void *x, const int32_t *index,
                   bool add) {
    /* x is only read */
    run_lines(pool,
              &(struct lines_job){.l = l, .size = size, .add = add, .x = (char *)(uintptr_t)x, .y = y, .index = index});
}

void kernel_scatter_add(struct pool *pool, const struct lines *l, float *x, const float *y, const int32_t *index) {
    run_lines(pool, &(struct lines_job){.l = l,
                                        .size = sizeof *x,
                                        .scatter = true,
                                        .x = (char *)(void *)x,
                                        .y = (char *)(uintptr_t)y,
                                        .index = index});
}
