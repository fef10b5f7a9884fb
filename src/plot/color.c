/* Themes, palettes and colour maps. The maps are paths through OKLab (Ottosson 2020), in which equal distances look
 * equal: lightness runs straight from end to end, so that a map also reads in grey and to the colour-blind. */
#include "plot/color.h"

#include <math.h>

#define RGB(hex)                                                                                                       \
    { ((hex) >> 16 & 255) / 255.0, ((hex) >> 8 & 255) / 255.0, ((hex)&255) / 255.0 }

static const struct theme themes[] = {
    [HEED_THEME_LIGHT] = {.background = RGB(0xFFFFFF),
                          .ink = RGB(0x24272D),
                          .soft = RGB(0x565C66),
                          .axis = RGB(0x8A9099),
                          .grid = RGB(0xE9EBEE),
                          .palette = {RGB(0x2350B0), RGB(0xE58A1C), RGB(0x008961), RGB(0xCB52A3), RGB(0x4FBBEF),
                                      RGB(0x962A1F), RGB(0xC2BB1A), RGB(0x4D2F66)}},
    [HEED_THEME_DARK] = {.dark = true,
                         .background = RGB(0x16191E),
                         .ink = RGB(0xE8EAED),
                         .soft = RGB(0xB0B6BF),
                         .axis = RGB(0x757C87),
                         .grid = RGB(0x2A2E36),
                         .palette = {RGB(0x4A98FF), RGB(0xEDA24A), RGB(0x2CDDA6), RGB(0xE765B0), RGB(0xAAD6F7),
                                     RGB(0xDB4F1E), RGB(0xE0DD55), RGB(0x9D60D4)}},
};

const struct theme *theme_of(heed_theme theme) { return &themes[theme == HEED_THEME_DARK]; }

struct rgb theme_color(const struct theme *t, heed_color color) {
    if (color == HEED_COLOR_INK) return t->ink;
    if (color == HEED_COLOR_GREY) return t->axis;
    return t->palette[(color - HEED_COLOR_BLUE) & (PALETTE - 1)];
}

static double gamma_coded(double linear) {
    const double v = linear < 0 ? 0 : linear > 1 ? 1 : linear;
    return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

/* OKLab in polar form (lightness, chroma, hue in degrees) to sRGB. */
static struct rgb oklch(double lightness, double chroma, double hue) {
    const double angle = hue * 3.14159265358979323846 / 180, a = chroma * cos(angle), b = chroma * sin(angle);
    const double l0 = lightness + 0.3963377774 * a + 0.2158037573 * b;
    const double m0 = lightness - 0.1055613458 * a - 0.0638541728 * b;
    const double s0 = lightness - 0.0894841775 * a - 1.2914855480 * b;
    const double l = l0 * l0 * l0, m = m0 * m0 * m0, s = s0 * s0 * s0;
    return (struct rgb){gamma_coded(+4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                        gamma_coded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                        gamma_coded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

struct rgb mix(struct rgb a, struct rgb b, double t) {
    return (struct rgb){a.r + t * (b.r - a.r), a.g + t * (b.g - a.g), a.b + t * (b.b - a.b)};
}

struct rgb class_color(const struct theme *t, int class) {
    static const struct rgb white = {1, 1, 1}, black = {0, 0, 0};
    const struct rgb c = t->palette[class % PALETTE];
    const int round = class / PALETTE % 3;
    return round == 0 ? c : mix(c, round == 1 ? white : black, 0.4);
}

/* Violet, blue, teal, green, yellow. The chroma stays within what sRGB can show along the way: teal has least. */
static struct rgb sequential(double t) {
    static const double chroma[] = {0.110, 0.138, 0.138, 0.102, 0.092, 0.098, 0.116, 0.148, 0.178, 0.184, 0.180};
    const int k = t < 1 ? (int)(t * 10) : 9;
    return oklch(0.22 + 0.72 * t, chroma[k] + (t * 10 - k) * (chroma[k + 1] - chroma[k]), 300 - 195 * t);
}

/* s in [-1, 1]. The middle is the background's tone: what is near zero does not stand out on either theme. */
static struct rgb diverging(double s, bool dark) {
    const double size = fabs(s), hue = s < 0 ? 255 : 28;
    const double chroma = (s < 0 ? 0.150 : 0.175) * pow(size, 0.8);
    return dark ? oklch(0.24 + 0.48 * size, 0.9 * chroma, hue) : oklch(0.975 - 0.50 * size, chroma, hue);
}

struct rgb map_color(heed_map map, const struct theme *theme, double t) {
    t = t > 0 ? t < 1 ? t : 1 : 0;
    switch (map) {
    case HEED_MAP_DIVERGING:
        return diverging(2 * t - 1, theme->dark);
    case HEED_MAP_GREY:
        return (struct rgb){t, t, t};
    case HEED_MAP_INK:
        return mix(mix(theme->background, theme->ink, 0.04), theme->ink, t);
    case HEED_MAP_SEQUENTIAL:
        break;
    }
    return sequential(t);
}

struct rgb readable_on(struct rgb c) {
    const double brightness = 0.30 * c.r + 0.59 * c.g + 0.11 * c.b;
    return brightness > 0.55 ? (struct rgb){0.08, 0.08, 0.10} : (struct rgb){0.97, 0.97, 0.97};
}

struct rgb missing_color(const struct theme *theme) {
    return mix(theme->background, theme->axis, 0.35);
}

struct range map_scale(heed_map map, double low, double high, const float *values, int64_t n) {
    if (low != 0 || high != 0) return (struct range){low, high};
    struct range r = range_none();
    for (int64_t i = 0; i < n; i++) range_add(&r, (double)values[i], false);
    if (map == HEED_MAP_DIVERGING && !range_empty(r)) { /* 0 in the middle */
        const double size = fmax(fabs(r.low), fabs(r.high));
        return size > 0 ? (struct range){-size, size} : (struct range){-1, 1};
    }
    return range_axis(r, 0, false);
}

bool map_check(heed_ctx *cx, const char *op, heed_map map, double low, double high) {
    if ((unsigned)map > HEED_MAP_INK) return heed_fail(cx, HEED_ERR_USAGE, "%s: no colour map %d", op, (int)map);
    if (!isfinite(low) || !isfinite(high) || (low >= high && (low != 0 || high != 0)))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: a scale from %g to %g: the first must be the smaller", op, low, high);
    return true;
}
