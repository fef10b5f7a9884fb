/* captions: the first byte chooses the kind of list, the rest is the list, and also one caption in words: what is read
 * can be said in several ways and reads back. Lists may name heed-fuzz.a.png, which is there. */
#include "fuzz.h"
#include "heed/captions.h"

static void fuzz_words(heed_ctx *cx, const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    heed_caption asked, back;
    memcpy(text, data, size);
    text[size] = 0;
    const bool read = heed_caption_parse(cx, text, &asked);
    free(text);
    for (uint64_t way = 0; read && way < 3; way++) {
        char *said = heed_caption_say(cx, &asked, way);
        MUST(said && heed_caption_parse(cx, said, &back));
        MUST(back.things == asked.things && back.relation == asked.relation);
        MUST(memcmp(back.thing, asked.thing, (size_t)asked.things * sizeof *asked.thing) == 0);
        heed_mem_free(cx, said);
    }
    MUST(read == !heed_failed(cx));
    heed_clear(cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool written;
    if (size == 0) return 0;
    heed_ctx *cx = fuzz_context();
    if (!written) {
        FILE *f = fopen("/tmp/heed-fuzz.a.png", "wb");
        MUST(f && fclose(f) == 0);
        written = true;
    }
    const size_t held = fuzz_held();
    static const char *const endings[] = {".tsv", ".csv", ".jsonl"};
    const char *path = fuzz_file(endings[data[0] % 3], data + 1, size - 1);
    heed_caption_set *set = heed_caption_set_open(cx, path, "train", NULL);
    const bool ok = set;
    for (int64_t i = 0; i < heed_caption_set_count(set); i++) {
        char *text = heed_caption_set_text(cx, set, i);
        MUST(text && *text && heed_caption_set_path(set, i));
        heed_mem_free(cx, text);
    }
    heed_caption_set_free(cx, set);
    unlink(path);
    fuzz_check(cx, ok, held);
    fuzz_words(cx, data + 1, size - 1);
    return 0;
}
