/* Attention through a few latents (Jaegle et al. 2021, 2022): T tokens are read by N vectors, and T queries read those.
 * The product of the two matrices of weights, (T,N) and (N,T), is what stands in for one of T x T; its rank is at most
 * N. The task needs a rank of T: to say a sequence backwards. */
#include "heed/model.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>

enum { TIME = 16, SYMBOLS = 10, BATCH = 32, TESTS = 256, SIZES = 5, POINTS = 50 };
static const int sizes[SIZES] = {1, 2, 4, 8, 16}; /* N */

struct network {
    const char *name;
    float loss[POINTS];
    double right;    /* share of tokens */
    float *weights;  /* (T,T): of attention, or through the latents */
    int64_t numbers; /* of weights, in all heads */
};

/* ---- the task ---- */

static bool put_batch(struct lesson_run *r, int64_t first, int n, heed_io *in) {
    int32_t ids[TESTS * TIME], backwards[TESTS * TIME];
    const int64_t shape[] = {n, TIME};
    for (int i = 0; i < n * TIME; i++)
        ids[i] = (int32_t)(heed_random_bits(r->seed, 7, (uint64_t)(first * TIME + i)) % SYMBOLS);
    for (int i = 0; i < n * TIME; i++) backwards[i] = ids[i / TIME * TIME + TIME - 1 - i % TIME];
    return heed_io_put(r->cx, in, "input_ids", heed_from_i32(r->cx, ids, 2, shape)) &&
           heed_io_put(r->cx, in, "labels", heed_from_i32(r->cx, backwards, 2, shape));
}

static bool learn(struct lesson_run *r, heed_model *m, struct network *net) {
    heed_ctx *cx = r->cx;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM},
                                    .schedule = {.kind = HEED_LINEAR, .lr = 0.008, .warmup = 20, .steps = r->steps},
                                    .clip = 1};
    heed_trainer *const t = heed_trainer_new(cx, heed_model_params(m), &opts);
    int64_t counts[POINTS] = {0};
    for (int64_t step = 0; t && step < r->steps && !heed_failed(cx); step++) {
        heed_io in = {.loss_only = true}, out = {0};
        heed_trainer_begin(cx, t);
        if (!put_batch(r, (1 + step) * TESTS, BATCH, &in) || !heed_model_forward(cx, m, &in, &out)) break;
        net->loss[step * POINTS / r->steps] += lesson_learn(cx, t, heed_io_get(&out, "loss"));
        counts[step * POINTS / r->steps]++;
        if (step % 32 == 0) lesson_progress(r, net->name, step, r->steps);
    }
    for (int i = 0; i < POINTS; i++) net->loss[i] /= (float)(counts[i] ? counts[i] : 1);
    heed_trainer_free(cx, t);
    lesson_progress(r, "", 1, 1);
    return !heed_failed(cx);
}

/* ---- what it does, and what it looks at ---- */

/* The mean over examples and heads of a map: (rows,keys) */
static float *mean_map(struct lesson_run *r, const heed_capture_map *map) {
    const int64_t n = map->rows * map->keys, of = map->batch * map->heads;
    float *const mean = lesson_room(r, n, sizeof *mean);
    for (int64_t i = 0; mean && i < of * n; i++) mean[i % n] += map->weights[i] / (float)of;
    return mean;
}

/* Attention itself, or (T,N) times (N,T). */
static bool keep_map(struct lesson_run *r, struct network *net) {
    heed_ctx *cx = r->cx;
    const heed_capture_map *const first = heed_capture_at(cx, 0), *const last = heed_capture_at(cx, 1);
    if (!first) return false;
    net->numbers = first->heads * first->rows * first->keys;
    net->weights = mean_map(r, first);
    if (!last || !net->weights) return net->weights;
    const int64_t N = first->rows;
    const float *const read = net->weights, *const said = mean_map(r, last);
    net->numbers += last->heads * last->rows * last->keys;
    net->weights = lesson_room(r, (int64_t)TIME * TIME, sizeof *net->weights);
    if (!said || !net->weights) return false;
    for (int i = 0; i < TIME; i++)
        for (int64_t k = 0; k < N; k++)
            for (int j = 0; j < TIME; j++) net->weights[i * TIME + j] += said[i * N + k] * read[k * TIME + j];
    return true;
}

static bool look(struct lesson_run *r, const heed_model *m, struct network *net) {
    heed_ctx *cx = r->cx;
    heed_io in = {0}, out = {0};
    int64_t right = 0;
    heed_set_grad(cx, false);
    heed_capture_begin(cx, NULL);
    if (put_batch(r, 0, TESTS, &in) && heed_model_forward(cx, m, &in, &out) && keep_map(r, net)) {
        heed_tensor *const logits = heed_contiguous(cx, heed_io_get(&out, "logits"));
        const float *const x = heed_f32(logits);
        const int32_t *const want = heed_i32(heed_io_get(&in, "labels"));
        for (int i = 0; x && want && i < TESTS * TIME; i++)
            right += lesson_winner(x + i * heed_dim(logits, 2), SYMBOLS) == want[i];
    }
    net->right = (double)right / (TESTS * TIME);
    heed_capture_end(cx);
    heed_reset(cx);
    heed_set_grad(cx, true);
    return !heed_failed(cx);
}

static bool try_network(struct lesson_run *r, const char *family, const char *const *settings, int n,
                        struct network *net) {
    const heed_family *const f = heed_family_find(family);
    heed_model *const m = heed_model_new_as(r->cx, f, heed_head_for(f, "mlm"), settings, n, r->seed);
    const bool ok = m && learn(r, m, net) && look(r, m, net);
    heed_model_free(r->cx, m);
    return ok && !heed_failed(r->cx);
}

static bool try_exact(struct lesson_run *r, struct network *net) {
    static const char *const settings[] = {"vocab_size=10",         "hidden_size=32",
                                           "num_hidden_layers=1",   "num_attention_heads=1",
                                           "intermediate_size=32",  "max_position_embeddings=16",
                                           "hidden_dropout_prob=0", "attention_probs_dropout_prob=0",
                                           "initializer_range=0.1"};
    return try_network(r, "sparse", settings, 9, net); /* which without a window is exact attention */
}

static bool try_latents(struct lesson_run *r, int latents, struct network *net) {
    char number[32];
    snprintf(number, sizeof number, "num_latents=%d", latents);
    const char *const settings[] = {number,
                                    "vocab_size=10",
                                    "d_model=32",
                                    "d_latents=32",
                                    "num_self_attends_per_block=0",
                                    "num_self_attention_heads=1",
                                    "num_cross_attention_heads=1",
                                    "decoder_qk_channels=64",
                                    "max_position_embeddings=16",
                                    "attention_probs_dropout_prob=0",
                                    "initializer_range=0.1"};
    return try_network(r, "perceiver", settings, 11, net);
}

/* ---- pictures ---- */

static void draw(struct lesson_run *r, const struct network *exact, const struct network *net) {
    static const int shown[] = {1, 3, 4}; /* of the sizes */
    char title[80];
    heed_figure *f = lesson_figure(r, 860, 260);
    heed_figure_grid(f, 1, 4);
    heed_figure_bar(f, "weight");
    for (int i = 0; i < 4; i++) {
        const struct network *const of = i == 0 ? exact : &net[shown[i - 1]];
        heed_panel *const p = heed_figure_panel(f, 0, i);
        if (i == 0)
            snprintf(title, sizeof title, "Exact: %.0f %% right", 100 * of->right);
        else
            snprintf(title, sizeof title, "%d latents: %.0f %% right", sizes[shown[i - 1]], 100 * of->right);
        heed_panel_title(p, title);
        heed_panel_labels(p, "token read", i == 0 ? "token said" : NULL);
        heed_panel_heatmap(p, of->weights, TIME, TIME, &(heed_heatmap){.low = 0, .high = 1, .weights = true});
    }
    lesson_picture(r, f, "perceiver");
}

static void draw_latents(struct lesson_run *r, const struct network *exact, const struct network *net) {
    float x[SIZES], y[SIZES];
    for (int i = 0; i < SIZES; i++) x[i] = (float)sizes[i], y[i] = (float)(100 * net[i].right);
    const heed_series series = {"right, of 100", x, y, SIZES, false};
    heed_terminal how = r->terminal;
    how.height = 8;
    lesson_show(r, heed_terminal_curves(r->cx, &series, 1, &(heed_axes){.x_label = "latents, N", .log_x = true}, &how));
    heed_figure *f = lesson_figure(r, 430, 260);
    heed_panel *const p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Fewer latents than tokens: some are lost");
    heed_panel_labels(p, "latents, N", "tokens right, %");
    heed_panel_log(p, true, false);
    heed_panel_limits_y(p, 0, 105);
    heed_panel_curve(p, x, y, SIZES,
                     &(heed_style){.label = "Perceiver", .marker = HEED_MARKER_DISC, .width = 2, .size = 7});
    heed_panel_hline(p, 100 * exact->right,
                     &(heed_style){.label = "exact attention", .color = HEED_COLOR_ORANGE, .dash = HEED_DASH_LONG});
    heed_panel_hline(p, 100.0 / SYMBOLS,
                     &(heed_style){.label = "guessing", .color = HEED_COLOR_GREY, .dash = HEED_DASH_DOTS});
    lesson_picture(r, f, "perceiver-latents");
}

static void write(struct lesson_run *r, const struct network *exact, const struct network *net) {
    enum { CELLS = TIME * TIME };
    float said[CELLS], read[CELLS], n[SIZES], right[SIZES], weights[SIZES];
    for (int i = 0; i < CELLS; i++) said[i] = (float)(i / TIME), read[i] = (float)(i % TIME);
    for (int i = 0; i < SIZES; i++)
        n[i] = (float)sizes[i], right[i] = (float)net[i].right, weights[i] = (float)net[i].numbers;
    lesson_table(r, "perceiver",
                 (heed_table_column[]){{.name = "said", .f32 = said},
                                       {.name = "read", .f32 = read},
                                       {.name = "exact", .f32 = exact->weights},
                                       {.name = "latents_2", .f32 = net[1].weights},
                                       {.name = "latents_8", .f32 = net[3].weights},
                                       {.name = "latents_16", .f32 = net[4].weights}},
                 6, CELLS);
    lesson_table(r, "perceiver-latents",
                 (heed_table_column[]){{.name = "latents", .f32 = n},
                                       {.name = "right", .f32 = right},
                                       {.name = "weights", .f32 = weights}},
                 3, SIZES);
}

/* ---- the lesson ---- */

static void run(struct lesson_run *r) {
    struct network exact = {.name = "exact"}, net[SIZES] = {{.name = NULL}};
    lesson_say(r,
               "Exact attention lets each of T tokens look at all T: T x T weights. Perceiver puts N latent vectors in "
               "between, which are parameters. They look at the tokens, N x T weights, and then every place of the "
               "output looks at them, T x N. Nothing is quadratic in T; but all that is said must pass through N "
               "vectors. The task that hurts most: say %d tokens of %d kinds backwards. Place i must hear of token "
               "%d - i and of no other, a matrix of rank %d, and a product of (T,N) and (N,T) has rank N at most.",
               TIME, SYMBOLS, TIME - 1, TIME);
    if (!try_exact(r, &exact)) return;
    lesson_line(r, "%-16s %14s %16s", "", "tokens right", "rank at most");
    lesson_line(r, "%-16s %12.1f %% %16d", "exact attention", 100 * exact.right, TIME);
    lesson_result(r, "exact", exact.right);
    for (int i = 0; i < SIZES; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d latent%s", sizes[i], sizes[i] == 1 ? "" : "s");
        net[i].name = lesson_text(r, name, 0);
        if (!net[i].name || !try_latents(r, sizes[i], &net[i])) return;
        lesson_line(r, "%-16s %12.1f %% %16d", name, 100 * net[i].right, sizes[i]);
        snprintf(name, sizeof name, "latents_%d", sizes[i]);
        lesson_result(r, name, net[i].right);
    }
    lesson_line(r, "\n");
    draw_latents(r, &exact, net);
    draw(r, &exact, net);
    write(r, &exact, net);
    const double last = 100 * net[SIZES - 1].right;
    lesson_say(r,
               "Where tokens share a latent, several places hear the same mixture of them and cannot tell which is "
               "theirs: the squares off the line. %d latents have the rank for all, and get %.0f %% in %lld steps%s.",
               sizes[SIZES - 1], last, (long long)r->steps,
               last < 99 ? ": what is missing was lost in learning, not in rank" : "");
    lesson_say(r, "What this buys: at T = 50,000 pixels and 512 latents, 50 million weights instead of 2.5 billion, "
                  "and layers after the first cost nothing more when T grows. Real inputs help: neighbouring pixels, "
                  "and letters of a text, say much about each other, so that a few hundred latents can be enough.");
}

const struct lesson perceiver_lesson = {
    .name = "perceiver",
    .summary = "attention through a few latents: what fits through them",
    .steps = 250,
    .run = run,
};
