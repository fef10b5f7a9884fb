/* A picture made ready for a model: resized, cropped, scaled and normalised, in the order and with the roundings of
 * transformers' image processors (those on Pillow) and of timm's transform for evaluation. */
#include "base/checked.h"
#include "image/image.h"

#include <math.h>

struct size {
    int64_t width, height;
};

/* The shorter side becomes p->shorter; the longer one, cut to whole pixels, at most p->longer. */
static struct size by_shorter(const heed_image_processor *p, int64_t w, int64_t h) {
    const double low = (double)(w < h ? w : h), high = (double)(w < h ? h : w);
    double shorter = (double)p->shorter;
    int64_t whole = p->shorter;
    if (p->longer > 0 && high / low * shorter > (double)p->longer) {
        shorter = (double)p->longer * low / high;
        whole = (int64_t)rint(shorter);
        if ((int64_t)low == whole) return (struct size){w, h};
    }
    const int64_t longer = (int64_t)(shorter * high / low);
    return w < h || (w == h && p->longer == 0) ? (struct size){whole, longer} : (struct size){longer, whole};
}

static struct size by_shorter_whole(const heed_image_processor *p, int64_t w, int64_t h) {
    struct size s = by_shorter(p, w, h);
    if (p->multiple > 0) s.width -= s.width % p->multiple, s.height -= s.height % p->multiple;
    return s;
}

/* In proportion, so that height x width is covered, or holds it. */
static struct size in_proportion(const heed_image_processor *p, int64_t w, int64_t h, bool cover) {
    const double down = (double)h / (double)p->height, across = (double)w / (double)p->width;
    const double ratio = cover ? fmin(down, across) : fmax(down, across);
    return (struct size){(int64_t)rint((double)w / ratio), (int64_t)rint((double)h / ratio)};
}

static struct size within(const heed_image_processor *p, int64_t w, int64_t h) {
    const double scale = fmin((double)p->height / (double)h, (double)p->width / (double)w);
    return (struct size){(int64_t)((double)w * scale), (int64_t)((double)h * scale)};
}

static struct size resized(const heed_image_processor *p, int64_t w, int64_t h) {
    switch (p->resize) {
    case HEED_RESIZE_EXACT:
        return (struct size){p->width, p->height};
    case HEED_RESIZE_SHORTER:
        return by_shorter_whole(p, w, h);
    case HEED_RESIZE_COVER:
    case HEED_RESIZE_FIT:
        return in_proportion(p, w, h, p->resize == HEED_RESIZE_COVER);
    case HEED_RESIZE_WITHIN:
        return within(p, w, h);
    default:
        return (struct size){w, h};
    }
}

/* Where the crop of a side begins; before 0 where it is longer than the side. */
static int64_t crop_from(const heed_image_processor *p, int64_t side, int64_t crop) {
    const int64_t more = side - crop;
    if (more < 0) return p->timm ? -(-more / 2) : -((1 - more) / 2);
    return p->timm ? (int64_t)rint((double)more / 2.0) : more / 2;
}

static bool check(heed_ctx *cx, const heed_image_processor *p, const heed_image *image) {
    if (!image_check(cx, "image_process", image)) return false;
    const bool sized = p && (p->resize == HEED_RESIZE_NONE ||
                             (p->resize == HEED_RESIZE_SHORTER ? p->shorter > 0 : p->height > 0 && p->width > 0));
    return (sized && (!p->crop || (p->crop_height > 0 && p->crop_width > 0)) && p->channels >= 0 && p->channels <= 4) ||
           heed_fail(cx, HEED_ERR_USAGE, "image_process: not a processor: it has no sizes");
}

bool heed_image_processor_picture(heed_ctx *cx, const heed_image_processor *p, const heed_image *image,
                                  heed_image *out) {
    if (!check(cx, p, image)) return false;
    heed_image converted = {0}, made = {0};
    const int channels = p->channels > 0 ? p->channels : image->channels;
    bool ok = channels == image->channels || heed_image_convert(cx, image, (heed_image_mode)channels, &converted);
    const heed_image *in = converted.data ? &converted : image;
    if (ok && p->resize != HEED_RESIZE_NONE) {
        const struct size s = resized(p, image->width, image->height);
        if (s.width < 1 || s.height < 1)
            ok = heed_fail(cx, HEED_ERR_SHAPE, "a picture of %lld x %lld pixels is too narrow: nothing would be left",
                           (long long)image->width, (long long)image->height);
        ok = ok && heed_image_resize(cx, in, s.width, s.height, p->filter, NULL, &made);
        if (ok) in = &made;
    }
    ok = ok && (p->crop ? heed_image_crop(cx, in, crop_from(p, in->width, p->crop_width),
                                          crop_from(p, in->height, p->crop_height), p->crop_width, p->crop_height,
                                          p->fill, out)
                        : heed_image_copy(cx, in, out));
    heed_image_free(cx, &converted);
    heed_image_free(cx, &made);
    return ok;
}

bool heed_image_processor_size(heed_ctx *cx, const heed_image_processor *p, const heed_image *image, int64_t *channels,
                               int64_t *height, int64_t *width) {
    if (!check(cx, p, image)) return false;
    if (!channels || !height || !width)
        return heed_fail(cx, HEED_ERR_USAGE, "image processor: channels, height or width is NULL");
    const struct size s = resized(p, image->width, image->height);
    *channels = p->channels > 0 ? p->channels : image->channels;
    *height = p->crop ? p->crop_height : s.height;
    *width = p->crop ? p->crop_width : s.width;
    if (p->pad_height == 0 && p->pad_width == 0) return true;
    if (*height > p->pad_height || *width > p->pad_width)
        return heed_fail(cx, HEED_ERR_SHAPE, "a picture of %lld x %lld pixels cannot be padded to %lld x %lld",
                         (long long)*width, (long long)*height, (long long)p->pad_width, (long long)p->pad_height);
    *height = p->pad_height;
    *width = p->pad_width;
    return true;
}

/* Floats into the corner of a larger picture of zeros. */
static void pad_floats(float *out, int64_t height, int64_t width, const float *in, const heed_image *of) {
    memset(out, 0, (size_t)(of->channels * height * width) * sizeof *out);
    for (int c = 0; c < of->channels; c++)
        for (int64_t y = 0; y < of->height; y++)
            memcpy(out + (c * height + y) * width, in + (c * of->height + y) * of->width,
                   (size_t)of->width * sizeof *out);
}

float *heed_image_process(heed_ctx *cx, const heed_image_processor *p, const heed_image *image, int64_t *channels,
                          int64_t *height, int64_t *width) {
    int64_t c, h, w, count;
    if (!heed_image_processor_size(cx, p, image, &c, &h, &w)) return NULL;
    heed_image made;
    if (!heed_image_processor_picture(cx, p, image, &made)) return NULL;
    float *out = NULL, *padded = NULL;
    if (i64_mul(c * (int64_t)sizeof *out, h, &count) && i64_mul(count, w, &count))
        padded = heed_mem_new(cx, (size_t)count);
    else
        heed_fail(cx, HEED_ERR_RANGE, "a picture of %lld x %lld pixels: out of range", (long long)w, (long long)h);
    const bool pads = made.height != h || made.width != w;
    if (padded) out = pads ? heed_mem_new(cx, image_bytes(&made) * sizeof *out) : padded;
    if (out) heed_image_to_floats(&made, p->rescale ? p->scale : 1.0, p->normalize ? p->mean : NULL, p->std, out);
    if (out && pads) pad_floats(padded, h, w, out, &made);
    if (pads) heed_mem_free(cx, out);
    heed_image_free(cx, &made);
    if (heed_failed(cx)) {
        heed_mem_free(cx, padded);
        return NULL;
    }
    if (channels) *channels = c;
    if (height) *height = h;
    if (width) *width = w;
    return padded;
}

bool heed_image_processor_box(heed_ctx *cx, const heed_image_processor *p, const heed_image *image, heed_box *box) {
    int64_t c, h, w;
    if (!heed_image_processor_size(cx, p, image, &c, &h, &w)) return false;
    if (!box) return heed_fail(cx, HEED_ERR_USAGE, "image processor: the box is NULL");
    const struct size s = resized(p, image->width, image->height);
    if (s.width < 1 || s.height < 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "a picture of %lld x %lld pixels is too narrow: nothing would be left",
                         (long long)image->width, (long long)image->height);
    const double across = (double)image->width / (double)s.width, down = (double)image->height / (double)s.height;
    const int64_t left = p->crop ? crop_from(p, s.width, p->crop_width) : 0,
                  top = p->crop ? crop_from(p, s.height, p->crop_height) : 0;
    *box = (heed_box){(float)((double)left * across), (float)((double)top * down), (float)((double)(left + w) * across),
                      (float)((double)(top + h) * down)};
    return true;
}
