/* A tokenizer as its files share it: normalizers, pre-tokenizers, model, post-processor and decoder, each as Python's
 * `tokenizers` has it, in the order in which text runs through them.
 *
 * A tokenizer is its file: `json` is the text from which all else was made, and what is saved. A trained one is written
 * as JSON first and read back, so there is one way in. Nothing changes once it is made. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include "text/unicode.h"

#include <string.h>

/* for (EACH(v, list)): every member of a list or an object. */
#define EACH(v, list)                                                                                                  \
    heed_json v = heed_json_first(list);                                                                               \
    heed_json_kind_of(v) != HEED_JSON_NONE;                                                                            \
    v = heed_json_next(v)

/* ---- tokenizer_map.c: strings to numbers ---- {0} is empty */

struct map_entry {
    size_t at; /* in text */
    uint32_t size, hash;
    int64_t value;
};
struct map_slot {
    uint32_t hash;
    int32_t entry; /* -1: free */
};
struct map {
    heed_string text; /* every key, each followed by 0 */
    struct map_entry *entries;
    struct map_slot *slots;
    int64_t count, room, slot_count; /* slot_count: a power of two, at least twice count */
};
/* The entry of a key: -1 when there is none. Entries are numbered in the order they were added. */
int64_t map_find(const struct map *m, const char *key, size_t size);
/* The same, added with value 0 when there is none; -1 and a failed context on trouble. */
int64_t map_add(heed_ctx *cx, struct map *m, const char *key, size_t size);
void map_free(heed_ctx *cx, struct map *m);
static inline const char *map_key(const struct map *m, int64_t entry) { return m->text.s + m->entries[entry].at; }

/* ---- tokenizer_normal.c: the normalizers ---- */

enum normal_kind { NORMAL_LOWER, NORMAL_NFC, NORMAL_NFD, NORMAL_NFKC, NORMAL_NFKD, NORMAL_STRIP };
struct normalizer {
    enum normal_kind kind;
    bool left, right; /* of strip */
};
#define MOST_STEPS 16 /* normalizers, or pre-tokenizers, in a row */

/* text run through them, put into `to`, which is emptied first; *cut: something at its beginning was stripped. */
bool normalise(heed_ctx *cx, const struct normalizer *steps, int n, const char *text, size_t size, heed_string *to,
               bool *cut);

/* ---- tokenizer_split.c: the pre-tokenizers ---- */

enum split_kind { SPLIT_METASPACE, SPLIT_SPACES, SPLIT_WORDS, SPLIT_LITERAL, SPLIT_CHARS, SPLIT_BYTES };
enum split_keep { KEEP_REMOVED, KEEP_ISOLATED, KEEP_WITH_PREVIOUS, KEEP_WITH_NEXT, KEEP_CONTIGUOUS };
enum prepend { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS };
struct splitter {
    enum split_kind kind;
    char mark[5];         /* metaspace: the character that stands for a space */
    enum prepend prepend; /* metaspace: where one goes before the text */
    bool split;           /* metaspace: a piece begins at each mark; bytes: by GPT-2's rules; chars: new lines too */
    bool prefix_space;    /* bytes */
    bool invert;          /* literal, chars: what does not match is taken for what does */
    enum split_keep keep; /* literal, chars: what becomes of a match */
    char *literal;
    size_t literal_size;
};

struct piece {
    size_t start, size;
    bool first; /* begins where the text that the caller gave begins */
};
/* Text on its way through the steps, in pieces; {.cx = cx} is empty. */
struct flow {
    heed_ctx *cx;
    const char *text;        /* what the pieces lie in */
    heed_string buffers[2];  /* text that a step has made */
    struct piece *pieces[2]; /* [0]: as they are; [1]: as the step under way makes them */
    size_t count[2], room[2];
    enum split_keep keep; /* of the step under way, and whether its last span was a match */
    bool matched;
};
/* One piece, all of text, through the steps. */
bool split_text(struct flow *f, const struct splitter *steps, int n, const char *text, size_t size, bool first);
void flow_free(struct flow *f);
bool is_word_character(int32_t c); /* \w of a regular expression: letters, marks, digits, connectors */
/* GPT-2's stand-ins for bytes: the character of a byte, and the byte of a character or -1. */
int32_t byte_character(unsigned char byte);
int character_byte(int32_t c);

/* ---- bpe.c: pairs merged in the order learnt ---- */

struct bpe_merge {
    uint64_t pair; /* first << 32 | second; BPE_FREE in a free slot */
    int32_t rank, id;
};
#define BPE_FREE UINT64_MAX
#define BPE_LOW  0x3000 /* characters below have their token in a table */
struct bpe {
    struct bpe_merge *merges; /* a hash table, slots a power of two */
    int64_t slots, merge_count;
    int32_t *low;       /* (BPE_LOW): the token of a character, -1: none */
    bool *whole;        /* (tokens): the pieces of this token's text are the token itself */
    char *suffix;       /* after a word's last character; NULL: none */
    bool fuse;          /* unknown neighbours are one token */
    bool ignore_merges; /* a word that is a token is that token */
};
struct heed_tokenizer;
bool bpe_start(heed_ctx *cx, struct heed_tokenizer *t, int64_t merges);
void bpe_add_merge(struct heed_tokenizer *t, int32_t first, int32_t second, int32_t rank, int32_t id);
bool bpe_finish(heed_ctx *cx, struct heed_tokenizer *t); /* once vocabulary and merges are all there */
void bpe_free(heed_ctx *cx, struct bpe *b);
/* Merges that are passed over by chance; the next number is that of `position`. */
struct bpe_drop {
    heed_merge_dropout how;
    uint64_t position;
};
/* drop: NULL for none */
bool bpe_encode(heed_ctx *cx, const struct heed_tokenizer *t, const char *word, size_t size, struct bpe_drop *drop,
                heed_ids *to);

/* Learns merges. words: how often each key was seen. symbols: the tokens there are, the words' characters among them;
 * new ones are added until there are `most`. merges: pairs of ids. Ties: the highest count, then the smallest ids. */
struct bpe_pair {
    int32_t first, second;
};
bool bpe_learn(heed_ctx *cx, const struct map *words, struct map *symbols, int64_t most, struct bpe_pair **merges,
               int64_t *count);

/* ---- the tokenizer ---- */

/* Tokens found in text before the model sees it: of the longest that begins at a place. value of an entry: the index
 * of the added token. */
struct finder {
    struct map tokens;
    uint32_t *lengths;      /* of the tokens that begin with a byte, longest first, each once */
    int32_t length_at[257]; /* those of byte b: lengths[length_at[b]] up to length_at[b + 1] */
};
struct added {
    int32_t id;
    bool special, word, left, right, normalised; /* word: not within a word; left, right: takes the spaces there */
};
enum decoder_kind { DECODE_JOIN, DECODE_FUSE, DECODE_METASPACE, DECODE_BYTES, DECODE_SUFFIX };

struct heed_tokenizer {
    char *json;
    size_t json_size;
    struct map vocabulary; /* the model's; value: id */
    struct map added_text; /* value: index into added */
    struct added *added;
    const char **token; /* (size): text of an id; NULL: none */
    bool *special;      /* (size) */
    int64_t size;
    int32_t unknown;           /* id, -1: none */
    struct finder raw, normal; /* looked for before and after normalising */
    struct normalizer normalizers[MOST_STEPS];
    struct splitter splitters[MOST_STEPS];
    int normalizer_count, splitter_count;
    bool is_bpe; /* else words */
    struct bpe bpe;
    heed_ids before, after; /* what the post-processor adds */
    enum decoder_kind decoder;
    char decoder_mark[5];  /* metaspace */
    bool decoder_prefixed; /* metaspace: a mark of the first token is nothing */
    char *decoder_suffix;
};

/* tokenizer_find.c */
bool finder_make(heed_ctx *cx, struct heed_tokenizer *t, bool normalised, struct finder *f);
void finder_free(heed_ctx *cx, struct finder *f);
/* The first added token within text from *at on: where it lies, with the spaces it takes, and its id; false: none. */
struct found {
    size_t start, end;
    int32_t id;
};
bool finder_next(const struct heed_tokenizer *t, const struct finder *f, const char *text, size_t size, size_t *at,
                 size_t taken, struct found *found);

/* tokenizer_json.c; name is for sentences */
heed_tokenizer *tokenizer_parse(heed_ctx *cx, const char *name, const char *text, size_t size);
/* tokenizer_write.c: the file of what was learnt, read back. tokens: in the order of their ids, special ones first. */
heed_tokenizer *tokenizer_build(heed_ctx *cx, const heed_tokenizer_opts *o, const struct map *tokens,
                                const struct bpe_pair *merges, int64_t merge_count);
/* tokenizer_parts.c: the members of the file but the vocabulary; NULL is taken for absent */
bool read_normalizers(heed_ctx *cx, heed_tokenizer *t, heed_json at);
bool read_splitters(heed_ctx *cx, heed_tokenizer *t, heed_json at);
bool read_post_processor(heed_ctx *cx, heed_tokenizer *t, heed_json at);
bool read_decoder(heed_ctx *cx, heed_tokenizer *t, heed_json at);
bool read_unused(heed_ctx *cx, heed_json root); /* truncation and padding */
char *text_copy(heed_ctx *cx, const char *s);

#endif
