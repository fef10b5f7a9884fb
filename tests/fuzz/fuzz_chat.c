/* chat_template: recognised or refused; a format that is recognised writes a conversation. */
#include "fuzz.h"

#include "heed/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const heed_chat_message messages[] = {
        {HEED_CHAT_USER, "Hello", 5}, {HEED_CHAT_ASSISTANT, " Hi. ", 5}, {HEED_CHAT_USER, "", 0}};
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    char *text = malloc(size + 1); /* an array of its own, so that the sanitizers see its end */
    MUST(text);
    if (size > 0) memcpy(text, data, size);
    text[size] = 0;
    heed_chat_format format;
    const bool ok = heed_chat_recognise(cx, "fuzz", text, &format);
    if (ok) {
        heed_chat_text written = {0};
        MUST(heed_chat_format_name(&format));
        MUST(heed_chat_render(cx, &format, messages, 3, true, &written));
        heed_chat_text_free(cx, &written);
    }
    free(text);
    fuzz_check(cx, ok, held);
    return 0;
}
