/* See kernel/loss.h. */
#include "kernel/loss.h"
#include "kernel/ints.h"
#include <math.h>

#define BLOCK ((int64_t)4096) /* numbers summed by one task */

/* The losses that no kernel of an instruction set has. */
static float of_pair(enum pair_loss loss, float delta, float x, float y) {
    const float d = x - y, size = fabsf(d);
    if (loss == LOSS_ABSOLUTE) return size;
    if (loss == LOSS_HUBER) return size <= delta ? 0.5f * d * d : delta * (size - 0.5f * delta);
    return y > 0 ? y * (logf(y) - x) : y == 0 ? 0 : NAN; /* LOSS_KL */
}

static float grad_of_pair(enum pair_loss loss, float delta, bool second, float x, float y) {
    const float d = x - y, sign = second ? -1.0f : 1.0f;
    switch (loss) {
    case LOSS_SQUARE: /* by y alone, as binary cross entropy */
        return sign * 2 * d;
    case LOSS_ABSOLUTE:
        return d > 0 ? sign : d < 0 ? -sign : d == 0 ? 0 : NAN;
    case LOSS_HUBER:
        return sign * (d > delta ? delta : d < -delta ? -delta : d);
    case LOSS_BCE:
        return -x;
    case LOSS_KL:
        return second ? (y > 0 ? logf(y) + 1 - x : 0) : -y;
    }
    return NAN;
}

#define PARTS 512 /* most partial sums of one reduction; the cut depends on n alone */

struct pair_job {
    enum pair_loss loss;
    float delta, scale;
    bool second, each_dy, add;
    const float *x, *y, *dy;
    float *out;
    int64_t n, part;
    double sum[PARTS];
};

static void pair_loss_task(void *arg, int64_t task, void *scratch) {
    struct pair_job *j = arg;
    const int64_t from = task * j->part, to = from + j->part < j->n ? from + j->part : j->n;
    (void)scratch;
    if (j->loss == LOSS_SQUARE || j->loss == LOSS_BCE) {
        const struct isa *const isa = isa_get();
        j->sum[task] = (j->loss == LOSS_BCE ? isa->bce_losses : isa->square_losses)(
            j->out ? j->out + from : NULL, j->x + from, j->y + from, to - from);
        return;
    }
    double sum = 0;
    for (int64_t i = from; i < to; i++) {
        const float loss = of_pair(j->loss, j->delta, j->x[i], j->y[i]);
        if (j->out) j->out[i] = loss;
        sum += (double)loss;
    }
    j->sum[task] = sum;
}

/* The length of a part: whole blocks, so many that PARTS parts are enough. */
static int64_t part_of(int64_t n) {
    const int64_t blocks = ceil_div(n, BLOCK);
    return BLOCK * max64(ceil_div(blocks, PARTS), 1);
}

double kernel_pair_loss(struct pool *pool, enum pair_loss loss, float delta, float *each, const float *x,
                        const float *y, int64_t n) {
    struct pair_job job = {.loss = loss, .delta = delta, .x = x, .y = y, .out = each, .n = n, .part = part_of(n)};
    const int64_t parts = ceil_div(n, job.part);
    pool_run_if(n > 4 * BLOCK, pool, parts, pair_loss_task, &job);
    double sum = 0;
    for (int64_t i = 0; i < parts; i++) sum += job.sum[i];
    return sum;
}

static void pair_grad_task(void *arg, int64_t task, void *scratch) {
    const struct pair_job *j = arg;
    const int64_t from = task * j->part, to = from + j->part < j->n ? from + j->part : j->n;
    (void)scratch;
    if (!j->second && (j->loss == LOSS_SQUARE || j->loss == LOSS_BCE)) {
        const struct isa *const isa = isa_get();
        const float scale = j->each_dy ? j->scale : j->scale * *j->dy;
        (j->loss == LOSS_BCE ? isa->bce_grads : isa->square_grads)(
            j->out + from, j->x + from, j->y + from, j->each_dy ? j->dy + from : NULL, scale, to - from, j->add);
        return;
    }
    for (int64_t i = from; i < to; i++) {
        const float g =
            j->scale * j->dy[j->each_dy ? i : 0] * grad_of_pair(j->loss, j->delta, j->second, j->x[i], j->y[i]);
        j->out[i] = j->add ? j->out[i] + g : g;
    }
}

void kernel_pair_loss_grad(struct pool *pool, enum pair_loss loss, float delta, bool second, float *dx, const float *dy,
                           bool each, float scale, const float *x, const float *y, int64_t n, bool add) {
    struct pair_job job = {.loss = loss, .delta = delta, .second = second, .x = x, .y = y, .dy = dy, .each_dy = each};
    job.out = dx, job.n = n, job.part = part_of(n), job.scale = scale, job.add = add;
    pool_run_if(n > 4 * BLOCK, pool, ceil_div(n, job.part), pair_grad_task, &job);
}

double kernel_sum_in_order(const float *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i];
    return sum;
}

/* ---- cross entropy ---- a task is a row */

struct row_job {
    const struct cross_entropy *ce;
    const float *lse_in, *dy;
    float *lse, *loss, *dx;
    int64_t lddx;
    bool each, add;
    float scale;
    const struct isa *isa;
};

static bool ignored(const struct cross_entropy *ce, int64_t row) {
    return ce->target && ce->ignore && ce->target[row] == ce->ignore_index;
}

static void run_rows(struct pool *pool, struct row_job *job, heed_task_fn fn) {
    job->isa = isa_get();
    pool_run_if(job->ce->rows * job->ce->n > 1 << 15, pool, job->ce->rows, fn, job);
}

static void loss_task(void *arg, int64_t r, void *scratch) {
    const struct row_job *j = arg;
    const struct cross_entropy *ce = j->ce;
    const float *x = ce->x + r * ce->ldx, *p = ce->p ? ce->p + r * ce->n : NULL;
    const double s = (double)ce->smoothing;
    (void)scratch;
    if (ignored(ce, r)) {
        j->lse[r] = j->loss[r] = 0;
        return;
    }
    j->lse[r] = j->isa->lse_row(x, ce->n, NULL);
    const double lse = (double)j->lse[r];
    double sum = 0, dot = 0, mass = 0, unused;
    if (p || s > 0) j->isa->row_sums(&sum, &dot, x, p, ce->n);
    if (p) j->isa->row_sums(&mass, &unused, p, NULL, ce->n);
    const double hard = p ? lse * mass - dot : lse - (double)x[ce->target[r]];
    j->loss[r] = (float)(s > 0 ? (1 - s) * hard + s * (lse - sum / (double)ce->n) : hard);
}

void kernel_cross_entropy(struct pool *pool, const struct cross_entropy *ce, float *lse, float *loss) {
    run_rows(pool, &(struct row_job){.ce = ce, .lse = lse, .loss = loss}, loss_task);
}

static void grad_task(void *arg, int64_t r, void *scratch) {
    const struct row_job *j = arg;
    const struct cross_entropy *ce = j->ce;
    const float *x = ce->x + r * ce->ldx, *p = ce->p ? ce->p + r * ce->n : NULL;
    float *dx = j->dx + r * j->lddx;
    const float s = ce->smoothing, rest = s / (float)ce->n;
    (void)scratch;
    if (ignored(ce, r)) {
        for (int64_t i = 0; !j->add && i < ce->n; i++) dx[i] = 0;
        return;
    }
    const float scale = j->scale * (j->dy ? j->dy[j->each ? r : 0] : 1);
    double mass = 1, unused;
    if (p) j->isa->row_sums(&mass, &unused, p, NULL, ce->n);
    const float whole = p ? (1 - s) * (float)mass + s : 1;
    j->isa->cross_entropy_grad_row(dx, x, j->lse_in[r], p, scale, whole, 1 - s, rest, ce->n, j->add);
    if (!p) dx[ce->target[r]] -= scale * (1 - s);
}

void kernel_cross_entropy_grad(struct pool *pool, const struct cross_entropy *ce, const float *lse, float *dx,
                               int64_t lddx, const float *dy, bool each, float scale, bool add) {
    struct row_job job = {.ce = ce, .lse_in = lse, .dx = dx, .lddx = lddx, .dy = dy, .each = each, .scale = scale};
    job.add = add;
    run_rows(pool, &job, grad_task);
}

/* A row of logits is turned into its gradient while it is in cache. */
static void both_task(void *arg, int64_t r, void *scratch) {
    loss_task(arg, r, scratch);
    grad_task(arg, r, scratch);
}

void kernel_cross_entropy_both(struct pool *pool, const struct cross_entropy *ce, float *lse, float *loss, float *dx,
                               int64_t lddx, float scale) {
    struct row_job job = {.ce = ce, .lse = lse, .lse_in = lse, .loss = loss, .dx = dx, .lddx = lddx, .scale = scale};
    run_rows(pool, &job, both_task);
}

static void grad_p_task(void *arg, int64_t r, void *scratch) {
    const struct row_job *j = arg;
    const struct cross_entropy *ce = j->ce;
    const float *x = ce->x + r * ce->ldx;
    float *dp = j->dx + r * ce->n;
    const float scale = j->scale * (j->dy ? j->dy[j->each ? r : 0] : 1) * (1 - ce->smoothing), lse = j->lse_in[r];
    (void)scratch;
    for (int64_t i = 0; i < ce->n; i++) {
        const float g = scale * (lse - x[i]);
        dp[i] = j->add ? dp[i] + g : g;
    }
}

void kernel_cross_entropy_grad_p(struct pool *pool, const struct cross_entropy *ce, const float *lse, float *dp,
                                 const float *dy, bool each, float scale, bool add) {
    struct row_job job = {.ce = ce, .lse_in = lse, .dx = dp, .dy = dy, .each = each, .scale = scale, .add = add};
    run_rows(pool, &job, grad_p_task);
}

int64_t kernel_cross_entropy_count(const struct cross_entropy *ce, int64_t *bad) {
    int64_t count = 0;
    *bad = -1;
    for (int64_t r = 0; r < ce->rows; r++) {
        if (ignored(ce, r)) continue;
        count++;
        if (ce->target && (ce->target[r] < 0 || ce->target[r] >= ce->n) && *bad < 0) *bad = r;
    }
    return count;
}
