/* heed/graph_model.h: models of graphs at work: what a model's config says of its graphs, and classes for new ones.
 *
 *     heed_graph_data *like = heed_graph_model_data(cx, model);
 *     heed_graph_data *g = heed_graph_load(cx, &(heed_graph_data_opts){.data = "new", .like = like, .unlabelled = true,
 *                                                                  .whole = like->whole, .directed = like->directed});
 *     heed_graph_model_prepare(cx, model, g) && heed_graph_predict(cx, model, g, p);        (nodes or graphs, classes)
 */
#ifndef HEED_GRAPH_MODEL_H
#define HEED_GRAPH_MODEL_H

#include "heed/graph_data.h"
#include "heed/model.h"

#ifdef __cplusplus
extern "C" {
#endif

HEED_API bool heed_graph_model_is(const heed_model *model); /* whether it takes graphs, and gives classes */
/* What the config says of the graphs that it was trained on, as graphs without nodes: to load others `like` it. */
HEED_API heed_graph_data *heed_graph_model_data(heed_ctx *cx, const heed_model *model);
/* Gives new graphs the features that those of training were given: made up where they had none, normalised where they
 * were. Fails where the features are others than the model takes. */
HEED_API bool heed_graph_model_prepare(heed_ctx *cx, const heed_model *model, heed_graph_data *g);
/* Probabilities of the classes for each node or graph: p (nodes or graphs, classes). */
HEED_API bool heed_graph_predict(heed_ctx *cx, const heed_model *model, const heed_graph_data *g, float *p);

#ifdef __cplusplus
}
#endif
#endif
