/* Added tokens within text: at each place the longest one that begins there, as Python's `tokenizers` finds them with
 * an automaton. Here the first byte says which lengths are worth a look in a hash table; most bytes begin none. */
#include "text/tokenizer.h"

#include <stdlib.h>

void finder_free(heed_ctx *cx, struct finder *f) {
    map_free(cx, &f->tokens);
    heed_mem_free(cx, f->lengths);
    *f = (struct finder){0};
}

/* Added token i as it is looked for: as it is written, or run through the normalizers as the text will be. */
static bool add_token(heed_ctx *cx, const heed_tokenizer *t, int64_t i, heed_string *work, struct finder *f) {
    const char *text = map_key(&t->added_text, i);
    size_t size = t->added_text.entries[i].size;
    if (t->added[i].normalised) {
        bool cut;
        if (!normalise(cx, t->normalizers, t->normalizer_count, text, size, work, &cut)) return false;
        text = work->s;
        size = work->size;
    }
    if (size == 0) return true; /* found nowhere */
    const int64_t before = f->tokens.count, entry = map_add(cx, &f->tokens, text, size);
    if (entry >= 0 && f->tokens.count > before) f->tokens.entries[entry].value = i;
    return entry >= 0;
}

static int by_byte_then_longest(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Tokens in the order of their first byte and, within it, from long to short; each length is kept once. */
static bool list_lengths(heed_ctx *cx, struct finder *f) {
    const int64_t n = f->tokens.count;
    uint64_t *order = heed_mem_new(cx, (size_t)(n + 1) * sizeof *order);
    f->lengths = heed_mem_new(cx, (size_t)(n + 1) * sizeof *f->lengths);
    if (order && f->lengths) {
        for (int64_t i = 0; i < n; i++)
            order[i] =
                (uint64_t)(unsigned char)map_key(&f->tokens, i)[0] << 32 | (UINT32_MAX - f->tokens.entries[i].size);
        qsort(order, (size_t)n, sizeof *order, by_byte_then_longest);
        int32_t kept = 0;
        int64_t i = 0;
        for (int byte = 0; byte < 256; byte++) {
            f->length_at[byte] = kept;
            for (; i < n && order[i] >> 32 == (uint64_t)byte; i++)
                if (i == 0 || order[i] != order[i - 1]) f->lengths[kept++] = UINT32_MAX - (uint32_t)order[i];
        }
        f->length_at[256] = kept;
    }
    heed_mem_free(cx, order);
    return order && f->lengths;
}

bool finder_make(heed_ctx *cx, heed_tokenizer *t, bool normalised, struct finder *f) {
    heed_string work = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < t->added_text.count; i++)
        if (t->added[i].normalised == normalised) ok = add_token(cx, t, i, &work, f);
    heed_string_free(cx, &work);
    if (!ok || f->tokens.count == 0) return ok;
    for (int64_t i = 0; i < f->tokens.count; i++) /* its text is what was found */
        t->token[t->added[f->tokens.entries[i].value].id] = map_key(&f->tokens, i);
    return list_lengths(cx, f);
}

/* ---- looking ---- */

/* Whether a character of a word stands just before or after. */
static bool touches_word(const char *text, size_t size, size_t start, size_t end) {
    const char *s = text + end, *stop = text + size;
    if (end < size && is_word_character(utf8_next(&s, stop))) return true;
    if (start == 0) return false;
    size_t before = start - 1;
    while (before > 0 && (text[before] & 0xC0) == 0x80) before--;
    s = text + before;
    return is_word_character(utf8_next(&s, text + start));
}

static size_t spaces_before(const char *text, size_t end, size_t least) {
    while (end > least) {
        size_t start = end - 1;
        while (start > least && (text[start] & 0xC0) == 0x80) start--;
        const char *s = text + start;
        if (!unicode_is_space(utf8_next(&s, text + end))) break;
        end = start;
    }
    return end;
}

static size_t spaces_after(const char *text, size_t size, size_t start) {
    while (start < size) {
        const char *s = text + start;
        if (!unicode_is_space(utf8_next(&s, text + size))) break;
        start = (size_t)(s - text);
    }
    return start;
}

/* The longest token that begins at text: its entry, or -1. */
static int64_t longest(const struct finder *f, const char *text, size_t size) {
    const unsigned char byte = (unsigned char)text[0];
    for (int32_t i = f->length_at[byte]; i < f->length_at[byte + 1]; i++) {
        const int64_t entry = f->lengths[i] <= size ? map_find(&f->tokens, text, f->lengths[i]) : -1;
        if (entry >= 0) return entry;
    }
    return -1;
}

bool finder_next(const heed_tokenizer *t, const struct finder *f, const char *text, size_t size, size_t *at,
                 size_t taken, struct found *found) {
    if (f->tokens.count == 0) return false;
    while (*at < size) {
        const unsigned char byte = (unsigned char)text[*at];
        const int64_t entry = f->length_at[byte] == f->length_at[byte + 1] ? -1 : longest(f, text + *at, size - *at);
        if (entry < 0) {
            ++*at;
            continue;
        }
        const struct added *a = &t->added[f->tokens.entries[entry].value];
        size_t start = *at, end = start + f->tokens.entries[entry].size;
        *at = end;
        if (a->word && touches_word(text, size, start, end)) continue;
        if (a->left) start = spaces_before(text, start, taken < start ? taken : start);
        if (a->right) end = spaces_after(text, size, end);
        *found = (struct found){start, end, a->id};
        return true;
    }
    return false;
}
