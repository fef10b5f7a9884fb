/* heed_attend: labelled maps of a text, a pair, a text with its target, and rows of numbers, of any family. */
#include "heed/attend.h"
#include "heed/plot.h"
#include "heed/translate.h"
#include "io/io_test.h"

#define MAKE(cx, family, ...)                                                                                          \
    heed_model_new(cx, heed_family_find(family), (const char *const[]){__VA_ARGS__},                                   \
                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), 3)

/* Words, with [CLS] and [SEP] as BERT has them. */
static const char words[] =
    "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":0,\"content\":\"[PAD]\",\"special\":true},"
    "{\"id\":1,\"content\":\"[CLS]\",\"special\":true},{\"id\":2,\"content\":\"[SEP]\",\"special\":true},"
    "{\"id\":3,\"content\":\"[UNK]\",\"special\":true}],"
    "\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0}"
    "},"
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}}],"
    "\"pair\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},"
    "{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}},"
    "{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":1}}],"
    "\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[1],\"tokens\":[\"[CLS]\"]},"
    "\"[SEP]\":{\"id\":\"[SEP]\",\"ids\":[2],\"tokens\":[\"[SEP]\"]}}},"
    "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"[UNK]\",\"vocab\":{\"[PAD]\":0,\"[CLS]\":1,\"[SEP]\":2,"
    "\"[UNK]\":3,\"how\":4,\"old\":5,\"six\":6,\"\\u0120are\":7,\"\\u2581you\":8,\"x\\u001by\":9}}}";

static heed_tokenizer *tokenizer(heed_ctx *cx) {
    const char *path = in_folder("tokenizer.json");
    write_bytes(path, words, sizeof words - 1);
    heed_tokenizer *t = heed_tokenizer_load(cx, path);
    if (!t) fail_msg("%s", heed_message(cx));
    remove(path);
    return t;
}

static void check_names(const char *const *names, int64_t n, const char *const *want) {
    for (int64_t i = 0; i < n; i++) assert_string_equal(names[i], want[i]);
    assert_null(want[n]);
}
#define NAMES(names, n, ...) check_names(names, n, (const char *const[]){__VA_ARGS__, NULL})

static heed_model *bert(heed_ctx *cx) {
    return MAKE(cx, "bert", "vocab_size=10", "hidden_size=8", "num_hidden_layers=2", "num_attention_heads=2",
                "intermediate_size=8", "max_position_embeddings=12", "initializer_range=0.5");
}

/* The maps are those of a capture of heed_model_forward, and token_type_ids count. */
static void test_pair(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = bert(cx);
    heed_tokenizer *t[2] = {tokenizer(cx), NULL};
    t[1] = t[0];
    assert_true(heed_model_takes(m, "token_type_ids") && !heed_model_takes(m, "type_ids"));
    heed_attended *a = heed_attend(cx, m, t, &(heed_attend_input){.text = "how old", .pair = "six"});
    if (!a) fail_msg("%s", heed_message(cx));
    assert_int_equal(a->n, 1);
    assert_string_equal(a->sites[0].name, "attention");
    assert_null(a->sites[0].title);
    assert_int_equal(a->sites[0].n_maps, 2);
    assert_string_equal(a->text, "how old");
    assert_string_equal(a->pair, "six");
    assert_null(a->target);
    const heed_axis *axis = a->sites[0].queries;
    assert_ptr_equal(axis, a->sites[0].keys);
    assert_string_equal(axis->what, "text");
    NAMES(axis->tokens, axis->n, "[CLS]", "how", "old", "[SEP]", "six", "[SEP]");
    assert_null(axis->next);
    heed_io in = {0}, out;
    const int32_t ids[] = {1, 4, 5, 2, 6, 2}, types[] = {0, 0, 0, 0, 1, 1};
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids, 2, (int64_t[]){1, 6}));
    heed_io_put(cx, &in, "token_type_ids", heed_from_i32(cx, types, 2, (int64_t[]){1, 6}));
    assert_true(heed_capture_begin(cx, NULL));
    assert_true(heed_model_forward(cx, m, &in, &out));
    for (int l = 0; l < 2; l++) {
        const heed_capture_map *got = &a->sites[0].maps[l], *want = heed_capture_at(cx, l);
        assert_true(got->layer == l && got->heads == 2 && got->rows == 6 && got->keys == 6 && got->batch == 1);
        assert_memory_equal(got->weights, want->weights, 2 * 36 * sizeof(float));
    }
    /* rows: the class token's, and the mean of both heads */
    float row[6], heads[2][6];
    assert_true(axis->has_class && axis->rows == 0);
    assert_true(heed_attended_row(cx, &a->sites[0], 1, -1, HEED_QUERY_DEFAULT, row));
    for (int h = 0; h < 2; h++) {
        assert_true(heed_attended_row(cx, &a->sites[0], 1, h, 0, heads[h]));
        assert_memory_equal(heads[h], a->sites[0].maps[1].weights + h * 36, sizeof heads[h]);
    }
    for (int j = 0; j < 6; j++) assert_true(fabsf(row[j] - (heads[0][j] + heads[1][j]) / 2) < 1e-6f);
    heed_image view;
    assert_false(heed_attended_view(cx, a, 0, 100, &view));
    EXPECT_SENTENCE(cx, "attended: a picture's site");
    assert_false(heed_attended_rollout(cx, a, 0, 1, 0, row));
    EXPECT_SENTENCE(cx, "attended: rollout goes over a picture");
    assert_false(heed_picture_page(cx, in_folder("page.html"), a, NULL));
    EXPECT_SENTENCE(cx, "picture_page: there is no attention over a picture");
    assert_null(heed_attend(cx, m, t, &(heed_attend_input){.text = "how"})); /* there is a capture */
    EXPECT_SENTENCE(cx, "capture: it has begun already");
    heed_capture_end(cx);
    heed_attended_free(cx, a);
    /* labels: without marks and control characters */
    a = heed_attend(cx, m, t, &(heed_attend_input){.text = "\u0120are \u2581you x\x1by"});
    NAMES(a->sites[0].keys->labels, 5, "[CLS]", "are", "you", "x\\x1By", "[SEP]");
    NAMES(a->sites[0].keys->tokens, 5, "[CLS]", "\u0120are", "\u2581you", "x\x1by", "[SEP]");
    heed_attended_free(cx, a);
    heed_tokenizer_free(cx, t[0]);
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_target(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m =
        MAKE(cx, "transformer", "vocab_size=10", "d_model=8", "encoder_layers=1", "decoder_layers=2",
             "encoder_attention_heads=2", "decoder_attention_heads=2", "encoder_ffn_dim=8", "decoder_ffn_dim=8",
             "max_position_embeddings=12", "eos_token_id=2", "decoder_start_token_id=0", "pad_token_id=0");
    if (!m) fail_msg("%s", heed_message(cx));
    heed_tokenizer *t[2] = {tokenizer(cx), NULL};
    t[1] = t[0];
    heed_attended *a = heed_attend(cx, m, t, &(heed_attend_input){.text = "how old", .target = "six"});
    if (!a) fail_msg("%s", heed_message(cx));
    static const char *const names[] = {"encoder", "decoder", "cross"};
    assert_int_equal(a->n, 3);
    for (int i = 0; i < 3; i++) {
        bool found = false;
        for (int s = 0; s < 3; s++) {
            if (strcmp(a->sites[s].name, names[i]) != 0) continue;
            found = true;
            assert_string_equal(a->sites[s].queries->what, i ? "target" : "source");
            assert_string_equal(a->sites[s].keys->what, i == 1 ? "target" : "source");
            assert_int_equal(a->sites[s].n_maps, i ? 2 : 1);
            if (i == 0) continue;
            NAMES(a->sites[s].queries->tokens, 2, "[PAD]", "six");
            NAMES(a->sites[s].queries->next, 2, "six", "[SEP]");
        }
        assert_true(found);
    }
    heed_attended_free(cx, a);
    a = heed_attend(cx, m, t, &(heed_attend_input){.text = "how old"}); /* its own translation */
    assert_non_null(a);
    assert_non_null(a->target);
    heed_attended_free(cx, a);
    assert_null(heed_attend(cx, m, t, &(heed_attend_input){.text = "how", .pair = "old"}));
    EXPECT_SENTENCE(cx, "attend: --pair: a model of family transformer reads one text");
    heed_tokenizer_free(cx, t[0]);
    heed_model_free(cx, m);
    close_context(cx);
}

/* Queries are rows, keys the points; one attention that is made of ops. */
static void test_numbers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = MAKE(cx, "kernel-pooling", "points=3", "input_size=2");
    float *keys = heed_params_find(heed_model_params(m), "keys")->value;
    memcpy(keys, (float[]){0, 0, 1.5f, -2, 100, 0.25f}, 6 * sizeof *keys);
    const float x[] = {1.5f, -2, 0, 0.125f};
    heed_attended *a = heed_attend(cx, m, NULL, &(heed_attend_input){.x = x, .rows = 2, .columns = 2});
    if (!a) fail_msg("%s", heed_message(cx));
    assert_int_equal(a->n, 1);
    assert_null(a->text);
    NAMES(a->sites[0].queries->labels, 2, "1.5, -2", "0, 0.125");
    NAMES(a->sites[0].keys->labels, 3, "0, 0", "1.5, -2", "100, 0.25");
    assert_string_equal(a->sites[0].keys->what, "points");
    const float *w = a->sites[0].maps[0].weights;
    assert_true(w[1] > w[0] && w[3] > w[4] && w[2] == 0 && fabsf(w[0] + w[1] - 1) < 1e-6f);
    heed_attended_free(cx, a);
    assert_null(heed_attend(cx, m, NULL, &(heed_attend_input){.text = "how"}));
    EXPECT_SENTENCE(cx, "attend: a model of family kernel-pooling reads no text, but rows of numbers");
    heed_model_free(cx, m);
    m = MAKE(cx, "mlp", "input_size=2", "output_size=1");
    assert_null(heed_attend(cx, m, NULL, &(heed_attend_input){.x = x, .rows = 2, .columns = 2}));
    EXPECT_SENTENCE(cx, "attend: a model of family mlp has no attention");
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = bert(cx);
    heed_tokenizer *t[2] = {tokenizer(cx), NULL};
    const struct {
        heed_attend_input input;
        const char *sentence;
    } cases[] = {
        {{.text = ""}, "attend: the text is empty"},
        {{.text = "a\xff"}, "attend: the text is not UTF-8 at byte 2"},
        {{.text = "how", .pair = " "}, "attend: the second text is empty"},
        {{.text = "how", .target = "old"}, "attend: --target: a model of family bert has no target"},
        {{.x = (float[]){1}, .rows = 1, .columns = 1}, "attend: a model of family bert reads text"},
        {{.text = "how how how how how how how how how how how"}, "the model has positions for 12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(heed_attend(cx, m, t, &cases[i].input));
        EXPECT_SENTENCE(cx, cases[i].sentence);
    }
    assert_null(heed_attend(cx, m, NULL, &cases[0].input));
    EXPECT_SENTENCE(cx, "a text and a tokenizer are needed");
    assert_null(heed_attend(cx, NULL, t, &cases[0].input));
    EXPECT_SENTENCE(cx, "attend: the model is NULL");
    heed_attended_free(cx, NULL);
    /* the N-th allocation refused, for every N */
    for (int n = 1, failed = 1; failed; n++) {
        books.fail_at = books.requests + n;
        heed_attended *a = heed_attend(cx, m, t, &(heed_attend_input){.text = "how old", .pair = "six"});
        books.fail_at = 0;
        failed = !a;
        assert_true(a || heed_error(cx) == HEED_ERR_MEMORY);
        heed_clear(cx);
        heed_attended_free(cx, a);
    }
    heed_tokenizer_free(cx, t[0]);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair),
        cmocka_unit_test(test_target),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
