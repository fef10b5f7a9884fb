/* Universal approximation (Cybenko 1989; Hornik, Stinchcombe and White 1989). A step function with n steps is a network
 * with n hidden nodes, built here by hand from steep sigmoids; beside it a network of the same size that is trained.
 * The error of both against n. Follows Schönhuth, Bielefeld 2023. */
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>

enum { GRID = 501, SIZES = 9, TRAINED = 6, STEPS = 1500 };
#define LOW   0.0
#define HIGH  5.0
#define SHARP 60.0 /* the sigmoids rise within about a tenth of a step's width */

static double target(double x) { return 2 * sin(x) + pow(x, 0.8); }

struct network {
    heed_params *params;
    heed_mlp mlp;
};

static bool network_open(heed_ctx *cx, int64_t n, heed_activation act, uint64_t seed, struct network *net) {
    net->params = heed_params_new(cx);
    heed_mlp_make(cx, net->params, "layers", (int64_t[]){1, n, 1}, 2, act, 0, &net->mlp);
    heed_params_allocate(cx, net->params);
    return heed_params_init(cx, net->params, seed);
}

/* Node k fires from the left end of piece k on, and adds what piece k has more than the one before: so the output on
 * piece k is the target in its middle. */
static void build_steps(const struct network *net, int64_t n) {
    const heed_linear_layer *hidden = &net->mlp.layer[0], *output = &net->mlp.layer[1];
    const double piece = (HIGH - LOW) / (double)n, steep = SHARP / piece;
    double before = 0;
    for (int64_t k = 0; k < n; k++) {
        const double edge = LOW + piece * (double)k - (k == 0 ? piece : 0); /* the first node fires everywhere */
        const double height = target(LOW + piece * ((double)k + 0.5));
        hidden->weight->value[k] = (float)steep;
        hidden->bias->value[k] = (float)(-steep * edge);
        output->weight->value[k] = (float)(height - before);
        before = height;
    }
    output->bias->value[0] = 0;
}

/* Bends spread over the whole interval, as the inputs are: each tanh crosses 0 somewhere in it. */
static void spread_bends(const struct network *net, int64_t n, uint64_t seed) {
    const heed_linear_layer *hidden = &net->mlp.layer[0];
    for (int64_t k = 0; k < n; k++) {
        float u[2];
        heed_random_uniform(seed, 1000, (uint64_t)(2 * k), u, 2);
        const double slope = (u[0] < 0.5f ? -1 : 1) * (0.5 + 1.5 * fabs(2 * (double)u[0] - 1));
        hidden->weight->value[k] = (float)slope;
        hidden->bias->value[k] = (float)(-slope * (LOW + (HIGH - LOW) * ((double)k + (double)u[1]) / (double)n));
    }
}

static void train(struct lesson_run *r, const struct network *net, const float *x, const float *y) {
    heed_ctx *cx = r->cx;
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM},
                                    .schedule = {.kind = HEED_COSINE, .lr = 0.03, .steps = r->steps}};
    heed_trainer *trainer = heed_trainer_new(cx, net->params, &opts);
    for (int64_t step = 0; step < r->steps && !heed_failed(cx); step++) {
        heed_trainer_begin(cx, trainer);
        heed_tensor *out = heed_mlp_run(cx, &net->mlp, heed_borrow(cx, HEED_F32, x, 2, (int64_t[]){GRID, 1}, NULL));
        heed_tensor *wanted = heed_borrow(cx, HEED_F32, y, 2, (int64_t[]){GRID, 1}, NULL);
        lesson_learn(cx, trainer, heed_mse_loss(cx, out, wanted, HEED_REDUCE_MEAN));
    }
    heed_trainer_free(cx, trainer);
}

static bool answers_of(heed_ctx *cx, const struct network *net, const float *x, float *out) {
    const bool recording = heed_set_grad(cx, false);
    heed_tensor *y = heed_mlp_run(cx, &net->mlp, heed_borrow(cx, HEED_F32, x, 2, (int64_t[]){GRID, 1}, NULL));
    heed_copy_f32(cx, y, out, GRID);
    heed_reset(cx);
    heed_set_grad(cx, recording);
    return !heed_failed(cx);
}

struct results {
    float x[GRID], y[GRID];                          /* the target */
    float steps[SIZES][GRID], learnt[TRAINED][GRID]; /* what the networks make of it */
    float nodes[SIZES], steps_error[SIZES], learnt_error[TRAINED];
};

static float error_of(const float *a, const float *b) {
    double sum = 0;
    for (int i = 0; i < GRID; i++) sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return (float)sqrt(sum / GRID);
}

static void compute(struct lesson_run *r, struct results *s) {
    for (int k = 0; k < SIZES; k++) {
        const int64_t n = (int64_t)1 << k;
        struct network net;
        s->nodes[k] = (float)n;
        if (network_open(r->cx, n, HEED_ACT_SIGMOID, r->seed, &net)) {
            build_steps(&net, n);
            answers_of(r->cx, &net, s->x, s->steps[k]);
            s->steps_error[k] = error_of(s->steps[k], s->y);
        }
        heed_params_free(r->cx, net.params);
        if (k < TRAINED && network_open(r->cx, n, HEED_ACT_TANH, r->seed, &net)) {
            lesson_progress(r, "training networks", k, TRAINED);
            spread_bends(&net, n, r->seed);
            train(r, &net, s->x, s->y);
            answers_of(r->cx, &net, s->x, s->learnt[k]);
            s->learnt_error[k] = error_of(s->learnt[k], s->y);
            heed_params_free(r->cx, net.params);
        }
        if (heed_failed(r->cx)) return;
        char learnt[32] = "             -";
        if (k < TRAINED) snprintf(learnt, sizeof learnt, "%14.5f", (double)s->learnt_error[k]);
        lesson_progress(r, "training networks", TRAINED, TRAINED);
        lesson_line(r, "%12lld %14.5f %s", (long long)n, (double)s->steps_error[k], learnt);
    }
}

/* ---- pictures ---- */

static void draw_fit(heed_figure *f, int column, const char *title, const struct results *s, const float *fit,
                     heed_color color) {
    heed_panel *p = heed_figure_panel(f, 0, column);
    heed_panel_title(p, title);
    heed_panel_labels(p, "x", column == 0 ? "y" : NULL);
    heed_panel_curve(p, s->x, s->y, GRID, &(heed_style){.label = "target", .color = HEED_COLOR_BLUE, .width = 2});
    heed_panel_curve(p, s->x, fit, GRID, &(heed_style){.label = "network", .color = color, .width = 1.5});
}

static void draw_network(struct lesson_run *r) {
    enum { NODES = 8 };
    struct network net;
    if (network_open(r->cx, NODES, HEED_ACT_SIGMOID, r->seed, &net)) {
        build_steps(&net, NODES);
        heed_figure *f = lesson_figure(r, 420, 320);
        heed_panel *p = heed_figure_panel(f, 0, 0);
        heed_panel_title(p, "8 steps, 8 hidden nodes: what each adds");
        float in[NODES]; /* all equal, and far larger than those out: drawn as one of these */
        for (int k = 0; k < NODES; k++) in[k] = 1;
        heed_panel_network(p, (int[]){1, NODES, 1}, 3, (const float *[]){in, net.mlp.layer[1].weight->value},
                           &(heed_network){.layer_names = (const char *[]){"input", "steep sigmoids", "output"},
                                           .input_names = (const char *[]){"x"},
                                           .output_names = (const char *[]){"f(x)"}});
        lesson_picture(r, f, "universal-approximation-network");
    }
    heed_params_free(r->cx, net.params);
}

static void draw(struct lesson_run *r, const struct results *s) {
    const heed_series fits[] = {{"the target", s->x, s->y, GRID, false}, {"8 steps", s->x, s->steps[3], GRID, false}};
    lesson_show(r, heed_terminal_curves(r->cx, fits, 2, &(heed_axes){.x_label = "x", .y_label = "y"}, &r->terminal));
    const heed_series errors[] = {{"built", s->nodes, s->steps_error, SIZES, false},
                                  {"trained", s->nodes, s->learnt_error, TRAINED, false}};
    lesson_show(r, heed_terminal_curves(
                       r->cx, errors, 2,
                       &(heed_axes){.x_label = "hidden nodes", .y_label = "error", .log_x = true, .log_y = true},
                       &r->terminal));
    heed_figure *f = lesson_figure(r, 780, 270);
    heed_figure_grid(f, 1, 3);
    draw_fit(f, 0, "Built: 8 nodes, 8 steps", s, s->steps[3], HEED_COLOR_ORANGE);
    draw_fit(f, 1, "Built: 32 nodes, 32 steps", s, s->steps[5], HEED_COLOR_ORANGE);
    draw_fit(f, 2, "Trained: 4 nodes (tanh)", s, s->learnt[2], HEED_COLOR_PINK);
    lesson_picture(r, f, "universal-approximation");
    f = lesson_figure(r, 430, 310);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Error against the number of hidden nodes");
    heed_panel_labels(p, "hidden nodes", "root mean square error");
    heed_panel_log(p, true, true);
    heed_panel_curve(
        p, s->nodes, s->steps_error, SIZES,
        &(heed_style){.label = "built from steps", .color = HEED_COLOR_ORANGE, .marker = HEED_MARKER_DISC});
    heed_panel_curve(p, s->nodes, s->learnt_error, TRAINED,
                     &(heed_style){.label = "trained", .color = HEED_COLOR_PINK, .marker = HEED_MARKER_SQUARE});
    lesson_picture(r, f, "universal-approximation-error");
    draw_network(r);
}

static void write(struct lesson_run *r, const struct results *s) {
    float learnt[SIZES];
    for (int k = 0; k < SIZES; k++) learnt[k] = k < TRAINED ? s->learnt_error[k] : NAN;
    lesson_table(r, "universal-approximation-error",
                 (heed_table_column[]){{.name = "hidden_nodes", .f32 = s->nodes},
                                       {.name = "built", .f32 = s->steps_error},
                                       {.name = "trained", .f32 = learnt}},
                 3, SIZES);
    lesson_table(r, "universal-approximation",
                 (heed_table_column[]){{.name = "x", .f32 = s->x},
                                       {.name = "target", .f32 = s->y},
                                       {.name = "built_8", .f32 = s->steps[3]},
                                       {.name = "built_32", .f32 = s->steps[5]},
                                       {.name = "trained_4", .f32 = s->learnt[2]},
                                       {.name = "trained_32", .f32 = s->learnt[5]}},
                 6, GRID);
}

/* How many steps the staircase needs to err as little as a trained network of four nodes does. */
static void conclude(struct lesson_run *r, const struct results *s, double slope) {
    int steps = 2, worse = 0;
    while (steps < SIZES - 1 && s->steps_error[steps] > s->learnt_error[2]) steps++;
    for (int k = 1; k < TRAINED; k++)
        if (s->learnt_error[k] > s->learnt_error[k - 1]) worse = k;
    lesson_say(r,
               "Twice as many steps, half the error: on logarithmic axes the staircase is a line of slope %.2f. The "
               "trained network of 4 nodes errs by %.3f, for which the staircase needs %s%.0f nodes.",
               slope, (double)s->learnt_error[2], s->steps_error[steps] > s->learnt_error[2] ? "more than " : "",
               (double)s->nodes[steps]);
    if (worse)
        lesson_say(r, "Training need not find the best network: with %.0f nodes it errs more than with %.0f.",
                   (double)s->nodes[worse], (double)s->nodes[worse - 1]);
}

static void run(struct lesson_run *r) {
    struct results *s = lesson_room(r, 1, sizeof *s);
    if (!s) return;
    for (int i = 0; i < GRID; i++) {
        s->x[i] = (float)(LOW + (HIGH - LOW) * i / (GRID - 1));
        s->y[i] = (float)target((double)s->x[i]);
    }
    lesson_say(r,
               "One hidden layer that is wide enough approximates any continuous function on an interval as closely as "
               "you like (Cybenko 1989). The proof can be built: a hidden node that is a steep sigmoid is a step, and "
               "n of them make "
               "a staircase of n steps. Here the function is 2 sin x + x^0.8 on [0, 5]; node k fires from the left "
               "end of piece k on and adds the difference between that piece and the one before. Nothing is trained.");
    lesson_say(
        r,
        "Beside it: a network with as many hidden nodes (tanh) that is trained, %lld steps of Adam. It places "
        "its bends where they are needed. It is not trained with more than %d nodes. Root mean square error of both:",
        (long long)r->steps, 1 << (TRAINED - 1));
    lesson_line(r, "%12s %14s %14s", "hidden nodes", "built", "trained");
    compute(r, s);
    lesson_line(r, "%s", "");
    if (heed_failed(r->cx)) return;
    const double slope = log2((double)s->steps_error[SIZES - 1] / (double)s->steps_error[3]) / (SIZES - 4);
    lesson_result(r, "built_8", (double)s->steps_error[3]);
    lesson_result(r, "built_256", (double)s->steps_error[SIZES - 1]);
    lesson_result(r, "trained_8", (double)s->learnt_error[3]);
    lesson_result(r, "slope", slope);
    draw(r, s);
    write(r, s);
    conclude(r, s, slope);
}

const struct lesson approximation_lesson = {
    .name = "universal-approximation",
    .summary = "n steps need n hidden nodes: built by hand, and trained; error against n",
    .run = run,
    .steps = STEPS,
};
