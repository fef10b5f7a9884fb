/* What the targets of tasks' files share: the input becomes a file, which is read and encoded. */
#ifndef TESTS_FUZZ_TASK_H
#define TESTS_FUZZ_TASK_H

#include "fuzz.h"
#include "heed/task.h"
#include "text/tokenizer/tokenizer.h"

/* Words of letters and of what continues them. */
static const heed_tokenizer *fuzz_tokenizer(void) {
    static const char text[] =
        "{\"added_tokens\":[{\"id\":0,\"content\":\"[PAD]\",\"special\":true},{\"id\":2,\"content\":\"[CLS]\","
        "\"special\":true},{\"id\":3,\"content\":\"[SEP]\",\"special\":true}],\"pre_tokenizer\":{\"type\":"
        "\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":"
        "\"##\",\"max_input_chars_per_word\":100,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":4,"
        "\"b\":5,\"##a\":6,\"##b\":7}},\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"[CLS]\",2],\"sep\":["
        "\"[SEP]\",3]}}";
    static heed_tokenizer *t;
    if (!t) t = tokenizer_parse(fuzz_context(), "letters", text, strlen(text));
    MUST(t);
    return t;
}

static void fuzz_task(const char *task, const uint8_t *data, size_t size, const heed_task_opts *opts) {
    heed_ctx *cx = fuzz_context();
    const heed_text_reader reader = {.tokens = fuzz_tokenizer(), .max_length = opts->max_length, .types = true};
    const size_t held = fuzz_held();
    const char *path = fuzz_file("", data, size);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find(task), path, opts);
    const bool ok = d && heed_task_encode(cx, d, &reader);
    MUST(!d || heed_task_examples(d) >= 0);
    for (int64_t i = 0, n = ok ? heed_task_columns(d)->n : 0; i < n; i++) {
        MUST(heed_dataset_length(heed_task_columns(d), 0, i) <= opts->max_length);
        MUST(heed_task_example(d, i) >= 0 && heed_task_example(d, i) < heed_task_examples(d));
    }
    heed_task_free(cx, d);
    unlink(path);
    fuzz_check(cx, ok, held);
}

#endif
