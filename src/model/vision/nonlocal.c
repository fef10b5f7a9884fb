/* Non-local networks (Wang, Girshick, Gupta & He 2018): a residual network with blocks in which every place sees every
 * other.
 *
 *     z_i = x_i + norm(W_z y_i),   y_i = sum_j f(x_i, x_j) g(x_j) / C
 *
 *     gaussian            f = exp(x_i' x_j)                                C = sum_j f: a softmax
 *     embedded-gaussian   f = exp(theta(x_i)' phi(x_j))                    C = sum_j f: self-attention with one head
 *     dot-product         f = theta(x_i)' phi(x_j)                         C = N, the number of places j
 *     concatenation       f = relu(w_f' [theta(x_i); phi(x_j)])            C = N
 *
 * theta, phi and g are products, which halve the channels. The norm's weight begins as 0, so that a fresh block is the
 * identity; without a norm W_z does. phi and g may be pooled by 2 x 2, so that there are a quarter of the places j. */
#include "model/vision/resnet.h"
#include "tensor/engine.h"
#include <math.h>

enum { BLOCKS = 64 };
enum form { GAUSSIAN, EMBEDDED, DOT_PRODUCT, CONCATENATION };

struct block {
    heed_linear_layer theta, phi, g, out; /* weights (out,in,1,1); theta and phi NULL: x itself */
    heed_linear_layer pair;               /* w_f (1,2 C') of concatenation */
    heed_batch_norm_layer norm;           /* weight NULL: none */
    int layer, stage;                     /* behind which layer it stands, counted through all stages, and where */
};

struct nonlocal {
    struct resnet body;
    enum form form;
    float scale; /* of products within the softmax */
    bool pools;
    int blocks;
    struct block *block; /* memory of the parameter set */
};

/* ---- build ---- */

/* A convolution of 1 x 1, drawn as torch.nn.Conv2d draws it: from weights near 0, as of the paper's code, all places
 * would look at all others alike, and begin to learn late. */
static bool make_product(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                         bool bias, heed_linear_layer *layer) {
    const struct part_name at = part_under(cx, prefix, name);
    *layer = (heed_linear_layer){.weight = heed_param_add(cx, set, at.s, "weight", 4, (int64_t[]){out, in, 1, 1},
                                                          (heed_init){HEED_INIT_KAIMING_UNIFORM, sqrtf(5), 0})};
    if (bias)
        layer->bias =
            heed_param_add(cx, set, at.s, "bias", 1, &out, (heed_init){HEED_INIT_FAN_IN_UNIFORM, (float)in, 0});
    return !heed_failed(cx);
}

static bool make_block(heed_ctx *cx, const struct nonlocal *m, heed_params *set, const char *prefix, bool normed,
                       struct block *b) {
    const int64_t C = m->body.stage[b->stage].width, inner = C > 1 ? C / 2 : 1;
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    if (m->form != GAUSSIAN && (!make_product(cx, set, prefix, "theta", C, inner, true, &b->theta) ||
                                !make_product(cx, set, prefix, "phi", C, inner, true, &b->phi)))
        return false;
    if (m->form == CONCATENATION && !make_product(cx, set, prefix, "pair", 2 * inner, 1, false, &b->pair)) return false;
    if (!make_product(cx, set, prefix, "g", C, inner, true, &b->g) ||
        !make_product(cx, set, prefix, "out", inner, C, true, &b->out))
        return false;
    if (!normed) {
        b->out.weight->init = b->out.bias->init = zeros;
        return true;
    }
    if (!heed_batch_norm_make(cx, set, part_under(cx, prefix, "norm").s, C, 1e-5F, 0.1F, &b->norm)) return false;
    b->norm.weight->init = zeros;
    return true;
}

static bool make_blocks(heed_ctx *cx, const heed_build *b, struct nonlocal *m) {
    static const char *const forms[] = {[GAUSSIAN] = "gaussian",
                                        [EMBEDDED] = "embedded-gaussian",
                                        [DOT_PRODUCT] = "dot-product",
                                        [CONCATENATION] = "concatenation",
                                        NULL};
    const heed_json config = b->config, at = heed_json_find(cx, config, "blocks");
    int64_t behind[BLOCKS];
    int layers = 0, stage = 0, end = 0;
    const int form = config_choice(cx, config, "form", forms);
    m->blocks = config_ints(cx, config, "blocks", 0, MAX_LAYERS, behind, BLOCKS);
    m->block = heed_params_alloc(cx, b->params, (size_t)m->blocks + 1, sizeof *m->block);
    if (form < 0 || !m->block) return false;
    m->form = (enum form)form;
    m->pools = heed_json_bool(cx, config, "sub_sample");
    for (int s = 0; s < m->body.stages; s++) layers += m->body.stage[s].layers;
    end = m->body.stage[0].layers;
    for (int i = 0; i < m->blocks; i++) {
        if (i > 0 && behind[i] <= behind[i - 1])
            return heed_json_fail(cx, at, "layers must be given in order, each once");
        if (behind[i] >= layers)
            return heed_json_fail(cx, at, "%lld: there are %d layers, counted from 0", (long long)behind[i], layers);
        while (behind[i] >= end) end += m->body.stage[++stage].layers;
        m->block[i].layer = (int)behind[i];
        m->block[i].stage = stage;
        if (!make_block(cx, m, b->params, part_numbered(cx, "", "blocks", i).s,
                        heed_json_bool(cx, config, "block_norm"), &m->block[i]))
            return false;
    }
    return true;
}

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    struct resnet_plan plan;
    struct nonlocal *const m = own;
    if (!resnet_plan_read(cx, b->config, &plan) || !config_sides(cx, b->config, "image_size", MAX_SIDE, m->body.image))
        return false;
    plan.pools = heed_json_bool(cx, b->config, "stem_pool");
    m->scale = heed_json_bool(cx, b->config, "use_scale") ? 0 : 1;
    return resnet_make(cx, b->params, "", &plan, &m->body) && make_blocks(cx, b, m);
}

static bool build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    struct nonlocal *const m = own;
    if (!build_bare(cx, b, own)) return false;
    m->body.problem = config_problem(cx, b->config);
    if (!heed_linear_make(cx, b->params, "classifier", m->body.stage[m->body.stages - 1].width,
                          config_labels(cx, b->config), true, &m->body.output))
        return false;
    m->body.output.weight->head = m->body.output.bias->head = true;
    return true;
}

/* ---- blocks ---- */

/* (B,C,h,w) -> (B,h w,C), and back */
static heed_tensor *places_of(heed_ctx *cx, heed_tensor *x) {
    if (!x) return NULL;
    x = heed_reshape(cx, x, 3, (int64_t[]){x->shape[0], x->shape[1], x->shape[2] * x->shape[3]});
    return heed_contiguous(cx, heed_transpose(cx, x, 1, 2));
}
static heed_tensor *map_of(heed_ctx *cx, heed_tensor *x, const int64_t grid[2]) {
    if (!x) return NULL;
    heed_tensor *const turned = heed_contiguous(cx, heed_transpose(cx, x, 1, 2));
    return heed_reshape(cx, turned, 4, (int64_t[]){x->shape[0], x->shape[2], grid[0], grid[1]});
}

/* The largest of 2 x 2 places, (B,N,C) -> (B,M,C); borders that are left over are cut. */
static heed_tensor *pooled(heed_ctx *cx, const struct nonlocal *m, heed_tensor *x, const int64_t grid[2]) {
    static const heed_pool_opts opts = {.kernel = {2, 2}};
    if (!m->pools || !x) return x;
    return places_of(cx, heed_max_pool2d(cx, map_of(cx, x, grid), &opts));
}

/* f / C of the forms without a softmax: (B,N,M) */
static heed_tensor *plain_weights(heed_ctx *cx, const struct nonlocal *m, const struct block *b, heed_tensor *theta,
                                  heed_tensor *phi) {
    if (!theta || !phi) return NULL;
    const int64_t B = theta->shape[0], N = theta->shape[1], M = phi->shape[1], inner = theta->shape[2];
    if (m->form == DOT_PRODUCT) return heed_affine(cx, heed_matmul_trans(cx, theta, false, phi, true), 1 / (float)M, 0);
    heed_tensor *half[2], *const w =
                              heed_reshape(cx, heed_param_tensor(cx, b->pair.weight), 2, (int64_t[]){1, 2 * inner});
    if (!w || !heed_split(cx, w, 1, (int64_t[]){inner, inner}, 2, half)) return NULL;
    heed_tensor *const of_theta = heed_linear(cx, theta, half[0], NULL), *const of_phi =
                                                                             heed_linear(cx, phi, half[1], NULL);
    heed_tensor *const sum = heed_add(cx, heed_reshape(cx, of_theta, 3, (int64_t[]){B, N, 1}),
                                      heed_reshape(cx, of_phi, 3, (int64_t[]){B, 1, M}));
    return heed_affine(cx, heed_activate(cx, sum, HEED_ACT_RELU), 1 / (float)M, 0);
}

/* theta (B,N,C'), phi (B,M,C'), g (B,M,C'') -> (B,N,C'') */
static heed_tensor *look(heed_ctx *cx, const struct nonlocal *m, const struct block *b, heed_tensor *theta,
                         heed_tensor *phi, heed_tensor *g) {
    const int number = (int)(b - m->block);
    if (!theta || !phi || !g) return NULL;
    const int64_t B = theta->shape[0], N = theta->shape[1], M = phi->shape[1];
    if (m->form == DOT_PRODUCT || m->form == CONCATENATION) {
        heed_tensor *const w = plain_weights(cx, m, b, theta, phi);
        if (!w || !heed_capture_weights(cx, NULL, number, 0, heed_reshape(cx, w, 4, (int64_t[]){B, 1, N, M})))
            return NULL;
        return heed_matmul(cx, w, g);
    }
    heed_tensor *part[] = {theta, phi, g};
    for (int i = 0; i < 3; i++)
        part[i] = heed_reshape(cx, part[i], 4, (int64_t[]){B, part[i]->shape[1], 1, part[i]->shape[2]});
    heed_tensor *const y =
        heed_attention(cx, part[0], part[1], part[2], &(heed_attention_opts){.scale = m->scale, .layer = number});
    return heed_reshape(cx, y, 3, (int64_t[]){B, N, g->shape[2]});
}

static heed_tensor *block_run(heed_ctx *cx, const struct nonlocal *m, const struct block *b, heed_tensor *map) {
    if (!map) return NULL;
    const int64_t grid[] = {map->shape[2], map->shape[3]};
    if (m->pools && (grid[0] < 2 || grid[1] < 2)) {
        heed_fail(cx, HEED_ERR_SHAPE, "block %d: a map of %lld x %lld places cannot be pooled by 2 x 2",
                  (int)(b - m->block), (long long)grid[0], (long long)grid[1]);
        return NULL;
    }
    heed_tensor *const x = places_of(cx, map);
    heed_tensor *const theta = b->theta.weight ? heed_linear_run(cx, &b->theta, x, HEED_ACT_NONE) : x;
    heed_tensor *const phi = b->phi.weight ? heed_linear_run(cx, &b->phi, x, HEED_ACT_NONE) : x;
    heed_tensor *const g = heed_linear_run(cx, &b->g, x, HEED_ACT_NONE);
    heed_tensor *y = look(cx, m, b, theta, pooled(cx, m, phi, grid), pooled(cx, m, g, grid));
    y = b->norm.weight ? heed_linear_norm_run(cx, &b->out, &b->norm, y)
                       : heed_linear_run(cx, &b->out, y, HEED_ACT_NONE);
    return heed_add(cx, map, map_of(cx, y, grid));
}

static heed_tensor *behind(heed_ctx *cx, const void *own, int layer, heed_tensor *x) {
    const struct nonlocal *const m = own;
    for (int i = 0; i < m->blocks; i++)
        if (m->block[i].layer == layer) x = block_run(cx, m, &m->block[i], x);
    return x;
}

/* ---- heads ---- */

static heed_tensor *run(heed_ctx *cx, const struct nonlocal *m, const heed_io *in) {
    return resnet_run_with(cx, &m->body, resnet_pixels(cx, &m->body, in), NULL, &(struct resnet_behind){behind, m});
}

static heed_tensor *mean_of(heed_ctx *cx, heed_tensor *h) {
    return h ? heed_mean(cx, h, (const int[]){2, 3}, 2, false) : NULL;
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    heed_tensor *const h = run(cx, own, in);
    return h && heed_io_put(cx, out, "last_hidden_state", h) && heed_io_put(cx, out, "pooler_output", mean_of(cx, h));
}

static bool forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct nonlocal *const m = own;
    heed_tensor *const x = mean_of(cx, run(cx, m, in));
    return head_classify(cx, m->body.problem, in, heed_linear_run(cx, &m->body.output, x, HEED_ACT_NONE), out);
}

static bool sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return resnet_sample(cx, &((const struct nonlocal *)own)->body, batch, in);
}

static bool sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct nonlocal *const m = own;
    return sample_bare(cx, own, batch, length, in) &&
           head_sample_labels(cx, m->body.problem, batch, m->body.output.weight->shape[0], in);
}

/* ---- maps of attention ---- */

/* The map of a stage: each convolution or pooling with a stride of 2 rounds up. */
static void place_stage(const struct nonlocal *m, const int64_t size[2], int stage, struct picture_place *to) {
    int halvings = 1 + m->body.pools;
    for (int s = 0; s <= stage; s++) {
        const struct resnet_unit *const u = m->body.stage[s].layer[0].unit;
        for (int i = 0; i < RESNET_CONVS; i++) halvings += u[i].conv.opts.stride[0] == 2;
    }
    for (int i = 0; i < 2; i++) {
        to->grid[i] = size[i];
        for (int k = 0; k < halvings; k++) to->grid[i] = (to->grid[i] + 1) / 2;
        to->patch[i] = (int64_t)1 << halvings;
    }
    to->stage = stage;
}

static bool place(const void *own, const int64_t size[2], const heed_capture_map *map, struct picture_place *to) {
    const struct nonlocal *const m = own;
    *to = (struct picture_place){0};
    if (map && map->layer >= m->blocks) return false;
    place_stage(m, size, map ? m->block[map->layer].stage : m->body.stages - 1, to);
    for (int i = 0; map && m->pools && i < 2; i++) {
        to->query_grid[i] = to->grid[i], to->query_patch[i] = to->patch[i];
        to->grid[i] /= 2, to->patch[i] *= 2;
    }
    return true;
}

/* ---- the family ---- */

static const heed_key keys[] = {
    {"num_channels", HEED_KEY_INT, "3", "of pictures"},
    {"image_size", HEED_KEY_INT_OR_LIST, "32",
     "of pictures that are prepared for it: a side, or height and width; others are taken too"},
    {"embedding_size", HEED_KEY_INT, "32", "channels that come out of the stem"},
    {"hidden_sizes", HEED_KEY_INTS, "32,64,128", "channels that come out of each stage"},
    {"depths", HEED_KEY_INTS, "2,2,2", "layers of each stage"},
    {"layer_type", HEED_KEY_TEXT, "basic", "basic or bottleneck"},
    {"hidden_act", HEED_KEY_TEXT, "relu",
     "activation, by transformers' name, of the stem and at the end of layers; within layers it is relu"},
    {"downsample_in_first_stage", HEED_KEY_BOOL, "false", "the first stage halves the size, too"},
    {"downsample_in_bottleneck", HEED_KEY_BOOL, "false",
     "a bottleneck's first convolution halves the size, not its second"},
    {"stem_pool", HEED_KEY_BOOL, "false", "the stem ends in max pooling, which halves the size once more"},
    {"blocks", HEED_KEY_INTS, "3",
     "the layers, counted from 0 through all stages, behind which a non-local block stands; empty: none, a local "
     "network"},
    {"form", HEED_KEY_TEXT, "embedded-gaussian", "gaussian, embedded-gaussian, dot-product or concatenation"},
    {"sub_sample", HEED_KEY_BOOL, "false", "phi and g are pooled by 2 x 2"},
    {"use_scale", HEED_KEY_BOOL, "false",
     "what is in the softmax is divided by the root of its number of channels, as in attention"},
    {"block_norm", HEED_KEY_BOOL, "true", "W_z has a batch norm, whose weight begins as 0; else W_z begins so"},
    END_OF_KEYS,
};

#define RUN(name) .build = build_##name, .forward = forward_##name, .sample = sample_##name, .place = place
static const heed_head heads[] = {
    {"NonlocalForImageClassification", "classify", "pixel_values labels", .keys = label_keys, RUN(classify)},
    {"NonlocalModel", "embed", "pixel_values", .bare = true, RUN(bare)},
    {.architecture = NULL},
};

const heed_family family_nonlocal = {
    .name = "nonlocal",
    .type = "heed-nonlocal",
    .paper = "Wang et al. 2018",
    .summary = "a residual network with blocks in which every place sees every other, of all four forms",
    .notes =
        "Parameters: embedder and encoder as resnet's, blocks.N.theta, blocks.N.phi, blocks.N.g, blocks.N.out with the "
        "weights of convolutions of 1 x 1, blocks.N.norm, blocks.N.pair of concatenation, classifier. Without blocks "
        "it "
        "is a residual network alone. Pictures of any size are taken. attentions.N are what the places of block N take "
        "of each other, (B,1,N,M): a softmax, or of dot-product and concatenation f / N, which does not add up to 1.",
    .keys = keys,
    .heads = heads,
    .size = sizeof(struct nonlocal),
};
