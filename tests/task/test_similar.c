/* Nearest texts: against a twin in double, and what is refused. */
#include "heed/similar.h"
#include "task/task_test.h"

static heed_text_model model_of(heed_ctx *cx) {
    heed_text_model m = {.tokens = letters(cx), .model = small_bert(cx, "embed", NULL)};
    assert_true(heed_text_reader_of(cx, m.model, m.tokens, 0, &m.reader));
    return m;
}

static void free_model(heed_ctx *cx, heed_text_model *m) {
    heed_model_free(cx, m->model);
    heed_tokenizer_free(cx, m->tokens);
}

static double cosine(const float *a, const float *b, int64_t n) {
    double dot = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        dot += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return dot / sqrt(aa * bb);
}

enum { LINES = 70, TOP = 9, QUERIES = 67 /* more than one pass takes */ };

/* Line i, other for every i; every seventh is blank. */
static void line_text(int i, char out[16]) {
    char *to = out;
    for (int k = i; i % 7 && k >= 0; k = k / 5 - 1) *to++ = (char)('a' + k % 5);
    *to = 0;
}

static void test_find(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_text_model m = model_of(cx);
    const int64_t width = heed_text_width(cx, &m);
    char text[LINES][16], all[LINES * 16] = "", path[1024], index[1100];
    heed_text_input input[LINES];
    for (int i = 0; i < LINES; i++) {
        line_text(i, text[i]);
        strcat(strcat(all, text[i]), "\n");
        input[i] = (heed_text_input){.text = text[i]};
    }
    write_text("texts", all);
    snprintf(path, sizeof path, "%s", in_folder("texts"));
    float *v = malloc((size_t)(LINES * width) * sizeof *v);
    assert_true(heed_embed(cx, &m, input, LINES, v, NULL));
    for (int again = 0; again < 2; again++) {
        heed_similar *s = heed_similar_open(cx, &m, path, NULL);
        if (!s) fail_msg("%s", heed_message(cx));
        assert_int_equal(heed_similar_lines(s), LINES - LINES / 7);
        assert_int_equal(heed_similar_width(s), width);
        assert_true((heed_similar_rebuild_reason(s) == NULL) == again);
        assert_string_equal(heed_similar_text(s, 2), text[1]);
        assert_null(heed_similar_text(s, LINES + 1));
        heed_found found[QUERIES * TOP];
        assert_true(heed_similar_find(cx, s, v, QUERIES, TOP, found));
        for (int q = 0; q < QUERIES; q++) {
            const heed_found *f = found + (ptrdiff_t)q * TOP;
            if (q % 7) assert_int_equal(f[0].line, q + 1);
            for (int k = 0; k < TOP; k++) {
                const double want = cosine(v + q * width, v + (f[k].line - 1) * width, width);
                int better = 0;
                assert_true(text[f[k].line - 1][0] != 0 && fabs((double)f[k].score - want) < 1e-5);
                for (int i = 0; i < LINES; i++)
                    better += i % 7 && cosine(v + q * width, v + i * width, width) > want + 1e-5;
                assert_true(better <= k && (k == 0 || f[k].score <= f[k - 1].score));
            }
        }
        heed_found *many = malloc(100 * sizeof *many); /* more than there are */
        assert_true(heed_similar_find(cx, s, v + width, 1, 100, many));
        assert_true(many[59].line > 0 && many[60].line == 0 && many[99].line == 0);
        free(many);
        assert_true(heed_similar_find(cx, s, NULL, 0, 1, NULL));
        assert_false(heed_similar_find(cx, s, v, 1, 0, found));
        EXPECT_SENTENCE(cx, "similar: an index, queries and a place for what is found are needed");
        heed_similar_close(cx, s);
    }
    snprintf(index, sizeof index, "%s.vectors.safetensors", path);
    m.pooling = HEED_POOL_CLS;
    heed_similar *s = heed_similar_open(cx, &m, path, &(heed_similar_opts){.index = index});
    assert_string_equal(heed_similar_rebuild_reason(s), "it was made with another model");
    heed_similar_close(cx, s);
    unlink(index);
    unlink(path);
    free(v);
    free_model(cx, &m);
    close_context(cx);
}

/* Pictures of a folder are found by their vectors, and by no others. */
static void test_pictures(void **state) {
    static const char *const names[] = {"turned.jpg", "wide.png"}; /* as they are sorted */
    (void)state;
    heed_ctx *cx = open_context();
    char dir[1024], path[2][1100], index[1100];
    snprintf(dir, sizeof dir, "%s", golden_path("task/picture-vit"));
    snprintf(index, sizeof index, "%s", in_folder("pictures"));
    heed_picture_model *m = heed_picture_model_open(cx, dir, "embed");
    if (!m) fail_msg("%s", heed_message(cx));
    heed_image picture[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", dir, names[i]);
        assert_true(heed_picture_read(cx, m, path[i], &picture[i]));
    }
    int64_t width = 0;
    float *v = heed_embed_pictures(cx, m, picture, 2, &width);
    assert_non_null(v);
    for (int again = 0; again < 2; again++) {
        heed_similar *s = heed_similar_pictures(cx, m, dir, &(heed_similar_opts){.index = index});
        if (!s) fail_msg("%s", heed_message(cx));
        assert_true((heed_similar_rebuild_reason(s) == NULL) == again);
        assert_true(heed_similar_lines(s) == 2 && heed_similar_width(s) == width);
        heed_found found[4];
        assert_true(heed_similar_find(cx, s, v, 2, 2, found));
        for (int i = 0; i < 2; i++) {
            const heed_found *f = found + 2 * (ptrdiff_t)i;
            assert_true(f[0].line == i + 1 && f[1].line == 2 - i);
            assert_string_equal(heed_similar_text(s, f[0].line), path[i]);
            assert_true(fabs((double)f[0].score - 1) < 1e-5);
            assert_true(fabs((double)f[1].score - cosine(v, v + width, width)) < 1e-5);
        }
        heed_similar_close(cx, s);
    }
    assert_null(heed_similar_pictures(cx, NULL, dir, NULL));
    EXPECT_SENTENCE(cx, "similar: a model and a folder or a list of pictures are needed");
    assert_null(heed_similar_pictures(cx, m, golden_path("model/bert-bare"), NULL));
    EXPECT_SENTENCE(cx, "there are no pictures");
    unlink(index);
    heed_mem_free(cx, v);
    for (int i = 0; i < 2; i++) heed_image_free(cx, &picture[i]);
    heed_picture_model_free(cx, m);
    close_context(cx);
}

/* NaN in the file, in a query and from the model. */
static void test_not_finite(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_text_model m = model_of(cx);
    char path[1024], index[1100];
    const float bad = NAN;
    heed_found found;
    write_text("texts", "ab\ncd\n");
    snprintf(path, sizeof path, "%s", in_folder("texts"));
    snprintf(index, sizeof index, "%s.vectors.safetensors", path);
    heed_similar *s = heed_similar_open(cx, &m, path, NULL);
    float *const query = calloc((size_t)heed_similar_width(s), sizeof *query);
    assert_true(heed_similar_find(cx, s, query, 1, 1, &found));
    query[1] = bad;
    assert_false(heed_similar_find(cx, s, query, 1, 1, &found));
    EXPECT_SENTENCE(cx, "similar: query 1 holds what is not a finite number");
    heed_similar_close(cx, s);
    FILE *const f = fopen(index, "r+b");
    assert_true(f && fseek(f, -4, SEEK_END) == 0 && fwrite(&bad, sizeof bad, 1, f) == 1 && fclose(f) == 0);
    assert_null(heed_similar_open(cx, &m, path, NULL));
    EXPECT_SENTENCE(cx, "texts.vectors.safetensors: vector 2 holds what is not a finite number");
    unlink(index);
    heed_params *const params = heed_model_params(m.model);
    for (int64_t i = 0; i < heed_params_size(params); i++) heed_params_block(params)[i] = bad;
    assert_null(heed_similar_open(cx, &m, path, NULL));
    EXPECT_SENTENCE(cx, "the model's output is not a finite number");
    assert_true(access(index, F_OK) != 0);
    unlink(path);
    free(query);
    free_model(cx, &m);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_text_model m = model_of(cx);
    assert_null(heed_similar_open(cx, NULL, "x", NULL));
    EXPECT_SENTENCE(cx, "similar: a model and a file of texts are needed");
    assert_null(heed_similar_open(cx, &m, in_folder("absent"), NULL));
    EXPECT_SENTENCE(cx, "No such file");
    write_text("blank", " \n\n");
    assert_null(heed_similar_open(cx, &m, in_folder("blank"), NULL));
    EXPECT_SENTENCE(cx, "blank: there are no texts");
    unlink(in_folder("blank"));
    heed_similar_close(cx, NULL);
    free_model(cx, &m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_find), cmocka_unit_test(test_pictures),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_not_finite)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
