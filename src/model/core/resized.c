/* Tables over grids of other sizes, and of more tokens.
 *
 * Both kinds are separable: to[y, x] = sum_ij a[y, i] b[x, j] from[i, j]. Positions are interpolated by Keys' cubic
 * kernel. Biases by distance are interpolated linearly between points whose distances grow in geometric progression, so
 * that short distances stay what they are (BEiT's rule, Bao et al. 2022). */
#include "model/core/resized.h"
#include "nn/params.h"
#include <math.h>
#include <string.h>

/* Keys' cubic kernel (1981): a = -3/4 in torch's interpolation, -1/2 where it smooths, as in Pillow. */
static double cubic(double x, double a) {
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

void resize_weights(int64_t from, int64_t to, bool smooth, float *row) {
    const double scale = (double)from / (double)to, wide = smooth && scale > 1 ? scale : 1;
    for (int64_t i = 0; i < to; i++, row += from) {
        const double centre = scale * ((double)i + 0.5);
        if (smooth) { /* what lies outside does not count */
            const int64_t low = (int64_t)fmax(centre - 2 * wide + 0.5, 0),
                          high = (int64_t)fmin(centre + 2 * wide + 0.5, (double)from);
            double sum = 0;
            for (int64_t j = low; j < high; j++) sum += cubic(((double)j - centre + 0.5) / wide, -0.5);
            for (int64_t j = low; j < high; j++) row[j] = (float)(cubic(((double)j - centre + 0.5) / wide, -0.5) / sum);
            continue;
        }
        const int64_t first = (int64_t)floor(centre - 0.5);
        for (int64_t j = first - 1; j <= first + 2; j++) /* the border stands for what lies outside */
            row[j < 0 ? 0 : j >= from ? from - 1 : j] += (float)cubic(centre - 0.5 - (double)j, -0.75);
    }
}

/* Where the points of an old table of distances lie on the scale of the new: 0, 1, 1 + q, 1 + q + q^2, … The ratio q,
 * at most 1.5, is the one with which the farthest meet. */
static void spread(int64_t from, int64_t to, double *at) {
    const int64_t half = from / 2;
    double left = 1.01, right = 1.5, q = right, far = 0;
    while (right - left > 1e-6) {
        q = (left + right) / 2;
        if ((1 - pow(q, (double)half)) / (1 - q) > (double)(to / 2))
            right = q;
        else
            left = q;
    }
    at[half] = 0;
    for (int64_t i = 0; i < half; i++) {
        far += i == 0 ? 1 : pow(q, (double)i);
        at[half + 1 + i] = far;
        at[half - 1 - i] = -far;
    }
}

/* Linear, between the neighbours; beyond the ends, the ends. at: room for `from` numbers */
static void distance_weights(int64_t from, int64_t to, double *at, float *row) {
    spread(from, to, at);
    for (int64_t i = 0; i < to; i++, row += from) {
        const double x = (double)(i - to / 2);
        int64_t right = 0;
        while (right < from && at[right] < x) right++;
        if (right == 0 || right == from) {
            row[right == 0 ? 0 : from - 1] = 1;
            continue;
        }
        const double part = (x - at[right - 1]) / (at[right] - at[right - 1]);
        row[right - 1] = (float)(1 - part);
        row[right] = (float)part;
    }
}

/* to (h,w,C) = a (h,H) from (H,W,C) b' (w,W), rows of C numbers */
static void apply(const float *a, const float *b, const int64_t old[2], const int64_t grid[2], int64_t C,
                  const float *from, float *to) {
    for (int64_t y = 0; y < grid[0]; y++)
        for (int64_t x = 0; x < grid[1]; x++, to += C)
            for (int64_t c = 0; c < C; c++) {
                double sum = 0;
                for (int64_t i = 0; i < old[0]; i++) {
                    const double by = (double)a[y * old[0] + i];
                    for (int64_t j = 0; by != 0 && j < old[1]; j++)
                        sum += by * (double)b[x * old[1] + j] * (double)from[(i * old[1] + j) * C + c];
                }
                to[c] = (float)sum;
            }
}

/* The side of a square of n points; 0: n is no square. */
static int64_t side_of(int64_t n) {
    const int64_t side = n > 0 ? (int64_t)llround(sqrt((double)n)) : 0;
    return side * side == n ? side : 0;
}

/* Weights of both axes in one block, zeroed, with room for a row of points behind them. */
static bool resize(heed_ctx *cx, int64_t old, const int64_t grid[2], int64_t C, bool distances, bool smooth,
                   const float *from, float *to) {
    const size_t floats = (size_t)(old * (grid[0] + grid[1])) * sizeof(float), points = (size_t)old * sizeof(double);
    char *const room = heed_mem_new(cx, points + floats);
    if (!room) return false;
    double *const at = (double *)(void *)room;
    float *const a = (float *)(void *)(room + points), *const b = a + old * grid[0];
    memset(room, 0, points + floats);
    for (int k = 0; k < 2; k++)
        if (distances)
            distance_weights(old, grid[k], at, k ? b : a);
        else
            resize_weights(old, grid[k], smooth, k ? b : a);
    apply(a, b, (int64_t[]){old, old}, grid, C, from, to);
    heed_mem_free(cx, room);
    return true;
}

static bool run_positions(heed_ctx *cx, const heed_param *p, const int64_t *shape, const float *from, float *to) {
    const struct param_resize *const r = p->resize;
    const int64_t C = p->shape[2], old = side_of(shape[1] - r->first);
    if (shape[0] != 1 || shape[2] != C || old == 0) return false;
    if (!from) return true;
    memcpy(to, from, (size_t)(r->first * C) * sizeof *to);
    return resize(cx, old, r->grid, C, false, r->smooth, from + r->first * C, to + r->first * C);
}

static bool run_biases(heed_ctx *cx, const heed_param *p, const int64_t *shape, const float *from, float *to) {
    const int64_t old = side_of(shape[0]);
    if (shape[1] != p->shape[1] || old % 2 == 0) return false;
    return !from || resize(cx, old, p->resize->grid, p->shape[1], true, false, from, to);
}

static bool run_tokens(heed_ctx *cx, const heed_param *p, const int64_t *shape, const float *from, float *to) {
    const int64_t rows = shape[0], C = p->count / p->shape[0];
    (void)cx;
    for (int i = 1; i < p->rank; i++)
        if (shape[i] != p->shape[i]) return false;
    if (rows < 1 || rows > p->shape[0] || !from) return rows >= 1 && rows <= p->shape[0];
    memcpy(to, from, (size_t)(rows * C) * sizeof *to);
    for (int64_t c = 0; c < C; c++) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++) sum += (double)from[r * C + c];
        for (int64_t r = rows; r < p->shape[0]; r++) to[r * C + c] = (float)(sum / (double)rows);
    }
    return true;
}

static bool add(heed_ctx *cx, heed_params *set, heed_param *p, struct param_resize how) {
    struct param_resize *const r = p ? heed_params_alloc(cx, set, 1, sizeof *r) : NULL;
    if (!r) return !heed_failed(cx);
    *r = how;
    p->resize = r;
    return true;
}

bool resizable_positions(heed_ctx *cx, heed_params *set, heed_param *p, int64_t first, const int64_t grid[2],
                         bool smooth) {
    return add(
        cx, set, p,
        (struct param_resize){.run = run_positions, .first = first, .grid = {grid[0], grid[1]}, .smooth = smooth});
}

bool resizable_biases(heed_ctx *cx, heed_params *set, heed_param *p, const int64_t window[2]) {
    return add(cx, set, p, (struct param_resize){.run = run_biases, .grid = {2 * window[0] - 1, 2 * window[1] - 1}});
}

bool resizable_tokens(heed_ctx *cx, heed_params *set, int64_t rows) {
    for (int i = 0; i < heed_params_count(set) && !heed_failed(cx); i++) {
        heed_param *const p = heed_params_at(set, i);
        if (p->kind != HEED_PARAM_OWN || p->rank < 1 || p->shape[0] != rows || p->resize) continue;
        add(cx, set, p, (struct param_resize){.run = run_tokens, .trained = true});
    }
    return !heed_failed(cx);
}
