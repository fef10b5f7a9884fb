/* What is to be seen in a picture of shapes, read off its pixels: the ground, connected regions, and of each the
 * colour, middle, area, and the outline that it fills best. Nothing here is learnt, and nothing is taken from the scene
 * that was drawn, so that a drawing, a photograph of it or the output of a model are judged alike. */
#include "data/captions/caption.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SIDE = 16, REACH = 2, SOFTENINGS = 2, NO_COLOUR = SCENE_COLOURS };
#define STRANGE    60.0f   /* how far a colour is from another one that it is not: half of the least distance of two */
#define FAINT      80.0f   /* a colour of the palette closer to the ground could not be told from it */
#define LEAST_AREA 0.0088f /* of a thing, as a share of the picture: smaller ones are specks */
#define LEAST_FIT  0.75f
#define CORE       0.9f  /* pixels that are covered so much of the most covered one show the thing's colour */
#define FULL       0.85f /* where the core is covered less, the picture is so soft that its colour is never full */
#define PURE       0.7f  /* of a thing at least, in its colour */

struct view {
    const uint8_t *rgb;
    int side, pixels;
    float ground[3];
    float cover[SCENE_PIXELS];    /* of the palette's colours over the ground, that which explains the pixel best */
    uint8_t colour[SCENE_PIXELS]; /* and that colour */
    uint8_t marked[SCENE_PIXELS]; /* it belongs to a thing, or a speck */
    int16_t region[SCENE_PIXELS]; /* from 1; 0: the ground */
};

static float clamped(float share) { return share < 0.0f ? 0.0f : share > 1.0f ? 1.0f : share; }

/* How far a pixel is from the ground. */
static void pixel(const struct view *v, int p, float seen[3]) {
    for (int c = 0; c < 3; c++) seen[c] = (float)v->rgb[3 * p + c] - v->ground[c];
}

/* ---- the ground ---- */

static int by_value(const void *a, const void *b) { return *(const uint8_t *)a - *(const uint8_t *)b; }

static void find_ground(struct view *v) {
    uint8_t border[4 * SCENE_SIDE];
    for (int c = 0; c < 3; c++) {
        int n = 0;
        for (int i = 0; i < v->side; i++) {
            const int places[4] = {i, (v->side - 1) * v->side + i, i * v->side, i * v->side + v->side - 1};
            for (int k = 0; k < 4; k++) border[n++] = v->rgb[3 * places[k] + c];
        }
        qsort(border, (size_t)n, 1, by_value);
        v->ground[c] = border[n / 2];
    }
}

/* ---- regions ---- */

/* How much a colour that is `away` from the ground covers what is seen there, and what it leaves unexplained. */
static float covered_by(const float seen[3], const float away[3], float *rest) {
    float dot = 0.0f, length = 0.0f, sum = 0.0f;
    for (int c = 0; c < 3; c++) dot += seen[c] * away[c], length += away[c] * away[c];
    const float share = dot / length, within = clamped(share);
    for (int c = 0; c < 3; c++) sum += (seen[c] - within * away[c]) * (seen[c] - within * away[c]);
    *rest = sqrtf(sum);
    return share;
}

/* From the ground to a colour of the palette; false: they are too much alike. */
static bool away_from_ground(const struct view *v, int colour, float away[3]) {
    float length = 0.0f;
    for (int c = 0; c < 3; c++) away[c] = scene_colours[colour][c] - v->ground[c], length += away[c] * away[c];
    return length >= FAINT * FAINT;
}

/* A pixel is marked where a colour of the palette covers half of it, or where none explains it. */
static void mark(struct view *v) {
    for (int p = 0; p < v->pixels; p++) {
        float seen[3];
        pixel(v, p, seen);
        float best = sqrtf(seen[0] * seen[0] + seen[1] * seen[1] + seen[2] * seen[2]);
        v->cover[p] = 0.0f;
        v->colour[p] = NO_COLOUR;
        for (int k = 0; k < SCENE_COLOURS; k++) {
            float away[3], rest;
            if (!away_from_ground(v, k, away)) continue;
            const float cover = covered_by(seen, away, &rest);
            if (rest < best) best = rest, v->cover[p] = cover, v->colour[p] = (uint8_t)k;
        }
        v->marked[p] = v->cover[p] > 0.5f || best > STRANGE;
    }
}

/* Pixels that touch, also at their corners. Returns how many there are. */
static int flood(struct view *v, int from, int16_t region, int *queue) {
    int first = 0, last = 0;
    queue[last++] = from;
    v->region[from] = region;
    while (first < last) {
        const int p = queue[first++], x = p % v->side, y = p / v->side;
        for (int k = 0; k < 9; k++) {
            const int i = x + k % 3 - 1, j = y + k / 3 - 1, q = j * v->side + i;
            if (i < 0 || j < 0 || i >= v->side || j >= v->side || !v->marked[q] || v->region[q] != 0) continue;
            v->region[q] = region;
            queue[last++] = q;
        }
    }
    return last;
}

/* The region of a pixel that is not marked: the nearest one within reach, since edges are soft. */
static int16_t nearest_region(const struct view *v, int p) {
    int16_t found = 0;
    int best = REACH * REACH * 2 + 1;
    for (int dy = -REACH; dy <= REACH; dy++)
        for (int dx = -REACH; dx <= REACH; dx++) {
            const int x = p % v->side + dx, y = p / v->side + dy, q = y * v->side + x;
            if (x < 0 || y < 0 || x >= v->side || y >= v->side || !v->marked[q]) continue;
            if (v->region[q] == 0 || dx * dx + dy * dy >= best) continue;
            best = dx * dx + dy * dy;
            found = v->region[q];
        }
    return found;
}

/* Regions from the top, without specks; *stray: how many pixels are of those. */
static int find_regions(struct view *v, int *stray) {
    int queue[SCENE_PIXELS], n = 0;
    const int least = (int)(LEAST_AREA * (float)v->pixels + 0.5f);
    memset(v->region, 0, sizeof v->region);
    *stray = 0;
    for (int p = 0; p < v->pixels; p++) {
        if (!v->marked[p] || v->region[p] != 0) continue;
        const int size = flood(v, p, (int16_t)(n + 1), queue);
        if (size >= least) {
            n++;
            continue;
        }
        *stray += size;
        for (int i = 0; i < size; i++) v->region[queue[i]] = 0, v->marked[queue[i]] = 0;
    }
    for (int p = 0; p < v->pixels; p++)
        if (!v->marked[p]) v->region[p] = nearest_region(v, p);
    return n;
}

/* ---- one thing ---- */

/* Which colour explains most pixels of a region, NO_COLOUR included; *pure: whether it explains most of them. */
static int main_colour(const struct view *v, int region, bool *pure) {
    int of[NO_COLOUR + 1] = {0}, n = 0, best = 0;
    for (int p = 0; p < v->pixels; p++)
        if (v->region[p] == region && v->marked[p]) n++, of[v->colour[p]]++;
    for (int k = 1; k <= NO_COLOUR; k++)
        if (of[k] > of[best]) best = k;
    *pure = (float)of[best] >= PURE * (float)n;
    return best;
}

/* How far those pixels of a colour are from the ground, on average, that it covers most. */
static void find_core(const struct view *v, int region, int colour, float core[3]) {
    float most = 0.0f, seen[3];
    int n = 0;
    for (int p = 0; p < v->pixels; p++)
        if (v->region[p] == region && v->marked[p] && v->colour[p] == colour) most = fmaxf(most, clamped(v->cover[p]));
    core[0] = core[1] = core[2] = 0.0f;
    for (int p = 0; p < v->pixels; p++) {
        if (v->region[p] != region || !v->marked[p] || v->colour[p] != colour || v->cover[p] < CORE * most) continue;
        n++;
        pixel(v, p, seen);
        for (int c = 0; c < 3; c++) core[c] += seen[c];
    }
    for (int c = 0; c < 3; c++) core[c] /= (float)n;
}

/* away: from the ground to the colour of the thing, where it has one. */
static void find_colour(const struct view *v, int region, heed_seen_thing *t, float away[3]) {
    float core[3], rest = 0.0f;
    bool pure;
    const int colour = main_colour(v, region, &pure);
    find_core(v, region, colour, core);
    memcpy(away, core, sizeof core);
    t->colour = UNSAID;
    if (pure && colour != NO_COLOUR) {
        float named[3];
        away_from_ground(v, colour, named);
        if (covered_by(core, named, &rest) < FULL) memcpy(away, named, sizeof named);
        if (rest <= STRANGE) t->colour = colour;
    }
    t->red = (double)(core[0] + v->ground[0]);
    t->green = (double)(core[1] + v->ground[1]);
    t->blue = (double)(core[2] + v->ground[2]);
}

/* ---- its shape ---- */

/* A pixel's share and those of its neighbours, 1 2 1 in both directions. */
static void soften(float *cover, int side) {
    float row[SCENE_PIXELS];
    for (int p = 0; p < side * side; p++) {
        const int x = p % side;
        row[p] = 0.25f * (cover[x > 0 ? p - 1 : p] + 2.0f * cover[p] + cover[x < side - 1 ? p + 1 : p]);
    }
    for (int p = 0; p < side * side; p++) {
        const int y = p / side;
        cover[p] = 0.25f * (row[y > 0 ? p - side : p] + 2.0f * row[p] + row[y < side - 1 ? p + side : p]);
    }
}

/* Intersection over union of a thing, as far as it covers each pixel, and an outline. The outline may be as soft as
 * models draw it, or small pictures show it: the best of several counts. */
static float overlap(const struct view *v, int region, const float *share, const struct scene_object *o) {
    uint8_t bytes[SCENE_PIXELS];
    float cover[SCENE_PIXELS], best = 0.0f;
    scene_cover(o, v->side, bytes);
    for (int p = 0; p < v->pixels; p++) cover[p] = (float)bytes[p] * (1.0f / 255.0f);
    for (int k = 0; k <= SOFTENINGS; k++) {
        float both = 0.0f, either = 0.0f;
        if (k > 0) soften(cover, v->side);
        for (int p = 0; p < v->pixels; p++) {
            const float a = v->region[p] == region ? clamped(share[p]) : 0.0f;
            both += fminf(a, cover[p]);
            either += fmaxf(a, cover[p]);
        }
        best = fmaxf(best, both / either);
    }
    return best;
}

/* Every shape with the area and middle that the thing has, upright or nearly, a triangle also upside down. */
static void find_shape(const struct view *v, int region, const float *share, float area, heed_seen_thing *t) {
    static const struct point turns[] = {{1, 0},  {0.9659f, 0.2588f},  {0.9659f, -0.2588f},
                                         {-1, 0}, {-0.9659f, 0.2588f}, {-0.9659f, -0.2588f}};
    float best = 0.0f;
    for (int shape = 0; shape < SCENE_SHAPES; shape++) {
        const int n = shape == SCENE_CIRCLE || shape == SCENE_RING ? 1 : shape == SCENE_TRIANGLE ? 6 : 3;
        for (int k = 0; k < n; k++) {
            struct scene_object o = {.shape = (enum scene_shape)shape, .turn = turns[k]};
            o.radius = sqrtf(area / scene_area(o.shape));
            scene_place(&o, (float)t->x, (float)t->y);
            const float fit = overlap(v, region, share, &o);
            if (fit <= best) continue;
            best = fit;
            t->shape = shape;
            o.turn = turns[0];
            scene_place(&o, 0.0f, 0.0f);
            t->side = (double)fmaxf(o.box[2] - o.box[0], o.box[3] - o.box[1]);
        }
    }
    t->fit = (double)best;
    if (best < LEAST_FIT) t->shape = UNSAID;
}

static int third(double at) {
    return at < (double)CAPTION_BORDER         ? CAPTION_LOW
           : at > 1.0 - (double)CAPTION_BORDER ? CAPTION_HIGH
                                               : CAPTION_MIDDLE;
}

/* How far a thing covers each pixel, as far as its colour says, or else (away NULL) as it is marked; and its middle.
 * Returns its area. */
static float measure(const struct view *v, int region, const float *away, float *share, heed_seen_thing *t) {
    float area = 0.0f, x = 0.0f, y = 0.0f, seen[3], rest;
    for (int p = 0; p < v->pixels; p++) {
        if (v->region[p] != region) continue;
        pixel(v, p, seen);
        share[p] = away ? covered_by(seen, away, &rest) : v->marked[p];
        area += share[p];
        x += share[p] * ((float)(p % v->side) + 0.5f);
        y += share[p] * ((float)(p / v->side) + 0.5f);
    }
    if (area < 1.0f) return 0.0f;
    t->x = (double)(x / area);
    t->y = (double)(y / area);
    return area;
}

static void describe(const struct view *v, int region, heed_seen_thing *t) {
    float share[SCENE_PIXELS], away[3];
    *t = (heed_seen_thing){.shape = UNSAID};
    find_colour(v, region, t, away);
    float area = t->colour == UNSAID ? 0.0f : measure(v, region, away, share, t);
    if (area == 0.0f) area = measure(v, region, NULL, share, t);
    find_shape(v, region, share, area, t);
    t->x /= v->side;
    t->y /= v->side;
    t->side /= v->side;
    t->size = t->side > (double)CAPTION_SIZES ? CAPTION_LARGE : CAPTION_SMALL;
    t->column = third(t->x);
    t->row = third(t->y);
}

bool heed_caption_see(heed_ctx *cx, const heed_image *picture, heed_seen *out) {
    if (out) *out = (heed_seen){0};
    if (heed_failed(cx)) return false;
    if (!picture || !picture->data || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "caption: the picture or the place for what is seen is NULL");
    if (picture->width != picture->height || picture->width < LEAST_SIDE || picture->width > SCENE_SIDE ||
        picture->channels != 3)
        return heed_fail(
            cx, HEED_ERR_SHAPE,
            "caption: a picture of %lld x %lld pixels and %d channels: squares with %d to %d pixels a side "
            "in RGB can be judged",
            (long long)picture->width, (long long)picture->height, picture->channels, LEAST_SIDE, SCENE_SIDE);
    struct view *v = heed_mem_new(cx, sizeof *v);
    int stray;
    if (!v) return false;
    v->rgb = picture->data;
    v->side = (int)picture->width;
    v->pixels = v->side * v->side;
    find_ground(v);
    mark(v);
    out->things = find_regions(v, &stray);
    out->stray = (double)stray / v->pixels;
    for (int k = 0; k < out->things && k < HEED_SEEN_THINGS; k++) describe(v, k + 1, &out->thing[k]);
    heed_mem_free(cx, v);
    return true;
}
