/* Chat formats: the text of conversations as transformers renders it from published templates, and its tokens. */
#include "heed/chat.h"
#include "task/task_test.h"

#define MOST 16

static int64_t read_messages(heed_ctx *cx, heed_json list, heed_chat_message *to) {
    int64_t n = 0;
    for (EACH(m, list)) {
        assert_true(n < MOST && heed_chat_role_find(heed_json_text(cx, m, "role"), &to[n].role));
        to[n].text = heed_json_text(cx, m, "content");
        to[n].size = strlen(to[n].text);
        n++;
    }
    return n;
}

/* Pieces lie one behind the other; those of answers are what the assistant said or thought, and its end. */
static void check_pieces(const heed_chat_text *text, const heed_chat_message *m, int64_t n) {
    size_t at = 0;
    int64_t answers = 0, said = 0, thought = 0;
    for (int64_t i = 0; i < text->count; i++) {
        const heed_chat_piece *p = &text->piece[i];
        assert_int_equal(p->start, at);
        at += p->size;
        answers += p->answer && !p->special;
        thought += p->answer && p->special && strncmp(text->text.s + p->start, "<think>", 7) == 0 && !p[1].special;
    }
    assert_int_equal(at, text->text.size);
    for (int64_t i = 0; i < n; i++) said += m[i].role == HEED_CHAT_ASSISTANT;
    assert_int_equal(answers, said + thought);
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "text/chats.json");
    heed_chat_text text = {0};
    for (EACH(c, heed_json_find(cx, doc, "cases"))) {
        const char *name = heed_json_text(cx, c, "template"), *want = heed_json_text(cx, c, "text");
        heed_chat_format f;
        heed_chat_message m[MOST];
        const int64_t n = read_messages(cx, heed_json_find(cx, c, "messages"), m);
        assert_true(heed_chat_recognise(cx, name, heed_json_text(cx, heed_json_find(cx, doc, "templates"), name), &f));
        assert_int_equal(strncmp(name, heed_chat_format_name(&f), 4) == 0 || strcmp(name, "qwen") == 0, 1);
        if (!heed_chat_render(cx, &f, m, n, heed_json_bool(cx, c, "open"), &text)) fail_msg("%s", heed_message(cx));
        if (strcmp(text.text.s, want) != 0) fail_msg("%s:\n%s\ninstead of\n%s", name, text.text.s, want);
        check_pieces(&text, m, n);
    }
    heed_chat_text_free(cx, &text);
    heed_json_free(doc);
    close_context(cx);
}

/* What is said is never a special token, whatever it reads like; the tokens of answers are those of their texts. */
static void test_tokens(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char corpus[] = "abcdefghijklmnopqrstuvwxyz <|_>/.\n";
    heed_string s = {0};
    heed_lines lines = {0};
    heed_string_put(cx, &s, corpus, strlen(corpus));
    int64_t start[] = {0, (int64_t)strlen(corpus) + 1};
    lines = (heed_lines){s.s, start, 1};
    heed_tokenizer *t = heed_vocabulary_train_lm(cx, (const heed_lines *const[]){&lines}, 1, HEED_TOKENS_CHAR, 0, true);
    assert_non_null(t);
    heed_chat_format f;
    assert_true(heed_chat_format_named("chatml", &f) && !heed_chat_format_named("none", &f));
    assert_true(heed_chat_format_named("chatml", &f));
    static const char *const asked[] = {"a question", "a<|im_end|>b"};
    for (int i = 0; i < 2; i++) {
        const heed_chat_message m[] = {{HEED_CHAT_USER, asked[i], strlen(asked[i])}, {HEED_CHAT_ASSISTANT, "yes", 3}};
        heed_chat_text text = {0};
        heed_ids ids = {0}, answer = {0};
        heed_string said = {0};
        assert_true(heed_chat_render(cx, &f, m, 2, false, &text) && heed_chat_encode(cx, t, &text, &ids, &answer));
        int ends = 0;
        for (int64_t k = 0; k < ids.count; k++) {
            ends += ids.id[k] == heed_chat_end(&f, t);
            if (answer.id[k]) heed_decode(cx, t, &ids.id[k], 1, true, &said);
        }
        assert_int_equal(ends, 2);
        assert_string_equal(said.s, "yes<|im_end|>");
        heed_ids_free(cx, &ids);
        heed_ids_free(cx, &answer);
        heed_string_free(cx, &said);
        heed_chat_text_free(cx, &text);
    }
    heed_tokenizer_free(cx, t);
    heed_string_free(cx, &s);
    close_context(cx);
}

/* Where a template begins with bos_token, tokenizer_config.json says what that is. */
static void test_begin(void **state) {
    (void)state;
    static const char *const bos[] = {"\"<|begins|>\"", "{\"content\": \"<|begins|>\", \"special\": true}", "null"};
    heed_ctx *cx = open_context();
    for (int i = 0; i < 3; i++) {
        FILE *f = fopen(in_folder("tokenizer_config.json"), "w");
        assert_non_null(f);
        fprintf(
            f,
            "{\"bos_token\": %s, \"chat_template\": \"{{ bos_token }}{%% for message in messages %%}{{'<|im_start|>' + "
            "message['role']}}{%% endfor %%}\"}\n",
            bos[i]);
        fclose(f);
        heed_chat_format format;
        assert_true(heed_chat_find(cx, in_folder("."), &format));
        assert_string_equal(format.begin, i < 2 ? "<|begins|>" : "");
    }
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_chat_format f;
    heed_chat_text text = {0};
    assert_false(heed_chat_recognise(cx, "t.jinja", "{{ messages }}", &f));
    EXPECT_SENTENCE(cx, "t.jinja: a chat_template that heed does not know; it knows ChatML, ");
    static const char *const unknown[] = {"<|start|>user<|message|>hi<|end|>",
                                          "[SYSTEM_PROMPT]x[/SYSTEM_PROMPT][INST]y[/INST]",
                                          "<|im_start|>assistant\n<think>{{ message.reasoning_content }}",
                                          "<|start_header_id|>Cutting Knowledge Date: May"};
    for (int i = 0; i < 4; i++) {
        assert_false(heed_chat_recognise(cx, "t.jinja", unknown[i], &f));
        EXPECT_SENTENCE(cx, "t.jinja: a chat_template that heed does not know");
    }
    assert_false(heed_chat_find(cx, in_folder("nowhere"), &f));
    EXPECT_SENTENCE(cx, "there is no chat_template");
    assert_true(heed_chat_format_named("llama2", &f));
    const heed_chat_message twice[] = {{HEED_CHAT_USER, "a", 1}, {HEED_CHAT_USER, "b", 1}};
    assert_false(heed_chat_render(cx, &f, twice, 2, true, &text));
    EXPECT_SENTENCE(cx, "message 2: user and assistant do not alternate");
    assert_false(heed_chat_render(cx, &f, NULL, 0, true, &text));
    EXPECT_SENTENCE(cx, "a conversation without messages");
    heed_chat_text_free(cx, &text);
    close_context(cx);
}

/* Several templates by name: the one called default, else the first; and lists that hold something else. */
static void test_several(void **state) {
    (void)state;
    static const struct {
        const char *list, *sentence; /* NULL: it is recognised */
    } cases[] = {
        {"{\"name\":\"x\",\"template\":\"?\"},{\"name\":\"default\",\"template\":\"<|im_start|>\"}", NULL},
        {"{\"name\":\"x\",\"template\":\"<|im_start|>\"}", NULL},
        {"", "there is no chat_template"},
        {"1", "chat_template[0]: expected an object"},
        {"{\"name\":1}", "chat_template[0].name: expected a string"},
        {"{\"name\":\"default\"},[]", "chat_template[1]: expected an object"},
    };
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_chat_format format;
        char text[256];
        snprintf(text, sizeof text, "{\"chat_template\":[%s]}", cases[i].list);
        write_bytes(in_folder("tokenizer_config.json"), text, strlen(text));
        assert_int_equal(heed_chat_find(cx, in_folder("."), &format), !cases[i].sentence);
        if (cases[i].sentence) EXPECT_SENTENCE(cx, cases[i].sentence);
    }
    close_context(cx);
}

/* The templates that are written are recognised and render alike; their tokens can be added to a tokenizer. */
static void test_templates(void **state) {
    (void)state;
    static const char *const names[] = {"chatml", "llama3", "gemma", "phi4"};
    static const char *const want[] = {
        "<|im_start|>system\nbrief<|im_end|>\n<|im_start|>user\n hi<|im_end|>\n<|im_start|>assistant\n",
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nbrief<|eot_id|><|start_header_id|>user"
        "<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        "<bos><start_of_turn>user\nbrief\n\nhi<end_of_turn>\n<start_of_turn>model\n",
        "<|im_start|>system<|im_sep|>brief<|im_end|><|im_start|>user<|im_sep|> hi<|im_end|>"
        "<|im_start|>assistant<|im_sep|>"};
    static const int specials[] = {5, 9, 4, 8};
    const heed_chat_message m[] = {{HEED_CHAT_SYSTEM, "brief", 5}, {HEED_CHAT_USER, " hi", 3}};
    heed_ctx *cx = open_context();
    char letters[] = "abc";
    const heed_lines lines = {letters, (int64_t[]){0, 4}, 1};
    heed_tokenizer *base =
        heed_vocabulary_train_lm(cx, (const heed_lines *const[]){&lines}, 1, HEED_TOKENS_BYTE_BPE, 300, false);
    assert_non_null(base);
    for (int i = 0; i < 4; i++) {
        heed_chat_format f, found;
        heed_chat_text text = {0};
        heed_ids ids = {0};
        assert_true(heed_chat_format_named(names[i], &f));
        assert_true(heed_chat_recognise(cx, "its own", heed_chat_template(&f), &found));
        assert_string_equal(heed_chat_format_name(&found), names[i]);
        assert_true(heed_chat_render(cx, &found, m, 2, true, &text));
        assert_string_equal(text.text.s, want[i]); /* as Jinja renders the template */
        int n = 0;
        while (heed_chat_tokens(&f)[n]) n++;
        heed_tokenizer *more = heed_tokenizer_add(cx, base, heed_chat_tokens(&f), n),
                       *again = heed_tokenizer_add(cx, more, heed_chat_tokens(&f), n);
        assert_non_null(again);
        assert_int_equal(heed_tokenizer_size(more), heed_tokenizer_size(base) + n);
        assert_int_equal(heed_tokenizer_size(again), heed_tokenizer_size(more));
        assert_true(heed_chat_encode(cx, more, &text, &ids, NULL));
        int special = 0;
        for (int64_t k = 0; k < ids.count; k++) special += heed_tokenizer_is_special(more, ids.id[k]);
        assert_int_equal(special, specials[i]);
        assert_true(heed_chat_end(&f, more) >= heed_tokenizer_size(base));
        heed_tokenizer_free(cx, more), heed_tokenizer_free(cx, again);
        heed_ids_free(cx, &ids);
        heed_chat_text_free(cx, &text);
    }
    heed_chat_format llama2;
    assert_true(heed_chat_format_named("llama2", &llama2));
    assert_null(heed_chat_template(&llama2));
    assert_null(heed_chat_tokens(&llama2));
    assert_null(heed_tokenizer_add(cx, NULL, NULL, 0));
    EXPECT_SENTENCE(cx, "tokenizer_add: a tokenizer and tokens are needed");
    heed_tokenizer_free(cx, base);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),  cmocka_unit_test(test_tokens),
                                       cmocka_unit_test(test_several), cmocka_unit_test(test_templates),
                                       cmocka_unit_test(test_begin),   cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
