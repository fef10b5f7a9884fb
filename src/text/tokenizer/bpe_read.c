/* Byte-pair encoding, read: the vocabulary, the merges, and tables of what encoding asks for most. */
#include "io/text.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>
#include <string.h>

/* "a b", or ["a", "b"]. */
static bool merge_parts(const struct tree *tree, node at, node *out, struct tree_node parts[2]) {
    if (at->kind == TREE_ARRAY) {
        const node first = tree_first(tree, at), second = first ? tree_next(tree, first) : NULL;
        if (at->size != 2) return tree_fail(tree, at, NULL, "a merge joins two tokens");
        if (!tree_need(tree, first, NULL, TREE_TEXT) || !tree_need(tree, second, NULL, TREE_TEXT)) return false;
        out[0] = first;
        out[1] = second;
        return true;
    }
    if (!tree_need(tree, at, NULL, TREE_TEXT)) return false;
    const char *space = memchr(at->text, ' ', at->size), *end = at->text + at->size;
    if (!space || memchr(space + 1, ' ', (size_t)(end - space - 1)))
        return tree_fail(tree, at, NULL, "a merge is two tokens and a space");
    parts[0] = (struct tree_node){.text = at->text, .size = (uint32_t)(space - at->text)};
    parts[1] = (struct tree_node){.text = space + 1, .size = (uint32_t)(end - space - 1)};
    out[0] = &parts[0];
    out[1] = &parts[1];
    return true;
}

/* A merge under way. Tokens are looked up for some merges at a time, so that memory is waited for once and not for each
 * of its steps: the slot of the hash table, the entry and its text. */
#define AT_A_TIME 24
struct merge {
    node at, part[2];
    struct tree_node parts[2];
    size_t joined, joined_size; /* in `texts`: what the two make */
    uint32_t hash[3];
    int32_t ids[3], rank;
};
struct merges {
    struct merge at[AT_A_TIME];
    int count;
    heed_string texts;
};

static bool begin_merge(heed_ctx *cx, const heed_tokenizer *t, const struct tree *tree, node at, int32_t rank,
                        struct merges *all) {
    struct merge *m = &all->at[all->count];
    const size_t prefix = t->bpe.prefix.size;
    m->at = at;
    m->rank = rank;
    m->joined = all->texts.size;
    if (!merge_parts(tree, at, m->part, m->parts)) return false;
    const size_t skip = m->part[1]->size >= prefix ? prefix : m->part[1]->size;
    if (!heed_string_put(cx, &all->texts, m->part[0]->text, m->part[0]->size) ||
        !heed_string_put(cx, &all->texts, m->part[1]->text + skip, m->part[1]->size - skip))
        return false;
    m->joined_size = all->texts.size - m->joined;
    for (int i = 0; i < 2; i++) m->hash[i] = map_hash(&t->vocabulary, m->part[i]->text, m->part[i]->size);
    m->hash[2] = map_hash(&t->vocabulary, all->texts.s + m->joined, m->joined_size);
    all->count++;
    return true;
}

static bool find_tokens(const heed_tokenizer *t, const struct tree *tree, const heed_string *texts, struct merge *m) {
    for (int i = 0; i < 3; i++) {
        const char *text = i < 2 ? m->part[i]->text : texts->s + m->joined;
        const size_t size = i < 2 ? m->part[i]->size : m->joined_size;
        const int64_t entry = map_find_hash(&t->vocabulary, text, size, m->hash[i]);
        if (entry < 0)
            return tree_fail(tree, m->at, NULL, "'%s' is not in the vocabulary", escaped_bytes(text, size).s);
        m->ids[i] = (int32_t)t->vocabulary.entries[entry].value;
    }
    return true;
}

static bool end_merges(heed_tokenizer *t, const struct tree *tree, struct merges *all) {
    for (int level = 0; level < 3; level++)
        for (int i = 0; i < 3 * all->count; i++) map_expect(&t->vocabulary, all->at[i / 3].hash[i % 3], level);
    for (int i = 0; i < all->count; i++) {
        if (!find_tokens(t, tree, &all->texts, &all->at[i])) return false;
        bpe_expect_merge(&t->bpe, all->at[i].ids[0], all->at[i].ids[1]);
    }
    for (int i = 0; i < all->count; i++) {
        const struct merge *m = &all->at[i];
        bpe_add_merge(&t->bpe, m->ids[0], m->ids[1], m->rank, m->ids[2]);
    }
    all->count = 0;
    all->texts.size = 0;
    return true;
}

static bool read_merges(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node merges) {
    struct merges all = {.count = 0};
    t->bpe.merges = heed_mem_new(cx, (size_t)merges->size * sizeof *t->bpe.merges);
    bool ok = t->bpe.merges && table_reserve(cx, &t->bpe.table, merges->size);
    int32_t rank = 0;
    for (EACH_NODE(v, tree, merges)) {
        if (!ok) break;
        if (v->kind == TREE_TEXT && v->size >= 8 && memcmp(v->text, "#version", 8) == 0) continue;
        ok = begin_merge(cx, t, tree, v, rank++, &all) && (all.count < AT_A_TIME || end_merges(t, tree, &all));
    }
    ok = ok && end_merges(t, tree, &all);
    heed_string_free(cx, &all.texts);
    return ok;
}

static bool fill_tables(heed_ctx *cx, heed_tokenizer *t) {
    struct bpe *b = &t->bpe;
    heed_string inner = {0};
    b->low = heed_mem_new(cx, BPE_LOW * sizeof *b->low);
    b->low_inner = heed_mem_new(cx, BPE_LOW * sizeof *b->low_inner);
    b->whole = heed_mem_new(cx, (size_t)t->size + 1);
    bool ok = b->low && b->low_inner && b->whole && heed_string_put(cx, &inner, b->prefix.s, b->prefix.size);
    for (int64_t i = 0; ok && i < t->size; i++) atomic_init(&b->whole[i], WHOLE_UNKNOWN);
    for (int32_t c = 0; ok && c < BPE_LOW; c++) {
        char text[4];
        const size_t size = (size_t)utf8_put(text, c);
        b->low[c] = vocabulary_id(t, text, size);
        inner.size = b->prefix.size;
        ok = heed_string_put(cx, &inner, text, size);
        if (ok) b->low_inner[c] = b->prefix.size ? vocabulary_id(t, inner.s, inner.size) : b->low[c];
    }
    heed_string_free(cx, &inner);
    return ok;
}

void byte_tokens(const heed_tokenizer *t, int32_t byte[256]) {
    for (int i = 0; i < 256; i++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        byte[i] = vocabulary_id(t, text, 6);
    }
}

static bool option_string(const struct tree *tree, node at, const char *key, heed_string *to) {
    const node v = tree_text(tree, at, key);
    return !heed_failed(tree->cx) && heed_string_put(tree->cx, to, v ? v->text : "", v ? v->size : 0);
}

bool bpe_read(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node at) {
    struct bpe *b = &t->bpe;
    const node vocab = tree_need(tree, at, "vocab", TREE_OBJECT);
    const node merges = vocab ? tree_need(tree, at, "merges", TREE_ARRAY) : NULL;
    if (!merges || !read_vocabulary(cx, t, tree, vocab)) return false;
    const node unknown = tree_text(tree, at, "unk_token");
    b->dropout = tree_number(tree, at, "dropout", 0);
    b->fuse = tree_bool(tree, at, "fuse_unk", false);
    b->ignore_merges = tree_bool(tree, at, "ignore_merges", false);
    b->byte_fallback = tree_bool(tree, at, "byte_fallback", false);
    if (heed_failed(cx) || !option_string(tree, at, "continuing_subword_prefix", &b->prefix) ||
        !option_string(tree, at, "end_of_word_suffix", &b->suffix))
        return false;
    if (!(b->dropout >= 0 && b->dropout <= 1)) return tree_fail(tree, at, "dropout", "must be between 0 and 1");
    if (b->prefix.size > 64 || b->suffix.size > 64)
        return tree_fail(tree, at, NULL, "a prefix or suffix of more than 64 bytes");
    t->unknown = unknown ? vocabulary_id(t, unknown->text, unknown->size) : -1;
    b->lacks_unknown = unknown && t->unknown < 0;
    if (b->byte_fallback) byte_tokens(t, b->byte);
    return read_merges(cx, t, tree, merges) && fill_tables(cx, t);
}
