/* A shared workspace (Goyal et al. 2021): what passes through a few slots, and what competition does. */
#include "lessons/exchange.h"
#include <stdio.h>

enum { SIZES = 5, STEPS = 400, SHOWN = 2 }; /* SHOWN: 4 slots are drawn */
static const int64_t sizes[SIZES] = {1, 2, 4, 8, 16};

struct figures {
    struct exchanged exact, few, all;
    float slots[SIZES], error[SIZES], bound[SIZES], top[SIZES];
};

static bool compute(struct lesson_run *r, struct figures *f) {
    const enum exchange_job job = JOB_SHIFT;
    const int64_t all = 1 + 2 * SIZES;
    lesson_progress(r, "layer", 0, all);
    if (!exchange(r, &(struct exchange_opts){.job = job, .kind = LAYER_EXACT}, &f->exact)) return false;
    for (int i = 0; i < SIZES; i++) {
        struct exchanged e, best;
        struct exchange_opts o = {.job = job, .kind = LAYER_WORKSPACE, .rows = sizes[i]};
        lesson_progress(r, "layer", 1 + 2 * i, all);
        if (!exchange(r, &o, &e)) return false;
        lesson_progress(r, "layer", 2 + 2 * i, all);
        o.top_k = 4;
        if (!exchange(r, &o, &best)) return false;
        f->slots[i] = (float)sizes[i];
        f->bound[i] = 1 - (float)sizes[i] / TOKENS;
        f->error[i] = (float)e.error;
        f->top[i] = (float)best.error;
        if (i == SHOWN) f->few = e;
        if (i == SIZES - 1) f->all = e;
    }
    lesson_progress(r, "", 1, 1);
    return true;
}

static void draw(struct lesson_run *r, struct figures *f) {
    heed_figure *const figure = lesson_figure(r, 760, 620);
    heed_figure_grid(figure, 2, 2);
    exchange_draw(figure, 0, 0, "Exact attention", f->exact.map[0], 1);
    exchange_draw(figure, 0, 1, "4 slots: written, then read", f->few.map[0], 1);
    exchange_draw(figure, 1, 0, "16 slots", f->all.map[0], 1);
    heed_panel *const p = heed_figure_panel(figure, 1, 1);
    heed_panel_title(p, "Error against the number of slots");
    heed_panel_labels(p, "slots, for 16 tokens", "error");
    heed_panel_limits_y(p, 0, 1.1);
    heed_panel_curve(
        p, f->slots, f->error, SIZES,
        &(heed_style){.label = "all are heard", .color = HEED_COLOR_BLUE, .marker = HEED_MARKER_DISC, .width = 2});
    heed_panel_curve(
        p, f->slots, f->top, SIZES,
        &(heed_style){
            .label = "the best 4 are heard", .color = HEED_COLOR_ORANGE, .marker = HEED_MARKER_SQUARE, .width = 2});
    heed_panel_curve(
        p, f->slots, f->bound, SIZES,
        &(heed_style){.label = "1 - slots / tokens", .color = HEED_COLOR_INK, .dash = HEED_DASH_DOTS, .width = 2});
    lesson_picture(r, figure, "workspace");
    exchange_table(r, "workspace", (const char *const[]){"exact", "slots_4", "slots_16"},
                   (const float *const[]){f->exact.map[0], f->few.map[0], f->all.map[0]}, 3);
    lesson_table(r, "workspace-error",
                 (heed_table_column[]){{.name = "slots", .f32 = f->slots},
                                       {.name = "bound", .f32 = f->bound},
                                       {.name = "all", .f32 = f->error},
                                       {.name = "top_4", .f32 = f->top}},
                 4, SIZES);
}

static void run(struct lesson_run *r) {
    struct figures *f = lesson_room(r, 1, sizeof *f);
    char name[32];
    lesson_say(r,
               "In a shared workspace (Goyal et al. 2021) tokens do not look at each other. They compete to write to "
               "a few slots, and all of them read what the slots hold: two attentions, of slots to tokens and of "
               "tokens to slots, which cost T x slots instead of T x T.");
    lesson_say(r,
               "All that one token learns of another must fit through the slots. Here each of %d tokens wants the "
               "value of the token half a text away, a number drawn at random; a slot passes on one mean of values. "
               "Then S slots cannot leave less than 1 - S / %d of the variance, on average. After %lld steps:",
               TOKENS, TOKENS, (long long)r->steps);
    if (!f || !compute(r, f)) return;
    lesson_line(r, "%8s %16s %16s %22s", "slots", "1 - slots / 16", "all are heard", "the best 4 are heard");
    for (int i = 0; i < SIZES; i++) {
        lesson_line(r, "%8lld %16.3f %16.3f %22.3f", (long long)sizes[i], (double)f->bound[i], (double)f->error[i],
                    (double)f->top[i]);
        snprintf(name, sizeof name, "all_%lld", (long long)sizes[i]);
        lesson_result(r, name, (double)f->error[i]);
        snprintf(name, sizeof name, "top_%lld", (long long)sizes[i]);
        lesson_result(r, name, (double)f->top[i]);
    }
    lesson_line(r, "exact attention: %.3f\n", f->exact.error);
    lesson_result(r, "exact", f->exact.error);
    heed_terminal how = r->terminal;
    const heed_heatmap map = {.high = 1};
    how.title = "4 slots: what each token gets of each";
    lesson_show(r, heed_terminal_heatmap(r->cx, f->few.map[0], TOKENS, TOKENS, &map, &how));
    draw(r, f);
    const double all = (double)f->error[SIZES - 1], top = (double)f->top[SIZES - 1];
    lesson_say(
        r,
        "Few slots are a bottleneck, and meant to be one: the paper's tokens must agree on what is worth "
        "telling all others. A job in which everybody needs something else is the worst case for it, as here. "
        "With as many slots as tokens nothing is lost in principle, if no two of them settle on the same tokens. "
        "In %lld steps slots that hear all tokens get to %.3f, slots that hear their best 4 alone to %.3f%s.",
        (long long)r->steps, all, top,
        top < all - 0.02   ? ": competition keeps them apart"
        : all < top - 0.02 ? ": with this seed competition does not help"
                           : ", about the same");
}

const struct lesson workspace_lesson = {
    .name = "workspace",
    .summary = "a few slots that all tokens write to and read from: what passes through",
    .steps = STEPS,
    .run = run,
};
