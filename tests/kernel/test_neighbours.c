/* Edges, and sums, products and maxima over neighbours, against plain loops in double: graphs with edges that are there
 * twice, loops, rows of none and of very many; the same bits whatever the order of the edges and for 1, 2, 3 and 8
 * threads. For every set. */
#include "kernel/edges.h"
#include "kernel/neighbours.h"
#include "math_test.h"

/* A whole number from 0 to n - 1. */
static int32_t below(int64_t n) { return (int32_t)draw((uint32_t)n); }

struct case_of {
    struct edge_list list;
    int32_t *from, *to, *ints;
    float *weight, *weights;
};

static struct case_of make_case(int64_t sources, int64_t targets, int64_t edges, enum edge_loops loops, bool weighted,
                                bool normalize) {
    struct case_of c = {.from = calloc((size_t)edges + 1, 4), .to = calloc((size_t)edges + 1, 4)};
    if (weighted) c.weight = floats(edges);
    for (int64_t i = 0; i < edges; i++) {
        c.from[i] = below(sources);
        c.to[i] = draw(3) ? below(targets) : 0; /* a row of many */
        if (weighted) c.weight[i] = (float)(1 + draw(5));
        if (i > 0 && draw(9) == 0) c.from[i] = c.from[i - 1], c.to[i] = c.to[i - 1];
    }
    c.list = (struct edge_list){sources, targets, edges, c.from, c.to, c.weight, loops, 2, normalize};
    c.ints = calloc((size_t)kernel_edges_ints(&c.list), 4);
    if (kernel_edges_floats(&c.list)) c.weights = floats(kernel_edges_floats(&c.list));
    return c;
}

static void sort_case(struct case_of *c) {
    void *const work = malloc(kernel_edges_work(&c->list) + 1);
    kernel_edges_sort(&c->list, c->ints, c->weights, work);
    free(work);
}

static struct edges edges_of(const struct case_of *c) {
    return kernel_edges(c->list.sources, c->list.targets, kernel_edges_room(&c->list), c->ints, c->weights);
}

static void free_case(struct case_of *c) {
    free(c->from), free(c->to), free(c->ints), free(c->weight), free(c->weights);
}

/* The edges that a graph has: each once, in both orders, sorted. */
static void check_edges(const struct case_of *c) {
    const struct edges e = edges_of(c);
    const int64_t n = e.in[e.targets];
    int64_t loops = 0;
    for (int64_t i = 0; i < c->list.edges; i++) loops += c->from[i] == c->to[i];
    assert_int_equal(n, c->list.edges + (c->list.loops == LOOPS_KEEP ? 0 : e.targets - loops));
    assert_int_equal(e.out[e.sources], n);
    for (int64_t i = 0; i < e.targets; i++)
        for (int32_t k = e.in[i]; k < e.in[i + 1]; k++) {
            const int32_t number = e.number[k];
            assert_int_equal(e.from[k], number < c->list.edges ? c->from[number] : number - c->list.edges);
            assert_int_equal(i, number < c->list.edges ? c->to[number] : number - c->list.edges);
            if (k > e.in[i]) assert_true(e.from[k] >= e.from[k - 1]);
        }
    for (int64_t j = 0; j < e.sources; j++)
        for (int32_t k = e.out[j]; k < e.out[j + 1]; k++) {
            assert_int_equal(e.from[e.place[k]], j);
            assert_true(e.place[k] >= e.in[e.to[k]] && e.place[k] < e.in[e.to[k] + 1]);
            if (e.weight) assert_true(e.weight_out[k] == e.weight[e.place[k]]);
        }
}

static struct neighbours rows_in(const struct edges *e) {
    return (struct neighbours){.rows = e->targets,
                               .room = e->room,
                               .others = e->sources,
                               .most = e->most_in,
                               .start = e->in,
                               .index = e->from,
                               .weight = e->weight};
}

static void check_sums(const struct case_of *c, int64_t cols, bool mean, bool add) {
    const struct edges e = edges_of(c);
    const struct neighbours n = rows_in(&e);
    float *const x = normals(e.sources * cols), *const y = floats(e.targets * cols);
    void *const work = malloc(kernel_neighbours_work(e.room, cols) + 1);
    for (int64_t i = 0; i < e.targets * cols; i++) y[i] = add ? 1 : NAN;
    kernel_neighbours_sum(math_pool[0], &n, y, x, cols, mean, add, work);
    for (int64_t i = 0; i < e.targets; i++)
        for (int64_t col = 0; col < cols; col++) {
            double sum = 0, size = 0;
            const int32_t many = e.in[i + 1] - e.in[i];
            for (int32_t k = e.in[i]; k < e.in[i + 1]; k++) {
                const double term = (e.weight ? (double)e.weight[k] : 1) * (double)x[e.from[k] * cols + col];
                sum += term, size += fabs(term);
            }
            if (mean && many) sum /= many, size /= many;
            check_close("sum", i * cols + col, y[i * cols + col], sum + (add ? 1 : 0), 1e-6, 1e-5 + 5e-5 * size);
        }
    float *first = NULL;
    for (int t = 0; t < POOLS; t++) {
        float *const again = floats(e.targets * cols);
        for (int64_t i = 0; i < e.targets * cols; i++) again[i] = add ? 1 : NAN;
        kernel_neighbours_sum(math_pool[t], &n, again, x, cols, mean, add, work);
        same_bits("sum", t, &first, again, e.targets * cols);
    }
    free(x), free(y), free(work);
}

static void check_dots(const struct case_of *c, int64_t cols, int64_t heads) {
    const struct edges e = edges_of(c);
    struct neighbours n = rows_in(&e);
    n.heads = heads;
    const int64_t width = cols / heads, edges = e.in[e.targets];
    float *const x = normals(e.sources * cols), *const dy = normals(e.targets * cols),
                 *const dw = floats(edges * heads);
    kernel_neighbours_dots(math_pool[2], &n, dw, dy, x, cols, NULL, false);
    for (int64_t i = 0; i < e.targets; i++)
        for (int32_t k = e.in[i]; k < e.in[i + 1]; k++)
            for (int64_t h = 0; h < heads; h++) {
                double sum = 0;
                for (int64_t col = h * width; col < (h + 1) * width; col++)
                    sum += (double)x[e.from[k] * cols + col] * (double)dy[i * cols + col];
                check_close("dot", k * heads + h, dw[k * heads + h], sum, 1e-5, 1e-5);
            }
    free(x), free(dy), free(dw);
}

static void test_random(void **state) {
    (void)state;
    static const int64_t widths[] = {1, 3, 7, 8, 16, 19, 64, 65, 130};
    for (int round = 0; round < 60; round++) {
        const bool normalize = below(2) > 0, square = normalize || below(2) > 0;
        const int64_t targets = 1 + below(40), sources = square ? targets : 1 + below(40);
        struct case_of c = make_case(sources, targets, draw(4) ? below(200) : 20000,
                                     square ? (enum edge_loops)draw(3) : LOOPS_KEEP, below(2) > 0, normalize);
        const int64_t cols = widths[draw(9)];
        sort_case(&c);
        check_edges(&c);
        check_sums(&c, cols, below(2) > 0, below(2) > 0);
        check_dots(&c, 12, draw(2) ? 1 : 3);
        free_case(&c);
    }
}

/* Shuffled edges give the same rows and weights; only the numbers differ. */
static void test_order(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct case_of c = make_case(12, 12, 300, LOOPS_KEEP, true, below(2) > 0),
                       d = make_case(12, 12, 300, LOOPS_KEEP, true, false);
        d.list.normalize = c.list.normalize;
        for (int64_t i = 0; i < 300; i++) d.from[i] = c.from[i], d.to[i] = c.to[i], d.weight[i] = c.weight[i];
        for (int64_t i = 299; i > 0; i--) {
            const int64_t j = below(i + 1);
            const int32_t from = d.from[i], to = d.to[i];
            const float w = d.weight[i];
            d.from[i] = d.from[j], d.to[i] = d.to[j], d.weight[i] = d.weight[j];
            d.from[j] = from, d.to[j] = to, d.weight[j] = w;
        }
        sort_case(&c), sort_case(&d);
        const struct edges a = edges_of(&c), b = edges_of(&d);
        assert_memory_equal(a.in, b.in, 13 * sizeof *a.in);
        assert_memory_equal(a.from, b.from, 300 * sizeof *a.from);
        assert_memory_equal(a.to, b.to, 300 * sizeof *a.to);
        assert_memory_equal(a.weight, b.weight, 300 * sizeof *a.weight);
        assert_memory_equal(a.weight_out, b.weight_out, 300 * sizeof *a.weight_out);
        free_case(&c), free_case(&d);
    }
}

static int tests(void) {
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(all, open_pools, close_pools);
}

int main(void) { return run_each_set(tests); }
