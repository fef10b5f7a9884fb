/* Stacks of recurrent layers, as torch.nn.RNN, GRU and LSTM: deep, in both directions, with projections. */
#include "heed/nn.h"
#include "tensor/engine.h"
#include <stdio.h>

static int directions_of(const heed_rnn_opts *o) { return o->bidirectional ? 2 : 1; }
static int64_t outputs_of(const heed_rnn_opts *o) { return o->projection > 0 ? o->projection : o->units; }

/* ---- parameters ---- */

/* Everything is drawn between -1 / sqrt(H) and 1 / sqrt(H), but for what `forget_bias` adds. */
static heed_param *weight(heed_ctx *cx, heed_params *set, const char *prefix, const heed_rnn_opts *o, const char *what,
                          int index, int rank, int64_t rows, int64_t cols) {
    char name[64];
    const int directions = directions_of(o);
    snprintf(name, sizeof name, "%s_l%d%s", what, index / directions, index % directions ? "_reverse" : "");
    return heed_param_add(cx, set, prefix, name, rank, (int64_t[]){rows, cols},
                          (heed_init){HEED_INIT_FAN_IN_UNIFORM, (float)o->units, 0});
}

static bool check_opts(heed_ctx *cx, const heed_rnn_opts *o) {
    if ((int)o->kind < 0 || (int)o->kind > HEED_LSTM)
        return heed_fail(cx, HEED_ERR_USAGE, "rnn: %d is not a kind of cell", (int)o->kind);
    if (o->inputs < 1 || o->units < 1 || o->layers < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "rnn: inputs, units and layers are at least 1, not %lld, %lld and %d",
                         (long long)o->inputs, (long long)o->units, o->layers);
    if (o->projection < 0 || o->projection >= o->units || (o->projection > 0 && o->kind != HEED_LSTM))
        return heed_fail(cx, HEED_ERR_USAGE,
                         "rnn: a projection is an LSTM's, to fewer than its %lld units, not to %lld",
                         (long long)o->units, (long long)o->projection);
    if (!(o->dropout >= 0 && o->dropout <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "rnn: dropout %g is not between 0 and 1", (double)o->dropout);
    return true;
}

bool heed_rnn_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_rnn_opts *opts, heed_rnn *rnn) {
    if (heed_failed(cx)) return false;
    if (!opts || !rnn) return heed_fail(cx, HEED_ERR_USAGE, "rnn: options and a layer are needed");
    if (!check_opts(cx, opts)) return false;
    const int directions = directions_of(opts);
    const int64_t gates = (opts->kind == HEED_LSTM ? 4 : opts->kind == HEED_GRU ? 3 : 1) * opts->units;
    const int64_t outputs = outputs_of(opts);
    *rnn = (heed_rnn){.opts = *opts};
    rnn->cell = heed_params_alloc(cx, set, (size_t)opts->layers * (size_t)directions, sizeof *rnn->cell);
    for (int i = 0; rnn->cell && i < opts->layers * directions; i++) {
        heed_rnn_cell *cell = &rnn->cell[i];
        const int64_t inputs = i < directions ? opts->inputs : directions * outputs;
        cell->w_ih = weight(cx, set, prefix, opts, "weight_ih", i, 2, gates, inputs);
        cell->w_hh = weight(cx, set, prefix, opts, "weight_hh", i, 2, gates, outputs);
        if (opts->bias) {
            cell->b_ih = weight(cx, set, prefix, opts, "bias_ih", i, 1, gates, 0);
            cell->b_hh = weight(cx, set, prefix, opts, "bias_hh", i, 1, gates, 0);
            if (cell->b_ih && opts->kind == HEED_LSTM)
                cell->b_ih->init = (heed_init){HEED_INIT_LSTM_BIAS, (float)opts->units, opts->forget_bias};
        }
        if (opts->projection > 0) cell->w_hr = weight(cx, set, prefix, opts, "weight_hr", i, 2, outputs, opts->units);
        if (heed_failed(cx)) return false;
    }
    return !heed_failed(cx);
}

/* ---- running ---- */

/* Layer i's part of the states (layers, B, n); NULL where there are none. */
static heed_tensor *state_of(heed_ctx *cx, heed_tensor *states, int i) {
    if (!states) return NULL;
    return heed_reshape(cx, heed_slice(cx, states, 0, i, 1), 2, (int64_t[]){states->shape[1], states->shape[2]});
}

static bool check_states(heed_ctx *cx, const heed_tensor *t, const char *what, int64_t cells, int64_t rows,
                         int64_t width) {
    if (!t || (t->rank == 3 && t->shape[0] == cells && t->shape[1] == rows && t->shape[2] == width)) return true;
    return heed_fail(cx, HEED_ERR_SHAPE, "rnn: initial states %s have shape %s, not (%lld,%lld,%lld)", what,
                     heed_shape_text(t).s, (long long)cells, (long long)rows, (long long)width);
}

struct run {
    const heed_rnn *rnn;
    heed_tensor *lengths;
    const heed_rnn_state *first;
    heed_tensor **h, **c; /* the last states of each cell; NULL: nobody asks */
};

static heed_tensor *run_cell(heed_ctx *cx, const struct run *run, int i, heed_tensor *x) {
    const heed_rnn_cell *cell = &run->rnn->cell[i];
    const heed_rnn_opts *o = &run->rnn->opts;
    const bool lstm = o->kind == HEED_LSTM;
    const heed_cell_weights weights = {.w_ih = heed_param_weight(cx, cell->w_ih),
                                       .w_hh = heed_param_weight(cx, cell->w_hh),
                                       .b_ih = cell->b_ih ? heed_param_tensor(cx, cell->b_ih) : NULL,
                                       .b_hh = cell->b_hh ? heed_param_tensor(cx, cell->b_hh) : NULL,
                                       .w_hr = cell->w_hr ? heed_param_weight(cx, cell->w_hr) : NULL};
    const heed_recurrent_opts opts = {.h0 = run->first ? state_of(cx, run->first->h, i) : NULL,
                                      .c0 = run->first && lstm ? state_of(cx, run->first->c, i) : NULL,
                                      .lengths = run->lengths,
                                      .reverse = o->bidirectional && i % 2};
    return heed_recurrent(cx, o->kind, x, &weights, &opts, run->h ? &run->h[i] : NULL,
                          run->c && lstm ? &run->c[i] : NULL);
}

static heed_tensor *run_layers(heed_ctx *cx, const struct run *run, heed_tensor *x) {
    const heed_rnn_opts *o = &run->rnn->opts;
    const int directions = directions_of(o);
    for (int i = 0; i < o->layers; i++) {
        heed_tensor *y[2] = {NULL};
        if (i > 0) x = heed_dropout(cx, x, o->dropout);
        for (int d = 0; d < directions; d++) y[d] = run_cell(cx, run, i * directions + d, x);
        x = directions == 2 ? heed_concat(cx, y, 2, 2) : y[0];
    }
    return x;
}

heed_tensor *heed_rnn_run(heed_ctx *cx, const heed_rnn *rnn, heed_tensor *x, heed_tensor *lengths,
                          const heed_rnn_state *first, heed_rnn_state *last) {
    if (last) *last = (heed_rnn_state){0};
    if (heed_failed(cx) || !x) return NULL;
    if (!rnn || !rnn->cell) {
        heed_fail(cx, HEED_ERR_USAGE, "rnn: the layer is NULL or was not made");
        return NULL;
    }
    const heed_rnn_opts *o = &rnn->opts;
    const int cells = o->layers * directions_of(o);
    if (first && x->rank == 3 &&
        (!check_states(cx, first->h, "h", cells, x->shape[0], outputs_of(o)) ||
         !check_states(cx, first->c, "c", cells, x->shape[0], o->units)))
        return NULL;
    heed_tensor **states = last ? heed_mem_new(cx, 2 * (size_t)cells * sizeof *states) : NULL;
    if (last && !states) return NULL;
    const struct run run = {rnn, lengths, first, states, states ? states + cells : NULL};
    x = run_layers(cx, &run, x);
    if (x && last) {
        last->h = heed_stack(cx, run.h, cells, 0);
        if (o->kind == HEED_LSTM) last->c = heed_stack(cx, run.c, cells, 0);
        if (heed_failed(cx)) x = NULL;
    }
    heed_mem_free(cx, states);
    return x;
}
