/* Residual networks (He et al. 2016) with the names and config keys of transformers. resnet.h says what they compute.
 *
 *     pooled = the mean over places of the last map;  logits = W pooled + b */
#include "model/vision/resnet.h"

bool resnet_plan_read(heed_ctx *cx, heed_json config, struct resnet_plan *plan) {
    static const char *const types[] = {"basic", "bottleneck", NULL};
    if (heed_failed(cx)) return false;
    *plan = (struct resnet_plan){
        .layout = RESNET_TRANSFORMERS,
        .channels = config_int(cx, config, "num_channels", 1, MAX_SIDE),
        .stem_width = config_int(cx, config, "embedding_size", 1, MAX_SIZE),
        .groups = 1,
        .bottleneck = config_choice(cx, config, "layer_type", types) == 1,
        .pools = true,
        .shrinks_first = heed_json_bool(cx, config, "downsample_in_first_stage"),
        .strides_first = heed_json_bool(cx, config, "downsample_in_bottleneck"),
        .shortcut_kernel = 1,
        .act = config_activation(cx, config, "hidden_act"),
        .inner = HEED_ACT_RELU, /* within layers, whatever hidden_act says */
    };
    plan->stages = config_ints(cx, config, "depths", 1, MAX_LAYERS, plan->depths, RESNET_STAGES);
    const int n = config_ints(cx, config, "hidden_sizes", 1, MAX_SIZE, plan->widths, RESNET_STAGES);
    if (heed_failed(cx)) return false;
    if (plan->stages < 1 || n != plan->stages)
        return heed_json_fail(cx, heed_json_find(cx, config, "hidden_sizes"), "%d widths for %d stages", n,
                              plan->stages);
    for (int s = 0; s < n; s++) {
        const int64_t inner = plan->bottleneck ? plan->widths[s] / 4 : plan->widths[s];
        if (inner < 1)
            return heed_json_fail(cx, heed_json_find(cx, config, "hidden_sizes"),
                                  "a bottleneck needs a width of at least 4, not %lld", (long long)plan->widths[s]);
        plan->inner_widths[s] = plan->first_widths[s] = inner;
    }
    return true;
}

static bool build_bare(heed_ctx *cx, const heed_build *b, void *own) {
    struct resnet_plan plan;
    struct resnet *const m = own;
    return resnet_plan_read(cx, b->config, &plan) && config_sides(cx, b->config, "image_size", MAX_SIDE, m->image) &&
           resnet_make(cx, b->params, b->head->bare ? "" : b->family->base, &plan, own);
}

static bool build_classify(heed_ctx *cx, const heed_build *b, void *own) {
    struct resnet *const m = own;
    if (!build_bare(cx, b, own)) return false;
    m->problem = config_problem(cx, b->config);
    return heed_linear_make(cx, b->params, "classifier.1", m->stage[m->stages - 1].width, config_labels(cx, b->config),
                            true, &m->output);
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct resnet *const m = own;
    heed_tensor *const h = resnet_run(cx, m, resnet_pixels(cx, m, in), NULL);
    return h && heed_io_put(cx, out, "last_hidden_state", h) &&
           heed_io_put(cx, out, "pooler_output", heed_mean(cx, h, (const int[]){2, 3}, 2, true));
}

static bool forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct resnet *const m = own;
    heed_tensor *const h = resnet_run(cx, m, resnet_pixels(cx, m, in), NULL);
    if (in->states && h) heed_io_put(cx, out, "last_hidden_state", h);
    heed_tensor *const x = h ? heed_mean(cx, h, (const int[]){2, 3}, 2, false) : NULL;
    return head_classify(cx, m->problem, in, heed_linear_run(cx, &m->output, x, HEED_ACT_NONE), out);
}

static bool sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct resnet *const m = own;
    (void)length;
    return resnet_sample(cx, m, batch, in);
}

static bool sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct resnet *const m = own;
    return sample_bare(cx, own, batch, length, in) &&
           head_sample_labels(cx, m->problem, batch, m->output.weight->shape[0], in);
}

static const heed_key keys[] = {
    {"num_channels", HEED_KEY_INT, "3", "of pictures"},
    {"embedding_size", HEED_KEY_INT, "64", "channels that come out of the stem"},
    {"hidden_sizes", HEED_KEY_INTS, "256,512,1024,2048", "channels that come out of each stage"},
    {"depths", HEED_KEY_INTS, "3,4,6,3", "layers of each stage"},
    {"layer_type", HEED_KEY_TEXT, "bottleneck", "basic or bottleneck"},
    {"hidden_act", HEED_KEY_TEXT, "relu",
     "activation, by transformers' name, of the stem and at the end of layers; within layers it is relu"},
    {"downsample_in_first_stage", HEED_KEY_BOOL, "false", "the first stage halves the size, too"},
    {"downsample_in_bottleneck", HEED_KEY_BOOL, "false",
     "a bottleneck's first convolution halves the size, not its second"},
    {"image_size", HEED_KEY_INT_OR_LIST, "224",
     "of pictures that are prepared for it: a side, or height and width; others are taken too"},
    END_OF_KEYS,
};

#define RUN(name) .build = build_##name, .forward = forward_##name, .sample = sample_##name
static const heed_head heads[] = {
    {"ResNetForImageClassification", "classify", "pixel_values labels", .keys = label_keys, RUN(classify)},
    {"ResNetModel", "embed", "pixel_values", .bare = true, RUN(bare)},
    {.architecture = NULL},
};

const heed_family family_resnet = {
    .name = "resnet",
    .type = "resnet",
    .base = "resnet",
    .paper = "He et al. 2016",
    .summary = "convolutions with shortcuts around them",
    .notes = "Parameters have the names of transformers' files, with resnet. at the beginning except in the bare "
             "model: resnet.embedder.embedder.convolution.weight, "
             "resnet.encoder.stages.N.layers.N.layer.N.normalization.running_mean, classifier.1.weight. Pictures of "
             "any size are taken. image_size is heed's own: what transformers writes does not have it.",
    .keys = keys,
    .heads = heads,
    .size = sizeof(struct resnet),
};
