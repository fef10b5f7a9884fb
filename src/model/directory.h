/* Directories that are written into. */
#ifndef MODEL_DIRECTORY_H
#define MODEL_DIRECTORY_H

#include "heed/base.h"

/* Makes dir and those above it, where they are not there yet; false with a sentence when it cannot be written into. */
bool directory_make(heed_ctx *cx, const char *dir);

#endif
