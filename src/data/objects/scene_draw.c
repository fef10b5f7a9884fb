/* The pixels of a scene: outlines of shapes, how much of a pixel they cover, and the ground. */
#include "data/objects/scene.h"

#include <math.h>
#include <string.h>

/* ---- outlines ---- */

enum { CORNERS = 12 };

/* In the circle of radius 1; y goes down. */
struct outline {
    int corners; /* 0: a circle, with a hole of radius `hole` */
    float hole;
    struct point at[CORNERS];
};

/* clang-format off */
static const struct outline outlines[SCENE_SHAPES] = {
    [SCENE_CIRCLE] = {.corners = 0},
    [SCENE_CROSS] = {12, 0, {{-0.3162f, -0.9487f}, {0.3162f, -0.9487f}, {0.3162f, -0.3162f}, {0.9487f, -0.3162f},
        {0.9487f, 0.3162f}, {0.3162f, 0.3162f}, {0.3162f, 0.9487f}, {-0.3162f, 0.9487f}, {-0.3162f, 0.3162f},
        {-0.9487f, 0.3162f}, {-0.9487f, -0.3162f}, {-0.3162f, -0.3162f}}},
    [SCENE_RING] = {.corners = 0, .hole = 0.55f},
    [SCENE_SQUARE] = {4, 0, {{-0.7071f, -0.7071f}, {0.7071f, -0.7071f}, {0.7071f, 0.7071f}, {-0.7071f, 0.7071f}}},
    [SCENE_STAR] = {10, 0, {{0, -1}, {0.2469f, -0.3398f}, {0.9511f, -0.3090f}, {0.3994f, 0.1298f},
        {0.5878f, 0.8090f}, {0, 0.4200f}, {-0.5878f, 0.8090f}, {-0.3994f, 0.1298f}, {-0.9511f, -0.3090f},
        {-0.2469f, -0.3398f}}},
    [SCENE_TRIANGLE] = {3, 0, {{0, -1}, {0.8660f, 0.5f}, {-0.8660f, 0.5f}}},
};
/* clang-format on */

static int corners_of(const struct scene_object *o, struct point *at) {
    const struct outline *shape = &outlines[o->shape];
    for (int i = 0; i < shape->corners; i++) {
        const struct point p = shape->at[i];
        at[i].x = o->x + o->radius * (o->turn.x * p.x - o->turn.y * p.y);
        at[i].y = o->y + o->radius * (o->turn.y * p.x + o->turn.x * p.y);
    }
    return shape->corners;
}

void scene_place(struct scene_object *o, float x, float y) {
    struct point at[CORNERS];
    o->x = x;
    o->y = y;
    const int n = corners_of(o, at);
    const float r = n == 0 ? o->radius : 0.0f;
    if (n == 0) at[0] = (struct point){x, y};
    float box[4] = {at[0].x - r, at[0].y - r, at[0].x + r, at[0].y + r};
    for (int i = 1; i < n; i++) {
        box[0] = fminf(box[0], at[i].x);
        box[1] = fminf(box[1], at[i].y);
        box[2] = fmaxf(box[2], at[i].x);
        box[3] = fmaxf(box[3], at[i].y);
    }
    memcpy(o->box, box, sizeof box);
}

float scene_area(enum scene_shape shape) {
    const struct outline *o = &outlines[shape];
    float sum = o->corners == 0 ? 6.2831853f * (1.0f - o->hole * o->hole) : 0.0f;
    for (int i = 0, j = o->corners - 1; i < o->corners; j = i++)
        sum += o->at[j].x * o->at[i].y - o->at[i].x * o->at[j].y;
    return 0.5f * sum;
}

/* ---- how much of a pixel is covered ---- */

/* How far (x,y) lies outside of the outline, less than 0 within. */
static float outside_polygon(const struct point *at, int n, float x, float y) {
    float nearest = 1e30f;
    bool within = false;
    for (int i = 0, j = n - 1; i < n; j = i++) {
        const float ex = at[j].x - at[i].x, ey = at[j].y - at[i].y, px = x - at[i].x, py = y - at[i].y;
        const float t = (px * ex + py * ey) / (ex * ex + ey * ey), along = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
        const float dx = px - along * ex, dy = py - along * ey;
        nearest = fminf(nearest, dx * dx + dy * dy);
        if ((at[i].y > y) != (at[j].y > y) && px < ex * py / ey) within = !within;
    }
    return within ? -sqrtf(nearest) : sqrtf(nearest);
}

static float outside_circle(const struct scene_object *o, float x, float y) {
    const float away = sqrtf((x - o->x) * (x - o->x) + (y - o->y) * (y - o->y));
    return fmaxf(away - o->radius, outlines[o->shape].hole * o->radius - away);
}

static int clamp(int v, int side) { return v < 0 ? 0 : v > side ? side : v; }

/* An edge is one pixel soft. */
void scene_cover(const struct scene_object *o, int side, uint8_t *cover) {
    struct point at[CORNERS];
    const int n = corners_of(o, at);
    memset(cover, 0, (size_t)(side * side));
    const int bottom = clamp((int)o->box[3] + 2, side), right = clamp((int)o->box[2] + 2, side);
    for (int row = clamp((int)o->box[1] - 1, side); row < bottom; row++)
        for (int column = clamp((int)o->box[0] - 1, side); column < right; column++) {
            const float x = (float)column + 0.5f, y = (float)row + 0.5f;
            const float covered = 0.5f - (n > 0 ? outside_polygon(at, n, x, y) : outside_circle(o, x, y));
            const float share = covered < 0.0f ? 0.0f : covered > 1.0f ? 1.0f : covered;
            cover[row * side + column] = (uint8_t)(share * 255.0f + 0.5f);
        }
}

/* ---- the ground ---- */

enum { CLOUDS = 24 }; /* places of a row: enough for the narrowest ones */

/* Clouds are linear between random places of a grid. */
static void draw_clouds(const struct scene *s, struct draws *d, float *out) {
    float grid[CLOUDS][CLOUDS];
    for (int i = 0; i < CLOUDS * CLOUDS; i++) grid[i / CLOUDS][i % CLOUDS] = draw(d, -s->cloud, s->cloud);
    const float steps = 1.0f / s->cell;
    for (int i = 0; i < s->side * s->side; i++) {
        const float u = (float)(i % s->side) * steps, v = (float)(i / s->side) * steps;
        const int x = (int)u, y = (int)v;
        const float a = u - (float)x, b = v - (float)y;
        out[i] = (1 - b) * ((1 - a) * grid[y][x] + a * grid[y][x + 1]) +
                 b * ((1 - a) * grid[y + 1][x] + a * grid[y + 1][x + 1]);
    }
}

static void draw_ground(const struct scene *s, const float *clouds, float *rgb) {
    const float half = (float)s->side * 0.5f, share = 0.7f / (float)s->side;
    for (int i = 0; i < s->side * s->side; i++) {
        const float x = (float)(i % s->side) - half, y = (float)(i / s->side) - half;
        const float way = 0.5f + (x * s->slope.x + y * s->slope.y) * share;
        for (int c = 0; c < 3; c++)
            rgb[3 * i + c] = s->ground[0][c] + way * (s->ground[1][c] - s->ground[0][c]) + clouds[i];
    }
}

/* A shape is a little lighter above than below. */
static void draw_over(const struct scene_object *o, int side, float *rgb) {
    uint8_t cover[SCENE_PIXELS];
    scene_cover(o, side, cover);
    for (int i = 0; i < side * side; i++) {
        if (cover[i] == 0) continue;
        const float share = (float)cover[i] * (1.0f / 255.0f);
        const float light = 8.0f * (o->y - (float)(i / side)) / o->radius;
        for (int c = 0; c < 3; c++) rgb[3 * i + c] += share * (o->rgb[c] + light - rgb[3 * i + c]);
    }
}

void scene_draw(const struct scene *s, uint8_t *out) {
    struct draws d = {.seed = s->seed, .stream = s->stream};
    float rgb[3 * SCENE_PIXELS], clouds[SCENE_PIXELS];
    draw_clouds(s, &d, clouds);
    draw_ground(s, clouds, rgb);
    for (int k = 0; k < s->objects; k++) draw_over(&s->object[k], s->side, rgb);
    uint32_t bits = 0;
    for (int i = 0; i < 3 * s->side * s->side; i++) {
        bits = i % 4 == 0 ? draw_bits(&d) : bits >> 8;
        const float v = rgb[i] + s->grain * ((float)(bits & 255) * (2.0f / 255.0f) - 1.0f);
        out[i] = (uint8_t)(v <= 0.0f ? 0.0f : v >= 255.0f ? 255.0f : v + 0.5f);
    }
}
