/* Graphs from npz files: as torch_geometric names its tensors, as scipy's CSR parts, and what is neither. */
#include "data/graphs/graphs.h"
#include "io/array.h"
#include "io/io_test.h"
#include "io/zip_test.h"

/* An array as npy bytes. */
static void add(heed_ctx *cx, struct zip_made *z, const char *name, heed_dtype type, int rank, int64_t rows,
                int64_t cols, const void *data) {
    char path[64], member[64];
    size_t n;
    snprintf(path, sizeof path, "/tmp/heed-npz.%ld.npy", (long)getpid());
    snprintf(member, sizeof member, "%s.npy", name);
    const heed_array a = {.name = name, .dtype = type, .rank = rank, .shape = {rows, cols}, .data = data};
    assert_true(heed_npy_write(cx, path, &a));
    char *const bytes = read_bytes(path, &n);
    zip_add(z, member, bytes, n, true);
    free(bytes);
    unlink(path);
}

static heed_graph_data *parse(heed_ctx *cx, struct zip_made *z, heed_graph_data_opts opts) {
    heed_graph_data *const g = graph_new(cx);
    g->whole = opts.whole;
    g->directed = opts.directed;
    zip_end(z);
    if (graph_parse_npz(cx, "t.npz", z->bytes, z->n, &opts, g)) return g;
    heed_graph_data_free(cx, g);
    return NULL;
}

static const float x[] = {1, 2, 3, 4, 5, 6};
static const int64_t edges[] = {0, 1, 2, 1, 0, 1}, labels[] = {1, -1, 0};

static void test_tensors(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct zip_made z = {.n = 0};
    add(cx, &z, "x", HEED_F32, 2, 3, 2, x);
    add(cx, &z, "edge_index", HEED_I64, 2, 2, 3, edges);
    add(cx, &z, "y", HEED_I64, 1, 3, 0, labels);
    add(cx, &z, "train_mask", HEED_BOOL, 1, 3, 0, (const unsigned char[]){1, 0, 0});
    add(cx, &z, "val_mask", HEED_BOOL, 1, 3, 0, (const unsigned char[]){0, 0, 1});
    add(cx, &z, "whatever", HEED_F32, 1, 1, 0, x);
    heed_graph_data *const g = parse(cx, &z, (heed_graph_data_opts){.data = NULL});
    assert_non_null(g);
    assert_true(g->nodes == 3 && g->width == 2 && g->x[5] == 6);
    static const int32_t edge[] = {0, 1, 1, 2, 1, 0, 2, 1};
    assert_int_equal(g->edges, 4);
    assert_memory_equal(g->edge, edge, sizeof edge);
    assert_true(g->label[0] == 1 && g->label[1] == HEED_UNLABELLED && g->label[2] == 0 && g->classes == 2);
    assert_true(g->part[0] == HEED_GRAPH_TRAIN && g->part[1] == HEED_GRAPH_NONE && g->part[2] == HEED_GRAPH_VALID);
    heed_graph_data_free(cx, g);
    close_context(cx);
}

static void test_sparse(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct zip_made z = {.n = 0};
    add(cx, &z, "attr_data", HEED_F32, 1, 2, 0, (const float[]){2, 1});
    add(cx, &z, "attr_indices", HEED_I32, 1, 2, 0, (const int32_t[]){3, 0});
    add(cx, &z, "attr_indptr", HEED_I32, 1, 3, 0, (const int32_t[]){0, 2, 2});
    add(cx, &z, "attr_shape", HEED_I64, 1, 2, 0, (const int64_t[]){2, 4});
    add(cx, &z, "adj_data", HEED_F32, 1, 1, 0, (const float[]){0.5F});
    add(cx, &z, "adj_indices", HEED_I32, 1, 1, 0, (const int32_t[]){1});
    add(cx, &z, "adj_indptr", HEED_I32, 1, 3, 0, (const int32_t[]){0, 1, 1});
    add(cx, &z, "adj_shape", HEED_I64, 1, 2, 0, (const int64_t[]){2, 2});
    add(cx, &z, "labels", HEED_I64, 1, 2, 0, (const int64_t[]){0, 1});
    heed_graph_data *const g = parse(cx, &z, (heed_graph_data_opts){.directed = true});
    assert_non_null(g);
    assert_true(g->width == 4 && g->start[1] == 2 && g->start[2] == 2 && g->column[0] == 0 && g->value[1] == 2);
    assert_true(g->edges == 1 && g->weight[0] == 0.5F && g->isolated == 0);
    heed_graph_data_free(cx, g);
    close_context(cx);
}

static void test_graphs(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct zip_made z = {.n = 0};
    add(cx, &z, "edge_index", HEED_I64, 2, 2, 1, (const int64_t[]){0, 1});
    add(cx, &z, "batch", HEED_I64, 1, 3, 0, (const int64_t[]){0, 0, 1});
    add(cx, &z, "y", HEED_I64, 1, 2, 0, (const int64_t[]){1, 0});
    heed_graph_data *const g = parse(cx, &z, (heed_graph_data_opts){.whole = true});
    assert_non_null(g);
    assert_true(g->graphs == 2 && g->node_start[1] == 2 && g->edge_start[1] == 2 && g->label[0] == 1);
    heed_graph_data_free(cx, g);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *name, *sentence;
        heed_dtype type;
        int rank;
        int64_t rows, cols;
        const int64_t data[6];
    } wrong[] = {
        {"y", "t.npz: y of shape (2): one class for each node (or graph) is expected", HEED_I64, 1, 2, 0, {0, 1}},
        {"edge_index",
         "t.npz: edge 1 leads from node 1 to 9: there are 3 nodes",
         HEED_I64,
         2,
         2,
         3,
         {0, 1, 2, 1, 9, 1}},
        {"edge_index", "t.npz: edge_index of shape (3): (2, edges) is expected", HEED_I64, 1, 3, 0, {0, 1, 2}},
        {"edge_weight", "t.npz: edge_weight of shape (2): one number for each edge", HEED_I64, 1, 2, 0, {1, 1}},
        {"batch", "t.npz: batch: node 1 is of graph 0: graphs are numbered from 0", HEED_I64, 1, 3, 0, {1, 0, 1}},
        {"train_mask", "t.npz: train_mask of shape (2): one value for each node", HEED_I64, 1, 2, 0, {1, 1}},
        {"x", "t.npz: x of shape (3): (nodes, features) is expected", HEED_I64, 1, 3, 0, {1, 1, 1}},
    };
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct zip_made z = {.n = 0};
        add(cx, &z, wrong[i].name, wrong[i].type, wrong[i].rank, wrong[i].rows, wrong[i].cols, wrong[i].data);
        if (strcmp(wrong[i].name, "x") != 0) add(cx, &z, "x", HEED_F32, 2, 3, 2, x);
        if (strcmp(wrong[i].name, "edge_index") != 0) add(cx, &z, "edge_index", HEED_I64, 2, 2, 3, edges);
        assert_null(parse(cx, &z, (heed_graph_data_opts){.data = NULL}));
        EXPECT_SENTENCE(cx, wrong[i].sentence);
    }
    struct zip_made z = {.n = 0};
    add(cx, &z, "arr_0", HEED_F32, 2, 3, 2, x);
    assert_null(parse(cx, &z, (heed_graph_data_opts){.data = NULL}));
    EXPECT_SENTENCE(cx, "t.npz: no graph is in it: edge_index, or adj_indices and adj_indptr, are expected, and it has "
                        "arr_0.npy");
    close_context(cx);
}

static bool read_npz(heed_ctx *cx, const void *bytes, size_t size) {
    const heed_graph_data_opts opts = {.data = NULL};
    heed_graph_data *const g = graph_new(cx);
    const bool ok = g && graph_parse_npz(cx, "t", bytes, size, &opts, g);
    heed_graph_data_free(cx, g);
    return ok;
}

static void test_hostile(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct zip_made z = {.n = 0};
    add(cx, &z, "x", HEED_F32, 2, 3, 2, x);
    add(cx, &z, "edge_index", HEED_I64, 2, 2, 3, edges);
    add(cx, &z, "y", HEED_I64, 1, 3, 0, labels);
    zip_end(&z);
    close_context(cx);
    torment(read_npz, z.bytes, z.n, 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tensors), cmocka_unit_test(test_sparse),
                                       cmocka_unit_test(test_graphs), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
