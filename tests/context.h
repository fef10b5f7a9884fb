/* A context for the tests of a file, made before each of them or before all. */
#ifndef TESTS_CONTEXT_H
#define TESTS_CONTEXT_H

#include "heed/base.h"

static heed_ctx *cx;

static int open_cx(void **state) {
    (void)state;
    cx = heed_open(&(heed_config){.threads = 1});
    return !cx;
}

static int close_cx(void **state) {
    (void)state;
    heed_close(cx);
    return 0;
}

#endif
