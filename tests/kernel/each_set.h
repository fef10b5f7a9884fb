/* Tests that are run on every instruction set of this build that the CPU has. */
#ifndef TESTS_EACH_SET_H
#define TESTS_EACH_SET_H

#include "kernel/isa.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Once per set, in a child each, for the choice is made once per process; HEED_ISA, when set, chooses one. */
static int run_each_set(int (*tests)(void)) {
    if (getenv("HEED_ISA")) return tests();
    const struct isa *sets[4];
    const int n = isa_all(sets);
    int failed = 0;
    for (int i = 0; i < n; i++) {
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            setenv("HEED_ISA", sets[i]->name, 1);
            fprintf(stderr, "== %s\n", sets[i]->name);
            exit(strcmp(isa_get()->name, sets[i]->name) == 0 ? tests() : 1);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) failed = 1;
    }
    return failed;
}

#endif
