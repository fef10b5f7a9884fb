/* heed/assign.h: the linear assignment problem: every row of a matrix of costs gets a column of its own, so that the
 * sum of the costs is least. */
#ifndef HEED_ASSIGN_H
#define HEED_ASSIGN_H

#include "heed/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cost (rows, columns); a place of +infinity is forbidden. min(rows, columns) pairs are written, row[k] with column[k],
 * in order of the rows; where there are more rows than columns, each column gets a row. Of assignments that cost the
 * same it finds the one that scipy.optimize.linear_sum_assignment finds, of which it is the algorithm (Crouse 2016).
 * False: a cost is NaN or -infinity, or what is forbidden leaves no assignment. */
HEED_API bool heed_assign(heed_ctx *cx, const double *cost, int64_t rows, int64_t columns, int64_t *row,
                          int64_t *column);

#ifdef __cplusplus
}
#endif
#endif
