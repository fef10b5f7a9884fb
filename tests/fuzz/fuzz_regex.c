/* A regular expression, and text behind a NUL: it compiles or not, and matches are in order and on characters. */
#include "fuzz.h"

#include "text/tokenizer/regex.h"
#include "text/unicode/unicode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const uint8_t *nul = memchr(data, 0, size);
    const size_t pattern = nul ? (size_t)(nul - data) : size, rest = nul ? size - pattern - 1 : 0;
    const char *text = nul ? (const char *)nul + 1 : "";
    heed_string why = {0};
    if (utf8_check(cx, "pattern", (const char *)data, pattern) && utf8_check(cx, "text", text, rest)) {
        struct regex *r = regex_compile(cx, (const char *)data, pattern, &why);
        struct matcher m;
        size_t start, end, last = 0;
        if (r && matcher_begin(&m, cx, r, text, rest))
            while (matcher_next(&m, &start, &end)) {
                MUST(start >= last && end >= start && end <= rest);
                MUST(end == rest || (text[end] & 0xC0) != 0x80);
                last = end;
            }
        if (r) matcher_end(&m);
        regex_free(cx, r);
    }
    heed_string_free(cx, &why);
    heed_clear(cx);
    fuzz_check(cx, true, held);
    return 0;
}
