/* Data sets from arrays: npy pairs and MNIST's IDX files. The numbers of the inputs stay in the block in which they
 * were read, so that a data set is never in memory twice. */
#include "data/data.h"
#include "io/array.h"

#include <math.h>
#include <string.h>

/* Element `at` of an array, as its indices: "(3,2)". */
static struct shape_text place_of(const heed_array *a, int64_t at) {
    int64_t index[HEED_MAX_RANK];
    for (int k = a->rank - 1; k >= 0; k--) {
        index[k] = at % a->shape[k];
        at /= a->shape[k];
    }
    return shape_text(a->rank, index);
}

static bool all_finite(heed_ctx *cx, const heed_array *a, const float *numbers, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(numbers[i]))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: element %s is %f, not a finite number", a->name,
                             place_of(a, i).text, (double)numbers[i]);
    return true;
}

/* The block of an array becomes that of its numbers: they move to its beginning, where heed_mem_free wants them. */
static void *keep_numbers(heed_array *a, int64_t count) {
    return memmove(a, a->data, (size_t)count * heed_dtype_size(a->dtype));
}

static bool shape_inputs(heed_ctx *cx, const heed_array *a, heed_data *d) {
    if (a->rank < 1 || a->rank > 4)
        return heed_fail(cx, HEED_ERR_SHAPE,
                         "%s: inputs of shape %s: should be (n), (n,width), (n,height,width) or "
                         "(n,channels,height,width)",
                         a->name, shape_text(a->rank, a->shape).text);
    const int64_t count = heed_array_count(a);
    if (a->shape[0] == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: the data set is empty", a->name);
    if (count == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: examples without inputs", a->name);
    d->n = a->shape[0];
    d->width = count / d->n;
    if (a->rank < 3) return true;
    d->image_channels = a->rank == 4 ? a->shape[1] : 1;
    d->image_height = a->shape[a->rank - 2];
    d->image_width = a->shape[a->rank - 1];
    return true;
}

/* Takes the array over, whatever happens. */
static bool take_inputs(heed_ctx *cx, heed_array *a, heed_data *d) {
    if (!a) return false;
    bool ok = shape_inputs(cx, a, d);
    const int64_t count = ok ? d->n * d->width : 0;
    if (ok && a->dtype == HEED_U8) {
        if (d->image_height > 0) d->scale = 1.0f / 255.0f;
        d->bytes = keep_numbers(a, count);
        return true;
    }
    if (ok && a->dtype == HEED_F32) {
        ok = all_finite(cx, a, a->data, count);
        if (ok) d->x = keep_numbers(a, count);
        if (ok) return true;
    } else if (ok) {
        d->x = data_room(cx, d->n, d->width, sizeof *d->x);
        ok = d->x && heed_array_to_f32(cx, a, d->x, count) && all_finite(cx, a, d->x, count);
    }
    heed_mem_free(cx, a);
    return ok;
}

static bool check_count(heed_ctx *cx, const heed_array *a, const char *x_path, const heed_data *d) {
    if (a->rank < 1 || a->rank > 2)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: targets of shape %s: should be (n) or (n,outputs)", a->name,
                         shape_text(a->rank, a->shape).text);
    return a->shape[0] == d->n || heed_fail(cx, HEED_ERR_SHAPE, "%s: %lld targets for the %lld examples of %s", a->name,
                                            (long long)a->shape[0], (long long)d->n, x_path);
}

static bool read_labels(heed_ctx *cx, const heed_array *a, const heed_data *like, heed_data *d) {
    if (a->rank == 2 && a->shape[1] != 1)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: classes of shape %s: should be (n)", a->name,
                         shape_text(a->rank, a->shape).text);
    d->label = data_room(cx, d->n, 1, sizeof *d->label);
    if (!d->label || !heed_array_to_i32(cx, a, d->label, d->n)) return false;
    const int64_t classes = like ? like->classes : DATA_MOST_CLASSES;
    int32_t most = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const int32_t label = d->label[i];
        if (label < 0 || label >= classes)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: element %s: class %d is out of range, 0 to %lld", a->name,
                             place_of(a, i).text, label, (long long)classes - 1);
        if (label > most) most = label;
    }
    d->classes = like ? classes : most + 1;
    return true;
}

static bool read_targets(heed_ctx *cx, const heed_array *a, heed_data *d) {
    const int64_t outputs = a->rank == 2 ? a->shape[1] : 1;
    if (outputs == 0) return heed_fail(cx, HEED_ERR_SHAPE, "%s: examples without targets", a->name);
    d->y = data_room(cx, d->n, outputs, sizeof *d->y);
    d->outputs = outputs;
    return d->y && heed_array_to_f32(cx, a, d->y, d->n * outputs) && all_finite(cx, a, d->y, d->n * outputs);
}

bool data_read_arrays(heed_ctx *cx, heed_array *(*read)(heed_ctx *, const char *), const char *x_path,
                      const char *y_path, const heed_data_opts *opts, heed_data *out) {
    if (!take_inputs(cx, read(cx, x_path), out)) return false;
    if (!y_path) return true;
    heed_array *a = read(cx, y_path);
    const bool ok = a && check_count(cx, a, x_path, out) &&
                    (opts->task == HEED_DATA_CLASSIFY ? read_labels(cx, a, opts->like, out) : read_targets(cx, a, out));
    heed_mem_free(cx, a);
    return ok && data_keep_class_names(cx, opts->like, out);
}
