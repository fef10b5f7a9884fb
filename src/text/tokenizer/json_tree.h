/* JSON as a tokenizer's files need it: hundreds of thousands of short strings, any of which may hold NUL, read into one
 * block of nodes. Strings lie in the text that was parsed, which the tree keeps; keys may come twice, and the last one
 * counts, as in Python. */
#ifndef TEXT_TOKENIZER_JSON_TREE_H
#define TEXT_TOKENIZER_JSON_TREE_H

#include "heed/text.h"

enum tree_kind { TREE_NULL, TREE_BOOL, TREE_NUMBER, TREE_TEXT, TREE_ARRAY, TREE_OBJECT };
struct tree_node {
    const char *key;         /* within an object, else NULL */
    const char *text;        /* of a string, followed by 0; of a number, its digits */
    double number;           /* also of booleans */
    uint32_t key_size, size, /* bytes of text, or members */
        next, parent;        /* 0: none; the root is node 1 */
    uint8_t kind;
    bool whole; /* a number that is an integer */
};
struct tree {
    heed_ctx *cx;
    const char *name; /* for sentences */
    char *text;
    struct tree_node *nodes;
    uint32_t count, room;
};

/* False and a sentence "NAME: line 3, column 7: ..." when it is not JSON; then nothing is kept. `name` must stay. */
bool tree_parse(heed_ctx *cx, const char *name, const char *text, size_t size, struct tree *t);
void tree_free(struct tree *t);

typedef const struct tree_node *node;
static inline node tree_root(const struct tree *t) { return &t->nodes[1]; }
node tree_first(const struct tree *t, node at); /* the first member, NULL: none */
node tree_next(const struct tree *t, node at);
/* A member: NULL when there is none, when it is null, or when `at` is NULL. */
node tree_find(const struct tree *t, node at, const char *key);
bool node_is(node at, const char *text); /* whether it is this string */

/* Fails with "NAME: model.vocab: ..." of `at`, or of its member `key`. Always false. */
bool tree_fail(const struct tree *t, node at, const char *key, const char *format, ...) HEED_PRINTF(4, 5);
/* A member of this kind; NULL and a sentence when it is missing or of another kind. */
node tree_need(const struct tree *t, node at, const char *key, enum tree_kind kind);
/* Members with a fallback when they are missing or null; of another kind they fail. */
bool tree_bool(const struct tree *t, node at, const char *key, bool fallback);
double tree_number(const struct tree *t, node at, const char *key, double fallback);
int64_t tree_int(const struct tree *t, node at, const char *key, int64_t fallback);
node tree_text(const struct tree *t, node at, const char *key); /* NULL: missing, or failed */

#define EACH_NODE(v, t, list)                                                                                          \
    node v = tree_first(t, list);                                                                                      \
    v;                                                                                                                 \
    v = tree_next(t, v)

#endif
