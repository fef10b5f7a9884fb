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

#include "heed/attention.h"
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
    HEED_INIT_LSTM_BIAS,      /* the same, and b more for the forget gate, the second quarter */
    HEED_INIT_ORTHOGONAL,     /* rows of a matrix as heed_favor_draw's: orthogonal, with lengths of normal vectors */
} heed_init_kind;
typedef struct heed_init {
    heed_init_kind kind;
    float a, b;
} heed_init;

/* ---- parameters ---- */

typedef struct heed_params heed_params;
/* Whose numbers a parameter has, and whether files hold it. */
typedef enum heed_param_kind {
    HEED_PARAM_OWN,   /* its own, which files hold */
    HEED_PARAM_TIED,  /* those of `target`: another name, as for tied weights; files need not hold it */
    HEED_PARAM_FUSED, /* its own, which files hold as its slices */
    HEED_PARAM_SLICE, /* some rows of `target`, a fused parameter */
} heed_param_kind;
typedef enum heed_norm_part {
    HEED_NORM_NONE,
    HEED_NORM_AFFINE,
    HEED_NORM_RUNNING,
    HEED_NORM_BEFORE /* the weight before it, which is frozen with it */
} heed_norm_part;
typedef struct heed_param {
    const char *name;
    int rank;
    int64_t shape[HEED_MAX_RANK];
    int64_t count;
    float *value;      /* shared with the target, where there is one; NULL: the set is mapped, and only read */
    const void *data;  /* what is read: value, or the numbers of the file */
    heed_dtype dtype;  /* of data: f32, or bf16 and f16 when mapped */
    heed_dtype stored; /* in the file that it came from; it is saved so where that loses nothing */
    int index;         /* place in the set */
    heed_param_kind kind;
    struct heed_param *target; /* whose numbers it has; NULL: its own */
    struct heed_param *loose;  /* of a loose tie: whose it has unless a file gives it others */
    int64_t offset;            /* where they begin in the target's */
    bool optional;             /* a file may lack it: then it stays as it was drawn */
    bool head;                 /* of a head, whatever its name: fine-tuning may draw it fresh */
    bool needs_f32; /* f32 is needed: others than linear and embedding read it. All but matrices, unless said otherwise
                     */
    bool is_embedding;  /* a matrix that is looked up in, not multiplied with: an embedding that no output layer is tied
                           to */
    bool transposed;    /* a matrix (in,out), as GPT-2's Conv1D */
    const void *packed; /* a matrix in the layout that products read, beside data; NULL: it is not packed */
    heed_init init;
    bool decays; /* weight decay applies: not to biases and norms */
    bool frozen; /* no gradient */
    bool buffer; /* not a parameter: computed, as the running mean of batch norm; frozen, and no pattern changes it */
    heed_norm_part norm_part; /* what it is of a frozen batch norm */
    bool live;                /* of such a norm's running mean: it learns all the same, see heed_batch_norms_train */
    float lr_scale;           /* of the learning rate; 1 */
    bool linear;              /* the weight of a linear layer; only such can be adapted */
    bool lora;                /* a matrix of an adapter: the model's own files neither hold nor get it */
    bool external;            /* its numbers come from elsewhere: the model's own files are not asked */
    bool fresh;               /* drawn, since the file that the set came from lacks it */
    const struct param_resize *resize; /* of a table over a grid: how fine-tuning takes it from one of another size */
    struct heed_adapter *adapters;     /* of a linear layer's weight, those of slices with what they are slices of */
} heed_param;

/* Made empty, filled by the layers' make functions, then allocated: one block for all values, in order. Its memory is
 * that of the context that made it, which must outlive it; others may read it meanwhile. */
HEED_API heed_params *heed_params_new(heed_ctx *cx);
HEED_API void heed_params_free(heed_ctx *cx, heed_params *set);
HEED_API heed_param *heed_param_add(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int rank,
                                    const int64_t *shape, heed_init init);
/* Numbers that belong to a model and are not trained: saved, loaded and kept in checkpoints like parameters, without
 * gradient, moments, average and weight decay. Whoever computes them writes `value` between steps. Whole numbers, as
 * torch's num_batches_tracked, are saved as such when `stored` is set to HEED_I64. */
HEED_API heed_param *heed_param_buffer(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int rank,
                                       const int64_t *shape, heed_init init);
/* `prefix.name` is another name for target: it shares storage and gradient and is not written to files twice. */
HEED_API heed_param *heed_param_tie(heed_ctx *cx, heed_params *set, const char *prefix, const char *name,
                                    heed_param *target);
/* `prefix.name` is `rows` rows of `fused` from `row` on. Files hold the slices and not the fused parameter: so weights
 * that are published separately, as those of q, k and v, are one product. */
HEED_API heed_param *heed_param_slice(heed_ctx *cx, heed_params *set, const char *prefix, const char *name,
                                      heed_param *fused, int64_t row, int64_t rows);
/* Do files hold it under its name? Tied and fused parameters they do not. */
HEED_API bool heed_param_stored(const heed_param *p);
/* A name that files may have and that is not read: what can be computed. */
HEED_API bool heed_param_ignore(heed_ctx *cx, heed_params *set, const char *prefix, const char *name);
/* Zeroed memory for `count` things of `size` bytes that goes with the set: the layers of a stack. */
HEED_API void *heed_params_alloc(heed_ctx *cx, heed_params *set, size_t count, size_t size);
HEED_API bool heed_params_allocate(heed_ctx *cx, heed_params *set);
/* Fresh numbers for all: parameter i draws from stream i of the seed, so adding a layer at the end changes none before
 * it. */
HEED_API bool heed_params_init(heed_ctx *cx, heed_params *set, uint64_t seed);
HEED_API int heed_params_count(const heed_params *set);
HEED_API heed_param *heed_params_at(const heed_params *set, int i);
HEED_API heed_param *heed_params_find(const heed_params *set, const char *name);
HEED_API int64_t heed_params_size(const heed_params *set); /* of untied parameters and buffers */
/* Freezes the parameters whose names fit a pattern of the shell's kind ("bert.encoder.layer.[0-3].*"). How many did;
 * none is an error. */
HEED_API int heed_params_freeze(heed_ctx *cx, heed_params *set, const char *pattern);
/* Weight decay applies to those parameters alone whose names fit one of n such patterns, and of these not to biases and
 * norms. How many it applies to; a pattern that fits none is an error. */
HEED_API int heed_params_decay_only(heed_ctx *cx, heed_params *set, const char *const *patterns, int n);
/* Layer-wise learning rates (Howard & Ruder 2018): decay^k for the k-th layer from the top. Layers are known by the
 * number in their names ("layer.3."); what comes before the first is below it, what comes after the last above. */
HEED_API bool heed_params_layer_decay(heed_ctx *cx, heed_params *set, double decay);
/* The block of all values (untied parameters, in order, without gaps): what optimizers and averages walk over. */
HEED_API float *heed_params_block(const heed_params *set);

/* A tie that files may undo, as transformers 5 does: where a file holds both names with different numbers, they are two
 * parameters; otherwise one. Without a file it is tied or not as said here. Layers must use what is returned. */
HEED_API heed_param *heed_param_tie_loosely(heed_ctx *cx, heed_params *set, const char *prefix, const char *name,
                                            heed_param *target, bool tied, heed_init init);

/* Files. Strict: every missing, unexpected and misshapen name is listed in one sentence, and nothing is changed then.
 */
HEED_API bool heed_params_load(heed_ctx *cx, heed_params *set, const char *path);
/* Instead of allocating and loading, for running a model: the numbers stay in the file, which is mapped, as f32, bf16
 * or f16, and processes that map one file share its memory. Copied are only vectors that are not f32, slices of a fused
 * parameter that lie apart, and what is not aligned in the file. The set cannot be written. While it lives the file may
 * be replaced by renaming, as heed does, but not shortened: that would end the process with SIGBUS. */
HEED_API bool heed_params_map(heed_ctx *cx, heed_params *set, const char *path);
/* Packs the f32 matrices of a mapped set for products, which makes those of few rows (a sentence, some beams) up to
 * twice as fast and holds the weights twice. Nothing happens where they take more than 1 GiB, or the context has a byte
 * budget. */
HEED_API bool heed_params_pack(heed_ctx *cx, heed_params *set);
HEED_API size_t heed_params_mapped(const heed_params *set); /* bytes that are read from mapped files */
/* A mapped set becomes one of its own memory, in f32; trainers do it by themselves. */
HEED_API bool heed_params_own(heed_ctx *cx, heed_params *set);
/* Where all parameters that came from files in bf16 or f16 still have numbers that these types can hold, they are
 * saved so, else everything is f32. */
HEED_API bool heed_params_save(heed_ctx *cx, const heed_params *set, const char *path);

/* Where the gradients of a set go in this context: one heed_grad per parameter index (tied ones use their target's).
 * NULL unbinds. */
HEED_API void heed_bind(heed_ctx *cx, const heed_params *set, heed_grad *grads);
/* As f32, for any op. Of a matrix that is mapped in 16 bits this is a copy for the step: what goes into heed_linear,
 * heed_linear_cross_entropy or heed_embedding, which read such weights, is got with heed_param_weight. */
HEED_API heed_tensor *heed_param_tensor(heed_ctx *cx, const heed_param *p);
HEED_API heed_tensor *heed_param_weight(heed_ctx *cx, const heed_param *p);
/* n rows from `row` on, as f32: of a table of positions. */
HEED_API heed_tensor *heed_param_rows(heed_ctx *cx, const heed_param *p, int64_t row, int64_t n);

/* ---- adapters ---- LoRA (Hu et al. 2021): a linear layer with a frozen weight W gives W x + scale B A dropout(x),
 * where A (r,in) and B (rows,r) are trained. Heads and layers that run their weights with heed_linear_run, as
 * heed_multihead and heed_feed_forward do, need not know of them. */
typedef struct heed_adapter {
    heed_param *a, *b;
    int64_t row; /* of the layer's outputs, the first that B adds to */
    float scale, dropout;
    struct heed_adapter *next; /* of the same weight, further on */
} heed_adapter;
/* Adds MODULE.lora_A.weight and MODULE.lora_B.weight for the weight MODULE.weight, drawn as peft draws them: A as
 * torch.nn.Linear draws weights, B zero. Before the set is allocated. */
HEED_API bool heed_param_adapt(heed_ctx *cx, heed_params *set, heed_param *weight, int64_t rank, float scale,
                               float dropout);
/* Adds scale B A to every adapted weight; from then on there are no adapters, and A and B are not saved. */
HEED_API bool heed_params_merge(heed_ctx *cx, heed_params *set);

/* ---- layers ---- */

typedef struct heed_linear_layer {
    heed_param *weight, *bias; /* (out,in) or (out,in,1,1), (out) or NULL */
    bool transposed;           /* weight (in,out), as GPT-2's Conv1D */
} heed_linear_layer;
HEED_API bool heed_linear_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, bool bias,
                               heed_linear_layer *layer);
HEED_API heed_tensor *heed_linear_run(heed_ctx *cx, const heed_linear_layer *layer, heed_tensor *x,
                                      heed_activation act);

typedef struct heed_embedding_layer {
    heed_param *weight; /* (V,C) */
    int32_t padding;    /* the token that is looked up but, as with torch's padding_idx, not learnt from; -1: none */
} heed_embedding_layer;
HEED_API bool heed_embedding_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t vocabulary, int64_t width,
                                  heed_embedding_layer *layer);
HEED_API heed_tensor *heed_embedding_run(heed_ctx *cx, const heed_embedding_layer *layer, heed_tensor *ids);

typedef struct heed_norm_layer {
    heed_param *weight, *bias; /* (C); bias NULL: none, as for RMS */
    float eps;
    bool rms;
    bool around_one; /* the weight is what is added to 1, as Gemma's */
} heed_norm_layer;
HEED_API bool heed_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width, bool rms, float eps,
                             heed_norm_layer *layer);
HEED_API heed_tensor *heed_norm_run(heed_ctx *cx, const heed_norm_layer *layer, heed_tensor *x);
HEED_API heed_tensor *heed_add_norm_run(heed_ctx *cx, const heed_norm_layer *layer, heed_tensor *x,
                                        heed_tensor *residual, heed_tensor **sum);

/* Stochastic depth (Huang et al. 2016): while training, each example (first axis) of x is dropped with probability p,
 * else divided by 1 - p; x itself otherwise. */
HEED_API heed_tensor *heed_drop_path(heed_ctx *cx, heed_tensor *x, float p);

/* ---- layers of pictures ---- named and drawn as those of torch.nn, with the options of heed/ops.h */
typedef struct heed_conv_layer {
    heed_param *weight, *bias; /* bias NULL: none */
    heed_conv_opts opts;
    bool transposed;
} heed_conv_layer;
/* From `in` channels to `out`: weight (out, in / groups, kernel…), of transposed ones (in, out / groups, kernel…). opts
 * may be NULL. */
HEED_API bool heed_conv2d_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out,
                               const int64_t kernel[2], bool bias, const heed_conv_opts *opts, heed_conv_layer *layer);
HEED_API bool heed_conv1d_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out,
                               int64_t kernel, bool bias, const heed_conv_opts *opts, heed_conv_layer *layer);
HEED_API bool heed_conv_transpose2d_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out,
                                         const int64_t kernel[2], bool bias, const heed_conv_opts *opts,
                                         heed_conv_layer *layer);
HEED_API bool heed_conv_transpose1d_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out,
                                         int64_t kernel, bool bias, const heed_conv_opts *opts, heed_conv_layer *layer);
HEED_API heed_tensor *heed_conv_run(heed_ctx *cx, const heed_conv_layer *layer, heed_tensor *x);

/* weight, bias, and the buffers running_mean, running_var and num_batches_tracked. While training, the batch's
 * statistics are used and forward writes the buffers: by one context at a time. Otherwise the buffers are used. Of a
 * batch that is trained in parts, each part has statistics of its own, and the running ones take in one part after the
 * other: the same as PyTorch's where gradients are accumulated. Computed twice (heed_recompute), a batch counts once; a
 * moving average of weights goes with the latest statistics, as torch's AveragedModel. */
typedef struct heed_batch_norm_layer {
    heed_param *weight, *bias, *running_mean, *running_var, *num_batches_tracked;
    float eps, momentum; /* momentum 0: the average of all batches */
    bool frozen;         /* the buffers are used while training, too, unless running_mean->live */
} heed_batch_norm_layer;
HEED_API bool heed_batch_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, float eps,
                                   float momentum, heed_batch_norm_layer *layer);
/* Frozen: the buffers are used while training, too, and weight and bias are buffers as well; there is no
 * num_batches_tracked. So detectors have the norms of their backbones. */
HEED_API bool heed_frozen_batch_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels,
                                          float eps, float momentum, heed_batch_norm_layer *layer);
/* Whether the frozen batch norms of a set learn: from scratch they must, since fresh ones normalise nothing. Weights
 * before them that are frozen with them learn either way, and what heed_params_freeze has frozen does not. Before the
 * set is bound to gradients or given to a trainer; a file does not say it. How many norms there are. */
HEED_API int heed_batch_norms_train(heed_ctx *cx, heed_params *set, bool train);
HEED_API heed_tensor *heed_batch_norm_run(heed_ctx *cx, const heed_batch_norm_layer *layer, heed_tensor *x);
/* norm(conv(x)), then the activation; the same with more added before it; and norm(linear(x)) of x (…,C), whose
 * statistics are over all but the last axis. A model that is only run normalises, adds and activates on the way out of
 * the product, which is the same but for rounding. */
HEED_API heed_tensor *heed_conv_norm_run(heed_ctx *cx, const heed_conv_layer *conv, const heed_batch_norm_layer *norm,
                                         heed_tensor *x, heed_activation act);
HEED_API heed_tensor *heed_conv_norm_add_run(heed_ctx *cx, const heed_conv_layer *conv,
                                             const heed_batch_norm_layer *norm, heed_tensor *x, heed_tensor *more,
                                             heed_activation act);
HEED_API heed_tensor *heed_linear_norm_run(heed_ctx *cx, const heed_linear_layer *linear,
                                           const heed_batch_norm_layer *norm, heed_tensor *x);

typedef struct heed_group_norm_layer {
    heed_param *weight, *bias;
    int64_t groups;
    float eps;
} heed_group_norm_layer;
HEED_API bool heed_group_norm_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t groups, int64_t channels,
                                   float eps, heed_group_norm_layer *layer);
HEED_API heed_tensor *heed_group_norm_run(heed_ctx *cx, const heed_group_norm_layer *layer, heed_tensor *x);

/* Linear layers with an activation between them: names prefix.0.weight, prefix.2.weight, ... as torch.nn.Sequential of
 * Linear and activation has them. sizes: n + 1 widths, input first. dropout after every hidden activation. */
typedef struct heed_mlp {
    int layers;
    heed_linear_layer *layer; /* memory of the parameter set */
    heed_activation act;
    float dropout;
} heed_mlp;
HEED_API bool heed_mlp_make(heed_ctx *cx, heed_params *set, const char *prefix, const int64_t *sizes, int layers,
                            heed_activation act, float dropout, heed_mlp *mlp);
HEED_API heed_tensor *heed_mlp_run(heed_ctx *cx, const heed_mlp *mlp, heed_tensor *x);

/* ---- recurrent layers ---- stacks of RNN, GRU or LSTM layers, batch first, named and drawn as those of torch.nn:
 * prefix.weight_ih_l0, prefix.weight_hh_l0, prefix.bias_ih_l0, prefix.bias_hh_l0, with a projection
 * prefix.weight_hr_l0, and the same with _reverse behind for the other direction. */
typedef struct heed_rnn_opts {
    heed_cell_kind kind;
    int64_t inputs, units; /* C and H */
    int64_t projection;    /* P of an LSTM, below H; 0: none, then P is H */
    int layers;
    bool bias, bidirectional;
    float dropout;     /* between layers, while training */
    float forget_bias; /* of an LSTM: added to the fresh bias of the forget gate; 1 lets it remember at first (Gers et
                        * al. 2000; Jozefowicz et al. 2015) */
} heed_rnn_opts;
typedef struct heed_rnn_cell {
    heed_param *w_ih, *w_hh, *b_ih, *b_hh, *w_hr; /* as in heed_cell_weights; biases and w_hr may be NULL */
} heed_rnn_cell;
typedef struct heed_rnn {
    heed_rnn_opts opts;
    heed_rnn_cell *cell; /* (layers, directions), memory of the parameter set */
} heed_rnn;
typedef struct heed_rnn_state {
    heed_tensor *h, *c; /* (layers * directions, B, P) and, of an LSTM, (layers * directions, B, H) */
} heed_rnn_state;
HEED_API bool heed_rnn_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_rnn_opts *opts,
                            heed_rnn *rnn);
/* x (B,T,C) -> (B,T,P), both directions side by side: (B,T,2P). lengths (B) i32 or NULL; first: the states to start
 * from, or NULL: zeros; last: the states at each row's end, or NULL. With T = 1 it is a step of decoding. */
HEED_API heed_tensor *heed_rnn_run(heed_ctx *cx, const heed_rnn *rnn, heed_tensor *x, heed_tensor *lengths,
                                   const heed_rnn_state *first, heed_rnn_state *last);

/* ---- attention blocks ---- named and drawn as those of torch.nn, batch first. Letters as in heed/attention.h */

/* Multi-head attention (Vaswani et al. 2017). Names of torch.nn.MultiheadAttention: in_proj_weight, in_proj_bias,
 * out_proj.weight, out_proj.bias; with widths of keys or values of their own, q_proj_weight, k_proj_weight and
 * v_proj_weight instead of in_proj_weight. */
typedef struct heed_multihead_opts {
    int64_t width, heads;           /* C and H, which divides it */
    int64_t key_width, value_width; /* of k and v, Ck and Cv; 0: width */
    bool bias;
    float dropout; /* of the weights, while training */
} heed_multihead_opts;
/* Families fill it themselves, with names of their own. C is the width of what goes in and comes out; H query heads
 * and G key-value heads of D numbers each, where H D need not be C. */
typedef struct heed_multihead {
    heed_linear_layer in; /* C -> (H + 2G) D, rows of q, k, v: one product; weight NULL: */
    heed_linear_layer q, k,
        v;                 /* C -> H D, Ck -> G D, Cv -> G D; without biases of their own they have rows of in.bias */
    heed_linear_layer out; /* H D -> C */
    int64_t width, heads, key_width, value_width;
    int64_t kv_heads, head_size;    /* G, D; 0: H, C / H */
    const heed_rotary_opts *rotary; /* turns queries and keys; NULL: does not. Options may give other positions */
    bool by_head; /* rows of `in` are q, k and v of head 0, then those of head 1, …, as GPT-NeoX's; G = H */
    heed_norm_layer q_norm, k_norm; /* of each head's D numbers, before they are turned; weight NULL: none */
    heed_norm_layer norm;           /* of the heads side by side, before `out`; weight NULL: none */
    float scale;                    /* of scores; 0: 1 / sqrt(D) */
    float cap;                      /* of scaled scores: cap tanh(s / cap); 0: none */
    float dropout;
} heed_multihead;
HEED_API bool heed_multihead_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_multihead_opts *opts,
                                  heed_multihead *layer);
/* q (B,Tq,C), k (B,Tk,Ck), v (B,Tk,Cv) -> (B,Tq,C); packed, with offsets: (Nq,C), (Nk,Ck), (Nk,Cv) -> (Nq,C). Equal
 * pointers are projected at once: self attention takes one product for q, k and v, cross attention one for k and v.
 * opts may be NULL; its dropout is the layer's. */
HEED_API heed_tensor *heed_multihead_run(heed_ctx *cx, const heed_multihead *layer, heed_tensor *q, heed_tensor *k,
                                         heed_tensor *v, const heed_attention_opts *opts);
/* Decoding, without gradients and dropout. The cache has H heads of C / H numbers; opts->layer is the cache's layer
 * too. Self attention: x (B,T,C), what is new, is appended and then sees what is held as opts->mask says -> (B,T,C).
 * counts (B): how many of the T are real; NULL: all. Rotary turns queries and keys. What was appended stays when the
 * rest fails. */
HEED_API heed_tensor *heed_multihead_step(heed_ctx *cx, const heed_multihead *layer, heed_tensor *x, heed_cache *cache,
                                          const int32_t *counts, const heed_attention_opts *opts);
/* Cross attention: k and v are remembered once, then recalled for every q (B,Tq,C) -> (B,Tq,C). The cache may have B /
 * n sequences: n rows in a row, the beams of a sentence, are then queries of one sequence, and opts->mask has n Tq. */
HEED_API bool heed_multihead_remember(heed_ctx *cx, const heed_multihead *layer, heed_tensor *k, heed_tensor *v,
                                      heed_cache *cache, int cache_layer, const int32_t *counts);
HEED_API heed_tensor *heed_multihead_recall(heed_ctx *cx, const heed_multihead *layer, heed_tensor *q,
                                            const heed_cache *cache, const heed_attention_opts *opts);

/* linear2(dropout(act(linear1(x)))): names prefix.linear1.weight, ... Gated (Shazeer 2020), which families fill in:
 * linear2(dropout(act(gate(x)) linear1(x))). */
typedef struct heed_feed_forward {
    heed_linear_layer linear1, linear2; /* C -> hidden, hidden -> C */
    heed_linear_layer gate;             /* C -> hidden; weight NULL: none */
    bool fused;                         /* linear1 is C -> 2 hidden: first the rows of the gate, then its own */
    bool gate_last;                     /* or first its own, then those of the gate, as diffusers' GEGLU */
    heed_norm_layer norm;               /* of what enters linear2; weight NULL: none */
    heed_activation act;
    float dropout;
} heed_feed_forward;
HEED_API bool heed_feed_forward_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width, int64_t hidden,
                                     bool bias, heed_activation act, float dropout, heed_feed_forward *layer);
HEED_API heed_tensor *heed_feed_forward_run(heed_ctx *cx, const heed_feed_forward *layer, heed_tensor *x);

/* Layers and stacks of the Transformer: names of torch.nn.TransformerEncoderLayer (self_attn.*, linear1.*, linear2.*,
 * norm1.*, norm2.*) and TransformerDecoderLayer (and multihead_attn.*, norm3.*), in stacks after "layers.N.", with the
 * stack's own norm as "norm.*". Masks may be NULL. Capture knows the attentions as "encoder", "decoder" and "cross",
 * and their layers by number. LayerDrop (Fan et al. 2020): in training, each layer of a stack is dropped with this
 * probability, for the whole batch. */
typedef struct heed_transformer_opts {
    int64_t width, heads, hidden;
    heed_activation act;
    float dropout, eps; /* eps 0: 1e-5 */
    bool bias;          /* of linear layers and norms */
    bool norm_first;    /* pre-norm: x + f(norm(x)), not norm(x + f(x)) */
    int layers;         /* of a stack */
    bool final_norm;
    float layer_drop; /* of a stack: LayerDrop */
} heed_transformer_opts;

typedef struct heed_encoder_layer {
    heed_multihead self_attn;
    heed_feed_forward feed_forward;
    heed_norm_layer norm1, norm2; /* bias NULL: none; weight NULL: pre-norm without it, as ModernBERT's first norm1 */
    heed_norm_layer post1,
        post2; /* pre-norm: of the sublayers' outputs, before they are added, as Gemma 2's; or NULL */
    heed_param *scale1,
        *scale2;          /* (C): pre-norm, what they are multiplied by (LayerScale, Touvron et al. 2021); or NULL */
    float drop_path;      /* pre-norm: of each sublayer's output, as heed_drop_path */
    bool parallel;        /* pre-norm: x + attention(norm1(x)) + feed_forward(norm2(x)), as GPT-NeoX's */
    int64_t window;       /* attention sees positions closer than this; 0: all */
    float dropout;        /* of the sublayers' outputs */
    bool keeps_attention; /* that of attention is not dropped, as DistilBERT's */
    bool keeps_hidden;    /* that of the feed-forward layer is not, as ALBERT's */
    bool norm_first;
    int number;       /* in its stack, for capture and caches */
    const char *site; /* what capture calls its attention; NULL: "encoder" */
} heed_encoder_layer;
HEED_API bool heed_encoder_layer_make(heed_ctx *cx, heed_params *set, const char *prefix,
                                      const heed_transformer_opts *opts, heed_encoder_layer *layer);
HEED_API heed_tensor *heed_encoder_layer_run(heed_ctx *cx, const heed_encoder_layer *layer, heed_tensor *x,
                                             const heed_mask *mask); /* (B,T,C) -> (B,T,C) */

typedef struct heed_decoder_layer {
    heed_multihead self_attn, multihead_attn;
    heed_feed_forward feed_forward;
    heed_norm_layer norm1, norm2, norm3;
    float dropout;
    bool norm_first;
    int number; /* in its stack, for capture and caches */
} heed_decoder_layer;
HEED_API bool heed_decoder_layer_make(heed_ctx *cx, heed_params *set, const char *prefix,
                                      const heed_transformer_opts *opts, heed_decoder_layer *layer);
/* x (B,T,C), memory (B,S,C), what the encoder gave -> (B,T,C). self: over x, most often causal; cross: over memory. */
HEED_API heed_tensor *heed_decoder_layer_run(heed_ctx *cx, const heed_decoder_layer *layer, heed_tensor *x,
                                             heed_tensor *memory, const heed_mask *self, const heed_mask *cross);

typedef struct heed_encoder {
    int layers;
    heed_encoder_layer *layer; /* memory of the parameter set */
    heed_norm_layer norm;      /* weight NULL: none */
    float layer_drop;
} heed_encoder;
HEED_API bool heed_encoder_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_transformer_opts *opts,
                                heed_encoder *encoder);
/* Without gradients, two layers' temporaries are held at any time. */
HEED_API heed_tensor *heed_encoder_run(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x,
                                       const heed_mask *mask);

/* The same with any options of attention that all layers share: a mask, a bias by distance, positions of the layers'
 * rotary. What belongs to a layer (site, layer, scale, dropout, window) is the layer's. */
HEED_API heed_tensor *heed_encoder_attend(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x,
                                          const heed_attention_opts *opts);
/* The first position of that, the class token's: (B,T,C) -> (B,1,C). While training the last layer computes no
 * other. */
HEED_API heed_tensor *heed_encoder_attend_first(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x,
                                                const heed_attention_opts *opts);

/* The same over a cache, for decoders without an encoder: x (B,T,C) is what is new, and every position sees itself and
 * those before it, as heed_encoder_run with a causal mask. mask: beside that, over the keys held; may be NULL. */
HEED_API heed_tensor *heed_encoder_step(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x, heed_cache *cache,
                                        const int32_t *counts, const heed_mask *mask);
/* The same with options that all layers share, as of heed_encoder_attend: the mask is beside the causal one. */
HEED_API heed_tensor *heed_encoder_step_attend(heed_ctx *cx, const heed_encoder *encoder, heed_tensor *x,
                                               heed_cache *cache, const int32_t *counts,
                                               const heed_attention_opts *opts);

typedef struct heed_decoder {
    int layers;
    heed_decoder_layer *layer;
    heed_norm_layer norm;
    float layer_drop;
} heed_decoder;
HEED_API bool heed_decoder_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_transformer_opts *opts,
                                heed_decoder *decoder);
HEED_API heed_tensor *heed_decoder_run(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *x, heed_tensor *memory,
                                       const heed_mask *self, const heed_mask *cross);
/* The same with any options that all layers' attention to themselves shares, as heed_encoder_attend has them. */
HEED_API heed_tensor *heed_decoder_attend(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *x,
                                          heed_tensor *memory, const heed_attention_opts *self, const heed_mask *cross);
/* Decoding with two caches, of one layer for each of the stack: memory (B,S,C) is cached once, lengths (B) of it or
 * NULL; then every step takes what is new, x (B,T,C), and gives what heed_decoder_run with a causal mask gives there.
 * The cross cache may have B / n sequences: n rows in a row, the beams of a sentence, then look at one memory. */
HEED_API bool heed_decoder_remember(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *memory, heed_cache *cross,
                                    const int32_t *lengths);
HEED_API heed_tensor *heed_decoder_step(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *x, heed_cache *self,
                                        const heed_cache *cross, const int32_t *counts);
/* With options of attention to itself beside being causal, such as a bias by distance (heed_cache_attend says over
 * which keys). */
HEED_API heed_tensor *heed_decoder_step_attend(heed_ctx *cx, const heed_decoder *decoder, heed_tensor *x,
                                               heed_cache *self, const heed_cache *cross, const int32_t *counts,
                                               const heed_attention_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
