/* tokenizer.json, and text through it: what is accepted encodes every text or says why not, and what was encoded
 * decodes or says why not. The input is the file; after a NUL, which no JSON holds, comes text to encode. */
#include "fuzz.h"

#include "text/tokenizer/tokenizer.h"

static void use(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, bool special) {
    heed_ids ids = {0};
    heed_string s = {0};
    if (heed_encode(cx, t, text, size, special, &ids)) {
        for (int64_t i = 0; i < ids.count; i++) MUST(heed_tokenizer_token(t, ids.id[i]));
        if (heed_decode(cx, t, ids.id, ids.count, special, &s))
            MUST(utf8_check(cx, "decoded", s.s, s.size));
        else
            MUST(heed_error(cx) == HEED_ERR_RANGE && s.size == 0); /* it grows, or takes too long */
    } else
        MUST((heed_error(cx) == HEED_ERR_FORMAT || heed_error(cx) == HEED_ERR_RANGE) && ids.count == 0);
    heed_clear(cx);
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &s);
}

/* Offsets lie in the texts, lengths are kept, and the ids are the same with offsets as without. */
static void use_offsets(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, const char *pair,
                        size_t pair_size) {
    heed_encoding e = {0};
    for (int round = 0; round < 3; round++) {
        const heed_encode_opts o = {.pair = round ? pair : NULL,
                                    .pair_size = round ? pair_size : 0,
                                    .plain = round == 1,
                                    .bytes = round == 2,
                                    .truncate = round == 2 ? 7 : 0,
                                    .pad = round == 2 ? 9 : 0};
        if (heed_encode_text(cx, t, text, size, &o, &e)) {
            MUST(o.pad == 0 || e.count >= o.pad);
            MUST(o.truncate == 0 || e.count <= (o.truncate > o.pad ? o.truncate : o.pad));
            for (int64_t i = 0; i < e.count; i++) {
                MUST((size_t)e.token[i].text + e.token[i].size <= e.text.size);
                MUST(e.token[i].id >= 0);
            }
        } else
            MUST(heed_error(cx) == HEED_ERR_FORMAT || heed_error(cx) == HEED_ERR_RANGE);
        heed_clear(cx);
    }
    heed_encoding_free(cx, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char sample[] = " The river's  bank, <s>\tu\xCC\x88"
                                 "ber 12\xC2\xBD\xE2\x96\x81\xF0\x9F\x99\x82\n aaab ";
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const uint8_t *nul = memchr(data, 0, size);
    const size_t file = nul ? (size_t)(nul - data) : size;
    heed_tokenizer *t = tokenizer_parse(cx, "fuzz", (const char *)data, file);
    if (t) {
        use(cx, t, sample, sizeof sample - 1, true);
        if (nul) use(cx, t, (const char *)nul + 1, size - file - 1, false);
        if (nul) use_offsets(cx, t, (const char *)nul + 1, size - file - 1, sample, sizeof sample - 1);
        for (int32_t id = -1; id <= heed_tokenizer_size(t); id++) {
            const char *token = heed_tokenizer_token(t, id);
            if (token) heed_tokenizer_id(t, token);
        }
    }
    heed_tokenizer_free(cx, t);
    fuzz_check(cx, t, held);
    return 0;
}
