/* Lines of standard input and of files, as the commands read them. */
#include "cli/core/input_lines.c" /* the command is no library */
#include "io/io_test.h"

#include <fcntl.h>
#include <zlib.h>

/* What input_lines.c asks of the other files of the command. */
static char said[4][1024];
static int times_said;
int cli_error(int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(said[times_said++ % 4], sizeof said[0], format, args);
    va_end(args);
    return status;
}
static const char *const *words;
static int n_words;
int options_words(const struct options *o) {
    (void)o;
    return n_words;
}
const char *options_word(const struct options *o, int i) {
    (void)o;
    return words[i];
}

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

/* Bad lines that are skipped: each is reported and handed out as an empty line, and those behind it follow. */
static void test_skipped(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct cli_lines l;
    feed("a\nb\0c\nd\n\xFF\ne", 11, false);
    assert_true(cli_lines_open(&l, cx, "-"));
    l.skip_bad = true;
    times_said = 0;
    expect_line(&l, 1, "a", true);
    assert_false(l.bad);
    expect_line(&l, 2, "", true);
    assert_true(l.bad);
    assert_string_equal(l.complaint, "byte 2 is NUL");
    expect_line(&l, 3, "d", true);
    assert_false(l.bad);
    assert_true(cli_lines_reject(&l, "%d is too %s", 7, "long")); /* by whoever reads */
    assert_true(l.bad);
    assert_string_equal(l.text, "");
    expect_line(&l, 4, "", true);
    expect_line(&l, 5, "e", false);
    heed_fail(cx, HEED_ERR_RANGE, "encode: no token");
    assert_true(cli_lines_recover(&l));
    assert_false(heed_failed(cx));
    assert_string_equal(l.complaint, "encode: no token");
    assert_false(cli_lines_next(&l));
    assert_int_equal(l.bad_lines, 4);
    assert_false(cli_lines_close(&l)); /* the command should fail, and the context has not */
    assert_int_equal(times_said, 4);
    static const char *const wanted[] = {
        "standard input: line 2: byte 2 is NUL", "standard input: line 3: 7 is too long",
        "standard input: line 4: byte 1 is not UTF-8", "standard input: line 5: encode: no token"};
    for (int i = 0; i < 4; i++) assert_string_equal(said[i], wanted[i]);

    /* a reader that says the place itself */
    feed("a\nb\n", 4, false);
    assert_true(cli_lines_open(&l, cx, "-"));
    expect_line(&l, 1, "a", true);
    l.skip_bad = true;
    heed_fail(cx, HEED_ERR_SHAPE, "standard input: line 1, column 2: no");
    times_said = 0;
    assert_true(cli_lines_recover(&l));
    assert_string_equal(said[0], "standard input: line 1, column 2: no");
    expect_line(&l, 2, "b", true);
    l.skip_bad = false;
    assert_false(cli_lines_reject(&l, "standard input: line 2, column 2: no"));
    assert_false(cli_lines_close(&l));
    assert_string_equal(heed_message(cx), "standard input: line 2, column 2: no");
    heed_clear(cx);
    times_said = 4;

    /* what is not about data is not skipped */
    feed("a\n", 2, false);
    assert_true(cli_lines_open(&l, cx, "-"));
    l.skip_bad = true;
    expect_line(&l, 1, "a", true);
    heed_fail(cx, HEED_ERR_MEMORY, "no memory");
    assert_false(cli_lines_recover(&l));
    assert_false(cli_lines_close(&l));
    assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
    EXPECT_SENTENCE(cx, "no memory");

    /* bad lines that are not skipped end the lines; the context fails when they are closed */
    feed("a\nb\n", 4, false);
    assert_true(cli_lines_open(&l, cx, "-"));
    expect_line(&l, 1, "a", true);
    heed_fail(cx, HEED_ERR_FORMAT, "no number");
    assert_false(cli_lines_recover(&l));
    assert_false(heed_failed(cx));
    assert_false(cli_lines_next(&l));
    assert_false(cli_lines_close(&l));
    EXPECT_SENTENCE(cx, "standard input: line 1: no number");
    assert_int_equal(times_said, 4);
    close_context(cx);
}

static void test_words(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct cli_lines l;
    words = (const char *const[]){"dir", "a b", "", "c\nd", "\xFF"};
    n_words = 5;
    assert_true(cli_lines_open_words(&l, cx, NULL, 1));
    expect_line(&l, 1, "a b", true);
    assert_true(cli_lines_ready(&l));
    expect_line(&l, 2, "", true);
    expect_line(&l, 3, "c d", true); /* one text, one line */
    assert_false(cli_lines_next(&l));
    assert_false(cli_lines_close(&l));
    EXPECT_SENTENCE(cx, "text 4: byte 1 is not UTF-8");
    n_words = 1;
    feed("x\n", 2, false);
    assert_true(cli_lines_open_words(&l, cx, NULL, 1));
    expect_line(&l, 1, "x", true);
    assert_true(cli_lines_close(&l));
    close_context(cx);
}

static void test_plain_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *plain;
    } cases[] = {{"", ""},
                 {"a b", "a b"},
                 {"a\nb\r\tc", "a b  c"},
                 {"\x1B[31m\x7F", " [31m "},
                 {"\xC2\x9B"
                  "2J\xC2\x85",
                  " 2J "},
                 {"\xE2\x80\xA8|\xE2\x80\xA9", " | "},
                 {"f\xC3\xBCnf \xC2\xA0 \xE2\x80\x93 \xE2\x80\xAB", "f\xC3\xBCnf \xC2\xA0 \xE2\x80\x93 \xE2\x80\xAB"},
                 {"\xC2", "\xC2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_int_equal(cli_plain_line(text, strlen(text)), strlen(cases[i].plain));
        assert_string_equal(text, cases[i].plain);
    }
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
        cmocka_unit_test(test_skipped),        cmocka_unit_test(test_words),   cmocka_unit_test(test_plain_line),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
