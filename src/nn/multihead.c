/* Multi-head attention (Vaswani et al. 2017, section 3.2.2).
 *     y = concat(head_1, …, head_H) W_o' + b_o,    head_h = softmax(q_h k_h' / sqrt(D)) v_h
 * where q, k, v are projections to C = H D channels, D for each head. The heads are read where the projection left
 * them: q, k and v are views of one fused product wherever they are made of the same tensor. */
#include "attention/cache.h"
#include "nn/params.h"
#include "tensor/engine.h"
#include <math.h>

enum { Q, K, V, PARTS };

/* ---- make ---- drawn as torch draws them */

static bool check_opts(heed_ctx *cx, const heed_multihead_opts *o, const heed_multihead *layer) {
    if (!o || !layer) return heed_fail(cx, HEED_ERR_USAGE, "multihead: the %s NULL", o ? "layer is" : "options are");
    if (o->width < 1 || o->heads < 1 || o->width % o->heads != 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "multihead: %lld heads do not divide a width of %lld", (long long)o->heads,
                         (long long)o->width);
    if (o->width > INT64_MAX / 3 || o->key_width < 0 || o->value_width < 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "multihead: widths %lld, %lld and %lld cannot be", (long long)o->width,
                         (long long)o->key_width, (long long)o->value_width);
    if (!(o->dropout >= 0 && o->dropout <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "multihead: dropout %g is not between 0 and 1", (double)o->dropout);
    return true;
}

static heed_param *projection(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t out,
                              int64_t in) {
    return heed_param_add(cx, set, prefix, name, 2, (int64_t[]){out, in}, (heed_init){HEED_INIT_XAVIER_UNIFORM, 1, 0});
}

bool heed_multihead_make(heed_ctx *cx, heed_params *set, const char *prefix, const heed_multihead_opts *opts,
                         heed_multihead *layer) {
    if (heed_failed(cx) || !check_opts(cx, opts, layer)) return false;
    const int64_t C = opts->width, Ck = opts->key_width ? opts->key_width : C,
                  Cv = opts->value_width ? opts->value_width : C;
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    *layer = (heed_multihead){
        .width = C, .heads = opts->heads, .key_width = Ck, .value_width = Cv, .dropout = opts->dropout};
    if (Ck == C && Cv == C) {
        layer->in.weight = projection(cx, set, prefix, "in_proj_weight", 3 * C, C);
    } else {
        layer->q.weight = projection(cx, set, prefix, "q_proj_weight", C, C);
        layer->k.weight = projection(cx, set, prefix, "k_proj_weight", C, Ck);
        layer->v.weight = projection(cx, set, prefix, "v_proj_weight", C, Cv);
    }
    if (opts->bias) layer->in.bias = heed_param_add(cx, set, prefix, "in_proj_bias", 1, (int64_t[]){3 * C}, zeros);
    layer->out.weight = heed_param_add(cx, set, prefix, "out_proj.weight", 2, (int64_t[]){C, C},
                                       (heed_init){HEED_INIT_KAIMING_UNIFORM, sqrtf(5), 0});
    if (opts->bias) layer->out.bias = heed_param_add(cx, set, prefix, "out_proj.bias", 1, &C, zeros);
    return !heed_failed(cx);
}

/* ---- projections ---- */

/* Split along an axis; t itself when there is one part, NULLs for NULL. */
static void split(heed_ctx *cx, heed_tensor *t, int axis, const int64_t *sizes, int n, heed_tensor **out) {
    for (int i = 0; i < n; i++) out[i] = t;
    if (t && n > 1) heed_split(cx, t, axis, sizes, n, out);
}

static int64_t kv_heads(const heed_multihead *l) { return l->kv_heads > 0 ? l->kv_heads : l->heads; }
static int64_t head_size(const heed_multihead *l) { return l->head_size > 0 ? l->head_size : l->width / l->heads; }

/* How many of q, k, v in a row are made of one tensor by one weight: {3}, {1, 2}, {1, 1, 1}, … */
static int runs_of(const heed_multihead *l, heed_tensor *const x[PARTS], int run[PARTS]) {
    int n = 0;
    for (int i = Q; i < PARTS; i++)
        if (i > Q && l->in.weight && x[i] == x[i - 1])
            run[n - 1]++;
        else
            run[n++] = 1;
    return n;
}

/* The weight and bias of each run. */
static void weights_of(heed_ctx *cx, const heed_multihead *l, const int64_t *rows, int n, heed_tensor *weight[PARTS],
                       heed_tensor *bias[PARTS]) {
    const heed_linear_layer *const own[PARTS] = {&l->q, &l->k, &l->v};
    if (l->in.weight)
        split(cx, params_linear(cx, l->in.weight), l->in.transposed ? 1 : 0, rows, n, weight);
    else
        for (int i = Q; i < PARTS; i++) weight[i] = params_linear(cx, own[i]->weight);
    split(cx, l->in.bias ? heed_param_tensor(cx, l->in.bias) : NULL, 0, rows, n, bias);
    for (int i = Q; i < PARTS && !l->in.weight; i++)
        if (own[i]->bias) bias[i] = heed_param_tensor(cx, own[i]->bias);
}

/* (…,n D) -> (…,n,D) */
static heed_tensor *heads(heed_ctx *cx, heed_tensor *x, int64_t n, int64_t D) {
    if (!x) return NULL;
    const int64_t *s = x->shape;
    return x->rank == 3 ? heed_reshape(cx, x, 4, (int64_t[]){s[0], s[1], n, D})
                        : heed_reshape(cx, x, 3, (int64_t[]){s[0], n, D});
}

/* Of part i and those of its run: `rows` outputs from `first` on of the fused weight, or all of its own. */
static heed_tensor *product(heed_ctx *cx, const heed_multihead *l, heed_tensor *x, heed_tensor *weight,
                            heed_tensor *bias, int i, int64_t first, int64_t rows) {
    const heed_linear_layer *const own[PARTS] = {&l->q, &l->k, &l->v};
    heed_tensor *const y = l->in.weight && l->in.transposed ? heed_linear_transposed(cx, x, weight, bias, HEED_ACT_NONE)
                                                            : heed_linear(cx, x, weight, bias);
    return l->in.weight ? params_adapted(cx, l->in.weight, x, y, first, rows)
                        : params_adapted(cx, own[i]->weight, x, y, 0, rows);
}

/* q, k and v side by side in every head: (…,H 3D) -> three of (…,H,D) */
static bool by_head(heed_ctx *cx, const heed_multihead *l, heed_tensor *x, heed_tensor *head[PARTS]) {
    const int64_t D = head_size(l), sizes[PARTS] = {D, D, D};
    heed_tensor *const all = heads(cx, heed_linear_run(cx, &l->in, x, HEED_ACT_NONE), l->heads, 3 * D);
    return all && heed_split(cx, all, -1, sizes, PARTS, head);
}

/* The norms of queries and keys, where there are any. */
static bool normed(heed_ctx *cx, const heed_multihead *l, heed_tensor *head[PARTS]) {
    if (head[Q] && l->q_norm.weight) head[Q] = heed_norm_run(cx, &l->q_norm, head[Q]);
    if (head[K] && l->k_norm.weight) head[K] = heed_norm_run(cx, &l->k_norm, head[K]);
    return !heed_failed(cx);
}

/* The heads of x = {q, k, v}, those NULL left out: one product for every run. */
static bool project(heed_ctx *cx, const heed_multihead *l, heed_tensor *const x[PARTS], heed_tensor *head[PARTS]) {
    const int64_t D = head_size(l), H = l->heads, G = kv_heads(l), sizes[PARTS] = {H * D, G * D, G * D};
    heed_tensor *weight[PARTS], *bias[PARTS], *part[PARTS] = {NULL};
    int run[PARTS];
    if (l->by_head) return by_head(cx, l, x[Q], head) && normed(cx, l, head);
    const int n = runs_of(l, x, run);
    int64_t rows[PARTS] = {0};
    for (int r = 0, i = Q; r < n; i += run[r++])
        for (int k = 0; k < run[r]; k++) rows[r] += sizes[i + k];
    weights_of(cx, l, rows, n, weight, bias);
    int64_t first = 0;
    for (int r = 0, i = Q; r < n; first += rows[r], i += run[r++])
        if (x[i])
            split(cx, product(cx, l, x[i], weight[r], bias[r], i, first, rows[r]), -1, sizes + i, run[r], part + i);
    for (int i = Q; i < PARTS; i++) head[i] = heads(cx, part[i], i == Q ? H : G, D);
    return normed(cx, l, head);
}

/* (…,H,D) -> (…,H D), and W_o */
static heed_tensor *join(heed_ctx *cx, const heed_multihead *l, heed_tensor *y) {
    if (!y) return NULL;
    const int64_t *n = y->shape, width = l->heads * head_size(l);
    y = y->rank == 4 ? heed_reshape(cx, y, 3, (int64_t[]){n[0], n[1], width})
                     : heed_reshape(cx, y, 2, (int64_t[]){n[0], width});
    if (l->norm.weight) y = heed_norm_run(cx, &l->norm, y);
    return heed_linear_run(cx, &l->out, y, HEED_ACT_NONE);
}

/* ---- run ---- */

static bool check(heed_ctx *cx, const heed_multihead *l, const heed_tensor *x, int part, int rank) {
    static const char *const names[PARTS] = {"q", "k", "v"};
    if (heed_failed(cx)) return false;
    if (!l || !x) return heed_fail(cx, HEED_ERR_USAGE, "multihead: %s is NULL", l ? names[part] : "the layer");
    const int64_t width = part == K ? l->key_width : part == V ? l->value_width : l->width;
    if (x->rank != rank || cols_of(x) != width)
        return heed_fail(cx, HEED_ERR_SHAPE, "multihead: %s of shape %s is not (%s,%lld)", names[part],
                         heed_shape_text(x).s, rank == 3 ? "B,T" : "N", (long long)width);
    return true;
}

/* What the caller asks for and what the layer has; both may have to do with rotary, which goes to *rotary. */
static heed_attention_opts options(const heed_attention_opts *opts, const heed_multihead *l, float dropout,
                                   heed_rotary_opts *rotary) {
    heed_attention_opts o = opts ? *opts : (heed_attention_opts){0};
    o.dropout = dropout;
    if (l->rotary) {
        *rotary = *l->rotary;
        if (o.rotary && o.rotary->positions) rotary->positions = o.rotary->positions;
        if (o.rotary && o.rotary->angles) rotary->angles = o.rotary->angles;
        o.rotary = rotary;
    }
    if (l->scale != 0) o.scale = l->scale;
    if (l->cap != 0) o.cap = l->cap;
    return o;
}

heed_tensor *heed_multihead_run(heed_ctx *cx, const heed_multihead *layer, heed_tensor *q, heed_tensor *k,
                                heed_tensor *v, const heed_attention_opts *opts) {
    const int rank = opts && opts->query_offsets ? 2 : 3;
    if (!check(cx, layer, q, Q, rank) || !check(cx, layer, k, K, rank) || !check(cx, layer, v, V, rank)) return NULL;
    heed_rotary_opts rotary;
    const heed_attention_opts o = options(opts, layer, layer->dropout, &rotary);
    heed_tensor *head[PARTS];
    heed_scope_begin(cx);
    heed_tensor *y = NULL;
    if (q == k && k == v && layer->in.weight && !layer->by_head && !layer->q_norm.weight &&
        !layer->k_norm.weight) /* left side by side: (…,C) -> (…,(H + 2G) D) */
        y = heed_self_attention(cx, heed_linear_run(cx, &layer->in, q, HEED_ACT_NONE), layer->heads, kv_heads(layer),
                                &o);
    else if (project(cx, layer, (heed_tensor *[]){q, k, v}, head))
        y = heed_attention(cx, head[Q], head[K], head[V], &o);
    return heed_scope_end(cx, join(cx, layer, y));
}

/* ---- over a cache ---- */

heed_tensor *heed_multihead_step(heed_ctx *cx, const heed_multihead *layer, heed_tensor *x, heed_cache *cache,
                                 const int32_t *counts, const heed_attention_opts *opts) {
    if (!check(cx, layer, x, Q, 3) || !check(cx, layer, x, K, 3) || !check(cx, layer, x, V, 3)) return NULL;
    heed_rotary_opts rotary;
    const heed_attention_opts o = options(opts, layer, 0, &rotary);
    heed_tensor *head[PARTS], *y = NULL;
    heed_scope_begin(cx);
    if (project(cx, layer, (heed_tensor *[]){x, x, x}, head)) {
        heed_tensor *k = o.rotary ? cache_turned(cx, cache, o.layer, head[K], false, o.rotary) : head[K];
        if (heed_cache_append(cx, cache, o.layer, k, head[V], counts))
            y = join(cx, layer, heed_cache_attend(cx, cache, o.layer, head[Q], &o));
    }
    return heed_scope_end(cx, y);
}

bool heed_multihead_remember(heed_ctx *cx, const heed_multihead *layer, heed_tensor *k, heed_tensor *v,
                             heed_cache *cache, int cache_layer, const int32_t *counts) {
    if (!check(cx, layer, k, K, 3) || !check(cx, layer, v, V, 3)) return false;
    heed_tensor *head[PARTS];
    heed_scope_begin(cx);
    const bool done = project(cx, layer, (heed_tensor *[]){NULL, k, v}, head) &&
                      heed_cache_append(cx, cache, cache_layer, head[K], head[V], counts);
    heed_scope_end(cx, NULL);
    return done;
}

/* Rows of one sequence side by side: (A n,T,C) as (A,n T,C), when the cache has A sequences. */
static heed_tensor *gathered(heed_ctx *cx, heed_tensor *q, int64_t sequences) {
    const int64_t *n = q->shape;
    if (sequences < 1 || n[0] == sequences || n[0] % sequences != 0) return q; /* the cache has the sentence */
    return heed_reshape(cx, q, 3, (int64_t[]){sequences, n[0] / sequences * n[1], n[2]});
}

heed_tensor *heed_multihead_recall(heed_ctx *cx, const heed_multihead *layer, heed_tensor *q, const heed_cache *cache,
                                   const heed_attention_opts *opts) {
    if (!check(cx, layer, q, Q, 3)) return NULL;
    heed_rotary_opts rotary;
    const heed_attention_opts o = options(opts, layer, 0, &rotary);
    const int64_t B = q->shape[0], T = q->shape[1];
    heed_tensor *head[PARTS], *y = NULL;
    heed_scope_begin(cx);
    if ((q = gathered(cx, q, heed_cache_batch(cache))) && project(cx, layer, (heed_tensor *[]){q, NULL, NULL}, head))
        y = join(cx, layer, heed_cache_attend(cx, cache, o.layer, head[Q], &o));
    if (y && y->shape[0] != B) y = heed_reshape(cx, y, 3, (int64_t[]){B, T, layer->width});
    return heed_scope_end(cx, y);
}
