/* The Moses way: the entries. A text that cannot be done leaves the caller's string as it was. */
#include "text/moses/moses.h"

#include <string.h>

static bool find_language(heed_ctx *cx, const char *name, enum moses_language *language) {
    static const char *const names[] = {[MOSES_EN] = "en", [MOSES_DE] = "de", [MOSES_FR] = "fr"};
    for (int i = 0; name && i < 3; i++)
        if (strcmp(name, names[i]) == 0) return *language = (enum moses_language)i, true;
    return heed_fail(cx, HEED_ERR_USAGE, "moses: language '%.16s' is none of en, de, fr", name ? name : "");
}

static bool begin(struct edit *e, heed_ctx *cx, const char *text, size_t size, heed_string *to) {
    if (!to || (!text && size > 0)) return heed_fail(cx, HEED_ERR_USAGE, "moses: text or the string for it is NULL");
    return utf8_check(cx, "moses", text ? text : "", size) && edit_begin(e, cx, text, size);
}

static bool finish(struct edit *e, heed_string *to) {
    const bool ok = !heed_failed(e->cx) && heed_string_put(e->cx, to, e->text.s, e->text.size);
    edit_end(e);
    return ok;
}

bool heed_moses(heed_ctx *cx, const char *text, size_t size, const heed_moses_opts *opts, heed_string *to) {
    enum moses_language language;
    struct edit e;
    if (heed_failed(cx)) return false;
    if (!opts) return heed_fail(cx, HEED_ERR_USAGE, "moses: opts is NULL");
    if (!find_language(cx, opts->language, &language) || !begin(&e, cx, text, size, to)) return false;
    if (opts->lower) edit_lower(&e);
    if (opts->normalise) moses_normalise(&e, language);
    if (opts->tokenise) moses_tokenise(&e, language, opts->escape);
    return finish(&e, to);
}

bool heed_moses_detokenise(heed_ctx *cx, const char *text, size_t size, const char *language, heed_string *to) {
    enum moses_language which;
    struct edit e;
    if (heed_failed(cx) || !find_language(cx, language, &which) || !begin(&e, cx, text, size, to)) return false;
    moses_detokenise(&e, which);
    return finish(&e, to);
}
