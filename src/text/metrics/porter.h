/* Porter's stemmer for English. */
#ifndef TEXT_METRICS_PORTER_H
#define TEXT_METRICS_PORTER_H

#include <stddef.h>

/* Cuts a word of ASCII letters, lower case, to its stem; the new size, which is never larger. */
size_t porter_stem(char *word, size_t size);

#endif
