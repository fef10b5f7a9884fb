/* Making tensors and looking at them. */
#include "base/checked.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- shapes ---- */

static heed_text shape_text(int rank, const int64_t *shape) {
    heed_text text = {"("};
    size_t at = 1;
    for (int i = 0; i < rank && at < sizeof text.s; i++) {
        const int n = snprintf(text.s + at, sizeof text.s - at, i ? ",%lld" : "%lld", (long long)shape[i]);
        at += n > 0 ? (size_t)n : 0;
    }
    if (at > sizeof text.s - 2) at = sizeof text.s - 2;
    text.s[at] = ')';
    text.s[at + 1] = 0;
    return text;
}

heed_text heed_shape_text(const heed_tensor *t) {
    if (!t) return (heed_text){"(NULL)"};
    return shape_text(t->rank, t->shape);
}

/* Checks what every maker of tensors must: rank, sizes, and that the bytes can be counted. */
static bool shape_ok(heed_ctx *cx, const char *who, heed_dtype dtype, int rank, const int64_t *shape) {
    if (rank < 0 || rank > HEED_MAX_RANK)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: rank %d is not between 0 and %d", who, rank, HEED_MAX_RANK);
    if (rank > 0 && !shape) return heed_fail(cx, HEED_ERR_USAGE, "%s: the shape is NULL", who);
    const size_t size = heed_dtype_size(dtype);
    if (size == 0) return heed_fail(cx, HEED_ERR_TYPE, "%s: %d is not a type", who, (int)dtype);
    int64_t bytes = (int64_t)size;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return heed_fail(cx, HEED_ERR_SHAPE, "%s: shape %s has a negative size", who, shape_text(rank, shape).s);
        /* sizes beside a 0 must fit too: a later reduction multiplies them without it */
        if (shape[i] > 0 && (!i64_mul(bytes, shape[i], &bytes) || bytes > INT64_MAX / 4))
            return heed_fail(cx, HEED_ERR_RANGE, "%s: shape %s is too large", who, shape_text(rank, shape).s);
    }
    return true;
}

bool heed_op_out(heed_op_call *c, int j, heed_dtype dtype, int rank, const int64_t *shape) {
    if (!c || !shape_ok(c->cx, c->op->name, dtype, rank, shape)) return false;
    c->out[j] = tensor_make(c->cx, dtype, rank, shape);
    return c->out[j] != NULL;
}

bool heed_op_like(heed_op_call *c, int j, int i) {
    if (!c) return false;
    const heed_tensor *t = c->in[i];
    c->out[j] = tensor_make(c->cx, t->dtype, t->rank, t->shape);
    return c->out[j] != NULL;
}

bool heed_op_view(heed_op_call *c, int j, int i, int rank, const int64_t *shape, int64_t offset, int64_t run,
                  int64_t stride) {
    if (!c) return false;
    heed_tensor *from = c->in[i];
    if (!heed_op_out(c, j, from->dtype, rank, shape)) return false;
    heed_tensor *view = c->out[j];
    view->run = view->count > 0 && run < view->count ? run : view->count;
    view->stride = view->run == view->count ? view->count : stride;
    view->storage = from->storage;
    if (view->storage) view->storage->refs++;
    view->packed = from->packed;
    view->data = from->data + offset * (int64_t)heed_dtype_size(from->dtype);
    return true;
}

/* ---- making ---- */

static heed_tensor *make(heed_ctx *cx, const char *who, heed_dtype dtype, int rank, const int64_t *shape) {
    if (!engine_of(cx) || !shape_ok(cx, who, dtype, rank, shape)) return NULL;
    heed_tensor *t = tensor_make(cx, dtype, rank, shape);
    if (!t) return NULL;
    if (!tensor_allocate(t)) {
        tensor_unref(t);
        return NULL;
    }
    tensor_enter_scope(t);
    return t;
}

static heed_tensor *make_copy(heed_ctx *cx, const char *who, heed_dtype dtype, const void *data, int rank,
                              const int64_t *shape) {
    heed_tensor *t = make(cx, who, dtype, rank, shape);
    if (!t || cx->config.dry || t->count == 0) return t;
    if (!data) {
        heed_fail(cx, HEED_ERR_USAGE, "%s: the data is NULL", who);
        return NULL;
    }
    memcpy(t->data, data, (size_t)t->count * heed_dtype_size(dtype));
    return t;
}

heed_tensor *heed_zeros(heed_ctx *cx, heed_dtype dtype, int rank, const int64_t *shape) {
    heed_tensor *t = make(cx, "zeros", dtype, rank, shape);
    if (t && !cx->config.dry) memset(t->data, 0, (size_t)t->count * heed_dtype_size(dtype));
    return t;
}

heed_tensor *heed_full(heed_ctx *cx, float value, int rank, const int64_t *shape) {
    heed_tensor *t = make(cx, "full", HEED_F32, rank, shape);
    if (!t || cx->config.dry) return t;
    float *x = (float *)(void *)t->data;
    for (int64_t i = 0; i < t->count; i++) x[i] = value;
    return t;
}

heed_tensor *heed_from_f32(heed_ctx *cx, const float *data, int rank, const int64_t *shape) {
    return make_copy(cx, "from_f32", HEED_F32, data, rank, shape);
}

heed_tensor *heed_from_i32(heed_ctx *cx, const int32_t *data, int rank, const int64_t *shape) {
    return make_copy(cx, "from_i32", HEED_I32, data, rank, shape);
}

heed_tensor *heed_from_u8(heed_ctx *cx, const uint8_t *data, int rank, const int64_t *shape) {
    return make_copy(cx, "from_u8", HEED_U8, data, rank, shape);
}

heed_tensor *heed_from_i64(heed_ctx *cx, const int64_t *data, int rank, const int64_t *shape) {
    heed_tensor *t = make(cx, "from_i64", HEED_I32, rank, shape);
    if (!t || cx->config.dry) return t;
    if (!data && t->count > 0) {
        heed_fail(cx, HEED_ERR_USAGE, "from_i64: the data is NULL");
        return NULL;
    }
    int32_t *out = (int32_t *)(void *)t->data;
    for (int64_t i = 0; i < t->count; i++) {
        if (data[i] < INT32_MIN || data[i] > INT32_MAX) {
            heed_fail(cx, HEED_ERR_RANGE, "from_i64: %lld at place %lld does not fit in 32 bits", (long long)data[i],
                      (long long)i);
            return NULL;
        }
        out[i] = (int32_t)data[i];
    }
    return t;
}

heed_tensor *heed_borrow(heed_ctx *cx, heed_dtype dtype, const void *data, int rank, const int64_t *shape,
                         heed_grad *grad) {
    static char nothing[64] __attribute__((aligned(64)));
    if (!engine_of(cx) || !shape_ok(cx, "borrow", dtype, rank, shape)) return NULL;
    if (grad && dtype != HEED_F32) {
        heed_fail(cx, HEED_ERR_TYPE, "borrow: only f32 can have a gradient, not %s", heed_dtype_name(dtype));
        return NULL;
    }
    heed_tensor *t = tensor_make(cx, dtype, rank, shape);
    if (!t) return NULL;
    if (t->count > 0 && !cx->config.dry && (!data || (grad && !grad->data))) {
        heed_fail(cx, HEED_ERR_USAGE, "borrow: the %s is NULL", data ? "gradient's data" : "data");
        tensor_unref(t);
        return NULL;
    }
    /* numbers of parameters are only ever read through a tensor */
    t->data = data ? (char *)(uintptr_t)data : nothing;
    t->slot = grad;
    t->wants = grad != NULL;
    tensor_enter_scope(t);
    return t;
}

heed_tensor *heed_want_grad(heed_ctx *cx, heed_tensor *t) {
    if (!engine_of(cx)) return NULL;
    if (!t || t->cx != cx || t->ended || t->dtype != HEED_F32 || t->maker) {
        heed_fail(cx, HEED_ERR_USAGE, "want_grad: %s",
                  !t                     ? "the tensor is NULL"
                  : t->cx != cx          ? "the tensor belongs to another context"
                  : t->ended             ? "the tensor's step has ended"
                  : t->dtype != HEED_F32 ? "only f32 can have a gradient; weights of 16 bits are frozen"
                                         : "an op made this tensor: use keep_grad");
        return NULL;
    }
    t->wants = t->keep = t->keep_grad = true;
    return t;
}

/* ---- looking ---- */

heed_dtype heed_type(const heed_tensor *t) { return t ? t->dtype : HEED_F32; }
int heed_rank(const heed_tensor *t) { return t ? t->rank : 0; }
const int64_t *heed_shape(const heed_tensor *t) { return t ? t->shape : NULL; }
int64_t heed_count(const heed_tensor *t) { return t ? t->count : 0; }
bool heed_wants_grad(const heed_tensor *t) { return t && t->wants; }
bool heed_readable(const heed_tensor *t) { return t && t->data; }

int64_t heed_dim(const heed_tensor *t, int axis) {
    const int a = t ? axis_of(axis, t->rank) : -1;
    return a < 0 ? 0 : t->shape[a];
}

static const void *numbers(const heed_tensor *t, heed_dtype dtype) {
    return t && t->dtype == dtype && is_contiguous(t) && !t->cx->config.dry ? t->data : NULL;
}
const float *heed_f32(const heed_tensor *t) { return numbers(t, HEED_F32); }
const int32_t *heed_i32(const heed_tensor *t) { return numbers(t, HEED_I32); }
const uint8_t *heed_u8(const heed_tensor *t) { return numbers(t, HEED_U8); }

bool heed_copy_f32(heed_ctx *cx, const heed_tensor *t, float *out, int64_t n) {
    if (heed_failed(cx)) return false;
    if (!t || !out) return heed_fail(cx, HEED_ERR_USAGE, "copy_f32: %s is NULL", t ? "the buffer" : "the tensor");
    if (!t->data)
        return heed_fail(cx, HEED_ERR_USAGE, "copy_f32: the tensor is no longer readable: %s", tensor_gone(t));
    if (t->dtype != HEED_F32) return heed_fail(cx, HEED_ERR_TYPE, "copy_f32: the tensor is not f32 (cast it)");
    if (n != t->count)
        return heed_fail(cx, HEED_ERR_SHAPE, "copy_f32: %lld numbers asked of shape %s", (long long)n,
                         heed_shape_text(t).s);
    if (cx->config.dry || n == 0) return true;
    for (int64_t i = 0; i * t->run < n; i++)
        memcpy(out + i * t->run, f32_of(t) + i * t->stride, (size_t)t->run * sizeof(float));
    return true;
}

float heed_item(heed_ctx *cx, const heed_tensor *t) {
    float x = NAN;
    if (t && t->count != 1)
        heed_fail(cx, HEED_ERR_SHAPE, "item: shape %s is not one number", heed_shape_text(t).s);
    else
        heed_copy_f32(cx, t, &x, 1);
    return x;
}

heed_tensor *heed_grad_of(heed_ctx *cx, heed_tensor *t) {
    if (!engine_of(cx) || !t) return NULL;
    if (t->ended) return heed_fail(cx, HEED_ERR_USAGE, "grad_of: the tensor's step has ended"), NULL;
    if (t->slot) return t->slot->filled ? heed_borrow(cx, HEED_F32, t->slot->data, t->rank, t->shape, NULL) : NULL;
    if (!t->grad) return NULL;
    heed_tensor *g = tensor_make(cx, HEED_F32, t->rank, t->shape);
    if (!g) return NULL;
    g->storage = t->grad;
    g->storage->refs++;
    g->data = g->storage->data;
    tensor_enter_scope(g);
    return g;
}

/* ---- for ops ---- */

float *heed_op_f32(heed_op_call *c, int j) { return c ? (float *)(void *)c->out[j]->data : NULL; }
int32_t *heed_op_i32(heed_op_call *c, int j) { return c ? (int32_t *)(void *)c->out[j]->data : NULL; }
uint8_t *heed_op_u8(heed_op_call *c, int j) { return c ? (uint8_t *)c->out[j]->data : NULL; }

const float *heed_op_row(const heed_tensor *t, int64_t row) {
    if (!t) return NULL;
    const int64_t at = row * cols_of(t);
    if (is_contiguous(t)) return f32_of(t) + at;
    return f32_of(t) + at / t->run * t->stride + at % t->run;
}

bool heed_row_stride(const heed_tensor *t, int64_t *stride) {
    if (!t || !stride) return false;
    if (is_contiguous(t) || t->run == cols_of(t)) {
        *stride = is_contiguous(t) ? cols_of(t) : t->stride;
        return true;
    }
    return false;
}
