/* zip archives: stored and deflated members, and every way in which a file can be none. */
#include "io/zip.h"
#include "io_test.h"
#include "zip_test.h"

static const char plain[] = "stored as it is", repeated[] = "again again again again again again again";

static void archive(struct zip_made *z) {
    *z = (struct zip_made){.n = 0};
    zip_add(z, "one.txt", plain, sizeof plain - 1, false);
    zip_add(z, "folder/two.txt", repeated, sizeof repeated - 1, true);
    zip_end(z);
}

static void test_members(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct zip_made made;
    archive(&made);
    struct zip z = {.cx = cx, .name = "t", .data = made.bytes, .size = made.n};
    const char *const names[] = {"one.txt", "folder/two.txt"}, *const texts[] = {plain, repeated};
    for (int i = 0; i < 2; i++) {
        assert_true(zip_next(&z));
        assert_string_equal(z.member, names[i]);
        unsigned char *const text = zip_read(&z, 1000);
        assert_non_null(text);
        assert_memory_equal(text, texts[i], strlen(texts[i]));
        heed_mem_free(cx, text);
    }
    assert_null(zip_read(&z, 10));
    EXPECT_SENTENCE(cx, "t: folder/two.txt: holds 41 bytes, more than the 10 allowed");
    assert_false(zip_next(&z));
    close_context(cx);
}

static bool read_all(heed_ctx *cx, const void *bytes, size_t size) {
    struct zip z = {.cx = cx, .name = "t", .data = bytes, .size = size};
    while (zip_next(&z)) heed_mem_free(cx, zip_read(&z, 1 << 20));
    return !heed_failed(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct zip_made made;
    archive(&made);
    const size_t n = made.n;
    static const struct {
        size_t from_end; /* of the byte to change; 0: from the front */
        size_t at;
        unsigned char to;
        const char *sentence;
    } wrong[] = {
        {0, 40, 'x', "t: one.txt: its checksum is wrong"},
        {0, 0, 'x', "t: not a sound zip archive: a member is not where the directory says, at byte 0"},
        {6, 0, 255, "the directory lies outside of the file"},
        {22, 0, 'x', "t: not a sound zip archive: it has no directory: it is cut short, or something else"},
        {12, 0, 3, "an entry of the directory is missing"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct zip_made copy = made;
        copy.bytes[wrong[i].from_end ? n - wrong[i].from_end : wrong[i].at] = wrong[i].to;
        assert_false(read_all(cx, copy.bytes, n));
        EXPECT_SENTENCE(cx, wrong[i].sentence);
    }
    assert_int_equal(truncate_everywhere(cx, read_all, made.bytes, n), 0);
    close_context(cx);
    torment(read_all, made.bytes, n, 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_members), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
