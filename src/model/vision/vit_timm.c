/* ViT, DeiT and their kin (Dosovitskiy et al. 2021; Touvron et al. 2021 and 2022) in timm's layout: names of parameters
 * and arguments are those of timm's VisionTransformer. vit.h says what they compute. */
#include "model/core/resized.h"
#include "model/vision/timm.h"
#include "model/vision/vit.h"
#include <string.h>

static const struct timm_row rows[] = {
#define TIMM(name, arguments) {name, arguments},
#include "model/vision/timm_vit.def"
#undef TIMM
    {NULL, NULL},
};

/* What is read of the arguments once, for every layer. */
struct arguments {
    heed_json at;
    int64_t width, hidden, heads;
    float eps, dropout, attention_dropout;
    bool rms, qkv_bias, bias;
    bool post; /* blocks are timm's ResPostBlock */
    heed_activation act;
    double scale; /* LayerScale's beginning; 0: none */
    heed_init init;
};

static bool norm_make(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t width,
                      const struct arguments *a, heed_norm_layer *norm) {
    return heed_norm_make(cx, set, part_under(cx, prefix, name).s, width, a->rms, a->eps, norm);
}

static bool linear_make(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                        bool bias, const struct arguments *a, heed_linear_layer *layer) {
    return part_linear(cx, set, prefix, name, in, out, bias, a->init, layer);
}

/* ---- a block ---- */

static bool make_attention(heed_ctx *cx, heed_params *set, const char *prefix, const struct arguments *a,
                           heed_multihead *l) {
    const int64_t C = a->width, D = C / a->heads;
    l->width = l->key_width = l->value_width = C;
    l->heads = a->heads;
    l->dropout = a->attention_dropout;
    if (!linear_make(cx, set, prefix, "qkv", C, 3 * C, a->qkv_bias, a, &l->in)) return false;
    if (heed_json_bool(cx, a->at, "qk_norm") && (!norm_make(cx, set, prefix, "q_norm", D, a, &l->q_norm) ||
                                                 !norm_make(cx, set, prefix, "k_norm", D, a, &l->k_norm)))
        return false;
    if (heed_json_bool(cx, a->at, "scale_attn_norm") && !norm_make(cx, set, prefix, "norm", C, a, &l->norm))
        return false;
    return linear_make(cx, set, prefix, "proj", C, C, a->bias, a, &l->out);
}

/* mlp_layer: Mlp, SwiGLU, or SwiGLUPacked, where gate and value are the halves of fc1 */
static bool make_feed_forward(heed_ctx *cx, heed_params *set, const char *prefix, const struct arguments *a,
                              heed_feed_forward *l) {
    static const char *const kinds[] = {"Mlp", "SwiGLU", "SwiGLUPacked", NULL};
    const int kind = config_choice(cx, a->at, "mlp_layer", kinds);
    const int64_t C = a->width, wide = a->hidden;
    int64_t inner = wide;
    l->act = a->act;
    l->dropout = a->dropout;
    if (kind < 0) return false;
    if (kind == 1) {
        if (!linear_make(cx, set, prefix, "fc1_g", C, wide, a->bias, a, &l->gate) ||
            !linear_make(cx, set, prefix, "fc1_x", C, wide, a->bias, a, &l->linear1))
            return false;
    } else if (!linear_make(cx, set, prefix, "fc1", C, wide, a->bias, a, &l->linear1))
        return false;
    if (kind == 2) {
        l->fused = true;
        inner = wide / 2;
        if (wide % 2 != 0)
            return heed_json_fail(cx, heed_json_find(cx, a->at, "mlp_ratio"),
                                  "SwiGLUPacked needs an even hidden width, not %lld", (long long)wide);
    }
    if (heed_json_bool(cx, a->at, "scale_mlp_norm") && !norm_make(cx, set, prefix, "norm", inner, a, &l->norm))
        return false;
    return linear_make(cx, set, prefix, "fc2", inner, C, a->bias, a, &l->linear2);
}

static heed_param *make_scale(heed_ctx *cx, heed_params *set, const char *prefix, const char *name,
                              const struct arguments *a) {
    return heed_param_add(cx, set, prefix, name, 1, &a->width, (heed_init){HEED_INIT_CONSTANT, (float)a->scale, 0});
}

/* timm's ResPostBlock: norms of what the sublayers give, which begin at init_values, and no others */
static bool make_post_block(heed_ctx *cx, heed_params *set, const char *prefix, const struct arguments *a,
                            heed_encoder_layer *l) {
    if (!make_attention(cx, set, part_under(cx, prefix, "attn").s, a, &l->self_attn) ||
        !norm_make(cx, set, prefix, "norm1", a->width, a, &l->post1) ||
        !make_feed_forward(cx, set, part_under(cx, prefix, "mlp").s, a, &l->feed_forward) ||
        !norm_make(cx, set, prefix, "norm2", a->width, a, &l->post2))
        return false;
    if (a->scale != 0)
        l->post1.weight->init = l->post2.weight->init = (heed_init){HEED_INIT_CONSTANT, (float)a->scale, 0};
    return true;
}

static bool make_block(heed_ctx *cx, heed_params *set, const char *prefix, const struct arguments *a,
                       heed_encoder_layer *l) {
    l->site = "attention";
    l->norm_first = true;
    l->dropout = a->dropout;
    if (a->post) return make_post_block(cx, set, prefix, a, l);
    if (!norm_make(cx, set, prefix, "norm1", a->width, a, &l->norm1) ||
        !make_attention(cx, set, part_under(cx, prefix, "attn").s, a, &l->self_attn))
        return false;
    if (a->scale != 0) l->scale1 = make_scale(cx, set, prefix, "ls1.gamma", a);
    if (!norm_make(cx, set, prefix, "norm2", a->width, a, &l->norm2) ||
        !make_feed_forward(cx, set, part_under(cx, prefix, "mlp").s, a, &l->feed_forward))
        return false;
    if (a->scale != 0) l->scale2 = make_scale(cx, set, prefix, "ls2.gamma", a);
    return !heed_failed(cx);
}

/* ---- what comes before and after the blocks ---- */

static bool make_embeddings(heed_ctx *cx, heed_json config, heed_params *set, const struct arguments *a, bool distilled,
                            struct vit *m) {
    struct patches *const p = &m->patches;
    const bool pre_norm = heed_json_bool(cx, a->at, "pre_norm"), class = heed_json_bool(cx, a->at, "class_token"),
               bare = heed_json_bool(cx, a->at, "no_embed_class");
    const int64_t C = a->width, registers = config_int(cx, a->at, "reg_tokens", 0, MAX_SIDE);
    const char *const positions = heed_json_text(cx, a->at, "pos_embed");
    const heed_init token = {HEED_INIT_NORMAL, 0, 1e-6F};
    int n = 0;
    p->any_size = m->smooth = true;
    if (!timm_patches(cx, config, a->at, p)) return false;
    if (heed_json_bool(cx, a->at, "dynamic_img_pad")) p->rest = PATCHES_PAD;
    if (distilled && (!class || registers > 0 || bare || !positions || strcmp(positions, "learn") != 0))
        return heed_json_fail(cx, heed_json_find(cx, a->at, "class_token"),
                              "a distilled model has a class token, positions for it, and no registers");
    if (class) m->tokens[n++] = patches_tokens(cx, set, "", "cls_token", 1, C, token);
    if (distilled) m->tokens[n++] = patches_tokens(cx, set, "", "dist_token", 1, C, a->init);
    if (registers > 0) m->tokens[n++] = patches_tokens(cx, set, "", "reg_token", registers, C, token);
    m->first = (class ? 1 : 0) + (distilled ? 1 : 0) + registers;
    m->placed = bare ? 0 : m->first;
    if (!patches_make(cx, set, "patch_embed.proj", C, !pre_norm, a->init, p)) return false;
    if (heed_json_kind_of(heed_json_find(cx, a->at, "embed_norm_layer")) == HEED_JSON_TEXT) {
        const bool rms = timm_rms(cx, a->at, "embed_norm_layer");
        if (!heed_norm_make(cx, set, "patch_embed.norm", C, rms, a->eps, &m->patch_norm)) return false;
    }
    if (positions && *positions && strcmp(positions, "none") != 0) {
        if (!timm_only(cx, a->at, "pos_embed", "learn")) return false;
        m->positions = patches_tokens(cx, set, "", "pos_embed", m->placed + p->grid[0] * p->grid[1], C, a->init);
        if (!resizable_positions(cx, set, m->positions, m->placed, p->grid, m->smooth)) return false;
    }
    return !pre_norm || norm_make(cx, set, "", "norm_pre", C, a, &m->before);
}

/* timm's AttentionPoolLatent */
static bool make_latent(heed_ctx *cx, heed_params *set, const struct arguments *a, struct vit_latent *l) {
    static const char *const at = "attn_pool";
    const int64_t C = a->width, hidden = a->hidden;
    l->heads = a->heads;
    l->query = patches_tokens(cx, set, at, "latent", 1, C, a->init);
    l->feed_forward.act = a->act;
    return linear_make(cx, set, at, "q", C, C, true, a, &l->q) &&
           linear_make(cx, set, at, "kv", C, 2 * C, true, a, &l->kv) &&
           linear_make(cx, set, at, "proj", C, C, true, a, &l->out) && norm_make(cx, set, at, "norm", C, a, &l->norm) &&
           linear_make(cx, set, at, "mlp.fc1", C, hidden, true, a, &l->feed_forward.linear1) &&
           linear_make(cx, set, at, "mlp.fc2", hidden, C, true, a, &l->feed_forward.linear2);
}

static bool make_end(heed_ctx *cx, heed_params *set, const struct arguments *a, bool distilled, int64_t classes,
                     struct vit *m) {
    static const char *const pools[] = {"token", "avg", "avgmax", "max", "map", "prr", "", NULL};
    const int pool = config_choice(cx, a->at, "global_pool", pools);
    const bool final = heed_json_bool(cx, a->at, "final_norm"), averages = pool >= VIT_MEAN && pool <= VIT_MAX;
    if (pool < 0 || heed_failed(cx)) return false;
    m->pool = (enum vit_pool)pool;
    m->pools_tokens = heed_json_bool(cx, a->at, "pool_include_prefix") || m->pool == VIT_REFINED;
    m->has_class = heed_json_bool(cx, a->at, "class_token");
    m->latent.heads = a->heads;
    m->head_dropout = (float)config_number(cx, a->at, "drop_rate", 0, 1);
    const bool after = heed_json_bool_or(cx, a->at, "fc_norm", averages);
    if (m->pool == VIT_CLASS && !m->has_class)
        return heed_json_fail(cx, heed_json_find(cx, a->at, "global_pool"), "there is no class token to take");
    if (distilled && m->pool != VIT_CLASS)
        return heed_json_fail(cx, heed_json_find(cx, a->at, "global_pool"), "a distilled model takes its tokens");
    if (final && !after && !norm_make(cx, set, "", "norm", a->width, a, &m->stack.norm)) return false;
    if (m->pool == VIT_LATENT && !make_latent(cx, set, a, &m->latent)) return false;
    if (final && after && !norm_make(cx, set, "", "fc_norm", a->width, a, &m->pool_norm)) return false;
    m->averages = distilled;
    return timm_classifier(cx, set, "head", a->width, classes, a->init, &m->output) &&
           timm_classifier(cx, set, "head_dist", a->width, distilled ? classes : 0, a->init, &m->distilled);
}

/* ---- arguments ---- */

static bool read_arguments(heed_ctx *cx, heed_json config, struct arguments *a) {
    static const char *const own[] = {"norm_eps", "distilled"};
    for (int i = 0; i < 2; i++)
        if (timm_given(cx, config, own[i]))
            return heed_json_fail(cx, heed_json_find(cx, config, "model_args"), "timm has no argument '%s'", own[i]);
    a->width = config_int(cx, a->at, "embed_dim", 1, MAX_SIZE);
    a->heads = config_int(cx, a->at, "num_heads", 1, MAX_SIZE);
    if (heed_failed(cx)) return false;
    if (a->width % a->heads != 0)
        return heed_json_fail(cx, heed_json_find(cx, a->at, "num_heads"),
                              "%lld heads do not divide an embed_dim of %lld", (long long)a->heads,
                              (long long)a->width);
    a->hidden = part_hidden(cx, a->at, "mlp_ratio", a->width);
    a->eps = timm_given(cx, config, "norm_layer") ? 1e-6F : (float)config_number(cx, a->at, "norm_eps", 0, 1);
    a->rms = timm_rms(cx, a->at, "norm_layer");
    a->act = timm_activation(cx, a->at, "act_layer", HEED_ACT_GELU);
    a->qkv_bias = heed_json_bool(cx, a->at, "qkv_bias");
    a->bias = heed_json_bool(cx, a->at, "proj_bias");
    a->dropout = (float)config_number(cx, a->at, "proj_drop_rate", 0, 1);
    a->attention_dropout = (float)config_number(cx, a->at, "attn_drop_rate", 0, 1);
    a->scale = config_number_or(cx, a->at, "init_values", -1e6, 1e6, 0);
    a->init = (heed_init){HEED_INIT_TRUNCATED, 0, 0.02F};
    const heed_json block = heed_json_find(cx, a->at, "block_fn");
    a->post =
        heed_json_kind_of(block) == HEED_JSON_TEXT && strcmp(heed_json_text(cx, block, NULL), "ResPostBlock") == 0;
    return (a->post || timm_only(cx, a->at, "block_fn", "Block")) && timm_only(cx, a->at, "attn_layer", "attn");
}

static bool make(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own) {
    struct arguments a = {.at = args};
    if (!read_arguments(cx, b->config, &a)) return false;
    const bool distilled = heed_json_bool(cx, args, "distilled");
    const double drop_path = config_number(cx, args, "drop_path_rate", 0, 1);
    struct vit *const m = own;
    heed_encoder *const e = &m->stack;
    m->dropout = (float)config_number(cx, args, "pos_drop_rate", 0, 1);
    m->patch_dropout = (float)config_number(cx, args, "patch_drop_rate", 0, 1);
    e->layers = (int)config_int(cx, args, "depth", 0, MAX_LAYERS);
    if (heed_failed(cx) || !make_embeddings(cx, b->config, b->params, &a, distilled, m)) return false;
    e->layer = heed_params_alloc(cx, b->params, (size_t)e->layers + 1, sizeof *e->layer);
    for (int i = 0; e->layer && i < e->layers; i++) {
        e->layer[i].number = i;
        e->layer[i].drop_path = vit_drop_path(drop_path, i, e->layers);
        if (!make_block(cx, b->params, part_numbered(cx, "", "blocks", i).s, &a, &e->layer[i])) return false;
    }
    return !heed_failed(cx) && make_end(cx, b->params, &a, distilled, classes, m);
}
static const struct timm_kind kind = {rows, make};

static const heed_key keys[] = {
    {"architecture", HEED_KEY_TEXT, "vit_tiny_patch16_224", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"img_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_INT_OR_LIST, "16", "of patches: a side, or height and width"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"embed_dim", HEED_KEY_INT, "768", "width"},
    {"depth", HEED_KEY_INT, "12", "number of layers"},
    {"num_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},
    {"mlp_ratio", HEED_KEY_NUMBER, "4.0", "width of the feed-forward layer, by embed_dim"},
    {"global_pool", HEED_KEY_TEXT, "token",
     "what is classified: token, avg, avgmax, max, map or prr (attention); empty: all"},
    {"class_token", HEED_KEY_BOOL, "true", "there is a class token"},
    {"reg_tokens", HEED_KEY_INT, "0", "register tokens (Darcet et al. 2024)"},
    {"pos_embed", HEED_KEY_TEXT, "learn", "learn, or none"},
    {"no_embed_class", HEED_KEY_BOOL, "false", "only patches have positions"},
    {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},
    {"proj_bias", HEED_KEY_BOOL, "true", "the other layers of a block have a bias"},
    {"qk_norm", HEED_KEY_BOOL, "false", "norms of queries and keys, in each head"},
    {"scale_attn_norm", HEED_KEY_BOOL, "false", "a norm before attention's output layer"},
    {"scale_mlp_norm", HEED_KEY_BOOL, "false", "a norm before the feed-forward layer's second product"},
    {"init_values", HEED_KEY_NUMBER_OR_NULL, "null", "LayerScale's beginning; null: there is none"},
    {"pre_norm", HEED_KEY_BOOL, "false", "a norm before the first layer, as CLIP's"},
    {"final_norm", HEED_KEY_BOOL, "true", "a norm after the last layer"},
    {"fc_norm", HEED_KEY_BOOL_OR_NULL, "null", "that norm is of the pooled vector; null: of means and maxima"},
    {"pool_include_prefix", HEED_KEY_BOOL, "false", "class token and registers are pooled too"},
    {"dynamic_img_size", HEED_KEY_BOOL, "false", "no effect: pictures of other sizes are taken in any case"},
    {"dynamic_img_pad", HEED_KEY_BOOL, "false", "pictures are padded to whole patches"},
    {"drop_rate", HEED_KEY_NUMBER, "0.0", "dropout before the classifier"},
    {"pos_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout of embeddings"},
    {"patch_drop_rate", HEED_KEY_NUMBER, "0.0", "must be 0 while training"},
    {"proj_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout within the feed-forward layer and of sublayers' outputs"},
    {"attn_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.0", "stochastic depth of the last layer; those before drop less"},
    {"norm_layer", HEED_KEY_TEXT_OR_NULL, "null", "layernorm or rmsnorm"},
    {"norm_eps", HEED_KEY_NUMBER, "1e-6", "of the architecture alone"},
    {"embed_norm_layer", HEED_KEY_TEXT_OR_NULL, "null", "a norm of embedded patches: layernorm or rmsnorm"},
    {"act_layer", HEED_KEY_TEXT_OR_NULL, "null", "activation, by timm's name; null: gelu"},
    {"mlp_layer", HEED_KEY_TEXT, "Mlp", "of the architecture: Mlp, SwiGLU or SwiGLUPacked"},
    {"block_fn", HEED_KEY_TEXT, "Block", "of the architecture: Block or ResPostBlock"},
    {"attn_layer", HEED_KEY_TEXT_OR_NULL, "null", "only attn"},
    {"distilled", HEED_KEY_BOOL, "false", "of the architecture: there is a distillation token"},
    {"weight_init", HEED_KEY_TEXT_OR_NULL, "null", "no effect: fresh weights are drawn as timm's standard draws them"},
    {"fix_init", HEED_KEY_BOOL, "false", "no effect"},
    END_OF_KEYS,
};

static const heed_head heads[] = {TIMM_HEADS(VIT_RUN)};

const heed_family family_timm_vit = {
    .name = "timm-vit",
    .type = "timm-vit",
    .base = TIMM_BASE,
    .timm = "vit_* deit_* deit3_* eva_large_* flexivit_* aimv2_* beit3_* test_vit*",
    .arguments = "model_args",
    .paper = "Dosovitskiy et al. 2021",
    .summary = "ViT and DeiT as timm has them, by the architecture's name",
    .notes =
        "config.json has timm's architecture and num_classes, and in model_args what differs from it; --set writes "
        "there. Parameters have timm's names: patch_embed.proj.weight, blocks.N.attn.qkv.weight, head.weight. "
        "Pictures of other sizes than img_size are taken too: positions are interpolated as timm does with "
        "dynamic_img_size. Without classes it gives last_hidden_state and pooler_output. Blocks of other kinds "
        "(parallel, differential) are refused.",
    .keys = keys,
    .heads = heads,
    .kind = &kind,
    .size = sizeof(struct vit),
};
