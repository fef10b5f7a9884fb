/* Commands for the user to type next: this program as the shell finds it, words quoted. */
#ifndef CLI_CORE_PROGRAM_H
#define CLI_CORE_PROGRAM_H

#include <stdio.h>

void cli_set_program(const char *typed); /* argv[0] */
/* How to call this program again: its name where the PATH finds it by that, else as it was typed. */
const char *cli_program(void);
/* A word as a shell takes it back: as it is, or in single quotes. */
void cli_print_word(FILE *f, const char *word);
/* The program and words up to a NULL, with spaces between them. */
void cli_print_command(FILE *f, ...) __attribute__((sentinel));

#endif
