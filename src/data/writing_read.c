/* Strokes of one's own: JSON lines. */
#include "heed/text.h"
#include "heed/writing.h"
#include <math.h>
#include <string.h>

#define FARTHEST 1e9 /* a place beyond is no writing */

/* The points of a piece as they are read. */
struct piece {
    float *point;
    int64_t n, room;
    double x, y; /* of the last one */
};

static bool put(heed_ctx *cx, struct piece *p, double x, double y) {
    if (!(fabs(x) <= FARTHEST && fabs(y) <= FARTHEST))
        return heed_fail(cx, HEED_ERR_RANGE, "a point at (%g, %g) is too far away", x, y);
    if (p->n == HEED_WRITING_LONGEST)
        return heed_fail(cx, HEED_ERR_RANGE, "a piece of more than %d points", HEED_WRITING_LONGEST);
    if (p->n == p->room) {
        const int64_t more = p->room ? 2 * p->room : 256;
        float *const larger = heed_mem_resize(cx, p->point, (size_t)(3 * more) * sizeof *larger);
        if (!larger) return false;
        p->point = larger;
        p->room = more;
    }
    float *const to = p->point + 3 * p->n;
    to[0] = p->n ? (float)(x - p->x) : 0;
    to[1] = p->n ? (float)(y - p->y) : 0;
    to[2] = 0;
    p->x = x, p->y = y;
    p->n++;
    return true;
}

/* [[x, y], [x, y], ...] */
static bool read_points(heed_ctx *cx, heed_json stroke, struct piece *p) {
    for (heed_json at = heed_json_first(stroke); heed_json_kind_of(at) != HEED_JSON_NONE; at = heed_json_next(at)) {
        const heed_json x = heed_json_first(at), y = heed_json_next(x);
        if (heed_json_kind_of(at) != HEED_JSON_ARRAY || heed_json_count(at) < 2)
            return heed_json_fail(cx, at, "expected a point [x, y]");
        const double px = heed_json_number(cx, x, NULL), py = heed_json_number(cx, y, NULL);
        if (heed_failed(cx) || !put(cx, p, px, py)) return false;
    }
    return true;
}

/* [[x, x, ...], [y, y, ...]] */
static bool read_lists(heed_ctx *cx, heed_json stroke, struct piece *p) {
    const heed_json xs = heed_json_first(stroke), ys = heed_json_next(xs);
    heed_json x = heed_json_first(xs), y = heed_json_first(ys);
    if (heed_json_kind_of(xs) != HEED_JSON_ARRAY || heed_json_kind_of(ys) != HEED_JSON_ARRAY ||
        heed_json_count(xs) != heed_json_count(ys))
        return heed_json_fail(cx, stroke, "expected two lists, of x and of y, of one length");
    for (; heed_json_kind_of(x) != HEED_JSON_NONE; x = heed_json_next(x), y = heed_json_next(y)) {
        const double px = heed_json_number(cx, x, NULL), py = heed_json_number(cx, y, NULL);
        if (heed_failed(cx) || !put(cx, p, px, py)) return false;
    }
    return true;
}

static bool read_strokes(heed_ctx *cx, heed_json list, bool quick_draw, struct piece *p) {
    for (heed_json s = heed_json_first(list); heed_json_kind_of(s) != HEED_JSON_NONE; s = heed_json_next(s)) {
        const int64_t before = p->n;
        if (heed_json_kind_of(s) != HEED_JSON_ARRAY) return heed_json_fail(cx, s, "expected a stroke, a list");
        if (!(quick_draw ? read_lists(cx, s, p) : read_points(cx, s, p))) return false;
        if (p->n > before) p->point[3 * p->n - 1] = 1; /* the pen is lifted */
    }
    return p->n > 0 || heed_fail(cx, HEED_ERR_FORMAT, "there are no points");
}

static bool read_line(heed_ctx *cx, const char *text, size_t size, heed_writings *w) {
    const heed_json line = heed_json_parse(cx, "JSON", text, size);
    if (heed_failed(cx)) return false;
    const bool alone = heed_json_kind_of(line) == HEED_JSON_ARRAY;
    heed_json list = alone ? line : heed_json_find(cx, line, "strokes");
    const bool quick_draw = !alone && heed_json_kind_of(list) == HEED_JSON_NONE;
    if (quick_draw) list = heed_json_find(cx, line, "drawing");
    const char *said = "";
    if (heed_json_kind_of(line) == HEED_JSON_OBJECT) {
        said = heed_json_text_or(cx, line, "text", "");
        if (!heed_failed(cx) && !*said) said = heed_json_text_or(cx, line, "word", "");
    }
    struct piece p = {0};
    bool ok = !heed_failed(cx);
    if (ok && heed_json_kind_of(list) != HEED_JSON_ARRAY)
        ok = heed_fail(cx, HEED_ERR_FORMAT, "there is no list of \"strokes\"");
    ok = ok && read_strokes(cx, list, quick_draw, &p) && heed_writings_add(cx, w, p.point, p.n, said);
    heed_mem_free(cx, p.point);
    heed_json_free(line);
    return ok;
}

bool heed_writings_read(heed_ctx *cx, const char *path, heed_writings *w) {
    heed_lines lines = {0};
    if (heed_failed(cx)) return false;
    if (!path || !w)
        return heed_fail(cx, HEED_ERR_USAGE, "writings_read: the %s NULL", path ? "pieces are" : "path is");
    const char *const name = strcmp(path, "-") == 0 ? "standard input" : path;
    const int64_t before = w->n;
    bool ok = heed_lines_read(cx, path, &lines);
    for (int64_t i = 0; ok && i < lines.count; i++) {
        const char *const text = heed_line_text(&lines, i);
        if (!text[strspn(text, " \t\r")]) continue;
        ok = read_line(cx, text, heed_line_size(&lines, i), w) ||
             heed_fail_in(cx, "%s: line %lld", name, (long long)i + 1);
    }
    heed_lines_free(cx, &lines);
    return ok && (w->n > before || heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no strokes", name));
}

bool heed_writing_put(heed_ctx *cx, const float *points, int64_t n, heed_json at, const char *key) {
    if (!points && n > 0) return heed_fail(cx, HEED_ERR_USAGE, "writing: the points are NULL");
    const heed_json list = heed_json_put_array(cx, at, key);
    heed_json stroke = {0};
    double x = 0, y = 0;
    for (int64_t i = 0; i < n && !heed_failed(cx); i++) {
        const float *const p = points + 3 * i;
        if (i == 0 || points[3 * i - 1] != 0) stroke = heed_json_put_array(cx, list, NULL);
        const heed_json point = heed_json_put_array(cx, stroke, NULL);
        x += (double)p[0], y += (double)p[1];
        heed_json_put_number(cx, point, NULL, round(x * 1000) / 1000);
        heed_json_put_number(cx, point, NULL, round(y * 1000) / 1000);
    }
    return !heed_failed(cx);
}
