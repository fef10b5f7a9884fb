/* WordPiece (Schuster and Nakajima 2012; Wu et al. 2016) of one word: from the left the longest token that fits, those
 * within the word with a prefix; a word that cannot be covered is unknown as a whole. */
#include "io/text.h"
#include "text/tokenizer/tokenizer.h"

#include <string.h>

static bool put_unknown(struct work *w, size_t size) {
    if (w->t->unknown >= 0) return work_token(w, w->t->unknown, 0, size, NULL, 0);
    return heed_fail(w->cx, HEED_ERR_FORMAT, "encode: a word is not in the vocabulary, which has no unknown token");
}

/* The longest token of the trie that begins the text: its bytes, 0 for none. */
static size_t longest(const struct trie *t, const char *text, size_t size, int32_t *id) {
    size_t found = 0;
    uint32_t at = 0;
    for (size_t i = 0; i < size && (at = trie_step(t, at, (uint8_t)text[i])); i++) {
        if (t->value[at] < 0) continue;
        *id = t->value[at];
        found = i + 1;
    }
    return found;
}

static bool wordpiece_encode(struct work *w, const char *word, size_t size) {
    const struct wordpiece *p = &w->t->wordpiece;
    const int64_t before = w->tokens.count;
    const size_t texts = w->texts.size;
    size_t characters = size;
    if (size > (size_t)p->longest) {
        characters = 0;
        for (size_t i = 0; i < size; i++) characters += (word[i] & 0xC0) != 0x80;
    }
    if (characters > (size_t)p->longest) return put_unknown(w, size);
    for (size_t at = 0, n; at < size; at += n) {
        int32_t id = -1;
        n = longest(at == 0 ? &w->t->trie : &p->inner, word + at, size - at, &id);
        if (n == 0) {
            w->tokens.count = before;
            w->texts.size = texts;
            return put_unknown(w, size);
        }
        if (!work_token(w, id, at, at + n, NULL, 0)) return false;
    }
    return true;
}

static bool build_inner(heed_ctx *cx, heed_tokenizer *t, node prefix) {
    const int64_t n = t->vocabulary.count;
    struct trie_key *keys = heed_mem_new(cx, (size_t)(n + 1) * sizeof *keys);
    int64_t count = 0;
    if (!keys) return false;
    for (int64_t i = 0; i < n; i++) {
        const char *text = map_key(&t->vocabulary, i);
        const size_t size = map_size(&t->vocabulary, i);
        if (size <= prefix->size || memcmp(text, prefix->text, prefix->size) != 0) continue;
        keys[count++] = (struct trie_key){text + prefix->size, (uint32_t)(size - prefix->size),
                                          (int32_t)t->vocabulary.entries[i].value};
    }
    const bool ok = trie_build(cx, &t->wordpiece.inner, keys, count);
    heed_mem_free(cx, keys);
    return ok;
}

static bool wordpiece_read(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node at) {
    static const struct tree_node standard = {.text = "##", .size = 2, .kind = TREE_TEXT};
    const node vocab = tree_need(tree, at, "vocab", TREE_OBJECT), unknown = tree_text(tree, at, "unk_token");
    node prefix = tree_text(tree, at, "continuing_subword_prefix");
    t->wordpiece.longest = tree_int(tree, at, "max_input_chars_per_word", 100);
    if (heed_failed(cx) || !read_vocabulary(cx, t, tree, vocab)) return false;
    if (t->wordpiece.longest < 0) return tree_fail(tree, at, "max_input_chars_per_word", "must not be negative");
    t->unknown = unknown ? vocabulary_id(t, unknown->text, unknown->size) : vocabulary_id(t, "[UNK]", 5);
    return vocabulary_trie(cx, t) && build_inner(cx, t, prefix ? prefix : &standard);
}

const struct model_kind wordpiece_kind = {"WordPiece", wordpiece_read, wordpiece_encode};
