/* One attention: self-attention, attention over the edges of a complete graph, and a non-local block with an embedded
 * Gaussian are the same numbers; with fewer edges a graph is a mask. What GAT (Velickovic et al. 2018) does otherwise:
 * all its queries rank their keys alike, which GATv2 repairs (Brody et al. 2022). */
#include "heed/graph.h"
#include "lessons/lookup.h"
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 6, WIDTH = 8, HEAD = 4, FULL = NODES * NODES, RING = 3 * NODES, TOLD = 2 };

struct nodes {
    float x[NODES * WIDTH], wq[HEAD * WIDTH], wk[HEAD * WIDTH], wv[HEAD * WIDTH];
};

static void draw_nodes(struct lesson_run *r, struct nodes *n) {
    heed_random_normal(r->seed, 1, 0, n->x, NODES * WIDTH);
    float *const weights[] = {n->wq, n->wk, n->wv};
    for (int i = 0; i < 3; i++) {
        heed_random_normal(r->seed, 2 + (uint64_t)i, 0, weights[i], HEAD * WIDTH);
        for (int k = 0; k < HEAD * WIDTH; k++) weights[i][k] *= 0.6F;
    }
}

static heed_tensor *project(heed_ctx *cx, const struct nodes *n, const float *w) {
    return heed_linear(cx, heed_from_f32(cx, n->x, 2, (int64_t[]){NODES, WIDTH}),
                       heed_from_f32(cx, w, 2, (int64_t[]){HEAD, WIDTH}), NULL);
}

/* ---- three ways ---- each gives (NODES, HEAD) */

/* seen (NODES, NODES): 0 hides key j from query i; NULL: all see all. */
static const float *self_attention(struct lesson_run *r, const struct nodes *n, const unsigned char *seen) {
    heed_ctx *const cx = r->cx;
    heed_tensor *in[3];
    const float *const w[] = {n->wq, n->wk, n->wv};
    for (int i = 0; i < 3; i++) in[i] = heed_reshape(cx, project(cx, n, w[i]), 4, (int64_t[]){1, NODES, 1, HEAD});
    heed_attention_opts opts = {.scale = 0};
    if (seen) opts.mask = heed_mask_keep(heed_from_u8(cx, seen, 4, (int64_t[]){1, 1, NODES, NODES}));
    const float *const y = numbers_of(r, heed_attention(cx, in[0], in[1], in[2], &opts));
    heed_reset(cx);
    return y;
}

/* Along the edges: a score for each, and two sums over what comes in, of exp(score) times values and of exp(score). */
static const float *along_edges(struct lesson_run *r, const struct nodes *n, const int32_t *edges, int64_t count) {
    heed_ctx *const cx = r->cx;
    float ones[NODES];
    for (int i = 0; i < NODES; i++) ones[i] = 1;
    heed_tensor *const index = heed_from_i32(cx, edges, 2, (int64_t[]){2, count});
    heed_tensor *const from = heed_from_i32(cx, edges, 1, &count), *const to =
                                                                       heed_from_i32(cx, edges + count, 1, &count);
    const heed_graph *const g = heed_graph_step(cx, index, NULL, &(heed_graph_opts){.sources = NODES});
    heed_tensor *const q = heed_index_select(cx, project(cx, n, n->wq), 0, to), *const k = heed_index_select(
                                                                                    cx, project(cx, n, n->wk), 0, from);
    heed_tensor *const score = heed_sum(cx, heed_mul(cx, q, k), (int[]){1}, 1, false);
    heed_tensor *const e = heed_exp(cx, heed_affine(cx, score, 1 / sqrtf(HEAD), 0));
    heed_tensor *const above = heed_graph_sum(cx, project(cx, n, n->wv), g, e);
    heed_tensor *const below = heed_graph_sum(cx, heed_from_f32(cx, ones, 2, (int64_t[]){NODES, 1}), g, e);
    const float *const y = numbers_of(r, heed_div(cx, above, below));
    heed_reset(cx);
    return y;
}

static double row_of(const float *w, const float *x, int row) {
    double sum = 0;
    for (int k = 0; k < WIDTH; k++) sum += (double)w[row * WIDTH + k] * (double)x[k];
    return sum;
}

/* y_i = sum_j f(x_i, x_j) g(x_j) / sum_j f, f = exp(theta(x_i)' phi(x_j)), by the formula and in double. The root of
 * the head's size, by which attention divides, is part of theta. */
static void non_local(const struct nodes *n, float *y) {
    for (int i = 0; i < NODES; i++) {
        double sum[HEAD] = {0}, C = 0;
        for (int j = 0; j < NODES; j++) {
            double f = 0;
            for (int k = 0; k < HEAD; k++)
                f += row_of(n->wq, n->x + i * WIDTH, k) / sqrt(HEAD) * row_of(n->wk, n->x + j * WIDTH, k);
            f = exp(f);
            C += f;
            for (int k = 0; k < HEAD; k++) sum[k] += f * row_of(n->wv, n->x + j * WIDTH, k);
        }
        for (int k = 0; k < HEAD; k++) y[i * HEAD + k] = (float)(sum[k] / C);
    }
}

/* Every node to every node, itself too; or to itself and its two neighbours on a ring. */
static void full_edges(int32_t *edges) {
    for (int e = 0; e < FULL; e++) edges[e] = e % NODES, edges[FULL + e] = e / NODES;
}
static void ring_edges(int32_t *edges) {
    for (int e = 0; e < RING; e++) edges[e] = (e / 3 + e % 3 + NODES - 1) % NODES, edges[RING + e] = e / 3;
}

static bool compare(struct lesson_run *r, const struct nodes *n) {
    int32_t full[2 * FULL], ring[2 * RING];
    unsigned char seen[FULL] = {0};
    float by_formula[NODES * HEAD];
    full_edges(full), ring_edges(ring);
    for (int e = 0; e < RING; e++) seen[ring[RING + e] * NODES + ring[e]] = 1;
    const float *const self = self_attention(r, n, NULL), *const graph = along_edges(r, n, full, FULL),
                       *const masked = self_attention(r, n, seen), *const on_ring = along_edges(r, n, ring, RING);
    if (heed_failed(r->cx)) return false;
    non_local(n, by_formula);
    lesson_line(r, "%4s %7s %18s %18s %18s", "node", "channel", "self-attention", "edges of a graph", "non-local");
    for (int i = 0; i < TOLD * HEAD; i++)
        lesson_line(r, "%4d %7d %18.7f %18.7f %18.7f", i / HEAD + 1, i % HEAD + 1, (double)self[i], (double)graph[i],
                    (double)by_formula[i]);
    const double by_graph = numbers_apart(self, graph, NODES * HEAD),
                 by_block = numbers_apart(self, by_formula, NODES * HEAD),
                 by_mask = numbers_apart(masked, on_ring, NODES * HEAD),
                 cut = numbers_apart(self, on_ring, NODES * HEAD);
    lesson_line(r, "\nlargest difference from self-attention, of all %d numbers:", NODES * HEAD);
    lesson_line(r, "edges of the complete graph %.2g, non-local block %.2g\n", by_graph, by_block);
    lesson_say(r,
               "Take edges away, and it is attention with a mask. On a ring, where a node sees itself and two others, "
               "masked attention and the sum over edges differ by %.2g, and both from the complete graph by up to "
               "%.2f. A Transformer is a graph network on the complete graph, a causal mask one of edges that all "
               "point forward; what a sparse graph saves is the pairs that it does not hold.",
               by_mask, cut);
    lesson_result(r, "graph_difference", by_graph);
    lesson_result(r, "non_local_difference", by_block);
    lesson_result(r, "ring_difference", by_mask);
    lesson_result(r, "ring_from_full", cut);
    double node[NODES * HEAD], channel[NODES * HEAD];
    for (int i = 0; i < NODES * HEAD; i++) node[i] = i / HEAD + 1, channel[i] = i % HEAD + 1;
    lesson_table(r, "one-attention",
                 (heed_table_column[]){{.name = "node", .f64 = node},
                                       {.name = "channel", .f64 = channel},
                                       {.name = "self_attention", .f32 = self},
                                       {.name = "edges", .f32 = graph},
                                       {.name = "non_local", .f32 = by_formula},
                                       {.name = "ring", .f32 = on_ring}},
                 6, NODES * HEAD);
    return true;
}

/* ---- which key is first ---- */

static void tell_rankings(struct lesson_run *r, const struct lookup *l) {
    lesson_line(r, "%-24s %16s %16s %14s", "", "rankings", "favourite keys", "right");
    for (int k = 0; k < LOOKUP_KINDS; k++) {
        const struct lookup *const of = &l[k];
        char name[32];
        lesson_line(r, "%-24s %11d of %-2d %11d of %-2d %12.1f %%", lookup_name(k), of->rankings, LOOKUP_KEYS,
                    of->favourites, LOOKUP_KEYS, 100 * of->right);
        snprintf(name, sizeof name, "%s_rankings", lookup_key(k));
        lesson_result(r, name, of->rankings);
        snprintf(name, sizeof name, "%s_favourites", lookup_key(k));
        lesson_result(r, name, of->favourites);
        snprintf(name, sizeof name, "%s_right", lookup_key(k));
        lesson_result(r, name, of->right);
    }
    lesson_line(r, "%s", "");
}

static void conclude(struct lesson_run *r, const struct lookup *l) {
    const struct lookup *const gat = &l[LOOKUP_GAT], *const v2 = &l[LOOKUP_GATV2], *const dot = &l[LOOKUP_DOT];
    if (gat->rankings == 1 && gat->right < 0.4 && v2->right > 0.7 && dot->right > 0.7)
        lesson_say(r,
                   "GAT has one ranking for all queries, however long it learns: the first place is the same key for "
                   "each, and %.1f %% right is what is left to it. GATv2 has the same parts in another order, and "
                   "finds %.1f %%, dot products %.1f %%.",
                   100 * gat->right, 100 * v2->right, 100 * dot->right);
    else
        lesson_say(r, "They have learnt too little to be told apart here. --steps says how long to go on.");
}

static void draw(struct lesson_run *r, const struct lookup *l) {
    float column[LOOKUP_KINDS][LOOKUP_KEYS * LOOKUP_KEYS], at[2][LOOKUP_KEYS * LOOKUP_KEYS];
    const char *names[LOOKUP_KINDS];
    for (int k = 0; k < LOOKUP_KINDS; k++) {
        names[k] = lookup_key(k);
        memcpy(column[k], l[k].weights, sizeof column[k]);
    }
    lesson_show(r, heed_terminal_images(r->cx, column[0], LOOKUP_KINDS, LOOKUP_KEYS, LOOKUP_KEYS,
                                        &(heed_images){.columns = LOOKUP_KINDS, .low = 0, .high = 1, .titles = names},
                                        &r->terminal));
    heed_figure *const f = lesson_figure(r, 900, 330);
    heed_figure_grid(f, 1, LOOKUP_KINDS);
    heed_figure_bar(f, "weight");
    for (int k = 0; k < LOOKUP_KINDS; k++) {
        char title[80];
        heed_panel *const p = heed_figure_panel(f, 0, k);
        snprintf(title, sizeof title, "%s: %.0f %% right", lookup_name(k), 100 * l[k].right);
        heed_panel_title(p, title);
        heed_panel_labels(p, "key", k ? NULL : "query");
        heed_panel_heatmap(p, l[k].weights, LOOKUP_KEYS, LOOKUP_KEYS, &(heed_heatmap){.low = 0, .high = 1});
    }
    lesson_picture(r, f, "one-attention");
    for (int i = 0; i < LOOKUP_KEYS * LOOKUP_KEYS; i++)
        at[0][i] = (float)(i / LOOKUP_KEYS), at[1][i] = (float)(i % LOOKUP_KEYS);
    lesson_table(r, "one-attention-lookup",
                 (heed_table_column[]){{.name = "query", .f32 = at[0]},
                                       {.name = "key", .f32 = at[1]},
                                       {.name = "dot", .f32 = column[LOOKUP_DOT]},
                                       {.name = "gat", .f32 = column[LOOKUP_GAT]},
                                       {.name = "gatv2", .f32 = column[LOOKUP_GATV2]}},
                 5, LOOKUP_KEYS * LOOKUP_KEYS);
}

static void run(struct lesson_run *r) {
    struct nodes n;
    struct lookup *const l = lesson_room(r, LOOKUP_KINDS, sizeof *l);
    if (!l) return;
    draw_nodes(r, &n);
    lesson_say(r,
               "Three fields found one formula. A Transformer: softmax(q_i' k_j / root of d) over all j, times v_j. A "
               "graph network: every edge from j to i has the weight exp(q_i' k_j / root of d), divided by the sum of "
               "those that come to i, and brings v_j. A non-local block: sum over j of exp(theta(x_i)' phi(x_j)) "
               "g(x_j), divided by the sum of the first factor. %d nodes of %d numbers, one head of %d, worked out "
               "three ways: by blocks of queries and keys, edge by edge, and by the formula in double:",
               NODES, WIDTH, HEAD);
    if (!compare(r, &n)) return;
    lesson_say(r,
               "Graph attention networks score an edge otherwise: e_ij = LeakyReLU(a_1' W x_i + a_2' W x_j). The first "
               "part is the same for all keys of a query, the second for all queries of a key, and LeakyReLU only "
               "rises: whoever asks, the keys stand in one order, that of a_2' W x_j. Brody et al. call this static "
               "attention. GATv2 applies a after LeakyReLU: e_ij = a' LeakyReLU(W_1 x_i + W_2 x_j).");
    lesson_say(r,
               "A job that shows it: %d queries, each with a name, and %d keys, each with a name and a value; a query "
               "is to give the value of the key of its name. One layer of each kind, %lld updates:",
               LOOKUP_KEYS, LOOKUP_KEYS, (long long)r->steps);
    for (int k = 0; k < LOOKUP_KINDS; k++)
        if (!lookup_learn(r, k, &l[k])) return;
    tell_rankings(r, l);
    draw(r, l);
    conclude(r, l);
}

const struct lesson one_attention_lesson = {
    .name = "one-attention",
    .summary = "self-attention, the edges of a complete graph and a non-local block: one formula; and static attention",
    .steps = LOOKUP_STEPS,
    .run = run,
};
