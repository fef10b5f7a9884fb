/* A SentencePiece model, and what a tokenizer of it makes of text: the model is written as tokenizer.model, as the
 * reader of directories takes files. */
#include "fuzz.h"

#include "text/tokenizer/legacy.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char directory[] = "/tmp/heed-fuzz-XXXXXX", file[64];

static void remove_directory(void) {
    unlink(file);
    rmdir(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char sample[] = " The river's  bank, <s>\tu\xCC\x88 12\xE2\x96\x81\xF0\x9F\x99\x82\n aaab ";
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    struct spm model = {0};
    if (!*file) {
        MUST(mkdtemp(directory));
        snprintf(file, sizeof file, "%s/tokenizer.model", directory);
        atexit(remove_directory);
    }
    const bool good = spm_parse(cx, "fuzz", data, size, &model);
    for (int64_t i = 0; i < model.count; i++) MUST(utf8_check(cx, "piece", model.pieces[i].text, model.pieces[i].size));
    spm_free(cx, &model);
    if (good) {
        FILE *f = fopen(file, "wb");
        MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
        heed_tokenizer *t = heed_tokenizer_load(cx, directory);
        heed_ids ids = {0};
        heed_string text = {0};
        if (t && heed_encode(cx, t, sample, sizeof sample - 1, true, &ids))
            MUST(heed_decode(cx, t, ids.id, ids.count, true, &text));
        heed_ids_free(cx, &ids);
        heed_string_free(cx, &text);
        heed_tokenizer_free(cx, t);
    }
    heed_clear(cx);
    fuzz_check(cx, true, held);
    return 0;
}
