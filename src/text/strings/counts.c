/* A table of counts: see the header. */
#include "text/strings/counts.h"
#include "base/checked.h"

#include <string.h>

static uint32_t hash_of(const struct counts *t, const char *s, size_t size, int kind) {
    return hash_bytes(t->table.secret, s, size) + 0x9E3779B9u * (uint32_t)kind;
}

/* The entry, or NULL with the place where it belongs. */
static struct count *find(const struct counts *t, const char *s, size_t size, int kind, struct table_step *step) {
    *step = table_begin(&t->table, hash_of(t, s, size, kind));
    while (table_match(&t->table, step)) {
        struct count *c = &t->entries[step->entry];
        if (c->kind == kind && c->size == size && memcmp(c->s, s, size) == 0) return c;
    }
    return NULL;
}

static bool grow(struct counts *t) {
    const int64_t room = t->room ? 2 * t->room : 128;
    size_t bytes;
    struct count *larger =
        size_mul((size_t)room, sizeof *larger, &bytes) ? heed_mem_resize(t->cx, t->entries, bytes) : NULL;
    if (!larger) return heed_fail(t->cx, HEED_ERR_MEMORY, "counts: too many n-grams");
    t->entries = larger;
    t->room = room;
    return true;
}

struct count *counts_at(struct counts *t, const char *s, size_t size, int kind) {
    struct table_step step;
    if (!table_room(t->cx, &t->table) || (t->table.count == t->room && !grow(t))) return NULL;
    struct count *c = find(t, s, size, kind, &step);
    if (c) return c;
    c = &t->entries[t->table.count];
    *c = (struct count){.s = s, .size = size, .kind = kind};
    table_put(&t->table, &step, t->table.count);
    return c;
}

struct count *counts_meet(struct counts *t, const char *s, size_t size, int kind, int turn) {
    struct table_step step;
    struct count *c = find(t, s, size, kind, &step);
    if (!c) return NULL;
    if (c->turn != turn) c->now = 0;
    c->turn = turn;
    c->now++;
    return c;
}

/* A table that one very long line made large is given up rather than wiped for every short one that follows. */
void counts_clear(struct counts *t) {
    if (t->room > 4096 && t->table.count < t->room / 32) counts_free(t);
    if (t->table.count == 0) return;
    for (uint64_t i = 0; i <= t->table.mask; i++) t->table.slots[i].entry = -1;
    t->table.count = 0;
}

void counts_free(struct counts *t) {
    heed_mem_free(t->cx, t->entries);
    table_free(t->cx, &t->table);
    *t = (struct counts){.cx = t->cx};
}
