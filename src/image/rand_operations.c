/* The operations of RandAugment (Cubuk et al. 2020), each at a magnitude, as torchvision and as timm have them. The two
 * differ in what a magnitude means, in which way a picture goes, and in that torchvision computes magnitudes in float.
 */
#include "heed/augment.h"
#include "image/image.h"

#include <math.h>

enum operation {
    IDENTITY,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    ROTATE,
    BRIGHTNESS,
    COLOR,
    CONTRAST,
    SHARPNESS,
    POSTERIZE,
    SOLARIZE,
    AUTOCONTRAST,
    EQUALIZE,
    INVERT,
    SOLARIZE_ADD,
};

struct named {
    enum operation op;
    const char *name;
};

static const struct named torchvision[] = {
    {IDENTITY, "Identity"},         {SHEAR_X, "ShearX"},      {SHEAR_Y, "ShearY"},        {TRANSLATE_X, "TranslateX"},
    {TRANSLATE_Y, "TranslateY"},    {ROTATE, "Rotate"},       {BRIGHTNESS, "Brightness"}, {COLOR, "Color"},
    {CONTRAST, "Contrast"},         {SHARPNESS, "Sharpness"}, {POSTERIZE, "Posterize"},   {SOLARIZE, "Solarize"},
    {AUTOCONTRAST, "AutoContrast"}, {EQUALIZE, "Equalize"}};

static const struct named timm[] = {{AUTOCONTRAST, "AutoContrast"},
                                    {EQUALIZE, "Equalize"},
                                    {INVERT, "Invert"},
                                    {ROTATE, "Rotate"},
                                    {POSTERIZE, "PosterizeIncreasing"},
                                    {SOLARIZE, "SolarizeIncreasing"},
                                    {SOLARIZE_ADD, "SolarizeAdd"},
                                    {COLOR, "ColorIncreasing"},
                                    {CONTRAST, "ContrastIncreasing"},
                                    {BRIGHTNESS, "BrightnessIncreasing"},
                                    {SHARPNESS, "SharpnessIncreasing"},
                                    {SHEAR_X, "ShearX"},
                                    {SHEAR_Y, "ShearY"},
                                    {TRANSLATE_X, "TranslateXRel"},
                                    {TRANSLATE_Y, "TranslateYRel"}};

int heed_rand_count(heed_rand_kind kind) {
    return (int)(kind == HEED_RAND_TIMM ? sizeof timm / sizeof *timm : sizeof torchvision / sizeof *torchvision);
}

const char *heed_rand_name(heed_rand_kind kind, int operation) {
    if (operation < 0 || operation >= heed_rand_count(kind)) return NULL;
    return (kind == HEED_RAND_TIMM ? timm : torchvision)[operation].name;
}

/* ---- what a magnitude means ---- */

struct amount {
    double shear, across, down; /* entries of the map from where a pixel goes to where it comes from */
    double degrees, enhance;
    int bits, threshold, add;
};

/* torch.linspace(low, high, 31)[m], in float as it computes it: from the nearer end, with a fused multiply-add. */
static double bin(double low, double high, double m) {
    const float step = ((float)high - (float)low) / 30.0f;
    return (double)(m < 15.0 ? (float)((double)(float)low + (double)step * m)
                             : (float)((double)(float)high - (double)step * (30.0 - m)));
}

static struct amount amount_torchvision(double m, double sign, const heed_image *p) {
    const double most = 150.0 / 331.0, straight = 180.0 / M_PI; /* shears go to degrees and back */
    return (struct amount){.shear = tan(atan(sign * bin(0, 0.3, m)) * straight * (M_PI / 180.0)),
                           .across = -trunc(sign * bin(0, most * (double)p->width, m)),
                           .down = -trunc(sign * bin(0, most * (double)p->height, m)),
                           .degrees = sign * bin(0, 30, m),
                           .enhance = 1.0 + sign * bin(0, 0.9, m),
                           .bits = 8 - (int)rint(m / 7.5),
                           .threshold = (int)ceil(bin(255, 0, m))};
}

static struct amount amount_timm(double m, double sign, const heed_image *p) {
    const double share = m / 10.0, most = sign * (share * 0.45);
    return (struct amount){.shear = sign * (share * 0.3),
                           .across = most * (double)p->width,
                           .down = most * (double)p->height,
                           .degrees = sign * (share * 30.0),
                           .enhance = fmax(0.1, 1.0 + sign * (share * 0.9)),
                           .bits = 4 - (int)(share * 4.0),
                           .threshold = 256 - (int)(share * 256.0),
                           .add = (int)(share * 110.0)};
}

/* ---- applying ---- */

static bool replace(heed_ctx *cx, heed_image *p, bool ok, const heed_image *by) {
    if (!ok) return false;
    heed_image_free(cx, p);
    *p = *by;
    return true;
}

static bool map(heed_ctx *cx, const double m[6], heed_filter filter, const uint8_t *fill, heed_image *p) {
    heed_image out;
    const bool ok = heed_image_affine(cx, p, m, filter, fill, &out);
    return replace(cx, p, ok, &out);
}

static bool turn(heed_ctx *cx, double degrees, heed_filter filter, const uint8_t *fill, heed_image *p) {
    heed_image out;
    const bool ok = heed_image_rotate(cx, p, degrees, filter, fill, &out);
    return replace(cx, p, ok, &out);
}

bool heed_rand_apply(heed_ctx *cx, heed_rand_kind kind, int operation, double magnitude, bool negative,
                     heed_filter filter, const uint8_t *fill, heed_image *p) {
    const double most = kind == HEED_RAND_TIMM ? 10 : 30;
    if (!image_check(cx, "rand_apply", p)) return false;
    if (operation < 0 || operation >= heed_rand_count(kind))
        return heed_fail(cx, HEED_ERR_RANGE, "rand_apply: there is no operation %d", operation);
    if (!(magnitude >= 0 && magnitude <= most))
        return heed_fail(cx, HEED_ERR_RANGE, "rand_apply: magnitude %g is not within 0 and %g", magnitude, most);
    const struct amount a =
        (kind == HEED_RAND_TIMM ? amount_timm : amount_torchvision)(magnitude, negative ? -1 : 1, p);
    switch ((kind == HEED_RAND_TIMM ? timm : torchvision)[operation].op) {
    case SHEAR_X:
        return map(cx, (double[]){1, a.shear, 0, 0, 1, 0}, filter, fill, p);
    case SHEAR_Y:
        return map(cx, (double[]){1, 0, 0, a.shear, 1, 0}, filter, fill, p);
    case TRANSLATE_X:
        return map(cx, (double[]){1, 0, a.across, 0, 1, 0}, filter, fill, p);
    case TRANSLATE_Y:
        return map(cx, (double[]){1, 0, 0, 0, 1, a.down}, filter, fill, p);
    case ROTATE:
        return turn(cx, a.degrees, filter, fill, p);
    case BRIGHTNESS:
        return heed_image_brightness(cx, p, a.enhance);
    case COLOR:
        return heed_image_color(cx, p, a.enhance);
    case CONTRAST:
        return heed_image_contrast(cx, p, a.enhance);
    case SHARPNESS:
        return heed_image_sharpness(cx, p, a.enhance);
    case POSTERIZE:
        return heed_image_posterize(cx, p, a.bits);
    case SOLARIZE:
        return heed_image_solarize(cx, p, a.threshold);
    case AUTOCONTRAST:
        return heed_image_autocontrast(cx, p);
    case EQUALIZE:
        return heed_image_equalize(cx, p);
    case INVERT:
        return heed_image_invert(cx, p);
    case SOLARIZE_ADD:
        return heed_image_solarize_add(cx, p, a.add, 128);
    case IDENTITY:
        return true;
    }
    return true;
}
