/* How often slices of text occur: n-grams, words, quotes. */
#ifndef TEXT_STRINGS_COUNTS_H
#define TEXT_STRINGS_COUNTS_H

#include "heed/text.h"
#include "text/strings/hash_table.h"

/* One slice of some kind, which the table does not copy, and counts of it that are the caller's to use. */
struct count {
    const char *s;
    size_t size;
    int kind;
    int64_t have;      /* of the text that filled the table */
    int64_t now, best; /* of the text it is held against in this turn, and the most of any turn */
    int turn;
};

/* {.cx = cx} is empty. */
struct counts {
    heed_ctx *cx;
    struct count *entries;
    int64_t room;
    struct table table;
};

/* Its counts, all 0 when new; valid until the next call. NULL for want of memory. */
struct count *counts_at(struct counts *t, const char *s, size_t size, int kind);
/* The same, but NULL when there is none. With the occurrence counted in `now` of this turn. */
struct count *counts_meet(struct counts *t, const char *s, size_t size, int kind, int turn);
void counts_clear(struct counts *t);
void counts_free(struct counts *t);

#endif
