/* Byte-pair encoding (Sennrich et al. 2016) of one word: of all neighbouring pairs the one learnt first is merged, the
 * leftmost where there are several, until no pair is known.
 *
 * Most words of a text are tokens themselves. Which tokens come out as themselves is worked out once, when the
 * tokenizer is made, so that such a word costs one look-up. Short words are merged by looking at all pairs again and
 * again, long ones with a heap, so that a word of any length takes n log n. So are words whose merges are dropped by
 * chance (Provilkov et al. 2020): a pair that is passed over waits until another one has been merged. */
#include "base/checked.h"
#include "text/tokenizer.h"

/* ---- the table of merges ---- */

static uint64_t pair_of(int32_t first, int32_t second) { return (uint64_t)(uint32_t)first << 32 | (uint32_t)second; }

static struct bpe_merge *slot_of(const struct bpe *b, uint64_t pair) {
    for (uint64_t i = (pair ^ pair >> 29) * 0x9E3779B97F4A7C15u >> 32;; i++) {
        struct bpe_merge *slot = &b->merges[i & (uint64_t)(b->slots - 1)];
        if (slot->pair == pair || slot->pair == BPE_FREE) return slot;
    }
}

bool bpe_start(heed_ctx *cx, heed_tokenizer *t, int64_t merges) {
    struct bpe *b = &t->bpe;
    b->merge_count = merges;
    b->slots = 16;
    while (b->slots < 2 * merges) b->slots *= 2;
    b->merges = heed_mem_new(cx, (size_t)b->slots * sizeof *b->merges);
    for (int64_t i = 0; b->merges && i < b->slots; i++) b->merges[i].pair = BPE_FREE;
    return b->merges;
}

/* The last of several for one pair holds, as in Python. */
void bpe_add_merge(heed_tokenizer *t, int32_t first, int32_t second, int32_t rank, int32_t id) {
    const uint64_t pair = pair_of(first, second);
    *slot_of(&t->bpe, pair) = (struct bpe_merge){pair, rank, id};
}

void bpe_free(heed_ctx *cx, struct bpe *b) {
    heed_mem_free(cx, b->merges);
    heed_mem_free(cx, b->low);
    heed_mem_free(cx, b->whole);
    heed_mem_free(cx, b->suffix);
    *b = (struct bpe){0};
}

/* ---- merging ---- */

#define NO_MERGE                                                                                                       \
    (struct bpe_merge) { BPE_FREE, INT32_MAX, -1 }

static struct bpe_merge merge_of(const struct bpe *b, int32_t first, int32_t second) {
    const struct bpe_merge *m = slot_of(b, pair_of(first, second));
    return m->pair == BPE_FREE ? NO_MERGE : *m;
}

#define SHORT 48 /* characters */

/* n symbols in place; returns how many are left. */
static int64_t merge_short(const struct bpe *b, int32_t *symbols, int64_t n) {
    struct bpe_merge next[SHORT]; /* of symbols i and i + 1 */
    for (int64_t i = 0; i + 1 < n; i++) next[i] = merge_of(b, symbols[i], symbols[i + 1]);
    while (n > 1) {
        int64_t best = 0;
        for (int64_t i = 1; i + 1 < n; i++)
            if (next[i].rank < next[best].rank) best = i;
        if (next[best].id < 0) break;
        symbols[best] = next[best].id;
        n--;
        memmove(symbols + best + 1, symbols + best + 2, (size_t)(n - best - 1) * sizeof *symbols);
        memmove(next + best, next + best + 1, (size_t)(n - best - 1) * sizeof *next);
        if (best > 0) next[best - 1] = merge_of(b, symbols[best - 1], symbols[best]);
        if (best + 1 < n) next[best] = merge_of(b, symbols[best], symbols[best + 1]);
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
    int32_t *symbols; /* -1: merged into one before */
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
    const struct bpe_merge m = merge_of(w->bpe, w->symbols[at], w->symbols[after]);
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
    if (w->symbols[pair.at] < 0 || after < 0) return false;
    const struct bpe_merge now = merge_of(w->bpe, w->symbols[pair.at], w->symbols[after]);
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
    for (int64_t i = 0; i < n; i++) w->links[i] = (struct link){i - 1, i + 1 < n ? i + 1 : -1};
    for (int64_t i = 0; i < n; i++) wait_for(w, i);
    struct waiting top;
    while (next_merge(w, &top)) {
        const int64_t after = w->links[top.at].after;
        for (; w->passed > 0; w->passed--) put_waiting(w, w->heap[w->waiting]);
        w->symbols[top.at] = top.id;
        w->symbols[after] = -1;
        w->links[top.at].after = w->links[after].after;
        if (w->links[after].after >= 0) w->links[w->links[after].after].before = top.at;
        wait_for(w, w->links[top.at].before);
        wait_for(w, top.at);
    }
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++)
        if (w->symbols[i] >= 0) w->symbols[left++] = w->symbols[i];
    return left;
}

/* The same for any n: at most n - 1 pairs wait at first, and each merge adds two and takes one. Returns -1 and fails
 * the context when there is no memory. */
static int64_t merge_long(heed_ctx *cx, const struct bpe *b, struct bpe_drop *drop, int32_t *symbols, int64_t n) {
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

/* The token of the character of size bytes at s, or -1. */
static int32_t character_token(const heed_tokenizer *t, const char *s, size_t size, int32_t c, bool last) {
    char text[64];
    const size_t suffix = last && t->bpe.suffix ? strlen(t->bpe.suffix) : 0;
    if (suffix == 0 && c < BPE_LOW && t->bpe.low) return t->bpe.low[c];
    if (suffix > 0) {
        memcpy(text, s, size);
        memcpy(text + size, t->bpe.suffix, suffix);
        s = text;
    }
    const int64_t entry = map_find(&t->vocabulary, s, size + suffix);
    return entry < 0 ? -1 : (int32_t)t->vocabulary.entries[entry].value;
}

/* Adds the symbols of the word's characters to `to`. */
static bool put_characters(heed_ctx *cx, const heed_tokenizer *t, const char *word, size_t size, heed_ids *to) {
    const char *end = word + size;
    bool unknown_before = false;
    for (const char *s = word; s < end;) {
        const char *start = s;
        const int32_t c = utf8_next(&s, end);
        int32_t id = character_token(t, start, (size_t)(s - start), c, s == end);
        const bool unknown = id < 0;
        if (unknown) id = t->unknown;
        if (id < 0)
            return heed_fail(cx, HEED_ERR_FORMAT,
                             "encode: '%.*s' (U+%04X) is not in the vocabulary, which has no unknown token",
                             (int)(c < 0x20 ? 0 : s - start), start, (unsigned)c);
        if (!(unknown && unknown_before && t->bpe.fuse) && !heed_ids_put(cx, to, id)) return false;
        unknown_before = unknown;
    }
    return true;
}

bool bpe_encode(heed_ctx *cx, const heed_tokenizer *t, const char *word, size_t size, struct bpe_drop *drop,
                heed_ids *to) {
    const struct bpe *b = &t->bpe;
    if (b->whole && (!drop || b->ignore_merges)) {
        const int64_t entry = map_find(&t->vocabulary, word, size);
        const int32_t id = entry < 0 ? -1 : (int32_t)t->vocabulary.entries[entry].value;
        if (id >= 0 && b->whole[id]) return heed_ids_put(cx, to, id);
    }
    const int64_t from = to->count;
    if (!put_characters(cx, t, word, size, to)) return false;
    const int64_t n = to->count - from;
    if (n < 2 || b->merge_count == 0) return true;
    const int64_t left =
        n <= SHORT && !drop ? merge_short(b, to->id + from, n) : merge_long(cx, b, drop, to->id + from, n);
    if (left < 0) return false;
    to->count = from + left;
    return true;
}

/* ---- what is worked out once ---- */

static bool fill_low(heed_ctx *cx, heed_tokenizer *t) {
    int32_t *low = heed_mem_new(cx, BPE_LOW * sizeof *low);
    if (!low) return false;
    for (int32_t c = 0; c < BPE_LOW; c++) {
        char text[4];
        const size_t size = (size_t)utf8_put(text, c);
        low[c] = character_token(t, text, size, c, false);
    }
    t->bpe.low = low;
    return true;
}

/* With a suffix no word has the text of its token. */
static bool fill_whole(heed_ctx *cx, heed_tokenizer *t) {
    bool *whole = heed_mem_new(cx, (size_t)t->size * sizeof *whole), ok = true;
    heed_ids pieces = {0};
    const int32_t unknown = t->unknown;
    if (!whole) return false;
    memset(whole, 0, (size_t)t->size * sizeof *whole);
    t->unknown = INT32_MAX; /* a token with such a piece is no word, and nothing to fail for */
    for (int64_t i = 0; ok && i < t->vocabulary.count; i++) {
        const struct map_entry *e = &t->vocabulary.entries[i];
        pieces.count = 0;
        ok = e->size > 0 ? bpe_encode(cx, t, map_key(&t->vocabulary, i), e->size, NULL, &pieces) : true;
        whole[e->value] = t->bpe.ignore_merges || (pieces.count == 1 && pieces.id[0] == e->value);
    }
    t->unknown = unknown;
    heed_ids_free(cx, &pieces);
    t->bpe.whole = whole;
    return ok;
}

bool bpe_finish(heed_ctx *cx, heed_tokenizer *t) {
    return fill_low(cx, t) && ((t->bpe.suffix && !t->bpe.ignore_merges) || fill_whole(cx, t));
}
