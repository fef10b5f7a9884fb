/* YOLOS (Fang et al. 2021): a Vision Transformer that finds objects with nothing but tokens of its own for them. Names
 * and config keys are those of transformers.
 *
 *     x = [class; W_p patches; detection tokens] + positions
 *     x = x + attention(norm(x));  x = x + W_2 a(W_1 norm(x));  x = x + positions of this layer     but the last
 * layer's y = norm(x) of the detection tokens;  class = softmax(mlp(y)),  box = sigmoid(mlp(y)) */
#include "model/core/families.h"
#include "model/detection/detection.h"
#include "model/vision/vit.h"
#include "tensor/engine.h"
#include <stdio.h>

struct yolos {
    struct patches patches;
    int64_t width, queries;
    heed_param *class_token, *detection_tokens; /* (1,1,E), (1,Q,E) */
    heed_param *positions;                      /* (1,1 + h w + Q,E) */
    heed_param *mid_positions;                  /* (L - 1,1,1 + h w + Q,E), or NULL */
    float dropout;
    int layers;
    heed_encoder_layer *layer; /* (layers), memory of the parameter set */
    heed_norm_layer norm;
    heed_linear_layer pooler; /* of the bare model */
    heed_linear_layer classes[DETECTION_BOX_LAYERS], box[DETECTION_BOX_LAYERS];
    struct detection detection;
};

/* ---- parameters ---- */

struct making {
    heed_json config;
    heed_params *set;
    const char *base;
    float eps;
    heed_init init;
};

/* Its layers are ViT's. */
static const struct vit_kind body = {.layout = &vit_layout};

/* transformers counts them as pixels of a picture / pixels of a patch, and fails where that is another number. */
static bool make_mid_positions(heed_ctx *cx, const struct making *k, struct yolos *m) {
    const struct patches *const p = &m->patches;
    const int64_t count = p->grid[0] * p->grid[1], area = p->patch[0] * p->patch[1];
    if (p->image[0] * p->image[1] / area != count)
        return heed_fail(
            cx, HEED_ERR_SHAPE,
            "use_mid_position_embeddings: pictures of %lld x %lld are no whole number of patches of %lld x "
            "%lld",
            (long long)p->image[0], (long long)p->image[1], (long long)p->patch[0], (long long)p->patch[1]);
    const int64_t shape[] = {m->layers - 1, 1, 1 + count + m->queries, m->width};
    m->mid_positions =
        heed_param_add(cx, k->set, part_under(cx, k->base, "encoder").s, "mid_position_embeddings", 4, shape, k->init);
    if (m->mid_positions) m->mid_positions->decays = false;
    return !heed_failed(cx);
}

/* transformers takes no number for image_size: height and width are written. */
static bool write_sides(heed_ctx *cx, heed_json config, const int64_t sides[2]) {
    if (heed_json_count(heed_json_find(cx, config, "image_size")) == 2) return !heed_failed(cx);
    const heed_json list = heed_json_put_array(cx, config, "image_size");
    return heed_json_put_int(cx, list, NULL, sides[0]) && heed_json_put_int(cx, list, NULL, sides[1]);
}

static bool make_embeddings(heed_ctx *cx, const struct making *k, struct yolos *m) {
    const struct part_name in = part_under(cx, k->base, "embeddings");
    struct patches *const p = &m->patches;
    p->any_size = true;
    p->rest = PATCHES_CUT_ALL;
    m->queries = config_int(cx, k->config, "num_detection_tokens", 1, MAX_SIZE);
    if (!patches_read(cx, k->config, "num_channels", "image_size", p) || !write_sides(cx, k->config, p->image))
        return false;
    m->class_token = patches_tokens(cx, k->set, in.s, "cls_token", 1, m->width, k->init);
    m->detection_tokens = patches_tokens(cx, k->set, in.s, "detection_tokens", m->queries, m->width, k->init);
    if (!patches_make(cx, k->set, part_under(cx, in.s, "patch_embeddings.projection").s, m->width, true, k->init, p))
        return false;
    m->positions = patches_tokens(cx, k->set, in.s, "position_embeddings", 1 + p->grid[0] * p->grid[1] + m->queries,
                                  m->width, k->init);
    m->dropout = (float)config_number(cx, k->config, "hidden_dropout_prob", 0, 1);
    return !heed_failed(cx);
}

static struct making making_of(heed_ctx *cx, const heed_build *b) {
    return (struct making){
        .config = b->config,
        .set = b->params,
        .base = b->head->bare ? "" : b->family->base,
        .eps = (float)config_number(cx, b->config, "layer_norm_eps", 0, 1),
        .init = {HEED_INIT_TRUNCATED, 0, (float)config_number(cx, b->config, "initializer_range", 0, 100)},
    };
}

static bool make_body(heed_ctx *cx, const heed_build *b, const struct making *k, struct yolos *m) {
    m->width = config_int(cx, k->config, "hidden_size", 1, MAX_SIZE);
    m->layers = (int)config_int(cx, k->config, "num_hidden_layers", 1, MAX_LAYERS);
    m->layer = heed_params_alloc(cx, k->set, (size_t)m->layers, sizeof *m->layer);
    if (heed_failed(cx) || !make_embeddings(cx, k, m)) return false;
    for (int i = 0; i < m->layers; i++)
        if (!vit_make_layer(cx, b, &body, k->base, i, &m->layer[i])) return false;
    if (heed_json_bool(cx, k->config, "use_mid_position_embeddings") && !make_mid_positions(cx, k, m)) return false;
    return part_norm(cx, k->set, k->base, "layernorm", m->width, k->eps, &m->norm);
}

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    struct yolos *m = own;
    const struct making k = making_of(cx, b);
    if (!make_body(cx, b, &k, m) ||
        !part_linear(cx, b->params, "", "pooler.dense", m->width, m->width, true, k.init, &m->pooler))
        return false;
    m->pooler.weight->head = m->pooler.bias->head = true; /* models that were trained to find objects lack it */
    m->pooler.weight->optional = m->pooler.bias->optional = true;
    return true;
}

static bool build_detect(heed_ctx *cx, const heed_build *b, void *own) {
    struct yolos *m = own;
    const struct making k = making_of(cx, b);
    return detection_read(cx, b->config, false, &m->detection) && make_body(cx, b, &k, m) &&
           detection_make_mlp(cx, b->params, "", "class_labels_classifier", m->width, m->detection.classes + 1, k.init,
                              m->classes, DETECTION_BOX_LAYERS) &&
           detection_make_mlp(cx, b->params, "", "bbox_predictor", m->width, 4, k.init, m->box, DETECTION_BOX_LAYERS);
}

/* ---- forward ---- */

/* Positions (1,1 + h w + Q,E) for the grid of these pictures: those of patches are interpolated. */
static heed_tensor *positions_for(heed_ctx *cx, const struct yolos *m, heed_tensor *table, const int64_t grid[2]) {
    const int64_t *const own = m->patches.grid;
    if (!table || (own[0] == grid[0] && own[1] == grid[1])) return table;
    const int64_t patches = own[0] * own[1];
    heed_tensor *const first = heed_slice(cx, table, 1, 0, 1 + patches);
    heed_tensor *const last = heed_slice(cx, table, 1, 1 + patches, m->queries);
    return heed_concat(cx, (heed_tensor *[]){positions_resized(cx, first, 1, own, grid, false), last}, 2, 1);
}

static heed_tensor *embed(heed_ctx *cx, const struct yolos *m, const heed_io *in, int64_t grid[2]) {
    heed_tensor *const pixels = patches_pixels(cx, &m->patches, in, grid);
    heed_tensor *const patches = patches_run(cx, &m->patches, pixels, grid);
    if (!patches) return NULL;
    const int64_t each[] = {pixels->shape[0], -1, -1};
    heed_tensor *const parts[] = {heed_expand(cx, heed_param_tensor(cx, m->class_token), 3, each), patches,
                                  heed_expand(cx, heed_param_tensor(cx, m->detection_tokens), 3, each)};
    heed_tensor *const positions = positions_for(cx, m, heed_param_tensor(cx, m->positions), grid);
    return heed_dropout(cx, heed_add(cx, heed_concat(cx, parts, 3, 1), positions), m->dropout);
}

/* After layer i, of every layer but the last. */
static heed_tensor *add_mid_positions(heed_ctx *cx, const struct yolos *m, int i, const int64_t grid[2],
                                      heed_tensor *x) {
    if (!m->mid_positions || i + 1 == m->layers || !x) return x;
    const int64_t *const shape = m->mid_positions->shape;
    heed_tensor *const all = heed_param_tensor(cx, m->mid_positions);
    heed_tensor *const own = heed_reshape(cx, heed_slice(cx, all, 0, i, 1), 3, (int64_t[]){1, shape[2], shape[3]});
    return heed_add(cx, x, positions_for(cx, m, own, grid));
}

/* (B,T,E). after: (layers - 1) places for what all layers but the last give, with the last norm; or NULL */
static heed_tensor *run(heed_ctx *cx, const struct yolos *m, const heed_io *in, heed_tensor **after) {
    int64_t grid[2] = {0};
    heed_tensor *x = embed(cx, m, in, grid);
    if (!x) return NULL;
    if (!after) heed_scope_begin(cx);
    for (int i = 0; i < m->layers; i++) {
        x = heed_encoder_layer_run(cx, &m->layer[i], x, NULL);
        if (after && i + 1 < m->layers) after[i] = heed_norm_run(cx, &m->norm, x);
        x = add_mid_positions(cx, m, i, grid, x);
        if (!after) x = heed_scope_keep(cx, x);
    }
    x = heed_norm_run(cx, &m->norm, x);
    return after ? x : heed_scope_end(cx, x);
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct yolos *m = own;
    heed_tensor *const h = run(cx, m, in, NULL);
    if (!h || !heed_io_put(cx, out, "last_hidden_state", h)) return false;
    heed_tensor *const first = heed_reshape(cx, heed_slice(cx, h, 1, 0, 1), 2, (int64_t[]){h->shape[0], m->width});
    return heed_io_put(cx, out, "pooler_output", heed_linear_run(cx, &m->pooler, first, HEED_ACT_TANH));
}

/* What the detection tokens of h (B,T,E) say. */
static void heads(heed_ctx *cx, const struct yolos *m, heed_tensor *h, heed_tensor **logits, heed_tensor **boxes) {
    h = h ? heed_slice(cx, h, 1, h->shape[1] - m->queries, m->queries) : NULL;
    *logits = detection_mlp(cx, m->classes, DETECTION_BOX_LAYERS, h, HEED_ACT_NONE);
    *boxes = detection_mlp(cx, m->box, DETECTION_BOX_LAYERS, h, HEED_ACT_SIGMOID);
}

/* Losses of every layer are computed only where there are targets. */
static bool forward_detect(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct yolos *m = own;
    const int n = m->detection.auxiliary && heed_io_get(in, "labels.0.boxes") ? m->layers : 1;
    heed_tensor **const list = detection_list(cx, 3 * n);
    if (!list) return false;
    heed_tensor **const after = list, **const logits = list + n, **const boxes = list + 2 * n;
    after[n - 1] = run(cx, m, in, n > 1 ? after : NULL);
    for (int i = 0; i < n; i++) heads(cx, m, after[i], &logits[i], &boxes[i]);
    return detection_put(cx, &m->detection, in, logits, boxes, n, out) &&
           heed_io_put(cx, out, "last_hidden_state", after[n - 1]);
}

static bool sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return patches_sample(cx, &((const struct yolos *)own)->patches, batch, in);
}

/* `length` objects in each picture, no more than there are tokens for them. */
static bool sample_detect(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct yolos *m = own;
    return sample_bare(cx, own, batch, length, in) &&
           detection_sample(cx, batch, length < m->queries ? length : m->queries, in);
}

static void name_key(const void *own, int64_t i, char *name, size_t size) {
    static const char *const first[] = {"class"};
    const struct yolos *m = own;
    const int64_t behind = i - 1 - m->patches.grid[0] * m->patches.grid[1];
    if (behind < 0)
        patches_name(m->patches.grid, first, 1, i, name, size);
    else
        snprintf(name, size, "detection %lld", (long long)behind);
}

static bool place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    const struct yolos *m = own;
    (void)map;
    patches_place(&m->patches, size, to);
    to->classes = 1;
    to->detections = m->queries;
    return true;
}

/* ---- the family ---- */

static const heed_key keys[] = {
    {"hidden_size", HEED_KEY_INT, "768", "width"},
    {"num_hidden_layers", HEED_KEY_INT, "12", "number of layers"},
    {"num_attention_heads", HEED_KEY_INT, "12", "number of attention heads, which divides the width"},
    {"intermediate_size", HEED_KEY_INT, "3072", "width of the feed-forward layer"},
    {"hidden_act", HEED_KEY_TEXT, "gelu", "activation, by transformers' name"},
    {"hidden_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of embeddings and of the sublayers' outputs"},
    {"attention_probs_dropout_prob", HEED_KEY_NUMBER, "0.0", "dropout of attention weights"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    {"layer_norm_eps", HEED_KEY_NUMBER, "1e-12", "of norms"},
    {"image_size", HEED_KEY_INT_OR_LIST, "[512, 864]", "of pictures that positions are learned for: height and width"},
    {"patch_size", HEED_KEY_INT_OR_LIST, "16", "of patches: a side"},
    {"num_channels", HEED_KEY_INT, "3", "of pictures"},
    {"qkv_bias", HEED_KEY_BOOL, "true", "queries, keys and values have a bias"},
    {"num_detection_tokens", HEED_KEY_INT, "100", "tokens that find an object each"},
    {"use_mid_position_embeddings", HEED_KEY_BOOL, "true", "positions are added after every layer but the last"},
    DETECTION_KEYS("1"),
    DETECTION_SOFTMAX_KEYS,
    END_OF_KEYS,
};

#define RUN(name)                                                                                                      \
    .build = build_##name, .forward = forward_##name, .sample = sample_##name, .name_key = name_key, .place = place
static const heed_head yolos_heads[] = {
    {"YolosForObjectDetection", "detect", "pixel_values " DETECTION_INPUTS, RUN(detect)},
    {"YolosModel", "embed", "pixel_values", .bare = true, RUN(bare)},
    {.architecture = NULL},
};

/* The module that has it in transformers; its files have the name before. */
static const char *const renamed[] = {"encoder.mid_position_embeddings",
                                      "encoder.interpolation.mid_position_embeddings", NULL};

const heed_family family_yolos = {
    .name = "yolos",
    .type = "yolos",
    .base = "vit",
    .paper = "Fang et al. 2021",
    .summary = "a Vision Transformer with a token for each object that it may find",
    .notes =
        "Parameters have the names of transformers' files, with vit. at the beginning except in the bare model: "
        "vit.embeddings.detection_tokens, vit.encoder.mid_position_embeddings, class_labels_classifier.layers.N, "
        "bbox_predictor.layers.N. Pictures of any size are taken: positions are interpolated, and what is no whole "
        "patch is cut off. Tokens and positions begin as small random numbers, those of transformers as zeros. With "
        "auxiliary_loss, of which transformers' class can compute no loss, those of all layers are that of the "
        "last: its norm, its heads.",
    .keys = keys,
    .heads = yolos_heads,
    .renamed = renamed,
    .processor = "YolosImageProcessor",
    .size = sizeof(struct yolos),
};
