/* Augmentation: crops, flips, RandAugment, colour jitter, erasing, mixup and CutMix. What is drawn comes from a stream
 * of (epoch, row), number after number, so that it does not depend on who asks or when. */
#include "heed/augment.h"
#include "image/image.h"

#include <math.h>

/* ---- chance ---- */

enum { PART_BYTES, PART_ERASE, PART_MIX, PARTS = 4 };

struct draws {
    uint64_t seed, stream, at;
};

static struct draws draws_of(uint64_t seed, int64_t epoch, int64_t row, int part) {
    return (struct draws){seed, ((uint64_t)epoch << 40 ^ (uint64_t)row) * PARTS + (uint64_t)part, 0};
}
static double chance(struct draws *d) { return heed_random_bits(d->seed, d->stream, d->at++) * 0x1p-32; } /* [0, 1) */
static double within(struct draws *d, double low, double high) { return low + (high - low) * chance(d); }
static int64_t one_of(struct draws *d, int64_t n) { return (int64_t)(chance(d) * (double)n); }
static bool maybe(struct draws *d, double p) { return chance(d) < p; }

static double normal(struct draws *d) {
    const double u = chance(d), v = chance(d);
    return sqrt(-2.0 * log(1.0 - u)) * cos(2.0 * M_PI * v);
}

/* Marsaglia & Tsang 2000; for a < 1 by way of a + 1. */
static double gamma_of(struct draws *d, double a) {
    if (a < 1.0) return gamma_of(d, a + 1.0) * pow(1.0 - chance(d), 1.0 / a);
    const double k = a - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * k);
    while (true) {
        const double x = normal(d), v = pow(1.0 + c * x, 3.0);
        if (v > 0.0 && log(1.0 - chance(d)) < 0.5 * x * x + k - k * v + k * log(v)) return k * v;
    }
}

static double beta_of(struct draws *d, double a) {
    const double x = gamma_of(d, a), y = gamma_of(d, a);
    return x + y > 0.0 ? x / (x + y) : 0.5;
}

/* ---- the record ---- */

static bool is_share(double v) { return v >= 0.0 && v <= 1.0; }

bool heed_augment_check(heed_ctx *cx, const heed_augment *a) {
    if (heed_failed(cx)) return false;
    if (!a) return heed_fail(cx, HEED_ERR_USAGE, "augment: no record is given");
    if (!is_share(a->flip) || !is_share(a->flip_vertical) || !is_share(a->erase) || !is_share(a->mix) ||
        !is_share(a->mix_cut))
        return heed_fail(cx, HEED_ERR_RANGE, "augment: a probability is not within 0 and 1");
    if (!(a->area_low >= 0 && a->area_low <= a->area_high && a->area_high <= 1.0) ||
        (a->area_high > 0 && !(a->area_low > 0)) ||
        !(a->aspect_low >= 0 && a->aspect_low <= a->aspect_high && a->aspect_high < 1e3))
        return heed_fail(cx, HEED_ERR_RANGE, "augment: the area of crops, or their aspect, is out of range");
    if (a->padding < 0 || a->padding > IMAGE_MAX_SIDE || a->cutout < 0)
        return heed_fail(cx, HEED_ERR_RANGE, "augment: padding and cutout are not negative");
    if (a->rand_operations < 0 || a->rand_operations > 100 ||
        !(a->rand_magnitude >= 0 && a->rand_magnitude <= (a->rand_kind == HEED_RAND_TIMM ? 10 : 30)) ||
        !(a->rand_std >= 0 && a->rand_std <= 100))
        return heed_fail(cx, HEED_ERR_RANGE, "augment: RandAugment's magnitude is %g, at most %d is allowed",
                         a->rand_magnitude, a->rand_kind == HEED_RAND_TIMM ? 10 : 30);
    if (!is_share(a->brightness) || !is_share(a->contrast) || !is_share(a->saturation) ||
        !(a->hue >= 0 && a->hue <= 0.5))
        return heed_fail(cx, HEED_ERR_RANGE, "augment: colour jitter is within 0 and 1, hue within 0 and 0.5");
    if (!(a->erase_low >= 0 && a->erase_low <= a->erase_high && a->erase_high <= 1) || !is_share(a->erase_aspect) ||
        !(a->mixup >= 0 && a->mixup <= 100) || !(a->cutmix >= 0 && a->cutmix <= 100))
        return heed_fail(cx, HEED_ERR_RANGE, "augment: erasing, mixup or CutMix is out of range");
    return true;
}

/* ---- crops ---- */

/* torchvision's RandomResizedCrop: ten tries, then the centre with the nearest aspect. */
static heed_box draw_crop(const heed_augment *a, const heed_image *p, struct draws *d) {
    const double w = (double)p->width, h = (double)p->height;
    const double low = a->aspect_low > 0 ? a->aspect_low : 3.0 / 4.0,
                 high = a->aspect_high > 0 ? a->aspect_high : 4.0 / 3.0;
    for (int i = 0; i < 10; i++) {
        const double area = w * h * within(d, a->area_low, a->area_high);
        const double aspect = exp(within(d, log(low), log(high)));
        const double cw = rint(sqrt(area * aspect)), ch = rint(sqrt(area / aspect));
        if (cw < 1 || ch < 1 || cw > w || ch > h) continue;
        const double y = (double)one_of(d, (int64_t)(h - ch) + 1), x = (double)one_of(d, (int64_t)(w - cw) + 1);
        return (heed_box){(float)x, (float)y, (float)(x + cw), (float)(y + ch)};
    }
    double cw = w, ch = h;
    if (w / h < low) ch = rint(w / low);
    if (w / h > high) cw = rint(h * high);
    const double x = floor((w - cw) / 2), y = floor((h - ch) / 2);
    return (heed_box){(float)x, (float)y, (float)(x + cw), (float)(y + ch)};
}

static bool crop(heed_ctx *cx, const heed_augment *a, const heed_image *p, int64_t w, int64_t h, struct draws *d,
                 heed_image *out) {
    if (a->area_high > 0) { /* cropped first, so that nothing outside of the crop counts */
        const heed_box b = draw_crop(a, p, d);
        heed_image part;
        if (!heed_image_crop(cx, p, (int64_t)b.left, (int64_t)b.top, (int64_t)(b.right - b.left),
                             (int64_t)(b.bottom - b.top), NULL, &part))
            return false;
        const bool ok = heed_image_resize(cx, &part, w, h, a->filter, NULL, out);
        heed_image_free(cx, &part);
        return ok;
    }
    heed_image padded = {0};
    bool ok = true;
    if (a->padding > 0)
        ok = heed_image_pad(cx, p, a->padding, a->padding, a->padding, a->padding, a->padding_kind, a->fill, &padded);
    const heed_image *from = padded.data ? &padded : p;
    if (ok && (from->width < w || from->height < h || (a->padding == 0 && (p->width != w || p->height != h))))
        ok = heed_image_resize(cx, from, w, h, a->filter, NULL, out);
    else if (ok)
        ok =
            heed_image_crop(cx, from, one_of(d, from->width - w + 1), one_of(d, from->height - h + 1), w, h, NULL, out);
    heed_image_free(cx, &padded);
    return ok;
}

/* ---- RandAugment ---- one operation: rand_operations.c */

static bool rand_augment(heed_ctx *cx, const heed_augment *a, struct draws *d, heed_image *p) {
    const bool timm = a->rand_kind == HEED_RAND_TIMM;
    for (int i = 0; i < a->rand_operations; i++) {
        const int op = (int)one_of(d, heed_rand_count(a->rand_kind));
        const bool negative = maybe(d, 0.5);
        double magnitude = a->rand_magnitude;
        if (timm && a->rand_std > 0) magnitude = fmax(0.0, fmin(10.0, magnitude + a->rand_std * normal(d)));
        const heed_filter filter = !timm           ? HEED_FILTER_NEAREST
                                   : maybe(d, 0.5) ? HEED_FILTER_BILINEAR
                                                   : HEED_FILTER_BICUBIC;
        if (timm && maybe(d, 0.5)) continue;
        if (!heed_rand_apply(cx, a->rand_kind, op, magnitude, negative, filter, a->fill, p)) return false;
    }
    return true;
}

/* ---- colour jitter ---- */

static bool jitter(heed_ctx *cx, const heed_augment *a, struct draws *d, heed_image *p) {
    int order[4] = {0, 1, 2, 3};
    for (int i = 3; i > 0; i--) {
        const int j = (int)one_of(d, i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (int i = 0; i < 4; i++) {
        const double wide = (const double[]){a->brightness, a->contrast, a->saturation, a->hue}[order[i]];
        const double by = within(d, -wide, wide);
        if (wide == 0.0) continue;
        const bool ok = order[i] == 0   ? heed_image_brightness(cx, p, 1.0 + by)
                        : order[i] == 1 ? heed_image_contrast(cx, p, 1.0 + by)
                        : order[i] == 2 ? heed_image_color(cx, p, 1.0 + by)
                                        : heed_image_hue(cx, p, by);
        if (!ok) return false;
    }
    return true;
}

bool heed_image_augment(heed_ctx *cx, const heed_augment *a, const heed_image *image, int64_t width, int64_t height,
                        uint64_t seed, int64_t epoch, int64_t row, heed_image *out) {
    struct draws d = draws_of(seed, epoch, row, PART_BYTES);
    if (!heed_augment_check(cx, a) || !image_check(cx, "augment", image) || !crop(cx, a, image, width, height, &d, out))
        return false;
    const bool across = maybe(&d, a->flip), down = maybe(&d, a->flip_vertical);
    heed_image_flip(out, across, down);
    if (rand_augment(cx, a, &d, out) && jitter(cx, a, &d, out)) return true;
    heed_image_free(cx, out);
    return false;
}

/* ---- erasing ---- of floats */

static void erase_box(float *x, int64_t channels, int64_t height, int64_t width, const heed_mix *b, bool noise,
                      struct draws *d) {
    for (int64_t c = 0; c < channels; c++)
        for (int64_t y = b->top; y < b->bottom; y++)
            for (int64_t i = b->left; i < b->right; i++)
                x[(c * height + y) * width + i] = noise ? (float)normal(d) : 0.0f;
}

static int64_t clamp(int64_t v, int64_t high) { return v < 0 ? 0 : v > high ? high : v; }

void heed_floats_erase(const heed_augment *a, float *x, int64_t channels, int64_t height, int64_t width, uint64_t seed,
                       int64_t epoch, int64_t row) {
    if (!a || !x) return;
    struct draws d = draws_of(seed, epoch, row, PART_ERASE);
    const double low = a->erase_high > 0 ? a->erase_low : 0.02, high = a->erase_high > 0 ? a->erase_high : 1.0 / 3.0;
    const double aspect = a->erase_aspect > 0 ? a->erase_aspect : 0.3;
    bool erases = maybe(&d, a->erase);
    for (int i = 0; erases && i < 10; i++) {
        const double area = (double)(width * height) * within(&d, low, high);
        const double ratio = exp(within(&d, log(aspect), -log(aspect)));
        const int64_t h = (int64_t)rint(sqrt(area * ratio)), w = (int64_t)rint(sqrt(area / ratio));
        if (h >= height || w >= width || h < 1 || w < 1) continue;
        const int64_t top = one_of(&d, height - h + 1), left = one_of(&d, width - w + 1);
        const heed_mix b = {.left = left, .top = top, .right = left + w, .bottom = top + h};
        erase_box(x, channels, height, width, &b, a->erase_noise, &d);
        erases = false;
    }
    if (a->cutout == 0) return;
    struct draws c = draws_of(seed, epoch, row, PARTS - 1);
    const int64_t y = one_of(&c, height) - a->cutout / 2, left = one_of(&c, width) - a->cutout / 2;
    const heed_mix b = {.left = clamp(left, width),
                        .top = clamp(y, height),
                        .right = clamp(left + a->cutout, width),
                        .bottom = clamp(y + a->cutout, height)};
    erase_box(x, channels, height, width, &b, false, &c);
}

/* ---- mixing ---- */

heed_mix heed_mix_draw(const heed_augment *a, int64_t n, int64_t height, int64_t width, uint64_t seed, int64_t epoch,
                       int64_t row) {
    struct draws d = draws_of(seed, epoch, row, PART_MIX);
    heed_mix m = {.other = one_of(&d, n), .own = 1.0};
    if (!a) return m;
    const bool mixes = maybe(&d, a->mix), first = maybe(&d, a->mix_cut > 0 ? a->mix_cut : 0.5);
    if (!mixes || (a->mixup == 0 && a->cutmix == 0)) return m;
    m.cut = a->mixup == 0 || (a->cutmix > 0 && first);
    m.own = beta_of(&d, m.cut ? a->cutmix : a->mixup);
    if (!m.cut) return m;
    const double side = sqrt(1.0 - m.own);
    const int64_t h = (int64_t)((double)height * side), w = (int64_t)((double)width * side);
    const int64_t y = one_of(&d, height), x = one_of(&d, width);
    m.top = clamp(y - h / 2, height);
    m.bottom = clamp(y + h / 2, height);
    m.left = clamp(x - w / 2, width);
    m.right = clamp(x + w / 2, width);
    m.own = 1.0 - (double)((m.bottom - m.top) * (m.right - m.left)) / (double)(height * width);
    return m;
}

void heed_mix_floats(const heed_mix *m, float *x, const float *other, int64_t channels, int64_t height, int64_t width) {
    if (!m || !x || !other) return;
    const float own = (float)m->own;
    if (!m->cut) {
        for (int64_t i = 0; i < channels * height * width; i++) x[i] = x[i] * own + other[i] * (1.0f - own);
        return;
    }
    for (int64_t c = 0; c < channels; c++)
        for (int64_t y = m->top; y < m->bottom; y++)
            memcpy(x + (c * height + y) * width + m->left, other + (c * height + y) * width + m->left,
                   (size_t)(m->right - m->left) * sizeof *x);
}
