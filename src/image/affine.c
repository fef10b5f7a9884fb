/* Affine maps of pictures, as Pillow's transform does them: by the nearest pixel, in fixed point; bilinear and bicubic
 * (a = -1), in double and cut to bytes. */
#include "image/image.h"

#include <math.h>

static int64_t clamp(int64_t v, int64_t n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }

/* ---- the nearest ---- */

static int64_t fixed(double v) { return (int64_t)floor(v * 65536.0 + 0.5); }

static void nearest(const heed_image *in, const double m[6], heed_image *out) {
    const size_t pixel = (size_t)in->channels;
    int64_t row_x = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5), row_y = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
    for (int64_t y = 0; y < out->height; y++, row_x += fixed(m[1]), row_y += fixed(m[4])) {
        int64_t at_x = row_x, at_y = row_y;
        uint8_t *to = image_row(out, y);
        for (int64_t x = 0; x < out->width; x++, at_x += fixed(m[0]), at_y += fixed(m[3]), to += pixel) {
            const int64_t from_x = at_x >> 16, from_y = at_y >> 16;
            if (from_x >= 0 && from_x < in->width && from_y >= 0 && from_y < in->height)
                memcpy(to, image_row(in, from_y) + (size_t)from_x * pixel, pixel);
        }
    }
}

/* A map without turning: places are added up in double. */
static void nearest_straight(const heed_image *in, const double m[6], heed_image *out) {
    const size_t pixel = (size_t)in->channels;
    double at_y = m[5] + m[4] * 0.5;
    for (int64_t y = 0; y < out->height; y++, at_y += m[4]) {
        double at_x = m[2] + m[0] * 0.5;
        uint8_t *to = image_row(out, y);
        if (!(at_y >= 0.0 && at_y < (double)in->height)) continue;
        const uint8_t *from = image_row(in, (int64_t)at_y);
        for (int64_t x = 0; x < out->width; x++, at_x += m[0], to += pixel)
            if (at_x >= 0.0 && at_x < (double)in->width) memcpy(to, from + (size_t)(int64_t)at_x * pixel, pixel);
    }
}

/* ---- between pixels ---- (x, y) from the centre of the first pixel */

static double between(double a, double b, double d) { return a + (b - a) * d; }

static void bilinear(const heed_image *in, double x, double y, uint8_t *to) {
    const int64_t left = (int64_t)floor(x), top = (int64_t)floor(y), n = in->channels;
    const double dx = x - (double)left, dy = y - (double)top;
    const uint8_t *upper = image_row(in, clamp(top, in->height));
    const uint8_t *lower = top + 1 >= 0 && top + 1 < in->height ? image_row(in, top + 1) : upper;
    const int64_t a = clamp(left, in->width) * n, b = clamp(left + 1, in->width) * n;
    for (int64_t c = 0; c < n; c++) {
        const double v1 = between(upper[a + c], upper[b + c], dx), v2 = between(lower[a + c], lower[b + c], dx);
        to[c] = (uint8_t)between(v1, v2, dy);
    }
}

static double cubic(const double v[4], double d) {
    const double p1 = v[1], p2 = -v[0] + v[2], p3 = 2 * (v[0] - v[1]) + v[2] - v[3], p4 = -v[0] + v[1] - v[2] + v[3];
    return p1 + d * (p2 + d * (p3 + d * p4));
}

static void bicubic(const heed_image *in, double x, double y, uint8_t *to) {
    const int64_t left = (int64_t)floor(x), top = (int64_t)floor(y), n = in->channels;
    const double dx = x - (double)left, dy = y - (double)top;
    int64_t at[4];
    for (int i = 0; i < 4; i++) at[i] = clamp(left - 1 + i, in->width) * n;
    for (int64_t c = 0; c < n; c++) {
        double column[4];
        for (int i = 0; i < 4; i++) {
            const int64_t row = top - 1 + i;
            if (i > 0 && (row < 0 || row >= in->height)) {
                column[i] = column[i - 1];
                continue;
            }
            const uint8_t *p = image_row(in, clamp(row, in->height)) + c;
            column[i] = cubic((double[]){p[at[0]], p[at[1]], p[at[2]], p[at[3]]}, dx);
        }
        const double v = cubic(column, dy);
        to[c] = v <= 0.0 ? 0 : v >= 255.0 ? 255 : (uint8_t)v;
    }
}

static void interpolate(const heed_image *in, const double m[6], heed_filter filter, heed_image *out) {
    for (int64_t y = 0; y < out->height; y++) {
        uint8_t *to = image_row(out, y);
        for (int64_t x = 0; x < out->width; x++, to += in->channels) {
            const double cx = (double)x + 0.5, cy = (double)y + 0.5;
            const double u = m[0] * cx + m[1] * cy + m[2], v = m[3] * cx + m[4] * cy + m[5];
            if (!(u >= 0.0 && u < (double)in->width && v >= 0.0 && v < (double)in->height)) continue;
            (filter == HEED_FILTER_BILINEAR ? bilinear : bicubic)(in, u - 0.5, v - 0.5, to);
        }
    }
}

bool heed_image_affine(heed_ctx *cx, const heed_image *image, const double m[6], heed_filter filter,
                       const uint8_t *fill, heed_image *out) {
    image_none(out);
    if (!image_check(cx, "image_affine", image)) return false;
    bool sane = m && (filter == HEED_FILTER_NEAREST || filter == HEED_FILTER_BILINEAR || filter == HEED_FILTER_BICUBIC);
    for (int i = 0; sane && i < 6; i++) sane = fabs(m[i]) < (double)IMAGE_MAX_SIDE;
    if (!sane) return heed_fail(cx, HEED_ERR_USAGE, "image_affine: no such filter, or a matrix out of range");
    if (!heed_image_new(cx, image->width, image->height, image->channels, out)) return false;
    const size_t pixel = (size_t)image->channels, bytes = image_bytes(out);
    for (size_t i = 0; i < bytes; i += pixel)
        for (size_t c = 0; c < pixel; c++) out->data[i + c] = fill ? fill[c] : 0;
    if (filter != HEED_FILTER_NEAREST)
        interpolate(image, m, filter, out);
    else if (m[1] == 0.0 && m[3] == 0.0)
        nearest_straight(image, m, out);
    else
        nearest(image, m, out);
    return true;
}
