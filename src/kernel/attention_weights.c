/* The weights of chosen rows, from what the kernel kept of them: w = exp(score - top) / sum. Scores come from the very
 * loops of the forward pass, bit for bit, so that a row sums to 1 however large its scores are. */
#include "kernel/attention_parts.h"
#include <string.h>

struct job {
    const struct isa *isa;
    const struct attention *a;
    const float *top, *sum; /* (H, rows), from row 0 of the sequence and head on */
    struct sequence s;
    int64_t head, lanes, rows_per_task, first, n, ldo;
    const int64_t *rows;
    float *out;
};

static float inverse(float sum) { return sum == 0 ? 0 : 1 / sum; }

#define NEAR_HEAD 256 /* D up to which keys are copied, for STRIPS strips of rows at once */
#define STRIPS    8

/* One block of keys for rows i .. i + n, a strip of them. */
static void meet_strip(const struct job *j, struct attention_strip strip, int64_t i, int64_t n, int64_t j0, float *out,
                       struct mask_room *mask) {
    float top[ATTENTION_LANES] = {0}, inv[ATTENTION_LANES] = {0};
    for (int64_t l = 0; l < n; l++) top[l] = j->top[i + l], inv[l] = inverse(j->sum[i + l]);
    strip_mask(j->isa, j->a, &j->s, j->head, i, n, j0, &strip.block, mask);
    if (strip.block.keys == 0) return;
    j->isa->attention_scores(&strip);
    j->isa->attention_weights(strip.scores, strip.block.keys, top, inv);
    j->isa->gemm_transpose(out + j0, j->ldo, strip.scores, j->lanes, strip.block.keys, n);
}

/* Rows i .. i + n that follow each other, at most those of a task. */
static void strip_weights(const struct job *j, int64_t i, int64_t n, float *out, float *scratch) {
    const struct attention *const a = j->a;
    const int64_t kv = j->head / (a->heads / a->kv_heads), lanes = j->lanes;
    float *const qt = take(&scratch, j->rows_per_task * a->d), *const scores = take(&scratch, KEY_BLOCK * lanes);
    struct mask_room *const mask = take_mask(&scratch);
    const float *const q = j->s.q + i * a->q_at.time + j->head * a->q_at.head;
    for (int64_t at = 0; at < n; at += lanes)
        j->isa->attention_pack(qt + at * a->d, q + at * a->q_at.time, a->q_at.time, min64(lanes, n - at), a->d,
                               a->scale);
    const int64_t from = span_of(a, &j->s, i).from, to = span_of(a, &j->s, i + n - 1).to;
    for (int64_t j0 = from / KEY_BLOCK * KEY_BLOCK; j0 < to; j0 += KEY_BLOCK) {
        struct attention_strip strip = {.scores = scores,
                                        .block = block_of(a, &j->s, kv, j0, min64(KEY_BLOCK, to - j0))};
        if (n > lanes && a->d <= NEAR_HEAD)
            strip.block.k = near_rows(strip.block.k, &strip.block.ldk, strip.block.keys, a->d, scratch);
        for (int64_t at = 0; at < n; at += lanes) {
            strip.qt = qt + at * a->d;
            meet_strip(j, strip, i + at, min64(lanes, n - at), j0, out + at * j->ldo, mask);
        }
    }
}

static void row_weights(const struct job *j, int64_t i, float *out, float *scratch) {
    const struct attention *const a = j->a;
    const int64_t kv = j->head / (a->heads / a->kv_heads);
    float *const q = take(&scratch, a->d), *const add = take(&scratch, KEY_BLOCK);
    struct mask_room *const mask = take_mask(&scratch);
    const float *const x = j->s.q + i * a->q_at.time + j->head * a->q_at.head;
    for (int64_t c = 0; c < a->d; c++) q[c] = x[c] * a->scale;
    const struct span see = span_of(a, &j->s, i);
    for (int64_t j0 = see.from; j0 < see.to; j0 += KEY_BLOCK) {
        struct attention_block block = block_of(a, &j->s, kv, j0, min64(KEY_BLOCK, see.to - j0));
        strip_mask(j->isa, a, &j->s, j->head, i, 1, j0, &block, mask);
        for (int64_t k = 0; block.add && k < block.keys; k++) add[k] = block.add[k * j->lanes];
        if (block.add) block.add = add;
        block.from = block.to = NULL; /* nothing is hidden from one row but what add hides */
        j->isa->attention_row_scores(&(struct attention_row){.block = block, .q = q, .scores = out + j0});
        j->isa->attention_row_weights(out + j0, block.keys, j->top[i], inverse(j->sum[i]));
    }
}

/* Is every key of the row written anyway? */
static bool sees_all(const struct job *j, int64_t i) {
    const struct span see = span_of(j->a, &j->s, i);
    return see.from == 0 && see.to == j->a->keys;
}

static void run_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const int64_t end = min64((task + 1) * j->rows_per_task, j->n);
    for (int64_t at = task * j->rows_per_task; at < end;) {
        const int64_t i = j->rows ? j->rows[at] : j->first + at;
        int64_t n = 1;
        while (at + n < end && (!j->rows || j->rows[at + n] == i + n)) n++;
        float *const out = j->out + at * j->ldo;
        const int64_t real = min64(n, j->s.queries - i); /* rows beyond are padding */
        for (int64_t r = 0; r < n; r++)
            if (r >= real || !sees_all(j, i + r)) memset(out + r * j->ldo, 0, (size_t)j->a->keys * sizeof(float));
        if (j->s.queries > FEW && real > 0)
            strip_weights(j, i, real, out, scratch);
        else
            for (int64_t r = 0; r < real; r++) row_weights(j, i + r, out + r * j->ldo, scratch);
        at += n;
    }
}

void kernel_attention_weights(struct pool *pool, const struct attention *a, const float *top, const float *sum,
                              int64_t batch, int64_t head, const int64_t *rows, int64_t first, int64_t n, float *out,
                              int64_t ldo) {
    struct attention plain = *a;
    plain.dropout = 0;
    struct job j = {.isa = isa_get(),
                    .a = &plain,
                    .s = sequence_of(&plain, batch),
                    .head = head,
                    .first = first,
                    .n = n,
                    .ldo = ldo};
    const int64_t at = head * kernel_attention_rows(a) + j.s.row;
    j.top = top + at, j.sum = sum + at, j.rows = rows, j.out = out;
    j.lanes = j.isa->attention_lanes();
    j.rows_per_task = a->d <= NEAR_HEAD ? STRIPS * j.lanes : j.lanes;
    pool_run(pool, ceil_div(n, j.rows_per_task), run_task, &j);
}
