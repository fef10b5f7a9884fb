/* The Transformer against transformers' Marian, BART, mBART and Pegasus: directories that Python saved, with what it
 * gave for some inputs and its gradient of every parameter, by name. Then what every model promises: the same bits
 * after saving and loading and for any number of threads, and a past that the future does not change. */
#include "heed/attention.h"
#include "heed/model.h"
#include "io/io_test.h"

static const char *const cases[] = {"marian-shared", "marian-apart", "marian-untied", "bart", "mbart", "pegasus"};
enum { CASES = 6 };

struct scene {
    heed_ctx *cx;
    heed_model *model;
    heed_safetensors *golden;
    heed_io in, out;
    heed_grad *slots;
    float *block;
};

static const heed_array *golden(struct scene *s, const char *prefix, const char *name) {
    char full[300];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    const int64_t at = heed_safetensors_find(s->cx, s->golden, full);
    return at < 0 ? NULL : heed_safetensors_get(s->cx, s->golden, at);
}

static void put_input(struct scene *s, const char *name) {
    const heed_array *a = golden(s, "in", name);
    assert_non_null(a);
    heed_io_put(s->cx, &s->in, name, heed_from_i64(s->cx, a->data, a->rank, a->shape));
}

static void open_scene(struct scene *s, const char *name, int threads) {
    char dir[600], path[700];
    *s = (struct scene){.cx = heed_open(&(heed_config){.threads = threads})};
    snprintf(dir, sizeof dir, "%s/model/%s", getenv("HEED_GOLDEN"), name);
    snprintf(path, sizeof path, "%s/golden.safetensors", dir);
    s->golden = heed_safetensors_open(s->cx, path);
    s->model = heed_model_load(s->cx, dir);
    if (!s->model) fail_msg("%s", heed_message(s->cx));
    const heed_params *params = heed_model_params(s->model);
    s->slots = calloc((size_t)heed_params_count(params), sizeof *s->slots);
    s->block = calloc((size_t)heed_params_numbers(params), sizeof *s->block);
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        if (!p->target) s->slots[i].data = s->block + (p->value - heed_params_block(params));
    }
    heed_bind(s->cx, params, s->slots);
    put_input(s, "input_ids");
    put_input(s, "attention_mask");
    put_input(s, "labels");
}

static void close_scene(struct scene *s) {
    heed_capture_end(s->cx);
    heed_safetensors_close(s->golden);
    heed_model_free(s->cx, s->model);
    heed_close(s->cx);
    free(s->slots);
    free(s->block);
}

static void run(struct scene *s) {
    if (!heed_model_forward(s->cx, s->model, &s->in, &s->out)) fail_msg("%s", heed_message(s->cx));
}

static void same(const char *what, const float *got, const heed_array *want, int64_t n, double scale) {
    assert_non_null(got);
    const float *x = want->data;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)x[i]) <= 1e-5 * scale + 1e-4 * fabs((double)x[i])))
            fail_msg("%s[%lld] = %g, not %g", what, (long long)i, (double)got[i], (double)x[i]);
}

static void test_golden(void **unused) {
    (void)unused;
    for (int c = 0; c < CASES; c++) {
        struct scene s;
        open_scene(&s, cases[c], 2);
        assert_true(heed_capture_begin(s.cx, NULL));
        run(&s);
        heed_tensor *logits = heed_io_get(&s.out, "logits"), *loss = heed_io_get(&s.out, "loss");
        same("logits", heed_f32(logits), golden(&s, "out", "logits"), heed_count(logits), 1);
        same("loss", heed_f32(loss), golden(&s, "out", "loss"), 1, 1);
        for (int i = 0; i < heed_capture_count(s.cx); i++) {
            const heed_capture_map *m = heed_capture_at(s.cx, i);
            char name[64];
            snprintf(name, sizeof name, "%s_attentions.%d", m->site, m->layer);
            const heed_array *want = golden(&s, "out", name);
            assert_non_null(want);
            same(name, m->weights, want, m->batch * m->heads * m->rows * m->keys, 1);
        }
        assert_true(heed_capture_count(s.cx) >= 3);
        assert_true(heed_backward(s.cx, loss));
        const heed_params *params = heed_model_params(s.model);
        int compared = 0;
        for (int i = 0; i < heed_params_count(params); i++) {
            const heed_param *p = heed_params_at(params, i);
            const heed_array *want = golden(&s, "grad", p->name);
            if (p->frozen || !heed_param_stored(p)) continue;
            if (!want) fail_msg("no golden gradient of %s", p->name);
            same(p->name, s.block + (p->value - heed_params_block(params)), want, p->count, 1);
            compared++;
        }
        assert_true(compared > 25 + 12 * (strcmp(cases[c], "marian-untied") != 0));
        close_scene(&s);
    }
}

static void test_threads_and_reload(void **unused) {
    (void)unused;
    for (int c = 0; c < CASES; c++) {
        float *first = NULL;
        size_t bytes = 0;
        for (int threads = 1; threads <= 8; threads = threads < 3 ? threads + 1 : threads + 5) {
            struct scene s;
            open_scene(&s, cases[c], threads);
            run(&s);
            const heed_tensor *logits = heed_io_get(&s.out, "logits");
            bytes = (size_t)heed_count(logits) * sizeof(float);
            if (!first) memcpy(first = malloc(bytes), heed_f32(logits), bytes);
            assert_memory_equal(first, heed_f32(logits), bytes);
            close_scene(&s);
        }
        struct scene s; /* saved by heed, and opened again */
        open_scene(&s, cases[c], 1);
        char dir[512];
        snprintf(dir, sizeof dir, "%s", in_folder("model"));
        assert_true(heed_model_save(s.cx, s.model, dir));
        heed_model *again = heed_model_load(s.cx, dir);
        if (!again) fail_msg("%s", heed_message(s.cx));
        assert_true(heed_model_forward(s.cx, again, &s.in, &s.out));
        assert_memory_equal(first, heed_f32(heed_io_get(&s.out, "logits")), bytes);
        heed_model_free(s.cx, again);
        close_scene(&s);
        free(first);
    }
}

/* Another last word changes no bit before it. */
static void check_causality(const char *name) {
    struct scene s;
    open_scene(&s, name, 1);
    heed_set_grad(s.cx, false);
    const int64_t shape[] = {3, 5}, V = golden(&s, "out", "logits")->shape[2];
    const size_t row = (size_t)V * sizeof(float);
    int32_t ids[15];
    float *kept[2];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 15; i++) ids[i] = i % 5 == 4 ? 3 + k : 2 + i; /* all have 17 tokens */
        heed_io in = {0}, out;
        heed_io_put(s.cx, &in, "input_ids", heed_io_get(&s.in, "input_ids"));
        heed_io_put(s.cx, &in, "decoder_input_ids", heed_from_i32(s.cx, ids, 2, shape));
        assert_true(heed_model_forward(s.cx, s.model, &in, &out));
        kept[k] = malloc(15 * row);
        assert_true(heed_copy_f32(s.cx, heed_io_get(&out, "logits"), kept[k], 15 * V));
    }
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
    heed_io out;
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
        open_scene(&s, cases[0], 1);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),   cmocka_unit_test(test_bad_config),         cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_golden),   cmocka_unit_test(test_threads_and_reload), cmocka_unit_test(test_causality),
        cmocka_unit_test(test_bad_input)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
