/* Models and their directories: settings, config.json, what is refused. */
#include "comma_locale.h"
#include "heed/model.h"
#include "io/io_test.h"
#include "model/core/directory.h"
#include "model/core/families.h"
#include "model/small_model.h"

#include <sys/stat.h>

static heed_model *small(heed_ctx *cx, const char *family, const char *more) {
    return small_model(cx, heed_family_find(family), NULL, more, 1);
}

static void remove_model(const char *dir) { directory_drop(dir); }

/* Weights are never beside the config of another model: where it says otherwise, it goes before they are written. */
static void test_replaced(void **state) {
    (void)state;
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_ctx *cx = open_context();
    heed_model *a = small(cx, "mlp", "activation=tanh"), *b = small(cx, "mlp", "task=classify");
    char config[600], weights[600], decoding[600];
    snprintf(config, sizeof config, "%s/config.json", dir);
    snprintf(weights, sizeof weights, "%s/model.safetensors", dir);
    snprintf(decoding, sizeof decoding, "%s/generation_config.json", dir);
    assert_true(heed_model_save(cx, a, dir));
    write_bytes(decoding, "{}", 2);
    assert_int_equal(unlink(weights), 0);
    assert_int_equal(mkdir(weights, 0777), 0); /* so that writing them fails */
    assert_false(heed_model_save(cx, a, dir));
    EXPECT_SENTENCE(cx, "model.safetensors");
    assert_int_equal(access(config, F_OK), 0); /* the same model */
    assert_int_equal(access(decoding, F_OK), 0);
    assert_false(heed_model_save(cx, b, dir));
    EXPECT_SENTENCE(cx, "model.safetensors");
    assert_int_equal(access(config, F_OK), -1); /* another one */
    assert_int_equal(access(decoding, F_OK), -1);
    assert_int_equal(rmdir(weights), 0);
    assert_true(heed_model_save(cx, b, dir));
    heed_model *again = heed_model_load(cx, dir);
    assert_non_null(again);
    heed_model_free(cx, again);
    heed_model_free(cx, a);
    heed_model_free(cx, b);
    close_context(cx);
    remove_model(dir);
}

static void test_directory_lock(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const int lock = directory_lock(cx, folder);
    assert_true(lock >= 0);
    assert_int_equal(directory_lock(cx, folder), -1);
    EXPECT_SENTENCE(cx, "another process is writing into this directory");
    directory_unlock(lock);
    const int again = directory_lock(cx, folder);
    assert_true(again >= 0);
    directory_unlock(again);
    directory_unlock(-1);
    assert_int_equal(directory_lock(cx, in_folder("none")), -1);
    EXPECT_SENTENCE(cx, "none: No such file");
    close_context(cx);
}

/* A text without a token is classified by the bias alone, whatever is pooled. */
static void test_no_tokens(void **state) {
    (void)state;
    static const char *const pooling[] = {"num_labels=3 pooling=last", "num_labels=3 pooling=mean",
                                          "num_labels=3 pooling=max"};
    for (int k = 0; k < 3; k++) {
        heed_ctx *cx = open_context();
        const heed_family *family = heed_family_find("gru");
        heed_model *m = small_model(cx, family, heed_head_for(family, "classify"), pooling[k], 1);
        heed_io in = {0}, out = {0};
        heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, (int32_t[]){1, 2, 3, 4, 5, 6}, 2, (int64_t[]){2, 3}));
        heed_io_put(cx, &in, "attention_mask", heed_from_i32(cx, (int32_t[]){1, 1, 1, 0, 0, 0}, 2, (int64_t[]){2, 3}));
        assert_true(m && heed_model_forward(cx, m, &in, &out));
        const float *logits = heed_f32(heed_io_get(&out, "logits"));
        const heed_param *bias = heed_params_find(heed_model_params(m), "output.bias");
        for (int i = 0; i < 3; i++) {
            assert_true(isfinite(logits[i]));
            assert_true(logits[3 + i] == ((const float *)bias->data)[i]);
        }
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* A host program may have set a locale with decimal commas: numbers of settings and files have points. */
static void test_any_locale(void **state) {
    (void)state;
    static const char *const settings[] = {"input_size=3", "output_size=2", "dropout=0.25"};
    char dir[512];
    if (!set_comma_locale()) skip();
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_ctx *cx = open_context();
    heed_model *m = heed_model_new(cx, heed_family_find("mlp"), settings, 3, 1);
    assert_true(heed_model_save(cx, m, dir));
    setlocale(LC_ALL, "C");
    heed_model *again = heed_model_load(cx, dir);
    assert_true(heed_json_number(cx, heed_model_config(again), "dropout") == 0.25);
    heed_model_free(cx, m);
    heed_model_free(cx, again);
    close_context(cx);
    remove_model(dir);
}

static void test_settings(void **state) {
    (void)state;
    static const struct {
        const char *settings[5];
        const char *sentence;
    } wrong[] = {
        {{"output_size=2"}, "mlp: input_size must be given"},
        {{"input_size=2", "output_size=2", "hiden=3"},
         "mlp: 'hiden' is not a key of its config; these are: input_size"},
        {{"input_size"}, "mlp: 'input_size' is not of the form key=value"},
        {{"input_size=two"}, "mlp: input_size: 'two' is not a whole number"},
        {{"input_size="}, "mlp: input_size: '' is not a whole number"},
        {{"input_size=1.5"}, "is not a whole number"},
        {{"input_size=99999999999999999999"}, "is not a whole number"},
        {{"input_size=0", "output_size=2"}, "mlp: input_size: 0 is not between 1 and"},
        {{"input_size=2", "output_size=2", "dropout=nan"}, "mlp: dropout: 'nan' is not a number"},
        {{"input_size=2", "output_size=2", "dropout=1.5"}, "mlp: dropout: 1.5 is not between 0 and 1"},
        {{"input_size=2", "output_size=2", "task=guess"}, "mlp: task: 'guess' is not one of: regress, classify"},
        {{"input_size=2", "output_size=2", "activation=rlu"},
         "mlp: activation: 'rlu' is not one of: linear, identity, relu"},
        {{"input_size=2", "output_size=2", "hidden_sizes=[4,x]"}, "mlp: hidden_sizes: '[4,x]' is not whole numbers"},
        {{"input_size=2", "output_size=2", "hidden_sizes=4,"}, "is not whole numbers"},
        {{"input_size=2", "output_size=2", "hidden_sizes=-1"}, "mlp: hidden_sizes[0]: -1 is not between 1 and "},
        {{"input_size=2", "output_size=2", "standardize_input=yes"}, "is not true or false"},
        {{"input_size=2", "output_size=2", "standardize_output=true", "task=classify"}, "classes cannot be"},
        {{"input_size=2", "output_size=2", "image_size=3,3"}, "mlp: image_size: 1 x 3 x 3 numbers are not the 2"},
        {{"input_size=2", "output_size=2", "image_size=3"}, "height and width are two numbers"},
        {{"input_size=1000000000000", "output_size=1000000000000", "hidden_sizes=1000000000000"}, "param: 'weight'"},
    };
    heed_ctx *cx = open_context();
    const heed_family *mlp = heed_family_find("mlp");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int n = 0;
        while (n < 5 && wrong[i].settings[n]) n++;
        assert_null(heed_model_new(cx, mlp, wrong[i].settings, n, 1));
        EXPECT_SENTENCE(cx, wrong[i].sentence);
    }
    char many[2100] = "hidden_sizes=1";
    for (int i = 0; i < 99; i++) strcat(many, ",1");
    heed_model *deep = heed_model_new(cx, mlp, (const char *[]){"input_size=1", "output_size=1", many}, 3, 1);
    assert_non_null(deep);
    heed_model_free(cx, deep);
    for (int i = 0; i < 925; i++) strcat(many, ",1");
    assert_null(heed_model_new(cx, mlp, (const char *[]){"input_size=1", "output_size=1", many}, 3, 1));
    EXPECT_SENTENCE(cx, "hidden_sizes: 1025 numbers are more than 1024");
    assert_null(heed_model_new(cx, NULL, NULL, 0, 1));
    EXPECT_SENTENCE(cx, "the family is NULL");
    assert_null(heed_model_new(cx, mlp, (const char *[]){"input_size=1", NULL}, 2, 1));
    EXPECT_SENTENCE(cx, "mlp: a setting is NULL");
    close_context(cx);
}

static void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

/* What the family does not know is kept; what is missing or null gets its standard value. */
static void test_config_is_kept(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_model *m = small(cx, "linear", NULL);
    heed_model_save(cx, m, dir);
    heed_model_free(cx, m);
    write_text(
        in_folder("model/config.json"),
        "{\"model_type\": \"heed-linear\", \"id2label\": {\"0\": \"cat\"}, \"input_size\": 3, \"output_size\": 2,"
        " \"task\": null, \"note\": [1, 2.5]}");
    m = heed_model_load(cx, dir);
    if (!m) fail_msg("%s", heed_message(cx));
    assert_string_equal(heed_json_text(cx, heed_model_config(m), "task"), "regress");
    assert_false(heed_json_bool(cx, heed_model_config(m), "standardize_input"));
    heed_json_put_text(cx, heed_model_config(m), "trained_on", "digits");
    assert_true(heed_model_save(cx, m, dir));
    heed_model_free(cx, m);
    const heed_json config = heed_json_open(cx, in_folder("model/config.json"));
    assert_string_equal(heed_json_text(cx, heed_json_object(cx, config, "id2label"), "0"), "cat");
    assert_int_equal(heed_json_count(heed_json_array(cx, config, "note")), 2);
    assert_string_equal(heed_json_text(cx, config, "trained_on"), "digits");
    heed_json_free(config);
    remove_model(dir);
    close_context(cx);
}

/* A directory is opened once, and any number of models are made of it, each with a config of its own. */
static void test_opened(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char dir[512], path[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_model *m = small(cx, "linear", NULL);
    heed_model_save(cx, m, dir);
    heed_model_free(cx, m);
    heed_directory *d = heed_directory_open(cx, dir);
    if (!d) fail_msg("%s", heed_message(cx));
    snprintf(path, sizeof path, "%s", in_folder("model/config.json"));
    assert_int_equal(unlink(path), 0); /* it is not read again */
    assert_string_equal(heed_directory_path(d), dir);
    assert_string_equal(heed_directory_type(d), "heed-linear");
    assert_ptr_equal(heed_directory_family(d), heed_family_find("linear"));
    assert_ptr_equal(heed_directory_head(d), heed_head_for(heed_family_find("linear"), NULL));
    heed_model *models[2] = {heed_directory_model(cx, d, NULL),
                             heed_directory_model(cx, d, &(heed_load_opts){.map = true})};
    if (!models[0] || !models[1]) fail_msg("%s", heed_message(cx));
    heed_json_put_text(cx, heed_model_config(models[0]), "note", "one");
    assert_int_equal(heed_json_kind_of(heed_json_find(cx, heed_model_config(models[1]), "note")), HEED_JSON_NONE);
    assert_int_equal(heed_json_kind_of(heed_json_find(cx, heed_directory_config(d), "note")), HEED_JSON_NONE);
    heed_json_put_int(cx, heed_model_config(models[1]), "input_size", -1);
    config_int(cx, heed_model_config(models[1]), "input_size", 1, 9); /* a sentence begins with the file */
    EXPECT_SENTENCE(cx, path);
    assert_null(heed_directory_model(cx, d, &(heed_load_opts){.base = dir}));
    EXPECT_SENTENCE(cx, "directory_model: ");
    assert_null(heed_directory_model(cx, NULL, NULL));
    EXPECT_SENTENCE(cx, "directory_model: the directory is NULL");
    heed_directory_close(cx, d);
    for (int i = 0; i < 2; i++) heed_model_free(cx, models[i]);

    write_text(path, "{\"model_type\": \"heed-ngram\"}");
    assert_non_null(d = heed_directory_open(cx, dir));
    assert_string_equal(heed_directory_type(d), "heed-ngram");
    assert_null(heed_directory_family(d));
    assert_null(heed_directory_head(d));
    assert_null(heed_directory_model(cx, d, NULL));
    EXPECT_SENTENCE(cx, "config.json: model_type: 'heed-ngram' is an n-gram model");
    heed_directory_close(cx, d);
    write_text(path, "{\"model_type\": \"bert\", \"architectures\": [\"BertForDancing\"]}");
    assert_non_null(d = heed_directory_open(cx, dir));
    assert_ptr_equal(heed_directory_family(d), heed_family_find("bert"));
    assert_null(heed_directory_head(d));
    heed_directory_close(cx, d);
    assert_null(heed_directory_open(cx, NULL));
    EXPECT_SENTENCE(cx, "directory_open: the path is NULL");
    heed_directory_close(cx, NULL);
    remove_model(dir);
    close_context(cx);
}

static heed_tokenizer *letters(heed_ctx *cx, const char *text) {
    heed_string s = {0};
    heed_lines lines = {0};
    assert_true(heed_string_put(cx, &s, text, strlen(text)) && heed_lines_cut(cx, &s, &lines));
    const heed_lines *const texts[] = {&lines};
    heed_tokenizer *t = heed_tokenizer_train(cx, texts, 1, &(heed_tokenizer_opts){.kind = HEED_TOKENS_CHAR});
    assert_non_null(t);
    heed_lines_free(cx, &lines);
    return t;
}

/* Every file that is written is removed with the directory, and none outlives the model that it belongs to. */
static void test_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char dir[512], copy[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    snprintf(copy, sizeof copy, "%s", in_folder("copy"));
    heed_model *plain = small(cx, "linear", NULL);
    assert_true(heed_model_save(cx, plain, dir));
    write_text(in_folder("model/generation_config.json"), "{\"num_beams\": 3}");
    heed_model *m = heed_model_load(cx, dir);
    assert_int_equal(heed_json_int(cx, heed_model_decoding(m), "num_beams"), 3);
    heed_tokenizer *tokens[2] = {letters(cx, "ab\n"), letters(cx, "cd\n")};
    assert_true(heed_model_save(cx, m, copy) && directory_save_tokenizers(cx, dir, tokens) &&
                directory_copy_tokenizers(cx, dir, copy));
    heed_model_free(cx, m);
    static const char *const all[] = {CONFIG_FILE, GENERATION_CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE,
                                      TARGET_TOKENIZER_FILE};
    for (int i = 0; i < 5; i++) assert_true(directory_has(copy, all[i]));
    directory_drop(copy);
    assert_int_not_equal(access(copy, F_OK), 0);

    /* a model without generation_config.json, with one vocabulary, in the place of one with both */
    assert_true(heed_model_save(cx, plain, dir) &&
                directory_save_tokenizers(cx, dir, (heed_tokenizer *[2]){tokens[0], tokens[0]}));
    assert_false(directory_has(dir, GENERATION_CONFIG_FILE) || directory_has(dir, TARGET_TOKENIZER_FILE));
    write_text(in_folder("model/notes.txt"), "mine");
    directory_drop(dir);
    assert_true(directory_has(dir, "notes.txt"));
    assert_false(directory_has(dir, WEIGHTS_FILE));
    assert_true(directory_remove(cx, dir, "notes.txt") && directory_remove(cx, dir, "notes.txt"));
    assert_false(directory_remove(cx, folder, "model")); /* which is a directory */
    EXPECT_SENTENCE(cx, "/model: ");
    directory_drop(dir);
    heed_model_free(cx, plain);
    for (int i = 0; i < 2; i++) heed_tokenizer_free(cx, tokens[i]);
    close_context(cx);
}

static void test_wrong_directories(void **state) {
    (void)state;
    static const struct {
        const char *config, *sentence;
    } wrong[] = {
        {"{", "model/config.json: line 1"},
        {"[]", "expected an object, found an array"},
        {"{}", "model/config.json: model_type: missing"},
        {"{\"model_type\": 3}", "model_type: expected a string"},
        {"{\"model_type\": \"bird\"}", "model/config.json: model_type: no family of heed's is 'bird'"},
        {"{\"model_type\": \"mlp\"}", "no family of heed's is 'mlp'"}, /* the name, not the type */
        {"{\"model_type\": \"heed-linear\"}", "model/config.json: input_size: missing"},
        {"{\"model_type\": \"heed-linear\", \"input_size\": \"3\"}", "input_size: expected an integer, found a string"},
        {"{\"model_type\": \"heed-linear\", \"input_size\": 3, \"output_size\": -2}", "output_size: -2 is not between"},
        {"{\"model_type\": \"heed-linear\", \"input_size\": 4, \"output_size\": 2}",
         "model: 1 name does not fit: misshapen 'linear.weight' is (2,3), not (2,4)"},
        {"{\"model_type\": \"heed-mlp\", \"input_size\": 3, \"output_size\": 2, \"hidden_sizes\": [1.5]}",
         "hidden_sizes[0]: expected an integer"},
        {"{\"architecture\": \"swin_tiny_patch4_window7_224\", \"model_args\": {\"num_heads\": null}}",
         "num_heads: each stage needs a number of heads"},
    };
    heed_ctx *cx = open_context();
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_model *m = small(cx, "linear", NULL);
    heed_model_save(cx, m, dir);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(in_folder("model/config.json"), wrong[i].config);
        assert_null(heed_model_load(cx, dir));
        EXPECT_SENTENCE(cx, wrong[i].sentence);
    }
    heed_model_save(cx, m, dir);
    remove(in_folder("model/model.safetensors"));
    assert_null(heed_model_load(cx, dir));
    EXPECT_SENTENCE(cx, "model");
    remove_model(dir);
    assert_null(heed_model_load(cx, dir));
    EXPECT_SENTENCE(cx, "model/config.json");
    assert_null(heed_model_load(cx, NULL));
    EXPECT_SENTENCE(cx, "model_load: the directory is NULL");
    write_text(in_folder("file"), "");
    assert_false(heed_model_save(cx, m, in_folder("file/model")));
    EXPECT_SENTENCE(cx, "file");
    remove(in_folder("file"));
    assert_true(heed_model_save(cx, m, in_folder("a/b/"))); /* those above it are made too */
    remove_model(in_folder("a/b"));
    remove(in_folder("a"));
    assert_false(heed_model_save(cx, NULL, dir));
    EXPECT_SENTENCE(cx, "model_save");
    assert_false(heed_model_forward(cx, NULL, NULL, NULL));
    EXPECT_SENTENCE(cx, "model_forward: the model is NULL");
    assert_false(heed_model_sample(cx, m, 0, 1, &(heed_io){0}));
    EXPECT_SENTENCE(cx, "model_sample");
    heed_model_free(cx, m);
    heed_model_free(cx, NULL);
    close_context(cx);
}

/* An input that the head does not read is a name misspelt, and what it takes is said. */
static void test_unknown_inputs(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const settings[] = {"vocab_size=9",          "hidden_size=4",       "num_hidden_layers=1",
                                           "num_attention_heads=1", "intermediate_size=4", "max_position_embeddings=8"};
    heed_model *m = heed_model_new(cx, heed_family_find("bert"), settings, 6, 1);
    heed_io in = {0}, out = {0};
    heed_tensor *ids = heed_from_i32(cx, (const int32_t[]){1, 2, 0}, 2, (const int64_t[]){1, 3});
    heed_io_put(cx, &in, "input_ids", ids);
    heed_io_put(cx, &in, "atention_mask", ids);
    assert_non_null(m);
    assert_false(heed_model_forward(cx, m, &in, &out));
    EXPECT_SENTENCE(cx, "'atention_mask' is not an input of BertForMaskedLM, which takes: input_ids attention_mask");
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_io(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_io io = {0};
    char name[8];
    heed_tensor *t = heed_full(cx, 1, 0, NULL), *u = heed_full(cx, 2, 0, NULL);
    for (int i = 0; i < 100; i++) { /* names are copied, and there is no limit */
        snprintf(name, sizeof name, "t%d", i);
        assert_true(heed_io_put(cx, &io, name, i == 50 ? u : t));
    }
    assert_int_equal(io.n, 100);
    assert_ptr_equal(heed_io_get(&io, "t50"), u);
    assert_true(heed_io_put(cx, &io, "t7", u)); /* the same name again replaces */
    assert_ptr_equal(heed_io_get(&io, "t7"), u);
    assert_int_equal(io.n, 100);
    assert_null(heed_io_get(&io, "z"));
    assert_null(heed_io_get(NULL, "z"));
    assert_false(heed_io_put(cx, &io, "z", NULL));
    EXPECT_SENTENCE(cx, "io: ");
    close_context(cx);
}

/* Memory refused at any moment is a sentence, and nothing is lost. */
static void test_refused_memory(void **state) {
    (void)state;
    heed_ctx *maker = open_context();
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    heed_model *m = small(maker, "mlp", "standardize_input=true standardize_output=true");
    heed_model_save(maker, m, dir);
    heed_model_free(maker, m);
    close_context(maker);
    bool through = false;
    for (int64_t n = 1; !through; n++) {
        heed_ctx *cx = open_context();
        books.fail_at = books.requests + n;
        heed_model *loaded = heed_model_load(cx, dir);
        heed_io in, out;
        heed_model_sample(cx, loaded, 2, 1, &in);
        const bool ran = loaded && !heed_failed(cx) && heed_model_forward(cx, loaded, &in, &out);
        through = books.requests < books.fail_at;
        assert_true(ran || !through); /* the arena may get by with a smaller piece */
        assert_int_equal(heed_error(cx), ran ? HEED_OK : HEED_ERR_MEMORY);
        heed_model_free(cx, loaded);
        heed_clear(cx);
        close_context(cx);
        assert_true(n < 1000);
    }
    remove_model(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_config_is_kept),
        cmocka_unit_test(test_opened),
        cmocka_unit_test(test_wrong_directories),
        cmocka_unit_test(test_io),
        cmocka_unit_test(test_unknown_inputs),
        cmocka_unit_test(test_refused_memory),
        cmocka_unit_test(test_no_tokens),
        cmocka_unit_test(test_any_locale),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_directory_lock),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
