/* Strings to numbers: open addressing with linear probing over slots that hold the hash, so that a key is looked at
 * only where its hash agrees. Entries are never removed. */
#include "text/hash.h"
#include "text/tokenizer.h"

/* The slot of a key, or the free one where it belongs. */
static struct map_slot *slot_of(const struct map *m, const char *key, size_t size, uint32_t hash) {
    for (uint64_t i = hash;; i++) {
        struct map_slot *slot = &m->slots[i & (uint64_t)(m->slot_count - 1)];
        if (slot->entry < 0) return slot;
        const struct map_entry *e = &m->entries[slot->entry];
        if (slot->hash == hash && e->size == size && memcmp(m->text.s + e->at, key, size) == 0) return slot;
    }
}

int64_t map_find(const struct map *m, const char *key, size_t size) {
    return m->count == 0 ? -1 : slot_of(m, key, size, hash_bytes(key, size))->entry;
}

static bool grow(heed_ctx *cx, struct map *m) {
    const int64_t room = m->room ? 2 * m->room : 64, slot_count = 2 * room;
    if (room > INT32_MAX / 2) return heed_fail(cx, HEED_ERR_RANGE, "tokenizer: more than %d strings", INT32_MAX / 2);
    struct map_entry *entries = heed_mem_resize(cx, m->entries, (size_t)room * sizeof *entries);
    if (!entries) return false;
    m->entries = entries;
    struct map_slot *slots = heed_mem_new(cx, (size_t)slot_count * sizeof *slots);
    if (!slots) return false;
    for (int64_t i = 0; i < slot_count; i++) slots[i].entry = -1;
    heed_mem_free(cx, m->slots);
    m->slots = slots;
    m->room = room;
    m->slot_count = slot_count;
    for (int64_t i = 0; i < m->count; i++) {
        uint64_t at = entries[i].hash;
        while (slots[at & (uint64_t)(slot_count - 1)].entry >= 0) at++;
        slots[at & (uint64_t)(slot_count - 1)] = (struct map_slot){entries[i].hash, (int32_t)i};
    }
    return true;
}

int64_t map_add(heed_ctx *cx, struct map *m, const char *key, size_t size) {
    if (size > UINT32_MAX) return heed_fail(cx, HEED_ERR_RANGE, "tokenizer: a string of %zu bytes", size), -1;
    if (m->count == m->room && !grow(cx, m)) return -1;
    const uint32_t hash = hash_bytes(key, size);
    struct map_slot *slot = slot_of(m, key, size, hash);
    if (slot->entry >= 0) return slot->entry;
    const size_t at = m->text.size;
    if (!heed_string_put(cx, &m->text, key, size)) return -1;
    if (!heed_string_put(cx, &m->text, "", 1)) return m->text.size = at, -1;
    *slot = (struct map_slot){hash, (int32_t)m->count};
    m->entries[m->count] = (struct map_entry){.at = at, .size = (uint32_t)size, .hash = hash};
    return m->count++;
}

void map_free(heed_ctx *cx, struct map *m) {
    heed_string_free(cx, &m->text);
    heed_mem_free(cx, m->entries);
    heed_mem_free(cx, m->slots);
    *m = (struct map){0};
}
