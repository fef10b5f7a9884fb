/* Options: one table per command, from which parsing, --help, the man page and the shells' completions come.
 *
 * A command declares its table and asks for values by name; asking for a name that is not in the table, or as another
 * kind, is a mistake of ours that the tests of the tables find. Values come from the defaults, then from --recipe FILE,
 * then from the command line; a list holds the recipe's values and then the command line's. */
#ifndef CLI_CORE_OPTIONS_H
#define CLI_CORE_OPTIONS_H

#include "cli/core/cli.h"
#include "heed/io.h"
#include "io/fields.h"
#include <stdio.h>

/* --threads, --seed, --memory, --profile, --quiet, --recipe, --help: every command has them. */
extern const heed_field common_options[];
/* For the tables of commands whose result is data. */
#define JSON_OPTION                                                                                                    \
    { .name = "json", .help = "the result as JSON" }
/* What it asks for, with a new line behind it; indent 0: in one line. */
void json_answer(heed_ctx *cx, FILE *to, heed_json value, int indent);

struct options; /* what was given */

/* Reads argv[1…]; NULL after saying what is wrong (exit status EXIT_USAGE). `command` is what messages call it ("train
 * classify"). Words that are not options are kept in order: at least `least` and at most `most` of them, described by
 * `words` ("DIR", "FAMILY DIR"). */
struct options *options_read(const char *command, const heed_field *table, int argc, char **argv, int least, int most,
                             const char *words);
void options_free(struct options *o);

const char *options_command(const struct options *o);         /* what messages call it */
const struct values *options_values(const struct options *o); /* all of them, for the library */
int options_words(const struct options *o);
const char *options_word(const struct options *o, int i);

/* Of two options that exclude each other, the command line overrides the recipe; false after
 * saying that both were given in one place. */
bool options_either(struct options *o, const char *a, const char *b);
bool option_known(const struct options *o, const char *name); /* the table has it */
bool option_given(const struct options *o, const char *name); /* on the command line or in the recipe */
bool option_flag(const struct options *o, const char *name);
int64_t option_int(const struct options *o, const char *name);
double option_number(const struct options *o, const char *name);
/* Of texts, files and choices: NULL when there is none; option_need then also says that it is needed. */
const char *option_text(const struct options *o, const char *name);
const char *option_need(const struct options *o, const char *name);
/* Whether there is a folder for the files of these options, "png csv": long work is in vain otherwise. False after
 * saying which there is none for. */
bool option_writable(const struct options *o, const char *names);
int option_list(const struct options *o, const char *name, const char *const **values);
size_t option_bytes(const struct options *o, const char *name);

/* A context with the threads, seed and budget asked for; Ctrl-C and SIGTERM cancel what it does. NULL after saying what
 * is wrong (exit status EXIT_FAILED). */
heed_ctx *options_open(const struct options *o);
/* The same for training: a run holds it to the budget asked for once it knows what it needs. After options_train
 * signals cancel nothing, as the loop looks at interrupted() itself. */
heed_ctx *options_open_roomy(const struct options *o);
/* A dry context, to find out what a run needs; one at a time. Weights that it loads are real memory, of which it takes
 * what --memory allows, or a gigabyte where that is more, and fails when that is not enough: then options_dry_needed
 * says how many bytes are needed at least, else 0. */
heed_ctx *options_open_dry(const struct options *o);
size_t options_dry_needed(void);
void options_train(heed_ctx *cx);
/* A context to look into a directory with, before it is known what the command does with it: of one thread, and within
 * the budget asked for, as what lies there may take any memory. Never NULL but for want of memory. */
heed_ctx *cli_peek(void);
size_t options_memory(void); /* the budget of the options read last; 0: none */
/* Says that more memory is needed than --memory allows, in the unit in which that was given, and returns EXIT_FAILED;
 * total: the work needs these bytes, otherwise at least these. */
int options_over_budget(const struct options *o, size_t needed, bool total);
/* Says "heed: SENTENCE" when the context has failed, prints the profile when it was asked for, closes it, and returns
 * the exit status: `status`, or EXIT_FAILED, or EXIT_SIGNAL and its number after a signal. */
int options_close(const struct options *o, heed_ctx *cx, int status);
bool interrupted(void);        /* Ctrl-C has been pressed, or SIGTERM has come */
void interrupted_forget(void); /* the program goes on: Ctrl-C ended a part of its work */

#endif
