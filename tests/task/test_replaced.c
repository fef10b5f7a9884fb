/* Replaced-token detection: both losses and all gradients are PyTorch's, given the same samples; what is drawn; two
 * models in two directories. */
#include "task/task_test.h"

static heed_model *open_both(heed_ctx *cx, const char *dir) {
    heed_model *m = heed_model_load_as(cx, dir, &(heed_load_opts){.task = "replaced"});
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static void put_inputs(heed_ctx *cx, heed_safetensors *file, bool samples, heed_io *in) {
    static const char *const names[] = {"input_ids", "attention_mask", "labels", "samples"};
    for (int i = 0; i < (samples ? 4 : 3); i++) {
        const heed_array *a = heed_safetensors_get(cx, file, heed_safetensors_find(cx, file, names[i]));
        assert_non_null(a);
        heed_io_put(cx, in, names[i], heed_from_i32(cx, a->data, a->rank, a->shape));
    }
}

static double golden_number(heed_ctx *cx, heed_safetensors *file, const char *name) {
    float value = 0;
    const heed_array *a = heed_safetensors_get(cx, file, heed_safetensors_find(cx, file, name));
    assert_true(a && heed_array_to_f32(cx, a, &value, 1));
    return (double)value;
}

static void test_gradients(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = open_both(cx, golden_path("task/electra"));
    heed_safetensors *file = heed_safetensors_open(cx, golden_path("task/electra/case.safetensors"));
    heed_params *params = heed_model_params(m);
    heed_grad *slots = calloc((size_t)heed_params_count(params), sizeof *slots);
    float *block = calloc((size_t)heed_params_size(params), sizeof *block);
    heed_io in = {0}, out = {0};
    int64_t compared = 0;
    put_inputs(cx, file, true, &in);
    for (int i = 0; i < heed_params_count(params); i++) {
        const heed_param *p = heed_params_at(params, i);
        if (!p->target) slots[i].data = block + (p->value - heed_params_block(params));
    }
    heed_bind(cx, params, slots);
    assert_true(heed_model_forward(cx, m, &in, &out));
    static const char *const losses[] = {"loss", "generator_loss"};
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "out.%s", losses[i]);
        const double want = golden_number(cx, file, name), got = (double)heed_item(cx, heed_io_get(&out, losses[i]));
        if (!(fabs(got - want) <= 1e-5 * want)) fail_msg("%s: %.9g, not %.9g", losses[i], got, want);
    }
    assert_true(heed_backward(cx, heed_io_get(&out, "loss")));
    for (int64_t i = 0; i < heed_safetensors_count(file); i++) {
        const heed_array *a = heed_safetensors_get(cx, file, i);
        if (strncmp(a->name, "grad.", 5) != 0) continue;
        const heed_param *p = heed_params_find(params, a->name + 5);
        float want[2048];
        if (!p) fail_msg("%s: there is no such parameter", a->name);
        const float *got = block + (p->value - heed_params_block(params));
        assert_true(p->count <= 2048 && heed_array_to_f32(cx, a, want, p->count));
        double size = 0;
        for (int64_t k = 0; k < p->count; k++) size = fmax(size, fabs((double)want[k]));
        for (int64_t k = 0; k < p->count; k++)
            if (!(fabs((double)got[k] - (double)want[k]) <= 1e-4 * size + 1e-5))
                fail_msg("%s at %d: %.9g, not %.9g", a->name, (int)k, (double)got[k], (double)want[k]);
        compared++;
    }
    assert_true(compared > 60);
    heed_reset(cx);
    heed_bind(cx, NULL, NULL);
    free(slots);
    free(block);
    heed_safetensors_close(file);
    heed_model_free(cx, m);
    close_context(cx);
}

/* Samples are those of the step while training, else always the same, and never where nothing is masked. */
static void test_samples(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = open_both(cx, golden_path("task/electra"));
    heed_safetensors *file = heed_safetensors_open(cx, golden_path("task/electra/case.safetensors"));
    int32_t seen[4][21];
    bool differs = false;
    for (int k = 0; k < 4; k++) {
        heed_io in = {0}, out = {0};
        put_inputs(cx, file, false, &in);
        heed_set_training(cx, k >= 2);
        heed_set_step(cx, (uint64_t)k);
        assert_true(heed_model_forward(cx, m, &in, &out));
        memcpy(seen[k], heed_i32(heed_io_get(&out, "seen")), sizeof seen[k]);
        const int32_t *ids = heed_i32(heed_io_get(&in, "input_ids")), *labels = heed_i32(heed_io_get(&in, "labels")),
                      *replaced = heed_i32(heed_io_get(&out, "replaced"));
        for (int i = 0; i < 21; i++) {
            assert_true(seen[k][i] >= 0 && seen[k][i] < 13);
            if (labels[i] < 0) assert_int_equal(seen[k][i], ids[i]);
            assert_int_equal(replaced[i], labels[i] >= 0 && seen[k][i] != labels[i]);
        }
        heed_reset(cx);
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    for (int i = 0; i < 21; i++) differs |= seen[2][i] != seen[3][i];
    assert_true(differs);
    heed_safetensors_close(file);
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_directories(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = open_both(cx, golden_path("task/electra"));
    assert_true(heed_model_save(cx, m, in_folder("both")));
    heed_model *again = open_both(cx, in_folder("both")), *one = heed_model_load(cx, in_folder("both"));
    const heed_params *a = heed_model_params(m), *b = heed_model_params(again);
    assert_int_equal(heed_params_size(a), heed_params_size(b));
    assert_memory_equal(heed_params_block(a), heed_params_block(b), (size_t)heed_params_size(a) * sizeof(float));
    assert_true(one && heed_params_size(heed_model_params(one)) < heed_params_size(a));
    assert_null(heed_params_find(heed_model_params(one), "generator.electra.embeddings.word_embeddings.weight"));
    heed_model_free(cx, one);
    heed_model_free(cx, again);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_directories),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
