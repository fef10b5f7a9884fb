/* One text on its way to tokens: the pieces it was cut into, and where their bytes came from. */
#ifndef TEXT_TOKENIZER_WORK_H
#define TEXT_TOKENIZER_WORK_H

#include "text/tokenizer/step.h"

struct piece {
    size_t start, size; /* in the text as it is now */
    int32_t id;         /* of the added token that it is; -1: text */
};
struct pieces {
    struct piece *at;
    size_t count, room;
};
struct match { /* of a pattern, or what lies between matches */
    size_t start, end;
    bool is;
};
struct tokens {
    heed_token *at;
    int64_t count, room;
};

struct heed_tokenizer;
struct work { /* {.cx, .t} is empty; it may be used for one text after the other */
    heed_ctx *cx;
    const struct heed_tokenizer *t;
    bool tracked, wanted; /* origins are kept; offsets and pieces are wanted */
    bool prefix_space;    /* of heed_encode_opts, */
    bool as_text;         /* as is this */
    const char *original;
    size_t original_size;
    const char *text; /* what the pieces lie in: the original itself while `plain`, else now.text */
    size_t text_size;
    bool plain;
    struct aligned now, next, section, spare;
    struct pieces pieces, cut;
    struct match *matches;
    size_t match_count, match_room;
    heed_string word, texts;
    struct tokens tokens; /* of the texts so far */
    int32_t type;
    int32_t number; /* of the piece that the model sees */
    size_t piece;   /* where it begins in text */
    size_t piece_size;
    struct bpe_drop *drop; /* merges dropped by chance, NULL: none */
    void *room;            /* of the model, see work_room */
    size_t room_size;
    struct hits {
        uint32_t *at;
        size_t count, room;
    } hits[2]; /* of added tokens: see finder.c */
};
void work_free(struct work *w);

/* Appends a piece to `cut`, unless it is empty. */
bool work_cut(struct work *w, size_t start, size_t end);
/* Appends bytes of the present text, with their origins, to `next`; or others. */
bool work_copy(struct work *w, size_t start, size_t end);
bool work_put(struct work *w, const char *text, size_t size, struct origin origin);
struct origin work_origin(const struct work *w, size_t at); /* of a byte of the present text */
/* Every piece that is text goes through `cut_piece`, which appends its parts to `cut`; others are kept. changes: the
 * parts lie in `next`, which becomes the text. */
typedef bool (*piece_fn)(struct work *w, const struct step *s, const struct piece *p, void *user);
bool work_pieces(struct work *w, const struct step *s, bool changes, piece_fn cut_piece, void *user);
/* The matches of a pattern in a piece, with what lies between them, cut as the behavior says. Places are added to
 * `base`. */
void work_begin_matches(struct work *w);
bool work_match(struct work *w, size_t start, size_t end, bool is);
bool work_cut_matches(struct work *w, enum behavior behavior);

/* One more, undefined; NULL for want of memory. */
heed_token *tokens_add(heed_ctx *cx, struct tokens *to);
/* A token of the piece under way, from its byte `start` to `end`; text NULL: the token's own. */
bool work_token(struct work *w, int32_t id, size_t start, size_t end, const char *text, size_t size);
void *work_room(struct work *w, size_t size); /* memory of at least this size, whatever it held before */

bool is_word_character(int32_t c); /* \w of Rust's regular expressions: letters, marks, digits, connectors */

#endif
