/* CaiT (Touvron et al. 2021, Going deeper) in timm's layout: depth by scaled sublayers, and a class token that comes
 * late.
 *
 *     x = W_p patches + positions
 *     x = x + g_1 talk(norm(x));  x = x + g_2 mlp(norm(x))                    in each of `depth` blocks: no class token
 *     c = c + g_1 attention(c; norm([c; x]));  c = c + g_2 mlp(norm(c))       in each class block: x stays as it is
 *     h = norm([c; x]);  pooled: c
 *
 * Talking heads (Shazeer et al. 2020) mix scores before and weights after the softmax, by products over heads:
 *
 *     p_g = softmax(sum_f L_gf q_f k_f' / sqrt(D) + l_g),   y_h = (sum_g W_hg p_g + w_h) v_h
 *
 * so that the T x T scores of all heads are held, unlike elsewhere. */
#include "model/core/inputs.h"
#include "model/core/resized.h"
#include "model/vision/class_attention.h"
#include "model/vision/patches.h"
#include "model/vision/timm.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

#define NORM_EPS 1e-6F

static const struct timm_row rows[] = {
#define TIMM(name, arguments) {name, arguments},
#include "model/vision/timm_cait.def"
#undef TIMM
    {NULL, NULL},
};

/* Of patches: qkv, the two products over heads, and proj; of the class token: look. */
struct cait_block {
    heed_norm_layer norm1, norm2;
    heed_linear_layer qkv, before, after; /* before and after the softmax, (H,H) */
    heed_linear_layer proj;
    struct class_attention look;
    heed_feed_forward feed_forward;
    heed_param *scale1, *scale2; /* (C) */
};

enum cait_pool { POOL_NONE, POOL_TOKEN, POOL_MEAN };

struct cait {
    struct patches patches;
    heed_param *token, *positions; /* (1,1,C), (1,h w,C) */
    int64_t heads;
    int blocks, class_blocks;
    struct cait_block *block, *class_block; /* memory of the parameter set */
    heed_norm_layer norm;
    enum cait_pool pool;
    float position_dropout, dropout, attention_dropout, drop_path, head_dropout;
    heed_linear_layer output; /* weight NULL: features */
};

/* ---- build ---- */

static bool make_sublayers(heed_ctx *cx, heed_params *set, const char *prefix, int64_t C, int64_t hidden, float dropout,
                           heed_init init, heed_init scale, struct cait_block *b) {
    b->feed_forward.act = HEED_ACT_GELU;
    b->feed_forward.dropout = dropout;
    b->scale1 = heed_param_add(cx, set, prefix, "gamma_1", 1, &C, scale);
    b->scale2 = heed_param_add(cx, set, prefix, "gamma_2", 1, &C, scale);
    return !heed_failed(cx) && part_norm(cx, set, prefix, "norm1", C, NORM_EPS, &b->norm1) &&
           part_norm(cx, set, prefix, "norm2", C, NORM_EPS, &b->norm2) &&
           part_linear(cx, set, prefix, "attn.proj", C, C, true, init, &b->proj) &&
           part_linear(cx, set, prefix, "mlp.fc1", C, hidden, true, init, &b->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "mlp.fc2", hidden, C, true, init, &b->feed_forward.linear2);
}

static bool make_blocks(heed_ctx *cx, heed_json args, heed_params *set, int64_t C, heed_init init, struct cait *m) {
    static const char *const key_value[] = {"attn.k", "attn.v"};
    const int64_t H = m->heads, hidden = part_hidden(cx, args, "mlp_ratio", C),
                  class_hidden = part_hidden(cx, args, "mlp_ratio_token_only", C);
    const bool bias = heed_json_bool(cx, args, "qkv_bias");
    const heed_init scale = {HEED_INIT_CONSTANT, (float)config_number(cx, args, "init_values", -1e6, 1e6), 0};
    m->blocks = (int)config_int(cx, args, "depth", 0, MAX_LAYERS);
    m->class_blocks = (int)config_int(cx, args, "depth_token_only", 0, MAX_LAYERS);
    m->block = heed_params_alloc(cx, set, (size_t)m->blocks + 1, sizeof *m->block);
    m->class_block = heed_params_alloc(cx, set, (size_t)m->class_blocks + 1, sizeof *m->class_block);
    for (int i = 0; m->class_block && i < m->blocks; i++) {
        struct cait_block *const b = &m->block[i];
        const struct part_name in = part_numbered(cx, "", "blocks", i);
        if (!make_sublayers(cx, set, in.s, C, hidden, m->dropout, init, scale, b) ||
            !part_linear(cx, set, in.s, "attn.qkv", C, 3 * C, bias, init, &b->qkv) ||
            !part_linear(cx, set, in.s, "attn.proj_l", H, H, true, init, &b->before) ||
            !part_linear(cx, set, in.s, "attn.proj_w", H, H, true, init, &b->after))
            return false;
        b->before.weight->needs_f32 = b->after.weight->needs_f32 = true; /* read by products of their own */
    }
    for (int i = 0; m->class_block && i < m->class_blocks; i++) {
        struct cait_block *const b = &m->class_block[i];
        const struct part_name in = part_numbered(cx, "", "blocks_token_only", i);
        if (!make_sublayers(cx, set, in.s, C, class_hidden, 0, init, scale, b) ||
            !part_linear(cx, set, in.s, "attn.q", C, C, bias, init, &b->look.q) ||
            !part_slices(cx, set, in.s, "attn.kv", key_value, (int64_t[]){C, C}, 2, C, bias, init, &b->look.kv))
            return false;
        b->look.proj = b->proj;
        b->look.heads = H;
    }
    return !heed_failed(cx);
}

static bool make(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own) {
    static const char *const pools[] = {[POOL_NONE] = "", [POOL_TOKEN] = "token", [POOL_MEAN] = "avg", NULL};
    const heed_init init = {HEED_INIT_TRUNCATED, 0, 0.02F};
    const int pool = config_choice(cx, args, "global_pool", pools);
    heed_params *const set = b->params;
    struct cait *const m = own;
    struct patches *const p = &m->patches;
    heed_multihead heads = {0};
    m->position_dropout = (float)config_number(cx, args, "pos_drop_rate", 0, 1);
    m->dropout = (float)config_number(cx, args, "proj_drop_rate", 0, 1);
    m->attention_dropout = (float)config_number(cx, args, "attn_drop_rate", 0, 1);
    m->drop_path = (float)config_number(cx, args, "drop_path_rate", 0, 1);
    m->head_dropout = (float)config_number(cx, args, "drop_rate", 0, 1);
    if (pool < 0 || !part_heads(cx, args, "embed_dim", "num_heads", &heads) || !timm_patches(cx, b->config, args, p))
        return false;
    const int64_t C = heads.width;
    m->heads = heads.heads;
    m->pool = (enum cait_pool)pool;
    if (!patches_make(cx, set, "patch_embed.proj", C, true, init, p)) return false;
    m->token = patches_tokens(cx, set, "", "cls_token", 1, C, init);
    m->positions = patches_tokens(cx, set, "", "pos_embed", p->grid[0] * p->grid[1], C, init);
    return !heed_failed(cx) && resizable_positions(cx, set, m->positions, 0, p->grid, true) &&
           make_blocks(cx, args, set, C, init, m) && part_norm(cx, set, "", "norm", C, NORM_EPS, &m->norm) &&
           timm_classifier(cx, set, "head", C, classes, init, &m->output);
}
static const struct timm_kind kind = {rows, make};

/* ---- forward ---- */

/* (B,T,C) -> (B,T,H,D) */
static heed_tensor *heads_of(heed_ctx *cx, const struct cait *m, heed_tensor *x) {
    if (!x) return NULL;
    return heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], x->shape[1], m->heads, x->shape[2] / m->heads});
}

/* x (B,H,T,T): over the heads, W x + b */
static heed_tensor *over_heads(heed_ctx *cx, const heed_linear_layer *l, heed_tensor *x) {
    if (!x) return NULL;
    const int64_t B = x->shape[0], H = x->shape[1], T = x->shape[2];
    heed_tensor *const flat = heed_reshape(cx, x, 3, (int64_t[]){B, H, T * T});
    heed_tensor *const bias = heed_reshape(cx, heed_param_tensor(cx, l->bias), 2, (int64_t[]){H, 1});
    heed_tensor *const y = heed_add(cx, heed_matmul(cx, heed_param_tensor(cx, l->weight), flat), bias);
    return heed_reshape(cx, y, 4, (int64_t[]){B, H, T, T});
}

static heed_tensor *talk(heed_ctx *cx, const struct cait *m, const struct cait_block *b, heed_tensor *x, int layer) {
    static const int swap[] = {0, 2, 1, 3};
    heed_tensor *const all = heed_linear_run(cx, &b->qkv, x, HEED_ACT_NONE), *part[3];
    if (!all) return NULL;
    const int64_t C = all->shape[2] / 3, D = C / m->heads;
    if (!heed_split(cx, all, -1, (int64_t[]){C, C, C}, 3, part)) return NULL;
    for (int i = 0; i < 3; i++) part[i] = heed_permute(cx, heads_of(cx, m, part[i]), swap); /* (B,H,T,D) */
    heed_tensor *const q = heed_affine(cx, part[0], 1 / sqrtf((float)D), 0);
    heed_tensor *w = over_heads(cx, &b->before, heed_matmul_trans(cx, q, false, part[1], true));
    w = heed_softmax(cx, w, -1);
    if (!w || !heed_capture_weights(cx, NULL, layer, 0, w)) return NULL;
    w = heed_dropout(cx, over_heads(cx, &b->after, w), m->attention_dropout);
    heed_tensor *const y = heed_permute(cx, heed_matmul(cx, w, part[2]), swap);
    return heed_linear_run(cx, &b->proj, heed_reshape(cx, y, 3, x->shape), HEED_ACT_NONE);
}

static heed_tensor *scaled(heed_ctx *cx, const heed_param *scale, heed_tensor *y, float dropout, float drop_path) {
    y = heed_mul(cx, heed_dropout(cx, y, dropout), heed_param_tensor(cx, scale));
    return heed_drop_path(cx, y, drop_path);
}

static heed_tensor *block_once(heed_ctx *cx, const struct cait *m, int i, heed_tensor *x) {
    const struct cait_block *const b = &m->block[i];
    heed_tensor *y = talk(cx, m, b, heed_norm_run(cx, &b->norm1, x), i);
    y = heed_add_norm_run(cx, &b->norm2, scaled(cx, b->scale1, y, m->dropout, m->drop_path), x, &x);
    y = heed_feed_forward_run(cx, &b->feed_forward, y);
    return heed_add(cx, x, scaled(cx, b->scale2, y, m->dropout, m->drop_path));
}

/* What a block needs to be computed again (heed_recompute): its scores are most of what a step holds. */
struct again {
    const struct cait *m;
    int i;
};
static heed_tensor *block_again(heed_ctx *cx, const void *own, heed_tensor *const *in) {
    const struct again *const a = own;
    return block_once(cx, a->m, a->i, in[0]);
}
static heed_tensor *block_run(heed_ctx *cx, const struct cait *m, int i, heed_tensor *x) {
    const struct engine *const e = engine_of(cx);
    if (!e || !e->recompute || !e->recording || cx->capture) return block_once(cx, m, i, x);
    return heed_recompute(cx, block_again, &(struct again){m, i}, sizeof(struct again), &x, 1);
}

static heed_tensor *class_block_run(heed_ctx *cx, const struct cait *m, int i, heed_tensor *c, heed_tensor *x) {
    const struct cait_block *const b = &m->class_block[i];
    heed_tensor *const all = heed_concat(cx, (heed_tensor *[]){c, x}, 2, 1);
    heed_tensor *y = class_attention_run(cx, &b->look, heed_norm_run(cx, &b->norm1, all), i);
    y = heed_add_norm_run(cx, &b->norm2, scaled(cx, b->scale1, y, 0, 0), c, &c);
    return heed_add(cx, c, scaled(cx, b->scale2, heed_feed_forward_run(cx, &b->feed_forward, y), 0, 0));
}

/* c (B,1,C) and x (B,h w,C), before the last norm; false when anything failed. */
static bool run(heed_ctx *cx, const struct cait *m, const heed_io *in, heed_tensor **c, heed_tensor **x) {
    int64_t grid[2] = {0};
    heed_tensor *const pixels = patches_pixels(cx, &m->patches, in, grid);
    *x = patches_run(cx, &m->patches, pixels, grid);
    if (!*x) return false;
    *x = heed_dropout(cx, heed_add(cx, *x, heed_param_tensor(cx, m->positions)), m->position_dropout);
    heed_scope_begin(cx);
    for (int i = 0; i < m->blocks; i++) *x = heed_scope_keep(cx, block_run(cx, m, i, *x));
    *x = heed_scope_end(cx, *x);
    *c = heed_expand(cx, heed_param_tensor(cx, m->token), 3, (int64_t[]){pixels->shape[0], -1, -1});
    heed_scope_begin(cx);
    for (int i = 0; i < m->class_blocks; i++) *c = heed_scope_keep(cx, class_block_run(cx, m, i, *c, *x));
    *c = heed_scope_end(cx, *c);
    return !heed_failed(cx);
}

static heed_tensor *states(heed_ctx *cx, const struct cait *m, heed_tensor *c, heed_tensor *x) {
    return heed_norm_run(cx, &m->norm, heed_concat(cx, (heed_tensor *[]){c, x}, 2, 1));
}

/* The norm is of each token alone. */
static heed_tensor *pooled(heed_ctx *cx, const struct cait *m, heed_tensor *c, heed_tensor *x) {
    if (m->pool == POOL_MEAN) return heed_mean(cx, heed_norm_run(cx, &m->norm, x), (const int[]){1}, 1, false);
    if (m->pool == POOL_NONE) return states(cx, m, c, x);
    return heed_norm_run(cx, &m->norm, heed_reshape(cx, c, 2, (int64_t[]){c->shape[0], c->shape[2]}));
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct cait *m = own;
    heed_tensor *c, *x;
    return run(cx, m, in, &c, &x) && heed_io_put(cx, out, "last_hidden_state", states(cx, m, c, x)) &&
           heed_io_put(cx, out, "pooler_output", pooled(cx, m, c, x));
}

static bool forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct cait *m = own;
    heed_tensor *c, *x;
    if (!m->output.weight) return forward_bare(cx, own, in, out);
    if (!run(cx, m, in, &c, &x)) return false;
    heed_tensor *const h = heed_dropout(cx, pooled(cx, m, c, x), m->head_dropout);
    heed_tensor *const logits = heed_linear_run(cx, &m->output, h, HEED_ACT_NONE);
    if (m->pool == POOL_NONE) return logits && heed_io_put(cx, out, "logits", logits); /* of every token */
    return head_classify(cx, PROBLEM_BY_LABELS, in, logits, out);
}

static bool sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return patches_sample(cx, &((const struct cait *)own)->patches, batch, in);
}

static bool sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct cait *m = own;
    if (!sample_bare(cx, own, batch, length, in) || !m->output.weight || m->pool == POOL_NONE) return !heed_failed(cx);
    return head_sample_labels(cx, PROBLEM_BY_LABELS, batch, m->output.weight->shape[0], in);
}

/* ---- maps of attention ---- Those of the class token have it among their keys; those of patches have none. */

static bool place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    patches_place(&((const struct cait *)own)->patches, size, to);
    const bool class = !map || strcmp(map->site, "class") == 0; /* states have it, too */
    to->classes = class;
    to->learned = map && class;
    to->late = true;
    return true;
}

static const heed_key keys[] = {
    {"architecture", HEED_KEY_TEXT, "cait_xxs24_224", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"img_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_INT_OR_LIST, "16", "of patches: a side, or height and width"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"embed_dim", HEED_KEY_INT, "768", "width"},
    {"depth", HEED_KEY_INT, "12", "number of blocks of patches"},
    {"depth_token_only", HEED_KEY_INT, "2", "number of class-attention blocks"},
    {"num_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},
    {"mlp_ratio", HEED_KEY_NUMBER, "4.0", "width of the feed-forward layer, by embed_dim"},
    {"mlp_ratio_token_only", HEED_KEY_NUMBER, "4.0", "the same in class-attention blocks"},
    {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},
    {"init_values", HEED_KEY_NUMBER, "1e-4", "LayerScale's beginning"},
    {"global_pool", HEED_KEY_TEXT, "token", "what is classified: token or avg; empty: all"},
    {"drop_rate", HEED_KEY_NUMBER, "0.0", "dropout before the classifier"},
    {"pos_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout of embeddings"},
    {"proj_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout within the feed-forward layer and of sublayers' outputs"},
    {"attn_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.0", "stochastic depth, of every block of patches"},
    END_OF_KEYS,
};

#define RUN(name) .forward = forward_##name, .sample = sample_##name, .place = place
static const heed_head heads[] = {TIMM_HEADS(RUN)};

const heed_family family_cait = {
    .name = "cait",
    .type = "timm-cait",
    .base = TIMM_BASE,
    .timm = "cait_*",
    .arguments = "model_args",
    .paper = "Touvron et al. 2021, Going deeper",
    .summary = "a deep ViT with LayerScale, talking heads, and class attention in its last blocks",
    .notes =
        "config.json has timm's architecture and num_classes, and in model_args what differs from it; --set writes "
        "there. Parameters have timm's names: blocks.N.attn.proj_l.weight, blocks.N.gamma_1, "
        "blocks_token_only.N.attn.q.weight. Pictures must be of img_size; with --init, positions of another size are "
        "interpolated. Attention of patches is shown as it leaves the softmax, before heads mix it.",
    .keys = keys,
    .heads = heads,
    .kind = &kind,
    .size = sizeof(struct cait),
};
