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
        if (!p->tied) s->slots[i].data = s->block + (p->value - heed_params_block(params));
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
            if (p->whole || p->frozen || (p->tied && !p->part)) continue;
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
static void test_causality(void **unused) {
    (void)unused;
    struct scene s;
    open_scene(&s, cases[0], 1);
    heed_set_grad(s.cx, false);
    const int64_t shape[] = {3, 5}, V = 23;
    int32_t ids[15];
    float *kept[2];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 15; i++) ids[i] = i % 5 == 4 ? 3 + k : 2 + i;
        heed_io in = {0}, out;
        heed_io_put(s.cx, &in, "input_ids", heed_io_get(&s.in, "input_ids"));
        heed_io_put(s.cx, &in, "decoder_input_ids", heed_from_i32(s.cx, ids, 2, shape));
        assert_true(heed_model_forward(s.cx, s.model, &in, &out));
        kept[k] = malloc(sizeof(float) * 15 * 23);
        assert_true(heed_copy_f32(s.cx, heed_io_get(&out, "logits"), kept[k], 15 * V));
    }
    for (int b = 0; b < 3; b++) {
        assert_memory_equal(kept[0] + b * 5 * V, kept[1] + b * 5 * V, sizeof(float) * 4 * 23);
        assert_memory_not_equal(kept[0] + (b * 5 + 4) * V, kept[1] + (b * 5 + 4) * V, sizeof(float) * 23);
    }
    free(kept[0]), free(kept[1]);
    close_scene(&s);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_threads_and_reload),
                                       cmocka_unit_test(test_causality), cmocka_unit_test(test_bad_input)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
