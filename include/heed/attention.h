/* heed/attention.h: scores, masks, positions, pooling, exact attention, the key-value cache, and capture of the
 * weights.
 *
 * Letters: B batch, T time (Tq queries, Tk keys), H heads, G key-value heads, D size of a query and key head, E of a
 * value head. Exact attention works on (B,T,H,D), heads inside time: what a linear layer gives, reshaped, and slices of
 * a fused projection need no copy. docs/attention.md explains it all with pictures. */
#ifndef HEED_ATTENTION_H
#define HEED_ATTENTION_H

#include "heed/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- masks: typed values ---- One meaning everywhere: training, running, the cache, capture.
 *
 * Key j is visible to query i when every part of the mask allows it. A row that sees no key gives zeros, and its
 * gradient is zero. Masked values never enter a result: NaN there does no harm. Positions count from the first
 * key: query i has position i + offset. {0} is no mask. */
typedef struct heed_mask {
    bool causal, windowed, blocked;
    int64_t offset;             /* position of query 0 among the keys, for causal, window and blocks */
    int64_t window;             /* |i + offset - j| < window */
    int64_t block;              /* (i + offset) / block = j / block */
    heed_tensor *key_lengths;   /* (B) i32: j < key_lengths[b] */
    heed_tensor *query_lengths; /* (B) i32: rows from there on are padding: zeros */
    heed_tensor *keep;          /* u8, (B,H,Tq,Tk), any of the first three may be 1: 0 hides */
    heed_tensor *add;           /* f32, the same shapes: added to the score, with gradient; -inf hides */
} heed_mask;

HEED_API heed_mask heed_mask_none(void);
HEED_API heed_mask heed_mask_causal(int64_t offset);                 /* j <= i + offset, offset >= 0 */
HEED_API heed_mask heed_mask_window(int64_t window, int64_t offset); /* window >= 1 */
HEED_API heed_mask heed_mask_blocks(int64_t block, int64_t offset);  /* block >= 1 */
HEED_API heed_mask heed_mask_lengths(heed_tensor *key_lengths, heed_tensor *query_lengths); /* either may be NULL */
HEED_API heed_mask heed_mask_keep(heed_tensor *keep);
HEED_API heed_mask heed_mask_add(heed_tensor *add);
/* Of an attention_mask (B,Tk), 0 for padding: lengths where every row is tokens, then padding; a bitmap otherwise. */
HEED_API heed_mask heed_mask_padding(heed_ctx *cx, heed_tensor *attention_mask);
/* Both masks at once. Fails when their offsets differ or both have lengths of the same side; two bitmaps are
 * joined by and, two biases by plus. */
HEED_API heed_mask heed_mask_both(heed_ctx *cx, heed_mask a, heed_mask b);
/* The mask as a bitmap: u8 (B,H,Tq,Tk), with B, H, Tq 1 where it does not depend on them. `add` is not looked at. */
HEED_API heed_tensor *heed_mask_bitmap(heed_ctx *cx, const heed_mask *mask, int64_t batch, int64_t heads,
                                       int64_t queries, int64_t keys);

/* ---- scores, normalisers, pooling: the parts of attention, apart ----
 *
 * q (…,Tq,Dq), k (…,Tk,Dk) -> scores (…,Tq,Tk); leading axes are the same. Every tensor gets its gradient. */
typedef enum heed_score_kind {
    HEED_SCORE_DOT,          /* q'k */
    HEED_SCORE_SCALED_DOT,   /* q'k / sqrt(D) */
    HEED_SCORE_BILINEAR,     /* q'Mk,  m (Dq,Dk) */
    HEED_SCORE_ADDITIVE,     /* w' tanh(W_q q + W_k k),  wq (h,Dq), wk (h,Dk), w (h): never holds (…,Tq,Tk,h) */
    HEED_SCORE_DISTANCE,     /* -u^2 / 2,  u = |q - k| * sharpness */
    HEED_SCORE_GAUSSIAN,     /* the kernels of Nadaraya-Watson, of the same u: exp(-u^2/2) */
    HEED_SCORE_BOXCAR,       /* 1 where u <= 1; its gradient is zero */
    HEED_SCORE_TRIANGULAR,   /* max(0, 1 - u) */
    HEED_SCORE_EPANECHNIKOV, /* max(0, 1 - u^2) */
} heed_score_kind;
typedef struct heed_score_opts {
    heed_score_kind kind;
    heed_tensor *m;           /* bilinear */
    heed_tensor *wq, *wk, *w; /* additive; wq and wk may be NULL when q and k are projected already (Dq = Dk = h) */
    heed_tensor *sharpness;   /* distance and kernels: one number, 1 / width; NULL: 1 */
    const char *site;         /* of heed_attention_pool, what capture calls it; NULL: "attention" */
    int layer;
    int64_t row; /* the number of the first query: of a recurrent decoder, which runs step by step */
} heed_score_opts;
HEED_API heed_tensor *heed_scores(heed_ctx *cx, heed_tensor *q, heed_tensor *k, const heed_score_opts *opts);

typedef enum heed_normaliser {
    HEED_NORMALISE_SOFTMAX,
    HEED_NORMALISE_SUM,     /* s / sum of s: Nadaraya-Watson; a row that sums to 0 gives zeros */
    HEED_NORMALISE_SIGMOID, /* each on its own */
    HEED_NORMALISE_NONE,
} heed_normaliser;
/* scores (B,Tq,Tk) or (B,H,Tq,Tk) -> weights; hidden ones are 0. mask may be NULL. */
HEED_API heed_tensor *heed_normalise(heed_ctx *cx, heed_tensor *scores, heed_normaliser how, const heed_mask *mask);
/* Score, normalise, pool: v (…,Tk,E) -> (…,Tq,E); *weights, when wanted, (…,Tq,Tk). Captured, with axes before those of
 * scores as B and H. */
HEED_API heed_tensor *heed_attention_pool(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                          const heed_score_opts *score, heed_normaliser how, const heed_mask *mask,
                                          heed_tensor **weights);

/* ---- positions ---- */

/* (T,C): sin and cos of (start + t) / base^(2i/C), base 10000, Vaswani et al. 2017. Interleaved: columns 2i and 2i + 1;
 * halved: all sines, then all cosines, as Marian's. C is even. */
HEED_API heed_tensor *heed_sine_positions(heed_ctx *cx, int64_t start, int64_t length, int64_t width, bool halved);

/* Rotary positions (Su et al. 2021): pairs of channels of x (B,T,H,D) are rotated by position * base^(-2i/R), R the
 * channels that are rotated (0: all D). Pairs are (i, i + R/2), as LLaMA's and GPT-NeoX's, or (2i, 2i + 1) when
 * interleaved, as RoFormer's and GPT-J's. Angles of any other kind are worked out beforehand, once for all layers. */
typedef struct heed_rotary_opts {
    float base; /* 0: 10000 */
    int64_t channels;
    bool interleaved;
    int64_t start;          /* position of t = 0 */
    heed_tensor *positions; /* (T) or (B,T) i32 instead of start + t, or NULL */
    heed_tensor *angles;    /* (T,R) or (B,T,R) instead of all this but `interleaved`: cosines, then sines; or NULL */
} heed_rotary_opts;
HEED_API heed_tensor *heed_rotary(heed_ctx *cx, heed_tensor *x, const heed_rotary_opts *opts);
/* Such angles: factor cos(position speeds[i]), then factor sin(…), for R / 2 speeds; (T,R) of positions start,
 * start + 1, …, or, where positions are given, their shape and R. Products are rounded to f32 as PyTorch's are, so that
 * far positions are those of models that were trained there. */
HEED_API heed_tensor *heed_rotary_angles(heed_ctx *cx, const float *speeds, int64_t pairs, float factor, int64_t start,
                                         int64_t length, heed_tensor *positions);

/* T5's relative positions (Raffel et al. 2020): the bucket of key position minus query position, in [0, buckets). */
HEED_API int64_t heed_t5_bucket(int64_t relative, bool bidirectional, int64_t buckets, int64_t max_distance);
/* table (buckets,H) -> (H, Tq + Tk - 1), to be given as opts.distance_bias. */
HEED_API heed_tensor *heed_t5_bias(heed_ctx *cx, heed_tensor *table, int64_t queries, int64_t keys, int64_t offset,
                                   bool bidirectional, int64_t max_distance);
/* ALiBi's slopes (Press et al. 2022) for any number of heads. */
HEED_API bool heed_alibi_slopes(heed_ctx *cx, int64_t heads, float *slopes);

/* ---- exact attention ----   y = softmax(scale q k' + bias) v       Dao et al. 2022, tiled for CPUs
 *
 * q (B,Tq,H,D), k (B,Tk,G,D), v (B,Tk,G,E) -> (B,Tq,H,E); G divides H: query head h reads key head h / (H / G). Memory
 * grows with T, never with Tq x Tk; what is masked away in whole tiles is not computed. Packed sequences: q (Nq,H,D),
 * k (Nk,G,D), v (Nk,G,E) -> (Nq,H,E) with offsets; sequence b has rows offsets[b] .. offsets[b+1]. */
typedef struct heed_attention_opts {
    heed_mask mask;
    float scale;   /* 0: 1 / sqrt(D) */
    float cap;     /* scaled scores s become cap tanh(s / cap), before any bias; 0: they do not */
    float dropout; /* of the weights, while training */
    bool alibi;    /* adds -slope_h |i + offset - j| */
    heed_tensor
        *distance_bias; /* (H or 1, Tq + Tk - 1): column j - i + Tq - 1 is added to score (i,j); with gradient */
    const heed_rotary_opts *rotary;           /* q and k are rotated first, to positions mask.offset + i and j */
    heed_tensor *query_offsets, *key_offsets; /* (B + 1) i32, both or none; no lengths then */
    const char *site; /* what capture calls this attention: "encoder", "decoder", "cross"; NULL: "attention" */
    int layer;
} heed_attention_opts;
HEED_API heed_tensor *heed_attention(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                     const heed_attention_opts *opts);

/* The same of one fused projection, qkv (B,T,(H + 2G) D), rows of q, k and v side by side -> (B,T,H,D), or packed (N,…)
 * -> (N,H,D): saves taking the gradient of the parts together. Both offsets are the same when packed. */
HEED_API heed_tensor *heed_self_attention(heed_ctx *cx, heed_tensor *qkv, int64_t heads, int64_t kv_heads,
                                          const heed_attention_opts *opts);

/* ---- attention within chunks ---- The Reformer's (Kitaev et al. 2020). The T positions of each of R rounds, in some
 * order, are cut into chunks; a query sees the keys of its own chunk, of `before` chunks before it and `after` after
 * it, in a ring over all rounds. x (B,T,3 H D), rows of q, k and v side by side -> (B,T,H,D). Cost O(R T W D), memory
 * O(R T D), W = chunk (1 + before + after). Where T is at most one chunk, all see all. */
typedef struct heed_chunk_opts {
    int64_t heads;
    int64_t chunk, before, after; /* chunk divides T, or is longer */
    bool causal;
    bool shared;        /* x (B,T,2 H D), rows of q and v: keys are the queries, of root mean square 1, and no position
                         * sees itself, unless it sees nothing else */
    heed_tensor *order; /* i32 (B,H,R,T), positions in each round; NULL: one round, in order */
    heed_tensor *keep;  /* u8 (B,T), 0 for positions that nobody sees; or NULL */
    float dropout;      /* of the weights, while training */
    const char *site;   /* what capture calls it; its maps are (B,H,R T,W), slot by slot */
    int layer;
} heed_chunk_opts;
HEED_API heed_tensor *heed_chunk_attention(heed_ctx *cx, heed_tensor *x, const heed_chunk_opts *opts);

/* Positions sorted by locality-sensitive hashes: x (B,T,C), of whose rows the first H D numbers count, and rotations
 * (H,D,R,K) -> i32 (B,H,R,T); *buckets, where not NULL, i32 (B,H,R,T) by position. The number of buckets is a product
 * of even factors, K half their sum; masked positions come last. */
#define HEED_LSH_FACTORS 8
#define HEED_LSH_BUCKETS (1 << 30)
typedef struct heed_lsh_opts {
    int factors;
    int64_t factor[HEED_LSH_FACTORS];
    heed_tensor *keep; /* u8 (B,T), or NULL */
} heed_lsh_opts;
HEED_API heed_tensor *heed_lsh_order(heed_ctx *cx, heed_tensor *x, heed_tensor *rotations, const heed_lsh_opts *opts,
                                     heed_tensor **buckets);
/* Normal numbers (heads, size, rounds, directions): torch.randn's after torch.manual_seed(*seed); without a seed the
 * context's, anew in each step while training and those of `layer` otherwise. */
HEED_API heed_tensor *heed_lsh_rotations(heed_ctx *cx, int64_t heads, int64_t size, int64_t rounds, int64_t directions,
                                         const int64_t *seed, int layer);

/* The kernel alone, on arrays of any strides (in floats; the last axis has no gaps), without tensors or tape. */
typedef struct heed_strides {
    int64_t batch, time, head;
} heed_strides;
typedef struct heed_attention_arrays {
    int64_t batch, heads, kv_heads, queries, keys, key_size, value_size; /* B H G Tq Tk D E */
    const float *q, *k, *v;
    heed_strides q_at, k_at, v_at;
    float *y;
    heed_strides y_at;
    float *lse;  /* (B,H,Tq): the log-sum-exp of each row, -inf where nothing is seen; or NULL */
    float scale; /* 0: 1 / sqrt(D) */
    float cap;   /* 0: none */
    bool causal;
    int64_t offset, window;                     /* window 0: none */
    const int32_t *key_lengths, *query_lengths; /* (B) or NULL */
    const uint8_t *keep;                        /* (B,H,Tq,Tk) by these strides, 0 repeats; or NULL */
    int64_t keep_batch, keep_head, keep_query;
    const float *add;
    int64_t add_batch, add_head, add_query;
    const float *slopes; /* (H): ALiBi's, or NULL */
} heed_attention_arrays;
HEED_API bool heed_attention_run(heed_ctx *cx, const heed_attention_arrays *a);

/* ---- linear attention ----   y_i = sum_j a_ij v_j / sum_j a_ij,   a_ij = q_i'k_j exp(s_j)     Katharopoulos et al.
 * 2020
 *
 * q and k are features: q (B,Tq,H,M), k (B,Tk,H,M), v (B,Tk,H,E) -> (B,Tq,H,E). Time and memory grow with Tq + Tk, in
 * both passes. A causal mask goes by chunks and holds no T x M x E; no key changes a bit of queries before it. M is at
 * most 2048, E 256, M E 2^18. */
typedef struct heed_linear_attention_opts {
    heed_mask mask;         /* causal with offset 0, lengths, and keep (B or 1,1,1,Tk); others cannot be */
    heed_tensor *key_shift; /* s (B,Tk,H), without gradient; NULL: 0 */
    const char *site;       /* what capture calls it; NULL: "attention" */
    int layer;
} heed_linear_attention_opts;
HEED_API heed_tensor *heed_linear_attention(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                            const heed_linear_attention_opts *opts);

/* Random features f(x), so that f(x)'f(y) exp(shift_x + shift_y) has the mean exp(scale^2 x'y): FAVOR+, Choromanski et
 * al. 2021. x (B,T,H,D) or any (…,D), w (m,D) drawn -> (…,m), or (…,2 m) of two functions; *shift (…), when wanted, is
 * what linear attention takes as key_shift (that of queries cancels). The gradient holds the shift, which is as well.
 */
typedef enum heed_favor_kind {
    HEED_FAVOR_POSITIVE,      /* exp(w'x - |x|^2 / 2) / sqrt(m) */
    HEED_FAVOR_HYPERBOLIC,    /* with both signs of w'x: 2 m features */
    HEED_FAVOR_TRIGONOMETRIC, /* sin(w'x) and cos(w'x), times exp(|x|^2 / 2) / sqrt(m): 2 m; may be negative */
} heed_favor_kind;
typedef struct heed_favor_opts {
    heed_favor_kind kind;
    float scale; /* of x; 0: D^(-1/4), for scores q'k / sqrt(D) */
} heed_favor_opts;
HEED_API heed_tensor *heed_favor_features(heed_ctx *cx, heed_tensor *x, heed_tensor *w, const heed_favor_opts *opts,
                                          heed_tensor **shift);
/* w (m,D): rows of normal numbers; orthogonal: blocks of up to D rows that are orthogonal, with the lengths of normal
 * vectors. A function of seed and stream alone. */
HEED_API bool heed_favor_draw(heed_ctx *cx, uint64_t seed, uint64_t stream, bool orthogonal, int64_t m, int64_t size,
                              float *w);

/* ---- the key-value cache ---- of one decoding session: per layer and sequence, the keys and values so far.
 * Fixed: appending beyond capacity fails. Growing: capacity doubles. Sliding: only the last `window` positions are
 * kept, whatever the length. Memory is the context's; not for gradients. */
typedef struct heed_cache heed_cache;
typedef enum heed_cache_kind { HEED_CACHE_FIXED, HEED_CACHE_GROWING, HEED_CACHE_SLIDING } heed_cache_kind;
typedef struct heed_cache_opts {
    int layers;
    int64_t batch, kv_heads, key_size, value_size;
    heed_cache_kind kind;
    int64_t capacity; /* positions; growing: to begin with; sliding: the window */
} heed_cache_opts;
HEED_API heed_cache *heed_cache_new(heed_ctx *cx, const heed_cache_opts *opts);
HEED_API void heed_cache_free(heed_ctx *cx, heed_cache *cache);
HEED_API void heed_cache_reset(heed_cache *cache);          /* all lengths 0 */
HEED_API int64_t heed_cache_batch(const heed_cache *cache); /* the current number of sequences */
/* Positions appended so far (sliding: including those forgotten). */
HEED_API int64_t heed_cache_length(const heed_cache *cache, int layer, int64_t sequence);
/* k (B,T,G,D), v (B,T,G,E): counts (B) says how many of the T are real, NULL: all. */
HEED_API bool heed_cache_append(heed_ctx *cx, heed_cache *cache, int layer, heed_tensor *k, heed_tensor *v,
                                const int32_t *counts);
/* q (B,Tq,H,D) over everything held -> (B,Tq,H,E). With a mask of positions (causal, window) the queries are those of
 * the last append: query i of a sequence of length n has position n - counts + i, and rows from counts on are padding;
 * without one every query sees everything, as in cross attention. opts.mask.offset, lengths and packed offsets are set
 * by the cache and must not be given; masks and biases by position run over the keys held, Tk the longest. Rotary
 * rotates the queries only: rotate keys before they are appended. */
HEED_API heed_tensor *heed_cache_attend(heed_ctx *cx, const heed_cache *cache, int layer, heed_tensor *q,
                                        const heed_attention_opts *opts);
/* Sequence b becomes what sequence index[b] was, in every layer; n may change the batch, up to the first one. */
HEED_API bool heed_cache_reorder(heed_ctx *cx, heed_cache *cache, const int32_t *index, int64_t n);
/* Another cache, for at most `batch` sequences, whose n sequences are what the index[b]-th of this one are. */
HEED_API heed_cache *heed_cache_copy(heed_ctx *cx, const heed_cache *cache, const int32_t *index, int64_t n,
                                     int64_t batch);

/* ---- capture: the weights of attention ----
 *
 * Between begin and end every attention of the context also yields its weights, recomputed from what the kernel keeps,
 * before dropout; outputs have the same bits as without. Lists choose; NULL is all. With a function, rows are streamed
 * to it, no more than byte_cap bytes at a time; without one they are kept, and more than byte_cap is an error. */
typedef struct heed_captured {
    const char *site;
    int layer;
    int64_t batch, head, row; /* query row, counted in its sequence */
    int64_t keys;
    const float *weights; /* (keys), those hidden 0 */
} heed_captured;
typedef void (*heed_capture_fn)(void *user, const heed_captured *row);
typedef struct heed_capture_opts {
    const char *site; /* NULL: all */
    const int *layers;
    int n_layers;
    const int64_t *heads;
    int n_heads;
    const int64_t *rows;
    int64_t n_rows;
    size_t byte_cap; /* 0: 256 MiB */
    heed_capture_fn fn;
    void *user;
} heed_capture_opts;
/* For attention that is made of other ops: hands its weights over, (B,H,Tq,Tk), (B,Tq,Tk) or (Tq,Tk). row: the number
 * of the first query; what is kept of row 0 to row - 1 of this attention goes on with these rows, so that the steps of
 * a recurrent decoder become one map. site NULL: "attention". Without a capture nothing happens. */
HEED_API bool heed_capture_weights(heed_ctx *cx, const char *site, int layer, int64_t row, heed_tensor *weights);
HEED_API bool heed_capture_begin(heed_ctx *cx, const heed_capture_opts *opts);
/* What was kept is gone. A site or a layer that was chosen and that no attention since begin had fails the context,
 * with a sentence that says what ran. */
HEED_API bool heed_capture_end(heed_ctx *cx);
/* What was kept: one map per attention that ran, (batch, heads, rows, keys) in the order chosen. */
typedef struct heed_capture_map {
    const char *site;
    int layer;
    int64_t batch, heads, rows, keys;
    const float *weights;
    int64_t chunk; /* of attention within chunks: rows come in chunks of so many, sorted as they were; 0: they do not */
} heed_capture_map;
HEED_API int heed_capture_count(const heed_ctx *cx);
HEED_API const heed_capture_map *heed_capture_at(const heed_ctx *cx, int i);
/* One sequence of the batch as an npy file, f32 (maps, heads, rows, keys): the maps of `site`, or all, in order. They
 * must have the same sizes. */
HEED_API bool heed_capture_write(heed_ctx *cx, const char *path, const char *site, int64_t batch);

#ifdef __cplusplus
}
#endif
#endif
