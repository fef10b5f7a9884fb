/* Masks: typed values that say which keys a query may see. The kernel goes by rows and blocks; mask_bitmap
 * is its plain twin, and the two agree. */
#include "attention/mask.h"
#include "tensor/engine.h"
#include <string.h>

heed_mask heed_mask_none(void) { return (heed_mask){0}; }
heed_mask heed_mask_causal(int64_t offset) { return (heed_mask){.causal = true, .offset = offset}; }
heed_mask heed_mask_window(int64_t window, int64_t offset) {
    return (heed_mask){.windowed = true, .window = window, .offset = offset};
}
heed_mask heed_mask_blocks(int64_t block, int64_t offset) {
    return (heed_mask){.blocked = true, .block = block, .offset = offset};
}
heed_mask heed_mask_lengths(heed_tensor *key_lengths, heed_tensor *query_lengths) {
    return (heed_mask){.key_lengths = key_lengths, .query_lengths = query_lengths};
}
heed_mask heed_mask_keep(heed_tensor *keep) { return (heed_mask){.keep = keep}; }
heed_mask heed_mask_add(heed_tensor *add) { return (heed_mask){.add = add}; }

heed_mask heed_mask_padding(heed_ctx *cx, heed_tensor *attention_mask) {
    heed_tensor *const t = attention_mask;
    if (heed_failed(cx)) return heed_mask_none();
    if (!t || t->rank != 2) {
        heed_fail(cx, t ? HEED_ERR_SHAPE : HEED_ERR_USAGE, "mask: an attention_mask %s%s is not (B,T)",
                  t ? "of shape " : "that is NULL", t ? heed_shape_text(t).s : "");
        return heed_mask_none();
    }
    const int64_t B = t->shape[0], T = t->shape[1];
    heed_tensor *keep = heed_not_equal(cx, heed_cast(cx, t, HEED_F32), heed_full(cx, 0, 0, NULL));
    heed_tensor *lengths = heed_zeros(cx, HEED_I32, 1, &B);
    if (!keep || !lengths || cx->config.dry) return heed_mask_lengths(lengths, NULL);
    int32_t *n = (int32_t *)(void *)lengths->data;
    bool simple = true;
    for (int64_t b = 0; b < B; b++) {
        const uint8_t *row = u8_of(keep) + b * T;
        while (n[b] < T && row[n[b]]) n[b]++;
        for (int64_t j = n[b]; j < T; j++) simple &= !row[j];
    }
    return simple ? heed_mask_lengths(lengths, NULL)
                  : heed_mask_keep(heed_reshape(cx, keep, 4, (int64_t[]){B, 1, 1, T}));
}

static bool has_place(const heed_mask *m) { return m->causal || m->windowed || m->blocked; }

heed_mask heed_mask_both(heed_ctx *cx, heed_mask a, heed_mask b) {
    if (has_place(&a) && has_place(&b) && a.offset != b.offset) {
        heed_fail(cx, HEED_ERR_USAGE, "mask: query offsets %lld and %lld differ", (long long)a.offset,
                  (long long)b.offset);
        return a;
    }
    if ((a.key_lengths && b.key_lengths) || (a.query_lengths && b.query_lengths)) {
        heed_fail(cx, HEED_ERR_USAGE, "mask: both masks have %s lengths",
                  a.key_lengths && b.key_lengths ? "key" : "query");
        return a;
    }
    if (a.blocked && b.blocked && a.block != b.block) {
        heed_fail(cx, HEED_ERR_USAGE, "mask: block sizes %lld and %lld differ", (long long)a.block, (long long)b.block);
        return a;
    }
    heed_mask both = {.causal = a.causal || b.causal,
                      .windowed = a.windowed || b.windowed,
                      .blocked = a.blocked || b.blocked,
                      .offset = has_place(&a) ? a.offset : b.offset,
                      .window = a.windowed ? a.window : b.window,
                      .block = a.blocked ? a.block : b.block,
                      .key_lengths = a.key_lengths ? a.key_lengths : b.key_lengths,
                      .query_lengths = a.query_lengths ? a.query_lengths : b.query_lengths,
                      .keep = a.keep ? a.keep : b.keep,
                      .add = a.add ? a.add : b.add};
    if (a.windowed && b.windowed && b.window < a.window) both.window = b.window;
    if (a.keep && b.keep) both.keep = heed_and(cx, a.keep, b.keep);
    if (a.add && b.add) both.add = heed_add(cx, a.add, b.add);
    return both;
}

static bool check_lengths_shape(heed_ctx *cx, const char *who, const heed_tensor *t, int64_t batch, const char *what) {
    if (t->dtype != HEED_I32 || t->rank != 1 || t->shape[0] != batch || !is_contiguous(t))
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: %s lengths of shape %s are not i32 of shape (%lld), one per sequence",
                         who, what, heed_shape_text(t).s, (long long)batch);
    return true;
}

static bool check_plane(heed_ctx *cx, const char *who, const heed_tensor *t, heed_dtype dtype, const char *what,
                        const int64_t shape[4]) {
    bool fits = t->dtype == dtype && t->rank == 4 && t->shape[3] == shape[3];
    for (int i = 0; fits && i < 3; i++) fits = t->shape[i] == shape[i] || t->shape[i] == 1;
    if (!fits)
        return heed_fail(cx, HEED_ERR_SHAPE,
                         "%s: %s of shape %s does not fit (%lld,%lld,%lld,%lld): batch, heads, queries, keys", who,
                         what, heed_shape_text(t).s, (long long)shape[0], (long long)shape[1], (long long)shape[2],
                         (long long)shape[3]);
    return true;
}

bool mask_check(heed_ctx *cx, const char *who, const heed_mask *m, int64_t batch, int64_t heads, int64_t queries,
                int64_t keys) {
    const int64_t shape[4] = {batch, heads, queries, keys};
    if (m->windowed && m->window < 1)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: a window of %lld positions: at least 1 is needed", who,
                         (long long)m->window);
    if (m->blocked && m->block < 1)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: blocks of %lld positions: at least 1 is needed", who,
                         (long long)m->block);
    if (m->offset < 0)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: query offset %lld is negative", who, (long long)m->offset);
    if (m->offset > ((int64_t)1 << 30))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: query offset %lld is beyond 2^30", who, (long long)m->offset);
    if (m->key_lengths && !check_lengths_shape(cx, who, m->key_lengths, batch, "key")) return false;
    if (m->query_lengths && !check_lengths_shape(cx, who, m->query_lengths, batch, "query")) return false;
    if (m->keep && !check_plane(cx, who, m->keep, HEED_U8, "a bitmap", shape)) return false;
    if (m->add && !check_plane(cx, who, m->add, HEED_F32, "a bias", shape)) return false;
    return true;
}

bool mask_check_lengths(heed_ctx *cx, const char *who, const heed_tensor *lengths, int64_t most, const char *what) {
    for (int64_t b = 0; lengths && !cx->config.dry && b < lengths->count; b++)
        if (i32_of(lengths)[b] < 0 || i32_of(lengths)[b] > most)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: %s length %d of sequence %lld is not within 0 and %lld", who,
                             what, (int)i32_of(lengths)[b], (long long)b, (long long)most);
    return true;
}

static bool sees(const heed_mask *m, int64_t b, int64_t i, int64_t j) {
    const int64_t at = i + m->offset;
    if (m->causal && j > at) return false;
    if (m->windowed && (at - j >= m->window || j - at >= m->window)) return false;
    if (m->blocked && at / m->block != j / m->block) return false;
    if (m->key_lengths && j >= i32_of(m->key_lengths)[b]) return false;
    return !m->query_lengths || i < i32_of(m->query_lengths)[b];
}

static void fill_bitmap(const heed_mask *m, const heed_tensor *t) {
    uint8_t *out = (uint8_t *)t->data;
    const heed_tensor *keep = m->keep;
    const int64_t *n = t->shape, rows = keep ? keep->shape[2] : 1, heads = keep ? keep->shape[1] : 1;
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++, out += n[3]) {
                const int64_t kb = keep && keep->shape[0] > 1 ? b : 0, kh = heads > 1 ? h : 0, ki = rows > 1 ? i : 0;
                const uint8_t *row = keep ? u8_of(keep) + ((kb * heads + kh) * rows + ki) * n[3] : NULL;
                for (int64_t j = 0; j < n[3]; j++) out[j] = (!row || row[j]) && sees(m, b, i, j);
            }
}

heed_tensor *heed_mask_bitmap(heed_ctx *cx, const heed_mask *mask, int64_t batch, int64_t heads, int64_t queries,
                              int64_t keys) {
    static const heed_mask none;
    if (!mask) mask = &none;
    if (heed_failed(cx) || !mask_check(cx, "mask", mask, batch, heads, queries, keys) ||
        !mask_check_lengths(cx, "mask", mask->key_lengths, keys, "key") ||
        !mask_check_lengths(cx, "mask", mask->query_lengths, queries, "query"))
        return NULL;
    heed_mask m = *mask;
    if (m.keep && !(m.keep = heed_contiguous(cx, m.keep))) return NULL;
    const bool by_sequence = m.key_lengths || m.query_lengths, by_row = has_place(&m) || m.query_lengths;
    const int64_t shape[4] = {by_sequence || (m.keep && m.keep->shape[0] != 1) ? batch : 1,
                              m.keep && m.keep->shape[1] != 1 ? heads : 1,
                              by_row || (m.keep && m.keep->shape[2] != 1) ? queries : 1, keys};
    heed_tensor *t = heed_zeros(cx, HEED_U8, 4, shape);
    if (t && !cx->config.dry) fill_bitmap(&m, t);
    return t;
}
