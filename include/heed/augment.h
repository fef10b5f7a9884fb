/* heed/augment.h: pictures changed at random while a model learns. Each augmentation is a field of one record; what is
 * 0 is not done. What is drawn is a function of (seed, epoch, row) alone. The operations give the bytes that Pillow
 * gives, as torchvision and timm use it. */
#ifndef HEED_AUGMENT_H
#define HEED_AUGMENT_H

#include "heed/image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- operations ---- in place; each of RandAugment (Cubuk et al. 2020) and of colour jitter */

HEED_API bool heed_image_autocontrast(heed_ctx *cx, heed_image *image);
HEED_API bool heed_image_equalize(heed_ctx *cx, heed_image *image);
HEED_API bool heed_image_invert(heed_ctx *cx, heed_image *image);
HEED_API bool heed_image_solarize(heed_ctx *cx, heed_image *image, int threshold);              /* inverts from it on */
HEED_API bool heed_image_solarize_add(heed_ctx *cx, heed_image *image, int add, int threshold); /* adds below it */
HEED_API bool heed_image_posterize(heed_ctx *cx, heed_image *image, int bits);                  /* keeps so many */
/* 1 leaves the picture, 0 gives grey, the mean grey, black, or a smoothed one; more than 1 goes the other way. */
HEED_API bool heed_image_color(heed_ctx *cx, heed_image *image, double factor);
HEED_API bool heed_image_contrast(heed_ctx *cx, heed_image *image, double factor);
HEED_API bool heed_image_brightness(heed_ctx *cx, heed_image *image, double factor);
HEED_API bool heed_image_sharpness(heed_ctx *cx, heed_image *image, double factor);
HEED_API bool heed_image_hue(heed_ctx *cx, heed_image *image, double turn); /* of RGB: -0.5 to 0.5 of the circle */
/* Counter-clockwise around the centre. */
HEED_API bool heed_image_rotate(heed_ctx *cx, const heed_image *image, double degrees, heed_filter filter,
                                const uint8_t *fill, heed_image *out);

/* ---- RandAugment, one operation at a time ---- */

typedef enum heed_rand_kind {
    HEED_RAND_TORCHVISION, /* 14 operations, magnitude 0 to 30, nearest pixels, black outside */
    HEED_RAND_TIMM,        /* 15 of timm's increasing ones, each with probability 1/2, magnitude 0 to 10, bilinear or
                            * bicubic by chance, `fill` outside */
} heed_rand_kind;

/* How many operations there are, and their names: those of torchvision or timm. */
HEED_API int heed_rand_count(heed_rand_kind kind);
HEED_API const char *heed_rand_name(heed_rand_kind kind, int operation); /* NULL: there is none */
/* One of them in place: torchvision's with the magnitudes of its 31 bins. negative: the other direction, where there
 * is one. filter and fill: of what is moved; torchvision's is the nearest pixel and black, unless asked. */
HEED_API bool heed_rand_apply(heed_ctx *cx, heed_rand_kind kind, int operation, double magnitude, bool negative,
                              heed_filter filter, const uint8_t *fill, heed_image *image);

/* ---- the record ---- */

typedef struct heed_augment {
    /* Random resized crop (Szegedy et al. 2015): a share of the area, low to high, of an aspect low to high (0: 3/4 and
     * 4/3), resized to the size that is wanted. */
    double area_low, area_high, aspect_low, aspect_high;
    heed_filter filter;
    /* Padding, then a crop of the size that is wanted at a random place. */
    int64_t padding;
    heed_padding padding_kind;
    double flip, flip_vertical; /* probabilities */
    /* RandAugment: so many operations, each at this magnitude; timm's varies by a normal deviation */
    int rand_operations;
    heed_rand_kind rand_kind;
    double rand_magnitude, rand_std;
    uint8_t fill[4];
    /* Colour jitter: factors within 1 - x to 1 + x, hue within -x to x, in random order */
    double brightness, contrast, saturation, hue;
    /* Random erasing (Zhong et al. 2020), of the floats: probability, share of the area (0: 0.02 to 1/3) and aspect (0:
     * 0.3 to 1/0.3); to 0, or to normal noise */
    double erase, erase_low, erase_high, erase_aspect;
    bool erase_noise;
    int64_t cutout; /* side of the square that is 0 (DeVries & Taylor 2017), its centre anywhere */
    /* mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019) with another row: parameters of the beta distribution, the
     * probability of either, and that of CutMix where both are given (0: 1/2) */
    double mixup, cutmix, mix, mix_cut;
} heed_augment;

/* Whether all of it makes sense. */
HEED_API bool heed_augment_check(heed_ctx *cx, const heed_augment *a);
/* All that works on bytes: width x height pixels come out, whether or not anything is cropped at random. */
HEED_API bool heed_image_augment(heed_ctx *cx, const heed_augment *a, const heed_image *image, int64_t width,
                                 int64_t height, uint64_t seed, int64_t epoch, int64_t row, heed_image *out);
/* Erasing and cutout, in place: x is (channels, height, width). */
HEED_API void heed_floats_erase(const heed_augment *a, float *x, int64_t channels, int64_t height, int64_t width,
                                uint64_t seed, int64_t epoch, int64_t row);
/* What is mixed into row `row` of n: another row, drawn by chance, and the share of it that is the row's own: the
 * target is own * one_hot(row) + (1 - own) * one_hot(other). own 1: nothing. With CutMix, the box of the other picture
 * that is pasted, own being what is left of the area. */
typedef struct heed_mix {
    int64_t other;
    double own;
    bool cut;
    int64_t left, top, right, bottom;
} heed_mix;
HEED_API heed_mix heed_mix_draw(const heed_augment *a, int64_t n, int64_t height, int64_t width, uint64_t seed,
                                int64_t epoch, int64_t row);
HEED_API void heed_mix_floats(const heed_mix *m, float *x, const float *other, int64_t channels, int64_t height,
                              int64_t width);

/* A sheet that shows them: the picture first, then each kind that `a` has, alone, `columns` times with different draws;
 * kinds are rows. */
HEED_API bool heed_augment_sheet(heed_ctx *cx, const heed_augment *a, const heed_image *image, int64_t width,
                                 int64_t height, int64_t columns, uint64_t seed, heed_image *out);

#ifdef __cplusplus
}
#endif
#endif
