/* heed/text.h: from text to numbers and back, and how good a translation is.
 *
 * Text is UTF-8 throughout; bytes that are not get a sentence with their place. Strings and lists here belong to the
 * caller's struct and are freed with their free function; all memory is the context's. */
#ifndef HEED_TEXT_H
#define HEED_TEXT_H

#include "heed/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- growing things ---- {0} is empty. */
typedef struct heed_string {
    char *s; /* ends with 0, which `size` does not count; NULL when nothing was ever put in */
    size_t size, room;
} heed_string;
HEED_API bool heed_string_put(heed_ctx *cx, heed_string *to, const char *s, size_t size);
HEED_API void heed_string_free(heed_ctx *cx, heed_string *s);

typedef struct heed_ids {
    int32_t *id;
    int64_t count, room;
} heed_ids;
HEED_API bool heed_ids_put(heed_ctx *cx, heed_ids *to, int32_t id);
HEED_API void heed_ids_free(heed_ctx *cx, heed_ids *ids);

/* Adds the whole text of a file (.gz as it is, "-" standard input) after checking that it is UTF-8. */
HEED_API bool heed_text_read(heed_ctx *cx, const char *path, heed_string *to);

/* Lines of a file (.gz as it is, "-" standard input), without their newlines; a line ends at \n only. One block. */
typedef struct heed_lines {
    char *text;
    int64_t *start; /* (count + 1): line i is text + start[i] .. start[i+1] - 1, ended by 0 */
    int64_t count;
} heed_lines;
HEED_API bool heed_lines_read(heed_ctx *cx, const char *path, heed_lines *lines); /* checks that it is UTF-8 */
/* Takes over the memory of a string whose lines end at \n. */
HEED_API bool heed_lines_cut(heed_ctx *cx, heed_string *text, heed_lines *lines);
HEED_API void heed_lines_free(heed_ctx *cx, heed_lines *lines);
HEED_API const char *heed_line_text(const heed_lines *lines, int64_t i); /* NULL: no such line */
HEED_API size_t heed_line_size(const heed_lines *lines, int64_t i);      /* bytes without the 0; 0: no such line */

/* ---- tokenizers ---- what Python's `tokenizers` reads, with the same ids, texts and offsets. docs/tokenizers.md.
 *
 * Characters: every character is a token. Words: split at white space. BPE (Sennrich et al. 2016): pairs of the words'
 * characters merged in the order learnt; a word's first piece is marked by a leading U+2581, as SentencePiece does, so
 * that decoding is exact. Byte-level BPE (Radford et al. 2019): the same over bytes, so that nothing is unknown.
 * WordPiece (Wu et al. 2016): the longest pieces from the left. Unigram (Kudo 2018): the likeliest pieces. */
typedef struct heed_tokenizer heed_tokenizer;
typedef enum heed_tokenizer_kind {
    HEED_TOKENS_CHAR,
    HEED_TOKENS_WORD,
    HEED_TOKENS_BPE,
    HEED_TOKENS_BYTE_BPE,
    HEED_TOKENS_WORDPIECE,
    HEED_TOKENS_UNIGRAM,
} heed_tokenizer_kind;
typedef struct heed_tokenizer_opts {
    heed_tokenizer_kind kind;
    int64_t vocabulary; /* most tokens, special ones included; 0: all there are (char and word only) */
    int64_t least;      /* words and characters seen less often are unknown; 0: 1 */
    int64_t least_pair; /* of BPE and WordPiece: pairs seen less often are not merged; 0: 2 */
    bool lower;         /* text is lower-cased first (a normalizer of the file) */
    bool punctuation;   /* of words: each punctuation mark is one, else only white space separates them */
    const char *pad, *bos, *eos, *unk; /* NULL: none of it; they take the first ids, in the order pad, bos, eos, unk */
    const char *mask;                  /* the token for masked words, behind those; NULL: none */
    const char *const *more;           /* further special tokens, behind it; the list ends in NULL. NULL: none */
    bool add_bos, add_eos;             /* the post-processor adds them */
} heed_tokenizer_opts;
/* n_texts sets of lines make one vocabulary. */
HEED_API heed_tokenizer *heed_tokenizer_train(heed_ctx *cx, const heed_lines *const *texts, int n_texts,
                                              const heed_tokenizer_opts *opts);
/* A tokenizer.json, or a directory that holds it, or one with the files that older models have instead: vocab.txt,
 * vocab.json with merges.txt, or a SentencePiece model. What heed cannot do as written is refused with a sentence. */
HEED_API heed_tokenizer *heed_tokenizer_load(heed_ctx *cx, const char *path);
/* Bytes as tokens, as Perceiver reads them: [PAD], [BOS], [EOS], [MASK], [CLS], [SEP], then byte b as b + 6. */
HEED_API heed_tokenizer *heed_tokenizer_bytes(heed_ctx *cx);
/* Another tokenizer, which has these n special tokens behind those of t; what t has already is left out. */
HEED_API heed_tokenizer *heed_tokenizer_add(heed_ctx *cx, const heed_tokenizer *t, const char *const *tokens, int n);
/* path: a file, or a directory, which gets tokenizer.json and, so that transformers' AutoTokenizer opens it,
 * tokenizer_config.json and special_tokens_map.json. */
HEED_API bool heed_tokenizer_save(heed_ctx *cx, const heed_tokenizer *t, const char *path);
HEED_API void heed_tokenizer_free(heed_ctx *cx, heed_tokenizer *t);

HEED_API int64_t heed_tokenizer_size(const heed_tokenizer *t);                  /* largest id + 1 */
HEED_API const char *heed_tokenizer_token(const heed_tokenizer *t, int32_t id); /* NULL: no such id */
HEED_API int32_t heed_tokenizer_id(const heed_tokenizer *t, const char *token); /* -1: none */
HEED_API int32_t heed_tokenizer_unknown(const heed_tokenizer *t);               /* the unknown token; -1: none */
HEED_API bool heed_tokenizer_is_special(const heed_tokenizer *t, int32_t id);
/* Adds the ids of text (size bytes) to `to`; special: with what the post-processor adds. Any number of contexts may
 * encode with one tokenizer at once. HEED_ERR_RANGE where a tokenizer's steps make the text more than 64 times as long
 * (and 64 KiB), or its regular expressions take too long: on this text, or on all so far by two seconds of processor
 * time beyond 100 microseconds a text and one a byte. */
HEED_API bool heed_encode(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, bool special,
                          heed_ids *to);
/* BPE-dropout (Provilkov et al. 2020): the same, but each time a pair may be merged it is passed over with probability
 * `rate`, so that a text has other tokens with every stream of random numbers. A tokenizer that merges nothing gives
 * what heed_encode gives. */
typedef struct heed_merge_dropout {
    double rate; /* 0: none, to 1: every character is a token */
    uint64_t seed, stream;
} heed_merge_dropout;
HEED_API bool heed_encode_dropout(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size, bool special,
                                  const heed_merge_dropout *dropout, heed_ids *to);
/* Many lines on the context's threads: the ids of line i are to->id[start[i]] up to start[i + 1]; start holds
 * lines->count + 1. */
HEED_API bool heed_encode_lines(heed_ctx *cx, const heed_tokenizer *t, const heed_lines *lines, bool special,
                                heed_ids *to, int64_t *start);

/* All that is known of the tokens of a text, or of a pair of texts. */
typedef struct heed_token {
    int32_t id;
    int32_t type;        /* token_type_id: which text, as the post-processor numbers them */
    int32_t word;        /* number of the piece that the pre-tokenizers made, counted in each text; -1: added */
    uint32_t start, end; /* where it stands in its text: characters, or bytes; 0 and 0: nowhere */
    uint32_t text, size; /* its piece: bytes of the encoding's text */
    bool special;        /* added by the post-processor */
    bool padding;
} heed_token;
typedef struct heed_encoding { /* {0} is empty; it may be used again */
    heed_token *token;
    int64_t count, room;
    heed_string text;
} heed_encoding;
typedef struct heed_word {
    const char *text;
    size_t size;
} heed_word;
typedef struct heed_encode_opts {
    const char *pair; /* a second text; NULL: none */
    size_t pair_size;
    const heed_word *words; /* instead of the text: words, which are encoded one by one. heed_token.word is then the
                             * number of the word, and offsets count in it; NULL: none */
    int64_t n_words;
    bool prefix_space;                 /* byte-level BPE begins texts and words with a space, whatever the file says */
    bool plain;                        /* without the tokens that the post-processor adds */
    bool as_text;                      /* special tokens that stand in the text are text like any other */
    bool bytes;                        /* offsets in bytes, else in characters as Python counts them */
    int64_t truncate;                  /* most tokens, added ones included: the longer text is cut first; 0: any */
    int64_t pad;                       /* least tokens, filled up with the padding token; 0: none */
    const heed_merge_dropout *dropout; /* NULL: none but the file's */
} heed_encode_opts;
/* Fills `to`. opts NULL: one text with special tokens. */
HEED_API bool heed_encode_text(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size,
                               const heed_encode_opts *opts, heed_encoding *to);
HEED_API void heed_encoding_free(heed_ctx *cx, heed_encoding *e);
HEED_API bool heed_decode(heed_ctx *cx, const heed_tokenizer *t, const int32_t *ids, int64_t n, bool keep_special,
                          heed_string *to);

/* ---- text as its tokens come ---- A token costs the same however many came before it. The pieces together are what
 * heed_decode makes of all tokens, without special ones; each is whole characters. */
typedef struct heed_text_stream heed_text_stream;
/* Of the text that follows n tokens, as a generated text follows its prompt. The tokenizer must outlive it. */
HEED_API heed_text_stream *heed_text_stream_new(heed_ctx *cx, const heed_tokenizer *t, const int32_t *before,
                                                int64_t n);
HEED_API void heed_text_stream_free(heed_ctx *cx, heed_text_stream *s);
/* Adds to `to` what one token more makes certain, which may be nothing; and at the end what was held back. */
HEED_API bool heed_text_stream_put(heed_ctx *cx, heed_text_stream *s, int32_t token, heed_string *to);
HEED_API bool heed_text_stream_end(heed_ctx *cx, heed_text_stream *s, heed_string *to);

/* ---- the Moses way ---- of normalising, tokenising and lower-casing, as sacremoses; languages "en", "de", "fr". What
 * is asked for is done in the order of Multi30k's published files: lower-cased, normalised, tokenised. Adds to `to`. */
typedef struct heed_moses_opts {
    const char *language;
    bool normalise, tokenise, lower;
    bool escape; /* & < > ' " | [ ] as entities, as Moses does unless told not to */
} heed_moses_opts;
HEED_API bool heed_moses(heed_ctx *cx, const char *text, size_t size, const heed_moses_opts *opts, heed_string *to);
HEED_API bool heed_moses_detokenise(heed_ctx *cx, const char *text, size_t size, const char *language, heed_string *to);

/* ---- BLEU (Papineni et al. 2002) and chrF (Popovic 2015), equal to sacreBLEU's ---- */
typedef enum heed_bleu_tokens { HEED_BLEU_13A, HEED_BLEU_INTL, HEED_BLEU_NONE } heed_bleu_tokens;
typedef struct heed_bleu_opts {
    heed_bleu_tokens tokens;
    bool lower;
} heed_bleu_opts;
typedef struct heed_bleu {
    double score, precision[4], brevity; /* in percent, percent, fraction */
    int64_t hypothesis, reference;       /* lengths in tokens */
    char signature[160];                 /* as sacreBLEU prints it, with heed's version in place of its own */
} heed_bleu;
/* references: n_references sets of as many lines as the hypothesis has. opts NULL: 13a, case kept. */
HEED_API bool heed_bleu_corpus(heed_ctx *cx, const heed_lines *hypothesis, const heed_lines *references,
                               int n_references, const heed_bleu_opts *opts, heed_bleu *out);
typedef struct heed_chrf {
    double score;
    char signature[160];
} heed_chrf;
HEED_API bool heed_chrf_corpus(heed_ctx *cx, const heed_lines *hypothesis, const heed_lines *references,
                               int n_references, int word_order, heed_chrf *out); /* 0: chrF2, 2: chrF2++ */

/* ---- ROUGE (Lin 2004), equal to the package rouge_score's ---- */
typedef struct heed_rouge_opts {
    bool stem; /* words of more than three letters are cut to their stems, by Porter's stemmer */
} heed_rouge_opts;
typedef struct heed_rouge_score {
    double precision, recall, f; /* fractions */
} heed_rouge_score;
typedef struct heed_rouge {
    heed_rouge_score rouge1, rouge2, rougeL, rougeLsum; /* the last by sentences, which are lines of a text */
    int64_t lines;
} heed_rouge;
/* Of one text. opts NULL: no stemmer. */
HEED_API bool heed_rouge_text(heed_ctx *cx, const char *hypothesis, size_t hypothesis_size, const char *reference,
                              size_t reference_size, const heed_rouge_opts *opts, heed_rouge *out);
/* The means over lines; of several references the best counts, for each line and score. */
HEED_API bool heed_rouge_corpus(heed_ctx *cx, const heed_lines *hypothesis, const heed_lines *references,
                                int n_references, const heed_rouge_opts *opts, heed_rouge *out);

#ifdef __cplusplus
}
#endif
#endif
