/* The attention of models of pictures: where in the picture the tokens lie, and the picture to draw it over. Nothing
 * here knows a family: its head's `place` says where they lie, and whether they do.
 *
 * A map within windows is (windows, heads, n, n). It is not unfolded: cells say which patch each token of a window is,
 * with the shift undone. Where windows overlap, a patch is a token of several. */
#include "inspect/attended.h"
#include "model/core/families.h"
#include "model/core/place.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIXELS 8192 /* of a view's side */
#define FEW        4    /* times as many pixels as the model is given: each of those is seen */

/* ---- the input ---- */

bool attend_read_picture(struct attended *a, heed_io *in) {
    const heed_attend_input *const input = a->input;
    heed_ctx *const cx = a->cx;
    const heed_image_processor *const p = input->processor;
    int64_t channels = 0, *const size[] = {&a->out.height, &a->out.width};
    if (!p || !input->picture)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: a model of pictures, its processor and a picture are needed");
    float *const values = heed_image_process(cx, p, input->picture, &channels, size[0], size[1]);
    if (!values) return false;
    heed_tensor *const x = heed_from_f32(cx, values, 4, (int64_t[]){1, channels, *size[0], *size[1]});
    heed_mem_free(cx, values);
    a->picture = input->picture;
    memcpy(a->fill, p->fill, sizeof a->fill);
    return x && heed_image_processor_box(cx, p, input->picture, &a->box) && heed_io_put(cx, in, "pixel_values", x);
}

/* ---- windows ---- */

/* Where place i of window w of an axis comes from, which may be padded and rolled; -1: it is padding. */
static int64_t unrolled(const struct picture_place *p, int axis, int64_t w, int64_t i) {
    const int64_t grid = p->grid[axis], padded = p->count[axis] * p->window[axis], at = w * p->window[axis] + i;
    const int64_t there = w * p->stride[axis] - p->before[axis] + i; /* of windows that overlap */
    if (p->stride[axis] > 0) return there >= 0 && there < grid ? there : -1;
    if (p->rolled_first) return at < grid ? (at + p->shift[axis]) % grid : -1;
    const int64_t from = (at + p->shift[axis]) % padded;
    return from < grid ? from : -1;
}

/* The patch of each token of the windows. */
static int32_t *find_cells(heed_ctx *cx, const struct picture_place *p, const heed_capture_map *m) {
    const int64_t a = p->window[0] * p->window[1], windows = p->count[0] * p->count[1];
    int64_t found = 0;
    const bool fit = m->batch == windows && m->rows == a && m->keys == a && windows * a <= INT32_MAX;
    int32_t *const cell = fit ? heed_mem_new(cx, (size_t)(windows * a) * sizeof *cell) : NULL;
    for (int64_t k = 0; cell && k < windows * a; k++) {
        const int64_t w = k / a, i = k % a;
        const int64_t row = unrolled(p, 0, w / p->count[1], i / p->window[1]);
        const int64_t column = unrolled(p, 1, w % p->count[1], i % p->window[1]);
        cell[k] = row < 0 || column < 0 ? -1 : (int32_t)(row * p->grid[1] + column);
        found += cell[k] >= 0;
    }
    const int64_t patches = p->grid[0] * p->grid[1];
    if (cell && (p->stride[0] > 0 ? found >= patches : found == patches)) return cell;
    heed_mem_free(cx, cell);
    heed_fail(cx, HEED_ERR_SHAPE, "attend: a map of %lld windows of %lld tokens is not of this grid",
              (long long)m->batch, (long long)m->rows);
    return NULL;
}

/* ---- places ---- */

static int64_t tokens_before(const struct picture_place *p) {
    return p->classes + p->distillations + p->registers + p->detections;
}

/* Tokens behind the patches go before them: n of them, the last, to place `to` in each row and of the rows. */
static bool move_last(heed_ctx *cx, const heed_capture_map *m, int64_t to, int64_t n) {
    const int64_t T = m->keys, moved = T - n - to; /* patches */
    if (n == 0) return true;
    if (m->rows != T || moved < 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "attend: a map of %lld tokens has no %lld behind its patches",
                         (long long)T, (long long)n);
    const size_t size = (size_t)T * (size_t)T * sizeof(float);
    float *const before = heed_mem_new(cx, size), *w = (float *)(uintptr_t)m->weights; /* memory of `attended` */
    for (int64_t k = 0; before && k < m->batch * m->heads; k++, w += T * T) {
        memcpy(before, w, size);
        for (int64_t i = 0; i < T; i++) {
            const float *const row = before + (i < to ? i : i < to + n ? i + moved : i - n) * T;
            memcpy(w + i * T, row, (size_t)to * sizeof *w);
            memcpy(w + i * T + to, row + to + moved, (size_t)n * sizeof *w);
            memcpy(w + i * T + to + n, row + to, (size_t)moved * sizeof *w);
        }
    }
    heed_mem_free(cx, before);
    return !heed_failed(cx);
}

/* The learned queries, which others of that number share. */
static const heed_axis *learned_axis(struct attended *a, const struct picture_place *p) {
    for (const struct side *s = a->sides; s; s = s->before)
        if (s->axis.rows == 0 && s->axis.n == p->learned && s->axis.has_class == p->late) return &s->axis;
    const bool find = a->out.n_objects == p->learned;
    struct side *const side = side_numbered(a,
                                            find             ? "object queries"
                                            : p->learned > 1 ? "latents"
                                                             : "queries",
                                            p->learned);
    if (!side) return NULL;
    side->axis.has_class = p->late;
    if (p->learned == 1) strcpy(side_name(side, 0), p->late ? "class" : "query");
    return &side->axis;
}

/* The number-th of n: without it where there is one. */
static void name_one(char *to, const char *what, int64_t number, int64_t n) {
    if (n > 1)
        snprintf(to, NAME_ROOM, "%s %lld", what, (long long)number);
    else
        snprintf(to, NAME_ROOM, "%s", what);
}

static void name_token(const struct picture_place *p, int64_t i, char *to) {
    if (i < p->classes) return name_one(to, "class", 0, 1);
    if ((i -= p->classes) < p->distillations) return name_one(to, "distillation", 0, 1);
    if ((i -= p->distillations) < p->registers) return name_one(to, "register", i, p->registers);
    if ((i -= p->registers) < p->detections) return name_one(to, "detection", i, p->detections);
    i -= p->detections;
    snprintf(to, NAME_ROOM, "%lld,%lld", (long long)(i / p->grid[1]), (long long)(i % p->grid[1]));
}

/* The tokens, which layers that have them alike share. */
static const heed_axis *token_axis(struct attended *a, const struct picture_place *p) {
    const int64_t first = tokens_before(p), n = first + p->grid[0] * p->grid[1];
    for (const struct side *s = a->sides; s; s = s->before)
        if (s->axis.first == first && s->axis.detections == p->detections && s->axis.rows == p->grid[0] &&
            s->axis.columns == p->grid[1] && s->axis.patch_height == p->patch[0] &&
            s->axis.patch_width == p->patch[1] && s->axis.has_class == (p->classes > 0))
            return &s->axis;
    struct side *const side = side_numbered(a, "patches", n);
    if (!side) return NULL;
    for (int64_t i = 0; i < n; i++) name_token(p, i, side_name(side, i));
    side->axis.has_class = p->classes > 0;
    side->axis.first = first;
    side->axis.detections = p->detections;
    side->axis.rows = p->grid[0], side->axis.columns = p->grid[1];
    side->axis.patch_height = p->patch[0], side->axis.patch_width = p->patch[1];
    return &side->axis;
}

static bool find_place(struct attended *a, int i, const struct picture_place *p) {
    const heed_capture_map *const m = &a->captured[i];
    struct attended_map *const of = &a->of[i];
    struct picture_place asking = {0}; /* a grid of queries of their own */
    for (int k = 0; k < 2; k++) asking.grid[k] = p->query_grid[k], asking.patch[k] = p->query_patch[k];
    if (!(of->keys = token_axis(a, p))) return false;
    of->queries = p->learned > 0 ? learned_axis(a, p) : asking.grid[0] > 0 ? token_axis(a, &asking) : of->keys;
    if (!of->queries) return false;
    if (p->window[0] > 0) return (of->cells = find_cells(a->cx, p, m)) != NULL;
    return (m->keys == of->keys->n && m->batch == 1 && m->rows == of->queries->n) ||
           heed_fail(a->cx, HEED_ERR_SHAPE, "attend: a map of %lld tokens, and the picture has %lld",
                     (long long)m->keys, (long long)of->keys->n);
}

/* Maps that do not lie in the picture are left out. */
bool attend_place_picture(struct attended *a) {
    const heed_head *const head = heed_model_head(a->model);
    const int64_t size[] = {a->out.height, a->out.width};
    bool found = false, stages = false;
    for (int i = 0; head->place && i < a->n; i++) {
        struct picture_place p = {0};
        const heed_capture_map *const m = &a->captured[i];
        if (!head->place(model_own(a->model), size, m, &p)) continue;
        if (!move_last(a->cx, m, tokens_before(&p) - p.detections, p.detections) || !find_place(a, i, &p)) return false;
        snprintf(a->of[i].site, NAME_ROOM, "%.47s", p.learned > 0 || p.stride[0] > 0 ? m->site : "attention");
        a->of[i].stage = p.stage;
        stages |= p.stage > 0;
        found = true;
    }
    for (int i = 0; stages && i < a->n; i++)
        if (*a->of[i].site && a->of[i].keys->n > a->of[i].queries->n && a->of[i].queries->rows > 0)
            snprintf(a->of[i].site, NAME_ROOM, "stage %d to %d", a->of[i].stage, a->of[i].stage + 1);
        else if (*a->of[i].site)
            snprintf(a->of[i].site, NAME_ROOM, "stage %d", a->of[i].stage);
    return found ||
           heed_fail(a->cx, HEED_ERR_USAGE, "attend: where the attention of family %s lies in a picture is not known",
                     heed_model_family(a->model)->name);
}

/* ---- the picture below ---- */

/* The sides of a picture whose longer one is about so many pixels, whole for each patch. */
static void view_size(const heed_axis *s, double width, double height, int64_t longer, int64_t size[2]) {
    const double scale = (double)longer / fmax(width, height);
    const double down = rint(height * scale / (double)s->rows), across = rint(width * scale / (double)s->columns);
    size[0] = s->rows * (int64_t)fmax(down, 1);
    size[1] = s->columns * (int64_t)fmax(across, 1);
}

/* The box of a picture in this size, or, where that has many times the pixels that the model is given, these pixels. */
static bool shrink(heed_ctx *cx, const heed_image *in, const heed_box *box, const heed_axis *s, const int64_t size[2],
                   heed_image *out) {
    const int64_t given[2] = {s->rows * s->patch_height, s->columns * s->patch_width};
    if (size[1] < FEW * given[1]) return heed_image_resize(cx, in, size[1], size[0], HEED_FILTER_LANCZOS, box, out);
    heed_image small = {0};
    const bool ok = heed_image_resize(cx, in, given[1], given[0], HEED_FILTER_LANCZOS, box, &small) &&
                    heed_image_resize(cx, &small, size[1], size[0], HEED_FILTER_NEAREST, NULL, out);
    heed_image_free(cx, &small);
    return ok;
}

bool heed_attended_view(heed_ctx *cx, const heed_attended *a, int site, int64_t longer, heed_image *out) {
    if (heed_failed(cx)) return false;
    if (!a || !a->own->picture || !out || site < 0 || site >= a->n || longer < 1 || longer > MAX_PIXELS)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "attended: a picture's site, a size of 1 to %d and a place for a view are needed", MAX_PIXELS);
    const heed_image *const whole = a->own->picture;
    const heed_axis *const s = a->sites[site].keys;
    heed_box box = a->own->box;
    const double width =
                     ((double)box.right - (double)box.left) / (double)a->width * (double)(s->columns * s->patch_width),
                 height =
                     ((double)box.bottom - (double)box.top) / (double)a->height * (double)(s->rows * s->patch_height);
    int64_t size[2];
    view_size(s, width, height, longer, size);
    box.right = (float)((double)box.left + width);
    box.bottom = (float)((double)box.top + height);
    heed_image part = {0};
    const heed_image *in = whole;
    bool ok = true;
    /* what lies outside is as the model has it */
    if (box.left < 0 || box.top < 0 || box.right > (float)whole->width || box.bottom > (float)whole->height) {
        const int64_t x = (int64_t)floor((double)box.left), y = (int64_t)floor((double)box.top);
        const int64_t w = (int64_t)ceil((double)box.right) - x, h = (int64_t)ceil((double)box.bottom) - y;
        ok = heed_image_crop(cx, whole, x, y, w, h, a->own->fill, &part);
        box.left -= (float)x, box.right -= (float)x, box.top -= (float)y, box.bottom -= (float)y;
        box.right = fminf(box.right, (float)w), box.bottom = fminf(box.bottom, (float)h);
        in = &part;
    }
    ok = ok && shrink(cx, in, &box, s, size, out);
    heed_image_free(cx, &part);
    return ok;
}
