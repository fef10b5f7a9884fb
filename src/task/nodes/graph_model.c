/* Models of graphs at work: what their configs say, predictions, and measures. */
#include "task/nodes/graph_model.h"
#include "base/ctx.h"
#include "data/graphs/graphs.h"
#include "heed/attend.h"
#include "model/core/config.h"
#include "task/task.h"
#include "train/loop.h"

#include <string.h>

enum { AT_ONCE = 128 }; /* graphs */

/* ---- what a config says ---- */

bool heed_graph_model_is(const heed_model *model) {
    return model && heed_model_takes(model, "edge_index") && heed_model_takes(model, "labels");
}

static bool takes_graphs(const heed_model *model) { return heed_model_takes(model, "batch"); }

static const char *features_kind(heed_ctx *cx, heed_json config) {
    return heed_json_text_or(cx, config, GRAPH_KEY_FEATURES, "given");
}

heed_graph_data *graph_config_data(heed_ctx *cx, heed_json config, bool whole) {
    heed_graph_data *const g = graph_new(cx);
    heed_data known = {.width = heed_json_int(cx, config, "in_channels")};
    if (!g) return NULL;
    const char *const kind = features_kind(cx, config);
    g->whole = whole;
    g->directed = heed_json_bool_or(cx, config, GRAPH_KEY_DIRECTED, false);
    g->classes = heed_json_int(cx, config, "out_channels");
    if (!heed_failed(cx) && strcmp(kind, "given") == 0) {
        schema_columns(cx, config, &known);
        g->width = known.width;
        g->columns = known.columns;
        g->x_names = known.x_names;
        g->categories = known.categories;
    }
    if (!heed_failed(cx)) g->class_names = config_label_names(cx, config, g->classes);
    if (!heed_failed(cx)) return g;
    heed_graph_data_free(cx, g);
    return NULL;
}

heed_graph_data *heed_graph_model_data(heed_ctx *cx, const heed_model *model) {
    if (heed_failed(cx)) return NULL;
    if (!heed_graph_model_is(model))
        return heed_fail(cx, HEED_ERR_USAGE, "graph_model_data: a model that classifies nodes or graphs is needed"),
               NULL;
    return graph_config_data(cx, heed_model_config(model), takes_graphs(model));
}

bool heed_graph_model_prepare(heed_ctx *cx, const heed_model *model, heed_graph_data *g) {
    if (heed_failed(cx)) return false;
    if (!g || !heed_graph_model_is(model))
        return heed_fail(cx, HEED_ERR_USAGE, "graph_model_prepare: a model of graphs, and graphs, are needed");
    const heed_json config = heed_model_config(model);
    const char *const kind = features_kind(cx, config);
    const int64_t width = heed_json_int(cx, config, "in_channels");
    const bool given = strcmp(kind, "given") == 0;
    if (heed_failed(cx)) return false;
    if (!given && g->width > 0)
        return heed_fail(cx, HEED_ERR_SHAPE,
                         "the nodes have %lld features, but the model was trained on nodes without any (%s)",
                         (long long)g->width, kind);
    if (!given && !heed_graph_add_features(cx, g, kind, strcmp(kind, "degree") == 0 ? width : 0)) return false;
    if (g->width != width)
        return given
                   ? heed_fail(cx, HEED_ERR_SHAPE, "%lld features of a node, but the model takes %lld",
                               (long long)g->width, (long long)width)
                   : heed_fail(cx, HEED_ERR_SHAPE,
                               "%lld nodes, but the model knows the %lld that it was trained on by their places alone",
                               (long long)g->nodes, (long long)width);
    return !heed_json_bool_or(cx, config, GRAPH_KEY_NORMALIZE, false) || heed_graph_normalise_rows(cx, g);
}

/* ---- running ---- */

bool graph_run(heed_ctx *cx, const heed_model *model, const heed_io *in, heed_io *out) {
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    const bool ok = heed_model_forward(cx, model, in, out);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    return ok;
}

/* Logits of n rows, as numbers; NULL: it failed, or the context is dry. */
static const float *logits_of(heed_ctx *cx, const heed_io *out, int64_t *classes) {
    const heed_tensor *const logits = heed_contiguous(cx, heed_io_get(out, "logits"));
    if (!logits || cx->config.dry) return NULL;
    *classes = heed_dim(logits, 1);
    return heed_f32(logits);
}

/* (rows, classes) */
static bool put_probabilities(heed_ctx *cx, const heed_io *out, int64_t rows, float *p) {
    int64_t classes = 0;
    const float *const logits = logits_of(cx, out, &classes);
    if (!logits || !task_all_finite(cx, logits, rows * classes)) return false;
    memcpy(p, logits, (size_t)(rows * classes) * sizeof *p);
    for (int64_t i = 0; i < rows; i++) task_softmax(p + i * classes, classes);
    return true;
}

static bool predict_nodes(heed_ctx *cx, const heed_model *model, const heed_graph_data *g, float *p) {
    struct one_graph one;
    heed_io in, out;
    const bool ok = one_graph_make(cx, model, g, &one) && one_graph_put(cx, &one, &in) &&
                    graph_run(cx, model, &in, &out) && put_probabilities(cx, &out, g->nodes, p);
    heed_reset(cx);
    one_graph_free(cx, &one);
    return ok;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static bool predict_graphs(heed_ctx *cx, const heed_model *model, const heed_graph_data *g, float *p) {
    struct graph_batch b;
    heed_io in, out;
    int64_t rows[AT_ONCE];
    bool ok = graph_batch_make(cx, g, NULL, g->graphs, smaller(AT_ONCE, g->graphs), &b);
    b.labelled = false;
    for (int64_t i = 0; ok && i < g->graphs && !heed_cancelled(cx); i += AT_ONCE) {
        const int64_t n = smaller(AT_ONCE, g->graphs - i);
        for (int64_t k = 0; k < n; k++) rows[k] = i + k;
        graph_batch_fill(&b, rows, n);
        ok = graph_batch_put(cx, &b, &in) && graph_run(cx, model, &in, &out) && put_probabilities(cx, &out, n, p);
        p += n * (ok ? heed_dim(heed_io_get(&out, "logits"), 1) : 0);
        heed_reset(cx);
    }
    graph_batch_free(cx, &b);
    return ok && !heed_failed(cx);
}

bool heed_graph_predict(heed_ctx *cx, const heed_model *model, const heed_graph_data *g, float *p) {
    if (heed_failed(cx)) return false;
    if (!g || !p || !heed_graph_model_is(model))
        return heed_fail(cx, HEED_ERR_USAGE, "graph_predict: a model of graphs, graphs, and room are needed");
    return (takes_graphs(model) ? predict_graphs : predict_nodes)(cx, model, g, p);
}

/* ---- measuring ---- */

static int32_t likeliest(const float *logits, int64_t classes) {
    int32_t best = 0;
    for (int64_t k = 1; k < classes; k++)
        if (logits[k] > logits[best]) best = (int32_t)k;
    return best;
}

bool graph_measure_nodes(heed_ctx *cx, const heed_model *model, const struct one_graph *o, int32_t *label,
                         const struct graph_measure *m) {
    const heed_graph_data *const g = o->g;
    heed_io in, out;
    int64_t classes = 0, right = 0;
    for (int64_t i = 0; i < g->nodes; i++) label[i] = HEED_UNLABELLED;
    for (int64_t i = 0; i < m->n; i++) label[m->rows[i]] = g->label[m->rows[i]];
    if (!one_graph_put(cx, o, &in) ||
        !heed_io_put(cx, &in, "labels", graph_numbers(cx, HEED_I32, label, 1, &g->nodes)) ||
        !graph_run(cx, model, &in, &out))
        return false;
    const double loss = (double)heed_item(cx, heed_io_get(&out, "loss"));
    const float *const logits = logits_of(cx, &out, &classes);
    for (int64_t i = 0; logits && i < m->n; i++) {
        const int32_t best = likeliest(logits + m->rows[i] * classes, classes);
        right += best == g->label[m->rows[i]];
        if (m->predicted) m->predicted[i] = best;
    }
    *m->score = (heed_score){.loss = loss, .metric = (double)right / (double)m->n};
    heed_reset(cx);
    return !heed_failed(cx);
}

bool graph_measure_graphs(heed_ctx *cx, const heed_model *model, struct graph_batch *b, const struct graph_measure *m) {
    int64_t right = 0;
    double loss = 0;
    heed_io in, out;
    for (int64_t at = 0; at < m->n && !heed_cancelled(cx); at += b->most_graphs) {
        const int64_t n = smaller(b->most_graphs, m->n - at);
        int64_t classes = 0;
        graph_batch_fill(b, m->rows + at, n);
        if (!graph_batch_put(cx, b, &in) || !graph_run(cx, model, &in, &out)) return false;
        loss += (double)heed_item(cx, heed_io_get(&out, "loss")) * (double)n;
        const float *const logits = logits_of(cx, &out, &classes);
        for (int64_t i = 0; logits && i < n; i++) {
            const int32_t best = likeliest(logits + i * classes, classes);
            right += best == b->label[i];
            if (m->predicted) m->predicted[at + i] = best;
        }
        heed_reset(cx);
    }
    *m->score = (heed_score){.loss = loss / (double)m->n, .metric = (double)right / (double)m->n};
    return !heed_failed(cx);
}
