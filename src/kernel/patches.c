/* How patches are cut and laid out.
 *
 * A tile is some rows of outputs, of one picture or of several, or a part of one row. For a block of k, which counts
 * (channel, tap of y, tap of x), the rows of the pictures that it needs are copied to the scratch with their margins of
 * zeros, columns that a stride takes together beside each other ("staged"); from there every row of patches is a few
 * runs of neighbours. A stage that would not fit is left out, and patches are taken number by number. */
#include "kernel/patches.h"
#include "kernel/ints.h"
#include <string.h>

/* ---- tiles ---- */

/* How many rows of `width` make the fewest strips in all, for their number. */
static int64_t rows_of_tile(int64_t width, int64_t total, int64_t strip) {
    const int64_t most = min64(max64(PATCH_COLS / width, 1), total);
    int64_t best = most, best_strips = INT64_MAX;
    for (int64_t rows = most; rows >= max64(most / 2, 1); rows--) {
        const int64_t strips =
            total / rows * ceil_div(rows * width, strip) + (total % rows ? ceil_div(total % rows * width, strip) : 0);
        if (strips < best_strips) best = rows, best_strips = strips;
    }
    return best;
}

void patches_cut(struct patches *j) {
    const struct correlation *const c = j->c;
    const int64_t total = c->batch * c->y.n;
    j->chunks = ceil_div(c->x.n, PATCH_COLS);
    j->width = j->chunks > 1 ? min64(round_up(ceil_div(c->x.n, j->chunks), 32), PATCH_COLS) : c->x.n;
    j->chunks = ceil_div(c->x.n, j->width);
    j->rows = j->chunks > 1 ? 1 : rows_of_tile(c->x.n, total, 32);
    j->tiles = j->chunks > 1 ? total * j->chunks : ceil_div(total, j->rows);
}

void patches_tile(const struct patches *j, int64_t index, struct tile *t) {
    const struct correlation *const c = j->c;
    const struct conv_axis *const x = &c->x, *const y = &c->y;
    int64_t row = j->chunks > 1 ? index / j->chunks : index * j->rows;
    const int64_t end = min64(row + j->rows, c->batch * y->n);
    t->x0 = index % j->chunks * j->width * (j->chunks > 1);
    t->width = min64(j->width, x->n - t->x0);
    t->line = ceil_div((t->width - 1) * x->step + (x->taps - 1) * x->apart + 1, x->step);
    t->row = t->line * x->step;
    t->columns = t->size = t->parts = 0;
    while (row < end) {
        struct part *const p = &t->part[t->parts++];
        *p = (struct part){row / y->n, row % y->n, 0, t->columns, t->size};
        p->rows = min64(y->n - p->y, end - row);
        row += p->rows;
        t->columns += p->rows * t->width;
        t->size += ((p->rows - 1) * y->step + (y->taps - 1) * y->apart + 1) * t->row;
    }
}

/* The runs of a tile, none longer than to the end of a strip; first[s]: the first of strip s. */
static int64_t runs_of(const struct patches *j, const struct tile *t, int64_t strip, struct conv_run *run,
                       int64_t *first) {
    int64_t runs = 0, next = 0;
    for (int i = 0; i < t->parts; i++) {
        const struct part *const p = &t->part[i];
        for (int64_t r = 0; r < p->rows; r++)
            for (int64_t x = 0, n; x < t->width; x += n) {
                const int64_t column = p->column + r * t->width + x, at = column % strip;
                n = min64(t->width - x, strip - at);
                if (at == 0) first[next++] = runs;
                run[runs++] =
                    (struct conv_run){(int32_t)at, (int32_t)(p->at + r * j->c->y.step * t->row + x), (int32_t)n};
            }
    }
    first[next] = runs;
    return next;
}

/* ---- patches ---- */

static void clear(float *to, int64_t n) {
    if (n == 1)
        *to = 0; /* most margins are so wide */
    else if (n > 1)
        memset(to, 0, (size_t)n * sizeof *to);
}

void patches_stage(const struct patches *j, const struct tile *t, float *to, const float *plane) {
    const struct conv_axis *const x = &j->c->x, *const y = &j->c->y;
    const int64_t image = j->c->groups * j->c->ins * y->in * x->in;
    for (int i = 0; i < t->parts; i++) {
        const struct part *const p = &t->part[i];
        const int64_t rows = (p->rows - 1) * y->step + (y->taps - 1) * y->apart + 1;
        for (int64_t r = 0; r < rows; r++) {
            if (y->taps == 1 && r % y->step != 0) continue; /* nobody reads it */
            const int64_t at = p->y * y->step + y->first + r;
            float *const row = to + p->at + r * t->row;
            if (at < 0 || at >= y->in) {
                clear(row, t->row);
                continue;
            }
            for (int64_t phase = 0; phase < (x->taps == 1 ? 1 : x->step); phase++) {
                float *const line = row + phase * t->line;
                const int64_t from = t->x0 * x->step + x->first + phase;
                const int64_t low = from < 0 ? min64(ceil_div(-from, x->step), t->line) : 0;
                const int64_t high = from < x->in ? min64(ceil_div(x->in - from, x->step), t->line) : 0;
                clear(line, low);
                if (low < high)
                    j->isa->conv_take(line + low, plane + p->image * image + at * x->in + from + low * x->step, x->step,
                                      high - low);
                const int64_t rest = max64(low, high);
                clear(line + rest, t->line - rest);
            }
        }
    }
}

void patches_starts(const struct patches *j, const struct tile *t, const float *staged, int64_t channel, int64_t k0,
                    int64_t k, const float **from) {
    const struct conv_axis *const x = &j->c->x, *const y = &j->c->y;
    for (int64_t i = 0; i < k; i++) {
        const int64_t c = (k0 + i) / j->taps, tap = (k0 + i) % j->taps, ty = tap / x->taps, tx = tap % x->taps;
        from[i] = staged + (c - channel) * t->size + ty * y->apart * t->row + tx * x->apart % x->step * t->line +
                  tx * x->apart / x->step;
    }
}

static void patches_one_by_one(const struct patches *j, const struct tile *t, const float *group, int64_t k0, int64_t k,
                               float *to, int64_t strip) {
    const struct conv_axis *const x = &j->c->x, *const y = &j->c->y;
    const int64_t image = j->c->groups * j->c->ins * y->in * x->in;
    const bool strips = strip < PATCH_COLS;
    for (int64_t i = 0; i < k; i++) {
        const int64_t c = (k0 + i) / j->taps, tap = (k0 + i) % j->taps, ty = tap / x->taps, tx = tap % x->taps;
        for (int q = 0; q < t->parts; q++)
            for (int64_t n = 0; n < t->part[q].rows * t->width; n++) {
                const struct part *const p = &t->part[q];
                const int64_t column = p->column + n;
                const int64_t iy = (p->y + n / t->width) * y->step + y->first + ty * y->apart;
                const int64_t ix = (t->x0 + n % t->width) * x->step + x->first + tx * x->apart;
                const bool inside = iy >= 0 && iy < y->in && ix >= 0 && ix < x->in;
                to[strips ? column / strip * strip * k + i * strip + column % strip : i * PATCH_LD + column] =
                    inside ? group[p->image * image + (c * y->in + iy) * x->in + ix] : 0;
            }
    }
}

void patches_lay(const struct patches *j, const struct tile *t, const float *group, int64_t k0, int64_t k, float *to,
                 int64_t strip, float *room, int64_t size) {
    const bool strips = strip < PATCH_COLS;
    const int64_t plane = j->c->y.in * j->c->x.in, channels = (size - PATCH_SLACK) / t->size;
    if (strips && t->columns % strip) /* what is beyond the last column */
        memset(to + t->columns / strip * strip * k, 0, (size_t)(strip * k) * sizeof *to);
    if (channels == 0) {
        patches_one_by_one(j, t, group, k0, k, to, strip);
        return;
    }
    struct conv_run run[PATCH_COLS + PATCH_COLS / 8 + 1];
    const float *from[PATCH_ROWS];
    int64_t first[PATCH_COLS / 8 + 2];
    const int64_t count = runs_of(j, t, strip, run, first);
    for (int64_t i = 0, n; i < k; i += n) {
        const int64_t channel = (k0 + i) / j->taps;
        const int64_t last = min64((k0 + k - 1) / j->taps, channel + channels - 1);
        n = min64(k - i, (last + 1) * j->taps - (k0 + i));
        for (int64_t c = channel; c <= last; c++)
            patches_stage(j, t, room + (c - channel) * t->size, group + c * plane);
        memset(room + (last + 1 - channel) * t->size, 0, PATCH_SLACK * sizeof *room);
        patches_starts(j, t, room, channel, k0 + i, n, from);
        const int64_t ld = strips ? strip : PATCH_LD;
        for (int64_t s = 0; s < count; s++)
            j->isa->conv_patches(to + s * strip * k + i * ld, ld, from, n, run + first[s], first[s + 1] - first[s]);
    }
}
