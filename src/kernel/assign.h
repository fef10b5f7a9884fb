/* The linear assignment problem, in memory that the caller has: see heed/assign.h. */
#ifndef KERNEL_ASSIGN_H
#define KERNEL_ASSIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of work for a matrix of so many rows and columns; false: more than there are. */
bool kernel_assign_work(int64_t rows, int64_t columns, size_t *bytes);
enum assigned { ASSIGNED, ASSIGN_INVALID, ASSIGN_IMPOSSIBLE };
/* work: aligned to 64. */
enum assigned kernel_assign(const double *cost, int64_t rows, int64_t columns, int64_t *row, int64_t *column,
                            void *work);

#endif
