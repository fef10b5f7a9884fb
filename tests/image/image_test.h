/* What the tests of pictures share: golden files, and pictures compared byte by byte. */
#ifndef TESTS_IMAGE_TEST_H
#define TESTS_IMAGE_TEST_H

#include "../io/io_test.h"
#include "heed/image.h"

static heed_safetensors *golden;
static heed_ctx *golden_cx;

static UNUSED void open_golden(const char *name) {
    char path[4096];
    const char *root = getenv("HEED_GOLDEN");
    snprintf(path, sizeof path, "%s/image/%s.safetensors", root ? root : HEED_SOURCE_DIR "/tests/golden", name);
    golden_cx = heed_open(&(heed_config){.threads = 1});
    golden = heed_safetensors_open(golden_cx, path);
    if (!golden) print_error("%s\n", heed_message(golden_cx));
    assert_non_null(golden);
}

static UNUSED void close_golden(void) {
    heed_safetensors_close(golden);
    heed_close(golden_cx);
}

static UNUSED const heed_array *find_golden(const char *name, const char *what) {
    char key[256];
    snprintf(key, sizeof key, "%s%s", name, what);
    const int64_t i = heed_safetensors_find(golden_cx, golden, key);
    return i < 0 ? NULL : heed_safetensors_get(golden_cx, golden, i);
}

/* Of (h, w) or (h, w, channels); it borrows the bytes, which nobody writes to. */
static UNUSED heed_image picture_of(const heed_array *a) {
    assert_non_null(a);
    assert_int_equal(a->dtype, HEED_U8);
    return (heed_image){a->shape[1], a->shape[0], a->rank == 3 ? (int)a->shape[2] : 1, (uint8_t *)(uintptr_t)a->data};
}

static UNUSED void same_picture(const char *name, const heed_image *found, const heed_array *a) {
    const heed_image wanted = picture_of(a);
    if (found->width != wanted.width || found->height != wanted.height || found->channels != wanted.channels)
        fail_msg("%s: %lld x %lld x %d, expected %lld x %lld x %d", name, (long long)found->width,
                 (long long)found->height, found->channels, (long long)wanted.width, (long long)wanted.height,
                 wanted.channels);
    const int64_t n = wanted.width * wanted.height * wanted.channels;
    for (int64_t i = 0; i < n; i++)
        if (found->data[i] != wanted.data[i])
            fail_msg("%s: byte %lld is %d, expected %d", name, (long long)i, found->data[i], wanted.data[i]);
}

/* Noise, or a gradient, of (seed); to be freed. */
static UNUSED heed_image drawn(heed_ctx *cx, int64_t width, int64_t height, int channels, uint64_t seed) {
    heed_image p;
    assert_true(heed_image_new(cx, width, height, channels, &p));
    for (int64_t i = 0; i < width * height * channels; i++)
        p.data[i] = (uint8_t)(seed % 2 ? heed_random_bits(seed, 3, (uint64_t)i) : (uint64_t)(i * 7 + i / width) + seed);
    return p;
}

#endif
