/* Residual networks: parameters and the way through them. */
#include "model/vision/resnet.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdio.h>

#define NORM_EPS      1e-5F
#define NORM_MOMENTUM 0.1F

/* ---- parameters ---- */

struct maker {
    heed_params *set;
    const struct resnet_plan *plan;
};
struct conv_shape {
    int64_t in, out, kernel, stride, dilation, groups;
};

/* A convolution of which no border is lost, and its norm; drawn as torch's kaiming_normal_ by fan out. */
static bool make_unit(heed_ctx *cx, const struct maker *k, const char *conv, const char *norm,
                      const struct conv_shape *s, bool zeros, struct resnet_unit *unit) {
    const int64_t padding = (s->stride - 1 + s->dilation * (s->kernel - 1)) / 2, kernel[] = {s->kernel, s->kernel};
    const heed_conv_opts opts = {.stride = {s->stride, s->stride},
                                 .dilation = {s->dilation, s->dilation},
                                 .padding = {padding, padding},
                                 .groups = s->groups};
    if (!heed_conv2d_make(cx, k->set, conv, s->in, s->out, kernel, false, &opts, &unit->conv)) return false;
    const double fan_out = (double)s->out * (double)s->kernel * (double)s->kernel;
    unit->conv.weight->init = (heed_init){HEED_INIT_NORMAL, 0, (float)sqrt(2 / fan_out)};
    const bool made = k->plan->frozen
                          ? heed_frozen_batch_norm_make(cx, k->set, norm, s->out, NORM_EPS, NORM_MOMENTUM, &unit->norm)
                          : heed_batch_norm_make(cx, k->set, norm, s->out, NORM_EPS, NORM_MOMENTUM, &unit->norm);
    if (made && zeros) unit->norm.weight->init = (heed_init){.kind = HEED_INIT_ZEROS};
    return made;
}

/* transformers' names of a convolution and its norm */
static bool make_under(heed_ctx *cx, const struct maker *k, const char *path, const struct conv_shape *s, bool zeros,
                       struct resnet_unit *unit) {
    return make_unit(cx, k, part_under(cx, path, "convolution").s, part_under(cx, path, "normalization").s, s, zeros,
                     unit);
}

/* timm's: places of a torch.nn.Sequential */
static bool make_placed(heed_ctx *cx, const struct maker *k, const char *path, const char *name, int place,
                        const struct conv_shape *s, struct resnet_unit *unit) {
    return make_unit(cx, k, part_numbered(cx, path, name, place).s, part_numbered(cx, path, name, place + 1).s, s,
                     false, unit);
}

static bool make_stem(heed_ctx *cx, const struct maker *k, const char *prefix, struct resnet *m) {
    const struct resnet_plan *const p = k->plan;
    const struct part_name conv = part_under(cx, prefix, "conv1"), norm = part_under(cx, prefix, "bn1");
    const struct conv_shape one = {p->channels, p->stem_width, 7, 2, 1, 1};
    const int64_t *const w = p->stem_widths;
    m->stem_convs = w[0] ? 3 : 1;
    if (p->layout == RESNET_TRANSFORMERS)
        return make_under(cx, k, part_under(cx, prefix, "embedder.embedder").s, &one, false, &m->stem[0]);
    if (!w[0]) {
        if (!make_unit(cx, k, conv.s, norm.s, &one, false, &m->stem[0])) return false;
    } else if (!make_placed(cx, k, prefix, "conv1", 0, &(struct conv_shape){p->channels, w[0], 3, 2, 1, 1},
                            &m->stem[0]) ||
               !make_placed(cx, k, prefix, "conv1", 3, &(struct conv_shape){w[0], w[1], 3, 1, 1, 1}, &m->stem[1]) ||
               !make_unit(cx, k, part_under(cx, conv.s, "6").s, norm.s,
                          &(struct conv_shape){w[1], p->stem_width, 3, 1, 1, 1}, false, &m->stem[2]))
        return false;
    return !p->stem_pool_learns ||
           make_placed(cx, k, prefix, "maxpool", 0, &(struct conv_shape){p->stem_width, p->stem_width, 3, 2, 1, 1},
                       &m->stem_pool);
}

struct layer_shape {
    int64_t in, out, inner, first, stride, dilation;
    int64_t first_dilation; /* that of the layer before */
};

static bool make_shortcut(heed_ctx *cx, const struct maker *k, const char *path, const struct layer_shape *s,
                          struct resnet_layer *layer) {
    const struct resnet_plan *const p = k->plan;
    const bool changes = s->stride != 1 || s->dilation != 1;
    struct conv_shape c = {s->in, s->out, 1, s->stride, 1, 1};
    if (p->layout == RESNET_TRANSFORMERS)
        return make_under(cx, k, part_under(cx, path, "shortcut").s, &c, false, &layer->shortcut);
    if (p->averages) {
        c.stride = 1;
        layer->averages = !changes ? 0 : s->dilation == 1 ? s->stride : 1;
        return make_placed(cx, k, path, "downsample", 1, &c, &layer->shortcut);
    }
    if (changes && p->shortcut_kernel > 1) {
        c.kernel = p->shortcut_kernel;
        c.dilation = s->first_dilation;
    }
    return make_placed(cx, k, path, "downsample", 0, &c, &layer->shortcut);
}

static bool make_layer(heed_ctx *cx, const struct maker *k, const char *path, const struct layer_shape *s,
                       struct resnet_layer *layer) {
    const struct resnet_plan *const p = k->plan;
    const int64_t at_first = p->strides_first ? s->stride : 1, at_second = p->strides_first ? 1 : s->stride;
    const struct conv_shape basic[] = {{s->in, s->first, 3, s->stride, s->first_dilation, 1},
                                       {s->first, s->out, 3, 1, s->dilation, 1}},
                            bottleneck[] = {{s->in, s->first, 1, at_first, 1, 1},
                                            {s->first, s->inner, 3, at_second, s->first_dilation, p->groups},
                                            {s->inner, s->out, 1, 1, 1, 1}};
    const struct conv_shape *const shape = p->bottleneck ? bottleneck : basic;
    const int n = p->bottleneck ? 3 : 2;
    const bool timm = p->layout == RESNET_TIMM, cuts = s->stride != 1 || s->in != s->out;
    if (cuts && !timm && !make_shortcut(cx, k, path, s, layer)) return false;
    for (int i = 0; i < n; i++) {
        const bool zeros = p->last_norm_zeros && i == n - 1;
        if (!timm) {
            if (!make_under(cx, k, part_numbered(cx, path, "layer", i).s, &shape[i], zeros, &layer->unit[i]))
                return false;
            continue;
        }
        char conv[16], norm[16];
        snprintf(conv, sizeof conv, "conv%d", i + 1);
        snprintf(norm, sizeof norm, "bn%d", i + 1);
        if (!make_unit(cx, k, part_under(cx, path, conv).s, part_under(cx, path, norm).s, &shape[i], zeros,
                       &layer->unit[i]))
            return false;
    }
    return !cuts || !timm || make_shortcut(cx, k, path, s, layer);
}

static struct part_name stage_name(heed_ctx *cx, enum resnet_layout layout, const char *prefix, int stage, int layer) {
    char name[64];
    if (layout == RESNET_TIMM)
        snprintf(name, sizeof name, "layer%d.%d", stage + 1, layer);
    else
        snprintf(name, sizeof name, "encoder.stages.%d.layers.%d", stage, layer);
    return part_under(cx, prefix, name);
}

bool resnet_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct resnet_plan *p, struct resnet *m) {
    const struct maker k = {set, p};
    if (heed_failed(cx)) return false;
    m->channels = p->channels;
    m->pools = p->pools;
    m->stem_before_pool = p->layout == RESNET_TIMM;
    m->bottleneck = p->bottleneck;
    m->act = p->act;
    m->inner = p->inner;
    m->stages = p->stages;
    if (!make_stem(cx, &k, prefix, m)) return false;
    int64_t in = p->stem_width, dilation = 1, before = 1, layers = 0, done = 0;
    for (int s = 0; s < p->stages; s++) layers += p->depths[s];
    for (int s = 0; s < p->stages; s++) {
        struct resnet_stage *const stage = &m->stage[s];
        int64_t stride = s == 0 && !p->shrinks_first ? 1 : 2;
        if (s >= p->stages - p->dilated) {
            dilation *= stride;
            stride = 1;
        }
        stage->layers = (int)p->depths[s];
        stage->width = p->widths[s];
        stage->layer = heed_params_alloc(cx, set, (size_t)stage->layers, sizeof *stage->layer);
        if (!stage->layer) return false;
        for (int i = 0; i < stage->layers; i++, done++) {
            const struct layer_shape shape = {in,       p->widths[s], p->inner_widths[s], p->first_widths[s], stride,
                                              dilation, before};
            if (!make_layer(cx, &k, stage_name(cx, p->layout, prefix, s, i).s, &shape, &stage->layer[i])) return false;
            stage->layer[i].drop_path = layers > 1 ? p->drop_path * (float)done / (float)(layers - 1) : 0;
            in = p->widths[s];
            before = dilation;
            stride = 1;
        }
    }
    return true;
}

/* ---- the way through ---- */

static heed_tensor *unit_run(heed_ctx *cx, const struct resnet_unit *u, heed_tensor *x, heed_activation act) {
    return heed_conv_norm_run(cx, &u->conv, &u->norm, x, act);
}

/* The mean of 2 x 2 places; where places beyond the end are reached they do not count. With a stride of 1 the map keeps
 * its size, and zeros behind it count, as in timm. */
static heed_tensor *average(heed_ctx *cx, heed_tensor *x, int64_t stride) {
    const heed_pool_opts opts = {
        .kernel = {2, 2}, .stride = {stride, stride}, .ceil_mode = true, .exclude_padding = true};
    if (stride == 1) x = heed_pad(cx, x, (const int64_t[]){0, 0, 0, 0}, (const int64_t[]){0, 0, 1, 1}, 0);
    return heed_avg_pool2d(cx, x, &opts);
}

static heed_tensor *layer_once(heed_ctx *cx, const struct resnet *m, const struct resnet_layer *l, heed_tensor *x) {
    const int last = m->bottleneck ? 2 : 1;
    heed_tensor *y = x, *shortcut = x;
    for (int i = 0; i < last; i++) y = unit_run(cx, &l->unit[i], y, m->inner);
    if (l->averages) shortcut = average(cx, shortcut, l->averages);
    if (l->shortcut.conv.weight) shortcut = unit_run(cx, &l->shortcut, shortcut, HEED_ACT_NONE);
    const struct resnet_unit *const u = &l->unit[last];
    if (l->drop_path > 0) {
        y = heed_drop_path(cx, unit_run(cx, u, y, HEED_ACT_NONE), l->drop_path);
        return heed_activate(cx, heed_add(cx, y, shortcut), m->act);
    }
    return heed_conv_norm_add_run(cx, &u->conv, &u->norm, y, shortcut, m->act);
}

/* What a layer needs to be computed again (heed_recompute). */
struct again {
    const struct resnet *m;
    const struct resnet_layer *layer;
};
static heed_tensor *layer_again(heed_ctx *cx, const void *own, heed_tensor *const *in) {
    const struct again *const a = own;
    return layer_once(cx, a->m, a->layer, in[0]);
}
static heed_tensor *layer_run(heed_ctx *cx, const struct resnet *m, const struct resnet_layer *l, heed_tensor *x) {
    const struct engine *const e = engine_of(cx);
    if (!e || !e->recompute || !e->recording) return layer_once(cx, m, l, x);
    return heed_recompute(cx, layer_again, &(struct again){m, l}, sizeof(struct again), &x, 1);
}

heed_tensor *resnet_run(heed_ctx *cx, const struct resnet *m, heed_tensor *pixels, heed_tensor **map) {
    return resnet_run_with(cx, m, pixels, map, NULL);
}

heed_tensor *resnet_run_with(heed_ctx *cx, const struct resnet *m, heed_tensor *x, heed_tensor **map,
                             const struct resnet_behind *behind) {
    int layer = 0;
    static const heed_pool_opts pool = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
    if (heed_failed(cx)) return NULL;
    if (!map) heed_scope_begin(cx);
    for (int i = 0; i < m->stem_convs; i++) x = unit_run(cx, &m->stem[i], x, m->act);
    if (map && m->stem_before_pool) map[0] = x;
    if (m->stem_pool.conv.weight)
        x = unit_run(cx, &m->stem_pool, x, m->act);
    else if (m->pools)
        x = heed_max_pool2d(cx, x, &pool);
    if (map && !m->stem_before_pool) map[0] = x;
    for (int s = 0; s < m->stages; s++) {
        if (map) heed_scope_begin(cx);
        for (int i = 0; i < m->stage[s].layers; i++, layer++) {
            x = layer_run(cx, m, &m->stage[s].layer[i], x);
            x = heed_scope_keep(cx, behind ? behind->run(cx, behind->own, layer, x) : x);
        }
        if (map) map[s + 1] = x = heed_scope_end(cx, x);
    }
    return map ? x : heed_scope_end(cx, x);
}

heed_tensor *resnet_pixels(heed_ctx *cx, const struct resnet *m, const heed_io *in) {
    const struct patches any = {.channels = m->channels, .patch = {1, 1}, .any_size = true};
    int64_t size[2];
    return patches_pixels(cx, &any, in, size);
}

bool resnet_sample(heed_ctx *cx, const struct resnet *m, int64_t batch, heed_io *in) {
    const int64_t shape[] = {batch, m->channels, m->image[0], m->image[1]};
    return heed_io_put(cx, in, "pixel_values", heed_zeros(cx, HEED_F32, 4, shape));
}
