/* Byte-pair encoding (Sennrich et al. 2016) of one word: of all neighbouring pairs the one learnt first is merged, the
 * leftmost where there are several, until no pair is known.
 *
 * Most words of a text are tokens themselves. Whether a token comes out as itself is found out when it is first met and
 * kept, so that such a word costs one look-up from then on. Short words are merged by looking at all pairs again and
 * again, long ones with a heap, so that a word of any length takes n log n. So are words whose merges are dropped by
 * chance (Provilkov et al. 2020): a pair that is passed over waits until another one has been merged. */
#include "base/checked.h"
#include "io/text.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>
#include <string.h>

/* A piece of the word: its token and how many bytes of the word it stands for. */
struct symbol {
    int32_t id;
    uint32_t size;
};

/* ---- the table of merges ---- */

static uint64_t pair_of(int32_t first, int32_t second) { return (uint64_t)(uint32_t)first << 32 | (uint32_t)second; }

#define NO_MERGE                                                                                                       \
    (struct bpe_merge) { UINT64_MAX, INT32_MAX, -1 }

static int64_t find_merge(const struct bpe *b, uint64_t pair, struct table_step *s) {
    *s = table_begin(&b->table, hash_number(b->table.secret, pair));
    while (table_match(&b->table, s))
        if (b->merges[s->entry].pair == pair) return s->entry;
    return -1;
}

static struct bpe_merge merge_of(const struct bpe *b, int32_t first, int32_t second) {
    struct table_step s;
    const int64_t entry = find_merge(b, pair_of(first, second), &s);
    return entry < 0 ? NO_MERGE : b->merges[entry];
}

void bpe_expect_merge(const struct bpe *b, int32_t first, int32_t second) {
    __builtin_prefetch(&b->table.slots[hash_number(b->table.secret, pair_of(first, second)) & b->table.mask]);
}

void bpe_add_merge(struct bpe *b, int32_t first, int32_t second, int32_t rank, int32_t id) {
    struct table_step s;
    const uint64_t pair = pair_of(first, second);
    const int64_t entry = find_merge(b, pair, &s);
    if (entry < 0) table_put(&b->table, &s, (int32_t)b->merge_count);
    b->merges[entry < 0 ? b->merge_count++ : entry] = (struct bpe_merge){pair, rank, id};
}

void bpe_free(heed_ctx *cx, struct bpe *b) {
    heed_mem_free(cx, b->merges);
    table_free(cx, &b->table);
    heed_mem_free(cx, b->low);
    heed_mem_free(cx, b->low_inner);
    heed_mem_free(cx, (void *)b->whole);
    heed_string_free(cx, &b->prefix);
    heed_string_free(cx, &b->suffix);
    *b = (struct bpe){0};
}

/* ---- merging ---- */

#define SHORT 48 /* characters */

/* n symbols in place; returns how many are left. */
static int64_t merge_short(const struct bpe *b, struct symbol *symbols, int64_t n) {
    struct bpe_merge next[SHORT]; /* of symbols i and i + 1 */
    for (int64_t i = 0; i + 1 < n; i++) next[i] = merge_of(b, symbols[i].id, symbols[i + 1].id);
    while (n > 1) {
        int64_t best = 0;
        for (int64_t i = 1; i + 1 < n; i++)
            if (next[i].rank < next[best].rank) best = i;
        if (next[best].id < 0) break;
        symbols[best] = (struct symbol){next[best].id, symbols[best].size + symbols[best + 1].size};
        n--;
        memmove(symbols + best + 1, symbols + best + 2, (size_t)(n - best - 1) * sizeof *symbols);
        memmove(next + best, next + best + 1, (size_t)(n - best - 1) * sizeof *next);
        if (best > 0) next[best - 1] = merge_of(b, symbols[best - 1].id, symbols[best].id);
        if (best + 1 < n) next[best] = merge_of(b, symbols[best].id, symbols[best + 1].id);
    }
    return n;
}

/* A pair that waits to be merged; stale once either side has changed, which its id tells. */
struct waiting {
    int32_t rank, id;
    int64_t at;
};
struct link {
    int64_t before, after; /* -1: none */
};
struct long_word {
    const struct bpe *bpe;
    struct symbol *symbols; /* id -1: merged into one before */
    struct link *links;
    struct waiting *heap; /* `waiting` of them, and behind them those that were passed over */
    int64_t waiting, passed;
    struct bpe_drop *drop; /* NULL: none */
};

static bool sooner(struct waiting a, struct waiting b) { return a.rank != b.rank ? a.rank < b.rank : a.at < b.at; }

static void put_waiting(struct long_word *w, struct waiting entry) {
    int64_t i = w->waiting++;
    for (; i > 0 && sooner(entry, w->heap[(i - 1) / 2]); i = (i - 1) / 2) w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = entry;
}

static void wait_for(struct long_word *w, int64_t at) {
    const int64_t after = at < 0 ? -1 : w->links[at].after;
    if (after < 0) return;
    const struct bpe_merge m = merge_of(w->bpe, w->symbols[at].id, w->symbols[after].id);
    if (m.id >= 0) put_waiting(w, (struct waiting){m.rank, m.id, at});
}

static struct waiting next_waiting(struct long_word *w) {
    const struct waiting top = w->heap[0], last = w->heap[--w->waiting];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < w->waiting; i = child) {
        if (child + 1 < w->waiting && sooner(w->heap[child + 1], w->heap[child])) child++;
        if (!sooner(w->heap[child], last)) break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
    return top;
}

/* Whether the pair still stands as it did when it began to wait. */
static bool is_there(const struct long_word *w, struct waiting pair) {
    const int64_t after = w->links[pair.at].after;
    if (w->symbols[pair.at].id < 0 || after < 0) return false;
    const struct bpe_merge now = merge_of(w->bpe, w->symbols[pair.at].id, w->symbols[after].id);
    return now.id == pair.id && now.rank == pair.rank;
}

static bool passes_over(struct bpe_drop *drop) {
    return drop && heed_random_bits(drop->how.seed, drop->how.stream, drop->position++) < drop->how.rate * 0x1p32;
}

/* The next pair to merge. The place that it leaves behind the heap takes one that is passed over, or the last of
 * those. */
static bool next_merge(struct long_word *w, struct waiting *pair) {
    while (w->waiting > 0) {
        *pair = next_waiting(w);
        const bool there = is_there(w, *pair);
        if (there && passes_over(w->drop)) {
            w->heap[w->waiting] = *pair;
            w->passed++;
        } else {
            w->heap[w->waiting] = w->heap[w->waiting + w->passed];
            if (there) return true;
        }
    }
    return false;
}

static int64_t merge_linked(struct long_word *w, int64_t n) {
    struct waiting top;
    for (int64_t i = 0; i < n; i++) w->links[i] = (struct link){i - 1, i + 1 < n ? i + 1 : -1};
    for (int64_t i = 0; i < n; i++) wait_for(w, i);
    while (next_merge(w, &top)) {
        const int64_t after = w->links[top.at].after;
        for (; w->passed > 0; w->passed--) put_waiting(w, w->heap[w->waiting]);
        w->symbols[top.at] = (struct symbol){top.id, w->symbols[top.at].size + w->symbols[after].size};
        w->symbols[after].id = -1;
        w->links[top.at].after = w->links[after].after;
        if (w->links[after].after >= 0) w->links[w->links[after].after].before = top.at;
        wait_for(w, w->links[top.at].before);
        wait_for(w, top.at);
    }
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++)
        if (w->symbols[i].id >= 0) w->symbols[left++] = w->symbols[i];
    return left;
}

/* The same for any n: at most n - 1 pairs wait at first, and each merge adds two and takes one. Returns -1 and fails
 * the context when there is no memory. */
static int64_t merge_long(heed_ctx *cx, const struct bpe *b, struct bpe_drop *drop, struct symbol *symbols, int64_t n) {
    size_t links, heap;
    if (!size_mul((size_t)n, sizeof(struct link), &links) || !size_mul((size_t)n, 3 * sizeof(struct waiting), &heap))
        return heed_fail(cx, HEED_ERR_RANGE, "encode: a word of %lld characters", (long long)n), -1;
    struct long_word w = {.bpe = b, .symbols = symbols, .drop = drop};
    w.links = heed_mem_new(cx, links);
    w.heap = heed_mem_new(cx, heap);
    const int64_t left = w.links && w.heap ? merge_linked(&w, n) : -1;
    heed_mem_free(cx, w.links);
    heed_mem_free(cx, w.heap);
    return left;
}

/* ---- a word ---- */

/* A character with what goes before and after it, as the vocabulary may have it, in w->word. */
static bool with_affixes(struct work *w, const char *s, size_t size, bool inner, bool last) {
    const struct bpe *b = &w->t->bpe;
    w->word.size = 0;
    return (!inner || !b->prefix.size || heed_string_put(w->cx, &w->word, b->prefix.s, b->prefix.size)) &&
           heed_string_put(w->cx, &w->word, s, size) &&
           (!last || !b->suffix.size || heed_string_put(w->cx, &w->word, b->suffix.s, b->suffix.size));
}

/* The token of a character, or -1. */
static int32_t character_token(struct work *w, const char *s, size_t size, int32_t c, bool inner, bool last) {
    const struct bpe *b = &w->t->bpe;
    const bool bare = !(inner && b->prefix.size) && !(last && b->suffix.size);
    if (c < BPE_LOW && !(last && b->suffix.size)) return inner ? b->low_inner[c] : b->low[c];
    if (bare) return vocabulary_id(w->t, s, size);
    return with_affixes(w, s, size, inner, last) ? vocabulary_id(w->t, w->word.s, w->word.size) : -1;
}

/* The symbols of a word under way: an unknown one waits, as its neighbours may be fused with it. */
struct symbols {
    struct symbol *at;
    int64_t count;
    struct symbol unknown; /* size 0: none waits */
};

static void flush_unknown(struct symbols *to) {
    if (to->unknown.size > 0) to->at[to->count++] = to->unknown;
    to->unknown.size = 0;
}

/* The tokens of the bytes of an unknown character; false when one of them has none. */
static bool put_bytes(struct work *w, const char *s, size_t size, bool inner, bool last, struct symbols *to) {
    const struct bpe *b = &w->t->bpe;
    if ((inner && b->prefix.size) || (last && b->suffix.size)) {
        if (!with_affixes(w, s, size, inner, last)) return false;
        s = w->word.s;
        size = w->word.size;
    }
    for (size_t i = 0; i < size; i++)
        if (b->byte[(unsigned char)s[i]] < 0) return false;
    for (size_t i = 0; i < size; i++) to->at[to->count++] = (struct symbol){b->byte[(unsigned char)s[i]], 1};
    return true;
}

static bool put_unknown(struct work *w, size_t size, struct symbols *to) {
    const struct bpe *b = &w->t->bpe;
    if (b->lacks_unknown)
        return heed_fail(w->cx, HEED_ERR_FORMAT, "encode: the unknown token is not in the vocabulary");
    if (w->t->unknown < 0) return true; /* such characters are dropped */
    if (to->unknown.size > 0 && b->fuse) {
        to->unknown.size += (uint32_t)size;
        return true;
    }
    flush_unknown(to);
    to->unknown = (struct symbol){w->t->unknown, (uint32_t)size};
    return true;
}

static bool put_characters(struct work *w, const char *word, size_t size, struct symbols *to) {
    const char *end = word + size;
    for (const char *s = word; s < end;) {
        const char *start = s;
        const int32_t c = utf8_next(&s, end);
        const bool inner = start > word, last = s == end;
        const size_t n = (size_t)(s - start);
        const int32_t id = character_token(w, start, n, c, inner, last);
        if (id >= 0) {
            flush_unknown(to);
            to->at[to->count++] = (struct symbol){id, (uint32_t)n};
        } else if (!(w->t->bpe.byte_fallback && put_bytes(w, start, n, inner, last, to)) && !put_unknown(w, n, to))
            return false;
    }
    flush_unknown(to);
    return !heed_failed(w->cx);
}

/* The token that the whole word is, and -1 when there is none. */
static int32_t whole_token(struct work *w, const char *word, size_t size) {
    const struct bpe *b = &w->t->bpe;
    if (b->suffix.size == 0 || b->ignore_merges) return vocabulary_id(w->t, word, size);
    return with_affixes(w, word, size, false, true) ? vocabulary_id(w->t, w->word.s, w->word.size) : -1;
}

static bool bpe_encode(struct work *w, const char *word, size_t size) {
    const struct bpe *b = &w->t->bpe;
    int32_t whole = -1;
    if (!w->drop || (b->ignore_merges && b->dropout <= 0)) {
        whole = whole_token(w, word, size);
        const int state = whole < 0 ? WHOLE_NO : atomic_load_explicit(&b->whole[whole], memory_order_relaxed);
        if (whole >= 0 && (b->ignore_merges || state == WHOLE_YES)) return work_token(w, whole, 0, size, NULL, 0);
        if (state == WHOLE_NO) whole = -1;
    }
    const size_t most = size + b->prefix.size * size + b->suffix.size + 1; /* a byte gives one symbol at most */
    size_t bytes;
    if (!size_mul(most, sizeof(struct symbol), &bytes))
        return heed_fail(w->cx, HEED_ERR_RANGE, "encode: a word of %zu bytes", size);
    struct symbols to = {.at = work_room(w, bytes)};
    if (!to.at || !put_characters(w, word, size, &to)) return false;
    int64_t n = to.count;
    if (n > 1 && b->merge_count > 0)
        n = n <= SHORT && !w->drop ? merge_short(b, to.at, n) : merge_long(w->cx, b, w->drop, to.at, n);
    if (n < 0) return false;
    if (whole >= 0) /* the same whoever finds it out */
        atomic_store_explicit(&b->whole[whole],
                              n == 1 && to.at[0].id == whole && to.at[0].size == size ? WHOLE_YES : WHOLE_NO,
                              memory_order_relaxed);
    size_t at = 0;
    for (int64_t i = 0; i < n; at += to.at[i++].size)
        if (!work_token(w, to.at[i].id, at, at + to.at[i].size, NULL, 0)) return false;
    return true;
}

/* ---- words ---- */

static bool word_encode(struct work *w, const char *word, size_t size) {
    const int32_t id = vocabulary_id(w->t, word, size);
    if (id >= 0 || w->t->unknown >= 0) return work_token(w, id >= 0 ? id : w->t->unknown, 0, size, NULL, 0);
    return heed_fail(w->cx, HEED_ERR_FORMAT, "encode: '%s' is not in the vocabulary, which has no unknown token",
                     escaped_bytes(word, size).s);
}

static bool word_read(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node at) {
    const node vocab = tree_need(tree, at, "vocab", TREE_OBJECT), unknown = tree_text(tree, at, "unk_token");
    if (heed_failed(cx) || !read_vocabulary(cx, t, tree, vocab)) return false;
    t->unknown = unknown ? vocabulary_id(t, unknown->text, unknown->size) : -1;
    return true;
}

const struct model_kind bpe_kind = {"BPE", bpe_read, bpe_encode}, word_kind = {"WordLevel", word_read, word_encode};
