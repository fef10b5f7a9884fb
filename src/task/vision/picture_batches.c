/* Batches of pictures, part after part of the run, made ahead.
 *
 * Position j of epoch e is picture perm_e[j / r] for the (j % r)-th time: with r repeats (Hoffer et al. 2020) an epoch
 * has as many positions as there are pictures, and sees a part of them r times. */
#include "task/vision/picture_batches.h"
#include "base/ctx.h"
#include "base/profile.h"
#include "task/vision/ahead.h"
#include "task/vision/micro_batches.h"

#include <string.h>

#define LARGE ((size_t)32 << 20) /* bytes that decoding a photograph may take */

struct slot {
    struct picture_part part;
    int64_t *row;
    float *pixels, *altered, *targets; /* altered: the pixels, or others beside them */
    int32_t *label;
};

/* One who makes parts: a worker, or the caller. */
struct maker {
    struct picture_batches *of;
    heed_ctx *cx;
    int64_t *order, epoch; /* of the pictures in that epoch; -1: none yet */
    float *plain, *other;  /* where pictures are mixed: those of the part before it, and one of another part */
};

struct picture_batches {
    struct picture_batches_opts opts;
    heed_image_processor processor;
    heed_augment augment;
    int64_t classes, numbers; /* of a picture */
    struct micro_batches cut;
    int64_t slots;
    bool mixes, dry;
    struct slot *slot;
    struct maker maker[1 + AHEAD_WORKERS]; /* the caller, and workers */
    struct ahead *ahead;
};

static struct micro_batches cut_of(const struct picture_batches_opts *o) {
    return micro_batches_of(o->n, o->batch, o->micro);
}
int64_t picture_batches_per_epoch(const struct picture_batches_opts *o) { return cut_of(o).batches; }
int64_t picture_batches_parts(const struct picture_batches_opts *o) { return cut_of(o).parts; }

/* ---- a picture ---- */

static void order_epoch(struct maker *m, int64_t epoch) {
    const struct picture_batches_opts *o = &m->of->opts;
    if (m->epoch == epoch || (m->epoch >= 0 && !o->shuffle)) return;
    if (o->shuffle)
        heed_random_permutation(o->seed, (uint64_t)epoch, m->order, o->n);
    else
        for (int64_t i = 0; i < o->n; i++) m->order[i] = i;
    m->epoch = epoch;
}

/* The picture at a position of the maker's epoch, and for which time. */
static int64_t row_at(const struct maker *m, int64_t position, int64_t *time) {
    const struct picture_batches_opts *o = &m->of->opts;
    const int64_t at = m->order[position / o->repeats];
    *time = position % o->repeats;
    return o->rows ? o->rows[at] : at;
}

/* As it is measured, before it becomes floats. */
static bool size_picture(heed_ctx *cx, const struct picture_batches *b, const heed_image *from, heed_image *out) {
    const heed_picture_input *in = b->opts.input;
    heed_image made;
    if (!heed_image_processor_picture(cx, &b->processor, from, &made)) return false;
    if (made.width == in->width && made.height == in->height) {
        *out = made;
        return true;
    }
    const bool ok = heed_image_resize(cx, &made, in->width, in->height, b->processor.filter, NULL, out);
    heed_image_free(cx, &made);
    return ok;
}

/* bytes (height, width, channels), augmented */
static bool make_bytes(const struct maker *m, int64_t row, int64_t time, heed_image *out) {
    const struct picture_batches *b = m->of;
    const struct picture_batches_opts *o = &b->opts;
    const heed_picture_input *in = o->input;
    const heed_image *kept = heed_picture_set_kept(o->set, row);
    const bool crops = o->augment && b->augment.area_high > 0, sized = kept && in->kept_sized;
    heed_image read = {0}, whole = {0};
    const heed_image *from = kept ? kept : &read;
    bool ok = kept || heed_picture_set_read(m->cx, o->set, row, in->channels, &read);
    if (ok && !crops && !sized) {
        ok = size_picture(m->cx, b, from, &whole);
        from = &whole;
    }
    if (ok)
        ok = o->augment ? heed_image_augment(m->cx, &b->augment, from, in->width, in->height, o->seed, m->epoch,
                                             row * o->repeats + time, out)
                        : heed_image_copy(m->cx, from, out);
    heed_image_free(m->cx, &read);
    heed_image_free(m->cx, &whole);
    return ok;
}

static bool make_floats(const struct maker *m, int64_t position, float *out, int64_t *row) {
    const struct picture_batches *b = m->of;
    const heed_image_processor *p = &b->processor;
    int64_t time;
    heed_image made;
    *row = row_at(m, position, &time);
    if (!make_bytes(m, *row, time, &made)) return false;
    heed_image_to_floats(&made, p->rescale ? p->scale : 1.0, p->normalize ? p->mean : NULL, p->std, out);
    if (b->opts.augment)
        heed_floats_erase(&b->augment, out, made.channels, made.height, made.width, b->opts.seed, m->epoch,
                          *row * b->opts.repeats + time);
    heed_image_free(m->cx, &made);
    return true;
}

/* ---- a part ---- */

/* What is mixed into picture i of the part, at `position` of the epoch, from the same batch. */
static bool mix(struct maker *m, struct slot *s, int64_t i, int64_t batch_at, int64_t part_at, int64_t batch) {
    const struct picture_batches *b = m->of;
    const heed_picture_input *in = b->opts.input;
    const int32_t *label = heed_picture_set_data(b->opts.set)->label;
    const heed_mix with = heed_mix_draw(&b->augment, batch, in->height, in->width, b->opts.seed, m->epoch, part_at + i);
    const int64_t other = batch_at + with.other - part_at;
    float *const target = s->targets + i * b->classes, *const x = s->pixels + i * b->numbers;
    const float *from = m->plain + other * b->numbers;
    int64_t row = 0, time;
    memcpy(x, m->plain + i * b->numbers, (size_t)b->numbers * sizeof *x);
    memset(target, 0, (size_t)b->classes * sizeof *target);
    target[s->label[i]] = (float)with.own;
    if (with.own >= 1) return true;
    if (other < 0 || other >= s->part.n) { /* it is of another part */
        if (!make_floats(m, batch_at + with.other, m->other, &row)) return false;
        from = m->other;
    } else {
        row = row_at(m, batch_at + with.other, &time);
    }
    target[label[row]] += (float)(1 - with.own);
    heed_mix_floats(&with, x, from, in->channels, in->height, in->width);
    return true;
}

/* About what decoding and augmenting takes, which is the caller's memory where there are no workers. */
static bool plan_work(const struct maker *m) {
    const struct picture_batches *b = m->of;
    if (b->opts.workers > 0) return true;
    void *const some = heed_mem_new(m->cx, heed_picture_set_kept(b->opts.set, 0) ? (size_t)b->numbers * 16 : LARGE);
    heed_mem_free(m->cx, some);
    return some;
}

static bool make_part(heed_ctx *cx, void *own, int maker, int64_t slot, int64_t job) {
    struct picture_batches *const b = own;
    struct maker *const m = &b->maker[maker];
    struct slot *const s = &b->slot[slot];
    const struct micro_batch at = micro_batches_at(&b->cut, job);
    const int32_t *label = heed_picture_set_data(b->opts.set)->label;
    float *const to = b->mixes ? m->plain : s->pixels;
    s->part = (struct picture_part){.n = at.n,
                                    .row = s->row,
                                    .pixels = s->pixels,
                                    .altered = b->opts.both ? s->altered : NULL,
                                    .label = s->label,
                                    .targets = b->mixes ? s->targets : NULL,
                                    .part = at.part,
                                    .parts = at.parts,
                                    .total = at.total};
    m->cx = cx;
    if (b->dry) return plan_work(m);
    order_epoch(m, at.epoch);
    for (int64_t i = 0; i < at.n; i++) {
        if (!make_floats(m, at.at + i, to + i * b->numbers, &s->row[i])) return false;
        s->label[i] = label[s->row[i]];
        if (b->opts.alter)
            b->opts.alter(b->opts.own, at.epoch, s->row[i], to + i * b->numbers, s->altered + i * b->numbers);
    }
    for (int64_t i = 0; b->mixes && i < at.n; i++)
        if (!mix(m, s, i, at.batch_at, at.at, at.total)) return false;
    return true;
}

/* What a maker has of its own, in the caller's memory. */
static bool equip(heed_ctx *cx, struct picture_batches *b, struct maker *m) {
    const int64_t size = b->cut.micro;
    *m = (struct maker){.of = b, .epoch = -1};
    m->order = heed_mem_new(cx, (size_t)b->opts.n * sizeof *m->order);
    if (!b->mixes) return m->order;
    m->plain = heed_mem_new(cx, (size_t)(size * b->numbers) * sizeof *m->plain);
    m->other = heed_mem_new(cx, (size_t)b->numbers * sizeof *m->other);
    return m->order && m->plain && m->other;
}

/* ---- opening and taking ---- */

static bool take_slots(heed_ctx *cx, struct picture_batches *b) {
    const int64_t size = b->cut.micro;
    b->slot = heed_mem_new(cx, (size_t)b->slots * sizeof *b->slot);
    if (!b->slot) return false;
    memset(b->slot, 0, (size_t)b->slots * sizeof *b->slot);
    for (int64_t i = 0; i < b->slots; i++) {
        struct slot *s = &b->slot[i];
        s->row = heed_mem_new(cx, (size_t)size * sizeof *s->row);
        s->label = heed_mem_new(cx, (size_t)size * sizeof *s->label);
        s->pixels = heed_mem_new(cx, (size_t)(size * b->numbers) * sizeof *s->pixels);
        s->altered = b->opts.both ? heed_mem_new(cx, (size_t)(size * b->numbers) * sizeof *s->altered) : s->pixels;
        if (b->mixes) s->targets = heed_mem_new(cx, (size_t)(size * b->classes) * sizeof *s->targets);
    }
    return !heed_failed(cx);
}

static bool opts_ok(heed_ctx *cx, const struct picture_batches_opts *o) {
    if (heed_failed(cx)) return false;
    if (!o->set || !o->input || o->n < 1 || o->batch < 1 || o->repeats < 1 || o->micro < 0 || o->step < 0)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "pictures: data and positive numbers of a batch and of repeats are needed");
    return !o->augment || heed_augment_check(cx, o->augment);
}

struct picture_batches *picture_batches_open(heed_ctx *cx, const struct picture_batches_opts *o) {
    if (!opts_ok(cx, o)) return NULL;
    struct picture_batches *b = heed_mem_new(cx, sizeof *b);
    if (!b) return NULL;
    const heed_picture_input *in = o->input;
    *b = (struct picture_batches){.opts = *o,
                                  .processor = in->processor,
                                  .classes = heed_picture_set_data(o->set)->classes,
                                  .numbers = in->channels * in->height * in->width,
                                  .cut = cut_of(o),
                                  .dry = cx->config.dry};
    if (o->augment) b->augment = *o->augment;
    b->mixes = o->augment && o->augment->mix > 0 && (o->augment->mixup > 0 || o->augment->cutmix > 0);
    const int workers = b->dry ? 0 : o->workers;
    b->slots = ahead_slots(o->workers);
    bool ok = take_slots(cx, b);
    for (int i = 0; ok && i <= (workers < AHEAD_WORKERS ? workers : AHEAD_WORKERS); i++)
        ok = equip(cx, b, &b->maker[i]);
    if (ok)
        b->ahead = ahead_open(
            cx, &(struct ahead_opts){
                    .make = make_part, .own = b, .workers = workers, .first = micro_batches_from(&b->cut, o->step)});
    if (b->ahead && !heed_failed(cx)) return b;
    picture_batches_close(cx, b);
    return NULL;
}

static void free_maker(heed_ctx *cx, struct maker *m) {
    heed_mem_free(cx, m->order);
    heed_mem_free(cx, m->plain);
    heed_mem_free(cx, m->other);
}

void picture_batches_close(heed_ctx *cx, struct picture_batches *b) {
    if (!b) return;
    ahead_close(cx, b->ahead);
    for (int i = 0; i <= AHEAD_WORKERS; i++) free_maker(cx, &b->maker[i]);
    for (int64_t i = 0; b->slot && i < b->slots; i++) {
        struct slot *s = &b->slot[i];
        heed_mem_free(cx, s->row);
        heed_mem_free(cx, s->label);
        if (b->opts.both) heed_mem_free(cx, s->altered);
        heed_mem_free(cx, s->pixels);
        heed_mem_free(cx, s->targets);
    }
    heed_mem_free(cx, b->slot);
    heed_mem_free(cx, b);
}

const struct picture_part *picture_batches_next(heed_ctx *cx, struct picture_batches *b) {
    if (heed_failed(cx)) return NULL;
    const struct profile_mark mark = profile_begin(cx);
    const int64_t at = ahead_next(cx, b->ahead);
    profile_end(cx, mark, "prepare pictures", PROFILE_FORWARD);
    return at < 0 ? NULL : &b->slot[at].part;
}

/* ---- what a checkpoint must agree with ---- */

void picture_batches_name(char text[NOTES_DATA], const heed_picture_set *set, const int64_t *rows, int64_t n) {
    if (!set || *text) return;
    uint64_t hash = heed_picture_set_hash(set);
    if (rows) hash = notes_mix(hash, rows, (size_t)n * sizeof *rows);
    notes_name_data(text, rows ? n : heed_picture_set_data(set)->n, "pictures", hash);
}
