/* Encoders: every body in every head and back, what their inputs must be, and configs that are refused. Numbers are
 * compared by test_golden.c. */
#include "folder.h"
#include "heed/model.h"
#include "io/io_test.h"
#include "model/small_model.h"

#include <math.h>
#include <sys/stat.h>

/* Bodies of BERT's kind, of one layer. */
static const char *const families[] = {"bert",       "ernie",   "roberta", "xlm-roberta", "camembert",
                                       "distilbert", "electra", "albert",  "mpnet",       "modernbert"};
enum { FAMILIES = sizeof families / sizeof *families };

static heed_model *make(heed_ctx *cx, const char *name, const char *task, const char *more) {
    const heed_family *const family = heed_family_find(name);
    return small_model(cx, family, heed_head_for(family, task), more, 7);
}

static void forward_sample(heed_ctx *cx, const heed_model *m, const char *what) {
    heed_io in = {0}, out = {0};
    if (!heed_model_sample(cx, m, 2, 4, &in) || !heed_model_forward(cx, m, &in, &out))
        fail_msg("%s: %s", what, heed_message(cx));
    assert_true(out.n > 0);
    heed_reset(cx);
}

/* Every parameter of the body has the same numbers, whatever its name begins with. */
static void same_body(const heed_model *body, const heed_model *m, const char *base) {
    const heed_params *set = heed_model_params(body);
    int held = 0;
    for (int i = 0; i < heed_params_count(set); i++) {
        const heed_param *p = heed_params_at(set, i);
        char name[300];
        snprintf(name, sizeof name, "%s.%s", base, p->name);
        const heed_param *q = heed_params_find(heed_model_params(m), name);
        if (!q && p->head) continue; /* a pooler that this head has no use for */
        if (!q) fail_msg("%s is not in %s", name, heed_model_head(m)->architecture);
        assert_memory_equal(p->value, q->value, (size_t)p->count * sizeof(float));
        held++;
    }
    assert_true(held > 6);
}

static void test_bodies(void **state) {
    (void)state;
    for (int i = 0; i < FAMILIES; i++) {
        heed_ctx *cx = open_context();
        const heed_family *family = heed_family_find(families[i]);
        heed_model *bare = make(cx, families[i], "embed", NULL);
        assert_true(heed_model_head(bare)->bare);
        assert_true(heed_model_save(cx, bare, in_folder("bare")));
        for (const heed_head *h = family->heads; h->architecture; h++) {
            char task[40];
            snprintf(task, sizeof task, "%.*s", (int)strcspn(h->tasks, " "), h->tasks);
            if (h->bare) continue;
            heed_model *m =
                heed_model_load_as(cx, in_folder("bare"), &(heed_load_opts){.task = task, .fresh_head = true});
            if (!m) fail_msg("%s: %s", h->architecture, heed_message(cx));
            assert_ptr_equal(heed_model_head(m), h);
            same_body(bare, m, family->base);
            forward_sample(cx, m, h->architecture);
            assert_true(heed_model_save(cx, m, in_folder("head")));
            heed_model *body = heed_model_load_as(cx, in_folder("head"), &(heed_load_opts){.task = "embed"});
            if (!body) fail_msg("%s: %s", h->architecture, heed_message(cx));
            same_body(body, m, family->base);
            heed_model_free(cx, body);
            heed_model_free(cx, m);
        }
        heed_model_free(cx, bare);
        close_context(cx);
    }
}

/* ---- inputs ---- */

static bool run(heed_ctx *cx, const heed_model *m, heed_io in) {
    heed_io out = {0};
    return heed_model_forward(cx, m, &in, &out);
}

static void test_inputs(void **state) {
    (void)state;
    const int32_t zeros[24] = {0};
    const int64_t three = 3;
    for (int i = 0; i < FAMILIES; i++) {
        heed_ctx *cx = open_context();
        heed_model *choose = make(cx, families[i], "choose", NULL), *answer = make(cx, families[i], "qa", NULL),
                   *tag = make(cx, families[i], "tag", NULL);
        heed_io in = {0};
        heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, zeros, 2, (int64_t[]){2, 4}));
        assert_false(run(cx, choose, in));
        EXPECT_SENTENCE(cx, "input_ids: shape (B,choices,T) is needed, not (2,4)");
        in = (heed_io){0};
        heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, zeros, 2, (int64_t[]){2, 4}));
        heed_io_put(cx, &in, "start_positions", heed_from_i32(cx, zeros, 1, &three));
        heed_io_put(cx, &in, "end_positions", heed_from_i32(cx, zeros, 1, &three));
        assert_false(run(cx, answer, in));
        EXPECT_SENTENCE(cx, "start_positions: 2 whole numbers are needed, not i32 (3)");
        in = (heed_io){0};
        heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, zeros, 2, (int64_t[]){2, 4}));
        heed_io_put(cx, &in, "labels", heed_from_i32(cx, zeros, 2, (int64_t[]){2, 3}));
        assert_false(run(cx, tag, in));
        EXPECT_SENTENCE(cx, "labels: shape (2,3) is not that of the tokens, (2,4)");
        in = (heed_io){0};
        assert_false(run(cx, tag, in));
        EXPECT_SENTENCE(cx, "input_ids: this input is needed");
        in = (heed_io){0};
        heed_io_put(cx, &in, "input_ids",
                    heed_from_i32(cx, (int32_t[12]){2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 2, (int64_t[]){1, 12}));
        if (strcmp(families[i], "modernbert") != 0) { /* its positions are rotary */
            assert_false(run(cx, tag, in));
            EXPECT_SENTENCE(cx, "a sequence of 12 tokens: the model has positions for");
        }
        heed_reset(cx);
        heed_model_free(cx, choose);
        heed_model_free(cx, answer);
        heed_model_free(cx, tag);
        close_context(cx);
    }
}

/* A mask may be of bytes or of numbers, and counts wherever it is looked at. */
static void test_masks(void **state) {
    (void)state;
    static const struct {
        const char *family, *task, *setting;
    } heads[] = {
        {"bert", "tag", NULL}, {"electra", "pretrain", NULL}, {"modernbert", "classify", "classifier_pooling=mean"}};
    const int32_t ids[] = {2, 3, 4, 0, 0, 2, 3, 4, 6, 7}, seen[] = {1, 1, 1, 0, 0, 1, 1, 1, 1, 1};
    const int64_t shape[] = {2, 5};
    for (int k = 0; k < 3; k++) {
        heed_ctx *cx = open_context();
        heed_model *m = make(cx, heads[k].family, heads[k].task, heads[k].setting);
        const bool pretrain = strcmp(heads[k].task, "pretrain") == 0;
        float first[100], found[100];
        for (int type = 0; type < 3; type++) {
            heed_io in = {0}, out = {0};
            heed_tensor *const mask = heed_from_i32(cx, seen, 2, shape);
            heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids, 2, shape));
            heed_io_put(cx, &in, "attention_mask",
                        type == 0   ? mask
                        : type == 1 ? heed_cast(cx, mask, HEED_F32)
                                    : heed_cast(cx, mask, HEED_U8));
            if (pretrain) heed_io_put(cx, &in, "labels", heed_zeros(cx, HEED_I32, 2, shape));
            if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s: %s", heads[k].task, heed_message(cx));
            heed_tensor *const y = heed_io_get(&out, pretrain ? "loss" : "logits");
            assert_true(heed_copy_f32(cx, y, type ? found : first, heed_count(y)));
            if (type) assert_memory_equal(first, found, (size_t)heed_count(y) * sizeof *found);
            heed_reset(cx);
        }
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* ---- configs ---- */

static void refused(const char *name, const char *task, const char *setting, const char *sentence) {
    heed_ctx *cx = open_context();
    const heed_family *const family = heed_family_find(name);
    assert_null(small_model_try(cx, family, heed_head_for(family, task), setting, 7));
    EXPECT_SENTENCE(cx, sentence);
    close_context(cx);
}

static void test_configs(void **state) {
    (void)state;
    refused("bert", "embed", "is_decoder=true", "is_decoder: only encoders are supported");
    refused("bert", "embed", "add_cross_attention=true", "add_cross_attention: only encoders are supported");
    refused("bert", "embed", "position_embedding_type=relative_key", "'relative_key' is not one of: absolute");
    refused("bert", "qa", "num_labels=3", "num_labels: question answering has 2");
    refused("bert", "classify", "problem_type=guess", "problem_type: 'guess' is not one of");
    refused("bert", "tag", "num_labels=0", "num_labels");
    refused("roberta", "embed", "pad_token_id=null", "pad_token_id: a padding token is needed, since positions");
    refused("roberta", "embed", "pad_token_id=9",
            "max_position_embeddings: no position is left behind that of the padding");
    refused("electra", "choose", "summary_type=attn",
            "summary_type: 'attn' is not one of: first, last, mean, cls_index");
    refused("electra", "choose", "summary_proj_to_labels=true", "summary_proj_to_labels");
    refused("albert", "pretrain", "num_labels=3", "num_labels: the order of sentences has 2, not 3");
    refused("albert", "embed", "num_hidden_groups=0", "num_hidden_groups");
    refused("albert", "embed", "num_hidden_groups=4000 inner_group_num=2",
            "inner_group_num: more than 4096 layers in all");
    refused("albert", "embed", "num_hidden_layers=4000 inner_group_num=2",
            "inner_group_num: more than 4096 layers in all");
    refused("mpnet", "embed", "relative_attention_num_buckets=16",
            "relative_attention_num_buckets: 16 is not between 32");
    refused("mpnet", "embed", "vocab_size=1", "vocab_size: the padding token is 1");
    refused("modernbert", "embed", "num_attention_heads=8",
            "num_attention_heads: rotary positions need heads of an even size");
    refused("modernbert", "classify", "classifier_pooling=max", "classifier_pooling: 'max' is not one of: cls, mean");
    refused("modernbert", "mlm", "sparse_prediction=true", "sparse_prediction: logits of all tokens are given");
    refused("modernbert", "embed", "global_attn_every_n_layers=0", "global_attn_every_n_layers: 0 is not between 1");

    /* transformers computes no loss for a problem type of "" */
    heed_ctx *cx = open_context();
    heed_model *m = make(cx, "bert", "classify", NULL);
    assert_int_equal(heed_json_kind_of(heed_json_find(cx, heed_model_config(m), "problem_type")), HEED_JSON_NULL);
    heed_model_free(cx, m);
    m = make(cx, "bert", "classify", "problem_type=regression");
    assert_string_equal(heed_json_text(cx, heed_model_config(m), "problem_type"), "regression");
    heed_model_free(cx, m);
    close_context(cx);
}

/* Keys that are lists and objects come from files alone. */
static void test_modernbert_files(void **state) {
    (void)state;
    static const struct {
        const char *more, *sentence;
    } files[] = {
        {"\"layer_types\": [\"full_attention\", \"full_attention\"]", "layer_types: 2 types for 1 layers"},
        {"\"layer_types\": [\"chunked_attention\"]", "it is neither full_attention nor sliding_attention"},
        {"\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"yarn\"}}", "scaled rotary positions are not"},
        {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}", "scaled rotary positions are not supported"},
        {"\"rope_parameters\": {\"full_attention\": {\"rope_theta\": -1}}", "-1 is not between"},
    };
    heed_ctx *cx = open_context();
    heed_model *m = make(cx, "modernbert", "embed", "num_hidden_layers=1");
    assert_true(heed_model_save(cx, m, in_folder("modern")));
    heed_model_free(cx, m);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *f = fopen(in_folder("modern/config.json"), "w");
        assert_non_null(f);
        fprintf(f,
                "{\"model_type\": \"modernbert\", \"vocab_size\": 11, \"hidden_size\": 8, \"num_hidden_layers\": 1, "
                "\"num_attention_heads\": 2, \"intermediate_size\": 6, \"pad_token_id\": 5, %s}",
                files[i].more);
        fclose(f);
        assert_null(heed_model_load(cx, in_folder("modern")));
        EXPECT_SENTENCE(cx, files[i].sentence);
    }
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),  cmocka_unit_test(test_inputs),           cmocka_unit_test(test_masks),
        cmocka_unit_test(test_configs), cmocka_unit_test(test_modernbert_files),
    };
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
