/* Directories without tokenizer.json: the files that older models have, turned into the tokenizer.json that
 * transformers' tokenizer classes would make of them. */
#ifndef TEXT_TOKENIZER_LEGACY_H
#define TEXT_TOKENIZER_LEGACY_H

#include "text/tokenizer/spm.h"
#include "text/tokenizer/tokenizer.h"

/* What a tokenizer class of transformers makes of its files. Texts are JSON in which $name$ stands for what depends on
 * tokenizer_config.json: see fill_in in legacy_write.c. */
enum legacy_files { LEGACY_WORDS, LEGACY_PAIRS, LEGACY_BYTES, LEGACY_PIECES, LEGACY_MARIAN }; /* bytes: no file */
struct legacy_class {
    const char *name; /* without "Fast" */
    enum legacy_files files;
    const char *tokens[ROLES];                        /* special tokens when nothing is said of them; NULL: none */
    const char *model;                                /* options of BPE; NULL: of Unigram or WordPiece */
    const char *normalizer, *pre_tokenizer, *decoder; /* NULL: null */
    /* What is added, "c0 A0 s0 | c0 A0 s0 B1 s1": tokens by the first letters of their roles, texts, and types; L is
     * the language. "roberta c s": that processor. NULL: bos and eos where add_bos_token and add_eos_token say so. */
    const char *post;
    const char *order; /* of the pieces of SentencePiece: see order_pieces; NULL: as they are */
    bool mask_left;    /* the mask token takes the spaces before it */
};
extern const struct legacy_class legacy_classes[]; /* the last has no name */
/* The class that a model type has; "": one that heed lacks; NULL: the type is not known. */
const char *legacy_class_of(const char *model_type);

/* A special token and how it is looked for. */
struct legacy_token {
    heed_string text;
    bool given, left, right, word, normalized, special;
};
struct legacy {
    heed_ctx *cx;
    const char *dir;
    const struct legacy_class *class;
    struct tree config, specials, added, model; /* {0}: there is no such file */
    struct legacy_token role[ROLES];
    struct legacy_token *extra;
    int64_t extra_count, extra_room;
    struct map vocabulary; /* value: id */
    double *scores;        /* of Unigram; (vocabulary) */
    int64_t unknown;       /* of Unigram */
    char *bytes;           /* of the SentencePiece model */
    struct spm spm;
    int64_t next_id; /* of the next added token that is not in the vocabulary */
    heed_string out;
};

/* legacy.c: files, flags and special tokens */
bool legacy_has(const char *dir, const char *file);
char *legacy_read(struct legacy *l, const char *file, size_t *size); /* NULL when it cannot be read */
node legacy_member(const struct tree *t, const char *key);           /* NULL: none, or no such file */
bool legacy_flag(const struct legacy *l, const char *key, bool fallback);
bool legacy_read_token(struct legacy *l, const struct tree *t, node v, bool special, struct legacy_token *to);
bool legacy_token(struct legacy *l, const char *text, size_t size, bool special, struct legacy_token *to);
void legacy_token_free(heed_ctx *cx, struct legacy_token *t);
bool legacy_add(struct legacy *l, const char *text, size_t size, bool special); /* one more added token */
/* legacy_model.c: vocabularies */
enum { LEGACY_LANGUAGES = 52 };
extern const char *const legacy_languages[LEGACY_LANGUAGES]; /* mBART-50's; the first 25 are mBART's */
int legacy_language_count(const struct legacy *l);           /* how many of them the class has */
int64_t legacy_extra_ids(const struct legacy *l);            /* T5's */
bool legacy_read_words(struct legacy *l);
/* The id that a token has in vocab.json or added_tokens.json; -1: refused. */
int64_t legacy_id(const struct tree *t, node at);
bool legacy_read_vocabulary(struct legacy *l);
bool legacy_make_bytes(struct legacy *l); /* special tokens, then the 256 bytes */
bool legacy_read_pieces(struct legacy *l, const char *file);
bool legacy_add_pieces(struct legacy *l); /* those that are added tokens */
bool legacy_put_model(struct legacy *l);
/* legacy_write.c: the text */
bool legacy_put(struct legacy *l, const char *text);
bool legacy_put_string(struct legacy *l, const char *s, size_t size); /* as JSON */
bool legacy_put_role(struct legacy *l, enum role role);               /* the token, as JSON */
bool legacy_put_template(struct legacy *l, const char *text);
bool legacy_compose(struct legacy *l);

/* file: NULL, or the SentencePiece model of the directory to be read. NULL and a sentence when there is nothing. */
heed_tokenizer *legacy_load(heed_ctx *cx, const char *dir, const char *file);

#endif
