/* idx, the format of MNIST: two bytes 0, a type, a rank, one u32 per axis, the data; all of it big-endian. */
#include "base/file.h"
#include "io/array.h"

#include <string.h>

static bool type_of(unsigned code, heed_dtype *dtype) {
    switch (code) {
    case 0x08:
        return *dtype = HEED_U8, true;
    case 0x09:
        return *dtype = HEED_I8, true;
    case 0x0B:
        return *dtype = HEED_I16, true;
    case 0x0C:
        return *dtype = HEED_I32, true;
    case 0x0D:
        return *dtype = HEED_F32, true;
    case 0x0E:
        return *dtype = HEED_F64, true;
    default:
        return false;
    }
}

static void copy_reversed(unsigned char *out, const unsigned char *in, size_t bytes, size_t element) {
    for (size_t i = 0; i < bytes; i += element)
        for (size_t k = 0; k < element; k++) out[i + k] = in[i + element - 1 - k];
}

heed_array *heed_idx_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    heed_dtype dtype;
    int64_t shape[HEED_MAX_RANK], count;
    size_t need;
    if (heed_failed(cx)) return NULL;
    if (!name || !bytes) return heed_fail(cx, HEED_ERR_USAGE, "idx_parse: name or bytes is NULL"), NULL;
    if (size < 4 || p[0] != 0 || p[1] != 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: not an idx file: it does not begin with two zero bytes", name), NULL;
    if (!type_of(p[2], &dtype))
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: unknown idx type 0x%02x at offset 2", name, p[2]), NULL;
    const int rank = p[3];
    if (rank > HEED_MAX_RANK)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %d axes, at most %d are supported", name, rank, HEED_MAX_RANK), NULL;
    const size_t header = 4 + 4 * (size_t)rank;
    if (size < header)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %zu bytes, too few for the sizes of %d axes", name, size, rank),
               NULL;
    for (int k = 0; k < rank; k++) {
        const unsigned char *s = p + 4 + 4 * k;
        shape[k] = (int64_t)s[0] << 24 | (int64_t)s[1] << 16 | (int64_t)s[2] << 8 | s[3];
    }
    if (!array_measure(dtype, rank, shape, &count, &need))
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: shape %s overflows", name, shape_text(rank, shape).text), NULL;
    if (size - header != need)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %s %s takes %zu bytes, the file holds %zu", name,
                         heed_dtype_name(dtype), shape_text(rank, shape).text, need, size - header),
               NULL;
    heed_array *a = array_new(cx, name, dtype, rank, shape);
    if (a) copy_reversed(array_data(a), p + header, need, heed_dtype_size(dtype));
    return a;
}

heed_array *heed_idx_read(heed_ctx *cx, const char *path) {
    size_t size;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "idx_read: path is NULL"), NULL;
    unsigned char *bytes = file_read(cx, path, IO_READ_LIMIT, &size);
    heed_array *a = bytes ? heed_idx_parse(cx, path, bytes, size) : NULL;
    heed_mem_free(cx, bytes);
    return a;
}
