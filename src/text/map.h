/* Strings to numbers. Entries are numbered in the order they were added and never removed. {0} is empty. */
#ifndef TEXT_MAP_H
#define TEXT_MAP_H

#include "heed/text.h"
#include "text/table.h"

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
static inline const char *map_key(const struct map *m, int64_t entry) { return m->text.s + m->entries[entry].at; }
static inline size_t map_size(const struct map *m, int64_t entry) { return m->entries[entry].size; }

#endif
