/* JSON: what is accepted prints, and the print reads back and prints the same. */
#include "fuzz.h"

/* Every value through every getter: one of them takes it, the others say why not. */
static void look(heed_ctx *cx, heed_json v) {
    heed_json_int(cx, v, NULL);
    heed_clear(cx);
    heed_json_text(cx, v, NULL);
    heed_clear(cx);
    heed_json_number_or(cx, v, "factor", 1);
    heed_clear(cx);
    for (heed_json child = heed_json_first(v); heed_json_kind_of(child) != HEED_JSON_NONE;
         child = heed_json_next(child))
        look(cx, child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const heed_json j = heed_json_parse(cx, "fuzz", (const char *)data, size);
    if (heed_json_kind_of(j) != HEED_JSON_NONE) {
        if (size < 512) look(cx, j); /* a path is searched for at every failure: quadratic */
        size_t n;
        char *text = heed_json_print(cx, j, 1, &n);
        MUST(text);
        const heed_json again = heed_json_parse(cx, "again", text, n);
        char *same = heed_json_print(cx, again, 1, NULL);
        MUST(same && strcmp(text, same) == 0);
        heed_mem_free(cx, text);
        heed_mem_free(cx, same);
        heed_json_free(again);
    }
    heed_json_free(j);
    fuzz_check(cx, j.node, held);
    return 0;
}
