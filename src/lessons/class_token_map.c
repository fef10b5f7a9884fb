/* Where the class token looks: a small ViT (Dosovitskiy et al. 2021) learns to name one shape among others, and the
 * attention from its class token to the patches is laid over the picture, layer by layer and rolled out over all of
 * them (Abnar & Zuidema 2020): the product of (A_l + 1) / 2. */
#include "lessons/vit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 700, BATCH = 32, EXAMPLES = 8000, TESTS = 500, SHOWN = 4, MEASURED = 50, CLUTTER = 5 };
enum { SIDE = 32, PATCH = 4, GRID = SIDE / PATCH, TOKENS = GRID * GRID + 1, LAYERS = 3, CLASSES = 4 };
enum { COLUMNS = LAYERS + 2 }; /* the picture, the layers, rollout */
enum { SHAPES_DRAWN = 711 };   /* the stream of random numbers for scenes */

/* ---- scenes ---- */

static const enum shape kinds[CLASSES] = {SHAPE_SQUARE, SHAPE_TRIANGLE, SHAPE_CROSS, SHAPE_RING};

struct scene {
    double x, y, radius; /* of the red shape */
};

struct dice {
    uint64_t seed, at;
};
static double roll(struct dice *d, double low, double high) {
    return low + (high - low) * heed_random_bits(d->seed, SHAPES_DRAWN, d->at++) * 0x1p-32;
}

/* Shapes of any colour but red, and a red one over them, whose shape is the class. */
static struct scene draw_scene(const struct pictures *p, int64_t i, uint64_t seed) {
    static const uint8_t colors[][3] = {{60, 110, 200}, {70, 160, 90}, {225, 190, 70}, {140, 110, 190}, {90, 180, 190}};
    static const uint8_t red[3] = {215, 50, 45};
    struct dice d = {seed, (uint64_t)i * 64};
    uint8_t *at = pictures_at(p, i);
    for (int64_t k = 0; k < SIDE * SIDE * 3; k++) at[k] = 236;
    for (int k = 0; k < CLUTTER; k++) {
        const enum shape shape = kinds[(int)roll(&d, 0, CLASSES)];
        const int color = (int)roll(&d, 0, 5);
        const double x = roll(&d, 2, SIDE - 2), y = roll(&d, 2, SIDE - 2), radius = roll(&d, 4, 5);
        shape_draw(p, i, shape, x, y, radius, roll(&d, -0.4, 0.4), colors[color]);
    }
    p->label[i] = (int32_t)roll(&d, 0, CLASSES);
    struct scene s = {roll(&d, 6, SIDE - 6), roll(&d, 6, SIDE - 6), roll(&d, 5, 6)};
    shape_draw(p, i, kinds[p->label[i]], s.x, s.y, s.radius, roll(&d, -0.4, 0.4), red);
    return s;
}

static bool draw_scenes(struct lesson_run *r, uint64_t seed, int64_t n, struct pictures *p, struct scene *scenes) {
    if (!pictures_make(r, n, SIDE, 3, CLASSES, p)) return false;
    for (int64_t i = 0; i < n; i++) {
        const struct scene s = draw_scene(p, i, seed);
        if (scenes) scenes[i] = s;
    }
    return true;
}

/* ---- looking ---- */

/* maps (LAYERS, TOKENS, TOKENS) to looks (LAYERS + 1, GRID * GRID): from the class token to the patches, and rollout;
 * each sums to 1. */
static void looks_of(const float *maps, float *looks) {
    double rolled[TOKENS * TOKENS], next[TOKENS * TOKENS];
    for (int i = 0; i < TOKENS * TOKENS; i++) rolled[i] = i / TOKENS == i % TOKENS;
    for (int l = 0; l < LAYERS; l++) {
        const float *a = maps + l * TOKENS * TOKENS;
        for (int i = 0; i < TOKENS; i++)
            for (int j = 0; j < TOKENS; j++) {
                double sum = rolled[i * TOKENS + j];
                for (int k = 0; k < TOKENS; k++) sum += (double)a[i * TOKENS + k] * rolled[k * TOKENS + j];
                next[i * TOKENS + j] = sum / 2;
            }
        memcpy(rolled, next, sizeof rolled);
        for (int j = 1; j < TOKENS; j++) looks[l * GRID * GRID + j - 1] = a[j];
    }
    for (int j = 1; j < TOKENS; j++) looks[LAYERS * GRID * GRID + j - 1] = (float)rolled[j];
    for (int l = 0; l <= LAYERS; l++) {
        double sum = 0;
        float *one = looks + l * GRID * GRID;
        for (int j = 0; j < GRID * GRID; j++) sum += (double)one[j];
        for (int j = 0; j < GRID * GRID; j++) one[j] = (float)((double)one[j] / sum);
    }
}

/* Is a patch touched by the red shape? */
static bool touched(const struct scene *s, int patch) {
    const double x = (patch % GRID + 0.5) * PATCH, y = ((patch - patch % GRID) / GRID + 0.5) * PATCH;
    return hypot(fmax(0, fabs(x - s->x) - PATCH / 2.0), fmax(0, fabs(y - s->y) - PATCH / 2.0)) < s->radius;
}

struct tally {
    double weight[LAYERS + 1], area;
};

/* What share of the attention falls on the red shape, and what share of the picture it covers. */
static bool measure(struct lesson_run *r, const struct vit *v, const struct pictures *p, const struct scene *scenes,
                    struct tally *t) {
    float *maps = lesson_room(r, LAYERS * TOKENS * TOKENS, sizeof *maps), looks[(LAYERS + 1) * GRID * GRID];
    if (!maps) return false;
    for (int64_t i = 0; i < MEASURED; i++) {
        if (!vit_attention(r, v, p, i, maps)) return false;
        looks_of(maps, looks);
        for (int j = 0; j < GRID * GRID; j++) {
            if (!touched(&scenes[i], j)) continue;
            t->area += 1.0 / (GRID * GRID) / MEASURED;
            for (int l = 0; l <= LAYERS; l++) t->weight[l] += (double)looks[l * GRID * GRID + j] / MEASURED;
        }
    }
    return true;
}

/* ---- pictures ---- */

/* The picture where it is looked at, and dark elsewhere; patches blend into each other. */
static void light(const float *picture, const float *look, float *out) {
    float most = 0;
    for (int j = 0; j < GRID * GRID; j++) most = fmaxf(most, look[j]);
    for (int k = 0; k < SIDE * SIDE; k++) {
        const double x = fmin(fmax((k % SIDE + 0.5) / PATCH - 0.5, 0), GRID - 1),
                     y = fmin(fmax(((k - k % SIDE) / SIDE + 0.5) / PATCH - 0.5, 0), GRID - 1);
        const int left = (int)x < GRID - 1 ? (int)x : GRID - 2, top = (int)y < GRID - 1 ? (int)y : GRID - 2;
        const double dx = x - left, dy = y - top;
        const float *at = look + top * GRID + left;
        const double v = (1 - dy) * ((1 - dx) * (double)at[0] + dx * (double)at[1]) +
                         dy * ((1 - dx) * (double)at[GRID] + dx * (double)at[GRID + 1]);
        for (int c = 0; c < 3; c++) out[3 * k + c] = picture[3 * k + c] * (float)(0.1 + 0.9 * v / (double)most);
    }
}

static void draw(struct lesson_run *r, const struct vit *v, const struct pictures *p, const int32_t *answers) {
    enum { PIXELS = SIDE * SIDE * 3 };
    float *maps = lesson_room(r, LAYERS * TOKENS * TOKENS, sizeof *maps), looks[(LAYERS + 1) * GRID * GRID];
    float *images = lesson_room(r, (int64_t)SHOWN * COLUMNS * PIXELS, sizeof *images);
    char titles[SHOWN * COLUMNS][48];
    const char *names[SHOWN * COLUMNS];
    float table[SHOWN][LAYERS + 1][GRID * GRID];
    if (!maps || !images) return;
    for (int i = 0; i < SHOWN; i++) {
        float *row = images + (int64_t)i * COLUMNS * PIXELS;
        if (!vit_attention(r, v, p, i, maps)) return;
        looks_of(maps, looks);
        memcpy(table[i], looks, sizeof table[i]);
        pictures_rgb(p, i, row);
        snprintf(titles[i * COLUMNS], sizeof *titles, "answer: %s", shape_names[kinds[answers[i]]]);
        for (int l = 0; l <= LAYERS; l++) {
            light(row, looks + l * GRID * GRID, row + (l + 1) * PIXELS);
            if (l < LAYERS)
                snprintf(titles[i * COLUMNS + l + 1], sizeof *titles, "layer %d", l + 1);
            else
                snprintf(titles[i * COLUMNS + l + 1], sizeof *titles, "rollout");
        }
        for (int c = 0; c < COLUMNS; c++) names[i * COLUMNS + c] = titles[i * COLUMNS + c];
    }
    heed_figure *f = lesson_figure(r, 620, 560);
    heed_panel *panel = heed_figure_panel(f, 0, 0);
    heed_panel_title(panel, "Where the class token looks: bright patches have its attention");
    heed_panel_images(panel, images, SHOWN * COLUMNS, SIDE, SIDE,
                      &(heed_images){.columns = COLUMNS, .titles = names, .rgb = true});
    lesson_picture(r, f, "class-token-map");

    static const char *const columns[] = {"picture", "row", "column", "layer_1", "layer_2", "layer_3", "rollout"};
    enum { ROWS = SHOWN * GRID * GRID, KINDS = sizeof columns / sizeof *columns };
    float *numbers = lesson_room(r, KINDS * ROWS, sizeof *numbers);
    heed_table_column named[KINDS];
    if (!numbers) return;
    for (int n = 0; n < ROWS; n++) {
        const int i = n / (GRID * GRID), j = n % (GRID * GRID), row = j / GRID;
        const int where[] = {i, row, j % GRID};
        for (int k = 0; k < 3; k++) numbers[k * ROWS + n] = (float)where[k];
        for (int l = 0; l <= LAYERS; l++) numbers[(3 + l) * ROWS + n] = table[i][l][j];
    }
    for (int k = 0; k < KINDS; k++) named[k] = (heed_table_column){.name = columns[k], .f32 = numbers + k * ROWS};
    lesson_table(r, "class-token-map", named, KINDS, ROWS);
}

/* The first picture in grey, and where its class token looks. */
static void show_terminal(struct lesson_run *r, const struct vit *v, const struct pictures *p) {
    float *maps = lesson_room(r, LAYERS * TOKENS * TOKENS, sizeof *maps), looks[(LAYERS + 1) * GRID * GRID];
    static const char *const titles[] = {"layer 1", "layer 2", "layer 3", "rollout"};
    if (!maps || !vit_attention(r, v, p, 0, maps)) return;
    looks_of(maps, looks);
    lesson_show(r, heed_terminal_images(r->cx, looks, LAYERS + 1, GRID, GRID,
                                        &(heed_images){.columns = LAYERS + 1, .own_scales = true, .titles = titles},
                                        &r->terminal));
}

/* ---- the lesson ---- */

static void say_tally(struct lesson_run *r, const struct tally *before, const struct tally *after) {
    char name[32];
    lesson_say(r,
               "The class token's attention on patches that the red shape touches, which are %.0f %% of the picture:",
               100 * after->area);
    lesson_line(r, "%12s %16s %16s", "", "before", "after learning");
    for (int l = 0; l <= LAYERS; l++) {
        snprintf(name, sizeof name, l < LAYERS ? "layer %d" : "rollout", l + 1);
        lesson_line(r, "%12s %14.0f %% %14.0f %%", name, 100 * before->weight[l], 100 * after->weight[l]);
        snprintf(name, sizeof name, l < LAYERS ? "layer_%d" : "rollout", l + 1);
        lesson_result(r, name, after->weight[l]);
    }
    lesson_result(r, "area", after->area);
    lesson_line(r, "%s", "");
}

static void study(struct lesson_run *r, struct vit *v, const struct pictures *train, const struct pictures *tests,
                  const struct scene *scenes) {
    struct tally before = {.area = 0}, after = {.area = 0};
    int32_t *answers = lesson_room(r, TESTS, sizeof *answers);
    const struct vit_course course = {
        .n = train->n, .steps = r->steps, .batch = BATCH, .lr = 1.5e-3, .seed = r->seed, .progress = "learning, batch"};
    if (!answers || !vit_open(r, train, r->seed, v) || !measure(r, v, tests, scenes, &before) ||
        !vit_learn(r, v, train, &course) || !measure(r, v, tests, scenes, &after))
        return;
    const double right = vit_accuracy(r, v, tests, answers);
    lesson_line(r, "after %lld steps of %d pictures, %.1f %% of %d others are named right\n", (long long)r->steps,
                BATCH, 100 * right, TESTS);
    lesson_result(r, "accuracy", right);
    say_tally(r, &before, &after);
    lesson_say(r, "The first of these pictures, and where the class token looks in it:");
    show_terminal(r, v, tests);
    draw(r, v, tests, answers);
    lesson_say(r, "Nobody told it where the red shape is: only its name was given. %s%s",
               after.weight[0] > 2 * after.area ? "The first layer finds it" : "The first layer has not found it",
               after.weight[LAYERS - 1] < after.weight[0] - 0.1 ? "; in the last, attention spreads again." : ".");
    lesson_say(r, "Rollout multiplies the layers' maps, "
                  "so that what patches have heard from others counts too. Maps like these show where vectors were "
                  "read, not why the answer was given.");
}

static void run(struct lesson_run *r) {
    struct pictures train, tests;
    struct scene *scenes = lesson_room(r, TESTS, sizeof *scenes);
    struct vit v = {.patch = PATCH, .width = 64, .layers = LAYERS, .heads = 4};
    lesson_say(r,
               "A ViT classifies a picture by its class token, an extra token that attends to all patches. Here the "
               "class is the shape of the one red thing among others: square, triangle, cross or ring. Pictures of "
               "32 x 32 pixels are %d patches; %d layers, 64 wide, 4 heads.",
               GRID * GRID, LAYERS);
    const int64_t n = r->steps * BATCH < EXAMPLES ? r->steps * BATCH : EXAMPLES;
    if (!scenes || !draw_scenes(r, r->seed, n, &train, NULL) ||
        !draw_scenes(r, r->seed + 1000003, TESTS, &tests, scenes))
        return;
    study(r, &v, &train, &tests, scenes);
    vit_close(r, &v);
}

const struct lesson class_token_map_lesson = {
    .name = "class-token-map",
    .summary = "where a ViT's class token looks, layer by layer and rolled out",
    .steps = STEPS,
    .run = run,
};
