/* Graphs from tables and npz files: layouts with and without names, labels and parts, several graphs, features that are
 * made up, the drawn ones, and every refusal with its sentence. */
#include "data/graphs/graphs.h"
#include "io/io_test.h"

static heed_graph_data *parse(heed_ctx *cx, const char *nodes, const char *edges, heed_graph_data_opts opts) {
    return heed_graph_parse(cx, nodes, edges, NULL, &opts);
}

static void expect_edges(const heed_graph_data *g, const int32_t (*pairs)[2], int64_t n) {
    assert_int_equal(g->edges, n);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(g->edge[i], pairs[i][0]);
        assert_int_equal(g->edge[n + i], pairs[i][1]);
    }
}

/* ---- layouts ---- */

static void test_bags(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_graph_data *g =
        parse(cx, "7\ttrain\t3\t0 2 5\n3\tval\t10\t4\n5\tnone\t-1\t\n9\ttest\t3\t1 0\n8\ttrain\t10\t3\n",
              "7\t3\n3\t7\n9\t3\n9\t9\n", (heed_graph_data_opts){.data = NULL});
    assert_non_null(g);
    assert_int_equal(g->nodes, 5);
    assert_int_equal(g->graphs, 1);
    assert_string_equal(g->node_names[0], "7");
    assert_int_equal(g->width, 6);
    assert_null(g->x);
    static const int32_t start[] = {0, 3, 4, 4, 6, 7};
    assert_memory_equal(g->start, start, sizeof start);
    assert_int_equal(g->column[4], 0); /* sorted */
    assert_true(g->value[4] == 1);
    static const int32_t label[] = {0, 1, HEED_UNLABELLED, 0, 1}; /* -1 belongs to no part: no class */
    assert_int_equal(g->classes, 2);
    assert_memory_equal(g->label, label, sizeof label);
    assert_string_equal(g->class_names[1], "10"); /* numbers in their order */
    static const unsigned char part[] = {HEED_GRAPH_TRAIN, HEED_GRAPH_VALID, HEED_GRAPH_NONE, HEED_GRAPH_TEST,
                                         HEED_GRAPH_TRAIN};
    assert_memory_equal(g->part, part, sizeof part);
    expect_edges(g, (const int32_t[][2]){{0, 1}, {1, 0}, {1, 3}, {3, 1}, {3, 3}}, 5);
    assert_int_equal(g->isolated, 2);
    assert_int_equal(g->repeated, 1);
    assert_true(heed_graph_normalise_rows(cx, g));
    assert_true(g->value[0] == 1.0F / 3 && g->value[3] == 1);
    heed_graph_data_free(cx, g);
    close_context(cx);
}

static void test_names_and_classes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_graph_data *g =
        parse(cx, "0\tMr. Hi\n1\tMr. Hi\n2\tOfficer\n", "0\t1\n1\t2\n", (heed_graph_data_opts){.data = NULL});
    assert_non_null(g);
    assert_int_equal(g->width, 0);
    assert_int_equal(g->classes, 2);
    assert_string_equal(g->class_names[1], "Officer");
    assert_null(g->part);
    assert_true(heed_graph_add_features(cx, g, "degree", 0));
    assert_int_equal(g->width, 3);
    static const int32_t degree[] = {1, 2, 1};
    assert_memory_equal(g->column, degree, sizeof degree);
    heed_graph_data_free(cx, g);
    /* Words above edges are a header; a name that is a node is not. */
    g = parse(cx, "ann,a\nbob,b\ncid,a\n", "from,to\nann,bob\n", (heed_graph_data_opts){.directed = true});
    assert_non_null(g);
    expect_edges(g, (const int32_t[][2]){{0, 1}}, 1);
    heed_graph_data_free(cx, g);
    g = parse(cx, "ann,a\nbob,b\ncid,a\n", "ann,bob\nbob,cid\nann,bob\n", (heed_graph_data_opts){.directed = true});
    assert_non_null(g);
    expect_edges(g, (const int32_t[][2]){{0, 1}, {0, 1}, {1, 2}},
                 3); /* twice counts twice where edges have directions */
    heed_graph_data_free(cx, g);
    close_context(cx);
}

static void test_columns(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char nodes[] = "age,id,colour,label\n1.5,x,red,yes\n2,y,blue,\n3,z,red,no\n";
    heed_graph_data *g = parse(cx, nodes, "source,target,weight\nx,y,2\ny,x,2\n", (heed_graph_data_opts){.data = NULL});
    assert_non_null(g);
    assert_int_equal(g->width, 3);
    static const float x[] = {1.5F, 0, 1, 2, 1, 0, 3, 0, 1};
    assert_memory_equal(g->x, x, sizeof x);
    assert_string_equal(g->x_names[1], "colour");
    assert_string_equal(g->categories[1][0], "blue");
    assert_int_equal(g->label[1], HEED_UNLABELLED);
    assert_true(g->edges == 2 && g->weight[0] == 2);
    /* A new graph: columns by their names, in any order, with what else is there; the class may be missing. */
    heed_graph_data *other = parse(cx, "node,colour,more,age\na,blue,7,9\nb,red,7,8\n", "",
                                   (heed_graph_data_opts){.like = g, .unlabelled = true});
    assert_non_null(other);
    static const float x2[] = {9, 1, 0, 8, 0, 1};
    assert_memory_equal(other->x, x2, sizeof x2);
    assert_int_equal(other->edges, 0);
    assert_int_equal(other->isolated, 2);
    assert_null(other->label);
    heed_graph_data_free(cx, other);
    assert_null(parse(cx, "node,age\na,9\n", "", (heed_graph_data_opts){.like = g, .unlabelled = true}));
    EXPECT_SENTENCE(cx, "nodes: no column 'colour' among its 2: node, age");
    assert_null(parse(cx, "node,age,colour,label\na,9,red,maybe\n", "", (heed_graph_data_opts){.like = g}));
    EXPECT_SENTENCE(cx, "nodes: line 2: class 'maybe' is not one of the 2 known");
    heed_graph_data_free(cx, g);
    /* Classes without names are numbers. */
    const heed_graph_data nameless = {.width = 1, .classes = 3};
    g = parse(cx, "node,age,label\na,9,2\nb,8,0\n", "", (heed_graph_data_opts){.like = &nameless});
    assert_non_null(g);
    assert_true(g->label[0] == 2 && g->label[1] == 0 && g->classes == 3 && !g->class_names);
    heed_graph_data_free(cx, g);
    assert_null(parse(cx, "node,age,label\na,9,3\n", "", (heed_graph_data_opts){.like = &nameless}));
    EXPECT_SENTENCE(cx, "nodes: line 2: class '3' is not one of the 3 known");
    /* Features in columns without names, as in Cora's first files: the class is the last. */
    g = parse(cx, "31336\t0\t1\tNN\n1061127\t1\t0\tRL\n", "31336\t1061127\n", (heed_graph_data_opts){.data = NULL});
    assert_non_null(g);
    assert_true(g->width == 2 && g->columns == 2 && g->classes == 2);
    other = parse(cx, "5\t1\t1\n", "", (heed_graph_data_opts){.like = g});
    assert_non_null(other);
    assert_true(other->width == 2 && !other->label);
    heed_graph_data_free(cx, other);
    heed_graph_data_free(cx, g);
    close_context(cx);
}

static void test_graphs(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char nodes[] = "graph,id,c,split\nB,1,0.5,train\nA,1,1,test\nB,2,2,train\n",
                      edges[] = "graph,u,v\nB,1,2\n";
    const heed_graph_data_opts whole = {.whole = true};
    heed_graph_data *g = heed_graph_parse(cx, nodes, edges, "graph,label\nB,mutagen\nA,mutagen\n", &whole);
    assert_non_null(g);
    assert_int_equal(g->graphs, 2);
    assert_string_equal(g->graph_names[0], "B"); /* as they come, and their nodes together */
    static const int64_t start[] = {0, 2, 3}, edge_start[] = {0, 2, 2};
    assert_memory_equal(g->node_start, start, sizeof start);
    assert_memory_equal(g->edge_start, edge_start, sizeof edge_start);
    assert_true(g->x[1] == 2 && g->whole && g->label[1] == 0 && !g->part);
    heed_graph_data_free(cx, g);
    g = heed_graph_parse(cx, "id,graph,graph_label,split,label\n1,7,a,train,C\n2,7,a,train,O\n3,8,a,val,C\n", "1,2\n",
                         NULL, &whole);
    assert_non_null(g); /* what nodes are called `label` is a feature then */
    assert_true(g->width == 2 && g->classes == 1 && g->part[1] == HEED_GRAPH_VALID);
    heed_graph_data_free(cx, g);
    close_context(cx);
}

/* ---- parts ---- */

static void test_split(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char nodes[600] = "";
    for (int i = 0; i < 40; i++)
        snprintf(nodes + strlen(nodes), sizeof nodes - strlen(nodes), "%d\t%s\n", i, i < 30 ? "a" : i < 39 ? "b" : "c");
    heed_graph_data *g = parse(cx, nodes, "", (heed_graph_data_opts){.data = NULL});
    assert_non_null(g);
    static const int64_t expected[2][4] = {{0, 36, 4, 0}, {0, 5, 18, 17}};
    for (int k = 0; k < 2; k++) {
        assert_true(heed_graph_split(cx, g, k == 0 ? 0 : 2, k == 0 ? 0.1 : 0.5, 3));
        for (int part = 0; part < 4; part++) {
            int64_t n;
            int64_t *const rows = heed_graph_rows(cx, g, (heed_graph_part)part, &n);
            assert_int_equal(n, expected[k][part]);
            heed_mem_free(cx, rows);
        }
        assert_int_equal(g->part[39], HEED_GRAPH_TRAIN); /* the only one of its class */
    }
    heed_graph_data_free(cx, g);
    close_context(cx);
}

static void test_copies(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_graph_data *g = heed_graph_copies(cx, 5, 200), *some = heed_graph_copies(cx, 5, 20);
    assert_true(g && some);
    assert_memory_equal(some->label, g->label, 20 * sizeof *g->label);
    assert_memory_equal(some->x, g->x, (size_t)some->nodes * 2 * sizeof(float));
    int64_t seen[4] = {0};
    for (int64_t i = 0; i < 200; i++) {
        int count = 0;
        for (int64_t v = g->node_start[i]; v < g->node_start[i + 1]; v++) {
            bool exposed = g->x[v * 2] == 1;
            for (int64_t e = g->edge_start[i]; e < g->edge_start[i + 1]; e++)
                exposed |= g->edge[g->edges + e] == v && g->x[g->edge[e] * 2] == 1;
            count += exposed;
        }
        assert_int_equal(count, 3 * (g->label[i] + 1));
        seen[g->label[i]]++;
    }
    for (int k = 0; k < 4; k++) assert_true(seen[k] > 25);
    heed_graph_data_free(cx, some);
    heed_graph_data_free(cx, g);
    close_context(cx);
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *nodes, *edges, *sentence;
        heed_graph_data_opts opts;
    } wrong[] = {
        {"", "a\tb\n", "nodes: the graph is empty: it has no nodes", {0}},
        {"id,label\n", "", "nodes: the graph is empty: it has no nodes", {0}},
        {"a\tx\nb\ty\n", "a\tc\n", "edges: line 1, column '2': there is no node 'c' in nodes", {0}},
        {"0\tx\n1\ty\n", "0\t1\n1\t7\n", "edges: line 2, column '2': there is no node '7' in nodes", {0}},
        {"0\tx\n1\ty\n", "5\t7\n", "edges: line 1, column '1': there is no node '5' in nodes", {0}},
        {"a\tx\nb\ty\na\tx\n", "", "nodes: line 3: node 'a' is there already, on line 1", {0}},
        {"id,split\na,train\nb,tomorrow\n",
         "",
         "line 3, column 'split': 'tomorrow' is not one of: train, val, test",
         {0}},
        {"id,split,label\na,train,x\nb,test,y\n",
         "",
         "nodes: node 'b' is to test, but none of its class 'y' is to train",
         {0}},
        {"id,features\na,3 x\n", "", "'3 x' is no list of indices", {0}},
        {"id,features\na,3 3\n", "", "nodes: node 'a' has feature 3 twice", {0}},
        {"id,features\na,3:1e99\n", "", "'3:1e99' is no list of indices", {0}},
        {"id,features,age\na,3,5\n",
         "",
         "features are in the column 'features' or in columns of their own, such as 'age'",
         {0}},
        {"id,age,label\na,1,x\nb,?,y\n", "", "line 3, column 'age': a missing value ('?'); --drop leaves", {0}},
        {"a\tx\nb\ty\n", "a\tb\tmany\n", "edges: line 1, column '3': the weight 'many' is not a finite number", {0}},
        {"a\tx\nb\ty\n",
         "a\tb\t1\nb\ta\t2\n",
         "edges: line 2: the edge of 'a' and 'b' has weight 2 here and 1 at line 1",
         {0}},
        {"a\tx\nb\ty\n", "a\nb\n", "edges: an edge is two nodes: there is one column", {0}},
        {"a\tx\nb\ty\n", "a\tb\t1\t2\n", "edges: 4 columns without names", {0}},
        {"id,graph,graph_label\na,1,x\nb,2,y\n",
         "a,b\n",
         "edges: line 1: nodes 'a' and 'b' are of different graphs",
         {.whole = true}},
        {"id,graph,graph_label\na,1,x\nb,1,y\n",
         "",
         "line 3, column 'graph_label': 'y', but 'x' on line 2",
         {.whole = true}},
        {"a\tx\nb\ty\n", "", "nodes: no column 'what' among its 2: 1, 2", {.target = "what"}},
    };
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        heed_graph_data *const g = parse(cx, wrong[i].nodes, wrong[i].edges, wrong[i].opts);
        if (g) print_error("accepted: %s\n", wrong[i].nodes);
        assert_null(g);
        EXPECT_SENTENCE(cx, wrong[i].sentence);
    }
    const heed_graph_data_opts whole = {.whole = true};
    assert_null(heed_graph_parse(cx, "id,graph\na,1\n", "", "graph,label\n1,x\n2,y\n", &whole));
    EXPECT_SENTENCE(cx, "graphs: line 3, column 'graph': there is no node of graph '2'");
    assert_null(heed_graph_parse(cx, "id,graph\na,1\n", "", "graph,label\n1,x\n1,y\n", &whole));
    EXPECT_SENTENCE(cx, "graphs: line 3, column 'graph': graph '1' is there already");
    assert_null(heed_graph_load(cx, &(heed_graph_data_opts){.data = "/nowhere"}));
    EXPECT_SENTENCE(cx, "/nowhere: No such file or directory");
    assert_null(heed_graph_load(cx, &(heed_graph_data_opts){.nodes = "nodes.tsv"}));
    EXPECT_SENTENCE(cx, "tables of nodes and edges are needed");
    heed_graph_data *g = parse(cx, "id,features\na,3 1\n", "", (heed_graph_data_opts){.data = NULL});
    assert_non_null(g);
    assert_null(parse(cx, "id,features\na,3 4\n", "", (heed_graph_data_opts){.like = g}));
    EXPECT_SENTENCE(cx, "feature 4 of node 'a' is out of range, 0 to 3");
    assert_false(heed_graph_add_features(cx, g, "degree", 0));
    EXPECT_SENTENCE(cx, "graph_add_features: the nodes have features");
    assert_false(heed_graph_split(cx, g, 0, 0.1, 1));
    EXPECT_SENTENCE(cx, "graph_split: there are no labels");
    heed_graph_data_free(cx, g);
    close_context(cx);
}

static bool read_tables(heed_ctx *cx, const void *bytes, size_t size) {
    char *const text = malloc(size + 1);
    memcpy(text, bytes, size);
    text[size] = 0;
    char *const edges = strchr(text, '#');
    if (edges) *edges = 0;
    heed_graph_data *const g = heed_graph_parse(cx, text, edges ? edges + 1 : "", NULL, NULL);
    heed_graph_data_free(cx, g);
    free(text);
    return g;
}

static void test_hostile(void **state) {
    (void)state;
    static const char text[] = "id,split,label,graph,age,c\na,train,x,1,2,red\nb,val,x,1,3,blue\nc,none,,2,4,red\n"
                               "#from,to,weight\na,b,1\nb,a,1\nc,c,2\n",
                      bags[] = "0\ttrain\t1\t1 2 3:0.5\n1\ttest\t1\t0\n#0\t1\n";
    torment(read_tables, text, sizeof text - 1, 300);
    torment(read_tables, bags, sizeof bags - 1, 300);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bags),     cmocka_unit_test(test_names_and_classes),
        cmocka_unit_test(test_columns),  cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_split),    cmocka_unit_test(test_copies),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
