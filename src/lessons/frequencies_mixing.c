/* Mixing as a filter. On a ring of tokens weights by distance w_d change a wave of k turns by the factor
 * gain(k) = sum over d of w_d cos(2 pi k d / T). Those of softmax are positive and sum to 1, so that
 * |gain(k)| <= sum |w_d| = 1 = gain(0). */
#include "lessons/frequencies.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 64, WAVES = TOKENS / 2 + 1, KINDS = 5, ATTENTIONS = 3, REACH = 8, LAYERS = 12, DRAWS = 8 };
enum { SIDE = PICTURE_SIDE, PIXELS = PICTURE_PIXELS };

static const struct kind {
    const char *name, *key;
    double width;     /* of softmax(-d^2 / (2 width^2)); 0: a convolution */
    double side, own; /* its weights */
    heed_color color;
    heed_dash dash;
} kinds[KINDS] = {{"softmax, narrow", "narrow", 0.7, 0, 0, HEED_COLOR_SKY, HEED_DASH_NONE},
                  {"softmax", "softmax", 1.5, 0, 0, HEED_COLOR_BLUE, HEED_DASH_NONE},
                  {"softmax, wide", "wide", 4, 0, 0, HEED_COLOR_VIOLET, HEED_DASH_NONE},
                  {"convolution -1 2 -1", "edges", 0, -1, 2, HEED_COLOR_ORANGE, HEED_DASH_NONE},
                  {"convolution -1 3 -1", "sharpening", 0, -1, 3, HEED_COLOR_RED, HEED_DASH_LONG}};

/* ---- gains ---- */

static double ring_distance(int d) { return d <= TOKENS / 2 ? d : TOKENS - d; }

static void find_weights(const struct kind *k, double w[TOKENS]) {
    double sum = 0;
    for (int d = 0; d < TOKENS; d++) {
        const double far = ring_distance(d);
        if (k->width > 0)
            w[d] = exp(-far * far / (2 * k->width * k->width));
        else
            w[d] = d == 0 ? k->own : far == 1 ? k->side : 0;
        sum += w[d];
    }
    for (int d = 0; k->width > 0 && d < TOKENS; d++) w[d] /= sum;
}

static double gain_at(const double w[TOKENS], int wave) {
    double sum = 0;
    for (int d = 0; d < TOKENS; d++) sum += w[d] * cos(2 * M_PI * wave * d / TOKENS);
    return fabs(sum) < 1e-12 ? 0 : sum; /* but for rounding */
}

struct gains {
    double weight[KINDS][TOKENS], gain[KINDS][WAVES];
};

static void print_gains(struct lesson_run *r, struct gains *g) {
    lesson_line(r, "%-22s %12s %14s %9s %9s %9s", "", "sum", "sum of sizes", "mean", "middle", "highest");
    for (int i = 0; i < KINDS; i++) {
        double sum = 0, sizes = 0;
        char name[32];
        find_weights(&kinds[i], g->weight[i]);
        for (int d = 0; d < TOKENS; d++) sum += g->weight[i][d], sizes += fabs(g->weight[i][d]);
        for (int k = 0; k < WAVES; k++) g->gain[i][k] = gain_at(g->weight[i], k);
        const double *const at = g->gain[i];
        lesson_line(r, "%-22s %12.3f %14.3f %9.3f %9.3f %9.3f", kinds[i].name, sum, sizes, at[0], at[TOKENS / 4],
                    at[TOKENS / 2]);
        snprintf(name, sizeof name, "highest_%s", kinds[i].key);
        lesson_result(r, name, at[TOKENS / 2]);
    }
    lesson_line(r, "%s", "");
}

/* ---- depth ---- */

enum { ALONE, CONTENT, BESIDE, CONTENT_BESIDE, SHARPEN, STACKS };
static const struct {
    const char *name, *key;
    heed_color color;
    heed_dash dash;
} stacks[STACKS] = {{"softmax by distance", "distance", HEED_COLOR_BLUE, HEED_DASH_NONE},
                    {"softmax by content", "content", HEED_COLOR_GREEN, HEED_DASH_NONE},
                    {"by distance, residual", "distance_residual", HEED_COLOR_BLUE, HEED_DASH_LONG},
                    {"by content, residual", "content_residual", HEED_COLOR_GREEN, HEED_DASH_LONG},
                    {"convolution -1 3 -1", "convolution", HEED_COLOR_RED, HEED_DASH_LONG}};

/* What is left of white noise, its mean aside, by formula: the root mean square of gain(k)^layers. A residual
 * connection makes it (1 + gain) / 2, to the same mean. */
static double left_by_formula(const double gain[WAVES], int layers, bool residual) {
    double sum = 0;
    for (int k = 1; k < TOKENS; k++)
        sum +=
            pow(residual ? (1 + gain[k < WAVES ? k : TOKENS - k]) / 2 : gain[k < WAVES ? k : TOKENS - k], 2 * layers);
    return sqrt(sum / (TOKENS - 1));
}

static double deviation(const double x[TOKENS]) {
    double mean = 0, sum = 0;
    for (int i = 0; i < TOKENS; i++) mean += x[i] / TOKENS;
    for (int i = 0; i < TOKENS; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / TOKENS);
}

/* One layer of attention whose scores are normal, with deviation 2. */
static void mix_by_content(const struct lesson_run *r, int draw, int layer, bool residual, double x[TOKENS]) {
    float score[TOKENS];
    double y[TOKENS];
    for (int i = 0; i < TOKENS; i++) {
        heed_random_normal(r->seed, 77, (uint64_t)(((draw * LAYERS + layer) * TOKENS + i) * TOKENS), score, TOKENS);
        double sum = 0, mixed = 0;
        for (int j = 0; j < TOKENS; j++) {
            const double e = exp(2 * (double)score[j]);
            sum += e;
            mixed += e * x[j];
        }
        y[i] = residual ? (x[i] + mixed / sum) / 2 : mixed / sum;
    }
    memcpy(x, y, sizeof y);
}

/* The geometric mean of some draws. */
static void left_by_content(const struct lesson_run *r, bool residual, double left[LAYERS + 1]) {
    double logs[LAYERS + 1] = {0};
    for (int draw = 0; draw < DRAWS; draw++) {
        float noise[TOKENS];
        double x[TOKENS];
        heed_random_normal(r->seed, 78, (uint64_t)(draw * TOKENS), noise, TOKENS);
        for (int i = 0; i < TOKENS; i++) x[i] = (double)noise[i];
        const double whole = deviation(x);
        for (int layer = 0; layer < LAYERS; layer++) {
            mix_by_content(r, draw, layer, residual, x);
            logs[layer + 1] += log(deviation(x) / whole) / DRAWS;
        }
    }
    for (int layer = 0; layer <= LAYERS; layer++) left[layer] = exp(logs[layer]);
}

static void find_left(const struct lesson_run *r, const struct gains *g, double left[STACKS][LAYERS + 1]) {
    for (int layer = 0; layer <= LAYERS; layer++) {
        left[ALONE][layer] = left_by_formula(g->gain[1], layer, false);
        left[BESIDE][layer] = left_by_formula(g->gain[1], layer, true);
        left[SHARPEN][layer] = left_by_formula(g->gain[4], layer, false);
    }
    left_by_content(r, false, left[CONTENT]);
    left_by_content(r, true, left[CONTENT_BESIDE]);
}

static void print_left(struct lesson_run *r, double left[STACKS][LAYERS + 1]) {
    lesson_line(r, "%-24s %12s %12s %12s", "left after", "1 layer", "4 layers", "12 layers");
    for (int i = 0; i < STACKS; i++) {
        char name[32];
        lesson_line(r, "%-24s %12.4g %12.4g %12.4g", stacks[i].name, left[i][1], left[i][4], left[i][12]);
        snprintf(name, sizeof name, "left_%s", stacks[i].key);
        lesson_result(r, name, left[i][LAYERS]);
    }
    lesson_line(r, "%s", "");
}

/* ---- drawn ---- */

static void draw_weights(heed_panel *p, const struct gains *g) {
    float x[2 * REACH + 1], y[2 * REACH + 1];
    for (int i = 0; i < KINDS; i++) {
        for (int d = -REACH; d <= REACH; d++) {
            x[d + REACH] = (float)d;
            y[d + REACH] = (float)g->weight[i][(d + TOKENS) % TOKENS];
        }
        heed_panel_curve(p, x, y, 2 * REACH + 1,
                         &(heed_style){.color = kinds[i].color, .dash = kinds[i].dash, .width = 1.6});
    }
    heed_panel_title(p, "Weights");
    heed_panel_labels(p, "distance of the tokens", NULL);
}

static void draw_gains(heed_panel *p, const struct gains *g) {
    float x[WAVES], y[WAVES];
    for (int i = 0; i < KINDS; i++) {
        for (int k = 0; k < WAVES; k++) {
            x[k] = (float)k;
            y[k] = (float)g->gain[i][k];
        }
        heed_panel_curve(
            p, x, y, WAVES,
            &(heed_style){.label = kinds[i].name, .color = kinds[i].color, .dash = kinds[i].dash, .width = 1.6});
    }
    heed_panel_hline(p, 1, &(heed_style){.color = HEED_COLOR_GREY, .width = 0.8});
    heed_panel_title(p, "What a wave is multiplied by");
    heed_panel_labels(p, "turns of the wave around 64 tokens", NULL);
}

static void draw_left(heed_panel *p, double left[STACKS][LAYERS + 1]) {
    float x[LAYERS + 1], y[LAYERS + 1];
    for (int i = 0; i < STACKS; i++) {
        for (int l = 0; l <= LAYERS; l++) {
            x[l] = (float)l;
            y[l] = (float)left[i][l];
        }
        heed_panel_curve(
            p, x, y, LAYERS + 1,
            &(heed_style){.label = stacks[i].name, .color = stacks[i].color, .dash = stacks[i].dash, .width = 1.6});
    }
    heed_panel_log(p, false, true);
    heed_panel_limits_y(p, 1e-6, 1e6);
    heed_panel_title(p, "What is left of differences");
    heed_panel_labels(p, "layers", NULL);
}

static void draw(struct lesson_run *r, const struct gains *g, double left[STACKS][LAYERS + 1]) {
    heed_figure *const f = lesson_figure(r, 1080, 340);
    heed_figure_grid(f, 1, 3);
    draw_weights(heed_figure_panel(f, 0, 0), g);
    draw_gains(heed_figure_panel(f, 0, 1), g);
    draw_left(heed_figure_panel(f, 0, 2), left);
    lesson_picture(r, f, "frequencies-mixing");
}

static void write_tables(struct lesson_run *r, const struct gains *g, double left[STACKS][LAYERS + 1]) {
    double wave[WAVES], layer[LAYERS + 1];
    heed_table_column columns[KINDS + 1] = {{.name = "turns", .f64 = wave}},
                                      layers[STACKS + 1] = {{.name = "layers", .f64 = layer}};
    for (int k = 0; k < WAVES; k++) wave[k] = k;
    for (int l = 0; l <= LAYERS; l++) layer[l] = l;
    for (int i = 0; i < KINDS; i++) columns[i + 1] = (heed_table_column){.name = kinds[i].key, .f64 = g->gain[i]};
    for (int i = 0; i < STACKS; i++) layers[i + 1] = (heed_table_column){.name = stacks[i].key, .f64 = left[i]};
    lesson_table(r, "frequencies-gain", columns, KINDS + 1, WAVES);
    lesson_table(r, "frequencies-layers", layers, STACKS + 1, LAYERS + 1);
}

/* ---- on the picture ---- */

static int clamp(int i) { return i < 0 ? 0 : i >= SIDE ? SIDE - 1 : i; }

/* Rows or columns of x, each number the mean of its own by softmax(-d^2 / (2 width^2)). */
static void soften(const float *x, int step, int apart, double width, float *out) {
    for (int line = 0; line < SIDE; line++)
        for (int i = 0; i < SIDE; i++) {
            double sum = 0, mixed = 0;
            for (int j = 0; j < SIDE; j++) {
                const double e = exp(-(double)((i - j) * (i - j)) / (2 * width * width));
                sum += e;
                mixed += e * (double)x[line * apart + j * step];
            }
            out[line * apart + i * step] = (float)(mixed / sum);
        }
}

/* softmax(-|u_i - u_j|^2 / (2 h^2)) over all pixels, u the 3 x 3 pixels around one (Buades et al. 2005). */
static bool mix_alike(struct lesson_run *r, const float *x, float *out) {
    enum { AROUND = 9 };
    const float h = 0.12F;
    float *const u = lesson_room(r, PIXELS * AROUND, sizeof *u);
    for (int i = 0; u && i < PIXELS * AROUND; i++) {
        const int at = i / AROUND, dy = i % AROUND / 3 - 1, dx = i % 3 - 1;
        u[i] = x[clamp(at / SIDE + dy) * SIDE + clamp(at % SIDE + dx)];
    }
    for (int i = 0; u && i < PIXELS; i++) {
        double sum = 0, mixed = 0;
        for (int j = 0; j < PIXELS; j++) {
            float far = 0;
            for (int k = 0; k < AROUND; k++) {
                const float d = u[i * AROUND + k] - u[j * AROUND + k];
                far += d * d;
            }
            const double e = far > 40 * h * h ? 0 : exp(-(double)(far / (2 * h * h)));
            sum += e;
            mixed += e * (double)x[j];
        }
        out[i] = (float)(mixed / sum);
    }
    return u;
}

static void convolve(const float *x, float side, float own, float *out) {
    for (int i = 0; i < PIXELS; i++) {
        const int row = i / SIDE, col = i % SIDE;
        out[i] = own * x[i] + side * (x[clamp(row - 1) * SIDE + col] + x[clamp(row + 1) * SIDE + col] +
                                      x[row * SIDE + clamp(col - 1)] + x[row * SIDE + clamp(col + 1)]);
    }
}

enum { NOISY, BY_PLACE, ALIKE, EDGES, SHARP, SEEN };
static const char *const seen_names[SEEN] = {"The picture, with noise", "Softmax by distance", "Softmax by content",
                                             "Convolution: edges", "Convolution: sharper"};
static const char *const seen_keys[SEEN] = {"noisy", "place", "alike", "edges", "sharp"};

static bool mix_picture(struct lesson_run *r, const float *x, float *seen, float *noise) {
    heed_random_normal(r->seed, 79, 0, noise, PIXELS);
    for (int i = 0; i < PIXELS; i++) seen[i] = x[i] + 0.06F * noise[i];
    soften(seen, 1, SIDE, 1.5, noise);
    soften(noise, SIDE, 1, 1.5, seen + BY_PLACE * PIXELS);
    convolve(seen, -1, 4, seen + EDGES * PIXELS);
    convolve(seen, -0.5F, 3, seen + SHARP * PIXELS);
    return mix_alike(r, seen, seen + ALIKE * PIXELS);
}

/* Of each, how much of the coarse and of the fine is left, as shares of their variance in the noisy picture. */
static bool measure_picture(struct lesson_run *r, const float *seen, float *part) {
    double was[2] = {0};
    lesson_line(r, "%-26s %18s %18s", "variance that is left", "up to 8 waves", "beyond");
    for (int i = 0; i < SEEN; i++) {
        double left[2];
        for (int k = 0; k < 2; k++) {
            if (!picture_band(r, seen + i * PIXELS, k ? FINE_FROM : -1, k ? INFINITY : FINE_FROM, part)) return false;
            left[k] = picture_variance(part);
            if (i == 0) was[k] = left[k] > 0 ? left[k] : 1;
            left[k] /= was[k];
            char name[32];
            snprintf(name, sizeof name, "%s_%s", k ? "fine" : "coarse", seen_keys[i]);
            lesson_result(r, name, left[k]);
        }
        lesson_line(r, "%-26s %16.1f %% %16.1f %%", seen_names[i], 100 * left[0], 100 * left[1]);
    }
    lesson_line(r, "%s", "");
    return true;
}

static bool study_mixed_picture(struct lesson_run *r, const float *x) {
    float *const seen = lesson_room(r, (SEEN + 1) * PIXELS, sizeof *seen);
    if (!seen || !mix_picture(r, x, seen, seen + SEEN * PIXELS) || !measure_picture(r, seen, seen + SEEN * PIXELS))
        return false;
    heed_figure *const f = lesson_figure(r, 1080, 260);
    heed_figure_grid(f, 1, SEEN);
    for (int i = 0; i < SEEN; i++)
        picture_draw(heed_figure_panel(f, 0, i), seen_names[i], seen + i * PIXELS, i == EDGES);
    lesson_picture(r, f, "frequencies-mixed");
    return !heed_failed(r->cx);
}

/* ---- all of it ---- */

bool mixing_study(struct lesson_run *r, const float *x) {
    struct gains g;
    double left[STACKS][LAYERS + 1];
    lesson_say(
        r,
        "What mixes tokens is a filter too. On a ring of %d tokens, weights w_d by distance multiply a wave of k "
        "turns by gain(k) = sum over d of w_d cos(2 pi k d / %d). Softmax makes them positive with the sum 1: no "
        "gain is larger than 1, and only the mean passes whole. A convolution's weights have signs, and may do "
        "the reverse.",
        TOKENS, TOKENS);
    print_gains(r, &g);
    lesson_say(
        r,
        "So a stack of attention alone makes all tokens alike. By distance the formula says how soon; by content "
        "(random scores of deviation 2) it is measured, the mean of %d draws. What keeps differences alive is "
        "what stands around it: with a residual connection the factor is (1 + gain) / 2, which is slower, but still "
        "goes "
        "down; the rest is left to feed-forward layers and norms.",
        DRAWS);
    find_left(r, &g, left);
    print_left(r, left);
    draw(r, &g, left);
    write_tables(r, &g, left);
    lesson_say(r, "On the picture, with noise: by distance the softmax blurs. By content, where pixels attend to those "
                  "whose surroundings are alike, it takes away the noise, which is as fine as the fence, and leaves "
                  "edges: averages damp, but which waves they damp is learnt. Convolutions bring out what is fine, the "
                  "noise with it.");
    return study_mixed_picture(r, x);
}
