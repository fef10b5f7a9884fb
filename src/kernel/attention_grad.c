/* Attention backward.
 *
 *   p = exp(s - top) / sum,  dv = p' dy,  dp = dy v',  ds = p (dp - sum of p dp),  dq = scale ds k,  dk = scale ds' q
 * and with a cap, s = cap tanh(x / cap),  dx = ds (1 - (s / cap)^2).
 *
 * The sum of p dp is that of dy y, or where one block holds all keys, taken there.
 *
 * Scores are computed again, block by block, from what was saved of each row. A task takes the queries of all heads
 * that share a key head, or, where there are few key heads, every n-th block of them: then parts of dk and dv are added
 * up in the end, in order. How many parts is a matter of shape, so the bits do not depend on threads. Gradients of a
 * bias are sums over everything that the bias was repeated for: a pass of their own goes over it in order. */
#include "kernel/attention_parts.h"
#include <math.h>
#include <string.h>

#define BACK_QUERIES 192   /* queries that take a block of keys at once, at most: */
#define BACK_FLOATS  61440 /* so many that what they bring along stays in L2 */
#define BACK_KEYS    64
#define WIDE_HEAD    512 /* D + E beyond which there are fewer */
#define MAX_PARTS    4
#define LONG_KEYS    ((int64_t)1 << 22) /* numbers of a head's keys and values beyond which there are only two parts */

/* The scratch holds the room of a block. Its masks weigh most, so most queries take most: with fewer, larger heads and
 * their keys take less than is left. */
#define LEAST_LANES 8
_Static_assert(BACK_FLOATS + 2 * BACK_QUERIES * ATTENTION_LANES + 2 * BACK_KEYS * (BACK_QUERIES + ATTENTION_LANES) +
                       BACK_KEYS * (BACK_FLOATS / BACK_QUERIES) +
                       BACK_QUERIES / LEAST_LANES * (int64_t)(sizeof(struct mask_room) / sizeof(float)) + 1024 <=
                   ROOM,
               "the room of a block fits the scratch");

struct job {
    const struct isa *isa;
    const struct attention *a;
    const struct attention_grad *g;
    int64_t lanes, rows, queries, keys; /* queries, keys: of a block */
    int64_t parts, blocks;
    bool alone; /* one block holds all keys. A matter of shape: masks that hide the same give the same bits */
};

/* Room of a block of queries, in the scratch. */
struct room {
    float *qt, *dyt, *q, *dy, *dqt, *p, *ds, *k, *v, *safe, *top, *inv, *delta;
    struct mask_room *masks;
    int64_t ldq, ldy, ld;
};

static struct room room_of(const struct job *j, float *scratch) {
    const struct attention *const a = j->a;
    struct room r = {.ldq = round_up(a->d, j->lanes), .ldy = round_up(a->e, j->lanes), .ld = j->queries + j->lanes};
    r.qt = take(&scratch, j->queries * a->d);
    r.dyt = take(&scratch, j->queries * a->e);
    r.q = take(&scratch, j->queries * r.ldq);
    r.dy = take(&scratch, j->queries * r.ldy);
    r.dqt = take(&scratch, j->queries * a->d);
    r.p = take(&scratch, j->keys * r.ld);
    r.ds = take(&scratch, j->keys * r.ld);
    r.k = take(&scratch, j->keys * a->d);
    r.v = take(&scratch, j->keys * a->e);
    r.safe = take(&scratch, j->keys * a->d);
    r.top = take(&scratch, j->queries);
    r.inv = take(&scratch, j->queries);
    r.delta = take(&scratch, j->queries);
    r.masks = (void *)take(&scratch, j->queries / j->lanes * (int64_t)(sizeof(struct mask_room) / sizeof(float)));
    return r;
}

/* n rows, `rows` in all, of `cols` numbers times scale; what is beyond is zero. */
static void copy_rows(float *to, int64_t ldt, const float *from, int64_t ldf, int64_t n, int64_t rows, int64_t cols,
                      float scale) {
    for (int64_t i = 0; i < rows; i++, to += ldt, from += ldf) {
        const int64_t here = i < n ? cols : 0;
        for (int64_t c = 0; c < here; c++) to[c] = from[c] * scale;
        for (int64_t c = here; c < ldt; c++) to[c] = 0;
    }
}

/* Everything that the queries i0 .. i0 + n of head h bring along. */
static void pack_queries(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n,
                         const struct room *r) {
    const struct attention *const a = j->a;
    const struct attention_grad *const g = j->g;
    const int64_t lanes = j->lanes, wide = round_up(n, lanes), row = s->row + i0, ldy = a->heads * a->e;
    const float *const q = s->q + i0 * a->q_at.time + h * a->q_at.head;
    const float *const y = g->y + row * ldy + h * a->e, *const dy = g->dy + row * ldy + h * a->e;
    for (int64_t at = 0; at < n; at += lanes) {
        const int64_t count = min64(lanes, n - at);
        j->isa->attention_pack(r->qt + at * a->d, q + at * a->q_at.time, a->q_at.time, count, a->d, a->scale);
        j->isa->attention_pack(r->dyt + at * a->e, dy + at * ldy, ldy, count, a->e, 1);
    }
    copy_rows(r->q, r->ldq, q, a->q_at.time, n, wide, a->d, a->scale);
    copy_rows(r->dy, r->ldy, dy, ldy, n, wide, a->e, 1);
    if (!j->alone) j->isa->attention_dots(r->delta, y, ldy, dy, ldy, n, a->e);
    memset(r->dqt, 0, (size_t)(wide * a->d) * sizeof(float));
    for (int64_t i = 0; i < wide; i++) {
        const bool real = i < n;
        const float sum = real ? g->sum[h * j->rows + row + i] : 0;
        r->top[i] = real ? g->top[h * j->rows + row + i] : -INFINITY;
        r->inv[i] = sum == 0 ? 0 : 1 / sum;
        if (j->alone || !real) r->delta[i] = 0;
    }
}

/* The block's ds and, where wanted, what it adds to dk, dv and dq. False: no query sees any of the keys. */
static bool attend_block(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n, int64_t j0,
                         const struct room *r, struct attention_back *back) {
    const struct attention *const a = j->a;
    const int64_t lanes = j->lanes, kv = h / (a->heads / a->kv_heads), keys = min64(j->keys, s->keys - j0);
    struct attention_block masks[BACK_QUERIES];
    bool hides = false;
    back->keys = 0;
    back->strips = ceil_div(n, lanes);
    for (int64_t at = 0; at < back->strips; at++) {
        masks[at] = (struct attention_block){.keys = keys, .cap = a->cap};
        strip_mask(j->isa, a, s, h, i0 + at * lanes, min64(lanes, n - at * lanes), j0, &masks[at], &r->masks[at]);
        back->keys = max64(back->keys, masks[at].keys);
        hides |= block_hides(&masks[at]);
    }
    if (back->keys == 0) return false;
    back->mask = masks;
    back->ldk = a->k_at.time;
    back->ldv = a->v_at.time;
    back->k = near_rows(s->k + j0 * a->k_at.time + kv * a->k_at.head, &back->ldk, back->keys, a->d, r->k);
    back->v = near_rows(s->v + j0 * a->v_at.time + kv * a->v_at.head, &back->ldv, back->keys, a->e, r->v);
    back->safe_k = back->k;
    back->ld_safe = back->ldk;
    bool bad;
    if (hides && back->dqt)
        back->safe_k = finite_rows(j->isa, back->k, &back->ld_safe, back->keys, a->d, r->safe, &bad);
    j->isa->attention_back(back);
    back->mask = NULL;
    return true;
}

static struct attention_back back_of(const struct job *j, const struct room *r) {
    return (struct attention_back){.d = j->a->d,
                                   .e = j->a->e,
                                   .ld = r->ld,
                                   .qt = r->qt,
                                   .dyt = r->dyt,
                                   .q = r->q,
                                   .dy = r->dy,
                                   .ldq = r->ldq,
                                   .ldy = r->ldy,
                                   .top = r->top,
                                   .inv = r->inv,
                                   .delta = r->delta,
                                   .alone = j->alone,
                                   .p = r->p,
                                   .ds = r->ds};
}

/* ---- queries, keys, values ---- */

static int64_t key_row(const struct attention *a, int64_t b) { return a->k_offsets ? a->k_offsets[b] : b * a->keys; }
static int64_t key_rows(const struct attention *a, const struct sequence *s) {
    return a->k_offsets ? s->keys : a->keys;
}
static int64_t all_key_rows(const struct attention *a) { return a->k_offsets ? a->k_rows : a->batch * a->keys; }

/* Part `part` of dk (size D) or dv (size E) of a sequence: where it begins for key head kv, and how far apart its rows
 * are. The first part is the gradient itself. */
static float *part_of(const struct job *j, float *whole, int64_t *ld, float *parts, int64_t part, int64_t b, int64_t kv,
                      int64_t size) {
    const int64_t row = key_row(j->a, b), all = all_key_rows(j->a) * j->a->kv_heads * size;
    if (!whole) return NULL;
    if (part == 0) return whole + row * *ld + kv * size;
    *ld = j->a->kv_heads * size;
    return parts + (part - 1) * all + row * *ld + kv * size;
}
static float *dk_parts(const struct job *j) { return j->g->work; }
static float *dv_parts(const struct job *j) {
    const int64_t floats = j->g->dk ? (j->parts - 1) * all_key_rows(j->a) * j->a->kv_heads * j->a->d : 0;
    return dk_parts(j) + round_up(floats, 16);
}

static void clear_head(float *x, int64_t ld, int64_t rows, int64_t size) {
    for (int64_t i = 0; x && i < rows; i++) memset(x + i * ld, 0, (size_t)size * sizeof(float));
}

static void put_dq(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n,
                   const struct room *r) {
    const struct attention *const a = j->a;
    const int64_t ld = j->g->ldq, lanes = j->lanes;
    float scale[ATTENTION_LANES], *const dq = j->g->dq + (s->row + i0) * ld + h * a->d;
    for (int64_t l = 0; l < lanes; l++) scale[l] = a->scale;
    for (int64_t at = 0; at < n; at += lanes)
        j->isa->attention_unpack(dq + at * ld, ld, r->dqt + at * a->d, min64(lanes, n - at), a->d, scale, j->g->add_q);
}

/* Blocks part, part + parts, ... of the queries of every head that shares key head kv. */
static void run_part(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct attention *const a = j->a;
    const struct attention_grad *const g = j->g;
    const int64_t part = task % j->parts, kv = task / j->parts % a->kv_heads, group = a->heads / a->kv_heads;
    const struct sequence s = sequence_of(a, task / j->parts / a->kv_heads);
    const struct room r = room_of(j, scratch);
    const int64_t rows = key_rows(a, &s);
    int64_t ldk = g->ldk, ldv = g->ldv;
    float *const dk = part_of(j, g->dk, &ldk, dk_parts(j), part, s.b, kv, a->d);
    float *const dv = part_of(j, g->dv, &ldv, dv_parts(j), part, s.b, kv, a->e);
    if (part > 0 || !g->add_k) clear_head(dk, ldk, rows, a->d);
    if (part > 0 || !g->add_v) clear_head(dv, ldv, rows, a->e);
    for (int64_t h = kv * group; h < (kv + 1) * group; h++) {
        for (int64_t i0 = part * j->queries; i0 < s.queries; i0 += j->parts * j->queries) {
            const int64_t n = min64(j->queries, s.queries - i0);
            const int64_t from = span_of(a, &s, i0).from, to = span_of(a, &s, i0 + n - 1).to;
            struct attention_back back = back_of(j, &r);
            back.dqt = g->dq ? r.dqt : NULL;
            back.lddk = ldk;
            back.lddv = ldv;
            pack_queries(j, &s, h, i0, n, &r);
            for (int64_t j0 = from / j->keys * j->keys; j0 < to; j0 += j->keys) {
                back.dk = dk ? dk + j0 * ldk : NULL;
                back.dv = dv ? dv + j0 * ldv : NULL;
                attend_block(j, &s, h, i0, n, j0, &r, &back);
            }
            if (g->dq) put_dq(j, &s, h, i0, n, &r);
        }
        if (g->dq && !g->add_q && part == 0 && !a->q_offsets)
            clear_head(g->dq + (s.row + s.queries) * g->ldq + h * a->d, g->ldq, a->queries - s.queries, a->d);
    }
}

static void add_parts(const struct job *j, float *whole, int64_t ld, const float *parts, int64_t row, int64_t size) {
    const int64_t width = j->a->kv_heads * size, all = all_key_rows(j->a) * width;
    for (int64_t p = 0; whole && p + 1 < j->parts; p++)
        j->isa->axpy_part(whole + row * ld, 1, parts + p * all + row * width, width);
}

#define SUM_ROWS 64
static void run_sum(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    (void)scratch;
    for (int64_t row = task * SUM_ROWS; row < min64((task + 1) * SUM_ROWS, all_key_rows(j->a)); row++) {
        add_parts(j, j->g->dk, j->g->ldk, dk_parts(j), row, j->a->d);
        add_parts(j, j->g->dv, j->g->ldv, dv_parts(j), row, j->a->e);
    }
}

/* ---- biases ---- */

/* ds of one block goes to the bias's gradient; ds is (keys, ld), dadd begins at (i0, j0). */
static void put_dadd(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n, int64_t j0,
                     const struct attention_back *back) {
    const struct attention_plane at = j->a->add_at;
    float *const to = j->g->dadd + s->b * at.batch + h * at.head + i0 * at.query + j0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < back->keys; k++) to[i * at.query + k] += back->ds[k * back->ld + i];
}

static void put_ddistance(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n, int64_t j0,
                          const struct attention_back *back) {
    const struct attention *const a = j->a;
    float *const to = j->g->ddistance + h * a->distance_head + a->distance_zero + j0 - i0 - s->place;
    for (int64_t k = 0; k < back->keys; k++)
        for (int64_t i = 0; i < n; i++) to[k - i] += back->ds[k * back->ld + i];
}

typedef void (*put_bias)(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n, int64_t j0,
                         const struct attention_back *back);

static void bias_of_head(const struct job *j, int64_t b, int64_t h, float *scratch, put_bias fn) {
    const struct attention *const a = j->a;
    const struct sequence s = sequence_of(a, b);
    const struct room r = room_of(j, scratch);
    for (int64_t i0 = 0; i0 < s.queries; i0 += j->queries) {
        const int64_t n = min64(j->queries, s.queries - i0);
        const int64_t from = span_of(a, &s, i0).from, to = span_of(a, &s, i0 + n - 1).to;
        pack_queries(j, &s, h, i0, n, &r);
        for (int64_t j0 = from / j->keys * j->keys; j0 < to; j0 += j->keys) {
            struct attention_back back = back_of(j, &r);
            if (attend_block(j, &s, h, i0, n, j0, &r, &back)) fn(j, &s, h, i0, n, j0, &back);
        }
    }
}

/* A task: one place of the bias, and all sequences and heads that share it, in order. */
static void run_dadd(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct attention *const a = j->a;
    const int64_t heads = a->add_at.head ? a->heads : 1;
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t h = 0; h < a->heads; h++)
            if ((!a->add_at.batch || b == task / heads) && (!a->add_at.head || h == task % heads))
                bias_of_head(j, b, h, scratch, put_dadd);
}

static void run_ddistance(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    for (int64_t b = 0; b < j->a->batch; b++)
        for (int64_t h = 0; h < j->a->heads; h++)
            if (!j->a->distance_head || h == task) bias_of_head(j, b, h, scratch, put_ddistance);
}

/* ---- the cut ---- */

static struct job job_of(const struct attention *a, const struct attention_grad *g) {
    const struct isa *const isa = isa_get();
    struct job j = {.isa = isa, .a = a, .g = g, .lanes = isa->attention_lanes(), .rows = kernel_attention_rows(a)};
    const int64_t fit = BACK_FLOATS / max64(1, 3 * a->d + 2 * a->e) / j.lanes * j.lanes;
    j.blocks = ceil_div(a->queries, max64(j.lanes, min64(BACK_QUERIES, fit)));
    j.queries = round_up(ceil_div(a->queries, max64(1, j.blocks)), j.lanes);
    j.keys = a->d + a->e > WIDE_HEAD ? 16 : BACK_KEYS;
    j.alone = a->keys <= j.keys && a->cap == 0;
    const int64_t most = a->keys * (a->d + a->e) > LONG_KEYS ? 2 : MAX_PARTS;
    j.parts = max64(1, min64(most / max64(1, a->kv_heads), j.blocks));
    return j;
}

size_t kernel_attention_grad_work(const struct attention *a, const struct attention_grad *g) {
    const struct job j = job_of(a, g);
    const int64_t rows = all_key_rows(a) * a->kv_heads * (j.parts - 1);
    return (size_t)(round_up(g->dk ? rows * a->d : 0, 16) + (g->dv ? rows * a->e : 0)) * sizeof(float);
}

void kernel_attention_grad(struct pool *pool, const struct attention *a, const struct attention_grad *g) {
    struct job j = job_of(a, g);
    if (g->dq || g->dk || g->dv) {
        pool_run(pool, a->batch * a->kv_heads * j.parts, run_part, &j);
        if (j.parts > 1) pool_run(pool, ceil_div(all_key_rows(a), SUM_ROWS), run_sum, &j);
    }
    if (g->dadd) {
        if (!g->add_add) memset(g->dadd, 0, (size_t)g->add_count * sizeof(float));
        pool_run(pool, (a->add_at.batch ? a->batch : 1) * (a->add_at.head ? a->heads : 1), run_dadd, &j);
    }
    if (g->ddistance) {
        if (!g->add_distance) memset(g->ddistance, 0, (size_t)(g->distance_rows * g->distance_count) * sizeof(float));
        pool_run(pool, a->distance_head ? a->heads : 1, run_ddistance, &j);
    }
}
