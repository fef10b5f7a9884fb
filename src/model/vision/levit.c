/* LeViT (Graham et al. 2021) with the names and config keys of transformers. levit.h says what it computes. */
#include "model/vision/levit.h"
#include <stdio.h>
#include <string.h>

static const struct levit_layout layout = {
    .linear = "linear",
    .norm = "batch_norm",
    .all = "queries_keys_values",
    .keys_values = "keys_values",
    .query = "queries",
    .out = "projection",
    .up = "linear_up",
    .down = "linear_down",
};

/* What ends a stage: attention that shrinks the grid, or nothing (heads 0). */
struct down_op {
    int64_t key, heads, attention_ratio, mlp_ratio, stride;
};

struct config {
    int stages, widths;              /* widths: there may be one more, behind the last stage */
    int64_t width[LEVIT_STAGES + 1]; /* hidden_sizes */
    int64_t depths[LEVIT_STAGES], heads[LEVIT_STAGES], key[LEVIT_STAGES], attention_ratio[LEVIT_STAGES],
        mlp_ratio[LEVIT_STAGES];
    struct down_op down[LEVIT_STAGES];
};

/* ---- config ---- */

/* One number for each stage. */
static bool of_stages(heed_ctx *cx, heed_json config, const char *key, int64_t low, int stages, int64_t *to) {
    const int n = config_ints(cx, config, key, low, MAX_SIZE, to, LEVIT_STAGES);
    return !heed_failed(cx) &&
           (n == stages || heed_json_fail(cx, heed_json_find(cx, config, key), "%d numbers for %d stages", n, stages));
}

/* ["Subsample", key_dim, heads, attention_ratio, mlp_ratio, stride]; anything else is nothing */
static bool read_down(heed_ctx *cx, heed_json at, struct down_op *d) {
    const heed_json name = heed_json_kind_of(at) == HEED_JSON_ARRAY ? heed_json_first(at) : at;
    int64_t *const to[] = {&d->key, &d->heads, &d->attention_ratio, &d->mlp_ratio, &d->stride};
    if (heed_json_kind_of(name) != HEED_JSON_TEXT || heed_json_kind_of(at) != HEED_JSON_ARRAY)
        return heed_json_fail(cx, at, "a list is needed that begins with text, as [\"Subsample\", 16, 8, 4, 2, 2]");
    if (strcmp(heed_json_text(cx, name, NULL), "Subsample") != 0) return true;
    if (heed_json_count(at) < 6)
        return heed_json_fail(cx, at, "5 numbers are needed: key_dim, heads, attention_ratio, mlp_ratio, stride");
    for (int i = 0; i < 5; i++) {
        const heed_json item = heed_json_item(cx, at, i + 1);
        const int64_t low = i != 3;
        *to[i] = heed_json_int(cx, item, NULL);
        if (!heed_failed(cx) && (*to[i] < low || *to[i] > MAX_SIDE))
            return heed_json_fail(cx, item, "%lld is not between %lld and %d", (long long)*to[i], (long long)low,
                                  MAX_SIDE);
    }
    return !heed_failed(cx);
}

/* What transformers makes of a config without down_ops: heads of key_dim[0] numbers, four times as many values. */
static void put_down(heed_ctx *cx, heed_json config, const struct config *c) {
    const heed_json list = heed_json_put_array(cx, config, "down_ops");
    for (int i = 0; i < c->stages && i + 1 < c->widths; i++) {
        const heed_json op = heed_json_put_array(cx, list, NULL);
        const int64_t numbers[] = {c->key[0], c->width[i] / c->key[0], 4, 2, 2};
        heed_json_put_text(cx, op, NULL, "Subsample");
        for (int k = 0; k < 5; k++) heed_json_put_int(cx, op, NULL, numbers[k]);
    }
}

/* The list may be one short: nothing ends the last stage then. */
static bool read_downs(heed_ctx *cx, heed_json config, struct config *c) {
    if (heed_json_kind_of(heed_json_find(cx, config, "down_ops")) <= HEED_JSON_NULL) put_down(cx, config, c);
    const heed_json list = heed_json_find(cx, config, "down_ops");
    if (heed_json_kind_of(list) != HEED_JSON_ARRAY) return heed_json_fail(cx, list, "a list is needed");
    const int64_t n = heed_json_count(list);
    if (n + 1 < c->stages) return heed_json_fail(cx, list, "%lld entries for %d stages", (long long)n, c->stages);
    for (int i = 0; i < c->stages && i < n; i++)
        if (!read_down(cx, heed_json_item(cx, list, i), &c->down[i])) return false;
    return !heed_failed(cx);
}

static bool read_config(heed_ctx *cx, heed_json config, struct config *c) {
    c->stages = config_ints(cx, config, "depths", 0, MAX_LAYERS, c->depths, LEVIT_STAGES);
    c->widths = config_ints(cx, config, "hidden_sizes", 1, MAX_SIZE, c->width, LEVIT_STAGES + 1);
    if (heed_failed(cx)) return false;
    if (c->stages < 1) return heed_json_fail(cx, heed_json_find(cx, config, "depths"), "at least one stage is needed");
    if (c->widths != c->stages && c->widths != c->stages + 1)
        return heed_json_fail(cx, heed_json_find(cx, config, "hidden_sizes"), "%d widths for %d stages", c->widths,
                              c->stages);
    return of_stages(cx, config, "num_attention_heads", 1, c->stages, c->heads) &&
           of_stages(cx, config, "key_dim", 1, c->stages, c->key) &&
           of_stages(cx, config, "attention_ratio", 1, c->stages, c->attention_ratio) &&
           of_stages(cx, config, "mlp_ratio", 0, c->stages, c->mlp_ratio) && read_downs(cx, config, c);
}

/* ---- build ---- */

/* Of files, whose sublayers are numbered one after the other; a sublayer that is added has a module of its own. */
struct names {
    struct part_name stage;
    int next;
};
static struct part_name next_layer(heed_ctx *cx, struct names *n, bool added) {
    const struct part_name layer = part_numbered(cx, n->stage.s, "layers", n->next++);
    return added ? part_under(cx, layer.s, "module") : layer;
}

/* hidden numbers of a feed-forward layer; as many as no layer has where they are too many */
static int64_t hidden_of(int64_t width, int64_t ratio) { return ratio > MAX_SIZE / width ? MAX_SIZE : width * ratio; }

static bool make_block(struct levit_plan *p, struct names *n, const struct levit_sizes *s, int64_t mlp_ratio,
                       struct levit *m) {
    return levit_attention(p, next_layer(p->cx, n, s->stride == 0).s, s, m) &&
           (mlp_ratio == 0 || levit_feed_forward(p, next_layer(p->cx, n, true).s, hidden_of(p->width, mlp_ratio), m));
}

static bool make_stage(struct levit_plan *p, const struct config *c, int i, const char *base, struct levit *m) {
    const struct down_op *const d = &c->down[i];
    struct names n = {.stage = part_numbered(p->cx, base, "encoder.stages", i)};
    const struct levit_sizes own = {.heads = c->heads[i], .key = c->key[i], .value = c->attention_ratio[i] * c->key[i]};
    const struct levit_sizes down = {.heads = d->heads,
                                     .key = d->key,
                                     .value = d->attention_ratio * d->key,
                                     .width = i + 1 < c->widths ? c->width[i + 1] : 0,
                                     .stride = d->stride};
    if (p->width != c->width[i])
        return heed_fail(p->cx, HEED_ERR_SHAPE, "stage %d has a width of %lld in hidden_sizes, and is given %lld", i,
                         (long long)c->width[i], (long long)p->width);
    for (int64_t k = 0; k < c->depths[i]; k++)
        if (!make_block(p, &n, &own, c->mlp_ratio[i], m)) return false;
    if (d->stride == 0) return true;
    if (down.width == 0)
        return heed_fail(p->cx, HEED_ERR_SHAPE, "down_ops end stage %d, and hidden_sizes has no width behind it", i);
    return make_block(p, &n, &down, d->mlp_ratio, m);
}

static bool make_body(heed_ctx *cx, const heed_build *b, struct levit_plan *p, struct levit *m) {
    static const char *const convs[] = {"patch_embeddings.embedding_layer_1", "patch_embeddings.embedding_layer_2",
                                        "patch_embeddings.embedding_layer_3", "patch_embeddings.embedding_layer_4"};
    const char *const base = b->head->bare ? "" : b->family->base;
    const heed_json config = b->config;
    struct config c = {0};
    const int64_t stride = config_int(cx, config, "stride", 1, 1024),
                  padding = config_int(cx, config, "padding", 0, 1024),
                  kernel = config_int(cx, config, "kernel_size", 1, 1024),
                  side = config_int(cx, config, "image_size", 1, MAX_SIDE),
                  patch = config_int(cx, config, "patch_size", 1, MAX_SIDE);
    *p = (struct levit_plan){.cx = cx, .set = b->params, .names = &layout};
    p->init = (heed_init){HEED_INIT_NORMAL, 0, (float)config_number(cx, config, "initializer_range", 0, 100)};
    m->act = m->attention_act = HEED_ACT_HARDSWISH;
    m->pools = true;
    m->drop_path = (float)config_number(cx, config, "drop_path_rate", 0, 1);
    if (m->drop_path == 0) heed_json_put_int(cx, config, "drop_path_rate", 0); /* transformers takes no 0.0 */
    m->pictures.channels = config_int(cx, config, "num_channels", 1, MAX_SIDE);
    if (!read_config(cx, config, &c)) return false;
    p->width = c.width[0];
    for (int i = 0; i < 2; i++) m->pictures.image[i] = side, p->grid[i] = side / patch;
    if (p->grid[0] < 1)
        return heed_json_fail(cx, heed_json_find(cx, config, "patch_size"), "pictures of %lld are smaller",
                              (long long)side);
    struct part_name names[LEVIT_CONVS];
    const char *name[LEVIT_CONVS];
    for (int i = 0; i < LEVIT_CONVS; i++) names[i] = part_under(cx, base, convs[i]), name[i] = names[i].s;
    const heed_conv_opts opts = {.stride = {stride, stride}, .padding = {padding, padding}};
    int blocks = 0;
    for (int i = 0; i < c.stages; i++) blocks += (int)c.depths[i] + (c.down[i].stride > 0);
    if (!levit_stem(p, name, LEVIT_CONVS, &opts, kernel, "convolution", m) || !levit_room(p, blocks, m)) return false;
    for (int i = 0; i < c.stages; i++)
        if (!make_stage(p, &c, i, base, m)) return false;
    if (!b->head->bare && p->width != c.width[c.widths - 1])
        return heed_fail(cx, HEED_ERR_SHAPE, "the last stage has a width of %lld, and the last of hidden_sizes is %lld",
                         (long long)p->width, (long long)c.width[c.widths - 1]);
    return true;
}

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    struct levit_plan p;
    return make_body(cx, b, &p, own);
}

static bool build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    struct levit_plan p;
    struct levit *m = own;
    if (!make_body(cx, b, &p, m)) return false;
    m->problem = config_problem(cx, b->config);
    return levit_classifier(&p, "classifier", 0, config_labels(cx, b->config), p.init, m);
}

static bool build_teacher(heed_ctx *cx, const heed_build *b, void *own) {
    struct levit_plan p;
    struct levit *m = own;
    if (!make_body(cx, b, &p, m)) return false;
    const int64_t labels = config_labels(cx, b->config);
    m->problem = config_problem(cx, b->config);
    return levit_classifier(&p, "classifier", 0, labels, p.init, m) &&
           levit_classifier(&p, "classifier_distill", 1, labels, p.init, m);
}

/* ---- the family ---- */

static const heed_key keys[] = {
    {"image_size", HEED_KEY_INT, "224", "side of pictures"},
    {"num_channels", HEED_KEY_INT, "3", "of pictures"},
    {"kernel_size", HEED_KEY_INT, "3", "of each of the four convolutions before the first stage"},
    {"stride", HEED_KEY_INT, "2", "of each of them"},
    {"padding", HEED_KEY_INT, "1", "of each of them"},
    {"patch_size", HEED_KEY_INT, "16", "the side of the first grid is image_size by this, rounded down"},
    {"hidden_sizes", HEED_KEY_INTS, "128,256,384", "width of each stage"},
    {"num_attention_heads", HEED_KEY_INTS, "4,8,12", "attention heads of each stage"},
    {"depths", HEED_KEY_INTS, "4,4,4", "blocks of each stage"},
    {"key_dim", HEED_KEY_INTS, "16,16,16", "numbers in a key, of each stage"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0", "stochastic depth, of every sublayer; transformers 5 opens none but 0"},
    {"mlp_ratio", HEED_KEY_INTS, "2,2,2", "width of feed-forward layers, by each stage's; 0: there are none"},
    {"attention_ratio", HEED_KEY_INTS, "2,2,2", "numbers in a value, by key_dim, of each stage"},
    {"initializer_range", HEED_KEY_NUMBER, "0.02", "standard deviation of fresh weights"},
    END_OF_KEYS,
};

#define RUN(name) .build = build_##name, LEVIT_RUN(name)
static const heed_head heads[] = {
    {"LevitForImageClassification", "classify", "pixel_values labels", .keys = label_keys, RUN(classify)},
    {"LevitModel", "embed", "pixel_values", .bare = true, RUN(bare)},
    {"LevitForImageClassificationWithTeacher", "distil", "pixel_values labels", .keys = label_keys,
     .build = build_teacher, .forward = levit_forward_teacher, .sample = levit_sample_classify, .place = levit_place},
    {.architecture = NULL},
};

static const char *const ignored[] = {"*attention_bias_idxs", NULL};

const heed_family family_levit = {
    .name = "levit",
    .type = "levit",
    .base = "levit",
    .paper = "Graham et al. 2021",
    .summary = "convolutions, then stages of attention with learned biases of distance that shrink the grid; fast",
    .notes =
        "Parameters have the names of transformers' files, with levit. at the beginning except in the bare model: "
        "levit.encoder.stages.N.layers.N.module.queries_keys_values.linear.weight. config.json has down_ops too, which "
        "say how each stage ends, as transformers writes them; without them every stage but the last ends in attention "
        "with key_dim[0] numbers in a key, four times as many in a value, and a stride of 2. Pictures of other sizes "
        "are taken where the convolutions make the same grid of them. attentions.N are those of blocks that keep the "
        "grid, downsample_attentions.N of those between stages. With a teacher's head, logits are the mean of "
        "cls_logits and distillation_logits.",
    .keys = keys,
    .heads = heads,
    .ignored = ignored,
    .size = sizeof(struct levit),
};
