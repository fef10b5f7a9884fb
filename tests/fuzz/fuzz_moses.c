/* The Moses way: the first byte chooses language and treatment, the rest is the text. */
#include "fuzz.h"
#include "heed/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const languages[] = {"en", "de", "fr", "it"};
    if (size == 0) return 0;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const heed_moses_opts opts = {
        .language = languages[data[0] & 3],
        .normalise = data[0] & 4,
        .tokenise = data[0] & 8,
        .lower = data[0] & 16,
        .escape = data[0] & 32,
    };
    heed_string to = {0}, back = {0};
    const bool ok = heed_moses(cx, (const char *)data + 1, size - 1, &opts, &to);
    MUST(ok || to.size == 0);
    MUST(!ok || to.s[to.size] == 0);
    MUST(!ok || heed_moses_detokenise(cx, to.s, to.size, opts.language, &back)); /* what comes out is UTF-8 */
    heed_string_free(cx, &to);
    heed_string_free(cx, &back);
    fuzz_check(cx, ok, held);
    return 0;
}
