/* ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021), which has a distillation token beside the class token,
 * and what DINOv2 (dinov2.c) shares with them: names and config keys are those of transformers. vit.h says what they
 * compute. */
#include "model/vision/vit.h"
#include "model/core/resized.h"
#include "model/vision/masked_pictures.h"

const struct vit_layout vit_layout = {
    .key = {.hidden = "intermediate_size", .dropout = "hidden_dropout_prob"},
    .layer = {.norm1 = "layernorm_before",
              .norm2 = "layernorm_after",
              .up = "intermediate.dense",
              .down = "output.dense"},
};
static const struct vit_layout deit_layout = {.from = &vit_layout, .distillation = "distillation_token"};

/* ---- the body ---- */

/* What is read of a config once, for all parts. */
struct making {
    const struct vit_kind *kind;
    struct vit_layout names; /* the kind's, complete */
    heed_json config;
    heed_params *set;
    int64_t width;
    float eps;
    heed_init init;
};

static bool make_attention(heed_ctx *cx, const struct making *k, const char *prefix, heed_multihead *a) {
    static const char *const qkv[] = {"attention.attention.query", "attention.attention.key",
                                      "attention.attention.value"};
    const int64_t size =
        heed_json_int_or(cx, k->config, "head_dim", 0); /* no key of the config class, but it is read */
    if (size < 0 || size > MAX_SIZE)
        return heed_json_fail(cx, heed_json_find(cx, k->config, "head_dim"), "must be 0 to 2^30, is %lld",
                              (long long)size);
    if (!part_heads(cx, k->config, "hidden_size", "num_attention_heads", a)) return false;
    a->head_size = size;
    a->dropout = (float)config_number(cx, k->config, "attention_probs_dropout_prob", 0, 1);
    const int64_t C = k->width, rows = size > 0 ? a->heads * size : C;
    return part_slices(cx, k->set, prefix, "attention.attention.qkv", qkv, (int64_t[]){rows, rows, rows}, 3, C,
                       heed_json_bool(cx, k->config, "qkv_bias"), k->init, &a->in) &&
           part_linear(cx, k->set, prefix, "attention.output.dense", rows, C, true, k->init, &a->out);
}

static bool make_norms(heed_ctx *cx, const struct making *k, const char *prefix, heed_encoder_layer *l) {
    return part_norm(cx, k->set, prefix, k->names.layer.norm1, k->width, k->eps, &l->norm1) &&
           part_norm(cx, k->set, prefix, k->names.layer.norm2, k->width, k->eps, &l->norm2);
}

/* SwiGLU keeps two thirds of the width, rounded up to whole eights; gate and value are the halves of one matrix. */
static bool make_feed_forward(heed_ctx *cx, const struct making *k, const char *prefix, heed_feed_forward *l) {
    const struct vit_layout *const n = &k->names;
    const int64_t C = k->width, wide = n->key.ratio ? C * config_int(cx, k->config, n->key.ratio, 1, MAX_SIZE)
                                                    : config_int(cx, k->config, n->key.hidden, 1, MAX_SIZE);
    l->fused = n->key.swiglu && heed_json_bool(cx, k->config, n->key.swiglu);
    l->act = l->fused ? HEED_ACT_SILU : config_activation(cx, k->config, "hidden_act");
    const int64_t hidden = l->fused ? (wide * 2 / 3 + 7) / 8 * 8 : wide;
    return part_linear(cx, k->set, prefix, l->fused ? n->layer.gated_up : n->layer.up, C,
                       l->fused ? 2 * hidden : hidden, true, k->init, &l->linear1) &&
           part_linear(cx, k->set, prefix, l->fused ? n->layer.gated_down : n->layer.down, hidden, C, true, k->init,
                       &l->linear2);
}

static bool make_layer(heed_ctx *cx, const struct making *k, const char *prefix, heed_encoder_layer *l) {
    const struct vit_layout *const n = &k->names;
    const bool first = k->kind->norms_first;
    l->site = "attention";
    l->norm_first = true;
    if (n->key.dropout) l->dropout = (float)config_number(cx, k->config, n->key.dropout, 0, 1);
    if (!make_attention(cx, k, prefix, &l->self_attn)) return false;
    if (n->key.scale) {
        const heed_init scale = {HEED_INIT_CONSTANT, (float)config_number(cx, k->config, n->key.scale, -1e6, 1e6), 0};
        l->scale1 = heed_param_add(cx, k->set, prefix, n->layer.scale1, 1, &k->width, scale);
        l->scale2 = heed_param_add(cx, k->set, prefix, n->layer.scale2, 1, &k->width, scale);
    }
    return !heed_failed(cx) && (!first || make_norms(cx, k, prefix, l)) &&
           make_feed_forward(cx, k, prefix, &l->feed_forward) && (first || make_norms(cx, k, prefix, l));
}

/* DINOv2 has it under every head, as (1,E). */
static heed_param *make_mask(heed_ctx *cx, const struct making *k, const char *prefix, bool masked) {
    const struct vit_layout *const n = &k->names;
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    if (!k->kind->masks) return masked ? patches_tokens(cx, k->set, prefix, "mask_token", 1, k->width, zeros) : NULL;
    if (n->key.mask && !heed_json_bool(cx, k->config, n->key.mask)) return NULL;
    heed_param *const p = heed_param_add(cx, k->set, prefix, "mask_token", 2, (int64_t[]){1, k->width}, zeros);
    if (p) p->decays = false;
    return p;
}

static bool make_embeddings(heed_ctx *cx, const struct making *k, const char *base, bool masked, struct vit *m) {
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    const struct vit_layout *const n = &k->names;
    const int64_t C = k->width, more = n->registers ? config_int(cx, k->config, "num_register_tokens", 0, MAX_SIZE) : 0;
    const struct part_name in = part_under(cx, base, "embeddings");
    struct patches *const p = &m->patches;
    p->any_size = true;
    p->rest = k->kind->rest;
    if (!patches_read(cx, k->config, "num_channels", "image_size", p)) return false;
    m->placed = n->distillation ? 2 : 1;
    m->first = m->placed + more;
    m->smooth = n->registers != NULL; /* as transformers interpolates positions */
    m->tokens[0] = patches_tokens(cx, k->set, in.s, "cls_token", 1, C, k->init);
    if (n->distillation) m->tokens[1] = patches_tokens(cx, k->set, in.s, n->distillation, 1, C, k->init);
    m->mask_token = make_mask(cx, k, in.s, masked);
    if (n->registers) m->tokens[1] = patches_tokens(cx, k->set, in.s, n->registers, more, C, zeros);
    if (!patches_make(cx, k->set, part_under(cx, in.s, "patch_embeddings.projection").s, C, true, k->init, p))
        return false;
    m->positions =
        patches_tokens(cx, k->set, in.s, "position_embeddings", m->placed + p->grid[0] * p->grid[1], C, k->init);
    m->dropout = (float)config_number(cx, k->config, "hidden_dropout_prob", 0, 1);
    return !heed_failed(cx) && resizable_positions(cx, k->set, m->positions, m->placed, p->grid, m->smooth);
}

static struct making making_of(heed_ctx *cx, const heed_build *b, const struct vit_kind *kind) {
    struct making k = {
        .kind = kind,
        .config = b->config,
        .set = b->params,
        .width = config_int(cx, b->config, "hidden_size", 1, MAX_SIZE),
        .eps = (float)config_number(cx, b->config, "layer_norm_eps", 0, 1),
        .init = {HEED_INIT_TRUNCATED, 0, (float)config_number(cx, b->config, "initializer_range", 0, 100)},
    };
    part_layout(kind->layout, &k.names, sizeof k.names);
    return k;
}

bool vit_make_layer(heed_ctx *cx, const heed_build *b, const struct vit_kind *kind, const char *base, int i,
                    heed_encoder_layer *l) {
    const struct making k = making_of(cx, b, kind);
    l->number = i;
    return !heed_failed(cx) && make_layer(cx, &k, part_numbered(cx, base, "encoder.layer", i).s, l);
}

static bool make_body(heed_ctx *cx, const heed_build *b, bool masked, struct vit *m) {
    const struct vit_kind *const kind = b->family->kind;
    const char *const base = b->head->bare ? "" : b->family->base;
    const struct making k = making_of(cx, b, kind);
    const double drop_path = config_number(cx, b->config, "drop_path_rate", 0, 1);
    heed_encoder *const e = &m->stack;
    if (heed_failed(cx) || !make_embeddings(cx, &k, base, masked, m)) return false;
    e->layers = (int)config_int(cx, b->config, "num_hidden_layers", 0, MAX_LAYERS);
    e->layer = heed_params_alloc(cx, b->params, (size_t)e->layers + 1, sizeof *e->layer);
    for (int i = 0; e->layer && i < e->layers; i++) {
        e->layer[i].drop_path = kind->even_drop_path ? (float)drop_path : vit_drop_path(drop_path, i, e->layers);
        if (!vit_make_layer(cx, b, kind, base, i, &e->layer[i])) return false;
    }
    return !heed_failed(cx) && part_norm(cx, b->params, base, "layernorm", k.width, k.eps, &e->norm);
}

/* ---- heads ---- */

static bool linear_make(heed_ctx *cx, const heed_build *b, const char *name, int64_t in, int64_t out,
                        const struct vit *m, heed_linear_layer *layer) {
    return part_linear(cx, b->params, "", name, in, out, true, m->positions->init, layer);
}

static int64_t width_of(const struct vit *m) { return m->positions->shape[2]; }

bool vit_build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    const struct vit_kind *const kind = b->family->kind;
    struct vit *m = own;
    if (!make_body(cx, b, false, m)) return false;
    if (kind->masks) return true; /* the class token's state as it is */
    const int64_t C = width_of(m), out = config_int_or(cx, b->config, "pooler_output_size", 1, MAX_SIZE, C);
    m->pooler_act = config_activation(cx, b->config, "pooler_act");
    if (!linear_make(cx, b, "pooler.dense", C, out, m, &m->pooler)) return false;
    m->pooler.weight->head = m->pooler.bias->head = true; /* models that were trained to classify lack it */
    m->pooler.weight->optional = m->pooler.bias->optional = true;
    return true;
}

bool vit_build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    const struct vit_kind *const kind = b->family->kind;
    struct vit *m = own;
    if (!make_body(cx, b, false, m)) return false;
    if (m->mask_token) m->mask_token->frozen = true; /* of no use here, but in every file */
    m->pool = kind->pool;
    m->problem = config_problem(cx, b->config);
    return linear_make(cx, b, "classifier", m->pool == VIT_CLASS_AND_MEAN ? 2 * width_of(m) : width_of(m),
                       config_labels(cx, b->config), m, &m->output);
}

static bool build_teacher(heed_ctx *cx, const heed_build *b, void *own) {
    struct vit *m = own;
    if (!make_body(cx, b, false, m)) return false;
    const int64_t C = width_of(m), labels = config_labels(cx, b->config);
    m->problem = config_problem(cx, b->config);
    return linear_make(cx, b, "cls_classifier", C, labels, m, &m->output) &&
           linear_make(cx, b, "distillation_classifier", C, labels, m, &m->distilled);
}

static bool build_masked(heed_ctx *cx, const heed_build *b, void *own) {
    struct vit *m = own;
    return make_body(cx, b, true, m) && masked_make(cx, b->config, b->params, width_of(m), m->patches.channels,
                                                    m->positions->init, &m->output, &m->stride);
}

/* ---- the families ---- */

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
    {"image_size", HEED_KEY_INT_OR_LIST, "224", "of pictures: a side, or height and width"},
    {"patch_size", HEED_KEY_INT_OR_LIST, "16", "of patches: a side, or height and width"},
    {"num_channels", HEED_KEY_INT, "3", "of pictures"},
    {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},
    {"encoder_stride", HEED_KEY_INT, "16", "pixels that a patch becomes on each side, of masked pictures"},
    {"pooler_output_size", HEED_KEY_INT_OR_NULL, "null", "width of the pooled vector; null: hidden_size"},
    {"pooler_act", HEED_KEY_TEXT, "tanh", "activation of the pooled vector"},
    END_OF_KEYS,
};
#define PIXELS "pixel_values attention_mask interpolate_pos_encoding"
#define HEADS(Name)                                                                                                    \
    {Name "ForImageClassification", "classify", PIXELS " labels", .keys = label_keys, VIT(classify)},                  \
        {Name "Model", "embed", PIXELS, .bare = true, VIT(bare)}, {                                                    \
        Name "ForMaskedImageModeling", "", PIXELS " " MASKED_POSITIONS, .build = build_masked, VIT_RUN(masked)         \
    }
static const struct vit_kind vit_kind = {.layout = &vit_layout};
static const heed_head vit_heads[] = {HEADS("ViT"), {.architecture = NULL}};

static const struct vit_kind deit_kind = {.layout = &deit_layout};
static const heed_head deit_heads[] = {
    HEADS("DeiT"),
    {"DeiTForImageClassificationWithTeacher", "distil", PIXELS " labels", .keys = label_keys, .build = build_teacher,
     .forward = vit_forward_teacher, .sample = vit_sample_classify, .name_key = vit_name_key, .place = vit_place},
    {.architecture = NULL},
};

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
    .kind = &vit_kind,
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
    .kind = &deit_kind,
    .renamed = renamed,
    .processor = "DeiTImageProcessor",
    .size = sizeof(struct vit),
};
