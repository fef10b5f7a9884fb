/* DINOv2 (Oquab et al. 2024), and with registers (Darcet et al. 2024), with the names and config keys of transformers:
 * a ViT whose sublayers are scaled, which was trained without labels. vit.h says what it computes.
 *
 *     x = [class; W_p patches] + positions;  registers, which have no position, come between the two
 *     logits = W [h_class; mean of the patches' h] */
#include "model/core/resized.h"
#include "model/vision/masked_pictures.h"
#include "model/vision/vit.h"

static const struct dino_names {
    const char *base;
    bool registers;
} dinov2_names = {"dinov2", false}, dinov2_with_registers_names = {"dinov2_with_registers", true};

/* ---- the body ---- */

/* SwiGLU keeps two thirds of the width, rounded up to whole eights; gate and value are the halves of one matrix. */
static bool make_feed_forward(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, int64_t C,
                              heed_init init, heed_feed_forward *l) {
    const int64_t wide = C * config_int(cx, config, "mlp_ratio", 1, SIZE_LIMIT);
    l->fused = heed_json_bool(cx, config, "use_swiglu_ffn");
    l->act = l->fused ? HEED_ACT_SILU : config_activation(cx, config, "hidden_act");
    const int64_t hidden = l->fused ? (wide * 2 / 3 + 7) / 8 * 8 : wide;
    return part_linear(cx, set, prefix, l->fused ? "mlp.weights_in" : "mlp.fc1", C, l->fused ? 2 * hidden : hidden,
                       true, init, &l->linear1) &&
           part_linear(cx, set, prefix, l->fused ? "mlp.weights_out" : "mlp.fc2", hidden, C, true, init, &l->linear2);
}

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, heed_init init,
                       heed_encoder_layer *l) {
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    const heed_init scale = {HEED_INIT_CONSTANT, (float)config_number(cx, config, "layerscale_value", -1e6, 1e6), 0};
    l->site = "attention";
    l->norm_first = true;
    l->drop_path = (float)config_number(cx, config, "drop_path_rate", 0, 1); /* the same in every layer */
    if (!vit_make_attention(cx, config, set, prefix, init, &l->self_attn)) return false;
    const int64_t C = l->self_attn.width;
    l->scale1 = heed_param_add(cx, set, prefix, "layer_scale1.lambda1", 1, &C, scale);
    l->scale2 = heed_param_add(cx, set, prefix, "layer_scale2.lambda1", 1, &C, scale);
    return !heed_failed(cx) && part_norm(cx, set, prefix, "norm1", C, eps, &l->norm1) &&
           part_norm(cx, set, prefix, "norm2", C, eps, &l->norm2) &&
           make_feed_forward(cx, config, set, prefix, C, init, &l->feed_forward);
}

static bool make_embeddings(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool registers,
                            int64_t C, heed_init init, struct vit *m) {
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    struct patches *const p = &m->patches;
    const struct part_name in = part_under(cx, base, "embeddings");
    const int64_t more = registers ? config_int(cx, config, "num_register_tokens", 0, SIZE_LIMIT) : 0;
    p->channels = config_int(cx, config, "num_channels", 1, SIDE_MOST);
    p->any_size = true;
    p->rest = PATCHES_CUT_ALL;
    if (!config_sides(cx, config, "image_size", SIDE_MOST, p->image) ||
        !config_sides(cx, config, "patch_size", SIDE_MOST, p->patch))
        return false;
    m->placed = 1;
    m->first = 1 + more;
    m->smooth = registers; /* transformers interpolates the positions of one with antialias, of the other without */
    m->tokens[0] = patches_tokens(cx, set, in.s, "cls_token", 1, C, init);
    if (registers || heed_json_bool(cx, config, "use_mask_token")) {
        m->mask_token = heed_param_add(cx, set, in.s, "mask_token", 2, (int64_t[]){1, C}, zeros);
        if (m->mask_token) m->mask_token->decays = false;
    }
    if (registers) m->tokens[1] = patches_tokens(cx, set, in.s, "register_tokens", more, C, zeros);
    if (!patches_make(cx, set, part_under(cx, in.s, "patch_embeddings.projection").s, C, true, init, p)) return false;
    m->positions = patches_tokens(cx, set, in.s, "position_embeddings", 1 + p->grid[0] * p->grid[1], C, init);
    m->dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1);
    return !heed_failed(cx) && resizable_positions(cx, set, m->positions, m->placed, p->grid, m->smooth);
}

static bool make_body(heed_ctx *cx, const struct dino_names *names, heed_json config, heed_params *set, bool bare,
                      struct vit *m) {
    const char *const base = bare ? "" : names->base;
    const int64_t C = config_int(cx, config, "hidden_size", 1, SIZE_LIMIT);
    const heed_init init = {HEED_INIT_TRUNCATED, 0, (float)config_number(cx, config, "initializer_range", 0, 100)};
    if (heed_failed(cx) || !make_embeddings(cx, config, set, base, names->registers, C, init, m)) return false;
    heed_encoder *const e = &m->stack;
    e->layers = (int)config_int(cx, config, "num_hidden_layers", 0, MAX_LAYERS);
    e->layer = heed_params_room(cx, set, (size_t)e->layers + 1, sizeof *e->layer);
    for (int i = 0; e->layer && i < e->layers; i++) {
        e->layer[i].number = i;
        if (!make_layer(cx, config, set, part_numbered(cx, base, "encoder.layer", i).s, init, &e->layer[i]))
            return false;
    }
    return !heed_failed(cx) &&
           part_norm(cx, set, base, "layernorm", C, (float)config_number(cx, config, "layer_norm_eps", 0, 1), &e->norm);
}

/* ---- heads ---- */

static bool build_classify(heed_ctx *cx, const struct dino_names *names, heed_json config, heed_params *set,
                           struct vit *m) {
    if (!make_body(cx, names, config, set, false, m)) return false;
    if (m->mask_token) m->mask_token->frozen = true; /* of no use here, but in every file */
    m->pool = VIT_CLASS_AND_MEAN;
    m->problem = config_problem(cx, config);
    return part_linear(cx, set, "", "classifier", 2 * m->positions->shape[2], config_labels(cx, config), true,
                       m->positions->init, &m->output);
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    heed_tensor *const h = vit_run(cx, own, in, false);
    return h && heed_io_put(cx, out, "last_hidden_state", h) &&
           heed_io_put(cx, out, "pooler_output", vit_token(cx, h, 0));
}

#define DINO_BUILDS(family)                                                                                            \
    static bool family##_build_bare(heed_ctx *cx, heed_json config, heed_params *set, void *own) {                     \
        return make_body(cx, &family##_names, config, set, true, own);                                                 \
    }                                                                                                                  \
    static bool family##_build_classify(heed_ctx *cx, heed_json config, heed_params *set, void *own) {                 \
        return build_classify(cx, &family##_names, config, set, own);                                                  \
    }
DINO_BUILDS(dinov2)
DINO_BUILDS(dinov2_with_registers)

#define DINO_KEYS(patch)                                                                                               \
    {"hidden_size", HEED_KEY_INT, "768", "width"}, {"num_hidden_layers", HEED_KEY_INT, "12", "number of layers"},      \
        {"num_attention_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},             \
        {"mlp_ratio", HEED_KEY_INT, "4", "width of the feed-forward layer, by hidden_size"},                           \
        {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},                                    \
        {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of embeddings"},                                      \
        {"attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},                      \
        {"drop_path_rate", HEED_KEY_NUMBER, "0.0", "stochastic depth, of every layer"},                                \
        {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},                         \
        {"layer_norm_eps", HEED_KEY_NUMBER, "1e-6", "of norms"},                                                       \
        {"image_size", HEED_KEY_TOKENS, "224", "of pictures: a side, or height and width"},                            \
        {"patch_size", HEED_KEY_TOKENS, patch, "of patches: a side, or height and width"},                             \
        {"num_channels", HEED_KEY_INT, "3", "of pictures"},                                                            \
        {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},                                   \
        {"layerscale_value", HEED_KEY_NUMBER, "1.0", "LayerScale's beginning"}, {                                      \
        "use_swiglu_ffn", HEED_KEY_BOOL, "false", "the feed-forward layer is SwiGLU"                                   \
    }
static const heed_key dinov2_keys[] = {
    DINO_KEYS("14"),
    {"use_mask_token", HEED_KEY_BOOL, "true", "there is a mask token, for patches that bool_masked_pos hides"},
    END_OF_KEYS,
};
static const heed_key dinov2_with_registers_keys[] = {
    DINO_KEYS("16"),
    {"num_register_tokens", HEED_KEY_INT, "4", "register tokens (Darcet et al. 2024)"},
    END_OF_KEYS,
};
static const heed_key label_keys[] = {LABEL_KEYS, END_OF_KEYS};

#define DINO_HEADS(family, prefix)                                                                                     \
    {prefix "ForImageClassification",                                                                                  \
     .tasks = "classify",                                                                                              \
     .inputs = "pixel_values attention_mask labels",                                                                   \
     .keys = label_keys,                                                                                               \
     .build = family##_build_classify,                                                                                 \
     .forward = vit_forward_classify,                                                                                  \
     .sample = vit_sample_classify,                                                                                    \
     .name_key = vit_name_key,                                                                                         \
     .place = vit_place},                                                                                              \
        {prefix "Model",                                                                                               \
         .tasks = "embed",                                                                                             \
         .inputs = "pixel_values attention_mask " MASKED_POSITIONS,                                                    \
         .bare = true,                                                                                                 \
         .build = family##_build_bare,                                                                                 \
         .forward = forward_bare,                                                                                      \
         .sample = vit_sample_bare,                                                                                    \
         .name_key = vit_name_key,                                                                                     \
         .place = vit_place},                                                                                          \
    {                                                                                                                  \
        .architecture = NULL                                                                                           \
    }
static const heed_head dinov2_heads[] = {DINO_HEADS(dinov2, "Dinov2")};
static const heed_head dinov2_with_registers_heads[] = {DINO_HEADS(dinov2_with_registers, "Dinov2WithRegisters")};

/* The names of transformers' modules since version 5, whose files have the older ones. */
static const char *const renamed[] = {
    "attention.attention.query", "attention.q_proj",          "attention.attention.key",
    "attention.k_proj",          "attention.attention.value", "attention.v_proj",
    "attention.output.dense",    "attention.o_proj",          NULL};

#define DINO_NOTES(base)                                                                                               \
    "Parameters have the names of transformers' files, with " base                                                     \
    ". at the beginning except in the bare model: " base ".embeddings.cls_token, " base                                \
    ".encoder.layer.N.layer_scale1.lambda1. Pictures of any size are taken: what is "                                  \
    "no whole patch is cut off, and positions are interpolated. The bare model's pooler_output is the class token's "  \
    "state; a classifier has that and the mean of the patches' states."

const heed_family family_dinov2 = {
    .name = "dinov2",
    .type = "dinov2",
    .base = "dinov2",
    .paper = "Oquab et al. 2024",
    .summary = "a ViT trained without labels, whose features serve as they are",
    .notes = DINO_NOTES("dinov2"),
    .keys = dinov2_keys,
    .heads = dinov2_heads,
    .renamed = renamed,
    .size = sizeof(struct vit),
};

const heed_family family_dinov2_with_registers = {
    .name = "dinov2-with-registers",
    .type = "dinov2_with_registers",
    .base = "dinov2_with_registers",
    .paper = "Darcet et al. 2024",
    .summary = "DINOv2 with tokens that keep its attention maps clean",
    .notes = DINO_NOTES("dinov2_with_registers") " Registers stand between the class token and the patches.",
    .keys = dinov2_with_registers_keys,
    .heads = dinov2_with_registers_heads,
    .renamed = renamed,
    .size = sizeof(struct vit),
};
