/* Batches, made ahead by a thread.
 *
 * Batch number k (counted from the first) lies in slot k % SLOTS. The caller holds batch `held`; the thread may make
 * the batches up to held + SLOTS - 1, so it never touches what the caller reads. It knows neither context nor
 * allocator: all memory is taken when the batches are opened, and nothing in the thread can fail. Where a thread would
 * not pay, the caller makes each batch when it asks for it. */
#include "data/batches.h"
#include "base/profile.h"
#include "base/vectors.h"
#include "data/data.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define FARTHEST   ((int64_t)1 << 60) /* epoch or batch to begin at: counting on from there never overflows */
#define SLOTS      3
#define WORTHWHILE (1 << 15) /* numbers in a batch: waking a thread costs more than making fewer */

struct slot {
    heed_batch batch;
    float *x, *y;
    int32_t *label;
};

struct heed_batches {
    const heed_data *data;
    int64_t size, n, per_epoch; /* examples in a batch, in an epoch; batches in an epoch */
    bool shuffle;
    uint64_t seed;
    int64_t *rows;        /* the chosen examples, or NULL: all */
    int64_t *order;       /* the examples of the current epoch in order */
    float *factor, *term; /* (width) x = in * factor + term for bytes, (in - term) * factor for f32 that is */
    bool as_is;           /* not to be changed */
    int64_t epoch, index; /* of the batch to be made next */
    bool ordered;         /* `order` is that of `epoch` */
    struct slot slot[SLOTS];
    bool ahead;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t made_one, took_one;
    int64_t made, held; /* under the lock: batches made so far; the one that the caller has */
    bool began;         /* the caller has one */
    atomic_bool stop;
};

/* ---- making ---- */

/* Each element is one product and one sum, rounded each, so the bits do not depend on vectors. */
static void widen_bytes(float *restrict out, const uint8_t *restrict in, const float *restrict factor,
                        const float *restrict term, int64_t n) {
    VECTORS
    for (int64_t j = 0; j < n; j++) out[j] = (float)in[j] * factor[j] + term[j];
}

static void standardise(float *restrict out, const float *restrict in, const float *restrict factor,
                        const float *restrict term, int64_t n) {
    VECTORS
    for (int64_t j = 0; j < n; j++) out[j] = (in[j] - term[j]) * factor[j];
}

static void make_row(const heed_batches *b, struct slot *s, int64_t i, int64_t row) {
    const heed_data *d = b->data;
    const int64_t width = d->width, outputs = d->outputs;
    float *x = s->x + i * width;
    if (!d->x)
        widen_bytes(x, d->bytes + row * width, b->factor, b->term, width);
    else if (b->as_is)
        memcpy(x, d->x + row * width, (size_t)width * sizeof *x);
    else
        standardise(x, d->x + row * width, b->factor, b->term, width);
    if (s->label) s->label[i] = d->label[row];
    if (s->y) memcpy(s->y + i * outputs, d->y + row * outputs, (size_t)outputs * sizeof *s->y);
}

static void order_epoch(heed_batches *b) {
    if (b->shuffle)
        heed_random_permutation(b->seed, (uint64_t)b->epoch, b->order, b->n);
    else
        for (int64_t i = 0; i < b->n; i++) b->order[i] = i;
    for (int64_t i = 0; b->rows && i < b->n; i++) b->order[i] = b->rows[b->order[i]];
    b->ordered = true;
}

/* The batch at (epoch, index) into a slot; then on to the next. */
static void make_batch(heed_batches *b, struct slot *s) {
    if (!b->ordered) order_epoch(b);
    const int64_t from = b->index * b->size, left = b->n - from;
    const int64_t n = left < b->size ? left : b->size;
    for (int64_t i = 0; i < n && !atomic_load_explicit(&b->stop, memory_order_relaxed); i++)
        make_row(b, s, i, b->order[from + i]);
    const bool last = b->index + 1 == b->per_epoch;
    s->batch = (heed_batch){n, s->x, s->label, s->y, b->epoch, b->index, last};
    b->index = last ? 0 : b->index + 1;
    b->epoch += last;
    if (last && b->shuffle) b->ordered = false;
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
        make_batch(b, s);
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

static bool check_opts(heed_ctx *cx, const heed_data *data, const heed_batches_opts *o, int64_t *n) {
    if (!data_check(cx, "batches", data)) return false;
    if (!o) return heed_fail(cx, HEED_ERR_USAGE, "batches: no options are given");
    *n = o->n_rows;
    if (!data_rows(cx, "batches", data, o->rows, n)) return false;
    if (o->batch < 1)
        return heed_fail(cx, HEED_ERR_RANGE, "batches: a batch of %lld examples: must be 1 or more",
                         (long long)o->batch);
    if (o->batch > *n)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "batches: a batch of %lld examples is larger than the data, which has %lld",
                         (long long)o->batch, (long long)*n);
    if (o->epoch < 0 || o->index < 0 || o->epoch > FARTHEST || o->index > FARTHEST)
        return heed_fail(cx, HEED_ERR_RANGE, "batches: cannot begin at epoch %lld, batch %lld", (long long)o->epoch,
                         (long long)o->index);
    if (!o->mean != !o->deviation)
        return heed_fail(cx, HEED_ERR_USAGE, "batches: mean and deviation are given together or not at all");
    for (int64_t j = 0; o->mean && j < data->width; j++)
        if (!isfinite(o->mean[j]) || !isfinite(o->deviation[j]) || !(o->deviation[j] > 0.0f))
            return heed_fail(cx, HEED_ERR_RANGE,
                             "batches: column %lld has mean %g and deviation %g: cannot standardise", (long long)j + 1,
                             (double)o->mean[j], (double)o->deviation[j]);
    return true;
}

static bool set_factors(heed_ctx *cx, heed_batches *b, const heed_batches_opts *o) {
    const heed_data *d = b->data;
    b->as_is = d->x && !o->mean;
    if (b->as_is) return true;
    b->factor = data_room(cx, d->width, 1, sizeof *b->factor);
    b->term = data_room(cx, d->width, 1, sizeof *b->term);
    if (!b->term) return false;
    for (int64_t j = 0; j < d->width; j++) {
        const float mean = o->mean ? o->mean[j] : 0.0f, deviation = o->mean ? o->deviation[j] : 1.0f;
        b->factor[j] = (d->x ? 1.0f : d->scale) / deviation;
        b->term[j] = d->x ? mean : (d->shift - mean) / deviation;
    }
    return true;
}

static bool take_slots(heed_ctx *cx, heed_batches *b) {
    const heed_data *d = b->data;
    for (int i = 0; i < (b->ahead ? SLOTS : 1); i++) {
        struct slot *s = &b->slot[i];
        s->x = data_room(cx, b->size, d->width, sizeof *s->x);
        if (d->label) s->label = data_room(cx, b->size, 1, sizeof *s->label);
        if (d->y) s->y = data_room(cx, b->size, d->outputs, sizeof *s->y);
    }
    return !heed_failed(cx);
}

static bool set_up(heed_ctx *cx, heed_batches *b, const heed_batches_opts *o) {
    b->epoch = o->epoch + o->index / b->per_epoch;
    b->index = o->index % b->per_epoch;
    b->order = data_room(cx, b->n, 1, sizeof *b->order);
    if (o->rows && (b->rows = data_room(cx, b->n, 1, sizeof *b->rows)))
        memcpy(b->rows, o->rows, (size_t)b->n * sizeof *b->rows);
    return !heed_failed(cx) && set_factors(cx, b, o) && take_slots(cx, b);
}

static void free_batches(heed_ctx *cx, heed_batches *b) {
    for (int i = 0; i < SLOTS; i++) {
        heed_mem_free(cx, b->slot[i].x);
        heed_mem_free(cx, b->slot[i].label);
        heed_mem_free(cx, b->slot[i].y);
    }
    heed_mem_free(cx, b->factor);
    heed_mem_free(cx, b->term);
    heed_mem_free(cx, b->order);
    heed_mem_free(cx, b->rows);
    heed_mem_free(cx, b);
}

heed_batches *batches_open(heed_ctx *cx, const heed_data *data, const heed_batches_opts *opts, bool ahead) {
    int64_t n;
    if (!check_opts(cx, data, opts, &n)) return NULL;
    heed_batches *b = heed_mem_new(cx, sizeof *b);
    if (!b) return NULL;
    *b = (heed_batches){.data = data, .size = opts->batch, .n = n, .shuffle = opts->shuffle, .seed = opts->seed};
    b->per_epoch = (n - 1) / b->size + 1;
    b->ahead = ahead;
    if (!set_up(cx, b, opts)) {
        free_batches(cx, b);
        return NULL;
    }
    b->ahead = ahead && start_thread(b); /* a system that gives no thread gives the batches all the same */
    return b;
}

heed_batches *heed_batches_open(heed_ctx *cx, const heed_data *data, const heed_batches_opts *opts) {
    const bool large = data && opts && opts->batch > 0 && data->width > WORTHWHILE / opts->batch;
    return batches_open(cx, data, opts, large && heed_threads_available() > 1);
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
        make_batch(b, &b->slot[0]);
    profile_end(cx, mark, "prepare batches", PROFILE_FORWARD);
    return batch;
}

int64_t heed_batches_per_epoch(const heed_batches *batches) { return batches ? batches->per_epoch : 0; }
