/* A shared global workspace (Goyal et al. 2021): tokens do not look at each other, but write to a few slots M (S,C) and
 * read from them.
 *
 *     write      A = top-k softmax(M W_q (x W_k)' / sqrt(D)) x W_v        each slot hears its k best tokens alone
 *                G = mean_t relu(W_x x_t + b_x) + tanh(M)
 *                M = sigmoid(W_i G + b_i) tanh(A W_o) + sigmoid(W_f G + b_f) M
 *     broadcast  y = softmax(x W_q (M W_k)' / sqrt(D)) M W_v W_o
 *
 * all with heads, as attention has them. A layer costs O(T S C). The slots are learnt to begin with, and go on from
 * layer to layer; the weights may be the same in all layers, as in the paper's Universal Transformer. Weights of tokens
 * that lost are 0, and only the winners learn from a slot. */
#include "model/efficient/mixing.h"
#include <math.h>

enum { HEARD_ALL = 0 };

struct workspace {
    heed_multihead write, broadcast; /* their q, k, v and out */
    heed_linear_layer gate, input, forget;
};

struct shared {
    heed_param *slots; /* (S,C) */
    int64_t top_k;     /* HEARD_ALL: every token is heard */
    bool persistent;
    bool same; /* one workspace for all layers */
    struct workspace of_all;
};

/* ---- make ---- */

static bool make_attention(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const char *name,
                           const struct encoder *e, heed_multihead *a) {
    const struct part_name in = part_under(cx, prefix, name);
    const int64_t C = e->width;
    a->dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    return part_heads(cx, config, "hidden_size", "num_attention_heads", a) &&
           part_linear(cx, set, in.s, "q_proj", C, C, true, e->init, &a->q) &&
           part_linear(cx, set, in.s, "k_proj", C, C, true, e->init, &a->k) &&
           part_linear(cx, set, in.s, "v_proj", C, C, true, e->init, &a->v) &&
           part_linear(cx, set, in.s, "out_proj", C, C, true, e->init, &a->out);
}

static bool make_workspace(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix,
                           const struct encoder *e, struct workspace *w) {
    const struct part_name in = part_under(cx, prefix, "workspace");
    const int64_t C = e->width;
    if (!make_attention(cx, config, set, in.s, "write", e, &w->write) ||
        !part_linear(cx, set, in.s, "gate", C, C, true, e->init, &w->gate) ||
        !part_linear(cx, set, in.s, "input_gate", C, C, true, e->init, &w->input) ||
        !part_linear(cx, set, in.s, "forget_gate", C, C, true, e->init, &w->forget) ||
        !make_attention(cx, config, set, in.s, "broadcast", e, &w->broadcast))
        return false;
    w->forget.bias->init = (heed_init){HEED_INIT_CONSTANT, 1, 0}; /* at first the slots remember */
    return true;
}

static bool share(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct mixing *m) {
    struct shared *const s = m->shared;
    const struct encoder *const e = &m->encoder;
    const int64_t slots = config_int(cx, config, "num_slots", 1, MAX_SIZE);
    s->top_k = config_int(cx, config, "top_k", 0, MAX_SIZE);
    s->persistent = heed_json_bool(cx, config, "persistent");
    s->same = heed_json_bool(cx, config, "share_layers");
    if (heed_failed(cx)) return false;
    if (slots > e->max_length)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_slots"),
                              "%lld slots are more than the %lld tokens of max_position_embeddings: no bottleneck",
                              (long long)slots, (long long)e->max_length);
    if (s->top_k > e->max_length)
        return heed_json_fail(cx, heed_json_find(cx, config, "top_k"),
                              "the best %lld tokens are more than the %lld of max_position_embeddings; 0: all",
                              (long long)s->top_k, (long long)e->max_length);
    s->slots = heed_param_add(cx, set, part_under(cx, base, "slots").s, "weight", 2, (int64_t[]){slots, e->width},
                              (heed_init){HEED_INIT_NORMAL, 0, 1}); /* unlike each other */
    if (s->slots) s->slots->needs_f32 = s->slots->is_embedding = true;
    return s->slots && (!s->same || make_workspace(cx, config, set, base, e, &s->of_all));
}

static bool build(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct mixing *m,
                  int number, void *own) {
    const struct shared *const s = m->shared;
    (void)number;
    return s->same || make_workspace(cx, config, set, prefix, &m->encoder, own);
}

/* ---- run ---- */

/* x (B,T,C) -> (B,T,H,D) */
static heed_tensor *heads(heed_ctx *cx, const heed_multihead *a, const heed_linear_layer *layer, heed_tensor *x) {
    heed_tensor *const y = heed_linear_run(cx, layer, x, HEED_ACT_NONE);
    if (!y) return NULL;
    return heed_reshape(cx, y, 4, (int64_t[]){heed_dim(y, 0), heed_dim(y, 1), a->heads, a->width / a->heads});
}

static heed_tensor *attend(heed_ctx *cx, const heed_multihead *a, heed_tensor *q, heed_tensor *k, heed_tensor *v,
                           const heed_mask *mask, const char *site, int layer, heed_activation act) {
    const heed_attention_opts o = {.mask = *mask, .dropout = a->dropout, .site = site, .layer = layer};
    heed_tensor *const y = heed_attention(cx, q, k, v, &o);
    if (!y) return NULL;
    return heed_linear_run(cx, &a->out, heed_reshape(cx, y, 3, (int64_t[]){heed_dim(y, 0), heed_dim(y, 1), a->width}),
                           act);
}

/* The competition: u8 (B,H,S,T), 1 for the k largest of q (B,S,H,D) times k (B,T,H,D) in each row; padding tokens are
 * behind all others, and do not win even where nobody else is left. */
static heed_tensor *winners(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *mask, int64_t top) {
    heed_tensor *values, *index;
    q = heed_transpose(cx, heed_detach(cx, q), 1, 2);
    k = heed_transpose(cx, heed_detach(cx, k), 1, 2);
    heed_tensor *score = heed_matmul_trans(cx, q, false, k, true);
    if (mask) {
        mask = heed_reshape(cx, mask, 4, (int64_t[]){heed_dim(mask, 0), 1, 1, heed_dim(mask, 1)});
        score = heed_add(cx, score, heed_affine(cx, mask, 1e30f, -1e30f));
    }
    if (!score || !heed_topk(cx, score, top, &values, &index)) return NULL;
    heed_tensor *const none = heed_zeros(cx, HEED_F32, 4, heed_shape(score)), *const ones = heed_full(
                                                                                  cx, 1, 4, heed_shape(index));
    heed_tensor *const won = heed_scatter_add(cx, none, -1, index, ones);
    return heed_cast(cx, mask ? heed_mul(cx, won, mask) : won, HEED_U8);
}

/* (B,1,C): what all tokens tell the gates; padding does not count, and no token at all tells nothing */
static heed_tensor *mean_of(heed_ctx *cx, heed_tensor *x, heed_tensor *mask) {
    const int time[] = {1};
    if (!mask) return heed_mean(cx, x, time, 1, true);
    mask = heed_reshape(cx, mask, 3, (int64_t[]){heed_dim(mask, 0), heed_dim(mask, 1), 1});
    heed_tensor *const sum = heed_sum(cx, heed_mul(cx, x, mask), time, 1, true);
    return heed_div(cx, sum, heed_clamp(cx, heed_sum(cx, mask, time, 1, true), 1, INFINITY));
}

/* x (B,T,C), M (B,S,C) -> M */
static heed_tensor *write_slots(heed_ctx *cx, const struct shared *s, const struct workspace *w, heed_tensor *x,
                                heed_tensor *slots, const struct mixing_call *call) {
    const heed_multihead *const a = &w->write;
    heed_tensor *const q = heads(cx, a, &a->q, slots), *const k = heads(cx, a, &a->k, x);
    heed_mask mask = call->padding;
    if (!q || !k) return NULL;
    if (s->top_k != HEARD_ALL && s->top_k < heed_dim(x, 1)) {
        mask = heed_mask_keep(winners(cx, q, k, call->mask, s->top_k));
        if (!mask.keep) return NULL;
    }
    heed_tensor *const heard = attend(cx, a, q, k, heads(cx, a, &a->v, x), &mask, "write", call->number, HEED_ACT_TANH);
    heed_tensor *const told = mean_of(cx, heed_linear_run(cx, &w->gate, x, HEED_ACT_RELU), call->mask);
    heed_tensor *const gate = heed_add(cx, heed_tanh(cx, slots), told);
    heed_tensor *const new = heed_mul(cx, heed_linear_run(cx, &w->input, gate, HEED_ACT_SIGMOID), heard);
    return heed_add(cx, new, heed_mul(cx, heed_linear_run(cx, &w->forget, gate, HEED_ACT_SIGMOID), slots));
}

static heed_tensor *run(heed_ctx *cx, const struct mixing *m, const void *own, heed_tensor *x,
                        struct mixing_call *call) {
    const struct shared *const s = m->shared;
    const struct workspace *const w = s->same ? &s->of_all : own;
    const heed_multihead *const a = &w->broadcast;
    const heed_mask all = heed_mask_none();
    if (heed_failed(cx) || !x) return NULL;
    heed_tensor *slots = call->carried;
    if (!slots)
        slots = heed_expand(cx, heed_param_tensor(cx, s->slots), 3,
                            (int64_t[]){heed_dim(x, 0), s->slots->shape[0], s->slots->shape[1]});
    slots = write_slots(cx, s, w, x, slots, call);
    call->carried = s->persistent ? slots : NULL;
    return attend(cx, a, heads(cx, a, &a->q, x), heads(cx, a, &a->k, slots), heads(cx, a, &a->v, slots), &all,
                  "broadcast", call->number, HEED_ACT_NONE);
}

/* ---- the family ---- */

static const struct mixing_kind workspace_kind = {
    .encoder = MIXING_ENCODER,
    .size = sizeof(struct workspace),
    .shared_size = sizeof(struct shared),
    .share = share,
    .build = build,
    .run = run,
    .carries = true,
};
static const heed_key workspace_keys[] = {
    MIXING_KEYS,
    MIXING_HEAD_KEYS,
    {"num_slots", HEED_KEY_INT, "8", "slots of the workspace, no more than max_position_embeddings"},
    {"top_k", HEED_KEY_INT, "4", "tokens that a slot hears in each head, the best; 0: all"},
    {"persistent", HEED_KEY_BOOL, "true", "the slots go on from layer to layer; false: each layer begins anew"},
    {"share_layers", HEED_KEY_BOOL, "false", "one workspace, the same weights, for all layers"},
    END_OF_KEYS,
};
static const heed_head workspace_heads[] = {MIXING_HEADS("Workspace", mixing), {.architecture = NULL}};

const heed_family family_workspace = {
    .name = "workspace",
    .type = "heed-workspace",
    .base = "model",
    .paper = "Goyal et al. 2021",
    .summary = "tokens compete to write to a few shared slots, and all read from them",
    .notes = MIXING_NOTES
    "slots.weight (num_slots, hidden_size) is what the workspace begins with. In layers.N.workspace, or workspace of "
    "the body "
    "where all layers share it: write and broadcast, with q_proj, k_proj, v_proj and out_proj each, gate, input_gate "
    "and forget_gate. Attentions are write_attentions.N, of slots to tokens, and broadcast_attentions.N, of tokens to "
    "slots. A text of fewer tokens than top_k is heard as a whole.",
    .keys = workspace_keys,
    .heads = workspace_heads,
    .kind = &workspace_kind,
    .size = sizeof(struct mixing),
};
