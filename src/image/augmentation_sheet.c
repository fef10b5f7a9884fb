/* A sheet of augmentations: each kind that a record has, alone, in a row of its own. */
#include "heed/augment.h"
#include "image/image.h"

enum { KINDS = 5, GAP = 4 };

/* What is of kind k of `a` alone; false: it has none. */
static bool only(const heed_augment *a, int k, heed_augment *out) {
    *out = (heed_augment){.filter = a->filter, .rand_kind = a->rand_kind};
    memcpy(out->fill, a->fill, sizeof a->fill);
    switch (k) {
    case 0:
        out->area_low = a->area_low, out->area_high = a->area_high;
        out->aspect_low = a->aspect_low, out->aspect_high = a->aspect_high;
        return a->area_high > 0;
    case 1:
        out->padding = a->padding, out->padding_kind = a->padding_kind;
        return a->padding > 0;
    case 2:
        out->flip = a->flip, out->flip_vertical = a->flip_vertical;
        return a->flip > 0 || a->flip_vertical > 0;
    case 3:
        out->rand_operations = a->rand_operations, out->rand_magnitude = a->rand_magnitude;
        out->rand_std = a->rand_std;
        return a->rand_operations > 0;
    default:
        out->brightness = a->brightness, out->contrast = a->contrast, out->saturation = a->saturation,
        out->hue = a->hue;
        return a->brightness > 0 || a->contrast > 0 || a->saturation > 0 || a->hue > 0;
    }
}

/* Erasing and cutout as grey, which is about what the mean of a data set is. */
static void erase_bytes(const heed_augment *a, heed_image *p, float *x, uint64_t seed, int64_t epoch) {
    const heed_augment plain = {.erase = a->erase,
                                .erase_low = a->erase_low,
                                .erase_high = a->erase_high,
                                .erase_aspect = a->erase_aspect,
                                .cutout = a->cutout};
    const int64_t n = p->width * p->height;
    for (int64_t i = 0; i < n; i++) x[i] = 1.0f;
    heed_floats_erase(&plain, x, 1, p->height, p->width, seed, epoch, 0);
    for (int64_t i = 0; i < n * p->channels; i++)
        if (x[i / p->channels] == 0.0f) p->data[i] = 127;
}

static bool fill_row(heed_ctx *cx, const heed_augment *a, const heed_image *image, int64_t w, int64_t h,
                     int64_t columns, uint64_t seed, float *erased, heed_image *row) {
    for (int64_t i = 0; i < columns; i++) {
        const heed_augment none = {.filter = a->filter};
        if (!heed_image_augment(cx, i == 0 || erased ? &none : a, image, w, h, seed, i, 0, &row[i])) return false;
        if (i > 0 && erased) erase_bytes(a, &row[i], erased, seed, i);
    }
    return true;
}

bool heed_augment_sheet(heed_ctx *cx, const heed_augment *a, const heed_image *image, int64_t width, int64_t height,
                        int64_t columns, uint64_t seed, heed_image *out) {
    if (!heed_augment_check(cx, a) || !image_check(cx, "augment_sheet", image)) return false;
    if (columns < 2 || columns > 1000 || width < 1 || height < 1)
        return heed_fail(cx, HEED_ERR_RANGE, "augment_sheet: %lld columns: should be 2 to 1000", (long long)columns);
    const size_t room = (size_t)((KINDS + 1) * columns) * sizeof(heed_image);
    heed_image *cells = heed_mem_new(cx, room);
    float *erased = heed_mem_new(cx, (size_t)width * (size_t)height * sizeof *erased);
    bool ok = cells && erased;
    int64_t rows = 0;
    if (cells) memset(cells, 0, room);
    for (int k = 0; ok && k < KINDS; k++) {
        heed_augment one;
        if (!only(a, k, &one)) continue;
        ok = fill_row(cx, &one, image, width, height, columns, seed, NULL, cells + rows++ * columns);
    }
    if (ok && (a->erase > 0 || a->cutout > 0))
        ok = fill_row(cx, a, image, width, height, columns, seed, erased, cells + rows++ * columns);
    if (ok && rows == 0) ok = heed_fail(cx, HEED_ERR_USAGE, "augment_sheet: the record has no augmentation");
    ok = ok && heed_image_grid(cx, cells, rows * columns, columns, GAP, out);
    for (int64_t i = 0; cells && i < (KINDS + 1) * columns; i++) heed_image_free(cx, &cells[i]);
    heed_mem_free(cx, cells);
    heed_mem_free(cx, erased);
    return ok;
}
