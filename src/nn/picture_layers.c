/* Layers of pictures: convolutions, batch norm and group norm. */
#include "nn/params.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include <math.h>

/* ---- convolutions ---- W and b drawn as torch.nn.Conv2d draws them */

static bool conv_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, int axes,
                      const int64_t *kernel, bool bias, const heed_conv_opts *opts, bool transposed,
                      heed_conv_layer *layer) {
    if (heed_failed(cx)) return false;
    if (!layer || !kernel) return heed_fail(cx, HEED_ERR_USAGE, "conv: the %s is NULL", layer ? "kernel" : "layer");
    *layer = (heed_conv_layer){.transposed = transposed};
    if (opts) layer->opts = *opts;
    const int64_t groups = layer->opts.groups == 0 ? 1 : layer->opts.groups;
    if (groups < 1 || in % groups != 0 || out % groups != 0)
        return heed_fail(cx, HEED_ERR_USAGE, "conv: %lld groups do not divide %lld channels and %lld",
                         (long long)groups, (long long)in, (long long)out);
    int64_t shape[4] = {transposed ? in : out, (transposed ? out : in) / groups};
    float fan = (float)shape[1];
    for (int i = 0; i < axes; i++) {
        shape[2 + i] = kernel[i];
        fan *= (float)kernel[i];
    }
    layer->weight =
        heed_param_add(cx, set, prefix, "weight", 2 + axes, shape, (heed_init){HEED_INIT_KAIMING_UNIFORM, sqrtf(5), 0});
    if (bias)
        layer->bias = heed_param_add(cx, set, prefix, "bias", 1, &out, (heed_init){HEED_INIT_FAN_IN_UNIFORM, fan, 0});
    return !heed_failed(cx);
}

bool heed_conv2d_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out,
                      const int64_t kernel[2], bool bias, const heed_conv_opts *opts, heed_conv_layer *layer) {
    return conv_make(cx, set, prefix, in, out, 2, kernel, bias, opts, false, layer);
}
bool heed_conv1d_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, int64_t kernel,
                      bool bias, const heed_conv_opts *opts, heed_conv_layer *layer) {
    return conv_make(cx, set, prefix, in, out, 1, &kernel, bias, opts, false, layer);
}
bool heed_conv_transpose2d_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out,
                                const int64_t kernel[2], bool bias, const heed_conv_opts *opts,
                                heed_conv_layer *layer) {
    return conv_make(cx, set, prefix, in, out, 2, kernel, bias, opts, true, layer);
}
bool heed_conv_transpose1d_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out,
                                int64_t kernel, bool bias, const heed_conv_opts *opts, heed_conv_layer *layer) {
    return conv_make(cx, set, prefix, in, out, 1, &kernel, bias, opts, true, layer);
}

heed_tensor *heed_conv_run(heed_ctx *cx, const heed_conv_layer *layer, heed_tensor *x) {
    heed_tensor *const weight = heed_param_tensor(cx, layer ? layer->weight : NULL);
    if (!weight) return NULL;
    heed_tensor *const bias = layer->bias ? heed_param_tensor(cx, layer->bias) : NULL;
    if (weight->rank == 3)
        return layer->transposed ? heed_conv_transpose1d(cx, x, weight, bias, &layer->opts)
                                 : heed_conv1d(cx, x, weight, bias, &layer->opts);
    return layer->transposed ? heed_conv_transpose2d(cx, x, weight, bias, &layer->opts)
                             : heed_conv2d(cx, x, weight, bias, &layer->opts);
}

/* ---- norms over channels ---- */

static bool affine_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, heed_param **weight,
                        heed_param **bias) {
    *weight = heed_param_add(cx, set, prefix, "weight", 1, &channels, (heed_init){.kind = HEED_INIT_ONES});
    *bias = heed_param_add(cx, set, prefix, "bias", 1, &channels, (heed_init){.kind = HEED_INIT_ZEROS});
    return !heed_failed(cx);
}

static bool norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, float eps, float momentum,
                      bool frozen, heed_batch_norm_layer *layer) {
    if (heed_failed(cx)) return false;
    if (!layer) return heed_fail(cx, HEED_ERR_USAGE, "batch_norm: the layer is NULL");
    *layer = (heed_batch_norm_layer){.eps = eps, .momentum = momentum, .frozen = frozen};
    if (!affine_make(cx, set, prefix, channels, &layer->weight, &layer->bias)) return false;
    layer->running_mean =
        heed_param_buffer(cx, set, prefix, "running_mean", 1, &channels, (heed_init){.kind = HEED_INIT_ZEROS});
    layer->running_var =
        heed_param_buffer(cx, set, prefix, "running_var", 1, &channels, (heed_init){.kind = HEED_INIT_ONES});
    return !heed_failed(cx);
}

bool heed_batch_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, float eps,
                          float momentum, heed_batch_norm_layer *layer) {
    if (!norm_make(cx, set, prefix, channels, eps, momentum, false, layer)) return false;
    layer->num_batches_tracked =
        heed_param_buffer(cx, set, prefix, "num_batches_tracked", 0, NULL, (heed_init){.kind = HEED_INIT_ZEROS});
    if (layer->num_batches_tracked) layer->num_batches_tracked->stored = HEED_I64;
    return !heed_failed(cx);
}

bool heed_frozen_batch_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, float eps,
                                 float momentum, heed_batch_norm_layer *layer) {
    if (!norm_make(cx, set, prefix, channels, eps, momentum, true, layer)) return false;
    heed_param *const affine[] = {layer->weight, layer->bias};
    for (int i = 0; i < 2; i++) {
        affine[i]->buffer = affine[i]->frozen = true;
        affine[i]->norm_part = HEED_NORM_AFFINE;
    }
    layer->running_mean->norm_part = layer->running_var->norm_part = HEED_NORM_RUNNING;
    return true;
}

int heed_batch_norms_train(heed_ctx *cx, heed_params *set, bool train) {
    int n = 0;
    if (heed_failed(cx)) return 0;
    if (!set) return heed_fail(cx, HEED_ERR_USAGE, "batch_norm: the set is NULL"), 0;
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i];
        if (p->norm_part == HEED_NORM_AFFINE) p->buffer = p->frozen = !train;
        if (p->norm_part == HEED_NORM_RUNNING) p->live = train;
        if (p->norm_part == HEED_NORM_BEFORE) p->frozen = false;
        n += p->norm_part == HEED_NORM_RUNNING;
    }
    return n / 2;
}

heed_tensor *heed_batch_norm_run(heed_ctx *cx, const heed_batch_norm_layer *layer, heed_tensor *x) {
    const struct engine *const e = engine_of(cx);
    heed_tensor *const gamma = heed_param_tensor(cx, layer ? layer->weight : NULL);
    if (!e || !gamma) return NULL;
    heed_tensor *const beta = heed_param_tensor(cx, layer->bias);
    if (!e->training || (layer->frozen && !layer->running_mean->live))
        return heed_batch_norm(cx, x, gamma, beta, heed_param_tensor(cx, layer->running_mean),
                               heed_param_tensor(cx, layer->running_var), layer->eps);
    const heed_param *const count = layer->num_batches_tracked;
    const heed_running running = {.mean = layer->running_mean->value,
                                  .variance = layer->running_var->value,
                                  .count = count ? count->value : NULL,
                                  .momentum = layer->momentum};
    return heed_batch_norm_running(cx, x, gamma, beta, &running, layer->eps);
}

/* The weight, with the norm behind it, where it takes its buffers and nobody asks for a gradient. */
static bool only_runs(heed_ctx *cx, const heed_batch_norm_layer *norm, heed_tensor *x, heed_tensor *weight,
                      const heed_param *bias, struct normed *n) {
    const struct engine *const e = engine_of(cx);
    if (!e || !x || !weight || e->training) return false;
    *n = (struct normed){.weight = weight,
                         .bias = bias ? heed_param_tensor(cx, bias) : NULL,
                         .gamma = heed_param_tensor(cx, norm->weight),
                         .beta = heed_param_tensor(cx, norm->bias),
                         .mean = heed_param_tensor(cx, norm->running_mean),
                         .variance = heed_param_tensor(cx, norm->running_var),
                         .eps = norm->eps};
    if (heed_failed(cx)) return false;
    return !e->recording || !(x->wants || weight->wants || n->gamma->wants || n->beta->wants);
}

heed_tensor *heed_conv_norm_add_run(heed_ctx *cx, const heed_conv_layer *conv, const heed_batch_norm_layer *norm,
                                    heed_tensor *x, heed_tensor *more, heed_activation act) {
    heed_tensor *const weight = heed_param_tensor(cx, conv ? conv->weight : NULL);
    struct normed n;
    if (!weight || !norm) return heed_param_tensor(cx, NULL);
    if (weight->rank == 4 && !conv->transposed && only_runs(cx, norm, x, weight, conv->bias, &n) &&
        !(more && more->wants)) {
        n.more = more;
        n.opts = &conv->opts;
        n.act = act;
        return op_conv_normed(cx, x, &n);
    }
    heed_tensor *const y = heed_batch_norm_run(cx, norm, heed_conv_run(cx, conv, x));
    return heed_activate(cx, more ? heed_add(cx, y, more) : y, act);
}

heed_tensor *heed_conv_norm_run(heed_ctx *cx, const heed_conv_layer *conv, const heed_batch_norm_layer *norm,
                                heed_tensor *x, heed_activation act) {
    return heed_conv_norm_add_run(cx, conv, norm, x, NULL, act);
}

heed_tensor *heed_linear_norm_run(heed_ctx *cx, const heed_linear_layer *linear, const heed_batch_norm_layer *norm,
                                  heed_tensor *x) {
    const heed_param *const own = linear && linear->weight && linear->weight->target ? linear->weight->target
                                  : linear                                           ? linear->weight
                                                                                     : NULL;
    struct normed n;
    if (!own || !norm) return heed_param_tensor(cx, NULL);
    if (!linear->transposed && !own->adapters &&
        only_runs(cx, norm, x, params_linear(cx, linear->weight), linear->bias, &n)) {
        if (n.weight->rank > 2) /* of a convolution of 1 x 1 */
            n.weight = heed_reshape(cx, n.weight, 2, (int64_t[]){n.weight->shape[0], -1});
        return op_linear_normed(cx, heed_contiguous(cx, x), &n);
    }
    heed_tensor *const y = heed_linear_run(cx, linear, x, HEED_ACT_NONE);
    if (!y) return NULL;
    const int64_t C = y->shape[y->rank - 1], rows = C > 0 ? y->count / C : 0;
    heed_tensor *const flat = heed_batch_norm_run(cx, norm, heed_reshape(cx, y, 2, (int64_t[]){rows, C}));
    return heed_reshape(cx, flat, y->rank, y->shape);
}

bool heed_group_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t groups, int64_t channels,
                          float eps, heed_group_norm_layer *layer) {
    if (heed_failed(cx)) return false;
    if (!layer) return heed_fail(cx, HEED_ERR_USAGE, "group_norm: the layer is NULL");
    *layer = (heed_group_norm_layer){.groups = groups, .eps = eps};
    return affine_make(cx, set, prefix, channels, &layer->weight, &layer->bias);
}

heed_tensor *heed_group_norm_run(heed_ctx *cx, const heed_group_norm_layer *layer, heed_tensor *x) {
    heed_tensor *const gamma = heed_param_tensor(cx, layer ? layer->weight : NULL);
    if (!gamma) return NULL;
    return heed_group_norm(cx, x, layer->groups, gamma, heed_param_tensor(cx, layer->bias), layer->eps);
}
