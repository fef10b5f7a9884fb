/* numpy's .npy: "\x93NUMPY", version, header size (u16, or u32 from 2.0), a Python dict, the data.
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *
 * The dict is read by a small parser of just that: three keys, each once, in any order. */
#include "base/checked.h"
#include "base/file.h"
#include "io/array.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

static const struct {
    char text[3];
    heed_dtype dtype;
} types[] = {
    {"f4", HEED_F32}, {"f8", HEED_F64}, {"f2", HEED_F16}, {"b1", HEED_BOOL}, {"u1", HEED_U8},  {"i1", HEED_I8},
    {"i2", HEED_I16}, {"i4", HEED_I32}, {"i8", HEED_I64}, {"u2", HEED_U16},  {"u4", HEED_U32}, {"u8", HEED_U64},
};
#define TYPES (sizeof types / sizeof types[0])

/* ---- the header ---- */

struct header {
    heed_ctx *cx;
    const char *name;
    const char *start, *at, *end;
    size_t offset; /* of start in the file */
    heed_dtype dtype;
    bool fortran;
    int rank;
    int64_t shape[HEED_MAX_RANK];
};

static bool bad(struct header *h, const char *why) {
    heed_fail(h->cx, HEED_ERR_FORMAT, "%s: npy header, offset %zu: %s", h->name, h->offset + (size_t)(h->at - h->start),
              why);
    return false;
}

static void skip_space(struct header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t' || *h->at == '\r')) h->at++;
}

/* Skips spaces, then takes c if it is there. */
static bool take(struct header *h, char c) {
    skip_space(h);
    if (h->at == h->end || *h->at != c) return false;
    h->at++;
    return true;
}

/* A word of letters, as True. */
static bool take_word(struct header *h, const char *word) {
    skip_space(h);
    const size_t n = strlen(word);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0) return false;
    h->at += n;
    return true;
}

/* A string without escapes, which none of ours needs. */
static bool take_string(struct header *h, const char **text, size_t *size) {
    const char quote = take(h, '\'') ? '\'' : take(h, '"') ? '"' : 0;
    const char *end = quote ? memchr(h->at, quote, (size_t)(h->end - h->at)) : NULL;
    if (!end) return bad(h, "a string is expected");
    *text = h->at;
    *size = (size_t)(end - h->at);
    h->at = end + 1;
    return true;
}

static bool read_descr(struct header *h) {
    const char *text;
    size_t n;
    if (take(h, '[')) return bad(h, "structured types are not supported");
    if (!take_string(h, &text, &n)) return false;
    if (n == 3 && text[0] == '>') return bad(h, "big-endian data is not supported");
    for (size_t i = 0; n == 3 && strchr("<=|", text[0]) && i < TYPES; i++) {
        if (memcmp(text + 1, types[i].text, 2) != 0) continue;
        h->dtype = types[i].dtype;
        return true;
    }
    return heed_fail(h->cx, HEED_ERR_FORMAT, "%s: npy type '%s' is not supported", h->name, escaped_bytes(text, n).s);
}

static bool read_order(struct header *h) {
    h->fortran = take_word(h, "True");
    return h->fortran || take_word(h, "False") || bad(h, "True or False is expected");
}

static bool read_size(struct header *h, int64_t *out) {
    skip_space(h);
    int64_t value = 0;
    const char *first = h->at;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
        if (!i64_mul(value, 10, &value) || !i64_add(value, *h->at - '0', &value)) return bad(h, "a size is too large");
    if (h->at == first) return bad(h, "a size that is not negative is expected");
    if (h->at < h->end && *h->at == 'L') h->at++; /* as Python 2 wrote long integers */
    *out = value;
    return true;
}

/* (), (3,), (2, 3), (2, 3,) */
static bool read_shape(struct header *h) {
    if (!take(h, '(')) return bad(h, "a tuple is expected");
    bool comma = true;
    for (h->rank = 0; !take(h, ')'); h->rank++) {
        if (!comma) return bad(h, "',' or ')' is expected");
        if (h->rank == HEED_MAX_RANK) return bad(h, "more than 8 axes are not supported");
        if (!read_size(h, &h->shape[h->rank])) return false;
        comma = take(h, ',');
    }
    return h->rank != 1 || comma || bad(h, "a tuple of one needs a ','");
}

static bool read_dict(struct header *h) {
    static const struct {
        const char *key;
        bool (*read)(struct header *);
    } fields[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
    unsigned seen = 0;
    bool comma = true;
    if (!take(h, '{')) return bad(h, "'{' is expected");
    while (!take(h, '}')) {
        const char *key;
        size_t n, i = 0;
        if (!comma) return bad(h, "',' or '}' is expected");
        if (!take_string(h, &key, &n)) return false;
        while (i < 3 && (strlen(fields[i].key) != n || memcmp(fields[i].key, key, n) != 0)) i++;
        if (i == 3 || seen & 1u << i) return bad(h, "a key is unknown or appears twice");
        if (!take(h, ':')) return bad(h, "':' is expected");
        if (!fields[i].read(h)) return false;
        seen |= 1u << i;
        comma = take(h, ',');
    }
    skip_space(h);
    if (h->at != h->end) return bad(h, "text follows the dictionary");
    return seen == 7 || bad(h, "descr, fortran_order and shape must all be there");
}

/* ---- reading ---- */

/* Column-major to row-major: out is filled in order while `in` jumps, stride[k] elements along axis k. */
static void from_fortran(const heed_array *a, char *out, const char *in, int64_t count) {
    const size_t size = heed_dtype_size(a->dtype);
    int64_t stride[HEED_MAX_RANK], position[HEED_MAX_RANK] = {0}, at = 0;
    for (int k = 0; k < a->rank; k++) stride[k] = k ? stride[k - 1] * a->shape[k - 1] : 1;
    for (int64_t i = 0; i < count; i++) {
        memcpy(out + (size_t)i * size, in + (size_t)at * size, size);
        for (int k = a->rank - 1; k >= 0; k--) {
            at += stride[k];
            if (++position[k] < a->shape[k]) break;
            at -= stride[k] * a->shape[k];
            position[k] = 0;
        }
    }
}

/* Magic and version; the size of the header and where it begins. */
static bool read_preamble(heed_ctx *cx, const char *name, const unsigned char *bytes, size_t size, size_t *offset,
                          size_t *header_size) {
    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: not an npy file: the magic at offset 0 is missing", name);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: npy version %d.%d is not supported", name, bytes[6], bytes[7]);
    *offset = bytes[6] == 1 ? 10 : 12;
    *header_size = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1 && size >= 12) *header_size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (size < *offset || *header_size > size - *offset)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: an npy header of %zu bytes does not fit a file of %zu", name,
                         *header_size, size);
    return true;
}

heed_array *heed_npy_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size) {
    size_t offset = 0, header_size = 0, need;
    int64_t count;
    if (heed_failed(cx)) return NULL;
    if (!name || !bytes) return heed_fail(cx, HEED_ERR_USAGE, "npy_parse: name or bytes is NULL"), NULL;
    if (!read_preamble(cx, name, bytes, size, &offset, &header_size)) return NULL;
    const char *start = (const char *)bytes + offset;
    struct header h = {
        .cx = cx, .name = name, .start = start, .at = start, .end = start + header_size, .offset = offset};
    if (!read_dict(&h)) return NULL;
    if (!array_measure(h.dtype, h.rank, h.shape, &count, &need))
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: shape %s overflows", name, shape_text(h.rank, h.shape).text), NULL;
    const size_t have = size - offset - header_size;
    if (have != need)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %s %s takes %zu bytes, the file holds %zu", name,
                         heed_dtype_name(h.dtype), shape_text(h.rank, h.shape).text, need, have),
               NULL;
    heed_array *a = array_new(cx, name, h.dtype, h.rank, h.shape);
    if (!a) return NULL;
    if (h.fortran && h.rank > 1)
        from_fortran(a, array_data(a), h.end, count);
    else
        memcpy(array_data(a), h.end, need);
    return a;
}

heed_array *heed_npy_read(heed_ctx *cx, const char *path) {
    struct file_map map;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "npy_read: path is NULL"), NULL;
    if (!file_map_open(cx, path, &map)) return NULL;
    heed_array *a = heed_npy_parse(cx, path, map.data ? map.data : (const unsigned char *)"", map.size);
    file_map_close(&map);
    return a;
}

/* ---- writing ---- */

/* Always version 1.0: with at most 8 axes a header has some 250 bytes, far from the 65,535 that 2.0 was made for. */
bool heed_npy_write(heed_ctx *cx, const char *path, const heed_array *a) {
    size_t bytes, kind = 0;
    if (heed_failed(cx)) return false;
    if (!path || !a) return heed_fail(cx, HEED_ERR_USAGE, "npy_write: path or array is NULL");
    if (!array_check(cx, "npy_write", a, &bytes)) return false;
    while (kind < TYPES && types[kind].dtype != a->dtype) kind++;
    if (kind == TYPES)
        return heed_fail(cx, HEED_ERR_TYPE, "npy_write: %s: numpy has no type %s", path, heed_dtype_name(a->dtype));

    char header[384] = "\x93NUMPY\x01";
    size_t n = 10;
    const char order = heed_dtype_size(a->dtype) == 1 ? '|' : '<';
    n += (size_t)snprintf(header + n, sizeof header - n, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order,
                          types[kind].text);
    for (int k = 0; k < a->rank; k++)
        n += (size_t)snprintf(header + n, sizeof header - n, k ? ", %lld" : "%lld", (long long)a->shape[k]);
    n += (size_t)snprintf(header + n, sizeof header - n, a->rank == 1 ? ",), }" : "), }");
    while (n % 64 != 63) header[n++] = ' '; /* the data begins at a multiple of 64 */
    header[n++] = '\n';
    header[8] = (char)((n - 10) & 0xFF);
    header[9] = (char)((n - 10) >> 8);

    struct file_writer *w = file_write_open(cx, path);
    if (!w) return false;
    file_write(w, header, n);
    file_write(w, a->data, bytes);
    return file_write_commit(w);
}
