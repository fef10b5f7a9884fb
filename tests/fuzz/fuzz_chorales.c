/* Chorales as JSON: what is read becomes tokens, and these the same chorale again. */
#include "fuzz.h"

#include "task/music/chorales.h"

static void check(heed_ctx *cx, const heed_chorales *c) {
    heed_tokenizer *t = heed_music_vocabulary(cx, c, 1);
    MUST(t);
    for (int64_t i = 0; i < c->count; i++) {
        heed_ids ids = {0};
        heed_chorales again = {0};
        MUST(heed_music_encode(cx, t, c, i, 0, &ids) && ids.count == 4 * heed_chorale_steps(c, i) + 2);
        MUST(heed_music_decode(cx, t, ids.id, ids.count, &again));
        MUST(heed_chorale_steps(&again, 0) == heed_chorale_steps(c, i));
        MUST(memcmp(heed_chorale_voices(&again, 0), heed_chorale_voices(c, i),
                    (size_t)again.voice.count * sizeof(int32_t)) == 0);
        heed_chorales_free(cx, &again);
        heed_ids_free(cx, &ids);
    }
    heed_tokenizer_free(cx, t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    heed_chorales c = {0};
    const bool ok = chorales_parse_json(cx, "fuzz", (const char *)data, size, NULL, &c);
    if (ok && c.count > 0) check(cx, &c);
    heed_chorales_free(cx, &c);
    fuzz_check(cx, ok, held);
    return 0;
}
