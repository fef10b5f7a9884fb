/* What learning to write and writing share. */
#ifndef TASK_HANDWRITING_HANDWRITING_H
#define TASK_HANDWRITING_HANDWRITING_H

#include "heed/handwriting.h"

/* Adds the ids of a text's characters; one that is not among `characters` fails the context. */
bool handwriting_encode(heed_ctx *cx, const char *characters, const char *text, heed_ids *to);

#endif
