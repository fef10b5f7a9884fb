/* Swin (Liu et al. 2021; of searched windows, Chen et al. 2021) and Swin v2 (Liu et al. 2022) in timm's layout: names
 * of parameters and arguments are those of timm's SwinTransformer and SwinTransformerV2. swin.h says what they compute.
 */
#include "model/vision/swin.h"
#include "model/vision/timm.h"

#define TIMM(name, arguments) {name, arguments},
static const struct timm_row first_rows[] = {
#include "model/vision/timm_swin.def"
    {NULL, NULL},
};
static const struct timm_row second_rows[] = {
#include "model/vision/timm_swinv2.def"
    {NULL, NULL},
};
#undef TIMM

/* A number for all stages or a list that has one for each; 0 where it is null. */
static bool stage_numbers(heed_ctx *cx, heed_json args, const char *key, int stages, int64_t to[SWIN_STAGES]) {
    const heed_json at = heed_json_find(cx, args, key);
    const bool list = heed_json_kind_of(at) == HEED_JSON_ARRAY;
    const int n = list ? config_ints(cx, args, key, 1, MAX_SIZE, to, SWIN_STAGES) : stages;
    for (int i = 0; !list && i < stages; i++) to[i] = config_int_or(cx, args, key, 1, MAX_SIZE, 0);
    if (!heed_failed(cx) && n < stages) heed_json_fail(cx, at, "%d numbers for %d stages", n, stages);
    return !heed_failed(cx);
}

/* Windows of every stage: a side, height and width, or a side for each stage. */
static bool read_windows(heed_ctx *cx, heed_json args, int stages, int64_t window[SWIN_STAGES][2]) {
    int64_t side[SWIN_STAGES];
    const heed_json at = heed_json_find(cx, args, "window_size");
    const bool both = heed_json_kind_of(at) == HEED_JSON_ARRAY && heed_json_count(at) == 2;
    if (both ? !config_sides(cx, args, "window_size", 1024, side)
             : !stage_numbers(cx, args, "window_size", stages, side))
        return false;
    if (heed_json_kind_of(at) == HEED_JSON_ARRAY && !both && heed_json_count(at) != stages)
        return heed_json_fail(cx, at, "%lld windows for %d stages", (long long)heed_json_count(at), stages);
    for (int i = 0; i < stages; i++) {
        window[i][0] = side[both ? 0 : i], window[i][1] = side[both ? 1 : i];
        if (window[i][0] < 1 || window[i][0] > 1024)
            return heed_json_fail(cx, at, "%lld is not between 1 and 1024", (long long)window[i][0]);
    }
    return true;
}

static const struct swin_layout layout = {
    .stage = "layers",
    .bias = "attn",
    .distance = "cpb_mlp",
    .whole = "attn.qkv",
    .out = "attn.proj",
    .norm1 = "norm1",
    .norm2 = "norm2",
    .up = "mlp.fc1",
    .down = "mlp.fc2",
    .norm = "norm",
    .merges_first = true,
};

static bool read_windows_of(heed_ctx *cx, heed_json args, struct swin_plan *p, const struct swin *m) {
    const heed_json at = heed_json_find(cx, args, "window_size");
    if (!m->second)
        return stage_numbers(cx, args, "head_dim", m->stages, p->head_size) &&
               read_windows(cx, args, m->stages, p->window);
    if (heed_json_kind_of(at) == HEED_JSON_ARRAY && heed_json_count(at) != 2)
        return heed_json_fail(cx, at, "a side is needed, or height and width");
    return read_windows(cx, args, m->stages, p->window) && swin_read_trained(cx, args, m->stages, p->trained);
}

static bool read_stages(heed_ctx *cx, heed_json args, struct swin_plan *p, struct swin *m) {
    m->stages = config_ints(cx, args, "depths", 1, MAX_LAYERS, p->depths, SWIN_STAGES);
    if (heed_failed(cx)) return false;
    if (m->stages < 1) return heed_json_fail(cx, heed_json_find(cx, args, "depths"), "at least one stage is needed");
    if (!stage_numbers(cx, args, "num_heads", m->stages, p->heads) || !read_windows_of(cx, args, p, m)) return false;
    for (int s = 0; s < m->stages; s++) {
        if (m->patches.grid[0] >> s < 1 || m->patches.grid[1] >> s < 1)
            return heed_json_fail(cx, heed_json_find(cx, args, "img_size"), "nothing is left of it in stage %d", s);
        if (p->heads[s] < 1) /* null */
            return heed_json_fail(cx, heed_json_find(cx, args, "num_heads"), "each stage needs a number of heads");
        if (p->head_size[s] * p->heads[s] > MAX_SIZE)
            return heed_json_fail(cx, heed_json_find(cx, args, "head_dim"), "%lld heads of %lld numbers are too wide",
                                  (long long)p->heads[s], (long long)p->head_size[s]);
    }
    return true;
}

static bool make(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, struct swin *m) {
    static const char *const pools[] = {"", "avg", NULL};
    const float dropout = (float)config_number(cx, args, "proj_drop_rate", 0, 1);
    struct swin_plan p = {
        .names = &layout,
        .config = args,
        .set = b->params,
        .base = "",
        .width = config_int(cx, args, "embed_dim", 1, MAX_SIZE >> SWIN_STAGES),
        .fits = !heed_json_bool(cx, args, "always_partition"),
        .eps = SWIN_EPS,
        .weights_dropout = (float)config_number(cx, args, "attn_drop_rate", 0, 1),
        .attention_dropout = dropout,
        .hidden_dropout = dropout,
        .dropout = dropout,
        .drawn_by_timm = m->second,
        .act = m->second ? timm_activation(cx, args, "act_layer", HEED_ACT_GELU) : HEED_ACT_GELU,
        .init = {HEED_INIT_TRUNCATED, 0, 0.02F},
    };
    m->patches.any_size = m->pads_last = true;
    m->pools = config_choice(cx, args, "global_pool", pools) == 1;
    m->head_dropout = (float)config_number(cx, args, "drop_rate", 0, 1);
    return !heed_failed(cx) && timm_patches(cx, b->config, args, &m->patches) &&
           patches_make(cx, p.set, "patch_embed.proj", p.width, true, p.init, &m->patches) &&
           part_norm(cx, p.set, "patch_embed", "norm", p.width, SWIN_EPS, &m->patch_norm) &&
           read_stages(cx, args, &p, m) && swin_make(cx, &p, m) &&
           timm_classifier(cx, p.set, "head.fc", m->norm.weight->shape[0], classes, p.init, &m->output);
}

static bool make_first(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own) {
    return make(cx, b, args, classes, own);
}
static bool make_second(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own) {
    struct swin *const m = own;
    m->second = true;
    return make(cx, b, args, classes, m);
}
static const struct timm_kind first = {first_rows, make_first}, second = {second_rows, make_second};

static const heed_key first_keys[] = {
    {"architecture", HEED_KEY_TEXT, "swin_tiny_patch4_window7_224", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"img_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_INT_OR_LIST, "4", "of patches: a side, or height and width"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"embed_dim", HEED_KEY_INT, "96", "width of the first stage; each has twice that of the one before"},
    {"depths", HEED_KEY_INTS, "2,2,6,2", "blocks of each stage"},
    {"num_heads", HEED_KEY_INT_OR_LIST, "3,6,12,24", "attention heads of each stage"},
    {"head_dim", HEED_KEY_INT_OR_LIST, "null", "numbers in a head; null: the stage's width by its heads"},
    {"window_size", HEED_KEY_INT_OR_LIST, "7",
     "side of windows, in patches; height and width; or a side for each stage"},
    {"always_partition", HEED_KEY_BOOL, "false", "windows larger than the grid stay so, and shift"},
    {"strict_img_size", HEED_KEY_BOOL, "true", "no effect: pictures of other sizes are taken in any case"},
    {"mlp_ratio", HEED_KEY_NUMBER, "4.0", "width of the feed-forward layer, by the stage's"},
    {"global_pool", HEED_KEY_TEXT, "avg", "avg; empty: every place is classified"},
    {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},
    {"drop_rate", HEED_KEY_NUMBER, "0.0", "dropout before the classifier"},
    {"proj_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout within the feed-forward layer and of sublayers' outputs"},
    {"attn_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.1", "stochastic depth of the last block; those before drop less"},
    {"weight_init", HEED_KEY_TEXT_OR_NULL, "null", "no effect: fresh weights are drawn as timm's standard draws them"},
    END_OF_KEYS,
};

static const heed_key second_keys[] = {
    {"architecture", HEED_KEY_TEXT, "swinv2_tiny_window8_256", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"img_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_INT_OR_LIST, "4", "of patches: a side, or height and width"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"embed_dim", HEED_KEY_INT, "96", "width of the first stage; each has twice that of the one before"},
    {"depths", HEED_KEY_INTS, "2,2,6,2", "blocks of each stage"},
    {"num_heads", HEED_KEY_INTS, "3,6,12,24", "attention heads of each stage, which divide its width"},
    {"window_size", HEED_KEY_INT_OR_LIST, "7", "side of windows, in patches; or height and width"},
    {"pretrained_window_sizes", HEED_KEY_INTS, "0,0,0,0", "windows that each stage's bias was trained for; 0: its own"},
    {"always_partition", HEED_KEY_BOOL, "false", "windows larger than the grid stay so, and shift"},
    {"strict_img_size", HEED_KEY_BOOL, "true", "no effect: pictures of other sizes are taken in any case"},
    {"mlp_ratio", HEED_KEY_NUMBER, "4.0", "width of the feed-forward layer, by the stage's"},
    {"global_pool", HEED_KEY_TEXT, "avg", "avg; empty: every place is classified"},
    {"qkv_bias", HEED_KEY_BOOL, "true", "queries and values have a bias"},
    {"drop_rate", HEED_KEY_NUMBER, "0.0", "dropout before the classifier"},
    {"proj_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout within the feed-forward layer and of sublayers' outputs"},
    {"attn_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.1", "stochastic depth of the last block; those before drop less"},
    {"act_layer", HEED_KEY_TEXT_OR_NULL, "null", "activation, by timm's name; null: gelu"},
    END_OF_KEYS,
};

static const heed_head heads[] = {TIMM_HEADS(SWIN_RUN)};

static const char *const ignored[] = {"*relative_position_index", "*relative_coords_table", "*attn_mask", NULL};

const heed_family family_timm_swin = {
    .name = "timm-swin",
    .type = "timm-swin",
    .base = TIMM_BASE,
    .timm = "swin_*",
    .arguments = "model_args",
    .paper = "Liu et al. 2021",
    .summary = "Swin as timm has it, by the architecture's name",
    .notes =
        "config.json has timm's architecture and num_classes, and in model_args what differs from it; --set writes "
        "there. Parameters have timm's names: layers.N.blocks.N.attn.qkv.weight, layers.N.downsample.reduction.weight, "
        "head.fc.weight. last_hidden_state is (B, height, width, C). Pictures of other sizes than img_size are "
        "taken as by timm without strict_img_size.",
    .keys = first_keys,
    .heads = heads,
    .ignored = ignored,
    .kind = &first,
    .size = sizeof(struct swin),
};

const heed_family family_timm_swinv2 = {
    .name = "timm-swinv2",
    .type = "timm-swinv2",
    .base = TIMM_BASE,
    .timm = "swinv2_*",
    .arguments = "model_args",
    .paper = "Liu et al. 2022",
    .summary = "Swin v2 as timm has it, by the architecture's name",
    .notes =
        "config.json has timm's architecture and num_classes, and in model_args what differs from it; --set writes "
        "there. Parameters have timm's names: layers.N.blocks.N.attn.q_bias, layers.N.blocks.N.attn.cpb_mlp.0.weight, "
        "head.fc.weight; keys have no bias. last_hidden_state is (B, height, width, C). Pictures of other sizes than "
        "img_size are taken as by timm without strict_img_size. Norms of fresh blocks are zero, as timm's are. "
        "swinv2_cr_* is another model, and refused.",
    .keys = second_keys,
    .heads = heads,
    .ignored = ignored,
    .kind = &second,
    .size = sizeof(struct swin),
};
