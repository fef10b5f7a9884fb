/* Added tokens within text: from the left, at each place the longest one that begins there. The text is read from its
 * end, so that the automaton knows at each place the longest token that begins there; time is linear in the text
 * whatever the tokens are. */
#include "base/checked.h"
#include "text/tokenizer/tokenizer.h"

#include <string.h>

struct finder_node {
    uint32_t child, next;  /* the first child; the next of the same parent; 0: none */
    uint32_t fail, longer; /* the longest proper suffix; the nearest one that ends a token, itself included; 0: none */
    int32_t token;         /* index of the added token that ends here, -1: none */
    uint32_t depth;
    uint8_t byte;
};

void finder_free(heed_ctx *cx, struct finder *f) {
    heed_mem_free(cx, f->nodes);
    *f = (struct finder){0};
}

/* ---- building ---- */

static uint32_t child_of(const struct finder *f, uint32_t place, uint8_t byte) {
    if (place == 0) return f->top[byte];
    for (uint32_t c = f->nodes[place].child; c; c = f->nodes[c].next)
        if (f->nodes[c].byte == byte) return c;
    return 0;
}

static uint32_t add_node(heed_ctx *cx, struct finder *f, uint32_t parent, uint8_t byte) {
    if (f->count == f->room) {
        const uint32_t room = f->room ? 2 * f->room : 64;
        struct finder_node *larger =
            room > UINT32_MAX / 4 ? NULL : heed_mem_resize(cx, f->nodes, (size_t)room * sizeof *larger);
        if (!larger) return heed_fail(cx, HEED_ERR_MEMORY, "tokenizer: too many added tokens"), UINT32_MAX;
        f->nodes = larger;
        f->room = room;
    }
    const uint32_t made = f->count++;
    f->nodes[made] = (struct finder_node){.token = -1, .byte = byte};
    if (made == 0) return 0;
    f->nodes[made].depth = f->nodes[parent].depth + 1;
    f->nodes[made].next = f->nodes[parent].child;
    f->nodes[parent].child = made;
    if (parent == 0) f->top[byte] = made;
    return made;
}

static bool add_token(heed_ctx *cx, struct finder *f, const char *text, size_t size, int64_t token) {
    uint32_t at = 0;
    if (size == 0) return true; /* found nowhere */
    for (size_t i = size; i-- > 0;) {
        const uint8_t byte = (uint8_t)text[i];
        const uint32_t child = child_of(f, at, byte);
        at = child ? child : add_node(cx, f, at, byte);
        if (at == UINT32_MAX) return false;
    }
    f->begins[(uint8_t)text[0]] = true;
    if (f->nodes[at].token < 0) f->nodes[at].token = (int32_t)token;
    return true;
}

static uint32_t follow(const struct finder *f, uint32_t place, uint8_t byte) {
    for (;; place = f->nodes[place].fail) {
        const uint32_t child = child_of(f, place, byte);
        if (child || place == 0) return child;
    }
}

/* Suffixes, level by level: a place's lies nearer to the root. */
static bool link_suffixes(heed_ctx *cx, struct finder *f) {
    uint32_t *queue = heed_mem_new(cx, (size_t)f->count * sizeof *queue), from = 0, to = 0;
    if (!queue) return false;
    queue[to++] = 0;
    while (from < to) {
        const uint32_t place = queue[from++];
        for (uint32_t c = f->nodes[place].child; c; c = f->nodes[c].next) {
            f->nodes[c].fail = place == 0 ? 0 : follow(f, f->nodes[place].fail, f->nodes[c].byte);
            f->nodes[c].longer = f->nodes[c].token >= 0 ? c : f->nodes[f->nodes[c].fail].longer;
            queue[to++] = c;
        }
    }
    heed_mem_free(cx, queue);
    return true;
}

/* Added token i as it is looked for: as it is written, or run through the normalizers as the text will be. */
static bool add_text(heed_ctx *cx, heed_tokenizer *t, int64_t i, struct aligned work[2], struct finder *f) {
    const char *text = map_key(&t->added_text, i);
    const size_t size = map_size(&t->added_text, i);
    if (!t->added[i].normalized || t->normalizers.count == 0) return add_token(cx, f, text, size, i);
    work[0].text.size = 0;
    work[0].tracked = false;
    work[0].most = grown_most(size);
    if (!heed_string_put(cx, &work[0].text, text, size) || !normalize(cx, &t->normalizers, &work[0], &work[1]))
        return false;
    const heed_string *made = &work[0].text;
    if (made->size != size || memcmp(made->s, text, size) != 0) {
        const int64_t entry = map_add(cx, &t->normal_text, made->s, made->size);
        if (entry < 0) return false;
        t->normal_text.entries[entry].value = i;
    }
    return add_token(cx, f, made->s, made->size, i);
}

bool finder_make(heed_ctx *cx, heed_tokenizer *t, bool normalized, struct finder *f) {
    struct aligned work[2] = {{.base = 0}, {.base = 0}};
    bool ok = true, any = false;
    for (int64_t i = 0; i < t->added_text.count; i++) any = any || t->added[i].normalized == normalized;
    if (!any) return true;
    ok = add_node(cx, f, 0, 0) == 0;
    for (int64_t i = 0; ok && i < t->added_text.count; i++)
        if (t->added[i].normalized == normalized) ok = add_text(cx, t, i, work, f);
    aligned_free(cx, &work[0]);
    aligned_free(cx, &work[1]);
    return ok && link_suffixes(cx, f);
}

/* ---- looking ---- */

/* Whether a character of a word stands just before or after. */
static bool touches_word(const char *text, size_t size, size_t start, size_t end) {
    const char *s = text + end, *stop = text + size;
    if (end < size && is_word_character(utf8_next(&s, stop))) return true;
    if (start == 0) return false;
    size_t before = start - 1;
    while (before > 0 && (text[before] & 0xC0) == 0x80) before--;
    s = text + before;
    return is_word_character(utf8_next(&s, text + start));
}

static size_t spaces_before(const char *text, size_t end, size_t least) {
    while (end > least) {
        size_t start = end - 1;
        while (start > least && (text[start] & 0xC0) == 0x80) start--;
        const char *s = text + start;
        if (!unicode_is_space(utf8_next(&s, text + end))) break;
        end = start;
    }
    return end;
}

static size_t spaces_after(const char *text, size_t size, size_t start) {
    while (start < size) {
        const char *s = text + start;
        if (!unicode_is_space(utf8_next(&s, text + size))) break;
        start = (size_t)(s - text);
    }
    return start;
}

/* Place and node, from the end of the text to its beginning. */
static bool push_hit(heed_ctx *cx, struct hits *h, size_t at, uint32_t place) {
    if (h->count + 2 > h->room) {
        const size_t room = h->room ? 2 * h->room : 64;
        uint32_t *larger = heed_mem_resize(cx, h->at, room * sizeof *larger);
        if (!larger) return false;
        h->at = larger;
        h->room = room;
    }
    h->at[h->count++] = (uint32_t)at;
    h->at[h->count++] = place;
    return true;
}

static bool collect(heed_ctx *cx, struct hits *h, const struct finder *f, const char *text, size_t size) {
    uint32_t place = 0;
    h->count = 0;
    for (size_t i = size; i-- > 0;) {
        const uint8_t byte = (uint8_t)text[i];
        place = place == 0 ? f->top[byte] : follow(f, place, byte);
        if (place && f->nodes[place].longer && !push_hit(cx, h, i, f->nodes[place].longer)) return false;
    }
    return true;
}

bool finder_run(struct work *w, const struct finder *f, const char *text, size_t size, found_fn found) {
    struct hits *h = &w->hits[f == &w->t->normalized]; /* the one runs within the other */
    bool any = false;
    if (f->count > 0)
        for (size_t i = 0; i < size && !any; i++) any = f->begins[(uint8_t)text[i]];
    if (!any) return found(w, 0, size, -1);
    if (!collect(w->cx, h, f, text, size)) return false;
    size_t at = 0, taken = 0;
    while (h->count > 0) {
        const struct finder_node *place = &f->nodes[h->at[--h->count]];
        size_t start = h->at[--h->count];
        if (start < at) continue; /* within the one before */
        const struct added *a = &w->t->added[place->token];
        size_t end = at = start + place->depth;
        if (w->as_text && a->special) continue;
        if (a->word && touches_word(text, size, start, end)) continue;
        if (a->left) start = taken < start ? spaces_before(text, start, taken) : taken;
        if (a->right) end = spaces_after(text, size, end);
        if (end < start) end = start;
        if (taken < start && !found(w, taken, start, -1)) return false;
        if (!found(w, start, end, a->id)) return false;
        taken = end;
    }
    return taken >= size || found(w, taken, size, -1);
}
