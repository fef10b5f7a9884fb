/* Layers: linear, embedding, norms, stochastic depth, and the MLP made of them. */
#include "nn/params.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdio.h>

/* ---- linear ---- W and b drawn as torch.nn.Linear draws them */

bool heed_linear_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, bool bias,
                      heed_linear_layer *layer) {
    if (heed_failed(cx)) return false;
    if (!layer) return heed_fail(cx, HEED_ERR_USAGE, "linear: the layer is NULL");
    *layer = (heed_linear_layer){0};
    layer->weight = heed_param_add(cx, set, prefix, "weight", 2, (int64_t[]){out, in},
                                   (heed_init){HEED_INIT_KAIMING_UNIFORM, sqrtf(5), 0});
    if (layer->weight) layer->weight->linear = true;
    if (bias)
        layer->bias =
            heed_param_add(cx, set, prefix, "bias", 1, &out, (heed_init){HEED_INIT_FAN_IN_UNIFORM, (float)in, 0});
    return !heed_failed(cx);
}

heed_tensor *heed_linear_run(heed_ctx *cx, const heed_linear_layer *layer, heed_tensor *x, heed_activation act) {
    heed_tensor *weight = params_linear(cx, layer ? layer->weight : NULL);
    heed_tensor *bias = layer && layer->bias ? heed_param_tensor(cx, layer->bias) : NULL;
    const heed_param *const own = layer && layer->weight && layer->weight->target ? layer->weight->target
                                  : layer                                         ? layer->weight
                                                                                  : NULL;
    const bool adapted = own && own->adapters;
    if (weight && weight->rank > 2) /* of a convolution of 1 x 1 */
        weight = heed_reshape(cx, weight, 2, (int64_t[]){weight->shape[0], -1});
    const heed_activation fused = adapted ? HEED_ACT_NONE : act;
    heed_tensor *const y = layer && layer->transposed ? heed_linear_transposed(cx, x, weight, bias, fused)
                                                      : heed_linear_act(cx, x, weight, bias, fused);
    if (!adapted) return y;
    return heed_activate(cx, params_adapted(cx, layer->weight, x, y, 0, params_outputs(layer->weight)), act);
}

/* ---- embedding ---- */

bool heed_embedding_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t vocabulary, int64_t width,
                         heed_embedding_layer *layer) {
    if (heed_failed(cx)) return false;
    if (!layer) return heed_fail(cx, HEED_ERR_USAGE, "embedding: the layer is NULL");
    layer->weight = heed_param_add(cx, set, prefix, "weight", 2, (int64_t[]){vocabulary, width},
                                   (heed_init){HEED_INIT_NORMAL, 0, 1});
    if (layer->weight) layer->weight->is_embedding = true;
    layer->padding = -1;
    return !heed_failed(cx);
}

/* ids (…) -> (…,1): which of them are `token` */
static heed_tensor *is_token(heed_ctx *cx, heed_tensor *ids, int32_t token) {
    int64_t shape[HEED_MAX_RANK];
    for (int i = 0; i < ids->rank; i++) shape[i] = ids->shape[i];
    shape[ids->rank] = 1;
    return heed_reshape(cx, heed_equal(cx, ids, heed_from_i32(cx, &token, 0, NULL)), ids->rank + 1, shape);
}

heed_tensor *heed_embedding_run(heed_ctx *cx, const heed_embedding_layer *layer, heed_tensor *ids) {
    heed_tensor *x = heed_embedding(cx, heed_param_weight(cx, layer ? layer->weight : NULL), ids);
    if (!x || layer->padding < 0 || !heed_wants_grad(x)) return x;
    return heed_where(cx, is_token(cx, ids, layer->padding), heed_detach(cx, x), x);
}

/* ---- norms ---- */

bool heed_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width, bool rms, float eps,
                    heed_norm_layer *layer) {
    if (heed_failed(cx)) return false;
    if (!layer) return heed_fail(cx, HEED_ERR_USAGE, "norm: the layer is NULL");
    *layer = (heed_norm_layer){.eps = eps, .rms = rms};
    layer->weight = heed_param_add(cx, set, prefix, "weight", 1, &width, (heed_init){.kind = HEED_INIT_ONES});
    if (!rms) layer->bias = heed_param_add(cx, set, prefix, "bias", 1, &width, (heed_init){.kind = HEED_INIT_ZEROS});
    return !heed_failed(cx);
}

static heed_tensor *gamma_of(heed_ctx *cx, const heed_norm_layer *layer) {
    heed_tensor *const weight = heed_param_tensor(cx, layer ? layer->weight : NULL);
    return weight && layer->around_one ? heed_affine(cx, weight, 1, 1) : weight;
}

heed_tensor *heed_norm_run(heed_ctx *cx, const heed_norm_layer *layer, heed_tensor *x) {
    heed_tensor *gamma = gamma_of(cx, layer);
    if (!gamma) return NULL;
    heed_tensor *beta = layer->bias ? heed_param_tensor(cx, layer->bias) : NULL;
    return layer->rms ? heed_rms_norm(cx, x, gamma, layer->eps) : heed_layer_norm(cx, x, gamma, beta, layer->eps);
}

heed_tensor *heed_add_norm_run(heed_ctx *cx, const heed_norm_layer *layer, heed_tensor *x, heed_tensor *residual,
                               heed_tensor **sum) {
    heed_tensor *gamma = gamma_of(cx, layer);
    if (!gamma) return NULL;
    heed_tensor *beta = layer->bias ? heed_param_tensor(cx, layer->bias) : NULL;
    return layer->rms ? heed_add_rms_norm(cx, x, residual, gamma, layer->eps, sum)
                      : heed_add_layer_norm(cx, x, residual, gamma, beta, layer->eps, sum);
}

/* ---- stochastic depth ---- dropout of ones, one number an example, laid over x */

heed_tensor *heed_drop_path(heed_ctx *cx, heed_tensor *x, float p) {
    const struct engine *e = engine_of(cx);
    if (!e || !x) return NULL;
    if (!(p >= 0 && p <= 1)) {
        heed_fail(cx, HEED_ERR_RANGE, "drop_path: p = %g is not between 0 and 1", (double)p);
        return NULL;
    }
    if (!e->training || p == 0 || x->rank == 0) return x;
    int64_t shape[HEED_MAX_RANK] = {x->shape[0]};
    for (int i = 1; i < x->rank; i++) shape[i] = 1;
    return heed_mul(cx, x, heed_dropout(cx, heed_full(cx, 1, x->rank, shape), p));
}

/* ---- MLP ---- */

bool heed_mlp_make(heed_ctx *cx, heed_params *set, const char *prefix, const int64_t *sizes, int layers,
                   heed_activation act, float dropout, heed_mlp *mlp) {
    if (heed_failed(cx)) return false;
    if (!mlp || !sizes || layers < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "mlp: the mlp and its sizes are needed, and at least 1 layer, not %d",
                         layers);
    *mlp = (heed_mlp){.layers = layers, .act = act, .dropout = dropout};
    mlp->layer = heed_params_alloc(cx, set, (size_t)layers, sizeof *mlp->layer);
    for (int i = 0; mlp->layer && i < layers; i++) {
        char name[128];
        const bool dotted = prefix && *prefix;
        /* every other place is the activation's */
        snprintf(name, sizeof name, "%s%s%d", dotted ? prefix : "", dotted ? "." : "", 2 * i);
        if (!heed_linear_make(cx, set, name, sizes[i], sizes[i + 1], true, &mlp->layer[i])) return false;
    }
    return !heed_failed(cx);
}

heed_tensor *heed_mlp_run(heed_ctx *cx, const heed_mlp *mlp, heed_tensor *x) {
    for (int i = 0; mlp && i + 1 < mlp->layers; i++)
        x = heed_dropout(cx, heed_linear_run(cx, &mlp->layer[i], x, mlp->act), mlp->dropout);
    return heed_linear_run(cx, mlp && mlp->layers > 0 ? &mlp->layer[mlp->layers - 1] : NULL, x, HEED_ACT_NONE);
}
