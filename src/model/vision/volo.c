/* VOLO (Yuan et al. 2021) in timm's layout: names of parameters and arguments are those of timm's VOLO. volo.h says
 * what it computes. */
#include "model/vision/volo.h"
#include "io/text.h"
#include "model/vision/timm.h"
#include <string.h>

#define NORM_EPS 1e-5F

static const struct timm_row rows[] = {
#define TIMM(name, arguments) {name, arguments},
#include "model/vision/timm_volo.def"
#undef TIMM
    {NULL, NULL},
};

/* What is read of the arguments once, for every stage. */
struct arguments {
    int64_t layers[VOLO_STAGES], width[VOLO_STAGES], heads[VOLO_STAGES], downsample[VOLO_STAGES], outlook[VOLO_STAGES];
    double ratio[VOLO_STAGES], drop_path;
    int64_t last_width, last_heads; /* of class attention: timm takes the last of each list */
    double last_ratio;
    int total;
    bool bias;
    heed_init init;
};

/* The numbers of each stage; lists may go on. last: the list's own last. */
static bool read_stages(heed_ctx *cx, heed_json args, const char *key, int stages, int64_t to[VOLO_STAGES],
                        int64_t *last) {
    const heed_json at = heed_json_find(cx, args, key);
    int64_t list[VOLO_STAGES] = {0};
    const int n = config_ints(cx, args, key, 1, MAX_SIZE >> VOLO_STAGES, list, VOLO_STAGES);
    if (!heed_failed(cx) && n < stages) heed_json_fail(cx, at, "%d numbers for %d stages", n, stages);
    if (heed_failed(cx)) return false;
    memcpy(to, list, sizeof list);
    *last = list[n - 1];
    return true;
}

static bool read_flags(heed_ctx *cx, heed_json args, const char *key, int stages, int64_t to[VOLO_STAGES]) {
    const heed_json at = heed_json_find(cx, args, key);
    if (heed_json_count(at) < stages)
        return heed_json_fail(cx, at, "%lld values for %d stages", (long long)heed_json_count(at), stages);
    for (int i = 0; i < stages; i++) to[i] = heed_json_bool(cx, heed_json_item(cx, at, i), NULL);
    return !heed_failed(cx);
}

/* One number for all stages, or one for each. */
static bool read_ratios(heed_ctx *cx, heed_json args, int stages, struct arguments *a) {
    const heed_json at = heed_json_find(cx, args, "mlp_ratio");
    const bool list = heed_json_kind_of(at) == HEED_JSON_ARRAY;
    const int64_t n = list ? heed_json_count(at) : 1;
    if (n != 1 && n < stages) return heed_json_fail(cx, at, "%lld numbers for %d stages", (long long)n, stages);
    for (int i = 0; i < stages; i++)
        a->ratio[i] = list ? heed_json_number(cx, heed_json_item(cx, at, n == 1 ? 0 : i), NULL)
                           : heed_json_number(cx, args, "mlp_ratio");
    a->last_ratio = list ? heed_json_number(cx, heed_json_item(cx, at, n - 1), NULL) : a->ratio[0];
    return !heed_failed(cx);
}

static bool check_stages(heed_ctx *cx, heed_json args, int stages, const struct arguments *a) {
    for (int i = 0; i < stages; i++) {
        if (a->width[i] % a->heads[i] != 0)
            return heed_json_fail(cx, heed_json_find(cx, args, "num_heads"), "%lld heads do not divide a width of %lld",
                                  (long long)a->heads[i], (long long)a->width[i]);
        if (i + 1 == stages && a->downsample[i])
            return heed_json_fail(cx, heed_json_find(cx, args, "downsamples"), "there is no stage after the last");
        if (i + 1 < stages && !a->downsample[i] && a->width[i] != a->width[i + 1])
            return heed_json_fail(cx, heed_json_find(cx, args, "embed_dims"),
                                  "a width of %lld becomes one of %lld only where places are merged",
                                  (long long)a->width[i], (long long)a->width[i + 1]);
    }
    if (a->width[stages - 1] != a->last_width)
        return heed_json_fail(cx, heed_json_find(cx, args, "embed_dims"),
                              "its last number must be the width of the last stage, %lld",
                              (long long)a->width[stages - 1]);
    return a->last_heads <= a->last_width ||
           heed_json_fail(cx, heed_json_find(cx, args, "num_heads"), "%lld heads are more than a width of %lld has",
                          (long long)a->last_heads, (long long)a->last_width);
}

static bool read_arguments(heed_ctx *cx, heed_json args, struct arguments *a, struct volo *m) {
    m->stages = config_ints(cx, args, "layers", 0, MAX_LAYERS, a->layers, VOLO_STAGES);
    if (heed_failed(cx)) return false;
    if (m->stages < 1) return heed_json_fail(cx, heed_json_find(cx, args, "layers"), "at least one stage is needed");
    for (int i = 0; i < m->stages; i++) a->total += (int)a->layers[i];
    a->drop_path = config_number(cx, args, "drop_path_rate", 0, 1);
    a->bias = heed_json_bool(cx, args, "qkv_bias");
    a->init = (heed_init){HEED_INIT_TRUNCATED, 0, 0.02F};
    return read_stages(cx, args, "embed_dims", m->stages, a->width, &a->last_width) &&
           read_stages(cx, args, "num_heads", m->stages, a->heads, &a->last_heads) &&
           read_flags(cx, args, "downsamples", m->stages, a->downsample) &&
           read_flags(cx, args, "outlook_attention", m->stages, a->outlook) && read_ratios(cx, args, m->stages, a) &&
           check_stages(cx, args, m->stages, a);
}

/* As torch.nn.Conv2d draws them, unlike linear layers. */
static heed_init conv_init(void) { return (heed_init){HEED_INIT_KAIMING_UNIFORM, 2.2360679775F, 0}; }

static bool make_stem(heed_ctx *cx, const heed_build *b, heed_json args, const struct arguments *a, struct volo *m) {
    const int64_t hidden = config_int(cx, args, "stem_hidden_dim", 1, MAX_SIDE), C = a->width[0];
    const int64_t side = config_int(cx, args, "patch_size", 1, MAX_SIDE);
    struct patches *const p = &m->patches;
    if (!timm_patches(cx, b->config, args, p)) return false;
    if (side != 4 && side != 8 && side != 16)
        return heed_json_fail(cx, heed_json_find(cx, args, "patch_size"), "%lld is neither 4, 8 nor 16",
                              (long long)side);
    p->any_size = true; /* which fit is said by the positions */
    p->rest = PATCHES_CUT_ALL;
    for (int i = 0; i < VOLO_STEM; i++) {
        const int64_t kernel = i == 0 ? 7 : 3, from = i == 0 ? p->channels : hidden, stride = i == 0 ? 2 : 1;
        const heed_conv_opts opts = {.stride = {stride, stride}, .padding = {kernel / 2, kernel / 2}};
        const struct part_name conv = part_numbered(cx, "", "patch_embed.conv", 3 * i),
                               norm = part_numbered(cx, "", "patch_embed.conv", 3 * i + 1);
        if (!heed_conv2d_make(cx, b->params, conv.s, from, hidden, (const int64_t[]){kernel, kernel}, false, &opts,
                              &m->stem[i]) ||
            !heed_batch_norm_make(cx, b->params, norm.s, hidden, NORM_EPS, 0.1F, &m->stem_norm[i]))
            return false;
    }
    m->places = (struct patches){.channels = hidden, .patch = {side / 2, side / 2}, .rest = PATCHES_CUT_ALL};
    for (int i = 0; i < 2; i++) m->places.image[i] = (p->image[i] + 1) / 2;
    if (!patches_make(cx, b->params, "patch_embed.proj", C, true, conv_init(), &m->places)) return false;
    m->places.projection.bias->init =
        (heed_init){HEED_INIT_FAN_IN_UNIFORM, (float)(hidden * m->places.patch[0] * m->places.patch[1]), 0};
    return true;
}

static bool make_positions(heed_ctx *cx, heed_params *set, heed_json args, const struct arguments *a, struct volo *m) {
    const int64_t scale = config_int(cx, args, "pooling_scale", 1, MAX_SIDE), side = 2 * m->places.patch[0];
    int64_t shape[] = {1, 0, 0, a->last_width};
    if (heed_failed(cx)) return false;
    for (int i = 0; i < 2; i++) shape[1 + i] = m->patches.image[i] / side / scale;
    if (shape[1] < 1 || shape[2] < 1)
        return heed_json_fail(cx, heed_json_find(cx, args, "img_size"),
                              "%lld x %lld has no place that a position could be for", (long long)m->patches.image[0],
                              (long long)m->patches.image[1]);
    m->positions = heed_param_add(cx, set, "", "pos_embed", 4, shape, a->init);
    if (m->positions) m->positions->decays = false;
    return m->positions != NULL;
}

static bool make_mlp(heed_ctx *cx, heed_json args, heed_params *set, const char *prefix, int64_t C, double ratio,
                     heed_init init, heed_feed_forward *to) {
    const double wide = (double)C * ratio;
    if (!(wide >= 1 && wide <= (double)MAX_SIZE))
        return heed_json_fail(cx, heed_json_find(cx, args, "mlp_ratio"), "%g makes no width of %lld", ratio,
                              (long long)C);
    to->act = HEED_ACT_GELU;
    return part_linear(cx, set, prefix, "mlp.fc1", C, (int64_t)wide, true, init, &to->linear1) &&
           part_linear(cx, set, prefix, "mlp.fc2", (int64_t)wide, C, true, init, &to->linear2);
}

static bool make_outlooker(heed_ctx *cx, heed_json args, heed_params *set, const char *prefix,
                           const struct arguments *a, int stage, struct outlooker *b) {
    const int64_t C = a->width[stage], H = a->heads[stage];
    return part_norm(cx, set, prefix, "norm1", C, NORM_EPS, &b->norm1) &&
           part_linear(cx, set, prefix, "attn.v", C, C, a->bias, a->init, &b->values) &&
           part_linear(cx, set, prefix, "attn.attn", C, VOLO_TAPS * VOLO_TAPS * H, true, a->init, &b->weights) &&
           part_linear(cx, set, prefix, "attn.proj", C, C, true, a->init, &b->proj) &&
           part_norm(cx, set, prefix, "norm2", C, NORM_EPS, &b->norm2) &&
           make_mlp(cx, args, set, prefix, C, a->ratio[stage], a->init, &b->feed_forward);
}

static bool make_layer(heed_ctx *cx, heed_json args, heed_params *set, const char *prefix, const struct arguments *a,
                       int stage, float attention_dropout, heed_encoder_layer *l) {
    const int64_t C = a->width[stage];
    heed_multihead *const at = &l->self_attn;
    l->site = "attention";
    l->norm_first = true;
    at->width = at->key_width = at->value_width = C;
    at->heads = a->heads[stage];
    at->dropout = attention_dropout;
    return part_norm(cx, set, prefix, "norm1", C, NORM_EPS, &l->norm1) &&
           part_linear(cx, set, prefix, "attn.qkv", C, 3 * C, a->bias, a->init, &at->in) &&
           part_linear(cx, set, prefix, "attn.proj", C, C, true, a->init, &at->out) &&
           part_norm(cx, set, prefix, "norm2", C, NORM_EPS, &l->norm2) &&
           make_mlp(cx, args, set, prefix, C, a->ratio[stage], a->init, &l->feed_forward);
}

/* The network's parts are numbered: a stage is one, and the merging behind it another. */
static bool make_stages(heed_ctx *cx, heed_json args, heed_params *set, const struct arguments *a, struct volo *m) {
    static const heed_conv_opts halves = {.stride = {2, 2}};
    int part = 0, before = 0, numbers[2] = {0, 0}; /* blocks before this one, of all kinds and of each */
    for (int s = 0; s < m->stages; s++) {
        struct volo_stage *const stage = &m->stage[s];
        const struct part_name in = part_numbered(cx, "", "network", part++);
        const size_t blocks = (size_t)a->layers[s];
        const bool outlook = a->outlook[s];
        stage->width = a->width[s];
        stage->heads = a->heads[s];
        stage->blocks = stage->stack.layers = (int)blocks;
        stage->first = numbers[outlook];
        numbers[outlook] += stage->blocks;
        if (outlook)
            stage->block = heed_params_alloc(cx, set, blocks + 1, sizeof *stage->block);
        else
            stage->stack.layer = heed_params_alloc(cx, set, blocks + 1, sizeof *stage->stack.layer);
        for (int i = 0; i < stage->blocks && !heed_failed(cx); i++, before++) {
            const struct part_name name = part_numbered(cx, "", in.s, i);
            if (outlook ? !make_outlooker(cx, args, set, name.s, a, s, &stage->block[i])
                        : !make_layer(cx, args, set, name.s, a, s, m->attention_dropout, &stage->stack.layer[i]))
                return false;
            if (outlook) continue; /* whose blocks timm never drops */
            stage->stack.layer[i].number = stage->first + i;
            stage->stack.layer[i].drop_path = a->total > 1 ? (float)(a->drop_path * before / (a->total - 1)) : 0;
        }
        if (!a->downsample[s]) continue;
        const struct part_name down = part_numbered(cx, "", "network", part++);
        if (!heed_conv2d_make(cx, set, part_under(cx, down.s, "proj").s, a->width[s], a->width[s + 1],
                              (const int64_t[]){2, 2}, true, &halves, &stage->merging))
            return false;
    }
    return !heed_failed(cx);
}

static bool make_class_blocks(heed_ctx *cx, heed_json args, heed_params *set, const struct arguments *a,
                              struct volo *m) {
    const heed_json list = heed_json_find(cx, args, "post_layers");
    const int64_t C = a->last_width, inner = C / a->last_heads * a->last_heads;
    m->class_blocks = (int)heed_json_count(list);
    m->class_block = heed_params_alloc(cx, set, (size_t)m->class_blocks + 1, sizeof *m->class_block);
    for (int i = 0; m->class_block && i < m->class_blocks; i++) {
        struct class_block *const b = &m->class_block[i];
        const struct part_name in = part_numbered(cx, "", "post_network", i);
        const char *const kind = heed_json_text(cx, heed_json_item(cx, list, i), NULL);
        if (kind && strcmp(kind, "ca") != 0)
            return heed_json_fail(cx, list, "'%s' is no layer of VOLO, whose only one here is ca", escaped(kind).s);
        b->attention.heads = a->last_heads;
        b->attention.dropout = m->attention_dropout;
        if (!part_norm(cx, set, in.s, "norm1", C, NORM_EPS, &b->norm1) ||
            !part_linear(cx, set, in.s, "attn.kv", C, 2 * inner, a->bias, a->init, &b->attention.kv) ||
            !part_linear(cx, set, in.s, "attn.q", C, inner, a->bias, a->init, &b->attention.q) ||
            !part_linear(cx, set, in.s, "attn.proj", inner, C, true, a->init, &b->attention.proj) ||
            !part_norm(cx, set, in.s, "norm2", C, NORM_EPS, &b->norm2) ||
            !make_mlp(cx, args, set, in.s, C, a->last_ratio, a->init, &b->feed_forward))
            return false;
    }
    return !heed_failed(cx);
}

static bool make(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own) {
    static const char *const pools[] = {[VOLO_ALL] = "", [VOLO_TOKEN] = "token", [VOLO_MEAN] = "avg", NULL};
    const int pool = config_choice(cx, args, "global_pool", pools);
    struct arguments a = {0};
    struct volo *const m = own;
    m->position_dropout = (float)config_number(cx, args, "pos_drop_rate", 0, 1);
    m->attention_dropout = (float)config_number(cx, args, "attn_drop_rate", 0, 1);
    m->head_dropout = (float)config_number(cx, args, "drop_rate", 0, 1);
    if (pool < 0 || !read_arguments(cx, args, &a, m)) return false;
    m->pool = (enum volo_pool)pool;
    m->labels_tokens = heed_json_bool(cx, args, "use_aux_head");
    if (heed_json_bool(cx, args, "use_mix_token") && m->pool != VOLO_TOKEN)
        return heed_json_fail(cx, heed_json_find(cx, args, "use_mix_token"), "tokens are mixed with global_pool token");
    if (!make_stem(cx, b, args, &a, m) || !make_positions(cx, b->params, args, &a, m)) return false;
    m->token = patches_tokens(cx, b->params, "", "cls_token", 1, a.last_width, a.init);
    return !heed_failed(cx) && make_stages(cx, args, b->params, &a, m) &&
           make_class_blocks(cx, args, b->params, &a, m) &&
           part_norm(cx, b->params, "", "norm", a.last_width, NORM_EPS, &m->norm) &&
           timm_classifier(cx, b->params, "head", a.last_width, classes, a.init, &m->output) &&
           timm_classifier(cx, b->params, "aux_head", a.last_width, m->labels_tokens ? classes : 0, a.init,
                           &m->labelling);
}
static const struct timm_kind kind = {rows, make};

static const heed_key keys[] = {
    {"architecture", HEED_KEY_TEXT, "volo_d1_224", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"img_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_INT, "8", "side of the first stage's places, in pixels: 4, 8 or 16"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"stem_hidden_dim", HEED_KEY_INT, "64", "channels of the convolutions before the first stage"},
    {"layers", HEED_KEY_INTS, "4,4,8,2", "blocks of each stage"},
    {"embed_dims", HEED_KEY_INTS, "192,384,384,384", "width of each stage"},
    {"num_heads", HEED_KEY_INTS, "6,12,12,12", "attention heads of each stage, which divide its width"},
    {"downsamples", HEED_KEY_BOOLS, "true,false,false,false", "after a stage, 2 x 2 places become one"},
    {"outlook_attention", HEED_KEY_BOOLS, "true,false,false,false",
     "a stage has outlook attention, not a Transformer's"},
    {"mlp_ratio", HEED_KEY_NUMBERS, "3.0",
     "width of the feed-forward layer, by the stage's; a number, or one for each"},
    {"qkv_bias", HEED_KEY_BOOL, "false", "queries, keys and values have a bias"},
    {"post_layers", HEED_KEY_TEXTS, "ca,ca", "layers of the class token: ca, class attention, each"},
    {"use_aux_head", HEED_KEY_BOOL, "true", "tokens are classified too, and the best of them counts for a half"},
    {"use_mix_token", HEED_KEY_BOOL, "false",
     "no effect: timm mixes tokens only in forward_train, whose loss is token labelling's"},
    {"pooling_scale", HEED_KEY_INT, "2", "places of the first stage in one that has a position, on each side"},
    {"global_pool", HEED_KEY_TEXT, "token", "what is classified: token or avg; empty: all"},
    {"drop_rate", HEED_KEY_NUMBER, "0.0", "dropout before the classifiers"},
    {"pos_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout after positions are added"},
    {"attn_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.0",
     "stochastic depth of the last block; those before drop less, and those of outlook attention nothing"},
    END_OF_KEYS,
};

#define RUN(name) .forward = volo_forward_##name, .sample = volo_sample_##name, .place = volo_place
static const heed_head heads[] = {TIMM_HEADS(RUN)};

const heed_family family_volo = {
    .name = "volo",
    .type = "timm-volo",
    .base = TIMM_BASE,
    .timm = "volo_*",
    .arguments = "model_args",
    .paper = "Yuan et al. 2021",
    .summary = "outlook attention within small windows, then a Transformer with class attention",
    .notes =
        "config.json has timm's architecture and num_classes, and in model_args what differs from it; --set writes "
        "there. Parameters have timm's names: network.0.N.attn.attn.weight, network.1.proj.weight, "
        "post_network.N.attn.kv.weight, aux_head.weight. Pictures must be of img_size, or of another that gives the "
        "same "
        "grid. Weights of outlook attention are (B windows, heads, 9, 9). timm itself takes no layers, embed_dims and "
        "num_heads in model_args: it opens what has those of its architecture.",
    .keys = keys,
    .heads = heads,
    .kind = &kind,
    .size = sizeof(struct volo),
};
