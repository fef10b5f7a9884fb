/* Attention to some tokens alone, in a pattern that is fixed beforehand (Child et al. 2019; Beltagy et al. 2020;
 * Zaheer et al. 2020).
 *
 *     y_i = softmax(q_i k_S' / sqrt(D)) v_S,    S = S(i): the tokens that token i sees
 *
 * A window:    |i - j| < attention_window, causal: the last attention_window tokens. O(T w C): the kernel of exact
 *              attention leaves out the tiles that nobody sees.
 * Blocks of attention_block tokens: the own block, window_blocks on each side, the first global_blocks, which also see
 *              all, and random_blocks that are drawn by seed, layer and block. With L blocks in a list and b tokens in
 *              a block O(T L b C), and L copies of keys and values; exact attention within.
 * What a token does not see in one layer it may see through others in the next.
 * Decoding has a cache of keys and values: of a window it keeps what is still seen, of blocks all, and reads those of
 * the list. A token costs O(w C), or O(L b C), whatever the length. */
#include "attention/cache.h"
#include "kernel/ints.h"
#include "model/efficient/mixing.h"
#include "tensor/engine.h"
#include <string.h>

enum { MAX_RANDOM = 1024 };

struct pattern {
    int64_t window;                      /* 0: none */
    int64_t block, near, global, random; /* block 0: none */
    uint64_t seed;
};

/* ---- lists of blocks ---- */

/* Blocks of a sequence: n of `size` tokens, the last padded; of the list of each, `room` have a place. */
struct blocks {
    int64_t size, n, room;
};

static struct blocks blocks_of(const struct pattern *p, int64_t T, bool causal) {
    const int64_t n = (T + p->block - 1) / p->block;
    const int64_t most = p->global + (causal ? p->near + 1 : 2 * p->near + 1) + p->random;
    return (struct blocks){p->block, n, most < n ? most : n};
}

/* Adds block j to a rising list, where it is not there yet. */
static int64_t insert(int32_t *list, int64_t n, int64_t j) {
    int64_t at = n;
    while (at > 0 && list[at - 1] >= j) at--;
    if (at < n && list[at] == j) return n;
    memmove(list + at + 1, list + at, (size_t)(n - at) * sizeof *list);
    list[at] = (int32_t)j;
    return n + 1;
}

/* The blocks below `end` that block i sees, rising; how many. Random ones are drawn without repetition: the k-th of
 * those that are not there yet. */
static int64_t list_of(const struct pattern *p, int64_t i, int64_t end, int layer, int32_t *list) {
    int64_t n = 0;
    for (int64_t j = 0; j < p->global && j < end; j++) n = insert(list, n, j);
    for (int64_t j = i < p->near ? 0 : i - p->near; j <= i + p->near && j < end; j++) n = insert(list, n, j);
    for (int64_t k = 0; k < p->random && n < end; k++) {
        const uint64_t bits = heed_random_bits(p->seed, (uint64_t)layer, (uint64_t)(i * MAX_RANDOM + k));
        int64_t pick = (int64_t)(bits * (uint64_t)(end - n) >> 32);
        for (int64_t at = 0; at < n && list[at] <= pick; at++) pick++;
        n = insert(list, n, pick);
    }
    return n;
}

/* How many blocks of a row have tokens: padding changes no list. */
static int64_t filled(const float *mask, int64_t T, int64_t size) {
    while (mask && T > 1 && mask[T - 1] == 0) T--;
    return (T + size - 1) / size;
}

/* Of every block of B rows, the blocks that it sees (B n room), its own the last, and which of their tokens count: keep
 * (B n,1,1,room size). */
static bool make_lists(heed_ctx *cx, const struct mixing *m, heed_tensor *mask, int64_t B, int64_t T, int layer,
                       heed_tensor **index, heed_tensor **keep) {
    const struct pattern *const p = m->shared;
    const struct blocks s = blocks_of(p, T, m->causal);
    *index = heed_zeros(cx, HEED_I32, 1, (int64_t[]){B * s.n * s.room});
    *keep = heed_zeros(cx, HEED_U8, 4, (int64_t[]){B * s.n, 1, 1, s.room * s.size});
    if (mask) mask = heed_contiguous(cx, mask);
    if (heed_failed(cx) || cx->config.dry) return !heed_failed(cx);
    int32_t *to = (int32_t *)(void *)(*index)->data;
    uint8_t *seen = (uint8_t *)(void *)(*keep)->data;
    for (int64_t row = 0; row < B * s.n; row++, to += s.room, seen += s.room * s.size) {
        const int64_t b = row / s.n, own = row % s.n;
        const float *const real = mask ? f32_of(mask) + b * T : NULL;
        const int64_t end = m->causal ? own + 1 : filled(real, T, s.size), n = list_of(p, own, end, layer, to);
        int64_t others = 0;
        for (int64_t k = 0; k < n; k++)
            if (to[k] != own) to[others++] = to[k];
        for (int64_t k = others; k < s.room; k++) to[k] = (int32_t)own; /* those without a block are hidden */
        for (int64_t k = 0; k < s.room; k++) {
            const bool there = k < others || (k + 1 == s.room && own < end);
            const int64_t first = to[k] * s.size, left = T - first < s.size ? T - first : s.size;
            for (int64_t t = 0; there && t < left; t++) seen[k * s.size + t] = !real || real[first + t] != 0;
            to[k] += (int32_t)(b * s.n);
        }
    }
    return true;
}

/* The same pattern as a bitmap (B,1,T,T): for maps of attention. */
static heed_tensor *bitmap(heed_ctx *cx, const struct mixing *m, heed_tensor *mask, int64_t B, int64_t T, int layer) {
    const struct pattern *const p = m->shared;
    const struct blocks s = blocks_of(p, T, m->causal);
    heed_tensor *index, *keep, *const t = heed_zeros(cx, HEED_U8, 4, (int64_t[]){B, 1, T, T});
    if (!make_lists(cx, m, mask, B, T, layer, &index, &keep) || !t || cx->config.dry) return t;
    if (mask) mask = heed_contiguous(cx, mask);
    uint8_t *to = (uint8_t *)(void *)t->data;
    for (int64_t i = 0; i < B * T; i++, to += T) {
        const int64_t b = i / T, row = b * s.n + i % T / s.size;
        const float *const real = mask ? f32_of(mask) + b * T : NULL;
        for (int64_t k = 0; k < s.room * s.size; k++) {
            const int64_t j = (i32_of(index)[row * s.room + k / s.size] - b * s.n) * s.size + k % s.size;
            if (((const uint8_t *)(const void *)keep->data)[row * s.room * s.size + k] && (!m->causal || j <= i % T))
                to[j] = 1;
        }
        for (int64_t j = 0; !m->causal && i % T < p->global * s.size && j < T; j++) to[j] = !real || real[j] != 0;
    }
    return t;
}

/* ---- make ---- */

static bool share(heed_ctx *cx, heed_json config, heed_params *set, const char *base, struct mixing *m) {
    struct pattern *const p = m->shared;
    (void)set, (void)base;
    p->window = config_int(cx, config, "attention_window", 0, MAX_SIZE);
    p->block = config_int(cx, config, "attention_block", 0, 1 << 16);
    p->near = config_int(cx, config, "window_blocks", 0, 1 << 16);
    p->global = config_int(cx, config, "global_blocks", 0, 1 << 16);
    p->random = config_int(cx, config, "random_blocks", 0, MAX_RANDOM - 1);
    p->seed = (uint64_t)config_int(cx, config, "attention_seed", 0, INT64_MAX);
    if (!heed_failed(cx) && p->window > 0 && p->block > 0)
        return heed_json_fail(cx, heed_json_find(cx, config, "attention_block"),
                              "attention has a window or blocks, not both; attention_window is %lld",
                              (long long)p->window);
    return !heed_failed(cx);
}

static bool build(heed_ctx *cx, heed_json config, heed_params *set, const char *prefix, const struct mixing *m,
                  int number, void *own) {
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    heed_multihead *const a = own;
    const struct part_name in = part_under(cx, prefix, "self_attn");
    const int64_t C = m->encoder.width;
    (void)number;
    a->dropout = (float)config_number(cx, config, "attention_probs_dropout_prob", 0, 1);
    return part_heads(cx, config, "hidden_size", "num_attention_heads", a) &&
           part_qkv(cx, set, in.s, names, C, m->encoder.init, &a->in) &&
           part_linear(cx, set, in.s, "out_proj", C, C, true, m->encoder.init, &a->out);
}

/* ---- run ---- */

static heed_tensor *heads(heed_ctx *cx, heed_tensor *x, int64_t H) {
    return x ? heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], x->shape[1], H, x->shape[2] / H}) : NULL;
}

/* What a window or nothing hides: exact attention with a mask. */
static heed_mask near_mask(heed_ctx *cx, const struct mixing *m, const struct mixing_call *call) {
    const struct pattern *const p = m->shared;
    heed_mask mask = call->padding;
    if (m->causal) mask = heed_mask_both(cx, mask, heed_mask_causal(0));
    return p->window > 0 ? heed_mask_both(cx, mask, heed_mask_window(p->window, 0)) : mask;
}

/* x (B,T,W) -> (B n,size,W), padded with zeros */
static heed_tensor *cut(heed_ctx *cx, heed_tensor *x, struct blocks s) {
    const int64_t B = x->shape[0], T = x->shape[1], W = x->shape[2], over = s.n * s.size - T;
    if (over > 0) x = heed_pad(cx, x, (const int64_t[]){0, 0, 0}, (const int64_t[]){0, over, 0}, 0);
    return heed_reshape(cx, heed_contiguous(cx, x), 3, (int64_t[]){B * s.n, s.size, W});
}

/* q (B,T,C), kv (B,T,2C) -> (B,T,C): each block of queries sees the blocks of keys of its list. */
static heed_tensor *attend_blocks(heed_ctx *cx, const struct mixing *m, const heed_multihead *a, heed_tensor *q,
                                  heed_tensor *kv, const struct mixing_call *call) {
    const struct pattern *const p = m->shared;
    const int64_t B = q->shape[0], T = q->shape[1], C = q->shape[2];
    const struct blocks s = blocks_of(p, T, m->causal);
    heed_attention_opts o = {.dropout = a->dropout, .site = "attention", .layer = call->number};
    heed_tensor *index, *keep, *part[2];
    if (!make_lists(cx, m, call->mask, B, T, call->number, &index, &keep)) return NULL;
    if (m->causal) o.mask = heed_mask_causal((s.room - 1) * s.size);
    o.mask.keep = keep;
    heed_tensor *rows = heed_reshape(cx, cut(cx, kv, s), 2, (int64_t[]){B * s.n, s.size * 2 * C});
    rows = heed_index_select(cx, rows, 0, index);
    rows = heed_reshape(cx, rows, 3, (int64_t[]){B * s.n, s.room * s.size, 2 * C});
    if (!rows || !heed_split(cx, rows, -1, (int64_t[]){C, C}, 2, part)) return NULL;
    heed_tensor *y = heed_attention(cx, heads(cx, cut(cx, q, s), a->heads), heads(cx, part[0], a->heads),
                                    heads(cx, part[1], a->heads), &o);
    y = heed_reshape(cx, y, 3, (int64_t[]){B, s.n * s.size, C});
    return s.n * s.size > T ? heed_slice(cx, y, 1, 0, T) : y;
}

/* The first blocks see all. */
static heed_tensor *attend_all(heed_ctx *cx, const heed_multihead *a, heed_tensor *q, heed_tensor *kv, int64_t n,
                               heed_mask mask, const struct mixing_call *call) {
    const heed_attention_opts o = {.mask = mask, .dropout = a->dropout, .site = "attention", .layer = call->number};
    const int64_t B = q->shape[0], C = q->shape[2];
    heed_tensor *part[2];
    if (!heed_split(cx, kv, -1, (int64_t[]){C, C}, 2, part)) return NULL;
    heed_tensor *const y = heed_attention(cx, heads(cx, heed_slice(cx, q, 1, 0, n), a->heads),
                                          heads(cx, part[0], a->heads), heads(cx, part[1], a->heads), &o);
    return heed_reshape(cx, y, 3, (int64_t[]){B, n, C});
}

static heed_tensor *attend(heed_ctx *cx, const struct mixing *m, const heed_multihead *a, heed_tensor *q,
                           heed_tensor *kv, const struct mixing_call *call) {
    const struct pattern *const p = m->shared;
    const int64_t T = q->shape[1], first = m->causal ? 0 : p->global * p->block;
    if (first >= T) return attend_all(cx, a, q, kv, T, call->padding, call);
    heed_tensor *y = attend_blocks(cx, m, a, q, kv, call);
    if (!y || first == 0) return y;
    heed_mask mask = call->padding;
    mask.query_lengths = NULL;
    heed_tensor *const both[] = {attend_all(cx, a, q, kv, first, mask, call), heed_slice(cx, y, 1, first, T - first)};
    return both[0] ? heed_concat(cx, both, 2, 1) : NULL;
}

/* Maps of blocks are those of exact attention with the same pattern; outputs are not touched. */
static bool capture(heed_ctx *cx, const struct mixing *m, const heed_multihead *a, heed_tensor *q, heed_tensor *kv,
                    const struct mixing_call *call) {
    heed_mask mask = heed_mask_keep(bitmap(cx, m, call->mask, q->shape[0], q->shape[1], call->number));
    heed_multihead quiet = *a;
    quiet.dropout = 0;
    return attend_all(cx, &quiet, q, kv, q->shape[1], mask, call);
}

/* ---- decoding blocks ---- New tokens of one block have one list. A piece is those of a row; its keys are read from
 * the cache, block by block, so that a row has the same bits with others as alone. */

struct piece {
    int64_t row, token, count; /* from that new token of the row on */
    int64_t position;          /* of the first */
};

/* How many pieces the tokens of the last append have; they go to `out`, where that is not NULL. */
static int64_t cut_pieces(const struct cache_view *view, int64_t size, struct piece *out) {
    int64_t n = 0;
    for (int64_t r = 0; r < view->batch; r++) {
        const int64_t end = view->held[r], first = end - view->added[r];
        for (int64_t at = first, next; at < end; at = next, n++) {
            next = min64(end, (at / size + 1) * size);
            if (out) out[n] = (struct piece){r, at - first, next - at, at};
        }
    }
    return n;
}

/* What the pieces are to attention: q (N,Q,H,D), k and v (N,K,H,D). */
struct gathered {
    heed_tensor *q, *k, *v;
    heed_tensor *keep;           /* u8 (N,1,Q,K): no token sees those after it */
    heed_tensor *queries, *keys; /* (N): how many are real */
    heed_tensor *list;           /* (room) of one piece */
};

static bool make_room(heed_ctx *cx, int64_t N, int64_t Q, int64_t room, int64_t size, const heed_tensor *q,
                      struct gathered *g) {
    const int64_t H = q->shape[2], D = q->shape[3], K = room * size;
    g->q = heed_zeros(cx, HEED_F32, 4, (int64_t[]){N, Q, H, D});
    g->k = heed_zeros(cx, HEED_F32, 4, (int64_t[]){N, K, H, D});
    g->v = heed_zeros(cx, HEED_F32, 4, (int64_t[]){N, K, H, D});
    g->keep = heed_zeros(cx, HEED_U8, 4, (int64_t[]){N, 1, Q, K});
    g->queries = heed_zeros(cx, HEED_I32, 1, &N);
    g->keys = heed_zeros(cx, HEED_I32, 1, &N);
    g->list = heed_zeros(cx, HEED_I32, 1, &room);
    return !heed_failed(cx);
}

/* Keys or values of row 0, of the blocks of a list -> (n,H,D) */
static void gather_rows(const float *x, struct attention_at at, const int32_t *list, int64_t size, int64_t n, int64_t H,
                        int64_t D, float *to) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t h = 0; h < H; h++, to += D)
            memcpy(to, x + h * at.head + (list[j / size] * size + j % size) * at.time, (size_t)D * sizeof *to);
}

static void gather_piece(const struct pattern *p, const struct cache_view *view, const struct piece *piece, int layer,
                         const heed_tensor *q, int64_t i, const struct gathered *g) {
    const int64_t H = q->shape[2], D = q->shape[3], Q = g->q->shape[1], K = g->k->shape[1];
    const int64_t own = piece->position / p->block, inside = piece->position % p->block;
    int32_t *const list = (int32_t *)(void *)g->list->data;
    const int64_t place = (list_of(p, own, own + 1, layer, list) - 1) * p->block + inside, keys = place + piece->count;
    uint8_t *keep = (uint8_t *)(void *)g->keep->data + i * Q * K;
    memcpy((float *)(void *)g->q->data + i * Q * H * D, f32_of(q) + (piece->row * q->shape[1] + piece->token) * H * D,
           (size_t)(piece->count * H * D) * sizeof(float));
    gather_rows(view->k + piece->row * view->k_at.batch, view->k_at, list, p->block, keys, H, D,
                (float *)(void *)g->k->data + i * K * H * D);
    gather_rows(view->v + piece->row * view->v_at.batch, view->v_at, list, p->block, keys, H, D,
                (float *)(void *)g->v->data + i * K * H * D);
    for (int64_t t = 0; t < piece->count; t++, keep += K) memset(keep, 1, (size_t)(place + t + 1));
    ((int32_t *)(void *)g->queries->data)[i] = (int32_t)piece->count;
    ((int32_t *)(void *)g->keys->data)[i] = (int32_t)keys;
}

/* y (N,Q,H,D), of the pieces, to where their tokens are: all (R,T,H,D) */
static void put_pieces(const heed_tensor *y, const struct piece *piece, heed_tensor *all) {
    const int64_t row = all->shape[2] * all->shape[3];
    float *const to = (float *)(void *)all->data;
    for (int64_t i = 0; i < y->shape[0]; i++, piece++)
        memcpy(to + (piece->row * all->shape[1] + piece->token) * row, f32_of(y) + i * y->shape[1] * row,
               (size_t)(piece->count * row) * sizeof *to);
}

static bool attend_pieces(heed_ctx *cx, const struct pattern *p, const struct cache_view *view,
                          const struct piece *piece, int64_t N, int layer, const heed_tensor *q, heed_tensor *all) {
    const int64_t Q = min64(q->shape[1], p->block), room = blocks_of(p, view->longest, true).room;
    struct gathered g;
    if (!make_room(cx, N, Q, room, p->block, q, &g)) return false;
    for (int64_t i = 0; !cx->config.dry && i < N; i++) gather_piece(p, view, &piece[i], layer, q, i, &g);
    const heed_mask mask = {.key_lengths = g.keys, .query_lengths = g.queries, .keep = Q > 1 ? g.keep : NULL};
    const heed_tensor *const y = heed_attention(cx, g.q, g.k, g.v, &(heed_attention_opts){.mask = mask});
    if (y && !cx->config.dry) put_pieces(y, piece, all);
    return y != NULL;
}

/* q (R,T,H,D), of tokens that the cache has -> (R,T,H,D). Some pieces at a time: keys of all would be as many copies of
 * a prompt as a list has blocks. */
static heed_tensor *attend_cached(heed_ctx *cx, const struct pattern *p, const heed_cache *cache, int layer,
                                  heed_tensor *q) {
    enum { AT_ONCE = 32 };
    struct cache_view view;
    q = heed_contiguous(cx, q);
    heed_tensor *const all = q ? heed_zeros(cx, HEED_F32, 4, q->shape) : NULL;
    if (!all || !cache_view(cx, "sparse", cache, layer, &view)) return NULL;
    const int64_t N = cut_pieces(&view, p->block, NULL);
    struct piece *const piece = heed_mem_new(cx, (size_t)(N + 1) * sizeof *piece);
    if (piece) cut_pieces(&view, p->block, piece);
    for (int64_t at = 0; piece && at < N; at += AT_ONCE) {
        heed_scope_begin(cx);
        const bool good = attend_pieces(cx, p, &view, piece + at, min64(AT_ONCE, N - at), layer, q, all);
        heed_scope_end(cx, NULL);
        if (!good) break;
    }
    heed_mem_free(cx, piece);
    return heed_failed(cx) ? NULL : all;
}

/* x (R,T,C), what is new -> (R,T,C) */
static heed_tensor *step_blocks(heed_ctx *cx, const struct mixing *m, const heed_multihead *a, heed_tensor *x,
                                const struct mixing_call *call) {
    const struct attention_state *const s = call->state;
    const int64_t C = x->shape[2];
    heed_tensor *const all = heed_linear_run(cx, &a->in, x, HEED_ACT_NONE), *part[3];
    if (!all || !heed_split(cx, all, -1, (int64_t[]){C, C, C}, 3, part)) return NULL;
    for (int i = 0; i < 3; i++) part[i] = heads(cx, part[i], a->heads);
    if (!heed_cache_append(cx, s->self, call->number, part[1], part[2], call->counts)) return NULL;
    void *const capturing = cx->capture;
    cx->capture = NULL; /* keys of a list are not those of a map */
    heed_tensor *const y = attend_cached(cx, m->shared, s->self, call->number, part[0]);
    cx->capture = capturing;
    return y ? heed_linear_run(cx, &a->out, heed_reshape(cx, y, 3, x->shape), HEED_ACT_NONE) : NULL;
}

/* ---- a layer ---- */

static heed_tensor *run_near(heed_ctx *cx, const struct mixing *m, const heed_multihead *a, heed_tensor *x,
                             const struct mixing_call *call) {
    const struct attention_state *const s = call->state;
    const heed_attention_opts o = {.mask = near_mask(cx, m, call), .site = "attention", .layer = call->number};
    return s ? heed_multihead_step(cx, a, x, s->self, call->counts, &o) : heed_multihead_run(cx, a, x, x, x, &o);
}

static heed_tensor *run(heed_ctx *cx, const struct mixing *m, const void *own, heed_tensor *x,
                        struct mixing_call *call) {
    const heed_multihead *const a = own;
    const struct pattern *const p = m->shared;
    heed_tensor *part[2];
    if (heed_failed(cx) || !x) return NULL;
    if (p->block == 0) return run_near(cx, m, a, x, call);
    if (call->state) return step_blocks(cx, m, a, x, call);
    const int64_t C = x->shape[2];
    heed_tensor *const all = heed_linear_run(cx, &a->in, x, HEED_ACT_NONE);
    if (!all || !heed_split(cx, all, -1, (int64_t[]){C, 2 * C}, 2, part)) return NULL;
    void *const capturing = cx->capture;
    if (capturing && !capture(cx, m, a, part[0], part[1], call)) return NULL;
    cx->capture = NULL;
    heed_tensor *const y = attend(cx, m, a, part[0], part[1], call);
    cx->capture = capturing;
    return y ? heed_linear_run(cx, &a->out, heed_contiguous(cx, y), HEED_ACT_NONE) : NULL;
}

/* ---- steps ---- */

static bool step_begin(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *b) {
    const struct mixing *const m = own;
    const struct pattern *const p = m->shared;
    const int layers = m->encoder.stack.layers;
    if (layers < 1) return heed_fail(cx, HEED_ERR_USAGE, "a model without layers cannot decode");
    const bool slides = p->window > 0 && 2 * p->window < m->encoder.max_length; /* twice: the room of a sliding cache */
    return attention_begin(cx, state, m->layer[0].own, layers, b, 0, slides ? p->window : 0);
}

static heed_tensor *step(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts) {
    const struct mixing *const m = own;
    const struct mixing_call call = {.state = state, .counts = counts};
    int64_t start;
    heed_tensor *at = NULL;
    if (!attention_positions(cx, state, ids, counts, m->encoder.max_length, &start, &at)) return NULL;
    heed_tensor *const h = mixing_layers(cx, m, mixing_embed(cx, m, ids, at, start), &call);
    return mixing_logits(cx, m, attention_last(cx, h, counts));
}

static const struct heed_stepper sparse_stepper = {ATTENTION_STATE, .sizes = mixing_sizes, .begin = step_begin,
                                                   .step = step};

/* ---- the family ---- */

static const struct mixing_kind sparse_kind = {
    .encoder = MIXING_ENCODER,
    .size = sizeof(heed_multihead),
    .shared_size = sizeof(struct pattern),
    .share = share,
    .build = build,
    .run = run,
    .causal = true,
};
static const heed_key sparse_keys[] = {
    MIXING_KEYS,
    MIXING_HEAD_KEYS,
    MIXING_TEXT_KEYS,
    {"attention_window", HEED_KEY_INT, "0", "tokens closer than this see each other; 0: no window"},
    {"attention_block", HEED_KEY_INT, "0", "tokens of a block; 0: no blocks, and without a window exact attention"},
    {"window_blocks", HEED_KEY_INT, "1", "blocks on each side of its own that a token sees"},
    {"global_blocks", HEED_KEY_INT, "1", "first blocks, which all tokens see, and which see all"},
    {"random_blocks", HEED_KEY_INT, "0", "blocks drawn at random that a token sees beside"},
    {"attention_seed", HEED_KEY_INT, "0", "seed of these, beside layer and block"},
    END_OF_KEYS,
};
static const heed_head sparse_heads[] = {
    MIXING_HEADS("Sparse", causal),
    MIXING_LM("Sparse", &sparse_stepper),
    {.architecture = NULL},
};

const heed_family family_sparse = {
    .name = "sparse",
    .type = "heed-sparse",
    .base = "model",
    .paper = "Child et al. 2019; Beltagy et al. 2020; Zaheer et al. 2020",
    .summary = "attention within a sliding window, or to some blocks of tokens",
    .notes =
        MIXING_NOTES "In layers.N.self_attn: q_proj, k_proj, v_proj and out_proj. With --set attention_window=256 "
                     "tokens see those near, with --set attention_block=64 some blocks; with neither, all. Lists "
                     "of blocks do not depend on padding behind the tokens. causal: of blocks, only those before. A "
                     "language model decodes with a cache, at a cost that does not grow with the text: of a "
                     "window it holds at most twice the window, or the prompt at first; of blocks all tokens.",
    .keys = sparse_keys,
    .heads = sparse_heads,
    .kind = &sparse_kind,
    .size = sizeof(struct mixing),
};
