/* Gradient checkpointing (Chen et al. 2016): a function whose tape is not kept. Forward runs it without recording and
 * leaves one record, which holds the inputs; backward runs it again, with the same random numbers and recording, and
 * goes back through what it records. As its inputs are the same tensors, contributions to gradients come in the same
 * order as without: the same bits. */
#include "base/profile.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include <string.h>

#define MAX_INPUTS 31 /* and the output: bits of save_in */

struct again {
    heed_recompute_fn fn;
    const void *own; /* among the records */
    uint64_t random_ops;
    bool training;
};

/* Inputs of the function, then what it gave, of which the output is a view. */
static bool recompute_infer(heed_op_call *c) {
    const int last = c->n_in - 1;
    c->save_in = (1u << last) - 1;
    return heed_op_view(c, 0, last, c->in[last]->rank, c->in[last]->shape, 0, c->in[last]->count, c->in[last]->count);
}

/* Never called: the engine calls node_recompute, in dry contexts too. */
static bool recompute_backward(heed_op_call *c) {
    return heed_op_fail(c, HEED_ERR_USAGE, "backward of a plain record");
}

static const heed_op op_recompute = {.name = "recompute",
                                     .infer = recompute_infer,
                                     .backward = recompute_backward,
                                     .flags = HEED_OP_STRIDED,
                                     .optional = UINT32_MAX,
                                     .attr_size = sizeof(struct again)};

bool node_recomputes(const struct node *n) { return n->call.op == &op_recompute; }

bool node_recompute(struct node *n) {
    heed_op_call *const c = &n->call;
    heed_ctx *const cx = c->cx;
    struct engine *const e = cx->engine;
    struct again a;
    memcpy(&a, c->attr, sizeof a);
    const struct bump_mark records = e->records.at;
    const int64_t nodes = e->n_nodes;
    const uint64_t random_ops = e->random_ops;
    const bool recording = e->recording, training = e->training, again = e->again;
    const struct profile_mark mark = profile_begin(cx);
    e->random_ops = a.random_ops, e->recording = true, e->training = a.training, e->again = true;
    heed_scope_begin(cx);
    heed_tensor *const y = a.fn(cx, a.own, c->in);
    bool ok = y != NULL;
    if (ok && !y->maker) ok = heed_op_fail(c, HEED_ERR_USAGE, "the function records nothing the second time");
    if (ok) y->grad = c->out[0]->grad, c->out[0]->grad = NULL;
    heed_scope_end(cx, NULL);
    e->random_ops = random_ops, e->recording = recording, e->training = training, e->again = again;
    profile_end(cx, mark, "recompute", PROFILE_BACKWARD);
    ok = ok && engine_walk_back(cx, nodes);
    if (ok) e->records.at = records;
    return ok;
}

heed_tensor *heed_recompute(heed_ctx *cx, heed_recompute_fn fn, const void *own, size_t own_size,
                            heed_tensor *const *in, int n_in) {
    struct engine *const e = engine_of(cx);
    if (!e) return NULL;
    if (!fn || !in || n_in < 1 || n_in > MAX_INPUTS || (own_size > 0 && !own)) {
        heed_fail(cx, HEED_ERR_USAGE, "recompute: a function and 1 to %d inputs are needed", MAX_INPUTS);
        return NULL;
    }
    if (!e->recording || !in[0] || !in[0]->wants) return fn(cx, own, in);
    heed_tensor *all[MAX_INPUTS + 1];
    for (int i = 0; i < n_in; i++) all[i] = in[i];
    struct again a = {.fn = fn, .random_ops = e->random_ops, .training = e->training};
    e->recording = false;
    heed_scope_begin(cx);
    heed_tensor *const y = heed_scope_end(cx, heed_contiguous(cx, fn(cx, own, in)));
    e->recording = true;
    void *const kept = y ? bump_take(cx, &e->records, own_size + 1) : NULL;
    if (!kept) return NULL;
    if (own_size > 0) memcpy(kept, own, own_size);
    a.own = kept;
    all[n_in] = y;
    return apply1(cx, &op_recompute, &a, all, n_in + 1);
}
