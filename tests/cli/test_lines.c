/* Lines of standard input and of files, as the commands read them. */
#include "cli/lines.c" /* the command is no library */
#include "io/io_test.h"

#include <fcntl.h>
#include <zlib.h>

/* Standard input becomes a pipe that holds these bytes; `more`: its other end stays open, and is returned. */
static int feed(const char *bytes, size_t size, bool more) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, size), size);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    close(ends[0]);
    if (!more) close(ends[1]);
    return more ? ends[1] : -1;
}

static void expect_line(struct cli_lines *l, int64_t number, const char *text, bool whole) {
    assert_true(cli_lines_next(l));
    assert_int_equal(l->number, number);
    assert_int_equal(l->size, strlen(text));
    assert_string_equal(l->text, text);
    assert_int_equal(l->whole, whole);
}

static const char three[] = "one\r\n\nf\xC3\xBCnf";

static void expect_three(struct cli_lines *l) {
    expect_line(l, 1, "one\r", true);
    expect_line(l, 2, "", true);
    expect_line(l, 3, "f\xC3\xBCnf", false);
    assert_true(cli_lines_ready(l));
    assert_false(cli_lines_next(l));
    assert_false(cli_lines_next(l));
    assert_true(cli_lines_close(l));
    assert_true(cli_lines_close(l));
}

static void test_standard_input(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct cli_lines l;
    feed(three, sizeof three - 1, false);
    assert_true(cli_lines_open(&l, cx, "-"));
    expect_three(&l);
    feed("", 0, false);
    assert_true(cli_lines_open(&l, cx, "-"));
    assert_false(cli_lines_next(&l));
    assert_true(cli_lines_close(&l));
    close_context(cx);
}

static void test_file(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct cli_lines l;
    const char *path = in_folder("three.txt");
    write_bytes(path, three, sizeof three - 1);
    assert_true(cli_lines_open(&l, cx, path));
    expect_three(&l);
    gzFile gz = gzopen(path, "wb");
    assert_int_equal(gzwrite(gz, three, sizeof three - 1), sizeof three - 1);
    gzclose(gz);
    assert_true(cli_lines_open(&l, cx, path));
    expect_three(&l);
    unlink(path);
    assert_false(cli_lines_open(&l, cx, path));
    assert_false(cli_lines_close(&l));
    EXPECT_SENTENCE(cx, "three.txt: ");
    close_context(cx);
}

/* What is there is handed out before anybody waits for more, and half a line is not there. */
static void test_waiting(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct cli_lines l;
    const int more = feed("a\nb\nhal", 7, true);
    assert_true(cli_lines_open(&l, cx, "-"));
    expect_line(&l, 1, "a", true);
    assert_true(cli_lines_ready(&l));
    expect_line(&l, 2, "b", true);
    assert_false(cli_lines_ready(&l));
    assert_int_equal(write(more, "f\n", 2), 2);
    expect_line(&l, 3, "half", true);
    close(more);
    assert_false(cli_lines_next(&l));
    assert_true(cli_lines_close(&l));
    close_context(cx);
}

/* Longer than the block that it is read into, with lines before and behind. */
static void test_long(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct cli_lines l;
    const size_t size = 1000000;
    const char *path = in_folder("long.txt");
    char *text = malloc(size + 8);
    memset(text, 'x', size + 8);
    memcpy(text, "a\n", 2);
    memcpy(text + size + 2, "\nb", 2);
    write_bytes(path, text, size + 4);
    assert_non_null(freopen(path, "r", stdin));
    assert_true(cli_lines_open(&l, cx, "-"));
    expect_line(&l, 1, "a", true);
    assert_true(cli_lines_next(&l));
    assert_int_equal(l.size, size);
    assert_memory_equal(l.text, text + 2, size);
    expect_line(&l, 3, "b", false);
    assert_false(cli_lines_next(&l));
    assert_true(cli_lines_close(&l));
    unlink(path);
    free(text);
    close_context(cx);
}

/* A line that is no text ends the lines; the sentence comes with the end. */
static void test_no_text(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *sentence;
    } cases[] = {{"a\nb\0c\nd\n", 8, "standard input: line 2: byte 2 is NUL"},
                 {"a\n\xC3\xBC\xFF\0\nd\n", 9, "standard input: line 2: byte 3 is not UTF-8"},
                 {"a\n\xC3\nd\n", 6, "standard input: line 2: byte 1 is not UTF-8"},
                 {"a\nb\xC3", 4, "standard input: line 2: byte 2 is not UTF-8"}};
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cli_lines l;
        feed(cases[i].bytes, cases[i].size, false);
        assert_true(cli_lines_open(&l, cx, "-"));
        expect_line(&l, 1, "a", true);
        assert_false(cli_lines_next(&l));
        assert_false(cli_lines_next(&l));
        assert_false(heed_failed(cx));
        assert_false(cli_lines_close(&l));
        EXPECT_SENTENCE(cx, cases[i].sentence);
    }
    close_context(cx);
}

/* A mistake of the user's own is told with the line's number, and stands before whatever else there is to say. */
static void test_fail(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct cli_lines l;
    feed("a\nb\n\xFF", 5, false);
    assert_true(cli_lines_open(&l, cx, "-"));
    expect_line(&l, 1, "a", true);
    expect_line(&l, 2, "b", true);
    assert_false(cli_lines_fail(&l, "'%s' is not %d", "b", 7));
    assert_false(cli_lines_next(&l));
    assert_false(cli_lines_close(&l));
    EXPECT_SENTENCE(cx, "standard input: line 2: 'b' is not 7");
    const int folder_fd = open(folder, O_RDONLY);
    assert_true(dup2(folder_fd, STDIN_FILENO) >= 0); /* a read of which fails */
    close(folder_fd);
    assert_true(cli_lines_open(&l, cx, "-"));
    assert_false(cli_lines_next(&l));
    assert_false(heed_failed(cx));
    assert_false(cli_lines_close(&l));
    EXPECT_SENTENCE(cx, "standard input: ");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standard_input), cmocka_unit_test(test_file),    cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_long),           cmocka_unit_test(test_no_text), cmocka_unit_test(test_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
