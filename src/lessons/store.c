#include "lessons/store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 40, MAX_WIDTH = 4096, MAX_NAME = 80 };

/* ---- a query and its keys ---- */

static bool store_room(struct lesson_run *r, int64_t n, int64_t width, struct store *s) {
    *s = (struct store){.n = n,
                        .width = width,
                        .query = lesson_room(r, width, sizeof *s->query),
                        .keys = lesson_room(r, n * width, sizeof *s->keys),
                        .names = lesson_room(r, n, sizeof *s->names)};
    return !heed_failed(r->cx);
}

bool store_make(struct lesson_run *r, int64_t n, int64_t width, const float *query, const float *keys,
                const char *const *names, struct store *s) {
    if (!store_room(r, n, width, s)) return false;
    memcpy(s->query, query, (size_t)width * sizeof *query);
    memcpy(s->keys, keys, (size_t)(n * width) * sizeof *keys);
    for (int64_t i = 0; i < n; i++) s->names[i] = names[i];
    return true;
}

static bool read_column(struct lesson_run *r, const heed_table *t, int64_t column, int64_t at, struct store *s) {
    double *numbers = lesson_room(r, s->n + 1, sizeof *numbers);
    if (!numbers || !heed_table_numbers(r->cx, t, column, numbers, s->n + 1)) return false;
    for (int64_t i = 0; i <= s->n; i++) {
        if (!(fabs(numbers[i]) <= 1e6))
            return heed_fail(r->cx, HEED_ERR_RANGE, "%s: row %lld, column %s: not a number from -1e6 to 1e6", r->data,
                             (long long)i + 1, heed_table_name(r->cx, t, column));
        *(i == 0 ? &s->query[at] : &s->keys[(i - 1) * s->width + at]) = (float)numbers[i];
    }
    return true;
}

static bool is_number(const char *cell) {
    char *end;
    strtod(cell, &end);
    return end > cell && end[strspn(end, " \t")] == 0;
}

static bool read_store(struct lesson_run *r, const heed_table *t, struct store *s) {
    const int64_t rows = heed_table_rows(t), columns = heed_table_columns(t);
    if (rows < 3 || rows > MAX_KEYS + 1)
        return heed_fail(r->cx, HEED_ERR_RANGE, "%s: %lld rows, the lesson takes a query and 2 to %d keys", r->data,
                         (long long)rows, MAX_KEYS);
    const char *first = heed_table_cell(r->cx, t, 0, 0);
    const bool named = first && !is_number(first);
    const int64_t width = columns - named;
    if (width < 1 || width > MAX_WIDTH)
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: %lld columns of numbers, the lesson takes 1 to %d", r->data,
                         (long long)width, MAX_WIDTH);
    if (!store_room(r, rows - 1, width, s)) return false;
    for (int64_t c = 0; c < width; c++)
        if (!read_column(r, t, c + named, c, s)) return false;
    for (int64_t i = 0; i < s->n; i++) {
        char number[32];
        snprintf(number, sizeof number, "key %lld", (long long)i + 1);
        const char *name = named ? heed_table_cell(r->cx, t, i + 1, 0) : number;
        s->names[i] = name ? lesson_text(r, name, MAX_NAME) : NULL;
    }
    return !heed_failed(r->cx);
}

bool store_load(struct lesson_run *r, struct store *s) {
    heed_table *t = lesson_open(r, HEED_HEADER_AUTO);
    const bool ok = t && read_store(r, t, s);
    heed_table_close(t);
    return ok;
}

float store_norm(const float *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return (float)sqrt(sum);
}

/* ---- weights ---- */

float *numbers_of(struct lesson_run *r, heed_tensor *t) {
    const int64_t n = t ? heed_count(t) : 0;
    float *out = t ? lesson_room(r, n, sizeof *out) : NULL;
    return out && heed_copy_f32(r->cx, t, out, n) ? out : NULL;
}

double numbers_apart(const float *a, const float *b, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

bool store_weights(struct lesson_run *r, const struct store *s, const heed_score_opts *score, heed_normaliser how,
                   float *weights) {
    heed_ctx *cx = r->cx;
    heed_tensor *q = heed_from_f32(cx, s->query, 3, (int64_t[]){1, 1, s->width});
    heed_tensor *k = heed_from_f32(cx, s->keys, 3, (int64_t[]){1, s->n, s->width});
    heed_tensor *w = heed_normalise(cx, heed_scores(cx, q, k, score), how, NULL);
    const bool ok = w && heed_copy_f32(cx, w, weights, s->n);
    heed_reset(cx);
    return ok;
}

void map_table(struct lesson_run *r, const char *file, const char *const *queries, const char *const *keys,
               const char *what, const float *values, int64_t rows, int64_t cols) {
    const char **query = lesson_room(r, rows * cols, sizeof *query), **key = lesson_room(r, rows * cols, sizeof *key);
    if (!query || !key || !r->out) return;
    for (int64_t i = 0; i < rows * cols; i++) query[i] = queries[i / cols], key[i] = keys[i % cols];
    lesson_table(r, file,
                 (heed_table_column[]){
                     {.name = "query", .text = query}, {.name = "key", .text = key}, {.name = what, .f32 = values}},
                 3, rows * cols);
}

double map_attended(const float *weights, int64_t rows, int64_t cols) {
    double sum = 0;
    for (int64_t i = 0; i < rows; i++, weights += cols) {
        double entropy = 0;
        for (int64_t k = 0; k < cols; k++)
            if (weights[k] > 0) entropy -= (double)weights[k] * log((double)weights[k]);
        sum += exp(entropy);
    }
    return rows > 0 ? sum / (double)rows : 0;
}
