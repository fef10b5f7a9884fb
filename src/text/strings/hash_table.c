/* The hash table's memory, and its secret. */
#include "text/strings/hash_table.h"

#include <sys/random.h>
#include <time.h>

uint64_t hash_secret(void) {
    uint64_t secret = 0;
    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) != (ssize_t)sizeof secret) {
        struct timespec now = {0}; /* early in a system's start: hard enough to guess */
        clock_gettime(CLOCK_MONOTONIC, &now);
        secret = hash_mix((uint64_t)now.tv_nsec ^ (uintptr_t)&now, 0xD6E8FEB86659FD93u);
    }
    return secret | 1;
}

static bool rehash(heed_ctx *cx, struct table *t, uint64_t slots) {
    if (slots > (uint64_t)1 << 31) return heed_fail(cx, HEED_ERR_RANGE, "tokenizer: more than %d strings", 1 << 30);
    struct table_slot *larger = heed_mem_new(cx, slots * sizeof *larger);
    if (!larger) return false;
    const uint32_t mask = (uint32_t)(slots - 1);
    for (uint64_t i = 0; i < slots; i++) larger[i].entry = -1;
    for (uint64_t i = 0; t->slots && i <= t->mask; i++) {
        if (t->slots[i].entry < 0) continue;
        uint32_t at = t->slots[i].hash & mask;
        while (larger[at].entry >= 0) at = (at + 1) & mask;
        larger[at] = t->slots[i];
    }
    heed_mem_free(cx, t->slots);
    t->slots = larger;
    t->mask = mask;
    if (!t->secret) t->secret = hash_secret();
    return true;
}

bool table_reserve(heed_ctx *cx, struct table *t, int64_t entries) {
    uint64_t slots = t->slots ? (uint64_t)t->mask + 1 : 64;
    while (slots < 2 * (uint64_t)entries) slots *= 2;
    return (t->slots && slots == (uint64_t)t->mask + 1) || rehash(cx, t, slots);
}

bool table_room(heed_ctx *cx, struct table *t) { return table_reserve(cx, t, (int64_t)t->count + 1); }

void table_free(heed_ctx *cx, struct table *t) {
    heed_mem_free(cx, t->slots);
    *t = (struct table){0};
}
