/* heed/nn.h: parameters with names, and the layers that own them.
 *
 * A parameter set is what a model is made of: an ordered list of names, shapes and numbers. It is filled once (fresh or
 * from a file) and then only read, by any number of contexts at once; a trainer writes it between steps. Names are
 * dotted paths as in PyTorch's state_dict
 * ("layers.0.weight"), so files go back and forth without a converter.
 *
 * A layer is a small struct of pointers to parameters. heed_X_make declares them under a prefix; heed_X_run uses them.
 * Gradients belong to whoever trains: heed_bind tells a context where they go; unbound contexts compute none. */
#ifndef HEED_NN_H
#define HEED_NN_H

#include "heed/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how fresh numbers are drawn: PyTorch's initialisers ---- fan_in, fan_out as torch.nn.init counts them */
typedef enum heed_init_kind {
    HEED_INIT_ZEROS,
    HEED_INIT_ONES,
    HEED_INIT_CONSTANT,        /* a */
    HEED_INIT_UNIFORM,         /* [a, b) */
    HEED_INIT_NORMAL,          /* mean a, deviation b */
    HEED_INIT_TRUNCATED,       /* mean a, deviation b, within two deviations */
    HEED_INIT_KAIMING_UNIFORM, /* a: negative slope; sqrt(5) is what torch.nn.Linear uses; fan in */
    HEED_INIT_KAIMING_NORMAL,
    HEED_INIT_XAVIER_UNIFORM, /* a: gain */
    HEED_INIT_XAVIER_NORMAL,
    HEED_INIT_FAN_IN_UNIFORM, /* [-1/sqrt(n), 1/sqrt(n)), n = a: the bias of torch.nn.Linear */
} heed_init_kind;
typedef struct heed_init {
    heed_init_kind kind;
    float a, b;
} heed_init;

/* ---- parameters ---- */

typedef struct heed_params heed_params;
typedef struct heed_param {
    const char *name;
    int rank;
    int64_t shape[HEED_MAX_RANK];
    int64_t count;
    float *value;            /* shared with the target when tied */
    int index;               /* place in the set */
    struct heed_param *tied; /* another name for this parameter; NULL for one of its own */
    heed_init init;
    bool decays; /* weight decay applies: not to biases and norms */
    bool frozen; /* no gradient */
} heed_param;

/* Made empty, filled by the layers' make functions, then allocated: one block for all values, in order. Its memory is
 * that of the context that made it, which must outlive it; others may read it meanwhile. */
HEED_API heed_params *heed_params_new(heed_ctx *cx);
HEED_API void heed_params_free(heed_ctx *cx, heed_params *set);
HEED_API heed_param *heed_param_add(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int rank,
                                    const int64_t *shape, heed_init init);
/* `prefix.name` is another name for target: it shares storage and gradient and is not written to files twice. */
HEED_API heed_param *heed_param_tie(heed_ctx *cx, heed_params *set, const char *prefix, const char *name,
                                    heed_param *target);
HEED_API bool heed_params_allocate(heed_ctx *cx, heed_params *set);
/* Fresh numbers for all: parameter i draws from stream i of the seed, so adding a layer at the end changes none before
 * it. */
HEED_API bool heed_params_init(heed_ctx *cx, heed_params *set, uint64_t seed);
HEED_API int heed_params_count(const heed_params *set);
HEED_API heed_param *heed_params_at(const heed_params *set, int i);
HEED_API heed_param *heed_params_find(const heed_params *set, const char *name);
HEED_API int64_t heed_params_numbers(const heed_params *set); /* of untied parameters */
/* The block of all values (untied parameters, in order, without gaps): what optimizers and averages walk over. */
HEED_API float *heed_params_block(const heed_params *set);

/* Files. Strict: every missing, unexpected and misshapen name is listed in one sentence, and nothing is changed then.
 */
HEED_API bool heed_params_load(heed_ctx *cx, heed_params *set, const char *path);
HEED_API bool heed_params_save(heed_ctx *cx, const heed_params *set, const char *path);

/* Where the gradients of a set go in this context: one heed_grad per parameter index (tied ones use their target's).
 * NULL unbinds. */
HEED_API void heed_bind(heed_ctx *cx, const heed_params *set, heed_grad *grads);
HEED_API heed_tensor *heed_param_tensor(heed_ctx *cx, const heed_param *p);

/* ---- layers ---- */

typedef struct heed_linear_layer {
    heed_param *weight, *bias; /* (out,in), (out) or NULL */
} heed_linear_layer;
HEED_API bool heed_linear_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, bool bias,
                               heed_linear_layer *layer);
HEED_API heed_tensor *heed_linear_run(heed_ctx *cx, const heed_linear_layer *layer, heed_tensor *x,
                                      heed_activation act);

typedef struct heed_embedding_layer {
    heed_param *weight; /* (V,C) */
} heed_embedding_layer;
HEED_API bool heed_embedding_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t vocabulary, int64_t width,
                                  heed_embedding_layer *layer);
HEED_API heed_tensor *heed_embedding_run(heed_ctx *cx, const heed_embedding_layer *layer, heed_tensor *ids);

typedef struct heed_norm_layer {
    heed_param *weight, *bias; /* (C); bias NULL for RMS */
    float eps;
    bool rms;
} heed_norm_layer;
HEED_API bool heed_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width, bool rms, float eps,
                             heed_norm_layer *layer);
HEED_API heed_tensor *heed_norm_run(heed_ctx *cx, const heed_norm_layer *layer, heed_tensor *x);
HEED_API heed_tensor *heed_add_norm_run(heed_ctx *cx, const heed_norm_layer *layer, heed_tensor *x,
                                        heed_tensor *residual, heed_tensor **sum);

/* Stochastic depth (Huang et al. 2016): while training, each example (first axis) of x is dropped with probability p,
 * else divided by 1 - p; x itself otherwise. */
HEED_API heed_tensor *heed_drop_path(heed_ctx *cx, heed_tensor *x, float p);

/* Linear layers with an activation between them: names prefix.0.weight, prefix.2.weight, ... as torch.nn.Sequential of
 * Linear and activation has them. sizes: n + 1 widths, input first. dropout after every hidden activation. */
#define HEED_MLP_MOST 32
typedef struct heed_mlp {
    int layers;
    heed_linear_layer layer[HEED_MLP_MOST];
    heed_activation act;
    float dropout;
} heed_mlp;
HEED_API bool heed_mlp_make(heed_ctx *cx, heed_params *set, const char *prefix, const int64_t *sizes, int layers,
                            heed_activation act, float dropout, heed_mlp *mlp);
HEED_API heed_tensor *heed_mlp_run(heed_ctx *cx, const heed_mlp *mlp, heed_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
