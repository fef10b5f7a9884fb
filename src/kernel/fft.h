/* Fourier transforms of any length, and the mixing of FNet that is made of them.
 *
 *     y = Re(F_T x F_C),   y[u,v] = sum_t sum_c x[t,c] cos(2 pi (u t / T + v c / C))         x, y (T,C), real
 *
 * Real input halves the work twice. With A = F_T x = a + i b, a row of y is sum_c a_c cos(2 pi v c / C) + b_c sin(…),
 * in which only the even part of a and the odd part of b count: it is the Hartley transform of their sum w, a row of
 * real numbers; and y[-u,-v] = y[u,v], so that rows u <= T/2 suffice. F_T of columns c and -c together, as real and
 * imaginary part of one sequence, gives w without further ado: w_c = (Re Z_u + Im Z_u) / 2, w_-c = (Re Z_-u +
 * Im Z_-u) / 2. Two rows of w are one sequence again. That is about C/2 transforms of length T and T/4 of length C.
 *
 * Lengths whose prime factors are at most FFT_PRIME take passes of radix 8, 4, 2, 3, 5 and these primes
 * (Stockham's self-sorting form, Cochran et al. 1967), others are a convolution by such a length (Bluestein 1970):
 * O(n log n) for all n. FFT_LANES sequences lie side by side, so that vectors are full whatever n is. */
#ifndef KERNEL_FFT_H
#define KERNEL_FFT_H

#include "base/thread_pool.h"

#define FFT_LANES ((int64_t)16)
#define FFT_PRIME 31 /* beyond, Bluestein's convolution costs less than the direct product */

/* x and y (batch, rows, cols) do not overlap; work: kernel_fourier_mix_work floats. */
int64_t kernel_fourier_mix_work(int64_t batch, int64_t rows, int64_t cols);
void kernel_fourier_mix(struct pool *pool, float *y, const float *x, int64_t batch, int64_t rows, int64_t cols,
                        float *work);

/* Pictures of which only frequencies f with low < f <= high are left:  y = F^-1 (mask . F x),   x and y (batch, planes,
 * rows, cols), real. With u and v waves down and along the picture, and s the smaller of rows and cols,
 * f = s sqrt((u / rows)^2 + (v / cols)^2), waves in the shorter side; low below 0 leaves the mean too. Two planes of a
 * picture are the real and the imaginary part of one transform, which a real and even mask keeps apart. work:
 * kernel_fourier_band_work floats. */
int64_t kernel_fourier_band_work(int64_t rows, int64_t cols);
void kernel_fourier_band(struct pool *pool, float *y, const float *x, int64_t batch, int64_t planes, int64_t rows,
                         int64_t cols, float low, float high, float *work);

#endif
