/* A table while a history is made of it: history.c chooses its columns, history_rows.c makes its rows even. */
#ifndef DATA_TABLES_HISTORY_COLUMNS_H
#define DATA_TABLES_HISTORY_COLUMNS_H

#include "data/tables/table_columns.h"
#include "heed/history.h"

struct reading {
    struct sheet s; /* row: those of the first series, then those of the second, ... */
    const heed_history_opts *o;
    heed_history *h;
    int64_t time, series;                                             /* columns; -1: none */
    int64_t *target, targets, *covariate, covariates, *known, knowns; /* columns */
    int64_t *group; /* (series + 1): series g is s.row[group[g]] to s.row[group[g + 1]] */
    double *at;     /* (rows) times, in the order of s.row */
    int64_t *place; /* (rows) which row of the history each becomes */
};

/* Times, and whether they are in step; where each row belongs, and how many there will be. */
bool reading_times(struct reading *r);
/* The numbers, missing ones filled where that was asked for, and those of the calendar. */
bool reading_numbers(struct reading *r);

#endif
