#include "task/nodes/graph_fields.h"
#include <stdio.h>
#include <string.h>

enum { DRAWN_TRAIN = 2000, DRAWN_OTHERS = 500 }; /* graphs to train on, to validate and to test */

const heed_field graph_fields[] = {
    GRAPH_TABLE_FIELDS,
    {.name = NULL},
};

bool graph_fields_fit(const struct values *v, char why[FIELD_WHY]) {
    const bool data = value_known(v, "data") && value_given(v, "data"), nodes = value_given(v, "nodes"),
               edges = value_given(v, "edges"), graphs = value_given(v, "graphs");
    const char *const wrong = data && nodes      ? "--data and --nodes: only one of them makes sense"
                              : nodes && !edges  ? "--nodes needs --edges FILE"
                              : !nodes && edges  ? "--edges needs --nodes FILE"
                              : !nodes && graphs ? "--graphs needs --nodes FILE"
                                                 : NULL;
    if (wrong) snprintf(why, FIELD_WHY, "%s", wrong);
    return !wrong;
}

static heed_graph_data *draw(heed_ctx *cx) {
    const int64_t n = DRAWN_TRAIN + 2 * DRAWN_OTHERS;
    heed_graph_data *const g = heed_graph_copies(cx, heed_seed(cx), n);
    unsigned char *const part = g ? heed_mem_new(cx, (size_t)n) : NULL;
    for (int64_t i = 0; part && i < n; i++)
        part[i] = i < DRAWN_TRAIN                  ? HEED_GRAPH_TRAIN
                  : i < DRAWN_TRAIN + DRAWN_OTHERS ? HEED_GRAPH_VALID
                                                   : HEED_GRAPH_TEST;
    if (part) {
        g->part = part;
        return g;
    }
    heed_graph_data_free(cx, g);
    return NULL;
}

heed_graph_data *graph_fields_load(heed_ctx *cx, const struct values *v, const char *path,
                                   const heed_graph_data_opts *opts) {
    heed_graph_data_opts o = *opts;
    const char *const nodes = value_text(v, "nodes");
    if (!nodes && opts->whole && strcmp(path, GRAPHS_DRAWN) == 0) return draw(cx);
    o.data = nodes ? NULL : path;
    o.nodes = nodes;
    o.edges = value_text(v, "edges");
    o.graphs = value_text(v, "graphs");
    return heed_graph_load(cx, &o);
}
