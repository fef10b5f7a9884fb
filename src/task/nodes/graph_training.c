/* Graphs as the loop's source. Nodes: the whole graph is one batch, one update an epoch, and the loss is that of the
 * nodes to train on. Graphs: epochs are permutations, cut into batches of graphs side by side. */
#include "task/nodes/graph_training.h"
#include "base/ctx.h"
#include "data/graphs/graphs.h"
#include "task/nodes/graph_model.h"
#include "task/vision/micro_batches.h"
#include "train/loop.h"

#include <string.h>

#define MEASURED_AT_ONCE 128 /* graphs */

struct graph_training {
    struct graph_training_opts opts;
    heed_metrics metrics;
    heed_loop_source loop;
    /* nodes */
    struct one_graph one;
    int32_t *label, *measured; /* (nodes) of the nodes to train on, and room for those that are measured */
    /* graphs */
    struct micro_batches cut;
    struct graph_batch batch, some; /* to train on, and to measure */
    int64_t *order, ordered;        /* of epoch `ordered`, -1: none */
    int64_t number;                 /* of the next micro-batch */
    char train[NOTES_DATA], valid[NOTES_DATA];
};

/* ---- one graph ---- */

static int64_t seen_nodes(const void *own, int64_t step) {
    return step * ((const struct graph_training *)own)->opts.n[GRAPH_SET_TRAIN];
}

static bool seek_nodes(heed_ctx *cx, void *own, int64_t step) {
    (void)own, (void)step;
    return !heed_failed(cx);
}
static int64_t next_nodes(heed_ctx *cx, void *own) {
    (void)own;
    return heed_failed(cx) ? 0 : 1;
}

static bool feed_nodes(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    const struct graph_training *const t = own;
    (void)pass;
    *share = 1;
    return one_graph_put(cx, &t->one, in) &&
           heed_io_put(cx, in, "labels", graph_numbers(cx, HEED_I32, t->label, 1, &t->opts.g->nodes));
}

/* ---- batches of graphs ---- */

static int64_t seen_graphs(const void *own, int64_t step) {
    const struct graph_training *const t = own;
    const int64_t rest = step % t->cut.batches * t->cut.batch;
    return step / t->cut.batches * t->cut.n + (rest < t->cut.n ? rest : t->cut.n);
}

static bool seek_graphs(heed_ctx *cx, void *own, int64_t step) {
    struct graph_training *const t = own;
    t->number = micro_batches_from(&t->cut, step);
    return !heed_failed(cx);
}

static int64_t next_graphs(heed_ctx *cx, void *own) {
    const struct graph_training *const t = own;
    return heed_failed(cx) ? 0 : micro_batches_at(&t->cut, t->number).parts;
}

/* A plan takes the largest graphs that may come together. */
static bool feed_graphs(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    struct graph_training *const t = own;
    const struct micro_batch m = micro_batches_at(&t->cut, t->number++);
    int64_t *const rows = t->order + t->cut.n;
    (void)pass;
    *share = m.n == m.total ? 1.0F : (float)m.n / (float)m.total;
    if (cx->config.dry) {
        graph_batch_fill_up(&t->batch, m.n);
        return graph_batch_put(cx, &t->batch, in);
    }
    if (t->ordered != m.epoch) heed_random_permutation(t->opts.seed, (uint64_t)m.epoch, t->order, t->cut.n);
    t->ordered = m.epoch;
    for (int64_t i = 0; i < m.n; i++) rows[i] = t->opts.rows[GRAPH_SET_TRAIN][t->order[m.at + i]];
    graph_batch_fill(&t->batch, rows, m.n);
    return graph_batch_put(cx, &t->batch, in);
}

/* ---- measuring ---- */

static bool measure_rows(heed_ctx *cx, struct graph_training *t, const heed_model *model, const int64_t *rows,
                         int64_t n, heed_score *score) {
    const struct graph_measure m = {.rows = rows, .n = n, .score = score};
    return t->opts.g->whole ? graph_measure_graphs(cx, model, &t->some, &m)
                            : graph_measure_nodes(cx, model, &t->one, t->measured, &m);
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    struct graph_training *const t = own;
    const enum graph_set set = test ? GRAPH_SET_TEST : GRAPH_SET_VALID;
    return measure_rows(cx, t, model, t->opts.rows[set], t->opts.n[set], score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score) {
    struct graph_training *const t = own;
    int64_t *const rows = loop_rows(cx, t->opts.rows[GRAPH_SET_VALID], some, n);
    const bool ok = rows && measure_rows(cx, t, model, rows, n, score);
    heed_mem_free(cx, rows);
    return ok;
}

/* ---- what a checkpoint must agree with ---- */

static uint64_t mix(uint64_t hash, const void *data, int64_t n, size_t size) {
    return data ? notes_mix(hash + (uint64_t)n, data, (size_t)n * size) : hash;
}

static uint64_t hash_of(const heed_graph_data *g) {
    uint64_t hash = mix(0, g->node_start, g->graphs + 1, sizeof *g->node_start);
    hash = mix(hash, g->edge, 2 * g->edges, sizeof *g->edge);
    hash = mix(hash, g->weight, g->edges, sizeof *g->weight);
    hash = mix(hash, g->x, g->nodes * g->width, sizeof *g->x);
    hash = mix(hash, g->start, g->nodes + 1, sizeof *g->start);
    hash = mix(hash, g->column, g->start ? g->start[g->nodes] : 0, sizeof *g->column);
    hash = mix(hash, g->value, g->start ? g->start[g->nodes] : 0, sizeof *g->value);
    return mix(hash, g->label, graph_labelled(g), sizeof *g->label);
}

static void describe(const struct graph_training *t, char text[NOTES_DATA], enum graph_set set) {
    const uint64_t hash = mix(hash_of(t->opts.g), t->opts.rows[set], t->opts.n[set], sizeof(int64_t));
    if (t->opts.n[set] > 0 && !*text)
        notes_name_data(text, t->opts.n[set], t->opts.g->whole ? "graphs" : "nodes", hash);
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    struct graph_training *const t = own;
    describe(t, t->train, GRAPH_SET_TRAIN);
    describe(t, t->valid, GRAPH_SET_VALID);
    notes_put_source(cx, at, t->train, t->valid, t->opts.batch, t->opts.micro_batch);
    for (int i = 0; t->opts.settings[i][0]; i++)
        heed_json_put_text(cx, at, t->opts.settings[i][0], t->opts.settings[i][1]);
}

/* ---- making ---- */

static bool open_nodes(heed_ctx *cx, struct graph_training *t) {
    const heed_graph_data *const g = t->opts.g;
    t->label = data_room(cx, g->nodes, 1, sizeof *t->label);
    t->measured = data_room(cx, g->nodes, 1, sizeof *t->measured);
    for (int64_t i = 0; t->measured && i < g->nodes; i++) t->label[i] = HEED_UNLABELLED;
    for (int64_t i = 0; t->measured && i < t->opts.n[GRAPH_SET_TRAIN]; i++)
        t->label[t->opts.rows[GRAPH_SET_TRAIN][i]] = g->label[t->opts.rows[GRAPH_SET_TRAIN][i]];
    t->loop.per_epoch = t->loop.passes = t->loop.n_plan = 1;
    t->loop.seen = seen_nodes;
    t->loop.seek = seek_nodes;
    t->loop.next = next_nodes;
    t->loop.feed = feed_nodes;
    return t->measured && one_graph_make(cx, t->opts.model, g, &t->one);
}

static bool open_graphs(heed_ctx *cx, struct graph_training *t) {
    const struct graph_training_opts *const o = &t->opts;
    const int64_t n = o->n[GRAPH_SET_TRAIN],
                  measured = MEASURED_AT_ONCE < o->g->graphs ? MEASURED_AT_ONCE : o->g->graphs;
    t->cut = micro_batches_of(n, o->batch, o->micro_batch);
    t->ordered = -1;
    t->order = data_room(cx, n + t->cut.micro, 1, sizeof *t->order);
    t->loop.per_epoch = t->cut.batches;
    t->loop.passes = t->cut.parts;
    t->loop.n_plan = 1;
    t->loop.seen = seen_graphs;
    t->loop.seek = seek_graphs;
    t->loop.next = next_graphs;
    t->loop.feed = feed_graphs;
    return t->order && graph_batch_make(cx, o->g, o->rows[GRAPH_SET_TRAIN], n, t->cut.micro, &t->batch) &&
           graph_batch_make(cx, o->g, NULL, o->g->graphs, measured, &t->some);
}

struct graph_training *graph_training_new(heed_ctx *cx, const struct graph_training_opts *opts) {
    struct graph_training *const t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (struct graph_training){.opts = *opts};
    t->loop = (heed_loop_source){.own = t,
                                 .unit = "examples",
                                 .metrics = t->metrics.list,
                                 .valid = opts->n[GRAPH_SET_VALID] > 0,
                                 .test = opts->n[GRAPH_SET_TEST] > 0,
                                 .n_train = opts->n[GRAPH_SET_TRAIN],
                                 .n_valid = opts->n[GRAPH_SET_VALID],
                                 .n_test = opts->n[GRAPH_SET_TEST],
                                 .measure = measure,
                                 .measure_some = measure_some,
                                 .settings = settings};
    if ((opts->g->whole ? open_graphs : open_nodes)(cx, t) && heed_metrics_find(cx, "accuracy", &t->metrics)) {
        t->opts.model = NULL;
        return t;
    }
    graph_training_free(cx, t);
    return NULL;
}

void graph_training_free(heed_ctx *cx, struct graph_training *t) {
    if (!t) return;
    graph_batch_free(cx, &t->some);
    graph_batch_free(cx, &t->batch);
    heed_mem_free(cx, t->order);
    one_graph_free(cx, &t->one);
    heed_mem_free(cx, t->measured);
    heed_mem_free(cx, t->label);
    heed_mem_free(cx, t);
}

const heed_loop_source *graph_training_source(const struct graph_training *t) { return t ? &t->loop : NULL; }
