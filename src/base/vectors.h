/* VECTORS before a loop: its rounds are independent. gcc makes vectors at -O2 only of loops marked so; clang does by
 * itself, and warns where it may not. */
#ifndef BASE_VECTORS_H
#define BASE_VECTORS_H

#ifdef __clang__
#    define VECTORS
#else
#    define VECTORS _Pragma("omp simd")
#endif

#endif
