/* Swin (Liu et al. 2021; of searched windows, Chen et al. 2021) in timm's layout: names of parameters and arguments are
 * those of timm's SwinTransformer. swin.h says what it computes. */
#include "model/vision/swin.h"
#include "model/vision/timm.h"

#define SIZE_LIMIT ((int64_t)1 << 30)
#define NORM_EPS   1e-5F

static const struct timm_row rows[] = {
#define TIMM(name, arguments) {name, arguments},
#include "model/vision/timm_swin.def"
#undef TIMM
    {NULL, NULL},
};

/* A number for all stages or one for each; 0 where it is null. */
static bool stage_numbers(heed_ctx *cx, heed_json args, const char *key, int stages, int64_t to[SWIN_STAGES]) {
    const heed_json at = heed_json_find(cx, args, key);
    const bool list = heed_json_kind_of(at) == HEED_JSON_ARRAY;
    const int n = list ? config_ints(cx, args, key, 1, SIZE_LIMIT, to, SWIN_STAGES) : stages;
    for (int i = 0; !list && i < stages; i++) to[i] = config_int_or(cx, args, key, 1, SIZE_LIMIT, 0);
    if (!heed_failed(cx) && n != stages) heed_json_fail(cx, at, "%d numbers for %d stages", n, stages);
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
    for (int i = 0; i < stages; i++) {
        window[i][0] = side[both ? 0 : i], window[i][1] = side[both ? 1 : i];
        if (window[i][0] < 1 || window[i][0] > 1024)
            return heed_json_fail(cx, at, "%lld is not between 1 and 1024", (long long)window[i][0]);
    }
    return true;
}

static bool make_block(heed_ctx *cx, heed_json args, heed_params *set, const char *prefix, int64_t C, int64_t head_size,
                       heed_init init, struct swin_block *b) {
    const struct part_name attn = part_under(cx, prefix, "attn"), mlp = part_under(cx, prefix, "mlp");
    heed_multihead *const a = &b->attention;
    const int64_t inner = head_size > 0 ? head_size * a->heads : C, hidden = part_hidden(cx, args, "mlp_ratio", C);
    a->width = a->key_width = a->value_width = C;
    a->head_size = head_size;
    a->dropout = (float)config_number(cx, args, "attn_drop_rate", 0, 1);
    b->attention_dropout = b->dropout = b->feed_forward.dropout =
        (float)config_number(cx, args, "proj_drop_rate", 0, 1);
    b->feed_forward.act = HEED_ACT_GELU;
    if (heed_failed(cx)) return false;
    if (head_size == 0 && C % a->heads != 0)
        return heed_json_fail(cx, heed_json_find(cx, args, "num_heads"), "%lld heads do not divide a width of %lld",
                              (long long)a->heads, (long long)C);
    if (inner > SIZE_LIMIT)
        return heed_json_fail(cx, heed_json_find(cx, args, "head_dim"), "%lld heads of %lld numbers are too wide",
                              (long long)a->heads, (long long)head_size);
    return part_norm(cx, set, prefix, "norm1", C, NORM_EPS, &b->norm1) && swin_make_bias(cx, set, attn.s, init, b) &&
           part_linear(cx, set, attn.s, "qkv", C, 3 * inner, heed_json_bool(cx, args, "qkv_bias"), init, &a->in) &&
           part_linear(cx, set, attn.s, "proj", inner, C, true, init, &a->out) &&
           part_norm(cx, set, prefix, "norm2", C, NORM_EPS, &b->norm2) &&
           part_linear(cx, set, mlp.s, "fc1", C, hidden, true, init, &b->feed_forward.linear1) &&
           part_linear(cx, set, mlp.s, "fc2", hidden, C, true, init, &b->feed_forward.linear2);
}

/* Windows no larger than the grid that the stage was made for, which then do not shift. */
static void fit_window(struct swin_block *b, const int64_t window[2], const int64_t grid[2], bool shifts, bool always) {
    for (int k = 0; k < 2; k++) {
        const bool whole = !always && grid[k] <= window[k];
        b->window[k] = b->table[k] = whole ? grid[k] : window[k];
        b->shift[k] = shifts && !whole ? window[k] / 2 : 0;
    }
}

static bool make_stages(heed_ctx *cx, heed_json args, heed_params *set, int64_t C, heed_init init, struct swin *m) {
    int64_t depths[SWIN_STAGES], heads[SWIN_STAGES], sizes[SWIN_STAGES], window[SWIN_STAGES][2], all = 0;
    const bool always = heed_json_bool(cx, args, "always_partition");
    const double drop_path = config_number(cx, args, "drop_path_rate", 0, 1);
    m->stages = config_ints(cx, args, "depths", 1, MAX_LAYERS, depths, SWIN_STAGES);
    if (heed_failed(cx)) return false;
    if (m->stages < 1) return heed_json_fail(cx, heed_json_find(cx, args, "depths"), "at least one stage is needed");
    if (!stage_numbers(cx, args, "num_heads", m->stages, heads) ||
        !stage_numbers(cx, args, "head_dim", m->stages, sizes) || !read_windows(cx, args, m->stages, window))
        return false;
    for (int s = 0; s < m->stages; s++) all += depths[s];
    for (int s = 0, number = 0; s < m->stages; s++) {
        struct swin_stage *const stage = &m->stage[s];
        const struct part_name in = part_numbered(cx, "", "layers", s);
        const int64_t grid[] = {m->patches.grid[0] >> s, m->patches.grid[1] >> s};
        if (grid[0] < 1 || grid[1] < 1)
            return heed_json_fail(cx, heed_json_find(cx, args, "img_size"), "nothing is left of it in stage %d", s);
        if (s > 0 &&
            (!part_norm(cx, set, in.s, "downsample.norm", C << (s + 1), NORM_EPS, &stage->norm) ||
             !part_linear(cx, set, in.s, "downsample.reduction", C << (s + 1), C << s, false, init, &stage->reduction)))
            return false;
        stage->blocks = (int)depths[s];
        stage->block = heed_params_room(cx, set, (size_t)depths[s], sizeof *stage->block);
        for (int i = 0; stage->block && i < stage->blocks; i++, number++) {
            struct swin_block *const b = &stage->block[i];
            swin_number(b, s, number, i + 1 == stage->blocks);
            b->attention.heads = heads[s];
            b->drop_path = all > 1 ? (float)(drop_path * number / (double)(all - 1)) : 0;
            fit_window(b, window[s], grid, i % 2 != 0, always);
            if (!make_block(cx, args, set, part_numbered(cx, in.s, "blocks", i).s, C << s, sizes[s], init, b))
                return false;
        }
    }
    return !heed_failed(cx);
}

static bool make(heed_ctx *cx, heed_json config, heed_json args, heed_params *set, bool bare, struct swin *m) {
    static const char *const pools[] = {"", "avg", NULL};
    const heed_init init = {HEED_INIT_TRUNCATED, 0, 0.02F};
    const int64_t C = config_int(cx, args, "embed_dim", 1, SIZE_LIMIT >> SWIN_STAGES),
                  classes = bare ? 0 : config_int(cx, args, "num_classes", 0, 1 << 24);
    struct patches *const p = &m->patches;
    p->channels = config_int(cx, args, "in_chans", 1, SIDE_MOST);
    p->any_size = m->pads_last = true;
    p->rest = timm_given(cx, config, "img_size") ? PATCHES_REFUSE : PATCHES_CUT;
    m->pools = config_choice(cx, args, "global_pool", pools) == 1;
    m->head_dropout = (float)config_number(cx, args, "drop_rate", 0, 1);
    if (heed_failed(cx) || !config_sides(cx, args, "img_size", SIDE_MOST, p->image) ||
        !config_sides(cx, args, "patch_size", SIDE_MOST, p->patch) ||
        !patches_make(cx, set, "patch_embed.proj", C, true, init, p) ||
        !part_norm(cx, set, "patch_embed", "norm", C, NORM_EPS, &m->patch_norm) ||
        !make_stages(cx, args, set, C, init, m))
        return false;
    const int64_t last = C << (m->stages - 1);
    if (!part_norm(cx, set, "", "norm", last, NORM_EPS, &m->norm)) return false;
    if (classes < 1) return true;
    if (!part_linear(cx, set, "head", "fc", last, classes, true, init, &m->output)) return false;
    m->output.weight->head = m->output.bias->head = true;
    return true;
}

static bool build(heed_ctx *cx, heed_json config, heed_params *set, bool bare, void *own) {
    const heed_json args = timm_arguments(cx, &family_timm_swin, config, rows);
    const bool made = !heed_failed(cx) && make(cx, config, args, set, bare, own);
    heed_json_free(args);
    return made;
}

static bool build_classify(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    return build(cx, config, set, false, own);
}
static bool build_bare(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    return build(cx, config, set, true, own);
}

static const heed_key keys[] = {
    {"architecture", HEED_KEY_TEXT, "swin_tiny_patch4_window7_224", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"img_size", HEED_KEY_TOKENS, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_TOKENS, "4", "of patches: a side, or height and width"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"embed_dim", HEED_KEY_INT, "96", "width of the first stage; each has twice that of the one before"},
    {"depths", HEED_KEY_INTS, "2,2,6,2", "blocks of each stage"},
    {"num_heads", HEED_KEY_TOKENS, "3,6,12,24", "attention heads of each stage"},
    {"head_dim", HEED_KEY_TOKENS, "null", "numbers in a head; null: the stage's width by its heads"},
    {"window_size", HEED_KEY_TOKENS, "7", "side of windows, in patches; height and width; or a side for each stage"},
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
    {NULL, HEED_KEY_INT, NULL, NULL},
};

static const heed_head heads[] = {
    {TIMM_CLASSIFY, .tasks = "classify", .inputs = "pixel_values labels", .build = build_classify,
     .forward = swin_forward_classify, .sample = swin_sample_classify, .name_key = swin_name_key, .place = swin_place},
    {TIMM_BARE, .tasks = "embed", .inputs = "pixel_values", .build = build_bare, .forward = swin_forward_bare,
     .sample = swin_sample_bare, .name_key = swin_name_key, .place = swin_place},
    {.architecture = NULL},
};

static const char *const ignored[] = {"*relative_position_index", "*attn_mask", NULL};

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
    .keys = keys,
    .heads = heads,
    .ignored = ignored,
    .size = sizeof(struct swin),
};
