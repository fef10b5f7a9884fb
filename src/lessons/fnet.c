/* FNet (Lee-Thorp et al. 2022): a Fourier transform where attention stood. What mixes the tokens is fixed, the same for
 * every text. One layer of each on two tasks: which digit comes most often, for which any mixing will do; and what was
 * noted beside a letter, for which a token has to find another by what it says. */
#include "heed/attention.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LETTERS = 16, DIGITS = 8, NOTES = 12, LENGTH = NOTES + 1, WIDTH = 32, HIDDEN = 64 };
enum { BATCH = 32, STEPS = 500, TESTS = 500 };
enum { FOURIER, ATTENTION, KINDS };
enum { MOST, BESIDE, TASKS };

static const char *const kind_names[KINDS] = {"Fourier transform", "attention"};

/* ---- texts ---- a letter alone, the question, and then NOTES tokens, each a letter with a digit beside it. */

struct texts {
    int64_t n;
    int32_t *letters, *digits; /* (n, LENGTH); the question's digit is DIGITS */
    int32_t *wanted[TASKS];    /* (n) */
};

static bool draw_texts(struct lesson_run *r, uint64_t stream, int64_t n, struct texts *t) {
    *t = (struct texts){.n = n};
    t->letters = lesson_room(r, n * LENGTH, sizeof *t->letters);
    t->digits = lesson_room(r, n * LENGTH, sizeof *t->digits);
    for (int k = 0; k < TASKS; k++) t->wanted[k] = lesson_room(r, n, sizeof *t->wanted[k]);
    for (int64_t i = 0; !heed_failed(r->cx) && i < n; i++) {
        int64_t order[LETTERS], often[DIGITS] = {0}, most = 0;
        int32_t *const letter = t->letters + i * LENGTH, *const digit = t->digits + i * LENGTH;
        heed_random_permutation(r->seed, stream + (uint64_t)i, order, LETTERS);
        for (int k = 1; k < LENGTH; k++) {
            letter[k] = (int32_t)order[k];
            digit[k] = (int32_t)(heed_random_bits(r->seed, stream + (uint64_t)i, 100 + (uint64_t)k) % DIGITS);
            often[digit[k]]++;
        }
        for (int k = 0; k < DIGITS; k++)
            if (often[k] > often[most]) most = k;
        const int64_t asked = 1 + heed_random_bits(r->seed, stream + (uint64_t)i, 200) % NOTES;
        letter[0] = letter[asked];
        digit[0] = DIGITS;
        t->wanted[MOST][i] = (int32_t)most;
        t->wanted[BESIDE][i] = digit[asked];
    }
    return !heed_failed(r->cx);
}

/* ---- networks ---- x = norm(x + mix(x));  x = norm(x + W_2 relu(W_1 x));  the answer is read off the first token */

struct network {
    int kind;
    heed_params *params;
    heed_embedding_layer letter, digit;
    heed_multihead attention;
    heed_norm_layer norm1, norm2;
    heed_feed_forward feed_forward;
    heed_linear_layer answer;
    heed_trainer *trainer;
};

static bool open_network(struct lesson_run *r, int kind, struct network *n) {
    heed_ctx *cx = r->cx;
    *n = (struct network){.kind = kind, .params = heed_params_new(cx)};
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.005, .steps = r->steps}};
    if (!heed_embedding_make(cx, n->params, "letter", LETTERS, WIDTH, &n->letter) ||
        !heed_embedding_make(cx, n->params, "digit", DIGITS + 1, WIDTH, &n->digit) ||
        (kind == ATTENTION &&
         !heed_multihead_make(cx, n->params, "attention",
                              &(heed_multihead_opts){.width = WIDTH, .heads = 1, .bias = true}, &n->attention)) ||
        !heed_norm_make(cx, n->params, "norm1", WIDTH, false, 1e-5f, &n->norm1) ||
        !heed_feed_forward_make(cx, n->params, "feed_forward", WIDTH, HIDDEN, true, HEED_ACT_RELU, 0,
                                &n->feed_forward) ||
        !heed_norm_make(cx, n->params, "norm2", WIDTH, false, 1e-5f, &n->norm2) ||
        !heed_linear_make(cx, n->params, "answer", WIDTH, DIGITS, true, &n->answer) ||
        !heed_params_allocate(cx, n->params) || !heed_params_init(cx, n->params, r->seed))
        return false;
    n->trainer = heed_trainer_new(cx, n->params, &opts);
    return n->trainer;
}

/* -> logits (n, DIGITS) */
static heed_tensor *forward(heed_ctx *cx, const struct network *net, const struct texts *t, int64_t first, int64_t n) {
    const int64_t shape[] = {n, LENGTH};
    heed_tensor *x = heed_embedding_run(cx, &net->letter, heed_from_i32(cx, t->letters + first * LENGTH, 2, shape));
    x = heed_add(cx, x, heed_embedding_run(cx, &net->digit, heed_from_i32(cx, t->digits + first * LENGTH, 2, shape)));
    heed_tensor *const mixed =
        net->kind == FOURIER ? heed_fourier_mix(cx, x) : heed_multihead_run(cx, &net->attention, x, x, x, NULL);
    x = heed_norm_run(cx, &net->norm1, heed_add(cx, x, mixed));
    x = heed_norm_run(cx, &net->norm2, heed_add(cx, x, heed_feed_forward_run(cx, &net->feed_forward, x)));
    x = heed_reshape(cx, heed_slice(cx, x, 1, 0, 1), 2, (int64_t[]){n, WIDTH});
    return heed_linear_run(cx, &net->answer, x, HEED_ACT_NONE);
}

struct outcome {
    int64_t numbers; /* learnt ones of the mixing */
    double right;
    float *maps; /* (2, LENGTH, LENGTH): attention on the first two tests */
};

static bool learn(struct lesson_run *r, struct network *net, const struct texts *t, int task) {
    heed_ctx *cx = r->cx;
    for (int64_t step = 0; step < r->steps && !heed_failed(cx); step++) {
        heed_trainer_begin(cx, net->trainer);
        heed_tensor *const wanted = heed_from_i32(cx, t->wanted[task] + step * BATCH, 1, (int64_t[]){BATCH});
        lesson_learn(cx, net->trainer, heed_cross_entropy(cx, forward(cx, net, t, step * BATCH, BATCH), wanted, NULL));
        if (step % 16 == 0) lesson_progress(r, "learning, step", step, r->steps);
    }
    lesson_progress(r, "", 1, 1);
    return !heed_failed(cx);
}

static bool examine(struct lesson_run *r, const struct network *net, const struct texts *t, int task,
                    struct outcome *o) {
    heed_ctx *cx = r->cx;
    heed_set_grad(cx, false);
    heed_capture_begin(cx, NULL);
    const float *const logits = heed_f32(forward(cx, net, t, 0, t->n));
    for (int64_t i = 0; logits && i < t->n; i++)
        o->right += (double)(lesson_winner(logits + i * DIGITS, DIGITS) == t->wanted[task][i]) / (double)t->n;
    const heed_capture_map *const map = net->kind == ATTENTION ? heed_capture_at(cx, 0) : NULL;
    o->maps = lesson_room(r, 2 * LENGTH * LENGTH, sizeof *o->maps);
    if (map && o->maps) memcpy(o->maps, map->weights, 2 * LENGTH * LENGTH * sizeof *o->maps);
    heed_capture_end(cx);
    heed_reset(cx);
    heed_set_grad(cx, true);
    return !heed_failed(cx);
}

static bool try_kind(struct lesson_run *r, int kind, int task, const struct texts *train, const struct texts *tests,
                     struct outcome *o) {
    struct network net;
    *o = (struct outcome){.numbers = kind == ATTENTION ? 4 * (WIDTH * WIDTH + WIDTH) : 0};
    const bool ok = open_network(r, kind, &net) && learn(r, &net, train, task) && examine(r, &net, tests, task, o);
    heed_trainer_free(r->cx, net.trainer);
    heed_params_free(r->cx, net.params);
    return ok;
}

/* ---- what is shown ---- */

/* The fixed mixing along the tokens: cos and sin of 2 pi u t / T, (2, LENGTH, LENGTH). */
static float *waves(struct lesson_run *r) {
    float *const w = lesson_room(r, 2 * LENGTH * LENGTH, sizeof *w);
    for (int i = 0; w && i < LENGTH * LENGTH; i++) {
        const double angle = 2 * acos(-1) * (i / LENGTH) * (i % LENGTH) / LENGTH;
        w[i] = (float)cos(angle);
        w[LENGTH * LENGTH + i] = (float)sin(angle);
    }
    return w;
}

static void name_tokens(const struct texts *t, int64_t i, char text[LENGTH][4], const char *names[LENGTH]) {
    for (int k = 0; k < LENGTH; k++) {
        const int32_t digit = t->digits[i * LENGTH + k];
        snprintf(text[k], sizeof text[k], "%c%c", 'a' + t->letters[i * LENGTH + k],
                 digit == DIGITS ? '?' : '0' + digit);
        names[k] = text[k];
    }
}

static void draw(struct lesson_run *r, const struct texts *tests, const float *wave, const float *maps) {
    static const char *const titles[] = {"Fixed: cos(2\u03c0ut/T)", "Fixed: sin(2\u03c0ut/T)",
                                         "Learnt: attention on a text", "Learnt: on another text"};
    heed_figure *const f = lesson_figure(r, 720, 660);
    heed_figure_grid(f, 2, 2);
    heed_figure_title(f, "What mixes the tokens");
    for (int k = 0; k < 4; k++) {
        char text[LENGTH][4];
        const char *names[LENGTH];
        name_tokens(tests, k % 2, text, names);
        heed_panel *const p = heed_figure_panel(f, k / 2, k % 2);
        heed_panel_title(p, titles[k]);
        heed_panel_labels(p, k < 2 ? "token that is read" : NULL, k < 2 ? "token that reads" : NULL);
        const heed_heatmap fixed = {.map = HEED_MAP_DIVERGING, .low = -1, .high = 1},
                           learnt = {.map = HEED_MAP_SEQUENTIAL,
                                     .low = 0,
                                     .high = 1,
                                     .row_names = names,
                                     .col_names = names,
                                     .weights = true};
        const float *const values = (k < 2 ? wave : maps) + k % 2 * LENGTH * LENGTH;
        heed_panel_heatmap(p, values, LENGTH, LENGTH, k < 2 ? &fixed : &learnt);
    }
    lesson_picture(r, f, "fnet");
    float place[2 * LENGTH * LENGTH];
    for (int i = 0; i < LENGTH * LENGTH; i++) {
        place[i] = (float)(i / LENGTH);
        place[LENGTH * LENGTH + i] = (float)(i % LENGTH);
    }
    lesson_table(r, "fnet",
                 (heed_table_column[]){{.name = "reads", .f32 = place},
                                       {.name = "is_read", .f32 = place + LENGTH * LENGTH},
                                       {.name = "cos", .f32 = wave},
                                       {.name = "sin", .f32 = wave + LENGTH * LENGTH},
                                       {.name = "attention", .f32 = maps},
                                       {.name = "attention_other_text", .f32 = maps + LENGTH * LENGTH}},
                 6, LENGTH * LENGTH);
}

static void show_maps(struct lesson_run *r, const struct texts *tests, const float *wave, const float *maps) {
    char text[LENGTH][4];
    const char *names[LENGTH];
    heed_terminal how = r->terminal;
    name_tokens(tests, 0, text, names);
    how.title = "fixed: cos(2 pi u t / T), for every text";
    lesson_show(r, heed_terminal_heatmap(r->cx, wave, LENGTH, LENGTH,
                                         &(heed_heatmap){.map = HEED_MAP_DIVERGING, .low = -1, .high = 1}, &how));
    how.title = "learnt: attention, on one text";
    lesson_show(r, heed_terminal_heatmap(
                       r->cx, maps, LENGTH, LENGTH,
                       &(heed_heatmap){.low = 0, .high = 1, .row_names = names, .col_names = names, .weights = true},
                       &how));
}

/* How often the answer that is right most often is right. */
static double best_guess(const struct texts *t, int task) {
    int64_t often[DIGITS] = {0}, most = 0;
    for (int64_t i = 0; i < t->n; i++) often[t->wanted[task][i]]++;
    for (int k = 0; k < DIGITS; k++) most = often[k] > most ? often[k] : most;
    return (double)most / (double)t->n;
}

static void print_outcomes(struct lesson_run *r, const struct texts *tests, const struct outcome o[KINDS][TASKS]) {
    lesson_line(r, "%-20s %16s %20s %20s", "", "learnt numbers", "most frequent digit", "digit beside letter");
    for (int k = 0; k < KINDS; k++)
        lesson_line(r, "%-20s %16lld %18.1f %% %18.1f %%", kind_names[k], (long long)o[k][MOST].numbers,
                    100 * o[k][MOST].right, 100 * o[k][BESIDE].right);
    lesson_line(r, "%-20s %16s %18.1f %% %18.1f %%\n", "always the same", "-", 100 * best_guess(tests, MOST),
                100 * best_guess(tests, BESIDE));
    lesson_result(r, "fourier_most", o[FOURIER][MOST].right);
    lesson_result(r, "fourier_beside", o[FOURIER][BESIDE].right);
    lesson_result(r, "attention_most", o[ATTENTION][MOST].right);
    lesson_result(r, "attention_beside", o[ATTENTION][BESIDE].right);
}

static void run(struct lesson_run *r) {
    struct texts train, tests;
    struct outcome o[KINDS][TASKS];
    lesson_say(
        r, "Attention computes a matrix of weights anew for every text. FNet (Lee-Thorp et al. 2022) leaves that out: "
           "its layers add the real part of a Fourier transform along tokens and channels, y_uv = sum over t and c of "
           "x_tc cos(2 pi (u t / T + v c / C)). Every token reaches every other, in T C log(T C) steps, and nothing "
           "is learnt but the layers around it.");
    if (!draw_texts(r, 1 << 20, BATCH * r->steps, &train) || !draw_texts(r, 1, TESTS, &tests)) return;
    lesson_say(
        r,
        "Two tasks on texts of %d tokens, each a letter with a digit beside it, behind a letter alone: which "
        "digit is most frequent, and which stood beside that letter? One layer of each kind, width %d, %lld steps:",
        NOTES, WIDTH, (long long)r->steps);
    for (int kind = 0; kind < KINDS; kind++)
        for (int task = 0; task < TASKS; task++)
            if (!try_kind(r, kind, task, &train, &tests, &o[kind][task])) return;
    print_outcomes(r, &tests, (const struct outcome(*)[TASKS])o);
    const float *const wave = waves(r), *const maps = o[ATTENTION][BESIDE].maps;
    if (!wave || !maps) return;
    show_maps(r, &tests, wave, maps);
    draw(r, &tests, wave, maps);
    lesson_say(
        r, "What holds for the text as a whole survives a fixed mixing: a sum of all tokens counts digits. Finding one "
           "token by what another says does not: the first row of attention's matrix, the question's, points at its "
           "letter, at another place in every text, while the waves stay where they are. Deep FNets recover part of "
           "it through their feed-forward layers; the paper reports 92 to 97 %% of BERT's accuracy on GLUE.");
}

const struct lesson fnet_lesson = {
    .name = "fnet",
    .summary = "a Fourier transform in place of attention: what fixed mixing can and cannot do",
    .run = run,
    .steps = STEPS,
};
