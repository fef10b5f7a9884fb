/* High and low frequencies: a picture and its spectrum, what a disc of it keeps and what lies outside; and what mixes
 * tokens, as a filter: attention takes averages, which can only damp (Wang et al. 2022; Park and Kim 2022), convolution
 * may amplify. HAT (Bai et al. 2022) begins with that difference. */
#include "lessons/frequencies.h"
#include "heed/ops.h"
#include "lessons/vit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = PICTURE_SIDE, PIXELS = PICTURE_PIXELS, SHOWN = 3, RADII = 7 };

static const float radii[RADII] = {1, 2, 4, 8, 16, 24, 32}, shown[SHOWN] = {3, 8, 16};

/* ---- the picture ---- */

/* A house on a hill in the evening: wide and smooth, with bricks, tiles and a fence, which are fine. */
static bool draw_scene(struct lesson_run *r, float *out) {
    static const struct {
        enum shape shape;
        double x, y, radius;
        uint8_t color[3];
    } parts[] = {{SHAPE_DISC, 46, 96, 56, {62, 96, 70}},       {SHAPE_DISC, 12, 12, 7, {250, 240, 205}},
                 {SHAPE_SQUARE, 38, 40, 17, {176, 120, 92}},   {SHAPE_TRIANGLE, 38, 22, 17, {112, 48, 44}},
                 {SHAPE_SQUARE, 32, 40, 4.5, {238, 214, 140}}, {SHAPE_SQUARE, 45, 47, 7, {74, 50, 40}}};
    struct pictures p;
    if (!pictures_make(r, 1, SIDE, 3, 2, &p)) return false;
    uint8_t *const at = pictures_at(&p, 0);
    for (int k = 0; k < PIXELS; k++)
        memcpy(at + 3 * k, (uint8_t[]){(uint8_t)(50 + k / SIDE), (uint8_t)(64 + k / SIDE), (uint8_t)(140 - k / SIDE)},
               3);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        shape_draw(&p, 0, parts[i].shape, parts[i].x, parts[i].y, parts[i].radius, 0, parts[i].color);
    pictures_grey(&p, 0, out);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float *const v = out + y * SIDE + x;
            const bool wall = x >= 25 && x < 52 && y >= 29 && y < 54 && fabsf(*v - 0.53F) < 0.03F;
            if (wall && (y % 3 == 0 || (x + y / 3 % 2 * 2) % 4 == 0)) *v -= 0.17F; /* joints of bricks */
            const bool roof = y >= 8 && y < 29 && fabs((double)x - 37.5) < 0.577 * (y - 4.5);
            if (roof && (x + y) % 2 == 0) *v += 0.14F;                    /* tiles */
            if (y >= 50 && y < 60 && (x % 4 == 1 || y == 53)) *v = 0.86F; /* a fence */
        }
    return true;
}

static bool read_picture(struct lesson_run *r, float *out) {
    heed_image read, sized;
    if (!r->data) return draw_scene(r, out);
    if (!heed_image_read(r->cx, r->data, &(heed_image_opts){.mode = HEED_IMAGE_GREY, .orient = true}, &read))
        return false;
    const bool ok = heed_image_resize(r->cx, &read, SIDE, SIDE, HEED_FILTER_BICUBIC, NULL, &sized);
    heed_image_free(r->cx, &read);
    for (int i = 0; ok && i < PIXELS; i++) out[i] = (float)sized.data[i] / 255;
    if (ok) heed_image_free(r->cx, &sized);
    return ok;
}

double picture_variance(const float *x) {
    double mean = 0, sum = 0;
    for (int i = 0; i < PIXELS; i++) mean += (double)x[i] / PIXELS;
    for (int i = 0; i < PIXELS; i++) sum += ((double)x[i] - mean) * ((double)x[i] - mean) / PIXELS;
    return sum;
}

bool picture_band(struct lesson_run *r, const float *x, float low, float high, float *out) {
    heed_tensor *const picture = heed_from_f32(r->cx, x, 2, (int64_t[]){SIDE, SIDE});
    const bool ok = heed_copy_f32(r->cx, heed_fourier_band(r->cx, picture, low, high), out, PIXELS);
    heed_reset(r->cx);
    return ok;
}

/* ---- its spectrum ---- */

/* Logarithms of the squared sizes of its waves, the mean in the middle; along rows, then along columns. */
static bool spectrum(struct lesson_run *r, const float *x, float *out) {
    double *const re = lesson_room(r, PIXELS, sizeof *re), *const im = lesson_room(r, PIXELS, sizeof *im);
    for (int k = 0; re && im && k < PIXELS; k++) /* row k / SIDE, wave k % SIDE */
        for (int c = 0; c < SIDE; c++) {
            const double angle = 2 * M_PI * (k % SIDE) * c / SIDE;
            re[k] += (double)x[k / SIDE * SIDE + c] * cos(angle);
            im[k] -= (double)x[k / SIDE * SIDE + c] * sin(angle);
        }
    for (int k = 0; re && im && k < PIXELS; k++) {
        const int u = (k / SIDE + SIDE / 2) % SIDE, v = (k % SIDE + SIDE / 2) % SIDE;
        double a = 0, b = 0;
        for (int t = 0; t < SIDE; t++) {
            const double angle = 2 * M_PI * u * t / SIDE, c = cos(angle), s = -sin(angle);
            a += re[t * SIDE + v] * c - im[t * SIDE + v] * s;
            b += re[t * SIDE + v] * s + im[t * SIDE + v] * c;
        }
        out[k] = (float)log10(1e-2 + (a * a + b * b) / PIXELS);
    }
    return !heed_failed(r->cx);
}

void picture_draw(heed_panel *p, const char *title, const float *x, bool signed_values) {
    heed_panel_title(p, title);
    heed_panel_images(
        p, x, 1, SIDE, SIDE,
        &(heed_images){.map = HEED_MAP_GREY, .low = signed_values ? -0.4 : 0, .high = signed_values ? 0.4 : 1});
}

static void draw_spectrum(heed_panel *p, const float *logs) {
    enum { POINTS = 121 };
    static const heed_color colors[SHOWN] = {HEED_COLOR_ORANGE, HEED_COLOR_SKY, HEED_COLOR_GREEN};
    float x[POINTS], y[POINTS];
    heed_panel_title(p, "Its spectrum");
    heed_panel_heatmap(p, logs, SIDE, SIDE, &(heed_heatmap){.map = HEED_MAP_SEQUENTIAL, .no_bar = true});
    heed_panel_limits_x(p, -0.5 * SIDE, 0.5 * SIDE);
    heed_panel_limits_y(p, -0.5 * SIDE, 0.5 * SIDE);
    heed_panel_labels(p, "waves across", "waves down");
    for (int i = 0; i < SHOWN; i++) {
        for (int k = 0; k < POINTS; k++) {
            const double angle = 2 * M_PI * k / (POINTS - 1);
            x[k] = (float)((double)shown[i] * cos(angle));
            y[k] = (float)((double)shown[i] * sin(angle));
        }
        heed_panel_curve(p, x, y, POINTS, &(heed_style){.color = colors[i], .width = 1.4});
    }
}

/* In the terminal, at half the size. */
static void show_halves(struct lesson_run *r, const float *low, const float *high) {
    enum { HALF = SIDE / 2 };
    float few[2 * HALF * HALF];
    for (int i = 0; i < HALF * HALF; i++) {
        const int at = i / HALF * 2 * SIDE + i % HALF * 2;
        few[i] = (low[at] + low[at + 1] + low[at + SIDE] + low[at + SIDE + 1]) / 4;
        few[HALF * HALF + i] = 0.5F + (high[at] + high[at + 1] + high[at + SIDE] + high[at + SIDE + 1]) / 4;
    }
    const char *const titles[] = {"up to radius 8", "beyond it"};
    const heed_images how = {.columns = 2, .map = HEED_MAP_GREY, .low = 0, .high = 1, .titles = titles};
    lesson_show(r, heed_terminal_images(r->cx, few, 2, HALF, HALF, &how, &r->terminal));
}

static bool study_picture(struct lesson_run *r, const float *x, float *room) {
    float *const low = room, *const high = room + SHOWN * PIXELS, *const logs = room + 2 * SHOWN * PIXELS;
    if (!spectrum(r, x, logs)) return false;
    heed_figure *const f = lesson_figure(r, 900, 470);
    heed_figure_grid(f, 2, 1 + SHOWN);
    picture_draw(heed_figure_panel(f, 0, 0), "The picture", x, false);
    draw_spectrum(heed_figure_panel(f, 1, 0), logs);
    double apart = 0;
    for (int i = 0; i < SHOWN; i++) {
        float *const below = low + i * PIXELS, *const beyond = high + i * PIXELS;
        char title[48];
        if (!picture_band(r, x, -1, shown[i], below) || !picture_band(r, x, shown[i], INFINITY, beyond)) break;
        for (int k = 0; k < PIXELS; k++) apart = fmax(apart, fabs((double)x[k] - (double)below[k] - (double)beyond[k]));
        snprintf(title, sizeof title, "Low-pass, radius %g", (double)shown[i]);
        picture_draw(heed_figure_panel(f, 0, 1 + i), title, below, false);
        snprintf(title, sizeof title, "High-pass, radius %g", (double)shown[i]);
        picture_draw(heed_figure_panel(f, 1, 1 + i), title, beyond, true);
    }
    lesson_picture(r, f, "frequencies");
    lesson_result(r, "apart", apart);
    show_halves(r, low + PIXELS, high + PIXELS);
    return !heed_failed(r->cx);
}

/* How much of the variance lies within each radius. */
static bool print_radii(struct lesson_run *r, const float *x, float *part, double of_coarse[2]) {
    float waves[RADII], share[2][RADII];
    const double all = picture_variance(x);
    lesson_line(r, "%8s %16s %22s %22s", "radius", "waves within", "variance within", "variance beyond");
    for (int i = 0; i < RADII; i++) {
        int count = 0;
        for (int u = -SIDE / 2; u < SIDE / 2; u++)
            for (int v = -SIDE / 2; v < SIDE / 2; v++)
                count += (double)(u * u + v * v) <= (double)radii[i] * (double)radii[i];
        waves[i] = (float)count / PIXELS;
        for (int k = 0; k < 2; k++) {
            if (!picture_band(r, x, k ? radii[i] : -1, k ? INFINITY : radii[i], part)) return false;
            share[k][i] = all > 0 ? (float)(picture_variance(part) / all) : 0;
        }
        char name[24];
        lesson_line(r, "%8g %14.1f %% %20.1f %% %20.1f %%", (double)radii[i], 100 * (double)waves[i],
                    100 * (double)share[0][i], 100 * (double)share[1][i]);
        snprintf(name, sizeof name, "within_%g", (double)radii[i]);
        lesson_result(r, name, (double)share[0][i]);
        if (radii[i] == FINE_FROM) of_coarse[0] = (double)waves[i], of_coarse[1] = (double)share[0][i];
    }
    lesson_line(r, "%s", "");
    lesson_table(r, "frequencies",
                 (heed_table_column[]){{.name = "radius", .f32 = radii},
                                       {.name = "waves", .f32 = waves},
                                       {.name = "within", .f32 = share[0]},
                                       {.name = "beyond", .f32 = share[1]}},
                 4, RADII);
    return true;
}

/* ---- the lesson ---- */

static void run(struct lesson_run *r) {
    double of_coarse[2] = {0};
    float *const x = lesson_room(r, PIXELS, sizeof *x), *const room =
                                                            lesson_room(r, (2 * SHOWN + 1) * PIXELS, sizeof *room);
    if (!x || !room || !read_picture(r, x)) return;
    lesson_say(
        r,
        "A picture of %d x %d pixels is a sum of as many waves. Near the middle of its spectrum stand long ones, "
        "the low frequencies; at the edge fine ones, at most %d to a side. A disc around the middle is a low-pass "
        "filter, what lies outside it a high-pass filter, and the two add up to the picture.",
        SIDE, SIDE, SIDE / 2);
    if (!study_picture(r, x, room) || !print_radii(r, x, room, of_coarse)) return;
    lesson_say(r, "The longest %.1f %% of the waves, up to radius %d, hold %.1f %% of the variance: %s.",
               100 * of_coarse[0], FINE_FROM, 100 * of_coarse[1],
               r->data ? "what is wide and smooth. Where exactly an edge is, is left to the others"
                       : "the sky, the moon, the house as a whole. Bricks, tiles, the fence and where exactly an edge "
                         "is, are left to the others");
    if (!mixing_study(r, x)) return;
    lesson_say(r,
               "Bai et al. (2022) measured that ViTs lose more than convolutional networks when only high frequencies "
               "are left, and train against it: '%s train classify --hat' moves pixels a little to where the loss is "
               "higher, and '%s eval DIR --frequencies' shows accuracy against the radius.",
               r->program, r->program);
}

const struct lesson frequencies_lesson = {
    .name = "frequencies",
    .summary = "high and low frequencies of a picture, and why attention keeps the low ones",
    .data = "a picture, PNG or JPEG",
    .run = run,
};
