/* What each part of the Transformer (Vaswani et al. 2017) is for, shown by taking it away. A small encoder-decoder and
 * variants without one part are trained on the same task for equally few steps; then the future is changed, attention
 * weights are shown, and untrained stacks show what depth needs. */
#include "lessons/days.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 300, TESTS = 200, POINTS = 30 };
enum { WHOLE, POSITIONS, RESIDUAL, FEED_FORWARD, CROSS, MASK, HEADS, NORM, VARIANTS };
enum { LAYERS = 64, DEPTH_WIDTH = 32, STACKS = 3 }; /* of the stacks that show depth */

static const struct variant {
    const char *name, *key; /* in print and in the results */
    heed_color color;
    heed_dash dash;
} variants[VARIANTS] = {
    [WHOLE] = {"the whole", "whole", HEED_COLOR_INK, HEED_DASH_NONE},
    [POSITIONS] = {"no positions", "no_positions", HEED_COLOR_ORANGE, HEED_DASH_NONE},
    [RESIDUAL] = {"no residuals", "no_residuals", HEED_COLOR_RED, HEED_DASH_NONE},
    [FEED_FORWARD] = {"no feed-forward", "no_feed_forward", HEED_COLOR_GREEN, HEED_DASH_NONE},
    [CROSS] = {"no cross attention", "no_cross", HEED_COLOR_PINK, HEED_DASH_LONG},
    [MASK] = {"no mask", "no_mask", HEED_COLOR_BLUE, HEED_DASH_NONE},
    [HEADS] = {"one head", "one_head", HEED_COLOR_SKY, HEED_DASH_LONG},
    [NORM] = {"no layer norm", "no_norm", HEED_COLOR_GOLD, HEED_DASH_LONG},
};

/* The parts that a variant has: all but the one that it is named after. */
static struct days_parts parts_of(int variant) {
    struct days_parts parts = days_whole;
    if (variant == POSITIONS) parts.positions = false;
    if (variant == RESIDUAL) parts.residual = false;
    if (variant == FEED_FORWARD) parts.feed_forward = false;
    if (variant == CROSS) parts.cross = false;
    if (variant == MASK) parts.mask = false;
    if (variant == HEADS) parts.heads = 1;
    if (variant == NORM) parts.norm = false;
    return parts;
}

enum { AT_ENCODER, AT_DECODER, AT_CROSS, SITES };
struct outcome {
    float loss[POINTS]; /* means over a thirtieth of the steps */
    double told, own;
    double change;               /* of the answers before it when the last word given is another */
    heed_capture_map map[SITES]; /* of the whole, on the first test; of the others empty */
    double on_sign, on_move;     /* weight of the best head: of numbers on their sign, of answers on their move */
    int64_t sign_head, move_head;
};

/* ---- learning ---- */

static bool learn(struct lesson_run *r, struct days_network *net, const struct days *lessons, const char *name,
                  struct outcome *o) {
    int32_t given[DAYS_BATCH * DAYS_MOVES];
    int64_t counts[POINTS] = {0};
    for (int64_t step = 0; step < r->steps && !heed_failed(r->cx); step++) {
        const struct days batch = days_part(lessons, step * DAYS_BATCH, DAYS_BATCH);
        days_shift(&batch, given);
        o->loss[step * POINTS / r->steps] += days_learn(r->cx, net, &batch, given);
        counts[step * POINTS / r->steps]++;
        if (step % 16 == 0) lesson_progress(r, name, step, r->steps);
    }
    for (int i = 0; i < POINTS; i++) o->loss[i] /= (float)counts[i];
    lesson_progress(r, "", 1, 1);
    return !heed_failed(r->cx);
}

/* The largest change of a logit at any place but the last when the last word given is the next of the week. */
static double change_future(struct lesson_run *r, const struct days_network *net, const struct days *d) {
    enum { N = 16, LOGITS = N * DAYS_MOVES * DAYS_WEEK };
    const struct days few = days_part(d, 0, N);
    int32_t given[N * DAYS_MOVES];
    float before[LOGITS], after[LOGITS];
    double most = 0;
    days_shift(&few, given);
    heed_set_grad(r->cx, false);
    heed_tensor *memory = days_encode(r->cx, net, &few);
    heed_copy_f32(r->cx, days_decode(r->cx, net, memory, given, N, DAYS_MOVES), before, LOGITS);
    for (int i = DAYS_MOVES - 1; i < N * DAYS_MOVES; i += DAYS_MOVES) given[i] = (given[i] + 1) % DAYS_WEEK;
    heed_copy_f32(r->cx, days_decode(r->cx, net, memory, given, N, DAYS_MOVES), after, LOGITS);
    for (int i = 0; !heed_failed(r->cx) && i < LOGITS; i++)
        if (i / DAYS_WEEK % DAYS_MOVES < DAYS_MOVES - 1) most = fmax(most, fabs((double)before[i] - (double)after[i]));
    heed_reset(r->cx);
    heed_set_grad(r->cx, true);
    return most;
}

/* ---- what it looks at ---- */

static heed_capture_map keep_first(struct lesson_run *r, const heed_capture_map *m, const char *site) {
    heed_capture_map out = *m;
    const int64_t n = m->heads * m->rows * m->keys;
    float *weights = lesson_room(r, n, sizeof *weights);
    if (weights) memcpy(weights, m->weights, (size_t)n * sizeof *weights);
    out.weights = weights;
    out.batch = 1;
    out.site = site;
    return out;
}

/* The mean weight, over all tasks and moves, from row `row` + `step` i on the keys key + 2 i to last + 2 i; of the head
 * that has most, which goes to *best. */
static double weight_on(const heed_capture_map *m, int64_t row, int64_t step, int64_t key, int64_t last,
                        int64_t *best) {
    double most = -1;
    for (int64_t h = 0; h < m->heads; h++) {
        double sum = 0;
        for (int64_t b = 0; b < m->batch; b++)
            for (int64_t i = 0; i < DAYS_MOVES; i++)
                for (int64_t k = key; k <= last; k++)
                    sum += (double)m->weights[((b * m->heads + h) * m->rows + row + step * i) * m->keys + k + 2 * i];
        if (sum > most) most = sum, *best = h;
    }
    return most / (double)(m->batch * DAYS_MOVES);
}

static bool look(struct lesson_run *r, const struct days_network *net, const struct days *d, struct outcome *o) {
    static const char *const sites[SITES] = {"encoder", "decoder", "cross"};
    int32_t answers[TESTS * DAYS_MOVES];
    heed_capture_begin(r->cx, NULL);
    heed_set_grad(r->cx, false);
    days_shift(d, answers);
    days_decode(r->cx, net, days_encode(r->cx, net, d), answers, d->n, DAYS_MOVES);
    for (int i = 0; i < SITES && !heed_failed(r->cx); i++)
        o->map[i] = keep_first(r, heed_capture_at(r->cx, i), sites[i]);
    if (!heed_failed(r->cx)) {
        o->on_sign = weight_on(heed_capture_at(r->cx, AT_ENCODER), 1, 2, 0, 0, &o->sign_head);
        o->on_move = weight_on(heed_capture_at(r->cx, AT_CROSS), 0, 1, 0, 1, &o->move_head);
    }
    heed_capture_end(r->cx);
    heed_reset(r->cx);
    heed_set_grad(r->cx, true);
    return !heed_failed(r->cx);
}

static bool try_variant(struct lesson_run *r, int v, const struct days *lessons, const struct days *tests,
                        struct outcome *o) {
    struct days_network net;
    int32_t answers[TESTS * DAYS_MOVES], given[TESTS * DAYS_MOVES];
    *o = (struct outcome){.told = 0};
    const struct days_parts parts = parts_of(v);
    bool ok = days_open(r, &parts, r->steps, &net) && learn(r, &net, lessons, variants[v].name, o) &&
              days_told(r, &net, tests, answers);
    if (ok) o->told = days_right(tests, answers);
    ok = ok && days_go(r, &net, tests, DAYS_MOVES, NULL, 1, given, answers);
    if (ok) o->own = days_right(tests, answers);
    if (ok) o->change = change_future(r, &net, tests);
    if (ok && v == WHOLE) ok = look(r, &net, tests, o);
    days_close(r, &net);
    return ok && !heed_failed(r->cx);
}

/* ---- what is said and drawn ---- */

static void print_outcome(struct lesson_run *r, int v, const struct outcome *o) {
    char name[64];
    if (v == WHOLE) lesson_line(r, "%-20s %10s %18s %18s", "", "last loss", "right when told", "right on its own");
    lesson_line(r, "%-20s %10.3f %16.1f %% %16.1f %%", variants[v].name, (double)o->loss[POINTS - 1], 100 * o->told,
                100 * o->own);
    snprintf(name, sizeof name, "%s_told", variants[v].key);
    lesson_result(r, name, o->told);
    snprintf(name, sizeof name, "%s_own", variants[v].key);
    lesson_result(r, name, o->own);
}

/* Ticks of the steps that were made, none where the names of the curves stand. */
static void mark_steps(struct lesson_run *r, heed_panel *p) {
    float at[4];
    char text[4][24];
    const char *names[4];
    for (int i = 0; i < 4; i++) {
        at[i] = (float)(r->steps * i / 3);
        snprintf(text[i], sizeof text[i], "%lld", (long long)(r->steps * i / 3));
        names[i] = text[i];
    }
    heed_panel_ticks_x(p, at, names, 4);
}

/* Each curve's name at its end, moved up where it would lie on the one below. */
static void name_curves(struct lesson_run *r, heed_panel *p, const struct outcome *o) {
    const double apart = 0.13, below = 0.09; /* in units of the loss: a line of text, and half of one */
    bool named[VARIANTS] = {false};
    double last = -1;
    for (int n = 0; n < VARIANTS; n++) {
        int low = -1;
        for (int v = 0; v < VARIANTS; v++)
            if (!named[v] && (low < 0 || o[v].loss[POINTS - 1] < o[low].loss[POINTS - 1])) low = v;
        last = fmax((double)o[low].loss[POINTS - 1] - below, last + apart);
        last = fmax(last, 0);
        named[low] = true;
        heed_panel_text(p, (double)r->steps, last, variants[low].name, &(heed_style){.color = variants[low].color});
    }
}

static void draw_learning(struct lesson_run *r, const struct outcome *o) {
    float step[POINTS], own[VARIANTS], told[VARIANTS];
    const char *names[VARIANTS];
    heed_series series[VARIANTS];
    heed_table_column columns[1 + VARIANTS] = {{.name = "step", .f32 = step}};
    heed_figure *f = lesson_figure(r, 960, 320);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Learning, told the true days before");
    heed_panel_labels(p, "step", "loss");
    heed_panel_limits_y(p, 0, 2.2);
    heed_panel_limits_x(p, 0, 1.32 * (double)r->steps); /* room for the names */
    heed_panel_legend(p, false);
    mark_steps(r, p);
    for (int i = 0; i < POINTS; i++) step[i] = ((float)i + 0.5f) * (float)r->steps / POINTS;
    for (int v = VARIANTS - 1; v >= 0; v--) { /* the whole on top */
        names[v] = variants[v].name;
        own[v] = (float)(100 * o[v].own);
        told[v] = (float)(100 * o[v].told);
        series[v] = (heed_series){.label = names[v], .x = step, .y = o[v].loss, .n = POINTS};
        columns[1 + v] = (heed_table_column){.name = variants[v].key, .f32 = o[v].loss};
        heed_panel_curve(
            p, step, o[v].loss, POINTS,
            &(heed_style){.color = variants[v].color, .dash = variants[v].dash, .width = v == WHOLE ? 2.4 : 1.4});
    }
    name_curves(r, p, o);
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "What each can do in the end");
    heed_panel_labels(p, "days right, %", NULL);
    heed_panel_limits_x(p, 0, 119);
    heed_panel_hbars(p, names, told, VARIANTS,
                     &(heed_style){.label = "told the days before", .color = HEED_COLOR_GREY, .numbers = true});
    heed_panel_hbars(p, names, own, VARIANTS,
                     &(heed_style){.label = "on its own", .color = HEED_COLOR_BLUE, .numbers = true});
    heed_panel_vline(p, 100.0 / DAYS_WEEK, &(heed_style){.color = HEED_COLOR_GREY, .dash = HEED_DASH_DOTS});
    lesson_picture(r, f, "transformer");
    heed_terminal how = r->terminal;
    how.title = "loss against steps";
    const heed_series shown[] = {series[WHOLE], series[POSITIONS], series[RESIDUAL], series[FEED_FORWARD],
                                 series[MASK]};
    lesson_show(r, heed_terminal_curves(r->cx, shown, 5, &(heed_axes){.x_label = "step"}, &how));
    lesson_table(r, "transformer-loss", columns, 1 + VARIANTS, POINTS);
    lesson_table(r, "transformer",
                 (heed_table_column[]){{.name = "variant", .text = names},
                                       {.name = "right_when_told", .f32 = told},
                                       {.name = "right_on_its_own", .f32 = own}},
                 3, VARIANTS);
}

static void say_parts(struct lesson_run *r, const struct outcome *o) {
    if (o[WHOLE].own < 0.95)
        lesson_say(r, "The whole has not learnt the task yet, so that what follows is not shown by these numbers: "
                      "--steps says how long to go on.");
    lesson_say(r,
               "A guess is right one time in four when the day before is told, one in seven on its own. What is "
               "missed, part by part. Cross attention is the only way from the source to the answer: without it the "
               "decoder guesses. Positions: without them the source is a bag of signs and numbers, and it is not known "
               "which comes first. Residuals: each part adds to what is known already; without them what cross "
               "attention fetches takes the place of the day before, and the two never meet. Feed-forward: attention "
               "fetches and mixes; that Friday and +3 make Monday is worked out here. Without it %.0f %% are right on "
               "its own.",
               100 * o[FEED_FORWARD].own);
    lesson_say(r,
               "The mask: without it the decoder looks at the next word given, which is the answer: %.0f %% right "
               "while it is told, %.0f %% on its own, when the answer is not there yet. Change the last word "
               "given, and with the mask the answers before it change by %g; without it by up to %.1f.",
               100 * o[MASK].told, 100 * o[MASK].own, o[WHOLE].change, o[MASK].change);
    lesson_say(r,
               "Heads: one head must look at a sign and at a number at once. It is right %.0f %% on its own, where the "
               "four of the whole are %.0f %%%s; '%s lesson multi-head' shows why. Layer norm: without it a network of "
               "one layer gets %.0f %%%s.",
               100 * o[HEADS].own, 100 * o[WHOLE].own,
               o[HEADS].own < o[WHOLE].own - 0.02 ? "" : ": with this seed it got there too, with others it does not",
               r->program, 100 * o[NORM].own,
               o[NORM].own > o[WHOLE].own - 0.02 ? "; what the norm is for is seen in depth, below" : "");
    lesson_result(r, "change_with_mask", o[WHOLE].change);
    lesson_result(r, "change_without_mask", o[MASK].change);
}

static void draw_attention(struct lesson_run *r, const struct days *d, const struct outcome *o) {
    const char *source[DAYS_SOURCE], *given[DAYS_MOVES], *answer[DAYS_MOVES];
    for (int i = 0; i < DAYS_SOURCE; i++) source[i] = days_source_names[d->source[i]];
    for (int i = 0; i < DAYS_MOVES; i++) {
        given[i] = days_answer_names[i ? d->answer[i - 1] : DAYS_TODAY];
        answer[i] = days_answer_names[d->answer[i]];
    }
    const struct {
        int site;
        int64_t head;
        const char *title;
        const char *const *queries, *const *next, *const *keys;
    } shown[SITES] = {{AT_ENCODER, o->sign_head, "Encoder", source, NULL, source},
                      {AT_DECODER, 0, "Decoder: later words are hidden", given, answer, given},
                      {AT_CROSS, o->move_head, "Cross attention: each day to its move", given, answer, source}};
    lesson_say(
        r,
        "What the whole looks at. In cross attention the best head puts %.2f of a day's weight on its own move, "
        "sign and number, of the %d: it learnt the alignment from the answers alone. The encoder's best head puts "
        "%.2f of a number's weight on its sign, where an equal share is %.2f: the decoder can look at both itself.",
        o->on_move, DAYS_MOVES, o->on_sign, 1.0 / DAYS_SOURCE);
    lesson_result(r, "weight_on_sign", o->on_sign);
    lesson_result(r, "weight_on_move", o->on_move);
    heed_figure *f = lesson_figure(r, 1000, 300);
    heed_figure_grid(f, 1, SITES);
    heed_figure_bar(f, "weight");
    for (int i = 0; i < SITES; i++) {
        const heed_attention_look how = {
            .query_names = shown[i].queries, .next_names = shown[i].next, .key_names = shown[i].keys, .high = 1};
        heed_terminal terminal = r->terminal;
        terminal.title = shown[i].title;
        if (i == AT_CROSS)
            lesson_show(r, heed_terminal_attention(r->cx, &o->map[shown[i].site], shown[i].head, &how, &terminal));
        heed_panel *p = heed_figure_panel(f, 0, i);
        heed_panel_title(p, shown[i].title);
        heed_plot_attention_map(p, &o->map[shown[i].site], shown[i].head, &how);
    }
    lesson_picture(r, f, "transformer-attention");
    const heed_capture_map *m = &o->map[AT_CROSS];
    const char *query[DAYS_MOVES * DAYS_SOURCE], *key[DAYS_MOVES * DAYS_SOURCE];
    for (int i = 0; i < DAYS_MOVES * DAYS_SOURCE; i++)
        query[i] = answer[i / DAYS_SOURCE], key[i] = source[i % DAYS_SOURCE];
    heed_table_column columns[2 + 4] = {{.name = "query", .text = query}, {.name = "key", .text = key}};
    static const char *const heads[] = {"head_0", "head_1", "head_2", "head_3"};
    for (int h = 0; h < 4; h++)
        columns[2 + h] = (heed_table_column){.name = heads[h], .f32 = m->weights + h * DAYS_MOVES * DAYS_SOURCE};
    lesson_table(r, "transformer-cross", columns, 6, DAYS_MOVES * DAYS_SOURCE);
}

/* ---- depth ---- */

struct depth {
    float size[LAYERS + 1], apart[LAYERS + 1]; /* of the numbers; of the tokens, as a share of that */
};

/* x (1, T, C): the root mean square of the numbers, and of what a token has more than the mean token. */
static void measure(const float *x, float *size, float *apart) {
    double all = 0, own = 0;
    for (int c = 0; c < DEPTH_WIDTH; c++) {
        double mean = 0;
        for (int t = 0; t < DAYS_SOURCE; t++) mean += (double)x[t * DEPTH_WIDTH + c] / DAYS_SOURCE;
        for (int t = 0; t < DAYS_SOURCE; t++) {
            const double y = (double)x[t * DEPTH_WIDTH + c];
            all += y * y;
            own += (y - mean) * (y - mean);
        }
    }
    *size = (float)sqrt(all / (DEPTH_WIDTH * DAYS_SOURCE));
    *apart = (float)sqrt(own / all);
}

static bool go_deep(struct lesson_run *r, bool norm, bool residual, struct depth *out) {
    heed_ctx *cx = r->cx;
    heed_params *set = heed_params_new(cx);
    heed_encoder *stack = lesson_room(r, 1, sizeof *stack);
    float x[DAYS_SOURCE * DEPTH_WIDTH];
    const heed_transformer_opts opts = {.width = DEPTH_WIDTH,
                                        .heads = 4,
                                        .hidden = 4 * DEPTH_WIDTH,
                                        .act = HEED_ACT_RELU,
                                        .bias = true,
                                        .norm_first = true,
                                        .layers = LAYERS};
    heed_random_normal(r->seed, 77, 0, x, DAYS_SOURCE * DEPTH_WIDTH);
    bool ok = set && stack && heed_encoder_make(cx, set, "", &opts, stack) && heed_params_allocate(cx, set) &&
              heed_params_init(cx, set, r->seed);
    heed_set_grad(cx, false);
    heed_tensor *t = ok ? heed_from_f32(cx, x, 3, (int64_t[]){1, DAYS_SOURCE, DEPTH_WIDTH}) : NULL;
    for (int i = 0; t && i <= LAYERS; i++) {
        measure(heed_f32(t), &out->size[i], &out->apart[i]);
        if (i == LAYERS) break;
        const heed_encoder_layer *l = &stack->layer[i];
        heed_tensor *y = norm ? heed_norm_run(cx, &l->norm1, t) : t;
        y = heed_multihead_run(cx, &l->self_attn, y, y, y, NULL);
        t = residual ? heed_add(cx, t, y) : y;
        y = heed_feed_forward_run(cx, &l->feed_forward, norm ? heed_norm_run(cx, &l->norm2, t) : t);
        t = residual ? heed_add(cx, t, y) : y;
    }
    heed_reset(cx);
    heed_set_grad(cx, true);
    heed_params_free(cx, set);
    return !heed_failed(cx);
}

static void show_depth(struct lesson_run *r) {
    static const char *const names[STACKS] = {"both", "no layer norm", "no residuals"};
    static const char *const keys[2][STACKS] = {{"size_both", "size_no_norm", "size_no_residuals"},
                                                {"apart_both", "apart_no_norm", "apart_no_residuals"}};
    static const heed_color colors[STACKS] = {HEED_COLOR_INK, HEED_COLOR_GOLD, HEED_COLOR_RED};
    struct depth d[STACKS];
    float layer[LAYERS + 1];
    heed_table_column columns[1 + 2 * STACKS] = {{.name = "layer", .f32 = layer}};
    if (!go_deep(r, true, true, &d[0]) || !go_deep(r, false, true, &d[1]) || !go_deep(r, true, false, &d[2])) return;
    for (int i = 0; i <= LAYERS; i++) layer[i] = (float)i;
    lesson_say(r,
               "Depth. An encoder of %d layers, untrained; what has become of %d tokens after its last layer:", LAYERS,
               DAYS_SOURCE);
    lesson_line(r, "%-20s %20s %24s", "", "size of the numbers", "tokens differ by");
    heed_figure *f = lesson_figure(r, 860, 290);
    heed_figure_grid(f, 1, 2);
    for (int k = 0; k < 2; k++) {
        heed_panel *p = heed_figure_panel(f, 0, k);
        heed_panel_title(p, k ? "How far the tokens differ" : "Size of the numbers");
        heed_panel_labels(p, "layer", k ? "share of the size" : "root mean square");
        heed_panel_log(p, false, k == 0);
        if (k == 1) heed_panel_limits_y(p, 0, 1.05);
        for (int s = 0; s < STACKS; s++) {
            const float *y = k ? d[s].apart : d[s].size;
            heed_panel_curve(p, layer, y, LAYERS + 1, &(heed_style){.label = names[s], .color = colors[s]});
            columns[1 + k * STACKS + s] = (heed_table_column){.name = keys[k][s], .f32 = y};
            lesson_result(r, keys[k][s], (double)y[LAYERS]);
        }
    }
    for (int s = 0; s < STACKS; s++)
        lesson_line(r, "%-20s %20.2f %22.1f %%", names[s], (double)d[s].size[LAYERS], 100 * (double)d[s].apart[LAYERS]);
    lesson_picture(r, f, "transformer-depth");
    lesson_table(r, "transformer-depth", columns, 1 + 2 * STACKS, LAYERS + 1);
    lesson_line(r, "%s", "");
    lesson_say(r, "%s",
               "Without the norm each layer enlarges what the one before enlarged, and the numbers run away. Without "
               "residuals all tokens become the same one: what told them apart is averaged away.");
}

static void run(struct lesson_run *r) {
    struct days lessons, tests;
    struct outcome *o = lesson_room(r, VARIANTS, sizeof *o);
    if (!o || !days_draw(r, 100, r->steps * DAYS_BATCH, &lessons) || !days_draw(r, 101, TESTS, &tests)) return;
    char source[64], answer[64];
    days_text(&tests, 0, source, answer);
    lesson_say(r, "What is each part of a Transformer for? Take it away and see. The task: today is Sunday; go so many "
                  "days on or back, again and again, and name the day each time.");
    lesson_line(r, "source   %s\nanswer   %s\n", source, answer);
    lesson_say(
        r,
        "An encoder and a decoder of one layer, 32 wide, 4 heads, learn it from %lld steps of %d tasks; then the "
        "same without one of the parts. Told: it is given the true days before, as in learning. On its own: it "
        "goes on from its own answers. On %d other tasks:",
        (long long)r->steps, DAYS_BATCH, TESTS);
    for (int v = 0; v < VARIANTS; v++) {
        if (!try_variant(r, v, &lessons, &tests, &o[v])) return;
        print_outcome(r, v, &o[v]);
    }
    lesson_line(r, "%s", "");
    draw_learning(r, o);
    say_parts(r, o);
    draw_attention(r, &tests, &o[WHOLE]);
    show_depth(r);
}

const struct lesson transformer_lesson = {
    .name = "transformer",
    .summary = "what each part is for: the Transformer without it",
    .steps = STEPS,
    .run = run,
};
