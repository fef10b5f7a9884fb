/* Pictures in memory: made, copied, converted from one number of channels to another. */
#include "image/image.h"
#include "base/checked.h"
#include "base/vectors.h"

bool image_check(heed_ctx *cx, const char *op, const heed_image *image) {
    if (heed_failed(cx)) return false;
    if (!image || !image->data || image->width < 1 || image->height < 1 || image->channels < 1 || image->channels > 4)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: not a picture of 1 to 4 channels", op);
    return true;
}

bool heed_image_new(heed_ctx *cx, int64_t width, int64_t height, int channels, heed_image *out) {
    image_none(out);
    if (heed_failed(cx)) return false;
    if (!out) return heed_fail(cx, HEED_ERR_USAGE, "image_new: no picture is given");
    size_t bytes = 0;
    if (width < 1 || height < 1 || width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE || channels < 1 || channels > 4 ||
        !size_mul((size_t)width * (size_t)height, (size_t)channels, &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "a picture of %lld x %lld pixels and %d channels: out of range",
                         (long long)width, (long long)height, channels);
    uint8_t *data = heed_mem_new(cx, bytes);
    if (!data) return false;
    *out = (heed_image){width, height, channels, data};
    return true;
}

void heed_image_free(heed_ctx *cx, heed_image *image) {
    if (!image) return;
    heed_mem_free(cx, image->data);
    *image = (heed_image){0};
}

bool heed_image_copy(heed_ctx *cx, const heed_image *image, heed_image *out) {
    image_none(out);
    if (!image_check(cx, "image_copy", image) || !heed_image_new(cx, image->width, image->height, image->channels, out))
        return false;
    memcpy(out->data, image->data, image_bytes(image));
    return true;
}

/* ---- conversion ---- n pixels, `from` channels to `to` */

static void grey_of_colour(const uint8_t *in, int from, uint8_t *out, int to, int64_t n) {
    if (from == 3 && to == 1) {
        VECTORS
        for (int64_t i = 0; i < n; i++) out[i] = luma(in + 3 * i);
        return;
    }
    for (int64_t i = 0; i < n; i++) out[i * to] = luma(in + i * from);
}

static void convert_pixels(const uint8_t *in, int from, uint8_t *out, int to, int64_t n) {
    if (to < 3 && from > 2)
        grey_of_colour(in, from, out, to, n);
    else if (to > 2 && from > 2)
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) out[i * to + k] = in[i * from + k];
    else
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < (to > 2 ? 3 : 1); k++) out[i * to + k] = in[i * from];
    if (to % 2 == 1) return;
    const bool has = from % 2 == 0;
    for (int64_t i = 0; i < n; i++) out[i * to + to - 1] = has ? in[i * from + from - 1] : 255;
}

bool heed_image_convert(heed_ctx *cx, const heed_image *image, heed_image_mode mode, heed_image *out) {
    image_none(out);
    if (!image_check(cx, "image_convert", image)) return false;
    if ((unsigned)mode > HEED_IMAGE_RGBA) return heed_fail(cx, HEED_ERR_USAGE, "image_convert: no mode %d", (int)mode);
    const int to = mode == HEED_IMAGE_ANY ? image->channels : (int)mode;
    if (to == image->channels) return heed_image_copy(cx, image, out);
    if (!heed_image_new(cx, image->width, image->height, to, out)) return false;
    convert_pixels(image->data, image->channels, out->data, to, image->width * image->height);
    return true;
}

/* ---- floats ---- */

/* As numpy does it: the product in double, rounded; then the difference and the quotient in float. 256 values a
 * channel, so a table of them is all the arithmetic there is. */
void heed_image_to_floats(const heed_image *image, double scale, const float *mean, const float *std, float *out) {
    if (!image || !out) return;
    const int64_t n = image->width * image->height;
    const int channels = image->channels;
    for (int c = 0; c < channels; c++) {
        float value[256];
        for (int v = 0; v < 256; v++) {
            value[v] = (float)((double)v * scale);
            if (mean && std) value[v] = (value[v] - mean[c]) / std[c];
        }
        const uint8_t *in = image->data + c;
        for (int64_t i = 0; i < n; i++) out[c * n + i] = value[in[i * channels]];
    }
}

/* ---- bytes that grow ---- */

bool image_bytes_add(struct image_bytes *b, const void *data, size_t size) {
    if (size > b->room - b->size) {
        const size_t room = 2 * (b->size + size) + 4096;
        uint8_t *larger = heed_mem_resize(b->cx, b->data, room);
        if (!larger) return false;
        b->data = larger;
        b->room = room;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return true;
}
