/* safetensors, written: everything is checked and the header made before the file is touched. */
#include "base/checked.h"
#include "base/ctx.h"
#include "base/file.h"
#include "io/array.h"
#include "io/safetensors.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

static bool put_metadata(heed_ctx *cx, heed_json header, const heed_pair *metadata, int64_t n) {
    if (n == 0) return true;
    const heed_json object = heed_json_put_object(cx, header, "__metadata__");
    for (int64_t i = 0; i < n; i++) {
        const heed_pair pair = metadata[i];
        if (!pair.key || !pair.value)
            return heed_fail(cx, HEED_ERR_USAGE, "safetensors_write: metadata %lld: key or value is NULL",
                             (long long)i);
        if (heed_json_find(cx, object, pair.key).node)
            return heed_fail(cx, HEED_ERR_USAGE, "safetensors_write: metadata '%s' is given twice",
                             escaped(pair.key).s);
        if (!heed_json_put_text(cx, object, pair.key, pair.value)) return false;
    }
    return !heed_failed(cx);
}

static bool put_array(heed_ctx *cx, heed_json header, const heed_array *a, int64_t i, size_t *at) {
    char what[128];
    size_t bytes, end;
    if (!a->name) return heed_fail(cx, HEED_ERR_USAGE, "safetensors_write: array %lld has no name", (long long)i);
    snprintf(what, sizeof what, "safetensors_write: '%s'", escaped(a->name).s);
    if (!array_check(cx, what, a, &bytes)) return false;
    if (heed_json_find(cx, header, a->name).node || strcmp(a->name, "__metadata__") == 0)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: the name is given twice or reserved", what);
    if (!size_add(*at, bytes, &end) || end > INT64_MAX) return heed_fail(cx, HEED_ERR_RANGE, "%s: too much data", what);
    const heed_json info = heed_json_put_object(cx, header, a->name);
    heed_json_put_text(cx, info, "dtype", st_dtype_text(a->dtype));
    const heed_json shape = heed_json_put_array(cx, info, "shape");
    for (int k = 0; k < a->rank; k++) heed_json_put_int(cx, shape, NULL, a->shape[k]);
    const heed_json offsets = heed_json_put_array(cx, info, "data_offsets");
    heed_json_put_int(cx, offsets, NULL, (int64_t)*at);
    heed_json_put_int(cx, offsets, NULL, (int64_t)end);
    *at = end;
    return !heed_failed(cx);
}

/* The header as text, and its size before padding. */
static char *make_header(heed_ctx *cx, const char *path, const heed_array *arrays, int64_t n, const heed_pair *metadata,
                         int64_t metadata_n, size_t *size) {
    const heed_json header = heed_json_new(cx, path);
    bool good = header.node && put_metadata(cx, header, metadata, metadata_n);
    size_t at = 0;
    for (int64_t i = 0; good && i < n; i++) good = put_array(cx, header, &arrays[i], i, &at);
    char *text = good ? heed_json_print(cx, header, 0, size) : NULL;
    heed_json_free(header);
    if (text && *size + 8 > ST_MAX_HEADER) {
        heed_fail(cx, HEED_ERR_RANGE, "%s: a header of %zu bytes is over the limit of safetensors", path, *size);
        heed_mem_free(cx, text);
        return NULL;
    }
    return text;
}

struct file_writer *st_write_open(heed_ctx *cx, const char *path, const heed_array *arrays, int64_t n,
                                  const heed_pair *metadata, int64_t metadata_n) {
    static const char spaces[] = "        ";
    size_t size = 0;
    char *header = make_header(cx, path, arrays, n, metadata, metadata_n, &size);
    struct file_writer *w = header ? file_write_open(cx, path) : NULL;
    if (w) {
        const size_t padding = (8 - size % 8) % 8;
        unsigned char length[8];
        for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)(size + padding) >> (8 * i));
        file_write(w, length, sizeof length);
        file_write(w, header, size);
        file_write(w, spaces, padding);
    }
    heed_mem_free(cx, header);
    return w;
}

bool heed_safetensors_write(heed_ctx *cx, const char *path, const heed_array *arrays, int64_t n,
                            const heed_pair *metadata, int64_t metadata_n) {
    if (heed_failed(cx)) return false;
    if (!path || n < 0 || metadata_n < 0 || (n > 0 && !arrays) || (metadata_n > 0 && !metadata))
        return heed_fail(cx, HEED_ERR_USAGE, "safetensors_write: an argument is NULL or negative");
    struct file_writer *w = st_write_open(cx, path, arrays, n, metadata, metadata_n);
    for (int64_t i = 0; w && i < n && !cx->config.dry; i++) /* whose tensors have no numbers */
        file_write(w, arrays[i].data, (size_t)heed_array_count(&arrays[i]) * heed_dtype_size(arrays[i].dtype));
    return w && file_write_commit(w);
}
