/* heed's own file of an n-gram model: the arrays of classical/ngram/ngram.h as they are in memory, so that it is mapped
 * and used at once. Numbers are little-endian. In this order, without gaps:
 *
 *     "heedngr1"; order, slots (32 bits); bytes of the names (64); n-grams of each order (64)
 *     name_start, node, leaf, word, slot, names
 *
 * Opening it checks that these sizes make up the file and that its numbers are some; what else could be wrong is
 * checked where it is used. Its table of words has no secret: where somebody chose words that collide, another takes
 * its place. */
#include "base/checked.h"
#include "classical/ngram/ngram.h"
#include "io/array.h"
#include <math.h>
#include <string.h>

#define NODES_AT_ONCE 65536 /* between two looks at whether it was cancelled */
#define CROWD         1024  /* slots; among words that nobody chose, a hundred are many */

struct header {
    char magic[8];
    uint32_t order, slots;
    uint64_t names_size;
};

/* The arrays of a model, one behind the other. */
struct section {
    const void **at;
    size_t count, size;
};
enum { SECTIONS = 6 };
static void sections(heed_ngram *m, struct section s[SECTIONS]) {
    const size_t inner = m->base[m->order - 1], nodes = m->base[m->order];
    s[0] = (struct section){(const void **)&m->name_start, (size_t)m->base[1] + 1, sizeof *m->name_start};
    s[1] = (struct section){(const void **)&m->node, inner + 1, sizeof *m->node};
    s[2] = (struct section){(const void **)&m->leaf, nodes - inner, sizeof *m->leaf};
    s[3] = (struct section){(const void **)&m->word, nodes, sizeof *m->word};
    s[4] = (struct section){(const void **)&m->slot, m->slots, sizeof *m->slot};
    s[5] = (struct section){(const void **)&m->names, m->names_size, 1};
}

/* The first free slot from i on. What was passed on the way leads there at once the next time, so that words that
 * collide cost no more than others. */
static uint32_t free_slot(uint32_t *next, uint32_t i) {
    while (next[i] != i) i = next[i] = next[next[i]];
    return i;
}

/* The table of words as files have it, in the order of the words. */
static uint32_t *file_table(heed_ctx *cx, const heed_ngram *m, uint32_t slots) {
    uint32_t *const slot = heed_mem_new(cx, slots * sizeof *slot), *const next = heed_mem_new(cx, slots * sizeof *next);
    if (slot && next) {
        memset(slot, 0xFF, slots * sizeof *slot);
        for (uint32_t i = 0; i < slots; i++) next[i] = i;
        for (uint32_t i = 0; i < m->base[1]; i++) {
            size_t size;
            const char *const name = ngram_word(m, i, &size);
            if (!name) continue;
            const uint32_t at = free_slot(next, (uint32_t)ngram_hash(name, size) & (slots - 1));
            slot[at] = i;
            next[at] = (at + 1) & (slots - 1);
        }
    }
    heed_mem_free(cx, next);
    return slot;
}

bool heed_ngram_save(heed_ctx *cx, const heed_ngram *m, const char *path) {
    if (heed_failed(cx)) return false;
    if (!m) return heed_fail(cx, HEED_ERR_USAGE, "ngram_save: the model is NULL");
    heed_ngram copy = *m;
    struct section s[SECTIONS];
    copy.slots = m->secret ? ngram_slots(m->base[1]) : m->slots;
    uint32_t *const table = m->secret ? file_table(cx, m, copy.slots) : NULL;
    if (table) copy.slot = table;
    struct header h = {.order = (uint32_t)m->order, .slots = copy.slots, .names_size = m->names_size};
    struct file_writer *w = heed_failed(cx) ? NULL : file_write_open(cx, path);
    if (!w) return heed_mem_free(cx, table), false;
    memcpy(h.magic, NGRAM_MAGIC, sizeof h.magic);
    file_write(w, &h, sizeof h);
    for (int k = 1; k <= m->order; k++) {
        const uint64_t count = m->base[k] - m->base[k - 1];
        file_write(w, &count, sizeof count);
    }
    sections(&copy, s);
    for (int i = 0; i < SECTIONS; i++) file_write(w, *s[i].at, s[i].count * s[i].size);
    heed_mem_free(cx, table);
    return file_write_commit(w);
}

static bool bad(heed_ctx *cx, const char *path, const char *why) {
    return heed_fail(cx, HEED_ERR_FORMAT, "%s: not a sound n-gram file: %s", path, why);
}

/* The header, and the number of n-grams of each order. */
static bool read_header(heed_ctx *cx, const char *path, heed_ngram *m, size_t *at) {
    struct header h;
    uint64_t nodes = 0;
    if (m->map.size < sizeof h) return bad(cx, path, "it ends within its header");
    memcpy(&h, m->map.data, sizeof h);
    if (h.order < 1 || h.order > HEED_NGRAM_MAX_ORDER) return bad(cx, path, "its order is impossible");
    if (m->map.size < sizeof h + h.order * sizeof(uint64_t)) return bad(cx, path, "it ends within its header");
    if (h.slots == 0 || (h.slots & (h.slots - 1)) != 0) return bad(cx, path, "its table of words is no power of two");
    m->order = (int)h.order;
    m->slots = h.slots;
    m->names_size = h.names_size;
    m->base = heed_mem_new(cx, (h.order + 1) * sizeof *m->base);
    if (!m->base) return false;
    m->base[0] = 0;
    for (uint32_t k = 0; k < h.order; k++) {
        uint64_t count;
        memcpy(&count, m->map.data + sizeof h + k * sizeof count, sizeof count);
        if (count >= NGRAM_ROOT || (nodes += count) >= NGRAM_ROOT) return bad(cx, path, "it has too many n-grams");
        m->base[k + 1] = (uint32_t)nodes;
    }
    if (m->base[1] <= HEED_NGRAM_END) return bad(cx, path, "it lacks <unk>, <s> or </s>");
    *at = sizeof h + h.order * sizeof(uint64_t);
    return true;
}

/* Logarithms of probabilities and weights: minus infinity is one of 0. */
static bool check_numbers(heed_ctx *cx, const char *path, const heed_ngram *m) {
    const uint32_t inner = m->base[m->order - 1], leaves = m->base[m->order] - inner;
    bool sound = true;
    for (uint32_t i = 0; sound && i < inner && !(i % NODES_AT_ONCE == 0 && heed_cancelled(cx)); i++)
        sound = m->node[i].prob < INFINITY && m->node[i].backoff < INFINITY;
    for (uint32_t i = 0; sound && i < leaves && !(i % NODES_AT_ONCE == 0 && heed_cancelled(cx)); i++)
        sound = m->leaf[i].prob < INFINITY;
    return (sound || bad(cx, path, "one of its probabilities or back-off weights is not a number")) && !heed_failed(cx);
}

/* Whether many words follow each other in the table: half of it is free, so that they collide. */
static bool is_crowded(const heed_ngram *m) {
    uint32_t run = 0;
    for (uint32_t i = 0; i < m->slots && run < CROWD; i++) run = m->slot[i] == NGRAM_ROOT ? 0 : run + 1;
    return run == CROWD;
}

heed_ngram *ngram_file_open(heed_ctx *cx, const char *path) {
    heed_ngram *m = heed_mem_new(cx, sizeof *m);
    struct section s[SECTIONS];
    size_t at = 0;
    if (!m) return NULL;
    *m = (heed_ngram){0};
    bool ok = file_map_open(cx, path, &m->map) && read_header(cx, path, m, &at);
    if (ok) sections(m, s);
    for (int i = 0; ok && i < SECTIONS; i++) {
        size_t bytes, end;
        if (!size_mul(s[i].count, s[i].size, &bytes) || !size_add(at, bytes, &end) || end > m->map.size) {
            ok = bad(cx, path, "it is cut short");
            break;
        }
        *s[i].at = m->map.data + at;
        at = end;
    }
    if (ok && at != m->map.size) ok = bad(cx, path, "more bytes follow than it says");
    if (ok && (m->names_size == 0 || m->names[m->names_size - 1] != 0)) ok = bad(cx, path, "its last word has no end");
    ok = ok && check_numbers(cx, path, m) && (!is_crowded(m) || ngram_index(cx, m));
    if (ok) return m;
    heed_ngram_free(cx, m);
    return NULL;
}

heed_ngram *heed_ngram_open(heed_ctx *cx, const char *path) {
    struct file_map map = {0};
    size_t size;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "ngram_open: the path is NULL"), NULL;
    if (strcmp(path, "-") != 0) {
        if (!file_map_open(cx, path, &map)) return NULL;
        const bool own = map.size >= 8 && memcmp(map.data, NGRAM_MAGIC, 8) == 0;
        file_map_close(&map);
        if (own) return ngram_file_open(cx, path);
    }
    char *text = (char *)file_read(cx, path, IO_READ_LIMIT, &size);
    heed_ngram *m = text ? ngram_arpa_read(cx, path, text, size) : NULL;
    heed_mem_free(cx, text);
    return m;
}
