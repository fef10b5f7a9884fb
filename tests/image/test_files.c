/* PNG and JPEG: the bytes that Pillow gives, for every kind; writing and reading back; hostile files. */
#include "image_test.h"

static void decode(heed_ctx *cx, const char *name, heed_image_mode mode, const char *what) {
    const heed_array *file = find_golden(name, ".file"), *wanted = find_golden(name, what);
    heed_image p;
    if (!wanted) return;
    const heed_image_opts o = {.mode = mode, .orient = true};
    if (!heed_image_parse(cx, name, file->data, (size_t)file->shape[0], &o, &p)) fail_msg("%s", heed_message(cx));
    same_picture(name, &p, wanted);
    heed_image_free(cx, &p);
}

static void test_decoding(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    open_golden("files");
    char names[4096];
    snprintf(names, sizeof names, "%s", heed_safetensors_metadata(golden_cx, golden, "names"));
    int n = 0;
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " "), n++) {
        decode(cx, name, HEED_IMAGE_RGB, ".rgb");
        decode(cx, name, HEED_IMAGE_GREY, ".grey");
        decode(cx, name, HEED_IMAGE_RGBA, ".rgba");
    }
    assert_true(n > 40);
    close_golden();
    close_context(cx);
}

static void test_inspecting(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    open_golden("files");
    heed_image_info info;
    const heed_array *f = find_golden("jpeg.turned6", ".file");
    assert_true(heed_image_inspect(cx, "f", f->data, (size_t)f->shape[0], &info));
    assert_int_equal(info.format, HEED_IMAGE_JPEG);
    assert_int_equal(info.orientation, 6);
    assert_int_equal(info.width, 10);
    assert_int_equal(info.height, 7);
    f = find_golden("png.3.4.interlaced", ".file");
    assert_true(heed_image_inspect(cx, "f", f->data, (size_t)f->shape[0], &info));
    assert_true(info.palette && info.interlaced && info.bits == 4 && info.channels == 3);
    close_golden();
    close_context(cx);
}

/* PNG gives the bytes back, JPEG nearly. */
static void test_writing(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int channels = 1; channels <= 4; channels++) {
        heed_image p = drawn(cx, 19, 7, channels, 1), q;
        const char *path = in_folder("a.png");
        assert_true(heed_image_write(cx, path, &p, 0));
        assert_true(heed_image_read(cx, path, NULL, &q));
        assert_int_equal(q.channels, channels);
        assert_memory_equal(p.data, q.data, (size_t)(19 * 7 * channels));
        heed_image_free(cx, &q);
        const char *jpeg = in_folder("a.jpg");
        if (channels % 2 == 1) {
            assert_true(heed_image_write(cx, jpeg, &p, 100));
            assert_true(heed_image_read(cx, jpeg, NULL, &q));
            assert_int_equal(q.channels, channels);
            assert_int_equal(q.width, 19);
            unlink(jpeg);
            heed_image_free(cx, &q);
        } else {
            assert_false(heed_image_write(cx, jpeg, &p, 100));
            EXPECT_SENTENCE(cx, "JPEG has no alpha");
        }
        assert_false(heed_image_write(cx, "a.gif", &p, 0));
        EXPECT_SENTENCE(cx, "a.gif: the name of a picture ends in .png, .jpg or .jpeg");
        unlink(path);
        heed_image_free(cx, &p);
    }
    close_context(cx);
}

/* ---- bad input ---- */

static void refused(heed_ctx *cx, const void *bytes, size_t size, const char *part, int line) {
    heed_image p;
    if (heed_image_parse(cx, "a.png", bytes, size, NULL, &p)) fail_msg("accepted, line %d", line);
    assert_null(p.data);
    expect_sentence(cx, part, __FILE__, line);
}
#define REFUSED(bytes, size, part) refused(cx, bytes, size, part, __LINE__)

static void put(unsigned char *at, uint32_t v) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(v >> (24 - 8 * i));
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    open_golden("files");
    REFUSED("", 0, "a.png: the file is empty");
    REFUSED("not a picture", 13, "a.png: not a picture: neither PNG nor JPEG");
    static const struct {
        const char *bytes, *name;
    } others[] = {{"GIF89a......", "a GIF"},          {"RIFF....WEBPVP8 ", "a WebP picture"},
                  {"BM..........", "a BMP"},          {"....ftypavif", "an AVIF picture"},
                  {"....ftypheic", "a HEIC picture"}, {"8BPS........", "a Photoshop picture"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char sentence[100];
        snprintf(sentence, sizeof sentence, "a.png: %s, which heed does not read: convert it to PNG or JPEG",
                 others[i].name);
        REFUSED(others[i].bytes, strlen(others[i].bytes), sentence);
    }
    REFUSED("\x93NUMPY", 6, "neither PNG nor JPEG, but an npy array");
    const heed_array *f = find_golden("png.2.8", ".file");
    const size_t size = (size_t)f->shape[0];
    unsigned char *copy = malloc(size);
    memcpy(copy, f->data, size);
    REFUSED(copy, 20, "the header is missing or cut short");
    REFUSED(copy, size / 2, "cut short");
    put(copy + 16, 100000); /* width and height */
    put(copy + 20, 100000);
    REFUSED(copy, size, "100000 x 100000 pixels cannot be packed in the");
    put(copy + 16, 0);
    REFUSED(copy, size, "says what no PNG can be");
    f = find_golden("jpeg.0", ".file");
    REFUSED(f->data, (size_t)f->shape[0] - 60, "a.png: the JPEG is cut short, at byte");
    REFUSED(f->data, (size_t)f->shape[0] - 2, "cut short");
    REFUSED(f->data, 12, "it has no header");
    heed_image p;
    assert_false(heed_image_parse(cx, "b", f->data, (size_t)f->shape[0], &(heed_image_opts){.max_pixels = 100}, &p));
    EXPECT_SENTENCE(cx, "37 x 29 pixels, at most 100 are allowed");
    assert_false(heed_image_read(cx, in_folder("none.png"), NULL, &p));
    EXPECT_SENTENCE(cx, "No such file");
    free(copy);
    close_golden();
    close_context(cx);
}

/* A PNG of 30000 x 30000 zeros, sound in its bytes, is refused by its header: nothing of it is ever unpacked. */
static void test_bomb(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const size_t room = 4 << 20;
    unsigned char *bomb = calloc(room, 1);
    memcpy(bomb, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    put(bomb + 16, 30000);
    put(bomb + 20, 30000);
    bomb[24] = 8;
    bomb[25] = 2;
    put(bomb + 33, (uint32_t)(room - 45));
    memcpy(bomb + 37, "IDAT", 4);
    REFUSED(bomb, room, "30000 x 30000 pixels, at most 178956970 are allowed: a decompression bomb?");
    free(bomb);
    close_context(cx);
    /* and one that is allowed, but not by the budget */
    open_golden("files");
    const size_t held = heed_memory_use(golden_cx).held;
    cx = heed_open(&(heed_config){.threads = 1, .byte_budget = held + (1 << 20)});
    heed_image p = {0};
    const heed_array *f = find_golden("jpeg.0", ".file");
    assert_true(heed_image_parse(cx, "a", f->data, (size_t)f->shape[0], NULL, &p));
    heed_image_free(cx, &p);
    heed_close(cx);
    cx = heed_open(&(heed_config){.threads = 1, .byte_budget = held + (200 << 10)});
    assert_false(heed_image_parse(cx, "a", f->data, (size_t)f->shape[0], NULL, &p));
    assert_int_equal(heed_error(cx), HEED_ERR_BUDGET); /* what libjpeg takes counts too */
    heed_close(cx);
    close_golden();
}

static bool parse_any(heed_ctx *cx, const void *bytes, size_t size) {
    heed_image p;
    const bool ok = heed_image_parse(cx, "t", bytes, size, &(heed_image_opts){.orient = true}, &p);
    unsigned sum = 0;
    for (int64_t i = 0; ok && i < p.width * p.height * p.channels; i++) sum += p.data[i];
    if (ok) heed_image_free(cx, &p);
    return ok && sum < UINT32_MAX;
}

static void test_torment(void **state) {
    (void)state;
    static const char *const names[] = {"png.3.4.interlaced", "png.alpha", "png.0.16",
                                        "jpeg.turned6",       "jpeg.cmyk", "jpeg.progressive"};
    open_golden("files");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const heed_array *f = find_golden(names[i], ".file");
        torment(parse_any, f->data, (size_t)f->shape[0], 150);
    }
    close_golden();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoding), cmocka_unit_test(test_inspecting), cmocka_unit_test(test_writing),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_bomb),       cmocka_unit_test(test_torment),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
