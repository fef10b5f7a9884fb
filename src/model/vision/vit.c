/* ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021), which has a distillation token beside the class token,
 * with the names and config keys of transformers. vit.h says what they compute. */
#include "model/vision/vit.h"
#include "model/core/resized.h"
#include "model/vision/masked_pictures.h"

static const struct vit_names {
    const char *base;
    bool distilled;
} vit_names = {"vit", false}, deit_names = {"deit", true};

/* ---- the body ---- */

bool vit_make_attention(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, heed_init init,
                        heed_multihead *a) {
    static const char *const qkv[] = {"attention.attention.query", "attention.attention.key",
                                      "attention.attention.value"};
    const int64_t size = heed_json_int_or(cx, config, "head_dim", 0); /* no key of the config class, but it is read */
    if (size < 0 || size > SIZE_LIMIT)
        return heed_json_fail(cx, heed_json_find(cx, config, "head_dim"), "%lld is no size", (long long)size);
    if (!part_heads(cx, config, "hidden_size", "num_attention_heads", a)) return false;
    a->head_size = size;
    a->dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    const int64_t C = a->width, rows = size > 0 ? a->heads * size : C;
    return part_slices(cx, set, prefix, "attention.attention.qkv", qkv, (int64_t[]){rows, rows, rows}, 3, C,
                       heed_json_bool(cx, config, "qkv_bias"), init, &a->in) &&
           part_linear(cx, set, prefix, "attention.output.dense", rows, C, true, init, &a->out);
}

static bool make_layer(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, heed_init init,
                       heed_encoder_layer *l) {
    const int64_t hidden = config_int(cx, config, "intermediate_size", 1, SIZE_LIMIT);
    const float eps = (float)config_number(cx, config, "layer_norm_eps", 0, 1);
    l->site = "attention";
    l->norm_first = true;
    l->dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1);
    l->feed_forward.act = config_activation(cx, config, "hidden_act");
    if (!vit_make_attention(cx, config, set, prefix, init, &l->self_attn)) return false;
    const int64_t C = l->self_attn.width;
    return part_linear(cx, set, prefix, "intermediate.dense", C, hidden, true, init, &l->feed_forward.linear1) &&
           part_linear(cx, set, prefix, "output.dense", hidden, C, true, init, &l->feed_forward.linear2) &&
           part_norm(cx, set, prefix, "layernorm_before", C, eps, &l->norm1) &&
           part_norm(cx, set, prefix, "layernorm_after", C, eps, &l->norm2);
}

static bool make_embeddings(heed_ctx *cx, heed_json config, heed_params *set, const char *base, bool distilled,
                            bool masks, int64_t C, heed_init init, struct vit *m) {
    struct patches *const p = &m->patches;
    const struct part_name in = part_under(cx, base, "embeddings");
    p->channels = config_int(cx, config, "num_channels", 1, SIDE_MOST);
    p->any_size = true;
    if (!config_sides(cx, config, "image_size", SIDE_MOST, p->image) ||
        !config_sides(cx, config, "patch_size", SIDE_MOST, p->patch))
        return false;
    m->first = m->placed = distilled ? 2 : 1;
    m->tokens[0] = patches_tokens(cx, set, in.s, "cls_token", 1, C, init);
    if (distilled) m->tokens[1] = patches_tokens(cx, set, in.s, "distillation_token", 1, C, init);
    if (masks) m->mask_token = patches_tokens(cx, set, in.s, "mask_token", 1, C, (heed_init){.kind = HEED_INIT_ZEROS});
    if (!patches_make(cx, set, part_under(cx, in.s, "patch_embeddings.projection").s, C, true, init, p)) return false;
    m->positions = patches_tokens(cx, set, in.s, "position_embeddings", m->first + p->grid[0] * p->grid[1], C, init);
    m->dropout = (float)config_number(cx, config, "hidden_dropout_prob", 0, 1);
    return !heed_failed(cx) && resizable_positions(cx, set, m->positions, m->placed, p->grid, m->smooth);
}

static bool make_body(heed_ctx *cx, const struct vit_names *names, heed_json config, heed_params *set, bool bare,
                      bool masks, struct vit *m) {
    const char *const base = bare ? "" : names->base;
    const int64_t C = config_int(cx, config, "hidden_size", 1, SIZE_LIMIT);
    const double drop_path = config_number(cx, config, "drop_path_rate", 0, 1);
    const heed_init init = {HEED_INIT_TRUNCATED, 0, (float)config_number(cx, config, "initializer_range", 0, 100)};
    if (heed_failed(cx) || !make_embeddings(cx, config, set, base, names->distilled, masks, C, init, m)) return false;
    heed_encoder *const e = &m->stack;
    e->layers = (int)config_int(cx, config, "num_hidden_layers", 0, MAX_LAYERS);
    e->layer = heed_params_room(cx, set, (size_t)e->layers + 1, sizeof *e->layer);
    for (int i = 0; e->layer && i < e->layers; i++) {
        e->layer[i].number = i;
        e->layer[i].drop_path = vit_drop_path(drop_path, i, e->layers);
        if (!make_layer(cx, config, set, part_numbered(cx, base, "encoder.layer", i).s, init, &e->layer[i]))
            return false;
    }
    return !heed_failed(cx) &&
           part_norm(cx, set, base, "layernorm", C, (float)config_number(cx, config, "layer_norm_eps", 0, 1), &e->norm);
}

/* ---- heads ---- */

static int64_t width_of(const struct vit *m) { return m->positions->shape[2]; }
static heed_init init_of(const struct vit *m) { return m->positions->init; }

static bool build_bare(heed_ctx *cx, const struct vit_names *names, heed_json config, heed_params *set, struct vit *m) {
    if (!make_body(cx, names, config, set, true, false, m)) return false;
    const int64_t C = width_of(m), out = config_int_or(cx, config, "pooler_output_size", 1, SIZE_LIMIT, C);
    m->pooler_act = config_activation(cx, config, "pooler_act");
    if (!part_linear(cx, set, "", "pooler.dense", C, out, true, init_of(m), &m->pooler)) return false;
    m->pooler.weight->head = m->pooler.bias->head = true; /* models that were trained to classify lack it */
    m->pooler.weight->optional = m->pooler.bias->optional = true;
    return true;
}

static bool build_classify(heed_ctx *cx, const struct vit_names *names, heed_json config, heed_params *set,
                           struct vit *m) {
    if (!make_body(cx, names, config, set, false, false, m)) return false;
    m->problem = config_problem(cx, config);
    return part_linear(cx, set, "", "classifier", width_of(m), config_labels(cx, config), true, init_of(m), &m->output);
}

static bool build_masked(heed_ctx *cx, const struct vit_names *names, heed_json config, heed_params *set,
                         struct vit *m) {
    if (!make_body(cx, names, config, set, false, true, m)) return false;
    return masked_make(cx, config, set, width_of(m), m->patches.channels, init_of(m), &m->output, &m->stride);
}

static bool deit_build_teacher(heed_ctx *cx, heed_json config, heed_params *set, void *own) {
    struct vit *m = own;
    if (!make_body(cx, &deit_names, config, set, false, false, m)) return false;
    const int64_t C = width_of(m), labels = config_labels(cx, config);
    m->problem = config_problem(cx, config);
    return part_linear(cx, set, "", "cls_classifier", C, labels, true, init_of(m), &m->output) &&
           part_linear(cx, set, "", "distillation_classifier", C, labels, true, init_of(m), &m->distilled);
}

#define VIT_BUILDS(family)                                                                                             \
    static bool family##_build_bare(heed_ctx *cx, heed_json config, heed_params *set, void *own) {                     \
        return build_bare(cx, &family##_names, config, set, own);                                                      \
    }                                                                                                                  \
    static bool family##_build_classify(heed_ctx *cx, heed_json config, heed_params *set, void *own) {                 \
        return build_classify(cx, &family##_names, config, set, own);                                                  \
    }                                                                                                                  \
    static bool family##_build_masked(heed_ctx *cx, heed_json config, heed_params *set, void *own) {                   \
        return build_masked(cx, &family##_names, config, set, own);                                                    \
    }
VIT_BUILDS(vit)
VIT_BUILDS(deit)

static const heed_key vit_keys[] = {
    {"hidden_size", HEED_KEY_INT, "768", "width"},
    {"num_hidden_layers", HEED_KEY_INT, "12", "number of layers"},
    {"num_attention_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},
    {"intermediate_size", HEED_KEY_INT, "3072", "width of the feed-forward layer"},
    {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},
    {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of embeddings and of the sublayers' outputs"},
    {"attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.0", "stochastic depth of the last layer; those before drop less"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-12", "of norms"},
    {"image_size", HEED_KEY_TOKENS, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_TOKENS, "16", "of patches: a side, or height and width"},
    {"num_channels", HEED_KEY_INT, "3", "of pictures"},
    {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},
    {"encoder_stride", HEED_KEY_INT, "16", "pixels that a patch becomes on each side, of masked pictures"},
    {"pooler_output_size", HEED_KEY_INT_OR_NULL, "null", "width of the pooled vector; null: hidden_size"},
    {"pooler_act", HEED_KEY_TEXT, "tanh", "activation of the pooled vector"},
    END_OF_KEYS,
};
static const heed_key vit_label_keys[] = {LABEL_KEYS, END_OF_KEYS};

#define PIXELS "pixel_values attention_mask interpolate_pos_encoding"
#define VIT_HEADS(family, prefix)                                                                                      \
    {prefix "ForImageClassification",                                                                                  \
     .tasks = "classify",                                                                                              \
     .inputs = PIXELS " labels",                                                                                       \
     .keys = vit_label_keys,                                                                                           \
     .build = family##_build_classify,                                                                                 \
     .forward = vit_forward_classify,                                                                                  \
     .sample = vit_sample_classify,                                                                                    \
     .name_key = vit_name_key,                                                                                         \
     .place = vit_place},                                                                                              \
        {prefix "Model",                                                                                               \
         .tasks = "embed",                                                                                             \
         .inputs = PIXELS,                                                                                             \
         .bare = true,                                                                                                 \
         .build = family##_build_bare,                                                                                 \
         .forward = vit_forward_bare,                                                                                  \
         .sample = vit_sample_bare,                                                                                    \
         .name_key = vit_name_key,                                                                                     \
         .place = vit_place},                                                                                          \
    {                                                                                                                  \
        prefix "ForMaskedImageModeling", .tasks = "", .inputs = PIXELS " " MASKED_POSITIONS,                           \
                                         .build = family##_build_masked, .forward = vit_forward_masked,                \
                                         .sample = vit_sample_masked, .name_key = vit_name_key, .place = vit_place     \
    }

static const heed_head vit_heads[] = {VIT_HEADS(vit, "ViT"), {.architecture = NULL}};
static const heed_head deit_heads[] = {VIT_HEADS(deit, "DeiT"),
                                       {"DeiTForImageClassificationWithTeacher", .tasks = "distil",
                                        .inputs = PIXELS " labels", .keys = vit_label_keys, .build = deit_build_teacher,
                                        .forward = vit_forward_teacher, .sample = vit_sample_classify,
                                        .name_key = vit_name_key, .place = vit_place},
                                       {.architecture = NULL}};

/* The names of transformers' modules since version 5, whose files have the older ones. */
static const char *const renamed[] = {"encoder.layer.",
                                      "layers.",
                                      "attention.attention.query",
                                      "attention.q_proj",
                                      "attention.attention.key",
                                      "attention.k_proj",
                                      "attention.attention.value",
                                      "attention.v_proj",
                                      "attention.output.dense",
                                      "attention.o_proj",
                                      "intermediate.dense",
                                      "mlp.fc1",
                                      "output.dense",
                                      "mlp.fc2",
                                      NULL};

#define OTHER_SIZES                                                                                                    \
    "Pictures of other sizes than image_size are taken too: positions are then interpolated, as by transformers with " \
    "interpolate_pos_encoding, which may be given and changes nothing. Files with the names of transformers' modules " \
    "since version 5 (layers.N.attention.q_proj) are read too."

const heed_family family_vit = {
    .name = "vit",
    .type = "vit",
    .base = "vit",
    .paper = "Dosovitskiy et al. 2021",
    .summary = "patches of a picture as the words of an encoder",
    .notes = "Parameters have the names of transformers' files, with vit. at the beginning except in the bare model: "
             "vit.embeddings.patch_embeddings.projection.weight, "
             "vit.encoder.layer.N.attention.attention.query.weight. " OTHER_SIZES,
    .keys = vit_keys,
    .heads = vit_heads,
    .renamed = renamed,
    .size = sizeof(struct vit),
};

const heed_family family_deit = {
    .name = "deit",
    .type = "deit",
    .base = "deit",
    .paper = "Touvron et al. 2021",
    .summary = "ViT with a token that learns from a teacher",
    .notes = "Parameters have the names of transformers' files, with deit. at the beginning except in the bare model: "
             "deit.embeddings.distillation_token. With a teacher's head, logits are the mean of cls_logits and "
             "distillation_logits. " OTHER_SIZES,
    .keys = vit_keys,
    .heads = deit_heads,
    .renamed = renamed,
    .size = sizeof(struct vit),
};
