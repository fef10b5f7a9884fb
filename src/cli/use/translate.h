/* Commands that turn lines of text into others, with an encoder-decoder. */
#ifndef CLI_USE_TRANSLATE_H
#define CLI_USE_TRANSLATE_H

#include "cli/core/options.h"
#include "heed/translate.h"

struct translating {
    const char *command; /* its name */
    const char *answer;  /* what --json calls the text of an answer */
    heed_translator *(*open)(heed_ctx *cx, const char *dir);
};
int translate_run(int argc, char **argv, const heed_field *options, const struct translating *how);

#endif
