/* tokenizer.json, written: what was learnt in the words of Python's `tokenizers`, and read back, so that a tokenizer
 * just trained is the one that its file will be.
 *
 * Words: WordLevel, cut at white space, joined with spaces. Characters: BPE without merges, which takes every character
 * by itself, fused. BPE: Metaspace before and after; merges as "a b", which files of any age hold: no token of ours has
 * a space in it. Byte-level BPE as GPT-2's, WordPiece as BERT's, Unigram with Metaspace. */
#include "text/tokenizer/tokenizer.h"

#include <string.h>

#define MARK "\xE2\x96\x81" /* U+2581 */

static void put_type(heed_ctx *cx, heed_json root, const char *key, const char *type) {
    if (type)
        heed_json_put_text(cx, heed_json_put_object(cx, root, key), "type", type);
    else
        heed_json_put_null(cx, root, key);
}

static void put_metaspace(heed_ctx *cx, heed_json root, const char *key) {
    const heed_json part = heed_json_put_object(cx, root, key);
    heed_json_put_text(cx, part, "type", "Metaspace");
    heed_json_put_text(cx, part, "replacement", MARK);
    heed_json_put_text(cx, part, "prepend_scheme", "always");
    heed_json_put_bool(cx, part, "split", true);
}

/* Two of them may share a text, and then an id. */
static void put_special(heed_ctx *cx, heed_json list, const char *token, const struct map *tokens, int64_t *next) {
    static const char *const flags[] = {"single_word", "lstrip", "rstrip", "normalized", "special"};
    if (heed_failed(cx) || !token || map_find(tokens, token, strlen(token)) != *next) return;
    const heed_json one = heed_json_put_object(cx, list, NULL);
    heed_json_put_int(cx, one, "id", (*next)++);
    heed_json_put_text(cx, one, "content", token);
    for (int k = 0; k < 5; k++) heed_json_put_bool(cx, one, flags[k], k == 4);
}

static void put_added(heed_ctx *cx, heed_json root, const heed_tokenizer_opts *o, const struct map *tokens) {
    const char *const specials[] = {o->pad, o->bos, o->eos, o->unk, o->mask};
    const heed_json list = heed_json_put_array(cx, root, "added_tokens");
    int64_t next = 0;
    for (int i = 0; i < 5; i++) put_special(cx, list, specials[i], tokens, &next);
    for (const char *const *more = o->more; more && *more; more++) put_special(cx, list, *more, tokens, &next);
}

/* ---- the template ---- */

static void put_template_part(heed_ctx *cx, heed_json list, const char *kind, const char *id, int type) {
    const heed_json part = heed_json_put_object(cx, heed_json_put_object(cx, list, NULL), kind);
    heed_json_put_text(cx, part, "id", id);
    heed_json_put_int(cx, part, "type_id", type);
}

/* Text A, or A and B one after the other, each with what is added to it; a class token stands once, before both (Devlin
 * et al. 2019). */
static void put_template(heed_ctx *cx, heed_json at, const char *key, const heed_tokenizer_opts *o, int texts) {
    const heed_json list = heed_json_put_array(cx, at, key);
    for (int i = 0; i < texts; i++) {
        if (o->add_bos && (i == 0 || strcmp(o->bos, "[CLS]") != 0))
            put_template_part(cx, list, "SpecialToken", o->bos, i);
        put_template_part(cx, list, "Sequence", i ? "B" : "A", i);
        if (o->add_eos) put_template_part(cx, list, "SpecialToken", o->eos, i);
    }
}

static void put_template_special(heed_ctx *cx, heed_json at, const char *text, const struct map *tokens) {
    const heed_json one = heed_json_put_object(cx, at, text);
    heed_json_put_text(cx, one, "id", text);
    heed_json_put_int(cx, heed_json_put_array(cx, one, "ids"), NULL, map_find(tokens, text, strlen(text)));
    heed_json_put_text(cx, heed_json_put_array(cx, one, "tokens"), NULL, text);
}

static void put_post_processor(heed_ctx *cx, heed_json root, const heed_tokenizer_opts *o, const struct map *tokens) {
    if (!o->add_bos && !o->add_eos) {
        heed_json_put_null(cx, root, "post_processor");
        return;
    }
    const heed_json part = heed_json_put_object(cx, root, "post_processor");
    heed_json_put_text(cx, part, "type", "TemplateProcessing");
    put_template(cx, part, "single", o, 1);
    put_template(cx, part, "pair", o, 2);
    const heed_json specials = heed_json_put_object(cx, part, "special_tokens");
    if (o->add_bos) put_template_special(cx, specials, o->bos, tokens);
    if (o->add_eos) put_template_special(cx, specials, o->eos, tokens);
}

/* ---- normalizer, pre-tokenizer and decoder ---- */

static void put_byte_level(heed_ctx *cx, heed_json root, const char *key) {
    const heed_json part = heed_json_put_object(cx, root, key);
    heed_json_put_text(cx, part, "type", "ByteLevel");
    heed_json_put_bool(cx, part, "add_prefix_space", false);
    heed_json_put_bool(cx, part, "trim_offsets", true);
    heed_json_put_bool(cx, part, "use_regex", true);
}

static void put_normalizer(heed_ctx *cx, heed_json root, const heed_tokenizer_opts *o) {
    if (o->kind != HEED_TOKENS_WORDPIECE) {
        put_type(cx, root, "normalizer", o->lower ? "Lowercase" : NULL);
        return;
    }
    const heed_json part = heed_json_put_object(cx, root, "normalizer");
    heed_json_put_text(cx, part, "type", "BertNormalizer");
    heed_json_put_bool(cx, part, "clean_text", true);
    heed_json_put_bool(cx, part, "handle_chinese_chars", true);
    heed_json_put_null(cx, part, "strip_accents");
    heed_json_put_bool(cx, part, "lowercase", o->lower);
}

static void put_word_piece_decoder(heed_ctx *cx, heed_json root) {
    const heed_json part = heed_json_put_object(cx, root, "decoder");
    heed_json_put_text(cx, part, "type", "WordPiece");
    heed_json_put_text(cx, part, "prefix", WORD_PIECE_PREFIX);
    heed_json_put_bool(cx, part, "cleanup", true);
}

static void put_splitter(heed_ctx *cx, heed_json root, const heed_tokenizer_opts *o) {
    static const char *const types[] = {[HEED_TOKENS_WORD] = "WhitespaceSplit",
                                        [HEED_TOKENS_WORDPIECE] = "BertPreTokenizer",
                                        [HEED_TOKENS_UNIGRAM] = NULL};
    const heed_tokenizer_kind kind = o->kind == HEED_TOKENS_WORD && o->punctuation ? HEED_TOKENS_WORDPIECE : o->kind;
    if (kind == HEED_TOKENS_BPE || kind == HEED_TOKENS_UNIGRAM)
        put_metaspace(cx, root, "pre_tokenizer");
    else if (kind == HEED_TOKENS_BYTE_BPE)
        put_byte_level(cx, root, "pre_tokenizer");
    else
        put_type(cx, root, "pre_tokenizer", types[kind]);
}

static void put_decoder(heed_ctx *cx, heed_json root, heed_tokenizer_kind kind) {
    if (kind == HEED_TOKENS_BPE || kind == HEED_TOKENS_UNIGRAM)
        put_metaspace(cx, root, "decoder");
    else if (kind == HEED_TOKENS_BYTE_BPE)
        put_byte_level(cx, root, "decoder");
    else if (kind == HEED_TOKENS_WORDPIECE)
        put_word_piece_decoder(cx, root);
    else
        put_type(cx, root, "decoder", kind == HEED_TOKENS_WORD ? NULL : "Fuse");
}

/* ---- the model ---- */

static void put_vocabulary(heed_ctx *cx, heed_json model, const struct map *tokens) {
    const heed_json vocab = heed_json_put_object(cx, model, "vocab");
    for (int64_t i = 0; i < tokens->count && !heed_failed(cx); i++) heed_json_put_int(cx, vocab, map_key(tokens, i), i);
}

static void put_words(heed_ctx *cx, heed_json model, const heed_tokenizer_opts *o, const struct map *tokens) {
    heed_json_put_text(cx, model, "type", "WordLevel");
    put_vocabulary(cx, model, tokens);
    heed_json_put_text(cx, model, "unk_token", o->unk ? o->unk : ""); /* no word is empty, so that is none */
}

static void put_bpe(heed_ctx *cx, heed_json model, const heed_tokenizer_opts *o, const struct map *tokens,
                    const struct bpe_pair *merges, int64_t count) {
    static const char *const absent[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    static const char *const off[] = {"fuse_unk", "byte_fallback", "ignore_merges"};
    heed_json_put_text(cx, model, "type", "BPE");
    heed_json_put_null(cx, model, "dropout");
    if (o->unk)
        heed_json_put_text(cx, model, "unk_token", o->unk);
    else
        heed_json_put_null(cx, model, "unk_token");
    for (int i = 0; i < 2; i++) heed_json_put_null(cx, model, absent[i]);
    for (int i = 0; i < 3; i++) heed_json_put_bool(cx, model, off[i], false);
    put_vocabulary(cx, model, tokens);
    const heed_json list = heed_json_put_array(cx, model, "merges");
    heed_string line = {0};
    for (int64_t i = 0; i < count && !heed_failed(cx); i++) {
        const struct map_entry *first = &tokens->entries[merges[i].first], *second = &tokens->entries[merges[i].second];
        line.size = 0;
        if (heed_string_put(cx, &line, tokens->text.s + first->at, first->size) && heed_string_put(cx, &line, " ", 1) &&
            heed_string_put(cx, &line, tokens->text.s + second->at, second->size))
            heed_json_put_text(cx, list, NULL, line.s);
    }
    heed_string_free(cx, &line);
}

static void put_word_pieces(heed_ctx *cx, heed_json model, const heed_tokenizer_opts *o, const struct map *tokens) {
    heed_json_put_text(cx, model, "type", "WordPiece");
    heed_json_put_text(cx, model, "unk_token", o->unk ? o->unk : "");
    heed_json_put_text(cx, model, "continuing_subword_prefix", WORD_PIECE_PREFIX);
    heed_json_put_int(cx, model, "max_input_chars_per_word", 100);
    put_vocabulary(cx, model, tokens);
}

static void put_unigram(heed_ctx *cx, heed_json model, const heed_tokenizer_opts *o, const struct map *tokens,
                        const double *scores) {
    heed_json_put_text(cx, model, "type", "Unigram");
    const int64_t unknown = o->unk ? map_find(tokens, o->unk, strlen(o->unk)) : -1;
    if (unknown >= 0)
        heed_json_put_int(cx, model, "unk_id", unknown);
    else
        heed_json_put_null(cx, model, "unk_id");
    const heed_json vocab = heed_json_put_array(cx, model, "vocab");
    for (int64_t i = 0; i < tokens->count && !heed_failed(cx); i++) {
        const heed_json pair = heed_json_put_array(cx, vocab, NULL);
        heed_json_put_text(cx, pair, NULL, map_key(tokens, i));
        heed_json_put_number(cx, pair, NULL, scores[i]);
    }
    heed_json_put_bool(cx, model, "byte_fallback", false);
}

static void put_model(heed_ctx *cx, heed_json model, const heed_tokenizer_opts *o, const struct map *tokens,
                      const struct bpe_pair *merges, int64_t merge_count, const double *scores) {
    if (o->kind == HEED_TOKENS_WORD)
        put_words(cx, model, o, tokens);
    else if (o->kind == HEED_TOKENS_WORDPIECE)
        put_word_pieces(cx, model, o, tokens);
    else if (o->kind == HEED_TOKENS_UNIGRAM)
        put_unigram(cx, model, o, tokens, scores);
    else
        put_bpe(cx, model, o, tokens, merges, merge_count);
}

/* What the special tokens are for is known here, whatever they are called; BERT's first and last token have names of
 * their own. */
static void note_roles(const heed_tokenizer_opts *o, heed_tokenizer *t) {
    const bool pieces = o->kind == HEED_TOKENS_WORDPIECE;
    const char *const names[ROLES] = {
        [ROLE_BOS] = pieces ? NULL : o->bos,
        [ROLE_EOS] = pieces ? NULL : o->eos,
        [ROLE_UNK] = o->unk,
        [ROLE_SEP] = pieces ? o->eos : NULL,
        [ROLE_PAD] = o->pad,
        [ROLE_CLS] = pieces ? o->bos : NULL,
        [ROLE_MASK] = o->mask,
    };
    for (int i = 0; i < ROLES; i++) t->role[i] = names[i] ? heed_tokenizer_id(t, names[i]) : -1;
}

heed_tokenizer *tokenizer_build(heed_ctx *cx, const heed_tokenizer_opts *o, const struct map *tokens,
                                const struct bpe_pair *merges, int64_t merge_count, const double *scores) {
    const heed_json root = heed_json_new(cx, "tokenizer.json");
    heed_json_put_text(cx, root, "version", "1.0");
    heed_json_put_null(cx, root, "truncation");
    heed_json_put_null(cx, root, "padding");
    put_added(cx, root, o, tokens);
    put_normalizer(cx, root, o);
    put_splitter(cx, root, o);
    put_post_processor(cx, root, o, tokens);
    put_decoder(cx, root, o->kind);
    put_model(cx, heed_json_put_object(cx, root, "model"), o, tokens, merges, merge_count, scores);
    size_t size = 0;
    char *text = heed_json_print(cx, root, 2, &size);
    if (text) text[size++] = '\n'; /* in place of the final 0 */
    heed_tokenizer *t = text ? tokenizer_parse(cx, "tokenizer.json", text, size) : NULL;
    heed_mem_free(cx, text);
    heed_json_free(root);
    if (t) note_roles(o, t);
    return t;
}
