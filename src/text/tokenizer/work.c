/* Pieces of a text and the tokens they become. */
#include "text/tokenizer/work.h"
#include "base/checked.h"
#include "text/tokenizer/tokenizer.h"

#include <string.h>

void work_free(struct work *w) {
    heed_ctx *cx = w->cx;
    struct aligned *const texts[] = {&w->now, &w->next, &w->section, &w->spare};
    for (int i = 0; i < 4; i++) aligned_free(cx, texts[i]);
    heed_string_free(cx, &w->word);
    heed_string_free(cx, &w->texts);
    void *const parts[] = {w->pieces.at, w->cut.at, w->matches, w->tokens.at, w->room, w->hits[0].at, w->hits[1].at};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
    *w = (struct work){0};
}

/* Room for one more; NULL when there is none. */
static void *grown(heed_ctx *cx, void *at, size_t *room, size_t size) {
    const size_t more = *room ? 2 * *room : 64;
    size_t bytes;
    void *larger = size_mul(more, size, &bytes) ? heed_mem_resize(cx, at, bytes) : NULL;
    if (larger) *room = more;
    return larger;
}

static bool push_piece(struct work *w, struct pieces *to, struct piece p) {
    if (to->count == to->room) {
        struct piece *larger = grown(w->cx, to->at, &to->room, sizeof *larger);
        if (!larger) return heed_fail(w->cx, HEED_ERR_MEMORY, "encode: too many pieces");
        to->at = larger;
    }
    to->at[to->count++] = p;
    return true;
}

bool work_cut(struct work *w, size_t start, size_t end) {
    return start >= end || push_piece(w, &w->cut, (struct piece){start, end - start, -1});
}

/* ---- text ---- */

struct origin work_origin(const struct work *w, size_t at) {
    if (!w->plain) return aligned_at(&w->now, at);
    size_t start = at, end = at + 1;
    while (start > 0 && (w->text[start] & 0xC0) == 0x80) start--;
    while (end < w->text_size && (w->text[end] & 0xC0) == 0x80) end++;
    return (struct origin){(uint32_t)start, (uint32_t)end};
}

bool work_copy(struct work *w, size_t start, size_t end) {
    if (!w->plain) return aligned_copy(w->cx, &w->next, &w->now, start, end);
    return aligned_put_plain(w->cx, &w->next, w->text + start, end - start, (uint32_t)start);
}

bool work_put(struct work *w, const char *text, size_t size, struct origin origin) {
    return aligned_put(w->cx, &w->next, text, size, origin);
}

bool work_pieces(struct work *w, const struct step *s, bool changes, piece_fn cut_piece, void *user) {
    w->cut.count = 0;
    w->next.text.size = 0;
    w->next.tracked = w->tracked;
    w->next.most = grown_most(w->original_size);
    for (size_t i = 0; i < w->pieces.count; i++) {
        const struct piece p = w->pieces.at[i];
        if (p.id < 0) {
            if (!cut_piece(w, s, &p, user)) return false;
            continue;
        }
        const size_t start = changes ? w->next.text.size : p.start;
        if (changes && !work_copy(w, p.start, p.start + p.size)) return false;
        if (!push_piece(w, &w->cut, (struct piece){start, p.size, p.id})) return false;
    }
    const struct pieces swap = w->pieces;
    w->pieces = w->cut;
    w->cut = swap;
    if (!changes) return true;
    const struct aligned now = w->now;
    w->now = w->next;
    w->next = now;
    if (!heed_string_put(w->cx, &w->now.text, "", 0)) return false;
    w->text = w->now.text.s;
    w->text_size = w->now.text.size;
    w->plain = false;
    return true;
}

/* ---- matches ---- */

void work_begin_matches(struct work *w) { w->match_count = 0; }

bool work_match(struct work *w, size_t start, size_t end, bool is) {
    if (w->match_count == w->match_room) {
        struct match *larger = grown(w->cx, w->matches, &w->match_room, sizeof *larger);
        if (!larger) return heed_fail(w->cx, HEED_ERR_MEMORY, "encode: too many pieces");
        w->matches = larger;
    }
    w->matches[w->match_count++] = (struct match){start, end, is};
    return true;
}

/* Neighbours are joined in place, from the left, or from the right where a match goes with what follows it. */
static size_t join(struct match *m, size_t n, enum behavior behavior) {
    size_t to = 0;
    bool before = false;
    if (behavior == MERGED_WITH_NEXT) {
        size_t first = n;
        for (size_t i = n; i-- > 0;) {
            const struct match one = m[i];
            if (one.is && !before && first < n)
                m[first].start = one.start;
            else
                m[--first] = one;
            before = one.is;
        }
        memmove(m, m + first, (n - first) * sizeof *m);
        return n - first;
    }
    for (size_t i = 0; i < n; i++) {
        const struct match one = m[i];
        const bool joins = behavior == CONTIGUOUS ? one.is == before : one.is && !before;
        if (joins && to > 0)
            m[to - 1].end = one.end;
        else
            m[to++] = one;
        before = one.is;
    }
    return to;
}

bool work_cut_matches(struct work *w, enum behavior behavior) {
    size_t n = w->match_count;
    if (behavior >= MERGED_WITH_PREVIOUS) n = join(w->matches, n, behavior);
    for (size_t i = 0; i < n; i++)
        if (!(behavior == REMOVED && w->matches[i].is) && !work_cut(w, w->matches[i].start, w->matches[i].end))
            return false;
    return true;
}

/* ---- tokens ---- */

heed_token *tokens_add(heed_ctx *cx, struct tokens *to) {
    if (to->count == to->room) {
        size_t room = (size_t)to->room;
        heed_token *larger = grown(cx, to->at, &room, sizeof *larger);
        if (!larger) return heed_fail(cx, HEED_ERR_MEMORY, "encode: too many tokens"), NULL;
        to->at = larger;
        to->room = (int64_t)room;
    }
    return &to->at[to->count++];
}

bool work_token(struct work *w, int32_t id, size_t start, size_t end, const char *text, size_t size) {
    heed_token *m = tokens_add(w->cx, &w->tokens);
    if (!m) return false;
    *m = (heed_token){.id = id, .type = w->type, .word = w->number};
    if (!w->wanted) return true;
    const size_t piece = w->piece, limit = w->piece_size;
    if (start == end || end > limit) { /* nothing of the text, or beyond it: as Python gives it */
        const uint32_t base = start == end ? work_origin(w, piece).start : 0;
        m->start = base + (uint32_t)start;
        m->end = base + (uint32_t)end;
    } else {
        m->start = work_origin(w, piece + start).start;
        m->end = work_origin(w, piece + end - 1).end;
    }
    if (!text) {
        const int64_t entry = w->t->entry[id];
        text = map_key(&w->t->vocabulary, entry);
        size = map_size(&w->t->vocabulary, entry);
    }
    m->text = (uint32_t)w->texts.size;
    m->size = (uint32_t)size;
    return heed_string_put(w->cx, &w->texts, text, size);
}

void *work_room(struct work *w, size_t size) {
    if (size <= w->room_size) return w->room;
    void *larger = heed_mem_resize(w->cx, w->room, 2 * size);
    if (!larger) return NULL;
    w->room = larger;
    w->room_size = 2 * size;
    return larger;
}
