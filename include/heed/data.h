/* heed/data.h: data sets in memory, and batches of them. */
#ifndef HEED_DATA_H
#define HEED_DATA_H

#include "heed/base.h"
#include "heed/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n examples of `width` numbers. Targets: classes (label) or `outputs` numbers each (y), or neither. Pictures say their
 * height, width and channels. Inputs are kept as f32, or as bytes with a scale and shift (x = byte * scale + shift),
 * which is what image files are. */
typedef struct heed_data {
    int64_t n, width;
    float *x;
    uint8_t *bytes;
    float scale, shift;
    int32_t *label;
    int64_t classes;
    float *y;
    int64_t outputs;
    int64_t image_height, image_width, image_channels; /* 0: vectors */
    char **x_names, **y_names, **class_names;          /* NULL when unknown */
} heed_data;

typedef enum heed_data_task { HEED_DATA_REGRESS, HEED_DATA_CLASSIFY } heed_data_task;
typedef struct heed_data_opts {
    heed_data_task task;
    const char *target;     /* column of a table: its name or number (from 1); NULL: the last */
    const char *const *use; /* columns to take as inputs, NULL-terminated; NULL: all others */
    const char *part;       /* of a directory in a known layout: "train" or "test"; NULL: train */
    const heed_data *like;  /* class names and columns as in this one: for the test set of a training set */
} heed_data_opts;

/* Reads a table (.csv, .tsv, each also .gz), MNIST's IDX files (a directory that has them, .gz or not), a pair of npy
 * files ("x.npy,y.npy"), by what the path is. Wrong data is named with file, line and column; NaN and infinity are
 * refused. */
HEED_API heed_data *heed_data_load(heed_ctx *cx, const char *path, const heed_data_opts *opts);
/* Digits drawn by strokes of our own with random slant, thickness, place and noise: n pictures of 28 x 28 bytes;
 * picture i depends on (seed, i) alone. */
HEED_API heed_data *heed_data_digits(heed_ctx *cx, uint64_t seed, int64_t n);
HEED_API void heed_data_free(heed_ctx *cx, heed_data *data);
/* The last `fraction` of a permutation of (seed) becomes *valid, the rest *train: indices into data, owned by the
 * caller (heed_mem_free). */
HEED_API bool heed_data_split(heed_ctx *cx, const heed_data *data, double fraction, uint64_t seed, int64_t **train,
                              int64_t *n_train, int64_t **valid, int64_t *n_valid);
/* Mean and deviation of each input column over some examples (NULL: all), for standardising. */
HEED_API bool heed_data_moments(heed_ctx *cx, const heed_data *data, const int64_t *rows, int64_t n, float *mean,
                                float *deviation);

/* ---- batches ---- made ahead by a thread of their own; what they hold depends on (seed, epoch, position) alone */
typedef struct heed_batches heed_batches;
typedef struct heed_batch {
    int64_t n;            /* examples; the last batch of an epoch may be smaller */
    const float *x;       /* (n, width) */
    const int32_t *label; /* (n) or NULL */
    const float *y;       /* (n, outputs) or NULL */
    int64_t epoch, index; /* this is batch `index` of epoch `epoch` */
    bool last;            /* of its epoch */
} heed_batch;
typedef struct heed_batches_opts {
    int64_t batch;
    bool shuffle;
    uint64_t seed;
    const int64_t *rows; /* which examples; NULL: all n_rows = data->n */
    int64_t n_rows;
    const float *mean, *deviation; /* standardise inputs; NULL: as they are */
    int64_t epoch, index;          /* where to begin: a resumed run goes on mid-epoch */
} heed_batches_opts;
HEED_API heed_batches *heed_batches_open(heed_ctx *cx, const heed_data *data, const heed_batches_opts *opts);
/* The next batch, for ever, epoch after epoch; valid until the next call. NULL when something failed. */
HEED_API const heed_batch *heed_batches_next(heed_ctx *cx, heed_batches *batches);
HEED_API void heed_batches_close(heed_ctx *cx, heed_batches *batches);
HEED_API int64_t heed_batches_per_epoch(const heed_batches *batches);

#ifdef __cplusplus
}
#endif
#endif
