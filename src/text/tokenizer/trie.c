/* A trie is built by putting its edges (node, byte) into a hash table, and then laid out level by level. */
#include "text/tokenizer/trie.h"
#include "base/checked.h"
#include "text/strings/hash_table.h"

struct edge {
    uint32_t parent, next; /* next: of the same parent, 0: none */
    uint8_t byte;
    int32_t value;
};
struct builder {
    heed_ctx *cx;
    struct edge *nodes;
    uint32_t count, room, *child, *order; /* child: the first of each */
    struct table table;
};

static uint32_t add_node(struct builder *b, uint32_t parent, uint8_t byte) {
    if (b->count == b->room) {
        const uint32_t room = b->room ? 2 * b->room : 1024;
        struct edge *larger =
            room > UINT32_MAX / 4 ? NULL : heed_mem_resize(b->cx, b->nodes, (size_t)room * sizeof *larger);
        if (!larger) return heed_fail(b->cx, HEED_ERR_MEMORY, "tokenizer: the vocabulary is too large"), UINT32_MAX;
        b->nodes = larger;
        b->room = room;
    }
    b->nodes[b->count] = (struct edge){.parent = parent, .byte = byte, .value = -1};
    return b->count++;
}

static uint32_t child_of(struct builder *b, uint32_t parent, uint8_t byte) {
    if (!table_room(b->cx, &b->table)) return UINT32_MAX;
    struct table_step s = table_begin(&b->table, hash_number(b->table.secret, (uint64_t)parent << 8 | byte));
    while (table_match(&b->table, &s))
        if (b->nodes[s.entry].parent == parent && b->nodes[s.entry].byte == byte) return (uint32_t)s.entry;
    const uint32_t made = add_node(b, parent, byte);
    if (made != UINT32_MAX) table_put(&b->table, &s, (int32_t)made);
    return made;
}

static bool add_key(struct builder *b, const struct trie_key *key) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < key->size; i++)
        if ((at = child_of(b, at, (uint8_t)key->text[i])) == UINT32_MAX) return false;
    b->nodes[at].value = key->value;
    return true;
}

/* Children in the order of their labels: nodes are put into their parents' lists, and lists are sorted by insertion. */
static void link_children(struct builder *b) {
    for (uint32_t i = 0; i < b->count; i++) b->child[i] = 0;
    for (uint32_t i = 1; i < b->count; i++) {
        uint32_t *at = &b->child[b->nodes[i].parent];
        while (*at && b->nodes[*at].byte < b->nodes[i].byte) at = &b->nodes[*at].next;
        b->nodes[i].next = *at;
        *at = i;
    }
}

static bool lay_out(struct builder *b, struct trie *t) {
    const size_t n = b->count;
    t->first = heed_mem_new(b->cx, (n + 1) * sizeof *t->first);
    t->label = heed_mem_new(b->cx, n * sizeof *t->label);
    t->value = heed_mem_new(b->cx, n * sizeof *t->value);
    b->child = heed_mem_new(b->cx, n * sizeof *b->child);
    b->order = heed_mem_new(b->cx, n * sizeof *b->order);
    if (!t->first || !t->label || !t->value || !b->child || !b->order) return false;
    link_children(b);
    uint32_t made = 1;
    b->order[0] = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const uint32_t old = b->order[i];
        t->label[i] = b->nodes[old].byte;
        t->value[i] = b->nodes[old].value;
        t->first[i] = made;
        for (uint32_t c = b->child[old]; c; c = b->nodes[c].next) b->order[made++] = c;
    }
    t->first[n] = made;
    t->count = b->count;
    for (int i = 0; i < 256; i++) t->top[i] = 0;
    for (uint32_t c = t->first[0]; c < t->first[1]; c++) t->top[t->label[c]] = c;
    return true;
}

bool trie_build(heed_ctx *cx, struct trie *t, const struct trie_key *keys, int64_t n) {
    struct builder b = {.cx = cx};
    *t = (struct trie){0};
    bool ok = table_reserve(cx, &b.table, 2 * n) && add_node(&b, 0, 0) == 0;
    for (int64_t i = 0; ok && i < n; i++) ok = add_key(&b, &keys[i]);
    ok = ok && lay_out(&b, t);
    heed_mem_free(cx, b.nodes);
    heed_mem_free(cx, b.child);
    heed_mem_free(cx, b.order);
    table_free(cx, &b.table);
    if (!ok) trie_free(cx, t);
    return ok;
}

void trie_free(heed_ctx *cx, struct trie *t) {
    heed_mem_free(cx, t->first);
    heed_mem_free(cx, t->label);
    heed_mem_free(cx, t->value);
    *t = (struct trie){0};
}
