/* One family, several heads: which one a directory has, how bodies go from one to the other, and what is refused. */
#include "folder.h"
#include "heed/model.h"
#include "io/io_test.h"
#include "model/core/families.h"
#include "nn/params.h"
#include <sys/stat.h>

static heed_model *small(heed_ctx *cx, const char *task, uint64_t seed) {
    static const char *const settings[] = {"vocab_size=11", "hidden_size=8", "num_hidden_layers=1",
                                           "num_attention_heads=2", "intermediate_size=6"};
    const heed_family *bert = heed_family_find("bert");
    heed_model *m = heed_model_new_as(cx, bert, heed_head_for(bert, task), settings, 5, seed);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static heed_param *param(const heed_model *m, const char *name) {
    heed_param *p = heed_params_find(heed_model_params(m), name);
    if (!p) fail_msg("%s is missing", name);
    return p;
}

static void same(const heed_model *a, const char *name_a, const heed_model *b, const char *name_b) {
    const heed_param *p = param(a, name_a), *q = param(b, name_b);
    assert_int_equal(p->count, q->count);
    assert_memory_equal(p->value, q->value, (size_t)p->count * sizeof(float));
}

#define WORD  "embeddings.word_embeddings.weight"
#define QUERY "encoder.layer.0.attention.self.query.weight"

static char said[4096];
static void log_to(void *user, heed_log_level level, const char *sentence) {
    (void)user, (void)level;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", sentence);
}

static heed_ctx *open_listening(void) {
    said[0] = 0;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .log = log_to});
    assert_false(heed_failed(cx));
    return cx;
}

/* A directory of the bare model in a head, and of a head as the bare model. */
static void test_body(void **state) {
    (void)state;
    heed_ctx *cx = open_listening();
    heed_model *bare = small(cx, "embed", 1), *masked = small(cx, "mlm", 2);
    assert_string_equal(heed_model_head(bare)->architecture, "BertModel");
    assert_true(heed_model_save(cx, bare, in_folder("bare")) && heed_model_save(cx, masked, in_folder("masked")));

    heed_model *loaded = heed_model_load(cx, in_folder("bare"));
    assert_ptr_equal(heed_model_head(loaded), heed_model_head(bare));
    same(loaded, WORD, bare, WORD);
    heed_model_free(cx, loaded);

    loaded = heed_model_load_as(cx, in_folder("bare"),
                                &(heed_load_opts){.task = "classify",
                                                  .settings = (const char *[]){"num_labels=5"},
                                                  .n_settings = 1,
                                                  .fresh_head = true,
                                                  .seed = 3});
    if (!loaded) fail_msg("%s", heed_message(cx));
    same(loaded, "bert." WORD, bare, WORD);
    same(loaded, "bert." QUERY, bare, QUERY);
    assert_int_equal(param(loaded, "classifier.weight")->shape[0], 5);
    assert_non_null(strstr(said, "drawn fresh: 'classifier.weight', 'classifier.bias'"));
    assert_true(heed_model_save(cx, loaded, in_folder("classify")));
    heed_model_free(cx, loaded);

    loaded = heed_model_load(cx, in_folder("classify")); /* the directory names its new head */
    assert_string_equal(heed_model_head(loaded)->architecture, "BertForSequenceClassification");
    heed_model_free(cx, loaded);

    said[0] = 0; /* a head of another size is drawn anew */
    loaded = heed_model_load_as(
        cx, in_folder("classify"),
        &(heed_load_opts){.settings = (const char *[]){"num_labels=2"}, .n_settings = 1, .fresh_head = true});
    assert_int_equal(param(loaded, "classifier.weight")->shape[0], 2);
    assert_non_null(strstr(said, "'classifier.weight' is (5,8), not (2,8)"));
    heed_model_free(cx, loaded);

    said[0] = 0; /* the body of a head: what the head has is not used, the pooler is drawn */
    loaded = heed_model_load_as(cx, in_folder("masked"), &(heed_load_opts){.task = "embed", .fresh_head = true});
    if (!loaded) fail_msg("%s", heed_message(cx));
    same(loaded, WORD, masked, "bert." WORD);
    assert_non_null(strstr(said, "drawn fresh: 'pooler.dense.weight'"));
    assert_non_null(strstr(strstr(said, "not used: "), "'cls.predictions.bias'"));
    heed_model_free(cx, loaded);

    /* without leave nothing is drawn */
    assert_null(heed_model_load_as(cx, in_folder("masked"), &(heed_load_opts){.task = "classify"}));
    assert_non_null(strstr(heed_message(cx), "missing 'bert.pooler.dense.weight'"));
    heed_clear(cx);
    heed_model_free(cx, bare);
    heed_model_free(cx, masked);
    heed_close(cx);
}

/* The file of a model under other names. */
static void rewrite(heed_ctx *cx, const heed_model *m, const char *path,
                    const char *(*rename)(const char *name, char *to)) {
    heed_array arrays[64];
    static char names[64][128];
    int n = 0;
    const heed_params *params = heed_model_params(m);
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        if (!heed_param_stored(p)) continue;
        arrays[n] =
            (heed_array){.name = rename(p->name, names[n]), .dtype = HEED_F32, .rank = p->rank, .data = p->value};
        memcpy(arrays[n++].shape, p->shape, sizeof p->shape);
    }
    assert_true(heed_safetensors_write(cx, path, arrays, n, NULL, 0));
}

static const char *old_style(const char *name, char *to) {
    const char *at = strstr(name, "LayerNorm.");
    snprintf(to, 128, "%s", name);
    if (at)
        snprintf(to + (at - name), 128 - (size_t)(at - name), "LayerNorm.%s", strstr(at, "weight") ? "gamma" : "beta");
    return to;
}
static const char *without_prefix(const char *name, char *to) {
    snprintf(to, 128, "%s", strncmp(name, "bert.", 5) == 0 ? name + 5 : name);
    return to;
}

/* The names of transformers' modules since version 5, of one layer. */
static const char *module_name(const char *name, char *to) {
    static const char *const names[][2] = {
        {"vit.encoder.layer.0.attention.attention.query.", "vit.layers.0.attention.q_proj."},
        {"vit.encoder.layer.0.attention.attention.key.", "vit.layers.0.attention.k_proj."},
        {"vit.encoder.layer.0.attention.attention.value.", "vit.layers.0.attention.v_proj."},
        {"vit.encoder.layer.0.attention.output.dense.", "vit.layers.0.attention.o_proj."},
        {"vit.encoder.layer.0.intermediate.dense.", "vit.layers.0.mlp.fc1."},
        {"vit.encoder.layer.0.output.dense.", "vit.layers.0.mlp.fc2."},
        {"vit.encoder.layer.0.", "vit.layers.0."},
        {"swin.encoder.layers.0.blocks.0.attention.self.relative",
         "swin.encoder.layers.0.blocks.0.attention.relative_position_bias.relative"},
        {"swin.encoder.layers.0.blocks.0.attention.self.query.", "swin.encoder.layers.0.blocks.0.attention.q_proj."},
        {"swin.encoder.layers.0.blocks.0.attention.self.key.", "swin.encoder.layers.0.blocks.0.attention.k_proj."},
        {"swin.encoder.layers.0.blocks.0.attention.self.value.", "swin.encoder.layers.0.blocks.0.attention.v_proj."},
        {"swin.encoder.layers.0.blocks.0.attention.output.dense.", "swin.encoder.layers.0.blocks.0.attention.o_proj."},
        {"swin.encoder.layers.0.blocks.0.intermediate.dense.", "swin.encoder.layers.0.blocks.0.mlp.fc1."},
        {"swin.encoder.layers.0.blocks.0.output.dense.", "swin.encoder.layers.0.blocks.0.mlp.fc2."},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i][0]);
        if (strncmp(name, names[i][0], n) != 0) continue;
        snprintf(to, 128, "%s%s", names[i][1], name + n);
        return to;
    }
    snprintf(to, 128, "%s", name);
    return to;
}

/* Files of ViT and Swin under the names of the modules. */
static void test_module_names(void **state) {
    static const struct {
        const char *family, *settings[6];
    } of[] = {{"vit",
               {"image_size=8", "patch_size=4", "hidden_size=8", "num_hidden_layers=1", "num_attention_heads=2",
                "intermediate_size=6"}},
              {"swin", {"image_size=8", "patch_size=2", "embed_dim=8", "depths=1", "num_heads=2", "window_size=2"}}};
    (void)state;
    heed_ctx *cx = open_listening();
    for (int k = 0; k < 2; k++) {
        const heed_family *const family = heed_family_find(of[k].family);
        heed_model *const m = heed_model_new_as(cx, family, family->heads, of[k].settings, 6, 4);
        assert_true(heed_model_save(cx, m, in_folder(of[k].family)));
        char path[512];
        snprintf(path, sizeof path, "%s/model.safetensors", in_folder(of[k].family));
        rewrite(cx, m, path, module_name);
        heed_model *const loaded = heed_model_load(cx, in_folder(of[k].family));
        if (!loaded) fail_msg("%s", heed_message(cx));
        for (int i = 0; i < heed_params_count(heed_model_params(m)); i++) {
            const char *const name = heed_params_at(heed_model_params(m), i)->name;
            same(m, name, loaded, name);
            char in_file[128], said_of_it[128];
            params_file_name(heed_model_params(loaded), param(loaded, name), said_of_it, sizeof said_of_it);
            if (heed_param_stored(param(m, name))) assert_string_equal(module_name(name, in_file), said_of_it);
        }
        heed_model_free(cx, loaded);
        heed_model_free(cx, m);
    }
    assert_null(strstr(said, "drawn fresh"));
    close_context(cx);
}

/* The body of a head that has no pooler: it is drawn, and that is said. */
static void test_pooler(void **state) {
    (void)state;
    heed_ctx *cx = open_listening();
    heed_model *masked = small(cx, "mlm", 2);
    assert_true(heed_model_save(cx, masked, in_folder("no-pooler")));
    heed_model *body = heed_model_load_as(cx, in_folder("no-pooler"), &(heed_load_opts){.task = "embed"});
    if (!body) fail_msg("%s", heed_message(cx));
    same(body, WORD, masked, "bert." WORD);
    assert_non_null(strstr(said, "drawn fresh: 'pooler.dense.weight', 'pooler.dense.bias'"));
    assert_null(heed_model_load_as(cx, in_folder("no-pooler"), &(heed_load_opts){.task = "nsp"}));
    EXPECT_SENTENCE(cx, "missing 'bert.pooler.dense.weight'"); /* a head that needs it wants a fresh_head */
    heed_model_free(cx, body);
    heed_model_free(cx, masked);
    close_context(cx);
}

/* Only the names that are tied to others, as some tools keep of two the one that comes first. */
static const char *tied_names(const char *name, char *out) {
    if (strcmp(name, "bert." WORD) == 0) return strcpy(out, "cls.predictions.decoder.weight");
    if (strcmp(name, "cls.predictions.bias") == 0) return strcpy(out, "cls.predictions.decoder.bias");
    return name;
}

static void test_names(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = small(cx, "mlm", 4);
    const char *(*const ways[])(const char *, char *) = {old_style, without_prefix, tied_names};
    for (int i = 0; i < 3; i++) {
        assert_true(heed_model_save(cx, m, in_folder("named")));
        rewrite(cx, m, in_folder("named/model.safetensors"), ways[i]);
        heed_model *loaded = heed_model_load(cx, in_folder("named"));
        if (!loaded) fail_msg("%s", heed_message(cx));
        same(loaded, "bert.embeddings.LayerNorm.weight", m, "bert.embeddings.LayerNorm.weight");
        same(loaded, "bert." QUERY, m, "bert." QUERY);
        same(loaded, "bert." WORD, m, "bert." WORD);
        same(loaded, "cls.predictions.bias", m, "cls.predictions.bias");
        heed_model_free(cx, loaded);
    }
    heed_model_free(cx, m);
    close_context(cx);
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_wrong(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    mkdir(in_folder("odd"), 0777);
    write_text(in_folder("odd/config.json"), "{\"model_type\": \"bert\", \"architectures\": [\"BertForDancing\"]}");
    assert_null(heed_model_load(cx, in_folder("odd")));
    EXPECT_SENTENCE(cx, "'BertForDancing' is not an architecture of bert, which has: BertForMaskedLM");
    write_text(in_folder("odd/config.json"), "{\"model_type\": \"bert\", \"architectures\": [\"BertModel\"]}");
    write_text(in_folder("odd/pytorch_model.bin"), "pickle");
    assert_null(heed_model_load(cx, in_folder("odd")));
    EXPECT_SENTENCE(cx, "pytorch_model.bin");
    assert_null(heed_model_load_as(cx, in_folder("odd"), &(heed_load_opts){.task = "translate"}));
    EXPECT_SENTENCE(cx, "bert has no head for translate");
    write_text(in_folder("odd/config.json"), "{\"architecture\": \"regnetx_002\"}");
    assert_null(heed_model_load(cx, in_folder("odd")));
    EXPECT_SENTENCE(cx, "architecture: no family of heed's is 'regnetx_002'");
    write_text(in_folder("odd/config.json"), "{\"_class_name\": \"UNet3DConditionModel\"}");
    assert_null(heed_model_load(cx, in_folder("odd")));
    EXPECT_SENTENCE(cx, "_class_name: no family of heed's is 'UNet3DConditionModel'");
    write_text(in_folder("odd/config.json"), "{\"model_type\": \"bert\", \"is_decoder\": true}");
    assert_null(heed_model_load(cx, in_folder("odd")));
    EXPECT_SENTENCE(cx, "is_decoder");

    const heed_family vit = {.timm = "vit_* deit_*"};
    assert_true(family_is_timm(&vit, "vit_tiny_patch16_224") &&
                family_is_timm(&vit, "deit_base_distilled_patch16_384"));
    assert_false(family_is_timm(&vit, "swin_tiny_patch4_window7_224") || family_is_timm(&vit, "levit_128"));
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body),         cmocka_unit_test(test_pooler), cmocka_unit_test(test_names),
        cmocka_unit_test(test_module_names), cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
