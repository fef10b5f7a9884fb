/* Vanishing and exploding gradients (Hochreiter 1991; Bengio, Simard and Frasconi 1994; Pascanu, Mikolov and Bengio
 * 2013): the size of dh_T / dh_t against the distance T - t, for an RNN, a GRU and an LSTM whose recurrent matrices are
 * w times a rotation; and a wall in the loss, with and without clipping the gradient. */
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>

enum { UNITS = 32, INPUTS = 8, STEPS = 50, KINDS = 3, WEIGHTS = 3, GRID = 401, UPDATES = 160 };
#define KEEP 3.0 /* the bias of the gates that keep: sigmoid(3) = 0.95 */
static const heed_cell_kind kinds[KINDS] = {HEED_RNN_TANH, HEED_GRU, HEED_LSTM};
static const char *const names[KINDS] = {"RNN", "GRU", "LSTM"};
static const double weights[WEIGHTS] = {0.8, 1.0, 1.25};

struct results {
    float distance[STEPS + 1], norm[KINDS][WEIGHTS][STEPS + 1];
    float w[GRID], loss[GRID], slope[GRID];                     /* one unit: the loss against its weight */
    float update[UPDATES], free_w[UPDATES], clipped_w[UPDATES]; /* descent, without and with clipping */
    int updates;                                                /* without */
};

/* ---- the size of dh_T / dh_t ---- */

struct cell {
    float w_ih[4 * UNITS * INPUTS], w_hh[4 * UNITS * UNITS], b[4 * UNITS], none[4 * UNITS], x[STEPS * INPUTS];
};

/* A random rotation: rows of normal numbers, each freed of those before it (Gram and Schmidt), times w. */
static void rotation(float *q, double w, uint64_t seed, uint64_t stream) {
    heed_random_normal(seed, stream, 0, q, (int64_t)UNITS * UNITS);
    for (int i = 0; i < UNITS; i++) {
        float *const row = q + i * UNITS;
        for (int k = 0; k < i; k++) {
            double dot = 0;
            for (int u = 0; u < UNITS; u++) dot += (double)row[u] * (double)q[k * UNITS + u];
            for (int u = 0; u < UNITS; u++) row[u] -= (float)dot * q[k * UNITS + u];
        }
        double length = 0;
        for (int u = 0; u < UNITS; u++) length += (double)row[u] * (double)row[u];
        for (int u = 0; u < UNITS; u++) row[u] /= (float)sqrt(length);
    }
    for (int i = 0; i < UNITS * UNITS; i++) q[i] *= (float)w;
}

static void draw_cell(struct cell *c, heed_cell_kind kind, double w, uint64_t seed) {
    heed_random_normal(seed, 90, 0, c->w_ih, 4 * UNITS * INPUTS);
    heed_random_normal(seed, 91, 0, c->x, (int64_t)STEPS * INPUTS);
    for (int i = 0; i < 4 * UNITS * INPUTS; i++) c->w_ih[i] *= 1e-7f; /* tanh is nearly the identity, at any w */
    for (int gate = 0; gate < 4; gate++) rotation(c->w_hh + gate * UNITS * UNITS, w, seed, 100 + (uint64_t)gate);
    for (int i = 0; i < 4 * UNITS; i++) {
        const bool keeps = kind != HEED_RNN_TANH && i / UNITS == 1; /* z of a GRU, f of an LSTM */
        const bool lets_in = kind == HEED_LSTM && i / UNITS == 0;   /* i, as 1 - z of a GRU */
        c->b[i] = keeps ? (float)KEEP : lets_in ? (float)-KEEP : 0;
        c->none[i] = 0;
    }
}

/* The numbers of a state's gradient, squared and added up. */
static double square_of(heed_ctx *cx, heed_tensor *state) {
    heed_tensor *const d = state ? heed_grad_of(cx, state) : NULL;
    const float *const v = d ? heed_f32(d) : NULL;
    double sum = 0;
    for (int i = 0; v && i < UNITS * UNITS; i++) sum += (double)v[i] * (double)v[i];
    return sum;
}

/* Row i of the batch asks for unit i of the last state: the gradients of all rows together are the whole Jacobian. Its
 * size is that of a rotation where it is 1. */
static void measure(struct lesson_run *r, heed_cell_kind kind, double w, float *norm) {
    heed_ctx *cx = r->cx;
    struct cell *c = lesson_room(r, 1, sizeof *c);
    heed_tensor *h[STEPS + 1], *cell[STEPS + 1] = {NULL};
    if (!c) return;
    draw_cell(c, kind, w, r->seed);
    const int64_t gates = (kind == HEED_LSTM ? 4 : kind == HEED_GRU ? 3 : 1) * UNITS;
    const heed_cell_weights weight = {.w_ih = heed_from_f32(cx, c->w_ih, 2, (int64_t[]){gates, INPUTS}),
                                      .w_hh = heed_from_f32(cx, c->w_hh, 2, (int64_t[]){gates, UNITS}),
                                      .b_ih = heed_from_f32(cx, c->b, 1, &gates),
                                      .b_hh = heed_from_f32(cx, c->none, 1, &gates)};
    h[0] = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 2, (int64_t[]){UNITS, UNITS}));
    if (kind == HEED_LSTM) cell[0] = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 2, (int64_t[]){UNITS, UNITS}));
    for (int t = 0; t < STEPS && !heed_failed(cx); t++) {
        heed_tensor *x = heed_from_f32(cx, c->x + t * INPUTS, 3, (int64_t[]){1, 1, INPUTS});
        x = heed_expand(cx, x, 3, (int64_t[]){UNITS, 1, INPUTS});
        heed_recurrent(cx, kind, x, &weight, &(heed_recurrent_opts){.h0 = h[t], .c0 = cell[t]}, &h[t + 1],
                       kind == HEED_LSTM ? &cell[t + 1] : NULL);
        heed_keep_grad(cx, h[t + 1]);
        if (cell[t + 1]) heed_keep_grad(cx, cell[t + 1]);
    }
    float unit[UNITS * UNITS] = {0};
    for (int i = 0; i < UNITS; i++) unit[i * UNITS + i] = 1;
    if (!heed_failed(cx)) heed_backward_from(cx, h[STEPS], heed_from_f32(cx, unit, 2, (int64_t[]){UNITS, UNITS}));
    for (int d = 0; d <= STEPS && !heed_failed(cx); d++)
        norm[d] = (float)sqrt((square_of(cx, h[STEPS - d]) + square_of(cx, cell[STEPS - d])) / UNITS);
    heed_reset(cx);
}

/* ---- a wall ---- one unit, h <- w h from 1; the loss is (h - 1/2)^2 after 50 steps */

static double loss_of(double w, double *slope) {
    const double h = pow(w, STEPS);
    *slope = 2 * (h - 0.5) * STEPS * pow(w, STEPS - 1);
    return (h - 0.5) * (h - 0.5);
}

/* Gradient descent from 1.1; stops where the next gradient would have no finite size. */
static int descend(float *w, double most) {
    double at = 1.1, slope;
    for (int i = 0; i < UPDATES; i++) {
        w[i] = (float)at;
        loss_of(at, &slope);
        if (fabs(slope) > most) slope = copysign(most, slope);
        if (!(fabs(slope) < 1e30)) return i + 1;
        at -= 0.001 * slope;
    }
    return UPDATES;
}

static void find_wall(struct results *s) {
    for (int i = 0; i < GRID; i++) {
        double slope;
        s->w[i] = 0.85f + 0.3f * (float)i / (GRID - 1);
        s->loss[i] = (float)loss_of((double)s->w[i], &slope);
        s->slope[i] = (float)fabs(slope);
    }
    for (int i = 0; i < UPDATES; i++) s->update[i] = (float)i, s->free_w[i] = NAN;
    s->updates = descend(s->free_w, HUGE_VAL);
    descend(s->clipped_w, 1);
}

/* ---- pictures ---- */

static void draw(struct lesson_run *r, const struct results *s) {
    static const heed_color colors[WEIGHTS] = {HEED_COLOR_BLUE, HEED_COLOR_GREEN, HEED_COLOR_ORANGE};
    heed_series shown[KINDS];
    for (int k = 0; k < KINDS; k++) shown[k] = (heed_series){names[k], s->distance, s->norm[k][0], STEPS + 1, false};
    lesson_show(r, heed_terminal_curves(
                       r->cx, shown, KINDS,
                       &(heed_axes){.x_label = "distance T - t, w = 0.8", .y_label = "|dh_T / dh_t|", .log_y = true},
                       &r->terminal));
    heed_figure *f = lesson_figure(r, 840, 280);
    heed_figure_grid(f, 1, KINDS);
    for (int k = 0; k < KINDS; k++) {
        heed_panel *p = heed_figure_panel(f, 0, k);
        heed_panel_title(p, names[k]);
        heed_panel_labels(p, "distance T - t", k == 0 ? "size of dh_T / dh_t" : NULL);
        heed_panel_log(p, false, true);
        heed_panel_limits_y(p, 1e-6, 1e6);
        for (int i = 0; i < WEIGHTS; i++) {
            char label[32];
            snprintf(label, sizeof label, "w = %g", weights[i]);
            heed_panel_curve(p, s->distance, s->norm[k][i], STEPS + 1,
                             &(heed_style){.label = label, .color = colors[i], .width = 2});
        }
    }
    lesson_picture(r, f, "vanishing-gradients");
    f = lesson_figure(r, 840, 280);
    heed_figure_grid(f, 1, 3);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "A wall in the loss");
    heed_panel_labels(p, "w", "(w^50 - 1/2)^2");
    heed_panel_limits_y(p, 0, 20);
    heed_panel_curve(p, s->w, s->loss, GRID, &(heed_style){.color = HEED_COLOR_BLUE, .width = 2});
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "and in its gradient");
    heed_panel_labels(p, "w", "|dloss / dw|");
    heed_panel_log(p, false, true);
    heed_panel_curve(p, s->w, s->slope, GRID, &(heed_style){.color = HEED_COLOR_BLUE, .width = 2});
    p = heed_figure_panel(f, 0, 2);
    heed_panel_title(p, "Gradient descent from w = 1.1");
    heed_panel_labels(p, "update", "w");
    heed_panel_limits_y(p, 0.95, 1.12);
    heed_panel_curve(p, s->update, s->free_w, s->updates,
                     &(heed_style){.label = "as it is", .color = HEED_COLOR_ORANGE, .width = 2});
    heed_panel_curve(p, s->update, s->clipped_w, UPDATES,
                     &(heed_style){.label = "clipped to 1", .color = HEED_COLOR_GREEN, .width = 2});
    lesson_picture(r, f, "vanishing-gradients-clipping");
}

static void write(struct lesson_run *r, const struct results *s) {
    static const char *const columns[KINDS][WEIGHTS] = {
        {"rnn_0.8", "rnn_1", "rnn_1.25"}, {"gru_0.8", "gru_1", "gru_1.25"}, {"lstm_0.8", "lstm_1", "lstm_1.25"}};
    heed_table_column table[1 + KINDS * WEIGHTS] = {{.name = "distance", .f32 = s->distance}};
    for (int i = 0; i < KINDS * WEIGHTS; i++)
        table[1 + i] =
            (heed_table_column){.name = columns[i / WEIGHTS][i % WEIGHTS], .f32 = s->norm[i / WEIGHTS][i % WEIGHTS]};
    lesson_table(r, "vanishing-gradients", table, 1 + KINDS * WEIGHTS, STEPS + 1);
    lesson_table(r, "vanishing-gradients-clipping",
                 (heed_table_column[]){{.name = "update", .f32 = s->update},
                                       {.name = "as_it_is", .f32 = s->free_w},
                                       {.name = "clipped", .f32 = s->clipped_w}},
                 3, UPDATES);
}

static void run(struct lesson_run *r) {
    struct results *s = lesson_room(r, 1, sizeof *s);
    if (!s) return;
    lesson_say(r,
               "What a recurrent network reads at time t reaches its state at time T through T - t steps, and the "
               "gradient goes the same way back: dh_T / dh_t is a product of T - t matrices. Here each network has %d "
               "units, and its recurrent matrices are w times a rotation, so that one step of the plain RNN, h <- "
               "tanh(W h + U x), changes lengths by w: the inputs are so small that tanh is nearly the identity. The "
               "gates that keep, z of the GRU and f of the LSTM, have the bias %g, and the LSTM's input gate its "
               "negative. Size of dh_T / dh_t (root mean square "
               "stretching; of the LSTM, of h and c together) after some distances:",
               UNITS, KEEP);
    for (int d = 0; d <= STEPS; d++) s->distance[d] = (float)d;
    lesson_line(r, "%6s %6s %12s %12s %12s %12s", "", "w", "1", "10", "25", "50");
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < WEIGHTS; i++) {
            float *const n = s->norm[k][i];
            char name[32];
            measure(r, kinds[k], weights[i], n);
            if (heed_failed(r->cx)) return;
            lesson_line(r, "%6s %6.2f %12.3g %12.3g %12.3g %12.3g", i == 0 ? names[k] : "", weights[i], (double)n[1],
                        (double)n[10], (double)n[25], (double)n[50]);
            snprintf(name, sizeof name, "%s_%g", k == 0 ? "rnn" : k == 1 ? "gru" : "lstm", weights[i]);
            lesson_result(r, name, (double)n[50]);
        }
    lesson_line(r, "%s", "");
    find_wall(s);
    lesson_result(r, "thrown_to", (double)s->free_w[1]);
    lesson_result(r, "clipped_to", (double)s->clipped_w[UPDATES - 1]);
    draw(r, s);
    write(r, s);
    lesson_say(r,
               "Below 1 the plain network forgets as w^(T - t): what it read 50 steps ago has no part in what it "
               "learns. Above 1 the gradient grows as w^(T - t), until tanh saturates. A gate that multiplies the old "
               "state by 0.95 loses a twentieth of the gradient at each step, whatever w is, and it can learn to be "
               "nearer 1: that is what gates are for (Hochreiter and Schmidhuber 1997; Cho et al. 2014).");
    lesson_say(
        r,
        "Exploding gradients stand like walls in the loss (Pascanu et al. 2013). One unit without tanh, h <- w h "
        "from 1, should be 1/2 after 50 steps. At w = 1.1 its gradient is a million, and one update of gradient "
        "descent with learning rate 0.001 throws it to w = %.4g, from where nothing comes back. With the "
        "gradient's norm clipped to 1 it walks down to %.4f; the answer is %.4f. In heed: --clip.",
        (double)s->free_w[1], (double)s->clipped_w[UPDATES - 1], pow(0.5, 1.0 / STEPS));
}

const struct lesson vanishing_lesson = {
    .name = "vanishing-gradients",
    .summary = "the size of dh_T / dh_t against distance: RNN, GRU, LSTM; walls, and clipping",
    .run = run,
};
