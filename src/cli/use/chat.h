/* Conversations with a model: heed generate --chat. */
#ifndef CLI_USE_CHAT_H
#define CLI_USE_CHAT_H

#include "cli/core/options.h"
#include "heed/generate.h"

/* A conversation: at a terminal as it is typed, else a line of the user in, a line of the assistant out. opts: how
 * answers are decoded. */
bool chat_run(const struct options *o, heed_ctx *cx, const heed_generator *g, const char *dir,
              const heed_generate_opts *opts);

#endif
