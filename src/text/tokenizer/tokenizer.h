/* A tokenizer as its files share it: added tokens, normalizers, pre-tokenizers, model, post-processors and decoders,
 * each as Python's `tokenizers` has it, in the order in which text runs through them.
 *
 * A tokenizer is its file: `json` is the text from which all else was made, and what is saved. One that was trained, or
 * read from files of another kind, is written as JSON first and read back, so there is one way in. Nothing but `whole`
 * and `time` changes once it is made. */
#ifndef TEXT_TOKENIZER_TOKENIZER_H
#define TEXT_TOKENIZER_TOKENIZER_H

#include "text/strings/map.h"
#include "text/tokenizer/trie.h"
#include "text/tokenizer/work.h"

#include <stdatomic.h>

/* ---- models ---- */

struct model_kind {
    const char *name;
    bool (*read)(heed_ctx *cx, struct heed_tokenizer *t, const struct tree *tree, node at);
    bool (*encode)(struct work *w, const char *text, size_t size); /* a piece, which is not empty */
};
extern const struct model_kind bpe_kind, word_kind, wordpiece_kind, unigram_kind;

/* Pairs merged in the order learnt (bpe.c). */
struct bpe_merge {
    uint64_t pair; /* first << 32 | second */
    int32_t rank, id;
};
enum { WHOLE_UNKNOWN, WHOLE_YES, WHOLE_NO };
#define BPE_LOW 0x3000 /* characters below have their token in a table */
struct bpe {
    struct bpe_merge *merges;
    int64_t merge_count;
    struct table table;
    int32_t *low, *low_inner;   /* (BPE_LOW): the token of a character that begins a word, and within one; -1: none */
    _Atomic uint8_t *whole;     /* (tokens): WHOLE_...: whether the pieces of this token's text are the token */
    heed_string prefix, suffix; /* of a word's characters but the first; after its last */
    int32_t byte[256];          /* the tokens of bytes for byte_fallback, -1: none */
    bool fuse;                  /* unknown neighbours are one token */
    bool byte_fallback;
    bool ignore_merges; /* a word that is a token is that token */
    bool lacks_unknown; /* an unknown token is named but is not in the vocabulary */
    double dropout;
};
/* The likeliest pieces (unigram.c). Tokens of this score or less are never the best: they are of another model with the
 * same vocabulary, as Marian's two. */
#define UNIGRAM_NEVER (-1e29)
struct unigram {
    double *score;  /* (count) */
    int32_t *entry; /* (count): in the vocabulary, where equal tokens have one */
    int64_t count;
    double least;
    bool byte_fallback;
    bool single; /* scores add up in single precision */
    int32_t byte[256];
};
/* The longest pieces from the left (wordpiece.c). */
struct wordpiece {
    struct trie inner; /* of the tokens that continue a word, without their prefix */
    int64_t longest;   /* characters; longer words are unknown */
};

/* ---- added tokens ---- finder.c */

/* Finds the longest token at every place, from the end of a text to its beginning: the automaton of Aho and Corasick
 * (1975) over the reversed tokens. */
struct finder {
    struct finder_node *nodes; /* node 0 is the root */
    uint32_t count, room;
    uint32_t top[256]; /* the root's children */
    bool begins[256];  /* bytes that a token begins with */
};
struct added {
    int32_t id;
    bool special, word, left, right, normalized; /* word: not within a word; left, right: takes the spaces there */
};
bool finder_make(heed_ctx *cx, struct heed_tokenizer *t, bool normalized, struct finder *f);
void finder_free(heed_ctx *cx, struct finder *f);
/* The tokens within text, and what lies between them, one after the other: `found` is called with id -1 for text. */
typedef bool (*found_fn)(struct work *w, size_t start, size_t end, int32_t id);
bool finder_run(struct work *w, const struct finder *f, const char *text, size_t size, found_fn found);

/* ---- post-processors ---- post_processors.c */

struct template_part {
    int text;          /* 0 or 1: the text; -1: a token */
    int32_t type, id;  /* id -1: no token, of a part that is empty */
    bool joined;       /* a token that is one part with the one before it */
    heed_string token; /* its text */
};
struct template {
    struct template_part *part;
    int count, room, added; /* added: tokens */
};
enum process_kind { PROCESS_BERT, PROCESS_ROBERTA, PROCESS_BYTES, PROCESS_TEMPLATE };
struct processor {
    enum process_kind kind;
    struct template single, pair;
    bool trim, prefix_space;
};
struct processors {
    struct processor *at;
    int count, room;
};
bool processors_read(struct heed_tokenizer *t, const struct tree *tree, node at);
void processors_free(heed_ctx *cx, struct processors *p);
int processors_added(const struct processors *p, bool pair); /* how many tokens they add */
/* Of the tokens of w, those before `first` are of the first text and the others of the second, where there is one;
 * they become those of the whole. */
bool processors_run(struct work *w, int64_t first, bool pair, bool special);

/* ---- the tokenizer ---- */

/* decoders.c: is it a byte that is decoded with the bytes beside it, "<0x41>"? */
bool decodes_as_byte(const heed_tokenizer *t, int32_t id);
/* text_stream.c: from which of n tokens on they must be decoded so that at least the last `least` of them, special ones
 * not counted, have the text that they have after all the others. */
int64_t decode_from(const heed_tokenizer *t, const int32_t *ids, int64_t n, int64_t least);

/* What special tokens are for, as tokenizer_config.json names them and in the order in which transformers adds them. */
enum role { ROLE_BOS, ROLE_EOS, ROLE_UNK, ROLE_SEP, ROLE_PAD, ROLE_CLS, ROLE_MASK, ROLES };
extern const char *const role_names[ROLES]; /* "bos_token", ... */

struct heed_tokenizer {
    char *json;
    size_t json_size;
    struct map vocabulary; /* the model's; value: id */
    struct map added_text; /* value: index into added */
    struct added *added;
    const char **token; /* (size): text of an id; NULL: none */
    uint32_t *token_size;
    int64_t *entry; /* (size): in the vocabulary, -1: none. Normalizing may have changed the text of an added token */
    bool *special;  /* (size) */
    int64_t size;
    int32_t unknown;               /* id, -1: none */
    struct finder raw, normalized; /* looked for before and after normalizing */
    struct map normal_text;        /* texts of added tokens that normalizing changes; value: index into added */
    struct steps normalizers, pre_tokenizers, decoders;
    struct regex_time *time; /* of the patterns of all steps */
    bool joined;             /* there is no decoder: tokens are joined by spaces */
    bool needs_origins;
    const struct model_kind *model;
    struct bpe bpe;
    struct unigram unigram;
    struct wordpiece wordpiece;
    struct trie trie; /* of the vocabulary, where the model wants one */
    struct processors processors;
    struct {
        int32_t id, type;
        heed_string token;
        bool left;
    } padding; /* id -1: the file says nothing of it */
    bool truncate_left;
    int32_t role[ROLES]; /* the special tokens by what they are for; -1: none */
};
void guess_roles(heed_tokenizer *t); /* by their usual names */

/* Merges that are dropped by chance; the next number is that of `position`. */
struct bpe_drop {
    heed_merge_dropout how;
    uint64_t position;
};
void bpe_free(heed_ctx *cx, struct bpe *b);
bool bpe_read(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node at); /* bpe_read.c */
/* The last of several merges of one pair holds, as in Python. `bpe_expect_merge` fetches what adding one will need. */
void bpe_add_merge(struct bpe *b, int32_t first, int32_t second, int32_t rank, int32_t id);
void bpe_expect_merge(const struct bpe *b, int32_t first, int32_t second);
void byte_tokens(const heed_tokenizer *t, int32_t byte[256]); /* "<0x00>" to "<0xFF>", -1: none */

/* Learns merges. words: how often each key was seen. symbols: the tokens there are, the words' characters among them;
 * new ones are added until there are `most`. merges: pairs of ids. Ties: the highest count, then the smallest ids. */
struct bpe_pair {
    int32_t first, second;
};
struct bpe_learning {
    int64_t most;       /* tokens */
    int64_t least;      /* a pair seen less often is not merged */
    const char *prefix; /* of symbols within a word, NULL: none */
};
bool bpe_learn(heed_ctx *cx, const struct map *words, struct map *symbols, const struct bpe_learning *how,
               struct bpe_pair **merges, int64_t *count);

/* unigram_train.c: the pieces and their scores (of the special tokens too), added to the tokens until there are `most`.
 */
bool unigram_learn(heed_ctx *cx, const struct map *words, int64_t most, struct map *tokens, double **scores);
#define WORD_PIECE_PREFIX "##"

/* tokenizer_json.c; name is for sentences */
heed_tokenizer *tokenizer_parse(heed_ctx *cx, const char *name, const char *text, size_t size);
/* The model's vocabulary from an object of tokens and ids. */
bool read_vocabulary(heed_ctx *cx, heed_tokenizer *t, const struct tree *tree, node vocab);
int32_t vocabulary_id(const heed_tokenizer *t, const char *text, size_t size); /* -1: none */
bool vocabulary_trie(heed_ctx *cx, heed_tokenizer *t);
/* tokenizer.c: through added tokens, normalizers and pre-tokenizers, which leaves the pieces. */
bool work_split(struct work *w, const char *text, size_t size);
/* tokenizer_write.c: the file of what was learnt, read back. tokens: in the order of their ids, special ones first. */
heed_tokenizer *tokenizer_build(heed_ctx *cx, const heed_tokenizer_opts *o, const struct map *tokens,
                                const struct bpe_pair *merges, int64_t merge_count, const double *scores);

#endif
