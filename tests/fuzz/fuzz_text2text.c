/* Pairs of text to text as JSON lines: as many targets as sources. */
#include "fuzz.h"

#include "heed/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const char *path = fuzz_file(".jsonl", data, size);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("text2text"), path, &(heed_task_opts){0});
    const bool ok = d != NULL;
    MUST(!ok || heed_task_examples(d) > 0);
    heed_task_free(cx, d);
    unlink(path);
    fuzz_check(cx, ok, held);
    return 0;
}
