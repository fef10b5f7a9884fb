/* Where the ticks of an axis stand and what is written at them. Shared by files and terminal. */
#ifndef PLOT_TICKS_H
#define PLOT_TICKS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_TICKS  24
#define MAX_MINORS 96
#define LABEL_SIZE 40

struct ticks {
    int n, minors;
    double at[MAX_TICKS], minor[MAX_MINORS]; /* rising, within the range asked for */
    char label[MAX_TICKS][LABEL_SIZE];       /* all in one form: as many decimals, one unit */
};

/* At most `most` ticks (at least 2) at multiples of 1, 2, 2.5 or 5 times a power of ten within [low, high], which must
 * be finite and low < high. whole: at integers only, for axes that count. ascii: no letters beyond it in the labels. */
void ticks_linear(struct ticks *t, double low, double high, int most, bool whole, bool ascii);
/* At powers of ten, or 1-2-5 between them where the range is short; the minors at 2 to 9 are not labelled. low > 0. */
void ticks_log(struct ticks *t, double low, double high, int most, bool ascii);

/* One number by itself, with so many decimals; very large and very small ones as a power of ten. */
void number_label(char out[static LABEL_SIZE], double value, int decimals, bool ascii);
/* The decimals that show numbers of this size with three digits or so. */
int number_decimals(double largest);
int values_decimals(const float *values, int64_t n); /* that show all of these; none where all are whole */

/* How the numbers of a heat map are written into its cells: all with as many decimals, 0 where those show nothing else.
 * Attention weights have two, without the 0 before the point, and nothing is written below 0.005. */
struct cells {
    int decimals;
    double least;
    bool weights;
};
struct cells cells_of(const float *values, int64_t n, bool weights);
void cell_label(char out[static LABEL_SIZE], double value, struct cells cells, bool ascii);

/* A range of data made fit for an axis: empty or constant ones get some width; others a margin of that share of it. */
struct range {
    double low, high;
};
static inline struct range range_none(void) { return (struct range){(double)INFINITY, -(double)INFINITY}; }
static inline bool range_empty(struct range r) { return !(r.low <= r.high); }
void range_add(struct range *r, double value, bool log); /* leaves out what the axis cannot show */
struct range range_axis(struct range r, double margin, bool log);

#endif
