/* Swin (Liu et al. 2021) with the names and config keys of transformers. swin.h says what it computes. */
#include "model/swin.h"
#include "model/masked_pictures.h"
#include "model/resized.h"

#define SIZE_LIMIT ((int64_t)1 << 30)
#define NORM_EPS   1e-5F /* torch's own, of the norms that layer_norm_eps is not for */

static bool make_block(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, int64_t C, heed_init init,
                       struct swin_block *b) {
    static const char *const qkv[] = {"attention.self.query", "attention.self.key", "attention.self.value"};
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    const double ratio = config_number(cx, config, "mlp_ratio", 0, 1e6);
    const int64_t hidden = (int64_t)(ratio * (double)C);
    heed_multihead *const a = &b->attention;
    a->width = a->key_width = a->value_width = C;
    a->dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    b->dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1);
    b->feed_forward.act = config_activation(cx, config, "hidden_act");
    if (heed_failed(cx)) return false;
    if (hidden < 1 || hidden > SIZE_LIMIT)
        return heed_json_fail(cx, heed_json_find(cx, config, "mlp_ratio"), "%g makes no width of %lld", ratio,
                              (long long)C);
    return part_norm(cx, set, prefix, "layernorm_before", C, eps, &b->norm1) &&
           swin_make_bias(cx, set, part_under(cx, prefix, "attention.self").s, init, b) &&
           part_slices(cx, set, prefix, "attention.self.qkv", qkv, (int64_t[]){C, C, C}, 3, C,
                       heed_json_bool(cx, config, "qkv_bias"), init, &a->in) &&
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
    if (heed_json_bool(cx, config, "use_absolute_embeddings"))
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

static bool make_body(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool masks, struct swin *m) {
    const int64_t C = config_int(cx, config, "embed_dim", 1, SIZE_LIMIT >> SWIN_STAGES),
                  window = config_int(cx, config, "window_size", 1, 1024);
    const heed_init init = {HEED_INIT_TRUNCATED, 0, (float)config_number(cx, config, "initializer_range", 0, 100)};
    const double drop_path = config_number(cx, config, "drop_path_rate", 0, 1);
    int64_t depths[SWIN_STAGES], heads[SWIN_STAGES], all = 0;
    int number = 0;
    m->stages = heed_failed(cx) ? 0 : read_stages(cx, config, depths, heads, C);
    if (heed_failed(cx) || !make_embeddings(cx, config, set, base, masks, C, init, m)) return false;
    m->shrinks = m->flat = m->pools = true;
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
            for (int k = 0; k < 2; k++) b->window[k] = b->table[k] = window, b->shift[k] = i % 2 ? window / 2 : 0;
            if (!make_block(cx, config, set, part_numbered(cx, in.s, "blocks", i).s, C << s, init, b)) return false;
        }
        if (s + 1 < m->stages && /* what this stage ends with, the next begins with */
            (!part_norm(cx, set, in.s, "downsample.norm", C << (s + 2), NORM_EPS, &stage[1].norm) ||
             !part_linear(cx, set, in.s, "downsample.reduction", C << (s + 2), C << (s + 1), false, init,
                          &stage[1].reduction)))
            return false;
    }
    return !heed_failed(cx) && part_norm(cx, set, base, "layernorm", C << (m->stages - 1),
                                         (float)config_number(cx, config, "layer_norm_eps", 0, 1), &m->norm);
}

static bool build_bare(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    return make_body(cx, config, set, "", false, own);
}

static bool build_classify(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    struct swin *m = own;
    if (!make_body(cx, config, set, "swin", false, m)) return false;
    m->problem = config_problem(cx, config);
    return part_linear(cx, set, "", "classifier", m->norm.weight->shape[0], config_labels(cx, config), true,
                       m->patches.projection.weight->init, &m->output);
}

static bool build_masked(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    struct swin *m = own;
    return make_body(cx, config, set, "swin", true, m) &&
           masked_make(cx, config, set, m->norm.weight->shape[0], m->patches.channels,
                       m->patches.projection.weight->init, &m->output, &m->stride);
}

static const heed_key keys[] = {
    {"image_size", HEED_KEY_TOKENS, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_TOKENS, "4", "of patches: a side, or height and width"},
    {"num_channels", HEED_KEY_INT, "3", "of pictures"},
    {"embed_dim", HEED_KEY_INT, "96", "width of the first stage; each has twice that of the one before"},
    {"depths", HEED_KEY_INTS, "2,2,6,2", "blocks of each stage"},
    {"num_heads", HEED_KEY_INTS, "3,6,12,24", "attention heads of each stage, which divide its width"},
    {"window_size", HEED_KEY_INT, "7", "side of windows, in patches"},
    {"mlp_ratio", HEED_KEY_NUMBER, "4.0", "width of the feed-forward layer, by the stage's"},
    {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},
    {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of embeddings and of the sublayers' outputs"},
    {"attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.1", "stochastic depth of the last block; those before drop less"},
    {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},
    {"use_absolute_embeddings", HEED_KEY_BOOL, "false", "patches have positions of their own too"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-5", "of norms in blocks and of the last"},
    {"encoder_stride", HEED_KEY_INT, "32",
     "pixels that a place of the last stage becomes on each side, of masked pictures"},
    {NULL, HEED_KEY_INT, NULL, NULL},
};
static const heed_key label_keys[] = {LABEL_KEYS, {NULL, HEED_KEY_INT, NULL, NULL}};

static const heed_head heads[] = {
    {"SwinForImageClassification", .tasks = "classify", .inputs = "pixel_values interpolate_pos_encoding labels",
     .keys = label_keys, .build = build_classify, .forward = swin_forward_classify, .sample = swin_sample_classify,
     .name_key = swin_name_key, .place = swin_place},
    {"SwinModel", .tasks = "embed", .inputs = "pixel_values interpolate_pos_encoding", .bare = true,
     .build = build_bare, .forward = swin_forward_bare, .sample = swin_sample_bare, .name_key = swin_name_key,
     .place = swin_place},
    {"SwinForMaskedImageModeling", .tasks = "", .inputs = "pixel_values interpolate_pos_encoding " MASKED_POSITIONS,
     .build = build_masked, .forward = swin_forward_masked, .sample = swin_sample_masked, .name_key = swin_name_key,
     .place = swin_place},
    {.architecture = NULL},
};

static const char *const ignored[] = {"*relative_position_index", NULL};
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
    .notes = "Parameters have the names of transformers' files, with swin. at the beginning but for the bare model: "
             "swin.encoder.layers.N.blocks.N.attention.self.relative_position_bias_table. Pictures of any size are "
             "taken; windows larger than the grid of patches shrink to it. attentions.L are those of the last block "
             "of stage L, (B windows, H, tokens, tokens), as transformers gives them; windows_attentions.N those of "
             "the other blocks. Files with the names of transformers' modules since version 5 (attention.q_proj) are "
             "read too.",
    .keys = keys,
    .heads = heads,
    .ignored = ignored,
    .renamed = renamed,
    .size = sizeof(struct swin),
};
