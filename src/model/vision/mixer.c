/* MLP-Mixer (Tolstikhin et al. 2021) in timm's layout: no attention, but a product over patches and one over channels.
 *
 *     x = W_p patches
 *     x = x + mlp(norm(x)')';  x = x + mlp(norm(x))      in each block; mlp(x) = W_2 a(W_1 x)
 *     h = norm(x);  pooled: the mean
 *
 * Gated, as timm's gmixer: mlp(x) = W_2 (u a(v)), u and v the halves of W_1 x. */
#include "model/core/inputs.h"
#include "model/vision/patches.h"
#include "model/vision/timm.h"

#define NORM_EPS 1e-6F

static const struct timm_row rows[] = {
#define TIMM(name, arguments) {name, arguments},
#include "model/vision/timm_mixer.def"
#undef TIMM
    {NULL, NULL},
};

struct mixing {
    heed_linear_layer in, out;
};

struct mixer_block {
    heed_norm_layer norm1, norm2;
    struct mixing tokens, channels;
};

struct mixer {
    struct patches patches;
    heed_norm_layer patch_norm; /* weight NULL: none */
    int blocks;
    struct mixer_block *block; /* memory of the parameter set */
    heed_norm_layer norm;
    heed_activation act;
    bool gated, pools;
    float dropout, drop_path, head_dropout;
    heed_linear_layer output; /* weight NULL: features */
};

/* ---- build ---- */

static bool make_mixing(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width, int64_t hidden, bool gated,
                        heed_init init, struct mixing *m) {
    return part_linear(cx, set, prefix, "fc1", width, hidden, true, init, &m->in) &&
           part_linear(cx, set, prefix, "fc2", gated ? hidden / 2 : hidden, width, true, init, &m->out);
}

/* Of tokens and of channels: mlp_ratio is one number for both, or two. */
static bool read_widths(heed_ctx *cx, heed_json args, int64_t C, bool gated, int64_t hidden[2]) {
    const heed_json at = heed_json_find(cx, args, "mlp_ratio");
    const bool list = heed_json_kind_of(at) == HEED_JSON_ARRAY;
    const int64_t n = list ? heed_json_count(at) : 1;
    if (n != 1 && n != 2) return heed_json_fail(cx, at, "one number or two are needed");
    for (int i = 0; i < 2; i++) {
        const double ratio =
            list ? heed_json_number(cx, heed_json_item(cx, at, i % n), NULL) : heed_json_number(cx, args, "mlp_ratio");
        const double wide = ratio * (double)C;
        if (heed_failed(cx)) return false;
        if (!(wide >= 1 && wide <= (double)MAX_SIZE))
            return heed_json_fail(cx, at, "%g makes no width of %lld", ratio, (long long)C);
        hidden[i] = (int64_t)wide;
        if (gated && hidden[i] % 2 != 0)
            return heed_json_fail(cx, at, "GluMlp needs an even hidden width, not %lld", (long long)hidden[i]);
    }
    return true;
}

static bool make(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own) {
    static const char *const pools[] = {"", "avg", NULL}, *const mlps[] = {"Mlp", "GluMlp", NULL};
    const heed_init init = {HEED_INIT_XAVIER_UNIFORM, 1, 0};
    const int64_t C = config_int(cx, args, "embed_dim", 1, MAX_SIZE);
    heed_params *const set = b->params;
    struct mixer *const m = own;
    struct patches *const p = &m->patches;
    int64_t hidden[2];
    m->gated = config_choice(cx, args, "mlp_layer", mlps) == 1;
    m->pools = config_choice(cx, args, "global_pool", pools) == 1;
    m->act = timm_activation(cx, args, "act_layer", HEED_ACT_GELU);
    m->dropout = (float)config_number(cx, args, "proj_drop_rate", 0, 1);
    m->drop_path = (float)config_number(cx, args, "drop_path_rate", 0, 1);
    m->head_dropout = (float)config_number(cx, args, "drop_rate", 0, 1);
    m->blocks = (int)config_int(cx, args, "num_blocks", 0, MAX_LAYERS);
    if (!timm_only(cx, args, "block_layer", "MixerBlock") || !timm_only(cx, args, "norm_layer", "layernorm") ||
        !read_widths(cx, args, C, m->gated, hidden) || !timm_patches(cx, b->config, args, p) ||
        !patches_make(cx, set, "stem.proj", C, true, init, p))
        return false;
    if (heed_json_bool(cx, args, "stem_norm") && !part_norm(cx, set, "stem", "norm", C, NORM_EPS, &m->patch_norm))
        return false;
    m->block = heed_params_alloc(cx, set, (size_t)m->blocks + 1, sizeof *m->block);
    for (int i = 0; m->block && i < m->blocks; i++) {
        struct mixer_block *const l = &m->block[i];
        const struct part_name in = part_numbered(cx, "", "blocks", i);
        if (!part_norm(cx, set, in.s, "norm1", C, NORM_EPS, &l->norm1) ||
            !make_mixing(cx, set, part_under(cx, in.s, "mlp_tokens").s, p->grid[0] * p->grid[1], hidden[0], m->gated,
                         init, &l->tokens) ||
            !part_norm(cx, set, in.s, "norm2", C, NORM_EPS, &l->norm2) ||
            !make_mixing(cx, set, part_under(cx, in.s, "mlp_channels").s, C, hidden[1], m->gated, init, &l->channels))
            return false;
    }
    return !heed_failed(cx) && part_norm(cx, set, "", "norm", C, NORM_EPS, &m->norm) &&
           timm_classifier(cx, set, "head", C, classes, (heed_init){.kind = HEED_INIT_ZEROS}, &m->output);
}
static const struct timm_kind kind = {rows, make};

/* ---- forward ---- */

static heed_tensor *mix(heed_ctx *cx, const struct mixer *m, const struct mixing *l, heed_tensor *x) {
    x = heed_linear_run(cx, &l->in, x, m->gated ? HEED_ACT_NONE : m->act);
    if (m->gated && x) {
        const int64_t half = heed_dim(x, -1) / 2;
        heed_tensor *part[2];
        if (!heed_split(cx, x, -1, (int64_t[]){half, half}, 2, part)) return NULL;
        x = heed_mul(cx, part[0], heed_activate(cx, part[1], m->act));
    }
    x = heed_linear_run(cx, &l->out, heed_dropout(cx, x, m->dropout), HEED_ACT_NONE);
    return heed_drop_path(cx, heed_dropout(cx, x, m->dropout), m->drop_path);
}

static heed_tensor *block_run(heed_ctx *cx, const struct mixer *m, const struct mixer_block *b, heed_tensor *x) {
    heed_tensor *y = mix(cx, m, &b->tokens, heed_transpose(cx, heed_norm_run(cx, &b->norm1, x), 1, 2));
    y = heed_add_norm_run(cx, &b->norm2, heed_transpose(cx, y, 1, 2), x, &x);
    return heed_add(cx, x, mix(cx, m, &b->channels, y));
}

/* -> (B,h w,C) */
static heed_tensor *run(heed_ctx *cx, const struct mixer *m, const heed_io *in) {
    int64_t grid[2] = {0};
    heed_tensor *const pixels = patches_pixels(cx, &m->patches, in, grid);
    heed_tensor *x = patches_run(cx, &m->patches, pixels, grid);
    if (m->patch_norm.weight) x = heed_norm_run(cx, &m->patch_norm, x);
    heed_scope_begin(cx);
    for (int i = 0; i < m->blocks; i++) x = heed_scope_keep(cx, block_run(cx, m, &m->block[i], x));
    return heed_scope_end(cx, heed_norm_run(cx, &m->norm, x));
}

static heed_tensor *pooled(heed_ctx *cx, const struct mixer *m, heed_tensor *h) {
    return m->pools ? heed_mean(cx, h, (const int[]){1}, 1, false) : h;
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct mixer *m = own;
    heed_tensor *const h = run(cx, m, in);
    return h && heed_io_put(cx, out, "last_hidden_state", h) && heed_io_put(cx, out, "pooler_output", pooled(cx, m, h));
}

static bool forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct mixer *m = own;
    if (!m->output.weight) return forward_bare(cx, own, in, out);
    heed_tensor *const x = heed_dropout(cx, pooled(cx, m, run(cx, m, in)), m->head_dropout);
    heed_tensor *const logits = heed_linear_run(cx, &m->output, x, HEED_ACT_NONE);
    if (!m->pools) return logits && heed_io_put(cx, out, "logits", logits); /* of every patch */
    return head_classify(cx, PROBLEM_BY_LABELS, in, logits, out);
}

static bool sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return patches_sample(cx, &((const struct mixer *)own)->patches, batch, in);
}

static bool sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct mixer *m = own;
    if (!sample_bare(cx, own, batch, length, in) || !m->output.weight || !m->pools) return !heed_failed(cx);
    return head_sample_labels(cx, PROBLEM_BY_LABELS, batch, m->output.weight->shape[0], in);
}

static bool place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    patches_place(&((const struct mixer *)own)->patches, size, to);
    return !map; /* there is no attention */
}

static const heed_key keys[] = {
    {"architecture", HEED_KEY_TEXT, "mixer_s16_224", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"img_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_INT_OR_LIST, "16", "of patches: a side, or height and width"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"num_blocks", HEED_KEY_INT, "8", "number of blocks"},
    {"embed_dim", HEED_KEY_INT, "512", "width"},
    {"mlp_ratio", HEED_KEY_NUMBERS, "0.5,4.0", "widths of the products over patches and over channels, by embed_dim"},
    {"block_layer", HEED_KEY_TEXT, "MixerBlock", "of the architecture: only MixerBlock"},
    {"mlp_layer", HEED_KEY_TEXT, "Mlp", "of the architecture: Mlp or GluMlp"},
    {"norm_layer", HEED_KEY_TEXT_OR_NULL, "null", "only layernorm"},
    {"act_layer", HEED_KEY_TEXT_OR_NULL, "null", "activation, by timm's name; null: gelu"},
    {"init_values", HEED_KEY_NUMBER_OR_NULL, "null", "of the architecture: of other blocks"},
    {"stem_norm", HEED_KEY_BOOL, "false", "a norm of embedded patches"},
    {"global_pool", HEED_KEY_TEXT, "avg", "avg; empty: every patch is classified"},
    {"drop_rate", HEED_KEY_NUMBER, "0.0", "dropout before the classifier"},
    {"proj_drop_rate", HEED_KEY_NUMBER, "0.0", "dropout within and after the products"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.0", "stochastic depth, of every block"},
    {"nlhb", HEED_KEY_BOOL, "false", "no effect: the bias of a fresh classifier is 0"},
    END_OF_KEYS,
};

#define RUN(name) .forward = forward_##name, .sample = sample_##name, .place = place
static const heed_head heads[] = {TIMM_HEADS(RUN)};

const heed_family family_mixer = {
    .name = "mixer",
    .type = "timm-mixer",
    .base = TIMM_BASE,
    .timm = "mixer_* gmixer_* resmlp_* gmlp_*",
    .arguments = "model_args",
    .paper = "Tolstikhin et al. 2021",
    .summary = "products over patches and over channels instead of attention",
    .notes =
        "config.json has timm's architecture and num_classes, and in model_args what differs from it; --set writes "
        "there. Parameters have timm's names: stem.proj.weight, blocks.N.mlp_tokens.fc1.weight, head.weight. "
        "Pictures must be of img_size. Blocks of ResMLP and gMLP are refused. timm itself takes no patch_size, "
        "embed_dim and num_blocks in model_args: it opens what has those of its architecture.",
    .keys = keys,
    .heads = heads,
    .kind = &kind,
    .size = sizeof(struct mixer),
};
