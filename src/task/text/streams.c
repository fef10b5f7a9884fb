/* Truncated backpropagation (Williams & Peng 1990; Mikolov et al. 2010). The text is cut into as many streams as a
 * batch has rows; update i of an epoch takes window i of all of them, and a row starts from the state in which the last
 * window left it. Values are carried, gradients end at the window.
 *
 * The state that update s starts from and the one that it leaves lie in two places, taken in turn, and both are in the
 * checkpoint: so an update that was interrupted can be done again. */
#include "base/checked.h"
#include "base/ctx.h"
#include "heed/attend.h"
#include "task/run.h"
#include "task/text/lm.h"
#include "tensor/engine.h"
#include "train/forcing.h"
#include <string.h>

#define MAX_STREAMS   16 /* to measure with */
#define LEAST_WINDOWS 32 /* of such a stream: few begin without a state */

/* The states of some rows: of each row those of all layers, h and then c. */
struct states {
    int64_t layers, outputs, units; /* units: of cells, 0: there are none */
    int64_t width;                  /* numbers of a row */
    float *now;                     /* (rows, width) */
};

struct heed_streams {
    heed_streams_opts opts;
    heed_metrics metrics;
    heed_loop_source loop;
    struct states states;
    float *carried; /* (2, batch, width): in turn what updates start from */
    const int32_t *ids;
    int64_t length;  /* tokens of a stream */
    int64_t context; /* of a window */
    int64_t step;    /* of the next update */
};

/* ---- states ---- */

static bool sizes_of(heed_ctx *cx, const heed_model *model, struct states *s) {
    const heed_json config = heed_model_config(model);
    const bool cells = run_has_key(heed_model_family(model), "proj_size");
    if (!heed_model_takes(model, "state"))
        return heed_fail(cx, HEED_ERR_USAGE, "lm: %s has no state to carry from window to window",
                         heed_model_family(model)->name);
    const int64_t units = heed_json_int(cx, config, "hidden_size"),
                  projected = cells ? heed_json_int(cx, config, "proj_size") : 0;
    *s = (struct states){.layers = heed_json_int(cx, config, "num_layers"),
                         .outputs = projected > 0 ? projected : units,
                         .units = cells ? units : 0};
    s->width = s->layers * (s->outputs + s->units);
    return !heed_failed(cx);
}

static float *room_for(heed_ctx *cx, const struct states *s, int64_t rows) {
    size_t bytes;
    if (!size_mul((size_t)rows, (size_t)s->width * sizeof(float), &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "lm: states of %lld streams are too many", (long long)rows), NULL;
    float *const to = heed_mem_new(cx, bytes);
    if (to) memset(to, 0, bytes);
    return to;
}

/* Between numbers at, at + 1, … of each row's state and a tensor (layers,R,n). */
static void exchange(const struct states *s, heed_tensor *t, int64_t at, bool out) {
    const int64_t R = t->shape[1], n = t->shape[2];
    for (int64_t i = 0; i < s->layers * R; i++) {
        float *const mine = s->now + i % R * s->width + at + i / R * n, *const theirs =
                                                                            (float *)(void *)t->data + i * n;
        memcpy(out ? theirs : mine, out ? mine : theirs, (size_t)n * sizeof *mine);
    }
}

static bool put_state(heed_ctx *cx, const struct states *s, const char *name, int64_t at, int64_t rows, int64_t n,
                      heed_io *in) {
    heed_tensor *const t = heed_zeros(cx, HEED_F32, 3, (int64_t[]){s->layers, rows, n});
    if (t && !cx->config.dry) exchange(s, t, at, true);
    return t && heed_io_put(cx, in, name, t);
}

static bool put_states(heed_ctx *cx, const struct states *s, int64_t rows, heed_io *in) {
    return put_state(cx, s, "state", 0, rows, s->outputs, in) &&
           (s->units == 0 || put_state(cx, s, "cell", s->layers * s->outputs, rows, s->units, in));
}

static bool take_state(heed_ctx *cx, const struct states *s, heed_tensor *t, int64_t at) {
    t = t ? heed_contiguous(cx, t) : NULL;
    if (t && !cx->config.dry) exchange(s, t, at, false);
    return t;
}

static bool take_states(heed_ctx *cx, const struct states *s, const heed_io *out) {
    return take_state(cx, s, heed_io_get(out, "state"), 0) &&
           (s->units == 0 || take_state(cx, s, heed_io_get(out, "cell"), s->layers * s->outputs));
}

/* ---- training ---- */

static heed_streams *streams_of(const void *own) { return (heed_streams *)(uintptr_t)own; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t seen(const void *own, int64_t step) {
    const heed_streams *const s = own;
    const int64_t per_epoch = s->loop.per_epoch, tokens = s->length - 1;
    return s->opts.batch * (step / per_epoch * tokens + smaller(step % per_epoch * s->context, tokens));
}

static bool seek(heed_ctx *cx, void *own, int64_t step) {
    (void)cx;
    streams_of(own)->step = step;
    return true;
}

static int64_t next(heed_ctx *cx, void *own) {
    if (heed_failed(cx)) return 0;
    streams_of(own)->step++;
    return 1;
}

/* The states that the update under way starts from, or those that it leaves. */
static struct states states_at(const heed_streams *s, bool after) {
    struct states at = s->states;
    at.now = s->carried + (s->step - 1 + after) % 2 * s->opts.batch * at.width;
    return at;
}

/* Tokens `shift` behind the window's, (B,n). */
static heed_tensor *window(heed_ctx *cx, const heed_streams *s, int64_t from, int64_t n, int64_t shift) {
    const int64_t B = s->opts.batch;
    heed_tensor *const t = heed_zeros(cx, HEED_I32, 2, (int64_t[]){B, n});
    for (int64_t b = 0; t && !cx->config.dry && b < B; b++)
        memcpy((int32_t *)(void *)t->data + b * n, s->ids + b * s->length + from + shift, (size_t)n * sizeof(int32_t));
    return t;
}

static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    const heed_streams *const s = own;
    const int64_t step = s->step - 1, from = step % s->loop.per_epoch * s->context,
                  n = smaller(s->context, s->length - 1 - from);
    const struct states before = states_at(s, false);
    (void)pass;
    *share = 1;
    *in = (heed_io){.loss_only = true};
    if (from == 0 && !cx->config.dry) memset(before.now, 0, (size_t)(s->opts.batch * before.width) * sizeof(float));
    return heed_io_put(cx, in, "input_ids", window(cx, s, from, n, 0)) &&
           heed_io_put(cx, in, "shift_labels", window(cx, s, from, n, 1)) &&
           put_states(cx, &before, s->opts.batch, in) &&
           forcing_put(cx, s->opts.forcing, s->opts.seed, step, NULL, s->opts.batch, n, NULL, in);
}

static bool forward(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out) {
    const struct states after = states_at(own, true);
    return heed_model_forward(cx, model, in, out) && take_states(cx, &after, out);
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const heed_streams_opts *const o = &streams_of(own)->opts;
    return o->measure(cx, o->own, model, test, score);
}

/* Rows that are for validation: those held out of what is trained on, or all. */
static int64_t held_of(const heed_streams_opts *o) {
    return o->valid == o->train ? heed_task_held_out(o->valid) : heed_task_count(o->valid);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score) {
    const heed_streams_opts *const o = &streams_of(own)->opts;
    const int64_t before = heed_task_count(o->valid) - held_of(o);
    int64_t *const rows = loop_rows(cx, NULL, some, n);
    for (int64_t i = 0; rows && i < n; i++) rows[i] += before;
    const bool ok = rows && o->measure_some(cx, o->own, model, rows, n, score);
    heed_mem_free(cx, rows);
    return ok;
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    const heed_streams_opts *const o = &streams_of(own)->opts;
    char train[NOTES_DATA], valid[NOTES_DATA] = "";
    lm_name(o->train, train);
    if (o->valid) lm_name(o->valid, valid);
    notes_put_source(cx, at, train, valid, o->batch, 0);
    if (o->forcing) forcing_settings(cx, o->forcing, at);
    if (o->settings) o->settings(cx, o->own, at);
}

/* ---- making ---- */

heed_streams *heed_streams_new(heed_ctx *cx, const heed_streams_opts *o) {
    struct states states;
    int64_t count = 0, context;
    if (heed_failed(cx)) return NULL;
    const int32_t *const ids = o && o->train ? lm_tokens(o->train, 0, &count, &context) : NULL;
    if (!ids || !o->like || o->batch < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "streams: a text of tokens, a model and a batch are needed"), NULL;
    if (count / o->batch < 2)
        return heed_fail(cx, HEED_ERR_RANGE, "train: --batch: %lld streams of a text of %lld tokens: each needs 2",
                         (long long)o->batch, (long long)count),
               NULL;
    if (!sizes_of(cx, o->like, &states)) return NULL;
    heed_streams *const s = heed_mem_new(cx, sizeof *s);
    if (!s) return NULL;
    *s = (heed_streams){.opts = *o, .states = states, .ids = ids, .length = count / o->batch, .context = context};
    s->carried = room_for(cx, &states, 2 * o->batch);
    if (s->carried && heed_metrics_find(cx, o->metrics, &s->metrics)) {
        const int64_t per_epoch = (s->length - 2) / context + 1;
        s->loop = (heed_loop_source){.own = s,
                                     .unit = "tokens",
                                     .metrics = s->metrics.list,
                                     .per_epoch = per_epoch,
                                     .passes = 1,
                                     .valid = o->valid != NULL,
                                     .test = o->test,
                                     .n_train = o->batch * per_epoch,
                                     .n_valid = o->valid ? held_of(o) : 0,
                                     .n_test = o->n_test,
                                     .plan_from = per_epoch > 1 ? per_epoch - 2 : 0,
                                     .n_plan = 3,
                                     .seen = seen,
                                     .seek = seek,
                                     .next = next,
                                     .feed = feed,
                                     .forward = forward,
                                     .measure = measure,
                                     .measure_some = o->measure_some ? measure_some : NULL,
                                     .settings = settings,
                                     .carried = s->carried,
                                     .n_carried = 2 * o->batch * states.width};
        return s;
    }
    heed_streams_free(cx, s);
    return NULL;
}

void heed_streams_free(heed_ctx *cx, heed_streams *s) {
    if (!s) return;
    heed_mem_free(cx, s->carried);
    heed_mem_free(cx, s);
}

const heed_loop_source *heed_streams_loop(const heed_streams *s) { return s ? &s->loop : NULL; }

/* ---- measuring ---- */

struct measured {
    const int32_t *ids;
    int64_t predicted; /* tokens: all but the first */
    int64_t context, windows;
    int64_t per; /* windows of a stream, the last of which may have fewer */
};

/* Window w of all streams that have one: they are the first. *n: how many; *weight: their tokens. */
static bool put_windows(heed_ctx *cx, const struct measured *m, int64_t w, int64_t *n, int64_t *weight, heed_io *in) {
    const int64_t R = (m->windows - w - 1) / m->per + 1, T = smaller(m->context, m->predicted - w * m->context);
    heed_tensor *const ids = heed_zeros(cx, HEED_I32, 2, (int64_t[]){R, T}),
                       *const next_ids = heed_zeros(cx, HEED_I32, 2, (int64_t[]){R, T}),
                       *const mask = heed_zeros(cx, HEED_I32, 2, (int64_t[]){R, T});
    *n = R;
    *weight = 0;
    if (heed_failed(cx)) return false;
    for (int64_t r = 0; r < R; r++) {
        const int64_t from = (r * m->per + w) * m->context, real = smaller(T, m->predicted - from);
        *weight += real;
        for (int64_t t = 0; t < T && !cx->config.dry; t++) {
            ((int32_t *)(void *)ids->data)[r * T + t] = t < real ? m->ids[from + t] : m->ids[from];
            ((int32_t *)(void *)next_ids->data)[r * T + t] = t < real ? m->ids[from + t + 1] : HEED_NO_LABEL;
            ((int32_t *)(void *)mask->data)[r * T + t] = t < real;
        }
    }
    *in = (heed_io){.loss_only = true};
    return heed_io_put(cx, in, "input_ids", ids) && heed_io_put(cx, in, "shift_labels", next_ids) &&
           (*weight == R * T || heed_io_put(cx, in, "attention_mask", mask));
}

bool streams_measure(heed_ctx *cx, const heed_model *model, const heed_task_data *d, int part, int64_t windows,
                     double *sum, int64_t *tokens) {
    struct measured m = {0};
    struct states s;
    int64_t count;
    m.ids = lm_tokens(d, part, &count, &m.context);
    m.predicted = smaller(count - 1, windows * m.context);
    if (heed_failed(cx) || m.predicted < 1) return !heed_failed(cx);
    m.windows = (m.predicted - 1) / m.context + 1;
    const int64_t fit = m.windows / LEAST_WINDOWS, streams = fit < 1 ? 1 : smaller(fit, MAX_STREAMS);
    m.per = (m.windows - 1) / streams + 1;
    if (!sizes_of(cx, model, &s) || !(s.now = room_for(cx, &s, streams))) return false;
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    for (int64_t w = 0; w < m.per && !heed_cancelled(cx); w++) {
        heed_io in, out;
        int64_t rows, weight;
        if (!put_windows(cx, &m, w, &rows, &weight, &in) || !put_states(cx, &s, rows, &in) ||
            !heed_model_forward(cx, model, &in, &out) || !take_states(cx, &s, &out))
            break;
        *sum += (double)heed_item(cx, heed_io_get(&out, "loss")) * (double)weight;
        *tokens += weight;
        heed_reset(cx);
    }
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    heed_mem_free(cx, s.now);
    return !heed_failed(cx);
}
