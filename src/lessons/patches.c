/* A picture as words: cut into patches that become tokens, of which a ViT (Dosovitskiy et al. 2021) makes a class; and
 * the positions that it learns, compared with each other by cosine similarity, as in the paper's figure 7. */
#include "lessons/vit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 900, BATCH = 64, EXAMPLES = 12000, TESTS = 1000, SHOWN = 3, SIDE = 28, PATCH = 4, GRID = SIDE / PATCH };
enum { PATCHES = GRID * GRID };

/* ---- a picture as a sentence ---- */

static void show_patches(struct lesson_run *r, const struct pictures *p) {
    float whole[SIDE * SIDE], cut[PATCHES * PATCH * PATCH];
    pictures_grey(p, 0, whole);
    for (int i = 0; i < PATCHES; i++)
        for (int k = 0; k < PATCH * PATCH; k++)
            cut[i * PATCH * PATCH + k] = whole[(i / GRID * PATCH + k / PATCH) * SIDE + i % GRID * PATCH + k % PATCH];
    heed_figure *f = lesson_figure(r, 620, 330);
    heed_figure_grid(f, 1, 2);
    heed_panel *left = heed_figure_panel(f, 0, 0), *right = heed_figure_panel(f, 0, 1);
    heed_panel_title(left, "A picture of 28 x 28 pixels");
    heed_panel_images(left, whole, 1, SIDE, SIDE, &(heed_images){.map = HEED_MAP_INK});
    heed_panel_title(right, "49 words of 4 x 4 pixels");
    heed_panel_images(right, cut, PATCHES, PATCH, PATCH,
                      &(heed_images){.columns = GRID, .map = HEED_MAP_INK, .low = 0, .high = 1});
    lesson_picture(r, f, "patches");
}

/* ---- positions ---- */

/* (PATCHES, PATCHES): cosines between the embeddings of positions, the class token's left out. */
static bool similarity(struct lesson_run *r, const struct vit *v, float *cosine) {
    const heed_param *positions = heed_params_find(heed_model_params(v->model), "vit.embeddings.position_embeddings");
    if (!positions || positions->count != (PATCHES + 1) * v->width)
        return heed_fail(r->cx, HEED_ERR_USAGE, "patches: the model has no such positions");
    for (int a = 0; a < PATCHES; a++)
        for (int b = 0; b < PATCHES; b++) {
            const float *x = positions->value + (a + 1) * v->width, *y = positions->value + (b + 1) * v->width;
            double xy = 0, xx = 0, yy = 0;
            for (int64_t i = 0; i < v->width; i++) {
                xy += (double)x[i] * (double)y[i];
                xx += (double)x[i] * (double)x[i];
                yy += (double)y[i] * (double)y[i];
            }
            cosine[a * PATCHES + b] = (float)(xy / sqrt(xx * yy));
        }
    return true;
}

/* The mean cosine of patches that are so far apart in the grid: 1, 2, ... GRID - 1 along a row or a column. */
static void by_distance(const float *cosine, double mean[GRID]) {
    int count[GRID] = {0};
    memset(mean, 0, GRID * sizeof *mean);
    for (int a = 0; a < PATCHES; a++)
        for (int b = 0; b < PATCHES; b++) {
            const int dy = abs(a / GRID - b / GRID), dx = abs(a % GRID - b % GRID);
            if (dx && dy) continue;
            mean[dx + dy] += (double)cosine[a * PATCHES + b];
            count[dx + dy]++;
        }
    for (int d = 0; d < GRID; d++) mean[d] /= count[d];
}

static void draw_positions(struct lesson_run *r, const float *cosine) {
    heed_figure *f = lesson_figure(r, 520, 560);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "How alike each position's embedding is to all others");
    heed_panel_images(p, cosine, PATCHES, GRID, GRID,
                      &(heed_images){.columns = GRID, .map = HEED_MAP_SEQUENTIAL, .low = -0.5, .high = 1});
    lesson_picture(r, f, "patches-positions");
}

static void write_tables(struct lesson_run *r, const float *cosine, const double mean[2][GRID]) {
    enum { PAIRS = PATCHES * PATCHES };
    float *columns = lesson_room(r, 5 * PAIRS, sizeof *columns), distance[GRID], means[2][GRID];
    if (!columns) return;
    for (int i = 0; i < PAIRS; i++) {
        const int numbers[] = {i / PATCHES / GRID, i / PATCHES % GRID, i % PATCHES / GRID, i % PATCHES % GRID};
        for (int k = 0; k < 4; k++) columns[k * PAIRS + i] = (float)numbers[k];
    }
    memcpy(columns + 4 * PAIRS, cosine, PAIRS * sizeof *cosine);
    lesson_table(r, "patches-positions",
                 (heed_table_column[]){{.name = "row", .f32 = columns},
                                       {.name = "column", .f32 = columns + PAIRS},
                                       {.name = "other_row", .f32 = columns + 2 * PAIRS},
                                       {.name = "other_column", .f32 = columns + 3 * PAIRS},
                                       {.name = "cosine", .f32 = columns + 4 * PAIRS}},
                 5, PAIRS);
    for (int d = 0; d < GRID; d++) {
        distance[d] = (float)d;
        for (int t = 0; t < 2; t++) means[t][d] = (float)mean[t][d];
    }
    lesson_table(r, "patches-distance",
                 (heed_table_column[]){{.name = "distance", .f32 = distance},
                                       {.name = "cosine_before", .f32 = means[0]},
                                       {.name = "cosine_after", .f32 = means[1]}},
                 3, GRID);
}

/* ---- the lesson ---- */

static void say_distances(struct lesson_run *r, const double mean[2][GRID]) {
    char name[32];
    lesson_line(r, "cosine of positions that are so many patches apart, along a row or a column");
    lesson_line(r, "%10s %12s %12s", "apart", "before", "after");
    for (int d = 1; d < GRID; d++) {
        lesson_line(r, "%10d %12.2f %12.2f", d, mean[0][d], mean[1][d]);
        for (int t = 0; t < 2; t++) {
            snprintf(name, sizeof name, "%s_%d", t ? "after" : "before", d);
            lesson_result(r, name, mean[t][d]);
        }
    }
    lesson_line(r, "%s", "");
}

static void study(struct lesson_run *r, struct vit *v, const struct pictures *train, const struct pictures *tests) {
    float *cosine = lesson_room(r, PATCHES * PATCHES, sizeof *cosine);
    double mean[2][GRID];
    const struct vit_course course = {
        .n = train->n, .steps = r->steps, .batch = BATCH, .lr = 2e-3, .seed = r->seed, .progress = "learning, batch"};
    if (!cosine || !vit_open(r, train, r->seed, v) || !similarity(r, v, cosine)) return;
    by_distance(cosine, mean[0]);
    if (!vit_learn(r, v, train, &course) || !similarity(r, v, cosine)) return;
    by_distance(cosine, mean[1]);
    const double right = vit_accuracy(r, v, tests, NULL);
    lesson_line(r, "after %lld steps of %d pictures, %.1f %% of %d others are read right\n", (long long)r->steps, BATCH,
                100 * right, TESTS);
    lesson_result(r, "accuracy", right);
    lesson_say(
        r, "Attention itself does not know where a token stands: shuffle the patches and it gives the same. So each "
           "place has a vector of its own that is added to its patch. At first these are random numbers; "
           "nobody says which places are neighbours.");
    say_distances(r, mean);
    const int shown[SHOWN] = {GRID + 1, PATCHES / 2, 5 * GRID + 4};
    float few[SHOWN * PATCHES];
    const char *const titles[SHOWN] = {"2, 2", "4, 4", "6, 5"};
    for (int i = 0; i < SHOWN; i++) memcpy(few + i * PATCHES, cosine + shown[i] * PATCHES, PATCHES * sizeof *few);
    lesson_show(r, heed_terminal_images(r->cx, few, SHOWN, GRID, GRID,
                                        &(heed_images){.columns = SHOWN, .low = -0.5, .high = 1, .titles = titles},
                                        &r->terminal));
    draw_positions(r, cosine);
    write_tables(r, cosine, mean);
    lesson_say(r,
               "Each small map is one position, its place in the sheet the place in the picture; bright is alike. %s",
               mean[1][1] > mean[1][3] + 0.1
                   ? "The positions have learnt the grid from the pictures alone: neighbours are more alike than "
                     "positions three patches apart."
                   : "The positions have not learnt the grid yet.");
    if (mean[1][GRID - 1] > mean[1][3] + 0.05)
        lesson_say(r, "Positions at opposite edges are more alike than those in between: digits leave the edge empty, "
                      "and nothing there tells one place from another.");
}

static void run(struct lesson_run *r) {
    struct pictures train, tests;
    struct vit v = {.patch = PATCH, .width = 64, .layers = 3, .heads = 4};
    lesson_say(
        r,
        "A Transformer reads words. A picture becomes words when it is cut into patches (Dosovitskiy et al. "
        "2021): heed's digits of 28 x 28 pixels are %d patches of 4 x 4. A product makes each a vector, 64 wide; "
        "a class token is put in front; 3 layers of attention read them, and the class token's state says "
        "which digit it is.",
        PATCHES);
    const int64_t n = r->steps * BATCH < EXAMPLES ? r->steps * BATCH : EXAMPLES;
    if (!pictures_digits(r, r->seed, n, &train) || !pictures_digits(r, r->seed + 1000003, TESTS, &tests)) return;
    show_patches(r, &train);
    study(r, &v, &train, &tests);
    vit_close(r, &v);
}

const struct lesson patches_lesson = {
    .name = "patches",
    .summary = "an image is 16 x 16 words: a ViT, and positions that learn the grid",
    .steps = STEPS,
    .run = run,
};
