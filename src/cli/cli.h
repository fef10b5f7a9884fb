/* The command line: what the commands share. One file per command; main.c lists them in one table.
 *
 * Results go to standard output, messages to standard error. Exit status: 0 success, 1 failure, 2 wrong usage. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "heed/base.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command {
    const char *name, *summary;
    const char *help;                  /* usage, options and examples, whole lines */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
};

int command_demo(int argc, char **argv);

/* Says "heed: SENTENCE" in one line on standard error and returns `status`. The sentence reads "what: why". */
int cli_error(int status, const char *format, ...) HEED_PRINTF(2, 3);
/* The name nearest to `word` by edit distance (a swap of neighbours counts one), or NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *names, int n);

#endif
