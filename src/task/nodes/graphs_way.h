/* The way of graphs, for the tasks of nodes and of graphs. */
#ifndef TASK_NODES_GRAPHS_WAY_H
#define TASK_NODES_GRAPHS_WAY_H

#include "task/run.h"

extern const struct task_way way_graphs;

#endif
