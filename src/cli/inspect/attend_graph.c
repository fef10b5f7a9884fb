/* heed attend of a graph: the weight of every edge, as a table, a picture, data and a page. */
#include "cli/inspect/attend.h"
#include "io/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAWN   3000 /* nodes of a picture */
#define COLUMNS 8    /* heads of a table */
#define NAME    28   /* columns of a name in it */

bool attend_over_graph(const struct attend_choice *c) { return c->a->found->nodes.n > 0; }

/* ---- which node ---- */

static int64_t find_node(const heed_axis *nodes, const char *name) {
    for (int64_t i = 0; i < nodes->n; i++)
        if (strcmp(nodes->labels[i], name) == 0) return i;
    return -1;
}

bool attend_choose_node(struct attend_choice *c) {
    const char *const name = option_text(c->o, "node");
    c->query = name ? find_node(attend_site(c)->keys, name) : -1;
    if (name && c->query < 0)
        return heed_fail(c->a->cx, HEED_ERR_USAGE, "attend: --node %s: the graph has no such node", escaped(name).s);
    if (!name && option_given(c->o, "hops"))
        return heed_fail(c->a->cx, HEED_ERR_USAGE, "attend: --hops: counts from a node, which --node names");
    return true;
}

/* As many as there are layers: that is how far a node sees. */
static int64_t hops_of(const struct attend_choice *c) {
    int64_t layers = 0;
    for (int i = 0; i < c->a->found->n; i++) layers += c->a->found->sites[i].n_maps;
    return option_given(c->o, "hops") ? option_int(c->o, "hops") : layers;
}

/* "attention, layer 1, mean of 8 heads", and of a node "...: what 5 attends to" */
static void name_of(const struct attend_choice *c, char *to, size_t room) {
    attend_name(c, attend_layer(c), to, room);
    const size_t used = strlen(to);
    if (c->query >= 0)
        snprintf(to + used, room - used, ": what %.60s attends to", escaped(attend_site(c)->keys->labels[c->query]).s);
}

static const char *class_of(const heed_attended_nodes *nodes, int32_t class, char number[16]) {
    snprintf(number, 16, "%d", class);
    return nodes->class_names && class < nodes->classes ? nodes->class_names[class] : number;
}

/* ---- edges by weight ---- */

struct ranked {
    float weight;
    int64_t edge;
};

static int heavier_first(const void *a, const void *b) {
    const struct ranked *const x = a, *const y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

/* Those to the node; without one those of nodes that several edges lead to, but for loops. */
static struct ranked *rank_edges(const struct attend_choice *c, int64_t *n) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *const s = attend_site(c);
    const int64_t edges = s->maps[0].keys, nodes = s->keys->n;
    float *const w = heed_mem_new(cx, (size_t)edges * sizeof *w + 1);
    int64_t *const into = heed_mem_new(cx, (size_t)nodes * sizeof *into);
    struct ranked *const list = heed_mem_new(cx, (size_t)edges * sizeof *list + 1);
    const bool ok = w && into && list && heed_attended_edges(cx, s, attend_layer(c), c->head, w);
    *n = 0;
    for (int64_t i = 0; ok && i < nodes; i++) into[i] = 0;
    for (int64_t e = 0; ok && e < edges; e++) into[s->targets[e]]++;
    for (int64_t e = 0; ok && e < edges; e++) {
        const int32_t to = s->targets[e];
        const bool wanted = c->query >= 0 ? to == c->query : s->sources[e] != to && into[to] > 1;
        if (wanted) list[(*n)++] = (struct ranked){w[e], e};
    }
    heed_mem_free(cx, w);
    heed_mem_free(cx, into);
    if (!ok) {
        heed_mem_free(cx, list);
        return NULL;
    }
    qsort(list, (size_t)*n, sizeof *list, heavier_first);
    return list;
}

/* ---- in the terminal ---- */

/* A name in a column so wide, with blanks behind; as many characters as fit. */
static void print_name(const char *text, int wide) {
    const struct escaped name = escaped(text);
    int n = attend_columns(name.s), bytes = 0;
    if (n <= wide) {
        printf("%s%*s", name.s, wide - n, "");
        return;
    }
    for (n = 0; name.s[bytes] && (n < wide - 1 || ((unsigned char)name.s[bytes] & 0xC0) == 0x80); bytes++)
        n += ((unsigned char)name.s[bytes] & 0xC0) != 0x80;
    printf("%.*s\u2026", bytes, name.s);
}

static int widest(const heed_axis *nodes, const char *head) {
    int most = attend_columns(head);
    for (int64_t i = 0; i < nodes->n && most < NAME; i++) {
        const int n = attend_columns(escaped(nodes->labels[i]).s);
        most = n > most ? n : most;
    }
    return most < NAME ? most : NAME;
}

static void print_class(const struct attend_choice *c) {
    const heed_attended_nodes *const nodes = &c->a->found->nodes;
    char number[2][16];
    if (!nodes->predicted) return;
    const int32_t own = nodes->predicted[c->query], label = nodes->label ? nodes->label[c->query] : -1;
    printf("predicted: %s", escaped(class_of(nodes, own, number[0])).s);
    if (label >= 0) printf("; labelled: %s", escaped(class_of(nodes, label, number[1])).s);
    putchar('\n');
}

static void print_heads(const struct attend_choice *c, int64_t edge, int64_t heads) {
    const heed_capture_map *const m = &attend_site(c)->maps[attend_layer(c)];
    for (int64_t h = 0; h < heads; h++) printf("  %7.4f", (double)m->weights[h * m->keys + edge]);
}

void attend_print_graph(const struct attend_choice *c) {
    const heed_attended_site *const s = attend_site(c);
    const heed_axis *const nodes = s->keys;
    const bool one = c->query >= 0, mean = c->head < 0 && s->maps[0].heads > 1;
    const int64_t most = option_int(c->o, "top"), heads = mean && s->maps[0].heads <= COLUMNS ? s->maps[0].heads : 0;
    int64_t n = 0;
    struct ranked *const list = rank_edges(c, &n);
    if (!list) return;
    char title[256];
    name_of(c, title, sizeof title);
    puts(title);
    if (one) print_class(c);
    if (n == 0) puts("No node has a neighbour: each attends to itself alone.");
    const int wide = widest(nodes, "source");
    if (n > 0) {
        putchar('\n');
        if (!one) print_name("target", wide), fputs("  ", stdout);
        print_name("source", wide);
        fputs(mean ? "     mean" : "   weight", stdout);
        for (int64_t h = 0; h < heads; h++) printf("   head %lld", (long long)h);
        putchar('\n');
    }
    for (int64_t i = 0; i < n && (one || i < most); i++) {
        const int64_t e = list[i].edge;
        if (!one) print_name(nodes->labels[s->targets[e]], wide), fputs("  ", stdout);
        print_name(nodes->labels[s->sources[e]], wide);
        printf("  %7.4f", (double)list[i].weight);
        print_heads(c, e, heads);
        if (one && s->sources[e] == c->query) fputs("  itself", stdout);
        putchar('\n');
    }
    if (!one && n > most)
        printf("\n%lld of %lld edges, without loops and without those to nodes that have no other; --top shows more.\n",
               (long long)most, (long long)n);
    heed_mem_free(c->a->cx, list);
}

/* ---- as data ---- */

static void put_node(heed_ctx *cx, heed_json list, const heed_attended_nodes *nodes, const heed_axis *names,
                     int64_t i) {
    const heed_json one = heed_json_put_object(cx, list, NULL);
    char number[16];
    heed_json_put_text(cx, one, "name", names->labels[i]);
    if (nodes->predicted) heed_json_put_text(cx, one, "predicted", class_of(nodes, nodes->predicted[i], number));
    if (nodes->label && nodes->label[i] >= 0)
        heed_json_put_text(cx, one, "label", class_of(nodes, nodes->label[i], number));
}

/* The edge, and its weights [layer][head]. */
static void put_edge(const struct attend_choice *c, heed_json list, const heed_picture_sheet *of, int64_t e) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *const s = attend_site(c);
    const heed_json one = heed_json_put_object(cx, list, NULL);
    heed_json_put_text(cx, one, "source", s->keys->labels[s->sources[e]]);
    heed_json_put_text(cx, one, "target", s->keys->labels[s->targets[e]]);
    const heed_json layers = heed_json_put_array(cx, one, "weights");
    for (int l = 0; l < of->layers; l++) {
        const heed_capture_map *const m = &s->maps[of->first_layer + l];
        const heed_json heads = heed_json_put_array(cx, layers, NULL);
        for (int64_t h = 0; h < of->heads; h++)
            attend_put_row(cx, heads, m->weights + (of->first_head + h) * m->keys + e, 1);
    }
}

bool attend_put_graph(const struct attend_choice *c, heed_json doc, const heed_picture_sheet *of) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *const s = attend_site(c);
    const heed_json nodes = heed_json_put_array(cx, doc, "nodes"), edges = heed_json_put_array(cx, doc, "edges");
    for (int64_t i = 0; i < s->keys->n && !heed_failed(cx); i++)
        if (c->query < 0 || c->query == i) put_node(cx, nodes, &c->a->found->nodes, s->keys, i);
    for (int64_t e = 0; e < s->maps[0].keys && !heed_failed(cx); e++)
        if (c->query < 0 || s->targets[e] == c->query) put_edge(c, edges, of, e);
    return !heed_failed(cx);
}

/* ---- files ---- */

static bool draw_part(const struct attend_choice *c, heed_panel *p, const heed_attended_part *part) {
    heed_ctx *const cx = c->a->cx;
    const heed_attended_site *const s = attend_site(c);
    const heed_attended_nodes *const nodes = &c->a->found->nodes;
    const int64_t n = part->nodes;
    float *const all = heed_mem_new(cx, (size_t)s->maps[0].keys * sizeof *all + 1), *const weights = heed_mem_new(
                                                                                        cx, (size_t)part->edges *
                                                                                                    sizeof *weights +
                                                                                                1);
    int32_t *const class = heed_mem_new(cx, (size_t)(2 * n) * sizeof *class), *const truth = class ? class + n : NULL;
    const char **const names = heed_mem_new(cx, (size_t)n * sizeof *names);
    bool *const marked = heed_mem_new(cx, (size_t)n * sizeof *marked);
    bool ok = all && weights && class && names && marked && heed_attended_edges(cx, s, attend_layer(c), c->head, all);
    for (int64_t i = 0; ok && i < n; i++) {
        const int64_t node = part->node[i];
        truth[i] = nodes->label ? nodes->label[node] : -1;
        if (truth[i] < 0) truth[i] = -1;
        class[i] = nodes->predicted ? nodes->predicted[node] : truth[i];
        names[i] = s->keys->labels[node];
        marked[i] = node == c->query;
    }
    for (int64_t e = 0; ok && e < part->edges; e++) { /* those of one node stand out */
        const int64_t edge = part->edge[e];
        weights[e] = c->query < 0 || s->targets[edge] == c->query ? all[edge] : 0;
    }
    ok = ok && heed_panel_graph(p, &(heed_graph_look){.nodes = n,
                                                      .edges = part->edges,
                                                      .from = part->from,
                                                      .to = part->to,
                                                      .seed = heed_seed(cx),
                                                      .weights = weights,
                                                      .directed = true,
                                                      .classes = class,
                                                      .truth = truth,
                                                      .marked = marked,
                                                      .class_names = nodes->class_names,
                                                      .n_classes = nodes->class_names ? nodes->classes : 0,
                                                      .names = names});
    heed_mem_free(cx, all);
    heed_mem_free(cx, weights);
    heed_mem_free(cx, class);
    heed_mem_free(cx, names);
    heed_mem_free(cx, marked);
    return ok;
}

heed_figure *attend_draw_graph(const struct attend_choice *c, char *what, size_t room) {
    heed_ctx *const cx = c->a->cx;
    heed_attended_part part = {0};
    heed_figure *f = NULL;
    if (!heed_attended_near(cx, c->a->found, attend_site(c), c->query, hops_of(c), &part)) return NULL;
    name_of(c, what, room);
    if (part.nodes > DRAWN && c->query >= 0)
        heed_fail(cx, HEED_ERR_USAGE, "attend: %lld nodes within %lld hops, a picture shows %d: --hops takes fewer",
                  (long long)part.nodes, (long long)hops_of(c), DRAWN);
    else if (part.nodes > DRAWN)
        heed_fail(cx, HEED_ERR_USAGE, "attend: %lld nodes, a picture shows %d: --node shows what is around one",
                  (long long)part.nodes, DRAWN);
    else {
        const double side = fmin(1300, 480 + 16 * sqrt((double)part.nodes));
        f = heed_figure_new(cx, side, 0.8 * side);
        heed_panel *const p = heed_figure_panel(f, 0, 0);
        heed_panel_title(p, what);
        draw_part(c, p, &part);
    }
    heed_attended_part_free(cx, &part);
    return f;
}

bool attend_write_graph_page(const struct attend_choice *c, const char *path, const char *title) {
    const heed_graph_page_opts opts = {.title = title,
                                       .site = c->site,
                                       .layer = attend_layer(c),
                                       .head = c->head,
                                       .node = c->query,
                                       .hops = hops_of(c),
                                       .seed = heed_seed(c->a->cx)};
    return heed_graph_page(c->a->cx, path, c->a->found, &opts);
}
