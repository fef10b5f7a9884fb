/* Types and shapes of arrays. The bytes of a shape are counted here and nowhere else, with every product checked. */
#include "io/array.h"
#include "base/checked.h"
#include "base/ctx.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

static const struct {
    size_t size;
    const char *name;
} types[] = {
    [HEED_F32] = {4, "f32"}, [HEED_I32] = {4, "i32"}, [HEED_U8] = {1, "u8"},     [HEED_BF16] = {2, "bf16"},
    [HEED_F16] = {2, "f16"}, [HEED_I8] = {1, "i8"},   [HEED_BOOL] = {1, "bool"}, [HEED_I64] = {8, "i64"},
    [HEED_F64] = {8, "f64"}, [HEED_I16] = {2, "i16"}, [HEED_U16] = {2, "u16"},   [HEED_U32] = {4, "u32"},
    [HEED_U64] = {8, "u64"}, [HEED_C64] = {8, "c64"},
};

static bool known(heed_dtype dtype) { return (size_t)dtype < sizeof types / sizeof types[0]; }

size_t heed_dtype_size(heed_dtype dtype) { return known(dtype) ? types[dtype].size : 0; }
const char *heed_dtype_name(heed_dtype dtype) { return known(dtype) ? types[dtype].name : "?"; }

bool array_measure(heed_dtype dtype, int rank, const int64_t *shape, int64_t *count, size_t *bytes) {
    if (!known(dtype) || rank < 0 || rank > HEED_MAX_RANK) return false;
    int64_t n = 1, total;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || !i64_mul(n, shape[i], &n)) return false;
    if (!i64_mul(n, (int64_t)types[dtype].size, &total) || (uint64_t)total > SIZE_MAX / 2) return false;
    *count = n;
    *bytes = (size_t)total;
    return true;
}

int64_t heed_array_count(const heed_array *a) {
    int64_t count;
    size_t bytes;
    return a && array_measure(a->dtype, a->rank, a->shape, &count, &bytes) ? count : -1;
}

heed_array *array_new(heed_ctx *cx, const char *name, heed_dtype dtype, int rank, const int64_t *shape) {
    int64_t count;
    size_t bytes, size;
    const size_t name_size = strlen(name) + 1;
    if (!array_measure(dtype, rank, shape, &count, &bytes) ||
        !size_add(bytes, name_size + sizeof(heed_array) + 64, &size))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: too large", name), NULL;
    heed_array *a = heed_mem_new(cx, size);
    if (!a) return NULL;
    char *data = array_data(a);
    *a = (heed_array){.name = data + bytes, .dtype = dtype, .rank = rank, .data = data};
    if (rank > 0) memcpy(a->shape, shape, (size_t)rank * sizeof *shape);
    memcpy(data + bytes, name, name_size);
    return a;
}

bool array_check(heed_ctx *cx, const char *what, const heed_array *a, size_t *bytes) {
    int64_t count;
    if (!known(a->dtype)) return heed_fail(cx, HEED_ERR_TYPE, "%s: there is no type %d", what, (int)a->dtype);
    if (a->rank < 0 || a->rank > HEED_MAX_RANK)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: rank %d is not within 0 to %d", what, a->rank, HEED_MAX_RANK);
    if (!array_measure(a->dtype, a->rank, a->shape, &count, bytes))
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: no array has shape %s", what, shape_text(a->rank, a->shape).text);
    if (!a->data && *bytes > 0 && !cx->config.dry) return heed_fail(cx, HEED_ERR_USAGE, "%s: data is NULL", what);
    return true;
}

struct shape_text shape_text(int rank, const int64_t *shape) {
    struct shape_text out = {"("};
    size_t used = 1;
    for (int i = 0; i < rank && i < HEED_MAX_RANK; i++)
        used += (size_t)snprintf(out.text + used, sizeof out.text - used, i ? ",%lld" : "%lld", (long long)shape[i]);
    memcpy(out.text + used, ")", 2);
    return out;
}
