/* Attention over a graph as one HTML file that loads nothing: graph_page.html, with nodes, edges and weights and the
 * script graph_page.js in it. */
#include "heed/attend.h"
#include "heed/plot.h"
#include "plot/attention_page.h"
#include "plot/page_pieces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_SITES 64
#define MAX_NODES 4096 /* drawn by a browser */
#define MAX_EDGES 50000
#define SCALE     65535

static const char op[] = "graph_page";

struct page {
    heed_ctx *cx;
    struct file_writer *file;
    const heed_attended *a;
    heed_graph_page_opts opts;
    heed_attended_part part;
    float *x, *y, *weights; /* (nodes), (nodes), (heads, edges) of the part */
};

static bool check(const struct page *p) {
    const heed_attended *const a = p->a;
    const heed_graph_page_opts *const o = &p->opts;
    if (!a || a->nodes.n < 1 || a->n < 1 || a->n > MAX_SITES)
        return heed_fail(p->cx, HEED_ERR_USAGE, "%s: there is no attention over a graph, or more than %d kinds", op,
                         MAX_SITES);
    if (o->site < 0 || o->site >= a->n || o->layer < 0 || o->layer >= a->sites[o->site].n_maps || o->head < -1 ||
        o->head >= a->sites[o->site].maps[0].heads || o->node < -1 || o->node >= a->nodes.n)
        return heed_fail(p->cx, HEED_ERR_RANGE, "%s: site %d, layer %d, head %lld, node %lld cannot be open at first",
                         op, o->site, o->layer, (long long)o->head, (long long)o->node);
    return true;
}

/* The part, its places, and room for its weights. */
static bool prepare(struct page *p) {
    heed_ctx *const cx = p->cx;
    heed_attended_part *const part = &p->part;
    int64_t heads = 1;
    if (!heed_attended_near(cx, p->a, &p->a->sites[0], p->opts.node, p->opts.hops, part)) return false;
    if (part->nodes > MAX_NODES || part->edges > MAX_EDGES)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "%s: %lld nodes and %lld edges, a page shows %d and %d: choose a node, or fewer hops", op,
                         (long long)part->nodes, (long long)part->edges, MAX_NODES, MAX_EDGES);
    for (int i = 0; i < p->a->n; i++)
        heads = p->a->sites[i].maps[0].heads > heads ? p->a->sites[i].maps[0].heads : heads;
    p->x = heed_mem_new(cx, (size_t)part->nodes * sizeof *p->x);
    p->y = heed_mem_new(cx, (size_t)part->nodes * sizeof *p->y);
    p->weights = heed_mem_new(cx, (size_t)(heads * part->edges) * sizeof *p->weights + 1);
    return p->x && p->y && p->weights &&
           heed_graph_layout(cx, part->nodes, part->from, part->to, part->edges, p->opts.seed, p->x, p->y);
}

/* [name, x, y, class, label]: y downwards */
static void put_node(struct buffer *b, const struct page *p, int64_t i) {
    const heed_attended_nodes *const nodes = &p->a->nodes;
    const int64_t node = p->part.node[i];
    buffer_text(b, i ? ",\n[" : "[");
    page_text(b, p->a->sites[0].keys->labels[node]);
    buffer_format(b, ",%.4g,%.4g,%d,%d]", (double)p->x[i], -(double)p->y[i],
                  nodes->predicted ? nodes->predicted[node] : -1, nodes->label ? nodes->label[node] : -1);
}

static void put_classes(struct buffer *b, const heed_attended_nodes *nodes) {
    for (int64_t k = 0; k < nodes->classes; k++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)k);
        if (k) buffer_text(b, ",");
        page_text(b, nodes->class_names ? nodes->class_names[k] : number);
    }
}

static void put_ends(struct buffer *b, const char *name, const int32_t *ends, int64_t n) {
    buffer_format(b, "],\n\"%s\":[", name);
    for (int64_t e = 0; e < n; e++) buffer_format(b, e ? ",%d" : "%d", ends[e]);
}

static bool write_words(const struct page *p) {
    const heed_graph_page_opts *const o = &p->opts;
    struct buffer b = {.cx = p->cx};
    buffer_text(&b, "<script type=\"application/json\" id=\"data\">\n{");
    page_member(&b, "title", o->title);
    page_member(&b, "line", o->line);
    buffer_format(&b, "\"scale\":%d,\"start\":{\"site\":%d,\"layer\":%d,\"head\":%lld,\"node\":%d},\n\"sites\":[",
                  SCALE, o->site, o->layer, (long long)o->head, o->node < 0 ? -1 : 0);
    for (int i = 0; i < p->a->n; i++) {
        const heed_attended_site *const s = &p->a->sites[i];
        buffer_text(&b, i ? ",{" : "{");
        page_member(&b, "name", s->name);
        buffer_format(&b, "\"heads\":%lld,\"layers\":%d}", (long long)s->maps[0].heads, s->n_maps);
    }
    buffer_text(&b, "],\n\"nodes\":[");
    for (int64_t i = 0; i < p->part.nodes; i++) put_node(&b, p, i);
    buffer_text(&b, "],\n\"classes\":[");
    put_classes(&b, &p->a->nodes);
    put_ends(&b, "from", p->part.from, p->part.edges);
    put_ends(&b, "to", p->part.to, p->part.edges);
    const bool ok = buffer_text(&b, "]}\n</script>\n") && file_write(p->file, b.data, b.size);
    buffer_free(&b);
    return ok;
}

static bool write_map(const struct page *p, const heed_capture_map *m) {
    const int64_t edges = p->part.edges;
    for (int64_t h = 0; h < m->heads; h++)
        for (int64_t e = 0; e < edges; e++) p->weights[h * edges + e] = m->weights[h * m->keys + p->part.edge[e]];
    return page_weights(p->file, p->weights, m->heads * edges, SCALE, 1);
}

static bool write_data(struct file_writer *file, void *arg) {
    struct page *const p = arg;
    p->file = file;
    if (!write_words(p)) return false;
    for (int i = 0; i < p->a->n; i++)
        for (int l = 0; l < p->a->sites[i].n_maps; l++)
            if (!page_tag(file, "w", i, l) || !write_map(p, &p->a->sites[i].maps[l]) || !page_tag_end(file))
                return false;
    return true;
}

bool heed_graph_page(heed_ctx *cx, const char *path, const heed_attended *a, const heed_graph_page_opts *opts) {
    if (heed_failed(cx)) return false;
    struct page p = {.cx = cx, .a = a, .opts = {.head = -1, .node = -1}};
    if (opts) p.opts = *opts;
    const bool ok = check(&p) && prepare(&p) &&
                    page_write(cx, path,
                               &(struct page_source){.html = graph_page_html,
                                                     .html_size = graph_page_html_size,
                                                     .script = graph_page_js,
                                                     .script_size = graph_page_js_size,
                                                     .op = op,
                                                     .title = p.opts.title,
                                                     .line = p.opts.line,
                                                     .data = write_data,
                                                     .arg = &p});
    heed_attended_part_free(cx, &p.part);
    heed_mem_free(cx, p.x);
    heed_mem_free(cx, p.y);
    heed_mem_free(cx, p.weights);
    return ok;
}
