/* Models of pictures in use: what transformers and timm say of the same files, attention in the grid of patches against
 * theirs and against a twin, and what is refused. */
#include "heed/attend.h"
#include "heed/loop.h"
#include "heed/vision.h"
#include "task/task_test.h"

static heed_safetensors *golden;
static const char *where;

static const char *in_golden(const char *name) {
    static char path[1200];
    snprintf(path, sizeof path, "%s/%s", golden_path(where), name);
    return path;
}

static const float *wanted(heed_ctx *cx, const char *file, const char *what, int64_t *n) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", file, what);
    for (int64_t i = 0; i < heed_safetensors_count(golden); i++) {
        if (strcmp(heed_safetensors_info(cx, golden, i)->name, name) != 0) continue;
        const heed_array *const a = heed_safetensors_get(cx, golden, i);
        int64_t count = 1;
        for (int k = 0; k < a->rank; k++) count *= a->shape[k];
        if (n) *n = count;
        return a->data;
    }
    return NULL;
}

static void near(const float *found, const float *expected, int64_t n, double limit, const char *what) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)found[i] - (double)expected[i]) <= limit))
            fail_msg("%s: %s: number %d is %.8g, expected %.8g", where, what, (int)i, (double)found[i],
                     (double)expected[i]);
}

static heed_attended *over(heed_ctx *cx, const heed_picture_model *m, const heed_image *picture) {
    return heed_attend(cx, m->model, NULL, &(heed_attend_input){.picture = picture, .processor = &m->processor});
}

static void check_attention(heed_ctx *cx, const heed_picture_model *m, const char *file, const heed_image *picture) {
    heed_attended *const a = over(cx, m, picture);
    if (!a) fail_msg("%s", heed_message(cx));
    const heed_attended_site *const s = &a->sites[0];
    const heed_axis *const at = s->keys;
    const int64_t tokens = at->n, heads = s->maps[0].heads;
    assert_int_equal(tokens, at->first + at->rows * at->columns);
    assert_ptr_equal(s->queries, at);
    int64_t n = 0;
    float row[64], sum[64] = {0};
    assert_true(tokens <= 64);
    const float *const all = wanted(cx, file, "attention", &n), *const rollout = wanted(cx, file, "rollout", NULL);
    /* of windows the second layer alone, whose windows are shifted */
    const int first = s->cells[0] ? 1 : 0;
    if (all) assert_int_equal(n, (s->n_maps - first) * heads * tokens * tokens);
    for (int64_t i = 0; all && i < n / tokens; i++) {
        assert_true(heed_attended_row(cx, s, first + (int)(i / heads / tokens), i / tokens % heads, i % tokens, row));
        near(row, all + i * tokens, tokens, 1e-5, "attention");
    }
    if (rollout) {
        assert_true(heed_attended_rollout(cx, a, 0, s->n_maps - 1, HEED_QUERY_DEFAULT, row));
        near(row, rollout, tokens, 1e-5, "rollout");
    }
    /* the mean of heads, and of patches where there is no class token */
    assert_true(heed_attended_row(cx, s, 0, -1, HEED_QUERY_DEFAULT, row));
    const int64_t low = at->has_class ? 0 : at->first, high = at->has_class ? 1 : tokens;
    for (int64_t q = low; q < high; q++)
        for (int64_t h = 0; h < heads; h++) {
            float one[64];
            assert_true(heed_attended_row(cx, s, 0, h, q, one));
            for (int64_t j = 0; j < tokens; j++) sum[j] += one[j] / (float)(heads * (high - low));
        }
    near(row, sum, tokens, 1e-6, "mean");
    /* rollout through stages that merge sums to 1 */
    double total = 0;
    assert_true(heed_attended_rollout(cx, a, a->n - 1, 0, HEED_QUERY_DEFAULT, row));
    for (int64_t j = 0; j < tokens; j++) total += (double)row[j];
    assert_true(fabs(total - 1) < 1e-5);
    heed_image view;
    assert_true(heed_attended_view(cx, a, 0, 100, &view));
    assert_true(view.width % at->columns == 0 && view.height % at->rows == 0 && view.channels == 3);
    heed_image_free(cx, &view);
    /* of many pixels: those that the model is given, each a block */
    const int64_t given = at->columns * at->patch_width;
    assert_true(heed_attended_view(cx, a, 0, 8 * (a->width > a->height ? a->width : a->height), &view));
    int64_t changes = 0;
    for (int64_t x = 1; x < view.width; x++) changes += memcmp(view.data + 3 * x, view.data + 3 * (x - 1), 3) != 0;
    assert_true(changes < given);
    heed_image_free(cx, &view);
    assert_false(heed_attended_row(cx, s, s->n_maps, 0, 0, row));
    EXPECT_SENTENCE(cx, "layers of");
    assert_false(heed_attended_row(cx, s, 0, 0, tokens, row));
    EXPECT_SENTENCE(cx, "attended: query");
    heed_attended_free(cx, a);
}

static void check_directory(const char *name) {
    static const char *const files[] = {"wide.png", "turned.jpg"};
    heed_ctx *cx = open_context();
    where = name;
    golden = heed_safetensors_open(cx, in_golden("case.safetensors"));
    heed_image picture[2];
    float p[2][3];
    heed_picture_model *m = heed_picture_model_open(cx, golden_path(where), "classify");
    if (!m) fail_msg("%s", heed_message(cx));
    assert_int_equal(m->labels, 3);
    assert_false(m->assumed);
    if (strcmp(name, "task/picture-swin") != 0) assert_string_equal(m->label[1], "hill");
    for (int i = 0; i < 2; i++) assert_true(heed_picture_read(cx, m, in_golden(files[i]), &picture[i]));
    assert_true(heed_classify_pictures(cx, m, picture, 2, p[0]));
    for (int i = 0; i < 2; i++) {
        float alone[3];
        near(p[i], wanted(cx, files[i], "probabilities", NULL), 3, 1e-5, "probabilities");
        assert_true(heed_classify_pictures(cx, m, &picture[i], 1, alone));
        assert_memory_equal(alone, p[i], sizeof alone);
        check_attention(cx, m, files[i], &picture[i]);
    }
    heed_picture_model_free(cx, m);
    m = heed_picture_model_open(cx, golden_path(where), "embed");
    if (!m) fail_msg("%s", heed_message(cx));
    m->pooling = HEED_POOL_MEAN;
    int64_t width = 0, n = 0;
    float *v = heed_embed_pictures(cx, m, picture, 2, &width);
    for (int i = 0; v && i < 2; i++) {
        const float *const mean = wanted(cx, files[i], "mean", &n);
        assert_int_equal(n, width);
        near(v + i * width, mean, n, 2e-5, "mean of states");
    }
    assert_non_null(v);
    heed_mem_free(cx, v);
    for (int i = 0; i < 2; i++) heed_image_free(cx, &picture[i]);
    heed_picture_model_free(cx, m);
    heed_safetensors_close(golden);
    close_context(cx);
}

static void test_vit(void **state) { (void)state, check_directory("task/picture-vit"); }
static void test_swin(void **state) { (void)state, check_directory("task/picture-swin"); }
static void test_timm(void **state) { (void)state, check_directory("task/picture-timm"); }

/* ---- a class token that comes late ---- */

enum { PATCHES = 4, LATE = PATCHES + 1 }; /* of the golden CaiT, which has two blocks of each kind */

/* Rollout: half of what the class token is stays with it in each of its blocks, and half comes of those it looks at;
 * the patches' part goes on through their own blocks. */
static void check_late(heed_ctx *cx, const heed_attended *a) {
    const heed_attended_site *const patches = &a->sites[0], *const late = &a->sites[1];
    float row[LATE], found[LATE], own = 1, r[PATCHES] = {0}, next[PATCHES];
    assert_int_equal(a->n, 2);
    assert_string_equal(late->name, "class");
    assert_true(late->queries->n == 1 && late->queries->has_class && late->keys->first == 1 && late->n_maps == 2);
    assert_true(patches->queries == patches->keys && !patches->keys->has_class && patches->keys->first == 0);
    assert_int_equal(patches->n_maps, 2);
    assert_string_equal(late->keys->tokens[0], "class");
    for (int l = 1; l >= 0; l--) {
        assert_true(heed_attended_row(cx, late, l, -1, HEED_QUERY_DEFAULT, row));
        for (int i = 0; i < PATCHES; i++) r[i] += own / 2 * row[1 + i];
        own = own / 2 * (1 + row[0]);
    }
    for (int l = 1; l >= 0; l--) {
        for (int j = 0; j < PATCHES; j++) next[j] = r[j] / 2;
        for (int i = 0; i < PATCHES; i++) {
            assert_true(heed_attended_row(cx, patches, l, -1, i, row));
            for (int j = 0; j < PATCHES; j++) next[j] += r[i] / 2 * row[j];
        }
        memcpy(r, next, sizeof r);
    }
    assert_true(heed_attended_rollout(cx, a, 1, 1, HEED_QUERY_DEFAULT, found));
    near(found, r, PATCHES, 1e-6, "rollout");
}

/* A golden classifier of timm's on a drawn picture of its size. */
static void look(const char *directory, int side, void (*check)(heed_ctx *cx, const heed_attended *a)) {
    heed_ctx *cx = open_context();
    heed_picture_model *const m = heed_picture_model_open(cx, golden_path(directory), "classify");
    if (!m) fail_msg("%s", heed_message(cx));
    m->processor.resize = HEED_RESIZE_NONE; /* the file says what the architecture takes, not this small model */
    m->processor.crop = false;
    heed_image picture = {0};
    assert_true(heed_image_new(cx, side, side, 3, &picture));
    for (int i = 0; i < side * side * 3; i++) picture.data[i] = (uint8_t)(i * 37 % 251);
    heed_attended *const a = over(cx, m, &picture);
    if (!a) fail_msg("%s", heed_message(cx));
    check(cx, a);
    heed_attended_free(cx, a);
    heed_image_free(cx, &picture);
    heed_picture_model_free(cx, m);
    close_context(cx);
}

static void test_late(void **state) {
    (void)state;
    look("model/cait-classify", 8, check_late);
}

/* ---- windows that overlap ---- */

/* 4 x 4 places in 2 x 2 windows of 3 x 3, which begin 2 apart and one place before the picture; then 2 x 2 merged ones,
 * and a class token. Place (1,1) is in all windows, as their tap (2,2), (2,0), (0,2) or (0,0). */
static void check_overlap(heed_ctx *cx, const heed_attended *a) {
    enum { SIDE = 4, TAPS = 9 };
    const heed_attended_site *const s = &a->sites[0];
    const heed_capture_map *const m = &s->maps[0];
    float row[SIDE * SIDE], expected[SIDE * SIDE] = {0}, sum = 0;
    assert_int_equal(a->n, 3);
    assert_string_equal(s->name, "outlook");
    assert_string_equal(a->sites[1].name, "attention");
    assert_string_equal(a->sites[2].name, "class");
    assert_true(s->keys->rows == SIDE && s->keys->columns == SIDE && m->batch == 4 && m->keys == TAPS);
    for (int w = 0; w < 4; w++)
        for (int j = 0; j < TAPS; j++) {
            const int y = w / 2 * 2 - 1 + j / 3, x = w % 2 * 2 - 1 + j % 3, tap = (w < 2 ? 6 : 0) + (w % 2 ? 0 : 2);
            if (y >= 0 && x >= 0) expected[y * SIDE + x] += m->weights[(w * m->heads * TAPS + tap) * TAPS + j] / 4;
        }
    assert_true(heed_attended_row(cx, s, 0, 0, SIDE + 1, row));
    near(row, expected, SIDE * SIDE, 1e-6, "a place of four windows");
    assert_true(heed_attended_rollout(cx, a, 2, 1, HEED_QUERY_DEFAULT, row));
    for (int i = 0; i < SIDE * SIDE; i++) sum += row[i];
    assert_true(sum > 0.5F && sum < 1); /* the rest is the class token's own beginning */
}

static void test_overlap(void **state) {
    (void)state;
    look("model/volo-classify", 16, check_overlap);
}

/* ---- latents that look at a picture ---- */

enum { WIDE = 9, HIGH = 8, LATENTS = 3, HEADS = 4 }; /* of the golden Perceivers, and of the pictures they are given */

static heed_image drawn(heed_ctx *cx) {
    heed_image image = {0};
    assert_true(heed_image_new(cx, WIDE, HIGH, 3, &image));
    for (int i = 0; i < WIDE * HIGH * 3; i++) image.data[i] = (uint8_t)(i * 37 % 251);
    return image;
}

/* The mean over latents is the reader and, with one layer, rollout; the latents' own attention is left out. */
static void check_latents(heed_ctx *cx, const heed_picture_model *m, const heed_image *picture) {
    heed_attended *const a = over(cx, m, picture);
    if (!a) fail_msg("%s", heed_message(cx));
    const heed_attended_site *const s = &a->sites[0];
    float row[WIDE * HIGH], sum[WIDE * HIGH] = {0};
    const heed_axis *const at = s->keys;
    const int64_t n = at->n;
    assert_int_equal(a->n, 1);
    assert_string_equal(s->name, "cross");
    assert_true(s->queries->n == LATENTS && s->n_maps == 1 && s->maps[0].heads == HEADS && !s->queries->has_class);
    assert_true(at->rows == HIGH && at->columns == WIDE && at->patch_height == 1 && at->patch_width == 1);
    assert_int_equal(at->first, 0);
    assert_string_equal(at->labels[WIDE + 2], "1,2");
    for (int64_t q = 0; q < LATENTS; q++)
        for (int64_t h = 0; h < HEADS; h++) {
            const float *const w = s->maps[0].weights + (h * LATENTS + q) * n;
            assert_true(heed_attended_row(cx, s, 0, h, q, row));
            near(row, w, n, 0, "a latent");
            for (int64_t j = 0; j < n; j++) sum[j] += w[j] / (float)(HEADS * LATENTS);
        }
    assert_true(heed_attended_row(cx, s, 0, -1, HEED_QUERY_DEFAULT, row));
    near(row, sum, n, 1e-6, "the latents on average");
    assert_true(heed_attended_rollout(cx, a, 0, 0, HEED_QUERY_DEFAULT, row));
    near(row, sum, n, 1e-6, "rollout");
    assert_false(heed_attended_row(cx, s, 0, 0, LATENTS, row));
    EXPECT_SENTENCE(cx, "attended: query 3 of 3");
    heed_attended_free(cx, a);
}

/* The vector of a picture is the mean of its latents. */
static void check_states(heed_ctx *cx, const heed_image *picture) {
    heed_picture_model *const m = heed_picture_model_open(cx, golden_path(where), "embed");
    if (!m) fail_msg("%s", heed_message(cx));
    m->processor.height = HIGH, m->processor.width = WIDE;
    int64_t width = 0;
    float *const v = heed_embed_pictures(cx, m, picture, 1, &width), *const x = heed_image_process(
                                                                         cx, &m->processor, picture, NULL, NULL, NULL);
    heed_io in = {.states = true}, out = {0};
    assert_true(v && x);
    assert_true(heed_io_put(cx, &in, "pixel_values", heed_from_f32(cx, x, 4, (int64_t[]){1, 3, HIGH, WIDE})));
    assert_true(heed_model_forward(cx, m->model, &in, &out));
    const float *const z = heed_f32(heed_io_get(&out, "last_hidden_state"));
    for (int64_t j = 0; j < width; j++) {
        const float mean = (z[j] + z[width + j] + z[2 * width + j]) / LATENTS;
        near(v + j, &mean, 1, 1e-6, "mean of latents");
    }
    m->pooling = HEED_POOL_CLS;
    assert_null(heed_embed_pictures(cx, m, picture, 1, &width));
    EXPECT_SENTENCE(cx, "perceiver has no class token");
    heed_mem_free(cx, v);
    heed_mem_free(cx, x);
    heed_picture_model_free(cx, m);
}

static void test_latents(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    where = "model/perceiver-fourier";
    heed_picture_model *const m = heed_picture_model_open(cx, golden_path(where), "classify");
    if (!m) fail_msg("%s", heed_message(cx));
    assert_int_equal(m->labels, 3);
    m->processor.height = HIGH, m->processor.width = WIDE;
    heed_image picture = drawn(cx);
    check_latents(cx, m, &picture);
    check_states(cx, &picture);
    heed_image_free(cx, &picture);
    heed_picture_model_free(cx, m);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_null(heed_picture_model_open(cx, NULL, "classify"));
    EXPECT_SENTENCE(cx, "picture_model: a directory and a task");
    assert_null(heed_picture_model_open(cx, golden_path("model/bert-bare"), "classify"));
    EXPECT_SENTENCE(cx, "BertModel is no model of pictures");
    assert_null(heed_picture_model_open(cx, golden_path("model/vit-bare"), "classify"));
    EXPECT_SENTENCE(cx, "ViTModel is not for classify");
    heed_picture_model *m = heed_picture_model_open(cx, golden_path("task/picture-vit"), "classify");
    heed_image none = {0}, made;
    float p[3];
    assert_false(heed_picture_read(cx, m, "absent.png", &none));
    EXPECT_SENTENCE(cx, "absent.png: No such file");
    assert_false(heed_classify_pictures(cx, m, &none, 1, p));
    EXPECT_SENTENCE(cx, "picture 1");
    assert_true(heed_classify_pictures(cx, m, NULL, 0, p));
    assert_false(heed_classify_pictures(cx, NULL, NULL, 0, p));
    EXPECT_SENTENCE(cx, "a model and pictures are needed");
    assert_null(heed_attend(cx, m->model, NULL, &(heed_attend_input){.picture = &none}));
    EXPECT_SENTENCE(cx, "its processor and a picture are needed");
    assert_true(heed_image_new(cx, 5, 4, 3, &made)); /* of undefined bytes: any picture will do */
    memset(made.data, 40, 60);
    assert_true(heed_classify_pictures(cx, m, &made, 1, p));
    m->processor.height = 13;
    assert_false(heed_classify_pictures(cx, m, &made, 1, p));
    EXPECT_SENTENCE(cx, "no whole number of patches");
    heed_image_free(cx, &made);
    heed_picture_model_free(cx, m);
    close_context(cx);
}

/* ---- models of vectors ---- */

enum { SIDE = 28, LARGER = 3 };

/* A digit as a file: as it is, or inverted and each pixel a square. */
static const char *write_digit(heed_ctx *cx, const heed_data *d, bool other) {
    const int64_t k = other ? LARGER : 1, side = SIDE * k;
    uint8_t pixels[SIDE * LARGER * SIDE * LARGER];
    for (int64_t i = 0; i < side * side; i++) {
        const uint8_t value = d->bytes[i / side / k * SIDE + i % side / k];
        pixels[i] = other ? (uint8_t)(255 - value) : value;
    }
    const char *const path = in_folder(other ? "other.png" : "same.png");
    const heed_image picture = {.width = side, .height = side, .channels = 1, .data = pixels};
    if (!heed_image_write(cx, path, &picture, 0)) fail_msg("%s", heed_message(cx));
    return path;
}

static void classify_digit(heed_ctx *cx, const heed_picture_model *m, const char *path, float *p) {
    heed_image picture;
    if (!heed_picture_read(cx, m, path, &picture) || !heed_classify_pictures(cx, m, &picture, 1, p))
        fail_msg("%s", heed_message(cx));
    heed_image_free(cx, &picture);
}

/* A perceptron reads pictures of any size, dark on light where it has learnt the opposite, and says so. */
static void test_vectors(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const settings[] = {"input_size=784", "output_size=10", "task=classify", "image_size=28,28"};
    for (int light = 0; light < 2; light++) {
        heed_data *const d = heed_data_digits(cx, 1, 1);
        heed_model *const model = heed_model_new(cx, heed_family_find("mlp"), settings, 4, 3);
        for (int64_t i = 0; light && i < d->width; i++) d->bytes[i] = (uint8_t)(255 - d->bytes[i]);
        assert_true(heed_model_describe(cx, model, d) && heed_model_save(cx, model, in_folder("mlp")));
        heed_model_free(cx, model);
        heed_picture_model *const m = heed_picture_model_open(cx, in_folder("mlp"), "classify");
        if (!m) fail_msg("%s", heed_message(cx));
        assert_int_equal(m->labels, 10);
        float x[SIDE * SIDE], same[10], other[10];
        for (int i = 0; i < SIDE * SIDE; i++) x[i] = (float)d->bytes[i] * d->scale;
        classify_digit(cx, m, write_digit(cx, d, false), same);
        classify_digit(cx, m, write_digit(cx, d, true), other);
        heed_io in = {0}, out;
        heed_io_put(cx, &in, "x", heed_borrow(cx, HEED_F32, x, 2, (int64_t[]){1, SIDE * SIDE}, NULL));
        assert_true(heed_model_forward(cx, m->model, &in, &out));
        const float *const p = heed_f32(heed_softmax(cx, heed_io_get(&out, "logits"), -1));
        where = "mlp";
        near(same, p, 10, 1e-6, "the same pixels");
        near(other, p, 10, 0.02, "larger and inverted"); /* edges are smoothed where it is resized */
        assert_null(heed_picture_model_open(cx, in_folder("mlp"), "embed"));
        EXPECT_SENTENCE(cx, "HeedMlp is no model of pictures");
        heed_picture_model_free(cx, m);
        heed_data_free(cx, d);
    }
    heed_model *const table = heed_model_new(cx, heed_family_find("mlp"), settings, 3, 3);
    assert_true(heed_model_save(cx, table, in_folder("table")));
    heed_model_free(cx, table);
    assert_null(heed_picture_model_open(cx, in_folder("table"), "classify"));
    EXPECT_SENTENCE(cx, "the model was not trained on pictures; 'heed predict' reads tables");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vit),     cmocka_unit_test(test_swin),
                                       cmocka_unit_test(test_timm),    cmocka_unit_test(test_late),
                                       cmocka_unit_test(test_overlap), cmocka_unit_test(test_latents),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_vectors)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
