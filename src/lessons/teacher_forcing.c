/* Teacher forcing (Williams and Zipser 1989), free running, and scheduled sampling (Bengio et al. 2015) between them: a
 * decoder is trained on the true words before, on its own predictions, and on a mixture. And exposure bias: with
 * teacher forcing it never sees a mistake of its own. Follows Gottwald, Ulm. */
#include "lessons/days.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 300, PARTS = 20, POINTS = PARTS + 1, TESTS = 500, FEW = 100 };
enum { FORCED, MIXED, FREE, WAYS };

static const struct way {
    const char *name, *key;
    heed_color color;
} ways[WAYS] = {
    [FORCED] = {"teacher forcing", "forced", HEED_COLOR_BLUE},
    [MIXED] = {"mixed", "mixed", HEED_COLOR_GREEN},
    [FREE] = {"free running", "free", HEED_COLOR_ORANGE},
};

/* How a network does at each place: teacher forcing's as soon as so many days are right when told, the others' in the
 * end. */
struct places {
    int64_t step;
    float told[DAYS_MOVES], own[DAYS_MOVES], product[DAYS_MOVES]; /* right at each place; told so far, multiplied */
    double told_mean, after_right, after_wrong; /* right when all days before are right, and when one is wrong */
};
#define HALF_WAY 0.85

struct outcome {
    float own[POINTS],
        spent[POINTS]; /* right on its own after every twentieth of the steps, and the passes until then */
    int64_t passes;    /* of the decoder, in learning */
    double told;
    struct places end;
};

static void measure_places(const struct days *d, const int32_t *told, const int32_t *own, struct places *p) {
    int64_t right[2] = {0}, all[2] = {0}; /* by whether something was wrong before */
    int64_t told_right[DAYS_MOVES] = {0}, own_right[DAYS_MOVES] = {0};
    for (int64_t i = 0; i < d->n; i++) {
        bool wrong = false;
        for (int k = 0; k < DAYS_MOVES; k++) {
            const int64_t at = i * DAYS_MOVES + k;
            const bool good = own[at] == d->answer[at];
            told_right[k] += told[at] == d->answer[at];
            own_right[k] += good;
            all[wrong]++;
            right[wrong] += good;
            wrong = wrong || !good;
        }
    }
    for (int k = 0; k < DAYS_MOVES; k++) {
        p->told[k] = (float)told_right[k] / (float)d->n;
        p->own[k] = (float)own_right[k] / (float)d->n;
        p->product[k] = p->told[k] * (k ? p->product[k - 1] : 1);
    }
    p->told_mean = days_right(d, told);
    p->after_right = (double)right[0] / (double)all[0];
    p->after_wrong = all[1] ? (double)right[1] / (double)all[1] : 0;
}

/* What the decoder is fed with at this step, in `given`; how many passes of the decoder that took. */
static int64_t feed(struct lesson_run *r, int way, const struct days_network *net, const struct days *batch,
                    int64_t step, int32_t *given) {
    float dice[DAYS_BATCH * DAYS_MOVES];
    if (way == FORCED) {
        days_shift(batch, given);
        return 0;
    }
    heed_random_uniform(r->seed, 202, (uint64_t)(step * DAYS_BATCH * DAYS_MOVES), dice, DAYS_BATCH * DAYS_MOVES);
    days_go(r, net, batch, DAYS_MOVES - 1, way == MIXED ? dice : NULL, (float)step / (float)r->steps, given, NULL);
    return DAYS_MOVES - 1;
}

/* Told and, where a point of the curves (-1: none) or `half` asks for it, on its own: *half is the first step past
 * HALF_WAY. A FEW of the tests do for the curves. */
static bool examine(struct lesson_run *r, const struct days_network *net, const struct days *tests, int64_t step,
                    int64_t point, struct outcome *o, struct places *half) {
    int32_t own[TESTS * DAYS_MOVES], told[TESTS * DAYS_MOVES], given[TESTS * DAYS_MOVES];
    const bool last = step == r->steps;
    struct days some = days_part(tests, 0, last ? TESTS : FEW);
    if (!days_told(r, net, &some, told)) return false;
    o->told = days_right(&some, told);
    const bool found = half->step == 0 && (last || o->told >= HALF_WAY);
    if (point < 0 && !found) return true;
    if (found && !last) some = *tests;
    if (found && !last && !days_told(r, net, &some, told)) return false;
    if (!days_go(r, net, &some, DAYS_MOVES, NULL, 1, given, own)) return false;
    if (point >= 0) o->own[point] = (float)days_right(&some, own);
    if (last) measure_places(&some, told, own, &o->end);
    if (found) {
        half->step = step;
        measure_places(&some, told, own, half);
    }
    return true;
}

static bool learn(struct lesson_run *r, int way, const struct days *lessons, const struct days *tests,
                  struct days_network *net, struct outcome *o, struct places *half) {
    int32_t given[DAYS_BATCH * DAYS_MOVES];
    int64_t points = 0;
    for (int64_t step = 0; step <= r->steps && !heed_failed(r->cx); step++) {
        const bool due = step == points * r->steps / PARTS;
        if (due) o->spent[points] = (float)o->passes;
        if (due) lesson_progress(r, ways[way].name, step, r->steps);
        if ((due || (step % 5 == 0 && half->step == 0)) && !examine(r, net, tests, step, due ? points : -1, o, half))
            return false;
        points += due;
        if (step == r->steps) break;
        const struct days batch = days_part(lessons, step * DAYS_BATCH, DAYS_BATCH);
        o->passes += feed(r, way, net, &batch, step, given) + 1;
        days_learn(r->cx, net, &batch, given);
    }
    lesson_progress(r, "", 1, 1);
    return !heed_failed(r->cx);
}

/* The largest difference between the logits of all places in one masked pass and of one place after the other. */
static double one_pass_difference(struct lesson_run *r, const struct days_network *net, const struct days *tests) {
    enum { N = 16, ROW = DAYS_MOVES * DAYS_WEEK };
    const struct days few = days_part(tests, 0, N);
    int32_t given[N * DAYS_MOVES], prefix[N * DAYS_MOVES];
    float at_once[N * ROW], one[N * ROW];
    double most = 0;
    days_shift(&few, given);
    heed_set_grad(r->cx, false);
    heed_tensor *memory = days_encode(r->cx, net, &few);
    heed_copy_f32(r->cx, days_decode(r->cx, net, memory, given, N, DAYS_MOVES), at_once, N * ROW);
    for (int length = 1; length <= DAYS_MOVES; length++) {
        days_prefix(given, N, length, prefix);
        heed_copy_f32(r->cx, days_decode(r->cx, net, memory, prefix, N, length), one, N * length * DAYS_WEEK);
        for (int i = 0; !heed_failed(r->cx) && i < N * DAYS_WEEK; i++) {
            const int task = i / DAYS_WEEK, k = i % DAYS_WEEK;
            most = fmax(most, fabs((double)at_once[task * ROW + (length - 1) * DAYS_WEEK + k] -
                                   (double)one[(task * length + length - 1) * DAYS_WEEK + k]));
        }
    }
    heed_reset(r->cx);
    heed_set_grad(r->cx, true);
    return most;
}

/* ---- what is said and drawn ---- */

static void print_outcome(struct lesson_run *r, int way, const struct outcome *o) {
    char name[64];
    if (way == FORCED)
        lesson_line(r, "%-16s %11s %13s %14s %18s", "", "passes/step", "passes in all", "right, told",
                    "right on its own");
    lesson_line(r, "%-16s %11lld %13lld %12.1f %% %16.1f %%", ways[way].name, (long long)(o->passes / r->steps),
                (long long)o->passes, 100 * o->told, 100 * (double)o->own[POINTS - 1]);
    const struct {
        const char *what;
        double value;
    } results[] = {{"own", (double)o->own[POINTS - 1]}, {"told", o->told}, {"passes", (double)o->passes}};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s_%s", ways[way].key, results[i].what);
        lesson_result(r, name, results[i].value);
    }
}

static void draw_learning(struct lesson_run *r, const struct outcome *o) {
    static const char *const passes[WAYS] = {"forced_passes", "mixed_passes", "free_passes"};
    float step[POINTS], percent[WAYS][POINTS];
    heed_series series[WAYS];
    heed_table_column columns[1 + 2 * WAYS] = {{.name = "step", .f32 = step}};
    heed_figure *f = lesson_figure(r, 860, 290);
    heed_figure_grid(f, 1, 2);
    for (int i = 0; i < POINTS; i++) step[i] = (float)(i * r->steps / PARTS);
    for (int k = 0; k < 2; k++) {
        heed_panel *p = heed_figure_panel(f, 0, k);
        heed_panel_title(p, k ? "Against passes of the decoder" : "Against steps");
        heed_panel_labels(p, k ? "passes, one after the other" : "step", "days right on its own, %");
        heed_panel_limits_y(p, 0, 104);
        for (int w = 0; w < WAYS; w++) {
            for (int i = 0; i < POINTS; i++) percent[w][i] = 100 * o[w].own[i];
            heed_panel_curve(p, k ? o[w].spent : step, percent[w], POINTS,
                             &(heed_style){.label = ways[w].name, .color = ways[w].color});
            series[w] = (heed_series){.label = ways[w].name, .x = step, .y = percent[w], .n = POINTS};
            columns[1 + w] = (heed_table_column){.name = ways[w].key, .f32 = o[w].own};
            columns[1 + WAYS + w] = (heed_table_column){.name = passes[w], .f32 = o[w].spent};
        }
    }
    lesson_picture(r, f, "teacher-forcing");
    heed_terminal how = r->terminal;
    how.title = "days right on its own, %, against steps";
    lesson_show(r, heed_terminal_curves(r->cx, series, WAYS, &(heed_axes){.x_label = "step"}, &how));
    lesson_table(r, "teacher-forcing", columns, 1 + 2 * WAYS, POINTS);
}

static void print_places(struct lesson_run *r, const char *name, const float *right) {
    char line[128];
    int n = snprintf(line, sizeof line, "%-30s", name);
    for (int i = 0; i < DAYS_MOVES; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %5.0f %%", 100 * (double)right[i]);
    lesson_line(r, "%s", line);
}

static void say_places(struct lesson_run *r, const struct outcome *o, const struct places *half) {
    lesson_line(r, "%-30s %5d   %5d   %5d   %5d   %5d   %5d", "right on its own, at position", 1, 2, 3, 4, 5, 6);
    for (int w = 0; w < WAYS; w++) print_places(r, ways[w].name, o[w].end.own);
    lesson_say(r,
               "\nFree running learns from left to right: as long as a day is wrong, those after it cannot be computed "
               "from it. With teacher forcing every position learns from the first step on.");
    lesson_say(r,
               "The price: it has never seen a mistake of its own. The same network at step %lld, when %.0f %% of the "
               "days were right if it was told the days before:",
               (long long)half->step, 100 * half->told_mean);
    lesson_line(r, "%-30s %5d   %5d   %5d   %5d   %5d   %5d", "position", 1, 2, 3, 4, 5, 6);
    print_places(r, "right, told the days before", half->told);
    print_places(r, "right on its own", half->own);
    print_places(r, "told, multiplied up to there", half->product);
    lesson_say(r,
               "\nOn its own it is right %.0f %% of the time as long as all days before were, and %.0f %% after its "
               "first mistake. One mistake spoils what follows, and long answers suffer most. This is exposure bias.",
               100 * half->after_right, 100 * half->after_wrong);
    lesson_result(r, "half_way_step", (double)half->step);
    lesson_result(r, "half_way_told", half->told_mean);
    lesson_result(r, "after_right", half->after_right);
    lesson_result(r, "after_wrong", half->after_wrong);
    lesson_result(r, "free_first_place", (double)o[FREE].end.own[0]);
    lesson_result(r, "free_last_place", (double)o[FREE].end.own[DAYS_MOVES - 1]);
}

static void draw_places(struct lesson_run *r, const struct outcome *o, const struct places *half) {
    static const char *const titles[] = {"Teacher forcing half-way: errors accumulate", "In the end, on its own"};
    const struct {
        int panel;
        const float *right;
        heed_style style;
    } curves[] = {
        {0, half->told, {.label = "told the days before", .color = HEED_COLOR_GREY, .marker = HEED_MARKER_DISC}},
        {0, half->own, {.label = "on its own", .color = HEED_COLOR_BLUE, .marker = HEED_MARKER_DISC}},
        {0, half->product, {.label = "told, multiplied", .color = HEED_COLOR_INK, .dash = HEED_DASH_DOTS}},
        {1, o[FORCED].end.own, {.label = ways[FORCED].name, .color = ways[FORCED].color, .marker = HEED_MARKER_DISC}},
        {1, o[MIXED].end.own, {.label = ways[MIXED].name, .color = ways[MIXED].color, .marker = HEED_MARKER_DISC}},
        {1, o[FREE].end.own, {.label = ways[FREE].name, .color = ways[FREE].color, .marker = HEED_MARKER_DISC}},
    };
    float place[DAYS_MOVES], percent[DAYS_MOVES];
    heed_figure *f = lesson_figure(r, 860, 290);
    heed_figure_grid(f, 1, 2);
    for (int i = 0; i < DAYS_MOVES; i++) place[i] = (float)(i + 1);
    for (int k = 0; k < 2; k++) {
        heed_panel *p = heed_figure_panel(f, 0, k);
        heed_panel_title(p, titles[k]);
        heed_panel_labels(p, "position in the answer", "days right, %");
        heed_panel_limits_y(p, 0, 104);
        heed_panel_limits_x(p, 0.8, DAYS_MOVES + 0.2);
    }
    for (size_t c = 0; c < sizeof curves / sizeof *curves; c++) {
        for (int i = 0; i < DAYS_MOVES; i++) percent[i] = 100 * curves[c].right[i];
        heed_panel_curve(heed_figure_panel(f, 0, curves[c].panel), place, percent, DAYS_MOVES, &curves[c].style);
    }
    lesson_picture(r, f, "teacher-forcing-places");
    lesson_table(r, "teacher-forcing-places",
                 (heed_table_column[]){{.name = "place", .f32 = place},
                                       {.name = "half_way_told", .f32 = half->told},
                                       {.name = "half_way_own", .f32 = half->own},
                                       {.name = "half_way_product", .f32 = half->product},
                                       {.name = "forced", .f32 = o[FORCED].end.own},
                                       {.name = "mixed", .f32 = o[MIXED].end.own},
                                       {.name = "free", .f32 = o[FREE].end.own}},
                 7, DAYS_MOVES);
}

static void run(struct lesson_run *r) {
    struct days lessons, tests;
    struct outcome *o = lesson_room(r, WAYS, sizeof *o);
    struct places half[WAYS] = {{.step = 0}};
    double difference = 0;
    char source[64], answer[64];
    if (!o || !days_draw(r, 200, r->steps * DAYS_BATCH, &lessons) || !days_draw(r, 201, TESTS, &tests)) return;
    days_text(&tests, 0, source, answer);
    lesson_say(
        r, "A decoder predicts a word, is fed that word, and predicts the next. How should it be trained? With teacher "
           "forcing (Williams and Zipser 1989) it is fed the true word before, whatever it predicted. Free running, it "
           "is fed its own prediction. Mixed, its own ever more often (scheduled sampling, Bengio et al. 2015). The "
           "task: today is Sunday; go so many days on or back, and name the days.");
    lesson_line(r, "source   %s\nanswer   %s\n", source, answer);
    lesson_say(
        r,
        "The same Transformer learns it in %lld steps of %d tasks, in three ways. Told: given the true days before. "
        "On its own: it goes on from its own answers, as it must when it is used. On %d other tasks:",
        (long long)r->steps, DAYS_BATCH, TESTS);
    for (int w = 0; w < WAYS; w++) {
        struct days_network net;
        bool ok = days_open(r, &days_whole, r->steps, &net) && learn(r, w, &lessons, &tests, &net, &o[w], &half[w]);
        if (ok && w == FORCED) difference = one_pass_difference(r, &net, &tests);
        days_close(r, &net);
        if (!ok || heed_failed(r->cx)) return;
        print_outcome(r, w, &o[w]);
    }
    lesson_line(r, "%s", "");
    draw_learning(r, o);
    lesson_say(r,
               "With teacher forcing all words are known beforehand, and the causal mask lets one pass of the decoder "
               "compute all %d positions at once. A decoder that is fed its own words needs %d passes, one after the "
               "other, and more of them for longer answers. The result is the same: the logits of one pass and "
               "of %d differ by %.0e at most.",
               DAYS_MOVES, DAYS_MOVES, DAYS_MOVES, difference);
    lesson_result(r, "one_pass_difference", difference);
    say_places(r, o, &half[FORCED]);
    draw_places(r, o, &half[FORCED]);
}

const struct lesson forcing_lesson = {
    .name = "teacher-forcing",
    .summary = "training on true words or on its own predictions; one pass or many; exposure bias",
    .steps = STEPS,
    .run = run,
};
