/* Pairs of texts: how they are read, and the contrastive loss against sentence-transformers (tests/oracle/pairs.py). */
#include "task_test.h"

static heed_task_data *read_pairs(heed_ctx *cx, const char *text, const heed_task_opts *opts) {
    write_text("pairs.tsv", text);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("embed"), in_folder("pairs.tsv"), opts);
    unlink(in_folder("pairs.tsv"));
    return d;
}

static const heed_array *stored(heed_ctx *cx, heed_safetensors *file, const char *prefix, const char *name) {
    char full[300];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const int64_t at = heed_safetensors_find(cx, file, full);
    return at < 0 ? NULL : heed_safetensors_get(cx, file, at);
}

static void near(const char *name, const float *got, const heed_array *want, double slack) {
    const float *x = want->data;
    for (int64_t i = 0; i < heed_array_count(want); i++)
        if (!(fabs((double)got[i] - (double)x[i]) <= 1e-4 * fabs((double)x[i]) + slack))
            fail_msg("%s[%lld] = %.9g, not %.9g", name, (long long)i, (double)got[i], (double)x[i]);
}

static heed_io inputs(heed_ctx *cx, heed_safetensors *file) {
    static const char *const names[] = {"input_ids", "attention_mask", "pair_input_ids", "pair_attention_mask"};
    heed_io in = {0};
    for (int i = 0; i < 4; i++) {
        const heed_array *a = stored(cx, file, "in.", names[i]);
        assert_true(heed_io_put(cx, &in, names[i], heed_from_i32(cx, a->data, a->rank, a->shape)));
    }
    return in;
}

static void test_loss(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_safetensors *file = heed_safetensors_open(cx, golden_path("task/pairs.safetensors"));
    heed_model *model = heed_model_load(cx, golden_path("model/bert-bare"));
    assert_true(file && model);
    const heed_params *params = heed_model_params(model);
    heed_grad slots[128] = {{0}};
    assert_true(heed_params_count(params) <= 128);
    for (int i = 0; i < heed_params_count(params); i++)
        slots[i].data = calloc((size_t)heed_params_at(params, i)->count, sizeof(float));
    for (int warm = 0; warm < 2; warm++) {
        heed_task_data *d = read_pairs(cx, "a\tb\nc\td\n", &(heed_task_opts){.temperature = warm ? 0.5 : 0});
        const void *own;
        heed_forward forward = heed_task_forward(d, &own);
        heed_io in = inputs(cx, file), out;
        if (!warm) heed_bind(cx, params, slots);
        assert_true(forward(cx, own, model, &in, &out));
        const float loss = heed_item(cx, heed_io_get(&out, "loss"));
        near("loss", &loss, stored(cx, file, "out.", warm ? "loss.warm" : "loss"), 1e-5);
        assert_int_equal(heed_dim(heed_io_get(&out, "logits"), 1), 4);
        if (!warm) assert_true(heed_backward(cx, heed_io_get(&out, "loss")));
        heed_reset(cx);
        heed_task_free(cx, d);
    }
    int reached = 0;
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        const heed_array *want = stored(cx, file, "grad.", p->name);
        const float *got = slots[(p->target ? p->target : p)->index].data;
        if (want) near(p->name, got + p->offset, want, 2e-5);
        reached += want != NULL;
    }
    for (int i = 0; i < heed_params_count(params); i++) free(slots[i].data);
    assert_true(reached > 20);
    heed_model_free(cx, model);
    heed_safetensors_close(file);
    close_context(cx);
}

/* Columns by name; each side has its own inputs, and the score is that of a model that tells the pairs apart. */
static void test_measure(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = letters(cx);
    heed_model *model = small_bert(cx, "embed", NULL);
    heed_text_reader reader;
    assert_true(heed_text_reader_of(cx, model, t, 0, &reader));
    heed_task_data *d = read_pairs(cx, "a\ta\nb c\tb c\nd\td\nabc d e f\tabc d e f\nh h\th h\n", NULL);
    if (!heed_task_encode(cx, d, &reader)) fail_msg("%s", heed_message(cx));
    const heed_dataset *set = heed_task_columns(d);
    assert_int_equal(heed_dataset_length(set, heed_dataset_find(set, "pair_input_ids"), 3), 8);
    assert_true(set->n == 5 && heed_dataset_find(set, "pair_token_type_ids") == 3);
    heed_score same, other;
    assert_true(heed_task_measure(cx, model, d, NULL, 0, &same, NULL));
    assert_true(same.metric == 1); /* nothing is nearer to a text than the text itself */
    heed_task_free(cx, d);
    d = read_pairs(cx, "a\tb c\nb c\td\nd\ta\n", NULL); /* each first text is the second of another pair */
    assert_true(heed_task_encode(cx, d, &reader) && heed_task_measure(cx, model, d, NULL, 0, &other, NULL));
    assert_true(other.metric == 0 && other.loss > same.loss);
    const int64_t one[] = {1};
    assert_true(heed_task_measure(cx, model, d, one, 1, &other, NULL));
    assert_true(other.metric == 1 && fabs(other.loss) < 1e-6); /* there is nothing to mistake it for */
    heed_task_free(cx, d);
    heed_model_free(cx, model);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_null(read_pairs(cx, "one\ntwo\n", NULL));
    EXPECT_SENTENCE(cx, "one column: two texts are needed");
    assert_null(read_pairs(cx, "", NULL));
    EXPECT_SENTENCE(cx, "pairs.tsv: ");
    assert_null(read_pairs(cx, "a\tb\nc\td\n", &(heed_task_opts){.text = "2"}));
    EXPECT_SENTENCE(cx, "text and pair are the same column");
    assert_null(read_pairs(cx, "a\tb\nc\td\n", &(heed_task_opts){.pair = "nowhere"}));
    EXPECT_SENTENCE(cx, "there is no column 'nowhere'");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
