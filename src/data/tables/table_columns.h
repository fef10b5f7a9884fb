/* A table while a data set is made of it: table.c chooses its columns, table_rows.c its rows and what they become. */
#ifndef DATA_TABLES_TABLE_COLUMNS_H
#define DATA_TABLES_TABLE_COLUMNS_H

#include "data/data.h"

struct sheet {
    heed_ctx *cx;
    const char *path;
    heed_table *table;
    const heed_data *like;                    /* what it should be like, or NULL */
    int64_t columns;                          /* of the table */
    int64_t *row, rows;                       /* which rows of the table are taken */
    int64_t *input, inputs, *target, targets; /* which columns */
    unsigned char *taken;                     /* what a column is: enum sheet_use */
};
enum sheet_use { SHEET_FREE, SHEET_CHOSEN, SHEET_DROPPED };

/* A column by its name, or else by its number from 1; -1 when there is none. */
int64_t sheet_find_column(const struct sheet *s, const char *name, size_t length);
/* Adds the columns "a,b" (one column, where it has that very name) to a list, unless they are taken; list NULL: they
 * are dropped. */
bool sheet_claim(struct sheet *s, const char *names, int64_t *list, int64_t *count);
bool sheet_claim_each(struct sheet *s, const char *const *names, int64_t *list, int64_t *count); /* ends in NULL */
char **sheet_names(const struct sheet *s, const int64_t *columns, int64_t count);                /* ends in NULL */

/* Of row i of those taken. */
const char *sheet_cell(const struct sheet *s, int64_t i, int64_t column);

/* Fails the context with "path: line 7, column 'age': ..."; the sentence must not be long. */
bool sheet_fail(const struct sheet *s, heed_status status, int64_t i, int64_t column, const char *format, ...)
    HEED_PRINTF(5, 6);

/* Takes the rows without a missing value in the chosen columns; others are refused or skipped. */
bool sheet_take_rows(struct sheet *s, const heed_data_opts *opts, int64_t *skipped);
/* out->x, width, columns and categories. */
bool sheet_inputs(const struct sheet *s, const heed_data *like, heed_data *out);
/* A column of numbers into out[0], out[stride], ... */
bool sheet_numbers(const struct sheet *s, int64_t column, float *out, int64_t stride);
/* The classes of a column: out->label, classes and class_names. */
bool sheet_classes(const struct sheet *s, int64_t column, const heed_data *like, heed_data *out);

/* ---- categories.c: the different words of a column, each with a number ---- */

struct numbered_word {
    struct word word;
    int64_t number;
};
struct vocabulary {
    struct numbered_word *list; /* sorted by word */
    int64_t n;
};
/* Of a column, numbered in the order of the words; blanks around a word do not count. */
bool vocabulary_of(const struct sheet *s, int64_t column, struct vocabulary *v);
/* Makes one of the n words that its list holds, in any order and some more than once. */
void vocabulary_sort(struct vocabulary *v, int64_t n);
/* Of at most `most` names, in any order; they keep their places as numbers. */
bool vocabulary_like(heed_ctx *cx, char **names, int64_t most, struct vocabulary *v);
/* The number of a word, -1 when it is not there. */
int64_t vocabulary_find(const struct vocabulary *v, const char *text);
/* The words by number, as a list that ends in NULL. */
char **vocabulary_names(heed_ctx *cx, const struct vocabulary *v);
struct word word_trimmed(const char *text);

#endif
