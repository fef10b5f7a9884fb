/* From graphs to a model that classifies their nodes, or the graphs themselves. */
#include "task/nodes/graphs_way.h"
#include "base/text.h"
#include "data/graphs/graphs.h"
#include "io/text.h"
#include "task/answers.h"
#include "task/nodes/graph_fields.h"
#include "task/nodes/graph_model.h"
#include "task/nodes/graph_training.h"
#include "task/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct graphs_run {
    heed_graph_data *g, *like; /* like: of --init; NULL: none */
    const char *features;      /* the kind that the nodes have now */
    bool normalised;
    int64_t *rows[GRAPH_SETS], n[GRAPH_SETS];
    struct graph_training *training;
};

static struct graphs_run *graphs_of(const heed_run *r) { return r->user; }
static bool whole(const heed_run *r) { return r->task == &task_of_graphs; }

/* ---- what a family begins with ---- to classify nodes: the settings of the papers */

struct family_defaults {
    const char *family;
    const char *settings[8];     /* NULL at the end */
    const char *lr, *decay_only; /* NULL: the task's, and all */
};

static const struct family_defaults *defaults_of(const heed_run *r) {
    static const struct family_defaults all[] = {
        /* Kipf & Welling 2017 */
        {"gcn", {"hidden_channels=16", "dropout=0.5", "input_dropout=0.5"}, NULL, "convs.0.*"},
        /* Velickovic et al. 2018: 8 heads of 8 numbers */
        {"gat",
         {"hidden_channels=64", "heads=8", "out_heads=1", "dropout=0.6", "input_dropout=0.6", "act=elu"},
         "0.005",
         NULL},
        {"gatv2",
         {"hidden_channels=64", "heads=8", "out_heads=1", "dropout=0.6", "input_dropout=0.6", "act=elu"},
         "0.005",
         NULL},
        {NULL, {"hidden_channels=64", "dropout=0.5"}, NULL, NULL}};
    const struct family_defaults *d = all;
    while (d->family && strcmp(d->family, r->family->name) != 0) d++;
    return d;
}

/* ---- options ---- */

static bool check(heed_run *r) {
    static const char *const batches[] = {"batch", "micro-batch", "accumulate"};
    char why[FIELD_WHY];
    if (!graph_fields_fit(r->values, why)) return run_option_misused(r, "%s", why);
    for (int i = 0; !whole(r) && i < 3; i++)
        if (run_given(r, batches[i]))
            return run_option_misused(r, "--%s: an update takes the whole graph, so there are no batches", batches[i]);
    return true;
}

/* ---- the data ---- */

static bool read_graphs(heed_run *r, struct graphs_run *u) {
    const char *const *drop = NULL;
    const char *dropped[64] = {NULL};
    const int n = run_list(r, "drop", &drop);
    for (int i = 0; i < n && i < 63; i++) dropped[i] = drop[i];
    if (r->init) u->like = graph_config_data(r->cx, heed_directory_config(r->init), whole(r));
    const heed_graph_data_opts opts = {.whole = whole(r),
                                       .directed = run_flag(r, "directed"),
                                       .target = run_text(r, "target"),
                                       .drop = n > 0 ? dropped : NULL,
                                       .like = u->like};
    if (!heed_failed(r->cx)) u->g = graph_fields_load(r->cx, r->values, r->path, &opts);
    return u->g &&
           (u->g->label || heed_fail(r->cx, HEED_ERR_FORMAT,
                                     "%s: there are no labels to learn: a column %s%s is expected, and --target "
                                     "names another",
                                     r->path, whole(r) ? "graph_label, or a table graphs.tsv with label" : "label",
                                     whole(r) ? "," : ""));
}

/* What the file says, or a random draw. */
static bool split(heed_run *r, struct graphs_run *u) {
    static const heed_graph_part parts[GRAPH_SETS] = {HEED_GRAPH_TRAIN, HEED_GRAPH_VALID, HEED_GRAPH_TEST};
    heed_graph_data *const g = u->g;
    const int64_t all = graph_labelled(g);
    int64_t known = 0;
    for (int64_t i = 0; i < all; i++) known += g->label[i] >= 0;
    if ((!g->part || run_given(r, "train-per-class") || run_given(r, "valid")) &&
        !heed_graph_split(r->cx, g, run_int(r, "train-per-class"), run_held_out(r, known), heed_seed(r->cx)))
        return false;
    for (int k = 0; k < GRAPH_SETS; k++) {
        int64_t *const rows = u->rows[k] = heed_graph_rows(r->cx, g, parts[k], &u->n[k]);
        int64_t kept = 0;
        for (int64_t i = 0; rows && i < u->n[k]; i++)
            if (g->label[rows[i]] >= 0) rows[kept++] = rows[i];
        u->n[k] = kept;
    }
    return !heed_failed(r->cx) &&
           (u->n[GRAPH_SET_TRAIN] > 0 ||
            heed_fail(r->cx, HEED_ERR_FORMAT, "%s: no %s with a label is to train on", r->path, graph_unit(g)));
}

/* Bags of words are 0 and 1 alone, and are no columns of a table. */
static bool are_bags(const heed_graph_data *g) {
    const float *const x = g->start ? g->value : g->x;
    const int64_t n = g->start ? g->start[g->nodes] : g->nodes * g->width;
    if (g->width == 0 || g->columns > 0) return false;
    for (int64_t i = 0; i < n; i++)
        if (x[i] != 0 && x[i] != 1) return false;
    return true;
}

static bool make_features(heed_run *r, struct graphs_run *u) {
    const char *const asked = run_text(r, "features"), *const normalise = run_text(r, "normalize");
    const bool given = u->g->width > 0, bags = are_bags(u->g);
    u->features = asked ? asked : given ? "given" : whole(r) ? "degree" : "identity";
    if (strcmp(u->features, "given") == 0 && !given)
        return heed_fail(r->cx, HEED_ERR_FORMAT,
                         "%s: the nodes have no features; --features identity, degree or constant "
                         "makes some up",
                         r->path);
    if (strcmp(u->features, "given") != 0 && given)
        return heed_fail(r->cx, HEED_ERR_USAGE,
                         "train: --features %s: the nodes of %s have features; --drop leaves columns out", u->features,
                         r->path);
    if (!given && !heed_graph_add_features(r->cx, u->g, u->features, 0)) return false;
    u->normalised = normalise ? strcmp(normalise, "rows") == 0 : bags;
    return !u->normalised || heed_graph_normalise_rows(r->cx, u->g);
}

static bool load(heed_run *r) {
    struct graphs_run *const u = heed_mem_new(r->cx, sizeof *u);
    if (!u) return false;
    *u = (struct graphs_run){.g = NULL};
    r->user = u;
    if (!read_graphs(r, u) || !split(r, u)) return false;
    if (u->g->classes < 2) return heed_fail(r->cx, HEED_ERR_USAGE, "%s: all labels are of one class", r->path);
    return make_features(r, u);
}

/* ---- the model ---- */

/* What the config keeps of the data. */
static bool describe(heed_ctx *cx, const struct graphs_run *u, heed_model *model) {
    const heed_graph_data *const g = u->g;
    const heed_data data = {.x_names = g->x_names,
                            .categories = g->categories,
                            .columns = g->columns,
                            .label = g->label,
                            .classes = g->classes,
                            .class_names = g->class_names};
    const heed_json config = heed_model_config(model);
    return heed_model_describe(cx, model, &data) && heed_json_put_text(cx, config, GRAPH_KEY_FEATURES, u->features) &&
           heed_json_put_bool(cx, config, GRAPH_KEY_NORMALIZE, u->normalised) &&
           heed_json_put_bool(cx, config, GRAPH_KEY_DIRECTED, g->directed);
}

static bool choose_decay(const heed_run *r, heed_ctx *cx, heed_params *params) {
    const char *const *patterns, *const own = whole(r) ? NULL : defaults_of(r)->decay_only;
    const int n = run_list(r, "decay-only", &patterns);
    if (n > 0) return heed_params_decay_only(cx, params, patterns, n) > 0 || !heed_failed(cx);
    return !own || heed_params_decay_only(cx, params, &own, 1) > 0;
}

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct graphs_run *const u = graphs_of(r);
    const struct family_defaults *const d = defaults_of(r);
    struct settings fresh = {.n = 0}, kept = {.n = 0};
    char sizes[2][48];
    snprintf(sizes[0], sizeof sizes[0], "in_channels=%lld", (long long)u->g->width);
    snprintf(sizes[1], sizeof sizes[1], "out_channels=%lld", (long long)u->g->classes);
    for (int i = 0; i < 2; i++) fresh.text[fresh.n++] = sizes[i];
    if (whole(r)) {
        fresh.text[fresh.n++] = "hidden_channels=64";
        fresh.text[fresh.n++] = "num_layers=3";
        fresh.text[fresh.n++] = "pooling=sum";
    }
    for (int i = 0; !whole(r) && d->settings[i]; i++) fresh.text[fresh.n++] = d->settings[i];
    heed_model *const model = run_make_model(r, cx, &fresh, &kept);
    if (model && describe(cx, u, model) && choose_decay(r, cx, heed_model_params(model))) return model;
    heed_model_free(cx, model);
    return NULL;
}

/* ---- the run ---- */

static bool plan(heed_run *r) {
    struct graphs_run *const u = graphs_of(r);
    struct run_batch b = {.batch = 1};
    const char *const lr = defaults_of(r)->lr;
    if (whole(r) && !run_batch(r, run_int(r, "batch"), u->n[GRAPH_SET_TRAIN], "graph", "graphs", &b)) return false;
    if (!whole(r) && lr && !run_given(r, "lr")) r->loop.trainer.schedule.lr = strtod(lr, NULL);
    struct graph_training_opts opts = {
        .g = u->g, .model = run_draft(r), .batch = b.batch, .micro_batch = b.micro_batch, .seed = heed_seed(r->cx)};
    const char *const *patterns;
    for (int i = 0, n = run_list(r, "decay-only", &patterns); i < n && i < 7; i++) {
        opts.settings[i][0] = "decay-only";
        opts.settings[i][1] = patterns[i];
    }
    for (int k = 0; k < GRAPH_SETS; k++) opts.rows[k] = u->rows[k], opts.n[k] = u->n[k];
    u->training = opts.model ? graph_training_new(r->cx, &opts) : NULL;
    r->loop.source = graph_training_source(u->training);
    return r->loop.source;
}

/* As a person counts them: both directions are one edge, unless it has directions. */
static int64_t edges_of(const heed_graph_data *g) {
    int64_t loops = 0;
    for (int64_t i = 0; i < g->edges; i++) loops += g->edge[i] == g->edge[g->edges + i];
    return g->directed ? g->edges : (g->edges + loops) / 2;
}

static bool begin(heed_run *r) {
    const struct graphs_run *const u = graphs_of(r);
    const heed_graph_data *const g = u->g;
    const bool given = strcmp(u->features, "given") == 0;
    char count[48], nodes[48], edges[48], more[256];
    snprintf(more, sizeof more, "%s, %s, %lld features%s%s%s; ", text_count(g->nodes, "node", "nodes", nodes),
             text_count(edges_of(g), "edge", "edges", edges), (long long)g->width, given ? "" : " (",
             given ? "" : u->features, given ? "" : ")");
    run_say_sets(r, text_count(u->n[GRAPH_SET_TRAIN], graph_unit(g), g->whole ? "graphs" : "nodes", count),
                 u->n[GRAPH_SET_VALID], u->n[GRAPH_SET_TEST], more);
    return !heed_failed(r->cx);
}

static void free_graphs(heed_run *r) {
    struct graphs_run *const u = graphs_of(r);
    graph_training_free(r->cx, u->training);
    for (int k = 0; k < GRAPH_SETS; k++) heed_mem_free(r->cx, u->rows[k]);
    heed_graph_data_free(r->cx, u->like);
    heed_graph_data_free(r->cx, u->g);
    heed_mem_free(r->cx, u);
}

/* ---- answers ---- of a node (or graph) of the training data, by its name */

static bool answer(heed_run *r, const char *example, heed_json at) {
    heed_ctx *const cx = r->cx;
    const heed_graph_data *const g = graphs_of(r)->g;
    const int64_t n = graph_labelled(g);
    char number[24];
    int64_t i = 0;
    while (i < n && strcmp((g->whole ? heed_graph_name : heed_graph_node_name)(g, i, number), example) != 0) i++;
    if (i == n)
        return heed_fail(cx, HEED_ERR_USAGE, "run_answer: there is no %s '%s' in %s", graph_unit(g), escaped(example).s,
                         r->path);
    float *const p = data_room(cx, n, g->classes, sizeof *p);
    const bool ok = p && heed_graph_predict(cx, r->model, g, p);
    if (ok) answer_put_best(cx, at, g->class_names, p + i * g->classes, g->classes);
    if (ok) answer_put_scores(cx, at, g->class_names, p + i * g->classes, g->classes);
    heed_mem_free(cx, p);
    return ok && !heed_failed(cx);
}

/* ---- measuring ---- */

struct measured {
    heed_graph_data *g, *like;
    heed_data truth;
    int64_t *rows;
    int32_t *predicted, *room;
};

static void free_measured(heed_ctx *cx, void *own) {
    struct measured *const m = own;
    heed_mem_free(cx, m->truth.label);
    heed_mem_free(cx, m->room);
    heed_mem_free(cx, m->predicted);
    heed_mem_free(cx, m->rows);
    heed_graph_data_free(cx, m->like);
    heed_graph_data_free(cx, m->g);
    heed_mem_free(cx, m);
}

/* Those of the part, or all, where the file has no parts. */
static bool choose_rows(heed_run *r, const char *part, struct measured *m) {
    const heed_graph_data *const g = m->g;
    const int64_t all = graph_labelled(g);
    const int wanted = graph_part_of(part);
    int64_t n = 0;
    m->rows = data_room(r->cx, all, 1, sizeof *m->rows);
    m->truth.label = data_room(r->cx, all, 1, sizeof *m->truth.label);
    m->predicted = data_room(r->cx, all, 1, sizeof *m->predicted);
    m->room = data_room(r->cx, g->nodes, 1, sizeof *m->room);
    if (!m->room) return false;
    for (int64_t i = 0; i < all; i++)
        if (g->label[i] >= 0 && (!g->part || g->part[i] == wanted)) {
            m->truth.label[n] = g->label[i];
            m->rows[n++] = i;
        }
    m->truth.n = n;
    m->truth.classes = m->like->classes;
    m->truth.class_names = m->like->class_names;
    return n > 0 || heed_fail(r->cx, HEED_ERR_FORMAT, "%s: no %s with a label is of the part '%s'", r->path,
                              graph_unit(g), part);
}

static bool measure(heed_run *r, const heed_model *model, struct measured *m, heed_score *score) {
    const struct graph_measure what = {m->rows, m->truth.n, score, m->predicted};
    struct one_graph one;
    struct graph_batch b;
    bool ok;
    if (m->g->whole) {
        const int64_t most = run_int(r, "batch") < m->g->graphs ? run_int(r, "batch") : m->g->graphs;
        ok = graph_batch_make(r->cx, m->g, NULL, m->g->graphs, most, &b) &&
             graph_measure_graphs(r->cx, model, &b, &what);
        graph_batch_free(r->cx, &b);
    } else {
        ok = one_graph_make(r->cx, model, m->g, &one) && graph_measure_nodes(r->cx, model, &one, m->room, &what);
        one_graph_free(r->cx, &one);
    }
    return ok &&
           (isfinite(score->loss) || heed_fail(r->cx, HEED_ERR_RANGE, "%s: the loss is not a finite number", r->dir));
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    heed_model *const model = heed_directory_model(r->cx, r->measured, &(heed_load_opts){.map = true});
    struct measured *const m = model ? evaluation_room(r->cx, to, sizeof *m, free_measured) : NULL;
    char why[FIELD_WHY];
    if (m && !graph_fields_fit(r->values, why)) heed_fail(r->cx, HEED_ERR_USAGE, "eval: %s", why);
    if (m) m->like = heed_graph_model_data(r->cx, model);
    if (m && m->like) {
        const heed_graph_data_opts opts = {
            .whole = m->like->whole, .directed = m->like->directed, .target = run_text(r, "target"), .like = m->like};
        m->g = graph_fields_load(r->cx, r->values, r->path, &opts);
    }
    if (m && m->g && !m->g->label) heed_fail(r->cx, HEED_ERR_FORMAT, "%s: there are no labels to measure by", r->path);
    const bool ok = m && m->g && !heed_failed(r->cx) &&
                    (heed_graph_model_prepare(r->cx, model, m->g) || heed_fail_in(r->cx, "%s", r->path)) &&
                    choose_rows(r, part, m) && measure(r, model, m, &to->score) &&
                    heed_metrics_find(r->cx, "accuracy", &to->metrics);
    if (ok) {
        to->n = m->truth.n;
        to->one = m->g->whole ? "graph" : "node";
        to->many = m->g->whole ? "graphs" : "nodes";
        to->truth = &m->truth;
        to->label = m->predicted;
    }
    heed_model_free(r->cx, model);
    return ok;
}

const struct task_way way_graphs = {.what = "graphs",
                                    .check = check,
                                    .load = load,
                                    .plan = plan,
                                    .model_of = new_model,
                                    .begin = begin,
                                    .answer = answer,
                                    .evaluate = evaluate,
                                    .free = free_graphs};
