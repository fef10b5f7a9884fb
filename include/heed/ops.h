/* heed/ops.h: the ops.  Each takes the context first and returns NULL when anything is wrong; see heed/tensor.h.
 *
 * Broadcasting is PyTorch's. Axes may be negative: -1 is the last. Gradients exist for every f32 input unless a line
 * says "no gradient". Where nothing else is said, arguments are f32. */
#ifndef HEED_OPS_H
#define HEED_OPS_H

#include "heed/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- elementwise ---- */
HEED_API heed_tensor *heed_add(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_sub(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_mul(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_div(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_pow(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_maximum(heed_ctx *cx, heed_tensor *a, heed_tensor *b); /* ties: half the gradient each */
HEED_API heed_tensor *heed_minimum(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_affine(heed_ctx *cx, heed_tensor *x, float scale, float shift); /* scale x + shift */
HEED_API heed_tensor *heed_clamp(heed_ctx *cx, heed_tensor *x, float low, float high);
HEED_API heed_tensor *heed_power(heed_ctx *cx, heed_tensor *x, float exponent);
HEED_API heed_tensor *heed_leaky_relu(heed_ctx *cx, heed_tensor *x, float slope);
HEED_API heed_tensor *heed_elu(heed_ctx *cx, heed_tensor *x, float alpha);
HEED_API heed_tensor *heed_neg(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_abs(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_sign(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_exp(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_expm1(heed_ctx *cx, heed_tensor *x); /* exp(x) - 1 */
HEED_API heed_tensor *heed_log(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_log1p(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_sqrt(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_rsqrt(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_square(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_reciprocal(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_sin(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_cos(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_tanh(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_sigmoid(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_relu(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_gelu(heed_ctx *cx, heed_tensor *x);      /* x Phi(x) */
HEED_API heed_tensor *heed_gelu_tanh(heed_ctx *cx, heed_tensor *x); /* its tanh approximation, as GPT-2's */
HEED_API heed_tensor *heed_silu(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_softplus(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_relu6(heed_ctx *cx, heed_tensor *x);        /* min(relu(x), 6) */
HEED_API heed_tensor *heed_relu2(heed_ctx *cx, heed_tensor *x);        /* relu(x)^2 */
HEED_API heed_tensor *heed_quick_gelu(heed_ctx *cx, heed_tensor *x);   /* x sigmoid(1.702 x), as CLIP's */
HEED_API heed_tensor *heed_mish(heed_ctx *cx, heed_tensor *x);         /* x tanh(softplus(x)) */
HEED_API heed_tensor *heed_hardswish(heed_ctx *cx, heed_tensor *x);    /* x relu6(x + 3) / 6 */
HEED_API heed_tensor *heed_laplace(heed_ctx *cx, heed_tensor *x);      /* P(X < x), X normal, as MEGA's */
HEED_API heed_tensor *heed_gelu_10(heed_ctx *cx, heed_tensor *x);      /* gelu within [-10, 10] */
HEED_API heed_tensor *heed_sqrtsoftplus(heed_ctx *cx, heed_tensor *x); /* sqrt(softplus(x)) */
HEED_API heed_tensor *heed_erf(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_floor(heed_ctx *cx, heed_tensor *x); /* floor, ceil, round: gradient zero */
HEED_API heed_tensor *heed_ceil(heed_ctx *cx, heed_tensor *x);
HEED_API heed_tensor *heed_round(heed_ctx *cx, heed_tensor *x); /* half to even */

/* ---- comparisons, u8 results, no gradient ---- a, b both f32 or both i32 */
HEED_API heed_tensor *heed_equal(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_not_equal(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_less(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_less_equal(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_greater(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_greater_equal(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_and(heed_ctx *cx, heed_tensor *a, heed_tensor *b); /* of u8 */
HEED_API heed_tensor *heed_or(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_xor(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_not(heed_ctx *cx, heed_tensor *a);
HEED_API heed_tensor *heed_where(heed_ctx *cx, heed_tensor *cond, heed_tensor *a, heed_tensor *b); /* cond u8 */
/* Among f32, i32, u8, bf16 and f16; no gradient. */
HEED_API heed_tensor *heed_cast(heed_ctx *cx, heed_tensor *x, heed_dtype to);

/* ---- activations ---- what linear applies to its result: the functions above of the same names */
typedef enum heed_activation {
    HEED_ACT_NONE,
    HEED_ACT_RELU,
    HEED_ACT_GELU,
    HEED_ACT_GELU_TANH,
    HEED_ACT_SILU,
    HEED_ACT_TANH,
    HEED_ACT_SIGMOID,
    HEED_ACT_SOFTPLUS,
    HEED_ACT_LEAKY_RELU, /* slope 0.01 */
    HEED_ACT_ELU,        /* alpha 1 */
    HEED_ACT_RELU6,
    HEED_ACT_RELU2,
    HEED_ACT_QUICK_GELU,
    HEED_ACT_MISH,
    HEED_ACT_HARDSWISH,
    HEED_ACT_LAPLACE,
    HEED_ACT_GELU_10,
    HEED_ACT_SQRTSOFTPLUS
} heed_activation;
/* By the name that config.json files use, which is that of transformers' ACT2FN ("gelu_new", "swish") or of torch.nn
 * ("identity"). False when there is none; `act` may be NULL. */
HEED_API bool heed_activation_find(const char *name, heed_activation *act);
HEED_API const char *heed_activation_names(void); /* all of them: "linear, identity, relu, gelu, ..." */
HEED_API heed_tensor *heed_activate(heed_ctx *cx, heed_tensor *x, heed_activation act); /* alone; x itself for none */

/* ---- products ---- */
/* (…,M,K) x (…,K,N) -> (…,M,N), batch axes broadcast, vectors as torch.matmul treats them. trans_a: a is (…,K,M);
 * trans_b: b is (…,N,K). */
HEED_API heed_tensor *heed_matmul(heed_ctx *cx, heed_tensor *a, heed_tensor *b);
HEED_API heed_tensor *heed_matmul_trans(heed_ctx *cx, heed_tensor *a, bool trans_a, heed_tensor *b, bool trans_b);
/* act(x W' + bias): x (…,in), weight (out,in), bias (out) or NULL -> (…,out). The weight may be bf16 or f16: it is read
 * as f32, bit for bit as if it had been cast, and is frozen. */
HEED_API heed_tensor *heed_linear(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias);
HEED_API heed_tensor *heed_linear_act(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                      heed_activation act);
/* act(x W + bias) with weight (in,out), as GPT-2's Conv1D stores it */
HEED_API heed_tensor *heed_linear_transposed(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                             heed_activation act);

/* ---- reductions over n axes; axes NULL means all ---- keep: reduced axes stay with size 1 */
HEED_API heed_tensor *heed_sum(heed_ctx *cx, heed_tensor *x, const int *axes, int n, bool keep);
HEED_API heed_tensor *heed_mean(heed_ctx *cx, heed_tensor *x, const int *axes, int n, bool keep);
HEED_API heed_tensor *heed_max(heed_ctx *cx, heed_tensor *x, const int *axes, int n,
                               bool keep); /* ties share the gradient */
HEED_API heed_tensor *heed_min(heed_ctx *cx, heed_tensor *x, const int *axes, int n, bool keep);
HEED_API heed_tensor *heed_variance(heed_ctx *cx, heed_tensor *x, const int *axes, int n, bool keep, int correction);
HEED_API heed_tensor *heed_logsumexp(heed_ctx *cx, heed_tensor *x, const int *axes, int n, bool keep);
HEED_API heed_tensor *heed_norm(heed_ctx *cx, heed_tensor *x, float p, const int *axes, int n,
                                bool keep); /* p may be INFINITY */
HEED_API heed_tensor *heed_cumsum(heed_ctx *cx, heed_tensor *x, int axis);
HEED_API heed_tensor *heed_argmax(heed_ctx *cx, heed_tensor *x, int axis,
                                  bool keep); /* i32, the first of equals; no gradient */
HEED_API heed_tensor *heed_argmin(heed_ctx *cx, heed_tensor *x, int axis, bool keep);
/* The k largest of the last axis, descending; values and i32 indices. No gradient: gather the values for one. */
HEED_API bool heed_topk(heed_ctx *cx, heed_tensor *x, int64_t k, heed_tensor **values, heed_tensor **indices);

/* ---- rows ---- */
HEED_API heed_tensor *heed_softmax(heed_ctx *cx, heed_tensor *x, int axis); /* a row of -inf gives zeros */
HEED_API heed_tensor *heed_log_softmax(heed_ctx *cx, heed_tensor *x, int axis);
HEED_API heed_tensor *heed_glu(heed_ctx *cx, heed_tensor *x); /* (…,2N) -> (…,N): a sigmoid(b) of its halves a, b */
/* (…,T,C) -> the same: Re(F_T x F_C), the real part of the Fourier transform along both axes, of any lengths */
HEED_API heed_tensor *heed_fourier_mix(heed_ctx *cx, heed_tensor *x);
/* (…,H,W) -> the same: pictures of which only frequencies f with low < f <= high are left, in waves to the shorter
 * side; low below 0 leaves the mean too. A disc of the centred spectrum is (-1, radius), what lies outside it (radius,
 * INFINITY). */
HEED_API heed_tensor *heed_fourier_band(heed_ctx *cx, heed_tensor *x, float low, float high);
/* Over the last axis; gamma, beta (C) or NULL. The add_ forms take h = x + residual first and give h out too (h may be
 * NULL). */
HEED_API heed_tensor *heed_layer_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *gamma, heed_tensor *beta, float eps);
HEED_API heed_tensor *heed_rms_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *gamma, float eps);
HEED_API heed_tensor *heed_add_layer_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *residual, heed_tensor *gamma,
                                          heed_tensor *beta, float eps, heed_tensor **h);
HEED_API heed_tensor *heed_add_rms_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *residual, heed_tensor *gamma,
                                        float eps, heed_tensor **h);
HEED_API heed_tensor *heed_dropout(heed_ctx *cx, heed_tensor *x, float p); /* x itself unless training and p > 0 */

/* ---- indices ---- i32, checked; a bad one is named with its place */
HEED_API heed_tensor *heed_embedding(heed_ctx *cx, heed_tensor *table,
                                     heed_tensor *ids); /* (V,C), (…) -> (…,C); the table may be bf16 or f16, frozen */
HEED_API heed_tensor *heed_gather(heed_ctx *cx, heed_tensor *x, int axis, heed_tensor *index); /* torch.gather */
HEED_API heed_tensor *heed_scatter_add(heed_ctx *cx, heed_tensor *x, int axis, heed_tensor *index, heed_tensor *src);
HEED_API heed_tensor *heed_index_select(heed_ctx *cx, heed_tensor *x, int axis, heed_tensor *index); /* index (n) */

/* ---- recurrent networks ---- one layer in one direction over whole sequences, as torch.nn has them (Elman 1990; GRU,
 * Cho et al. 2014; LSTM, Hochreiter & Schmidhuber 1997). H units, P outputs (H without a projection), G gates in
 * torch's order: 1 (RNN), r z n (GRU), i f g o (LSTM). The layers of heed/nn.h are made of it. */
typedef enum heed_cell_kind { HEED_RNN_TANH, HEED_RNN_RELU, HEED_GRU, HEED_LSTM } heed_cell_kind;
typedef struct heed_cell_weights {
    heed_tensor *w_ih, *w_hh; /* (GH,C), (GH,P); bf16 or f16 too, frozen, as w_hr */
    heed_tensor *b_ih, *b_hh; /* (GH) or NULL */
    heed_tensor *w_hr;        /* (P,H): an LSTM with a projection (Sak et al. 2014); NULL: none */
} heed_cell_weights;
typedef struct heed_recurrent_opts {
    heed_tensor *h0, *c0; /* (B,P), (B,H) of an LSTM; NULL: zeros */
    heed_tensor *lengths; /* (B) i32, 0 .. T; NULL: T. Behind its end a row gives zeros, and its states stay */
    bool reverse;         /* from each row's own end to its beginning */
} heed_recurrent_opts;
/* x (B,T,C) -> (B,T,P); the final states h_n (B,P) and, of an LSTM, c_n (B,H). opts, hn and cn may be NULL. */
HEED_API heed_tensor *heed_recurrent(heed_ctx *cx, heed_cell_kind kind, heed_tensor *x, const heed_cell_weights *cell,
                                     const heed_recurrent_opts *opts, heed_tensor **hn, heed_tensor **cn);

/* ---- pictures ---- (B,C,H,W), as torch.nn.functional has them; the 1-d forms take sequences (B,C,T) and the first of
 * each pair of options. */
typedef struct heed_conv_opts {
    int64_t stride[2], dilation[2]; /* along rows and columns; 0: 1 */
    int64_t padding[2];             /* zeros before and behind; a transposed convolution cuts off as many */
    int64_t more[2];                /* so many more behind, for padding that differs by side; may be negative */
    int64_t output_padding[2];      /* of transposed ones: places more at the end */
    int64_t groups;                 /* 0: 1; C groups of a channel each: depthwise */
} heed_conv_opts;
/* y[b,o,i] = bias[o] + sum_{c,k} w[o,c,k] x[b,c, i stride - padding + k dilation], for o and c of the same group:
 * weight (O,C/groups,KH,KW), bias (O) or NULL -> (B,O,OH,OW), OH = (H + 2 padding + more - dilation (KH - 1) - 1) /
 * stride + 1, rounded down. opts may be NULL. */
HEED_API heed_tensor *heed_conv2d(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                  const heed_conv_opts *opts);
HEED_API heed_tensor *heed_conv1d(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                  const heed_conv_opts *opts);
/* The map that takes a convolution's dy to its dx: weight (C,O/groups,KH,KW), bias (O) or NULL -> (B,O,OH,OW), OH = (H
 * - 1) stride - 2 padding - more + dilation (KH - 1) + output_padding + 1. */
HEED_API heed_tensor *heed_conv_transpose2d(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                            const heed_conv_opts *opts);
HEED_API heed_tensor *heed_conv_transpose1d(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                            const heed_conv_opts *opts);

typedef struct heed_pool_opts {
    int64_t kernel[2], stride[2]; /* of windows, along rows and columns; stride 0: the window's */
    int64_t padding[2];           /* before and behind, at most half a window: never the largest, 0 in averages */
    int64_t dilation[2];          /* of max pooling; 0: 1 */
    bool ceil_mode;               /* the last window may reach beyond the end, as torch's */
    bool exclude_padding;         /* averages are over places inside: torch's count_include_pad = False */
} heed_pool_opts;
/* (B,C,H,W) -> (B,C,OH,OW), OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1, rounded down, or up in ceil
 * mode. Of equals the first is the largest and gets the gradient. */
HEED_API heed_tensor *heed_max_pool2d(heed_ctx *cx, heed_tensor *x, const heed_pool_opts *opts);
HEED_API heed_tensor *heed_avg_pool2d(heed_ctx *cx, heed_tensor *x, const heed_pool_opts *opts);
HEED_API heed_tensor *heed_max_pool1d(heed_ctx *cx, heed_tensor *x, const heed_pool_opts *opts);
HEED_API heed_tensor *heed_avg_pool1d(heed_ctx *cx, heed_tensor *x, const heed_pool_opts *opts);
/* To any size: window i is places i H / rows, rounded down, to (i + 1) H / rows, rounded up. */
HEED_API heed_tensor *heed_adaptive_max_pool2d(heed_ctx *cx, heed_tensor *x, int64_t rows, int64_t columns);
HEED_API heed_tensor *heed_adaptive_avg_pool2d(heed_ctx *cx, heed_tensor *x, int64_t rows, int64_t columns);
HEED_API heed_tensor *heed_adaptive_max_pool1d(heed_ctx *cx, heed_tensor *x, int64_t places);
HEED_API heed_tensor *heed_adaptive_avg_pool1d(heed_ctx *cx, heed_tensor *x, int64_t places);

/* (x - mean) / sqrt(variance + eps) gamma + beta: x (B,C,…), all others (C); gamma and beta may be NULL. Mean and
 * variance are given, as those of a trained network, and have no gradient; both NULL: those of the batch. */
HEED_API heed_tensor *heed_batch_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *gamma, heed_tensor *beta,
                                      heed_tensor *mean, heed_tensor *variance, float eps);
typedef struct heed_running {
    float *mean,
        *variance;  /* (C), written by forward: r += momentum (batch's - r), of the unbiased variance; or NULL */
    float *count;   /* of batches, + 1; or NULL */
    float momentum; /* 0: 1 / count, the average of all */
} heed_running;
/* With the batch's statistics, and the running ones kept. running may be NULL. */
HEED_API heed_tensor *heed_batch_norm_running(heed_ctx *cx, heed_tensor *x, heed_tensor *gamma, heed_tensor *beta,
                                              const heed_running *running, float eps);
/* The same with mean and variance over C / groups channels of each example. */
HEED_API heed_tensor *heed_group_norm(heed_ctx *cx, heed_tensor *x, int64_t groups, heed_tensor *gamma,
                                      heed_tensor *beta, float eps);

typedef enum heed_interpolation { HEED_NEAREST, HEED_NEAREST_EXACT, HEED_BILINEAR, HEED_BICUBIC } heed_interpolation;
typedef struct heed_interpolate_opts {
    heed_interpolation kind;
    int64_t size[2];    /* rows and columns of the result; 0: */
    double scale[2];    /* as many times those of x, rounded down */
    bool align_corners; /* the corners' centres keep their places; bilinear and bicubic */
    bool antialias;     /* the same */
} heed_interpolate_opts;
/* (B,C,H,W) -> (B,C,rows,columns), as torch.nn.functional.interpolate */
HEED_API heed_tensor *heed_interpolate(heed_ctx *cx, heed_tensor *x, const heed_interpolate_opts *opts);

/* cols[b, (c,k), i] = x[b, c, i stride - padding + k dilation]: (B,C,H,W) -> (B, C KH KW, OH OW), and the transpose,
 * which adds patches up to a picture of `size`. Of opts: stride, padding, dilation; may be NULL. */
HEED_API heed_tensor *heed_unfold(heed_ctx *cx, heed_tensor *x, const int64_t kernel[2], const heed_conv_opts *opts);
HEED_API heed_tensor *heed_fold(heed_ctx *cx, heed_tensor *x, const int64_t size[2], const int64_t kernel[2],
                                const heed_conv_opts *opts);
/* Outlook attention (Yuan et al. 2021), channels last: x (B,H,W,C), weights (B, OH OW, heads, KH KW, KH KW) of windows.
 * Every place of a window gets a sum over the window's places, and what windows give one place adds up:
 * fold(weights unfold(x)), of x's shape. Of opts: stride, padding; may be NULL. */
HEED_API heed_tensor *heed_outlook(heed_ctx *cx, heed_tensor *x, heed_tensor *weights, const int64_t kernel[2],
                                   const heed_conv_opts *opts);

/* ---- shapes ---- reshape, slice, split are views where they can be; the others copy. x may be of any type. */
HEED_API heed_tensor *heed_reshape(heed_ctx *cx, heed_tensor *x, int rank,
                                   const int64_t *shape); /* one size may be -1 */
HEED_API heed_tensor *heed_slice(heed_ctx *cx, heed_tensor *x, int axis, int64_t start, int64_t length);
HEED_API bool heed_split(heed_ctx *cx, heed_tensor *x, int axis, const int64_t *sizes, int n, heed_tensor **out);
HEED_API heed_tensor *heed_concat(heed_ctx *cx, heed_tensor *const *xs, int n, int axis);
HEED_API heed_tensor *heed_stack(heed_ctx *cx, heed_tensor *const *xs, int n, int axis);
HEED_API heed_tensor *heed_permute(heed_ctx *cx, heed_tensor *x, const int *axes);
HEED_API heed_tensor *heed_transpose(heed_ctx *cx, heed_tensor *x, int axis_a, int axis_b);
HEED_API heed_tensor *heed_expand(heed_ctx *cx, heed_tensor *x, int rank, const int64_t *shape); /* -1 keeps a size */
HEED_API heed_tensor *heed_pad(heed_ctx *cx, heed_tensor *x, const int64_t *before, const int64_t *after, float value);
HEED_API heed_tensor *heed_roll(heed_ctx *cx, heed_tensor *x, int64_t shift, int axis);
HEED_API heed_tensor *heed_flip(heed_ctx *cx, heed_tensor *x, int axis);
HEED_API heed_tensor *heed_contiguous(heed_ctx *cx, heed_tensor *x); /* x itself when it is */
HEED_API heed_tensor *heed_detach(heed_ctx *cx, heed_tensor *x);     /* the same numbers, no gradient beyond */

/* ---- losses ---- scalars unless the reduction is none */
typedef enum heed_reduction { HEED_REDUCE_MEAN, HEED_REDUCE_SUM, HEED_REDUCE_NONE } heed_reduction;
HEED_API heed_tensor *heed_mse_loss(heed_ctx *cx, heed_tensor *x, heed_tensor *y, heed_reduction reduction);
HEED_API heed_tensor *heed_l1_loss(heed_ctx *cx, heed_tensor *x, heed_tensor *y, heed_reduction reduction);
HEED_API heed_tensor *heed_huber_loss(heed_ctx *cx, heed_tensor *x, heed_tensor *y, float delta,
                                      heed_reduction reduction);
HEED_API heed_tensor *heed_bce_loss(heed_ctx *cx, heed_tensor *logits, heed_tensor *y,
                                    heed_reduction reduction); /* y in [0,1] */
/* q (log q - log p), log_p given, 0 where q is 0; mean divides by all numbers, as torch's kl_div with "mean". */
HEED_API heed_tensor *heed_kl_loss(heed_ctx *cx, heed_tensor *log_p, heed_tensor *q, heed_reduction reduction);

typedef struct heed_cross_entropy_opts {
    float smoothing; /* label smoothing, as torch's */
    bool ignore;     /* rows whose target is ignore_index count for nothing */
    int32_t ignore_index;
    heed_reduction reduction; /* mean divides by the rows that count; none of them gives 0, not NaN */
} heed_cross_entropy_opts;
/* logits (…,V); target i32 (…). opts NULL: mean, no smoothing. */
HEED_API heed_tensor *heed_cross_entropy(heed_ctx *cx, heed_tensor *logits, heed_tensor *target,
                                         const heed_cross_entropy_opts *opts);
/* Soft targets: p (…,V), rows summing to 1; -sum p log softmax(logits). Smoothing and reduction as above; ignore
 * unused. */
HEED_API heed_tensor *heed_cross_entropy_soft(heed_ctx *cx, heed_tensor *logits, heed_tensor *p,
                                              const heed_cross_entropy_opts *opts);
/* cross_entropy(linear(x, weight, bias), target) that never holds the logits: x (…,C), weight (V,C), bf16 and f16 too,
 * bias (V) or NULL. */
HEED_API heed_tensor *heed_linear_cross_entropy(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                                heed_tensor *target, const heed_cross_entropy_opts *opts);
/* -log of the density of a pen's step x (…,2) and of whether its stroke ends, pen (…) i32, 0 or 1, below 0: the step
 * does not count (Graves 2013). y (…,6M+1): end of stroke e, P(end) = 1 / (1 + exp(e)), then of a mixture of M
 * bivariate normal densities the weights (softmax), both means, both deviations (exp, held within exp(+-10)) and the
 * correlation (tanh, its argument held within +-6). mean divides by the steps that count; none of them gives 0. */
HEED_API heed_tensor *heed_mixture_loss(heed_ctx *cx, heed_tensor *y, heed_tensor *x, heed_tensor *pen,
                                        heed_reduction reduction);

#ifdef __cplusplus
}
#endif
#endif
