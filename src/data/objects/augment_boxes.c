/* Augmentation of pictures with objects: flips, crops and scales move the boxes along. What is drawn comes from a
 * stream of (epoch, row); colours are changed as heed_image_augment changes them. */
#include "data/objects/object_set.h"
#include "heed/augment.h"

#include <math.h>
#include <string.h>

#define STREAMS ((uint64_t)3 << 60) /* apart from those of heed_image_augment and of the generators */
enum { TRIES = 10 };

static bool is_share(double v) { return v >= 0.0 && v <= 1.0; }

static heed_augment colours_of(const heed_object_augment *a) {
    return (heed_augment){
        .brightness = a->brightness, .contrast = a->contrast, .saturation = a->saturation, .hue = a->hue};
}

bool heed_object_augment_check(heed_ctx *cx, const heed_object_augment *a) {
    if (heed_failed(cx)) return false;
    if (!a) return heed_fail(cx, HEED_ERR_USAGE, "object_augment: no record is given");
    if (!is_share(a->flip) || !is_share(a->crop) || !is_share(a->crop_low) || !is_share(a->keep))
        return heed_fail(cx, HEED_ERR_RANGE, "object_augment: a probability or share is not within 0 and 1");
    if (!(a->scale_low >= 0 && a->scale_low <= a->scale_high && a->scale_high <= 100) ||
        (a->scale_high > 0 && !(a->scale_low >= 0.01)))
        return heed_fail(cx, HEED_ERR_RANGE, "object_augment: the scale is %g to %g, within 0.01 and 100 it can be",
                         a->scale_low, a->scale_high);
    const heed_augment colours = colours_of(a);
    return heed_augment_check(cx, &colours);
}

/* ---- what moves ---- */

/* A part of a picture, drawn elsewhere: x becomes (x - left) scale_x, and what is outside of width x height is cut off.
 */
struct move {
    double left, top, scale_x, scale_y, width, height;
};

static void flip(double box[4], double width) { box[0] = width - box[0] - box[2]; }

/* false: too little of the object stays. */
static bool moved(const struct move *m, double keep, heed_object *o) {
    double *const box = o->box;
    const double scale = m->scale_x * m->scale_y, before = box[2] * box[3] * scale;
    box[0] = (box[0] - m->left) * m->scale_x;
    box[1] = (box[1] - m->top) * m->scale_y;
    box[2] *= m->scale_x;
    box[3] *= m->scale_y;
    if (!object_clip(box, m->width, m->height)) return false;
    const double share = box[2] * box[3] / before;
    o->area *= scale * (share < 1 ? share : 1);
    return share >= keep;
}

static int64_t count_stays(const struct move *m, double keep, const heed_object *objects, int64_t n) {
    int64_t stay = 0;
    for (int64_t i = 0; i < n; i++) {
        heed_object o = objects[i];
        if (moved(m, keep, &o) && !o.crowd) stay++;
    }
    return stay;
}

static void move_all(const struct move *m, double keep, heed_object *objects, int64_t *n) {
    int64_t stay = 0;
    for (int64_t i = 0; i < *n; i++) {
        objects[stay] = objects[i];
        if (moved(m, keep, &objects[stay])) stay++;
    }
    *n = stay;
}

/* ---- pixels ---- */

static bool replace(heed_ctx *cx, heed_image *picture, heed_image *by, bool ok) {
    if (!ok) return false;
    heed_image_free(cx, picture);
    *picture = *by;
    return true;
}

static void mean_colour(const heed_image *p, uint8_t out[3]) {
    uint64_t sum[3] = {0};
    const int64_t n = p->width * p->height;
    for (int64_t i = 0; i < 3 * n; i++) sum[i % 3] += p->data[i];
    for (int c = 0; c < 3; c++) out[c] = (uint8_t)((sum[c] + (uint64_t)n / 2) / (uint64_t)n);
}

static double within(struct draws *d, double low, double high) { return low + (high - low) * (double)draw(d, 0, 1); }

static bool crop(heed_ctx *cx, const heed_object_augment *a, double keep, struct draws *d, heed_image *p,
                 heed_object *objects, int64_t *n) {
    const double low = a->crop_low > 0 ? a->crop_low : 0.5;
    for (int i = 0; i < TRIES; i++) {
        const int64_t w = (int64_t)fmax(1, rint((double)p->width * within(d, low, 1)));
        const int64_t h = (int64_t)fmax(1, rint((double)p->height * within(d, low, 1)));
        const int64_t left = draw_index(d, (int)(p->width - w) + 1), top = draw_index(d, (int)(p->height - h) + 1);
        const struct move m = {(double)left, (double)top, 1, 1, (double)w, (double)h};
        if (*n > 0 && count_stays(&m, keep, objects, *n) == 0) continue;
        heed_image part;
        move_all(&m, keep, objects, n);
        return replace(cx, p, &part, heed_image_crop(cx, p, left, top, w, h, NULL, &part));
    }
    return true;
}

/* What is drawn larger is cropped first, so that only what stays is resized. */
static bool scale(heed_ctx *cx, const heed_object_augment *a, double keep, struct draws *d, heed_image *p,
                  heed_object *objects, int64_t *n) {
    const int64_t width = p->width, height = p->height;
    for (int i = 0; i < TRIES; i++) {
        const double by = within(d, a->scale_low, a->scale_high), share = by < 1 ? by : 1 / by;
        const int64_t w = (int64_t)fmax(1, rint((double)width * share)),
                      h = (int64_t)fmax(1, rint((double)height * share));
        const int64_t left = draw_index(d, (int)(width - w) + 1), top = draw_index(d, (int)(height - h) + 1);
        struct move m = {(double)left,  (double)top,   (double)width / (double)w, (double)height / (double)h,
                         (double)width, (double)height};
        if (by < 1) {
            m.scale_x = 1 / m.scale_x;
            m.scale_y = 1 / m.scale_y;
            m.left = -(double)left / m.scale_x;
            m.top = -(double)top / m.scale_y;
        }
        if (*n > 0 && count_stays(&m, keep, objects, *n) == 0) continue;
        heed_image part, whole = {0};
        uint8_t fill[3];
        move_all(&m, keep, objects, n);
        bool ok = by < 1 ? heed_image_resize(cx, p, w, h, HEED_FILTER_BILINEAR, NULL, &part)
                         : heed_image_crop(cx, p, left, top, w, h, NULL, &part);
        if (!ok) return false;
        mean_colour(&part, fill);
        ok = by < 1 ? heed_image_crop(cx, &part, -left, -top, width, height, fill, &whole)
                    : heed_image_resize(cx, &part, width, height, HEED_FILTER_BILINEAR, NULL, &whole);
        heed_image_free(cx, &part);
        return replace(cx, p, &whole, ok);
    }
    return true;
}

bool heed_object_augment_apply(heed_ctx *cx, const heed_object_augment *a, heed_image *picture, heed_object *objects,
                               int64_t *n, uint64_t seed, int64_t epoch, int64_t row) {
    if (!heed_object_augment_check(cx, a)) return false;
    if (!picture || !picture->data || picture->channels != 3 || !n || *n < 0 || (*n > 0 && !objects))
        return heed_fail(cx, HEED_ERR_USAGE, "object_augment: an RGB picture and a list of objects are needed");
    struct draws d = {.seed = seed, .stream = STREAMS + ((uint64_t)epoch << 40 ^ (uint64_t)row)};
    const double keep = a->keep > 0 ? a->keep : 0.3;
    const bool flips = within(&d, 0, 1) < a->flip, crops = within(&d, 0, 1) < a->crop;
    if (flips) {
        heed_image_flip(picture, true, false);
        for (int64_t i = 0; i < *n; i++) flip(objects[i].box, (double)picture->width);
    }
    if (crops && !crop(cx, a, keep, &d, picture, objects, n)) return false;
    if (a->scale_high > 0 && !scale(cx, a, keep, &d, picture, objects, n)) return false;
    const heed_augment colours = colours_of(a);
    heed_image coloured;
    if (a->brightness == 0 && a->contrast == 0 && a->saturation == 0 && a->hue == 0) return true;
    return replace(
        cx, picture, &coloured,
        heed_image_augment(cx, &colours, picture, picture->width, picture->height, seed, epoch, row, &coloured));
}
