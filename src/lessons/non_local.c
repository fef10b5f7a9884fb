/* Local and non-local (Wang, Girshick, Gupta & He 2018): a non-local block with an embedded Gaussian, worked out by its
 * formula, has the numbers of self-attention; the four forms on one picture; and how far convolutions see. */
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 32, PATCH = 4, GRID = SIDE / PATCH, PLACES = GRID * GRID, WIDTH = PATCH * PATCH, INNER = WIDTH / 2 };
enum { FORMS = 4, FIELD = 15, CHANNELS = 4, DEPTHS = 4, SEEN = 50 };

/* ---- a picture as places ---- */

struct block {
    float image[SIDE * SIDE], x[PLACES * WIDTH]; /* a picture, and its places */
    float theta[INNER * WIDTH], g[INNER * WIDTH], out[WIDTH * INNER], pair[2 * INNER];
    int query;                    /* a place within a shape */
    float weights[FORMS][PLACES]; /* what it takes of all places */
    float by_hand[WIDTH], attention[WIDTH];
};

/* The first picture of the seed whose shapes are of one kind; its patches, of which the mean is taken away. */
static bool read_picture(struct lesson_run *r, struct block *b) {
    heed_data *const data = heed_data_same_shapes(r->cx, r->seed, SEEN);
    int at = 0;
    if (!data) return false;
    while (at + 1 < SEEN && data->label[at] != 1) at++;
    for (int i = 0; i < SIDE * SIDE; i++) b->image[i] = (float)data->bytes[at * SIDE * SIDE + i] * data->scale;
    heed_data_free(r->cx, data);
    double most = -1;
    for (int p = 0; p < PLACES; p++) {
        double sum = 0;
        float *const x = b->x + p * WIDTH;
        for (int k = 0; k < WIDTH; k++) {
            x[k] = b->image[(p / GRID * PATCH + k / PATCH) * SIDE + p % GRID * PATCH + k % PATCH];
            sum += (double)x[k];
        }
        if (sum > most) most = sum, b->query = p;
        for (int k = 0; k < WIDTH; k++) x[k] = 0.75F * (x[k] - 0.25F);
    }
    return true;
}

/* phi is theta, so that places which are alike find each other. */
static void draw_weights(struct lesson_run *r, struct block *b) {
    heed_random_normal(r->seed, 1, 0, b->theta, INNER * WIDTH);
    heed_random_normal(r->seed, 2, 0, b->g, INNER * WIDTH);
    heed_random_normal(r->seed, 3, 0, b->out, WIDTH * INNER);
    heed_random_normal(r->seed, 4, 0, b->pair, 2 * INNER);
    for (int i = 0; i < INNER * WIDTH; i++) b->theta[i] *= 0.35F, b->g[i] *= 0.5F, b->out[i] *= 0.35F;
}

/* ---- the formula ---- in double */

static void product(const float *w, const float *x, int rows, int columns, double *y) {
    for (int i = 0; i < rows; i++) {
        y[i] = 0;
        for (int k = 0; k < columns; k++) y[i] += (double)w[i * columns + k] * (double)x[k];
    }
}

/* f(x_i, x_j) of each form: gaussian, embedded Gaussian, dot product, concatenation */
static double pairwise(const struct block *b, int form, int i, int j) {
    double own[INNER], other[INNER], f = 0;
    if (form == 0) {
        for (int k = 0; k < WIDTH; k++) f += (double)b->x[i * WIDTH + k] * (double)b->x[j * WIDTH + k];
        return exp(f);
    }
    product(b->theta, b->x + i * WIDTH, INNER, WIDTH, own);
    product(b->theta, b->x + j * WIDTH, INNER, WIDTH, other);
    for (int k = 0; k < INNER; k++)
        f += form == 3 ? (double)b->pair[k] * own[k] + (double)b->pair[INNER + k] * other[k] : own[k] * other[k];
    return form == 1 ? exp(f) : form == 3 ? fmax(f, 0) : f;
}

/* Of the query: f / C of every form, and z of the embedded Gaussian. */
static void work_out(struct block *b) {
    const int i = b->query;
    double y[INNER] = {0}, z[WIDTH];
    for (int form = 0; form < FORMS; form++) {
        double f[PLACES], sum = 0;
        for (int j = 0; j < PLACES; j++) sum += f[j] = pairwise(b, form, i, j);
        const double C = form < 2 ? sum : PLACES;
        for (int j = 0; j < PLACES; j++) b->weights[form][j] = (float)(f[j] / C);
    }
    for (int j = 0; j < PLACES; j++) {
        double g[INNER];
        product(b->g, b->x + j * WIDTH, INNER, WIDTH, g);
        for (int k = 0; k < INNER; k++) y[k] += (double)b->weights[1][j] * g[k];
    }
    float rounded[INNER];
    for (int k = 0; k < INNER; k++) rounded[k] = (float)y[k];
    product(b->out, rounded, WIDTH, INNER, z);
    for (int k = 0; k < WIDTH; k++) b->by_hand[k] = (float)((double)b->x[i * WIDTH + k] + z[k]);
}

/* ---- attention ---- one head of heed's own: queries theta x, keys phi x, values g x, output layer W_z */

static heed_tensor *head_of(heed_ctx *cx, heed_tensor *x, const float *w) {
    heed_tensor *const y = heed_linear(cx, x, heed_from_f32(cx, w, 2, (int64_t[]){INNER, WIDTH}), NULL);
    return heed_reshape(cx, y, 4, (int64_t[]){1, PLACES, 1, INNER});
}

static bool attend(struct lesson_run *r, struct block *b) {
    heed_ctx *const cx = r->cx;
    heed_tensor *const x = heed_from_f32(cx, b->x, 2, (int64_t[]){PLACES, WIDTH});
    heed_tensor *const y = heed_attention(cx, head_of(cx, x, b->theta), head_of(cx, x, b->theta), head_of(cx, x, b->g),
                                          &(heed_attention_opts){.scale = 1});
    heed_tensor *const out = heed_from_f32(cx, b->out, 2, (int64_t[]){WIDTH, INNER});
    heed_tensor *const z =
        heed_add(cx, x, heed_linear(cx, heed_reshape(cx, y, 2, (int64_t[]){PLACES, INNER}), out, NULL));
    const float *const all = numbers_of(r, z);
    heed_reset(cx);
    if (all) memcpy(b->attention, all + b->query * WIDTH, sizeof b->attention);
    return all != NULL;
}

static double largest_difference(const struct block *b) {
    double most = 0;
    for (int k = 0; k < WIDTH; k++) most = fmax(most, fabs((double)b->by_hand[k] - (double)b->attention[k]));
    return most;
}

/* ---- how far a place is heard ---- */

/* What so many convolutions of 3 x 3, or one block, make of a field of random numbers. middle: there it is another. */
static bool field_of(struct lesson_run *r, bool block, int depth, bool middle, float *out) {
    enum { ALL = CHANNELS * FIELD * FIELD };
    heed_ctx *const cx = r->cx;
    float kernel[CHANNELS * CHANNELS * 9], start[ALL];
    const heed_conv_opts opts = {.padding = {1, 1}};
    heed_random_normal(r->seed, 5, 0, start, ALL);
    for (int c = 0; middle && c < CHANNELS; c++) start[c * FIELD * FIELD + FIELD * FIELD / 2] += 1;
    heed_tensor *x = heed_from_f32(cx, start, 4, (int64_t[]){1, CHANNELS, FIELD, FIELD});
    for (int i = 0; i < depth && !block; i++) {
        heed_random_normal(r->seed, 6 + (uint64_t)i, 0, kernel, CHANNELS * CHANNELS * 9);
        for (int k = 0; k < CHANNELS * CHANNELS * 9; k++) kernel[k] *= 0.25F;
        x = heed_conv2d(cx, x, heed_from_f32(cx, kernel, 4, (int64_t[]){CHANNELS, CHANNELS, 3, 3}), NULL, &opts);
    }
    if (block) { /* the Gaussian form: places look at each other as they are */
        heed_tensor *t = heed_transpose(cx, heed_reshape(cx, x, 2, (int64_t[]){CHANNELS, FIELD * FIELD}), 0, 1);
        t = heed_reshape(cx, t, 4, (int64_t[]){1, FIELD * FIELD, 1, CHANNELS});
        x = heed_attention(cx, t, t, t, &(heed_attention_opts){.scale = 1});
    }
    const float *const got = numbers_of(r, x);
    heed_reset(cx);
    if (got) memcpy(out, got, ALL * sizeof *out);
    return got != NULL;
}

/* 1 where something changes when the middle does; how many places. */
static int heard(struct lesson_run *r, bool block, int depth, float *map) {
    enum { PLACES_OF = FIELD * FIELD };
    float before[CHANNELS * PLACES_OF], after[CHANNELS * PLACES_OF];
    int n = 0;
    if (!field_of(r, block, depth, false, before) || !field_of(r, block, depth, true, after)) return 0;
    for (int p = 0; p < PLACES_OF; p++) {
        bool changes = false;
        for (int c = 0; c < CHANNELS; c++) {
            const int at = block ? p * CHANNELS + c : c * PLACES_OF + p;
            changes |= before[at] != after[at];
        }
        map[p] = changes;
        n += changes;
    }
    return n;
}

/* ---- words and pictures ---- */

static void compare(struct lesson_run *r, const struct block *b) {
    lesson_line(r, "%8s %22s %18s", "channel", "z by the formula", "self-attention");
    for (int k = 0; k < 6; k++) lesson_line(r, "%8d %22.6f %18.6f", k, (double)b->by_hand[k], (double)b->attention[k]);
    const double most = largest_difference(b);
    lesson_line(r, "\nlargest difference of all %d: %.2g\n", (int)WIDTH, most);
    lesson_result(r, "difference", most);
}

static void draw_forms(struct lesson_run *r, const struct block *b) {
    static const char *const titles[FORMS] = {"Gaussian", "embedded Gaussian", "dot product", "concatenation"};
    static const char *const names[FORMS] = {"gaussian", "embedded_gaussian", "dot_product", "concatenation"};
    static const char *const shorter[FORMS] = {"Gauss", "embedded", "product", "concat."};
    lesson_show(r, heed_terminal_images(r->cx, b->weights[0], FORMS, GRID, GRID,
                                        &(heed_images){.columns = FORMS, .own_scales = true, .titles = shorter},
                                        &r->terminal));
    heed_figure *const f = lesson_figure(r, 860, 260);
    heed_figure_grid(f, 1, 2);
    heed_panel *const left = heed_figure_panel(f, 0, 0), *const right = heed_figure_panel(f, 0, 1);
    char title[80];
    snprintf(title, sizeof title, "Two shapes of one kind; place %d,%d looks", b->query / GRID, b->query % GRID);
    heed_panel_title(left, title);
    heed_panel_images(left, b->image, 1, SIDE, SIDE, &(heed_images){.low = 0, .high = 1});
    heed_panel_title(right, "f / C of the four forms");
    heed_panel_images(right, b->weights[0], FORMS, GRID, GRID,
                      &(heed_images){.columns = FORMS, .own_scales = true, .titles = titles});
    lesson_picture(r, f, "non-local");
    float place[2][PLACES];
    heed_table_column columns[2 + FORMS] = {{.name = "row", .f32 = place[0]}, {.name = "column", .f32 = place[1]}};
    for (int p = 0; p < PLACES; p++) place[0][p] = (float)(p / GRID), place[1][p] = (float)(p % GRID);
    for (int k = 0; k < FORMS; k++) {
        columns[2 + k] = (heed_table_column){.name = names[k], .f32 = b->weights[k]};
        double sum = 0;
        for (int p = 0; p < PLACES; p++) sum += (double)b->weights[k][p];
        char name[40];
        snprintf(name, sizeof name, "sum_%s", names[k]);
        lesson_result(r, name, sum);
    }
    lesson_table(r, "non-local", columns, 2 + FORMS, PLACES);
}

static void draw_reach(struct lesson_run *r) {
    static const int depth[DEPTHS] = {1, 2, 4, 7};
    static const char *const titles[DEPTHS + 1] = {"1 convolution", "2", "4", "7", "1 non-local block"};
    float maps[(DEPTHS + 1) * FIELD * FIELD], layers[DEPTHS + 1], places[DEPTHS + 1];
    lesson_line(r, "%-24s %s", "after", "places that hear of the middle one, of 225");
    for (int i = 0; i <= DEPTHS; i++) {
        const bool block = i == DEPTHS;
        const int n = heard(r, block, block ? 1 : depth[i], maps + i * FIELD * FIELD);
        char name[40];
        layers[i] = block ? 0 : (float)depth[i], places[i] = (float)n;
        snprintf(name, sizeof name, block ? "reach_block" : "reach_%d", block ? 1 : depth[i]);
        lesson_result(r, name, n);
        if (block)
            lesson_line(r, "%-24s %d\n", "1 non-local block", n);
        else
            lesson_line(r, "%d convolution%-11s %d", depth[i], depth[i] == 1 ? " of 3 x 3" : "s of 3 x 3", n);
    }
    heed_figure *const f = lesson_figure(r, 760, 220);
    heed_panel *const p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Who has heard of the place in the middle");
    heed_panel_images(p, maps, DEPTHS + 1, FIELD, FIELD,
                      &(heed_images){.columns = DEPTHS + 1, .low = 0, .high = 1, .titles = titles});
    lesson_picture(r, f, "non-local-reach");
    lesson_table(r, "non-local-reach",
                 (heed_table_column[]){{.name = "convolutions", .f32 = layers}, {.name = "places", .f32 = places}}, 2,
                 DEPTHS + 1);
}

static void run(struct lesson_run *r) {
    struct block *const b = lesson_room(r, 1, sizeof *b);
    if (!b || !read_picture(r, b)) return;
    draw_weights(r, b);
    work_out(b);
    if (!attend(r, b)) return;
    lesson_say(r,
               "A convolution is local: a place sees its neighbours, and what lies far away only through many layers. "
               "A non-local block (Wang et al. 2018) lets every place see every other at once: z_i = x_i + W_z y_i, "
               "y_i = sum_j f(x_i, x_j) g(x_j) / C. With f = exp(theta(x_i)' phi(x_j)), the embedded Gaussian, and "
               "C = sum_j f, dividing by C is a softmax: theta x are queries, phi x keys, g x values and W_z the "
               "output layer. This is self-attention with one head, around which x is added.");
    lesson_say(r, "A picture of 32 x 32 pixels is 8 x 8 places of 16 numbers. Place %d,%d, worked out both ways:",
               b->query / GRID, b->query % GRID);
    compare(r, b);
    lesson_say(r, "Two things differ from a Transformer's layer, and neither changes the formula: the paper does not "
                  "divide by the root of the number of channels, which is a factor that theta can learn; and W_z is "
                  "followed by a batch norm whose weight begins as 0, so that a block that is put into a trained "
                  "network changes nothing at first.");
    lesson_say(r, "The other forms have another f. Gaussian: exp(x_i' x_j), without theta and phi. Dot product: "
                  "theta(x_i)' phi(x_j). Concatenation: relu(w_f' [theta(x_i); phi(x_j)]). Of the last two C is the "
                  "number of places: they are no softmax, and what a place takes does not add up to 1. What the place "
                  "takes of all others:");
    draw_forms(r, b);
    lesson_say(r, "Here theta and phi are one random product, so that places which are alike find each other. How far "
                  "is the middle of 15 x 15 places heard?");
    draw_reach(r);
    lesson_say(r, "k convolutions of 3 x 3 reach (2 k + 1) x (2 k + 1) places: seven are needed for what one block "
                  "does. heed train classify --model nonlocal --data same-shapes is a task that needs it: are two "
                  "shapes that lie far apart of one kind?");
}

const struct lesson non_local_lesson = {
    .name = "non-local",
    .summary = "local and non-local: a non-local block is self-attention, and sees at once what convolutions see late",
    .run = run,
};
