#include "data/collate.h"
#include "base/vectors.h"
#include "data/dataset.h"
#include <string.h>

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

/* ---- arrays ---- */

/* The column whose mask is array `array`, or -1. */
static int masked_column(const heed_dataset *set, int array) {
    for (int k = 0, at = set->columns; k < set->columns; k++)
        if (set->column[k].mask && at++ == array) return k;
    return -1;
}

int collate_arrays(const heed_dataset *set) {
    int n = set->columns;
    while (masked_column(set, n) >= 0) n++;
    return n;
}

static int64_t max_length(const heed_dataset *set, int column, const int64_t *row, int64_t n) {
    int64_t most = 1;
    for (int64_t i = 0; set->column[column].ragged && i < n; i++)
        if (heed_dataset_length(set, column, row[i]) > most) most = heed_dataset_length(set, column, row[i]);
    return most;
}

int64_t collate_numbers(const heed_dataset *set, int array, const int64_t *row, int64_t n) {
    const bool mask = array >= set->columns;
    const int column = mask ? masked_column(set, array) : array;
    return n * max_length(set, column, row, n) * (mask ? 1 : column_elements(&set->column[column]));
}

/* ---- rows ---- */

static void copy_cell(const struct collator *c, int k, heed_cell cell, void *out) {
    const heed_column *column = &c->set->column[k];
    const int64_t elements = column_elements(column);
    if (!cell.data)
        memset(out, 0, (size_t)cell.count * column_bytes(column));
    else if (k == c->x && c->factor)
        for (int64_t i = 0; i < cell.count; i++) {
            float *x = (float *)out + i * elements;
            if (column->type == HEED_U8)
                widen_bytes(x, (const uint8_t *)cell.data + i * elements, c->factor, c->term, elements);
            else
                standardise(x, (const float *)cell.data + i * elements, c->factor, c->term, elements);
        }
    else if (column->type == HEED_U8)
        for (int64_t i = 0; i < cell.count * elements; i++)
            ((float *)out)[i] = (float)((const uint8_t *)cell.data)[i] * column->scale + column->shift;
    else
        memcpy(out, cell.data, (size_t)cell.count * column_bytes(column));
}

static void pad(const heed_column *column, void *out, int64_t from, int64_t to) {
    const int64_t elements = column_elements(column);
    for (int64_t i = from * elements; i < to * elements; i++)
        if (column->type == HEED_I32)
            ((int32_t *)out)[i] = column->fill;
        else
            ((float *)out)[i] = (float)column->fill;
}

/* Of a column whose length comes last: the stored (count, elements) as (elements, width). */
static void copy_across(const heed_column *column, heed_cell cell, int32_t *out, int64_t width) {
    const int64_t elements = column_elements(column);
    const int32_t *in = cell.data;
    for (int64_t j = 0; j < elements; j++)
        for (int64_t i = 0; i < width; i++)
            out[j * width + i] = i >= cell.count ? column->fill : in ? in[i * elements + j] : 0;
}

static int64_t count_labels(const heed_cell *cell) {
    int64_t n = 0;
    for (int64_t i = 0; i < cell->count; i++) n += ((const int32_t *)cell->data)[i] >= 0;
    return n;
}

static void describe(const heed_dataset *set, int array, int64_t n, int64_t width, heed_batch_column *out) {
    const bool mask = array >= set->columns;
    const heed_column *c = &set->column[mask ? masked_column(set, array) : array];
    *out = (heed_batch_column){.name = mask ? c->mask : c->name,
                               .type = mask || c->type == HEED_I32 ? HEED_I32 : HEED_F32};
    out->shape[out->rank++] = n;
    if (c->ragged && (mask || !c->length_last)) out->shape[out->rank++] = width;
    for (int i = 0; !mask && i < c->rank; i++) out->shape[out->rank++] = c->shape[i];
    if (!mask && c->length_last) out->shape[out->rank++] = width;
}

void collate(const struct collator *c, int64_t epoch, const int64_t *row, int64_t n, struct collated *to,
             heed_batch *batch) {
    const heed_dataset *set = c->set;
    const int counts = heed_dataset_find(set, set->counts);
    int64_t width[HEED_COLUMNS_MAX];
    batch->n = n;
    batch->row = to->row;
    batch->columns = collate_arrays(set);
    batch->weight = set->counts ? 0 : n;
    memmove(to->row, row, (size_t)n * sizeof *row);
    for (int k = 0; k < set->columns; k++) width[k] = max_length(set, k, row, n);
    for (int a = 0; a < batch->columns; a++) {
        describe(set, a, n, width[a < set->columns ? a : masked_column(set, a)], &batch->column[a]);
        batch->column[a].data = to->array[a];
    }
    for (int64_t i = 0; i < n; i++) {
        heed_cell cells[HEED_COLUMNS_MAX];
        for (int k = 0; k < set->columns; k++) {
            const heed_column *column = &set->column[k];
            const heed_cell stored = column_cell(column, row[i]);
            void *out = (char *)to->array[k] + (size_t)(i * width[k] * column_elements(column)) * sizeof(float);
            cells[k] = (heed_cell){out, stored.count};
            if (column->length_last) {
                copy_across(column, stored, out, width[k]);
                continue;
            }
            copy_cell(c, k, stored, out);
            if (column->ragged) pad(column, out, stored.count, width[k]);
        }
        if (c->transform) c->transform(c->own, c->seed, epoch, row[i], cells);
        if (counts >= 0) batch->weight += count_labels(&cells[counts]);
    }
    for (int a = set->columns; a < batch->columns; a++) {
        const int k = masked_column(set, a);
        int32_t *mask = to->array[a];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < width[k]; j++) *mask++ = j < heed_dataset_length(set, k, row[i]);
    }
}
