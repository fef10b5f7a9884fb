/* Byte strings to numbers by their prefixes. */
#ifndef TEXT_TOKENIZER_TRIE_H
#define TEXT_TOKENIZER_TRIE_H

#include "heed/base.h"

/* Nodes in the order of a walk level by level, so that the children of a node lie side by side, sorted by label. */
struct trie {          /* {0} is empty */
    uint32_t *first;   /* (count + 1): the children of node n are first[n] up to first[n + 1] */
    uint8_t *label;    /* (count) */
    int32_t *value;    /* (count): -1: no key ends here */
    uint32_t count;    /* node 0 is the root */
    uint32_t top[256]; /* the root's children, 0: none */
};
struct trie_key {
    const char *text;
    uint32_t size;
    int32_t value;
};
/* The value of the last of equal keys holds. */
bool trie_build(heed_ctx *cx, struct trie *t, const struct trie_key *keys, int64_t n);
void trie_free(heed_ctx *cx, struct trie *t);

/* The child of a node by a byte; 0: none. */
static inline uint32_t trie_step(const struct trie *t, uint32_t at, uint8_t byte) {
    if (at == 0) return t->count ? t->top[byte] : 0;
    uint32_t low = t->first[at], high = t->first[at + 1];
    while (high - low > 8) {
        const uint32_t middle = (low + high) / 2;
        if (t->label[middle] <= byte)
            low = middle;
        else
            high = middle;
    }
    for (; low < high; low++)
        if (t->label[low] == byte) return low;
    return 0;
}

#endif
