/* Linformer (Wang et al. 2020): attention is close to a matrix of low rank, so that keys and values may be projected
 * along time, from n positions to k rows.
 *
 *     y_h = softmax(q_h (E_h k_h)' / sqrt(D)) F_h v_h       E, F (k,n)
 *
 * A layer costs O(T k C) instead of O(T^2 C), with k as large for any length. Rows of weights are over k mixtures of
 * tokens, not over tokens: no token can be hidden from another, so that it cannot be causal.
 * Sharing, as in section 4 of the paper: none (E and F of each head), headwise (E and F of a layer), key-value (E = F),
 * layerwise (one E = F for all layers). Of a shorter sequence the first T columns count; padding tokens are zeros. */
#include "model/efficient/mixing.h"
#include <math.h>

enum sharing { SHARE_NONE, SHARE_HEADS, SHARE_KEY_VALUE, SHARE_LAYERS };

struct shared {
    enum sharing sharing;
    int64_t rows, max_length; /* k, n */
    heed_param *e;            /* of all layers */
};

struct linformer {
    heed_multihead attention;
    heed_param *e, *f; /* (k,n), without sharing (H k,n); f NULL: e */
};

/* Drawn so that a row of E k has the size of a key. */
static heed_param *make_projection(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t rows,
                                   const struct shared *s) {
    const int64_t shape[] = {rows, s->max_length};
    heed_param *const p = heed_param_add(cx, set, part_under(cx, prefix, name).s, "weight", 2, shape,
                                         (heed_init){HEED_INIT_NORMAL, 0, 1 / sqrtf((float)s->max_length)});
    if (p) p->needs_f32 = true;
    return p;
}

static bool share(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct mixing *m) {
    static const char *const names[] = {"none", "headwise", "key-value", "layerwise", NULL};
    struct shared *const s = m->shared;
    const int sharing = config_choice(cx, config, "sharing", names);
    if (heed_failed(cx)) return false;
    s->sharing = (enum sharing)sharing;
    s->max_length = m->encoder.max_length;
    s->rows = config_int(cx, config, "projected_length", 1, MAX_SIZE);
    if (!heed_failed(cx) && s->sharing == SHARE_LAYERS) s->e = make_projection(cx, set, base, "project", s->rows, s);
    return !heed_failed(cx);
}

static bool build(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct mixing *m,
                  int number, void *own) {
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    const struct shared *const s = m->shared;
    struct linformer *const l = own;
    const struct part_name in = part_under(cx, prefix, "self_attn");
    const int64_t C = m->encoder.width;
    (void)number;
    l->attention.dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    if (!part_heads(cx, config, "hidden_size", "num_attention_heads", &l->attention) ||
        !part_qkv(cx, set, in.s, names, C, m->encoder.init, &l->attention.in) ||
        !part_linear(cx, set, in.s, "out_proj", C, C, true, m->encoder.init, &l->attention.out))
        return false;
    const int64_t rows = s->sharing == SHARE_NONE ? l->attention.heads * s->rows : s->rows;
    l->e = s->sharing == SHARE_LAYERS ? s->e : make_projection(cx, set, in.s, "project_k", rows, s);
    if (s->sharing < SHARE_KEY_VALUE) l->f = make_projection(cx, set, in.s, "project_v", rows, s);
    return !heed_failed(cx);
}

/* E (k,n) times x (B,T,W) -> (B,k,W) */
static heed_tensor *project(heed_ctx *cx, const heed_param *e, heed_tensor *x) {
    return heed_matmul(cx, heed_slice(cx, heed_param_tensor(cx, e), 1, 0, heed_dim(x, 1)), x);
}

/* E (H k,n) times x (B,T,C), each head by its own -> (B,k,H,D) */
static heed_tensor *project_heads(heed_ctx *cx, const heed_param *e, int64_t heads, heed_tensor *x) {
    const int64_t B = heed_dim(x, 0), T = heed_dim(x, 1), C = heed_dim(x, 2), rows = e->shape[0] / heads;
    heed_tensor *const of = heed_slice(cx, heed_param_tensor(cx, e), 1, 0, T);
    heed_tensor *y = heed_transpose(cx, heed_reshape(cx, x, 4, (int64_t[]){B, T, heads, C / heads}), 1, 2);
    y = heed_matmul(cx, heed_reshape(cx, heed_contiguous(cx, of), 3, (int64_t[]){heads, rows, T}), y);
    return heed_transpose(cx, y, 1, 2);
}

static heed_tensor *run(heed_ctx *cx, const struct mixing *m, const void *own, heed_tensor *x,
                        struct mixing_call *call) {
    const struct linformer *const l = own;
    const struct shared *const s = m->shared;
    heed_tensor *part[2], *k, *v;
    if (heed_failed(cx) || !x) return NULL;
    const int64_t B = heed_dim(x, 0), T = heed_dim(x, 1), C = heed_dim(x, 2), H = l->attention.heads, D = C / H;
    if (!heed_split(cx, heed_linear_run(cx, &l->attention.in, x, HEED_ACT_NONE), -1, (int64_t[]){C, 2 * C}, 2, part))
        return NULL;
    if (call->mask) part[1] = heed_mul(cx, part[1], heed_reshape(cx, call->mask, 3, (int64_t[]){B, T, 1}));
    heed_tensor *kv[2];
    if (!l->f) part[1] = project(cx, l->e, part[1]);
    if (!part[1] || !heed_split(cx, part[1], -1, (int64_t[]){C, C}, 2, kv)) return NULL;
    if (s->sharing == SHARE_NONE) {
        k = project_heads(cx, l->e, H, kv[0]);
        v = project_heads(cx, l->f, H, kv[1]);
    } else {
        const int64_t shape[] = {B, s->rows, H, D};
        k = heed_reshape(cx, l->f ? project(cx, l->e, kv[0]) : kv[0], 4, shape);
        v = heed_reshape(cx, l->f ? project(cx, l->f, kv[1]) : kv[1], 4, shape);
    }
    const heed_attention_opts o = {.dropout = l->attention.dropout, .site = "attention", .layer = call->number};
    heed_tensor *const y = heed_attention(cx, heed_reshape(cx, part[0], 4, (int64_t[]){B, T, H, D}), k, v, &o);
    return heed_linear_run(cx, &l->attention.out, heed_reshape(cx, y, 3, (int64_t[]){B, T, C}), HEED_ACT_NONE);
}

static const struct mixing_kind linformer_kind = {
    .encoder = MIXING_ENCODER,
    .size = sizeof(struct linformer),
    .shared_size = sizeof(struct shared),
    .share = share,
    .build = build,
    .run = run,
};
static const heed_key linformer_keys[] = {
    MIXING_KEYS,
    MIXING_HEAD_KEYS,
    {"projected_length", HEED_KEY_INT, "128", "rows that keys and values are projected to, k"},
    {"sharing", HEED_KEY_TEXT, "headwise",
     "of projections: none (each head has its own), headwise, key-value (keys' and values' are one too) or layerwise "
     "(one for all layers)"},
    END_OF_KEYS,
};
static const heed_head linformer_heads[] = {MIXING_HEADS("Linformer", mixing), {.architecture = NULL}};

const heed_family family_linformer = {
    .name = "linformer",
    .type = "heed-linformer",
    .base = "model",
    .paper = "Wang et al. 2020",
    .summary = "attention to keys and values that are projected along time to a fixed number of rows",
    .notes = MIXING_NOTES
    "In layers.N.self_attn: q_proj, k_proj, v_proj, out_proj, and project_k and project_v (projected_length, "
    "max_position_embeddings), without sharing (heads times projected_length, max_position_embeddings); with key-value "
    "sharing project_k alone, with layerwise sharing project of the body. A sequence of T tokens uses the first T "
    "columns, and padding tokens count as zeros.",
    .keys = linformer_keys,
    .heads = linformer_heads,
    .kind = &linformer_kind,
    .size = sizeof(struct mixing),
};
