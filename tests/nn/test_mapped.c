/* Parameter sets that are read from a mapped file, in the types that it has; and what is saved of them. */
#include "heed/nn.h"
#include "heed/train.h"
#include "io/io_test.h"
#include <sys/stat.h>

/* wte (5,4), read by embedding and as lm_head; q, k of a fused (4,4); bias (4); norm (4); scale (2,2), f32 only */
struct model {
    heed_params *set;
    heed_embedding_layer table;
    heed_linear_layer fused, head;
    heed_norm_layer norm;
    heed_param *scale;
};

static void make(heed_ctx *cx, struct model *m) {
    const heed_init normal = {HEED_INIT_NORMAL, 0, 1};
    *m = (struct model){.set = heed_params_new(cx)};
    heed_embedding_make(cx, m->set, "wte", 5, 4, &m->table);
    m->fused.weight = heed_param_add(cx, m->set, "qk", "weight", 2, (int64_t[]){4, 4}, normal);
    heed_param_slice(cx, m->set, "q", "weight", m->fused.weight, 0, 2);
    heed_param_slice(cx, m->set, "k", "weight", m->fused.weight, 2, 2);
    m->fused.bias = heed_param_add(cx, m->set, "qk", "bias", 1, (int64_t[]){4}, normal);
    heed_norm_make(cx, m->set, "norm", 4, false, 1e-5f, &m->norm);
    m->scale = heed_param_add(cx, m->set, NULL, "scale", 2, (int64_t[]){2, 2}, normal);
    m->scale->needs_f32 = true;
    m->head.weight = heed_param_tie(cx, m->set, "lm_head", "weight", m->table.weight);
    assert_false(heed_failed(cx));
}

static void make_owned(heed_ctx *cx, struct model *m) {
    make(cx, m);
    heed_params_allocate(cx, m->set);
    assert_true(heed_params_init(cx, m->set, 4));
}

/* Numbers that the type holds, which are then saved in it. */
static void narrow(heed_params *set, heed_dtype dtype) {
    for (int i = 0; i < heed_params_count(set); i++) {
        heed_param *p = heed_params_at(set, i);
        if (heed_param_stored(p)) p->stored = dtype;
        for (int64_t k = 0; !p->target && k < p->count; k++)
            p->value[k] = heed_bf16_to_f32(heed_f32_to_bf16(p->value[k]));
    }
}

/* ids -> logits (3,5), all ops that read parameters */
static void run(heed_ctx *cx, const struct model *m, float logits[15]) {
    const int32_t ids[3] = {4, 0, 2};
    heed_tensor *x = heed_embedding_run(cx, &m->table, heed_from_i32(cx, ids, 1, (int64_t[]){3}));
    x = heed_norm_run(cx, &m->norm, heed_linear_run(cx, &m->fused, x, HEED_ACT_TANH));
    x = heed_mul(cx, x, heed_sum(cx, heed_param_tensor(cx, m->scale), NULL, 0, false));
    x = heed_add(cx, x, heed_param_rows(cx, m->table.weight, 1, 3));
    x = heed_add(cx, x, heed_slice(cx, heed_param_tensor(cx, m->table.weight), 0, 1, 1)); /* a copy in f32 */
    heed_tensor *y = heed_linear_run(cx, &m->head, x, HEED_ACT_NONE);
    if (!heed_copy_f32(cx, y, logits, 15)) fail_msg("%s", heed_message(cx));
    heed_reset(cx);
}

static void check_same(heed_ctx *cx, const struct model *a, const struct model *b) {
    float x[15], y[15];
    run(cx, a, x);
    run(cx, b, y);
    assert_memory_equal(x, y, sizeof x);
}

/* ---- types ---- */

static void test_types(void **state) {
    (void)state;
    static const heed_dtype types[] = {HEED_F32, HEED_BF16, HEED_F16};
    heed_ctx *cx = open_context();
    for (int i = 0; i < 3; i++) {
        struct model own, mapped;
        const char *path = in_folder("p.safetensors");
        make_owned(cx, &own);
        narrow(own.set, types[i]);
        assert_true(heed_params_save(cx, own.set, path));
        make(cx, &mapped);
        assert_true(heed_params_map(cx, mapped.set, path));
        assert_null(heed_params_block(mapped.set));
        assert_null(mapped.table.weight->value);
        assert_int_equal(mapped.table.weight->dtype, types[i]);
        assert_int_equal(mapped.head.weight->dtype, types[i]);
        assert_ptr_equal(mapped.head.weight->data, mapped.table.weight->data);
        assert_int_equal(mapped.fused.weight->dtype, types[i]);
        assert_int_equal(mapped.fused.bias->dtype, HEED_F32); /* vectors, and what says so, are f32 */
        assert_int_equal(mapped.scale->dtype, HEED_F32);
        /* q and k lie side by side in this file: so they are not copied; nor is anything that is f32 already */
        assert_int_equal(heed_params_mapped(mapped.set), i ? 36 * 2 : 52 * 4);
        check_same(cx, &own, &mapped);
        heed_params_free(cx, mapped.set);
        heed_params_free(cx, own.set);
        remove(path);
    }
    close_context(cx);
}

static heed_array array_of(const heed_params *set, const char *name, heed_dtype dtype, void *numbers) {
    const heed_param *p = heed_params_find(set, name);
    heed_array a = {.name = name, .dtype = dtype, .rank = p->rank, .data = numbers};
    memcpy(a.shape, p->shape, sizeof a.shape);
    for (int64_t i = 0; i < p->count; i++)
        if (dtype == HEED_F32)
            ((float *)numbers)[i] = p->value[i];
        else if (dtype == HEED_F64)
            ((double *)numbers)[i] = (double)p->value[i];
        else
            ((uint16_t *)numbers)[i] =
                dtype == HEED_BF16 ? heed_f32_to_bf16(p->value[i]) : heed_f32_to_f16(p->value[i]);
    return a;
}

/* Any order and any types: slices that are apart or differ are copied, as f32 where they differ; doubles too; and what
 * is not aligned, behind an odd number of bytes. */
static void test_mixed(void **state) {
    (void)state;
    static const char *const names[] = {"q.weight", "wte.weight",  "k.weight", "qk.bias",
                                        "scale",    "norm.weight", "norm.bias"};
    static const struct {
        heed_dtype types[7];
        heed_dtype fused;
        size_t mapped;
        bool odd;
    } cases[] = {
        {{HEED_BF16, HEED_BF16, HEED_BF16, HEED_BF16, HEED_BF16, HEED_BF16, HEED_BF16}, HEED_BF16, 40, false},
        {{HEED_BF16, HEED_F16, HEED_F16, HEED_F32, HEED_F64, HEED_F32, HEED_F32}, HEED_F32, 40 + 48, false},
        {{HEED_F32, HEED_F64, HEED_BF16, HEED_BF16, HEED_F16, HEED_F32, HEED_F64}, HEED_F32, 16, false},
        {{HEED_BF16, HEED_BF16, HEED_BF16, HEED_BF16, HEED_BF16, HEED_BF16, HEED_BF16}, HEED_BF16, 0, true},
        {{HEED_F32, HEED_F32, HEED_F32, HEED_F32, HEED_F32, HEED_F32, HEED_F32}, HEED_F32, 0, true},
    };
    heed_ctx *cx = open_context();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct model own, mapped;
        const char *path = in_folder("p.safetensors");
        double numbers[7][20];
        heed_array arrays[8] = {{.name = "odd", .dtype = HEED_U8, .rank = 1, .shape = {1}, .data = "x"}};
        make_owned(cx, &own);
        narrow(own.set, HEED_F32);
        for (int i = 0; i < 7; i++) arrays[i + 1] = array_of(own.set, names[i], cases[c].types[i], numbers[i]);
        assert_true(heed_safetensors_write(cx, path, arrays + !cases[c].odd, cases[c].odd ? 8 : 7, NULL, 0));
        make(cx, &mapped);
        heed_param_ignore(cx, mapped.set, NULL, "odd");
        heed_param_ignore(cx, own.set, NULL, "odd");
        assert_true(heed_params_load(cx, own.set, path));
        assert_true(heed_params_map(cx, mapped.set, path));
        assert_int_equal(mapped.fused.weight->dtype, cases[c].fused);
        assert_int_equal(heed_params_mapped(mapped.set), cases[c].mapped);
        check_same(cx, &own, &mapped);
        heed_params_free(cx, mapped.set);
        heed_params_free(cx, own.set);
        remove(path);
    }
    close_context(cx);
}

/* Parameters in two files: slices that are in both are copied. */
static void test_shards(void **state) {
    (void)state;
    static const char *const names[] = {"wte.weight", "q.weight",    "k.weight", "qk.bias",
                                        "scale",      "norm.weight", "norm.bias"};
    static const char *const files[] = {"one.safetensors", "two.safetensors"};
    heed_ctx *cx = open_context();
    struct model own, mapped;
    double numbers[7][20];
    heed_array arrays[7];
    char index[512] = "{\"weight_map\": {";
    make_owned(cx, &own);
    narrow(own.set, HEED_F32);
    for (int i = 0; i < 7; i++) {
        arrays[i] = array_of(own.set, names[i], HEED_BF16, numbers[i]);
        snprintf(index + strlen(index), sizeof index - strlen(index), "%s\"%s\": \"%s\"", i ? ", " : "", names[i],
                 files[i >= 2]);
    }
    strcat(index, "}}");
    assert_true(heed_safetensors_write(cx, in_folder(files[0]), arrays, 2, NULL, 0));
    assert_true(heed_safetensors_write(cx, in_folder(files[1]), arrays + 2, 5, NULL, 0));
    write_bytes(in_folder("model.safetensors.index.json"), index, strlen(index));
    make(cx, &mapped);
    assert_true(heed_params_map(cx, mapped.set, in_folder("model.safetensors.index.json")));
    assert_int_equal(mapped.fused.weight->dtype, HEED_BF16);
    assert_int_equal(heed_params_mapped(mapped.set), 20 * 2);
    check_same(cx, &own, &mapped);
    heed_params_free(cx, mapped.set);
    heed_params_free(cx, own.set);
    for (int i = 0; i < 2; i++) remove(in_folder(files[i]));
    remove(in_folder("model.safetensors.index.json"));
    close_context(cx);
}

/* ---- files that change or are wrong ---- */

/* A file that is replaced by renaming stays as it was for whoever has mapped it; saving over it is that, too. */
static void test_replaced(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct model own, mapped;
    const char *path = in_folder("p.safetensors");
    make_owned(cx, &own);
    assert_true(heed_params_save(cx, own.set, path));
    make(cx, &mapped);
    assert_true(heed_params_map(cx, mapped.set, path));
    float before[15], after[15];
    run(cx, &mapped, before);
    heed_params_init(cx, own.set, 99);
    assert_true(heed_params_save(cx, own.set, path));
    run(cx, &mapped, after);
    assert_memory_equal(before, after, sizeof before);
    assert_true(heed_params_save(cx, mapped.set, path)); /* over the file that it was mapped from */
    run(cx, &mapped, after);
    assert_memory_equal(before, after, sizeof before);
    assert_true(heed_params_load(cx, own.set, path));
    check_same(cx, &own, &mapped);
    heed_params_free(cx, mapped.set);
    heed_params_free(cx, own.set);
    remove(path);
    close_context(cx);
}

/* Everything is checked before the set is changed; what failed can be tried again. */
static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct model own, m;
    const char *path = in_folder("p.safetensors"), *pipe_path = in_folder("pipe");
    make_owned(cx, &own);
    assert_true(heed_params_save(cx, own.set, path));
    make(cx, &m);
    size_t size;
    char *bytes = read_bytes(path, &size);
    write_bytes(path, bytes, size - 1);
    assert_false(heed_params_map(cx, m.set, path));
    EXPECT_SENTENCE(cx, "do not lie within the");
    char *const dtype = strstr(bytes + 8, "F32");
    memcpy(dtype, "F99", 3);
    write_bytes(path, bytes, size);
    assert_false(heed_params_map(cx, m.set, path));
    EXPECT_SENTENCE(cx, "unknown dtype 'F99'");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_false(heed_params_map(cx, m.set, pipe_path));
    EXPECT_SENTENCE(cx, "not a regular file, so it cannot be mapped");
    heed_params *other = heed_params_new(cx);
    heed_param_add(cx, other, NULL, "else", 1, (int64_t[]){3}, (heed_init){0});
    memcpy(dtype, "F32", 3);
    write_bytes(path, bytes, size);
    assert_false(heed_params_map(cx, other, path));
    EXPECT_SENTENCE(cx, "names do not fit: missing 'else'; unexpected");
    assert_false(heed_params_own(cx, other));
    EXPECT_SENTENCE(cx, "params: the set is not allocated");
    assert_true(heed_params_map(cx, m.set, path));
    assert_false(heed_params_map(cx, m.set, path));
    EXPECT_SENTENCE(cx, "params: allocated already");
    assert_false(heed_params_allocate(cx, m.set));
    EXPECT_SENTENCE(cx, "params: allocated already");
    assert_false(heed_params_load(cx, m.set, path));
    EXPECT_SENTENCE(cx, "params: the set is not allocated");
    assert_null(heed_param_add(cx, m.set, NULL, "late", 0, NULL, (heed_init){0}));
    EXPECT_SENTENCE(cx, "param: the set is allocated already");
    check_same(cx, &own, &m);
    free(bytes);
    remove(path);
    remove(pipe_path);
    heed_params_free(cx, other);
    heed_params_free(cx, m.set);
    heed_params_free(cx, own.set);
    close_context(cx);
}

/* The N-th allocation refused, for every N. */
static void test_no_memory(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct model own;
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("p.safetensors"));
    make_owned(cx, &own);
    narrow(own.set, HEED_BF16);
    assert_true(heed_params_save(cx, own.set, path));
    for (int n = 1, failed = 1; failed; n++) {
        struct model m;
        make(cx, &m);
        books.fail_at = books.requests + n;
        failed = !heed_params_map(cx, m.set, path) || !heed_params_own(cx, m.set) ||
                 !heed_params_save(cx, m.set, in_folder("again"));
        books.fail_at = 0;
        assert_true(!failed || heed_error(cx) == HEED_ERR_MEMORY);
        heed_clear(cx);
        if (!failed) check_same(cx, &own, &m);
        heed_params_free(cx, m.set);
    }
    remove(path);
    remove(in_folder("again"));
    heed_params_free(cx, own.set);
    close_context(cx);
}

/* ---- training ---- */

/* A trainer makes the set its own, in f32; once trained it is saved so, and before as it was stored. */
static void test_trained(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct model own, m;
    char path[512], again[512];
    snprintf(path, sizeof path, "%s", in_folder("p.safetensors"));
    snprintf(again, sizeof again, "%s", in_folder("again.safetensors"));
    make_owned(cx, &own);
    narrow(own.set, HEED_BF16);
    assert_true(heed_params_save(cx, own.set, path));
    make(cx, &m);
    assert_true(heed_params_map(cx, m.set, path));
    size_t size[2];
    char *bytes[2] = {read_bytes(path, &size[0]), NULL};
    for (int i = 0; i < 2; i++) { /* mapped, then owned and unchanged */
        assert_true(heed_params_save(cx, m.set, again));
        bytes[1] = read_bytes(again, &size[1]);
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(bytes[0], bytes[1], size[0]);
        free(bytes[1]);
        assert_true(heed_params_own(cx, m.set));
    }
    const heed_trainer_opts sgd = {.optimizer = {.kind = HEED_SGD}, .schedule = {.lr = 1e-3}};
    heed_params_free(cx, m.set);
    make(cx, &m);
    assert_true(heed_params_map(cx, m.set, path));
    heed_trainer *t = heed_trainer_new(cx, m.set, &sgd);
    assert_non_null(t);
    assert_int_equal(heed_params_mapped(m.set), 0);
    assert_memory_equal(heed_params_block(m.set), heed_params_block(own.set), 52 * sizeof(float));
    heed_trainer_begin(cx, t);
    assert_true(heed_backward(cx, heed_sum(cx, heed_param_tensor(cx, m.table.weight), NULL, 0, false)));
    assert_true(heed_trainer_step(cx, t, NULL));
    heed_reset(cx);
    heed_trainer_free(cx, t);
    assert_true(heed_params_save(cx, m.set, again));
    heed_safetensors *st = heed_safetensors_open(cx, again);
    for (int64_t i = 0; i < heed_safetensors_count(st); i++)
        assert_int_equal(heed_safetensors_info(cx, st, i)->dtype, HEED_F32);
    heed_safetensors_close(st);
    free(bytes[0]);
    remove(path);
    remove(again);
    heed_params_free(cx, m.set);
    heed_params_free(cx, own.set);
    close_context(cx);
}

/* ---- buffers ---- */

static heed_params *with_buffers(heed_ctx *cx, heed_linear_layer *layer, heed_param *buffer[2]) {
    heed_params *set = heed_params_new(cx);
    heed_linear_make(cx, set, "a", 2, 2, true, layer);
    buffer[0] =
        heed_param_buffer(cx, set, "bn", "running_mean", 1, (int64_t[]){2}, (heed_init){.kind = HEED_INIT_ZEROS});
    buffer[1] = heed_param_buffer(cx, set, "bn", "num_batches_tracked", 0, NULL, (heed_init){.kind = HEED_INIT_ZEROS});
    buffer[1]->stored = HEED_I64;
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    return set;
}

static void test_buffers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_linear_layer layer, other_layer;
    heed_param *buffer[2], *other_buffer[2];
    heed_params *set = with_buffers(cx, &layer, buffer), *other = with_buffers(cx, &other_layer, other_buffer);
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("b.safetensors"));
    const heed_trainer_opts adamw = {
        .optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.5}, .schedule = {.lr = 0.1}, .average = 0.5};
    heed_trainer *t = heed_trainer_new(cx, set, &adamw), *u = heed_trainer_new(cx, other, &adamw);
    buffer[0]->value[0] = 1.5f, buffer[0]->value[1] = -2, buffer[1]->value[0] = 7;
    for (int i = 0; i < 2; i++) { /* a step does not touch them, though they are in the sum */
        heed_trainer_begin(cx, t);
        heed_tensor *y = heed_linear_run(cx, &layer, heed_full(cx, 1, 2, (int64_t[]){1, 2}), HEED_ACT_NONE);
        y = heed_sub(cx, y, heed_param_tensor(cx, buffer[0]));
        assert_false(heed_wants_grad(heed_param_tensor(cx, buffer[0])));
        assert_true(heed_backward(cx, heed_sum(cx, y, NULL, 0, false)));
        assert_true(heed_trainer_step(cx, t, NULL));
        heed_reset(cx);
    }
    heed_trainer_swap_average(cx, t);
    assert_true(buffer[0]->value[0] == 1.5f && buffer[1]->value[0] == 7);
    heed_trainer_swap_average(cx, t);
    /* a resumed run has them */
    assert_true(heed_checkpoint_save(cx, t, path, "{}"));
    assert_true(heed_checkpoint_load(cx, u, path));
    assert_memory_equal(heed_params_block(other), heed_params_block(set), 9 * sizeof(float));
    /* and so has a saved model, as whole numbers where they are */
    assert_true(heed_params_save(cx, set, path));
    heed_safetensors *st = heed_safetensors_open(cx, path);
    const heed_array *count = heed_safetensors_get(cx, st, heed_safetensors_find(cx, st, "bn.num_batches_tracked"));
    assert_int_equal(count->dtype, HEED_I64);
    assert_int_equal(*(const int64_t *)count->data, 7);
    heed_safetensors_close(st);
    other_buffer[0]->value[1] = other_buffer[1]->value[0] = 0;
    assert_true(heed_params_load(cx, other, path));
    assert_memory_equal(heed_params_block(other), heed_params_block(set), 9 * sizeof(float));
    assert_int_equal(other_buffer[1]->stored, HEED_I64);
    heed_trainer_free(cx, t);
    heed_trainer_free(cx, u);
    heed_params_free(cx, set);
    heed_params_free(cx, other);
    remove(path);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),    cmocka_unit_test(test_mixed),   cmocka_unit_test(test_shards),
        cmocka_unit_test(test_replaced), cmocka_unit_test(test_refused), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_trained),  cmocka_unit_test(test_buffers),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
