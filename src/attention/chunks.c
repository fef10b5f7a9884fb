/* Attention within chunks of an order (Kitaev et al. 2020): local attention, and LSH attention where the order sorts
 * positions by their hashes.   y_i = sum over rounds r and j in the window of i: exp(q_i k_j - L_i) v_j
 *
 * x (B,T,3 H D), rows of q, k and v, or shared (B,T,2 H D), rows of q and v -> y (B,T,H,D). O(R T W D), memory O(R T D)
 * with W keys in a window. Saved for backward: x, y and L (B,H,T). The kernel is kernel/chunks.c. */
#include "kernel/chunks.h"
#include "attention/attention.h"
#include "attention/attention_ops.h"
#include "base/checked.h"
#include "tensor/engine.h"

enum { X, ORDER, KEEP, INPUTS };
enum { Y, LSE, OUTPUTS };

struct chunk_attr {
    int64_t heads, chunk, before, after;
    bool causal, shared;
    float dropout;
    uint64_t stream;
};

static int64_t head_size(const heed_tensor *x, const struct chunk_attr *at) {
    return cols_of(x) / (at->heads * (at->shared ? 2 : 3));
}

static struct chunks describe(heed_tensor *const *in, const struct chunk_attr *at, uint64_t seed) {
    const heed_tensor *const x = in[X], *const order = in[ORDER], *const keep = in[KEEP];
    return (struct chunks){.batch = x->shape[0],
                           .time = x->shape[1],
                           .heads = at->heads,
                           .size = head_size(x, at),
                           .rounds = order ? order->shape[2] : 1,
                           .chunk = at->chunk,
                           .before = at->before,
                           .after = at->after,
                           .causal = at->causal,
                           .shared = at->shared,
                           .x = f32_of(x),
                           .ldx = cols_of(x),
                           .order = order ? i32_of(order) : NULL,
                           .keep = keep ? u8_of(keep) : NULL,
                           .dropout = at->dropout,
                           .seed = seed,
                           .stream = at->stream};
}

static bool check_inputs(heed_op_call *c, const struct chunk_attr *at) {
    const heed_tensor *const x = c->in[X], *const order = c->in[ORDER], *const keep = c->in[KEEP];
    const int64_t parts = at->shared ? 2 : 3;
    if (!heed_op_want(c, X, HEED_F32)) return false;
    if (x->rank != 3 || at->heads < 1 || cols_of(x) < 1 || at->heads > cols_of(x) || cols_of(x) % (parts * at->heads))
        return heed_op_fail(c, HEED_ERR_SHAPE, "rows of %s do not hold %lld parts of %lld heads", heed_shape_text(x).s,
                            (long long)parts, (long long)at->heads);
    if (head_size(x, at) > CHUNKS_HEAD)
        return heed_op_fail(c, HEED_ERR_SHAPE, "heads of %lld numbers: 1 to %d are possible",
                            (long long)head_size(x, at), CHUNKS_HEAD);
    if (at->chunk < 1 || x->shape[1] % at->chunk)
        return heed_op_fail(c, HEED_ERR_SHAPE, "%lld positions cannot be cut into chunks of %lld",
                            (long long)x->shape[1], (long long)at->chunk);
    int64_t window, slots;
    if (at->before < 0 || at->after < 0 || at->before > INT32_MAX || at->after > INT32_MAX ||
        !i64_mul(at->chunk, 1 + at->before + at->after, &window) || window > INT32_MAX ||
        !i64_mul(x->shape[1], order && order->rank == 4 ? order->shape[2] : 1, &slots) || slots > INT32_MAX)
        return heed_op_fail(c, HEED_ERR_RANGE, "%lld chunks before and %lld after are not possible",
                            (long long)at->before, (long long)at->after);
    if (order && (order->dtype != HEED_I32 || order->rank != 4 || order->shape[0] != x->shape[0] ||
                  order->shape[1] != at->heads || order->shape[2] < 1 || order->shape[3] != x->shape[1]))
        return heed_op_fail(c, HEED_ERR_SHAPE, "an order of shape %s does not fit x of shape %s: i32 (B,H,rounds,T)",
                            heed_shape_text(order).s, heed_shape_text(x).s);
    if (keep &&
        (keep->dtype != HEED_U8 || keep->rank != 2 || keep->shape[0] != x->shape[0] || keep->shape[1] != x->shape[1]))
        return heed_op_fail(c, HEED_ERR_SHAPE, "a mask of shape %s does not fit x of shape %s: u8 (B,T)",
                            heed_shape_text(keep).s, heed_shape_text(x).s);
    return true;
}

static bool chunk_infer(heed_op_call *c) {
    const struct chunk_attr *const at = c->attr;
    if (!check_inputs(c, at)) return false;
    const struct chunks a = describe(c->in, at, 0);
    for (int i = 0; i < INPUTS; i++)
        if (!c->in[i]) c->save_in &= ~(1u << i);
    c->work_forward = kernel_chunks_work(&a);
    if (c->recording) c->work_backward = kernel_chunks_grad_work(&a);
    return heed_op_out(c, Y, HEED_F32, 4, (int64_t[]){a.batch, a.time, a.heads, a.size}) &&
           heed_op_out(c, LSE, HEED_F32, 3, (int64_t[]){a.batch, a.heads, a.time});
}

static bool chunk_forward(heed_op_call *c) {
    const struct chunks a = describe(c->in, c->attr, c->cx->seed);
    for (int64_t i = 0; a.order && i < c->in[ORDER]->count; i++)
        if (a.order[i] < 0 || a.order[i] >= a.time)
            return heed_op_fail(c, HEED_ERR_RANGE, "place %lld of the order is %d, not one of %lld positions",
                                (long long)i, (int)a.order[i], (long long)a.time);
    kernel_chunks(pool_of(c), &a, heed_op_f32(c, Y), heed_op_f32(c, LSE), c->work);
    return true;
}

static bool chunk_backward(heed_op_call *c) {
    const struct chunks a = describe(c->in, c->attr, c->cx->seed);
    if (!c->dout[Y]) return true;
    kernel_chunks_grad(pool_of(c), &a, f32_of(c->out[Y]), f32_of(c->out[LSE]), c->dout[Y], c->din[X], c->add[X],
                       c->work);
    return true;
}

const heed_op op_chunk_attention = {.name = "chunk_attention",
                                    .infer = chunk_infer,
                                    .forward = chunk_forward,
                                    .backward = chunk_backward,
                                    .flags = HEED_OP_ADDS,
                                    .save_in = (1u << INPUTS) - 1,
                                    .save_out = (1u << OUTPUTS) - 1,
                                    .optional = 1u << ORDER | 1u << KEEP,
                                    .attr_size = sizeof(struct chunk_attr)};

/* The weights of each slot, (B,H,R T,W), as transformers returns them. */
static bool capture_slots(heed_ctx *cx, const struct chunks *a, const heed_chunk_opts *o) {
    const char *const site = o->site ? o->site : "attention";
    if (!capture_wants(cx, site, o->layer) || cx->config.dry) return true;
    const int64_t shape[] = {a->batch, a->heads, a->rounds * a->time, chunks_window(a)};
    heed_scope_begin(cx);
    heed_tensor *const t = heed_zeros(cx, HEED_F32, 4, shape);
    if (t) kernel_chunks_weights(cx->pool, a, (float *)(void *)t->data);
    if (t) capture_chunks(cx, site, o->layer, a->rounds * a->time > a->chunk ? a->chunk : 0, t);
    heed_scope_end(cx, NULL);
    return !heed_failed(cx);
}

heed_tensor *heed_chunk_attention(heed_ctx *cx, heed_tensor *x, const heed_chunk_opts *o) {
    if (heed_failed(cx) || !engine_of(cx)) return NULL;
    if (!x || !o || !(o->dropout >= 0 && o->dropout <= 1)) {
        heed_fail(cx, HEED_ERR_USAGE, "chunk_attention: %s",
                  x && o ? "dropout is not within 0 and 1" : "x or the options are NULL");
        return NULL;
    }
    struct chunk_attr at = {.heads = o->heads,
                            .chunk = o->chunk,
                            .before = o->before,
                            .after = o->after,
                            .causal = o->causal,
                            .shared = o->shared,
                            .dropout = engine_of(cx)->training ? o->dropout : 0};
    if (x->rank == 3 && x->shape[1] <= at.chunk) at.chunk = x->shape[1] > 0 ? x->shape[1] : 1, at.before = at.after = 0;
    if (at.dropout > 0) at.stream = engine_next_stream(cx);
    heed_tensor *const in[INPUTS] = {[X] = heed_contiguous(cx, x), [ORDER] = o->order, [KEEP] = o->keep};
    heed_tensor *out[OUTPUTS] = {NULL};
    if (!heed_apply(cx, &op_chunk_attention, &at, in, INPUTS, out, OUTPUTS)) return NULL;
    const struct chunks a = describe(in, &at, cx->seed);
    return capture_slots(cx, &a, o) ? out[Y] : NULL;
}
