#include "text/strings/split.h"
#include "text/strings/edit.h"
#include <string.h>

#define BLANKS " \t\r\f\v"

bool split_marks(const char *kind) { return kind && strcmp(kind, SPLIT_MARKS) == 0; }

bool split_saved_marks(heed_ctx *cx, heed_json config) {
    return split_marks(heed_json_text_or(cx, config, SPLIT_KEY, SPLIT_BLANKS));
}

void split_save(heed_ctx *cx, heed_json config, bool marks) {
    heed_json_put_text(cx, config, SPLIT_KEY, marks ? SPLIT_MARKS : SPLIT_BLANKS);
}

int64_t split_words(const char *text, bool marks, heed_word *word) {
    int64_t n = 0;
    if (marks) {
        const char *at = text, *const end = text + strlen(text), *one;
        for (size_t size; (one = text_next_word(&at, end, true, &size)); n++)
            if (word) word[n] = (heed_word){one, size};
        return n;
    }
    for (const char *at = text + strspn(text, BLANKS); *at; n++) {
        const size_t size = strcspn(at, BLANKS);
        if (word) word[n] = (heed_word){at, size};
        at += size;
        at += strspn(at, BLANKS);
    }
    return n;
}
