/* The Moses way, as its parts see each other. */
#ifndef TEXT_MOSES_MOSES_H
#define TEXT_MOSES_MOSES_H

#include "text/strings/edit.h"

enum moses_language { MOSES_EN, MOSES_DE, MOSES_FR };

/* Characters as sacremoses classes them, whose lists come from a Perl of some years ago: no Han and no Hangul
 * syllables, hardly anything beyond the basic plane. What is not on them is punctuation to the rules. */
bool moses_is_alphabetic(int32_t c);
bool moses_is_alpha(int32_t c); /* alphabetic, or one of the marks that join or change letters in Indic scripts */
bool moses_is_number(int32_t c);
bool moses_is_alnum(int32_t c); /* alpha, or a decimal digit */
bool moses_is_lower(int32_t c);
bool moses_is_currency(int32_t c);

/* Whether the size bytes at `word`, which a full stop follows, are an abbreviation; or one before numbers only. */
bool moses_is_prefix(enum moses_language language, const char *word, size_t size);
bool moses_is_numeric_prefix(enum moses_language language, const char *word, size_t size);

/* Each edits UTF-8 text in place. */
void moses_normalise(struct edit *e, enum moses_language language);
void moses_tokenise(struct edit *e, enum moses_language language, bool escape);
void moses_detokenise(struct edit *e, enum moses_language language);

#endif
