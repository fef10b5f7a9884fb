/* heed classify and heed embed on pictures. */
#ifndef CLI_USE_USE_PICTURES_H
#define CLI_USE_USE_PICTURES_H

#include "cli/core/options.h"

/* Is the model of this directory one of pictures? Without a sentence. */
bool pictures_are_read(const char *dir);
/* The same, or one of vectors that was trained on pictures, which can classify them. */
bool pictures_are_classified(const char *dir);

/* Is one of the words after the first a picture, which a model of text is not to read? True after saying so. */
bool pictures_given(const struct options *o);

/* The place of the next largest of n numbers after `last` (-1: none yet), of equals the first; n: there are no more. */
int64_t pictures_next_best(const float *p, int64_t n, int64_t last);

/* With the options of the commands for texts; the exit status. */
int pictures_classify(const struct options *o);
int pictures_embed(const struct options *o);

#endif
