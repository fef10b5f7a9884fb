/* The chat format of a model directory, and the one in which a model is taught conversations. */
#ifndef TASK_TEXT_CHAT_TEMPLATE_H
#define TASK_TEXT_CHAT_TEMPLATE_H

#include "heed/chat.h"

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

#endif
