/* Conversations of JSON lines: whatever is read can be written in every chat format, its pieces side by side. */
#include "fuzz.h"

#include "task/text/lm.h"

static void render(heed_ctx *cx, const char *name, const heed_chat_message *messages, int64_t n) {
    heed_chat_format format;
    heed_chat_text text = {0};
    MUST(heed_chat_format_named(name, &format));
    MUST(heed_chat_render(cx, &format, messages, n, false, &text));
    size_t end = 0;
    for (int64_t i = 0; i < text.count; end = text.piece[i].start + text.piece[i].size, i++)
        MUST(text.piece[i].start == end);
    MUST(end == text.text.size);
    heed_chat_text_free(cx, &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"chatml", "llama2", "llama3", "mistral", "gemma", "phi3"};
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const char *path = fuzz_file(".jsonl", data, size);
    struct documents texts = {0};
    struct conversations c = {0};
    heed_lines lines = {0};
    const bool ok = conversations_read(cx, path, "fuzz", &texts, &c);
    MUST(!ok || documents_take(cx, &texts, &lines));
    for (int64_t i = 0; ok && i + 1 < c.first.count; i++) {
        heed_chat_message messages[64];
        const int64_t first = c.first.id[i], n = c.first.id[i + 1] - first;
        for (int64_t k = 0; n <= 64 && k < n; k++)
            messages[k] = (heed_chat_message){(heed_chat_role)c.role.id[first + k], heed_line_text(&lines, first + k),
                                              heed_line_size(&lines, first + k)};
        for (size_t k = 0; n <= 64 && k < sizeof names / sizeof *names; k++) render(cx, names[k], messages, n);
    }
    heed_lines_free(cx, &lines);
    documents_free(cx, &texts);
    conversations_free(cx, &c);
    unlink(path);
    fuzz_check(cx, ok, held);
    return 0;
}
