/* A table of counts: see the header. */
#include "text/counts.h"
#include "base/checked.h"
#include "text/hash.h"

#include <string.h>

static uint32_t hash_of(const char *s, size_t size, int kind) {
    return hash_bytes(s, size) + 0x9E3779B9u * (uint32_t)kind;
}

static struct count *find(const struct counts *t, const char *s, size_t size, int kind, uint32_t hash) {
    for (size_t i = hash;; i++) {
        struct count *c = &t->slots[i & (t->room - 1)];
        if (!c->s) return c;
        if (c->hash == hash && c->kind == kind && c->size == size && memcmp(c->s, s, size) == 0) return c;
    }
}

static bool grow(struct counts *t) {
    struct counts larger = {.cx = t->cx, .room = t->room ? 2 * t->room : 256, .used = t->used};
    size_t bytes;
    if (!size_mul(larger.room, sizeof *larger.slots, &bytes) || !(larger.slots = heed_mem_new(t->cx, bytes)))
        return heed_fail(t->cx, HEED_ERR_MEMORY, "counts: too many n-grams");
    memset(larger.slots, 0, bytes);
    for (size_t i = 0; i < t->room; i++) {
        const struct count *c = &t->slots[i];
        if (c->s) *find(&larger, c->s, c->size, c->kind, c->hash) = *c;
    }
    heed_mem_free(t->cx, t->slots);
    *t = larger;
    return true;
}

struct count *counts_at(struct counts *t, const char *s, size_t size, int kind) {
    if (2 * t->used >= t->room && !grow(t)) return NULL;
    const uint32_t hash = hash_of(s, size, kind);
    struct count *c = find(t, s, size, kind, hash);
    if (c->s) return c;
    *c = (struct count){.s = s, .size = size, .hash = hash, .kind = kind};
    t->used++;
    return c;
}

struct count *counts_meet(struct counts *t, const char *s, size_t size, int kind, int turn) {
    struct count *c = t->room ? find(t, s, size, kind, hash_of(s, size, kind)) : NULL;
    if (!c || !c->s) return NULL;
    if (c->turn != turn) c->now = 0;
    c->turn = turn;
    c->now++;
    return c;
}

/* A table that one very long line made large is given up rather than wiped for every short one that follows. */
void counts_clear(struct counts *t) {
    if (t->room > 4096 && t->used < t->room / 32) counts_free(t);
    if (t->used > 0) memset(t->slots, 0, t->room * sizeof *t->slots);
    t->used = 0;
}

void counts_free(struct counts *t) {
    heed_mem_free(t->cx, t->slots);
    *t = (struct counts){.cx = t->cx};
}
