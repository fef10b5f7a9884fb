/* Figures of what a test has learnt, as those of tests/cli/expect.inc: tools/check_seeds.sh runs the test with other
 * seeds on all instruction sets and collects its lines "figure: NAME<tab>RELATION<tab>VALUE<tab>BAR". */
#ifndef TESTS_FIGURE_H
#define TESTS_FIGURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The seed of the training: HEED_TEST_SEED, or what the test takes where none is asked for. */
static inline uint64_t test_seed(uint64_t otherwise) {
    const char *asked = getenv("HEED_TEST_SEED");
    return asked ? strtoull(asked, NULL, 10) : otherwise;
}

#define at_most(name, value, bar)                                                                                      \
    do {                                                                                                               \
        printf("figure: %s\tat most\t%.6g\t%.6g\n", name, (double)(value), (double)(bar));                             \
        assert_true((value) <= (bar)); /* false for what is not a number */                                            \
    } while (0)

#endif
