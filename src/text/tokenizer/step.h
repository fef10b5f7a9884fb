/* The stages of a tokenizer as arrays of steps. A step knows its kind: a record with the name that tokenizer.json has
 * for it and the functions that read and apply it. Sequences are flattened when they are read. */
#ifndef TEXT_TOKENIZER_STEP_H
#define TEXT_TOKENIZER_STEP_H

#include "text/tokenizer/aligned.h"
#include "text/tokenizer/json_tree.h"
#include "text/tokenizer/regex.h"

/* What becomes of the matches of a pattern that splits. */
enum behavior { REMOVED, ISOLATED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS };
enum prepend { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS };

/* Texts one after the other. {0} is empty. */
struct texts {
    heed_string all;
    size_t *end; /* (count) */
    int64_t count, room;
    size_t most; /* bytes that `all` may grow to; 0: any number */
};
bool texts_append(heed_ctx *cx, struct texts *to, const char *text, size_t size); /* to the one under way */
bool texts_put(heed_ctx *cx, struct texts *to, const char *text, size_t size);
bool texts_end(heed_ctx *cx, struct texts *to); /* what was put into `all` since the last one is one more */
void texts_free(heed_ctx *cx, struct texts *t);
static inline size_t texts_start(const struct texts *t, int64_t i) { return i > 0 ? t->end[i - 1] : 0; }

struct step;
struct work; /* of one encoding under way: work.h */

enum applied { FAILED, UNCHANGED, CHANGED };
struct step_kind {
    const char *name;
    bool (*read)(const struct tree *t, node at, struct step *s); /* NULL: it has no options */
    /* Of a normalizer: `to` is filled only when the text CHANGED. */
    enum applied (*normalize)(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to);
    bool (*split)(struct work *w, const struct step *s); /* of a pre-tokenizer */
    /* Of a decoder: the texts of tokens become others. */
    bool (*decode)(heed_ctx *cx, const struct step *s, const struct texts *from, struct texts *to);
};

struct charsmap { /* SentencePiece's: a double-array trie and the replacements, each ended by 0 */
    unsigned char *bytes;
    const uint32_t *units;
    size_t unit_count, size;
    const char *replacements;
    bool longest; /* the longest key at each place, instead of grapheme by grapheme */
};

struct step {
    const struct step_kind *kind;
    bool left, right;                       /* strip */
    bool clean, chinese, accents, lower;    /* bert */
    bool invert, split, prefix_space, trim; /* split, metaspace, bytes */
    enum behavior behavior;
    enum prepend prepend;
    int32_t character;
    int64_t length, stop;
    heed_string text, content;
    struct regex *regex;
    struct charsmap charsmap;
};
void step_free(heed_ctx *cx, struct step *s);

struct steps { /* {0} is empty */
    struct step *step;
    int count, room;
};
/* The component at `at`, NULL for none, appended as steps of these kinds, which end with a name of NULL. `list` is what
 * a Sequence of them calls its members. An unknown type is refused by name. */
bool steps_read(const struct tree *t, node at, const char *list, const struct step_kind *kinds, struct steps *to);
void steps_free(heed_ctx *cx, struct steps *s);

/* Options that several components have. */
bool read_string(const struct tree *t, node at, const char *key, heed_string *to);
bool read_character(const struct tree *t, node at, const char *key, int32_t *to);
bool read_pattern(const struct tree *t, node at, struct step *s); /* text, or regex */
bool read_behavior(const struct tree *t, node at, const char *key, struct step *s);
bool read_metaspace(const struct tree *t, node at, struct step *s);

extern const struct step_kind normalizer_kinds[], pre_tokenizer_kinds[], decoder_kinds[];

/* GPT-2's stand-ins for bytes: the character of a byte, and the byte of a character or -1. */
int32_t byte_character(unsigned char byte);
int character_byte(int32_t c);

/* Text through the normalizers, in place; `spare` is room to work in. */
bool normalize(heed_ctx *cx, const struct steps *steps, struct aligned *text, struct aligned *spare);
/* normal_forms.c */
enum applied normal_form(heed_ctx *cx, bool compat, bool compose, const struct aligned *from, struct aligned *to);
/* charsmap.c */
bool charsmap_read(const struct tree *t, node at, struct charsmap *c);
enum applied charsmap_apply(heed_ctx *cx, const struct charsmap *c, const struct aligned *from, struct aligned *to);

#endif
