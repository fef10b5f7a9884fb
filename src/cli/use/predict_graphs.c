#include "cli/use/predict_graphs.h"
#include "model/core/directory.h"
#include "task/answers.h"
#include "task/nodes/graph_fields.h"
#include <stdio.h>

bool graphs_are_given(const struct options *o) { return option_given(o, "nodes") || option_given(o, "edges"); }

bool graphs_are_classified(const char *dir) {
    if (!directory_has(dir, CONFIG_FILE)) return false; /* which has its sentence from the command */
    heed_ctx *const cx = cli_peek();
    heed_directory *const d = heed_directory_open(cx, dir);
    const heed_head *const head = heed_directory_head(d);
    const bool graphs = head && heed_head_takes(head, "edge_index");
    heed_directory_close(cx, d);
    heed_close(cx);
    return graphs;
}

static void print_line(const heed_graph_data *like, const char *name, const float *p) {
    int64_t best = 0;
    char number[24];
    for (int64_t k = 1; k < like->classes; k++)
        if (p[k] > p[best]) best = k;
    cli_print_text(stdout, name);
    putchar('\t');
    cli_print_text(stdout, answer_label(like->class_names, best, number));
    printf("\t%.4f\n", (double)p[best]);
}

static void print_json(heed_ctx *cx, const heed_graph_data *like, const char *name, const float *p) {
    const heed_json at = heed_json_new(cx, "answer");
    heed_json_put_text(cx, at, like->whole ? "graph" : "node", name);
    answer_put_best(cx, at, like->class_names, p, like->classes);
    answer_put_scores(cx, at, like->class_names, p, like->classes);
    json_answer(cx, stdout, at, 0);
    heed_json_free(at);
}

/* A line for each node, or for each graph. */
static bool answer(const struct options *o, heed_ctx *cx, const heed_model *model, const heed_graph_data *like,
                   heed_graph_data *g) {
    const int64_t n = g->whole ? g->graphs : g->nodes;
    char number[24];
    float *const p = heed_mem_new(cx, (size_t)n * (size_t)like->classes * sizeof *p);
    const bool ok = p && heed_graph_predict(cx, model, g, p);
    for (int64_t i = 0; ok && i < n && !heed_failed(cx); i++) {
        const char *const name = (g->whole ? heed_graph_name : heed_graph_node_name)(g, i, number);
        if (option_flag(o, "json"))
            print_json(cx, like, name, p + i * like->classes);
        else
            print_line(like, name, p + i * like->classes);
    }
    heed_mem_free(cx, p);
    return ok && !heed_failed(cx);
}

static bool predict(const struct options *o, heed_ctx *cx, const heed_model *model) {
    const char *const data = option_text(o, "data"), *const nodes = option_text(o, "nodes"),
                      *const path = nodes ? nodes : data;
    heed_graph_data *const like = path ? heed_graph_model_data(cx, model) : NULL;
    heed_graph_data *g = NULL;
    if (!path) heed_fail(cx, HEED_ERR_USAGE, "a model of graphs takes --nodes FILE --edges FILE, or --data PATH");
    if (like) {
        const heed_graph_data_opts opts = {
            .whole = like->whole, .directed = like->directed, .like = like, .unlabelled = true};
        g = graph_fields_load(cx, options_values(o), path, &opts);
    }
    const bool ok =
        g && (heed_graph_model_prepare(cx, model, g) || heed_fail_in(cx, "%s", path)) && answer(o, cx, model, like, g);
    heed_graph_data_free(cx, g);
    heed_graph_data_free(cx, like);
    return ok;
}

int predict_graphs(const struct options *o) {
    char why[FIELD_WHY];
    if (!graph_fields_fit(options_values(o), why)) return cli_error(EXIT_USAGE, "%s: %s", options_command(o), why);
    if (option_known(o, "out") && option_given(o, "out"))
        return cli_error(EXIT_USAGE, "%s: --out is for a table: graphs are answered on standard output",
                         options_command(o));
    heed_ctx *const cx = options_open(o);
    if (!cx) return EXIT_FAILED;
    heed_set_grad(cx, false);
    heed_model *const model = heed_model_load_as(cx, options_word(o, 0), &(heed_load_opts){.map = true});
    const bool good = model && predict(o, cx, model);
    heed_model_free(cx, model);
    return options_close(o, cx, good ? EXIT_DONE : EXIT_FAILED);
}
