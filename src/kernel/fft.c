/* Fourier transforms of any length: plans of passes, Bluestein's convolution, and, on several threads, FNet's mixing
 * and bands of a picture's frequencies. See kernel/fft.h for the algebra.
 *
 * A task takes FFT_LANES pairs of columns, or of rows, through all passes in two buffers of its own: in a thread's
 * scratch or, for lengths beyond some thousands, in one of SLOTS places of the workspace, as many tasks at a time. */
#include "kernel/fft.h"
#include "kernel/ints.h"
#include "kernel/isa.h"
#include <math.h>
#include <string.h>

#define MAX_PASSES 64 /* a length has fewer factors */
#define SLOTS      ((int64_t)4)
#define ROOTS_RUN  ((int64_t)64) /* roots that are multiplied by one another to make more */

/* The transform of n numbers, or the convolution of at least 2 n - 1 by which it is done. */
struct plan {
    int64_t n, length;
    int passes;
    int64_t radix[MAX_PASSES];
    float *roots;          /* exp(-2 pi i k / length), k < length, in pairs */
    float *chirp, *filter; /* Bluestein's, n and length pairs; NULL: length is n */
};

/* ---- plans ---- */

/* How often p divides n, of which that is taken away. */
static int divide_out(int64_t *n, int64_t p) {
    int times = 0;
    for (; *n % p == 0; *n /= p) times++;
    return times;
}

/* Does a product of small primes give n? */
static bool is_smooth(int64_t n, int64_t largest) {
    for (int64_t p = 2; p <= largest; p++) divide_out(&n, p);
    return n == 1;
}

static int64_t length_of(int64_t n) {
    if (is_smooth(n, FFT_PRIME)) return n;
    int64_t length = 2 * n - 1;
    while (!is_smooth(length, 5)) length++;
    return length;
}

static int64_t plan_floats(int64_t n) {
    const int64_t length = length_of(n);
    return 2 * length + (length == n ? 0 : 2 * n + 2 * length);
}

static int64_t buffer_floats(int64_t n) { return 2 * length_of(n) * 2 * FFT_LANES; }

static void add_passes(struct plan *p, int64_t radix, int times) {
    while (times-- > 0) p->radix[p->passes++] = radix;
}

static void find_passes(struct plan *p) {
    int64_t rest = p->length;
    const int twos = divide_out(&rest, 2), fours = twos % 3 == 2 ? 1 : twos % 3 == 1 && twos > 1 ? 2 : 0;
    add_passes(p, 8, (twos - 2 * fours) / 3);
    add_passes(p, 4, fours);
    add_passes(p, 2, twos == 1);
    for (int64_t prime = 3; rest > 1; prime += 2) add_passes(p, prime, divide_out(&rest, prime));
}

/* exp(-2 pi i k / n) for k < n, in double until they are stored: those of ROOTS_RUN neighbours, times one factor. */
static void find_roots(float *roots, int64_t n) {
    double run[ROOTS_RUN][2];
    for (int64_t k = 0; k < ROOTS_RUN; k++) {
        run[k][0] = cos(2 * M_PI * (double)k / (double)n);
        run[k][1] = -sin(2 * M_PI * (double)k / (double)n);
    }
    for (int64_t first = 0; first < n; first += ROOTS_RUN) {
        const double re = cos(2 * M_PI * (double)first / (double)n), im = -sin(2 * M_PI * (double)first / (double)n);
        for (int64_t k = 0; k < min64(ROOTS_RUN, n - first); k++) {
            roots[2 * (first + k)] = (float)(re * run[k][0] - im * run[k][1]);
            roots[2 * (first + k) + 1] = (float)(re * run[k][1] + im * run[k][0]);
        }
    }
}

/* n is its length. Returns the buffer in which z ends up. */
static float *run_passes(const struct plan *p, float *z, float *other, int64_t lanes) {
    const struct isa *const isa = isa_get();
    for (int64_t i = 0, n = p->length, s = 1; i < p->passes; s *= p->radix[i], n /= p->radix[i], i++) {
        isa->fft_pass(other, z, p->radix[i], n, s, p->roots, s, lanes);
        float *const done = other;
        other = z;
        z = done;
    }
    return z;
}

/* exp(-pi i k^2 / n) and the transform of its conjugate over length, wound around. */
static void find_chirp(struct plan *p, float *z) {
    const int64_t n = p->n, length = p->length;
    memset(z, 0, (size_t)(length * 2 * FFT_LANES) * sizeof(float));
    for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
        const double angle = M_PI * (double)square / (double)n;
        p->chirp[2 * k] = (float)cos(angle);
        p->chirp[2 * k + 1] = (float)-sin(angle);
        for (int side = 0; side < 2; side++) {
            float *const at = z + (side == 0 || k == 0 ? k : length - k) * 2 * FFT_LANES;
            at[0] = (float)(cos(angle) / (double)length);
            at[FFT_LANES] = (float)(sin(angle) / (double)length);
        }
    }
    const float *const done = run_passes(p, z, z + length * 2 * FFT_LANES, 1);
    for (int64_t k = 0; k < length; k++) {
        p->filter[2 * k] = done[k * 2 * FFT_LANES];
        p->filter[2 * k + 1] = done[k * 2 * FFT_LANES + FFT_LANES];
    }
}

static void plan_make(struct plan *p, int64_t n, float *memory, float *buffer) {
    *p = (struct plan){.n = n, .length = length_of(n), .roots = memory};
    find_passes(p);
    find_roots(p->roots, p->length);
    if (p->length == n) return;
    p->chirp = p->roots + 2 * p->length;
    p->filter = p->chirp + 2 * n;
    find_chirp(p, buffer);
}

/* z, at the beginning of a buffer, becomes its transform, somewhere in that buffer:  conj(c) (c * chirp-filtered),
 * where the inverse transform is the transform with real and imaginary parts swapped, before and after. */
static float *transform(const struct plan *p, float *buffer, int64_t lanes) {
    const struct isa *const isa = isa_get();
    const int64_t half = p->length * 2 * FFT_LANES;
    float *z = buffer;
    if (p->length == p->n) return run_passes(p, z, buffer + half, lanes);
    isa->fft_times(z, z, p->chirp, p->n, false, lanes);
    memset(z + p->n * 2 * FFT_LANES, 0, (size_t)(half - p->n * 2 * FFT_LANES) * sizeof(float));
    z = run_passes(p, z, buffer + half, lanes);
    isa->fft_times(z, z, p->filter, p->length, true, lanes);
    z = run_passes(p, z, z == buffer ? buffer + half : buffer, lanes);
    for (int64_t i = 0; i < p->n; i++) { /* swapped back */
        float *const re = z + i * 2 * FFT_LANES, *const im = re + FFT_LANES;
        for (int64_t v = 0; v < FFT_LANES; v++) {
            const float was = re[v];
            re[v] = im[v];
            im[v] = was;
        }
    }
    isa->fft_times(z, z, p->chirp, p->n, false, lanes);
    return z;
}

/* ---- the mixing ---- */

struct job {
    float *y, *w;
    const float *x;
    int64_t rows, cols;     /* T and C */
    int64_t strips, blocks; /* tasks of a sequence: of columns, of rows */
    struct plan down, along;
    float *plans, *slots; /* slots NULL: in scratch */
    int64_t slot;         /* floats */
    int64_t first;        /* task of this round */
};

static float *buffer_of(const struct job *j, int64_t task, void *scratch) {
    return j->slots ? j->slots + task * j->slot : scratch;
}

static void plan_task(void *arg, int64_t task, void *scratch) {
    struct job *const j = arg;
    float *const buffer = buffer_of(j, task, scratch);
    plan_make(&j->down, j->rows, j->plans, buffer);
    plan_make(&j->along, j->cols, j->plans + plan_floats(j->rows), buffer);
}

static int64_t kept_rows(int64_t rows) { return rows / 2 + 1; }

static void columns_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const int64_t at = j->first + task, b = at / j->strips, first = at % j->strips * FFT_LANES,
                  count = min64(FFT_LANES, (j->cols + 1) / 2 - first);
    float *const z = buffer_of(j, task, scratch);
    isa_get()->fft_columns_in(z, j->x + b * j->rows * j->cols, j->rows, j->cols, first, count);
    const float *const done = transform(&j->down, z, count);
    isa_get()->fft_columns_out(j->w + b * kept_rows(j->rows) * j->cols, done, j->rows, j->cols, first, count);
}

static void rows_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const int64_t at = j->first + task, b = at / j->blocks, first = at % j->blocks * 2 * FFT_LANES,
                  rows = min64(2 * FFT_LANES, kept_rows(j->rows) - first), half = ceil_div(rows, 2);
    float *const z = buffer_of(j, task, scratch);
    isa_get()->fft_rows_in(z, j->w + (b * kept_rows(j->rows) + first) * j->cols, rows, half, j->cols);
    float *const done = transform(&j->along, z, half);
    isa_get()->fft_rows_out(j->y + b * j->rows * j->cols, done, rows, half, j->cols, first, j->rows);
}

static void run(struct pool *pool, struct job *j, int64_t tasks, heed_task_fn fn) {
    const int64_t each = j->slots ? SLOTS : tasks;
    for (j->first = 0; j->first < tasks; j->first += each) pool_run(pool, min64(each, tasks - j->first), fn, j);
}

static int64_t slot_floats(int64_t rows, int64_t cols) { return max64(buffer_floats(rows), buffer_floats(cols)); }
static bool needs_slots(int64_t rows, int64_t cols) {
    return slot_floats(rows, cols) > (int64_t)(HEED_SCRATCH / sizeof(float));
}

int64_t kernel_fourier_mix_work(int64_t batch, int64_t rows, int64_t cols) {
    return plan_floats(rows) + plan_floats(cols) + batch * kept_rows(rows) * cols +
           (needs_slots(rows, cols) ? SLOTS * slot_floats(rows, cols) : 0);
}

void kernel_fourier_mix(struct pool *pool, float *y, const float *x, int64_t batch, int64_t rows, int64_t cols,
                        float *work) {
    struct job j = {.y = y, .x = x, .rows = rows, .cols = cols, .plans = work};
    if (batch == 0 || rows == 0 || cols == 0) return;
    j.w = work + plan_floats(rows) + plan_floats(cols);
    j.slot = slot_floats(rows, cols);
    if (needs_slots(rows, cols)) j.slots = j.w + batch * kept_rows(rows) * cols;
    j.strips = ceil_div((cols + 1) / 2, FFT_LANES);
    j.blocks = ceil_div(kept_rows(rows), 2 * FFT_LANES);
    pool_run(pool, 1, plan_task, &j);
    run(pool, &j, batch * j.strips, columns_task);
    run(pool, &j, batch * j.blocks, rows_task);
}

/* ---- bands of frequencies ---- */

struct band_job {
    float *y;
    const float *x;
    int64_t planes, rows, cols, pairs; /* pairs: of planes, in a picture */
    float low, high;
    struct plan down, along;
    float *plans, *mask, *slots;
    int64_t slot, first;
};

/* A matrix of complex numbers, and FFT_LANES of its columns or rows: number i of the sequence in lane v is at
 * i * step + v * apart. im NULL: none. */
struct lines {
    float *re, *im;
    int64_t n, step, apart, count;
};

static void lines_in(float *z, const struct lines *l) {
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t v = 0; v < FFT_LANES; v++) {
            const int64_t at = i * l->step + v * l->apart;
            z[2 * i * FFT_LANES + v] = v < l->count ? l->re[at] : 0;
            z[(2 * i + 1) * FFT_LANES + v] = v < l->count && l->im ? l->im[at] : 0;
        }
}

static void lines_out(const struct lines *l, const float *z, float scale) {
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t v = 0; v < l->count; v++) {
            const int64_t at = i * l->step + v * l->apart;
            l->re[at] = z[2 * i * FFT_LANES + v] * scale;
            if (l->im) l->im[at] = z[(2 * i + 1) * FFT_LANES + v] * scale;
        }
}

/* The inverse transform is the transform with real and imaginary parts swapped, before and after. */
static struct lines swapped(struct lines l) {
    float *const re = l.re;
    l.re = l.im;
    l.im = re;
    return l;
}

static int64_t shorter(int64_t n, int64_t k) { return min64(k, n - k); } /* waves of frequency k of n */

static void find_mask(const struct band_job *j) {
    const double side = (double)min64(j->rows, j->cols), low = (double)j->low, high = (double)j->high;
    for (int64_t u = 0; u < j->rows; u++)
        for (int64_t v = 0; v < j->cols; v++) {
            const double down = side / (double)j->rows * (double)shorter(j->rows, u),
                         along = side / (double)j->cols * (double)shorter(j->cols, v);
            const double square = down * down + along * along;
            const bool in = (low < 0 || square > low * low) && high >= 0 && square <= high * high;
            j->mask[u * j->cols + v] = in ? 1 : 0;
        }
}

static void band_plan_task(void *arg, int64_t task, void *scratch) {
    struct band_job *const j = arg;
    (void)task, (void)scratch;
    plan_make(&j->down, j->rows, j->plans, j->slots);
    plan_make(&j->along, j->cols, j->plans + plan_floats(j->rows), j->slots);
    find_mask(j);
}

/* Rows of w there, masked, and back. */
static void band_rows(const struct band_job *j, float *buffer, struct lines w, int64_t first) {
    const float *const mask = j->mask + first * j->cols;
    lines_in(buffer, &w);
    lines_out(&w, transform(&j->along, buffer, w.count), 1);
    for (int64_t i = 0; i < w.count * j->cols; i++) w.re[i] *= mask[i], w.im[i] *= mask[i];
    const struct lines back = swapped(w);
    lines_in(buffer, &back);
    lines_out(&back, transform(&j->along, buffer, w.count), 1);
}

/* Two planes of a picture, or the last one alone. */
static void band_task(void *arg, int64_t task, void *scratch) {
    const struct band_job *const j = arg;
    const int64_t rows = j->rows, cols = j->cols, size = rows * cols, at = j->first + task, plane = at % j->pairs * 2,
                  from = (at / j->pairs * j->planes + plane) * size;
    const bool two = plane + 1 < j->planes;
    float *const buffer = j->slots + task * j->slot, *const re = buffer + slot_floats(rows, cols),
                 *const im = re + size;
    (void)scratch;
    for (int64_t c = 0; c < cols; c += FFT_LANES) {
        float *const x = (float *)(uintptr_t)j->x + from + c; /* which is only read */
        const int64_t count = min64(FFT_LANES, cols - c);
        const struct lines in = {x, two ? x + size : NULL, rows, cols, 1, count},
                           w = {re + c, im + c, rows, cols, 1, count};
        lines_in(buffer, &in);
        lines_out(&w, transform(&j->down, buffer, count), 1);
    }
    for (int64_t r = 0; r < rows; r += FFT_LANES)
        band_rows(j, buffer, (struct lines){re + r * cols, im + r * cols, cols, 1, cols, min64(FFT_LANES, rows - r)},
                  r);
    for (int64_t c = 0; c < cols; c += FFT_LANES) {
        float *const y = j->y + from + c;
        const int64_t count = min64(FFT_LANES, cols - c);
        const struct lines w = {im + c, re + c, rows, cols, 1, count};
        lines_in(buffer, &w);
        float *const done = transform(&j->down, buffer, count);
        const struct lines imag = {y + size, NULL, rows, cols, 1, count};
        if (two) lines_out(&imag, done, 1 / (float)size);
        const struct lines real = {y, NULL, rows, cols, 1, count};
        lines_out(&real, done + FFT_LANES, 1 / (float)size);
    }
}

static int64_t band_slot(int64_t rows, int64_t cols) { return slot_floats(rows, cols) + 2 * rows * cols; }

int64_t kernel_fourier_band_work(int64_t rows, int64_t cols) {
    return plan_floats(rows) + plan_floats(cols) + rows * cols + SLOTS * band_slot(rows, cols);
}

void kernel_fourier_band(struct pool *pool, float *y, const float *x, int64_t batch, int64_t planes, int64_t rows,
                         int64_t cols, float low, float high, float *work) {
    if (batch == 0 || planes == 0 || rows == 0 || cols == 0) return;
    struct band_job j = {.y = y,
                         .x = x,
                         .planes = planes,
                         .rows = rows,
                         .cols = cols,
                         .pairs = ceil_div(planes, 2),
                         .low = low,
                         .high = high,
                         .plans = work,
                         .slot = band_slot(rows, cols)};
    j.mask = work + plan_floats(rows) + plan_floats(cols);
    j.slots = j.mask + rows * cols;
    pool_run(pool, 1, band_plan_task, &j);
    const int64_t tasks = batch * j.pairs;
    for (j.first = 0; j.first < tasks; j.first += SLOTS) pool_run(pool, min64(SLOTS, tasks - j.first), band_task, &j);
}
