/* Learning byte-pair merges (Sennrich et al. 2016): again and again the pair of neighbours seen most often becomes one
 * symbol; of pairs seen equally often the one with the smallest ids, so that the same text gives the same merges.
 *
 * Words are counted once; each is a run of symbols in one array. A pair knows how often it is seen and, by a chain of
 * links, in which words it ever was, so that a merge looks only at those. The heap may hold counts that are out of
 * date: counts of old pairs only fall, so the top is right once it agrees with its pair. */
#include "base/checked.h"
#include "text/tokenizer/tokenizer.h"

#include <string.h>

#define LONGEST 65536 /* characters; longer words, such as a book without spaces, are learnt from in parts */

struct word {
    int64_t start, count; /* of its symbols in the array; how often it was seen */
    int32_t size;
};
struct chain {
    int32_t word, next; /* next -1: the end */
};
struct seen_pair {
    uint64_t pair; /* first << 32 | second */
    int64_t count;
    int32_t words; /* the first link of its chain, -1: none */
    bool grown;    /* by the merge under way, so that it must be put on the heap */
};
struct ranked {
    int64_t count;
    uint64_t pair;
};
/* A list that grows; `at` is of the type that its user says. */
struct list {
    void *at;
    int64_t count, room;
};
struct learner {
    heed_ctx *cx;
    int32_t *symbols; /* -1: a character that is no token, which joins no pair */
    struct list words, chains, pairs, heap, grown;
    struct table table; /* into pairs */
    int64_t least;      /* a pair seen less often is not merged */
    const char *prefix; /* of symbols within a word, NULL: none */
};

static bool list_grow(heed_ctx *cx, struct list *l, size_t item) {
    if (l->count < l->room) return true;
    const int64_t room = l->room ? 2 * l->room : 1024;
    size_t bytes;
    if (room > INT32_MAX || !size_mul((size_t)room, item, &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "train: the text is too large for bpe");
    void *larger = heed_mem_resize(cx, l->at, bytes);
    if (!larger) return false;
    l->at = larger;
    l->room = room;
    return true;
}
#define ITEM(list, type, i) (((type *)(list).at)[i])
#define APPEND(cx, list, type, ...)                                                                                    \
    (list_grow(cx, &(list), sizeof(type)) && (ITEM(list, type, (list).count++) = (type)__VA_ARGS__, true))

/* ---- pairs ---- */

static uint64_t pair_of(int32_t first, int32_t second) { return (uint64_t)(uint32_t)first << 32 | (uint32_t)second; }

static struct seen_pair *find_pair(const struct learner *l, uint64_t pair, struct table_step *s) {
    *s = table_begin(&l->table, hash_number(l->table.secret, pair));
    while (table_match(&l->table, s))
        if (ITEM(l->pairs, struct seen_pair, s->entry).pair == pair) return &ITEM(l->pairs, struct seen_pair, s->entry);
    return NULL;
}

static struct seen_pair *known_pair(const struct learner *l, uint64_t pair) {
    struct table_step s;
    return find_pair(l, pair, &s);
}

/* The same, added when it is new. */
static struct seen_pair *any_pair(struct learner *l, uint64_t pair) {
    struct table_step s;
    if (!table_room(l->cx, &l->table)) return NULL;
    struct seen_pair *found = find_pair(l, pair, &s);
    if (found) return found;
    if (!APPEND(l->cx, l->pairs, struct seen_pair, {.pair = pair, .words = -1})) return NULL;
    table_put(&l->table, &s, (int32_t)(l->pairs.count - 1));
    return &ITEM(l->pairs, struct seen_pair, l->pairs.count - 1);
}

/* A pair seen `count` times more, in this word. */
static bool see(struct learner *l, int32_t first, int32_t second, int32_t word, int64_t count) {
    if (first < 0 || second < 0) return true;
    struct seen_pair *p = any_pair(l, pair_of(first, second));
    if (!p) return false;
    p->count += count;
    if (!p->grown) {
        p->grown = true;
        if (!APPEND(l->cx, l->grown, uint64_t, p->pair)) return false;
    }
    if (p->words >= 0 && ITEM(l->chains, struct chain, p->words).word == word) return true;
    if (!APPEND(l->cx, l->chains, struct chain, {word, p->words})) return false;
    p->words = (int32_t)(l->chains.count - 1);
    return true;
}

static void unsee(struct learner *l, int32_t first, int32_t second, int64_t count) {
    if (first < 0 || second < 0) return;
    known_pair(l, pair_of(first, second))->count -= count;
}

/* ---- the heap ---- */

static bool before(struct ranked a, struct ranked b) {
    return a.count != b.count ? a.count > b.count : a.pair < b.pair;
}

static bool heap_put(struct learner *l, struct ranked entry) {
    if (!APPEND(l->cx, l->heap, struct ranked, {0})) return false;
    struct ranked *heap = l->heap.at;
    int64_t i = l->heap.count - 1;
    for (; i > 0 && before(entry, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = entry;
    return true;
}

static struct ranked heap_take(struct learner *l) {
    struct ranked *heap = l->heap.at;
    const struct ranked top = heap[0], last = heap[--l->heap.count];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < l->heap.count; i = child) {
        if (child + 1 < l->heap.count && before(heap[child + 1], heap[child])) child++;
        if (!before(heap[child], last)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

/* Puts the pairs that were seen more often than before on the heap. */
static bool rank_grown(struct learner *l) {
    for (int64_t i = 0; i < l->grown.count; i++) {
        struct seen_pair *p = known_pair(l, ITEM(l->grown, uint64_t, i));
        p->grown = false;
        if (p->count >= l->least && !heap_put(l, (struct ranked){p->count, p->pair})) return false;
    }
    l->grown.count = 0;
    return true;
}

/* The pair seen most often, or NULL when none is worth it. */
static struct seen_pair *best_pair(struct learner *l) {
    while (l->heap.count > 0) {
        const struct ranked top = heap_take(l);
        struct seen_pair *p = known_pair(l, top.pair);
        if (p->count == top.count) return p;
        if (p->count >= l->least && !heap_put(l, (struct ranked){p->count, p->pair})) return NULL;
    }
    return NULL;
}

/* ---- words ---- */

/* The symbol of a character; within a word it may have a prefix. */
static int32_t symbol_of(struct learner *l, const struct map *symbols, const char *s, size_t size, bool inner,
                         heed_string *work) {
    if (!inner || !l->prefix || map_find(symbols, s, size) < 0) return (int32_t)map_find(symbols, s, size);
    work->size = 0;
    if (!heed_string_put(l->cx, work, l->prefix, strlen(l->prefix)) || !heed_string_put(l->cx, work, s, size))
        return -1;
    return (int32_t)map_find(symbols, work->s, work->size);
}

static bool add_word(struct learner *l, const struct map *words, int64_t entry, const struct map *symbols,
                     int64_t *used, heed_string *work) {
    const char *s = map_key(words, entry), *end = s + words->entries[entry].size, *first = s;
    while (s < end) {
        struct word w = {.start = *used, .count = words->entries[entry].value};
        for (; s < end && w.size < LONGEST; w.size++) {
            const char *start = s;
            utf8_next(&s, end);
            l->symbols[(*used)++] = symbol_of(l, symbols, start, (size_t)(s - start), start > first, work);
        }
        const int32_t number = (int32_t)l->words.count, *symbol = l->symbols + w.start;
        if (!APPEND(l->cx, l->words, struct word, w)) return false;
        for (int32_t i = 0; i + 1 < w.size; i++)
            if (!see(l, symbol[i], symbol[i + 1], number, w.count)) return false;
    }
    return true;
}

static bool add_words(struct learner *l, const struct map *words, const struct map *symbols) {
    size_t bytes;
    int64_t used = 0;
    if (!size_mul(words->text.size + 1, sizeof *l->symbols, &bytes))
        return heed_fail(l->cx, HEED_ERR_RANGE, "train: the text is too large for bpe");
    if (!(l->symbols = heed_mem_new(l->cx, bytes))) return false;
    heed_string work = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < words->count; i++) ok = add_word(l, words, i, symbols, &used, &work);
    heed_string_free(l->cx, &work);
    return ok && !heed_failed(l->cx);
}

/* Merges the pair within a word, from the left; counts what came and went with it. */
static bool merge_word(struct learner *l, int32_t number, struct bpe_pair pair, int32_t merged) {
    struct word *w = &ITEM(l->words, struct word, number);
    int32_t *s = l->symbols + w->start, out = 0;
    for (int32_t i = 0; i < w->size; out++) {
        if (i + 1 == w->size || s[i] != pair.first || s[i + 1] != pair.second) {
            s[out] = s[i++];
            continue;
        }
        const int32_t left = out > 0 ? s[out - 1] : -1, right = i + 2 < w->size ? s[i + 2] : -1;
        unsee(l, left, pair.first, w->count);
        unsee(l, pair.first, pair.second, w->count);
        unsee(l, pair.second, right, w->count);
        if (!see(l, left, merged, number, w->count) || !see(l, merged, right, number, w->count)) return false;
        s[out] = merged;
        i += 2;
    }
    w->size = out;
    return true;
}

static bool merge_everywhere(struct learner *l, int32_t words, struct bpe_pair pair, int32_t merged) {
    for (int32_t link = words; link >= 0; link = ITEM(l->chains, struct chain, link).next)
        if (!merge_word(l, ITEM(l->chains, struct chain, link).word, pair, merged)) return false;
    return rank_grown(l);
}

/* ---- learning ---- */

/* The token of the joined text: a new one, or one that there is already. */
static int64_t joined(heed_ctx *cx, struct map *symbols, const char *prefix, struct bpe_pair pair, heed_string *work) {
    const char *second = map_key(symbols, pair.second);
    size_t size = map_size(symbols, pair.second), skip = prefix ? strlen(prefix) : 0;
    if (skip > size || memcmp(second, prefix ? prefix : "", skip) != 0) skip = 0;
    work->size = 0;
    if (!heed_string_put(cx, work, map_key(symbols, pair.first), map_size(symbols, pair.first)) ||
        !heed_string_put(cx, work, second + skip, size - skip))
        return -1;
    return map_add(cx, symbols, work->s, work->size);
}

static bool learn(struct learner *l, struct map *symbols, int64_t most, struct list *merges) {
    heed_string work = {0};
    const int64_t start = symbols->count;
    bool ok = rank_grown(l);
    while (ok && symbols->count < most && !heed_cancelled(l->cx)) {
        struct seen_pair *best = best_pair(l);
        if (!best) break;
        const struct bpe_pair pair = {(int32_t)(best->pair >> 32), (int32_t)best->pair};
        const int32_t words = best->words;
        best->words = -1;
        const int64_t merged = joined(l->cx, symbols, l->prefix, pair, &work);
        ok = merged >= 0 && APPEND(l->cx, *merges, struct bpe_pair, pair) &&
             merge_everywhere(l, words, pair, (int32_t)merged);
        if (merges->count % 256 == 0) heed_progress(l->cx, "merges", symbols->count - start, most - start);
    }
    heed_string_free(l->cx, &work);
    return ok && !heed_failed(l->cx);
}

bool bpe_learn(heed_ctx *cx, const struct map *words, struct map *symbols, const struct bpe_learning *how,
               struct bpe_pair **merges, int64_t *count) {
    struct learner l = {.cx = cx, .least = how->least, .prefix = how->prefix};
    struct list learnt = {0};
    const bool ok = add_words(&l, words, symbols) && learn(&l, symbols, how->most, &learnt);
    void *const parts[] = {l.symbols, l.words.at, l.chains.at, l.pairs.at, l.heap.at, l.grown.at};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
    table_free(cx, &l.table);
    if (!ok) heed_mem_free(cx, learnt.at);
    *merges = ok ? learnt.at : NULL;
    *count = ok ? learnt.count : 0;
    return ok;
}
