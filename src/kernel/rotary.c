/* Rotary positions: a table of cosines and sines per position first, then all heads by it. */
#include "kernel/rotary.h"
#include "base/vectors.h"
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include <math.h>
#include <string.h>

/* ---- angles ---- position p = high + low, low in [0, LOWS): cos and sin of both are taken from libm, and one product
 * of complex numbers joins them. A task meets few different high parts and all low ones: some fifty calls a pair for
 * ROWS positions. */

#define LOWS       32
#define ROWS       512
#define PAIRS      64
#define SPEED_ROWS 32

struct turn {
    double c[PAIRS], s[PAIRS];
};

static void turn_at(struct turn *t, const double *speed, int64_t pairs, double position) {
    for (int64_t i = 0; i < pairs; i++) {
        t->c[i] = cos(position * speed[i]);
        t->s[i] = sin(position * speed[i]);
    }
}

/* By speeds of any kind: one sine and cosine for every number, of the product that f32 gives. */
static void speeds_task(void *arg, int64_t task, void *scratch) {
    const struct angles *a = arg;
    const int64_t first = task * SPEED_ROWS, end = a->rows - first < SPEED_ROWS ? a->rows : first + SPEED_ROWS;
    (void)scratch;
    for (int64_t r = first; r < end; r++) {
        const float position = (float)(a->positions ? a->positions[r] : a->start + r);
        float *c = a->cosines + r * a->row, *s = a->sines + r * a->row;
        for (int64_t i = 0; i < a->pairs; i++) {
            const float angle = position * a->speeds[i];
            c[i * a->step] = (float)cos((double)angle) * a->factor;
            s[i * a->step] = (float)sin((double)angle) * a->factor;
        }
    }
}

static void angles_task(void *arg, int64_t task, void *scratch) {
    const struct angles *a = arg;
    const int64_t blocks = (a->pairs + PAIRS - 1) / PAIRS, block = task % blocks * PAIRS, first = task / blocks * ROWS;
    const int64_t pairs = a->pairs - block < PAIRS ? a->pairs - block : PAIRS;
    const int64_t end = a->rows - first < ROWS ? a->rows : first + ROWS;
    struct turn high, lows[LOWS];
    bool known[LOWS] = {false};
    double speed[PAIRS];
    int64_t high_at = INT64_MIN + 1; /* no multiple of LOWS */
    (void)scratch;
    for (int64_t i = 0; i < pairs; i++) speed[i] = pow(a->base, -(double)(block + i) / (double)a->pairs);
    for (int64_t r = first; r < end; r++) {
        const int64_t position = a->positions ? a->positions[r] : a->start + r, low_at = position & (LOWS - 1);
        if (position - low_at != high_at) turn_at(&high, speed, pairs, (double)(high_at = position - low_at));
        if (!known[low_at]) turn_at(&lows[low_at], speed, pairs, (double)low_at);
        known[low_at] = true;
        const struct turn *low = &lows[low_at];
        float *c = a->cosines + r * a->row + block * a->step, *s = a->sines + r * a->row + block * a->step;
        for (int64_t i = 0; i < pairs; i++) {
            const double sine = high.s[i] * low->c[i] + high.c[i] * low->s[i];
            c[i * a->step] = (float)(high.c[i] * low->c[i] - high.s[i] * low->s[i]);
            s[i * a->step] = (float)(a->inverse ? -sine : sine);
        }
    }
}

void kernel_angles(struct pool *pool, const struct angles *a) {
    struct angles job = *a;
    if (a->speeds) {
        pool_run_if(a->rows * a->pairs > 256, pool, ceil_div(a->rows, SPEED_ROWS), speeds_task, &job);
        return;
    }
    const int64_t tasks = (a->rows + ROWS - 1) / ROWS * ((a->pairs + PAIRS - 1) / PAIRS);
    pool_run_if(a->rows * a->pairs > 1024, pool, tasks, angles_task, &job);
}

/* ---- rotating ---- */

/* Pair i is x[i * step] and x[i * step + apart]; y may be x. */
static inline __attribute__((always_inline)) void turn_pairs(float *y, const float *x, const float *c, const float *s,
                                                             float sign, int64_t pairs, int64_t step, int64_t apart,
                                                             bool add) {
    VECTORS
    for (int64_t i = 0; i < pairs; i++) {
        const float a = x[i * step], b = x[i * step + apart], sine = s[i] * sign;
        const float turned_a = a * c[i] - b * sine, turned_b = a * sine + b * c[i];
        y[i * step] = add ? y[i * step] + turned_a : turned_a;
        y[i * step + apart] = add ? y[i * step + apart] + turned_b : turned_b;
    }
}

static void turn_head(const struct rotary *r, float *y, const float *x, const float *c) {
    const int64_t pairs = r->channels / 2, rest = r->size - r->channels;
    const float *s = c + pairs, sign = r->angles && r->inverse ? -1 : 1;
    if (r->interleaved && r->add)
        turn_pairs(y, x, c, s, sign, pairs, 2, 1, true);
    else if (r->interleaved)
        turn_pairs(y, x, c, s, sign, pairs, 2, 1, false);
    else if (r->add)
        turn_pairs(y, x, c, s, sign, pairs, 1, pairs, true);
    else
        turn_pairs(y, x, c, s, sign, pairs, 1, pairs, false);
    y += r->channels, x += r->channels;
    if (r->add)
        for (int64_t i = 0; i < rest; i++) y[i] += x[i];
    else if (y != x)
        memcpy(y, x, (size_t)rest * sizeof *y);
}

struct rotary_job {
    const struct rotary *r;
    float *y;
    struct attention_at y_at;
    const float *x;
    struct attention_at x_at;
    const float *table; /* a row per position: cosines, then sines */
    int64_t per_task;
};

static void rotary_task(void *arg, int64_t task, void *scratch) {
    const struct rotary_job *j = arg;
    const struct rotary *r = j->r;
    const int64_t rows = r->batch * r->time, first = task * j->per_task;
    const int64_t end = rows - first < j->per_task ? rows : first + j->per_task;
    (void)scratch;
    for (int64_t row = first; row < end; row++) {
        const int64_t b = row / r->time, t = row % r->time;
        const float *angle = j->table + (r->own_positions ? row : t) * r->channels;
        float *y = j->y + b * j->y_at.batch + t * j->y_at.time;
        const float *x = j->x + b * j->x_at.batch + t * j->x_at.time;
        for (int64_t h = 0; h < r->heads; h++) turn_head(r, y + h * j->y_at.head, x + h * j->x_at.head, angle);
    }
}

static int64_t table_rows(const struct rotary *r) { return r->own_positions ? r->batch * r->time : r->time; }

size_t kernel_rotary_work(const struct rotary *r) {
    return r->angles ? 0 : (size_t)(table_rows(r) * r->channels) * sizeof(float);
}

void kernel_rotary(struct pool *pool, const struct rotary *r, float *y, struct attention_at y_at, const float *x,
                   struct attention_at x_at, void *work) {
    const int64_t rows = r->batch * r->time, per_row = r->heads * r->size;
    if (rows == 0 || per_row == 0) return;
    struct rotary_job job = {
        r, y, y_at, x, x_at, r->angles ? r->angles : work, per_row < TASK_ELEMENTS ? TASK_ELEMENTS / per_row : 1};
    if (r->channels > 0 && !r->angles)
        kernel_angles(pool, &(struct angles){.rows = table_rows(r),
                                             .pairs = r->channels / 2,
                                             .base = r->base,
                                             .start = r->start,
                                             .positions = r->positions,
                                             .cosines = work,
                                             .sines = (float *)work + r->channels / 2,
                                             .row = r->channels,
                                             .step = 1,
                                             .inverse = r->inverse});
    pool_run_if(!kernel_is_small(rows * per_row), pool, ceil_div(rows, job.per_task), rotary_task, &job);
}
