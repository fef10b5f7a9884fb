/* HAT: three updates against PyTorch's, whole and in parts; the same bits for any number of threads, whole or resumed;
 * and the gradient by pixels, on which it rests, of models of pictures. */
#include "folder.h"
#include "heed/picture_training.h"
#include "task/task_test.h"
#include <math.h>
#include <sys/stat.h>

enum { PICTURES = 6, SIDE = 8, UPDATES = 3 };
static const heed_hat hat = {
    .iterations = 3, .updates = 2, .step = 0.05, .radius = 0.08, .kl_weight = 0.5, .ce_weight = 3};

static const heed_array *stored(heed_ctx *cx, heed_safetensors *f, const char *name) {
    const int64_t at = heed_safetensors_find(cx, f, name);
    if (at < 0) fail_msg("%s is missing", name);
    return heed_safetensors_get(cx, f, at);
}

/* train/CLASS/N.png; classes are named so that sorting numbers them as they are. */
static void write_pictures(heed_ctx *cx) {
    heed_safetensors *f = heed_safetensors_open(cx, golden_path("task/hat.safetensors"));
    const uint8_t *const bytes = stored(cx, f, "in.pixels")->data;
    const int32_t *const label = stored(cx, f, "in.labels")->data;
    char path[600];
    mkdir(in_folder("train"), 0777);
    for (int i = 0; i < PICTURES; i++) {
        heed_image p;
        assert_true(heed_image_new(cx, SIDE, SIDE, 3, &p));
        memcpy(p.data, bytes + (size_t)i * SIDE * SIDE * 3, SIDE * SIDE * 3);
        snprintf(path, sizeof path, "%s/c%d", in_folder("train"), (int)label[i]);
        mkdir(path, 0777);
        snprintf(path, sizeof path, "%s/c%d/%d.png", in_folder("train"), (int)label[i], i);
        assert_true(heed_image_write(cx, path, &p, 0));
        heed_image_free(cx, &p);
    }
    heed_safetensors_close(f);
}

struct run {
    const char *model, *setting; /* setting: NULL for none */
    int threads;
    int64_t micro, stop; /* after so many updates and again; 0: not */
    double average;
    double loss[UPDATES + 1]; /* before each update */
};

static bool report(void *user, const heed_loop_state *s) {
    struct run *r = user;
    if (s->step > 0) r->loss[s->step - 1] = s->loss;
    return s->step != r->stop;
}

static void train(struct run *r, const char *dir) {
    static const float mean[] = {0.5F, 0.4F, 0.3F}, std[] = {0.25F, 0.2F, 0.3F};
    heed_ctx *cx = heed_open(&(heed_config){.threads = r->threads, .seed = 5});
    heed_picture_set *set = heed_picture_set_open(cx, folder, "train", NULL);
    heed_picture_input in = {.channels = 3, .height = SIDE, .width = SIDE};
    in.processor = heed_picture_processor_for(&in, mean, std);
    for (int part = 0; part < (r->stop ? 2 : 1); part++) {
        heed_model *m = heed_model_load_as(
            cx, golden_path(r->model), &(heed_load_opts){.settings = &r->setting, .n_settings = r->setting != NULL});
        heed_picture_training *t = heed_picture_training_new(cx, &(heed_picture_training_opts){.train = set,
                                                                                               .input = &in,
                                                                                               .smoothing = 0.1,
                                                                                               .batch = PICTURES,
                                                                                               .micro_batch = r->micro,
                                                                                               .seed = 11,
                                                                                               .hat = hat});
        const heed_loop_opts opts = {.dir = dir,
                                     .trainer = {.optimizer = {.kind = HEED_SGD, .momentum = 0.9},
                                                 .schedule = {.lr = 0.2},
                                                 .average = r->average},
                                     .steps = UPDATES,
                                     .resume = part > 0,
                                     .drop_checkpoint = part > 0 || !r->stop,
                                     .source = heed_picture_training_source(t),
                                     .report = report,
                                     .user = r};
        const heed_loop_end end = heed_loop_run(cx, m, &opts, NULL);
        if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
        assert_int_equal(end, r->stop && part == 0 ? HEED_LOOP_STOPPED : HEED_LOOP_DONE);
        heed_picture_training_free(cx, t);
        heed_model_free(cx, m);
    }
    heed_picture_set_free(cx, set);
    heed_close(cx);
}

static void check_golden(const char *dir, const struct run *r) {
    heed_ctx *cx = open_context();
    heed_safetensors *want = heed_safetensors_open(cx, golden_path("task/hat.safetensors")),
                     *got = heed_safetensors_open(cx, dir);
    const float *const loss = stored(cx, want, "out.loss")->data;
    int params = 0;
    for (int i = 0; i < UPDATES; i++)
        if (!(fabs(r->loss[i] - (double)loss[i]) < 2e-5))
            fail_msg("update %d: loss %.8g, not %.8g", i, r->loss[i], (double)loss[i]);
    for (int64_t i = 0; i < heed_safetensors_count(want); i++) {
        const heed_array *const a = heed_safetensors_get(cx, want, i);
        if (strncmp(a->name, "param.", 6) != 0) continue;
        const heed_array *const b = stored(cx, got, a->name + 6);
        int64_t n = 1;
        for (int k = 0; k < a->rank; k++) n *= a->shape[k];
        params++;
        for (int64_t k = 0; k < n; k++)
            if (!(fabsf(((const float *)a->data)[k] - ((const float *)b->data)[k]) < 2e-5F))
                fail_msg("%s: number %d is %.8g, not %.8g", a->name, (int)k, (double)((const float *)b->data)[k],
                         (double)((const float *)a->data)[k]);
    }
    assert_int_equal(params, heed_safetensors_count(got));
    heed_safetensors_close(want);
    heed_safetensors_close(got);
    close_context(cx);
}

static void test_golden(void **state) {
    (void)state;
    for (int64_t micro = 0; micro <= 4; micro += 4) {
        struct run r = {.model = "model/vit-classify", .threads = 2, .micro = micro};
        train(&r, in_folder("golden"));
        check_golden(in_folder("golden"), &r);
    }
}

static void assert_same(const char *a, const char *b) {
    size_t n, m;
    char path[600];
    snprintf(path, sizeof path, "%s/model.safetensors", a);
    char *one = read_bytes(path, &n);
    snprintf(path, sizeof path, "%s/model.safetensors", b);
    char *other = read_bytes(path, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, other, n);
    free(one);
    free(other);
}

/* With dropout, whose masks are others in each pass, parts of a batch, and an average of weights. */
static void test_same_bits(void **state) {
    (void)state;
    static const int threads[] = {2, 3, 8};
    const struct run like = {
        .model = "model/vit-classify", .setting = "hidden_dropout_prob=0.2", .micro = 4, .average = 0.5};
    struct run r = like;
    r.threads = 1;
    train(&r, in_folder("one"));
    for (int i = 0; i < 3; i++) {
        r = like;
        r.threads = threads[i];
        r.stop = i; /* within the passes' time and after it */
        train(&r, in_folder("more"));
        assert_same(in_folder("one"), in_folder("more"));
    }
}

/* ---- the gradient by pixels ---- */

/* sum(logits * weight) of the golden case with its pixels moved by `by` along `way`; its gradient goes to `slope`. */
static double value(heed_ctx *cx, const heed_model *m, const heed_array *pixels, const float *way, double by,
                    float *slope) {
    heed_io in = {0}, out;
    heed_tensor *const x = heed_from_f32(cx, pixels->data, pixels->rank, pixels->shape);
    const int64_t n = heed_count(x);
    float *const at = (float *)(uintptr_t)heed_f32(x);
    for (int64_t i = 0; i < n; i++) at[i] += (float)(by * (double)way[i]);
    heed_set_grad(cx, slope != NULL);
    heed_io_put(cx, &in, "pixel_values", slope ? heed_want_grad(cx, x) : x);
    if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s", heed_message(cx));
    heed_tensor *const y = heed_contiguous(cx, heed_io_get(&out, "logits")), *const dy =
                                                                                 heed_zeros(cx, HEED_F32, heed_rank(y),
                                                                                            heed_shape(y));
    float *const weight = (float *)(uintptr_t)heed_f32(dy);
    heed_random_normal(3, 1, 0, weight, heed_count(y));
    double sum = 0;
    for (int64_t i = 0; i < heed_count(y); i++) sum += (double)weight[i] * (double)heed_f32(y)[i];
    if (slope && !(heed_backward_from(cx, y, dy) && heed_copy_f32(cx, heed_grad_of(cx, x), slope, n)))
        fail_msg("%s", heed_message(cx));
    heed_reset(cx);
    return sum;
}

static void test_pixels(void **state) {
    (void)state;
    static const char *const names[] = {"vit-classify",   "deit-classify",   "dinov2-classify",    "timm-vit-classify",
                                        "swin-classify",  "swinv2-classify", "timm-swin-classify", "cait-classify",
                                        "mixer-classify", "perceiver-conv",  "perceiver-learned",  "perceiver-fourier"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_ctx *cx = open_context();
        char path[128];
        snprintf(path, sizeof path, "model/%s", names[i]);
        heed_model *m = heed_model_load(cx, golden_path(path));
        if (!m) fail_msg("%s", heed_message(cx));
        snprintf(path, sizeof path, "model/%s/case.safetensors", names[i]);
        heed_safetensors *f = heed_safetensors_open(cx, golden_path(path));
        const heed_array *const pixels = stored(cx, f, "in.pixel_values");
        int64_t n = 1;
        for (int k = 0; k < pixels->rank; k++) n *= pixels->shape[k];
        float *const slope = heed_mem_new(cx, (size_t)n * sizeof *slope), *const way =
                                                                              heed_mem_new(cx, (size_t)n * sizeof *way);
        heed_random_normal(7, 2, 0, way, n);
        value(cx, m, pixels, way, 0, slope);
        double along = 0;
        for (int64_t k = 0; k < n; k++) along += (double)slope[k] * (double)way[k];
        const double h = 5e-3,
                     found = (value(cx, m, pixels, way, h, NULL) - value(cx, m, pixels, way, -h, NULL)) / (2 * h);
        if (!(fabs(found - along) < 0.01 * (fabs(along) + 0.1)))
            fail_msg("%s: %.6g along a direction, but differences say %.6g", names[i], along, found);
        heed_mem_free(cx, slope);
        heed_mem_free(cx, way);
        heed_safetensors_close(f);
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* ---- nonsense ---- */

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_picture_set *set = heed_picture_set_open(cx, folder, "train", NULL);
    const heed_picture_input in = {.channels = 3, .height = SIDE, .width = SIDE};
    heed_hat wrong[5] = {hat, hat, hat, hat, hat};
    wrong[0].iterations = -1;
    wrong[1].step = 0;
    wrong[2].radius = (double)NAN;
    wrong[3].kl_weight = -1;
    wrong[4].ce_weight = (double)INFINITY;
    for (int i = 0; i < 5; i++) {
        assert_null(heed_picture_training_new(
            cx, &(heed_picture_training_opts){.train = set, .input = &in, .batch = 2, .hat = wrong[i]}));
        EXPECT_SENTENCE(cx, "HAT needs");
    }
    heed_picture_set_free(cx, set);
    close_context(cx);
}

static int set_up(void **state) {
    if (make_folder(state) != 0) return -1;
    heed_ctx *cx = open_context();
    write_pictures(cx);
    close_context(cx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, set_up, wipe_folder);
}
