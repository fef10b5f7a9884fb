/* Depthwise convolutions: each output channel sees one input channel, so that there is nothing to multiply as matrices.
 * Some rows of a plane are staged with their margins, and rows of outputs are sums over taps of rows of it. */
#include "kernel/ints.h"
#include "kernel/patches.h"
#include "kernel/rows.h"
#include <string.h>

#define TAPS  256                /* at most */
#define STAGE ((int64_t)1 << 16) /* floats: more rows at a time gain nothing */
#define ROOM  ((int64_t)(HEED_SCRATCH / sizeof(float)))

struct job {
    struct patches p;
    const float *in, *weight, *bias, *dout;
    float *out;
    bool add;
};

/* Rows of outputs at a time; 0: not one fits. */
static int64_t rows_at_a_time(const struct patches *p) {
    const struct conv_axis *const x = &p->c->x, *const y = &p->c->y;
    const int64_t line = ceil_div((x->n - 1) * x->step + (x->taps - 1) * x->apart + 1, x->step) * x->step;
    const int64_t fit = STAGE / line - (y->taps - 1) * y->apart - 1;
    if (fit >= 0) return min64(fit / y->step + 1, y->n);
    return ((y->taps - 1) * y->apart + 1) * line + x->n + PATCH_SLACK <= ROOM ? 1 : 0;
}

static bool fits(const struct patches *p) {
    return p->c->ins == 1 && p->c->groups > 1 && p->taps > 0 && p->taps <= TAPS && p->c->x.n < ROOM / 2 &&
           rows_at_a_time(p) > 0;
}

/* Rows y0 .. y0 + rows of a plane, staged. */
static void stage_rows(const struct job *j, int64_t image, int64_t group, int64_t y0, int64_t rows, struct tile *t,
                       float *room, const float **from) {
    const struct conv_axis *const x = &j->p.c->x, *const y = &j->p.c->y;
    t->x0 = 0, t->width = x->n, t->parts = 1;
    t->line = ceil_div((x->n - 1) * x->step + (x->taps - 1) * x->apart + 1, x->step);
    t->row = t->line * x->step;
    t->part[0] = (struct part){.image = image, .y = y0, .rows = rows};
    t->size = ((rows - 1) * y->step + (y->taps - 1) * y->apart + 1) * t->row;
    patches_stage(&j->p, t, room, j->in + group * y->in * x->in);
    patches_starts(&j->p, t, room, 0, 0, j->p.taps, from);
}

static void forward_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct correlation *const c = j->p.c;
    const int64_t group = task % c->groups, image = task / c->groups, step = rows_at_a_time(&j->p);
    const bool direct = !j->add && c->x.to_step == 1;
    float *const line = scratch, *const room = line + round_up(c->x.n, 16);
    const float *from[TAPS];
    struct tile t;
    for (int64_t y0 = 0; y0 < c->y.n; y0 += step) {
        const int64_t rows = min64(step, c->y.n - y0);
        stage_rows(j, image, group, y0, rows, &t, room, from);
        for (int64_t o = group * c->outs; o < (group + 1) * c->outs; o++)
            for (int64_t r = 0; r < rows; r++) {
                float *const to =
                    j->out +
                    ((image * c->groups * c->outs + o) * c->y.out + (y0 + r) * c->y.to_step + c->y.to_first) *
                        c->x.out +
                    c->x.to_first;
                j->p.isa->conv_taps(direct ? to : line, from, r * c->y.step * t.row, j->weight + o * j->p.taps,
                                    j->p.taps, c->x.n, j->bias ? j->bias[o] : 0);
                if (!direct) j->p.isa->conv_put(to, c->x.to_step, line, c->x.n, 0, j->add);
            }
    }
}

bool kernel_depthwise(struct pool *pool, const struct patches *p, float *out, bool add, const float *in,
                      const float *weight, const float *bias) {
    if (!fits(p)) return false;
    struct job j = {.p = *p, .out = out, .add = add, .in = in, .weight = weight, .bias = bias};
    pool_run(pool, p->c->batch * p->c->groups, forward_task, &j);
    return true;
}

static void weight_task(void *arg, int64_t group, void *scratch) {
    const struct job *const j = arg;
    const struct correlation *const c = j->p.c;
    const int64_t step = rows_at_a_time(&j->p), taps = j->p.taps;
    const float *from[TAPS];
    double sum[TAPS];
    struct tile t;
    for (int64_t o = group * c->outs; o < (group + 1) * c->outs; o++) {
        for (int64_t i = 0; i < taps; i++) sum[i] = 0;
        for (int64_t image = 0; image < c->batch; image++)
            for (int64_t y0 = 0; y0 < c->y.n; y0 += step) {
                const int64_t rows = min64(step, c->y.n - y0);
                stage_rows(j, image, group, y0, rows, &t, scratch, from);
                for (int64_t r = 0; r < rows; r++)
                    j->p.isa->conv_dots(sum, from, r * c->y.step * t.row,
                                        j->dout + ((image * c->groups * c->outs + o) * c->y.n + y0 + r) * c->x.n, taps,
                                        c->x.n);
            }
        for (int64_t i = 0; i < taps; i++) j->out[o * taps + i] = (j->add ? j->out[o * taps + i] : 0) + (float)sum[i];
    }
}

bool kernel_depthwise_weight(struct pool *pool, const struct patches *p, float *dweight, bool add, const float *in,
                             const float *dout) {
    if (!fits(p)) return false;
    struct job j = {.p = *p, .out = dweight, .add = add, .in = in, .dout = dout};
    pool_run(pool, p->c->groups, weight_task, &j);
    return true;
}
