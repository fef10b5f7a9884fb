/* Data sets as named columns. */
#include "data/dataset.h"
#include "base/checked.h"
#include <string.h>

static int64_t step_of(const heed_column *c) { return c->step > 0 ? c->step : 1; }

int64_t column_elements(const heed_column *c) {
    int64_t n = 1;
    for (int i = 0; i < c->rank; i++) n *= c->shape[i];
    return n;
}

size_t column_bytes(const heed_column *c) {
    return (size_t)column_elements(c) * (c->type == HEED_U8    ? 1
                                         : c->type == HEED_I32 ? sizeof(int32_t)
                                                               : sizeof(float));
}

int64_t heed_dataset_length(const heed_dataset *set, int column, int64_t i) {
    if (!set || column < 0 || column >= set->columns || i < 0 || i >= set->n) return 0;
    const heed_column *c = &set->column[column];
    return c->ragged ? c->start[i * step_of(c) + 1] - c->start[i * step_of(c)] : 1;
}

int64_t heed_dataset_width(const heed_dataset *set, int64_t i) {
    int64_t width = 1;
    for (int k = 0; set && k < set->columns; k++)
        if (set->column[k].ragged && heed_dataset_length(set, k, i) > width) width = heed_dataset_length(set, k, i);
    return width;
}

int heed_dataset_find(const heed_dataset *set, const char *name) {
    for (int k = 0; set && name && k < set->columns; k++)
        if (strcmp(set->column[k].name, name) == 0) return k;
    return -1;
}

heed_cell column_cell(const heed_column *c, int64_t i) {
    const int64_t from = c->ragged ? c->start[i * step_of(c)] : i;
    const int64_t count = c->ragged ? c->start[i * step_of(c) + 1] - from : 1;
    return (heed_cell){c->data ? (char *)c->data + (size_t)from * column_bytes(c) : NULL, count};
}

/* ---- checking ---- */

static bool column_is_sound(const heed_column *c) {
    if (!c->name || c->rank < 0 || c->rank > HEED_COLUMN_RANK || c->step < 0) return false;
    for (int i = 0; i < c->rank; i++)
        if (c->shape[i] < 1) return false;
    if (c->length_last && (!c->ragged || c->type != HEED_I32)) return false;
    return c->type == HEED_F32 || c->type == HEED_I32 || c->type == HEED_U8;
}

bool dataset_check(heed_ctx *cx, const char *op, const heed_dataset *set) {
    if (heed_failed(cx)) return false;
    if (!set) return heed_fail(cx, HEED_ERR_USAGE, "%s: the data set is NULL", op);
    if (set->n < 1) return heed_fail(cx, HEED_ERR_USAGE, "%s: the data set is empty", op);
    if (set->columns < 1 || set->columns > HEED_COLUMNS_MAX)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: a data set of %d columns, not 1 to %d", op, set->columns,
                         HEED_COLUMNS_MAX);
    for (int k = 0; k < set->columns; k++)
        if (!column_is_sound(&set->column[k]))
            return heed_fail(cx, HEED_ERR_USAGE, "%s: column %d has no name, or no type or shape of a column", op, k);
    if (set->counts && heed_dataset_find(set, set->counts) < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: the data set has no column '%s' to count", op, set->counts);
    return true;
}

/* ---- adding ---- */

/* Memory for n elements of `size` bytes, and as many again. */
static bool grow(heed_ctx *cx, void **data, int64_t n, size_t size) {
    size_t bytes;
    if (!size_mul((size_t)n, 2 * size, &bytes)) return heed_fail(cx, HEED_ERR_MEMORY, "dataset: too many examples");
    void *larger = heed_mem_resize(cx, *data, bytes);
    if (larger) *data = larger;
    return larger;
}

static bool grow_starts(heed_ctx *cx, heed_dataset *set) {
    const int64_t n = set->n + 32;
    set->owned = true;
    if (set->n < set->room) return true;
    for (int k = 0; k < set->columns; k++) {
        heed_column *c = &set->column[k];
        void *start = c->start;
        if (c->ragged && !grow(cx, &start, n, sizeof *c->start)) return false;
        c->start = start;
        if (c->ragged && set->n == 0) c->start[0] = 0;
    }
    set->room = 2 * n - 1;
    return true;
}

/* Elements of a column so far. */
static int64_t filled(const heed_dataset *set, const heed_column *c) { return c->ragged ? c->start[set->n] : set->n; }

bool heed_dataset_add(heed_ctx *cx, heed_dataset *set, const heed_cell *cells) {
    if (heed_failed(cx)) return false;
    if (!set || !cells || set->columns < 1 || set->columns > HEED_COLUMNS_MAX || (set->n > 0 && !set->owned))
        return heed_fail(cx, HEED_ERR_USAGE, "dataset_add: a data set with columns, and a cell for each, are needed");
    for (int k = 0; k < set->columns; k++)
        if (!column_is_sound(&set->column[k]) || set->column[k].step > 1 || cells[k].count < 0 ||
            (!cells[k].data && (cells[k].count > 0 || !set->column[k].ragged)))
            return heed_fail(cx, HEED_ERR_USAGE, "dataset_add: column %d, or its cell, is not one", k);
    if (!grow_starts(cx, set)) return false;
    for (int k = 0; k < set->columns; k++) {
        heed_column *c = &set->column[k];
        const int64_t before = filled(set, c), count = c->ragged ? cells[k].count : 1;
        if (before + count > set->space[k]) {
            if (!grow(cx, &c->data, before + count, column_bytes(c))) return false;
            set->space[k] = 2 * (before + count);
        }
        if (count > 0)
            memcpy((char *)c->data + (size_t)before * column_bytes(c), cells[k].data, (size_t)count * column_bytes(c));
    }
    for (int k = 0; k < set->columns; k++)
        if (set->column[k].ragged) set->column[k].start[set->n + 1] = filled(set, &set->column[k]) + cells[k].count;
    set->n++;
    return true;
}

void heed_dataset_free(heed_ctx *cx, heed_dataset *set) {
    if (!set) return;
    for (int k = 0; set->owned && k < set->columns; k++) {
        heed_mem_free(cx, set->column[k].data);
        heed_mem_free(cx, set->column[k].start);
    }
    *set = (heed_dataset){0};
}
