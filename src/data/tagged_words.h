/* Sentences of words with their tags. */
#ifndef DATA_TAGGED_WORDS_H
#define DATA_TAGGED_WORDS_H

#include "heed/text.h"

struct tagged_words {
    const heed_word *word; /* (words) */
    const int64_t *first;  /* (sentences + 1): the words of sentence i are those from first[i] up to first[i + 1] */
    const int32_t *label;  /* (words) */
    char **names;          /* (classes) */
    int64_t words, sentences, classes;
};

#endif
