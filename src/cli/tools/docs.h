/* What `heed docs` prints, each from the tables of commands and options. */
#ifndef CLI_TOOLS_DOCS_H
#define CLI_TOOLS_DOCS_H

#include "heed/fields.h"

struct command;
struct heed_task;

void docs_man(void);                                  /* heed(1) */
void docs_man_command(const struct command *command); /* heed-COMMAND(1) */
void docs_commands(void);                             /* the commands that have a page, a line each */
void docs_models(void);                               /* docs/reference/models.md */
void docs_help(void);                                 /* docs/reference/commands.md */
void docs_bash(void);
void docs_zsh(void);

/* The options of a table under its headings; of those that stand on this page already, in `shown`, only what differs.
 * Of the page of a task, or NULL. */
void docs_table(const struct heed_task *task, const heed_field *table, const heed_field *shown,
                void (*heading)(const char *name), void (*option)(const struct heed_task *, const heed_field *));

#endif
