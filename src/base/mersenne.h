/* PyTorch's normal numbers on the CPU: what torch.manual_seed(seed); torch.randn(n) gives, to the last few bits. The
 * generator is MT19937 (Matsumoto and Nishimura 1998). From 16 numbers on they are made of uniform ones of 24 bits in
 * blocks of 16, whose halves are the radius and the angle of Box-Muller; fewer are made in pairs of 53 bits. */
#ifndef BASE_MERSENNE_H
#define BASE_MERSENNE_H

#include <stdint.h>

void mersenne_normal(uint64_t seed, float *out, int64_t n);

#endif
