/* Chorales as JSON has them: lists of steps, which are lists of pitches; in an object, by parts. */
#include "io/text.h"
#include "task/music/chorales.h"
#include <string.h>

static bool is_list(heed_json at) { return heed_json_kind_of(at) == HEED_JSON_ARRAY; }
static bool more(heed_json at) { return heed_json_kind_of(at) != HEED_JSON_NONE; }

static bool read_pitch(heed_ctx *cx, heed_json at, int32_t *to) {
    *to = HEED_REST;
    if (heed_json_kind_of(at) == HEED_JSON_NULL) return true;
    const double x = heed_json_number(cx, at, NULL);
    if (heed_failed(cx) || x == -1) return !heed_failed(cx);
    if (!(x >= 0 && x <= 127) || x != (double)(int)x)
        return heed_json_fail(cx, at, "%g is no pitch: expected a MIDI number, 0 to 127, or -1 for a rest", x);
    *to = (int32_t)x;
    return true;
}

/* The pitches of a step; the number of them, or -1. */
static int read_step(heed_ctx *cx, heed_json step, int32_t pitch[HEED_VOICES]) {
    if (!is_list(step)) return heed_json_fail(cx, step, "expected the list of a step's pitches"), -1;
    if (heed_json_count(step) > HEED_VOICES)
        return heed_json_fail(cx, step, "%lld pitches at a time: there are four voices",
                              (long long)heed_json_count(step)),
               -1;
    int n = 0;
    for (heed_json at = heed_json_first(step); more(at); at = heed_json_next(at))
        if (!read_pitch(cx, at, &pitch[n++])) return -1;
    return n;
}

/* Whether one of the steps has fewer pitches than voices; *descends: whether one of them goes down. */
static bool look(heed_ctx *cx, heed_json chorale, bool *descends) {
    for (heed_json step = heed_json_first(chorale); more(step); step = heed_json_next(step)) {
        double last = -1;
        if (is_list(step) && heed_json_count(step) < HEED_VOICES) return true;
        for (heed_json at = heed_json_first(step); more(at); at = heed_json_next(at)) {
            const bool whole = heed_json_kind_of(at) == HEED_JSON_INT;
            const double x = whole ? (double)heed_json_int(cx, at, NULL) : -1;
            *descends |= x >= 0 && x < last;
            last = x >= 0 ? x : last;
        }
    }
    return false;
}

/* From high to low, without rests. */
static int sort(int32_t pitch[HEED_VOICES], int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        const int32_t x = pitch[i];
        int k = kept;
        if (x == HEED_REST) continue;
        for (; k > 0 && pitch[k - 1] < x; k--) pitch[k] = pitch[k - 1];
        pitch[k] = x;
        kept++;
    }
    return kept;
}

static bool read_chorale(heed_ctx *cx, heed_json list, bool sets, heed_chorales *to) {
    int32_t before[HEED_VOICES] = {HEED_REST, HEED_REST, HEED_REST, HEED_REST}, pitch[HEED_VOICES], sung[HEED_VOICES];
    if (!is_list(list)) return heed_json_fail(cx, list, "expected the list of a chorale's steps");
    if (!more(heed_json_first(list))) return heed_json_fail(cx, list, "a chorale without a step");
    if (heed_json_count(list) > CHORALE_STEPS_MAX)
        return heed_json_fail(cx, list, "%lld steps are too many", (long long)heed_json_count(list));
    if (!chorales_begin(cx, to)) return false;
    for (heed_json step = heed_json_first(list); more(step); step = heed_json_next(step)) {
        const int n = read_step(cx, step, pitch);
        if (n < 0) return false;
        if (sets)
            chorale_assign(pitch, sort(pitch, n), before, sung);
        else
            memcpy(sung, pitch, sizeof sung);
        for (int v = 0; v < HEED_VOICES; v++)
            if (sung[v] != HEED_REST) before[v] = sung[v];
        if (!chorales_step(cx, to, sung, NULL)) return false;
    }
    return chorales_end(cx, to);
}

static bool is_step(heed_json at) {
    const heed_json_kind kind = heed_json_kind_of(heed_json_first(at));
    return is_list(at) && (kind == HEED_JSON_INT || kind == HEED_JSON_REAL || kind == HEED_JSON_NULL);
}

/* A list of chorales, or one alone. Steps are sets where one has fewer pitches than voices, or none goes down. */
static bool read_list(heed_ctx *cx, heed_json list, heed_chorales *to) {
    if (!is_list(list)) return heed_json_fail(cx, list, "expected a list of chorales");
    bool few = false, descends = false;
    if (is_step(heed_json_first(list))) {
        few = look(cx, list, &descends);
        return read_chorale(cx, list, few || !descends, to);
    }
    for (heed_json chorale = heed_json_first(list); more(chorale) && !few; chorale = heed_json_next(chorale))
        few = look(cx, chorale, &descends);
    for (heed_json chorale = heed_json_first(list); more(chorale); chorale = heed_json_next(chorale))
        if (!read_chorale(cx, chorale, few || !descends, to) || heed_cancelled(cx)) return false;
    return true;
}

/* The member of a part under one of its names. */
static heed_json find_part(heed_ctx *cx, heed_json at, const char *part) {
    static const char *const valid[] = {"valid", "val", "validation", "dev"};
    heed_json found = heed_json_find(cx, at, part);
    for (int i = 0; i < 4 && strcmp(part, valid[0]) == 0 && !more(found); i++) found = heed_json_find(cx, at, valid[i]);
    return found;
}

static bool read_parts(heed_ctx *cx, heed_json at, const char *part, heed_chorales *to) {
    static const char *const names[] = {"train", "valid", "test", "chorale"};
    bool known = false;
    for (int i = 0; i < 4; i++) {
        const heed_json found = find_part(cx, at, names[i]);
        known |= more(found);
        const char *const of = i == 3 ? "train" : names[i];
        if (more(found) && (!part || strcmp(part, of) == 0) && !read_list(cx, found, to)) return false;
    }
    return known || heed_json_fail(cx, at, "expected \"train\", \"valid\", \"test\" or \"chorale\"");
}

bool chorales_parse_json(heed_ctx *cx, const char *name, const char *text, size_t size, const char *part,
                         heed_chorales *to) {
    const heed_json at = heed_json_parse(cx, name, text, size);
    bool ok = !heed_failed(cx);
    if (ok && heed_json_kind_of(at) == HEED_JSON_OBJECT)
        ok = read_parts(cx, at, part, to);
    else if (ok && is_list(at))
        ok = (part && strcmp(part, "train") != 0) || read_list(cx, at, to);
    else if (ok)
        ok = heed_json_fail(cx, at, "expected lists of chorales");
    heed_json_free(at);
    return ok;
}
