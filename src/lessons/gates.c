/* From forgetting to gates. Guests come one after the other, some of them pointed at; who was pointed at last? Five
 * memories: a sum of all (composite), a sum that fades (forgetting), the same with a rate that depends on the guest,
 *     h <- f(x) * h + W x,   f(x) = sigmoid(U x + b)
 * the same that writes only where it forgets, h <- z * h + (1 - z) * n, and a GRU (Cho et al. 2014), whose z and n look
 * at the memory too. Noise is added to the memory before it is read. Goes on from the lesson "memory". */
#include "heed/nn.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FACES = 8, SYMBOLS = 2 * FACES, GUESTS = 20, UNITS = 24, BATCH = 64, STEPS = 500, TESTS = 2000, KINDS = 5 };
#define NOISE 1.0f
#define KEEP  2.0f  /* sigmoid(2) = 0.88 */
#define OFTEN 0.15f /* how often a guest is pointed at */

enum kind { COMPOSITE, FORGETTING, GATED, COUPLED, GRU };
static const char *const names[KINDS] = {"composite", "forgetting", "gated", "coupled", "GRU"};
static const char *const keys[KINDS] = {"composite", "forgetting", "gated", "coupled", "gru"};
static const char *const formulas[KINDS] = {"h <- h + W x", "h <- gamma h + W x", "h <- f(x) * h + W x",
                                            "h <- z(x) * h + (1 - z(x)) * n(x)",
                                            "h <- z(x,h) * h + (1 - z(x,h)) * n(x,h)"};
static const heed_color colors[KINDS] = {HEED_COLOR_GREY, HEED_COLOR_ORANGE, HEED_COLOR_BLUE, HEED_COLOR_PINK,
                                         HEED_COLOR_GREEN};

/* ---- parties ---- */

struct parties {
    float *x;        /* (n, GUESTS, SYMBOLS): a face, in the second half one that is pointed at */
    int32_t *answer; /* (n): the face that was pointed at last */
    int *distance;   /* (n): how many came after it */
    float *noise;    /* (n, UNITS) */
};

static bool draw_parties(struct lesson_run *r, uint64_t stream, int64_t n, struct parties *p) {
    const int64_t all = n * GUESTS;
    float *const dice = lesson_room(r, 2 * all, sizeof *dice);
    p->x = lesson_room(r, all * SYMBOLS, sizeof *p->x);
    p->answer = lesson_room(r, n, sizeof *p->answer);
    p->distance = lesson_room(r, n, sizeof *p->distance);
    p->noise = lesson_room(r, n * UNITS, sizeof *p->noise);
    if (heed_failed(r->cx)) return false;
    heed_random_uniform(r->seed, stream, 0, dice, 2 * all);
    heed_random_normal(r->seed, stream + 1, 0, p->noise, n * UNITS);
    for (int64_t i = 0; i < all; i++) {
        const int64_t party = i / GUESTS, guest = i % GUESTS;
        const int face = (int)(dice[2 * i] * FACES) % FACES;
        const bool pointed = guest == 0 || dice[2 * i + 1] < OFTEN;
        p->x[i * SYMBOLS + (pointed ? FACES : 0) + face] = 1;
        if (!pointed) continue;
        p->answer[party] = face;
        p->distance[party] = (int)(GUESTS - 1 - guest);
    }
    return true;
}

/* ---- memories ---- */

struct mind {
    enum kind kind;
    heed_params *params;
    heed_param *gamma;                      /* (1): the logit of what stays */
    heed_linear_layer write, gate, readout; /* W, U and b */
    heed_rnn gru;
    heed_trainer *trainer;
};

struct outcome {
    float right[GUESTS], loss;       /* by distance */
    double all;                      /* of all parties */
    float gate[GUESTS];              /* the mean over the units, at the party that is shown */
    double gate_pointed, gate_other; /* the means over guests that are pointed at, and over the others */
    double gamma;
};

static bool open_mind(struct lesson_run *r, enum kind kind, struct mind *m) {
    heed_ctx *cx = r->cx;
    m->kind = kind;
    m->params = heed_params_new(cx);
    m->gamma = heed_param_add(cx, m->params, "", "gamma", 1, (int64_t[]){1}, (heed_init){HEED_INIT_CONSTANT, 1, 0});
    const heed_rnn_opts gru = {.kind = HEED_GRU, .inputs = SYMBOLS, .units = UNITS, .layers = 1, .bias = true};
    if (!m->gamma || !heed_linear_make(cx, m->params, "write", SYMBOLS, UNITS, false, &m->write) ||
        !heed_linear_make(cx, m->params, "gate", SYMBOLS, UNITS, true, &m->gate) ||
        !heed_linear_make(cx, m->params, "readout", UNITS, FACES, true, &m->readout) ||
        !heed_rnn_make(cx, m->params, "gru", &gru, &m->gru) || !heed_params_allocate(cx, m->params) ||
        !heed_params_init(cx, m->params, r->seed))
        return false;
    for (int u = 0; u < UNITS; u++) /* at first both gates keep */
        m->gate.bias->value[u] = m->gru.cell[0].b_ih->value[UNITS + u] = KEEP;
    const heed_trainer_opts opts = {
        .optimizer = {.kind = HEED_ADAM}, .schedule = {.kind = HEED_COSINE, .lr = 0.02, .steps = r->steps}, .clip = 1};
    m->trainer = heed_trainer_new(cx, m->params, &opts);
    return m->trainer;
}

/* The rates f(x) of all guests, (n, GUESTS, UNITS); NULL: all 1. */
static heed_tensor *rates(heed_ctx *cx, const struct mind *m, heed_tensor *x) {
    if (m->kind == GATED || m->kind == COUPLED) return heed_linear_run(cx, &m->gate, x, HEED_ACT_SIGMOID);
    if (m->kind == COMPOSITE) return NULL;
    heed_tensor *gamma = heed_sigmoid(cx, heed_param_tensor(cx, m->gamma));
    return heed_expand(cx, heed_reshape(cx, gamma, 3, (int64_t[]){1, 1, 1}), 3,
                       (int64_t[]){heed_dim(x, 0), GUESTS, UNITS});
}

/* x (n, GUESTS, SYMBOLS) -> what is left in the end, (n, UNITS) */
static heed_tensor *remember(heed_ctx *cx, const struct mind *m, heed_tensor *x) {
    const int64_t n = heed_dim(x, 0), shape[] = {n, UNITS};
    if (m->kind == GRU) {
        heed_rnn_state last;
        if (!heed_rnn_run(cx, &m->gru, x, NULL, NULL, &last)) return NULL;
        return heed_reshape(cx, last.h, 2, shape);
    }
    heed_tensor *const f = rates(cx, m, x);
    heed_tensor *written = heed_linear_run(cx, &m->write, x, m->kind == COUPLED ? HEED_ACT_TANH : HEED_ACT_NONE);
    if (m->kind == COUPLED) written = heed_mul(cx, written, heed_affine(cx, f, -1, 1));
    heed_tensor *h = NULL;
    for (int64_t t = 0; t < GUESTS && !heed_failed(cx); t++) {
        heed_tensor *const new = heed_reshape(cx, heed_slice(cx, written, 1, t, 1), 2, shape);
        if (h && f) h = heed_mul(cx, h, heed_reshape(cx, heed_slice(cx, f, 1, t, 1), 2, shape));
        h = h ? heed_add(cx, h, new) : new;
    }
    return h;
}

static heed_tensor *recall(heed_ctx *cx, const struct mind *m, const struct parties *p, int64_t from, int64_t n) {
    heed_tensor *x = heed_from_f32(cx, p->x + from * GUESTS * SYMBOLS, 3, (int64_t[]){n, GUESTS, SYMBOLS});
    heed_tensor *noise = heed_from_f32(cx, p->noise + from * UNITS, 2, (int64_t[]){n, UNITS});
    heed_tensor *h = heed_add(cx, remember(cx, m, x), heed_affine(cx, noise, NOISE, 0));
    return heed_linear_run(cx, &m->readout, h, HEED_ACT_NONE);
}

static bool learn(struct lesson_run *r, const struct mind *m, struct outcome *o) {
    heed_ctx *cx = r->cx;
    struct parties p;
    if (!draw_parties(r, 10, r->steps * BATCH, &p)) return false;
    for (int64_t step = 0; step < r->steps && !heed_failed(cx); step++) {
        heed_trainer_begin(cx, m->trainer);
        heed_tensor *answer = heed_from_i32(cx, p.answer + step * BATCH, 1, (int64_t[]){BATCH});
        o->loss =
            lesson_learn(cx, m->trainer, heed_cross_entropy(cx, recall(cx, m, &p, step * BATCH, BATCH), answer, NULL));
        if (step % 16 == 0) lesson_progress(r, names[m->kind], step, r->steps);
    }
    lesson_progress(r, "", 1, 1);
    return !heed_failed(cx);
}

static void examine(struct lesson_run *r, const struct mind *m, const struct parties *p, struct outcome *o) {
    heed_ctx *cx = r->cx;
    int64_t right[GUESTS] = {0}, all[GUESTS] = {0}, sum = 0;
    heed_set_grad(cx, false);
    heed_tensor *logits = recall(cx, m, p, 0, TESTS);
    for (int64_t i = 0; !heed_failed(cx) && i < TESTS; i++) {
        const bool good = lesson_winner(heed_f32(logits) + i * FACES, FACES) == p->answer[i];
        all[p->distance[i]]++;
        right[p->distance[i]] += good;
        sum += good;
    }
    for (int d = 0; d < GUESTS; d++) o->right[d] = all[d] ? 100 * (float)right[d] / (float)all[d] : NAN;
    o->all = 100 * (double)sum / TESTS;
    heed_reset(cx);
    heed_set_grad(cx, true);
}

static float sigmoid(double x) { return (float)(1 / (1 + exp(-x))); }

/* What stays of the memory, as a mean over its units, when each guest of the first party comes. Of a GRU z is computed
 * by hand from its weights: rows UNITS to 2 UNITS of them. */
static void look(struct lesson_run *r, const struct mind *m, const struct parties *p, struct outcome *o) {
    heed_ctx *cx = r->cx;
    double sum[2] = {0};
    int count[2] = {0};
    float f[GUESTS * UNITS] = {0}, h[GUESTS * UNITS] = {0};
    heed_set_grad(cx, false);
    heed_tensor *x = heed_from_f32(cx, p->x, 3, (int64_t[]){1, GUESTS, SYMBOLS});
    if (m->kind == GRU) {
        heed_rnn_state last;
        heed_copy_f32(cx, heed_rnn_run(cx, &m->gru, x, NULL, NULL, &last), h, GUESTS * UNITS);
        const heed_rnn_cell *c = &m->gru.cell[0];
        for (int64_t i = 0; !heed_failed(cx) && i < GUESTS * UNITS; i++) {
            const int64_t t = i / UNITS, row = UNITS + i % UNITS;
            double z = (double)c->b_ih->value[row] + (double)c->b_hh->value[row];
            for (int k = 0; k < SYMBOLS; k++)
                z += (double)c->w_ih->value[row * SYMBOLS + k] * (double)p->x[t * SYMBOLS + k];
            for (int k = 0; t > 0 && k < UNITS; k++)
                z += (double)c->w_hh->value[row * UNITS + k] * (double)h[(t - 1) * UNITS + k];
            f[i] = sigmoid(z);
        }
    } else if (m->kind == COMPOSITE) {
        for (int i = 0; i < GUESTS * UNITS; i++) f[i] = 1;
    } else {
        heed_copy_f32(cx, rates(cx, m, x), f, GUESTS * UNITS);
    }
    heed_reset(cx);
    heed_set_grad(cx, true);
    o->gamma = m->kind == FORGETTING ? (double)f[0] : 1;
    for (int t = 0; t < GUESTS; t++) {
        const bool pointed = lesson_winner(p->x + t * SYMBOLS, SYMBOLS) >= FACES;
        for (int u = 0; u < UNITS; u++) o->gate[t] += f[t * UNITS + u] / UNITS;
        if (t == 0) continue; /* there is nothing to keep yet */
        sum[pointed] += (double)o->gate[t];
        count[pointed]++;
    }
    o->gate_pointed = count[1] ? sum[1] / count[1] : 0;
    o->gate_other = count[0] ? sum[0] / count[0] : 0;
}

/* ---- words and pictures ---- */

static void print_outcomes(struct lesson_run *r, const struct outcome *o) {
    static const int shown[] = {0, 2, 5, 10, 15};
    for (int k = 0; k < KINDS; k++) lesson_line(r, "%-11s %s", names[k], formulas[k]);
    lesson_line(r, "\n%-11s %8s  %s", "right", "in all", "when so many guests came after");
    lesson_line(r, "%-11s %8s %6d %6d %6d %6d %6d", "", "", shown[0], shown[1], shown[2], shown[3], shown[4]);
    for (int k = 0; k < KINDS; k++) {
        char text[80];
        int at = 0;
        for (int i = 0; i < 5; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, " %4.0f %%", (double)o[k].right[shown[i]]);
        lesson_line(r, "%-11s %6.1f %% %s", names[k], o[k].all, text);
        char name[48];
        const struct {
            const char *what;
            double value;
        } results[] = {{"right", o[k].all / 100},
                       {"right_after_10", (double)o[k].right[10] / 100},
                       {"stays_when_pointed_at", o[k].gate_pointed},
                       {"stays_otherwise", o[k].gate_other}};
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "%s_%s", keys[k], results[i].what);
            lesson_result(r, name, results[i].value);
        }
    }
    lesson_line(r, "%s", "");
}

static void draw(struct lesson_run *r, const struct parties *p, const struct outcome *o) {
    float distance[GUESTS], guest[GUESTS], pointed[GUESTS];
    heed_series series[KINDS];
    heed_table_column columns[1 + KINDS] = {{.name = "guests_after", .f32 = distance}},
                                  gates[2 + KINDS] = {{.name = "guest", .f32 = guest},
                                                      {.name = "pointed_at", .f32 = pointed}};
    heed_figure *f = lesson_figure(r, 860, 300);
    heed_figure_grid(f, 1, 2);
    heed_panel *left = heed_figure_panel(f, 0, 0), *right = heed_figure_panel(f, 0, 1);
    heed_panel_title(left, "Who was pointed at last?");
    heed_panel_labels(left, "guests that came after", "right, %");
    heed_panel_limits_y(left, 0, 104);
    heed_panel_hline(left, 100.0 / FACES,
                     &(heed_style){.label = "chance", .color = HEED_COLOR_GREY, .dash = HEED_DASH_DOTS});
    heed_panel_title(right, "What stays of the memory; lines: pointed at");
    heed_panel_labels(right, "guest", "mean over the units");
    heed_panel_limits_y(right, 0, 1.04);
    for (int t = 0; t < GUESTS; t++) {
        distance[t] = (float)t, guest[t] = (float)(t + 1);
        pointed[t] = lesson_winner(p->x + t * SYMBOLS, SYMBOLS) >= FACES;
        if (pointed[t] > 0)
            heed_panel_vline(right, (double)guest[t],
                             &(heed_style){.label = t ? NULL : "pointed at", .color = HEED_COLOR_RED, .alpha = 0.4});
    }
    for (int k = 0; k < KINDS; k++) {
        const heed_style style = {.label = names[k], .color = colors[k], .marker = HEED_MARKER_DISC, .size = 4};
        heed_panel_curve(left, distance, o[k].right, GUESTS, &style);
        heed_panel_curve(right, guest, o[k].gate, GUESTS, &style);
        series[k] = (heed_series){.label = names[k], .x = distance, .y = o[k].right, .n = GUESTS};
        columns[1 + k] = (heed_table_column){.name = keys[k], .f32 = o[k].right};
        gates[2 + k] = (heed_table_column){.name = keys[k], .f32 = o[k].gate};
    }
    heed_panel_legend(right, false);
    lesson_picture(r, f, "gates");
    heed_terminal how = r->terminal;
    how.title = "right, %";
    lesson_show(r, heed_terminal_curves(r->cx, series, KINDS, &(heed_axes){.x_label = "guests that came after"}, &how));
    lesson_table(r, "gates", columns, 1 + KINDS, GUESTS);
    lesson_table(r, "gates-party", gates, 2 + KINDS, GUESTS);
}

static void run(struct lesson_run *r) {
    struct parties tests;
    struct outcome *o = lesson_room(r, KINDS, sizeof *o);
    if (!o || !draw_parties(r, 20, TESTS, &tests)) return;
    lesson_say(
        r,
        "In the lesson 'memory' guests became one picture, h = x_1 + x_2 + ..., or, forgetting, h <- gamma h + "
        "x. Now %d guests come to a party, each with one of %d faces, and now and then somebody points at one. "
        "Afterwards: who was pointed at last? The memory h has %d numbers, and noise is added before it is read.",
        GUESTS, FACES, UNITS);
    lesson_say(r, "A fading memory knows what came last, but it fades at the same rate whoever comes. A gated memory "
                  "lets the guest decide: h <- f(x) * h + W x, with f(x) = sigmoid(U x + b), a number between 0 and 1 "
                  "for each unit: a gate. All weights are learnt, gamma too.");
    for (int k = 0; k < KINDS; k++) {
        struct mind m = {.params = NULL};
        const bool ok = open_mind(r, (enum kind)k, &m) && learn(r, &m, &o[k]);
        if (ok) examine(r, &m, &tests, &o[k]);
        if (ok) look(r, &m, &tests, &o[k]);
        heed_trainer_free(r->cx, m.trainer);
        heed_params_free(r->cx, m.params);
        if (!ok || heed_failed(r->cx)) return;
    }
    print_outcomes(r, o);
    draw(r, &tests, o);
    lesson_result(r, "gamma", o[FORGETTING].gamma);
    lesson_say(r,
               "Composite: it knows who was pointed at, but not when. Forgetting learnt gamma = %.2f: large enough to "
               "remember, small enough that the last counts most; the longer ago that was, the less is left above the "
               "noise. Gated: f is %.2f when a guest is pointed at, which makes room, and %.2f for all others, so that "
               "what is there stays, however many come.",
               o[FORGETTING].gamma, o[GATED].gate_pointed, o[GATED].gate_other);
    lesson_say(
        r,
        "Coupled: the same gate, called z, and what is new is written with 1 - z, so that a unit either keeps or "
        "is written: z is %.2f at guests pointed at and %.2f at others. This is a GRU except for one thing: its "
        "z = sigmoid(W_z x + U_z h + b) and its n = tanh(W x + r * (U h)) look at the memory too. What to keep "
        "may then depend on what is there, and n can keep a memory up by itself: here z is %.2f at other "
        "guests, and %.0f %% are right.",
        o[COUPLED].gate_pointed, o[COUPLED].gate_other, o[GRU].gate_other, o[GRU].all);
    lesson_say(r,
               "An LSTM has three gates: one to forget, one to write, and one that says how much of its memory it "
               "shows, for the memory stands beside its output. Where the gate that forgets is 1, gradients pass "
               "unchanged: '%s lesson vanishing-gradients'.",
               r->program);
}

const struct lesson gates_lesson = {
    .name = "gates",
    .summary = "from forgetting to gates: a memory that fades, one that decides what to keep, and a GRU",
    .steps = STEPS,
    .run = run,
};
