/* Pictures turned, cropped, padded, flipped and laid side by side. Nothing is computed: pixels move. */
#include "image/image.h"

/* EXIF's orientation o: first mirror left and right, top and bottom, then swap rows and columns. */
bool heed_image_orient(heed_ctx *cx, const heed_image *image, int o, heed_image *out) {
    image_none(out);
    if (!image_check(cx, "image_orient", image)) return false;
    if (o < 1 || o > 8) return heed_fail(cx, HEED_ERR_RANGE, "image_orient: orientation %d, not 1 to 8", o);
    const bool swap = o > 4, mirror = o == 2 || o == 3 || o == 7 || o == 8,
               upside = o == 3 || o == 4 || o == 6 || o == 7;
    const int64_t w = image->width, h = image->height;
    const size_t pixel = (size_t)image->channels;
    if (!heed_image_new(cx, swap ? h : w, swap ? w : h, image->channels, out)) return false;
    for (int64_t y = 0; y < out->height; y++)
        for (int64_t x = 0; x < out->width; x++) {
            const int64_t across = swap ? y : x, down = swap ? x : y;
            memcpy(image_row(out, y) + (size_t)x * pixel,
                   image_row(image, upside ? h - 1 - down : down) + (size_t)(mirror ? w - 1 - across : across) * pixel,
                   pixel);
        }
    return true;
}

/* n pixels of one colour; NULL: black. */
static void fill_pixels(uint8_t *out, int64_t n, int channels, const uint8_t *fill) {
    if (!fill) {
        memset(out, 0, (size_t)n * (size_t)channels);
        return;
    }
    for (int64_t i = 0; i < n; i++) memcpy(out + i * channels, fill, (size_t)channels);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

bool heed_image_crop(heed_ctx *cx, const heed_image *image, int64_t left, int64_t top, int64_t width, int64_t height,
                     const uint8_t *fill, heed_image *out) {
    image_none(out);
    if (!image_check(cx, "image_crop", image)) return false;
    if (left < -IMAGE_MAX_SIDE || top < -IMAGE_MAX_SIDE || left > IMAGE_MAX_SIDE || top > IMAGE_MAX_SIDE)
        return heed_fail(cx, HEED_ERR_RANGE, "image_crop: a box at (%lld,%lld): out of range", (long long)left,
                         (long long)top);
    if (!heed_image_new(cx, width, height, image->channels, out)) return false;
    const int channels = image->channels;
    const int64_t from = clamp(-left, 0, width), to = clamp(image->width - left, from, width);
    for (int64_t y = 0; y < height; y++) {
        uint8_t *row = image_row(out, y);
        const bool inside = y + top >= 0 && y + top < image->height && to > from;
        if (!inside) {
            fill_pixels(row, width, channels, fill);
            continue;
        }
        fill_pixels(row, from, channels, fill);
        memcpy(row + from * channels, image_row(image, y + top) + (left + from) * channels,
               (size_t)((to - from) * channels));
        fill_pixels(row + to * channels, width - to, channels, fill);
    }
    return true;
}

/* Where a place outside of 0 to n - 1 takes its pixel from. */
static int64_t reflected(int64_t at, int64_t n, heed_padding kind) {
    if (kind == HEED_PADDING_EDGE || (at >= 0 && at < n)) return clamp(at, 0, n - 1);
    return at < 0 ? -at : 2 * (n - 1) - at;
}

bool heed_image_pad(heed_ctx *cx, const heed_image *image, int64_t left, int64_t top, int64_t right, int64_t bottom,
                    heed_padding kind, const uint8_t *fill, heed_image *out) {
    image_none(out);
    if (!image_check(cx, "image_pad", image)) return false;
    const int64_t w = image->width, h = image->height, sides[] = {left, right, top, bottom};
    for (int i = 0; i < 4; i++)
        if (sides[i] < 0 || sides[i] > IMAGE_MAX_SIDE || (kind == HEED_PADDING_REFLECT && sides[i] >= (i < 2 ? w : h)))
            return heed_fail(cx, HEED_ERR_RANGE, "image_pad: %lld pixels beside a picture of %lld x %lld: out of range",
                             (long long)sides[i], (long long)w, (long long)h);
    if (kind == HEED_PADDING_CONSTANT)
        return heed_image_crop(cx, image, -left, -top, w + left + right, h + top + bottom, fill, out);
    if (!heed_image_new(cx, w + left + right, h + top + bottom, image->channels, out)) return false;
    const size_t pixel = (size_t)image->channels;
    for (int64_t y = 0; y < out->height; y++) {
        const uint8_t *in = image_row(image, reflected(y - top, h, kind));
        uint8_t *row = image_row(out, y);
        for (int64_t x = 0; x < out->width; x++)
            memcpy(row + (size_t)x * pixel, in + (size_t)reflected(x - left, w, kind) * pixel, pixel);
    }
    return true;
}

static void swap_pixels(uint8_t *a, uint8_t *b, int n) {
    for (int k = 0; k < n; k++) {
        const uint8_t t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}

void heed_image_flip(heed_image *image, bool horizontal, bool vertical) {
    if (!image) return;
    const int channels = image->channels;
    for (int64_t y = 0; horizontal && y < image->height; y++) {
        uint8_t *a = image_row(image, y), *b = a + (image->width - 1) * channels;
        for (; a < b; a += channels, b -= channels) swap_pixels(a, b, channels);
    }
    const int64_t bytes = image->width * channels;
    for (int64_t y = 0; vertical && y < image->height / 2; y++) {
        uint8_t *a = image_row(image, y), *b = image_row(image, image->height - 1 - y);
        for (int64_t i = 0; i < bytes; i++) {
            const uint8_t t = a[i];
            a[i] = b[i];
            b[i] = t;
        }
    }
}

bool heed_image_grid(heed_ctx *cx, const heed_image *images, int64_t n, int64_t columns, int64_t gap, heed_image *out) {
    image_none(out);
    if (heed_failed(cx)) return false;
    if (!images || n < 1 || columns < 1 || gap < 0 || gap > IMAGE_MAX_SIDE)
        return heed_fail(cx, HEED_ERR_USAGE, "image_grid: pictures, columns or the gap make no sense");
    for (int64_t i = 0; i < n; i++) {
        if (!image_check(cx, "image_grid", &images[i])) return false;
        if (images[i].width != images->width || images[i].height != images->height ||
            images[i].channels != images->channels)
            return heed_fail(cx, HEED_ERR_SHAPE, "image_grid: picture %lld is not of the size of the first",
                             (long long)i);
    }
    const int64_t w = images->width, h = images->height, across = n < columns ? n : columns,
                  rows = (n - 1) / across + 1;
    if (!heed_image_new(cx, across * (w + gap) + gap, rows * (h + gap) + gap, images->channels, out)) return false;
    memset(out->data, 255, image_bytes(out));
    const size_t bytes = (size_t)w * (size_t)images->channels;
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = gap + i % across * (w + gap), y = gap + i / across * (h + gap);
        for (int64_t r = 0; r < h; r++)
            memcpy(image_row(out, y + r) + x * images->channels, image_row(&images[i], r), bytes);
    }
    return true;
}
