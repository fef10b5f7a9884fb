/* Elementwise functions over threads, and the broadcasting of shapes. */
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/reduce.h"
#include <string.h>

/* ---- One operand ---- */

enum unary_reads kernel_unary_reads(enum unary fn) {
    static const enum unary_reads of[UNARY_COUNT] = {
#define UNARY(name, NAME, parameters, reads, ...) [UNARY_##NAME] = reads,
#include "kernel/functions.def"
    };
    return of[fn];
}

struct activation_fn kernel_activation(enum activation act) {
    static const struct activation_fn of[ACT_COUNT] = {
#define ACTIVATION(NAME, value, gradient, twin, slope, a, b) [ACT_##NAME] = {UNARY_##NAME, a, b},
#include "kernel/elementwise.def"
    };
    return of[act];
}

struct unary_job {
    const struct isa *isa;
    enum unary fn;
    float *out;
    const float *x, *dy;
    int64_t n;
    float a, b;
    bool add;
};

static void unary_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct unary_job *j = arg;
    const int64_t at = task * TASK_ELEMENTS, n = min64(TASK_ELEMENTS, j->n - at);
    if (j->dy)
        j->isa->unary_grad_map((int)j->fn, j->out + at, j->dy + at, j->x ? j->x + at : NULL, n, j->a, j->b, j->add);
    else
        j->isa->unary_map((int)j->fn, j->out + at, j->x + at, n, j->a, j->b);
}

void kernel_unary(struct pool *pool, enum unary fn, float *y, const float *x, int64_t n, float a, float b) {
    const struct isa *isa = isa_get();
    if (kernel_is_small(n)) {
        isa->unary_map((int)fn, y, x, n, a, b);
        return;
    }
    struct unary_job job = {.isa = isa, .fn = fn, .out = y, .x = x, .n = n, .a = a, .b = b};
    pool_run(pool, (n + TASK_ELEMENTS - 1) / TASK_ELEMENTS, unary_task, &job);
}

void kernel_unary_grad(struct pool *pool, enum unary fn, float *dx, const float *dy, const float *saved, int64_t n,
                       float a, float b, bool add) {
    const struct isa *isa = isa_get();
    const float *x = kernel_unary_reads(fn) == READS_NOTHING ? NULL : saved;
    if (kernel_is_small(n)) {
        isa->unary_grad_map((int)fn, dx, dy, x, n, a, b, add);
        return;
    }
    struct unary_job job = {.isa = isa, .fn = fn, .out = dx, .x = x, .dy = dy, .n = n, .a = a, .b = b, .add = add};
    pool_run(pool, (n + TASK_ELEMENTS - 1) / TASK_ELEMENTS, unary_task, &job);
}

/* ---- Shapes ---- */

bool kernel_bcast_shape(struct bcast_operand a, struct bcast_operand b, int *rank, int64_t shape[BCAST_AXES]) {
    if (a.rank > BCAST_AXES || b.rank > BCAST_AXES) return false;
    *rank = a.rank > b.rank ? a.rank : b.rank;
    for (int i = 1; i <= *rank; i++) {
        const int64_t sa = i <= a.rank ? a.shape[a.rank - i] : 1, sb = i <= b.rank ? b.shape[b.rank - i] : 1;
        if (sa != sb && sa != 1 && sb != 1) return false;
        shape[*rank - i] = sa == 1 ? sb : sa;
    }
    return true;
}

static bool same_shape(struct bcast_operand a, struct bcast_operand b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; i++)
        if (a.shape[i] != b.shape[i]) return false;
    return true;
}

/* One more axis, outside those there are: joined to the last when every operand goes on evenly. */
static void add_axis(struct bcast *bc, int64_t size, const int64_t step[3]) {
    const int last = bc->axes - 1;
    bool even = bc->axes > 0;
    for (int k = 0; k < 3 && even; k++) even = step[k] == bc->step[k][last] * bc->size[last];
    if (even) {
        bc->size[last] *= size;
        return;
    }
    bc->size[bc->axes] = size;
    for (int k = 0; k < 3; k++) bc->step[k][bc->axes] = step[k];
    bc->axes++;
}

void kernel_bcast(struct bcast *bc, struct bcast_operand whole, const struct bcast_operand *operand, int operands) {
    bc->axes = 0;
    bc->total = 1;
    for (int i = 0; i < whole.rank; i++) bc->total *= whole.shape[i];
    bool same = true;
    for (int k = 0; k < operands; k++) same = same && same_shape(whole, operand[k]);
    if (same) {
        add_axis(bc, bc->total, (const int64_t[3]){1, 1, 1});
        return;
    }
    int64_t next[3] = {1, 1, 1}; /* contiguous steps */
    for (int i = 1; i <= whole.rank; i++) {
        const int64_t size = whole.shape[whole.rank - i];
        int64_t step[3] = {0};
        for (int k = 0; k < operands; k++) {
            const int64_t own = i <= operand[k].rank ? operand[k].shape[operand[k].rank - i] : 1;
            if (own != 1) {
                step[k] = next[k];
                next[k] *= own;
            }
        }
        if (size != 1) add_axis(bc, size, step);
    }
    if (bc->axes == 0) add_axis(bc, 1, (const int64_t[3]){1, 1, 1}); /* single elements of unlike rank */
}

/* ---- Tiles ---- */

/* Tiles that cover elements [from, end) of the whole: as many full rows as lie along axis 1, else a piece of a row. */
static void tiles_between(const struct bcast *bc, int64_t from, int64_t end, tile_fn fn, const void *arg) {
    const int64_t n = bc->size[0];
    while (from < end) {
        const int64_t column = from % n;
        int64_t at[3], row = from / n, rows_left = 1;
        for (int k = 0; k < 3; k++) at[k] = column * bc->step[k][0];
        for (int i = 1; i < bc->axes; i++) {
            const int64_t index = row % bc->size[i];
            row /= bc->size[i];
            for (int k = 0; k < 3; k++) at[k] += index * bc->step[k][i];
            if (i == 1) rows_left = bc->size[1] - index;
        }
        const int64_t rows = column ? 0 : min64(rows_left, (end - from) / n);
        const int64_t length = rows ? n : min64(n - column, end - from);
        fn(arg, from, at, rows ? rows : 1, length);
        from += (rows ? rows : 1) * length;
    }
}

struct tiles_job {
    const struct bcast *bc;
    tile_fn fn;
    const void *arg;
};

static void tiles_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct tiles_job *j = arg;
    const int64_t from = task * TASK_ELEMENTS;
    tiles_between(j->bc, from, min64(from + TASK_ELEMENTS, j->bc->total), j->fn, j->arg);
}

void kernel_tiles(struct pool *pool, const struct bcast *bc, tile_fn fn, const void *arg) {
    if (kernel_is_small(bc->total)) {
        tiles_between(bc, 0, bc->total, fn, arg);
        return;
    }
    struct tiles_job job = {bc, fn, arg};
    pool_run(pool, (bc->total + TASK_ELEMENTS - 1) / TASK_ELEMENTS, tiles_task, &job);
}

/* ---- Two and three operands ---- */

struct binary_job {
    const struct isa *isa;
    const struct bcast *bc;
    int op;
    bool second, add; /* of gradients */
    float *y;         /* or dx */
    const float *dy, *a, *b;
    uint8_t *flag;
    const uint8_t *flag_a, *flag_b, *flag_c;
    const int32_t *int_a, *int_b;
};

/* Operand `p`, number k, of a tile that stands at `at`. */
#define OPERAND(p, k) (p) + at[k], row[k], bc->step[k][0] != 0

static void rows_of(const struct bcast *bc, int64_t row[3]) {
    for (int k = 0; k < 3; k++) row[k] = bc->axes > 1 ? bc->step[k][1] : 0;
}

#define TILE_FUNCTION(NAME, CALL)                                                                                      \
    static void NAME(const void *arg, int64_t whole, const int64_t at[3], int64_t rows, int64_t n) {                   \
        const struct binary_job *j = arg;                                                                              \
        const struct bcast *bc = j->bc;                                                                                \
        int64_t row[3];                                                                                                \
        rows_of(bc, row);                                                                                              \
        j->isa->CALL;                                                                                                  \
    }
TILE_FUNCTION(binary_tile, binary_tile(j->op, j->y + whole, OPERAND(j->a, 0), OPERAND(j->b, 1), rows, n))
TILE_FUNCTION(compare_tile, compare_tile(j->op, j->flag + whole, OPERAND(j->a, 0), OPERAND(j->b, 1), rows, n))
TILE_FUNCTION(int_tile, compare_i32_tile(j->op, j->flag + whole, OPERAND(j->int_a, 0), OPERAND(j->int_b, 1), rows, n))
TILE_FUNCTION(logic_tile, logic_tile(j->op, j->flag + whole, OPERAND(j->flag_a, 0), OPERAND(j->flag_b, 1), rows, n))
TILE_FUNCTION(where_tile, where_tile(j->y + whole, OPERAND(j->flag_c, 0), OPERAND(j->a, 1), OPERAND(j->b, 2), rows, n))
TILE_FUNCTION(where_grad_tile,
              where_grad_tile(j->second, j->y + whole, j->dy + whole, n, OPERAND(j->flag_c, 0), rows, n, j->add))

void kernel_binary(struct pool *pool, enum binary op, float *y, const float *a, const float *b,
                   const struct bcast *bc) {
    const struct isa *isa = isa_get();
    if (bc->axes == 1 && kernel_is_small(bc->total)) {
        isa->binary_tile((int)op, y, a, 0, bc->step[0][0] != 0, b, 0, bc->step[1][0] != 0, 1, bc->total);
        return;
    }
    const struct binary_job job = {.isa = isa, .bc = bc, .op = (int)op, .y = y, .a = a, .b = b};
    kernel_tiles(pool, bc, binary_tile, &job);
}

void kernel_compare(struct pool *pool, enum comparison op, uint8_t *y, const float *a, const float *b,
                    const struct bcast *bc) {
    const struct binary_job job = {.isa = isa_get(), .bc = bc, .op = (int)op, .flag = y, .a = a, .b = b};
    kernel_tiles(pool, bc, compare_tile, &job);
}

void kernel_compare_i32(struct pool *pool, enum comparison op, uint8_t *y, const int32_t *a, const int32_t *b,
                        const struct bcast *bc) {
    const struct binary_job job = {.isa = isa_get(), .bc = bc, .op = (int)op, .flag = y, .int_a = a, .int_b = b};
    kernel_tiles(pool, bc, int_tile, &job);
}

void kernel_logic(struct pool *pool, enum logic op, uint8_t *y, const uint8_t *a, const uint8_t *b,
                  const struct bcast *bc) {
    const struct binary_job job = {.isa = isa_get(), .bc = bc, .op = (int)op, .flag = y, .flag_a = a, .flag_b = b};
    kernel_tiles(pool, bc, logic_tile, &job);
}

void kernel_not(struct pool *pool, uint8_t *y, const uint8_t *x, int64_t n) {
    /* x != 0 xor 1, the 1 repeated along the axis. */
    static const uint8_t one = 1;
    const struct bcast bc = {.axes = 1, .total = n, .size = {n}, .step = {{1}, {0}, {0}}};
    kernel_logic(pool, LOGIC_XOR, y, x, &one, &bc);
}

void kernel_where(struct pool *pool, float *y, const uint8_t *cond, const float *a, const float *b,
                  const struct bcast *bc) {
    const struct binary_job job = {.isa = isa_get(), .bc = bc, .y = y, .flag_c = cond, .a = a, .b = b};
    kernel_tiles(pool, bc, where_tile, &job);
}

/* ---- Gradients of two and three operands ---- */

static void binary_grad_tile(const void *arg, int64_t whole, const int64_t at[3], int64_t rows, int64_t n) {
    const struct binary_job *j = arg;
    const struct bcast *bc = j->bc;
    int64_t row[3];
    rows_of(bc, row);
    j->isa->binary_grad_tile(j->op, j->second, j->y + whole, j->dy + whole, n, j->a ? j->a + at[0] : NULL, row[0],
                             bc->step[0][0] != 0, j->b ? j->b + at[1] : NULL, row[1], bc->step[1][0] != 0, rows, n,
                             j->add);
}

/* Tiles of the gradient before it is summed: sources are dy, a, b, or dy and where's condition. */
static void binary_grad_fill(const void *arg, float *tile, const int64_t at[3], const int64_t row[3], int64_t rows,
                             int64_t n) {
    const struct binary_job *j = arg;
    j->isa->binary_grad_tile(j->op, j->second, tile, j->dy + at[0], row[0], j->a ? j->a + at[1] : NULL, row[1],
                             j->bc->step[0][0] != 0, j->b ? j->b + at[2] : NULL, row[2], j->bc->step[1][0] != 0, rows,
                             n, false);
}
static void where_grad_fill(const void *arg, float *tile, const int64_t at[3], const int64_t row[3], int64_t rows,
                            int64_t n) {
    const struct binary_job *j = arg;
    j->isa->where_grad_tile(j->second, tile, j->dy + at[0], row[0], j->flag_c + at[1], row[1], j->bc->step[0][0] != 0,
                            rows, n, false);
}

static bool is_repeated(const struct bcast *bc, int operand) {
    for (int i = 0; i < bc->axes; i++)
        if (bc->step[operand][i] == 0) return true;
    return false;
}

static float as_is(double sum, float shift, double param) {
    (void)shift;
    return (float)(sum * param);
}

/* The gradient at the whole shape when the operand has it, else folded down; source 0 is dy, others follow bc's. */
static void grad_of_operand(struct pool *pool, int target, const struct binary_job *job, tile_fn tile,
                            struct fold_source *source, float sign) {
    const struct bcast *bc = job->bc;
    if (!is_repeated(bc, target)) {
        kernel_tiles(pool, bc, tile, job);
        return;
    }
    for (int i = 0; i < bc->axes; i++) {
        source->step[0][i] = i == 0 ? 1 : source->step[0][i - 1] * bc->size[i - 1];
        source->step[1][i] = bc->step[0][i];
        source->step[2][i] = bc->step[1][i];
    }
    const struct fold_pass pass = {.fold = FOLD_SUM, .out = job->y, .finish = as_is, .param = (double)sign};
    kernel_fold(pool, bc, target, source, &pass, 1, job->add);
}

void kernel_binary_grad(struct pool *pool, enum binary op, bool second, float *dx, const float *dy, const float *a,
                        const float *b, const struct bcast *bc, bool add) {
    const bool plain = op == BINARY_ADD || op == BINARY_SUB;
    if (op == BINARY_MUL && second) b = NULL;
    if (op == BINARY_MUL && !second) a = NULL;
    if (plain) a = b = NULL;
    const struct binary_job job = {
        .isa = isa_get(), .bc = bc, .op = (int)op, .second = second, .add = add, .y = dx, .dy = dy, .a = a, .b = b};
    struct fold_source source = {.x = dy, .fill = plain ? NULL : binary_grad_fill, .arg = &job};
    grad_of_operand(pool, second ? 1 : 0, &job, binary_grad_tile, &source, op == BINARY_SUB && second ? -1.0f : 1.0f);
}

void kernel_where_grad(struct pool *pool, bool second, float *dx, const float *dy, const uint8_t *cond,
                       const struct bcast *bc, bool add) {
    const struct binary_job job = {
        .isa = isa_get(), .bc = bc, .second = second, .add = add, .y = dx, .dy = dy, .flag_c = cond};
    struct fold_source source = {.fill = where_grad_fill, .arg = &job};
    grad_of_operand(pool, second ? 2 : 1, &job, where_grad_tile, &source, 1.0f);
}
