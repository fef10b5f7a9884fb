/* What a test needs beside the project. */
#ifndef TESTS_GIVEN_H
#define TESTS_GIVEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* The directory that HEED_DATA names, where it holds `name`; otherwise the test is skipped, and says so. */
static inline const char *given(const char *name) {
    const char *const data = getenv("HEED_DATA");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", data ? data : "", name);
    if (data && access(path, R_OK) == 0) return data;
    print_message("skipped: HEED_DATA does not say where %s is\n", name);
    skip();
    return NULL;
}

#endif
