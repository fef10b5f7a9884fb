/* LoRA adapters against peft: logits and gradients, mapped and not; merged; written and read again; and what does not
 * fit. */
#include "folder.h"
#include "heed/model.h"
#include "heed/train.h"
#include "io/io_test.h"

static const char *golden_path(const char *room, const char *name) {
    static char path[2][600];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s/%s", getenv("HEED_GOLDEN"), room, name);
    return path[turn];
}

static heed_model *load(heed_ctx *cx, const char *dir, const heed_load_opts *opts) {
    heed_model *m = heed_model_load_as(cx, dir, opts);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static const heed_array *array_of(heed_ctx *cx, heed_safetensors *st, const char *name) {
    const int64_t at = heed_safetensors_find(cx, st, name);
    return at < 0 ? NULL : heed_safetensors_get(cx, st, at);
}

static bool run(heed_ctx *cx, const heed_model *m, heed_safetensors *st, bool labels, heed_io *out) {
    heed_io in = {0};
    const char *const names[] = {"input_ids", "labels"};
    for (int i = 0; i < 1 + labels; i++) {
        char name[32];
        snprintf(name, sizeof name, "in.%s", names[i]);
        const heed_array *a = array_of(cx, st, name);
        heed_io_put(cx, &in, names[i], heed_from_i32(cx, a->data, a->rank, a->shape));
    }
    return heed_model_forward(cx, m, &in, out);
}

static void near(const char *what, const float *got, const heed_array *want) {
    const int64_t n = heed_array_count(want);
    const float *w = want->data;
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)w[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)w[i]) <= 2e-5 * (most + 1e-3)))
            fail_msg("%s: %g at %d, not %g", what, (double)got[i], (int)i, (double)w[i]);
}

static void same_logits(heed_ctx *cx, const heed_model *m, heed_safetensors *st) {
    heed_io out;
    heed_set_grad(cx, false);
    if (!run(cx, m, st, false, &out)) fail_msg("%s", heed_message(cx));
    near("logits", heed_f32(heed_contiguous(cx, heed_io_get(&out, "logits"))), array_of(cx, st, "out.logits"));
    heed_reset(cx);
    heed_set_grad(cx, true);
}

/* The gradient of every matrix, by a trainer of all parameters. */
static int same_gradients(heed_ctx *cx, heed_model *m, heed_safetensors *st) {
    heed_params *const params = heed_model_params(m);
    const int n = heed_params_count(params);
    heed_grad *grads = calloc((size_t)n, sizeof *grads);
    int compared = 0;
    for (int i = 0; i < n; i++) grads[i].data = calloc((size_t)heed_params_at(params, i)->count, sizeof(float));
    heed_bind(cx, params, grads);
    heed_io out;
    assert_true(run(cx, m, st, true, &out));
    near("loss", heed_f32(heed_io_get(&out, "loss")), array_of(cx, st, "out.loss"));
    assert_true(heed_backward(cx, heed_io_get(&out, "loss")));
    for (int i = 0; i < n; i++) {
        char name[256];
        snprintf(name, sizeof name, "grad.%s", heed_params_at(params, i)->name);
        const heed_array *const a = array_of(cx, st, name);
        assert_true(a || !heed_params_at(params, i)->lora);
        if (a) near(name, grads[i].data, a), compared++;
    }
    heed_bind(cx, NULL, NULL);
    heed_reset(cx);
    for (int i = 0; i < n; i++) free(grads[i].data);
    free(grads);
    return compared;
}

static void check(const char *name) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    char path[700];
    snprintf(path, sizeof path, "%s/case.safetensors", golden_path("lora", name));
    heed_safetensors *st = heed_safetensors_open(cx, path);
    heed_model *m = load(cx, golden_path("lora", name), NULL);
    assert_true(heed_model_adapted(m));
    same_logits(cx, m, st);
    assert_true(same_gradients(cx, m, st) >= 8);
    if (!heed_model_save(cx, m, in_folder("again"))) fail_msg("%s", heed_message(cx));
    assert_true(heed_model_merge(cx, m) && !heed_model_adapted(m));
    same_logits(cx, m, st);
    assert_true(heed_model_save(cx, m, in_folder("merged")));
    heed_model_free(cx, m);
    m = load(cx, in_folder("merged"), NULL);
    assert_false(heed_model_adapted(m));
    same_logits(cx, m, st);
    heed_model_free(cx, m);
    /* mapped, and what heed wrote, whose base is given since it lies elsewhere */
    m = load(cx, golden_path("lora", name), &(heed_load_opts){.map = true});
    same_logits(cx, m, st);
    heed_model_free(cx, m);
    const char *const base = strcmp(name, "gpt2") == 0 ? "gpt2-options" : "bert-classify";
    m = load(cx, in_folder("again"), &(heed_load_opts){.map = true, .base = golden_path("model", base)});
    same_logits(cx, m, st);
    heed_model_free(cx, m);
    heed_safetensors_close(st);
    assert_false(heed_failed(cx));
    heed_close(cx);
    wipe_folder(NULL);
    make_folder(NULL);
}

static void test_golden(void **unused) {
    (void)unused;
    check("gpt2");
    check("bert");
}

/* Fresh adapters change nothing; only they are trained. */
static void test_fresh(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const char *const targets[] = {"c_attn", "*.mlp.c_*"};
    const heed_lora_opts lora = {.rank = 3, .targets = targets, .n_targets = 2};
    char path[700];
    snprintf(path, sizeof path, "%s/case.safetensors", golden_path("lora", "gpt2"));
    heed_safetensors *st = heed_safetensors_open(cx, path);
    heed_model *m =
        load(cx, golden_path("model", "gpt2-options"), &(heed_load_opts){.lora = &lora, .fresh_head = true});
    heed_model *plain = load(cx, golden_path("model", "gpt2-options"), NULL);
    heed_io out[2];
    assert_true(run(cx, plain, st, false, &out[0]) && run(cx, m, st, false, &out[1]));
    const heed_tensor *const logits[2] = {heed_io_get(&out[0], "logits"), heed_io_get(&out[1], "logits")};
    assert_memory_equal(heed_f32(logits[0]), heed_f32(logits[1]), (size_t)heed_count(logits[0]) * sizeof(float));
    heed_reset(cx);
    heed_model_free(cx, plain);
    int trained = 0;
    for (int i = 0; i < heed_params_count(heed_model_params(m)); i++) {
        const heed_param *p = heed_params_at(heed_model_params(m), i);
        assert_int_equal(p->frozen, !p->lora);
        trained += p->lora;
    }
    assert_int_equal(trained, 2 * 3 * 2); /* layers, modules, matrices */
    heed_model_free(cx, m);
    heed_safetensors_close(st);
    heed_close(cx);
}

static void refused(heed_ctx *cx, const char *base, const char *target, const char *why) {
    const heed_lora_opts lora = {.rank = 2, .targets = &target, .n_targets = 1};
    heed_model *m = heed_model_load_as(cx, golden_path("model", base), &(heed_load_opts){.lora = &lora});
    assert_null(m);
    if (!strstr(heed_message(cx), why)) fail_msg("'%s' should say '%s'", heed_message(cx), why);
    heed_clear(cx);
}

static void test_refused(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    refused(cx, "gpt2-options", "q_proj", "no linear layer of the model is named 'q_proj'");
    refused(cx, "gpt2-options", "wte", "no linear layer of the model is named 'wte'");
    refused(cx, "gpt2-options", "*.x", "no linear layer of the model is named '*.x'");
    /* an adapter of another model */
    heed_model *m =
        heed_model_load_as(cx, golden_path("lora", "gpt2"), &(heed_load_opts){.base = golden_path("model", "gpt2-lm")});
    assert_null(m);
    assert_non_null(strstr(heed_message(cx), "an adapter of another model"));
    assert_non_null(strstr(heed_message(cx), "misshapen 'transformer.h.0.attn.c_attn.lora_A.weight' is (3,12), not"));
    heed_clear(cx);
    m = heed_model_load_as(cx, golden_path("lora", "gpt2"),
                           &(heed_load_opts){.base = golden_path("model", "bert-classify")});
    assert_null(m);
    heed_clear(cx);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_fresh),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
