/* Pictures as a source of training: the same batches for any number of threads, kept decoded or not, wherever a run
 * begins; the losses of a teacher against their formulas. */
#include "folder.h"
#include "heed/picture_training.h"
#include "task/task_test.h"
#include <math.h>
#include <sys/stat.h>

enum { PICTURES = 12, SIDE = 12, CLASSES = 3 };

static heed_ctx *open_one(void) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2, .seed = 5});
    assert_false(heed_failed(cx));
    return cx;
}

/* train/CLASS/N.png, each of other pixels. */
static void write_pictures(heed_ctx *cx) {
    char path[600];
    assert_int_equal(mkdir(in_folder("train"), 0777), 0);
    for (int i = 0; i < PICTURES; i++) {
        heed_image p;
        assert_true(heed_image_new(cx, SIDE + i % 2, SIDE, 3, &p));
        for (int64_t k = 0; k < p.width * p.height * 3; k++)
            p.data[k] = (uint8_t)heed_random_bits(9, (uint64_t)i, (uint64_t)k);
        snprintf(path, sizeof path, "%s/c%d", in_folder("train"), i % CLASSES);
        mkdir(path, 0777);
        snprintf(path, sizeof path, "%s/c%d/%02d.png", in_folder("train"), i % CLASSES, i);
        assert_true(heed_image_write(cx, path, &p, 0));
        heed_image_free(cx, &p);
    }
}

static heed_picture_input input_of(void) {
    static const float mean[] = {0.5F, 0.4F, 0.3F}, std[] = {0.25F, 0.2F, 0.3F};
    heed_picture_input in = {.channels = 3, .height = 8, .width = 8};
    in.processor = heed_picture_processor_for(&in, mean, std);
    return in;
}

static const heed_augment augment = {.area_low = 0.3,
                                     .area_high = 1,
                                     .filter = HEED_FILTER_BICUBIC,
                                     .flip = 0.5,
                                     .rand_operations = 2,
                                     .rand_kind = HEED_RAND_TIMM,
                                     .rand_magnitude = 7,
                                     .erase = 0.5,
                                     .erase_noise = true,
                                     .mixup = 0.8,
                                     .cutmix = 1,
                                     .mix = 0.8};

enum { UPDATES = 7, BATCH = 5, MICRO = 3, NUMBERS = 3 * 8 * 8 };
struct batches {
    float pixels[UPDATES][BATCH][NUMBERS], targets[UPDATES][BATCH][CLASSES];
};

/* What updates `from` to UPDATES take. */
static void take(heed_ctx *cx, heed_picture_set *set, int workers, int64_t from, struct batches *out) {
    const heed_picture_input in = input_of();
    heed_picture_training *t = heed_picture_training_new(cx, &(heed_picture_training_opts){.train = set,
                                                                                           .input = &in,
                                                                                           .augment = &augment,
                                                                                           .repeats = 2,
                                                                                           .batch = BATCH,
                                                                                           .micro_batch = MICRO,
                                                                                           .seed = 11,
                                                                                           .workers = workers});
    const heed_loop_source *s = heed_picture_training_source(t);
    if (!s || !s->seek(cx, s->own, from)) fail_msg("%s", heed_message(cx));
    assert_int_equal(s->per_epoch, 3);
    for (int64_t u = from; u < UPDATES; u++) {
        const int64_t passes = s->next(cx, s->own);
        if (passes < 1) fail_msg("%s", heed_message(cx));
        float all = 0;
        for (int64_t pass = 0, at = 0; pass < passes; pass++) {
            heed_io io;
            float share;
            if (!s->feed(cx, s->own, pass, &io, &share)) fail_msg("%s", heed_message(cx));
            const heed_tensor *x = heed_io_get(&io, "pixel_values"), *y = heed_io_get(&io, "targets");
            const int64_t n = heed_shape(x)[0];
            memcpy(out->pixels[u][at], heed_f32(x), (size_t)heed_count(x) * sizeof(float));
            memcpy(out->targets[u][at], heed_f32(y), (size_t)heed_count(y) * sizeof(float));
            at += n;
            all += share;
            heed_reset(cx);
        }
        assert_true(fabsf(all - 1) < 1e-6F);
    }
    heed_picture_training_free(cx, t);
}

static void test_batches(void **state) {
    (void)state;
    heed_ctx *cx = open_one();
    static struct batches want, got;
    heed_picture_set *set = heed_picture_set_open(cx, folder, "train", NULL);
    if (!set) fail_msg("%s", heed_message(cx));
    assert_int_equal(heed_picture_set_data(set)->classes, CLASSES);
    take(cx, set, 0, 0, &want);
    bool mixed = false;
    for (int u = 0; u < UPDATES; u++)
        for (int i = 0; i < (u % 3 == 2 ? 2 : BATCH); i++) {
            float sum = 0;
            for (int k = 0; k < CLASSES; k++) {
                sum += want.targets[u][i][k];
                mixed |= want.targets[u][i][k] > 0 && want.targets[u][i][k] < 1;
            }
            assert_true(fabsf(sum - 1) < 1e-6F);
        }
    assert_true(mixed);
    for (int kept = 0; kept < 2; kept++) {
        bool keeps = false;
        if (kept) assert_true(heed_picture_set_keep(cx, set, 3, NULL, 1 << 20, &keeps));
        assert_int_equal(keeps, kept);
        for (int workers = 0; workers < 4; workers++) {
            memset(&got, 0, sizeof got);
            take(cx, set, workers, 0, &got);
            assert_memory_equal(&got, &want, sizeof want);
        }
    }
    memset(got.pixels[4], 0, (UPDATES - 4) * sizeof got.pixels[0]);
    take(cx, set, 1, 4, &got);
    assert_memory_equal(&got, &want, sizeof want);
    bool keeps = true;
    assert_true(heed_picture_set_keep(cx, set, 3, NULL, 500, &keeps));
    assert_false(keeps);
    heed_picture_set_free(cx, set);
    heed_close(cx);
}

/* One that cannot be read is found when its turn comes, and named, whoever decodes it. */
static void test_unreadable(void **state) {
    (void)state;
    char path[600];
    heed_ctx *cx = open_one();
    const heed_picture_input in = input_of();
    snprintf(path, sizeof path, "%s/c1/04.png", in_folder("train"));
    assert_int_equal(truncate(path, 60), 0);
    heed_picture_set *set = heed_picture_set_open(cx, folder, "train", NULL);
    for (int workers = 0; workers < 3; workers += 2) {
        heed_picture_training *t = heed_picture_training_new(
            cx, &(heed_picture_training_opts){.train = set, .input = &in, .batch = 4, .workers = workers});
        const heed_loop_source *s = heed_picture_training_source(t);
        assert_true(s->seek(cx, s->own, 0));
        int64_t updates = 0;
        while (updates < 3 && s->next(cx, s->own) > 0) updates++;
        assert_true(updates < 3);
        assert_non_null(strstr(heed_message(cx), "c1/04.png: "));
        heed_clear(cx);
        heed_picture_training_free(cx, t);
    }
    heed_picture_set_free(cx, set);
    heed_close(cx);
}

/* ---- teachers ---- */

static heed_model *small(heed_ctx *cx, const char *family, const char *task, uint64_t seed) {
    static const char *const settings[] = {"image_size=8",        "patch_size=4",          "hidden_size=8",
                                           "num_labels=3",        "num_attention_heads=2", "num_hidden_layers=1",
                                           "intermediate_size=8", "initializer_range=0.5"};
    const heed_family *f = heed_family_find(family);
    heed_model *m = heed_model_new_as(cx, f, heed_head_for(f, task), settings, 8, seed);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

/* -sum p log softmax(x / T) */
static double cross(const float *x, const double *p, double T) {
    double sum = 0, loss = 0;
    for (int k = 0; k < CLASSES; k++) sum += exp((double)x[k] / T);
    for (int k = 0; k < CLASSES; k++) loss -= p[k] * ((double)x[k] / T - log(sum));
    return loss;
}

static void check_teacher(heed_ctx *cx, const char *family, const char *task, heed_distillation kind) {
    enum { N = 4 };
    const double alpha = 0.3, T = 2.5, smoothing = 0.1;
    const heed_picture_input in = input_of();
    heed_model *student = small(cx, family, task, 3), *teacher = small(cx, "vit", "classify", 4);
    heed_picture_set *set = heed_picture_set_open(cx, folder, "train", NULL);
    const heed_picture_training_opts opts = {.train = set,
                                             .input = &in,
                                             .batch = N,
                                             .smoothing = smoothing,
                                             .teacher = teacher,
                                             .teacher_input = &in,
                                             .distillation = kind,
                                             .alpha = alpha,
                                             .temperature = T};
    heed_picture_training *t = heed_picture_training_new(cx, &opts);
    const heed_loop_source *s = heed_picture_training_source(t);
    heed_io io, plain = {0}, own, its, out;
    float share;
    assert_true(s->seek(cx, s->own, 0) && s->next(cx, s->own) > 0 && s->feed(cx, s->own, 0, &io, &share));
    heed_set_training(cx, true);
    assert_true(heed_io_put(cx, &plain, "pixel_values", heed_io_get(&io, "pixel_values")));
    assert_true(heed_model_forward(cx, teacher, &plain, &its) && heed_model_forward(cx, student, &plain, &own));
    if (!s->forward(cx, s->own, student, &io, &out)) fail_msg("%s", heed_message(cx));
    const bool token = heed_io_get(&own, "distillation_logits");
    assert_int_equal(token, strcmp(family, "deit") == 0);
    const float *of_labels = heed_f32(heed_io_get(&own, token ? "cls_logits" : "logits")),
                *of_teacher = heed_f32(heed_io_get(&own, token ? "distillation_logits" : "logits")),
                *taught = heed_f32(heed_io_get(&its, "logits"));
    const heed_tensor *label = heed_io_get(&io, "labels");
    double loss = 0;
    for (int i = 0; i < N; i++) {
        double one[CLASSES], p[CLASSES], sum = 0, entropy = 0;
        int best = 0;
        for (int k = 0; k < CLASSES; k++) {
            one[k] = smoothing / CLASSES + (k == heed_i32(label)[i] ? 1 - smoothing : 0);
            sum += exp((double)taught[i * CLASSES + k] / T);
            if (taught[i * CLASSES + k] > taught[i * CLASSES + best]) best = k;
        }
        for (int k = 0; k < CLASSES; k++) {
            p[k] = kind == HEED_DISTIL_SOFT ? exp((double)taught[i * CLASSES + k] / T) / sum : k == best;
            if (p[k] > 0) entropy -= p[k] * log(p[k]);
        }
        const double soft = T * T * (cross(of_teacher + i * CLASSES, p, T) - entropy);
        const double hard = cross(of_teacher + i * CLASSES, p, 1);
        loss += (1 - alpha) * cross(of_labels + i * CLASSES, one, 1) + alpha * (kind == HEED_DISTIL_SOFT ? soft : hard);
    }
    const double got = (double)heed_item(cx, heed_io_get(&out, "loss"));
    if (!(fabs(got - loss / N) < 1e-5)) fail_msg("%s: %.8g, not %.8g", family, got, loss / N);
    heed_set_training(cx, false);
    heed_reset(cx);
    heed_picture_training_free(cx, t);
    heed_picture_set_free(cx, set);
    heed_model_free(cx, student);
    heed_model_free(cx, teacher);
}

static void test_teachers(void **state) {
    (void)state;
    heed_ctx *cx = open_one();
    for (int kind = 0; kind < 2; kind++) {
        check_teacher(cx, "vit", "classify", (heed_distillation)kind);
        check_teacher(cx, "deit", "distil", (heed_distillation)kind);
    }
    assert_false(heed_failed(cx));
    heed_close(cx);
}

static int set_up(void **state) {
    if (make_folder(state) != 0) return -1;
    heed_ctx *cx = open_one();
    write_pictures(cx);
    heed_close(cx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_teachers),
        cmocka_unit_test(test_unreadable),
    };
    return cmocka_run_group_tests(tests, set_up, wipe_folder);
}
