/* The decoders: the texts of tokens become text. */
#include "base/checked.h"
#include "io/text.h"
#include "text/tokenizer/tokenizer.h"

#include <string.h>

/* Text `i` of a list. */
struct slice {
    const char *s;
    size_t size;
};
static struct slice slice_of(const struct texts *t, int64_t i) {
    const size_t start = texts_start(t, i);
    return (struct slice){t->all.s ? t->all.s + start : "", t->end[i] - start};
}

/* ---- replacing ---- */

/* Puts text with every `what`, from left to right, replaced. */
static bool put_replaced(heed_ctx *cx, struct slice in, const char *what, size_t size, const char *with,
                         heed_string *to) {
    if (in.size == 0) return true;
    const char *end = in.s + in.size, *kept = in.s;
    for (const char *s = in.s; size > 0 && (size_t)(end - s) >= size;) {
        s = memchr(s, *what, (size_t)(end - s) - size + 1);
        if (!s) break;
        if (memcmp(s, what, size) != 0) {
            s++;
            continue;
        }
        if (!heed_string_put(cx, to, kept, (size_t)(s - kept)) || !heed_string_put(cx, to, with, strlen(with)))
            return false;
        kept = s += size;
    }
    return heed_string_put(cx, to, kept, (size_t)(end - kept));
}

static bool read_replace(const struct tree *t, node at, struct step *s) {
    return read_pattern(t, at, s) && read_string(t, at, "content", &s->content);
}

static bool replace(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to) {
    struct matcher m;
    bool ok = matcher_begin(&m, cx, s->regex, "", 0);
    for (int64_t i = 0; ok && i < from->count; i++) {
        const struct slice in = slice_of(from, i);
        size_t start, end, kept = 0;
        matcher_again(&m, in.s, in.size);
        while (ok && matcher_next(&m, &start, &end)) {
            ok = texts_append(cx, to, in.s + kept, start - kept) && texts_append(cx, to, s->content.s, s->content.size);
            kept = end;
        }
        ok = ok && !heed_failed(cx) && texts_put(cx, to, in.s + kept, in.size - kept);
    }
    matcher_end(&m);
    return ok;
}

static bool metaspace(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to) {
    for (int64_t i = 0; i < from->count; i++) {
        const char *with = i == 0 && s->prepend != PREPEND_NEVER ? "" : " ";
        if (!put_replaced(cx, slice_of(from, i), s->text.s, s->text.size, with, &to->all) || !texts_end(cx, to))
            return false;
    }
    return true;
}

static bool read_bpe(const struct tree *t, node at, struct step *s) {
    if (!tree_find(t, at, "suffix")) return heed_string_put(t->cx, &s->text, "</w>", 4);
    return read_string(t, at, "suffix", &s->text) && (s->text.size > 0 || tree_fail(t, at, "suffix", "is empty"));
}

static bool bpe(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to) {
    for (int64_t i = 0; i < from->count; i++) {
        const char *with = i == from->count - 1 ? "" : " ";
        if (!put_replaced(cx, slice_of(from, i), s->text.s, s->text.size, with, &to->all) || !texts_end(cx, to))
            return false;
    }
    return true;
}

/* ---- word pieces ---- */

/* Spaces before punctuation and English contractions, each replaced in turn. */
static bool clean_up(heed_ctx *cx, heed_string *text, size_t from) {
    static const char *const pairs[][2] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    heed_string other = {0};
    bool ok = true;
    if (text->size == from || !memchr(text->s + from, ' ', text->size - from)) return true;
    for (size_t i = 0; ok && i < sizeof pairs / sizeof *pairs; i++) {
        other.size = 0;
        const struct slice in = {text->s + from, text->size - from};
        ok = put_replaced(cx, in, pairs[i][0], strlen(pairs[i][0]), pairs[i][1], &other);
        text->size = from;
        ok = ok && heed_string_put(cx, text, other.s, other.size);
    }
    heed_string_free(cx, &other);
    return ok;
}

static bool read_word_piece(const struct tree *t, node at, struct step *s) {
    s->clean = tree_bool(t, at, "cleanup", true);
    if (heed_failed(t->cx)) return false;
    if (!tree_find(t, at, "prefix")) return heed_string_put(t->cx, &s->text, "##", 2);
    return read_string(t, at, "prefix", &s->text);
}

static bool word_piece(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to) {
    for (int64_t i = 0; i < from->count; i++) {
        struct slice in = slice_of(from, i);
        const size_t start = to->all.size;
        const bool inner = i > 0 && in.size >= s->text.size && memcmp(in.s, s->text.s, s->text.size) == 0;
        if (i > 0 && !inner && !heed_string_put(cx, &to->all, " ", 1)) return false;
        if (inner) in = (struct slice){in.s + s->text.size, in.size - s->text.size};
        if (!heed_string_put(cx, &to->all, in.s, in.size)) return false;
        if ((s->clean && !clean_up(cx, &to->all, start)) || !texts_end(cx, to)) return false;
    }
    return true;
}

static bool read_ctc(const struct tree *t, node at, struct step *s) {
    s->clean = tree_bool(t, at, "cleanup", true);
    return !heed_failed(t->cx) && read_string(t, at, "pad_token", &s->text) &&
           read_string(t, at, "word_delimiter_token", &s->content);
}

/* Neighbours that are equal count once; the padding token is nothing. */
static bool ctc(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to) {
    heed_string work = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < from->count; i++) {
        const struct slice in = slice_of(from, i), before = slice_of(from, i > 0 ? i - 1 : 0);
        if (i > 0 && in.size == before.size && memcmp(in.s, before.s, in.size) == 0) continue;
        work.size = 0;
        const size_t start = to->all.size;
        ok = put_replaced(cx, in, s->text.s, s->text.size, "", &work) && (!s->clean || clean_up(cx, &work, 0));
        const struct slice now = {work.s, work.size};
        ok = ok && (s->clean ? put_replaced(cx, now, s->content.s, s->content.size, " ", &to->all)
                             : heed_string_put(cx, &to->all, now.s, now.size));
        if (ok && to->all.size > start) ok = texts_end(cx, to);
    }
    heed_string_free(cx, &work);
    return ok;
}

/* ---- bytes ---- */

/* How many bytes at s, which begin no character, were meant as one: as many as could still have become one. */
static size_t broken_length(const char *s, size_t n) {
    const unsigned char lead = (unsigned char)s[0];
    const size_t whole = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    for (size_t have = n < whole ? n : whole - 1; have > 1; have--) {
        char trial[4];
        memcpy(trial, s, have);
        memset(trial + have, 0x80, whole - have); /* which follow any good second byte */
        if (utf8_bad(trial, whole) == whole) return have;
    }
    return 1;
}

/* As Rust's from_utf8_lossy: what is not UTF-8 becomes U+FFFD. */
static bool put_lossy(heed_ctx *cx, const heed_string *bytes, heed_string *to) {
    for (size_t at = 0; at < bytes->size;) {
        const size_t left = bytes->size - at, good = utf8_bad(bytes->s + at, left);
        if (!heed_string_put(cx, to, bytes->s + at, good)) return false;
        at += good;
        if (good == left) break;
        if (!heed_string_put(cx, to, "\xEF\xBF\xBD", 3)) return false;
        at += broken_length(bytes->s + at, bytes->size - at);
    }
    return true;
}

/* The bytes that a token's characters stand for; the token as it is when one of them stands for none. */
static bool put_token_bytes(heed_ctx *cx, struct slice in, heed_string *to) {
    const char *end = in.s + in.size;
    const size_t start = to->size;
    for (const char *s = in.s; s < end;) {
        const int byte = character_byte(utf8_next(&s, end));
        if (byte < 0) {
            to->size = start;
            return heed_string_put(cx, to, in.s, in.size);
        }
        if (!heed_string_put(cx, to, &(char){(char)byte}, 1)) return false;
    }
    return true;
}

static bool byte_level(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to) {
    (void)s;
    heed_string bytes = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < from->count; i++) ok = put_token_bytes(cx, slice_of(from, i), &bytes);
    ok = ok && put_lossy(cx, &bytes, &to->all) && texts_end(cx, to);
    heed_string_free(cx, &bytes);
    return ok;
}

/* "<0x41>": the byte, or -1. */
static int token_byte(struct slice in) {
    int byte = 0;
    if (in.size != 6 || memcmp(in.s, "<0x", 3) != 0 || in.s[5] != '>') return -1;
    for (int i = 3; i < 5; i++) {
        const char c = in.s[i];
        const int digit = c >= '0' && c <= '9'                 ? c - '0'
                          : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                               : -1;
        if (digit < 0) return -1;
        byte = 16 * byte + digit;
    }
    return byte;
}

/* Runs of byte tokens: their text when it is UTF-8, else a U+FFFD for each. */
static bool put_run(heed_ctx *cx, heed_string *run, struct texts *to) {
    bool ok = true;
    if (run->size > 0 && utf8_bad(run->s, run->size) == run->size)
        ok = texts_put(cx, to, run->s, run->size);
    else
        for (size_t i = 0; ok && i < run->size; i++) ok = texts_put(cx, to, "\xEF\xBF\xBD", 3);
    run->size = 0;
    return ok;
}

static bool byte_fallback(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to) {
    (void)s;
    heed_string run = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < from->count; i++) {
        const struct slice in = slice_of(from, i);
        const int byte = token_byte(in);
        if (byte >= 0)
            ok = heed_string_put(cx, &run, &(char){(char)byte}, 1);
        else
            ok = put_run(cx, &run, to) && texts_put(cx, to, in.s, in.size);
    }
    ok = ok && put_run(cx, &run, to);
    heed_string_free(cx, &run);
    return ok;
}

/* ---- others ---- */

static bool fuse(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to) {
    return (void)s, texts_put(cx, to, from->all.s, from->all.size);
}

static bool read_strip(const struct tree *t, node at, struct step *s) {
    s->length = tree_int(t, at, "start", 0);
    s->stop = tree_int(t, at, "stop", 0);
    return !heed_failed(t->cx) && read_character(t, at, "content", &s->character);
}

/* Up to so many of a character off the beginning and the end. */
static bool strip(heed_ctx *cx, const struct step *step, const struct texts *from, struct texts *to) {
    for (int64_t i = 0; i < from->count; i++) {
        const struct slice in = slice_of(from, i);
        const char *first = in.s, *last = in.s + in.size;
        for (int64_t k = 0; k < step->length && first < last; k++) {
            const char *s = first;
            if (utf8_next(&s, last) != step->character) break;
            first = s;
        }
        for (int64_t k = 0; k < step->stop && last > first; k++) {
            const char *begin = last - 1, *s;
            while (begin > first && (*begin & 0xC0) == 0x80) begin--;
            s = begin;
            if (utf8_next(&s, last) != step->character) break;
            last = begin;
        }
        if (!texts_put(cx, to, first, (size_t)(last - first))) return false;
    }
    return true;
}

const struct step_kind decoder_kinds[] = {
    {"BPEDecoder", .read = read_bpe, .decode = bpe},
    {"ByteLevel", .decode = byte_level},
    {"WordPiece", .read = read_word_piece, .decode = word_piece},
    {"Metaspace", .read = read_metaspace, .decode = metaspace},
    {"CTC", .read = read_ctc, .decode = ctc},
    {"Replace", .read = read_replace, .decode = replace},
    {"Fuse", .decode = fuse},
    {"Strip", .read = read_strip, .decode = strip},
    {"ByteFallback", .decode = byte_fallback},
    {.name = NULL},
};

bool decodes_as_byte(const heed_tokenizer *t, int32_t id) {
    const char *const token = heed_tokenizer_token(t, id);
    bool falls_back = false;
    for (int i = 0; i < t->decoders.count; i++) falls_back |= t->decoders.step[i].kind->decode == byte_fallback;
    return falls_back && token && token_byte((struct slice){token, t->token_size[id]}) >= 0;
}

/* ---- decoding ---- */

static bool check_ids(heed_ctx *cx, const heed_tokenizer *t, const int32_t *ids, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!heed_tokenizer_token(t, ids[i]))
            return heed_fail(cx, HEED_ERR_RANGE, "decode: no token has id %d, the largest is %lld", ids[i],
                             (long long)t->size - 1);
    return true;
}

static bool decode(heed_ctx *cx, const heed_tokenizer *t, struct texts now[2], heed_string *to) {
    bool ok = heed_string_put(cx, &now[0].all, "", 0);
    now[0].most = now[1].most = grown_most(now[0].all.size);
    for (int i = 0; ok && i < t->decoders.count; i++) {
        now[1].count = 0;
        now[1].all.size = 0;
        ok = heed_string_put(cx, &now[1].all, "", 0) &&
             t->decoders.step[i].kind->decode(cx, &t->decoders.step[i], &now[0], &now[1]);
        const struct texts swap = now[0];
        now[0] = now[1];
        now[1] = swap;
    }
    for (int64_t i = 0; ok && i < now[0].count; i++) {
        const struct slice in = slice_of(&now[0], i);
        ok = (!t->joined || i == 0 || heed_string_put(cx, to, " ", 1)) && heed_string_put(cx, to, in.s, in.size);
    }
    return ok;
}

bool heed_decode(heed_ctx *cx, const heed_tokenizer *t, const int32_t *ids, int64_t n, bool keep_special,
                 heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!t || !to || n < 0 || (!ids && n > 0))
        return heed_fail(cx, HEED_ERR_USAGE, "decode: the tokenizer, ids or string is NULL");
    if (!check_ids(cx, t, ids, n)) return false;
    struct texts now[2] = {{.count = 0}, {.count = 0}};
    const size_t before = to->size;
    bool ok = heed_string_put(cx, to, "", 0);
    for (int64_t i = 0; ok && i < n; i++)
        if (keep_special || !t->special[ids[i]]) ok = texts_put(cx, &now[0], t->token[ids[i]], t->token_size[ids[i]]);
    ok = ok && decode(cx, t, now, to);
    texts_free(cx, &now[0]);
    texts_free(cx, &now[1]);
    if (!ok && to->s) {
        to->size = before;
        to->s[before] = 0;
    }
    return ok;
}
