#include "text/metrics/subsequence.h"
#include "base/checked.h"
#include <string.h>

#define COLUMNS_AT_ONCE 256 /* between two looks at whether it was cancelled */

bool subsequence_open(heed_ctx *cx, struct subsequence *s, int32_t ids, size_t most) {
    size_t bytes;
    *s = (struct subsequence){.cx = cx};
    if (most > UINT32_MAX - 1 || !size_mul(most + 1, sizeof *s->place, &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "rouge: a text of %zu words is too long", most);
    s->place = heed_mem_new(cx, bytes);
    s->first = heed_mem_new(cx, ((size_t)ids + 1) * sizeof *s->first);
    if (heed_failed(cx)) return false;
    memset(s->first, 0, ((size_t)ids + 1) * sizeof *s->first);
    return true;
}

void subsequence_close(struct subsequence *s) {
    heed_mem_free(s->cx, s->place);
    heed_mem_free(s->cx, s->first);
}

void subsequence_take(struct subsequence *s, const int32_t *a, size_t n) {
    uint32_t used = 0;
    for (size_t i = 0; i < s->n; i++) s->first[s->a[i]] = 0;
    s->a = a, s->n = n, s->words = (n + 63) / 64;
    for (size_t i = n; i-- > 0;) { /* lists grow at their heads */
        uint32_t *const first = &s->first[a[i]];
        if (*first == 0 || s->place[*first].word != i / 64) {
            s->place[++used] = (struct subsequence_place){.word = (uint32_t)(i / 64), .next = *first};
            *first = used;
        }
        s->place[*first].bits |= (uint64_t)1 << i % 64;
    }
}

/* The column behind `id`: V becomes (V + (V & M)) | (V & ~M), where M are the places of id. Without a place and a carry
 * a word stays as it is. */
static void step(const struct subsequence *s, uint64_t *v, int32_t id) {
    uint64_t carry = 0;
    uint32_t at = s->first[id];
    for (size_t w = at ? s->place[at].word : s->words; w < s->words;) {
        const struct subsequence_place *const p = at && s->place[at].word == w ? &s->place[at] : NULL;
        const uint64_t places = p ? p->bits : 0, part = v[w] & places;
        uint64_t sum;
        const bool over = __builtin_add_overflow(v[w], part, &sum), again = __builtin_add_overflow(sum, carry, &sum);
        v[w] = sum | (v[w] & ~places);
        carry = over || again;
        if (p) at = p->next;
        w = carry ? w + 1 : at ? s->place[at].word : s->words;
    }
}

static bool walk(const struct subsequence *s, uint64_t *v, const int32_t *b, size_t m) {
    for (size_t j = 0; j < m; j++) {
        if (j % COLUMNS_AT_ONCE == 0 && heed_cancelled(s->cx)) return false;
        step(s, v, b[j]);
    }
    return true;
}

bool subsequence_length(const struct subsequence *s, const int32_t *b, size_t m, size_t *length) {
    const size_t bytes = s->words * sizeof(uint64_t);
    uint64_t *const v = heed_mem_new(s->cx, bytes + 1);
    if (v) memset(v, 0xFF, bytes);
    const bool ok = v && walk(s, v, b, m);
    *length = 64 * s->words;
    for (size_t w = 0; ok && w < s->words; w++) *length -= (size_t)__builtin_popcountll(v[w]);
    heed_mem_free(s->cx, v);
    return ok;
}

/* Columns from the last to the first: some are kept on the way there, and those between two of them are found again. */
bool subsequence_mark(const struct subsequence *s, const int32_t *b, size_t m, bool *marked) {
    size_t apart = 1, numbers, bytes;
    while (apart * apart < m) apart++;
    const size_t kept = (m + apart - 1) / apart; /* column k apart is v + k words; those between are behind them */
    if (!size_mul(kept + apart, s->words, &numbers) || !size_mul(numbers, sizeof(uint64_t), &bytes))
        return heed_fail(s->cx, HEED_ERR_MEMORY, "rouge: texts of %zu and %zu words are too long", s->n, m);
    uint64_t *const v = heed_mem_new(s->cx, bytes + 1), *const between = v ? v + kept * s->words : NULL;
    const size_t column = s->words * sizeof *v;
    if (v) memset(v, 0xFF, column);
    bool ok = v;
    for (size_t k = 1; ok && k < kept; k++) {
        memcpy(v + k * s->words, v + (k - 1) * s->words, column);
        ok = walk(s, v + k * s->words, b + (k - 1) * apart, apart);
    }
    size_t i = s->n, j = m;
    for (size_t k = kept; ok && k-- > 0 && i > 0;) {
        for (size_t c = 0; ok && k * apart + c < j; c++) { /* column k apart + c + 1 */
            memcpy(between + c * s->words, c ? between + (c - 1) * s->words : v + k * s->words, column);
            ok = walk(s, between + c * s->words, b + k * apart + c, 1);
        }
        while (ok && i > 0 && j > k * apart) {
            const uint64_t *const at = between + (j - 1 - k * apart) * s->words;
            if (s->a[i - 1] == b[j - 1])
                marked[--i] = true, j--;
            else if (at[(i - 1) / 64] >> (i - 1) % 64 & 1)
                i--;
            else
                j--;
        }
    }
    heed_mem_free(s->cx, v);
    return ok;
}
