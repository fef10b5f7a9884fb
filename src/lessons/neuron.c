/* One neuron, a(w'x + b). With the identity it is linear regression, trained here by gradient descent beside the
 * exact solution; with the step function it is the perceptron (Rosenblatt 1958), trained by its own rule. */
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 40, STEPS = 40, CLASS_POINTS = 60, MAX_PASSES = 1000, PATH = 4096 };

struct line {
    double slope, intercept, loss; /* loss: mean squared error */
};

/* A column as the neuron is given it, (v - mean) / deviation, so that one learning rate suits any data. */
struct column {
    int64_t n;
    double *value, mean, std;
    float *standard;
    const char *name; /* of its axis; NULL: x or y */
};

static const char *axis_of(const struct column *c, const char *otherwise) { return c->name ? c->name : otherwise; }

static bool column_measure(struct lesson_run *r, struct column *c, const char *what) {
    double square = 0;
    c->mean = 0;
    for (int64_t i = 0; i < c->n; i++) c->mean += c->value[i] / (double)c->n;
    for (int64_t i = 0; i < c->n; i++) square += (c->value[i] - c->mean) * (c->value[i] - c->mean) / (double)c->n;
    c->std = sqrt(square);
    if (!(c->std > 0) || !isfinite(c->std))
        return heed_fail(r->cx, HEED_ERR_RANGE, "%s: %s is the same in all rows", r->data ? r->data : "neuron", what);
    c->standard = lesson_room(r, c->n, sizeof *c->standard);
    for (int64_t i = 0; c->standard && i < c->n; i++) c->standard[i] = (float)((c->value[i] - c->mean) / c->std);
    return c->standard;
}

static double loss_of(const struct column *x, const struct column *y, double slope, double intercept) {
    double sum = 0;
    for (int64_t i = 0; i < x->n; i++) {
        const double e = slope * x->value[i] + intercept - y->value[i];
        sum += e * e;
    }
    return sum / (double)x->n;
}

/* ---- regression ---- */

static struct line exact_line(const struct column *x, const struct column *y) {
    double xy = 0;
    for (int64_t i = 0; i < x->n; i++) xy += (x->value[i] - x->mean) * (y->value[i] - y->mean);
    struct line line = {.slope = xy / ((double)x->n * x->std * x->std)};
    line.intercept = y->mean - line.slope * x->mean;
    line.loss = loss_of(x, y, line.slope, line.intercept);
    return line;
}

/* The line of the units that the data came in, from the neuron's own. */
static struct line line_of(const struct column *x, const struct column *y, const heed_linear_layer *neuron) {
    struct line line = {.slope = (double)*neuron->weight->value * y->std / x->std};
    line.intercept = y->mean + (double)*neuron->bias->value * y->std - line.slope * x->mean;
    line.loss = loss_of(x, y, line.slope, line.intercept);
    return line;
}

/* Gradient descent on the mean squared error of a linear neuron. path[s]: the line before step s. */
static void train_line(struct lesson_run *r, const struct column *x, const struct column *y, struct line *path) {
    heed_ctx *cx = r->cx;
    heed_params *params = heed_params_new(cx);
    heed_linear_layer neuron;
    heed_linear_make(cx, params, "neuron", 1, 1, true, &neuron);
    heed_params_allocate(cx, params);
    heed_params_init(cx, params, r->seed);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_SGD}, .schedule = {.kind = HEED_CONSTANT, .lr = 0.2}};
    heed_trainer *trainer = heed_trainer_new(cx, params, &opts);
    for (int step = 0; step <= STEPS && !heed_failed(cx); step++) {
        path[step] = line_of(x, y, &neuron);
        heed_trainer_begin(cx, trainer);
        heed_tensor *inputs = heed_borrow(cx, HEED_F32, x->standard, 2, (int64_t[]){x->n, 1}, NULL);
        heed_tensor *wanted = heed_borrow(cx, HEED_F32, y->standard, 2, (int64_t[]){y->n, 1}, NULL);
        heed_tensor *out = heed_linear_run(cx, &neuron, inputs, HEED_ACT_NONE);
        lesson_learn(cx, trainer, heed_mse_loss(cx, out, wanted, HEED_REDUCE_MEAN));
    }
    heed_trainer_free(cx, trainer);
    heed_params_free(cx, params);
}

static void draw_regression(struct lesson_run *r, const struct column *x, const struct column *y,
                            const struct line *path, const struct line *exact) {
    double low = x->value[0], high = low;
    for (int64_t i = 1; i < x->n; i++) low = fmin(low, x->value[i]), high = fmax(high, x->value[i]);
    const float ends[2] = {(float)low, (float)high};
    static const int shown[] = {0, 1, 2, 4, STEPS};
    float lines[5][2], loss[STEPS + 1];
    for (int k = 0; k < 5; k++)
        for (int e = 0; e < 2; e++)
            lines[k][e] = (float)(path[shown[k]].slope * (double)ends[e] + path[shown[k]].intercept);
    for (int s = 0; s <= STEPS; s++) loss[s] = (float)(path[s].loss - exact->loss); /* what is left to gain */
    float *px = lesson_floats(r, x->value, x->n), *py = lesson_floats(r, y->value, y->n);
    if (!px || !py) return;
    lesson_show(
        r, heed_terminal_curves(r->cx,
                                (heed_series[]){{.label = "data", .x = px, .y = py, .n = x->n, .points = true},
                                                {.label = "the neuron's line", .x = ends, .y = lines[4], .n = 2}},
                                2, &(heed_axes){.x_label = axis_of(x, "x"), .y_label = axis_of(y, "y")}, &r->terminal));
    heed_figure *f = lesson_figure(r, 640, 290);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "A linear neuron finds the line");
    heed_panel_labels(p, axis_of(x, "x"), axis_of(y, "y"));
    heed_panel_scatter(p, px, py, x->n, &(heed_style){.label = "data", .color = HEED_COLOR_BLUE});
    for (int k = 0; k < 4; k++)
        heed_panel_curve(p, ends, lines[k], 2,
                         &(heed_style){.color = HEED_COLOR_GREY,
                                       .dash = HEED_DASH_LONG,
                                       .width = 1,
                                       .alpha = 0.35 + 0.15 * k,
                                       .label = k == 3 ? "after 0, 1, 2, 4 steps" : NULL});
    heed_panel_curve(p, ends, lines[4], 2,
                     &(heed_style){.label = "after 40 steps", .color = HEED_COLOR_ORANGE, .width = 2});
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "What is left to gain falls steadily");
    heed_panel_labels(p, "step", "error beyond the exact solution's");
    heed_panel_log(p, false, true);
    heed_panel_curve(p, NULL, loss, STEPS + 1,
                     &(heed_style){.color = HEED_COLOR_ORANGE, .marker = HEED_MARKER_DISC, .size = 3});
    lesson_picture(r, f, "neuron-regression");
}

static void write_regression(struct lesson_run *r, const struct column *x, const struct column *y,
                             const struct line *path, const struct line *exact) {
    double fit[2][STEPS + 1], steps[STEPS + 1], loss[STEPS + 1];
    double *neuron = lesson_room(r, x->n, sizeof *neuron), *best = lesson_room(r, x->n, sizeof *best);
    if (!neuron || !best) return;
    for (int64_t i = 0; i < x->n; i++) {
        neuron[i] = path[STEPS].slope * x->value[i] + path[STEPS].intercept;
        best[i] = exact->slope * x->value[i] + exact->intercept;
    }
    for (int s = 0; s <= STEPS; s++)
        steps[s] = s, fit[0][s] = path[s].slope, fit[1][s] = path[s].intercept, loss[s] = path[s].loss;
    lesson_table(r, "neuron-regression",
                 (heed_table_column[]){{.name = "x", .f64 = x->value},
                                       {.name = "y", .f64 = y->value},
                                       {.name = "neuron", .f64 = neuron},
                                       {.name = "exact", .f64 = best}},
                 4, x->n);
    lesson_table(r, "neuron-steps",
                 (heed_table_column[]){{.name = "step", .f64 = steps},
                                       {.name = "w", .f64 = fit[0]},
                                       {.name = "b", .f64 = fit[1]},
                                       {.name = "mean_squared_error", .f64 = loss}},
                 4, STEPS + 1);
}

static void regression(struct lesson_run *r, struct column *x, struct column *y) {
    struct line path[STEPS + 1] = {{0, 0, 0}};
    if (!column_measure(r, x, axis_of(x, "x")) || !column_measure(r, y, axis_of(y, "y"))) return;
    lesson_say(r,
               "Linear regression is a neuron whose activation is the identity: y = w x + b. Gradient descent moves w "
               "and b a little down the slope of the mean squared error, %d times; the exact solution (least "
               "squares) comes from a formula. The two agree.",
               STEPS);
    const struct line exact = exact_line(x, y);
    train_line(r, x, y, path);
    if (heed_failed(r->cx)) return;
    lesson_line(r, "%-20s %12s %12s %14s", "", "w", "b", "squared error");
    static const int shown[] = {0, 1, 2, 4, 8, STEPS};
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
        const struct line *at = &path[shown[k]];
        lesson_line(r, "after %2d step%-7s %12.6g %12.6g %14.6g", shown[k], shown[k] == 1 ? "" : "s", at->slope,
                    at->intercept, at->loss);
    }
    lesson_line(r, "%-20s %12.6g %12.6g %14.6g\n", "exact", exact.slope, exact.intercept, exact.loss);
    const struct line *last = &path[STEPS];
    const double scale = y->std / x->std;
    const double difference = fmax(fabs(last->slope - exact.slope) / scale,
                                   fabs(last->intercept - exact.intercept) / (y->std + scale * fabs(x->mean)));
    lesson_say(r, "Largest difference from the exact w and b, in units of the data's spread: %.1e.", difference);
    lesson_result(r, "w", last->slope);
    lesson_result(r, "b", last->intercept);
    lesson_result(r, "exact_w", exact.slope);
    lesson_result(r, "exact_b", exact.intercept);
    lesson_result(r, "difference", difference);
    draw_regression(r, x, y, path, &exact);
    write_regression(r, x, y, path, &exact);
}

/* ---- the perceptron ---- */

struct classes {
    struct column x[2];
    int *label; /* 0 or 1 */
    const char *name[2];
};

/* Standardised inputs with a constant 1, so that w holds the bias too. */
static void input_of(const struct classes *c, int64_t i, double z[3]) {
    z[0] = (double)c->x[0].standard[i], z[1] = (double)c->x[1].standard[i], z[2] = 1;
}

static double product(const double w[3], const double z[3]) { return w[0] * z[0] + w[1] * z[1] + w[2] * z[2]; }
static int fires(const double w[3], const double z[3]) { return product(w, z) >= 0; }

/* The same line in the units of the data. */
static void in_units(const struct classes *c, const double w[3], double out[3]) {
    out[2] = w[2];
    for (int k = 0; k < 2; k++) {
        out[k] = w[k] / c->x[k].std;
        out[2] -= out[k] * c->x[k].mean;
    }
}

struct learning {
    double (*path)[3]; /* weights after each of the first PATH mistakes, then the last ones */
    double w[3];
    int64_t mistakes, passes, wrong; /* wrong: mistakes of the last pass */
};

/* Rosenblatt's rule: w += (label - output) x at every mistake. The step has no slope to descend: no gradient here. */
static void learn(const struct classes *c, struct learning *l) {
    do {
        l->wrong = 0;
        for (int64_t i = 0; i < c->x[0].n; i++) {
            double z[3];
            input_of(c, i, z);
            const int error = c->label[i] - fires(l->w, z);
            if (!error) continue;
            for (int k = 0; k < 3; k++) l->w[k] += error * z[k];
            if (l->mistakes < PATH) memcpy(l->path[l->mistakes], l->w, sizeof l->w);
            l->mistakes++, l->wrong++;
        }
        l->passes++;
    } while (l->wrong && l->passes < MAX_PASSES);
}

/* Novikoff (1962): no more than (R / margin)^2 mistakes, for any line that parts the points. */
static double novikoff(const struct classes *c, const double w[3]) {
    double margin = HUGE_VAL, radius2 = 0;
    const double norm = sqrt(product(w, w));
    for (int64_t i = 0; i < c->x[0].n; i++) {
        double z[3];
        input_of(c, i, z);
        margin = fmin(margin, (c->label[i] ? 1 : -1) * product(w, z) / norm);
        radius2 = fmax(radius2, product(z, z));
    }
    return margin > 0 ? radius2 / (margin * margin) : HUGE_VAL;
}

/* Where w'x + b = 0 crosses the frame; two ends of a line through all of it. */
static void line_ends(const double w[3], const double low[2], const double high[2], float x[2], float y[2]) {
    const int along = fabs(w[1]) * (high[1] - low[1]) > fabs(w[0]) * (high[0] - low[0]) ? 0 : 1, other = 1 - along;
    for (int e = 0; e < 2; e++) {
        const double t = e ? high[along] : low[along], s = -(w[2] + w[along] * t) / w[other];
        x[e] = (float)(along == 0 ? t : s);
        y[e] = (float)(along == 0 ? s : t);
    }
}

static void draw_classes(struct lesson_run *r, const struct classes *c, const struct learning *l) {
    const int64_t n = c->x[0].n;
    double low[2], high[2], w[3];
    for (int k = 0; k < 2; k++) {
        low[k] = high[k] = c->x[k].value[0];
        for (int64_t i = 1; i < n; i++)
            low[k] = fmin(low[k], c->x[k].value[i]), high[k] = fmax(high[k], c->x[k].value[i]);
        const double margin = 0.06 * (high[k] - low[k]);
        low[k] -= margin, high[k] += margin;
    }
    float *at[2][2], ex[2], ey[2];
    int64_t count[2] = {0, 0};
    for (int k = 0; k < 4; k++) at[k / 2][k % 2] = lesson_room(r, n, sizeof(float));
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i < n; i++) {
        const int k = c->label[i];
        at[k][0][count[k]] = (float)c->x[0].value[i];
        at[k][1][count[k]++] = (float)c->x[1].value[i];
    }
    in_units(c, l->w, w);
    line_ends(w, low, high, ex, ey);
    const heed_series series[] = {{c->name[0], at[0][0], at[0][1], count[0], true},
                                  {c->name[1], at[1][0], at[1][1], count[1], true},
                                  {"the perceptron's line", ex, ey, 2, false}};
    lesson_show(
        r, heed_terminal_curves(r->cx, series, 3,
                                &(heed_axes){.x_label = axis_of(&c->x[0], "x1"), .y_label = axis_of(&c->x[1], "x2")},
                                &r->terminal));

    high[1] += 0.3 * (high[1] - low[1]); /* room for the legend */
    line_ends(w, low, high, ex, ey);
    heed_figure *f = lesson_figure(r, 430, 380);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "The perceptron's line after its mistakes");
    heed_panel_labels(p, axis_of(&c->x[0], "x1"), axis_of(&c->x[1], "x2"));
    heed_panel_limits_x(p, low[0], high[0]);
    heed_panel_limits_y(p, low[1], high[1]);
    const int64_t shown = l->mistakes < PATH ? l->mistakes - 1 : 0, from = shown > 12 ? shown - 12 : 0;
    for (int64_t k = from; k < shown; k++) {
        float hx[2], hy[2];
        in_units(c, l->path[k], w);
        line_ends(w, low, high, hx, hy);
        heed_panel_curve(p, hx, hy, 2,
                         &(heed_style){.color = HEED_COLOR_GREY,
                                       .width = 1,
                                       .alpha = 0.15 + 0.5 * (double)(k - from + 1) / (double)(shown - from),
                                       .label = k + 1 == shown ? "after the mistakes before" : NULL});
    }
    heed_panel_scatter(p, at[0][0], at[0][1], count[0],
                       &(heed_style){.label = c->name[0], .color = HEED_COLOR_BLUE, .size = 6});
    heed_panel_scatter(
        p, at[1][0], at[1][1], count[1],
        &(heed_style){.label = c->name[1], .color = HEED_COLOR_ORANGE, .marker = HEED_MARKER_SQUARE, .size = 6});
    heed_panel_curve(p, ex, ey, 2, &(heed_style){.label = "the last line", .color = HEED_COLOR_INK, .width = 2});
    lesson_picture(r, f, "neuron-perceptron");
}

static void write_classes(struct lesson_run *r, const struct classes *c, const struct learning *l) {
    const int64_t n = c->x[0].n, kept = l->mistakes < PATH ? l->mistakes : PATH;
    double *label = lesson_room(r, n, sizeof *label), *output = lesson_room(r, n, sizeof *output);
    double *path = lesson_room(r, 4 * kept, sizeof *path);
    if (heed_failed(r->cx)) return;
    for (int64_t i = 0; i < n; i++) {
        double z[3];
        input_of(c, i, z);
        label[i] = c->label[i], output[i] = fires(l->w, z);
    }
    for (int64_t k = 0; k < kept; k++) {
        double w[3];
        in_units(c, l->path[k], w);
        path[k] = (double)(k + 1);
        for (int j = 0; j < 3; j++) path[(j + 1) * kept + k] = w[j];
    }
    lesson_table(r, "neuron-perceptron",
                 (heed_table_column[]){{.name = "x1", .f64 = c->x[0].value},
                                       {.name = "x2", .f64 = c->x[1].value},
                                       {.name = "label", .f64 = label},
                                       {.name = "output", .f64 = output}},
                 4, n);
    lesson_table(r, "neuron-mistakes",
                 (heed_table_column[]){{.name = "mistake", .f64 = path},
                                       {.name = "w1", .f64 = path + kept},
                                       {.name = "w2", .f64 = path + 2 * kept},
                                       {.name = "b", .f64 = path + 3 * kept}},
                 4, kept);
}

static void perceptron(struct lesson_run *r, struct classes *c, const double known[3]) {
    struct learning l = {.path = lesson_room(r, PATH, sizeof *l.path)};
    if (!l.path || !column_measure(r, &c->x[0], "x1") || !column_measure(r, &c->x[1], "x2")) return;
    lesson_say(r, "The perceptron is the same neuron with a step as its activation: it answers 1 when w'x + b >= 0, "
                  "else 0. A step has no slope, so it learns by a rule of its own: it goes through the points, and at "
                  "each mistake adds (label - answer) x to w and (label - answer) to b. If the two "
                  "classes are linearly separable, it stops making mistakes (Novikoff 1962).");
    learn(c, &l);
    double w[3], line[3];
    in_units(c, l.w, w);
    if (known) /* to the standardised inputs: w_k dev_k, b + sum w_k mean_k */
        for (int k = 0; k < 3; k++)
            line[k] = k < 2 ? known[k] * c->x[k].std : known[2] + known[0] * c->x[0].mean + known[1] * c->x[1].mean;
    lesson_line(r, "points                    %lld", (long long)c->x[0].n);
    lesson_line(r, "passes over the points    %lld", (long long)l.passes);
    lesson_line(r, "mistakes in all           %lld", (long long)l.mistakes);
    lesson_line(r, "mistakes in the last pass %lld", (long long)l.wrong);
    if (!l.wrong)
        lesson_line(r, "Novikoff's bound          %.0f mistakes, (radius / margin)^2 of %s line",
                    floor(novikoff(c, known ? line : l.w)), known ? "the hidden" : "the found");
    lesson_line(r, "the line                  %.4g x1 %+.4g x2 %+.4g = 0\n", w[0], w[1], w[2]);
    if (l.wrong)
        lesson_say(r,
                   "After %d passes it still makes mistakes: these points do not seem to be linearly separable, and "
                   "then the rule does not converge.",
                   MAX_PASSES);
    lesson_result(r, "passes", (double)l.passes);
    lesson_result(r, "mistakes", (double)l.mistakes);
    lesson_result(r, "wrong", (double)l.wrong);
    draw_classes(r, c, &l);
    write_classes(r, c, &l);
}

/* ---- data ---- */

static void own_points(struct lesson_run *r) {
    float u[POINTS], e[POINTS];
    double x[POINTS], y[POINTS];
    heed_random_uniform(r->seed, 0, 0, u, POINTS);
    heed_random_normal(r->seed, 1, 0, e, POINTS);
    for (int i = 0; i < POINTS; i++) {
        x[i] = 6 * (double)u[i] - 3;
        y[i] = 1.5 * x[i] - 0.7 + 0.8 * (double)e[i];
    }
    regression(r, &(struct column){.n = POINTS, .value = x}, &(struct column){.n = POINTS, .value = y});
}

/* Points of the square on both sides of a line, none nearer to it than 0.1. */
static void own_classes(struct lesson_run *r) {
    static const double hidden[3] = {0.6, 0.8, 0.15};
    double x[2][CLASS_POINTS];
    int label[CLASS_POINTS];
    uint64_t at = 0;
    for (int i = 0; i < CLASS_POINTS; at += 2) {
        float u[2];
        heed_random_uniform(r->seed, 2, at, u, 2);
        const double z[3] = {4 * (double)u[0] - 2, 4 * (double)u[1] - 2, 1}, side = product(hidden, z);
        if (fabs(side) < 0.1) continue;
        x[0][i] = z[0], x[1][i] = z[1], label[i++] = side > 0;
    }
    struct classes c = {.x = {{.n = CLASS_POINTS, .value = x[0]}, {.n = CLASS_POINTS, .value = x[1]}},
                        .label = label,
                        .name = {"class 0", "class 1"}};
    perceptron(r, &c, hidden);
}

/* Where the inputs of a column of the table begin among those of a row. */
static int64_t place_of(const heed_data *d, int64_t column) {
    int64_t at = 0;
    for (int64_t c = 0; c < column; c++) {
        char **words = d->categories ? d->categories[c] : NULL;
        for (at += !words; words && *words; words++) at++;
    }
    return at;
}

static bool read_column(struct lesson_run *r, const heed_data *d, int64_t column, struct column *c) {
    if (d->categories && d->categories[column])
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: column %lld holds text, not numbers", r->data,
                         (long long)column + 1);
    *c = (struct column){.n = d->n, .value = lesson_room(r, d->n, sizeof *c->value)};
    for (int64_t i = 0; c->value && i < d->n; i++) c->value[i] = (double)d->x[i * d->width + place_of(d, column)];
    if (d->x_names) c->name = lesson_text(r, d->x_names[column], 60);
    return c->value;
}

/* Two words or two numbers, in order; whatever they are. */
static bool read_labels(struct lesson_run *r, const heed_data *d, int64_t column, struct classes *c) {
    char **words = d->categories ? d->categories[column] : NULL;
    const float *x = d->x + place_of(d, column);
    float seen[2] = {x[0], x[0]};
    bool more = words && words[0] && words[1] && words[2];
    for (int64_t i = 0; !words && i < d->n; i++) {
        const float value = x[i * d->width];
        more = more || (seen[0] != seen[1] && value != seen[0] && value != seen[1]);
        if (seen[0] == seen[1]) seen[1] = value;
    }
    if (more) return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: the third column has more than two labels", r->data);
    if (words ? !words[1] : seen[0] == seen[1])
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: the third column has one label only", r->data);
    const float low = fminf(seen[0], seen[1]), high = fmaxf(seen[0], seen[1]);
    c->label = lesson_room(r, d->n, sizeof *c->label);
    for (int64_t i = 0; c->label && i < d->n; i++) c->label[i] = words ? x[i * d->width] == 0 : x[i * d->width] == high;
    for (int k = 0; k < 2; k++) {
        char number[32];
        snprintf(number, sizeof number, "%g", (double)(k ? high : low));
        c->name[k] = lesson_text(r, words ? words[k] : number, 60);
    }
    return c->label;
}

static void given_data(struct lesson_run *r, const heed_data *d) {
    struct classes c = {.label = NULL};
    if (d->columns != 2 && d->columns != 3) {
        heed_fail(r->cx, HEED_ERR_FORMAT, "%s: %lld columns, the lesson takes two (x, y) or three (x1, x2, label)",
                  r->data, (long long)d->columns);
    } else if (d->n < 2) {
        heed_fail(r->cx, HEED_ERR_FORMAT, "%s: fewer than two rows", r->data);
    } else if (read_column(r, d, 0, &c.x[0]) && read_column(r, d, 1, &c.x[1])) {
        if (d->columns == 2)
            regression(r, &c.x[0], &c.x[1]);
        else if (read_labels(r, d, 2, &c))
            perceptron(r, &c, NULL);
    }
}

static void run(struct lesson_run *r) {
    if (r->data) {
        heed_data_opts opts = r->opts;
        opts.task = HEED_DATA_INPUTS;
        if (opts.target)
            heed_fail(r->cx, HEED_ERR_USAGE, "lesson neuron: takes no --target; --use x,y gives the order");
        heed_data *d = heed_data_load(r->cx, r->data, &opts);
        if (d) lesson_skipped(r, d);
        if (d) given_data(r, d);
        heed_data_free(r->cx, d);
        return;
    }
    own_points(r);
    if (!heed_failed(r->cx)) own_classes(r);
}

const struct lesson neuron_lesson = {
    .name = "neuron",
    .summary = "one neuron: least squares by gradient descent, and the perceptron by its own rule",
    .data = "a table of x, y for the line; or of x1, x2, label for the perceptron",
    .run = run,
};
