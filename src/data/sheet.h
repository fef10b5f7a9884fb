/* A table while a data set is made of it. */
#ifndef DATA_SHEET_H
#define DATA_SHEET_H

#include "data/data.h"

struct sheet {
    heed_ctx *cx;
    const char *path;
    heed_table *table;
    int64_t rows, columns;
    int64_t *input, inputs, *target, targets; /* which columns */
    unsigned char *taken;                     /* whether a column is one of them */
};

/* Fails the context with "path: line 7, column 'age': ..."; the sentence must not be long. */
bool sheet_fail(const struct sheet *s, heed_status status, int64_t row, int64_t column, const char *format, ...)
    HEED_PRINTF(5, 6);

/* The classes of a column: out->label, classes and class_names. */
bool sheet_classes(const struct sheet *s, int64_t column, const heed_data *like, heed_data *out);

#endif
