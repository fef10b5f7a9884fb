/* DINOv2 (Oquab et al. 2024), and with registers (Darcet et al. 2024), with the names and config keys of transformers:
 * a ViT whose sublayers are scaled, which was trained without labels. vit.h says what it computes.
 *
 *     x = [class; W_p patches] + positions;  registers, which have no position, come between the two
 *     logits = W [h_class; mean of the patches' h] */
#include "model/vision/masked_pictures.h"
#include "model/vision/vit.h"

static const struct vit_layout dinov2_layout = {
    .from = &vit_layout,
    .key = {.ratio = "mlp_ratio",
            .swiglu = "use_swiglu_ffn",
            .dropout = "",
            .scale = "layerscale_value",
            .mask = "use_mask_token"},
    .layer = {.norm1 = "norm1",
              .norm2 = "norm2",
              .up = "mlp.fc1",
              .down = "mlp.fc2",
              .gated_up = "mlp.weights_in",
              .gated_down = "mlp.weights_out",
              .scale1 = "layer_scale1.lambda1",
              .scale2 = "layer_scale2.lambda1"},
};
static const struct vit_layout registers_layout = {
    .from = &dinov2_layout, .key = {.mask = ""}, .registers = "register_tokens"};

#define KIND(names)                                                                                                    \
    {                                                                                                                  \
        .layout = &names, .rest = PATCHES_CUT_ALL, .pool = VIT_CLASS_AND_MEAN, .masks = true, .even_drop_path = true,  \
        .norms_first = true                                                                                            \
    }
static const struct vit_kind dinov2_kind = KIND(dinov2_layout), registers_kind = KIND(registers_layout);

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
        {"image_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},                       \
        {"patch_size", HEED_KEY_INT_OR_LIST, patch, "of patches: a side, or height and width"},                        \
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
static const heed_key registers_keys[] = {
    DINO_KEYS("16"),
    {"num_register_tokens", HEED_KEY_INT, "4", "register tokens (Darcet et al. 2024)"},
    END_OF_KEYS,
};
#define HEADS(Name)                                                                                                    \
    {Name "ForImageClassification", "classify", "pixel_values attention_mask labels", .keys = label_keys,              \
     VIT(classify)},                                                                                                   \
        {Name "Model", "embed", "pixel_values attention_mask " MASKED_POSITIONS, .bare = true, VIT(bare)}, {           \
        .architecture = NULL                                                                                           \
    }
static const heed_head dinov2_heads[] = {HEADS("Dinov2")};
static const heed_head registers_heads[] = {HEADS("Dinov2WithRegisters")};

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
    .kind = &dinov2_kind,
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
    .keys = registers_keys,
    .heads = registers_heads,
    .kind = &registers_kind,
    .renamed = renamed,
    .size = sizeof(struct vit),
};
