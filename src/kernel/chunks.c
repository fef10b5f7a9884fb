/* Attention within chunks, by the strips of exact attention. In round r
 *
 *     y_r = sum_j exp(s_rj - L_r) v_j,   L_r = log sum_j exp(s_rj),   y = sum_r exp(L_r - L) y_r,   L = log sum_r
 * exp(L_r)
 *
 * which is one softmax over the keys of all rounds, a key counting as often as it is seen. So backward needs no more
 * than L:  p = exp(s - L),  ds = p (dp - sum of dy y).
 *
 * What a query does when it sees no key is transformers' rule: a shared query sees itself, with a score that loses
 * against any other round's; others see all keys of their window alike, the masked ones too. Neither has a gradient of
 * scores. These scores are so low that L is rounded to 1/128, or to 64: weights do not add up to 1 then, and in a
 * window of which nothing is seen each is 1. The published models were trained so, and a causal model's first token
 * always sees itself alone; so L is rounded here as there, in f32. */
#include "kernel/chunks.h"
#include "kernel/attention_parts.h"
#include "kernel/rows.h"
#include <math.h>
#include <string.h>

#define SELF_SCORE (-1e5f) /* of a shared query that sees itself alone */
#define NONE_SCORE (-1e9f) /* of keys that are masked where all are */
#define SEEN_ABOVE (-5e4f) /* of true scores */
#define NORM_EPS   1e-6f   /* of shared keys */

#define MAX_QUERIES 128   /* of a block */
#define MAX_KEYS    128   /* of a block */
#define BLOCK_SIZE  16384 /* floats of a block's queries, or keys, of a head wide enough to limit it */
#define TASK_WORK   32768 /* least multiply-adds of a task */

struct job {
    const struct chunks *c;
    const struct isa *isa;
    int64_t lanes, queries, keys; /* queries, keys: of a block */
    int64_t chunks, per_task;     /* of a head, of a task */
    float scale;
    float *norms; /* (B,H,T): 1 / root mean square of shared keys */
    /* forward */
    float *y, *lse;
    float *parts, *part_lse; /* (R,B,T,H,D), (R,B,H,T) of the rounds; y and lse where there is one */
    /* backward */
    const float *dy;
    float *dx, *dk; /* dk (B,H,T,D): of shared keys */
    bool add;
};

static struct job job_of(const struct chunks *c) {
    struct job j = {.c = c, .isa = isa_get(), .chunks = c->rounds * c->time / c->chunk};
    j.lanes = j.isa->attention_lanes();
    const int64_t fit = BLOCK_SIZE / c->size;
    j.queries = max64(j.lanes, min64(min64(MAX_QUERIES, round_up(c->chunk, j.lanes)), fit / j.lanes * j.lanes));
    j.keys = max64(16, min64(min64(MAX_KEYS, c->chunk), fit));
    j.per_task = max64(1, TASK_WORK / max64(1, c->chunk * chunks_window(c) * c->size));
    j.scale = 1 / sqrtf((float)c->size);
    return j;
}

/* ---- where things lie ---- */

static const int32_t *order_of(const struct chunks *c, int64_t bh) {
    return c->order ? c->order + bh * c->rounds * c->time : NULL;
}
static int64_t position(const int32_t *order, int64_t slot) { return order ? order[slot] : slot; }

/* Row 0 of the queries, keys and values of a head. */
static const float *q_of(const struct chunks *c, int64_t bh) {
    return c->x + bh / c->heads * c->time * c->ldx + bh % c->heads * c->size;
}
static int64_t k_part(const struct chunks *c) { return c->shared ? 0 : c->heads * c->size; }
static int64_t v_part(const struct chunks *c) { return k_part(c) + c->heads * c->size; }

/* The chunk that is `step` chunks after chunk `at`; a step beyond the ring stays where it is, as in transformers. */
static int64_t neighbour(const struct job *j, int64_t at, int64_t step) {
    if (step >= j->chunks || -step >= j->chunks) return at;
    return (at + step + j->chunks) % j->chunks;
}

/* ---- the norms of shared keys ---- */

static void run_norms(const void *arg, int64_t first, int64_t rows) {
    const struct job *const j = arg;
    const struct chunks *const c = j->c;
    for (int64_t i = first; i < first + rows; i++) {
        const float *const x = q_of(c, i / c->time) + i % c->time * c->ldx;
        float square;
        j->isa->attention_dots(&square, x, c->size, x, c->size, 1, c->size);
        j->norms[i] = 1 / sqrtf(square / (float)c->size + NORM_EPS);
    }
}

/* ---- blocks of keys ---- */

struct key_block {
    int64_t keys, column; /* column: of the first key in the window */
    float *k, *v;         /* (keys, D) */
    int32_t at[MAX_KEYS]; /* positions */
    bool seen[MAX_KEYS];  /* not masked */
};

static void gather_keys(const struct job *j, int64_t bh, int64_t slot, int64_t column, int64_t keys,
                        struct key_block *b) {
    const struct chunks *const c = j->c;
    const int32_t *const order = order_of(c, bh);
    const float *const q = q_of(c, bh);
    b->keys = keys;
    b->column = column;
    for (int64_t i = 0; i < keys; i++) {
        const int64_t at = position(order, slot + i);
        const float *const row = q + at * c->ldx;
        const float norm = c->shared ? j->norms[bh * c->time + at] : 1;
        b->at[i] = (int32_t)at;
        b->seen[i] = !c->keep || c->keep[bh / c->heads * c->time + at];
        for (int64_t d = 0; d < c->size; d++) b->k[i * c->size + d] = row[k_part(c) + d] * norm;
        memcpy(b->v + i * c->size, row + v_part(c), (size_t)c->size * sizeof(float));
    }
}

/* Queries first .. first + lanes of chunk `at` against a block: what a lane does not see, and dropout. */
static void factors(const struct job *j, int64_t bh, int64_t at, int64_t first, int64_t cols, int64_t column,
                    int64_t keys, float *out, int64_t ldo) {
    const struct chunks *const c = j->c;
    const uint32_t least = (uint32_t)lrint((double)c->dropout * 65536);
    const float scale = least < 65536 ? 65536 / (float)(65536 - least) : 0;
    const int64_t groups = ceil_div(c->chunk, 16) + 2, chunk = bh * j->chunks + at; /* 2: lanes beyond the chunk */
    for (int64_t l = 0; l < cols;) {
        const int64_t of = first + l, n = min64(16 - of % 16, cols - l);
        const uint64_t word = (uint64_t)(((chunk * groups + of / 16) * chunks_window(c) + column) * 8);
        j->isa->attention_factors(out + l, ldo, keys, of % 16, n, least, scale, c->seed, c->stream, word);
        l += n;
    }
}

static void strip_hidden(const struct job *j, const int32_t *queries, const struct key_block *b, float *add) {
    const bool causal = j->c->causal, shared = j->c->shared;
    for (int64_t i = 0; i < b->keys; i++)
        for (int64_t l = 0; l < j->lanes; l++) {
            const bool after = causal && b->at[i] > queries[l], itself = shared && b->at[i] == queries[l];
            const bool hidden = !b->seen[i] || after || itself;
            add[i * j->lanes + l] = hidden ? -INFINITY : 0;
        }
}

/* Positions of queries first .. first + n of a chunk; lanes beyond see what there is, and are not read. */
static void query_positions(const struct job *j, int64_t bh, int64_t at, int64_t first, int64_t n, int32_t *out) {
    const int32_t *const order = order_of(j->c, bh);
    for (int64_t i = 0; i < round_up(n, j->lanes); i++)
        out[i] = i < n ? (int32_t)position(order, at * j->c->chunk + first + i) : INT32_MAX;
}

/* ---- forward ---- */

struct strips {
    float *q, *qt, *yt, *top, *sum, *add, *factor, *scores;
    struct key_block keys;
    int32_t at[MAX_QUERIES];
};

static struct strips strips_of(const struct job *j, float *scratch) {
    const int64_t D = j->c->size;
    struct strips s = {.q = take(&scratch, j->queries * D)};
    s.qt = take(&scratch, j->queries * D);
    s.yt = take(&scratch, j->queries * D);
    s.top = take(&scratch, j->queries);
    s.sum = take(&scratch, j->queries);
    s.add = take(&scratch, j->keys * j->lanes);
    s.factor = take(&scratch, j->keys * j->lanes);
    s.scores = take(&scratch, j->keys * j->lanes);
    s.keys.k = take(&scratch, j->keys * D);
    s.keys.v = take(&scratch, j->keys * D);
    return s;
}

static void attend_block(const struct job *j, int64_t bh, int64_t at, int64_t first, int64_t n,
                         const struct strips *s) {
    const struct chunks *const c = j->c;
    const struct key_block *const b = &s->keys;
    for (int64_t i = 0; i < n; i += j->lanes) {
        struct attention_strip strip = {
            .block =
                {.keys = b->keys, .d = c->size, .e = c->size, .k = b->k, .v = b->v, .ldk = c->size, .ldv = c->size},
            .qt = s->qt + i * c->size,
            .scores = s->scores,
            .yt = s->yt + i * c->size,
            .top = s->top + i,
            .sum = s->sum + i};
        if (c->causal || c->keep || c->shared) {
            strip_hidden(j, s->at + i, b, s->add);
            strip.block.add = s->add;
        }
        if (c->dropout > 0) {
            factors(j, bh, at, first + i, j->lanes, b->column, b->keys, s->factor, j->lanes);
            strip.block.factor = s->factor;
        }
        j->isa->attention_strip(&strip);
    }
}

/* The weight of each of n keys with the same score. */
static float weight_of(float score, int64_t n) { return expf(score - (score + logf((float)n))); }

/* The position that is key i of the window of chunk `at`. */
static int64_t key_position(const struct job *j, const int32_t *order, int64_t at, int64_t i) {
    const int64_t C = j->c->chunk;
    return position(order, neighbour(j, at, i / C - j->c->before) * C + i % C);
}

/* How often a position is in that window: once, unless the ring is short or another round begins there. */
static int64_t times_seen(const struct job *j, const int32_t *order, int64_t at, int64_t pos) {
    int64_t n = 0;
    for (int64_t i = 0; i < chunks_window(j->c); i++) n += key_position(j, order, at, i) == pos;
    return n;
}

/* A query that sees no key: itself where shared, else all of its window. Gives L. */
static float attend_no_keys(const struct job *j, int64_t bh, int64_t at, int64_t of, int64_t pos, float *y) {
    const struct chunks *const c = j->c;
    const int32_t *const order = order_of(c, bh);
    const float *const v = q_of(c, bh) + v_part(c);
    const int64_t C = c->chunk, window = chunks_window(c);
    for (int64_t d = 0; d < c->size; d++) y[d] = 0;
    float factor = 1;
    if (c->shared) {
        const int64_t n = times_seen(j, order, at, pos);
        if (c->dropout > 0) factors(j, bh, at, of, 1, c->before * C + of, 1, &factor, 1);
        factor *= (float)n * weight_of(SELF_SCORE, n);
        for (int64_t d = 0; d < c->size; d++) y[d] = factor * v[pos * c->ldx + d];
        return SELF_SCORE + logf((float)n);
    }
    const float weight = weight_of(NONE_SCORE, window);
    for (int64_t i = 0; i < window; i++) {
        const float *const row = v + key_position(j, order, at, i) * c->ldx;
        if (c->dropout > 0) factors(j, bh, at, of, 1, i, 1, &factor, 1);
        for (int64_t d = 0; d < c->size; d++) y[d] += factor * weight * row[d];
    }
    return NONE_SCORE + logf((float)window);
}

/* Queries first .. first + n of a chunk. */
static void forward_block(const struct job *j, int64_t bh, int64_t at, int64_t first, int64_t n, struct strips *s) {
    const struct chunks *const c = j->c;
    const int64_t D = c->size, C = c->chunk, b = bh / c->heads, h = bh % c->heads, round = at * C / c->time;
    const int64_t wide = round_up(n, j->lanes);
    const float *const q = q_of(c, bh);
    query_positions(j, bh, at, first, n, s->at);
    for (int64_t i = 0; i < n; i++) memcpy(s->q + i * D, q + s->at[i] * c->ldx, (size_t)D * sizeof(float));
    for (int64_t i = 0; i < n; i += j->lanes)
        j->isa->attention_pack(s->qt + i * D, s->q + i * D, D, min64(j->lanes, n - i), D, j->scale);
    memset(s->yt, 0, (size_t)(wide * D) * sizeof(float));
    memset(s->sum, 0, (size_t)wide * sizeof(float));
    for (int64_t i = 0; i < wide; i++) s->top[i] = -INFINITY;
    for (int64_t step = -c->before; step <= c->after; step++)
        for (int64_t k = 0; k < C; k += j->keys) {
            gather_keys(j, bh, neighbour(j, at, step) * C + k, (step + c->before) * C + k, min64(j->keys, C - k),
                        &s->keys);
            attend_block(j, bh, at, first, n, s);
        }
    float *const y = j->parts + (round * c->batch + b) * c->time * c->heads * D + h * D;
    float *const lse = j->part_lse + (round * c->batch * c->heads + bh) * c->time;
    for (int64_t i = 0; i < wide; i++) {
        const float sum = s->sum[i];
        s->sum[i] = sum == 0 ? 0 : 1 / sum;
        if (i < n) lse[s->at[i]] = sum == 0 ? SELF_SCORE : s->top[i] + logf(sum);
    }
    for (int64_t i = 0; i < n; i += j->lanes)
        j->isa->attention_unpack(s->q + i * D, D, s->yt + i * D, min64(j->lanes, n - i), D, s->sum + i, false);
    for (int64_t i = 0; i < n; i++) {
        if (s->sum[i] == 0) lse[s->at[i]] = attend_no_keys(j, bh, at, first + i, s->at[i], s->q + i * D);
        memcpy(y + s->at[i] * c->heads * D, s->q + i * D, (size_t)D * sizeof(float));
    }
}

static void run_forward(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const int64_t all = j->c->batch * j->c->heads * j->chunks;
    struct strips s = strips_of(j, scratch);
    for (int64_t i = task * j->per_task; i < min64((task + 1) * j->per_task, all); i++)
        for (int64_t first = 0; first < j->c->chunk; first += j->queries)
            forward_block(j, i / j->chunks, i % j->chunks, first, min64(j->queries, j->c->chunk - first), &s);
}

/* Rounds together: a row is a position of a sequence. */
static void run_rounds(const void *arg, int64_t first, int64_t rows) {
    const struct job *const j = arg;
    const struct chunks *const c = j->c;
    const int64_t D = c->size, all = c->batch * c->time * c->heads;
    for (int64_t i = first; i < first + rows; i++)
        for (int64_t h = 0; h < c->heads; h++) {
            const int64_t at = (i / c->time * c->heads + h) * c->time + i % c->time;
            float *const y = j->y + (i * c->heads + h) * D;
            float top = -INFINITY, sum = 0;
            for (int64_t r = 0; r < c->rounds; r++) top = fmaxf(top, j->part_lse[r * all + at]);
            for (int64_t r = 0; r < c->rounds; r++) sum += expf(j->part_lse[r * all + at] - top);
            j->lse[at] = top + logf(sum);
            for (int64_t d = 0; d < D; d++) y[d] = 0;
            for (int64_t r = 0; r < c->rounds; r++) {
                const float weight = expf(j->part_lse[r * all + at] - j->lse[at]);
                const float *const part = j->parts + (r * all + i * c->heads + h) * D;
                for (int64_t d = 0; d < D; d++) y[d] += weight * part[d];
            }
        }
}

static int64_t norm_floats(const struct chunks *c) {
    return c->shared ? round_up(c->batch * c->heads * c->time, 16) : 0;
}

size_t kernel_chunks_work(const struct chunks *c) {
    const int64_t all = c->batch * c->heads * c->time;
    const int64_t parts = c->rounds > 1 ? c->rounds * all * (c->size + 1) : 0;
    return (size_t)(norm_floats(c) + parts) * sizeof(float);
}

void kernel_chunks(struct pool *pool, const struct chunks *c, float *y, float *lse, void *work) {
    struct job j = job_of(c);
    const int64_t all = c->batch * c->heads * c->time;
    if (all == 0) return;
    j.norms = work;
    j.y = y, j.lse = lse;
    j.parts = c->rounds > 1 ? j.norms + norm_floats(c) : y;
    j.part_lse = c->rounds > 1 ? j.parts + c->rounds * all * c->size : lse;
    if (c->shared) kernel_rows(pool, all, c->size, run_norms, &j);
    pool_run(pool, ceil_div(c->batch * c->heads * j.chunks, j.per_task), run_forward, &j);
    if (c->rounds > 1) kernel_rows(pool, c->batch * c->time, c->heads * c->size * c->rounds, run_rounds, &j);
}

/* ---- backward ---- */

struct back_room {
    float *q, *dy, *qt, *dyt, *dqt, *top, *inv, *delta, *p, *ds, *add, *factor, *dk, *dv;
    struct key_block keys;
    int32_t at[MAX_QUERIES];
    int64_t wide, ld; /* rows of q and dy, of p and ds */
};

static struct back_room back_room_of(const struct job *j, float *scratch) {
    const int64_t D = j->c->size, Q = j->queries, K = j->keys;
    struct back_room r = {.wide = round_up(D, j->lanes), .ld = Q + j->lanes};
    r.q = take(&scratch, Q * r.wide), r.dy = take(&scratch, Q * r.wide);
    r.qt = take(&scratch, Q * D), r.dyt = take(&scratch, Q * D), r.dqt = take(&scratch, Q * D);
    r.top = take(&scratch, Q), r.inv = take(&scratch, Q), r.delta = take(&scratch, Q);
    r.p = take(&scratch, K * r.ld), r.ds = take(&scratch, K * r.ld);
    r.add = take(&scratch, K * Q), r.factor = take(&scratch, K * Q);
    r.keys.k = take(&scratch, K * D), r.keys.v = take(&scratch, K * D);
    r.dk = take(&scratch, K * D), r.dv = take(&scratch, K * D);
    return r;
}
_Static_assert(5 * 32 * (CHUNKS_HEAD + 32) + 4 * 16 * CHUNKS_HEAD + 4 * MAX_KEYS * (MAX_QUERIES + 32) + 4096 <= ROOM,
               "the room of a block of the widest heads fits the scratch");
_Static_assert(5 * (BLOCK_SIZE + MAX_QUERIES * 32) + 4 * BLOCK_SIZE + 4 * MAX_KEYS * (MAX_QUERIES + 32) + 4096 <= ROOM,
               "the room of a block fits the scratch");

/* Where the gradients of a head begin, and how far rows are apart. */
struct head_grad {
    float *dq, *dk, *dv;
    int64_t ld, ldk;
};

static struct head_grad grads_of(const struct job *j, int64_t bh) {
    const struct chunks *const c = j->c;
    float *const dq = j->dx + bh / c->heads * c->time * c->ldx + bh % c->heads * c->size;
    struct head_grad g = {.dq = dq, .dk = dq + k_part(c), .dv = dq + v_part(c), .ld = c->ldx, .ldk = c->ldx};
    if (c->shared) g.dk = j->dk + bh * c->time * c->size, g.ldk = c->size;
    return g;
}

/* What queries first .. first + n of a chunk bring along. */
static void pack_queries(const struct job *j, int64_t bh, int64_t n, struct back_room *r) {
    const struct chunks *const c = j->c;
    const int64_t D = c->size, ldy = c->heads * D, wide = round_up(n, j->lanes);
    const int64_t row0 = bh / c->heads * c->time, part = bh % c->heads * D;
    const float *const q = q_of(c, bh);
    memset(r->q, 0, (size_t)(wide * r->wide) * sizeof(float));
    memset(r->dy, 0, (size_t)(wide * r->wide) * sizeof(float));
    memset(r->dqt, 0, (size_t)(wide * D) * sizeof(float));
    for (int64_t i = 0; i < wide; i++) {
        r->top[i] = 0, r->inv[i] = 0, r->delta[i] = 0;
        if (i >= n) continue;
        const int64_t at = (row0 + r->at[i]) * ldy + part;
        const float lse = j->lse[bh * c->time + r->at[i]], *const x = q + r->at[i] * c->ldx;
        for (int64_t d = 0; d < D; d++) r->q[i * r->wide + d] = x[d] * j->scale;
        memcpy(r->dy + i * r->wide, j->dy + at, (size_t)D * sizeof(float));
        j->isa->attention_dots(&r->delta[i], j->y + at, D, j->dy + at, D, 1, D);
        if (lse > SEEN_ABOVE) r->top[i] = lse, r->inv[i] = 1;
    }
    for (int64_t i = 0; i < n; i += j->lanes) {
        j->isa->attention_pack(r->qt + i * D, r->q + i * r->wide, r->wide, min64(j->lanes, n - i), D, 1);
        j->isa->attention_pack(r->dyt + i * D, r->dy + i * r->wide, r->wide, min64(j->lanes, n - i), D, 1);
    }
}

static void back_block(const struct job *j, int64_t bh, int64_t at, int64_t first, int64_t n, struct back_room *r,
                       const struct head_grad *g) {
    const struct chunks *const c = j->c;
    const struct key_block *const b = &r->keys;
    const int64_t D = c->size;
    struct attention_block masks[MAX_QUERIES];
    for (int64_t i = 0; i * j->lanes < n; i++) {
        float *const add = r->add + i * j->lanes * j->keys, *const factor = r->factor + i * j->lanes * j->keys;
        masks[i] = (struct attention_block){.keys = b->keys};
        if (c->causal || c->keep || c->shared) {
            strip_hidden(j, r->at + i * j->lanes, b, add);
            masks[i].add = add;
        }
        if (c->dropout > 0) {
            factors(j, bh, at, first + i * j->lanes, j->lanes, b->column, b->keys, factor, j->lanes);
            masks[i].factor = factor;
        }
    }
    memset(r->dk, 0, (size_t)(b->keys * D) * sizeof(float));
    memset(r->dv, 0, (size_t)(b->keys * D) * sizeof(float));
    j->isa->attention_back(&(struct attention_back){.keys = b->keys,
                                                    .d = D,
                                                    .e = D,
                                                    .strips = ceil_div(n, j->lanes),
                                                    .ld = r->ld,
                                                    .k = b->k,
                                                    .v = b->v,
                                                    .safe_k = b->k,
                                                    .ldk = D,
                                                    .ldv = D,
                                                    .ld_safe = D,
                                                    .qt = r->qt,
                                                    .dyt = r->dyt,
                                                    .q = r->q,
                                                    .dy = r->dy,
                                                    .ldq = r->wide,
                                                    .ldy = r->wide,
                                                    .top = r->top,
                                                    .inv = r->inv,
                                                    .delta = r->delta,
                                                    .mask = masks,
                                                    .p = r->p,
                                                    .ds = r->ds,
                                                    .dk = r->dk,
                                                    .dv = r->dv,
                                                    .dqt = r->dqt,
                                                    .lddk = D,
                                                    .lddv = D});
    for (int64_t i = 0; i < b->keys; i++) {
        j->isa->axpy_part(g->dk + b->at[i] * g->ldk, 1, r->dk + i * D, D);
        j->isa->axpy_part(g->dv + b->at[i] * g->ld, 1, r->dv + i * D, D);
    }
}

/* Of a query that sees no key in any round: only values have a gradient. */
static void back_nothing(const struct job *j, int64_t bh, int64_t at, int64_t of, int64_t pos, const float *dy,
                         const struct head_grad *g) {
    const struct chunks *const c = j->c;
    const int32_t *const order = order_of(c, bh);
    const int64_t C = c->chunk, window = chunks_window(c);
    float factor = 1;
    if (c->shared) {
        if (c->dropout > 0) factors(j, bh, at, of, 1, c->before * C + of, 1, &factor, 1);
        const int64_t n = times_seen(j, order, at, pos);
        factor *= (float)n * weight_of(SELF_SCORE, n);
        factor *= expf(SELF_SCORE + logf((float)n) - j->lse[bh * c->time + pos]); /* of the round */
        j->isa->axpy_part(g->dv + pos * g->ld, factor, dy, c->size);
        return;
    }
    const float weight = weight_of(NONE_SCORE, window);
    for (int64_t i = 0; i < window; i++) {
        const int64_t key = key_position(j, order, at, i);
        if (c->dropout > 0) factors(j, bh, at, of, 1, i, 1, &factor, 1);
        j->isa->axpy_part(g->dv + key * g->ld, factor * weight, dy, c->size);
    }
}

/* k = q n, n = 1 / sqrt(mean q^2 + eps):   dq += n (dk - q n^2 (q dk) / D) */
static void back_norms(const struct job *j, int64_t bh, const struct head_grad *g) {
    const struct chunks *const c = j->c;
    const int64_t D = c->size;
    for (int64_t t = 0; t < c->time; t++) {
        const float *const q = q_of(c, bh) + t * c->ldx, *const dk = g->dk + t * D, n = j->norms[bh * c->time + t];
        float dot;
        j->isa->attention_dots(&dot, q, D, dk, D, 1, D);
        j->isa->axpy_part(g->dq + t * g->ld, n, dk, D);
        j->isa->axpy_part(g->dq + t * g->ld, -n * n * n * dot / (float)D, q, D);
    }
}

/* A task: a head of a sequence, for its chunks add to the same keys. */
static void run_backward(void *arg, int64_t bh, void *scratch) {
    const struct job *const j = arg;
    const struct chunks *const c = j->c;
    const struct head_grad g = grads_of(j, bh);
    const int64_t D = c->size, C = c->chunk;
    struct back_room r = back_room_of(j, scratch);
    float scale[ATTENTION_LANES];
    for (int64_t l = 0; l < j->lanes; l++) scale[l] = j->scale;
    for (int64_t t = 0; t < c->time; t++) {
        if (!j->add) memset(g.dq + t * g.ld, 0, (size_t)D * sizeof(float));
        if (!j->add) memset(g.dv + t * g.ld, 0, (size_t)D * sizeof(float));
        if (!j->add || c->shared) memset(g.dk + t * g.ldk, 0, (size_t)D * sizeof(float));
    }
    for (int64_t at = 0; at < j->chunks; at++)
        for (int64_t first = 0; first < C; first += j->queries) {
            const int64_t n = min64(j->queries, C - first);
            query_positions(j, bh, at, first, n, r.at);
            pack_queries(j, bh, n, &r);
            for (int64_t step = -c->before; step <= c->after; step++)
                for (int64_t k = 0; k < C; k += j->keys) {
                    gather_keys(j, bh, neighbour(j, at, step) * C + k, (step + c->before) * C + k,
                                min64(j->keys, C - k), &r.keys);
                    back_block(j, bh, at, first, n, &r, &g);
                }
            for (int64_t i = 0; i < n; i += j->lanes) {
                float *const rows = r.q + i * r.wide; /* not needed any more */
                j->isa->attention_unpack(rows, r.wide, r.dqt + i * D, min64(j->lanes, n - i), D, scale, false);
            }
            for (int64_t i = 0; i < n; i++) {
                if (r.inv[i] != 0)
                    j->isa->axpy_part(g.dq + r.at[i] * g.ld, 1, r.q + i * r.wide, D);
                else
                    back_nothing(j, bh, at, first + i, r.at[i], r.dy + i * r.wide, &g);
            }
        }
    if (c->shared) back_norms(j, bh, &g);
}

size_t kernel_chunks_grad_work(const struct chunks *c) {
    const int64_t all = c->batch * c->heads * c->time;
    return c->shared ? (size_t)(norm_floats(c) + all * c->size) * sizeof(float) : 0;
}

void kernel_chunks_grad(struct pool *pool, const struct chunks *c, const float *y, const float *lse, const float *dy,
                        float *dx, bool add, void *work) {
    struct job j = job_of(c);
    const int64_t all = c->batch * c->heads * c->time;
    if (all == 0) return;
    j.norms = work;
    j.y = (float *)(uintptr_t)y, j.lse = (float *)(uintptr_t)lse; /* only read */
    j.dy = dy, j.dx = dx, j.add = add;
    if (c->shared) {
        j.dk = j.norms + norm_floats(c);
        kernel_rows(pool, all, c->size, run_norms, &j);
    }
    pool_run(pool, c->batch * c->heads, run_backward, &j);
}

/* ---- weights, for capture ---- */

struct weights_job {
    struct job j;
    float *out;
};

static void run_weights(const void *arg, int64_t first, int64_t rows) {
    const struct weights_job *const w = arg;
    const struct job *const j = &w->j;
    const struct chunks *const c = j->c;
    const int64_t N = c->rounds * c->time, C = c->chunk, W = chunks_window(c);
    for (int64_t row = first; row < first + rows; row++) {
        const int64_t bh = row / N, slot = row % N, at = slot / C;
        const int32_t *const order = order_of(c, bh);
        const int64_t query = position(order, slot);
        const float *const q = q_of(c, bh);
        float *const out = w->out + row * W;
        float top = -INFINITY, sum = 0;
        for (int64_t i = 0; i < W; i++) {
            const int64_t key = key_position(j, order, at, i);
            const float *const k = q + key * c->ldx + k_part(c);
            float dot = 0, square = 0;
            for (int64_t d = 0; d < c->size; d++) dot += q[query * c->ldx + d] * k[d], square += k[d] * k[d];
            if (c->shared) dot /= sqrtf(square / (float)c->size + NORM_EPS);
            const bool seen = (!c->keep || c->keep[bh / c->heads * c->time + key]) && (!c->causal || key <= query);
            out[i] = c->shared && key == query ? SELF_SCORE : seen ? dot * j->scale : NONE_SCORE;
            top = fmaxf(top, out[i]);
        }
        for (int64_t i = 0; i < W; i++) sum += expf(out[i] - top);
        const float lse = top + logf(sum);
        for (int64_t i = 0; i < W; i++) out[i] = expf(out[i] - lse);
    }
}

void kernel_chunks_weights(struct pool *pool, const struct chunks *c, float *out) {
    const struct weights_job w = {.j = job_of(c), .out = out};
    kernel_rows(pool, c->batch * c->heads * c->rounds * c->time, chunks_window(c) * c->size, run_weights, &w);
}

/* ---- sorting ---- */

#define DIGIT  8
#define DIGITS (1 << DIGIT)

/* By digits from the lowest: each pass keeps the order of equal ones. */
void kernel_sort_buckets(int32_t *order, const int32_t *buckets, int64_t n, int32_t most, int32_t *room) {
    int passes = 1;
    while (passes * DIGIT < 31 && most >> (passes * DIGIT) > 0) passes++;
    int32_t *from = passes % 2 ? room : order, *to = passes % 2 ? order : room;
    for (int64_t i = 0; i < n; i++) from[i] = (int32_t)i;
    for (int pass = 0; pass < passes; pass++) {
        int64_t start[DIGITS + 1] = {0};
        const int shift = pass * DIGIT;
        for (int64_t i = 0; i < n; i++) start[(buckets[i] >> shift & (DIGITS - 1)) + 1]++;
        for (int d = 0; d < DIGITS; d++) start[d + 1] += start[d];
        for (int64_t i = 0; i < n; i++) to[start[buckets[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
        int32_t *const was = from;
        from = to, to = was;
    }
}
