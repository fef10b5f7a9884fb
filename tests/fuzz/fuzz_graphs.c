/* Tables of graphs: the first byte chooses the options, the rest is the tables of nodes, edges and graphs, with a line
 * of '#' between them. */
#include "fuzz.h"
#include "heed/graph_data.h"

static char *next_table(char *text) {
    char *const end = text ? strstr(text, "#\n") : NULL;
    if (end) *end = 0;
    return end ? end + 2 : NULL;
}

static void look(const heed_graph_data *g) {
    char number[24];
    MUST(g->node_start[0] == 0 && g->node_start[g->graphs] == g->nodes && g->edge_start[g->graphs] == g->edges);
    for (int64_t i = 0; i < 2 * g->edges; i++) MUST(g->edge[i] >= 0 && g->edge[i] < g->nodes);
    for (int64_t i = 0; i < g->nodes; i++) MUST(heed_graph_node_name(g, i, number));
    for (int64_t k = 0; g->start && k < g->start[g->nodes]; k++) MUST(g->column[k] >= 0 && g->column[k] < g->width);
    for (int64_t k = 0; g->x && k < g->nodes * g->width; k++) MUST(g->x[k] - g->x[k] == 0);
    for (int64_t i = 0; g->label && i < (g->whole ? g->graphs : g->nodes); i++)
        MUST(g->label[i] == HEED_UNLABELLED || (g->label[i] >= 0 && g->label[i] < g->classes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    char *const text = malloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    char *const edges = next_table(text), *const graphs = next_table(edges);
    const heed_graph_data_opts opts = {
        .whole = data[0] & 1, .directed = data[0] & 2, .unlabelled = data[0] & 4, .target = data[0] & 8 ? "2" : NULL};
    heed_graph_data *const g = heed_graph_parse(cx, text, edges ? edges : "", graphs, &opts);
    if (g) look(g);
    const bool read = g;
    heed_graph_data_free(cx, g);
    free(text);
    fuzz_check(cx, read, held);
    return 0;
}
