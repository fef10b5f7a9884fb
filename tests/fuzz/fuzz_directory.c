/* Directories without tokenizer.json, and text through them. The input is the files' texts with a NUL between them; the
 * first byte says which files they are. */
#include "fuzz.h"

#include "text/tokenizer/tokenizer.h"

#include <stdio.h>
#include <unistd.h>

static const char *const names[][5] = {
    {"tokenizer_config.json", "vocab.txt", "special_tokens_map.json", "added_tokens.json", NULL},
    {"tokenizer_config.json", "vocab.json", "merges.txt", "special_tokens_map.json", NULL},
    {"config.json", "vocab.json", "merges.txt", "added_tokens.json", NULL},
};
static char directory[] = "/tmp/heed-fuzz-XXXXXX";

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void remove_files(void) {
    for (int i = 0; i < 3; i++)
        for (int k = 0; names[i][k]; k++) unlink(path_of(names[i][k]));
}

static void remove_directory(void) {
    remove_files();
    rmdir(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char sample[] = " The river's  bank, [MASK]\tu\xCC\x88 12\xE2\x96\x81\xF0\x9F\x99\x82\n aaab ";
    static bool made;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    if (size == 0) return 0;
    if (!made) {
        MUST(mkdtemp(directory));
        atexit(remove_directory);
        made = true;
    }
    remove_files();
    const char *const *name = names[data[0] % 3];
    for (const uint8_t *at = data + 1, *end = data + size; *name && at <= end; name++) {
        const uint8_t *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        const size_t n = (size_t)((nul ? nul : end) - at);
        FILE *f = fopen(path_of(*name), "wb");
        MUST(f && fwrite(at, 1, n, f) == n && fclose(f) == 0);
        at += n + 1;
    }
    heed_tokenizer *t = heed_tokenizer_load(cx, directory);
    heed_ids ids = {0};
    heed_string text = {0};
    if (t && heed_encode(cx, t, sample, sizeof sample - 1, true, &ids))
        MUST(heed_decode(cx, t, ids.id, ids.count, true, &text));
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &text);
    heed_tokenizer_free(cx, t);
    heed_clear(cx);
    fuzz_check(cx, true, held);
    return 0;
}
