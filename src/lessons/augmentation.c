/* What augmentation does: a sheet of all of them on one picture, and the accuracy of a small network against the number
 * of pictures that it learns from, with augmentation and without (as Touvron et al. 2021 found for DeiT). */
#include "lessons/vit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 1200, BATCH = 32, TESTS = 600, MOST = 1600, DRAWS = 3, SIZES = 4, SHEET = 72, TILES = 24 };
enum { COLUMNS = 6 };
enum { PLAIN, AUGMENTED, KINDS };

static const int64_t sizes[SIZES] = {100, 200, 400, 1600};

/* What the network learns with: a digit may be larger or smaller, narrower or wider, elsewhere, and partly hidden. No
 * flips: a mirrored 3 is none. */
static const heed_augment course_augment = {.area_low = 0.6,
                                            .area_high = 1,
                                            .filter = HEED_FILTER_BILINEAR,
                                            .erase = 0.25,
                                            .erase_low = 0.02,
                                            .erase_high = 0.15};

/* ---- the sheet ---- */

/* A picture to look at: a house under stars. And another to mix with it. */
static bool draw_sheet_pictures(struct lesson_run *r, struct pictures *p) {
    static const struct {
        int picture;
        enum shape shape;
        double x, y, radius, angle;
        uint8_t color[3];
    } parts[] = {{0, SHAPE_DISC, 36, 128, 72, 0, {70, 120, 80}},    {0, SHAPE_SQUARE, 34, 48, 18, 0, {205, 150, 105}},
                 {0, SHAPE_TRIANGLE, 34, 26, 20, 0, {165, 60, 50}}, {0, SHAPE_SQUARE, 34, 56, 7, 0, {95, 60, 45}},
                 {0, SHAPE_DISC, 60, 12, 8, 0, {250, 240, 200}},    {0, SHAPE_STAR, 12, 14, 6, 0.2, {250, 220, 110}},
                 {0, SHAPE_STAR, 54, 30, 4, 0.6, {250, 220, 110}},  {0, SHAPE_STAR, 8, 36, 3.5, 0.4, {250, 220, 110}},
                 {1, SHAPE_RING, 36, 36, 28, 0, {240, 120, 40}},    {1, SHAPE_STAR, 36, 36, 15, 0, {255, 255, 255}}};
    if (!pictures_make(r, 2, SHEET, 3, 2, p)) return false;
    for (int64_t k = 0; k < SHEET * SHEET; k++) { /* an evening sky; a plain one */
        const int64_t y = k / SHEET;
        const uint8_t sky[3] = {(uint8_t)(40 + y), (uint8_t)(60 + y), (uint8_t)(120 + y)};
        memcpy(pictures_at(p, 0) + 3 * k, sky, 3);
        memcpy(pictures_at(p, 1) + 3 * k, (uint8_t[]){40, 120, 130}, 3);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        shape_draw(p, parts[i].picture, parts[i].shape, parts[i].x, parts[i].y, parts[i].radius, parts[i].angle,
                   parts[i].color);
    return true;
}

struct sheet {
    float *images; /* (TILES, SHEET, SHEET, 3) */
    char titles[TILES][32];
    int n;
};

/* As the next tile, from bytes. */
static void put_tile(struct sheet *s, const char *title, const heed_image *image) {
    float *to = s->images + (int64_t)s->n * SHEET * SHEET * 3;
    snprintf(s->titles[s->n++], sizeof *s->titles, "%s", title);
    for (int64_t k = 0; k < SHEET * SHEET * 3; k++) to[k] = (float)image->data[k] / 255;
}

static bool put_drawn(struct lesson_run *r, struct sheet *s, const char *title, const heed_augment *a,
                      const heed_image *image) {
    heed_image out;
    if (!heed_image_augment(r->cx, a, image, SHEET, SHEET, r->seed + 3, 2, s->n, &out)) return false;
    put_tile(s, title, &out);
    heed_image_free(r->cx, &out);
    return true;
}

/* Erasing, mixup and CutMix work on floats, channel by channel. */
static void put_floats(struct sheet *s, const char *title, const heed_augment *a, const heed_image *image,
                       const heed_image *other, uint64_t seed, float *room) {
    const int64_t size = SHEET * SHEET * 3;
    float *x = room, *y = room + size, *to = s->images + s->n * size;
    for (int64_t k = 0; k < size; k++) {
        x[k % 3 * SHEET * SHEET + k / 3] = (float)image->data[k] / 255;
        y[k % 3 * SHEET * SHEET + k / 3] = (float)other->data[k] / 255;
    }
    if (a->mix > 0) {
        const heed_mix mix = heed_mix_draw(a, 2, SHEET, SHEET, seed, 1, 0);
        heed_mix_floats(&mix, x, y, 3, SHEET, SHEET);
    } else {
        heed_floats_erase(a, x, 3, SHEET, SHEET, seed, 1, 0);
    }
    for (int64_t k = 0; k < size; k++) to[k] = x[k % 3 * SHEET * SHEET + k / 3];
    snprintf(s->titles[s->n++], sizeof *s->titles, "%s", title);
}

static bool fill_sheet(struct lesson_run *r, const struct pictures *p, struct sheet *s, float *room) {
    static const struct {
        const char *title;
        heed_augment a;
    } bytes[] = {{"random resized crop", {.area_low = 0.15, .area_high = 0.5, .filter = HEED_FILTER_BICUBIC}},
                 {"padding and crop", {.padding = 14, .padding_kind = HEED_PADDING_REFLECT}},
                 {"flip", {.flip = 1}},
                 {"colour jitter", {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.3}}},
      floats[] = {{"random erasing", {.erase = 1}},
                  {"erasing, noise", {.erase = 1, .erase_noise = true}},
                  {"cutout", {.cutout = 28}},
                  {"mixup", {.mixup = 8, .mix = 1}},
                  {"CutMix", {.cutmix = 1, .mix = 1}}};
    const heed_image image = {SHEET, SHEET, 3, pictures_at(p, 0)}, other = {SHEET, SHEET, 3, pictures_at(p, 1)};
    put_tile(s, "the picture", &image);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        if (!put_drawn(r, s, bytes[i].title, &bytes[i].a, &image)) return false;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        put_floats(s, floats[i].title, &floats[i].a, &image, &other, r->seed + 5, room);
    for (int op = 0; op < heed_rand_count(HEED_RAND_TORCHVISION) && s->n < TILES; op++) {
        heed_image out;
        if (!heed_image_copy(r->cx, &image, &out)) return false;
        const bool ok = heed_rand_apply(r->cx, HEED_RAND_TORCHVISION, op, 20, false, HEED_FILTER_NEAREST, NULL, &out);
        if (ok) put_tile(s, heed_rand_name(HEED_RAND_TORCHVISION, op), &out);
        heed_image_free(r->cx, &out);
        if (!ok) return false;
    }
    return true;
}

static bool draw_sheet(struct lesson_run *r) {
    struct pictures p;
    struct sheet s = {.images = lesson_room(r, TILES * SHEET * SHEET * 3, sizeof(float))};
    float *room = lesson_room(r, (int64_t)2 * SHEET * SHEET * 3, sizeof *room);
    const char *names[TILES];
    if (!s.images || !room || !draw_sheet_pictures(r, &p) || !fill_sheet(r, &p, &s, room)) return false;
    for (int i = 0; i < s.n; i++) names[i] = s.titles[i];
    heed_figure *f = lesson_figure(r, 640, 520);
    heed_panel *panel = heed_figure_panel(f, 0, 0);
    heed_panel_title(panel, "One picture, augmented; RandAugment's operations at magnitude 20 of 30");
    heed_panel_images(panel, s.images, s.n, SHEET, SHEET,
                      &(heed_images){.columns = COLUMNS, .titles = names, .rgb = true});
    lesson_picture(r, f, "augmentation-sheet");
    return !heed_failed(r->cx);
}

/* ---- learning ---- */

struct outcome {
    double mean, low, high;
};

static bool measure(struct lesson_run *r, const struct pictures *train, const struct pictures *tests, int kind,
                    int64_t n, struct outcome *o) {
    *o = (struct outcome){.low = 1};
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        struct vit v = {.width = 128};
        struct pictures some = *train; /* other pictures for each draw */
        some.bytes = pictures_at(train, (int64_t)draw * n);
        some.label += (int64_t)draw * n;
        const struct vit_course course = {.n = n,
                                          .steps = r->steps,
                                          .batch = BATCH,
                                          .lr = 1e-3,
                                          .augment = kind == AUGMENTED ? &course_augment : NULL,
                                          .seed = r->seed + draw,
                                          .progress = "learning, batch"};
        const bool ok = vit_open(r, &some, r->seed + draw, &v) && vit_learn(r, &v, &some, &course);
        const double right = ok ? vit_accuracy(r, &v, tests, NULL) : 0;
        vit_close(r, &v);
        if (heed_failed(r->cx)) return false;
        o->mean += right / DRAWS;
        o->low = fmin(o->low, right);
        o->high = fmax(o->high, right);
    }
    return true;
}

static void report(struct lesson_run *r, struct outcome all[KINDS][SIZES]) {
    static const char *const labels[KINDS] = {"as they are", "augmented"};
    float number[SIZES], mean[KINDS][SIZES], low[KINDS][SIZES], high[KINDS][SIZES];
    heed_series series[KINDS];
    heed_figure *f = lesson_figure(r, 480, 330);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    for (int i = 0; i < SIZES; i++) number[i] = (float)sizes[i];
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < SIZES; i++) {
            mean[k][i] = (float)(100 * all[k][i].mean);
            low[k][i] = (float)(100 * all[k][i].low);
            high[k][i] = (float)(100 * all[k][i].high);
        }
        const heed_color color = k ? HEED_COLOR_ORANGE : HEED_COLOR_BLUE;
        heed_panel_band(p, number, low[k], high[k], SIZES, &(heed_style){.color = color});
        heed_panel_curve(p, number, mean[k], SIZES,
                         &(heed_style){.label = labels[k], .color = color, .marker = HEED_MARKER_DISC});
        series[k] = (heed_series){.label = labels[k], .x = number, .y = mean[k], .n = SIZES};
    }
    heed_panel_title(p, "Digits, learnt from few pictures");
    heed_panel_labels(p, "training pictures", "test accuracy (%)");
    heed_panel_log(p, true, false);
    lesson_picture(r, f, "augmentation");
    lesson_show(r, heed_terminal_curves(r->cx, series, KINDS, &(heed_axes){.x_label = "pictures", .log_x = true},
                                        &r->terminal));
    lesson_table(r, "augmentation",
                 (heed_table_column[]){{.name = "pictures", .f32 = number},
                                       {.name = "plain", .f32 = mean[PLAIN]},
                                       {.name = "plain_least", .f32 = low[PLAIN]},
                                       {.name = "plain_largest", .f32 = high[PLAIN]},
                                       {.name = "augmented", .f32 = mean[AUGMENTED]},
                                       {.name = "augmented_least", .f32 = low[AUGMENTED]},
                                       {.name = "augmented_largest", .f32 = high[AUGMENTED]}},
                 7, SIZES);
}

/* ---- the lesson ---- */

static void run(struct lesson_run *r) {
    struct outcome all[KINDS][SIZES];
    struct pictures train, tests;
    lesson_say(r, "A flipped cat is a cat. Augmentation says so to the network: each time a picture is seen it is "
                  "cropped, mirrored, turned, recoloured or partly erased at random, and its class stays. The "
                  "sheet that '--out' writes shows each kind on one picture, with the operations of RandAugment (Cubuk "
                  "et al. 2020), mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019).");
    if (!draw_sheet(r) || !pictures_digits(r, r->seed, MOST * DRAWS, &train) ||
        !pictures_digits(r, r->seed + 1000003, TESTS, &tests))
        return;
    lesson_say(
        r,
        "What it is worth: a network of one hidden layer, which is quick to train, learns heed's digits from few "
        "pictures, in %lld steps of %d: as they are, or cropped, stretched and partly erased anew each time. "
        "Means of %d draws, %d test pictures:",
        (long long)r->steps, BATCH, DRAWS, TESTS);
    lesson_line(r, "%10s %16s %16s %10s", "pictures", "as they are", "augmented", "gain");
    for (int i = 0; i < SIZES; i++) {
        char name[32];
        for (int k = 0; k < KINDS; k++) {
            if (!measure(r, &train, &tests, k, sizes[i], &all[k][i])) return;
            snprintf(name, sizeof name, "%s_%d", k ? "augmented" : "plain", (int)sizes[i]);
            lesson_result(r, name, all[k][i].mean);
        }
        lesson_line(r, "%10d %14.1f %% %14.1f %% %10.1f", (int)sizes[i], 100 * all[PLAIN][i].mean,
                    100 * all[AUGMENTED][i].mean, 100 * (all[AUGMENTED][i].mean - all[PLAIN][i].mean));
    }
    lesson_line(r, "%s", "");
    report(r, all);
    lesson_say(
        r,
        "The network does not know that a digit stays what it is when it moves or grows. It must learn that from data "
        "or from augmentation, which gains %.0f points with %d pictures and %.0f with %d. A ViT has as little built in "
        "as "
        "this network, and is trained with all of the sheet (DeiT: Touvron et al. 2021).",
        100 * (all[AUGMENTED][0].mean - all[PLAIN][0].mean), (int)sizes[0],
        100 * (all[AUGMENTED][SIZES - 1].mean - all[PLAIN][SIZES - 1].mean), (int)sizes[SIZES - 1]);
}

const struct lesson augmentation_lesson = {
    .name = "augmentation",
    .summary = "one picture in many ways, and accuracy against data with and without",
    .steps = STEPS,
    .run = run,
};
