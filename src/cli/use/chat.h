/* Conversations with a model: heed generate --chat, and the template that a directory has. */
#ifndef CLI_USE_CHAT_H
#define CLI_USE_CHAT_H

#include "cli/core/options.h"
#include "heed/chat.h"
#include "heed/generate.h"

bool chat_has_template(const char *dir);
bool chat_write_template(heed_ctx *cx, const char *dir, const heed_chat_format *f); /* as chat_template.jinja */

/* The format in which a model is taught conversations. */
struct chat_choice {
    heed_chat_format format;
    bool own;  /* not that of the directory that it begins with */
    int added; /* special tokens of the format that the tokenizer lacked */
};
/* The one asked for, else that of the directory, else ChatML. dir: of the model or the tokenizer that is trained
 * further; NULL: none. Special tokens that are lacking are added: *tokens is then another tokenizer. */
bool chat_choose(heed_ctx *cx, const char *asked, const char *dir, heed_tokenizer **tokens, struct chat_choice *to);

/* A conversation: at a terminal as it is typed, else a line of the user in, a line of the assistant out. opts: how
 * answers are decoded. */
bool chat_run(const struct options *o, heed_ctx *cx, const heed_generator *g, const char *dir,
              const heed_generate_opts *opts);

#endif
