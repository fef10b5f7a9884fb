/* LeViT (Graham et al. 2021) in timm's layouts, of linear layers and of convolutions of 1 x 1: names of parameters and
 * arguments are those of timm's Levit. levit.h says what it computes. */
#include "model/vision/levit.h"
#include "model/vision/timm.h"

static const struct timm_row rows[] = {
#define TIMM(name, arguments) {name, arguments},
#include "model/vision/timm_levit.def"
#undef TIMM
    {NULL, NULL},
};

static const struct levit_layout layout = {
    .linear = "linear",
    .norm = "bn",
    .all = "qkv",
    .keys_values = "kv",
    .query = "q.ln",
    .out = "proj.ln",
    .up = "ln1",
    .down = "ln2",
};

struct arguments {
    int stages;
    int64_t width[LEVIT_STAGES], depth[LEVIT_STAGES], key;
    double heads[LEVIT_STAGES], attention_ratio[LEVIT_STAGES], mlp_ratio[LEVIT_STAGES];
};

/* ---- arguments ---- */

/* A number for all stages or one for each. */
static bool stage_numbers(heed_ctx *cx, heed_json args, const char *key, int stages, double low, double *to) {
    const heed_json at = heed_json_find(cx, args, key);
    const bool list = heed_json_kind_of(at) == HEED_JSON_ARRAY, one = list && heed_json_count(at) == 1;
    if (list && !one && heed_json_count(at) != stages)
        return heed_json_fail(cx, at, "%lld numbers for %d stages", (long long)heed_json_count(at), stages);
    for (int i = 0; i < stages && !heed_failed(cx); i++) {
        to[i] = heed_json_number(cx, list ? heed_json_item(cx, at, one ? 0 : i) : at, NULL);
        if (!heed_failed(cx) && !(to[i] >= low && to[i] <= (double)MAX_SIDE))
            return heed_json_fail(cx, at, "%g is not between %g and %d", to[i], low, MAX_SIDE);
    }
    return !heed_failed(cx);
}

static bool read_arguments(heed_ctx *cx, heed_json args, struct arguments *a) {
    a->stages = config_ints(cx, args, "embed_dim", 1, MAX_SIZE, a->width, LEVIT_STAGES);
    const int depths = config_ints(cx, args, "depth", 0, MAX_LAYERS, a->depth, LEVIT_STAGES);
    a->key = config_int(cx, args, "key_dim", 1, MAX_SIDE);
    if (heed_failed(cx)) return false;
    if (a->stages < 1) return heed_json_fail(cx, heed_json_find(cx, args, "embed_dim"), "at least one stage is needed");
    if (depths != a->stages)
        return heed_json_fail(cx, heed_json_find(cx, args, "depth"), "%d numbers for %d stages", depths, a->stages);
    return stage_numbers(cx, args, "num_heads", a->stages, 1, a->heads) &&
           stage_numbers(cx, args, "attn_ratio", a->stages, 0, a->attention_ratio) &&
           stage_numbers(cx, args, "mlp_ratio", a->stages, 0, a->mlp_ratio);
}

/* ---- build ---- */

static bool make_block(struct levit_plan *p, const char *prefix, const char *attention, const struct levit_sizes *s,
                       double mlp_ratio, struct levit *m) {
    return levit_attention(p, part_under(p->cx, prefix, attention).s, s, m) &&
           levit_feed_forward(p, part_under(p->cx, prefix, "mlp").s, (int64_t)((double)p->width * mlp_ratio), m);
}

/* Stages but the first begin with attention that shrinks the grid, whose sizes are its own. */
static bool make_stage(struct levit_plan *p, const struct arguments *a, int i, struct levit *m) {
    const struct part_name stage = part_numbered(p->cx, "", "stages", i);
    const struct levit_sizes own = {
        .heads = (int64_t)a->heads[i], .key = a->key, .value = (int64_t)(a->attention_ratio[i] * (double)a->key)};
    const struct levit_sizes down = {
        .heads = p->width / a->key, .key = a->key, .value = 4 * a->key, .width = a->width[i], .stride = 2};
    if (i > 0 && !make_block(p, part_under(p->cx, stage.s, "downsample").s, "attn_downsample", &down, 2, m))
        return false;
    for (int64_t k = 0; k < a->depth[i]; k++)
        if (!make_block(p, part_numbered(p->cx, stage.s, "blocks", (int)k).s, "attn", &own, a->mlp_ratio[i], m))
            return false;
    return true;
}

static bool make_stem(heed_ctx *cx, heed_json args, struct levit_plan *p, struct levit *m) {
    static const char *const types[] = {"s16", "s8", NULL}, *const names[] = {"stem.conv1", "stem.conv2", "stem.conv3",
                                                                              "stem.conv4"};
    const heed_conv_opts opts = {.stride = {2, 2}, .padding = {1, 1}};
    const int type = config_choice(cx, args, "stem_type", types), convs = type == 0 ? 4 : 3;
    m->pictures.channels = config_int(cx, args, "in_chans", 1, MAX_SIDE);
    if (type < 0 || !config_sides(cx, args, "img_size", MAX_SIDE, m->pictures.image)) return false;
    for (int i = 0; i < 2; i++) {
        p->grid[i] = m->pictures.image[i] >> convs;
        if (p->grid[i] < 1)
            return heed_json_fail(cx, heed_json_find(cx, args, "img_size"), "pictures of %lld leave no tokens",
                                  (long long)m->pictures.image[i]);
    }
    return levit_stem(p, names, convs, &opts, 3, "linear", m);
}

static bool make(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own) {
    static const char *const pools[] = {"", "avg", NULL};
    const int pool = config_choice(cx, args, "global_pool", pools);
    struct levit *const m = own;
    struct arguments a = {0};
    struct levit_plan p = {
        .cx = cx,
        .set = b->params,
        .names = &layout,
        .init = {HEED_INIT_KAIMING_UNIFORM, 2.23606797749979F, 0}, /* sqrt(5), as torch's own layers */
        .maps = heed_json_bool(cx, args, "use_conv"),
        .quiet = true,
    };
    m->maps = p.maps;
    m->pools = pool == 1;
    m->act = timm_activation(cx, args, "act_layer", HEED_ACT_HARDSWISH);
    m->attention_act = timm_activation(cx, args, "attn_act_layer", m->act);
    m->head_dropout = (float)config_number(cx, args, "drop_rate", 0, 1);
    m->drop_path = (float)config_number(cx, args, "drop_path_rate", 0, 1);
    if (pool < 0 || !timm_only(cx, args, "stem_backbone", "") || !timm_only(cx, args, "down_op", "subsample") ||
        !read_arguments(cx, args, &a))
        return false;
    if (!m->pools && classes > 0)
        return heed_json_fail(cx, heed_json_find(cx, args, "global_pool"), "classes need a mean: avg");
    p.width = a.width[0];
    int blocks = a.stages;
    for (int i = 0; i < a.stages; i++) blocks += (int)a.depth[i];
    if (!make_stem(cx, args, &p, m) || !levit_room(&p, blocks, m)) return false;
    for (int i = 0; i < a.stages; i++)
        if (!make_stage(&p, &a, i, m)) return false;
    const heed_init init = {HEED_INIT_TRUNCATED, 0, 0.02F};
    return levit_classifier(&p, "head", 0, classes, init, m) &&
           (!heed_json_bool(cx, args, "distilled") || levit_classifier(&p, "head_dist", 1, classes, init, m));
}
static const struct timm_kind kind = {rows, make};

/* ---- the family ---- */

static const heed_key keys[] = {
    {"architecture", HEED_KEY_TEXT, "levit_128s", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"img_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"embed_dim", HEED_KEY_INTS, "192", "width of each stage"},
    {"key_dim", HEED_KEY_INT, "64", "numbers in a key"},
    {"depth", HEED_KEY_INTS, "12", "blocks of each stage"},
    {"num_heads", HEED_KEY_INT_OR_LIST, "3", "attention heads, of all stages or of each"},
    {"attn_ratio", HEED_KEY_NUMBERS, "2.0", "numbers in a value, by key_dim, of all stages or of each"},
    {"mlp_ratio", HEED_KEY_NUMBERS, "2.0", "width of feed-forward layers, by each stage's, of all stages or of each"},
    {"stem_backbone", HEED_KEY_TEXT_OR_NULL, "null", "only null"},
    {"stem_stride", HEED_KEY_INT_OR_NULL, "null", "no effect without stem_backbone"},
    {"stem_type", HEED_KEY_TEXT, "s16", "s16 or s8: how much smaller the first grid is than the picture"},
    {"down_op", HEED_KEY_TEXT, "subsample", "only subsample"},
    {"act_layer", HEED_KEY_TEXT, "hard_swish", "activation, by timm's name"},
    {"attn_act_layer", HEED_KEY_TEXT_OR_NULL, "null", "that of attention's output; null: act_layer"},
    {"use_conv", HEED_KEY_BOOL, "false", "weights are those of convolutions of 1 x 1"},
    {"distilled", HEED_KEY_BOOL, "false", "two heads, whose mean is the answer"},
    {"global_pool", HEED_KEY_TEXT, "avg", "avg; empty, of features alone: every place"},
    {"drop_rate", HEED_KEY_NUMBER, "0.0", "dropout between a head's norm and its product"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.0", "stochastic depth, of every sublayer"},
    END_OF_KEYS,
};

static const heed_head heads[] = {TIMM_HEADS(LEVIT_RUN)};

static const char *const ignored[] = {"*attention_bias_idxs", NULL};

const heed_family family_timm_levit = {
    .name = "timm-levit",
    .type = "timm-levit",
    .base = TIMM_BASE,
    .timm = "levit_*",
    .arguments = "model_args",
    .paper = "Graham et al. 2021",
    .summary = "LeViT as timm has it, by the architecture's name",
    .notes =
        "config.json has timm's architecture and num_classes, and in model_args what differs from it; --set writes "
        "there. Parameters have timm's names: stages.N.blocks.N.attn.qkv.linear.weight, "
        "stages.N.downsample.attn_downsample.kv.linear.weight, head.linear.weight, head_dist.linear.weight. "
        "levit_conv_* have the weights of convolutions, (out,in,1,1), and maps (B,C,h,w) as features. Pictures of "
        "other sizes are taken where they have as many tokens on each side. Attention maps are named as levit's.",
    .keys = keys,
    .heads = heads,
    .ignored = ignored,
    .kind = &kind,
    .size = sizeof(struct levit),
};
