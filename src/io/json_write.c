/* JSON, built and written. jansson keeps the values; the text is ours, because jansson writes 1e-12 as
 * 9.9999999999999998e-13. */
#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/json.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

/* ---- building ---- */

heed_json heed_json_new(heed_ctx *cx, const char *name) {
    if (heed_failed(cx)) return (heed_json){0};
    if (!name) return heed_fail(cx, HEED_ERR_USAGE, "json_new: name is NULL"), (heed_json){0};
    const heed_status status = mem_recount(cx, 0, JSON_OBJECT_BYTES);
    if (status != HEED_OK) return mem_refused(cx, status, JSON_OBJECT_BYTES), (heed_json){0};
    return json_document(cx, name, json_object(), JSON_OBJECT_BYTES);
}

/* Whether `key` can be put into `at`: a name for an object, NULL for an array. */
static bool can_put(heed_ctx *cx, heed_json at, const char *key) {
    const heed_json_kind kind = heed_json_kind_of(at);
    if (heed_failed(cx)) return false;
    if (kind == HEED_JSON_NONE) return heed_fail(cx, HEED_ERR_USAGE, "json_put: there is no value to put into");
    if (kind != (key ? HEED_JSON_OBJECT : HEED_JSON_ARRAY))
        return heed_json_fail(cx, at, key ? "only an object takes a key" : "only an array takes a value without a key");
    if (key && utf8_bad(key, strlen(key)) != strlen(key)) return heed_json_fail(cx, at, "a key is not valid UTF-8");
    return true;
}

static size_t memory_of(const char *key, const json_t *value) {
    const size_t place = key ? JSON_STRING_BYTES + strlen(key) : JSON_PLACE_BYTES;
    if (json_is_object(value)) return place + JSON_OBJECT_BYTES;
    if (json_is_array(value)) return place + JSON_ARRAY_BYTES;
    if (json_is_string(value)) return place + JSON_STRING_BYTES + json_string_length(value);
    return place + JSON_NUMBER_BYTES;
}

/* Takes over value; NULL: there was no memory for it. */
static heed_json put(heed_ctx *cx, heed_json at, const char *key, json_t *value) {
    const int64_t index = heed_json_count(at);
    const size_t more = memory_of(key, value), counted = at.doc->counted;
    const heed_status status = mem_recount(at.doc->cx, counted, counted + more);
    if (status != HEED_OK) {
        json_decref(value);
        return mem_refused(cx, status, more), (heed_json){0};
    }
    at.doc->counted += more;
    if (!value || (key ? json_object_set_new(at.node, key, value) : json_array_append_new(at.node, value)) != 0)
        return heed_fail(cx, HEED_ERR_MEMORY, "%s: no memory for json", at.doc->name), (heed_json){0};
    if (!key) return heed_json_item(cx, at, index);
    const char *kept = json_object_iter_key(json_object_iter_at(at.node, key));
    return (heed_json){.doc = at.doc, .node = value, .parent = at.node, .key = kept};
}

bool heed_json_put_null(heed_ctx *cx, heed_json at, const char *key) {
    return can_put(cx, at, key) && put(cx, at, key, json_null()).node;
}

bool heed_json_put_bool(heed_ctx *cx, heed_json at, const char *key, bool value) {
    return can_put(cx, at, key) && put(cx, at, key, json_boolean(value)).node;
}

bool heed_json_put_int(heed_ctx *cx, heed_json at, const char *key, int64_t value) {
    return can_put(cx, at, key) && put(cx, at, key, json_integer(value)).node;
}

bool heed_json_put_number(heed_ctx *cx, heed_json at, const char *key, double value) {
    if (!can_put(cx, at, key)) return false;
    if (!isfinite(value)) return heed_json_fail(cx, at, "json has no infinity and no nan");
    return put(cx, at, key, json_real(value)).node;
}

bool heed_json_put_text(heed_ctx *cx, heed_json at, const char *key, const char *value) {
    if (!can_put(cx, at, key)) return false;
    if (!value) return heed_fail(cx, HEED_ERR_USAGE, "json_put_text: value is NULL");
    if (utf8_bad(value, strlen(value)) != strlen(value)) return heed_json_fail(cx, at, "a text is not valid UTF-8");
    return put(cx, at, key, json_string(value)).node;
}

heed_json heed_json_put_array(heed_ctx *cx, heed_json at, const char *key) {
    return can_put(cx, at, key) ? put(cx, at, key, json_array()) : (heed_json){0};
}

heed_json heed_json_put_object(heed_ctx *cx, heed_json at, const char *key) {
    return can_put(cx, at, key) ? put(cx, at, key, json_object()) : (heed_json){0};
}

/* ---- printing ---- */

struct sink {
    heed_ctx *cx;
    char *text;
    size_t used, room;
    int indent;
};

static bool emit(struct sink *s, const char *text, size_t n) {
    size_t need;
    if (!size_add(s->used, n, &need) || need > SIZE_MAX / 4)
        return heed_fail(s->cx, HEED_ERR_RANGE, "json_print: the text is too long");
    if (need + 1 > s->room) {
        char *more = heed_mem_resize(s->cx, s->text, 2 * (need + 1));
        if (!more) return false;
        s->text = more;
        s->room = 2 * (need + 1);
    }
    memcpy(s->text + s->used, text, n);
    s->used = need;
    s->text[need] = 0;
    return true;
}

static bool emit_break(struct sink *s, int depth) {
    if (s->indent == 0) return true;
    if (!emit(s, "\n", 1)) return false;
    for (int i = 0; i < s->indent * depth; i++)
        if (!emit(s, " ", 1)) return false;
    return true;
}

static bool emit_string(struct sink *s, const char *text) {
    static const char hex[] = "0123456789abcdef", plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    bool ok = emit(s, "\"", 1);
    while (ok && *text) {
        size_t run = 0;
        while (text[run] && (unsigned char)text[run] >= 0x20 && text[run] != '"' && text[run] != '\\') run++;
        ok = emit(s, text, run);
        text += run;
        if (!ok || !*text) break;
        const unsigned char c = (unsigned char)*text++;
        const char *known = strchr(plain, c);
        if (known)
            ok = emit(s, (char[]){'\\', letters[known - plain]}, 2);
        else
            ok = emit(s, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
    }
    return ok && emit(s, "\"", 1);
}

/* jansson writes a real with n digits and a point whatever the locale: the fewest that read back as the same number. */
static bool emit_real(struct sink *s, const json_t *real) {
    char text[64];
    for (size_t digits = 15; digits <= 17; digits++) {
        const size_t n = json_dumpb(real, text, sizeof text - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        if (n == 0 || n >= sizeof text) return heed_fail(s->cx, HEED_ERR_MEMORY, "json_print: no memory for a number");
        double back = 0;
        bool range;
        text[n] = 0;
        if (digits == 17 || (number_read(text, &back, &range) && back == json_real_value(real)))
            return emit(s, text, n);
    }
    return true;
}

static bool emit_integer(struct sink *s, int64_t value) {
    char text[24];
    size_t at = sizeof text;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do text[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) text[--at] = '-';
    return emit(s, text + at, sizeof text - at);
}

static bool emit_value(struct sink *s, heed_json v, int depth);

static bool emit_container(struct sink *s, heed_json v, int depth) {
    const bool object = heed_json_kind_of(v) == HEED_JSON_OBJECT;
    if (depth >= JSON_MAX_DEPTH) return heed_json_fail(s->cx, v, "more than %d levels deep", JSON_MAX_DEPTH);
    bool ok = emit(s, object ? "{" : "[", 1);
    for (heed_json child = heed_json_first(v); ok && child.node;) {
        ok = emit_break(s, depth + 1);
        if (object) ok = ok && emit_string(s, child.key) && emit(s, ": ", s->indent ? 2 : 1);
        ok = ok && emit_value(s, child, depth + 1);
        child = heed_json_next(child);
        if (child.node) ok = ok && emit(s, ",", 1);
    }
    if (heed_json_count(v) > 0) ok = ok && emit_break(s, depth);
    return ok && emit(s, object ? "}" : "]", 1);
}

static bool emit_value(struct sink *s, heed_json v, int depth) {
    switch (heed_json_kind_of(v)) {
    case HEED_JSON_NONE:
    case HEED_JSON_NULL:
        return emit(s, "null", 4);
    case HEED_JSON_BOOL:
        return json_is_true((json_t *)v.node) ? emit(s, "true", 4) : emit(s, "false", 5);
    case HEED_JSON_INT:
        return emit_integer(s, json_integer_value(v.node));
    case HEED_JSON_REAL:
        return emit_real(s, v.node);
    case HEED_JSON_TEXT:
        return emit_string(s, json_string_value(v.node));
    case HEED_JSON_ARRAY:
    case HEED_JSON_OBJECT:
        return emit_container(s, v, depth);
    }
    return true;
}

char *heed_json_print(heed_ctx *cx, heed_json at, int indent, size_t *size) {
    if (heed_failed(cx)) return NULL;
    if (!at.node || indent < 0 || indent > 16)
        return heed_fail(cx, HEED_ERR_USAGE, "json_print: no value, or an indent that is not within 0 to 16"), NULL;
    struct sink s = {.cx = cx, .indent = indent};
    /* without the room that it grew by, so that a shorter text never takes more than a longer one */
    char *const text = emit_value(&s, at, 0) ? heed_mem_resize(cx, s.text, s.used + 1) : NULL;
    if (!text) heed_mem_free(cx, s.text);
    if (text && size) *size = s.used;
    return text;
}

bool heed_json_write(heed_ctx *cx, const char *path, heed_json at) {
    if (heed_failed(cx)) return false;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "json_write: path is NULL");
    size_t size;
    char *text = heed_json_print(cx, at, 2, &size);
    struct file_writer *w = text ? file_write_open(cx, path) : NULL;
    if (w) {
        file_write(w, text, size);
        file_write(w, "\n", 1);
    }
    const bool done = w && file_write_commit(w);
    heed_mem_free(cx, text);
    return done;
}
