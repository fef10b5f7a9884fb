/* Where the words of a text end: at blanks only, or at punctuation too. config.json says which; directories that say
 * nothing were made with blanks. */
#ifndef TEXT_STRINGS_SPLIT_H
#define TEXT_STRINGS_SPLIT_H

#include "heed/io.h"
#include "heed/text.h"

#define SPLIT_KEY    "split"
#define SPLIT_MARKS  "punctuation"
#define SPLIT_BLANKS "blanks"
/* clang-format off */
#define SPLIT_FIELD(standard_, note)                                                                                   \
    {.name = SPLIT_KEY, .kind = HEED_FIELD_CHOICE, .standard = standard_, .value = "KIND",                             \
     .choices = SPLIT_MARKS " " SPLIT_BLANKS,                                                                          \
     .help = "where words end: at blanks and punctuation, each mark a word of its own, or at blanks only; " note       \
             "one of"}
/* clang-format on */

bool split_marks(const char *kind);                     /* whether it is SPLIT_MARKS; NULL: no */
bool split_saved_marks(heed_ctx *cx, heed_json config); /* what config.json says */
void split_save(heed_ctx *cx, heed_json config, bool marks);
/* The words of a line: their number, and where they are (word NULL: they are only counted). */
int64_t split_words(const char *text, bool marks, heed_word *word);

#endif
