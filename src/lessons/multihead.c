/* Multi-head attention (Vaswani et al. 2017). Eight heads of 64 as they come, each with matrices of its own; then a
 * task that takes two heads: say at every place of a text which letter came just before and which came first. */
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 512, HEADS = 8 };                                                      /* the paper's */
enum { LETTERS = 26, LENGTH = 10, SMALL = 16, BATCH = 64, STEPS = 500, TESTS = 500 }; /* the task's */

/* ---- eight heads of 64 ---- */

static const char *const sentence[] = {"The",    "animal",  "did", "not", "cross", "the",
                                       "street", "because", "it",  "was", "too",   "tired"};
enum { WORDS = sizeof sentence / sizeof sentence[0] };

static heed_capture_map keep_map(struct lesson_run *r, const heed_capture_map *m) {
    if (!m) return (heed_capture_map){.batch = 0};
    heed_capture_map out = *m;
    const int64_t n = m->batch * m->heads * m->rows * m->keys;
    float *weights = lesson_room(r, n, sizeof *weights);
    if (weights) memcpy(weights, m->weights, (size_t)n * sizeof *weights);
    out.weights = weights;
    out.site = "attention";
    return out;
}

/* How much of a row's weight lies elsewhere in another head: half the sum of differences, the mean over rows and pairs
 * of heads. */
static double heads_apart(const heed_capture_map *m) {
    const int64_t cells = m->rows * m->keys;
    double sum = 0;
    int64_t pairs = 0;
    for (int64_t a = 0; a < m->heads; a++)
        for (int64_t b = a + 1; b < m->heads; b++, pairs++)
            for (int64_t i = 0; i < cells; i++)
                sum += fabs((double)m->weights[a * cells + i] - (double)m->weights[b * cells + i]) / 2;
    return sum / (double)(pairs * m->rows);
}

static void write_eight(struct lesson_run *r, const heed_capture_map *m) {
    static const char *const heads[HEADS] = {"head_0", "head_1", "head_2", "head_3",
                                             "head_4", "head_5", "head_6", "head_7"};
    const char *query[WORDS * WORDS], *key[WORDS * WORDS];
    heed_table_column columns[2 + HEADS] = {{.name = "query", .text = query}, {.name = "key", .text = key}};
    for (int i = 0; i < WORDS * WORDS; i++) query[i] = sentence[i / WORDS], key[i] = sentence[i % WORDS];
    for (int h = 0; h < HEADS; h++)
        columns[2 + h] = (heed_table_column){.name = heads[h], .f32 = m->weights + h * WORDS * WORDS};
    lesson_table(r, "multi-head-eight", columns, 2 + HEADS, WORDS * WORDS);
}

static void eight_heads(struct lesson_run *r) {
    heed_ctx *cx = r->cx;
    heed_params *params = heed_params_new(cx);
    heed_multihead layer;
    float *words = lesson_room(r, WORDS * WIDTH, sizeof *words);
    heed_capture_map map = {.batch = 0};
    if (words &&
        heed_multihead_make(cx, params, "", &(heed_multihead_opts){.width = WIDTH, .heads = HEADS, .bias = true},
                            &layer) &&
        heed_params_allocate(cx, params)) {
        heed_params_init(cx, params, r->seed);
        heed_random_normal(r->seed, 0, 0, words, WORDS * WIDTH);
        for (int i = 0; i < WORDS * WIDTH; i++) words[i] *= 1.6f;
        heed_set_grad(cx, false);
        heed_capture_begin(cx, NULL);
        heed_tensor *x = heed_from_f32(cx, words, 3, (int64_t[]){1, WORDS, WIDTH});
        heed_multihead_run(cx, &layer, x, x, x, NULL);
        map = keep_map(r, heed_capture_at(cx, 0));
        heed_capture_end(cx);
        heed_set_grad(cx, true);
        heed_reset(cx);
    }
    const int64_t numbers = params ? heed_params_size(params) : 0;
    heed_params_free(cx, params);
    if (heed_failed(cx)) return;
    const double apart = heads_apart(&map);
    lesson_say(
        r,
        "One head gives each position one weighted mean. So a layer has several heads: each has matrices W_q, "
        "W_k, W_v of its own, and W_o joins their outputs. As in Vaswani et al. 2017, a width of %d and %d heads "
        "of %d:",
        WIDTH, HEADS, WIDTH / HEADS);
    lesson_line(r, "W_q, W_k, W_v of a head     %d x %d each", WIDTH / HEADS, WIDTH);
    lesson_line(r, "W_o, from all heads         %d x %d", WIDTH, WIDTH);
    lesson_line(r, "parameters                  %lld, as many as with one head of %d", (long long)numbers, WIDTH);
    lesson_line(r, "weight that lies elsewhere in another head  %.0f %%\n", 100 * apart);
    lesson_result(r, "numbers", (double)numbers);
    lesson_result(r, "heads_apart", apart);
    lesson_say(r,
               "Nothing has been learnt yet: the heads differ because their matrices were initialised at random."
               " The first two on '%s %s %s ...':",
               sentence[0], sentence[1], sentence[2]);
    for (int h = 0; h < 2; h++) {
        heed_terminal how = r->terminal;
        how.title = h ? "head 1" : "head 0";
        lesson_show(r, heed_terminal_attention(
                           cx, &map, h, &(heed_attention_look){.query_names = sentence, .key_names = sentence}, &how));
    }
    heed_figure *f = lesson_figure(r, 0, 0);
    heed_figure_title(f, "Eight heads of 64, untrained");
    heed_plot_attention_sheet(f, &map, 1, &(heed_attention_look){.query_names = sentence, .key_names = sentence});
    lesson_picture(r, f, "multi-head-eight");
    write_eight(r, &map);
}

/* ---- two jobs ---- */

struct network {
    heed_params *params;
    heed_embedding_layer letter, place;
    heed_multihead attention;
    heed_linear_layer answer;
    heed_trainer *trainer;
};

struct outcome {
    int heads;
    float *loss;                      /* (steps) */
    double before, first;             /* how often right */
    double on_before[2], on_first[2]; /* weight of a head on the letter before, and on the first */
    heed_capture_map map;             /* on the first test text */
};

struct texts {
    int64_t n;
    int32_t *letters, *wanted; /* (n, LENGTH), (n, LENGTH, 2): before, first; -1 where there is none */
};

static bool draw_texts(struct lesson_run *r, uint64_t stream, int64_t n, struct texts *t) {
    t->n = n;
    t->letters = lesson_room(r, n * LENGTH, sizeof *t->letters);
    t->wanted = lesson_room(r, n * LENGTH * 2, sizeof *t->wanted);
    for (int64_t i = 0; t->letters && t->wanted && i < n * LENGTH; i++) {
        t->letters[i] = (int32_t)(heed_random_bits(r->seed, stream, (uint64_t)i) % LETTERS);
        t->wanted[2 * i] = i % LENGTH ? t->letters[i - 1] : -1;
        t->wanted[2 * i + 1] = i % LENGTH ? t->letters[i - i % LENGTH] : -1;
    }
    return !heed_failed(r->cx);
}

static bool open_network(struct lesson_run *r, int heads, struct network *n) {
    heed_ctx *cx = r->cx;
    n->params = heed_params_new(cx);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.01, .steps = r->steps}};
    if (!heed_embedding_make(cx, n->params, "letter", LETTERS, SMALL, &n->letter) ||
        !heed_embedding_make(cx, n->params, "place", LENGTH, SMALL, &n->place) ||
        !heed_multihead_make(cx, n->params, "attention",
                             &(heed_multihead_opts){.width = SMALL, .heads = heads, .bias = true}, &n->attention) ||
        !heed_linear_make(cx, n->params, "answer", SMALL, 2 * LETTERS, true, &n->answer) ||
        !heed_params_allocate(cx, n->params) || !heed_params_init(cx, n->params, r->seed))
        return false;
    n->trainer = heed_trainer_new(cx, n->params, &opts);
    return n->trainer;
}

/* letters (n, LENGTH) -> logits (n, LENGTH, 2, LETTERS) */
static heed_tensor *forward(heed_ctx *cx, const struct network *net, const int32_t *letters, int64_t n) {
    int32_t places[LENGTH];
    for (int32_t i = 0; i < LENGTH; i++) places[i] = i;
    heed_tensor *x = heed_embedding_run(cx, &net->letter, heed_from_i32(cx, letters, 2, (int64_t[]){n, LENGTH}));
    x = heed_add(cx, x, heed_embedding_run(cx, &net->place, heed_from_i32(cx, places, 1, (int64_t[]){LENGTH})));
    x = heed_multihead_run(cx, &net->attention, x, x, x, &(heed_attention_opts){.mask = heed_mask_causal(0)});
    x = heed_linear_run(cx, &net->answer, x, HEED_ACT_NONE);
    return heed_reshape(cx, x, 4, (int64_t[]){n, LENGTH, 2, LETTERS});
}

static bool learn(struct lesson_run *r, struct network *net, struct outcome *o) {
    heed_ctx *cx = r->cx;
    o->loss = lesson_room(r, r->steps, sizeof *o->loss);
    struct texts t;
    if (!o->loss || !draw_texts(r, 10, BATCH * r->steps, &t)) return false;
    for (int64_t step = 0; step < r->steps && !heed_failed(cx); step++) {
        const int64_t from = step * BATCH * LENGTH;
        heed_trainer_begin(cx, net->trainer);
        heed_tensor *wanted = heed_from_i32(cx, t.wanted + 2 * from, 3, (int64_t[]){BATCH, LENGTH, 2});
        heed_tensor *loss = heed_cross_entropy(cx, forward(cx, net, t.letters + from, BATCH), wanted,
                                               &(heed_cross_entropy_opts){.ignore = true, .ignore_index = -1});
        o->loss[step] = lesson_learn(cx, net->trainer, loss);
        if (step % 16 == 0) lesson_progress(r, "learning, step", step, r->steps);
    }
    lesson_progress(r, "", 1, 1);
    return !heed_failed(cx);
}

/* Weight on the letter before and on the first, the mean over all places where the two differ. */
static void measure_map(const heed_capture_map *m, struct outcome *o) {
    const double places = (double)(m->batch * (LENGTH - 2));
    for (int64_t i = 0; i < m->batch * m->heads * LENGTH; i++) {
        const int64_t head = i / LENGTH % m->heads, row = i % LENGTH;
        if (row < 2) continue;
        o->on_before[head] += (double)m->weights[i * LENGTH + row - 1] / places;
        o->on_first[head] += (double)m->weights[i * LENGTH] / places;
    }
}

static bool examine(struct lesson_run *r, const struct network *net, const struct texts *t, struct outcome *o) {
    heed_ctx *cx = r->cx;
    heed_set_grad(cx, false);
    heed_capture_begin(cx, NULL);
    const float *logits = heed_f32(forward(cx, net, t->letters, t->n));
    const heed_capture_map *map = heed_capture_at(cx, 0);
    if (logits && map) {
        measure_map(map, o);
        o->map = *map;
        o->map.batch = 1;
        o->map = keep_map(r, &o->map);
        for (int64_t i = 0; i < 2 * t->n * LENGTH; i++)
            if (i / 2 % LENGTH != 0)
                *(i % 2 ? &o->first : &o->before) += lesson_winner(logits + i * LETTERS, LETTERS) == t->wanted[i];
    }
    o->first /= (double)(t->n * (LENGTH - 1));
    o->before /= (double)(t->n * (LENGTH - 1));
    heed_capture_end(cx);
    heed_reset(cx);
    heed_set_grad(cx, true);
    return !heed_failed(cx);
}

static bool try_heads(struct lesson_run *r, int heads, const struct texts *t, struct outcome *o) {
    struct network net = {.params = NULL};
    *o = (struct outcome){.heads = heads};
    const bool ok = open_network(r, heads, &net) && learn(r, &net, o) && examine(r, &net, t, o);
    heed_trainer_free(r->cx, net.trainer);
    heed_params_free(r->cx, net.params);
    return ok;
}

static const char *const job_titles[] = {"One head alone", "Of two: head 0", "Of two: head 1"};

static void print_outcomes(struct lesson_run *r, const struct outcome o[2]) {
    lesson_line(r, "%-14s %20s %20s", "", "letter before right", "first letter right");
    for (int k = 0; k < 2; k++)
        lesson_line(r, "%d head%s of %-4d %18.1f %% %18.1f %%", o[k].heads, o[k].heads > 1 ? "s" : " ",
                    SMALL / o[k].heads, 100 * o[k].before, 100 * o[k].first);
    lesson_line(r, "\n%-14s %20s %20s", "weight on", "letter before", "first letter");
    for (int k = 0; k < 2; k++)
        for (int h = 0; h < o[k].heads; h++)
            lesson_line(r, "%-14s %20.2f %20.2f", job_titles[k + h], o[k].on_before[h], o[k].on_first[h]);
    lesson_line(r, "%s", "");
    lesson_result(r, "one_head_before", o[0].before);
    lesson_result(r, "one_head_first", o[0].first);
    lesson_result(r, "two_heads_before", o[1].before);
    lesson_result(r, "two_heads_first", o[1].first);
    const int h = o[1].on_before[1] > o[1].on_before[0];
    lesson_result(r, "weight_on_before", o[1].on_before[h]);
    lesson_result(r, "weight_on_first", o[1].on_first[1 - h]);
}

static void draw_jobs(struct lesson_run *r, const struct outcome o[2], const int32_t *letters) {
    char text[LENGTH][2];
    const char *names[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        text[i][0] = (char)('a' + letters[i]), text[i][1] = 0;
        names[i] = text[i];
    }
    const heed_attention_look look = {.query_names = names, .key_names = names, .high = 1};
    heed_figure *f = lesson_figure(r, 900, 290);
    heed_figure_grid(f, 1, 3);
    heed_figure_bar(f, "weight");
    for (int k = 0; k < 3; k++) {
        const heed_capture_map *map = &o[k > 0].map;
        heed_terminal how = r->terminal;
        how.title = job_titles[k];
        lesson_show(r, heed_terminal_attention(r->cx, map, k == 2, &look, &how));
        heed_panel *p = heed_figure_panel(f, 0, k);
        heed_panel_title(p, job_titles[k]);
        heed_plot_attention_map(p, map, k == 2, &look);
    }
    lesson_picture(r, f, "multi-head");
    f = lesson_figure(r, 0, 0);
    heed_figure_title(f, "Two heads, two jobs");
    heed_plot_attention_sheet(f, &o[1].map, 1, &look);
    lesson_picture(r, f, "multi-head-sheet");
    float *step = lesson_room(r, r->steps, sizeof *step);
    if (!step) return;
    for (int64_t i = 0; i < r->steps; i++) step[i] = (float)i;
    f = lesson_figure(r, 430, 260);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Two jobs for one head, and for two");
    heed_panel_labels(p, "step", "loss");
    heed_panel_curve(p, step, o[0].loss, r->steps,
                     &(heed_style){.label = "one head of 16", .color = HEED_COLOR_ORANGE});
    heed_panel_curve(p, step, o[1].loss, r->steps, &(heed_style){.label = "two heads of 8", .color = HEED_COLOR_BLUE});
    lesson_picture(r, f, "multi-head-loss");
    lesson_table(r, "multi-head-loss",
                 (heed_table_column[]){{.name = "step", .f32 = step},
                                       {.name = "one_head", .f32 = o[0].loss},
                                       {.name = "two_heads", .f32 = o[1].loss}},
                 3, r->steps);
    float place[2 * LENGTH * LENGTH];
    for (int i = 0; i < LENGTH * LENGTH; i++) {
        place[i] = (float)(i / LENGTH);
        place[LENGTH * LENGTH + i] = (float)(i % LENGTH);
    }
    if (o[1].map.weights)
        lesson_table(r, "multi-head",
                     (heed_table_column[]){{.name = "query", .f32 = place},
                                           {.name = "key", .f32 = place + LENGTH * LENGTH},
                                           {.name = "one_head", .f32 = o[0].map.weights},
                                           {.name = "head_0", .f32 = o[1].map.weights},
                                           {.name = "head_1", .f32 = o[1].map.weights + LENGTH * LENGTH}},
                     5, LENGTH * LENGTH);
}

/* What the weights and the answers show, or that they do not show it yet. */
static void conclude(struct lesson_run *r, const struct outcome o[2]) {
    const int h = o[1].on_before[1] > o[1].on_before[0];
    const double least = fmin(o[1].on_before[h], o[1].on_first[1 - h]);
    const double one = o[0].before + o[0].first, two = o[1].before + o[1].first;
    if (least > 0.7)
        lesson_say(r, "The two heads have specialised by training alone: one attends to the letter before, the other "
                      "to the first.");
    else
        lesson_say(r, "The two heads have not specialised: neither attends to one of the two letters alone. --steps "
                      "says how long they learn.");
    if (two - one > 0.05)
        lesson_say(r, "A single head of the same width must attend to both at once, and from the mean of two letters "
                      "it cannot always be told which was which.");
    else
        lesson_say(r, "A single head of the same width must attend to both at once; here it does so as well as two.");
}

static void run(struct lesson_run *r) {
    struct outcome o[2];
    struct texts tests;
    eight_heads(r);
    if (heed_failed(r->cx) || !draw_texts(r, 11, TESTS, &tests)) return;
    lesson_say(
        r,
        "Now a task that takes two heads. Texts of %d letters; at every position the network must predict which "
        "letter came just before, and which one came first. A layer of attention, once with one head of %d, once "
        "with two of %d, and nothing else:",
        LENGTH, SMALL, SMALL / 2);
    for (int k = 0; k < 2; k++)
        if (!try_heads(r, k + 1, &tests, &o[k])) return;
    print_outcomes(r, o);
    draw_jobs(r, o, tests.letters);
    conclude(r, o);
}

const struct lesson multihead_lesson = {
    .name = "multi-head",
    .summary = "eight heads of 64; two heads that learn two different jobs",
    .run = run,
    .steps = STEPS,
};
