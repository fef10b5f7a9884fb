/* Attention forward: how the work is cut; the inner loops are in isa/attention.c.
 *
 * A task is some blocks of queries of some heads. Within one, blocks of keys come in order and are taken by the block's
 * strips one by one while they are in cache. A sequence of few queries, as in decoding, goes row by row instead: there
 * a strip would be mostly empty, and the time is that of reading the keys and values once, for all heads that share
 * them. */
#include "kernel/attention_parts.h"
#include "kernel/finite.h"
#include <math.h>
#include <string.h>

#define QUERY_BLOCK 512                /* queries of a task, at most: keys and values are copied once for so many */
#define LEAST_BLOCK 256                /* and at least, also where that leaves threads without a task */
#define NEAR_STRIPS 3                  /* strips for which copying keys and values pays */
#define NEAR_HEAD   512                /* D + E up to which there is room for that */
#define TASK_WORK   ((int64_t)1 << 17) /* multiply-adds that are worth a task of their own */

struct job {
    const struct isa *isa;
    const struct attention *a;
    float *y;
    struct attention_at y_at;
    float *top, *sum; /* (H, rows) or NULL */
    int64_t rows, lanes, query_block, blocks, items, per_task;
};

int64_t kernel_attention_rows(const struct attention *a) { return a->q_offsets ? a->q_rows : a->batch * a->queries; }

static float *y_of(const struct job *j, const struct sequence *s, int64_t h) {
    const struct attention *const a = j->a;
    return j->y + (a->q_offsets ? s->row * j->y_at.time : s->b * j->y_at.batch) + h * j->y_at.head;
}

static void clear_rows(const struct job *j, float *y, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) memset(y + i * j->y_at.time, 0, (size_t)j->a->e * sizeof(float));
}

static void put_statistics(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n,
                           const float *top, const float *sum) {
    const int64_t at = h * j->rows + s->row + i0;
    if (j->top) memcpy(j->top + at, top, (size_t)n * sizeof(float));
    if (j->sum) memcpy(j->sum + at, sum, (size_t)n * sizeof(float));
}

/* What finite_rows took out is given to the lanes that see it. */
static void add_infinite(const struct attention_strip *s, const float *v, int64_t ldv, int64_t lanes) {
    for (int64_t j = 0; j < s->block.keys; j++) {
        const float *const row = v + j * ldv, *const p = s->scores + j * lanes;
        if (kernel_is_finite(row, s->block.e)) continue;
        for (int64_t l = 0; l < lanes; l++)
            for (int64_t c = 0; p[l] != 0 && c < s->block.e; c++) s->yt[c * lanes + l] += p[l] * row[c];
    }
}

/* One block of keys against every strip of a block of queries. */
static void meet_block(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n,
                       struct attention_block block, int64_t j0, struct attention_strip strip, struct mask_room *mask,
                       float *room) {
    const struct attention *const a = j->a;
    const int64_t lanes = j->lanes;
    for (int64_t at = 0; at < n; at += lanes) {
        strip.block = block;
        strip_mask(j->isa, a, s, h, i0 + at, min64(lanes, n - at), j0, &strip.block, mask);
        if (strip.block.keys > 0) {
            bool bad = false;
            if (block_hides(&strip.block))
                strip.block.v = finite_rows(j->isa, block.v, &strip.block.ldv, strip.block.keys, a->e, room, &bad);
            j->isa->attention_strip(&strip);
            if (bad) add_infinite(&strip, block.v, block.ldv, lanes);
        }
        strip.qt += lanes * a->d;
        strip.yt += lanes * a->e;
        strip.top += lanes;
        strip.sum += lanes;
    }
}

static void query_block(const struct job *j, const struct sequence *s, int64_t h, int64_t i0, int64_t n,
                        float *scratch) {
    const struct attention *const a = j->a;
    const int64_t lanes = j->lanes, wide = round_up(n, lanes), kv = h / (a->heads / a->kv_heads);
    const bool near = wide >= NEAR_STRIPS * lanes && a->d + a->e <= NEAR_HEAD;
    float *const qt = take(&scratch, wide * a->d), *const yt = take(&scratch, wide * a->e);
    float *const top = take(&scratch, wide), *const sum = take(&scratch, wide);
    struct mask_room *const mask = take_mask(&scratch);
    struct attention_strip strip = {.qt = qt, .yt = yt, .top = top, .sum = sum};
    strip.scores = take(&scratch, KEY_BLOCK * lanes);
    const float *const q = s->q + i0 * a->q_at.time + h * a->q_at.head;
    for (int64_t at = 0; at < n; at += lanes)
        j->isa->attention_pack(qt + at * a->d, q + at * a->q_at.time, a->q_at.time, min64(lanes, n - at), a->d,
                               a->scale);
    memset(yt, 0, (size_t)(wide * a->e) * sizeof(float));
    memset(sum, 0, (size_t)wide * sizeof(float));
    for (int64_t i = 0; i < wide; i++) top[i] = -INFINITY;
    const int64_t from = span_of(a, s, i0).from, to = span_of(a, s, i0 + n - 1).to;
    float *const k_room = near ? take(&scratch, KEY_BLOCK * a->d) : NULL;
    float *const v_room = near ? take(&scratch, KEY_BLOCK * a->e) : NULL;
    for (int64_t j0 = from, end; j0 < to; j0 = end) {
        end = min64(to, block_end(s, j0, KEY_BLOCK));
        struct attention_block block = block_of(a, s, kv, j0, end - j0);
        if (near) {
            block.k = near_rows(block.k, &block.ldk, block.keys, a->d, k_room);
            block.v = near_rows(block.v, &block.ldv, block.keys, a->e, v_room);
        }
        meet_block(j, s, h, i0, n, block, j0, strip, mask, scratch);
    }
    put_statistics(j, s, h, i0, n, top, sum);
    float *const y = y_of(j, s, h) + i0 * j->y_at.time;
    for (int64_t i = 0; i < wide; i++) sum[i] = sum[i] == 0 ? 0 : 1 / sum[i];
    for (int64_t at = 0; at < n; at += lanes)
        j->isa->attention_unpack(y + at * j->y_at.time, j->y_at.time, yt + at * a->e, min64(lanes, n - at), a->e,
                                 sum + at, false);
}

/* ---- few queries ---- */

/* The bias and dropout of one query, from those of a strip. */
static void row_mask(const struct job *j, const struct sequence *s, int64_t h, int64_t i, int64_t j0,
                     struct attention_block *block, struct mask_room *mask, float *add, float *factor) {
    struct attention_block strip = {.keys = block->keys};
    strip_mask(j->isa, j->a, s, h, i, 1, j0, &strip, mask);
    for (int64_t k = 0; strip.add && k < strip.keys; k++) add[k] = strip.add[k * j->lanes];
    for (int64_t k = 0; strip.factor && k < strip.keys; k++) factor[k] = strip.factor[k * j->lanes];
    block->add = strip.add ? add : NULL;
    block->factor = strip.factor ? factor : NULL;
}

static bool has_strips(const struct attention *a) {
    return a->add || a->keep || a->slopes || a->distance || a->dropout > 0;
}

static void meet_row(const struct job *j, const struct sequence *s, int64_t h, int64_t i, struct attention_row row,
                     int64_t j0, struct mask_room *mask, float *room) {
    const struct attention *const a = j->a;
    const float *const v = row.block.v;
    const int64_t ldv = row.block.ldv;
    float *const add = take(&room, KEY_BLOCK), *const factor = take(&room, KEY_BLOCK);
    bool bad = false;
    if (has_strips(a)) row_mask(j, s, h, i, j0, &row.block, mask, add, factor);
    if (row.block.add) row.block.v = finite_rows(j->isa, v, &row.block.ldv, row.block.keys, a->e, room, &bad);
    j->isa->attention_row(&row);
    for (int64_t k = 0; bad && k < row.block.keys; k++) {
        if (row.scores[k] == 0 || kernel_is_finite(v + k * ldv, a->e)) continue;
        for (int64_t c = 0; c < a->e; c++) row.y[c] += row.scores[k] * v[k * ldv + c];
    }
}

/* All queries of the heads that share key head kv. */
static void few_queries(const struct job *j, const struct sequence *s, int64_t kv, float *scratch) {
    const struct attention *const a = j->a;
    const int64_t group = a->heads / a->kv_heads, n = group * s->queries;
    float *const scores = take(&scratch, KEY_BLOCK);
    struct mask_room *const mask = take_mask(&scratch);
    const int64_t most = (ROOM / 4) / (a->d + a->e + 2); /* rows at once; the rest of the scratch is for odd values */
    for (int64_t r0 = 0; r0 < n; r0 += most) {
        const int64_t rows = min64(most, n - r0);
        float *room = scratch;
        float *const q = take(&room, rows * a->d), *const y = take(&room, rows * a->e);
        float *const top = take(&room, rows), *const sum = take(&room, rows);
        int64_t from = s->keys, to = 0;
        for (int64_t r = 0; r < rows; r++) {
            const int64_t h = kv * group + (r0 + r) / s->queries, i = (r0 + r) % s->queries;
            const float *const x = s->q + i * a->q_at.time + h * a->q_at.head;
            for (int64_t c = 0; c < a->d; c++) q[r * a->d + c] = x[c] * a->scale;
            memset(y + r * a->e, 0, (size_t)a->e * sizeof(float));
            top[r] = -INFINITY, sum[r] = 0;
            from = min64(from, span_of(a, s, i).from), to = max64(to, span_of(a, s, i).to);
        }
        for (int64_t j0 = from, end; j0 < to; j0 = end) {
            end = block_end(s, j0, KEY_BLOCK);
            for (int64_t r = 0; r < rows; r++) {
                const int64_t h = kv * group + (r0 + r) / s->queries, i = (r0 + r) % s->queries;
                const struct span see = span_of(a, s, i);
                const int64_t k0 = max64(j0, see.from), k1 = min64(end, see.to);
                if (k0 >= k1) continue;
                const struct attention_row row = {
                    block_of(a, s, kv, k0, k1 - k0), q + r * a->d, scores, y + r * a->e, top + r, sum + r};
                meet_row(j, s, h, i, row, k0, mask, room);
            }
        }
        for (int64_t r = 0; r < rows; r++) {
            const int64_t h = kv * group + (r0 + r) / s->queries, i = (r0 + r) % s->queries;
            const float scale = sum[r] == 0 ? 0 : 1 / sum[r];
            float *const to_y = y_of(j, s, h) + i * j->y_at.time;
            for (int64_t c = 0; c < a->e; c++) to_y[c] = y[r * a->e + c] * scale;
            put_statistics(j, s, h, i, 1, top + r, sum + r);
        }
    }
}

/* ---- the cut ---- */

/* Rows beyond a sequence's length are zeros, and saw nothing. */
static void pad(const struct job *j, const struct sequence *s, int64_t h) {
    if (j->a->q_offsets || s->queries == j->a->queries) return;
    clear_rows(j, y_of(j, s, h), s->queries, j->a->queries);
    for (int64_t i = s->queries; i < j->a->queries; i++)
        put_statistics(j, s, h, i, 1, &(float){-INFINITY}, &(float){0});
}

/* Item: a block of queries of a head; late blocks first, for causal ones are the longest. */
static void run_item(const struct job *j, int64_t item, float *scratch) {
    const struct attention *const a = j->a;
    const int64_t block = j->blocks - 1 - item % j->blocks, bh = item / j->blocks, h = bh % a->heads;
    const struct sequence s = sequence_of(a, bh / a->heads);
    const int64_t group = a->heads / a->kv_heads, i0 = block * j->query_block;
    if (block == 0) pad(j, &s, h);
    if (s.queries <= FEW) {
        if (block == 0 && h % group == 0) few_queries(j, &s, h / group, scratch);
    } else if (i0 < s.queries) {
        query_block(j, &s, h, i0, min64(j->query_block, s.queries - i0), scratch);
    }
}

static void run_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    for (int64_t i = task * j->per_task; i < min64((task + 1) * j->per_task, j->items); i++) run_item(j, i, scratch);
}

void kernel_attention(struct pool *pool, const struct attention *a, float *y, struct attention_at y_at, float *top,
                      float *sum) {
    struct job j = {.isa = isa_get(), .a = a, .y = y, .y_at = y_at, .top = top, .sum = sum};
    j.rows = kernel_attention_rows(a);
    j.lanes = j.isa->attention_lanes();
    const int64_t fit = (ROOM / 4) / (a->d + a->e + 1) / j.lanes * j.lanes;
    const int64_t share = a->batch * a->heads * a->queries / (pool ? 4 * pool_threads(pool) : 1);
    j.query_block = max64(j.lanes, min64(min64(QUERY_BLOCK, fit), max64(LEAST_BLOCK, share / j.lanes * j.lanes)));
    j.blocks = max64(1, ceil_div(a->queries, j.query_block));
    j.items = a->batch * a->heads * j.blocks;
    const int64_t work = min64(j.query_block, a->queries) * a->keys * (a->d + a->e);
    j.per_task = max64(1, TASK_WORK / max64(1, work));
    if (j.items == 0) return;
    pool_run(pool, ceil_div(j.items, j.per_task), run_task, &j);
}
