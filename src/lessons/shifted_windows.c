/* Which patches can talk: a Swin Transformer (Liu et al. 2021) attends within windows, and shifts them in every other
 * layer. What reaches what is not worked out but tried: a patch of the picture is changed, and whichever outputs change
 * have heard of it. */
#include "heed/model.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    GRID = 16,
    PATCHES = GRID * GRID,
    WINDOW = 4,
    CHANNELS = 3,
    WIDTH = 16,
    DEPTH = 4,
    PANELS = 3,
    MARKED = 6 * GRID + 6
};
enum { STILL, SHIFTED, KINDS };

static const char *const kind_names[KINDS] = {"windows that stay", "windows that shift"};

/* heard[i * PATCHES + j]: has the output of patch i heard of patch j? */
struct reach {
    bool heard[PATCHES * PATCHES];
};

/* ---- trying ---- */

/* A block without attention: what its attention gives is multiplied by 0. */
static bool silence(struct lesson_run *r, heed_model *m, int block) {
    static const char *const parts[] = {"weight", "bias"};
    for (int i = 0; i < 2; i++) {
        char name[128];
        snprintf(name, sizeof name, "encoder.layers.0.blocks.%d.attention.output.dense.%s", block, parts[i]);
        heed_param *p = heed_params_find(heed_model_params(m), name);
        if (!p) return heed_fail(r->cx, HEED_ERR_USAGE, "shifted-windows: the model has no %s", name);
        memset(p->value, 0, (size_t)p->count * sizeof *p->value);
    }
    return true;
}

/* Output of picture 0 beside that of picture j + 1, in which patch j is another. */
static void compare(const float *out, struct reach *reach) {
    for (int64_t j = 0; j < PATCHES; j++)
        for (int64_t i = 0; i < PATCHES; i++)
            reach->heard[i * PATCHES + j] =
                memcmp(out + i * WIDTH, out + ((j + 1) * PATCHES + i) * WIDTH, WIDTH * sizeof *out) != 0;
}

/* A Swin of so many blocks in one stage, those of `silent` (a bit for each) without attention. */
static bool try_out(struct lesson_run *r, int blocks, unsigned silent, struct reach *reach) {
    heed_ctx *cx = r->cx;
    const heed_family *family = heed_family_find("swin");
    char depth[32];
    snprintf(depth, sizeof depth, "depths=[%d]", blocks);
    const char *const settings[] = {"image_size=16", "patch_size=1",  "num_channels=3", "embed_dim=16",
                                    depth,           "num_heads=[2]", "window_size=4",  "initializer_range=0.2"};
    heed_model *m = heed_model_new_as(cx, family, heed_head_for(family, "embed"), settings,
                                      sizeof settings / sizeof *settings, r->seed);
    float *pixels = heed_mem_new(cx, (size_t)(PATCHES + 1) * CHANNELS * PATCHES * sizeof *pixels);
    bool ok = m && pixels;
    for (int b = 0; ok && b < blocks; b++)
        if (silent >> b & 1) ok = silence(r, m, b);
    for (int64_t i = 0; ok && i <= PATCHES; i++) {
        float *picture = pixels + i * CHANNELS * PATCHES;
        heed_random_normal(r->seed, 1, 0, picture, CHANNELS * PATCHES);
        for (int64_t c = 0; i > 0 && c < CHANNELS; c++) /* another colour */
            heed_random_normal(r->seed, 2, (uint64_t)c, picture + c * PATCHES + i - 1, 1);
    }
    heed_set_grad(cx, false);
    if (ok) {
        heed_io in = {0}, out = {0};
        heed_io_put(cx, &in, "pixel_values",
                    heed_from_f32(cx, pixels, 4, (int64_t[]){PATCHES + 1, CHANNELS, GRID, GRID}));
        ok = !heed_failed(cx) && heed_model_forward(cx, m, &in, &out);
        const float *states = ok ? heed_f32(heed_contiguous(cx, heed_io_get(&out, "last_hidden_state"))) : NULL;
        if (states) compare(states, reach);
        ok = states;
    }
    heed_reset(cx);
    heed_set_grad(cx, true);
    heed_mem_free(cx, pixels);
    heed_model_free(cx, m);
    return ok;
}

static bool try_layers(struct lesson_run *r, int kind, int layers, struct reach *reach) {
    /* blocks 1, 3, 5 shift; without attention there, 0, 2, 4 are as many layers that do not */
    return kind == SHIFTED ? try_out(r, layers, 0, reach) : try_out(r, 2 * layers - 1, 0xAAAAAAAA, reach);
}

static int64_t heard_by(const struct reach *reach, int64_t i) {
    int64_t n = 0;
    for (int64_t j = 0; j < PATCHES; j++) n += reach->heard[i * PATCHES + j];
    return n;
}

/* ---- pictures ---- */

/* Lines between patches that do not hear each other in this layer, over a map of patches. */
static void draw_borders(heed_panel *p, const struct reach *layer, heed_color color, double width) {
    float x[3 * 2 * PATCHES], y[3 * 2 * PATCHES];
    int64_t n = 0;
    for (int i = 0; i < PATCHES; i++)
        for (int down = 0; down < 2; down++) {
            const int row = i / GRID, col = i % GRID, j = down ? i + GRID : i + 1;
            if ((down ? row : col) == GRID - 1 || layer->heard[i * PATCHES + j]) continue;
            x[n] = (float)col + (down ? -0.5f : 0.5f), y[n++] = (float)row + (down ? 0.5f : -0.5f);
            x[n] = (float)col + 0.5f, y[n++] = (float)row + 0.5f;
            x[n] = NAN, y[n++] = NAN;
        }
    heed_panel_curve(p, x, y, n, &(heed_style){.color = color, .width = width});
}

static void draw_windows(struct lesson_run *r, const struct reach single[KINDS]) {
    heed_figure *f = lesson_figure(r, 640, 350);
    heed_figure_grid(f, 1, 2);
    for (int k = 0; k < KINDS; k++) {
        float count[PATCHES];
        heed_panel *p = heed_figure_panel(f, 0, k);
        for (int i = 0; i < PATCHES; i++) count[i] = (float)heard_by(&single[k], i);
        heed_panel_title(p, k ? "Layers 2, 4, ...: shifted by 2" : "Layers 1, 3, ...: windows of 4 x 4");
        heed_panel_heatmap(p, count, GRID, GRID, &(heed_heatmap){.map = HEED_MAP_SEQUENTIAL, .low = 0, .high = 16});
        draw_borders(p, &single[k], HEED_COLOR_INK, 1.6);
    }
    heed_figure_bar(f, "patches that it can talk to");
    lesson_picture(r, f, "shifted-windows");
}

/* Patches that the marked one has heard of: 1; itself: 2. */
static void reach_map(const struct reach *reach, float *map) {
    for (int j = 0; j < PATCHES; j++) map[j] = reach->heard[MARKED * PATCHES + j] ? 1 : 0;
    map[MARKED] = 2;
}

static void draw_reach(struct lesson_run *r, struct reach all[KINDS][DEPTH], const struct reach single[KINDS]) {
    heed_figure *f = lesson_figure(r, 700, 500);
    heed_figure_grid(f, KINDS, PANELS);
    for (int k = 0; k < KINDS; k++)
        for (int l = 0; l < PANELS; l++) {
            float map[PATCHES];
            char title[96];
            heed_panel *p = heed_figure_panel(f, k, l);
            reach_map(&all[k][l], map);
            snprintf(title, sizeof title, "%s, %d layer%s: %d", k ? "Shifting" : "Still", l + 1, l ? "s" : "",
                     (int)heard_by(&all[k][l], MARKED));
            heed_panel_title(p, title);
            heed_panel_heatmap(p, map, GRID, GRID,
                               &(heed_heatmap){.map = HEED_MAP_SEQUENTIAL, .low = -0.6, .high = 2, .no_bar = true});
            draw_borders(p, &single[k == SHIFTED && l % 2], HEED_COLOR_GREY, 0.7);
        }
    lesson_picture(r, f, "shifted-windows-reach");
}

static void show_terminal(struct lesson_run *r, struct reach all[KINDS][DEPTH]) {
    static const char *const titles[PANELS] = {"after 1 layer", "after 2", "after 3"};
    float maps[PANELS * PATCHES];
    for (int k = 0; k < KINDS; k++) {
        for (int l = 0; l < PANELS; l++) reach_map(&all[k][l], maps + l * PATCHES);
        heed_terminal how = r->terminal;
        how.title = kind_names[k];
        lesson_show(r, heed_terminal_images(r->cx, maps, PANELS, GRID, GRID,
                                            &(heed_images){.columns = PANELS, .low = 0, .high = 2, .titles = titles},
                                            &how));
    }
}

/* ---- the lesson ---- */

static void say_counts(struct lesson_run *r, struct reach all[KINDS][DEPTH]) {
    float layer[DEPTH], mean[KINDS][DEPTH];
    lesson_line(r, "patches that a patch has heard of: mean, and of the patch in row 7, column 7");
    lesson_line(r, "%8s %28s %28s", "layers", kind_names[STILL], kind_names[SHIFTED]);
    for (int l = 0; l < DEPTH; l++) {
        int64_t marked[KINDS];
        char name[48];
        layer[l] = (float)(l + 1);
        for (int k = 0; k < KINDS; k++) {
            int64_t sum = 0;
            for (int i = 0; i < PATCHES; i++) sum += heard_by(&all[k][l], i);
            mean[k][l] = (float)sum / PATCHES;
            marked[k] = heard_by(&all[k][l], MARKED);
            snprintf(name, sizeof name, "%s_%d", k ? "shifted" : "still", l + 1);
            lesson_result(r, name, (double)marked[k]);
        }
        lesson_line(r, "%8d %17.1f %10d %17.1f %10d", l + 1, (double)mean[STILL][l], (int)marked[STILL],
                    (double)mean[SHIFTED][l], (int)marked[SHIFTED]);
    }
    lesson_line(r, "%s", "");
    lesson_table(r, "shifted-windows",
                 (heed_table_column[]){{.name = "layers", .f32 = layer},
                                       {.name = "still_mean", .f32 = mean[STILL]},
                                       {.name = "shifted_mean", .f32 = mean[SHIFTED]}},
                 3, DEPTH);
}

static void write_reach(struct lesson_run *r, struct reach all[KINDS][DEPTH]) {
    float *columns = lesson_room(r, (2 + KINDS * PANELS) * PATCHES, sizeof *columns);
    heed_table_column named[2 + KINDS * PANELS] = {{.name = "row", .f32 = columns},
                                                   {.name = "column", .f32 = columns + PATCHES}};
    char names[KINDS * PANELS][24];
    if (!columns) return;
    for (int i = 0; i < PATCHES; i++)
        columns[i] = (float)((i - i % GRID) / GRID), columns[PATCHES + i] = (float)(i % GRID);
    for (int n = 0; n < KINDS * PANELS; n++) {
        float *to = columns + (2 + n) * PATCHES;
        for (int j = 0; j < PATCHES; j++) to[j] = all[n / PANELS][n % PANELS].heard[MARKED * PATCHES + j];
        snprintf(names[n], sizeof *names, "%s_%d", n / PANELS ? "shifted" : "still", n % PANELS + 1);
        named[2 + n] = (heed_table_column){.name = names[n], .f32 = to};
    }
    lesson_table(r, "shifted-windows-reach", named, 2 + KINDS * PANELS, PATCHES);
}

static void run(struct lesson_run *r) {
    struct reach(*all)[DEPTH] = lesson_room(r, KINDS, sizeof *all);
    struct reach *single = lesson_room(r, KINDS, sizeof *single);
    lesson_say(
        r,
        "Attention from every patch to every other costs the square of their number. A Swin Transformer (Liu et "
        "al. 2021) lets a patch talk only to those of its window, here %d x %d of %d x %d, so that the cost grows "
        "with the picture. But then nothing leaves a window. So every other layer shifts the windows by half "
        "their side: what meets in one layer carries it across the border in the next.",
        WINDOW, WINDOW, GRID, GRID);
    if (!all || !single) return;
    if (!try_out(r, 1, 0, &single[STILL]) || !try_out(r, 2, 1, &single[SHIFTED])) return;
    for (int k = 0; k < KINDS; k++)
        for (int l = 0; l < DEPTH; l++) {
            lesson_progress(r, "trying", k * DEPTH + l, KINDS * DEPTH);
            if (!try_layers(r, k, l + 1, &all[k][l])) return;
        }
    lesson_progress(r, "", 1, 1);
    lesson_say(r, "Which patches have heard of which is tried out: each patch of a picture is changed, alone, and the "
                  "outputs of a real Swin that are no longer the same, bit by bit, have heard of it.");
    say_counts(r, all);
    show_terminal(r, all);
    draw_windows(r, single);
    draw_reach(r, all, single);
    write_reach(r, all);
    lesson_say(
        r,
        "Shifted windows reach over the border of the picture: rows that fall off at one end come back at the other, "
        "so that all windows are of one size and go through one product. Patches that meet only so are kept "
        "apart by a mask; the windows at the border are smaller therefore, of 8 patches or, in the corners, "
        "of 4.");
}

const struct lesson shifted_windows_lesson = {
    .name = "shifted-windows",
    .summary = "windows that shift: which patches can talk after 1, 2, 3 layers",
    .run = run,
};
