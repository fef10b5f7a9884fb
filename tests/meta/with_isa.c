/* with_isa SET PROGRAM: runs a test program with HEED_ISA=SET, or says that it was skipped when this CPU lacks the set,
 * so that a test on another set than the one asked for never counts as passed. Alone, it names the best set. */
#define _GNU_SOURCE
#include "kernel/isa.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc == 1) return puts(isa_get()->name) < 0;
    if (argc != 3 || setenv("HEED_ISA", argv[1], 1) != 0) return fputs("usage: with_isa [SET PROGRAM]\n", stderr), 2;
    if (strcmp(isa_get()->name, argv[1]) != 0) return printf("skipped: this CPU cannot run %s\n", argv[1]), 1;
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}
