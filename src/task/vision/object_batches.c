/* Batches of pictures with objects, part after part of the run, made ahead. Pictures of several sizes are padded to the
 * largest of their part. Of a set that is drawn each epoch has pictures of its own. */
#include "task/vision/object_batches.h"
#include "base/ctx.h"
#include "base/profile.h"
#include "task/vision/ahead.h"
#include "task/vision/micro_batches.h"
#include <math.h>
#include <string.h>

#define NOISE_SEED 0xA0761D6478BD642Fu /* noise and augmentation draw from different numbers */
#define LARGE      ((size_t)32 << 20)  /* bytes that decoding a photograph may take */

/* Room that grows; memory of the slot's context. */
struct room {
    void *at;
    size_t size;
};

struct slot {
    heed_ctx *cx; /* the caller's, or one of its own: workers fill one slot after the other */
    struct object_part part;
    int64_t *order, epoch; /* of the pictures in that epoch; -1: none yet */
    struct room pixels, mask, rows, sizes, counts, labels, boxes, noised_labels, noised_boxes;
};

struct object_batches {
    struct object_batches_opts opts;
    heed_object_augment augment;
    struct micro_batches cut;
    int64_t slots;
    bool dry;
    struct slot *slot;
    struct ahead *ahead;
};

static struct micro_batches cut_of(const struct object_batches_opts *o) {
    return micro_batches_of(o->n, o->batch, o->micro);
}
int64_t object_batches_per_epoch(const struct object_batches_opts *o) { return cut_of(o).batches; }
int64_t object_batches_parts(const struct object_batches_opts *o) { return cut_of(o).parts; }

/* Zeroed room for n things of `size` bytes. */
static void *take_room(struct slot *s, struct room *r, int64_t n, size_t size) {
    const size_t bytes = (size_t)(n > 0 ? n : 1) * size;
    if (r->size < bytes) {
        heed_mem_free(s->cx, r->at);
        r->at = heed_mem_new(s->cx, bytes);
        r->size = r->at ? bytes : 0;
    }
    if (r->at && !s->cx->config.dry) memset(r->at, 0, bytes);
    return r->at;
}

/* ---- a picture ---- */

struct example {
    heed_image picture; /* as the model gets it, in bytes */
    heed_object *object;
    int64_t n, size[2], resized[2]; /* height, width: as it was read; when its objects were found */
};

static void free_example(heed_ctx *cx, struct example *e) {
    heed_image_free(cx, &e->picture);
    heed_mem_free(cx, e->object);
    *e = (struct example){.n = 0};
}

/* Crowds are left out of training. */
static int64_t without_crowds(heed_object *o, int64_t n) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (!o[i].crowd) o[kept++] = o[i];
    return kept;
}

static bool make_example(heed_ctx *cx, const struct object_batches *b, int64_t row, int64_t epoch, struct example *e) {
    const struct object_batches_opts *const o = &b->opts;
    heed_image read = {0};
    if (!heed_object_set_read(cx, o->set, row, &read, &e->object, &e->n)) return false;
    e->size[0] = read.height, e->size[1] = read.width;
    e->n = without_crowds(e->object, e->n);
    bool ok = !o->augment || heed_object_augment_apply(cx, &b->augment, &read, e->object, &e->n, o->seed, epoch, row);
    e->resized[0] = read.height, e->resized[1] = read.width;
    ok = ok && heed_image_processor_picture(cx, o->processor, &read, &e->picture);
    heed_image_free(cx, &read);
    return ok;
}

/* ---- noise ---- */

struct draws {
    uint64_t seed, stream, at;
};
static double chance(struct draws *d) { return heed_random_bits(d->seed, d->stream, d->at++) * 0x1p-32; } /* [0, 1) */

static void disturb(const struct object_noise *noise, int64_t classes, const float box[4], int32_t label,
                    struct draws *d, float *to, int32_t *to_label) {
    const double sides[] = {(double)box[2] / 2, (double)box[3] / 2, (double)box[2], (double)box[3]};
    for (int k = 0; k < 4; k++) {
        const double x = (double)box[k] + (2 * chance(d) - 1) * noise->box * sides[k];
        to[k] = (float)fmin(1, fmax(0, x));
    }
    const double flips = chance(d), other = chance(d);
    *to_label = flips < noise->label ? (int32_t)(other * (double)classes) : label;
}

static void add_noise(const struct object_batches *b, struct slot *s, int64_t i, int64_t row) {
    const struct object_noise *const noise = &b->opts.noise;
    const int64_t most = s->part.most;
    struct draws d = {b->opts.seed ^ NOISE_SEED, (uint64_t)s->epoch << 40 ^ (uint64_t)row, 0};
    for (int64_t g = 0; g < noise->groups; g++)
        for (int64_t k = 0; k < most; k++) {
            const int64_t at = (i * noise->groups + g) * most + k;
            int32_t *const label = (int32_t *)s->noised_labels.at + at;
            *label = -1;
            if (k < s->part.objects[i])
                disturb(noise, heed_object_set_classes(b->opts.set), s->part.box + (i * most + k) * 4,
                        s->part.label[i * most + k], &d, (float *)s->noised_boxes.at + at * 4, label);
        }
}

/* ---- a part ---- */

/* Room for n pictures of this size with so many objects each. */
static bool size_part(const struct object_batches *b, struct slot *s, bool mask) {
    struct object_part *const p = &s->part;
    const int64_t groups = b->opts.noise.groups, objects = p->n * p->most;
    p->pixels = take_room(s, &s->pixels, p->n * 3 * p->height * p->width, sizeof(float));
    p->mask = mask ? take_room(s, &s->mask, p->n * p->height * p->width, sizeof(int32_t)) : NULL;
    p->row = take_room(s, &s->rows, p->n, sizeof(int64_t));
    p->size = take_room(s, &s->sizes, p->n, sizeof *p->size);
    p->objects = take_room(s, &s->counts, p->n, sizeof(int64_t));
    p->label = take_room(s, &s->labels, objects, sizeof(int32_t));
    p->box = take_room(s, &s->boxes, objects, 4 * sizeof(float));
    p->noised_label = groups > 0 ? take_room(s, &s->noised_labels, objects * groups, sizeof(int32_t)) : NULL;
    p->noised_box = groups > 0 ? take_room(s, &s->noised_boxes, objects * groups, 4 * sizeof(float)) : NULL;
    return !heed_failed(s->cx);
}

/* (3, height, width) floats of a smaller picture, at the upper left. */
static bool put_padded(const heed_image_processor *p, const heed_image *picture, struct slot *s, int64_t i) {
    const int64_t H = s->part.height, W = s->part.width, h = picture->height, w = picture->width;
    float *const to = (float *)s->pixels.at + i * 3 * H * W;
    const double scale = p->rescale ? p->scale : 1.0;
    const float *const mean = p->normalize ? p->mean : NULL;
    if (h == H && w == W) {
        heed_image_to_floats(picture, scale, mean, p->std, to);
    } else {
        float *const own = heed_mem_new(s->cx, (size_t)(3 * h * w) * sizeof *own);
        if (!own) return false;
        heed_image_to_floats(picture, scale, mean, p->std, own);
        for (int64_t y = 0; y < 3 * h; y++) memcpy(to + (y / h * H + y % h) * W, own + y * w, (size_t)w * sizeof *own);
        heed_mem_free(s->cx, own);
    }
    int32_t *const mask = s->part.mask ? (int32_t *)s->mask.at + i * H * W : NULL;
    for (int64_t y = 0; mask && y < h; y++)
        for (int64_t x = 0; x < w; x++) mask[y * W + x] = 1;
    return true;
}

static void put_objects(const struct object_batches *b, struct slot *s, int64_t i, const struct example *e) {
    const struct object_part *const p = &s->part;
    const bool padded = b->opts.padded_boxes;
    const double across = (padded ? (double)e->picture.width / (double)p->width : 1) / (double)e->resized[1],
                 down = (padded ? (double)e->picture.height / (double)p->height : 1) / (double)e->resized[0];
    ((int64_t *)s->counts.at)[i] = e->n;
    for (int k = 0; k < 2; k++) ((int64_t *)s->sizes.at)[2 * i + k] = e->size[k];
    for (int64_t k = 0; k < e->n; k++) {
        const double *const box = e->object[k].box;
        float *const to = (float *)s->boxes.at + (i * p->most + k) * 4;
        to[0] = (float)((box[0] + box[2] / 2) * across);
        to[1] = (float)((box[1] + box[3] / 2) * down);
        to[2] = (float)(box[2] * across);
        to[3] = (float)(box[3] * down);
        ((int32_t *)s->labels.at)[i * p->most + k] = e->object[k].label;
    }
}

static bool fill(const struct object_batches *b, struct slot *s, struct example *e, const int64_t *row) {
    struct object_part *const p = &s->part;
    bool same = true;
    p->most = 1;
    for (int64_t i = 0; i < p->n; i++) {
        const heed_image *const picture = &e[i].picture;
        same &= picture->height == e[0].picture.height && picture->width == e[0].picture.width;
        if (picture->height > p->height) p->height = picture->height;
        if (picture->width > p->width) p->width = picture->width;
        if (e[i].n > p->most) p->most = e[i].n;
    }
    if (!size_part(b, s, b->opts.masks && !same)) return false;
    for (int64_t i = 0; i < p->n; i++) {
        ((int64_t *)s->rows.at)[i] = row[i];
        if (!put_padded(b->opts.processor, &e[i].picture, s, i)) return false;
        put_objects(b, s, i, &e[i]);
        if (b->opts.noise.groups > 0) add_noise(b, s, i, row[i]);
    }
    return true;
}

static void order_epoch(const struct object_batches *b, struct slot *s, int64_t epoch) {
    const struct object_batches_opts *const o = &b->opts;
    const bool shuffle = o->shuffle && !heed_object_set_endless(o->set);
    if (s->epoch == epoch || (s->epoch >= 0 && !shuffle)) {
        s->epoch = epoch;
        return;
    }
    if (shuffle)
        heed_random_permutation(o->seed, (uint64_t)epoch, s->order, o->n);
    else
        for (int64_t i = 0; i < o->n; i++) s->order[i] = i;
    s->epoch = epoch;
}

/* The picture at a position of the slot's epoch. What is drawn to learn from is drawn anew for every epoch. */
static int64_t row_at(const struct object_batches *b, const struct slot *s, int64_t position) {
    const struct object_batches_opts *const o = &b->opts;
    const int64_t at = s->order[position];
    if (o->rows) return o->rows[at];
    return o->shuffle && heed_object_set_endless(o->set) ? s->epoch * o->n + at : at;
}

/* The largest part that there may be. */
static bool plan_part(const struct object_batches *b, struct slot *s) {
    s->part.height = b->opts.height;
    s->part.width = b->opts.width;
    s->part.most = b->opts.objects > 0 ? b->opts.objects : 1;
    if (!size_part(b, s, b->opts.masks && !heed_object_set_endless(b->opts.set))) return false;
    void *const some = b->opts.workers > 0 ? NULL : heed_mem_new(s->cx, LARGE);
    heed_mem_free(s->cx, some);
    return !heed_failed(s->cx);
}

static bool make_in(const struct object_batches *b, struct slot *s, int64_t job) {
    const struct micro_batch at = micro_batches_at(&b->cut, job);
    const int64_t n = at.n;
    s->part = (struct object_part){.n = n, .part = at.part, .parts = at.parts, .total = at.total};
    if (b->dry) return plan_part(b, s);
    order_epoch(b, s, at.epoch);
    struct example *const e = heed_mem_new(s->cx, (size_t)n * sizeof *e);
    int64_t *const row = heed_mem_new(s->cx, (size_t)n * sizeof *row);
    if (e) memset(e, 0, (size_t)n * sizeof *e);
    bool ok = e && row;
    for (int64_t i = 0; ok && i < n; i++)
        ok = make_example(s->cx, b, row[i] = row_at(b, s, at.at + i), s->epoch, &e[i]);
    ok = ok && fill(b, s, e, row);
    for (int64_t i = 0; e && i < n; i++) free_example(s->cx, &e[i]);
    heed_mem_free(s->cx, e);
    heed_mem_free(s->cx, row);
    return ok;
}

static bool make_part(heed_ctx *cx, void *own, int maker, int64_t slot, int64_t job) {
    struct object_batches *const b = own;
    struct slot *const s = &b->slot[slot];
    (void)maker;
    if (make_in(b, s, job)) return true;
    if (s->cx != cx) {
        heed_fail(cx, heed_error(s->cx), "%s", heed_message(s->cx));
        heed_clear(s->cx);
    }
    return false;
}

/* ---- opening and taking ---- */

static bool take_slots(heed_ctx *cx, struct object_batches *b) {
    b->slot = heed_mem_new(cx, (size_t)b->slots * sizeof *b->slot);
    if (!b->slot) return false;
    memset(b->slot, 0, (size_t)b->slots * sizeof *b->slot);
    for (int64_t i = 0; i < b->slots; i++) {
        struct slot *const s = &b->slot[i];
        s->epoch = -1;
        s->cx = b->slots == 1 || b->dry ? cx : heed_open(&(heed_config){.threads = 1, .seed = heed_seed(cx)});
        if (!s->cx) return heed_fail(cx, HEED_ERR_MEMORY, "pictures: out of memory");
        s->order = heed_mem_new(cx, (size_t)b->opts.n * sizeof *s->order);
    }
    return !heed_failed(cx);
}

static bool opts_ok(heed_ctx *cx, const struct object_batches_opts *o) {
    if (heed_failed(cx)) return false;
    if (!o->set || !o->processor || o->n < 1 || o->batch < 1 || o->micro < 0 || o->step < 0 || o->noise.groups < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "pictures: data and a positive number of a batch are needed");
    return !o->augment || heed_object_augment_check(cx, o->augment);
}

struct object_batches *object_batches_open(heed_ctx *cx, const struct object_batches_opts *o) {
    if (!opts_ok(cx, o)) return NULL;
    struct object_batches *const b = heed_mem_new(cx, sizeof *b);
    if (!b) return NULL;
    *b = (struct object_batches){.opts = *o, .cut = cut_of(o), .dry = cx->config.dry};
    if (o->augment) b->augment = *o->augment;
    b->slots = ahead_slots(b->dry ? 0 : o->workers);
    if (take_slots(cx, b))
        b->ahead = ahead_open(cx, &(struct ahead_opts){.make = make_part,
                                                       .own = b,
                                                       .workers = b->dry ? 0 : o->workers,
                                                       .first = micro_batches_from(&b->cut, o->step)});
    if (b->ahead && !heed_failed(cx)) return b;
    object_batches_close(cx, b);
    return NULL;
}

static void free_slot(heed_ctx *cx, struct slot *s) {
    struct room *const rooms[] = {&s->pixels, &s->mask,  &s->rows,          &s->sizes,       &s->counts,
                                  &s->labels, &s->boxes, &s->noised_labels, &s->noised_boxes};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) heed_mem_free(s->cx, rooms[i]->at);
    heed_mem_free(cx, s->order);
    if (s->cx != cx) heed_close(s->cx);
}

void object_batches_close(heed_ctx *cx, struct object_batches *b) {
    if (!b) return;
    ahead_close(cx, b->ahead);
    for (int64_t i = 0; b->slot && i < b->slots; i++) free_slot(cx, &b->slot[i]);
    heed_mem_free(cx, b->slot);
    heed_mem_free(cx, b);
}

const struct object_part *object_batches_next(heed_ctx *cx, struct object_batches *b) {
    if (heed_failed(cx)) return NULL;
    const struct profile_mark mark = profile_begin(cx);
    const int64_t at = ahead_next(cx, b->ahead);
    profile_end(cx, mark, "prepare pictures", PROFILE_FORWARD);
    return at < 0 ? NULL : &b->slot[at].part;
}
