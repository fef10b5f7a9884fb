#include "cli/core/text_out.h"
#include "cli/core/input_lines.h"
#include <stdio.h>
#include <string.h>

static void show(char *text, size_t size) {
    cli_plain_text(text, size);
    fputs(text, stdout);
    fflush(stdout);
}

bool stream_take(void *user, int64_t sequence, const char *text, size_t size) {
    struct text_stream *const t = user;
    const size_t before = t->text.size;
    (void)sequence;
    if (!heed_string_put(t->cx, &t->text, text, size)) return false;
    heed_string shown = {0};
    if (heed_string_put(t->cx, &shown, t->text.s + before, size)) show(shown.s, size);
    heed_string_free(t->cx, &shown);
    return !heed_failed(t->cx) && !ferror(stdout) && !interrupted();
}

void stream_say(heed_string *text) {
    if (text->size > 0) show(text->s, text->size);
}
