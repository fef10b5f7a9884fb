/* Directories that are written into. */
#ifndef MODEL_DIRECTORY_H
#define MODEL_DIRECTORY_H

#include "heed/base.h"

/* Makes dir and those above it, where they are not there yet; false with a sentence when it cannot be written into. */
bool directory_make(heed_ctx *cx, const char *dir);
bool directory_holds_model(const char *dir);
/* Copies the tokenizers that are in one model directory to another. */
bool directory_copy_tokenizers(heed_ctx *cx, const char *from, const char *to);
/* Removes a model directory with the files that heed writes there; one that holds others stays, with them. */
void directory_drop(const char *dir);

#endif
