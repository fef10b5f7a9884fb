/* Linformer (Wang et al. 2020): keys and values projected along time to k rows. What few rows can say, and what not. */
#include "lessons/exchange.h"
#include <stdio.h>

enum { SIZES = 5, STEPS = 250, CURVES = 3, SHOWN = 2 }; /* k = 4 and 8, from place SHOWN on, are drawn */
static const int64_t sizes[SIZES] = {1, 2, 4, 8, 16};

static const struct curve {
    const char *name, *label;
    enum exchange_job job;
    enum exchange_kind kind;
    heed_color color;
} curves[CURVES] = {
    {"near", "the mean of what is near", JOB_NEAR, LAYER_LINFORMER, HEED_COLOR_BLUE},
    {"near_random", "the same, random projections", JOB_NEAR, LAYER_RANDOM, HEED_COLOR_SKY},
    {"find", "find a token by its key", JOB_FIND, LAYER_LINFORMER, HEED_COLOR_RED},
};

struct figures {
    struct exchanged exact[2], shown[2][2]; /* near, find; k = 4, 8 */
    float error[CURVES][SIZES];
};

static bool compute(struct lesson_run *r, struct figures *f) {
    static const enum exchange_job jobs[2] = {JOB_NEAR, JOB_FIND};
    const int64_t all = 2 + CURVES * SIZES;
    for (int j = 0; j < 2; j++) {
        lesson_progress(r, "layer", j, all);
        if (!exchange(r, &(struct exchange_opts){.job = jobs[j], .kind = LAYER_EXACT}, &f->exact[j])) return false;
    }
    for (int i = 0; i < CURVES * SIZES; i++) {
        const struct curve *const c = &curves[i / SIZES];
        const int size = i % SIZES;
        struct exchanged e;
        lesson_progress(r, "layer", 2 + i, all);
        if (!exchange(r, &(struct exchange_opts){.job = c->job, .kind = c->kind, .rows = sizes[size]}, &e))
            return false;
        f->error[i / SIZES][size] = (float)e.error;
        if ((size == SHOWN || size == SHOWN + 1) && c->kind == LAYER_LINFORMER)
            f->shown[c->job == JOB_FIND][size - SHOWN] = e;
    }
    lesson_progress(r, "", 1, 1);
    return true;
}

static void print(struct lesson_run *r, const struct figures *f) {
    char name[48];
    lesson_line(r, "%-30s %7s %7s %7s %7s %7s %7s", "error, 1: nothing learnt", "exact", "k = 1", "2", "4", "8", "16");
    for (int c = 0; c < CURVES; c++) {
        const double exact = f->exact[curves[c].job == JOB_FIND].error;
        lesson_line(r, "%-30s %7.3f %7.3f %7.3f %7.3f %7.3f %7.3f", curves[c].label, exact, (double)f->error[c][0],
                    (double)f->error[c][1], (double)f->error[c][2], (double)f->error[c][3], (double)f->error[c][4]);
        for (int i = 0; i < SIZES; i++) {
            snprintf(name, sizeof name, "%s_%lld", curves[c].name, (long long)sizes[i]);
            lesson_result(r, name, (double)f->error[c][i]);
        }
    }
    lesson_line(r, "%s", "");
    lesson_result(r, "near_exact", f->exact[0].error);
    lesson_result(r, "find_exact", f->exact[1].error);
}

static void draw(struct lesson_run *r, struct figures *f) {
    float k[SIZES];
    heed_figure *figure = lesson_figure(r, 800, 560);
    heed_figure_grid(figure, 2, 3);
    for (int j = 0; j < 2; j++) {
        const double high = j ? 1 : 0.3;
        exchange_draw(figure, j, 0, j ? "Find a key: exact attention" : "What is near: exact attention",
                      f->exact[j].map[0], high);
        exchange_draw(figure, j, 1, "Linformer, k = 8", f->shown[j][1].map[0], high);
        exchange_draw(figure, j, 2, "Linformer, k = 4", f->shown[j][0].map[0], high);
    }
    lesson_picture(r, figure, "linformer");
    exchange_table(r, "linformer",
                   (const char *const[]){"near_exact", "near_k8", "near_k4", "find_exact", "find_k8", "find_k4"},
                   (const float *const[]){f->exact[0].map[0], f->shown[0][1].map[0], f->shown[0][0].map[0],
                                          f->exact[1].map[0], f->shown[1][1].map[0], f->shown[1][0].map[0]},
                   6);
    figure = lesson_figure(r, 560, 340);
    heed_panel *const p = heed_figure_panel(figure, 0, 0);
    heed_panel_title(p, "Error against k, for 16 tokens");
    heed_panel_labels(p, "rows of projected keys and values, k", "error");
    heed_panel_limits_y(p, 0, 1.1);
    for (int i = 0; i < SIZES; i++) k[i] = (float)sizes[i];
    for (int c = 0; c < CURVES; c++)
        heed_panel_curve(
            p, k, f->error[c], SIZES,
            &(heed_style){.label = curves[c].label, .color = curves[c].color, .marker = HEED_MARKER_DISC, .width = 2});
    lesson_picture(r, figure, "linformer-error");
    lesson_table(r, "linformer-error",
                 (heed_table_column[]){{.name = "k", .f32 = k},
                                       {.name = curves[0].name, .f32 = f->error[0]},
                                       {.name = curves[1].name, .f32 = f->error[1]},
                                       {.name = curves[2].name, .f32 = f->error[2]}},
                 4, SIZES);
}

static void run(struct lesson_run *r) {
    struct figures *f = lesson_room(r, 1, sizeof *f);
    lesson_say(r, "Attention of T tokens to T tokens costs T x T. Linformer (Wang et al. 2020) first projects keys and "
                  "values along time, from T rows to k: softmax(q (E k)') F v. Each of the k rows is a mixture of "
                  "tokens, whose weights E and F are learnt once and are the same for every text. The cost is T x k.");
    lesson_say(r,
               "Two jobs for %d tokens. One needs the mean of the values around a token: which tokens matter "
               "depends on places alone. The other needs the value of the one token whose key equals the query, "
               "wherever it stands. One head of each kind is trained for %lld steps and measured on other texts:",
               TOKENS, (long long)r->steps);
    if (!f || !compute(r, f)) return;
    print(r, f);
    heed_terminal how = r->terminal;
    how.title = "what is near: exact attention";
    const heed_heatmap map = {.high = 0.3};
    lesson_show(r, heed_terminal_heatmap(r->cx, f->exact[0].map[0], TOKENS, TOKENS, &map, &how));
    how.title = "and Linformer with k = 4";
    lesson_show(r, heed_terminal_heatmap(r->cx, f->shown[0][0].map[0], TOKENS, TOKENS, &map, &how));
    draw(r, f);
    lesson_say(r,
               "By places, attention is a smooth matrix of low rank, and %lld rows leave an error of %.2f. By keys it "
               "is another matrix in every text, of full rank: mixtures that were fixed before the text was seen "
               "blur what is looked for, and with k = 4 the error is %.2f; exact attention's is %.2f. What Linformer "
               "leaves out is the single token; what it keeps is the gist.",
               (long long)sizes[SHOWN], (double)f->error[0][SHOWN], (double)f->error[2][SHOWN], f->exact[1].error);
}

const struct lesson linformer_lesson = {
    .name = "linformer",
    .summary = "keys and values projected to k rows: what few rows keep, and what they lose",
    .steps = STEPS,
    .run = run,
};
