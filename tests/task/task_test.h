/* What the tests of tasks share: golden files, and small models of words. */
#ifndef TESTS_TASK_TEST_H
#define TESTS_TASK_TEST_H

#include "heed/task.h"
#include "io/io_test.h"
#include "text/tokenizer/tokenizer.h"

#define EACH(v, list)                                                                                                  \
    heed_json v = heed_json_first(list);                                                                               \
    heed_json_kind_of(v) != HEED_JSON_NONE;                                                                            \
    v = heed_json_next(v)

static UNUSED const char *golden_path(const char *name) {
    static char path[1024];
    const char *root = getenv("HEED_GOLDEN");
    snprintf(path, sizeof path, "%s/%s", root ? root : HEED_SOURCE_DIR "/tests/golden", name);
    return path;
}

static UNUSED heed_json open_golden(heed_ctx *cx, const char *name) {
    const heed_json doc = heed_json_open(cx, golden_path(name));
    if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
    return doc;
}

/* Of the golden file of pipelines. */
static UNUSED heed_tokenizer *tokenizer_named(heed_ctx *cx, const char *name) {
    struct tree t;
    size_t size;
    char *text = read_bytes(golden_path("text/pipelines.json"), &size);
    heed_tokenizer *found = NULL;
    assert_true(tree_parse(cx, "pipelines.json", text, size, &t));
    for (EACH_NODE(one, &t, tree_root(&t))) {
        const node file = tree_find(&t, one, "tokenizer");
        if (!found && strcmp(tree_find(&t, one, "name")->text, name) == 0)
            found = tokenizer_parse(cx, name, file->text, file->size);
    }
    tree_free(&t);
    free(text);
    if (!found) fail_msg("%s: %s", name, heed_message(cx));
    return found;
}

static UNUSED void write_text(const char *name, const char *text) { write_bytes(in_folder(name), text, strlen(text)); }

/* A tokenizer of single words and of pieces that continue them: a, b, … h, and ##a to ##h. */
static UNUSED heed_tokenizer *letters(heed_ctx *cx) {
    static const char file[] =
        "{\"added_tokens\":[{\"id\":0,\"content\":\"[PAD]\",\"special\":true},{\"id\":2,\"content\":\"[CLS]\","
        "\"special\":true},{\"id\":3,\"content\":\"[SEP]\",\"special\":true}],\"pre_tokenizer\":{\"type\":"
        "\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":"
        "\"##\",\"max_input_chars_per_word\":100,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":4,"
        "\"b\":5,\"c\":6,\"d\":7,\"e\":8,\"f\":9,\"g\":10,\"h\":11,\"##a\":12,\"##b\":13,\"##c\":14,\"##d\":15,"
        "\"##e\":16,\"##f\":17,\"##g\":18,\"##h\":19}},\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":["
        "\"[CLS]\",2],\"sep\":[\"[SEP]\",3]}}";
    heed_tokenizer *t = tokenizer_parse(cx, "letters", file, strlen(file));
    if (!t) fail_msg("%s", heed_message(cx));
    return t;
}

static UNUSED heed_model *small_bert(heed_ctx *cx, const char *task, const char *setting) {
    const char *const settings[] = {"vocab_size=20",       "hidden_size=8",
                                    "num_hidden_layers=1", "num_attention_heads=2",
                                    "intermediate_size=6", "max_position_embeddings=16",
                                    "initializer_range=1", setting};
    const heed_family *bert = heed_family_find("bert");
    heed_model *m = heed_model_new_as(cx, bert, heed_head_for(bert, task), settings, setting ? 8 : 7, 5);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

#endif
