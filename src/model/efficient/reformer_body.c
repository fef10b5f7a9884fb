/* The Reformer's forward pass. Sequences longer than a chunk are padded to a multiple of the chunks' lengths, while
 * training too; padding is seen by nobody. */
#include "model/efficient/reformer.h"
#include "tensor/engine.h"
#include <math.h>

/* ---- inputs ---- */

static int64_t padded_length(const struct reformer *m, int64_t length) {
    const int64_t over = length % m->multiple;
    return over == 0 || length <= m->shortest ? length : length + m->multiple - over;
}

/* ids (B,T) -> (B,P), padding at the end */
static heed_tensor *padded_ids(heed_ctx *cx, const struct reformer *m, heed_tensor *ids, int64_t P) {
    ids = heed_contiguous(cx, ids);
    if (!ids || ids->shape[1] == P) return ids;
    const int64_t B = ids->shape[0], T = ids->shape[1];
    heed_tensor *const t = heed_zeros(cx, HEED_I32, 2, (int64_t[]){B, P});
    if (!t || cx->config.dry) return t;
    int32_t *const out = (int32_t *)(void *)t->data;
    for (int64_t i = 0; i < B * P; i++) out[i] = i % P < T ? i32_of(ids)[i / P * T + i % P] : m->padding;
    return t;
}

/* u8 (B,P): 1 for tokens; NULL when there is neither a mask nor padding */
static heed_tensor *tokens_kept(heed_ctx *cx, const heed_io *in, const heed_tensor *ids, int64_t P) {
    heed_tensor *mask = input_mask(cx, in, ids);
    if (heed_failed(cx) || (!mask && ids->shape[1] == P)) return NULL;
    if (mask) mask = heed_contiguous(cx, mask);
    const int64_t B = ids->shape[0], T = ids->shape[1];
    heed_tensor *const t = heed_zeros(cx, HEED_U8, 2, (int64_t[]){B, P});
    if (!t || cx->config.dry) return t;
    uint8_t *const out = (uint8_t *)(void *)t->data;
    for (int64_t i = 0; i < B * P; i++) out[i] = i % P < T && (!mask || f32_of(mask)[i / P * T + i % P] != 0);
    return t;
}

/* Positions (P), or (B,P) where they are given or the sequences need their own. */
static heed_tensor *positions_of(heed_ctx *cx, const struct reformer *m, const heed_io *in, heed_tensor *ids, int64_t P,
                                 bool each) {
    heed_tensor *given = input_like(cx, in, "position_ids", ids);
    if (heed_failed(cx)) return NULL;
    if (given) given = heed_contiguous(cx, given);
    const int64_t B = ids->shape[0], T = ids->shape[1], shape[] = {B, P};
    const bool two = given || each;
    heed_tensor *const t = heed_zeros(cx, HEED_I32, two ? 2 : 1, two ? shape : shape + 1);
    if (!t || cx->config.dry) return t;
    int32_t *const out = (int32_t *)(void *)t->data;
    for (int64_t i = 0; i < t->count; i++) {
        out[i] = given && i % P < T ? i32_of(given)[i / P * T + i % P] : (int32_t)(i % P);
        if (out[i] < 0 || out[i] >= m->positions) {
            heed_fail(cx, HEED_ERR_RANGE, "position_ids: %d at place %lld: the model has positions for %lld",
                      (int)out[i], (long long)i, (long long)m->positions);
            return NULL;
        }
    }
    return t;
}

/* Positions divided by the number of columns, or what is left of them. */
static heed_tensor *part_of(heed_ctx *cx, const heed_tensor *positions, int64_t columns, bool rest) {
    heed_tensor *const t = heed_zeros(cx, HEED_I32, positions->rank, positions->shape);
    if (!t || cx->config.dry) return t;
    int32_t *const out = (int32_t *)(void *)t->data;
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t at = i32_of(positions)[i];
        out[i] = (int32_t)(rest ? at % columns : at / columns);
    }
    return t;
}

/* Whole columns of a sequence are dropped, as by torch's dropout2d. columns: (B,P) */
static heed_tensor *drop_columns(heed_ctx *cx, heed_tensor *x, const heed_tensor *columns, int64_t n, float p) {
    const int64_t B = columns->shape[0], P = columns->shape[1], shape[] = {B * n, 1};
    heed_tensor *const factors = heed_dropout(cx, heed_full(cx, 1, 2, shape), p);
    heed_tensor *const at = heed_zeros(cx, HEED_I32, 2, columns->shape);
    for (int64_t i = 0; at && !cx->config.dry && i < B * P; i++)
        ((int32_t *)(void *)at->data)[i] = (int32_t)(i / P * n + i32_of(columns)[i]);
    return heed_mul(cx, x, heed_embedding(cx, factors, at)); /* (B,P,1) */
}

static heed_tensor *axial(heed_ctx *cx, const struct reformer *m, const heed_tensor *positions, bool drops) {
    const int64_t columns = m->axial[1]->shape[1];
    heed_tensor *parts[2], *at[2];
    for (int i = 0; i < 2; i++) {
        const int64_t shape[] = {m->axial[i]->shape[i], m->axial[i]->shape[2]};
        at[i] = positions ? part_of(cx, positions, columns, i == 1) : NULL;
        parts[i] = heed_embedding(cx, heed_reshape(cx, heed_param_tensor(cx, m->axial[i]), 2, shape), at[i]);
    }
    heed_tensor *const x = heed_concat(cx, parts, 2, -1);
    return x && drops ? drop_columns(cx, x, at[1], columns, m->dropout) : x;
}

static heed_tensor *embeddings(heed_ctx *cx, const struct reformer *m, const heed_io *in, heed_tensor *ids, int64_t P) {
    const bool drops = engine_of(cx)->training && m->dropout > 0;
    heed_tensor *const positions = positions_of(cx, m, in, ids, P, drops);
    heed_tensor *const x = heed_embedding_run(cx, &m->word, padded_ids(cx, m, ids, P));
    heed_tensor *at = NULL;
    if (positions && m->axial[0])
        at = axial(cx, m, positions, drops);
    else if (positions)
        at = heed_dropout(cx, heed_embedding_run(cx, &m->position, positions), m->dropout);
    return heed_add(cx, heed_dropout(cx, x, m->dropout), at);
}

/* ---- layers ---- */

/* transformers' choice for a length: two buckets a chunk, as a power of 2, in two factors where it is large. */
static heed_lsh_opts buckets_of(const struct reformer *m, int64_t length) {
    heed_lsh_opts o = m->buckets;
    if (o.factors > 0) return o;
    const int64_t chunk = m->lsh.length;
    int power = 0;
    while (2 * (length / chunk) >> (power + 1) > 0) power++;
    const int64_t root = (int64_t)sqrt((double)(m->allowed / chunk)), limit = 2 * (root > chunk ? root : chunk);
    if (((int64_t)1 << power) <= limit) return (heed_lsh_opts){.factors = 1, .factor = {(int64_t)1 << power}};
    return (heed_lsh_opts){.factors = 2, .factor = {(int64_t)1 << power / 2, (int64_t)1 << (power - power / 2)}};
}

/* The order of positions by hashes of q: that of the first run, where there was one. */
static heed_tensor *hashed_order(heed_ctx *cx, const struct reformer *m, int layer, heed_tensor *q, heed_tensor *keep,
                                 heed_tensor *before) {
    heed_lsh_opts o = buckets_of(m, heed_dim(q, 1));
    int64_t directions = 0;
    for (int i = 0; i < o.factors; i++) directions += o.factor[i] / 2;
    o.keep = keep;
    if (before) {
        if (engine_of(cx)->training && !m->seeded) engine_next_stream(cx); /* the one of its rotations */
        return before;
    }
    heed_scope_begin(cx);
    heed_tensor *const rotations =
        heed_lsh_rotations(cx, m->heads, m->size, m->hashes, directions, m->seeded ? &m->seed : NULL, layer);
    return heed_scope_end(cx, heed_lsh_order(cx, q, rotations, &o, NULL));
}

struct run {
    const struct reformer *m;
};

enum { KEEP, ALSO };

static heed_tensor *attend(heed_ctx *cx, const void *own, int layer, heed_tensor *x, heed_tensor *const *also,
                           heed_tensor **kept) {
    const struct reformer *const m = ((const struct run *)own)->m;
    const struct reformer_layer *const l = &m->layer[layer];
    const struct reformer_chunks *const c = l->lsh ? &m->lsh : &m->local;
    heed_tensor *const q = heed_linear_run(cx, &l->in, heed_norm_run(cx, &l->norm1, x), HEED_ACT_NONE);
    if (!q) return NULL;
    const int64_t B = q->shape[0], T = q->shape[1];
    heed_chunk_opts o = {.heads = m->heads,
                         .chunk = c->length,
                         .before = c->before,
                         .after = c->after,
                         .causal = m->causal,
                         .shared = l->lsh,
                         .keep = also[KEEP],
                         .dropout = c->dropout,
                         .layer = layer};
    if (l->lsh && T > c->length) {
        o.order = *kept = hashed_order(cx, m, layer, q, also[KEEP], *kept);
        if (!o.order) return NULL;
    }
    heed_tensor *const y = heed_chunk_attention(cx, q, &o);
    if (!y) return NULL;
    const int64_t shape[] = {B, T, m->heads * m->size};
    return heed_dropout(cx, heed_linear_run(cx, &l->out, heed_reshape(cx, y, 3, shape), HEED_ACT_NONE), m->dropout);
}

struct piece {
    const struct reformer *m;
    int layer;
};

/* Dropout comes before the activation, which makes no difference to relu. */
static heed_tensor *feed_piece(heed_ctx *cx, const void *own, heed_tensor *const *in) {
    const struct piece *const p = own;
    const struct reformer *const m = p->m;
    const struct reformer_layer *const l = &m->layer[p->layer];
    const bool fused = m->act == HEED_ACT_RELU || !engine_of(cx)->training || m->dropout == 0;
    heed_tensor *x = heed_linear_run(cx, &l->up, heed_norm_run(cx, &l->norm2, in[0]), fused ? m->act : HEED_ACT_NONE);
    x = heed_dropout(cx, x, m->dropout);
    if (!fused) x = heed_activate(cx, x, m->act);
    return heed_dropout(cx, heed_linear_run(cx, &l->down, x, HEED_ACT_NONE), m->dropout);
}

/* By pieces of positions, of which backward holds one at a time, too. */
static heed_tensor *feed_forward(heed_ctx *cx, const void *own, int layer, heed_tensor *x, heed_tensor *const *also,
                                 heed_tensor **kept) {
    const struct reformer *const m = ((const struct run *)own)->m;
    const struct piece p = {m, layer};
    (void)also, (void)kept;
    if (!x) return NULL;
    const int64_t T = x->shape[1], n = m->piece > 0 ? (T + m->piece - 1) / m->piece : 1;
    if (n <= 1) return feed_piece(cx, &p, &x);
    struct engine *const e = engine_of(cx);
    heed_tensor **const pieces = e ? bump_take(cx, &e->lists, (size_t)n * sizeof *pieces) : NULL;
    if (!pieces) return NULL;
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = i * m->piece, left = T - from;
        heed_scope_begin(cx);
        heed_tensor *const part = heed_contiguous(cx, heed_slice(cx, x, 1, from, left < m->piece ? left : m->piece));
        pieces[i] = heed_scope_end(cx, part ? heed_recompute(cx, feed_piece, &p, sizeof p, &part, 1) : NULL);
    }
    return heed_failed(cx) ? NULL : heed_concat(cx, pieces, (int)n, 1);
}

/* ---- all ---- */

static bool check_length(heed_ctx *cx, const struct reformer *m, int64_t T, int64_t P) {
    if (P <= m->positions) return true;
    if (m->axial[0])
        return heed_fail(cx, HEED_ERR_RANGE,
                         "a sequence of %lld tokens, %lld with padding: axial positions of %lld rows and %lld columns "
                         "and max_position_embeddings allow %lld",
                         (long long)T, (long long)P, (long long)m->axial[0]->shape[0], (long long)m->axial[1]->shape[1],
                         (long long)m->positions);
    return heed_fail(cx, HEED_ERR_RANGE,
                     "a sequence of %lld tokens, %lld with padding: the model has positions for %lld", (long long)T,
                     (long long)P, (long long)m->positions);
}

heed_tensor *reformer_run(heed_ctx *cx, const struct reformer *m, const heed_io *in) {
    heed_tensor *const ids = input_ids(cx, in, "input_ids", true);
    if (!ids) return NULL;
    const int64_t T = ids->shape[1], P = padded_length(m, T);
    if (!check_length(cx, m, T, P)) return NULL;
    heed_tensor *const also[ALSO] = {[KEEP] = tokens_kept(cx, in, ids, P)};
    heed_tensor *const h = embeddings(cx, m, in, ids, P);
    heed_tensor *x[2] = {h, h};
    const struct run own = {m};
    const heed_reversible_opts o = {.f = attend,
                                    .g = feed_forward,
                                    .layers = m->layers,
                                    .own = &own,
                                    .own_size = sizeof own,
                                    .also = also,
                                    .n_also = ALSO};
    if (!h || !heed_reversible(cx, &o, x)) return NULL;
    heed_tensor *const y = heed_dropout(cx, heed_norm_run(cx, &m->norm, heed_concat(cx, x, 2, -1)), m->dropout);
    return T == P ? y : heed_slice(cx, y, 1, 0, T);
}
