/* Sequences, spans and masks of attention. A strip's mask is worked out block by block, so nothing of Tq x Tk is held.
 */
#include "kernel/attention_parts.h"
#include "kernel/finite.h"
#include <math.h>
#include <string.h>

struct sequence sequence_of(const struct attention *a, int64_t b) {
    struct sequence s = {.b = b, .queries = a->queries, .keys = a->keys, .row = b * a->queries};
    int64_t q_row = 0, k_row = 0, batch = b;
    if (a->q_offsets) {
        s.row = q_row = a->q_offsets[b];
        k_row = a->k_offsets[b];
        s.queries = a->q_offsets[b + 1] - q_row;
        s.keys = a->k_offsets[b + 1] - k_row;
        batch = 0;
    }
    if (a->q_lengths) s.queries = a->q_lengths[b];
    if (a->k_lengths) s.keys = a->k_lengths[b];
    s.place = a->places ? a->places[b] : a->offset;
    s.forgotten = a->forgotten ? a->forgotten[b] : 0;
    s.q = a->q + batch * a->q_at.batch + q_row * a->q_at.time;
    s.k = a->k + batch * a->k_at.batch + k_row * a->k_at.time;
    s.v = a->v + batch * a->v_at.batch + k_row * a->v_at.time;
    return s;
}

struct span span_of(const struct attention *a, const struct sequence *s, int64_t i) {
    const int64_t at = i + s->place;
    struct span see = {0, s->keys};
    if (a->causal) see.to = min64(see.to, at + 1);
    if (a->window) {
        const int64_t window = min64(a->window, at + s->keys + 1); /* wider ones hide nothing, and would overflow */
        see.from = max64(see.from, at - window + 1);
        see.to = min64(see.to, at + window);
    }
    if (a->block) {
        see.from = max64(see.from, at / a->block * a->block);
        see.to = min64(see.to, (at / a->block + 1) * a->block);
    }
    see.to = max64(see.to, 0);
    see.from = min64(see.from, see.to);
    return see;
}

/* Lanes beyond the strip's rows see nothing. */
static bool strip_spans(const struct attention *a, const struct sequence *s, int64_t i0, int64_t n, int64_t lanes,
                        int64_t j0, struct attention_block *block, struct mask_room *room) {
    const struct span first = span_of(a, s, i0), last = span_of(a, s, i0 + n - 1);
    const int64_t keys = min64(block->keys, last.to - j0);
    block->keys = first.from >= j0 + block->keys ? 0 : max64(keys, 0);
    if (n == lanes && last.from <= j0 && first.to >= j0 + block->keys) return false;
    for (int64_t l = 0; l < lanes; l++) {
        const struct span see = l < n ? span_of(a, s, i0 + l) : (struct span){0, 0};
        room->from[l] = (int32_t)(max64(see.from, j0) - j0);
        room->to[l] = (int32_t)max64(see.to - j0, 0);
    }
    return true;
}

static void strip_add(const struct isa *isa, const struct attention *a, const struct sequence *s, int64_t h, int64_t i0,
                      int64_t n, int64_t lanes, int64_t j0, int64_t keys, float *out) {
    const float *const add = a->add ? a->add + s->b * a->add_at.batch + h * a->add_at.head + j0 : NULL;
    const uint8_t *const keep = a->keep ? a->keep + s->b * a->keep_at.batch + h * a->keep_at.head + j0 : NULL;
    memset(out, 0, (size_t)(keys * lanes) * sizeof(float));
    if (add && a->add_at.query)
        isa->gemm_transpose(out, lanes, add + i0 * a->add_at.query, a->add_at.query, n, keys);
    else if (add)
        for (int64_t j = 0; j < keys; j++)
            for (int64_t l = 0; l < lanes; l++) out[j * lanes + l] = add[j];
    if (a->slopes)
        for (int64_t j = 0; j < keys; j++)
            for (int64_t l = 0; l < lanes; l++) {
                const float apart = (float)(i0 + l + s->place - j0 - j);
                out[j * lanes + l] -= a->slopes[h] * fabsf(apart);
            }
    if (a->distance) {
        const float *const row = a->distance + h * a->distance_head + a->distance_zero + j0 - i0 - s->place;
        for (int64_t j = 0; j < keys; j++)
            for (int64_t l = 0; l < n; l++) out[j * lanes + l] += row[j - l];
    }
    for (int64_t l = 0; keep && l < n; l++) {
        const uint8_t *const row = keep + (i0 + l) * a->keep_at.query;
        for (int64_t j = 0; j < keys; j++)
            if (!row[j]) out[j * lanes + l] = -INFINITY;
    }
}

static void strip_factor(const struct isa *isa, const struct attention *a, const struct sequence *s, int64_t h,
                         int64_t i0, int64_t lanes, int64_t j0, int64_t keys, float *out) {
    const uint32_t least = (uint32_t)lrint((double)a->dropout * 65536);
    const float scale = least < 65536 ? 65536 / (float)(65536 - least) : 0;
    const int64_t groups = (a->queries + 15) / 16, head = s->b * a->heads + h;
    for (int64_t l = 0; l < lanes;) {
        const int64_t first = (i0 + l) % 16, cols = min64(16 - first, lanes - l);
        const uint64_t word = (uint64_t)(((head * groups + (i0 + l) / 16) * a->keys + j0) * 8);
        isa->attention_factors(out + l, lanes, keys, first, cols, least, scale, a->seed, a->stream, word);
        l += cols;
    }
}

void strip_mask(const struct isa *isa, const struct attention *a, const struct sequence *s, int64_t h, int64_t i0,
                int64_t n, int64_t j0, struct attention_block *block, struct mask_room *room) {
    const int64_t lanes = isa->attention_lanes();
    block->from = block->to = NULL;
    block->add = block->factor = NULL;
    if (strip_spans(a, s, i0, n, lanes, j0, block, room)) {
        block->from = room->from;
        block->to = room->to;
    }
    if (block->keys == 0) return;
    if (a->add || a->keep || a->slopes || a->distance) {
        strip_add(isa, a, s, h, i0, n, lanes, j0, block->keys, room->add);
        block->add = room->add;
    }
    if (a->dropout > 0) {
        strip_factor(isa, a, s, h, i0, lanes, j0, block->keys, room->factor);
        block->factor = room->factor;
    }
}

const float *near_rows(const float *x, int64_t *ldx, int64_t rows, int64_t cols, float *room) {
    if (*ldx == cols) return x;
    for (int64_t r = 0; r < rows; r++) memcpy(room + r * cols, x + r * *ldx, (size_t)cols * sizeof(float));
    *ldx = cols;
    return room;
}

const float *finite_rows(const struct isa *isa, const float *x, int64_t *ldx, int64_t rows, int64_t cols, float *room,
                         bool *bad) {
    *bad = !isa->attention_finite(x, *ldx, rows, cols);
    if (!*bad) return x;
    kernel_copy_finite(room, x, *ldx, rows, cols);
    *ldx = cols;
    return room;
}
