/* What `heed docs` prints, each from the tables of commands and options. */
#ifndef CLI_TOOLS_DOCS_H
#define CLI_TOOLS_DOCS_H

struct command;

void docs_man(void);                                  /* heed(1) */
void docs_man_command(const struct command *command); /* heed-COMMAND(1) */
void docs_commands(void);                             /* the commands that have a page, a line each */
void docs_models(void);                               /* docs/models.md */
void docs_bash(void);
void docs_zsh(void);

#endif
