/* Small edits of a text, one after the other, as a chain of s/this/that/g would do them.
 *
 * What fails (only memory can) fails the context and leaves the text whatever it was, so that a chain is checked once,
 * at its end. */
#ifndef TEXT_STRINGS_EDIT_H
#define TEXT_STRINGS_EDIT_H

#include "text/unicode/unicode.h"

struct edit {
    heed_ctx *cx;
    heed_string text, spare; /* an edit that changes something builds the new text in spare; then they change places */
};

bool edit_begin(struct edit *e, heed_ctx *cx, const char *text, size_t size);
void edit_end(struct edit *e);

void edit_put(struct edit *e, const char *from, const char *end); /* to spare */
void edit_swap(struct edit *e);                                   /* spare is the text now */
const char *edit_stop(const struct edit *e);                      /* where the text ends */

/* Every `from`, looked for from left to right, becomes `to`. */
void edit_replace(struct edit *e, const char *from, const char *to);
void edit_squeeze(struct edit *e); /* runs of blanks (U+0020 only) become one */
void edit_words(struct edit *e);   /* words with one blank between them, as " ".join(text.split()) in Python */
void edit_strip(struct edit *e);   /* white space off both ends */
void edit_strip_end(struct edit *e);
void edit_lower(struct edit *e); /* as Python's str.lower, the final sigma too */

bool text_is_space(int32_t c); /* Python's str.isspace: White_Space and the four separators 1C to 1F */
/* The next word of the text from *at on, a run without white space; with `marks`, as in BERT's basic tokenizer, each
 * punctuation mark is a word of its own. *at is then behind it. NULL: there is none. */
const char *text_next_word(const char **at, const char *end, bool marks, size_t *size);
bool text_is_digit(int32_t c); /* Python's \d: general category Nd */

#endif
