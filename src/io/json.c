/* JSON, read: a thin layer over jansson.
 *
 * A scan goes first, because jansson's own limit of 2048 levels is generous to small stacks and because it refuses
 * integers beyond 64 bits, which published files hold (model_max_length: 1000000000000000019884624838656). The scan
 * agrees with jansson on where strings begin and end up to the first error of syntax, where jansson stops.
 *
 * A heed_json knows its parent; the path to the parent, which only sentences need, is searched for when one is made. */
#include "io/json.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/limits.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

#define JSON_MEMORY_FACTOR 16

/* ---- parsing ---- */

heed_json json_document(heed_ctx *cx, const char *name, json_t *root, size_t counted) {
    const size_t name_size = strlen(name) + 1;
    if (!root) heed_fail(cx, HEED_ERR_MEMORY, "%s: no memory for json", name);
    struct heed_json_doc *doc = root ? heed_mem_new(cx, sizeof *doc + name_size) : NULL;
    if (!doc) {
        json_decref(root);
        mem_recount(cx, counted, 0);
        return (heed_json){0};
    }
    doc->cx = cx;
    doc->root = root;
    doc->counted = counted;
    memcpy(doc->name, name, name_size);
    return (heed_json){.doc = doc, .node = root};
}

void heed_json_free(heed_json any) {
    if (!any.doc) return;
    json_decref(any.doc->root);
    mem_recount(any.doc->cx, any.doc->counted, 0);
    heed_mem_free(any.doc->cx, any.doc);
}

/* The end of the number at `s`; *wide when it is an integer that 64 bits cannot hold. */
static const char *scan_number(const char *s, const char *end, bool *wide) {
    static const char most[] = "9223372036854775807", least[] = "9223372036854775808";
    const bool negative = *s == '-';
    const char *digits = s + negative, *p = digits;
    bool integer = true;
    for (; p < end && *p && strchr("0123456789+-.eE", *p); p++) integer = integer && *p >= '0' && *p <= '9';
    const size_t n = p > digits ? (size_t)(p - digits) : 0;
    *wide = integer && (n > 19 || (n == 19 && memcmp(digits, negative ? least : most, 19) > 0));
    return p;
}

/* The end of the string that opens at s. */
static const char *scan_string(const char *s, const char *end) {
    for (s++; s < end && *s != '"'; s++)
        if (*s == '\\' && s + 1 < end) s++;
    return s < end ? s + 1 : end;
}

/* What a text holds. */
struct census {
    size_t wide;   /* integers that are too wide */
    size_t memory; /* bytes that jansson takes, at most; some 240 for each byte of text do not overflow */
};

static size_t memory_of(char c, size_t length) {
    switch (c) {
    case '[':
        return JSON_ARRAY_BYTES;
    case '{':
        return JSON_OBJECT_BYTES;
    case '"':
        return JSON_STRING_BYTES + length;
    case ',':
        return JSON_PLACE_BYTES;
    default:
        return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER_BYTES : 0;
    }
}

/* Checks the depth, refuses NUL bytes and counts; with `out`, copies the text to it, "e0" after each integer that is
 * too wide. */
static bool scan(heed_ctx *cx, const char *name, const char *text, size_t size, struct census *count, char *out) {
    const char *end = text + size, *line_start = text;
    long long line = 1;
    int depth = 0;
    for (const char *s = text, *next; s < end; s = next) {
        bool wide = false;
        next = s + 1;
        if (*s == '"')
            next = scan_string(s, end);
        else if (*s == '-' || (*s >= '0' && *s <= '9'))
            next = scan_number(s, end, &wide);
        else if (*s == '\n')
            line++, line_start = next;
        else if (*s == ']' || *s == '}')
            depth--;
        else if ((*s == '[' || *s == '{') && ++depth > JSON_MAX_DEPTH)
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld, column %lld: more than %d levels deep", name, line,
                             (long long)(next - line_start), JSON_MAX_DEPTH);
        else if (*s == 0) /* jansson would step over it behind a number, and be wrong about places from there on */
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld, column %lld: a NUL byte", name, line,
                             (long long)(next - line_start));
        count->wide += wide;
        count->memory += memory_of(*s, (size_t)(next - s));
        if (out) {
            memcpy(out, s, (size_t)(next - s));
            out += next - s;
            if (wide) memcpy(out, "e0", 2), out += 2;
        }
    }
    return true;
}

/* For want of memory jansson gives no place, or takes a good string, which it could not keep, for a token it does not
 * know or expect. A string that is bad has a sentence of its own, and so has a text that ends too early. */
static bool out_of_memory(const json_error_t *error, const char *text, size_t size) {
    if (error->line < 0) return true;
    if (json_error_code(error) == json_error_premature_end_of_input) return false;
    const size_t at = (size_t)error->position;
    return error->position > 0 && at <= size && text[at - 1] == '"' &&
           (strncmp(error->text, "string or '}' expected", 22) == 0 || strncmp(error->text, "invalid token", 13) == 0);
}

/* Takes over the bytes counted. */
static heed_json load(heed_ctx *cx, const char *name, const char *text, size_t size, size_t counted) {
    json_error_t error;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (root || out_of_memory(&error, text, size)) return json_document(cx, name, root, counted);
    mem_recount(cx, counted, 0);
    struct escaped why = escaped(error.text);
    heed_fail(cx, HEED_ERR_FORMAT, "%s: line %d, column %d: %s", name, error.line, error.column, why.s);
    return (heed_json){0};
}

/* Of a kind of file that holds at most `most` bytes. Its values may take JSON_MEMORY_FACTOR times as much, which they
 * never do but in files that are made to: 90 MB of "[[],[],..." take 7 GB. */
static heed_json parse(heed_ctx *cx, const char *name, const char *text, size_t size, size_t most) {
    heed_json result = {0};
    struct census count = {0};
    if (size > most)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %zu bytes of json are over the limit of %zu", name, size, most),
               result;
    if (!scan(cx, name, text, size, &count, NULL)) return result;
    if (count.memory > most * JSON_MEMORY_FACTOR)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: its values would take %zu bytes, over the limit of %zu", name,
                         count.memory, most * JSON_MEMORY_FACTOR),
               result;
    const heed_status status = mem_recount(cx, 0, count.memory);
    if (status != HEED_OK) return mem_refused(cx, status, count.memory), result;
    if (count.wide == 0) return load(cx, name, text, size, count.memory);
    char *copy = heed_mem_new(cx, size + 2 * count.wide);
    if (copy && scan(cx, name, text, size, &(struct census){0}, copy))
        result = load(cx, name, copy, size + 2 * count.wide, count.memory);
    else
        mem_recount(cx, count.memory, 0);
    heed_mem_free(cx, copy);
    return result;
}

heed_json heed_json_parse(heed_ctx *cx, const char *name, const char *text, size_t size) {
    if (heed_failed(cx)) return (heed_json){0};
    if (!name || !text) return heed_fail(cx, HEED_ERR_USAGE, "json_parse: name or text is NULL"), (heed_json){0};
    return parse(cx, name, text, size, JSON_MAX_BYTES);
}

heed_json json_open_within(heed_ctx *cx, const char *path, size_t most) {
    heed_json result = {0};
    size_t size;
    if (heed_failed(cx)) return result;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "json_open: path is NULL"), result;
    unsigned char *text = file_read_regular(cx, path, most, &size);
    if (text) result = parse(cx, path, (const char *)text, size, most);
    heed_mem_free(cx, text);
    return result;
}

heed_json heed_json_open(heed_ctx *cx, const char *path) { return json_open_within(cx, path, JSON_MAX_BYTES); }

heed_json heed_json_copy(heed_ctx *cx, heed_json at) {
    if (heed_failed(cx) || !at.node) return (heed_json){0};
    const size_t counted = at.doc->counted; /* at most, where at is a part of it */
    const heed_status status = mem_recount(cx, 0, counted);
    if (status != HEED_OK) return mem_refused(cx, status, counted), (heed_json){0};
    return json_document(cx, at.doc->name, json_deep_copy(at.node), counted);
}

/* ---- where a value stands ---- */

/* A path is written from its end to its beginning, as the search unwinds. */
struct path {
    char text[256];
    size_t at;
};

static void path_prepend(struct path *p, const char *key, int64_t index) {
    char part[128];
    const int n = key ? snprintf(part, sizeof part, ".%s", escaped(key).s)
                      : snprintf(part, sizeof part, "[%lld]", (long long)index);
    if (n < 0 || (size_t)n > p->at) return;
    p->at -= (size_t)n;
    memcpy(p->text + p->at, part, (size_t)n);
}

/* Finds the array or object `target` from `from` down. Scalars are not searched for: jansson shares true, false and
 * null. */
static bool path_search(json_t *from, const void *target, int depth, struct path *p) {
    if (from == target) return true;
    if (depth > JSON_MAX_DEPTH) return false;
    const char *key;
    json_t *child;
    if (json_is_object(from)) {
        json_object_foreach(from, key, child) {
            if (!path_search(child, target, depth + 1, p)) continue;
            path_prepend(p, key, 0);
            return true;
        }
    } else if (json_is_array(from)) {
        size_t i;
        json_array_foreach(from, i, child) {
            if (!path_search(child, target, depth + 1, p)) continue;
            path_prepend(p, NULL, (int64_t)i);
            return true;
        }
    }
    return false;
}

/* "file: path: " of member `key` of `at`, or of `at` itself. */
static const char *place(heed_json at, const char *key, char *out, size_t size) {
    struct path p = {.at = sizeof p.text - 1};
    const void *container = key ? at.node : at.parent;
    if (key)
        path_prepend(&p, key, 0);
    else if (at.parent)
        path_prepend(&p, at.key, at.index);
    if (container) path_search(at.doc->root, container, 0, &p);
    const char *path = p.text + p.at + (p.text[p.at] == '.');
    snprintf(out, size, "%s%s%s: ", at.doc->name, *path ? ": " : "", path);
    return out;
}

bool heed_json_fail(heed_ctx *cx, heed_json at, const char *format, ...) {
    char where[700], why[300] = "";
    if (!format || !at.doc) return heed_fail(cx, HEED_ERR_USAGE, "json_fail: the value or format is missing");
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return heed_fail(cx, HEED_ERR_FORMAT, "%s%s", place(at, NULL, where, sizeof where), why);
}

/* ---- looking ---- */

heed_json_kind heed_json_kind_of(heed_json at) {
    if (!at.node) return HEED_JSON_NONE;
    switch (json_typeof((const json_t *)at.node)) {
    case JSON_OBJECT:
        return HEED_JSON_OBJECT;
    case JSON_ARRAY:
        return HEED_JSON_ARRAY;
    case JSON_STRING:
        return HEED_JSON_TEXT;
    case JSON_INTEGER:
        return HEED_JSON_INT;
    case JSON_REAL:
        return HEED_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return HEED_JSON_BOOL;
    case JSON_NULL:
        return HEED_JSON_NULL;
    }
    return HEED_JSON_NONE;
}

static const char *kind_text(heed_json_kind kind) {
    static const char *const names[] = {"nothing",  "null",     "true or false", "an integer",
                                        "a number", "a string", "an array",      "an object"};
    return names[kind];
}

static bool wrong_kind(heed_ctx *cx, heed_json at, heed_json_kind expected) {
    return heed_json_fail(cx, at, "expected %s, found %s", kind_text(expected), kind_text(heed_json_kind_of(at)));
}

static heed_json member_at(heed_json object, void *iterator) {
    if (!iterator) return (heed_json){0};
    return (heed_json){.doc = object.doc,
                       .node = json_object_iter_value(iterator),
                       .parent = object.node,
                       .key = json_object_iter_key(iterator)};
}

heed_json heed_json_find(heed_ctx *cx, heed_json at, const char *key) {
    const heed_json none = {0};
    if (heed_failed(cx)) return none;
    if (!at.node || !key) return heed_fail(cx, HEED_ERR_USAGE, "json_find: no value or no key"), none;
    if (heed_json_kind_of(at) != HEED_JSON_OBJECT) return wrong_kind(cx, at, HEED_JSON_OBJECT), none;
    return member_at(at, json_object_iter_at(at.node, key));
}

/* Member `key` of `at`, or `at` itself; NONE when it is missing, which fails the context unless `optional`; there null
 * counts as missing. An integer passes for a number. */
static heed_json want(heed_ctx *cx, heed_json at, const char *key, heed_json_kind kind, bool optional) {
    const heed_json none = {0};
    if (heed_failed(cx)) return none;
    if (!at.node) return heed_fail(cx, HEED_ERR_USAGE, "json: there is no value to look at"), none;
    const heed_json v = key ? heed_json_find(cx, at, key) : at;
    const heed_json_kind found = heed_json_kind_of(v);
    if (found == HEED_JSON_NONE || (optional && found == HEED_JSON_NULL)) {
        char where[700];
        if (!optional) heed_fail(cx, HEED_ERR_FORMAT, "%smissing", place(at, key, where, sizeof where));
        return none;
    }
    if (found == kind || (kind == HEED_JSON_REAL && found == HEED_JSON_INT)) return v;
    return wrong_kind(cx, v, kind), none;
}

static bool is_true(const json_t *node) { return json_is_true(node); }

#define GETTER(type, name, kind, value, nothing)                                                                       \
    type heed_json_##name(heed_ctx *cx, heed_json at, const char *key) {                                               \
        const heed_json v = want(cx, at, key, kind, false);                                                            \
        return v.node ? value(v.node) : nothing;                                                                       \
    }                                                                                                                  \
    type heed_json_##name##_or(heed_ctx *cx, heed_json at, const char *key, type fallback) {                           \
        const heed_json v = want(cx, at, key, kind, true);                                                             \
        return v.node ? value(v.node) : heed_failed(cx) ? nothing : fallback;                                          \
    }

GETTER(int64_t, int, HEED_JSON_INT, json_integer_value, 0)
GETTER(double, number, HEED_JSON_REAL, json_number_value, 0)
GETTER(bool, bool, HEED_JSON_BOOL, is_true, false)
GETTER(const char *, text, HEED_JSON_TEXT, json_string_value, NULL)

heed_json heed_json_array(heed_ctx *cx, heed_json at, const char *key) {
    return want(cx, at, key, HEED_JSON_ARRAY, false);
}

heed_json heed_json_object(heed_ctx *cx, heed_json at, const char *key) {
    return want(cx, at, key, HEED_JSON_OBJECT, false);
}

int64_t heed_json_count(heed_json at) {
    return (int64_t)(json_is_object((json_t *)at.node) ? json_object_size(at.node) : json_array_size(at.node));
}

static heed_json item_at(heed_json array, int64_t i) {
    json_t *node = i < 0 ? NULL : json_array_get(array.node, (size_t)i);
    return node ? (heed_json){.doc = array.doc, .node = node, .parent = array.node, .index = i} : (heed_json){0};
}

heed_json heed_json_item(heed_ctx *cx, heed_json array, int64_t i) {
    const heed_json a = want(cx, array, NULL, HEED_JSON_ARRAY, false);
    if (!a.node) return a;
    const heed_json v = item_at(a, i);
    if (!v.node) heed_json_fail(cx, a, "no item %lld among %lld", (long long)i, (long long)heed_json_count(a));
    return v;
}

heed_json heed_json_first(heed_json at) {
    return json_is_object((json_t *)at.node) ? member_at(at, json_object_iter(at.node)) : item_at(at, 0);
}

heed_json heed_json_next(heed_json at) {
    const heed_json parent = {.doc = at.doc, .node = at.parent};
    if (!at.parent) return (heed_json){0};
    if (!json_is_object((json_t *)at.parent)) return item_at(parent, at.index + 1);
    return member_at(parent, json_object_iter_next(at.parent, json_object_key_to_iter(at.key)));
}

const char *heed_json_key(heed_json at) { return at.key; }
