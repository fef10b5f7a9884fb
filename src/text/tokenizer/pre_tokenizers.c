/* The pre-tokenizers: text into the pieces that the model sees one by one. */
#include "text/tokenizer/tokenizer.h"
#include "text/unicode/unicode_tables.h"

#include <string.h>
#include <utf8proc.h>

/* ---- characters that split ---- */

typedef bool (*is_fn)(const struct step *s, int32_t c);
struct cutter {
    is_fn is;
    enum behavior behavior;
};

static bool cut_at_characters(struct work *w, const struct step *step, const struct piece *p, void *user) {
    const struct cutter *cut = user;
    const char *text = w->text, *end = text + p->start + p->size;
    size_t open = p->start;
    work_begin_matches(w);
    for (const char *s = text + p->start; s < end;) {
        const size_t at = (size_t)(s - text);
        const int32_t c = utf8_next(&s, end);
        if (!cut->is(step, c)) continue;
        if (open < at && !work_match(w, open, at, false)) return false;
        open = (size_t)(s - text);
        if (!work_match(w, at, open, true)) return false;
    }
    if (open < p->start + p->size && !work_match(w, open, p->start + p->size, false)) return false;
    return work_cut_matches(w, cut->behavior);
}

static bool at_characters(struct work *w, const struct step *s, is_fn is, enum behavior behavior) {
    return work_pieces(w, s, false, cut_at_characters, &(struct cutter){is, behavior});
}

static bool is_space(const struct step *s, int32_t c) { return (void)s, unicode_is_space(c); }
static bool is_punctuation(const struct step *s, int32_t c) {
    (void)s;
    if (c < 0x80) return c > ' ' && c < 0x7F && !(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z');
    return peer_is_punctuation(c);
}
static bool is_numeric(const struct step *s, int32_t c) { return (void)s, unicode_is_number(c); }
static bool is_delimiter(const struct step *s, int32_t c) { return c == s->character; }

static bool whitespace_split(struct work *w, const struct step *s) { return at_characters(w, s, is_space, REMOVED); }

/* White space is dropped and each punctuation character a piece, in one pass. */
static bool cut_bert(struct work *w, const struct step *step, const struct piece *p, void *user) {
    (void)user;
    const char *text = w->text, *end = text + p->start + p->size;
    size_t open = p->start;
    for (const char *s = text + p->start; s < end;) {
        const size_t at = (size_t)(s - text);
        const unsigned char byte = (unsigned char)*s;
        if ((byte | 32) >= 'a' && (byte | 32) <= 'z') {
            s++;
            continue;
        }
        const int32_t c = utf8_next(&s, end);
        const bool space = unicode_is_space(c);
        if (!space && !is_punctuation(step, c)) continue;
        if (!work_cut(w, open, at)) return false;
        open = (size_t)(s - text);
        if (!space && !work_cut(w, at, open)) return false;
    }
    return work_cut(w, open, p->start + p->size);
}

static bool bert(struct work *w, const struct step *s) { return work_pieces(w, s, false, cut_bert, NULL); }

static bool read_punctuation(const struct tree *t, node at, struct step *s) {
    s->behavior = ISOLATED;
    return !tree_find(t, at, "behavior") || read_behavior(t, at, "behavior", s);
}
static bool punctuation(struct work *w, const struct step *s) {
    return at_characters(w, s, is_punctuation, s->behavior);
}

static bool read_digits(const struct tree *t, node at, struct step *s) {
    s->behavior = tree_bool(t, at, "individual_digits", false) ? ISOLATED : CONTIGUOUS;
    return !heed_failed(t->cx);
}
static bool digits(struct work *w, const struct step *s) { return at_characters(w, s, is_numeric, s->behavior); }

static bool read_delimiter(const struct tree *t, node at, struct step *s) {
    return read_character(t, at, "delimiter", &s->character);
}
static bool delimiter(struct work *w, const struct step *s) { return at_characters(w, s, is_delimiter, REMOVED); }

/* ---- words ---- */

bool is_word_character(int32_t c) {
    if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    const utf8proc_category_t category = utf8proc_category(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) return true; /* L, M, Nd, Nl */
    return category == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
           (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

/* Runs of \w and runs of what is neither that nor space. */
static bool cut_words(struct work *w, const struct step *step, const struct piece *p, void *user) {
    (void)step, (void)user;
    const char *text = w->text, *end = text + p->start + p->size;
    size_t open = p->start;
    int run = -1;
    for (const char *s = text + p->start; s < end;) {
        const size_t at = (size_t)(s - text);
        const int32_t c = utf8_next(&s, end);
        const int kind = is_word_character(c) ? 0 : unicode_is_space(c) ? 1 : 2;
        if (kind == run) continue;
        if (run != 1 && !work_cut(w, open, at)) return false;
        open = at;
        run = kind;
    }
    return run == 1 || work_cut(w, open, p->start + p->size);
}

static bool whitespace(struct work *w, const struct step *s) { return work_pieces(w, s, false, cut_words, NULL); }

/* ---- patterns ---- */

static bool read_split(const struct tree *t, node at, struct step *s) {
    s->invert = tree_bool(t, at, "invert", false);
    return !heed_failed(t->cx) && read_pattern(t, at, s) && read_behavior(t, at, "behavior", s);
}

static bool cut_pattern(struct work *w, const struct step *s, const struct piece *p, void *user) {
    struct matcher *m = user;
    size_t start, end, open = 0;
    work_begin_matches(w);
    matcher_again(m, w->text + p->start, p->size);
    while (matcher_next(m, &start, &end)) {
        if (open < start && !work_match(w, p->start + open, p->start + start, s->invert)) return false;
        if (!work_match(w, p->start + start, p->start + end, !s->invert)) return false;
        open = end;
    }
    if (heed_failed(w->cx)) return false;
    if (open < p->size && !work_match(w, p->start + open, p->start + p->size, s->invert)) return false;
    return work_cut_matches(w, s->behavior);
}

static bool split(struct work *w, const struct step *s) {
    struct matcher m;
    const bool ok = matcher_begin(&m, w->cx, s->regex, "", 0) && work_pieces(w, s, false, cut_pattern, &m);
    matcher_end(&m);
    return ok;
}

/* ---- metaspace ---- */

static bool starts_with(const struct work *w, const struct piece *p, const heed_string *text) {
    return p->size >= text->size && memcmp(w->text + p->start, text->s, text->size) == 0;
}

static bool is_first(const struct work *w, const struct piece *p) {
    return work_origin(w, p->start).start == 0; /* such a tokenizer keeps origins always */
}

/* Spaces become marks, one may go before, and a piece begins at each. */
static bool cut_metaspace(struct work *w, const struct step *s, const struct piece *p, void *user) {
    (void)user;
    const size_t begin = w->next.text.size, mark = s->text.size, stop = p->start + p->size;
    const bool marked = w->text[p->start] == ' ' || starts_with(w, p, &s->text);
    if (!marked && (s->prepend == PREPEND_ALWAYS || (s->prepend == PREPEND_FIRST && is_first(w, p))) &&
        !work_put(w, s->text.s, mark, work_origin(w, p->start)))
        return false;
    for (size_t at = p->start; at < stop;) {
        const char *space = memchr(w->text + at, ' ', stop - at);
        const size_t end = space ? (size_t)(space - w->text) : stop;
        if (!work_copy(w, at, end)) return false;
        if (space && !work_put(w, s->text.s, mark, work_origin(w, end))) return false;
        at = end + (space != NULL);
    }
    const char *text = w->next.text.s;
    const size_t size = w->next.text.size;
    if (!s->split) return work_cut(w, begin, size);
    size_t open = begin;
    for (const char *m = text + begin, *end = text + size; m && m < end;) {
        m = memchr(m, s->text.s[0], (size_t)(end - m));
        if (!m || (size_t)(end - m) < mark) break;
        if (memcmp(m, s->text.s, mark) != 0) {
            m++;
            continue;
        }
        if (!work_cut(w, open, (size_t)(m - text))) return false;
        open = (size_t)(m - text);
        m += mark;
    }
    return work_cut(w, open, size);
}

static bool metaspace(struct work *w, const struct step *s) { return work_pieces(w, s, true, cut_metaspace, NULL); }

/* ---- bytes ---- GPT-2's stand-ins */

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

static bool read_byte_level(const struct tree *t, node at, struct step *s) {
    s->prefix_space = tree_bool(t, at, "add_prefix_space", true);
    s->split = tree_bool(t, at, "use_regex", true);
    return !heed_failed(t->cx) && (s->regex = regex_gpt2(t->cx));
}

/* One piece: the stand-ins of bytes start to end of `text`, which begins `shift` bytes before the piece. */
static bool put_bytes(struct work *w, const char *text, size_t start, size_t end, size_t piece, size_t shift) {
    const size_t begin = w->next.text.size;
    char out[512];
    if (w->tracked) {
        for (size_t i = start; i < end; i++) {
            const size_t n = (size_t)utf8_put(out, byte_character((unsigned char)text[i]));
            if (!work_put(w, out, n, work_origin(w, piece + (i < shift ? 0 : i - shift)))) return false;
        }
        return work_cut(w, begin, w->next.text.size);
    }
    for (size_t i = start; i < end;) {
        size_t n = 0;
        for (; i < end && n < sizeof out - 2; i++) {
            const unsigned char byte = (unsigned char)text[i];
            if (byte > ' ' && byte < 0x7F)
                out[n++] = (char)byte;
            else
                n += (size_t)utf8_put(out + n, byte_character(byte));
        }
        if (!work_put(w, out, n, (struct origin){0, 0})) return false;
    }
    return work_cut(w, begin, w->next.text.size);
}

static bool cut_bytes(struct work *w, const struct step *s, const struct piece *p, void *user) {
    struct matcher *m = user;
    const char *text = w->text + p->start;
    size_t size = p->size, shift = 0, start, end;
    if ((s->prefix_space || w->prefix_space) && *text != ' ') {
        w->word.size = 0;
        if (!heed_string_put(w->cx, &w->word, " ", 1) || !heed_string_put(w->cx, &w->word, text, size)) return false;
        text = w->word.s;
        size = w->word.size;
        shift = 1;
    }
    if (!s->split) return put_bytes(w, text, 0, size, p->start, shift);
    matcher_again(m, text, size);
    while (matcher_next(m, &start, &end))
        if (!put_bytes(w, text, start, end, p->start, shift)) return false;
    return true;
}

static bool byte_level(struct work *w, const struct step *s) {
    struct matcher m;
    return matcher_begin(&m, w->cx, s->regex, "", 0) && work_pieces(w, s, true, cut_bytes, &m);
}

/* ---- others ---- */

/* A piece for each run of one script. Characters of no script before the first run are dropped. */
static bool cut_scripts(struct work *w, const struct step *step, const struct piece *p, void *user) {
    (void)step, (void)user;
    const char *text = w->text, *end = text + p->start + p->size;
    size_t open = 0;
    int script = -1;
    for (const char *s = text + p->start; s < end;) {
        const size_t at = (size_t)(s - text);
        const int32_t c = utf8_next(&s, end);
        const int one = c == ' ' ? 0 : peer_script(c);
        if (one == 0 || one == script) continue;
        if (script >= 0 && !work_cut(w, open, at)) return false;
        open = at;
        script = one;
    }
    return script < 0 || work_cut(w, open, p->start + p->size);
}

static bool unicode_scripts(struct work *w, const struct step *s) {
    return work_pieces(w, s, false, cut_scripts, NULL);
}

static bool read_fixed(const struct tree *t, node at, struct step *s) {
    s->length = tree_int(t, at, "length", 5);
    return !heed_failed(t->cx) && (s->length > 0 || tree_fail(t, at, "length", "must be positive"));
}

static bool cut_fixed(struct work *w, const struct step *step, const struct piece *p, void *user) {
    (void)user;
    const char *text = w->text, *end = text + p->start + p->size;
    size_t open = p->start;
    int64_t n = 0;
    for (const char *s = text + p->start; s < end;) {
        utf8_next(&s, end);
        if (++n < step->length && s < end) continue;
        if (!work_cut(w, open, (size_t)(s - text))) return false;
        open = (size_t)(s - text);
        n = 0;
    }
    return true;
}

static bool fixed_length(struct work *w, const struct step *s) { return work_pieces(w, s, false, cut_fixed, NULL); }

const struct step_kind pre_tokenizer_kinds[] = {
    {"BertPreTokenizer", .split = bert},
    {"ByteLevel", .read = read_byte_level, .split = byte_level},
    {"Metaspace", .read = read_metaspace, .split = metaspace},
    {"Split", .read = read_split, .split = split},
    {"Punctuation", .read = read_punctuation, .split = punctuation},
    {"Digits", .read = read_digits, .split = digits},
    {"Whitespace", .split = whitespace},
    {"WhitespaceSplit", .split = whitespace_split},
    {"CharDelimiterSplit", .read = read_delimiter, .split = delimiter},
    {"UnicodeScripts", .split = unicode_scripts},
    {"FixedLength", .read = read_fixed, .split = fixed_length},
    {.name = NULL},
};
