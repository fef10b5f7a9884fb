/* Text of tokens as they come. A token is decoded together with a few before it, since the space between two words, or
 * the bytes of a character, may need those; what is far behind no longer matters. */
#include "text/tokenizer/tokenizer.h"

#include <string.h>

#define LEAST 8 /* tokens that are decoded with a new one, where there are as many */

struct heed_text_stream {
    const heed_tokenizer *t;
    heed_ids last;    /* the last tokens, without special ones */
    int64_t given;    /* how many of them came before the text that is wanted */
    heed_string text; /* of them */
    size_t said;      /* bytes of it that are handed out, or came before */
    bool begun;       /* some were handed out */
};

int64_t decode_from(const heed_tokenizer *t, const int32_t *ids, int64_t n, int64_t least) {
    int64_t from = n, kept = 0;
    while (from > 0 && (kept < least || decodes_as_byte(t, ids[from])))
        kept += !heed_tokenizer_is_special(t, ids[--from]);
    return from;
}

static bool is_text(const heed_tokenizer *t, int32_t id) {
    return heed_tokenizer_token(t, id) && !heed_tokenizer_is_special(t, id);
}

static bool decode(heed_ctx *cx, heed_text_stream *s) {
    s->text.size = 0;
    return heed_string_put(cx, &s->text, "", 0) && heed_decode(cx, s->t, s->last.id, s->last.count, false, &s->text);
}

static void drop(heed_text_stream *s, int64_t n) {
    if (n > 0) memmove(s->last.id, s->last.id + n, (size_t)(s->last.count -= n) * sizeof *s->last.id);
    s->given = 0;
}

heed_text_stream *heed_text_stream_new(heed_ctx *cx, const heed_tokenizer *t, const int32_t *before, int64_t n) {
    if (heed_failed(cx)) return NULL;
    if (!t || n < 0 || (n > 0 && !before))
        return heed_fail(cx, HEED_ERR_USAGE, "text_stream: the tokenizer or the tokens are NULL"), NULL;
    heed_text_stream *const s = heed_mem_new(cx, sizeof *s);
    if (!s) return NULL;
    *s = (heed_text_stream){.t = t};
    for (int64_t i = decode_from(t, before, n, LEAST); i < n; i++)
        if (is_text(t, before[i])) heed_ids_put(cx, &s->last, before[i]);
    s->given = s->last.count;
    if (!heed_failed(cx) && decode(cx, s)) return s->said = s->text.size, s;
    heed_text_stream_free(cx, s);
    return NULL;
}

void heed_text_stream_free(heed_ctx *cx, heed_text_stream *s) {
    if (!s) return;
    heed_ids_free(cx, &s->last);
    heed_string_free(cx, &s->text);
    heed_mem_free(cx, s);
}

/* Few tokens are kept; what is not yet handed out is the end of their text, too. */
static bool forget(heed_ctx *cx, heed_text_stream *s) {
    const int64_t from =
        s->last.count > 2 * LEAST && s->begun ? decode_from(s->t, s->last.id, s->last.count, LEAST) : 0;
    const size_t held = s->text.size - s->said;
    if (from == 0) return true;
    drop(s, from);
    if (!decode(cx, s)) return false;
    s->said = s->text.size > held ? s->text.size - held : 0;
    return true;
}

/* The last character may be half of one, which the decoder shows as U+FFFD. */
static size_t settled(const heed_string *text) {
    return text->size >= 3 && memcmp(text->s + text->size - 3, "\xEF\xBF\xBD", 3) == 0 ? text->size - 3 : text->size;
}

static bool hand_out(heed_ctx *cx, heed_text_stream *s, bool all, heed_string *to) {
    heed_string before = {0};
    bool same = true;
    if (!s->begun && s->given > 0) { /* does what came before still read the same? Otherwise it stands alone */
        same = heed_string_put(cx, &before, s->text.s, s->said) && decode(cx, s) && s->text.size >= s->said &&
               memcmp(s->text.s, before.s, s->said) == 0;
        heed_string_free(cx, &before);
        if (heed_failed(cx)) return false;
        if (!same) drop(s, s->given), s->said = 0;
    }
    if (!decode(cx, s)) return false;
    const size_t end = all ? s->text.size : settled(&s->text);
    if (end > s->said) {
        if (!heed_string_put(cx, to, s->text.s + s->said, end - s->said)) return false;
        s->said = end;
        s->begun = true;
    }
    return forget(cx, s);
}

bool heed_text_stream_put(heed_ctx *cx, heed_text_stream *s, int32_t token, heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!s || !to) return heed_fail(cx, HEED_ERR_USAGE, "text_stream: the stream or string is NULL");
    if (!is_text(s->t, token)) return true;
    if (!heed_ids_put(cx, &s->last, token)) return false;
    return decodes_as_byte(s->t, token) || hand_out(cx, s, false, to); /* of bytes all that stand in a row count */
}

bool heed_text_stream_end(heed_ctx *cx, heed_text_stream *s, heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!s || !to) return heed_fail(cx, HEED_ERR_USAGE, "text_stream: the stream or string is NULL");
    return s->last.count == s->given || hand_out(cx, s, true, to);
}
