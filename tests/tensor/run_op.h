/* An op by its name, as the golden files name it. */
#ifndef TESTS_RUN_OP_H
#define TESTS_RUN_OP_H

#include "heed/graph.h"
#include "heed/ops.h"

struct attrs {
    heed_ctx *cx; /* of the document that the attributes lie in */
    heed_json at;
};

/* Calls heed_OP. out has room for MAX_OP_OUT; *n_out receives how many there are. False when the op failed, or when
 * there is none of that name: then the context has failed too. */
#define MAX_OP_OUT 8
bool run_op(heed_ctx *cx, const char *op, struct attrs attrs, heed_tensor *const *in, int n_in, heed_tensor **out,
            int *n_out);

#endif
