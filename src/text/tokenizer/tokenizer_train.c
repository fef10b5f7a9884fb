/* A vocabulary from text.
 *
 * The text is cut exactly as it will be when it is encoded. Special tokens take the first ids; then words, and
 * characters where they are the tokens, follow from frequent to rare (ties: by their bytes); the characters of a BPE
 * follow by their bytes, which is the order of their numbers, and then what was merged, in the order learnt. WordPiece
 * is learnt as a BPE whose characters within words have a prefix, as in Python's `tokenizers`. */
#include "base/checked.h"
#include "text/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

static bool count_one(heed_ctx *cx, struct map *counts, const char *s, size_t size) {
    const int64_t entry = map_add(cx, counts, s, size);
    if (entry >= 0) counts->entries[entry].value++;
    return entry >= 0;
}

static bool count_characters(heed_ctx *cx, struct map *counts, const char *text, size_t size, int64_t times) {
    const char *end = text + size;
    for (const char *s = text; s < end;) {
        const char *start = s;
        utf8_next(&s, end);
        const int64_t entry = map_add(cx, counts, start, (size_t)(s - start));
        if (entry < 0) return false;
        counts->entries[entry].value += times;
    }
    return true;
}

/* How often each piece of the lines is seen: words, or characters. */
static bool count_lines(struct work *w, const heed_lines *lines, const heed_tokenizer_opts *o, struct map *counts) {
    heed_ctx *cx = w->cx;
    for (int64_t i = 0; i < lines->count && !(i % 4096 == 0 && heed_cancelled(cx)); i++) {
        const char *line = heed_line_text(lines, i);
        const size_t size = heed_line_size(lines, i);
        if (!utf8_check(cx, "train", line, size) || !work_split(w, line, size)) return false;
        for (size_t k = 0; k < w->pieces.count; k++) {
            const struct piece *p = &w->pieces.at[k];
            const char *text = w->text + p->start;
            if (!(o->kind == HEED_TOKENS_CHAR ? count_characters(cx, counts, text, p->size, 1)
                                              : count_one(cx, counts, text, p->size)))
                return false;
        }
    }
    return !heed_failed(cx);
}

/* By a tokenizer that has no vocabulary yet, so that text is cut as it will be when it is encoded. */
static bool count_texts(heed_ctx *cx, const heed_lines *const *texts, int n, const heed_tokenizer_opts *o,
                        struct map *counts) {
    const struct map none = {0};
    const heed_tokenizer_opts bare = {.kind = o->kind, .lower = o->lower, .punctuation = o->punctuation};
    heed_tokenizer *t = tokenizer_build(cx, &bare, &none, NULL, 0, NULL);
    struct work w = {.cx = cx, .t = t};
    bool ok = t;
    for (int i = 0; ok && i < n; i++) ok = count_lines(&w, texts[i], o, counts);
    work_free(&w);
    heed_tokenizer_free(cx, t);
    return ok;
}

/* ---- choosing ---- */

struct counted {
    const char *key;
    size_t size;
    int64_t count;
};

static int by_key(const void *a, const void *b) {
    const struct counted *x = a, *y = b;
    const int order = memcmp(x->key, y->key, x->size < y->size ? x->size : y->size);
    return order ? order : x->size < y->size ? -1 : x->size > y->size;
}

static int by_count(const void *a, const void *b) {
    const struct counted *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_key(a, b);
}

/* Adds those seen often enough to the tokens, in order, while there is room; *left_out: for want of it. A key with a
 * NUL, which jansson does not write, is unknown. */
static bool choose(heed_ctx *cx, const struct map *counts, int64_t least, bool frequent_first, int64_t most,
                   struct map *tokens, int64_t *left_out) {
    size_t bytes;
    int64_t n = 0;
    struct counted *list = size_mul((size_t)counts->count + 1, sizeof *list, &bytes) ? heed_mem_new(cx, bytes) : NULL;
    if (!list) return heed_fail(cx, HEED_ERR_MEMORY, "train: too many words");
    for (int64_t i = 0; i < counts->count; i++) {
        const struct counted one = {map_key(counts, i), map_size(counts, i), counts->entries[i].value};
        if (one.count >= least && !memchr(one.key, 0, one.size)) list[n++] = one;
    }
    qsort(list, (size_t)n, sizeof *list, frequent_first ? by_count : by_key);
    bool ok = true;
    int64_t i = 0;
    for (; ok && i < n && tokens->count < most; i++) ok = map_add(cx, tokens, list[i].key, list[i].size) >= 0;
    *left_out = n - i;
    heed_mem_free(cx, list);
    return ok;
}

static bool add_specials(heed_ctx *cx, const heed_tokenizer_opts *o, struct map *tokens) {
    const char *const specials[] = {o->pad, o->bos, o->eos, o->unk, o->mask};
    for (int i = 0; i < 5; i++)
        if (specials[i] && map_add(cx, tokens, specials[i], strlen(specials[i])) < 0) return false;
    for (const char *const *more = o->more; more && *more; more++)
        if (map_add(cx, tokens, *more, strlen(*more)) < 0) return false;
    return true;
}

/* Characters that must be there however rare they are. */
static bool add_alphabet(heed_ctx *cx, heed_tokenizer_kind kind, struct map *characters) {
    for (int i = 0; i < (kind == HEED_TOKENS_BYTE_BPE ? 256 : kind == HEED_TOKENS_BPE); i++) {
        char text[4];
        const int32_t c = kind == HEED_TOKENS_BPE ? 0x2581 : byte_character((unsigned char)i);
        const int64_t entry = map_add(cx, characters, text, (size_t)utf8_put(text, c));
        if (entry < 0) return false;
        characters->entries[entry].value = INT64_MAX / 2;
    }
    return true;
}

/* The characters within words, with the prefix that marks them, in their order. */
static bool add_inner(heed_ctx *cx, const struct map *words, const char *prefix, int64_t most, struct map *tokens) {
    struct map inner = {0};
    int64_t left_out;
    heed_string work = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < words->count; i++) {
        const char *s = map_key(words, i), *end = s + map_size(words, i);
        for (utf8_next(&s, end); ok && s < end;) {
            const char *start = s;
            utf8_next(&s, end);
            if (map_find(tokens, start, (size_t)(s - start)) < 0) continue;
            work.size = 0;
            ok = heed_string_put(cx, &work, prefix, strlen(prefix)) &&
                 heed_string_put(cx, &work, start, (size_t)(s - start)) && map_add(cx, &inner, work.s, work.size) >= 0;
        }
    }
    ok = ok && choose(cx, &inner, 0, false, most, tokens, &left_out);
    if (ok && left_out > 0)
        ok = heed_fail(cx, HEED_ERR_RANGE, "train: a vocabulary of %lld cannot hold the characters within words",
                       (long long)most);
    heed_string_free(cx, &work);
    map_free(cx, &inner);
    return ok;
}

/* The characters of the words, and the merges learnt from them. */
static bool learn_pairs(heed_ctx *cx, const heed_tokenizer_opts *o, const struct map *words, int64_t most,
                        struct map *tokens, struct bpe_pair **merges, int64_t *merge_count) {
    struct map characters = {0};
    const int64_t specials = tokens->count;
    const bool pieces = o->kind == HEED_TOKENS_WORDPIECE;
    const struct bpe_learning how = {most, o->least_pair, pieces ? WORD_PIECE_PREFIX : NULL};
    int64_t left_out = 0;
    bool ok = add_alphabet(cx, o->kind, &characters);
    for (int64_t i = 0; ok && i < words->count; i++)
        ok = count_characters(cx, &characters, map_key(words, i), words->entries[i].size, words->entries[i].value);
    ok = ok && choose(cx, &characters, o->least, false, most, tokens, &left_out);
    if (ok && left_out > 0)
        ok = heed_fail(cx, HEED_ERR_RANGE,
                       "train: a vocabulary of %lld cannot hold %lld special tokens and %lld characters",
                       (long long)most, (long long)specials, (long long)(tokens->count - specials + left_out));
    map_free(cx, &characters);
    return ok && (!pieces || add_inner(cx, words, how.prefix, most, tokens)) &&
           bpe_learn(cx, words, tokens, &how, merges, merge_count);
}

/* ---- training ---- */

static bool check_special(heed_ctx *cx, const char *token) {
    if (!*token) return heed_fail(cx, HEED_ERR_USAGE, "train: a special token is empty");
    return utf8_check(cx, "train: special token", token, strlen(token));
}

static bool check_options(heed_ctx *cx, const heed_lines *const *texts, int n, const heed_tokenizer_opts *o) {
    if (!o || n < 1 || !texts) return heed_fail(cx, HEED_ERR_USAGE, "train: options or texts are missing");
    for (int i = 0; i < n; i++)
        if (!texts[i]) return heed_fail(cx, HEED_ERR_USAGE, "train: text %d of %d is NULL", i + 1, n);
    if ((unsigned)o->kind > HEED_TOKENS_UNIGRAM)
        return heed_fail(cx, HEED_ERR_USAGE, "train: no kind of tokenizer %d", (int)o->kind);
    if (o->vocabulary < 0 || o->vocabulary > INT32_MAX / 4 || o->least < 0)
        return heed_fail(cx, HEED_ERR_RANGE, "train: a vocabulary of %lld, seen at least %lld times, is out of range",
                         (long long)o->vocabulary, (long long)o->least);
    static const char *const sized[] = {[HEED_TOKENS_BPE] = "bpe",
                                        [HEED_TOKENS_BYTE_BPE] = "byte-level bpe",
                                        [HEED_TOKENS_WORDPIECE] = "wordpiece",
                                        [HEED_TOKENS_UNIGRAM] = "unigram"};
    if (sized[o->kind] && o->vocabulary == 0)
        return heed_fail(cx, HEED_ERR_USAGE, "train: %s needs a vocabulary size", sized[o->kind]);
    if ((o->add_bos && !o->bos) || (o->add_eos && !o->eos))
        return heed_fail(cx, HEED_ERR_USAGE, "train: there is no %s token to add",
                         o->add_bos && !o->bos ? "bos" : "eos");
    const char *const specials[] = {o->pad, o->bos, o->eos, o->unk, o->mask};
    bool ok = true;
    for (int i = 0; ok && i < 5; i++) ok = !specials[i] || check_special(cx, specials[i]);
    for (const char *const *more = o->more; ok && more && *more; more++) ok = check_special(cx, *more);
    return ok;
}

heed_tokenizer *heed_tokenizer_train(heed_ctx *cx, const heed_lines *const *texts, int n_texts,
                                     const heed_tokenizer_opts *opts) {
    if (heed_failed(cx) || !check_options(cx, texts, n_texts, opts)) return NULL;
    heed_tokenizer_opts o = *opts;
    if (o.least == 0) o.least = 1;
    if (o.least_pair == 0) o.least_pair = 2;
    const int64_t most = o.vocabulary ? o.vocabulary : INT32_MAX / 4;
    struct map counts = {0}, tokens = {0};
    struct bpe_pair *merges = NULL;
    double *scores = NULL;
    int64_t merge_count = 0, left_out;
    bool ok = add_specials(cx, &o, &tokens);
    if (ok && tokens.count > most)
        ok = heed_fail(cx, HEED_ERR_RANGE, "train: a vocabulary of %lld cannot hold %lld special tokens",
                       (long long)most, (long long)tokens.count);
    ok = ok && count_texts(cx, texts, n_texts, &o, &counts);
    if (ok && o.kind == HEED_TOKENS_UNIGRAM)
        ok = unigram_learn(cx, &counts, most, &tokens, &scores);
    else if (ok && o.kind >= HEED_TOKENS_BPE)
        ok = learn_pairs(cx, &o, &counts, most, &tokens, &merges, &merge_count);
    else
        ok = ok && choose(cx, &counts, o.least, true, most, &tokens, &left_out);
    heed_tokenizer *t = ok ? tokenizer_build(cx, &o, &tokens, merges, merge_count, scores) : NULL;
    heed_mem_free(cx, scores);
    map_free(cx, &counts);
    map_free(cx, &tokens);
    heed_mem_free(cx, merges);
    return t;
}
