/* Hand-drawn-like digits. A form of the digit (strokes.c) is bent by a random smooth field, slanted, turned, scaled and
 * placed (hand.c), and drawn with a pen whose width changes along the stroke; then come a little blur and noise.
 *
 * Picture i draws its random numbers from a stream of its own. Only +, -, *, / and square roots are used, rounded each,
 * so that the bytes are the same on every machine: no sines, no powers. */
#include "data/synthetic/drawn_pictures.h"
#include "data/synthetic/hand.h"

#include <math.h>

#define SIDE    28
#define PIXELS  (SIDE * SIDE)
#define STREAMS ((uint64_t)1 << 63) /* the streams of pictures, apart from those of epochs and layers */

/* ---- the hand, and the paper's part in it ---- */

struct drawing {
    struct hand hand;
    float ink, blur, noise;
};

static struct drawing draw_hand(struct draws *d) {
    struct drawing w;
    struct hand *const h = &w.hand;
    hand_bend(h, d, 0.22f, 0.18f);
    const float height = draw_middling(d, 14.5f, 24.5f), width = height * draw_middling(d, 0.5f, 1.3f);
    const float slant = draw_middling(d, -0.35f, 0.75f), half = draw_middling(d, -0.2f, 0.2f);
    hand_shape(h, width, height, slant, half);
    h->x = SIDE / 2.0f + draw_middling(d, -3.8f, 3.8f);
    h->y = SIDE / 2.0f + draw_middling(d, -3.2f, 3.2f);
    h->radius = draw_middling(d, 0.55f, 2.0f);
    h->tremble = draw(d, 0.005f, 0.022f);
    w.ink = draw(d, 200.0f, 255.0f);
    w.blur = draw(d, 0.0f, 0.45f);
    const float grain = draw(d, 0.0f, 6.0f);
    w.noise = grain * grain; /* most pictures have little, few have much */
    return w;
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

static void draw_stroke(float *cover, const struct hand *h, const struct stroke *s, struct draws *d) {
    struct point path[PATH_POINTS];
    float radius[2];
    const int n = hand_path(h, s, d, path, radius), spans = s->points - 1;
    for (int k = 1; k < n; k++) {
        const int i = (k - 1) / PIECES;
        const float t = (float)((k - 1) % PIECES + 1) * (1.0f / PIECES), way = ((float)i + t) / (float)spans;
        draw_piece(cover, path[k - 1], path[k], radius[0] + (radius[1] - radius[0]) * way);
    }
}

/* ---- the paper ---- */

static float at_or_0(const float *cover, int row, int column) {
    return row >= 0 && row < SIDE && column >= 0 && column < SIDE ? cover[row * SIDE + column] : 0.0f;
}

/* The pixel mixed with the mean of its four neighbours, then ink and noise. */
static void develop(const float *cover, const struct drawing *w, struct draws *d, uint8_t *out) {
    const float own = 1.0f - w->blur, share = w->blur * 0.25f;
    uint32_t bits = 0;
    for (int i = 0; i < PIXELS; i++) {
        const int row = i / SIDE, column = i % SIDE;
        const float around = at_or_0(cover, row - 1, column) + at_or_0(cover, row + 1, column) +
                             at_or_0(cover, row, column - 1) + at_or_0(cover, row, column + 1);
        bits = i % 4 == 0 ? draw_bits(d) : bits >> 8;
        const float grain = w->noise * ((float)(bits & 255) * (2.0f / 255.0f) - 1.0f);
        const float value = w->ink * (own * cover[i] + share * around) + grain;
        out[i] = (uint8_t)(value <= 0.0f ? 0.0f : value >= 255.0f ? 255.0f : value + 0.5f);
    }
}

static int32_t draw_digit(uint64_t seed, int64_t i, uint8_t *out) {
    struct draws d = {.seed = seed, .stream = STREAMS + (uint64_t)i};
    const int digit = draw_index(&d, 10);
    const struct digit *shapes = &strokes_of_digit[digit];
    const struct form *form = &shapes->form[draw_index(&d, shapes->forms)];
    const struct drawing w = draw_hand(&d);
    float cover[PIXELS] = {0};
    for (int k = 0; k < FORM_STROKES && form->stroke[k].points > 0; k++)
        draw_stroke(cover, &w.hand, &form->stroke[k], &d);
    develop(cover, &w, &d, out);
    return digit;
}

heed_data *heed_data_digits(heed_ctx *cx, uint64_t seed, int64_t n) {
    static const struct drawn_pictures kind = {"digits", "draw digits", SIDE, 10, NULL, draw_digit};
    return drawn_pictures(cx, &kind, seed, n);
}
