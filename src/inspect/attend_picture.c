/* From a picture to the attention over it: one forward pass with every weight captured, and where in the picture the
 * tokens lie. Nothing here knows a family: its head's `place` says where they lie, and whether they do.
 *
 * A map within windows is (windows, heads, n, n). It is not unfolded: slot[c] says which token of which window patch c
 * is, cell[] the other way round, and the weights of a query are put where its window lies, the shift undone. */
#include "attention/attention.h"
#include "heed/attend.h"
#include "inspect/attend_capture.h"
#include "model/core/families.h"
#include "model/core/place.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_ROOM   32
#define MOST_PIXELS 8192 /* of a view's side */
#define FEW         4    /* times as many pixels as the model is given: each of those is seen */

struct picture_layer {
    const heed_capture_map *map;
    struct picture_place place;
    int32_t *cell; /* (windows n): the patch of each token, -1: padding. NULL: there are no windows */
    int32_t *slot; /* (rows columns) */
};

struct attended_picture {
    heed_attended_picture out; /* first: what the caller has */
    const heed_image *picture;
    heed_box box; /* of the picture, which the model is given */
    uint8_t fill[4];
    heed_capture_map *maps;
    int n_maps, n_layers;
    struct picture_layer *layers; /* one for each map that lies in the picture, in order */
    heed_picture_site *sites;
    char (*names)[NAME_ROOM]; /* of sites */
    const char **first;       /* names of the tokens before the patches */
    char (*letters)[NAME_ROOM];
};

/* ---- windows ---- */

/* Where place `at` of the padded and rolled axis comes from; -1: it is padding. */
static int64_t unrolled(const struct picture_place *p, int axis, int64_t at) {
    const int64_t grid = p->grid[axis], padded = p->count[axis] * p->window[axis];
    if (p->rolled_first) return at < grid ? (at + p->shift[axis]) % grid : -1;
    const int64_t from = (at + p->shift[axis]) % padded;
    return from < grid ? from : -1;
}

static bool find_cells(heed_ctx *cx, struct picture_layer *l) {
    const struct picture_place *const p = &l->place;
    if (p->window[0] == 0) return true;
    const int64_t a = p->window[0] * p->window[1], windows = p->count[0] * p->count[1], n = p->grid[0] * p->grid[1];
    if (l->map->batch != windows || l->map->rows != a || l->map->keys != a || n > INT32_MAX || windows * a > INT32_MAX)
        return heed_fail(cx, HEED_ERR_SHAPE, "attend: a map of %lld windows of %lld tokens is not of this grid",
                         (long long)l->map->batch, (long long)l->map->rows);
    l->cell = heed_mem_new(cx, (size_t)(windows * a + n) * sizeof *l->cell);
    if (!l->cell) return false;
    l->slot = l->cell + windows * a;
    memset(l->slot, 0, (size_t)n * sizeof *l->slot);
    for (int64_t k = 0; k < windows * a; k++) {
        const int64_t w = k / a, i = k % a;
        const int64_t row = unrolled(p, 0, w / p->count[1] * p->window[0] + i / p->window[1]);
        const int64_t column = unrolled(p, 1, w % p->count[1] * p->window[1] + i % p->window[1]);
        l->cell[k] = row < 0 || column < 0 ? -1 : (int32_t)(row * p->grid[1] + column);
        if (l->cell[k] >= 0) l->slot[l->cell[k]] = (int32_t)k;
    }
    return true;
}

/* ---- rows ---- */

static int64_t tokens_of(const heed_picture_site *s) { return s->first + s->rows * s->columns; }

/* Adds the row of one head, `times` as heavy. */
static void add_row(const heed_picture_site *s, const struct picture_layer *l, int64_t head, int64_t query,
                    double times, double *out) {
    const heed_capture_map *const m = l->map;
    const int64_t n = m->keys;
    if (!l->cell) {
        const float *const w = m->weights + (head * m->rows + query) * n;
        for (int64_t j = 0; j < n; j++) out[j] += times * (double)w[j];
        return;
    }
    const int64_t window = l->slot[query] / n, row = l->slot[query] % n;
    const float *const w = m->weights + ((window * m->heads + head) * n + row) * n;
    const int32_t *const cell = l->cell + window * n;
    for (int64_t j = 0; j < n; j++)
        if (cell[j] >= 0) out[s->first + cell[j]] += times * (double)w[j];
}

/* Adds `times` the row of a query, of one head or the mean of all. */
static void add_rows(const heed_picture_site *s, const struct picture_layer *l, int64_t head, int64_t query,
                     double times, double *out) {
    const int64_t low = head < 0 ? 0 : head, high = head < 0 ? s->heads : head + 1;
    for (int64_t h = low; h < high; h++) add_row(s, l, h, query, times / (double)(high - low), out);
}

static int64_t queries_of(const heed_picture_site *s) { return s->learned > 0 ? s->learned : tokens_of(s); }

/* Adds the mean of the rows that a query stands for: its own; of the reader those of the class token, of all learned
 * queries or of all patches. */
static void add_query(const heed_picture_site *s, int layer, int64_t head, int64_t query, double *out) {
    const bool all = query == HEED_READER && !s->has_class;
    const int64_t low = all ? (s->learned > 0 ? 0 : s->first) : query == HEED_READER ? 0 : query;
    const int64_t high = all ? queries_of(s) : low + 1;
    for (int64_t q = low; q < high; q++) add_rows(s, &s->own[layer], head, q, 1 / (double)(high - low), out);
}

static bool check(heed_ctx *cx, const heed_picture_site *s, int layer, int64_t head, int64_t query, const void *out) {
    if (heed_failed(cx)) return false;
    if (!s || !out) return heed_fail(cx, HEED_ERR_USAGE, "attended: a site and a place for numbers are needed");
    if (layer < 0 || layer >= s->layers || head < -1 || head >= s->heads)
        return heed_fail(cx, HEED_ERR_RANGE, "attended: layer %d, head %lld of %d layers of %lld heads", layer,
                         (long long)head, s->layers, (long long)s->heads);
    return (query >= HEED_READER && query < queries_of(s)) ||
           heed_fail(cx, HEED_ERR_RANGE, "attended: query %lld of %lld", (long long)query, (long long)queries_of(s));
}

static double *zeros(heed_ctx *cx, int64_t n) {
    double *const x = heed_mem_new(cx, (size_t)n * sizeof *x);
    for (int64_t i = 0; x && i < n; i++) x[i] = 0;
    return x;
}

bool heed_attended_row(heed_ctx *cx, const heed_picture_site *s, int layer, int64_t head, int64_t query, float *out) {
    if (!check(cx, s, layer, head, query, out)) return false;
    const int64_t n = tokens_of(s);
    double *const sum = zeros(cx, n);
    if (!sum) return false;
    add_query(s, layer, head, query, sum);
    for (int64_t i = 0; i < n; i++) out[i] = (float)sum[i];
    heed_mem_free(cx, sum);
    return true;
}

/* ---- rollout ---- */

/* r over the tokens of a layer -> r (W + I) / 2, the rows of W made to sum to 1: windows may look at padding. */
static void back_through(const heed_picture_site *s, int layer, const double *r, double *row, double *to) {
    const int64_t n = tokens_of(s);
    for (int64_t j = 0; j < n; j++) to[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (r[i] == 0) continue;
        double sum = 0;
        for (int64_t j = 0; j < n; j++) row[j] = 0;
        add_rows(s, &s->own[layer], -1, i, 1, row);
        for (int64_t j = 0; j < n; j++) sum += row[j];
        for (int64_t j = 0; j < n && sum > 0; j++) to[j] += 0.5 * r[i] * row[j] / sum;
        to[i] += (sum > 0 ? 0.5 : 1) * r[i];
    }
}

/* From the patches of a stage to those of the one before, of which up to four became one. */
static void unmerge(const heed_picture_site *from, const heed_picture_site *to, const double *r, double *out) {
    for (int64_t j = 0; j < tokens_of(to); j++) out[j] = 0;
    for (int64_t i = 0; i < from->rows * from->columns; i++) {
        const int64_t y = 2 * (i / from->columns), x = 2 * (i % from->columns);
        const int64_t down = y + 1 < to->rows ? 2 : 1, across = x + 1 < to->columns ? 2 : 1;
        for (int64_t k = 0; k < down * across; k++)
            out[(y + k / across) * to->columns + x + k % across] += r[i] / (double)(down * across);
    }
}

/* A class token that comes late looks at itself and at patches that stay as they are. What it keeps of its own
 * beginning is left out where the site before knows no class token. */
static void begin_late(const heed_picture_site *s, const heed_picture_site *before, int layer, double *row, double *r) {
    double own = 1;
    for (int l = layer; l >= 0; l--) {
        for (int64_t j = 0; j < tokens_of(s); j++) row[j] = 0;
        add_rows(s, &s->own[l], -1, 0, own / 2, row);
        for (int64_t i = 0; i < s->rows * s->columns; i++) r[before->first + i] += row[s->first + i];
        own = own / 2 + row[0];
    }
    if (s == before) r[0] = own;
}

/* Where it begins: one token, all patches alike, or what a learned query looks at, which is of the site before; where
 * there is none, that is all. */
static int begin_rollout(const heed_attended_picture *a, int site, int layer, int64_t query, double *row, double *r) {
    const heed_picture_site *const s = &a->sites[site], *const before = &a->sites[0];
    if (s->learned > 0 && s->has_class) {
        begin_late(s, before, layer, row, r);
        return s == before ? -1 : 0;
    }
    if (s->learned > 0) {
        add_query(s, layer, -1, query, r + (tokens_of(before) - tokens_of(s)));
        return s == before ? -1 : 0;
    }
    if (query == HEED_READER && !s->has_class)
        for (int64_t i = s->first; i < tokens_of(s); i++) r[i] = 1 / (double)(s->rows * s->columns);
    else
        r[query == HEED_READER ? 0 : query] = 1;
    return site;
}

bool heed_attended_rollout(heed_ctx *cx, const heed_attended_picture *a, int site, int layer, int64_t query,
                           float *out) {
    if (heed_failed(cx)) return false;
    if (!a || site < 0 || site >= a->n) return heed_fail(cx, HEED_ERR_USAGE, "attended: there is no site %d", site);
    if (!check(cx, &a->sites[site], layer, -1, query, out)) return false;
    const int64_t n = tokens_of(&a->sites[0]), most = n + a->sites[site].first; /* of any site on the way */
    double *const room = zeros(cx, 3 * most), *r = room, *next = room + most, *const row = room + 2 * most;
    if (!room) return false;
    const int from = begin_rollout(a, site, layer, query, row, r);
    for (int s = from; s >= 0; s--) {
        const heed_picture_site *const at = &a->sites[s];
        for (int l = s == site ? layer : at->layers - 1; l >= 0; l--) {
            back_through(at, l, r, row, next);
            double *const old = r;
            r = next, next = old;
        }
        if (s == 0) break;
        unmerge(at, at - 1, r, next);
        double *const old = r;
        r = next, next = old;
    }
    for (int64_t i = 0; i < n; i++) out[i] = (float)r[i];
    heed_mem_free(cx, room);
    return true;
}

/* ---- the picture below ---- */

/* The sides of a picture whose longer one is about so many pixels, whole for each patch. */
static void view_size(const heed_picture_site *s, double width, double height, int64_t longer, int64_t size[2]) {
    const double scale = (double)longer / fmax(width, height);
    const double down = rint(height * scale / (double)s->rows), across = rint(width * scale / (double)s->columns);
    size[0] = s->rows * (int64_t)fmax(down, 1);
    size[1] = s->columns * (int64_t)fmax(across, 1);
}

/* The box of a picture in this size, or, where that has many times the pixels that the model is given, these pixels. */
static bool shrink(heed_ctx *cx, const heed_image *in, const heed_box *box, const heed_picture_site *s,
                   const int64_t size[2], heed_image *out) {
    const int64_t given[2] = {s->rows * s->patch_height, s->columns * s->patch_width};
    if (size[1] < FEW * given[1]) return heed_image_resize(cx, in, size[1], size[0], HEED_FILTER_LANCZOS, box, out);
    heed_image small = {0};
    const bool ok = heed_image_resize(cx, in, given[1], given[0], HEED_FILTER_LANCZOS, box, &small) &&
                    heed_image_resize(cx, &small, size[1], size[0], HEED_FILTER_NEAREST, NULL, out);
    heed_image_free(cx, &small);
    return ok;
}

bool heed_attended_view(heed_ctx *cx, const heed_attended_picture *a, int site, int64_t longer, heed_image *out) {
    if (heed_failed(cx)) return false;
    if (!a || !out || site < 0 || site >= a->n || longer < 1 || longer > MOST_PIXELS)
        return heed_fail(cx, HEED_ERR_USAGE, "attended: a site, a size of 1 to %d and a place for a picture are needed",
                         MOST_PIXELS);
    const heed_image *const whole = a->own->picture;
    const heed_picture_site *const s = &a->sites[site];
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

const heed_capture_map *heed_attended_map(const heed_picture_site *site, int layer, const int32_t **cells) {
    if (cells) *cells = NULL;
    if (!site || layer < 0 || layer >= site->layers) return NULL;
    if (cells) *cells = site->own[layer].cell;
    return site->own[layer].map;
}

/* ---- all of it ---- */

static heed_tensor *pixels_of(heed_ctx *cx, const heed_image_processor *p, const heed_image *picture, int64_t size[2]) {
    int64_t channels;
    float *const values = heed_image_process(cx, p, picture, &channels, &size[0], &size[1]);
    if (!values) return NULL;
    heed_tensor *const x = heed_from_f32(cx, values, 4, (int64_t[]){1, channels, size[0], size[1]});
    heed_mem_free(cx, values);
    return x;
}

static int64_t tokens_before(const struct picture_place *p) { return p->classes + p->distillations + p->registers; }

static bool find_place(heed_ctx *cx, struct picture_layer *l) {
    const struct picture_place *const p = &l->place;
    const int64_t tokens = tokens_before(p) + p->grid[0] * p->grid[1];
    if (p->window[0] == 0 &&
        (l->map->keys != tokens || l->map->batch != 1 || l->map->rows != (p->learned > 0 ? p->learned : tokens)))
        return heed_fail(cx, HEED_ERR_SHAPE, "attend: a map of %lld tokens, and the picture has %lld",
                         (long long)l->map->keys, (long long)tokens);
    return find_cells(cx, l);
}

/* Maps that do not lie in the picture are left out. */
static bool find_places(heed_ctx *cx, const heed_model *model, struct attended_picture *a) {
    const heed_head *const head = heed_model_head(model);
    const char *const family = heed_model_family(model)->name;
    const int64_t size[] = {a->out.height, a->out.width};
    if (a->n_maps == 0) return heed_fail(cx, HEED_ERR_USAGE, "attend: a model of family %s has no attention", family);
    a->layers = heed_mem_new(cx, (size_t)a->n_maps * sizeof *a->layers);
    if (!a->layers) return false;
    memset(a->layers, 0, (size_t)a->n_maps * sizeof *a->layers);
    for (int i = 0; i < a->n_maps && head->place; i++) {
        struct picture_layer *const l = &a->layers[a->n_layers];
        l->map = &a->maps[i];
        if (!head->place(model_own(model), size, l->map, &l->place)) continue;
        a->n_layers++;
        if (!find_place(cx, l)) return false;
    }
    return a->n_layers > 0 ||
           heed_fail(cx, HEED_ERR_USAGE, "attend: where the attention of family %s lies in a picture is not known",
                     family);
}

static bool name_tokens(heed_ctx *cx, struct attended_picture *a) {
    const struct picture_place *p = &a->layers[0].place; /* the one with most: a class token may come late */
    for (int i = 1; i < a->n_layers; i++)
        if (tokens_before(&a->layers[i].place) > tokens_before(p)) p = &a->layers[i].place;
    const int64_t n = tokens_before(p);
    a->first = heed_mem_new(cx, ((size_t)n + 1) * sizeof *a->first);
    a->letters = heed_mem_new(cx, ((size_t)n + 1) * sizeof *a->letters);
    if (!a->first || !a->letters) return false;
    for (int64_t i = 0; i < n; i++) {
        const int64_t number = i - p->classes - p->distillations;
        snprintf(a->letters[i], NAME_ROOM,
                 i < p->classes     ? "class"
                 : number < 0       ? "distillation"
                 : p->registers > 1 ? "register %lld"
                                    : "register",
                 (long long)number);
        a->first[i] = a->letters[i];
    }
    return true;
}

static bool same_site(const struct picture_layer *a, const struct picture_layer *b) {
    return a->place.stage == b->place.stage && a->place.learned == b->place.learned && a->map->heads == b->map->heads &&
           a->map->rows == b->map->rows && a->map->keys == b->map->keys;
}

static void make_sites(struct attended_picture *a) {
    bool stages = false;
    for (int i = 0; i < a->n_layers; i++) stages |= a->layers[i].place.stage > 0;
    for (int i = 0; i < a->n_layers; i++) {
        const struct picture_layer *const l = &a->layers[i];
        const struct picture_place *const p = &l->place;
        if (i > 0 && same_site(l - 1, l)) {
            a->sites[a->out.n - 1].layers++;
            continue;
        }
        const int64_t first = tokens_before(p);
        if (stages)
            snprintf(a->names[a->out.n], NAME_ROOM, "stage %d", p->stage);
        else
            snprintf(a->names[a->out.n], NAME_ROOM, "%.31s", p->learned > 0 ? l->map->site : "attention");
        a->sites[a->out.n] = (heed_picture_site){.name = a->names[a->out.n],
                                                 .layers = 1,
                                                 .heads = l->map->heads,
                                                 .rows = p->grid[0],
                                                 .columns = p->grid[1],
                                                 .patch_height = p->patch[0],
                                                 .patch_width = p->patch[1],
                                                 .first = first,
                                                 .names = a->first,
                                                 .learned = p->learned,
                                                 .has_class = p->classes > 0 && (p->learned == 0 || p->late),
                                                 .windows = p->window[0] > 0,
                                                 .own = l};
        a->out.n++;
    }
    a->out.sites = a->sites;
}

static bool attend(heed_ctx *cx, const heed_model *model, const heed_image_processor *processor,
                   struct attended_picture *a) {
    heed_io in = {0};
    int64_t size[2] = {0};
    heed_tensor *const pixels = pixels_of(cx, processor, a->picture, size);
    if (!pixels || !heed_image_processor_box(cx, processor, a->picture, &a->box) ||
        !heed_io_put(cx, &in, "pixel_values", pixels) || !attend_capture(cx, model, &in, &a->maps, &a->n_maps))
        return false;
    a->out.height = size[0], a->out.width = size[1];
    memcpy(a->fill, processor->fill, sizeof a->fill);
    if (!find_places(cx, model, a)) return false;
    a->sites = heed_mem_new(cx, (size_t)a->n_layers * sizeof *a->sites);
    a->names = heed_mem_new(cx, (size_t)a->n_layers * sizeof *a->names);
    if (!a->sites || !a->names || !name_tokens(cx, a)) return false;
    make_sites(a);
    return true;
}

heed_attended_picture *heed_attend_picture(heed_ctx *cx, const heed_model *model, const heed_image_processor *processor,
                                           const heed_image *picture) {
    if (heed_failed(cx)) return NULL;
    if (!model || !processor || !picture || !heed_model_takes(model, "pixel_values")) {
        heed_fail(cx, HEED_ERR_USAGE, "attend: a model of pictures, its processor and a picture are needed");
        return NULL;
    }
    struct attended_picture *const a = heed_mem_new(cx, sizeof *a);
    if (!a) return NULL;
    *a = (struct attended_picture){.picture = picture};
    a->out.own = a;
    if (attend(cx, model, processor, a)) return &a->out;
    heed_attended_picture_free(cx, &a->out);
    return NULL;
}

void heed_attended_picture_free(heed_ctx *cx, heed_attended_picture *attended) {
    if (!cx || !attended) return;
    struct attended_picture *const a = attended->own;
    for (int i = 0; a->layers && i < a->n_layers; i++) heed_mem_free(cx, a->layers[i].cell);
    heed_mem_free(cx, a->layers);
    heed_mem_free(cx, a->sites);
    heed_mem_free(cx, a->names);
    heed_mem_free(cx, a->first);
    heed_mem_free(cx, a->letters);
    attend_capture_free(cx, a->maps, a->n_maps);
    heed_mem_free(cx, a);
}
