/* Conversations with a model: heed generate --chat, and the template that a directory has. */
#ifndef CLI_CHAT_H
#define CLI_CHAT_H

#include "cli/options.h"
#include "heed/chat.h"
#include "heed/generate.h"

bool chat_has_template(const char *dir);
bool chat_write_template(heed_ctx *cx, const char *dir); /* ChatML's, as chat_template.jinja */

/* A conversation: at a terminal as it is typed, else a line of the user in, a line of the assistant out. opts: how
 * answers are decoded. */
bool chat_run(const struct options *o, heed_ctx *cx, const heed_generator *g, const char *dir,
              const heed_generate_opts *opts);

#endif
