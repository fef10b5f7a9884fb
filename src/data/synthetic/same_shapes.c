/* Pictures of two small shapes that lie far apart: are they of one kind? Neither says anything by itself, so that the
 * answer needs both: a task for models that see far.
 *
 * Picture i draws its random numbers from a stream of its own. Only +, -, * and / are used, rounded each, so that the
 * bytes are the same on every machine. */
#include "data/synthetic/drawn_pictures.h"
#include "data/synthetic/hand.h"

#define SIDE    32
#define PIXELS  (SIDE * SIDE)
#define APART   16.0f                  /* pixels between the middles, at least */
#define FINE    3                      /* places in a pixel along each side, whose mean it is */
#define STREAMS ((uint64_t)0x5A << 56) /* the streams of pictures, apart from those of epochs and layers */

enum kind { DISC, FRAME, PLUS, CROSS, KINDS };

struct shape {
    enum kind kind;
    float x, y, radius, ink; /* the middle; within radius of it along both axes */
};

static float size_of(float a) { return a < 0 ? -a : a; }

/* Does a shape of radius 1 have ink there? */
static bool covers(enum kind kind, float x, float y) {
    const float across = size_of(x), down = size_of(y), square = x * x + y * y, far = across > down ? across : down;
    if (far > 1) return false;
    switch (kind) {
    case DISC:
        return square <= 1;
    case FRAME:
        return far <= 0.9f && far >= 0.5f;
    case PLUS:
        return across <= 0.3f || down <= 0.3f;
    case CROSS:
        return size_of(across - down) <= 0.4f;
    case KINDS:
        break;
    }
    return false;
}

static void draw_shape(const struct shape *s, float *cover) {
    const int left = (int)(s->x - s->radius), right = (int)(s->x + s->radius) + 1;
    const int top = (int)(s->y - s->radius), bottom = (int)(s->y + s->radius) + 1;
    for (int row = top; row < bottom; row++)
        for (int column = left; column < right; column++) {
            int inked = 0;
            for (int k = 0; k < FINE * FINE; k++) {
                const float x = (float)column + ((float)(k % FINE) + 0.5f) / FINE - s->x,
                            y = (float)row + ((float)(k / FINE) + 0.5f) / FINE - s->y;
                inked += covers(s->kind, x / s->radius, y / s->radius);
            }
            cover[row * SIDE + column] = s->ink * (float)inked / (FINE * FINE);
        }
}

/* Both in the picture, and apart. */
static void place(struct draws *d, struct shape s[2]) {
    float x, y;
    do {
        for (int i = 0; i < 2; i++) {
            s[i].x = draw(d, s[i].radius, SIDE - 1 - s[i].radius);
            s[i].y = draw(d, s[i].radius, SIDE - 1 - s[i].radius);
        }
        x = s[0].x - s[1].x, y = s[0].y - s[1].y;
    } while (x * x + y * y < APART * APART);
}

/* 1: of one kind */
static int32_t draw_picture(uint64_t seed, int64_t i, uint8_t *out) {
    struct draws d = {.seed = seed, .stream = STREAMS + (uint64_t)i};
    const int same = draw_index(&d, 2), first = draw_index(&d, KINDS), other = 1 + draw_index(&d, KINDS - 1);
    struct shape s[2] = {{.kind = (enum kind)first}, {.kind = (enum kind)((first + (same ? 0 : other)) % KINDS)}};
    float cover[PIXELS] = {0};
    for (int k = 0; k < 2; k++) {
        s[k].radius = draw(&d, 3.5f, 4.5f);
        s[k].ink = draw(&d, 130.0f, 220.0f);
    }
    place(&d, s);
    for (int k = 0; k < 2; k++) draw_shape(&s[k], cover);
    const float noise = draw(&d, 4.0f, 24.0f);
    uint32_t bits = 0;
    for (int k = 0; k < PIXELS; k++) {
        bits = k % 4 == 0 ? draw_bits(&d) : bits >> 8;
        const float value = 10.0f + cover[k] + noise * ((float)(bits & 255) * (2.0f / 255.0f) - 1.0f);
        out[k] = (uint8_t)(value <= 0.0f ? 0.0f : value + 0.5f);
    }
    return same;
}

heed_data *heed_data_same_shapes(heed_ctx *cx, uint64_t seed, int64_t n) {
    static const struct word names[] = {{"different", 9}, {"same", 4}};
    static const struct drawn_pictures kind = {"same-shapes", "draw shapes", SIDE, 2, names, draw_picture};
    return drawn_pictures(cx, &kind, seed, n);
}
