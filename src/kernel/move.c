/* Moving boxes of elements.
 *
 * The axes are put in the order of the destination and joined where both arrays go on evenly. Two of them make a tile:
 * a, the innermost of the destination, and b, the one along which the source is read best. The rest, and the tiles
 * along a and b, are walked over; runs of that walk are the tasks. */
#include "kernel/move.h"
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/walk.h"
#include <stdlib.h>
#include <string.h>

#define TILE_SIDE     64   /* of a transposition: both sides of the tile stay in L1 */
#define TILE_ELEMENTS 4096 /* TILE_SIDE squared */
#define RUN_ELEMENTS  16384
#define SHORT_RUN     32 /* bytes below which a call of memcpy costs more than a loop */

struct plan {
    const struct isa *isa;
    size_t size;
    bool add;
    struct move_axis a, b;
    int64_t tile_a, tile_b;
    struct walk walk; /* over tiles; its last two axes are those of b and a */
    int64_t tiles, per_task;
    char *to;
    const char *from;
};

/* ---- one tile of na x nb elements ---- */

#define MOVE_STRIDED(type, OP)                                                                                         \
    for (int64_t j = 0; j < nb; j++) {                                                                                 \
        type *t = (type *)(void *)to + j * b.to;                                                                       \
        const type *f = (const type *)(const void *)from + j * b.from;                                                 \
        for (int64_t i = 0; i < na; i++, t += a.to, f += a.from) *t OP *f;                                             \
    }

static void move_strided(const struct plan *p, char *to, const char *from, int64_t na, int64_t nb) {
    const struct move_axis a = p->a, b = p->b;
    if (p->add) {
        MOVE_STRIDED(float, +=)
    } else if (p->size == 1) {
        MOVE_STRIDED(uint8_t, =)
    } else if (p->size == 2) {
        MOVE_STRIDED(uint16_t, =)
    } else if (p->size == 4) {
        MOVE_STRIDED(uint32_t, =)
    } else {
        MOVE_STRIDED(uint64_t, =)
    }
}

static void move_runs(const struct plan *p, char *to, const char *from, int64_t na, int64_t nb) {
    const size_t bytes = (size_t)na * p->size;
    for (int64_t j = 0; j < nb; j++) {
        char *t = to + j * p->b.to * (int64_t)p->size;
        const char *f = from + j * p->b.from * (int64_t)p->size;
        if (p->add)
            p->isa->add_part((float *)(void *)t, (const float *)(const void *)t, (const float *)(const void *)f, na);
        else
            memcpy(t, f, bytes);
    }
}

/* Runs of one repeated element: the beginning of a run is its own source for the rest, twice as much each time. */
static void move_repeated(const struct plan *p, char *to, const char *from, int64_t na, int64_t nb) {
    const size_t bytes = (size_t)na * p->size;
    for (int64_t j = 0; j < nb; j++) {
        char *t = to + j * p->b.to * (int64_t)p->size;
        memcpy(t, from + j * p->b.from * (int64_t)p->size, p->size);
        for (size_t done = p->size; done < bytes; done *= 2)
            memcpy(t + done, t, done < bytes - done ? done : bytes - done);
    }
}

/* Elements of four bytes, whose runs in the source lie across those of the destination. */
static void move_transposed(const struct plan *p, char *to, const char *from, int64_t na, int64_t nb) {
    float *t = (float *)(void *)to;
    const float *f = (const float *)(const void *)from;
    if (!p->add) {
        p->isa->gemm_transpose(t, p->b.to, f, p->a.from, na, nb);
        return;
    }
    float turned[TILE_ELEMENTS];
    p->isa->gemm_transpose(turned, na, f, p->a.from, na, nb);
    for (int64_t j = 0; j < nb; j++) p->isa->add_part(t + j * p->b.to, t + j * p->b.to, turned + j * na, na);
}

static void move_tile(const struct plan *p, char *to, const char *from, int64_t na, int64_t nb) {
    const bool run = p->a.to == 1, crosswise = p->a.from != 1 && p->a.from != 0;
    const bool lengthy = (size_t)na * p->size >= SHORT_RUN;
    if (run && crosswise && p->b.from == 1 && p->size == 4 && na > 1 && nb > 1)
        move_transposed(p, to, from, na, nb);
    else if (run && lengthy && p->a.from == 1)
        move_runs(p, to, from, na, nb);
    else if (run && lengthy && p->a.from == 0 && !p->add)
        move_repeated(p, to, from, na, nb);
    else
        move_strided(p, to, from, na, nb);
}

static void move_tiles(const struct plan *p, int64_t tile, int64_t end) {
    const struct walk *w = &p->walk;
    struct walker here = walk_from(w, tile);
    for (; tile < end; tile++, walk_on(w, &here)) {
        const int64_t na = min64(p->tile_a, p->a.n - here.at[w->axes - 1] * p->tile_a);
        const int64_t nb = min64(p->tile_b, p->b.n - here.at[w->axes - 2] * p->tile_b);
        move_tile(p, p->to + here.offset[0] * (int64_t)p->size, p->from + here.offset[1] * (int64_t)p->size, na, nb);
    }
}

static void move_task(void *arg, int64_t task, void *scratch) {
    const struct plan *p = arg;
    (void)scratch;
    move_tiles(p, task * p->per_task, min64((task + 1) * p->per_task, p->tiles));
}

/* ---- the plan ---- */

/* In the order of the destination, without axes of size 1, joined where both arrays go on evenly. */
static int arrange(struct move_axis *axis, const struct move *m) {
    int axes = 0;
    for (int k = 0; k < m->axes; k++) {
        if (m->axis[k].n == 1) continue;
        int at = axes++;
        for (; at > 0 && llabs(axis[at - 1].to) < llabs(m->axis[k].to); at--) axis[at] = axis[at - 1];
        axis[at] = m->axis[k];
    }
    int joined = 0;
    for (int k = 0; k < axes; k++) {
        struct move_axis *outer = joined > 0 ? &axis[joined - 1] : NULL;
        const struct move_axis inner = axis[k];
        if (outer && outer->to == inner.n * inner.to && outer->from == inner.n * inner.from)
            *outer = (struct move_axis){outer->n * inner.n, inner.to, inner.from};
        else
            axis[joined++] = inner;
    }
    return joined;
}

/* The axis beside a. Where the source does not run along a, the one along which it does. Else the axis next to a in the
 * destination or in the source, whichever is shorter: few streams, each read and written from its beginning to its end,
 * suit the processor's prefetchers best. */
static int beside(const struct move_axis *axis, int axes) {
    const int a = axes - 1;
    int near = a - 1;
    for (int k = 0; k < a; k++)
        if (axis[k].from != 0 && (axis[near].from == 0 || llabs(axis[k].from) < llabs(axis[near].from))) near = k;
    if (axis[a].to == 1 && axis[a].from != 1 && axis[a].from != 0) return near;
    return near >= 0 && axis[near].n < axis[a - 1].n ? near : a - 1;
}

static void choose_tiles(struct plan *p) {
    if (p->a.from == 1 || p->a.from == 0) {
        p->tile_a = min64(p->a.n, RUN_ELEMENTS);
        p->tile_b = min64(p->b.n, RUN_ELEMENTS / p->tile_a);
        return;
    }
    p->tile_b = min64(p->b.n, TILE_SIDE);
    p->tile_a = min64(p->a.n, TILE_ELEMENTS / p->tile_b);
    p->tile_b = min64(p->b.n, TILE_ELEMENTS / p->tile_a);
}

static void walk_axis(struct walk *w, int64_t n, int64_t to, int64_t from) {
    w->axis[w->axes++] = (struct walk_axis){n, {to, from}};
}

void kernel_move(struct pool *pool, const struct move *m, void *to, const void *from) {
    struct move_axis axis[MOVE_AXES];
    int64_t count = 1;
    for (int k = 0; k < m->axes; k++) count *= m->axis[k].n;
    if (count == 0) return;
    int axes = arrange(axis, m);
    if (axes == 0) axis[axes++] = (struct move_axis){1, 1, 1};
    const int b = beside(axis, axes);
    struct plan p = {.isa = isa_get(), .size = m->size, .add = m->add, .to = to, .from = from};
    p.a = axis[axes - 1];
    p.b = b < 0 ? (struct move_axis){1, 0, 0} : axis[b];
    choose_tiles(&p);
    for (int k = 0; k < axes - 1; k++)
        if (k != b) walk_axis(&p.walk, axis[k].n, axis[k].to, axis[k].from);
    walk_axis(&p.walk, (p.b.n - 1) / p.tile_b + 1, p.tile_b * p.b.to, p.tile_b * p.b.from);
    walk_axis(&p.walk, (p.a.n - 1) / p.tile_a + 1, p.tile_a * p.a.to, p.tile_a * p.a.from);
    p.tiles = walk_length(&p.walk);
    p.per_task = 1 + (2 * TASK_ELEMENTS - 1) / (p.tile_a * p.tile_b);
    if (kernel_is_small(count))
        move_tiles(&p, 0, p.tiles);
    else
        pool_run(pool, (p.tiles - 1) / p.per_task + 1, move_task, &p);
}

/* ---- clearing ---- */

/* What is too large for any cache is cleared in pieces so long that memset writes past the caches: three times as fast.
 */
#define CLEAR_FLOATS ((int64_t)64 << 10)
#define CLEAR_LARGE  ((int64_t)8 << 20)

struct clear_job {
    float *to;
    int64_t n, per_task;
};

static void clear_task(void *arg, int64_t task, void *scratch) {
    const struct clear_job *j = arg;
    const int64_t first = task * j->per_task;
    (void)scratch;
    memset(j->to + first, 0, (size_t)min64(j->per_task, j->n - first) * sizeof(float));
}

void kernel_clear(struct pool *pool, float *to, int64_t n) {
    struct clear_job job = {to, n, n < 2 * CLEAR_LARGE ? CLEAR_FLOATS : CLEAR_LARGE};
    if (n > 0) pool_run(pool, (n - 1) / job.per_task + 1, clear_task, &job);
}
