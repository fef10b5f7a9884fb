/* Batches, made ahead by a thread.
 *
 * Part number k of all batches (counted from the first) lies in slot k % SLOTS. The caller holds part `held`; the
 * thread may make the parts up to held + SLOTS - 1, so it never touches what the caller reads. It knows neither context
 * nor allocator: all memory is taken when the batches are opened, and nothing in the thread can fail. Where a thread
 * would not pay, the caller makes each part when it asks for it. */
#include "data/batches.h"
#include "base/ctx.h"
#include "base/profile.h"
#include "data/collate.h"
#include "data/data.h"
#include "data/dataset.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define FARTHEST   ((int64_t)1 << 60) /* epoch or batch to begin at: counting on from there never overflows */
#define SLOTS      3
#define WORTHWHILE (1 << 15) /* numbers in a part: waking a thread costs more than making fewer */

struct slot {
    heed_batch batch;
    struct collated room;
};

struct heed_batches {
    heed_dataset own;
    const heed_dataset *set;     /* it */
    const heed_groups *groups;   /* or NULL: */
    int64_t size, n;             /* examples in a batch, in an epoch */
    int64_t per_epoch;           /* batches in an epoch */
    int64_t micro, micro_tokens; /* of a part; both 0: a batch is one */
    int64_t parts;               /* most parts of a batch */
    bool shuffle, largest_first; /* a plan takes the largest groups first */
    uint64_t seed;
    int64_t *rows;  /* the chosen examples, or NULL: all */
    int64_t *order; /* the examples of the current epoch in order, or its groups */
    struct collator collator;
    int64_t epoch, index; /* of the batch to be made next, */
    int64_t part, at;     /* its next part, and the examples before that */
    int64_t total;        /* weight of all its parts */
    bool ordered;         /* `order` is that of `epoch` */
    struct slot slot[SLOTS];
    bool ahead;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t made_one, took_one;
    int64_t made, held; /* under the lock: parts made so far; the one that the caller has */
    bool began;         /* the caller has one */
    atomic_bool stop;
};

/* ---- making ---- */

static void order_epoch(heed_batches *b) {
    const int64_t n = b->groups ? b->groups->n : b->n;
    for (int64_t i = 0; i < n; i++) b->order[i] = b->largest_first ? n - 1 - i : i;
    if (b->shuffle && !b->largest_first)
        heed_random_permutation(b->seed, (uint64_t)b->epoch + (b->groups ? 1 : 0), b->order, n);
    for (int64_t i = 0; b->rows && i < n; i++) b->order[i] = b->rows[b->order[i]];
    b->ordered = true;
}

/* The examples of batch `index` of the current order. */
static const int64_t *rows_of(const heed_batches *b, int64_t index, int64_t *n) {
    if (b->groups) {
        const int64_t group = b->order[index], from = b->groups->start[group];
        *n = b->groups->start[group + 1] - from;
        return b->groups->row + from;
    }
    const int64_t from = index * b->size, left = b->n - from;
    *n = left < b->size ? left : b->size;
    return b->order + from;
}

/* Examples of the part that begins with the first of n rows: as many as fit, at least one. */
static int64_t part_of(const heed_batches *b, const int64_t *row, int64_t n) {
    int64_t widest = 0, held = 0;
    if (b->micro > 0 && b->micro < n) n = b->micro;
    if (b->micro_tokens == 0) return n;
    for (; held < n; held++) {
        const int64_t width = heed_dataset_width(b->set, row[held]);
        if (!group_fits(held, widest, width, b->micro_tokens)) break;
        if (width > widest) widest = width;
    }
    return held;
}

static int64_t parts_of(const heed_batches *b, const int64_t *row, int64_t n) {
    int64_t parts = 0;
    for (int64_t at = 0; at < n; parts++) at += part_of(b, row + at, n - at);
    return parts;
}

/* What the mean loss of a whole batch is a mean of. */
static int64_t weight_of(const heed_batches *b, const int64_t *row, int64_t n, struct slot *s) {
    int64_t total = 0;
    if (!b->set->counts) return n;
    for (int64_t at = 0; at < n;) {
        const int64_t some = part_of(b, row + at, n - at);
        collate(&b->collator, b->epoch, row + at, some, &s->room, &s->batch);
        total += s->batch.weight;
        at += some;
    }
    return total;
}

/* The next part into a slot; then on to the one behind it. */
static void make_part(heed_batches *b, struct slot *s) {
    if (!b->ordered) order_epoch(b);
    int64_t n;
    const int64_t *row = rows_of(b, b->index, &n);
    const int64_t parts = parts_of(b, row, n);
    if (b->part == 0 && parts > 1) b->total = weight_of(b, row, n, s);
    const int64_t some = part_of(b, row + b->at, n - b->at);
    collate(&b->collator, b->epoch, row + b->at, some, &s->room, &s->batch);
    s->batch.total = parts > 1 ? b->total : s->batch.weight;
    s->batch.epoch = b->epoch;
    s->batch.index = b->index;
    s->batch.part = b->part;
    s->batch.parts = parts;
    s->batch.last = b->index + 1 == b->per_epoch;
    b->part++;
    b->at += some;
    if (b->at < n) return;
    b->part = b->at = 0;
    b->index = s->batch.last ? 0 : b->index + 1;
    b->epoch += s->batch.last;
    if (s->batch.last && b->shuffle) b->ordered = false;
}

/* ---- the thread ---- */

static void *make_ahead(void *arg) {
    heed_batches *b = arg;
    pthread_mutex_lock(&b->lock);
    while (true) {
        while (b->made >= b->held + SLOTS && !atomic_load(&b->stop)) pthread_cond_wait(&b->took_one, &b->lock);
        if (atomic_load(&b->stop)) break;
        struct slot *s = &b->slot[b->made % SLOTS];
        pthread_mutex_unlock(&b->lock);
        make_part(b, s);
        pthread_mutex_lock(&b->lock);
        b->made++;
        pthread_cond_signal(&b->made_one);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Signals stay with the threads of the program. */
static bool start_thread(heed_batches *b) {
    sigset_t all, before;
    if (pthread_mutex_init(&b->lock, NULL) != 0) return false;
    if (pthread_cond_init(&b->made_one, NULL) != 0) goto failed_lock;
    if (pthread_cond_init(&b->took_one, NULL) != 0) goto failed_made;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&b->thread, NULL, make_ahead, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) return true;
    pthread_cond_destroy(&b->took_one);
failed_made:
    pthread_cond_destroy(&b->made_one);
failed_lock:
    pthread_mutex_destroy(&b->lock);
    return false;
}

static void stop_thread(heed_batches *b) {
    pthread_mutex_lock(&b->lock);
    atomic_store(&b->stop, true);
    pthread_cond_signal(&b->took_one);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->took_one);
    pthread_cond_destroy(&b->made_one);
    pthread_mutex_destroy(&b->lock);
}

/* ---- opening ---- */

static bool check_mean(heed_ctx *cx, const heed_dataset *set, const heed_batches_opts *o) {
    const int x = heed_dataset_find(set, "x");
    if (!o->mean != !o->std)
        return heed_fail(cx, HEED_ERR_USAGE, "batches: mean and std are given together or not at all");
    if (o->mean && x < 0) return heed_fail(cx, HEED_ERR_USAGE, "batches: there is no column x to standardise");
    for (int64_t j = 0; o->mean && j < column_elements(&set->column[x]); j++)
        if (!isfinite(o->mean[j]) || !isfinite(o->std[j]) || !(o->std[j] > 0.0f))
            return heed_fail(cx, HEED_ERR_RANGE, "batches: column %lld has mean %g and std %g: cannot standardise",
                             (long long)j + 1, (double)o->mean[j], (double)o->std[j]);
    return true;
}

static bool check_opts(heed_ctx *cx, const heed_dataset *set, const heed_batches_opts *o, int64_t *n) {
    if (!dataset_check(cx, "batches", set)) return false;
    if (!o) return heed_fail(cx, HEED_ERR_USAGE, "batches: no options are given");
    *n = o->n_rows;
    if (o->groups && (o->rows || o->n_rows || o->batch || o->groups->n < 1))
        return heed_fail(cx, HEED_ERR_USAGE, "batches: groups are given instead of a batch and of rows");
    if (!data_rows(cx, "batches", set->n, o->rows, n)) return false;
    if (o->batch < 1 && !o->groups)
        return heed_fail(cx, HEED_ERR_RANGE, "batches: a batch of %lld examples: must be 1 or more",
                         (long long)o->batch);
    if (o->batch > *n)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "batches: a batch of %lld examples is larger than the data, which has %lld",
                         (long long)o->batch, (long long)*n);
    if (o->micro < 0 || o->micro_tokens < 0)
        return heed_fail(cx, HEED_ERR_RANGE, "batches: a micro-batch of %lld examples or %lld tokens: out of range",
                         (long long)o->micro, (long long)o->micro_tokens);
    if (o->epoch < 0 || o->index < 0 || o->epoch > FARTHEST || o->index > FARTHEST)
        return heed_fail(cx, HEED_ERR_RANGE, "batches: cannot begin at epoch %lld, batch %lld", (long long)o->epoch,
                         (long long)o->index);
    return check_mean(cx, set, o);
}

static bool set_factors(heed_ctx *cx, struct collator *c, const heed_batches_opts *o) {
    c->x = heed_dataset_find(c->set, "x");
    if (c->x < 0) return true;
    const heed_column *x = &c->set->column[c->x];
    const int64_t width = column_elements(x);
    const bool bytes = x->type == HEED_U8;
    if (!bytes && !o->mean) return true;
    c->factor = data_room(cx, width, 1, sizeof *c->factor);
    c->term = data_room(cx, width, 1, sizeof *c->term);
    if (!c->term) return false;
    for (int64_t j = 0; j < width; j++) {
        const float mean = o->mean ? o->mean[j] : 0.0f, std = o->mean ? o->std[j] : 1.0f;
        c->factor[j] = (bytes ? x->scale : 1.0f) / std;
        c->term[j] = bytes ? (x->shift - mean) / std : mean;
    }
    return true;
}

/* The most numbers that a part takes in each array, and the most examples. */
static void measure_parts(heed_batches *b, int64_t *most, int64_t *rows) {
    const int arrays = collate_arrays(b->set);
    if (!b->groups) { /* any examples may come together */
        *rows = b->micro > 0 && b->micro < b->size ? b->micro : b->size;
        b->parts = b->micro_tokens > 0 ? b->size : b->micro > 0 ? (b->size - 1) / b->micro + 1 : 1;
        for (int64_t i = 0; i < b->n; i++)
            for (int a = 0; a < arrays; a++) {
                const int64_t row = b->rows ? b->rows[i] : i, numbers = *rows * collate_numbers(b->set, a, &row, 1);
                if (numbers > most[a]) most[a] = numbers;
            }
        return;
    }
    for (int64_t g = 0; g < b->groups->n; g++) {
        const int64_t n = b->groups->start[g + 1] - b->groups->start[g], *row = b->groups->row + b->groups->start[g];
        if (parts_of(b, row, n) > b->parts) b->parts = parts_of(b, row, n);
        for (int64_t at = 0; at < n;) {
            const int64_t some = part_of(b, row + at, n - at);
            if (some > *rows) *rows = some;
            for (int a = 0; a < arrays; a++) {
                const int64_t numbers = collate_numbers(b->set, a, row + at, some);
                if (numbers > most[a]) most[a] = numbers;
            }
            at += some;
        }
    }
}

static bool take_slots(heed_ctx *cx, heed_batches *b, bool may_thread) {
    int64_t most[2 * HEED_COLUMNS_MAX] = {0}, rows = 0, all = 0;
    measure_parts(b, most, &rows);
    for (int a = 0; a < collate_arrays(b->set); a++) all += most[a];
    if (may_thread && all <= WORTHWHILE) b->ahead = false;
    for (int i = 0; i < (b->ahead ? SLOTS : 1); i++) {
        b->slot[i].room.row = data_room(cx, rows, 1, sizeof *b->slot[i].room.row);
        for (int a = 0; a < collate_arrays(b->set); a++)
            b->slot[i].room.array[a] = data_room(cx, most[a], 1, sizeof(float));
    }
    return !heed_failed(cx);
}

static bool set_up(heed_ctx *cx, heed_batches *b, const heed_batches_opts *o, bool may_thread) {
    b->per_epoch = b->groups ? b->groups->n : (b->n - 1) / b->size + 1;
    b->epoch = o->epoch + o->index / b->per_epoch;
    b->index = o->index % b->per_epoch;
    b->order = data_room(cx, b->groups ? b->groups->n : b->n, 1, sizeof *b->order);
    if (o->rows && (b->rows = data_room(cx, b->n, 1, sizeof *b->rows)))
        memcpy(b->rows, o->rows, (size_t)b->n * sizeof *b->rows);
    return !heed_failed(cx) && set_factors(cx, &b->collator, o) && take_slots(cx, b, may_thread);
}

static void free_batches(heed_ctx *cx, heed_batches *b) {
    for (int i = 0; i < SLOTS; i++) {
        heed_mem_free(cx, b->slot[i].room.row);
        for (int a = 0; a < 2 * HEED_COLUMNS_MAX; a++) heed_mem_free(cx, b->slot[i].room.array[a]);
    }
    heed_mem_free(cx, b->collator.factor);
    heed_mem_free(cx, b->collator.term);
    heed_mem_free(cx, b->order);
    heed_mem_free(cx, b->rows);
    heed_mem_free(cx, b);
}

/* may_thread: a thread is taken where it pays. */
static heed_batches *open_batches(heed_ctx *cx, const heed_dataset *set, const heed_batches_opts *opts, bool ahead,
                                  bool may_thread) {
    int64_t n;
    if (!check_opts(cx, set, opts, &n)) return NULL;
    heed_batches *b = heed_mem_new(cx, sizeof *b);
    if (!b) return NULL;
    *b = (heed_batches){
        .own = *set,
        .set = &b->own,
        .groups = opts->groups,
        .size = opts->batch,
        .n = n,
        .micro = opts->micro,
        .micro_tokens = opts->micro_tokens,
        .shuffle = opts->shuffle,
        .largest_first = opts->groups && cx->config.dry,
        .seed = opts->seed,
        .ahead = ahead,
        .collator = {.set = &b->own, .transform = opts->transform, .own = opts->own, .seed = opts->seed}};
    if (!set_up(cx, b, opts, may_thread)) {
        free_batches(cx, b);
        return NULL;
    }
    b->ahead = b->ahead && start_thread(b); /* a system that gives no thread gives the batches all the same */
    return b;
}

heed_batches *batches_open(heed_ctx *cx, const heed_dataset *set, const heed_batches_opts *opts, bool ahead) {
    return open_batches(cx, set, opts, ahead, false);
}

heed_batches *heed_batches_open(heed_ctx *cx, const heed_dataset *set, const heed_batches_opts *opts) {
    return open_batches(cx, set, opts, heed_threads_available() > 1, true);
}

void heed_batches_close(heed_ctx *cx, heed_batches *b) {
    if (!b) return;
    if (b->ahead) stop_thread(b);
    free_batches(cx, b);
}

/* ---- taking ---- */

static const heed_batch *take_made(heed_batches *b) {
    pthread_mutex_lock(&b->lock);
    b->held += b->began;
    b->began = true;
    pthread_cond_signal(&b->took_one);
    while (b->made <= b->held) pthread_cond_wait(&b->made_one, &b->lock);
    const heed_batch *batch = &b->slot[b->held % SLOTS].batch;
    pthread_mutex_unlock(&b->lock);
    return batch;
}

const heed_batch *heed_batches_next(heed_ctx *cx, heed_batches *b) {
    if (heed_failed(cx)) return NULL;
    if (!b) return heed_fail(cx, HEED_ERR_USAGE, "batches_next: the batches are NULL"), NULL;
    const struct profile_mark mark = profile_begin(cx);
    const heed_batch *batch = &b->slot[0].batch;
    if (b->ahead)
        batch = take_made(b);
    else
        make_part(b, &b->slot[0]);
    profile_end(cx, mark, "prepare batches", PROFILE_FORWARD);
    return batch;
}

int64_t heed_batches_per_epoch(const heed_batches *batches) { return batches ? batches->per_epoch : 0; }
int64_t heed_batches_parts(const heed_batches *batches) { return batches ? batches->parts : 0; }

static const void *numbers_of(const heed_batch *b, const char *name, heed_dtype type) {
    for (int k = 0; b && name && k < b->columns; k++)
        if (strcmp(b->column[k].name, name) == 0) return b->column[k].type == type ? b->column[k].data : NULL;
    return NULL;
}

const float *heed_batch_f32(const heed_batch *batch, const char *name) { return numbers_of(batch, name, HEED_F32); }
const int32_t *heed_batch_i32(const heed_batch *batch, const char *name) { return numbers_of(batch, name, HEED_I32); }

heed_tensor *heed_batch_tensor(heed_ctx *cx, const heed_batch *batch, const char *name) {
    if (heed_failed(cx)) return NULL;
    for (int k = 0; batch && name && k < batch->columns; k++) {
        const heed_batch_column *c = &batch->column[k];
        if (strcmp(c->name, name) == 0) return heed_borrow(cx, c->type, c->data, c->rank, c->shape, NULL);
    }
    heed_fail(cx, HEED_ERR_USAGE, "batch: there is no column '%s'", name ? name : "");
    return NULL;
}
