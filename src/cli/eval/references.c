/* Files of hypotheses and references. */
#include "cli/eval/references.h"
#include <string.h>

bool references_read(const struct options *o, heed_ctx *cx, const char *who, heed_lines lines[1 + MAX_REFERENCES]) {
    const int n = options_words(o);
    int standard_input = 0;
    for (int i = 0; i < n; i++) standard_input += strcmp(options_word(o, i), "-") == 0;
    if (standard_input > 1) return heed_fail(cx, HEED_ERR_USAGE, "%s: standard input can be read only once", who);
    for (int i = 0; i < n; i++) {
        if (!heed_lines_read(cx, options_word(o, i), &lines[i])) return false;
        if (lines[i].count == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no lines", options_word(o, i));
        if (lines[i].count != lines[0].count)
            return heed_fail(cx, HEED_ERR_SHAPE, "%s: %lld lines, %s has %lld", options_word(o, i),
                             (long long)lines[i].count, options_word(o, 0), (long long)lines[0].count);
    }
    return true;
}

void references_free(const struct options *o, heed_ctx *cx, heed_lines *lines) {
    for (int i = 0; i < options_words(o); i++) heed_lines_free(cx, &lines[i]);
}
