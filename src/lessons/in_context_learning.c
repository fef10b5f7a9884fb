/* In-context learning (Brown et al. 2020): a small GPT-2 is trained on many small tasks, and then learns a new one from
 * the examples in its context alone. A task is a random mapping of four symbols to labels; a sequence is its examples,
 * x y x y …. What does the work is found: the induction head (Olsson et al. 2022), which attends from a symbol to what
 * came after it before. */
#include "heed/attention.h"
#include "heed/model.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SYMBOLS = 16, LABELS = 8, CHOSEN = 4, PAIRS = 9, LENGTH = 2 * PAIRS, BATCH = 64, TESTS = 512 };
enum { STEPS = 1600, LAYERS = 2, HEADS = 4, STREAM_TRAIN = 1, STREAM_TEST = 2 };

/* Example `number` of a stream: tokens (LENGTH), symbols first and labels behind them. */
static void draw_sequence(uint64_t seed, uint64_t stream, int64_t number, int32_t *ids) {
    const uint64_t at = (uint64_t)number * (CHOSEN + PAIRS);
    int64_t order[SYMBOLS];
    int32_t label[CHOSEN];
    heed_random_permutation(seed, (stream << 40) + (uint64_t)number, order, SYMBOLS);
    for (uint64_t i = 0; i < CHOSEN; i++) label[i] = (int32_t)(heed_random_bits(seed, stream, at + i) % LABELS);
    for (uint64_t k = 0; k < PAIRS; k++) {
        const uint32_t i = heed_random_bits(seed, stream, at + CHOSEN + k) % CHOSEN;
        ids[2 * k] = (int32_t)order[i];
        ids[2 * k + 1] = SYMBOLS + label[i];
    }
}

static heed_model *new_model(struct lesson_run *r) {
    static const char *const settings[] = {"vocab_size=24",     "n_positions=18",   "n_embd=64",
                                           "n_layer=2",         "n_head=4",         "resid_pdrop=0",
                                           "embd_pdrop=0",      "attn_pdrop=0",     "initializer_range=0.12",
                                           "bos_token_id=null", "eos_token_id=null"};
    return heed_model_new(r->cx, heed_family_find("gpt2"), settings, sizeof settings / sizeof *settings, r->seed);
}

/* The labels alone are to be predicted. */
static bool put_batch(heed_ctx *cx, const int32_t *ids, int64_t n, bool targets, heed_io *in) {
    heed_io_put(cx, in, "input_ids", heed_from_i32(cx, ids, 2, (int64_t[]){n, LENGTH}));
    if (!targets) return !heed_failed(cx);
    int32_t labels[BATCH * LENGTH];
    for (int64_t i = 0; i < n * LENGTH; i++) labels[i] = i % 2 ? ids[i] : -100;
    return heed_io_put(cx, in, "labels", heed_from_i32(cx, labels, 2, (int64_t[]){n, LENGTH}));
}

static bool learn(struct lesson_run *r, heed_model *m, float *loss) {
    heed_ctx *const cx = r->cx;
    int32_t ids[BATCH * LENGTH];
    const heed_trainer_opts opts = {
        .optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.01},
        .schedule = {.kind = HEED_COSINE, .lr = 0.003, .warmup = r->steps / 20, .steps = r->steps},
        .clip = 1};
    heed_trainer *const t = heed_trainer_new(cx, heed_model_params(m), &opts);
    for (int64_t step = 0; t && step < r->steps && !heed_failed(cx); step++) {
        heed_io in = {.loss_only = true}, out;
        for (int64_t i = 0; i < BATCH; i++) draw_sequence(r->seed, STREAM_TRAIN, step * BATCH + i, ids + i * LENGTH);
        heed_trainer_begin(cx, t);
        if (!put_batch(cx, ids, BATCH, true, &in) || !heed_model_forward(cx, m, &in, &out)) break;
        loss[step] = lesson_learn(cx, t, heed_io_get(&out, "loss"));
        if (step % 8 == 0) lesson_progress(r, "learning", step, r->steps);
    }
    lesson_progress(r, "", 1, 1);
    heed_set_training(cx, false);
    heed_trainer_free(cx, t);
    return !heed_failed(cx);
}

struct outcome {
    float accuracy[PAIRS];      /* with 0, 1, … examples before the question */
    float on[LAYERS][HEADS];    /* attention from a symbol that came before to the labels that followed it */
    float map[LENGTH * LENGTH]; /* of the induction head, on the first test */
    int layer, head;
};

/* How much of a row's weight lies behind earlier places of the same symbol. */
static double behind(const float *weights, const int32_t *ids, int row) {
    double sum = 0;
    for (int k = 0; k < row; k += 2)
        if (ids[k] == ids[row]) sum += (double)weights[k + 1];
    return sum;
}

static void find_head(struct lesson_run *r, const int32_t *ids, int64_t n, struct outcome *o) {
    for (int l = 0; l < LAYERS && !heed_failed(r->cx); l++) {
        const heed_capture_map *const c = heed_capture_at(r->cx, l);
        for (int h = 0; c && h < HEADS; h++) {
            double sum = 0;
            int64_t count = 0;
            for (int64_t b = 0; b < n; b++)
                for (int row = 2; row < LENGTH; row += 2) {
                    bool before = false;
                    for (int k = 0; k < row; k += 2) before |= ids[b * LENGTH + k] == ids[b * LENGTH + row];
                    if (!before) continue;
                    const float *const weights = c->weights + ((b * HEADS + h) * LENGTH + row) * LENGTH;
                    sum += behind(weights, ids + b * LENGTH, row);
                    count++;
                }
            o->on[l][h] = (float)(count ? sum / (double)count : 0);
            if (o->on[l][h] <= o->on[o->layer][o->head] && (l || h)) continue;
            o->layer = l, o->head = h;
            memcpy(o->map, c->weights + (int64_t)h * LENGTH * LENGTH, sizeof o->map);
        }
    }
}

/* Tasks that it has not seen: how often the likeliest label is right after so many examples. */
static bool examine(struct lesson_run *r, const heed_model *m, int32_t *ids, struct outcome *o) {
    heed_ctx *const cx = r->cx;
    heed_io in = {0}, out;
    for (int64_t i = 0; i < TESTS; i++) draw_sequence(r->seed, STREAM_TEST, i, ids + i * LENGTH);
    heed_set_grad(cx, false);
    heed_capture_begin(cx, NULL);
    if (put_batch(cx, ids, TESTS, false, &in) && heed_model_forward(cx, m, &in, &out)) {
        const float *const logits = heed_f32(heed_contiguous(cx, heed_io_get(&out, "logits")));
        const int64_t V = SYMBOLS + LABELS;
        for (int64_t i = 0; logits && i < TESTS * PAIRS; i++) {
            const float *const row = logits + (i / PAIRS * LENGTH + i % PAIRS * 2) * V + SYMBOLS;
            const bool right = lesson_winner(row, LABELS) == ids[i / PAIRS * LENGTH + i % PAIRS * 2 + 1] - SYMBOLS;
            o->accuracy[i % PAIRS] += right ? 1.0f / TESTS : 0;
        }
        find_head(r, ids, TESTS, o);
    }
    heed_capture_end(cx);
    heed_reset(cx);
    heed_set_grad(cx, true);
    return !heed_failed(cx);
}

/* ---- words and pictures ---- */

/* What can be known: whether the symbol has come before, else the best guess. */
static float possible(int k) {
    const double seen = 1 - pow(1 - 1.0 / CHOSEN, k);
    return (float)(seen + (1 - seen) / LABELS);
}

static void draw(struct lesson_run *r, const int32_t *ids, const struct outcome *o, const float *loss) {
    char text[LENGTH][4], title[96];
    const char *names[LENGTH];
    float shots[PAIRS], percent[PAIRS], best[PAIRS];
    for (int i = 0; i < LENGTH; i++) {
        snprintf(text[i], sizeof text[i], "%c", ids[i] < SYMBOLS ? 'a' + ids[i] : '1' + ids[i] - SYMBOLS);
        names[i] = text[i];
    }
    for (int k = 0; k < PAIRS; k++) {
        shots[k] = (float)k;
        percent[k] = 100 * o->accuracy[k];
        best[k] = 100 * possible(k);
    }
    heed_figure *f = lesson_figure(r, 520, 340);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "A new task, learnt from its examples in the context");
    heed_panel_labels(p, "examples before the question", "accuracy in %");
    heed_panel_limits_y(p, 0, 100);
    heed_panel_curve(p, shots, best, PAIRS,
                     &(heed_style){.label = "possible", .color = HEED_COLOR_GREY, .dash = HEED_DASH_LONG});
    heed_panel_curve(p, shots, percent, PAIRS,
                     &(heed_style){.label = "GPT", .color = HEED_COLOR_BLUE, .marker = HEED_MARKER_DISC});
    lesson_picture(r, f, "in-context");
    snprintf(title, sizeof title, "The induction head: layer %d, head %d", o->layer, o->head);
    f = lesson_figure(r, 560, 520);
    p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, title);
    heed_panel_labels(p, "attends to", "token");
    const heed_heatmap map = {
        .row_names = names, .col_names = names, .scale_label = "weight", .high = 1, .weights = true};
    heed_panel_heatmap(p, o->map, LENGTH, LENGTH, &map);
    lesson_picture(r, f, "in-context-head");
    lesson_show(r, heed_terminal_heatmap(r->cx, o->map, LENGTH, LENGTH, &map, &r->terminal));
    float *steps = lesson_room(r, r->steps, sizeof *steps);
    for (int64_t i = 0; steps && i < r->steps; i++) steps[i] = (float)(i + 1);
    lesson_table(r, "in-context",
                 (heed_table_column[]){{.name = "shots", .f32 = shots},
                                       {.name = "accuracy", .f32 = o->accuracy},
                                       {.name = "possible_percent", .f32 = best}},
                 3, PAIRS);
    lesson_table(r, "in-context-loss",
                 (heed_table_column[]){{.name = "step", .f32 = steps}, {.name = "loss", .f32 = loss}}, 2, r->steps);
}

static void print_outcome(struct lesson_run *r, const struct outcome *o) {
    lesson_line(r, "%8s %10s %10s", "examples", "accuracy", "possible");
    for (int k = 0; k < PAIRS; k++)
        lesson_line(r, "%8d %8.1f %% %8.1f %%", k, 100 * (double)o->accuracy[k], 100 * (double)possible(k));
    lesson_line(r, "\nattention from a symbol to the labels that followed it before:");
    for (int l = 0; l < LAYERS; l++)
        lesson_line(r, "layer %d: %6.2f %6.2f %6.2f %6.2f", l, (double)o->on[l][0], (double)o->on[l][1],
                    (double)o->on[l][2], (double)o->on[l][3]);
    lesson_line(r, "%s", "");
    lesson_result(r, "accuracy_0", (double)o->accuracy[0]);
    lesson_result(r, "accuracy_1", (double)o->accuracy[1]);
    lesson_result(r, "accuracy_4", (double)o->accuracy[4]);
    lesson_result(r, "accuracy_last", (double)o->accuracy[PAIRS - 1]);
    lesson_result(r, "induction_layer", o->layer);
    lesson_result(r, "induction_head", o->head);
    lesson_result(r, "induction_weight", (double)o->on[o->layer][o->head]);
}

/* Heads that put more than half of their weight on labels that followed the same symbol before. */
static void say_heads(struct lesson_run *r, const struct outcome *o) {
    int inducing = 0, below = 0;
    for (int l = 0; l < LAYERS; l++)
        for (int h = 0; h < HEADS; h++)
            if (o->on[l][h] > 0.5f) inducing++, below += l < o->layer;
    if (inducing == 0) {
        lesson_say(r,
                   "No head puts more than half of its weight on labels that followed the same symbol before: layer "
                   "%d, head %d comes nearest, with %.0f %%. Its weights on one sequence (letters are symbols, digits "
                   "labels):",
                   o->layer, o->head, 100 * (double)o->on[o->layer][o->head]);
        return;
    }
    lesson_say(r,
               "How does it do it? %d of the %d heads put%s more than half of their weight on labels that followed the "
               "same symbol before, layer %d, head %d most, %.0f %%. These are induction heads (Olsson et al. 2022): "
               "\"a symbol, and what came after it last time\". %s Its weights on one sequence (letters are symbols, "
               "digits labels):",
               inducing, LAYERS * HEADS, inducing == 1 ? "s" : "", o->layer, o->head,
               100 * (double)o->on[o->layer][o->head],
               below ? "Some are in the first layer already."
                     : "None is in the first layer: a label must first have looked at the symbol before it.");
}

static void study(struct lesson_run *r, heed_model *m) {
    struct outcome *const o = lesson_room(r, 1, sizeof *o);
    int32_t *const ids = lesson_room(r, (int64_t)TESTS * LENGTH, sizeof *ids);
    float *const loss = lesson_room(r, r->steps, sizeof *loss);
    if (!o || !ids || !loss) return;
    lesson_say(r,
               "A task is a mapping: %d of %d symbols, each with one of %d labels, all at random. A sequence holds "
               "%d examples of it, x y x y ... A GPT-2 of %d layers is trained on sequences of new tasks to "
               "predict the labels. It cannot know a task by heart: there are millions, and the next one is always "
               "another. What it can learn is to learn, from the examples in its context.",
               CHOSEN, SYMBOLS, LABELS, PAIRS, LAYERS);
    if (!learn(r, m, loss) || !examine(r, m, ids, o)) return;
    lesson_say(r,
               "Accuracy on %d tasks it has not seen, by the number of examples before the question. No weight is "
               "changed. \"Possible\" is what one could know: a symbol that has not come yet can only be guessed.",
               TESTS);
    print_outcome(r, o);
    say_heads(r, o);
    draw(r, ids, o, loss);
    lesson_say(r, "'%s shots DIR --table FILE --k 0,1,4 --template TEXT' measures the same for a language model.",
               r->program);
}

static void run(struct lesson_run *r) {
    heed_model *const m = new_model(r);
    if (m) study(r, m);
    heed_model_free(r->cx, m);
}

const struct lesson context_lesson = {
    .name = "in-context",
    .summary = "a GPT learns new tasks from examples in its context; the induction head, found and drawn",
    .steps = STEPS,
    .run = run,
};
