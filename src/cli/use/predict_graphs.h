/* heed predict and heed classify of models of graphs. */
#ifndef CLI_USE_PREDICT_GRAPHS_H
#define CLI_USE_PREDICT_GRAPHS_H

#include "cli/core/options.h"
#include "heed/graph_model.h"

/* Whether tables of graphs are given, or the directory holds a model of graphs. */
bool graphs_are_given(const struct options *o);
bool graphs_are_classified(const char *dir);
/* The exit status. */
int predict_graphs(const struct options *o);

#endif
