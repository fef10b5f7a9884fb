/* The one hash table of this room: it finds the places of entries in an array that its user keeps, by a hash and a
 * comparison of the user's own. Open addressing with linear steps, at most half full; nothing is ever removed.
 *
 *     for (struct table_step s = table_begin(&t, hash); table_match(&t, &s);)
 *         if (same(entries[s.entry], key)) return s.entry;
 *     ... not there: table_put(&t, &s, hash, entry) after table_room(cx, &t)
 */
#ifndef TEXT_STRINGS_HASH_TABLE_H
#define TEXT_STRINGS_HASH_TABLE_H

#include "heed/base.h"
#include "text/strings/hash.h"

struct table_slot {
    uint32_t hash;
    int32_t entry; /* -1: free */
};
struct table { /* {0} is empty */
    struct table_slot *slots;
    uint64_t secret;
    uint32_t mask; /* slots - 1 */
    int32_t count;
};
struct table_step {
    uint32_t at, hash;
    int32_t entry;
};

/* Room for one more; call it before table_begin of a key that may be added. Slots may move. */
bool table_room(heed_ctx *cx, struct table *t);
bool table_reserve(heed_ctx *cx, struct table *t, int64_t entries);
void table_free(heed_ctx *cx, struct table *t);

static inline struct table_step table_begin(const struct table *t, uint32_t hash) {
    return (struct table_step){.at = hash & t->mask, .hash = hash, .entry = -1};
}

/* The next entry of this hash in s->entry; false at a free slot, where s->at stays. */
static inline bool table_match(const struct table *t, struct table_step *s) {
    if (!t->slots) return false;
    if (s->entry >= 0) s->at = (s->at + 1) & t->mask;
    for (;; s->at = (s->at + 1) & t->mask) {
        const struct table_slot *slot = &t->slots[s->at];
        s->entry = slot->entry;
        if (slot->entry < 0) return false;
        if (slot->hash == s->hash) return true;
    }
}

static inline void table_put(struct table *t, const struct table_step *s, int32_t entry) {
    t->slots[s->at] = (struct table_slot){s->hash, entry};
    t->count++;
}

#endif
