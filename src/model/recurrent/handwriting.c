/* Handwriting (Graves 2013, "Generating sequences with recurrent neural networks", sections 4 and 5).
 *
 *     x_t = (dx, dy, up), standardised;  h^1 = LSTM(x),  h^n = LSTM(x, h^{n-1}),  y = W (h^1, …, h^N) + b
 *
 * y_t is a mixture of bivariate normal densities of the next step, and whether the stroke ends there: mixture_loss.
 * With a text, a window slides over its characters c (one-hot), and all layers see what it shows:
 *
 *     (a, b, k) = W_w h^1_t + b_w;   kappa_t = kappa_{t-1} + pace exp(k)
 *     phi(t, u) = sum_k exp(a) exp(-exp(b) (kappa - u)^2);   w_t = sum_u phi(t, u) c_u
 *     h^1_t = LSTM(x_t, w_{t-1}),   h^n_t = LSTM(x_t, h^{n-1}_t, w_t)
 *
 *     strokes (B,T,3), labels (B,T) i32: `up` of each point, below 0: it is not predicted; text (B,U) i32, 0 behind its
 * end state, cell (N,B,H), kappa (B,K), window (B,V): to start from, given out as they are after the last point */
#include "base/text.h"
#include "heed/attention.h"
#include "model/core/families.h"
#include "model/parts/parts.h"
#include "tensor/engine.h"
#include <string.h>

#define MAX_CHARACTERS 65536

struct handwriting {
    int layers;
    int64_t units, mixtures;
    heed_rnn *layer; /* (layers), of one layer each; memory of the parameter set */
    heed_linear_layer output;
    heed_param *mean, *std;      /* of dx and dy */
    int64_t windows, characters; /* K and V; 0: it writes without a text */
    heed_linear_layer window;
    float pace;
};

static const heed_key handwriting_keys[] = {
    {"hidden_size", HEED_KEY_INT, "400", "units of a layer"},
    {"num_layers", HEED_KEY_INT, "3", "number of layers; each reads the points, too, and the output layer reads all"},
    {"num_mixtures", HEED_KEY_INT, "20", "normal densities of the next point"},
    {"initializer_range", HEED_KEY_NUMBER, "0.075", "standard deviation of fresh weights"},
    END_OF_KEYS};
static const heed_key synthesis_keys[] = {
    {"num_windows", HEED_KEY_INT, "10", "functions that the window over the text is made of"},
    {"window_pace", HEED_KEY_NUMBER, "0.05",
     "what the window's steps are multiplied by; 1 in the paper, where a fresh window passes a character with each "
     "point"},
    {"characters", HEED_KEY_TEXT, "0123456789", "the characters of texts: the first is 1, the end of a text 0"},
    END_OF_KEYS};

/* ---- parameters ---- */

static void draw_all(heed_param *p, heed_init init) {
    if (p) p->init = init;
}

static bool make_layer(heed_ctx *cx, heed_params *set, struct handwriting *m, int i, heed_init init) {
    const heed_rnn_opts opts = {.kind = HEED_LSTM,
                                .inputs = 3 + m->characters + (i > 0 ? m->units : 0),
                                .units = m->units,
                                .layers = 1,
                                .bias = true};
    if (!heed_rnn_make(cx, set, part_numbered(cx, "", "rnn", i).s, &opts, &m->layer[i])) return false;
    const heed_rnn_cell *const c = m->layer[i].cell;
    draw_all(c->w_ih, init), draw_all(c->w_hh, init), draw_all(c->b_ih, init), draw_all(c->b_hh, init);
    return true;
}

static bool build_body(heed_ctx *cx, heed_json config, heed_params *set, struct handwriting *m) {
    const heed_init init = {HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 1e6)};
    const int64_t two = 2;
    m->units = config_int(cx, config, "hidden_size", 1, (int64_t)1 << 20);
    m->layers = (int)config_int(cx, config, "num_layers", 1, MAX_LAYERS);
    m->mixtures = config_int(cx, config, "num_mixtures", 1, (int64_t)1 << 16);
    if (heed_failed(cx)) return false;
    m->layer = heed_params_alloc(cx, set, (size_t)m->layers, sizeof *m->layer);
    for (int i = 0; m->layer && i < m->layers; i++)
        if (!make_layer(cx, set, m, i, init)) return false;
    if (m->windows > 0 && !part_linear(cx, set, "", "window", m->units, 3 * m->windows, true, init, &m->window))
        return false;
    if (!part_linear(cx, set, "", "output", m->layers * m->units, 6 * m->mixtures + 1, true, init, &m->output))
        return false;
    m->mean = heed_param_buffer(cx, set, NULL, "offset_mean", 1, &two, (heed_init){.kind = HEED_INIT_ZEROS});
    m->std = heed_param_buffer(cx, set, NULL, "offset_deviation", 1, &two, (heed_init){.kind = HEED_INIT_ONES});
    return !heed_failed(cx);
}

static bool build_prediction(heed_ctx *cx, const heed_build *b, void *own) {
    return build_body(cx, b->config, b->params, own);
}

static bool build_synthesis(heed_ctx *cx, const heed_build *b, void *own) {
    const heed_json config = b->config;
    struct handwriting *m = own;
    const char *const characters = heed_json_text(cx, config, "characters");
    m->windows = config_int(cx, config, "num_windows", 1, 1024);
    m->pace = (float)config_number(cx, config, "window_pace", 1e-6, 1e6);
    for (size_t at = 0, n = characters ? strlen(characters) : 0; at < n; m->characters++)
        at += utf8_sequence(characters + at, n - at);
    if (!heed_failed(cx) && (m->characters < 1 || m->characters > MAX_CHARACTERS))
        return heed_json_fail(cx, heed_json_find(cx, config, "characters"), "%lld characters are not 1 to %d",
                              (long long)m->characters, MAX_CHARACTERS);
    return !heed_failed(cx) && build_body(cx, config, b->params, m);
}

/* ---- forward ---- */

struct states {
    heed_tensor *h, *c, *kappa, *window; /* the first ones; NULL: zeros */
};

struct run {
    const struct handwriting *m;
    heed_tensor *offset, *x;                 /* (B,T,2) standardised, (B,T,3) */
    heed_tensor *text, *place;               /* (B,U,V), (1,1,U) */
    heed_tensor *shown, *phi, *kappa, *seen; /* (B,T,V), (B,T,U), and the last (B,K), (B,V) */
    struct states first;
    heed_tensor **h, **c; /* (layers) the last ones, (1,B,H) */
    int64_t B, T;
};

static bool read_strokes(heed_ctx *cx, const heed_io *in, struct run *r) {
    heed_tensor *const strokes = heed_io_get(in, "strokes");
    if (!strokes) return heed_fail(cx, HEED_ERR_USAGE, "strokes: the model needs this input");
    if (heed_type(strokes) != HEED_F32 || heed_rank(strokes) != 3 || heed_dim(strokes, 2) != 3 ||
        heed_dim(strokes, 1) < 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "strokes: shape %s is not (B,T,3) of f32", heed_shape_text(strokes).s);
    r->B = heed_dim(strokes, 0), r->T = heed_dim(strokes, 1);
    r->offset = heed_sub(cx, heed_slice(cx, strokes, 2, 0, 2), heed_param_tensor(cx, r->m->mean));
    r->offset = heed_div(cx, r->offset, heed_param_tensor(cx, r->m->std));
    r->x = heed_concat(cx, (heed_tensor *[]){r->offset, heed_slice(cx, strokes, 2, 2, 1)}, 2, 2);
    r->first = (struct states){heed_io_get(in, "state"), heed_io_get(in, "cell"), heed_io_get(in, "kappa"),
                               heed_io_get(in, "window")};
    if (!r->first.h != !r->first.c) return heed_fail(cx, HEED_ERR_USAGE, "state, cell: both are needed, or neither");
    return !heed_failed(cx);
}

static heed_tensor *state_at(heed_ctx *cx, heed_tensor *states, int layer) {
    return states ? heed_slice(cx, states, 0, layer, 1) : NULL;
}

/* A layer over points; first: the states to start from, NULL: the run's. The last ones replace what the run has. */
static heed_tensor *run_layer(heed_ctx *cx, struct run *r, int i, heed_tensor *x, const heed_rnn_state *first) {
    const heed_rnn_state given = {state_at(cx, r->first.h, i), state_at(cx, r->first.c, i)};
    heed_rnn_state last;
    if (!first && r->first.h) first = &given;
    heed_tensor *const h = heed_rnn_run(cx, &r->m->layer[i], x, NULL, first, &last);
    r->h[i] = last.h;
    r->c[i] = last.c;
    return h;
}

/* ---- the window ---- */

/* Characters as one-hot rows, those of 0 empty, and their places from 1 on. */
static bool read_text(heed_ctx *cx, const heed_io *in, struct run *r) {
    heed_tensor *const text = heed_io_get(in, "text");
    const int64_t V = r->m->characters;
    if (!text) return heed_fail(cx, HEED_ERR_USAGE, "text: the model needs this input");
    if (heed_type(text) != HEED_I32 || heed_rank(text) != 2 || heed_dim(text, 0) != r->B || heed_dim(text, 1) < 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "text: shape %s is not (%lld,U) of i32", heed_shape_text(text).s,
                         (long long)r->B);
    const int64_t U = heed_dim(text, 1);
    heed_tensor *const one = heed_zeros(cx, HEED_F32, 2, (int64_t[]){V + 1, V});
    r->place = heed_zeros(cx, HEED_F32, 3, (int64_t[]){1, 1, U});
    if (heed_failed(cx)) return false;
    if (!cx->config.dry) {
        for (int64_t i = 0; i < V; i++) ((float *)(void *)one->data)[(i + 1) * V + i] = 1;
        for (int64_t u = 0; u < U; u++) ((float *)(void *)r->place->data)[u] = (float)(u + 1);
    }
    r->text = heed_embedding(cx, one, text);
    r->kappa = r->first.kappa ? r->first.kappa : heed_zeros(cx, HEED_F32, 2, (int64_t[]){r->B, r->m->windows});
    r->seen = r->first.window ? r->first.window : heed_zeros(cx, HEED_F32, 2, (int64_t[]){r->B, V});
    if (heed_failed(cx)) return false;
    if (heed_count(r->kappa) != r->B * r->m->windows || heed_count(r->seen) != r->B * V)
        return heed_fail(cx, HEED_ERR_SHAPE, "kappa, window: shapes %s and %s do not fit the model's windows",
                         heed_shape_text(r->kappa).s, heed_shape_text(r->seen).s);
    return true;
}

/* Part i of the three that the window is told, (B,K): its exponential. */
static heed_tensor *told(heed_ctx *cx, const struct run *r, heed_tensor *all, int i) {
    const int64_t K = r->m->windows;
    return heed_exp(cx, heed_slice(cx, all, 1, i * K, K));
}

/* h (B,1,H) -> phi (B,1,U); kappa goes on. */
static heed_tensor *slide(heed_ctx *cx, struct run *r, heed_tensor *h) {
    const int64_t across[] = {r->B, r->m->windows, 1}, K = r->m->windows;
    heed_tensor *all = heed_linear_run(cx, &r->m->window, h, HEED_ACT_NONE);
    all = heed_reshape(cx, all, 2, (int64_t[]){r->B, 3 * K});
    heed_tensor *const a = heed_reshape(cx, told(cx, r, all, 0), 3, across);
    heed_tensor *const b = heed_reshape(cx, told(cx, r, all, 1), 3, across);
    r->kappa = heed_add(cx, r->kappa, heed_affine(cx, told(cx, r, all, 2), r->m->pace, 0));
    heed_tensor *away = heed_sub(cx, heed_reshape(cx, r->kappa, 3, across), r->place);
    away = heed_mul(cx, b, heed_square(cx, away));
    return heed_sum(cx, heed_mul(cx, a, heed_exp(cx, heed_neg(cx, away))), (int[]){1}, 1, true);
}

/* The first layer, point by point: what it reads is what its last state has shown. -> (B,T,H) */
static heed_tensor *run_windowed(heed_ctx *cx, struct run *r) {
    const size_t T = (size_t)r->T;
    heed_tensor **const list = heed_mem_new(cx, 3 * T * sizeof *list), **const shown = list + T,
                        **const phi = shown + T;
    const int64_t V = r->m->characters;
    heed_tensor *h = NULL;
    heed_rnn_state state;
    if (!list) return NULL;
    for (int64_t t = 0; t < r->T && !heed_failed(cx); t++) {
        heed_tensor *const seen = heed_reshape(cx, r->seen, 3, (int64_t[]){r->B, 1, V});
        heed_tensor *const x = heed_concat(cx, (heed_tensor *[]){heed_slice(cx, r->x, 1, t, 1), seen}, 2, 2);
        list[t] = run_layer(cx, r, 0, x, t > 0 ? &state : NULL);
        state = (heed_rnn_state){r->h[0], r->c[0]};
        phi[t] = slide(cx, r, list[t]);
        if (!phi[t] || !heed_capture_weights(cx, "cross", 0, t, phi[t])) break;
        shown[t] = heed_matmul(cx, phi[t], r->text);
        r->seen = heed_reshape(cx, shown[t], 2, (int64_t[]){r->B, V});
    }
    if (!heed_failed(cx)) {
        h = heed_concat(cx, list, (int)r->T, 1);
        r->shown = heed_concat(cx, shown, (int)r->T, 1);
        r->phi = heed_concat(cx, phi, (int)r->T, 1);
    }
    heed_mem_free(cx, list);
    return h;
}

/* ---- outputs ---- */

/* Every layer -> y (B,T,6M+1) */
static heed_tensor *run_layers(heed_ctx *cx, struct run *r) {
    const int layers = r->m->layers;
    heed_tensor **const y = heed_mem_new(cx, (size_t)layers * sizeof *y);
    if (!y) return NULL;
    y[0] = r->m->windows > 0 ? run_windowed(cx, r) : run_layer(cx, r, 0, r->x, NULL);
    for (int i = 1; i < layers && !heed_failed(cx); i++) {
        heed_tensor *const read[] = {r->x, y[i - 1], r->shown};
        y[i] = run_layer(cx, r, i, heed_concat(cx, read, r->shown ? 3 : 2, 2), NULL);
    }
    heed_tensor *const all = heed_failed(cx) ? NULL : heed_concat(cx, y, layers, 2);
    heed_mem_free(cx, y);
    return heed_linear_run(cx, &r->m->output, all, HEED_ACT_NONE);
}

static bool put_states(heed_ctx *cx, const struct run *r, heed_io *out) {
    return heed_io_put(cx, out, "state", heed_concat(cx, r->h, r->m->layers, 0)) &&
           heed_io_put(cx, out, "cell", heed_concat(cx, r->c, r->m->layers, 0)) &&
           (r->m->windows == 0 || (heed_io_put(cx, out, "kappa", r->kappa) && heed_io_put(cx, out, "window", r->seen)));
}

/* What y says of each point but the first, by the point before it. */
static bool put_loss(heed_ctx *cx, const struct run *r, heed_tensor *labels, heed_tensor *y, heed_io *out) {
    if (heed_type(labels) != HEED_I32 || heed_rank(labels) != 2 || heed_dim(labels, 0) != r->B ||
        heed_dim(labels, 1) != r->T)
        return heed_fail(cx, HEED_ERR_SHAPE, "labels: shape %s is not (%lld,%lld) of i32", heed_shape_text(labels).s,
                         (long long)r->B, (long long)r->T);
    const int64_t n = r->T - 1;
    heed_tensor *const loss = heed_mixture_loss(cx, heed_slice(cx, y, 1, 0, n), heed_slice(cx, r->offset, 1, 1, n),
                                                heed_slice(cx, labels, 1, 1, n), HEED_REDUCE_MEAN);
    return loss && heed_io_put(cx, out, "loss", loss);
}

static bool forward_run(heed_ctx *cx, struct run *r, const heed_io *in, heed_io *out) {
    heed_tensor *const labels = heed_io_get(in, "labels"), *const y = run_layers(cx, r);
    if (!y || !heed_io_put(cx, out, "logits", y)) return false;
    if (r->phi && !labels && !heed_io_put(cx, out, "window_weights", r->phi)) return false;
    if (r->first.h && !put_states(cx, r, out)) return false;
    return !labels || put_loss(cx, r, labels, y, out);
}

static bool forward(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    struct run r = {.m = own};
    if (!read_strokes(cx, in, &r) || (r.m->windows > 0 && !read_text(cx, in, &r))) return false;
    r.h = heed_mem_new(cx, 2 * (size_t)r.m->layers * sizeof *r.h);
    if (!r.h) return false;
    r.c = r.h + r.m->layers;
    const bool ok = forward_run(cx, &r, in, out);
    heed_mem_free(cx, r.h);
    return ok;
}

/* ---- the family ---- */

static bool sample(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct handwriting *m = own;
    heed_tensor *const strokes = heed_zeros(cx, HEED_F32, 3, (int64_t[]){batch, length, 3});
    heed_tensor *const labels = heed_zeros(cx, HEED_I32, 2, (int64_t[]){batch, length});
    if (!labels || !heed_io_put(cx, in, "strokes", strokes) || !heed_io_put(cx, in, "labels", labels)) return false;
    return m->windows == 0 ||
           heed_io_put(cx, in, "text", heed_zeros(cx, HEED_I32, 2, (int64_t[]){batch, 1 + length / 16}));
}

static const heed_head handwriting_heads[] = {
    {"HandwritingForPrediction", "handwriting", "strokes labels state cell", .build = build_prediction,
     .forward = forward, .sample = sample},
    {"HandwritingForSynthesis", "synthesis handwriting", "strokes text labels state cell kappa window",
     .keys = synthesis_keys, .build = build_synthesis, .forward = forward, .sample = sample},
    {.architecture = NULL},
};

const heed_family family_handwriting = {
    .name = "handwriting",
    .type = "heed-handwriting",
    .paper = "Graves 2013",
    .summary = "LSTMs that predict the next step of a pen, also by a window that slides over a text",
    .notes =
        "Parameters: rnn.N with the names of torch.nn.LSTM, output, with a text also window; offset_mean and "
        "offset_deviation standardise the steps and are not trained. strokes (B,T,3) are (dx, dy, up): up is 1 where "
        "the pen is lifted behind the point. logits (B,T,6M+1) hold, for the point that follows, the end of the stroke "
        "e, P(up) = 1 / (1 + exp(e)), then weights, two means, two logarithms of deviations and the correlation's "
        "inverse tanh of M normal densities. labels (B,T) are up again, and -100 where a point is not predicted. Given "
        "state and cell (layers,B,units), it starts from them and gives them out; so with kappa and window. The cells "
        "are torch's, without the paper's peepholes.",
    .keys = handwriting_keys,
    .heads = handwriting_heads,
    .size = sizeof(struct handwriting),
};
