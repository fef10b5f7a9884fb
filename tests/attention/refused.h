/* A call that must fail, in the context cx, with a sentence that holds `part`. */
#ifndef TESTS_REFUSED_H
#define TESTS_REFUSED_H

#include "io/io_test.h"

#define REFUSED(call, part)                                                                                            \
    do {                                                                                                               \
        assert_false(call);                                                                                            \
        EXPECT_SENTENCE(cx, part);                                                                                     \
    } while (0)

#endif
