/* Directories without tokenizer.json: the files that older models have, turned into the tokenizer.json that
 * transformers' tokenizer classes would make of them. */
#ifndef TEXT_LEGACY_H
#define TEXT_LEGACY_H

#include "text/spm.h"
#include "text/tokenizer.h"

/* What a tokenizer class of transformers makes of its files. Texts are JSON in which $name$ stands for what depends on
 * tokenizer_config.json: see fill_in in legacy.c. */
enum legacy_files { LEGACY_WORDS, LEGACY_PAIRS, LEGACY_PIECES, LEGACY_MARIAN };
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
/* The class that a model type has; NULL: none that heed knows. */
const char *legacy_class_of(const char *model_type);

/* file: NULL, or the SentencePiece model of the directory to be read. NULL and a sentence when there is nothing. */
heed_tokenizer *legacy_load(heed_ctx *cx, const char *dir, const char *file);

#endif
