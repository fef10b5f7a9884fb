/* Rows of a data set as the padded arrays of a batch. Knows neither context nor allocator: a thread may do it. */
#ifndef DATA_COLLATE_H
#define DATA_COLLATE_H

#include "heed/dataset.h"

struct collator {
    const heed_dataset *set;
    heed_transform transform; /* NULL: none */
    const void *own;
    uint64_t seed;
    int x;                /* the column that factor and term are for, or -1 */
    float *factor, *term; /* bytes * factor + term; (f32 - term) * factor; NULL: f32 as it is */
};

/* Where the numbers of a batch go: arrays for the columns, then for the masks. */
struct collated {
    int64_t *row;
    void *array[2 * HEED_COLUMNS_MAX];
};

/* Numbers that the column of an array takes for n rows; array k of the columns, then the masks. */
int64_t collate_numbers(const heed_dataset *set, int array, const int64_t *row, int64_t n);
int collate_arrays(const heed_dataset *set);
/* Fills n, row, columns and weight of the batch; everything but what says which batch it is. */
void collate(const struct collator *c, int64_t epoch, const int64_t *row, int64_t n, struct collated *to,
             heed_batch *batch);

#endif
