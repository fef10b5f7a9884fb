/* safetensors, read: 8 bytes of header size (u64, little-endian), a JSON header, the data.
 *
 *     {"name": {"dtype": "F32", "shape": [2,3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "text"}}
 *
 * As in the reference implementation, the tensors must cover the data exactly: no holes, no overlap, nothing behind.
 * Every check is done before the handle is given out; what a file holds later on is not looked at again. */
#include "io/safetensors.h"
#include "base/checked.h"
#include "io/array.h"
#include "io/text.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text;
    heed_dtype dtype;
} types[] = {
    {"F32", HEED_F32}, {"F16", HEED_F16}, {"BF16", HEED_BF16}, {"F64", HEED_F64}, {"BOOL", HEED_BOOL},
    {"U8", HEED_U8},   {"I8", HEED_I8},   {"I16", HEED_I16},   {"U16", HEED_U16}, {"I32", HEED_I32},
    {"U32", HEED_U32}, {"I64", HEED_I64}, {"U64", HEED_U64},   {"C64", HEED_C64},
};
#define TYPES (sizeof types / sizeof types[0])

const char *st_dtype_text(heed_dtype dtype) {
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) return types[i].text;
    return NULL;
}

/* ---- the handle ---- */

heed_safetensors *st_new(heed_ctx *cx) {
    heed_safetensors *st = heed_mem_new(cx, sizeof *st);
    if (st) *st = (heed_safetensors){.cx = cx};
    return st;
}

/* NULL only on failure, for any number of elements. */
static void *new_elements(heed_ctx *cx, size_t count, size_t size) {
    size_t bytes;
    if (!size_mul(count, size, &bytes)) return heed_fail(cx, HEED_ERR_RANGE, "safetensors: too many tensors"), NULL;
    return heed_mem_new(cx, bytes);
}

bool st_make_lists(heed_safetensors *st, size_t count) {
    st->list = new_elements(st->cx, count, sizeof *st->list);
    st->by_name = new_elements(st->cx, count, sizeof *st->by_name);
    return st->list && st->by_name;
}

void heed_safetensors_close(heed_safetensors *st) {
    if (!st) return;
    heed_ctx *cx = st->cx;
    for (size_t i = 0; st->tensors && i < st->count; i++) heed_mem_free(cx, st->tensors[i].copy);
    for (size_t i = 0; i < st->part_count; i++) heed_safetensors_close(st->parts[i]);
    heed_mem_free(cx, st->list);
    heed_mem_free(cx, st->by_name);
    heed_mem_free(cx, st->tensors);
    heed_mem_free(cx, st->metadata);
    heed_mem_free(cx, st->strings);
    heed_mem_free(cx, st->parts);
    file_map_close(&st->map);
    heed_mem_free(cx, st);
}

static int name_order(const void *a, const void *b) {
    const struct st_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->array.name, (*y)->array.name);
}

void st_sort_names(heed_safetensors *st) {
    if (st->count == 0) return;
    for (size_t i = 0; i < st->count; i++) st->list[i]->order = i;
    memcpy(st->by_name, st->list, st->count * sizeof *st->list);
    qsort(st->by_name, st->count, sizeof *st->by_name, name_order);
}

/* By place in the data. An empty tensor lies before one that begins where it does; the header's order decides the rest.
 */
static int data_order(const void *a, const void *b) {
    const struct st_tensor *x = *(struct st_tensor *const *)a, *y = *(struct st_tensor *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* ---- the header ---- */

static bool read_dtype(heed_ctx *cx, heed_json info, heed_dtype *dtype) {
    const char *text = heed_json_text(cx, info, "dtype");
    if (!text) return false;
    for (size_t i = 0; i < TYPES; i++) {
        if (strcmp(types[i].text, text) != 0) continue;
        *dtype = types[i].dtype;
        return true;
    }
    const bool narrow = strncmp(text, "F8_", 3) == 0 || strncmp(text, "F6_", 3) == 0 || strncmp(text, "F4", 2) == 0;
    return heed_json_fail(cx, info,
                          narrow ? "dtype %s, a float of 8 bits or fewer, is not supported" : "unknown dtype '%s'",
                          escaped(text).s);
}

/* A list of at most `most` integers that are not negative; its length, or -1 and a failed context. */
static int read_sizes(heed_ctx *cx, heed_json info, const char *key, int64_t *out, int most) {
    const heed_json list = heed_json_array(cx, info, key);
    const int64_t n = heed_json_count(list);
    if (heed_failed(cx)) return -1;
    if (n > most) return heed_json_fail(cx, list, "%lld entries, at most %d are supported", (long long)n, most), -1;
    for (heed_json v = heed_json_first(list); v.node; v = heed_json_next(v)) {
        out[v.index] = heed_json_int(cx, v, NULL);
        if (out[v.index] < 0) heed_json_fail(cx, v, "%lld is negative", (long long)out[v.index]);
    }
    return heed_failed(cx) ? -1 : (int)n;
}

static bool read_tensor(heed_ctx *cx, heed_json info, const unsigned char *data, size_t data_size,
                        struct st_tensor *t) {
    int64_t offsets[2], count;
    size_t bytes;
    heed_array *a = &t->array;
    if (!read_dtype(cx, info, &a->dtype)) return false;
    if ((a->rank = read_sizes(cx, info, "shape", a->shape, HEED_MAX_RANK)) < 0) return false;
    const int ends = read_sizes(cx, info, "data_offsets", offsets, 2);
    if (ends < 0) return false;
    if (ends != 2) return heed_json_fail(cx, info, "data_offsets must be two numbers");
    if (!array_measure(a->dtype, a->rank, a->shape, &count, &bytes))
        return heed_json_fail(cx, info, "shape %s overflows", shape_text(a->rank, a->shape).text);
    if (offsets[0] > offsets[1] || (uint64_t)offsets[1] > data_size)
        return heed_json_fail(cx, info, "data_offsets [%lld,%lld] do not lie within the %zu bytes of data",
                              (long long)offsets[0], (long long)offsets[1], data_size);
    t->begin = (size_t)offsets[0];
    t->size = (size_t)(offsets[1] - offsets[0]);
    if (t->size != bytes)
        return heed_json_fail(cx, info, "%s %s takes %zu bytes, data_offsets [%lld,%lld] hold %zu",
                              heed_dtype_name(a->dtype), shape_text(a->rank, a->shape).text, bytes,
                              (long long)offsets[0], (long long)offsets[1], t->size);
    t->bytes = data + t->begin;
    /* An array's data may be used as elements of its type where it lies, if it lies right. */
    if ((uintptr_t)t->bytes % heed_dtype_size(a->dtype) == 0) a->data = t->bytes;
    return true;
}

static bool is_metadata(heed_json member) { return strcmp(heed_json_key(member), "__metadata__") == 0; }

static bool check_metadata(heed_ctx *cx, heed_json object, size_t *bytes) {
    if (heed_json_kind_of(object) != HEED_JSON_OBJECT)
        return heed_json_fail(cx, object, "must be an object of strings");
    for (heed_json v = heed_json_first(object); v.node; v = heed_json_next(v)) {
        const char *text = heed_json_text(cx, v, NULL);
        if (!text) return false;
        *bytes += strlen(heed_json_key(v)) + strlen(text) + 2; /* no more than the header has */
    }
    return true;
}

static const char *keep_string(char **next, const char *s) {
    const size_t n = strlen(s) + 1;
    char *kept = memcpy(*next, s, n);
    *next += n;
    return kept;
}

/* Counts what the header holds, then copies its strings and takes its tensors over. */
static bool read_header(heed_safetensors *st, heed_json header, const unsigned char *data, size_t data_size) {
    heed_ctx *cx = st->cx;
    size_t tensors = 0, pairs = 0, bytes = 0;
    for (heed_json v = heed_json_first(header); v.node; v = heed_json_next(v)) {
        if (!is_metadata(v)) {
            tensors++;
            bytes += strlen(heed_json_key(v)) + 1;
            continue;
        }
        pairs = (size_t)heed_json_count(v);
        if (!check_metadata(cx, v, &bytes)) return false;
    }
    st->strings = heed_mem_new(cx, bytes);
    st->metadata = new_elements(cx, pairs, sizeof *st->metadata);
    st->tensors = new_elements(cx, tensors, sizeof *st->tensors);
    if (!st->strings || !st->metadata || !st->tensors || !st_make_lists(st, tensors)) return false;
    char *next = st->strings;
    for (heed_json v = heed_json_first(header); v.node; v = heed_json_next(v)) {
        if (is_metadata(v)) {
            for (heed_json m = heed_json_first(v); m.node; m = heed_json_next(m))
                st->metadata[st->metadata_count++] =
                    (heed_pair){keep_string(&next, heed_json_key(m)), keep_string(&next, heed_json_text(cx, m, NULL))};
            continue;
        }
        struct st_tensor *t = &st->tensors[st->count];
        *t = (struct st_tensor){.array.name = keep_string(&next, heed_json_key(v)), .order = st->count};
        st->list[st->count++] = t;
        if (!read_tensor(cx, v, data, data_size, t)) return false;
    }
    return true;
}

/* In the order of the data, each tensor begins where the one before ended, and the last ends the file. */
static bool check_cover(heed_safetensors *st, const char *name, size_t data_size) {
    size_t at = 0;
    if (st->count > 0) qsort(st->list, st->count, sizeof *st->list, data_order);
    for (size_t i = 0; i < st->count; i++) {
        const struct st_tensor *t = st->list[i];
        if (t->begin != at)
            return heed_fail(st->cx, HEED_ERR_FORMAT, "%s: '%s' begins at %zu of the data, %s at %zu", name,
                             escaped(t->array.name).s, t->begin,
                             t->begin < at ? "overlapping the tensor that ends" : "leaving a hole", at);
        at += t->size;
    }
    return at == data_size ||
           heed_fail(st->cx, HEED_ERR_FORMAT, "%s: %zu bytes lie behind the last tensor, which ends at %zu of the data",
                     name, data_size - at, at);
}

static bool read_file(heed_safetensors *st, const char *name, const unsigned char *bytes, size_t size) {
    heed_ctx *cx = st->cx;
    uint64_t header_size = 0;
    if (size < 8) return heed_fail(cx, HEED_ERR_FORMAT, "%s: %zu bytes are too few for safetensors", name, size);
    for (int i = 7; i >= 0; i--) header_size = header_size << 8 | bytes[i];
    if (header_size > ST_MAX_HEADER)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a header of %llu bytes is over the limit of %llu", name,
                         (unsigned long long)header_size, (unsigned long long)ST_MAX_HEADER);
    if (header_size > size - 8)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a header of %llu bytes does not fit a file of %zu", name,
                         (unsigned long long)header_size, size);
    if (header_size == 0 || bytes[8] != '{')
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: the header at offset 8 does not begin with '{'", name);
    const size_t data_size = size - 8 - (size_t)header_size;
    const heed_json header = heed_json_parse(cx, name, (const char *)bytes + 8, (size_t)header_size);
    const bool done = header.node && read_header(st, header, bytes + 8 + header_size, data_size);
    heed_json_free(header);
    if (!done || !check_cover(st, name, data_size)) return false;
    st_sort_names(st);
    return true;
}

heed_safetensors *heed_safetensors_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size) {
    if (heed_failed(cx)) return NULL;
    if (!name || !bytes) return heed_fail(cx, HEED_ERR_USAGE, "safetensors_parse: name or bytes is NULL"), NULL;
    heed_safetensors *st = st_new(cx);
    if (st && read_file(st, name, bytes, size)) return st;
    heed_safetensors_close(st);
    return NULL;
}

heed_safetensors *st_open_file(heed_ctx *cx, const char *path) {
    heed_safetensors *st = st_new(cx);
    if (st && file_map_open(cx, path, &st->map) && read_file(st, path, st->map.data, st->map.size)) return st;
    heed_safetensors_close(st);
    return NULL;
}

/* ---- looking ---- */

int64_t heed_safetensors_count(const heed_safetensors *st) { return st ? (int64_t)st->count : 0; }

static bool usable(heed_ctx *cx, const char *op, const heed_safetensors *st) {
    if (heed_failed(cx)) return false;
    if (!st) return heed_fail(cx, HEED_ERR_USAGE, "%s: the handle is NULL", op);
    return st->cx == cx || heed_fail(cx, HEED_ERR_USAGE, "%s: the handle belongs to another context", op);
}

int64_t heed_safetensors_find(heed_ctx *cx, const heed_safetensors *st, const char *name) {
    if (!usable(cx, "safetensors_find", st)) return -1;
    if (!name) return heed_fail(cx, HEED_ERR_USAGE, "safetensors_find: name is NULL"), -1;
    size_t low = 0, high = st->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(st->by_name[middle]->array.name, name);
        if (order == 0) return (int64_t)st->by_name[middle]->order;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static struct st_tensor *tensor_at(heed_ctx *cx, const char *op, const heed_safetensors *st, int64_t i) {
    if (!usable(cx, op, st)) return NULL;
    if (i < 0 || (uint64_t)i >= st->count)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: no tensor %lld among %zu", op, (long long)i, st->count), NULL;
    return st->list[i];
}

const heed_array *heed_safetensors_info(heed_ctx *cx, const heed_safetensors *st, int64_t i) {
    const struct st_tensor *t = tensor_at(cx, "safetensors_info", st, i);
    return t ? &t->array : NULL;
}

const heed_array *heed_safetensors_get(heed_ctx *cx, heed_safetensors *st, int64_t i) {
    struct st_tensor *t = tensor_at(cx, "safetensors_get", st, i);
    if (!t) return NULL;
    if (!t->array.data) {
        if (!(t->copy = heed_mem_new(cx, t->size))) return NULL;
        t->array.data = memcpy(t->copy, t->bytes, t->size);
    }
    return &t->array;
}

int64_t heed_safetensors_metadata_count(const heed_safetensors *st) {
    if (!st) return 0;
    return st->part_count ? heed_safetensors_metadata_count(st->parts[0]) : (int64_t)st->metadata_count;
}

heed_pair heed_safetensors_metadata_at(heed_ctx *cx, const heed_safetensors *st, int64_t i) {
    const heed_pair none = {0};
    if (!usable(cx, "safetensors_metadata_at", st)) return none;
    if (i < 0 || i >= heed_safetensors_metadata_count(st))
        return heed_fail(cx, HEED_ERR_RANGE, "safetensors_metadata_at: no entry %lld", (long long)i), none;
    return (st->part_count ? st->parts[0] : st)->metadata[i];
}

const char *heed_safetensors_metadata(heed_ctx *cx, const heed_safetensors *st, const char *key) {
    if (!usable(cx, "safetensors_metadata", st)) return NULL;
    if (!key) return heed_fail(cx, HEED_ERR_USAGE, "safetensors_metadata: key is NULL"), NULL;
    for (int64_t i = 0; i < heed_safetensors_metadata_count(st); i++) {
        const heed_pair pair = heed_safetensors_metadata_at(cx, st, i);
        if (strcmp(pair.key, key) == 0) return pair.value;
    }
    return NULL;
}
