/* The encoder-decoders: Marian, BART, mBART and Pegasus. Config keys, how decoders get their inputs, causality and what
 * is refused; test_golden.c compares them with transformers. */
#include "heed/model.h"
#include "io/io_test.h"

static const char *const cases[] = {"marian-shared", "marian-apart", "marian-untied", "bart", "mbart", "pegasus"};
enum { CASES = 6 };

struct scene {
    heed_ctx *cx;
    heed_model *model;
    heed_io in; /* input_ids, attention_mask (3,6); labels (3,5) */
};

/* Tokens from 2 to 16, which all of them have. */
static heed_tensor *tokens(heed_ctx *cx, int64_t length) {
    int32_t ids[18];
    for (int i = 0; i < 18; i++) ids[i] = 2 + 7 * i % 15;
    return heed_from_i32(cx, ids, 2, (int64_t[]){3, length});
}

static void open_scene(struct scene *s, const char *name) {
    static const int32_t mask[18] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1};
    char dir[600];
    *s = (struct scene){.cx = heed_open(&(heed_config){.threads = 1})};
    snprintf(dir, sizeof dir, "%s/model/%s", getenv("HEED_GOLDEN"), name);
    s->model = heed_model_load(s->cx, dir);
    if (!s->model) fail_msg("%s", heed_message(s->cx));
    heed_io_put(s->cx, &s->in, "input_ids", tokens(s->cx, 6));
    heed_io_put(s->cx, &s->in, "attention_mask", heed_from_i32(s->cx, mask, 2, (int64_t[]){3, 6}));
    heed_io_put(s->cx, &s->in, "labels", tokens(s->cx, 5));
}

static void close_scene(struct scene *s) {
    heed_model_free(s->cx, s->model);
    heed_close(s->cx);
}

/* Another last word changes no bit before it. */
static void check_causality(const char *name) {
    struct scene s;
    open_scene(&s, name);
    heed_set_grad(s.cx, false);
    const int64_t shape[] = {3, 5};
    int64_t V = 0;
    int32_t ids[15];
    float *kept[2];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 15; i++) ids[i] = i % 5 == 4 ? 3 + k : 2 + i;
        heed_io in = {0}, out = {0};
        heed_io_put(s.cx, &in, "input_ids", heed_io_get(&s.in, "input_ids"));
        heed_io_put(s.cx, &in, "decoder_input_ids", heed_from_i32(s.cx, ids, 2, shape));
        assert_true(heed_model_forward(s.cx, s.model, &in, &out));
        V = heed_dim(heed_io_get(&out, "logits"), -1);
        kept[k] = malloc(15 * (size_t)V * sizeof(float));
        assert_true(heed_copy_f32(s.cx, heed_io_get(&out, "logits"), kept[k], 15 * V));
    }
    const size_t row = (size_t)V * sizeof(float);
    for (int b = 0; b < 3; b++) {
        assert_memory_equal(kept[0] + b * 5 * V, kept[1] + b * 5 * V, 4 * row);
        assert_memory_not_equal(kept[0] + (b * 5 + 4) * V, kept[1] + (b * 5 + 4) * V, row);
    }
    free(kept[0]), free(kept[1]);
    close_scene(&s);
}

static void test_causality(void **unused) {
    (void)unused;
    for (int c = 0; c < CASES; c++) check_causality(cases[c]);
}

static void expect(struct scene *s, const char *words) {
    heed_io out = {0};
    assert_false(heed_model_forward(s->cx, s->model, &s->in, &out));
    if (!strstr(heed_message(s->cx), words)) fail_msg("'%s' lacks '%s'", heed_message(s->cx), words);
}

static void test_bad_input(void **unused) {
    (void)unused;
    static const int64_t wrong[] = {2, 6}, empty[] = {1, 40};
    static const struct {
        const char *name, *words;
        const int64_t *shape;
    } bad[] = {{"attention_mask", "attention_mask: shape (2,6) is not that of input_ids, (3,6)", wrong},
               {"decoder_input_ids", "labels: shape (3,5) is not that of decoder_input_ids", NULL},
               {"input_ids", "a sequence of 40 tokens: the model has positions for 32", empty}};
    for (int i = 0; i < 3; i++) {
        struct scene s;
        open_scene(&s, cases[0]);
        if (i == 2) s.in.n = 1; /* only the source */
        if (i == 2) heed_io_put(s.cx, &s.in, "labels", heed_zeros(s.cx, HEED_I32, 2, (int64_t[]){1, 4}));
        heed_io_put(s.cx, &s.in, bad[i].name,
                    heed_zeros(s.cx, HEED_I32, 2, bad[i].shape ? bad[i].shape : (int64_t[]){3, 4}));
        expect(&s, bad[i].words);
        close_scene(&s);
    }
    heed_ctx *cx = heed_open(NULL);
    const heed_family *f = heed_family_find("marian");
    assert_null(
        heed_model_new(cx, f, (const char *[]){"vocab_size=9", "d_model=10", "encoder_attention_heads=3"}, 3, 1));
    assert_non_null(strstr(heed_message(cx), "d_model"));
    heed_clear(cx);
    assert_null(heed_model_new(cx, f, (const char *[]){"vocab_size=9", "activation_function=step"}, 2, 1));
    assert_non_null(strstr(heed_message(cx), "activation_function"));
    heed_close(cx);
}

/* ---- config ---- */

static heed_model *small(heed_ctx *cx, const char *family, const char *setting) {
    const char *const settings[] = {"vocab_size=9",
                                    "d_model=4",
                                    "encoder_attention_heads=1",
                                    "encoder_layers=1",
                                    "decoder_layers=1",
                                    "decoder_attention_heads=2",
                                    setting};
    return heed_model_new(cx, heed_family_find(family), settings, setting ? 7 : 6, 1);
}

/* What a saved config.json says when `words` of it are replaced; the model that is opened, or NULL. */
static heed_model *reopened(heed_ctx *cx, const heed_model *m, const char *words, const char *by) {
    char dir[512], path[600];
    snprintf(dir, sizeof dir, "%s", in_folder("edited"));
    snprintf(path, sizeof path, "%s/config.json", dir);
    assert_true(heed_model_save(cx, m, dir));
    char *text = heed_json_print(cx, heed_model_config(m), 0, NULL), *at = strstr(text, words);
    if (!at) fail_msg("%s is not in %s", words, text);
    FILE *f = fopen(path, "w");
    fprintf(f, "%.*s%s%s", (int)(at - text), text, by, at + strlen(words));
    assert_int_equal(fclose(f), 0);
    heed_mem_free(cx, text);
    return heed_model_load(cx, dir);
}

/* Null is a value of some keys; what is missing in a file means what transformers takes it for. */
static void test_config(void **unused) {
    (void)unused;
    static const struct {
        const char *family, *key, *fresh, *absent;
    } keys[] = {{"transformer", "scale_embedding", "true", "false"},
                {"transformer", "activation_function", "\"relu\"", "\"gelu\""},
                {"transformer", "eos_token_id", "2", "0"},
                {"transformer", "forced_eos_token_id", "null", "null"},
                {"bart", "forced_eos_token_id", "2", "null"},
                {"bart", "scale_embedding", "false", "false"},
                {"mbart", "decoder_start_token_id", "null", "null"},
                {"mbart", "bos_token_id", "0", "0"},
                {"pegasus", "forced_eos_token_id", "1", "null"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
        heed_model *m = small(cx, keys[i].family, NULL);
        if (!m) fail_msg("%s", heed_message(cx));
        char words[80], found[80];
        snprintf(words, sizeof words, ",\"%s\":%s", keys[i].key, keys[i].fresh);
        heed_model *again = reopened(cx, m, words, "");
        if (!again) fail_msg("%s", heed_message(cx));
        snprintf(found, sizeof found, "\"%s\":%s", keys[i].key, keys[i].absent);
        char *text = heed_json_print(cx, heed_model_config(again), 0, NULL);
        if (!strstr(text, found)) fail_msg("%s is not in %s", found, text);
        heed_mem_free(cx, text);
        heed_model_free(cx, m);
        heed_model_free(cx, again);
        heed_close(cx);
    }
}

static void test_bad_config(void **unused) {
    (void)unused;
    static const struct {
        const char *family, *setting, *words;
    } bad[] = {
        {"bart", "activation_function=step", "activation_function: 'step' is not one of: linear, identity, relu, gelu"},
        {"bart", "forced_bos_token_id=9", "forced_bos_token_id: token 9 is not one of the 9 there are"},
        {"mbart", "forced_eos_token_id=two", "forced_eos_token_id: 'two' is not a whole number or null"},
        {"mbart", "encoder_layerdrop=1.5", "encoder_layerdrop: 1.5 is not between 0 and 1"},
        {"mbart", "eos_token_id=null", "eos_token_id: 'null' is not a whole number"},
        {"bart", "decoder_attention_heads=3", "decoder_attention_heads: 3 heads do not divide a d_model of 4"},
        {"pegasus", "d_model=5", "d_model: sine positions need an even width, not 5"},
        {"bart", "share_encoder_decoder_embeddings=false", "'share_encoder_decoder_embeddings' is not a key"},
    };
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(small(cx, bad[i].family, bad[i].setting));
        EXPECT_SENTENCE(cx, bad[i].words);
    }
    static const char *const said[][3] = {
        {"bart", "\"normalize_before\":true,",
         "normalize_before: true, but models of this type are built the other way"},
        {"pegasus", "\"static_position_embeddings\":false,", "static_position_embeddings: false, but"},
        {"mbart", "\"normalize_embedding\":false,", "normalize_embedding: false, but"},
        {"transformer", "\"add_final_layer_norm\":true,", "add_final_layer_norm: true, but"}};
    for (int i = 0; i < 4; i++) {
        heed_model *m = small(cx, said[i][0], NULL);
        char by[120];
        snprintf(by, sizeof by, "%s\"d_model\":", said[i][1]);
        assert_null(reopened(cx, m, "\"d_model\":", by));
        EXPECT_SENTENCE(cx, said[i][2]);
        heed_model_free(cx, m);
    }
    /* labels alone, and nothing to put them behind */
    heed_model *m = small(cx, "bart", "decoder_start_token_id=null");
    heed_io in, out;
    assert_true(heed_model_sample(cx, m, 2, 3, &in));
    assert_false(heed_model_forward(cx, m, &in, &out));
    EXPECT_SENTENCE(cx, "decoder_input_ids: needed, since decoder_start_token_id is null");
    heed_model_free(cx, m);
    heed_close(cx);
}

/* mBART's labels wrap: their last token, whatever padding follows, comes first; all else is one place on. */
static void test_wrapped(void **unused) {
    (void)unused;
    static const int32_t labels[] = {5, 6, 2, 8, 7, 2, 8, -100, 1, 1, 1, 1},
                         inputs[] = {8, 5, 6, 2, 8, 7, 2, 8, 1, 1, 1, 1};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    heed_model *m = small(cx, "mbart", NULL);
    const int64_t shape[] = {3, 4};
    heed_io in = {0}, out, same = {0};
    heed_io_put(cx, &in, "input_ids", heed_full(cx, 3, 2, shape));
    in.tensor[0] = heed_cast(cx, in.tensor[0], HEED_I32);
    same = in;
    heed_io_put(cx, &in, "labels", heed_from_i32(cx, labels, 2, shape));
    heed_io_put(cx, &same, "decoder_input_ids", heed_from_i32(cx, inputs, 2, shape));
    float given[3 * 4 * 9], made[3 * 4 * 9];
    assert_true(heed_model_forward(cx, m, &in, &out));
    assert_true(heed_copy_f32(cx, heed_io_get(&out, "logits"), made, 108));
    assert_true(heed_model_forward(cx, m, &same, &out));
    assert_true(heed_copy_f32(cx, heed_io_get(&out, "logits"), given, 108));
    assert_memory_equal(given, made, sizeof made);
    heed_reset(cx);
    heed_model_free(cx, m);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_config), cmocka_unit_test(test_bad_config),
                                       cmocka_unit_test(test_wrapped), cmocka_unit_test(test_causality),
                                       cmocka_unit_test(test_bad_input)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
