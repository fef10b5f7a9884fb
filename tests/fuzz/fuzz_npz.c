/* Graphs in npz files: zip archives of arrays. The first byte chooses the options. */
#include "data/graphs/graphs.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const heed_graph_data_opts opts = {.whole = data[0] & 1, .directed = data[0] & 2, .unlabelled = data[0] & 4};
    heed_graph_data *const g = graph_new(cx);
    MUST(g);
    g->whole = opts.whole;
    g->directed = opts.directed;
    const bool read = graph_parse_npz(cx, "fuzz", data + 1, size - 1, &opts, g);
    for (int64_t i = 0; read && i < 2 * g->edges; i++) MUST(g->edge[i] >= 0 && g->edge[i] < g->nodes);
    for (int64_t i = 0; read && g->start && i < g->start[g->nodes]; i++)
        MUST(g->column[i] >= 0 && g->column[i] < g->width);
    heed_graph_data_free(cx, g);
    fuzz_check(cx, read, held);
    return 0;
}
