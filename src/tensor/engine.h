/* The engine as the ops see it: what a tensor is, and what a context keeps of a step.
 *
 * A tensor has two reference counts. `refs` keeps its header: the scope it was made in, and every recorded op that
 * takes or gives it. `holds` keeps its numbers: the scope, and every recorded op that saved them. Storage is counted
 * too, because views and passed-on gradients share it. */
#ifndef TENSOR_ENGINE_H
#define TENSOR_ENGINE_H

#include "base/ctx.h"
#include "heed/ops.h"

struct storage {
    void *data; /* a block of the arena */
    int refs;
};

struct node;

struct heed_tensor {
    heed_ctx *cx;
    heed_dtype dtype;
    int rank;
    int64_t shape[HEED_MAX_RANK];
    int64_t count;
    char *data;
    const void *packed;      /* a weight, or of what this is a view: struct gemm_packed, or NULL */
    int64_t run, stride;     /* in numbers: runs of `run`, `stride` apart; contiguous: run = count */
    struct storage *storage; /* NULL when the numbers are the caller's */
    struct storage *grad;    /* NULL until a contribution arrives; parameters use slot instead */
    heed_grad *slot;
    struct node *maker; /* the recorded op that gave it */
    heed_tensor *next;  /* in its scope */
    int refs, holds;
    bool wants;     /* a gradient */
    bool keep;      /* its numbers outlive backward */
    bool keep_grad; /* its gradient outlives backward */
    bool in_scope;  /* the scope still holds the numbers */
    bool ended;     /* its step is over: there are no numbers, and only the shape is left */
};

struct node {
    heed_op_call call;
    struct storage *state;
    int *pass;     /* per input: the output whose gradient is its own, or -1 */
    bool *claimed; /* per input: forward writes its gradient */
    int fold;      /* the output whose gradient backward adds to, or -1 */
};

struct slab { /* objects of one size: taken and given back one by one, or all at once */
    size_t size;
    void *free, *chunks;
    size_t used; /* objects handed out of the newest chunk */
};

struct bump_mark {
    void *chunk;
    size_t used;
};

struct bump { /* memory taken piece by piece and given back all at once; chunks are kept from step to step */
    void *first;
    struct bump_mark at;
};

struct slots { /* a list */
    heed_grad **slot;
    int64_t n, cap;
};

struct engine {
    struct slab tensors, storages;
    struct bump records; /* of the tape */
    struct bump lists;   /* tensors by name, until the step ends */
    struct node **nodes;
    int64_t n_nodes, cap_nodes;
    heed_tensor **scopes; /* the newest tensor of each open scope; [0] is the step itself */
    int depth, cap_scopes;
    struct slots claimed, dry_filled; /* with an open claim, and filled by a dry step: to be put right at its end */
    bool recording, training, recompute;
    bool again; /* backward computes a part of the step a second time: what forward leaves behind stays as it is */
    uint64_t step, random_ops;
    int generation; /* of headers: which of a place's are this step's */
};

struct engine *engine_of(heed_ctx *cx); /* made at first use; NULL when the context has failed */
void engine_reset(heed_ctx *cx);

void *bump_take(heed_ctx *cx, struct bump *from, size_t size);
bool engine_note_claimed(heed_ctx *cx, heed_grad *slot);
bool engine_note_filled(heed_ctx *cx, heed_grad *slot);                    /* in a dry context */
void engine_forget_slot(heed_ctx *cx, heed_grad *slot);                    /* nothing is left to put right */
void engine_forget_slots(heed_ctx *cx, const heed_grad *first, int64_t n); /* whose owner frees them within a step */
bool engine_walk_back(heed_ctx *cx, int64_t down_to); /* through all records but the first so many */
/* recompute.c: does a record stand for what is computed again, and backward of it; of dry contexts too. */
bool node_recomputes(const struct node *n);
bool node_recompute(struct node *n);
/* reversible.c: the same of a stack of reversible layers, and what its record holds. */
bool node_reverses(const struct node *n);
bool node_reverse(struct node *n);
void node_reverse_release(struct node *n);
/* Adds the numbers of a storage to t's gradient, sharing it where it can. */
bool engine_contribute(heed_ctx *cx, heed_tensor *t, struct storage *from);
uint64_t engine_next_stream(heed_ctx *cx); /* of random numbers, for the next op that needs some */

/* A header without numbers, of no scope yet. */
heed_tensor *tensor_make(heed_ctx *cx, heed_dtype dtype, int rank, const int64_t *shape);
bool tensor_allocate(heed_tensor *t);    /* contiguous numbers in the arena */
void tensor_enter_scope(heed_tensor *t); /* the scope takes a ref and a hold */
void tensor_unref(heed_tensor *t);
const char *tensor_gone(const heed_tensor *t); /* why its numbers are not there */
void tensor_unhold(heed_tensor *t);
void tensor_leave_scope(heed_tensor *t); /* the scope gives up its hold, not its ref */

float *slot_data(const heed_tensor *t); /* where the gradient of a parameter goes */
struct storage *storage_new(heed_ctx *cx, size_t bytes);
void storage_unref(heed_ctx *cx, struct storage *s);

/* ---- small helpers for ops ---- */

static inline bool is_contiguous(const heed_tensor *t) { return t->run == t->count; }
static inline const float *f32_of(const heed_tensor *t) { return (const float *)(const void *)t->data; }
static inline const int32_t *i32_of(const heed_tensor *t) { return (const int32_t *)(const void *)t->data; }
static inline const uint8_t *u8_of(const heed_tensor *t) { return (const uint8_t *)t->data; }
static inline int64_t cols_of(const heed_tensor *t) { return t->rank ? t->shape[t->rank - 1] : 1; }
static inline int64_t rows_of(const heed_tensor *t) {
    int64_t rows = 1;
    for (int i = 0; i + 1 < t->rank; i++) rows *= t->shape[i];
    return rows;
}
static inline bool same_shape(const heed_tensor *a, const heed_tensor *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}
static inline struct pool *pool_of(const heed_op_call *c) { return c->cx->pool; }

/* The axis counted from the front, or -1. */
static inline int axis_of(int axis, int rank) {
    const int a = axis < 0 ? axis + rank : axis;
    return a >= 0 && a < rank ? a : -1;
}
static inline bool axis_fail(heed_op_call *c, int axis) { /* of input 0 */
    return heed_op_fail(c, HEED_ERR_SHAPE, "axis %d is out of range for shape %s", axis, heed_shape_text(c->in[0]).s);
}

/* Runs an op of one output. */
static inline heed_tensor *apply1(heed_ctx *cx, const heed_op *op, const void *attr, heed_tensor *const *in, int n_in) {
    heed_tensor *out = NULL;
    heed_apply(cx, op, attr, in, n_in, &out, 1);
    return out;
}

#endif
