/* Hand-drawn-like digits. A form of the digit (strokes.c) is bent by a random smooth field, slanted, turned, scaled and
 * placed, and drawn with a pen whose width changes along the stroke; then come a little blur and noise.
 *
 * Picture i draws its random numbers from a stream of its own. Only +, -, *, / and square roots are used, rounded each,
 * so that the bytes are the same on every machine: no sines, no powers. */
#include "base/ctx.h"
#include "base/philox.h"
#include "base/pool.h"
#include "base/profile.h"
#include "data/data.h"
#include "data/strokes.h"

#include <math.h>

#define SIDE     28
#define PIXELS   (SIDE * SIDE)
#define STREAMS  ((uint64_t)1 << 63) /* the streams of pictures, apart from those of epochs and layers */
#define PIECES   6                   /* straight ones between two points of a curve */
#define PER_TASK 32
#define GRID     3 /* the bending field: displacements at GRID x GRID places of the square, linear in between */

struct point {
    float x, y;
};

/* ---- random numbers ---- */

struct draws {
    uint64_t seed, stream, position;
    uint32_t words[4];
};

static uint32_t draw_bits(struct draws *d) {
    if (d->position % 4 == 0) philox_block(d->seed, d->stream, d->position / 4, d->words);
    return d->words[d->position++ % 4];
}

static float draw(struct draws *d, float low, float high) { return low + (high - low) * philox_uniform(draw_bits(d)); }

/* The mean of three uniforms: most in the middle, never beyond the bounds. */
static float draw_middling(struct draws *d, float low, float high) {
    float sum = 0.0f;
    for (int i = 0; i < 3; i++) sum += draw(d, low, high); /* in turn: an expression would not say in which order */
    return sum * (1.0f / 3.0f);
}

static int draw_index(struct draws *d, int n) { return (int)((uint64_t)draw_bits(d) * (uint64_t)n >> 32); }

/* ---- the hand: from the square of the strokes to the picture ---- */

struct hand {
    struct point bend[GRID][GRID];
    float xx, xy, yx, yy, x, y; /* picture = matrix (point - centre) + place */
    float radius, tremble, ink, blur, noise;
};

static struct hand draw_hand(struct draws *d) {
    struct hand h;
    for (int i = 0; i < GRID * GRID; i++) {
        struct point *bend = &h.bend[i / GRID][i % GRID];
        bend->x = draw_middling(d, -0.22f, 0.22f);
        bend->y = draw_middling(d, -0.18f, 0.18f);
    }
    const float height = draw_middling(d, 14.5f, 24.5f), width = height * draw_middling(d, 0.5f, 1.3f);
    const float slant = draw_middling(d, -0.35f, 0.75f), half = draw_middling(d, -0.2f, 0.2f);
    /* cos and sin of the angle whose half has the tangent `half` */
    const float c = (1.0f - half * half) / (1.0f + half * half), s = 2.0f * half / (1.0f + half * half);
    /* First slanted, (x - slant y, y), then scaled, then turned. */
    h.xx = c * width;
    h.xy = -c * slant * width - s * height;
    h.yx = s * width;
    h.yy = -s * slant * width + c * height;
    h.x = SIDE / 2.0f + draw_middling(d, -3.8f, 3.8f);
    h.y = SIDE / 2.0f + draw_middling(d, -3.2f, 3.2f);
    h.radius = draw_middling(d, 0.55f, 2.0f);
    h.tremble = draw(d, 0.005f, 0.022f);
    h.ink = draw(d, 200.0f, 255.0f);
    h.blur = draw(d, 0.0f, 0.45f);
    const float grain = draw(d, 0.0f, 6.0f);
    h.noise = grain * grain; /* most pictures have little, few have much */
    return h;
}

static struct point bent(const struct hand *h, struct point p) {
    const float u = p.x * (GRID - 1), v = p.y * (GRID - 1);
    const int i = u < 0 ? 0 : u >= GRID - 1 ? GRID - 2 : (int)u, j = v < 0 ? 0 : v >= GRID - 1 ? GRID - 2 : (int)v;
    const float s = u - (float)i, t = v - (float)j;
    const struct point a = h->bend[j][i], b = h->bend[j][i + 1], c = h->bend[j + 1][i], e = h->bend[j + 1][i + 1];
    return (struct point){p.x + (1 - t) * ((1 - s) * a.x + s * b.x) + t * ((1 - s) * c.x + s * e.x),
                          p.y + (1 - t) * ((1 - s) * a.y + s * b.y) + t * ((1 - s) * c.y + s * e.y)};
}

static struct point placed(const struct hand *h, struct point p) {
    const float x = p.x - 0.5f, y = p.y - 0.5f;
    return (struct point){h->xx * x + h->xy * y + h->x, h->yx * x + h->yy * y + h->y};
}

/* ---- the pen ---- */

static int clamp(int value, int low, int high) { return value < low ? low : value > high ? high : value; }
static float clamp_unit(float value) { return value < 0.0f ? 0.0f : value > 1.0f ? 1.0f : value; }

/* Covers pixels by how far within `radius` of the piece from a to b their centres lie; an edge is one pixel soft. */
static void draw_piece(float *cover, struct point a, struct point b, float radius) {
    const float reach = radius + 0.5f, dx = b.x - a.x, dy = b.y - a.y;
    const float squared = dx * dx + dy * dy, inverse = squared > 1e-12f ? 1.0f / squared : 0.0f;
    const int left = clamp((int)(fminf(a.x, b.x) - reach), 0, SIDE),
              right = clamp((int)(fmaxf(a.x, b.x) + reach) + 1, 0, SIDE);
    const int top = clamp((int)(fminf(a.y, b.y) - reach), 0, SIDE),
              bottom = clamp((int)(fmaxf(a.y, b.y) + reach) + 1, 0, SIDE);
    for (int row = top; row < bottom; row++)
        for (int column = left; column < right; column++) {
            const float x = (float)column + 0.5f - a.x, y = (float)row + 0.5f - a.y;
            const float along = clamp_unit((x * dx + y * dy) * inverse);
            const float ex = x - along * dx, ey = y - along * dy, away = ex * ex + ey * ey;
            if (away >= reach * reach) continue;
            const float covered = clamp_unit(reach - sqrtf(away));
            float *pixel = &cover[row * SIDE + column];
            if (covered > *pixel) *pixel = covered;
        }
}

/* Catmull-Rom: the curve from b to c at t, with a before and e after them. */
static struct point on_curve(struct point a, struct point b, struct point c, struct point e, float t) {
    const float t2 = t * t, t3 = t2 * t;
    const float wa = 0.5f * (-t3 + 2 * t2 - t), wb = 0.5f * (3 * t3 - 5 * t2 + 2), wc = 0.5f * (-3 * t3 + 4 * t2 + t),
                we = 0.5f * (t3 - t2);
    return (struct point){wa * a.x + wb * b.x + wc * c.x + we * e.x, wa * a.y + wb * b.y + wc * c.y + we * e.y};
}

static void draw_stroke(float *cover, const struct hand *h, const struct stroke *s, struct draws *d) {
    struct point p[STROKE_POINTS];
    for (int i = 0; i < s->points; i++) {
        const struct point at = {(float)s->at[i][0] * 0.01f, (float)s->at[i][1] * 0.01f};
        p[i] = bent(h, at);
        p[i].x += draw(d, -h->tremble, h->tremble);
        p[i].y += draw(d, -h->tremble, h->tremble);
    }
    /* The pressure changes evenly along the stroke. A straight piece is bowed a little, as one by hand is. */
    const float first = h->radius * draw(d, 0.8f, 1.2f), last = h->radius * draw(d, 0.7f, 1.2f);
    const int spans = s->points - 1;
    struct point from = placed(h, p[0]);
    for (int i = 0; i < spans; i++) {
        const struct point a = p[i > 0 ? i - 1 : 0], b = p[i], c = p[i + 1], e = p[i + 2 <= spans ? i + 2 : spans];
        const float bow = s->curve ? 0.0f : draw_middling(d, -0.25f, 0.25f);
        for (int k = 1; k <= PIECES; k++) {
            const float t = (float)k * (1.0f / PIECES), way = ((float)i + t) / (float)spans;
            struct point q = on_curve(a, b, c, e, t);
            if (!s->curve) {
                const float side = bow * t * (1 - t);
                q = (struct point){b.x + t * (c.x - b.x) - side * (c.y - b.y),
                                   b.y + t * (c.y - b.y) + side * (c.x - b.x)};
            }
            const struct point to = placed(h, q);
            draw_piece(cover, from, to, first + (last - first) * way);
            from = to;
        }
    }
}

/* ---- the paper ---- */

static float at_or_0(const float *cover, int row, int column) {
    return row >= 0 && row < SIDE && column >= 0 && column < SIDE ? cover[row * SIDE + column] : 0.0f;
}

/* The pixel mixed with the mean of its four neighbours, then ink and noise. */
static void develop(const float *cover, const struct hand *h, struct draws *d, uint8_t *out) {
    const float own = 1.0f - h->blur, share = h->blur * 0.25f;
    uint32_t bits = 0;
    for (int i = 0; i < PIXELS; i++) {
        const int row = i / SIDE, column = i % SIDE;
        const float around = at_or_0(cover, row - 1, column) + at_or_0(cover, row + 1, column) +
                             at_or_0(cover, row, column - 1) + at_or_0(cover, row, column + 1);
        bits = i % 4 == 0 ? draw_bits(d) : bits >> 8;
        const float grain = h->noise * ((float)(bits & 255) * (2.0f / 255.0f) - 1.0f);
        const float value = h->ink * (own * cover[i] + share * around) + grain;
        out[i] = (uint8_t)(value <= 0.0f ? 0.0f : value >= 255.0f ? 255.0f : value + 0.5f);
    }
}

static int32_t draw_digit(uint64_t seed, int64_t i, uint8_t *out) {
    struct draws d = {.seed = seed, .stream = STREAMS + (uint64_t)i};
    const int digit = draw_index(&d, 10);
    const struct digit *shapes = &strokes_of_digit[digit];
    const struct form *form = &shapes->form[draw_index(&d, shapes->forms)];
    const struct hand h = draw_hand(&d);
    float cover[PIXELS] = {0};
    for (int k = 0; k < FORM_STROKES && form->stroke[k].points > 0; k++) draw_stroke(cover, &h, &form->stroke[k], &d);
    develop(cover, &h, &d, out);
    return digit;
}

struct job {
    const heed_data *data;
    uint64_t seed;
};

static void draw_some(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct job *job = arg;
    const heed_data *data = job->data;
    for (int64_t i = task * PER_TASK; i < data->n && i < (task + 1) * PER_TASK; i++)
        data->label[i] = draw_digit(job->seed, i, data->bytes + i * PIXELS);
}

heed_data *heed_data_digits(heed_ctx *cx, uint64_t seed, int64_t n) {
    if (heed_failed(cx)) return NULL;
    if (n < 1) return heed_fail(cx, HEED_ERR_RANGE, "digits: %lld pictures: must be 1 or more", (long long)n), NULL;
    heed_data *d = data_new(cx);
    uint8_t *bytes = data_room(cx, n, PIXELS, 1);
    int32_t *label = data_room(cx, n, 1, sizeof *label);
    if (!label) {
        heed_mem_free(cx, bytes);
        heed_data_free(cx, d);
        return NULL;
    }
    *d = (heed_data){.n = n, .width = PIXELS, .bytes = bytes, .scale = 1.0f / 255.0f, .label = label, .classes = 10};
    d->image_height = d->image_width = SIDE;
    d->image_channels = 1;
    struct job job = {d, seed};
    const struct profile_mark mark = profile_begin(cx);
    pool_run(cx->pool, (n - 1) / PER_TASK + 1, draw_some, &job);
    profile_end(cx, mark, "draw digits", PROFILE_FORWARD);
    return d;
}
