/* Strings to numbers. Entries are numbered in the order they were added and never removed. {0} is empty. */
#ifndef TEXT_STRINGS_MAP_H
#define TEXT_STRINGS_MAP_H

#include "heed/text.h"
#include "text/strings/hash_table.h"

struct map_entry {
    size_t at; /* in text */
    uint32_t size, hash;
    int64_t value;
};
struct map {
    heed_string text; /* every key, each followed by 0 */
    struct map_entry *entries;
    int64_t count, room;
    struct table table;
};
/* The entry of a key: -1 when there is none. */
int64_t map_find(const struct map *m, const char *key, size_t size);
/* The same, added with value 0 when there is none; -1 and a failed context on trouble. */
int64_t map_add(heed_ctx *cx, struct map *m, const char *key, size_t size);
bool map_reserve(heed_ctx *cx, struct map *m, int64_t entries, size_t bytes);
void map_free(heed_ctx *cx, struct map *m);
/* The same in two steps, for many keys at once. map_expect fetches what finding a hash will need: its slot, then, when
 * that has come, its entry, and then the entry's text (levels 0, 1 and 2). */
static inline uint32_t map_hash(const struct map *m, const char *key, size_t size) {
    return hash_bytes(m->table.secret, key, size);
}
int64_t map_find_hash(const struct map *m, const char *key, size_t size, uint32_t hash);
static inline const char *map_key(const struct map *m, int64_t entry) { return m->text.s + m->entries[entry].at; }
static inline size_t map_size(const struct map *m, int64_t entry) { return m->entries[entry].size; }
static inline void map_expect(const struct map *m, uint32_t hash, int level) {
    if (m->count == 0) return;
    const struct table_slot *slot = &m->table.slots[hash & m->table.mask];
    if (level == 0)
        __builtin_prefetch(slot);
    else if (slot->entry >= 0)
        __builtin_prefetch(level == 1 ? (const char *)&m->entries[slot->entry] : map_key(m, slot->entry));
}

#endif
