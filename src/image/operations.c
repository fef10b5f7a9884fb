/* The operations of RandAugment and of colour jitter that change colours: tables of 256 values, and blends with a
 * poorer picture, with the roundings of Pillow's ImageOps and ImageEnhance. Alpha stays. */
#include "heed/augment.h"
#include "image/image.h"

#include <math.h>

static int colours_of(const heed_image *p) { return p->channels > 2 ? 3 : 1; }

/* ---- tables ---- one for each colour */

static bool look_up(heed_image *p, uint8_t table[3][256]) {
    const int colours = colours_of(p), n = p->channels;
    for (uint8_t *at = p->data, *end = at + image_bytes(p); at < end; at += n)
        for (int c = 0; c < colours; c++) at[c] = table[c][at[c]];
    return true;
}

static void count(const heed_image *p, int colour, int64_t histogram[256]) {
    memset(histogram, 0, 256 * sizeof *histogram);
    for (const uint8_t *at = p->data + colour, *end = p->data + image_bytes(p); at < end; at += p->channels)
        histogram[*at]++;
}

bool heed_image_autocontrast(heed_ctx *cx, heed_image *p) {
    uint8_t table[3][256];
    if (!image_check(cx, "autocontrast", p)) return false;
    for (int c = 0; c < colours_of(p); c++) {
        int64_t histogram[256];
        int low = 0, high = 255;
        count(p, c, histogram);
        while (low < 255 && !histogram[low]) low++;
        while (high > 0 && !histogram[high]) high--;
        const double scale = high > low ? 255.0 / (high - low) : 1.0, offset = high > low ? -low * scale : 0.0;
        for (int v = 0; v < 256; v++) table[c][v] = high > low ? clip_byte((int)(v * scale + offset)) : (uint8_t)v;
    }
    return look_up(p, table);
}

bool heed_image_equalize(heed_ctx *cx, heed_image *p) {
    uint8_t table[3][256];
    if (!image_check(cx, "equalize", p)) return false;
    for (int c = 0; c < colours_of(p); c++) {
        int64_t histogram[256], all = 0, last = 0, kinds = 0;
        count(p, c, histogram);
        for (int v = 0; v < 256; v++)
            if (histogram[v]) all += histogram[v], last = histogram[v], kinds++;
        const int64_t step = kinds > 1 ? (all - last) / 255 : 0;
        int64_t n = step / 2;
        for (int v = 0; v < 256; n += histogram[v++])
            table[c][v] = clip_byte((int)(step ? (n / step > 255 ? 255 : n / step) : v));
    }
    return look_up(p, table);
}

static bool same_table(heed_image *p, const uint8_t one[256]) {
    uint8_t table[3][256];
    for (int c = 0; c < 3; c++) memcpy(table[c], one, 256);
    return look_up(p, table);
}

bool heed_image_solarize(heed_ctx *cx, heed_image *p, int threshold) {
    uint8_t table[256];
    if (!image_check(cx, "solarize", p)) return false;
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)(v < threshold ? v : 255 - v);
    return same_table(p, table);
}

bool heed_image_invert(heed_ctx *cx, heed_image *p) { return heed_image_solarize(cx, p, 0); }

bool heed_image_solarize_add(heed_ctx *cx, heed_image *p, int add, int threshold) {
    uint8_t table[256];
    if (!image_check(cx, "solarize_add", p)) return false;
    for (int v = 0; v < 256; v++) table[v] = v < threshold ? clip_byte(v + add) : (uint8_t)v;
    return same_table(p, table);
}

bool heed_image_posterize(heed_ctx *cx, heed_image *p, int bits) {
    uint8_t table[256];
    if (!image_check(cx, "posterize", p)) return false;
    if (bits < 0 || bits > 8) return heed_fail(cx, HEED_ERR_RANGE, "posterize: %d bits, not 0 to 8", bits);
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)(v & ~((1 << (8 - bits)) - 1));
    return same_table(p, table);
}

/* ---- blends ---- poor + factor (p - poor), in float; cut to a byte */

static uint8_t blend(int poor, int rich, float factor) {
    const float v = (float)poor + factor * (float)(rich - poor);
    return v <= 0.0f ? 0 : v >= 255.0f ? 255 : (uint8_t)v;
}

bool heed_image_color(heed_ctx *cx, heed_image *p, double factor) {
    if (!image_check(cx, "color", p)) return false;
    if (p->channels < 3 || factor == 1.0) return true;
    for (uint8_t *at = p->data, *end = at + image_bytes(p); at < end; at += p->channels) {
        const uint8_t grey = luma(at);
        for (int c = 0; c < 3; c++) at[c] = blend(grey, at[c], (float)factor);
    }
    return true;
}

bool heed_image_contrast(heed_ctx *cx, heed_image *p, double factor) {
    if (!image_check(cx, "contrast", p)) return false;
    int64_t sum = 0;
    for (const uint8_t *at = p->data, *end = at + image_bytes(p); at < end; at += p->channels)
        sum += p->channels > 2 ? luma(at) : *at;
    const int mean = (int)((double)sum / (double)(p->width * p->height) + 0.5);
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = factor == 1.0 ? (uint8_t)v : blend(mean, v, (float)factor);
    return same_table(p, table);
}

bool heed_image_brightness(heed_ctx *cx, heed_image *p, double factor) {
    if (!image_check(cx, "brightness", p)) return false;
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = factor == 1.0 ? (uint8_t)v : blend(0, v, (float)factor);
    return same_table(p, table);
}

/* Smoothed by 1 1 1, 1 5 1, 1 1 1, over 13; the edge is left as it is. */
bool heed_image_sharpness(heed_ctx *cx, heed_image *p, double factor) {
    heed_image in;
    if (!image_check(cx, "sharpness", p)) return false;
    if (factor == 1.0) return true;
    if (!heed_image_copy(cx, p, &in)) return false;
    const float one = 1.0f / 13, five = 5.0f / 13;
    const int n = p->channels;
    for (int64_t y = 1; y + 1 < p->height; y++) {
        const uint8_t *rows[3] = {image_row(&in, y + 1), image_row(&in, y), image_row(&in, y - 1)};
        for (int64_t x = 1; x + 1 < p->width; x++)
            for (int c = 0; c < colours_of(p); c++) {
                const int64_t at = x * n + c;
                float sum = 0.5f;
                for (int r = 0; r < 3; r++)
                    sum += (float)rows[r][at - n] * one + (float)rows[r][at] * (r == 1 ? five : one) +
                           (float)rows[r][at + n] * one;
                image_row(p, y)[at] = blend(sum >= 255.0f ? 255 : (uint8_t)sum, rows[1][at], (float)factor);
            }
    }
    heed_image_free(cx, &in);
    return true;
}

/* ---- hue ---- by way of HSV of a byte each */

static void to_hsv(const uint8_t *in, uint8_t out[3]) {
    const int r = in[0], g = in[1], b = in[2], high = r > g ? (r > b ? r : b) : (g > b ? g : b);
    const int low = r < g ? (r < b ? r : b) : (g < b ? g : b);
    out[0] = out[1] = 0;
    out[2] = (uint8_t)high;
    if (low == high) return;
    const float range = (float)(high - low), s = range / (float)high;
    const float rc = (float)(high - r) / range, gc = (float)(high - g) / range, bc = (float)(high - b) / range;
    const float h = r == high   ? bc - gc
                    : g == high ? (float)(2.0 + (double)rc - (double)bc)
                                : (float)(4.0 + (double)gc - (double)rc);
    const float turn = (float)fmod((double)h / 6.0 + 1.0, 1.0);
    out[0] = clip_byte((int)((double)turn * 255.0));
    out[1] = clip_byte((int)((double)s * 255.0));
}

static void to_rgb(const uint8_t in[3], uint8_t *out) {
    const int v = in[2];
    out[0] = out[1] = out[2] = (uint8_t)v;
    if (in[1] == 0) return;
    const float h = (float)(in[0] * 6.0 / 255.0), s = (float)(in[1] / 255.0);
    const int i = (int)floor((double)h);
    const float f = h - (float)i;
    const uint8_t p = clip_byte((int)round(v * (1.0 - (double)s)));
    const uint8_t q = clip_byte((int)round(v * (1.0 - (double)(s * f))));
    const uint8_t t = clip_byte((int)round(v * (1.0 - (double)s * (1.0 - (double)f))));
    const uint8_t all[6][3] = {{(uint8_t)v, t, p}, {q, (uint8_t)v, p}, {p, (uint8_t)v, t},
                               {p, q, (uint8_t)v}, {t, p, (uint8_t)v}, {(uint8_t)v, p, q}};
    memcpy(out, all[i % 6], 3);
}

bool heed_image_hue(heed_ctx *cx, heed_image *p, double turn) {
    if (!image_check(cx, "hue", p)) return false;
    if (!(turn >= -0.5 && turn <= 0.5))
        return heed_fail(cx, HEED_ERR_RANGE, "hue: %g is not within -0.5 and 0.5", turn);
    if (p->channels < 3) return true;
    const uint8_t by = (uint8_t)(int)(turn * 255);
    for (uint8_t *at = p->data, *end = at + image_bytes(p); at < end; at += p->channels) {
        uint8_t hsv[3];
        to_hsv(at, hsv);
        hsv[0] = (uint8_t)(hsv[0] + by);
        to_rgb(hsv, at);
    }
    return true;
}

/* ---- turning ---- */

static double rounded(double v) { return rint(v * 1e15) / 1e15; } /* to 15 places, as Pillow does */

bool heed_image_rotate(heed_ctx *cx, const heed_image *p, double degrees, heed_filter filter, const uint8_t *fill,
                       heed_image *out) {
    if (!image_check(cx, "rotate", p)) return false;
    double angle = fmod(degrees, 360.0);
    if (angle < 0) angle += 360.0;
    if (angle == 0.0) return heed_image_copy(cx, p, out);
    if (angle == 180.0) return heed_image_orient(cx, p, 3, out);
    if (p->width == p->height && (angle == 90.0 || angle == 270.0))
        return heed_image_orient(cx, p, angle == 90.0 ? 8 : 6, out);
    const double a = -(angle * (M_PI / 180.0)), x = (double)p->width / 2.0, y = (double)p->height / 2.0;
    double m[6] = {rounded(cos(a)), rounded(sin(a)), 0, rounded(-sin(a)), rounded(cos(a)), 0};
    m[2] = m[0] * -x + m[1] * -y + x;
    m[5] = m[3] * -x + m[4] * -y + y;
    return heed_image_affine(cx, p, m, filter, fill, out);
}
