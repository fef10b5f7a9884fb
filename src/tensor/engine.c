/* What a context keeps of a step: headers, storages, the tape's records, scopes. */
#include "tensor/engine.h"
#include "base/arena.h"
#include "base/memory.h"
#include "base/profile.h"
#include <stddef.h>
#include <string.h>

#define SLAB_CHUNK 128               /* objects */
#define BUMP_CHUNK ((size_t)1 << 16) /* bytes */

/* Headers are handed out again, step after step. Each place has one for this step and those of the last two, which say
 * that they have ended: a tensor kept across heed_reset is not taken for another. Three, because what programs do every
 * so many steps they do every 10, 64 or 1000. */
#define GENERATIONS 3
struct place {
    void *free; /* the slab's */
    heed_tensor header[GENERATIONS];
};

/* ---- slabs: a chunk begins with the link to the older one ---- */

#define CHUNK_HEAD 64

static void *older(const void *chunk) {
    void *link;
    memcpy(&link, chunk, sizeof link);
    return link;
}

static void *slab_take(heed_ctx *cx, struct slab *s) {
    if (s->free) {
        void *object = s->free;
        memcpy(&s->free, object, sizeof s->free);
        return object;
    }
    if (!s->chunks || s->used == SLAB_CHUNK) {
        char *chunk = heed_mem_new(cx, CHUNK_HEAD + s->size * SLAB_CHUNK);
        if (!chunk) return NULL;
        memcpy(chunk, &s->chunks, sizeof s->chunks);
        s->chunks = chunk;
        s->used = 0;
    }
    return (char *)s->chunks + CHUNK_HEAD + s->size * s->used++;
}

static void slab_give(struct slab *s, void *object) {
    memcpy(object, &s->free, sizeof s->free);
    s->free = object;
}

/* Everything is free again, in address order of each chunk, so that a step hands out the same headers as the one
 * before. */
static void slab_reset(struct slab *s) {
    s->free = NULL;
    for (char *chunk = s->chunks; chunk; chunk = older(chunk))
        for (size_t i = SLAB_CHUNK; i-- > 0;) slab_give(s, chunk + CHUNK_HEAD + s->size * i);
    s->used = SLAB_CHUNK;
}

static void chunks_free(heed_ctx *cx, void *chunk) {
    while (chunk) {
        void *next = older(chunk);
        heed_mem_free(cx, chunk);
        chunk = next;
    }
}

/* ---- records: chunks are linked forwards and kept from step to step ---- */

struct bump_head {
    void *next;
    size_t size;
};

void *bump_take(heed_ctx *cx, struct bump *from, size_t size) {
    size = (size + 15) & ~(size_t)15;
    struct bump_head *head = from->at.chunk;
    while (!head || from->at.used + size > head->size) {
        struct bump_head *next = head ? head->next : from->first;
        if (!next) {
            const size_t bytes = size + CHUNK_HEAD > BUMP_CHUNK ? size + CHUNK_HEAD : BUMP_CHUNK;
            next = heed_mem_new(cx, bytes);
            if (!next) return NULL;
            *next = (struct bump_head){.size = bytes};
            if (head)
                head->next = next;
            else
                from->first = next;
        }
        from->at = (struct bump_mark){next, CHUNK_HEAD};
        head = next;
    }
    void *p = (char *)head + from->at.used;
    from->at.used += size;
    return p;
}

/* ---- lists of slots ---- */

static size_t slots_bytes(int64_t n) { return (size_t)n * sizeof(heed_grad *); }

/* What only a dry step needs is not part of its plan. */
static void *take_uncounted(heed_ctx *cx, size_t bytes) {
    mem_uncount(cx, bytes);
    void *const p = heed_mem_new(cx, bytes);
    if (!p) mem_count(cx, bytes);
    return p;
}

static void free_uncounted(heed_ctx *cx, void *p, size_t bytes) {
    heed_mem_free(cx, p);
    mem_count(cx, bytes);
}

/* ---- the engine of a context ---- */

static void engine_close(heed_ctx *cx) {
    struct engine *e = cx->engine;
    if (!e) return;
    engine_reset(cx);
    chunks_free(cx, e->tensors.chunks);
    chunks_free(cx, e->storages.chunks);
    chunks_free(cx, e->records.first);
    chunks_free(cx, e->lists.first);
    heed_mem_free(cx, e->nodes);
    heed_mem_free(cx, e->scopes);
    heed_mem_free(cx, e->claimed.slot);
    if (e->dry_filled.slot) free_uncounted(cx, e->dry_filled.slot, slots_bytes(e->dry_filled.cap));
    heed_mem_free(cx, e);
    cx->engine = NULL;
}

struct engine *engine_of(heed_ctx *cx) {
    if (!cx || cx->status != HEED_OK) return NULL;
    if (cx->engine) return cx->engine;
    struct engine *e = heed_mem_new(cx, sizeof *e);
    if (!e) return NULL;
    memset(e, 0, sizeof *e);
    e->scopes = heed_mem_new(cx, 16 * sizeof *e->scopes);
    if (!e->scopes) {
        heed_mem_free(cx, e);
        return NULL;
    }
    e->cap_scopes = 16;
    e->scopes[0] = NULL;
    e->depth = 1;
    e->tensors.size = sizeof(struct place);
    e->storages.size = sizeof(struct storage);
    e->recording = true;
    cx->engine = e;
    cx->engine_clear = engine_reset;
    cx->engine_close = engine_close;
    return e;
}

/* What is left of a tensor when its step has ended. */
static void end_headers(struct engine *e) {
    for (char *chunk = e->tensors.chunks; chunk; chunk = older(chunk))
        for (size_t i = 0; i < SLAB_CHUNK; i++) {
            struct place *const p = (struct place *)(void *)(chunk + CHUNK_HEAD) + i;
            heed_tensor *const t = &p->header[e->generation];
            t->data = NULL;
            t->storage = t->grad = NULL;
            t->slot = NULL;
            t->maker = NULL;
            t->wants = false;
            t->ended = true;
        }
    e->generation = (e->generation + 1) % GENERATIONS;
}

void engine_reset(heed_ctx *cx) {
    struct engine *e = cx->engine;
    if (!e) return;
    for (int64_t i = 0; i < e->claimed.n; i++) {
        e->claimed.slot[i]->claimed = false;
        e->claimed.slot[i]->aside = NULL;
    }
    for (int64_t i = 0; i < e->dry_filled.n; i++) e->dry_filled.slot[i]->filled = false;
    e->claimed.n = e->dry_filled.n = 0;
    e->n_nodes = 0;
    e->records.at = e->lists.at = (struct bump_mark){0};
    end_headers(e);
    slab_reset(&e->tensors);
    slab_reset(&e->storages);
    e->depth = 1;
    e->scopes[0] = NULL;
    e->random_ops = 0;
    arena_reset(cx);
}

void heed_reset(heed_ctx *cx) {
    if (!cx || !cx->engine) return;
    struct engine *e = cx->engine;
    const struct profile_mark mark = profile_begin(cx);
    engine_reset(cx);
    e->step++;
    profile_end(cx, mark, "tape", PROFILE_FORWARD);
}

bool engine_note_claimed(heed_ctx *cx, heed_grad *slot) {
    struct slots *const s = &((struct engine *)cx->engine)->claimed;
    if (s->n == s->cap) {
        const int64_t cap = s->cap ? 2 * s->cap : 16;
        void *grown = heed_mem_resize(cx, s->slot, slots_bytes(cap));
        if (!grown) return false;
        s->slot = grown;
        s->cap = cap;
    }
    s->slot[s->n++] = slot;
    return true;
}

bool engine_note_filled(heed_ctx *cx, heed_grad *slot) {
    struct slots *const s = &((struct engine *)cx->engine)->dry_filled;
    if (s->n == s->cap) {
        const int64_t cap = s->cap ? 2 * s->cap : 64;
        heed_grad **const grown = take_uncounted(cx, slots_bytes(cap));
        if (!grown) return false;
        if (s->n > 0) memcpy(grown, s->slot, slots_bytes(s->n));
        if (s->slot) free_uncounted(cx, s->slot, slots_bytes(s->cap));
        s->slot = grown;
        s->cap = cap;
    }
    s->slot[s->n++] = slot;
    return true;
}

static void slots_forget(struct slots *s, const heed_grad *first, int64_t n) {
    for (int64_t i = 0; i < s->n; i++)
        if (s->slot[i] >= first && s->slot[i] < first + n) s->slot[i--] = s->slot[--s->n];
}

void engine_forget_slot(heed_ctx *cx, heed_grad *slot) {
    struct engine *e = cx->engine;
    slots_forget(&e->claimed, slot, 1);
    if (cx->config.dry) engine_note_filled(cx, slot);
}

void engine_forget_slots(heed_ctx *cx, const heed_grad *first, int64_t n) {
    struct engine *e = cx->engine;
    if (!e) return;
    slots_forget(&e->claimed, first, n);
    slots_forget(&e->dry_filled, first, n);
}

/* Streams of one step lie next to each other; a step has room for 2^24 random ops. */
uint64_t engine_next_stream(heed_ctx *cx) {
    struct engine *e = cx->engine;
    return (e->step << 24) + e->random_ops++;
}

bool heed_set_grad(heed_ctx *cx, bool on) {
    struct engine *e = engine_of(cx);
    const bool was = e && e->recording;
    if (e) e->recording = on;
    return was;
}

bool heed_set_recompute(heed_ctx *cx, bool on) {
    struct engine *e = engine_of(cx);
    const bool was = e && e->recompute;
    if (e) e->recompute = on;
    return was;
}

bool heed_set_training(heed_ctx *cx, bool on) {
    struct engine *e = engine_of(cx);
    const bool was = e && e->training;
    if (e) e->training = on;
    return was;
}

void heed_set_step(heed_ctx *cx, uint64_t step) {
    struct engine *e = engine_of(cx);
    if (e) e->step = step;
}

uint64_t heed_step(const heed_ctx *cx) {
    const struct engine *e = cx ? cx->engine : NULL;
    return e ? e->step : 0;
}

/* ---- storage ---- */

struct storage *storage_new(heed_ctx *cx, size_t bytes) {
    struct engine *e = cx->engine;
    struct storage *s = slab_take(cx, &e->storages);
    if (!s) return NULL;
    s->data = arena_take(cx, bytes);
    s->refs = 1;
    if (s->data) return s;
    slab_give(&e->storages, s);
    return NULL;
}

void storage_unref(heed_ctx *cx, struct storage *s) {
    if (!s || --s->refs > 0) return;
    arena_give(cx, s->data);
    slab_give(&((struct engine *)cx->engine)->storages, s);
}

/* ---- headers ---- */

heed_tensor *tensor_make(heed_ctx *cx, heed_dtype dtype, int rank, const int64_t *shape) {
    struct engine *e = cx->engine;
    struct place *const p = slab_take(cx, &e->tensors);
    if (!p) return NULL;
    heed_tensor *const t = &p->header[e->generation];
    *t = (heed_tensor){.cx = cx, .dtype = dtype, .rank = rank, .count = 1, .refs = 1};
    for (int i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        t->count *= shape[i];
    }
    t->run = t->stride = t->count;
    return t;
}

bool tensor_allocate(heed_tensor *t) {
    t->storage = storage_new(t->cx, (size_t)t->count * heed_dtype_size(t->dtype));
    if (!t->storage) return false;
    t->data = t->storage->data;
    return true;
}

/* The maker's ref becomes the scope's. */
void tensor_enter_scope(heed_tensor *t) {
    struct engine *e = t->cx->engine;
    t->holds++;
    t->in_scope = true;
    t->next = e->scopes[e->depth - 1];
    e->scopes[e->depth - 1] = t;
}

void tensor_unhold(heed_tensor *t) {
    if (--t->holds > 0) return;
    storage_unref(t->cx, t->storage);
    t->storage = NULL;
    t->data = NULL;
}

void tensor_unref(heed_tensor *t) {
    if (!t || --t->refs > 0) return;
    storage_unref(t->cx, t->storage);
    storage_unref(t->cx, t->grad);
    struct engine *const e = t->cx->engine;
    slab_give(&e->tensors, (char *)(t - e->generation) - offsetof(struct place, header));
}

const char *tensor_gone(const heed_tensor *t) {
    return t->ended ? "its step has ended" : "its scope ended or backward has passed it";
}

void tensor_leave_scope(heed_tensor *t) {
    if (!t->in_scope) return;
    t->in_scope = false;
    tensor_unhold(t);
}

/* ---- scopes ---- */

void heed_scope_begin(heed_ctx *cx) {
    struct engine *e = engine_of(cx);
    if (!e) return;
    if (e->depth == e->cap_scopes) {
        void *grown = heed_mem_resize(cx, e->scopes, 2 * (size_t)e->cap_scopes * sizeof *e->scopes);
        if (!grown) return;
        e->scopes = grown;
        e->cap_scopes *= 2;
    }
    e->scopes[e->depth++] = NULL;
}

/* Empties a scope's list: what is to be kept goes into scope `to`, the rest is given back. */
static void sift(struct engine *e, heed_tensor *t, int to, heed_tensor *const *keep, int n) {
    while (t) {
        heed_tensor *next = t->next;
        bool kept = false;
        for (int i = 0; keep && i < n; i++) kept |= keep[i] == t;
        if (kept) {
            t->next = e->scopes[to];
            e->scopes[to] = t;
        } else {
            tensor_leave_scope(t);
            tensor_unref(t);
        }
        t = next;
    }
}

void heed_scope_end_many(heed_ctx *cx, heed_tensor *const *keep, int n) {
    struct engine *e = engine_of(cx);
    if (!e) return;
    if (e->depth == 1) {
        heed_fail(cx, HEED_ERR_USAGE, "scope_end: no scope is open");
        return;
    }
    e->depth--;
    sift(e, e->scopes[e->depth], e->depth - 1, keep, n);
}

heed_tensor *heed_scope_end(heed_ctx *cx, heed_tensor *keep) {
    heed_scope_end_many(cx, &keep, 1);
    return heed_failed(cx) ? NULL : keep;
}

void heed_scope_keep_many(heed_ctx *cx, heed_tensor *const *keep, int n) {
    struct engine *e = engine_of(cx);
    if (!e) return;
    heed_tensor *all = e->scopes[e->depth - 1];
    e->scopes[e->depth - 1] = NULL;
    sift(e, all, e->depth - 1, keep, n);
}

heed_tensor *heed_scope_keep(heed_ctx *cx, heed_tensor *keep) {
    heed_scope_keep_many(cx, &keep, 1);
    return heed_failed(cx) ? NULL : keep;
}
