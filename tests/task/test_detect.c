/* Objects in pictures: batches with their targets and noise, what becomes of logits and boxes, a run from drawn
 * pictures to detections, and what is refused. */
#include "folder.h"
#include "heed/detect.h"
#include "heed/run.h"
#include "task/task_test.h"
#include "task/vision/detecting.h"
#include "task/vision/object_batches.h"
#include <math.h>

enum { PICTURES = 6 };

static heed_ctx *open_one(int threads) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads, .seed = 5});
    assert_false(heed_failed(cx));
    return cx;
}

/* Three pictures of several sizes with 2, 1 and 0 objects, a crowd and a box that reaches out, as COCO has them. */
static const char *coco(heed_ctx *cx) {
    static const int64_t sizes[][2] = {{40, 30}, {30, 40}, {24, 24}};
    for (int i = 0; i < 3; i++) {
        char name[32];
        heed_image p;
        snprintf(name, sizeof name, "%d.png", i + 1);
        assert_true(heed_image_new(cx, sizes[i][0], sizes[i][1], 3, &p));
        memset(p.data, 50 * (i + 1), (size_t)(p.width * p.height * 3));
        assert_true(heed_image_write(cx, in_folder(name), &p, 0));
        heed_image_free(cx, &p);
    }
    write_text("boxes.json",
               "{\"images\":[{\"id\":1,\"file_name\":\"1.png\",\"width\":40,\"height\":30},"
               "{\"id\":2,\"file_name\":\"2.png\",\"width\":30,\"height\":40},"
               "{\"id\":7,\"file_name\":\"3.png\",\"width\":24,\"height\":24}],"
               "\"categories\":[{\"id\":3,\"name\":\"cat\"},{\"id\":5,\"name\":\"dog\"}],"
               "\"annotations\":["
               "{\"id\":1,\"image_id\":1,\"category_id\":5,\"bbox\":[10,6,20,12],\"area\":240,\"iscrowd\":0},"
               "{\"id\":2,\"image_id\":1,\"category_id\":3,\"bbox\":[0,0,8,15],\"area\":120,\"iscrowd\":0},"
               "{\"id\":3,\"image_id\":1,\"category_id\":3,\"bbox\":[0,0,40,30],\"area\":900,\"iscrowd\":1},"
               "{\"id\":4,\"image_id\":2,\"category_id\":3,\"bbox\":[15,20,30,20],\"area\":600,\"iscrowd\":0}]}");
    return in_folder("boxes.json");
}

static heed_image_processor processor_of(int64_t shorter, int64_t longer) {
    heed_image_processor p = {.channels = 3,
                              .resize = HEED_RESIZE_SHORTER,
                              .shorter = shorter,
                              .longer = longer,
                              .filter = HEED_FILTER_BILINEAR,
                              .rescale = true,
                              .normalize = true,
                              .scale = 1.0 / 255};
    for (int c = 0; c < 4; c++) p.mean[c] = 0.5F, p.std[c] = 0.25F;
    return p;
}

static void near(const float *found, const double *expected, int n) {
    for (int i = 0; i < n; i++)
        if (fabs((double)found[i] - expected[i]) > 1e-6)
            fail_msg("number %d is %.8g, expected %.8g", i, (double)found[i], expected[i]);
}

static const struct object_part *first_part(heed_ctx *cx, const struct object_batches_opts *o,
                                            struct object_batches **b) {
    *b = object_batches_open(cx, o);
    const struct object_part *const p = *b ? object_batches_next(cx, *b) : NULL;
    if (!p) fail_msg("%s", heed_message(cx));
    return p;
}

/* Pictures are padded to the largest; boxes are relative to the picture, or to the padded one; crowds are left out. */
static void test_padding(void **state) {
    (void)state;
    heed_ctx *const cx = open_one(1);
    const heed_image_processor processor = processor_of(15, 40);
    heed_object_set *const set = heed_object_set_open(cx, coco(cx), "train", NULL);
    if (!set) fail_msg("%s", heed_message(cx));
    struct object_batches_opts o = {.set = set, .n = 3, .processor = &processor, .masks = true, .batch = 3};
    struct object_batches *b;
    const struct object_part *p = first_part(cx, &o, &b);
    assert_int_equal(p->n, 3);
    assert_int_equal(p->height, 20);
    assert_int_equal(p->width, 20);
    assert_int_equal(p->most, 2);
    assert_int_equal(p->objects[0], 2);
    assert_int_equal(p->objects[1], 1);
    assert_int_equal(p->objects[2], 0);
    assert_int_equal(p->label[0], 1);
    assert_int_equal(p->label[1], 0);
    near(p->box, (double[]){0.5, 0.4, 0.5, 0.4, 0.1, 0.25, 0.2, 0.5}, 8);
    near(p->box + 8, (double[]){0.75, 0.75, 0.5, 0.5}, 4); /* what reached out is cut off */
    assert_int_equal(p->size[1][0], 40);
    assert_int_equal(p->size[1][1], 30);
    for (int i = 0; i < 20 * 20; i++) { /* 20 x 15, then 15 x 20 */
        const bool there = i / 20 < 15, then = i % 20 < 15;
        assert_int_equal(p->mask[i], there);
        assert_int_equal(p->mask[400 + i], then);
        assert_true(there ? p->pixels[i] != 0 : p->pixels[i] == 0);
    }
    object_batches_close(cx, b);
    o.padded_boxes = true;
    p = first_part(cx, &o, &b);
    near(p->box, (double[]){0.5, 0.3, 0.5, 0.3}, 4);
    object_batches_close(cx, b);
    heed_object_set_free(cx, set);
    heed_close(cx);
}

/* Copies of the objects, group by group, as far away as was asked for. */
static void test_noise(void **state) {
    (void)state;
    heed_ctx *const cx = open_one(1);
    const heed_image_processor processor = processor_of(96, 160);
    heed_object_set *const set = heed_object_set_open(cx, "shapes", "train", &(heed_object_set_opts){.count = 64});
    const struct object_batches_opts o = {.set = set,
                                          .n = 64,
                                          .processor = &processor,
                                          .noise = {.groups = 3, .box = 0.4, .label = 0.5},
                                          .shuffle = true,
                                          .batch = 64};
    struct object_batches *b;
    const struct object_part *const p = first_part(cx, &o, &b);
    int64_t copies = 0, flipped = 0;
    double far = 0;
    assert_null(p->mask);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t g = 0; g < 3; g++)
            for (int64_t k = 0; k < p->most; k++) {
                const int64_t at = (i * 3 + g) * p->most + k;
                if (k >= p->objects[i]) {
                    assert_int_equal(p->noised_label[at], -1);
                    continue;
                }
                const float *const box = p->box + (i * p->most + k) * 4, *const noised = p->noised_box + at * 4;
                const double half[] = {0.2, 0.2, 0.4, 0.4};
                for (int c = 0; c < 4; c++) {
                    const double off = fabs((double)noised[c] - (double)box[c]) / (double)box[2 + c % 2];
                    assert_true(off <= half[c] + 1e-5 || noised[c] == 0 || noised[c] == 1);
                    far = fmax(far, off);
                }
                assert_in_range(p->noised_label[at], 0, 5);
                flipped += p->noised_label[at] != p->label[i * p->most + k];
                copies++;
            }
    assert_true(far > 0.35 && copies > 300);
    /* half are drawn anew, of which one in six is as it was */
    assert_true(fabs((double)flipped / (double)copies - 0.5 * 5 / 6) < 0.08);
    object_batches_close(cx, b);
    heed_object_set_free(cx, set);
    heed_close(cx);
}

/* Whoever makes batches, and wherever a run begins. */
static void test_same_batches(void **state) {
    (void)state;
    heed_ctx *const cx = open_one(3);
    const heed_image_processor processor = processor_of(24, 40);
    const heed_object_augment augment = {.flip = 0.5, .crop = 0.5, .scale_low = 0.7, .scale_high = 1.3, .hue = 0.1};
    heed_object_set *const set =
        heed_object_set_open(cx, "shapes", "train", &(heed_object_set_opts){.count = PICTURES});
    struct object_batches_opts o = {.set = set,
                                    .n = PICTURES,
                                    .processor = &processor,
                                    .augment = &augment,
                                    .noise = {.groups = 1, .box = 0.4, .label = 0.2},
                                    .masks = true,
                                    .shuffle = true,
                                    .batch = 4,
                                    .micro = 3};
    struct object_batches *b[3];
    b[0] = object_batches_open(cx, &o);
    o.workers = 2;
    b[1] = object_batches_open(cx, &o);
    o.step = 2; /* the second epoch: four parts later */
    b[2] = object_batches_open(cx, &o);
    bool differs = false;
    const float *first = NULL;
    float kept[3 * 24 * 24];
    for (int part = 0; part < 9; part++) {
        const struct object_part *const p = object_batches_next(cx, b[0]), *const q = object_batches_next(cx, b[1]),
                                        *const r = part < 3 ? NULL : object_batches_next(cx, b[2]);
        assert_true(p && q);
        const struct object_part *const same[] = {q, r};
        for (int k = 0; k < (r ? 2 : 1); k++) {
            assert_int_equal(p->n, same[k]->n);
            assert_int_equal(p->part, same[k]->part);
            assert_memory_equal(p->row, same[k]->row, (size_t)p->n * sizeof *p->row);
            assert_memory_equal(p->pixels, same[k]->pixels,
                                (size_t)(p->n * 3 * p->height * p->width) * sizeof *p->pixels);
            assert_memory_equal(p->box, same[k]->box, (size_t)(p->n * p->most * 4) * sizeof *p->box);
            assert_memory_equal(p->noised_box, same[k]->noised_box, (size_t)(p->n * p->most * 4) * sizeof *p->box);
        }
        assert_int_equal(p->row[0] / PICTURES, part / 3); /* each epoch has pictures of its own */
        if (first) differs |= memcmp(kept, p->pixels, sizeof kept) != 0;
        first = p->pixels;
        memcpy(kept, p->pixels, sizeof kept);
    }
    assert_true(differs);
    for (int i = 0; i < 3; i++) object_batches_close(cx, b[i]);
    heed_object_set_free(cx, set);
    heed_close(cx);
}

/* Sizes as transformers' DetrImageProcessor and YolosImageProcessor compute them, also from older files. */
static void test_sizes(void **state) {
    (void)state;
    static const char *const files[] = {
        "{\"image_processor_type\": \"DetrImageProcessor\"}",
        "{\"feature_extractor_type\": \"DetrFeatureExtractor\", \"size\": 800, \"max_size\": 1333}",
        ("{\"image_processor_type\": \"ConditionalDetrImageProcessorFast\", \"size\": {\"shortest_edge\": 800, "
         "\"longest_edge\": 1333}}"),
        "{\"image_processor_type\": \"YolosImageProcessor\"}"};
    static const int64_t sizes[][6] = {
        {640, 480, 1066, 800, 1056, 800}, {480, 640, 800, 1066, 800, 1056},  {500, 375, 1066, 800, 1056, 800},
        {333, 500, 800, 1201, 800, 1200}, {1920, 200, 1333, 139, 1328, 128}, {200, 1920, 139, 1333, 128, 1328},
        {800, 800, 800, 800, 800, 800},   {801, 799, 802, 800, 800, 800},    {37, 41, 800, 886, 800, 880}};
    heed_ctx *const cx = open_one(1);
    for (int f = 0; f < 4; f++) {
        heed_image_processor p;
        assert_true(heed_image_processor_parse(cx, "preprocessor_config.json", files[f], strlen(files[f]), &p));
        assert_true(p.mean[1] == 0.456F && p.std[2] == 0.225F && p.filter == HEED_FILTER_BILINEAR && !p.crop);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const int64_t *const s = sizes[i] + (f == 3 ? 4 : 2);
            uint8_t none = 0;
            const heed_image picture = {sizes[i][0], sizes[i][1], 3, &none}; /* nobody looks at its pixels */
            int64_t channels, height, width;
            assert_true(heed_image_processor_size(cx, &p, &picture, &channels, &height, &width));
            assert_int_equal(width, s[0]);
            assert_int_equal(height, s[1]);
        }
    }
    heed_close(cx);
}

/* ---- what becomes of logits and boxes ---- */

static struct detections found_in(heed_ctx *cx, const float *logits, int64_t width, int64_t classes, double threshold,
                                  int64_t most) {
    static const float boxes[] = {0.5F, 0.5F, 0.2F, 0.4F, 0.1F, 0.2F, 0.4F, 0.2F};
    const heed_detect_opts opts = {threshold, most};
    struct detections found = {0};
    heed_io out = {0};
    assert_true(heed_io_put(cx, &out, "logits", heed_from_f32(cx, logits, 3, (int64_t[]){1, 2, width})) &&
                heed_io_put(cx, &out, "pred_boxes", heed_from_f32(cx, boxes, 3, (int64_t[]){1, 2, 4})));
    const int64_t size[] = {50, 100};
    detections_add(cx, &found, &out, 0, classes, size, 9, &opts);
    heed_reset(cx);
    return found;
}

static void expect_object(const heed_detection *d, int label, double score, double x, double y, double w, double h) {
    const double box[] = {x, y, w, h};
    assert_int_equal(d->picture, 9);
    assert_int_equal(d->label, label);
    assert_true(fabs(d->score - score) < 1e-6);
    for (int k = 0; k < 4; k++) assert_true(fabs(d->box[k] - box[k]) < 1e-4);
}

static void test_softmax(void **state) {
    (void)state;
    heed_ctx *const cx = open_one(1);
    const float logits[] = {1, 2, 3, 0, 4, 1}; /* two classes, and none */
    struct detections d = found_in(cx, logits, 3, 2, 0.1, 0);
    const double first = exp(4) / (1 + exp(4) + exp(1)), second = exp(2) / (exp(1) + exp(2) + exp(3));
    assert_int_equal(d.n, 2);
    expect_object(&d.at[0], 1, first, -10, 5, 40, 10);
    expect_object(&d.at[1], 1, second, 40, 15, 20, 20);
    const double exactly = d.at[1].score;
    heed_mem_free(cx, d.at);
    d = found_in(cx, logits, 3, 2, exactly, 0); /* strictly above */
    assert_int_equal(d.n, 1);
    heed_mem_free(cx, d.at);
    heed_close(cx);
}

static void test_sigmoid(void **state) {
    (void)state;
    heed_ctx *const cx = open_one(1);
    const float logits[] = {0, 2, 1, -1, 3, 0};
    struct detections d = found_in(cx, logits, 3, 3, 0.4, 4);
    assert_int_equal(d.n, 4); /* of the first equals the earlier query */
    expect_object(&d.at[0], 1, 1 / (1 + exp(-3)), -10, 5, 40, 10);
    expect_object(&d.at[1], 1, 1 / (1 + exp(-2)), 40, 15, 20, 20);
    expect_object(&d.at[2], 2, 1 / (1 + exp(-1)), 40, 15, 20, 20);
    expect_object(&d.at[3], 0, 0.5, 40, 15, 20, 20);
    heed_mem_free(cx, d.at);
    const float bad[] = {0, NAN, 1, -1, 3, 0};
    d = found_in(cx, bad, 3, 3, 0.4, 4);
    EXPECT_SENTENCE(cx, "not a finite number");
    d = found_in(cx, logits, 3, 5, 0.4, 4);
    EXPECT_SENTENCE(cx, "gives no boxes of 5 classes");
    heed_mem_free(cx, d.at);
    heed_close(cx);
}

/* ---- a run ---- */

#define TINY                                                                                                           \
    "set=d_model=8", "set=backbone_config.hidden_sizes=4,8", "set=backbone_config.embedding_size=4",                   \
        "set=backbone_config.depths=1,1", "set=encoder_layers=1", "set=decoder_layers=1", "set=encoder_ffn_dim=8",     \
        "set=decoder_ffn_dim=8", "set=encoder_attention_heads=2", "set=decoder_attention_heads=2",                     \
        "set=num_queries=5", "shortest-edge=32", "steps=2", "batch=2", "force"

static heed_loop_end train(heed_ctx *cx, const char *data, const char *out, const char *const *options) {
    heed_run *const run =
        heed_run_open(cx, &(heed_run_opts){.task = "detect", .data = data, .out = out, .options = options});
    const heed_loop_end end = run ? heed_run_train(cx, run) : HEED_LOOP_FAILED;
    if (end == HEED_LOOP_DONE) {
        heed_evaluation e;
        heed_image picture;
        assert_true(heed_image_new(cx, 50, 40, 3, &picture));
        memset(picture.data, 90, 50 * 40 * 3);
        assert_true(heed_image_write(cx, in_folder("one.png"), &picture, 0));
        heed_image_free(cx, &picture);
        const heed_json said = heed_run_answer(cx, run, in_folder("one.png"));
        assert_int_equal(heed_json_kind_of(heed_json_find(cx, said, "objects")), HEED_JSON_ARRAY);
        heed_json_free(said);
        if (strcmp(data, "shapes") != 0) {
            assert_true(heed_run_evaluate(cx, run, "test", &e));
            assert_int_equal(e.n, 3);
            assert_string_equal(e.metrics.list[0]->name, "AP");
            heed_evaluation_free(cx, &e);
        }
    }
    heed_run_close(cx, run);
    return end;
}

static void test_run(void **state) {
    (void)state;
    heed_ctx *const cx = open_one(1);
    const char *const drawn[] = {TINY, "count=4", "valid=0.5", "flip=0.5", "jitter=0.2", NULL}, *const several[] = {
                                                                                                    TINY, "valid=0",
                                                                                                    "padded-boxes",
                                                                                                    NULL};
    char data[600], out[600];
    snprintf(data, sizeof data, "%s", coco(cx));
    snprintf(out, sizeof out, "%s", in_folder("found"));
    if (train(cx, "shapes", out, drawn) != HEED_LOOP_DONE) fail_msg("%s", heed_message(cx));
    if (train(cx, data, out, several) != HEED_LOOP_DONE) fail_msg("%s", heed_message(cx));
    /* the model that is written finds the classes of its data */
    heed_picture_model *const m = heed_picture_model_open(cx, out, "detect");
    if (!m) fail_msg("%s", heed_message(cx));
    assert_int_equal(m->labels, 2);
    assert_string_equal(m->label[1], "dog");
    assert_int_equal(m->processor.shorter, 32);
    assert_int_equal(m->processor.longer, 54);
    heed_picture_model_free(cx, m);
    /* further, with classes that it knows */
    char init[640];
    snprintf(init, sizeof init, "init=%s", out);
    const char *const again[] = {init, "steps=1", "batch=3", "valid=0", "force", NULL};
    if (train(cx, data, in_folder("again"), again) != HEED_LOOP_DONE) fail_msg("%s", heed_message(cx));
    heed_close(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *const cx = open_one(1);
    const struct {
        const char *const options[4];
        const char *sentence;
    } cases[] = {{{"box-noise-scale=0.3", NULL}, "--box-noise-scale needs --denoising-groups"},
                 {{"crop-min-scale=0.3", NULL}, "--crop-min-scale needs --crop"},
                 {{"shortest-edge=40", "longest-edge=30", NULL}, "--longest-edge 30 is less than the shorter side, 40"},
                 {{"model=vit", NULL}, "vit cannot be trained to detect"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(train(cx, "shapes", in_folder("none"), cases[i].options), HEED_LOOP_FAILED);
        EXPECT_SENTENCE(cx, cases[i].sentence);
    }
    int64_t n = 0;
    assert_null(heed_detect_pictures(cx, NULL, NULL, 1, NULL, &n));
    EXPECT_SENTENCE(cx, "a model and pictures are needed");
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_padding),      cmocka_unit_test(test_noise),
                                       cmocka_unit_test(test_same_batches), cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_softmax),      cmocka_unit_test(test_sigmoid),
                                       cmocka_unit_test(test_run),          cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
