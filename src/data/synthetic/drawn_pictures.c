/* Drawing a data set of pictures on all threads. */
#include "data/synthetic/drawn_pictures.h"
#include "base/ctx.h"
#include "base/profile.h"
#include "base/thread_pool.h"

#define PER_TASK 32

struct job {
    const struct drawn_pictures *kind;
    const heed_data *data;
    uint64_t seed;
};

static void draw_some(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct job *const job = arg;
    const heed_data *const data = job->data;
    for (int64_t i = task * PER_TASK; i < data->n && i < (task + 1) * PER_TASK; i++)
        data->label[i] = job->kind->draw(job->seed, i, data->bytes + i * data->width);
}

heed_data *drawn_pictures(heed_ctx *cx, const struct drawn_pictures *kind, uint64_t seed, int64_t n) {
    if (heed_failed(cx)) return NULL;
    if (n < 1)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld pictures: must be 1 or more", kind->name, (long long)n), NULL;
    heed_data *const d = data_new(cx);
    if (!d) return NULL;
    d->n = n;
    d->width = kind->side * kind->side;
    d->scale = 1.0f / 255.0f;
    d->classes = kind->classes;
    d->image_height = d->image_width = kind->side;
    d->image_channels = 1;
    d->bytes = data_room(cx, n, d->width, 1);
    d->label = data_room(cx, n, 1, sizeof *d->label);
    if (kind->names) d->class_names = data_names(cx, kind->names, kind->classes);
    if (heed_failed(cx)) {
        heed_data_free(cx, d);
        return NULL;
    }
    const struct profile_mark mark = profile_begin(cx);
    pool_run(cx->pool, (n - 1) / PER_TASK + 1, draw_some, &(struct job){kind, d, seed});
    profile_end(cx, mark, kind->work, PROFILE_FORWARD);
    return d;
}
