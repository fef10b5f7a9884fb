/* The pre-tokenizers: text into the pieces that the model sees one by one.
 *
 * A step walks over each piece and hands on its spans, in order and without gaps, each a match of what the step looks
 * for or not; what becomes of matches is said once, in hand_on. Empty spans are nothing. */
#include "base/checked.h"
#include "text/tokenizer.h"

#include <utf8proc.h>

/* ---- pieces ---- */

static bool push(struct flow *f, size_t start, size_t size, bool first) {
    if (f->count[1] == f->room[1]) {
        const size_t room = f->room[1] ? 2 * f->room[1] : 32;
        size_t bytes;
        struct piece *larger =
            size_mul(room, sizeof *larger, &bytes) ? heed_mem_resize(f->cx, f->pieces[1], bytes) : NULL;
        if (!larger) return heed_fail(f->cx, HEED_ERR_MEMORY, "encode: too many pieces");
        f->pieces[1] = larger;
        f->room[1] = room;
    }
    f->pieces[1][f->count[1]++] = (struct piece){start, size, first};
    return true;
}

/* A span of `from`. The first of a piece has no earlier one to be joined to. */
static bool hand_on(struct flow *f, const struct piece *from, size_t start, size_t end, bool match) {
    if (start == end) return true;
    const bool opens = start == from->start, was = !opens && f->matched;
    f->matched = match;
    if (match && f->keep == KEEP_REMOVED) return true;
    if (!opens && ((f->keep == KEEP_WITH_PREVIOUS && match && !was) || (f->keep == KEEP_WITH_NEXT && !match && was) ||
                   (f->keep == KEEP_CONTIGUOUS && match == was))) {
        f->pieces[1][f->count[1] - 1].size += end - start;
        return true;
    }
    return push(f, start, end - start, opens && from->first);
}

/* What the step has made becomes what is. */
static void turn(struct flow *f) {
    struct piece *made = f->pieces[1];
    const size_t count = f->count[1], room = f->room[1];
    f->pieces[1] = f->pieces[0];
    f->room[1] = f->room[0];
    f->count[1] = 0;
    f->pieces[0] = made;
    f->room[0] = room;
    f->count[0] = count;
}

void flow_free(struct flow *f) {
    for (int i = 0; i < 2; i++) {
        heed_string_free(f->cx, &f->buffers[i]);
        heed_mem_free(f->cx, f->pieces[i]);
    }
    *f = (struct flow){.cx = f->cx};
}

/* ---- steps that only cut ---- */

/* Where `what` first lies within [s, end), or NULL. */
static const char *find(const char *s, const char *end, const char *what, size_t size) {
    for (; (s = memchr(s, *what, (size_t)(end - s))); s++)
        if ((size_t)(end - s) >= size && memcmp(s, what, size) == 0) return s;
    return NULL;
}

bool is_word_character(int32_t c) {
    if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    const utf8proc_category_t category = utf8proc_category(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) return true; /* L, M, Nd, Nl */
    return category == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
           (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

/* Each space is a match. */
static bool cut_spaces(struct flow *f, const struct piece *p) {
    const char *base = f->text, *end = base + p->start + p->size;
    size_t open = p->start;
    for (const char *s = base + p->start; s < end;) {
        const size_t at = (size_t)(s - base);
        if (!unicode_is_space(utf8_next(&s, end))) continue;
        if (!hand_on(f, p, open, at, false)) return false;
        open = (size_t)(s - base);
        if (!hand_on(f, p, at, open, true)) return false;
    }
    return hand_on(f, p, open, p->start + p->size, false);
}

/* Runs of \w and runs of what is neither that nor space are kept; runs of spaces match. */
static bool cut_words(struct flow *f, const struct piece *p) {
    const char *base = f->text, *end = base + p->start + p->size, *s = base + p->start;
    size_t open = p->start;
    int run = -1;
    while (s < end) {
        const size_t at = (size_t)(s - base);
        const int32_t c = utf8_next(&s, end);
        const int kind = is_word_character(c) ? 0 : unicode_is_space(c) ? 1 : 2;
        if (kind != run && !hand_on(f, p, open, at, run == 1)) return false;
        if (kind != run) open = at;
        run = kind;
    }
    return hand_on(f, p, open, p->start + p->size, run == 1);
}

static bool cut_literal(struct flow *f, const struct splitter *step, const struct piece *p) {
    const char *base = f->text, *end = base + p->start + p->size, *s = base + p->start, *open = s;
    const size_t size = step->literal_size;
    while ((s = find(s, end, step->literal, size))) {
        if (!hand_on(f, p, (size_t)(open - base), (size_t)(s - base), step->invert)) return false;
        open = s + size;
        if (!hand_on(f, p, (size_t)(s - base), (size_t)(open - base), !step->invert)) return false;
        s = open;
    }
    return hand_on(f, p, (size_t)(open - base), (size_t)(end - base), step->invert);
}

/* Each character is a match; runs of new lines are none, unless the step takes them too. */
static bool cut_characters(struct flow *f, const struct splitter *step, const struct piece *p) {
    const char *base = f->text, *end = base + p->start + p->size;
    for (const char *s = base + p->start; s < end;) {
        const char *start = s;
        const bool match = *s != '\n' || step->split;
        utf8_next(&s, end);
        while (!match && s < end && *s == '\n') s++;
        if (!hand_on(f, p, (size_t)(start - base), (size_t)(s - base), match != step->invert)) return false;
    }
    return true;
}

/* ---- metaspace ---- */

/* Spaces become marks, one may go before, and a piece begins at each. */
static bool put_marks(struct flow *f, const struct splitter *step, const struct piece *p, heed_string *to) {
    const char *s = f->text + p->start, *end = s + p->size;
    const size_t mark = strlen(step->mark), start = to->size;
    const bool marked = *s == ' ' || (p->size >= mark && memcmp(s, step->mark, mark) == 0);
    if (!marked && (step->prepend == PREPEND_ALWAYS || (step->prepend == PREPEND_FIRST && p->first)) &&
        !heed_string_put(f->cx, to, step->mark, mark))
        return false;
    while (s < end) {
        const char *space = memchr(s, ' ', (size_t)(end - s)), *stop = space ? space : end;
        if (!heed_string_put(f->cx, to, s, (size_t)(stop - s))) return false;
        if (space && !heed_string_put(f->cx, to, step->mark, mark)) return false;
        s = stop + (space != NULL);
    }
    if (!step->split) return push(f, start, to->size - start, p->first);
    size_t open = start;
    const char *stop = to->s + to->size;
    for (const char *m = to->s + start; (m = find(m, stop, step->mark, mark)); m += mark) {
        const size_t at = (size_t)(m - to->s);
        if (at > open && !push(f, open, at - open, open == start && p->first)) return false;
        open = at;
    }
    return open == to->size || push(f, open, to->size - open, open == start && p->first);
}

/* ---- bytes ---- GPT-2's splitter and its stand-ins for bytes */

/* Bytes that are visible characters of Latin-1 stand for themselves; the others are U+0100 and on, in order. */
static bool is_visible(int byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

int32_t byte_character(unsigned char byte) {
    if (is_visible(byte)) return byte;
    if (byte <= 0x20) return 0x100 + byte;
    return byte <= 0xA0 ? 0x121 + byte - 0x7F : 0x143; /* 7F to A0, then AD */
}

int character_byte(int32_t c) {
    if (c < 0x100) return is_visible(c) ? c : -1;
    if (c <= 0x120) return c - 0x100;
    return c <= 0x142 ? c - 0x121 + 0x7F : c == 0x143 ? 0xAD : -1;
}

enum { CLASS_SPACE, CLASS_LETTER, CLASS_NUMBER, CLASS_OTHER };

static int class_at(const char **s, const char *end) {
    const int32_t c = utf8_next(s, end);
    if (unicode_is_space(c)) return CLASS_SPACE;
    return unicode_is_letter(c) ? CLASS_LETTER : unicode_is_number(c) ? CLASS_NUMBER : CLASS_OTHER;
}

/* The end of the piece at s by
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * A run of spaces before a word leaves its last one to the word. */
static const char *gpt2_end(const char *s, const char *end) {
    static const char *const tails[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    for (size_t i = 0; *s == '\'' && i < sizeof tails / sizeof *tails; i++) {
        const size_t n = strlen(tails[i]);
        if ((size_t)(end - s) > n && memcmp(s + 1, tails[i], n) == 0) return s + 1 + n;
    }
    const char *at = s, *last = s;
    int kind = class_at(&at, end);
    if (*s == ' ' && at < end) {
        const char *next = at;
        const int following = class_at(&next, end);
        if (following != CLASS_SPACE) kind = following;
    }
    const bool spaces = kind == CLASS_SPACE;
    if (spaces) at = s;
    while (at < end) {
        const char *next = at;
        if (class_at(&next, end) != kind) break;
        last = at;
        at = next;
    }
    return spaces && at < end && last > s ? last : at;
}

static bool put_bytes(struct flow *f, const struct splitter *step, const struct piece *p, heed_string *to) {
    heed_string spaced = {0};
    const char *s = f->text + p->start, *end = s + p->size;
    bool ok = true;
    if (step->prefix_space && *s != ' ') {
        ok = heed_string_put(f->cx, &spaced, " ", 1) && heed_string_put(f->cx, &spaced, s, p->size);
        s = spaced.s;
        end = s + spaced.size;
    }
    bool first = p->first;
    while (ok && s < end) {
        const char *stop = step->split ? gpt2_end(s, end) : end;
        const size_t start = to->size;
        for (; ok && s < stop; s++) {
            char out[4];
            const int n = utf8_put(out, byte_character((unsigned char)*s));
            ok = heed_string_put(f->cx, to, out, (size_t)n);
        }
        ok = ok && push(f, start, to->size - start, first);
        first = false;
    }
    heed_string_free(f->cx, &spaced);
    return ok;
}

/* ---- all steps ---- */

static bool take_step(struct flow *f, const struct splitter *step, heed_string *to) {
    f->keep = step->kind == SPLIT_LITERAL || step->kind == SPLIT_CHARS ? step->keep : KEEP_REMOVED;
    bool ok = true;
    for (size_t i = 0; ok && i < f->count[0]; i++) {
        const struct piece *p = &f->pieces[0][i];
        switch (step->kind) {
        case SPLIT_METASPACE:
            ok = put_marks(f, step, p, to);
            break;
        case SPLIT_SPACES:
            ok = cut_spaces(f, p);
            break;
        case SPLIT_WORDS:
            ok = cut_words(f, p);
            break;
        case SPLIT_LITERAL:
            ok = cut_literal(f, step, p);
            break;
        case SPLIT_CHARS:
            ok = cut_characters(f, step, p);
            break;
        case SPLIT_BYTES:
            ok = put_bytes(f, step, p, to);
            break;
        }
    }
    return ok;
}

bool split_text(struct flow *f, const struct splitter *steps, int n, const char *text, size_t size, bool first) {
    int buffer = 0;
    f->text = text;
    f->count[0] = f->count[1] = 0;
    if (size > 0 && !push(f, 0, size, first)) return false;
    turn(f);
    for (int i = 0; i < n; i++) {
        heed_string *to = &f->buffers[buffer];
        to->size = 0;
        if (!take_step(f, &steps[i], to)) return false;
        turn(f);
        if (steps[i].kind != SPLIT_METASPACE && steps[i].kind != SPLIT_BYTES) continue;
        f->text = to->s;
        buffer = 1 - buffer;
    }
    return true;
}
