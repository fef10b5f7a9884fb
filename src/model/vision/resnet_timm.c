/* Residual networks as timm has them, by the architecture's name: ResNet (He et al. 2016), its kin with deep stems and
 * averaging shortcuts (He et al. 2019), ResNeXt (Xie et al. 2017) and wide ones (Zagoruyko & Komodakis 2016). */
#include "model/core/config.h"
#include "model/vision/resnet.h"
#include "model/vision/timm.h"
#include <string.h>
#include <strings.h>

#define STAGES     4
#define STEM_WIDTH 64 /* of a stem of one convolution, whatever stem_width says */
#define EXPANSION  4  /* of bottlenecks */

static const struct timm_row rows[] = {
#define TIMM(name, arguments) {name, arguments},
#include "model/vision/timm_resnet.def"
#undef TIMM
    {NULL, NULL},
};

enum pooling { POOL_NONE, POOL_MEAN, POOL_MAX, POOL_HALF, POOL_BOTH };

struct timm_resnet {
    struct resnet net;
    enum pooling pool;
    float head_dropout;
};

/* ---- build ---- */

/* Layers of other kinds. */
static bool known(heed_ctx *cx, heed_json args) {
    const heed_json norm = heed_json_find(cx, args, "norm_layer"), blurs = heed_json_find(cx, args, "aa_layer");
    const char *const name = heed_json_kind_of(norm) == HEED_JSON_TEXT ? heed_json_text(cx, norm, NULL) : NULL;
    if (heed_failed(cx)) return false;
    if (name && *name && strcasecmp(name, "batchnorm") != 0 && strcasecmp(name, "batchnorm2d") != 0)
        return heed_json_fail(cx, norm, "heed has no '%s' here, only batchnorm", name);
    if (heed_json_kind_of(blurs) == HEED_JSON_TEXT && *heed_json_text(cx, blurs, NULL))
        return heed_json_fail(cx, blurs, "heed has no layers against aliasing");
    const double drops = config_number(cx, args, "drop_block_rate", 0, 1);
    return !heed_failed(cx) && (drops == 0 || heed_json_fail(cx, heed_json_find(cx, args, "drop_block_rate"),
                                                             "heed has no DropBlock, only a rate of 0"));
}

static bool read_stem(heed_ctx *cx, heed_json args, struct resnet_plan *p) {
    static const char *const stems[] = {"", "deep", "deep_tiered", NULL};
    const int stem = config_choice(cx, args, "stem_type", stems);
    const int64_t width = config_int(cx, args, "stem_width", 1, MAX_SIZE / 2);
    p->stem_pool_learns = heed_json_bool(cx, args, "replace_stem_pool");
    p->stem_width = STEM_WIDTH;
    if (heed_failed(cx) || stem == 0) return !heed_failed(cx);
    p->stem_widths[0] = stem == 2 ? width / 4 * 3 : width;
    p->stem_widths[1] = width;
    p->stem_width = 2 * width;
    return p->stem_widths[0] > 0 ||
           heed_json_fail(cx, heed_json_find(cx, args, "stem_width"), "a tiered stem needs at least 4");
}

static bool read_stages(heed_ctx *cx, heed_json args, struct resnet_plan *p) {
    static const char *const blocks[] = {"BasicBlock", "Bottleneck", NULL};
    const int layers = config_ints(cx, args, "layers", 1, MAX_LAYERS, p->depths, RESNET_STAGES),
              n = config_ints(cx, args, "channels", 1, MAX_SIZE / EXPANSION, p->widths, RESNET_STAGES);
    const int64_t base = config_int(cx, args, "base_width", 1, MAX_SIZE),
                  reduced = config_int(cx, args, "block_reduce_first", 1, MAX_SIZE);
    p->bottleneck = config_choice(cx, args, "block", blocks) == 1;
    p->groups = config_int(cx, args, "cardinality", 1, MAX_SIZE);
    if (heed_failed(cx)) return false;
    if (layers != STAGES || n != STAGES)
        return heed_json_fail(cx, heed_json_find(cx, args, layers != STAGES ? "layers" : "channels"),
                              "a number for each of %d stages is needed", STAGES);
    if (!p->bottleneck && (p->groups != 1 || base != 64))
        return heed_json_fail(cx, args, "BasicBlock has a cardinality of 1 and a base_width of 64");
    p->stages = STAGES;
    for (int s = 0; s < STAGES; s++) {
        const int64_t planes = p->widths[s];
        const double inner = (double)planes * ((double)base / 64) * (double)p->groups;
        if (p->bottleneck && !(inner <= (double)MAX_SIZE))
            return heed_json_fail(cx, heed_json_find(cx, args, "base_width"), "%g channels are too many", inner);
        p->inner_widths[s] = p->bottleneck ? (int64_t)((double)planes * ((double)base / 64)) * p->groups : planes;
        p->first_widths[s] = p->inner_widths[s] / reduced;
        p->widths[s] = p->bottleneck ? EXPANSION * planes : planes;
        if (p->first_widths[s] < 1)
            return heed_json_fail(cx, heed_json_find(cx, args, "channels"), "no channel is left within stage %d",
                                  s + 1);
    }
    return true;
}

static bool read_plan(heed_ctx *cx, heed_json args, struct resnet_plan *p) {
    const int64_t stride = config_int(cx, args, "output_stride", 8, 32);
    *p = (struct resnet_plan){.layout = RESNET_TIMM,
                              .channels = config_int(cx, args, "in_chans", 1, MAX_SIDE),
                              .pools = true,
                              .dilated = stride == 32   ? 0
                                         : stride == 16 ? 1
                                                        : 2,
                              .shortcut_kernel = config_int(cx, args, "down_kernel_size", 1, 1024),
                              .averages = heed_json_bool(cx, args, "avg_down"),
                              .last_norm_zeros = heed_json_bool(cx, args, "zero_init_last"),
                              .drop_path = (float)config_number(cx, args, "drop_path_rate", 0, 1),
                              .act = timm_activation(cx, args, "act_layer", HEED_ACT_RELU)};
    p->inner = p->act;
    if (heed_failed(cx)) return false;
    if (stride != 8 && stride != 16 && stride != 32)
        return heed_json_fail(cx, heed_json_find(cx, args, "output_stride"), "%lld is none of 8, 16 and 32",
                              (long long)stride);
    return known(cx, args) && read_stem(cx, args, p) && read_stages(cx, args, p);
}

static bool make(heed_ctx *cx, const heed_build *b, heed_json args, int64_t classes, void *own) {
    static const char *const pools[] = {"",        "avg",     "max",        "avgmax",        "catavgmax", "fast",
                                        "fastavg", "fastmax", "fastavgmax", "fastcatavgmax", NULL};
    struct timm_resnet *const m = own;
    struct resnet_plan plan;
    const int pool = config_choice(cx, args, "global_pool", pools);
    m->pool = pool < 5 ? (enum pooling)pool : pool == 5 ? POOL_MEAN : (enum pooling)(pool - 5);
    m->head_dropout = (float)config_number(cx, args, "drop_rate", 0, 1);
    if (heed_failed(cx) || !read_plan(cx, args, &plan) || !config_sides(cx, args, "input_size", MAX_SIDE, m->net.image))
        return false;
    if (classes > 0 && m->pool == POOL_NONE)
        return heed_json_fail(cx, heed_json_find(cx, args, "global_pool"), "a classifier needs pooling");
    if (!resnet_make(cx, b->params, "", &plan, &m->net)) return false;
    if (classes < 1) return true;
    const int64_t width = plan.widths[STAGES - 1] * (m->pool == POOL_BOTH ? 2 : 1);
    heed_linear_layer *const output = &m->net.output;
    if (!heed_linear_make(cx, b->params, "fc", width, classes, true, output)) return false;
    output->weight->head = output->bias->head = true;
    return true;
}
static const struct timm_kind kind = {rows, make};

bool resnet_plan_named(heed_ctx *cx, const char *name, struct resnet_plan *plan) {
    if (heed_failed(cx)) return false;
    const heed_json config = heed_json_new(cx, name), args = timm_arguments(cx, &family_timm_resnet, config, name);
    const bool read = !heed_failed(cx) && read_plan(cx, args, plan);
    heed_json_free(args);
    heed_json_free(config);
    return read;
}

/* ---- forward ---- */

static heed_tensor *pooled(heed_ctx *cx, const struct timm_resnet *m, heed_tensor *h) {
    static const int places[] = {2, 3};
    if (m->pool == POOL_NONE || !h) return h;
    heed_tensor *const mean = m->pool == POOL_MAX ? NULL : heed_mean(cx, h, places, 2, false),
                       *const most = m->pool == POOL_MEAN ? NULL
                                                          : heed_reshape(cx, heed_adaptive_max_pool2d(cx, h, 1, 1), 2,
                                                                         (int64_t[]){heed_dim(h, 0), heed_dim(h, 1)});
    switch (m->pool) {
    case POOL_MAX:
        return most;
    case POOL_HALF:
        return heed_affine(cx, heed_add(cx, mean, most), 0.5F, 0);
    case POOL_BOTH:
        return heed_concat(cx, (heed_tensor *[]){mean, most}, 2, 1);
    default:
        return mean;
    }
}

static bool forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct timm_resnet *const m = own;
    heed_tensor *const h = resnet_run(cx, &m->net, resnet_pixels(cx, &m->net, in), NULL);
    return h && heed_io_put(cx, out, "last_hidden_state", h) &&
           heed_io_put(cx, out, "pooler_output", heed_dropout(cx, pooled(cx, m, h), m->head_dropout));
}

static bool forward_classify(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct timm_resnet *const m = own;
    if (!m->net.output.weight) return forward_bare(cx, own, in, out);
    heed_tensor *const h = resnet_run(cx, &m->net, resnet_pixels(cx, &m->net, in), NULL);
    heed_tensor *const x = heed_dropout(cx, pooled(cx, m, h), m->head_dropout);
    return head_classify(cx, PROBLEM_BY_LABELS, in, heed_linear_run(cx, &m->net.output, x, HEED_ACT_NONE), out);
}

static bool sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return resnet_sample(cx, &((const struct timm_resnet *)own)->net, batch, in);
}

static bool sample_classify(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const struct timm_resnet *const m = own;
    if (!sample_bare(cx, own, batch, length, in) || !m->net.output.weight) return !heed_failed(cx);
    return head_sample_labels(cx, PROBLEM_BY_LABELS, batch, m->net.output.weight->shape[0], in);
}

static const heed_key keys[] = {
    {"architecture", HEED_KEY_TEXT, "resnet18", "timm's name"},
    {"num_classes", HEED_KEY_INT, "1000", "number of classes; 0: features"},
    {"input_size", HEED_KEY_INT_OR_LIST, "224",
     "of pictures that are prepared for it: a side, or height and width; others are taken too"},
    {"in_chans", HEED_KEY_INT, "3", "channels of pictures"},
    {"block", HEED_KEY_TEXT, "BasicBlock", "of the architecture: BasicBlock or Bottleneck"},
    {"layers", HEED_KEY_INTS, "2,2,2,2", "of the architecture: layers of each of the four stages"},
    {"channels", HEED_KEY_INTS, "64,128,256,512",
     "of each stage; what comes out of bottlenecks has four times as many"},
    {"output_stride", HEED_KEY_INT, "32", "32, 16 or 8: the last stages are dilated instead of halving the size"},
    {"global_pool", HEED_KEY_TEXT, "avg", "avg, max, avgmax or catavgmax; empty: none, of features"},
    {"cardinality", HEED_KEY_INT, "1", "groups of a bottleneck's second convolution"},
    {"base_width", HEED_KEY_INT, "64", "of a bottleneck's second convolution, by 64ths of the stage's channels"},
    {"stem_width", HEED_KEY_INT, "64", "of a deep stem's convolutions; the last has twice as many channels"},
    {"stem_type", HEED_KEY_TEXT, "", "empty: one convolution; deep or deep_tiered: three"},
    {"replace_stem_pool", HEED_KEY_BOOL, "false", "a convolution instead of the stem's pooling"},
    {"block_reduce_first", HEED_KEY_INT, "1", "what the width of a layer's first convolution is divided by"},
    {"down_kernel_size", HEED_KEY_INT, "1", "side of the kernel of shortcuts that halve the size"},
    {"avg_down", HEED_KEY_BOOL, "false", "shortcuts that halve the size average"},
    {"act_layer", HEED_KEY_TEXT_OR_NULL, "null", "activation, by timm's name; null: relu"},
    {"norm_layer", HEED_KEY_TEXT_OR_NULL, "null", "only batchnorm"},
    {"aa_layer", HEED_KEY_TEXT_OR_NULL, "null", "only null"},
    {"drop_rate", HEED_KEY_NUMBER, "0.0", "dropout before the classifier"},
    {"drop_path_rate", HEED_KEY_NUMBER, "0.0", "stochastic depth of the last layer; those before drop less"},
    {"drop_block_rate", HEED_KEY_NUMBER, "0.0", "only 0"},
    {"zero_init_last", HEED_KEY_BOOL, "true", "fresh layers are the identity: the weight of their last norm is 0"},
    END_OF_KEYS,
};

#define RUN(name) .forward = forward_##name, .sample = sample_##name
static const heed_head heads[] = {TIMM_HEADS(RUN)};

const heed_family family_timm_resnet = {
    .name = "timm-resnet",
    .type = "timm-resnet",
    .base = TIMM_BASE,
    .timm = "resnet[0-9]* resnext[0-9]* wide_resnet*",
    .arguments = "model_args",
    .paper = "He et al. 2016",
    .summary = "residual networks as timm has them, by the architecture's name",
    .notes = "config.json has timm's architecture and num_classes, and in model_args what differs from it; --set "
             "writes there. Parameters have timm's names: conv1.weight, layerN.N.bn1.running_mean, fc.weight. Pictures "
             "of any size are taken. Deep stems, averaging shortcuts, ResNeXt and wide networks are there; group norm, "
             "squeeze-and-excitation and blurring are refused.",
    .keys = keys,
    .heads = heads,
    .kind = &kind,
    .size = sizeof(struct timm_resnet),
};
