/* Decoding: the texts of ids, joined the way the file's decoder says. */
#include "io/text.h"
#include "text/tokenizer.h"

/* Every `mark` in text becomes `with`. */
static bool put_replaced(heed_ctx *cx, const char *text, const char *mark, const char *with, heed_string *to) {
    const size_t size = strlen(mark);
    for (const char *s; (s = strstr(text, mark)); text = s + size)
        if (!heed_string_put(cx, to, text, (size_t)(s - text)) || !heed_string_put(cx, to, with, strlen(with)))
            return false;
    return heed_string_put(cx, to, text, strlen(text));
}

/* The bytes that a token's characters stand for; the token as it is when one of them stands for none. */
static bool put_token_bytes(heed_ctx *cx, const char *token, heed_string *to) {
    const char *end = token + strlen(token);
    const size_t start = to->size;
    for (const char *s = token; s < end;) {
        const int byte = character_byte(utf8_next(&s, end));
        if (byte < 0) {
            to->size = start;
            return heed_string_put(cx, to, token, strlen(token));
        }
        if (!heed_string_put(cx, to, &(char){(char)byte}, 1)) return false;
    }
    return true;
}

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

/* Token `number` of those that are kept. The suffix of the last one, which `last` is, stands for no space. */
static bool put_token(heed_ctx *cx, const heed_tokenizer *t, const char *token, int64_t number, bool last,
                      heed_string *to) {
    switch (t->decoder) {
    case DECODE_JOIN:
        return (number == 0 || heed_string_put(cx, to, " ", 1)) && heed_string_put(cx, to, token, strlen(token));
    case DECODE_FUSE:
        return heed_string_put(cx, to, token, strlen(token));
    case DECODE_METASPACE:
        return put_replaced(cx, token, t->decoder_mark, number == 0 && t->decoder_prefixed ? "" : " ", to);
    case DECODE_SUFFIX:
        return put_replaced(cx, token, t->decoder_suffix, last ? "" : " ", to);
    case DECODE_BYTES:
        return put_token_bytes(cx, token, to);
    }
    return true;
}

static bool kept(const heed_tokenizer *t, int32_t id, bool keep_special) { return keep_special || !t->special[id]; }

static bool check_ids(heed_ctx *cx, const heed_tokenizer *t, const int32_t *ids, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!heed_tokenizer_token(t, ids[i]))
            return heed_fail(cx, HEED_ERR_RANGE, "decode: no token has id %d, the largest is %lld", ids[i],
                             (long long)t->size - 1);
    return true;
}

bool heed_decode(heed_ctx *cx, const heed_tokenizer *t, const int32_t *ids, int64_t n, bool keep_special,
                 heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!t || !to || n < 0 || (!ids && n > 0))
        return heed_fail(cx, HEED_ERR_USAGE, "decode: the tokenizer, ids or string is NULL");
    if (!check_ids(cx, t, ids, n)) return false;
    heed_string bytes = {0}, *out = t->decoder == DECODE_BYTES ? &bytes : to;
    const size_t before = to->size;
    int64_t number = 0, last = n - 1;
    while (last >= 0 && !kept(t, ids[last], keep_special)) last--;
    bool ok = heed_string_put(cx, to, "", 0);
    for (int64_t i = 0; ok && i <= last; i++)
        if (kept(t, ids[i], keep_special)) ok = put_token(cx, t, t->token[ids[i]], number++, i == last, out);
    ok = ok && (out == to || put_lossy(cx, &bytes, to));
    heed_string_free(cx, &bytes);
    if (!ok && to->s) {
        to->size = before;
        to->s[before] = 0;
    }
    return ok;
}
