/* Strings to numbers: see the header. */
#include "text/strings/map.h"
#include "base/checked.h"

#include <string.h>

static bool same(const struct map *m, int64_t entry, const char *key, size_t size) {
    const struct map_entry *e = &m->entries[entry];
    return e->size == size && memcmp(m->text.s + e->at, key, size) == 0;
}

int64_t map_find(const struct map *m, const char *key, size_t size) {
    return map_find_hash(m, key, size, map_hash(m, key, size));
}

int64_t map_find_hash(const struct map *m, const char *key, size_t size, uint32_t hash) {
    if (m->count == 0) return -1;
    struct table_step s = table_begin(&m->table, hash);
    while (table_match(&m->table, &s))
        if (same(m, s.entry, key, size)) return s.entry;
    return -1;
}

static bool make_room(heed_ctx *cx, struct map *m, int64_t room) {
    size_t bytes;
    if (room <= m->room) return true;
    if (!size_mul((size_t)room, sizeof *m->entries, &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "tokenizer: too many strings");
    struct map_entry *entries = heed_mem_resize(cx, m->entries, bytes);
    if (!entries) return false;
    m->entries = entries;
    m->room = room;
    return true;
}

bool map_reserve(heed_ctx *cx, struct map *m, int64_t entries, size_t bytes) {
    if (bytes + 1 > m->text.room) {
        char *larger = heed_mem_resize(cx, m->text.s, bytes + 1);
        if (!larger) return false;
        m->text.s = larger;
        m->text.room = bytes + 1;
    }
    return make_room(cx, m, entries) && table_reserve(cx, &m->table, entries);
}

int64_t map_add(heed_ctx *cx, struct map *m, const char *key, size_t size) {
    if (size > UINT32_MAX) return heed_fail(cx, HEED_ERR_RANGE, "tokenizer: a string of %zu bytes", size), -1;
    if (!table_room(cx, &m->table)) return -1;
    if (m->count == m->room && !make_room(cx, m, m->room ? 2 * m->room : 32)) return -1;
    const uint32_t hash = hash_bytes(m->table.secret, key, size);
    struct table_step s = table_begin(&m->table, hash);
    while (table_match(&m->table, &s))
        if (same(m, s.entry, key, size)) return s.entry;
    const size_t at = m->text.size;
    if (!heed_string_put(cx, &m->text, key, size)) return -1;
    if (!heed_string_put(cx, &m->text, "", 1)) return m->text.size = at, -1;
    m->entries[m->count] = (struct map_entry){.at = at, .size = (uint32_t)size, .hash = hash};
    table_put(&m->table, &s, (int32_t)m->count);
    return m->count++;
}

void map_free(heed_ctx *cx, struct map *m) {
    heed_string_free(cx, &m->text);
    heed_mem_free(cx, m->entries);
    table_free(cx, &m->table);
    *m = (struct map){0};
}
