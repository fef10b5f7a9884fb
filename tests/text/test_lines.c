/* Strings, lists of ids, and the lines of a file. */
#include "heed/text.h"
#include "io/io_test.h"

#include <zlib.h>

static void test_string(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_string s = {0};
    assert_true(heed_string_put(cx, &s, NULL, 0));
    assert_string_equal(s.s, "");
    for (int i = 0; i < 1000; i++) assert_true(heed_string_put(cx, &s, "abc", (size_t)(i % 4)));
    assert_int_equal(s.size, 1500);
    assert_int_equal(strlen(s.s), 1500);
    assert_memory_equal(s.s, "aababcaab", 9);
    assert_false(heed_string_put(cx, &s, NULL, 3));
    EXPECT_SENTENCE(cx, "string_put: ");
    assert_false(heed_string_put(cx, NULL, "a", 1));
    EXPECT_SENTENCE(cx, "string_put: ");
    assert_false(heed_string_put(cx, &s, "a", SIZE_MAX - 10));
    EXPECT_SENTENCE(cx, "string_put: the string is too long");
    assert_int_equal(s.size, 1500);
    heed_string_free(cx, &s);
    heed_string_free(cx, &s);
    heed_string_free(cx, NULL);
    close_context(cx);
}

static void test_ids(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_ids ids = {0};
    for (int32_t i = 0; i < 1000; i++) assert_true(heed_ids_put(cx, &ids, i * 3));
    assert_int_equal(ids.count, 1000);
    for (int32_t i = 0; i < 1000; i++) assert_int_equal(ids.id[i], i * 3);
    assert_false(heed_ids_put(cx, NULL, 1));
    EXPECT_SENTENCE(cx, "ids_put: ");
    heed_ids_free(cx, &ids);
    heed_ids_free(cx, NULL);
    close_context(cx);
}

/* ---- lines ---- */

static bool read_text(heed_ctx *cx, const void *text, size_t size, heed_lines *lines) {
    const char *path = in_folder("lines.txt");
    write_bytes(path, text, size);
    const bool ok = heed_lines_read(cx, path, lines);
    unlink(path);
    return ok;
}

static void expect_lines(heed_ctx *cx, const char *text, const char *const *expected, int64_t n) {
    heed_lines lines;
    assert_true(read_text(cx, text, strlen(text), &lines));
    assert_int_equal(lines.count, n);
    for (int64_t i = 0; i < n; i++) {
        assert_string_equal(heed_line_text(&lines, i), expected[i]);
        assert_int_equal(heed_line_size(&lines, i), strlen(expected[i]));
    }
    assert_null(heed_line_text(&lines, -1));
    assert_null(heed_line_text(&lines, n));
    assert_int_equal(heed_line_size(&lines, n), 0);
    heed_lines_free(cx, &lines);
    assert_null(lines.text);
}

static void test_lines(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    expect_lines(cx, "", NULL, 0);
    expect_lines(cx, "\n", (const char *const[]){""}, 1);
    expect_lines(cx, "a", (const char *const[]){"a"}, 1);
    expect_lines(cx, "a\n", (const char *const[]){"a"}, 1);
    expect_lines(cx, "a\n\n\nb", (const char *const[]){"a", "", "", "b"}, 4);
    /* only \n ends a line */
    expect_lines(cx, "a\r\nb\vc\f\xC2\x85\xE2\x80\xA8x\n", (const char *const[]){"a\r", "b\vc\f\xC2\x85\xE2\x80\xA8x"},
                 2);
    close_context(cx);
}

static void test_gz(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_lines lines;
    const char *path = in_folder("lines.gz");
    gzFile f = gzopen(path, "wb");
    gzputs(f, "eins\nzwei \xC3\xBC\n");
    gzclose(f);
    assert_true(heed_lines_read(cx, path, &lines));
    assert_int_equal(lines.count, 2);
    assert_string_equal(heed_line_text(&lines, 1), "zwei \xC3\xBC");
    heed_lines_free(cx, &lines);
    unlink(path);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_lines lines;
    assert_false(read_text(cx, "gut\nsch\xFFlecht\n", 14, &lines));
    EXPECT_SENTENCE(cx, "lines.txt: line 2: byte 4 is not UTF-8");
    assert_false(read_text(cx, "a\nb\n\xE2\x82", 6, &lines));
    EXPECT_SENTENCE(cx, "lines.txt: line 3: byte 1 is not UTF-8");
    assert_false(read_text(cx, "a\nb\0c\n", 6, &lines));
    EXPECT_SENTENCE(cx, "lines.txt: line 2: byte 2 is NUL");
    assert_false(heed_lines_read(cx, in_folder("missing"), &lines));
    EXPECT_SENTENCE(cx, "missing: ");
    assert_false(heed_lines_read(cx, NULL, &lines));
    EXPECT_SENTENCE(cx, "lines_read: ");
    assert_false(heed_lines_read(cx, "x", NULL));
    EXPECT_SENTENCE(cx, "lines_read: ");
    heed_lines_free(cx, NULL);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string), cmocka_unit_test(test_ids),      cmocka_unit_test(test_lines),
        cmocka_unit_test(test_gz),     cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
