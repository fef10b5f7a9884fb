/* Pieces of writing: writers whose style stays the same, strokes that end where their form does, files of one's own. */
#include "heed/writing.h"
#include "io/io_test.h"

#include <math.h>
#include <zlib.h>

static void test_same_points(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_writings a = {0}, b = {0};
    assert_true(heed_writings_numbers(cx, 5, 0, 40, 3, 6, &a));
    assert_true(heed_writings_numbers(cx, 5, 17, 1, 3, 6, &b)); /* a piece depends on its number alone */
    assert_int_equal(a.n, 40);
    int64_t n, m;
    const float *p = heed_writing_points(&a, 17, &n), *q = heed_writing_points(&b, 0, &m);
    assert_int_equal(n, m);
    assert_memory_equal(p, q, (size_t)(3 * n) * sizeof *p);
    assert_string_equal(heed_writing_text(&a, 17), heed_writing_text(&b, 0));
    /* Nothing that may round differently elsewhere is used: any change is a change of the writing. */
    assert_int_equal(crc32(0, (const unsigned char *)a.point, (unsigned)(3 * a.start[40] * 4)), 0xB3CEDA3Du);
    heed_writings_free(cx, &a);
    heed_writings_free(cx, &b);
    close_context(cx);
}

static double correlation(const double *x, const double *y, int n) {
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
    for (int i = 0; i < n; i++) sx += x[i], sy += y[i];
    for (int i = 0; i < n; i++) {
        const double dx = x[i] - sx / n, dy = y[i] - sy / n;
        sxx += dx * dx, syy += dy * dy, sxy += dx * dy;
    }
    return sxy / sqrt(sxx * syy);
}

/* What is measured of a piece is the writer's own: slant, height and step of the pen. */
static void test_styles(void **state) {
    (void)state;
    enum { WRITERS = 300 };
    heed_ctx *cx = open_context();
    heed_writings w = {0};
    double own[3][WRITERS], seen[3][WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        const heed_writer style = heed_writer_of(9, i);
        int64_t n;
        assert_true(heed_writings_digits(cx, 9, i, 1, "0123456789", &w));
        const float *p = heed_writing_points(&w, i, &n);
        const heed_writing_style s = heed_writing_style_of(p, n);
        assert_in_range(n, 80, 400);
        assert_true(p[0] == 0 && p[1] == 0 && p[3 * n - 1] == 1);
        int lifts = 0;
        for (int64_t k = 0; k < n; k++) lifts += p[3 * k + 2] == 1;
        assert_in_range(lifts, 10, 20);
        own[0][i] = (double)style.slant, own[1][i] = (double)style.height, own[2][i] = (double)style.step;
        seen[0][i] = s.slant, seen[1][i] = s.height, seen[2][i] = s.step;
    }
    for (int k = 0; k < 3; k++) {
        const double r = correlation(own[k], seen[k], WRITERS);
        if (!(r > 0.93)) fail_msg("style %d: correlation %g", k, r);
    }
    heed_writings_free(cx, &w);
    close_context(cx);
}

static void expect_points(const heed_writings *w, int64_t i, const float *want, int64_t n) {
    int64_t have;
    const float *p = heed_writing_points(w, i, &have);
    assert_int_equal(have, n);
    assert_memory_equal(p, want, (size_t)(3 * n) * sizeof *p);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_read(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_writings w = {0};
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("strokes.jsonl"));
    write_file(path, "{\"strokes\": [[[1,1],[2,3]],[],[[5,5,99]]], \"text\": \"1 \\u00e9\"}\n\n"
                     "{\"drawing\": [[[0,10],[5,7],[0,1]]], \"word\": \"cat\"}\n[[[0,0],[1,0]]]\n");
    assert_true(heed_writings_read(cx, path, &w));
    assert_int_equal(w.n, 3);
    expect_points(&w, 0, (float[]){0, 0, 0, 1, 2, 1, 3, 2, 1}, 3);
    expect_points(&w, 1, (float[]){0, 0, 0, 10, 2, 1}, 2);
    expect_points(&w, 2, (float[]){0, 0, 0, 1, 0, 1}, 2);
    assert_string_equal(heed_writing_text(&w, 0), "1 \xc3\xa9");
    assert_string_equal(heed_writing_text(&w, 1), "cat");
    assert_string_equal(heed_writing_text(&w, 2), "");
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"", "there are no strokes"},
        {"{\"strokes\": []}\n", "line 1: there are no points"},
        {"{\"strokes\": [[[1]]]}\n", "expected a point [x, y]"},
        {"{\"strokes\": [[[1,\"a\"]]]}\n", "expected a number"},
        {"{\"strokes\": [7]}\n", "expected a stroke, a list"},
        {"{\"drawing\": [[[1,2],[3]]]}\n", "of one length"},
        {"{\"strokes\": [[[1,1e10]]]}\n", "too far away"},
        {"\n{\"text\": \"2\"}\n", "line 2: there is no list of \"strokes\""},
        {"{\"strokes\": [[[1,2]]\n", "line 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(path, bad[i].text);
        assert_false(heed_writings_read(cx, path, &w));
        if (!strstr(heed_message(cx), bad[i].sentence)) fail_msg("'%s': %s", bad[i].sentence, heed_message(cx));
        heed_clear(cx);
    }
    unlink(path);
    heed_writings_free(cx, &w);
    assert_false(heed_writings_add(cx, &w, (float[]){0, NAN, 0}, 1, NULL));
    heed_clear(cx);
    assert_false(heed_writings_add(cx, &w, (float[]){0, 0, 0.5f}, 1, NULL));
    heed_clear(cx);
    assert_false(heed_writings_digits(cx, 1, 1, 1, "12a", &w));
    heed_clear(cx);
    heed_writings_free(cx, &w);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_points), cmocka_unit_test(test_styles),
                                       cmocka_unit_test(test_read)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
