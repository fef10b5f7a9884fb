/* Chunks of tagged words, and how many of them are found: the figures of seqeval (Nakayama 2018), which are those of
 * conlleval (Tjong Kim Sang and Buchholz 2000). */
#ifndef TASK_TEXT_NER_CHUNKS_H
#define TASK_TEXT_NER_CHUNKS_H

#include "heed/base.h"

/* Are these the names of chunk tags: O, and B-, I-, E-, S- with a type behind? */
bool chunks_named(char **names);

struct chunk {
    const char *type;
    int64_t first, last; /* words */
};
/* The next chunk of n words from word *at on, which moves behind it; false: there is none. A tag below 0 is O. */
bool chunks_next(char **names, const int32_t *tag, int64_t n, int64_t *at, struct chunk *found);

struct chunk_counts {
    int64_t truth, said, right;
};
/* Adds the chunks of one sentence. */
void chunks_count(char **names, const int32_t *truth, const int32_t *said, int64_t n, struct chunk_counts *counts);

#endif
