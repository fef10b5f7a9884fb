/* heed/tensor.h: tensors, the tape, scopes, and the op record.   The ops themselves are in heed/ops.h.
 *
 * Define by run: an op computes at once and, when a gradient is wanted, records itself; heed_backward walks the record
 * back.
 *
 * Whose memory: a tensor belongs to its context and to the scope in which it was made. It is readable until that scope
 * ends, or, when a gradient is recorded, until heed_backward has passed it: afterwards only the loss, what heed_keep
 * marked, and leaves are readable. heed_reset ends the step: every tensor of the context is gone, and using one of them
 * in the next two steps fails with "its step has ended". No tensor is freed by hand.
 *
 * Shapes are PyTorch's: row-major, batch first. Letters in comments: B batch, T time, C channels, H heads, D head size,
 * V vocabulary, N rows. Types: f32 to compute in, i32 for indices, u8 for booleans (0 or 1), bf16 and f16 to store
 * weights in: these have no gradient, and of the ops that compute only linear, linear_cross_entropy, embedding and cast
 * read them. Ops that only move numbers take any type. */
#ifndef HEED_TENSOR_H
#define HEED_TENSOR_H

#include "heed/base.h"
#include "heed/io.h" /* heed_dtype, HEED_MAX_RANK */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_tensor heed_tensor;

/* The gradient of a parameter, in memory of whoever trains it. The first contribution after `filled` was set false
 * stores, later ones add, over any number of backward passes: clearing all gradients is filled = false. It must outlive
 * the step (heed_reset) in which it is used, and belong to one context at a time. */
typedef struct heed_grad {
    float *data; /* as many numbers as the parameter has */
    bool filled;
    bool claimed; /* the engine's own, as is the next */
    void *aside;
} heed_grad;

/* ---- making tensors ---- rank 0 is a scalar; sizes may be 0. Each returns NULL and fails the context on trouble. */

HEED_API heed_tensor *heed_zeros(heed_ctx *cx, heed_dtype dtype, int rank, const int64_t *shape);
HEED_API heed_tensor *heed_full(heed_ctx *cx, float value, int rank, const int64_t *shape);
/* Copies. heed_from_i64 gives i32 and checks the range. */
HEED_API heed_tensor *heed_from_f32(heed_ctx *cx, const float *data, int rank, const int64_t *shape);
HEED_API heed_tensor *heed_from_i32(heed_ctx *cx, const int32_t *data, int rank, const int64_t *shape);
HEED_API heed_tensor *heed_from_i64(heed_ctx *cx, const int64_t *data, int rank, const int64_t *shape);
HEED_API heed_tensor *heed_from_u8(heed_ctx *cx, const uint8_t *data, int rank, const int64_t *shape);
/* The caller's memory, not copied: parameters, mapped weights, large inputs. It must stay as it is until heed_reset.
 * With a grad (f32 only) the tensor is a parameter: its gradient goes there. A tensor costs little: borrow anew every
 * step. */
HEED_API heed_tensor *heed_borrow(heed_ctx *cx, heed_dtype dtype, const void *data, int rank, const int64_t *shape,
                                  heed_grad *grad);
/* Asks for the gradient of a tensor that no op made; read it with heed_grad_of after backward. Returns t. */
HEED_API heed_tensor *heed_want_grad(heed_ctx *cx, heed_tensor *t);

/* ---- looking at tensors ---- */

HEED_API heed_dtype heed_type(const heed_tensor *t);
HEED_API int heed_rank(const heed_tensor *t);
HEED_API const int64_t *heed_shape(const heed_tensor *t);
HEED_API int64_t heed_dim(const heed_tensor *t, int axis); /* negative axes count from the end; 0 when out of range */
HEED_API int64_t heed_count(const heed_tensor *t);
HEED_API bool heed_wants_grad(const heed_tensor *t);
HEED_API bool heed_readable(const heed_tensor *t);
/* The numbers, contiguous; NULL for a strided view (see heed_contiguous), another type, or a tensor no longer readable.
 */
HEED_API const float *heed_f32(const heed_tensor *t);
HEED_API const int32_t *heed_i32(const heed_tensor *t);
HEED_API const uint8_t *heed_u8(const heed_tensor *t);
/* Copies n = count numbers of any tensor out, views too; false and a failed context when n differs or types do. */
HEED_API bool heed_copy_f32(heed_ctx *cx, const heed_tensor *t, float *out, int64_t n);
HEED_API float heed_item(heed_ctx *cx, const heed_tensor *t); /* of a tensor of one number; NaN on failure */
/* After backward: the gradient of a leaf or of a tensor marked with heed_keep_grad; NULL when it got none. */
HEED_API heed_tensor *heed_grad_of(heed_ctx *cx, heed_tensor *t);

typedef struct heed_text {
    char s[160];
} heed_text;
HEED_API heed_text heed_shape_text(const heed_tensor *t); /* "(4,8)" as in messages: heed_shape_text(t).s */

/* ---- the step ---- */

/* What is made after scope_begin and neither kept nor saved for backward is given back by scope_end. Returns keep
 * (which may be NULL), now of the outer scope. Scopes nest. */
HEED_API void heed_scope_begin(heed_ctx *cx);
HEED_API heed_tensor *heed_scope_end(heed_ctx *cx, heed_tensor *keep);
HEED_API void heed_scope_end_many(heed_ctx *cx, heed_tensor *const *keep, int n);
/* Gives back everything made in the open scope but keep, which stays in it: between the layers of a stack, so that only
 * two layers' temporaries are held at any time. Returns keep. */
HEED_API heed_tensor *heed_scope_keep(heed_ctx *cx, heed_tensor *keep);
HEED_API void heed_scope_keep_many(heed_ctx *cx, heed_tensor *const *keep, int n);

/* Gradients of a one-number loss, or of sum(y * dy) for any y. Gives back values and gradients as it passes them. */
HEED_API bool heed_backward(heed_ctx *cx, heed_tensor *loss);
HEED_API bool heed_backward_from(heed_ctx *cx, heed_tensor *y, const heed_tensor *dy);
HEED_API heed_tensor *heed_keep(heed_ctx *cx, heed_tensor *t);      /* stays readable after backward; returns t */
HEED_API heed_tensor *heed_keep_grad(heed_ctx *cx, heed_tensor *t); /* its gradient too; returns t */
HEED_API void heed_reset(heed_ctx *cx);                             /* ends the step: all tensors and scopes are gone */

HEED_API bool heed_set_grad(heed_ctx *cx, bool on);     /* record gradients? on at first; returns what it was */
HEED_API bool heed_set_training(heed_ctx *cx, bool on); /* dropout active? off at first; returns what it was */
/* Gradient checkpointing (Chen et al. 2016): layers of the Transformer's stacks keep only what goes into them, and are
 * computed again by backward, with the same bits. Off at first; returns what it was. */
HEED_API bool heed_set_recompute(heed_ctx *cx, bool on);
/* The same for any function: fn(in), of which nothing but `in` and `own` (own_size bytes, copied) is kept until
 * backward, which calls fn again. It must give the same each time, and must not look at tensors that are not among
 * `in`; NULLs there are allowed. Without gradients, or where in[0] wants none, it is fn(in). */
typedef heed_tensor *(*heed_recompute_fn)(heed_ctx *cx, const void *own, heed_tensor *const *in);
HEED_API heed_tensor *heed_recompute(heed_ctx *cx, heed_recompute_fn fn, const void *own, size_t own_size,
                                     heed_tensor *const *in, int n_in);
/* Reversible layers (Gomez et al. 2017): x[0] += f(x[1]), x[1] += g(x[0]) in each of `layers`. Backward works a layer's
 * inputs out from its outputs, so that memory does not grow with the number of layers. f and g are called again by
 * backward: what is said of fn above holds for them too, `also` being the tensors that they may look at. *kept is NULL
 * the first time; a tensor that is put there is given back the second time. x becomes what the last layer gives. While
 * attention is captured all is recorded. */
typedef heed_tensor *(*heed_residual_fn)(heed_ctx *cx, const void *own, int layer, heed_tensor *x,
                                         heed_tensor *const *also, heed_tensor **kept);
typedef struct heed_reversible_opts {
    heed_residual_fn f, g;
    int layers;
    const void *own;
    size_t own_size;
    heed_tensor *const *also; /* NULLs are allowed */
    int n_also;               /* at most 24 */
} heed_reversible_opts;
HEED_API bool heed_reversible(heed_ctx *cx, const heed_reversible_opts *opts, heed_tensor *x[2]);
/* Dropout masks are functions of (seed, step, number of random ops before it in the step). heed_reset adds 1 to the
 * step; a trainer that resumes sets it. */
HEED_API void heed_set_step(heed_ctx *cx, uint64_t step);
HEED_API uint64_t heed_step(const heed_ctx *cx);

/* ---- the op record: how heed's own ops are made, and yours ---- (docs/adding-an-op.md)
 *
 * infer     checks the inputs and declares the outputs; the only place that finds shape and type errors. Runs in dry
 * contexts too. forward   computes out from in; false (with heed_op_fail) on bad data, such as an index out of range.
 * backward  computes din[i], where not NULL, from dout, saved inputs and outputs, and state.
 * Gradients, like outputs, are contiguous; the engine adds contributions up, so backward simply stores, unless the op
 * sets HEED_OP_ADDS and honours add[i]. */
typedef struct heed_op_call heed_op_call;

enum {
    HEED_OP_NONDIFF = 1, /* has no gradient, and says so: outputs never want one; backward is NULL */
    HEED_OP_ADDS = 2,    /* backward honours add[i]: adds to din[i] instead of storing */
    HEED_OP_STRIDED = 4, /* inputs may be strided views (heed_op_row); else the engine hands over contiguous copies */
};

typedef struct heed_op {
    const char *name;
    bool (*infer)(heed_op_call *c);
    bool (*forward)(heed_op_call *c); /* NULL when every output is a view */
    bool (*backward)(heed_op_call *c);
    uint32_t flags;
    uint32_t save_in,
        save_out;      /* bit i: backward reads the numbers of input (output) i; infer may change the call's copy */
    uint32_t optional; /* bit i: input i may be NULL */
    size_t attr_size;  /* bytes of the attribute struct, copied into the record */
} heed_op;

struct heed_op_call {
    heed_ctx *cx;
    const heed_op *op;
    const void *attr;
    const char *label; /* infer may set it to static text: what a profile calls it instead of the op's name */
    int n_in, n_out;
    heed_tensor **in, **out;
    bool recording;                     /* a gradient will be wanted */
    const bool *wants;                  /* per input: will its gradient be wanted? */
    uint32_t save_in, save_out;         /* infer may clear or set bits */
    size_t state_size;                  /* set by infer: bytes kept from forward to backward (only while recording) */
    size_t work_forward, work_backward; /* set by infer: bytes of workspace */
    void *state, *work;                 /* aligned to 64, contents undefined */
    const float *
        *dout;   /* backward: gradient of each output, NULL when it got none (an op of one output always has it) */
    float **din; /* backward: where the gradient of each input goes, NULL when none is wanted */
    bool *add;   /* backward, with HEED_OP_ADDS: add to din[i] instead of storing */
    float *fold; /* backward, after heed_op_fold */
    bool fold_add;
    void *engine;
};

/* Runs an op. out receives n_out tensors, or NULLs and false. The attribute struct is copied. */
HEED_API bool heed_apply(heed_ctx *cx, const heed_op *op, const void *attr, heed_tensor *const *in, int n_in,
                         heed_tensor **out, int n_out);

/* For infer. Each returns false when the context has failed. */
HEED_API bool heed_op_out(heed_op_call *c, int j, heed_dtype dtype, int rank, const int64_t *shape);
HEED_API bool heed_op_like(heed_op_call *c, int j, int i); /* output j has type and shape of input i */
/* Output j shares the storage of input i: runs of `run` numbers, `stride` apart, from number `offset` on. */
HEED_API bool heed_op_view(heed_op_call *c, int j, int i, int rank, const int64_t *shape, int64_t offset, int64_t run,
                           int64_t stride);
/* The gradient of input i is the gradient of output j, number for number: the engine shares it and backward skips it.
 */
HEED_API void heed_op_pass(heed_op_call *c, int i, int j);
/* Backward adds to the gradient of output j (call.fold, storing unless call.fold_add) before it is passed on: for ops
 * that hand out a sum and something made of it, as a residual and its norm. */
HEED_API void heed_op_fold(heed_op_call *c, int j);
HEED_API bool heed_op_want(heed_op_call *c, int i, heed_dtype dtype); /* input i must have this type */
HEED_API bool heed_op_fail(heed_op_call *c, heed_status status, const char *format, ...) HEED_PRINTF(3, 4);
/* For infer: forward itself will write the gradient of input i, for an upstream gradient of 1, and backward only scales
 * it. False when that cannot be (not a parameter, or its gradient holds something already): then backward must do it
 * all. See linear_cross_entropy. */
HEED_API bool heed_op_claim(heed_op_call *c, int i);
HEED_API float *heed_op_claimed(const heed_op_call *c, int i); /* forward, backward: where it goes, or NULL */

/* Writable numbers of an output, for forward. */
HEED_API float *heed_op_f32(heed_op_call *c, int j);
HEED_API int32_t *heed_op_i32(heed_op_call *c, int j);
HEED_API uint8_t *heed_op_u8(heed_op_call *c, int j);
/* Strided inputs: the address of row `row` (rows are the last axis), for HEED_OP_STRIDED ops. */
HEED_API const float *heed_op_row(const heed_tensor *t, int64_t row);
/* Are the rows of t (…, n) one constant stride apart? *stride receives it (in numbers). Contiguous tensors always are.
 */
HEED_API bool heed_row_stride(const heed_tensor *t, int64_t *stride);

#ifdef __cplusplus
}
#endif
#endif
