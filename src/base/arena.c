/* The memory of a step. See arena.h for what it promises.
 *
 * Every chunk is tiled without gaps by blocks, free or taken; no two free blocks are neighbours. Blocks are records in
 * one array, named by their index (0 is nobody), linked to their neighbours in address order. Free blocks hang in size
 * classes: one class per size below 64 granules of 64 bytes, then eight per doubling; a bitmap says which are not
 * empty. A class is a treap ordered by (size, chunk, address), so the best fit, and the lowest among equals, is found
 * by one walk down. Chunks are ordered by age, never by where the system put them: the same requests give the same
 * places. Taken blocks are found again through a hash of their address. */
#include "base/arena.h"
#include "base/checked.h"
#include "base/memory.h"

#include <string.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define POISONS 1
#    endif
#elif defined(__SANITIZE_ADDRESS__)
#    define POISONS 1
#endif
#ifdef POISONS
#    include <sanitizer/asan_interface.h>
#else
#    define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#    define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

#define GRANULE     ((size_t)64)
#define FIRST_CHUNK ((size_t)1 << 20)
#define CHUNK_STEP  ((size_t)64 << 10)
#define MAX_BYTES   (SIZE_MAX / 16) /* no machine has them; below, no sum of sizes overflows */
#define DRY_ADDRESS (UINTPTR_MAX / 8 + 1)
#define CLASSES     512

struct block {
    uintptr_t at;
    size_t size;
    uint32_t chunk;
    uint32_t before, after; /* neighbours in the chunk; `after` also links records that are not in use */
    uint32_t left, right;   /* in the treap of its class, when free */
    bool taken;
};

struct chunk {
    void *memory; /* made up in a dry context */
    size_t size;
};

struct arena {
    struct chunk *chunks;
    size_t chunk_count, chunk_room;
    size_t total; /* bytes in all chunks */
    struct block *blocks;
    size_t block_count, block_room; /* records ever used, and 1 for nobody; records there is room for */
    uint32_t unused;                /* first of the records given back */
    uint32_t *slots;                /* taken blocks by address: open addressing, linear probing, at most half full */
    size_t slot_room;               /* a power of two, or 0 */
    unsigned slot_shift;
    size_t taken;
    uint64_t filled[CLASSES / 64]; /* bit c: class c is not empty */
    uint32_t roots[CLASSES];
};

/* ---- size classes ---- */

static size_t class_of(size_t size) {
    const uint64_t granules = size / GRANULE;
    if (granules < 64) return (size_t)granules;
    const unsigned top = 63 - (unsigned)__builtin_clzll(granules);
    return 64 + (top - 6) * 8 + (size_t)(granules >> (top - 3) & 7);
}

/* The first class from c on that is not empty, or CLASSES. */
static size_t next_class(const struct arena *a, size_t c) {
    if (c >= CLASSES) return CLASSES;
    uint64_t bits = a->filled[c / 64] >> (c % 64);
    if (bits) return c + (size_t)__builtin_ctzll(bits);
    for (size_t w = c / 64 + 1; w < CLASSES / 64; w++)
        if (a->filled[w]) return w * 64 + (size_t)__builtin_ctzll(a->filled[w]);
    return CLASSES;
}

static bool less(const struct block *x, const struct block *y) {
    if (x->size != y->size) return x->size < y->size;
    if (x->chunk != y->chunk) return x->chunk < y->chunk;
    return x->at < y->at;
}

/* A treap's shape comes from mixed indices, so that no order of requests makes it deep. */
static uint32_t rank(uint32_t block) {
    block *= 0x9E3779B1u;
    block ^= block >> 15;
    return block * 0x85EBCA77u;
}

static void free_insert(struct arena *a, uint32_t block) {
    struct block *const all = a->blocks, *const b = &all[block];
    const size_t c = class_of(b->size);
    uint32_t *link = &a->roots[c];
    while (*link && rank(*link) >= rank(block)) link = less(b, &all[*link]) ? &all[*link].left : &all[*link].right;
    /* What hangs here is split into what is less than the block and what is more. */
    uint32_t rest = *link, *low = &b->left, *high = &b->right;
    *link = block;
    while (rest) {
        if (less(&all[rest], b)) {
            *low = rest;
            low = &all[rest].right;
            rest = *low;
        } else {
            *high = rest;
            high = &all[rest].left;
            rest = *high;
        }
    }
    *low = *high = 0;
    a->filled[c / 64] |= (uint64_t)1 << (c % 64);
}

static void free_remove(struct arena *a, uint32_t block) {
    struct block *const all = a->blocks, *const b = &all[block];
    const size_t c = class_of(b->size);
    uint32_t *link = &a->roots[c];
    while (*link != block) link = less(b, &all[*link]) ? &all[*link].left : &all[*link].right;
    uint32_t low = b->left, high = b->right;
    while (low && high) {
        if (rank(low) >= rank(high)) {
            *link = low;
            link = &all[low].right;
            low = *link;
        } else {
            *link = high;
            link = &all[high].left;
            high = *link;
        }
    }
    *link = low ? low : high;
    if (!a->roots[c]) a->filled[c / 64] &= ~((uint64_t)1 << (c % 64));
}

/* The free block of the least size that is enough, the first in order among those; 0 if there is none. */
static uint32_t best_fit(const struct arena *a, size_t size) {
    for (size_t c = next_class(a, class_of(size)); c < CLASSES; c = next_class(a, c + 1)) {
        uint32_t best = 0;
        for (uint32_t at = a->roots[c]; at;) {
            const bool enough = a->blocks[at].size >= size;
            if (enough) best = at;
            at = enough ? a->blocks[at].left : a->blocks[at].right;
        }
        if (best) return best;
    }
    return 0;
}

/* ---- records ---- */

static uint32_t block_new(struct arena *a, struct block what) {
    uint32_t block = a->unused;
    if (block)
        a->unused = a->blocks[block].after;
    else
        block = (uint32_t)a->block_count++;
    a->blocks[block] = what;
    return block;
}

/* Takes the right neighbour `gone`, a free block outside the treaps, into `block`. */
static void absorb(struct arena *a, uint32_t block, uint32_t gone) {
    struct block *const b = &a->blocks[block], *const g = &a->blocks[gone];
    b->size += g->size;
    b->after = g->after;
    if (b->after) a->blocks[b->after].before = block;
    g->after = a->unused;
    a->unused = gone;
}

/* ---- taken blocks by address ---- */

static size_t home(const struct arena *a, uintptr_t at) {
    return (size_t)((uint64_t)(at / GRANULE) * 0x9E3779B97F4A7C15u >> a->slot_shift);
}

static void slot_insert(struct arena *a, uint32_t block) {
    size_t s = home(a, a->blocks[block].at);
    while (a->slots[s]) s = (s + 1) & (a->slot_room - 1);
    a->slots[s] = block;
}

/* Finds the block at an address and takes it out of the table; 0 if it is not there. */
static uint32_t slot_remove(struct arena *a, uintptr_t at) {
    if (a->slot_room == 0) return 0;
    const size_t mask = a->slot_room - 1;
    size_t hole = home(a, at);
    while (a->slots[hole] && a->blocks[a->slots[hole]].at != at) hole = (hole + 1) & mask;
    const uint32_t found = a->slots[hole];
    if (!found) return 0;
    /* Those behind move up when the hole lies on their way from home. */
    for (size_t s = (hole + 1) & mask; a->slots[s]; s = (s + 1) & mask) {
        const size_t from = home(a, a->blocks[a->slots[s]].at);
        if (((s - from) & mask) < ((s - hole) & mask)) continue;
        a->slots[hole] = a->slots[s];
        hole = s;
    }
    a->slots[hole] = 0;
    return found;
}

/* ---- room for the books: made before anything changes, so that a refusal leaves the arena as it was ---- */

static void *grown(heed_ctx *cx, void *array, size_t item, size_t *room, size_t first) {
    const size_t count = *room ? *room * 2 : first;
    size_t bytes;
    if (!size_mul(count, item, &bytes)) bytes = SIZE_MAX;
    void *larger = heed_mem_resize(cx, array, bytes);
    if (larger) *room = count;
    return larger;
}

static bool slots_grow(heed_ctx *cx, struct arena *a) {
    size_t room = a->slot_room;
    uint32_t *slots = grown(cx, NULL, sizeof *slots, &room, 256);
    if (!slots) return false;
    memset(slots, 0, room * sizeof *slots);
    heed_mem_free(cx, a->slots);
    a->slots = slots;
    a->slot_room = room;
    a->slot_shift = 64 - (unsigned)__builtin_ctzll(room);
    for (uint32_t b = 1; b < a->block_count; b++)
        if (a->blocks[b].taken) slot_insert(a, b);
    return true;
}

/* Taking needs at most two records (a new chunk, the rest of a split), one slot, one chunk. */
static bool books_ready(heed_ctx *cx, struct arena *a) {
    if (a->block_count + 2 > a->block_room) {
        if (a->block_room > UINT32_MAX / 2) return heed_fail(cx, HEED_ERR_MEMORY, "memory: too many blocks in a step");
        struct block *blocks = grown(cx, a->blocks, sizeof *blocks, &a->block_room, 128);
        if (!blocks) return false;
        a->blocks = blocks;
    }
    if (a->chunk_count == a->chunk_room) {
        struct chunk *chunks = grown(cx, a->chunks, sizeof *chunks, &a->chunk_room, 16);
        if (!chunks) return false;
        a->chunks = chunks;
    }
    return (a->taken + 1) * 2 <= a->slot_room || slots_grow(cx, a);
}

/* ---- chunks ---- */

static void chunk_free(heed_ctx *cx, struct chunk chunk) {
    if (cx->config.dry) {
        mem_uncount(cx, chunk.size);
    } else {
        ASAN_UNPOISON_MEMORY_REGION(chunk.memory, chunk.size);
        heed_mem_free(cx, chunk.memory);
    }
}

/* Adds a chunk as one free block. The books must have room for it. */
static heed_status chunk_add(heed_ctx *cx, struct arena *a, size_t size, uint32_t *block) {
    struct chunk chunk = {.size = size};
    heed_status status = HEED_ERR_MEMORY;
    if (size > MAX_BYTES - a->total) return status;
    if (cx->config.dry) {
        status = mem_count(cx, size);
        /* An address of nothing, a granule away from the other chunks; bounded since total <= MAX_BYTES. */
        chunk.memory = (void *)(DRY_ADDRESS + a->total + a->chunk_count * GRANULE);
    } else {
        status = mem_try(cx, size, &chunk.memory);
    }
    if (status != HEED_OK) return status;
    if (!cx->config.dry) ASAN_POISON_MEMORY_REGION(chunk.memory, size);
    *block =
        block_new(a, (struct block){.at = (uintptr_t)chunk.memory, .size = size, .chunk = (uint32_t)a->chunk_count});
    a->chunks[a->chunk_count++] = chunk;
    a->total += size;
    free_insert(a, *block);
    return HEED_OK;
}

static size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

/* A new chunk of half of what there is, or only just enough when that much is refused. */
static uint32_t arena_grow(heed_ctx *cx, struct arena *a, size_t size) {
    const size_t least = round_up(size, CHUNK_STEP);
    size_t wanted = round_up(a->total / 2, CHUNK_STEP);
    if (a->chunk_count == 0) wanted = FIRST_CHUNK;
    if (wanted < least) wanted = least;
    uint32_t block = 0;
    heed_status status = chunk_add(cx, a, wanted, &block);
    if (status != HEED_OK && wanted > least) status = chunk_add(cx, a, least, &block);
    if (status != HEED_OK) mem_refused(cx, status, size);
    return block;
}

/* ---- the interface ---- */

struct arena *arena_open(heed_ctx *cx) {
    struct arena *a = heed_mem_new(cx, sizeof *a);
    if (a) *a = (struct arena){.block_count = 1};
    return a;
}

void arena_close(heed_ctx *cx, struct arena *a) {
    if (!a) return;
    for (size_t i = 0; i < a->chunk_count; i++) chunk_free(cx, a->chunks[i]);
    heed_mem_free(cx, a->chunks);
    heed_mem_free(cx, a->blocks);
    heed_mem_free(cx, a->slots);
    heed_mem_free(cx, a);
    cx->memory.step = 0;
}

/* Cuts a free block outside the treaps to `size`; the rest is a free block of its own. */
static void split(struct arena *a, uint32_t block, size_t size) {
    struct block *const b = &a->blocks[block];
    if (b->size == size) return;
    const uint32_t rest = block_new(
        a, (struct block){
               .at = b->at + size, .size = b->size - size, .chunk = b->chunk, .before = block, .after = b->after});
    if (b->after) a->blocks[b->after].before = rest;
    b->after = rest;
    b->size = size;
    free_insert(a, rest);
}

void *arena_take(heed_ctx *cx, size_t size) {
    if (heed_failed(cx)) return NULL;
    struct arena *const a = cx->arena;
    if (size > MAX_BYTES / 2) {
        mem_refused(cx, HEED_ERR_MEMORY, size);
        return NULL;
    }
    if (!books_ready(cx, a)) return NULL;
    const size_t rounded = size ? round_up(size, GRANULE) : GRANULE;
    uint32_t block = best_fit(a, rounded);
    if (!block && !(block = arena_grow(cx, a, rounded))) return NULL;
    free_remove(a, block);
    split(a, block, rounded);
    struct block *const b = &a->blocks[block];
    b->taken = true;
    a->taken++;
    slot_insert(a, block);
    cx->memory.step += rounded;
    if (cx->memory.step > cx->memory.step_peak) cx->memory.step_peak = cx->memory.step;
    if (!cx->config.dry) ASAN_UNPOISON_MEMORY_REGION((void *)b->at, size);
    return (void *)b->at;
}

void arena_give(heed_ctx *cx, void *memory) {
    if (!cx || !cx->arena || !memory) return;
    struct arena *const a = cx->arena;
    uint32_t block = slot_remove(a, (uintptr_t)memory);
    if (!block) {
        heed_fail(cx, HEED_ERR_USAGE, "memory: a block was given back to the step that it does not hold");
        return;
    }
    struct block *b = &a->blocks[block];
    if (!cx->config.dry) ASAN_POISON_MEMORY_REGION(memory, b->size);
    cx->memory.step -= b->size;
    b->taken = false;
    a->taken--;
    const uint32_t before = b->before, after = b->after;
    if (after && !a->blocks[after].taken) {
        free_remove(a, after);
        absorb(a, block, after);
    }
    if (before && !a->blocks[before].taken) {
        free_remove(a, before);
        absorb(a, before, block);
        block = before;
    }
    free_insert(a, block);
}

/* Gives every block back; one chunk of `total` bytes takes the place of all there are, or the only one stays. */
static void begin_anew(heed_ctx *cx, struct arena *a, size_t total) {
    const struct chunk only = a->chunk_count > 0 ? a->chunks[0] : (struct chunk){0};
    const bool stays = a->chunk_count == 1 && only.size >= total;
    for (size_t i = 0; !stays && i < a->chunk_count; i++) chunk_free(cx, a->chunks[i]);
    cx->memory.step = 0;
    if (a->taken) memset(a->slots, 0, a->slot_room * sizeof *a->slots);
    memset(a->roots, 0, sizeof a->roots);
    memset(a->filled, 0, sizeof a->filled);
    a->block_count = 1;
    a->unused = 0;
    a->taken = a->chunk_count = a->total = 0;
    if (!stays) {
        /* Refused, the arena is merely empty and grows again. */
        uint32_t block;
        (void)chunk_add(cx, a, total, &block);
        return;
    }
    if (!cx->config.dry) ASAN_POISON_MEMORY_REGION(only.memory, only.size);
    a->chunk_count = 1;
    a->total = only.size;
    free_insert(a, block_new(a, (struct block){.at = (uintptr_t)only.memory, .size = only.size}));
}

void arena_reset(heed_ctx *cx) {
    if (!cx || !cx->arena) return;
    struct arena *const a = cx->arena;
    if (a->taken > 0 || a->chunk_count > 1) begin_anew(cx, a, a->total);
}

size_t arena_room(const heed_ctx *cx) { return cx && cx->arena ? cx->arena->total : 0; }

void arena_reserve(heed_ctx *cx, size_t total) {
    struct arena *const a = cx ? cx->arena : NULL;
    if (a && a->taken == 0 && a->total < total && books_ready(cx, a)) begin_anew(cx, a, total);
}
