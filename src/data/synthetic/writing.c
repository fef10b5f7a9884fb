/* Pieces of writing, and writers. A writer has a style, drawn once: slant, size, width, gaps, the step of the pen, how
 * its digits are bent and which form each has. What differs from digit to digit is how the hand trembles, and a little
 * of size and place. The way of the pen along a stroke is cut into equal steps, so that strokes keep their ends. */
#include "heed/writing.h"
#include "data/synthetic/hand.h"
#include <math.h>
#include <string.h>

/* Streams of writers, apart from those of epochs, layers and pictures of digits. */
#define STREAM_STYLE ((uint64_t)3 << 61)
#define STREAM_TAKE  ((uint64_t)5 << 60)
#define STREAM_TEXT  ((uint64_t)9 << 59)
#define MAX_DIGITS   1000

/* ---- pieces ---- */

/* Room for one more than n things of `size` bytes, doubling. */
static bool grow(heed_ctx *cx, void **data, int64_t *room, int64_t n, size_t size) {
    if (n < *room) return true;
    const int64_t more = n < 32 ? 64 : 2 * n;
    void *larger = heed_mem_resize(cx, *data, (size_t)more * size);
    if (!larger) return false;
    *data = larger;
    *room = more;
    return true;
}

static bool make_room(heed_ctx *cx, heed_writings *w, int64_t points, int64_t bytes) {
    int64_t room = w->room;
    const int64_t n = w->n, used = n > 0 ? w->start[n] : 0, text = n > 0 ? w->text_start[n] : 0;
    void *start = w->start, *text_start = w->text_start, *point = w->point, *letters = w->text;
    bool ok = grow(cx, &start, &room, n + 1, sizeof *w->start);
    w->start = start;
    if (ok) ok = grow(cx, &text_start, &w->room, n + 1, sizeof *w->text_start);
    w->text_start = text_start;
    if (ok) ok = grow(cx, &point, &w->point_room, used + points, 3 * sizeof *w->point);
    w->point = point;
    if (ok) ok = grow(cx, &letters, &w->text_room, text + bytes, 1);
    w->text = letters;
    if (ok && n == 0) w->start[0] = w->text_start[0] = 0;
    return ok;
}

bool heed_writings_add(heed_ctx *cx, heed_writings *w, const float *points, int64_t n, const char *text) {
    if (heed_failed(cx)) return false;
    if (!w || !points || n < 1 || n > HEED_WRITING_LONGEST)
        return heed_fail(cx, HEED_ERR_USAGE, "writing: a piece has 1 to %d points, not %lld", HEED_WRITING_LONGEST,
                         (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const float *const p = points + 3 * i;
        if (!isfinite(p[0]) || !isfinite(p[1]) || (p[2] != 0 && p[2] != 1))
            return heed_fail(cx, HEED_ERR_FORMAT, "writing: point %lld is not two finite numbers and a pen of 0 or 1",
                             (long long)i + 1);
    }
    const int64_t bytes = text ? (int64_t)strlen(text) + 1 : 1;
    if (!make_room(cx, w, n, bytes)) return false;
    memcpy(w->point + 3 * w->start[w->n], points, (size_t)(3 * n) * sizeof *points);
    memcpy(w->text + w->text_start[w->n], text ? text : "", (size_t)bytes);
    w->start[w->n + 1] = w->start[w->n] + n;
    w->text_start[w->n + 1] = w->text_start[w->n] + bytes;
    w->n++;
    return true;
}

void heed_writings_free(heed_ctx *cx, heed_writings *w) {
    if (!w) return;
    heed_mem_free(cx, w->start);
    heed_mem_free(cx, w->point);
    heed_mem_free(cx, w->text_start);
    heed_mem_free(cx, w->text);
    *w = (heed_writings){0};
}

const float *heed_writing_points(const heed_writings *w, int64_t i, int64_t *n) {
    const bool has = w && i >= 0 && i < w->n;
    if (n) *n = has ? w->start[i + 1] - w->start[i] : 0;
    if (!has) return NULL;
    return w->point + 3 * w->start[i];
}

const char *heed_writing_text(const heed_writings *w, int64_t i) {
    return !w || i < 0 || i >= w->n ? "" : w->text + w->text_start[i];
}

/* ---- writers ---- */

static heed_writer draw_writer(uint64_t seed, int64_t writer, struct hand *h) {
    struct draws d = {.seed = seed, .stream = STREAM_STYLE + (uint64_t)writer};
    heed_writer w;
    *h = (struct hand){.radius = 1};
    hand_bend(h, &d, 0.16f, 0.12f);
    w.height = draw(&d, 14.0f, 26.0f);
    w.width = w.height * draw(&d, 0.55f, 1.05f);
    w.slant = draw(&d, -0.5f, 0.9f);
    w.gap = w.height * draw(&d, 0.15f, 0.4f);
    w.step = w.height * draw(&d, 0.12f, 0.2f);
    w.tremble = draw(&d, 0.002f, 0.014f);
    w.line = draw_middling(&d, -0.12f, 0.12f);
    for (int i = 0; i < 10; i++) w.form[i] = draw_index(&d, strokes_of_digit[i].forms);
    h->tremble = w.tremble;
    return w;
}

heed_writer heed_writer_of(uint64_t seed, int64_t writer) {
    struct hand h;
    return draw_writer(seed, writer, &h);
}

/* ---- the pen ---- */

struct pen {
    float *point; /* (room, 3) */
    int64_t n, room;
    struct point at;
    bool begun;
};

static void move_to(struct pen *p, struct point to) {
    if (p->n == p->room) return;
    float *const out = p->point + 3 * p->n++;
    out[0] = p->begun ? to.x - p->at.x : 0;
    out[1] = p->begun ? to.y - p->at.y : 0;
    out[2] = 0;
    p->at = to;
    p->begun = true;
}

static void lift(struct pen *p) {
    if (p->n > 0) p->point[3 * p->n - 1] = 1;
}

static float way_of(struct point a, struct point b) {
    const float x = b.x - a.x, y = b.y - a.y;
    return sqrtf(x * x + y * y);
}

/* Along a path in equal steps of about `step`; `on`: the pen stands at its beginning. */
static void walk(struct pen *p, const struct point *path, int n, float step, bool on) {
    float length = 0;
    for (int i = 1; i < n; i++) length += way_of(path[i - 1], path[i]);
    const int steps = length > step ? (int)(length / step + 0.5f) : 1;
    float behind = 0, piece = way_of(path[0], path[1]);
    if (!on) move_to(p, path[0]);
    for (int k = 1, i = 1; k <= steps; k++) {
        const float want = length * (float)k / (float)steps;
        while (i < n - 1 && behind + piece < want) {
            behind += piece;
            piece = way_of(path[i], path[i + 1]);
            i++;
        }
        float t = piece > 0 ? (want - behind) / piece : 1;
        if (t > 1 || k == steps) t = 1;
        const struct point a = path[i - 1], b = path[k == steps ? n - 1 : i];
        move_to(p, k == steps ? b : (struct point){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)});
    }
}

/* Strokes of which one begins where the other ends are one stroke of the pen. */
static bool goes_on(const struct stroke *s, const struct stroke *next) {
    const uint8_t *const end = s->at[s->points - 1], *const begin = next->at[0];
    return next->points > 0 && end[0] == begin[0] && end[1] == begin[1];
}

static void write_form(struct pen *p, const struct hand *h, const struct form *form, float step, struct draws *d) {
    bool on = false;
    for (int k = 0; k < FORM_STROKES && form->stroke[k].points > 0; k++) {
        struct point path[PATH_POINTS];
        float radius[2];
        const int n = hand_path(h, &form->stroke[k], d, path, radius);
        walk(p, path, n, step, on);
        on = k + 1 < FORM_STROKES && goes_on(&form->stroke[k], &form->stroke[k + 1]);
        if (!on) lift(p);
    }
}

/* Left and right ends of a form, in its square. */
static void ends_of(const struct form *form, float *left, float *right) {
    *left = 1, *right = 0;
    for (int k = 0; k < FORM_STROKES; k++)
        for (int i = 0; i < form->stroke[k].points; i++) {
            *left = fminf(*left, (float)form->stroke[k].at[i][0] * 0.01f);
            *right = fmaxf(*right, (float)form->stroke[k].at[i][0] * 0.01f);
        }
}

static void write_digits(struct pen *p, uint64_t seed, int64_t writer, int64_t take, const char *digits) {
    struct hand h;
    const heed_writer w = draw_writer(seed, writer, &h);
    struct draws d = {.seed = seed, .stream = STREAM_TAKE + ((uint64_t)writer << 16) + (uint64_t)take};
    float x = 0;
    for (const char *c = digits; *c; c++) {
        const struct form *const form = &strokes_of_digit[*c - '0'].form[w.form[*c - '0']];
        const float size = draw_middling(&d, 0.92f, 1.08f), width = w.width * size, height = w.height * size;
        float left, right;
        ends_of(form, &left, &right);
        hand_shape(&h, width, height, w.slant * w.height / w.width, 0);
        h.x = x + (0.5f - left) * width;
        h.y = h.x * w.line - 0.5f * height + w.height * draw_middling(&d, -0.05f, 0.05f); /* they stand on the line */
        h.x += 0.5f * w.slant * (height - w.height); /* feet are as far apart as upright digits are */
        write_form(p, &h, form, w.step, &d);
        x += (right - left) * width + w.gap * draw(&d, 0.75f, 1.25f);
    }
}

bool heed_writings_digits(heed_ctx *cx, uint64_t seed, int64_t writer, int64_t take, const char *digits,
                          heed_writings *w) {
    if (heed_failed(cx)) return false;
    const size_t n = digits ? strlen(digits) : 0;
    if (n < 1 || n > MAX_DIGITS || strspn(digits, "0123456789") != n)
        return heed_fail(cx, HEED_ERR_USAGE, "writing: 1 to %d digits are needed", MAX_DIGITS);
    struct pen p = {.room = (int64_t)n * 96}; /* a digit is at most some 60 steps long */
    if (!(p.point = heed_mem_new(cx, (size_t)(3 * p.room) * sizeof *p.point))) return false;
    write_digits(&p, seed, writer, take, digits);
    const bool ok = heed_writings_add(cx, w, p.point, p.n, digits);
    heed_mem_free(cx, p.point);
    return ok;
}

bool heed_writings_numbers(heed_ctx *cx, uint64_t seed, int64_t first, int64_t n, int least, int most,
                           heed_writings *w) {
    if (heed_failed(cx)) return false;
    if (n < 1 || least < 1 || most < least || most > 64)
        return heed_fail(cx, HEED_ERR_RANGE, "writing: numbers of %d to %d digits: 1 to 64 are written", least, most);
    for (int64_t i = first; i < first + n; i++) {
        struct draws d = {.seed = seed, .stream = STREAM_TEXT + (uint64_t)i};
        char digits[65];
        const int length = least + draw_index(&d, most - least + 1);
        for (int k = 0; k < length; k++) digits[k] = (char)('0' + draw_index(&d, 10));
        digits[length] = 0;
        if (!heed_writings_digits(cx, seed, i, 0, digits, w)) return false;
    }
    return true;
}

/* ---- measuring ---- */

/* The fall of the line is that of a straight line through all points; the height is four deviations from it, which of
 * digits is about theirs. */
static double height_of(const float *p, int64_t n) {
    double x = 0, y = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (int64_t i = 0; i < n; i++, p += 3) {
        x += (double)p[0], y += (double)p[1];
        sx += x, sy += y, sxx += x * x, sxy += x * y, syy += y * y;
    }
    const double count = (double)n, vx = sxx - sx * sx / count, vy = syy - sy * sy / count;
    const double both = sxy - sx * sy / count, left = vx > 0 ? vy - both * both / vx : vy;
    return 4 * sqrt(left > 0 ? left / count : 0);
}

heed_writing_style heed_writing_style_of(const float *points, int64_t n) {
    double across = 0, along = 0, way = 0;
    int64_t steps = 0;
    for (int64_t i = 1; points && i < n; i++) {
        const float *const p = points + 3 * i;
        const double dx = (double)p[0], dy = (double)p[1];
        if (points[3 * i - 1] != 0) continue; /* in the air */
        way += sqrt(dx * dx + dy * dy);
        steps++;
        if (fabs(dy) < 0.7 * fabs(dx)) continue;
        across -= dy > 0 ? dx : -dx;
        along += fabs(dy);
    }
    return (heed_writing_style){.slant = along > 0 ? across / along : 0,
                                .height = points && n > 0 ? height_of(points, n) : 0,
                                .step = steps > 0 ? way / (double)steps : 0};
}
