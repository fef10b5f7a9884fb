/* See data/hand.h. */
#include "data/synthetic/hand.h"

float draw_middling(struct draws *d, float low, float high) {
    float sum = 0.0f;
    for (int i = 0; i < 3; i++) sum += draw(d, low, high); /* in turn: an expression would not say in which order */
    return sum * (1.0f / 3.0f);
}

void hand_bend(struct hand *h, struct draws *d, float x, float y) {
    for (int i = 0; i < GRID * GRID; i++) {
        struct point *bend = &h->bend[i / GRID][i % GRID];
        bend->x = draw_middling(d, -x, x);
        bend->y = draw_middling(d, -y, y);
    }
}

void hand_shape(struct hand *h, float width, float height, float slant, float half) {
    /* cos and sin of the angle whose half has the tangent `half` */
    const float c = (1.0f - half * half) / (1.0f + half * half), s = 2.0f * half / (1.0f + half * half);
    h->xx = c * width;
    h->xy = -c * slant * width - s * height;
    h->yx = s * width;
    h->yy = -s * slant * width + c * height;
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

/* Catmull-Rom: the curve from b to c at t, with a before and e after them. */
static struct point on_curve(struct point a, struct point b, struct point c, struct point e, float t) {
    const float t2 = t * t, t3 = t2 * t;
    const float wa = 0.5f * (-t3 + 2 * t2 - t), wb = 0.5f * (3 * t3 - 5 * t2 + 2), wc = 0.5f * (-3 * t3 + 4 * t2 + t),
                we = 0.5f * (t3 - t2);
    return (struct point){wa * a.x + wb * b.x + wc * c.x + we * e.x, wa * a.y + wb * b.y + wc * c.y + we * e.y};
}

int hand_path(const struct hand *h, const struct stroke *s, struct draws *d, struct point path[PATH_POINTS],
              float radius[2]) {
    struct point p[STROKE_POINTS];
    for (int i = 0; i < s->points; i++) {
        const struct point at = {(float)s->at[i][0] * 0.01f, (float)s->at[i][1] * 0.01f};
        p[i] = bent(h, at);
        p[i].x += draw(d, -h->tremble, h->tremble);
        p[i].y += draw(d, -h->tremble, h->tremble);
    }
    /* The pressure changes evenly along the stroke. A straight piece is bowed a little, as one by hand is. */
    radius[0] = h->radius * draw(d, 0.8f, 1.2f);
    radius[1] = h->radius * draw(d, 0.7f, 1.2f);
    const int spans = s->points - 1;
    int n = 0;
    path[n++] = placed(h, p[0]);
    for (int i = 0; i < spans; i++) {
        const struct point a = p[i > 0 ? i - 1 : 0], b = p[i], c = p[i + 1], e = p[i + 2 <= spans ? i + 2 : spans];
        const float bow = s->curve ? 0.0f : draw_middling(d, -0.25f, 0.25f);
        for (int k = 1; k <= PIECES; k++) {
            const float t = (float)k * (1.0f / PIECES);
            struct point q = on_curve(a, b, c, e, t);
            if (!s->curve) {
                const float side = bow * t * (1 - t);
                q = (struct point){b.x + t * (c.x - b.x) - side * (c.y - b.y),
                                   b.y + t * (c.y - b.y) + side * (c.x - b.x)};
            }
            path[n++] = placed(h, q);
        }
    }
    return n;
}
