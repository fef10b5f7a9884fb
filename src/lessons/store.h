/* A query, named keys, and the weights between them: shared by the lessons on attention. */
#ifndef LESSONS_STORE_H
#define LESSONS_STORE_H

#include "heed/attention.h"
#include "lessons/lesson.h"

/* A query and n keys, each of `width` numbers. */
struct store {
    int64_t n, width;
    float *query, *keys; /* (width), (n, width) */
    const char **names;  /* (n) */
};

/* --data: a table of numbers whose first row is the query and whose other rows are the keys; a first column of words
 * names them. */
bool store_load(struct lesson_run *r, struct store *s);
bool store_make(struct lesson_run *r, int64_t n, int64_t width, const float *query, const float *keys,
                const char *const *names, struct store *s);
float store_norm(const float *x, int64_t n);

/* One head of attention from the query, (1,1,width), to the keys: the weights, (n), written to `weights`. */
bool store_weights(struct lesson_run *r, const struct store *s, const heed_score_opts *score, heed_normaliser how,
                   float *weights);
/* The numbers of a tensor, in memory of the lesson; NULL when the context has failed. */
float *numbers_of(struct lesson_run *r, heed_tensor *t);
/* The largest difference between two lists of n numbers. */
double numbers_apart(const float *a, const float *b, int64_t n);
/* Writes a map as a table of query, key, and what it holds. */
void map_table(struct lesson_run *r, const char *file, const char *const *queries, const char *const *keys,
               const char *what, const float *values, int64_t rows, int64_t cols);
/* How many keys a query attends to: exp of the entropy of its weights, the mean over the queries. */
double map_attended(const float *weights, int64_t rows, int64_t cols);

#endif
