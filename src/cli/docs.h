/* What `heed docs` prints, each from the tables of commands and options. */
#ifndef CLI_DOCS_H
#define CLI_DOCS_H

void docs_man(void);
void docs_models(void); /* docs/models.md */
void docs_bash(void);
void docs_zsh(void);

#endif
