/* heed/dataset.h: data sets as named columns, and batches of them.
 *
 * A column is what a model takes under its name: x, input_ids, labels. Its examples have a fixed shape or, in a ragged
 * column, any length; batches pad them. Tables and pictures (heed_data_columns), parallel text (heed_pairs_columns) and
 * whatever a program adds row by row (heed_dataset_add) are data sets alike. */
#ifndef HEED_DATASET_H
#define HEED_DATASET_H

#include "heed/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_COLUMNS_MAX 8      /* of a data set */
#define HEED_COLUMN_RANK 3      /* of an example, or of an element of a ragged column */
#define HEED_NO_LABEL    (-100) /* a label that does not count, as in PyTorch */

typedef struct heed_column {
    const char *name; /* stays the caller's */
    heed_dtype type;  /* HEED_F32, HEED_I32, or HEED_U8, which batches hold as f32: byte * scale + shift */
    int rank;         /* of an example; of an element of a ragged column */
    int64_t shape[HEED_COLUMN_RANK]; /* of the same */
    void *data;                      /* all examples; NULL: the transform makes them */
    bool ragged;                     /* example i is elements start[i * step] up to start[i * step + 1] */
    int64_t *start;
    int64_t step;     /* 0: 1 */
    int32_t fill;     /* what pads a ragged column */
    bool length_last; /* of a ragged column of HEED_I32: batches hold (n, shape…, longest), not (n, longest, shape…) */
    const char *mask; /* of a ragged column: batches add this input, 1 for elements and 0 for padding; NULL: none */
    float scale, shift;
} heed_column;

typedef struct heed_dataset {
    int64_t n;
    int columns;
    heed_column column[HEED_COLUMNS_MAX];
    const char *counts; /* the column whose entries, but for negative ones, are what the mean loss is a mean of; NULL:
                         * examples are */
    bool owned;         /* the memory is heed_dataset_add's; else it is a view of another's */
    int64_t room, space[HEED_COLUMNS_MAX]; /* examples, and elements of each column, that there is memory for */
} heed_dataset;

/* A piece of a row: `count` elements of a ragged column, or the example of a fixed one. */
typedef struct heed_cell {
    void *data;
    int64_t count;
} heed_cell;
/* Adds an example to a data set that this function alone filled; cells are copied, one for each column. */
HEED_API bool heed_dataset_add(heed_ctx *cx, heed_dataset *set, const heed_cell *cells);
HEED_API void heed_dataset_free(heed_ctx *cx, heed_dataset *set); /* of what heed_dataset_add took; then it is {0} */
HEED_API int heed_dataset_find(const heed_dataset *set, const char *name); /* the column's number, or -1 */
/* Elements of example i in a ragged column; 1 in a fixed one. */
HEED_API int64_t heed_dataset_length(const heed_dataset *set, int column, int64_t i);
HEED_API int64_t heed_dataset_width(const heed_dataset *set, int64_t i); /* the longest of them */

/* The last `fraction` (at least 0, less than 1) of a permutation of (seed) of n examples becomes *second, the rest
 * *first: owned by the caller (heed_mem_free). Neither is empty, unless fraction is 0. */
HEED_API bool heed_rows_split(heed_ctx *cx, int64_t n, double fraction, uint64_t seed, int64_t **first,
                              int64_t *n_first, int64_t **second, int64_t *n_second);

/* ---- groups: batches of examples of similar length ---- */
typedef struct heed_groups {
    int64_t n;
    int64_t *row;   /* examples, group by group */
    int64_t *start; /* (n + 1): group g is row[start[g]] to row[start[g+1]] */
} heed_groups;
/* One of three is given. Examples are sorted by their lengths, in the last column first; equals are shuffled. */
typedef struct heed_groups_opts {
    int64_t tokens;      /* at most so many in a group and ragged column, padding included, or a single example */
    int64_t examples;    /* so many in a group; the last may be smaller */
    int64_t groups;      /* so many of similar size by tokens; at most the number of examples */
    const int64_t *rows; /* which examples; NULL: all */
    int64_t n_rows;
    uint64_t seed;
} heed_groups_opts;
HEED_API bool heed_dataset_group(heed_ctx *cx, const heed_dataset *set, const heed_groups_opts *opts,
                                 heed_groups *groups);
HEED_API void heed_groups_free(heed_ctx *cx, heed_groups *groups);

/* ---- batches ---- made ahead by a thread of their own where that pays; what they hold depends on (seed, epoch,
 * position) alone. Examples are shuffled in epoch e by the permutation of stream e, groups by that of stream e + 1. A
 * batch may come in parts, to save memory: several backward passes for one update. */
typedef struct heed_batches heed_batches;
typedef struct heed_batch_column {
    const char *name;
    heed_dtype type; /* HEED_F32 or HEED_I32 */
    int rank;
    int64_t shape[HEED_COLUMN_RANK + 2]; /* (n, …), of a ragged column (n, longest, …) */
    const void *data;
} heed_batch_column;
typedef struct heed_batch {
    int64_t n;          /* examples; the last batch of an epoch may be smaller */
    const int64_t *row; /* (n): which of the data set */
    int columns;        /* the data set's, then masks */
    heed_batch_column column[2 * HEED_COLUMNS_MAX];
    int64_t epoch, index; /* this is batch `index` of epoch `epoch`, */
    int64_t part, parts;  /* part `part` of it */
    int64_t weight;       /* what its mean loss is a mean of: examples, or entries of `counts`, */
    int64_t total;        /* and that of all parts */
    bool last;            /* batch of its epoch */
} heed_batch;
/* What is drawn anew in each epoch (masked words, crops): a function of seed, epoch and row. It changes the copy of a
 * row that a batch gets; lengths stay. It is called by another thread. */
typedef void (*heed_transform)(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells);
typedef struct heed_batches_opts {
    int64_t batch;               /* examples in a batch, at most n_rows; or */
    const heed_groups *groups;   /* batches are these groups, which must stay */
    int64_t micro, micro_tokens; /* a part is at most so many examples, or tokens, padding included, or a single
                                  * example; both 0: a batch is one part */
    bool shuffle;
    uint64_t seed;
    const int64_t *rows; /* which examples, without groups; NULL: all n_rows = n */
    int64_t n_rows;
    const float *mean, *std;  /* standardise column "x", (x - mean) / std; both NULL: as it is */
    heed_transform transform; /* NULL: none */
    const void *own;          /* the transform's */
    int64_t epoch, index; /* the first batch: a resumed run continues mid-epoch; an index may reach into later epochs */
} heed_batches_opts;
/* The numbers of the data set must stay as they are until the batches are closed; the struct, and what opts points to,
 * are copied, but for groups. */
HEED_API heed_batches *heed_batches_open(heed_ctx *cx, const heed_dataset *set, const heed_batches_opts *opts);
/* The next part of a batch, for ever, epoch after epoch; valid until the next call. NULL when something failed. */
HEED_API const heed_batch *heed_batches_next(heed_ctx *cx, heed_batches *batches);
HEED_API void heed_batches_close(heed_ctx *cx, heed_batches *batches);
HEED_API int64_t heed_batches_per_epoch(const heed_batches *batches);
HEED_API int64_t heed_batches_parts(const heed_batches *batches); /* most parts of a batch */
/* The numbers of a column; NULL: there is no such column, or of the other type. */
HEED_API const float *heed_batch_f32(const heed_batch *batch, const char *name);
HEED_API const int32_t *heed_batch_i32(const heed_batch *batch, const char *name);
/* The same as a tensor, which borrows them. */
HEED_API heed_tensor *heed_batch_tensor(heed_ctx *cx, const heed_batch *batch, const char *name);

#ifdef __cplusplus
}
#endif
#endif
