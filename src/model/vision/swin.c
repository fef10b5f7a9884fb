/* Swin (Liu et al. 2021) and Swin v2 (Liu et al. 2022) with the names and config keys of transformers. swin.h says what
 * they compute. */
#include "model/vision/swin.h"
#include "model/core/resized.h"
#include "model/vision/masked_pictures.h"
#include <math.h>

#define SIZE_LIMIT ((int64_t)1 << 30)
#define NORM_EPS   1e-5F /* torch's own, of the norms that layer_norm_eps is not for */

static const struct swin_names {
    const char *base;
    bool second; /* version */
} swin_names = {"swin", false}, swinv2_names = {"swinv2", true};

static const char *const qkv[] = {"attention.self.query", "attention.self.key", "attention.self.value"};

/* The second version's: keys have no bias, and the bias of distances is worked out. */
static bool make_cosine(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, int64_t C, heed_init init,
                        struct swin_block *b) {
    enum { HIDDEN = 512 };
    struct swin_cosine *const v = &b->cosine;
    const bool bias = heed_json_bool(cx, config, "qkv_bias");
    const struct part_name in = part_under(cx, prefix, "attention.self");
    v->logit_scale = heed_param_add(cx, set, in.s, "logit_scale", 3, (int64_t[]){b->attention.heads, 1, 1},
                                    (heed_init){HEED_INIT_CONSTANT, logf(10), 0});
    if (v->logit_scale) v->logit_scale->decays = false;
    for (int i = 0; i < 3; i++)
        if (!part_linear(cx, set, prefix, qkv[i], C, C, bias && i != 1, init, &v->qkv[i])) return false;
    return part_linear(cx, set, in.s, "continuous_position_bias_mlp.0", 2, HIDDEN, true, init, &v->distance[0]) &&
           part_linear(cx, set, in.s, "continuous_position_bias_mlp.2", HIDDEN, b->attention.heads, false, init,
                       &v->distance[1]);
}

static bool make_block(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, bool second, int64_t C,
                       heed_init init, struct swin_block *b) {
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    const int64_t hidden = part_hidden(cx, config, "mlp_ratio", C);
    heed_multihead *const a = &b->attention;
    a->width = a->key_width = a->value_width = C;
    a->dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    b->dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1);
    b->attention_dropout = second ? a->dropout : b->dropout;
    b->feed_forward.act = config_activation(cx, config, "hidden_act");
    if (heed_failed(cx)) return false;
    return part_norm(cx, set, prefix, "layernorm_before", C, eps, &b->norm1) &&
           (second ? make_cosine(cx, config, set, prefix, C, init, b)
                   : swin_make_bias(cx, set, part_under(cx, prefix, "attention.self").s, init, b) &&
                         part_slices(cx, set, prefix, "attention.self.qkv", qkv, (int64_t[]){C, C, C}, 3, C,
                                     heed_json_bool(cx, config, "qkv_bias"), init, &a->in)) &&
           part_linear(cx, set, prefix, "attention.output.dense", C, C, true, init, &a->out) &&
           part_norm(cx, set, prefix, "layernorm_after", C, eps, &b->norm2) &&
           part_linear(cx, set, prefix, "intermediate.dense", C, hidden, true, init, &b->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "output.dense", hidden, C, true, init, &b->feed_forward.linear2);
}

static bool make_embeddings(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool masks, int64_t C,
                            heed_init init, struct swin *m) {
    struct patches *const p = &m->patches;
    const struct part_name in = part_under(cx, base, "embeddings");
    p->channels = config_int(cx, config, "num_channels", 1, SIDE_MOST);
    p->any_size = true;
    p->rest = PATCHES_PAD;
    if (!config_sides(cx, config, "image_size", SIDE_MOST, p->image) ||
        !config_sides(cx, config, "patch_size", SIDE_MOST, p->patch) ||
        !patches_make(cx, set, part_under(cx, in.s, "patch_embeddings.projection").s, C, true, init, p))
        return false;
    if (masks) m->mask_token = patches_tokens(cx, set, in.s, "mask_token", 1, C, (heed_init){.kind = HEED_INIT_ZEROS});
    const bool positions = heed_json_bool(cx, config, "use_absolute_embeddings");
    if (positions && m->second)
        return heed_json_fail(cx, heed_json_find(cx, config, "use_absolute_embeddings"),
                              "transformers' Swin v2 has one position too many to run with them, and heed has none");
    if (positions)
        m->positions = patches_tokens(cx, set, in.s, "position_embeddings", p->grid[0] * p->grid[1], C, init);
    if (!resizable_positions(cx, set, m->positions, 0, p->grid, false)) return false;
    m->dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1);
    return part_norm(cx, set, in.s, "norm", C, NORM_EPS, &m->patch_norm);
}

/* Numbers of each stage: how many blocks, of how many heads. */
static int read_stages(heed_ctx *cx, heed_json config, int64_t depths[], int64_t heads[], int64_t width) {
    const int stages = config_ints(cx, config, "depths", 1, MAX_LAYERS, depths, SWIN_STAGES);
    const int n = config_ints(cx, config, "num_heads", 1, SIZE_LIMIT, heads, SWIN_STAGES);
    if (heed_failed(cx)) return 0;
    if (stages < 1 || n != stages)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_heads"), "%d numbers of heads for %d stages", n,
                              stages);
    for (int i = 0; i < stages; i++)
        if ((width << i) % heads[i] != 0)
            return heed_json_fail(cx, heed_json_find(cx, config, "num_heads"),
                                  "%lld heads do not divide a width of %lld", (long long)heads[i],
                                  (long long)(width << i));
    return stages;
}

/* Windows of a block of the first version are those of the config, and shrink with the picture. Those of the second
 * shrink with the picture that it was made for, whose height decides. */
static bool set_window(heed_ctx *cx, heed_json config, const struct swin *m, int stage, bool shifted, int64_t window,
                       int64_t trained, struct swin_block *b) {
    const int64_t height = m->patches.grid[0] >> stage, side = m->second && height < window ? height : window;
    const bool shifts = shifted && !(m->second && height <= side);
    if (side < 1)
        return heed_json_fail(cx, heed_json_find(cx, config, "image_size"), "stage %d has no place for a window",
                              stage);
    for (int k = 0; k < 2; k++) b->window[k] = b->table[k] = side, b->shift[k] = shifts ? window / 2 : 0;
    b->cosine.trained = trained;
    return true;
}

/* The sides of the windows that each stage's bias was trained for; 0: its own. */
static bool read_trained(heed_ctx *cx, heed_json config, int stages, int64_t trained[SWIN_STAGES]) {
    const int n = config_ints(cx, config, "pretrained_window_sizes", 0, 1024, trained, SWIN_STAGES);
    if (heed_failed(cx)) return false;
    bool fits = n >= stages;
    for (int i = 0; fits && i < stages; i++) fits = trained[i] != 1; /* distances would be divided by 0 */
    return fits || heed_json_fail(cx, heed_json_find(cx, config, "pretrained_window_sizes"),
                                  "0 or a side of at least 2 is needed for each of %d stages", stages);
}

static bool make_body(heed_ctx *cx, const struct swin_names *names, heed_json config, heed_params *set, bool bare,
                      bool masks, struct swin *m) {
    const char *const base = bare ? "" : names->base;
    const int64_t C = config_int(cx, config, "embed_dim", 1, SIZE_LIMIT >> SWIN_STAGES),
                  window = config_int(cx, config, "window_size", 1, 1024);
    const heed_init init = {HEED_INIT_TRUNCATED, 0, (float)config_number(cx, config, "initializer_range", 0, 100)};
    const double drop_path = config_number(cx, config, "drop_path_rate", 0, 1);
    int64_t depths[SWIN_STAGES], heads[SWIN_STAGES], trained[SWIN_STAGES] = {0}, all = 0;
    int number = 0;
    m->second = names->second;
    m->stages = heed_failed(cx) ? 0 : read_stages(cx, config, depths, heads, C);
    if (heed_failed(cx) || (m->second && !read_trained(cx, config, m->stages, trained)) ||
        !make_embeddings(cx, config, set, base, masks, C, init, m))
        return false;
    m->flat = m->pools = true;
    m->shrinks = !m->second;
    for (int s = 0; s < m->stages; s++) all += depths[s];
    for (int s = 0; s < m->stages; s++) {
        struct swin_stage *const stage = &m->stage[s];
        const struct part_name in = part_numbered(cx, base, "encoder.layers", s);
        stage->blocks = (int)depths[s];
        stage->block = heed_params_room(cx, set, (size_t)depths[s], sizeof *stage->block);
        for (int i = 0; stage->block && i < stage->blocks; i++, number++) {
            struct swin_block *const b = &stage->block[i];
            swin_number(b, s, number, i + 1 == stage->blocks);
            b->attention.heads = heads[s];
            b->drop_path = all > 1 ? (float)(drop_path * number / (double)(all - 1)) : 0;
            if (!set_window(cx, config, m, s, i % 2 != 0, window, trained[s], b) ||
                !make_block(cx, config, set, part_numbered(cx, in.s, "blocks", i).s, m->second, C << s, init, b))
                return false;
        }
        if (s + 1 < m->stages && /* what this stage ends with, the next begins with */
            (!part_norm(cx, set, in.s, "downsample.norm", C << (m->second ? s + 1 : s + 2), NORM_EPS, &stage[1].norm) ||
             !part_linear(cx, set, in.s, "downsample.reduction", C << (s + 2), C << (s + 1), false, init,
                          &stage[1].reduction)))
            return false;
    }
    return !heed_failed(cx) && part_norm(cx, set, base, "layernorm", C << (m->stages - 1),
                                         (float)config_number(cx, config, "layer_norm_eps", 0, 1), &m->norm);
}

static bool build_classify(heed_ctx *cx, const struct swin_names *names, heed_json config, heed_params *set,
                           struct swin *m) {
    if (!make_body(cx, names, config, set, false, false, m)) return false;
    m->problem = config_problem(cx, config);
    return part_linear(cx, set, "", "classifier", m->norm.weight->shape[0], config_labels(cx, config), true,
                       m->patches.projection.weight->init, &m->output);
}

static bool build_masked(heed_ctx *cx, const struct swin_names *names, heed_json config, heed_params *set,
                         struct swin *m) {
    return make_body(cx, names, config, set, false, true, m) &&
           masked_make(cx, config, set, m->norm.weight->shape[0], m->patches.channels,
                       m->patches.projection.weight->init, &m->output, &m->stride);
}

#define SWIN_BUILDS(family)                                                                                            \
    static bool family##_build_bare(heed_ctx *cx, heed_json config, heed_params *set, void *own) {                     \
        return make_body(cx, &family##_names, config, set, true, false, own);                                          \
    }                                                                                                                  \
    static bool family##_build_classify(heed_ctx *cx, heed_json config, heed_params *set, void *own) {                 \
        return build_classify(cx, &family##_names, config, set, own);                                                  \
    }                                                                                                                  \
    static bool family##_build_masked(heed_ctx *cx, heed_json config, heed_params *set, void *own) {                   \
        return build_masked(cx, &family##_names, config, set, own);                                                    \
    }
SWIN_BUILDS(swin)
SWIN_BUILDS(swinv2)

#define SWIN_KEYS                                                                                                      \
    {"image_size", HEED_KEY_TOKENS, "224", "of pictures: a side, or height and width"},                                \
        {"patch_size", HEED_KEY_TOKENS, "4", "of patches: a side, or height and width"},                               \
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
static const heed_key swin_keys[] = {SWIN_KEYS, {NULL, HEED_KEY_INT, NULL, NULL}};
static const heed_key swinv2_keys[] = {
    SWIN_KEYS,
    {"pretrained_window_sizes", HEED_KEY_INTS, "0,0,0,0", "windows that each stage's bias was trained for; 0: its own"},
    {NULL, HEED_KEY_INT, NULL, NULL},
};
static const heed_key label_keys[] = {LABEL_KEYS, {NULL, HEED_KEY_INT, NULL, NULL}};

#define SWIN_HEADS(family, prefix)                                                                                     \
    {prefix "ForImageClassification",                                                                                  \
     .tasks = "classify",                                                                                              \
     .inputs = "pixel_values interpolate_pos_encoding labels",                                                         \
     .keys = label_keys,                                                                                               \
     .build = family##_build_classify,                                                                                 \
     .forward = swin_forward_classify,                                                                                 \
     .sample = swin_sample_classify,                                                                                   \
     .name_key = swin_name_key,                                                                                        \
     .place = swin_place},                                                                                             \
        {prefix "Model",                                                                                               \
         .tasks = "embed",                                                                                             \
         .inputs = "pixel_values interpolate_pos_encoding",                                                            \
         .bare = true,                                                                                                 \
         .build = family##_build_bare,                                                                                 \
         .forward = swin_forward_bare,                                                                                 \
         .sample = swin_sample_bare,                                                                                   \
         .name_key = swin_name_key,                                                                                    \
         .place = swin_place},                                                                                         \
        {prefix "ForMaskedImageModeling",                                                                              \
         .tasks = "",                                                                                                  \
         .inputs = "pixel_values interpolate_pos_encoding " MASKED_POSITIONS,                                          \
         .build = family##_build_masked,                                                                               \
         .forward = swin_forward_masked,                                                                               \
         .sample = swin_sample_masked,                                                                                 \
         .name_key = swin_name_key,                                                                                    \
         .place = swin_place},                                                                                         \
    {                                                                                                                  \
        .architecture = NULL                                                                                           \
    }
static const heed_head swin_heads[] = {SWIN_HEADS(swin, "Swin")};
static const heed_head swinv2_heads[] = {SWIN_HEADS(swinv2, "Swinv2")};

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
    .size = sizeof(struct swin),
};
