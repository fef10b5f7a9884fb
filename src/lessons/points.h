/* Points (x, y) and attention pooling over them: shared by the lessons average-pooling, nadaraya-watson and
 * parametric-pooling. */
#ifndef LESSONS_POINTS_H
#define LESSONS_POINTS_H

#include "lessons/lesson.h"

/* n points, sorted by x when that is one number. All numbers are f32 numbers, so that models see the same. */
struct points {
    int64_t n, width;            /* numbers in an x */
    double *x, *y;               /* (n, width), (n) */
    double *unit;                /* (width): x times this is what the file held; 1 for heed's own points */
    const char *x_name, *y_name; /* of the axes: the columns of a table with a header, else x and y */
};

/* y = 2 sin x + x^0.8 + N(0, 0.5^2), x in [0, 5) (Schönhuth, Bielefeld 2023, after Zhang, Lipton, Li and Smola, Dive
 * into Deep Learning), and y = 2 sin x + x + N(0, 1), x in [0, 4] (Martínez-Ramón, Ajith and Kurup). `part`: training
 * points 0, validation points 1. */
enum points_set { POINTS_FIRST, POINTS_SECOND };
double points_truth(enum points_set set, double x);
bool points_draw(struct lesson_run *r, enum points_set set, int64_t n, uint64_t part, struct points *p);
/* --data: a table whose last column is y, unless --target says otherwise. Each column of x is divided by its deviation,
 * so that a width of 1 means the same in all of them. */
bool points_load(struct lesson_run *r, struct points *p);
/* n equally spaced x from low to high, without y. */
bool points_grid(struct lesson_run *r, double low, double high, int64_t n, struct points *p);

enum kernel { KERNEL_GAUSSIAN, KERNEL_BOXCAR, KERNEL_TRIANGULAR, KERNEL_EPANECHNIKOV, KERNELS };
extern const char *const kernel_names[KERNELS];

/* Nadaraya-Watson weights of every key for one query (width numbers): K(u_i) / sum_j K(u_j), u = |x - x_i| / h, over
 * all keys but number `without` (-1: none). A query that no kernel reaches attends to its nearest keys alone, equally
 * when several are equally near. */
void kernel_weights(enum kernel kernel, double h, const double *query, const struct points *keys, int64_t without,
                    double *weights);
/* The answers f(x) for all queries, and their weights (queries, keys) when `weights` is not NULL. With `own` the
 * queries are the keys themselves, each left out of its own answer. */
bool kernel_pool(struct lesson_run *r, enum kernel kernel, double h, const struct points *queries,
                 const struct points *keys, bool own, double *answers, double *weights);

double root_mean_square(const double *a, const double *b, int64_t n); /* of a - b */
/* How many keys a query attends to: exp of the entropy of its weights, the mean over the queries. */
double keys_attended(const double *weights, int64_t queries, int64_t keys);

#endif
