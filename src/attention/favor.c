/* Random features of softmax's kernel (FAVOR+, Choromanski et al. 2021): kernel/favor.h has the formulas.
 * x (…,D), w (m,D) -> f (…,m or 2 m), shift (…). Saved for backward: x, w and f. */
#include "kernel/favor.h"
#include "attention/attention_ops.h"
#include "attention/linear_attention.h"
#include "tensor/engine.h"
#include <math.h>

enum { X, W };
enum { F, SHIFT, OUTPUTS };

static struct favor favor_of(const heed_op_call *c) {
    const heed_favor_opts *o = c->attr;
    const heed_tensor *x = c->in[X], *w = c->in[W];
    return (struct favor){(int)o->kind, rows_of(x), w->shape[0], cols_of(x), f32_of(x), f32_of(w), o->scale};
}

static bool favor_infer(heed_op_call *c) {
    const heed_favor_opts *o = c->attr;
    const heed_tensor *x = c->in[X], *w = c->in[W];
    if (!heed_op_want(c, X, HEED_F32) || !heed_op_want(c, W, HEED_F32)) return false;
    if (x->rank < 1 || w->rank != 2 || w->shape[1] != cols_of(x))
        return heed_op_fail(c, HEED_ERR_SHAPE, "x %s and w %s do not fit: (…,D) and (m,D)", heed_shape_text(x).s,
                            heed_shape_text(w).s);
    if (w->shape[0] < 1 || w->shape[0] > MAX_FAVOR || w->shape[1] < 1 || w->shape[1] > MAX_FAVOR)
        return heed_op_fail(c, HEED_ERR_SHAPE, "w %s: sizes of 1 to %d are possible", heed_shape_text(w).s, MAX_FAVOR);
    int64_t shape[HEED_MAX_RANK];
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = favor_width((int)o->kind, w->shape[0]);
    const struct favor f = favor_of(c);
    c->work_forward = kernel_favor_work(&f);
    if (c->recording) c->work_backward = kernel_favor_grad_work(&f, c->wants[W]);
    return heed_op_out(c, F, HEED_F32, x->rank, shape) && heed_op_out(c, SHIFT, HEED_F32, x->rank - 1, shape);
}

static bool favor_forward(heed_op_call *c) {
    const struct favor f = favor_of(c);
    kernel_favor(pool_of(c), &f, heed_op_f32(c, F), heed_op_f32(c, SHIFT), c->work);
    return true;
}

static bool favor_backward(heed_op_call *c) {
    const struct favor f = favor_of(c);
    const int64_t n = f.rows * f.d;
    if (!c->dout[F]) { /* the shift alone was used */
        for (int64_t i = 0; c->din[X] && !c->add[X] && i < n; i++) c->din[X][i] = 0;
        for (int64_t i = 0; c->din[W] && !c->add[W] && i < f.m * f.d; i++) c->din[W][i] = 0;
        return true;
    }
    const struct favor_grad g = {f32_of(c->out[F]), c->dout[F], c->din[X], c->din[W], c->add[X], c->add[W], c->work};
    kernel_favor_grad(pool_of(c), &f, &g);
    return true;
}

const heed_op op_favor_features = {.name = "favor_features",
                                   .infer = favor_infer,
                                   .forward = favor_forward,
                                   .backward = favor_backward,
                                   .flags = HEED_OP_ADDS,
                                   .save_in = 3,
                                   .save_out = 1,
                                   .attr_size = sizeof(heed_favor_opts)};

heed_tensor *heed_favor_features(heed_ctx *cx, heed_tensor *x, heed_tensor *w, const heed_favor_opts *opts,
                                 heed_tensor **shift) {
    heed_favor_opts o = opts ? *opts : (heed_favor_opts){0};
    heed_tensor *out[OUTPUTS] = {NULL};
    if (shift) *shift = NULL;
    if (!x || !w) return NULL;
    if ((unsigned)o.kind >= FAVOR_KINDS || !isfinite(o.scale)) {
        heed_fail(cx, HEED_ERR_RANGE, "favor_features: an unknown kind, or a scale that is not a number");
        return NULL;
    }
    if (o.scale == 0) o.scale = (float)(1 / sqrt(sqrt((double)(cols_of(x) > 0 ? cols_of(x) : 1))));
    if (!heed_apply(cx, &op_favor_features, &o, (heed_tensor *[]){x, w}, 2, out, OUTPUTS)) return NULL;
    if (shift) *shift = out[SHIFT];
    return out[F];
}

/* ---- drawing w ---- */

static double dot(const float *a, const float *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Takes from row i what it has along the rows before it in its block, twice, for once leaves some by rounding (Giraud
 * et al. 2005), and gives it a length of its own. */
static void make_orthogonal(float *w, int64_t i, int64_t first, int64_t size, double length) {
    float *const row = w + i * size;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = first; j < i; j++) {
            const float *const other = w + j * size;
            const double along = dot(row, other, size) / dot(other, other, size);
            for (int64_t c = 0; c < size; c++) row[c] = (float)((double)row[c] - along * (double)other[c]);
        }
    const double scale = length / sqrt(dot(row, row, size));
    for (int64_t c = 0; c < size; c++) row[c] = (float)(scale * (double)row[c]);
}

/* The length of a further normal vector, numbers `from` on of the stream. */
static double some_length(uint64_t seed, uint64_t stream, int64_t from, int64_t size) {
    double square = 0;
    for (int64_t i = 0; i < size; i++) {
        float x;
        heed_random_normal(seed, stream, (uint64_t)(from + i), &x, 1);
        square += (double)x * (double)x;
    }
    return sqrt(square);
}

void favor_draw(uint64_t seed, uint64_t stream, bool orthogonal, int64_t m, int64_t size, float *w) {
    heed_random_normal(seed, stream, 0, w, m * size);
    for (int64_t i = 0; orthogonal && i < m; i++)
        make_orthogonal(w, i, i / size * size, size, some_length(seed, stream, (m + i) * size, size));
}

bool heed_favor_draw(heed_ctx *cx, uint64_t seed, uint64_t stream, bool orthogonal, int64_t m, int64_t size, float *w) {
    if (heed_failed(cx)) return false;
    if (!w || m < 1 || size < 1 || m > MAX_FAVOR || size > MAX_FAVOR)
        return heed_fail(cx, HEED_ERR_RANGE, "favor_draw: %lld features of %lld numbers: 1 to %d are possible",
                         (long long)m, (long long)size, MAX_FAVOR);
    favor_draw(seed, stream, orthogonal, m, size, w);
    return true;
}
