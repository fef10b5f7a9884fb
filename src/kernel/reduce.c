/* Reductions over threads: the folding engine, and the reductions and gradients made of it.
 *
 * A fold has kept axes, whose index is a result, and summed axes, whose index runs over what becomes one result. Along
 * the innermost axis sources have step 0 or 1. If that axis is summed, results are rows of it (fold_rows), else columns
 * (fold_cols). Many results: tasks are ranges of results. Few results of much: the summed range is cut into parts too,
 * and the parts of a result are joined in order. */
#include "kernel/reduce.h"
#include "kernel/ints.h"
#include <math.h>

/* Results folded at a time, elements of a tile that is computed first, and partial results: all on the stack. */
#define FOLD_RESULTS  ((int64_t)256)
#define FOLD_TILE     ((int64_t)4096)
#define FOLD_PARTIALS ((int64_t)4096)
#define FOLD_TASKS    ((int64_t)32) /* fewer ranges than this are cut further */

struct axes {
    int count; /* the innermost first */
    int64_t total, size[BCAST_AXES], step[3][BCAST_AXES];
};

struct fold_job {
    const struct isa *isa;
    const struct fold_source *source;
    const struct fold_pass *pass;
    int passes;
    bool add;
    bool by_rows; /* the innermost axis is summed */
    struct axes kept, summed;
    int64_t results; /* of a task */
    int64_t parts, part;
    double *partial; /* (parts, kept.total) */
};

static void push_axis(struct axes *axes, int64_t size, const struct fold_source *source, int i) {
    axes->total *= size;
    axes->size[axes->count] = size;
    for (int k = 0; k < 3; k++) axes->step[k][axes->count] = source->step[k][i];
    axes->count++;
}

/* Adds to at[] where number `index` of these axes stands. */
static void locate(const struct axes *axes, int64_t index, int64_t at[3]) {
    for (int i = 0; i < axes->count; i++) {
        const int64_t here = i + 1 < axes->count ? index % axes->size[i] : index;
        index /= axes->size[i];
        for (int k = 0; k < 3; k++) at[k] += here * axes->step[k][i];
    }
}

/* From `index`, how far it goes on evenly along the first of these axes. */
static int64_t run_of(const struct axes *axes, int64_t index, int64_t end) {
    return min64(end - index, axes->count ? axes->size[0] - index % axes->size[0] : 1);
}

/* Folds a block: (results, run) when by rows, else (run, results). */
static void fold_block(const struct fold_job *j, const struct fold_pass *pass, double *acc, const int64_t at[3],
                       int64_t results, int64_t run, const float *shift) {
    const struct fold_source *s = j->source;
    const struct axes *across = j->by_rows ? &j->kept : &j->summed, *along = j->by_rows ? &j->summed : &j->kept;
    int64_t row[3];
    for (int k = 0; k < 3; k++) row[k] = across->count ? across->step[k][0] : 0;
    const int64_t rows = j->by_rows ? results : run, n = j->by_rows ? run : results;
    void (*fold)(int, double *, const float *, int64_t, int64_t, int64_t, const float *, float) =
        j->by_rows ? j->isa->fold_rows : j->isa->fold_cols;
    if (!s->fill) {
        fold((int)pass->fold, acc, s->x + at[0], row[0], rows, n, shift, pass->p);
        return;
    }
    float tile[FOLD_TILE];
    const int64_t width = min64(n, FOLD_TILE), height = FOLD_TILE / width;
    for (int64_t r = 0; r < rows; r += height)
        for (int64_t c = 0; c < n; c += width) {
            const int64_t tall = min64(height, rows - r), wide = min64(width, n - c);
            int64_t here[3];
            for (int k = 0; k < 3; k++) here[k] = at[k] + r * row[k] + c * along->step[k][0];
            s->fill(s->arg, tile, here, row, tall, wide);
            const int64_t first = j->by_rows ? r : c;
            fold((int)pass->fold, acc + first, tile, wide, tall, wide, shift ? shift + first : NULL, pass->p);
        }
}

static double start_of(enum fold fold) { return fold == FOLD_MAX ? -HUGE_VAL : fold == FOLD_MIN ? HUGE_VAL : 0.0; }

/* Folds elements [from, to) of the summed range into each of the results [first, end). */
static void fold_range(const struct fold_job *j, const struct fold_pass *pass, double *acc, int64_t first, int64_t end,
                       int64_t from, int64_t to) {
    for (int64_t o = first; o < end; o++) acc[o - first] = start_of(pass->fold);
    for (int64_t o = first, results; o < end; o += results) {
        results = run_of(&j->kept, o, end);
        int64_t base[3] = {0};
        locate(&j->kept, o, base);
        for (int64_t q = from, run; q < to; q += run) {
            run = run_of(&j->summed, q, to);
            int64_t at[3] = {base[0], base[1], base[2]};
            locate(&j->summed, q, at);
            fold_block(j, pass, acc + (o - first), at, results, run, pass->shift ? pass->shift + o : NULL);
        }
    }
}

static void finish(const struct fold_pass *pass, int64_t o, double acc, bool add) {
    const float y = pass->finish(acc, pass->shift ? pass->shift[o] : 0.0f, pass->param);
    pass->out[o] = add ? pass->out[o] + y : y;
}

/* All passes over a few results at a time, while what they read is in cache. */
static void fold_results(const struct fold_job *j, int64_t first, int64_t end) {
    double acc[FOLD_RESULTS];
    for (int64_t o = first; o < end; o += FOLD_RESULTS) {
        const int64_t stop = min64(o + FOLD_RESULTS, end);
        for (int p = 0; p < j->passes; p++) {
            fold_range(j, &j->pass[p], acc, o, stop, 0, j->summed.total);
            for (int64_t i = o; i < stop; i++) finish(&j->pass[p], i, acc[i - o], j->add);
        }
    }
}

static void results_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct fold_job *j = arg;
    fold_results(j, task * j->results, min64((task + 1) * j->results, j->kept.total));
}

/* Task: one part of one range of results. */
static void part_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct fold_job *j = arg;
    const int64_t part = task % j->parts, first = task / j->parts * j->results;
    fold_range(j, j->pass, j->partial + part * j->kept.total + first, first, min64(first + j->results, j->kept.total),
               part * j->part, min64((part + 1) * j->part, j->summed.total));
}

static double join_parts(const struct fold_job *j, int64_t o) {
    double acc = j->partial[o];
    for (int64_t i = 1; i < j->parts; i++) {
        const double t = j->partial[i * j->kept.total + o];
        switch (j->pass->fold) {
        case FOLD_MAX:
        case FOLD_MAX_ABS:
            acc = t > acc || t != t ? t : acc;
            break;
        case FOLD_MIN:
            acc = t < acc || t != t ? t : acc;
            break;
        default:
            acc += t;
        }
    }
    return acc;
}

static void fold_in_parts(struct pool *pool, struct fold_job *j, int64_t ranges) {
    double partial[FOLD_PARTIALS];
    j->partial = partial;
    for (int p = 0; p < j->passes; p++, j->pass++) {
        pool_run(pool, ranges * j->parts, part_task, j);
        for (int64_t o = 0; o < j->kept.total; o++) finish(j->pass, o, join_parts(j, o), j->add);
    }
    j->partial = NULL;
}

void kernel_fold(struct pool *pool, const struct bcast *bc, int target, const struct fold_source *source,
                 const struct fold_pass *pass, int passes, bool add) {
    struct fold_job j = {.isa = isa_get(), .source = source, .pass = pass, .passes = passes, .add = add};
    j.kept.total = j.summed.total = 1;
    for (int i = 0; i < bc->axes; i++) push_axis(bc->step[target][i] ? &j.kept : &j.summed, bc->size[i], source, i);
    j.by_rows = bc->step[target][0] == 0;
    const int64_t results = j.kept.total, length = j.summed.total;
    if (results == 0) return;
    if (kernel_is_small(bc->total)) {
        fold_results(&j, 0, results);
        return;
    }
    /* Columns are taken in strips of a kilobyte, so that memory is read in runs. */
    const int64_t least = j.by_rows ? 1 : FOLD_RESULTS;
    j.results = max64(least, TASK_ELEMENTS / length);
    const int64_t ranges = ceil_div(results, j.results);
    const int64_t parts = min64(min64(FOLD_TASKS / ranges, FOLD_PARTIALS / results), bc->total / TASK_ELEMENTS);
    if (parts < 2) {
        pool_run(pool, ranges, results_task, &j);
        return;
    }
    j.part = ceil_div(ceil_div(length, parts), FOLD_RESULTS) * FOLD_RESULTS;
    j.parts = ceil_div(length, j.part);
    fold_in_parts(pool, &j, ranges);
}

/* ---- Reductions ---- */

static float finish_ratio(double sum, float shift, double param) {
    (void)shift;
    return (float)(sum / param);
}
static float finish_sqrt(double sum, float shift, double param) {
    (void)shift, (void)param;
    return (float)sqrt(sum);
}
static float finish_root(double sum, float shift, double param) {
    (void)shift;
    return (float)pow(sum, 1.0 / param);
}
/* What log-sum-exp subtracts: the largest, unless that is infinite or NaN. */
static float finish_finite(double top, float shift, double param) {
    (void)shift, (void)param;
    return isfinite(top) ? (float)top : 0.0f;
}
static float finish_log(double sum, float shift, double param) {
    (void)param;
    return (float)(log(sum) + (double)shift);
}

/* Operand 0 of bc is x, operand 1 the results. Returns how many elements become one. */
static int64_t lay_out(const struct reduce *r, struct bcast *bc) {
    int64_t kept[BCAST_AXES], n = 1;
    for (int i = 0; i < r->rank; i++) {
        const bool gone = r->axes >> i & 1;
        kept[i] = gone ? 1 : r->shape[i];
        if (gone) n *= r->shape[i];
    }
    const struct bcast_operand whole = {r->rank, r->shape}, result = {r->rank, kept};
    kernel_bcast(bc, whole, (const struct bcast_operand[]){whole, result}, 2);
    return n;
}

int64_t kernel_reduce_outputs(const struct reduce *r) {
    int64_t n = 1;
    for (int i = 0; i < r->rank; i++)
        if (!(r->axes >> i & 1)) n *= r->shape[i];
    return n;
}

/* Few numbers into one, without any set-up. */
static void fold_one(const struct bcast *bc, const float *x, const struct fold_pass *pass, int passes, bool add) {
    const struct isa *isa = isa_get();
    for (; passes > 0; passes--, pass++) {
        double acc = start_of(pass->fold);
        isa->fold_rows((int)pass->fold, &acc, x, 0, 1, bc->total, pass->shift, pass->p);
        finish(pass, 0, acc, add);
    }
}

static void fold_of(struct pool *pool, const struct bcast *bc, const float *x, const struct fold_pass *pass, int passes,
                    bool add) {
    if (bc->axes == 1 && bc->step[1][0] == 0 && kernel_is_small(bc->total)) {
        fold_one(bc, x, pass, passes, add);
        return;
    }
    struct fold_source source = {.x = x};
    for (int i = 0; i < bc->axes; i++) source.step[0][i] = bc->step[0][i];
    kernel_fold(pool, bc, 1, &source, pass, passes, add);
}

static struct fold_pass norm_pass(float p, float *y) {
    struct fold_pass pass = {.fold = FOLD_ABS, .out = y, .finish = finish_ratio, .param = 1.0};
    if (p == 2.0f) {
        pass.fold = FOLD_SQUARE;
        pass.finish = finish_sqrt;
    } else if (p == INFINITY) {
        pass.fold = FOLD_MAX_ABS;
    } else if (p != 1.0f) {
        pass.fold = FOLD_POWER;
        pass.finish = finish_root;
        pass.param = (double)p;
        pass.p = p;
    }
    return pass;
}

/* ---- the larger of two neighbours ---- maxout; rows of two are too short to fold one by one */

struct pairs_job {
    float *y, *dx;
    const float *x, *dy;
    int64_t n;
    bool add;
};

static bool is_pairs(const struct reduce *r, const struct bcast *bc) {
    return r->kind == REDUCE_MAX && bc->axes == 2 && bc->size[0] == 2 && bc->step[1][0] == 0;
}

static void pairs_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct pairs_job *j = arg;
    const int64_t end = min64((task + 1) * TASK_ELEMENTS, j->n);
    for (int64_t i = task * TASK_ELEMENTS; i < end; i++) {
        const float a = j->x[2 * i], b = j->x[2 * i + 1];
        j->y[i] = b > a || b != b ? b : a;
    }
}

static void pairs_grad_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct pairs_job *j = arg;
    const int64_t end = min64((task + 1) * TASK_ELEMENTS, j->n);
    for (int64_t i = task * TASK_ELEMENTS; i < end; i++) {
        const float a = j->x[2 * i], b = j->x[2 * i + 1], share = a == b ? j->dy[i] / 2 : j->dy[i];
        const float da = a >= b ? share : 0.0f, db = b >= a ? share : 0.0f;
        j->dx[2 * i] = j->add ? j->dx[2 * i] + da : da;
        j->dx[2 * i + 1] = j->add ? j->dx[2 * i + 1] + db : db;
    }
}

static void run_pairs(struct pool *pool, struct pairs_job job, void (*task)(void *, int64_t, void *)) {
    if (kernel_is_small(2 * job.n) && job.n <= TASK_ELEMENTS)
        task(&job, 0, NULL);
    else
        pool_run(pool, ceil_div(job.n, TASK_ELEMENTS), task, &job);
}

void kernel_reduce(struct pool *pool, const struct reduce *r, float *y, float *mean, const float *x) {
    struct bcast bc;
    const int64_t n = lay_out(r, &bc);
    if (is_pairs(r, &bc)) {
        run_pairs(pool, (struct pairs_job){.y = y, .x = x, .n = bc.total / 2}, pairs_task);
        return;
    }
    struct fold_pass pass[2] = {{.fold = FOLD_SUM, .out = y, .finish = finish_ratio, .param = 1.0}};
    int passes = 1;
    switch (r->kind) {
    case REDUCE_MEAN:
        pass[0].param = (double)n;
        break;
    case REDUCE_MAX:
        pass[0].fold = FOLD_MAX;
        break;
    case REDUCE_MIN:
        pass[0].fold = FOLD_MIN;
        break;
    case REDUCE_NORM:
        pass[0] = norm_pass(r->p, y);
        break;
    case REDUCE_VAR:
        pass[0].out = mean;
        pass[0].param = (double)n;
        pass[1] = (struct fold_pass){.fold = FOLD_DEVIATION,
                                     .shift = mean,
                                     .out = y,
                                     .finish = finish_ratio,
                                     .param = (double)max64(n - r->correction, 0)};
        passes = 2;
        break;
    case REDUCE_LOGSUMEXP:
        pass[0].fold = FOLD_MAX;
        pass[0].finish = finish_finite;
        pass[1] = (struct fold_pass){.fold = FOLD_EXP, .shift = y, .out = y, .finish = finish_log};
        passes = 2;
        break;
    default:
        break;
    }
    fold_of(pool, &bc, x, pass, passes, false);
}

void kernel_reduce_to(struct pool *pool, float *out, struct bcast_operand out_shape, const float *in,
                      struct bcast_operand in_shape, bool add) {
    struct bcast bc;
    kernel_bcast(&bc, in_shape, (const struct bcast_operand[]){in_shape, out_shape}, 2);
    if (bc.axes == 1 && bc.step[1][0] == 1) {
        kernel_unary_grad(pool, UNARY_AFFINE, out, in, NULL, bc.total, 1.0f, 0.0f, add);
        return;
    }
    const struct fold_pass pass = {.fold = FOLD_SUM, .out = out, .finish = finish_ratio, .param = 1.0};
    fold_of(pool, &bc, in, &pass, 1, add);
}

/* ---- Gradients ---- */

struct reduce_grad_job {
    const struct isa *isa;
    const struct bcast *bc;
    int kind;
    float factor;
    float *dx;
    const float *dy, *x, *y, *count;
    bool add;
};

static void reduce_grad_tile(const void *arg, int64_t whole, const int64_t at[3], int64_t rows, int64_t n) {
    const struct reduce_grad_job *j = arg;
    const int64_t o = at[1];
    j->isa->reduce_grad_tile(j->kind, j->dx + whole, j->x ? j->x + whole : NULL, j->dy + o, j->y ? j->y + o : NULL,
                             j->count ? j->count + o : NULL, j->bc->axes > 1 ? j->bc->step[1][1] : 0,
                             j->bc->step[1][0] != 0, rows, n, j->factor, j->add);
}

bool kernel_reduce_needs_work(const struct reduce *r) {
    return r->kind == REDUCE_MAX || r->kind == REDUCE_MIN || (r->kind == REDUCE_NORM && r->p == INFINITY);
}

void kernel_reduce_grad(struct pool *pool, const struct reduce *r, float *dx, const float *dy, const float *x,
                        const float *y, float *work, bool add) {
    struct bcast bc;
    const int64_t n = lay_out(r, &bc);
    if (bc.total == 0) return;
    if (is_pairs(r, &bc)) {
        run_pairs(pool, (struct pairs_job){.dx = dx, .x = x, .dy = dy, .n = bc.total / 2, .add = add}, pairs_grad_task);
        return;
    }
    struct reduce_grad_job job = {
        .isa = isa_get(), .bc = &bc, .kind = (int)r->kind, .factor = 1.0f, .dx = dx, .dy = dy, .add = add};
    if (r->kind == REDUCE_MEAN) job.factor = (float)(1.0 / (double)n);
    if (r->kind == REDUCE_VAR) job.factor = (float)(2.0 / (double)max64(n - r->correction, 0));
    if (r->kind == REDUCE_NORM) job.factor = r->p;
    if (r->kind != REDUCE_SUM && r->kind != REDUCE_MEAN) {
        job.x = x;
        job.y = y;
    }
    if (kernel_reduce_needs_work(r)) {
        const struct fold_pass ties = {.fold = r->kind == REDUCE_NORM ? FOLD_TIES_ABS : FOLD_TIES,
                                       .shift = y,
                                       .out = work,
                                       .finish = finish_ratio,
                                       .param = 1.0};
        fold_of(pool, &bc, x, &ties, 1, false);
        job.count = work;
    }
    kernel_tiles(pool, &bc, reduce_grad_tile, &job);
}
