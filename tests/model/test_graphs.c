/* Graph networks beyond the golden directories: nodes and edges in another order, on whole numbers exactly; a graph
 * that is sorted once, and sparse features, give what the plain inputs give; wrong input has its sentence. */
#include "heed/graphs.h"
#include "io/io_test.h"
#include <math.h>

enum { N = 7, E = 16, F = 4, OUT = 3 };
static const char *const families[] = {"gcn", "gat", "gatv2", "sage", "gin", "graphconv"};
enum { FAMILIES = sizeof families / sizeof *families };

static const int32_t edges[2 * E] = {0, 1, 1, 2, 3, 3, 0, 4, 5, 5, 2, 1, 1, 4, 0, 3, /* from */
                                     1, 0, 2, 1, 3, 0, 3, 5, 4, 5, 0, 2, 2, 0, 4, 1 /* to */};
static const int32_t order[N] = {4, 2, 6, 0, 1, 5, 3};

/* GAT with heads that divide its width; what a family does not have is left out. */
static heed_model *make(heed_ctx *cx, const char *family, const char *task, const char *more) {
    const heed_family *const f = heed_family_find(family);
    const char *settings[6] = {"in_channels=4", "hidden_channels=6", "out_channels=3", "num_layers=2"};
    int n = 4;
    if (strncmp(family, "gat", 3) == 0) settings[n++] = "heads=2";
    if (more) settings[n++] = more;
    heed_model *const m = heed_model_new_as(cx, f, heed_head_for(f, task), settings, n, 3);
    if (!m) fail_msg("%s: %s", family, heed_message(cx));
    return m;
}

static void draw_features(float *x) { heed_random_normal(1, 2, 0, x, (int64_t)N * F); }

/* The logits of nodes, of x and edges. */
static void run(heed_ctx *cx, const heed_model *m, const float *x, const int32_t *index, const heed_io *more,
                float *logits, int64_t n) {
    heed_io in = more ? *more : (heed_io){0}, out = {0};
    if (x) heed_io_put(cx, &in, "x", heed_from_f32(cx, x, 2, (int64_t[]){N, F}));
    if (index) heed_io_put(cx, &in, "edge_index", heed_from_i32(cx, index, 2, (int64_t[]){2, E}));
    if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s", heed_message(cx));
    assert_true(heed_copy_f32(cx, heed_io_get(&out, "logits"), logits, n));
}

/* Nodes renumbered: node i becomes order[i]. */
static void renumber(const float *x, float *y, int32_t *index) {
    for (int i = 0; i < N; i++) memcpy(y + order[i] * F, x + i * F, F * sizeof *x);
    for (int i = 0; i < 2 * E; i++) index[i] = order[edges[i]];
}

static void test_nodes_renumbered(void **state) {
    (void)state;
    heed_ctx *const cx = heed_open(NULL);
    heed_set_grad(cx, false);
    for (int f = 0; f < FAMILIES; f++) {
        heed_model *const nodes = make(cx, families[f], "nodes", NULL);
        float x[N * F], y[N * F], a[N * OUT], b[N * OUT];
        int32_t index[2 * E];
        draw_features(x);
        renumber(x, y, index);
        run(cx, nodes, x, edges, NULL, a, N * OUT);
        run(cx, nodes, y, index, NULL, b, N * OUT);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < OUT; c++) assert_true(fabsf(a[i * OUT + c] - b[order[i] * OUT + c]) <= 1e-6F);
        heed_model_free(cx, nodes);
    }
    heed_close(cx);
}

/* A graph's logits do not depend on the order of its nodes: exactly, where all numbers are whole. */
static void test_graphs_renumbered(void **state) {
    (void)state;
    static const char *const poolings[] = {"pooling=sum", "pooling=mean", "pooling=max"};
    heed_ctx *const cx = heed_open(NULL);
    heed_set_grad(cx, false);
    for (int p = 0; p < 3; p++) {
        heed_model *const m = make(cx, "graphconv", "graphs", poolings[p]);
        heed_params *const params = heed_model_params(m);
        float x[N * F], y[N * F], a[OUT], b[OUT];
        int32_t index[2 * E];
        for (int i = 0; i < heed_params_count(params); i++)
            for (int64_t k = 0; k < heed_params_at(params, i)->count; k++)
                heed_params_at(params, i)->value[k] = (float)(heed_random_bits(5, (uint64_t)i, (uint64_t)k) % 7) - 3;
        for (int i = 0; i < N * F; i++) x[i] = (float)(heed_random_bits(6, 0, (uint64_t)i) % 9) - 4;
        renumber(x, y, index);
        run(cx, m, x, edges, NULL, a, OUT);
        run(cx, m, y, index, NULL, b, OUT);
        if (p == 1) /* a mean over 7 nodes is rounded */
            for (int c = 0; c < OUT; c++) assert_true(fabsf(a[c] - b[c]) <= 1e-6F * fabsf(a[c]));
        else
            assert_memory_equal(a, b, sizeof a);
        heed_model_free(cx, m);
    }
    heed_close(cx);
}

/* Edges in another order: the same bits. */
static void test_edges_shuffled(void **state) {
    (void)state;
    heed_ctx *const cx = heed_open(NULL);
    heed_set_grad(cx, false);
    for (int f = 0; f < FAMILIES; f++) {
        heed_model *const m = make(cx, families[f], "nodes", NULL);
        float x[N * F], a[N * OUT], b[N * OUT];
        int32_t index[2 * E];
        draw_features(x);
        for (int i = 0; i < E; i++) index[i] = edges[(i * 5 + 3) % E], index[E + i] = edges[E + (i * 5 + 3) % E];
        run(cx, m, x, edges, NULL, a, N * OUT);
        run(cx, m, x, index, NULL, b, N * OUT);
        assert_memory_equal(a, b, sizeof a);
        heed_model_free(cx, m);
    }
    heed_close(cx);
}

/* A graph and features that were made once, by another context. */
static void test_made_once(void **state) {
    (void)state;
    heed_ctx *const cx = heed_open(NULL), *const other = heed_open(NULL);
    static const int32_t indptr[N + 1] = {0, 1, 3, 3, 4, 6, 7, 8}, indices[] = {2, 0, 3, 1, 0, 1, 3, 2};
    static const float values[] = {1, 2, -1, 0.5F, 3, 1, -2, 1};
    float x[N * F] = {0};
    for (int i = 0; i < N; i++)
        for (int32_t k = indptr[i]; k < indptr[i + 1]; k++) x[i * F + indices[k]] = values[k];
    heed_set_grad(cx, false);
    heed_graph *const features = heed_graph_from_csr(other, indptr, indices, values, N, F);
    for (int f = 0; f < FAMILIES; f++) {
        heed_model *const m = make(cx, families[f], "nodes", NULL);
        heed_graph *const graph = heed_model_graph(other, m, edges, NULL, E, N);
        float a[N * OUT], b[N * OUT];
        if (!features || !graph) fail_msg("%s", heed_message(other));
        run(cx, m, x, edges, NULL, a, N * OUT);
        run(cx, m, x, NULL, &(heed_io){.graph = graph}, b, N * OUT);
        assert_memory_equal(a, b, sizeof a);
        heed_reset(cx);
        run(cx, m, NULL, NULL, &(heed_io){.graph = graph, .features = features}, b, N * OUT);
        for (int i = 0; i < N * OUT; i++) assert_true(fabsf(a[i] - b[i]) <= 1e-5F);
        heed_reset(cx);
        heed_graph_free(other, graph);
        heed_model_free(cx, m);
    }
    heed_graph_free(other, features);
    heed_close(cx);
    heed_close(other);
}

/* ---- wrong input ---- */

static void refused(heed_ctx *cx, const heed_model *m, const heed_io *in, const char *sentence) {
    heed_io out = {0};
    assert_false(heed_model_forward(cx, m, in, &out));
    if (!strstr(heed_message(cx), sentence)) fail_msg("'%s' is not in: %s", sentence, heed_message(cx));
    heed_clear(cx);
}

static void test_refused(void **state) {
    (void)state;
    static const int32_t far[] = {0, 9, 1, 2}, wrong[] = {0, 0, 0, 0, 5, 1, 1}, labels[] = {0, 1};
    heed_ctx *const cx = heed_open(NULL);
    heed_model *const gat = make(cx, "gat", "nodes", NULL), *const gcn = make(cx, "gcn", "graphs", NULL);
    float x[N * F];
    draw_features(x);
#define X         heed_io_put(cx, &in, "x", heed_from_f32(cx, x, 2, (int64_t[]){N, F}))
#define EDGES(of) heed_io_put(cx, &in, "edge_index", heed_from_i32(cx, of, 2, (int64_t[]){2, 2}))
    heed_io in = {0};
    X, EDGES(far);
    refused(cx, gat, &in, "edge 1 goes from node 9, and nodes are numbered from 0 to 6");
    in = (heed_io){0}, X;
    refused(cx, gat, &in, "edge_index: the model needs this input");
    in = (heed_io){0}, EDGES(edges);
    refused(cx, gat, &in, "x: the model needs this input");
    in = (heed_io){0}, EDGES(edges);
    heed_io_put(cx, &in, "x", heed_zeros(cx, HEED_F32, 2, (int64_t[]){N, F + 1}));
    refused(cx, gat, &in, "x: shape (7,5) is not (nodes,4)");
    in = (heed_io){0}, EDGES(edges);
    heed_io_put(cx, &in, "x", heed_zeros(cx, HEED_F32, 2, (int64_t[]){0, F}));
    refused(cx, gat, &in, "a graph needs at least one node");
    in = (heed_io){0}, X, EDGES(edges);
    heed_io_put(cx, &in, "edge_weight", heed_zeros(cx, HEED_F32, 1, (int64_t[]){2}));
    refused(cx, gat, &in, "'edge_weight' is not an input of GATForNodeClassification");
    in = (heed_io){0}, X, EDGES(edges);
    heed_io_put(cx, &in, "edge_weight", heed_zeros(cx, HEED_F32, 1, (int64_t[]){3}));
    refused(cx, gcn, &in, "edge_weight: shape (3) does not give each of 2 edges a number");
    in = (heed_io){0}, X, EDGES(edges);
    heed_io_put(cx, &in, "labels", heed_from_i32(cx, labels, 1, (int64_t[]){2}));
    refused(cx, gat, &in, "labels: 7 whole numbers are needed");
    in = (heed_io){0}, X, EDGES(edges);
    heed_io_put(cx, &in, "labels", heed_from_i32(cx, labels, 1, (int64_t[]){2}));
    heed_io_put(cx, &in, "batch", heed_from_i32(cx, wrong, 1, (int64_t[]){N}));
    refused(cx, gcn, &in, "batch: node 4 is in graph 5, and the labels are those of graphs 0 to 1");
    heed_graph *const graph = heed_model_graph(cx, gat, edges, NULL, E, N);
    in = (heed_io){.graph = graph}, X;
    refused(cx, gcn, &in, "graph: edges of 7 nodes for a model of another family");
    heed_graph_free(cx, graph);
    heed_model_free(cx, gat);
    heed_model_free(cx, gcn);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_renumbered), cmocka_unit_test(test_graphs_renumbered),
        cmocka_unit_test(test_edges_shuffled),   cmocka_unit_test(test_made_once),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
