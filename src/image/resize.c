/* Resizing by convolution, as Pillow does it: along rows and along columns, rounded to bytes in between. The
 * filter's support grows with the scale, so that every pixel of the box counts. Weights are computed in double and kept
 * with 22 bits behind the point.
 *
 * Along rows, a strip of rows is transposed, so that both ways are the same weighted sums of runs of bytes. */
#include "base/checked.h"
#include "image/image.h"
#include "kernel/isa.h"

#include <math.h>

#define WEIGHT_ONE  4194304.0 /* 2^22 */
#define STRIP_BYTES 96        /* in a column of a strip, at least: its rows times channels */
#define STRIP_ROWS  64
#define LARGE       (1 << 16) /* bytes of a result worth several threads */

/* ---- filters ---- */

static double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

static double bilinear(double x) {
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double hamming(double x) {
    x = fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x *= M_PI;
    return sin(x) / x * ((double)0.54f + (double)0.46f * cos(x)); /* floats, as Pillow has them */
}

/* Keys 1981, a = -1/2 */
static double bicubic(double x) {
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
}

static double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= M_PI;
    return sin(x) / x;
}

static double lanczos(double x) { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

static const struct {
    const char *name;
    double support;
    double (*at)(double x);
} filters[] = {
    [HEED_FILTER_NEAREST] = {"nearest", 0, NULL},
    [HEED_FILTER_LANCZOS] = {"lanczos", 3, lanczos},
    [HEED_FILTER_BILINEAR] = {"bilinear", 1, bilinear},
    [HEED_FILTER_BICUBIC] = {"bicubic", 2, bicubic},
    [HEED_FILTER_BOX] = {"box", 0.5, box},
    [HEED_FILTER_HAMMING] = {"hamming", 1, hamming},
};
enum { FILTERS = sizeof filters / sizeof *filters };

bool heed_filter_find(const char *name, heed_filter *filter) {
    for (int i = 0; name && i < FILTERS; i++)
        if (strcmp(filters[i].name, name) == 0) {
            *filter = (heed_filter)i;
            return true;
        }
    return false;
}

const char *heed_filter_name(heed_filter filter) { return (unsigned)filter < FILTERS ? filters[filter].name : "?"; }

/* ---- weights ---- */

/* Result i is taken from `taps` places from first[i] on, taps <= most; their weights are k[i most] on. */
struct weights {
    int64_t n, most;
    int64_t *first, *taps;
    int32_t *k;
};

static void free_weights(heed_ctx *cx, struct weights *w) {
    heed_mem_free(cx, w->first);
    heed_mem_free(cx, w->taps);
    heed_mem_free(cx, w->k);
}

static void weigh(const struct weights *w, int64_t i, int64_t size, double centre, double support, double narrow,
                  double (*filter)(double), double *k) {
    double sum = 0;
    int64_t from = (int64_t)(centre - support + 0.5), to = (int64_t)(centre + support + 0.5);
    if (from < 0) from = 0;
    if (to > size) to = size;
    for (int64_t x = from; x < to; x++) {
        k[x - from] = filter(((double)x - centre + 0.5) * narrow);
        sum += k[x - from];
    }
    for (int64_t j = 0; j < to - from; j++) {
        const double share = sum != 0.0 ? k[j] / sum : k[j];
        w->k[i * w->most + j] = (int32_t)((share < 0 ? -0.5 : 0.5) + share * WEIGHT_ONE);
    }
    w->first[i] = from;
    w->taps[i] = to - from;
}

/* `size` pixels, of which low to high become n. */
static bool make_weights(heed_ctx *cx, int64_t size, float low, float high, int64_t n, heed_filter filter,
                         struct weights *w) {
    const double scale = (double)(high - low) / (double)n, wide = scale < 1.0 ? 1.0 : scale;
    const double support = filters[filter].support * wide, narrow = 1.0 / wide;
    *w = (struct weights){.n = n, .most = (int64_t)ceil(support) * 2 + 1};
    size_t bytes;
    if (!size_mul((size_t)n * sizeof(int32_t), (size_t)w->most, &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "image_resize: the sizes are out of range");
    double *k = heed_mem_new(cx, (size_t)w->most * sizeof *k);
    w->k = heed_mem_new(cx, bytes);
    w->first = heed_mem_new(cx, (size_t)n * sizeof *w->first);
    w->taps = heed_mem_new(cx, (size_t)n * sizeof *w->taps);
    for (int64_t i = 0; i < n && !heed_failed(cx); i++)
        weigh(w, i, size, (double)low + ((double)i + 0.5) * scale, support, narrow, filters[filter].at, k);
    heed_mem_free(cx, k);
    return !heed_failed(cx);
}

/* ---- the two passes ---- */

struct pass {
    const heed_image *in;
    heed_image *out;
    const struct weights *w;
    int64_t top;   /* row of `in` that is row 0 of out, along rows */
    int64_t strip; /* rows in a task */
};

/* Without a transposed copy: for pictures too wide for one. */
static void row_alone(const struct pass *p, int64_t y) {
    const int channels = p->in->channels;
    const uint8_t *in = image_row(p->in, p->top + y);
    for (int64_t x = 0; x < p->out->width; x++)
        for (int c = 0; c < channels; c++) {
            const int32_t *k = p->w->k + x * p->w->most;
            int32_t sum = 1 << 21;
            for (int64_t t = 0; t < p->w->taps[x]; t++) sum += k[t] * in[(p->w->first[x] + t) * channels + c];
            image_row(p->out, y)[x * channels + c] = clip_byte(sum >> 22);
        }
}

static size_t strip_bytes(const struct pass *p, int64_t rows) {
    return (size_t)(p->in->width + p->out->width) * (size_t)p->in->channels * (size_t)rows;
}

static void along_rows(void *arg, int64_t task, void *scratch) {
    const struct pass *p = arg;
    const struct isa *isa = isa_get();
    const int64_t y = task * p->strip, left = p->out->height - y, rows = left < p->strip ? left : p->strip;
    const int64_t channels = p->in->channels, wide = p->in->width * channels, narrow = p->out->width * channels;
    if (!scratch || strip_bytes(p, p->strip) > HEED_SCRATCH) {
        for (int64_t r = 0; r < rows; r++) row_alone(p, y + r);
        return;
    }
    uint8_t *across = scratch, *made = across + wide * rows;
    isa->transpose_bytes(across, rows, image_row(p->in, p->top + y), wide, rows, wide);
    for (int64_t x = 0; x < p->out->width; x++)
        isa->combine_bytes(made + x * channels * rows, across + p->w->first[x] * channels * rows, channels * rows,
                           p->w->k + x * p->w->most, p->w->taps[x], channels * rows);
    isa->transpose_bytes(image_row(p->out, y), narrow, made, rows, narrow, rows);
}

static void along_columns(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct pass *p = arg;
    const int64_t bytes = p->in->width * p->in->channels, end = (task + 1) * p->strip;
    for (int64_t y = task * p->strip; y < end && y < p->out->height; y++)
        isa_get()->combine_bytes(image_row(p->out, y), image_row(p->in, p->w->first[y] - p->top), bytes,
                                 p->w->k + y * p->w->most, p->w->taps[y], bytes);
}

static void run(heed_ctx *cx, struct pass *p, heed_task_fn fn) {
    heed_parallel(cx, (p->out->height - 1) / p->strip + 1, fn, p);
}

static bool resize_rows(heed_ctx *cx, const heed_image *in, int64_t width, int64_t top, int64_t rows,
                        const struct weights *w, heed_image *out) {
    if (!heed_image_new(cx, width, rows, in->channels, out)) return false;
    struct pass p = {in, out, w, top, STRIP_ROWS};
    while (p.strip / 2 * in->channels >= STRIP_BYTES && strip_bytes(&p, p.strip) > HEED_SCRATCH / 4) p.strip /= 2;
    run(cx, &p, along_rows);
    return true;
}

static bool resize_columns(heed_ctx *cx, const heed_image *in, int64_t height, int64_t top, const struct weights *w,
                           heed_image *out) {
    if (!heed_image_new(cx, in->width, height, in->channels, out)) return false;
    struct pass p = {in, out, w, top, 1 + LARGE / (in->width * in->channels)};
    run(cx, &p, along_columns);
    return true;
}

/* Which way comes first changes the rounding. Rows do, but (from Pillow 13 on) not where the height shrinks by more
 * than twice as many pixels as the width. */
static bool columns_first(const heed_image *image, int64_t width, int64_t height) {
    return height < image->height && image->height - height > 2 * (image->width - width);
}

static bool both_ways(heed_ctx *cx, const heed_image *image, const struct weights *across, const struct weights *down,
                      heed_image *out) {
    heed_image half = {0};
    const int64_t first = down->first[0], last = down->first[down->n - 1] + down->taps[down->n - 1];
    const bool ok = columns_first(image, across->n, down->n)
                        ? resize_columns(cx, image, down->n, 0, down, &half) &&
                              resize_rows(cx, &half, across->n, 0, down->n, across, out)
                        : resize_rows(cx, image, across->n, first, last - first, across, &half) &&
                              resize_columns(cx, &half, down->n, first, down, out);
    heed_image_free(cx, &half);
    return ok;
}

static bool convolve(heed_ctx *cx, const heed_image *image, int64_t width, int64_t height, heed_filter filter,
                     const heed_box *b, heed_image *out) {
    const bool rows = width != image->width || b->left != 0 || b->right != (float)width;
    const bool columns = height != image->height || b->top != 0 || b->bottom != (float)height;
    struct weights across = {0}, down = {0};
    bool ok = (!rows || make_weights(cx, image->width, b->left, b->right, width, filter, &across)) &&
              (!columns || make_weights(cx, image->height, b->top, b->bottom, height, filter, &down));
    if (ok && rows && columns)
        ok = both_ways(cx, image, &across, &down, out);
    else if (ok && rows)
        ok = resize_rows(cx, image, width, 0, height, &across, out);
    else if (ok)
        ok = columns ? resize_columns(cx, image, height, 0, &down, out) : heed_image_copy(cx, image, out);
    free_weights(cx, &across);
    free_weights(cx, &down);
    return ok;
}

/* ---- the nearest pixel ---- */

static bool nearest(heed_ctx *cx, const heed_image *image, int64_t width, int64_t height, const heed_box *b,
                    heed_image *out) {
    const double dx = (double)(b->right - b->left) / (double)width, dy = (double)(b->bottom - b->top) / (double)height;
    const size_t pixel = (size_t)image->channels;
    int64_t *from = heed_mem_new(cx, (size_t)width * sizeof *from);
    const bool ok = from && heed_image_new(cx, width, height, image->channels, out);
    double at = (double)b->left + dx * 0.5; /* added up, as Pillow does */
    for (int64_t x = 0; ok && x < width; x++, at += dx) from[x] = at < (double)image->width ? (int64_t)at : -1;
    at = (double)b->top + dy * 0.5;
    for (int64_t y = 0; ok && y < height; y++, at += dy) {
        const bool inside = at < (double)image->height;
        const uint8_t *in = inside ? image_row(image, (int64_t)at) : NULL;
        uint8_t *row = image_row(out, y);
        for (int64_t x = 0; x < width; x++)
            if (inside && from[x] >= 0)
                memcpy(row + (size_t)x * pixel, in + (size_t)from[x] * pixel, pixel);
            else
                memset(row + (size_t)x * pixel, 0, pixel);
    }
    heed_mem_free(cx, from);
    return ok;
}

/* ---- alpha ---- colours count as much as they are seen */

static bool with_alpha(heed_ctx *cx, const heed_image *image, int64_t width, int64_t height, heed_filter filter,
                       const heed_box *b, heed_image *out) {
    heed_image seen;
    const int n = image->channels, a = n - 1;
    if (!heed_image_copy(cx, image, &seen)) return false;
    for (uint8_t *p = seen.data, *end = p + image_bytes(&seen); p < end; p += n)
        for (int c = 0; c < a; c++) p[c] = scale_byte(p[c], p[a]);
    const bool ok = convolve(cx, &seen, width, height, filter, b, out);
    heed_image_free(cx, &seen);
    for (uint8_t *p = ok ? out->data : NULL, *end = ok ? p + image_bytes(out) : NULL; p < end; p += n)
        for (int c = 0; c < a && p[a] != 0 && p[a] != 255; c++) p[c] = clip_byte(255 * p[c] / p[a]);
    return ok;
}

bool heed_image_resize(heed_ctx *cx, const heed_image *image, int64_t width, int64_t height, heed_filter filter,
                       const heed_box *box_, heed_image *out) {
    image_none(out);
    if (!image_check(cx, "image_resize", image)) return false;
    const heed_box all = {0, 0, (float)image->width, (float)image->height}, *b = box_ ? box_ : &all;
    if ((unsigned)filter >= FILTERS || !out || width < 1 || height < 1 || width > IMAGE_MAX_SIDE ||
        height > IMAGE_MAX_SIDE)
        return heed_fail(cx, HEED_ERR_RANGE, "image_resize: to %lld x %lld by filter %d: out of range",
                         (long long)width, (long long)height, (int)filter);
    if (!(b->left >= 0 && b->top >= 0 && b->right > b->left && b->bottom > b->top && b->right <= all.right &&
          b->bottom <= all.bottom))
        return heed_fail(cx, HEED_ERR_RANGE, "image_resize: the box is empty, or not within the picture of %lld x %lld",
                         (long long)image->width, (long long)image->height);
    if (width == image->width && height == image->height && memcmp(b, &all, sizeof all) == 0)
        return heed_image_copy(cx, image, out);
    if (filter == HEED_FILTER_NEAREST) return nearest(cx, image, width, height, b, out);
    return (image->channels % 2 == 0 ? with_alpha : convolve)(cx, image, width, height, filter, b, out);
}
