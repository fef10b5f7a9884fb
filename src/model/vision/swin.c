/* Swin (Liu et al. 2021) and Swin v2 (Liu et al. 2022) with the names and config keys of transformers. swin.h says what
 * they compute. */
#include "model/vision/swin.h"
#include "model/core/resized.h"
#include "model/vision/masked_pictures.h"

static const int first = 1, second = 2; /* versions: the families' kinds */

static const struct swin_layout layout = {
    .stage = "encoder.layers",
    .bias = "attention.self",
    .distance = "continuous_position_bias_mlp",
    .whole = "attention.self.qkv",
    .qkv = {"attention.self.query", "attention.self.key", "attention.self.value"},
    .out = "attention.output.dense",
    .norm1 = "layernorm_before",
    .norm2 = "layernorm_after",
    .up = "intermediate.dense",
    .down = "output.dense",
    .norm = "layernorm",
};

static bool make_embeddings(heed_ctx *cx, const struct swin_plan *s, bool masked, struct swin *m) {
    struct patches *const p = &m->patches;
    const struct part_name in = part_under(cx, s->base, "embeddings");
    const int64_t C = s->width;
    p->any_size = true;
    p->rest = PATCHES_PAD;
    if (!patches_read(cx, s->config, "num_channels", "image_size", p) ||
        !patches_make(cx, s->set, part_under(cx, in.s, "patch_embeddings.projection").s, C, true, s->init, p))
        return false;
    if (masked)
        m->mask_token = patches_tokens(cx, s->set, in.s, "mask_token", 1, C, (heed_init){.kind = HEED_INIT_ZEROS});
    const bool positions = heed_json_bool(cx, s->config, "use_absolute_embeddings");
    if (positions && m->second)
        return heed_json_fail(cx, heed_json_find(cx, s->config, "use_absolute_embeddings"),
                              "transformers' Swin v2 has one position too many to run with them, and heed has none");
    if (positions)
        m->positions = patches_tokens(cx, s->set, in.s, "position_embeddings", p->grid[0] * p->grid[1], C, s->init);
    return resizable_positions(cx, s->set, m->positions, 0, p->grid, false) &&
           part_norm(cx, s->set, in.s, "norm", C, SWIN_EPS, &m->patch_norm);
}

/* Windows of the first version shrink with the picture; those of the second with the picture that it was made for,
 * whose height decides. */
static bool read_stages(heed_ctx *cx, heed_json config, struct swin_plan *p, struct swin *m) {
    const int64_t window = config_int(cx, config, "window_size", 1, 1024);
    const int stages = config_ints(cx, config, "depths", 1, MAX_LAYERS, p->depths, SWIN_STAGES),
              n = config_ints(cx, config, "num_heads", 1, MAX_SIZE, p->heads, SWIN_STAGES);
    if (heed_failed(cx)) return false;
    if (stages < 1 || n != stages)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_heads"), "%d numbers of heads for %d stages", n,
                              stages);
    m->stages = stages;
    for (int s = 0; s < stages; s++) {
        p->window[s][0] = p->window[s][1] = window;
        if (m->second && m->patches.grid[0] >> s < 1)
            return heed_json_fail(cx, heed_json_find(cx, config, "image_size"), "stage %d has no place for a window",
                                  s);
    }
    return !m->second || swin_read_trained(cx, config, stages, p->trained);
}

static bool make_body(heed_ctx *cx, const heed_build *b, bool masked, struct swin *m) {
    const heed_json config = b->config;
    const float dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1),
                weights_dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    m->second = *(const int *)b->family->kind == 2;
    struct swin_plan p = {
        .names = &layout,
        .config = config,
        .set = b->params,
        .base = b->head->bare ? "" : b->family->base,
        .width = config_int(cx, config, "embed_dim", 1, MAX_SIZE >> SWIN_STAGES),
        .fits = m->second,
        .by_height = true,
        .eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1),
        .weights_dropout = weights_dropout,
        .attention_dropout = m->second ? weights_dropout : dropout,
        .dropout = dropout,
        .act = config_activation(cx, config, "hidden_act"),
        .init = {HEED_INIT_TRUNCATED, 0, (float)config_number(cx, config, "initializer_range", 0, 100)},
    };
    m->dropout = dropout;
    m->flat = m->pools = true;
    m->shrinks = !m->second;
    return !heed_failed(cx) && make_embeddings(cx, &p, masked, m) && read_stages(cx, config, &p, m) &&
           swin_make(cx, &p, m);
}

/* ---- heads ---- */

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) { return make_body(cx, b, false, own); }

static bool build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    struct swin *m = own;
    if (!make_body(cx, b, false, m)) return false;
    m->problem = config_problem(cx, b->config);
    return part_linear(cx, b->params, "", "classifier", m->norm.weight->shape[0], config_labels(cx, b->config), true,
                       m->patches.projection.weight->init, &m->output);
}

static bool build_masked(heed_ctx *cx, const heed_build *b, void *own) {
    struct swin *m = own;
    return make_body(cx, b, true, m) &&
           masked_make(cx, b->config, b->params, m->norm.weight->shape[0], m->patches.channels,
                       m->patches.projection.weight->init, &m->output, &m->stride);
}

/* ---- the families ---- */

#define SWIN_KEYS                                                                                                      \
    {"image_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},                           \
        {"patch_size", HEED_KEY_INT_OR_LIST, "4", "of patches: a side, or height and width"},                          \
        {"num_channels", HEED_KEY_INT, "3", "of pictures"},                                                            \
        {"embed_dim", HEED_KEY_INT, "96", "width of the first stage; each has twice that of the one before"},          \
        {"depths", HEED_KEY_INTS, "2,2,6,2", "blocks of each stage"},                                                  \
        {"num_heads", HEED_KEY_INTS, "3,6,12,24", "attention heads of each stage, which divide its width"},            \
        {"window_size", HEED_KEY_INT, "7", "side of windows, in patches"},                                             \
        {"mlp_ratio", HEED_KEY_NUMBER, "4.0", "width of the feed-forward layer, by the stage's"},                      \
        {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},                                   \
        {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of embeddings and of the sublayers' outputs"},        \
        {"attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},                      \
        {"drop_path_rate", HEED_KEY_NUMBER, "0.1", "stochastic depth of the last block; those before drop less"},      \
        {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},                                    \
        {"use_absolute_embeddings", HEED_KEY_BOOL, "false", "patches have positions of their own too"},                \
        {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},                         \
        {"layer_norm_eps", HEED_KEY_NUMBER, "1e-5", "of norms in blocks and of the last"}, {                           \
        "encoder_stride", HEED_KEY_INT, "32",                                                                          \
            "pixels that a place of the last stage becomes on each side, of masked pictures"                           \
    }
static const heed_key swin_keys[] = {SWIN_KEYS, END_OF_KEYS};
static const heed_key swinv2_keys[] = {
    SWIN_KEYS,
    {"pretrained_window_sizes", HEED_KEY_INTS, "0,0,0,0", "windows that each stage's bias was trained for; 0: its own"},
    END_OF_KEYS,
};
#define PIXELS    "pixel_values interpolate_pos_encoding"
#define RUN(name) .build = build_##name, SWIN_RUN(name)
#define HEADS(Name)                                                                                                    \
    {Name "ForImageClassification", "classify", PIXELS " labels", .keys = label_keys, RUN(classify)},                  \
        {Name "Model", "embed", PIXELS, .bare = true, RUN(bare)},                                                      \
        {Name "ForMaskedImageModeling", "", PIXELS " " MASKED_POSITIONS, RUN(masked)}, {                               \
        .architecture = NULL                                                                                           \
    }
static const heed_head swin_heads[] = {HEADS("Swin")}, swinv2_heads[] = {HEADS("Swinv2")};

static const char *const ignored[] = {"*relative_position_index", "*relative_coords_table", NULL};
/* The names of transformers' modules since version 5, whose files have the older ones. */
static const char *const renamed[] = {"attention.self.query",
                                      "attention.q_proj",
                                      "attention.self.key",
                                      "attention.k_proj",
                                      "attention.self.value",
                                      "attention.v_proj",
                                      "attention.self.relative_position_bias_table",
                                      "attention.relative_position_bias.relative_position_bias_table",
                                      "attention.output.dense",
                                      "attention.o_proj",
                                      "intermediate.dense",
                                      "mlp.fc1",
                                      "output.dense",
                                      "mlp.fc2",
                                      NULL};

const heed_family family_swin = {
    .name = "swin",
    .type = "swin",
    .base = "swin",
    .paper = "Liu et al. 2021",
    .summary = "attention within windows that shift, and patches that merge",
    .notes = "Parameters have the names of transformers' files, with swin. at the beginning except in the bare model: "
             "swin.encoder.layers.N.blocks.N.attention.self.relative_position_bias_table. Pictures of any size are "
             "taken; windows larger than the grid of patches shrink to it. attentions.L are those of the last block "
             "of stage L, (B windows, H, tokens, tokens), as transformers gives them; windows_attentions.N those of "
             "the other blocks. Files with the names of transformers' modules since version 5 (attention.q_proj) are "
             "read too.",
    .keys = swin_keys,
    .heads = swin_heads,
    .ignored = ignored,
    .kind = &first,
    .renamed = renamed,
    .size = sizeof(struct swin),
};

const heed_family family_swinv2 = {
    .name = "swinv2",
    .type = "swinv2",
    .base = "swinv2",
    .paper = "Liu et al. 2022",
    .summary = "Swin with res-post-norm, scaled cosine attention and a log-spaced continuous position bias",
    .notes =
        "Parameters have the names of transformers' files, with swinv2. at the beginning except in the bare model: "
        "swinv2.encoder.layers.N.blocks.N.attention.self.logit_scale. Pictures of any size are taken; windows are "
        "those of image_size, and shrink to its grid of patches. Attention maps are named as swin's. "
        "use_absolute_embeddings must be false.",
    .keys = swinv2_keys,
    .heads = swinv2_heads,
    .ignored = ignored,
    .kind = &second,
    .size = sizeof(struct swin),
};
