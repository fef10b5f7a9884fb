/* Reversible layers (Gomez et al. 2017; Kitaev et al. 2020).   y1 = x1 + f(x2),   y2 = x2 + g(y1)   in each layer
 *
 * A layer's inputs follow from its outputs,  x2 = y2 - g(y1),  x1 = y1 - f(x2),  so the whole stack leaves one record,
 * which holds the last outputs. Backward goes down the layers: it runs g and f again, recording and with the same
 * random numbers, goes back through what they record, and takes their results away from the outputs. Memory does not
 * grow with the number of layers, but for what a function asks to be kept: choices, such as an order of sorting, that
 * rounding must not change when it runs again. */
#include "base/profile.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include <string.h>

enum { X1, X2, Y1, Y2, ALSO };
#define MAX_ALSO 24

struct layer_record {
    uint64_t random_ops[2]; /* before f, before g */
    heed_tensor *kept[2];
};

struct reversible {
    heed_residual_fn half[2]; /* f, g */
    const void *own;          /* among the records */
    struct layer_record *layer;
    int layers;
    bool training;
};

/* Inputs, then what the stack gave, of which the outputs are views, then what the functions read beside. */
static bool reversible_infer(heed_op_call *c) {
    c->save_in = ((1u << c->n_in) - 1) & ~((1u << ALSO) - 1);
    c->save_out = 3;
    for (int i = 0; i < 2; i++) {
        const heed_tensor *const y = c->in[Y1 + i];
        if (!heed_op_view(c, i, Y1 + i, y->rank, y->shape, 0, y->count, y->count)) return false;
    }
    return true;
}

/* Never called: the engine calls node_reverse, in dry contexts too. */
static bool reversible_backward(heed_op_call *c) {
    return heed_op_fail(c, HEED_ERR_USAGE, "backward of a plain record");
}

static const heed_op op_reversible = {.name = "reversible",
                                      .infer = reversible_infer,
                                      .backward = reversible_backward,
                                      .flags = HEED_OP_STRIDED,
                                      .optional = UINT32_MAX,
                                      .attr_size = sizeof(struct reversible)};

bool node_reverses(const struct node *n) { return n->call.op == &op_reversible; }

static void keep(heed_tensor *t) {
    if (t) t->refs++, t->holds++;
}

static void forget(heed_tensor **t) {
    if (*t) tensor_unhold(*t), tensor_unref(*t);
    *t = NULL;
}

void node_reverse_release(struct node *n) {
    struct reversible a;
    memcpy(&a, n->call.attr, sizeof a);
    for (int i = 0; i < a.layers; i++) forget(&a.layer[i].kept[0]), forget(&a.layer[i].kept[1]);
}

/* ---- backward ---- */

/* The same numbers as a tensor of its own, whose gradient is asked for. */
static heed_tensor *leaf_of(heed_ctx *cx, const heed_tensor *from) {
    heed_tensor *const t = tensor_make(cx, HEED_F32, from->rank, from->shape);
    if (!t) return NULL;
    t->storage = from->storage;
    if (t->storage) t->storage->refs++;
    t->data = from->data;
    t->wants = true;
    tensor_enter_scope(t);
    return t;
}

/* Where the way down has arrived: both outputs of a layer and their gradients. */
struct arrived {
    heed_tensor *y[2], *dy[2];
};

/* y[half] = x + fn(y[1 - half]) becomes x. */
static bool reverse_half(heed_op_call *c, const struct reversible *a, int number, int half, struct arrived *at) {
    heed_ctx *const cx = c->cx;
    struct engine *const e = cx->engine;
    struct layer_record *const record = &a->layer[number];
    const struct bump_mark records = e->records.at;
    const int64_t nodes = e->n_nodes;
    heed_tensor *const leaf = leaf_of(cx, at->y[1 - half]);
    if (!leaf) return false;
    e->random_ops = record->random_ops[half], e->recording = true, e->training = a->training;
    heed_scope_begin(cx);
    heed_tensor *const r =
        heed_contiguous(cx, a->half[half](cx, a->own, number, leaf, c->in + ALSO, &record->kept[half]));
    e->recording = false;
    if (r && !r->maker) return heed_op_fail(c, HEED_ERR_USAGE, "layer %d records nothing the second time", number);
    at->y[half] = heed_sub(cx, at->y[half], r);
    if (!at->y[half]) return false;
    r->grad = at->dy[half]->storage;
    r->grad->refs++;
    heed_scope_end(cx, at->y[half]);
    if (heed_failed(cx) || !engine_walk_back(cx, nodes)) return false;
    e->records.at = records;
    forget(&record->kept[half]);
    if (leaf->grad) at->dy[1 - half] = heed_add(cx, at->dy[1 - half], heed_grad_of(cx, leaf));
    return at->dy[1 - half] != NULL;
}

static bool reverse_layers(heed_op_call *c, const struct reversible *a) {
    heed_ctx *const cx = c->cx;
    struct arrived at = {0};
    for (int i = 0; i < 2; i++) {
        at.y[i] = c->out[i];
        at.dy[i] =
            c->out[i]->grad ? heed_grad_of(cx, c->out[i]) : heed_zeros(cx, HEED_F32, at.y[i]->rank, at.y[i]->shape);
        if (!at.dy[i]) return false;
        storage_unref(cx, c->out[i]->grad);
        c->out[i]->grad = NULL;
    }
    for (int i = a->layers; i-- > 0;) {
        heed_scope_begin(cx);
        if (!reverse_half(c, a, i, 1, &at) || !reverse_half(c, a, i, 0, &at)) return false;
        heed_tensor *const all[] = {at.y[0], at.y[1], at.dy[0], at.dy[1]};
        heed_scope_end_many(cx, all, 4);
        /* what the layer above left behind is not needed any more */
        heed_scope_keep_many(cx, all, 4);
    }
    for (int i = 0; i < 2; i++)
        if (c->wants[i] && !engine_contribute(cx, c->in[i], at.dy[i]->storage)) return false;
    return true;
}

bool node_reverse(struct node *n) {
    heed_op_call *const c = &n->call;
    heed_ctx *const cx = c->cx;
    struct engine *const e = cx->engine;
    struct reversible a;
    memcpy(&a, c->attr, sizeof a);
    const uint64_t random_ops = e->random_ops;
    const bool recording = e->recording, training = e->training;
    const struct profile_mark mark = profile_begin(cx);
    heed_scope_begin(cx);
    const bool ok = reverse_layers(c, &a);
    if (ok) heed_scope_end(cx, NULL);
    e->random_ops = random_ops, e->recording = recording, e->training = training;
    profile_end(cx, mark, "reversible", PROFILE_BACKWARD);
    return ok && !heed_failed(cx);
}

/* ---- forward ---- */

static bool run_layer(heed_ctx *cx, const struct reversible *a, int number, heed_tensor *const *also,
                      struct layer_record *record, heed_tensor *x[2]) {
    const struct engine *const e = cx->engine;
    struct layer_record unused = {0};
    if (!record) record = &unused;
    for (int half = 0; half < 2; half++) {
        record->random_ops[half] = e->random_ops;
        heed_tensor *const r = a->half[half](cx, a->own, number, x[1 - half], also, &record->kept[half]);
        x[half] = heed_add(cx, x[half], r);
        if (!x[half]) record->kept[half] = NULL;
        if (!x[half]) return false;
    }
    return true;
}

bool heed_reversible(heed_ctx *cx, const heed_reversible_opts *o, heed_tensor *x[2]) {
    struct engine *const e = engine_of(cx);
    if (!e) return false;
    if (!o || !o->f || !o->g || !x || !x[0] || !x[1] || o->layers < 0 || o->n_also < 0 || o->n_also > MAX_ALSO ||
        (o->n_also > 0 && !o->also) || !same_shape(x[0], x[1]))
        return heed_fail(cx, HEED_ERR_USAGE,
                         "reversible: two functions, two inputs of one shape and at most %d tensors "
                         "beside are needed",
                         MAX_ALSO);
    struct reversible a = {.half = {o->f, o->g}, .own = o->own, .layers = o->layers, .training = e->training};
    const bool records = e->recording, plain = !records || cx->capture || !(x[0]->wants || x[1]->wants);
    heed_tensor *all[ALSO + MAX_ALSO] = {x[0], x[1]};
    if (!plain) {
        a.layer = bump_take(cx, &e->records, (size_t)o->layers * sizeof *a.layer + o->own_size + 1);
        if (!a.layer) return false;
        memset(a.layer, 0, (size_t)o->layers * sizeof *a.layer);
        a.own = (char *)a.layer + (size_t)o->layers * sizeof *a.layer;
        if (o->own_size > 0) memcpy((char *)(uintptr_t)a.own, o->own, o->own_size);
        e->recording = false;
    }
    if (!e->recording) heed_scope_begin(cx);
    bool ok = true;
    for (int i = 0; ok && i < o->layers; i++) {
        ok = run_layer(cx, &a, i, o->also, a.layer ? &a.layer[i] : NULL, x);
        for (int half = 0; a.layer && half < 2; half++) keep(a.layer[i].kept[half]);
        if (ok && !e->recording) heed_scope_keep_many(cx, x, 2);
    }
    if (!e->recording) heed_scope_end_many(cx, x, 2);
    e->recording = records;
    if (!ok || heed_failed(cx)) return false;
    if (plain) return true;
    for (int i = 0; i < 2; i++) all[Y1 + i] = heed_contiguous(cx, x[i]);
    for (int i = 0; i < o->n_also; i++) all[ALSO + i] = o->also[i];
    return heed_apply(cx, &op_reversible, &a, all, ALSO + o->n_also, x, 2);
}
