/* What pre-training is good for: accuracy against the number of labelled examples, of a model that was pre-trained on
 * masked words and of one that was not (Devlin et al. 2019; Howard and Ruder 2018 show such curves). */
#include "lessons/encoder.h"
#include <math.h>
#include <stdio.h>

enum { STEPS = 3000, SIZES = 7, SEEDS = 3, POOL = 1024, TESTS = 256 };
enum { FRESH, TUNED, WAYS };

static const struct way {
    const char *name, *key, *low, *high;
    heed_color color;
} ways[WAYS] = {
    [FRESH] = {"from scratch", "scratch", "scratch_low", "scratch_high", HEED_COLOR_GREY},
    [TUNED] = {"pre-trained", "pre_trained", "pre_trained_low", "pre_trained_high", HEED_COLOR_BLUE},
};

/* Accuracies in percent: each seed's, then the mean, the least and the largest of them. */
struct curve {
    float one[SEEDS][SIZES], mean[SIZES], low[SIZES], high[SIZES];
};

static void summarise(struct curve *c) {
    for (int k = 0; k < SIZES; k++) {
        double sum = 0;
        c->low[k] = c->high[k] = c->one[0][k];
        for (int i = 0; i < SEEDS; i++) {
            sum += (double)c->one[i][k];
            c->low[k] = fminf(c->low[k], c->one[i][k]);
            c->high[k] = fmaxf(c->high[k], c->one[i][k]);
        }
        c->mean[k] = (float)(sum / SEEDS);
    }
}

/* Every seed draws examples of its own, of which more hold the fewer, and a fresh head. */
static bool try_all(struct lesson_run *r, struct encoder *e, const struct sentences *known,
                    const struct sentences *tests, const float *sizes, struct curve curve[WAYS]) {
    int64_t rows[POOL], done = 0;
    for (int i = 0; i < SEEDS; i++) {
        const uint64_t seed = r->seed + (uint64_t)i;
        heed_random_permutation(seed, 310, rows, POOL);
        for (int k = 0; k < SIZES; k++)
            for (int way = 0; way < WAYS; way++) {
                lesson_progress(r, "fine-tuning", done++, SEEDS * SIZES * WAYS);
                if (!encoder_restart(r, e, way == TUNED, seed) ||
                    !encoder_fine_tune(r, e, known, rows, (int64_t)sizes[k], seed))
                    return false;
                curve[way].one[i][k] = (float)(100 * encoder_accuracy(r, e, tests));
            }
    }
    lesson_progress(r, "", 1, 1);
    for (int way = 0; way < WAYS; way++) summarise(&curve[way]);
    return !heed_failed(r->cx);
}

static void print_table(struct lesson_run *r, const float *sizes, const struct curve curve[WAYS]) {
    char name[64];
    lesson_line(r, "%-18s %22s %22s %8s", "labelled examples", ways[FRESH].name, ways[TUNED].name, "gain");
    for (int k = 0; k < SIZES; k++) {
        char text[WAYS][64];
        for (int way = 0; way < WAYS; way++) {
            const struct curve *c = &curve[way];
            snprintf(text[way], sizeof text[way], "%.1f %% (%.0f to %.0f)", (double)c->mean[k], (double)c->low[k],
                     (double)c->high[k]);
            snprintf(name, sizeof name, "%s_%d", ways[way].key, (int)sizes[k]);
            lesson_result(r, name, (double)c->mean[k] / 100);
        }
        lesson_line(r, "%-18d %22s %22s %+8.1f", (int)sizes[k], text[FRESH], text[TUNED],
                    (double)(curve[TUNED].mean[k] - curve[FRESH].mean[k]));
    }
    lesson_line(r, "%s", "");
}

static void draw(struct lesson_run *r, const float *sizes, const struct curve curve[WAYS]) {
    heed_series series[WAYS];
    heed_table_column columns[1 + 3 * WAYS] = {{.name = "examples", .f32 = sizes}};
    heed_figure *f = lesson_figure(r, 520, 320);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "To eat, to read or to turn on?");
    heed_panel_labels(p, "labelled examples", "right, %");
    heed_panel_log(p, true, false);
    heed_panel_limits_y(p, 25, 102);
    heed_panel_hline(p, 100.0 / ENCODER_CLASSES, &(heed_style){.color = HEED_COLOR_GREY, .dash = HEED_DASH_DOTS});
    for (int way = 0; way < WAYS; way++) {
        const struct curve *c = &curve[way];
        heed_panel_band(p, sizes, c->low, c->high, SIZES, &(heed_style){.color = ways[way].color, .alpha = 0.18});
        series[way] = (heed_series){.label = ways[way].name, .x = sizes, .y = c->mean, .n = SIZES};
        columns[1 + 3 * way] = (heed_table_column){.name = ways[way].key, .f32 = c->mean};
        columns[2 + 3 * way] = (heed_table_column){.name = ways[way].low, .f32 = c->low};
        columns[3 + 3 * way] = (heed_table_column){.name = ways[way].high, .f32 = c->high};
    }
    for (int way = WAYS - 1; way >= 0; way--)
        heed_panel_curve(
            p, sizes, curve[way].mean, SIZES,
            &(heed_style){.label = ways[way].name, .color = ways[way].color, .marker = HEED_MARKER_DISC, .width = 2.2});
    lesson_picture(r, f, "fine-tuning");
    heed_terminal how = r->terminal;
    how.title = "right, %, against labelled examples";
    lesson_show(r, heed_terminal_curves(r->cx, series, WAYS,
                                        &(heed_axes){.x_label = "labelled examples", .log_x = true}, &how));
    lesson_table(r, "fine-tuning", columns, 1 + 3 * WAYS, SIZES);
}

static void conclude(struct lesson_run *r, const float *sizes, const struct curve curve[WAYS]) {
    int ahead = 0, most = 0;
    for (int k = 0; k < SIZES; k++) {
        const float gain = curve[TUNED].mean[k] - curve[FRESH].mean[k];
        ahead += gain > 0.5f;
        if (gain > curve[TUNED].mean[most] - curve[FRESH].mean[most]) most = k;
    }
    const double gain = (double)(curve[TUNED].mean[most] - curve[FRESH].mean[most]);
    lesson_say(r, "The pre-trained network is ahead at %d of %d numbers of examples, most at %.0f, by %.1f points.",
               ahead, SIZES, (double)sizes[most], gain);
    if (gain > 5)
        lesson_say(r, "No labelled sentence says that apples are eaten and books are read. But the plain text did, and "
                      "to fill its gaps the model learnt which words fit the same gaps: what is said of \"apple\" "
                      "holds for \"carrots\" as well. From scratch each word must be seen with its label.");
    else
        lesson_say(r, "That is little: the plain text has taught it next to nothing that this task needs.");
}

static void tell(struct lesson_run *r, struct encoder *e, const struct sentences *known,
                 const struct sentences *tests) {
    float sizes[SIZES];
    struct curve *curve = lesson_room(r, WAYS, sizeof *curve);
    for (int k = 0; k < SIZES; k++) sizes[k] = (float)(8 << k);
    lesson_say(r,
               "The task: does a sentence speak of something to eat, to read or to turn on? Its verb does not tell.");
    char labels[ENCODER_CLASSES][24];
    for (int k = 0; k < ENCODER_CLASSES; k++) snprintf(labels[k], sizeof labels[k], "  %s", encoder_class_names[k]);
    for (int k = 0; k < 4; k++) lesson_entry(r, 15, labels[known->label[k]], known->input[k].text);
    lesson_say(r,
               "\nThe model gets a head of three classes on the mean of its tokens' states and is fine-tuned on few "
               "labelled sentences; "
               "then the same network with fresh weights, in the same way. On %d other sentences, the mean of %d draws "
               "of examples (least to most):",
               TESTS, SEEDS);
    if (!curve || !try_all(r, e, known, tests, sizes, curve)) return;
    print_table(r, sizes, curve);
    draw(r, sizes, curve);
    conclude(r, sizes, curve);
}

static void run(struct lesson_run *r) {
    struct encoder e;
    struct sentences known = {.input = NULL}, tests = {.input = NULL};
    lesson_say(
        r, "Labelled examples are few and expensive, plain text is plentiful. What does a network that has read plain "
           "text learn faster? Pre-training on masked words, then fine-tuning (Devlin et al. 2019):");
    if (encoder_open(r, true, &e) && encoder_draw(r, &e, false, POOL, &known) &&
        encoder_draw(r, &e, true, TESTS, &tests))
        tell(r, &e, &known, &tests);
    encoder_free(r, &known);
    encoder_free(r, &tests);
    encoder_close(r, &e);
}

const struct lesson tuning_lesson = {
    .name = "fine-tuning",
    .summary = "accuracy against labelled examples, with and without pre-training",
    .steps = STEPS,
    .model = true,
    .run = run,
};
