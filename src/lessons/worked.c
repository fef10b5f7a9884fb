/* A worked example of self-attention, number by number: scores 112 and 96, divided by 8, softmax, the sum of the
 * values. Then the same by one call of the kernel. The numbers are those of Alammar, The Illustrated Transformer, 2018,
 * and of Schönhuth, lecture 4, Bielefeld 2023. */
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>

enum { SIZE = 64, VALUE = 6, WORDS = 2 };

static const char *const words[WORDS] = {"Thinking", "Machines"};
static const float values[WORDS][VALUE] = {{1, 0.5f, -0.5f, 0, 1, -1}, {-1, 1, 0.5f, -0.75f, 0, 1}};

struct example {
    float q[SIZE], k[WORDS][SIZE];                                /* of Thinking; of both words */
    float score[WORDS], scaled[WORDS], weight[WORDS], raw[WORDS]; /* raw: without the division */
    float z[VALUE], kernel[VALUE];
};

/* q1 is all ones, so that the keys can be summed in one's head: 64 x 1.75 = 112, 64 x 1.5 = 96. */
static void fill(struct example *e) {
    for (int i = 0; i < SIZE; i++) e->q[i] = 1, e->k[0][i] = 1.75f, e->k[1][i] = 1.5f;
}

static bool compute(heed_ctx *cx, struct example *e) {
    heed_tensor *q = heed_from_f32(cx, e->q, 3, (int64_t[]){1, 1, SIZE});
    heed_tensor *k = heed_from_f32(cx, e->k[0], 3, (int64_t[]){1, WORDS, SIZE});
    heed_tensor *v = heed_from_f32(cx, values[0], 3, (int64_t[]){1, WORDS, VALUE});
    heed_tensor *score = heed_scores(cx, q, k, &(heed_score_opts){.kind = HEED_SCORE_DOT});
    heed_tensor *scaled = heed_scores(cx, q, k, &(heed_score_opts){.kind = HEED_SCORE_SCALED_DOT});
    heed_tensor *weight = heed_normalise(cx, scaled, HEED_NORMALISE_SOFTMAX, NULL);
    heed_tensor *raw = heed_normalise(cx, score, HEED_NORMALISE_SOFTMAX, NULL);
    heed_tensor *z = heed_matmul(cx, weight, v);
    heed_tensor *y = heed_attention(cx, heed_reshape(cx, q, 4, (int64_t[]){1, 1, 1, SIZE}),
                                    heed_reshape(cx, k, 4, (int64_t[]){1, WORDS, 1, SIZE}),
                                    heed_reshape(cx, v, 4, (int64_t[]){1, WORDS, 1, VALUE}), NULL);
    const bool ok = y && heed_copy_f32(cx, score, e->score, WORDS) && heed_copy_f32(cx, scaled, e->scaled, WORDS) &&
                    heed_copy_f32(cx, weight, e->weight, WORDS) && heed_copy_f32(cx, raw, e->raw, WORDS) &&
                    heed_copy_f32(cx, z, e->z, VALUE) && heed_copy_f32(cx, y, e->kernel, VALUE);
    heed_reset(cx);
    return ok;
}

static void print_row(struct lesson_run *r, const char *name, const float *v) {
    char text[VALUE * 9 + 1];
    int at = 0;
    for (int i = 0; i < VALUE; i++) at += snprintf(text + at, sizeof text - (size_t)at, "%8.3f", (double)v[i]);
    lesson_line(r, "   %-22s%s", name, text);
}

static void print_steps(struct lesson_run *r, const struct example *e) {
    const double difference = (double)e->scaled[1] - (double)e->scaled[0], sum = 1 + exp(difference);
    lesson_line(r, "1. Scores, the dot products q1'k.");
    lesson_line(r, "   q1'k1 = 64 x 1 x 1.75 = %g      q1'k2 = 64 x 1 x 1.5 = %g\n", (double)e->score[0],
                (double)e->score[1]);
    lesson_line(r, "2. Divided by the square root of the size, sqrt(64) = 8.");
    lesson_line(r, "   %g / 8 = %g      %g / 8 = %g\n", (double)e->score[0], (double)e->scaled[0], (double)e->score[1],
                (double)e->scaled[1]);
    lesson_line(r, "3. Softmax: exp of each score, less the largest, divided by their sum.");
    lesson_line(r, "   exp(14 - 14) = 1      exp(12 - 14) = %.4f      sum %.4f", exp(difference), sum);
    lesson_line(r, "   1 / %.4f = %.2f      %.4f / %.4f = %.2f\n", sum, (double)e->weight[0], exp(difference), sum,
                (double)e->weight[1]);
    lesson_line(r, "4. The answer for 'Thinking': %.2f v1 + %.2f v2.", (double)e->weight[0], (double)e->weight[1]);
    print_row(r, "v1 (Thinking)", values[0]);
    print_row(r, "v2 (Machines)", values[1]);
    print_row(r, "z1 = 0.88 v1 + 0.12 v2", e->z);
    lesson_line(r, "%s", "");
}

static void draw(struct lesson_run *r, const struct example *e) {
    static const char *const rows[] = {"v1  Thinking", "v2  Machines", "z1 = 0.88 v1 + 0.12 v2"};
    float all[3 * VALUE];
    for (int i = 0; i < VALUE; i++) all[i] = values[0][i], all[VALUE + i] = values[1][i], all[2 * VALUE + i] = e->z[i];
    lesson_show(r, heed_terminal_bars(r->cx, words, e->weight, WORDS, &r->terminal));
    heed_figure *f = lesson_figure(r, 760, 230);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "What 'Thinking' attends to");
    heed_panel_hbars(p, words, e->weight, WORDS,
                     &(heed_style){.numbers = true, .label = "softmax(14, 12)", .color = HEED_COLOR_BLUE});
    heed_panel_hbars(
        p, words, e->raw, WORDS,
        &(heed_style){.numbers = true, .label = "softmax(112, 96): not divided", .color = HEED_COLOR_ORANGE});
    heed_panel_limits_x(p, 0, 1.15);
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "The values and their weighted sum");
    heed_panel_heatmap(
        p, all, 3, VALUE,
        &(heed_heatmap){
            .map = HEED_MAP_DIVERGING, .row_names = rows, .numbers = true, .stretch = true, .no_bar = true});
    lesson_picture(r, f, "worked-example");
    lesson_table(r, "worked-example",
                 (heed_table_column[]){{.name = "word", .text = words},
                                       {.name = "score", .f32 = e->score},
                                       {.name = "divided", .f32 = e->scaled},
                                       {.name = "weight", .f32 = e->weight},
                                       {.name = "weight_not_divided", .f32 = e->raw}},
                 5, WORDS);
    lesson_table(r, "worked-example-values",
                 (heed_table_column[]){{.name = "v1", .f32 = values[0]},
                                       {.name = "v2", .f32 = values[1]},
                                       {.name = "z1", .f32 = e->z},
                                       {.name = "kernel", .f32 = e->kernel}},
                 4, VALUE);
}

static void run(struct lesson_run *r) {
    struct example *e = lesson_room(r, 1, sizeof *e);
    if (!e) return;
    fill(e);
    if (!compute(r->cx, e)) return;
    double most = 0;
    for (int i = 0; i < VALUE; i++) most = fmax(most, fabs((double)e->z[i] - (double)e->kernel[i]));
    lesson_say(r,
               "Self-attention by hand. The sentence is 'Thinking Machines'; queries and keys have 64 numbers each. "
               "What does 'Thinking' attend to? (The numbers are those of Alammar, The Illustrated Transformer, 2018. "
               "Sch\u00f6nhuth, Bielefeld 2023, has 112 and 96 after the division; they are the scores before it.)");
    print_steps(r, e);
    draw(r, e);
    lesson_line(r, "The same by one call, heed_attention(q, k, v): largest difference %.0e", most);
    lesson_line(r, "Without the division, softmax(112, 96) = %.7f and %.1e\n", (double)e->raw[0], (double)e->raw[1]);
    lesson_result(r, "score_1", (double)e->score[0]);
    lesson_result(r, "score_2", (double)e->score[1]);
    lesson_result(r, "divided_1", (double)e->scaled[0]);
    lesson_result(r, "divided_2", (double)e->scaled[1]);
    lesson_result(r, "weight_1", (double)e->weight[0]);
    lesson_result(r, "weight_2", (double)e->weight[1]);
    lesson_result(r, "difference", most);
    lesson_say(r,
               "Every word does this for itself, all at once: softmax(Q K' / sqrt(64)) V. Eight times over, with "
               "eight sets of matrices: '%s lesson multi-head'.",
               r->program);
}

const struct lesson worked_lesson = {
    .name = "worked-example",
    .summary = "self-attention by hand: scores 112 and 96, divided by 8, softmax 0.88 and 0.12",
    .run = run,
};
