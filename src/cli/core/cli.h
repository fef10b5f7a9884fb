/* The command line: what the commands share. One file per command, which describes itself in a struct command; main.c
 * lists them. From the description and its option table come --help, the man page and the shells' completions.
 *
 * Results go to standard output, messages to standard error. Exit status: 0 success, 1 failure, 2 wrong usage, 130
 * after Ctrl-C, 143 after SIGTERM. */
#ifndef CLI_CORE_CLI_H
#define CLI_CORE_CLI_H

#include "base/text.h"
#include "heed/fields.h"
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 }; /* EXIT_SIGNAL + 2 after Ctrl-C */

struct command {
    const char *name, *summary;
    const char *words;                 /* what follows the name: "DIR", "FAMILY DIR"; NULL: options only */
    const char *about;                 /* paragraphs, parted by an empty line; wrapped when shown */
    const heed_field *options;         /* its own; common_options come after them. NULL: takes none */
    const char *often;                 /* of its options and its tasks', those to show first, separated by spaces */
    const char *examples;              /* whole lines, each a command to type */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
    bool hidden;                       /* not in the overview */
    const char *(*first)(int i);       /* the names that its first word may be, for completions; NULL after the last */
    /* Page i of those that its first word may be, where each has options of its own; NULL after the last. `options` are
     * then those that all of them have. */
    const struct command *(*task)(int i);
    const struct heed_task *of_task; /* whose page it is; NULL: a command's */
};

#define COMMAND(name) extern const struct command name##_command;
#include "cli/core/commands.def"
#undef COMMAND

/* Command i of this build, in the order of the overview; NULL after the last. */
const struct command *cli_command(int i);

/* Says "heed: SENTENCE" in one line on standard error and returns `status`. The sentence reads "what: why". */
int cli_error(int status, const char *format, ...) HEED_PRINTF(2, 3);

/* Text of unknown origin on one line that cannot steer a terminal: control characters are printed as escapes (\n,
 * \x1B). */
void cli_print_text(FILE *to, const char *text);

/* A printable text in so many columns of a table: filled with spaces, or cut with an ellipsis; to the right where
 * `columns` is negative. */
void cli_print_cell(FILE *to, const char *text, int columns);

/* "512 bytes", "1.31 MB". */
const char *cli_size(size_t bytes, char out[32]);

/* The family of that name, or NULL after saying that there is none. */
const struct heed_family *cli_family(const char *command, const char *name);
const char *cli_family_name(int i); /* NULL after the last */

/* Standard output as a terminal for pictures: its colours, and its columns up to `widest`; 80 where it is none. */
struct heed_terminal cli_terminal(int widest);

/* From the tables. */
void help_overview(void);
void help_command(const struct command *command, const struct command *task); /* task NULL: the command itself */
/* What is said of an option: its help, its choices, its default, "5e-4; with --init 5e-5"; and on the page of a task
 * the defaults that its ways have instead: "0.01; of texts 5e-4, with --init 5e-5". task NULL: the page is a command's.
 */
#define HELP_OPTION 1024
void help_option(const struct heed_task *task, const heed_field *option, char *out, size_t size);
int help_width(const char *s, size_t n);                 /* characters of n bytes */
void help_wrapped(const char *text, int at, int indent); /* from column `at` on, further lines at `indent` */

#endif
