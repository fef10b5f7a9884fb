/* Data sets in memory: their life, splits and moments. Every field of a heed_data that is a pointer is a block of its
 * own, or NULL. */
#include "data/data.h"
#include "base/checked.h"
#include "base/ctx.h"
#include "base/thread_pool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

heed_data *data_new(heed_ctx *cx) {
    heed_data *d = heed_mem_new(cx, sizeof *d);
    if (d) *d = (heed_data){.scale = 1.0f};
    return d;
}

void *data_room(heed_ctx *cx, int64_t rows, int64_t columns, size_t element) {
    size_t count, bytes;
    if (heed_failed(cx)) return NULL;
    if (rows < 0 || columns < 0 || !size_mul((size_t)rows, (size_t)columns, &count) ||
        !size_mul(count, element, &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "data: %lld x %lld numbers are too many", (long long)rows,
                         (long long)columns),
               NULL;
    return heed_mem_new(cx, bytes);
}

char **data_names(heed_ctx *cx, const struct word *words, int64_t n) {
    size_t bytes;
    if (!size_mul((size_t)n + 1, sizeof(char *), &bytes)) bytes = SIZE_MAX;
    for (int64_t i = 0; i < n; i++)
        if (!size_add(bytes, words[i].length + 1, &bytes)) bytes = SIZE_MAX;
    char **names = heed_mem_new(cx, bytes); /* which refuses SIZE_MAX */
    if (!names) return NULL;
    char *text = (char *)(names + n + 1);
    for (int64_t i = 0; i < n; i++) {
        names[i] = memcpy(text, words[i].text, words[i].length);
        text[words[i].length] = 0;
        text += words[i].length + 1;
    }
    names[n] = NULL;
    return names;
}

void heed_data_free(heed_ctx *cx, heed_data *data) {
    if (!data) return;
    for (int64_t i = 0; data->categories && i < data->columns; i++) heed_mem_free(cx, data->categories[i]);
    void *const parts[] = {data->x,       data->bytes,       data->label,      data->y,   data->x_names,
                           data->y_names, data->class_names, data->categories, data->line};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) heed_mem_free(cx, parts[i]);
    heed_mem_free(cx, data);
}

int64_t data_names_count(char **names) {
    int64_t n = 0;
    while (names[n]) n++;
    return n;
}

size_t heed_data_input_name(const heed_data *data, int64_t i, char *out, size_t size) {
    const char *category = NULL;
    int64_t column = i;
    if (!data || i < 0 || i >= data->width) return 0;
    if (!out) size = 0;
    for (int64_t c = 0, left = i; data->categories && c < data->columns; c++) {
        const int64_t inputs = data->categories[c] ? data_names_count(data->categories[c]) : 1;
        if (left < inputs) {
            column = c;
            if (data->categories[c]) category = data->categories[c][left];
            break;
        }
        left -= inputs;
    }
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)column + 1);
    const int n = snprintf(out, size, "%s%s%s", data->x_names ? data->x_names[column] : number, category ? "=" : "",
                           category ? category : "");
    return n > 0 ? (size_t)n : 0;
}

bool data_check(heed_ctx *cx, const char *op, const heed_data *data) {
    if (heed_failed(cx)) return false;
    if (!data) return heed_fail(cx, HEED_ERR_USAGE, "%s: the data set is NULL", op);
    if (data->n < 1) return heed_fail(cx, HEED_ERR_USAGE, "%s: the data set is empty", op);
    return (data->width > 0 && (data->x || data->bytes)) ||
           heed_fail(cx, HEED_ERR_USAGE, "%s: the data set has no inputs", op);
}

bool data_rows(heed_ctx *cx, const char *op, int64_t all, const int64_t *rows, int64_t *n) {
    if (!rows && *n == 0) *n = all;
    if (!rows && *n != all)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: %lld examples are asked for, but not which of the %lld", op,
                         (long long)*n, (long long)all);
    if (*n < 1) return heed_fail(cx, HEED_ERR_USAGE, "%s: no examples are chosen", op);
    for (int64_t i = 0; rows && i < *n; i++)
        if (rows[i] < 0 || rows[i] >= all)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: rows[%lld] is %lld, out of range for %lld examples", op,
                             (long long)i, (long long)rows[i], (long long)all);
    return true;
}

uint64_t data_hash(uint64_t hash, const void *data, size_t size) {
    const unsigned char *p = data;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = (hash ^ word) * UINT64_C(0x100000001B3);
        hash ^= hash >> 29;
    }
    for (; size > 0; size--) hash = (hash ^ *p++) * UINT64_C(0x100000001B3);
    return hash;
}

/* ---- split ---- */

#define SPLIT_STREAM UINT64_MAX /* no epoch has this number: a split is not an epoch's order */

bool heed_rows_split(heed_ctx *cx, int64_t n, double fraction, uint64_t seed, int64_t **train, int64_t *n_train,
                     int64_t **valid, int64_t *n_valid) {
    if (heed_failed(cx)) return false;
    if (n < 1) return heed_fail(cx, HEED_ERR_USAGE, "data_split: the data set is empty");
    if (!train || !n_train || !valid || !n_valid)
        return heed_fail(cx, HEED_ERR_USAGE, "data_split: a place for the result is NULL");
    if (!(fraction >= 0.0 && fraction < 1.0))
        return heed_fail(cx, HEED_ERR_RANGE, "data_split: the fraction is %g: must be at least 0 and less than 1",
                         fraction);
    if (fraction > 0.0 && n < 2) return heed_fail(cx, HEED_ERR_RANGE, "data_split: one example cannot be split");
    int64_t last = (int64_t)((double)n * fraction + 0.5);
    if (fraction > 0.0) last = last < 1 ? 1 : last > n - 1 ? n - 1 : last;
    int64_t *first_part = data_room(cx, n, 1, sizeof *first_part);
    int64_t *last_part = data_room(cx, last, 1, sizeof *last_part);
    if (!last_part) {
        heed_mem_free(cx, first_part);
        return false;
    }
    heed_random_permutation(seed, SPLIT_STREAM, first_part, n);
    memcpy(last_part, first_part + (n - last), (size_t)last * sizeof *last_part);
    *train = first_part;
    *n_train = n - last;
    *valid = last_part;
    *n_valid = last;
    return true;
}

bool heed_data_split(heed_ctx *cx, const heed_data *data, double fraction, uint64_t seed, int64_t **train,
                     int64_t *n_train, int64_t **valid, int64_t *n_valid) {
    return data_check(cx, "data_split", data) &&
           heed_rows_split(cx, data->n, fraction, seed, train, n_train, valid, n_valid);
}

/* ---- moments ---- */

#define BLOCK 128 /* columns of a task: their sums fit on the stack, and a row's part of them fills cache lines */

struct moments {
    const heed_data *data;
    const int64_t *rows;
    int64_t n;
    float *mean, *std;
};

static int64_t row_of(const struct moments *m, int64_t i) { return m->rows ? m->rows[i] : i; }

static void put_moments(const struct moments *m, int64_t column, double mean, double variance) {
    const float std = (float)sqrt(variance);
    m->mean[column] = (float)mean;
    m->std[column] = std > 0.0f ? std : 1.0f;
}

/* Sums of bytes and of their squares are exact, and so n sum b^2 - (sum b)^2 is 0 for a constant column. */
static void moments_of_bytes(const struct moments *m, int64_t from, int64_t width) {
    const heed_data *d = m->data;
    uint64_t sum[BLOCK] = {0}, squares[BLOCK] = {0};
    for (int64_t i = 0; i < m->n; i++) {
        const uint8_t *row = d->bytes + row_of(m, i) * d->width + from;
        for (int64_t j = 0; j < width; j++) {
            sum[j] += row[j];
            squares[j] += (uint32_t)row[j] * row[j];
        }
    }
    const double n = (double)m->n, scale = (double)d->scale;
    for (int64_t j = 0; j < width; j++) {
        const unsigned __int128 spread =
            (unsigned __int128)m->n * squares[j] - (unsigned __int128)sum[j] * (unsigned __int128)sum[j];
        put_moments(m, from + j, (double)sum[j] / n * scale + (double)d->shift,
                    (double)spread / (n * n) * scale * scale);
    }
}

/* Distances from the first row, then from the mean: that of a constant column is exactly the first row, and its
 * variance exactly 0. */
static void moments_of_floats(const struct moments *m, int64_t from, int64_t width) {
    const heed_data *d = m->data;
    const float *first = d->x + row_of(m, 0) * d->width + from;
    double sum[BLOCK] = {0}, mean[BLOCK], squares[BLOCK] = {0};
    for (int64_t i = 0; i < m->n; i++) {
        const float *row = d->x + row_of(m, i) * d->width + from;
        for (int64_t j = 0; j < width; j++) sum[j] += (double)row[j] - (double)first[j];
    }
    for (int64_t j = 0; j < width; j++) mean[j] = (double)first[j] + sum[j] / (double)m->n;
    for (int64_t i = 0; i < m->n; i++) {
        const float *row = d->x + row_of(m, i) * d->width + from;
        for (int64_t j = 0; j < width; j++) squares[j] += ((double)row[j] - mean[j]) * ((double)row[j] - mean[j]);
    }
    for (int64_t j = 0; j < width; j++) put_moments(m, from + j, mean[j], squares[j] / (double)m->n);
}

static void moments_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct moments *m = arg;
    const int64_t from = task * BLOCK, left = m->data->width - from;
    (m->data->x ? moments_of_floats : moments_of_bytes)(m, from, left < BLOCK ? left : BLOCK);
}

bool heed_data_moments(heed_ctx *cx, const heed_data *data, const int64_t *rows, int64_t n, float *mean, float *std) {
    if (!data_check(cx, "data_moments", data) || !data_rows(cx, "data_moments", data->n, rows, &n)) return false;
    if (!mean || !std) return heed_fail(cx, HEED_ERR_USAGE, "data_moments: a place for the result is NULL");
    struct moments m = {data, rows, n, mean, std};
    pool_run_if(n * data->width > 1 << 16, cx->pool, (data->width + BLOCK - 1) / BLOCK, moments_task, &m);
    return true;
}

bool heed_data_columns(heed_ctx *cx, const heed_data *data, heed_dataset *set) {
    if (!data_check(cx, "data_columns", data)) return false;
    if (!set) return heed_fail(cx, HEED_ERR_USAGE, "data_columns: a place for the columns is NULL");
    *set = (heed_dataset){.n = data->n};
    set->column[set->columns++] = (heed_column){.name = "x",
                                                .type = data->x ? HEED_F32 : HEED_U8,
                                                .rank = 1,
                                                .shape = {data->width},
                                                .data = data->x ? (void *)data->x : (void *)data->bytes,
                                                .scale = data->scale,
                                                .shift = data->shift};
    if (data->label)
        set->column[set->columns++] = (heed_column){.name = "labels", .type = HEED_I32, .data = data->label};
    if (data->y)
        set->column[set->columns++] =
            (heed_column){.name = "y", .type = HEED_F32, .rank = 1, .shape = {data->outputs}, .data = data->y};
    return true;
}
