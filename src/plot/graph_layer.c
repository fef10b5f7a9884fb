/* A graph as it is added to a panel: checked, copied, and laid out where its places are not given. */
#include "base/checked.h"
#include "plot/graph_draw.h"

#include <math.h>
#include <string.h>

#define MOST_CLASSES 4096

static const char op[] = "graph";

static bool check_edges(heed_ctx *cx, const heed_graph_look *o) {
    for (int64_t e = 0; e < o->edges; e++) {
        if (o->from[e] < 0 || o->from[e] >= o->nodes || o->to[e] < 0 || o->to[e] >= o->nodes)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: edge %lld goes from %d to %d, there are %lld nodes", op,
                             (long long)e, o->from[e], o->to[e], (long long)o->nodes);
        if (o->weights && !(o->weights[e] >= 0 && isfinite(o->weights[e])))
            return heed_fail(cx, HEED_ERR_RANGE, "%s: the weight of edge %lld is %g: must be 0 or more", op,
                             (long long)e, (double)o->weights[e]);
    }
    return true;
}

static bool check_nodes(heed_ctx *cx, const heed_graph_look *o) {
    const int32_t *const lists[] = {o->classes, o->truth};
    for (int64_t i = 0; i < o->nodes; i++) {
        for (int k = 0; k < 2; k++)
            if (lists[k] && (lists[k][i] < -1 || lists[k][i] >= MOST_CLASSES))
                return heed_fail(cx, HEED_ERR_RANGE, "%s: node %lld is of class %d: must be -1 to %d", op, (long long)i,
                                 lists[k][i], MOST_CLASSES - 1);
        if (o->x && !(isfinite(o->x[i]) && isfinite(o->y[i])))
            return heed_fail(cx, HEED_ERR_RANGE, "%s: the place of node %lld is not finite", op, (long long)i);
    }
    return true;
}

static bool check(heed_ctx *cx, const heed_graph_look *o) {
    if (!o) return heed_fail(cx, HEED_ERR_USAGE, "%s: NULL", op);
    if (o->nodes < 0 || o->edges < 0 || o->nodes > INT32_MAX / 8 || o->edges > INT32_MAX / 8)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld nodes and %lld edges cannot be drawn", op, (long long)o->nodes,
                         (long long)o->edges);
    if ((o->edges > 0 && (!o->from || !o->to)) || !o->x != !o->y)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: an array of edges or of places is NULL", op);
    if (o->n_classes < 0 || o->n_classes > MOST_CLASSES || !(o->high >= 0 && isfinite(o->high)))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld names of classes, strongest edge %g: out of range", op,
                         (long long)o->n_classes, o->high);
    return check_edges(cx, o) && check_nodes(cx, o);
}

static bool copy_numbers(heed_ctx *cx, const heed_graph_look *o, struct layer *l) {
    l->sizes = heed_mem_new(cx, (size_t)(2 * o->edges + 3 * o->nodes) * sizeof *l->sizes + 1);
    if (!l->sizes) return false;
    const struct graph_numbers to = graph_numbers(l);
    if (o->edges > 0) {
        memcpy(to.from, o->from, (size_t)o->edges * sizeof *to.from);
        memcpy(to.to, o->to, (size_t)o->edges * sizeof *to.to);
    }
    for (int64_t i = 0; i < o->nodes; i++) {
        to.class[i] = o->classes ? o->classes[i] : 0;
        to.truth[i] = o->truth ? o->truth[i] : -1;
        to.mark[i] = o->marked && o->marked[i];
    }
    return true;
}

static bool copy_places(heed_ctx *cx, const heed_graph_look *o, struct layer *l) {
    if (o->x) return copy_floats(cx, op, o->x, o->nodes, &l->x) && copy_floats(cx, op, o->y, o->nodes, &l->y);
    l->x = heed_mem_new(cx, (size_t)o->nodes * sizeof *l->x + 1);
    l->y = heed_mem_new(cx, (size_t)o->nodes * sizeof *l->y + 1);
    return l->x && l->y && heed_graph_layout(cx, o->nodes, o->from, o->to, o->edges, o->seed, l->x, l->y);
}

bool heed_panel_graph(heed_panel *p, const heed_graph_look *o) {
    if (!panel_ready(p)) return false;
    heed_ctx *const cx = p->figure->cx;
    if (!check(cx, o)) return false;
    struct layer l = {.kind = LAYER_GRAPH, .n = o->nodes, .rows = o->edges, .high = o->high, .directed = o->directed};
    l.style.color = HEED_COLOR_INK;
    if (copy_numbers(cx, o, &l) && copy_places(cx, o, &l) && copy_text(cx, op, o->mark_label, &l.text) &&
        copy_names(cx, op, o->class_names, o->class_names ? o->n_classes : 0, &l.names_2) &&
        copy_names(cx, op, o->names, o->nodes, &l.names) && o->weights)
        copy_floats(cx, op, o->weights, o->edges, &l.z);
    return panel_add(p, &l);
}
