/* Linear attention.   y_i = sum_j a_ij v_j / sum_j a_ij,   a_ij = q_i'k_j exp(s_j)       Katharopoulos et al. 2020
 *
 * q (B,Tq,H,M), k (B,Tk,H,M), v (B,Tk,H,E), s (B,Tk,H) -> y (B,Tq,H,E). Saved for backward: inputs, y, and of each row
 * the sum and the largest s, both (B,H,Tq). The kernel, and its cost, is kernel/linear_attention.h. */
#include "attention/linear_attention.h"
#include "attention/attention.h"
#include "attention/attention_ops.h"
#include "kernel/linear_attention.h"
#include "tensor/engine.h"

enum { Q, K, V, SHIFT, KEEP, KEY_LENGTHS, QUERY_LENGTHS, INPUTS };
enum { Y, SUM, TOP, OUTPUTS };

struct linear_attr {
    bool causal;
};

static struct linear describe(heed_tensor *const *in, const struct linear_attr *at) {
    const heed_tensor *q = in[Q], *k = in[K], *v = in[V], *keep = in[KEEP];
    struct linear l = {.batch = q->shape[0],
                       .heads = q->shape[2],
                       .queries = q->shape[1],
                       .keys = k->shape[1],
                       .m = q->shape[3],
                       .e = v->shape[3],
                       .q = f32_of(q),
                       .k = f32_of(k),
                       .v = f32_of(v),
                       .s = in[SHIFT] ? f32_of(in[SHIFT]) : NULL,
                       .causal = at->causal};
    if (in[KEY_LENGTHS]) l.key_lengths = i32_of(in[KEY_LENGTHS]);
    if (in[QUERY_LENGTHS]) l.query_lengths = i32_of(in[QUERY_LENGTHS]);
    if (keep) l.keep = u8_of(keep), l.keep_batch = keep->shape[0] > 1 ? keep->shape[3] : 0;
    return l;
}

static bool linear_infer(heed_op_call *c) {
    const struct linear_attr *at = c->attr;
    const heed_tensor *q = c->in[Q], *k = c->in[K], *v = c->in[V], *s = c->in[SHIFT];
    for (int i = Q; i <= SHIFT; i++)
        if (c->in[i] && !heed_op_want(c, i, HEED_F32)) return false;
    if (q->rank != 4 || k->rank != 4 || v->rank != 4)
        return heed_op_fail(c, HEED_ERR_SHAPE, "q %s, k %s, v %s: (batch, time, heads, size) is needed",
                            heed_shape_text(q).s, heed_shape_text(k).s, heed_shape_text(v).s);
    bool fit = q->shape[3] == k->shape[3] && k->shape[1] == v->shape[1] && (!at->causal || q->shape[1] == k->shape[1]);
    for (int i = 0; i < 3; i += 2) fit = fit && q->shape[i] == k->shape[i] && q->shape[i] == v->shape[i];
    if (!fit)
        return heed_op_fail(c, HEED_ERR_SHAPE, "q %s, k %s and v %s do not fit", heed_shape_text(q).s,
                            heed_shape_text(k).s, heed_shape_text(v).s);
    if (s && (s->rank != 3 || s->shape[0] != k->shape[0] || s->shape[1] != k->shape[1] || s->shape[2] != k->shape[2]))
        return heed_op_fail(c, HEED_ERR_SHAPE, "key_shift %s does not fit k %s: (batch, time, heads)",
                            heed_shape_text(s).s, heed_shape_text(k).s);
    const int64_t m = q->shape[3], e = v->shape[3];
    if (m < 1 || e < 1 || m > LINEAR_FEATURES || e > LINEAR_VALUES || m * e > LINEAR_STATE)
        return heed_op_fail(c, HEED_ERR_SHAPE,
                            "%lld features and values of %lld: at most %d and %d, and their product at most %d",
                            (long long)m, (long long)e, LINEAR_FEATURES, LINEAR_VALUES, LINEAR_STATE);
    const int64_t rows[] = {q->shape[0], q->shape[2], q->shape[1]};
    for (int i = 0; i < INPUTS; i++)
        if (!c->in[i]) c->save_in &= ~(1u << i);
    return heed_op_out(c, Y, HEED_F32, 4, (int64_t[]){q->shape[0], q->shape[1], q->shape[2], e}) &&
           heed_op_out(c, SUM, HEED_F32, 3, rows) && heed_op_out(c, TOP, HEED_F32, 3, rows);
}

static bool linear_forward(heed_op_call *c) {
    const struct linear l = describe(c->in, c->attr);
    if (!mask_check_lengths(c->cx, c->op->name, c->in[KEY_LENGTHS], l.keys, "key") ||
        !mask_check_lengths(c->cx, c->op->name, c->in[QUERY_LENGTHS], l.queries, "query"))
        return false;
    kernel_linear(pool_of(c), &l, heed_op_f32(c, Y), heed_op_f32(c, SUM), heed_op_f32(c, TOP));
    return true;
}

static bool linear_backward(heed_op_call *c) {
    const struct linear l = describe(c->in, c->attr);
    const struct linear_grad g = {.y = f32_of(c->out[Y]),
                                  .sum = f32_of(c->out[SUM]),
                                  .top = f32_of(c->out[TOP]),
                                  .dy = c->dout[Y],
                                  .dq = c->din[Q],
                                  .dk = c->din[K],
                                  .dv = c->din[V],
                                  .add_q = c->add[Q],
                                  .add_k = c->add[K],
                                  .add_v = c->add[V]};
    kernel_linear_grad(pool_of(c), &l, &g);
    return true;
}

const heed_op op_linear_attention = {.name = "linear_attention",
                                     .infer = linear_infer,
                                     .forward = linear_forward,
                                     .backward = linear_backward,
                                     .flags = HEED_OP_ADDS,
                                     .save_in = (1u << INPUTS) - 1,
                                     .save_out = (1u << OUTPUTS) - 1,
                                     .optional = ((1u << INPUTS) - 1) & ~7u,
                                     .attr_size = sizeof(struct linear_attr)};

/* ---- the call ---- */

static bool check_mask(heed_ctx *cx, const heed_mask *m, const heed_tensor *q, const heed_tensor *k) {
    if (m->windowed || m->blocked || m->add || (m->causal && m->offset != 0) ||
        (m->keep && (m->keep->rank != 4 || m->keep->shape[1] != 1 || m->keep->shape[2] != 1)))
        return heed_fail(cx, HEED_ERR_USAGE,
                         "linear_attention: a mask can be causal from position 0 and hide whole keys, nothing else");
    return mask_check(cx, "linear_attention", m, q->shape[0], q->shape[2], q->shape[1], k->shape[1]);
}

/* The weights that are never made, for those who ask: a_ij / sum_j a_ij, (B,H,Tq,Tk). */
static bool capture(heed_ctx *cx, heed_tensor *const *in, const heed_linear_attention_opts *o) {
    const char *const site = o->site ? o->site : "attention";
    if (!capture_wants(cx, site, o->layer) || cx->config.dry) return true;
    const bool recording = heed_set_grad(cx, false);
    const int order[] = {0, 2, 1, 3}, turned[] = {0, 2, 1};
    heed_scope_begin(cx);
    heed_tensor *const q = heed_permute(cx, in[Q], order), *const k = heed_permute(cx, in[K], order);
    heed_tensor *a = heed_matmul_trans(cx, q, false, k, true);
    if (in[SHIFT] && a && a->shape[3] > 0) {
        heed_tensor *const s = heed_permute(cx, in[SHIFT], turned);
        heed_tensor *const factor = heed_exp(cx, heed_sub(cx, s, heed_max(cx, s, (int[]){2}, 1, true)));
        a = heed_mul(cx, a, heed_reshape(cx, factor, 4, (int64_t[]){a->shape[0], a->shape[1], 1, a->shape[3]}));
    }
    heed_capture_weights(cx, site, o->layer, 0, heed_normalise(cx, a, HEED_NORMALISE_SUM, &o->mask));
    heed_scope_end(cx, NULL);
    heed_set_grad(cx, recording);
    return !heed_failed(cx);
}

heed_tensor *heed_linear_attention(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                   const heed_linear_attention_opts *opts) {
    const heed_linear_attention_opts o = opts ? *opts : (heed_linear_attention_opts){0};
    if (!q || !k || !v) return NULL;
    heed_tensor *const in[INPUTS] = {[Q] = q,
                                     [K] = k,
                                     [V] = v,
                                     [SHIFT] = o.key_shift,
                                     [KEEP] = o.mask.keep ? heed_contiguous(cx, o.mask.keep) : NULL,
                                     [KEY_LENGTHS] = o.mask.key_lengths,
                                     [QUERY_LENGTHS] = o.mask.query_lengths};
    heed_tensor *out[OUTPUTS] = {NULL};
    const struct linear_attr at = {.causal = o.mask.causal};
    if (q->rank == 4 && k->rank == 4 && !check_mask(cx, &o.mask, q, k)) return NULL;
    if (!heed_apply(cx, &op_linear_attention, &at, in, INPUTS, out, OUTPUTS) || !capture(cx, in, &o)) return NULL;
    return out[Y];
}

/* ---- decoding ---- */

int64_t linear_attention_state(int64_t features, int64_t size) { return linear_state_size(features, size); }
void linear_attention_clear(float *state, int64_t features, int64_t size) { linear_state_clear(state, features, size); }

heed_tensor *linear_attention_step(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v, heed_tensor *key_shift,
                                   const int32_t *counts, float *state) {
    if (heed_failed(cx) || !q || !k || !v) return NULL;
    const int64_t batch = q->shape[0], rows = q->shape[0] * q->shape[1] * q->shape[2];
    heed_tensor *const in[INPUTS] = {[Q] = heed_contiguous(cx, q),
                                     [K] = heed_contiguous(cx, k),
                                     [V] = heed_contiguous(cx, v),
                                     [SHIFT] = key_shift ? heed_contiguous(cx, key_shift) : NULL,
                                     [KEY_LENGTHS] = counts ? heed_from_i32(cx, counts, 1, &batch) : NULL};
    heed_tensor *const y = heed_zeros(cx, HEED_F32, 4, v->shape), *const work =
                                                                      heed_zeros(cx, HEED_F32, 1, &(int64_t){2 * rows});
    if (heed_failed(cx)) return NULL;
    if (cx->config.dry) return y;
    struct linear l = describe(in, &(struct linear_attr){.causal = true});
    float *const sums = (float *)(void *)work->data;
    l.query_lengths = l.key_lengths;
    l.state = state;
    kernel_linear(cx->pool, &l, (float *)(void *)y->data, sums, sums + rows);
    return y;
}
